"""Student's t distributions of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import scipy

from bayesgraph.core.arrays import Floats, digamma, gammaln, polygamma
from bayesgraph.core.variables import Continuous
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.models.families.leaf_family import LeafFamily, from_values, location_and_scale
from bayesgraph.statistics import Samples

# Range of the degrees of freedom: with fewer, equal values make the likelihood unbounded; with
# more, the distribution is in effect Gaussian.
_MIN_DOF, _MAX_DOF = 1.0, 1e6
# Degrees of freedom from which the expected information is computed by its limit.
_LIMIT = 300.0
_MAX_STEPS, _HALVINGS = 500, 40
_PRECISION, _ROUNDING = 1e-20, 1e-9
# Minimum of scales, in place of 0.
_NEVER = 1e-300


class StudentCPD(DensityCPD):
    """Children with Student's t distributions given the same discrete parents.

    Student's t is the posterior predictive of a Gaussian whose mean and variance have a
    normal-inverse-gamma distribution (Gelman et al. 2013, section 3.3).

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children.
    location, scale, dof : array_like, shape (*parents' cardinalities, n)
        Locations and positive scales in units of the child, and positive degrees of freedom;
        without the last axis if `children` is a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a scale or degrees of freedom that are not
        positive.
    """

    parameters: ClassVar = {"location": -np.inf, "scale": 0.0, "dof": 0.0}
    location: Floats
    scale: Floats
    dof: Floats

    def _log_density(self, x: Floats, location: Floats, scale: Floats, dof: Floats) -> Floats:
        z = ((x - location) / scale) ** 2  # may overflow to infinity: the density is then zero
        constant = (
            gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(dof * np.pi) - np.log(scale)
        )
        return np.asarray(constant - 0.5 * (dof + 1) * np.log1p(z / dof))

    def _cdf(self, x: Floats, location: Floats, scale: Floats, dof: Floats) -> Floats:
        return np.asarray(scipy.special.stdtr(dof, (x - location) / scale))

    def _sf(self, x: Floats, location: Floats, scale: Floats, dof: Floats) -> Floats:
        return np.asarray(scipy.special.stdtr(dof, (location - x) / scale))

    def _moments(self, location: Floats, scale: Floats, dof: Floats) -> tuple[Floats, Floats]:
        mean = np.where(dof > 1, location, np.nan)
        variance = np.where(dof > 2, scale**2 * dof / np.maximum(dof - 2, _NEVER), np.inf)
        return mean, np.where(dof > 1, variance, np.nan)

    def _quantile(self, probability: float, location: Floats, scale: Floats, dof: Floats) -> Floats:
        return np.asarray(location + scale * scipy.special.stdtrit(dof, probability))

    def _draw(
        self, random: np.random.Generator, location: Floats, scale: Floats, dof: Floats
    ) -> Floats:
        return location + scale * random.standard_t(dof)

    def _columns(self) -> Mapping[str, Floats]:
        return {"location": self.location, "scale": self.scale, "df": self.dof}


def _solve(x: Floats, weights: Floats, bound: float) -> Sequence[float]:
    """Return the maximum likelihood location, scale and degrees of freedom by Fisher scoring.

    The score and expected information with respect to location, log scale and log degrees of
    freedom are those of Lange, Little, Taylor (1989), appendix B. Steps are halved until the
    likelihood does not fall.

    Many equal values make the likelihood unbounded; the squared scale is therefore at least
    `bound`.
    """
    share = weights / weights.sum()
    lower = np.array([-np.inf, 0.5 * np.log(max(bound, _NEVER)), np.log(_MIN_DOF)])
    upper = np.array([np.inf, np.inf, np.log(_MAX_DOF)])
    at = np.clip(_start(x, share), lower, upper)
    value = _mean_log(x, share, at)
    for _ in range(_MAX_STEPS):
        score, information = _score(x, share, at)
        # Parameters at a bound do not move beyond it.
        free = ~(((at <= lower) & (score < 0)) | ((at >= upper) & (score > 0)))
        step = np.zeros(3)
        step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
        decrement = float(score @ step)
        # All components are shortened alike, so that the step remains a direction of ascent.
        step *= min(1.0, 2.0 / max(np.abs(step[1:]).max(), _NEVER))
        for _ in range(_HALVINGS):
            moved = np.clip(at + step, lower, upper)
            new = _mean_log(x, share, moved)
            if new >= value - _ROUNDING * (1.0 + abs(value)):
                break
            step = step / 2.0
        else:
            break
        at, value = moved, new
        if decrement < _PRECISION:
            break
    # At the bound without smoothing there is no scale; 0 is refused.
    scale = float(np.exp(at[1])) if at[1] > lower[1] or bound > 0 else 0.0
    return float(at[0]), scale, float(np.exp(at[2]))


def _start(x: Floats, share: Floats) -> Floats:
    """Return robust estimates as the start of Fisher scoring: location, log scale and log dof.

    These are the median, the scaled median absolute deviation, and five degrees of freedom. `share`
    holds the weights of the values, which sum to one.
    """
    location, scale = location_and_scale(x, share)
    return np.array([location, np.log(scale or _NEVER), np.log(5.0)])


def _mean_log(x: Floats, share: Floats, at: Floats) -> float:
    """Return the weighted mean log density of the values `x` under Student's t distribution.

    `share` holds the weights of the values, which sum to one. `at` holds the parameters: location,
    log scale and log degrees of freedom.
    """
    scale, dof = np.exp(at[1:])
    z = ((x - at[0]) / scale) ** 2
    constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(dof * np.pi) - at[1]
    return float(constant - 0.5 * (dof + 1) * (share @ np.log1p(z / dof)))


def _score(x: Floats, share: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Return the score (gradient of `_mean_log`) and the expected information of Student's t.

    For the arguments see `_mean_log`.
    """
    scale, v = np.exp(at[1:])
    z = (x - at[0]) / scale
    pull = (v + 1) / (v + z**2)
    by_dof = digamma((v + 1) / 2) - digamma(v / 2) - 1 / v
    by_dof += share @ (pull * z**2 / v - np.log1p(z**2 / v))
    score = np.array([share @ (pull * z) / scale, share @ (pull * z**2) - 1, 0.5 * v * by_dof])
    shared = -2 * v / ((v + 1) * (v + 3))
    own = 0.25 * (polygamma(1, v / 2) - polygamma(1, (v + 1) / 2))
    own -= (v + 5) / (2 * v * (v + 1) * (v + 3))
    by_scale = 2 * v / (v + 3)
    # For many degrees of freedom `own` is mostly rounding error, and its limit is used instead.
    by_log_dof = v**2 * own if v < _LIMIT else shared**2 / by_scale + 1.5 / v**2
    information = np.diag([(v + 1) / ((v + 3) * scale**2), by_scale, by_log_dof])
    information[1, 2] = information[2, 1] = shared
    return score, information


STUDENT = LeafFamily(
    "student",
    "numbers with outliers: Student's t distribution",
    variable=Continuous,
    statistics=Samples,
    estimate=from_values(StudentCPD, _solve),
    stored={"student": StudentCPD},
)
