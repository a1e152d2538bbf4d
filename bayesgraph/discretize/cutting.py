"""Elementary bins of a column, and short decimals as cut points, for all discretisers."""

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


def observed(
    values: ArrayLike, weights: ArrayLike | None, classes: ArrayLike | None = None
) -> tuple[Floats, Floats, NDArray[np.signedinteger]]:
    """Return the ascending values, their weights (empty if all are 1), and their classes.

    Rows with a missing value (NaN) or weight zero are left out.

    Raises
    ------
    DataError
        If a value is infinite, or arrays differ in length.
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
    # Adding zero turns -0.0 into 0.0, so that no cut point is written "-0.0".
    return np.asarray(numbers[order] + 0.0), weight, code[order] if code.size else code


def make_bins(
    values: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> Bins:
    """Return the elementary bins of a column: distinct values, joined in runs of one class.

    The best partition by the criterion of Fayyad and Irani or of Boulle never cuts a run of values
    whose rows all have one class (Fayyad and Irani 1992; Boulle 2006).

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    classes : array_like of integers, shape (n,)
        Codes below `n_classes`.
    weights : array_like, shape (n,), optional
    """
    ascending, weight, code = observed(values, weights, classes)
    if code.size and (code.min() < 0 or code.max() >= n_classes):
        raise DataError(
            f"Class codes go from 0 to {n_classes - 1}; got {code.min()} to {code.max()}."
        )
    return bins_of(ascending, code, n_classes, weight, ascending)


def bins_of(
    ascending: Floats,
    classes: NDArray[np.signedinteger],
    n_classes: int,
    weights: Floats,
    coarse: Floats,
) -> Bins:
    """Return the elementary bins of rows in ascending order.

    Parameters
    ----------
    ascending, classes, weights
        As `observed` returns them.
    n_classes : int
    coarse : ndarray, shape (n,)
        Values, or ascending indices of coarser bins: boundaries lie where they differ.
    """
    first, sums = kernels.elementary_bins(coarse, classes, weights, n_classes)
    low = ascending[first]
    high = ascending[np.append(first, ascending.size)[1:] - 1]
    return Bins(low, high, sums)


def cuts_between(low: ArrayLike, high: ArrayLike, middle: ArrayLike | None = None) -> Floats:
    """Return short decimals that separate pairs of numbers: low <= cut < high, about halfway.

    Parameters
    ----------
    low, high : array_like, shape (n,)
        Finite, low < high.
    middle : array_like, shape (n,), optional
        Wanted positions of the cut points, instead of halfway.

    Returns
    -------
    ndarray, shape (n,)
        With few digits and within a hundredth of the distance from the middle, if such a number
        exists.

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
    scale = _POWERS[np.where(far, 0, np.abs(places))]
    up = places >= 0
    whole = np.rint(np.where(up, numbers * np.where(up, scale, 1.0), numbers / scale))
    found = np.where(up, whole / scale, whole * np.where(up, 1.0, scale))
    found[far] = [float(f"{number:.{digits}g}") for number in numbers[far].tolist()]
    return np.asarray(found)
