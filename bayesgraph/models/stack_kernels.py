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
    places : tuple (place, first, first_slope)
    density : tuple (start, mean, scale, constant, slopes)
        The parameters and their layout; see `LinearStack`.
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
            entry[:n] = 0
            for at in range(first_choice[k], first_choice[k + 1]):
                step, code = stride[at] * n_cells, codes[choice[at], begin : begin + n]
                for i in range(n):
                    entry[i] += step * code[i]
            child = columns[place[first[k]], begin : begin + n]
            n_parents = first[k + 1] - first[k] - 1
            for cell in range(n_cells):
                target = out[cell, begin : begin + n]
                own = start[k] + cell
                if n_parents == 1 and first_choice[k] == first_choice[k + 1]:
                    # The arcs of a tree of numbers, without a choice of parameters.
                    parent = columns[place[first[k] + 1], begin : begin + n]
                    m, s, c, b = mean[own], scale[own], constant[own], slopes[first_slope[k] + cell]
                    for i in range(n):
                        z = (child[i] - m - b * parent[i]) * s
                        added = c - 0.5 * z * z
                        target[i] += added if added == added else 0.0
                    continue
                means = mean[own:]
                for i in range(n):
                    residual[i] = child[i] - means[entry[i]]
                for j in range(n_parents):
                    loading = slopes[first_slope[k] + cell * n_parents + j :]
                    parent = columns[place[first[k] + 1 + j], begin : begin + n]
                    for i in range(n):
                        residual[i] -= loading[entry[i] * n_parents] * parent[i]
                scales, constants = scale[own:], constant[own:]
                for i in range(n):
                    z = residual[i] * scales[entry[i]]
                    added = constants[entry[i]] - 0.5 * z * z
                    target[i] += added if added == added else 0.0
