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
        Number of codes of each feature.
    is_number : ndarray of bool, shape (n_features,)
        Whether codes are ranks of numbers, and not states.
    labels : ndarray, shape (n_rows,)
        The class.
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
    observed: Floats,
) -> int:
    """Write the class weights of the rows with a value to `observed`; return where they start.

    `order` has the rows in ascending order of `codes`, those of missing values first.
    """
    observed[:] = whole
    first = 0
    while first < len(order) and codes[order[first]] < 0:
        observed[labels[order[first]]] -= mass[order[first]]
        first += 1
    return first


@kernel(interpreted=False)
def _states(
    codes: Codes, mass: Floats, labels: Codes, n_codes: int, n_classes: int
) -> tuple[Floats, Floats]:
    """Return the class weights of each state, and its number of rows; those without come last."""
    counts, size = np.zeros((n_codes + 1, n_classes)), np.zeros(n_codes + 1)
    for i in range(len(codes)):
        at = codes[i] if codes[i] >= 0 else n_codes
        counts[at, labels[i]] += mass[i]
        size[at] += 1.0
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
    # Class weights of the rows with a value, and of the left branch. An entropy times its weight n
    # is n log n - sum_c n_c log n_c; gains are differences of such terms.
    observed, left = np.empty(n_classes), np.empty(n_classes)
    total = whole.sum()
    n_features = len(codes)
    gains, ratios = np.zeros(n_features), np.zeros(n_features)
    # A feature without a valid split keeps the low code -1; with one, a discrete feature gets 0.
    lows, highs = np.full(n_features, -1), np.full(n_features, -1)
    least = max(min_rows, min_weight) - 1e-9  # sums of weights have rounding errors
    valid, sum_of_gains = 0, 0.0
    for j in range(n_features):
        code = codes[j]
        # The entropy of the branches, of which the rows without a value are one.
        split_information = _x_log2_x(total)
        if is_number[j]:
            sorted_rows = order[j]
            first = _observed(code, sorted_rows, mass, labels, whole, observed)
            weight = observed.sum()
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
                # The entropies of both branches, by weight: what the split leaves.
                remaining = _x_log2_x(left_weight) + _x_log2_x(right_weight)
                for c in range(n_classes):
                    remaining -= _x_log2_x(left[c]) + _x_log2_x(observed[c] - left[c])
                if remaining < best - ROUNDING * total:
                    best, at_left = remaining, left_weight
                    lows[j], highs[j] = code[row], code[following]
            if lows[j] < 0:
                continue
            gain = _x_log2_x(weight) - best
            for c in range(n_classes):
                gain -= _x_log2_x(observed[c])
            # Release 8: bits that encode the threshold (Quinlan 1996, equation 2).
            gain -= math.log2(distinct - 1.0)
            for branch_weight in (at_left, weight - at_left, total - weight):
                split_information -= _x_log2_x(branch_weight)
        else:
            counts, size = _states(code, mass, labels, n_codes[j], n_classes)
            gain = weight = 0.0
            branches = 0
            observed[:] = 0.0
            for s in range(n_codes[j]):
                branch_weight = counts[s].sum()
                if size[s] > 0.0 and branch_weight >= least:
                    branches += 1
                gain -= _x_log2_x(branch_weight)
                split_information -= _x_log2_x(branch_weight)
                weight += branch_weight
                for c in range(n_classes):
                    gain += _x_log2_x(counts[s, c])
                    observed[c] += counts[s, c]
            if branches < 2:
                continue
            gain += _x_log2_x(weight)
            for c in range(n_classes):
                gain -= _x_log2_x(observed[c])
            split_information -= _x_log2_x(total - weight)
            lows[j] = 0
        # A gain that may be due to rounding is none.
        if gain <= 1e-9 * total:
            lows[j] = -1
            continue
        gains[j], ratios[j] = gain, gain / split_information
        valid += 1
        sum_of_gains += gain
    feature = -1
    for j in range(n_features):
        # Valid, and the gain no less than the average one.
        eligible = lows[j] >= 0 and gains[j] * valid >= sum_of_gains - 1e-9 * total * valid
        if eligible and (feature < 0 or ratios[j] > ratios[feature] + ROUNDING):
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
    observed, left = np.empty(n_classes), np.empty(n_classes)
    rounding = ROUNDING * whole.sum()
    most = whole.max()
    gain, purity, feature, low, high = -np.inf, -np.inf, -1, -1, -1
    missing_left = False
    for j in range(len(codes)):
        code = codes[j]
        counts, size = np.empty((0, n_classes)), np.empty(0)
        sorted_rows = order[j]
        if is_number[j]:
            first = _observed(code, sorted_rows, mass, labels, whole, observed)
            last, n_missing = len(sorted_rows) - 1, float(first)  # missing values come first
        else:
            counts, size = _states(code, mass, labels, n_codes[j], n_classes)
            observed[:] = 0.0
            for s in range(n_codes[j]):
                observed += counts[s]
            n_missing = size[-1]
            # Of two states, one is split from the other.
            first, last = (1 if n_codes[j] == 2 else 0), n_codes[j]
        left[:] = 0.0
        n_left = 0.0
        # Of a number, i is a place in the order of the rows; of a discrete feature, a state.
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
            # Missing values on the right (0), then on the left (1).
            for side in range(2 if n_missing > 0.0 else 1):
                here = n_left + side * n_missing
                if min(here, len(labels) - here) < min_rows:
                    continue
                # Of the left branch (a) and the right one (b): the weight, that of the most
                # frequent class, and the sum of the squared weights of the classes.
                a = b = most_a = most_b = squares_a = squares_b = 0.0
                for c in range(n_classes):
                    in_a = left[c] + side * (whole[c] - observed[c])
                    in_b = whole[c] - in_a
                    a, b = a + in_a, b + in_b
                    most_a, most_b = max(most_a, in_a), max(most_b, in_b)
                    squares_a, squares_b = squares_a + in_a * in_a, squares_b + in_b * in_b
                if min(a, b) < min_weight or min(a, b) <= rounding:
                    continue
                decrease = most_a + most_b - most
                if decrease < gain - rounding:
                    continue
                # The larger, the lower the Gini index.
                pure = squares_a / a + squares_b / b
                if decrease > gain + rounding or pure > purity + rounding:
                    gain, purity, feature, low, high = decrease, pure, j, at, after
                    missing_left = side == 1
    return feature, low, high, missing_left, gain


# -------- Compiled loops of CHAID: tables of categories and classes, and the merging of categories


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
    # The log of x^a e^-x / Gamma(a), by which the series or the fraction is multiplied.
    scale = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1.0:
        # The series of the lower tail, which converges fast for small x.
        term = total = 1.0 / a
        k = a
        while term > total * 1e-17:  # smaller terms do not change a sum of floats
            k += 1.0
            term *= x / k
            total += term
        return math.log1p(-min(1.0, math.exp(scale) * total))
    # The continued fraction of the upper tail, with the names of Press et al.
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b  # a huge c stands for the infinite first one of Lentz's method
    h = d
    for i in range(1, 10_000):
        step = -i * (i - a)
        b += 2.0
        d = 1.0 / (step * d + b)
        c = b + step / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-15:  # the last factor is 1 up to rounding
            break
    return scale + math.log(h)


@kernel(interpreted=False)
def _log_p(counts: Floats, i: int, j: int) -> float:
    """Return the log of the p-value that categories i and j have the same class distribution."""
    # Pearson's statistic of a table with two rows: sum_c (n_ic b - n_jc a)^2 / (n_c a b).
    a, b = counts[i].sum(), counts[j].sum()
    # Degrees of freedom: the number of classes that occur, less one.
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

    Of ordered groups these are neighbours, and the one that is `floating`; `log_p` is -inf for the
    others. The entry of groups i < k is ``log_p[i, k]``, and `group` is as in `merge_categories`.
    """
    for step in (-1, 1):
        is_neighbour = True
        k = i + step
        while 0 <= k < len(counts):
            # k is a group, which has the number of its first category. The next group beyond the
            # floating one is still a neighbour.
            if group[k] == k:
                comparable = is_neighbour or not ordered or i == floating or k == floating
                log_p[min(i, k), max(i, k)] = _log_p(counts, i, k) if comparable else -np.inf
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
    n_groups = n
    while n_groups > 1:
        i = j = -1
        best = log_alpha
        # The most similar pair; the last two groups are not merged for their similarity. Of pairs
        # that are equally similar the first one is merged.
        for a in range(n if n_groups > 2 else 0):
            for b in range(a + 1, n):
                if log_p[a, b] > best:
                    i, j, best = a, b, log_p[a, b] + _ROUNDING
        if i < 0:
            # No pair is similar: the lightest group, if it is too light, and the most similar one.
            lightest = min_weight - 1e-9  # sums of weights have rounding errors
            for k in range(n):
                if group[k] == k and k != floating and counts[k].sum() < lightest:
                    i, lightest = k, counts[k].sum()
            if i < 0:
                break
            best = -np.inf
            # All others in turn from i on; of equally similar ones the first is taken.
            for step in range(1, n):
                k = (i + step) % n
                if log_p[min(i, k), max(i, k)] > best:
                    j, best = k, log_p[min(i, k), max(i, k)] + _ROUNDING
            i, j = min(i, j), max(i, j)
        counts[i] += counts[j]
        group[group == j] = i
        log_p[j, :] = log_p[:, j] = -np.inf  # j is no group any more
        n_groups -= 1
        # The floating category is the last one, so that it can only be j.
        floating = -1 if j == floating else floating
        _compare(counts, group, ordered, floating, i, log_p)
    return n_groups


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
    facts : ndarray of int, shape (n_features, 3)
        The number of categories and of groups, and whether missing values were merged with others.
    """
    codes, n_codes, is_number, labels, _, _, mass, _, classes = node
    n_features, n_classes = len(codes), len(classes)
    log_ps, gains = np.zeros(n_features), np.zeros(n_features)
    facts = np.zeros((n_features, 3), dtype=np.int64)
    for j in range(n_features):
        # The last category is that of missing values.
        table, size = _states(codes[j], mass, labels, n_codes[j], n_classes)
        branch_of[j] = -1
        occurring = np.flatnonzero(size > 0.0)
        counts = table[occurring]
        floating = len(occurring) - 1 if size[-1] > 0.0 else -1
        group = np.empty(len(occurring), dtype=np.int64)
        merge_categories(counts, is_number[j], floating, log_alpha, min_weight, group)
        # The missing values are a group of their own, as no category comes after them; the test
        # leaves it out.
        alone = floating >= 0 and group[floating] == floating
        n_known = len(occurring) - 1 if alone else len(occurring)
        # Each group has the number of its first category; branches count the groups from 0.
        is_first = group[:n_known] == np.arange(n_known)
        number = np.cumsum(is_first) - 1
        for i in range(n_known):
            branch_of[j, occurring[i]] = number[group[i]]
        groups = counts[:n_known][is_first]
        facts[j, 0], facts[j, 1] = n_known, len(groups)
        facts[j, 2] = floating >= 0 and not alone
        if len(groups) < 2:
            continue
        # Pearson's statistic of the table of groups and classes, and the gain, both of which are
        # sums over its cells; `present` is the number of classes that occur.
        of_classes = groups.sum(axis=0)
        weight, statistic, present = of_classes.sum(), 0.0, 0
        gain = _x_log2_x(weight)
        for c in range(n_classes):
            present += of_classes[c] > 0.0
            gain -= _x_log2_x(of_classes[c])
        for of_group in groups:
            gain -= _x_log2_x(of_group.sum())
            for c in range(n_classes):
                gain += _x_log2_x(of_group[c])
                if of_classes[c] > 0.0:
                    expected = of_group.sum() * of_classes[c] / weight
                    gap = of_group[c] - expected
                    statistic += gap * gap / expected
        if present > 1:
            log_ps[j] = log_chi_squared_tail(statistic, (len(groups) - 1.0) * (present - 1.0))
        gains[j] = gain
    return log_ps, gains, facts
