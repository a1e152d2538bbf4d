"""Loops that encode the values of matrices, reading each row once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel
from bayesgraph.core.parallel import over_rows

# Minimum number of values for each thread.
_THREAD = 1 << 18
# Number of values below which NumPy's operations on arrays take no longer than one pass.
_FEW = 1 << 15
# Number of values over which the start of a loop does not show.
_LONG_ROW = 256


@kernel()
def column_ranges(
    matrix: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> None:
    """Write the minimum of each column to `low` and its maximum to `high`, shape (n_columns,)."""
    for j in range(matrix.shape[1]):
        low[j] = matrix[0, j]
        high[j] = matrix[0, j]
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


@kernel()
def mark_present(
    matrix: NDArray[np.int64],
    low: NDArray[np.int64],
    start: NDArray[np.int64],
    present: NDArray[np.uint8],
) -> None:
    """Set ``present[start[j] + value - low[j]]`` to 1 for each value that occurs in column j.

    `low` holds the minimum of each column, `start` the offset of each column in `present`.
    """
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            present[start[j] + matrix[i, j] - low[j]] = 1


def count_invalid(values: NDArray[np.float64]) -> tuple[int, int, int]:
    """Count the negative, the infinite and the missing (NaN) values of an array."""
    if len(values) < _FEW:
        counts = values < 0.0, np.isinf(values), np.isnan(values)
        return tuple(int(np.count_nonzero(c)) for c in counts)  # type: ignore[return-value]
    parts: list[tuple[int, int, int]] = []
    over_rows(lambda a, b: parts.append(_count_invalid(values[a:b])), len(values), _THREAD)
    negative, infinite, missing = map(sum, zip(*parts, strict=True)) if parts else (0, 0, 0)
    return negative, infinite, missing


@kernel()
def _count_invalid(values: NDArray[np.float64]) -> tuple[int, int, int]:
    negative, infinite, missing = 0, 0, 0
    for i in range(len(values)):  # over `values` itself the loop is not vectorised
        value = values[i]
        negative += value < 0.0
        infinite += abs(value) == np.inf
        missing += value != value
    return negative, infinite, missing


def are_finite(values: NDArray[np.float64]) -> bool:
    """Return whether no value of an array is infinite or missing (NaN)."""
    if len(values) < _FEW:
        return bool(np.isfinite(values).all())
    parts: list[bool] = []
    over_rows(lambda a, b: parts.append(_are_finite(values[a:b])), len(values), _THREAD)
    return all(parts)


@kernel()
def _are_finite(values: NDArray[np.float64]) -> bool:
    wrong = 0
    for i in range(len(values)):
        wrong |= not abs(values[i]) < np.inf
    return wrong == 0


def scan(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the largest magnitude and the number of NaN of each column, shape (n_columns,)."""
    n_columns = matrix.shape[1]
    # Several rows of few columns are scanned as one long one, which takes less time.
    together = 1 + _LONG_ROW // max(1, n_columns) if matrix.flags.c_contiguous else 1
    parts: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []

    def work(a: int, b: int) -> None:
        largest = np.zeros((together, n_columns))
        missing = np.zeros((together, n_columns), dtype=np.int64)
        rest = b - (b - a) % together
        rows = matrix[a:rest].reshape((rest - a) // together, together * n_columns)
        _scan(rows, largest.reshape(-1), missing.reshape(-1))
        _scan(matrix[rest:b], largest[0], missing[0])
        parts.append((largest.max(axis=0), missing.sum(axis=0)))

    over_rows(work, len(matrix), 1 + _THREAD // max(1, n_columns))
    largest, missing = zip(*parts, strict=True)
    return np.max(largest, axis=0), np.sum(missing, axis=0)


@kernel()
def find_codes(
    matrix: NDArray[Any],
    points: NDArray[Any],
    codes: NDArray[np.signedinteger],
    start: NDArray[np.int64],
    has_states: NDArray[np.bool_],
    out: NDArray[np.signedinteger],
    infinite: NDArray[np.uint8],
    begin: int,
    end: int,
) -> None:
    """Write the code of each number: of the state that it is, or of the interval that has it.

    The code of NaN, and of a number that is no state, is -1. That of an interval is the number of
    cut points below the number.

    Parameters
    ----------
    matrix : ndarray of int64 or float64, shape (n_rows, n_columns)
    points : ndarray, of the type of `matrix`
        The states or cut points of all columns, one column after the other, ascending in each.
    codes : ndarray
        The code of each state among `points`.
    start : ndarray, shape (n_columns + 1,)
        Offset in `points` at which those of each column start.
    has_states : ndarray of bool, shape (n_columns,)
        Which columns have states, rather than intervals.
    out : ndarray, shape (n_columns, n_rows)
    infinite : ndarray, shape (n_columns,)
        Set to 1 for columns that have an infinite number.
    begin, end : int
        Range of the rows.
    """
    block = 64
    values, places = np.zeros(block, dtype=matrix.dtype), np.zeros(block, dtype=np.int64)
    for first in range(begin, end, block):
        size = min(block, end - first)
        for j in range(matrix.shape[1]):
            own = points[start[j] : start[j + 1]]
            code_of = codes[start[j] : start[j + 1]]
            n = len(own)
            column = out[j, first : first + size]
            wrong = False
            if has_states[j] and own[-1] - own[0] == n - 1:
                low = own[0]
                for i in range(size):
                    value = matrix[first + i, j]
                    wrong |= np.isinf(value)
                    above = value - low
                    at = np.uint64(above if 0 <= above < n else 0)
                    column[i] = code_of[at] if own[at] == value else -1
                infinite[j] |= wrong
                continue
            for i in range(size):
                values[i] = matrix[first + i, j]
                wrong |= np.isinf(values[i])
            infinite[j] |= wrong
            # Many values at a time take each step of a bisection, without a branch.
            places[:] = 0
            left = n
            while left > 0:
                half = (left + 1) // 2
                for i in range(block):
                    places[i] += half if own[places[i] + half - 1] < values[i] else 0
                left -= half
            if has_states[j]:
                for i in range(size):
                    at = np.uint64(min(places[i], n - 1))
                    column[i] = code_of[at] if own[at] == values[i] else -1
            else:
                for i in range(size):
                    column[i] = places[i] if values[i] == values[i] else -1


@kernel()
def _scan(
    matrix: NDArray[np.float64], largest: NDArray[np.float64], missing: NDArray[np.int64]
) -> None:
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            value = abs(matrix[i, j])
            # Comparisons with NaN are false, so that NaN does not change `largest`.
            largest[j] = value if value > largest[j] else largest[j]
            missing[j] += value != value


@kernel()
def are_within(values: Floats, maximum: float) -> bool:
    """Return whether the magnitudes of all numbers are at most `maximum`, and none is missing."""
    good = True
    for i in range(len(values)):
        good &= abs(values[i]) <= maximum
    return good
