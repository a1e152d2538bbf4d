"""The compiled searches against plain ones."""

import itertools
import math

import numpy as np
import pytest
from cutting import modl

from bayesgraph.statistics import cut_kernels as kernels
from bayesgraph.statistics import cuts
from bayesgraph.statistics.cuts import factorials, published_prior


def sums_of(seed, size, n_classes):
    counts = np.random.default_rng(seed).integers(0, 5, size=(size, n_classes))
    counts[:, 0] += counts.sum(axis=1) == 0
    return np.concatenate([np.zeros((1, n_classes)), np.cumsum(counts, axis=0, dtype=float)])


def cost(sums, prior, ends):
    """Return the cost of a partition by its ends, from 0 to the number of bins."""
    n_classes, total = sums.shape[1], prior[len(ends) - 1]
    for a, b in itertools.pairwise(ends):
        n = sums[b] - sums[a]
        total += math.lgamma(n.sum() + n_classes) - math.lgamma(n_classes)
        total -= sum(math.lgamma(c + 1) for c in n)
    return total


def merged(sums, prior):
    """Return the best partition met when always the cheapest merge is done."""
    ends = list(range(len(sums)))
    best = ends
    while len(ends) > 2:
        ends = min(([*ends[:i], *ends[i + 1 :]] for i in range(1, len(ends) - 1)),
                   key=lambda e: round(cost(sums, prior, e), 9))  # fmt: skip
        if cost(sums, prior, ends) < cost(sums, prior, best) + 1e-6:
            best = ends
    return best


def ends_of(begins):
    return [*np.flatnonzero(begins).tolist(), len(begins)]


CASES = [
    (seed, size, n_classes)
    for seed, size in enumerate((1, 2, 3, 7, 12, 25))
    for n_classes in (2, 3)
]
each = pytest.mark.parametrize(("seed", "size", "n_classes"), CASES)


@pytest.mark.one_in(8)
@each
@pytest.mark.parametrize("whole", [True, False])
def test_greedy_merging(seed, size, n_classes, whole):
    sums = sums_of(seed, size, n_classes)
    prior = published_prior(sums[-1].sum(), size)
    table = factorials(sums, sums[-1].sum(), n_classes) if whole else np.empty(0)
    assert ends_of(kernels.merge_greedily(sums, table, prior)) == merged(sums, prior)


@each
def test_no_move_improves_what_was_improved(seed, size, n_classes):
    sums = sums_of(seed, size, n_classes)
    prior = published_prior(sums[-1].sum(), size)
    for start in (0, size - 1):
        begins = np.ones(size, dtype=bool) if start else np.arange(size) == 0
        kernels.improve(sums, np.empty(0), prior, begins)
        ends = ends_of(begins)
        assert ends[0] == 0
        least = cost(sums, prior, ends) - 2e-6
        inside = ends[1:-1]
        for m in range(1, size):
            split = sorted({*ends, m})
            assert cost(sums, prior, split) >= least
            for gone in range(len(inside)):
                moved = sorted({0, size, m, *inside[:gone], *inside[gone + 1 :]})
                near = [e for e in ends if e < inside[gone]][-1] < m < ends[gone + 2]
                assert not near or cost(sums, prior, moved) >= least


def test_very_many_bins_are_put_together_first(monkeypatch):
    random = np.random.default_rng(0)
    values = random.uniform(0, 4, 4000)
    classes = np.where(random.random(4000) < 0.9, np.floor(values).astype(int) % 2, 0)
    exact = modl(values, classes, 2)
    monkeypatch.setattr(cuts, "_MAX_BINS", 50)
    found = modl(values, classes, 2)
    np.testing.assert_allclose(found.cuts, [1, 2, 3], atol=0.01)
    assert found.cost == pytest.approx(exact.cost)
