"""Correlation-based exponents, against scikit-learn's information and the formulas."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

import bayesgraph as bg
from bayesgraph.errors import DataError
from bayesgraph.learning.exponents import correlation_exponents, correlation_selection, relations
from bayesgraph.statistics import Pairs


def make(seed=0, n=300):
    """Return a source of five discrete columns and their codes, the class first."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    a, b, c = random.integers(3, size=(3, n))
    a, b = np.where(random.random(n) < 0.6, y, a), np.where(random.random(n) < 0.3, y, b)
    columns = [y, a, a * 2 + (b > 1), b, c]
    frame = dict(zip("yabcd", columns, strict=True))
    return bg.count_source(frame, "y", categorical=list("abcd")), columns


def of(source, **options):
    return relations(source.pairs(Pairs(tuple(source.variables), None)), source.target, **options)


def test_relations_of_scikit_learn():
    source, columns = make()
    for symmetrical in (False, True):
        measure = normalized_mutual_info_score if symmetrical else mutual_info_score
        expected = np.array([[measure(a, b) for a in columns] for b in columns])
        relevance, redundancy = of(source, symmetrical=symmetrical)
        np.testing.assert_allclose(relevance, expected[0, 1:], atol=1e-12)
        rest = expected[1:, 1:] - np.diag(np.diag(expected[1:, 1:]))
        np.testing.assert_allclose(redundancy - np.diag(np.diag(redundancy)), rest, atol=1e-12)


def test_exponents_follow_their_formula():
    r, q = of(make()[0])
    d = len(r)
    pairs = [q[i, j] for i, j in combinations(range(d), 2)]
    for i, found in enumerate(correlation_exponents(r, q)):
        between = np.mean([q[i, j] for j in range(d) if j != i]) / np.mean(pairs)
        assert found == pytest.approx(1 / (1 + np.exp(between - r[i] / r.mean())))
    assert correlation_exponents([0.5], [[1.0]]) == pytest.approx([1 / (1 + np.exp(-1))])
    # Nothing is known of anything: all features count the same.
    np.testing.assert_array_equal(correlation_exponents(np.zeros(3), np.zeros((3, 3))), [0.5] * 3)


@pytest.mark.parametrize("seed", range(5))
def test_selection_takes_steps_that_raise_the_merit(seed):
    random = np.random.default_rng(seed)
    r, q = random.random(7), random.random((7, 7)) / 2
    q = (q + q.T) / 2

    def merit(subset):
        k = len(subset)
        between = np.mean([q[i, j] for i, j in combinations(subset, 2)]) if k > 1 else 0.0
        return k * np.mean(r[subset]) / np.sqrt(k + k * (k - 1) * between)

    kept, best = [], 0.0
    while len(kept) < 7:
        options = {i: merit([*kept, i]) for i in range(7) if i not in kept}
        first = max(options, key=options.get)
        if options[first] <= best:
            break
        kept, best = [*kept, first], options[first]
    assert np.flatnonzero(correlation_selection(r, q)).tolist() == sorted(kept)


def test_selection_without_anything_to_select():
    assert correlation_selection(np.zeros(2), np.zeros((2, 2))).tolist() == [0, 0]
    assert correlation_selection([], np.empty((0, 0))).tolist() == []


def test_wrong_relations():
    source, _ = make(n=30)
    columns = tuple(v for v in source.variables if v != source.target)
    for request in (Pairs(columns, source.target), Pairs(columns, None)):
        with pytest.raises(DataError, match="given nothing"):
            relations(source.pairs(request), source.target)
    with pytest.raises(DataError, match=r"relevance takes shape \(d,\)"):
        correlation_selection([1.0], np.ones((2, 2)))
