"""Maximum likelihood for columns with missing values that are jointly normal in each class."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphWarning, DataError, warn
from bayesgraph.core.variables import CountVector, Discrete, MissingIndicator, Name
from bayesgraph.learning import row_kernels
from bayesgraph.models import rows_by_pattern
from bayesgraph.statistics import (
    FamilyStatistics,
    GroupMoments,
    RowSource,
    group_comoments,
    independence_test,
    safe_divide,
)
from bayesgraph.tables import Table

# -------- Maximum likelihood for columns with missing values that are jointly normal in each class


@dataclass(frozen=True, eq=False)
class Completed:
    """Result of EM: rows completed by conditional means, and expected sufficient statistics.

    Attributes
    ----------
    statistics : FamilyStatistics
        Expected sufficient statistics of the complete data in each class.
    values : ndarray, shape (n, d)
        Rows that observe any value, with missing values replaced by conditional means.
    group : ndarray, shape (n,)
        The class of each row.
    weights : ndarray, shape (n,)
    n_iter : int
        Number of iterations of EM.
    """

    statistics: FamilyStatistics
    values: Floats
    group: NDArray[np.integer]
    weights: Floats
    n_iter: int


def complete_normal(
    values: Floats,
    group: NDArray[np.integer],
    n_groups: int,
    weights: Floats,
    *,
    shared: bool,
    var_smoothing: float = 1e-9,
    tolerance: float = 1e-6,
    max_iter: int = 1000,
) -> Completed:
    """Fit normal classes to incomplete rows by EM; return expected complete-data statistics.

    The algorithm is expectation-maximisation for the multivariate normal (Little and Rubin 2002,
    section 11.2) within each class; with a shared covariance the maximisation step pools the
    classes. Values are assumed to be missing at random. EM starts from available-case means and
    variances without correlations; the likelihood never decreases.

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
        NaN where missing.
    group : ndarray, shape (n_rows,)
        The class of each row, none missing.
    n_groups : int
        Number of classes.
    weights : ndarray, shape (n_rows,) or (0,)
        If empty, every row has weight 1.
    shared : bool
        Whether all classes share one covariance.
    var_smoothing : float
        Share of each column's variance that is added to the diagonals of inverted matrices.
    tolerance : float
        Stop when no mean moves by more than this share of its column's standard deviation, and no
        covariance by more than this share of the product of the standard deviations.
    max_iter : int
        Maximum number of iterations; if it is reached, a warning reports the last change.

    Raises
    ------
    DataError
        If columns are collinear in a class, unless `var_smoothing` is positive.
    """
    weights = weights if len(weights) else np.ones(len(values))
    overall = GroupMoments.collect(values, np.zeros(len(values), dtype=np.int8), 1, weights)
    variance = safe_divide(overall.square[0], overall.count[0])
    varies = np.flatnonzero(variance)  # constant columns have nothing to estimate
    there = ~np.isnan(values[:, varies]).all(axis=1)  # rows that miss all values are uninformative
    there |= not len(varies)
    values, weights = values[there], weights[there]
    codes: NDArray[np.intp] = group[there].astype(np.intp)
    centre, scale = overall.mean[0, varies], np.sqrt(variance[varies])
    scaled = (values[:, varies] - centre) / scale
    problem = _Problem.of(scaled, codes, n_groups, weights, var_smoothing)
    mean, covariance = problem.start(shared=shared)
    moved, n_iter = np.inf, 0
    while moved > tolerance and n_iter < max_iter:
        step, comoment = problem.expect(mean, covariance)
        found = _maximised(comoment, problem.total, covariance, shared=shared)
        moved = max(np.abs(step).max(initial=0.0), np.abs(found - covariance).max(initial=0.0))
        mean, covariance = mean + step, found
        n_iter += 1
    if moved > tolerance:
        warn(
            f"Expectation-maximisation stopped after {n_iter} steps, the last of which moved a "
            f"mean or a covariance by {moved:.1e} standard deviations; raise max_iter= or tol=. "
            "(A class with few rows for its columns may have no maximum; covariance='shared' has.)",
            BayesGraphWarning,
        )
    means = np.repeat(overall.mean, n_groups, axis=0)
    means[:, varies] = np.where(problem.total[:, None] > 0, centre + scale * mean, centre)
    comoments = np.zeros((n_groups, values.shape[1], values.shape[1]))
    comoments[:, varies[:, None], varies] = comoment * scale[:, None] * scale
    filled = np.repeat(overall.mean, len(values), axis=0)
    filled[:, varies] = centre + scale * problem.filled
    return Completed(
        FamilyStatistics(problem.total, means, comoments),
        np.where(np.isnan(values), filled, values),
        codes,
        weights,
        n_iter,
    )


@dataclass(frozen=True, eq=False)
class _Problem:
    """Input of EM: standardised rows, sorted by their set of missing columns (pattern).

    Attributes
    ----------
    values : ndarray, shape (n, d)
    group, weights : ndarray, shape (n,)
    ridge : ndarray, shape (d,)
        Added to the diagonals of inverted matrices.
    rows, starts : ndarray
        Indices of rows with missing values, sorted by pattern and group, and offset of each
        pattern.
    known : FamilyStatistics
        Statistics of the complete rows.
    total : ndarray, shape (K,)
        Total weight of the rows of each class.
    filled : ndarray, shape (n, d)
        `values` with missing values replaced by their expectations.
    """

    values: Floats
    group: NDArray[np.intp]
    weights: Floats
    ridge: Floats
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    known: FamilyStatistics
    total: Floats
    filled: Floats

    @classmethod
    def of(
        cls,
        values: Floats,
        group: NDArray[np.intp],
        n_groups: int,
        weights: Floats,
        var_smoothing: float,
    ) -> _Problem:
        """Return the input of EM for standardised rows, NaN where missing."""
        ridge = np.full(values.shape[1], float(var_smoothing))
        missing = np.isnan(values)
        partial = np.flatnonzero(missing.any(axis=1))
        whole = np.flatnonzero(~missing.any(axis=1))
        by_group = partial[np.argsort(group[partial], kind="stable")]
        order, starts = rows_by_pattern(missing[by_group])
        known = FamilyStatistics(*group_comoments(values, group[whole], n_groups, weights, whole))
        total: Floats = np.bincount(group, weights=weights, minlength=n_groups).astype(np.float64)
        rows = by_group[order]
        return cls(values, group, weights, ridge, rows, starts, known, total, values.copy())

    def start(self, *, shared: bool) -> tuple[Floats, Floats]:
        """Return initial parameters: means of the classes, and diagonal pooled covariances.

        Both are estimated from the available cases of each column.
        """
        n_groups = len(self.total)
        moments = GroupMoments.collect(self.values, self.group, n_groups, self.weights)
        variance = safe_divide(moments.square.sum(axis=0), moments.count.sum(axis=0))
        return moments.mean, np.repeat(np.diag(variance)[None], 1 if shared else n_groups, axis=0)

    def expect(self, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """Run the E-step: return the change of the means, and comoments about the new means."""
        sums = np.zeros_like(mean)
        products = np.zeros((len(mean), *covariance.shape[1:]))
        regular = row_kernels.expect_normal(
            self.values,
            self.group,
            self.weights,
            self.rows,
            self.starts,
            mean,
            covariance,
            self.ridge,
            self.filled,
            sums,
            products,
        )
        if not regular:
            raise DataError(
                "Columns with missing values are collinear within a class, so that the missing "
                "ones cannot be regressed on the others; give var_smoothing a positive value."
            )
        products += np.tril(products, -1).swapaxes(1, 2)
        offset = self.known.mean - mean
        sums += self.known.counts[:, None] * offset
        products += self.known.comoment + _outer(offset) * self.known.counts[:, None, None]
        step = safe_divide(sums, self.total[:, None])
        return step, products - _outer(step) * self.total[:, None, None]


def _maximised(comoment: Floats, total: Floats, before: Floats, *, shared: bool) -> Floats:
    """Return the maximum-likelihood covariances; a class without rows keeps the one in `before`."""
    if shared:
        return np.asarray(comoment.sum(axis=0, keepdims=True) / total.sum())
    weight = total[:, None, None]
    return np.where(weight > 0, safe_divide(comoment, weight), before)


def _outer(vectors: Floats) -> Floats:
    return np.asarray(vectors[:, :, None] * vectors[:, None, :])


# -------------------------------- Indicators of missing values that tell something about the class


# Maximum probability that missing values would depend on the class as much by chance.
_ALPHA = 1e-3


def informative_indicators(source: RowSource) -> tuple[MissingIndicator, ...]:
    """Return an indicator of each feature whose missing values tell something about the class.

    A feature has one if whether its value is missing depends on the class beyond doubt: the
    likelihood-ratio test of independence (G squared; Wilks 1938) has a p-value below 0.001. Of
    features that are missing in the same rows the first one has it. Missing values of other
    features are taken as ignorable (Rubin 1976).

    Parameters
    ----------
    source : RowSource
        A source with a target. Where it holds a sample of the rows, these are tested. Weighted rows
        count as (sum w)^2 / sum w^2 rows.
    """
    table, target = source.table, source.target
    assert target is not None
    if table.complete:
        return ()
    labels = table.column(target).astype(np.int64)
    weights = _as_rows(source.weights) if len(source.weights) else None
    names = {variable.name for variable in table.variables}
    found: list[MissingIndicator] = []
    for name, is_missing in _patterns(table, target):
        columns: dict[Name, Any] = {"missing": is_missing, "class": labels}
        told = independence_test(
            columns,
            "missing",
            "class",
            method="g_squared",
            categorical=["class"],
            sample_weight=weights,
        )
        if told.p_value < _ALPHA:
            found.append(MissingIndicator(_fresh(f"{name} is missing", names), name))
    return tuple(found)


def _patterns(table: Table, target: Discrete) -> Iterator[tuple[Name, NDArray[np.bool_]]]:
    """Yield features that are missing in some rows, not in all, and in which; equal rows once."""
    seen: set[bytes] = set()
    for variable in table.variables:
        if variable == target or isinstance(variable, CountVector):
            continue
        gone = table.is_missing(variable)
        pattern = gone.tobytes()
        if gone.any() and not gone.all() and pattern not in seen:
            seen.add(pattern)
            yield variable.name, gone


def _as_rows(weights: Floats) -> Floats:
    """Return weights whose sum is the number of rows that they are worth (Kish 1965)."""
    return np.asarray(weights * (weights.sum() / np.square(weights).sum()))


def _fresh(name: str, names: Collection[Name]) -> str:
    """Return a name, with a number if a column has it."""
    number, found = 1, name
    while found in names:
        number += 1
        found = f"{name} ({number})"
    return found
