"""Exponents of a weighted network, learned by the scheme of a given name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, gammaln

from bayesgraph.core.arrays import Floats, joint_states, log_of, log_sum_exp
from bayesgraph.core.errors import DataError, ModelError, UnsupportedModelError
from bayesgraph.core.variables import Binned, Discrete, Variable
from bayesgraph.learning.growing import CodedColumns, GainRatio, Limits, entropy, grow_tree
from bayesgraph.learning.information import conditional_mutual_information, discrete_scores
from bayesgraph.learning.loglinear.training import Effects, Rows
from bayesgraph.models import BayesianNetwork, FactorGraph, TableCPD, WeightedNetwork
from bayesgraph.statistics import (
    Pairs,
    PairsSummary,
    RowSource,
    counting_kernels,
    log_star,
    safe_divide,
)

# ------------- Log probabilities of the feature values of rows given each class, under naive Bayes


@dataclass(frozen=True, eq=False)
class LogTerms:
    """Rows of a table, and the log probabilities that a naive Bayes gives to their feature values.

    The log probability of row n, feature i and class c is ``tables[i][codes[n, i], c]``: rows share
    the tables, so that no array of shape (n_rows, d, K) is needed.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_rows, d), in Fortran order
        The state of each feature; -1 where it is missing.
    tables : tuple of ndarray, shape (card_i, K)
        log p(x_i | c) of each feature, in nats; finite.
    log_prior : ndarray, shape (K,)
        log P(c), in nats; -inf for a class of probability zero.
    labels : ndarray of intp, shape (n_rows,)
        The class of each row.
    weights : ndarray, shape (n_rows,)
        Weights of the rows, not negative.

    Examples
    --------
    >>> terms = LogTerms.build([[0], [1], [-1]], [np.log([[0.8, 0.4], [0.2, 0.6]])],
    ...                        np.log([0.5, 0.5]), [0, 1, 1])
    >>> terms.counts[0]
    array([[1., 0.],
           [0., 1.]])
    """

    codes: NDArray[np.int32]
    tables: tuple[Floats, ...]
    log_prior: Floats
    labels: NDArray[np.intp]
    weights: Floats

    @classmethod
    def build(
        cls,
        codes: ArrayLike,
        tables: Sequence[ArrayLike],
        log_prior: ArrayLike,
        labels: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> LogTerms:
        """Return the terms built from the arrays described in the class; default weights are 1.

        Raises
        ------
        DataError
            If an entry of `tables` is not finite.
        """
        cells = tuple(np.asarray(table, dtype=np.float64) for table in tables)
        for i, table in enumerate(cells):
            if not np.isfinite(table).all():
                raise DataError(
                    f"The log probabilities of feature {i} must be finite: an exponent cannot "
                    "temper an impossible value. Smooth the tables (alpha above 0)."
                )
        label = np.asarray(labels, dtype=np.intp)
        states = np.asfortranarray(codes, dtype=np.int32)
        weight = np.ones(len(label)) if weights is None else np.asarray(weights, dtype=np.float64)
        return cls(states, cells, np.asarray(log_prior, dtype=np.float64), label, weight)

    def take(self, features: NDArray[np.intp]) -> LogTerms:
        """Return the terms restricted to the features of the given indices."""
        tables = tuple(self.tables[i] for i in features.tolist())
        codes = np.asfortranarray(self.codes[:, features])
        return LogTerms(codes, tables, self.log_prior, self.labels, self.weights)

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_features(self) -> int:
        return len(self.tables)

    @property
    def n_classes(self) -> int:
        return len(self.log_prior)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Offset of each feature's states in concatenated tables, and total of states, (d + 1,)."""
        cards = [len(table) for table in self.tables]
        return np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)

    @cached_property
    def cards(self) -> NDArray[np.int64]:
        """Number of states of each feature, shape (d,)."""
        return np.diff(self.starts)

    @cached_property
    def counts(self) -> tuple[Floats, ...]:
        """Weight of the rows in each cell of each table, shape (card_i, K) each."""
        if not self.n_features:
            return ()
        cells = np.zeros((self.n_classes, int(self.starts[-1])))
        counting_kernels.count_singles(
            self.codes.T, self.labels, self.weights, self.starts[:-1], cells
        )
        return tuple(np.split(np.ascontiguousarray(cells.T), self.starts[1:-1]))


# ---- Description lengths in nats: of integers, of choices, and of the discretisation of a feature


# Normalising constant of the universal code: the sum of 2^-log2*(n) over all n (Rissanen 1983).
_RISSANEN = 2.86511


def log_factorial(n: ArrayLike) -> Floats:
    """Return ln n!, by the gamma function if n is not an integer."""
    return np.asarray(gammaln(np.asarray(n, dtype=np.float64) + 1.0))


def log_choose(n: ArrayLike, k: ArrayLike) -> Floats:
    """Return ln of the binomial coefficient of n and k."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


def universal_code(numbers: ArrayLike) -> Floats:
    """Return the lengths of Rissanen's universal code of integers n >= 1, in nats.

    ln 2.86511 + ln 2 (log2 n + log2 log2 n + ...), with only the positive terms (Rissanen 1983).

    Examples
    --------
    >>> universal_code(np.array([1, 4])).round(6)
    array([1.052607, 3.132048])
    """
    return math.log(_RISSANEN) + math.log(2.0) * log_star(numbers)


def partition_costs(counts: Sequence[Floats], intervals: Sequence[bool]) -> Floats:
    """Return the description length of the choice and discretisation of each feature, in nats.

    This is the cost of a feature in the prior of fractional naive Bayes (c_i in
    `fractional_naive_bayes`): ln d for the choice of the feature among d, plus the prior part of
    the discretisation criterion of Boullé (2006). This part is ``ln N + ln C(N + I - 1, I - 1)``
    for the cut points of I intervals, and for every feature ``sum_i ln C(N_i + J - 1, J - 1)`` for
    the class frequencies in its I states, for N rows, N_i of which have state i, and J classes. A
    feature that was not discretised has no cut points to encode.

    Parameters
    ----------
    counts : sequence of ndarray, shape (I, J)
        Weight of the rows with each state of a feature in each class.
    intervals : sequence of bool
        Whether the states of each feature are intervals chosen by a discretiser.

    Returns
    -------
    ndarray, shape (d,)
    """
    costs = np.full(len(counts), math.log(len(counts)) if counts else 0.0)
    for k, (table, chosen) in enumerate(zip(counts, intervals, strict=True)):
        states, classes = table.shape
        rows = table.sum(axis=1)
        n = rows.sum()
        costs[k] += log_choose(rows + classes - 1, classes - 1).sum()
        if chosen and n > 0:
            costs[k] += math.log(max(n, 1.0)) + float(log_choose(n + states - 1, states - 1))
    return costs


# ---- Exponents of weighted naive Bayes by published formulas without a search: research baselines
# Exponents from the mutual information of each feature and the class (filters), from the depth of a
# feature in unpruned trees, and from its correlation with other features. Also the tables of naive
# Bayes averaged over all subsets of features.


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
    # `table[None]` has one class of rows: nothing is given.
    return np.array([float(conditional_mutual_information(table[None])) for table in counts])


def _gain_ratio(terms: LogTerms) -> Floats:
    """Return I(X_i; C) / H(X_i) of each feature (Quinlan 1993); 0 for a constant."""
    spread = np.array([float(entropy(table.sum(axis=1))) for table in terms.counts])
    return safe_divide(mutual_information(terms.counts), spread)


def _description_length(terms: LogTerms) -> Floats:
    """Return by how much each feature alone shortens the code of the labels, in nats per row.

    ``1/N [ln N!/prod_c N_c! + ln C(N + K - 1, K - 1) - sum_x (ln N_x!/prod_c N_xc! + ln C(N_x + K -
    1, K - 1))]`` (Kononenko 1995, the measure MDL'), at least 0, for N rows, K classes, and counts
    N_c of class c, N_x of value x, and N_xc of both.
    """

    def code(counts: Floats) -> Floats:
        """Return the code length of the classes of rows with some counts of classes, in nats."""
        rows, classes = counts.sum(axis=-1), counts.shape[-1]
        orders = log_factorial(rows) - log_factorial(counts).sum(axis=-1)
        return np.asarray(orders + log_choose(rows + classes - 1, classes - 1))

    gains = [float(code(table.sum(axis=0)) - code(table).sum()) for table in terms.counts]
    return _per_row(np.array(gains), terms)


def _conditional_likelihood(terms: LogTerms) -> Floats:
    """Return the gain in class log likelihood by each feature alone, in nats per row.

    ``max(0, 1/N sum_{x,c} N_xc [log P(c | x) - log P(c)])``, where N_xc of the N rows that observe
    the feature have value x and class c, and P(c | x) is the posterior of a naive Bayes with this
    feature only.
    """
    prior = terms.log_prior - log_sum_exp(terms.log_prior, 0)
    # log P(c | x) - log P(c) = log p(x | c) - log p(x), finite even for a class of probability 0.
    gains = [
        float((counts * (table - log_sum_exp(table + prior, 1)[:, None])).sum())
        for counts, table in zip(terms.counts, terms.tables, strict=True)
    ]
    return _per_row(np.array(gains), terms)


def _per_row(gains: Floats, terms: LogTerms) -> Floats:
    """Return gains by features, at least 0, per row that observes the feature."""
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
    # A sum over all other features, as the diagonal is zero.
    redundancy = np.delete(between, at, axis=1).sum(axis=1) / max(1, len(relevance) - 1)
    # The mean of the redundancies over i is that over all pairs, by which q_ij is divided.
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

    Missing values count as a state, and at least two branches of a split have two rows.

    Parameters
    ----------
    terms : LogTerms
    rows : ndarray of int
        Indices of the rows from which the tree is grown; rows may be repeated.
    """
    depths = np.full(terms.n_features, np.inf)
    discrete = np.zeros(terms.n_features, dtype=np.bool_)
    codes = np.ascontiguousarray(terms.codes[rows].T + np.int32(1))  # 0 where missing
    # Variables and values of codes are not needed to grow a tree.
    tree = grow_tree(
        CodedColumns((), codes, terms.cards + 1, discrete, []),
        terms.labels[rows],
        terms.n_classes,
        np.ones(len(rows)),
        GainRatio(),
        Limits(min_samples_leaf=2),
    )
    depth = np.ones(len(tree.splits))
    for node, split in enumerate(tree.splits):
        if split is not None:
            depths[split.feature] = min(depths[split.feature], depth[node])
            depth[tree.children[node]] = depth[node] + 1
    return depths


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
        """Return the log marginal likelihood of counts, and the posterior means of each class."""
        r, n = len(cells), cells.sum(axis=0)
        evidence = gammaln(cells + 1.0).sum(axis=0) + gammaln(r) - gammaln(n + r)
        return np.asarray(evidence.sum()), (cells + 1.0) / (n + r)

    averages = []
    for table in counts:
        evidence, means = evidence_and_means(table)
        pooled_evidence, pooled_means = evidence_and_means(table.sum(axis=1, keepdims=True))
        arc = expit(evidence - pooled_evidence)
        averages.append(arc * means + (1.0 - arc) * pooled_means)
    return tuple(averages)


# --------------------------- Greedy coordinate search over the exponents of a weighted naive Bayes


# Maximum mutual information, in nats, that may be due to rounding alone.
_ROUNDING = 1e-12
# Minimum of a normalising constant, so that its logarithm is finite.
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Objective:
    """Cost of exponents w: the log loss of the class labels plus costs of the features in use.

    ``- sum_n weight_n ln p'(y_n | x_n) + size_cost[ceil(sum_i w_i)] + sum_i feature_cost_i w_i^a``

    Attributes
    ----------
    size_cost : ndarray, shape (d + 1,)
        Cost, in nats, of each effective number of features (the sum of the exponents, rounded up).
    feature_cost : ndarray, shape (d,)
        Cost of each feature, in nats.
    power : float
        Exponent a of the formula.
    share : float
        Weight of the uniform distribution in p' = (p + share / K) / (1 + share), where p is the
        posterior of the class.
    """

    size_cost: Floats
    feature_cost: Floats
    power: float = 1.0
    share: float = 0.0

    def cost(self, exponents: Floats) -> float:
        """Return the cost of the features in use."""
        size = int(np.ceil(exponents.sum()))
        return float(self.size_cost[size] + self.feature_cost @ exponents**self.power)


class ExponentSearch:
    """State of the search: exponents in [0, 1], initially 0, and the class posterior of each row.

    Parameters
    ----------
    terms : LogTerms
    objective : Objective

    Attributes
    ----------
    exponents : ndarray, shape (d,)
    cost : float
        In nats.
    """

    def __init__(self, terms: LogTerms, objective: Objective) -> None:
        self._terms, self._objective = terms, objective
        # By class first, as sums over the last of two axes are slow. The first entry of each table
        # is for missing values.
        first = np.zeros((terms.n_classes, 1))
        self._tables = [np.concatenate([first, table.T], axis=1) for table in terms.tables]
        self._codes = terms.codes.T.astype(np.intp) + 1
        # The entries of arrays of shape (n_classes, n_rows) that belong to the labels.
        self._at_labels = terms.labels, np.arange(terms.n_rows)
        self.restart()

    def restart(self) -> None:
        """Set all exponents to 0."""
        terms = self._terms
        self.exponents = np.zeros(terms.n_features)
        # Log joint and posterior of the classes, shape (n_classes, n_rows).
        self._scores = np.tile(terms.log_prior[:, None], terms.n_rows)
        self._posterior = _posterior(self._scores)
        # The posterior of each row is the prior, so that rows of one class have the same loss.
        weights = np.bincount(terms.labels, terms.weights, minlength=terms.n_classes)
        has_rows = weights > 0  # the others have no loss, and may have probability 0
        prior = np.exp(terms.log_prior - log_sum_exp(terms.log_prior, 0))[has_rows]
        self._loss = self._log_loss(prior, weights[has_rows].astype(np.float64))
        self.cost = self._loss + self._objective.cost(self.exponents)

    def _log_loss(self, p: Floats, weights: Floats) -> float:
        """Return the loss of labels of smoothed probability p."""
        share = self._objective.share
        smoothed = (p + share / self._terms.n_classes) / (1.0 + share)
        return -float(np.sum(weights * np.log(smoothed)))

    def sweep(
        self, order: NDArray[np.intp], step: float, threshold: float
    ) -> list[tuple[Floats, float]]:
        """Try to add a step to the exponent of each feature, clipped to [0, 1].

        Raising the exponent of a feature by s changes the posterior p(c | x) of a row to
        ``p(c | x) f(x, c)^s / Z`` with the table entry ``f(x, c) = p(x_i | c)``.

        Parameters
        ----------
        order : ndarray of int
            Features to try; a feature whose exponent cannot move in this direction is skipped.
        step : float
            Step to add; negative to lower the exponents.
        threshold : float
            A change is kept if it lowers the cost by more than this, in nats.

        Returns
        -------
        list of (exponents, cost)
            What was tried.
        """
        terms, tried = self._terms, []
        for i in order.tolist():
            exponents = self.exponents.copy()
            exponents[i] = min(max(exponents[i] + step, 0.0), 1.0)
            change = exponents[i] - self.exponents[i]
            if change == 0.0:
                continue
            changes, codes = change * self._tables[i], self._codes[i]
            # Relative to the class that gains most, so that exponentials do not overflow.
            heights = changes - changes.max(axis=0)
            joint = self._posterior * np.take(np.exp(heights), codes, axis=1)
            # The sum is 0 only if the range of a single feature exceeds the range of floats.
            z = np.maximum(joint.sum(axis=0), _TINY)
            if self._objective.share > 0.0:
                loss = self._log_loss(joint[self._at_labels] / z, terms.weights)
            else:
                # From the counts, without a pass over the labels; a missing value changes nothing.
                gain = np.sum(terms.counts[i].T * heights[:, 1:])
                loss = self._loss - float(gain - np.sum(terms.weights * np.log(z)))
            cost = loss + self._objective.cost(exponents)
            tried.append((exponents, cost))
            if cost < self.cost - threshold:
                self.exponents, self._loss, self.cost = exponents, loss, cost
                self._scores += np.take(changes, codes, axis=1)
                self._posterior = _posterior(self._scores)
        return tried


def _posterior(scores: Floats) -> Floats:
    """Return the posterior of the classes from their scores, both of shape (n_classes, n_rows)."""
    shares = np.exp(scores - scores.max(axis=0))  # without overflow
    return np.asarray(shares / shares.sum(axis=0))


def informative(terms: LogTerms) -> NDArray[np.intp]:
    """Return the indices of features whose tables and counts both differ between the classes.

    The exponents of other features remain 0. The tables alone do not decide, since smoothing makes
    the tables of a constant feature differ between classes.
    """
    differ = [bool(np.ptp(table, axis=1).any()) for table in terms.tables]
    return np.flatnonzero((mutual_information(terms.counts) > _ROUNDING) & np.array(differ, bool))


# --------- Exponents of weighted naive Bayes that maximise the conditional likelihood of the class


# Parts of the exponents by scheme: whether there are exponents that the classes share, and whether
# there are exponents (or deviations from the shared exponents) and a bias for each class.
_PARTS = {"variable": (True, False), "class": (False, True), "mixed": (True, True)}
SCHEMES = tuple(_PARTS)
# Coefficient of the quadratic penalty on deviations from the shared exponents, in nats.
_DEVIATION = 10.0
# Coefficient of the quadratic penalty on the biases, in nats.
_BIAS = 1.0
# Maximum difference of log p(x | c) between classes, in nats, that may be due to rounding alone.
_SILENT = 1e-12


@dataclass(frozen=True)
class Exponents:
    """Exponents w and biases b: p(y|x) proportional to p(y) exp(b_y) prod p(x_i|y)^w_iy.

    Attributes
    ----------
    values : ndarray, shape (d,) or (d, n_classes)
        One exponent for each feature, or for each feature and class.
    bias : ndarray, shape (n_classes,)
        Added to the log joint of each class, in nats.
    """

    values: Floats
    bias: Floats


def conditional_exponents(terms: LogTerms, scheme: str = "variable") -> Exponents:
    """Return the exponents in [0, 1] that maximise the conditional likelihood of the class.

    * "variable": one exponent for each feature, no bias (WANBIA; Zaidi, Cerquides, Carman, Webb
      2013);
    * "class": one exponent for each feature and class, and a bias for each class;
    * "mixed": exponents that the classes share, plus penalised deviations and a bias for each class
      (after the regularised naive Bayes of Wang, Ren, Bai 2020).

    Maximised by L-BFGS-B from exponents of one, with the gradient in closed form (Zaidi et al.
    2013, equation 13): the sum over rows of ``log p(x_i | y) - sum_c P(c | x) log p(x_i | c)``.

    Parameters
    ----------
    terms : LogTerms
        Rows, and the tables whose entries are raised to the exponents.
    scheme : {"variable", "class", "mixed"}
    """
    d, k = terms.n_features, terms.n_classes
    shared, by_class = _PARTS[scheme]
    pull = _DEVIATION if shared else 0.0
    # The vector of all parameters has d shared exponents, d * k deviations of the classes (or their
    # exponents) and k biases, of which a scheme uses some: initial values and bounds.
    used = np.repeat([shared, by_class, by_class], [d, d * k, k])
    begin = np.repeat([1.0, 0.0 if shared else 1.0, 0.0], [d, d * k, k])
    low = np.repeat([0.0, -1.0 if shared else 0.0, -np.inf], [d, d * k, k])
    high = np.repeat([1.0, 1.0, np.inf], [d, d * k, k])
    # A log-linear model, whose effects are the log probabilities times their exponents.
    starts = terms.starts[:-1]
    cells = np.where(terms.codes >= 0, terms.codes + starts, -1).astype(np.int32)
    rows = Rows.of(cells, terms.labels, terms.weights)
    logs = np.concatenate(terms.tables)

    def parts(x: Floats) -> tuple[Floats, Floats, Floats]:
        """Split the vector x into exponents (d, k), their class-specific parts, and biases (k,)."""
        full = np.zeros(len(used))
        full[used] = x
        deviations = full[d:-k].reshape(d, k)
        return full[:d, None] + deviations, deviations, full[-k:]

    def objective(x: Floats) -> tuple[float, Floats]:
        """Return the penalised negative conditional log likelihood in nats, and its gradient."""
        values, deviations, bias = parts(x)
        # The exponents of each feature are repeated for its states.
        tempered = np.repeat(np.clip(values, 0.0, 1.0), terms.cards, axis=0) * logs
        effects = Effects(tempered, terms.log_prior + bias)
        loss, by_cells, by_bias = rows.loss_and_gradient(effects)
        # By the chain rule, summed over the states of each feature.
        by_values = np.add.reduceat(by_cells * logs, starts, axis=0)
        by_values[(values < 0.0) | (values > 1.0)] = 0.0  # clipped
        loss += 0.5 * pull * float(np.sum(deviations**2)) + 0.5 * _BIAS * float(bias @ bias)
        gradient = (
            by_values.sum(axis=1),
            (by_values + pull * deviations).ravel(),
            by_bias + _BIAS * bias,
        )
        return loss, np.concatenate(gradient)[used]

    solution = minimize(
        objective,
        begin[used],
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack([low, high], axis=1)[used],
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-6},
    )
    values, _, bias = parts(solution.x)
    exponents = np.clip(values, 0.0, 1.0)
    # The likelihood does not determine the exponent of a feature that distinguishes no classes.
    exponents[np.maximum.reduceat(np.ptp(logs, axis=1), starts) <= _SILENT] = 0.0
    return Exponents(exponents if by_class else exponents[:, 0], bias)


# ------------ Fractional naive Bayes: exponents in [0, 1] with a penalty that prefers few features


# Weight of the prior, and power of the exponents in the prior, as the authors chose them.
_PRIOR_WEIGHT, _POWER = 0.1, 0.95
# Weight of the uniform distribution in the posterior, in rows.
_PRIOR_ROWS = 0.5
# Maximum number of rounds of a forward and a backward pass at each step size.
_ROUNDS = 2
# Minimum decrease of the cost by a change, as a share of the empty model's cost per row.
_PRECISION = 1e-2


def fractional_naive_bayes(terms: LogTerms, costs: Floats, seed: int = 1) -> Floats:
    """Return the exponents of a fractional naive Bayes (Hue, Boullé, Lemaire 2017), shape (d,).

    The model is p_w(y|x) proportional to p(y) prod p(x_i|y)^w_i. The exponents minimise ``- sum_n
    ln p'_w(y_n | x_n) + 0.1 (L*(m) - ln m! + sum_i w_i^0.95 c_i)`` with m = ceil(sum_i w_i),
    Rissanen's universal code L* (0 for m = 0), and the smoothed posterior ``p'_w = (p_w n + 1 / (2
    K)) / (n + 1/2)`` for K classes and rows of total weight n.

    The search starts from 0. At each step size, a round has one pass that raises and one pass that
    lowers each exponent by the step, in random order; the step size is 1 at first and is halved
    ceil(log2(n + 1)) - 1 times. A pass that lowers exponents may raise the cost a little, as sparse
    exponents are preferred. One change takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    costs : ndarray, shape (d,)
        c_i: the description length of choosing and discretising each feature, in nats; see
        `partition_costs`.
    seed : int
        Seed of the random orders.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> fractional_naive_bayes(terms, np.zeros(2))
    array([1., 0.])
    """
    rows = float(terms.weights.sum())
    sizes = np.arange(terms.n_features + 1)
    codes = np.append(0.0, universal_code(sizes[1:]))
    objective = Objective(
        _PRIOR_WEIGHT * (codes - log_factorial(sizes)),
        _PRIOR_WEIGHT * costs,
        _POWER,
        _PRIOR_ROWS / rows if rows > 0 else 0.0,
    )
    search = ExponentSearch(terms, objective)
    # The cost here is that of the empty model.
    threshold = _PRECISION * (1.0 + abs(search.cost)) / (1.0 + rows)
    features, random = informative(terms), np.random.default_rng(seed)
    for halvings in range(max(1, math.ceil(math.log2(rows + 1.0)))):
        step = 0.5**halvings
        for _ in range(_ROUNDS):
            before = search.cost
            search.sweep(random.permutation(features), step, threshold)
            # A negative threshold: lower exponents may raise the cost by as much.
            search.sweep(random.permutation(features), -step, -threshold)
            if not search.cost < before:
                break
    return search.exponents


# --------- Selective naive Bayes: models on feature subsets, weighted by compression of the labels


# Minimum decrease of the cost, relative to the cost, that is not due to rounding.
_COST_ROUNDING = 1e-10


def selective_naive_bayes(terms: LogTerms, seed: int = 1, restarts: int | None = None) -> Floats:
    """Return the exponents of a selective naive Bayes (Boullé 2007), shape (d,), in [0, 1].

    The exponent of a feature is the weighted share of the evaluated subsets that contain it. A
    subset M of m among d features has the description length ``l(M) + l(D | M) = ln(d + 1) + ln C(d
    + m - 1, m) - sum_n ln P_M(y_n | x_n)`` in nats, which is its cost; P_M is the class posterior
    of a naive Bayes on M. The weight of M is the compression ``1 - cost / null cost`` if that is
    positive, else 0, with the null cost of the empty subset; a subset that is evaluated several
    times counts once. Features without information about the class have exponent 0.

    Fast forward and backward passes over the features in random order search for subsets, from the
    empty subset in each of ``ceil(log2(d n))`` restarts, where n is the total weight of the rows.
    One change of a subset takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    seed : int
        Seed of the random orders.
    restarts : int, optional
        Number of restarts instead of ``ceil(log2(d n))``.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> selective_naive_bayes(terms)
    array([1., 0.])
    """
    d = terms.n_features
    sizes = np.arange(d + 1)
    # l(M) by the number of features in M.
    lengths = math.log(d + 1) + log_choose(np.maximum(d + sizes - 1, 0), sizes)
    search = ExponentSearch(terms, Objective(lengths, np.zeros(d)))
    null_cost = search.cost
    features, random = informative(terms), np.random.default_rng(seed)
    default_restarts = math.ceil(math.log2(max(2.0, d * float(terms.weights.sum()))))
    # The cost of each subset that was tried, by the bytes of its exponents (0 or 1).
    costs: dict[bytes, float] = {}
    for _ in range(default_restarts if restarts is None else restarts):
        search.restart()
        for _ in range(_ROUNDS):
            before, threshold = search.cost, _COST_ROUNDING * (1.0 + abs(search.cost))
            for step in (1.0, -1.0):  # features are added, then removed
                for members, cost in search.sweep(random.permutation(features), step, threshold):
                    costs.setdefault(members.tobytes(), cost)
            if search.cost == before:
                break
    costs.pop(np.zeros(d).tobytes(), None)  # the empty subset, of weight 0
    if not costs or null_cost <= 0:
        return np.zeros(d)
    # The keys, as exponents again: a row for each subset.
    members = np.frombuffer(b"".join(costs)).reshape(-1, d)
    weights = np.maximum(1.0 - np.array(list(costs.values())) / null_cost, 0.0)
    return np.clip(safe_divide(weights @ members, np.full(d, weights.sum())), 0.0, 1.0)


# -------------------------- Exponents of a weighted network, learned by the scheme of a given name


# Schemes for naive Bayes: they require a network without arcs between features.
STAR_SCHEMES = (*FILTERS, "tree_depth", "correlation", "selective", "fractional", "averaged")
ALL_SCHEMES = (*SCHEMES, *STAR_SCHEMES)


def weighted_network(network: BayesianNetwork, source: RowSource, scheme: str) -> WeightedNetwork:
    """Return a fitted network with exponents of its tables, learned by one of the schemes.

    Parameters
    ----------
    network : BayesianNetwork
        A network of table CPDs in which the class has no parents. For schemes other than
        "variable", "class" and "mixed" it has no arcs between features.
    source : RowSource
        The rows to which the network was fitted, with the class as target.
    scheme : str
        One of `ALL_SCHEMES`.

    Raises
    ------
    UnsupportedModelError
        If a feature's CPD is not a table, if the class has parents, or if the scheme requires a
        network without arcs between features and there are some.
    """
    target = source.target
    if target is None:
        raise DataError("Exponents are learned for a class: give the count source a target.")
    if network[target.name].parents:
        raise UnsupportedModelError(
            f"Exponents temper the conditionals of features given the class, which has no parents; "
            f"here {target.name!r} has some. Use another structure, or exponents=None."
        )
    if scheme in STAR_SCHEMES and any(len(cpd.parents) > 1 for cpd in network.cpds):
        raise UnsupportedModelError(
            f"exponents={scheme!r} weighs features one by one, as a naive Bayes does; use "
            "'variable', 'class' or 'mixed' for structures with arcs between features."
        )
    cpds: list[Any] = [cpd for cpd in network.cpds if cpd.variable != target]
    terms = _log_terms(cpds, source, target)
    if scheme == "averaged":
        tables = zip(cpds, averaged_tables(terms.counts), strict=True)
        averages = [TableCPD(cpd.variable, table.T, [target]) for cpd, table in tables]
        network = BayesianNetwork([network[target.name], *averages], order=network.variables)
        return WeightedNetwork(network, target.name, domain="unit")
    is_child = np.array([target in cpd.parents for cpd in cpds])
    # Where its parents are missing, a feature that is no child of the class still informs about the
    # class: its exponent is 1.
    names = [cpd.variable.name for cpd in cpds]
    values: dict[Any, Any] = dict(zip(names, np.where(is_child, 0.0, 1.0).tolist(), strict=True))
    # A feature with one state carries no information: it is left out of the count of features.
    at = np.flatnonzero(is_child & (terms.cards > 1))
    if not len(at):
        return WeightedNetwork(network, target.name, values, domain="unit")
    features = tuple(cpds[i].variable for i in at.tolist())
    learned = _exponents(scheme, terms.take(at), features, source, target)
    domain = "unit" if float(learned.values.max(initial=0.0)) <= 1.0 else "nonnegative"
    values |= {names[i]: value for i, value in zip(at.tolist(), learned.values, strict=True)}
    return WeightedNetwork(network, target.name, values, bias=learned.bias, domain=domain)


def _exponents(
    scheme: str,
    terms: LogTerms,
    features: tuple[Variable, ...],
    source: RowSource,
    target: Discrete,
) -> Exponents:
    """Return the exponents of the features, in their order, learned by one scheme.

    `terms` and `features` are restricted to features with more than one state.
    """
    if scheme in SCHEMES:
        return conditional_exponents(terms, scheme)
    if scheme == "tree_depth":
        values = depth_exponents(terms)
    elif scheme == "correlation":
        values = correlation_exponents(source.pairs(Pairs((*features, target), None)), target)
    elif scheme == "selective":
        values = selective_naive_bayes(terms)
    elif scheme == "fractional":
        costs = partition_costs(terms.counts, [isinstance(v, Binned) for v in features])
        values = fractional_naive_bayes(terms, costs)
    else:
        values = filter_exponents(terms, scheme)
    return Exponents(values, np.zeros(terms.n_classes))


def _log_terms(cpds: Sequence[Any], source: RowSource, target: Discrete) -> LogTerms:
    """Return the log probabilities that a network's CPDs give to the feature values of each row.

    For a feature with parents among the features, the "states" in the terms returned are the joint
    configurations of these parents and the feature; such a state is missing where the feature or
    one of these parents is missing.
    """
    table = source.table
    codes, tables = [], []
    for cpd in cpds:
        if not isinstance(cpd, TableCPD):
            raise UnsupportedModelError(
                f"Exponents are learned for features with tables; {cpd.variable.name!r} has none. "
                "Make intervals of numbers with discretizer=."
            )
        others = [p for p in cpd.scope if p != target and isinstance(p, Discrete)]
        columns = [table.column(v) for v in others]
        # The number of the configuration, in the order of the rows of the table.
        states = [np.maximum(column, 0) for column in columns]
        flat = joint_states(states, [v.cardinality for v in others], table.n_rows)
        codes.append(np.where(np.min(columns, axis=0) < 0, -1, flat))
        # All axes but the class are flattened, shape (n, n_classes).
        logs = log_of(cpd.values)
        if target in cpd.parents:
            logs = np.moveaxis(logs, cpd.parents.index(target), -1)
        else:
            logs = np.repeat(logs[..., None], target.cardinality, axis=-1)
        tables.append(logs.reshape(-1, target.cardinality))
    labels = table.column(target)
    weights = source.weights if len(source.weights) else None
    counts = np.bincount(labels, weights, target.cardinality)
    log_share = log_of(counts / counts.sum())
    return LogTerms.build(np.stack(codes, axis=1), tables, log_share, labels, weights)


# --------- Exponents of table entries that turn one network into another network of the same graph


def exponents_between(base: BayesianNetwork, wanted: BayesianNetwork) -> FactorGraph:
    """Return the CPD tables of one network with exponents that reproduce another network.

    A table entry with probability p in the base and q in the wanted network has the exponent ``w =
    log q / log p``, so that ``p^w = q``: the factor graph returned has the same distribution as the
    wanted network.

    Parameters
    ----------
    base, wanted : BayesianNetwork
        Networks of table CPDs, with the same variables and arcs.

    Returns
    -------
    FactorGraph
        The CPDs of `base` in the order of its variables, with one exponent per table entry, which
        may be any real number (domain "free").

    Raises
    ------
    UnsupportedModelError
        If a CPD is not a table.
    ModelError
        If an entry is 0 or 1 in only one of the networks: powers of 0 and 1 stay 0 and 1.
    """
    tables, exponents = [], []
    for cpd in base.cpds:
        other = wanted[cpd.variable.name]
        if not isinstance(cpd, TableCPD) or not isinstance(other, TableCPD):
            raise UnsupportedModelError(
                f"Exponents of cells are for tables; {cpd.variable.name!r} has none."
            )
        if cpd.scope != other.scope:
            raise ModelError(
                f"{cpd.title} and {other.title} differ in their parents; exponents keep the graph."
            )
        tables.append(cpd)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_base, log_wanted = np.log(cpd.values), np.log(other.values)
            # Equal entries, among them 0 and 1, have the exponent 1.
            powers = np.where(log_base == log_wanted, 1.0, log_wanted / log_base)
        wrong = ~np.isfinite(powers) | (np.isinf(log_base) & (log_base != log_wanted))
        if wrong.any():
            raise ModelError(
                f"{int(wrong.sum())} cells of {cpd!r} are 0 or 1, which no exponent makes anything "
                "else; smooth the tables with alpha above 0."
            )
        exponents.append(np.asarray(powers))
    return FactorGraph(tables, exponents=exponents, domain="free")
