"""Expectation-maximisation against an implementation by rows, and its likelihood against SciPy."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bayesgraph.core.errors import BayesGraphWarning, DataError
from bayesgraph.learning.missing import complete_normal


def table(n=60, share=0.3, seed=0, d=3):
    random = np.random.default_rng(seed)
    group = random.integers(2, size=n)
    mixing = random.normal(size=(d, d))
    values = random.normal(size=(n, d)) @ mixing + group[:, None] * np.arange(1, d + 1)
    values[random.random(values.shape) < share] = np.nan
    return values, group


def by_rows(values, group, weights, *, shared, steps):
    """Little and Rubin (2002), section 11.2, one row at a time."""
    k, d = 2, values.shape[1]
    mean = np.array([np.nanmean(values[group == g], axis=0) for g in range(k)])
    covariance = np.array([np.diag(np.nanvar(values, axis=0))] * k)
    for _ in range(steps):
        mass, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        for row, g, w in zip(values, group, weights, strict=True):
            m, o = np.isnan(row), ~np.isnan(row)
            if m.all():
                continue
            s = covariance[g]
            regression = s[np.ix_(m, o)] @ np.linalg.inv(s[np.ix_(o, o)])
            full = row.copy()
            full[m] = mean[g, m] + regression @ (row[o] - mean[g, o])
            extra = np.zeros((d, d))
            extra[np.ix_(m, m)] = s[np.ix_(m, m)] - regression @ s[np.ix_(o, m)]
            mass[g] += w
            first[g] += w * full
            second[g] += w * (np.outer(full, full) + extra)
        mean = first / mass[:, None]
        scatter = second - mass[:, None, None] * mean[:, :, None] * mean[:, None, :]
        covariance = scatter / mass[:, None, None]
        if shared:
            covariance = np.repeat(scatter.sum(axis=0)[None] / mass.sum(), k, axis=0)
    return mass, mean, covariance


def parameters(found, *, shared):
    counts, comoment = found.statistics.counts, found.statistics.comoment
    covariance = comoment / counts[:, None, None]
    if shared:
        covariance = np.repeat(comoment.sum(axis=0)[None] / counts.sum(), len(counts), axis=0)
    return found.statistics.mean, covariance


def log_likelihood(values, group, mean, covariance):
    total = 0.0
    for row, g in zip(values, group, strict=True):
        o = ~np.isnan(row)
        if o.any():
            total += multivariate_normal.logpdf(row[o], mean[g, o], covariance[g][np.ix_(o, o)])
    return total


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_an_implementation_by_rows(shared, weighted):
    values, group = table()
    weights = np.random.default_rng(1).integers(1, 4, size=60) * 1.0 if weighted else np.ones(60)
    found = complete_normal(
        values, group, 2, weights if weighted else np.empty(0),
        shared=shared, var_smoothing=0.0, tolerance=1e-11,
    )  # fmt: skip
    mass, mean, covariance = by_rows(values, group, weights, shared=shared, steps=200)
    np.testing.assert_allclose(found.statistics.counts, mass)
    got_mean, got_covariance = parameters(found, shared=shared)
    np.testing.assert_allclose(got_mean, mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(got_covariance, covariance, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_the_likelihood_never_decreases_and_ends_at_a_maximum(shared):
    values, group = table(seed=2)
    found = []
    for steps in range(1, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesGraphWarning)
            done = complete_normal(
                values, group, 2, np.empty(0), shared=shared, var_smoothing=0.0, max_iter=steps
            )
        assert done.n_iter == steps
        found.append(log_likelihood(values, group, *parameters(done, shared=shared)))
    assert (np.diff(found) > -1e-9).all()
    done = complete_normal(
        values, group, 2, np.empty(0), shared=shared, var_smoothing=0.0, tolerance=1e-11
    )
    mean, covariance = parameters(done, shared=shared)
    best = log_likelihood(values, group, mean, covariance)
    assert best >= found[-1]
    random = np.random.default_rng(0)
    for _ in range(10):  # no direction leads up
        step = 1e-3 * random.normal(size=mean.shape)
        assert log_likelihood(values, group, mean + step, covariance) < best
        root = np.eye(3) + 1e-3 * random.normal(size=(3, 3))
        near = root @ covariance @ root.T
        assert log_likelihood(values, group, mean, near) < best


def test_complete_rows_need_one_step_and_give_the_plain_moments():
    values, group = table(share=0.0)
    found = complete_normal(values, group, 2, np.empty(0), shared=False)
    assert found.n_iter == 2  # the second finds that nothing moves
    for g in range(2):
        part = values[group == g]
        np.testing.assert_allclose(found.statistics.mean[g], part.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(
            found.statistics.comoment[g] / len(part), np.cov(part.T, bias=True), rtol=1e-10
        )


def test_missing_values_are_filled_with_regressions():
    x0 = np.arange(20.0)
    values = np.column_stack([x0, 2 * x0 - 1 + np.tile([0.1, -0.1, -0.1, 0.1], 5)])
    slope, intercept = np.polyfit(x0[4:], values[4:, 1], 1)
    values[:4, 1] = np.nan
    found = complete_normal(
        values, np.zeros(20, dtype=int), 1, np.empty(0),
        shared=True, var_smoothing=0.0, tolerance=1e-10,
    )  # fmt: skip
    np.testing.assert_allclose(found.values[:4, 1], intercept + slope * x0[:4], rtol=1e-5)
    np.testing.assert_array_equal(found.values[4:], values[4:])


def test_the_units_do_not_matter():
    values, group = table(seed=3)
    scale = np.array([2.0**-400, 1.0, 2.0**400])
    one = complete_normal(values, group, 2, np.empty(0), shared=False)
    two = complete_normal(values * scale, group, 2, np.empty(0), shared=False)
    np.testing.assert_allclose(two.statistics.mean, one.statistics.mean * scale, rtol=1e-9)
    np.testing.assert_allclose(
        two.statistics.comoment / scale[:, None] / scale, one.statistics.comoment, rtol=1e-9
    )


def test_empty_rows_classes_and_columns():
    values, group = table(share=0.2)
    values[:5] = np.nan
    values[:, 2] = np.nan
    values = np.column_stack([values, np.where(np.arange(60) % 4, 0.1, np.nan)])
    found = complete_normal(values, group, 3, np.empty(0), shared=False)
    assert (found.statistics.mean[:, 3] == 0.1).all()
    assert not found.statistics.comoment[:, 3].any()
    values = values[:, :3]
    assert found.statistics.counts.sum() == np.sum(~np.isnan(values).all(axis=1))
    assert found.statistics.counts[2] == 0
    assert not found.statistics.comoment[2].any()
    assert not found.statistics.comoment[:, 2].any()
    assert np.isfinite(found.values).all()


def test_constant_columns_with_gaps():
    values = np.array([[2.0, np.nan], [np.nan, 5.0], [2.0, 5.0]])
    found = complete_normal(values, np.array([0, 1, 1]), 2, np.empty(0), shared=True)
    assert found.statistics.mean.tolist() == [[2.0, 5.0]] * 2
    assert found.statistics.counts.tolist() == [1.0, 2.0]
    assert found.values.tolist() == [[2.0, 5.0]] * 3


def test_what_does_not_converge_is_told():
    values, group = table()
    with pytest.warns(BayesGraphWarning, match="stopped after 3 steps.*max_iter= or tol="):
        complete_normal(values, group, 2, np.empty(0), shared=False, max_iter=3)


def test_collinear_columns_are_refused_or_smoothed():
    values, group = table(share=0.0)
    values = np.column_stack([values, values[:, 0] + values[:, 1]])
    values[::3, 2] = np.nan
    with pytest.raises(DataError, match=r"collinear within a class.*var_smoothing"):
        complete_normal(values, group, 2, np.empty(0), shared=False, var_smoothing=0.0)
    found = complete_normal(values, group, 2, np.empty(0), shared=False, var_smoothing=1e-6)
    assert np.isfinite(found.statistics.comoment).all()
