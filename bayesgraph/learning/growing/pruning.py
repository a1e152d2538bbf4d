"""Pruning of grown trees: pessimistic (C4.5) and by minimal cost-complexity (CART)."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.growing import kernels
from bayesgraph.learning.growing.grower import GrownTree
from bayesgraph.special import betaincinv

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
    some = e < n
    limit = betaincinv(e + 1.0, np.where(some, n - e, 1.0), 1.0 - confidence)
    return np.asarray(n * np.where(some, limit, 1.0))


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
    """Return a mask of the nodes that become leaves, as they have no more errors than their leaves.

    `errors` are those of each node as a leaf; `slack` of them may be more.
    """
    found = errors.copy()
    cut = np.zeros(len(errors), dtype=bool)
    for node in range(len(errors) - 1, -1, -1):  # children come later
        if tree.splits[node] is None:
            cut[node] = True
            continue
        below = float(found[tree.children[node]].sum())
        cut[node] = errors[node] <= below + slack
        found[node] = errors[node] if cut[node] else below
    return cut


def cost_complexity_pruned(tree: GrownTree, alpha: float) -> GrownTree:
    """Return the smallest subtree of minimum error rate plus `alpha` for each leaf.

    See Breiman et al. (1984, chapter 3). With ``alpha=0`` nothing is pruned, as in scikit-learn.
    """
    if alpha == 0.0:
        return tree
    errors = _error_rates(tree)
    return tree.pruned(_replaced(tree, errors + alpha, kernels.ROUNDING))


def cost_complexities(tree: GrownTree) -> Floats:
    """Return the values of `alpha` at which the optimal subtree changes, ascending from 0.

    They are those of weakest-link pruning (Breiman et al. 1984, section 3.3).
    """
    errors = _error_rates(tree)
    above = np.full(len(errors), -1)
    leaves, below = np.ones(len(errors), dtype=np.int64), errors.copy()
    inner = [node for node, split in enumerate(tree.splits) if split is not None]
    for node in reversed(inner):
        above[tree.children[node]] = node
        leaves[node] = leaves[tree.children[node]].sum()
        below[node] = below[tree.children[node]].sum()

    def link(node: int) -> tuple[float, int, int]:
        return (float(errors[node] - below[node]) / (leaves[node] - 1), node, int(leaves[node]))

    alphas = [0.0]
    heap = [link(node) for node in inner]
    heapq.heapify(heap)
    while heap:
        alpha, node, n_leaves = heapq.heappop(heap)
        if n_leaves != leaves[node]:
            continue  # an entry that a later one replaced
        if alpha > alphas[-1] + kernels.ROUNDING:
            alphas.append(alpha)
        fewer, more = int(leaves[node]) - 1, float(errors[node] - below[node])
        gone = [node]
        for at in gone:  # the list grows during the loop
            leaves[at] = 1
            if tree.splits[at] is not None:
                gone += tree.children[at]
        below[node] = errors[node]
        up = int(above[node])
        while up >= 0:
            leaves[up] -= fewer
            below[up] += more
            heapq.heappush(heap, link(up))
            up = int(above[up])
    return np.array(alphas)


def _error_rates(tree: GrownTree) -> Floats:
    """Return the error rate of each node as a leaf, as a share of the weight of all rows."""
    wrong = tree.counts.sum(axis=1) - tree.counts.max(axis=1)
    return np.asarray(np.maximum(wrong, 0.0) / tree.counts[0].sum())
