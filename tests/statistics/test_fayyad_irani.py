"""MDLP against examples worked by hand, a plain recursion, and published cuts."""

import math

import numpy as np
import pytest
from cutting import mdlp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from bayesgraph.statistics import observed, round_frequency_cuts, split_intervals


def entropy(classes):
    shares = np.unique(classes, return_counts=True)[1] / len(classes)
    return float(-(shares * np.log2(shares)).sum())


def by_recursion(values, classes):
    """Return the values that begin an interval, as the paper says it."""
    n, best = len(values), None
    for value in sorted(set(values.tolist()))[1:]:
        left = values < value
        mean = left.mean() * entropy(classes[left]) + (~left).mean() * entropy(classes[~left])
        if best is None or mean < best[0] - 1e-12:
            best = (mean, value, left)
    if best is None:
        return []
    mean, value, left = best
    k, k1, k2 = (len(set(c.tolist())) for c in (classes, classes[left], classes[~left]))
    e, e1, e2 = entropy(classes), entropy(classes[left]), entropy(classes[~left])
    delta = math.log2(3**k - 2) - (k * e - k1 * e1 - k2 * e2)
    if e - mean <= (math.log2(n - 1) + delta) / n:
        return []
    lower, upper = (by_recursion(values[side], classes[side]) for side in (left, ~left))
    return [*lower, value, *upper]


def test_a_split_that_is_worth_it():
    # Ent(S) = 1, the parts are pure: the gain is 1. The threshold is
    # (log2 7 + log2(3^2 - 2) - (2 * 1 - 1 * 0 - 1 * 0)) / 8 = (2.807 + 2.807 - 2) / 8 = 0.452.
    assert mdlp([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 1, 1, 1], 2).tolist() == [4.5]


def test_a_split_that_is_not_worth_it():
    # Classes 0 1 0 1: the best split leaves (0 | 1 0 1), a gain of 1 - 3/4 * 0.918 = 0.311. The
    # threshold is (log2 3 + log2 7 - (2 - 1 * 0 - 2 * 0.918)) / 4 = (1.585 + 2.807 - 0.163) / 4.
    assert mdlp([1, 2, 3, 4], [0, 1, 0, 1], 2).tolist() == []


def test_cuts_of_iris_are_those_that_others_publish():
    X, y = load_iris(return_X_y=True)
    found = [mdlp(X[:, j], y, 3).tolist() for j in range(4)]
    assert found == [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(3, 90), st.integers(2, 40))
def test_equals_the_plain_recursion(seed, n_classes, n, n_values):
    random = np.random.default_rng(seed)
    values = random.integers(n_values, size=n).astype(float)
    shift = random.integers(0, n_classes, size=n_values)
    classes = np.where(
        random.random(n) < 0.7, shift[values.astype(int)], random.integers(n_classes, size=n)
    )
    cuts = mdlp(values, classes, n_classes)
    begins = [min(v for v in values if v > cut) for cut in cuts]
    assert begins == by_recursion(values, classes)


def test_one_class_one_value_and_nothing_have_no_cut():
    assert mdlp([1.0, 2.0, 3.0], [0, 0, 0], 2).tolist() == []
    assert mdlp([1.0, 1.0, 1.0], [0, 1, 0], 2).tolist() == []
    assert mdlp([np.nan, np.nan], [0, 1], 2).tolist() == []
    assert mdlp([1.0, 2.0], [0, 1], 2, [0.2, 0.3]).tolist() == []


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repetitions(seed):
    random = np.random.default_rng(seed)
    values, classes = random.normal(size=80), random.integers(2, size=80)
    values += 2 * classes
    weights = random.integers(0, 4, 80)
    found = mdlp(values, classes, 2, weights)
    assert found.tolist() == mdlp(*(np.repeat(a, weights) for a in (values, classes)), 2).tolist()


# -------------------------------------------------------------- abrupt changes within intervals


def test_an_interval_is_split_where_the_class_changes():
    values = np.arange(640) / 10
    classes = (values > 23.74).astype(int)
    column = observed(values, None, classes, 2)
    cuts = round_frequency_cuts(column, 32)
    found = split_intervals(column, cuts)
    assert set(cuts) <= set(found)
    assert sorted(set(found) - set(cuts)) == [23.7]  # up to and including


def test_a_cut_point_that_is_there_is_not_repeated():
    values = np.arange(64.0)
    column = observed(values, None, (values > 31).astype(int), 2)
    assert split_intervals(column, np.array([31.5])).tolist() == [31.5]


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_smooth_changes_split_nothing(seed):
    random = np.random.default_rng(seed)
    values = random.normal(size=2000)
    for p in (0.3, 1 / (1 + np.exp(-2 * values))):
        column = observed(values, None, (random.random(2000) < p).astype(int), 2)
        cuts = round_frequency_cuts(column, 32)
        np.testing.assert_array_equal(split_intervals(column, cuts), cuts)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=2, max_size=40),
    st.integers(0, 12),
)
def test_without_cut_points_it_is_the_recursion_with_a_higher_price(rows, cut):
    values, classes = np.array(rows).T
    column = observed(values, None, classes, 3)
    distinct = np.unique(values)
    alone = np.searchsorted(distinct, split_intervals(column, np.empty(0)), side="right")
    everything = np.searchsorted(distinct, mdlp(values, classes, 3), side="right")
    assert set(alone) <= set(everything)
    assert bool(len(alone)) == bool(len(everything))
    found = split_intervals(column, np.array([cut + 0.5]))
    assert cut + 0.5 in found
    assert (np.diff(found) > 0).all()


def test_columns_without_values_or_changes():
    nothing = observed([math.nan], None, [0], 2)
    assert split_intervals(nothing, np.empty(0)).size == 0
    alike = observed([1.0, 2.0, 3.0], None, [1, 1, 1], 2)
    assert split_intervals(alike, np.array([1.5])).tolist() == [1.5]
