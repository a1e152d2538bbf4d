"""Merging of neighbouring intervals of a trained log-linear model.

Intervals are merged where the effects of neighbours hardly differ, in the tables of single
features and of pairs together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear.sample import Partition, Sample
from bayesgraph.learning.loglinear.terms import Groups, Terms
from bayesgraph.learning.loglinear.training import Effects
from bayesgraph.variables import Binned

# Minimum share of the rows in an interval that was merged.
_LEAST = 0.01
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
    feature is found by dynamic programming (Fisher 1958). Intervals with less than one per cent of
    the rows are not formed, and categories stay as they are.

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
    curvature = sample.rows(terms).curvature(effects, impurity) / sample.weights.sum()
    found: list[Groups] = []
    for feature, view in enumerate(terms.views):
        if isinstance(view.variable, Binned):
            tables = _tables_of(terms, feature, effects.cells, curvature)
            losses = np.sum([_losses(*table) for table in tables], axis=0).round(_DECIMALS)
            costs = losses + price
            costs[_is_small(view.share)] = np.inf
            found.append(_cheapest(costs))
        else:
            found.append(np.arange(len(view.share)))
    return tuple(found)


def _tables_of(
    terms: Terms, feature: int, cells: Floats, curvature: Floats
) -> list[tuple[Floats, Floats]]:
    """Return effects and curvatures of a feature's states in each table that has the feature.

    Both have the shape (n_states, n): a column for each class, and each group of the other feature.
    The curvature of a group of states in the table of a pair is divided among them by their share.
    """
    view = terms.views[feature]
    tables = list(zip(*(np.split(a, terms.starts[1:-1]) for a in (cells, curvature)), strict=True))
    found = [tables[feature]]
    part = view.share / np.bincount(view.grid, view.share)[view.grid]
    for pair, table in zip(terms.pairs, tables[len(terms.views) :], strict=True):
        if feature in pair:
            shape = [len(terms.views[j].products) for j in pair]
            grouped = (np.moveaxis(a.reshape(*shape, -1), pair.index(feature), 0) for a in table)
            values, weights = (a.reshape(len(a), -1) for a in grouped)
            there = weights.any(axis=0)
            found.append(
                (values[:, there][view.grid], weights[:, there][view.grid] * part[:, None])
            )
    return found


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
