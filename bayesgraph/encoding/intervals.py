"""Encoding of numbers as indices of the intervals that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import kernels
from bayesgraph.encoding.columns import Codes, infinite
from bayesgraph.encoding.table import Table, code_type, table_of_codes
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Binned


@dataclass(frozen=True, eq=False)
class Intervals:
    """Binned variables, with all their cut points in one array.

    Attributes
    ----------
    variables : tuple of Binned
    cuts : ndarray
        The cut points of all variables, one variable after the other.
    start : ndarray, shape (n_variables + 1,)
        Offset in `cuts` at which the cut points of each variable start.
    """

    variables: tuple[Binned, ...]
    cuts: Floats
    start: NDArray[np.int64]

    @classmethod
    def of(cls, variables: Sequence[Binned]) -> Intervals:
        """Return the variables with their cut points joined in one array."""
        cuts = [np.array(v.cuts, dtype=np.float64) for v in variables]
        start = np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64)
        return cls(tuple(variables), np.concatenate([*cuts, []]), start)

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
        out = np.empty((len(self.variables), len(matrix)), dtype=code_type(self.variables))
        flagged = np.zeros(len(self.variables), dtype=np.uint8)
        kernels.by_rows(kernels.find_intervals, matrix, self.cuts, self.start, out, flagged)
        for j in np.flatnonzero(flagged).tolist():
            row = int(np.flatnonzero(np.isinf(matrix[:, j]))[0])
            raise infinite(self.variables[j].name, row)
        return out.T

    def table(self, matrix: Floats) -> Table:
        """Return a float matrix as a table."""
        return table_of_codes(self.variables, self.codes(matrix))
