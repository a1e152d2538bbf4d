"""Compiled updates of summaries that hold all features of a table side by side."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

# ---------------------------------------------------------------------- quantiles (GKClass)


@numba.njit(cache=True, nogil=True)
def _in_order(
    values: NDArray[np.float64],
    ends: NDArray[np.int64],
    out: NDArray[np.float64],
    classes: NDArray[np.int64],
) -> int:
    """Merge stretches of ascending values, one of each class; return how many are not NaN."""
    n_classes = len(ends) - 1
    at = ends[:-1].copy()
    count = 0
    while True:
        least, first = np.inf, -1
        for k in range(n_classes):
            # NaN, which is last, is not less than anything.
            if at[k] < ends[k + 1] and values[at[k]] < least:
                least, first = values[at[k]], k
        if first < 0:
            return count
        out[count], classes[count] = least, first
        at[first] += 1
        count += 1


@numba.njit(cache=True, nogil=True)
def _merge_in(
    values: NDArray[np.float64],
    classes: NDArray[np.int64],
    weights: NDArray[np.float64],
    n: int,
    unit: float,
    size: int,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
    new_value: NDArray[np.float64],
    new_low: NDArray[np.float64],
    new_gap: NDArray[np.float64],
    new_delta: NDArray[np.float64],
) -> int:
    """Write the tuples of a feature with new values among them; return how many there are.

    A value that is a tuple's value already joins it, which adds nothing to anyone's uncertainty.
    """
    n_classes = gap.shape[1]
    old, count = 0, 0
    for row in range(n):
        x = values[row]
        w = weights[row] if len(weights) else 1.0
        if w <= 0.0:
            continue
        while old < size and value[old] <= x:
            new_value[count], new_low[count] = value[old], low[old]
            new_delta[count] = delta[old]
            for k in range(n_classes):
                new_gap[count, k] = gap[old, k]
            old += 1
            count += 1
        if count and new_value[count - 1] == x:
            new_gap[count - 1, classes[row]] += w
            continue
        new_value[count], new_low[count] = x, x
        for k in range(n_classes):
            new_gap[count, k] = 0.0
        new_gap[count, classes[row]] = w
        # The smallest and the largest value are known exactly. What lies in the gap of the next
        # tuple, but for its own value, may be on either side of the new one.
        between = 0.0
        if count and old < size:
            between = delta[old] - unit
            for k in range(n_classes):
                between += gap[old, k]
        new_delta[count] = max(between, 0.0)
        count += 1
    while old < size:
        new_value[count], new_low[count] = value[old], low[old]
        new_delta[count] = delta[old]
        for k in range(n_classes):
            new_gap[count, k] = gap[old, k]
        old += 1
        count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _left_after(
    total: NDArray[np.float64], delta: NDArray[np.float64], count: int, most: float
) -> int:
    """Return how many tuples a pass leaves that merges gaps up to a sum."""
    if count <= 2:
        return count
    kept = 2  # the first and the last
    g, room = total[count - 1], most - delta[count - 1]
    for i in range(count - 2, 0, -1):
        # Selected, not branched on: which it will be cannot be predicted.
        joined = total[i] + g
        fits = joined <= room
        kept += 0 if fits else 1
        g = joined if fits else total[i]
        room = room if fits else most - delta[i]
    return kept


@numba.njit(cache=True, nogil=True)
def _compress(
    new_value: NDArray[np.float64],
    new_low: NDArray[np.float64],
    new_gap: NDArray[np.float64],
    new_delta: NDArray[np.float64],
    count: int,
    most: float,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
) -> int:
    """Write what a pass leaves that merges gaps up to a sum; return how many tuples."""
    n_classes = gap.shape[1]
    # From the last to the first, into the end of the arrays; moved to their beginning after.
    room = len(value)
    at = room
    for i in range(count - 1, -1, -1):
        total = 0.0
        for k in range(n_classes):
            total += new_gap[i, k]
        if 0 < i < count - 1:
            g = 0.0
            for k in range(n_classes):
                g += gap[at, k]
            if total + g <= most - delta[at]:
                for k in range(n_classes):
                    gap[at, k] += new_gap[i, k]
                low[at] = min(low[at], new_low[i])
                continue
        at -= 1
        value[at], low[at], delta[at] = new_value[i], new_low[i], new_delta[i]
        for k in range(n_classes):
            gap[at, k] = new_gap[i, k]
    kept = room - at
    for i in range(kept):
        value[i], low[i], delta[i] = value[at + i], low[at + i], delta[at + i]
        for k in range(n_classes):
            gap[i, k] = gap[at + i, k]
    return kept


@numba.njit(cache=True, nogil=True)
def absorb_quantiles(
    columns: NDArray[np.float64],
    ends: NDArray[np.int64],
    order: NDArray[np.int64],
    weights: NDArray[np.float64],
    unit: float,
    share: float,
    guess: NDArray[np.float64],
    size: NDArray[np.int64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Put values into the summaries of some features and merge tuples until there is room.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
        Values of one class after the other; ascending within each, NaN last, unless `order` is
        given.
    ends : ndarray of int, shape (n_classes + 1,)
        Where the classes begin and end.
    order : ndarray of int, shape (n_features, n) or (n_features, 0)
        Positions in ascending order of value, NaN last.
    weights : ndarray, shape (n,) or (0,)
        Of the positions; with them `order` is given.
    unit : float
        The smallest weight a value has had.
    share : float
        Gaps are merged up to this share of all weight; 0 to merge no more than room asks for.
    guess : ndarray, shape (n_features,)
        The share of all weight up to which gaps were merged last.
    size : ndarray, shape (n_features,)
    value, low, delta : ndarray, shape (n_features, room)
    gap : ndarray, shape (n_features, room, n_classes)
    start, stop : int
        Of the features.
    """
    room, n_classes = gap.shape[1], gap.shape[2]
    most_tuples = room + columns.shape[1]
    new_value, new_low = np.empty(most_tuples), np.empty(most_tuples)
    new_gap, new_delta = np.empty((most_tuples, n_classes)), np.empty(most_tuples)
    total = np.empty(most_tuples)
    values, codes = np.empty(columns.shape[1]), np.empty(columns.shape[1], dtype=np.int64)
    held = np.empty(len(weights))
    for f in range(start, stop):
        if order.shape[1]:
            n = 0
            while n < len(held) and not np.isnan(columns[f, order[f, n]]):
                at = order[f, n]
                values[n], held[n] = columns[f, at], weights[at]
                codes[n] = 0
                while at >= ends[codes[n] + 1]:
                    codes[n] += 1
                n += 1
        else:
            n = _in_order(columns[f], ends, values, codes)
        count = _merge_in(
            values, codes, held, n, unit,
            size[f], value[f], low[f], gap[f], delta[f],
            new_value, new_low, new_gap, new_delta,
        )  # fmt: skip
        weight = 0.0
        for i in range(count):
            total[i] = 0.0
            for k in range(n_classes):
                total[i] += new_gap[i, k]
            weight += total[i]
        if share > 0.0:
            most = share * weight
        elif count <= room:
            most = -1.0
        else:
            most = _least_sum(total, new_delta, count, room, guess[f] * weight)
            guess[f] = most / weight
        size[f] = _compress(
            new_value, new_low, new_gap, new_delta, count, most,
            value[f], low[f], gap[f], delta[f],
        )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _least_sum(
    total: NDArray[np.float64], delta: NDArray[np.float64], count: int, room: int, guess: float
) -> float:
    """Return nearly the least sum up to which gaps must merge to leave so many tuples."""
    # The share of the weight that was right last time is nearly right again.
    most, bottom = guess, 0.0
    left = _left_after(total, delta, count, most)
    while left > room:
        bottom = most
        most *= min(1.5, max(1.02, left / room))
        left = _left_after(total, delta, count, most)
    for _ in range(12):
        # Nearly full, or nearly the same sum.
        if left >= 0.96 * room or most - bottom < 0.01 * most:
            break
        less = max((most + bottom) / 2, most * (left + 2.0) / room)
        now = _left_after(total, delta, count, less)
        if now > room:
            bottom = less
        else:
            most, left = less, now
    return most


# ----------------------------------------------------------------------- histograms (PiDClass)


@numba.njit(cache=True, nogil=True)
def _bin_of(edge: NDArray[np.float64], size: int, x: float) -> int:
    """Return the bin of a number within the range; bins contain their upper end."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if x <= edge[middle + 1]:
            high = middle
        else:
            low = middle + 1
    return low


@numba.njit(cache=True, nogil=True)
def _split_bin(edge: NDArray[np.float64], count: NDArray[np.float64], size: int, at: int) -> bool:
    """Split a bin in the middle and its counts in halves, unless no number lies inside."""
    middle = edge[at] + (edge[at + 1] - edge[at]) / 2
    if not edge[at] < middle < edge[at + 1]:
        return False
    for i in range(size, at, -1):
        edge[i + 1] = edge[i]
        for k in range(count.shape[1]):
            count[i, k] = count[i - 1, k]
    edge[at + 1] = middle
    for k in range(count.shape[1]):
        count[at, k] /= 2
        count[at + 1, k] = count[at, k]
    return True


@numba.njit(cache=True, nogil=True)
def _merge_smallest(edge: NDArray[np.float64], count: NDArray[np.float64], size: int) -> None:
    """Merge the two neighbouring bins with the smallest sum."""
    least, at = np.inf, 0
    before = 0.0
    for k in range(count.shape[1]):
        before += count[0, k]
    for i in range(1, size):
        here = 0.0
        for k in range(count.shape[1]):
            here += count[i, k]
        if before + here < least:
            least, at = before + here, i - 1
        before = here
    for k in range(count.shape[1]):
        count[at, k] += count[at + 1, k]
    for i in range(at + 1, size):
        edge[i] = edge[i + 1]
        if i + 1 < size:
            for k in range(count.shape[1]):
                count[i, k] = count[i + 1, k]


@numba.njit(cache=True, nogil=True)
def absorb_histograms(
    columns: NDArray[np.float64],
    classes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    size: NDArray[np.int64],
    edge: NDArray[np.float64],
    count: NDArray[np.float64],
    total: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Put values into the histograms of some features, in the order of the rows.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
    size : ndarray, shape (n_features,)
        Bins; 0 before the first value.
    edge : ndarray, shape (n_features, room + 2)
    count : ndarray, shape (n_features, room + 1, n_classes)
    total : ndarray, shape (n_features,)
    start, stop : int
        Of the features.
    """
    room, n_classes = count.shape[1] - 1, count.shape[2]
    for f in range(start, stop):
        for row in range(columns.shape[1]):
            x = columns[f, row]
            w = weights[row] if len(weights) else 1.0
            if np.isnan(x) or w <= 0.0:
                continue
            if size[f] == 0:
                size[f] = 1
                edge[f, 0], edge[f, 1] = x, x
                for k in range(n_classes):
                    count[f, 0, k] = 0.0
            edge[f, 0] = min(edge[f, 0], x)
            edge[f, size[f]] = max(edge[f, size[f]], x)
            at = _bin_of(edge[f], size[f], x)
            count[f, at, classes[row]] += w
            total[f] += w
            held = 0.0
            for k in range(n_classes):
                held += count[f, at, k]
            # Twice the share of a bin if all were alike.
            if (
                held > 2.0 * total[f] / room
                and held > 2.0 * w
                and _split_bin(edge[f], count[f], size[f], at)
            ):
                if size[f] < room:
                    size[f] += 1
                else:
                    _merge_smallest(edge[f], count[f], size[f] + 1)
