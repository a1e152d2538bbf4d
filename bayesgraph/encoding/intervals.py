"""Numbers encoded by the interval they fall into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesgraph.encoding import kernels
from bayesgraph.encoding.columns import Codes, infinite
from bayesgraph.encoding.table import Table, code_type
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Binned


def interval_codes(matrix: Floats, variables: Sequence[Binned]) -> Codes:
    """Return the position of the interval of each number, -1 where it is NaN.

    Parameters
    ----------
    matrix : ndarray, shape (n_rows, n_columns)
        In any order of memory.
    variables : sequence of Binned
        One for each column.

    Returns
    -------
    ndarray of signed integers, shape (n_rows, n_columns)
        Columns are contiguous.

    Raises
    ------
    DataError
        For an infinite number.
    """
    cuts = [np.array(v.cuts, dtype=np.float64) for v in variables]
    start = np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64)
    out = np.empty((len(variables), len(matrix)), dtype=code_type(variables))
    flagged = np.zeros(len(variables), dtype=np.uint8)
    kernels.find_intervals(matrix, np.concatenate([*cuts, []]), start, out, flagged)
    for j in np.flatnonzero(flagged).tolist():
        row = int(np.flatnonzero(np.isinf(matrix[:, j]))[0])
        raise infinite(variables[j].name, row)
    return out.T


def table_of_intervals(matrix: Floats, variables: Sequence[Binned]) -> Table:
    """Return a float matrix as a table of variables known by their interval."""
    codes = interval_codes(matrix, variables)
    complete = not codes.size or int(codes.min()) >= 0
    return Table(tuple(variables), codes, np.empty((len(matrix), 0)), complete)
