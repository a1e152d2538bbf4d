"""Compiled loops over rows that add log potentials to an accumulator.

The accumulator is (cells, n_rows): rows are contiguous. Each public function checks nothing; the
CPDs that call them have done so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import LOG_2PI, Floats


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
