"""Unsupervised discretisation: cut points of intervals of equal width or equal frequency."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.discretize.cutting import SortedColumn, cuts_between, observed, round_between
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
    last, _, at = _quantiles(column, bins)
    return cuts_between(column.high[last[at]], column.low[last[at] + 1])


def round_frequency_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return cut points of intervals of about equal weight that have as few digits as possible.

    A cut point may be anywhere between two neighbouring values, and its cumulative weight may
    differ from that of the cut point of `equal_frequency` by a quarter of an interval's.
    """
    last, below, at = _quantiles(column, bins)
    if not at.size:
        return np.empty(0)
    play = (1.0 + 1e-9) * below[-1] / (4.0 * bins)
    first = np.searchsorted(below, below[at] - play)
    end = np.searchsorted(below, below[at] + play, side="right") - 1
    ends = column.high[last]
    cuts = round_between(ends[first], column.low[last[end] + 1])
    # Two cut points between the same values make an interval without rows.
    kept = np.unique(np.searchsorted(ends, cuts, side="right"), return_index=True)[1]
    return np.asarray(cuts[kept])


def _quantiles(
    column: SortedColumn, bins: int
) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp]]:
    """Return the possible places of cut points, and which of them are nearest to quantiles.

    Returns
    -------
    last : ndarray of int, shape (n,)
        Index of the last entry of each value but the maximum.
    below : ndarray, shape (n,)
        Weight of the entries up to each of these.
    at : ndarray of int, shape (at most bins - 1,)
        Ascending indices in `last`, at which the weight is nearest to a share i / `bins`.
    """
    checked_bins(bins)
    last = np.flatnonzero(column.low[1:] > column.low[:-1])
    weight = column.weights
    below = np.asarray(np.cumsum(weight)[last] if weight.size else last + 1.0, dtype=np.float64)
    if not last.size:
        return last, below, last
    total = weight.sum() if weight.size else float(column.low.size)
    shares = total * np.arange(1, bins) / bins
    right = np.minimum(np.searchsorted(below, shares), last.size - 1)
    left = np.maximum(right - 1, 0)
    # Ties go to the lower cut point; the tolerance is for rounding errors of the shares.
    nearer = below[right] - shares < shares - below[left] - 1e-9 * total
    return last, below, np.unique(np.where(nearer, right, left))
