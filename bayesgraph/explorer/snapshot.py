"""Snapshots of models: what a page needs to show a model and to answer questions about it exactly.

A snapshot is content that JSON can hold, and numbers. The front end reads it (``front/model.js``)
and refuses versions newer than its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.cpds.description import state_texts, texts
from bayesgraph.errors import DataTypeError, MemoryLimitError, UnsupportedModelError, quoted
from bayesgraph.explorer.changes import flips_part, order_of
from bayesgraph.explorer.layout import placed
from bayesgraph.explorer.mixed import model_part
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Case
from bayesgraph.inference.programs import Relevance, plan_tree, restrict, with_intermediates
from bayesgraph.inference.tables import Tables
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.mixture import Ensemble, NetworkMixture, arcs_of
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import (
    Continuous,
    Count,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    Variable,
)

# Entries of the clique tree up to which a page answers while one waits, unless `limit=` says more.
LIMIT = 20_000_000
# Characters of a name or a state that are shown; a file may hold any.
_LONGEST_TEXT = 20_000
# Logarithm of likelihoods that floats hold with all digits.
_LOG_TINY = -700.0

Json: TypeAlias = dict[str, Any]


class Numbers:
    """Collects the numbers of a snapshot; other entries refer to them by their offset."""

    def __init__(self) -> None:
        self._parts: list[Floats] = []
        self.size = 0

    def add(self, values: Any) -> int:
        """Add an array, the last axis fastest; return its offset."""
        flat = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        at = self.size
        self._parts.append(flat)
        self.size += flat.size
        return at

    def joined(self) -> Floats:
        """Return all numbers, one after the other."""
        return np.concatenate(self._parts) if self._parts else np.empty(0)


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
    model: Model,
    *,
    evidence: EvidenceLike = None,
    target: Name | None = None,
    title: str | None = None,
    view: str = "auto",
    limit: float = LIMIT,
) -> Snapshot:
    """Return what a page needs to show a model and to answer questions about it exactly.

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

    Raises
    ------
    UnsupportedModelError
        If the page could not answer exactly; the message names what, and the way that works.
    MemoryLimitError
        If the clique tree has more entries than the limit.
    UnknownVariableError, UnknownStateError, EvidenceError
        For a target or evidence that does not fit the model.
    """
    if view not in _VIEWS:
        raise DataTypeError(f"view= is one of {quoted(_VIEWS)}; got {view!r}.")
    take = next((take for kind, take in _PARTS.items() if isinstance(model, kind)), None)
    if take is None:
        raise UnsupportedModelError(
            f"A page shows {quoted(kind.__name__ for kind in _PARTS)}; got {model!r}. Ask it in "
            "Python, or show its network."
        )
    variables = model.variables
    number = {variable.name: i for i, variable in enumerate(variables)}
    wanted = None if target is None else number[model.variable(target).name]
    numbers = Numbers()
    shown = texts(model.names, _LONGEST_TEXT)
    content: Json = {
        "title": title or type(model).__name__,
        "view": "network" if view == "auto" else view,
        "target": wanted,
        "variables": [_variable(v, n, number) for v, n in zip(variables, shown, strict=True)],
        "arcs": _arcs(model),
        "rows": None,
        "initial": findings(model, evidence),
        **take(model, numbers, limit),
        "order": order_of(model),
        "flips": flips_part(model, numbers),
    }
    _name_intervals(content)
    content["positions"] = placed(content)
    return Snapshot(content, numbers.joined())


_VIEWS = ("auto", "network", "classifier")


# ------------------------------------------------------------------------- variables and findings


def _variable(variable: Variable, name: str, number: Mapping[Name, int]) -> Json:
    item: Json = {"name": name, "kind": "discrete", "states": [], "typed": None}
    if type(variable.name) is not str:
        item["key"] = repr(variable.name)
    if isinstance(variable, Discrete):
        item["states"] = state_texts(variable, _LONGEST_TEXT)
        if isinstance(variable, MissingIndicator) and variable.of in number:
            item["of"] = number[variable.of]
        if any(type(state) is not str for state in variable.states):
            item["typed"] = [repr(state) for state in variable.states]
    elif isinstance(variable, Continuous):
        item["kind"] = "count" if isinstance(variable, Count) else "continuous"
    elif isinstance(variable, CountVector):
        item |= {"kind": "counts", "items": texts(variable.items, _LONGEST_TEXT)}
    return item | {"range": None, "unit": None, "note": None}


def findings(model: Model, evidence: EvidenceLike) -> Json:
    """Return evidence as the page takes it: by number of the variable, states by their place."""
    case: Case = model.case(evidence)
    found: Json = {}
    for at, value in case.hard.items():
        variable = model.variables[at]
        if isinstance(variable, CountVector):
            seen = np.flatnonzero(value)
            counts = dict(zip(map(str, seen.tolist()), value[seen].tolist(), strict=True))
            found[str(at)] = {"counts": counts}
        else:
            found[str(at)] = {"state" if isinstance(variable, Discrete) else "value": value}
    for at, logs in case.soft.items():
        weights = np.exp(logs if logs.max() > _LOG_TINY else logs - logs.max())
        excluded = np.flatnonzero(weights == 0)
        if np.isin(weights, (0.0, 1.0)).all() and len(excluded):
            found[str(at)] = {"not": excluded.tolist()}
        else:
            found[str(at)] = {"weights": weights.tolist()}
    return found


def _name_intervals(content: Json) -> None:
    """Give numbers their range, and those whose posterior is one of intervals these as states."""
    for at, own in content["flips"].items():
        content["variables"][int(at)]["range"] = own.get("range")
    for at, states in content.pop("intervals", {}).items():
        content["variables"][int(at)]["states"] = states


def _arcs(model: Model) -> list[list[Any]]:
    """Return the arcs with their scores; of several networks all arcs, without scores."""
    number = model.number
    network = model.network if isinstance(model, WeightedNetwork) else model
    if isinstance(network, Ensemble):
        arcs = {arc: None for member in network.networks for arc in arcs_of(member)}
        return [[number[parent], number[child], None] for parent, child in arcs]
    if not isinstance(network, BayesianNetwork):
        return []
    scores = network.arc_scores
    return [
        [number[parent], number[child], _finite(scores.get((parent, child)))]
        for cpd in network.cpds
        for parent, child in cpd.arcs()
    ]


# ------------------------------------------------------------------------------- tables and trees


def _finite(score: float | None) -> float | None:
    """Return a score, or None for one that JSON has no number for."""
    return score if score is not None and math.isfinite(score) else None


def tables_part(tables: Tables, nodes: Iterable[int], numbers: Numbers, limit: float) -> Json:
    """Return tables with their clique tree, as ``front/engine.js`` takes them.

    Parameters
    ----------
    tables : Tables
    nodes : iterable of int
        For each variable of the model its index among those of the tables, -1 if it has none.
    numbers : Numbers
    limit : float

    Raises
    ------
    MemoryLimitError
        If the clique tree has more entries than the limit.
    """
    arrays = tables.arrays
    question = restrict(tables, (), (), (), Relevance.EVERYTHING)
    tree = plan_tree(question, plan_only=True)
    if tree.total > limit:
        widest = _widest(tables, tree)
        raise MemoryLimitError(
            f"The clique tree of the model has {tree.total:,.0f} entries; a page takes "
            f"{limit:,.0f}. {quoted(widest)} are together in its largest table: show a part of the "
            "network, take more by limit=, or ask in Python."
        )
    tree = with_intermediates(tree, True)
    at = numbers.add(tables.values)
    home = np.full(len(tables), -1)
    home[tree.factors] = tree.home
    part = {
        "cards": tables.cards.tolist(),
        "node": list(nodes),
        "scopes": _lists(tables.start, tables.item),
        "child": arrays.child.tolist(),
        "at": (arrays.base + at).tolist(),
        "logScale": tables.log_scale,
        "tree": {
            "cliques": _lists(tree.c_start, tree.variables[tree.member]),
            "residual": tree.residual.tolist(),
            "parent": tree.parent.tolist(),
            "home": home.tolist(),
        },
    }
    if tables.has_lost_digits:
        part["logs"] = numbers.add(tables.log_values)
    return part


def _lists(start: Any, item: Any) -> list[list[int]]:
    return [item[a:b].tolist() for a, b in pairwise(start.tolist())]


def _widest(tables: Tables, tree: Any) -> list[Name]:
    """Return names of the variables of the largest clique, at most ten."""
    cliques = _lists(tree.c_start, tree.variables[tree.member])
    largest = max(cliques, key=lambda members: float(np.prod(tables.cards[members], dtype=float)))
    return [tables.variables[v].name for v in sorted(largest)[:10]]


# ------------------------------------------------------------------------------------------ models


# Questions that a page answers about every model, and about networks all of whose variables show.
_ALWAYS = ("answer", "information")
_OF_TABLES = ("mostProbable", "conflict", "sensitivity")
_EXPLAINED = ("contributions", "flip")


def _network(model: BayesianNetwork, numbers: Numbers, limit: float) -> Json:
    answering = model.unfolded or model
    compiled = answering.compiled
    if compiled is None:
        return _mixed(model, numbers, limit)
    part = tables_part(compiled.tables, range(len(model.variables)), numbers, limit)
    # Auxiliary variables of canonical distributions would have to be summed out first.
    is_whole = len(answering.variables) == len(model.variables)
    verbs = [*_ALWAYS, *_EXPLAINED, *(_OF_TABLES if is_whole else ())]
    return {"kind": "network", "verbs": verbs, "engine": part}


def _mixed(model: Model, numbers: Numbers, limit: float) -> Json:
    part = model_part(model, numbers, partial(_tables, numbers, limit))
    if part is None:
        names = [v.name for v in model.variables if not isinstance(v, Discrete)]
        raise UnsupportedModelError(
            f"A page answers exactly for factors of tables and counts; those over {quoted(names)} "
            "are others. Ask the model in Python."
        )
    return part


def _tables(numbers: Numbers, limit: float, tables: Tables, nodes: Sequence[int]) -> Json:
    return tables_part(tables, nodes, numbers, limit)


def _factor_graph(model: FactorGraph, numbers: Numbers, limit: float) -> Json:
    compiled = model.compiled
    if compiled is None:
        return _mixed(model, numbers, limit)
    part = tables_part(compiled.tables, range(len(model.variables)), numbers, limit)
    verbs = [*_ALWAYS, "mostProbable", "conflict"]
    return {"kind": "factor graph", "verbs": verbs, "engine": part}


# What a page takes of each kind of model; a model of a kind that is not here is refused.
_PARTS: dict[type[Model], Callable[[Any, Numbers, float], Json]] = {
    BayesianNetwork: _network,
    FactorGraph: _factor_graph,
    WeightedNetwork: _mixed,
    NetworkMixture: _mixed,
    PosteriorAverage: _mixed,
}
