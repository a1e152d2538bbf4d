"""Maximum likelihood for columns with missing values that are jointly normal in each class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphWarning, DataError, warn
from bayesgraph.core.variables import CountVector, Discrete, MissingIndicator, Name
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

# Maximum of the numbers in the matrices of the rows that are filled at once.
_BLOCK_NUMBERS = 1 << 20
# Share of the variance of a column below which the others explain all of it.
_COLLINEAR = 1e-14


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
    used = ~np.isnan(values[:, varies]).all(axis=1)  # rows that miss all values are uninformative
    used |= not len(varies)  # all rows, if nothing varies
    values, weights = values[used], weights[used]
    codes: NDArray[np.intp] = group[used].astype(np.intp)
    # EM sees standardised columns, in which tolerances and ridges have no unit.
    centre, scale = overall.mean[0, varies], np.sqrt(variance[varies])
    scaled = (values[:, varies] - centre) / scale
    problem = _Problem(scaled, codes, n_groups, weights, var_smoothing)
    mean, covariance = problem.start(shared=shared)
    moved, n_iter = np.inf, 0
    while moved > tolerance and n_iter < max_iter:
        new_mean, comoment = problem.expect(mean, covariance)
        new_covariance = _maximised(comoment, problem.total, covariance, shared=shared)
        changes = new_mean - mean, new_covariance - covariance
        moved = max(np.abs(change).max(initial=0.0) for change in changes)
        mean, covariance = new_mean, new_covariance
        n_iter += 1
    if moved > tolerance:
        warn(
            f"Expectation-maximisation stopped after {n_iter} steps, the last of which moved a "
            f"mean or a covariance by {moved:.1e} standard deviations; raise max_iter= or tol=. "
            "(A class with few rows for its columns may have no maximum; covariance='shared' has.)",
            BayesGraphWarning,
        )
    # Back to the units of the columns; constant columns keep their mean, and comoments of zero.
    means = np.repeat(overall.mean, n_groups, axis=0)
    means[:, varies] = np.where(problem.total[:, None] > 0, centre + scale * mean, centre)
    comoments = np.zeros((n_groups, values.shape[1], values.shape[1]))
    # `varies[:, None], varies` are the pairs of columns that vary.
    comoments[:, varies[:, None], varies] = comoment * scale[:, None] * scale
    filled = np.repeat(overall.mean, len(values), axis=0)
    filled[:, varies] = centre + scale * problem.filled
    statistics = FamilyStatistics(problem.total, means, comoments)
    return Completed(statistics, np.where(np.isnan(values), filled, values), codes, weights, n_iter)


class _Problem:
    """Input of EM: standardised rows, and the kinds of those that miss values.

    Rows of one kind miss the same columns and have the same class.

    Attributes
    ----------
    total : ndarray, shape (K,)
        Total weight of the rows of each class.
    filled : ndarray, shape (n, d)
        The rows with missing values replaced by their expectations.
    """

    def __init__(
        self,
        values: Floats,
        group: NDArray[np.intp],
        n_groups: int,
        weights: Floats,
        var_smoothing: float,
    ) -> None:
        self._values, self._group, self._weights = values, group, weights
        self._ridge = var_smoothing
        self.filled = values.copy()
        self.total: Floats = np.bincount(group, weights, n_groups).astype(np.float64)
        gaps = np.isnan(values)
        n_gaps = gaps.sum(axis=1)
        # Statistics of the rows without gaps, which stay as they are.
        self._complete = self._statistics(np.flatnonzero(n_gaps == 0))
        rows = np.flatnonzero(n_gaps)
        # A kind is the number of gaps, a mark for each column with a gap, and the class. The number
        # comes first, so that kinds with as many gaps are sorted next to each other.
        pattern = np.column_stack([n_gaps, gaps, group])[rows]
        kinds, kind = np.unique(pattern, axis=0, return_inverse=True)
        order = np.argsort(kind.reshape(-1), kind="stable")
        # The rows with gaps in the order of their kinds, and the kind of each.
        self._rows, self._kind = rows[order], kind.reshape(-1)[order]
        self._class = kinds[:, -1]
        # The columns of each kind, those with a value first.
        self._columns = np.argsort(kinds[:, 1:-1], axis=1, kind="stable")
        # Places in `_rows` of successive rows with as many gaps, so few that a matrix of each of
        # them fits in memory.
        size = 1 + _BLOCK_NUMBERS // max(values.shape[1] ** 2, 1)
        steps = np.flatnonzero(np.diff(n_gaps[self._rows])) + 1
        ends = np.union1d(steps, np.arange(0, len(rows), size))  # 0 first: part 0 is empty
        self._blocks = np.split(np.arange(len(rows)), ends)[1:]

    def _statistics(self, rows: NDArray[np.intp]) -> FamilyStatistics:
        """Return the statistics of some rows, with their missing values filled."""
        group, n_groups = self._group[rows], len(self.total)
        return FamilyStatistics(*group_comoments(self.filled, group, n_groups, self._weights, rows))

    def start(self, *, shared: bool) -> tuple[Floats, Floats]:
        """Return initial parameters: means of the classes, and diagonal pooled covariances.

        Both are estimated from the available cases of each column. The shapes are (K, d), and
        (K, d, d) or, for a covariance that the classes share, (1, d, d).
        """
        n_groups = len(self.total)
        moments = GroupMoments.collect(self._values, self._group, n_groups, self._weights)
        variance = safe_divide(moments.square.sum(axis=0), moments.count.sum(axis=0))
        return moments.mean, np.repeat(np.diag(variance)[None], 1 if shared else n_groups, axis=0)

    def expect(self, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """Run the E-step: fill the gaps; return the new means, and comoments about them.

        Given the observed values x_o, the missing values x_u have the mean ``m_u + S_uo S_oo^-1
        (x_o - m_o)`` and the covariance ``S_uu - S_uo S_oo^-1 S_ou``, with the mean m and the
        covariance S of the class.
        """
        # Sums of the conditional covariances of missing values, by class.
        uncertain = np.zeros((len(mean), *covariance.shape[1:]))
        for block in self._blocks:
            rows = self._rows[block]
            kinds, kind = np.unique(self._kind[block], return_inverse=True)
            # All rows of a block observe as many columns.
            n_observed = int(np.count_nonzero(~np.isnan(self._values[rows[0]])))
            # The observed and the missing columns of each kind, and the covariance of its class: 0
            # if the classes share one.
            present, absent = np.split(self._columns[kinds], [n_observed], axis=1)
            matrix = np.minimum(self._class[kinds], len(covariance) - 1)[:, None, None]
            # S_oo, S_ou and S_uu.
            observed, link, missing = (
                covariance[matrix, first[:, :, None], second[:, None, :]]
                for first, second in ((present, present), (present, absent), (absent, absent))
            )
            # S_oo^-1 S_ou, with the ridge on the diagonal of S_oo.
            slopes = _solved(observed + self._ridge * np.eye(n_observed), link)
            weight = np.bincount(kind, self._weights[rows], len(kinds))[:, None, None]
            cells = self._class[kinds][:, None, None], absent[:, :, None], absent[:, None, :]
            # Several kinds may have the same class: `add.at` adds up what they have in a cell.
            np.add.at(uncertain, cells, weight * (missing - link.swapaxes(1, 2) @ slopes))
            # Each row observes and lacks columns of its own.
            row, group = rows[:, None], self._group[rows, None]
            present_in_row, absent_in_row = present[kind], absent[kind]
            deviation = self._values[row, present_in_row] - mean[group, present_in_row]
            shift = np.einsum("ni,nij->nj", deviation, slopes[kind])
            self.filled[row, absent_in_row] = mean[group, absent_in_row] + shift
        completed = self._complete + self._statistics(self._rows)
        has_rows = self.total[:, None] > 0
        return np.where(has_rows, completed.mean, mean), completed.comoment + uncertain


def _solved(observed: Floats, link: Floats) -> Floats:
    """Return the slopes of missing by observed columns, shape (n, n_observed, n_missing).

    Columns are collinear if others explain all but a negligible share of a variance.
    """
    try:
        # The square of the Cholesky factor's diagonal: each variance given the columns before.
        unexplained = np.linalg.cholesky(observed).diagonal(axis1=1, axis2=2) ** 2
        if (unexplained > _COLLINEAR * observed.diagonal(axis1=1, axis2=2)).all():
            return np.asarray(np.linalg.solve(observed, link))
    except np.linalg.LinAlgError:
        pass
    raise DataError(
        "Columns with missing values are collinear within a class, so that the missing ones cannot "
        "be regressed on the others; give var_smoothing a positive value."
    )


def _maximised(comoment: Floats, total: Floats, before: Floats, *, shared: bool) -> Floats:
    """Return the maximum-likelihood covariances; a class without rows keeps the one in `before`."""
    if shared:
        return np.asarray(comoment.sum(axis=0, keepdims=True) / total.sum())
    weight = total[:, None, None]
    return np.where(weight > 0, safe_divide(comoment, weight), before)


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
    weights = None
    if len(source.weights):  # as many rows as they are worth (Kish 1965)
        weights = source.weights * (source.weights.sum() / np.square(source.weights).sum())
    names = {variable.name for variable in table.variables}
    indicators: list[MissingIndicator] = []
    for name, is_missing in _patterns(table, target):
        columns: dict[Name, Any] = {"missing": is_missing, "class": labels}
        test = independence_test(
            columns,
            "missing",
            "class",
            method="g_squared",
            categorical=["class"],
            sample_weight=weights,
        )
        if test.p_value < _ALPHA:
            number, fresh = 1, f"{name} is missing"
            while fresh in names:
                number += 1
                fresh = f"{name} is missing ({number})"
            names.add(fresh)  # the columns 1 and "1" would share it
            indicators.append(MissingIndicator(fresh, name))
    return tuple(indicators)


def _patterns(table: Table, target: Discrete) -> Iterator[tuple[Name, NDArray[np.bool_]]]:
    """Yield the name of each feature that some rows lack, but not all, and the mask of these rows.

    Of features with equal masks only the first one comes.
    """
    patterns: set[bytes] = set()
    for variable in table.variables:
        if variable == target or isinstance(variable, CountVector):
            continue
        is_missing = table.is_missing(variable)
        pattern = is_missing.tobytes()
        if is_missing.any() and not is_missing.all() and pattern not in patterns:
            patterns.add(pattern)
            yield variable.name, is_missing
