"""Estimates of probability tables of discrete features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import TablePlate
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import CountSource, ParameterPosterior, Singles, Smoothing, safe_divide


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return probability tables, estimated from counts with the pseudo-counts of Smoothing."""
    discrete = [child for child in children if isinstance(child, Discrete)]
    summary = source.singles(Singles(tuple(discrete), target))
    states = [summary.at.states(child) for child in discrete]
    counts = np.concatenate([summary.counts[:, part] for part in states], axis=1)
    cards = np.array([child.cardinality for child in discrete])
    prior = np.concatenate([smoothing.state_counts(child) for child in discrete])
    even = 1.0 / np.repeat(cards, cards)  # for classes without counts and pseudo-counts
    if smoothing.is_hierarchy:
        towards = _shares(counts.sum(axis=0) + prior, cards, even)
        pull = np.repeat([smoothing.pull(n) for n in cards.tolist()], cards)
        values = _shares(counts + pull * towards, cards, towards)
    else:
        values = _shares(smoothing.weighted(counts, prior), cards, even)
    plate = TablePlate(discrete, values, [target])
    if smoothing.has_posterior:
        start = plate.start[:-1]
        rows = np.add.reduceat(counts, start, axis=1)
        added = np.add.reduceat(prior, start)
        if smoothing.is_hierarchy:
            added = np.array([smoothing.pull(n) for n in cards.tolist()])
        plate.parameter_posterior = ParameterPosterior.of_plate(rows, rows + added)
    return [plate]


def _shares(cells: Floats, cards: NDArray[np.int64], otherwise: Floats) -> Floats:
    """Normalise the counts of each column's states to probabilities.

    Parameters
    ----------
    cells : ndarray, shape (..., number of states of all columns)
        Counts of states, one column after the other on the last axis.
    cards : ndarray of int, shape (n_columns,)
        Number of states of each column.
    otherwise : ndarray
        Probabilities for columns whose counts sum to zero.
    """
    start = np.concatenate([[0], np.cumsum(cards)])[:-1]
    total = np.repeat(np.add.reduceat(cells, start, axis=-1), cards, axis=-1)
    return np.where(total > 0, safe_divide(cells, total), otherwise)


CATEGORICAL = LeafFamily(
    "categorical",
    "the default of text, category and boolean columns",
    variable=Discrete,
    is_default=True,
    statistics=Singles,
    estimate=_estimate,
    stored={
        "table": TableCPD,
        "tables": TablePlate,
    },
    takes_states=True,
    any_parents=True,
)
