"""Histograms, against their definition and numerical integration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import lomax, norm, t
from tree_oracle import density, mass, random_root

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import CPDError
from bayesgraph.models import quantile_edges

AGE = bg.Continuous("age")
GROUP = bg.Discrete("group", ["x", "y"])
EDGES = [0.0, 30.0, 60.0, 120.0]
VALUES = [0.1, 0.4, 0.2, 0.2, 0.1]


def log_density(cpd, x, **columns):
    x = np.atleast_1d(np.asarray(x, dtype=float))
    evidence = Evidence(len(x), {cpd.variable: x, **columns})
    return cpd.potential(evidence).log_values


def test_density_by_hand():
    cpd = bg.models.HistogramCPD(AGE, EDGES, VALUES)
    found = np.exp(log_density(cpd, [0.0, 15.0, 30.0, 30.1, 120.0, np.nan]))
    np.testing.assert_allclose(found, [0.4 / 30, 0.4 / 30, 0.4 / 30, 0.2 / 30, 0.2 / 60, 1.0])
    tails = np.exp(log_density(cpd, [-60.0, 200.0]))
    np.testing.assert_allclose(tails, 0.1 * lomax.pdf([60.0, 80.0], 3, scale=120.0))


def test_density_far_away_stays_small_beside_others():
    cpd = bg.models.HistogramCPD(AGE, EDGES, VALUES)
    assert (log_density(cpd, [1e300, -1e308]) > -3000).all()


@given(st.integers(0, 2**32 - 1))
def test_intervals_and_densities_follow_the_definition(seed):
    random = np.random.default_rng(seed)
    root = random_root(random, AGE)
    ends = np.sort(random.normal(0, 3, size=(6, 2)), axis=1)
    ends = np.concatenate([ends, [[-np.inf, 0.5], [0.5, np.inf], [-np.inf, np.inf]]])
    expected = [mass(root, a, b) for a, b in ends]
    found = np.exp(root.log_interval(ends[:, 0], ends[:, 1])[:, 0])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    if isinstance(root, bg.models.HistogramCPD):
        x = random.normal(0, 3, size=20)
        expected = [np.log(density(root, value)) for value in x]
        np.testing.assert_allclose(log_density(root, x), expected)


def test_the_density_integrates_to_the_distribution_function():
    cpd = bg.models.HistogramCPD(AGE, EDGES, VALUES)
    for low, high in ((-500.0, -20.0), (-10.0, 45.0), (100.0, 400.0)):
        area, _ = quad(lambda x: density(cpd, x), low, high, points=[0, 30, 60, 120], limit=200)
        np.testing.assert_allclose(cpd.cdf(high) - cpd.cdf(low), area, rtol=1e-6)


def test_gaussian_intervals_keep_their_digits_in_the_tails():
    root = bg.GaussianCPD(AGE, 0.0, 1.0)
    low, high = np.array([9.0, -10.0]), np.array([10.0, -9.0])
    one, other = np.exp(root.log_interval(low, high)[:, 0])
    assert one == pytest.approx(1.1285884059538324e-19, rel=1e-6)
    assert one == pytest.approx(other)


@pytest.mark.parametrize("end", [-1.0, -1e-9, 0.0, 1e-9, 0.5])
@pytest.mark.parametrize(("location", "scale"), [(100.0, 1.0), (1e10, 1.0), (3e-7, 1e-9)])
def test_what_is_below_an_end_underflows_without_being_impossible(location, scale, end):
    low, high = np.array([-np.inf]), np.array([end * location])
    root = bg.GaussianCPD(AGE, location, scale**2)
    plate = bg.models.GaussianPlate([AGE], [location], [scale**2])
    expected = norm.logcdf(high, location, scale)
    for cpd in (root, plate):
        np.testing.assert_allclose(cpd.log_interval(low, high)[:, 0], expected, rtol=1e-9)
    student = bg.models.StudentCPD(AGE, location, scale, 50.0)
    beyond = student.log_interval(low, high)[0, 0]
    # The tail falls with the power of the degrees of freedom, and its mass is known from -1 on.
    away = (1.0 - end) * location / scale
    assert beyond == pytest.approx(t.logcdf(-1e3, 50.0) - 50.0 * np.log(away / 1e3), rel=1e-2)


def test_histogram_intervals_keep_their_digits_in_the_tails():
    root = bg.models.HistogramCPD(bg.Continuous("x"), [0.0, 1.0], [0.1, 0.4, 0.5])
    # The tail's density has the shape s: P(X > x) = 0.5 / (1 + (x - 1) / range)**s.
    beyond = 1.0 - root.cdf(np.array([3.0, 5.0]))
    near = np.exp(root.log_interval(np.array([3.0]), np.array([5.0])))[0]
    np.testing.assert_allclose(near, beyond[0] - beyond[1], rtol=1e-9)
    far = np.exp(root.log_interval(np.array([1e6, 2e6]), np.array([2e6, 4e6])))[:, 0]
    shape = np.log(beyond[0] / beyond[1]) / np.log(5.0 / 3.0)
    assert far[0] > 0.0
    np.testing.assert_allclose(far[0] / far[1], 2.0**shape, rtol=1e-5)


def test_samples():
    cpd = bg.models.HistogramCPD(AGE, EDGES, [VALUES, [0.0, 0.0, 0.0, 0.5, 0.5]], [GROUP])
    codes = np.array([0, 1] * 20_000)
    drawn = cpd.sample({GROUP: codes}, len(codes), np.random.default_rng(0))
    for code in (0, 1):
        own = drawn[codes == code]
        for x in (-50.0, 10.0, 60.0, 100.0, 150.0):
            assert np.mean(own <= x) == pytest.approx(cpd.cdf(x)[code], abs=0.01)


def test_discrete_parents_in_a_network():
    cpd = bg.models.HistogramCPD(AGE, EDGES, [VALUES, [0.0, 0.0, 0.0, 0.5, 0.5]], [GROUP])
    net = bg.BayesianNetwork([bg.TableCPD(GROUP, [0.25, 0.75]), cpd])
    joint = np.array([0.25 * 0.2 / 60, 0.75 * 0.5 / 60])
    found = net.query("group", {"age": 100.0})
    np.testing.assert_allclose(found.probabilities, joint / joint.sum())
    assert net.log_probability({"age": 100.0, "group": "y"}) == pytest.approx(np.log(joint[1]))
    rows = net.query_rows("group", {"age": [100.0, None, 10.0]})
    np.testing.assert_allclose(rows, [joint / joint.sum(), [0.25, 0.75], [1, 0]])
    assert cpd.n_parameters == 8
    assert cpd.title == "HistogramCPD p(age | group)"
    assert cpd._display().header == [
        "group",
        "(-inf, 0]",
        "(0, 30]",
        "(30, 60]",
        "(60, 120]",
        "(120, inf)",
    ]
    assert cpd == bg.models.HistogramCPD(AGE, EDGES, cpd.values, [GROUP])
    assert cpd != bg.models.HistogramCPD(AGE, [0.0, 30.0, 60.0, 121.0], cpd.values, [GROUP])


@pytest.mark.parametrize(
    ("variable", "edges", "values", "message"),
    [
        (GROUP, EDGES, VALUES, "children of the type Continuous; got 'group'"),
        (AGE, [0.0, 0.0, 1.0], [0, 0.5, 0.5, 0], "increase"),
        (AGE, [0.0, np.inf], [0, 1, 0], "finite numbers"),
        (AGE, [-1e308, 1e308], [0, 1, 0], "finite numbers that increase"),
        (AGE, [1.0], [0, 0], "two numbers or more"),
        (AGE, ["a", "b"], [0, 1, 0], "edges takes numbers"),
        (AGE, EDGES, [0.5, 0.3, 0.2], "shape"),
        (AGE, EDGES, [0, 0.5, 0.3, 0.3, 0], "sum to 1.1"),
        (AGE, EDGES, [0, 0.5, 0.6, -0.1, 0], "non-negative"),
    ],
)
def test_errors(variable, edges, values, message):
    with pytest.raises(CPDError, match=message):
        bg.models.HistogramCPD(variable, edges, values)


def test_edges_between_equal_weights():
    values = np.array([3.0, 1.0, 2.0, 4.0])
    even = quantile_edges(values, np.ones(4), [], 4)
    np.testing.assert_array_equal(even, [1.0, 1.5, 2.5, 3.5, 4.0])
    heavy = quantile_edges(values, np.array([1.0, 1.0, 1.0, 9.0]), [2.25], 4)
    np.testing.assert_array_equal(heavy, [1.0, 2.25, 3.5, 4.0])
    np.testing.assert_allclose(quantile_edges(np.full(3, 50.0), np.ones(3), [], 4), [49.95, 50.05])
    repeated = quantile_edges(np.repeat(values, [1, 1, 1, 9]), np.ones(12), [2.25], 4)
    np.testing.assert_array_equal(repeated, heavy)
