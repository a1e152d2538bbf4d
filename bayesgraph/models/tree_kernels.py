"""Kernels that send rows down the tree of a local distribution.

See `kernels` for the accumulator `out`. The functions do not check their arguments: `TreeCPD` does.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Arrays of a tree: the index of the parent variable that each node splits on (-1 at leaves);
# whether each parent variable is discrete; the threshold of each node; the mask of states that go
# left at each node; the indices of the left and the right child node, greater than the node's own.
TreeArrays: TypeAlias = tuple[
    NDArray[np.int64],
    NDArray[np.bool_],
    Floats,
    NDArray[np.bool_],
    NDArray[np.int64],
    NDArray[np.int64],
]


def _paths(out: Floats, columns: Floats, tree: TreeArrays, depth: int, *_: Any) -> int:
    """Return the maximum number of splits and amounts that the rows of a tree meet."""
    return int(columns.shape[1] * (depth + out.shape[0]))


@kernel()
def _next_leaf(
    columns: Floats,
    i: int,
    tree: TreeArrays,
    share: Floats,
    nodes: NDArray[np.int64],
    weights: Floats,
    top: int,
) -> tuple[int, float, int]:
    """Pop a node from the stack of pending nodes and descend from it to a leaf.

    Returns the leaf, the log of its weight and the new height of the stack. At a split whose value
    row i lacks, the descent continues to the left, and the right child is pushed, each with its
    `share` of the weight. The stack is `nodes` with `weights`; its
    height is `top`.
    """
    feature, discrete, threshold, left_states, left, right = tree
    top -= 1
    node, weight = nodes[top], weights[top]
    while feature[node] >= 0:
        x = columns[feature[node], i]
        if x != x:
            if share[0, node] == -np.inf:
                node = right[node]
            elif share[1, node] == -np.inf:
                node = left[node]
            else:
                nodes[top], weights[top] = right[node], weight + share[1, node]
                top += 1
                weight += share[0, node]
                node = left[node]
        elif discrete[feature[node]]:
            node = left[node] if left_states[node, int(x)] else right[node]
        else:
            node = left[node] if x <= threshold[node] else right[node]
    return node, weight, top


@kernel(work=_paths)
def add_tree(
    out: Floats,
    columns: Floats,
    tree: TreeArrays,
    depth: int,
    share: Floats,
    log_values: Floats,
    child: NDArray[np.int64],
) -> None:
    """Add the log probabilities of a tree CPD's child to `out`.

    Parameters
    ----------
    out : ndarray, shape (n_states, n_rows), or (1, n_rows) where the child is observed
    columns : ndarray, shape (n_parents, n_rows)
        State codes and numbers of the parents; a row takes both branches where they are NaN.
    tree : see TreeArrays
    depth : int
        Maximum number of splits on a path.
    share : ndarray, shape (2, n_nodes)
        Log weights of the left and of the right branch where the parent is missing.
    log_values : ndarray, shape (n_nodes, n_states)
        Logarithms of the distribution of the child at each leaf.
    child : ndarray of int64, shape (n_rows,), or (0,) if the child is free
        State codes of the child; -1 adds 0.
    """
    n_states = log_values.shape[1]
    nodes = np.empty(depth + 2, dtype=np.int64)
    weights = np.empty(depth + 2)
    peak, total = np.empty(n_states), np.empty(n_states)
    is_free = len(child) == 0
    for i in range(columns.shape[1]):
        if not is_free and child[i] < 0:
            continue
        first, last = (0, n_states) if is_free else (child[i], child[i] + 1)
        # The sum of each state is total * exp(peak), with the largest term in the peak.
        peak[:] = -np.inf
        total[:] = 1.0
        nodes[0], weights[0], top = 0, 0.0, 1
        node = 0
        branched = False
        while top > 0:
            node, weight, top = _next_leaf(columns, i, tree, share, nodes, weights, top)
            branched = branched or top > 0
            if not branched:
                break
            for c in range(first, last):
                term = weight + log_values[node, c]
                if term > peak[c]:
                    total[c] = total[c] * np.exp(peak[c] - term) + 1.0
                    peak[c] = term
                elif term > -np.inf:
                    total[c] += np.exp(term - peak[c])
        for c in range(first, last):
            out[c - first, i] += peak[c] + np.log(total[c]) if branched else log_values[node, c]


@kernel(work=_paths)
def spread_over_nodes(
    out: Floats, columns: Floats, tree: TreeArrays, depth: int, share: Floats, amounts: Floats
) -> None:
    """Add each row's `amounts` to the leaf that the row reaches.

    If values that the tree splits on are missing in a row, the row reaches several leaves, and its
    amounts are divided among them by the weights of the branches (`share`).

    Parameters
    ----------
    out : ndarray, shape (n_nodes, m)
    columns, tree, depth, share
        As in `add_tree`.
    amounts : ndarray, shape (n_rows, m)
        Numbers to sum, such as the row's weight in the column of its class.
    """
    nodes = np.empty(depth + 2, dtype=np.int64)
    weights = np.empty(depth + 2)
    for i in range(columns.shape[1]):
        nodes[0], weights[0], top = 0, 0.0, 1
        while top > 0:
            node, weight, top = _next_leaf(columns, i, tree, share, nodes, weights, top)
            for k in range(amounts.shape[1]):
                out[node, k] += np.exp(weight) * amounts[i, k]


@kernel()
def reached_leaves(columns: Floats, tree: TreeArrays) -> NDArray[np.int64]:
    """Return the index of the leaf that each row reaches, shape (n_rows,); no value is missing."""
    out = np.empty(columns.shape[1], dtype=np.int64)
    start, share = np.zeros(1, dtype=np.int64), np.zeros((2, 1))
    for i in range(columns.shape[1]):
        # No value is missing: nothing is pushed to the stack, and no share is read.
        out[i] = _next_leaf(columns, i, tree, share, start, share[0], 1)[0]
    return out
