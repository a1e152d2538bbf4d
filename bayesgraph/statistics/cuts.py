"""Elementary bins of a column, and cut points with few digits, for all discretisers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.statistics import cut_kernels

# --------------- Elementary bins of a column, and cut points with few digits, for all discretisers


# Maximum distance of a rounded cut point from the middle between two values, as a share of their
# distance.
_PLAY = 0.01


@dataclass(frozen=True)
class Bins:
    """Elementary bins of a column: the boundaries between them are the candidate cut points.

    Attributes
    ----------
    low, high : ndarray, shape (B,)
        Minimum and maximum value of each bin.
    sums : ndarray, shape (B + 1, n_classes)
        Class weights of all bins before each bin; the last row is the total.
    """

    low: Floats
    high: Floats
    sums: Floats

    @property
    def total(self) -> float:
        """Total weight of all rows."""
        return float(self.sums[-1].sum())

    def cuts(self, begins: NDArray[np.bool_]) -> Floats:
        """Return the cut points of a partition, given a mask of the bins that begin an interval."""
        at = np.flatnonzero(begins)[1:]
        return cuts_between(self.high[at - 1], self.low[at])


@dataclass(frozen=True, eq=False)
class SortedColumn:
    """The observed values of a column in ascending order: of its rows, or of cells of rows.

    A cell is a set of rows of one class whose values lie in a range that no other value is in.

    Attributes
    ----------
    low, high : ndarray, shape (n,)
        Minimum and maximum value of each cell; both are the value of a row. Of two cells with
        different minima, all values of one are below those of the other.
    weights : ndarray, shape (n,) or (0,)
        Empty if each is one row of weight 1.
    classes : ndarray of integers, shape (n,) or (0,)
        Codes below `n_classes`; empty if there are none.
    n_classes : int
    """

    low: Floats
    high: Floats
    weights: Floats
    classes: NDArray[np.signedinteger]
    n_classes: int

    def part(self, begin: int, end: int) -> SortedColumn:
        """Return the entries from `begin` to below `end`."""
        rows = slice(begin, end)
        low, high = self.low[rows], self.high[rows]
        return SortedColumn(low, high, self.weights[rows], self.classes[rows], self.n_classes)

    @classmethod
    def of_counts(cls, low: Floats, high: Floats, counts: Floats) -> SortedColumn:
        """Return the column of a histogram.

        Parameters
        ----------
        low, high : ndarray, shape (n_bins,)
            Minimum and maximum value in each bin, in ascending order.
        counts : ndarray, shape (n_bins, n_classes)
            Class weights; bins without weight are left out.
        """
        bins, classes = np.nonzero(counts)
        return cls(low[bins], high[bins], counts[bins, classes], classes, counts.shape[1])


def observed(
    values: ArrayLike,
    weights: ArrayLike | None,
    classes: ArrayLike | None = None,
    n_classes: int = 1,
) -> SortedColumn:
    """Return the observed values of rows in ascending order, with their weights and classes.

    Rows with a missing value (NaN) or weight zero are left out.

    Raises
    ------
    DataError
        If a value is infinite, a class is not below `n_classes`, or arrays differ in length.
    """
    numbers = np.asarray(values, dtype=np.float64)
    weight = np.empty(0) if weights is None else np.asarray(weights, dtype=np.float64)
    code = np.empty(0, dtype=np.int64) if classes is None else np.asarray(classes)
    for other, what in ((weight, "weights"), (code, "classes")):
        if other.size not in (0, numbers.size) or other.ndim != 1 or numbers.ndim != 1:
            raise DataError(
                f"Expected as many {what} as values, each in an array of one axis; got shapes "
                f"{other.shape} and {numbers.shape}."
            )
    if np.isinf(numbers).any():
        raise DataError("Infinite values have no interval; replace them by a number or by NaN.")
    keep = ~np.isnan(numbers)
    if weight.size:
        keep &= weight > 0
    # The order of equal values affects only sums of weights, by rounding.
    order = np.argsort(numbers, kind="stable" if weight.size else None)
    if not keep.all():
        order = order[keep[order]]
    weight = weight[order] if weight.size else weight
    code = code[order] if code.size else code
    if code.size and (code.min() < 0 or code.max() >= n_classes):
        raise DataError(
            f"Class codes go from 0 to {n_classes - 1}; got {code.min()} to {code.max()}."
        )
    # Adding zero turns -0.0 into 0.0, so that no cut point is written "-0.0".
    ascending = np.asarray(numbers[order] + 0.0)
    return SortedColumn(ascending, ascending, weight, code, n_classes)


def bins_of(column: SortedColumn, coarse: Floats | None = None) -> Bins:
    """Return the elementary bins of a column: distinct values, or runs of values of one class.

    The best partition by the criterion of Fayyad and Irani or of Boulle never cuts a run of values
    whose rows all have one class (Fayyad and Irani 1992; Boulle 2006).

    Parameters
    ----------
    column : SortedColumn
    coarse : ndarray, shape (n,), optional
        The ascending index of each entry's bin in a coarser binning, by default one bin for each
        value. Boundaries of elementary bins lie only where consecutive entries differ.
    """
    keys = column.low if coarse is None else coarse
    first, sums = cut_kernels.elementary_bins(
        keys, column.classes, column.weights, column.n_classes
    )
    ends = np.append(first, column.low.size)[1:] - 1
    return Bins(column.low[first], column.high[ends], sums)


def histogram_edges(column: SortedColumn, maximum: int) -> Floats:
    """Return the distinct values of a column, or at most `maximum` of them in its quantiles.

    Half of the edges have the same weight of rows between them, the other half the same weight of
    each class: a rare class is cut as finely as a frequent one.

    Parameters
    ----------
    column : SortedColumn
        Of rows with classes.
    maximum : int
    """
    ascending = column.low
    distinct = ascending[np.append(True, ascending[1:] > ascending[:-1])[: ascending.size]]
    if distinct.size <= maximum:
        return np.asarray(distinct)
    weight = column.weights if column.weights.size else np.ones(ascending.size)
    of_class = np.bincount(column.classes, weight, minlength=column.n_classes)
    shares = weight / weight.sum() + weight / (of_class[column.classes] * (of_class > 0).sum())
    below = np.cumsum(shares)
    wanted = below[-1] * (np.arange(maximum) + 0.5) / maximum
    return np.unique(ascending[np.minimum(np.searchsorted(below, wanted), ascending.size - 1)])


def cuts_between(low: ArrayLike, high: ArrayLike, middle: ArrayLike | None = None) -> Floats:
    """Return cut points with few digits between pairs of numbers, about halfway: low <= cut < high.

    Parameters
    ----------
    low, high : array_like, shape (n,)
        Finite, low < high.
    middle : array_like, shape (n,), optional
        Wanted positions of the cut points, instead of halfway.

    Returns
    -------
    ndarray, shape (n,)
        Decimals with few digits. They differ from the wanted positions by at most a hundredth of
        the distance ``high - low``, if such a decimal exists.

    Examples
    --------
    >>> cuts_between([0.1 + 0.2, 1.0], [0.4, 4.0]).tolist()
    [0.35, 2.5]
    """
    a, b = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    # Halved first, as the distance of two numbers may overflow.
    wanted = a + (b / 2 - a / 2) if middle is None else np.asarray(middle, dtype=np.float64)
    play = _PLAY * (b / 2 - a / 2) * 2
    cuts = np.where((a <= wanted) & (wanted < b), wanted, a)
    bounds = np.maximum(a, wanted - play), np.minimum(b, wanted + play)
    for i, (number, first, last, end) in enumerate(zip(wanted.tolist(), *bounds, b, strict=True)):
        decimals = (float(f"{number:.{digits}g}") for digits in range(1, 17))
        near = (short for short in decimals if first <= short <= last and short < end)
        cuts[i] = next(near, cuts[i])
    # Adding zero turns -0.0 into 0.0.
    return np.asarray(cuts + 0.0)


def round_between(low: ArrayLike, high: ArrayLike) -> Floats:
    """Return cut points with as few digits as possible between pairs of numbers: low <= cut < high.

    Multiples of higher powers of ten come first, then multiples of 5 and of 2 times a power of ten;
    among several the one nearest to the middle is taken.

    Parameters
    ----------
    low, high : array_like, shape (n,)
        Finite, low < high.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> round_between([29.0, 61.2, -3.0, 0.2345], [31.0, 67.9, 5.0, 0.2361]).tolist()
    [30.0, 65.0, 0.0, 0.235]
    """
    a, b = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    # Slightly below the middle: of two numbers equally near the lower one, as `high` is excluded.
    wanted = a + (b / 2 - a / 2) * (1.0 - 1e-9)
    cuts = cuts_between(a, b)
    largest = np.maximum(np.maximum(np.abs(a), np.abs(b)), _TINY)
    places = -2 - np.floor(np.log10(largest)).astype(np.int64)
    left = np.arange(a.size)
    for _ in range(_MAX_DIGITS):
        for unit in (5.0, 2.0, 1.0):
            short = _multiples(wanted[left], places[left], unit)
            good = (a[left] <= short) & (short < b[left])
            cuts[left[good]] = short[good]
            left = left[~good]
        if not left.size:
            break
        places += 1
    return np.asarray(cuts + 0.0)


# Number of digits that are tried, and maximum number of places before and after the point.
_MAX_DIGITS, _MAX_PLACES, _TINY = 19, 300, 1e-300
# Powers of ten that are exact in floating point.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])


def _multiples(numbers: Floats, places: NDArray[np.int64], unit: float = 1.0) -> Floats:
    """Return numbers rounded to multiples of unit / 10**places: the floats nearest to decimals."""
    far = np.abs(places) >= len(_POWERS)
    scale = _POWERS[np.where(far, 0, np.abs(places))]
    up = places >= 0
    given = np.where(up, numbers * np.where(up, scale, 1.0), numbers / scale)
    whole = np.rint(given / unit) * unit
    found = np.where(up, whole / scale, whole * np.where(up, 1.0, scale))
    for at in np.flatnonzero(far & (np.abs(places) <= _MAX_PLACES)).tolist():
        count = round(float(numbers[at]) * 10.0 ** int(places[at]) / unit) * int(unit)
        found[at] = float(f"{count}e{-int(places[at])}")
    return np.asarray(found)


# ---------- Unsupervised discretisation: cut points of intervals of equal width or equal frequency


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


def width_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return the cut points of intervals of equal width between the minimum and the maximum.

    Parameters
    ----------
    column : SortedColumn
    bins : int

    Returns
    -------
    ndarray, shape (bins - 1,), or empty for a constant column
    """
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


def frequency_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return the cut points of intervals of about equal weight; equal values stay together.

    The cut point i lies between the two neighbouring values where the cumulative weight is closest
    to i / `bins` of the total. If one value has more than 1 / `bins` of the total weight, there are
    fewer intervals.

    Parameters
    ----------
    column : SortedColumn
    bins : int

    Returns
    -------
    ndarray, shape (at most bins - 1,)
    """
    last, _, at = _quantiles(column, bins)
    return cuts_between(column.high[last[at]], column.low[last[at] + 1])


def round_frequency_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return cut points of intervals of about equal weight that have as few digits as possible.

    A cut point may be anywhere between two neighbouring values, and its cumulative weight may
    differ from that of the cut point of `frequency_cuts` by a quarter of an interval's.
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


# -------------- Cut points by minimum description length: recursive splits (Fayyad and Irani 1993)


def mdlp_cuts(column: SortedColumn) -> Floats:
    """Return the cut points of Fayyad and Irani's recursive minimal entropy partitioning.

    A set S of N rows is split at the boundary of minimum class entropy if the gain exceeds
    log2(N - 1)/N + [log2(3^k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2))]/N, where k, k1, k2 are
    the numbers of classes in S and its parts; the parts are then split in the same way. Ties go to
    the lowest cut point.

    Parameters
    ----------
    column : SortedColumn

    Returns
    -------
    ndarray, shape (number of cuts,)
        Cut points in ascending order.

    References
    ----------
    U. Fayyad and K. Irani: Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI 1993, section 3.
    """
    bins = bins_of(column)
    if len(bins.low) < 2:
        return np.empty(0)
    return bins.cuts(cut_kernels.split_recursively(bins.sums, 0.0))


def split_intervals(column: SortedColumn, cuts: Floats) -> Floats:
    """Return cut points with further ones, at which the classes change within an interval.

    An interval is split where `mdlp_cuts` would split it if the cut point were described among all
    rows of the column, not only those of the interval: only where classes change abruptly. The
    further cut points have as few digits as possible.

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
            at = np.flatnonzero(cut_kernels.split_recursively(bins.sums, total))[1:]
            found.append(round_between(bins.high[at - 1], bins.low[at]))
    return np.unique(np.concatenate(found))
