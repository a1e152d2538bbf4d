"""Gaussian factors against scipy's multivariate normal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.arrays import LOG_2PI, MAX, SUM
from bayesgraph.core.errors import ModelError, UnsupportedModelError
from bayesgraph.inference import Factor, GaussianFactor
from bayesgraph.inference.factors import multiply

X = [bg.Continuous(f"x{i}") for i in range(4)]
A, B = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1, 2])


def square_root(mean, covariance):
    """Return log constant, loadings and targets of normal densities, stacked in leading axes."""
    root = np.swapaxes(np.linalg.cholesky(np.linalg.inv(covariance)), -1, -2)
    constant = -0.5 * (np.linalg.slogdet(covariance)[1] + mean.shape[-1] * LOG_2PI)
    return constant, root, np.einsum("...ij,...j->...i", root, mean)


def random_normal(seed, scope, variables, rows=1):
    """Return means, covariances and the factor that is their density."""
    random = np.random.default_rng(seed)
    shape = (rows, *(v.cardinality for v in scope))
    n = len(variables)
    mean = random.normal(size=(*shape, n))
    root = random.normal(size=(*shape, n, n))
    covariance = root @ np.swapaxes(root, -1, -2) + 0.5 * np.eye(n)
    return mean, covariance, GaussianFactor(scope, variables, *square_root(mean, covariance))


def log_value(factor, points):
    """Return the log of a factor at points, an array (rows, *cardinalities, n)."""
    gap = np.einsum("...mn,...n->...m", factor.loadings, points) - factor.targets
    return factor.log_constant - 0.5 * np.sum(gap * gap, axis=-1)


seeds = st.integers(0, 10_000)


@given(seeds)
def test_moments_are_those_of_the_density(seed):
    mean, covariance, factor = random_normal(seed, [A, B], X[:3], rows=2)
    log_mass, m, c = factor.moments()
    np.testing.assert_allclose(log_mass, 0.0, atol=1e-10)
    np.testing.assert_allclose(m, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(c, covariance, rtol=1e-8, atol=1e-10)


@given(seeds)
def test_integrating_out_gives_the_marginal_density(seed):
    mean, covariance, factor = random_normal(seed, [A], X[:3])
    left = factor.eliminate(X[1], SUM)
    assert left.variables == (X[0], X[2])
    for code in range(2):
        at = [0, 2]
        normal = stats.multivariate_normal(mean[0, code, at], covariance[0, code][np.ix_(at, at)])
        point = np.array([0.3, -1.2])
        value = log_value(left, np.broadcast_to(point, (1, 2, 2)))[0, code]
        assert value == pytest.approx(normal.logpdf(point), rel=1e-9, abs=1e-9)
    everything = left.eliminate(X[0], SUM).eliminate(X[2], SUM)
    assert isinstance(everything, Factor)
    np.testing.assert_allclose(everything.log_values, 0.0, atol=1e-9)


@given(seeds)
def test_maximising_out_gives_the_mode(seed):
    mean, covariance, factor = random_normal(seed, [], X[:3])
    value = factor
    for variable in (X[2], X[0], X[1]):
        value = value.eliminate(variable, MAX)
    mode = stats.multivariate_normal(mean[0], covariance[0]).logpdf(mean[0])
    assert value.log_values[0] == pytest.approx(mode, rel=1e-9, abs=1e-9)


@given(seeds)
def test_conditioning_is_evaluation(seed):
    mean, covariance, factor = random_normal(seed, [B], X[:3])
    column = np.array([0.5, -2.0, 1.0, 0.0])
    rows = factor.condition(X[1], column)
    assert rows.variables == (X[0], X[2])
    points = np.random.default_rng(seed).normal(size=(4, 3, 2))
    full = np.stack([points[..., 0], np.broadcast_to(column[:, None], (4, 3)), points[..., 1]], -1)
    np.testing.assert_allclose(
        log_value(rows, points), log_value(factor, full), rtol=1e-9, atol=1e-9
    )
    value = rows.condition(X[0], np.zeros(4)).condition(X[2], np.ones(4))
    assert isinstance(value, Factor)
    expected = [
        stats.multivariate_normal(mean[0, 1], covariance[0, 1]).logpdf([0.0, c, 1.0])
        for c in column
    ]
    np.testing.assert_allclose(value.log_values[:, 1], expected, rtol=1e-9, atol=1e-9)


@given(seeds)
def test_rows_that_miss_a_value_are_integrated_the_others_conditioned(seed):
    _, _, factor = random_normal(seed, [A], X[:2])
    column = np.array([np.nan, 0.7, np.nan])
    mixed = factor.eliminate_partial(X[0], SUM, column)
    free, seen = factor.eliminate(X[0], SUM), factor.condition(X[0], np.array([0.7]))
    points = np.random.default_rng(seed).normal(size=(3, 2, 1))
    got = log_value(mixed, points)
    np.testing.assert_allclose(got[[0, 2]], log_value(free, points[[0, 2]]), rtol=1e-9)
    np.testing.assert_allclose(got[1], log_value(seen, points[1:2])[0], rtol=1e-9)
    last = mixed.eliminate_partial(X[1], SUM, np.array([1.0, np.nan, np.nan]))
    assert isinstance(last, Factor)
    assert last.log_values.shape == (3, 2)


@given(seeds, st.permutations(range(3)))
def test_multiplication_adds_logs_in_any_order(seed, order):
    parts = [
        random_normal(seed, [A], [X[0], X[1]])[2],
        random_normal(seed + 1, [B, A], [X[2], X[1]], rows=3)[2],
        Factor([B], np.random.default_rng(seed).random(3)),
    ]
    product = multiply([parts[i] for i in order])
    random = np.random.default_rng(seed)
    values = {v: random.normal(size=(3, 2, 3)) for v in X[:3]}

    def at(factor):
        """Evaluate on rows by a by b."""
        if isinstance(factor, Factor):
            return factor.aligned([A, B])
        points = np.stack([values[v] for v in factor.variables], axis=-1)
        if factor.scope == (B, A):
            return log_value(factor, points.swapaxes(1, 2)).swapaxes(1, 2)
        if factor.scope == (A,):
            return log_value(
                GaussianFactor(
                    (A, B),
                    factor.variables,
                    factor.log_constant[..., None],
                    factor.loadings[:, :, None],
                    factor.targets[:, :, None],
                ),
                points,
            )
        return log_value(factor, points)

    expected = sum(at(part) for part in parts)
    np.testing.assert_allclose(at(product), expected, rtol=1e-9, atol=1e-9)


@given(seeds, st.permutations(range(4)))
def test_the_order_of_elimination_does_not_matter(seed, order):
    _, _, factor = random_normal(seed, [A], X)
    left = factor
    for i in order:
        left = left.eliminate(X[i], SUM)
    np.testing.assert_allclose(left.log_values, 0.0, atol=1e-8)


@given(seeds, st.floats(0.1, 3))
def test_power_of_a_density(seed, exponent):
    mean, covariance, factor = random_normal(seed, [A], X[:2])
    powered = factor.power(np.full((1, 2), exponent))
    log_mass, m, c = powered.moments()
    np.testing.assert_allclose(m, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(c, covariance / exponent, rtol=1e-7, atol=1e-9)
    # The integral of a normal density to the power w (see the oracle).
    log_det = np.linalg.slogdet(2 * math.pi * covariance)[1]
    expected = 0.5 * (1 - exponent) * log_det - math.log(exponent)
    np.testing.assert_allclose(log_mass, expected, rtol=1e-7, atol=1e-8)


def test_taking_a_state_for_each_row():
    _, _, factor = random_normal(3, [A, B], X[:2])
    codes = [np.array([2, 0]), np.array([1, 1])]
    taken = factor.take([B, A], codes)
    assert taken.scope == ()
    for row in range(2):
        a, b = codes[1][row], codes[0][row]
        np.testing.assert_array_equal(taken.targets[row], factor.targets[0, a, b])
        np.testing.assert_array_equal(taken.loadings[row], factor.loadings[0, a, b])
        assert taken.log_constant[row] == factor.log_constant[0, a, b]


@pytest.mark.parametrize("m", [0, 1, 2, 3])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_what_cannot_be_normalised_is_refused(m, slope):
    """m observations of x0 + x1, or of nothing, fix neither of the two."""
    flat = GaussianFactor([], X[:2], np.zeros(1), np.full((1, m, 2), slope), np.zeros((1, m)))
    with pytest.raises(ModelError, match="'x0', 'x1'"):
        flat.moments()
    with pytest.raises(ModelError, match="cannot be normalised"):
        flat.eliminate(X[0], SUM).eliminate(X[1], SUM)


def test_a_negative_power_is_refused():
    _, _, factor = random_normal(5, [A], X[:2])
    with pytest.raises(UnsupportedModelError, match=r"'x0', 'x1'.*not negative"):
        factor.power(np.full((1, 2), -1.0))


@given(seeds, st.integers(1, 12))
def test_any_observations_compress_to_as_many_as_there_are_variables(seed, m):
    random = np.random.default_rng(seed)
    loadings = random.normal(size=(2, 3, m, 3)) * (random.random((2, 3, m, 3)) < 0.6)
    loadings *= 10.0 ** random.integers(-6, 7, size=(2, 3, m, 1))
    targets = random.normal(size=(2, 3, m))
    factor = GaussianFactor([B], X[:3], random.normal(size=(2, 3)), loadings, targets)
    small = factor.compressed()
    assert small.targets.shape[-1] <= 3
    points = random.normal(size=(2, 3, 3))
    np.testing.assert_allclose(log_value(small, points), log_value(factor, points), rtol=1e-7)


def test_products_of_many_factors_stay_small():
    parts = [random_normal(seed, [], X[:2])[2] for seed in range(100)]
    product = multiply(parts)
    assert product.targets.shape[-1] <= 16
    point = np.array([[0.3, -0.4]])
    expected = sum(log_value(part, point) for part in parts)
    np.testing.assert_allclose(log_value(product, point), expected, rtol=1e-10)


def test_products_leave_their_parts_alone():
    _, _, factor = random_normal(5, [A], X[:2])
    before = (factor.log_constant.copy(), factor.loadings.copy(), factor.targets.copy())
    multiply([factor, factor])
    for array, copy in zip(
        (factor.log_constant, factor.loadings, factor.targets), before, strict=True
    ):
        np.testing.assert_array_equal(array, copy)


def test_the_product_of_nothing_is_one():
    one = multiply([])
    assert one.scope == ()
    assert one.log_values.tolist() == [0.0]


@given(seeds)
def test_compression_keeps_the_function(seed):
    _, _, factor = random_normal(seed, [A], X[:2])
    twice = multiply([factor, factor, factor])
    small = twice.compressed()
    assert small.targets.shape[-1] == 2
    points = np.random.default_rng(seed).normal(size=(1, 2, 2))
    np.testing.assert_allclose(log_value(small, points), log_value(twice, points), rtol=1e-9)


@pytest.mark.parametrize("variance", [1e-12, 1e-30, 1e-200, 1e-300, 1e200])
def test_scales_far_apart_cost_no_digits(variance):
    x, y, z = X[:3]
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(x, -1.0, variance),
            bg.GaussianCPD(y, 2.0, 7.0, [x], [0.7]),
            bg.GaussianCPD(z, 1 / 3, 0.3, [y, x], [0.1, -2.0]),
        ]
    )
    joint = net.query(["x0", "x1", "x2"])
    y_mean = 2.0 - 0.7
    np.testing.assert_allclose(joint.mean, [-1.0, y_mean, 1 / 3 + 0.1 * y_mean + 2.0], rtol=1e-10)
    assert joint.variance[0] == pytest.approx(variance, rel=1e-10)
    assert net.query("x1").mean == pytest.approx(y_mean, rel=1e-10)
    given = net.query("x0", {"x1": 1.0})
    if variance < 1e-10:
        assert given.mean == pytest.approx(-1.0, rel=1e-10)
