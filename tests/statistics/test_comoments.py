"""Comoments by blocks against NumPy's covariance."""

import numpy as np
import pytest

from bayesgraph.statistics import group_comoments


def table(n=5000, d=4, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)) * [1.0, 1e-3, 1e4, 1.0], random.integers(3, size=n)


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("order", ["C", "F"])
def test_equal_numpy(shift, order):
    values, group = table()
    values = np.asarray(values + shift, order=order)
    count, mean, comoment = group_comoments(values, group, 4, np.empty(0))
    assert count.tolist() == [*np.bincount(group), 0]
    assert not mean[3].any()
    assert not comoment[3].any()
    for g in range(3):
        part = values[group == g]
        centred = part - part[0]
        middle = part[0] + centred.mean(axis=0)
        error = np.abs(mean[g] - middle)
        assert (error <= 1e-14 * np.abs(middle) + 1e-13 * centred.std(axis=0)).all()
        scale = np.sqrt(np.outer(centred.var(axis=0), centred.var(axis=0)))
        expected = np.cov(centred.T, bias=True)
        np.testing.assert_allclose(comoment[g] / count[g] / scale, expected / scale, atol=1e-12)
        np.testing.assert_array_equal(comoment[g], comoment[g].T)


def test_weights_are_repetitions_and_rows_a_choice():
    values, group = table(400)
    weights = np.random.default_rng(1).integers(0, 3, size=400).astype(float)
    rows = np.flatnonzero(np.arange(400) % 3)
    found = group_comoments(values, group[rows], 3, weights, rows)
    again = np.repeat(rows, weights[rows].astype(int))
    expected = group_comoments(values[again], group[again], 3, np.empty(0))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-9)


def test_the_values_are_not_touched_and_constants_have_no_spread():
    values, group = table(3000)
    values[:, 1] = 0.1
    before = values.copy()
    _, mean, comoment = group_comoments(values, group, 3, np.empty(0))
    np.testing.assert_array_equal(values, before)
    assert (mean[:, 1] == 0.1).all()
    assert not comoment[:, 1].any()
