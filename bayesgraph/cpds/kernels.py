"""Compiled loops over rows that add log potentials to an accumulator.

The accumulator is (cells, n_rows): rows are contiguous. Each public function checks nothing; the
CPDs that call them have done so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import LOG_2PI, Floats
from bayesgraph.parallel import over_rows

# Rows and columns that are worked on together: they stay in the first-level cache.
_ROWS = 128
_COLUMNS = 64
# Numbers read below which one thread is enough.
_THREAD = 1 << 18


def add_gathered(out: Floats, table: Floats, index: NDArray[Any]) -> None:
    """Add ``table[:, index]`` to `out`; an index below zero adds nothing.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    table : ndarray, shape (cells, m)
    index : ndarray of integers below m, shape (n_rows,)
    """
    _add_gathered(out, np.ascontiguousarray(table), np.ascontiguousarray(index))


def add_gaussian(
    out: Floats,
    child: NDArray[Any],
    parents: Sequence[NDArray[Any]],
    mean: Floats,
    slopes: Floats,
    variance: Floats,
) -> None:
    """Add Gaussian log densities of a child to `out`; NaN adds nothing.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    child : ndarray, shape (n_rows,)
    parents : p arrays of shape (n_rows,)
    mean, variance : ndarray, shape (cells,)
    slopes : ndarray, shape (cells, p)
    """
    scale = 1.0 / np.sqrt(variance)
    constant = -0.5 * (np.log(variance) + LOG_2PI)
    columns = np.empty((1 + len(parents), len(child)))
    for row, column in enumerate((child, *parents)):
        columns[row] = column
    _add_gaussian(out, columns, mean, np.ascontiguousarray(slopes), scale, constant)


def add_gaussians(out: Floats, values: Floats, mean: Floats, variance: Floats) -> None:
    """Add the Gaussian log densities of many independent children to `out`; NaN adds nothing.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    values : ndarray, shape (n_rows, m)
    mean, variance : ndarray, shape (cells, m)
    """
    scale = 1.0 / np.sqrt(variance)
    constant = -0.5 * (np.log(variance) + LOG_2PI)
    over_rows(
        lambda a, b: _add_gaussians(out, values, mean, scale, constant, a, b),
        len(values),
        1 + _THREAD // max(1, mean.size),
    )


def add_marginal_gaussians(
    out: Floats,
    values: Floats,
    rows: NDArray[np.intp],
    start: NDArray[np.intp],
    mean: Floats,
    scale: Floats,
    correlation: Floats,
) -> None:
    """Add the log densities of what rows observe of jointly Gaussian children to `out`.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    values : ndarray, shape (n_rows, d)
        NaN where missing.
    rows : ndarray, shape (m,)
        Those to treat; rows of the same missing pattern follow one another.
    start : ndarray, shape (n_patterns + 1,)
        Where each pattern starts among them.
    mean : ndarray, shape (cells, d)
    scale : ndarray, shape (1 or cells, d)
        Standard deviations.
    correlation : ndarray, shape (1 or cells, d, d)
    """
    over_rows(
        lambda a, b: _add_marginal_gaussians(
            out, values, rows, start, mean, scale, correlation, a, b
        ),
        len(start) - 1,
        1 + _THREAD // max(1, correlation.size),
    )


def padded_rows(table: Floats) -> Floats:
    """Return a (cells, m) table as (m, cells), cells filled up with zeros to a multiple of 4."""
    cells, m = table.shape
    padded = np.zeros((m, -(-cells // 4) * 4))
    padded[:, :cells] = table.T
    return padded


def add_states(out: Floats, codes: NDArray[Any], start: NDArray[np.int64], table: Floats) -> None:
    """Add ``table[start[j] + codes[:, j]]`` for every child j; a code below zero adds nothing.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    codes : ndarray of integers, shape (n_rows, m)
    start : ndarray, shape (m,)
    table : ndarray, shape (states of all children, cells rounded up to a multiple of 4)
    """
    over_rows(
        lambda a, b: _add_states(out, codes, start, table.reshape(-1), table.shape[1], a, b),
        len(codes),
        1 + _THREAD // max(1, codes.shape[1]),
    )


def add_sparse(
    out: Floats,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    table: Floats,
) -> None:
    """Add the product of a compressed sparse row matrix and a table to `out`.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    indptr, indices, data
        Of the (n_rows, m) matrix.
    table : ndarray, shape (m, cells rounded up to a multiple of 4)
    """
    over_rows(
        lambda a, b: _add_sparse(
            out, indptr, indices, data, table.reshape(-1), table.shape[1], a, b
        ),
        len(indptr) - 1,
        1 + _THREAD // max(1, len(data) // max(1, len(indptr) - 1)),
    )


def add_dirichlet(
    out: Floats,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: Floats,
    concentration: Floats,
) -> None:
    """Add the sum of log G(a + x) - log G(a) over the counts x of each row to `out`.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    indptr, indices, data
        Of the (n_rows, m) matrix of counts.
    concentration : ndarray, shape (m, cells)
    """
    over_rows(
        lambda a, b: _add_dirichlet(out, indptr, indices, data, concentration, a, b),
        len(indptr) - 1,
        1 + (_THREAD >> 5) // max(1, len(data) // max(1, len(indptr) - 1)),
    )


def add_kernel_densities(
    out: Floats,
    values: Floats,
    points: Floats,
    weights: Floats,
    stops: NDArray[np.int64],
    bandwidth: Floats,
) -> None:
    """Add the logs of Gaussian kernel density estimates to `out`; NaN adds nothing.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    values : ndarray, shape (n_rows, m)
    points, weights : ndarray, shape (n_points,)
        Of all children and cells, cells within a child; points ascending in each.
    stops : ndarray, shape (m * cells + 1,)
        Where the points of each begin and end.
    bandwidth : ndarray, shape (cells, m)
    """
    over_rows(
        lambda a, b: _add_kernel_densities(out, values, points, weights, stops, bandwidth, a, b),
        len(values),
        1 + (_THREAD >> 4) // max(1, len(points)),
    )


@numba.njit(cache=True, nogil=True)
def _add_gathered(out: Floats, table: Floats, index: NDArray[np.integer]) -> None:
    for cell in range(out.shape[0]):
        row = table[cell]
        target = out[cell]
        for i in range(len(index)):
            at = index[i]
            if at >= 0:
                target[i] += row[at]


@numba.njit(cache=True, nogil=True)
def _add_gaussian(
    out: Floats, columns: Floats, mean: Floats, slopes: Floats, scale: Floats, constant: Floats
) -> None:
    n_parents = columns.shape[0] - 1
    child = columns[0]
    for cell in range(out.shape[0]):
        target = out[cell]
        m, s, c = mean[cell], scale[cell], constant[cell]
        if n_parents == 0:
            for i in range(len(child)):
                z = (child[i] - m) * s
                added = c - 0.5 * z * z
                target[i] += added if added == added else 0.0
        elif n_parents == 1:
            slope, parent = slopes[cell, 0], columns[1]
            for i in range(len(child)):
                z = (child[i] - m - slope * parent[i]) * s
                added = c - 0.5 * z * z
                target[i] += added if added == added else 0.0
        else:
            for i in range(len(child)):
                centre = m
                for p in range(n_parents):
                    centre += slopes[cell, p] * columns[1 + p, i]
                z = (child[i] - centre) * s
                added = c - 0.5 * z * z
                target[i] += added if added == added else 0.0


@numba.njit(cache=True, nogil=True)
def _add_gaussians(
    out: Floats,
    values: Floats,
    mean: Floats,
    scale: Floats,
    constant: Floats,
    begin: int,
    end: int,
) -> None:
    n_columns = values.shape[1]
    block = np.empty((_COLUMNS, _ROWS))
    for first in range(begin, end, _ROWS):
        n = min(_ROWS, end - first)
        for left in range(0, n_columns, _COLUMNS):
            m = min(_COLUMNS, n_columns - left)
            missing = 0
            for i in range(n):
                for j in range(m):
                    value = values[first + i, left + j]
                    block[j, i] = value
                    missing += value != value
            for cell in range(out.shape[0]):
                target = out[cell, first : first + n]
                for j in range(m):
                    column = block[j]
                    c = constant[cell, left + j]
                    centre = mean[cell, left + j]
                    s = scale[cell, left + j]
                    if missing == 0:
                        for i in range(n):
                            z = (column[i] - centre) * s
                            target[i] += c - 0.5 * z * z
                    else:
                        for i in range(n):
                            z = (column[i] - centre) * s
                            added = c - 0.5 * z * z
                            target[i] += added if added == added else 0.0


@numba.njit(cache=True, nogil=True)
def _add_states(
    out: Floats,
    codes: NDArray[np.integer],
    start: NDArray[np.int64],
    table: Floats,
    width: int,
    begin: int,
    end: int,
) -> None:
    # Four cells at a time: their sums stay in registers while a row's states are read. Unsigned
    # positions spare the test for negative ones.
    n_cells, n_columns = out.shape[0], codes.shape[1]
    place = np.empty(n_columns, dtype=np.uint64)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(begin, end):
        n = 0
        for j in range(n_columns):
            code = codes[i, j]
            place[n] = np.uint64((start[j] + code) * width)
            n += code >= 0
        for k in range(0, width, 4):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                at = place[j] + np.uint64(k)
                a += table[at]
                b += table[at + one]
                c += table[at + two]
                d += table[at + three]
            _add_four(out, k, n_cells, i, a, b, c, d)


@numba.njit(cache=True, nogil=True)
def _add_four(
    out: Floats, k: int, n_cells: int, i: int, a: float, b: float, c: float, d: float
) -> None:
    out[k, i] += a
    if k + 1 < n_cells:
        out[k + 1, i] += b
    if k + 2 < n_cells:
        out[k + 2, i] += c
    if k + 3 < n_cells:
        out[k + 3, i] += d


@numba.njit(cache=True, nogil=True)
def _add_sparse(
    out: Floats,
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: NDArray[Any],
    table: Floats,
    width: int,
    begin: int,
    end: int,
) -> None:
    n_cells = out.shape[0]
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(begin, end):
        for k in range(0, width, 4):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for entry in range(indptr[i], indptr[i + 1]):
                at = np.uint64(indices[entry]) * np.uint64(width) + np.uint64(k)
                value = data[entry]
                a += value * table[at]
                b += value * table[at + one]
                c += value * table[at + two]
                d += value * table[at + three]
            _add_four(out, k, n_cells, i, a, b, c, d)


@numba.njit(cache=True, nogil=True)
def _add_dirichlet(
    out: Floats,
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    data: Floats,
    concentration: Floats,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        for entry in range(indptr[i], indptr[i + 1]):
            x = data[entry]
            row = concentration[indices[entry]]
            for cell in range(out.shape[0]):
                out[cell, i] += math.lgamma(row[cell] + x) - math.lgamma(row[cell])


# Beyond so many bandwidths a Gaussian kernel is below 1e-16 of its peak.
_REACH = 8.6


@numba.njit(cache=True, nogil=True)
def _add_kernel_densities(
    out: Floats,
    values: Floats,
    points: Floats,
    weights: Floats,
    stops: NDArray[np.int64],
    bandwidth: Floats,
    begin: int,
    end: int,
) -> None:
    n_cells = out.shape[0]
    for j in range(values.shape[1]):
        for cell in range(n_cells):
            first, last = stops[j * n_cells + cell], stops[j * n_cells + cell + 1]
            near = points[first:last]
            mass = weights[first:last]
            h = bandwidth[cell, j]
            constant = -math.log(mass.sum() * h) - 0.5 * LOG_2PI
            for i in range(begin, end):
                x = values[i, j]
                if x != x:
                    continue
                # The nearest point sets the scale, so that far from all points nothing underflows.
                at = np.searchsorted(near, x)
                gap = math.inf
                if at < len(near):
                    gap = near[at] - x
                if at > 0:
                    gap = min(gap, x - near[at - 1])
                gap /= h
                # Terms below 1e-16 of the nearest one's: z^2 > gap^2 + reach^2.
                reach = h * math.sqrt(gap * gap + _REACH * _REACH)
                total = 0.0
                k = at
                while k < len(near) and near[k] - x <= reach:
                    z = (near[k] - x) / h
                    total += mass[k] * math.exp(0.5 * (gap * gap - z * z))
                    k += 1
                k = at - 1
                while k >= 0 and x - near[k] <= reach:
                    z = (near[k] - x) / h
                    total += mass[k] * math.exp(0.5 * (gap * gap - z * z))
                    k -= 1
                out[cell, i] += constant + math.log(total) - 0.5 * gap * gap


@numba.njit(cache=True, nogil=True)
def _add_marginal_gaussians(
    out: Floats,
    values: Floats,
    rows: NDArray[np.intp],
    start: NDArray[np.intp],
    mean: Floats,
    scale: Floats,
    correlation: Floats,
    begin: int,
    end: int,
) -> None:
    d = values.shape[1]
    seen = np.empty(d, dtype=np.int64)
    factor = np.empty((d, d))
    # Observed children first, rows last: one substitution serves several rows.
    z = np.empty((d, _ROWS))
    for pattern in range(begin, end):
        members = rows[start[pattern] : start[pattern + 1]]
        p = 0
        for j in range(d):
            if values[members[0], j] == values[members[0], j]:
                seen[p] = j
                p += 1
        constant = 0.0
        for cell in range(out.shape[0]):
            kind = min(cell, len(correlation) - 1)
            if cell == kind:
                constant = -0.5 * p * LOG_2PI
                for i in range(p):
                    for j in range(i + 1):
                        total = correlation[kind, seen[i], seen[j]]
                        for k in range(j):
                            total -= factor[i, k] * factor[j, k]
                        factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
                    constant -= math.log(factor[i, i]) + math.log(scale[kind, seen[i]])
            for first in range(0, len(members), _ROWS):
                block = members[first : first + _ROWS]
                n = len(block)
                for i in range(p):
                    j = seen[i]
                    for r in range(n):
                        z[i, r] = (values[block[r], j] - mean[cell, j]) / scale[kind, j]
                    for k in range(i):
                        slope = factor[i, k]
                        for r in range(n):
                            z[i, r] -= slope * z[k, r]
                    for r in range(n):
                        z[i, r] /= factor[i, i]
                for r in range(n):
                    total = 0.0
                    for i in range(p):
                        total += z[i, r] * z[i, r]
                    out[cell, block[r]] += constant - 0.5 * total
