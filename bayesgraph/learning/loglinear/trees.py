"""Which features act together: spanning trees over pairs."""

from __future__ import annotations

from collections.abc import Sequence

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
from bayesgraph.statistics import Pairs, TableSource
from bayesgraph.variables import Discrete

# Of the score test, in rows: a cell that few rows are in shows little.
_RIDGE = 10.0
_TIE_DECIMALS = 9
# Penalty of the model whose residuals are searched for pairs.
_FIRST = 10.0


def trees_of(sample: Sample) -> dict[str, tuple[Pair, ...]]:
    """Return the pairs of two spanning trees: by information, and by what a star leaves over."""
    grouped = pair_codes(sample.views, sample.codes)
    terms = Terms.of(sample.views, ())
    rows, prior = sample.rows(terms), sample.prior
    penalty = np.full(terms.n_parameters, _FIRST)
    model = train(terms, rows, prior, penalty, Parameters.start(terms, prior))
    residuals = rows.scores(Normalised.of(terms, model, prior).effects)
    rows.loss(residuals)
    return {
        "information": spanning_tree(information_gains(sample, grouped)),
        "residual": spanning_tree(residual_gains(sample.views, grouped, residuals)),
    }


def pair_codes(views: Sequence[View], codes: NDArray[np.signedinteger]) -> NDArray[np.int32]:
    """Return which row of a pair's table each row of the data is in, -1 where missing."""
    grouped = np.empty(codes.shape, dtype=np.int32, order="F")
    for j, view in enumerate(views):
        grouped[:, j] = np.append(view.paired, -1)[codes[:, j]]
    return grouped


def residual_gains(views: Sequence[View], grouped: NDArray[np.int32], residuals: Floats) -> Floats:
    """Return how much each pair of features would add to a model, shape (d, d).

    The score test of the pair's table against the residuals of a model without it (Rao 1948), as
    in the search for interactions of Lou, Caruana, Gehrke and Hooker (2013).

    Parameters
    ----------
    views : sequence of View
    grouped : ndarray of int, shape (n_rows, d)
        See `pair_codes`.
    residuals : ndarray, shape (n_rows, n_classes)
        P(class) less the indicator of the label.
    """
    d = len(views)
    cards = np.array([view.n_paired for view in views], dtype=np.int64)
    # P (1 - P) from the residual r: |r| (1 - |r|).
    spreads = np.abs(residuals) * (1.0 - np.abs(residuals))
    gains = np.zeros((d, d))
    kernels.pair_gains(0, d, grouped, cards, residuals, spreads, _RIDGE, gains)
    return gains


def information_gains(sample: Sample, grouped: NDArray[np.int32]) -> Floats:
    """Return the conditional mutual information of each pair given the class, shape (d, d)."""
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
