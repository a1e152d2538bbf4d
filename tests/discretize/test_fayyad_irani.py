"""MDLP against examples worked by hand, a plain recursion, and published cuts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from bayesgraph.discretize import mdlp


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
