"""Encoded tables: one array of state codes, one of numbers, and matrices of item counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.checks import is_sparse
from bayesgraph.encoding import kernels
from bayesgraph.encoding.columns import (
    Codes,
    Column,
    encode_column,
    infer_variable,
    infinite,
    missing_cells,
    without_duplicates,
)
from bayesgraph.encoding.lazy import check_not_distributed, collected
from bayesgraph.encoding.unseen import Unseen, check_unseen
from bayesgraph.errors import (
    DataError,
    DataTypeError,
    quoted,
    unknown_variable,
)
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.columns import Arrangement, arranged
from bayesgraph.variables import (
    Continuous,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    Variable,
)

# Range of magnitudes for which squares and their sums over many rows do not over- or underflow.
MAGNITUDES = (1e-140, 1e140)


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
    """

    variables: tuple[Variable, ...]
    codes: Codes
    values: Floats
    complete: bool = False
    counts: Mapping[CountVector, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", arranged(self.variables))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @property
    def arrangement(self) -> Arrangement:
        """Where the columns are."""
        return arranged(self.variables)

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
        found: dict[Variable, int] = {}
        for v in self.discrete:
            found[v] = int(np.count_nonzero(self.column(v) < 0))
        # Most tables have all of their numbers, which their sum tells the fastest.
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.values.sum()
        if np.isnan(total):
            gone = np.isnan(self.values).sum(axis=0).tolist()
            found |= dict(zip(self.continuous, gone, strict=True))
        for vector, counts in self.counts.items():
            numbers = counts.data if is_sparse(counts) else counts
            found[vector] = int(np.count_nonzero(np.isnan(numbers)))
        return {v.name: found[v] for v in self.variables if found.get(v)}

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
        rest = tuple(v for v in self.variables if v != variable)
        codes = np.asfortranarray(np.delete(self.codes, place, axis=1))
        return Table(rest, codes, self.values, self.complete, self.counts)

    def with_column(self, variable: Discrete, codes: Codes) -> Table:
        """Return the table with one more discrete column, given by its codes, at the end."""
        return self._with_columns([variable], [codes])

    def indicated(self, variables: Iterable[Variable]) -> Table:
        """Return the table with the indicators among `variables` of columns that it has."""
        wanted = [v for v in variables if isinstance(v, MissingIndicator)]
        if not wanted:
            return self
        own = {v.name: v for v in self.variables if not isinstance(v, CountVector)}
        found = [v for v in wanted if v.of in own and v.name not in own]
        return self._with_columns(found, [self.is_missing(own[v.of]) for v in found])

    def _with_columns(self, variables: Sequence[Discrete], columns: Sequence[Any]) -> Table:
        dtype = np.promote_types(self.codes.dtype, arranged(variables).code_type)
        n_before = self.codes.shape[1]
        extended = np.empty((self.n_rows, n_before + len(columns)), dtype=dtype, order="F")
        extended[:, :n_before] = self.codes
        complete = self.complete
        for j, column in enumerate(columns):
            extended[:, n_before + j] = column
            complete = complete and int(np.min(column, initial=0)) >= 0
        return Table((*self.variables, *variables), extended, self.values, complete, self.counts)


def as_frame(data: Any) -> Any:
    """Wrap a data frame of any library as a narwhals frame; return other data unchanged.

    Raises
    ------
    DataError
        For a column name given twice.
    DataTypeError
        For a frame of Dask or Spark.
    """
    if isinstance(data, np.ndarray):  # most often, and narwhals looks for long before it says so
        return data
    check_not_distributed(data)
    try:
        return nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"Column names must differ. {error}.") from error


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
        raise DataTypeError("Sparse matrices are not supported here; pass data.toarray().")
    if isinstance(data, Mapping):
        return _checked({name: _array(name, column) for name, column in data.items()})
    frame = as_frame(data)
    if isinstance(frame, nw.LazyFrame):
        frame = collected(frame)
    if isinstance(frame, nw.DataFrame):
        if len(set(frame.columns)) < len(frame.columns):
            raise DataError(f"Column names must differ; got {quoted(frame.columns)}.")
        return _checked({series.name: series for series in frame.iter_columns()})
    array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 2:
        raise DataTypeError(
            "Expected a data frame, a mapping from name to column, or a 2-D array; got "
            f"{type(data).__name__} of dimension {array.ndim}."
        )
    if names is None:
        names = array_names(array.shape[1])
    return _checked({name: array[:, j] for j, name in enumerate(names)})


def _array(name: Name, column: Any) -> Column:
    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    if isinstance(column, (list, tuple)):
        return _array_of_list(column)
    if is_sparse(column):
        return without_duplicates(column)  # type: ignore[no-any-return]
    array = column if isinstance(column, np.ma.MaskedArray) else np.asarray(column)
    if array.ndim not in (1, 2):
        raise DataTypeError(
            f"Column {name!r} must have one axis, or two for counts of many items; got an array of "
            f"shape {array.shape}."
        )
    return array


def _array_of_list(values: Sequence[Any]) -> NDArray[Any]:
    """Return a list of Python values as an array that keeps their types.

    NumPy alone turns ["a", 1] into text, [True, 2] into integers and large integers into floats.
    """
    types = {type(value) for value in values}
    if len(types) == 1 and issubclass(kind := types.pop(), (int, float, str, np.generic)):
        array = np.asarray(values)
        if array.dtype.kind != "f" or not issubclass(kind, int):
            return array
    objects = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        objects[row] = value
    return objects


def _checked(columns: dict[Name, Column]) -> dict[Name, Column]:
    if not columns:
        raise DataError("The table has no columns.")
    lengths = {name: length(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"Columns must have the same length; got {lengths}.")
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
    known = set(names)
    if isinstance(categorical, str) and categorical == "all":
        return known
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise DataTypeError(
            f"categorical= takes 'all' or a list of column names; got {categorical!r}. "
            f"Write [{categorical!r}] for a single column."
        )
    chosen = set()
    for item in categorical:
        if item in known:
            chosen.add(item)
        elif isinstance(item, (int, np.integer)) and 0 <= item < len(names):
            chosen.add(names[int(item)])
        else:
            raise unknown_variable(item, names, where="categorical=: the table")
    return chosen


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
        raise DataError(f"The table has no rows (its columns are {quoted(names)}).")
    chosen = categorical_names(categorical, names)
    known = declared or {}
    found = [
        (known[n], encode_column(known[n], c, unseen="error"))
        if n in known
        else infer_variable(n, c, categorical=n in chosen)
        for n, c in columns.items()
    ]
    variables, encoded = zip(*found, strict=True)
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
    known = {v.name: v for v in variables}
    n_rows = length(next(iter(columns.values())))
    encoded = {
        n: encode_column(v, columns[n], unseen=unseen) for n, v in known.items() if n in columns
    }
    for variable in variables:
        if isinstance(variable, MissingIndicator) and variable.name not in columns:
            own = variable.of
            if own in encoded:
                encoded[variable.name] = _are_missing(encoded[own])
            elif own in columns:
                encoded[variable.name] = missing_cells(columns[own])
    there = [v for v in variables if v.name in encoded]
    return assembled(there, [encoded[v.name] for v in there], n_rows, fitting=False, order=order)


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
    discrete = [a for v, a in zip(variables, encoded, strict=True) if isinstance(v, Discrete)]
    numbers = [a for v, a in zip(variables, encoded, strict=True) if isinstance(v, Continuous)]
    counts = {v: a for v, a in zip(variables, encoded, strict=True) if isinstance(v, CountVector)}
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
    if fitting:
        largest, n_missing = kernels.scan(values)
        missing, infinity = int(n_missing.sum()), largest.max(initial=0.0) == np.inf
    else:
        missing = infinity = 0
        if not kernels.are_finite(flat := values.ravel(order="K")):
            _, infinity, missing = kernels.count_invalid(flat)
    if infinity:
        wrong = np.argwhere(np.isinf(values.T))
        raise infinite(arrangement.continuous[wrong[0, 0]].name, int(wrong[0, 1]))
    for j, variable in arrangement.counted:
        if (values[:, j] < 0).any():
            raise DataError(
                f"Column {variable.name!r} holds counts, 0 or more; the minimum is "
                f"{np.nanmin(values[:, j]):g}. (Negative values in data passed to a model of "
                "counts.)"
            )
    if fitting:
        check_magnitudes([v.name for v in arrangement.continuous], largest)
    complete = not missing and (not codes.size or int(codes.min()) >= 0)
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
    for j in np.flatnonzero((largest > 0) & ((largest < low) | (largest > high))).tolist():
        raise DataError(
            f"The largest magnitude in column {names[j]!r} is {largest[j]:.3g}, whose square is "
            "beyond what a floating-point number holds, so that it has no variance. Multiply the "
            f"column by a constant that brings it between {low:g} and {high:g}."
        )


# ---------------------------------------------------------------------- matrices of one kind


def table_of_numbers(matrix: Floats, variables: Sequence[Variable], *, fitting: bool) -> Table:
    """Return a float matrix as a table of continuous variables, without a copy.

    For `fitting` see `checked_table`.
    """
    codes = np.empty((len(matrix), 0), dtype=np.int8, order="F")
    return checked_table(variables, codes, matrix, fitting=fitting)


def table_of_codes(variables: Sequence[Variable], codes: Codes) -> Table:
    """Return state codes as a table of discrete variables, without a copy."""
    complete = not codes.size or int(codes.min()) >= 0
    return Table(arranged(variables), codes, np.empty((len(codes), 0)), complete)
