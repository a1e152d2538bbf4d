"""Elementary bins of a column, and cut points with few digits, for all discretisers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.discretize import kernels
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats

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
    first, sums = kernels.elementary_bins(keys, column.classes, column.weights, column.n_classes)
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
    left = np.arange(a.size)
    for digits in range(1, 17):
        if not left.size:
            break
        short = _rounded(wanted[left], digits)
        good = (np.abs(short - wanted[left]) <= play[left]) & (a[left] <= short) & (short < b[left])
        cuts[left[good]] = short[good]
        left = left[~good]
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


def _rounded(numbers: Floats, digits: int) -> Floats:
    """Return numbers rounded to about `digits` significant digits.

    Each result is the float nearest to a decimal: it is the quotient or the product of an integer
    and a power of ten, both of which are exact, so that only one rounding occurs.
    """
    size = np.abs(np.where(numbers == 0, 1.0, numbers))
    places = digits - 1 - np.floor(np.log10(size)).astype(np.int64)
    far = np.abs(places) >= len(_POWERS)
    found = _multiples(numbers, np.where(far, 0, places))
    found[far] = [float(f"{number:.{digits}g}") for number in numbers[far].tolist()]
    return np.asarray(found)


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
