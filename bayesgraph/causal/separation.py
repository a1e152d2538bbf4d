"""Separators, implied independencies and equivalence of causal graphs."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import networkx as nx

from bayesgraph.errors import GraphError
from bayesgraph.variables import Name

if TYPE_CHECKING:
    from bayesgraph.causal.causal_graph import CausalGraph

_Neighbours: TypeAlias = Mapping[Any, set[Any]]


class Independence(NamedTuple):
    """A statement: x and y are independent given other variables.

    Attributes
    ----------
    x, y, given : tuple of names
    """

    x: tuple[Name, ...]
    y: tuple[Name, ...]
    given: tuple[Name, ...] = ()

    def __str__(self) -> str:
        x, y, given = (", ".join(map(str, names)) for names in self)
        return f"{x} ⊥ {y}" + (f" | {given}" if given else "")


# ------------------------------------------------------------------------------- separators


def minimal_separator(
    graph: CausalGraph,
    x: set[Name],
    y: set[Name],
    required: set[Name],
    allowed: set[Name],
) -> tuple[Name, ...] | None:
    """Return one minimal separator; see `CausalGraph.minimal_separator`."""
    found = nx.find_minimal_d_separator(
        graph.dag, x, y, included=required, restricted=allowed | required
    )
    return None if found is None else graph.in_order(found)


def minimal_separators(
    graph: CausalGraph,
    dag: nx.DiGraph,
    x: set[Name],
    y: set[Name],
    required: set[Name],
    allowed: set[Name],
    maximum: int,
) -> list[tuple[Name, ...]]:
    """Return all minimal separators of x and y in a directed acyclic graph, small ones first.

    Parameters
    ----------
    graph : CausalGraph
        Its order of nodes breaks ties.
    dag : networkx.DiGraph
        The graph in which x and y are separated: `graph.dag`, or a part of it.
    x, y, required, allowed : set of names
        Both sides, and the nodes that a separator has and may have.
    maximum : int
        Number of separators after which the search stops.
    """
    place = {name: i for i, name in enumerate(graph.nodes)}
    neighbours = _moral_graph(dag, x | y | required)
    _remove(neighbours, required)
    for node in [n for n in neighbours if n not in x and n not in y and n not in allowed]:
        _bypass(neighbours, node)
    found = [
        tuple(sorted([*between, *required], key=place.__getitem__))
        for between in _cuts(neighbours, x, y, place, maximum)
    ]
    return sorted(found, key=lambda names: (len(names), [place[name] for name in names]))


def _moral_graph(dag: nx.DiGraph, nodes: Collection[Any]) -> dict[Any, set[Any]]:
    """Return the neighbours in the moral graph of nodes and their ancestors.

    Parents of a common child are neighbours. Sets are separated in this graph if and only if they
    are d-separated (Lauritzen et al. 1990).
    """
    above = set(nodes).union(*(nx.ancestors(dag, node) for node in nodes))
    neighbours: dict[Any, set[Any]] = {node: set() for node in dag if node in above}
    for node in neighbours:
        for a, b in combinations([node, *dag.predecessors(node)], 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    return neighbours


def _remove(neighbours: dict[Any, set[Any]], nodes: Iterable[Any]) -> None:
    for node in nodes:
        for other in neighbours.pop(node):
            neighbours[other].discard(node)


def _bypass(neighbours: dict[Any, set[Any]], node: Any) -> None:
    """Remove a node that no separator may have: its neighbours become neighbours."""
    around = list(neighbours[node])
    _remove(neighbours, [node])
    for a, b in combinations(around, 2):
        neighbours[a].add(b)
        neighbours[b].add(a)


def _cuts(
    neighbours: _Neighbours, x: set[Any], y: set[Any], place: Mapping[Any, int], maximum: int
) -> list[frozenset[Any]]:
    """Return the minimal sets of nodes that separate x and y in an undirected graph.

    The first is the one nearest to x. From each separator, others further from x arise by adding
    one of its nodes to the side of x; all are reached so (Shen and Liang 1997).
    """
    first = _nearest(neighbours, x, y)
    if first is None:
        return []
    found = {first: None}
    waiting = deque(found)
    while waiting and len(found) < maximum:
        separator = waiting.popleft()
        side = _component(neighbours, x, separator)
        for node in sorted(separator, key=place.__getitem__):
            further = _nearest(neighbours, side | {node}, y)
            if further is not None and further not in found and len(found) < maximum:
                found[further] = None
                waiting.append(further)
    return list(found)


def _nearest(neighbours: _Neighbours, side: set[Any], y: set[Any]) -> frozenset[Any] | None:
    """Return the minimal separator of y and a connected side that is nearest to this side.

    None if they are neighbours.
    """
    border = _border(neighbours, side)
    if not border.isdisjoint(y):
        return None
    return frozenset(_border(neighbours, _component(neighbours, y, side | border)))


def _border(neighbours: _Neighbours, nodes: set[Any]) -> set[Any]:
    return set().union(*(neighbours[node] for node in nodes)) - nodes


def _component(neighbours: _Neighbours, start: set[Any], without: Collection[Any]) -> set[Any]:
    """Return the nodes that paths from `start` reach without passing through `without`."""
    found, stack = set(start), list(start)
    while stack:
        for node in neighbours[stack.pop()]:
            if node not in found and node not in without:
                found.add(node)
                stack.append(node)
    return found


# -------------------------------------------------------------------------- independencies


def local_independencies(graph: CausalGraph) -> list[Independence]:
    """Return what follows from the local Markov property; see `CausalGraph`."""
    _check_unconfounded(graph, "pairwise_independencies() lists what it implies.")
    found = []
    for node in graph.nodes:
        parents = set(graph.dag.predecessors(node))
        rest = set(graph.nodes) - parents - nx.descendants(graph.dag, node) - {node}
        if rest:
            found.append(Independence((node,), graph.in_order(rest), graph.in_order(parents)))
    return found


def pairwise_independencies(graph: CausalGraph) -> list[Independence]:
    """Return an independence for each pair of nodes that can be separated; see `CausalGraph`."""
    found = []
    for a, b in combinations(graph.nodes, 2):
        given = minimal_separator(graph, {a}, {b}, set(), set(graph.nodes) - {a, b})
        if given is not None:
            found.append(Independence((a,), (b,), given))
    return found


# ----------------------------------------------------------------------------- equivalence


def are_equivalent(one: CausalGraph, other: CausalGraph) -> bool:
    """Tell whether two graphs imply the same independencies; see `CausalGraph.is_equivalent`."""
    for graph in (one, other):
        _check_unconfounded(graph, "Compare what pairwise_independencies() gives.")
    if set(one.nodes) != set(other.nodes):
        raise GraphError(
            "Graphs over the same variables can be equivalent; these have different ones."
        )
    return _skeleton(one) == _skeleton(other) and _colliders(one) == _colliders(other)


def _skeleton(graph: CausalGraph) -> set[frozenset[Name]]:
    return {frozenset(arc) for arc in graph.arcs}


def _colliders(graph: CausalGraph) -> set[tuple[frozenset[Name], Name]]:
    """Return the pairs of parents without an arc between them, with their common child."""
    linked = _skeleton(graph)
    return {
        (frozenset(pair), node)
        for node in graph.nodes
        for pair in combinations(graph.dag.predecessors(node), 2)
        if frozenset(pair) not in linked
    }


def _check_unconfounded(graph: CausalGraph, instead: str) -> None:
    if graph.confounded:
        a, b = graph.confounded[0]
        raise GraphError(
            f"This takes a graph without unobserved common causes; {a!r} and {b!r} have one. "
            f"{instead}"
        )
