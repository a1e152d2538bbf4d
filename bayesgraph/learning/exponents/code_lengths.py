"""Description lengths in nats: of integers, of choices, and of the discretisation of a feature."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bayesgraph.factors.algebra import Floats

# Normalising constant of the universal code: the sum of 2^-log2*(n) over all n (Rissanen 1983).
_RISSANEN = 2.86511


def log_factorial(n: ArrayLike) -> Floats:
    """Return ln n!, by the gamma function if n is not an integer."""
    return np.asarray(gammaln(np.asarray(n, dtype=np.float64) + 1.0))


def log_choose(n: ArrayLike, k: ArrayLike) -> Floats:
    """Return ln of the binomial coefficient of n and k."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


def universal_code(n: int) -> float:
    """Return the length of Rissanen's universal code of an integer n >= 1, in nats.

    ln 2.86511 + ln 2 (log2 n + log2 log2 n + ...), with only the positive terms (Rissanen 1983).

    Examples
    --------
    >>> round(universal_code(1), 6), round(universal_code(4), 6)
    (1.052607, 3.132048)
    """
    length, rest = math.log(_RISSANEN), math.log2(n)
    while rest > 0:
        length += rest * math.log(2.0)
        rest = math.log2(rest)
    return length


def partition_costs(counts: Sequence[Floats], intervals: Sequence[bool]) -> Floats:
    """Return the description length of the intervals or groups of each feature, in nats.

    These are the costs c_k in the prior of fractional naive Bayes (see `fractional_naive_bayes`):
    ln d for the choice of the feature among d, plus the prior part of the discretisation criterion
    of Boullé (2006). This part is ``ln N + ln C(N + I - 1, I - 1)`` for the cut points of I
    intervals, and for every feature ``sum_i ln C(N_i + J - 1, J - 1)`` for the class frequencies in
    its I states. A feature that was not discretised has no cut points to encode.

    Parameters
    ----------
    counts : sequence of ndarray, shape (I, J)
        Weight of the rows with each state of a feature in each class.
    intervals : sequence of bool
        Whether the states of each feature are intervals chosen by a discretiser.

    Returns
    -------
    ndarray, shape (d,)
    """
    costs = np.full(len(counts), math.log(len(counts)) if counts else 0.0)
    for k, (table, chosen) in enumerate(zip(counts, intervals, strict=True)):
        cells, classes = table.shape
        rows = table.sum(axis=1)
        n = rows.sum()
        costs[k] += log_choose(rows + classes - 1, classes - 1).sum()
        if chosen and n > 0:
            costs[k] += math.log(max(n, 1.0)) + float(log_choose(n + cells - 1, cells - 1))
    return costs
