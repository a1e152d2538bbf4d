"""How counts and moments become probabilities and covariances, for scores and CPDs alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.moments import safe_divide


@dataclass(frozen=True)
class Smoothing:
    """Regularisation of tables and Gaussians.

    Attributes
    ----------
    alpha : float
        Dirichlet pseudo-count added to each cell of a table; 0 is maximum likelihood.
    shrinkage : float
        Weight, in rows, with which the covariance of each configuration of the discrete parents is
        drawn towards the pooled within-class covariance:
        ``(n_d S_d + shrinkage * S_pooled) / (n_d + shrinkage)`` (as in regularised discriminant
        analysis, Friedman 1989, equation 15, with a prior strength in rows instead of a fixed
        share). Within classes, not within configurations: a parent of nearly unique values explains
        nothing. Without the class among the parents it is the covariance of all rows. 0 is maximum
        likelihood.
    var_smoothing : float
        Share of each column's own total variance that is added to its variance. A column's share
        does not depend on the other columns, so rescaling one changes nothing.
    """

    alpha: float = 1.0
    shrinkage: float = 20.0
    var_smoothing: float = 1e-9

    def __post_init__(self) -> None:
        for name in ("alpha", "shrinkage", "var_smoothing"):
            value = getattr(self, name)
            try:
                good = math.isfinite(value) and value >= 0
            except TypeError:
                good = False
            if not good:
                raise DataError(
                    f"{name} takes a finite number that is not negative; got {value!r}."
                )

    def table(self, counts: Floats) -> Floats:
        """Return P(last axis | other axes) from counts; uniform where there is nothing to go by."""
        cells = counts + self.alpha
        total = cells.sum(axis=-1, keepdims=True)
        return np.where(total > 0, safe_divide(cells, total), 1.0 / counts.shape[-1])

    def ridge(self, total_variance: Floats) -> Floats:
        """Return what is added to variances: 1 for constant columns, which then score nothing."""
        return np.where(total_variance > 0, self.var_smoothing * total_variance, 1.0)

    def covariance(self, count: Floats, comoment: Floats, towards: Floats) -> Floats:
        """Return shrunken covariances, before the ridge; `towards` in empty configurations.

        Parameters
        ----------
        count : ndarray
            Rows in each configuration, broadcastable against `comoment`.
        comoment : ndarray
            Sums of products of deviations from each configuration's mean.
        towards : ndarray
            Broadcastable against `comoment`; see `pooled`.
        """
        rows = count + self.shrinkage
        return np.where(rows > 0, safe_divide(comoment + self.shrinkage * towards, rows), towards)


def pooled(count: Floats, comoment: Floats) -> Floats:
    """Return the pooled within-class covariance; classes on the first axis, which stays at 1."""
    full = np.broadcast_to(count, np.broadcast_shapes(count.shape, comoment.shape))
    return safe_divide(comoment.sum(axis=0, keepdims=True), full.sum(axis=0, keepdims=True))
