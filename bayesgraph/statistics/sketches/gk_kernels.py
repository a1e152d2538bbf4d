"""Compiled updates of quantile summaries of all features of a table side by side."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.statistics.sketches.kernels import faded


@numba.njit(cache=True, nogil=True)
def _put(
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
    at: int,
    from_value: NDArray[np.float64],
    from_low: NDArray[np.float64],
    from_own: NDArray[np.float64],
    from_gap: NDArray[np.float64],
    from_delta: NDArray[np.float64],
    i: int,
) -> None:
    """Put a copy of a tuple in a place among others."""
    value[at], low[at] = from_value[i], from_low[i]
    own[at], delta[at] = from_own[i], from_delta[i]
    for k in range(gap.shape[1]):
        gap[at, k] = from_gap[i, k]


@numba.njit(cache=True, nogil=True)
def _weight(gap: NDArray[np.float64], at: int, size: int) -> float:
    """Return the weight of a tuple, 0 behind the last one."""
    weight = 0.0
    if at < size:
        for k in range(gap.shape[1]):
            weight += gap[at, k]
    return weight


@numba.njit(cache=True, nogil=True)
def _merge_in(
    values: NDArray[np.float64],
    classes: NDArray[np.int64],
    weights: NDArray[np.float64],
    n: int,
    size: int,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
    new_value: NDArray[np.float64],
    new_low: NDArray[np.float64],
    new_own: NDArray[np.float64],
    new_gap: NDArray[np.float64],
    new_delta: NDArray[np.float64],
    total: NDArray[np.float64],
) -> int:
    """Write the tuples of a feature with new values among them; return how many there are.

    A value that is a tuple's value already joins it, which adds nothing to anyone's uncertainty.
    `total` takes the weight of each tuple.
    """
    n_classes = gap.shape[1]
    old, count = 0, 0
    held = _weight(gap, 0, size)
    for row in range(n):
        x = values[row]
        w = weights[row] if len(weights) else 1.0
        if w <= 0.0:
            continue
        while old < size and value[old] <= x:
            _put(
                new_value, new_low, new_own, new_gap, new_delta, count,
                value, low, own, gap, delta, old,
            )  # fmt: skip
            total[count] = held
            old, count = old + 1, count + 1
            held = _weight(gap, old, size)
        if count and new_value[count - 1] == x:
            new_gap[count - 1, classes[row]] += w
            new_own[count - 1] += w
            total[count - 1] += w
            continue
        new_value[count], new_low[count], new_own[count] = x, x, w
        for k in range(n_classes):
            new_gap[count, k] = 0.0
        new_gap[count, classes[row]] = w
        # The largest value is known exactly, and so is the smallest unless it has faded. What lies
        # in the gap of the next tuple, but for what equals its value, may be on either side of the
        # new one.
        between = delta[old] - own[old] + held if old < size else 0.0
        new_delta[count] = max(between, 0.0)
        total[count] = w
        count += 1
    while old < size:
        _put(
            new_value, new_low, new_own, new_gap, new_delta, count,
            value, low, own, gap, delta, old,
        )  # fmt: skip
        total[count] = held
        old, count = old + 1, count + 1
        held = _weight(gap, old, size)
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
    new_own: NDArray[np.float64],
    new_gap: NDArray[np.float64],
    new_delta: NDArray[np.float64],
    total: NDArray[np.float64],
    count: int,
    most: float,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
) -> int:
    """Write what a pass leaves that merges gaps up to a sum; return how many tuples."""
    n_classes = gap.shape[1]
    # From the last to the first, into the end of the arrays; moved to their beginning after.
    room = len(value)
    at, g = room, 0.0
    for i in range(count - 1, -1, -1):
        if 0 < i < count - 1 and total[i] + g <= most - delta[at]:
            for k in range(n_classes):
                gap[at, k] += new_gap[i, k]
            low[at] = min(low[at], new_low[i])
            g += total[i]
            continue
        at, g = at - 1, total[i]
        _put(
            value, low, own, gap, delta, at,
            new_value, new_low, new_own, new_gap, new_delta, i,
        )  # fmt: skip
    kept = room - at
    for i in range(kept):
        _put(value, low, own, gap, delta, i, value, low, own, gap, delta, at + i)
    return kept


@numba.njit(cache=True, nogil=True)
def absorb_quantiles(
    columns: NDArray[np.float64],
    order: NDArray[np.int64],
    classes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    share: float,
    guess: NDArray[np.float64],
    size: NDArray[np.int64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
    start: int,
    stop: int,
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
        Gaps are merged up to this share of all weight; 0 to merge no more than room asks for.
    guess : ndarray, shape (n_features,)
        The share of all weight up to which gaps were merged last.
    size : ndarray, shape (n_features,)
    value, low, own, delta : ndarray, shape (n_features, room)
        Of a tuple: its value, the smallest one among those it counts, the weight of those that
        equal its value, and how much more its rank may be.
    gap : ndarray, shape (n_features, room, n_classes)
    start, stop : int
        Of the features.
    """
    room, n_classes = gap.shape[1], gap.shape[2]
    most_tuples = room + columns.shape[1]
    new_value, new_low, new_own = (
        np.empty(most_tuples),
        np.empty(most_tuples),
        np.empty(most_tuples),
    )
    new_gap, new_delta = np.empty((most_tuples, n_classes)), np.empty(most_tuples)
    total = np.empty(most_tuples)
    values, codes = np.empty(columns.shape[1]), np.empty(columns.shape[1], dtype=np.int64)
    held = np.empty(len(weights))
    for f in range(start, stop):
        n = 0
        for row in order[f]:
            if np.isnan(columns[f, row]):
                break
            values[n], codes[n] = columns[f, row], classes[row]
            if len(weights):
                held[n] = weights[row]
            n += 1
        count = _merge_in(
            values, codes, held, n,
            size[f], value[f], low[f], own[f], gap[f], delta[f],
            new_value, new_low, new_own, new_gap, new_delta, total,
        )  # fmt: skip
        weight = 0.0
        for i in range(count):
            weight += total[i]
        if share > 0.0:
            most = share * weight
        elif count <= room:
            most = -1.0
        else:
            most = _least_sum(total, new_delta, count, room, guess[f] * weight)
            guess[f] = most / weight
        size[f] = _compress(
            new_value, new_low, new_own, new_gap, new_delta, total, count, most,
            value[f], low[f], own[f], gap[f], delta[f],
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


@numba.njit(cache=True, nogil=True)
def fade_quantiles(
    factor: float,
    light: float,
    nothing: float,
    size: NDArray[np.int64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
) -> None:
    """Multiply all weights, and join tuples that have become too light to their neighbours.

    Parameters
    ----------
    factor : float
    light : float
        Share of a feature's weight that a tuple needs.
    nothing : float
        Weights below this are none.
    size, value, low, own, gap, delta
        See absorb_quantiles.
    """
    n_classes = gap.shape[2]
    for f in range(len(size)):
        weight, least = 0.0, np.inf
        for i in range(size[f]):
            own[f, i] = faded(own[f, i], factor, nothing)
            delta[f, i] = faded(delta[f, i], factor, nothing)
            held = 0.0
            for k in range(n_classes):
                gap[f, i, k] = faded(gap[f, i, k], factor, nothing)
                held += gap[f, i, k]
            weight += held
            least = min(least, held)
        if weight == 0.0:
            size[f] = 0
        elif least < light * weight:
            size[f] = _join_light(
                size[f], light * weight, value[f], low[f], own[f], gap[f], delta[f]
            )


@numba.njit(cache=True, nogil=True)
def _join_light(
    n: int,
    least: float,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
) -> int:
    """Join tuples of less than a weight to the next that has it; return how many are left."""
    n_classes = gap.shape[1]
    carried, carry = 0.0, np.zeros(n_classes)
    kept, last = 0, 0
    for i in range(n):
        for k in range(n_classes):
            carry[k] += gap[i, k]
        carried = carry.sum()
        if carried < least:
            continue
        value[kept], low[kept], own[kept], delta[kept] = value[i], low[i], own[i], delta[i]
        gap[kept] = carry
        carry[:] = 0.0
        kept, last = kept + 1, i
    if last < n - 1:
        gap[kept - 1] += carry
        # The rank of what is the last one now is all weight: nothing lies beyond it.
        delta[kept - 1] = 0.0
    return kept


# ------------------------------------------------------------------------- several summaries


@numba.njit(cache=True, nogil=True)
def unite_quantiles(
    used: NDArray[np.int64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
    share: float,
    size: NDArray[np.int64],
    out_value: NDArray[np.float64],
    out_low: NDArray[np.float64],
    out_own: NDArray[np.float64],
    out_gap: NDArray[np.float64],
    out_delta: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Put the tuples of several quantile summaries in one order, those of equal values together.

    Between two tuples of a part lie up to g + delta - own of its weight, which adds to the delta
    of the other parts' tuples there. Where there are more than 2 / `share` tuples, neighbours are
    joined up to a weight of that share.

    Parameters
    ----------
    used : ndarray, shape (n_parts, n_features)
    value, low, own, delta : ndarray, shape (n_parts, n_features, room)
    gap : ndarray, shape (n_parts, n_features, room, n_classes)
    share : float
    size : ndarray, shape (n_features,)
        Written to, as all that follow: tuples of each feature.
    out_value, out_low, out_own, out_delta : ndarray, shape (n_features, n_parts * room)
    out_gap : ndarray, shape (n_features, n_parts * room, n_classes)
    start, stop : int
        Of the features.
    """
    n_parts, n_classes = len(used), gap.shape[3]
    at = np.zeros(n_parts, dtype=np.int64)
    for f in range(start, stop):
        at[:] = 0
        n, total = 0, 0.0
        while True:
            x = np.inf
            for p in range(n_parts):
                if at[p] < used[p, f]:
                    x = min(x, value[p, f, at[p]])
            if x == np.inf:
                break
            out_value[f, n], out_low[f, n] = x, x
            out_own[f, n], out_delta[f, n] = 0.0, 0.0
            out_gap[f, n, :] = 0.0
            for p in range(n_parts):
                i = at[p]
                if i == used[p, f]:
                    continue
                held = 0.0
                for k in range(n_classes):
                    held += gap[p, f, i, k]
                if value[p, f, i] > x:
                    out_delta[f, n] += max(held + delta[p, f, i] - own[p, f, i], 0.0)
                    continue
                for k in range(n_classes):
                    out_gap[f, n, k] += gap[p, f, i, k]
                out_own[f, n] += own[p, f, i]
                out_delta[f, n] += delta[p, f, i]
                out_low[f, n] = min(out_low[f, n], low[p, f, i])
                total += held
                at[p] += 1
            n += 1
        if n * share > 2.0:
            n = _join_neighbours(
                n, share * total, out_value[f], out_low[f], out_own[f], out_gap[f], out_delta[f]
            )
        size[f] = n


@numba.njit(cache=True, nogil=True)
def _join_neighbours(
    n: int,
    most: float,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    own: NDArray[np.float64],
    gap: NDArray[np.float64],
    delta: NDArray[np.float64],
) -> int:
    """Join tuples with those before them up to a weight; return how many are left."""
    last, held = -1, np.inf
    for i in range(n):
        weight = gap[i].sum()
        if held + weight <= most:
            gap[last] += gap[i]
            low[last] = min(low[last], low[i])
            held += weight
        else:
            last += 1
            gap[last] = gap[i]
            low[last] = low[i]
            held = weight
        value[last], own[last], delta[last] = value[i], own[i], delta[i]
    return last + 1
