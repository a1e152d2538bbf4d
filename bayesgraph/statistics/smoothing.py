"""Smoothing: estimates of probabilities and covariances from sufficient statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, DataTypeError, quoted, suggestion
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.statistics.requests import safe_divide

ESTIMATIONS = ("mean", "map", "ml", "predictive")
SCHEMES = ("dirichlet", "m", "marginal", "backoff")
_HIERARCHIES = ("marginal", "backoff")


def one_of(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise a DataError if the value of the parameter `name` is not one of its choices."""
    options = list(choices)
    if value not in options:
        near = suggestion(value, options)
        raise DataError(f"{name}= is one of {quoted(options)}; got {value!r}.{near}")


def _is_number(value: Any) -> bool:
    """Tell whether a value is a finite number."""
    try:
        return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def _check_alpha(value: Any) -> None:
    """Raise a DataError unless a value is a pseudo-count, or one for each state."""
    try:
        numbers = np.asarray(value)
        # Integers, unsigned ones and floats.
        good = numbers.dtype.kind in "iuf" and numbers.ndim <= 1
        good = good and bool((np.isfinite(numbers) & (numbers >= 0)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise DataError(
            f"alpha takes a finite number that is not negative, or one for each state; got "
            f"{value!r}."
        )


def shares(cells: Floats, otherwise: Floats | float) -> Floats:
    """Return cells divided by their sum along the last axis, or `otherwise` where the sum is 0."""
    total = cells.sum(axis=-1, keepdims=True)
    return np.where(total > 0, safe_divide(cells, total), otherwise)


@dataclass(frozen=True, repr=False)
class Smoothing:
    """Regularisation of tables and Gaussians: the value of every `smoothing=` parameter.

    A name is short for ``Smoothing(scheme=name)``, a number for ``Smoothing(alpha=number)``.
    Grid searches set a single value by its path, such as ``smoothing__shrinkage``.

    Attributes
    ----------
    alpha : float, array_like, or mapping from name to either
        Dirichlet pseudo-count added to each cell of a table: one number for all states, or one for
        each state (1 is Laplace's rule). For presence it is both parameters of a beta prior; for
        Poisson counts the equivalent sample size, in rows, of a gamma prior around the column's
        mean. For the families gamma, exponential, beta, negative binomial and Student's t it is the
        number of pseudo-rows added to each class; they are distributed like the column over all
        classes. Variables that a mapping does not name take 1. The class of a classifier is
        smoothed only if a mapping names it; otherwise its prior is the class frequency.
    shrinkage : float
        Weight, in rows, of the pooled within-class covariance, towards which the covariance of each
        configuration of the discrete parents shrinks:
        ``(n_d S_d + shrinkage * S_pooled) / (n_d + shrinkage)`` (as in regularised discriminant
        analysis, Friedman 1989, equation 15, with a prior strength in rows instead of a fixed
        share). It is pooled within classes, not within configurations: a parent of nearly unique
        values explains nothing. If the class is not a parent, the covariance of all rows takes its
        place. 0 is maximum likelihood.
    var_smoothing : float
        Share of each column's own total variance that is added to its variance. It does not depend
        on other columns, so that rescaling one column changes nothing.
    reg_covar : float
        Number that is added to every variance, in squared units of its column (of its logarithm,
        if that is Gaussian); the parameter of scikit-learn's GaussianMixture of this name.
    estimation : {"mean", "map", "ml", "predictive"}
        * "ml": maximum likelihood; `alpha` and `shrinkage` count as 0.
        * "map": the mode of the posterior: counts + alpha - 1 (not below 0) for tables; for
          Gaussians the joint mode of mean and variance: the sum of squares (with that of the prior)
          divided by rows + shrinkage + 3.
        * "mean": posterior means of probabilities and rates, and of the precision of Gaussians (the
          sum of squares divided by rows + shrinkage).
        * "predictive": parameters integrated out where this differs from the mean: Student's t
          for Gaussians, Dirichlet-multinomial for documents, negative binomial for Poisson counts.
    ddof : {0, 1}
        Variances are sums of squares over (rows - ddof): 0 is maximum likelihood, 1 unbiased.
    bandwidth : "silverman", "scott", or float
        Bandwidth of kernel densities, for each class and column: 0.9 times the smaller of the
        standard deviation and the interquartile range over 1.34, times n^(-1/5) (Silverman 1986,
        equation 3.31); 1.06 times the standard deviation times n^(-1/5) (Scott 1992, equation
        6.17); or a number in units of the columns. n is the sum of the weights.
    threshold : float
        For presence/absence (Bernoulli) features: values above it count as present.
    scheme : {"dirichlet", "m", "marginal", "backoff"}
        Target towards which tables P(x | parents) shrink. N counts the rows of a configuration u of
        the parents, s is `strength`:

        * "dirichlet": ``(N(x, u) + alpha) / (N(u) + alpha r)`` for r states.
        * "m": ``(N(x, u) + s / r) / (N(u) + s)``, the m-estimate around equal shares (Cestnik
          1990): the prior has the same weight for any number of states.
        * "marginal": ``(N(x, u) + s P(x)) / (N(u) + s)``, which is Friedman's mixture
          ``a N(x, u) / N(u) + (1 - a) P(x)`` with ``a = N(u) / (N(u) + s)`` (Friedman, Geiger,
          Goldszmidt 1997) and the m-estimate around the marginal.
        * "backoff": as "marginal", but towards P(x | all parents but the last), which is smoothed
          in the same way, and so on down to P(x). The class is dropped last, wherever it stands.

        P(x) itself is smoothed by `alpha`, as is everything that is not a table of a discrete
        variable.
    strength : float, optional
        Equivalent sample size, in rows, of the target in each configuration; by default 1 for "m",
        and the number of states for "marginal" and "backoff": as much as Laplace's rule adds.
    """

    alpha: Any = 1.0
    shrinkage: float = 20.0
    var_smoothing: float = 1e-9
    reg_covar: float = 0.0
    estimation: str = "mean"
    ddof: int = 0
    bandwidth: float | str = "silverman"
    threshold: float = 0.0
    scheme: str = "dirichlet"
    strength: float | None = None

    def __post_init__(self) -> None:
        one_of("estimation", self.estimation, ESTIMATIONS)
        one_of("ddof", self.ddof, (0, 1))
        one_of("smoothing", self.scheme, SCHEMES)
        if self.strength is not None and self.scheme == "dirichlet":
            raise DataError(
                "strength= goes with smoothing='m', 'marginal' or 'backoff'; the strength of "
                "'dirichlet' is alpha."
            )
        if self.is_hierarchy and self.estimation == "map":
            raise DataError(
                f"estimation='map' is the mode of one Dirichlet distribution, and {self.scheme!r} "
                "is a hierarchy of them; choose 'mean', or smoothing='dirichlet' or 'm'."
            )
        if isinstance(self.bandwidth, str):
            one_of("bandwidth", self.bandwidth, ("silverman", "scott"))
        elif not (_is_number(self.bandwidth) and self.bandwidth > 0):
            raise DataError(
                "bandwidth takes 'silverman', 'scott' or a positive number; got "
                f"{self.bandwidth!r}."
            )
        if not (_is_number(self.threshold) and self.threshold >= 0):
            raise DataError(f"threshold takes a finite number from 0 on; got {self.threshold!r}.")
        alphas = self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]
        for value in alphas:
            _check_alpha(value)
        strengths = () if self.strength is None else ("strength",)
        for name in (*strengths, "shrinkage", "var_smoothing", "reg_covar"):
            value = getattr(self, name)
            if not (_is_number(value) and value >= 0):
                raise DataError(
                    f"{name} takes a finite number that is not negative; got {value!r}."
                )

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.changed().items())
        return f"Smoothing({changed})"

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not self._is_default(f)}

    def _is_default(self, field: Any) -> bool:
        # An array or a mapping is no default, and == of an array is no bool.
        value = getattr(self, field.name)
        return isinstance(value, (str, float, int, type(None))) and bool(value == field.default)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all values by name, as scikit-learn's estimators do."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Smoothing:
        """Return a copy with some parameters changed; the original is not changed.

        Raises
        ------
        DataError
            If a name is not a parameter.
        """
        for name in params:
            one_of("a parameter of Smoothing", name, self.get_params())
        return replace(self, **params)

    def __sklearn_clone__(self) -> Smoothing:
        return self

    def refuse_predictive(self, name: str) -> None:
        """Raise a DataError if estimation is "predictive".

        `name` says, for the message, which model needs point estimates.
        """
        if self.estimation == "predictive":
            raise DataError(
                f"estimation='predictive' is not known for {name}; choose 'mean', 'map' or 'ml'."
            )

    @cached_property
    def rows(self) -> float:
        """Equivalent sample size, in rows, of the prior of variances: 0 for maximum likelihood."""
        return 0.0 if self.estimation == "ml" else self.shrinkage

    def pseudo_counts(self, variable: Variable, n: int) -> Floats:
        """Return the pseudo-counts of a variable's n states or items, shape () or (n,).

        Raises
        ------
        DataError
            If `alpha` has a wrong number of values.
        """
        if self.estimation == "ml":
            return np.zeros(())
        prior = self.alpha
        if isinstance(prior, Mapping):
            prior = prior.get(variable.name, 1.0)
        alpha = np.asarray(prior, dtype=np.float64)
        if alpha.ndim and alpha.shape != (n,):
            raise DataError(
                f"alpha of {variable.name!r} takes one number, or {n}, one for each state; got "
                f"shape {alpha.shape}."
            )
        return alpha

    def weighted(self, counts: Floats, alpha: Floats) -> Floats:
        """Return counts plus pseudo-counts; for the posterior mode minus 1, but not below 0."""
        cells = counts + alpha
        return np.maximum(cells - 1.0, 0.0) if self.estimation == "map" else cells

    def prior_strength(self, n_states: int) -> float:
        """Return the equivalent sample size of the distribution to which a table shrinks.

        It is 0 for maximum likelihood; see `strength`.
        """
        if self.estimation == "ml":
            return 0.0
        if self.strength is not None:
            return self.strength
        return 1.0 if self.scheme == "m" else float(n_states)

    @cached_property
    def is_hierarchy(self) -> bool:
        """Whether tables shrink towards distributions given fewer parents."""
        return self.scheme in _HIERARCHIES

    def state_counts(self, variable: Discrete) -> Floats:
        """Return the pseudo-counts of a variable's states in a table, shape (n_states,)."""
        n = variable.cardinality
        is_m = self.scheme == "m"
        added = self.prior_strength(n) / n if is_m else self.pseudo_counts(variable, n)
        return np.broadcast_to(added, (n,))

    def table(self, counts: Floats, variable: Discrete, kept: int | None = None) -> Floats:
        """Return the smoothed table P(last axis | other axes) from counts.

        Parameters
        ----------
        counts : ndarray, shape (*cardinalities of the parents, n_states)
        variable : Discrete
            The child, along the last axis.
        kept : int, optional
            Axis of the class, which back-off drops last. If None, the last axis is dropped first.

        Returns
        -------
        ndarray, shape of `counts`
            Where a configuration has no rows and no pseudo-counts: uniform, or with scheme
            "marginal" or "backoff" the distribution given fewer parents.
        """
        if counts.ndim == 1 or not self.is_hierarchy:
            cells = self.weighted(counts, self.state_counts(variable))
            return shares(cells, 1.0 / counts.shape[-1])
        # The parents that are summed out at once: all for "marginal", for "backoff" the last that
        # is not kept, as long as there is another.
        axes = tuple(range(counts.ndim - 1))
        if self.scheme == "backoff":
            axes = (axes[-2] if kept == axes[-1] and len(axes) > 1 else axes[-1],)
            # The axis of the class once that axis is gone: one less behind it.
            kept = None if kept is None else kept - (axes[0] < kept)
        towards = self.table(counts.sum(axis=axes), variable, kept)
        towards = np.expand_dims(towards, axes)
        return shares(counts + self.prior_strength(counts.shape[-1]) * towards, towards)

    @cached_property
    def has_posterior(self) -> bool:
        """Whether estimates are means of a posterior distribution of the parameters."""
        return self.estimation in ("mean", "predictive")

    def table_posterior(self, counts: Floats, variable: Discrete) -> ParameterPosterior | None:
        """Return the posterior of which `table` returns the mean; None for other estimates.

        Of "marginal" and "backoff" it is the posterior given the distributions that tables shrink
        towards, as if these were known.
        """
        if not self.has_posterior:
            return None
        rows = counts.sum(axis=-1)
        if counts.ndim == 1 or not self.is_hierarchy:
            return ParameterPosterior(rows, rows + self.state_counts(variable).sum())
        return ParameterPosterior(rows, rows + self.prior_strength(counts.shape[-1]))

    def degrees_of_freedom(self, count: Floats) -> Floats:
        """Return the degrees of freedom of variances: the divisor of `covariance`."""
        return np.where(count > self.ddof, count - self.ddof, 0.0) + self.rows

    def ridge(self, total_variance: Floats) -> Floats:
        """Return the values to add to variances: a share of each column's total, and a constant.

        It is at least 1 for constant columns, so that they do not distinguish classes.
        """
        share = np.where(total_variance > 0, self.var_smoothing * total_variance, 1.0)
        return np.asarray(share + self.reg_covar)

    def covariance(self, count: Floats, comoment: Floats, towards: Floats) -> Floats:
        """Return covariances shrunk towards `towards`, before the ridge is added (see `ridge`).

        Parameters
        ----------
        count : ndarray
            Number of rows in each configuration, broadcastable against `comoment`.
        comoment : ndarray
            Sums of products of deviations from each configuration's mean.
        towards : ndarray
            Target of the shrinkage, and the covariance of configurations without rows;
            broadcastable against `comoment`; see `pooled`.
        """
        squares = comoment + self.rows * towards
        # The divisor of the joint mode of mean and variance has 3 rows more; see `Smoothing`.
        if self.estimation == "map":
            return np.where(count + self.rows > 0, squares / (count + self.rows + 3.0), towards)
        rows = self.degrees_of_freedom(count)
        return np.where(rows > 0, safe_divide(squares, rows), towards)

    def pooled(self, count: Floats, comoment: Floats) -> Floats:
        """Return the pooled within-class covariance, with length 1 along the axis of the classes.

        Classes lie along the first axis of both; otherwise they are as for `covariance`.
        """
        # Classes without rows have no mean that costs a degree of freedom.
        rows = count - self.ddof * (count > 0)
        return safe_divide(comoment.sum(axis=0, keepdims=True), rows.sum(axis=0, keepdims=True))


SmoothingLike: TypeAlias = Smoothing | str | float


def as_smoothing(value: object) -> Smoothing:
    """Return a Smoothing for any value of a `smoothing=` parameter.

    It may be a Smoothing, the name of a scheme, or a pseudo-count.

    Raises
    ------
    DataTypeError
        If the value has another type.
    DataError
        If a name is not a scheme, or a number is not a valid pseudo-count.
    """
    if isinstance(value, Smoothing):
        return value
    if isinstance(value, str):
        return Smoothing(scheme=value)
    if isinstance(value, (int, float, np.number)):
        return Smoothing(alpha=value)
    raise DataTypeError(
        f"smoothing= takes one of {quoted(SCHEMES)}, a number of pseudo-counts or a Smoothing; got "
        f"{value!r}."
    )


# ----------- What an estimate of a distribution's parameters rests on, and draws of the parameters


# Smallest share of a chi-squared variable in its degrees of freedom: variances stay finite.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class ParameterPosterior:
    """The posterior of the parameters of a CPD around their estimate.

    The parameters of different configurations of the discrete parents are independent.

    Attributes
    ----------
    rows : ndarray, shape (*discrete parents' cardinalities)
        Rows (sums of weights) with each configuration. Of a plate: a further axis for the children,
        of length 1 if all have the same.
    strength : ndarray, shape of `rows`
        Rows and prior together, in rows. Of a table: the sum of the parameters of the Dirichlet
        distribution. Of a Gaussian: the degrees of freedom of its variance. 0 if nothing is known,
        infinite if the parameters are known.
    centre : ndarray, shape (*discrete parents' cardinalities, p), optional
        Only of Gaussians with p continuous parents: the means of the parents. There the child's
        mean and the coefficients are independent given the variance.
    covariance : ndarray, shape (*discrete parents' cardinalities, p, p), optional
        Covariance of the coefficients, divided by the variance of the child.
    """

    rows: Floats
    strength: Floats
    centre: Floats | None = None
    covariance: Floats | None = None

    @classmethod
    def of_plate(cls, rows: Floats, strength: Floats) -> ParameterPosterior:
        """Return the posterior of a plate; values that all children share are kept once."""
        return cls(_compact(rows), _compact(strength))

    def of_children(self, places: Sequence[int]) -> ParameterPosterior:
        """Return the posterior of the children of a plate with these indices, as of a plate."""
        return ParameterPosterior(_children(self.rows, places), _children(self.strength, places))

    def of_child(self, place: int) -> ParameterPosterior:
        """Return the posterior of the child of a plate with this index, as of a single CPD."""
        posterior = self.of_children([place])
        return ParameterPosterior(posterior.rows[..., 0], posterior.strength[..., 0])

    def chosen(self, mask: NDArray[np.bool_], other: ParameterPosterior) -> ParameterPosterior:
        """Return the posterior with the values of `other` where `mask` is true.

        The mask is along the last axis of `rows`, which `other` lacks. Neither is of a plate, or of
        a CPD with continuous parents.
        """
        return ParameterPosterior(
            np.where(mask, other.rows[..., None], self.rows),
            np.where(mask, other.strength[..., None], self.strength),
        )


def _compact(values: Floats) -> Floats:
    # The last axis is that of a plate's children; it has length 1 if all have the same.
    return values[..., :1] if (values == values[..., :1]).all() else values


def _children(values: Floats, places: Sequence[int]) -> Floats:
    return values[..., places] if values.shape[-1] > 1 else values


def draw_probabilities(
    means: Floats,
    strengths: Floats,
    cards: NDArray[np.int64],
    n: int,
    random: np.random.Generator,
) -> Floats:
    """Draw from Dirichlet distributions, given one after the other.

    Parameters
    ----------
    means : ndarray, shape (total number of states,)
        Means of the probabilities of all distributions.
    strengths : ndarray, shape (n_distributions,)
        Sums of the parameters, positive; where infinite, each draw is the mean.
    cards : ndarray of int, shape (n_distributions,)
        Numbers of states.
    n : int
    random : Generator

    Returns
    -------
    ndarray, shape (n, total number of states)
    """
    # A draw from a Dirichlet distribution is gamma variables, whose shapes are its parameters (the
    # strength times the means), divided by their sum.
    is_fixed = np.isinf(strengths)
    spread = np.repeat(np.where(is_fixed, 1.0, strengths), cards)
    # Draws are the last axis here, along which sums and quotients are fast.
    drawn = random.standard_gamma((means * spread)[:, None], (len(means), n))
    starts = np.cumsum(cards) - cards
    totals = np.add.reduceat(drawn, starts, axis=0)
    # Where all gamma variables of tiny shapes underflow, one state has all the probability.
    for which, draw in np.argwhere(totals < np.finfo(float).tiny):
        at = slice(starts[which], starts[which] + cards[which])
        drawn[at, draw] = random.multinomial(1, means[at] / means[at].sum())
        totals[which, draw] = 1.0
    drawn /= np.repeat(totals, cards, axis=0)
    if is_fixed.any():
        fixed = np.repeat(is_fixed, cards)
        drawn[fixed] = means[fixed, None]
    return np.ascontiguousarray(drawn.T)


def draw_gaussians(
    mean: Floats,
    variance: Floats,
    coefficients: Floats,
    posterior: ParameterPosterior,
    n: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Draw the parameters of linear Gaussians from a normal-inverse-gamma distribution.

    The variance is drawn first, then the mean at the centre and the coefficients.

    Parameters
    ----------
    mean, variance, coefficients
        As in GaussianCPD; the inverse of `variance` is the mean of the precision.
    posterior : ParameterPosterior
        With positive strengths.
    n : int
    random : Generator

    Returns
    -------
    mean, variance, coefficients : ndarray
        Each with a first axis of length n.
    """
    # The precision is its mean times `share`, a chi-squared variable over its degrees of freedom.
    dof = posterior.strength
    is_fixed = np.isinf(dof)  # known parameters, which are not drawn
    dof = np.where(is_fixed, 1.0, dof)
    share = random.chisquare(dof, (n, *dof.shape)) / dof
    share = np.where(is_fixed, 1.0, np.maximum(share, _LEAST_SHARE))
    variances = variance / share
    scale = np.where(is_fixed, 0.0, np.sqrt(variances))
    # A configuration without rows has the mean of others, which counts as one row.
    rows = np.where(posterior.rows > 0, posterior.rows, 1.0)
    means = mean + scale * random.standard_normal(scale.shape) / np.sqrt(rows)
    if posterior.covariance is None or posterior.centre is None:
        return means, variances, np.broadcast_to(coefficients, (n, *coefficients.shape))
    normals = random.standard_normal((n, *coefficients.shape))
    # Deviations of the coefficients from their means; the mean at the centre is drawn independently
    # of them, and `mean` is that at parents of 0.
    shift = np.einsum("...ij,...j->...i", _root(posterior.covariance), normals) * scale[..., None]
    return means - np.sum(shift * posterior.centre, axis=-1), variances, coefficients + shift


def _root(covariance: Floats) -> Floats:
    """Return matrices whose product with their transposes is the covariance.

    Rounding may leave covariances of collinear regressors indefinite: they have no Cholesky
    decomposition, and their negative eigenvalues count as 0.
    """
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
