"""Elementary bins of a column, and cut points with few digits, for all discretisers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, gammaln, log_of, real_numbers, whole_number
from bayesgraph.core.errors import DataError
from bayesgraph.core.evidence import arranged
from bayesgraph.core.variables import Binned, Continuous, Discrete, Variable
from bayesgraph.statistics import cut_kernels
from bayesgraph.tables import Codes, Table

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
        # No cut comes before the first interval.
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
    numbers = real_numbers(values)
    weight = np.empty(0) if weights is None else real_numbers(weights)
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
    # The order of equal values affects only sums of weights, by rounding: without weights it need
    # not be stable, which is faster.
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
    # The last entry of each bin precedes the first one of the next.
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
    # The first of each run of equal values; the mask of an empty column is empty.
    distinct = ascending[np.append(True, ascending[1:] > ascending[:-1])[: ascending.size]]
    if distinct.size <= maximum:
        return np.asarray(distinct)
    weight = column.weights if column.weights.size else np.ones(ascending.size)
    of_class = np.bincount(column.classes, weight, minlength=column.n_classes)
    # Of each row, its share of all rows plus its share of its class, divided by the number of
    # classes that have rows: both sum to 1.
    shares = weight / weight.sum() + weight / (of_class[column.classes] * (of_class > 0).sum())
    below = np.cumsum(shares)
    # The middles of `maximum` equal parts of all shares.
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
    # The least number of digits whose decimals lie so densely that one may be near: row i of
    # `scaled` is wanted[i] with 1 to 16 digits before the point. Of numbers near 0 it is one.
    size = np.abs(wanted)
    magnitude = np.floor(np.log10(np.maximum(size, _TINY)))
    unit = 10.0**-magnitude
    scaled = (wanted * unit)[:, None] * _POWERS[:16]
    # How far such a decimal may be away: the play, and a little for rounding.
    reach = ((np.minimum(play, size) + 1e-14 * size) * unit)[:, None] * _POWERS[:16]
    fewest = (np.abs(scaled - np.rint(scaled)) <= reach).argmax(axis=1) * (size >= _TINY) + 1
    # Ends of the range for a short decimal, both included, and `high`, which is not.
    bounds = np.maximum(a, wanted - play), np.minimum(b, wanted + play), b
    # Most times that decimal fits. A product with a power of ten tells it but near a tie, with many
    # digits, and where the power is not exact; of few cuts it takes longer than what follows.
    fits = np.zeros(wanted.size, dtype=np.bool_)
    if wanted.size > _FEW_CUTS:
        places = (fewest - 1 - magnitude).astype(np.int64)
        short = _multiples(wanted, np.clip(places, 1 - len(_POWERS), len(_POWERS) - 1))
        from_tie = np.abs(np.take_along_axis(scaled, fewest[:, None] - 1, 1)[:, 0] % 1.0 - 0.5)
        fits = (bounds[0] <= short) & (short <= bounds[1]) & (short < b)
        fits &= (from_tie > 1e-6) & (fewest < 10) & (np.abs(places) < len(_POWERS))
        cuts[fits] = short[fits]
    # A float has 17 digits at most; where no shorter decimal fits, the wanted position stays.
    left = np.flatnonzero(~fits)
    rows = zip(left.tolist(), *(v[left].tolist() for v in (wanted, fewest, *bounds)), strict=True)
    for i, number, at_least, low_end, high_end, end in rows:
        for digits in range(at_least, 17):
            decimal = float(f"{number:.{digits}g}")
            if low_end <= decimal <= high_end and decimal < end:
                cuts[i] = decimal
                break
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
    # Digits after the point, or before it if negative; the first unit is greater than all numbers.
    places = -2 - np.floor(np.log10(largest)).astype(np.int64)
    # Indices of the pairs without a cut point so far.
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
_FEW_CUTS = 32
# Powers of ten that are exact in floating point.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])


def _multiples(numbers: Floats, places: NDArray[np.int64], unit: float = 1.0) -> Floats:
    """Return numbers rounded to multiples of unit / 10**places: the floats nearest to decimals."""
    # Powers of ten that are not exact: there a decimal is written out and read again.
    far = np.abs(places) >= len(_POWERS)
    scale = _POWERS[np.where(far, 0, np.abs(places))]
    # Multiplied or divided by an exact power, as negative powers of ten are not exact.
    up = places >= 0
    scaled = np.where(up, numbers * np.where(up, scale, 1.0), numbers / scale)
    whole = np.rint(scaled / unit) * unit
    rounded = np.where(up, whole / scale, whole * np.where(up, 1.0, scale))
    for at in np.flatnonzero(far & (np.abs(places) <= _MAX_PLACES)).tolist():
        # The multiple as a whole number of 10**-places.
        count = round(float(numbers[at]) * 10.0 ** int(places[at]) / unit) * int(unit)
        rounded[at] = float(f"{count}e{-int(places[at])}")
    return np.asarray(rounded)


# ---------- Unsupervised discretisation: cut points of intervals of equal width or equal frequency


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
    whole_number("bins=", "intervals", bins, 1)
    if not column.low.size or column.low[0] == column.high[-1]:
        return np.empty(0)
    low, high = float(column.low[0]), float(column.high[-1])
    # Halved first, as the distance of two numbers may overflow.
    width = 2 * (high / 2 - low / 2) / bins
    ends = low + 2 * (high / 2 - low / 2) * (np.arange(1, bins) / bins)
    ends = ends[(low <= ends) & (ends < high)]
    # Short decimals near the bounds that leave all values on the same side: between the last value
    # below a bound and the first one above it.
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
    last, _, at = quantiles(column, bins)
    return cuts_between(column.high[last[at]], column.low[last[at] + 1])


def round_frequency_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return cut points of intervals of about equal weight that have as few digits as possible.

    A cut point may be anywhere between two neighbouring values, and its cumulative weight may
    differ from that of the cut point of `frequency_cuts` by a quarter of an interval's.
    """
    last, below, at = quantiles(column, bins)
    if not at.size:
        return np.empty(0)
    # A quarter of an interval's weight (of all values but the maximum), and a little for rounding.
    # Then the first and the last place whose weight differs by no more.
    play = (1.0 + 1e-9) * below[-1] / (4.0 * bins)
    first = np.searchsorted(below, below[at] - play)
    end = np.searchsorted(below, below[at] + play, side="right") - 1
    ends = column.high[last]
    cuts = round_between(ends[first], column.low[last[end] + 1])
    # Two cut points between the same values make an interval without rows.
    kept = np.unique(np.searchsorted(ends, cuts, side="right"), return_index=True)[1]
    return np.asarray(cuts[kept])


def quantiles(column: SortedColumn, bins: int) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp]]:
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
    whole_number("bins=", "intervals", bins, 1)
    last = np.flatnonzero(column.low[1:] > column.low[:-1])
    weight = column.weights
    below = np.asarray(np.cumsum(weight)[last] if weight.size else last + 1.0, dtype=np.float64)
    if not last.size:
        return last, below, last
    total = weight.sum() if weight.size else float(column.low.size)
    levels = total * np.arange(1, bins) / bins
    # The places next to each level: the first whose weight reaches it, and the one before.
    right = np.minimum(np.searchsorted(below, levels), last.size - 1)
    left = np.maximum(right - 1, 0)
    # Ties go to the lower cut point; the tolerance is for rounding errors of the shares.
    nearer = below[right] - levels < levels - below[left] - 1e-9 * total
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
    # 0.0: N in the criterion is the number of rows of each set itself.
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
    n = column.low.size
    ends = np.concatenate([[0], np.searchsorted(column.low, cuts, side="right"), [n]])
    rows = column.low, column.classes, column.weights, column.n_classes
    # Rows before which an interval is split: between the largest value below and theirs.
    at = np.flatnonzero(cut_kernels.splits_of_parts(ends, *rows, total))
    return np.unique(np.concatenate([cuts, round_between(column.high[at - 1], column.low[at])]))


# ---------- Discretisation into the intervals of highest posterior probability: MODL (Boulle 2006)


# Maximum count whose factorial is taken from a table.
_TABLE = 1 << 22
# Maximum number of elementary bins that are merged individually.
_MAX_BINS = 1 << 14


class Intervals(NamedTuple):
    """A partition of a column into intervals, with its description length (cost) in nats.

    Attributes
    ----------
    cuts : ndarray, shape (number of intervals - 1,)
        Cut points in ascending order.
    """

    cuts: Floats
    cost: float


def modl_intervals(column: SortedColumn) -> Intervals:
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
    column : SortedColumn

    References
    ----------
    M. Boulle: MODL: a Bayes optimal discretization method for continuous attributes. Machine
    Learning 65 (2006), 131-165.
    """
    bins = bins_of(column)
    return best_intervals(bins, published_prior(bins.total, len(bins.low)))


def granular_intervals(column: SortedColumn, *, n_columns: int = 1) -> Intervals:
    """Return the intervals of lowest cost by the criterion of Khiops, as found by a search.

    The criterion is that of `modl_intervals` with another prior, which includes the precision of
    the cut points. For symbols not defined here see there.

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
    column : SortedColumn
    n_columns : int
        Number of columns among which this column is selected, for the prior.

    References
    ----------
    M. Boulle: Khiops, the criterion of its release 11 (the preprocessing part of its documents).
    """
    size = column.low.size
    below = np.cumsum(column.weights) if column.weights.size else np.arange(1.0, size + 1)
    if size < 2 or column.low[0] == column.low[-1]:
        return modl_intervals(column)
    total = float(below[-1])
    best = None
    finest = max(1, math.ceil(math.log2(max(total, 2.0))))
    for granularity in range(1, finest + 1):
        bins = bins_of(column, _equal_bins(column.low, below, 2**granularity))
        prior = _granular_prior(len(bins.low), total, granularity, finest, n_columns)
        intervals = best_intervals(bins, prior)
        if best is None or intervals.cost < best.cost - 1e-6:  # beyond rounding
            best = intervals
    assert best is not None  # the loop has at least one granularity
    return best


def _equal_bins(ascending: Floats, below: Floats, maximum: int) -> Floats:
    """Return the index (from 1) of the bin of each row, for at most `maximum` bins of equal weight.

    Values ascend, and equal values share a bin; `below` holds the cumulative weights of the rows.
    """
    # The first and the last row of each value, and the weight of the rows before it.
    starts = np.flatnonzero(np.append(True, ascending[1:] > ascending[:-1]))
    ends = np.append(starts[1:], ascending.size) - 1
    before = np.append(0.0, below[ends[:-1]])
    # A value belongs to the bin that contains the middle of its rows, on the scale of weights.
    middle = before + (below[ends] - before) / 2
    place = np.floor(middle * maximum / below[-1])
    # Bins without values get no number.
    rank = np.cumsum(np.append(True, place[1:] > place[:-1]))
    return np.repeat(rank.astype(np.float64), ends - starts + 1)


def _granular_prior(
    maximum: int, total: float, granularity: int, last: int, n_columns: int
) -> Floats:
    """Return the prior cost of each number of intervals, from 0 (infinite) to `maximum`.

    It consists of the terms of the cost in `granular_intervals` before the class counts, for one
    granularity g. `total` is N, and `last` the largest granularity.
    """
    # V bins of equal frequency; several cuts need two.
    n_bins = max(2.0, min(2.0**granularity, total))
    cuts = np.arange(1, maximum)
    several = (
        math.log(n_columns)
        + universal_code(np.array([granularity]), last)[0]
        + universal_code(cuts, max(n_bins - 1, maximum - 1))
        + cuts * math.log(n_bins - 1)
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
    return np.asarray(np.log(_normaliser(highest)) + math.log(2.0) * log_star(numbers))


@lru_cache(maxsize=1024)
def _normaliser(highest: int) -> float:
    """Return the sum of ``2 ** -log_star(n)`` over n from 1 to `highest`; see `universal_code`.

    From 2^16 on it is an integral, which the logarithm to the base 2, taken five times, gives up to
    the factor ln(2)^5.
    """
    summed = min(highest, 1 << 16)
    total = float(np.sum(2.0 ** -log_star(np.arange(1, summed + 1))))
    ends = np.array([summed + 0.5, highest + 0.5])
    for _ in range(5 if highest > summed else 0):
        ends = np.log2(ends)
    return total + math.log(2.0) ** 5 * float(ends[1] - ends[0])


def log_star(numbers: ArrayLike) -> Floats:
    """Return the sum of the positive terms log n, log log n, ... of each number n, in bits."""
    total = np.zeros(np.shape(numbers))
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
    # ln C(N + I - 1, I - 1) by log factorials.
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
        return Intervals(np.empty(0), 0.0)
    table = factorials(bins.sums, bins.total, n_classes)
    begins = _greedy(bins, table, prior)
    cut_kernels.improve(bins.sums, table, prior, begins)
    ends = np.append(np.flatnonzero(begins), n_bins)
    parts = [cut_kernels.interval_cost(bins.sums, table, a, b) for a, b in pairwise(ends.tolist())]
    return Intervals(bins.cuts(begins), float(sum(parts) + prior[len(parts)]))


def _greedy(bins: Bins, table: Floats, prior: Floats) -> NDArray[np.bool_]:
    """Return a mask of the bins that begin an interval after greedy merging.

    `table` holds logs of factorials, and `prior` the cost of each number of intervals. If there are
    very many bins, they are first merged into bins of equal weight; the improvement that follows
    searches for cut points among all of the original bins.
    """
    if len(bins.low) <= _MAX_BINS:
        return np.asarray(cut_kernels.merge_greedily(bins.sums, table, prior))
    # Weight before each bin; its part among `_MAX_BINS` equal parts; the first bin of each part.
    below = bins.sums.sum(axis=1)
    place = np.floor(below[:-1] * (_MAX_BINS / below[-1]))
    starts = np.flatnonzero(np.append(True, place[1:] > place[:-1]))
    coarse = bins.sums[np.append(starts, len(bins.low))]
    merged = cut_kernels.merge_greedily(coarse, table, prior[: len(starts) + 1])
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


# ----------------- Groups of categories with the highest posterior probability: MODL (Boulle 2005)


# Maximum number of values that the search treats individually, as it compares all pairs. Of more
# values, the rarest are first put together by their majority class.
_MAX_VALUES = 1000
# Number of partial sums of the series of 1/e that are computed: factorials up to 169! are floats.
# Long before, the logs of the sums are -1 but for rounding.
_SERIES = 170


class Groups(NamedTuple):
    """A partition of the values of a column into groups, with its description length in nats.

    Attributes
    ----------
    groups : list of lists of int
        Codes of the values that have rows, ascending in each group; groups are ordered by their
        first value.
    """

    groups: list[list[int]]
    cost: float


def modl_groups(
    codes: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> Groups:
    """Return the MODL grouping of a column's values: the groups of lowest cost that a search finds.

    The search is greedy, followed by local improvement. The cost is a description length in nats:
    the negative log posterior probability of the groups up to a constant. K groups of V values with
    J classes cost (Boulle 2005, Theorem 1)

        ln V + ln B(V, K) + sum_k ln C(n_k + J - 1, J - 1) + sum_k ln(n_k! / prod_j n_kj!),

    where B(V, K) is the number of partitions of V values into at most K groups, n_k the number of
    rows in group k, n_kj that of class j among them, and C the binomial coefficient.

    Values whose rows all have the same class are always in one group (Theorem 2). For two classes,
    only groups of values that are consecutive when sorted by P(class | value) are tried (Conjecture
    1). For more classes, the two groups whose merge is cheapest are merged until one group is left,
    and the best grouping on the way is improved by moving single values.

    Parameters
    ----------
    codes : array_like of integers, shape (n,)
        Codes of the values; -1 where missing.
    classes : array_like of integers, shape (n,)
        Codes below `n_classes`.
    n_classes : int
    weights : array_like, shape (n,), optional

    References
    ----------
    M. Boulle: A Bayes optimal approach for partitioning the values of categorical attributes.
    Journal of Machine Learning Research 6 (2005), 1431-1452.

    Examples
    --------
    >>> modl_groups([0] * 9 + [1] * 9 + [2] * 9, [0] * 9 + [1] * 9 + [0] * 9, 2).groups
    [[0, 2], [1]]
    """
    return best_groups(value_counts(codes, classes, n_classes, weights))


def best_groups(counts: Floats) -> Groups:
    """Return the groups that `modl_groups` finds, of class weights of values (V, n_classes)."""
    present = np.flatnonzero(counts.sum(axis=1) > 0)
    if not present.size:
        return Groups([], 0.0)
    units, unit_of = _grouped(counts[present], _units_of(counts[present]))
    log_prior = grouping_prior(present.size, len(units))
    group, cost = _searched(units, log_prior)
    # Groups in the order of their first value; `group` has the units, group[unit_of] the values.
    _, first_value = np.unique(group[unit_of], return_index=True)
    labels = group[unit_of][np.sort(first_value)]
    return Groups([present[group[unit_of] == label].tolist() for label in labels], cost)


def value_counts(
    codes: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None
) -> Floats:
    """Return the class weights of each value of a column, shape (V, n_classes)."""
    value, label = np.asarray(codes, dtype=np.int64), np.asarray(classes, dtype=np.int64)
    if value.shape != label.shape or value.ndim != 1:
        raise DataError(
            f"Expected a class for each value; got shapes {value.shape}, {label.shape}."
        )
    if label.min(initial=0) < 0 or label.max(initial=0) >= n_classes:
        raise DataError(
            f"Classes are codes from 0 to {n_classes - 1}; got {label.min()} to {label.max()}."
        )
    there = value >= 0  # -1 is missing
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)[there]
    size = int(value.max(initial=-1)) + 1
    cells = value[there] * n_classes + label[there]
    flat = np.bincount(cells, weight, minlength=size * n_classes)
    return flat.reshape(size, n_classes).astype(np.float64)


def _units_of(counts: Floats) -> NDArray[np.int64]:
    """Assign the values of a column to units, which the search keeps together.

    A unit is a single value, or all values whose rows all have one and the same class. If there are
    too many units, the rarest values join the unit of their majority class. `counts` holds the
    class weights of each value; the result is a number for each value, that of its unit.
    """
    n_values, n_classes = counts.shape
    majority = counts.argmax(axis=1)
    # Values that join the unit of their class, and those that are units of their own.
    joins_class = (counts > 0).sum(axis=1) == 1
    single = np.flatnonzero(~joins_class)
    if single.size > _MAX_VALUES:
        # Among equally rare values, the last come first.
        rarest = np.lexsort((-single, counts[single].sum(axis=1)))
        joins_class[single[rarest[: single.size - _MAX_VALUES]]] = True
    # Units of classes have the keys below n_classes, and single values those from there on.
    return np.asarray(np.where(joins_class, majority, n_classes + np.arange(n_values)))


def grouping_prior(n_values: int, maximum: int) -> Floats:
    """Return the prior cost ln V + ln B(V, K) of K groups, for K from 0 (infinite) to `maximum`.

    B(V, K) = sum_{i=1..K} i^V / i! sum_{j=0..K-i} (-1)^j / j!, whose terms are not negative (from
    the explicit form of the Stirling numbers of the second kind). V is `n_values`.
    """
    i = np.arange(1, maximum + 1)
    powers = n_values * np.log(i) - gammaln(i + 1)
    # The partial sums of the series of 1/e: number m sums the terms j = 0..m.
    j = np.arange(min(maximum, _SERIES))
    partial_sums = np.cumsum((-1.0) ** j / np.exp(gammaln(j + 1)))
    # The exact value of the second is 1 - 1 = 0.
    partial_sums[1:2] = 0.0
    logs = log_of(partial_sums)
    # The log of later ones is that of 1/e.
    series = np.concatenate([logs, np.full(max(0, maximum - len(logs)), -1.0)])
    # ln B(V, K): the term of i has the partial sum up to j = K - i.
    costs = [scipy.special.logsumexp(powers[:k] + series[:k][::-1]) for k in i.tolist()]
    return np.concatenate([[np.inf], np.log(n_values) + np.array(costs)])


def _searched(units: Floats, prior: Floats) -> tuple[NDArray[np.int64], float]:
    """Search for the grouping of minimum cost.

    The result is the group of each unit, and the cost of the grouping.

    Parameters
    ----------
    units : ndarray, shape (n_units, n_classes)
        Class weights of values that stay in one group.
    prior : ndarray
        Cost of each number of groups; see `grouping_prior`.
    """
    n_classes = units.shape[1]
    table = factorials(units, float(units.sum()), n_classes)
    if (units.sum(axis=0) > 0).sum() <= 2:
        # At most two classes: units are sorted by P(class | unit) of one class, and a group is
        # a run of consecutive units, as found by the search for intervals.
        share = units[:, units.sum(axis=0).argmax()] / units.sum(axis=1)
        order = np.argsort(share, kind="stable")
        sums = np.concatenate([np.zeros((1, units.shape[1])), np.cumsum(units[order], axis=0)])
        begins = cut_kernels.merge_greedily(sums, table, prior)
        cut_kernels.improve(sums, table, prior, begins)
        group = np.empty(len(units), dtype=np.int64)
        group[order] = np.cumsum(begins) - 1
    else:
        group = cut_kernels.merge_groups(units, table, prior)
        cut_kernels.move_values(units, table, prior, group)
    cost = _cost(units, group, table, prior)
    while True:
        # After moves of single values, further merges of groups may lower the cost.
        of_groups, group_of = _grouped(units, group)
        merged = cut_kernels.merge_groups(of_groups, table, prior)[group_of]
        cut_kernels.move_values(units, table, prior, merged)
        lower = _cost(units, merged, table, prior)
        if lower >= cost - 1e-6:  # no gain beyond rounding
            break
        group, cost = merged, lower
    return group, cost


def _cost(units: Floats, group: NDArray[np.int64], table: Floats, prior: Floats) -> float:
    """Return the cost of units in groups: that of each group, and that of their number."""
    nothing = np.zeros(units.shape[1])
    parts = [cut_kernels.joined_cost(row, nothing, 1.0, table) for row in _grouped(units, group)[0]]
    return float(sum(parts) + prior[len(parts)])


def _grouped(units: Floats, group: NDArray[np.int64]) -> tuple[Floats, NDArray[np.intp]]:
    """Return the class weights of groups, and the place of the group of each unit among them."""
    labels, group_of = np.unique(group, return_inverse=True)
    sums = np.zeros((len(labels), units.shape[1]))
    np.add.at(sums, group_of, units)
    return sums, group_of


# ---------------------- Discretisation of whole tables: intervals of numbers, groups of categories


def discretized(table: Table, variables: Sequence[Variable]) -> Table:
    """Return a table with some columns replaced by their intervals or groups.

    Parameters
    ----------
    table : Table
    variables : sequence of Variable
        The variables of the new table, in the order of the columns. Each equals the table's
        variable, or replaces it: a Binned a Continuous variable, a Grouped a Discrete variable.
    """
    if tuple(variables) == table.variables:
        return table
    pairs = list(zip(table.variables, variables, strict=True))
    place: dict[Variable, int] = {v: j for j, v in enumerate(table.continuous)}
    discrete = [(old, new) for old, new in pairs if isinstance(new, Discrete)]
    codes = np.empty((table.n_rows, len(discrete)), dtype=arranged(variables).code_type, order="F")
    for j, (old, new) in enumerate(discrete):
        codes[:, j] = _recoded(table, old, new)
    kept = [place[old] for old, new in pairs if isinstance(new, Continuous)]
    values = np.asfortranarray(table.values[:, kept])
    return Table(tuple(variables), codes, values, table.complete, table.counts)


def _recoded(table: Table, old: Variable, new: Discrete) -> Codes:
    """Convert numbers, or codes of the states of `old`, to the codes of `new`, such as groups."""
    codes = table.column(old)
    if isinstance(new, Binned) and isinstance(old, Continuous):
        return new.codes(codes)
    if new == old or not isinstance(old, Discrete):
        return codes
    places = [new.find(state) for state in old.states]
    # The last entry is for missing values, whose code is -1.
    translation = np.array([*(-1 if code is None else code for code in places), -1])
    return np.asarray(translation[codes])
