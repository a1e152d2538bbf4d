"""Searches for cut points and groups of values, given class counts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Tolerance of costs: smaller differences are ties, which go to fewer intervals.
_TIE = 1e-6
# Rounding error of a cost per row, in nats.
_ROUNDING = 1e-12


@kernel(interpreted=False)
def elementary_bins(
    values: Floats, classes: NDArray[np.signedinteger], weights: Floats, n_classes: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return the first row of each elementary bin, and the cumulative class counts of bins.

    A bin is a distinct value, or a run of values whose rows all have one class.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Values in ascending order.
    classes : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (0,)
        Empty if every row has weight 1.

    Returns
    -------
    first : ndarray, shape (B,)
    sums : ndarray, shape (B + 1, n_classes)
        The first row is zero.
    """
    n = len(values)
    first = np.empty(n, dtype=np.int64)
    count = 0
    last_class = -1
    row = 0
    while row < n:
        # The only class of the rows of one value, -1 if there are several.
        only = int(classes[row])
        end = row + 1
        while end < n and values[end] == values[row]:
            if classes[end] != only:
                only = -1
            end += 1
        # A value whose rows have the only class of the value before continues its bin.
        if only < 0 or only != last_class:
            first[count] = row
            count += 1
        last_class = only
        row = end
    sums = np.zeros((count + 1, n_classes))
    for b in range(count):
        sums[b + 1] = sums[b]
        for i in range(first[b], first[b + 1] if b + 1 < count else n):
            sums[b + 1, classes[i]] += weights[i] if len(weights) else 1.0
    return first[:count].copy(), sums


# ------------------------------------------------------------------------- Fayyad and Irani


@kernel(interpreted=False)
def _entropy(sums: Floats, a: int, b: int) -> tuple[float, float, int]:
    """Return weight, weight times class entropy (bits) and number of classes of bins a to b - 1.

    `sums` holds the cumulative class counts of the bins.
    """
    total, logs, present = 0.0, 0.0, 0
    for j in range(sums.shape[1]):
        n = sums[b, j] - sums[a, j]
        if n > 0.0:
            total += n
            logs += n * math.log2(n)
            present += 1
    if total <= 0.0:
        return 0.0, 0.0, 0
    # n times the entropy: - sum_j n_j log2(n_j / n) = n log2 n - sum_j n_j log2 n_j.
    return total, total * math.log2(total) - logs, present


@kernel(interpreted=False)
def split_recursively(sums: Floats, total: float) -> NDArray[np.bool_]:
    """Return a mask of the bins that begin an interval, by the method of Fayyad and Irani.

    Intervals are split recursively while a split reduces the description length (MDLP).

    Parameters
    ----------
    sums : ndarray, shape (B + 1, n_classes)
        Cumulative class counts of the elementary bins.
    total : float
        Number of rows among which a cut point is described, if an interval has fewer; 0 for those
        of the interval.

    Returns
    -------
    ndarray of bool, shape (B,)
    """
    n_bins = len(sums) - 1
    begins = np.zeros(n_bins, dtype=np.bool_)
    begins[0] = True
    stack = np.empty((n_bins + 1, 2), dtype=np.int64)
    stack[0] = 0, n_bins
    depth = 1
    while depth:
        depth -= 1
        a, b = stack[depth]
        # All entropies are times the number of rows, as is the criterion of acceptance.
        n, entropy, k = _entropy(sums, a, b)
        if k < 2 or n <= 1.0:  # of one class, or one row: nothing to gain, and log2(0) below
            continue
        least, at = np.inf, -1
        for m in range(a + 1, b):
            of_parts = _entropy(sums, a, m)[1] + _entropy(sums, m, b)[1]
            if of_parts < least:
                least, at = of_parts, m
        if at < 0:  # the interval is a single bin
            continue
        n1, entropy1, k1 = _entropy(sums, a, at)
        n2, entropy2, k2 = _entropy(sums, at, b)
        # log2(3^k - 2) without overflow for large k.
        class_sets = k * math.log2(3.0) + math.log1p(-2.0 * 3.0 ** (-k)) / math.log(2.0)
        # The delta of Fayyad and Irani: k Ent(S) - k1 Ent(S1) - k2 Ent(S2), subtracted from the
        # log.
        change = class_sets - (k * entropy / n - k1 * entropy1 / n1 - k2 * entropy2 / n2)
        if entropy - least > math.log2(max(n, total) - 1.0) + change:
            begins[at] = True
            # One interval was taken from the stack before two non-empty ones are put there: they
            # fit.
            stack[depth] = a, at
            stack[depth + 1] = at, b
            depth += 2
    return begins


@kernel(interpreted=False)
def splits_of_parts(
    ends: NDArray[np.signedinteger],
    values: Floats,
    classes: NDArray[np.signedinteger],
    weights: Floats,
    n_classes: int,
    total: float,
) -> NDArray[np.bool_]:
    """Return a mask of the rows at which intervals are split, each as in `split_recursively`.

    The intervals are the rows ``ends[i]`` to ``ends[i + 1] - 1``, and the row at which an interval
    is split begins its second part; for the other parameters see
    `elementary_bins` and `split_recursively`.
    """
    splits = np.zeros(len(values), dtype=np.bool_)
    for i in range(len(ends) - 1):
        a, b = ends[i], ends[i + 1]
        first, sums = elementary_bins(values[a:b], classes[a:b], weights[a:b], n_classes)
        if len(first) > 1:
            begins = split_recursively(sums, total)
            for at in range(1, len(first)):
                splits[a + first[at]] = begins[at]
    return splits


# ------------------------------------------------------------------------------------ Boulle


@kernel(interpreted=False)
def log_factorial(x: float, table: Floats) -> float:
    """Return ln x!, from the table of ln 0!, ln 1!, ... unless it is empty."""
    return table[int(x)] if len(table) else math.lgamma(x + 1.0)


@kernel(interpreted=False, inline="always")
def joined_cost(one: Floats, other: Floats, sign: float, table: Floats) -> float:
    """Return the MODL cost in nats of a part with the class counts ``one + sign * other``.

    A part is an interval or a group. Its cost is the description length of the classes of its n
    rows, ln C(n + J - 1, J - 1) + ln(n! / prod_j n_j!), in which n! cancels; n_j is the count of
    class j of J. `table` holds logs of factorials.
    """
    n_classes = len(one)
    total, cost = 0.0, 0.0
    for j in range(n_classes):
        # Differences of fractional weights may be negative by rounding.
        n = max(one[j] + sign * other[j], 0.0)
        total += n
        cost -= log_factorial(n, table)
    return (
        cost + log_factorial(total + n_classes - 1, table) - log_factorial(n_classes - 1.0, table)
    )


@kernel(interpreted=False, inline="always")
def interval_cost(sums: Floats, table: Floats, a: int, b: int) -> float:
    """Return the cost of bins a to b - 1 as one interval; see `joined_cost`."""
    # The class counts of bins a to b - 1 are the difference of two rows of cumulative ones.
    return joined_cost(sums[b], sums[a], -1.0, table)


@kernel(interpreted=False)
def _lift(minimum: NDArray[np.int64], delta: Floats, size: int, leaf: int) -> None:
    """Update a tournament tree of minima after ``delta[leaf]`` has changed.

    ``minimum[node]`` is the leaf of minimum delta among the node's descendants, the first in a tie.
    The leaves start at index `size`.
    """
    # The root is node 1, the children of a node are 2 node and 2 node + 1.
    node = (size + leaf) // 2
    while node:
        one, other = minimum[2 * node], minimum[2 * node + 1]
        minimum[node] = other if delta[other] < delta[one] else one
        node //= 2


@kernel(interpreted=False)
def merge_greedily(sums: Floats, table: Floats, prior: Floats) -> NDArray[np.bool_]:
    """Return a mask of the bins that begin an interval, by greedy merging of neighbours.

    Merging proceeds to a single interval; the partition of the lowest cost on the way is returned.

    Parameters
    ----------
    sums : ndarray, shape (B + 1, n_classes)
        Cumulative class counts of the elementary bins.
    table : ndarray
        Logs of the factorials of 0, 1, ...; empty if counts are fractional.
    prior : ndarray, shape (B + 1,)
        Cost of each number of intervals, in addition to the costs of the intervals.

    Returns
    -------
    ndarray of bool, shape (B,)
    """
    n_bins = len(sums) - 1
    size = 1
    while size < n_bins:
        size *= 2
    # Indexed by the first bin of an interval: the first bins of its neighbours, its cost, and the
    # change in cost by merging it with the next one.
    after = np.arange(1, n_bins + 1)
    before = np.arange(-1, n_bins - 1)
    cost = np.empty(n_bins)
    delta = np.full(size, np.inf)
    minimum = np.empty(2 * size, dtype=np.int64)  # a tournament tree; see `_lift`
    total = 0.0
    for b in range(n_bins):
        cost[b] = interval_cost(sums, table, b, b + 1)
        total += cost[b]
    for b in range(n_bins - 1):
        delta[b] = interval_cost(sums, table, b, b + 2) - cost[b] - cost[b + 1]
    minimum[size:] = np.arange(size)
    for node in range(size - 1, 0, -1):
        one, other = minimum[2 * node], minimum[2 * node + 1]
        minimum[node] = other if delta[other] < delta[one] else one
    # Number of intervals left when the boundary before each bin was removed.
    left_when_removed = np.zeros(n_bins, dtype=np.int64)
    best, best_count = total + prior[n_bins], n_bins
    for count in range(n_bins - 1, 0, -1):
        # The root has the first of the two neighbours whose merge is cheapest.
        a = minimum[1]
        b = after[a]
        total += delta[a]
        cost[a] += cost[b] + delta[a]
        left_when_removed[b] = count
        after[a] = after[b]
        if after[b] < n_bins:
            before[after[b]] = a
        # Interval b is now part of a, whose merges with its two neighbours have other costs.
        delta[b] = np.inf
        _lift(minimum, delta, size, b)
        delta[a] = np.inf
        if after[a] < n_bins:
            next_one = after[a]
            delta[a] = interval_cost(sums, table, a, after[next_one]) - cost[a] - cost[next_one]
        _lift(minimum, delta, size, a)
        if before[a] >= 0:
            prev = before[a]
            delta[prev] = interval_cost(sums, table, prev, after[a]) - cost[prev] - cost[a]
            _lift(minimum, delta, size, prev)
        # A tie goes to fewer intervals, but does not raise the bound.
        if total + prior[count] < best + _TIE:
            best, best_count = min(best, total + prior[count]), count
    # Boundaries that were never removed have 0.
    begins = left_when_removed < best_count
    begins[0] = True
    return begins


@kernel(interpreted=False)
def _best_split(sums: Floats, table: Floats, a: int, b: int) -> tuple[float, int]:
    """Return the minimum cost of bins a to b - 1 as two intervals, and the second's first bin.

    They are infinity and -1 for a single bin, which cannot be split.
    For `sums` and `table` see `merge_greedily`.
    """
    minimum, at = np.inf, -1
    for m in range(a + 1, b):
        cost = interval_cost(sums, table, a, m) + interval_cost(sums, table, m, b)
        if cost < minimum:
            minimum, at = cost, m
    return minimum, at


@kernel(interpreted=False)
def improve(sums: Floats, table: Floats, prior: Floats, begins: NDArray[np.bool_]) -> None:
    """Improve a partition in place by the best of four moves until none lowers the cost.

    The moves: split an interval; merge two; merge two and split them anew; merge three and split
    the result in two. `begins` marks the bins that begin an interval; for the other parameters see
    `merge_greedily`.
    """
    n_bins = len(begins)
    # The first bins of the next and of the previous interval; n_bins and -1 where there is none.
    # The last interval is the one before n_bins.
    after = np.full(n_bins, n_bins)
    before = np.full(n_bins + 1, -1)
    # Indexed by the first bin of an interval: its cost, the change in cost by each move, and the
    # bin at which the move splits.
    cost = np.empty(n_bins)
    change = np.empty((n_bins, 4))
    cut = np.empty((n_bins, 4), dtype=np.int64)
    # Additional intervals by each move: split; merge two; re-split two; merge three into two.
    growth = np.array([1, -1, 0, -1])
    ends = np.append(np.flatnonzero(begins), n_bins)
    count = len(ends) - 1
    for i in range(count):
        a, b = ends[i], ends[i + 1]
        after[a], before[b] = b, a
        cost[a] = interval_cost(sums, table, a, b)
    # Range of first bins whose changes are to be computed (again).
    stale_from, stale_to = 0, n_bins
    # Rounding errors grow with the weight: the tolerance prevents moves that repeat in a cycle.
    tie = max(_TIE, _ROUNDING * sums[-1].sum())
    while True:
        a = stale_from
        while a < stale_to:
            b = after[a]
            change[a, :] = np.inf
            cut[a, :] = -1
            minimum, at = _best_split(sums, table, a, b)
            change[a, 0], cut[a, 0] = minimum - cost[a], at
            if b < n_bins:
                c = after[b]
                change[a, 1] = interval_cost(sums, table, a, c) - cost[a] - cost[b]
                minimum, at = _best_split(sums, table, a, c)
                change[a, 2], cut[a, 2] = minimum - cost[a] - cost[b], at
                if c < n_bins:
                    minimum, at = _best_split(sums, table, a, after[c])
                    change[a, 3], cut[a, 3] = minimum - cost[a] - cost[b] - cost[c], at
            a = b
        best, best_at, best_move = -tie, -1, -1
        a = 0
        while a < n_bins:
            for move in range(4):
                change_of_move = change[a, move]
                if change_of_move < np.inf:
                    change_of_move += prior[count + growth[move]] - prior[count]
                    if change_of_move < best:
                        best, best_at, best_move = change_of_move, a, move
            a = after[a]
        if best_at < 0:
            break
        a = best_at
        # The first bin after the intervals that take part in the move: one, two, two or three.
        end = after[a]
        if best_move > 0:
            end = after[end]
        if best_move == 3:
            end = after[end]
        count += growth[best_move]
        middle = cut[a, best_move]
        if middle < 0:  # two intervals become one
            after[a] = end
            before[end] = a
        else:
            after[a], after[middle] = middle, end
            before[middle], before[end] = a, middle
            cost[middle] = interval_cost(sums, table, middle, end)
        cost[a] = interval_cost(sums, table, a, after[a])
        # Moves that start up to two intervals earlier involve this interval.
        stale_from = a
        for _ in range(2):
            if before[stale_from] >= 0:
                stale_from = before[stale_from]
        stale_to = end
    begins[:] = False
    a = 0
    while a < n_bins:
        begins[a] = True
        a = after[a]


# --------------------------------------------------------------------------- groups of values


@kernel(interpreted=False)
def merge_groups(counts: Floats, table: Floats, prior: Floats) -> NDArray[np.int64]:
    """Return the group of each value in the best grouping found by greedy merging.

    Merging proceeds to a single group; the grouping of the lowest cost on the way is returned.

    Parameters
    ----------
    counts : ndarray, shape (V, n_classes)
        Class counts of the V values.
    table : ndarray
        Logs of factorials, as for `merge_greedily`.
    prior : ndarray, shape (V + 1,)
        Cost of each number of groups, in addition to the costs of the groups.

    Returns
    -------
    ndarray of int, shape (V,)
        The group of a value is the index of the group's first value.
    """
    size = len(counts)
    sums = counts.copy()
    cost = np.empty(size)
    nothing = np.zeros(counts.shape[1])
    total = 0.0
    for i in range(size):
        cost[i] = joined_cost(sums[i], nothing, 1.0, table)
        total += cost[i]
    # Change in cost by merging groups i and j, and for each group the one whose merge is cheapest.
    delta = np.full((size, size), np.inf)
    for i in range(size):
        for j in range(i):
            delta[i, j] = joined_cost(sums[i], sums[j], 1.0, table) - cost[i] - cost[j]
            delta[j, i] = delta[i, j]
    nearest = np.zeros(size, dtype=np.int64)
    for i in range(size):
        nearest[i] = np.argmin(delta[i])
    is_group = np.ones(size, dtype=np.bool_)
    # The two groups whose merge left `count` groups: the second became part of the first.
    merges = np.zeros((size, 2), dtype=np.int64)
    best, best_count = total + prior[size], size
    for count in range(size - 1, 0, -1):
        one, minimum = -1, np.inf
        for i in range(size):
            if is_group[i] and delta[i, nearest[i]] < minimum:
                one, minimum = i, delta[i, nearest[i]]
        other = nearest[one]
        one, other = min(one, other), max(one, other)
        merges[count] = one, other
        total += minimum
        cost[one] += cost[other] + minimum
        sums[one] += sums[other]
        is_group[other] = False
        delta[other, :] = delta[:, other] = np.inf
        for i in range(size):
            if is_group[i] and i != one:
                delta[one, i] = joined_cost(sums[one], sums[i], 1.0, table) - cost[one] - cost[i]
                delta[i, one] = delta[one, i]
        for i in range(size):
            if is_group[i]:
                # Only costs of merges with `one` changed; those with `other` are gone.
                if i == one or nearest[i] == one or nearest[i] == other:
                    nearest[i] = np.argmin(delta[i])
                elif delta[i, one] < delta[i, nearest[i]]:
                    nearest[i] = one
        # A tie goes to fewer groups, but does not raise the bound.
        if total + prior[count] < best + _TIE:
            best, best_count = min(best, total + prior[count]), count
    # The merges again, up to that which left the best number of groups.
    group = np.arange(size)
    for count in range(size - 1, best_count - 1, -1):
        for i in range(size):
            if group[i] == merges[count, 1]:
                group[i] = merges[count, 0]
    return group


@kernel(interpreted=False)
def move_values(counts: Floats, table: Floats, prior: Floats, group: NDArray[np.int64]) -> None:
    """Move single values to other groups, or to a new group, as long as that lowers the cost.

    Parameters as for `merge_groups`; `group` holds the group of each value, an index below V,
    and is modified in place.
    """
    size, n_classes = counts.shape
    sums = np.zeros((size, n_classes))
    members = np.zeros(size, dtype=np.int64)
    for i in range(size):
        sums[group[i]] += counts[i]
        members[group[i]] += 1
    nothing = np.zeros(n_classes)
    cost = np.empty(size)
    count = 0
    for g in range(size):
        cost[g] = joined_cost(sums[g], nothing, 1.0, table)
        count += members[g] > 0
    # A move must gain more, so that the loop ends.
    tie = max(_TIE, _ROUNDING * counts.sum())
    moved = True
    while moved:
        moved = False
        for i in range(size):
            old = group[i]
            # 1 or 0: the number of groups falls by it if the value leaves.
            is_alone = 1 if members[old] == 1 else 0
            # Cost of the old group without the value.
            cost_without = 0.0 if is_alone else joined_cost(sums[old], counts[i], -1.0, table)
            best, best_group, empty = -tie, -1, -1
            for g in range(size):
                if members[g] == 0:
                    empty = g if empty < 0 else empty
                elif g != old:
                    change = cost_without - cost[old] + joined_cost(sums[g], counts[i], 1.0, table)
                    change += prior[count - is_alone] - prior[count] - cost[g]
                    if change < best:
                        best, best_group = change, g
            # A new group: an empty one costs nothing, so that there is no cost to subtract.
            if not is_alone and empty >= 0:
                change = cost_without - cost[old] + joined_cost(counts[i], nothing, 1.0, table)
                change += prior[count + 1] - prior[count]
                if change < best:
                    best, best_group = change, empty
            if best_group >= 0:
                # One more if the new group was empty, and one less if the old one becomes empty.
                count += (members[best_group] == 0) - is_alone
                sums[old] -= counts[i]
                sums[best_group] += counts[i]
                members[old] -= 1
                members[best_group] += 1
                group[i] = best_group
                cost[old] = joined_cost(sums[old], nothing, 1.0, table)
                cost[best_group] = joined_cost(sums[best_group], nothing, 1.0, table)
                moved = True


# --------------------------------------------------------------------- cells of a stream's summary


@kernel(interpreted=False)
def class_sums(counts: Floats) -> Floats:
    """Return cumulative class weights of the cells, shape (n_cells + 1, n_classes)."""
    sums = np.zeros((len(counts) + 1, counts.shape[1]))
    for i in range(len(counts)):
        for k in range(counts.shape[1]):
            sums[i + 1, k] = sums[i, k] + counts[i, k]
    return sums


@kernel(interpreted=False)
def most_probable_cuts(sums: Floats, factorial: Floats, begins: NDArray[np.bool_]) -> None:
    """Mark in `begins` the first cells of the intervals of minimum MODL cost that the search finds.

    `sums` holds the cumulative class weights of the cells, which must be integers; `factorial` is
    the table of `log_factorial`.
    """
    n_cells = len(begins)
    total = int(sums[n_cells].sum())
    begins[0] = True
    if total < 2:
        return
    # ln N + ln C(N + I - 1, I - 1) for I intervals; see `published_prior`.
    prior = np.empty(n_cells + 1)
    prior[0] = np.inf
    for i in range(1, n_cells + 1):
        prior[i] = math.log(total) + log_factorial(total + i - 1.0, factorial)
        prior[i] -= log_factorial(i - 1.0, factorial) + log_factorial(float(total), factorial)
    starts = merge_greedily(sums, factorial, prior)
    improve(sums, factorial, prior, starts)
    begins[:] = starts
