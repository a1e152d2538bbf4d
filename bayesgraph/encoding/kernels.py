"""Compiled passes over integer matrices, row by row, so that memory is read once."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def column_ranges(
    matrix: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> None:
    """Write the smallest and largest value of each column, shape (n_columns,) each."""
    for j in range(matrix.shape[1]):
        low[j] = matrix[0, j]
        high[j] = matrix[0, j]
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


@numba.njit(cache=True, nogil=True)
def mark_present(
    matrix: NDArray[np.int64],
    low: NDArray[np.int64],
    start: NDArray[np.int64],
    present: NDArray[np.uint8],
) -> None:
    """Mark which values occur: ``present[start[j] + value - low[j]]`` for column j."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            present[start[j] + matrix[i, j] - low[j]] = 1


@numba.njit(cache=True, nogil=True)
def look_up(
    matrix: NDArray[np.int64],
    low: NDArray[np.int64],
    start: NDArray[np.int64],
    codes: NDArray[np.signedinteger],
    out: NDArray[np.signedinteger],
) -> None:
    """Translate values to codes, -1 for values outside the table of their column.

    Parameters
    ----------
    matrix : ndarray, shape (n_rows, n_columns)
    low : ndarray, shape (n_columns,)
    start : ndarray, shape (n_columns + 1,)
        Where the table of each column starts in `codes`.
    codes : ndarray
        All tables, one after the other.
    out : ndarray, shape (n_columns, n_rows)
    """
    block = 64
    for first in range(0, matrix.shape[0], block):
        last = min(first + block, matrix.shape[0])
        for j in range(matrix.shape[1]):
            size = start[j + 1] - start[j]
            for i in range(first, last):
                at = matrix[i, j] - low[j]
                out[j, i] = codes[start[j] + at] if 0 <= at < size else -1


@numba.njit(cache=True, nogil=True)
def scan(
    matrix: NDArray[np.float64], largest: NDArray[np.float64], missing: NDArray[np.int64]
) -> None:
    """Write the largest magnitude and the number of NaN of each column, shape (n_columns,) each."""
    largest[:] = 0.0
    missing[:] = 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            value = abs(matrix[i, j])
            # Comparisons with NaN are false, so that it changes nothing here.
            largest[j] = value if value > largest[j] else largest[j]
            missing[j] += value != value


@numba.njit(cache=True, nogil=True)
def extent(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the largest of some numbers, NaN aside; 0 if there are none."""
    least, most = 0.0, 0.0
    for i in range(len(values)):
        value = values[i]
        # Comparisons with NaN are false.
        least = value if value < least else least
        most = value if value > most else most
    return least, most
