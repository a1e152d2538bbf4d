"""Groups of categories with the highest posterior probability: MODL (Boulle 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.discretize import kernels
from bayesgraph.discretize.boulle_intervals import factorials
from bayesgraph.discretize.partition import Partition
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.special import gammaln

# Maximum number of values that the search treats individually, as it compares all pairs. Of more
# values, the rarest are first put together by their majority class.
_MAX_VALUES = 1000
# Number of partial sums of the series of 1/e whose logs differ from -1 in floating point.
_SERIES = 170


@dataclass(frozen=True, eq=False)
class Groups(Partition):
    """A partition of the values of a column into groups.

    Attributes
    ----------
    groups : list of lists of int
        Codes of the values that have rows, ascending in each group; groups are ordered by their
        first value.
    """

    groups: list[list[int]]


def modl_groups(
    codes: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> Groups:
    """Return the MODL grouping of a column's values: the groups of lowest cost that a search finds.

    The search is greedy, followed by local improvement. The cost is a description length in nats:
    the negative log posterior probability of the groups up to a constant. K groups of V values with
    J classes cost (Boulle 2005, Theorem 1)

        ln V + ln B(V, K) + sum_k ln C(n_k + J - 1, J - 1) + sum_k ln(n_k! / prod_j n_kj!),

    where B(V, K) is the number of partitions of V values into at most K groups, n_k the number of
    rows in group k, n_kj that of class j among them, and C the binomial coefficient.

    Values whose rows all have the same class are always in one group (Theorem 2). For two classes,
    only groups of values that are consecutive when sorted by P(class | value) are tried (Conjecture
    1). For more classes, the two groups whose merge is cheapest are merged until one group is left,
    and the best grouping on the way is improved by moving single values.

    Parameters
    ----------
    codes : array_like of integers, shape (n,)
        Codes of the values; -1 where missing.
    classes : array_like of integers, shape (n,)
        Codes below `n_classes`.
    n_classes : int
    weights : array_like, shape (n,), optional

    References
    ----------
    M. Boulle: A Bayes optimal approach for partitioning the values of categorical attributes.
    Journal of Machine Learning Research 6 (2005), 1431-1452.

    Examples
    --------
    >>> modl_groups([0] * 9 + [1] * 9 + [2] * 9, [0] * 9 + [1] * 9 + [0] * 9, 2).groups
    [[0, 2], [1]]
    """
    return best_groups(value_counts(codes, classes, n_classes, weights))


def best_groups(counts: Floats) -> Groups:
    """Return the groups that `modl_groups` finds, of class weights of values (V, n_classes)."""
    n_classes = counts.shape[1]
    present = np.flatnonzero(counts.sum(axis=1) > 0)
    if not present.size:
        return Groups(np.zeros((0, n_classes)), 0.0, 0.0, [])
    member = _together(counts[present])
    units = np.zeros((int(member.max()) + 1, n_classes))
    np.add.at(units, member, counts[present])
    log_prior = grouping_prior(present.size, len(units))
    group, cost, null = _searched(units, log_prior)
    _, first = np.unique(group[member], return_index=True)
    labels = group[member][np.sort(first)]
    groups = [present[group[member] == label].tolist() for label in labels]
    sums = np.array([counts[group].sum(axis=0) for group in groups])
    return Groups(sums, cost, null, groups)


def value_counts(
    codes: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None
) -> Floats:
    """Return the class weights of each value of a column, shape (V, n_classes)."""
    value, label = np.asarray(codes, dtype=np.int64), np.asarray(classes, dtype=np.int64)
    if value.shape != label.shape or value.ndim != 1:
        raise DataError(
            f"Expected a class for each value; got shapes {value.shape}, {label.shape}."
        )
    there = value >= 0
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)[there]
    size = int(value.max(initial=-1)) + 1
    cells = value[there] * n_classes + label[there]
    flat = np.bincount(cells, weight, minlength=size * n_classes)
    return flat.reshape(size, n_classes).astype(np.float64)


def _together(counts: Floats) -> NDArray[np.int64]:
    """Assign the values of a column to units, which the search keeps together.

    A unit is a single value, or all values whose rows all have one and the same class. If there are
    too many units, the rarest values join the unit of their majority class. `counts` holds the
    class weights of each value; the result is the index of each value's unit.
    """
    n_values, n_classes = counts.shape
    majority = counts.argmax(axis=1)
    bound = (counts > 0).sum(axis=1) == 1
    free = np.flatnonzero(~bound)
    if free.size > _MAX_VALUES:
        # Among equally rare values, the last come first.
        rarest = np.lexsort((-free, counts[free].sum(axis=1)))
        bound[free[rarest[: free.size - _MAX_VALUES]]] = True
    key = np.where(bound, majority, n_classes + np.arange(n_values))
    return np.unique(key, return_inverse=True)[1].reshape(-1)


def grouping_prior(n_values: int, maximum: int) -> Floats:
    """Return the prior cost ln V + ln B(V, K) of K groups, for K from 0 (infinite) to `maximum`.

    B(V, K) = sum_{i=1..K} i^V / i! sum_{j=0..K-i} (-1)^j / j!, whose terms are not negative (from
    the explicit form of the Stirling numbers of the second kind). V is `n_values`.
    """
    i = np.arange(1, maximum + 1)
    powers = n_values * np.log(i) - gammaln(i + 1)
    j = np.arange(min(maximum, _SERIES))
    sums = np.cumsum((-1.0) ** j / np.exp(gammaln(j + 1)))
    # The exact value is 1 - 1 = 0.
    sums[1:2] = 0.0
    logs = log_of(sums)
    series = np.concatenate([logs, np.full(max(0, maximum - len(logs)), -1.0)])
    found = [scipy.special.logsumexp(powers[:k] + series[:k][::-1]) for k in i.tolist()]
    return np.concatenate([[np.inf], np.log(n_values) + np.array(found)])


def _searched(units: Floats, prior: Floats) -> tuple[NDArray[np.int64], float, float]:
    """Search for the grouping of minimum cost.

    The result is the group of each unit, the cost of the grouping, and the cost of a single group.

    Parameters
    ----------
    units : ndarray, shape (n_units, n_classes)
        Class weights of values that stay in one group.
    prior : ndarray
        Cost of each number of groups; see `grouping_prior`.
    """
    n_classes = units.shape[1]
    table = factorials(units, float(units.sum()), n_classes)
    if (units.sum(axis=0) > 0).sum() <= 2:
        group = _in_order(units, table, prior)
    else:
        group = kernels.merge_groups(units, table, prior)
        kernels.move_values(units, table, prior, group)
    cost = _cost(units, group, table, prior)
    while True:
        # After moves of single values, further merges of groups may lower the cost.
        names, place = np.unique(group, return_inverse=True)
        whole = np.zeros((len(names), n_classes))
        np.add.at(whole, place, units)
        again = kernels.merge_groups(whole, table, prior)[place]
        kernels.move_values(units, table, prior, again)
        lower = _cost(units, again, table, prior)
        if lower >= cost - 1e-6:
            break
        group, cost = again, lower
    return group, cost, _cost(units, np.zeros_like(group), table, prior)


def _in_order(units: Floats, table: Floats, prior: Floats) -> NDArray[np.int64]:
    """Return the group of each unit for two classes, by the search for intervals.

    Units are sorted by P(class | unit) of one class, and a group is a run of consecutive units.
    `table` holds logs of factorials.
    """
    share = units[:, units.sum(axis=0).argmax()] / units.sum(axis=1)
    order = np.argsort(share, kind="stable")
    sums = np.concatenate([np.zeros((1, units.shape[1])), np.cumsum(units[order], axis=0)])
    begins = kernels.merge_greedily(sums, table, prior)
    kernels.improve(sums, table, prior, begins)
    group = np.empty(len(units), dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return group


def _cost(units: Floats, group: NDArray[np.int64], table: Floats, prior: Floats) -> float:
    names, place = np.unique(group, return_inverse=True)
    sums = np.zeros((len(names), units.shape[1]))
    np.add.at(sums, place, units)
    nothing = np.zeros(units.shape[1])
    parts = [kernels.joined_cost(row, nothing, 1.0, table) for row in sums]
    return float(sum(parts) + prior[len(names)])
