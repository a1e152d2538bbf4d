"""Matrices of known variables against the same columns one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownStateError
from bayesgraph.tables import Encoder, columns_of, encode_table

NUMBERS = bg.Discrete("n", [2, 0.5, -1, 7.0])
WHOLE = bg.Discrete("w", [3, -2, 10])
TEXT = bg.Discrete("t", ["b", "a", "3"])
MORE = bg.Discrete("u", ["c"])


def by_column(variables, matrix, unseen="missing"):
    names = [v.name for v in variables]
    return encode_table(columns_of(matrix, names), variables, unseen=unseen)


def encoded(encoder, matrix):
    """Return a matrix as a table, by column where it is not encoded at once."""
    table = encoder.table(matrix, "missing")
    return by_column(encoder.variables, matrix) if table is None else table


def check(variables, matrix, unseen="missing"):
    """Check that a matrix is encoded at once, and as its columns are."""
    expected = by_column(variables, matrix, unseen)
    found = Encoder(variables).table(matrix, unseen)
    assert found is not None
    assert found.variables == expected.variables
    assert found.complete == expected.complete
    assert found.codes.dtype == expected.codes.dtype
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.values, expected.values)


cells = st.sampled_from([2.0, 0.5, -1.0, 7.0, 3.0, -2.0, 10.0, 0.0, -0.0, 1e300, np.nan])


@given(st.lists(st.tuples(cells, cells), min_size=1))
def test_numbers_are_found_among_states(rows):
    matrix = np.array(rows)
    for ordered in (matrix, np.asfortranarray(matrix), np.ma.masked_invalid(matrix)):
        check((NUMBERS, WHOLE), ordered)
    for variables in (
        (bg.Continuous("a"), bg.Continuous("b")),
        (bg.Binned("a", [0]), bg.Binned("b", [7, 8])),
    ):
        check(variables, matrix)


@given(st.lists(st.tuples(st.integers(-3, 11), st.integers(-3, 11)), min_size=1))
def test_whole_numbers_are_found_among_states(rows):
    for dtype in (np.int8, np.int64):
        check((NUMBERS, WHOLE), np.array(rows, dtype=dtype))
        check((WHOLE, bg.Discrete("v", [1, 0])), np.array(rows, dtype=dtype))


words = st.sampled_from(["a", "b", "3", "c", "", None, np.nan])


@given(st.lists(st.sampled_from([1, 1.5, 2, 3, 2.5, -1, np.nan, 1e300]), min_size=1))
def test_numbers_are_found_among_states_that_span_as_much_as_integers(column):
    # Three of them, from 1 to 3, but 1.5 instead of 2.
    check((bg.Discrete("h", [3.0, 1.0, 1.5]), WHOLE), np.column_stack([column, column]))


@given(st.lists(st.tuples(words, words), min_size=1))
def test_text_is_found_among_states(rows):
    matrix = np.array(rows, dtype=object)
    check((TEXT, MORE), matrix)
    if not any(value is None or value != value for row in rows for value in row):
        check((TEXT, MORE), matrix.astype(str))


mixed = st.sampled_from([2.0, 0, 8, -3, 7.5, None, np.nan])


@given(st.lists(st.tuples(words, mixed), min_size=1))
def test_text_and_numbers_are_found_among_states_and_intervals(rows):
    check((TEXT, bg.Binned("b", [0, 7.5])), np.array(rows, dtype=object))


KINDS = {
    bg.Continuous("a"): [2.5, -3, 2**52, np.float32(0.1), np.int8(4), None, np.nan],
    bg.Binned("b", [0, 7.5]): [2.0, 0, np.float32(7.5), np.int64(8), np.float64(-1), None],
    TEXT: ["a", "b", "?", None, np.str_("3")],
    bg.Discrete("y", [False, True]): [True, np.False_, None],
    WHOLE: [3, np.int64(-2), 4, None],
    bg.Grouped("g", [["a"], ["b", "c"]]): ["a", "b", "c", "{b, c}", "?", None],
    bg.Grouped("o", [["a"], ["b", "c"]], others=True): ["a", "c", "?", np.nan],
}


@given(st.permutations(list(KINDS)), st.data())
def test_columns_of_several_kinds_are_encoded_at_once(variables, data):
    rows = st.tuples(*(st.sampled_from(KINDS[v]) for v in variables))
    chosen = data.draw(st.lists(rows, min_size=1, max_size=4))
    matrix = np.empty((len(chosen), len(variables)), dtype=object)
    for i, row in enumerate(chosen):
        for j, value in enumerate(row):
            matrix[i, j] = value
    check(tuple(variables), matrix)


@given(st.lists(st.tuples(cells, cells, cells), min_size=1))
def test_states_intervals_and_numbers_are_encoded_at_once(rows):
    matrix = np.array(rows)
    a, b, c = bg.Continuous("a"), bg.Binned("b", [0, 7]), bg.Continuous("c")
    for variables in ((a, b, c), (a, WHOLE, b), (NUMBERS, c, WHOLE), (b, NUMBERS, WHOLE)):
        for ordered in (matrix, np.asfortranarray(matrix), np.ma.masked_invalid(matrix)):
            check(variables, ordered)


ONE_BY_ONE = {
    "numbers among text": ((TEXT, MORE), np.array([["a", 3]], dtype=object)),
    "text for intervals": ((TEXT, bg.Binned("b", [1])), np.array([["a", "3"]], dtype=object)),
    "truth for intervals": ((TEXT, bg.Binned("b", [1])), np.array([["a", True]], dtype=object)),
    "infinite object": ((TEXT, bg.Binned("b", [1])), np.array([["a", np.inf]], dtype=object)),
    "text for continuous": ((TEXT, bg.Continuous("a")), np.array([["a", "3"]], dtype=object)),
    "truth for continuous": ((TEXT, bg.Continuous("a")), np.array([["a", True]], dtype=object)),
    "truth for whole states": ((TEXT, WHOLE), np.array([["a", True]], dtype=object)),
    "floats for whole states": ((TEXT, WHOLE), np.array([["a", 3.0]], dtype=object)),
    "text for numbers": ((WHOLE, NUMBERS), np.array([["a", "b"]], dtype=object)),
    "equal states": ((bg.Discrete("e", [1, 1.0]), WHOLE), [[1.0, 3.0]]),
    "truth values": ((bg.Discrete("e", [True, 2]), WHOLE), [[1, 3]]),
    "large states": ((bg.Discrete("e", [2**53, 2**53 + 1]), WHOLE), [[2.0**53, 3.0]]),
    "masked text": ((TEXT, MORE), np.ma.array([["a", "b"]], mask=[[0, 1]], dtype=object)),
}


@pytest.mark.parametrize(("variables", "matrix"), ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_what_is_left_to_the_columns(variables, matrix):
    matrix = matrix if isinstance(matrix, np.ndarray) else np.array(matrix)
    assert Encoder(variables).table(matrix, "missing") is None


def test_values_that_are_no_states_are_left_to_the_columns_if_they_are_errors():
    encoder = Encoder((WHOLE, NUMBERS))
    for matrix in (np.array([[3, 4]]), np.array([[3.0, 4.0]]), np.array([[np.nan, 2.0]])):
        assert encoder.table(matrix, "error") is None
    check((WHOLE, NUMBERS), np.array([[3.0, 2.0]]), "error")
    check((TEXT, MORE), np.array([["a", "c"]], dtype=object), "error")
    with pytest.raises(UnknownStateError, match="'n' has values that are not states: 4"):
        by_column((WHOLE, NUMBERS), np.array([[3, 4]]), "error")


def test_infinite_numbers_are_refused_with_their_place():
    objects = Encoder((TEXT, bg.Continuous("a")))
    rows = np.array([["b", 2.0], ["a", np.inf]], dtype=object)
    assert objects.table(rows, "missing") is None
    with pytest.raises(DataError, match="'a' has infinity in row 1"):
        by_column(objects.variables, rows)
    both = Encoder((bg.Binned("a", [0]), bg.Continuous("b")))
    for column, name in ((0, "a"), (1, "b")):
        matrix = np.zeros((3, 2))
        matrix[2, column] = -np.inf
        with pytest.raises(DataError, match=f"'{name}' has infinity in row 2"):
            encoded(both, matrix)
    with pytest.raises(DataError, match="'n' has infinity in row 0"):
        encoded(Encoder((WHOLE, NUMBERS)), np.array([[3.0, np.inf]]))
    encoder = Encoder((bg.Continuous("a"), bg.Continuous("b")))
    matrix = np.array([[0.0, np.nan], [1.0, -np.inf], [np.nan, np.inf]])
    for ordered in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        with pytest.raises(DataError, match="'b' has infinity in row 1"):
            encoder.table(ordered, "missing")
