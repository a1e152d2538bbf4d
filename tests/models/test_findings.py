"""Intervals of numbers and likelihoods of counts as evidence, against SciPy's probabilities."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnsupportedModelError

A, B = bg.Discrete("a", ["u", "v"]), bg.Discrete("b", [0, 1, 2])
PRIOR = np.array([0.3, 0.7])
TABLE = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
RATE = np.array([[1.0, 4.0, 0.2], [2.0, 7.0, 3.0]])
SHAPE = np.array([0.5, 2.0, 5.0])


def network(factor=1.0):
    return bg.BayesianNetwork(
        [
            bg.TableCPD(A, PRIOR),
            bg.TableCPD(B, TABLE, [A]),
            bg.PoissonCPD(bg.Count("n"), factor * RATE, [A, B]),
            bg.GammaCPD(bg.Continuous("w"), SHAPE, np.ones(3), [B]),
            bg.GaussianCPD(bg.Continuous("g"), [0.0, 2.0], [1.0, 4.0], [A]),
        ]
    )


def of_n(low, high, factor=1.0):
    found = stats.poisson(factor * RATE)
    return found.cdf(math.floor(high)) - found.cdf(math.ceil(low) - 1)


# Evidence, and its probability given a and b.
CASES = {
    "a count": ({"n": bg.Between(2, 4)}, of_n(2, 4)),
    "between whole numbers": ({"n": bg.Between(1.5, 3.9)}, of_n(2, 3)),
    "from a number on": ({"n": bg.Between(3)}, stats.poisson(RATE).sf(2)),
    "far out": ({"n": bg.Between(40)}, stats.poisson(RATE).sf(39)),
    "farther": (
        {"g": bg.Between(12, 13)},
        np.tile(-np.diff(stats.norm([0, 2], [1, 2]).sf([[12], [13]]), axis=0).T, 3),
    ),
    "a number": (
        {"w": bg.Between(0.5, 2)},
        np.tile(stats.gamma(SHAPE).cdf(2) - stats.gamma(SHAPE).cdf(0.5), (2, 1)),
    ),
    "up to a number": ({"w": bg.Between(high=1)}, np.tile(stats.gamma(SHAPE).cdf(1), (2, 1))),
    "a Gaussian": (
        {"g": bg.Between(0, 1)},
        np.tile(np.diff(stats.norm([0, 2], [1, 2]).cdf([[0], [1]]), axis=0).T, 3),
    ),
    "likelihoods": (
        {"n": {0: 0.2, 3: 0.9}},
        0.2 * stats.poisson(RATE).pmf(0) + 0.9 * stats.poisson(RATE).pmf(3),
    ),
    "other counts": (
        {"n": {0: 0.2, "other": 0.5}},
        0.2 * stats.poisson(RATE).pmf(0) + 0.5 * (1 - stats.poisson(RATE).pmf(0)),
    ),
    "several": (
        {"n": bg.Between(2, 4), "g": bg.Between(0, 1), "w": 1.5},
        of_n(2, 4)
        * np.tile(np.diff(stats.norm([0, 2], [1, 2]).cdf([[0], [1]]), axis=0).T, 3)
        * stats.gamma(SHAPE).pdf(1.5),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_answers_are_sums_over_the_worlds(name):
    evidence, likelihood = CASES[name]
    net = network()
    joint = PRIOR[:, None] * TABLE * likelihood
    found = net.query(["a", "b"], evidence)
    np.testing.assert_allclose(found.probabilities, joint / joint.sum(), rtol=1e-10, atol=1e-15)
    assert net.log_probability(evidence) == pytest.approx(math.log(joint.sum()), rel=1e-10)
    assert net.marginals(pd.Series(evidence))["a"]["u"] == pytest.approx(
        joint[0].sum() / joint.sum()
    )
    best = net.k_most_probable(1, evidence, over=["a", "b"])[0]
    assert (best["a"], best["b"]) == found.argmax
    assert net.most_probable(evidence, over=["a", "b"]) == best
    assert {"a", "b"} <= set(net.most_probable(evidence))
    if "w" not in evidence:
        share = joint.sum(axis=0) / joint.sum()
        assert net.query("w", evidence).mean == pytest.approx(share @ SHAPE)
    if len(evidence) == 1:  # it takes the findings one by one where b is missing
        weighted = bg.WeightedNetwork(net, "a").query("a", evidence)
        np.testing.assert_allclose(weighted.probabilities, net.query("a", evidence).probabilities)


def test_the_posterior_of_a_count_with_likelihoods():
    found = network().query("n", {"n": {0: 0.2, 3: 0.9}})
    share = PRIOR[:, None] * TABLE
    weights = np.array(
        [x * (share * stats.poisson(RATE).pmf(n)).sum() for n, x in ((0, 0.2), (3, 0.9))]
    )
    np.testing.assert_allclose(found.probabilities, [*(weights / weights.sum()), 0.0], rtol=1e-12)


def test_other_counts_that_are_rare_keep_their_digits():
    found = network().query(["a", "b"], {"n": {**dict.fromkeys(range(40), 0.0), "other": 1.0}})
    joint = PRIOR[:, None] * TABLE * stats.poisson(RATE).sf(39)
    np.testing.assert_allclose(found.probabilities, joint / joint.sum(), rtol=1e-10)


def test_a_belief_about_a_count():
    net = network()
    belief = {"n": bg.Belief({0: 0.5, 2: 0.5})}
    assert dict(net.query("n", belief)) == pytest.approx({0: 0.5, 2: 0.5, "other": 0.0})
    halves = [net.query("a", {"n": n})["u"] for n in (0, 2)]
    assert net.query("a", belief)["u"] == pytest.approx(np.mean(halves))
    # A belief about a parent, with an interval of a leaf.
    both = {"a": bg.Belief({"u": 0.5, "v": 0.5}), "n": bg.Between(2)}
    assert net.query("a", both)["u"] == pytest.approx(0.5)


def test_a_mixture_weighs_its_networks():
    mixture = bg.Ensemble([network(), network(2.0)], [0.5, 0.5])
    evidence = {"n": bg.Between(2, 4)}
    joint = PRIOR[:, None] * TABLE * (of_n(2, 4) + of_n(2, 4, 2.0)) / 2
    assert mixture.query("a", evidence)["u"] == pytest.approx(joint[0].sum() / joint.sum())
    assert mixture.log_probability(evidence) == pytest.approx(math.log(joint.sum()))


def test_with_an_intervention():
    net, evidence = network(), {"n": bg.Between(2, 4)}
    joint = TABLE[0] * of_n(2, 4)[0]
    found = net.query("b", evidence, do={"a": "u"})
    np.testing.assert_allclose(found.probabilities, joint / joint.sum(), rtol=1e-12)


def test_an_estimator_answers():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 80)
    model = bg.NaiveBayesClassifier("poisson").fit(random.poisson(1 + 3 * y)[:, None], y)
    rates = model.network_["x0"].rate[:, 0]
    prior = model.query().probabilities
    joint = prior * stats.poisson(rates).sf(2)
    found = model.query(evidence={"x0": bg.Between(3)})
    np.testing.assert_allclose(found.probabilities, joint / joint.sum(), rtol=1e-10)


def test_what_does_not_fit_is_refused():
    net = network()
    for bounds in ((3, 2), (), (math.nan, 1), ("x", 1)):
        with pytest.raises(EvidenceError, match="two numbers, the smaller one first"):
            bg.Between(*bounds)
    with pytest.raises(EvidenceError, match="'a' is no number"):
        net.query("b", {"a": bg.Between(0, 1)})
    with pytest.raises(EvidenceError, match="is a count; got the likelihood"):
        net.query("b", {"n": {0.5: 1.0}})
    with pytest.raises(EvidenceError, match="both a target and observed"):
        net.query("n", {"n": bg.Between(0, 1)})
    with pytest.raises(EvidenceError, match="'w' is continuous"):
        net.query("a", {"w": {1.0: 0.3}})
    x, z = bg.Continuous("x"), bg.Continuous("z")
    chain = bg.BayesianNetwork(
        [bg.GaussianCPD(x, 0.0, 1.0), bg.GaussianCPD(z, 0.0, 1.0, [x], [2.0])]
    )
    with pytest.raises(UnsupportedModelError, match="'x' has children"):
        chain.query("z", {"x": bg.Between(0)})
    with pytest.raises(UnsupportedModelError, match="discrete parents"):
        chain.query("x", {"z": bg.Between(0)})
    joint = bg.models.JointGaussianCPD([x, z], [0.0, 0.0], np.eye(2))
    with pytest.raises(UnsupportedModelError, match="'x' has children"):
        bg.BayesianNetwork([joint]).query("z", {"x": bg.Between(0)})
    with pytest.raises(UnsupportedModelError, match="not intervals or likelihoods"):
        bg.FactorGraph.of(net).query("a", {"n": bg.Between(0, 1)})
    for twice in ({"n": 3, net.variable("n"): {3: 1.0}}, {net.variable("n"): {3: 1.0}, "n": 3}):
        with pytest.raises(EvidenceError, match="'n' more than once"):
            net.query("a", twice)
    for ask in (net.sample, net.weighted_samples, partial(bg.pictures.to_dot, net)):
        given = {"evidence": {"n": bg.Between(0, 1)}}
        with pytest.raises(EvidenceError, match="values of numbers, no intervals"):
            ask(**given, **({"n": 3} if ask == net.sample else {}), **_targets(ask, net))
    assert repr(bg.Between(1, 2)) == "Between(1, 2)"


def _targets(ask, net):
    return {"targets": "a"} if ask == net.weighted_samples else {}


def test_whole_intervals_of_a_discretised_number():
    age, a = bg.Binned("age", [10.0, 20.0, 30.0]), bg.Discrete("a", ["u", "v"])
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.3, 0.7]), bg.TableCPD(age, shares, [a])])
    for bounds, inside in (((10, 30), [1, 2]), ((10, 20), [1]), ((20, math.inf), [2, 3])):
        joint = np.array([0.3, 0.7]) * shares[:, inside].sum(axis=1)
        evidence = {"age": bg.Between(*bounds)}
        assert net.query("a", evidence).probabilities == pytest.approx(joint / joint.sum())
        assert net.log_probability(evidence) == pytest.approx(math.log(joint.sum()))
    for twice in ({5: 0.1, 7: 0.9, 15: 0.5, 25: 0.1, 35: 0.2}, bg.Belief({5: 0.5, 7: 0.5})):
        with pytest.raises(EvidenceError, match=r"names '\(-inf, 10\]' more than once"):
            net.query("a", {"age": twice})
    for bounds in ((10, 25), (15, 30), (20, 20)):
        with pytest.raises(EvidenceError, match=r"cut points 10.0, 20.0, 30.0"):
            net.query("a", {"age": bg.Between(*bounds)})


def test_an_average_takes_intervals_of_each_of_its_networks():
    age, finer = bg.Binned("age", [10.0, 30.0]), bg.Binned("age", [10.0, 20.0, 30.0])
    networks = [
        bg.BayesianNetwork(
            [bg.TableCPD(A, [0.3, 0.7]), bg.TableCPD(age, [[0.1, 0.2, 0.7], [0.4, 0.3, 0.3]], [A])]
        ),
        bg.BayesianNetwork(
            [bg.TableCPD(finer, [0.1, 0.2, 0.3, 0.4]), bg.TableCPD(A, [[0.1, 0.9]] * 4, [finer])]
        ),
        bg.BayesianNetwork([bg.TableCPD(A, [0.5, 0.5])]),
    ]
    average = bg.Ensemble(networks, [0.5, 0.3, 0.2], combine="posterior")
    shares = [np.array([0.06, 0.21]), np.array([0.1, 0.9]), np.array([0.5, 0.5])]
    expected = sum(w * s / s.sum() for w, s in zip([0.5, 0.3, 0.2], shares, strict=True))
    evidence = {"age": bg.Between(10, 30)}
    assert average.query("a", evidence).probabilities == pytest.approx(expected)
    # The first network does not tell the parts of an interval apart.
    assert average.query("a", {"age": bg.Between(10, 20)}).probabilities == pytest.approx(expected)
    with pytest.raises(EvidenceError, match="cut points"):
        average.query("a", {"age": bg.Between(10, 25)})
    weighted = bg.Ensemble([bg.WeightedNetwork(networks[0], "a"), networks[1]], combine="posterior")
    found, part = (weighted.query("a", {"age": bg.Between(10, x)}) for x in (30, 20))
    assert found.probabilities == pytest.approx(part.probabilities)
    number = bg.GaussianCPD(bg.Continuous("age"), [15.0, 25.0], [25.0, 100.0], [A])
    mixed = bg.BayesianNetwork([bg.TableCPD(A, PRIOR), number])
    both = bg.Ensemble([networks[0], mixed], combine="posterior")
    parts = [network.query("a", {"age": 15.0}).probabilities for network in both.networks]
    assert both.query("a", {"age": 15.0}).probabilities == pytest.approx(np.mean(parts, axis=0))
    rows = both.query_rows("a", {"age": [15.0, None]})
    assert rows[0] == pytest.approx(np.mean(parts, axis=0))
    with pytest.raises(UnsupportedModelError, match="'age' have intervals in some networks"):
        both.query("a", evidence)
    with pytest.raises(UnsupportedModelError, match="'age' is a number in some networks"):
        both.query("age")


# Log probabilities of intervals by formulas that neither cancel nor underflow.
X, N = bg.Continuous("x"), bg.Count("x")
BINS = bg.models.HistogramCPD(X, [0.0, 1.0, 3.0], [0.1, 0.2, 0.3, 0.4])
KERNELS = bg.models.KernelDensityCPD(X, [0.0, 2.0], [1.0, 3.0], 2, 0.5)
APART = bg.models.KernelDensityCPD(X, [-100.0, 100.0], [1.0, 1.0], 2, 1.0)
T4 = bg.models.StudentCPD(X, 0.0, 1.0, 4.0)
ndtr = special.log_ndtr
POISSON = [k * math.log(2) - math.lgamma(k + 1) + 1210 for k in range(300, 400)]


def between(upper, lower):
    """Return the log of the difference of two exponentials."""
    return upper + math.log(-math.expm1(lower - upper))


# Each count has the odds 1 : 1e9 to be the last one.
SLOW = bg.models.NegativeBinomialCPD(N, 1.0, 1e-9)


def geometric(low, high):
    """Return log P(low <= count < high) of the counts of `SLOW`."""
    return -low * math.log1p(1e-9) + math.log(-math.expm1((low - high) * math.log1p(1e-9)))


INTERVALS = {
    "exponential": (bg.models.ExponentialCPD(X, 2.0), (800, math.inf), -1600.0),
    "exponential, between": (
        bg.models.ExponentialCPD(X, 2.0),
        (800, 801),
        between(-1600.0, -1602.0),
    ),
    "gamma": (bg.GammaCPD(X, 2.0, 1.0), (900, math.inf), math.log1p(900) - 900),
    "gamma, below": (bg.GammaCPD(X, 3.0, 1.0), (-5, 1e-150), 3 * math.log(1e-150) - math.log(6)),
    "beta": (bg.models.BetaCPD(X, 2.0, 3.0), (-1, 1e-200), 2 * math.log(1e-200) + math.log(6)),
    "beta, above": (bg.models.BetaCPD(X, 1.0, 300.0), (0.95, 2), 300 * math.log(0.05)),
    "log-normal": (bg.LogNormalCPD(X, 0.0, 0.25), (1e9, math.inf), ndtr(-2 * math.log(1e9))),
    "log-normal, below": (bg.LogNormalCPD(X, 1.0, 1.0), (0, 1e-20), ndtr(math.log(1e-20) - 1)),
    # The density of four degrees of freedom is 12 x^-5 far from 0.
    "Student": (T4, (1e150, math.inf), math.log(3) - 4 * math.log(1e150)),
    "Student, below": (T4, (-math.inf, -1e150), math.log(3) - 4 * math.log(1e150)),
    "normal": (bg.GaussianCPD(X, 1.0, 4.0), (101, math.inf), ndtr(-50)),
    "normal, between": (bg.GaussianCPD(X, 0.0, 1.0), (50, 50.01), between(ndtr(-50), ndtr(-50.01))),
    "normal, below": (bg.GaussianCPD(X, 0.0, 1.0), (-math.inf, -60), ndtr(-60)),
    "kernels": (
        KERNELS,
        (42, math.inf),
        np.logaddexp(math.log(0.25) + ndtr(-84), math.log(0.75) + ndtr(-80)),
    ),
    "kernels, between": (APART, (-40, 40), ndtr(-60)),
    "histogram": (BINS, (3e100, math.inf), math.log(0.4) - 3 * math.log1p(1e100 - 1)),
    "Poisson": (bg.PoissonCPD(N, 2.0), (300, math.inf), special.logsumexp(POISSON) - 1212),
    "Poisson, below": (bg.PoissonCPD(N, 1000.0), (-math.inf, 1), math.log1p(1000) - 1000),
    "negative binomial": (
        bg.models.NegativeBinomialCPD(N, 1.0, 0.25),
        (5000, math.inf),
        -5000 * math.log(1.25),
    ),
    "many counts": (SLOW, (10**9, 10**9 + 60_000 - 1), geometric(10**9, 10**9 + 60_000)),
    "many counts, without end": (SLOW, (10**12, math.inf), geometric(10**12, math.inf)),
    "no whole number": (bg.PoissonCPD(N, 2.0), (0.2, 0.8), -math.inf),
}
NARROW = {
    "exponential": (bg.models.ExponentialCPD(X, 2.0), 3.0, stats.expon(scale=0.5)),
    "gamma": (bg.GammaCPD(X, 2.5, 1.5), 20.0, stats.gamma(2.5, scale=1 / 1.5)),
    "beta": (bg.models.BetaCPD(X, 2.0, 3.0), 0.9, stats.beta(2, 3)),
    "log-normal": (bg.LogNormalCPD(X, 0.0, 1.0), 3.0, stats.lognorm(1.0)),
    "Student": (bg.models.StudentCPD(X, 0.0, 1.0, 4.0), 7.0, stats.t(4)),
    "normal": (bg.GaussianCPD(X, 1.0, 2.25), 0.0, stats.norm(1, 1.5)),
    "normal, far": (bg.GaussianCPD(X, 0.0, 1.0), 20.0, stats.norm(0, 1)),
    "kernels": (bg.models.KernelDensityCPD(X, [1.0], [1.0], 1, 1.5), 0.25, stats.norm(1, 1.5)),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_in_a_tail_have_logarithms(name):
    cpd, bounds, expected = INTERVALS[name]
    found = bg.BayesianNetwork([cpd]).log_probability({"x": bg.Between(*bounds)})
    assert found == pytest.approx(float(expected), rel=1e-13, abs=1e-11)


@pytest.mark.parametrize("name", NARROW)
def test_narrow_intervals_have_density_times_width(name):
    cpd, at, scipys = NARROW[name]
    # Powers of two, so that the width is exact.
    for width in (2.0**-40, 2.0**-30):
        interval = bg.Between(at, at + width)
        found = bg.BayesianNetwork([cpd]).log_probability({"x": interval})
        middle = scipys.logpdf(at + width / 2) + math.log(width)
        assert found == pytest.approx(middle, rel=0, abs=1e-12)


@pytest.mark.parametrize("end", [1e170, 1e308])
def test_an_interval_with_a_huge_end_is_one_without_end(end):
    kind = bg.Discrete("kind", ["a", "b"])
    cpd = bg.GaussianCPD(X, [0.0, 2.0], [1e-10, 2.0], [kind])
    net = bg.BayesianNetwork([bg.TableCPD(kind, [0.3, 0.7]), cpd])
    huge, endless = {"x": bg.Between(-2e-5, end)}, {"x": bg.Between(-2e-5)}
    assert net.query("kind", huge) == net.query("kind", endless)
    found, expected = (net.ask.sensitivity("kind", None, each) for each in (huge, endless))
    np.testing.assert_array_equal(found.gaussians["x"].mean, expected.gaussians["x"].mean)
    np.testing.assert_array_equal(found.gaussians["x"].variance, expected.gaussians["x"].variance)


def test_evidence_in_a_tail_has_a_posterior():
    kind = bg.Discrete("kind", ["a", "b"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.5]),
            bg.models.ExponentialCPD(X, [1.0, 1.0 + 1e-3], [kind]),
            bg.GaussianCPD(bg.Continuous("y"), [0.0, 0.1], 1.0, [kind]),
            bg.TableCPD(B, TABLE, [kind]),
        ]
    )
    evidence = {"x": bg.Between(900), "y": bg.Between(40)}
    odds = 0.9 + special.log_ndtr(-40) - special.log_ndtr(-39.9)
    for model in (net, bg.WeightedNetwork(net, "kind"), bg.Ensemble([net, net])):
        found = model.query("kind", evidence)
        assert math.log(found["a"] / found["b"]) == pytest.approx(odds, abs=1e-10)
    share = found.probabilities @ TABLE
    np.testing.assert_allclose(net.query("b", evidence).probabilities, share, rtol=1e-10)
    np.testing.assert_allclose(net.marginals(evidence)["b"].probabilities, share, rtol=1e-10)
    np.testing.assert_allclose(
        net.conditioned(evidence).query("b").probabilities, share, rtol=1e-10
    )
    assert net.most_probable(evidence)["kind"] == "b"


def test_impossible_intervals_are_named_as_they_were_given():
    net = bg.BayesianNetwork([bg.models.BetaCPD(X, 2.0, 3.0)])
    with pytest.raises(ImpossibleEvidenceError, match=r"'x': Between\(2, 3\)"):
        bg.BayesianNetwork([*net.cpds, bg.TableCPD(A, PRIOR)]).query("a", {"x": bg.Between(2, 3)})
    assert net.log_probability({"x": bg.Between(2, 3)}) == -math.inf
    assert bg.Between(1, 2) == bg.Between(1.0, 2.0) != bg.Between(1, 3)
