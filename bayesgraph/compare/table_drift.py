"""Drift between two tables under one model: which families moved.

A family has moved if the distribution of the child given its parents differs between the tables,
that is, if child and table are dependent given the parents. The test is the likelihood ratio of
`bayesgraph.independence_test`, whose statistic divided by twice the number of rows is an estimate
of the conditional mutual information of child and table. P-values are adjusted for the number of
families (Holm 1979), so that the probability of naming any family that did not move is at most
alpha.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph import late_methods
from bayesgraph.cpds import CPD
from bayesgraph.display import Displayed, DisplayTable, more
from bayesgraph.encoding import Table, columns_of
from bayesgraph.encoding.model_rows import table_for
from bayesgraph.errors import BayesGraphError, DataError, DataTypeError, UnsupportedModelError
from bayesgraph.factors import Evidence, Factor
from bayesgraph.independence import independence_test
from bayesgraph.late_binding import late_method
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.mixture import Ensemble
from bayesgraph.models.model import Model
from bayesgraph.typing import TableLike
from bayesgraph.variables import CountVector, Discrete, Name, Variable

_MAXIMUM_LINES = 20


@dataclass(frozen=True)
class FamilyDrift:
    """Whether the distribution of a variable given its parents differs between two tables.

    Attributes
    ----------
    name : name of the child
    parents : tuple of names
    information : float
        Estimate of the mutual information of child and table given the parents, in nats per row;
        NaN if there is no test.
    statistic : float
        Twice the log likelihood ratio.
    degrees_of_freedom : int
    p_value, adjusted : float
        Before and after adjusting for the number of families.
    moved : bool
        Whether the adjusted p-value is at most alpha.
    log_likelihood_before, log_likelihood_after : float
        Mean log likelihood of the child given its parents under the model, in nats per row.
    n_rows : int
        Number of rows that were compared.
    remark : str
        Why there is no test.
    """

    name: Name
    parents: tuple[Name, ...]
    information: float
    statistic: float
    degrees_of_freedom: int
    p_value: float
    adjusted: float
    moved: bool
    log_likelihood_before: float
    log_likelihood_after: float
    n_rows: int
    remark: str = ""

    @property
    def title(self) -> str:
        """The child and its parents, such as ``wet | rain, sprinkler``."""
        given = ", ".join(map(str, self.parents))
        return f"{self.name} | {given}" if given else str(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class TableDrift(Displayed):
    """Which families of a model moved between two tables.

    Attributes
    ----------
    families : tuple of FamilyDrift
        Those that moved first, then by information.
    alpha : float
    n_before, n_after : int
        Number of rows of the two tables.
    """

    families: tuple[FamilyDrift, ...]
    alpha: float
    n_before: int
    n_after: int

    @property
    def moved(self) -> tuple[Name, ...]:
        """Names of the children whose distribution given their parents moved."""
        return tuple(family.name for family in self.families if family.moved)

    plot = late_method(lambda: late_methods.table_drift_figure)

    def _display(self) -> DisplayTable:
        shown = self.families[:_MAXIMUM_LINES]
        rows = [
            (
                f"{'● ' if f.moved else '  '}{f.title}",
                "–" if math.isnan(f.information) else f"{f.information:.4g}",
                "–" if math.isnan(f.adjusted) else f"{f.adjusted:.3g}",
                f"{f.log_likelihood_before:.4g} → {f.log_likelihood_after:.4g}",
            )
            for f in shown
        ]
        scale = max((f.information for f in shown if f.information > 0), default=1.0)
        return DisplayTable(
            f"Drift of {len(self.moved)} of {len(self.families)} families between "
            f"{self.n_before:,} and {self.n_after:,} rows",
            rows,
            header=("family", "nats a row", "adjusted p", "mean log likelihood"),
            bars=[f.information / scale if f.information > 0 else 0.0 for f in shown],
            note="\n".join(
                filter(
                    None,
                    [
                        f"● moved, at a family-wise error of {self.alpha:g} (Holm)",
                        more(len(self.families), len(shown), "families"),
                        *dict.fromkeys(f"{f.name}: {f.remark}" for f in shown if f.remark),
                    ],
                )
            ),
        )


def table_drift(
    model: Any, before: TableLike, after: TableLike, *, alpha: float = 0.05
) -> TableDrift:
    """Return which families of a model moved between two tables.

    Parameters
    ----------
    model : model or fitted estimator
        Its graph gives the families, its distributions the log likelihoods. Members of a mixture
        or an average share families.
    before, after : pandas, polars or pyarrow table, or mapping from name to column
        Rows in which a variable of a family is missing do not count for this family; unknown
        categories are missing. Numbers are compared as linear Gaussians given their parents.
    alpha : float, default 0.05
        Probability of naming any family if none moved.

    Returns
    -------
    TableDrift
        Its method `plot` returns a figure.

    Raises
    ------
    DataError
        If `alpha` is not between 0 and 1, a table has no rows, or has no column of the model.
    UnsupportedModelError
        For a factor graph of factors without children.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(rain, [0.5, 0.5]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.1, 0.9]], parents=[rain]),
    ... ])
    >>> before = {"rain": ["no", "yes"] * 50, "wet": ["no", "yes"] * 50}
    >>> after = {"rain": ["no", "yes"] * 50, "wet": ["yes", "no"] * 50}
    >>> bg.table_drift(net, before, after).moved
    ('wet',)
    """
    if not 0 < alpha < 1:
        raise DataError(f"alpha is a probability between 0 and 1; got {alpha!r}.")
    asked = getattr(model, "network_", model)
    if not isinstance(asked, Model):
        raise DataTypeError(
            f"table_drift takes a model or a fitted estimator first; got {model!r:.200}."
        )
    tables = [table_for(asked, columns_of(t), None, unseen="missing") for t in (before, after)]
    if not all(table.n_rows for table in tables):
        raise DataError("Drift is between two tables that have rows; one of them has none.")
    found = [_family(asked, cpds, tables) for cpds in _families(asked)]
    adjusted = _holm(np.array([family.p_value for family in found]))
    families = [
        _with(family, float(p), moved=bool(p <= alpha))
        for family, p in zip(found, adjusted, strict=True)
    ]
    families.sort(key=lambda f: (not f.moved, math.isnan(f.information), -f.information))
    return TableDrift(tuple(families), alpha, tables[0].n_rows, tables[1].n_rows)


def _families(model: Model) -> list[list[CPD]]:
    """Return the distributions of each family, a child and its parents; members may share one."""
    found: dict[tuple[Name, frozenset[Name]], list[CPD]] = {}
    for cpd in _cpds(model):
        key = cpd.variable.name, frozenset(p.name for p in cpd.parents)
        found.setdefault(key, []).append(cpd)
    return list(found.values())


def _cpds(model: Model) -> Iterable[CPD]:
    if isinstance(model, Ensemble):
        return [cpd for network in model.networks for cpd in _cpds(network)]
    if not isinstance(model, FactorGraph):
        return getattr(model, "cpds", ())
    found = [cpd for t in model.terms if isinstance(t.source, CPD) for cpd in t.source.singles()]
    if not found:
        raise UnsupportedModelError(
            "The factors of this factor graph have no children, so that there are no families to "
            "compare; table_drift takes a network of parents and children."
        )
    return found


def _family(model: Model, cpds: list[CPD], tables: list[Table]) -> FamilyDrift:
    child, parents = cpds[0].variable, cpds[0].parents
    names = tuple(parent.name for parent in parents)
    remark, test, n_rows = "", None, 0
    try:
        columns, categorical = _columns(model, [child, *parents], tables)
        given = tuple(range(1, len(columns) - 1))
        test = independence_test(columns, 0, -1, given, categorical=categorical)
        n_rows = test.n_rows
    except BayesGraphError as error:
        remark = str(error).split(". ")[0]
    before, after = (
        float(np.mean([_mean_log_likelihood(cpd, table) for cpd in cpds])) for table in tables
    )
    nan = math.nan
    if test is None:
        return FamilyDrift(
            child.name, names, nan, nan, 0, nan, nan, False, before, after, 0, remark
        )
    information = max(0.0, test.statistic) / (2 * n_rows)
    return FamilyDrift(
        child.name, names, information, test.statistic, test.degrees_of_freedom, test.p_value,
        nan, False, before, after, n_rows,
    )  # fmt: skip


def _columns(
    model: Model, variables: list[Variable], tables: list[Table]
) -> tuple[dict[Name, Any], list[Name]]:
    """Return the columns of a family in both tables by place, and the places of discrete ones.

    The place -1 is that of the number of the table.
    """
    found: dict[Name, Any] = {}
    for place, variable in enumerate(variables):
        own = model.variable(variable.name)
        if isinstance(own, CountVector):
            raise UnsupportedModelError("vectors of counts are not compared")
        if any(own not in table.variables for table in tables):
            raise DataError(f"a table has no column {variable.name!r}")
        columns = [_numbers(variable, own, table.column(own)) for table in tables]
        found[place] = np.concatenate(columns)
    found[-1] = np.repeat([0.0, 1.0], [table.n_rows for table in tables])
    discrete: list[Name] = [i for i, v in enumerate(variables) if isinstance(v, Discrete)]
    return found, [*discrete, -1]


def _numbers(variable: Variable, own: Variable, column: NDArray[Any]) -> NDArray[np.float64]:
    """Return an encoded column as numbers, NaN where missing.

    A number whose intervals differ among the members of an average is cut as `variable` is.
    """
    if isinstance(own, Discrete):
        return np.where(column < 0, np.nan, column.astype(np.float64))
    if isinstance(variable, Discrete):
        codes = variable.codes(column)  # type: ignore[attr-defined]  # numbers have intervals
        return np.where(codes < 0, np.nan, codes.astype(np.float64))
    return column


def _mean_log_likelihood(cpd: CPD, table: Table) -> float:
    """Return the mean log likelihood of a child given its parents; NaN without complete rows."""
    if any(v not in table.variables or isinstance(v, CountVector) for v in cpd.scope):
        return math.nan
    columns = {v: table.column(v) for v in cpd.scope}
    complete = np.ones(table.n_rows, dtype=bool)
    for variable, column in columns.items():
        complete &= column >= 0 if isinstance(variable, Discrete) else ~np.isnan(column)
    n = int(complete.sum())
    if not n:
        return math.nan
    kept: dict[Variable, Any] = {v: column[complete] for v, column in columns.items()}
    potential = cpd.potential(Evidence(n, kept))
    assert isinstance(potential, Factor)  # everything is observed
    return float(np.mean(potential.log_values))


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values adjusted by Holm's method; NaN, no test, stays."""
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted


def _with(family: FamilyDrift, adjusted: float, *, moved: bool) -> FamilyDrift:
    return replace(family, adjusted=adjusted, moved=moved)
