"""Loops over the arcs of a graph: its paths, and the best change by one arc."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

DROP, ADD, REVERSE = range(3)


@kernel()
def best_change(
    gains: Floats,
    arcs: NDArray[np.bool_],
    paths: NDArray[np.bool_],
    forced: NDArray[np.bool_],
    full: NDArray[np.bool_],
    unit: float,
    marks: NDArray[np.int64],
    graph: int,
    last: NDArray[np.int64],
) -> tuple[float, int, int, int]:
    """Return the gain by the best change that leads to none of the last graphs, and the change.

    Gains are rounded to a unit; of equal ones removals come first, then additions, then reversals,
    and each in the order of the arcs.

    Parameters
    ----------
    gains : ndarray, shape (2, d, d)
        Gain by removing (first) or adding each arc, parents along the second axis; -inf where that
        cannot be.
    arcs : ndarray of bool, shape (d, d)
        The arcs of the graph, parents along the first axis.
    paths : ndarray of bool, shape (d, d)
        Whether there is a directed path from i to j; True on the diagonal.
    forced : ndarray of bool, shape (d, d)
        Required arcs.
    full : ndarray of bool, shape (d,)
        Whether a column has the maximum number of parents.
    unit : float
    marks : ndarray of int, shape (d, d)
        A graph is known by the exclusive or of the marks of its arcs (Zobrist 1970).
    graph : int
        Mark of the graph.
    last : ndarray of int, one-dimensional
        Marks of the last graphs.

    Returns
    -------
    gain : float
        In units; minus infinity if no change is possible.
    kind, parent, child : int
    """
    d = len(full)
    best, found = -np.inf, (0, 0, 0)
    for kind in range(3):
        for p in range(d):
            for c in range(d):
                if kind == ADD:
                    if paths[c, p] or full[c]:
                        continue
                    gain = gains[ADD, p, c]
                else:
                    if not arcs[p, c] or forced[p, c]:
                        continue
                    gain = gains[DROP, p, c]
                    if kind == REVERSE:
                        if full[p]:
                            continue
                        gain += gains[ADD, c, p]
                gain = np.rint(gain / unit)
                if not gain > best:
                    continue
                after = graph ^ marks[p, c]
                if kind == REVERSE:
                    if _has_detour(arcs, paths, p, c):
                        continue
                    after ^= marks[c, p]
                met = False
                for one in last:
                    met |= one == after
                if not met:
                    best, found = gain, (kind, p, c)
    return best, found[0], found[1], found[2]


@kernel()
def _has_detour(arcs: NDArray[np.bool_], paths: NDArray[np.bool_], p: int, c: int) -> bool:
    """Return whether a path leads from p to c besides the arc between them."""
    found = False
    for q in range(len(arcs)):
        found |= q != p and arcs[q, c] and paths[p, q]
    return found


@kernel()
def reach(arcs: NDArray[np.bool_], paths: NDArray[np.bool_]) -> None:
    """Write whether a directed path leads from i to j, True on the diagonal.

    Parameters
    ----------
    arcs : ndarray of bool, shape (d, d)
        Those of an acyclic graph, parents along the first axis.
    paths : ndarray of bool, shape (d, d)
        Overwritten.
    """
    d = len(arcs)
    waiting, ready = np.zeros(d, np.int64), np.empty(d, np.int64)
    n_ready = 0
    for p in range(d):
        for c in range(d):
            waiting[p] += arcs[p, c]
            paths[p, c] = p == c
        if not waiting[p]:
            ready[n_ready] = p
            n_ready += 1
    while n_ready:
        n_ready -= 1
        c = ready[n_ready]
        for p in range(d):
            if arcs[p, c]:
                for i in range(d):
                    paths[p, i] |= paths[c, i]
                waiting[p] -= 1
                if not waiting[p]:
                    ready[n_ready] = p
                    n_ready += 1
