"""Kernels of averages of trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# The bits of `Trees.steps` that have the right child node, and those above. Indices are unsigned,
# so that compiled kernels do not look whether they are negative.
_NODE, _FEATURE = np.uint64((1 << 32) - 1), np.uint64(32)
_NONE, _ONE = np.uint64(0), np.uint64(1)
# Number of rows that go down a tree before the next one.
_BLOCK = 1024
# The group of a missing value.
MISSING = np.uint8(255)

Indices = NDArray[np.uint64]
Codes = NDArray[np.uint8]


def _descents(
    out: Floats, codes: Codes, rows: NDArray[np.intp], roots: NDArray[np.int32], *others: object
) -> int:
    # Of all rows: with many, others have used compiled kernels already.
    n_rows: int = codes.shape[1]
    return n_rows * len(roots) * 8


@kernel(work=_descents)
def add_leaves(
    out: Floats,
    codes: Codes,
    rows: NDArray[np.intp],
    roots: NDArray[np.int32],
    steps: Indices,
    below: NDArray[np.int32],
    depth: int,
    share: Floats,
    values: Floats,
    begin: int,
    end: int,
) -> None:
    """Add the distributions at the leaves that each row reaches, tree by tree, to `out`.

    Parameters
    ----------
    out : ndarray, shape (n_rows, n_states)
    codes : ndarray of uint8, shape (n_parents, n_rows)
        Groups of the parents' states; a row takes both branches where one is missing, 255.
    rows : ndarray
        The rows; nothing is added to others.
    roots : ndarray of int32, shape (n_trees,)
    steps : ndarray of uint64, shape (n_nodes, 2)
        See `Trees.steps`.
    below : ndarray of int32, shape (n_nodes,)
        At leaves the row of `values`.
    depth : int
        Maximum number of splits on a path.
    share : ndarray, shape (2, n_nodes)
        Weights of the left and of the right branch where the parent is missing.
    values : ndarray, shape (n_distributions, n_states)
        Distributions of the child at the leaves.
    begin, end : int
        Range of `rows`.
    """
    nodes, weights = np.empty(depth + 2, dtype=np.uint64), np.empty(depth + 2)
    for at in range(begin, end):
        row = rows[at]
        for root in roots:
            nodes[0], weights[0], top = root, 1.0, 1
            while top > 0:
                top -= 1
                node, weight = nodes[top], weights[top]
                while steps[node, 0] != node:
                    step = steps[node, 0]
                    code = codes[step >> _FEATURE, row]
                    if code != MISSING:
                        node = (step & _NODE) - ((steps[node, 1] >> np.uint64(code)) & _ONE)
                        continue
                    left, right = share[0, node], share[1, node]
                    # A branch of probability zero is not taken.
                    if left > 0.0 and right > 0.0:
                        nodes[top], weights[top] = step & _NODE, weight * right
                        top += 1
                        weight *= left
                    node = (step & _NODE) - (_ONE if left > 0.0 else _NONE)
                for c in range(values.shape[1]):
                    out[row, c] += weight * values[below[node], c]


def _walks(out: Floats, codes: Codes, roots: NDArray[np.int32], *others: object) -> int:
    n_rows: int = codes.shape[1]
    return n_rows * len(roots) * 8


@kernel(work=_walks)
def add_reached(
    out: Floats,
    codes: Codes,
    roots: NDArray[np.int32],
    steps: Indices,
    below: NDArray[np.int32],
    values: Floats,
    begin: int,
    end: int,
) -> None:
    """Add the distributions at the leaves that rows reach that lack no parent of a split.

    A block of rows goes down one tree after the other, so that a tree stays in the cache.

    Parameters
    ----------
    out : ndarray, shape (n_states, n_rows)
    codes, roots, steps, below, values
        See `add_leaves`.
    begin, end : int
        Range of the rows.
    """
    n_states = values.shape[1]
    sums = np.empty((_BLOCK, n_states))
    own = np.zeros((_BLOCK, codes.shape[0]), dtype=np.uint8)
    leaf = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(begin, end, _BLOCK):
        n = min(_BLOCK, end - start)
        for i in range(n):
            for j in range(codes.shape[0]):
                own[i, j] = codes[j, start + i]
            for c in range(n_states):
                sums[i, c] = out[c, start + i]
        for root in roots:
            # Four rows at a time, which do not wait for each other; a leaf leads to itself.
            for i in range(0, n, 4):
                r0, r1, r2, r3 = own[i], own[i + 1], own[i + 2], own[i + 3]
                n0 = n1 = n2 = n3 = np.uint64(root)
                s0 = s1 = s2 = s3 = steps[n0, 0]
                while s0 != n0 or s1 != n1 or s2 != n2 or s3 != n3:
                    c0, c1 = np.uint64(r0[s0 >> _FEATURE]), np.uint64(r1[s1 >> _FEATURE])
                    c2, c3 = np.uint64(r2[s2 >> _FEATURE]), np.uint64(r3[s3 >> _FEATURE])
                    n0 = (s0 & _NODE) - ((steps[n0, 1] >> c0) & _ONE)
                    n1 = (s1 & _NODE) - ((steps[n1, 1] >> c1) & _ONE)
                    n2 = (s2 & _NODE) - ((steps[n2, 1] >> c2) & _ONE)
                    n3 = (s3 & _NODE) - ((steps[n3, 1] >> c3) & _ONE)
                    s0, s1, s2, s3 = steps[n0, 0], steps[n1, 0], steps[n2, 0], steps[n3, 0]
                leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = n0, n1, n2, n3
            for i in range(n):
                value = values[np.uint64(below[np.uint64(leaf[i])])]
                for c in range(n_states):
                    sums[i, c] += value[c]
        for i in range(n):
            for c in range(n_states):
                out[c, start + i] = sums[i, c]


def _visited(is_missing: object, shares: Floats, feature: NDArray[np.int32], *_: object) -> int:
    return len(feature)


@kernel(work=_visited)
def branch_shares(
    is_missing: NDArray[np.bool_],
    shares: Floats,
    feature: NDArray[np.int32],
    states: NDArray[np.int64],
    below: NDArray[np.int32],
    out: Floats,
) -> None:
    """Write the probabilities of both branches at each split on a missing parent.

    They are conditional on the branches taken at earlier splits on the path.

    Parameters
    ----------
    is_missing : ndarray, shape (n_parents,)
    shares : ndarray, shape (n_parents, n_groups)
        Distribution of each missing parent's groups of states; zero beyond their number.
    feature, states, below : ndarray, shape (n_nodes,)
        See `Trees`.
    out : ndarray, shape (2, n_nodes)
        Unchanged at splits on other parents. Both are 0.5 at splits that are reached with
        probability zero.
    """
    # The node above each node; a node precedes its child nodes.
    above = np.full(len(feature), -1, dtype=np.int64)
    for node in range(len(feature)):
        place = feature[node]
        if place < 0:
            continue
        above[below[node]] = above[below[node] + 1] = node
        if not is_missing[place]:
            continue
        # The groups that reach the node.
        reached, child, split = np.int64(-1), node, above[node]
        while split >= 0:
            if feature[split] == place:
                reached &= states[split] if below[split] == child else ~states[split]
            child, split = split, above[split]
        out[:, node] = 0.0
        for g in range(shares.shape[1]):
            if reached >> g & 1:
                out[1 - (states[node] >> g & 1), node] += shares[place, g]
        both = out[0, node] + out[1, node]
        for side in range(2):
            out[side, node] = out[side, node] / both if both > 0.0 else 0.5
