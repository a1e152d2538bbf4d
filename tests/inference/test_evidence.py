"""Columns of evidence: which rows observe what."""

import numpy as np

import bayesgraph as bg
from bayesgraph.core import Evidence

A, B, X = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1]), bg.Continuous("x")


def evidence():
    return Evidence(
        4,
        {
            A: np.array([0, 1, -1, 1], dtype=np.int8),
            B: np.array([-1, -1, -1, -1]),
            X: np.array([0.0, np.nan, 1.0, 2.0]),
        },
        {B: np.log([[0.5, 0.25]])},
    )


def test_observed_rows():
    assert evidence().observed_rows(A).tolist() == [True, True, False, True]
    assert evidence().observed_rows(B).tolist() == [False] * 4
    assert evidence().observed_rows(X).tolist() == [True, False, True, True]


def test_split_drops_what_is_missing_throughout_and_lists_what_is_partial():
    trimmed, partial = evidence().split()
    assert list(trimmed.columns) == [A, X]
    assert partial == [A, X]
    assert B not in trimmed
    assert list(trimmed.likelihoods) == [B]
    rows, partial = evidence().rows(np.array([0, 3])).split()
    assert partial == []
    assert list(rows.columns) == [A, X]


def test_a_matrix_whose_columns_are_all_missing_is_left_out():
    x, y, z = bg.Continuous("x"), bg.Continuous("y"), bg.Discrete("z", ["a", "b"])
    values = np.full((2, 2), np.nan)
    codes = np.array([[0], [-1]])
    columns = {x: values[:, 0], y: values[:, 1], z: codes[:, 0]}
    rows = Evidence(2, columns, matrices=(((x, y), values), ((z,), codes)))
    known, partial = rows.split()
    assert (list(known.columns), partial) == ([z], [z])
    again, partial = known.split()
    assert (list(again.columns), partial) == ([z], [z])


def test_rows_and_without():
    part = evidence().rows(slice(1, 3))
    assert part.n_rows == 2
    assert part.columns[A].tolist() == [1, -1]
    assert len(part.likelihoods[B]) == 1
    per_row = Evidence(4, {}, {B: np.arange(8.0).reshape(4, 2)})
    assert per_row.rows(np.array([3, 0])).likelihoods[B].tolist() == [[6.0, 7.0], [0.0, 1.0]]
    left = evidence().without([A])
    assert A not in left
    assert X in left
    assert A in evidence()
