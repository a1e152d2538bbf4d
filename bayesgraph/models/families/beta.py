"""Beta distributions of numbers between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy

from bayesgraph.core.arrays import Floats, betaln, digamma, polygamma
from bayesgraph.core.variables import Continuous
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.models.families.leaf_family import LeafFamily, from_means
from bayesgraph.statistics import Moments

_MAX_STEPS = 100
_PRECISION = 1e-14


class BetaCPD(DensityCPD):
    """Children between 0 and 1 with beta distributions given the same discrete parents.

    The log density is ``(a - 1) log(x) + (b - 1) log(1 - x) - log B(a, b)`` for 0 < x < 1; other
    values, 0 and 1 included, have the density 0.

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children.
    a, b : array_like, shape (*parents' cardinalities, n)
        Positive parameters; without the last axis if `children` is a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a parameter that is not positive.
    """

    parameters: ClassVar = {"a": 0.0, "b": 0.0}
    support = (0.0, 1.0)
    a: Floats
    b: Floats

    def _log_density(self, x: Floats, a: Floats, b: Floats) -> Floats:
        logs = (a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - betaln(a, b)
        return np.where((x > 0) & (x < 1), logs, -np.inf)

    def _cdf(self, x: Floats, a: Floats, b: Floats) -> Floats:
        return np.asarray(scipy.special.betainc(a, b, np.clip(x, 0.0, 1.0)))

    def _sf(self, x: Floats, a: Floats, b: Floats) -> Floats:
        return np.asarray(scipy.special.betainc(b, a, 1.0 - np.clip(x, 0.0, 1.0)))

    def _moments(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        mean = a / (a + b)
        return mean, mean * (1.0 - mean) / (a + b + 1.0)

    def _quantile(self, probability: float, a: Floats, b: Floats) -> Floats:
        return np.asarray(scipy.special.betaincinv(a, b, probability))

    def _draw(self, random: np.random.Generator, a: Floats, b: Floats) -> Floats:
        return random.beta(a, b)


def _solve(log_mean: Floats, log1m_mean: Floats) -> Sequence[Floats]:
    """Return the maximum likelihood a and b, given the means of log(x) and of log(1 - x).

    This is Newton's method on the concave likelihood (Minka 2000, section 1): a beta distribution
    is a Dirichlet distribution with two components. The start is exact for large a and b (Johnson,
    Kotz, Balakrishnan 1995, equation 25.55). A step reduces a parameter to at least a fifth of its
    value, so that it stays positive.
    """
    one, other = np.exp(log_mean), np.exp(log1m_mean)
    rest = 1.0 - one - other
    rest = np.where(rest > 4 * np.finfo(float).eps, rest, 0.0)  # zero: all values are equal
    a, b = 0.5 + one / (2.0 * rest), 0.5 + other / (2.0 * rest)
    for _ in range(_MAX_STEPS):
        both, shared = digamma(a + b), polygamma(1, a + b)
        gradient = log_mean - digamma(a) + both, log1m_mean - digamma(b) + both
        own = polygamma(1, a), polygamma(1, b)
        determinant = own[0] * own[1] - shared * (own[0] + own[1])
        step_a = ((own[1] - shared) * gradient[0] + shared * gradient[1]) / determinant
        step_b = ((own[0] - shared) * gradient[1] + shared * gradient[0]) / determinant
        new_a, new_b = np.maximum(a + step_a, a / 5.0), np.maximum(b + step_b, b / 5.0)
        moved = np.maximum(np.abs(new_a - a) / a, np.abs(new_b - b) / b)
        a, b = new_a, new_b
        if not (moved > _PRECISION).any():
            break
    return a, b


def _spread(log_mean: Floats) -> Sequence[Floats]:
    """Return the means of log(x) and log(1 - x) to assume for a column of equal values.

    They are those of the distribution Beta(2 m, 2 - 2 m), where m is the value. The maximum
    likelihood estimate from the column itself would be degenerate.
    """
    constant = np.exp(log_mean)
    centre = np.where(constant < 1, constant, 0.5)
    return digamma(2.0 * centre) - digamma(2.0), digamma(2.0 - 2.0 * centre) - digamma(2.0)


BETA = LeafFamily(
    "beta",
    "numbers between 0 and 1",
    variable=Continuous,
    statistics=Moments,
    estimate=from_means(BetaCPD, ("log", "log1m"), _solve, _spread),
    stored={"beta": BetaCPD},
    positive=True,
)
