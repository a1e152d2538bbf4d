"""Families of counts: Poisson and negative binomial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, digamma, gammaln
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Count, Discrete, Variable
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.models.families.leaf_family import LeafFamily, alphas, from_values, numeric
from bayesgraph.statistics import CountSource, Singles, Smoothing, safe_divide

# ----------------------------------------------------------------- Negative binomial distributions


# Range of the search for the shape; above the maximum (times the mean) it is in effect Poisson.
_SMALLEST, _LARGEST = 1e-12, 1e5
# Minimum of the mean, in place of 0.
_NEVER = 1e-300


class NegativeBinomialCPD(DensityCPD):
    """Negative binomial counts: Poisson counts whose rate is gamma distributed given the parents.

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
    support = (0.0, np.inf)
    _child_type = Count
    shape: Floats
    exposure: Floats

    def _log_density(self, x: Floats, r: Floats, b: Floats) -> Floats:
        """Return log probabilities of counts x by row and child; see `DensityCPD`."""
        return np.asarray(
            gammaln(x + r)
            - gammaln(r)
            - gammaln(x + 1.0)
            + r * (np.log(b) - np.log1p(b))
            - x * np.log1p(b)
        )

    def _tail(self, x: Floats, side: float, r: Floats, b: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        # P(child < n) is the regularised incomplete beta function I_p(r, n) at p = b / (b + 1), and
        # 1 - I_p(r, n) = I_(1-p)(n, r). It takes fractional r, unlike `nbdtr`.
        n = np.floor(np.maximum(x, 0.0)) + 1.0
        arguments = (r, n, b / (b + 1.0)) if side > 0 else (n, r, 1.0 / (b + 1.0))
        return np.where(x >= 0, scipy.special.betainc(*arguments), float(side < 0))

    def _moments(self, r: Floats, b: Floats) -> tuple[Floats, Floats]:
        mean = r / b
        return mean, mean * (1.0 + 1.0 / b)

    def _draw(
        self, random: np.random.Generator, shape: Floats, exposure: Floats
    ) -> NDArray[np.int64]:
        return random.poisson(random.gamma(shape) / exposure)

    def _columns(self) -> Mapping[str, Floats]:
        mean, variance = self._moments(self.shape, self.exposure)
        return {"mean": mean, "sd": np.sqrt(variance)}


def _solve_negative_binomial(x: Floats, weights: Floats, _: float) -> Sequence[float]:
    """Return the maximum likelihood shape and exposure for values `x` with weights.

    The mean of the fitted distribution equals the sample mean. The shape is a root of the score,
    which exists if and only if the sample variance exceeds the mean (Levin and Reeds 1977).
    Otherwise the likelihood increases with the shape towards the Poisson distribution, and the
    largest shape of the search is returned. The third argument, a bound of the squared scale, is
    for families that have a scale.
    """
    share = weights / weights.sum()
    mean = float(share @ x)
    largest = _LARGEST * max(1.0, mean)
    mean = max(mean, _NEVER)
    shape = largest

    def score(log_shape: float) -> float:
        """Return the derivative of the mean log likelihood by the shape r, at the sample mean."""
        r = np.exp(log_shape)
        return float(share @ (digamma(x + r) - digamma(r)) - np.log1p(mean / r))

    # There is a root, and it is below the largest shape: the score falls from plus to minus.
    if share @ (x - mean) ** 2 > mean and score(np.log(largest)) < 0:
        shape = float(
            np.exp(scipy.optimize.brentq(score, np.log(_SMALLEST), np.log(largest), xtol=1e-13))
        )
    return shape, shape / mean


NEGATIVE_BINOMIAL = from_values(
    "negative_binomial",
    "counts, whose variance exceeds their mean",
    NegativeBinomialCPD,
    _solve_negative_binomial,
)


# --------------------------------------------------------------------------- Poisson distributions


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
        """Add log probabilities by one matrix product for all configurations; see Plate."""
        values = self._numbers(evidence)  # (n_rows, n children)
        rate = self._flat("rate")  # (cells, n children), as `out` has the shape (cells, n_rows)
        # The sum over children of x log(rate) - rate - log(x!); missing counts add nothing.
        there = ~np.isnan(values)
        counts = np.where(there, values, 0.0)
        out += np.log(rate) @ counts.T
        out -= rate @ there.T.astype(np.float64)
        out -= gammaln(counts + 1.0).sum(axis=1)

    def _tail(self, x: Floats, side: float, rate: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        total = scipy.special.pdtr if side > 0 else scipy.special.pdtrc
        return np.where(x >= 0, total(np.floor(np.maximum(x, 0.0)), rate), float(side < 0))

    def _moments(self, rate: Floats) -> tuple[Floats, Floats]:
        return rate, rate

    def _draw(self, random: np.random.Generator, rate: Floats) -> NDArray[np.int64]:
        return random.poisson(rate)


def _estimate_poisson(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return Poisson CPDs given the class, or negative binomial CPDs as posterior predictive.

    The rate of a class is (events + alpha m) / (rows + alpha), where m is the mean of the column.
    This is the posterior mean under a gamma prior of shape alpha m and exposure alpha. For a
    column without any event, m is half an event divided by the number of rows.
    """
    columns = numeric(children)
    summary = source.singles(Singles(columns, target))
    # Rows and events have the shape (n_classes, n_columns).
    place = [summary.at.place[child] for child in columns]
    rows = summary.moments.count[:, place]
    events = rows * summary.moments.mean[:, place]
    overall = summary.overall
    # The mean m of each column over all classes: without events, half an event divided by the
    # number of rows, and without rows half an event.
    least = safe_divide(np.full(len(columns), 0.5), overall.count[0, place])
    centre = np.maximum(overall.mean[0, place], np.where(least > 0, least, 0.5))
    # One pseudo-count for each column, in rows.
    alpha = alphas(columns, smoothing)
    # Parameters of the gamma posterior of each rate.
    shape, exposure = events + alpha * centre, rows + alpha
    if smoothing.estimation == "predictive":
        positive = np.maximum(shape, _NEVER), np.maximum(exposure, _NEVER)
        return [NegativeBinomialCPD(columns, *positive, [target])]
    # The mode of a gamma distribution is (shape - 1) / exposure, its mean shape / exposure.
    top = np.maximum(shape - 1.0, 0.0) if smoothing.estimation == "map" else shape
    rate = np.where(exposure > 0, safe_divide(top, exposure), centre)
    return [PoissonCPD(columns, np.maximum(rate, _NEVER), [target])]


POISSON = LeafFamily(
    "poisson",
    "counts, whose variance is their mean",
    {"poisson": PoissonCPD},
    Singles,
    _estimate_poisson,
    is_default=True,
    positive=True,
)
