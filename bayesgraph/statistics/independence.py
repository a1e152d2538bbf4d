"""Tests whether columns of a table are independent given others.

The G-squared statistic is twice the log likelihood ratio of a saturated model and one in which x
and y are independent in each stratum, a combination of states of the columns z that are conditioned
on. The conditional Gaussian test is the same ratio for conditional Gaussian distributions (Andrews,
Ramsey and Cooper 2018): with the maximum log likelihood L of a set of columns,

    2 (L(x, y, z) + L(z) - L(x, z) - L(y, z)).

It is G-squared of the discrete columns, plus the same sum of -n/2 log |S|, where S is the
covariance of the continuous columns among n rows with the same states of the discrete columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.statistics.requests import Family
from bayesgraph.statistics.source import complete_rows
from bayesgraph.statistics.summaries import FamilyStatistics
from bayesgraph.tables import Table

# ----------------------------------- Tests whether columns of a table are independent given others


Names: TypeAlias = "Name | Sequence[Name]"
# Share of its variance at or below which the residual of a column is rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class IndependenceTest(Displayed):
    """The result of a test whether x and y are independent given other columns.

    Attributes
    ----------
    x, y, given : tuple of names
    method : str
        "g_squared", "chi_squared", "partial_correlation" or "conditional_gaussian".
    statistic : float
        G-squared, chi-squared, the partial correlation, or twice the log likelihood ratio.
    degrees_of_freedom : int
    p_value : float
        Probability of a statistic at least as extreme if x and y are independent.
    n_rows : int
        Number of rows used.
    """

    x: tuple[Name, ...]
    y: tuple[Name, ...]
    given: tuple[Name, ...]
    method: str
    statistic: float
    degrees_of_freedom: int
    p_value: float
    n_rows: int

    def _display(self) -> DisplayTable:
        x, y, given = (", ".join(map(str, names)) for names in (self.x, self.y, self.given))
        title = f"Independence of {x} and {y}" + (f" given {given}" if given else "")
        rows = [
            (self.method.replace("_", " "), rounded(self.statistic, 6)),
            ("degrees of freedom", f"{self.degrees_of_freedom:,}"),
            ("p-value", rounded(self.p_value)),
        ]
        return DisplayTable(title, rows, note=f"{self.n_rows:,} rows")


class _Columns(NamedTuple):
    """The columns of a test, without missing values.

    Attributes
    ----------
    table : Table
    x, y, z : sequence of Variable
    weights : ndarray, shape (n_rows,)
    """

    table: Table
    x: Sequence[Variable]
    y: Sequence[Variable]
    z: Sequence[Variable]
    weights: Floats


class _Outcome(NamedTuple):
    """Statistic, degrees of freedom, p-value and number of rows used."""

    statistic: float
    degrees: int
    p_value: float
    n_rows: int


def independence_test(
    table: TableLike,
    x: Names,
    y: Names,
    given: Names = (),
    *,
    method: str | None = None,
    categorical: Iterable[Name] | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> IndependenceTest:
    """Test whether columns of a table are independent given other columns.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or mapping from name to column
        Rows with a missing value in one of the columns used are left out.
    x, y, given : name or sequence of names
    method : {"g_squared", "chi_squared", "partial_correlation", "conditional_gaussian"}, optional
        * "g_squared": likelihood ratio of discrete columns; the default for these. Degrees of
          freedom are ``(r - 1) (c - 1)`` for the r and c states that occur in a stratum.
        * "chi_squared": Pearson's statistic of discrete columns, with the same degrees.
        * "partial_correlation": of two continuous columns, given continuous columns; the default
          for these. The p-value is that of the t-test of the slope of x in the regression of y.
        * "conditional_gaussian": likelihood ratio of any discrete and continuous columns (Andrews,
          Ramsey and Cooper 2018); the default for all others. Combinations of states with too few
          rows for a covariance are left out.
    categorical : list of column names or "all", optional
        Numeric columns to treat as discrete.
    sample_weight : array_like, shape (n_rows,), optional
        How often each row was observed.

    Raises
    ------
    DataError
        For an unknown method, a column named twice, or too few rows.
    UnknownVariableError
        For a name that is no column.

    Examples
    --------
    >>> rows = {"rain": list("yynnyynn"), "wet": list("yynnyyny"), "day": list("mtmtmtmt")}
    >>> independence_test(rows, "rain", "day").p_value
    1.0
    """
    names = _as_names(x), _as_names(y), _as_names(given)
    flat = [name for group in names for name in group]
    if len(set(flat)) < len(flat) or not names[0] or not names[1]:
        raise DataError(
            "x, y and given= name different columns, x and y at least one each; got "
            f"{quoted(flat)}."
        )
    rows, weights = complete_rows(table, flat, categorical, sample_weight)
    by_name = {variable.name: variable for variable in rows.variables}
    first, second, others = ([by_name[name] for name in group] for group in names)
    chosen = method or _default(first, second, others)
    if chosen not in _METHODS:
        raise DataError(f"method= is one of {quoted(_METHODS)}; got {method!r}.")
    found = _METHODS[chosen](_Columns(rows, first, second, others, weights))
    return IndependenceTest(
        *names, chosen, found.statistic, found.degrees, found.p_value, found.n_rows
    )


def _as_names(given: Names) -> tuple[Name, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _default(*groups: Sequence[Variable]) -> str:
    variables = [variable for group in groups for variable in group]
    if all(isinstance(variable, Discrete) for variable in variables):
        return "g_squared"
    single = len(groups[0]) == len(groups[1]) == 1
    if single and all(isinstance(variable, Continuous) for variable in variables):
        return "partial_correlation"
    return "conditional_gaussian"


def _p_value(statistic: float, degrees: int) -> float:
    """Return the probability that a chi-squared variable exceeds a statistic."""
    return float(scipy.special.chdtrc(degrees, max(statistic, 0.0))) if degrees else 1.0


def _discrete(variables: Iterable[Variable]) -> list[Discrete]:
    return [variable for variable in variables if isinstance(variable, Discrete)]


def _continuous(variables: Iterable[Variable]) -> list[Continuous]:
    return [variable for variable in variables if isinstance(variable, Continuous)]


def _check_kind(columns: _Columns, kind: type[Any], method: str) -> None:
    wrong = [v.name for v in columns.table.variables if not isinstance(v, kind)]
    if wrong:
        takes = "discrete" if kind is Discrete else "continuous"
        raise DataError(
            f"{method!r} takes {takes} columns; {quoted(wrong)} are not. Use "
            "method='conditional_gaussian', or categorical= for numbers that are names."
        )


# ---------------------------------------------------------------------- contingency tables


def _cell(table: Table, variables: Iterable[Discrete]) -> NDArray[np.intp]:
    """Return a number for each row, the same for rows with the same states, from 0 on."""
    cell = np.zeros(table.n_rows, dtype=np.int64)
    for variable in variables:
        cell = cell * variable.cardinality + table.column(variable)
        _, cell = np.unique(cell, return_inverse=True)
    return cell.reshape(-1)


def _counts(columns: _Columns) -> Floats:
    """Return the counts of the discrete columns, shape (strata, states of x, states of y)."""
    cells = [_cell(columns.table, _discrete(group)) for group in (columns.z, columns.x, columns.y)]
    shape = tuple(int(cell.max(initial=0)) + 1 for cell in cells)
    flat = np.ravel_multi_index(cells, shape)
    counts: Floats = np.bincount(flat, columns.weights, math.prod(shape)).astype(np.float64)
    return counts.reshape(shape)


def _expected(counts: Floats) -> Floats:
    """Return the counts to be expected in each stratum if x and y are independent."""
    totals = counts.sum(axis=(1, 2), keepdims=True)
    rows, columns = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    return np.asarray(rows * columns / np.where(totals > 0, totals, 1.0))


def _degrees(counts: Floats) -> int:
    """Return the degrees of freedom, from the states that occur in each stratum."""
    rows, columns = (counts.sum(axis=2) > 0).sum(axis=1), (counts.sum(axis=1) > 0).sum(axis=1)
    return int(np.sum(np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)))


def _g_statistic(counts: Floats) -> float:
    seen = counts > 0
    return 2.0 * float(np.sum(counts[seen] * np.log(counts[seen] / _expected(counts)[seen])))


def _g_squared(columns: _Columns) -> _Outcome:
    _check_kind(columns, Discrete, "g_squared")
    counts = _counts(columns)
    statistic, degrees = _g_statistic(counts), _degrees(counts)
    return _Outcome(statistic, degrees, _p_value(statistic, degrees), columns.table.n_rows)


def _chi_squared(columns: _Columns) -> _Outcome:
    _check_kind(columns, Discrete, "chi_squared")
    counts = _counts(columns)
    expected, degrees = _expected(counts), _degrees(counts)
    seen = expected > 0
    statistic = float(np.sum((counts[seen] - expected[seen]) ** 2 / expected[seen]))
    return _Outcome(statistic, degrees, _p_value(statistic, degrees), columns.table.n_rows)


# ------------------------------------------------------------------------ continuous columns


def _partial_correlation(columns: _Columns) -> _Outcome:
    _check_kind(columns, Continuous, "partial_correlation")
    if len(columns.x) > 1 or len(columns.y) > 1:
        raise DataError("A partial correlation is of two columns; use 'conditional_gaussian'.")
    table, weights = columns.table, columns.weights
    design = np.stack([np.ones(table.n_rows), *(table.column(v) for v in columns.z)], axis=1)
    x, y = (_residual(table.column(v), design, weights) for v in (columns.x[0], columns.y[0]))
    total = float(weights.sum())
    degrees = math.floor(total) - 1 - design.shape[1]
    if degrees < 1:
        raise DataError(
            f"A partial correlation given {len(columns.z)} columns takes {len(columns.z) + 3} or "
            f"more rows; there are {total:g}."
        )
    size = float(np.sqrt(np.sum(weights * x**2) * np.sum(weights * y**2)))
    r = min(1.0, max(-1.0, float(np.sum(weights * x * y)) / size)) if size > 0 else 0.0
    t = abs(r) * math.sqrt(degrees / (1.0 - r * r)) if abs(r) < 1 else math.inf
    p_value = 2.0 * float(scipy.special.stdtr(degrees, -t))
    return _Outcome(r, degrees, p_value, table.n_rows)


def _residual(column: Floats, design: Floats, weights: Floats) -> Floats:
    """Return what a regression on the design leaves, zeros if that is rounding error."""
    column = column - np.average(column, weights=weights)
    scale = np.abs(design).max(axis=0)
    scale[scale == 0] = 1.0
    root = np.sqrt(weights)
    slopes, *_ = np.linalg.lstsq(root[:, None] * design / scale, root * column, rcond=None)
    left = column - design / scale @ slopes
    is_rounding = np.sum(weights * left**2) <= _ROUNDING * np.sum(weights * column**2)
    return np.zeros_like(left) if is_rounding else np.asarray(left)


# ------------------------------------------------------------------------------ mixed columns


def _conditional_gaussian(columns: _Columns) -> _Outcome:
    columns = _with_covariances(columns)
    x, y, z = columns.x, columns.y, columns.z
    counts = _counts(columns)
    statistic, degrees = _g_statistic(counts), _degrees(counts)
    for sign, variables in ((1, [*x, *y, *z]), (1, z), (-1, [*x, *z]), (-1, [*y, *z])):
        likelihood, parameters = _gaussian_part(columns, variables)
        statistic += 2.0 * sign * likelihood
        degrees += sign * parameters
    return _Outcome(statistic, degrees, _p_value(statistic, degrees), columns.table.n_rows)


def _with_covariances(columns: _Columns) -> _Columns:
    """Return the rows whose states have enough rows for a covariance of all continuous columns."""
    table = columns.table
    needed = len(_continuous(table.variables)) + 1
    if needed == 1:
        return columns
    cell = _cell(table, _discrete(table.variables))
    kept = np.bincount(cell)[cell] > needed
    if not kept.any():
        raise DataError(
            f"No combination of states of {quoted(v.name for v in _discrete(table.variables))} has "
            f"more than {needed} rows, which a covariance of the continuous columns takes. "
            "Condition on fewer columns."
        )
    return columns._replace(table=table.rows(kept), weights=columns.weights[kept])


def _gaussian_part(columns: _Columns, variables: Collection[Variable]) -> tuple[float, int]:
    """Return the log likelihood of continuous columns given discrete ones, and its parameters.

    Constants that cancel in the ratio are left out.
    """
    table, weights = columns.table, columns.weights
    numbers = _continuous(variables)
    if not numbers:
        return 0.0, 0
    d = len(numbers)
    cell = _cell(table, _discrete(variables))
    values = np.stack([table.column(v) for v in numbers], axis=1)
    values = values / np.where((scale := np.abs(values).max(axis=0)) > 0, scale, 1.0)
    likelihood = 0.0
    for number in range(int(cell.max()) + 1):
        chosen = cell == number
        total, part = float(weights[chosen].sum()), values[chosen]
        covariance = np.cov(part, rowvar=False, aweights=weights[chosen], ddof=0).reshape(d, d)
        spread = np.sqrt(covariance.diagonal())
        if not (spread > 0).all() or not bool(
            np.linalg.eigvalsh(covariance / np.outer(spread, spread))[0] > _ROUNDING
        ):
            raise DataError(
                f"The columns {quoted(v.name for v in numbers)} are constant or linearly dependent "
                "among rows with the same states. Leave one out, or condition on fewer columns."
            )
        _, log_determinant = np.linalg.slogdet(covariance)
        likelihood -= 0.5 * total * float(log_determinant)
    return likelihood, (int(cell.max()) + 1) * (d + d * (d + 1) // 2)


_METHODS: dict[str, Callable[[_Columns], _Outcome]] = {
    "g_squared": _g_squared,
    "chi_squared": _chi_squared,
    "partial_correlation": _partial_correlation,
    "conditional_gaussian": _conditional_gaussian,
}


# -------------- Tests of independence from the statistics of a family of columns, without its rows
# They are those of `independence_test`, for two single columns: see `conditional_tests`.


class Found(NamedTuple):
    """The p-value of a test, and the conditional mutual information in nats a row."""

    p_value: float
    information: float


def partial_correlation(statistics: FamilyStatistics, ridge: Floats) -> Found:
    """Return the t-test of the partial correlation of the first two of some continuous columns.

    Parameters
    ----------
    statistics : FamilyStatistics
        Of continuous columns: x, y, and those that are given.
    ridge : ndarray, shape (n,)
        Added to the variances: what a column has left below it is rounding error.
    """
    total, n = float(statistics.counts), statistics.comoment.shape[-1]
    degrees = math.floor(total) - n
    if degrees < 1:
        return Found(1.0, 0.0)
    covariance = statistics.comoment / total + np.diag(ridge)
    deviation = np.sqrt(covariance.diagonal())
    precision = np.linalg.inv(covariance / deviation[:, None] / deviation)
    r = -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])
    r = min(1.0 - 1e-15, max(-1.0 + 1e-15, float(r)))
    t = abs(r) * math.sqrt(degrees / (1.0 - r * r))
    return Found(2.0 * float(scipy.special.stdtr(degrees, -t)), -0.5 * math.log1p(-r * r))


def conditional_gaussian(
    family: Family,
    statistics: FamilyStatistics,
    x: Variable,
    y: Variable,
    ridge: Floats,
) -> Found:
    """Return the likelihood ratio test of x and y given the other columns of a family.

    Combinations of states with too few rows for a covariance are left out, as in
    `independence_test`.

    Parameters
    ----------
    family : Family
    statistics : FamilyStatistics
    x, y : Variable
        Two columns of the family.
    ridge : ndarray, shape (number of continuous columns,)
        Added to the variances.
    """
    kept = statistics.counts > len(family.continuous) + 1
    statistics = FamilyStatistics(
        np.where(kept, statistics.counts, 0.0),
        statistics.mean,
        np.where(kept[..., None, None], statistics.comoment, 0.0),
    )
    whole: tuple[Variable, ...] = (*family.discrete, *family.continuous)
    given = [v for v in whole if v not in (x, y)]
    ratio, degrees = 0.0, _table_degrees(family.discrete, statistics.counts, x, y)
    for sign, variables in ((1, [x, y, *given]), (1, given), (-1, [x, *given]), (-1, [y, *given])):
        likelihood, parameters = _likelihood(family, statistics, variables, ridge)
        ratio += sign * likelihood
        degrees += sign * parameters
    rows = float(statistics.counts.sum())
    if degrees < 1 or rows <= 0:
        return Found(1.0, 0.0)
    p_value = float(scipy.special.chdtrc(degrees, max(2.0 * ratio, 0.0)))
    return Found(p_value, max(ratio, 0.0) / rows)


def _likelihood(
    family: Family, statistics: FamilyStatistics, kept: Collection[Variable], ridge: Floats
) -> tuple[float, int]:
    """Return the maximised log likelihood of some columns of a family, and parameters of Gaussians.

    Constants that cancel in the ratio are left out.
    """
    for axis in range(len(family.discrete) - 1, -1, -1):
        if family.discrete[axis] not in kept:
            statistics = statistics.merged(axis)
    counts = statistics.counts.reshape(-1)
    there = counts > 0
    counts = counts[there]
    likelihood = float(np.sum(counts * np.log(counts)))
    at = [i for i, v in enumerate(family.continuous) if v in kept]
    d = len(at)
    if d:
        comoment = statistics.comoment.reshape(-1, *statistics.comoment.shape[-2:])[there]
        covariance = comoment[:, at][:, :, at] / counts[:, None, None] + np.diag(ridge[at])
        likelihood -= 0.5 * float(np.sum(counts * np.linalg.slogdet(covariance)[1]))
    return likelihood, len(counts) * (d + d * (d + 1) // 2)


def _table_degrees(axes: Sequence[Discrete], counts: Floats, x: Variable, y: Variable) -> int:
    """Return the degrees of freedom of the tables of x and y, from the states that occur."""
    if not (isinstance(x, Discrete) and isinstance(y, Discrete)):
        return 0
    tables = np.moveaxis(counts, (axes.index(x), axes.index(y)), (-2, -1))
    tables = tables.reshape(-1, x.cardinality, y.cardinality)
    rows, columns = ((tables.sum(axis=axis) > 0).sum(axis=1) for axis in (2, 1))
    return int(np.sum(np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)))
