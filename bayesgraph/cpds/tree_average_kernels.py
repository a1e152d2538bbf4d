"""Kernels of averages of trees."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats

# Arrays of the trees: the roots; the parent variable that each node splits on (-1 at leaves); the
# groups of states that go left, as bits; the left child node of a split, which the right one
# follows, and the row of `values` at a leaf.
TreesArrays: TypeAlias = tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]
]

# Number of rows that go through one tree after the other, so that each tree is read once for all.
_BLOCK = 128


def _descents(
    out: Floats, codes: NDArray[np.int16], trees: TreesArrays, depth: int, *_: object
) -> int:
    return int(codes.shape[1] * len(trees[0]) * max(depth, 1))


@kernel(work=_descents)
def add_average(
    out: Floats,
    codes: NDArray[np.int16],
    trees: TreesArrays,
    depth: int,
    share: Floats,
    values: Floats,
    child: NDArray[np.int64],
) -> None:
    """Add the log of the mean of the trees' probabilities to `out`.

    Parameters
    ----------
    out : ndarray, shape (n_states, n_rows), or (1, n_rows) where the child is observed
    codes : ndarray of int16, shape (n_parents, n_rows)
        Groups of the parents' states; a row takes both branches where they are negative.
    trees : see TreesArrays
    depth : int
        Maximum number of splits on a path.
    share : ndarray, shape (n_nodes,)
        Weight of the left branch where the parent is missing.
    values : ndarray, shape (n_leaves, n_states)
        Distribution of the child at each leaf.
    child : ndarray of int64, shape (n_rows,), or (0,) if the child is free
        State codes of the child; -1 adds 0.
    """
    roots, feature, states, below = trees
    n_rows, n_states = codes.shape[1], values.shape[1]
    nodes, weights = np.empty(depth + 2, dtype=np.int64), np.empty(depth + 2)
    total = np.empty((_BLOCK, n_states))
    is_free = len(child) == 0
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        total[:] = 0.0
        for root in roots:
            for i in range(start, stop):
                nodes[0], weights[0], top = root, 1.0, 1
                while top > 0:
                    top -= 1
                    node, weight = nodes[top], weights[top]
                    while feature[node] >= 0:
                        code = codes[feature[node], i]
                        if code >= 0:
                            node = below[node] + 1 - (states[node] >> code & 1)
                            continue
                        left = share[node]
                        if left < 1.0:
                            if left > 0.0:
                                nodes[top], weights[top] = below[node] + 1, weight * (1.0 - left)
                                top += 1
                                weight *= left
                                node = below[node]
                            else:
                                node = below[node] + 1
                        else:
                            node = below[node]
                    leaf = below[node]
                    for c in range(n_states):
                        total[i - start, c] += weight * values[leaf, c]
        for i in range(start, stop):
            if is_free:
                for c in range(n_states):
                    out[c, i] += np.log(total[i - start, c] / len(roots))
            elif child[i] >= 0:
                out[0, i] += np.log(total[i - start, child[i]] / len(roots))


@kernel()
def left_shares(place: int, shares: Floats, trees: TreesArrays, out: Floats) -> None:
    """Write the probability of the left branch at each split on a missing parent.

    It is conditional on the branches taken at earlier splits on the path.

    Parameters
    ----------
    place : int
        Index of the parent.
    shares : ndarray, shape (n_groups,)
        Distribution of the parent's groups of states.
    trees : see TreesArrays
    out : ndarray, shape (n_nodes,)
        Unchanged at splits on other parents. It is 0.5 at splits that are never reached.
    """
    _, feature, states, below = trees
    # The groups that reach each node; a node precedes its child nodes.
    reached = np.full(len(feature), -1, dtype=np.int64)
    for node in range(len(feature)):
        if feature[node] < 0:
            continue
        left, right = reached[node], reached[node]
        if feature[node] == place:
            left, right = left & states[node], right & ~states[node]
            both, on_left = 0.0, 0.0
            for g in range(len(shares)):
                if reached[node] >> g & 1:
                    both += shares[g]
                    if states[node] >> g & 1:
                        on_left += shares[g]
            out[node] = on_left / both if both > 0.0 else 0.5
        reached[below[node]], reached[below[node] + 1] = left, right


@kernel()
def leaves_of(codes: NDArray[np.int16], root: int, trees: TreesArrays) -> NDArray[np.int64]:
    """Return the leaf of one tree that each row reaches, shape (n_rows,); no value is missing."""
    _, feature, states, below = trees
    out = np.empty(codes.shape[1], dtype=np.int64)
    for i in range(codes.shape[1]):
        node = root
        while feature[node] >= 0:
            node = below[node] + 1 - (states[node] >> codes[feature[node], i] & 1)
        out[i] = below[node]
    return out
