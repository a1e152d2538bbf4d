"""Compiled compactors: levels of items, of which half are kept with twice the weight."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

# Items of a sketch lie packed at the end of its row, level 0 first: level h has the places from
# begin[h] up to begin[h + 1]. New ones go before the others of their level.

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@numba.njit(cache=True, nogil=True)
def _uniform(state: NDArray[np.uint64], at: int) -> float:
    """Return the next number in [0, 1) of a generator (SplitMix64)."""
    state[at] += _STEP
    z = state[at]
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@numba.njit(cache=True, nogil=True)
def _compact(
    at: int,
    h: int,
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
    levels: NDArray[np.int64],
    variance: NDArray[np.float64],
    state: NDArray[np.uint64],
) -> None:
    """Keep one of each two neighbours of a level, with the weight of both, in the next level.

    The first of two is kept with the probability of its share in their weight, so that no rank
    changes in expectation. The smallest item of an odd number stays.
    """
    a, b = begin[h], begin[h + 1]
    order = np.argsort(value[a:b], kind="mergesort")
    values, weights = value[a:b][order], weight[a:b][order]
    odd = (b - a) % 2
    pairs = (b - a) // 2
    u = _uniform(state, at)
    most = 0.0
    for i in range(pairs):
        first = odd + 2 * i
        both = weights[first] + weights[first + 1]
        most = max(most, both)
        kept = first if u * both < weights[first] else first + 1
        value[b - pairs + i], weight[b - pairs + i] = values[kept], both
    # A rank lies within one pair at most, and changes by a range of the pair's weight.
    variance[at] += most * most / 4.0
    if odd:
        value[b - pairs - 1], weight[b - pairs - 1] = values[0], weights[0]
    for i in range(a - 1, begin[0] - 1, -1):
        value[i + pairs], weight[i + pairs] = value[i], weight[i]
    for i in range(h):
        begin[i] += pairs
    begin[h] = b - pairs - odd
    if h + 1 < len(begin) - 1:  # else the last level keeps them
        begin[h + 1] = b - pairs
        if h + 1 == levels[at]:
            levels[at] += 1


@numba.njit(cache=True, nogil=True)
def _compress(
    at: int,
    capacity: NDArray[np.int64],
    room: NDArray[np.int64],
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
    levels: NDArray[np.int64],
    variance: NDArray[np.float64],
    state: NDArray[np.uint64],
) -> None:
    """Compact the lowest level that is too full until all items fit."""
    while len(value) - begin[0] > room[levels[at]]:
        for h in range(levels[at]):
            if begin[h + 1] - begin[h] > capacity[levels[at] - 1 - h]:
                _compact(at, h, value, weight, begin, levels, variance, state)
                break


@numba.njit(cache=True, nogil=True)
def absorb_items(
    columns: NDArray[np.float64],
    classes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    capacity: NDArray[np.int64],
    room: NDArray[np.int64],
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
    levels: NDArray[np.int64],
    variance: NDArray[np.float64],
    state: NDArray[np.uint64],
    start: int,
    stop: int,
) -> None:
    """Put values into the sketches of some features, in the order of the rows.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
    capacity : ndarray of int, shape (most levels,)
        Items of a level, by how many levels lie above it.
    room : ndarray of int, shape (most levels + 1,)
        Items of all levels, by their number.
    value, weight : ndarray, shape (n_features, n_classes, most items + 1)
    begin : ndarray of int, shape (n_features, n_classes, most levels + 1)
    levels : ndarray of int, shape (n_features, n_classes)
    variance : ndarray, shape (n_features, n_classes)
        Sum of the squares of the greatest changes of a rank by the compactions.
    state : ndarray of uint64, shape (n_features, n_classes)
        Of the generators.
    start, stop : int
        Of the features.
    """
    top = len(capacity) - 1
    for f in range(start, stop):
        for row in range(columns.shape[1]):
            x = columns[f, row]
            w = weights[row] if len(weights) else 1.0
            if np.isnan(x) or w <= 0.0:
                continue
            k = classes[row]
            h = min(top, math.floor(math.log2(w))) if w >= 2.0 else 0
            ends = begin[f, k]
            levels[f, k] = max(levels[f, k], h + 1)
            for i in range(ends[0], ends[h]):
                value[f, k, i - 1], weight[f, k, i - 1] = value[f, k, i], weight[f, k, i]
            for i in range(h + 1):
                ends[i] -= 1
            value[f, k, ends[h]], weight[f, k, ends[h]] = x, w
            _compress(
                k, capacity, room, value[f, k], weight[f, k], ends,
                levels[f], variance[f], state[f],
            )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def fade_items(
    factor: float,
    light: float,
    nothing: float,
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
    levels: NDArray[np.int64],
    variance: NDArray[np.float64],
) -> None:
    """Multiply all weights, and take out items that have become too light.

    Parameters
    ----------
    factor : float
    light : float
        Share of the weight of a feature and class that an item needs; what lighter ones have left
        goes to the last item.
    nothing : float
        Weights of a feature and class below this are none.
    value, weight, begin, levels, variance
        See absorb_items.
    """
    most = value.shape[2]
    for f in range(levels.shape[0]):
        for k in range(levels.shape[1]):
            ends = begin[f, k]
            total, least = 0.0, np.inf
            for i in range(ends[0], most):
                weight[f, k, i] *= factor
                total += weight[f, k, i]
                least = min(least, weight[f, k, i])
            variance[f, k] *= factor * factor
            if total < nothing:
                ends[:] = most
                levels[f, k], variance[f, k] = 1, 0.0
            elif least < light * total:
                _take_out(light * total, value[f, k], weight[f, k], ends)


@numba.njit(cache=True, nogil=True)
def _take_out(
    least: float,
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
) -> None:
    """Take out items below a weight, and give what they have left to the last of the others."""
    last = len(value) - 1
    at, carry, end = len(value), 0.0, len(value)
    for h in range(len(begin) - 2, -1, -1):
        first = begin[h]
        for i in range(end - 1, first - 1, -1):
            if weight[i] < least:
                carry += weight[i]
            else:
                at -= 1
                value[at], weight[at] = value[i], weight[i]
        begin[h], end = at, first
    weight[last] += carry


@numba.njit(cache=True, nogil=True)
def lower_levels(
    capacity: NDArray[np.int64],
    room: NDArray[np.int64],
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
    levels: NDArray[np.int64],
    variance: NDArray[np.float64],
    state: NDArray[np.uint64],
) -> None:
    """Move all levels but the lowest one down: their items have lost half of their weight."""
    for f in range(levels.shape[0]):
        for k in range(levels.shape[1]):
            if levels[f, k] < 2:
                continue
            ends = begin[f, k]
            for h in range(1, len(ends) - 1):
                ends[h] = ends[h + 1]
            levels[f, k] -= 1
            _compress(
                k, capacity, room, value[f, k], weight[f, k], ends,
                levels[f], variance[f], state[f],
            )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def merge_items(
    capacity: NDArray[np.int64],
    room: NDArray[np.int64],
    other_value: NDArray[np.float64],
    other_weight: NDArray[np.float64],
    other_begin: NDArray[np.int64],
    other_levels: NDArray[np.int64],
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int64],
    levels: NDArray[np.int64],
    variance: NDArray[np.float64],
    state: NDArray[np.uint64],
) -> None:
    """Put the items of other sketches into the levels of these, and compress; see absorb_items."""
    most, top = value.shape[2], begin.shape[2] - 1
    # Zeros: what is not used is part of the state too.
    values, weights = np.zeros(2 * most), np.zeros(2 * most)
    ends = np.empty(top + 1, dtype=np.int64)
    for f in range(levels.shape[0]):
        for k in range(levels.shape[1]):
            at = 2 * most
            ends[top] = at
            for h in range(top - 1, -1, -1):
                for i in range(other_begin[f, k, h + 1] - 1, other_begin[f, k, h] - 1, -1):
                    at -= 1
                    values[at], weights[at] = other_value[f, k, i], other_weight[f, k, i]
                for i in range(begin[f, k, h + 1] - 1, begin[f, k, h] - 1, -1):
                    at -= 1
                    values[at], weights[at] = value[f, k, i], weight[f, k, i]
                ends[h] = at
            levels[f, k] = max(levels[f, k], other_levels[f, k])
            _compress(k, capacity, room, values, weights, ends, levels[f], variance[f], state[f])
            value[f, k], weight[f, k] = values[most:], weights[most:]
            for h in range(top + 1):
                begin[f, k, h] = ends[h] - most
