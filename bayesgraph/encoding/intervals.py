"""Encoding of numbers as indices of the intervals that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import kernels
from bayesgraph.encoding.columns import Codes, infinite
from bayesgraph.encoding.table import Table, checked_table, table_of_codes
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.columns import Arrangement, arranged
from bayesgraph.parallel import by_rows
from bayesgraph.variables import Binned, Continuous, Variable


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
        by_rows(kernels.find_intervals, arrays, *matrix.shape)
        for j in np.flatnonzero(flagged).tolist():
            row = int(np.flatnonzero(np.isinf(matrix[:, j]))[0])
            raise infinite(self.variables[j].name, row)
        return out.T

    def table(self, matrix: Floats) -> Table:
        """Return the table of interval indices of a float matrix; see `codes`."""
        return table_of_codes(self.variables, self.codes(matrix))


@dataclass(frozen=True, eq=False)
class IntervalsAndNumbers:
    """Encoder of matrices of numbers, of which some columns are binned.

    Attributes
    ----------
    variables : Arrangement of Binned and Continuous
    intervals : Intervals
        The encoder of the binned columns.
    binned, numbers : ndarray of int
        Places of the binned columns, and of the others.
    """

    variables: Arrangement
    intervals: Intervals
    binned: NDArray[np.intp]
    numbers: NDArray[np.intp]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> IntervalsAndNumbers | None:
        """Return the encoder, or None unless there are both, and nothing else."""
        binned = [j for j, v in enumerate(variables) if isinstance(v, Binned)]
        numbers = [j for j, v in enumerate(variables) if isinstance(v, Continuous)]
        if not (binned and numbers) or len(binned) + len(numbers) < len(variables):
            return None
        intervals = Intervals.of([v for v in variables if isinstance(v, Binned)])
        return cls(arranged(variables), intervals, np.array(binned), np.array(numbers))

    def table(self, matrix: Floats) -> Table:
        """Return the table of a float matrix.

        Raises
        ------
        DataError
            For an infinite number, or a negative one in a column of counts.
        """
        codes = self.intervals.codes(matrix[:, self.binned])
        values = np.asfortranarray(matrix[:, self.numbers])
        return checked_table(self.variables, codes, values, fitting=False)
