"""Encoding of one column of a table of any library: as states and codes, or as numbers.

A column is a one-dimensional NumPy array (masked arrays included) or a narwhals Series, which
wraps a column of pandas, polars, pyarrow and others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, is_sparse
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Grouped,
    Name,
    State,
    Variable,
    is_missing,
    plain,
)

# -------- Values of a table that are no states of the model: what becomes of them, and who is told


POLICIES = ("warn", "missing", "error")
# Values and columns that a message shows.
_SHOWN = 3


class UnseenValues:
    """Values that are no states, by column, which are taken as missing.

    It stands for a policy wherever rows are encoded, and collects what it meets there.
    """

    def __init__(self) -> None:
        # By column the number of rows, and the first few distinct values, as keys in their order.
        self._rows: dict[Name, int] = {}
        self._values: dict[Name, dict[State, None]] = {}

    def add(self, name: Name, n_rows: int, values: Iterable[State] = ()) -> None:
        """Note that some rows of a column have values that are no states, and a few of these."""
        self._rows[name] = self._rows.get(name, 0) + n_rows
        # Few are shown, and so few are kept of all calls: a column of identifiers has as many as it
        # has rows. The keys of a dictionary keep their order, and occur once.
        shown = self._values.setdefault(name, {})
        shown |= dict.fromkeys(islice((v for v in values if v not in shown), _SHOWN - len(shown)))

    def unite(self, others: UnseenValues) -> None:
        """Add what was met in other rows."""
        for name, n_rows in others._rows.items():
            self.add(name, n_rows, others._values[name])

    def warn(self, n_rows: int) -> None:
        """Issue one warning if there are any among a number of rows."""
        if not self._rows:
            return
        most = sorted(self._rows, key=lambda name: -self._rows[name])
        columns = [
            f"{name!r} in {self._rows[name]:,} of {n_rows:,} rows, "
            f"such as {errors.quoted(self._values[name])}"
            for name in most[:_SHOWN]
        ]
        # A truth value repeats the list 0 times or once.
        columns += [f"and {len(most) - _SHOWN} more columns"] * (len(most) > _SHOWN)
        errors.warn(
            f"Values that the model never saw are taken as missing: {'; '.join(columns)}. "
            "unseen= refuses them ('error') or says nothing ('missing').",
            errors.UnseenStatesWarning,
        )


# How values that are no states are treated: by the name of a policy, or collected.
Unseen: TypeAlias = str | UnseenValues


def check_unseen(unseen: Unseen) -> None:
    """Raise a DataError unless `unseen` is a known policy for values that are not states."""
    if not isinstance(unseen, UnseenValues) and unseen not in POLICIES:
        raise errors.DataError(f"unseen= is one of {errors.quoted(POLICIES)}; got {unseen!r}.")


def of_rows(unseen: Unseen, n_rows: int) -> Unseen:
    """Return the policy for the rows of a table: for "warn" an object that collects the values.

    A single row is not warned of: services ask for one row after the other. Other policies are
    returned unchanged.
    """
    return UnseenValues() if n_rows > 1 and isinstance(unseen, str) and unseen == "warn" else unseen


def tell(met: Unseen, unseen: Unseen, n_rows: int) -> None:
    """Warn of the values in `met`, which `of_rows` returned for the policy `unseen`.

    If the policy itself was an object that collects values, who made it warns of them.
    """
    if isinstance(met, UnseenValues) and met is not unseen:
        met.warn(n_rows)


def cells_without_state(table: Any, matrix: Any, unseen: UnseenValues) -> None:
    """Collect the cells of a matrix of values that are not missing but have no code."""
    for variable, cells in zip(table.variables, matrix.T, strict=True):
        # Of intervals every number is in one.
        if not isinstance(variable, Discrete) or isinstance(variable, Binned):
            continue
        unknown = cells[np.flatnonzero(table.column(variable) < 0)]
        if unknown.dtype.kind == "f":
            unknown = unknown[~np.isnan(unknown)]
        values = [plain(cell) for cell in unknown.tolist() if not is_missing(cell)]
        if values:
            unseen.add(variable.name, len(values), values)


# ------------ Encoding of one column of a table of any library: as states and codes, or as numbers


Column: TypeAlias = "NDArray[Any] | nw.Series[Any]"
Codes: TypeAlias = NDArray[np.signedinteger[Any]]

# Maximum range of integers that are coded by a look-up table; others are coded by sorting.
_LOOKUP_RANGE = 1 << 20


@dataclass(frozen=True)
class Factorised:
    """A discrete column: distinct states in their natural order, and a code for each row.

    Attributes
    ----------
    states : list
    codes : ndarray of integers, shape (n_rows,)
        Indices into `states`; -1 where missing.
    """

    states: Sequence[State]
    codes: Codes

    def counts(self) -> NDArray[np.int64]:
        """Return the numbers of rows without a value and with each state, shape (1 + n_states,)."""
        # The code of a missing value, -1, is counted at 0.
        places = self.codes.astype(np.intp) + 1
        return np.bincount(places, minlength=len(self.states) + 1)

    def values(self) -> list[State]:
        """Return the states that occur in at least one row of the column, in order."""
        return [self.states[code] for code in np.unique(self.codes).tolist() if code >= 0]


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of rows: distinct ones in ascending order, and the index of each row's label.

    Attributes
    ----------
    classes : ndarray, shape (n_classes,)
    codes : ndarray of integers, shape (n_rows,)
    name : name or None
        That of the column.
    """

    classes: NDArray[Any]
    codes: Codes
    name: Name | None = None

    @property
    def values(self) -> NDArray[Any]:
        """The label of each row."""
        return np.asarray(self.classes[self.codes])

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        """Return the labels of some rows, with the classes that these have."""
        codes = self.codes[rows]
        occurs = np.bincount(codes, minlength=len(self.classes)) > 0
        if occurs.all():
            return Labels(self.classes, codes, self.name)
        # The new code of a class is the number of classes before it that occur.
        return Labels(self.classes[occurs], (np.cumsum(occurs) - 1)[codes], self.name)

    def among(self, classes: NDArray[Any]) -> Labels:
        """Return the labels with more classes, in ascending order, among which are theirs."""
        return Labels(classes, np.searchsorted(classes, self.classes)[self.codes], self.name)


def is_discrete(column: Column, name: Name) -> bool:
    """Return whether a column is discrete by its type: text, category or boolean.

    Raises
    ------
    DataTypeError
        For a type that is neither discrete nor numeric (dates, lists, ...), or for objects of
        mixed types.
    """
    if isinstance(column, nw.Series):
        dtype = column.dtype
        if dtype.is_numeric():
            return False
        if dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum):
            return True
        if dtype in (nw.Object, nw.Unknown):
            # Types of Arrow that narwhals does not know: decimals that are not of 128 bits, others.
            # Objects of pandas and polars have no type of Arrow; they are told by their values.
            kind = str(getattr(column.to_native(), "type", "null"))
            if kind.startswith("decimal"):
                return False
            # Without values nothing tells what the type of Arrow holds.
            if kind != "null" and not len(column):
                raise _unusable(name, kind)
            return _objects_are_discrete(column.to_numpy(), name)
        raise _unusable(name, str(dtype))
    kind = column.dtype.kind
    if kind == "O":
        return _objects_are_discrete(column, name)
    if kind not in "iufbUS":
        raise _unusable(name, str(column.dtype))
    return kind in "bUS"


def _unobserved(name: Name) -> errors.DataError:
    """Return the error for a column without any value."""
    return errors.DataError(
        f"Column {name!r} has no observed value, so its type and states are unknown; drop it, or "
        "begin with rows in which it has one."
    )


def _unusable(name: Name, dtype: str) -> errors.DataTypeError:
    """Return the error for a column, or values of it, of a type that no variable has."""
    return errors.DataTypeError(
        f"Column {name!r} has the type {dtype}; each argument must be a string, a category, a "
        "boolean or a number. Convert it or leave it out. Dates become numbers such as year and "
        "month: in a frame by frame[name].dt.year, in a file by dates='parts' of read_table, on "
        "the command line by --dates parts. Columns are left out by frame.drop, columns= of "
        "open_dataset, or --drop."
    )


def _objects_are_discrete(column: NDArray[Any], name: Name) -> bool:
    """Return whether Python objects are states, all text or all booleans, and not numbers."""
    if set(map(type, column.tolist())) == {str}:
        return True
    kinds = {kind_of(value) for value in column if not is_missing(value)}
    # A kind that is none of the three is the name of a type that no variable has.
    if not kinds:
        raise _unobserved(name)
    if kinds <= set(_KINDS):
        if len(kinds) == 1:
            return kinds != {"number"}
        raise errors.DataTypeError(
            f"Column {name!r} mixes {' and '.join(sorted(kinds))} values. Convert it to one type, "
            "or name it in categorical= to take each value as a state of its own."
        )
    wrong = next(v for v in column if not is_missing(v) and kind_of(v) not in _KINDS)
    raise _unusable(name, f"{type(wrong).__name__} (the value {wrong!r})")


_KINDS = ("number", "text", "boolean")


def kind_of(value: Any) -> str:
    """Return the kind of a value: "number", "text" or "boolean", else the name of its type."""
    value = plain(value)
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float)):
        return "number"
    try:
        # Decimal and Fraction; `float` raises an error for what is no number, but parses bytes.
        if not isinstance(value, (bytes, complex)) and np.isscalar(float(value)):
            return "number"
    except (TypeError, ValueError):
        pass
    return type(value).__name__


_TO_NUMBERS = (
    "Convert the column to numbers, with NaN where there is none (pandas.to_numeric with "
    "errors='coerce' does; read_table by missing=, and the command line by --missing, take a text "
    "such as '?' as missing). If it is text and was only empty when the model was made, name it in "
    "categorical= and make the model anew."
)


def as_numbers(column: Column, name: Name) -> Floats:
    """Return a numeric column as floats, NaN where missing.

    Raises
    ------
    DataTypeError
        If the values are not numbers.
    """
    try:
        if isinstance(column, nw.Series):
            if column.dtype.is_decimal():
                column = column.cast(nw.Float64)
            values = column.to_numpy()
        else:
            values = column
        if values.dtype.kind == "O":
            if any(isinstance(v, (str, bytes)) for v in values):
                raise TypeError(_first_text([v for v in values if isinstance(v, (str, bytes))]))
            values = np.array([np.nan if is_missing(v) else float(v) for v in values])
        if values.dtype.kind in "US":
            raise TypeError(_first_text(values.tolist()))
        if values.dtype.kind not in "iufb":
            raise TypeError(f"its type is {values.dtype}")
        return floats(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.DataTypeError(
            f"Column {name!r} is numeric for the model; these values are not numbers ({error}). "
            f"{_TO_NUMBERS}"
        ) from error


def _first_text(values: Sequence[Any]) -> str:
    """Describe texts among numbers: the first that is no number, if one is."""
    for value in values:
        try:
            float(value)
        except ValueError:
            return f"{value!r} is no number"
    return f"{errors.quoted(values[:1])} is text"


def floats(matrix: NDArray[Any]) -> Floats:
    """Return an array as floats, NaN where it is masked, without a copy where it can be."""
    numbers = matrix.astype(np.float64, copy=False)
    return numbers if type(numbers) is np.ndarray else np.asarray(np.ma.filled(numbers, np.nan))


def is_plain_integers(matrix: NDArray[Any]) -> bool:
    """Return whether an array is not masked and has integers that fit into 64 signed bits."""
    kind = matrix.dtype.kind
    return kind in "iu" and np.can_cast(matrix.dtype, np.int64) and not np.ma.isMaskedArray(matrix)


def are_finite(numbers: Floats) -> bool:
    """Return whether no number is infinite or missing (NaN)."""
    with np.errstate(over="ignore", invalid="ignore"):
        # All of the numbers of a finite sum are finite, which takes half of the time to tell.
        return bool(math.isfinite(numbers.sum()) or np.isfinite(numbers).all())


def missing_cells(column: Column) -> NDArray[np.bool_]:
    """Return which cells of a column of any type are missing."""
    if isinstance(column, nw.Series):
        missing = column.is_null()
        if column.dtype.is_float():
            missing = missing | column.is_nan().fill_null(True)
        elif column.dtype in (nw.Object, nw.Unknown):
            return missing_cells(column.to_numpy())
        return np.asarray(missing.to_numpy(), dtype=np.bool_)
    cells = np.ma.getmaskarray(column)
    if column.dtype.kind == "O":
        cells = cells | np.array([is_missing(value) for value in column], dtype=np.bool_)
    elif column.dtype.kind in "fc":
        cells = cells | np.isnan(np.asarray(column))
    return cells


def is_matrix(column: Any) -> bool:
    """Return whether a column is a (dense or sparse) matrix of counts of many items."""
    return getattr(column, "ndim", 1) == 2


def _matrix(name: Name) -> errors.DataTypeError:
    """Return the error for a matrix of counts without a family."""
    return errors.DataTypeError(
        f"Column {name!r} is a matrix; give the family of its counts in distributions=: "
        "'multinomial' or 'bernoulli'."
    )


def as_counts(column: Any, variable: CountVector) -> tuple[Any, bool]:
    """Return a checked matrix of counts as floats, and whether counts are missing (NaN).

    A sparse matrix is returned in CSR format.

    Raises
    ------
    DataError
        For a wrong number of columns, or counts that are negative or infinite.
    DataTypeError
        If the column is not a matrix of numbers.
    """
    name = variable.name
    if not is_matrix(column):
        raise errors.DataTypeError(
            f"Column {name!r} holds counts of {len(variable.items)} items: a matrix, dense or "
            f"sparse; got {type(column).__name__}."
        )
    if column.shape[1] != len(variable.items):
        raise errors.DataError(
            f"Column {name!r} holds counts of {len(variable.items)} items; got a matrix with "
            f"{column.shape[1]} columns."
        )
    try:
        if is_sparse(column):
            rows = column if column.format == "csr" else scipy.sparse.csr_array(column)
            numbers = np.asarray(rows.data, dtype=np.float64)
            rows = sparse_view(numbers, rows.indices, rows.indptr, rows.shape)
        else:
            plain = floats(column) if np.ma.isMaskedArray(column) else column
            rows = np.ascontiguousarray(plain, dtype=np.float64)
            numbers = rows.reshape(-1)
    except (TypeError, ValueError) as error:
        raise errors.DataTypeError(
            f"Column {name!r} holds counts, which are numbers ({error})."
        ) from error
    check_counts(numbers, name)
    if are_finite(numbers):
        return rows, False
    if np.isinf(numbers).any():
        raise errors.DataError(
            f"Column {name!r} has infinite counts; replace them by NaN (missing)."
        )
    return rows, True


def check_counts(numbers: Floats, name: Name) -> None:
    """Raise a DataError if one of the numbers in a column is negative."""
    if (numbers < 0).any():
        raise errors.DataError(
            f"Column {name!r} holds counts, 0 or more; the minimum is {np.nanmin(numbers):g}. "
            "(Negative values in data passed to a model of counts.)"
        )


def without_duplicates(rows: Any) -> Any:
    """Return a sparse matrix in CSR format without duplicate entries, which are summed.

    A sparse matrix may store several entries for the same row and column; its value is their sum.
    """
    if rows.format != "csr":
        rows = scipy.sparse.csr_array(rows)
    if rows.has_canonical_format:
        return rows
    joined = rows.copy()
    joined.sum_duplicates()
    return joined


def sparse_view(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """Return a CSR matrix that shares the given arrays; SciPy's constructor might copy them."""
    view = scipy.sparse.csr_array(shape, dtype=data.dtype)
    view.data, view.indices, view.indptr = data, indices, indptr
    return view


def sparse_rows(matrix: Any, rows: slice) -> Any:
    """Return successive rows of a CSR matrix, which share its entries; SciPy's slices copy them."""
    start, stop, _ = rows.indices(matrix.shape[0])
    indptr = matrix.indptr[start : stop + 1]
    entries = slice(indptr[0], indptr[-1])
    shape = (stop - start, matrix.shape[1])
    return sparse_view(matrix.data[entries], matrix.indices[entries], indptr - indptr[0], shape)


def factorise(column: Column, name: Name) -> Factorised:
    """Return a column as its distinct states and a state code for each row.

    The states of a categorical type have the order of its categories. For other types they are
    sorted: numbers and text in ascending order, False before True.
    """
    if isinstance(column, nw.Series):
        dtype = column.dtype
        if dtype == nw.Boolean:
            codes = column.cast(nw.Int8).fill_null(-1).to_numpy()
            return Factorised([False, True], codes.astype(np.int8, copy=False))
        if dtype in (nw.Categorical, nw.Enum):
            return _factorise_categories(column, name)
        if dtype == nw.String:
            return _factorise_text(column)
        if dtype.is_integer() and column.null_count():
            # A NumPy array with missing values would have floats: other states, inexact above
            # 2**53.
            observed = ~column.is_null().to_numpy()
            return _spread(_factorise_integers(column.drop_nulls().to_numpy()), observed)
        return factorise(column.to_numpy(), name)
    if isinstance(column, np.ma.MaskedArray):
        observed = ~np.ma.getmaskarray(column)
        return _spread(factorise(np.asarray(column.data[observed]), name), observed)
    kind = column.dtype.kind
    if kind == "b":
        return Factorised([False, True], column.astype(np.int8))
    if kind in "iu":
        return _factorise_integers(column)
    if kind == "f":
        observed = ~np.isnan(_finite(column, name))
        return _spread(_factorise_by_sorting(column[observed]), observed)
    if kind in "OUS":
        return _factorise_objects(column.astype(object), name)
    raise _unusable(name, str(column.dtype))


def _spread(observed: Factorised, rows: NDArray[np.bool_]) -> Factorised:
    """Insert missing rows (code -1) into a column of observed values.

    The boolean mask `rows` marks the rows of the result that take the codes of `observed`, in their
    order; all other rows are missing.
    """
    codes = np.full(len(rows), -1, dtype=np.int32)
    codes[rows] = observed.codes
    return Factorised(observed.states, codes)


def _factorise_text(column: nw.Series[Any], states: Sequence[str] | None = None) -> Factorised:
    """Return a column of text as states, sorted unless they are given, and codes.

    The code of a text that is no state is -1, as that of a missing value.
    """
    native = column.to_native()
    if states is None and (array := _in_arrow(native)) is not None:
        return _sorted(*_arrow_codes(array.dictionary_encode()))
    if states is None and nw.dependencies.is_pandas_like_series(native):
        # pandas hashes the values once, the general way below three times.
        codes, values = native.factorize()
        return _sorted(values.tolist(), codes)
    distinct = sorted(column.unique().drop_nulls().to_list()) if states is None else list(states)
    if not distinct:
        return Factorised([], np.full(len(column), -1, dtype=np.int8))
    # Each state becomes its code, and what is missing or no state becomes -1.
    codes = column.replace_strict(
        [*distinct, None], [*range(len(distinct)), -1], return_dtype=nw.Int32, default=-1
    )
    return Factorised(list(distinct), codes.fill_null(-1).to_numpy())


def _in_arrow(native: Any) -> Any:
    """Return the Arrow array of a native column that is kept as one, by pandas too, else None."""
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return native
    dtype = getattr(native, "dtype", None)
    # pandas hands over its own memory; narwhals would make a copy.
    is_kept = getattr(dtype, "storage", None) == "pyarrow" or hasattr(dtype, "pyarrow_dtype")
    return native.array.__arrow_array__() if is_kept else None


def _arrow_codes(array: Any) -> tuple[list[State], Codes]:
    """Return the states and codes of a dictionary-encoded array of Arrow, of one chunk or more."""
    # A chunked array, whose chunks may have dictionaries of their own.
    if hasattr(array, "unify_dictionaries"):
        array = array.unify_dictionaries().combine_chunks()
    indices = array.indices
    if str(indices.type) != "int32":  # it may be unsigned, without -1
        indices = indices.cast("int64")
    codes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
    values = array.dictionary.dictionary_encode()
    if len(values.dictionary) < len(values):  # categories may repeat a value, or be missing
        # From old codes to those of distinct values; -1 takes the last entry and stays -1.
        codes = np.append(values.indices.fill_null(-1), -1)[codes]
    return values.dictionary.to_pylist(), codes


def _sorted(states: list[Any], codes: NDArray[Any]) -> Factorised:
    """Sort the states of a column, and change the codes of its rows accordingly."""
    order = sorted(range(len(states)), key=states.__getitem__)
    # From the old code to the new one; -1, a missing row, takes the last entry and stays -1.
    new_code = np.full(len(states) + 1, -1, dtype=np.int32)
    new_code[order] = np.arange(len(states))
    return Factorised([states[i] for i in order], new_code[codes])


def _factorise_categories(column: nw.Series[Any], name: Name) -> Factorised:
    """Return a column of categories as states, in the order of the categories, and codes."""
    native = column.to_native()
    if (array := _in_arrow(native)) is not None:
        # Categories may be of any type: a cast to text would change integer states.
        return Factorised(*_arrow_codes(array))
    if nw.dependencies.is_pandas_like_series(native):
        # The accessor `cat` makes a series of the codes, which takes longer than reading them.
        categories = native.array if hasattr(native, "array") else native.cat
        return Factorised(categories.categories.tolist(), np.asarray(categories.codes))
    states = column.dtype.categories if isinstance(column.dtype, nw.Enum) else None
    return _factorise_text(column.cast(nw.String), states)


def _factorise_integers(column: NDArray[Any]) -> Factorised:
    """Return integers as states and codes, by a table of the range of the states if it is small."""
    if not len(column):
        return Factorised([], np.empty(0, dtype=np.int8))
    low, high = int(column.min()), int(column.max())
    if high - low >= _LOOKUP_RANGE:
        return _factorise_by_sorting(column)
    if high - low > np.iinfo(column.dtype).max:
        column = column.astype(np.int64)  # differences would overflow a narrow type
    above = column - low
    offsets = above.astype(np.intp, copy=False)
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    # The code of an integer is the number of integers before it that are present.
    codes = above if present.all() else (np.cumsum(present) - 1)[offsets]
    # The narrowest signed type that holds all codes and -1, for missing: that of the negative
    # number -(high - low + 1). Narrow, as writing to fresh memory is slow.
    codes = codes.astype(np.min_scalar_type(low - high - 1), copy=False)
    return Factorised([low + offset for offset in np.flatnonzero(present).tolist()], codes)


def _factorise_by_sorting(column: NDArray[Any]) -> Factorised:
    states, codes = np.unique(column, return_inverse=True)
    return Factorised(states.tolist(), codes)


def _factorise_objects(column: NDArray[Any], name: Name) -> Factorised:
    """Return a column of Python objects as states and codes, distinguished by type and value."""
    values = column.tolist()
    if set(map(type, values)) == {str}:
        distinct = sorted(set(values))
        return Factorised(distinct, codes_of(distinct, values))
    # Values by type and value, numbered in the order in which they are met.
    number_of: dict[Any, int] = {}
    codes = np.empty(len(column), dtype=np.int64)
    for row, item in enumerate(column):
        if is_missing(item):
            codes[row] = -1
            continue
        value = plain(item)
        try:
            codes[row] = number_of.setdefault((type(value), value), len(number_of))
        except TypeError as error:
            raise _unusable(name, f"{type(value).__name__} (the value {value!r})") from error
    distinct = [value for _, value in number_of]
    booleans = bool(distinct) and all(isinstance(value, bool) for value in distinct)
    states: list[State] = [False, True] if booleans else naturally_ordered(distinct)
    code_of = {(type(state), state): code for code, state in enumerate(states)}
    # From numbers to codes; the number -1, a missing row, takes the last entry.
    by_number = np.array([*(code_of[key] for key in number_of), -1])
    return Factorised(states, by_number[codes])


def codes_of(states: Sequence[State], values: Sequence[State]) -> NDArray[np.int64]:
    """Return the index of each value among the states."""
    place = {state: code for code, state in enumerate(states)}
    return np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))


def naturally_ordered(values: list[Any]) -> list[Any]:
    """Return values in ascending order; mixed or unordered types by type name and `repr`."""
    try:
        if len({type(value) for value in values}) <= 1:
            return sorted(values)
    except TypeError:
        pass
    return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def infer_variable(name: Name, column: Column, *, categorical: bool) -> tuple[Variable, Any]:
    """Return the variable inferred from a column's type, and the column in encoded form.

    The encoded form is state codes for a discrete variable and floats for a continuous one. With
    `categorical`, a numeric column becomes discrete.
    """
    if is_matrix(column):
        raise _matrix(name)
    if not categorical and not is_discrete(column, name):
        return Continuous(name), as_numbers(column, name)
    factorised = factorise(column, name)
    if not factorised.states:
        raise _unobserved(name)
    return Discrete(name, factorised.states), factorised.codes


def encode_column(variable: Variable, column: Column, *, unseen: Unseen) -> Any:
    """Encode a column of a known variable: as state codes, numbers or counts.

    Parameters
    ----------
    unseen : {"warn", "missing", "error"} or UnseenValues
        Whether a value that is not a state becomes missing or an error.

    Raises
    ------
    UnknownStateError
        For a value that is not a state, under "error".
    DataTypeError
        If no value is a state because the values have another type, such as text instead of
        numbers. Treating the whole column as missing would hide that.
    """
    if isinstance(variable, CountVector):
        return as_counts(column, variable)[0]
    if is_matrix(column):
        raise _matrix(variable.name)
    if isinstance(variable, Continuous):
        return as_numbers(column, variable.name)
    if isinstance(variable, Binned) and not _has_text(column):
        return variable.codes(_finite(as_numbers(column, variable.name), variable.name))
    factorised = factorise(column, variable.name)
    # The code of each value of the column, None if it is no state.
    state_codes = [variable.find(value) for value in factorised.states]
    if all(code is None for code in state_codes):
        check_kinds(variable, factorised)
    # From codes of the column to those of the variable; -1, missing, takes the last entry.
    translation = np.array([*(-1 if c is None else c for c in state_codes), -1], dtype=np.int32)
    is_any_unknown = None in state_codes or -1 in state_codes
    # Categories that occur in no row need not be states.
    if unseen == "error" and is_any_unknown and (unknown := _unknown(variable, factorised)):
        near = errors.suggestion(unknown[0], variable.states)
        raise errors.UnknownStateError(
            f"Column {variable.name!r} has values that are not states: {errors.quoted(unknown)}."
            f"{near} The states are {errors.quoted(variable.states)}."
        )
    codes = translation[factorised.codes.astype(np.intp, copy=False)]  # NumPy's fastest look-up
    if isinstance(unseen, UnseenValues) and is_any_unknown:
        is_unknown = (codes < 0) & (factorised.codes >= 0)
        if n_rows := int(np.count_nonzero(is_unknown)):
            unseen.add(variable.name, n_rows, _unknown(variable, factorised))
    return codes


def _unknown(variable: Discrete, factorised: Factorised) -> list[State]:
    """Return the values of a column that are not states: `find` returns None, -1 of several."""
    return [value for value in factorised.values() if variable.find(value) in (None, -1)]


def _has_text(column: Column) -> bool:
    """Return whether a column holds text or categories, such as names of intervals."""
    if isinstance(column, nw.Series):
        if column.dtype in (nw.String, nw.Categorical, nw.Enum):
            return True
        column = column.to_numpy()
    if column.dtype.kind == "O":
        return any(isinstance(value, str) for value in column)
    return column.dtype.kind in "US"


def _finite(numbers: Floats, name: Name) -> Floats:
    """Return the numbers, or raise a DataError if one of them is infinite."""
    if len(wrong := np.flatnonzero(np.isinf(numbers))):
        raise infinite(name, int(wrong[0]))
    return numbers


def infinite(name: Name, row: int) -> errors.DataError:
    """Return the error for an infinite number in a row of the column `name`."""
    return errors.DataError(
        f"Column {name!r} has infinity in row {row}; replace infinite values by a number or by NaN "
        "(missing)."
    )


def with_states(variable: Discrete, column: Column) -> Discrete:
    """Return a variable with additional states for the new values of a column.

    If the known states are in natural order, all states are sorted again; otherwise new states are
    appended. In a grouped variable each new value becomes a group of its own. A binned variable is
    returned unchanged.
    """
    if isinstance(variable, Binned):
        return variable
    factorised = factorise(column, variable.name)
    fresh = [value for value in factorised.values() if variable.find(value) is None]
    if not fresh:
        return variable
    check_kinds(variable, factorised)
    if isinstance(variable, Grouped):
        groups = [*variable.groups, *([value] for value in fresh)]
        return Grouped(variable.name, groups, variable.others)
    states = [*variable.states, *fresh]
    was_ordered = tuple(naturally_ordered([*variable.states])) == variable.states
    return Discrete(variable.name, naturally_ordered(states) if was_ordered else states)


def check_kinds(variable: Discrete, factorised: Factorised) -> None:
    """Check that the values of a column are of the same kind as the states, such as text.

    Raises
    ------
    DataTypeError
        If no value is of the kind of a state.
    """
    values = factorised.values()
    if isinstance(variable, Binned) and values:
        raise errors.DataTypeError(
            f"Column {variable.name!r} was numeric when the model was made; now its values are "
            f"text that is none of its intervals ({errors.quoted(values, maximum=3)}). "
            f"{_TO_NUMBERS}"
        )
    states = variable.values if isinstance(variable, Grouped) else variable.states
    kinds, usual = {kind_of(v) for v in values}, {kind_of(s) for s in states}
    if values and not kinds & usual:
        raise errors.DataTypeError(
            f"Column {variable.name!r} had {' and '.join(sorted(usual))} states when the model was "
            f"made ({errors.quoted(states, maximum=3)}); now its values are "
            f"{' and '.join(sorted(kinds))} ({errors.quoted(values, maximum=3)}). Convert the "
            "column to the type it had."
        )
