"""Kernels that add log potentials of rows.

The accumulator `out` has shape (cells, n_rows), rows contiguous in memory. A cell is a joint
configuration of the free discrete variables, usually of the class or the parents. The functions do
not check their arguments: the CPDs that call them do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats
from bayesgraph.core.compilation import kernel
from bayesgraph.core.parallel import by_rows

# ----------------------------------------------------------------------- The children of one plate


# Numbers of rows and columns of a block, which stays in the first-level cache.
_ROWS = 128
_COLUMNS = 64


def add_gaussians(out: Floats, values: Floats, mean: Floats, variance: Floats) -> None:
    """Add the Gaussian log densities of many independent children to `out`; NaN adds 0.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    values : ndarray, shape (n_rows, m)
    mean, variance : ndarray, shape (cells, m)
    """
    scale = 1.0 / np.sqrt(variance)
    constant = -0.5 * (np.log(variance) + LOG_2PI)
    by_rows(_add_gaussians, (out, values, mean, scale, constant), len(values), mean.size)


def padded_rows(table: Floats) -> Floats:
    """Return the transpose of a (cells, m) table, padded with zeros to a multiple of 4 columns."""
    cells, m = table.shape
    padded = np.zeros((m, -(-cells // 4) * 4))
    padded[:, :cells] = table.T
    return padded


def add_states(out: Floats, codes: NDArray[Any], start: NDArray[np.int64], table: Floats) -> None:
    """Add the log probabilities of discrete children's states to `out`; a negative code adds 0.

    The entry of child j is ``table[start[j] + codes[:, j]]``.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    codes : ndarray of integers, shape (n_rows, m)
    start : ndarray, shape (m,)
        Row of `table` at which the states of each child start.
    table : ndarray, shape (states of all children, cells rounded up to a multiple of 4)
        Log probabilities.
    """
    by_rows(
        _add_states,
        (out, codes, start, table.reshape(-1), table.shape[1]),
        len(codes),
        2 * codes.shape[1],
    )


def _cells_of_rows(out: Floats, values: NDArray[Any], *others: Any) -> int:
    """Return the number of products of values and cells; rows are from second to last argument."""
    return len(out) * values.shape[1] * int(others[-1] - others[-2])


@kernel(work=_cells_of_rows)
def _add_gaussians(
    out: Floats,
    values: Floats,
    mean: Floats,
    scale: Floats,
    constant: Floats,
    begin: int,
    end: int,
) -> None:
    """Add the log densities of the rows from `begin` to `end`; see `add_gaussians`.

    `scale` has reciprocal standard deviations, and `constant` the log densities at the means, both
    of shape (cells, m).
    """
    n_columns = values.shape[1]
    # Transposed, so that the loops over rows read neighbours, and vector instructions serve.
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
                    missing += value != value  # NaN
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
                            target[i] += added if added == added else 0.0  # NaN: missing


@kernel(work=_cells_of_rows)
def _add_states(
    out: Floats,
    codes: NDArray[np.integer],
    start: NDArray[np.int64],
    table: Floats,
    width: int,
    begin: int,
    end: int,
) -> None:
    """Add the log probabilities of the rows from `begin` to `end`; see `add_states`.

    `table` is flat, with `width` entries for each state.
    """
    # Four cells at a time: their sums stay in registers while a row's states are read. Unsigned
    # indices need no test for negative values.
    n_cells, n_columns = out.shape[0], codes.shape[1]
    place = np.empty(n_columns, dtype=np.uint64)  # offset in `table` of each observed state
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(begin, end):
        n = 0
        for j in range(n_columns):
            # A missing value, of a negative code, is overwritten by the next column.
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
            sums = a, b, c, d
            for cell in range(k, min(k + 4, n_cells)):
                out[cell, i] += sums[cell - k]


# Number of bandwidths beyond which a Gaussian kernel is below 1e-16 of its peak.
_REACH = 8.6


@kernel(work=lambda out, values, points, *_: len(values) * len(points))
def add_kernel_densities(
    out: Floats,
    values: Floats,
    points: Floats,
    weights: Floats,
    stops: NDArray[np.int64],
    bandwidth: Floats,
    begin: int,
    end: int,
) -> None:
    """Add the logs of Gaussian kernel density estimates to `out`; NaN adds 0.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    values : ndarray, shape (n_rows, m)
    points, weights : ndarray, shape (n_points,)
        Points of all density estimates: all cells of the first child, then of the second, and so
        on. Points ascend within each cell.
    stops : ndarray, shape (m * cells + 1,)
        Offsets at which the points of each density estimate start and end.
    bandwidth : ndarray, shape (cells, m)
    begin, end : int
        Range of the rows.
    """
    n_cells = out.shape[0]
    for j in range(values.shape[1]):
        for cell in range(n_cells):
            first, last = stops[j * n_cells + cell], stops[j * n_cells + cell + 1]
            centres = points[first:last]
            mass = weights[first:last]
            h = bandwidth[cell, j]
            constant = -math.log(mass.sum() * h) - 0.5 * LOG_2PI
            for i in range(begin, end):
                x = values[i, j]
                if x != x:
                    continue
                # Terms are relative to the nearest point's, so that far values do not underflow.
                at = np.searchsorted(centres, x)
                gap = math.inf
                if at < len(centres):
                    gap = centres[at] - x
                if at > 0:
                    gap = min(gap, x - centres[at - 1])
                nearest = gap
                gap /= h
                if gap * gap == math.inf:  # the density is zero
                    out[cell, i] = -math.inf
                    continue
                # Terms with z^2 > gap^2 + _REACH^2 are below 1e-16 of the nearest point's term,
                # which is within reach whatever is rounded.
                reach = max(nearest, h * math.sqrt(gap * gap + _REACH * _REACH))
                total = 0.0
                k = at
                while k < len(centres) and centres[k] - x <= reach:
                    z = (centres[k] - x) / h
                    total += mass[k] * math.exp(0.5 * (gap * gap - z * z))
                    k += 1
                k = at - 1
                while k >= 0 and x - centres[k] <= reach:
                    z = (centres[k] - x) / h
                    total += mass[k] * math.exp(0.5 * (gap * gap - z * z))
                    k -= 1
                out[cell, i] += constant + math.log(total) - 0.5 * gap * gap


@kernel()
def add_histogram(
    out: Floats, x: Floats, edges: Floats, log_density: Floats, exponent: float
) -> None:
    """Add log densities of a histogram with power-law tails to `out`; NaN adds 0.

    Parameters
    ----------
    out : ndarray, shape (n_rows,)
    x : ndarray, shape (n_rows,)
    edges : ndarray, shape (n_cells + 1,)
        Increasing; a value on an edge belongs to the cell below, the first edge to the first cell.
    log_density : ndarray, shape (n_cells + 2,)
        Log densities of the lower tail at the first edge, of each cell between edges, and of the
        upper tail at the last edge.
    exponent : float
        Exponent of the tails, whose scale is the range of the edges.
    """
    last = len(edges) - 1
    scale = edges[last] - edges[0]
    for i in range(len(x)):
        value = x[i]
        if value != value:
            continue
        if value < edges[0]:
            out[i] += log_density[0] - exponent * np.log1p((edges[0] - value) / scale)
        elif value > edges[last]:
            out[i] += log_density[last + 1] - exponent * np.log1p((value - edges[last]) / scale)
        else:
            low, high = 0, last  # edges[low] < value <= edges[high], except at the first edge
            while high - low > 1:
                middle = (low + high) // 2
                if edges[middle] < value:
                    low = middle
                else:
                    high = middle
            out[i] += log_density[high]


@kernel(work=lambda out, values, *_: out.size * values.shape[1] ** 2)
def add_marginal_gaussians(
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
    """Add the log density of each row's observed children, which are jointly Gaussian, to `out`.

    Missing children are integrated out.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    values : ndarray, shape (n_rows, d)
        NaN where missing.
    rows : ndarray, shape (m,)
        Indices of the rows to process; rows of the same missing pattern are adjacent.
    start : ndarray, shape (n_patterns + 1,)
        Offset in `rows` at which each pattern starts.
    mean : ndarray, shape (cells, d)
    scale : ndarray, shape (1 or cells, d)
        Standard deviations.
    correlation : ndarray, shape (1 or cells, d, d)
    begin, end : int
        Range of the patterns.
    """
    d = values.shape[1]
    observed = np.empty(d, dtype=np.int64)
    factor = np.empty((d, d))
    # One row for each observed child: forward substitution treats a block of rows at once.
    z = np.empty((d, _ROWS))
    for pattern in range(begin, end):
        members = rows[start[pattern] : start[pattern + 1]]
        p = 0
        for j in range(d):
            if values[members[0], j] == values[members[0], j]:  # not NaN
                observed[p] = j
                p += 1
        constant = 0.0
        for cell in range(out.shape[0]):
            # One correlation matrix for each cell, or the first one for all: it is factorised once.
            kind = min(cell, len(correlation) - 1)
            if cell == kind:
                # The Cholesky factor of the correlations of observed children, row by row.
                constant = -0.5 * p * LOG_2PI
                for i in range(p):
                    for j in range(i + 1):
                        total = correlation[kind, observed[i], observed[j]]
                        for k in range(j):
                            total -= factor[i, k] * factor[j, k]
                        factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
                    constant -= math.log(factor[i, i]) + math.log(scale[kind, observed[i]])
            for first in range(0, len(members), _ROWS):
                block = members[first : first + _ROWS]
                n = len(block)
                # Forward substitution: the factor times z is the standardised row, and the squares
                # of z sum to the squared Mahalanobis distance.
                for i in range(p):
                    j = observed[i]
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


# ------------------------------------------------------------------------------------ Several CPDs


# The work is the number of entries that are added to rows; `width` is the second to last argument.
@kernel(work=lambda out, *others: out.size * len(others[-2]))
def add_tables(
    out: Floats,
    columns: NDArray[np.integer],
    place: NDArray[np.int64],
    stride: NDArray[np.int64],
    first: NDArray[np.int64],
    width: NDArray[np.int64],
    values: Floats,
) -> None:
    """Look up each row's states in several log tables, and add the entries to `out`.

    A table adds 0 to a row in which the table's last variable is missing.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    columns : ndarray of integers, shape (n_variables, n_rows)
        State codes of the observed variables.
    place, stride, first, width, values
        The tables and their layout; see `TableStack`.
    """
    n_cells, n_rows = out.shape
    index = np.empty(_ROWS, dtype=np.int64)
    for begin in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - begin)
        start = 0  # of the row of `values` for a table and a cell
        for k in range(len(width)):
            # The index in the table's row: the last variable, of stride 1, then strides times codes
            # of the others. It stays negative where the last one is missing.
            last = columns[place[first[k + 1] - 1], begin : begin + n]
            for i in range(n):
                index[i] = last[i]
            for at in range(first[k], first[k + 1] - 1):
                step, code = stride[at], columns[place[at], begin : begin + n]
                for i in range(n):
                    index[i] += step * code[i] if index[i] >= 0 else 0
            for cell in range(n_cells):
                row = values[start : start + width[k]]
                target = out[cell, begin : begin + n]
                start += width[k]
                for i in range(n):
                    if index[i] >= 0:
                        target[i] += row[index[i]]


@kernel(error_model="numpy")
def add_linear(
    out: Floats,
    codes: NDArray[np.integer],
    columns: Floats,
    choices: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    places: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    density: tuple[NDArray[np.int64], Floats, Floats, Floats, Floats],
) -> None:
    """Add the log densities of linear Gaussians that each row's states select; NaN adds 0.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    codes : ndarray of integers, shape (n_discrete, n_rows)
        State codes of the observed discrete parents, not negative.
    columns : ndarray, shape (n_continuous, n_rows)
        Values of the children and their continuous parents.
    choices : tuple (choice, stride, first_choice)
        Rows of `codes`, their strides in configurations, and where those of each Gaussian start.
    places : tuple (place, first, first_slope)
        Rows of `columns`: of each Gaussian the child, then its parents; where those of each
        Gaussian start, and its slopes.
    density : tuple (start, mean, scale, constant, slopes)
        Where the parameters of each Gaussian start, and these: for each configuration of its
        observed discrete parents an entry for each cell, in `slopes` one for each parent. `mean`
        has intercepts, `scale` reciprocal standard deviations, and `constant` log densities at the
        mean.
    """
    choice, stride, first_choice = choices
    place, first, first_slope = places
    start, mean, scale, constant, slopes = density
    n_cells, n_rows = out.shape
    entry = np.empty(_ROWS, dtype=np.int64)
    residual = np.empty(_ROWS)
    for begin in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - begin)
        for k in range(len(first) - 1):
            # The entry of a row counts from that of the first configuration and the same cell.
            entry[:n] = 0
            for j in range(first_choice[k], first_choice[k + 1]):
                step, code = stride[j] * n_cells, codes[choice[j], begin : begin + n]
                for i in range(n):
                    entry[i] += step * code[i]
            child = columns[place[first[k]], begin : begin + n]
            n_parents = first[k + 1] - first[k] - 1
            for cell in range(n_cells):
                target = out[cell, begin : begin + n]
                offset = start[k] + cell
                if n_parents == 1 and first_choice[k] == first_choice[k + 1]:
                    # An arc of a tree of numbers: the same parameters for all rows, in one loop.
                    parent = columns[place[first[k] + 1], begin : begin + n]
                    m, s, c = mean[offset], scale[offset], constant[offset]
                    b = slopes[first_slope[k] + cell]
                    for i in range(n):
                        z = (child[i] - m - b * parent[i]) * s
                        added = c - 0.5 * z * z
                        target[i] += added if added == added else 0.0
                    continue
                means, scales, constants = mean[offset:], scale[offset:], constant[offset:]
                for i in range(n):
                    residual[i] = child[i] - means[entry[i]]
                for j in range(n_parents):
                    loadings = slopes[first_slope[k] + cell * n_parents + j :]
                    parent = columns[place[first[k] + 1 + j], begin : begin + n]
                    for i in range(n):
                        residual[i] -= loadings[entry[i] * n_parents] * parent[i]
                for i in range(n):
                    z = residual[i] * scales[entry[i]]
                    added = constants[entry[i]] - 0.5 * z * z
                    target[i] += added if added == added else 0.0  # NaN: a number is missing


# --------------------------------------------------------------------------- Numbers beyond limits


@kernel()
def are_outside(values: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Return whether a column has a number below its lower or above its upper limit; NaN is none.

    Parameters
    ----------
    values : ndarray, shape (n_rows, m)
    low, high : ndarray, shape (m,)
    """
    outside = np.zeros(len(low), np.bool_)
    for row in range(len(values)):
        for j in range(len(low)):
            outside[j] |= (values[row, j] < low[j]) | (values[row, j] > high[j])
    return outside
