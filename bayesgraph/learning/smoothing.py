"""Smoothing: counts and moments become probabilities and covariances, for scores and CPDs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Discrete, Variable

ESTIMATIONS = ("mean", "map", "ml", "predictive")
SCHEMES = ("dirichlet", "m", "marginal", "backoff")
_HIERARCHIES = ("marginal", "backoff")


def one_of(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise a DataError if a parameter is none of its choices."""
    known = list(choices)
    if value not in known:
        raise DataError(f"{name}= is one of {quoted(known)}; got {value!r}.")


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False


def _not_negative(values: Floats) -> bool:
    return bool((np.isfinite(values) & (values >= 0)).all())


def _checked_alpha(value: Any) -> Floats:
    try:
        given = np.asarray(value)
        alpha = given.astype(np.float64)
        good = given.dtype.kind in "iuf" and given.ndim <= 1 and _not_negative(alpha)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise DataError(
            f"alpha takes a finite number that is not negative, or one for each state; got "
            f"{value!r}."
        )
    return alpha


def shares(cells: Floats, otherwise: Floats | float) -> Floats:
    """Return cells over their sum along the last axis, and something else where that is zero."""
    total = cells.sum(axis=-1, keepdims=True)
    return np.where(total > 0, safe_divide(cells, total), otherwise)


@dataclass(frozen=True, repr=False)
class Smoothing:
    """Regularisation of tables and Gaussians: what `smoothing=` takes everywhere.

    A name alone is short for ``Smoothing(scheme=name)``, a number for ``Smoothing(alpha=number)``.
    Estimators search and set its values one by one: ``smoothing__shrinkage``.

    Attributes
    ----------
    alpha : float, array_like, or mapping from name to either
        Dirichlet pseudo-count added to each cell of a table: one for all states, or one for each
        (1 is Laplace's rule). For presence it is the beta prior of both outcomes; for Poisson
        counts the rows' worth of a gamma prior around the column's mean. For the families gamma,
        exponential, beta, negative binomial and Student's t it is a number of rows, distributed as
        the column is over all classes, that is added to each class. Variables that a mapping does
        not name take 1. The class of a classifier is smoothed only where a mapping names it:
        otherwise its prior is its share of the rows.
    shrinkage : float
        Weight, in rows, with which the covariance of each configuration of the discrete parents is
        drawn towards the pooled within-class covariance:
        ``(n_d S_d + shrinkage * S_pooled) / (n_d + shrinkage)`` (as in regularised discriminant
        analysis, Friedman 1989, equation 15, with a prior strength in rows instead of a fixed
        share). Within classes, not within configurations: a parent of nearly unique values explains
        nothing. Without the class among the parents it is the covariance of all rows. 0 is maximum
        likelihood.
    var_smoothing : float
        Share of each column's own total variance that is added to its variance. A column's share
        does not depend on the other columns, so rescaling one changes nothing.
    estimation : {"mean", "map", "ml", "predictive"}
        * "ml": maximum likelihood; `alpha` and `shrinkage` count as 0.
        * "map": the mode of the posterior: counts + alpha - 1 (not below 0) for tables; for
          Gaussians the joint mode of mean and variance, squares over rows + shrinkage + 3.
        * "mean": posterior means of probabilities and rates, and of the precision of Gaussians
          (squares over rows + shrinkage).
        * "predictive": parameters integrated out where that differs from the mean: Student's t
          for Gaussians, Dirichlet-multinomial for documents, negative binomial for Poisson counts.
    ddof : {0, 1}
        Variances are sums of squares over (rows - ddof): 0 is maximum likelihood, 1 unbiased.
    bandwidth : "silverman", "scott", or float
        Of kernel densities, for each class and column: 0.9 times the smaller of the standard
        deviation and the interquartile range over 1.34, times n^(-1/5) (Silverman 1986, equation
        3.31); 1.06 times the standard deviation times n^(-1/5) (Scott 1992, equation 6.17); or a
        number in units of the columns. n is the sum of the weights.
    threshold : float
        A count above it is presence.
    scheme : {"dirichlet", "m", "marginal", "backoff"}
        What tables P(x | parents) are drawn towards. N counts the rows of a configuration u of the
        parents, s is `strength`:

        * "dirichlet": ``(N(x, u) + alpha) / (N(u) + alpha r)`` for r states.
        * "m": ``(N(x, u) + s / r) / (N(u) + s)``, the m-estimate around equal shares (Cestnik
          1990): the prior weighs the same however many states there are.
        * "marginal": ``(N(x, u) + s P(x)) / (N(u) + s)``, which is Friedman's mixture
          ``a N(x, u) / N(u) + (1 - a) P(x)`` with ``a = N(u) / (N(u) + s)`` (Friedman, Geiger,
          Goldszmidt 1997) and the m-estimate around the marginal.
        * "backoff": the same towards P(x | all parents but the last), which is smoothed in the same
          way, and so on down to P(x). The class is dropped last, wherever it stands.

        P(x) itself is smoothed by `alpha`, and so is what is no table of a discrete variable.
    strength : float, optional
        Rows' worth of what tables are drawn towards, in each configuration; by default 1 for "m",
        and the number of states for "marginal" and "backoff": as much as Laplace's rule adds.
    """

    alpha: Any = 1.0
    shrinkage: float = 20.0
    var_smoothing: float = 1e-9
    estimation: str = "mean"
    ddof: int = 0
    bandwidth: float | str = "silverman"
    threshold: float = 0.0
    scheme: str = "dirichlet"
    strength: float | None = None

    def __post_init__(self) -> None:
        one_of("estimation", self.estimation, ESTIMATIONS)
        one_of("ddof", self.ddof, (0, 1))
        self._check_scheme()
        if isinstance(self.bandwidth, str):
            one_of("bandwidth", self.bandwidth, ("silverman", "scott"))
        elif not (_is_number(self.bandwidth) and self.bandwidth > 0):
            raise DataError(
                "bandwidth takes 'silverman', 'scott' or a positive number; got "
                f"{self.bandwidth!r}."
            )
        if not _is_number(self.threshold):
            raise DataError(f"threshold takes a finite number; got {self.threshold!r}.")
        given = self.alpha.values() if isinstance(self.alpha, Mapping) else [self.alpha]
        for value in given:
            _checked_alpha(value)
        for name in ("shrinkage", "var_smoothing"):
            value = getattr(self, name)
            if not (_is_number(value) and value >= 0):
                raise DataError(
                    f"{name} takes a finite number that is not negative; got {value!r}."
                )

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.changed().items())
        return f"Smoothing({changed})"

    def changed(self) -> dict[str, Any]:
        """Return the values that are not the defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not self._is_default(f)}

    def _is_default(self, field: Any) -> bool:
        value = getattr(self, field.name)
        return isinstance(value, (str, float, int, type(None))) and bool(value == field.default)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all values by name, as scikit-learn's estimators do."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Smoothing:
        """Return a smoothing with other values; this one stays as it is.

        Raises
        ------
        DataError
            For a name that is no parameter.
        """
        for name in params:
            one_of("a parameter of Smoothing", name, self.get_params())
        return replace(self, **params)

    def __sklearn_clone__(self) -> Smoothing:
        return self

    def _check_scheme(self) -> None:
        one_of("smoothing", self.scheme, SCHEMES)
        if self.strength is not None:
            if self.scheme == "dirichlet":
                raise DataError(
                    "strength= goes with smoothing='m', 'marginal' or 'backoff'; the strength of "
                    "'dirichlet' is alpha."
                )
            if not (_is_number(self.strength) and self.strength >= 0):
                raise DataError(
                    f"strength takes a finite number that is not negative; got {self.strength!r}."
                )
        if self.is_hierarchy and self.estimation == "map":
            raise DataError(
                f"estimation='map' is the mode of one Dirichlet distribution, and {self.scheme!r} "
                "is a hierarchy of them; choose 'mean', or smoothing='dirichlet' or 'm'."
            )

    def refuse_predictive(self, name: str) -> None:
        """Raise a DataError if parameters are to be integrated out, for what plugs them in."""
        if self.estimation == "predictive":
            raise DataError(
                f"estimation='predictive' is not known for {name}; choose 'mean', 'map' or 'ml'."
            )

    @property
    def rows(self) -> float:
        """Rows' worth of the prior of variances: none under maximum likelihood."""
        return 0.0 if self.estimation == "ml" else self.shrinkage

    def pseudo_counts(self, variable: Variable, n: int) -> Floats:
        """Return the prior counts of a variable's n states or items, shape () or (n,).

        Raises
        ------
        DataError
            For a wrong number of them.
        """
        if self.estimation == "ml":
            return np.zeros(())
        given = self.alpha
        if isinstance(given, Mapping):
            given = given.get(variable.name, 1.0)
        alpha = _checked_alpha(given)
        if alpha.ndim and alpha.shape != (n,):
            raise DataError(
                f"alpha of {variable.name!r} takes one number, or {n}, one for each state; got "
                f"shape {alpha.shape}."
            )
        return alpha

    def weighted(self, counts: Floats, alpha: Floats) -> Floats:
        """Return counts with the prior's added, the mode's or the mean's."""
        cells = counts + alpha
        return np.maximum(cells - 1.0, 0.0) if self.estimation == "map" else cells

    def pull(self, n_states: int) -> float:
        """Return the rows' worth of what a table is drawn towards: none for maximum likelihood."""
        if self.estimation == "ml":
            return 0.0
        if self.strength is not None:
            return self.strength
        return 1.0 if self.scheme == "m" else float(n_states)

    @property
    def is_hierarchy(self) -> bool:
        """Whether tables are drawn towards what is known of fewer parents."""
        return self.scheme in _HIERARCHIES

    def state_counts(self, variable: Discrete) -> Floats:
        """Return the prior counts of a variable's states in a table, shape (n_states,)."""
        n = variable.cardinality
        own = self.pull(n) / n if self.scheme == "m" else self.pseudo_counts(variable, n)
        return np.broadcast_to(own, (n,))

    def table(self, counts: Floats, variable: Discrete, kept: int | None = None) -> Floats:
        """Return P(last axis | other axes) from counts.

        Parameters
        ----------
        counts : ndarray, shape (*cardinalities of the parents, n_states)
        variable : Discrete
        kept : int, optional
            The axis that back-off drops last: that of the class. Otherwise the last one goes first.

        Returns
        -------
        ndarray, shape of `counts`
            Uniform where there is nothing to go by; under back-off what is known of fewer parents.
        """
        if counts.ndim == 1 or not self.is_hierarchy:
            cells = self.weighted(counts, self.state_counts(variable))
            return shares(cells, 1.0 / counts.shape[-1])
        axes = tuple(range(counts.ndim - 1))
        if self.scheme == "backoff":
            axes = (axes[-2] if kept == axes[-1] and len(axes) > 1 else axes[-1],)
            kept = None if kept is None else kept - (axes[0] < kept)
        towards = self.table(counts.sum(axis=axes), variable, kept)
        towards = np.expand_dims(towards, axes)
        return shares(counts + self.pull(counts.shape[-1]) * towards, towards)

    def ridge(self, total_variance: Floats) -> Floats:
        """Return what is added to variances: 1 for constant columns, which then score nothing."""
        return np.where(total_variance > 0, self.var_smoothing * total_variance, 1.0)

    def covariance(self, count: Floats, comoment: Floats, towards: Floats) -> Floats:
        """Return shrunken covariances, before the ridge; `towards` in empty configurations.

        Parameters
        ----------
        count : ndarray
            Rows in each configuration, broadcastable against `comoment`.
        comoment : ndarray
            Sums of products of deviations from each configuration's mean.
        towards : ndarray
            Broadcastable against `comoment`; see `pooled`.
        """
        squares = comoment + self.rows * towards
        if self.estimation == "map":
            return np.where(count + self.rows > 0, squares / (count + self.rows + 3.0), towards)
        rows = np.where(count > self.ddof, count - self.ddof, 0.0) + self.rows
        return np.where(rows > 0, safe_divide(squares, rows), towards)

    def pooled(self, count: Floats, comoment: Floats) -> Floats:
        """Return the pooled within-class covariance; the first axis, the classes, stays at 1."""
        full = np.broadcast_to(count, np.broadcast_shapes(count.shape, comoment.shape))
        rows = full - self.ddof * (full > 0)
        return safe_divide(comoment.sum(axis=0, keepdims=True), rows.sum(axis=0, keepdims=True))


SmoothingLike: TypeAlias = Smoothing | str | float


def as_smoothing(value: object) -> Smoothing:
    """Return the Smoothing that a scheme's name or a number of pseudo-counts is short for.

    Raises
    ------
    DataTypeError
        For anything else.
    DataError
        For a name that is no scheme, and a number that is no pseudo-count.
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
