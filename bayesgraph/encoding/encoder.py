"""Encoder of matrices whose columns are known variables; one encoder serves all batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding.intervals import Intervals, IntervalsAndNumbers
from bayesgraph.encoding.states import NumberStates, ObjectColumns, WholeStates
from bayesgraph.encoding.table import Table, table_of_numbers
from bayesgraph.encoding.unseen import Unseen, UnseenValues, cells_without_state
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.columns import Arrangement, arranged
from bayesgraph.variables import Binned, Count, MissingIndicator, Variable


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
        if kind in "iuf" and self._numbers:
            return table_of_numbers(floats(matrix), self._numbers, fitting=False)
        if kind in "iuf" and self._intervals is not None:
            return self._intervals.table(floats(matrix))
        if kind in "iuf" and self._intervals_and_numbers is not None:
            return self._intervals_and_numbers.table(floats(matrix))
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
        if matrix.dtype.kind not in "iuf" or not self._numbers or self._has_counts:
            return None
        return floats(matrix)

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
    def _numbers(self) -> Arrangement:
        """All variables if all of them are continuous, else none."""
        found = arranged(self._columns)
        return found if len(found.continuous) == len(found) else arranged(())

    @cached_property
    def _has_counts(self) -> bool:
        return any(isinstance(v, Count) for v in self._columns)

    @cached_property
    def _intervals(self) -> Intervals | None:
        found = tuple(v for v in self._columns if isinstance(v, Binned))
        return Intervals.of(found) if len(found) == len(self._columns) else None

    @cached_property
    def _intervals_and_numbers(self) -> IntervalsAndNumbers | None:
        return IntervalsAndNumbers.of(self._columns)

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
