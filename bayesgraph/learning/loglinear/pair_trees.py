"""Pairs of features that act together: spanning trees over two measures."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.information import discrete_scores
from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import Pair, Terms
from bayesgraph.learning.loglinear.training import Normalised, log_loss, start, train
from bayesgraph.learning.spanning import spanning_edges
from bayesgraph.parallel import at_once
from bayesgraph.statistics import Pairs, TableSource
from bayesgraph.variables import Discrete

# Of the score test, in rows: a cell that few rows are in shows little.
_RIDGE = 10.0
_TIE_DECIMALS = 9
# Cells of a table that a network may have.
_MAX_CELLS = 1 << 21
# Rows times pairs times classes that the search for residuals takes, and the minimum of rows.
_MAX_STEPS, _MIN_ROWS = 1 << 31, 2000
# Penalty of the model whose residuals are searched for pairs.
_FIRST = 10.0


def trees_of(sample: Sample) -> dict[str, tuple[Pair, ...]]:
    """Return the pairs of two spanning trees: by information, and by the residuals of a star.

    Over positive gains; ties by order. Pairs whose table would be too large, those of identifiers,
    say, are left out.
    """
    cards = np.array([view.variable.cardinality for view in sample.views], dtype=np.float64)
    allowed = np.outer(cards, cards) * sample.n_classes <= _MAX_CELLS
    found: dict[str, tuple[Pair, ...]] = {}
    for name, measure in (("information", information_gains), ("residual", residual_gains)):
        gains = np.asarray(np.where(allowed, measure(sample), 0.0), dtype=np.float64)
        gains = gains.round(_TIE_DECIMALS)
        found[name] = tuple(sorted(spanning_edges(gains, gains > 0)))
    return found


def _pair_codes(sample: Sample) -> NDArray[np.int32]:
    """Return which row of a pair's table each row of the data is in, -1 where missing."""
    grouped = np.empty(sample.codes.shape, dtype=np.int32, order="F")
    for j, view in enumerate(sample.views):
        grouped[:, j] = np.append(view.paired, -1)[sample.codes[:, j]]
    return grouped


def residual_gains(sample: Sample) -> Floats:
    """Return the gain of each pair of features over a star, shape (d, d).

    The score test of the pair's table against the residuals of a model without it (Rao 1948), as
    in the search for interactions of Lou, Caruana, Gehrke and Hooker (2013). Where there are many
    pairs, on some of the rows.
    """
    d = len(sample.views)
    sample = sample.thinned(max(_MIN_ROWS, _MAX_STEPS // (d * d * sample.n_classes)))
    terms = Terms.of(sample.views, ())
    rows, prior = sample.rows(terms), sample.prior
    penalty = np.full(terms.n_parameters, _FIRST)
    model = train(terms, rows, prior, penalty, start(terms, prior))
    residuals = rows.scores(Normalised.of(terms, model, prior).effects)
    log_loss(residuals, rows.labels, rows.weights)
    # P (1 - P) from the residual r of a row of weight one: |r| (1 - |r|).
    each = np.abs(residuals / sample.weights[:, None])
    spreads = sample.weights[:, None] * each * (1.0 - each)
    grouped = _pair_codes(sample)
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
    grouped = _pair_codes(sample)
    target = Discrete("class", range(sample.n_classes))
    columns = tuple(Discrete(i, range(view.n_paired)) for i, view in enumerate(sample.views))
    codes = np.column_stack([grouped, sample.labels.astype(np.int32)])
    table = Table((*columns, target), np.asfortranarray(codes), np.empty((len(codes), 0)))
    source = TableSource(table, target, sample.weights)
    return discrete_scores(source.pairs(Pairs(columns, target)))[0]
