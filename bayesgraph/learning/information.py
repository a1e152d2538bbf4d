"""Mutual information of two columns given the class, in nats per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.parallel import over_pairs
from bayesgraph.core.variables import Discrete
from bayesgraph.learning import structure_kernels
from bayesgraph.learning.parameters import towards
from bayesgraph.statistics import (
    CountSource,
    Extensions,
    FamilyStatistics,
    GroupMoments,
    Numbered,
    PairsSummary,
    Smoothing,
    safe_divide,
)

# ------------------------------ Mutual information of two columns given the class, in nats per row


# Maximum number of cells in the stacked pair tables of one array operation.
_STACK = 1 << 22
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
    there = counts > 0
    # Quotients before products: products of weights may exceed the range of floats.
    ratio = np.where(there, counts, 1.0) / np.where(there, given_x, 1.0)
    ratio *= np.where(there, by_class, 1.0) / np.where(there, given_y, 1.0)
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
    base = int(cards.max(initial=0)) + 1
    shapes, members = np.unique(cards[left] * base + cards[right], return_inverse=True)
    for number, shape in enumerate(shapes.tolist()):
        r, s = divmod(shape, base)
        same = np.flatnonzero(members == number)
        size = max(1, _STACK // (k * r * s))
        for at in range(0, len(same), size):
            part = same[at : at + size]
            cells = summary.starts[part][:, None] + np.arange(k * r * s)
            tables = summary.pair_counts[cells].reshape(-1, k, r, s)
            yield left[part], right[part], tables


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
        a, b = (i * d - i * (i + 1) // 2 for i in (first, last))
        cells = summary.pair_counts[summary.starts[a] : summary.starts[b]]
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
    variance = smoothing.covariance(count, moments.square, smoothing.pooled(count, moments.square))
    variance = variance + ridge[:, None]
    deviation = np.broadcast_to(np.sqrt(variance), covariance.shape)
    # By one deviation after the other: products of variances may exceed the range of floats.
    # Without smoothing, a column that is constant within a class has correlation 0 there.
    correlation = safe_divide(safe_divide(covariance, deviation), deviation.swapaxes(1, 2))
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
    m, shape = summary.mixed, (n_groups, -1, n_continuous)
    arrays = [a.reshape(shape) for a in (m.count, m.mean, m.square)]
    for i, variable in enumerate(at.discrete):
        states = at.states(variable)
        part = GroupMoments(*[a[:, states].reshape(-1, n_continuous) for a in arrays])
        whole = part.merged((n_groups, variable.cardinality), 1)
        target_variance = smoothing.pooled(whole.count, whole.square)
        joint = smoothing.covariance(whole.count, whole.square, target_variance) + ridge
        if variable == target:
            target_variance = smoothing.pooled(part.count, part.square)
        split = smoothing.covariance(part.count, part.square, target_variance) + ridge
        # Without smoothing a variance may be zero, which the CPD will refuse.
        log_split = np.sum(part.count * np.log(np.maximum(split, _TINY)), axis=0)
        log_joint = np.sum(whole.count * np.log(np.maximum(joint, _TINY)), axis=0)
        rows[i] = part.count.sum(axis=0)
        gains[i] = 0.5 * safe_divide(log_joint - log_split, rows[i])
    return gains, rows


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
    link = correlation[..., :-1, -1]
    if covariance.shape[-1] == 2:
        slopes = link
    else:
        inverse = np.linalg.pinv(correlation[..., :-1, :-1], hermitian=True)
        slopes = np.einsum("...ij,...j->...i", inverse, link)
    explained = np.minimum(np.sum(link * slopes, axis=-1), 1.0)
    scale = safe_divide(np.broadcast_to(deviation[..., -1:], link.shape), deviation[..., :-1])
    return slopes * scale, np.maximum(variance * (1.0 - explained), floor)


# ------ What columns say about a child beside its other parents: statistics for searches and tests


# Numbers of new columns, and of the others that each of them extends.
Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


class ExtendedTables(NamedTuple):
    """Counts of groups of columns, each beside the same others, of which the last is a child.

    Attributes
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (r, n_strata, n_states) of the new columns of all groups, one after the
        other: by the column's states, the configurations of the other columns, and the states of
        the child.
    cards : ndarray of int
        Numbers of states by numbers of columns.
    plan : ndarray of int
        See `Extensions.plan`.
    """

    cells: Floats
    cards: NDArray[np.int64]
    plan: NDArray[np.int64]

    @classmethod
    def counted(
        cls,
        source: CountSource,
        columns: Numbered,
        groups: Sequence[Group],
    ) -> Self:
        """Return the tables of groups of (new columns, others), in one pass over the data."""
        request = Extensions(columns, tuple(groups))
        return cls(source.extensions(request), columns.cards, request.plan)


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


def extended_information(tables: ExtendedTables, n_columns: int) -> ExtendedInformation:
    """Return what each of the new columns says about the child of its group, given the others."""
    measures = np.zeros((4, n_columns))
    structure_kernels.extended_information(*tables, measures)
    return ExtendedInformation(*measures)


def extended_bdeu(tables: ExtendedTables, n_columns: int, ess: float) -> Floats:
    """Return the gain in the BDeu score of a child by each new column as one more parent."""
    gains = np.zeros(n_columns)
    structure_kernels.extended_bdeu(*tables, ess, gains)
    return gains
