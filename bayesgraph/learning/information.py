"""Mutual information of two columns given the class, and the scores of arcs, in nats per row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.parallel import over_pairs
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.learning import structure_kernels
from bayesgraph.learning.parameters import ROUNDING, towards
from bayesgraph.statistics import (
    CountSource,
    Extensions,
    FamilyStatistics,
    GroupMoments,
    Numbered,
    PairsSummary,
    SinglesSummary,
    Smoothing,
    safe_divide,
    too_few_rows,
)

# ------------------------------ Mutual information of two columns given the class, in nats per row


# Maximum number of cells in the stacked pair tables of one array operation.
_STACK = 1 << 22
# Least positive number of full precision: the logarithm of a variance of zero stays finite.
_TINY = float(np.finfo(np.float64).tiny)


def conditional_mutual_information(counts: Floats) -> Floats:
    """Return the plug-in estimate of I(X; Y | C).

    sum_{c,x,y} P(c,x,y) log [P(x,y|c) / (P(x|c) P(y|c))] with relative frequencies for
    probabilities (Friedman, Geiger, Goldszmidt 1997, section 4.1).

    Parameters
    ----------
    counts : ndarray, shape (..., K, r_x, r_y)
        Counts by class C and by the states of X and Y.

    Returns
    -------
    ndarray, shape (...)
        In nats, never negative; 0 if there are no rows.

    Examples
    --------
    >>> float(conditional_mutual_information(np.array([[[2.0, 0.0], [0.0, 2.0]]])))
    0.6931471805599453
    """
    given_x = counts.sum(axis=-1, keepdims=True)
    given_y = counts.sum(axis=-2, keepdims=True)
    by_class = given_x.sum(axis=-2, keepdims=True)
    occurs = counts > 0  # other cells add nothing
    # P(x,y|c) / (P(x|c) P(y|c)) = N_cxy N_c / (N_cx N_cy). Quotients before products: products of
    # weights may exceed the range of floats.
    ratio = np.where(occurs, counts, 1.0) / np.where(occurs, given_x, 1.0)
    ratio *= np.where(occurs, by_class, 1.0) / np.where(occurs, given_y, 1.0)
    total = by_class.sum(axis=(-3, -2, -1))
    information = np.sum(counts * np.log(ratio), axis=(-3, -2, -1))
    return np.maximum(safe_divide(np.asarray(information), np.asarray(total)), 0.0)


def pair_tables(
    summary: PairsSummary,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """Yield the contingency tables of all pairs of discrete columns, stacked by shape.

    Stacks let one array operation serve thousands of pairs.

    Yields
    ------
    left, right : ndarray of int, shape (n,)
        Indices of the two columns of each pair among the discrete columns, left < right.
    tables : ndarray, shape (n, K, r_left, r_right)
        Counts by class and by the states of both columns.
    """
    cards, k = summary.at.cards, len(summary.singles.totals)
    left, right = np.triu_indices(len(cards), k=1)
    # The shape (r, s) of a pair's table as the one number r * base + s.
    base = int(cards.max(initial=0)) + 1
    shapes, members = np.unique(cards[left] * base + cards[right], return_inverse=True)
    for number, shape in enumerate(shapes.tolist()):
        r, s = divmod(shape, base)
        same = np.flatnonzero(members == number)
        size = max(1, _STACK // (k * r * s))  # the number of pairs in a stack
        for at in range(0, len(same), size):
            pairs = same[at : at + size]
            # The places of the cells of each table in the flat counts.
            cells = summary.starts[pairs][:, None] + np.arange(k * r * s)
            tables = summary.pair_counts[cells].reshape(-1, k, r, s)
            yield left[pairs], right[pairs], tables


def discrete_scores(summary: PairsSummary) -> tuple[Floats, Floats]:
    """Return I(X_i; X_j | C) of all pairs of discrete columns, and the weight of their rows.

    Returns
    -------
    scores, rows : ndarray, shape (d, d)
        Scores in nats per row, and total weight of the rows that observe both columns. Symmetric,
        zero on the diagonal.
    """
    cards, n_groups = summary.at.cards, len(summary.singles.totals)
    d = len(cards)
    left, right = np.triu_indices(d, k=1)
    shapes = np.stack([cards[left], cards[right]], axis=1)
    of_pairs = np.zeros((2, len(left)))

    def written(first: int, last: int) -> None:
        """Write the information of the pairs whose left column is from `first` to `last` - 1."""
        # Pairs are in the order of their left column: column i begins at d - 1 + ... + (d - i).
        a, b = (i * d - i * (i + 1) // 2 for i in (first, last))
        cells = summary.pair_counts[summary.starts[a] : summary.starts[b]]
        # The rows of `of_pairs` are written: the information, and the weight of the rows.
        structure_kernels.listed_information(cells, shapes[a:b], n_groups, *of_pairs[:, a:b])

    over_pairs(written, d, summary.pair_counts.size)
    scores = np.zeros((2, d, d))
    scores[:, left, right] = scores[:, right, left] = of_pairs
    return scores[0], scores[1]


def gaussian_scores(
    summary: PairsSummary, smoothing: Smoothing, ridge: Floats
) -> tuple[Floats, Floats]:
    """Return I(X_i; X_j | C) of all pairs of continuous columns, and the weight of their rows.

    For a bivariate Gaussian (Cover and Thomas 2006, example 8.5.1) given the class y it is ``sum_y
    P(y) * -1/2 log(1 - rho_y^2)``, with the correlation rho_y in class y. Covariances are
    regularised like those of CPDs.

    Parameters
    ----------
    summary : PairsSummary
    smoothing : Smoothing
    ridge : ndarray, shape (d,)
        Added to the variances.

    Returns
    -------
    scores, rows : ndarray, shape (d, d)
        In nats per row; total weight of the rows that observe both columns.
    """
    moments = summary.pair_moments
    count = moments.count
    covariance = smoothing.covariance(
        count, moments.comoment, smoothing.pooled(count, moments.comoment)
    )
    # The variance of column i in the rows that observe i and j, shape (K, d, d).
    variance = smoothing.covariance(count, moments.square, smoothing.pooled(count, moments.square))
    variance = variance + ridge[:, None]
    deviation = np.broadcast_to(np.sqrt(variance), covariance.shape)
    # By one deviation after the other: products of variances may exceed the range of floats.
    # Without smoothing, a column that is constant within a class has correlation 0 there.
    correlation = safe_divide(safe_divide(covariance, deviation), deviation.swapaxes(1, 2))
    # A correlation of 1 would have infinite information.
    information = -0.5 * np.log1p(-np.minimum(correlation**2, 1.0 - 1e-15))
    scores = np.sum(safe_divide(count, count.sum(axis=0, keepdims=True)) * information, axis=0)
    np.fill_diagonal(scores, 0.0)
    return scores, np.broadcast_to(count.sum(axis=0), scores.shape)


def mixed_scores(
    summary: PairsSummary, smoothing: Smoothing, ridge: Floats, target: Discrete | None
) -> tuple[Floats, Floats]:
    """Return the gain in log likelihood by an arc from each discrete to each continuous column.

    In nats per row: sum_y P(y) 1/2 [log var_y - sum_d P(d|y) log var_{y,d}], for Gaussians with
    variances regularised like those of CPDs, within the classes y and the states d of the discrete
    parent. Unlike a mutual information, it is not bounded by the entropy of the discrete column.

    Parameters
    ----------
    summary : PairsSummary
    smoothing : Smoothing
    ridge : ndarray, shape (number of continuous columns,)
        Added to the variances.
    target : Discrete or None
        The class, if it can be one of the discrete columns: variances given the class shrink
        towards the pooled within-class variance instead of the variance of all rows.

    Returns
    -------
    gains, rows : ndarray, shape (number of discrete columns, number of continuous columns)
        The gains, and the total weight of the rows that observe both columns.
    """
    at, n_groups = summary.at, len(summary.singles.totals)
    n_continuous = len(at.continuous)
    gains = np.zeros((len(at.discrete), n_continuous))
    rows = np.zeros_like(gains)
    # By class, state (those of all discrete columns in a row), and continuous column.
    m, shape = summary.mixed, (n_groups, -1, n_continuous)
    arrays = [a.reshape(shape) for a in (m.count, m.mean, m.square)]
    for i, variable in enumerate(at.discrete):
        states = at.states(variable)
        # Moments by class and state of this column, and by class alone.
        by_state = GroupMoments(*[a[:, states].reshape(-1, n_continuous) for a in arrays])
        by_class = by_state.merged((n_groups, variable.cardinality), 1)
        # The variance towards which others shrink.
        pooled = smoothing.pooled(by_class.count, by_class.square)
        joint = smoothing.covariance(by_class.count, by_class.square, pooled) + ridge
        if variable == target:
            pooled = smoothing.pooled(by_state.count, by_state.square)
        split = smoothing.covariance(by_state.count, by_state.square, pooled) + ridge
        # Without smoothing a variance may be zero, which the CPD will refuse.
        log_split = np.sum(by_state.count * np.log(np.maximum(split, _TINY)), axis=0)
        log_joint = np.sum(by_class.count * np.log(np.maximum(joint, _TINY)), axis=0)
        rows[i] = by_state.count.sum(axis=0)
        gains[i] = 0.5 * safe_divide(log_joint - log_split, rows[i])
    return gains, rows


# ------------------------------------ Scores of arcs between the columns of a pairwise summary

# Number of decimals to which scores are rounded before a comparison: rounding errors must not
# decide on a structure.
TIE_DECIMALS = 12


@dataclass(frozen=True, eq=False)
class ArcScores:
    """Gain in log likelihood by each possible arc, given the class variable if there is one.

    Attributes
    ----------
    gains : ndarray, shape (d, d)
        Gain of an arc between two columns over no arc, in nats per row, parents along the first
        axis; 0 where no arc is possible. It is that of the rows which observe both columns, times
        their share of all rows: the others gain nothing.
    rows : ndarray, shape (d, d)
        Total weight of the rows that observe both columns.
    parameters : ndarray, shape (d, d)
        Number of free parameters that the arc adds.
    total : ndarray, shape (d, d)
        Total weight of all rows, equal to `rows` where no row lacks a column.
    learnable : ndarray of bool, shape (d, d)
        Whether both columns vary, and rows enough observe both: as many for each parameter as there
        are others for each of them, so that the distribution with the arc is rather that of the
        rows than that without it (see `estimate_network`).
    """

    gains: Floats
    rows: Floats
    parameters: Floats
    total: Floats
    learnable: NDArray[np.bool_]

    @classmethod
    def of(
        cls, gains: Floats, rows: Floats, parameters: Floats, total: float, varies: Any
    ) -> ArcScores:
        """Return the scores from gains per row that observes both columns.

        `total` is the weight of all rows, `varies` a mask of arcs whose columns both vary.
        """
        share = safe_divide(rows, np.full(np.shape(rows), total))
        # Arcs of which no row lacks a column; their gains are not changed by rounding errors.
        complete = share > 1.0 - ROUNDING
        learnable = varies & (complete | (rows > parameters * safe_divide(total - rows, rows)))
        gains = gains * np.where(complete, 1.0, share)
        return cls(gains, rows, parameters, np.where(complete, rows, total), learnable)

    def net(self, penalty: str) -> Floats:
        """Return the penalised gain in log likelihood of each arc, shape (d, d).

        The gain is that of all rows together, in nats: ``total * gains - rate * parameters``. The
        rate is `penalty_rate` for "bic" and "aic", and 0 for any other `penalty`.
        """
        return self.total * self.gains - penalty_rate(penalty, self.rows) * self.parameters


def penalty_rate(penalty: str, rows: Floats) -> Floats:
    """Return the penalty per parameter: log(rows) / 2 for "bic" (Schwarz 1978), 1 for "aic"."""
    if penalty == "bic":
        return np.asarray(0.5 * np.log(np.maximum(rows, 1.0)))
    return np.full(np.shape(rows), 1.0 if penalty == "aic" else 0.0)


def arc_scores(source: CountSource, summary: PairsSummary, smoothing: Smoothing) -> ArcScores:
    """Return the scores of all arcs between the columns of a pairwise summary, in their order.

    The gain is the conditional mutual information of two discrete columns, the mutual information
    of a bivariate Gaussian for two continuous columns, and for an arc from a discrete to a
    continuous column the gain in Gaussian log likelihood (see `mixed_scores`).

    Parameters
    ----------
    source : CountSource
        Source of the total variances of continuous columns.
    summary : PairsSummary
        Statistics of all pairs of columns, given the class if there is one.
    smoothing : Smoothing
        Regularisation of the variances of continuous columns.
    """
    at, columns = summary.at, summary.request.columns
    k, d = len(summary.singles.totals), len(columns)  # classes (1 without a class), columns
    changing = varying(summary.singles)
    varies = np.array([v in changing for v in columns], dtype=np.bool_)
    # The last arguments of `ArcScores.of`: the weight of all rows, and whether both columns vary.
    total_and_varies = float(summary.singles.totals.sum()), varies[:, None] & varies
    if len(at.discrete) == d:  # in the order of the columns already
        scores = discrete_scores(summary)
        return ArcScores.of(*scores, _parameters(summary), *total_and_varies)
    gains, rows, parameters = (np.zeros((d, d)) for _ in range(3))
    place = {v: i for i, v in enumerate(columns)}
    discrete = [place[v] for v in at.discrete]
    continuous = [place[v] for v in at.continuous]

    def put(parents: list[int], children: list[int], *tables: Any) -> None:
        """Write gains, rows and parameters of the arcs between columns of two kinds."""
        for array, table in zip((gains, rows, parameters), tables, strict=True):
            array[np.ix_(parents, children)] = table

    if discrete:
        put(discrete, discrete, *discrete_scores(summary), _parameters(summary))
    if continuous:
        ridge = smoothing.ridge(source.variances(at.continuous))
        # One coefficient in each class.
        put(continuous, continuous, *gaussian_scores(summary, smoothing, ridge), k)
        if discrete:
            mixed = mixed_scores(summary, smoothing, ridge, source.target)
            # A mean and a variance in each class for each further state of the parent.
            put(discrete, continuous, *mixed, 2.0 * k * (at.cards[:, None] - 1.0))
    return ArcScores.of(gains, rows, parameters, *total_and_varies)


def varying(single: SinglesSummary) -> dict[Variable, None]:
    """Return the columns that are not constant, in the order of their kinds, as keys of a dict."""
    # The number of states of each discrete column that occur in any class.
    n_states = np.add.reduceat(single.counts.any(axis=0), single.at.start[:-1], dtype=np.intp)
    varies = [*(n_states > 1), *(single.overall.square[0] > 0)]
    return dict.fromkeys(compress((*single.at.discrete, *single.at.continuous), varies))


def _parameters(summary: PairsSummary) -> Floats:
    """Return the number of parameters that arcs between discrete columns add, shape (d, d).

    If `too_few_rows` holds for a pair, it is what the cells that occur are worth, if that is less:
    the logarithm of the number of states that each might have, and a parameter for all but one of
    the states of a child that a state of its parent has.
    """
    cards, k, rows = summary.at.cards, len(summary.singles.totals), summary.singles.totals.sum()
    free = cards - 1.0
    parameters = np.outer(k * free, free)
    # If the largest table is not sparse, none is.
    if not too_few_rows(free.max(initial=0.0) ** 2, rows):
        return parameters
    wide = np.triu(too_few_rows(np.outer(free, free), rows), k=1)
    for i, j in np.argwhere(wide).tolist():
        occurs = summary.pair_table(i, j) > 0  # by class and the states of i and j
        # `axis` is that of the child.
        for parent, child, axis in ((i, j, 2), (j, i, 1)):
            # A nat is worth 2 / log(rows) parameters, as BIC has log(rows) / 2 nats for each.
            worth = occurs.sum() * 2.0 * math.log(cards[child]) / math.log(max(rows, 2.0))
            worth += 1 + occurs.sum() - occurs.any(axis=axis).sum()
            parameters[parent, child] = min(parameters[parent, child], worth)
    return parameters


def class_scores(source: CountSource, single: SinglesSummary, smoothing: Smoothing) -> Floats:
    """Return the mutual information of each column and the class variable, shape (d,).

    The unit is nats per row; `single` has the columns, given the class. The value of a continuous
    column is the gain in Gaussian log likelihood by the class, ``sum_y P(y) 1/2 [log var - log
    var_y]``, with the variances of all rows and of class y. Rows that lack a column gain nothing.
    Columns that are neither discrete nor continuous have the value 0.
    """
    at = single.at
    scores = dict.fromkeys(single.request.columns, 0.0)
    all_rows = float(single.totals.sum())
    for v in at.discrete:
        table = single.counts[:, at.states(v)]
        share = table.sum() / max(all_rows, 1e-300)  # there may be no rows
        # With nothing given: the class takes the place of X, and the column that of Y.
        scores[v] = float(conditional_mutual_information(table[None])) * share
    if at.continuous:
        ridge = smoothing.ridge(source.variances(at.continuous))
        by_class, overall = single.moments, single.overall
        variances = [
            smoothing.covariance(m.count, m.square, smoothing.pooled(m.count, m.square)) + ridge
            for m in (by_class, overall)
        ]
        log_within, log_total = (np.log(np.maximum(variance, _TINY)) for variance in variances)
        gain = np.sum(by_class.count * (log_total - log_within), axis=0)
        gain = 0.5 * safe_divide(gain, np.full(gain.shape, all_rows))
        scores.update(zip(at.continuous, gain, strict=True))
    return np.array([scores[v] for v in single.request.columns])


def by_score(scores: Floats) -> list[int]:
    """Return indices by descending score; ties, up to rounding errors, by ascending index."""
    order: list[int] = np.argsort(-np.round(scores, TIE_DECIMALS), kind="stable").tolist()
    return order


# ------- Linear Gaussian regressions of many families at once: coefficients and residual variances


def stacked(families: Sequence[FamilyStatistics]) -> FamilyStatistics:
    """Return the statistics of m families with arrays of equal shapes, stacked along a new axis.

    Returns
    -------
    FamilyStatistics
        counts (..., m), mean (..., m, n), comoment (..., m, n, n): the new axis is the last axis of
        the configurations.
    """
    return FamilyStatistics(
        np.stack([f.counts for f in families], axis=-1),
        np.stack([f.mean for f in families], axis=-2),
        np.stack([f.comoment for f in families], axis=-3),
    )


def gaussian_fit(
    statistics: FamilyStatistics, smoothing: Smoothing, ridge: Floats, is_class: Sequence[bool]
) -> Floats:
    """Return the maximised Gaussian log likelihood of m families up to a constant, shape (m,).

    It is ``-1/2 sum n log(residual variance)`` over the configurations of the discrete parents,
    with n rows each. Variances are regularised like those of CPDs: see `estimate_gaussian`.

    Parameters
    ----------
    statistics : FamilyStatistics
        Stacked statistics of m families, see `stacked`.
    smoothing : Smoothing
    ridge : ndarray, shape (m, n)
        Added to the variances of the continuous parents and, last, of the child.
    is_class : sequence of bool
        Whether each discrete parent is the class.
    """
    m, n = ridge.shape
    covariance = smoothing.covariance(
        statistics.counts[..., None, None],
        statistics.comoment,
        towards(statistics, smoothing, is_class),
    )
    # On the diagonal of the covariance of each family.
    covariance = covariance + ridge[:, None, :] * np.eye(n)
    _, variance = regression(covariance, np.broadcast_to(ridge[:, -1], covariance.shape[:-2]))
    fit = statistics.counts * np.log(np.maximum(variance, _TINY))
    return np.asarray(-0.5 * fit.reshape(-1, m).sum(axis=0))


def regression(covariance: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Return coefficients and residual variance of the regression of the last column on the others.

    Parameters
    ----------
    covariance : ndarray, shape (..., n, n)
    floor : ndarray, broadcastable to shape (...)
        Minimum of the residual variance.

    Returns
    -------
    slopes : ndarray, shape (..., n - 1)
    variance : ndarray, shape (...)
    """
    variance = covariance[..., -1, -1]
    if covariance.shape[-1] == 1:
        return np.zeros((*variance.shape, 0)), np.asarray(variance)
    # Rows are standardised before columns: units do not matter, and products stay in the range of
    # floats.
    deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    rows, columns = (
        np.broadcast_to(side, covariance.shape)
        for side in (deviation[..., :, None], deviation[..., None, :])
    )
    correlation = safe_divide(safe_divide(covariance, rows), columns)
    # The correlations of the last column with the others.
    link = correlation[..., :-1, -1]
    if covariance.shape[-1] == 2:
        slopes = link
    else:
        inverse = np.linalg.pinv(correlation[..., :-1, :-1], hermitian=True)
        slopes = np.einsum("...ij,...j->...i", inverse, link)
    explained = np.minimum(np.sum(link * slopes, axis=-1), 1.0)
    # Back from standardised columns: the deviation of the last one over that of each other.
    scale = safe_divide(np.broadcast_to(deviation[..., -1:], link.shape), deviation[..., :-1])
    return slopes * scale, np.maximum(variance * (1.0 - explained), floor)


# ------ What columns say about a child beside its other parents: statistics for searches and tests


# Numbers of new columns, and of the others that each of them extends.
Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


# The cells of the tables of groups of new columns, each beside the same others, of which the last
# is a child: one table after the other, of shape (r, n_strata, n_states) for the r states of a new
# column, the configurations of the other columns, and the states of the child. After them these
# shapes, `Extensions.shapes`.
ExtendedTables: TypeAlias = tuple[Floats, NDArray[np.int64]]


def extended_tables(
    source: CountSource, columns: Numbered, groups: Sequence[Group]
) -> ExtendedTables:
    """Return the tables of groups of (new columns, others), counted in one pass over the data."""
    request = Extensions(columns, tuple(groups))
    return source.extensions(request), np.array(request.shapes, dtype=np.int64).reshape(-1, 3)


class ExtendedInformation(NamedTuple):
    """What each of several columns says about a child, given other columns.

    Attributes
    ----------
    information : ndarray, shape (n_columns,)
        Conditional mutual information times the rows, in nats: half of G-squared, and the gain in
        log likelihood of the child by the column as one more parent.
    rows : ndarray, shape (n_columns,)
        Total weight of the rows that observe all columns.
    degrees : ndarray, shape (n_columns,)
        Degrees of freedom of G-squared: the sum of ``(r - 1) (s - 1)`` for the r and s states of
        column and child that occur in each stratum.
    parameters : ndarray, shape (n_columns,)
        Number of parameters that the child has more.
    """

    information: Floats
    rows: Floats
    degrees: Floats
    parameters: Floats


def extended_information(tables: ExtendedTables) -> ExtendedInformation:
    """Return the information of each new column on the child of its group, given the others."""
    measures = np.empty((4, len(tables[1])))
    structure_kernels.extended_information(*tables, measures)
    return ExtendedInformation(*measures)


def extended_bdeu(tables: ExtendedTables, ess: float) -> Floats:
    """Return the gain in the BDeu score of a child by each new column as one more parent."""
    gains = np.empty(len(tables[1]))
    structure_kernels.extended_bdeu(*tables, ess, gains)
    return gains
