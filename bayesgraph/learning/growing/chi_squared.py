"""CHAID: splits into groups of categories that differ by chi-squared tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.growing import chi_squared_kernels as kernels
from bayesgraph.learning.growing.criteria import Minima, Node, Rows, Split

# Logarithms of probabilities that differ by less count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ChiSquared:
    """The feature whose merged categories depend most significantly on the class (Kass 1980).

    Attributes
    ----------
    alpha_merge : float
        Level at which two categories differ.
    alpha_split : float
        Level at which a split is made, after Bonferroni's adjustment.
    n_intervals : int
        Maximum number of intervals, of about equal weight, into which a number is cut beforehand.
    """

    alpha_merge: float
    alpha_split: float
    n_intervals: int

    counts_weight = True

    def split(self, rows: Rows, node: Node, minima: Minima) -> Split | None:
        """Return the split of a node, or None; see `Criterion`."""
        columns = rows.columns
        branch_of = np.empty((len(columns.codes), columns.n_codes.max() + 1), dtype=np.int32)
        log_p, gain, found = kernels.chi_squared_splits(
            columns.codes, columns.n_codes, columns.is_number, node.order[0], node.share,
            rows.labels, rows.weights, rows.n_classes, math.log(self.alpha_merge),
            max(minima.rows, minima.weight), branch_of,
        )  # fmt: skip
        best, lowest = -1, math.log(self.alpha_split)
        for j, (n_categories, n_groups, floats) in enumerate(found.tolist()):
            if n_groups < 2:
                continue
            tests = log_tests(
                n_categories, n_groups, ordered=bool(columns.is_number[j]), floats=bool(floats)
            )
            if log_p[j] + tests < lowest - (_ROUNDING if best >= 0 else 0.0):
                best, lowest = j, log_p[j] + tests
        if best < 0:
            return None
        n = int(columns.n_codes[best])
        codes, missing = branch_of[best, :n].copy(), int(branch_of[best, n])
        return Split(best, float(gain[best]), codes, int(found[best, 1]), missing)


def log_tests(n_categories: int, n_groups: int, *, ordered: bool, floats: bool) -> float:
    """Return the log of Bonferroni's multiplier: the number of ways to merge the categories.

    For c categories in r groups, Kass (1980) counts the compositions of ordered categories,
    ``C(c - 1, r - 1)``; ``C(c - 2, r - 2) + r C(c - 2, r - 1)`` with a floating category among
    them; and the partitions of unordered categories, Stirling's number of the second kind.

    Examples
    --------
    >>> round(math.exp(log_tests(4, 2, ordered=False, floats=False)), 9)
    7.0
    """
    c, r = n_categories, n_groups
    if not ordered:
        return float(_log_partitions(c)[r])
    if floats:
        return math.log(math.comb(c - 2, r - 2) + r * math.comb(c - 2, r - 1))
    return math.log(math.comb(c - 1, r - 1))


@lru_cache(maxsize=1024)
def _log_partitions(n: int) -> Floats:
    """Return the logs of the numbers of partitions of n things into 0, 1, ... n sets."""
    logs = np.full(n + 1, -np.inf)
    logs[0] = 0.0
    sets = np.log(np.arange(1, n + 1))
    for _ in range(n):
        # S(n, r) = r S(n - 1, r) + S(n - 1, r - 1)
        logs[1:] = np.logaddexp(sets + logs[1:], logs[:-1])
        logs[0] = -np.inf
    return logs
