"""Compiled loops of CHAID: tables of categories and classes, and the merging of categories."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel
from bayesgraph.learning.growing_kernels import Codes, Node, _x_log2_x

# Logarithms of probabilities that differ by less count as equal.
_ROUNDING = 1e-10


@kernel(interpreted=False)
def log_chi_squared_tail(statistic: float, degrees: float) -> float:
    """Return the log of the probability that a chi-squared variable exceeds `statistic`.

    It is the incomplete gamma function Q(degrees / 2, statistic / 2): a series, or a continued
    fraction by Lentz's method (Press et al. 2007, section 6.2). Far tails do not underflow.
    """
    a, x = 0.5 * degrees, 0.5 * statistic
    if x <= 0.0:
        return 0.0
    scale = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1.0:
        term = total = 1.0 / a
        k = a
        while term > total * 1e-17:
            k += 1.0
            term *= x / k
            total += term
        return math.log1p(-min(1.0, math.exp(scale) * total))
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    h = d
    for i in range(1, 10_000):
        step = -i * (i - a)
        b += 2.0
        d = 1.0 / (step * d + b)
        c = b + step / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return scale + math.log(h)


@kernel(interpreted=False)
def _log_p(counts: Floats, i: int, j: int) -> float:
    """Return the log of the p-value that categories i and j have the same class distribution."""
    a, b = counts[i].sum(), counts[j].sum()
    statistic, degrees = 0.0, -1.0
    for c in range(counts.shape[1]):
        both = counts[i, c] + counts[j, c]
        if both > 0.0:
            gap = counts[i, c] * b - counts[j, c] * a
            statistic += gap * gap / both
            degrees += 1.0
    log_p: float = log_chi_squared_tail(statistic / (a * b), degrees) if degrees > 0.0 else 0.0
    return log_p


@kernel(interpreted=False)
def _compare(
    counts: Floats, group: NDArray[np.int64], ordered: bool, floating: int, i: int, log_p: Floats
) -> None:
    """Write the logs of the p-values of group i and each other that it may be merged with.

    Of ordered groups these are neighbours, and the one that is `floating`.
    """
    for step in (-1, 1):
        is_neighbour = True
        k = i + step
        while 0 <= k < len(counts):
            if group[k] == k:
                may = is_neighbour or not ordered or i == floating or k == floating
                log_p[min(i, k), max(i, k)] = _log_p(counts, i, k) if may else -np.inf
                is_neighbour = is_neighbour and k == floating
            k += step


@kernel(interpreted=False)
def merge_categories(
    counts: Floats,
    ordered: bool,
    floating: int,
    log_alpha: float,
    min_weight: float,
    group: NDArray[np.int64],
) -> int:
    """Merge categories whose class distributions do not differ; return the number of groups.

    While more than two groups are left, the pair with the largest p-value is merged if that exceeds
    the level (Kass 1980). Then each group of too little weight is merged with the most similar.

    Parameters
    ----------
    counts : ndarray, shape (n_categories, n_classes)
        Weight of each class; is overwritten.
    ordered : bool
        Whether only neighbours may be merged.
    floating : int
        The category of missing values, which may be merged with any other, or -1.
    log_alpha : float
        Log of the level at which categories differ.
    min_weight : float
        Minimum weight of a group, unless it is the floating category alone.
    group : ndarray of int, shape (n_categories,)
        Is overwritten with the first category of the group of each category.
    """
    n = len(counts)
    log_p = np.full((n, n), -np.inf)
    group[:] = np.arange(n)
    for i in range(n):
        _compare(counts, group, ordered, floating, i, log_p)
    left = n
    while left > 1:
        i = j = -1
        best = log_alpha
        for a in range(n if left > 2 else 0):
            for b in range(a + 1, n):
                if log_p[a, b] > best:
                    i, j, best = a, b, log_p[a, b] + _ROUNDING
        if i < 0:
            lightest = min_weight - 1e-9
            for k in range(n):
                if group[k] == k and k != floating and counts[k].sum() < lightest:
                    i, lightest = k, counts[k].sum()
            if i < 0:
                break
            best = -np.inf
            for step in range(1, n):
                k = (i + step) % n
                if log_p[min(i, k), max(i, k)] > best:
                    j, best = k, log_p[min(i, k), max(i, k)] + _ROUNDING
            i, j = min(i, j), max(i, j)
        counts[i] += counts[j]
        group[group == j] = i
        log_p[j, :] = log_p[:, j] = -np.inf
        left -= 1
        floating = -1 if j == floating else floating
        _compare(counts, group, ordered, floating, i, log_p)
    return left


@kernel(interpreted=False)
def chi_squared_splits(
    node: Node, log_alpha: float, min_weight: float, branch_of: Codes
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Merge the categories of each feature at a node, and test the groups that remain.

    Parameters
    ----------
    node : Node
    log_alpha, min_weight
        As in `merge_categories`.
    branch_of : ndarray of int32, shape (n_features, largest number of codes + 1)
        Is overwritten with the group of each code, and (at n_codes) of missing values; -1 where
        there are no rows, or if missing values are a group of their own.

    Returns
    -------
    log_p : ndarray, shape (n_features,)
        Log of the p-value of independence of groups and classes; 0 without two groups.
    gain : ndarray, shape (n_features,)
        Information gain of the groups times the weight of their rows, in bits.
    found : ndarray of int, shape (n_features, 3)
        The number of categories and of groups, and whether missing values were merged with others.
    """
    codes, n_codes, is_number, labels, _, _, mass, _, classes = node
    n_features, n_classes = len(codes), len(classes)
    log_ps, gains = np.zeros(n_features), np.zeros(n_features)
    found = np.zeros((n_features, 3), dtype=np.int64)
    for j in range(n_features):
        n = n_codes[j]
        table, size = np.zeros((n + 1, n_classes)), np.zeros(n + 1)
        for i in range(len(labels)):
            code = codes[j, i]
            at = code if code >= 0 else n
            table[at, labels[i]] += mass[i]
            size[at] += 1.0
        branch_of[j] = -1
        kept = np.flatnonzero(size > 0.0)
        counts = table[kept]
        floating = len(kept) - 1 if size[n] > 0.0 else -1
        group = np.empty(len(kept), dtype=np.int64)
        merge_categories(counts, is_number[j], floating, log_alpha, min_weight, group)
        alone = floating >= 0 and group[floating] == floating
        n_known = len(kept) - 1 if alone else len(kept)
        is_first = group[:n_known] == np.arange(n_known)
        number = np.cumsum(is_first) - 1
        for i in range(n_known):
            branch_of[j, kept[i]] = number[group[i]]
        parts = counts[:n_known][is_first]
        found[j, 0], found[j, 1] = n_known, len(parts)
        found[j, 2] = floating >= 0 and not alone
        if len(parts) < 2:
            continue
        whole = parts.sum(axis=0)
        weight, statistic, present = whole.sum(), 0.0, 0
        gain = _x_log2_x(weight)
        for c in range(n_classes):
            present += whole[c] > 0.0
            gain -= _x_log2_x(whole[c])
        for part in parts:
            gain -= _x_log2_x(part.sum())
            for c in range(n_classes):
                gain += _x_log2_x(part[c])
                if whole[c] > 0.0:
                    expected = part.sum() * whole[c] / weight
                    gap = part[c] - expected
                    statistic += gap * gap / expected
        if present > 1:
            log_ps[j] = log_chi_squared_tail(statistic, (len(parts) - 1.0) * (present - 1.0))
        gains[j] = gain
    return log_ps, gains, found
