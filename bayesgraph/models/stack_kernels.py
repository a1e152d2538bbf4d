"""Kernels that add several tables, or several linear Gaussians, to the log potentials of rows.

See `kernels` for the accumulator `out`. The functions do not check their arguments: the stacks of
CPDs that call them do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Number of rows of a block, which stays in the first-level cache.
_ROWS = 128


def _entries_added(out: Floats, *others: Any) -> int:
    """Return the number of table entries that are added to rows; `width` is second to last."""
    return out.size * len(others[-2])


@kernel(work=_entries_added)
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
        start = 0
        for k in range(len(width)):
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


@kernel()
def add_linear(
    out: Floats,
    columns: Floats,
    place: NDArray[np.int64],
    first: NDArray[np.int64],
    mean: Floats,
    scale: Floats,
    constant: Floats,
    slopes: Floats,
) -> None:
    """Add the log densities of several linear Gaussians to `out`; NaN adds 0.

    Parameters
    ----------
    out : ndarray, shape (cells, n_rows)
    columns : ndarray, shape (n_variables, n_rows)
        Values of the children and their continuous parents.
    place, first, mean, scale, constant, slopes
        The parameters and their layout; see `LinearStack`.
    """
    n_cells, n_rows = out.shape
    centre = np.empty(_ROWS)
    for begin in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - begin)
        for k in range(len(mean)):
            child = columns[place[first[k]], begin : begin + n]
            n_parents = first[k + 1] - first[k] - 1
            for cell in range(n_cells):
                target = out[cell, begin : begin + n]
                m, s, c = mean[k, cell], scale[k, cell], constant[k, cell]
                if n_parents <= 1:
                    # Without a parent, the child's column is read as the parent's, with slope 0.
                    slope = slopes[cell, first[k] + n_parents]
                    parent = columns[place[first[k] + n_parents], begin : begin + n]
                    for i in range(n):
                        z = (child[i] - m - slope * parent[i]) * s
                        added = c - 0.5 * z * z
                        target[i] += added if added == added else 0.0
                else:
                    centre[:n] = m
                    for at in range(first[k] + 1, first[k + 1]):
                        slope, parent = slopes[cell, at], columns[place[at], begin : begin + n]
                        for i in range(n):
                            centre[i] += slope * parent[i]
                    for i in range(n):
                        z = (child[i] - centre[i]) * s
                        added = c - 0.5 * z * z
                        target[i] += added if added == added else 0.0


@kernel(error_model="numpy")
def add_selected_linear(
    out: Floats,
    codes: NDArray[np.integer],
    columns: Floats,
    choices: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    density: tuple[NDArray[np.int64], Floats, Floats, Floats],
    slopes: tuple[NDArray[np.int64], Floats],
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
    places : tuple (place, first)
    density : tuple (start, mean, scale, constant)
    slopes : tuple (first_slope, slopes)
        The parameters and their layout; see `SelectedLinearStack`.
    """
    choice, stride, first_choice = choices
    place, first = places
    start, mean, scale, constant = density
    first_slope, slope = slopes
    n_cells, n_rows = out.shape
    index = np.empty(_ROWS, dtype=np.int64)
    for begin in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - begin)
        for k in range(len(first) - 1):
            index[:n] = 0
            for at in range(first_choice[k], first_choice[k + 1]):
                step, code = stride[at], codes[choice[at], begin : begin + n]
                for i in range(n):
                    index[i] += step * code[i]
            child = columns[place[first[k]], begin : begin + n]
            n_parents = first[k + 1] - first[k] - 1
            for cell in range(n_cells):
                target = out[cell, begin : begin + n]
                for i in range(n):
                    own = index[i] * n_cells + cell
                    entry = start[k] + own
                    residual = mean[entry] - child[i]
                    for j in range(n_parents):
                        loading = slope[first_slope[k] + own * n_parents + j]
                        residual += loading * columns[place[first[k] + 1 + j], begin + i]
                    z = residual / scale[entry]
                    added = constant[entry] - 0.5 * (z * z)
                    target[i] += added if added == added else 0.0


@kernel(error_model="numpy")
def add_in_turns(
    out: Floats,
    codes: NDArray[np.integer],
    columns: Floats,
    turns: NDArray[np.int64],
    tables: tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Floats
    ],
    gaussians: tuple[
        tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        tuple[NDArray[np.int64], NDArray[np.int64]],
        tuple[NDArray[np.int64], Floats, Floats, Floats],
        tuple[NDArray[np.int64], Floats],
    ],
) -> None:
    """Add the log potentials of tables and of linear Gaussians to `out`, some of each in turn.

    Parameters
    ----------
    out, codes, columns
        See `add_tables` and `add_selected_linear`.
    turns : ndarray, shape (n_turns, 4)
        The tables of each turn, from the first to behind the last, then its Gaussians so.
    tables, gaussians : tuple
        The arguments of the two kernels.
    """
    place, stride, first, width, values = tables
    choices, (place_of, first_of), (start, mean, scale, constant), (first_slope, slope) = gaussians
    choice, step, first_choice = choices
    at = 0
    for turn in range(len(turns)):
        a, b, c, d = turns[turn]
        if b > a:
            add_tables(out, codes, place, stride, first[a : b + 1], width[a:b], values[at:])
            for k in range(a, b):
                at += len(out) * width[k]
        if d > c:
            add_selected_linear(
                out,
                codes,
                columns,
                (choice, step, first_choice[c : d + 1]),
                (place_of, first_of[c : d + 1]),
                (start[c : d + 1], mean, scale, constant),
                (first_slope[c : d + 1], slope),
            )
