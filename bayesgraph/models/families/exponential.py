"""Exponential distributions of non-negative numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Continuous
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.models.families.leaf_family import LeafFamily, from_means
from bayesgraph.statistics import Moments


class ExponentialCPD(DensityCPD):
    """Children with exponential distributions given the same discrete parents.

    The log density is ``log(rate) - rate x`` for x >= 0; a negative value has the density 0.

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children.
    rate : array_like, shape (*parents' cardinalities, n)
        Positive, per unit of the child; without the last axis if `children` is a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a rate that is not positive.
    """

    parameters: ClassVar = {"rate": 0.0}
    support = (0.0, np.inf)
    rate: Floats

    def _log_density(self, x: Floats, rate: Floats) -> Floats:
        return np.where(x >= 0, np.log(rate) - rate * x, -np.inf)

    def _cdf(self, x: Floats, rate: Floats) -> Floats:
        return np.asarray(-np.expm1(-rate * np.maximum(x, 0.0)))

    def _sf(self, x: Floats, rate: Floats) -> Floats:
        return np.asarray(np.exp(-rate * np.maximum(x, 0.0)))

    def _moments(self, rate: Floats) -> tuple[Floats, Floats]:
        return 1.0 / rate, rate**-2.0

    def _quantile(self, probability: float, rate: Floats) -> Floats:
        return np.asarray(-np.log1p(-probability) / rate)

    def _draw(self, random: np.random.Generator, rate: Floats) -> Floats:
        return random.exponential(1.0 / rate)


def _solve(mean: Floats) -> Sequence[Floats]:
    return (1.0 / mean,)


def _spread(mean: Floats) -> Sequence[Floats]:
    return (np.where(mean > 0, mean, 1.0),)


EXPONENTIAL = LeafFamily(
    "exponential",
    "waiting times: numbers from 0 on, the most frequent near 0",
    variable=Continuous,
    statistics=Moments,
    estimate=from_means(ExponentialCPD, ("non-negative",), _solve, _spread),
    stored={"exponential": ExponentialCPD},
    positive=True,
)
