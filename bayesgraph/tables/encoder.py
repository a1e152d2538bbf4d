"""Encoder of matrices whose columns are known variables; one encoder serves all batches."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.evidence import Arrangement, arranged
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Discrete,
    MissingIndicator,
    Name,
    Variable,
    is_missing,
    plain,
    values_of,
)
from bayesgraph.tables import encoding_kernels
from bayesgraph.tables.columns import Codes, Unseen, UnseenValues, cells_without_state, infinite
from bayesgraph.tables.table import Table, checked_table, table_of_codes, table_of_numbers

# ------------- Encoding of matrices whose columns are states, intervals or numbers, and of objects


# Maximum number of entries of all look-up tables together.
_LOOKUP_CELLS = 1 << 22
# Maximum number of rows of objects that are encoded at once.
_FEW_ROWS = 64
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

    @cached_property
    def _whole_points(self) -> NDArray[np.int64] | None:
        """The points as whole numbers, among which others are found in less time."""
        is_whole = (abs(self.points) < 2.0**62) & (np.floor(self.points) == self.points)
        return self.points.astype(np.int64) if is_whole.all() else None

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
        is_whole = is_plain_integers(matrix) and not len(self.numbers)
        points: Any = self._whole_points if is_whole else None
        if points is None:
            matrix, points = floats(matrix), self.points
        chosen = matrix[:, self.discrete].astype(points.dtype, copy=False)
        out = np.empty((chosen.shape[1], len(matrix)), dtype=variables.code_type)
        flagged = np.zeros(len(out), dtype=np.uint8)
        arrays = (chosen, points, self.codes, self.start, self.has_states, out, flagged)
        by_rows(encoding_kernels.find_codes, arrays, *chosen.shape)
        for j in np.flatnonzero(flagged).tolist():
            row = int(np.flatnonzero(np.isinf(chosen[:, j]))[0])
            raise infinite(variables.discrete[j].name, row)
        if not len(self.numbers):
            return table_of_codes(variables, out.T)
        values = np.asfortranarray(matrix[:, self.numbers])
        return checked_table(variables, out.T, values, fitting=False)


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
        for variable, kinds, known, cells in columns:
            try:
                # The first state, whose code is 0, is looked up again.
                found = [
                    known.get((type(cell), cell)) or _code(variable, kinds, known, cell)
                    for cell in cells
                ]
            except TypeError:  # what cannot be hashed
                return None
            if None in found:
                return None
            (codes if isinstance(variable, Discrete) else numbers).append(found)
        coded = np.array(codes, dtype=self.variables.code_type).reshape(len(codes), len(matrix))
        values = np.array(numbers, dtype=np.float64).reshape(len(numbers), len(matrix))
        return checked_table(self.variables, coded.T, values.T, fitting=False)


def _code(
    variable: Variable, kinds: set[type[Any]], known: dict[tuple[type[Any], Any], int], cell: Any
) -> float | None:
    """Return the code of a cell, or its number, and keep that of a state; None for other types."""
    # A narrower float would be compared with a rounded cut.
    value = plain(cell)
    if is_missing(value):
        return -1 if isinstance(variable, Discrete) else np.nan
    if isinstance(variable, Discrete) and not isinstance(variable, Binned):
        code = variable.find(value) if type(value) in kinds else None
        if code is not None:
            known[type(cell), cell] = code
        return -1 if code is None and type(value) in kinds else code
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
        found = self._table(matrix, unseen)
        if found is None or len(self._columns) == len(self.variables):
            return found
        return found.indicated(self.variables)

    def _table(self, matrix: NDArray[Any], unseen: Unseen) -> Table | None:
        kind = matrix.dtype.kind
        encoder: Numbers | Objects | None = None
        if kind in "iuf":
            encoder = self._numbers
        elif kind in "OU" and not np.ma.isMaskedArray(matrix):
            encoder = self._objects
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
    def _objects(self) -> Objects:
        return Objects.of(self._columns)


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
