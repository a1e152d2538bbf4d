"""Which features act together: spanning trees over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.information import discrete_scores
from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.design import Normalised, Pair, Parameters, Terms
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.training import train
from bayesgraph.learning.loglinear.views import View
from bayesgraph.parallel import at_once
from bayesgraph.statistics import Pairs, TableSource
from bayesgraph.variables import Discrete

# Of the score test, in rows: a cell that few rows are in shows little.
_RIDGE = 10.0
_TIE_DECIMALS = 9
# Cells of a table that a network may have.
_MOST_CELLS = 1 << 21
# Rows times pairs times classes that the search for residuals takes, and rows at least.
_MOST_STEPS, _LEAST_ROWS = 1 << 31, 2000
# Penalty of the model whose residuals are searched for pairs.
_FIRST = 10.0


def trees_of(sample: Sample) -> dict[str, tuple[Pair, ...]]:
    """Return the pairs of two spanning trees: by information, and by what a star leaves over."""
    allowed = _allowed(sample)
    return {
        "information": spanning_tree(np.where(allowed, information_gains(sample), 0.0)),
        "residual": spanning_tree(np.where(allowed, residual_gains(sample), 0.0)),
    }


def _allowed(sample: Sample) -> NDArray[np.bool_]:
    """Return which pairs have a table that is not too large: identifiers, say, have none."""
    cards = np.array([view.variable.cardinality for view in sample.views], dtype=np.float64)
    return np.asarray(np.outer(cards, cards) * sample.n_classes <= _MOST_CELLS)


def pair_codes(views: Sequence[View], codes: NDArray[np.signedinteger]) -> NDArray[np.int32]:
    """Return which row of a pair's table each row of the data is in, -1 where missing."""
    grouped = np.empty(codes.shape, dtype=np.int32, order="F")
    for j, view in enumerate(views):
        grouped[:, j] = np.append(view.paired, -1)[codes[:, j]]
    return grouped


def residual_gains(sample: Sample) -> Floats:
    """Return how much each pair of features would add to a star, shape (d, d).

    The score test of the pair's table against the residuals of a model without it (Rao 1948), as
    in the search for interactions of Lou, Caruana, Gehrke and Hooker (2013). Where there are many
    pairs, on some of the rows.
    """
    d = len(sample.views)
    sample = sample.thinned(max(_LEAST_ROWS, _MOST_STEPS // (d * d * sample.n_classes)))
    terms = Terms.of(sample.views, ())
    rows, prior = sample.rows(terms), sample.prior
    penalty = np.full(terms.n_parameters, _FIRST)
    model = train(terms, rows, prior, penalty, Parameters.start(terms, prior))
    residuals = rows.scores(Normalised.of(terms, model, prior).effects)
    rows.loss(residuals)
    # P (1 - P) from the residual r of a row of weight one: |r| (1 - |r|).
    each = np.abs(residuals / sample.weights[:, None])
    spreads = sample.weights[:, None] * each * (1.0 - each)
    grouped = pair_codes(sample.views, sample.codes)
    cards = np.array([view.n_paired for view in sample.views], dtype=np.int64)
    gains = np.zeros((d, d))

    def part(first: int, last: int) -> None:
        kernels.pair_gains(first, last, grouped, cards, residuals, spreads, _RIDGE, gains)

    # The first features have the most pairs: here the two parts have as many.
    middle = round(d * (1.0 - 0.5**0.5))
    at_once([partial(part, 0, middle), partial(part, middle, d)])
    return gains


def information_gains(sample: Sample) -> Floats:
    """Return the conditional mutual information of each pair given the class, shape (d, d)."""
    grouped = pair_codes(sample.views, sample.codes)
    target = Discrete("class", range(sample.n_classes))
    columns = tuple(Discrete(i, range(view.n_paired)) for i, view in enumerate(sample.views))
    codes = np.column_stack([grouped, sample.labels.astype(np.int32)])
    table = Table((*columns, target), np.asfortranarray(codes), np.empty((len(codes), 0)))
    source = TableSource(table, target, sample.weights)
    return discrete_scores(source.pairs(Pairs(columns, target)))[0]


def spanning_tree(gains: Floats) -> tuple[Pair, ...]:
    """Return the pairs of a maximum spanning forest over the positive gains; ties by order."""
    graph = nx.Graph()
    rounded = np.round(gains, _TIE_DECIMALS)
    for i, j in zip(*np.nonzero(np.triu(rounded, 1)), strict=True):
        graph.add_edge(int(i), int(j), weight=float(rounded[i, j]))
    found = nx.maximum_spanning_edges(graph, data=False)
    return tuple(sorted((min(i, j), max(i, j)) for i, j in found))
