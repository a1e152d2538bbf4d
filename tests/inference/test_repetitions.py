"""Rows that repeat others are answered once, and as single ones are."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.inference import ensembles as average
from bayesgraph.inference.factor_solver import different_rows

NUMBERS, CODES = bg.Continuous("number"), bg.Discrete("code", range(40))


def evidence_of(numbers, codes):
    matrices = (((NUMBERS,), numbers[:, None]), ((CODES,), codes[:, None]))
    return Evidence(len(codes), {NUMBERS: numbers, CODES: codes}, matrices=matrices)


def drawn(n_rows, n_different, seed=0):
    random = np.random.default_rng(seed)
    numbers = np.round(random.normal(size=n_different), 1) + 0.0
    numbers[::7] = np.nan
    codes = random.integers(-1, 40, size=n_different).astype(np.int8)
    chosen = random.integers(n_different, size=n_rows)
    return numbers[chosen], codes[chosen]


def test_different_rows_are_found():
    numbers, codes = drawn(3000, 900)
    rows, place = different_rows(evidence_of(numbers, codes))
    pairs = list(zip(np.nan_to_num(numbers, nan=-99.0), codes, strict=True))
    first = {}
    expected = [first.setdefault(pair, row) for row, pair in enumerate(pairs)]
    assert sorted(rows) == sorted(first.values())
    np.testing.assert_array_equal(rows[place], expected)


def test_rows_are_not_compared_where_that_does_not_pay():
    numbers, codes = np.arange(3000.0), np.zeros(3000, dtype=np.int8)
    assert different_rows(evidence_of(numbers, codes)) is None
    repeated = evidence_of(*drawn(3000, 30))
    assert different_rows(repeated) is not None
    few = evidence_of(*drawn(100, 3))
    assert different_rows(few) is None
    # The columns of all variables have to be compared, and likelihoods would have to be too.
    other = bg.Discrete("other", range(2))
    columns = {**repeated.columns, other: np.zeros(3000, dtype=np.int8)}
    assert different_rows(Evidence(3000, columns, matrices=repeated.matrices)) is None
    soft = {other: np.zeros((1, 2))}
    assert (
        different_rows(Evidence(3000, repeated.columns, soft, matrices=repeated.matrices)) is None
    )


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_an_average_answers_repeated_rows_as_different_ones(monkeypatch, share):
    random = np.random.default_rng(2)
    X = random.integers(4, size=(150, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] > random.integers(6, size=150)).astype(int)
    clf = bg.BayesianNetworkClassifier(n_trees=5).fit(X, y)
    X[random.random(X.shape) > share] = np.nan
    rows = X[random.integers(150, size=1500)]
    found = clf.predict_proba(rows)
    asked = []
    monkeypatch.setattr(average, "different_rows", asked.append)
    np.testing.assert_allclose(found, clf.predict_proba(rows), rtol=1e-13)
    assert asked
