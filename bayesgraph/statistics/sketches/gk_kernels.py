"""Compiled updates of quantile summaries of all features of a table side by side.

A tuple is a row of numbers: its value, the smallest value that it counts, the weight of those that
equal its value, how much more its rank may be (delta), and the weight of each class.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.kernels import faded

# Columns of a tuple; those of the classes are the last ones.
VALUE, LOW, OWN, DELTA, GAPS = 0, 1, 2, 3, 4


@numba.njit(cache=True, nogil=True)
def _put(into: Floats, at: int, source: Floats, i: int) -> None:
    """Put a copy of a tuple in a place among others."""
    for c in range(into.shape[1]):
        into[at, c] = source[i, c]


@numba.njit(cache=True, nogil=True)
def _weight(tuples: Floats, at: int) -> float:
    """Return the weight of a tuple."""
    weight = 0.0
    for c in range(GAPS, tuples.shape[1]):
        weight += tuples[at, c]
    return weight


@numba.njit(cache=True, nogil=True)
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
    """Write the tuples of a feature with new values among them; return how many there are.

    A value that is a tuple's value already joins it, which adds nothing to anyone's uncertainty.
    `total` takes the weight of each tuple.
    """
    old, count = 0, 0
    for place in range(len(order) + 1):
        # Missing values are last, and behind all values are the tuples that are left.
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
            # The largest value is known exactly, and so is the smallest unless it has faded. What
            # lies in the gap of the next tuple, but for what equals its value, may be on either
            # side of the new one.
            if old < size:
                between = tuples[old, DELTA] - tuples[old, OWN] + _weight(tuples, old)
                new[count, DELTA] = max(between, 0.0)
            total[count] = 0.0
            count += 1
        new[count - 1, GAPS + classes[row]] += w
        new[count - 1, OWN] += w
        total[count - 1] += w
    return count


@numba.njit(cache=True, nogil=True)
def _left_after(total: Floats, tuples: Floats, count: int, maximum: float) -> int:
    """Return how many tuples a pass leaves that merges gaps up to a sum."""
    if count <= 2:
        return count
    left = 2  # the first and the last
    g, room = total[count - 1], maximum - tuples[count - 1, DELTA]
    for i in range(count - 2, 0, -1):
        # Selected, not branched on: which it will be cannot be predicted.
        joined = total[i] + g
        fits = joined <= room
        left += 0 if fits else 1
        g = joined if fits else total[i]
        room = room if fits else maximum - tuples[i, DELTA]
    return left


@numba.njit(cache=True, nogil=True)
def _compress(new: Floats, total: Floats, count: int, maximum: float, tuples: Floats) -> int:
    """Write what a pass leaves that merges gaps up to a sum; return how many tuples."""
    # From the last to the first, into the end of the array; moved to its beginning after.
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


@numba.njit(cache=True, nogil=True)
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
    """Put values into the summaries of some features and merge tuples until there is room.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    order : ndarray of int, shape (n_features, n)
        Rows in ascending order of value, NaN last.
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
    share : float
        Gaps are merged up to this share of all weight; 0 to merge no more than room requires.
    guess : ndarray, shape (n_features,)
        The share of all weight up to which gaps were merged last.
    size : ndarray, shape (n_features,)
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


@numba.njit(cache=True, nogil=True)
def _smallest_sum(total: Floats, tuples: Floats, count: int, room: int, guess: float) -> float:
    """Return nearly the smallest sum up to which gaps must merge to leave so many tuples."""
    # The share of the weight that was right last time is nearly right again.
    maximum, bottom = guess, 0.0
    left = _left_after(total, tuples, count, maximum)
    while left > room:
        bottom = maximum
        maximum *= min(1.5, max(1.02, left / room))
        left = _left_after(total, tuples, count, maximum)
    for _ in range(12):
        # Nearly full, or nearly the same sum.
        if left >= 0.96 * room or maximum - bottom < 0.01 * maximum:
            break
        less = max((maximum + bottom) / 2, maximum * (left + 2.0) / room)
        now = _left_after(total, tuples, count, less)
        if now > room:
            bottom = less
        else:
            maximum, left = less, now
    return maximum


@numba.njit(cache=True, nogil=True)
def fade_quantiles(
    factor: float, light: float, nothing: float, size: NDArray[np.int64], tuples: Floats
) -> None:
    """Multiply all weights, and join tuples that have become too light to their neighbours.

    Parameters
    ----------
    factor : float
    light : float
        Share of a feature's weight that a tuple needs.
    nothing : float
        Weights below this are none.
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


@numba.njit(cache=True, nogil=True)
def _join_light(n: int, minimum: float, tuples: Floats) -> int:
    """Join tuples of less than a weight to the next that has it; return how many are left."""
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
        # The rank of what is the last one now is all weight: nothing lies beyond it.
        tuples[left - 1, DELTA] = 0.0
    return left


@numba.njit(cache=True, nogil=True)
def unite_quantiles(
    used: NDArray[np.int64],
    summaries: Floats,
    share: float,
    size: NDArray[np.int64],
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Put the tuples of several quantile summaries in one order, those of equal values together.

    Between two tuples of a summary lie up to g + delta - own of its weight, which adds to the delta
    of the other summaries' tuples there. Where there are more than 2 / `share` tuples, neighbours
    are joined up to a weight of that share.

    Parameters
    ----------
    used : ndarray, shape (n_summaries, n_features)
    summaries : ndarray, shape (n_summaries, n_features, room, 4 + n_classes)
    share : float
    size : ndarray, shape (n_features,)
        Written to: tuples of each feature.
    out : ndarray, shape (n_features, n_summaries * room, 4 + n_classes)
        Written to.
    start, stop : int
        Of the features.
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


@numba.njit(cache=True, nogil=True)
def _join_neighbours(n: int, maximum: float, tuples: Floats) -> int:
    """Join tuples with those before them up to a weight; return how many are left."""
    last, held = -1, np.inf
    for i in range(n):
        weight = _weight(tuples, i)
        if held + weight <= maximum:
            # The value and its own weight and delta are those of the later tuple.
            tuples[i, GAPS:] += tuples[last, GAPS:]
            tuples[i, LOW] = min(tuples[i, LOW], tuples[last, LOW])
            held += weight
        else:
            last += 1
            held = weight
        _put(tuples, last, tuples, i)
    return last + 1
