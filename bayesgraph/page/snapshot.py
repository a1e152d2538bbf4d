"""Snapshots of models: what a page needs to show a model and to answer questions about it exactly.

A snapshot is content that JSON can hold, and numbers. The front end reads it (``front/model.js``)
and refuses versions newer than its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph import models
from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    Variable,
)
from bayesgraph.page.mixed import Json, Numbers, model_part
from bayesgraph.questions import Rules, choices_of, range_of
from bayesgraph.tables import Table, as_numbers, columns_of

# ---------------------- How findings may change in the page, and in which order they are explained
# The page looks for the smallest change of findings that turns an answer, at the prices of
# `bayesgraph.questions`, and adds up log odds along the arcs.


# Number of values that are proposed for a number that changes.
_GRID = 64


def order_of(model: models.Model) -> list[int]:
    """Return the variables in the order in which findings are explained: parents first.

    Models without arcs of their own have that of their variables.
    """
    # Only ensembles have weights.
    networks = [network for _, network in models.networks_in(model)]
    if len(networks) != 1 or len(model.weights):
        return list(range(len(model.variables)))
    return [model._index_of[cpd.variable.name] for cpd in networks[0]._nodes()]


def flips_part(model: models.Model, numbers: Numbers) -> Json:
    """Return how each number, and each variable with intervals, may change and at what price.

    A number has its range, and its cut points if they differ among the networks of an average;
    other intervals have the cost of each change. Numbers whose range the model does not know are
    left out, and stay as they are; so do indicators of missing values, which say so.
    """
    rules = Rules(model, n_values=_GRID)
    flips: Json = {}
    cut = model._cut_numbers
    for index, variable in enumerate(model.variables):
        key = str(index)
        if index in cut:
            # The lower end of the first interval, and the upper end of the last.
            ends = cut[index].edges[[0, -1]].tolist()
            flips[key] = {"range": ends, "whole": False, "cuts": list(cut[index].cuts)}
        elif isinstance(variable, Binned):
            # The cost of each change of intervals, by the old and the new one.
            costs = np.zeros((variable.cardinality, variable.cardinality))
            for code, state in enumerate(variable.states):
                evidence: Mapping[Any, Any] = {variable.name: state}
                for choice in choices_of(model, None, evidence, rules):
                    # The first option keeps the interval, at no cost.
                    for option in choice.options[1:]:
                        costs[code, int(option.code)] = option.cost
            flips[key] = {"costs": numbers.add(costs)}
        elif isinstance(variable, MissingIndicator):
            flips[key] = {"stays": True}
        elif isinstance(variable, Continuous):
            try:
                ends = list(range_of(model, variable, rules))
            except errors.EvidenceError:
                continue
            flips[key] = {"range": ends, "whole": isinstance(variable, Count)}
    return flips


# ---- Snapshots of models: what a page needs to show a model and to answer questions about it
# exactly


# Entries of the clique tree up to which a page answers while one waits, unless `limit=` says more.
LIMIT = 20_000_000
# Characters of a name or a state that are shown; a file may hold any.
_LONGEST_TEXT = 20_000
# Logarithm of likelihoods that floats hold with all digits.
_LOG_TINY = -700.0


@dataclass(frozen=True)
class Snapshot:
    """What a page needs of a model.

    Attributes
    ----------
    content : dict
        What JSON can hold; see ``front/model.js``.
    numbers : ndarray
        The numbers that the content refers to by their offset.
    """

    content: Json
    numbers: Floats


def take_snapshot(
    model: models.Model,
    evidence: EvidenceLike = None,
    target: Name | None = None,
    title: str | None = None,
    view: str = "auto",
    limit: float = LIMIT,
    data: TableLike | None = None,
    embed_rows: bool = False,
) -> Snapshot:
    """Return the snapshot with which a page shows a model and answers questions exactly.

    Parameters
    ----------
    model : Model
    evidence : mapping from name to value, optional
        The findings to begin with, as in `query`.
    target : name, optional
        The variable asked for first.
    title : str, optional
    view : {"auto", "network", "classifier"}
        With "auto" the view of a network.
    limit : float
        Entries of all tables of the clique tree, up to which the model is accepted.
    data : table, optional
        Its columns give the ranges of the numbers.
    embed_rows : bool
        Whether the snapshot has the rows of `data`.

    Raises
    ------
    UnsupportedModelError
        If the page could not answer exactly; the message names what, and the way that works.
    MemoryLimitError
        If the clique tree has more entries than the limit.
    UnknownVariableError, UnknownStateError, EvidenceError
        For a target or evidence that does not fit the model.
    DataError
        For rows without a discrete target, more rows than a page takes, or none.
    """
    if view not in _VIEWS:
        raise errors.DataTypeError(f"view= is one of {errors.quoted(_VIEWS)}; got {view!r}.")
    variables = model.variables
    index_of = model._index_of
    numbers = Numbers(limit)
    shown = models.texts(model.names, _LONGEST_TEXT)
    content: Json = {
        "title": title or type(model).__name__,
        "view": "network" if view == "auto" else view,
        "target": None if target is None else index_of[model.variable(target).name],
        "variables": [_variable(v, n, index_of) for v, n in zip(variables, shown, strict=True)],
        "arcs": _arcs(model),
        "rows": None,
        "initial": findings(model, evidence),
        **model_part(model, numbers),
        "order": order_of(model),
        "flips": flips_part(model, numbers),
    }
    # Of each number: the least and the greatest one that is not far outside, and those that are
    # usual.
    for variable, place in model._expected.place.items():
        limits = np.nan_to_num(model._expected.limits[:, place])  # JSON has no infinity
        content["variables"][index_of[variable.name]]["limits"] = limits.tolist()
    # Sliders have the ranges of flips, or those in a table.
    for key, flip in content["flips"].items():
        content["variables"][int(key)]["range"] = flip.get("range")
    # Where networks cut a number differently, the page has the number, not its intervals.
    for index, variable in model._cut_numbers.items():
        content["variables"][index]["kind"] = "continuous"
        code = content["initial"].get(str(index), {}).get("state")
        if code is not None:
            # The finding is an interval, whose middle the number takes.
            low, high = variable.edges[code : code + 2].tolist()
            content["initial"][str(index)] = {"value": low / 2 + high / 2}
    if data is not None:
        for index, ends in _ranges_in(model, data).items():
            content["variables"][index]["range"] = ends
        content["rows"] = rows_of(model, target, data) if embed_rows else False
    return Snapshot(content, numbers.joined())


_VIEWS = ("auto", "network", "classifier")


# ------------------------------------------------------------------------- variables and findings


def _variable(variable: Variable, name: str, index_of: Mapping[Name, int]) -> Json:
    """Return a variable as the page takes it; `name` is its name as text."""
    item: Json = {"name": name, "kind": "discrete", "states": [], "typed": None}
    # The text is not the name itself: in code for Python, the page writes the name's `repr`.
    if type(variable.name) is not str or variable.name != name:
        item["key"] = repr(variable.name)
    values: Sequence[Any] = ()
    if isinstance(variable, Discrete):
        item["states"] = models.state_texts(variable, _LONGEST_TEXT)
        if isinstance(variable, MissingIndicator) and variable.of in index_of:
            item["of"] = index_of[variable.of]
        values = variable.states
    elif isinstance(variable, Continuous):
        item["kind"] = "count" if isinstance(variable, Count) else "continuous"
    elif isinstance(variable, CountVector):
        values = variable.items
        item |= {"kind": "counts", "items": models.texts(values, _LONGEST_TEXT)}
    shown = item["states"] or item.get("items", [])
    # Where a text is not the value, Python needs the value.
    if [(str, text) for text in shown] != [(type(value), value) for value in values]:
        item["typed"] = [repr(value) for value in values]
    return item | {"range": None, "limits": None, "unit": None, "note": None}


def findings(model: models.Model, evidence: EvidenceLike) -> Json:
    """Return evidence as the page takes it: by number of the variable, states by their place."""
    # Values and codes of observed variables are `hard`; log likelihoods of states are `soft`.
    case = models.read_case(model, evidence)
    entries: Json = {}
    for index, value in case.hard.items():
        variable = model.variables[index]
        if isinstance(variable, CountVector):
            items = np.flatnonzero(value)  # counts of zero are left out
            counts = dict(zip(map(str, items.tolist()), value[items].tolist(), strict=True))
            entries[str(index)] = {"counts": counts}
        else:
            entries[str(index)] = {"state" if isinstance(variable, Discrete) else "value": value}
    for index, logs in case.soft.items():
        # Likelihoods so small that floats lose digits of them, or all, are given as logs too.
        is_tiny, weights = logs.max() <= _LOG_TINY, np.exp(logs)
        excluded = np.flatnonzero(weights == 0)
        if np.isin(weights, (0.0, 1.0)).all() and len(excluded) and not is_tiny:
            entries[str(index)] = {"not": excluded.tolist()}
        else:
            entries[str(index)] = {"weights": weights.tolist()}
        if is_tiny:  # JSON has no infinity
            entries[str(index)]["logs"] = np.maximum(logs, np.finfo(np.float64).min).tolist()
    return entries


def _arcs(model: Any) -> list[list[Any]]:
    """Return the arcs with their scores; of several networks all arcs, without scores."""
    index_of = model._index_of
    scores = model.arc_scores if len(model.networks) == 1 else {}
    arcs = model.arc_probabilities if model.networks else ()
    # JSON has no number for infinite scores.
    finite = {arc: score for arc, score in scores.items() if math.isfinite(score)}
    return [[index_of[a], index_of[b], finite.get((a, b))] for a, b in arcs]


# --------- Rows of a table that a page shows to click through, and the ranges of its numbers there


# Rows that a page takes: more would make it slow to open, and hard to look through.
MOST_ROWS = 10_000


def _ranges_in(model: models.Model, data: TableLike) -> dict[int, list[float]]:
    """Return the least and the greatest value of each number, by the number of its variable."""
    columns = columns_of(data)
    table = models.table_for(model, columns, None, unseen="missing")
    numbers = {model._index_of[v.name]: table.column(v) for v in table.continuous}
    ranges: dict[int, list[float]] = {}
    for at, values in (numbers | _cut_columns(model, columns)).items():
        values = values[np.isfinite(values)]
        if len(values) and values.min() < values.max():
            ranges[at] = [values.min().item(), values.max().item()]
    return ranges


def _cut_columns(model: models.Model, columns: Mapping[Name, Any]) -> dict[int, Floats]:
    """Return the columns of numbers of which networks have different intervals, by variable."""
    cut = model._cut_numbers.items()
    return {at: as_numbers(columns[v.name], v.name) for at, v in cut if v.name in columns}


def rows_of(model: models.Model, name: Name | None, data: TableLike) -> dict[str, Any]:
    """Return rows as a page shows them.

    Parameters
    ----------
    model : Model
    name : name
        What is predicted, a discrete variable.
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
        Without a discrete target, or for more rows than a page takes, or none.
    """
    target = None if name is None else model.variable(name)
    if not isinstance(target, Discrete):
        raise errors.DataError("Rows are shown with a discrete target; name it by target=.")
    columns = columns_of(data)
    table = models.table_for(model, columns, target, unseen="missing")
    if not 0 < table.n_rows <= MOST_ROWS:
        raise errors.DataError(
            f"A page takes 1 to {MOST_ROWS:,} rows; the table has {table.n_rows:,}. Choose some."
        )
    # The columns with unknown states as missing, as the page has them.
    states_of = dict(columns)
    for variable in table.discrete:
        # The last entry is for missing and unknown states, whose code is -1.
        states = np.array([*variable.states, None], dtype=object)
        states_of[variable.name] = states[table.column(variable)]
    posterior = model.query_rows(target.name, states_of)
    truth = share = None
    if target.name in columns:
        codes = models.table_for(model, {target.name: columns[target.name]}, None, unseen="missing")
        truth = _listed(codes, target)
        share = [None if k is None else float(posterior[i, k]) for i, k in enumerate(truth)]
    listed = {str(model._index_of[v.name]): _listed(table, v) for v in table.variables}
    for at, values in _cut_columns(model, columns).items():
        listed[str(at)] = [None if np.isnan(value) else value for value in values.tolist()]
    return {
        "columns": listed,
        "predicted": posterior.argmax(axis=1).tolist(),
        "truth": truth,
        "share": share,
    }


def _listed(table: Table, variable: Variable) -> list[Any]:
    """Return a column of a table as JSON can hold it."""
    column = table.column(variable)
    if isinstance(variable, CountVector):
        matrix = np.asarray(column.todense() if hasattr(column, "todense") else column)
        return [{str(k): float(row[k]) for k in np.flatnonzero(row > 0)} for row in matrix]
    if isinstance(variable, Discrete):
        return [None if code < 0 else code for code in column.tolist()]
    return [None if np.isnan(value) else value for value in column.tolist()]
