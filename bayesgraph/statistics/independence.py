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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.evidence import arranged
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.statistics.requests import group_comoments, safe_divide
from bayesgraph.statistics.source import RowSource, complete_rows
from bayesgraph.statistics.summaries import FamilyStatistics
from bayesgraph.tables import Table, columns_of

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
        "g_squared", "chi_squared", "permutation", "partial_correlation" or "conditional_gaussian".
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
        x, y, others = (", ".join(map(str, names)) for names in (self.x, self.y, self.given))
        title = f"Independence of {x} and {y}" + (f" given {others}" if others else "")
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


class Outcome(NamedTuple):
    """Result of a test: statistic, degrees of freedom, p-value, information in nats a row."""

    statistic: float
    degrees: int
    p_value: float
    information: float

    @classmethod
    def of_ratio(cls, statistic: float, degrees: int, rows: float, p_value: Any = None) -> Outcome:
        """Return the outcome of twice a log likelihood ratio, `statistic`, of some rows.

        By default the statistic is a chi-squared one. The information is half of it by row.
        """
        if p_value is None:
            p_value = scipy.special.chdtrc(degrees, max(statistic, 0.0)) if degrees > 0 else 1.0
        return cls(statistic, degrees, float(p_value), max(statistic, 0.0) / 2.0 / max(rows, 1.0))


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
    method : str, optional
        * "g_squared": likelihood ratio of discrete columns; the default for these. Degrees of
          freedom are ``(r - 1) (c - 1)`` for the r and c states that occur in a stratum.
        * "chi_squared": Pearson's statistic of discrete columns, with the same degrees.
        * "permutation": Pearson's statistic, whose p-value is that among permutations of the rows
          within each stratum, from their mean and variance (Dawson 1954); the default where x and y
          have so many states for the rows, as postcodes have, that G-squared is not chi-squared.
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
    of_table = columns_of(table)
    names = _as_names(x, of_table), _as_names(y, of_table), _as_names(given, of_table)
    flat = [name for group in names for name in group]
    if len(set(flat)) < len(flat) or not names[0] or not names[1]:
        raise DataError(
            "x, y and given= name different columns, x and y at least one each; got "
            f"{quoted(flat)}."
        )
    rows, weights = complete_rows(of_table, flat, categorical, sample_weight)
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    # Expected counts are products of two weights.
    if not 1e-150 < total < 1e150:
        raise DataError(
            "The sum of sample_weight, the number of rows observed, is between 1e-150 and 1e150; "
            f"got {total:g}. Multiply the weights by a constant."
        )
    by_name = {variable.name: variable for variable in rows.variables}
    first, second, others = ([by_name[name] for name in group] for group in names)
    columns = _Columns(rows, first, second, others, weights)
    chosen = _default(columns) if method is None else method
    if chosen not in _METHODS:
        raise DataError(f"method= is one of {quoted(_METHODS)}; got {method!r}.")
    if chosen == "conditional_gaussian":
        columns = _with_covariances(columns)
    outcome = _METHODS[chosen](columns)
    return IndependenceTest(*names, chosen, *outcome[:3], columns.table.n_rows)


def _as_names(names: Any, columns: Mapping[Name, Any]) -> tuple[Name, ...]:
    """Return one name or several as a tuple; a tuple may be the name of one of the columns."""
    is_one = isinstance(names, str) or not isinstance(names, Iterable)
    if is_one or (isinstance(names, tuple) and names in columns):
        return (names,)
    # The order of a set differs between processes.
    return tuple(sorted(names, key=repr) if isinstance(names, (set, frozenset)) else names)


def _default(columns: _Columns) -> str:
    """Return the method for columns of these kinds; see `independence_test`."""
    variables = columns.table.variables
    if all(isinstance(variable, Discrete) for variable in variables):
        return "permutation" if _are_sparse(columns) else "g_squared"
    single = len(columns.x) == len(columns.y) == 1
    if single and all(isinstance(variable, Continuous) for variable in variables):
        return "partial_correlation"
    return "conditional_gaussian"


def _are_sparse(columns: _Columns) -> bool:
    """Tell whether discrete x and y have too many states for `g_squared`."""
    r, s = (math.prod(v.cardinality for v in arranged(g).discrete) for g in (columns.x, columns.y))
    # The declared states are an upper bound, which spares counting those that occur.
    may_be_sparse = bool(too_few_rows((r - 1.0) * (s - 1.0), columns.weights.sum()))
    return may_be_sparse and Cells.of(columns).are_sparse


def _check_kind(columns: _Columns, kind: type[Any], method: str) -> None:
    """Raise a DataError unless all columns are of the kind, Discrete or Continuous."""
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
        # Numbered anew after each variable, as the product of many cardinalities would overflow.
        _, cell = np.unique(cell, return_inverse=True)
    return cell.reshape(-1)


class Cells(NamedTuple):
    """The cells of a contingency table that occur, in the order of stratum, x and y.

    Attributes
    ----------
    z, x, y : ndarray of int, shape (n_cells,)
        Numbers from 0 on of the stratum of each cell, of stratum and x, and of stratum and y.
    counts : ndarray, shape (n_cells,)
    widest : int
        Degrees of freedom of a single table of all states of x and y.
    """

    z: NDArray[np.intp]
    x: NDArray[np.intp]
    y: NDArray[np.intp]
    counts: Floats
    widest: int

    @classmethod
    def of(cls, columns: _Columns) -> Cells:
        """Return the cells of the discrete columns."""
        groups = columns.z, columns.x, columns.y
        z, x, y = (_cell(columns.table, arranged(group).discrete) for group in groups)
        # Numbers begin at 0: the last one is the number of states that occur, less one.
        last_x, last_y = (int(number.max(initial=0)) for number in (x, y))
        # Numbers of each row's row and column among those of the tables of all strata.
        _, x_in_z = np.unique(z * (last_x + 1) + x, return_inverse=True)
        _, y_in_z = np.unique(z * (last_y + 1) + y, return_inverse=True)
        cell = x_in_z * (int(y_in_z.max(initial=0)) + 1) + y_in_z
        _, first, cell = np.unique(cell, return_index=True, return_inverse=True)
        counts: Floats = np.bincount(cell, columns.weights).astype(np.float64)
        return cls(z[first], x_in_z[first], y_in_z[first], counts, last_x * last_y)

    def margins(self) -> tuple[Any, Any, Any, Any]:
        """Return, for each cell, the total of its stratum, row and column, and its expected count.

        The expected count is that of independence of x and y in the stratum.
        """
        totals, rows, columns = (
            np.bincount(number, self.counts)[number] for number in (self.z, self.x, self.y)
        )
        return totals, rows, columns, rows * columns / totals

    def degrees(self) -> int:
        """Return the degrees of freedom, from the states that occur in each stratum."""
        _, n_rows = self._in_strata(self.x)
        _, n_columns = self._in_strata(self.y)
        return int(np.sum((n_rows - 1) * (n_columns - 1)))

    def _in_strata(self, number: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the first cell of each number, and how many numbers each stratum has.

        `number` is `x` or `y`, whose numbers differ between strata.
        """
        _, first_cell = np.unique(number, return_index=True)
        return first_cell, np.bincount(self.z[first_cell])

    def g_squared(self) -> float:
        """Return G-squared."""
        return 2.0 * float(np.sum(self.counts * np.log(self.counts / self.margins()[-1])))

    def chi_squared(self) -> float:
        """Return Pearson's statistic over all cells.

        Also over those with count 0, which add their expected counts.
        """
        expected = self.margins()[-1]
        of_cells = float(np.sum((self.counts - expected) ** 2 / expected))
        # A cell that does not occur adds (0 - expected)^2 / expected; together they are expected
        # to have all weight that is not expected in the cells that occur.
        return of_cells + max(float(self.counts.sum() - expected.sum()), 0.0)

    def permuted(self) -> float:
        """Return the p-value of Pearson's statistic if y is permuted within each stratum.

        Its mean and variance over all permutations are exact (Dawson 1954), the distribution is
        the gamma one that has them.
        """
        totals, *margins, _ = self.margins()
        # Everything is by stratum, of n rows and k rows or columns of its table; v and w are
        # Dawson's, of the rows and of the columns of the tables.
        n = np.bincount(self.z, self.counts)
        if not (n >= 2.0).any():
            return 1.0  # fewer than two rows have one permutation
        less_1, less_2, less_3 = (np.maximum(n - i, 1.0) for i in (1, 2, 3))  # n - 1, ...
        degrees, v, w = [], [], []
        for number, margin in zip((self.x, self.y), margins, strict=True):
            first_cell, k = self._in_strata(number)
            # n times the sum of 1 / m over the rows or columns of the stratum, whose totals are m.
            inverse = np.bincount(self.z[first_cell], totals[first_cell] / margin[first_cell])
            degrees.append(k - 1.0)
            v.append((k - 1) * np.maximum(n - k, 0.0) / less_1)
            w.append((inverse - k**2) / less_2)
        mean = float(np.sum(n * degrees[0] * degrees[1] / less_1))
        spread = 2 * n / less_3 * (v[0] - w[0]) * (v[1] - w[1])
        variance = float(np.sum(spread + n**2 / less_1 * w[0] * w[1]))
        if not variance > _ROUNDING * mean**2:
            return 1.0  # all permutations have the same statistic
        # A gamma variable is a chi-squared one of ``mean / scale`` degrees times `scale`.
        scale = variance / (2.0 * mean)
        return float(scipy.special.chdtrc(mean / scale, self.chi_squared() / scale))

    @property
    def are_sparse(self) -> bool:
        """Whether they are too many for `g_squared`, so that `permuted` decides."""
        return bool(too_few_rows(self.widest, float(self.counts.sum())))


def too_few_rows(degrees: Any, rows: Any) -> Any:
    """Tell whether a table has too many cells for the chi-squared distribution of G-squared.

    With d degrees of freedom and n rows, the mean of G-squared is about d + d^2 / (6 n) (Williams
    1976). The second term is to be at most half of the standard deviation, which is sqrt(2 d): then
    d^1.5 is at most 3 sqrt(2) n.
    """
    return rows * 3.0 * math.sqrt(2.0) < np.power(degrees, 1.5)


def _of_cells(method: str) -> Callable[[_Columns], Outcome]:
    """Return the test of discrete columns by one of their methods."""

    def test(columns: _Columns) -> Outcome:
        _check_kind(columns, Discrete, method)
        cells = Cells.of(columns)
        statistic = cells.g_squared() if method == "g_squared" else cells.chi_squared()
        p_value = cells.permuted() if method == "permutation" else None
        return Outcome.of_ratio(statistic, cells.degrees(), float(cells.counts.sum()), p_value)

    return test


# ------------------------------------------------------------------------ continuous columns


def _partial_correlation(columns: _Columns) -> Outcome:
    """Return the test "partial_correlation"; raise a DataError where it does not hold."""
    _check_kind(columns, Continuous, "partial_correlation")
    if len(columns.x) > 1 or len(columns.y) > 1:
        raise DataError("A partial correlation is of two columns; use 'conditional_gaussian'.")
    outcome = partial_correlation(_statistics(columns))
    if outcome.degrees < 1:
        raise DataError(
            f"A partial correlation given {len(columns.z)} columns takes {len(columns.z) + 3} or "
            f"more rows; there are {columns.weights.sum():g}."
        )
    return outcome


# ------------------------------------------------------------------------------ mixed columns


def _conditional_gaussian(columns: _Columns) -> Outcome:
    """Return the test "conditional_gaussian"; raise a DataError where its ratio does not hold.

    `columns` has only rows whose states have enough rows for a covariance: see `_with_covariances`.
    """
    if arranged(columns.z).continuous and _are_sparse(columns):
        raise DataError(
            f"{quoted(v.name for v in columns.x)} and {quoted(v.name for v in columns.y)} have too "
            f"many states for a likelihood ratio of {columns.table.n_rows:,} rows given continuous "
            "columns. Merge states, or cut the given columns into intervals."
        )
    statistics = _statistics(columns)
    # A correlation matrix has an eigenvalue of 0 if columns are linearly dependent, and 0 in the
    # place of each correlation of a constant.
    comoment = statistics.comoment[statistics.counts > 0]  # shape (n_cells, d, d)
    deviation = np.sqrt(np.diagonal(comoment, axis1=-2, axis2=-1))
    correlation = safe_divide(comoment, deviation[:, :, None] * deviation[:, None, :])
    # Eigenvalues ascend: the first one of each cell is the smallest.
    if comoment.size and np.linalg.eigvalsh(correlation)[:, 0].min() <= _ROUNDING:
        raise DataError(
            f"The columns {quoted(v.name for v in columns.table.continuous)} are "
            "constant or linearly dependent among rows with the same states. Leave one out, or "
            "condition on fewer columns."
        )
    n_x, n_y = (len(arranged(group).continuous) for group in (columns.x, columns.y))
    return conditional_gaussian(statistics, n_x, n_y)


def _statistics(columns: _Columns) -> FamilyStatistics:
    """Return the statistics by stratum and by the states of x and y, in this order of columns."""
    parts = columns.x, columns.y, columns.z
    x, y, z = (_cell(columns.table, arranged(part).discrete) for part in parts)
    shape = tuple(int(number.max()) + 1 for number in (z, x, y))
    numbers = [columns.table.column(v) for part in parts for v in arranged(part).continuous]
    # A column of ones, which is dropped again, as nothing cannot be stacked.
    values = np.stack([*numbers, np.ones(len(x))], axis=1)[:, :-1]
    # Cell of each row: strata are the first axis, states of x the second, of y the third.
    group = np.ravel_multi_index((z, x, y), shape)
    moments = group_comoments(values, group, math.prod(shape), columns.weights)
    return FamilyStatistics(*(a.reshape(*shape, *a.shape[1:]) for a in moments))


def _with_covariances(columns: _Columns) -> _Columns:
    """Return the rows whose states have enough rows for a covariance of all continuous columns."""
    table = columns.table
    needed = len(table.continuous) + 1
    if needed == 1:  # no continuous columns, and so no covariance
        return columns
    cell = _cell(table, table.discrete)
    kept = np.bincount(cell, columns.weights)[cell] > needed
    if not kept.any():
        raise DataError(
            f"No combination of states of {quoted(v.name for v in table.discrete)} has "
            f"more than {needed} rows, which a covariance of the continuous columns takes. "
            "Condition on fewer columns."
        )
    return columns._replace(table=table.rows(kept), weights=columns.weights[kept])


_METHODS: dict[str, Callable[[_Columns], Outcome]] = {
    **{name: _of_cells(name) for name in ("g_squared", "chi_squared", "permutation")},
    "partial_correlation": _partial_correlation,
    "conditional_gaussian": _conditional_gaussian,
}


# -------------- Tests of independence from the statistics of a family of columns, without its rows
# They are those of `independence_test`, for two single columns: see `conditional_tests`.


def many_states(source: RowSource, x: Discrete, y: Discrete, others: Sequence[Variable]) -> Outcome:
    """Return the test of two columns of so many states that `too_few_rows` may hold, from the rows.

    `others` are the columns given which they are tested. The result is NaN if some of these are
    continuous, or leave no degree of freedom.
    """
    table, weights = source.table, source.weights
    weights = weights if len(weights) else np.ones(table.n_rows)
    kept = (weights > 0) & ~np.any([table.is_missing(v) for v in (x, y, *others)], axis=0)
    cells = Cells.of(_Columns(table.rows(kept), [x], [y], others, weights[kept]))
    degrees = cells.degrees()
    if arranged(others).continuous or (others and not degrees):
        return Outcome(math.nan, 0, math.nan, math.nan)
    p_value = cells.permuted() if cells.are_sparse else None
    return Outcome.of_ratio(cells.g_squared(), degrees, float(cells.counts.sum()), p_value)


def partial_correlation(statistics: FamilyStatistics, ridge: Floats | float = 0.0) -> Outcome:
    """Return the t-test of the partial correlation of the first two of some continuous columns.

    Parameters
    ----------
    statistics : FamilyStatistics
        Of continuous columns: x, y, and those that are given.
    ridge : ndarray, shape (n,)
        Added to the variances: what a column has left below it is rounding error.

    Returns
    -------
    Outcome
        Its statistic is the correlation; 0 degrees of freedom where there are too few rows.
    """
    # The t-test has n_rows - 2 - (number of given columns) degrees of freedom. The tolerance is for
    # rounding errors of a sum of weights.
    total, n = float(statistics.counts.sum()), statistics.comoment.shape[-1]
    degrees = math.floor(total * (1.0 + 1e-9)) - n
    if degrees < 1:
        return Outcome(0.0, 0, 1.0, 0.0)
    mean, comoment = statistics.mean.reshape(n), statistics.comoment.reshape(n, n)
    covariance = comoment / total + np.diag(np.broadcast_to(ridge, n))
    # The covariance of the residuals of x and y, the Schur complement of the given columns, which
    # are scaled to variance 1.
    scale = np.sqrt(covariance.diagonal()[2:])
    with_given = safe_divide(covariance[:2, 2:], np.broadcast_to(scale, (2, n - 2)))
    of_given = safe_divide(covariance[2:, 2:], np.outer(scale, scale))
    inverse = np.linalg.pinv(of_given, _ROUNDING, hermitian=True)
    residual = covariance[:2, :2] - with_given @ inverse @ with_given.T
    # What rounding leaves of a constant: a share of its variance, and errors of numbers of the size
    # of the mean.
    rounding = _ROUNDING * covariance.diagonal() + (8.0 * np.finfo(float).eps * mean) ** 2
    r = 0.0
    if (residual.diagonal() > rounding[:2]).all():
        # By the slopes in both directions: the product of variances may exceed the range of floats.
        slopes = residual[0, 1] / residual.diagonal()
        r = math.copysign(min(1.0, math.sqrt(slopes.prod())), residual[0, 1])
    unexplained = 1.0 - r * r
    t = abs(r) * math.sqrt(degrees / unexplained) if unexplained > 0 else math.inf
    p_value = 2.0 * float(scipy.special.stdtr(degrees, -t))
    # The mutual information of Gaussians, -log(1 - r^2) / 2, finite where 1 - r^2 is rounding.
    return Outcome(r, degrees, p_value, -0.5 * math.log(max(unexplained, 2e-15)))


def conditional_gaussian(
    statistics: FamilyStatistics, n_x: int, n_y: int, ridge: Floats | float = 0.0
) -> Outcome:
    """Return the likelihood ratio test of x and y in strata of other columns.

    Combinations of states with too few rows for a covariance are left out.

    Parameters
    ----------
    statistics : FamilyStatistics
        The axes of its counts are strata, states of x, and states of y; its continuous columns
        are those of x, those of y, and the others.
    n_x, n_y : int
        Numbers of continuous columns of x and y.
    ridge : ndarray, shape (number of continuous columns,)
        Added to the variances.
    """
    n = statistics.mean.shape[-1]
    # More rows than the n + 1 that a covariance of n columns takes.
    kept = statistics.counts > (n + 1 if n else 0)
    counts = np.where(kept, statistics.counts, 0.0)
    comoment = np.where(kept[..., None, None], statistics.comoment, 0.0)
    statistics = FamilyStatistics(counts, statistics.mean, comoment)
    # States of x and of y that occur in each stratum.
    states_x, states_y = ((counts.sum(axis=axis) > 0).sum(axis=1) for axis in (2, 1))
    degrees = int(np.sum(np.maximum(states_x - 1, 0) * np.maximum(states_y - 1, 0)))
    x, y, z = np.split(np.arange(n), [n_x, n_x + n_y])
    # With the states of y summed out, and with those of x: axes are strata, x, y.
    of_x, of_y = statistics.merged(2), statistics.merged(1)
    statistic = 0.0
    # Each saturated model of the formula at the top of the file adds its likelihood and its free
    # parameters: d means and d (d + 1) / 2 covariances for each combination of states. (Those
    # of the cells' shares are in `degrees` already.)
    for sign, part, columns in (
        (1, statistics, [*x, *y, *z]),
        (1, of_x.merged(1), z),
        (-1, of_x, [*x, *z]),
        (-1, of_y, [*y, *z]),
    ):
        occurs, d = part.counts > 0, len(columns)
        weights, comoments = part.counts[occurs], part.comoment[occurs]
        covariance = comoments[:, columns][:, :, columns] / weights[:, None, None]
        covariance = covariance + np.diag(np.broadcast_to(ridge, n)[columns])
        # Maximum log likelihood, without terms that cancel in the ratio.
        likelihood = weights @ (np.log(weights) - 0.5 * np.linalg.slogdet(covariance)[1])
        statistic += 2.0 * sign * float(likelihood)
        degrees += sign * len(weights) * (d + d * (d + 1) // 2)
    return Outcome.of_ratio(statistic, degrees, float(counts.sum()))


# ------------------------------------------------------------- P-values of several tests together


def holm_adjusted(p: Floats) -> Floats:
    """Return p-values adjusted for their number by the procedure of Holm (1979); NaN stays."""
    # Ascending, without the NaN, which are sorted last.
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    # The smallest of m p-values times m, the next one times m - 1, ...; all in ascending order.
    factors = np.arange(len(order), 0, -1)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
