"""Updates of Greenwald-Khanna quantile summaries, for all features of a table.

A tuple is stored as a row of an array: the tuple's value; the minimum of the values that it counts
(but for those that faded); the weight of the rows equal to the tuple's value (own); the maximum by
which the rank of the value may be higher (delta); and the weight of each class, whose sum is g.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# --------------------------------------- Functions shared by several kinds of summaries of streams


@kernel(interpreted=False)
def faded(weight: float, factor: float, nothing: float) -> float:
    """Return a weight times a factor, or 0 if the product is below `nothing`."""
    left = weight * factor
    return left if left >= nothing else 0.0


# --------------------- Updates of Greenwald-Khanna quantile summaries, for all features of a table


# Columns of a tuple, followed by one column for each class.
VALUE, LOW, OWN, DELTA, GAPS = 0, 1, 2, 3, 4


@kernel(interpreted=False)
def _weight(tuples: Floats, at: int) -> float:
    """Return g, the weight of tuple `at` summed over the classes."""
    weight = 0.0
    for c in range(GAPS, tuples.shape[1]):
        weight += tuples[at, c]
    return weight


@kernel(interpreted=False)
def _merge_in(
    column: Floats,
    order: NDArray[np.int64],
    classes: NDArray[np.signedinteger],
    weights: Floats,
    tuples: Floats,
    entries: Floats,
) -> int:
    """Write a feature's tuples and its new values in ascending order; return how many there are.

    Each new value becomes an entry, which is to be a tuple. A value that equals a tuple's value
    joins its entry, which changes no delta.

    Parameters
    ----------
    column, order, classes, weights
        The new values of the feature; see `absorb_quantiles`.
    tuples : ndarray, shape (size, 4 + n_classes)
        The feature's summary.
    entries : ndarray, shape (>= size + n, 4 + n_classes)
    """
    # The next tuple, the next new value in ascending order, the number of entries so far, and the
    # value of the last one.
    old, new, n_entries, last = 0, 0, 0, -np.inf
    while True:
        # NaN, as missing values are: no new value is left, and all tuples come first.
        x = column[order[new]] if new < len(order) else np.nan
        if old < len(tuples) and not x < tuples[old, VALUE]:
            entries[n_entries] = tuples[old]
            last = tuples[old, VALUE]
            old, n_entries = old + 1, n_entries + 1
            continue
        if np.isnan(x):
            return n_entries
        row = order[new]
        new += 1
        w = weights[row] if len(weights) else 1.0
        if w <= 0.0:
            continue
        # A new value that no tuple and no earlier value has.
        if x != last:
            last = x
            entries[n_entries] = 0.0
            entries[n_entries, VALUE], entries[n_entries, LOW] = x, x
            if old < len(tuples):
                # Beyond the last tuple the rank is known exactly (delta stays 0). The weight in the
                # gap of the next tuple, except that of its own value, may be on either side. No
                # such weight is before the first tuple, unless weights have faded; rounding may
                # make it negative.
                held = _weight(tuples, old) - tuples[old, OWN] + tuples[old, DELTA]
                entries[n_entries, DELTA] = max(held, 0.0)
            n_entries += 1
        entries[n_entries - 1, GAPS + classes[row]] += w
        entries[n_entries - 1, OWN] += w


@kernel(interpreted=False)
def _left_after(total: Floats, delta: Floats, count: int, maximum: float) -> int:
    """Return the number of tuples that remain if `count` entries are compressed.

    Neighbouring entries are merged while the sum of their weights g plus the delta of the last of
    them is at most `maximum`. `total` and `delta` are those of the entries.
    """
    if count <= 2:
        return count
    left = 2  # the first and the last
    # From the end: the weight of the entry into which others are merged, and the most that it may
    # have.
    weight, most = total[count - 1], maximum - delta[count - 1]
    for i in range(count - 2, 0, -1):
        # Conditional moves instead of branches, as the outcome cannot be predicted.
        joined = total[i] + weight
        fits = joined <= most
        left += 0 if fits else 1
        weight = joined if fits else total[i]
        most = most if fits else maximum - delta[i]
    return left


@kernel(interpreted=False)
def _compress(entries: Floats, total: Floats, maximum: float, count: int) -> int:
    """Merge neighbouring entries up to the bound `maximum` (see `_left_after`), to the end.

    Returns the index from which on entries are left.
    """
    # The last entry written, the weight merged into it, and the most that it may have.
    at, weight, most = count, 0.0, -1.0
    for i in range(count - 1, -1, -1):
        weight += total[i]
        if weight > most or i in (0, count - 1):  # minimum and maximum always remain
            at -= 1
            entries[at] = entries[i]
            weight, most = total[i], maximum - entries[i, DELTA]
        else:
            entries[at, LOW] = min(entries[at, LOW], entries[i, LOW])
            for c in range(GAPS, entries.shape[1]):
                entries[at, c] += entries[i, c]
    return at


@kernel(interpreted=False)
def absorb_quantiles(
    columns: Floats,
    order: NDArray[np.int64],
    classes: NDArray[np.signedinteger],
    weights: Floats,
    share: float,
    guess: Floats,
    size: NDArray[np.int64],
    tuples: Floats,
) -> None:
    """Insert values into the summaries of features, and merge tuples up to a bound.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    order : ndarray of int, shape (n_features, n)
        Rows in ascending order of value, NaN last.
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
    share : float
        Tuples are merged while g + delta is at most this fraction of the total weight (g and delta:
        see the module); `room` must then hold what is left, at most all tuples and new values. With
        0, the fraction is the smallest after which the tuples fit into `room`.
    guess : ndarray, shape (n_features,)
        Fraction of the total weight used at the previous merge, where the search for the smallest
        fraction starts, or 0; modified in place.
    size : ndarray, shape (n_features,)
        Number of tuples of each feature, modified in place.
    tuples : ndarray, shape (n_features, room, 4 + n_classes)
    """
    room = tuples.shape[1]
    entries = np.empty((room + columns.shape[1], tuples.shape[2]))
    total = np.empty(len(entries))
    for f in range(len(columns)):
        held = tuples[f, : size[f]]
        n_entries = _merge_in(columns[f], order[f], classes, weights, held, entries)
        for i in range(n_entries):
            total[i] = _weight(entries, i)
        weight = total[:n_entries].sum()
        if share > 0.0:
            bound = share * weight
        elif n_entries <= room:
            bound = -1.0  # nothing is merged
        else:
            # A first guess is twice the weight of a tuple if all of `room` had the same.
            begin = guess[f] if guess[f] > 0.0 else 2.0 / room
            bound = _smallest_sum(total, entries[:, DELTA], n_entries, room, begin * weight)
            guess[f] = bound / weight
        first = _compress(entries, total, bound, n_entries)
        size[f] = n_entries - first
        tuples[f, : size[f]] = entries[first:n_entries]


@kernel(interpreted=False)
def _smallest_sum(total: Floats, delta: Floats, count: int, room: int, guess: float) -> float:
    """Return the approximately smallest bound that leaves at most `room` of `count` tuples.

    The bound applies to g + delta when tuples are merged; see `_left_after`, also for `total` and
    `delta`. `guess` is the start of the search.
    """
    # The bracket: `low` leaves too many tuples; `high` leaves `left`, which fit after the first
    # loop. The number of tuples is about inversely proportional to the bound: `high` rises by the
    # ratio that is missing, by 2 % at least so that it arrives, and by half at most, as the
    # proportion is a rough one.
    low, high = 0.0, guess
    left = _left_after(total, delta, count, high)
    while left > room:
        low = high
        high *= min(1.5, max(1.02, left / room))
        left = _left_after(total, delta, count, high)
    for _ in range(12):  # at most, to bound the time
        # The room is nearly full, or the bounds are nearly equal.
        if left >= 0.96 * room or high - low < 0.01 * high:
            break
        # In the middle, or where about all but two of the `room` tuples would be left if that
        # is higher.
        bound = max((high + low) / 2, high * (left + 2.0) / room)
        left_at_bound = _left_after(total, delta, count, bound)
        if left_at_bound > room:
            low = bound
        else:
            high, left = bound, left_at_bound
    return high


@kernel(interpreted=False)
def fade_quantiles(
    factor: float, light: float, nothing: float, size: NDArray[np.int64], tuples: Floats
) -> None:
    """Multiply all weights by a factor, and join tuples that became too light to neighbours.

    Parameters
    ----------
    factor : float
    light : float
        Tuples with less than this fraction of their feature's weight are joined to neighbours.
    nothing : float
        Weights below this become 0.
    size, tuples
        See absorb_quantiles.
    """
    for f in range(len(size)):
        weight, minimum = 0.0, np.inf
        for i in range(size[f]):
            # From `OWN` on a tuple holds weights: that of its value, delta and the classes.
            for c in range(OWN, tuples.shape[2]):
                tuples[f, i, c] = faded(tuples[f, i, c], factor, nothing)
            held = _weight(tuples[f], i)
            weight += held
            minimum = min(minimum, held)
        if weight == 0.0:
            size[f] = 0
        elif minimum < light * weight:
            size[f] = _join_light(size[f], light * weight, tuples[f])


@kernel(interpreted=False)
def _join_light(n: int, minimum: float, tuples: Floats) -> int:
    """Join tuples of weight below `minimum` to the next tuple; return the number that remain.

    Consecutive light tuples are joined until their joint weight reaches `minimum`. `n` is the
    number of tuples before.
    """
    # Class weights of the light tuples since the last one that remained. One tuple remains at
    # least, as all of them together are heavier than `minimum`.
    carry = np.zeros(tuples.shape[1] - GAPS)
    # How many remain so far, and the index that the last of them had.
    n_left, last_kept = 0, 0
    for i in range(n):
        carry += tuples[i, GAPS:]
        if carry.sum() < minimum:
            continue
        tuples[n_left] = tuples[i]
        tuples[n_left, GAPS:] = carry
        carry[:] = 0.0
        n_left, last_kept = n_left + 1, i
    if last_kept < n - 1:
        # What is left at the end joins the tuple before, which is the last one now.
        tuples[n_left - 1, GAPS:] += carry
        # The rank of the new last tuple is the total weight: it is certain.
        tuples[n_left - 1, DELTA] = 0.0
    return n_left


# ---------------------------------------- Updates of the PiD histograms of all features of a table


@kernel(interpreted=False)
def _bin_of(edge: Floats, size: int, x: float) -> int:
    """Return the index of the bin that contains `x`; bins include their upper edge.

    The number `x` lies within the range of the `size` bins.
    """
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if x <= edge[middle + 1]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(interpreted=False)
def _split_bin(edge: Floats, count: Floats, size: int, at: int) -> bool:
    """Split the bin `at` and its counts in halves; return False if no float lies inside the bin.

    `size` is the number of bins.
    """
    middle = edge[at] + (edge[at + 1] - edge[at]) / 2
    if not edge[at] < middle < edge[at + 1]:
        return False
    # Edges and counts behind the bin move up by one.
    edge[at + 2 : size + 2] = edge[at + 1 : size + 1].copy()
    count[at + 1 : size + 1] = count[at:size].copy()
    edge[at + 1] = middle
    count[at] /= 2
    count[at + 1] = count[at]
    return True


@kernel(interpreted=False)
def _merge_smallest(edge: Floats, count: Floats, size: int) -> None:
    """Merge the two neighbouring bins with the smallest sum of weights; there are `size` bins."""
    weights = count[:size].sum(axis=1)
    at = np.argmin(weights[:-1] + weights[1:])
    count[at] += count[at + 1]
    # Edges and counts behind the two move down by one.
    edge[at + 1 : size] = edge[at + 2 : size + 1].copy()
    count[at + 1 : size - 1] = count[at + 2 : size].copy()


@kernel(interpreted=False)
def absorb_histograms(
    columns: Floats,
    classes: NDArray[np.signedinteger],
    weights: Floats,
    size: NDArray[np.int64],
    edge: Floats,
    count: Floats,
    total: Floats,
    start: int,
    stop: int,
) -> None:
    """Add values to the histograms of features, in the order of the rows.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
    size : ndarray, shape (n_features,)
        Number of bins, 0 before the first value.
    edge : ndarray, shape (n_features, room + 2)
        Edges of the bins, ascending.
    count : ndarray, shape (n_features, room + 1, n_classes)
        Class weights of the bins.
    total : ndarray, shape (n_features,)
        Weight of all values.
    start, stop : int
        Range of the features.
    """
    room = count.shape[1] - 1
    for f in range(start, stop):
        for row in range(columns.shape[1]):
            x = columns[f, row]
            w = weights[row] if len(weights) else 1.0
            if np.isnan(x) or w <= 0.0:
                continue
            if size[f] == 0:
                size[f] = 1
                edge[f, 0], edge[f, 1] = x, x
                count[f, 0] = 0.0
            edge[f, 0] = min(edge[f, 0], x)
            edge[f, size[f]] = max(edge[f, size[f]], x)
            at = _bin_of(edge[f], size[f], x)
            count[f, at, classes[row]] += w
            total[f] += w
            held = count[f, at].sum()
            # A bin splits above twice the weight that each bin would have if all were equal, and
            # above twice that of the row, so that one heavy row does not split it.
            if (
                held > 2.0 * total[f] / room
                and held > 2.0 * w
                and _split_bin(edge[f], count[f], size[f], at)
            ):
                if size[f] < room:
                    size[f] += 1
                else:
                    _merge_smallest(edge[f], count[f], size[f] + 1)


@kernel(interpreted=False)
def fade_histograms(
    factor: float,
    light: float,
    nothing: float,
    size: NDArray[np.int64],
    edge: Floats,
    count: Floats,
    total: Floats,
) -> None:
    """Multiply all weights by a factor, and remove bins at the ends that became too light.

    Parameters
    ----------
    factor, light, nothing : float
        See fade_quantiles.
    size, edge, count, total
        See absorb_histograms.
    """
    n_classes = count.shape[2]
    for f in range(len(size)):
        weight = 0.0
        for i in range(size[f]):
            for k in range(n_classes):
                count[f, i, k] = faded(count[f, i, k], factor, nothing)
                weight += count[f, i, k]
        total[f] *= factor
        if weight == 0.0:
            size[f], total[f] = 0, 0.0
            continue
        # The first and the last bin that remain; lighter ones outside of them are added to them.
        # Some bin is not light, as `light` is far below one over the number of bins.
        first, last = 0, size[f] - 1
        while count[f, first].sum() < light * weight:
            count[f, first + 1] += count[f, first]
            first += 1
        while count[f, last].sum() < light * weight:
            count[f, last - 1] += count[f, last]
            last -= 1
        size[f] = last + 1 - first
        # The bins that remain move to the front.
        for i in range(size[f] if first else 0):
            edge[f, i], edge[f, i + 1] = edge[f, first + i], edge[f, first + i + 1]
            count[f, i] = count[f, first + i]
