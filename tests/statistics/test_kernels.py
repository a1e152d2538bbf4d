"""The compiled loops equal plain NumPy."""

import itertools

import numpy as np
import pytest

from bayesgraph.core.parallel import blocks, tree_sum
from bayesgraph.statistics import GroupMoments, PairMoments, safe_divide, summaries
from bayesgraph.statistics import counting_kernels as kernels

shapes = pytest.mark.parametrize("n", [0, 1, 7, 2048, 2049, 9001])
codes_of = pytest.mark.parametrize("dtype", [np.int8, np.int32])
with_weights = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
with_missing = pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])

CARDS = np.array([2, 5, 1, 3])
K = 3


def rows(n, *, dtype=np.int8, weighted=False, missing=0.0, labels=True):
    """Return codes (one row a column), group and weights."""
    random = np.random.default_rng(n)
    codes = np.array([random.integers(r, size=n) for r in CARDS], dtype=dtype).reshape(4, n)
    group = random.integers(K, size=n).astype(dtype)
    codes[random.random(codes.shape) < missing] = -1
    if not labels:
        group[random.random(n) < 0.2] = -1
    weights = random.uniform(0, 2, size=n) if weighted else np.empty(0)
    return codes, group, weights


def reference(codes, group, weights, cards):
    """Count configurations of (group, *codes) by numpy.bincount."""
    columns = [group, *codes]
    whole = np.logical_and.reduce([c >= 0 for c in columns])
    shape = (K, *cards)
    key = np.ravel_multi_index([c[whole].astype(int) for c in columns], shape)
    weight = weights[whole] if len(weights) else None
    return np.bincount(key, weight, minlength=int(np.prod(shape))).reshape(shape)


@pytest.mark.one_in(8)
@shapes
@codes_of
@with_weights
@with_missing
def test_count_singles(n, dtype, weighted, missing):
    codes, group, weights = rows(n, dtype=dtype, weighted=weighted, missing=missing, labels=False)
    start = np.concatenate([[0], np.cumsum(CARDS)])
    out = np.zeros((K, start[-1]))
    kernels.count_singles(codes, group, weights, start[:-1], out)
    for j, r in enumerate(CARDS):
        expected = reference(codes[j : j + 1], group, weights, [r])
        np.testing.assert_allclose(out[:, start[j] : start[j + 1]], expected, rtol=1e-12)
        if not weighted:
            np.testing.assert_array_equal(out[:, start[j] : start[j + 1]], expected)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("n", [0, 1, 7, 2048, 9001, 40_001])  # none, some and all by twos
@codes_of
@with_weights
@with_missing
@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("together", [64, 32768], ids=["blocks", "whole"])
def test_count_pairs(monkeypatch, n, dtype, weighted, missing, labels, together):
    # In blocks of 64 rows, columns of 5 states are counted row by row.
    monkeypatch.setattr(summaries, "_TOGETHER", together)
    codes, group, weights = rows(n, dtype=dtype, weighted=weighted, missing=missing, labels=labels)
    pairs = list(itertools.combinations(range(4), 2))
    start = np.concatenate([[0], np.cumsum([K * CARDS[i] * CARDS[j] for i, j in pairs])])
    out = summaries._pair_counts(codes, group, K, weights, CARDS)
    for (i, j), a, b in zip(pairs, start, start[1:], strict=False):
        expected = reference(codes[[i, j]], group, weights, [CARDS[i], CARDS[j]])
        np.testing.assert_allclose(out[a:b].reshape(expected.shape), expected, rtol=1e-12)
        if not weighted:
            np.testing.assert_array_equal(out[a:b].reshape(expected.shape), expected)


@pytest.mark.one_in(8)
@shapes
@codes_of
@with_weights
@with_missing
def test_count_extensions(n, dtype, weighted, missing):
    codes, group, weights = rows(n, dtype=dtype, weighted=weighted, missing=missing, labels=False)
    if not missing:
        group = np.maximum(group, 0)
    table = np.ascontiguousarray(np.vstack([codes, group]).astype(dtype))
    last = len(codes)
    cards = np.array([*CARDS, K])
    places = np.arange(last + 1)
    plan = np.array([2, 2, 3, 0, last, 1, 1, 1, 2, 1])
    out = np.zeros((CARDS[3] + CARDS[0]) * K * CARDS[1] + CARDS[2] * CARDS[1])
    kernels.count_extensions(table, places, cards, plan, weights, out)
    at = 0
    for j in (3, 0):
        expected = np.moveaxis(reference(codes[[1, j]], group, weights, CARDS[[1, j]]), 2, 0)
        found = out[at : at + expected.size].reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        at += expected.size
    last_table = reference(codes[[1, 2]], np.zeros(n, dtype=np.int64), weights, CARDS[[1, 2]])
    np.testing.assert_allclose(out[at:].reshape(CARDS[2], -1), last_table.sum(axis=0).T, rtol=1e-12)


def values_of(n, missing, offset=0.0):
    random = np.random.default_rng(n)
    values = offset + random.normal(size=(n, 3)) @ random.normal(size=(3, 3))
    values[random.random(values.shape) < missing] = np.nan
    return values


@pytest.mark.one_in(5)
@shapes
@with_weights
@with_missing
def test_group_moments(n, weighted, missing):
    _, group, weights = rows(n, weighted=weighted, labels=False)
    values = values_of(n, missing)
    found = GroupMoments.collect(values, group, K, weights)
    weight = weights if weighted else np.ones(n)
    for g, j in itertools.product(range(K), range(3)):
        part = (group == g) & ~np.isnan(values[:, j])
        w, x = weight[part], values[part, j]
        mean = w @ x / w.sum() if len(w) else 0.0
        assert found.count[g, j] == pytest.approx(w.sum(), rel=1e-12)
        assert found.mean[g, j] == pytest.approx(mean, rel=1e-12, abs=1e-13)
        assert found.square[g, j] == pytest.approx(w @ (x - mean) ** 2, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", [0, 1, 7, 3000])
@with_weights
@with_missing
def test_pair_moments(n, weighted, missing):
    _, group, weights = rows(n, weighted=weighted)
    values = values_of(n, missing)
    found = PairMoments.collect_pairs(values, group, K, weights)
    full = found.comoment.shape
    count, mean, square = (
        np.broadcast_to(a, full) for a in (found.count, found.mean, found.square)
    )
    weight = weights if weighted else np.ones(n)
    for g, i, j in itertools.product(range(K), range(3), range(3)):
        part = (group == g) & ~np.isnan(values[:, [i, j]]).any(axis=1)
        w, x, y = weight[part], values[part, i], values[part, j]
        assert count[g, i, j] == pytest.approx(w.sum(), rel=1e-12)
        if not len(w):
            continue
        dx, dy = x - w @ x / w.sum(), y - w @ y / w.sum()
        assert mean[g, i, j] == pytest.approx(w @ x / w.sum(), rel=1e-10, abs=1e-12)
        assert square[g, i, j] == pytest.approx(w @ dx**2, rel=1e-10, abs=1e-10)
        assert found.comoment[g, i, j] == pytest.approx(w @ (dx * dy), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_moments_far_from_zero(missing):
    # Whole numbers, so that the far columns hold the same deviations exactly.
    values = np.round(values_of(5000, missing) * 1000)
    group = np.zeros(5000, dtype=np.int8)
    for collect in (GroupMoments.collect, PairMoments.collect_pairs):
        near = collect(values, group, 1, np.empty(0))
        far = collect(values + 1e12, group, 1, np.empty(0))
        np.testing.assert_allclose(far.square, near.square, rtol=1e-7)
        np.testing.assert_allclose(far.mean - 1e12, near.mean, atol=1e-3)
        if collect == PairMoments.collect_pairs:
            np.testing.assert_allclose(far.comoment, near.comoment, rtol=1e-6)


def test_merging_groups():
    values, group = values_of(500, 0.2), np.random.default_rng(0).integers(12, size=500)
    fine = GroupMoments.collect(values, group, 12, np.empty(0))
    # Groups as an array of shape (2, 3, 2); the second axis goes.
    coarse = GroupMoments.collect(values, group // 6 * 2 + group % 2, 4, np.empty(0))
    merged = fine.merged((2, 3, 2), 1)
    np.testing.assert_array_equal(merged.count, coarse.count)
    np.testing.assert_allclose(merged.mean, coarse.mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(merged.square, coarse.square, rtol=1e-12)


def test_safe_divide():
    found = safe_divide(np.array([1.0, 3.0, 0.0]), np.array([[2.0], [0.0]]))
    np.testing.assert_array_equal(found, [[0.5, 1.5, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("n", [0, 1, 2049, 40_000, 100_001])
@pytest.mark.parametrize("order", ["C", "F"])
@with_weights
@with_missing
def test_group_moments_of_blocks_have_the_bits_of_one_at_a_time(n, order, weighted, missing):
    _, group, weights = rows(n, weighted=weighted, labels=False)
    values = np.asarray(values_of(n, missing / 1000, offset=3.0), order=order)
    alone = (GroupMoments.collect(values[at], group[at], K, weights[at]) for at in blocks(n))
    expected = tree_sum(alone)
    found = GroupMoments.collect(values, group, K, weights)
    for name in ("count", "mean", "square"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("offset", [0.0, 30.0, 1e6])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_mixed_moments_of_states_far_from_the_others(offset, gaps):
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, (2, 3000)).astype(np.int8)
    group = random.integers(0, 2, 3000).astype(np.int8)
    values = random.normal(size=(3000, 2)) + offset * (codes[0] == 1)[:, None]
    values[random.random(values.shape) < gaps] = np.nan
    moments = GroupMoments.collect(values, group, 2, np.empty(0), codes, np.array([3, 3]))
    count, mean, square = moments.count, moments.mean, moments.square
    for g, j, state in itertools.product(range(2), range(2), range(3)):
        rows = values[(group == g) & (codes[j] == state)]
        at = 6 * g + 3 * j + state
        centre = np.nanmean(rows, axis=0)
        np.testing.assert_array_equal(count[at], (~np.isnan(rows)).sum(axis=0))
        np.testing.assert_allclose(mean[at], centre, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(square[at], np.nansum((rows - centre) ** 2, axis=0), rtol=1e-10)
