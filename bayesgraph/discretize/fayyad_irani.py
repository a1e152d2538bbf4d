"""Cut points by minimum description length: recursive splits (Fayyad and Irani 1993)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.discretize import kernels
from bayesgraph.discretize.cutting import SortedColumn, bins_of, observed, round_between
from bayesgraph.factors.algebra import Floats


def mdlp(
    values: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> Floats:
    """Return the cut points of Fayyad and Irani's recursive minimal entropy partitioning.

    A set S of N rows is split at the boundary of minimum class entropy if the gain exceeds
    log2(N - 1)/N + [log2(3^k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2))]/N, where k, k1, k2 are
    the numbers of classes in S and its parts; the parts are then split in the same way. Ties go to
    the lowest cut point.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    classes : array_like of integers, shape (n,)
        Codes below `n_classes`.
    n_classes : int
    weights : array_like, shape (n,), optional
        N is the sum of the weights.

    Returns
    -------
    ndarray, shape (number of cuts,)
        Cut points in ascending order.

    References
    ----------
    U. Fayyad and K. Irani: Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI 1993, section 3.

    Examples
    --------
    >>> mdlp([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 1, 1, 1], 2).tolist()
    [4.5]
    """
    return mdlp_cuts(observed(values, weights, classes, n_classes))


def mdlp_cuts(column: SortedColumn) -> Floats:
    """Return the cut points that `mdlp` finds, of a sorted column."""
    bins = bins_of(column)
    if len(bins.low) < 2:
        return np.empty(0)
    return bins.cuts(kernels.split_recursively(bins.sums, 0.0))


def split_intervals(column: SortedColumn, cuts: Floats) -> Floats:
    """Return cut points with further ones, at which the classes change within an interval.

    An interval is split where `mdlp` would split it if the cut point were described among all rows
    of the column, not only those of the interval: only where classes change abruptly. The further
    cut points have as few digits as possible.

    Parameters
    ----------
    column : SortedColumn
        Of rows with classes.
    cuts : ndarray, shape (n,)
        Ascending; between the values of the column.

    Returns
    -------
    ndarray, shape (at least n,)
    """
    total = float(column.weights.sum() if column.weights.size else column.low.size)
    ends = [0, *np.searchsorted(column.low, cuts, side="right").tolist(), column.low.size]
    found = [cuts]
    for begin, end in pairwise(ends):
        bins = bins_of(column.part(begin, end))
        if len(bins.low) > 1:
            at = np.flatnonzero(kernels.split_recursively(bins.sums, total))[1:]
            found.append(round_between(bins.high[at - 1], bins.low[at]))
    return np.unique(np.concatenate(found))
