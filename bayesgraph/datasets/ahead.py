"""Statistics that are counted in the pass that finds the states, by the states found so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.datasets.dataset import Dataset, arrow, in_runs
from bayesgraph.datasets.schemas import as_schema, is_text
from bayesgraph.encoding import columns_of
from bayesgraph.encoding.columns import (
    Column,
    Factorised,
    encode_column,
    naturally_ordered,
)
from bayesgraph.encoding.table import assembled
from bayesgraph.factors.columns import arranged
from bayesgraph.statistics import Pairs, Statistics, pairs_bytes
from bayesgraph.statistics.additive import grown_request
from bayesgraph.statistics.requests import Request
from bayesgraph.variables import Discrete, Name, State, Variable


@dataclass(frozen=True, eq=False)
class Ahead:
    """What is counted of rows without weights in the pass that finds the states of columns.

    Each run of rows is counted by the states that occur in it, and sums are re-indexed to the
    states of both parts. Cells of states without rows are zero in either way, so that the sums have
    the same bits as those of a pass in which all states are known.

    Attributes
    ----------
    variables : tuple of Variable
        All columns, the target last; those whose states are found have some of them.
    requests : tuple of Request
        Of these variables.
    limit : int
        Maximum number of bytes of the statistics of pairs.
    grouped : callable
        Joins the columns of each vector of counts.
    """

    variables: tuple[Variable, ...]
    requests: tuple[Request, ...]
    limit: int
    grouped: Callable[[dict[Name, Column]], dict[Name, Column]]

    def counted(
        self,
        run: Any,
        found: Mapping[Name, Factorised],
        states: Mapping[Name, Sequence[State]],
    ) -> Counted | None:
        """Return the statistics of a run of rows, None if they exceed the limit.

        Parameters
        ----------
        run : pyarrow.Table
        found : mapping from name to Factorised
            The coded columns.
        states : mapping from name to list
            The states of coded columns that occur in the run, in order.
        """
        # A column without values in the run has a state that occurs elsewhere.
        variables = tuple(
            Discrete(v.name, states[v.name]) if states.get(v.name) else v for v in self.variables
        )
        if not self.fits(variables):
            return None
        others = [name for name in run.column_names if name not in found]
        given = self.grouped(columns_of(run.select(others))) if others else {}
        dtype = arranged(variables).code_type
        encoded = [
            found[v.name].recoded(v, dtype)
            if isinstance(v, Discrete) and v.name in found
            else encode_column(v, given[v.name], unseen="error")
            for v in variables
        ]
        table = assembled(variables, encoded, len(run), fitting=False, order="C")
        requests = self._requests_of(variables)
        missing = table.missing()
        counted = {v.name: missing.get(v.name, 0) for v in variables}
        return Counted(self, variables, Statistics.collect(table, requests, np.empty(0)), counted)

    def fits(self, variables: Sequence[Variable]) -> bool:
        """Return whether the statistics of all pairs of variables are within the limit."""
        requests = [r for r in self._requests_of(variables) if isinstance(r, Pairs)]
        return sum(pairs_bytes(r.columns, r.given) for r in requests) <= self.limit

    def _requests_of(self, variables: Sequence[Variable]) -> list[Request]:
        renamed = dict(zip(self.variables, variables, strict=True))
        return [grown_request(request, renamed) for request in self.requests]


@dataclass(frozen=True, eq=False)
class Counted:
    """Statistics of rows by the states that were found in them; it has ``+``.

    Attributes
    ----------
    ahead : Ahead
    variables : tuple of Variable
        The columns with these states, in the order of `ahead`.
    statistics : Statistics
    missing : dict from name to int
        Number of missing values in each column.
    """

    ahead: Ahead
    variables: tuple[Variable, ...]
    statistics: Statistics
    missing: dict[Name, int]

    def joined(self, other: Counted | None) -> Counted | None:
        """Return the statistics of the rows of both, None if they exceed the limit."""
        if other is None:
            return None
        variables = tuple(map(_joined, self.variables, other.variables))
        if not self.ahead.fits(variables):
            return None
        total = self.grown(variables) + other.grown(variables)
        missing = {name: n + other.missing[name] for name, n in self.missing.items()}
        return Counted(self.ahead, variables, total, missing)

    def grown(self, variables: Sequence[Variable]) -> Statistics:
        """Return the statistics by variables that have these states and more."""
        pairs = zip(self.variables, variables, strict=True)
        renamed = {old: new for old, new in pairs if old != new}
        return self.statistics.grown(renamed) if renamed else self.statistics


def _joined(one: Variable, other: Variable) -> Variable:
    """Return a variable with the states of both."""
    if one == other or not (isinstance(one, Discrete) and isinstance(other, Discrete)):
        return one
    states = {(type(state), state): state for v in (one, other) for state in v.states}
    for v in (one, other):
        if v.cardinality == len(states):
            return v
    return Discrete(one.name, naturally_ordered(list(states.values())))


def first_rows(data: Dataset, n_rows: int, special: Sequence[Any]) -> Any:
    """Return the first rows of a dataset as a Table in which each feature has a value.

    Later rows may have values where these have none. `special` has the names of the columns that
    are no features.
    """
    with closing(in_runs(data.tables(data.names), n_rows)) as runs:  # type: ignore[type-var]
        rows = next(runs, None)
    if rows is None:
        return data.schema.empty_table()
    for i, field in enumerate(rows.schema):
        is_known = rows.column(i).null_count < len(rows) or arrow().types.is_null(field.type)
        if not is_known and field.name not in special:
            value = "" if is_text(field.type) else 0
            one = arrow().table({field.name: arrow().repeat(value, len(rows))})
            rows = rows.set_column(i, field, as_schema(one, arrow().schema([field])).column(0))
    return rows
