"""Encoded tables: one array of state codes, one of numbers, and matrices of item counts."""

from __future__ import annotations

import importlib.util
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, extremes, is_sparse
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import ModelError
from bayesgraph.core.evidence import Arrangement, Evidence, arranged
from bayesgraph.core.parallel import by_rows, default_memory_limit, format_bytes
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    Variable,
    decode,
    is_missing,
    plain,
    values_of,
)
from bayesgraph.core.version import __version__
from bayesgraph.tables import encoding_kernels
from bayesgraph.tables.columns import (
    Codes,
    Column,
    Unseen,
    UnseenValues,
    are_finite,
    as_numbers,
    cells_without_state,
    check_counts,
    check_unseen,
    encode_column,
    floats,
    infer_variable,
    infinite,
    is_plain_integers,
    missing_cells,
    without_duplicates,
)

# ----------------------- Lazy frames: tables whose rows an engine computes when they are asked for


# Engines by the packages that define their frames.
_ENGINES = {
    "polars": "polars",
    "duckdb": "DuckDB",
    "_duckdb": "DuckDB",
    "dask": "Dask",
    "dask_expr": "Dask",
    "pyspark": "Spark",
}
# Names of their classes: frames, relations, and columns of these.
_KINDS = ("LazyFrame", "DuckDBPyRelation", "DataFrame", "Series", "Scalar", "Column")
# Number of rows that are read at a time.
_BATCH_ROWS = 1 << 16


def engine_of(data: Any) -> str | None:
    """Return the engine of a lazy frame or a lazy column, None for other data."""
    kind = type(data)
    engine = _ENGINES.get(kind.__module__.partition(".")[0])
    if engine is None or kind.__name__ not in _KINDS:
        return None
    # Other frames of polars are in memory.
    return None if engine == "polars" and kind.__name__ != "LazyFrame" else engine


def collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Return the rows of a lazy frame that fit into memory.

    Raises
    ------
    DataTypeError
        If they are not read in batches, so that nobody knows before how many they are.
    MemoryLimitError
        If they need more than the default limit; no more than that is read.
    """
    data = nw.to_native(frame)
    batches: Iterable[Any]
    if engine_of(data) == "polars":
        batches = data.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
    elif engine_of(data) == "DuckDB":
        table = errors.optional_module(
            "pyarrow", extra="tables", what="Reading relations of DuckDB"
        ).Table
        batches = (table.from_batches([batch]) for batch in data.to_arrow_reader(_BATCH_ROWS))
    else:
        raise errors.DataTypeError(
            f"Expected a table in memory; got a lazy frame, {type(data).__name__}. Collect it."
        )
    held, nbytes, limit = [], 0, default_memory_limit()
    for batch in map(nw.from_native, batches):
        nbytes += batch.estimated_size()
        if nbytes > limit:
            raise errors.MemoryLimitError(
                f"The lazy frame has more than {format_bytes(limit)}, the limit of what is read "
                "into memory. Give fit the name of the column with the classes instead of labels, "
                "and use predict_dataset to predict: rows are then read in runs."
            )
        held.append(batch)
    if not held:
        return frame.head(0).collect()
    return nw.concat(held)


# ----------- Encoded tables: one array of state codes, one of numbers, and matrices of item counts


# Range of magnitudes for which squares and their sums over many rows do not over- or underflow.
MAGNITUDES = (1e-140, 1e140)
# Number of rows by which most columns are seen to have one of these.
_SOME_ROWS = 64
# Number of rows that are transposed together, in the processor's cache.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Table:
    """An encoded table, the form of data that statistics and inference use.

    Attributes
    ----------
    variables : tuple of Variable
        Variables in the order of the columns.
    codes : ndarray of signed integers, shape (n_rows, number of discrete variables)
        State codes, -1 where missing; columns are contiguous.
    values : ndarray of float, shape (n_rows, number of continuous variables)
        Numbers, NaN where missing.
    complete : bool
        Whether the table is known to have no missing value.
    counts : mapping from CountVector to array or csr_array, shape (n_rows, n_items)
        The counts of each vector of counts, NaN where missing.
    arrangement : Arrangement
        Where the columns are: its `place` maps a discrete variable to its column of `codes`, and a
        continuous one to its column of `values`.
    """

    variables: tuple[Variable, ...]
    codes: Codes
    values: Floats
    complete: bool = False
    counts: Mapping[CountVector, Any] = field(default_factory=dict)
    arrangement: Arrangement = field(init=False)

    def __post_init__(self) -> None:
        # An arrangement is the tuple of its variables. Attributes are set past the frozen class.
        object.__setattr__(self, "arrangement", arranged(self.variables))
        object.__setattr__(self, "variables", self.arrangement)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @property
    def discrete(self) -> tuple[Discrete, ...]:
        """Discrete variables, in the order of the columns of `codes`."""
        return self.arrangement.discrete

    @property
    def continuous(self) -> tuple[Continuous, ...]:
        """Continuous variables, in the order of the columns of `values`."""
        return self.arrangement.continuous

    def column(self, variable: Variable) -> NDArray[Any]:
        """Return the codes, numbers or counts of one variable."""
        if isinstance(variable, CountVector):
            return self.counts[variable]  # type: ignore[no-any-return]
        source = self.codes if isinstance(variable, Discrete) else self.values
        return np.asarray(source[:, self.arrangement.place[variable]])

    def is_missing(self, variable: Variable) -> NDArray[np.bool_]:
        """Return which rows lack the state or the number of a variable, shape (n_rows,)."""
        return _are_missing(self.column(variable))

    def missing(self) -> dict[Name, int]:
        """Return the number of missing values in each column that has any.

        Of a vector of counts it is that of all its items together.
        """
        if self.complete:
            return {}
        n_missing: dict[Variable, int] = {}
        for v in self.discrete:
            n_missing[v] = int(np.count_nonzero(self.column(v) < 0))
        # Most tables have all of their numbers, which their sum tells the fastest.
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.values.sum()
        if np.isnan(total):
            by_column = np.isnan(self.values).sum(axis=0).tolist()
            n_missing |= dict(zip(self.continuous, by_column, strict=True))
        for vector, counts in self.counts.items():
            numbers = counts.data if is_sparse(counts) else counts
            n_missing[vector] = int(np.count_nonzero(np.isnan(numbers)))
        return {v.name: n_missing[v] for v in self.variables if n_missing.get(v)}

    def evidence(self) -> Evidence:
        """Return all columns as evidence for the engine."""
        return Evidence.of_matrices(
            self.arrangement, self.codes, self.values, counts=self.counts, complete=self.complete
        )

    def rows(self, index: slice | NDArray[np.bool_]) -> Table:
        """Return the table of the rows that `index`, a slice or a mask, selects."""
        counts = {variable: matrix[index] for variable, matrix in self.counts.items()}
        return Table(self.variables, self.codes[index], self.values[index], self.complete, counts)

    def without(self, variable: Discrete) -> Table:
        """Return the table without a discrete column."""
        place = self.discrete.index(variable)
        others = tuple(v for v in self.variables if v != variable)
        codes = np.asfortranarray(np.delete(self.codes, place, axis=1))
        return Table(others, codes, self.values, self.complete, self.counts)

    def with_column(self, variable: Discrete, codes: Codes) -> Table:
        """Return the table with one more discrete column, given by its codes, at the end."""
        return self._with_columns([variable], [codes])

    def indicated(self, variables: Iterable[Variable]) -> Table:
        """Return the table with the indicators among `variables` of columns that it has."""
        wanted = [v for v in variables if isinstance(v, MissingIndicator)]
        if not wanted:
            return self
        by_name = {v.name: v for v in self.variables if not isinstance(v, CountVector)}
        new = [v for v in wanted if v.of in by_name and v.name not in by_name]
        # The states of an indicator are "no" and "yes", so that truth values are its codes.
        return self._with_columns(new, [self.is_missing(by_name[v.of]) for v in new])

    def _with_columns(self, variables: Sequence[Discrete], columns: Sequence[Any]) -> Table:
        """Return the table with more discrete columns at the end, given by their codes."""
        dtype = np.promote_types(self.codes.dtype, arranged(variables).code_type)
        n_before = self.codes.shape[1]
        extended = np.empty((self.n_rows, n_before + len(columns)), dtype=dtype, order="F")
        extended[:, :n_before] = self.codes
        complete = self.complete
        for j, column in enumerate(columns):
            extended[:, n_before + j] = column
            # A code of -1 is a missing value.
            complete = complete and int(np.min(column, initial=0)) >= 0
        return Table((*self.variables, *variables), extended, self.values, complete, self.counts)


def as_frame(data: Any) -> Any:
    """Wrap a data frame of any library as a narwhals frame; return other data unchanged.

    Raises
    ------
    DataError
        For a column name given twice.
    DataTypeError
        For a frame of Dask or Spark, which belongs to other processes.
    """
    if isinstance(data, np.ndarray):  # most often, and narwhals looks for long before it says so
        return data
    if (engine := engine_of(data)) in ("Dask", "Spark"):
        raise errors.DataTypeError(
            f"A frame of {engine} is not read into memory. fit takes it with the name of "
            "the column with the classes, and predict_dataset predicts its rows where they are; "
            "or collect it first."
        )
    try:
        return nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise errors.DataError(f"Column names must differ. {error}.") from error


def array_names(n_columns: int) -> list[Name]:
    """Return default names for the columns of an array: "x0", "x1", ..."""
    return [f"x{j}" for j in range(n_columns)]


def columns_of(data: Any, names: Sequence[Name] | None = None) -> dict[Name, Column]:
    """Return the columns of a table of any kind by name.

    Parameters
    ----------
    data : pandas, polars, pyarrow or other table that narwhals knows; mapping from name to column;
        or 2-D array (then `names` or "x0", "x1", ... name its columns)

    Raises
    ------
    DataTypeError
        For data of another type, and for lazy frames that are not read into memory.
    MemoryLimitError
        For a lazy frame that does not fit.
    DataError
        For no columns, columns of different lengths, or a name given twice.
    """
    if hasattr(data, "toarray"):
        raise errors.DataTypeError("Sparse matrices are not supported here; pass data.toarray().")
    if isinstance(data, Mapping):
        return _checked({name: _array(name, column) for name, column in data.items()})
    frame = as_frame(data)
    if isinstance(frame, nw.LazyFrame):
        frame = collected(frame)
    if isinstance(frame, nw.DataFrame):
        if len(set(frame.columns)) < len(frame.columns):
            raise errors.DataError(f"Column names must differ; got {errors.quoted(frame.columns)}.")
        return _checked(
            {series.name: _array(series.name, series) for series in frame.iter_columns()}
        )
    array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 2:
        raise errors.DataTypeError(
            "Expected a data frame, a mapping from name to column, or a 2-D array; got "
            f"{type(data).__name__} of dimension {array.ndim}."
        )
    if names is None:
        names = array_names(array.shape[1])
    if array.dtype.kind in "iu" and type(array) is np.ndarray and array.size:
        # States are looked for in several passes over each column: contiguous, and of as few bytes
        # as will do.
        low, high = array.min(), array.max()
        narrow = array.dtype
        for kind in (np.int32, np.int16, np.int8):
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                narrow = np.dtype(kind)
        if array.flags.f_contiguous:
            array = array.astype(narrow)
        else:
            contiguous = np.empty(array.shape, narrow, order="F")
            for first in range(0, len(array), _BLOCK):
                rows = slice(first, first + _BLOCK)
                contiguous[rows] = array[rows].astype(narrow)
            array = contiguous
    return _checked({name: array[:, j] for j, name in enumerate(names)})


_WIDE = (nw.Int128, nw.UInt128)


def _array(name: Name, column: Any) -> Column:
    """Return a column of any kind as one that is encoded; lists keep the types of their values."""
    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        # NumPy has no integers of 128 bits.
        return _array(name, series.to_list()) if series.dtype in _WIDE else series
    if isinstance(column, (list, tuple)):
        # A list of Python values as an array that keeps their types. NumPy alone turns ["a", 1]
        # into text, [True, 2] into integers and large integers into floats; it gives each text the
        # length of the longest one, without zeros at its end.
        types = {type(value) for value in column}
        kind = types.pop() if len(types) == 1 else object
        if kind is str:
            return np.array(column, dtype=object)
        # Members of enumerations are of a type of their own.
        if kind in (bool, int, float) or issubclass(kind, np.generic):
            array = np.asarray(column)
            # Integers that became floats are large ones.
            if array.dtype.kind != "f" or kind is not int:
                return array
        # One by one, because NumPy would take values that are sequences apart.
        objects = np.empty(len(column), dtype=object)
        for row, value in enumerate(column):
            objects[row] = value
        return objects
    if is_sparse(column):
        return without_duplicates(column)  # type: ignore[no-any-return]
    array = column if isinstance(column, np.ma.MaskedArray) else np.asarray(column)
    if array.ndim not in (1, 2):
        raise errors.DataTypeError(
            f"Column {name!r} must have one axis, or two for counts of many items; got an array of "
            f"shape {array.shape}."
        )
    return array


def _checked(columns: dict[Name, Column]) -> dict[Name, Column]:
    """Return columns, or raise an error if there are none or their lengths differ."""
    if not columns:
        raise errors.DataError("The table has no columns.")
    lengths = {name: length(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise errors.DataError(f"Columns must have the same length; got {lengths}.")
    return columns


def length(column: Column) -> int:
    """Return the number of rows of a column (or of a matrix)."""
    return int(column.shape[0])


def categorical_names(categorical: Any, names: Sequence[Name]) -> set[Name]:
    """Return the names of the columns that the user named as categorical.

    Parameters
    ----------
    categorical : None, "all", or iterable of names
        An integer that is not a column name is the index of a column.

    Raises
    ------
    UnknownVariableError
        For a name that is not a column.
    """
    if categorical is None:
        return set()
    all_names = set(names)
    if isinstance(categorical, str) and categorical == "all":
        return all_names
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise errors.DataTypeError(
            f"categorical= takes 'all' or a list of column names; got {categorical!r}. "
            f"Write [{categorical!r}] for a single column."
        )
    return {column_named(item, names, all_names, "categorical=") for item in categorical}


def column_named(item: Any, names: Sequence[Name], all_names: set[Name], where: str) -> Name:
    """Return the column that a name, or else a position, means.

    `names` are those of all columns, in their order and as a set, which is fast to look up in;
    `where` is what names it, for the error.
    """
    # Of a mask; columns may have the names False and True, as those of pandas.get_dummies do.
    if isinstance(item, (bool, np.bool_)) and not any(isinstance(n, bool) for n in names):
        raise errors.DataTypeError(f"{where} takes names of columns, not truth values; got {item}.")
    if item in all_names:
        return item  # type: ignore[no-any-return]
    if isinstance(item, (int, np.integer)) and 0 <= item < len(names):
        return names[int(item)]
    raise errors.unknown_variable(item, names, where=f"{where}: the table")


def grouped(
    columns: Mapping[Name, Column], groups: Mapping[Name, Sequence[Name]]
) -> dict[Name, Column]:
    """Return columns in which the columns of each vector of counts are joined to one matrix.

    The matrix, of shape (n_rows, n_items), replaces the first of the joined columns; `groups` names
    the columns of each vector.
    """
    # From the first column of each vector to the vector.
    vector_at = {names[0]: vector for vector, names in groups.items()}
    grouped_names = {name for names in groups.values() for name in names}
    joined: dict[Name, Column] = {}
    for name, column in columns.items():
        if name in vector_at:
            vector = vector_at[name]
            counts = [as_numbers(columns[item], item) for item in groups[vector]]
            joined[vector] = np.stack(counts, axis=1)
        elif name not in grouped_names:
            joined[name] = column
    return joined


def infer_variables(
    columns: Mapping[Name, Column],
    categorical: Any = None,
    declared: Mapping[Name, Variable] | None = None,
) -> Table:
    """Return the encoded table of columns whose variables are inferred from the columns' types.

    A column with a variable in `declared` is encoded by this variable; a value that is not one of
    the variable's states is an error. Text, category and boolean columns become discrete; numeric
    columns become continuous unless named in `categorical`, however few distinct values they have.

    Raises
    ------
    DataError, DataTypeError
        For no rows, infinite values, mixed or unusable types.
    """
    names = list(columns)
    n_rows = length(columns[names[0]])
    if n_rows == 0:
        raise errors.DataError(f"The table has no rows (its columns are {errors.quoted(names)}).")
    chosen = categorical_names(categorical, names)
    by_name = declared or {}
    # Pairs of a variable and its encoded column.
    inferred = [
        (by_name[n], encode_column(by_name[n], c, unseen="error"))
        if n in by_name
        else infer_variable(n, c, categorical=n in chosen)
        for n, c in columns.items()
    ]
    variables, encoded = zip(*inferred, strict=True)
    return assembled(variables, encoded, n_rows, fitting=True)


def encode_table(
    columns: Mapping[Name, Column],
    variables: Sequence[Variable],
    *,
    unseen: Unseen = "missing",
    order: Literal["C", "F"] = "F",
) -> Table:
    """Return the encoded table of columns of known variables.

    Columns without a variable are ignored, variables without a column are left out. Indicators of
    missing values are read off the columns that they are of.

    Parameters
    ----------
    unseen : {"warn", "missing", "error"} or UnseenValues
        Whether a value that is not a state becomes missing or an error.
    order : {"F", "C"}
        Of the numbers; see `assembled`.
    """
    check_unseen(unseen)
    by_name = {v.name: v for v in variables}
    n_rows = length(next(iter(columns.values())))
    encoded = {
        n: encode_column(v, columns[n], unseen=unseen) for n, v in by_name.items() if n in columns
    }
    for variable in variables:
        if isinstance(variable, MissingIndicator) and variable.name not in columns:
            name = variable.of
            if name in encoded:
                encoded[variable.name] = _are_missing(encoded[name])
            elif name in columns:
                encoded[variable.name] = missing_cells(columns[name])
    held = [v for v in variables if v.name in encoded]
    return assembled(held, [encoded[v.name] for v in held], n_rows, fitting=False, order=order)


def _are_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries of a column of state codes or numbers are missing."""
    return np.isnan(column) if column.dtype.kind == "f" else column < 0


def assembled(
    variables: Sequence[Variable],
    encoded: Sequence[Any],
    n_rows: int,
    *,
    fitting: bool,
    order: Literal["C", "F"] = "F",
) -> Table:
    """Return the table of the encoded column of each variable; see `checked_table`.

    `order` is that of the numbers: "C" for a block of rows whose moments are summed.
    """
    columns = list(zip(variables, encoded, strict=True))
    discrete = [column for variable, column in columns if isinstance(variable, Discrete)]
    numbers = [column for variable, column in columns if isinstance(variable, Continuous)]
    counts = {v: column for v, column in columns if isinstance(v, CountVector)}
    codes = np.empty((n_rows, len(discrete)), dtype=arranged(variables).code_type, order="F")
    for j, column in enumerate(discrete):
        codes[:, j] = column
    values = np.empty((n_rows, len(numbers)), order=order)
    for j, column in enumerate(numbers):
        values[:, j] = column
    table = checked_table(variables, codes, values, fitting=fitting)
    # Counts are not searched for missing values here, so completeness is unknown.
    return replace(table, complete=table.complete and not counts, counts=counts)


def checked_table(
    variables: Sequence[Variable], codes: Codes, values: Floats, *, fitting: bool
) -> Table:
    """Return a table of codes and values after checking the values.

    Infinite values and negative counts are errors. If `fitting`, magnitudes whose squares overflow
    or underflow are errors too, because variances could not be computed. The table is marked
    complete if no value is missing.
    """
    arrangement = arranged(variables)
    # The order does not matter here: "K" is the one of the memory, which needs no copy.
    numbers = values.ravel(order="K")
    # All of the numbers of a finite sum of squares are finite, and their squares as well.
    squares = np.vdot(numbers, numbers)  # which does not warn of overflow
    is_finite = math.isfinite(squares) or are_finite(values)
    if not is_finite:
        infinities = np.argwhere(np.isinf(values.T))
        if len(infinities):
            column, row = infinities[0].tolist()
            raise infinite(arrangement.continuous[column].name, row)
    for j, variable in arrangement.counted:
        check_counts(values[:, j], variable.name)
    if fitting:
        # Most tables are within the bounds of magnitudes, which takes no look at the extremes of
        # all columns: one of the first rows of each column is large enough to have a variance.
        are_large = (np.abs(values[:_SOME_ROWS]) >= MAGNITUDES[0]).any(axis=0).all()
        if not (are_large and squares < MAGNITUDES[1] ** 2):
            minima, maxima = extremes(values)
            check_magnitudes([v.name for v in arrangement.continuous], np.maximum(-minima, maxima))
    complete = is_finite and (not codes.size or int(codes.min()) >= 0)
    return Table(arrangement, codes, values, complete)


def check_magnitudes(names: Sequence[Name], largest: Floats) -> None:
    """Check that variances of columns can be computed: squares must neither overflow nor underflow.

    Parameters
    ----------
    names : sequence of names
    largest : ndarray, shape (n_columns,)
        The largest magnitude in each column.

    Raises
    ------
    DataError
        For a column whose squares overflow or underflow.
    """
    low, high = MAGNITUDES
    wrong = np.flatnonzero((largest > 0) & ((largest < low) | (largest > high)))
    if len(wrong):
        first = int(wrong[0])
        raise errors.DataError(
            f"The largest magnitude in column {names[first]!r} is {largest[first]:.3g}, whose "
            "square is beyond what a floating-point number holds, so that it has no variance. "
            f"Multiply the column by a constant that brings it between {low:g} and {high:g}."
        )


# ---------------------------------------------------------------------- matrices of one kind


def table_of_numbers(matrix: Floats, variables: Sequence[Variable], *, fitting: bool) -> Table:
    """Return a float matrix as a table of continuous variables, without a copy.

    For `fitting` see `checked_table`.
    """
    codes = np.empty((len(matrix), 0), dtype=np.int8, order="F")
    return checked_table(variables, codes, matrix, fitting=fitting)


# ------------- Encoding of matrices whose columns are states, intervals or numbers, and of objects


# Maximum number of rows of objects that are encoded at once.
_FEW_ROWS = 64
# Bound of magnitudes below which different integers are different floating-point numbers.
_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Numbers:
    """Encoder of matrices of numbers: of states, of intervals, and of numbers themselves.

    Attributes
    ----------
    variables : Arrangement of Discrete, Binned and Continuous
    points : ndarray
        The states or the cut points of all discrete variables, one variable after the other,
        ascending in each.
    codes : ndarray
        The code of each state in `points`; of cut points, numbers that are not used.
    start : ndarray, shape (n_discrete + 1,)
        Offset in `points` at which those of each discrete variable start.
    has_states : ndarray of bool, shape (n_discrete,)
        Which of the discrete variables have states, rather than intervals.
    discrete, numbers : ndarray of int
        Indices of the discrete columns of a matrix, and of the continuous ones. If all are
        discrete, `discrete` is a slice.
    """

    variables: Arrangement
    points: Floats
    codes: Codes
    start: NDArray[np.int64]
    has_states: NDArray[np.bool_]
    discrete: NDArray[np.intp] | slice
    numbers: NDArray[np.intp]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Numbers | None:
        """Return the encoder; None if there are vectors, or states that floats do not tell apart.

        Grouped variables and truth values are such, too.
        """
        arrangement = arranged(variables)
        discrete = arrangement.discrete
        if arrangement.vectors or not all(isinstance(v, Binned) or _differ(v) for v in discrete):
            return None
        lists: list[Any] = [v.cuts if isinstance(v, Binned) else v.states for v in discrete]
        points = [np.array(values, dtype=np.float64) for values in lists]
        # The code of a state is its index in the variable; these are the codes in ascending order.
        orders = [np.argsort(p) for p in points]
        ascending = [p[order] for p, order in zip(points, orders, strict=True)]
        is_discrete = np.array([isinstance(v, Discrete) for v in arrangement], dtype=np.bool_)
        return cls(
            arrangement,
            # An empty list, because there may be no discrete variable.
            np.concatenate([*ascending, []]),
            np.concatenate([*orders, []]).astype(arrangement.code_type),
            np.cumsum([0, *map(len, points)]),
            np.array([not isinstance(v, Binned) for v in discrete], dtype=np.bool_),
            # A slice takes all columns without a copy.
            slice(None) if is_discrete.all() else np.flatnonzero(is_discrete),
            np.flatnonzero(~is_discrete),
        )

    @cached_property
    def _whole_points(self) -> NDArray[np.int64] | None:
        """The points as integers if all are whole: integers are found among them in less time."""
        # Below 2^62 differences of two points fit into 64 bits.
        is_whole = (abs(self.points) < 2.0**62) & (np.floor(self.points) == self.points)
        return self.points.astype(np.int64) if is_whole.all() else None

    def table(self, matrix: NDArray[Any]) -> Table | None:
        """Return the table of a numeric matrix; NaN and values that are not states are missing.

        None for infinity in a discrete column, which is an error when the column is encoded by
        itself.

        Raises
        ------
        DataError
            For an infinite number, or a negative one in a column of counts.
        """
        variables = self.variables
        if len(self.numbers) == len(variables):
            return table_of_numbers(floats(matrix), variables, fitting=False)
        points: Any = self.points
        # Integers are looked up as they are if no column is of numbers, which are floats.
        is_whole = is_plain_integers(matrix) and not len(self.numbers)
        if is_whole and self._whole_points is not None:
            points = self._whole_points
        else:
            matrix = floats(matrix)
        cells = matrix[:, self.discrete].astype(points.dtype, copy=False)
        # A row for each column, so that the columns of the transposed codes are contiguous.
        codes = np.empty((cells.shape[1], len(matrix)), dtype=variables.code_type)
        has_infinity = np.zeros(len(codes), dtype=np.uint8)
        arrays = (cells, points, self.codes, self.start, self.has_states, codes, has_infinity)
        by_rows(encoding_kernels.find_codes, arrays, *cells.shape)
        if has_infinity.any():
            return None
        if not len(self.numbers):
            complete = not codes.size or int(codes.min()) >= 0
            return Table(variables, codes.T, np.empty((len(matrix), 0)), complete)
        values = np.asfortranarray(matrix[:, self.numbers])
        return checked_table(variables, codes.T, values, fitting=False)


@dataclass(frozen=True, eq=False)
class Objects:
    """Encoder of a few rows of objects: of text, truth values, numbers and missing values.

    Of many rows, columns are encoded one by one in no more time.

    Attributes
    ----------
    variables : Arrangement
    kinds : tuple of sets of types
        The types of the states of each discrete variable, and of the values of its groups.
    codes : tuple of dict
        The codes of values that were met, by type and value, for each variable.
    """

    variables: Arrangement
    kinds: tuple[set[type[Any]], ...]
    codes: tuple[dict[tuple[type[Any], Any], int], ...]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Objects:
        """Return the encoder of variables."""
        kinds = (
            {*map(type, values_of(v))} if isinstance(v, Discrete) else set() for v in variables
        )
        return cls(arranged(variables), tuple(kinds), tuple({} for _ in variables))

    def table(self, matrix: NDArray[np.object_]) -> Table | None:
        """Return a matrix as a table; values of the type of states that are none are missing.

        None for many rows, vectors of counts, and values of other types than those of the states.
        """
        if len(matrix) > _FEW_ROWS or self.variables.vectors:
            return None
        columns = zip(self.variables, self.kinds, self.codes, matrix.T.tolist(), strict=True)
        codes: list[Any] = []
        numbers: list[Any] = []
        for variable, kinds, code_of, cells in columns:
            try:
                # The first state, whose code is 0, is looked up again.
                entries = [
                    code_of.get((type(cell), cell)) or _code(variable, kinds, code_of, cell)
                    for cell in cells
                ]
            except TypeError:  # what cannot be hashed
                return None
            if None in entries:
                return None
            (codes if isinstance(variable, Discrete) else numbers).append(entries)
        # Without columns an array would have one axis.
        coded = np.array(codes, dtype=self.variables.code_type).reshape(len(codes), len(matrix))
        values = np.array(numbers, dtype=np.float64).reshape(len(numbers), len(matrix))
        return checked_table(self.variables, coded.T, values.T, fitting=False)


def _code(
    variable: Variable, kinds: set[type[Any]], code_of: dict[tuple[type[Any], Any], int], cell: Any
) -> float | None:
    """Return the code of a cell, or its number; None if the column is to be encoded by itself.

    That is for a value of a type that is none of `kinds`, for what is no number where a number is
    expected, and for numbers from 2**53 on, which floats may round.

    What is missing has the code -1, as what is no state, or the number NaN. The code of a state is
    kept in `code_of`, by the type and the value of the cell.
    """
    # NumPy's narrower floats would be compared with a rounded cut.
    value = plain(cell)
    if is_missing(value):
        return -1 if isinstance(variable, Discrete) else np.nan
    if isinstance(variable, Discrete) and not isinstance(variable, Binned):
        if type(value) not in kinds:
            return None
        code = variable.find(value)
        if code is not None:
            code_of[type(cell), cell] = code
        return -1 if code is None else code
    if type(value) not in (float, int) or abs(value) >= _EXACT:
        return None
    return bisect_left(variable.cuts, value) if isinstance(variable, Binned) else value


def _differ(variable: Discrete) -> bool:
    """Return whether the states of a variable are numbers, exact and distinct as floats."""
    states: Sequence[Any] = variable.states
    return (
        type(variable) is Discrete
        and all(type(s) in (int, float) and abs(s) < _EXACT for s in states)
        and len(set(states)) == len(states)
    )


# ----------- Encoder of matrices whose columns are known variables; one encoder serves all batches


@dataclass(frozen=True, eq=False)
class Encoder:
    """Encodes matrices whose columns are known variables; caches its look-up tables.

    Attributes
    ----------
    variables : tuple of Variable
        Those of the columns of the matrix, in their order, and indicators of missing values.
    """

    variables: tuple[Variable, ...]

    @cached_property
    def _columns(self) -> tuple[Variable, ...]:
        """The variables that have columns."""
        return tuple(v for v in self.variables if not isinstance(v, MissingIndicator))

    def table(self, matrix: NDArray[Any], unseen: Unseen) -> Table | None:
        """Encode all columns of a matrix at once.

        The result is None if the columns have to be encoded one by one: if the variables are of
        kinds that no encoder takes together, if the matrix holds objects other than text and
        numbers, or if there are missing or unknown values and `unseen` is "error".

        Parameters
        ----------
        matrix : ndarray, shape (n_rows, n_columns)
        unseen : {"warn", "missing", "error"} or UnseenValues
            Whether a value that is not a state becomes missing or an error.
        """
        encoder: Numbers | Objects | None = None
        if matrix.dtype.kind in "iuf":
            encoder = self._numbers
        elif matrix.dtype.kind in "OU" and not np.ma.isMaskedArray(matrix):
            encoder = self._objects
        table = None if encoder is None else encoder.table(matrix)
        if table is None:
            return None
        # A code of -1 is a missing value, or a value that is no state; a number may be missing.
        if not table.complete and unseen != "missing" and (table.codes < 0).any():
            if unseen == "error":
                return None
            # The text "warn" is for a single row, of which `of_rows` collects nothing.
            if isinstance(unseen, UnseenValues):
                cells_without_state(table, matrix, unseen)
        return table.indicated(self.variables)

    @cached_property
    def _numbers(self) -> Numbers | None:
        """The encoder of matrices of numbers, None if it does not take these variables."""
        return Numbers.of(self._columns)

    @cached_property
    def _objects(self) -> Objects:
        """The encoder of matrices of objects."""
        return Objects.of(self._columns)


# ------------------------------------- Conversion of encoded columns to data frames of any library


FRAMES = ("pandas", "polars", "pyarrow", "dict")


def frame_kind(data: Any) -> str | None:
    """Return the kind of a table, which is one of `FRAMES`, or None for other tables."""
    if isinstance(data, Mapping):
        return "dict"
    frame = as_frame(data)
    if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        return None
    name = str(frame.implementation.value)
    return name if name in FRAMES else None


def to_frame(
    variables: Sequence[Variable], codes: Mapping[Variable, NDArray[Any]], kind: str | None = None
) -> Any:
    """Return encoded columns as a table of states and numbers.

    Parameters
    ----------
    variables : sequence of Variable
        The columns, in their order.
    codes : mapping from Variable to ndarray
        State codes, numbers or counts.
    kind : {"pandas", "polars", "pyarrow", "dict"}, optional
        By default the first of these libraries that is installed. A vector of counts is one matrix
        in a dict, and one column for each item in a frame.

    Raises
    ------
    DataError
        For another kind, or two columns of the same name.
    DataTypeError
        For names, or states of several types, that a frame of that kind cannot hold.
    MissingDependencyError
        If the library is not installed.
    """
    if kind is not None and kind not in FRAMES:
        raise errors.DataError(f"frame= is one of {errors.quoted(FRAMES)} or None; got {kind!r}.")
    if kind is None:
        kind = next(k for k in FRAMES if k == "dict" or importlib.util.find_spec(k) is not None)
    if kind == "dict":
        return {v.name: decode(v, codes[v]) for v in variables}
    columns: dict[Name, NDArray[Any]] = {}
    for v in variables:
        names: Sequence[Name] = [v.name]
        parts: Any = [decode(v, codes[v])]
        if isinstance(v, CountVector):
            counts: Any = codes[v]
            names, parts = v.items, (counts.toarray() if is_sparse(counts) else counts).T
        for name, column in zip(names, parts, strict=True):
            if name in columns:
                raise errors.DataError(
                    f"Two columns of a frame would be called {name!r}; use frame='dict'."
                )
            columns[name] = column
    try:
        return nw.from_dict(columns, backend=kind).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise errors.MissingDependencyError(
            f"frame={kind!r} needs the package {kind!r}, which is not installed. Install it with: "
            f"pip install {kind}"
        ) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.DataTypeError(
            f"A {kind} frame does not hold these names or states ({error}). Use "
            "frame='pandas' or frame='dict'."
        ) from error


# --------- What a model was fitted on: numbers of rows and missing values, settings; never a value


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model was fitted on, as numbers; those of several parts are added by ``+``.

    Parameters
    ----------
    n_rows : int
        Number of rows; classifiers leave out those of weight zero.
    missing : mapping from name to int, optional
        Number of missing values in each column that has any. Of a vector of counts, those of all
        its items together.
    weight : float, optional
        Sum of the weights of the rows; None if they have none.

    Raises
    ------
    ModelError
        If a number is negative, infinite, or none.
    """

    n_rows: int
    missing: Mapping[Any, int] = field(default_factory=dict)
    weight: float | None = None

    def __post_init__(self) -> None:
        for what, number in (("rows", self.n_rows), *self.missing.items()):
            if type(number) is not int or number < 0:
                raise ModelError(f"A number of {what!r:.80} is 0 or more; got {number!r:.80}.")
        if self.weight is not None and not (
            type(self.weight) is float and math.isfinite(self.weight) and self.weight >= 0
        ):
            raise ModelError(f"The weight of rows is a finite number; got {self.weight!r:.80}.")
        positive = {name: number for name, number in self.missing.items() if number}
        object.__setattr__(self, "missing", positive)

    @property
    def total(self) -> float:
        """The sum of the weights of the rows."""
        return float(self.n_rows) if self.weight is None else self.weight

    def __add__(self, other: TrainingRows) -> TrainingRows:
        return self._joined(other, 1)

    def __sub__(self, other: TrainingRows) -> TrainingRows:
        return self._joined(other, -1)

    def ordered(self, names: Iterable[Name]) -> TrainingRows:
        """Return the numbers of some columns, in their order."""
        missing = {name: self.missing[name] for name in names if name in self.missing}
        return TrainingRows(self.n_rows, missing, self.weight)

    def _joined(self, other: TrainingRows, sign: int) -> TrainingRows:
        """Return the numbers with those of other rows added (sign 1) or subtracted (sign -1)."""
        names = dict.fromkeys((*self.missing, *other.missing))
        missing = {n: self.missing.get(n, 0) + sign * other.missing.get(n, 0) for n in names}
        n_rows = self.n_rows + sign * other.n_rows
        is_weighted = self.weight is not None or other.weight is not None
        # Rounding may leave a difference just below zero.
        weight = max(self.total + sign * other.total, 0.0) if is_weighted else None
        return TrainingRows(n_rows, missing, weight)


@dataclass(frozen=True)
class Training:
    """How a model was fitted, and on what; the attribute `training` of models that were.

    Parameters
    ----------
    method : str
        The class of the estimator, or the method of networks.
    n_columns : int
        Number of columns, that of the class included.
    rows : TrainingRows, optional
        None if the model was made of statistics that do not say how many rows are behind them.
    settings : mapping from str to str, optional
        Parameters that are not as by default, and their values as text.
    version : str, optional
        That of bayesgraph.
    history : EMHistory, optional
        The course of EM, of a network that it estimated; files have none.

    Raises
    ------
    ModelError
        If a text or a number is none.
    """

    method: str
    n_columns: int
    rows: TrainingRows | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__
    history: EMHistory | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        texts = (self.method, self.version, *self.settings, *self.settings.values())
        if not all(type(text) is str for text in texts):
            raise ModelError(f"Settings and methods are text; got {texts!r:.200}.")
        if type(self.n_columns) is not int or self.n_columns < 0:
            raise ModelError(f"n_columns is 0 or more; got {self.n_columns!r:.80}.")

    @property
    def missing(self) -> Mapping[Name, int]:
        """Number of missing values in each column that has any."""
        return {} if self.rows is None else self.rows.missing


@dataclass(frozen=True)
class EMHistory:
    """Objective and log likelihood in the course of EM.

    Attributes
    ----------
    objective : tuple of float
        Log posterior of the parameters up to a constant, in nats: the initial value, and the value
        after each iteration, of the restart with the highest final objective. The values never
        fall, except in the case that `bayesgraph.learning.em.expectation_maximization` describes.
    log_likelihood : float
        Log likelihood of the rows under the network returned.
    converged : bool
        Whether the last iteration gained less than the tolerance.
    restarts : tuple of float
        Final objective of each restart; the first one with the highest objective was kept.
    """

    objective: tuple[float, ...]
    log_likelihood: float
    converged: bool
    restarts: tuple[float, ...]

    @property
    def n_iter(self) -> int:
        """Number of iterations of the restart with the highest final objective."""
        return len(self.objective) - 1

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return (
            f"EMHistory: {self.n_iter} iterations, {end}, log likelihood "
            f"{rounded(self.log_likelihood, 6)}, best of {len(self.restarts)}"
        )
