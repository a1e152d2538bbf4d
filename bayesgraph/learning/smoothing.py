"""How counts and moments become probabilities and covariances, for scores and CPDs alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.errors import DataError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Variable

ESTIMATIONS = ("mean", "map", "ml", "predictive")


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


@dataclass(frozen=True)
class Smoothing:
    """Regularisation of tables and Gaussians.

    Attributes
    ----------
    alpha : float, array_like, or mapping from name to either
        Dirichlet pseudo-count added to each cell of a table: one for all states, or one for each
        (1 is Laplace's rule). For presence it is the beta prior of both outcomes; for Poisson
        counts the rows' worth of a gamma prior around the column's mean. Variables that a mapping
        does not name take 1.
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
    """

    alpha: Any = 1.0
    shrinkage: float = 20.0
    var_smoothing: float = 1e-9
    estimation: str = "mean"
    ddof: int = 0
    bandwidth: float | str = "silverman"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        one_of("estimation", self.estimation, ESTIMATIONS)
        one_of("ddof", self.ddof, (0, 1))
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

    def table(self, counts: Floats, variable: Variable) -> Floats:
        """Return P(last axis | other axes) from counts; uniform where there is nothing to go by."""
        cells = self.weighted(counts, self.pseudo_counts(variable, counts.shape[-1]))
        total = cells.sum(axis=-1, keepdims=True)
        return np.where(total > 0, safe_divide(cells, total), 1.0 / counts.shape[-1])

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
