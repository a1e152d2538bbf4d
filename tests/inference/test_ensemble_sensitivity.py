"""Derivatives of posteriors of mixtures and averages, against differences by enumeration."""

import numpy as np
import pytest
from oracle import Oracle

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnsupportedModelError

C, D, X = bg.Discrete("c", ["n", "y"]), bg.Discrete("d", ["u", "v", "w"]), bg.Continuous("x")
EVIDENCES = {
    "nothing": {},
    "a state": {"d": "v"},
    "a number": {"x": 1.3},
    "both": {"d": "u", "x": 0.4},
    "a zero of one network": {"d": "w", "x": 0.4},
    "likelihoods": {"d": {"u": 0.2, "v": 0.9, "w": 0.4}},
}


def mixed(prior=0.3, zero=0.0, shift=0.0):
    return bg.BayesianNetwork(
        [
            bg.TableCPD(C, [1.0 - prior, prior]),
            bg.TableCPD(D, [[0.6, 0.4 - zero, zero], [0.1, 0.9 - 2 * zero, 2 * zero]], [C]),
            bg.GaussianCPD(X, [shift, 2.0], [1.0, 3.0], [C]),
        ]
    )


def tables(zero=0.2):
    """Return a network of tables alone, whose variables have another order."""
    cpds = [bg.TableCPD(D, [0.5, 0.5 - zero, zero]), bg.TableCPD(C, [[0.2, 0.8]] * 3, [D])]
    return bg.BayesianNetwork(cpds, order=[D, C])


def joint(network, evidence, source=None):
    """Return P(c, evidence) and P(c) by enumeration, with another source for one of the CPDs."""
    name = None if source is None else source[0]
    terms = [(source[1] if cpd.variable.name == name else cpd, 1.0) for cpd in network.cpds]
    given = {n: list(v.values()) if isinstance(v, dict) else v for n, v in evidence.items()}
    own = {n: v for n, v in given.items() if n in network._index_of}
    return np.array([Oracle(terms).joint(["c"], known) for known in (own, {})])


def of_mixture(weights, joints):
    total = np.asarray(weights) @ np.array([seen for seen, _ in joints])
    return total[1] / total.sum()


def of_average(weights, joints, ratio=1.0, exponents=(1.0, 1.0, 1.0)):
    shares = [
        prior * (seen / prior) ** e for (seen, prior), e in zip(joints, exponents, strict=True)
    ]
    total = np.asarray(weights) @ np.array([own / own.sum() for own in shares]) * ratio
    return total[1] / total.sum()


def derivative(answer, h=1e-3):
    """Return the derivative at 0; the error is of order h^4."""
    values = [answer(step) for step in (-2 * h, -h, h, 2 * h)]
    return (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)


def compare(model, evidence, answer, given=None):
    """Compare all derivatives of P(c = y | evidence) with differences of enumerated answers.

    The function `answer` takes weights, and P(c, evidence) and P(c) of each network; `given` has
    the evidence that each network sees.
    """
    networks, weights = model.networks, model.weights
    seen = [evidence] * len(networks) if given is None else given
    found = model.ask.sensitivity("c", "y", evidence)
    joints = [joint(*pair) for pair in zip(networks, seen, strict=True)]
    assert found.posterior == pytest.approx(answer(weights, joints), abs=1e-12)

    def with_joint(place, own):
        return answer(weights, [own if i == place else j for i, j in enumerate(joints)])

    n_compared = 0
    for (place, name), slopes in found.covaried.items():
        cpd = networks[place][name]
        for cell in np.ndindex(slopes.shape):
            table = cpd.values.copy()
            # Probabilities are linear in the entry if the others of its row change in proportion.
            table[cell[:-1]], table[cell] = 0.0, 1.0
            moved = joint(networks[place], seen[place], (name, bg.Factor(cpd.scope, table)))
            step = (moved - joints[place]) / (1.0 - cpd.values[cell])
            expected = derivative(lambda t, i=place, d=step: with_joint(i, joints[i] + t * d))
            assert slopes[cell] == pytest.approx(expected, abs=1e-8)
            n_compared += 1
    for (place, name), slopes in found.gaussians.items():
        cpd = networks[place][name]
        for array in ("mean", "variance"):
            for cell in np.ndindex(getattr(cpd, array).shape):

                def answered(step, cpd=cpd, place=place, name=name, array=array, cell=cell):
                    arrays = {k: np.array(v) for k, v in cpd.to_arrays().items()}
                    arrays[array][cell] += step
                    changed = bg.GaussianCPD(cpd.variable, parents=cpd.parents, **arrays)
                    own = joint(networks[place], seen[place], (name, changed))
                    return with_joint(place, own)

                expected = derivative(answered)
                assert getattr(slopes, array)[cell] == pytest.approx(expected, abs=1e-8)
                n_compared += 1
    for place, slope in enumerate(found.weights.tolist()):

        def raised(step, place=place):
            new = np.array(weights) * (1.0 - weights[place] - step) / (1.0 - weights[place])
            new[place] = weights[place] + step
            return answer(new, joints)

        assert slope == pytest.approx(derivative(raised), abs=1e-8)
    return n_compared, found


@pytest.mark.parametrize("name", EVIDENCES)
def test_derivatives_of_mixtures(name):
    mixture = bg.Ensemble([mixed(), mixed(0.6, 0.3, 1.0), mixed(0.2, 0.1)], [0.5, 0.5, 0.0])
    evidence = EVIDENCES[name]
    compared, found = compare(mixture, evidence, of_mixture)
    assert compared >= 3 * 8
    # The entries of the first network that are zero have derivatives where they matter.
    assert np.any(found.derivatives[0, "d"][:, 2]) == ("zero" in name or name == "likelihoods")
    assert np.all(found.derivatives[2, "d"] == 0)  # the third network has no weight
    assert found.weights[2] != 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", EVIDENCES)
@pytest.mark.parametrize(
    ("ratio", "exponents"), [(None, None), ([0.5, 3.0], None), ([0.5, 3.0], [2.5, 1.7, 0.4])]
)
def test_derivatives_of_averages(name, ratio, exponents):
    networks, evidence = [mixed(), tables(), mixed(0.6, 0.3, 1.0)], EVIDENCES[name]
    ratios = None if ratio is None else {"c": ratio}
    powers = None if exponents is None else {"c": exponents}
    average = bg.Ensemble(
        networks,
        [0.5, 0.2, 0.3],
        first=[C],
        prior_ratios=ratios,
        exponents=powers,
        combine="posterior",
    )
    # A network that rules out the evidence answers with its prior.
    given = [{} if i == 0 and evidence.get("d") == "w" else evidence for i in range(3)]

    def answer(weights, joints):
        powers = (1.0,) * 3 if exponents is None else exponents
        return of_average(weights, joints, 1.0 if ratio is None else np.array(ratio), powers)

    compare(average, evidence, answer, given)


def test_members_may_lack_the_target_and_have_other_states():
    other = bg.BayesianNetwork([bg.TableCPD(D, [0.2, 0.3, 0.5])])
    third = bg.Discrete("c", ["n", "y", "z"])
    wider = bg.BayesianNetwork([bg.TableCPD(third, [0.2, 0.3, 0.5])])
    average = bg.Ensemble([other, mixed(), wider], [0.2, 0.2, 0.6], combine="posterior")
    found = average.ask.sensitivity("c", "y")
    assert found.posterior == pytest.approx(0.25 * 0.3 + 0.75 * 0.3)
    assert found.derivatives[2, "c"] == pytest.approx(0.75 * np.array([-0.3, 0.7, -0.3]))
    assert (0, "d") not in found.derivatives
    found = average.ask.sensitivity("c", "z")
    # The share of the third network among those with c, 0.6 + t of 0.6 + t + 0.5 (0.4 - t).
    assert found.weights[2] == pytest.approx(0.5 * (0.8 - 0.5 * 0.6) / 0.8**2)
    assert found.weights[0] == 0


def test_the_text_names_the_network():
    mixture = bg.Ensemble([mixed(), mixed(0.6, 0.3, 1.0)])
    found = mixture.ask.sensitivity("c", "y", {"d": "v"})
    text = repr(found)
    assert "weight of network 1" in text
    assert "(network 0)" in text
    (place, name), index, value = found.largest(1)[0]
    assert value == found.covaried[place, name][index]
    assert found.entry((1, "d"), (0, 2)) == "P(d=w | c=n) (network 1)"
    numbers = repr(mixture.ask.sensitivity("c", "y", {"x": 0.5}))
    assert "mean of x, per sd | c=n (network 0)" in numbers
    one = bg.Ensemble([mixed()]).ask.sensitivity("c", "y", {"d": "v"})
    alone = mixed().ask.sensitivity("c", "y", {"d": "v"})
    assert one.weights == pytest.approx([0.0])
    np.testing.assert_allclose(one.covaried[0, "d"], alone.covaried["d"], atol=1e-12)


def test_canonical_distributions_are_expanded():
    causes = [bg.Discrete(n, [False, True]) for n in "ab"]
    effect = bg.NoisyOrCPD(bg.Discrete("e", [False, True]), [0.8, 0.4], causes, leak=0.1)
    net = bg.BayesianNetwork([*(bg.TableCPD(c, [0.7, 0.3]) for c in causes), effect])
    mixture = bg.Ensemble([net, bg.models.expanded(net)])
    found = mixture.ask.sensitivity("a", True, {"e": True})
    alone = net.ask.sensitivity("a", True, {"e": True})
    for name, slopes in alone.derivatives.items():
        np.testing.assert_allclose(found.derivatives[0, name], 0.5 * slopes, atol=1e-12)
        np.testing.assert_allclose(found.derivatives[1, name], 0.5 * slopes, atol=1e-12)


def test_what_is_refused():
    mixture = bg.Ensemble([mixed(), mixed(0.6)])
    average = bg.Ensemble([mixed(), mixed(0.6)], combine="posterior")
    for model in (mixture, average):
        with pytest.raises(ImpossibleEvidenceError):
            model.ask.sensitivity("c", "y", {"d": "w"})
        with pytest.raises(EvidenceError, match="'x' is continuous"):
            model.ask.sensitivity("x", 1.0)
        assert repr(model.plan("c", {"d": "v"}, question="sensitivity"))
    weighted = bg.Ensemble([bg.WeightedNetwork(mixed(), "c", {"x": 0.5})], combine="posterior")
    with pytest.raises(UnsupportedModelError, match="an average of these"):
        weighted.ask.sensitivity("c", "y")
