"""Answers: mappings, mixtures and assignments."""

import math
import re

import numpy as np
import pytest
from scipy import integrate, stats

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnsupportedModelError
from bayesgraph.inference import GaussianComponents, NumberMixture, Posterior

MIXED_STATES = (True, 1, 1.0, "1")


@pytest.fixture
def net():
    rain = bg.Discrete("rain", ["no", "yes"])
    wet = bg.Discrete("wet", [False, True])
    temp, feel = bg.Continuous("temp"), bg.Continuous("feel")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
            bg.GaussianCPD(temp, [20.0, 14.0], [9.0, 4.0], parents=[rain]),
            bg.GaussianCPD(feel, -1.0, 1.0, parents=[temp], coefficients=[1.0]),
        ]
    )


# ------------------------------------------------------------------------------- posteriors


def test_posterior_is_a_mapping(net):
    posterior = net.query("rain", {"wet": True})
    assert isinstance(posterior, Posterior)
    assert list(posterior) == ["no", "yes"]
    assert len(posterior) == 2
    assert "no" in posterior
    assert "No" not in posterior
    assert posterior["yes"] == pytest.approx(2 / 3)
    assert posterior.argmax == "yes"
    assert sum(posterior.values()) == pytest.approx(1.0)
    assert dict(posterior.items()) == posterior.to_dict()
    assert posterior.names == ("rain",)
    assert posterior.log_evidence == pytest.approx(math.log(0.24))
    with pytest.raises(EvidenceError, match="Did you mean 'yes'"):
        posterior["yess"]
    with pytest.raises(EvidenceError):
        posterior[["no"]]


def test_get_returns_the_default_for_what_is_not_a_state(net):
    assert net.query("rain").get("sometimes", 0.0) == 0.0
    assert net.query(["rain", "wet"]).get(("no", "maybe")) is None
    with pytest.raises(KeyError):
        net.query("rain")["sometimes"]


def test_joint_posterior(net):
    joint = net.query(["wet", "rain"])
    assert joint.names == ("wet", "rain")
    assert list(joint) == [(False, "no"), (False, "yes"), (True, "no"), (True, "yes")]
    assert joint[True, "yes"] == pytest.approx(0.16)
    assert joint[1, "yes"] == pytest.approx(0.16)  # 1 equals True and nothing else
    assert joint.argmax == (False, "no")
    assert len(joint) == 4
    assert (True, "no") in joint
    assert "no" not in joint
    for wrong in ("no", ("no",), (True, "no", 1), ("no", True)):
        with pytest.raises(EvidenceError):
            joint[wrong]


def test_a_list_of_one_target_is_not_joint(net):
    assert net.query(["rain"])["no"] == pytest.approx(0.8)


def test_marginal_of_a_joint_posterior(net):
    joint = net.query(["rain", "wet"])
    wet = joint.marginal("wet")
    assert wet.probabilities == pytest.approx(net.query("wet").probabilities)
    assert wet.log_evidence == joint.log_evidence
    assert joint.marginal("rain", "wet").to_dict() == pytest.approx(joint.to_dict())
    with pytest.raises(EvidenceError, match="'temp'"):
        joint.marginal("temp")


def test_marginal_keeps_the_order_asked_for(net):
    joint = net.query(["rain", "wet"])
    turned = joint.marginal("wet", "rain")
    assert turned.names == ("wet", "rain")
    assert turned[True, "no"] == pytest.approx(joint["no", True])


def test_marginal_of_nothing_is_refused(net):
    with pytest.raises(EvidenceError):
        net.query(["rain", "wet"]).marginal()


def test_posterior_is_read_only(net):
    posterior = net.query("rain")
    with pytest.raises(ValueError, match="read-only"):
        posterior.probabilities[0] = 1.0


def test_to_series(net):
    series = net.query("rain").to_series()
    assert series.to_dict() == pytest.approx({"no": 0.8, "yes": 0.2})
    assert (series.index.name, series.name) == ("rain", "probability")
    joint = net.query(["rain", "wet"]).to_series()
    assert joint.index.names == ["rain", "wet"]
    assert joint["yes", True] == pytest.approx(0.16)


def test_to_series_keeps_the_states_as_they_are():
    a = bg.Discrete("a", MIXED_STATES)
    t = bg.Discrete("t", [("x", 1), ("y", 2)])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.1, 0.2, 0.3, 0.4]), bg.TableCPD(t, [0.5, 0.5])])

    def kinds(states):
        return [(type(state), state) for state in states]

    assert kinds(net.query("a").to_series().index) == kinds(MIXED_STATES)
    assert list(net.query("t").to_series().index) == [("x", 1), ("y", 2)]
    numbers = bg.Discrete("n", [1, 2.5])
    both = bg.BayesianNetwork([bg.TableCPD(numbers, [0.5, 0.5])])
    assert kinds(both.query("n").to_series().index) == kinds((1, 2.5))
    joint = net.query(["a", "t"]).to_series()
    assert kinds(key[0] for key in joint.index)[::2] == kinds(MIXED_STATES)


def test_repr_of_posteriors(net):
    assert repr(net.query("rain")) == (
        "P(rain)\n  no   0.800000  ███████████████████\n  yes  0.200000  █████"
    )
    assert repr(net.query(["rain", "wet"])).splitlines()[0] == "P(rain, wet)"
    many = bg.Discrete("many", range(100))
    one = bg.BayesianNetwork([bg.TableCPD(many, np.full(100, 0.01))])
    text = repr(one.query("many"))
    assert "60 more states" in text
    assert len(text.splitlines()) == 42


def test_states_that_look_alike_are_told_apart():
    alike = bg.Discrete("a", [1, "1", 2])
    net = bg.BayesianNetwork([bg.TableCPD(alike, [0.5, 0.25, 0.25])])
    for answer in (net.query("a"), net.marginals()):
        assert " '1' " in repr(answer)
        assert " 1 " in repr(answer)


def test_html_escapes_names_and_states():
    a = bg.Discrete("<a>", ["<b>&", "c"])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5])])
    markup = net.query("<a>")._repr_html_()
    assert "&lt;b&gt;&amp;" in markup
    assert "P(&lt;a&gt;)" in markup
    assert "<b>" not in markup
    assert "0.5000" in markup


# --------------------------------------------------------------------------------- mixtures


def mixture(weights, means, scales):
    components = GaussianComponents(
        np.array(means, dtype=float)[:, None], (np.array(scales, dtype=float) ** 2)[:, None, None]
    )
    return NumberMixture((bg.Continuous("x"),), [(np.array(weights), components)], 0.0)


MIXTURES = [
    ([1.0], [3.0], [2.0]),
    ([0.3, 0.7], [0.0, 1.0], [1.0, 2.0]),
    ([0.5, 0.5], [-50.0, 50.0], [0.1, 3.0]),
    ([0.01, 0.98, 0.01], [-5.0, 0.0, 5.0], [1.0, 1e-3, 1.0]),
]


@pytest.mark.parametrize("parts", MIXTURES)
def test_mixture_against_scipy(parts):
    weights, means, scales = map(np.array, parts)
    mix = mixture(*parts)
    mean = weights @ means
    assert mix.mean == pytest.approx(mean)
    second = weights @ (scales**2 + means**2)
    assert mix.variance == pytest.approx(second - mean**2)
    assert mix.covariance == pytest.approx(np.array([[second - mean**2]]))
    points = np.linspace(-60, 60, 101).reshape(-1, 1)
    density = stats.norm.pdf(points, means, scales) @ weights
    assert mix.density(points[:, 0]) == pytest.approx(density, rel=1e-12)
    assert mix.log_density(points[:, 0]).shape == (101,)
    assert mix.density(points).shape == (101, 1)
    assert mix.cdf(points[:, 0]) == pytest.approx(stats.norm.cdf(points, means, scales) @ weights)
    assert float(mix.density(0.25)) == pytest.approx(
        float(stats.norm.pdf(0.25, means, scales) @ weights)
    )
    for probability in (1e-9, 0.025, 0.3, 0.5, 0.9, 1 - 1e-6):
        at = mix.quantile(probability)
        assert float(mix.cdf(at)) == pytest.approx(probability, abs=1e-9, rel=1e-6)
    low, high = mix.interval(0.9)
    assert (low, high) == pytest.approx((mix.quantile(0.05), mix.quantile(0.95)))


@pytest.mark.parametrize("scale", [1e-150, 1e-15, 1e-9, 1e9, 1e100])
def test_quantiles_scale_with_the_variable(scale):
    parts = ([0.3, 0.7], [0.0, 1.0], [1.0, 2.0])
    unit = mixture(*parts)
    weights, means, scales = map(np.array, parts)
    scaled = mixture(weights, means * scale, scales * scale)
    for probability in (0.01, 0.3, 0.5, 0.99):
        expected = unit.quantile(probability)
        assert scaled.quantile(probability) / scale == pytest.approx(expected, rel=1e-8)


def test_quantiles_far_from_zero():
    """Spacing of doubles is near the scale: the bracket must still hold the root."""
    mix = mixture([0.999, 0.001], [1e10, 1e10 + 1e-5], [1e-3, 1e-3])
    for probability in np.linspace(0.01, 0.99, 99):
        assert mix.quantile(probability) == pytest.approx(1e10, abs=0.01)
    assert "Gaussian" in repr(mix)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_quantiles_of_no_probability(probability):
    with pytest.raises(EvidenceError, match="between 0 and 1"):
        mixture(*MIXTURES[1]).quantile(probability)


def test_density_far_in_the_tail_has_a_finite_log():
    assert mixture(*MIXTURES[1]).log_density(1e6) == pytest.approx(
        math.log(0.7) + stats.norm.logpdf(1e6, 1.0, 2.0), rel=1e-12
    )


def test_posterior_mixture_of_a_query(net):
    mix = net.query("temp", {"wet": True})
    assert isinstance(mix, NumberMixture)
    assert mix.weights == pytest.approx(np.array([1, 2]) / 3)
    assert mix.mean == pytest.approx(16.0)
    assert mix.variance == pytest.approx(9 / 3 + 2 * 4 / 3 + 2 / 9 * 36)
    total, _ = integrate.quad(mix.density, -20, 60)
    assert total == pytest.approx(1.0)


def test_repr_of_mixtures(net):
    text = repr(net.query("temp", {"rain": "no"}))
    assert text.splitlines()[0] == "p(temp): Gaussian"
    assert text.splitlines()[-1] == "  95 % interval  [14.1201, 25.8799]"
    pair = net.query(["temp", "feel"])
    assert "p(temp, feel): a mixture of 2 distributions (Gaussian)" in repr(pair)
    assert ">p(temp)" in net.query("temp")._repr_html_()


def test_several_continuous_targets(net):
    pair = net.query(["feel", "temp"], {"rain": "no"})
    assert pair.mean == pytest.approx([19.0, 20.0])
    assert pair.covariance == pytest.approx(np.array([[10.0, 9.0], [9.0, 9.0]]))
    assert pair.variance == pytest.approx([10.0, 9.0])
    normal = stats.multivariate_normal([19.0, 20.0], [[10.0, 9.0], [9.0, 9.0]])
    points = np.array([[18.0, 20.0], [25.0, 21.0]])
    assert pair.density(points) == pytest.approx(normal.pdf(points))
    assert float(pair.log_density([18.0, 20.0])) == pytest.approx(normal.logpdf([18.0, 20.0]))
    for question in (pair.cdf, pair.quantile, pair.interval):
        with pytest.raises(EvidenceError, match="one variable"):
            question(0.5)
    for wrong in (0.5, [0.5], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError):  # noqa: PT011
            pair.density(wrong)


def test_mixed_posterior(net):
    both = net.query(["temp", "wet"])
    assert both.discrete.names == ("wet",)
    assert both.discrete.probabilities == pytest.approx(net.query("wet").probabilities)
    given = both.given(True)
    assert given.mean == pytest.approx(net.query("temp", {"wet": True}).mean)
    assert given.variance == pytest.approx(net.query("temp", {"wet": True}).variance)
    assert "mean of temp" in repr(both)
    with pytest.raises(EvidenceError):
        both.given("maybe")


def test_mixed_posterior_of_an_impossible_state():
    c, x = bg.Discrete("c", ["never", "always"]), bg.Continuous("x")
    net = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.0, 1.0]), bg.GaussianCPD(x, [0.0, 1.0], 1.0, parents=[c])]
    )
    both = net.query(["c", "x"])
    assert both.given("always").mean == pytest.approx(1.0)
    with pytest.raises(EvidenceError, match="'never' has probability zero"):
        both.given("never")
    assert len(net.query("x").weights) == 1
    assert "never" in repr(both)


# ------------------------------------------------------------------------------ assignments


def test_assignment_is_a_mapping(net):
    best = net.most_probable({"wet": True, "temp": 15.0})
    assert set(best) == {"rain", "feel"}
    assert len(best) == 2
    assert best["rain"] == "yes"
    assert best["feel"] == pytest.approx(14.0)
    assert isinstance(best["feel"], float)
    with pytest.raises(KeyError):
        best["wet"]
    text = repr(best)
    assert text.startswith("Assignment (log probability ")
    assert "  rain  'yes'" in text.replace("rain     ", "rain")


def test_assignment_keeps_the_type_of_the_state():
    for code, state in enumerate(MIXED_STATES):
        a = bg.Discrete("a", MIXED_STATES)
        net = bg.BayesianNetwork([bg.TableCPD(a, np.eye(4)[code])])
        value = net.most_probable()["a"]
        assert (type(value), value) == (type(state), state)
        value = net.query("a").argmax
        assert (type(value), value) == (type(state), state)


def test_a_posterior_is_refused_not_nan():
    a = bg.Discrete("a", [0, 1])
    b = bg.Discrete("b", [0, 1])
    net = bg.BayesianNetwork(
        [bg.TableCPD(a, [1.0, 0.0]), bg.TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], parents=[a])]
    )
    with pytest.raises(ImpossibleEvidenceError, match="'b': 1"):
        net.query("a", {"b": 1})


def test_a_mixture_of_several_variables_prints_its_covariance():
    x, y = bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork([bg.GaussianCPD(x, 0.0, 4.0), bg.GaussianCPD(y, 1.0, 2.0, [x], [0.5])])
    assert repr(net.query(["x", "y"])).splitlines()[1:] == [
        "     mean       sd  cov(·, x)  cov(·, y)",
        "  x     0        2          4          2",
        "  y     1  1.73205          2          3",
    ]


def test_numbers_that_are_almost_functions_of_each_other():
    x, y = bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(x, 0.0, 1.0),
            bg.GaussianCPD(y, 0.0, 1e-18, [x], [1.0]),
            bg.GaussianCPD(bg.Continuous("z"), 0.0, 1.0, [y], [1.0]),
        ]
    )
    drawn = net.sample(2000, {"z": 0.5}, random_state=0)
    assert np.std(np.subtract(drawn["y"], drawn["x"])) == pytest.approx(1e-9, rel=0.1)
    posterior = net.query(["x", "y"])
    with pytest.raises(UnsupportedModelError, match="model's sample"):
        posterior.sample(2)
    with pytest.raises(UnsupportedModelError, match="singular but for rounding"):
        posterior.log_density([0.5, 0.5])


def test_a_spread_beyond_the_range_of_floats_is_printed():
    x, z = bg.Continuous("x"), bg.Continuous("z")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(x, 0.5, 2.0),
            bg.GaussianCPD(z, 1.0, 0.7, parents=[x], coefficients=[1e300]),
        ]
    )
    with np.errstate(over="ignore"):
        posterior = net.query("z")
    assert np.isnan(posterior.quantile(0.5))
    assert "z" in repr(posterior)


def test_a_mean_beyond_the_range_of_floats_is_printed():
    x, z = bg.Continuous("x"), bg.Continuous("z")
    u = bg.Discrete("u", [0, 1])
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(x, 1e308, 1.0),
            bg.GaussianCPD(z, [1.0, 0.0], [0.5, 1.0], parents=[x, u], coefficients=[[2.0], [-0.5]]),
            bg.TableCPD(u, [1.0, 0.0]),
        ]
    )
    with np.errstate(over="ignore", invalid="ignore"):
        posterior = net.query("x")
        assert np.isnan(posterior.quantile(0.5))
        assert "x" in repr(posterior)


def binned(probabilities, cuts=(0.0, 1.0, 2.5)):
    return Posterior((bg.Binned("x", cuts),), np.array(probabilities), 0.0)


def test_the_range_of_a_number_with_intervals():
    inf = float("inf")
    found = binned([0.1, 0.2, 0.5, 0.2])
    assert found.range(0.0) == (1.0, 2.5)
    assert found.range(0.5) == (0.0, 2.5)
    assert found.range(0.6) == (0.0, inf) or found.range(0.6) == (0.0, 2.5)
    assert found.range(0.9) == (-inf, inf)
    assert binned([0.0, 1.0, 0.0, 0.0]).range(1.0) == (0.0, 1.0)
    assert binned([0.5, 0.0, 0.5], [1.0, 2.0]).range(0.0) == (-inf, 1.0)  # a tie: the first
    assert binned([0.5, 0.5], [1.0]).range(0.0) == (-inf, 1.0)
    assert "median in (1, 2.5], at least half in (0, 2.5]" in repr(found)
    assert "median in (2.5, inf)" in repr(binned([0.1, 0.1, 0.1, 0.7]))
    assert "median" not in repr(binned([1.0], ()))


def test_the_range_has_at_least_its_share():
    random = np.random.default_rng(0)
    for _ in range(100):
        shares = random.dirichlet(np.full(6, 0.5))
        posterior = binned(shares, range(5))
        share = random.random()
        low, high = posterior.range(share)
        ends = np.array([-np.inf, *range(5), np.inf])
        inside = (ends[:-1] >= low) & (ends[1:] <= high)
        assert shares[inside].sum() >= share - 1e-9
        assert shares[ends[1:] <= low].sum() <= (1 - share) / 2 + 1e-9
        assert shares[ends[:-1] >= high].sum() <= (1 - share) / 2 + 1e-9


def test_only_numbers_have_a_range():
    with pytest.raises(EvidenceError, match="one number with intervals"):
        Posterior((bg.Discrete("a", ["p", "q"]),), np.array([0.5, 0.5]), 0.0).range()


def test_marginals_show_bars_in_a_notebook():
    a, b = bg.Discrete("<a>", ["no", "yes"]), bg.Discrete("b", list("uvwxyz"))
    rows = [[0.5, 0.25, 0.125, 0.0625, 0.03125, 0.03125], [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]]
    found = bg.BayesianNetwork([bg.TableCPD(a, [0.75, 0.25]), bg.TableCPD(b, rows, [a])])
    markup = found.marginals({"<a>": "no"})._repr_html_()
    widths = re.findall(r"width:([\d.]+)em", markup)
    assert [float(width) / 8 for width in widths] == [0.5, 0.25, 0.125, 0.0625, 0.0]
    assert "&lt;a&gt;" in found.marginals()._repr_html_()


def test_densities_where_no_count_can_be():
    kind = bg.Discrete("kind", ["calm", "busy"])
    for cpd in (
        bg.PoissonCPD(bg.Count("calls"), [1.0, 5.0], parents=[kind]),
        bg.models.NegativeBinomialCPD(bg.Count("calls"), [1.0, 5.0], [2.0, 3.0], parents=[kind]),
    ):
        calls = bg.BayesianNetwork([bg.TableCPD(kind, [0.75, 0.25]), cpd]).query("calls")
        assert calls.log_density([np.inf, -np.inf, -1.0, 2.5]).tolist() == [-np.inf] * 4
        assert np.isfinite(calls.log_density(3))
        assert calls.log_density([]).shape == (0,)
