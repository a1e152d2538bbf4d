"""Poisson distributions of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, gammaln
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Count, Discrete, Variable
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.models.families.negative_binomial import NegativeBinomialCPD
from bayesgraph.statistics import CountSource, Singles, safe_divide

if TYPE_CHECKING:
    from bayesgraph.statistics import Smoothing

# Minimum of rates, which are positive: an event that was never seen is not impossible.
_NEVER = 1e-300


class PoissonCPD(DensityCPD):
    """Counts with Poisson distributions given the same discrete parents.

    The log probability is ``x log(rate) - rate - log(x!)``, where x! is the gamma function of
    x + 1 for fractional counts.

    Parameters
    ----------
    children : Count, or iterable of Count
        The n children.
    rate : array_like, shape (*parents' cardinalities, n)
        Positive: the expected count in a row; without the last axis if `children` is a single
        variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For other children than counts, a wrong shape, or a rate that is not positive.

    Examples
    --------
    >>> kind = Discrete("kind", ["a", "b"])
    >>> PoissonCPD(Count("calls"), [0.5, 3.0], parents=[kind])
    PoissonCPD p(calls | kind)
      kind  rate
      a      0.5
      b        3
    """

    parameters: ClassVar = {"rate": 0.0}
    support = (0.0, np.inf)
    _child_type = Count
    rate: Floats

    def _add(self, evidence: Evidence, out: Floats) -> None:
        # One matrix product for all configurations.
        values = self._numbers(evidence)
        rate = self._flat("rate")
        there = ~np.isnan(values)
        known = np.where(there, values, 0.0)
        out += np.log(rate) @ known.T
        out -= rate @ there.T.astype(np.float64)
        out -= gammaln(known + 1.0).sum(axis=1)

    def _cdf(self, x: Floats, rate: Floats) -> Floats:
        return np.where(x >= 0, scipy.special.pdtr(np.floor(np.maximum(x, 0.0)), rate), 0.0)

    def _sf(self, x: Floats, rate: Floats) -> Floats:
        return np.where(x >= 0, scipy.special.pdtrc(np.floor(np.maximum(x, 0.0)), rate), 1.0)

    def _moments(self, rate: Floats) -> tuple[Floats, Floats]:
        return rate, rate

    def _draw(self, random: np.random.Generator, rate: Floats) -> NDArray[np.int64]:
        return random.poisson(rate)


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return Poisson CPDs given the class, or negative binomial CPDs as posterior predictive.

    The rate of a class is (events + alpha m) / (rows + alpha), where m is the mean of the column.
    This is the posterior mean under a gamma prior of shape alpha m and exposure alpha. For a
    column without any event, m is half an event divided by the number of rows.
    """
    columns = tuple(child for child in children if isinstance(child, Count))
    summary = source.singles(Singles(columns, target))
    place = [summary.at.place[child] for child in columns]
    rows = summary.moments.count[:, place]
    events = rows * summary.moments.mean[:, place]
    overall = summary.overall
    half = safe_divide(np.full(len(columns), 0.5), overall.count[0, place])
    centre = np.maximum(overall.mean[0, place], np.where(half > 0, half, 0.5))
    alpha = np.array([float(smoothing.pseudo_counts(child, 1).reshape(-1)[0]) for child in columns])
    shape, exposure = events + alpha * centre, rows + alpha
    if smoothing.estimation == "predictive":
        positive = np.maximum(shape, _NEVER), np.maximum(exposure, _NEVER)
        return [NegativeBinomialCPD(columns, *positive, [target])]
    top = np.maximum(shape - 1.0, 0.0) if smoothing.estimation == "map" else shape
    rate = np.where(exposure > 0, safe_divide(top, exposure), centre)
    return [PoissonCPD(columns, np.maximum(rate, _NEVER), [target])]


POISSON = LeafFamily(
    "poisson",
    "counts, whose variance is their mean",
    variable=Count,
    is_default=True,
    statistics=Singles,
    estimate=_estimate,
    stored={"poisson": PoissonCPD},
    positive=True,
)
