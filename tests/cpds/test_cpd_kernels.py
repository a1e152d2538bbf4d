"""Compiled kernels against the same sums in numpy."""

import numpy as np
import pytest
from scipy import stats

from bayesgraph.cpds import kernels


@pytest.mark.parametrize("n_parents", [0, 1, 2, 3])
@pytest.mark.parametrize("cells", [1, 4])
def test_add_gaussian(n_parents, cells):
    random = np.random.default_rng(1)
    n = 100
    child = random.normal(size=n)
    child[::7] = np.nan
    parents = [random.normal(size=n) for _ in range(n_parents)]
    mean, slopes = random.normal(size=cells), random.normal(size=(cells, n_parents))
    variance = random.uniform(0.1, 3, size=cells)
    out = random.normal(size=(cells, n))
    centre = mean[:, None] + sum(slopes[:, i, None] * p for i, p in enumerate(parents))
    added = stats.norm.logpdf(child, centre, np.sqrt(variance)[:, None])
    expected = out + np.where(np.isnan(added), 0.0, added)
    kernels.add_gaussian(out, child, parents, mean, slopes, variance)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_add_gaussian_of_single_precision_and_integers():
    out = np.zeros((1, 3))
    child = np.array([1, 2, 3], dtype=np.float32)
    kernels.add_gaussian(out, child, [], np.zeros(1), np.zeros((1, 0)), np.ones(1))
    np.testing.assert_allclose(out[0], stats.norm.logpdf([1, 2, 3]), rtol=1e-12)


def test_no_rows():
    out = np.zeros((2, 0))
    kernels.add_gaussian(out, np.zeros(0), [], np.zeros(2), np.zeros((2, 0)), np.ones(2))
    assert out.shape == (2, 0)
