"""Compiled loops of drift detectors: one pass over a sequence of numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


@kernel(interpreted=False)
def _joined_squares(n: float, total: float, n2: float, total2: float) -> float:
    """Return the increase of the sum of squared deviations when two groups are joined.

    `n` and `n2` are the counts of the groups, `total` and `total2` their sums.
    """
    return n * n2 / (n + n2) * (total / n - total2 / n2) ** 2


@kernel(interpreted=False)
def _push(
    x: float, counts: NDArray[np.int64], totals: Floats, squares: Floats, window: Floats
) -> None:
    """Add a number as the newest bucket, and restore the maximum number of buckets of each size.

    While a size has too many buckets, its two oldest are joined to one of the next size.

    For the arrays, which are modified in place, see `update_adwin`.
    """
    n = window[0]
    if n > 0.0:
        window[2] += _joined_squares(n, window[1], 1.0, x)
    window[0], window[1] = n + 1.0, window[1] + x
    maximum = totals.shape[1] - 1
    total, square, level = x, 0.0, 0
    while True:
        at = counts[level]
        totals[level, at], squares[level, at] = total, square
        counts[level] += 1
        if counts[level] <= maximum or level + 1 == len(counts):
            return
        size = 2.0**level
        total = totals[level, 0] + totals[level, 1]
        square = squares[level, 0] + squares[level, 1]
        square += _joined_squares(size, totals[level, 0], size, totals[level, 1])
        for i in range(2, counts[level]):
            totals[level, i - 2], squares[level, i - 2] = totals[level, i], squares[level, i]
        counts[level] -= 2
        level += 1


@kernel(interpreted=False)
def _drop_oldest(
    counts: NDArray[np.int64], totals: Floats, squares: Floats, window: Floats
) -> None:
    level = len(counts) - 1
    while counts[level] == 0:
        level -= 1
    size, total, square = 2.0**level, totals[level, 0], squares[level, 0]
    for i in range(1, counts[level]):
        totals[level, i - 1], squares[level, i - 1] = totals[level, i], squares[level, i]
    counts[level] -= 1
    window[0] -= size
    window[1] -= total
    if window[0] > 0.0:
        lost = square + _joined_squares(size, total, window[0], window[1])
        window[2] = max(0.0, window[2] - lost)
    else:
        window[1], window[2] = 0.0, 0.0


@kernel(interpreted=False)
def _cut(
    delta: float, min_length: int, counts: NDArray[np.int64], totals: Floats, window: Floats
) -> int:
    """Test every cut of the window into an older and a newer part by ADWIN's bound.

    Return 1 if the newer part has a significantly higher mean at some cut, -1 if a significantly
    lower one, and 0 if no cut is significant. For the arguments see `update_adwin`.
    """
    n, whole = window[0], window[1]
    doubt = math.log(2.0 * math.log(n) / delta)
    variance = window[2] / n
    before, below = 0.0, 0.0
    for level in range(len(counts) - 1, -1, -1):
        for i in range(counts[level]):
            before += 2.0**level
            below += totals[level, i]
            after = n - before
            if after < min_length:
                return 0
            if before < min_length:
                continue
            # The minimum length is subtracted, so that differences of a few numbers are not
            # significant.
            share = 1.0 / (before - min_length + 1.0) + 1.0 / (after - min_length + 1.0)
            bound = math.sqrt(2.0 * share * variance * doubt) + 2.0 / 3.0 * share * doubt
            change = (whole - below) / after - below / before
            if abs(change) > bound:
                return 1 if change > 0.0 else -1
    return 0


@kernel(interpreted=False)
def update_adwin(
    values: Floats,
    delta: float,
    clock: int,
    min_length: int,
    grace: int,
    up: bool,
    down: bool,
    counts: NDArray[np.int64],
    totals: Floats,
    squares: Floats,
    window: Floats,
    flags: NDArray[np.bool_],
) -> None:
    """Add numbers to an adaptive window (ADWIN), and mark those that cause an alarm in `flags`.

    Parameters
    ----------
    values : ndarray, shape (n,)
    delta : float
    clock, min_length, grace : int
        Parameters of `ADWIN`.
    up, down : bool
        Whether an increase or a decrease of the mean is an alarm.
    counts : ndarray of int, shape (n_levels,)
        Number of buckets at each level; a bucket holds 2**level numbers.
    totals, squares : ndarray, shape (n_levels, max_buckets + 1)
        Sums, and sums of squared deviations, of the numbers in each bucket, oldest first.
    window : ndarray, shape (4,)
        Count, sum, and sum of squared deviations of the numbers in the window; count of all
        numbers so far.
    flags : ndarray of bool, shape (n,)
        All False before; receives True for each number that causes an alarm.
    """
    for row in range(len(values)):
        _push(values[row], counts, totals, squares, window)
        window[3] += 1.0
        if int(window[3]) % clock or window[0] <= grace:
            continue
        while True:
            found = _cut(delta, min_length, counts, totals, window)
            if found == 0:
                break
            if (found > 0 and up) or (found < 0 and down):
                flags[row] = True
            _drop_oldest(counts, totals, squares, window)
