"""Growing of classification trees by a criterion, and their conversion to `Tree`."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import Tree
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.growing import kernels
from bayesgraph.learning.growing.columns import CodedColumns
from bayesgraph.learning.growing.criteria import Criterion, Minima, Node, Rows, Split
from bayesgraph.variables import Discrete

_Reach: TypeAlias = Mapping[int, NDArray[np.bool_]]


@dataclass(frozen=True)
class Limits:
    """Stopping rules.

    Attributes
    ----------
    max_depth : int, optional
    max_leaf_nodes : int, optional
        With it, nodes of large gain are split first.
    min_samples_split, min_samples_leaf : int or float
        Minimum number of rows of a split node and of a branch, or (float) the share of all rows.
        Some criteria count rows by their weights.
    min_weight_fraction_leaf : float
        Minimum weight of a branch, as a share of the weight of all rows.
    min_impurity_decrease : float
        Minimum gain of a split, divided by the weight of all rows.
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0


@dataclass(frozen=True)
class GrownTree:
    """A tree in lists by nodes; each node precedes its child nodes.

    Attributes
    ----------
    columns : CodedColumns
    counts : ndarray, shape (n_nodes, n_classes)
        Weight of the rows of each class.
    splits : list of Split or None
        None at leaves.
    children : list of list of int
        The nodes below the branches.
    """

    columns: CodedColumns
    counts: Floats
    splits: list[Split | None]
    children: list[list[int]]

    def pruned(self, leaves: NDArray[np.bool_]) -> GrownTree:
        """Return the tree whose leaves are the nodes of a mask; nodes below stay in the lists."""
        splits = [None if cut else s for s, cut in zip(self.splits, leaves, strict=True)]
        return replace(self, splits=splits)

    def to_tree(self) -> tuple[Tree, Floats]:
        """Return the tree in flat arrays, and the weight of each class at its nodes.

        Features are indices of the columns' variables; the values at the nodes are zero.
        """
        variables = self.columns.variables
        width = max((v.cardinality for v in variables if isinstance(v, Discrete)), default=0)
        splits: list[tuple[int, float, NDArray[np.bool_], int, int, bool]] = []
        counts: list[Floats] = []
        # Nodes; their branches that are not taken off yet, or None; the codes that reach them.
        waiting: list[tuple[int, list[_Branch] | None, _Reach]] = [(0, None, {})]
        for node, rest, reach in waiting:  # the list grows during the loop
            if rest is None:
                counts.append(self.counts[node] if node >= 0 else np.zeros_like(self.counts[0]))
                branches = self._branches(node, width, reach)
            else:
                below = [branch.node for branch in rest]
                counts.append(self.counts[below].sum(axis=0))
                branches = rest
            if not branches:
                splits.append((-1, 0.0, np.zeros(width, dtype=bool), -1, -1, False))
                continue
            split = self.splits[node]
            assert split is not None  # a node with branches has one
            first, *others = branches
            left = len(waiting)
            waiting.append((first.node, None, first.reach))
            last = others[0]
            waiting.append(
                (last.node, None, last.reach) if len(others) == 1 else (node, others, reach)
            )
            splits.append(
                (split.feature, first.threshold, first.states, left, left + 1, rest is not None)
            )
        feature, threshold, states, lefts, rights, continues = zip(*splits, strict=True)
        tree = Tree(
            np.array(feature),
            np.array(threshold),
            np.array(states, dtype=bool).reshape(len(splits), width),
            np.array(lefts),
            np.array(rights),
            np.zeros((len(splits), 1)),
            continues=np.array(continues) if any(continues) else np.empty(0, dtype=bool),
        )
        return tree, np.array(counts)

    def _branches(self, node: int, width: int, reach: _Reach) -> list[_Branch]:
        """Return the branches of a node, in order; an empty list at leaves.

        States that no row of the node has, though they may reach it, are the first branch.
        """
        split = self.splits[node] if node >= 0 else None
        if split is None:
            return []
        j, below, columns = split.feature, self.children[node], self.columns
        if columns.is_number[j]:
            cuts = [*(columns.threshold(j, *ends) for ends in split.ends()), math.inf]
            none = np.zeros(width, dtype=bool)
            return [_Branch(n, cut, none, reach) for n, cut in zip(below, cuts, strict=True)]
        branch_of, possible = split.branch_of, reach.get(j, np.ones(len(split.branch_of), bool))
        new = possible & (branch_of < 0)
        parts = [branch_of == b for b in range(split.n_branches)]
        # Where states that do not get here go is the same.
        parts[0] = parts[0] | ~(possible | (branch_of >= 0))
        if new.any():
            below, parts = [-1, *below], [new, *parts]
        return [
            _Branch(n, 0.0, columns.states(j, part, width), {**reach, j: part})
            for n, part in zip(below, parts, strict=True)
        ]


class _Branch(NamedTuple):
    """A branch: the node below (-1: a leaf without rows), its upper threshold or its states.

    `reach` has the mask of the codes of each discrete feature that get to the node below.
    """

    node: int
    threshold: float
    states: NDArray[np.bool_]
    reach: _Reach


def grow_tree(
    columns: CodedColumns,
    labels: NDArray[np.integer[Any]],
    n_classes: int,
    weights: Floats,
    criterion: Criterion,
    limits: Limits,
) -> GrownTree:
    """Grow a tree by splitting its leaves.

    Parameters
    ----------
    columns : CodedColumns
    labels : ndarray of int, shape (n_rows,)
        Codes of the classes.
    n_classes : int
    weights : ndarray, shape (n_rows,)
    criterion : Criterion
    limits : Limits
    """
    n = len(labels)
    place = np.where(columns.is_number, np.cumsum(columns.is_number), 0)
    rows = Rows(columns, labels.astype(np.int32), weights, n_classes, place, np.empty(n))
    total = float(weights.sum())
    leaf, least = (
        _number(given, total if criterion.counts_weight else n)
        for given in (limits.min_samples_leaf, limits.min_samples_split)
    )
    least = max(2 * leaf, least)
    minima = Minima(leaf, limits.min_weight_fraction_leaf * total)
    depth_limit = math.inf if limits.max_depth is None else limits.max_depth
    most_leaves = math.inf if limits.max_leaf_nodes is None else limits.max_leaf_nodes
    branch = np.empty(n, dtype=np.int32)
    counts: list[Floats] = []
    splits: list[Split | None] = []
    children: list[list[int]] = []
    heap: list[tuple[float, int, int, Node, Split]] = []

    def add(node: Node, own: Floats, depth: int) -> int:
        at, weight = len(counts), own.sum()
        n_rows = weight if criterion.counts_weight else len(node.share)
        counts.append(own)
        splits.append(None)
        children.append([])
        pure = own.max() >= weight * (1 - kernels.ROUNDING)
        if depth < depth_limit and n_rows >= least - 1e-9 and not pure:
            split = criterion.split(rows, node, minima)
            # The tolerance is for rounding errors of a gain of zero.
            if split is not None and split.gain >= total * (
                limits.min_impurity_decrease - kernels.ROUNDING
            ):
                heapq.heappush(heap, (-split.gain, at, depth, node, split))
        return at

    numbers = [np.argsort(columns.codes[j], kind="stable") for j in np.flatnonzero(place)]
    start = np.array([np.arange(n), *numbers], dtype=np.int32)
    whole = np.bincount(labels, weights, minlength=n_classes)
    add(Node(start, np.ones(n)), whole.astype(np.float64), 0)
    n_leaves = 1
    while heap:
        _, at, depth, node, split = heapq.heappop(heap)
        n_leaves += split.n_branches - 1
        if n_leaves > most_leaves:
            break
        order, share, begins, below = kernels.divide(
            node.order, node.share, rows.labels, weights, columns.codes[split.feature],
            split.branch_of, split.missing, split.between[0], split.n_branches, n_classes,
            rows.mass, branch,
        )  # fmt: skip
        splits[at] = split
        for b in range(split.n_branches):
            own = slice(begins[b], begins[b + 1])
            child = Node(order[:, own].copy(), share[own].copy())
            children[at].append(add(child, below[b], depth + 1))
    return GrownTree(columns, np.array(counts), splits, children)


def _number(given: int | float, n: float) -> float:
    """Return a number of rows that is given as such, or (float) as a share of n rows."""
    return float(given if isinstance(given, (int, np.integer)) else math.ceil(given * n))
