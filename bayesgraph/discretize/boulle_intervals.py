"""Discretisation into the intervals of highest posterior probability: MODL (Boulle 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.discretize import kernels
from bayesgraph.discretize.cutting import Bins, SortedColumn, bins_of, observed
from bayesgraph.discretize.partition import Partition
from bayesgraph.factors.algebra import Floats
from bayesgraph.special import gammaln

# Maximum count whose factorial is taken from a table.
_TABLE = 1 << 22
# Maximum number of elementary bins that are merged individually.
_MAX_BINS = 1 << 14


@dataclass(frozen=True, eq=False)
class Intervals(Partition):
    """A partition of a column into intervals.

    Attributes
    ----------
    cuts : ndarray, shape (number of intervals - 1,)
        Cut points in ascending order.
    """

    cuts: Floats


def modl(
    values: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> Intervals:
    """Return the MODL discretisation of a column: the intervals of lowest cost that a search finds.

    The search is greedy, followed by local improvement. The cost is a description length in nats:
    the negative log posterior probability of the intervals up to a constant. For N rows and J
    classes, I intervals with N_i rows, N_ij of class j, cost (Boulle 2006, MODL criterion)

        ln N + ln C(N + I - 1, I - 1)
        + sum_i ln C(N_i + J - 1, J - 1) + sum_i ln(N_i! / prod_j N_ij!).

    Starting with elementary bins, the two neighbouring intervals whose merge is cheapest are merged
    until one interval is left. The best partition on the way is improved by four moves until none
    lowers the cost: split an interval; merge two; merge two and split the result; merge three and
    split the result. Ties go to fewer intervals. The search takes O(n log n); the result need not
    be the best of all partitions.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    classes : array_like of integers, shape (n,)
        Codes below `n_classes`.
    n_classes : int
    weights : array_like, shape (n,), optional
        Counts are sums of weights; factorials of fractional counts are gamma functions.

    References
    ----------
    M. Boulle: MODL: a Bayes optimal discretization method for continuous attributes. Machine
    Learning 65 (2006), 131-165.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> modl(X[:, 3], y, 3).cuts.tolist()
    [0.8, 1.75]
    """
    return modl_intervals(observed(values, weights, classes, n_classes))


def modl_intervals(column: SortedColumn) -> Intervals:
    """Return the intervals that `modl` finds, of a sorted column."""
    bins = bins_of(column)
    return best_intervals(bins, published_prior(bins.total, len(bins.low)))


def modl_granular(
    values: ArrayLike,
    classes: ArrayLike,
    n_classes: int,
    weights: ArrayLike | None = None,
    *,
    n_columns: int = 1,
) -> Intervals:
    """Return the intervals of lowest cost by the criterion of Khiops, as found by a search.

    The criterion is that of `modl` with another prior, which includes the precision of the cut
    points. For symbols not defined here see `modl`.

    For a granularity g, rows are first put into V = min(2^g, N) bins of equal frequency. Equal
    values are put into the bin of their middle row. A single interval costs ln 2 in addition to its
    class counts; I >= 2 intervals cost

        ln 2 + ln n_columns + L(g, ceil(log2 N)) + L(I - 1, V - 1)
        + (I - 1) ln(V - 1) - ln (I - 1)!
        + sum_i ln C(N_i + J - 1, J - 1) + sum_i ln(N_i! / prod_j N_ij!),

    where L is Rissanen's universal code of integers, truncated at its second argument. The
    granularity of the lowest cost is chosen; ties go to the smaller one. (Khiops skips some
    granularities to save time.)

    Parameters
    ----------
    values, classes, n_classes, weights
        As for `modl`.
    n_columns : int
        Number of columns among which this column is selected, for the prior.

    References
    ----------
    M. Boulle: Khiops, the criterion of its release 11 (the preprocessing part of its documents).
    """
    return granular_intervals(observed(values, weights, classes, n_classes), n_columns=n_columns)


def granular_intervals(column: SortedColumn, *, n_columns: int = 1) -> Intervals:
    """Return the intervals that `modl_granular` finds, of a sorted column."""
    size = column.low.size
    below = np.cumsum(column.weights) if column.weights.size else np.arange(1.0, size + 1)
    if size < 2 or column.low[0] == column.low[-1]:
        return modl_intervals(column)
    total = float(below[-1])
    best = None
    last = max(1, math.ceil(math.log2(max(total, 2.0))))
    for granularity in range(1, last + 1):
        bins = bins_of(column, _equal_bins(column.low, below, 2**granularity))
        prior = _granular_prior(len(bins.low), total, granularity, last, n_columns)
        found = best_intervals(bins, prior)
        if best is None or found.cost < best.cost - 1e-6:
            best = found
    assert best is not None  # the loop has at least one granularity
    return best


def _equal_bins(ascending: Floats, below: Floats, maximum: int) -> Floats:
    """Return the index (from 1) of the bin of each row, for at most `maximum` bins of equal weight.

    Values ascend, and equal values share a bin; `below` holds the cumulative weights of the rows.
    """
    starts = np.flatnonzero(np.append(True, ascending[1:] > ascending[:-1]))
    ends = np.append(starts[1:], ascending.size) - 1
    before = np.append(0.0, below[ends[:-1]])
    # A value belongs to the bin that contains the middle of its rows, on the scale of weights.
    middle = before + (below[ends] - before) / 2
    place = np.floor(middle * maximum / below[-1])
    rank = np.cumsum(np.append(True, place[1:] > place[:-1]))
    return np.repeat(rank.astype(np.float64), ends - starts + 1)


def _granular_prior(
    maximum: int, total: float, granularity: int, last: int, n_columns: int
) -> Floats:
    """Return the prior cost of each number of intervals, from 0 (infinite) to `maximum`.

    It consists of the terms of the cost in `modl_granular` before the class counts, for one
    granularity g. `total` is N, and `last` the largest granularity.
    """
    size = max(2.0, min(2.0**granularity, total))
    cuts = np.arange(1, maximum)
    several = (
        math.log(n_columns)
        + universal_code(np.array([granularity]), last)[0]
        + universal_code(cuts, max(size - 1, maximum - 1))
        + cuts * math.log(size - 1)
        - gammaln(cuts + 1)
    )
    return math.log(2.0) + np.concatenate([[np.inf, 0.0], several])


def universal_code(numbers: NDArray[np.integer[Any]], maximum: float) -> Floats:
    """Return the code length in nats of each number n by Rissanen's universal code of integers.

    The code is truncated at `maximum`. The length is ln C(maximum) + ln 2 * (log2 n + log2 log2 n +
    ...) with only the positive terms, where C normalises the probabilities of the integers from 1
    to `maximum` (Rissanen 1983).
    """
    highest = int(max(maximum, numbers.max(initial=1)))
    normaliser = np.log(np.sum(2.0 ** -_log_star(np.arange(1, highest + 1))))
    return np.asarray(normaliser + math.log(2.0) * _log_star(numbers))


def _log_star(numbers: NDArray[np.integer[Any]]) -> Floats:
    total = np.zeros(len(numbers))
    left = np.log2(numbers)
    while (left > 0).any():
        total += np.maximum(left, 0.0)
        left = np.log2(np.maximum(left, 1.0))
    return total


def published_prior(total: float, maximum: int) -> Floats:
    """Return the prior cost ln N + ln C(N + I - 1, I - 1) of I intervals, I from 0 to `maximum`.

    N is `total`. The cost of no interval is infinite.
    """
    count = np.arange(1, maximum + 1)
    chosen = gammaln(total + count) - gammaln(count) - gammaln(total + 1)
    return np.concatenate([[np.inf], np.log(max(total, 1e-300)) + chosen])


def best_intervals(bins: Bins, prior: Floats) -> Intervals:
    """Search for the partition of elementary bins into intervals of minimum cost.

    Parameters
    ----------
    bins : Bins
    prior : ndarray, shape (number of bins + 1,)
        Cost of each number of intervals, in addition to the costs of the intervals.
    """
    n_bins, n_classes = len(bins.low), bins.sums.shape[1]
    if not n_bins:
        return Intervals(np.zeros((1, n_classes)), 0.0, 0.0, np.empty(0))
    table = factorials(bins.sums, bins.total, n_classes)
    begins = _greedy(bins, table, prior)
    kernels.improve(bins.sums, table, prior, begins)
    ends = np.append(np.flatnonzero(begins), n_bins)
    parts = [kernels.interval_cost(bins.sums, table, a, b) for a, b in pairwise(ends.tolist())]
    null = kernels.interval_cost(bins.sums, table, 0, n_bins) + prior[1]
    counts = np.diff(bins.sums[ends], axis=0)
    cost = float(sum(parts) + prior[len(parts)])
    return Intervals(counts, cost, float(null), bins.cuts(begins))


def _greedy(bins: Bins, table: Floats, prior: Floats) -> NDArray[np.bool_]:
    """Return a mask of the bins that begin an interval after greedy merging.

    `table` holds logs of factorials, and `prior` the cost of each number of intervals. If there are
    very many bins, they are first merged into bins of equal weight; the improvement that follows
    searches for cut points among all of the original bins.
    """
    if len(bins.low) <= _MAX_BINS:
        return np.asarray(kernels.merge_greedily(bins.sums, table, prior))
    below = bins.sums.sum(axis=1)
    place = np.floor(below[:-1] * (_MAX_BINS / below[-1]))
    starts = np.flatnonzero(np.append(True, place[1:] > place[:-1]))
    coarse = bins.sums[np.append(starts, len(bins.low))]
    merged = kernels.merge_greedily(coarse, table, prior[: len(starts) + 1])
    begins = np.zeros(len(bins.low), dtype=np.bool_)
    begins[starts[merged]] = True
    return begins


def factorials(counts: Floats, total: float, n_classes: int) -> Floats:
    """Return logs of the factorials 0!, 1!, ... up to at least ``total + n_classes``.

    The table is empty if a count is fractional or the total is above 4 million.
    """
    if not (counts == np.rint(counts)).all():
        return np.empty(0)
    return factorial_table(total, n_classes)


def factorial_table(total: float, beyond: int) -> Floats:
    """Return logs of the factorials 0!, 1!, ... up to at least ``total + beyond``.

    The table is empty for totals above 4 million.
    """
    if total > _TABLE:
        return np.empty(0)
    # A power of two, so that columns with a few missing values share one table.
    return _factorials(1 << (int(total) + beyond).bit_length())


@lru_cache(maxsize=4)
def _factorials(size: int) -> Floats:
    return np.asarray(gammaln(np.arange(size) + 1.0))
