"""Baselines, against scikit-learn, definitions, plain recursion and hand-worked numbers."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from exponent_samples import fitted, label_cost, sample
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

import bayesgraph as bg
from bayesgraph.learning.exponents import (
    FILTERS,
    LogTerms,
    averaged_tables,
    correlation_exponents,
    depth_exponents,
    filter_exponents,
    mutual_information,
    split_depths,
)
from bayesgraph.statistics import Pairs


def rows_of(*tables):
    """Return terms whose counts are given ones, of one feature each."""
    cells = [[(x, c) for x, c in np.ndindex(t.shape) for _ in range(int(t[x, c]))] for t in tables]
    labels = [c for _, c in cells[0]]
    columns = [[x for x, _ in sorted(part, key=lambda cell: cell[1])] for part in cells]
    order = np.argsort(labels, kind="stable")
    codes = np.array(columns).T
    tables = [np.zeros(t.shape) for t in tables]
    return LogTerms.build(codes, tables, np.zeros(2), np.array(labels)[order])


# Quinlan's weather: outlook (sunny, overcast, rain) and windy (true, false) by play, don't play.
OUTLOOK = np.array([[2.0, 3.0], [4.0, 0.0], [3.0, 2.0]])
WINDY = np.array([[3.0, 3.0], [6.0, 2.0]])


def test_information_of_the_weather():
    bits = mutual_information([OUTLOOK, WINDY]) / math.log(2)
    np.testing.assert_allclose(bits, [0.2467, 0.0481], atol=5e-5)
    ratio = FILTERS["gain_ratio"](rows_of(OUTLOOK, WINDY))
    np.testing.assert_allclose(ratio, [0.1564, 0.0488], atol=5e-5)


def test_information_of_scikit_learn():
    terms = sample(3, n=80, d=5, k=3)
    expected = []
    for column in terms.codes.T:
        seen = column >= 0
        expected.append(mutual_info_score(terms.labels[seen], column[seen]))
    np.testing.assert_allclose(mutual_information(terms.counts), expected, atol=1e-12)


def test_description_length_by_hand():
    # 14 rows: 14!/(9! 5!) orders of the classes and C(15, 1) frequencies, less those of each state.
    before = math.log(math.comb(14, 5) * 15)
    after = math.log(math.comb(5, 2) * 6) * 2 + math.log(math.comb(4, 0) * 5)
    expected = max(0.0, before - after) / 14
    description_length = FILTERS["mdl"]
    assert description_length(rows_of(OUTLOOK))[0] == pytest.approx(expected, abs=1e-12)
    sharp = np.array([[50.0, 0.0], [0.0, 50.0]])
    saved = math.log(math.comb(100, 50) * 101) - 2 * math.log(51)
    assert description_length(rows_of(sharp))[0] == pytest.approx(saved / 100)
    # States that tell nothing cost what describing them costs.
    assert description_length(rows_of(np.full((4, 2), 5.0)))[0] == 0


def test_conditional_likelihood_is_that_of_one_feature():
    terms = sample(1, n=90, d=4, k=3, missing=0.0, weighted=True)
    found = FILTERS["conditional_likelihood"](terms)
    for i in range(4):
        alone = LogTerms.build(
            terms.codes[:, i : i + 1],
            terms.tables[i : i + 1],
            terms.log_prior,
            terms.labels,
            terms.weights,
        )
        gain = (label_cost(alone, [0.0]) - label_cost(alone, [1.0])) / terms.weights.sum()
        assert found[i] == pytest.approx(max(gain, 0.0), abs=1e-12)


@pytest.mark.parametrize("name", FILTERS)
def test_exponents_are_one_in_the_mean(name):
    terms = sample(0, n=300, d=6)
    found = filter_exponents(terms, name)
    assert found.mean() == pytest.approx(1)
    assert found[0] == found.max()
    assert found[-1] == found.min() >= 0
    nothing = LogTerms.build(np.zeros((4, 2)), [np.zeros((1, 2))] * 2, np.zeros(2), [0, 1, 0, 1])
    assert filter_exponents(nothing, name).tolist() == [0, 0]
    empty = LogTerms.build(np.empty((2, 0)), [], np.zeros(2), [0, 1])
    assert filter_exponents(empty, name).shape == (0,)


# --------------------------------------------------------------------------------- correlation


def test_correlation_follows_its_formula():
    random = np.random.default_rng(0)
    y, a, b, c = random.integers(3, size=(4, 300))
    a, b = np.where(random.random(300) < 0.6, y, a), np.where(random.random(300) < 0.3, y, b)
    columns = [a, a * 2 + (b > 1), b, c]
    frame = dict(zip("yabcd", [y, *columns], strict=True))
    source = bg.learning.count_source(frame, "y", categorical=list("abcd"))
    summary = source.pairs(Pairs(tuple(source.variables), None))
    r = np.array([mutual_info_score(y, column) for column in columns])
    q = np.array([[mutual_info_score(i, j) for i in columns] for j in columns])
    pairs = [q[i, j] for i, j in combinations(range(4), 2)]
    for i, found in enumerate(correlation_exponents(summary, source.target)):
        between = np.mean([q[i, j] for j in range(4) if j != i]) / np.mean(pairs)
        assert found == pytest.approx(1 / (1 + np.exp(between - r[i] / r.mean())))


# ------------------------------------------------------------------------------- depth in trees


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
    expected = np.full(5, np.inf)
    grow(terms.codes[rows], terms.labels[rows], 1, expected)
    np.testing.assert_array_equal(split_depths(terms, rows), expected)


def test_depth_exponents():
    terms = sample(0, n=300, d=5, missing=0.0)
    exponents = depth_exponents(terms)
    assert 1 >= exponents[0] > exponents[-1] >= 0
    np.testing.assert_array_equal(depth_exponents(terms), exponents)
    # A row without weight is never drawn: here only rows of one class are.
    one = fitted(terms.codes, terms.labels, [3] * 5, 2, 1.0 - terms.labels)
    assert not depth_exponents(one).any()
    no_rows = LogTerms.build(np.empty((0, 1)), [np.log([[0.1, 0.9]] * 3)], np.zeros(2), [])
    assert depth_exponents(no_rows).tolist() == [0.0]


# ------------------------------------------------------------------- average over all subsets


def evidence(columns):
    """Return P(D | structure) of one feature and its tables, from the definition."""
    r = len(columns)
    found = 1.0
    for column in columns.T:
        found *= math.gamma(r) / math.gamma(column.sum() + r)
        found *= math.prod(math.gamma(n + 1) for n in column)
    return found, (columns + 1) / (columns.sum(axis=0) + r)


@pytest.mark.parametrize("seed", range(3))
def test_the_average_over_all_subsets(seed):
    terms = sample(seed, n=40, d=5, k=2 + seed % 2, card=2 + seed % 3)
    tables = averaged_tables(terms.counts)
    weight, joint, row = 0.0, 0.0, [0, 1, 0, 1, 1]
    for subset in product([0, 1], repeat=5):
        p, likelihood = 1.0, np.ones(terms.n_classes)
        for i, present in enumerate(subset):
            columns = terms.counts[i] if present else terms.counts[i].sum(axis=1)[:, None]
            marginal, theta = evidence(columns)
            p *= marginal
            likelihood = likelihood * theta[row[i]]
        weight, joint = weight + p, joint + p * likelihood
    found = np.prod([table[x] for table, x in zip(tables, row, strict=True)], axis=0)
    np.testing.assert_allclose(found, joint / weight, rtol=1e-10)
    for table in tables:
        np.testing.assert_allclose(table.sum(axis=0), 1)


def test_more_rows_than_any_product_of_probabilities_could_hold():
    counts = [1e6 * np.eye(3), np.full((4, 3), 1e6)]
    sharp, flat = averaged_tables(counts)
    np.testing.assert_allclose(sharp, (counts[0] + 1) / (1e6 + 3), rtol=1e-9)
    np.testing.assert_allclose(flat, 0.25)
