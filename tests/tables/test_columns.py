"""Columns of every type and library: which variable they become, its states and the codes."""

import datetime
import decimal
import enum
import fractions
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, UnknownStateError
from bayesgraph.core.variables import is_missing
from bayesgraph.statistics import Domain
from bayesgraph.tables import (
    are_finite,
    columns_of,
    encode_table,
    infer_variables,
    sparse_rows,
)

D = decimal.Decimal


def encoded(column, *, categorical=False):
    """Return the variable of a column and its codes, or its numbers with None for NaN."""
    table = infer_variables({"v": column}, ["v"] if categorical else None)
    (variable,) = table.variables
    values = table.column(variable).tolist()
    return variable, [None if is_missing(value) else value for value in values]


def of_frame(frame):
    """Return the only column of a data frame."""
    (column,) = columns_of(frame).values()
    return column


def in_pandas(values, dtype=None):
    return of_frame(pd.DataFrame({"v": pd.Series(values, dtype=dtype)}))


def in_polars(values, dtype=None):
    return of_frame(pl.DataFrame({"v": pl.Series(values, dtype=dtype, strict=False)}))


def in_arrow(*chunks, dtype=None):
    arrays = [c if isinstance(c, pa.Array) else pa.array(c, type=dtype) for c in chunks]
    return of_frame(pa.table({"v": pa.chunked_array(arrays)}))


def in_lists(values):
    return columns_of({"v": values})["v"]


def typed(states):
    return [(type(state), state) for state in states]


def check_discrete(column, states, codes, *, categorical=False):
    variable, found = encoded(column, categorical=categorical)
    assert isinstance(variable, bg.Discrete)
    assert typed(variable.states) == typed(states)
    assert found == codes


# --------------------------------------------------------------------- what becomes discrete

TEXT = {
    "numpy": np.array(["b", "a", "b"]),
    "numpy objects": np.array(["b", "a", "b"], dtype=object),
    "lists": in_lists(["b", "a", "b"]),
    "tuples": in_lists(("b", "a", "b")),
    "pandas": in_pandas(["b", "a", "b"]),
    "pandas objects": in_pandas(["b", "a", "b"], dtype=object),
    "pandas string": in_pandas(["b", "a", "b"], dtype="string"),
    "pandas arrow string": in_pandas(["b", "a", "b"], dtype=pd.ArrowDtype(pa.string())),
    "polars": in_polars(["b", "a", "b"]),
    "polars categorical": in_polars(["b", "a", "b"], dtype=pl.Categorical),
    "arrow": in_arrow(["b", "a"], ["b"]),
    "arrow large": in_arrow(["b", "a", "b"], dtype=pa.large_string()),
    "pandas series in a mapping": columns_of({"v": pd.Series(["b", "a", "b"])})["v"],
    "polars series in a mapping": columns_of({"v": pl.Series(["b", "a", "b"])})["v"],
    "arrow array in a mapping": columns_of({"v": pa.chunked_array([["b", "a", "b"]])})["v"],
}


@pytest.mark.parametrize("column", TEXT.values(), ids=TEXT)
def test_text_is_discrete_in_ascending_order(column):
    check_discrete(column, ["a", "b"], [1, 0, 1])


TEXT_WITH_MISSING = {
    "numpy objects": np.array(["b", None, "a", np.nan], dtype=object),
    "lists": in_lists(["b", None, "a", float("nan")]),
    "pandas": in_pandas(["b", None, "a", np.nan]),
    "pandas objects": in_pandas(["b", None, "a", np.nan], dtype=object),
    "pandas NA": in_pandas(["b", pd.NA, "a", None], dtype="string"),
    "pandas NA in objects": in_pandas(["b", pd.NA, "a", pd.NaT], dtype=object),
    "pandas category": in_pandas(["b", None, "a", None], dtype="category"),
    "polars": in_polars(["b", None, "a", None]),
    "polars categorical": in_polars(["b", None, "a", None], dtype=pl.Categorical),
    "arrow": in_arrow(["b", None], ["a", None]),
    "masked": np.ma.array(["b", "x", "a", "y"], mask=[0, 1, 0, 1]),
    "masked objects": np.ma.array(np.array(["b", "x", "a", None], dtype=object), mask=[0, 1, 0, 0]),
}


@pytest.mark.parametrize("column", TEXT_WITH_MISSING.values(), ids=TEXT_WITH_MISSING)
def test_missing_text_is_no_state(column):
    check_discrete(column, ["a", "b"], [1, -1, 0, -1])


BOOLEANS = {
    "numpy": np.array([True, True]),
    "numpy objects": np.array([True, True], dtype=object),
    "lists": in_lists([True, True]),
    "pandas": in_pandas([True, True]),
    "pandas nullable": in_pandas([True, True], dtype="boolean"),
    "polars": in_polars([True, True]),
    "arrow": in_arrow([True], [True]),
}


@pytest.mark.parametrize("column", BOOLEANS.values(), ids=BOOLEANS)
def test_booleans_always_have_both_states(column):
    check_discrete(column, [False, True], [1, 1])


BOOLEANS_WITH_MISSING = {
    "numpy objects": np.array([True, None, False], dtype=object),
    "numpy scalars": np.array([np.True_, None, np.False_], dtype=object),
    "lists": in_lists([True, None, False]),
    "pandas objects": in_pandas([True, None, False], dtype=object),
    "pandas nullable": in_pandas([True, None, False], dtype="boolean"),
    "polars": in_polars([True, None, False]),
    "arrow": in_arrow([True, None, False]),
}


@pytest.mark.parametrize("column", BOOLEANS_WITH_MISSING.values(), ids=BOOLEANS_WITH_MISSING)
def test_missing_booleans(column):
    check_discrete(column, [False, True], [1, -1, 0])


# --------------------------------------------------------------------------------- categories


def test_categories_keep_declared_order_and_unused_states():
    order = ["small", "large", "never", "medium"]
    values = ["medium", None, "small", "large"]
    codes = [3, -1, 0, 1]
    check_discrete(in_pandas(pd.Categorical(values, categories=order)), order, codes)
    ordered = pd.Categorical(values, categories=order, ordered=True)
    check_discrete(in_pandas(ordered), order, codes)
    check_discrete(in_polars(values, dtype=pl.Enum(order)), order, codes)
    dictionary = pa.DictionaryArray.from_arrays(pa.array([3, None, 0, 1], type=pa.int8()), order)
    check_discrete(in_arrow(dictionary), order, codes)


def test_categories_of_other_types():
    numbers = pd.Categorical([3, 1, 3], categories=[3, 2, 1])
    check_discrete(in_pandas(numbers), [3, 2, 1], [0, 2, 0])
    flags = pd.Categorical([True, False, True])
    check_discrete(in_pandas(flags), [False, True], [1, 0, 1])
    check_discrete(in_arrow(pa.array([7, None, 5]).dictionary_encode()), [7, 5], [0, -1, 1])
    cut = in_pandas(pd.cut([1.0, 5.0, 9.0], [0, 4, 10]))
    check_discrete(cut, [pd.Interval(0, 4), pd.Interval(4, 10)], [0, 1, 1])
    days = pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-01"]))
    variable, codes = encoded(in_pandas(days))
    assert [str(state)[:10] for state in variable.states] == ["2020-01-01", "2020-01-02"]
    assert codes == [1, 0]


def test_dictionaries_that_differ_between_chunks():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a", None, "b"])]
    chunks[1] = chunks[1].dictionary_encode()
    check_discrete(in_arrow(*chunks), ["b", "a", "c"], [0, 1, 2, 1, -1, 0])


ARROW_CATEGORIES = {
    "text": (pa.array(["b", "a", None]).dictionary_encode(), ["b", "a"], [0, 1, -1]),
    "long text": (pa.array(["b"], type=pa.large_string()).dictionary_encode(), ["b"], [0]),
    "integers": (pa.array([3, 1, 3]).dictionary_encode(), [3, 1], [0, 1, 0]),
    "booleans": (pa.array([True, False]).dictionary_encode(), [True, False], [0, 1]),
    "decimals": (pa.array([D("1.5"), D("0.5")]).dictionary_encode(), [D("1.5"), D("0.5")], [0, 1]),
    "unsigned codes": (
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint8()), pa.array(["b", "a"])),
        ["b", "a"],
        [1, -1, 0],
    ),
    "a value twice, and none": (
        pa.DictionaryArray.from_arrays(pa.array([3, 2, 1, 0]), pa.array(["b", "a", None, "b"])),
        ["b", "a"],
        [0, -1, 1, 0],
    ),
}


@pytest.mark.parametrize("make", [in_arrow, lambda a: in_pandas(a, pd.ArrowDtype(a.type))])
@pytest.mark.parametrize("kind", ARROW_CATEGORIES)
def test_categories_of_arrow(kind, make):
    array, states, codes = ARROW_CATEGORIES[kind]
    check_discrete(make(array), states, codes)


def test_categories_of_arrow_are_classes_and_features():
    """As `pandas.read_parquet(dtype_backend="pyarrow")` gives them."""
    frame = pd.DataFrame({"v": pd.Categorical(["b", "a"] * 10, categories=["b", "a", "c"])})
    in_arrows = pa.Table.from_pandas(frame).to_pandas(types_mapper=pd.ArrowDtype)
    y = frame["v"].tolist()
    expected = bg.NaiveBayesClassifier().fit(frame, y).predict_proba(frame)
    model = bg.NaiveBayesClassifier().fit(in_arrows, in_arrows["v"].rename("y"))
    assert model.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict_proba(in_arrows), expected)


def test_categories_without_rows_of_their_own():
    column = in_pandas(pd.Categorical([None, None], categories=["x", "y"]))
    check_discrete(column, ["x", "y"], [-1, -1])
    with pytest.raises(DataError, match="'v' has no observed value"):
        encoded(in_pandas(pd.Categorical([None, None])))


# ------------------------------------------------------------------------------------ numbers

NUMBERS = {
    "numpy": np.array([2.0, np.nan, -1.0]),
    "numpy float32": np.array([2.0, np.nan, -1.0], dtype=np.float32),
    "numpy float16": np.array([2.0, np.nan, -1.0], dtype=np.float16),
    "numpy objects": np.array([2, None, D(-1)], dtype=object),
    "lists": in_lists([2, None, -1.0]),
    "fractions": in_lists([fractions.Fraction(2), None, fractions.Fraction(-1)]),
    "numpy scalars": in_lists([np.float32(2), np.nan, np.int8(-1)]),
    "masked floats": np.ma.array([2.0, np.inf, -1.0], mask=[0, 1, 0]),
    "masked integers": np.ma.array([2, 99, -1], mask=[0, 1, 0]),
    "pandas": in_pandas([2.0, None, -1.0]),
    "pandas objects": in_pandas([2, pd.NA, -1.0], dtype=object),
    "pandas Int64": in_pandas([2, None, -1], dtype="Int64"),
    "pandas Float64": in_pandas([2, None, -1], dtype="Float64"),
    "pandas arrow": in_pandas([2, None, -1], dtype=pd.ArrowDtype(pa.int32())),
    "polars": in_polars([2, None, -1]),
    "polars float": in_polars([2.0, float("nan"), -1.0]),
    "polars decimal": in_polars([D("2"), None, D("-1")], dtype=pl.Decimal(10, 2)),
    "arrow": in_arrow([2, None], [-1]),
    "arrow float32": in_arrow([2, None, -1], dtype=pa.float32()),
    "arrow decimal": in_arrow([D("2.00"), None, D("-1.00")], dtype=pa.decimal128(10, 2)),
}


@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_continuous(column):
    variable, values = encoded(column)
    assert variable == bg.Continuous("v")
    assert values == [2.0, None, -1.0]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_all_integers_are_continuous_however_few(dtype):
    variable, values = encoded(np.array([0, 1, 1], dtype=dtype))
    assert variable == bg.Continuous("v")
    assert values == [0.0, 1.0, 1.0]


# --------------------------------------------------------------- numbers named as categorical

LIMITS = [np.iinfo(t) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: limits.dtype.name)
def test_integer_states_over_the_whole_range_of_their_type(limits):
    low, high = int(limits.min), int(limits.max)
    column = np.array([high, low, 5, high], dtype=limits.dtype)
    check_discrete(column, [low, 5, high], [2, 0, 1, 2], categorical=True)
    near = np.array([high, high - 3, high], dtype=limits.dtype)
    check_discrete(near, [high - 3, high], [1, 0, 1], categorical=True)


INTEGERS_WITH_MISSING = {
    "lists": in_lists([2**60 + 1, None, -3]),
    "numpy objects": np.array([2**60 + 1, None, -3], dtype=object),
    "masked": np.ma.array([2**60 + 1, 8, -3], mask=[0, 1, 0]),
    "pandas": in_pandas([2**60 + 1, None, -3], dtype="Int64"),
    "pandas arrow": in_pandas([2**60 + 1, None, -3], dtype=pd.ArrowDtype(pa.int64())),
    "polars": in_polars([2**60 + 1, None, -3]),
    "arrow": in_arrow([2**60 + 1], [None, -3]),
}


@pytest.mark.parametrize("column", INTEGERS_WITH_MISSING.values(), ids=INTEGERS_WITH_MISSING)
def test_integer_states_stay_integers_beside_missing_values(column):
    check_discrete(column, [-3, 2**60 + 1], [1, -1, 0], categorical=True)


def test_float_states():
    column = np.array([0.5, np.nan, -2.0, 0.5])
    check_discrete(column, [-2.0, 0.5], [1, -1, 0, 1], categorical=True)
    check_discrete(in_pandas(column), [-2.0, 0.5], [1, -1, 0, 1], categorical=True)
    check_discrete(in_polars([0.5, None, -2.0, 0.5]), [-2.0, 0.5], [1, -1, 0, 1], categorical=True)
    check_discrete(np.array([0.0, -0.0]), [0.0], [0, 0], categorical=True)
    with pytest.raises(DataError, match="'v' has infinit"):
        encoded(np.array([1.0, np.inf]), categorical=True)


def test_integers_too_large_for_numpy():
    check_discrete(in_lists([2**70, 1]), [1, 2**70], [1, 0], categorical=True)
    check_discrete(in_lists([2**63, -1]), [-1, 2**63], [1, 0], categorical=True)


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
def test_integers_of_128_bits(dtype):
    numbers = [2**70, None, 2**70 + 1, 3]
    column = in_polars(numbers, dtype=dtype)
    check_discrete(column, [3, 2**70, 2**70 + 1], [1, -1, 2, 0], categorical=True)
    assert encoded(column)[1] == [2.0**70, None, 2.0**70, 3.0]
    y = pl.Series([3, 4, 3, 4]).cast(dtype)
    model = bg.NaiveBayesClassifier().fit({"v": [1.0, 2.0, 1.5, 2.5]}, y)
    assert model.classes_.tolist() == [3, 4]
    assert model.predict({"v": [1.0, 2.5]}).tolist() == [3, 4]


def test_decimal_states():
    column = in_polars([D("1.50"), None, D("1.25")], dtype=pl.Decimal(10, 2))
    check_discrete(column, [D("1.25"), D("1.50")], [1, -1, 0], categorical=True)


@pytest.mark.parametrize("make", [in_lists, lambda v: np.array(v, dtype=object), in_pandas])
def test_states_of_different_types_stay_distinct(make):
    values = [True, 1, 1.0, "1", None, 1, True]
    column = make(values) if make is not in_pandas else in_pandas(values, dtype=object)
    variable, codes = encoded(column, categorical=True)
    assert len(variable.states) == 4
    expected = [None if v is None else v for v in values]
    found = [None if code < 0 else variable.states[code] for code in codes]
    assert typed(found) == typed(expected)
    # Without categorical= the type of the column is not clear.
    with pytest.raises(DataTypeError, match=r"'v' mixes boolean and number and text.*categorical="):
        encoded(column)


class Colour(enum.StrEnum):
    RED = "r"


class Level(enum.IntEnum):
    LOW = 1


def test_lists_keep_texts_and_numbers_of_every_type():
    for member in (Colour.RED, Level.LOW):
        variable, _ = encoded(in_lists([member, member]), categorical=True)
        assert [type(state) for state in variable.states] == [type(member)]
    check_discrete(in_lists(["a\0", "a"]), ["a", "a\0"], [1, 0])


def test_lists_of_a_long_text_and_many_short_ones_take_little_memory():
    long = "x" * 1_000_000
    column = columns_of({"v": [long, *["a"] * 100]})["v"]
    assert column.nbytes < 10_000


def test_numbers_of_two_types_in_a_list():
    check_discrete(in_lists([1, 1.0, 2]), [1.0, 1, 2], [1, 0, 2], categorical=True)
    variable, codes = encoded(in_lists([True, 1]), categorical=True)
    assert sorted(typed(variable.states), key=str) == [(bool, True), (int, 1)]
    assert codes[0] != codes[1]


def test_tuples_and_other_hashable_states():
    column = in_lists([("a", 1), ("b", 2), ("a", 1), None])
    check_discrete(column, [("a", 1), ("b", 2)], [0, 1, 0, -1], categorical=True)
    days = in_lists([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)])
    expected = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    check_discrete(days, expected, [1, 0], categorical=True)


def test_state_order_does_not_depend_on_row_order():
    values = [True, 1, 1.0, "1", ("t",), 0, 0.5, "b"]
    orders = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(values))
        column = in_lists([values[i] for i in order])
        orders.add(tuple(typed(encoded(column, categorical=True)[0].states)))
    assert len(orders) == 1


# ------------------------------------------------------------------------------ known variables

COLUMN_ERRORS = {
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "durations": np.array([1], dtype="timedelta64[s]"),
    "complex": np.array([1j]),
    "bytes objects": np.array([b"x"], dtype=object),
    "lists": np.array([[1], None], dtype=object)[:1],
    "pandas period": in_pandas(pd.period_range("2020", periods=1)),
    "polars struct": in_polars([{"a": 1}]),
    "polars time": in_polars([datetime.time(1)]),
    "arrow list": in_arrow([[1]]),
    "arrow binary": in_arrow([b"x"]),
}


@pytest.mark.parametrize("column", COLUMN_ERRORS.values(), ids=COLUMN_ERRORS)
def test_unusable_types(column):
    with pytest.raises(DataTypeError, match=r"'v' has the type .*; each argument must be a string"):
        encoded(column)


VARIABLE = bg.Discrete("v", [1, "1", True, "a"])


def codes_of(column, variable=VARIABLE, **options):
    return encode_table({"v": column}, [variable], **options).column(variable).tolist()


def test_known_states_match_by_type_and_value_first():
    assert codes_of(in_lists([True, "1", 1, "a", None])) == [2, 1, 0, 3, -1]
    assert codes_of(np.array(["a", "1", "b"])) == [3, 1, -1]
    assert codes_of(np.array([True, False])) == [2, -1]
    assert codes_of(np.array([1, 2])) == [0, -1]
    # 1.0 equals two of the states: which one is meant cannot be known.
    assert codes_of(np.array([1.0, 2.0])) == [-1, -1]
    with pytest.raises(UnknownStateError, match=r"not states: 1\.0"):
        codes_of(np.array([1.0, 1.0]), unseen="error")


def test_known_states_match_by_equality_if_that_is_unambiguous():
    variable = bg.Discrete("v", [0, 1, 2])
    assert codes_of(np.array([1.0, np.nan, 2.0, 1.5]), variable) == [1, -1, 2, -1]
    assert codes_of(np.array([True, False]), variable) == [1, 0]
    assert codes_of(np.array([2, 0], dtype=np.uint8), variable) == [2, 0]
    assert codes_of(in_pandas([2, None, 7], dtype="Int64"), variable) == [2, -1, -1]


def test_a_column_of_another_type_is_refused_not_taken_for_unseen():
    numbers, texts = bg.Discrete("v", [0, 1, 2]), bg.Discrete("v", ["1", "2", "x9"])
    with pytest.raises(DataTypeError, match=r"had number states.*text \('1'\)"):
        codes_of(np.array(["1"]), numbers)
    with pytest.raises(DataTypeError, match=r"had text states.*Convert"):
        codes_of(np.array([1, 2]), texts)
    with pytest.raises(DataTypeError, match="boolean"):
        codes_of(np.array(["True"]), bg.Discrete("v", [False, True]))
    assert codes_of(np.array([None, None], dtype=object), texts) == [-1, -1]
    assert codes_of(np.array([7, 8]), numbers) == [-1, -1]


@pytest.mark.parametrize("make", [in_lists, in_pandas, in_polars, in_arrow, np.array])
def test_unseen_values(make):
    variable = bg.Discrete("v", ["low", "high"])
    column = make(["low", "hgih", "high"])
    assert codes_of(column, variable) == [0, -1, 1]
    with pytest.raises(UnknownStateError) as caught:
        codes_of(column, variable, unseen="error")
    message = str(caught.value)
    assert "'v'" in message
    assert "'hgih'" in message
    assert "Did you mean 'high'" in message
    assert "'low', 'high'" in message


def test_declared_categories_that_no_row_has_are_not_unseen_values():
    variable = bg.Discrete("v", ["low", "high"])
    column = in_pandas(pd.Categorical(["low", None], categories=["low", "other"]))
    assert codes_of(column, variable, unseen="error") == [0, -1]


@pytest.mark.parametrize(
    "column",
    [np.array(["1.5"]), in_lists(["1.5"]), in_pandas(["1.5"]), in_polars(["1.5"])],
    ids=["numpy", "lists", "pandas", "polars"],
)
def test_text_is_not_a_number(column):
    with pytest.raises(DataTypeError, match=r"'v' is numeric .*'1.5' is text.*categorical="):
        codes_of(column, bg.Continuous("v"))


def test_whole_numbers_beyond_floats_are_refused_by_name():
    column = np.array([1, 10**400], dtype=object)
    with pytest.raises(DataTypeError, match=r"'v' is numeric .*too large"):
        codes_of(column, bg.Continuous("v"))
    with pytest.raises(DataTypeError, match=r"'v' is numeric .*too large"):
        infer_variables({"v": column})


def test_text_without_rows_is_no_number_either():
    with pytest.raises(DataTypeError, match="'v' is numeric"):
        codes_of(np.array([], dtype="U1"), bg.Continuous("v"))


def test_columns_of_known_variables_that_observe_nothing():
    for column in (
        np.full(2, np.nan),
        in_lists([None, None]),
        in_pandas([None, None], dtype=object),
        in_polars([None, None]),
        in_arrow([None, None]),
        np.ma.masked_all(2),
    ):
        assert codes_of(column) == [-1, -1]
        assert np.isnan(codes_of(column, bg.Continuous("v"))).all()


@pytest.mark.parametrize("rows", [slice(0, 3), slice(3, 9), slice(5, 5), slice(0, 20)])
def test_rows_of_a_sparse_matrix_share_its_entries(rows):
    random = np.random.default_rng(0)
    matrix = sp.csr_array(random.poisson(0.4, size=(9, 6)).astype(float))
    found = sparse_rows(matrix, rows)
    np.testing.assert_array_equal(found.toarray(), matrix[rows].toarray())
    assert found.nnz == 0 or np.shares_memory(found.data, matrix.data)


@pytest.mark.parametrize(
    ("values", "finite"),
    [([], True), ([1e308, 1e308], True), ([1.0, np.nan], False), ([np.inf, -np.inf], False)],
)
def test_numbers_are_finite_whatever_their_sum(values, finite):
    assert are_finite(np.array(values)) == finite


# ------------------------------------------------------------------------------ chunks of files


def categories(values, dictionary=None):
    """Return text as categories with 32-bit indices, of a dictionary that may have more."""
    if dictionary is None:
        return pa.array(values, pa.string()).dictionary_encode()
    indices = [None if v is None else dictionary.index(v) for v in values]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(dictionary))


# Indices under missing values may be any numbers.
_UNDEFINED = pa.DictionaryArray.from_arrays(
    pa.Array.from_buffers(
        pa.int32(),
        4,
        [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([1, -7, 0, 1 << 30], np.int32).tobytes())],
    ),
    pa.array(["q", "p"]),
)
CHUNKS = {
    "one": [categories(list("bacab"))],
    "other dictionaries": [categories(list("ba")), categories(list("acc")), categories(list("d"))],
    "missing": [categories(["b", None, "a"]), categories([None, None]), categories(["a"])],
    "slices": [categories([*"abcabcabc", None, *"cab"] * 3).slice(7, 20).slice(2, 11)],
    "unused": [categories(list("ca"), ["c", "b", "a"])],
    "missing category": [categories(["c", "a"], ["c", None, "a"])],
    "empty": [categories([]), categories(list("ba")), categories([])],
    "no rows": [categories([])],
    "undefined indices": [_UNDEFINED],
    "many": [categories([f"s{i:03}" for i in range(n)][::-1]) for n in (128, 129)],
}


def check_domain(column):
    """Check the states of a column, how often each occurs, and how many are missing."""
    domain, values = Domain.of(pa.table({"v": column}), "v"), column.to_pylist()
    assert domain.n_missing == values.count(None)
    assert domain.counts == Counter((type(v), v) for v in values if v is not None)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_domains_of_chunks_of_categories(chunks):
    check_domain(pa.chunked_array(chunks))


@pytest.mark.parametrize(
    "values", [["b", None, "a"], [3, None, 1], [True, None, False], [2.5, None, 0.5]]
)
def test_domains_of_chunks_of_other_types(values):
    check_domain(pa.chunked_array([values, values]))
