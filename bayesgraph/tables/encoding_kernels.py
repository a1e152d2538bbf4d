"""Loops that encode the values of matrices, reading each row once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel


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
            ascending = points[start[j] : start[j + 1]]
            code_of = codes[start[j] : start[j + 1]]
            n = len(ascending)
            column = out[j, first : first + size]
            is_infinite = False
            # Most states are successive integers, whose places are their differences to the first.
            # Of n integers this holds if the last is n - 1 above the first.
            if has_states[j] and ascending[-1] - ascending[0] == n - 1:
                low, is_found = ascending[0], True
                for i in range(size):
                    value = matrix[first + i, j]
                    is_infinite |= np.isinf(value)
                    above = value - low
                    # Unsigned indices are not checked for being negative, which takes time.
                    place = np.uint64(above if 0 <= above < n else 0)
                    is_state = ascending[place] == value
                    column[i] = code_of[place] if is_state else -1
                    is_found &= is_state or value != value
                infinite[j] |= is_infinite
                # A value that is elsewhere: not all states are integers, or it is none.
                if is_found:
                    continue
            for i in range(size):
                values[i] = matrix[first + i, j]
                is_infinite |= np.isinf(values[i])
            infinite[j] |= is_infinite
            # Many values at a time take each step of a bisection, without a branch: the first
            # `places` points are below the value, and of those after them at most `left` may be.
            places[:] = 0
            left = n
            while left > 0:
                half = (left + 1) // 2
                for i in range(block):
                    places[i] += half if ascending[places[i] + half - 1] < values[i] else 0
                left -= half
            if has_states[j]:
                # All points may be below the value, which is no state then.
                for i in range(size):
                    place = np.uint64(min(places[i], n - 1))
                    column[i] = code_of[place] if ascending[place] == values[i] else -1
            else:
                for i in range(size):
                    # An interval includes its upper cut point, so that its code is the number of
                    # points below the value. NaN, which does not equal itself, is in no interval.
                    column[i] = places[i] if values[i] == values[i] else -1
