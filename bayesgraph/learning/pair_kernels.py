"""Loops over pairs of columns: their information, and spanning trees."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


@kernel()
def listed_information(
    cells: Floats,
    shapes: NDArray[np.int64],
    n_groups: int,
    scores: Floats,
    rows: Floats,
) -> None:
    """Write the information I(X; Y | C) and the weight of the rows of each pair of columns.

    Parameters
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (n_groups, shapes[p, 0], shapes[p, 1]), one after the other.
    shapes : ndarray, shape (n_pairs, 2)
        Numbers of states of X and Y.
    n_groups : int
        Number of states of C.
    scores, rows : ndarray, shape (n_pairs,)
    """
    at = 0
    of_y = np.empty(shapes.max() if len(shapes) else 0)
    for p in range(len(shapes)):
        r, s = shapes[p]
        size = n_groups * r * s
        scores[p], rows[p] = table_information(cells[at : at + size], n_groups, r, s, of_y)
        at += size


@kernel()
def table_information(
    cells: Floats, n_groups: int, r: int, s: int, of_y: Floats
) -> tuple[float, float]:
    """Return I(X; Y | C), as `conditional_mutual_information`, and the sum of the counts.

    `cells` has the counts of a table of shape (n_groups, r, s), in C order; `of_y`, of at least s
    entries, is overwritten.
    """
    found = total = 0.0
    for c in range(n_groups):
        table = cells[c * r * s : (c + 1) * r * s]
        of_y[:s] = 0.0
        for x in range(r):
            for y in range(s):
                of_y[y] += table[x * s + y]
        given = 0.0
        for y in range(s):
            given += of_y[y]
        total += given
        for y in range(s):
            of_y[y] = given / of_y[y] if of_y[y] > 0.0 else 0.0
        for x in range(r):
            of_x = 0.0
            for y in range(s):
                of_x += table[x * s + y]
            for y in range(s):
                n = table[x * s + y]
                if n > 0.0:
                    # Quotients before products: products may exceed the range of floats.
                    found += n * math.log((n / of_x) * of_y[y])
    return (max(found / total, 0.0) if total > 0.0 else 0.0), total


@kernel()
def spanning_forest(weights: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges i < j of a maximum spanning forest of a complete graph (Prim 1957).

    Of two edges of the same weight the one with the lower i, then j, is the heavier one, so that
    there is only one such forest.

    Parameters
    ----------
    weights : ndarray, shape (n, n)
        Weight of each edge at [i, j] with i < j; minus infinity where there is no edge.
    """
    n = len(weights)
    inside = np.zeros(n, dtype=np.bool_)
    best = np.full(n, -np.inf)  # the heaviest edge from each node to those inside
    left, right = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    found_left, found_right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_found = 0
    for _ in range(n):
        at = -1
        for v in range(n):
            if not inside[v] and (
                at < 0
                or best[v] > best[at]
                or (best[v] == best[at] and (left[v], right[v]) < (left[at], right[at]))
            ):
                at = v
        inside[at] = True
        if best[at] > -np.inf:
            found_left[n_found], found_right[n_found] = left[at], right[at]
            n_found += 1
        for v in range(n):
            if not inside[v]:
                i, j = min(at, v), max(at, v)
                w = weights[i, j]
                if w > best[v] or (w == best[v] and w > -np.inf and (i, j) < (left[v], right[v])):
                    best[v], left[v], right[v] = w, i, j
    return found_left[:n_found], found_right[:n_found]
