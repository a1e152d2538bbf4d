"""Conflict between findings, and derivatives of posteriors, of models that are not all tables."""

import math

import numpy as np
import pytest
from oracle import Oracle, as_given, random_evidence, random_network
from scipy import integrate, stats

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnsupportedModelError

C = bg.Discrete("c", ["n", "y"])
D = bg.Discrete("d", ["u", "v", "w"])
X, Y, K = bg.Continuous("x"), bg.Continuous("y"), bg.Count("k")


def network(**arrays):
    """Return a mixed network with a table with a zero and a leaf of another family."""
    of_x = {"mean": [0.0, 3.0], "variance": [1.0, 2.0]}
    of_x |= {name: arrays[name] for name in of_x if name in arrays}
    return bg.BayesianNetwork(
        [
            bg.TableCPD(C, arrays.get("c", [0.7, 0.3])),
            bg.TableCPD(D, arrays.get("d", [[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]]), parents=[C]),
            bg.GaussianCPD(X, parents=[C], **of_x),
            bg.GaussianCPD(Y, 1.0, arrays.get("of_y", 0.5), [X], [arrays.get("slope", 2.0)]),
            bg.PoissonCPD(K, [1.0, 5.0], parents=[C]),
        ]
    )


def random_mixed(seed):
    """Return a network, its brute force, and evidence for both and as a user gives it."""
    net = random_network(seed, n_discrete=4, n_continuous=3)
    oracle = Oracle.of(net)
    evidence = random_evidence(np.random.default_rng([seed, 7]), oracle, share=0.6)
    return net, oracle, evidence, as_given(net.variables, evidence)


def log_mass(oracle, evidence):
    total = sum(world.weight for world in oracle.worlds(evidence))
    return math.log(total) if total > 0 else -math.inf


# ---------------------------------------------------------------------------------- conflict


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(24))
def test_conflict_equals_enumeration(seed):
    net, oracle, evidence, given = random_mixed(seed)
    used = {n: v for n, v in evidence.items() if v is not None}
    whole = log_mass(oracle, used)
    alone = {n: log_mass(oracle, {n: v}) for n, v in used.items()}
    rest = {n: {m: v for m, v in used.items() if m != n} for n in used}
    for model in (net, bg.Ensemble([net, net], [1, 3]), bg.FactorGraph.of(net)):
        found = model.ask.conflict(given)
        assert found.log_evidence == pytest.approx(whole, abs=1e-9)
        assert set(found.findings) == set(used)
        assert list(found.findings.values()) == sorted(found.findings.values(), reverse=True)
        measure = sum(alone.values()) - whole if len(used) > 1 else 0.0
        assert found.measure == pytest.approx(measure, abs=1e-9)
        for name in used:
            share = alone[name] + log_mass(oracle, rest[name]) - whole if len(used) > 1 else 0.0
            assert found.findings[name] == pytest.approx(share, abs=1e-9)
            if isinstance(net.variable(name), bg.Discrete):
                expected = oracle.posterior([name], rest[name])
                assert found.expected[name].probabilities == pytest.approx(expected, abs=1e-9)
            else:
                mean, covariance = oracle.moments([name], rest[name])
                assert found.expected[name].mean == pytest.approx(mean[0], abs=1e-8)
                assert found.expected[name].std ** 2 == pytest.approx(covariance[0, 0], rel=1e-8)


def test_conflict_with_a_leaf_of_another_family_equals_quadrature():
    evidence = {"x": 0.5, "y": 6.0, "k": 7, "d": "u"}
    shares, rates = np.array([0.7, 0.3]), np.array([1.0, 5.0])
    means, sds = np.array([0.0, 3.0]), np.sqrt([1.0, 2.0])
    d = np.array([0.5, 0.2])
    of_x = [stats.norm(mean, sd) for mean, sd in zip(means, sds, strict=True)]

    def density_of_y(c):
        """Integrate x out, independently of the engine's closed form."""
        return integrate.quad(
            lambda x: math.exp(of_x[c].logpdf(x) + stats.norm.logpdf(6.0, 1 + 2 * x, 0.5**0.5)),
            -10, 15, epsabs=1e-13, epsrel=1e-13, points=[2.5],
        )[0]  # fmt: skip

    alone = [
        math.log(shares @ stats.norm.pdf(0.5, means, sds)),
        math.log(shares @ [density_of_y(0), density_of_y(1)]),
        math.log(shares @ stats.poisson.pmf(7, rates)),
        math.log(shares @ d),
    ]
    parts = stats.norm.pdf(0.5, means, sds) * stats.poisson.pmf(7, rates) * d
    whole = math.log(shares @ parts * stats.norm.pdf(6.0, 2.0, 0.5**0.5))
    found = network().ask.conflict(evidence)
    assert found.log_evidence == pytest.approx(whole, abs=1e-9)
    assert found.measure == pytest.approx(sum(alone) - whole, abs=1e-9)
    assert isinstance(found.expected["k"], bg.inference.NumberMixture)
    assert next(iter(found.findings)) in ("x", "y")
    assert "in conflict" in repr(found)


def test_an_interval_is_a_finding():
    net = network()
    found = net.ask.conflict({"k": bg.Between(3), "c": "n"})
    tail = stats.poisson.sf(2, [1.0, 5.0])
    alone = math.log(0.7 * tail[0] + 0.3 * tail[1])
    assert found.findings["k"] == pytest.approx(alone - math.log(tail[0]), abs=1e-9)
    assert found.expected["k"][bg.Between(3)] == pytest.approx(tail[0], abs=1e-12)


@pytest.mark.filterwarnings("ignore:Far outside")
def test_one_finding_is_in_no_conflict_and_impossible_ones_are_an_error():
    net = network()
    assert net.ask.conflict({"x": 99.0}).measure == 0.0
    assert net.ask.conflict({}).findings == {}
    with pytest.raises(ImpossibleEvidenceError, match="'w'"):
        net.ask.conflict({"c": "n", "d": "w", "x": 0.0})
    for model in (net, net.without("k", "y", "x")):  # mixed, and all tables
        with pytest.raises(EvidenceError, match="no probability"):
            model.ask.conflict({"c": bg.Belief({"n": 0.5, "y": 0.5}), "d": "u"})


# ------------------------------------------------------------------------------- sensitivity


def with_term(net, name, source):
    return Oracle([(source if cpd.variable.name == name else cpd, 1.0) for cpd in net.cpds])


def masses(oracle, name, code, evidence):
    """Return P(target = state, evidence) and P(evidence)."""
    table = oracle.joint([name], evidence)
    return table[code], table.sum()


def fourth_order(values, h):
    """Return the derivative from values at -2h, -h, h and 2h; the error is of order h^4."""
    return (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(24))
def test_derivatives_equal_those_of_enumeration(seed):
    """Tables: exact secants of the multilinear mass; Gaussians: differences of fourth order."""
    net, oracle, evidence, given = random_mixed(seed)
    random = np.random.default_rng([seed, 3])
    hard = {n for n, v in evidence.items() if v is not None and not isinstance(v, list)}
    free = [v for v in net.variables if isinstance(v, bg.Discrete) and v.name not in hard]
    if not free or len(free) == len(net.variables):
        pytest.skip("nothing is asked, or all are tables")
    target = free[int(random.integers(len(free)))]
    code = int(random.integers(target.cardinality))
    found = net.ask.sensitivity(target.name, target.states[code], given)
    ask = (target.name, code, evidence)
    both, mass = masses(oracle, *ask)
    assert found.posterior == pytest.approx(both / mass, abs=1e-10)
    assert set(found.derivatives) == {v.name for v in net.variables if isinstance(v, bg.Discrete)}
    assert not found.others
    for name, slopes in found.derivatives.items():
        cpd = net[name]
        for _ in range(4):
            cell = tuple(int(random.integers(n)) for n in slopes.shape)
            table = cpd.values.copy()
            table[cell] += 1.0
            moved = with_term(net, name, bg.Factor(cpd.scope, table))
            more, wider = masses(moved, *ask)
            expected = ((more - both) - both / mass * (wider - mass)) / mass
            assert slopes[cell] == pytest.approx(expected, abs=1e-8 * max(1, abs(expected)))
    h = 1e-3
    for v in net.variables:
        if not isinstance(v, bg.Continuous):
            continue
        cpd, slopes = net[v.name], found.gaussians.get(v.name)
        for name in ("mean", "variance", "coefficients"):
            array = getattr(cpd, name)
            if not array.size:
                continue
            cell = tuple(int(random.integers(n)) for n in array.shape)
            values = []
            for step in (-2 * h, -h, h, 2 * h):
                arrays = cpd.to_arrays() | {name: array.copy()}
                arrays[name][cell] += step
                changed = bg.GaussianCPD(v, parents=cpd.parents, **arrays)
                at = masses(with_term(net, v.name, changed), *ask)
                values.append(at[0] / at[1])
            expected = fourth_order(values, h)
            slope = 0.0 if slopes is None else getattr(slopes, name)[cell]
            assert slope == pytest.approx(expected, abs=3e-8 * max(1, abs(expected)))


@pytest.mark.parametrize("observed", [True, False])
def test_derivatives_are_the_same_far_from_zero(observed):
    def slopes(shift):
        d, x, y = bg.Discrete("d", ["a", "b"]), bg.Continuous("x"), bg.Continuous("y")
        net = bg.BayesianNetwork(
            [
                bg.TableCPD(d, [0.5, 0.5]),
                bg.GaussianCPD(x, [shift, shift + 1.0], [1.0, 2.0], [d]),
                bg.GaussianCPD(y, -shift, 1.0, [x], [1.0]),
            ]
        )
        evidence = {"x": shift + 0.25, "y": 0.5} if observed else {"y": 0.5}
        return net.ask.sensitivity("d", "a", evidence).gaussians["x"]

    near, far = slopes(0.0), slopes(2.0**30)
    np.testing.assert_allclose(far.mean, near.mean, rtol=1e-6)
    np.testing.assert_allclose(far.variance, near.variance, rtol=1e-6)


def test_derivatives_with_a_leaf_of_another_family():
    """Differences of answers of changed networks, at a table with a zero and in every Gaussian."""
    evidence, h = {"y": 5.0, "k": 2}, 1e-3
    found = network().ask.sensitivity("c", "y", evidence)

    def slope(array, index, numbers):
        values = []
        for step in (-2 * h, -h, h, 2 * h):
            moved = np.array(numbers, dtype=float)
            moved[index] += step
            net = network(**{array: moved.item() if moved.ndim == 0 else moved})
            values.append(net.query("c", evidence)["y"])
        return fourth_order(values, h)

    of_x, of_y = found.gaussians["x"], found.gaussians["y"]
    for c in range(2):
        assert of_x.mean[c] == pytest.approx(slope("mean", c, [0.0, 3.0]), abs=1e-9)
        assert of_x.variance[c] == pytest.approx(slope("variance", c, [1.0, 2.0]), abs=1e-9)
    assert of_y.coefficients[0] == pytest.approx(slope("slope", (), 2.0), abs=1e-9)
    assert of_y.variance == pytest.approx(slope("of_y", (), 0.5), abs=1e-9)
    assert found.others == ("k",)
    assert np.all(found.derivatives["d"] == 0)  # it has no evidence below it
    share = network().query("c", evidence)["y"]
    raised = network(c=[0.7 - h, 0.3 + h]).query("c", evidence)["y"]
    lowered = network(c=[0.7 + h, 0.3 - h]).query("c", evidence)["y"]
    assert found.covaried["c"][1] == pytest.approx((raised - lowered) / (2 * h), abs=1e-5)
    assert found.posterior == pytest.approx(share, abs=1e-12)
    text = repr(found)
    assert "slope of y on x, relative" in text
    assert "mean of x, per sd | c=n" in text
    assert "taken as certain: 'k'" in text


def test_entries_that_are_zero_have_derivatives():
    """d = w is impossible under c = n: the derivative with respect to that zero is not."""
    found = network().ask.sensitivity("c", "y", {"d": "w", "x": 1.0})
    assert found.posterior == 1.0
    weights = np.array([0.7, 0.3]) * stats.norm.pdf(1.0, [0.0, 3.0], np.sqrt([1.0, 2.0]))
    # d / dt of w1 0.6 / (w0 t + w1 0.6) at t = 0.
    assert found.derivatives["d"][0, 2] == pytest.approx(-weights[0] / (0.6 * weights[1]), rel=1e-9)


KINDS = {
    "mixed": (network, None, None),
    "mixture": (lambda: bg.Ensemble([network(), network()]), None, None),
    "mixed factor graph": (
        lambda: bg.FactorGraph.of(network().without("k")),
        None,
        "network of parents and children",
    ),
    "factor graph with another family": (
        lambda: bg.FactorGraph.of(network()),
        None,
        "network of parents and children",
    ),
    "factor graph with a power of another family": (
        lambda: bg.FactorGraph.of(network(), {"k": 0.5}),
        "PoissonCPD of 'k' has no posterior",
        "network of parents and children",
    ),
    "weighted": (
        lambda: bg.WeightedNetwork(network(), "c", {"x": 0.5}),
        "query its `network`",
        "query its `network`",
    ),
    "average of weighted networks": (
        lambda: bg.Ensemble([bg.WeightedNetwork(network(), "c", {"x": 0.5})], combine="posterior"),
        "no joint distribution",
        "a mixture or an average of these",
    ),
    "average": (
        lambda: bg.Ensemble([network(), network()], combine="posterior"),
        "no joint distribution",
        None,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_model_answers_or_says_why_not(kind):
    make, *reasons = KINDS[kind]
    model = make()
    evidence = {"x": 1.0, "d": "u"}
    asks = (lambda: model.ask.conflict(evidence), lambda: model.ask.sensitivity("c", "y", evidence))
    for ask, reason in zip(asks, reasons, strict=True):
        if reason is None:
            assert repr(ask())
        else:
            with pytest.raises(UnsupportedModelError, match=reason):
                ask()


def test_what_sensitivity_refuses():
    with pytest.raises(EvidenceError, match="'x' is continuous"):
        network().ask.sensitivity("x", 1.0)
    with pytest.raises(ImpossibleEvidenceError, match="'w'"):
        network(c=[1.0, 0.0]).ask.sensitivity("c", "n", {"d": "w", "x": 0.0})
