"""Compiled loops of trees that are grown by classification error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats


@kernel(interpreted=False)
def best_split(
    columns: Floats,
    order: NDArray[np.intp],
    labels: NDArray[np.intp],
    weights: Floats,
    whole: Floats,
    min_rows: int,
    min_weight: float,
) -> tuple[float, int, float, bool]:
    """Return the split of a node with the lowest classification error of its two children.

    Among splits of equal error, the split with the largest decrease of the Gini index is returned,
    then the first. Otherwise splits that do not change the error would cut off single rows.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
        All columns; NaN where missing.
    order : ndarray of int, shape (n_features, n_rows)
        Indices of the rows of the node in ascending order of each column, missing values last.
    labels, weights : ndarray, shape (n,)
    whole : ndarray, shape (n_classes,)
        The weight of each class in the node.
    min_rows, min_weight : int and float
        Minimum number and minimum weight of the rows of each child.

    Returns
    -------
    wrong : float
        Weight of the rows that are not of the most frequent class of their child.
    feature : int
        -1 if there is no split.
    threshold : float
        Infinite if observed values go to the left, and missing values to the right.
    missing_left : bool
    """
    n, total = order.shape[1], whole.sum()
    rounding = 1e-12 * total
    wrong, gini, feature, threshold, missing_left = np.inf, -np.inf, -1, 0.0, False
    left = np.empty_like(whole)
    for j in range(len(columns)):
        column, rows = columns[j], order[j]
        seen = n
        while seen > 0 and np.isnan(column[rows[seen - 1]]):
            seen -= 1
        for side in range(2 if seen < n else 1):
            left[:] = 0.0
            if side:
                for row in rows[seen:]:
                    left[labels[row]] += weights[row]
            for i in range(seen if seen < n and not side else seen - 1):
                row = rows[i]
                left[labels[row]] += weights[row]
                if i + 1 < seen and not column[rows[i + 1]] > column[row]:
                    continue
                n_left = i + 1 + side * (n - seen)
                if min(n_left, n - n_left) < min_rows:
                    continue
                a = b = most_a = most_b = squares_a = squares_b = 0.0
                for k in range(len(whole)):
                    here, there = left[k], whole[k] - left[k]
                    a, b = a + here, b + there
                    most_a, most_b = max(most_a, here), max(most_b, there)
                    squares_a, squares_b = squares_a + here * here, squares_b + there * there
                if min(a, b) < min_weight or min(a, b) <= rounding:
                    continue
                found = total - most_a - most_b
                if found > wrong + rounding:
                    continue
                purity = squares_a / a + squares_b / b
                if found < wrong - rounding or purity > gini + rounding:
                    wrong, gini, feature, missing_left = found, purity, j, side == 1
                    threshold = np.inf
                    if i + 1 < seen:
                        threshold = (column[row] + column[rows[i + 1]]) / 2
    return wrong, feature, threshold, missing_left


@kernel(interpreted=False)
def divide(
    columns: Floats,
    order: NDArray[np.intp],
    feature: int,
    threshold: float,
    missing_left: bool,
) -> int:
    """Move the row indices of the left child to the front of `order`; return their number.

    The split is given by `feature`, `threshold` and `missing_left`; see `best_split`.
    """
    goes = np.empty(columns.shape[1], dtype=np.bool_)
    for row in order[0]:
        value = columns[feature, row]
        goes[row] = missing_left if np.isnan(value) else value <= threshold
    right = np.empty(order.shape[1], dtype=order.dtype)
    n_left = 0
    for j in range(len(order)):
        n_left = n_right = 0
        for row in order[j]:
            if goes[row]:
                order[j, n_left] = row
                n_left += 1
            else:
                right[n_right] = row
                n_right += 1
        order[j, n_left:] = right[:n_right]
    return n_left
