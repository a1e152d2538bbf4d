"""Likelihood weighting: right within its own standard errors, and those are right too."""

import dataclasses
import math
import pickle
import warnings

import numpy as np
import oracle as brute
import pytest
from scipy import stats
from weighted_samples import nodes_of, weighted

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataError,
    DataTypeError,
    EvidenceError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    UnknownVariableError,
)
from bayesgraph.inference import WeightedSamples
from bayesgraph.inference.sampling import likelihood_weighting


def small_network():
    """a -> b -> x -> y, with a -> x and a collider c of a and b."""
    a, b, c = bg.Discrete("a", ["u", "v"]), bg.Discrete("b", [0, 1, 2]), bg.Discrete("c", [0, 1])
    x, y = bg.Continuous("x"), bg.Continuous("y")
    return bg.BayesianNetwork(
        [
            bg.GaussianCPD(y, 0.5, 1.5, [x], coefficients=[0.8]),
            bg.GaussianCPD(x, [[0.0, 2.0, 4.0], [1.0, -1.0, -3.0]], 1.0, [a, b]),
            bg.TableCPD(c, [[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]] * 2, [a, b]),
            bg.TableCPD(b, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [a]),
            bg.TableCPD(a, [0.6, 0.4]),
        ]
    )


GIVEN = {"y": 2.5, "c": {0: 0.3, 1: 0.9}}


# ------------------------------------------------------------------------------ right answers


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", [*range(20), *range(1000, 1020)])
def test_random_networks_with_random_evidence(seed):
    case = brute.random_case(seed, n_discrete=6, n_continuous=3 * (seed >= 1000))
    oracle, given = case.oracle, case.evidence
    names = [v.name for v in case.free]
    # The ratio of the largest weight to the mean one decides: some evidence needs more samples.
    samples = weighted(case.network, names, case.given, n=60_000, random_state=seed)
    assert samples.report.reliable
    assert samples.log_evidence.value == pytest.approx(
        oracle.log_probability(given), abs=5 * samples.log_evidence.standard_error + 1e-9
    )
    for variable in case.free:
        if isinstance(variable, bg.Discrete):
            p = samples.probabilities(variable)
            gap = np.abs(p.value - oracle.posterior([variable.name], given))
            assert (gap <= 5 * p.standard_error + 1e-12).all()
            assert p.value.sum() == pytest.approx(1.0)
        else:
            mean, covariance = oracle.moments([variable.name], given)
            for found, expected in (
                (samples.mean(variable), mean[0]),
                (samples.std(variable), math.sqrt(covariance[0, 0])),
            ):
                assert abs(found.value - expected) <= 5 * found.standard_error
    discrete = [v.name for v in case.free if isinstance(v, bg.Discrete)][:3]
    joint = samples.probabilities(*discrete)
    expected = oracle.posterior(discrete, given)
    assert joint.value.shape == expected.shape
    assert (np.abs(joint.value - expected) <= 5 * joint.standard_error + 1e-12).all()
    posterior = samples.posterior(*discrete) if discrete else None
    assert posterior is None or posterior.probabilities == pytest.approx(joint.value)


def test_quantiles_and_expectations():
    network = small_network()
    oracle = brute.Oracle.of(network)
    given = {"y": 2.5, "c": [0.3, 0.9]}
    samples = weighted(network, ["x", "a"], GIVEN, n=50_000)
    worlds = list(oracle.worlds(given))
    for probability in (0.01, 0.25, 0.5, 0.9):
        found = samples.quantile("x", probability)
        low, high = -20.0, 20.0
        while high - low > 1e-9:  # the exact quantile by bisection
            middle = 0.5 * (low + high)
            below = sum(
                w.weight * stats.norm.cdf(middle, w.mean[0], math.sqrt(w.covariance[0, 0]))
                for w in worlds
            ) / sum(w.weight for w in worlds)
            low, high = (middle, high) if below < probability else (low, middle)
        assert 0 < found.standard_error < 0.2
        assert abs(found.value - low) <= 4 * found.standard_error
    a, x = network.variable("a"), network.variable("x")
    product = samples.expectation((samples.columns[a] == 1) * samples.columns[x])
    mean, _ = oracle.moments(["x"], given, given={"a": 1})
    expected = mean[0] * oracle.posterior(["a"], given)[1]
    assert abs(product.value - expected) <= 4 * product.standard_error


def test_without_evidence_the_weights_are_equal():
    samples = weighted(small_network(), ["b"], n=5000)
    assert samples.report.effective_samples == pytest.approx(5000)
    assert (samples.log_evidence.value, samples.log_evidence.standard_error) == pytest.approx(
        (0.0, 0.0), abs=1e-12
    )
    p = samples.probabilities("b")
    assert p.standard_error == pytest.approx(np.sqrt(p.value * (1 - p.value) / 5000), rel=1e-2)


def test_missing_and_doubly_judged_evidence():
    """None is not observed; a likelihood of an observed state counts as that state's number."""
    network = small_network()
    c, y, a = (network.variable(name) for name in "cya")
    likelihood = {c: np.log([[0.25, 0.75]])}
    both = Evidence(1, {c: np.array([1]), y: np.array([np.nan])}, likelihood)
    samples = likelihood_weighting(nodes_of(network), [a, y], both, random_state=0)
    expected = brute.Oracle.of(network).log_probability({"c": 1}) + math.log(0.75)
    assert samples.log_evidence.value == pytest.approx(
        expected, abs=4 * samples.log_evidence.standard_error
    )
    assert samples.columns[y].std() > 1


# -------------------------------------------------------------------------- right standard errors


def test_the_standard_errors_are_calibrated():
    """The spread of the answers over many seeds is what each of them reports."""
    network, names = small_network(), ["a", "b", "x"]
    exact = brute.Oracle.of(network)
    given = {"y": 2.5, "c": [0.3, 0.9]}
    mean, covariance = exact.moments(["x"], given)
    truth = [
        *exact.posterior(["a"], given),
        *exact.posterior(["b"], given),
        mean[0],
        math.sqrt(covariance[0, 0]),
        exact.log_probability(given),
    ]
    values, errors, medians = [], [], []
    for seed in range(200):
        samples = weighted(network, names, GIVEN, n=2000, random_state=seed)
        medians.append(samples.quantile("x", 0.5))
        found = [samples.probabilities("a"), samples.probabilities("b"), samples.mean("x")]
        found += [samples.std("x"), samples.log_evidence]
        values.append(np.concatenate([np.atleast_1d(e.value) for e in found]))
        errors.append(np.concatenate([np.atleast_1d(e.standard_error) for e in found]))
    values, errors = np.array(values), np.array(errors)
    ratio = values.std(axis=0) / np.sqrt(np.mean(errors**2, axis=0))
    assert ((ratio > 0.85) & (ratio < 1.15)).all()
    inside = np.abs(values - truth) <= 2 * errors
    assert (inside.mean(axis=0) > 0.91).all()
    spread = np.std([m.value for m in medians])
    assert spread == pytest.approx(np.mean([m.standard_error for m in medians]), rel=0.25)


def test_skewed_weights_do_not_make_it_too_sure():
    """One state in 2,000 explains the evidence: few samples carry nearly all the weight."""
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.9995, 0.0005]), bg.TableCPD(b, [[0.999, 0.001], [0.1, 0.9]], [a])]
    )
    exact = brute.Oracle.of(network).posterior(["a"], {"b": 1})
    close = []
    for seed in range(100):
        nodes, given = nodes_of(network), network._encode({"b": 1})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesGraphWarning)
            samples = likelihood_weighting(nodes, [a], given, n=12_000, random_state=seed)
        p = samples.probabilities("a")
        close.append((np.abs(p.value - exact) <= 3 * p.standard_error).all())
    assert np.mean(close) > 0.95


def test_states_that_were_not_reached_are_not_called_impossible():
    a, b = bg.Discrete("a", [0, 1, 2]), bg.Discrete("b", ["only"])
    network = bg.BayesianNetwork([bg.TableCPD(a, [1 - 1e-9, 1e-9, 0]), bg.TableCPD(b, [1.0])])
    samples = weighted(network, ["a", "b"], n=1000)
    p = samples.probabilities("a")
    assert p.value == pytest.approx([1.0, 0.0, 0.0], abs=0)
    assert p.standard_error == pytest.approx(np.full(3, 1e-3))
    assert samples.probabilities("b").standard_error.tolist() == [0.0]
    assert samples.probabilities("a", "b").standard_error == pytest.approx(np.full((3, 1), 1e-3))


# --------------------------------------------------------------------------------- how many


def test_samples_are_drawn_until_the_standard_error_is_reached():
    network = small_network()
    options = {"n": 2_000_000, "standard_error": 0.004}
    samples = weighted(network, ["a", "b", "x"], GIVEN, **options)
    assert samples.n_samples < 2_000_000
    assert samples.report.reached
    assert samples.report.largest_standard_error <= 0.004
    assert "requested 0.004: reached" in str(samples.report)
    more = weighted(network, ["a", "b", "x"], GIVEN, n=2_000_000, standard_error=0.002)
    assert more.n_samples > 2 * samples.n_samples
    short = weighted(network, ["a"], GIVEN, n=5000, standard_error=1e-6)
    assert short.n_samples == 5000
    assert not short.report.reached
    assert "NOT reached" in str(short.report)


@pytest.mark.parametrize("n_samples", [1000, 16_384, 40_000])
def test_chunks_add_up(n_samples):
    samples = weighted(small_network(), ["x", "a"], GIVEN, n=n_samples)
    assert samples.n_samples == n_samples
    assert all(len(column) == n_samples for column in samples.columns.values())
    assert samples.weights.sum() == pytest.approx(1.0)


def test_barren_variables_are_not_sampled():
    network = small_network()
    drawn = []

    class Spy:
        def __init__(self, cpd):
            self.variable, self.parents, self.potential = cpd.variable, cpd.parents, cpd.potential
            self.cpd = cpd

        def sample(self, columns, n, random):
            drawn.append(self.variable.name)
            return self.cpd.sample(columns, n, random)

    nodes = [Spy(cpd) for cpd in nodes_of(network)]
    likelihood_weighting(
        nodes, [network.variable("b")], network._encode({"a": "u"}), n=500, random_state=0
    )
    assert drawn == ["b"]


# --------------------------------------------------------------------------- too little, nothing


def test_few_effective_samples_are_reported():
    network = small_network()
    with pytest.warns(BayesGraphWarning, match="effective samples among 2,000"):
        samples = weighted(network, ["a", "x"], {"y": 15.0}, n=2000)
    assert samples.report.effective_samples < 100
    assert not samples.report.reliable
    assert "NOT reliable" in str(samples.report)
    assert samples.report.largest_standard_error > 0.05
    with pytest.warns(BayesGraphWarning):
        one = weighted(network, ["a", "x"], {"y": 1.0}, n=1)
    assert one.report.effective_samples == 1.0
    assert one.log_evidence.standard_error == math.inf
    assert one.std("x").value == 0.0


def test_no_sample_agrees_with_the_evidence():
    network = small_network()
    rare = bg.Discrete("rare", [0, 1])
    child = bg.Discrete("child", [0, 1])
    chain = bg.BayesianNetwork(
        [bg.TableCPD(rare, [1 - 1e-12, 1e-12]), bg.TableCPD(child, np.eye(2), [rare])]
    )
    message = r"no sample .* evidence on 'child' among 3,000. This does not prove"
    with pytest.raises(ImpossibleEvidenceError, match=message):
        weighted(chain, ["rare"], {"child": 1}, n=3000)
    # What the exact engine can tell: it is possible.
    assert chain.query("rare", {"child": 1})[1] == pytest.approx(1.0)
    with pytest.raises(ImpossibleEvidenceError, match="no sample"):
        weighted(network, ["a"], {"c": {0: 0.0, 1: 0.0}}, n=3000)


@pytest.mark.filterwarnings("ignore:Far outside")
def test_densities_of_any_size():
    """Log weights of -1e100 are shifted before they are exponentiated."""
    a, x = bg.Discrete("a", [0, 1]), bg.Continuous("x")
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.GaussianCPD(x, [0.0, 0.0], [1.0, 1.0], [a])]
    )
    samples = weighted(network, ["a"], {"x": 1e50}, n=1000)
    assert samples.log_evidence.value == pytest.approx(-0.5e100)
    assert samples.report.effective_samples == pytest.approx(1000)
    many = [bg.GaussianCPD(bg.Continuous(i), [0.0, 0.1], 1.0, [a]) for i in range(1000)]
    wide = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), *many])
    given = {i: 30.0 + 0.05 * (i % 2) for i in range(1000)}
    with np.errstate(all="raise", under="ignore"):
        samples = weighted(wide, ["a"], given, n=1000)
    expected = wide.query("a", given)
    assert samples.probabilities("a").value == pytest.approx(expected.probabilities, abs=1e-6)
    assert samples.log_evidence.value == pytest.approx(expected.log_evidence, rel=1e-4)


# ----------------------------------------------------------------------------- use and misuse


def test_the_seed_decides():
    network = small_network()
    one, same, other = (weighted(network, ["x"], GIVEN, random_state=s) for s in (3, 3, 4))
    assert (
        one.columns[network.variable("x")].tobytes()
        == same.columns[network.variable("x")].tobytes()
    )
    assert one.log_weights.tobytes() == same.log_weights.tobytes()
    assert one.log_weights.tobytes() != other.log_weights.tobytes()
    generator = weighted(network, ["x"], GIVEN, random_state=np.random.default_rng(3))
    assert generator.log_weights.tobytes() == one.log_weights.tobytes()
    assert weighted(network, ["x"], GIVEN, random_state=None).n_samples == 20_000


def test_results_are_readable_and_frozen():
    samples = weighted(small_network(), ["b", "x"], GIVEN)
    text = repr(samples)
    assert "likelihood weighting: 20,000 samples" in text
    assert "  P(b = 0)   0." in text
    assert "  mean of x" in text
    assert " ± " in str(samples.mean("x"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        samples.log_weights = None
    with pytest.raises(ValueError, match="read-only"):
        samples.weights[0] = 1.0
    assert isinstance(samples, WeightedSamples)


def test_more_samples_than_memory_are_refused():
    network = small_network()
    wanted = r"10,000,000,000,000 samples of 1 variables .* take 160 TB; the limit is .* Draw fewer"
    with pytest.raises(MemoryLimitError, match=wanted):
        network.weighted_samples("a", n=10**13)
    with pytest.raises(MemoryLimitError, match=wanted):
        network.query("a", {"c": 1}, method="likelihood-weighting", n=10**13)
    # As a maximum it may be large.
    found = network.weighted_samples("a", n=10**13, standard_error=0.05, random_state=0)
    assert found.n_samples < 10**6


def test_wrong_questions_are_refused():
    network = small_network()
    nodes, empty = nodes_of(network), network._encode(None)
    a, x = network.variable("a"), network.variable("x")
    samples = weighted(network, ["b", "x"])
    with pytest.raises(EvidenceError, match="'x' is continuous"):
        samples.probabilities("x")
    with pytest.raises(EvidenceError, match="'b' is discrete"):
        samples.mean("b")
    with pytest.raises(UnknownVariableError, match="'a'"):
        samples.probabilities(a)
    with pytest.raises(EvidenceError, match="between 0 and 1"):
        samples.quantile(x, 1.0)
    with pytest.raises(EvidenceError, match="one row"):
        likelihood_weighting(nodes, [x], Evidence(2, {a: np.array([0, 1])}))
    with pytest.raises(DataTypeError, match="whole number"):
        likelihood_weighting(nodes, [x], empty, n=1e4)
    for options, message in (({"n": 0}, "1 or more"), ({"standard_error": 0.0}, "positive")):
        with pytest.raises(DataError, match=message):
            likelihood_weighting(nodes, [x], empty, **options)


def test_intervals_hold_the_exact_posterior_as_often_as_they_say():
    net, evidence = bg.examples.network("asia"), {"xray": "yes", "dysp": "yes"}
    exact = net.query("lung", evidence).probabilities
    inside = 0
    for seed in range(200):
        options = {"n": 2000, "random_state": seed}
        drawn = net.query("lung", evidence, method="likelihood-weighting", **options)
        low, high = drawn.bounds
        assert ((low >= 0) & (low <= drawn.probabilities) & (high <= 1)).all()
        inside += bool(low[0] <= exact[0] <= high[0])
    # Binomial(200, 0.95): three standard deviations below are 0.90; the smallest weight adds to it.
    assert inside >= 180
    text = str(drawn)
    assert f"[{low[0]:.4f}, {high[0]:.4f}]" in text
    assert "95 % intervals" in text
    assert pickle.loads(pickle.dumps(drawn)).bounds.tolist() == drawn.bounds.tolist()
    assert net.query("lung", evidence).bounds is None


def test_a_state_that_no_sample_reaches_has_the_rule_of_three():
    net = bg.network("a", {"a": [0.996, 0.004]})
    inside = 0
    for seed in range(300):
        drawn = net.weighted_samples("a", n=500, random_state=seed).posterior("a")
        inside += bool(drawn.bounds[0, 1] <= 0.004 <= drawn.bounds[1, 1])
    assert inside >= 270  # with 1.96 in place of 3 about 260
