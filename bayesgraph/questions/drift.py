"""Drift between two tables under one model: which families moved.

A family has moved if the distribution of the child given its parents differs between the tables,
that is, if child and table are dependent given the parents. The test is the likelihood ratio of
`bayesgraph.independence_test`, whose statistic divided by twice the number of rows is an estimate
of the conditional mutual information of child and table. P-values are adjusted for the number of
families (Holm 1979), so that the probability of naming any family that did not move is at most
alpha. A parent without a column, such as the class of rows not yet known, is summed out: the test
is that of the child given the other parents.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import CountVector, Discrete, Name, Variable
from bayesgraph.inference import Factor
from bayesgraph.models import CPD, Model, codes_in, networks_in, table_for
from bayesgraph.statistics import independence_test
from bayesgraph.tables import Table, columns_of

_MAXIMUM_LINES = 20


@dataclass(frozen=True)
class FamilyDrift:
    """Whether the distribution of a variable given its parents differs between two tables.

    Attributes
    ----------
    name : name of the child
    parents : tuple of names
        Those given which the child is compared.
    latent : tuple of names
        Parents without a column in both tables, which are summed out. If the child moved, its
        distribution given them may have, or their own.
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
        Mean log likelihood of the child given `parents` under the model, in nats per row; NaN if
        the model does not tell.
    n_rows : int
        Number of rows that were compared.
    remark : str
        Why there is no test.
    """

    name: Name
    parents: tuple[Name, ...]
    latent: tuple[Name, ...]
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

    def _display(self) -> DisplayTable:
        shown = self.families[:_MAXIMUM_LINES]
        rows = [
            (
                f"{'● ' if f.moved else '  '}{f.title}",
                "–" if math.isnan(f.information) else rounded(f.information),
                "–" if math.isnan(f.adjusted) else rounded(f.adjusted, 3),
                _change(f.log_likelihood_before, f.log_likelihood_after),
            )
            for f in shown
        ]
        scale = max((f.information for f in shown if f.information > 0), default=1.0)
        notes = [
            f"● moved, at a family-wise error of {self.alpha:g} (Holm)",
            more(len(self.families), len(shown), "families"),
            *dict.fromkeys(f"{f.name}: {f.remark}" for f in shown if f.remark),
            _unknown(self.families),
        ]
        return DisplayTable(
            f"Drift of {len(self.moved)} of {len(self.families)} families between "
            f"{self.n_before:,} and {self.n_after:,} rows",
            rows,
            header=("family", "nats a row", "adjusted p", "mean log likelihood"),
            bars=[f.information / scale if f.information > 0 else 0.0 for f in shown],
            note="\n".join(note for note in notes if note),
        )


def _change(before: float, after: float) -> str:
    if math.isnan(before) or math.isnan(after):
        return "–"
    return f"{rounded(before)} → {rounded(after)}"


def _unknown(families: Sequence[FamilyDrift]) -> str:
    """Return what cannot be told because parents have no column; empty if all have one."""
    names = dict.fromkeys(name for family in families for name in family.latent)
    if not names:
        return ""
    them, their = ("them", "their") if len(names) > 1 else ("it", "its")
    text = (
        f"compared without {errors.quoted(names)}, which not both tables have: a family that moved "
        f"may have moved given {them}, or {their} own distribution did"
    )
    return "\n".join(textwrap.wrap(text, 78))


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
        Variables that are not columns of both, such as the class of rows not yet known, are summed
        out: their children are compared given the other parents.
    alpha : float, default 0.05
        Probability of naming any family if none moved.

    Returns
    -------
    TableDrift
        `bayesgraph.plot` draws it.

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
    >>> bg.questions.table_drift(net, before, after).moved
    ('wet',)
    """
    if not 0 < alpha < 1:
        raise errors.DataError(f"alpha is a probability between 0 and 1; got {alpha!r}.")
    asked = getattr(model, "network_", model)
    if not isinstance(asked, Model):
        raise errors.DataTypeError(
            f"table_drift takes a model or a fitted estimator first; got {model!r:.200}."
        )
    tables = [table_for(asked, columns_of(t), None, unseen="missing") for t in (before, after)]
    if not all(table.n_rows for table in tables):
        raise errors.DataError("Drift is between two tables that have rows; one of them has none.")
    families = [_family(asked, family, tables) for family in _families(asked, tables)]
    # P-values adjusted by Holm's method; NaN, no test, stays.
    p_values = np.array([family.p_value for family in families])
    adjusted = np.full(len(p_values), np.nan)
    order = np.argsort(p_values, kind="stable")[: np.count_nonzero(~np.isnan(p_values))]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    families = [
        replace(family, adjusted=p, moved=p <= alpha)
        for family, p in zip(families, adjusted.tolist(), strict=True)
    ]
    families.sort(key=lambda f: (not f.moved, math.isnan(f.information), -f.information))
    return TableDrift(tuple(families), alpha, tables[0].n_rows, tables[1].n_rows)


class _Member(NamedTuple):
    """A distribution of a child given parents, and the model it is of."""

    model: Model
    cpd: CPD


class _Shared(NamedTuple):
    """A family that is compared, and the members that have it, each with its own latent parents."""

    child: Variable
    parents: tuple[Variable, ...]
    latent: dict[Name, None]
    members: list[_Member]


def _families(model: Model, tables: list[Table]) -> list[_Shared]:
    """Return the families whose parents have columns; members of a mixture may share one."""
    present = {v.name for v in tables[0].variables} & {v.name for v in tables[1].variables}
    shared: dict[Any, _Shared] = {}
    for member in _members(model):
        child, parents = member.cpd.variable, member.cpd.parents
        is_present = child.name in present
        latent = [p.name for p in parents if is_present and p.name not in present]
        parents = tuple(p for p in parents if not is_present or p.name in present)
        # A child without a column is told of once.
        key = child.name, frozenset(p.name for p in parents if is_present)
        family = shared.setdefault(key, _Shared(child, parents, {}, []))
        family.latent.update(dict.fromkeys(latent))
        family.members.append(member)
    return list(shared.values())


def _members(model: Model) -> list[_Member]:
    if model.networks:
        return [_Member(network, cpd) for _, network in networks_in(model) for cpd in network.cpds]
    graph: Any = model
    sources = [term.source for term in graph.terms]
    cpds = [cpd for source in sources if isinstance(source, CPD) for cpd in source.singles()]
    if not cpds:
        raise errors.UnsupportedModelError(
            "The factors of this factor graph have no children, so that there are no families to "
            "compare; table_drift takes a network of parents and children."
        )
    return [_Member(model, cpd) for cpd in cpds]


def _family(model: Model, family: _Shared, tables: list[Table]) -> FamilyDrift:
    before, after = (
        float(np.mean([_mean_log_likelihood(model, member, table) for member in family.members]))
        for table in tables
    )
    drift = FamilyDrift(
        family.child.name, tuple(parent.name for parent in family.parents), tuple(family.latent),
        math.nan, math.nan, 0, math.nan, math.nan, False, before, after, 0,
    )  # fmt: skip
    try:
        columns, categorical = _columns(model, [family.child, *family.parents], tables)
        places = tuple(range(1, len(columns) - 1))
        test = independence_test(columns, 0, -1, places, categorical=categorical)
    except errors.BayesGraphError as error:
        return replace(drift, remark=str(error).split(". ")[0])
    statistic = test.statistic
    if test.method == "permutation":
        statistic = independence_test(
            columns, 0, -1, places, method="g_squared", categorical=categorical
        ).statistic
    return replace(
        drift,
        information=max(0.0, statistic) / (2 * test.n_rows),
        statistic=statistic,
        degrees_of_freedom=test.degrees_of_freedom,
        p_value=test.p_value,
        n_rows=test.n_rows,
    )


def _columns(
    model: Model, variables: list[Variable], tables: list[Table]
) -> tuple[dict[Name, Any], list[Name]]:
    """Return the columns of a family in both tables by place, and the places of discrete ones.

    The place -1 is that of the number of the table.
    """
    if any(isinstance(model.variable(v.name), CountVector) for v in variables):
        raise errors.UnsupportedModelError("vectors of counts are not compared")
    parts = [_encoded(model, variables, table) for table in tables]
    if lacking := [v.name for v in variables if not all(v in part for part in parts)]:
        raise errors.DataError(f"a table has no column {lacking[0]!r}")
    columns: dict[Name, Any] = {-1: np.repeat([0.0, 1.0], [table.n_rows for table in tables])}
    for place, variable in enumerate(variables):
        values = np.concatenate([part[variable] for part in parts])
        columns[place] = np.where(_is_observed(variable, values), values, np.nan)
    return columns, [-1, *(i for i, v in enumerate(variables) if isinstance(v, Discrete))]


def _encoded(
    model: Model, variables: Sequence[Variable], table: Table
) -> dict[Variable, NDArray[Any]]:
    """Return the columns that a table has, in the codes of a member's variables.

    A variable of an average may have other states or intervals in a member, or be a number.
    """
    columns = {}
    for variable in variables:
        shown: Any = model.variable(variable.name)
        if shown not in table.variables or isinstance(shown, CountVector):
            continue
        column = table.column(shown)
        if variable == shown or not isinstance(variable, Discrete):
            columns[variable] = column
        elif isinstance(shown, Discrete):
            columns[variable] = np.append(codes_in(variable, shown), -1)[column]
        else:
            columns[variable] = variable.codes(column)  # type: ignore[attr-defined]  # has intervals
    return columns


def _is_observed(variable: Variable, column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(column >= 0 if isinstance(variable, Discrete) else ~np.isnan(column))


def _mean_log_likelihood(model: Model, member: _Member, table: Table) -> float:
    """Return the mean log likelihood of a child given those of its parents that have columns.

    It is NaN without complete rows, or if the model cannot sum the other parents out.
    """
    cpd = member.cpd
    columns = _encoded(model, [*cpd.parents, cpd.variable], table)
    complete = np.ones(table.n_rows, dtype=bool)
    for variable, column in columns.items():
        complete &= _is_observed(variable, column)
    n = int(complete.sum())
    if cpd.variable not in columns or not n:
        return math.nan
    family = {v: column[complete] for v, column in columns.items()}
    if len(family) == len(cpd.scope):
        potential = cpd.potential(Evidence(n, family))
        assert isinstance(potential, Factor)  # everything is observed
        return float(np.mean(potential.log_values))
    parents = {v: column for v, column in family.items() if v != cpd.variable}
    try:
        logs = member.model._log_evidence_rows(Evidence(n, family))
        if parents:
            logs = logs - member.model._log_evidence_rows(Evidence(n, parents))
    except errors.BayesGraphError:
        return math.nan
    return float(np.mean(logs))
