"""Linear Gaussian regressions of many families at once: coefficients and residual variances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.parameters import towards
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.statistics import FamilyStatistics
from bayesgraph.statistics.moments import safe_divide

_TINY = float(np.finfo(np.float64).tiny)


def stacked(families: Sequence[FamilyStatistics]) -> FamilyStatistics:
    """Return the statistics of m families with arrays of equal shapes, stacked along a new axis.

    Returns
    -------
    FamilyStatistics
        counts (..., m), mean (..., m, n), comoment (..., m, n, n): the new axis is the last axis of
        the configurations.
    """
    return FamilyStatistics(
        np.stack([f.counts for f in families], axis=-1),
        np.stack([f.mean for f in families], axis=-2),
        np.stack([f.comoment for f in families], axis=-3),
    )


def gaussian_fit(
    statistics: FamilyStatistics, smoothing: Smoothing, ridge: Floats, is_class: Sequence[bool]
) -> Floats:
    """Return the maximised Gaussian log likelihood of m families up to a constant, shape (m,).

    It is -1/2 sum n log(residual variance) over the configurations of the discrete parents.
    Variances are regularised like those of CPDs: see `estimate_gaussian`.

    Parameters
    ----------
    statistics : FamilyStatistics
        Stacked statistics of m families, see `stacked`.
    smoothing : Smoothing
    ridge : ndarray, shape (m, n)
        Added to the variances of the continuous parents and, last, of the child.
    is_class : sequence of bool
        Whether each discrete parent is the class.
    """
    m, n = ridge.shape
    covariance = smoothing.covariance(
        statistics.counts[..., None, None],
        statistics.comoment,
        towards(statistics, smoothing, is_class),
    )
    covariance = covariance + ridge[:, None, :] * np.eye(n)
    _, variance = regression(covariance, np.broadcast_to(ridge[:, -1], covariance.shape[:-2]))
    fit = statistics.counts * np.log(np.maximum(variance, _TINY))
    return np.asarray(-0.5 * fit.reshape(-1, m).sum(axis=0))


def regression(covariance: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Return coefficients and residual variance of the regression of the last column on the others.

    Parameters
    ----------
    covariance : ndarray, shape (..., n, n)
    floor : ndarray, broadcastable to shape (...)
        Minimum of the residual variance.

    Returns
    -------
    slopes : ndarray, shape (..., n - 1)
    variance : ndarray, shape (...)
    """
    own = covariance[..., -1, -1]
    if covariance.shape[-1] == 1:
        return np.zeros((*own.shape, 0)), np.asarray(own)
    # Rows are standardised before columns: units do not matter, and products stay in the range of
    # floats.
    deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    rows, columns = (
        np.broadcast_to(side, covariance.shape)
        for side in (deviation[..., :, None], deviation[..., None, :])
    )
    correlation = safe_divide(safe_divide(covariance, rows), columns)
    link = correlation[..., :-1, -1]
    if covariance.shape[-1] == 2:
        slopes = link
    else:
        inverse = np.linalg.pinv(correlation[..., :-1, :-1], hermitian=True)
        slopes = np.einsum("...ij,...j->...i", inverse, link)
    explained = np.minimum(np.sum(link * slopes, axis=-1), 1.0)
    scale = safe_divide(np.broadcast_to(deviation[..., -1:], link.shape), deviation[..., :-1])
    return slopes * scale, np.maximum(own * (1.0 - explained), floor)
