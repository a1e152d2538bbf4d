"""Encoder of matrices whose columns are known variables; one encoder serves all batches."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.evidence import Arrangement, arranged
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Grouped,
    MissingIndicator,
    Name,
    State,
    Variable,
    is_missing,
    plain,
)
from bayesgraph.tables import encoding_kernels
from bayesgraph.tables.columns import Codes, Unseen, UnseenValues, cells_without_state, infinite
from bayesgraph.tables.table import Table, checked_table, table_of_codes, table_of_numbers

# ------------- Encoding of matrices whose columns are states, intervals or numbers, and of objects


# Maximum number of entries of all look-up tables together.
_LOOKUP_CELLS = 1 << 22
# Bound of magnitudes below which different integers are different floating-point numbers.
_EXACT = 2**53


def table_of_integers(matrix: NDArray[np.int64], names: Sequence[Name]) -> Table | None:
    """Return an integer matrix as a table of discrete variables named `names`.

    The result is None if the range of a column is too wide for a look-up table.
    """
    low = np.empty(matrix.shape[1], dtype=np.int64)
    high = np.empty_like(low)
    encoding_kernels.column_ranges(matrix, low, high)
    # Unsigned, because the difference of two signed 64-bit integers may overflow.
    widths = high.view(np.uint64) - low.view(np.uint64) + np.uint64(1)
    if not ((widths > 0) & (widths <= _LOOKUP_CELLS)).all() or widths.sum() > _LOOKUP_CELLS:
        return None
    start = np.concatenate([[0], np.cumsum(widths.astype(np.int64))])
    present = np.zeros(start[-1], dtype=np.uint8)
    encoding_kernels.mark_present(matrix, low, start, present)
    variables = tuple(
        Discrete(name, (np.flatnonzero(present[a:b]) + first).tolist())
        for name, first, a, b in zip(names, low, start[:-1], start[1:], strict=True)
    )
    states = WholeStates.of(variables)
    return None if states is None else states.table(matrix)


@dataclass(frozen=True, eq=False)
class WholeStates:
    """Encoder of variables whose states are integers in a narrow range, by look-up tables.

    Attributes
    ----------
    variables : Arrangement of Discrete
    low : ndarray, shape (n_variables,)
        The lowest state of each variable.
    start : ndarray, shape (n_variables + 1,)
        Offset in `codes` at which the table of each variable starts.
    codes : ndarray
        All look-up tables, one after the other; -1 for integers that are no states.
    """

    variables: Arrangement
    low: NDArray[np.int64]
    start: NDArray[np.int64]
    codes: Codes

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> WholeStates | None:
        """Return the encoder, or None unless all states are integers in narrow ranges."""
        discrete = _listed(variables, int)
        if not discrete:
            return None
        states = [np.array(v.states) for v in discrete.discrete]
        if any(s.dtype.kind != "i" for s in states):
            return None  # beyond 64 bits
        low = np.array([s.min() for s in states], dtype=np.int64)
        widths = np.array([int(s.max()) - int(s.min()) + 1 for s in states])
        if widths.max() > _LOOKUP_CELLS or widths.sum() > _LOOKUP_CELLS:
            return None
        start = np.concatenate([[0], np.cumsum(widths)])
        codes = np.full(start[-1], -1, dtype=discrete.code_type)
        for s, first, at in zip(states, low, start, strict=False):
            codes[at + s - first] = np.arange(len(s))
        return cls(discrete, low, start, codes)

    def table(self, matrix: NDArray[np.int64]) -> Table:
        """Return an integer matrix as a table; values that are not states are missing."""
        out = np.empty((len(self.variables), len(matrix)), dtype=self.codes.dtype)
        arrays = (matrix, self.low, self.start, self.codes, out)
        by_rows(encoding_kernels.look_up, arrays, *matrix.shape)
        return table_of_codes(self.variables, out.T)


@dataclass(frozen=True, eq=False)
class NumberStates:
    """Encoder of variables whose states are numbers, by bisection.

    Attributes
    ----------
    variables : Arrangement of Discrete
    states : ndarray
        The states of all variables, one variable after the other, ascending in each.
    codes : ndarray
        The code of each entry of `states`.
    start : ndarray, shape (n_variables + 1,)
        Offset in `states` at which the states of each variable start.
    """

    variables: Arrangement
    states: Floats
    codes: Codes
    start: NDArray[np.int64]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> NumberStates | None:
        """Return the encoder, or None unless all states are numbers that differ as floats."""
        discrete = _listed(variables, int, float)
        if not discrete or not all(map(_differ, discrete.discrete)):
            return None
        states = [np.array(v.states, dtype=np.float64) for v in discrete.discrete]
        codes = np.concatenate([np.argsort(s) for s in states]).astype(discrete.code_type)
        start = np.concatenate([[0], np.cumsum([len(s) for s in states])])
        return cls(discrete, np.concatenate([np.sort(s) for s in states]), codes, start)

    def table(self, matrix: Floats) -> Table | None:
        """Return a float matrix as a table, or None if it has infinite values.

        NaN and values that are not states are missing.
        """
        out = np.empty((len(self.variables), len(matrix)), dtype=self.codes.dtype)
        infinite = np.zeros(1, dtype=np.uint8)
        arrays = (matrix, self.states, self.codes, self.start, out, infinite)
        by_rows(encoding_kernels.find_states, arrays, *matrix.shape)
        return None if infinite[0] else table_of_codes(self.variables, out.T)


@dataclass(frozen=True, eq=False)
class ObjectColumns:
    """Encoder of columns of objects: states by dictionaries, intervals by bisection, and numbers.

    Attributes
    ----------
    variables : Arrangement
    known : tuple, one entry for each variable
        The states, or the cuts of intervals; None for numbers.
    """

    variables: Arrangement
    known: tuple[States | tuple[float, ...] | None, ...]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> ObjectColumns | None:
        """Return the encoder; None if states are of several types, or there are count vectors."""
        known: list[States | tuple[float, ...] | None] = []
        for v in variables:
            if isinstance(v, CountVector):
                return None
            if isinstance(v, Binned):
                known.append(v.cuts)
            elif isinstance(v, Discrete):
                states = States.of(v)
                if states is None:
                    return None
                known.append(states)
            else:
                known.append(None)
        return cls(arranged(variables), tuple(known))

    def table(self, matrix: NDArray[np.object_]) -> Table | None:
        """Return a matrix of text, truth values, numbers and missing values as a table.

        Values of the type of a column's states that are no states are missing. None if there are
        values of other types than those of the column's states.
        """
        codes: list[Any] = []
        numbers: list[Any] = []
        found: list[Any]
        for known, cells in zip(self.known, matrix.T.tolist(), strict=True):
            if known is None:
                found = _numbers(cells)
                numbers.append(found)
            else:
                found = (
                    _codes(known, cells) if isinstance(known, States) else _intervals(known, cells)
                )
                codes.append(found)
            if None in found:
                return None
        n, variables = len(matrix), self.variables
        coded = np.array(codes, dtype=variables.code_type).reshape(len(codes), n)
        values = np.array(numbers, dtype=np.float64).reshape(len(numbers), n)
        return checked_table(variables, coded.T, values.T, fitting=False)


class States(NamedTuple):
    """The codes of the states of a variable, or of the values of its groups.

    Attributes
    ----------
    kind : type
        The type of all values: str, int or bool.
    codes : mapping from value to code
    unknown : int
        The code of other values of the type.
    """

    kind: type[Any]
    codes: Mapping[State, int]
    unknown: int

    @classmethod
    def of(cls, variable: Discrete) -> States | None:
        """Return the codes, or None if the values are not all of one of the types."""
        values: list[State] = list(variable.states)
        unknown = -1
        if isinstance(variable, Grouped):
            values += variable.values
            unknown = len(variable.groups) - 1 if variable.others else -1
        kinds = {type(value) for value in values}
        if len(kinds) > 1 or not kinds <= {str, int, bool}:
            return None
        codes = {value: variable.find(value) for value in values}
        return cls(kinds.pop(), {v: c for v, c in codes.items() if c is not None}, unknown)


def _codes(known: States, cells: list[Any]) -> list[int | None]:
    """Return the codes of values and missing values, None for anything else."""
    kind, codes, unknown = known

    def of_other(cell: object) -> int | None:
        if is_missing(cell):
            return -1
        value = plain(cell)
        return codes.get(value, unknown) if type(value) is kind else None

    return [codes.get(c, unknown) if type(c) is kind else of_other(c) for c in cells]


def _intervals(cuts: Any, cells: list[Any]) -> list[int | None]:
    """Return the intervals of finite numbers and missing values, None for anything else."""

    def of_other(cell: object) -> int | None:
        # A narrower float would be compared with a rounded cut.
        value = plain(cell)
        if type(value) in (float, int) and abs(value) < _EXACT:
            return bisect_left(cuts, value)
        return -1 if is_missing(value) else None

    return [
        bisect_left(cuts, c) if type(c) is float and abs(c) < _EXACT else of_other(c) for c in cells
    ]


def _numbers(cells: list[Any]) -> list[float | None]:
    """Return numbers, NaN where missing, None for anything else."""

    def of_other(cell: object) -> float | None:
        value = plain(cell)
        if type(value) is float or (type(value) is int and abs(value) < _EXACT):
            return value
        return np.nan if is_missing(value) else None

    return [c if type(c) is float else of_other(c) for c in cells]


def _listed(variables: Sequence[Variable], *types: type[Any]) -> Arrangement:
    """Return the variables if each is a plain `Discrete` with states of the given types.

    Binned and Grouped, which are subclasses, are not plain. Otherwise there are none.
    """
    found = arranged(variables)
    known = all(type(v) is Discrete and all(type(s) in types for s in v.states) for v in found)
    return found if known else arranged(())


def _differ(variable: Discrete) -> bool:
    """Return whether the numeric states of a variable are exact and distinct as floats."""
    near = all(abs(s) < _EXACT for s in variable.states)  # type: ignore[arg-type]
    return near and len(set(variable.states)) == len(variable.states)


# ------------------------------- Encoding of numbers as indices of the intervals that contain them


@dataclass(frozen=True, eq=False)
class Intervals:
    """Encoder of binned variables, with the cut points of all variables in one array.

    Attributes
    ----------
    variables : Arrangement of Binned
    cuts : ndarray
        The cut points of all variables, one variable after the other.
    start : ndarray, shape (n_variables + 1,)
        Offset in `cuts` at which the cut points of each variable start.
    """

    variables: Arrangement
    cuts: Floats
    start: NDArray[np.int64]

    @classmethod
    def of(cls, variables: Sequence[Binned]) -> Intervals:
        """Return the encoder of the given variables."""
        cuts = [np.array(v.cuts, dtype=np.float64) for v in variables]
        start = np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64)
        return cls(arranged(variables), np.concatenate([*cuts, []]), start)

    def codes(self, matrix: Floats) -> Codes:
        """Return the index of the interval of each number, -1 for NaN.

        Parameters
        ----------
        matrix : ndarray, shape (n_rows, n_variables)
            Numbers, in C or Fortran order.

        Returns
        -------
        ndarray of signed integers, shape (n_rows, n_variables)
            Columns are contiguous.

        Raises
        ------
        DataError
            For an infinite number.
        """
        out = np.empty((len(self.variables), len(matrix)), dtype=self.variables.code_type)
        flagged = np.zeros(len(self.variables), dtype=np.uint8)
        arrays = (matrix, self.cuts, self.start, out, flagged)
        by_rows(encoding_kernels.find_intervals, arrays, *matrix.shape)
        for j in np.flatnonzero(flagged).tolist():
            row = int(np.flatnonzero(np.isinf(matrix[:, j]))[0])
            raise infinite(self.variables[j].name, row)
        return out.T


@dataclass(frozen=True, eq=False)
class Numbers:
    """Encoder of matrices of numbers, of which some columns may be binned.

    Attributes
    ----------
    variables : Arrangement of Binned and Continuous
    intervals : Intervals
        The encoder of the binned columns.
    binned, numbers : ndarray of int
        Places of the binned columns, and of the others; all binned ones are a slice.
    """

    variables: Arrangement
    intervals: Intervals
    binned: NDArray[np.intp] | slice
    numbers: NDArray[np.intp]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Numbers | None:
        """Return the encoder, or None if there are other variables."""
        binned = [j for j, v in enumerate(variables) if isinstance(v, Binned)]
        numbers = [j for j, v in enumerate(variables) if isinstance(v, Continuous)]
        if len(binned) + len(numbers) < len(variables):
            return None
        intervals = Intervals.of([v for v in variables if isinstance(v, Binned)])
        # A slice takes all columns without a copy.
        places = np.array(binned, dtype=np.intp) if numbers else slice(None)
        return cls(arranged(variables), intervals, places, np.array(numbers, dtype=np.intp))

    def table(self, matrix: Floats) -> Table:
        """Return the table of a float matrix.

        Raises
        ------
        DataError
            For an infinite number, or a negative one in a column of counts.
        """
        if not self.intervals.variables:
            return table_of_numbers(matrix, self.variables, fitting=False)
        codes = self.intervals.codes(matrix[:, self.binned])
        values = np.asfortranarray(matrix[:, self.numbers])
        return checked_table(self.variables, codes, values, fitting=False)


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
        found = self._table(matrix, unseen)
        if found is None or len(self._columns) == len(self.variables):
            return found
        return found.indicated(self.variables)

    def _table(self, matrix: NDArray[Any], unseen: Unseen) -> Table | None:
        kind = matrix.dtype.kind
        if kind in "iuf" and self._numbers is not None:
            return self._numbers.table(floats(matrix))
        found = self._table_of_states(matrix)
        if found is None or found.complete or unseen == "missing":
            return found
        # A code of -1 is a missing value, or a value that is no state; a number may be missing.
        if not (found.codes < 0).any():
            return found
        if isinstance(unseen, UnseenValues):
            cells_without_state(found, matrix, unseen)
        return None if unseen == "error" else found

    def unchecked_numbers(self, matrix: NDArray[Any]) -> Floats | None:
        """Return a matrix of numbers as floats, which may be missing or infinite.

        The result is None if its columns are not all real numbers, as text or counts are not.
        """
        numbers = self._numbers
        if matrix.dtype.kind not in "iuf" or numbers is None:
            return None
        others = numbers.intervals.variables or numbers.variables.counted
        return None if others else floats(matrix)

    def _table_of_states(self, matrix: NDArray[Any]) -> Table | None:
        kind = matrix.dtype.kind
        if kind in "OU":
            objects = None if np.ma.isMaskedArray(matrix) else self._object_columns
            return None if objects is None else objects.table(matrix)
        if is_plain_integers(matrix) and self._whole_states is not None:
            return self._whole_states.table(matrix.astype(np.int64, copy=False))
        if kind in "iuf" and self._number_states is not None:
            return self._number_states.table(floats(matrix))
        return None

    @cached_property
    def _numbers(self) -> Numbers | None:
        return Numbers.of(self._columns)

    @cached_property
    def _whole_states(self) -> WholeStates | None:
        return WholeStates.of(self._columns)

    @cached_property
    def _number_states(self) -> NumberStates | None:
        return NumberStates.of(self._columns)

    @cached_property
    def _object_columns(self) -> ObjectColumns | None:
        return ObjectColumns.of(self._columns)


def floats(matrix: NDArray[Any]) -> Floats:
    """Return a numeric array as floats, NaN where it is masked."""
    if type(matrix) is np.ndarray and matrix.dtype == np.float64:
        return matrix
    numbers = matrix.astype(np.float64, copy=False)
    return np.asarray(np.ma.filled(numbers, np.nan))


def is_plain_integers(matrix: NDArray[Any]) -> bool:
    """Return whether an array is not masked and has integers that fit into 64 signed bits."""
    kind = matrix.dtype.kind
    return kind in "iu" and np.can_cast(matrix.dtype, np.int64) and not np.ma.isMaskedArray(matrix)
