"""Means and comoments (sums of products of deviations) of columns, within groups of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.parallel import one_blas_thread

# Number of rows of a block, whose deviations stay in the second-level cache between passes.
_BLOCK = 1024


def group_comoments(
    values: Floats,
    group: NDArray[np.integer],
    n_groups: int,
    weights: Floats,
    rows: NDArray[np.intp] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the weight, the means and the comoments of each group of complete rows.

    Each block of a group's rows is centred at its own mean while it is in the cache, and a
    symmetric matrix product gives its comoments. Blocks are merged as in Chan, Golub and LeVeque
    (1979). There is no cancellation, however far the values lie from zero.

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
    group : ndarray, shape (n_rows,), or (len(rows),) with `rows`
    n_groups : int
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    rows : ndarray, optional
        Indices of the rows to use; by default all rows.

    Returns
    -------
    count : ndarray, shape (n_groups,)
    mean : ndarray, shape (n_groups, d)
        0 in an empty group.
    comoment : ndarray, shape (n_groups, d, d)
        Sums of products of deviations from the mean.
    """
    d = values.shape[1]
    count, mean = np.zeros(n_groups), np.zeros((n_groups, d))
    comoment = np.zeros((n_groups, d, d))
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    chosen = weights if rows is None or not len(weights) else weights[rows]
    # Summed in the same way as counts elsewhere: equal counts then show that no row is left out.
    weight_of = np.bincount(group, weights=chosen if len(chosen) else None, minlength=n_groups)
    if rows is not None:
        order = rows[order]
    # The sums of a matrix product depend on the number of threads; a model must not.
    with one_blas_thread():
        for g in range(n_groups):
            members = order[ends[g - 1] if g else 0 : ends[g]]
            if not len(members):
                continue
            # Means are differences from the group's first row, so that they keep the digits of the
            # variance, and a constant column has deviations of exactly zero.
            origin = values[members[0]].copy()
            for first in range(0, len(members), _BLOCK):
                block = members[first : first + _BLOCK]
                weight = weights[block] if len(weights) else None
                n, centre, products = _comoments(values[block] - origin, weight)
                total = count[g] + n
                if not total:
                    continue
                delta = centre - mean[g]
                comoment[g] += products
                comoment[g] += np.outer(delta, delta) * (count[g] * n / total)
                mean[g] += delta * (n / total)
                count[g] = total
            if count[g]:
                mean[g] += origin
    return weight_of.astype(np.float64), mean, comoment


def _comoments(block: Floats, weight: Floats | None) -> tuple[float, Floats, Floats]:
    """Return weight, mean and comoments of a block of rows, which is overwritten."""
    if weight is None:
        total = float(len(block))
        mean = block.sum(axis=0) / total
        block -= mean
    else:
        total = float(weight.sum())
        mean = weight @ block / total if total else np.zeros(block.shape[1])
        block -= mean
        block *= np.sqrt(weight)[:, None]
    return total, mean, block.T @ block
