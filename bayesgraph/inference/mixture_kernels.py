"""Kernels that sum the row probabilities of a mixture's networks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel

# Number of rows of a block, whose sums stay in the cache while all tables of a network are added.
_BLOCK = 128


@kernel(work=lambda codes, child, first, column, *_: 4 * codes.shape[1] * len(column))
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
    """Add one network's weighted probability of each row to the mixture's sum.

    For row i and target state k the addend is the exponential of `log_weight` plus one log table
    entry for each factor (CPD) whose child is the target or is observed in the row. The mixture's
    sum is ``total[k, i] * exp(maximum[k, i])``. Rows that need summing out, because a variable with
    children is missing, are left out.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        State codes, -1 where missing.
    child : ndarray, shape (n_factors,)
        Column of the child of each factor, -1 for the target.
    first : ndarray, shape (n_factors + 1,)
        Index of the first axis of each factor in `column` and `stride`.
    column, stride : ndarray, shape (n_axes,)
        Column of each axis other than the target, and its stride in `logs`.
    base : ndarray, shape (n_factors,)
        Offset of each factor in `logs`.
    wide : ndarray of bool, shape (n_factors,)
        Whether the factor has the target as its last axis.
    inner : ndarray
        Columns of variables with children; rows in which one of them is missing are left out.
    logs : ndarray, one-dimensional
        Log entries of all tables.
    log_weight : float
        Log weight of the network.
    maximum, total : ndarray, shape (n_states, n_rows)
    open_rows : ndarray of bool, shape (n_rows,)
        Set for the rows that were left out.
    complete : bool
        Whether no code is missing.
    begin, end : int
        Range of rows.
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


@kernel()
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
    """Write the index of a factor's table entry for each row of a block to `at`.

    If the target is the table's last axis, the index is that of the target's first state. The
    block has n rows from `start` on. The factor's table starts at `base`, and its axes are
    ``column[first:last]`` with the strides ``stride[first:last]``.
    """
    if last - first == 2:  # most factors have two such axes: one loop instead of three
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


@kernel()
def _add_exponential(
    value: float, maximum: NDArray[np.float64], total: NDArray[np.float64], k: int, i: int
) -> None:
    """Add exp(value) to the sum ``total[k, i] * exp(maximum[k, i])`` without overflow."""
    if value == -np.inf:
        return
    if value <= maximum[k, i]:
        total[k, i] += math.exp(value - maximum[k, i])
    else:
        # The maximum of an empty sum is -inf, whose exponential is 0: the new total is 1.
        total[k, i] = total[k, i] * math.exp(maximum[k, i] - value) + 1.0
        maximum[k, i] = value
