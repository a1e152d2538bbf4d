"""The oracle itself, against scipy and against sums done by hand."""

import math

import numpy as np
import oracle as brute
import pytest
from scipy import stats

import bayesgraph as bg


def test_density_is_the_multivariate_normal_density():
    random = np.random.default_rng(0)
    for n in range(1, 5):
        root = random.normal(size=(n, n))
        covariance = root @ root.T + np.eye(n)
        gap = random.normal(size=n)
        expected = stats.multivariate_normal.pdf(gap, np.zeros(n), covariance)
        assert brute.normal_density(gap, covariance) == pytest.approx(expected, rel=1e-12)


def test_worlds_of_a_small_network_by_hand():
    rain = bg.Discrete("rain", ["no", "yes"])
    wet = bg.Discrete("wet", [False, True])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
            bg.TableCPD(rain, [0.8, 0.2]),
        ]
    )
    oracle = brute.Oracle.of(net)
    assert oracle.probability() == pytest.approx(1.0, abs=1e-15)
    assert oracle.probability({"wet": True}) == pytest.approx(0.24)
    assert oracle.posterior(["rain"], {"wet": True}) == pytest.approx(np.array([1, 2]) / 3)
    assert oracle.probability({"wet": [0.5, 1.0]}) == pytest.approx(0.62)


def test_structural_equations_give_the_joint_normal():
    x, y, z = (bg.Continuous(name) for name in "xyz")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(z, 1.0, 0.5, parents=[x, y], coefficients=[2.0, -1.0]),
            bg.GaussianCPD(y, 0.0, 2.0, parents=[x], coefficients=[3.0]),
            bg.GaussianCPD(x, 1.0, 4.0),
        ]
    )
    oracle = brute.Oracle.of(net)
    mean, covariance = oracle.moments(["x", "y", "z"])
    assert mean == pytest.approx([1, 3, 0])
    # z = 1 + 2x - y + e = 1 - x + (e - f) with y = 3x + f.
    expected = [[4, 12, -4], [12, 38, -14], [-4, -14, 6.5]]
    assert covariance == pytest.approx(np.array(expected, dtype=float))
    values = {"y": 2.0, "z": 0.5}
    part = covariance[1:, 1:]
    density = stats.multivariate_normal.pdf([2.0, 0.5], mean[1:], part)
    assert oracle.probability(values) == pytest.approx(density)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 2.5])
def test_powered_gaussian_against_numerical_integration(exponent):
    x, y = bg.Continuous("x"), bg.Continuous("y")
    terms = [
        (bg.GaussianCPD(x, 0.5, 1.5), 1.0),
        (bg.GaussianCPD(y, -0.2, 0.7, parents=[x], coefficients=[0.8]), exponent),
    ]
    oracle = brute.Oracle(terms)

    def product(x_value, y_value):
        first = stats.norm.pdf(x_value, 0.5, math.sqrt(1.5))
        second = stats.norm.pdf(y_value, -0.2 + 0.8 * x_value, math.sqrt(0.7))
        return first * second**exponent

    # The trapezoidal rule is exact to rounding for smooth functions that vanish at both ends.
    x_grid, y_grid = np.linspace(-15, 15, 601), np.linspace(-30, 30, 1201)
    total = product(x_grid[:, None], y_grid).sum() * 0.05 * 0.05
    assert oracle.partition() == pytest.approx(total, rel=1e-10)
    top = product(x_grid, 0.4).sum() * 0.05
    assert oracle.probability({"y": 0.4}) == pytest.approx(top / total, rel=1e-10)
