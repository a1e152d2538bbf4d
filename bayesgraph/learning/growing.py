"""Growing of classification trees by a criterion, and their conversion to `Trees`."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, betaincinv
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning import growing_kernels
from bayesgraph.learning.growing_kernels import Node
from bayesgraph.models import (
    CPD,
    HistogramCPD,
    TableCPD,
    Trees,
    TreesCPD,
    quantile_edges,
)
from bayesgraph.statistics import counts_of, safe_divide
from bayesgraph.tables import Table

# ----------------------------------------------- Tables as integer codes, on which trees are grown


@dataclass(frozen=True)
class CodedColumns:
    """The columns of a table as codes: ranks or intervals of numbers, and states.

    Attributes
    ----------
    variables : tuple of Variable
    codes : ndarray of int32, shape (n_features, n_rows)
        -1 where missing. Codes of numbers ascend with the numbers. Codes of states are in the order
        of the states' names: codes of tables differ between libraries, and ties are broken by them.
    n_codes : ndarray of int, shape (n_features,)
    is_number : ndarray of bool, shape (n_features,)
    values : list of ndarray
        Of numbers, the smallest and the largest value of each code, shape (2, n_codes); of states,
        the table's code of each code.
    """

    variables: tuple[Variable, ...]
    codes: NDArray[np.int32]
    n_codes: NDArray[np.int64]
    is_number: NDArray[np.bool_]
    values: list[NDArray[Any]]

    @classmethod
    def of(cls, table: Table, weights: Floats, n_intervals: int | None = None) -> CodedColumns:
        """Return the codes of a table.

        Parameters
        ----------
        table : Table
        weights : ndarray, shape (n_rows,)
        n_intervals : int, optional
            Maximum number of intervals of about equal weight into which numbers are cut. By default
            each distinct number has a code of its own.
        """
        codes = np.full((len(table.variables), table.n_rows), -1, dtype=np.int32)
        values: list[NDArray[Any]] = []
        for coded, variable in zip(codes, table.variables, strict=True):
            column = table.column(variable)
            if isinstance(variable, Discrete):
                states = sorted(
                    range(variable.cardinality), key=lambda code: repr(variable.states[code])
                )
                rank = np.argsort(states)  # the inverse: the place of each of the table's codes
                coded[:] = np.where(column < 0, -1, rank[column])
                values.append(np.array(states))
                continue
            numbers = np.asarray(column, dtype=np.float64)
            observed = ~np.isnan(numbers)
            distinct, place = np.unique(numbers[observed], return_inverse=True)
            interval = np.arange(len(distinct))
            if n_intervals is not None and len(distinct):
                # The inner edges only.
                cuts = quantile_edges(numbers[observed], weights[observed], (), n_intervals)[1:-1]
                interval = np.searchsorted(cuts, distinct, side="left")
            coded[observed] = interval[place]
            # The step of the interval from the number before, and to the number after: above 0 at
            # the first, and at the last, distinct number of each interval.
            first, last = np.diff(interval, prepend=-1), np.diff(interval, append=len(distinct))
            values.append(np.stack([distinct[first > 0], distinct[last > 0]]))
        return cls(
            tuple(table.variables),
            codes,
            np.array([ranges.shape[-1] for ranges in values], dtype=np.int64),
            np.array([not isinstance(v, Discrete) for v in table.variables], dtype=bool),
            values,
        )

    def rows(self, rows: NDArray[np.integer[Any]]) -> CodedColumns:
        """Return the codes of some rows."""
        codes = np.take(self.codes, rows, axis=1)
        return CodedColumns(self.variables, codes, self.n_codes, self.is_number, self.values)

    def threshold(self, feature: int, low: int, high: int) -> float:
        """Return the middle between the largest number of one code and the smallest of another."""
        below, above = float(self.values[feature][1, low]), float(self.values[feature][0, high])
        middle = below + (above - below) / 2
        # The middle of neighbouring floats may round to the larger one, which must not go left.
        return middle if middle < above else below

    def states(self, feature: int, codes: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
        """Return a mask of the states that have the codes of a mask, in the table's order."""
        chosen = np.zeros(width, dtype=bool)
        chosen[self.values[feature][codes]] = True
        return chosen


# -------------------------------------------------------- Criteria that choose the split of a node


# Smaller parts of a row are dropped: a row of many missing values would reach thousands of nodes.
_SMALLEST_PART = 1e-3


@dataclass(frozen=True)
class Split:
    """A split of a node.

    Attributes
    ----------
    feature : int
    gain : float
        Decrease of impurity times the weight of the node, by which nodes are ranked.
    branch_of : ndarray of int32, shape (n_codes,) or (0,)
        The branch of each code, -1 of codes that did not occur; empty at a threshold between codes.
    n_branches : int
    missing : int
        The branch of missing values; -1 if they are divided among all branches.
    between : tuple of int
        At a threshold, the largest code that goes left and the smallest that goes right.
    """

    feature: int
    gain: float
    branch_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    n_branches: int = 2
    missing: int = -1
    between: tuple[int, int] = (-1, -1)

    def ends(self) -> list[tuple[int, int]]:
        """Return the last code of each branch of a number but the last, and the code after it."""
        if not len(self.branch_of):
            return [self.between]
        codes = np.flatnonzero(self.branch_of >= 0)
        # Branches of a number are runs of ascending codes.
        last = np.flatnonzero(np.diff(self.branch_of[codes]))
        return list(zip(codes[last].tolist(), codes[last + 1].tolist(), strict=True))


def _node(
    columns: tuple[Any, Any, Any], rows: tuple[Any, Floats, Floats, Any], n_classes: int
) -> Node:
    """Return a node from fields of `Node`; the others are products and sums of these.

    `columns` has codes, n_codes and is_number; `rows` has labels, weights, share and order.
    """
    labels, weights, share, order = rows
    mass = share * weights
    whole = np.bincount(labels, mass, n_classes).astype(np.float64)
    return Node(*columns, labels, weights, share, mass, order, whole)


def divided(node: Node, split: Split) -> list[Node]:
    """Return the nodes of the branches of a split.

    Rows with a missing value go to the branch `split.missing`, or (-1) to all branches, in
    proportion to the weight of the other rows there (Quinlan 1993, section 3.2).
    """
    code = node.codes[split.feature]
    # At a threshold the left branch is 0 and the right one 1.
    branch = split.branch_of[code] if len(split.branch_of) else 1 * (code > split.between[0])
    branch = np.where(code < 0, split.missing, branch)  # -1: to all branches
    has_value = branch >= 0
    weights = counts_of(branch, split.n_branches, node.mass)
    portions = weights / weights.sum()
    nodes = []
    for b, portion in enumerate(portions.tolist()):
        share = np.where(has_value, node.share, node.share * portion)
        inside = (branch == b) | (~has_value & (share >= _SMALLEST_PART))
        # The rows of the branch in the order of each feature, numbered anew: row i of the node is
        # row cumsum(inside)[i] - 1 of the branch. The mask flattens, but picks as many rows for
        # each feature.
        order = (np.cumsum(inside) - 1)[node.order[inside[node.order]].reshape(len(node.order), -1)]
        codes = np.compress(inside, node.codes, axis=1)
        rows = node.labels[inside], node.weights[inside], share[inside], order
        nodes.append(_node((codes, node.n_codes, node.is_number), rows, len(node.whole)))
    return nodes


@dataclass(frozen=True)
class ErrorRate:
    """The binary split that decreases the classification error most (Breiman et al. 1984, 4.1)."""

    counts_weight = False
    n_intervals = None

    def split(self, node: Node, *minima: float) -> Split | None:
        """Return the split of a node, or None; `minima` are the rows and the weight of a branch."""
        feature, low, high, left, gain = growing_kernels.error_split(node, *minima)
        if feature < 0:
            return None
        if node.is_number[feature]:
            return Split(feature, gain, missing=0 if left else 1, between=(low, high))
        # The branch of the state, the left one in `error_split`, is the second one here.
        branch_of = np.zeros(node.n_codes[feature], dtype=np.int32)
        branch_of[low] = 1
        return Split(feature, gain, branch_of, missing=1 if left else 0)


@dataclass(frozen=True)
class GainRatio:
    """The split of the largest gain ratio, with a branch for each state (Quinlan 1993, 1996)."""

    counts_weight = True
    n_intervals = None

    def split(self, node: Node, *minima: float) -> Split | None:
        """Return the split of a node, or None; `minima` are the rows and the weight of a branch."""
        feature, low, high, gain = growing_kernels.gain_ratio_split(node, *minima)
        if feature < 0:
            return None
        if node.is_number[feature]:
            return Split(feature, gain, between=(low, high))
        codes = node.codes[feature]
        branch_of = np.full(node.n_codes[feature], -1, dtype=np.int32)
        states = np.unique(codes[codes >= 0])  # a branch for each state that occurs
        branch_of[states] = np.arange(len(states))
        return Split(feature, gain, branch_of, len(states))


# ------------------ Growing of classification trees by a criterion, and their conversion to `Trees`


# By discrete feature, a mask of its codes that get to a node; without a mask, all of them do.
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

    def to_tree(self) -> tuple[Trees, Floats]:
        """Return the tree in flat arrays, and the weight of each class at its nodes.

        Features are indices of the columns' variables; the values at the nodes are zero.
        """
        variables = self.columns.variables
        width = max((v.cardinality for v in variables if isinstance(v, Discrete)), default=0)
        # Arguments of `Trees.single`: feature, threshold, states that go left, index of the left
        # node (the right one follows), and whether the node continues the split of the one above.
        splits: list[tuple[int, float, NDArray[np.bool_], int, bool]] = []
        counts: list[Floats] = []
        # A node of many branches becomes several binary nodes, each of which takes the first branch
        # off. The entries are a node, its branches that are not taken off yet (None: all of them),
        # and the codes that reach it.
        waiting: list[tuple[int, list[_Branch] | None, _Reach]] = [(0, None, {})]
        for node, remaining, reach in waiting:  # the list grows during the loop
            if remaining is None:
                counts.append(self.counts[node] if node >= 0 else np.zeros_like(self.counts[0]))
                branches = self._branches(node, width, reach)
            else:
                children = [branch.node for branch in remaining]
                counts.append(self.counts[children].sum(axis=0))
                branches = remaining
            if not branches:
                splits.append((-1, 0.0, np.zeros(width, dtype=bool), -1, False))
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
            continues = remaining is not None  # the split of the node above, see `Trees.single`
            splits.append((split.feature, first.threshold, first.states, left, continues))
        return Trees.single(variables, *zip(*splits, strict=True)), np.array(counts)

    def _branches(self, node: int, width: int, reach: _Reach) -> list[_Branch]:
        """Return the branches of a node, in order; an empty list at leaves.

        States that no row of the node has, though they may reach it, are the first branch. `width`
        is the length of all masks of states, and `reach` has the codes that get to the node.
        """
        split = self.splits[node] if node >= 0 else None
        if split is None:
            return []
        j, children, columns = split.feature, self.children[node], self.columns
        if columns.is_number[j]:
            cuts = [*(columns.threshold(j, *ends) for ends in split.ends()), math.inf]
            none = np.zeros(width, dtype=bool)
            return [_Branch(n, cut, none, reach) for n, cut in zip(children, cuts, strict=True)]
        branch_of, possible = split.branch_of, reach.get(j, np.ones(len(split.branch_of), bool))
        unseen = possible & (branch_of < 0)
        # The codes that each branch takes.
        masks = [branch_of == b for b in range(split.n_branches)]
        # It does not matter where states go that do not get here.
        masks[0] = masks[0] | ~(possible | (branch_of >= 0))
        if unseen.any():
            children, masks = [-1, *children], [unseen, *masks]
        return [
            _Branch(n, 0.0, columns.states(j, mask, width), {**reach, j: mask})
            for n, mask in zip(children, masks, strict=True)
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
    total = float(weights.sum())
    all_rows = total if criterion.counts_weight else n
    # Minimum number of rows of a leaf, and of a node that is split.
    leaf = _number(limits.min_samples_leaf, all_rows)
    least = max(2 * leaf, _number(limits.min_samples_split, all_rows))
    lightest = limits.min_weight_fraction_leaf * total
    depth_limit = math.inf if limits.max_depth is None else limits.max_depth
    most_leaves = math.inf if limits.max_leaf_nodes is None else limits.max_leaf_nodes
    counts: list[Floats] = []
    splits: list[Split | None] = []
    children: list[list[int]] = []
    # Nodes that may be split, the one of the largest gain first: minus the gain, index (which
    # decides ties), depth.
    heap: list[tuple[float, int, int, Node, Split]] = []

    def add(node: Node, depth: int) -> int:
        """Add a node to the tree, and its split, if it has a good one, to the heap of splits."""
        at, weight = len(counts), node.whole.sum()
        n_rows = weight if criterion.counts_weight else len(node.share)
        counts.append(node.whole)
        splits.append(None)
        children.append([])
        # All rows are of one class.
        pure = node.whole.max() >= weight * (1 - growing_kernels.ROUNDING)
        # The tolerance is for rounding errors of sums of weights.
        if depth < depth_limit and n_rows >= least - 1e-9 and not pure:
            split = criterion.split(node, leaf, lightest)
            # This one is for rounding errors of a gain of zero.
            if split is not None and split.gain >= total * (
                limits.min_impurity_decrease - growing_kernels.ROUNDING
            ):
                heapq.heappush(heap, (-split.gain, at, depth, node, split))
        return at

    order = np.argsort(columns.codes, axis=1, kind="stable")  # missing values first
    rows = labels.astype(np.int32), weights, np.ones(n), order
    add(_node((columns.codes, columns.n_codes, columns.is_number), rows, n_classes), 0)
    n_leaves = 1
    while heap:
        _, at, depth, node, split = heapq.heappop(heap)
        n_leaves += split.n_branches - 1
        if n_leaves > most_leaves:
            break
        splits[at] = split
        children[at] = [add(child, depth + 1) for child in divided(node, split)]
    return GrownTree(columns, np.array(counts), splits, children)


def _number(size: int | float, n: float) -> float:
    """Return a number of rows from a parameter that is one (int), or a share of n rows (float)."""
    return float(size if isinstance(size, (int, np.integer)) else math.ceil(size * n))


# ------------------------ CHAID: splits into groups of categories that differ by chi-squared tests


# Logarithms of probabilities that differ by less count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ChiSquared:
    """The feature whose merged categories depend most significantly on the class (Kass 1980).

    Attributes
    ----------
    alpha_merge : float
        Level at which two categories differ.
    alpha_split : float
        Level at which a split is made, after Bonferroni's adjustment.
    n_intervals : int
        Maximum number of intervals, of about equal weight, into which a number is cut beforehand.
    """

    alpha_merge: float
    alpha_split: float
    n_intervals: int

    counts_weight = True

    def split(self, node: Node, *minima: float) -> Split | None:
        """Return the split of a node, or None; `minima` are the rows and the weight of a branch."""
        branch_of = np.empty((len(node.codes), node.n_codes.max() + 1), dtype=np.int32)
        # Rows count by their weights here, so that the larger minimum decides.
        log_p, gain, facts = growing_kernels.chi_squared_splits(
            node, math.log(self.alpha_merge), max(minima), branch_of
        )
        best, lowest = -1, math.log(self.alpha_split)  # of the adjusted p-values
        for j, (n_categories, n_groups, floats) in enumerate(facts.tolist()):
            if n_groups < 2:
                continue
            tests = log_tests(
                n_categories, n_groups, ordered=bool(node.is_number[j]), floats=bool(floats)
            )
            # Bonferroni: the p-value times the number of tests. Of equal ones the first is taken.
            if log_p[j] + tests < lowest - (_ROUNDING if best >= 0 else 0.0):
                best, lowest = j, log_p[j] + tests
        if best < 0:
            return None
        n = int(node.n_codes[best])
        codes, missing = branch_of[best, :n].copy(), int(branch_of[best, n])
        return Split(best, float(gain[best]), codes, int(facts[best, 1]), missing)


# What chooses the split of a node. `counts_weight` says whether the number of rows is the sum of
# their weights; else, rows count as they are. `n_intervals` is the maximum number of intervals into
# which numbers are cut beforehand, if they are.
Criterion: TypeAlias = ErrorRate | GainRatio | ChiSquared


def log_tests(n_categories: int, n_groups: int, *, ordered: bool, floats: bool) -> float:
    """Return the log of Bonferroni's multiplier: the number of ways to merge the categories.

    For c categories in r groups, Kass (1980) counts the compositions of ordered categories,
    ``C(c - 1, r - 1)``; ``C(c - 2, r - 2) + r C(c - 2, r - 1)`` with a floating category among
    them; and the partitions of unordered categories, Stirling's number of the second kind.

    Examples
    --------
    >>> round(math.exp(log_tests(4, 2, ordered=False, floats=False)), 9)
    7.0
    """
    c, r = n_categories, n_groups
    if not ordered:
        return float(_log_partitions(c)[r])
    if floats:
        return math.log(math.comb(c - 2, r - 2) + r * math.comb(c - 2, r - 1))
    return math.log(math.comb(c - 1, r - 1))


@lru_cache(maxsize=1024)
def _log_partitions(n: int) -> Floats:
    """Return the logs of the numbers of partitions of n things into 0, 1, ... n sets."""
    logs = np.full(n + 1, -np.inf)
    logs[0] = 0.0
    sets = np.log(np.arange(1, n + 1))
    for _ in range(n):
        # S(n, r) = r S(n - 1, r) + S(n - 1, r - 1)
        logs[1:] = np.logaddexp(sets + logs[1:], logs[:-1])
        logs[0] = -np.inf
    return logs


# ---------------- Pruning of grown trees: pessimistic (C4.5) and by minimal cost-complexity (CART)


# Errors by which a leaf may be worse than the subtree that it replaces, as in Quinlan's program.
_SLACK, _TRAINING_SLACK = 0.1, 1e-3


def pessimistic_errors(errors: ArrayLike, rows: ArrayLike, confidence: float) -> Floats:
    """Return the number of errors to be expected of leaves (Quinlan 1993, section 4.2).

    It is the number of rows times the upper limit of the error rate, at which that few errors have
    the probability `confidence` by the binomial distribution. Numbers may be fractional.

    Parameters
    ----------
    errors, rows : array_like
        Wrong and all rows of each leaf.
    confidence : float

    Examples
    --------
    >>> pessimistic_errors([0, 0, 0, 1], [6, 9, 1, 16], 0.25).round(3).tolist()
    [1.238, 1.285, 0.75, 2.554]
    """
    e, n = np.asarray(errors, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    # The upper limit of Clopper and Pearson, a quantile of the beta distribution; it is 1 if all
    # rows are wrong.
    not_all = e < n
    limit = betaincinv(e + 1.0, np.where(not_all, n - e, 1.0), 1.0 - confidence)
    return np.asarray(n * np.where(not_all, limit, 1.0))


def pessimistically_pruned(tree: GrownTree, confidence: float) -> GrownTree:
    """Replace subtrees by leaves that are not expected to make more errors (Quinlan 1993).

    First a subtree becomes a leaf if its leaves make no fewer errors in the rows that it was grown
    from. A subtree is not replaced by one of its branches.

    Parameters
    ----------
    tree : GrownTree
    confidence : float
        Between 0 and 1: the lower, the smaller the tree.
    """
    total = tree.counts.sum(axis=1)
    wrong = np.maximum(total - tree.counts.max(axis=1), 0.0)
    cut = _replaced(tree, wrong, _TRAINING_SLACK)
    expected = pessimistic_errors(wrong, total, confidence)
    return tree.pruned(_replaced(tree.pruned(cut), expected, _SLACK))


def _replaced(tree: GrownTree, errors: Floats, slack: float) -> np.ndarray:
    """Return a mask of the leaves, and the nodes that become one: no more errors than their leaves.

    `errors` are those of each node as a leaf; `slack` of them may be more.
    """
    errors_below = errors.copy()
    cut = np.zeros(len(errors), dtype=bool)
    for node in range(len(errors) - 1, -1, -1):  # children come later
        if tree.splits[node] is None:
            cut[node] = True
            continue
        below = float(errors_below[tree.children[node]].sum())
        cut[node] = errors[node] <= below + slack
        errors_below[node] = errors[node] if cut[node] else below
    return cut


def cost_complexity_pruned(tree: GrownTree, alpha: float) -> GrownTree:
    """Return the smallest subtree of minimum error rate plus `alpha` for each leaf.

    See Breiman et al. (1984, chapter 3). With ``alpha=0`` nothing is pruned, as in scikit-learn.
    """
    if alpha == 0.0:
        return tree
    errors = _error_rates(tree)
    # A node as a leaf costs its errors and one alpha; below a split both are summed.
    return tree.pruned(_replaced(tree, errors + alpha, growing_kernels.ROUNDING))


def cost_complexities(tree: GrownTree) -> Floats:
    """Return the values of `alpha` at which the optimal subtree changes, ascending from 0.

    They are those of weakest-link pruning (Breiman et al. 1984, section 3.3).
    """
    errors = _error_rates(tree)
    above = np.full(len(errors), -1)  # the node above each; the root has none
    # Of the subtree at each node: the number of its leaves, and their errors. The link of a node is
    # the alpha at which the subtree costs as much as the node would as a leaf.
    leaves, below = np.ones(len(errors), dtype=np.int64), errors.copy()
    links = np.full(len(errors), np.inf)  # of leaves they stay infinite
    for node in reversed([at for at, split in enumerate(tree.splits) if split is not None]):
        children = tree.children[node]
        above[children] = node
        leaves[node], below[node] = leaves[children].sum(), below[children].sum()
        links[node] = (errors[node] - below[node]) / (leaves[node] - 1)
    alphas = [0.0]
    while links[weakest := int(np.argmin(links))] < np.inf:
        if links[weakest] > alphas[-1] + growing_kernels.ROUNDING:
            alphas.append(float(links[weakest]))
        # The subtree of the weakest link becomes a leaf: no node in it is cut later.
        inside = [weakest]
        for at in inside:  # the list grows during the loop
            links[at] = np.inf
            if tree.splits[at] is not None:
                inside += tree.children[at]
        # Those above it have fewer leaves, and more errors, by as much.
        fewer, more, up = leaves[weakest] - 1, errors[weakest] - below[weakest], above[weakest]
        while up >= 0:
            leaves[up] -= fewer
            below[up] += more
            links[up] = (errors[up] - below[up]) / (leaves[up] - 1)
            up = above[up]
    return np.array(alphas)


def _error_rates(tree: GrownTree) -> Floats:
    """Return the error rate of each node as a leaf, as a share of the weight of all rows."""
    wrong = tree.counts.sum(axis=1) - tree.counts.max(axis=1)
    return np.asarray(np.maximum(wrong, 0.0) / tree.counts[0].sum())


# ------------ Estimates for a tree with known splits: feature marginals, leaf distributions, gains


# Maximum number of cells of a histogram, besides those due to cuts: more would fit single rows.
_MAX_CELLS = 64
# Number of rows that are processed at once.
_CHUNK_ROWS = 2**16


def estimate_root(table: Table, variable: Variable, weights: Floats, cuts: Floats) -> CPD:
    """Return the marginal distribution of a feature without parents, from the rows that observe it.

    The distribution of a discrete feature is a table, that of a continuous feature a histogram.
    Pseudo-counts of one row in total are spread evenly over the states, or over the range of the
    values; each tail beyond the range has a pseudo-count of one row. Hence no later value has
    probability zero.

    Parameters
    ----------
    table : Table
    variable : Variable
    weights : ndarray, shape (n_rows,)
    cuts : ndarray
        Thresholds of the trees that split on the feature: they become edges of the histogram. Other
        edges divide it into about 2 * cbrt(total weight) cells of about equal weight.
    """
    column = table.column(variable)
    if isinstance(variable, Discrete):
        n = variable.cardinality
        counts = counts_of(column, n, weights) + 1.0 / n
        return TableCPD(variable, counts / counts.sum())
    assert isinstance(variable, Continuous)  # vectors of counts are no roots
    observed = ~np.isnan(column)
    values, weights_observed = np.asarray(column[observed], dtype=np.float64), weights[observed]
    if not len(values):
        # Nothing is known: one cell, and the tails, of equal mass.
        return HistogramCPD(variable, [-1.0, 1.0], np.full(3, 1 / 3))
    n_cells = int(np.clip(np.ceil(2.0 * np.cbrt(weights_observed.sum())), 1, _MAX_CELLS))
    edges = quantile_edges(values, weights_observed, cuts, n_cells)
    # A cell has its upper edge; the first one has also its lower edge.
    cell = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, None)
    # One pseudo-count, in proportion to the widths of the cells.
    spread = np.diff(edges) / (edges[-1] - edges[0])
    counts = np.bincount(cell, weights_observed, minlength=len(edges) - 1) + spread
    # The tails are first and last.
    masses = np.concatenate([[1.0], counts, [1.0]])
    return HistogramCPD(variable, edges, masses / masses.sum())


def estimate_roots(
    table: Table, weights: Floats, tree: Trees, parents: Sequence[Variable]
) -> dict[Variable, CPD]:
    """Return the marginal distribution of each column of a table, see `estimate_root`.

    `parents` has the variables to which `tree.feature` refers by index.
    """
    place = {parent: k for k, parent in enumerate(parents)}
    # -1 marks leaves, so that -2 matches no node: a variable that is no parent has no cuts.
    cuts = {v: np.unique(tree.threshold[tree.feature == place.get(v, -2)]) for v in table.variables}
    return {v: estimate_root(table, v, weights, cuts[v]) for v in table.variables}


def node_sums(
    tree: Trees,
    parents: Sequence[Variable],
    roots: Mapping[Variable, CPD],
    table: Table,
    amounts: Floats,
) -> Floats:
    """Return the sums of given amounts over the rows that reach each tree node, (n_nodes, m).

    A row that misses the feature of a split goes both ways, weighted by the probability of each
    side: the fractional cases of Quinlan (1993, section 3.2), with the probabilities that
    prediction uses.

    Parameters
    ----------
    tree : Trees
        A tree with known splits; its `values` are ignored.
    parents : sequence of Variable
        Variables to which `tree.feature` refers by index.
    roots : mapping from variable to CPD
        Marginal distributions of the features.
    table : Table
    amounts : ndarray, shape (n_rows, m)
        Values of each row to add up, such as weights by class.
    """
    # Arbitrary leaf distributions, only to build a CPD of the tree.
    walked = TreesCPD(
        Discrete(object(), [0]), replace(tree, values=np.ones((len(tree.leaves), 1))), parents
    )
    # Log probabilities of both sides of each split, for rows that miss its feature.
    share = walked.log_shares(roots)
    at_leaves = np.zeros((len(tree.leaves), amounts.shape[1]))
    for start in range(0, table.n_rows, _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        of_chunk = np.ascontiguousarray(amounts[rows])
        codes = coded_rows(walked.trees, parents, table, rows)
        walked.trees.spread(codes, share, of_chunk, at_leaves)
    sums = np.zeros((tree.n_nodes, amounts.shape[1]))
    sums[tree.leaves] = at_leaves
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.feature[node] >= 0:  # no leaf: the nodes at `below` and after it are its children
            sums[node] = sums[tree.below[node] : tree.below[node] + 2].sum(axis=0)
    return sums


def coded_rows(trees: Trees, parents: Sequence[Variable], table: Table, rows: Any) -> NDArray[Any]:
    """Return some rows of a table as they go down trees; see `Trees.codes`."""
    columns = [table.column(parent)[rows] for parent in parents]
    return trees.codes(np.arange(len(parents)), columns, len(np.arange(table.n_rows)[rows]))


def filled_from_above(tree: Trees, values: Floats, empty: np.ndarray) -> Floats:
    """Return tree node values, in which nodes in the mask `empty` have that of the split above.

    The value of a many-way split is that of the node with which it begins.
    """
    result = values.copy()
    for node in range(tree.n_nodes):  # parents come first
        if tree.feature[node] >= 0:
            for below in (tree.below[node], tree.below[node] + 1):
                if empty[below]:
                    result[below] = result[tree.heads[node]]
    return result


def leaf_probabilities(tree: Trees, counts: Floats, alpha: Floats) -> Floats:
    """Return the smoothed class distribution at each node, shape (n_nodes, n_classes).

    It is ``(n_c + m * q_c) / (n + m)`` for n rows at the node, n_c of which have class c
    (`counts`), the overall class frequency q_c, and m = alpha * n_classes (the m-estimate, Cestnik
    1990). If all classes are equally frequent this adds alpha to each count, and a tree of one leaf
    keeps the class frequencies. A node that no row reaches has the distribution of its parent.
    """
    total = counts.sum(axis=1)
    cells = counts + alpha * counts.shape[1] * counts[0] / total[0]
    shares = safe_divide(cells, cells.sum(axis=1, keepdims=True))
    return filled_from_above(tree, shares, total == 0)


def information_by_parent(
    tree: Trees, parents: Sequence[Variable], counts: Floats
) -> dict[Variable, float]:
    """Return the summed information gain of the splits on each parent (feature), in nats.

    It is the decrease of entropy at each split, weighted by the share of rows that reach it. The
    sum over all parents is the mutual information of class and leaf. `counts` has the class counts
    of each node.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    spread = entropy(counts) * counts.sum(axis=1) / counts[0].sum()
    left = tree.below[inner]
    gains = np.maximum(spread[inner] - spread[left] - spread[left + 1], 0.0)
    by_place = np.bincount(tree.feature[inner], gains, minlength=len(parents))
    return dict(zip(parents, by_place.tolist(), strict=True))


def entropy(counts: Floats) -> Floats:
    """Return the entropy of the distributions on the last axis, in nats; they need not sum to one.

    Examples
    --------
    >>> entropy(np.array([[2.0, 2.0], [3.0, 0.0], [0.0, 0.0]])).round(6).tolist()
    [0.693147, 0.0, 0.0]
    """
    shares = safe_divide(counts, counts.sum(axis=-1, keepdims=True))
    return np.asarray(-np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=-1) + 0.0)
