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
    states = Numbers.of(variables)
    return None if states is None else states.table(matrix)


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
        The code of each state in `points`; of intervals, any numbers.
    start : ndarray, shape (n_discrete + 1,)
        Offset in `points` at which those of each discrete variable start.
    has_states : ndarray of bool, shape (n_discrete,)
        Which of the discrete variables have states, rather than intervals.
    discrete, numbers : ndarray of int
        Places of the discrete columns, and of the others; all discrete ones are a slice.
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
        found = arranged(variables)
        if found.vectors or not all(isinstance(v, Binned) or _differ(v) for v in found.discrete):
            return None
        points: list[Any] = [v.cuts if isinstance(v, Binned) else v.states for v in found.discrete]
        floats = [np.array(p, dtype=np.float64) for p in points]
        orders = [np.argsort(p) for p in floats]
        discrete = np.array([isinstance(v, Discrete) for v in found], dtype=np.bool_)
        return cls(
            found,
            np.concatenate([*(p[order] for p, order in zip(floats, orders, strict=True)), []]),
            np.concatenate([*orders, []]).astype(found.code_type),
            np.cumsum([0, *map(len, points)]),
            np.array([not isinstance(v, Binned) for v in found.discrete], dtype=np.bool_),
            # A slice takes all columns without a copy.
            slice(None) if discrete.all() else np.flatnonzero(discrete),
            np.flatnonzero(~discrete),
        )

    def table(self, matrix: NDArray[Any]) -> Table:
        """Return the table of a numeric matrix; NaN and values that are not states are missing.

        Raises
        ------
        DataError
            For an infinite number, or a negative one in a column of counts.
        """
        variables = self.variables
        if len(self.numbers) == len(variables):
            return table_of_numbers(floats(matrix), variables, fitting=False)
        if len(self.numbers) or not is_plain_integers(matrix):
            matrix = floats(matrix)
        chosen = matrix[:, self.discrete]
        if chosen.dtype.kind in "iu":
            chosen = chosen.astype(np.int64, copy=False)
        out = np.empty((chosen.shape[1], len(matrix)), dtype=variables.code_type)
        flagged = np.zeros(len(out), dtype=np.uint8)
        arrays = (chosen, self.points, self.codes, self.start, self.has_states, out, flagged)
        by_rows(encoding_kernels.find_codes, arrays, *chosen.shape)
        for j in np.flatnonzero(flagged).tolist():
            row = int(np.flatnonzero(np.isinf(chosen[:, j]))[0])
            raise infinite(variables.discrete[j].name, row)
        if not len(self.numbers):
            return table_of_codes(variables, out.T)
        values = np.asfortranarray(matrix[:, self.numbers])
        return checked_table(variables, out.T, values, fitting=False)


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
        found = self._table(matrix, unseen)
        if found is None or len(self._columns) == len(self.variables):
            return found
        return found.indicated(self.variables)

    def _table(self, matrix: NDArray[Any], unseen: Unseen) -> Table | None:
        kind = matrix.dtype.kind
        encoder: Numbers | ObjectColumns | None = None
        if kind in "iuf":
            encoder = self._numbers
        elif kind in "OU" and not np.ma.isMaskedArray(matrix):
            encoder = self._object_columns
        found = None if encoder is None else encoder.table(matrix)
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
        are_real = all(type(v) is Continuous for v in self._columns)
        return floats(matrix) if are_real and matrix.dtype.kind in "iuf" else None

    @cached_property
    def _numbers(self) -> Numbers | None:
        return Numbers.of(self._columns)

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
