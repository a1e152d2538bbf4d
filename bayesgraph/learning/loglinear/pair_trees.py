"""Pairs of interacting features: maximum spanning trees over two measures of interaction."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.information import discrete_scores
from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.effort import UNBOUNDED, Effort
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import Pair, Terms
from bayesgraph.learning.loglinear.training import Effects, Normalised, start, train
from bayesgraph.learning.spanning import spanning_edges
from bayesgraph.parallel import at_once
from bayesgraph.statistics import Pairs, TableSource
from bayesgraph.variables import Discrete

# Ridge of the score test, in rows: cells with few rows have a small gain.
_RIDGE = 10.0
_TIE_DECIMALS = 9
# Maximum number of cells in a CPD table.
_MAX_CELLS = 1 << 21
# Maximum of rows x pairs x classes in the search by residuals, and minimum number of its rows.
_MAX_STEPS, _MIN_ROWS = 1 << 31, 2000
# Penalty of the parameters of the model whose residuals are searched for pairs.
FIRST = 10.0


def gains_of(
    sample: Sample,
    measure: str,
    effort: Effort = UNBOUNDED,
    alone: tuple[Terms, Effects] | None = None,
) -> Floats:
    """Return how much each pair of features interacts by a measure, shape (d, d).

    The measures are the conditional mutual information ("information") and the score test against
    the residuals of a model without pairs ("residual"), for which see `residual_gains`. The gain of
    a pair whose table would be too large (of identifiers, for instance) is zero.
    """
    cards = np.array([view.variable.cardinality for view in sample.views], dtype=np.float64)
    allowed = np.outer(cards, cards) * sample.n_classes <= _MAX_CELLS
    if measure == "residual":
        gains = residual_gains(sample, effort, alone)
    else:
        gains = information_gains(sample)
    return np.asarray(np.where(allowed, gains, 0.0).round(_TIE_DECIMALS), dtype=np.float64)


def tree_of(gains: Floats) -> tuple[Pair, ...]:
    """Return the feature pairs of a maximum spanning tree; only positive gains count.

    Ties go to the first pair.
    """
    return tuple(sorted(spanning_edges(gains, gains > 0)))


def _pair_codes(sample: Sample) -> NDArray[np.int32]:
    """Return each value's group in the search for pairs, (n_rows, n_features), -1 if missing."""
    grouped = np.empty(sample.codes.shape, dtype=np.int32, order="F")
    for j, view in enumerate(sample.views):
        grouped[:, j] = np.append(view.paired, -1)[sample.codes[:, j]]
    return grouped


def residual_gains(
    sample: Sample,
    effort: Effort = UNBOUNDED,
    alone: tuple[Terms, Effects] | None = None,
) -> Floats:
    """Return the score-test gain of each pair of features over a model without pairs, (d, d).

    It is the score test of the pair's table against the residuals of the model without it (Rao
    1948), as in the search for interactions of Lou, Caruana, Gehrke and Hooker (2013). If there are
    many pairs, only a part of the rows is used.

    Parameters
    ----------
    sample : Sample
    effort : Effort, optional
    alone : (Terms, Effects), optional
        The model without pairs, if it is trained already.
    """
    d = len(sample.views)
    sample = sample.thinned(max(_MIN_ROWS, _MAX_STEPS // max(d * d * sample.n_classes, 1)))
    if alone is None:
        alone = _without_pairs(sample, effort)
    terms, effects = alone
    residuals, spreads = sample.rows(terms).residuals(effects)
    grouped = _pair_codes(sample)
    cards = np.array([view.n_paired for view in sample.views], dtype=np.int64)
    gains = np.zeros((d, d))

    def part(first: int, last: int) -> None:
        kernels.pair_gains(first, last, grouped, cards, residuals, spreads, _RIDGE, gains)

    # The first features have more pairs (i, j), i < j: both parts have equally many pairs.
    middle = round(d * (1.0 - 0.5**0.5))
    at_once([partial(part, 0, middle), partial(part, middle, d)])
    return gains


def _without_pairs(sample: Sample, effort: Effort) -> tuple[Terms, Effects]:
    """Return a model without pairs, trained on the rows."""
    terms, prior = Terms.of(sample.views, ()), sample.prior
    penalty = np.full(terms.n_parameters, FIRST)
    model = train(terms, sample.rows(terms), prior, penalty, start(terms, prior), effort=effort)
    return terms, Normalised.of(terms, model, prior).effects


def information_gains(sample: Sample) -> Floats:
    """Return I(X_i; X_j | C) of each pair of features, with their values grouped, (d, d)."""
    grouped = _pair_codes(sample)
    target = Discrete("class", range(sample.n_classes))
    columns = tuple(Discrete(i, range(view.n_paired)) for i, view in enumerate(sample.views))
    codes = np.column_stack([grouped, sample.labels.astype(np.int32)])
    table = Table((*columns, target), np.asfortranarray(codes), np.empty((len(codes), 0)))
    source = TableSource(table, target, sample.weights)
    return discrete_scores(source.pairs(Pairs(columns, target)))[0]
