"""Unsupervised discretisation: cut points of intervals of equal width or equal frequency."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.discretize.cutting import SortedColumn, cuts_between, observed
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats


def checked_bins(bins: int) -> int:
    """Return the number of intervals as an int after checking it.

    Raises
    ------
    DataError
        If it is not an integer above zero.
    """
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise DataError(f"bins= is a number of intervals, 1 or more; got {bins!r}.")
    return int(bins)


def equal_width(values: ArrayLike, bins: int = 10, weights: ArrayLike | None = None) -> Floats:
    """Return the cut points of intervals of equal width between the minimum and the maximum.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    bins : int
    weights : array_like, shape (n,), optional
        Rows of weight zero are ignored.

    Returns
    -------
    ndarray, shape (bins - 1,), or empty for a constant column

    Examples
    --------
    >>> equal_width([0, 1, 10], 4).tolist()
    [2.5, 5.0, 7.5]
    """
    return width_cuts(observed(values, weights), bins)


def width_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return the cut points of `equal_width`, of a sorted column."""
    checked_bins(bins)
    if not column.low.size or column.low[0] == column.high[-1]:
        return np.empty(0)
    low, high = float(column.low[0]), float(column.high[-1])
    # Halved first, as the distance of two numbers may overflow.
    width = 2 * (high / 2 - low / 2) / bins
    ends = low + 2 * (high / 2 - low / 2) * (np.arange(1, bins) / bins)
    ends = ends[(low <= ends) & (ends < high)]
    # Short decimals near the bounds that leave all values on the same side.
    at = np.searchsorted(column.low, ends, side="right")
    left, right = column.high[at - 1], column.low[np.minimum(at, column.low.size - 1)]
    # Where values next to the bounds are unknown, within a cell, a hundredth of the width is near.
    within = ends < left
    left = np.where(within, np.maximum(column.low[at - 1], ends - width / 2), left)
    right = np.where(within, np.minimum(column.high[at - 1], ends + width / 2), right)
    return np.unique(cuts_between(left, right, ends))


def equal_frequency(values: ArrayLike, bins: int = 10, weights: ArrayLike | None = None) -> Floats:
    """Return the cut points of intervals of about equal weight; equal values stay together.

    The cut point i lies between the two neighbouring values where the cumulative weight is closest
    to i / `bins` of the total. If one value has more than 1 / `bins` of the total weight, there are
    fewer intervals.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    bins : int
    weights : array_like, shape (n,), optional

    Returns
    -------
    ndarray, shape (at most bins - 1,)

    Examples
    --------
    >>> equal_frequency([1, 1, 1, 1, 2, 3, 4, 5], 4).tolist()
    [1.5, 3.5]
    """
    return frequency_cuts(observed(values, weights), bins)


def frequency_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return the cut points of `equal_frequency`, of a sorted column."""
    checked_bins(bins)
    last = np.flatnonzero(column.low[1:] > column.low[:-1])  # last of each value but the maximum
    if not last.size:
        return np.empty(0)
    weight = column.weights
    below = np.cumsum(weight)[last] if weight.size else last + 1.0
    total = weight.sum() if weight.size else float(column.low.size)
    shares = total * np.arange(1, bins) / bins
    right = np.minimum(np.searchsorted(below, shares), last.size - 1)
    left = np.maximum(right - 1, 0)
    # Ties go to the lower cut point; the tolerance is for rounding errors of the shares.
    nearer = below[right] - shares < shares - below[left] - 1e-9 * total
    at = last[np.unique(np.where(nearer, right, left))]
    return cuts_between(column.high[at], column.low[at + 1])
