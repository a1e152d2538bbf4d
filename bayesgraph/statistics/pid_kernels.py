"""Updates of the PiD histograms of all features of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel
from bayesgraph.statistics.gk_kernels import faded


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
    edge[at + 2 : size + 2] = edge[at + 1 : size + 1].copy()
    count[at + 1 : size + 1] = count[at:size].copy()
    edge[at + 1] = middle
    count[at] /= 2
    count[at + 1] = count[at]
    return True


@kernel(interpreted=False)
def _merge_smallest(edge: Floats, count: Floats, size: int) -> None:
    """Merge the two neighbouring bins with the smallest sum of weights; there are `size` bins."""
    held = count[:size].sum(axis=1)
    at = np.argmin(held[:-1] + held[1:])
    count[at] += count[at + 1]
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
            # A bin splits above twice the weight that each bin would have if all were equal.
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
        See gk_kernels.fade_quantiles.
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
        first, last = 0, size[f] - 1
        while count[f, first].sum() < light * weight:
            count[f, first + 1] += count[f, first]
            first += 1
        while count[f, last].sum() < light * weight:
            count[f, last - 1] += count[f, last]
            last -= 1
        size[f] = last + 1 - first
        for i in range(size[f] if first else 0):
            edge[f, i], edge[f, i + 1] = edge[f, first + i], edge[f, first + i + 1]
            count[f, i] = count[f, first + i]
