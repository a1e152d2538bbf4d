"""Rows of a table that a page shows to click through, and the ranges of its numbers there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesgraph.encoding import Table, columns_of
from bayesgraph.errors import DataError
from bayesgraph.explorer.snapshot import Snapshot
from bayesgraph.models.model import Model
from bayesgraph.models.rows import table_for
from bayesgraph.typing import TableLike
from bayesgraph.variables import CountVector, Discrete, Variable

# Rows that a page takes: more would make it slow to open, and hard to look through.
MOST_ROWS = 10_000


def with_rows(snapshot: Snapshot, model: Model, data: TableLike, *, embed: bool) -> Snapshot:
    """Return a snapshot with the ranges of the numbers in a table and, if wanted, with its rows.

    Raises
    ------
    DataError
        For rows without a discrete target, more rows than a page takes, or none.
    """
    at = snapshot.content["target"]
    variables = [dict(variable) for variable in snapshot.content["variables"]]
    for i, ends in _ranges_in(model, data).items():
        variables[i]["range"] = ends
    target = None if at is None else model.variables[at]
    rows: dict[str, Any] | bool = False
    if embed:
        if not isinstance(target, Discrete):
            raise DataError("Rows are shown with a discrete target; name it by target=.")
        rows = rows_of(model, target, data)
    return replace(snapshot, content=snapshot.content | {"variables": variables, "rows": rows})


def _ranges_in(model: Model, data: TableLike) -> dict[int, list[float]]:
    """Return the least and the greatest value of each number, by the number of its variable."""
    known = table_for(model, columns_of(data), None, unseen="missing")
    found: dict[int, list[float]] = {}
    for variable in known.continuous:
        values = known.column(variable)
        values = values[np.isfinite(values)]
        if len(values) and values.min() < values.max():
            found[model.number[variable.name]] = [values.min().item(), values.max().item()]
    return found


def rows_of(model: Model, target: Discrete, data: TableLike) -> dict[str, Any]:
    """Return rows as a page shows them.

    Parameters
    ----------
    model : Model
    target : Discrete
        What is predicted.
    data : table
        Columns named as variables; with a column of the target, rows say whether they are right.

    Returns
    -------
    dict
        ``columns``: for the number of each variable its values, states by their place, None where
        missing. ``predicted``: the most probable state of the target given the others.
        ``truth`` and ``share``: its state and that state's probability, or None without a column.

    Raises
    ------
    DataError
        For more rows than a page takes, or none.
    """
    columns = columns_of(data)
    known = table_for(model, columns, target, unseen="missing")
    if not 0 < known.n_rows <= MOST_ROWS:
        raise DataError(
            f"A page takes 1 to {MOST_ROWS:,} rows; the table has {known.n_rows:,}. Choose some."
        )
    posterior = model.query_rows(target.name, _seen(columns, known))
    truth = share = None
    if target.name in columns:
        codes = table_for(model, {target.name: columns[target.name]}, None, unseen="missing")
        truth = _listed(codes, target)
        share = [None if k is None else float(posterior[i, k]) for i, k in enumerate(truth)]
    return {
        "columns": {str(model.number[v.name]): _listed(known, v) for v in known.variables},
        "predicted": posterior.argmax(axis=1).tolist(),
        "truth": truth,
        "share": share,
    }


def _seen(columns: Mapping[Any, Any], known: Table) -> dict[Any, Any]:
    """Return the columns with unknown states as missing, as the page has them."""
    found = dict(columns)
    for variable in known.discrete:
        states = np.array([*variable.states, None], dtype=object)
        found[variable.name] = states[known.column(variable)]
    return found


def _listed(known: Table, variable: Variable) -> list[Any]:
    """Return a column of a table as JSON can hold it."""
    column = known.column(variable)
    if isinstance(variable, CountVector):
        matrix = np.asarray(column.todense() if hasattr(column, "todense") else column)
        return [{str(k): float(row[k]) for k in np.flatnonzero(row > 0)} for row in matrix]
    if isinstance(variable, Discrete):
        return [None if code < 0 else code for code in column.tolist()]
    return [None if np.isnan(value) else value for value in column.tolist()]
