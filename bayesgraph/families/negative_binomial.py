"""Negative binomial counts: Poisson counts whose rate varies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from bayesgraph.cpds.density import Counts, DensityCPD
from bayesgraph.factors.algebra import Floats
from bayesgraph.families.leaf_family import LeafFamily
from bayesgraph.families.likelihood import from_values
from bayesgraph.statistics import Samples
from bayesgraph.variables import Count, Discrete

# Range of the search for the shape; above the maximum (times the mean) it is in effect Poisson.
_SMALLEST, _LARGEST = 1e-12, 1e5
# Minimum of the mean, in place of 0.
_NEVER = 1e-300


class NegativeBinomialCPD(DensityCPD):
    """Poisson counts whose rate has a gamma distribution given the same discrete parents.

    If the gamma distribution has the shape r and the exposure b (its rate parameter), the
    probability of x events is ``G(x + r) / (G(r) x!) * (b / (b + 1))^r * (b + 1)^-x`` with the
    gamma function G (Gelman et al. 2013, section 2.6). The mean is r / b, the variance
    r (b + 1) / b^2. It is the posterior predictive of Poisson counts.

    Parameters
    ----------
    children : Count, or iterable of Count
        The n children.
    shape, exposure : array_like, shape (*parents' cardinalities, n)
        Positive parameters; without the last axis if `children` is a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For other children than counts, a wrong shape, or a parameter that is not positive.
    """

    parameters: ClassVar = {"shape": 0.0, "exposure": 0.0}
    _child_type = Count
    shape: Floats
    exposure: Floats

    def __init__(
        self,
        children: Counts,
        shape: ArrayLike,
        exposure: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_parameters(children, parents, shape=shape, exposure=exposure)

    def _log_density(self, x: Floats, *parameters: Floats) -> Floats:
        r, b = parameters
        return np.asarray(
            gammaln(x + r)
            - gammaln(r)
            - gammaln(x + 1.0)
            + r * (np.log(b) - np.log1p(b))
            - x * np.log1p(b)
        )

    def _draw(self, random: np.random.Generator, *parameters: Floats) -> Floats:
        shape, exposure = parameters
        return random.poisson(random.gamma(shape) / exposure)  # type: ignore[return-value]

    def _columns(self) -> Mapping[str, Floats]:
        mean = self.shape / self.exposure
        return {"mean": mean, "sd": np.sqrt(mean * (1.0 + 1.0 / self.exposure))}


def _solve(x: Floats, weights: Floats, _: float) -> Sequence[float]:
    """Return the maximum likelihood shape and exposure for values `x` with weights.

    The mean is the sample mean and the shape is a root of the score, which exists if and only if
    the sample variance exceeds the mean (Levin and Reeds 1977). Otherwise the likelihood increases
    towards the Poisson distribution, which the largest shape approximates.
    """
    share = weights / weights.sum()
    mean = float(share @ x)
    largest = _LARGEST * max(1.0, mean)
    mean = max(mean, _NEVER)
    shape = largest

    def score(log_shape: float) -> float:
        r = np.exp(log_shape)
        return float(share @ (digamma(x + r) - digamma(r)) - np.log1p(mean / r))

    if share @ (x - mean) ** 2 > mean and score(np.log(largest)) < 0:
        shape = float(np.exp(brentq(score, np.log(_SMALLEST), np.log(largest), xtol=1e-13)))
    return shape, shape / mean


NEGATIVE_BINOMIAL = LeafFamily(
    "negative_binomial",
    "counts, whose variance exceeds their mean",
    variable=Count,
    statistics=Samples,
    estimate=from_values(NegativeBinomialCPD, _solve),
    stored={"negative_binomial": NegativeBinomialCPD},
    positive=True,
)
