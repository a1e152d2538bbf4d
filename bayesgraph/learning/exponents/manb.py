"""Model-averaged naive Bayes: the exact average over all 2^d subsets of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, logit

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.moments import safe_divide

Places: TypeAlias = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class ModelAverage:
    """The tables of one naive Bayes that predicts as the average over all subsets of arcs does.

    Attributes
    ----------
    tables : tuple of ndarray, shape (card_i, K)
        P(x_i | c), each column a distribution.
    arc_probability : ndarray, shape (d,)
        Posterior probability that the feature depends on the class.
    """

    tables: tuple[Floats, ...]
    arc_probability: Floats


def model_averaged_tables(
    counts: Sequence[ArrayLike], *, alpha: float = 1.0, arc_prior: ArrayLike = 0.5
) -> ModelAverage:
    """Return the tables of model-averaged naive Bayes (Dash and Cooper 2004), in linear time.

    Under Dirichlet priors the evidence for the 2^d subsets of arcs from the class factorises over
    the features, so that the average of their joint distributions is one naive Bayes with
    ``P(x_i | c) = P(arc_i | D) theta_{x|c} + P(no arc_i | D) theta_x``. Here ``P(D | arc) =
    prod_c [Gamma(r a) / Gamma(N_c + r a) prod_x Gamma(N_xc + a) / Gamma(a)]`` for r states and a
    pseudo-count a, ``P(D | no arc)`` is the same of the counts summed over the classes, and the
    thetas are posterior means.

    Parameters
    ----------
    counts : sequence of array_like, shape (card_i, K)
        Weight of the rows with each value of a feature in each class.
    alpha : float
        Pseudo-count of each cell, above 0.
    arc_prior : float or array_like, shape (d,)
        Prior probability of each arc.

    Returns
    -------
    ModelAverage

    Raises
    ------
    DataError
        If `alpha` is not above 0 or `arc_prior` not between 0 and 1.

    Examples
    --------
    >>> average = model_averaged_tables([[[4, 1], [1, 4]], [[2, 2], [3, 3]]])
    >>> average.arc_probability.round(2)
    array([0.75, 0.39])
    """
    prior = np.asarray(arc_prior, dtype=np.float64)
    if not (np.isfinite(alpha) and alpha > 0):
        raise DataError(f"alpha must be above 0, or no arc has a probability; got {alpha!r}.")
    if prior.shape not in {(), (len(counts),)} or not ((prior >= 0) & (prior <= 1)).all():
        raise DataError(
            f"arc_prior takes a probability, or {len(counts)}, one a feature; got {arc_prior!r}."
        )
    if not len(counts):
        return ModelAverage((), np.empty(0))
    tables = [np.asarray(table, dtype=np.float64) for table in counts]
    cards = np.array([len(table) for table in tables])
    cells, start = np.concatenate(tables), np.concatenate([[0], np.cumsum(cards)[:-1]])
    pooled = cells.sum(axis=1, keepdims=True)
    evidence = _log_evidence(cells, start, cards, alpha)
    evidence -= _log_evidence(pooled, start, cards, alpha)
    arc = expit(logit(prior) + evidence)
    share = np.repeat(arc, cards)[:, None]
    mixed = share * _means(cells, start, cards, alpha)
    mixed = mixed + (1.0 - share) * _means(pooled, start, cards, alpha)
    return ModelAverage(tuple(np.split(mixed, start[1:])), arc)


def _log_evidence(cells: Floats, start: Places, cards: Places, alpha: float) -> Floats:
    """Return ln of the probability of the data of each feature, shape (d,)."""
    rows = np.add.reduceat(cells, start)
    total = cards[:, None] * alpha
    each = np.add.reduceat(gammaln(cells + alpha) - gammaln(alpha), start)
    return np.asarray((each + gammaln(total) - gammaln(rows + total)).sum(axis=1))


def _means(cells: Floats, start: Places, cards: Places, alpha: float) -> Floats:
    """Return the posterior means of all cells."""
    total = np.repeat(np.add.reduceat(cells, start) + cards[:, None] * alpha, cards, axis=0)
    return safe_divide(cells + alpha, total)
