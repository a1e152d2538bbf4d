"""The most probable partition into intervals given the data: MODL (Boulle 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bayesgraph.discretize import kernels
from bayesgraph.discretize.cutting import Bins, make_bins
from bayesgraph.factors.algebra import Floats

# Counts up to here have their factorials in a table.
_TABLE = 1 << 22


@dataclass(frozen=True, eq=False)
class Intervals:
    """A partition of a column into intervals, and what it costs.

    Attributes
    ----------
    cuts : ndarray, shape (number of intervals - 1,)
        Ascending.
    counts : ndarray, shape (number of intervals, n_classes)
        Weight of each class in each interval.
    cost : float
        -ln of prior times likelihood, up to a constant (nats).
    null_cost : float
        The cost of a single interval.
    """

    cuts: Floats
    counts: Floats
    cost: float
    null_cost: float

    @property
    def level(self) -> float:
        """The share of the cost of a single interval that the cuts save: 0 says nothing."""
        return 1.0 - self.cost / self.null_cost if self.null_cost > 0 else 0.0


def modl(
    values: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> Intervals:
    """Return the intervals of least cost that a greedy search and its improvement find.

    The cost of I intervals of N rows and J classes is (Boulle 2006, equation of the MODL criterion)

        ln N + ln C(N + I - 1, I - 1)
        + sum_i ln C(N_i + J - 1, J - 1) + sum_i ln(N_i! / prod_j N_ij!).

    Intervals are merged, beginning with elementary ones, always the two whose merge costs least,
    down to a single one; the best partition on the way is improved by splits, merges, and merges of
    two or three that are split anew, until none of these lowers the cost. Ties go to fewer
    intervals. The search takes O(n log n); the result need not be the best of all partitions.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    classes : array_like of integers, shape (n,)
        Codes below `n_classes`.
    n_classes : int
    weights : array_like, shape (n,), optional
        Counts are sums of weights, and factorials go on to numbers that are not whole.

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
    bins = make_bins(values, classes, n_classes, weights)
    return best_intervals(bins, published_prior(bins.total, len(bins.low)))


def published_prior(total: float, most: int) -> Floats:
    """Return ln N + ln C(N + I - 1, I - 1) for I from 0 (which is no partition) to `most`."""
    count = np.arange(1, most + 1)
    chosen = gammaln(total + count) - gammaln(count) - gammaln(total + 1)
    return np.concatenate([[np.inf], np.log(max(total, 1e-300)) + chosen])


def best_intervals(bins: Bins, prior: Floats) -> Intervals:
    """Return the partition of bins of least cost that is found.

    Parameters
    ----------
    bins : Bins
    prior : ndarray, shape (number of bins + 1,)
        Cost of each number of intervals, beyond the costs of the intervals.
    """
    n_bins, n_classes = len(bins.low), bins.sums.shape[1]
    if n_bins < 2:
        return Intervals(np.empty(0), np.diff(bins.sums[[0, -1]], axis=0), 0.0, 0.0)
    table = factorials(bins.sums, n_classes)
    begins = kernels.merge_greedily(bins.sums, table, prior)
    kernels.improve(bins.sums, table, prior, begins)
    ends = np.append(np.flatnonzero(begins), n_bins)
    parts = [kernels.part_cost(bins.sums, table, a, b) for a, b in pairwise(ends.tolist())]
    null = kernels.part_cost(bins.sums, table, 0, n_bins) + prior[1]
    counts = np.diff(bins.sums[ends], axis=0)
    return Intervals(bins.cuts(begins), counts, float(sum(parts) + prior[len(parts)]), float(null))


def factorials(sums: Floats, n_classes: int) -> Floats:
    """Return logs of factorials, enough for all counts; empty if some counts are not whole."""
    total = float(sums[-1].sum())
    if total > _TABLE or not (sums == np.rint(sums)).all():
        return np.empty(0)
    # A power of two, so that columns with a few values missing share one table.
    return _factorials(1 << (int(total) + n_classes).bit_length())


@lru_cache(maxsize=4)
def _factorials(size: int) -> Floats:
    return np.asarray(gammaln(np.arange(size) + 1.0))
