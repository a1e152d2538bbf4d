"""Structure learners by name, and graphs of the user in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import networkx as nx

from bayesgraph.errors import DataError, unknown_variable
from bayesgraph.graph import build_dag
from bayesgraph.learning import (
    Smoothing,
    Structure,
    chow_liu,
    forest,
    forward_selection,
    hill_climb,
    kdb,
    selective_kdb,
    star,
    superparent,
    tan,
    unrestricted,
)
from bayesgraph.statistics import CountSource

LEARNERS: dict[str, Callable[..., Structure]] = {
    "star": star,
    "tan": tan,
    "forest": forest,
    "chow_liu": chow_liu,
    "kdb": kdb,
    "selective_kdb": selective_kdb,
    "superparent": superparent,
    "hill_climb": hill_climb,
    "unrestricted": unrestricted,
    "forward_selection": forward_selection,
}
# Learners that count once more for each parent of a feature beyond the first, and what says so.
_ADAPTIVE: dict[Callable[..., Structure], tuple[str, int]] = {
    kdb: ("k", 2),
    hill_climb: ("max_parents", 2),
    unrestricted: ("max_parents", 3),
}
# Learners that look at the rows.
_BY_ROWS = (selective_kdb, forward_selection)


def counts_ahead(learner: Any) -> bool:
    """Tell whether a learner asks for nothing that depends on the data."""
    function = learner.func if isinstance(learner, partial) else learner
    options = learner.keywords if isinstance(learner, partial) else {}
    if options.get("score") == "cll" or any(function is f for f in _BY_ROWS):
        return False
    option, default = next((o for f, o in _ADAPTIVE.items() if f is function), ("", 0))
    most = options.get(option, default)
    return not isinstance(most, int) or most <= 1


def given_structure(graph: Any, source: CountSource, smoothing: Smoothing) -> Structure:
    """Return a graph of the user as a structure over the columns of a source."""
    assert source.target is not None  # classifiers always set it
    variables = (source.target, *source.features)
    names = [v.name for v in variables]
    if isinstance(graph, nx.DiGraph):
        for node in graph:
            if node not in names:
                raise unknown_variable(node, names, where="structure=: the table")
        arcs = list(graph.edges)
    elif isinstance(graph, Iterable):
        arcs = list(graph)
    else:
        raise DataError(
            f"structure= takes a name, a learner, a networkx.DiGraph or a list of arcs; got "
            f"{graph!r}."
        )
    build_dag(names, arcs)
    return Structure(variables, tuple(tuple(arc) for arc in arcs))
