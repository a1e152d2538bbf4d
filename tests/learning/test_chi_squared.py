"""CHAID beside SciPy's tests and the enumeration of everything that may be merged."""

import itertools
import math

import numpy as np
import pytest
from grown_trees import grown, table
from scipy import stats

from bayesgraph.learning import ChiSquared
from bayesgraph.learning.growing import log_tests
from bayesgraph.learning.growing_kernels import log_chi_squared_tail, merge_categories


def test_tails_are_scipys():
    for degrees in (1, 2, 3, 10, 57, 400):
        x = stats.chi2.isf([0.999, 0.7, 0.5, 0.1, 1e-3, 1e-30, 1e-200], degrees)
        found = [log_chi_squared_tail(value, float(degrees)) for value in x]
        np.testing.assert_allclose(found, stats.chi2.logsf(x, degrees), rtol=1e-9, atol=1e-12)
    # Far beyond what SciPy represents: the tail of two degrees is exponential.
    assert log_chi_squared_tail(1e5, 2.0) == pytest.approx(-5e4)
    assert log_chi_squared_tail(0.0, 3.0) == 0.0


# ------------------------------------------------------------------------------------- merging


def merged(counts, *, ordered=False, floating=-1, alpha=0.05, min_weight=0.0):
    counts = np.array(counts, dtype=float)
    group = np.empty(len(counts), dtype=np.int64)
    merge_categories(counts, ordered, floating, math.log(alpha), min_weight, group)
    return group.tolist()


def p_value(counts):
    """Return SciPy's p-value of a table, without empty classes."""
    kept = counts[:, counts.sum(axis=0) > 0]
    return stats.chi2_contingency(kept, correction=False).pvalue if kept.shape[1] > 1 else 1.0


def merged_by_search(counts, ordered, floating, alpha):
    """Return the groups of Kass' procedure, comparing all pairs anew at every step."""
    groups = [[i] for i in range(len(counts))]
    while len(groups) > 2:
        best = (alpha, None)
        for a, b in itertools.combinations(range(len(groups)), 2):
            free = not ordered or [floating] in (groups[a], groups[b])
            between = [g for g in groups[a + 1 : b] if g != [floating]]
            if free or not between:
                both = np.array([counts[groups[a]].sum(axis=0), counts[groups[b]].sum(axis=0)])
                best = max(best, (p_value(both), (a, b)), key=lambda found: found[0])
        if best[1] is None:
            break
        a, b = best[1]
        groups[a] += groups.pop(b)
    first = {i: min(group) for group in groups for i in group}
    return [first[i] for i in range(len(counts))]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_merging_is_that_of_a_search_over_all_pairs(ordered, floats, seed):
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.ones(3), size=3)[random.integers(0, 3, 7)]
    counts = np.array([random.multinomial(25, share) for share in shares]) + (seed % 2)
    floating = len(counts) - 1 if floats else -1
    expected = merged_by_search(counts, ordered, floating, 0.05)
    assert merged(counts, ordered=ordered, floating=floating) == expected


def test_merging_by_hand():
    # Chi-squared of 1 degree, of which 3.84 is significant: 3.91 between the first two rows, 0
    # between the second and the third, and then 6.11 between the first and both of them.
    counts = [[20, 10], [10, 15], [20, 30], [1, 40]]
    assert merged(counts) == [0, 1, 1, 3]
    assert merged(counts, ordered=True) == [0, 1, 1, 3]
    # The same shares are neighbours only without an order.
    apart = [[20, 10], [1, 40], [20, 10]]
    assert merged(apart) == [0, 1, 0]
    assert merged(apart, ordered=True) == [0, 1, 2]
    # Missing values may join any group, or stay alone.
    assert merged([*apart, [40, 22]], ordered=True, floating=3) == [0, 1, 2, 0]
    assert merged([[20, 10], [1, 40], [40, 1]], ordered=True, floating=2) == [0, 1, 2]
    # A group of few rows joins the most similar one, however different.
    assert merged([[30, 1], [1, 30], [0, 4]], min_weight=5.0) == [0, 1, 1]
    assert merged([[30, 1], [1, 30], [4, 0]], min_weight=5.0) == [0, 1, 0]


# --------------------------------------------------------------------------- Bonferroni


def partitions(n):
    """Yield all partitions of range(n) as lists of lists."""
    if n == 0:
        yield []
        return
    for smaller in partitions(n - 1):
        for k in range(len(smaller)):
            yield [[*g, n - 1] if i == k else g for i, g in enumerate(smaller)]
        yield [*smaller, [n - 1]]


@pytest.mark.parametrize("n", range(2, 8))
def test_multipliers_count_the_ways_to_merge(n):
    ways = {(False, False): [], (True, False): [], (True, True): []}
    for groups in partitions(n):
        ways[False, False].append(len(groups))
        for floats in (False, True):
            # The last category floats: the others of each group are neighbours.
            runs = [[i for i in g if not floats or i < n - 1] for g in groups]
            alone = [] in runs
            runs = [run for run in runs if run]
            if all(run[-1] - run[0] == len(run) - 1 for run in runs):
                ways[True, floats].append(len(runs) + alone)
    for (ordered, floats), sizes in ways.items():
        for r in range(2, n + 1):
            found = log_tests(n, r, ordered=ordered, floats=floats) if not floats or n > 2 else 0
            if floats and n == 2:
                continue
            assert math.exp(found) == pytest.approx(sizes.count(r))


def test_multipliers_of_many_categories():
    # 2 ** (n - 1) - 1 partitions into two sets.
    assert log_tests(400, 2, ordered=False, floats=False) == pytest.approx(399 * math.log(2))
    assert log_tests(400, 399, ordered=False, floats=False) == pytest.approx(
        math.log(math.comb(400, 2))
    )


# --------------------------------------------------------------------------------------- trees


def rows_of(counts):
    """Return categories and classes with given counts, shape (n_categories, n_classes)."""
    counts = np.asarray(counts)
    category = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    return category, np.concatenate([np.repeat(np.arange(counts.shape[1]), c) for c in counts])


def test_the_feature_with_the_lowest_adjusted_p_value_is_split():
    x, y = rows_of([[20, 10], [10, 15], [20, 30], [1, 40]])
    flag = np.where((y == 1) ^ (np.arange(len(y)) % 4 == 0), "yes", "no")
    data = table(x=[str(v) for v in x], flag=list(flag))
    split = grown(data, y, ChiSquared(0.05, 0.05, 10), max_depth=1)
    groups = np.array([[20, 10], [30, 45], [1, 40]])
    of_x = p_value(groups) * 6  # six partitions of four states into three sets
    of_flag = p_value(np.array([np.bincount(y[flag == f]) for f in ("no", "yes")]))
    assert split.splits[0].feature == int(of_flag < of_x)
    alone = grown(table(x=[str(v) for v in x]), y, ChiSquared(0.05, 0.05, 10), max_depth=1)
    np.testing.assert_array_equal(alone.counts[1:], groups)
    assert grown(table(x=[str(v) for v in x]), y, ChiSquared(0.05, of_x * 0.99, 10)).splits == [
        None
    ]
    assert grown(table(x=[str(v) for v in x]), y, ChiSquared(0.05, of_x * 1.01, 10)).splits[0]


def test_numbers_are_split_into_intervals():
    x, y = rows_of([[20, 10], [1, 40], [20, 10], [21, 11]])
    tree, _ = grown(table(x=list(x * 10.0)), y, ChiSquared(0.05, 0.05, 10)).to_tree()
    assert [(b.low, b.high) for b in tree.branches(0)] == [
        (-math.inf, 5.0),
        (5.0, 15.0),
        (15.0, math.inf),
    ]
    random = np.random.default_rng(0)
    x = random.normal(size=2000)
    y = (np.abs(x) < 1).astype(int)
    tree, _ = grown(table(x=list(x)), y, ChiSquared(0.05, 0.05, 20), max_depth=1).to_tree()
    cuts = np.quantile(x, np.arange(1, 20) / 20)
    ends = np.array([b.high for b in tree.branches(0)[:-1]])
    assert np.abs(ends[:, None] - cuts).min(axis=1).max() < 0.05
    assert len(ends) < 19


def test_missing_values_join_a_group_or_are_divided():
    x, y = rows_of([[30, 2], [2, 30], [28, 1]])
    states = ["a", "b", None]
    criterion = ChiSquared(0.05, 0.05, 10)
    split = grown(table(x=[states[v] for v in x]), y, criterion).splits[0]
    assert (split.n_branches, split.missing) == (2, 0)
    x, y = rows_of([[30, 2, 0], [2, 30, 0], [0, 0, 20]])
    tree = grown(table(x=[states[v] for v in x]), y, criterion)
    assert tree.splits[0].missing == -1
    np.testing.assert_allclose(tree.counts[1:], [[30, 2, 10], [2, 30, 10]])
