"""Log-normal distributions of positive numbers, whose logarithms are Gaussian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import DensityCPD, GaussianPlate
from bayesgraph.models.families.gaussian import from_moments
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import CountSource, Moments

if TYPE_CHECKING:
    from bayesgraph.statistics import Smoothing


class LogNormalCPD(DensityCPD):
    """Positive children whose logarithms are Gaussian given the same discrete parents.

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children. A value that is not positive has the density 0.
    mean, variance : array_like, shape (*parents' cardinalities, n)
        Mean and (positive) variance of the natural logarithm; without the last axis if `children`
        is a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a variance that is not positive.
    """

    parameters: ClassVar = {"mean": -np.inf, "variance": 0.0}
    support = (0.0, np.inf)
    mean: Floats
    variance: Floats

    def _add(self, evidence: Evidence, out: Floats) -> None:
        # One kernel call computes the Gaussian densities of all configurations.
        values = self._numbers(evidence)
        outside = values <= 0
        logs = np.log(np.where(outside, np.nan, values))
        row_kernels.add_gaussians(out, logs, self._flat("mean"), self._flat("variance"))
        out -= np.where(np.isnan(logs), 0.0, logs).sum(axis=1)
        out[:, outside.any(axis=1)] = -np.inf

    def _cdf(self, x: Floats, mean: Floats, variance: Floats) -> Floats:
        logs = np.log(np.maximum(x, 0.0))
        return np.asarray(scipy.special.ndtr((logs - mean) / np.sqrt(variance)))

    def _sf(self, x: Floats, mean: Floats, variance: Floats) -> Floats:
        logs = np.log(np.maximum(x, 0.0))
        return np.asarray(scipy.special.ndtr((mean - logs) / np.sqrt(variance)))

    def _moments(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        return np.exp(mean + variance / 2), np.expm1(variance) * np.exp(2 * mean + variance)

    def _quantile(self, probability: float, mean: Floats, variance: Floats) -> Floats:
        return np.asarray(np.exp(mean + np.sqrt(variance) * scipy.special.ndtri(probability)))

    def _draw(self, random: np.random.Generator, mean: Floats, variance: Floats) -> Floats:
        return np.exp(mean + np.sqrt(variance) * random.standard_normal(len(mean)))

    def _columns(self) -> Mapping[str, Floats]:
        return {"mean of log": self.mean, "sd of log": np.sqrt(self.variance)}


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return log-normal CPDs, estimated as Gaussians of the logarithms."""
    if smoothing.estimation == "predictive":
        raise DataError(
            "estimation='predictive' is not known for log-normal columns; choose 'mean', 'map' or "
            "'ml', or make a column of logarithms and call it Gaussian."
        )
    columns = tuple(child for child in children if isinstance(child, Continuous))
    moments = source.summary(Moments(columns, ("log",), target)).moments
    overall = moments.merged((target.cardinality,), 0)
    plate = from_moments(columns, target, moments, overall, smoothing)[0]
    assert isinstance(plate, GaussianPlate)  # not the predictive
    return [LogNormalCPD(columns, plate.mean, plate.variance, [target])]


LOGNORMAL = LeafFamily(
    "lognormal",
    "positive numbers whose logarithms are Gaussian",
    variable=Continuous,
    statistics=Moments,
    estimate=_estimate,
    stored={"lognormal": LogNormalCPD},
    positive=True,
)
