"""Merging of neighbouring intervals of a trained log-linear model.

Intervals are merged where the effects of neighbours hardly differ, in the tables of single
features, of pairs, and in the joint table together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear.contexts import Groups
from bayesgraph.learning.loglinear.sample import Partition, Sample
from bayesgraph.learning.loglinear.terms import Terms, joint_groups, merged_view
from bayesgraph.learning.loglinear.training import Effects
from bayesgraph.variables import Binned

# Minimum share of the rows in an interval that was merged, and price of one with less.
_LEAST, _SMALL = 0.01, 1e6
# Price of an interval of a feature in the joint table, which has cells for each, in prices.
_JOINT = 4.0
# Decimals of the loss of a merger, so that equal losses are ties.
_DECIMALS = 12


def partition_of(
    terms: Terms, effects: Effects, sample: Sample, price: float, impurity: float
) -> Partition:
    """Return the intervals of each feature at which losses and prices are lowest in sum.

    The loss of merging neighbouring intervals is that of giving all of them the mean of their
    effects, to second order in the effects: half the sum of squared differences from the mean,
    weighted by the sum of P (1 - P) over the rows (as in the clustering of Ward 1963). Terms
    between classes, and between the tables of one feature, are left out. The best partition of a
    feature is found by dynamic programming (Fisher 1958). In a joint table, most joint states have
    no rows: its weights are those of features that are independent of each other, and an interval
    of its features costs four prices; it has at most 16. Intervals with less than one per cent of
    the rows are not formed unless contexts differ on both sides, and categories stay as they are.

    Parameters
    ----------
    terms : Terms
    effects : Effects
        Those of a trained model.
    sample : Sample
        The rows that it was trained on.
    price : float
        Price of an interval, in nats per row.
    impurity : float
        Mean of the sum of P (1 - P) over the classes of rows that a model has not seen. Where a
        model separates the classes of the rows that it was trained on, their own P (1 - P) would
        say that no effect matters.
    """
    without = effects
    if terms.contexts is not None and terms.contexts.is_joint:
        cells = effects.cells.copy()
        cells[terms.starts[-2] :] = 0.0
        without = replace(effects, cells=cells)
    curvature = sample.rows(terms).curvature(without, impurity) / sample.weights.sum()
    found: list[Groups] = []
    for feature, view in enumerate(terms.views):
        if isinstance(view.variable, Binned):
            tables = _tables_of(terms, feature, effects.cells, curvature)
            losses = np.sum([_losses(*table) for table in tables], axis=0).round(_DECIMALS)
            own = price * (_JOINT if _is_in_joint(terms, feature) else 1.0)
            costs = losses + own + _SMALL * _is_small(view.share)
            costs[_crosses(_contexts_of(terms, feature))] = np.inf
            groups = _cheapest(costs)
            if _is_in_joint(terms, feature):
                # A joint table has a cell for each combination: no more intervals than its groups.
                merged = merged_view(view, groups)
                groups = joint_groups(merged)[groups]
            found.append(groups)
        else:
            found.append(np.arange(len(view.share)))
    return tuple(found)


def _tables_of(
    terms: Terms, feature: int, cells: Floats, curvature: Floats
) -> list[tuple[Floats, Floats]]:
    """Return effects and curvatures of a feature's states in each table that has the feature.

    Both have the shape (n_states, n): a column for each class and each state of other features.
    The curvature of a group of states in a table of several features is divided among them by their
    share. Contexts that were grown are left out: only states of the same contexts are merged.
    """
    share = terms.views[feature].share
    tables = list(zip(*(np.split(a, terms.starts[1:-1]) for a in (cells, curvature)), strict=True))
    found = [tables[feature]]
    grids: list[tuple[tuple[int, ...], list[Groups]]]
    grids = [(pair, [terms.views[i].grid for i in pair]) for pair in terms.pairs]
    if terms.contexts is not None and terms.contexts.is_joint:
        grids.append((terms.contexts.features, list(terms.contexts.groups)))
    for at, ((scope, groups), table) in enumerate(
        zip(grids, tables[len(terms.views) :], strict=False)
    ):
        if feature in scope:
            axis = scope.index(feature)
            group = groups[axis]
            shape = [int(g.max()) + 1 for g in groups]
            grouped = (np.moveaxis(a.reshape(*shape, -1), axis, 0) for a in table)
            values, weights = (a.reshape(len(a), -1, cells.shape[1]) for a in grouped)
            if at == len(terms.pairs):  # the joint table follows the pairs
                weights = _independent(weights)
            values, weights = (a.reshape(len(a), -1) for a in (values, weights))
            there = weights.any(axis=0)
            part = share / np.bincount(group, share)[group]
            found.append((values[:, there][group], weights[:, there][group] * part[:, None]))
    return found


def _is_in_joint(terms: Terms, feature: int) -> bool:
    """Whether a feature is one of those of the joint table."""
    contexts = terms.contexts
    return contexts is not None and contexts.is_joint and feature in contexts.features


def _independent(weights: Floats) -> Floats:
    """Return the weights that states and other features would have if they were independent.

    Of joint states of many features most have no rows in the sample, but may have rows later.

    Parameters
    ----------
    weights : ndarray, shape (n_states, n_others, n_classes)
    """
    total = np.maximum(weights.sum(axis=(0, 1)), np.finfo(float).tiny)
    return np.asarray(weights.sum(axis=1)[:, None] * (weights.sum(axis=0) / total))


def _losses(values: Floats, weights: Floats) -> Floats:
    """Return half the weighted sum of squares about the mean of the states a to b - 1, at a, b.

    Parameters
    ----------
    values, weights : ndarray, shape (n_states, n)

    Returns
    -------
    ndarray, shape (n_states + 1, n_states + 1)
    """
    powers = (weights, weights * values, weights * values * values)
    mass, first, second = (np.pad(np.cumsum(p, axis=0), ((1, 0), (0, 0))) for p in powers)
    found = np.zeros((len(mass), len(mass)))
    for a in range(len(values)):
        total = np.maximum(mass[a + 1 :] - mass[a], np.finfo(float).tiny)
        squares = second[a + 1 :] - second[a] - (first[a + 1 :] - first[a]) ** 2 / total
        found[a, a + 1 :] = 0.5 * np.maximum(squares, 0.0).sum(axis=1)
    return found


def _contexts_of(terms: Terms, feature: int) -> Groups:
    """Return the group of each state of a feature: those of one group are in the same contexts."""
    contexts = terms.contexts
    if contexts is None or contexts.is_joint or feature not in contexts.features:
        return np.zeros(len(terms.views[feature].share), dtype=np.intp)
    return contexts.groups[contexts.features.index(feature)]


def _crosses(groups: Groups) -> NDArray[np.bool_]:
    """Return whether the states a to b - 1 are of several groups, at a, b (n_states + 1, ...)."""
    found = np.zeros((len(groups) + 1, len(groups) + 1), dtype=bool)
    found[:-1, 1:] = groups[:, None] != groups
    return found


def _is_small(share: Floats) -> NDArray[np.bool_]:
    """Return whether the states a to b - 1 have too few rows together, at a, b."""
    ends = np.concatenate([[0.0], np.cumsum(share)])
    return np.asarray(ends - ends[:, None] < _LEAST)


def _cheapest(costs: Floats) -> Groups:
    """Return the partition of states into intervals of the lowest total cost.

    `costs` has the cost of the interval of the states a to b - 1 at a, b, shape (n_states + 1,
    n_states + 1).
    """
    n = len(costs) - 1
    least, begin = np.zeros(n + 1), np.zeros(n + 1, dtype=np.intp)
    for b in range(1, n + 1):
        totals = least[:b] + costs[:b, b]
        begin[b] = np.argmin(totals)  # of equal ones the longest interval
        least[b] = totals[begin[b]]
    is_first = np.zeros(n, dtype=bool)
    b = n
    while b:
        b = int(begin[b])
        is_first[b] = True
    return np.cumsum(is_first) - 1
