"""Exponents of weighted naive Bayes by published formulas without a search: research baselines.

Exponents from the mutual information of each feature and the class (filters), from the depth of a
feature in unpruned trees, and from its correlation with other features. Also the tables of naive
Bayes averaged over all subsets of features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, xlogy

from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.exponents.code_lengths import log_choose, log_factorial
from bayesgraph.learning.exponents.log_terms import LogTerms
from bayesgraph.learning.impurity import impurity
from bayesgraph.learning.information import conditional_mutual_information, discrete_scores
from bayesgraph.statistics import PairsSummary
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Discrete

# Number of trees for the exponents by depth, and share of the rows in each tree's sample.
_N_TREES, _SAMPLE_SHARE = 10, 0.5

# ------------------------------------------------------------------------------------- filters


def mutual_information(counts: Sequence[Floats]) -> Floats:
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
    return np.array([float(conditional_mutual_information(table[None])) for table in counts])


def _gain_ratio(terms: LogTerms) -> Floats:
    """Return I(X_i; C) / H(X_i) of each feature (Quinlan 1993); 0 for a constant."""
    spread = np.array([float(impurity("entropy", table.sum(axis=1))) for table in terms.counts])
    return safe_divide(mutual_information(terms.counts), spread)


def _description_length(terms: LogTerms) -> Floats:
    """Return by how much each feature alone shortens the code of the labels, in nats per row.

    ``1/N [ln N!/prod_c N_c! + ln C(N + K - 1, K - 1) - sum_x (ln N_x!/prod_c N_xc! + ln C(N_x + K -
    1, K - 1))]`` (Kononenko 1995, the measure MDL'), at least 0, for N rows, K classes, and counts
    N_c of class c, N_x of value x, and N_xc of both.
    """

    def code(counts: Floats) -> Floats:
        rows, classes = counts.sum(axis=-1), counts.shape[-1]
        orders = log_factorial(rows) - log_factorial(counts).sum(axis=-1)
        return np.asarray(orders + log_choose(rows + classes - 1, classes - 1))

    found = [float(code(table.sum(axis=0)) - code(table).sum()) for table in terms.counts]
    return _per_row(np.array(found), terms)


def _conditional_likelihood(terms: LogTerms) -> Floats:
    """Return the gain in class log likelihood by each feature alone, in nats per row.

    ``1/N sum_{x,c} N_xc [log P(c | x) - log P(c)]``, at least 0, where N_xc of N rows have value x
    and class c, and P(c | x) is the posterior of a naive Bayes with this feature only.
    """
    prior = terms.log_prior - log_sum_exp(terms.log_prior, 0)
    # log P(c | x) - log P(c) = log p(x | c) - log p(x), finite even for a class of probability 0.
    gains = [
        float((seen * (table - log_sum_exp(table + prior, 1)[:, None])).sum())
        for seen, table in zip(terms.counts, terms.tables, strict=True)
    ]
    return _per_row(np.array(gains), terms)


def _per_row(gains: Floats, terms: LogTerms) -> Floats:
    rows = np.array([float(table.sum()) for table in terms.counts])
    return np.maximum(safe_divide(gains, rows), 0.0)


FILTERS: Mapping[str, Callable[[LogTerms], Floats]] = {
    "mutual_information": lambda terms: mutual_information(terms.counts),
    "gain_ratio": _gain_ratio,
    "mdl": _description_length,
    "conditional_likelihood": _conditional_likelihood,
}


def filter_exponents(terms: LogTerms, name: str) -> Floats:
    """Return exponents proportional to a score of each feature, scaled to a mean of 1.

    Zhang and Sheng (2004) scale gain ratios in this way. All exponents are 0 if all scores are 0.

    Parameters
    ----------
    terms : LogTerms
    name : {"mutual_information", "gain_ratio", "mdl", "conditional_likelihood"}
        The score.

    Returns
    -------
    ndarray, shape (d,)
    """
    scores = FILTERS[name](terms)
    # Scores are divided by the largest first, as the mean of tiny scores would underflow.
    return _over_mean(safe_divide(scores, np.full(scores.shape, scores.max(initial=0.0))))


def _over_mean(scores: Floats) -> Floats:
    """Return scores divided by their mean, or 0 if the mean is 0."""
    return safe_divide(scores, np.full(scores.shape, scores.mean() if scores.size else 0.0))


# --------------------------------------------------------------------------------- correlation


def correlation_exponents(summary: PairsSummary, target: Discrete) -> Floats:
    """Return correlation-based exponents (Jiang, Zhang, Li, Wu 2019).

    ``w_i = 1 / (1 + exp(-(r_i - mean_{j != i} q_ij)))``. Here r_i is the mutual information of
    feature i and the class, divided by its mean over i; q_ij is the mutual information of features
    i and j, divided by its mean over all pairs.

    Parameters
    ----------
    summary : PairsSummary
        A summary whose columns are the features and the class, not conditioned on a class.
    target : Discrete
        The class.

    Returns
    -------
    ndarray, shape (d,)
        In (0, 1), in the order of the summary's discrete columns.
    """
    information, _ = discrete_scores(summary)
    at = summary.at.discrete.index(target)
    relevance, between = np.delete(information[at], at), np.delete(information, at, axis=0)
    redundancy = np.delete(between, at, axis=1).sum(axis=1) / max(1, len(relevance) - 1)
    return np.asarray(expit(_over_mean(relevance) - _over_mean(redundancy)))


# ------------------------------------------------------------------------------- depth in trees


def depth_exponents(terms: LogTerms, seed: int = 1) -> Floats:
    """Return the mean of 1 / sqrt(depth) of each feature over unpruned trees (Hall 2007).

    Each tree is grown from a bootstrap sample of half the rows, drawn in proportion to their
    weights. The depth of a feature is the minimum depth of the splits on it, 1 at the root, and
    infinite in a tree that does not split on it.

    Returns
    -------
    ndarray, shape (d,)
        In [0, 1].
    """
    total = terms.weights.sum()
    if not terms.n_features or not total > 0:
        return np.zeros(terms.n_features)
    random, size = np.random.default_rng(seed), math.ceil(_SAMPLE_SHARE * terms.n_rows)
    drawn = [
        random.choice(terms.n_rows, size=size, p=terms.weights / total) for _ in range(_N_TREES)
    ]
    return np.asarray((1.0 / np.sqrt([split_depths(terms, rows) for rows in drawn])).mean(axis=0))


def split_depths(terms: LogTerms, rows: NDArray[np.integer]) -> Floats:
    """Return the minimum depth at which an unpruned tree splits on each feature, shape (d,).

    A node has one branch for each state of its feature, missing values counting as a state. It
    splits on the feature with the highest gain ratio among the features whose gain is at least
    average (Quinlan 1993, chapter 2) and of which at least two branches have at least two rows.
    All nodes of a depth are split at once.

    Parameters
    ----------
    terms : LogTerms
    rows : ndarray of int
        Indices of the rows from which the tree is grown; rows may be repeated.
    """
    k, largest = terms.n_classes, int(terms.cards.max()) + 1
    # All arguments of n log n are counts of rows: its values are tabulated.
    sizes = np.arange(len(rows) + 1)
    n_log_n = xlogy(sizes, sizes)
    codes, labels = terms.codes[rows] + 1, terms.labels[rows]
    depths = np.full(terms.n_features, np.inf)
    node, depth = np.zeros(len(rows), dtype=np.int64), 1
    while len(node):
        classes = np.bincount(node * k + labels, minlength=(node.max() + 1) * k).reshape(-1, k)
        before = n_log_n[classes.sum(axis=1)] - n_log_n[classes].sum(axis=1)
        quality = [
            _split_quality(node, column, card, labels, classes.shape, n_log_n)
            for column, card in zip(codes.T, (terms.cards + 1).tolist(), strict=True)
        ]
        after, splits = (np.array(part) for part in zip(*quality, strict=True))
        total = classes.sum(axis=1)
        gains, splits = (before - after) / total, splits / total
        good = np.asarray(gains > 1e-10)
        average = safe_divide(np.where(good, gains, 0.0).sum(axis=0), good.sum(axis=0))
        ratio = np.where(good & (gains >= average - 1e-10), safe_divide(gains, splits), 0.0)
        # Of gain ratios that are equal up to rounding, the first is chosen.
        best = np.argmax(ratio > ratio.max(axis=0) - 1e-12, axis=0)
        divided: NDArray[np.bool_] = np.any(good, axis=0)
        depths[best[divided]] = np.minimum(depths[best[divided]], depth)
        inner = np.flatnonzero(divided[node])
        codes, labels, node = codes[inner], labels[inner], node[inner]
        branch = node * largest + codes[np.arange(len(node)), best[node]]
        _, branch, table = _occupied(branch, labels, len(classes) * largest, k)
        mixed = np.count_nonzero(table, axis=1) > 1  # branches with rows of one class are leaves
        inner = np.flatnonzero(mixed[branch])
        codes, labels, depth = codes[inner], labels[inner], depth + 1
        node = (np.cumsum(mixed) - 1)[branch[inner]]
    return depths


def _split_quality(
    node: NDArray[np.int64],
    column: NDArray[np.integer],
    card: int,
    labels: NDArray[np.intp],
    shape: tuple[int, ...],
    n_log_n: Floats,
) -> tuple[Floats, Floats]:
    """Return the class entropy after a split, and the split information, of each node.

    Both are multiplied by the number of rows of the node, in nats; the split information is the
    entropy of the branch of a row.

    The split of a node is by the states of one feature. The entropy is infinite if fewer than two
    branches have two rows.

    Parameters
    ----------
    node, column, labels : ndarray of int, shape (n_rows,)
        Index of the node, state of the feature and class of each row.
    card : int
        Number of states of the feature.
    shape : (number of nodes, number of classes)
    n_log_n : ndarray
        Values of n log n for n = 0, 1, ...
    """
    n_nodes, k = shape
    keys, _, table = _occupied(node * card + column, labels, n_nodes * card, k)
    branches = table.sum(axis=1)

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(keys // card, values, minlength=n_nodes), dtype=np.float64)

    inner = summed(n_log_n[branches])
    after = inner - summed(n_log_n[table].sum(axis=1))
    rows = np.bincount(node, minlength=n_nodes)
    return np.where(summed(branches >= 2) >= 2, after, np.inf), n_log_n[rows] - inner


def _occupied(
    branch: NDArray[np.int64], labels: NDArray[np.intp], size: int, k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the branches with rows, the index of each row's branch among them, and class counts.

    `branch` is the index of each row's branch among all `size` branches, and k the number of
    classes. If there are at most as many branches as rows, empty branches are returned too, which
    avoids sorting.
    """
    keys = np.arange(size)
    if size > len(branch):
        keys, branch = np.unique(branch, return_inverse=True)
    return keys, branch, np.bincount(branch * k + labels, minlength=len(keys) * k).reshape(-1, k)


# ------------------------------------------------------------------- average over all subsets


def averaged_tables(counts: Sequence[Floats]) -> tuple[Floats, ...]:
    """Return the tables of model-averaged naive Bayes (Dash and Cooper 2004), in linear time.

    Under Dirichlet priors the marginal likelihood of the 2^d subsets of arcs from the class
    factorises over the features, so that the average of their joint distributions is one naive
    Bayes with ``P(x_i | c) = P(arc_i | D) theta_{x|c} + P(no arc_i | D) theta_x``. Here ``P(D |
    arc) = prod_c [Gamma(r) / Gamma(N_c + r) prod_x Gamma(N_xc + 1)]`` for r states, ``P(D | no
    arc)`` is the same formula for the counts summed over the classes, the thetas are posterior
    means, and each arc has the prior probability 1/2.

    Parameters
    ----------
    counts : sequence of ndarray, shape (card_i, K)
        Weight of the rows with each value of a feature in each class.

    Returns
    -------
    tuple of ndarray, shape (card_i, K)
        P(x_i | c), each column a distribution.
    """

    def evidence_and_means(cells: Floats) -> tuple[Floats, Floats]:
        r, n = len(cells), cells.sum(axis=0)
        evidence = gammaln(cells + 1.0).sum(axis=0) + gammaln(r) - gammaln(n + r)
        return np.asarray(evidence.sum()), (cells + 1.0) / (n + r)

    found = []
    for table in counts:
        evidence, means = evidence_and_means(table)
        pooled_evidence, pooled_means = evidence_and_means(table.sum(axis=1, keepdims=True))
        arc = expit(evidence - pooled_evidence)
        found.append(arc * means + (1.0 - arc) * pooled_means)
    return tuple(found)
