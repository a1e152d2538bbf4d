"""Compiled loops of growing trees: the search for the best split of a node."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

Codes = NDArray[np.int32]

# Decreases of impurity, as shares of the weight, that differ by less count as equal.
ROUNDING = 1e-12


class Node(NamedTuple):
    """The rows that reached a node.

    Attributes
    ----------
    codes : ndarray, shape (n_features, n_rows)
        -1 where missing.
    n_codes : ndarray of int, shape (n_features,)
    is_number : ndarray of bool, shape (n_features,)
    labels : ndarray, shape (n_rows,)
    weights : ndarray, shape (n_rows,)
    share : ndarray, shape (n_rows,)
        The part of each row; a row that misses the feature of a split is divided.
    mass : ndarray, shape (n_rows,)
        The weight of each row times its part.
    order : ndarray, shape (n_features, n_rows)
        The rows in ascending order of each feature's codes.
    whole : ndarray, shape (n_classes,)
        The weight of each class.
    """

    codes: Codes
    n_codes: NDArray[np.int64]
    is_number: NDArray[np.bool_]
    labels: Codes
    weights: Floats
    share: Floats
    mass: Floats
    order: NDArray[np.intp]
    whole: Floats


@kernel(interpreted=False)
def _x_log2_x(x: float) -> float:
    return x * math.log2(x) if x > 0.0 else 0.0


@kernel(interpreted=False)
def _observed(
    codes: Codes,
    order: NDArray[np.intp],
    mass: Floats,
    labels: Codes,
    whole: Floats,
    known: Floats,
) -> int:
    """Write the class weights of the rows with a value to `known`; return where they start.

    `order` has the rows in ascending order of `codes`, those of missing values first.
    """
    known[:] = whole
    first = 0
    while first < len(order) and codes[order[first]] < 0:
        known[labels[order[first]]] -= mass[order[first]]
        first += 1
    return first


@kernel(interpreted=False)
def _states(
    codes: Codes, mass: Floats, labels: Codes, n_codes: int, n_classes: int
) -> tuple[Floats, Floats]:
    """Return the class weights of each state, and its number of rows."""
    counts, size = np.zeros((n_codes, n_classes)), np.zeros(n_codes)
    for i in range(len(codes)):
        if codes[i] >= 0:
            counts[codes[i], labels[i]] += mass[i]
            size[codes[i]] += 1.0
    return counts, size


@kernel(interpreted=False)
def gain_ratio_split(node: Node, min_rows: float, min_weight: float) -> tuple[int, int, int, float]:
    """Return the split of C4.5: of at least average gain, the one of the largest gain ratio.

    Parameters
    ----------
    node : Node
    min_rows, min_weight : float
        At least two branches have as much weight as the larger of both.

    Returns
    -------
    feature : int
        -1 if there is no split.
    low, high : int
        Of a number, the largest code of the left branch and the smallest code of the right one.
    gain : float
        Information gain of the split times the weight of the node, in bits.
    """
    codes, n_codes, is_number, labels, _, _, mass, order, whole = node
    n_classes = len(whole)
    known, left = np.empty(n_classes), np.empty(n_classes)
    total = whole.sum()
    n_features = len(codes)
    gains, ratios = np.zeros(n_features), np.zeros(n_features)
    lows, highs = np.full(n_features, -1), np.full(n_features, -1)
    least = max(min_rows, min_weight) - 1e-9
    valid, sum_of_gains = 0, 0.0
    for j in range(n_features):
        code = codes[j]
        split_information = _x_log2_x(total)
        if is_number[j]:
            sorted_rows = order[j]
            first = _observed(code, sorted_rows, mass, labels, whole, known)
            weight = known.sum()
            # Quinlan's rule for thresholds: a tenth of the rows of an average class, at most 25.
            fewest = max(least, min(25.0, 0.1 * weight / n_classes) - 1e-9)
            left[:] = 0.0
            left_weight = 0.0
            distinct, best, at_left = 1, np.inf, 0.0
            for i in range(first, len(sorted_rows) - 1):
                row, following = sorted_rows[i], sorted_rows[i + 1]
                left[labels[row]] += mass[row]
                left_weight += mass[row]
                if code[following] == code[row]:
                    continue
                distinct += 1
                right_weight = weight - left_weight
                if min(left_weight, right_weight) < fewest:
                    continue
                rest = _x_log2_x(left_weight) + _x_log2_x(right_weight)
                for c in range(n_classes):
                    rest -= _x_log2_x(left[c]) + _x_log2_x(known[c] - left[c])
                if rest < best - ROUNDING * total:
                    best, at_left = rest, left_weight
                    lows[j], highs[j] = code[row], code[following]
            if lows[j] < 0:
                continue
            gain = _x_log2_x(weight) - best
            for c in range(n_classes):
                gain -= _x_log2_x(known[c])
            # Release 8: bits that encode the threshold (Quinlan 1996, equation 2).
            gain -= math.log2(distinct - 1.0)
            for part in (at_left, weight - at_left, total - weight):
                split_information -= _x_log2_x(part)
        else:
            counts, size = _states(code, mass, labels, n_codes[j], n_classes)
            gain = weight = 0.0
            branches = 0
            known[:] = 0.0
            for s in range(n_codes[j]):
                part = counts[s].sum()
                if size[s] > 0.0 and part >= least:
                    branches += 1
                gain -= _x_log2_x(part)
                split_information -= _x_log2_x(part)
                weight += part
                for c in range(n_classes):
                    gain += _x_log2_x(counts[s, c])
                    known[c] += counts[s, c]
            if branches < 2:
                continue
            gain += _x_log2_x(weight)
            for c in range(n_classes):
                gain -= _x_log2_x(known[c])
            split_information -= _x_log2_x(total - weight)
            lows[j] = 0
        if gain <= 1e-9 * total:
            lows[j] = -1
            continue
        gains[j], ratios[j] = gain, gain / split_information
        valid += 1
        sum_of_gains += gain
    feature = -1
    for j in range(n_features):
        average = lows[j] >= 0 and gains[j] * valid >= sum_of_gains - 1e-9 * total * valid
        if average and (feature < 0 or ratios[j] > ratios[feature] + ROUNDING):
            feature = j
    if feature < 0:
        return -1, -1, -1, 0.0
    return feature, lows[feature], highs[feature], gains[feature]


@kernel(interpreted=False)
def error_split(
    node: Node, min_rows: float, min_weight: float
) -> tuple[int, int, int, bool, float]:
    """Return the binary split that decreases the classification error most.

    Of splits of equal decrease, the one with the largest decrease of the Gini index is returned,
    then the first. Otherwise splits that do not change the error would cut off single rows. Numbers
    are split at a threshold, and a state from the other states; missing values go to the better
    side. Parameters are as in `gain_ratio_split`, but `min_rows` is the minimum number of rows of
    each branch, whatever their weights, and `min_weight` its minimum weight.

    Returns
    -------
    feature : int
        -1 if there is no split.
    low, high : int
        Of a number, the largest code of the left branch and the smallest code of the right one; of
        a discrete feature, `low` is the code of the state, whose branch is the left one here.
    missing_left : bool
    gain : float
        Decrease of the weight of the rows that are not of the most frequent class of their node.
    """
    codes, n_codes, is_number, labels, _, _, mass, order, whole = node
    n_classes = len(whole)
    known, left = np.empty(n_classes), np.empty(n_classes)
    rounding = ROUNDING * whole.sum()
    most = whole.max()
    gain, purity, feature, low, high = -np.inf, -np.inf, -1, -1, -1
    missing_left = False
    for j in range(len(codes)):
        code = codes[j]
        counts, size = np.empty((0, n_classes)), np.empty(0)
        if is_number[j]:
            sorted_rows = order[j]
            first = _observed(code, sorted_rows, mass, labels, whole, known)
            last, n_missing = len(sorted_rows) - 1, float(first)
        else:
            sorted_rows = order[j]
            counts, size = _states(code, mass, labels, n_codes[j], n_classes)
            known[:] = 0.0
            for s in range(n_codes[j]):
                known += counts[s]
            n_missing = len(labels) - size.sum()
            # Of two states, one is split from the other.
            first, last = (1 if n_codes[j] == 2 else 0), n_codes[j]
        left[:] = 0.0
        n_left = 0.0
        for i in range(first, last):
            if is_number[j]:
                row, following = sorted_rows[i], sorted_rows[i + 1]
                left[labels[row]] += mass[row]
                n_left += 1.0
                if code[following] == code[row]:
                    continue
                at, after = code[row], code[following]
            else:
                left[:] = counts[i]
                n_left = size[i]
                at = after = np.int32(i)
            # Both branches have rows with a value.
            if min(n_left, len(labels) - n_missing - n_left) < 1.0:
                continue
            for side in range(2 if n_missing > 0.0 else 1):
                here = n_left + side * n_missing
                if min(here, len(labels) - here) < min_rows:
                    continue
                a = b = most_a = most_b = squares_a = squares_b = 0.0
                for c in range(n_classes):
                    mine = left[c] + side * (whole[c] - known[c])
                    other = whole[c] - mine
                    a, b = a + mine, b + other
                    most_a, most_b = max(most_a, mine), max(most_b, other)
                    squares_a, squares_b = squares_a + mine * mine, squares_b + other * other
                if min(a, b) < min_weight or min(a, b) <= rounding:
                    continue
                decrease = most_a + most_b - most
                if decrease < gain - rounding:
                    continue
                pure = squares_a / a + squares_b / b
                if decrease > gain + rounding or pure > purity + rounding:
                    gain, purity, feature, low, high = decrease, pure, j, at, after
                    missing_left = side == 1
    return feature, low, high, missing_left, gain
