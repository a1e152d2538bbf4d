"""Gaussians of each class against NumPy, merged and faded."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.statistics import GaussianSummary


def made(n=500, seed=0):
    rng = np.random.default_rng(seed)
    x, k, w = rng.normal(1e6, 1, (n, 3)), rng.integers(0, 2, n), rng.integers(0, 4, n) / 2
    x[rng.random(x.shape) < 0.2] = np.nan
    return x, k, w


def test_moments_are_those_of_the_rows():
    x, k, w = made()
    summary = GaussianSummary(3, 2)
    for i in range(0, 500, 77):
        summary.update(x[i : i + 77], k[i : i + 77], w[i : i + 77])
    for j in range(3):
        for label in (0, 1):
            there = (k == label) & ~np.isnan(x[:, j])
            mean = np.average(x[there, j], weights=w[there])
            variance = np.average((x[there, j] - mean) ** 2, weights=w[there])
            np.testing.assert_allclose(summary.counts[j, label], w[there].sum())
            np.testing.assert_allclose(summary.mean[j, label], mean, rtol=1e-12)
            np.testing.assert_allclose(summary.variance[j, label], variance, rtol=1e-6)


@given(st.integers(0, 500), st.sampled_from([1.0, 0.5]))
def test_what_has_faded_and_what_comes_later_are_as_one(at, factor):
    x, k, w = made(seed=1)
    both = GaussianSummary(3, 2).update(x[:at], k[:at], w[:at])
    both.fade(factor)
    both.update(x[at:], k[at:], w[at:])
    one = GaussianSummary(3, 2).update(x, k, w * np.where(np.arange(500) < at, factor, 1.0))
    np.testing.assert_allclose(both.counts, one.counts)
    np.testing.assert_allclose(both.mean, one.mean, rtol=1e-12)
    np.testing.assert_allclose(both.variance, one.variance, rtol=1e-6)


def test_growth_and_copies():
    x, k, w = made()
    summary = GaussianSummary(3, 2).update(x, k, w)
    copied = summary.copy()
    summary.grow(n_features=5, n_classes=3)
    assert summary.counts.shape == (5, 3)
    np.testing.assert_array_equal(summary.mean[:3, :2], copied.mean)
    assert not summary.variance[3:].any()
