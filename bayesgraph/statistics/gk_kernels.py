"""Updates of Greenwald-Khanna quantile summaries, for all features of a table.

A tuple is stored as a row of an array: the tuple's value; the minimum of the values that it counts;
the weight of the rows equal to the tuple's value (own); the maximum by which the rank of the value
may be higher (delta); and the weight of each class, whose sum is g.
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
    weights: Floats,
    size: int,
    tuples: Floats,
    gaps: Floats,
    ascending: Floats,
    of_old: NDArray[np.int64],
    of_row: NDArray[np.int64],
    total: Floats,
    delta: Floats,
) -> int:
    """Merge new values with a feature's tuples in ascending order; return the number of entries.

    Each new value becomes an entry, which is to be a tuple. A value that equals a tuple's value
    joins its entry, which changes no delta. Entries only refer to tuples and rows, as most are
    merged with others before anything has to be copied.

    Parameters
    ----------
    column, order, weights
        The new values of the feature; see `absorb_quantiles`.
    size : int
        Number of tuples in `tuples`, the feature's summary.
    gaps, ascending : ndarray, shapes (3, >= size + 1) and (n + 1,)
        Working memory.
    of_old, of_row : ndarray of int, shapes (>= size,) and (n,)
        Receive the entry of each tuple, and of each row in ascending order of value.
    total, delta : ndarray
        Receive the total weight and the delta of each entry.
    """
    # The maximum of a new value is known exactly, and so is the minimum unless it has faded. The
    # weight in the gap of the next tuple, except that of its own value, may be on either side.
    value, held, between = gaps[0], gaps[1], gaps[2]
    for old in range(size):
        value[old], held[old] = tuples[old, VALUE], _weight(tuples, old)
        between[old] = max(tuples[old, DELTA] - tuples[old, OWN] + held[old], 0.0)
    value[size], held[size], between[size] = np.inf, 0.0, 0.0
    n = 0
    while n < len(order) and not np.isnan(column[order[n]]):
        ascending[n] = column[order[n]]
        n += 1
    ascending[n] = np.inf
    old, place, count, last = 0, 0, 0, -np.inf
    for _ in range(size + n):
        x = ascending[place]
        is_old = value[old] <= x
        if is_old:
            last = value[old]
            of_old[old] = count
            total[count], delta[count] = held[old], tuples[old, DELTA]
            old, count = old + 1, count + 1
        else:
            w = weights[order[place]] if len(weights) else 1.0
            if x != last and w > 0.0:
                last = x
                total[count], delta[count] = 0.0, between[old]
                count += 1
            if count:
                total[count - 1] += w
            of_row[place] = count - 1
            place += 1
    of_row[n:] = -1
    return count


@kernel(interpreted=False)
def _left_after(total: Floats, delta: Floats, count: int, maximum: float) -> int:
    """Return the number of tuples that remain if `count` entries are compressed.

    Neighbouring entries are merged while the sum of their weights g plus the delta of the last of
    them is at most `maximum`. `total` and `delta` are those of `_merge_in`.
    """
    if count <= 2:
        return count
    left = 2  # the first and the last
    g, room = total[count - 1], maximum - delta[count - 1]
    for i in range(count - 2, 0, -1):
        # Conditional moves instead of branches, as the outcome cannot be predicted.
        joined = total[i] + g
        fits = joined <= room
        left += 0 if fits else 1
        g = joined if fits else total[i]
        room = room if fits else maximum - delta[i]
    return left


@kernel(interpreted=False)
def _compress(
    column: Floats,
    order: NDArray[np.int64],
    classes: NDArray[np.signedinteger],
    weights: Floats,
    of_old: NDArray[np.int64],
    of_row: NDArray[np.int64],
    total: Floats,
    delta: Floats,
    count: int,
    maximum: float,
    size: int,
    tuples: Floats,
    last: NDArray[np.int64],
    behind: NDArray[np.int64],
    out: Floats,
) -> int:
    """Merge neighbouring entries up to the bound `maximum`; return how many tuples remain.

    Entries are merged while their uncertainty of rank stays below the bound (see `_left_after`).
    The parameters are those of `_merge_in` and of `absorb_quantiles`; `tuples` is overwritten by
    the result. `last`, `behind` and `out` are working memory: the first two are as long as `total`,
    and `out` is as long as `tuples`.
    """
    left, g, most = 0, 0.0, -1.0
    for i in range(count - 1, -1, -1):
        joined = total[i] + g
        begins = joined > most or i == 0 or i == count - 1
        last[left] = i
        left += 1 if begins else 0
        behind[i] = left
        g = total[i] if begins else joined
        most = maximum - delta[i] if begins else most
    for t in range(left):
        out[t, :] = 0.0
        out[t, VALUE], out[t, LOW], out[t, DELTA] = -np.inf, np.inf, delta[last[left - 1 - t]]
    # Few branches, as where the tuples begin cannot be predicted.
    for old in range(size):
        t = left - behind[of_old[old]]
        for c in range(GAPS, tuples.shape[1]):
            out[t, c] += tuples[old, c]
        out[t, VALUE] = max(out[t, VALUE], tuples[old, VALUE])
        out[t, LOW] = min(out[t, LOW], tuples[old, LOW])
        out[t, OWN] += tuples[old, OWN] if last[left - 1 - t] == of_old[old] else 0.0
    for place in range(len(order)):
        row, entry = order[place], of_row[place]
        w = weights[row] if len(weights) else 1.0
        if entry < 0 or w <= 0.0:
            continue
        t = left - behind[entry]
        out[t, GAPS + classes[row]] += w
        out[t, VALUE] = max(out[t, VALUE], column[row])
        out[t, LOW] = min(out[t, LOW], column[row])
        out[t, OWN] += w if last[left - 1 - t] == entry else 0.0
    for t in range(left):
        _put(tuples, t, out, t)
    return left


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
        fraction starts, or 0; modified in place.
    size : ndarray, shape (n_features,)
        Number of tuples of each feature, modified in place.
    tuples : ndarray, shape (n_features, room, 4 + n_classes)
    """
    room = tuples.shape[1]
    most = room + columns.shape[1]
    of_old, of_row = np.empty(room, dtype=np.int64), np.empty(columns.shape[1], dtype=np.int64)
    total, delta, gaps = np.empty(most), np.empty(most), np.empty((3, room + 1))
    ascending = np.empty(columns.shape[1] + 1)
    last, behind = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    out = np.empty(tuples.shape[1:])
    for f in range(len(columns)):
        count = _merge_in(
            columns[f], order[f], weights, size[f], tuples[f], gaps, ascending, of_old, of_row,
            total, delta,
        )  # fmt: skip
        weight = 0.0
        for i in range(count):
            weight += total[i]
        if share > 0.0:
            maximum = share * weight
        elif count <= room:
            maximum = -1.0
        else:
            begin = guess[f] if guess[f] > 0.0 else 2.0 / room
            maximum = _smallest_sum(total, delta, count, room, begin * weight)
            guess[f] = maximum / weight
        size[f] = _compress(
            columns[f], order[f], classes, weights, of_old, of_row, total, delta, count, maximum,
            size[f], tuples[f], last, behind, out,
        )  # fmt: skip


@kernel(interpreted=False)
def _smallest_sum(total: Floats, delta: Floats, count: int, room: int, guess: float) -> float:
    """Return the approximately smallest bound that leaves at most `room` of `count` tuples.

    The bound applies to g + delta when tuples are merged; see `_left_after`, also for `total` and
    `delta`. `guess` is the start of the search.
    """
    # The fraction of the weight used at the previous merge is a good start of the search.
    maximum, bottom = guess, 0.0
    left = _left_after(total, delta, count, maximum)
    while left > room:
        bottom = maximum
        maximum *= min(1.5, max(1.02, left / room))
        left = _left_after(total, delta, count, maximum)
    for _ in range(12):
        # The room is nearly full, or the bounds are nearly equal.
        if left >= 0.96 * room or maximum - bottom < 0.01 * maximum:
            break
        less = max((maximum + bottom) / 2, maximum * (left + 2.0) / room)
        now = _left_after(total, delta, count, less)
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
