"""Depths of features in unpruned trees, against trees grown by plain recursion."""

import numpy as np
import pytest
from exponent_samples import fitted, sample
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.errors import DataError
from bayesgraph.learning.exponents import LogTerms, depth_exponents, kernels, tree_depths


def entropy(values):
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return -np.sum(shares * np.log(shares))


def grow(codes, labels, depth, depths):
    """Split rows by the gain ratio, and go on with the parts."""
    gains, ratios = np.zeros(codes.shape[1]), np.zeros(codes.shape[1])
    for i, column in enumerate(codes.T):
        states, sizes = np.unique(column, return_counts=True)
        if np.sum(sizes >= 2) >= 2:
            inner = sum(
                n / len(labels) * entropy(labels[column == x])
                for x, n in zip(states, sizes, strict=True)
            )
            gains[i] = entropy(labels) - inner
            ratios[i] = gains[i] / entropy(column)
    good = gains > 1e-10
    if not good.any():
        return
    good &= gains >= gains[good].mean() - 1e-10
    best = int(np.argmax(np.where(good, np.round(ratios, 11), -1)))
    depths[best] = min(depths[best], depth)
    for x in np.unique(codes[:, best]):
        rows = codes[:, best] == x
        grow(codes[rows], labels[rows], depth + 1, depths)


@given(st.integers(0, 2**16), st.integers(1, 3), st.integers(2, 4))
def test_depths_of_a_tree(seed, k, card):
    terms = sample(seed, n=50, d=5, k=k, card=card)
    rows = np.random.default_rng(seed).integers(50, size=40)
    expected, found = np.full(5, np.inf), np.empty(5)
    grow(terms.codes[rows], terms.labels[rows], 1, expected)
    kernels.least_depths(terms.codes.T, terms.labels, terms.cards, k, rows.copy(), found)
    np.testing.assert_array_equal(found, expected)


def test_bootstrap_samples():
    terms = sample(0, n=300, d=5, missing=0.0)
    depths = tree_depths(terms, seed=3)
    assert depths.shape == (10, 5)
    assert (depths.min(axis=1) == 1).all()
    np.testing.assert_array_equal(tree_depths(terms, seed=3), depths)
    assert len(np.unique(depths, axis=0)) > 1
    exponents = depth_exponents(depths)
    assert exponents[0] > exponents[-1]
    # A row without weight is never drawn: here only rows of one class are.
    one = fitted(terms.codes, terms.labels, [3] * 5, 2, 1.0 - terms.labels)
    assert np.isinf(tree_depths(one)).all()


def test_nothing_to_ask():
    empty = LogTerms.build(np.empty((2, 0)), [], np.zeros(2), [0, 1])
    assert tree_depths(empty).shape == (10, 0)
    no_rows = LogTerms.build(np.empty((0, 1)), [np.log([[0.1, 0.9]] * 3)], np.zeros(2), [])
    assert np.isinf(tree_depths(no_rows)).all()


@pytest.mark.parametrize("depths", [[[0.0, 1.0]], [1.0, 2.0], [[np.nan]], np.empty((0, 2))])
def test_wrong_depths(depths):
    with pytest.raises(DataError, match="1 for the root"):
        depth_exponents(depths)


@pytest.mark.parametrize("wrong", [{"n_trees": 0}, {"share": 0.0}, {"share": np.nan}])
def test_wrong_samples(wrong):
    with pytest.raises(DataError, match="n_trees must be 1 or more"):
        tree_depths(sample(0), **wrong)
