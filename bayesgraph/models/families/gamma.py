"""Gamma distributions of positive numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy

from bayesgraph.core.arrays import Floats, digamma, gammaln, polygamma
from bayesgraph.core.variables import Continuous
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.models.families.leaf_family import LeafFamily, from_means
from bayesgraph.statistics import Moments

# Shape above which the first terms of the asymptotic series are exact.
_LARGE = 1e3
_STEPS = 20


class GammaCPD(DensityCPD):
    """Positive children with gamma distributions given the same discrete parents.

    The log density is ``shape log(rate) - log G(shape) + (shape - 1) log(x) - rate x``; the mean is
    shape / rate. A value that is not positive has the density 0.

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children.
    shape, rate : array_like, shape (*parents' cardinalities, n)
        Positive; rates are per unit of the child. The last axis is omitted if `children` is a
        single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a parameter that is not positive.

    Examples
    --------
    >>> GammaCPD(Continuous("wait"), shape=2.0, rate=0.5)
    GammaCPD p(wait)
      shape  rate
      2       0.5
    """

    parameters: ClassVar = {"shape": 0.0, "rate": 0.0}
    support = (0.0, np.inf)
    shape: Floats
    rate: Floats

    def _log_density(self, x: Floats, shape: Floats, rate: Floats) -> Floats:
        logs = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x
        return np.where(x > 0, logs, -np.inf)

    def _cdf(self, x: Floats, shape: Floats, rate: Floats) -> Floats:
        return np.asarray(scipy.special.gammainc(shape, rate * np.maximum(x, 0.0)))

    def _sf(self, x: Floats, shape: Floats, rate: Floats) -> Floats:
        return np.asarray(scipy.special.gammaincc(shape, rate * np.maximum(x, 0.0)))

    def _moments(self, shape: Floats, rate: Floats) -> tuple[Floats, Floats]:
        return shape / rate, shape / rate**2

    def _quantile(self, probability: float, shape: Floats, rate: Floats) -> Floats:
        return np.asarray(scipy.special.gammaincinv(shape, probability) / rate)

    def _draw(self, random: np.random.Generator, shape: Floats, rate: Floats) -> Floats:
        return random.gamma(shape) / rate


def solve(mean: Floats, log_mean: Floats) -> Sequence[Floats]:
    """Return the maximum likelihood shape and rate, given the means of x and of log(x).

    The method is the generalised Newton iteration of Minka (2002), equation 15.
    """
    s = np.log(mean) - log_mean
    # A smaller s is rounding error: all values are equal.
    s = np.where(s > 4 * np.finfo(float).eps * (1.0 + np.abs(log_mean)), s, 0.0)
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    for _ in range(_STEPS):
        # The gap is log(shape) - digamma(shape), without cancellation for large shapes.
        large = shape > _LARGE
        a = np.where(large, 1.0, shape)
        gap = np.where(large, 1 / (2 * shape) + 1 / (12 * shape**2), np.log(a) - digamma(a))
        slope = np.where(large, -1 / (2 * shape**2) - 1 / (6 * shape**3), 1 / a - polygamma(1, a))
        shape = 1.0 / (1.0 / shape + (gap - s) / (shape**2 * slope))
    return shape, shape / mean


def _spread(mean: Floats) -> Sequence[Floats]:
    """Return the means of x and log(x) to assume for a column of equal values.

    They are those of the exponential distribution whose mean is this value. The maximum likelihood
    estimate from the column itself would be degenerate.
    """
    centre = np.where(mean > 0, mean, 1.0)
    return centre, np.log(centre) - np.euler_gamma


GAMMA = LeafFamily(
    "gamma",
    "positive numbers",
    variable=Continuous,
    statistics=Moments,
    estimate=from_means(GammaCPD, ("identity", "log"), solve, _spread),
    stored={"gamma": GammaCPD},
    positive=True,
)
