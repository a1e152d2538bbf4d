"""MODL groups against all groupings of few values."""

import math

import numpy as np
import pytest

from bayesgraph.core.errors import DataError
from bayesgraph.statistics import cut_kernels as kernels
from bayesgraph.statistics import modl_groups
from bayesgraph.statistics.cuts import factorials, grouping_prior


def partitions(size):
    """Yield all groupings of values as lists of group numbers."""

    def further(groups, count):
        if len(groups) == size:
            yield groups
            return
        for group in range(count + 1):
            yield from further([*groups, group], max(count, group + 1))

    yield from further([], 0)


def at_most(size, count):
    return sum(max(groups) + 1 <= count for groups in partitions(size))


def cost_of(counts, groups):
    """Return the cost as the paper writes it."""
    size, n_classes = counts.shape
    count = max(groups) + 1
    cost = math.log(size) + math.log(at_most(size, count))
    for k in range(count):
        inside = counts[np.array(groups) == k].sum(axis=0)
        n = int(inside.sum())
        cost += math.log(math.comb(n + n_classes - 1, n_classes - 1))
        cost += math.lgamma(n + 1) - sum(math.lgamma(c + 1) for c in inside)
    return cost


@pytest.mark.parametrize("size", range(1, 7))
def test_the_number_of_groupings(size):
    logs = grouping_prior(size, size)
    assert logs[0] == np.inf
    for count in range(1, size + 1):
        assert np.exp(logs[count]) == pytest.approx(size * at_most(size, count))


def test_the_number_of_groupings_of_many_values():
    # Bell's number B(50), and all groupings in at most two groups: 2^(V-1).
    assert grouping_prior(50, 50)[50] - math.log(50) == pytest.approx(
        math.log(185724268771078270438257767181908917499221852770)
    )
    assert grouping_prior(3000, 400)[2] - math.log(3000) == pytest.approx(2999 * math.log(2))
    assert (np.diff(grouping_prior(3000, 400)[1:]) > 0).all()


def random_column(seed):
    random = np.random.default_rng(seed)
    size, n_classes, n = random.integers(2, 7), random.integers(2, 5), random.integers(10, 200)
    codes = np.concatenate([np.arange(size), random.integers(size, size=n)])
    shares = random.dirichlet(np.full(n_classes, 0.5), size=3)
    classes = np.array([random.choice(n_classes, p=shares[c % 3]) for c in codes])
    counts = np.zeros((size, n_classes), dtype=int)
    np.add.at(counts, (codes, classes), 1)
    return codes, classes, counts


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, pytest.param(80, marks=pytest.mark.slow)])
def test_the_search_finds_the_best_grouping_or_comes_near(n):
    gaps = []
    for seed in range(n):
        codes, classes, counts = random_column(seed)
        found = modl_groups(codes, classes, counts.shape[1])
        member = {value: k for k, group in enumerate(found.groups) for value in group}
        mine = cost_of(counts, [member[v] for v in range(len(counts))])
        assert found.cost == pytest.approx(mine)
        gaps.append(mine - min(cost_of(counts, groups) for groups in partitions(len(counts))))
    assert np.mean(np.array(gaps) < 1e-8) >= 0.97
    assert max(gaps) < 2.0


def test_values_whose_rows_are_of_one_class_are_together():
    codes, classes = np.repeat([0, 1, 2, 3], 8), np.repeat([1, 0, 1, 0], 8)
    assert modl_groups(codes, classes, 2).groups == [[0, 2], [1, 3]]


def test_all_values_different_are_one_group():
    assert modl_groups(np.arange(40), np.arange(40) % 2, 2).groups == [list(range(40))]


def test_missing_and_absent_values_are_in_no_group():
    codes = [-1, 0, 0, 0, 5, 5, 5, -1]
    assert modl_groups(codes, [0, 0, 0, 0, 1, 1, 1, 1], 2).groups == [[0], [5]]
    assert modl_groups([-1, -1], [0, 1], 2).groups == []
    assert modl_groups(codes, [0] * 8, 1).groups == [[0, 5]]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_thousands_of_values_and_rare_ones(n_classes):
    random = np.random.default_rng(0)
    codes = np.minimum(random.zipf(1.3, 30000) - 1, 5000)
    share = np.where(codes % 2 == 0, 0.9, 0.1)
    classes = np.where(random.random(30000) < share, 0, random.integers(1, n_classes, 30000))
    found = modl_groups(codes, classes, n_classes)
    assert sorted(v for group in found.groups for v in group) == np.unique(codes).tolist()
    frequent = [[v for v in group if v < 20] for group in found.groups]
    assert [sorted({v % 2 for v in group}) for group in frequent if group] in (
        [[0], [1]],
        [[1], [0]],
    )


def test_weights_are_repetitions_and_need_not_be_whole():
    codes, classes, counts = random_column(7)
    weights = np.random.default_rng(1).integers(0, 4, len(codes))
    n_classes = counts.shape[1]
    one = modl_groups(codes, classes, n_classes, weights)
    other = modl_groups(np.repeat(codes, weights), np.repeat(classes, weights), n_classes)
    assert one.groups == other.groups
    assert one.cost == pytest.approx(other.cost)
    nearly = modl_groups(codes, classes, n_classes, weights * (1 + 1e-9))
    assert nearly.groups == one.groups


def test_moves_of_values_are_the_same_on_both_tiers():
    random = np.random.default_rng(4)
    for n_classes in (3, 4):
        counts = random.poisson(3.0, size=(12, n_classes)).astype(np.float64)
        table = factorials(counts, float(counts.sum()), n_classes)
        prior = grouping_prior(12, 12)
        begin = kernels.merge_groups(counts, table, prior)
        begin[:4] = np.arange(4)  # values that a move improves
        found = []
        for move in (kernels.move_values.compiled, kernels.move_values.interpreted):
            group = begin.copy()
            move(counts, table, prior, group)
            found.append(group.tolist())
        assert found[0] == found[1] != begin.tolist()


def test_a_class_beyond_the_number_of_classes_is_refused():
    with pytest.raises(DataError, match=r"codes from 0 to 1; got 0 to 2"):
        modl_groups([0, 1, 1], [0, 1, 2], 2)
