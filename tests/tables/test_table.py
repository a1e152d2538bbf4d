"""Tables of every library, arrays, matrices of integers, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, UnknownVariableError
from bayesgraph.core.evidence import arranged
from bayesgraph.tables import (
    categorical_names,
    columns_of,
    encode_table,
    infer_variables,
    table_of_numbers,
)
from bayesgraph.tables.table import Numbers

COLUMNS = {"n": [1.5, None, 2.5], "t": ["u", "v", None], "b": [True, False, True], "k": [3, 1, 3]}

TABLES = {
    "lists": COLUMNS,
    "pandas": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "lazy polars": pl.LazyFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
}


@pytest.mark.parametrize("data", TABLES.values(), ids=TABLES)
def test_frames_of_every_library_are_one_table(data):
    table = infer_variables(columns_of(data), ["k"])
    assert table.variables == (
        bg.Continuous("n"),
        bg.Discrete("t", ["u", "v"]),
        bg.Discrete("b", [False, True]),
        bg.Discrete("k", [1, 3]),
    )
    assert table.discrete == table.variables[1:]
    assert table.continuous == table.variables[:1]
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.codes, [[0, 1, 1], [1, 0, 0], [-1, 1, 1]])
    np.testing.assert_array_equal(table.values, [[1.5], [np.nan], [2.5]])
    assert table.codes.flags.f_contiguous
    again = encode_table(columns_of(data), table.variables)
    np.testing.assert_array_equal(again.codes, table.codes)
    np.testing.assert_array_equal(again.values, table.values)


def test_columns_of_a_table():
    table = infer_variables(columns_of(COLUMNS), ["k"])
    t, k = table.discrete[0], table.discrete[2]
    assert table.column(t).tolist() == [0, 1, -1]
    evidence = table.evidence()
    assert evidence.n_rows == 3
    assert list(evidence.columns) == list(table.variables)
    np.testing.assert_array_equal(evidence.columns[k], [1, 0, 1])
    part = table.rows(slice(1, 3))
    assert part.n_rows == 2
    assert part.column(t).tolist() == [1, -1]
    target = bg.Discrete("class", list("pqr"))
    longer = table.with_column(target, np.array([2, 0, 1]))
    assert longer.variables[-1] == target
    assert longer.column(target).tolist() == [2, 0, 1]
    assert longer.column(t).tolist() == [0, 1, -1]
    assert table.variables == longer.variables[:-1]


def test_missing_values_are_noticed_wherever_they_are():
    # The table may know that it is complete; evidence must never believe so wrongly.
    whole = {"n": [1.0, 2.0], "t": ["u", "v"]}
    for holes in ({}, {"n": [1.0, None]}, {"t": [None, "v"]}):
        table = infer_variables(columns_of({**whole, **holes}))
        _, partial = table.evidence().split()
        assert [v.name for v in partial] == list(holes)
        for rows in (slice(0, 1), slice(1, 2)):
            split, _ = table.rows(rows).evidence().split()
            seen = [v.name for v in split.columns]
            values = {**whole, **holes}
            assert seen == [n for n in values if values[n][rows][0] is not None]
    table = infer_variables(columns_of(whole))
    hidden = table.with_column(bg.Discrete("class", list("ab")), np.array([0, -1]))
    assert [v.name for v in hidden.evidence().split()[1]] == ["class"]


@given(st.integers(1, 70_000))
def test_codes_have_the_smallest_type_that_holds_them(cardinality):
    dtype = arranged([bg.Discrete("v", range(cardinality)), bg.Continuous("x")]).code_type
    assert cardinality - 1 <= np.iinfo(dtype).max
    smaller = {"int16": np.int8, "int32": np.int16}.get(dtype.name)
    assert smaller is None or cardinality - 1 > np.iinfo(smaller).max


def test_many_states():
    values = np.arange(300)[::-1]
    table = infer_variables({"v": values, "w": values % 2}, "all")
    assert table.codes.dtype == np.int16
    np.testing.assert_array_equal(table.codes[:, 0], values)


# ----------------------------------------------------------------------------------- arrays


def test_matrices_name_their_columns():
    matrix = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert list(columns_of(matrix)) == ["x0", "x1"]
    assert list(columns_of(matrix, ["p", ("q", 1)])) == ["p", ("q", 1)]
    masked = np.ma.array([[1.0, 5.0], [2.0, 3.0]], mask=[[0, 1], [0, 0]])
    for given_matrix in (matrix, masked, matrix.tolist(), np.asfortranarray(matrix)):
        table = infer_variables(columns_of(given_matrix))
        np.testing.assert_array_equal(table.values, matrix)
    for fitting in (False, True):
        table = table_of_numbers(
            matrix, [bg.Continuous("x0"), bg.Continuous("x1")], fitting=fitting
        )
        assert table.variables == (bg.Continuous("x0"), bg.Continuous("x1"))
        np.testing.assert_array_equal(table.values, matrix)


REFUSED = {
    "sparse matrix": (scipy.sparse.csr_matrix(np.eye(2)), DataTypeError, r"Sparse.*toarray\(\)"),
    "sparse array": (scipy.sparse.coo_array(np.eye(2)), DataTypeError, "Sparse"),
    "sparse dictionary": (scipy.sparse.dok_array(np.eye(2)), DataTypeError, "Sparse"),
    "vector": (np.ones(3), DataTypeError, "2-D array; got ndarray of dimension 1"),
    "cube": (np.ones((2, 2, 2)), DataTypeError, "dimension 3"),
    "number": (3.5, DataTypeError, "got float"),
    "text": ("data.csv", DataTypeError, "got str"),
    "nothing": (None, DataTypeError, "got NoneType"),
    "no columns": ({}, DataError, "no columns"),
    "no columns in pandas": (pd.DataFrame(index=[0, 1]), DataError, "no columns"),
    "lengths": ({"a": [1, 2], "b": [1]}, DataError, "same length; got {'a': 2, 'b': 1}"),
    "a name twice": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        DataError,
        "must differ(.|\n)*'a'",
    ),
    "deep column": (
        {"a": np.ones((2, 2, 2))},
        DataTypeError,
        r"'a' must have one axis.*\(2, 2, 2\)",
    ),
    "scalar column": ({"a": 3}, DataTypeError, r"'a' must have one axis.*\(\)"),
    "text column": ({"a": "xyz"}, DataTypeError, "'a' must have one axis"),
}


@pytest.mark.parametrize(("data", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_tables(data, error, message):
    with pytest.raises(error, match=message):
        columns_of(data)


@pytest.mark.parametrize(
    "data",
    [pd.DataFrame({"a": []}), {"a": []}, np.empty((0, 2)), pa.table({"a": pa.array([], "f8")})],
)
def test_no_rows(data):
    with pytest.raises(DataError, match="no rows"):
        infer_variables(columns_of(data))


def test_columns_without_a_variable_are_ignored_and_variables_without_a_column_left_out():
    variables = [bg.Continuous("p"), bg.Continuous("q")]
    table = encode_table({"q": np.array([1.0]), "r": np.array(["?"])}, variables)
    assert table.variables == (bg.Continuous("q"),)
    with pytest.raises(DataError, match=r"one of 'warn', 'missing', 'error'; got 'drop'"):
        encode_table({"q": np.array([1.0])}, variables, unseen="drop")


def test_taking_rows():
    rows = np.array([2, 0])
    for data in (COLUMNS, *list(TABLES.values())[1:]):
        table = infer_variables({n: c[rows] for n, c in columns_of(data).items()}, ["k"])
        assert table.column(bg.Continuous("n")).tolist() == [2.5, 1.5]
        assert table.column(bg.Discrete("k", [3])).tolist() == [0, 0]


# ------------------------------------------------------------------------------ categorical=


def test_which_columns_are_categorical():
    names = ["a", "b", ("c", 1), 7]
    assert categorical_names(None, names) == set()
    assert categorical_names("all", names) == set(names)
    assert categorical_names(["b", ("c", 1)], names) == {"b", ("c", 1)}
    assert categorical_names({"b"}, names) == {"b"}
    assert categorical_names(np.array(["a", "b"]), names) == {"a", "b"}
    assert categorical_names(pd.Index(["a"]), names) == {"a"}
    # A number is a name if there is a column of that name, else a position.
    assert categorical_names([7, 0], names) == {7, "a"}
    assert categorical_names(np.array([1]), names) == {"b"}
    assert categorical_names([True], [False, True]) == {True}
    assert categorical_names([], names) == set()


def test_unknown_categorical_columns():
    with pytest.raises(UnknownVariableError, match="Did you mean 'colour'"):
        categorical_names(["color"], ["colour", "size"])
    for wrong in ([2], [-1], [1.5]):
        with pytest.raises(UnknownVariableError, match="no variable"):
            categorical_names(wrong, ["colour", "size"])
    with pytest.raises(DataTypeError, match=r"\['colour'\]"):
        categorical_names("colour", ["colour", "size"])
    for mask in ([False, True], np.array([False, True])):
        with pytest.raises(DataTypeError, match="names of columns, not truth values"):
            categorical_names(mask, ["colour", "size"])
    with pytest.raises(DataTypeError, match="got 3"):
        categorical_names(3, ["colour", "size"])


# -------------------------------------------------------------------- matrices of integers

matrices = hnp.arrays(
    np.int64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.one_of(
        st.integers(-3, 3), st.integers(-300, 300), st.sampled_from([2**62, -(2**62)])
    ),
)


@given(matrices, st.integers(-400, 400))
def test_known_states_of_integer_matrices_equal_their_columns(matrix, shift):
    names = [f"x{j}" for j in range(matrix.shape[1])]
    variables = infer_variables(columns_of(matrix, names), "all").variables
    with np.errstate(over="ignore"):
        asked = matrix + shift
    expected = encode_table(columns_of(asked, names), variables)
    known = Numbers.of(variables)
    if known is not None:
        fast = known.table(asked)
        np.testing.assert_array_equal(fast.codes, expected.codes)
        assert fast.variables == expected.variables


EXTREMES = [-(2**63), 2**63 - 1, -(2**62) - 7, 2**62 + 9, 0]


@pytest.mark.parametrize("low", EXTREMES)
@pytest.mark.parametrize("high", EXTREMES)
def test_integer_matrices_at_the_limits(low, high):
    matrix = np.array([[low], [high], [low]])
    table = infer_variables(columns_of(matrix), "all")
    assert table.variables == (bg.Discrete("x0", sorted({low, high})),)
    assert [table.discrete[0].states[code] for code in table.codes[:, 0]] == [low, high, low]
    for value in EXTREMES:
        asked = np.array([[value]])
        known = Numbers.of(table.discrete)
        expected = encode_table(columns_of(asked), table.variables)
        if known is not None:
            np.testing.assert_array_equal(known.table(asked).codes, expected.codes)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "u1", "u2", "u4", "u8"])
def test_classifiers_take_integers_of_every_width(dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, limits.max - 3, 2], dtype=dtype)
    X, y = np.column_stack([values, values[::-1]]), [0, 1, 0, 1]
    classifier = bg.NaiveBayesClassifier(categorical="all").fit(X, y)
    as_objects = bg.NaiveBayesClassifier(categorical="all").fit(X.astype(object), y)
    assert classifier.network_ == as_objects.network_
    expected = as_objects.predict_proba(X.astype(object))
    np.testing.assert_array_equal(classifier.predict_proba(X), expected)
    np.testing.assert_array_equal(classifier.predict_proba(X.astype(object)), expected)
    # A value of another width that the states' own type would wrap around.
    strange = X.astype(np.float64) + 2.0**33
    prior = classifier.query().probabilities
    np.testing.assert_allclose(classifier.predict_proba(strange), [prior] * 4)


def test_unsigned_values_are_not_taken_for_negative_states():
    classifier = bg.NaiveBayesClassifier(categorical="all").fit([[-1], [-2]], ["a", "b"])
    asked = np.array([[2**64 - 1], [2**64 - 2]], dtype=np.uint64)
    np.testing.assert_allclose(classifier.predict_proba(asked), [[0.5, 0.5]] * 2)


# ------------------------------------------------------------------- likelihood of a table


def test_log_likelihood_of_a_table():
    a = bg.Discrete("a", ["x", "y"])
    net = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.25, 0.75]), bg.GaussianCPD(bg.Continuous("g"), 0, 1)]
    )
    half = -0.5 * np.log(2 * np.pi)
    assert net.log_likelihood({"a": ["x", "y", None]}).sum() == pytest.approx(np.log(0.25 * 0.75))
    assert net.log_likelihood({"g": [0.0, None], "other": ["?", "?"]}).sum() == pytest.approx(half)
    assert net.log_likelihood(pd.DataFrame({"a": []})).sum() == 0.0
    with pytest.raises(DataError, match=r"none of the model's variables 'a', 'g'.*'other'"):
        net.log_likelihood({"other": ["x"]}).sum()
    with pytest.raises(bg.errors.UnknownStateError, match="'z'"):
        net.log_likelihood({"a": ["z"]}).sum()
    sure = bg.BayesianNetwork([bg.TableCPD(a, [1.0, 0.0])])
    assert sure.log_likelihood({"a": ["x", "y", "y"]}).sum() == -np.inf
