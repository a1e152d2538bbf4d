"""Families of densities of numbers: Gaussian, Student, log-normal, gamma, exponential and beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import scipy

from bayesgraph.core.arrays import Floats, betaln, digamma, gammaln, polygamma
from bayesgraph.core.errors import DataError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import DensityCPD, GaussianPlate
from bayesgraph.models.cpds.linear_gaussian import GaussianCPD
from bayesgraph.models.families.leaf_family import (
    LeafFamily,
    from_means,
    from_values,
    location_and_scale,
    numeric,
)
from bayesgraph.statistics import (
    CountSource,
    GroupMoments,
    Moments,
    ParameterPosterior,
    Singles,
    Smoothing,
    safe_divide,
)

# ------------------------------------------------------------------------ Student's t distribution


# Range of the degrees of freedom: with fewer, equal values make the likelihood unbounded; with
# more, the distribution is in effect Gaussian.
_MIN_DOF, _MAX_DOF = 1.0, 1e6
# Degrees of freedom from which the expected information is computed by its limit.
_MANY_DOF = 300.0
# Maximum numbers of steps of Fisher scoring, and of halvings of a step.
_STUDENT_STEPS, _HALVINGS = 500, 40
# Expected gain of a step that ends the scoring, and relative fall of the likelihood that passes as
# rounding error.
_DECREMENT, _ROUNDING = 1e-20, 1e-9
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
        """Return log densities at x by row and child; see `DensityCPD`."""
        z = ((x - location) / scale) ** 2  # may overflow to infinity: the density is then zero
        constant = (
            gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(dof * np.pi) - np.log(scale)
        )
        return np.asarray(constant - 0.5 * (dof + 1) * np.log1p(z / dof))

    def _tail(self, x: Floats, side: float, location: Floats, scale: Floats, dof: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        return np.asarray(scipy.special.stdtr(dof, side * (x - location) / scale))

    def _moments(self, location: Floats, scale: Floats, dof: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance, NaN or infinity where there is none; see `DensityCPD`."""
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


def _solve_student(x: Floats, weights: Floats, bound: float) -> Sequence[float]:
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
    # Robust estimates to start with; five degrees of freedom.
    median, scale = location_and_scale(x, share)
    at = np.clip([median, np.log(scale or _NEVER), np.log(5.0)], lower, upper)
    value = _mean_log(x, share, at)
    for _ in range(_STUDENT_STEPS):
        # Parameters are location, log scale and log degrees of freedom.
        score, information = _score(x, share, at)
        # Parameters at a bound do not move beyond it.
        free = ~(((at <= lower) & (score < 0)) | ((at >= upper) & (score > 0)))
        step = np.zeros(3)
        step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
        decrement = float(score @ step)  # twice the gain to expect; small at the maximum
        # Log scale and log dof change by at most 2. All components are shortened alike, so that the
        # step remains a direction of ascent.
        step *= min(1.0, 2.0 / max(np.abs(step[1:]).max(), _NEVER))
        for _ in range(_HALVINGS):
            moved = np.clip(at + step, lower, upper)
            new = _mean_log(x, share, moved)
            if new >= value - _ROUNDING * (1.0 + abs(value)):
                break
            step = step / 2.0
        else:
            break  # no step along this direction raises the likelihood any more
        at, value = moved, new
        if decrement < _DECREMENT:
            break
    # Without smoothing (`bound` is 0) equal values have no scale; their scale 0 is refused later.
    scale = float(np.exp(at[1])) if at[1] > lower[1] or bound > 0 else 0.0
    return float(at[0]), scale, float(np.exp(at[2]))


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
    pull = (v + 1) / (v + z**2)  # the weight of each value, which is small for outliers
    # Twice the derivative by v; that by log(v) has another factor v (chain rule).
    by_dof = digamma((v + 1) / 2) - digamma(v / 2) - 1 / v
    by_dof += share @ (pull * z**2 / v - np.log1p(z**2 / v))
    score = np.array([share @ (pull * z) / scale, share @ (pull * z**2) - 1, 0.5 * v * by_dof])
    # The information: between log scale and log dof, of dof itself, and of log scale.
    shared = -2 * v / ((v + 1) * (v + 3))
    of_dof = 0.25 * (polygamma(1, v / 2) - polygamma(1, (v + 1) / 2))
    of_dof -= (v + 5) / (2 * v * (v + 1) * (v + 3))
    by_scale = 2 * v / (v + 3)
    # For many degrees of freedom `of_dof` is mostly rounding error, and its limit is used instead.
    by_log_dof = v**2 * of_dof if v < _MANY_DOF else shared**2 / by_scale + 1.5 / v**2
    information = np.diag([(v + 1) / ((v + 3) * scale**2), by_scale, by_log_dof])
    information[1, 2] = information[2, 1] = shared
    return score, information


STUDENT = from_values(
    "student", "numbers with outliers: Student's t distribution", StudentCPD, _solve_student
)


# ------------------------------------------ Gaussian distributions, and their posterior predictive


def _estimate_gaussian(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return Gaussian CPDs, or Student's t CPDs as their posterior predictive."""
    columns = tuple(child for child in children if isinstance(child, Continuous))
    summary = source.singles(Singles(columns, target))
    place = [summary.at.place[child] for child in columns]
    moments, overall = (part.columns(place) for part in (summary.moments, summary.overall))
    return from_moments(columns, target, moments, overall, smoothing)


def from_moments(
    columns: tuple[Continuous, ...],
    target: Discrete,
    moments: GroupMoments,
    overall: GroupMoments,
    smoothing: Smoothing,
) -> list[CPD]:
    """Return Gaussian CPDs, or their posterior predictive for the estimation "predictive".

    Parameters
    ----------
    columns : tuple of Continuous
    target : Discrete
        The class variable, the only parent.
    moments : GroupMoments
        Moments of the columns in each class. A class without rows gets the overall mean.
    overall : GroupMoments
        Moments over all rows.
    smoothing : Smoothing
    """
    # Arrays have the shape (n_classes, n_columns); `overall` is of one group, the only one [0].
    mean = np.where(moments.count > 0, moments.mean, overall.mean)
    ridge = smoothing.ridge(safe_divide(overall.square, overall.count)[0])
    towards = smoothing.pooled(moments.count, moments.square)  # variances to shrink towards
    is_predictive = smoothing.estimation == "predictive"
    if is_predictive:
        # Under the prior p(mean, variance) ~ 1 / variance, n rows of a class with the mean m and
        # the variance s^2 give a t distribution around m with n - 1 degrees of freedom and the
        # squared scale s^2 (1 + 1/n) (Gelman et al. 2013, section 3.2). Shrinkage adds its
        # equivalent sample size to the degrees of freedom, and the variance `towards` with that
        # weight to the average s^2. The variance `ridge` is added to the squared scale. A constant
        # column must not affect the posterior, so all classes get the same row count.
        n = np.where(overall.square == 0, overall.count, moments.count)
        dof = np.where(n > 0, n - 1.0, 0.0) + smoothing.rows
        if not (dof > 0).all():
            # The second index is that of the column; NaN counts as too few.
            short = columns[int(np.argwhere(~(dof > 0))[0][1])].name
            raise DataError(
                f"estimation='predictive' takes two rows in every class, or a positive shrinkage; "
                f"column {short!r} has fewer in one."
            )
        squared = safe_divide(moments.square + smoothing.rows * towards, dof)
        variance = np.where(n > 0, squared, towards) * (1.0 + 1.0 / np.maximum(n, 1.0)) + ridge
    else:
        variance = smoothing.covariance(moments.count, moments.square, towards) + ridge
    if not (variance > 0).all():  # zero or NaN
        name = columns[int(np.argwhere(~(variance > 0))[0][1])].name
        raise DataError(
            f"Column {name!r} is constant in some class, and nothing smooths its variance of zero; "
            "give var_smoothing or shrinkage a positive value."
        )
    if is_predictive:
        return [StudentCPD(columns, mean, np.sqrt(variance), dof, [target])]
    plate = GaussianPlate(columns, mean, variance, [target])
    if smoothing.has_posterior:
        strength = smoothing.degrees_of_freedom(moments.count)
        plate.parameter_posterior = ParameterPosterior.of_plate(moments.count, strength)
    return [plate]


GAUSSIAN = LeafFamily(
    "gaussian",
    "the default of numeric columns",
    {"gaussian": GaussianCPD, "gaussians": GaussianPlate},
    Singles,
    _estimate_gaussian,
    is_default=True,
    any_parents=True,
)


# ------------------------------------------------------------------------ Log-normal distributions


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
        """Add the log densities of all children to `out`, shape (cells, n_rows); see `Plate`."""
        # One kernel call computes the Gaussian densities of all configurations.
        values = self._numbers(evidence)
        outside = values <= 0
        logs = np.log(np.where(outside, np.nan, values))
        row_kernels.add_gaussians(out, logs, self._flat("mean"), self._flat("variance"))
        # The density of x is that of log(x), divided by x.
        out -= np.where(np.isnan(logs), 0.0, logs).sum(axis=1)
        out[:, outside.any(axis=1)] = -np.inf

    def _tail(self, x: Floats, side: float, mean: Floats, variance: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        logs = np.log(np.maximum(x, 0.0))
        return np.asarray(scipy.special.ndtr(side * (logs - mean) / np.sqrt(variance)))

    def _moments(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        return np.exp(mean + variance / 2), np.expm1(variance) * np.exp(2 * mean + variance)

    def _quantile(self, probability: float, mean: Floats, variance: Floats) -> Floats:
        return np.asarray(np.exp(mean + np.sqrt(variance) * scipy.special.ndtri(probability)))

    def _draw(self, random: np.random.Generator, mean: Floats, variance: Floats) -> Floats:
        return np.exp(mean + np.sqrt(variance) * random.standard_normal(len(mean)))

    def _columns(self) -> Mapping[str, Floats]:
        return {"mean of log": self.mean, "sd of log": np.sqrt(self.variance)}


def _estimate_lognormal(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return log-normal CPDs, estimated as Gaussians of the logarithms."""
    if smoothing.estimation == "predictive":
        raise DataError(
            "estimation='predictive' is not known for log-normal columns; choose 'mean', 'map' or "
            "'ml', or make a column of logarithms and call it Gaussian."
        )
    columns = numeric(children)
    moments = source.summary(Moments(columns, ("log",), target)).moments
    overall = moments.merged((target.cardinality,), 0)  # over all classes
    plate = from_moments(columns, target, moments, overall, smoothing)[0]
    assert isinstance(plate, GaussianPlate)  # not the predictive
    return [LogNormalCPD(columns, plate.mean, plate.variance, [target])]


LOGNORMAL = LeafFamily(
    "lognormal",
    "positive numbers whose logarithms are Gaussian",
    {"lognormal": LogNormalCPD},
    Moments,
    _estimate_lognormal,
    positive=True,
)


# ----------------------------------------------------------------------------- Gamma distributions


# Shape above which the first terms of the asymptotic series are exact.
_LARGE_SHAPE = 1e3
# The iteration converges in about four steps; more change nothing.
_GAMMA_STEPS = 20


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
        """Return log densities at x by row and child; see `DensityCPD`."""
        logs = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x
        return np.where(x > 0, logs, -np.inf)

    def _tail(self, x: Floats, side: float, shape: Floats, rate: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        integral = scipy.special.gammainc if side > 0 else scipy.special.gammaincc
        return np.asarray(integral(shape, rate * np.maximum(x, 0.0)))

    def _moments(self, shape: Floats, rate: Floats) -> tuple[Floats, Floats]:
        return shape / rate, shape / rate**2

    def _quantile(self, probability: float, shape: Floats, rate: Floats) -> Floats:
        return np.asarray(scipy.special.gammaincinv(shape, probability) / rate)

    def _draw(self, random: np.random.Generator, shape: Floats, rate: Floats) -> Floats:
        return random.gamma(shape) / rate


def solve_gamma(mean: Floats, log_mean: Floats) -> Sequence[Floats]:
    """Return the maximum likelihood shape and rate, given the means of x and of log(x).

    The method is the generalised Newton iteration of Minka (2002), equation 15.
    """
    s = np.log(mean) - log_mean
    # A smaller s is rounding error: all values are equal.
    s = np.where(s > 4 * np.finfo(float).eps * (1.0 + np.abs(log_mean)), s, 0.0)
    # Close to the solution; infinite if s is 0, which the caller refuses or replaces.
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    for _ in range(_GAMMA_STEPS):
        # The gap is log(shape) - digamma(shape), without cancellation for large shapes.
        large = shape > _LARGE_SHAPE
        a = np.where(large, 1.0, shape)  # 1 stands in where the series is used instead
        gap = np.where(large, 1 / (2 * shape) + 1 / (12 * shape**2), np.log(a) - digamma(a))
        slope = np.where(large, -1 / (2 * shape**2) - 1 / (6 * shape**3), 1 / a - polygamma(1, a))
        shape = 1.0 / (1.0 / shape + (gap - s) / (shape**2 * slope))
    return shape, shape / mean


def _gamma_means(mean: Floats) -> Sequence[Floats]:
    """Return the means of x and log(x) to assume for a column of equal values.

    They are those of the exponential distribution whose mean is this value. The maximum likelihood
    estimate from the column itself would be degenerate.
    """
    centre = np.where(mean > 0, mean, 1.0)
    return centre, np.log(centre) - np.euler_gamma


GAMMA = from_means(
    "gamma", "positive numbers", GammaCPD, ("identity", "log"), solve_gamma, _gamma_means
)


# ----------------------------------------------------------------------- Exponential distributions


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
        """Return log densities at x by row and child; see `DensityCPD`."""
        return np.where(x >= 0, np.log(rate) - rate * x, -np.inf)

    def _tail(self, x: Floats, side: float, rate: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        logs = -rate * np.maximum(x, 0.0)
        return np.asarray(-np.expm1(logs) if side > 0 else np.exp(logs))

    def _moments(self, rate: Floats) -> tuple[Floats, Floats]:
        return 1.0 / rate, rate**-2.0

    def _quantile(self, probability: float, rate: Floats) -> Floats:
        return np.asarray(-np.log1p(-probability) / rate)

    def _draw(self, random: np.random.Generator, rate: Floats) -> Floats:
        return random.exponential(1.0 / rate)


EXPONENTIAL = from_means(
    "exponential",
    "waiting times: numbers from 0 on, the most frequent near 0",
    ExponentialCPD,
    ("non-negative",),
    lambda mean: (1.0 / mean,),
    lambda mean: (np.where(mean > 0, mean, 1.0),),  # what is assumed of a column of equal values
)


# --------------------------------------------------- Beta distributions of numbers between 0 and 1


# Maximum number of Newton steps, and relative change of a and b that ends them.
_BETA_STEPS = 100
_BETA_PRECISION = 1e-14


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
        """Return log densities at x by row and child; see `DensityCPD`."""
        logs = (a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - betaln(a, b)
        return np.where((x > 0) & (x < 1), logs, -np.inf)

    def _tail(self, x: Floats, side: float, a: Floats, b: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        x = np.clip(x, 0.0, 1.0)
        arguments = (a, b, x) if side > 0 else (b, a, 1.0 - x)
        return np.asarray(scipy.special.betainc(*arguments))

    def _moments(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        mean = a / (a + b)
        return mean, mean * (1.0 - mean) / (a + b + 1.0)

    def _quantile(self, probability: float, a: Floats, b: Floats) -> Floats:
        return np.asarray(scipy.special.betaincinv(a, b, probability))

    def _draw(self, random: np.random.Generator, a: Floats, b: Floats) -> Floats:
        return random.beta(a, b)


def _solve_beta(log_mean: Floats, log1m_mean: Floats) -> Sequence[Floats]:
    """Return the maximum likelihood a and b, given the means of log(x) and of log(1 - x).

    This is Newton's method on the concave likelihood (Minka 2000, section 1): a beta distribution
    is a Dirichlet distribution with two components. The start is exact for large a and b (Johnson,
    Kotz, Balakrishnan 1995, equation 25.55). A step reduces a parameter to at least a fifth of its
    value, so that it stays positive.
    """
    # The geometric means of x and of 1 - x, and what they lack to a sum of one.
    mean_x, mean_1mx = np.exp(log_mean), np.exp(log1m_mean)
    gap = 1.0 - mean_x - mean_1mx
    gap = np.where(gap > 4 * np.finfo(float).eps, gap, 0.0)  # zero: all values are equal
    a, b = 0.5 + mean_x / (2.0 * gap), 0.5 + mean_1mx / (2.0 * gap)
    for _ in range(_BETA_STEPS):
        gradient_a = log_mean - digamma(a) + digamma(a + b)
        gradient_b = log1m_mean - digamma(b) + digamma(a + b)
        # The negative Hessian has `shared` less than these on the diagonal, and -shared beside it.
        trigamma_a, trigamma_b, shared = polygamma(1, a), polygamma(1, b), polygamma(1, a + b)
        determinant = trigamma_a * trigamma_b - shared * (trigamma_a + trigamma_b)
        step_a = ((trigamma_b - shared) * gradient_a + shared * gradient_b) / determinant
        step_b = ((trigamma_a - shared) * gradient_b + shared * gradient_a) / determinant
        new_a, new_b = np.maximum(a + step_a, a / 5.0), np.maximum(b + step_b, b / 5.0)
        moved = np.maximum(np.abs(new_a - a) / a, np.abs(new_b - b) / b)
        a, b = new_a, new_b
        if not (moved > _BETA_PRECISION).any():
            break
    return a, b


def _beta_means(log_mean: Floats) -> Sequence[Floats]:
    """Return the means of log(x) and log(1 - x) to assume for a column of equal values.

    They are those of the distribution Beta(2 m, 2 - 2 m), where m is the value. The maximum
    likelihood estimate from the column itself would be degenerate.
    """
    constant = np.exp(log_mean)
    centre = np.where(constant < 1, constant, 0.5)
    return digamma(2.0 * centre) - digamma(2.0), digamma(2.0 - 2.0 * centre) - digamma(2.0)


BETA = from_means(
    "beta", "numbers between 0 and 1", BetaCPD, ("log", "log1m"), _solve_beta, _beta_means
)
