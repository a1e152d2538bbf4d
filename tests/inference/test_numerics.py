"""Numbers of extreme size: probabilities near the smallest double, values far from zero."""

import math

import numpy as np
import pytest
from scipy import stats

import bayesgraph as bg


def test_probabilities_of_1e_minus_300():
    a, b, c = (bg.Discrete(name, [0, 1]) for name in "abc")
    tiny = 1e-300
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [tiny, 1.0]),
            bg.TableCPD(b, [[tiny, 1.0], [3 * tiny, 1.0]], parents=[a]),
            bg.TableCPD(c, [[0.25, 0.75], [tiny, 1.0]], parents=[a]),
        ]
    )
    posterior = net.query("a", {"b": 0, "c": 0})
    # 1e-600 * 0.25 against 3e-600: both underflow, their ratio does not.
    assert posterior.probabilities == pytest.approx(np.array([0.25, 3.0]) / 3.25, abs=1e-12)
    expected = 2 * math.log(tiny) + math.log(3.25)
    assert net.log_probability({"b": 0, "c": 0}) == pytest.approx(expected, rel=1e-14)
    assert net.most_probable({"b": 0, "c": 0})["a"] == 1


def test_soft_evidence_of_any_scale():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    net = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.3, 0.7]), bg.TableCPD(b, [[0.9, 0.1], [0.4, 0.6]], parents=[a])]
    )
    expected = net.query("a", {"b": {0: 0.2, 1: 0.6}}).probabilities
    for scale in (1e-300, 1e300):
        given = {"b": {0: 0.2 * scale, 1: 0.6 * scale}}
        posterior = net.query("a", given)
        assert posterior.probabilities == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-9, 1e9, 1e30, 1e150])
def test_the_unit_of_a_continuous_variable_does_not_matter(scale):
    """Variances of scale ** 2: from 1e-300 to 1e300."""
    c, z, x = bg.Discrete("c", [0, 1]), bg.Continuous("z"), bg.Continuous("x")

    def net(unit):
        return bg.BayesianNetwork(
            [
                bg.TableCPD(c, [0.4, 0.6]),
                bg.GaussianCPD(z, np.array([0.0, 1.0]) * unit, unit**2, parents=[c]),
                bg.GaussianCPD(x, unit, 2 * unit**2, parents=[z], coefficients=[0.5]),
            ]
        )

    for given in ({"x": 1.3}, {"z": -0.4}, {"x": 1.3, "z": -0.4}):
        scaled = {name: value * scale for name, value in given.items()}
        posterior = net(scale).query("c", scaled)
        expected = net(1.0).query("c", given)
        assert posterior.probabilities == pytest.approx(expected.probabilities, abs=1e-10)
        shift = len(given) * math.log(scale)
        assert posterior.log_evidence == pytest.approx(expected.log_evidence - shift, rel=1e-10)
    mean = net(scale).query("z", {"x": 1.3 * scale}).mean
    assert mean / scale == pytest.approx(net(1.0).query("z", {"x": 1.3}).mean, rel=1e-10)


def shifted(origin, unit):
    """c -> z -> x with everything moved to `origin`, where doubles are further apart."""
    c, z, x = bg.Discrete("c", [0, 1]), bg.Continuous("z"), bg.Continuous("x")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.4, 0.6]),
            bg.GaussianCPD(z, [origin, origin + unit], unit**2, parents=[c]),
            bg.GaussianCPD(x, 0.0, unit**2, parents=[z], coefficients=[1.0]),
        ]
    )


@pytest.mark.parametrize(
    ("origin", "unit"), [(100.0, 0.1), (2020.0, 1.0), (2020.0, 0.01), (1e6, 1.0), (1e9, 1.0)]
)
def test_values_far_from_zero_keep_their_accuracy(origin, unit):
    """Years, sums of money, Unix times: the mean is many standard deviations from zero.

    The canonical form written about zero holds mean ** 2 / variance, which cancels at the end.
    What rounding of the inputs themselves costs is about origin / unit * 1e-16.
    """
    net = shifted(origin, unit)
    value = origin + 1.25 * unit
    logs = np.log([0.4, 0.6]) + stats.norm.logpdf(value - origin, [0.0, unit], math.sqrt(2) * unit)
    total = np.logaddexp(*logs)
    slack = 1e-10 + 10 * origin / unit * 2.3e-16
    posterior = net.query("c", {"x": value})
    assert posterior.log_evidence == pytest.approx(total, abs=slack)
    assert posterior.probabilities == pytest.approx(np.exp(logs - total), abs=slack)
    hidden = net.query("z", {"x": value})
    means = origin + 0.5 * (np.array([0.0, unit]) + 1.25 * unit)
    assert hidden.mean == pytest.approx(
        np.exp(logs - total) @ means, abs=slack * unit + 1e-15 * origin
    )
    spread = 0.25 * unit**2 * np.prod(np.exp(logs - total))
    assert hidden.variance == pytest.approx(0.5 * unit**2 + spread, rel=slack)


def test_a_near_deterministic_chain():
    """Variances from 1e-12 to 1e6 in one network."""
    names = [bg.Continuous(f"x{i}") for i in range(4)]
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(names[0], 0.0, 1e6),
            bg.GaussianCPD(names[1], 0.0, 1e-12, parents=[names[0]], coefficients=[1.0]),
            bg.GaussianCPD(names[2], 0.0, 1.0, parents=[names[1]], coefficients=[2.0]),
            bg.GaussianCPD(names[3], 0.0, 1e-6, parents=[names[2]], coefficients=[1.0]),
        ]
    )
    variance = 4 * (1e6 + 1e-12) + 1 + 1e-6
    assert net.query("x3").variance == pytest.approx(variance, rel=1e-8)
    assert net.log_probability({"x3": 7.0}) == pytest.approx(
        stats.norm.logpdf(7.0, 0, math.sqrt(variance)), rel=1e-8
    )
    hidden = net.query("x0", {"x3": 7.0})
    assert hidden.mean == pytest.approx(2e6 * 7.0 / variance, rel=1e-6)


@pytest.mark.parametrize("rain", [None, "no"])
@pytest.mark.filterwarnings("ignore:Far outside")
def test_outliers_far_in_the_tail(rain):
    """log densities of -1e100 are numbers: no overflow warning, no infinity, no NaN."""
    r, t = bg.Discrete("rain", ["no", "yes"]), bg.Continuous("temp")
    net = bg.BayesianNetwork(
        [bg.TableCPD(r, [0.5, 0.5]), bg.GaussianCPD(t, [0.0, 1.0], [1.0, 1.0], parents=[r])]
    )
    value = net.log_probability({"temp": 1e50, "rain": rain})
    assert value == pytest.approx(-0.5e100, rel=1e-12)
    wide = bg.BayesianNetwork(
        [bg.TableCPD(r, [0.5, 0.5]), bg.GaussianCPD(t, 0.0, 1e300, parents=[r])]
    )
    value = wide.log_probability({"temp": 1e200, "rain": rain})
    assert value == pytest.approx(-0.5e100, rel=1e-12)


@pytest.mark.parametrize("value", [1e160, 1e200])
@pytest.mark.filterwarnings("ignore:Far outside")
def test_values_whose_log_density_overflows(value):
    """Minus infinity whichever way it is computed, without a warning."""
    r, t, x = bg.Discrete("r", ["no", "yes"]), bg.Continuous("t"), bg.Continuous("x")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(r, [0.5, 0.5]),
            bg.GaussianCPD(t, [0.0, 1.0], 1.0, parents=[r]),
            bg.GaussianCPD(x, [0.0, 1.0], 1.0, parents=[r, t], coefficients=[[1.0], [2.0]]),
        ]
    )
    for given in ({"t": value}, {"x": value}, {"x": value, "t": -value}):
        for rain in (None, "no"):
            assert net.log_probability(given | {"r": rain}) == -math.inf
        with pytest.raises(bg.errors.ImpossibleEvidenceError):
            net.query("r", given)
        with pytest.raises(bg.errors.ImpossibleEvidenceError):
            net.most_probable(given)


def test_rows_that_sum_to_one_only_nearly_are_used_as_given():
    """A file's rounded rows: the answer does not depend on which nodes are barren by 1e-6."""
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1, 2])
    table = [[0.3333333, 0.3333333, 0.3333333], [0.2, 0.3, 0.5]]
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, table, parents=[a])])
    assert net["b"].values[0, 0] == 0.3333333
    assert net.query("a").probabilities == pytest.approx([0.5, 0.5], abs=1e-6)
    assert sum(net.query("b").values()) == pytest.approx(1.0, abs=1e-12)


def test_a_sum_of_products_that_underflows_in_a_large_table():
    """Both tables have only 1e-160 where the other has no zero, and nothing else to multiply."""
    random = np.random.default_rng(0)
    x, y, e = bg.Discrete("x", range(30)), bg.Discrete("y", range(30)), bg.Discrete("e", [0, 1])
    f, g = (random.uniform(0.5, 1.0, (30, 30)) for _ in range(2))
    g[:, 0] = 0.0
    rows = np.where(np.arange(30) == 0, 1.0, f * 1e-160)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(x, np.full(30, 1 / 30)),
            bg.TableCPD(y, rows, parents=[x]),
            bg.TableCPD(e, np.stack([1.0 - g * 1e-160, g * 1e-160], axis=-1), parents=[x, y]),
        ]
    )
    found = net.marginals({"e": 1})
    expected = (f * g).sum(axis=1)
    np.testing.assert_allclose(found["x"].probabilities, expected / expected.sum(), atol=1e-12)
    log_mass = math.log(expected.sum() / 30) + 320 * math.log(0.1)
    assert found.log_evidence == pytest.approx(log_mass, abs=1e-9)
