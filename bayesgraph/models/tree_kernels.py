"""Kernels that send rows down trees. They trust their arguments, which `Trees` checks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Words of bits are unsigned, and so are compiled shifts of them.
_NONE, _ONE = np.uint64(0), np.uint64(1)
# Number of bits of a word, as a shift and as a mask.
_WORD, _BIT = np.uint64(6), np.uint64(63)
# Number of rows that go down a tree before the next one, so that a tree stays in the cache.
_BLOCK = 1024
# Log weights below it are summed as logarithms, whose exponentials might underflow.
_RARE = -300.0


class TreeArrays(NamedTuple):
    """What kernels read of trees.

    Attributes
    ----------
    is_number : ndarray of bool, shape (n_parents,)
        Whether each parent is continuous.
    feature, threshold, states, below
        See `Trees`.
    depth : int
        Maximum number of nodes that split above a leaf.
    """

    is_number: NDArray[np.bool_]
    feature: NDArray[np.int32]
    threshold: Floats
    states: NDArray[np.int64]
    below: NDArray[np.int32]
    depth: int


# Roughly eight steps for each row, of those from `begin` to `end`, and tree.
@kernel(work=lambda out, *others: (others[-1] - others[-2]) * len(others[3]) * 8)
def descend(
    out: Floats,
    rare: Floats,
    codes: NDArray[Any],
    missing: Any,
    roots: NDArray[np.int32],
    trees: TreeArrays,
    share: Floats,
    table: Floats,
    spreads: bool,
    lanes: tuple[int, ...],
    begin: int,
    end: int,
) -> None:
    """Add the numbers of the leaves that rows reach to the rows, or those of the rows to leaves.

    Parameters
    ----------
    out : ndarray, shape (n_rows, m), or (number of rows of `Trees.values`, m) if `spreads`
    rare : ndarray, shape (n_rows, m)
        The logarithms of sums over leaves that a row reaches with tiny weights.
    codes : ndarray of uint8 or float, shape (n_parents, n_rows)
        Groups of the parents' states, or numbers; a row takes both branches where one is missing.
    missing : number of the same type
        Stands for missing values, as does NaN.
    roots : ndarray of int32, shape (n_trees,)
    trees : TreeArrays
    share : ndarray, shape (2, n_nodes)
        Log weights of the left and of the right branch where the parent is missing.
    table : ndarray, shape (number of rows of `Trees.values`, m), or (n_rows, m) if `spreads`
        What is added, times the weight with which a row reaches a leaf.
    spreads : bool
        Whether the numbers are those of rows.
    lanes : tuple of int
        As many rows go down a tree at a time, which do not wait for each other.
    begin, end : int
        Range of the rows.
    """
    is_number, feature, threshold, states, below, depth = trees
    n_parents, m, n_lanes = codes.shape[0], table.shape[1], len(lanes)
    # The codes of a block, each row's together. Lanes behind the last row read zeros, in vain.
    rows_first = np.zeros((min(_BLOCK, end - begin) + n_lanes, n_parents), dtype=codes.dtype)
    node, weight = np.empty(n_lanes, dtype=np.uint64), np.empty(n_lanes)
    # The right branches that wait for each lane.
    height = np.empty(n_lanes, dtype=np.int64)
    nodes = np.empty((n_lanes, depth + 1), dtype=np.int64)
    weights = np.empty((n_lanes, depth + 1))
    for start in range(begin, end, _BLOCK):
        n = min(_BLOCK, end - start)
        for i in range(n):
            for j in range(n_parents):
                rows_first[i, j] = codes[j, start + i]
        for root in roots:
            for first in range(0, n, n_lanes):
                walking = min(n_lanes, n - first)  # lanes whose rows are not done
                # Weights are logarithms. A lane without a row, or whose row is done, has height -1.
                for k in range(n_lanes):
                    node[k], weight[k], height[k] = root, 0.0, 0 if k < walking else -1
                while walking > 0:
                    # All lanes go down, by turns, until each is at a leaf or a missing value.
                    moved = True
                    while moved:
                        moved = False
                        for k in range(n_lanes):
                            at = node[k]
                            if feature[at] < 0:
                                continue
                            place = np.uint64(feature[at])
                            code = rows_first[first + k, place]
                            if code == missing or code != code:
                                continue
                            moved = True
                            # The left child node is the one before the right one.
                            right = np.uint64(below[at] + 1)
                            if is_number[place]:
                                node[k] = right - np.uint64(code <= threshold[at])
                            else:
                                # The group's bit, (word >> bit) & 1, is 1 if it goes left.
                                group = np.uint64(code)
                                word = np.uint64(states[at, group >> _WORD])
                                node[k] = right - (word >> (group & _BIT) & _ONE)
                    for k in range(n_lanes):
                        if height[k] < 0:
                            continue
                        at = node[k]
                        if feature[at] >= 0:
                            # The value is missing. A branch of probability zero is not taken.
                            if share[0, at] == -np.inf:
                                node[k] = below[at] + 1
                                continue
                            # The left branch is taken now; the right one waits, if it is possible.
                            # If it is not, the log weight of the left one is 0 and not added.
                            node[k] = below[at]
                            if share[1, at] > -np.inf:
                                nodes[k, height[k]] = below[at] + 1
                                weights[k, height[k]] = weight[k] + share[1, at]
                                weight[k] += share[0, at]
                                height[k] += 1
                            continue
                        row, leaf = start + first + k, below[at]
                        factor = 1.0 if weight[k] == 0.0 else math.exp(weight[k])
                        if spreads:
                            for c in range(m):
                                out[leaf, c] += factor * table[row, c]
                        elif weight[k] > _RARE:
                            for c in range(m):
                                out[row, c] += factor * table[leaf, c]
                        else:
                            for c in range(m):
                                if table[leaf, c] > 0.0:
                                    term = weight[k] + math.log(table[leaf, c])
                                    # The log of the sum of two exponentials.
                                    most = max(term, rare[row, c])
                                    gap = abs(term - rare[row, c])
                                    rare[row, c] = most + math.log1p(math.exp(-gap))
                        # After a leaf the last branch that waits; the row is done if there is none.
                        height[k] -= 1
                        if height[k] < 0:
                            walking -= 1
                        else:
                            node[k], weight[k] = nodes[k, height[k]], weights[k, height[k]]


# Number of words of bits of rows that go down together, so that the words of a tree's nodes stay in
# the cache; and of groups of states that a word tells apart.
_WORDS, _GROUPS = 64, 64
TOGETHER = 64 * _WORDS


@kernel(work=lambda out, codes, *others: (others[-1] - others[-2]) * len(others[0]) * 8)
def descend_together(
    out: Floats,
    codes: NDArray[np.uint8],
    roots: NDArray[np.int32],
    trees: TreeArrays,
    number: NDArray[np.int64],
    splits: NDArray[np.int64],
    table: Floats,
    begin: int,
    end: int,
) -> None:
    """Add to each row, as one bit of a word, the numbers of the leaves that it reaches.

    A split divides the words of its node by those of the groups that go left. Each leaf has a
    number, whose bits are gathered for all rows (bit-parallel trees: Lucchese et al. 2015).

    Parameters
    ----------
    out, codes, roots, trees, table, begin, end
        As in `descend`; what is added to rows with missing values is of no use.
    number : ndarray, shape (n_nodes,)
        The split of each node among the different ones.
    splits : ndarray, shape (2, n_splits)
        Parents of these, -1 for that of leaves, and the groups of states that go left, as bits.
    """
    feature, below, depth = trees.feature, trees.below, trees.depth
    n_parents, m = codes.shape[0], table.shape[1]
    # The rows of a block, as bits, whose parent is in a group; and those that a split sends left.
    rows_of = np.empty((n_parents, _GROUPS, _WORDS), dtype=np.uint64)
    left = np.empty((splits.shape[1], _WORDS), dtype=np.uint64)
    # The nodes that wait for their turn, last in first out, and the rows that reach them.
    nodes, reached = np.empty(depth + 2, np.int64), np.empty((depth + 2, _WORDS), np.uint64)
    # Rows of `table` of the leaves, by their numbers in the order of visits; and bit b of the
    # number of the leaf of each row, in word b of `bits` for all rows, put together in `leaf`.
    leaves, bits = np.empty(len(feature), np.int64), np.empty((32, _WORDS), dtype=np.uint64)
    leaf = np.empty((_WORDS, 64), dtype=np.uint32)
    for start in range(begin, end, TOGETHER):
        n = min(TOGETHER, end - start)
        n_words = (n + 63) >> 6
        # Row i of the block is bit i % 64 of word i // 64. Missing values, 255, are in no group.
        rows_of[:] = _NONE
        for j in range(n_parents):
            for i in range(n):
                if codes[j, start + i] < _GROUPS:
                    rows_of[j, codes[j, start + i], i >> 6] |= _ONE << np.uint64(i & 63)
        left[:] = _NONE
        for split in range(len(left)):
            for g in range(_GROUPS):
                if splits[0, split] >= 0 and splits[1, split] >> g & 1:
                    for w in range(n_words):
                        left[split, w] |= rows_of[splits[0, split], g, w]
        for root in roots:
            nodes[0], reached[0], height = root, ~_NONE, 1
            n_leaves, n_bits = 0, 0
            while height > 0:
                height -= 1
                at = nodes[height]
                if feature[at] >= 0:
                    # The right child node waits below the left one, which is next.
                    nodes[height], nodes[height + 1] = below[at] + 1, below[at]
                    split = number[at]
                    for w in range(n_words):
                        here, goes_left = reached[height, w], left[split, w]
                        reached[height + 1, w] = here & goes_left
                        reached[height, w] = here & ~goes_left
                    height += 2
                    continue
                if n_leaves >> n_bits:  # the number of this leaf takes one more bit
                    bits[n_bits] = _NONE
                    n_bits += 1
                for b in range(n_bits):
                    if n_leaves >> b & 1:
                        for w in range(n_words):
                            bits[b, w] |= reached[height, w]
                leaves[n_leaves] = below[at]
                n_leaves += 1
            # Bits of numbers of leaves, for all rows, become the number of each row's leaf.
            leaf[:] = 0
            for w in range(n_words):
                for b in range(n_bits):
                    word = bits[b, w]
                    for i in range(64):
                        leaf[w, i] |= np.uint32((word >> np.uint64(i) & _ONE) << np.uint64(b))
            for i in range(n):
                row = leaves[leaf[i >> 6, i & 63]]
                for c in range(m):
                    out[start + i, c] += table[row, c]


@kernel(work=lambda wanted, groups, trees, out: len(trees.feature))
def branches_of(wanted: NDArray[np.bool_], groups: Floats, trees: TreeArrays, out: Floats) -> None:
    """Write what leads to both branches of each split on some parents.

    Parameters
    ----------
    wanted : ndarray of bool, shape (n_parents,)
    groups : ndarray, shape (n_parents, maximum number of groups)
        The distributions of discrete parents' groups of states.
    trees : TreeArrays
    out : ndarray, shape (2, n_nodes)
        Of discrete parents, the probabilities of the states that reach the node and go left, and
        right; of numbers, the ends of the interval that reaches the node. Unchanged at others.
    """
    feature, states, below = trees.feature, trees.states, trees.below
    # The node above each node; a node precedes its child nodes.
    above = np.full(len(feature), -1, dtype=np.int64)
    reached = np.empty(states.shape[1], dtype=np.int64)
    for node in range(len(feature)):
        place = feature[node]
        if place < 0:
            continue
        above[below[node]] = above[below[node] + 1] = node
        if not wanted[place]:
            continue
        # Up the path to the root: what the splits on the same parent let through to this node. All
        # bits of -1 are set.
        reached[:] = -1
        low, high = -np.inf, np.inf
        child, split = node, above[node]
        while split >= 0:
            goes_left = below[split] == child
            if feature[split] == place and trees.is_number[place]:
                low = low if goes_left else max(low, trees.threshold[split])
                high = min(high, trees.threshold[split]) if goes_left else high
            elif feature[split] == place:
                for word in range(len(reached)):
                    bits = states[split, word]
                    reached[word] &= bits if goes_left else ~bits
            child, split = split, above[split]
        if trees.is_number[place]:
            out[0, node], out[1, node] = low, high
            continue
        out[:, node] = 0.0
        for g in range(groups.shape[1]):
            if reached[g >> 6] >> (g & 63) & 1:
                # Row 0 of the result is left, where the bit of the group is set, and row 1 right.
                out[1 - (states[node, g >> 6] >> (g & 63) & 1), node] += groups[place, g]
