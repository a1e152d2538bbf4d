"""Compiled counting. Counts are float64, which is exact for sums of integer weights up to 2**53."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats

# Number of rows of a block, which is counted for all columns while its codes are in the cache.
_BLOCK = 4096


@numba.njit(cache=True, nogil=True)
def count_singles(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    weights: Floats,
    start: NDArray[np.int64],
    out: Floats,
) -> None:
    """Add the weight of each row to ``out[group, start[j] + code]`` for each column j.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        -1 where missing, which is not counted.
    group : ndarray, shape (n_rows,)
        Row of `out`; -1 where missing, which is not counted.
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    start : ndarray, shape (n_columns,)
        Offset in a row of `out` at which the states of each column start.
    out : ndarray, shape (n_groups, number of states of all columns)
    """
    weighted = len(weights) > 0
    for j in range(codes.shape[0]):
        first = start[j]
        column = codes[j]
        for i in range(len(column)):
            if column[i] >= 0 and group[i] >= 0:
                out[group[i], first + column[i]] += weights[i] if weighted else 1.0


@numba.njit(cache=True, nogil=True)
def count_pairs(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    weights: Floats,
    cards: NDArray[np.int64],
    start: NDArray[np.int64],
    out: Floats,
) -> None:
    """Add the weight of each row to the tables of all pairs of columns i < j.

    Parameters
    ----------
    codes, group, weights
        As in `count_singles`.
    cards : ndarray, shape (n_columns,)
        Number of states of each column.
    start : ndarray, shape (n_pairs + 1,)
        Offset in `out` of the table of each pair, of shape (n_groups, cards[i], cards[j]); pairs
        are in lexicographic order.
    out : ndarray, one-dimensional
    """
    n_columns, n_rows = codes.shape
    base = np.empty(_BLOCK, dtype=np.int64)
    whole = np.empty(n_columns, dtype=np.bool_)
    for first in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - first)
        block = codes[:, first : first + n]
        groups = group[first : first + n]
        heavy = weights[first : first + n]
        for j in range(n_columns):
            whole[j] = block[j].min() >= 0
        pair = 0
        for i in range(n_columns):
            complete = _row_keys(block[i], groups, cards[i], base)
            for j in range(i + 1, n_columns):
                table = out[start[pair] : start[pair + 1]]
                pair += 1
                if complete and whole[j] and len(weights) == 0:
                    _count_all(base[:n], block[j], cards[j], table)
                else:
                    _count_some(base[:n], block[j], cards[j], heavy, table)


@numba.njit(cache=True, nogil=True)
def count_beside(
    codes: NDArray[np.signedinteger],
    columns: NDArray[np.intp],
    keys: NDArray[np.int64],
    size: int,
    weights: Floats,
    start: NDArray[np.int64],
    out: Floats,
) -> None:
    """Add the weight of each row to ``out[start[j] + code * size + key]`` for each chosen column.

    Parameters
    ----------
    codes : ndarray, shape (n_all_columns, n_rows)
        -1 where missing, which is not counted.
    columns : ndarray, shape (n_columns,)
        Indices of the chosen columns.
    keys : ndarray, shape (n_rows,)
        Index of the configuration of other columns, below `size`; -1 where missing.
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    start : ndarray, shape (n_columns,)
        Offset in `out` of the table of each chosen column j.
    out : ndarray, one-dimensional
    """
    n_rows = codes.shape[1]
    weighted = len(weights) > 0
    for first in range(0, n_rows, _BLOCK):
        last = min(first + _BLOCK, n_rows)
        for j in range(len(columns)):
            column = codes[columns[j]]
            table = out[start[j] :]
            for row in range(first, last):
                if column[row] >= 0 and keys[row] >= 0:
                    at = np.int64(column[row]) * size + keys[row]
                    table[at] += weights[row] if weighted else 1.0


@numba.njit(cache=True, nogil=True)
def _row_keys(
    left: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    card: int,
    base: NDArray[np.int64],
) -> bool:
    """Write the key ``group * card + left`` of each row to `base`, -1 if one of them is missing.

    `left` holds the codes of a column with `card` states. Return whether no key is -1.
    """
    complete = True
    for row in range(len(left)):
        if left[row] >= 0 and group[row] >= 0:
            base[row] = group[row] * card + left[row]
        else:
            base[row] = -1
            complete = False
    return complete


@numba.njit(cache=True, nogil=True)
def _count_all(
    base: NDArray[np.int64], right: NDArray[np.signedinteger], card: int, table: Floats
) -> None:
    for row in range(len(right)):
        table[base[row] * card + right[row]] += 1.0


@numba.njit(cache=True, nogil=True)
def _count_some(
    base: NDArray[np.int64],
    right: NDArray[np.signedinteger],
    card: int,
    weights: Floats,
    table: Floats,
) -> None:
    weighted = len(weights) > 0
    for row in range(len(right)):
        if base[row] >= 0 and right[row] >= 0:
            table[base[row] * card + right[row]] += weights[row] if weighted else 1.0


@numba.njit(cache=True, nogil=True)
def _first_observed(values: Floats) -> Floats:
    """Return the first value of each column that is not NaN, or 0 for a column of NaN."""
    first = np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        for i in range(values.shape[0]):
            if values[i, j] == values[i, j]:
                first[j] = values[i, j]
                break
    return first


@numba.njit(cache=True, nogil=True)
def group_moments(
    values: Floats,
    group: NDArray[np.signedinteger],
    weights: Floats,
    count: Floats,
    mean: Floats,
    square: Floats,
) -> None:
    """Write count, mean and sum of squared deviations of each column in each group.

    There are two passes over the rows, which should fit in the cache: the first computes means, the
    second squared deviations, so that there is no cancellation however far the values lie from
    zero. Means are computed from differences to the column's first value, so that the mean of
    equal values is exactly that value, and a constant column has a square of exactly zero.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns)
        NaN where missing, which is not counted.
    group, weights
        As in `count_singles`.
    count, mean, square : ndarray, shape (n_groups, n_columns)
        Overwritten; the mean of an empty cell is 0.
    """
    weighted = len(weights) > 0
    count[:] = 0.0
    mean[:] = 0.0
    square[:] = 0.0
    first = _first_observed(values)
    for i in range(values.shape[0]):
        g = group[i]
        if g < 0:
            continue
        w = weights[i] if weighted else 1.0
        for j in range(values.shape[1]):
            d = values[i, j] - first[j]
            there = d == d
            count[g, j] += w if there else 0.0
            mean[g, j] += w * d if there else 0.0
    for g in range(count.shape[0]):
        for j in range(count.shape[1]):
            if count[g, j] > 0.0:
                mean[g, j] = first[j] + mean[g, j] / count[g, j]
    for i in range(values.shape[0]):
        g = group[i]
        if g < 0:
            continue
        w = weights[i] if weighted else 1.0
        for j in range(values.shape[1]):
            d = values[i, j] - mean[g, j]
            square[g, j] += w * d * d if d == d else 0.0


@numba.njit(cache=True, nogil=True)
def sum_sparse(
    indptr: NDArray[np.signedinteger],
    indices: NDArray[np.signedinteger],
    data: Floats,
    group: NDArray[np.signedinteger],
    weights: Floats,
    threshold: float,
    sums: Floats,
    missing: Floats,
    totals: Floats,
) -> None:
    """Add the counts of a sparse matrix in CSR format to sums by group and item.

    Parameters
    ----------
    indptr, indices, data
        Arrays of the (n_rows, n_items) matrix; NaN is missing.
    group, weights
        As in `count_singles`.
    threshold : float
        Counts above the threshold add 1 and others 0; with NaN the counts themselves are added.
    sums, missing : ndarray, shape (n_groups, n_items)
        Weighted sums, and the weight of rows whose count is missing; both are added to.
    totals : ndarray, shape (n_rows,)
        Overwritten with the total count of each row, NaN if a count is missing.
    """
    weighted = len(weights) > 0
    for i in range(len(group)):
        g = group[i]
        w = weights[i] if weighted else 1.0
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value = data[at]
            total += value
            if g < 0:
                continue
            if value != value:
                missing[g, indices[at]] += w
            elif threshold == threshold:
                sums[g, indices[at]] += w if value > threshold else 0.0
            else:
                sums[g, indices[at]] += w * value
        totals[i] = total


@numba.njit(cache=True, nogil=True)
def sum_dense(
    values: Floats,
    group: NDArray[np.signedinteger],
    weights: Floats,
    threshold: float,
    sums: Floats,
    missing: Floats,
    totals: Floats,
) -> None:
    """Add the counts of a dense matrix to sums by group and item; see `sum_sparse`."""
    weighted = len(weights) > 0
    counting = threshold == threshold
    for i in range(values.shape[0]):
        g = group[i]
        w = weights[i] if weighted else 1.0
        total = 0.0
        for j in range(values.shape[1]):
            total += values[i, j]
        totals[i] = total
        if g < 0:
            continue
        if total != total:
            for j in range(values.shape[1]):
                value = values[i, j]
                if value != value:
                    missing[g, j] += w
                elif counting:
                    sums[g, j] += w if value > threshold else 0.0
                else:
                    sums[g, j] += w * value
        elif counting:
            for j in range(values.shape[1]):
                sums[g, j] += w if values[i, j] > threshold else 0.0
        else:
            for j in range(values.shape[1]):
                sums[g, j] += w * values[i, j]
