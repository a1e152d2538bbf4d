"""Estimates for a tree with known splits: feature marginals, leaf distributions, gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesgraph.cpds import CPD, HistogramCPD, TableCPD, Tree, TreeCPD, tree_kernels
from bayesgraph.cpds.histogram import quantile_edges
from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.impurity import impurity_decrease
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Continuous, Discrete, Variable

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
        seen = column >= 0
        n = variable.cardinality
        seen_weight = np.bincount(column[seen], weights[seen], minlength=n) + 1.0 / n
        return TableCPD(variable, seen_weight / seen_weight.sum())
    assert isinstance(variable, Continuous)  # vectors of counts are no roots
    seen = ~np.isnan(column)
    values, own = np.asarray(column[seen], dtype=np.float64), weights[seen]
    if not len(values):
        return HistogramCPD(variable, [-1.0, 1.0], np.full(3, 1 / 3))
    n_cells = int(np.clip(np.ceil(2.0 * np.cbrt(own.sum())), 1, _MAX_CELLS))
    edges = quantile_edges(values, own, cuts, n_cells)
    cell = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, None)
    spread = np.diff(edges) / (edges[-1] - edges[0])
    counts = np.bincount(cell, own, minlength=len(edges) - 1) + spread
    masses = np.concatenate([[1.0], counts, [1.0]])
    return HistogramCPD(variable, edges, masses / masses.sum())


def estimate_roots(
    table: Table, weights: Floats, tree: Tree, parents: Sequence[Variable]
) -> dict[Variable, CPD]:
    """Return the marginal distribution of each column of a table, see `estimate_root`.

    `parents` has the variables to which `tree.feature` refers by index.
    """
    place = {parent: k for k, parent in enumerate(parents)}
    cuts = {v: np.unique(tree.threshold[tree.feature == place.get(v, -2)]) for v in table.variables}
    return {v: estimate_root(table, v, weights, cuts[v]) for v in table.variables}


def node_sums(
    tree: Tree,
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
    tree : Tree
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
    values = np.where(tree.feature[:, None] < 0, 1.0, 0.0)
    walked = TreeCPD(Discrete(object(), [0]), replace(tree, values=values), parents)
    share = np.full(tree.n_nodes, np.nan)
    for place, parent in enumerate(parents):
        at = tree.feature == place
        share[at] = walked.left_shares(parent, roots[parent])[at]
    sums = np.zeros((tree.n_nodes, amounts.shape[1]))
    for start in range(0, table.n_rows, _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        matrix = node_columns(parents, table, rows)
        tree_kernels.spread_over_nodes(
            sums, matrix, walked.flat, tree.height, share, np.ascontiguousarray(amounts[rows])
        )
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.feature[node] >= 0:
            sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


def node_columns(parents: Sequence[Variable], table: Table, rows: Any) -> Floats:
    """Return columns of some rows as kernels take them: (n_parents, n_rows), NaN where missing."""
    matrix = np.empty((len(parents), len(np.arange(table.n_rows)[rows])))
    for own, parent in zip(matrix, parents, strict=True):
        own[:] = table.column(parent)[rows]
        if isinstance(parent, Discrete):
            own[own < 0] = np.nan
    return matrix


def filled_from_above(tree: Tree, values: Floats, empty: np.ndarray) -> Floats:
    """Return tree node values, in which nodes in the mask `empty` have that of the split above.

    The value of a many-way split is that of the node with which it begins.
    """
    result = values.copy()
    for node in range(tree.n_nodes):  # parents come first
        if tree.feature[node] >= 0:
            for below in (tree.left[node], tree.right[node]):
                if empty[below]:
                    result[below] = result[tree.heads[node]]
    return result


def leaf_probabilities(tree: Tree, counts: Floats, alpha: Floats) -> Floats:
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
    tree: Tree, parents: Sequence[Variable], counts: Floats
) -> dict[Variable, float]:
    """Return the summed information gain of the splits on each parent (feature), in nats.

    It is the decrease of entropy at each split, weighted by the share of rows that reach it. The
    sum over all parents is the mutual information of class and leaf. `counts` has the class counts
    of each node.
    """
    total = float(counts[0].sum())
    inner = np.flatnonzero(tree.feature >= 0)
    parts = np.stack([counts[tree.left[inner]], counts[tree.right[inner]]], axis=1)
    gains = np.maximum(impurity_decrease("entropy", parts, total=total), 0.0)
    by_place = np.bincount(tree.feature[inner], gains, minlength=len(parents))
    return dict(zip(parents, by_place.tolist(), strict=True))
