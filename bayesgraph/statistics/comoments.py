"""Means and sums of products of deviations of all columns, within groups of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.parallel import one_blas_thread

# Rows whose deviations stay in the second-level cache between the passes over them.
_BLOCK = 1024


def group_comoments(
    values: Floats,
    group: NDArray[np.integer],
    n_groups: int,
    weights: Floats,
    rows: NDArray[np.intp] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the weight, the means and the comoments of each group of complete rows.

    Blocks of rows of one group are centred at their own mean while they are in the cache, their
    products are added up by one symmetric matrix product, and blocks merge as in Chan, Golub and
    LeVeque (1979): nothing cancels however far the values lie from zero.

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
    group : ndarray, shape (n_rows,), or that of `rows`
    n_groups : int
    weights : ndarray, shape (n_rows,) or (0,)
        Empty: every row weighs 1.
    rows : ndarray, optional
        Those to look at, if not all.

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
    # Added up as counts are elsewhere: equal counts show that no row was left out.
    weight_of = np.bincount(group, weights=chosen if len(chosen) else None, minlength=n_groups)
    if rows is not None:
        order = rows[order]
    # The sums of a matrix product depend on how many threads share it; a model must not.
    with one_blas_thread():
        for g in range(n_groups):
            members = order[ends[g - 1] if g else 0 : ends[g]]
            if not len(members):
                continue
            # Means are held as differences from one row: they keep the digits of the spread, and
            # a constant column has deviations of exactly zero.
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
    """Return weight, mean and comoments of some rows, which are overwritten."""
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
