"""Loops over rows: EM for Gaussians with missing values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


@kernel(interpreted=False)
def expect_normal(
    values: Floats,
    group: NDArray[np.integer],
    weights: Floats,
    rows: NDArray[np.intp],
    start: NDArray[np.intp],
    mean: Floats,
    covariance: Floats,
    ridge: Floats,
    filled: Floats,
    sums: Floats,
    products: Floats,
) -> bool:
    """Add the expected deviations from means, and their products, of rows with missing values.

    This is the E-step of EM for a multivariate normal in each group (Little and Rubin 2002, section
    11.2): given the observed values x_o, the missing values x_u have the mean ``m_u + S_uo S_oo^-1
    (x_o - m_o)`` and the covariance ``S_uu - S_uo S_oo^-1 S_ou``, with the mean m and the
    covariance S of the group.

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
        NaN where missing.
    group : ndarray of int, shape (n_rows,)
    weights : ndarray, shape (n_rows,)
    rows : ndarray, shape (m,)
        Indices of the rows to add, sorted by their set of missing columns (pattern), then by group.
    start : ndarray, shape (n_patterns + 1,)
        Offset of the first row of each pattern in `rows`, and the end of the last.
    mean : ndarray, shape (n_groups, d)
    covariance : ndarray, shape (1 or n_groups, d, d)
    ridge : ndarray, shape (d,)
        Added to the diagonals of inverted matrices.
    filled : ndarray, shape (n_rows, d)
        Missing values are overwritten by their expectations.
    sums : ndarray, shape (n_groups, d)
        Incremented by the sums of deviations from `mean`.
    products : ndarray, shape (n_groups, d, d)
        Lower triangles are incremented by the sums of products of deviations.

    Returns
    -------
    bool
        False if some observed columns are collinear, so that no regression on them exists.
    """
    d = values.shape[1]
    seen, gone = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    factor, slopes, spread = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    z, deviation = np.empty(d), np.empty(d)
    for pattern in range(len(start) - 1):
        members = rows[start[pattern] : start[pattern + 1]]
        p, q = 0, 0
        for j in range(d):
            if values[members[0], j] == values[members[0], j]:
                seen[p] = j
                p += 1
            else:
                gone[q] = j
                q += 1
        known = -1
        at = 0
        while at < len(members):
            g = group[members[at]]
            kind = min(g, len(covariance) - 1)
            if kind != known:
                known = kind
                for i in range(p):
                    for j in range(i + 1):
                        total = covariance[kind, seen[i], seen[j]]
                        if i == j:
                            total += ridge[seen[i]]
                            smallest = 1e-14 * total
                        for k in range(j):
                            total -= factor[i, k] * factor[j, k]
                        if i != j:
                            factor[i, j] = total / factor[j, j]
                        elif total > smallest:
                            factor[i, i] = math.sqrt(total)
                        else:
                            return False
                    for a in range(q):
                        total = covariance[kind, seen[i], gone[a]]
                        for k in range(i):
                            total -= factor[i, k] * slopes[k, a]
                        slopes[i, a] = total / factor[i, i]
                for a in range(q):
                    for b in range(a + 1):
                        total = covariance[kind, gone[a], gone[b]]
                        for i in range(p):
                            total -= slopes[i, a] * slopes[i, b]
                        spread[a, b] = total
            mass = 0.0
            while at < len(members) and group[members[at]] == g:
                row = members[at]
                at += 1
                w = weights[row]
                mass += w
                for a in range(q):
                    deviation[gone[a]] = 0.0
                for i in range(p):
                    j = seen[i]
                    deviation[j] = values[row, j] - mean[g, j]
                    total = deviation[j]
                    for k in range(i):
                        total -= factor[i, k] * z[k]
                    z[i] = total / factor[i, i]
                    for a in range(q):
                        deviation[gone[a]] += slopes[i, a] * z[i]
                for a in range(q):
                    filled[row, gone[a]] = mean[g, gone[a]] + deviation[gone[a]]
                for i in range(d):
                    sums[g, i] += w * deviation[i]
                    for j in range(i + 1):
                        products[g, i, j] += w * deviation[i] * deviation[j]
            for a in range(q):
                for b in range(a + 1):
                    products[g, gone[a], gone[b]] += mass * spread[a, b]
    return True
