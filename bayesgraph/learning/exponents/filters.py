"""Exponents of a naive Bayes from what each feature tells of the class by itself.

Scores are nats a row, from counts alone and so from one pass over any stream; `scaled_to_mean`
makes exponents of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.exponents.data import LogTerms
from bayesgraph.learning.exponents.lengths import log_choose, log_factorial
from bayesgraph.learning.smoothing import one_of
from bayesgraph.statistics.moments import safe_divide

Counts = Sequence[Floats]


def entropy(counts: Floats) -> Floats:
    """Return the entropy of relative frequencies along the last axis, 0 without rows."""
    total = counts.sum(axis=-1, keepdims=True)
    shares = safe_divide(counts, np.broadcast_to(total, counts.shape))
    return np.asarray(-xlogy(shares, shares).sum(axis=-1))


def mutual_information(counts: Counts) -> Floats:
    """Return I(X_i; C) of each feature from relative frequencies, shape (d,), in nats.

    Parameters
    ----------
    counts : sequence of ndarray, shape (card_i, K)
        Weight of the rows with each value of a feature in each class.

    Examples
    --------
    >>> mutual_information([np.eye(2), np.ones((2, 2))]).round(6)
    array([0.693147, 0.      ])
    """
    found = [
        entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)) - entropy(table.ravel())
        for table in counts
    ]
    return np.maximum(np.array(found, dtype=np.float64), 0.0)


def gain_ratio(counts: Counts) -> Floats:
    """Return I(X_i; C) / H(X_i) of each feature (Quinlan 1993), shape (d,); 0 for a constant.

    Parameters
    ----------
    counts : sequence of ndarray, shape (card_i, K)

    Examples
    --------
    >>> gain_ratio([np.eye(2), np.eye(4)[:, [0, 2]] + np.eye(4)[:, [1, 3]]]).round(6)
    array([1. , 0.5])
    """
    spread = np.array([entropy(table.sum(axis=1)) for table in counts], dtype=np.float64)
    return safe_divide(mutual_information(counts), spread)


def description_length(counts: Counts) -> Floats:
    """Return what each feature alone saves of the code of the classes, shape (d,), in nats a row.

    ``1/N [ln N!/prod_c N_c! + ln C(N + K - 1, K - 1) - sum_x (ln N_x!/prod_c N_xc! +
    ln C(N_x + K - 1, K - 1))]`` (Kononenko 1995, the measure MDL'), 0 where nothing is saved.

    Parameters
    ----------
    counts : sequence of ndarray, shape (card_i, K)
    """
    found = [_code(table.sum(axis=0)) - _code(table).sum() for table in counts]
    rows = np.array([table.sum() for table in counts], dtype=np.float64)
    return np.maximum(safe_divide(np.array(found, dtype=np.float64), rows), 0.0)


def _code(counts: Floats) -> Floats:
    """Return the length of the code of the classes of rows, of counts along the last axis."""
    rows, classes = counts.sum(axis=-1), counts.shape[-1]
    orders = log_factorial(rows) - log_factorial(counts).sum(axis=-1)
    return np.asarray(orders + log_choose(rows + classes - 1, classes - 1))


def conditional_likelihood(counts: Counts, tables: Counts, log_prior: Floats) -> Floats:
    """Return the gain in log P(c | x_i) of each feature alone over P(c), a row, shape (d,).

    ``1/N sum_{x,c} N_xc [log P(c | x) - log P(c)]`` with P(c | x) of the naive Bayes of one
    feature; 0 where it is negative.

    Parameters
    ----------
    counts : sequence of ndarray, shape (card_i, K)
    tables : sequence of ndarray, shape (card_i, K)
        log p(x_i | c).
    log_prior : ndarray, shape (K,)
    """
    rows = np.array([table.sum() for table in counts], dtype=np.float64)
    prior = log_prior - log_sum_exp(log_prior, 0)
    gains = np.empty(len(counts))
    for i, (seen, table) in enumerate(zip(counts, tables, strict=True)):
        # log P(c | x) - log P(c) = log p(x | c) - log p(x), finite even for a class that cannot be.
        gains[i] = (seen * (table - log_sum_exp(table + prior, 1)[:, None])).sum()
    return np.maximum(safe_divide(gains, rows), 0.0)


def scaled_to_mean(scores: ArrayLike) -> Floats:
    """Return exponents in proportion to scores, 1 in the mean (Zhang and Sheng 2004).

    Parameters
    ----------
    scores : array_like, shape (d,)
        Not negative.

    Returns
    -------
    ndarray, shape (d,)
        Zeros if no feature tells anything.

    Examples
    --------
    >>> scaled_to_mean([0.1, 0.3, 0.2])
    array([0.5, 1.5, 1. ])
    """
    given = np.asarray(scores, dtype=np.float64)
    # Divided by the largest first: the mean of tiny scores would underflow.
    shares = safe_divide(given, np.full(given.shape, given.max(initial=0.0)))
    return safe_divide(shares, np.full(given.shape, shares.mean() if given.size else 0.0))


FILTERS: Mapping[str, Callable[[LogTerms], Floats]] = {
    "mutual_information": lambda terms: mutual_information(terms.counts),
    "gain_ratio": lambda terms: gain_ratio(terms.counts),
    "mdl": lambda terms: description_length(terms.counts),
    "conditional_likelihood": lambda terms: conditional_likelihood(
        terms.counts, terms.tables, terms.log_prior
    ),
}


def filter_exponents(terms: LogTerms, name: str) -> Floats:
    """Return exponents in proportion to a score of each feature, 1 in the mean.

    Parameters
    ----------
    terms : LogTerms
    name : {"mutual_information", "gain_ratio", "mdl", "conditional_likelihood"}

    Returns
    -------
    ndarray, shape (d,)

    Raises
    ------
    DataError
        If the name is not known.
    """
    one_of("filter", name, FILTERS)
    return scaled_to_mean(FILTERS[name](terms))
