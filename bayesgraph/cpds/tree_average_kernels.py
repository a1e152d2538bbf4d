"""Kernels of averages of trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats

# Maximum number of rows that go down the trees together, so that each tree is read once for all,
# and of the numbers that are summed for them, which stay in the second-level cache.
TOGETHER, _SUMS = 1 << 15, 1 << 17
# Number of rows from which on the rows at a node are divided among its child nodes.
_MANY = np.uint64(16)
# Number of rows that go down from their nodes side by side, and number of their steps between two
# looks at whether all are at leaves. The processor does not wait for the memory of one row if it
# has others.
_SIDE_BY_SIDE, _STEPS = 12, 2
# Minimum number of pairs of a row and a node for which there is room.
_ROOM = 1024
# The bits of `Trees.steps` that have the right child node, and those above. Indices are unsigned,
# so that compiled kernels do not look whether they are negative.
_NODE, _FEATURE = np.uint64((1 << 32) - 1), np.uint64(32)
_NONE, _ONE = np.uint64(0), np.uint64(1)
# The group of a missing value.
MISSING = np.uint8(255)

Indices = NDArray[np.uint64]
Codes = NDArray[np.uint8]


def _descents(out: Floats, codes: Codes, roots: NDArray[np.int32], *others: object) -> int:
    n_rows: int = codes.shape[1]
    return n_rows * len(roots) * 8


@kernel()
def _next(codes: Codes, row: int, node: np.uint64, steps: Indices) -> np.uint64:
    """Return the child node that a row reaches from a split, or a leaf itself."""
    step = steps[node, 0]
    code = np.uint64(codes[step >> _FEATURE, row])
    return (step & _NODE) - ((steps[node, 1] >> code) & _ONE)  # type: ignore[no-any-return]


@kernel()
def _complete_first(codes: Codes, start: int, number: NDArray[np.int64], own: Codes) -> int:
    """Write a block of rows, those without missing values first; return the number of those.

    `number` is overwritten by the numbers of the rows, `own` by their codes.
    """
    n_parents, n_rows = own.shape
    is_missing = np.zeros(n_rows, dtype=np.uint8)
    for j in range(n_parents):
        for k in range(n_rows):
            is_missing[k] |= codes[j, start + k] == MISSING
    place = np.empty(n_rows, dtype=np.int64)
    n_complete, n_others = 0, 0
    for k in range(n_rows):
        if is_missing[k]:
            n_others += 1
            place[k] = n_rows - n_others
        else:
            place[k] = n_complete
            n_complete += 1
        number[place[k]] = start + k
    for j in range(n_parents):
        for k in range(n_rows):
            own[j, place[k]] = codes[j, start + k]
    return n_complete


@kernel()
def _divided(
    goes_left: np.uint64,
    codes: Codes,
    rows: NDArray[np.uint16],
    start: np.uint64,
    stop: np.uint64,
    others: NDArray[np.uint16],
) -> np.uint64:
    """Move the rows of a stretch that go left before those that go right.

    Both sides keep their order. Returns where the right ones begin; `others` is overwritten.
    """
    middle, n_others = start, _NONE
    for at in range(start, stop):
        row = rows[at]
        left = (goes_left >> np.uint64(codes[row])) & _ONE
        # Written to both sides, as a branch would often be predicted wrongly.
        rows[middle] = row
        others[n_others] = row
        middle += left
        n_others += _ONE - left
    for at in range(n_others):
        rows[middle + np.uint64(at)] = others[at]
    return middle


@kernel()
def _send_down(
    root: int,
    n_rows: int,
    own: Codes,
    number: NDArray[np.int64],
    steps: Indices,
    below: NDArray[np.int32],
    values: Floats,
    out: Floats,
    rows: NDArray[np.uint16],
    others: NDArray[np.uint16],
    pending: Indices,
    waiting: Indices,
    n_waiting: int,
) -> int:
    """Send rows down one tree as long as many of them are at a node; return `n_waiting`.

    The leaves that they reach together are added to `out`. The others are left with their nodes in
    `waiting`, behind the first `n_waiting` pairs.
    """
    for k in range(n_rows):
        rows[k] = k
    pending[0, 0], pending[0, 1], pending[0, 2] = root, 0, n_rows
    n_pending = 1
    while n_pending > 0:
        n_pending -= 1
        node, start, stop = pending[n_pending]
        while stop - start >= _MANY and steps[node, 0] != node:
            step = steps[node, 0]
            right = step & _NODE
            column = own[step >> _FEATURE]
            middle = _divided(steps[node, 1], column, rows, start, stop, others)
            if middle == start:
                node = right
            elif middle == stop:
                node = right - _ONE
            else:
                pending[n_pending, 0], pending[n_pending, 1] = right, middle
                pending[n_pending, 2] = stop
                n_pending += 1
                node, stop = right - _ONE, middle
        if steps[node, 0] == node:
            leaf = below[node]
            for at in range(start, stop):
                i = number[rows[at]]
                for c in range(values.shape[1]):
                    out[i, c] += values[leaf, c]
        else:
            for at in range(start, stop):
                waiting[n_waiting, 0], waiting[n_waiting, 1] = rows[at], node
                n_waiting += 1
    return n_waiting


@kernel()
def _finish(
    waiting: Indices,
    n_waiting: int,
    own: Codes,
    number: NDArray[np.int64],
    steps: Indices,
    below: NDArray[np.int32],
    values: Floats,
    out: Floats,
) -> None:
    """Send rows down from the nodes that they wait at, and add the leaves that they reach."""
    row, at = np.empty(_SIDE_BY_SIDE, dtype=np.uint64), np.empty(_SIDE_BY_SIDE, dtype=np.uint64)
    for first in range(0, n_waiting, _SIDE_BY_SIDE):
        for k in range(_SIDE_BY_SIDE):
            # The last pair fills up those that are too few.
            pair = min(first + k, n_waiting - 1)
            row[k], at[k] = waiting[pair, 0], waiting[pair, 1]
        moved = _ONE
        while moved != _NONE:
            for _ in range(_STEPS):
                for k in range(_SIDE_BY_SIDE):
                    at[k] = _next(own, row[k], at[k], steps)
            moved = _NONE
            for k in range(_SIDE_BY_SIDE):
                moved |= (steps[at[k], 0] & _NODE) - at[k]
        for k in range(min(_SIDE_BY_SIDE, n_waiting - first)):
            i, leaf = number[row[k]], below[at[k]]
            for c in range(values.shape[1]):
                out[i, c] += values[leaf, c]


@kernel()
def _add_incomplete(
    root: int,
    first: int,
    own: Codes,
    number: NDArray[np.int64],
    steps: Indices,
    below: NDArray[np.int32],
    share: Floats,
    values: Floats,
    out: Floats,
    nodes: Indices,
    weights: Floats,
) -> None:
    """Send rows from `first` on down one tree, on both branches where a value is missing."""
    for row in range(first, own.shape[1]):
        nodes[0], weights[0], top = root, 1.0, 1
        while top > 0:
            top -= 1
            node, weight = nodes[top], weights[top]
            while steps[node, 0] != node:
                step = steps[node, 0]
                if own[step >> _FEATURE, row] != MISSING:
                    node = _next(own, row, node, steps)
                    continue
                left = share[node]
                # A branch of probability zero is not taken.
                if 0.0 < left < 1.0:
                    nodes[top], weights[top] = step & _NODE, weight * (1.0 - left)
                    top += 1
                    weight *= left
                node = (step & _NODE) - (_ONE if left > 0.0 else _NONE)
            for c in range(values.shape[1]):
                out[number[row], c] += weight * values[below[node], c]


@kernel(work=_descents)
def add_leaves(
    out: Floats,
    codes: Codes,
    roots: NDArray[np.int32],
    steps: Indices,
    below: NDArray[np.int32],
    depth: int,
    share: Floats,
    values: Floats,
    begin: int,
    end: int,
) -> None:
    """Add the distributions at the leaves that each row reaches, one for each tree, to `out`.

    The rows of a block go down a tree together: those at a node are divided among its child nodes,
    and a row that has few others left goes on alone, beside some rows of other nodes.

    Parameters
    ----------
    out : ndarray, shape (n_rows, n_states)
    codes : ndarray of uint8, shape (n_parents, n_rows)
        Groups of the parents' states; a row takes both branches where one is missing, 255.
    roots : ndarray of int32, shape (n_trees,)
    steps : ndarray of uint64, shape (n_nodes, 2)
        See `Trees.steps`.
    below : ndarray of int32, shape (n_nodes,)
        At leaves the row of `values`.
    depth : int
        Maximum number of splits on a path.
    share : ndarray, shape (n_nodes,)
        Weight of the left branch where the parent is missing.
    values : ndarray, shape (n_distributions, n_states)
        Distributions of the child at the leaves.
    begin, end : int
        Range of the rows.
    """
    block = min(end - begin, TOGETHER, max(_ROOM, _SUMS // values.shape[1]))
    rows, others = np.empty(block, dtype=np.uint16), np.empty(block, dtype=np.uint16)
    waiting = np.empty((max(block, _ROOM), 2), dtype=np.uint64)
    pending = np.empty((depth + 2, 3), dtype=np.uint64)
    nodes, weights = np.empty(depth + 2, dtype=np.uint64), np.empty(depth + 2)
    for start in range(begin, end, max(block, 1)):
        n_rows = min(block, end - start)
        number = np.empty(n_rows, dtype=np.int64)
        own = np.empty((codes.shape[0], n_rows), dtype=np.uint8)
        n_complete = _complete_first(codes, start, number, own)
        n_waiting = 0
        for root in roots:
            # A row's leaves are added in the order of the trees, however many rows there are: few
            # rows wait for those of other trees, but not for a tree that is a leaf.
            is_together = n_complete >= _MANY or steps[root, 0] == np.uint64(root)
            if is_together or n_waiting + n_complete > len(waiting):
                _finish(waiting, n_waiting, own, number, steps, below, values, out)
                n_waiting = 0
            if is_together:
                n_waiting = _send_down(
                    root, n_complete, own, number, steps, below, values, out,
                    rows, others, pending, waiting, n_waiting,
                )  # fmt: skip
            else:
                for row in range(n_complete):
                    waiting[n_waiting, 0], waiting[n_waiting, 1] = row, root
                    n_waiting += 1
            if n_complete < n_rows:
                _add_incomplete(
                    root, n_complete, own, number, steps, below, share, values, out, nodes, weights
                )
        _finish(waiting, n_waiting, own, number, steps, below, values, out)


@kernel()
def left_shares(
    place: int,
    shares: Floats,
    feature: NDArray[np.int32],
    states: NDArray[np.int64],
    below: NDArray[np.int32],
    out: Floats,
) -> None:
    """Write the probability of the left branch at each split on a missing parent.

    It is conditional on the branches taken at earlier splits on the path.

    Parameters
    ----------
    place : int
        Index of the parent.
    shares : ndarray, shape (n_groups,)
        Distribution of the parent's groups of states.
    feature, states, below : ndarray, shape (n_nodes,)
        See `Trees`.
    out : ndarray, shape (n_nodes,)
        Unchanged at splits on other parents. It is 0.5 at splits that are reached with probability
        zero.
    """
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
def leaves_of(codes: Codes, roots: NDArray[np.int32], steps: Indices) -> NDArray[np.int64]:
    """Return the leaf that each row reaches in a tree of its own, (n_rows,); no value is missing.

    The parameters are those of `add_leaves`, with a root for each row.
    """
    out = np.empty(codes.shape[1], dtype=np.int64)
    for i in range(codes.shape[1]):
        node = np.uint64(roots[i])
        while steps[node, 0] != node:
            node = _next(codes, i, node, steps)
        out[i] = node
    return out
