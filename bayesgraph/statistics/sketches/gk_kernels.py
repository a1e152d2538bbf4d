"""Compiled (Numba) updates of Greenwald-Khanna quantile summaries, for all features of a table.

A tuple is stored as a row of an array: the tuple's value; the minimum of the values that it counts;
the weight of the rows equal to the tuple's value (own); the maximum by which the rank of the value
may be higher (delta); and the weight of each class, whose sum is g.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.kernels import faded

# Columns of a tuple, followed by one column for each class.
VALUE, LOW, OWN, DELTA, GAPS = 0, 1, 2, 3, 4


@kernel(interpreted=False)
def _put(into: Floats, at: int, source: Floats, i: int) -> None:
    """Copy tuple i of `source` to index `at` of `into`."""
    for c in range(into.shape[1]):
        into[at, c] = source[i, c]


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
    size: int,
    tuples: Floats,
    new: Floats,
    total: Floats,
) -> int:
    """Insert new values into a feature's tuples; return the number of tuples written to `new`.

    Each new value becomes a tuple. A value that equals a tuple's value is added to that tuple,
    which changes no delta.

    Parameters
    ----------
    column, order, classes, weights
        The new values of the feature; see `absorb_quantiles`.
    size : int
        Number of tuples in `tuples`, the feature's summary.
    new, total : ndarray
        Receive the tuples and the total weight of each tuple.
    """
    old, count = 0, 0
    for place in range(len(order) + 1):
        # Missing values come last; after the last value, only the remaining tuples are written.
        row = order[place] if place < len(order) else -1
        x = column[row] if row >= 0 and not np.isnan(column[row]) else np.inf
        while old < size and tuples[old, VALUE] <= x:
            _put(new, count, tuples, old)
            total[count] = _weight(tuples, old)
            old, count = old + 1, count + 1
        if x == np.inf:
            break
        w = weights[row] if len(weights) else 1.0
        if w <= 0.0:
            continue
        if not count or new[count - 1, VALUE] != x:
            new[count, :] = 0.0
            new[count, VALUE], new[count, LOW] = x, x
            # The maximum is known exactly, and so is the minimum unless it has faded. The weight in
            # the gap of the next tuple, except that of its own value, may be on either side of the
            # new one.
            if old < size:
                between = tuples[old, DELTA] - tuples[old, OWN] + _weight(tuples, old)
                new[count, DELTA] = max(between, 0.0)
            total[count] = 0.0
            count += 1
        new[count - 1, GAPS + classes[row]] += w
        new[count - 1, OWN] += w
        total[count - 1] += w
    return count


@kernel(interpreted=False)
def _left_after(total: Floats, tuples: Floats, count: int, maximum: float) -> int:
    """Return the number of tuples that remain if `count` tuples are compressed.

    Neighbouring tuples are merged while the sum of their weights g plus the delta of the last of
    them is at most `maximum`. `total` holds the weight of each tuple.
    """
    if count <= 2:
        return count
    left = 2  # the first and the last
    g, room = total[count - 1], maximum - tuples[count - 1, DELTA]
    for i in range(count - 2, 0, -1):
        # Conditional moves instead of branches, as the outcome cannot be predicted.
        joined = total[i] + g
        fits = joined <= room
        left += 0 if fits else 1
        g = joined if fits else total[i]
        room = room if fits else maximum - tuples[i, DELTA]
    return left


@kernel(interpreted=False)
def _compress(new: Floats, total: Floats, count: int, maximum: float, tuples: Floats) -> int:
    """Merge neighbouring tuples up to the bound `maximum`; return the number of tuples that remain.

    Tuples are merged while their uncertainty of rank stays below the bound (see `_left_after`).
    `new` has the unmerged tuples, `total` their weights, and `tuples` receives the result.
    """
    # Written from the last tuple to the first at the end of the array, then moved to its start.
    room = len(tuples)
    at, g = room, 0.0
    for i in range(count - 1, -1, -1):
        if 0 < i < count - 1 and total[i] + g <= maximum - tuples[at, DELTA]:
            for c in range(GAPS, tuples.shape[1]):
                tuples[at, c] += new[i, c]
            tuples[at, LOW] = min(tuples[at, LOW], new[i, LOW])
            g += total[i]
        else:
            at, g = at - 1, total[i]
            _put(tuples, at, new, i)
    for i in range(room - at):
        _put(tuples, i, tuples, at + i)
    return room - at


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
    """Insert values into the summaries of features, and merge tuples until they fit in memory.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    order : ndarray of int, shape (n_features, n)
        Rows in ascending order of value, NaN last.
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
    share : float
        Tuples are merged while g + delta is at most this fraction of the total weight. With 0, the
        fraction is the smallest after which the tuples fit into `room`.
    guess : ndarray, shape (n_features,)
        Fraction of the total weight used at the previous merge, where the search for the smallest
        fraction starts; modified in place.
    size : ndarray, shape (n_features,)
        Number of tuples of each feature, modified in place.
    tuples : ndarray, shape (n_features, room, 4 + n_classes)
    """
    room = tuples.shape[1]
    new = np.empty((room + columns.shape[1], tuples.shape[2]))
    total = np.empty(len(new))
    for f in range(len(columns)):
        count = _merge_in(columns[f], order[f], classes, weights, size[f], tuples[f], new, total)
        weight = 0.0
        for i in range(count):
            weight += total[i]
        if share > 0.0:
            maximum = share * weight
        elif count <= room:
            maximum = -1.0
        else:
            maximum = _smallest_sum(total, new, count, room, guess[f] * weight)
            guess[f] = maximum / weight
        size[f] = _compress(new, total, count, maximum, tuples[f])


@kernel(interpreted=False)
def _smallest_sum(total: Floats, tuples: Floats, count: int, room: int, guess: float) -> float:
    """Return the approximately smallest bound that leaves at most `room` of `count` tuples.

    The bound applies to g + delta when tuples are merged; see `_left_after`, also for `total` and
    `tuples`. `guess` is the start of the search.
    """
    # The fraction of the weight used at the previous merge is a good start of the search.
    maximum, bottom = guess, 0.0
    left = _left_after(total, tuples, count, maximum)
    while left > room:
        bottom = maximum
        maximum *= min(1.5, max(1.02, left / room))
        left = _left_after(total, tuples, count, maximum)
    for _ in range(12):
        # The room is nearly full, or the bounds are nearly equal.
        if left >= 0.96 * room or maximum - bottom < 0.01 * maximum:
            break
        less = max((maximum + bottom) / 2, maximum * (left + 2.0) / room)
        now = _left_after(total, tuples, count, less)
        if now > room:
            bottom = less
        else:
            maximum, left = less, now
    return maximum


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
    carry = np.zeros(tuples.shape[1] - GAPS)
    left, last = 0, 0
    for i in range(n):
        carry += tuples[i, GAPS:]
        if carry.sum() < minimum:
            continue
        _put(tuples, left, tuples, i)
        tuples[left, GAPS:] = carry
        carry[:] = 0.0
        left, last = left + 1, i
    if last < n - 1:
        tuples[left - 1, GAPS:] += carry
        # The rank of the new last tuple is the total weight: it is certain.
        tuples[left - 1, DELTA] = 0.0
    return left


@kernel(interpreted=False)
def unite_quantiles(
    used: NDArray[np.int64],
    summaries: Floats,
    share: float,
    size: NDArray[np.int64],
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Merge the tuples of several quantile summaries in ascending order, equal values in one tuple.

    Below a tuple's value, and after the previous tuple of the same summary, the summary may have a
    weight of up to g + delta - own. This uncertainty is added to the delta of tuples of other
    summaries that lie between the two. If there are more than 2 / `share` tuples, neighbours are
    joined while their joint weight is at most `share` of the total weight.

    Parameters
    ----------
    used : ndarray, shape (n_summaries, n_features)
        Number of tuples of each feature in each summary.
    summaries : ndarray, shape (n_summaries, n_features, room, 4 + n_classes)
    share : float
        Maximum fraction of the total weight in a joined tuple.
    size : ndarray, shape (n_features,)
        Receives the number of tuples of each feature.
    out : ndarray, shape (n_features, n_summaries * room, 4 + n_classes)
        Receives the tuples.
    start, stop : int
        Range of the features.
    """
    at = np.zeros(len(used), dtype=np.int64)
    for f in range(start, stop):
        at[:] = 0
        n, total = 0, 0.0
        while True:
            x = np.inf
            for p in range(len(used)):
                if at[p] < used[p, f]:
                    x = min(x, summaries[p, f, at[p], VALUE])
            if x == np.inf:
                break
            new = out[f, n]
            new[:] = 0.0
            new[VALUE], new[LOW] = x, x
            for p in range(len(used)):
                if at[p] == used[p, f]:
                    continue
                one = summaries[p, f, at[p]]
                held = _weight(summaries[p, f], at[p])
                if one[VALUE] > x:
                    new[DELTA] += max(held + one[DELTA] - one[OWN], 0.0)
                    continue
                for c in range(OWN, len(one)):
                    new[c] += one[c]
                new[LOW] = min(new[LOW], one[LOW])
                total += held
                at[p] += 1
            n += 1
        size[f] = _join_neighbours(n, share * total, out[f]) if n * share > 2.0 else n


@kernel(interpreted=False)
def _join_neighbours(n: int, maximum: float, tuples: Floats) -> int:
    """Join each of n tuples to the tuple before it while their joint weight is at most `maximum`.

    Return the number of remaining tuples.
    """
    last, held = -1, np.inf
    for i in range(n):
        weight = _weight(tuples, i)
        if held + weight <= maximum:
            # The joined tuple keeps the value, own weight and delta of the later tuple.
            tuples[i, GAPS:] += tuples[last, GAPS:]
            tuples[i, LOW] = min(tuples[i, LOW], tuples[last, LOW])
            held += weight
        else:
            last += 1
            held = weight
        _put(tuples, last, tuples, i)
    return last + 1
