"""Exponents from how features relate to the class and to one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.filters import entropy
from bayesgraph.learning.information import discrete_scores
from bayesgraph.statistics import PairsSummary
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Discrete


def relations(
    summary: PairsSummary, target: Discrete, *, symmetrical: bool = False
) -> tuple[Floats, Floats]:
    """Return how much discrete features tell about the class and about one another.

    Parameters
    ----------
    summary : PairsSummary
        Of the features and the class among the columns, given nothing.
    target : Discrete
        The class.
    symmetrical : bool
        Symmetrical uncertainty, 2 I(X; Y) / (H(X) + H(Y)), instead of mutual information in nats.

    Returns
    -------
    relevance : ndarray, shape (d,)
        Features are in the order of the summary's discrete columns.
    redundancy : ndarray, shape (d, d)

    Raises
    ------
    DataError
        If the summary is conditional or lacks the class.
    """
    columns = summary.at.discrete
    if summary.request.given is not None or target not in columns:
        raise DataError(
            "Relations are read off pairs of the features and the class given nothing; got pairs "
            f"given {summary.request.given!r}, {target!r} "
            f"{'among' if target in columns else 'not among'} the columns."
        )
    found, _ = discrete_scores(summary)
    if symmetrical:
        own = np.array([entropy(summary.singles.counts[0, summary.at.states(v)]) for v in columns])
        found = safe_divide(2.0 * found, own[:, None] + own)
    at = columns.index(target)
    rest = np.arange(len(columns)) != at
    return found[at, rest], found[np.ix_(rest, rest)]


def correlation_exponents(relevance: ArrayLike, redundancy: ArrayLike) -> Floats:
    """Return correlation-based exponents (Jiang, Zhang, Li, Wu 2019).

    ``w_i = 1 / (1 + exp(-(r_i - mean_{j != i} q_ij)))`` with the mutual information of feature and
    class r_i, and that of two features q_ij, each divided by its mean.

    Parameters
    ----------
    relevance : array_like, shape (d,)
        I(X_i; C).
    redundancy : array_like, shape (d, d)
        I(X_i; X_j); its diagonal is not read.

    Returns
    -------
    ndarray, shape (d,)
        In (0, 1).

    Raises
    ------
    DataError
        For shapes that do not belong together.
    """
    r, q = _checked(relevance, redundancy)
    others = max(1, len(r) - 1)
    r = safe_divide(r, np.full(r.shape, r.mean() if r.size else 0.0))
    between = q.sum(axis=1) / others
    between = safe_divide(between, np.full(r.shape, between.mean() if r.size else 0.0))
    return np.asarray(expit(r - between))


def correlation_selection(relevance: ArrayLike, redundancy: ArrayLike) -> Floats:
    """Return 1 for the features that correlation-based selection keeps, 0 for others (Hall 2000).

    Features join one by one, the best first, while that raises the merit ``k r / sqrt(k + k (k - 1)
    q)`` of k features whose mean correlation is r with the class and q with one another.

    Parameters
    ----------
    relevance : array_like, shape (d,)
        Symmetrical uncertainty of feature and class, 2 I(X_i; C) / (H(X_i) + H(C)).
    redundancy : array_like, shape (d, d)
        That of two features; its diagonal is not read.

    Returns
    -------
    ndarray, shape (d,)

    Raises
    ------
    DataError
        For shapes that do not belong together.

    Examples
    --------
    >>> correlation_selection([0.6, 0.6, 0.5], [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    array([1., 0., 1.])
    """
    r, q = _checked(relevance, redundancy)
    kept = np.zeros(len(r))
    merit, with_class, between, to_kept = 0.0, 0.0, 0.0, np.zeros(len(r))
    for k in range(1, len(r) + 1):
        # Twice the correlation of pairs: k (k - 1) times their mean.
        merits = (with_class + r) / np.sqrt(k + 2.0 * (between + to_kept))
        merits[kept > 0] = -1.0
        best = int(merits.argmax())
        # Rounding must not let in a copy of what is there.
        if not merits[best] > merit + 1e-12:
            break
        merit, with_class, between = merits[best], with_class + r[best], between + to_kept[best]
        kept[best] = 1.0
        to_kept = to_kept + q[best]
    return kept


def _checked(relevance: ArrayLike, redundancy: ArrayLike) -> tuple[Floats, Floats]:
    r, q = np.asarray(relevance, dtype=np.float64), np.array(redundancy, dtype=np.float64)
    if r.ndim != 1 or q.shape != (len(r), len(r)):
        raise DataError(
            f"relevance takes shape (d,) and redundancy (d, d); got {r.shape} and {q.shape}."
        )
    np.fill_diagonal(q, 0.0)
    return r, q
