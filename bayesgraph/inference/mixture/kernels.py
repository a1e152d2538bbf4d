"""Compiled sums of table entries over rows, and the log of a growing sum of their exponentials."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

# Rows whose sums stay in the cache while all tables of a network are added up.
_BLOCK = 128


@numba.njit(cache=True, nogil=True)
def add_network(
    codes: NDArray[np.int32],
    child: NDArray[np.int64],
    first: NDArray[np.int64],
    column: NDArray[np.int64],
    stride: NDArray[np.int64],
    base: NDArray[np.int64],
    wide: NDArray[np.bool_],
    inner: NDArray[np.int64],
    logs: NDArray[np.float64],
    log_weight: float,
    maximum: NDArray[np.float64],
    total: NDArray[np.float64],
    open_rows: NDArray[np.bool_],
    complete: bool,
    begin: int,
    end: int,
) -> None:
    """Add one network's share of each row to the mixture's, unless it must be summed out there.

    The share of row i and target state k is the exponential of `log_weight` plus one table entry
    for each factor whose child the row observes. The mixture's is
    ``total[k, i] * exp(maximum[k, i])``.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        State codes, -1 where missing.
    child : ndarray, shape (n_factors,)
        Column of the child of each factor, -1 for the target.
    first : ndarray, shape (n_factors + 1,)
        Where the axes of each factor begin among `column` and `stride`.
    column, stride : ndarray, shape (n_axes,)
        Column of each observed axis, and how far apart its states lie in `logs`.
    base : ndarray, shape (n_factors,)
        Where each factor begins in `logs`.
    wide : ndarray of bool, shape (n_factors,)
        Whether the factor has the target as its last axis.
    inner : ndarray
        Columns of variables with children: where one is missing, the row is left open.
    logs : ndarray, one-dimensional
    log_weight : float
    maximum, total : ndarray, shape (n_states, n_rows)
    open_rows : ndarray of bool, shape (n_rows,)
        Set for the rows that were left out.
    complete : bool
        No code is missing.
    begin, end : int
        The rows to treat.
    """
    n_states = maximum.shape[0]
    share = np.empty((_BLOCK, n_states))
    at = np.empty(_BLOCK, dtype=np.int64)
    for start in range(begin, end, _BLOCK):
        n = min(_BLOCK, end - start)
        share[:n] = log_weight
        unknown = open_rows[start : start + n]
        if not complete:
            unknown[:] = False
            for c in inner:
                for i in range(n):
                    unknown[i] |= codes[c, start + i] < 0
        for f in range(len(child)):
            _places(codes, column, stride, base[f], first[f], first[f + 1], start, n, at)
            if not complete:
                for i in range(n):
                    if unknown[i] or (child[f] >= 0 and codes[child[f], start + i] < 0):
                        at[i] = -1
            if not wide[f]:
                for i in range(n):
                    if at[i] >= 0:
                        share[i] += logs[at[i]]
            elif n_states == 2:
                for i in range(n):
                    entry = at[i]
                    if entry >= 0:
                        share[i, 0] += logs[entry]
                        share[i, 1] += logs[entry + 1]
            else:
                for i in range(n):
                    entry = at[i]
                    if entry >= 0:
                        for k in range(n_states):
                            share[i, k] += logs[entry + k]
        for k in range(n_states):
            for i in range(n):
                if complete or not unknown[i]:
                    _add_exponential(share[i, k], maximum, total, k, start + i)


@numba.njit(cache=True, nogil=True)
def _places(
    codes: NDArray[np.int32],
    column: NDArray[np.int64],
    stride: NDArray[np.int64],
    base: int,
    first: int,
    last: int,
    start: int,
    n: int,
    at: NDArray[np.int64],
) -> None:
    """Write where the entries of a factor begin for each row of a block."""
    if last - first == 2:  # most have two observed axes: one loop instead of three
        one, other = codes[column[first]], codes[column[first + 1]]
        by, along = stride[first], stride[first + 1]
        for i in range(n):
            at[i] = base + by * one[start + i] + along * other[start + i]
        return
    at[:n] = base
    for axis in range(first, last):
        values = codes[column[axis]]
        step = stride[axis]
        for i in range(n):
            at[i] += step * values[start + i]


@numba.njit(cache=True, nogil=True)
def _add_exponential(
    value: float, maximum: NDArray[np.float64], total: NDArray[np.float64], k: int, i: int
) -> None:
    """Add exp(value) to ``total[k, i] * exp(maximum[k, i])``."""
    if value == -np.inf:
        return
    if value <= maximum[k, i]:
        total[k, i] += math.exp(value - maximum[k, i])
    else:
        # From nothing, exp(-inf) is zero and the sum begins with one.
        total[k, i] = total[k, i] * math.exp(maximum[k, i] - value) + 1.0
        maximum[k, i] = value
