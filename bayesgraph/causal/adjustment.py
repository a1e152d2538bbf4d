"""Sets to adjust for: back-door, front-door and instrumental criteria."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from bayesgraph.causal.separation import minimal_separators
from bayesgraph.variables import Name

if TYPE_CHECKING:
    from bayesgraph.causal.causal_graph import CausalGraph

# Branches of the search for front-door sets, for each set that is wanted.
_BRANCHES_PER_SET = 50


class Instrument(NamedTuple):
    """An instrumental variable, and the variables that it takes to be conditioned on.

    Attributes
    ----------
    variable : name
    given : tuple of names
    """

    variable: Name
    given: tuple[Name, ...] = ()


# ------------------------------------------------------------------------------- back-door


def on_causal_paths(dag: nx.DiGraph, x: set[Name], y: set[Name]) -> set[Name]:
    """Return the nodes besides x on paths of arcs from x to y that return to no node of x."""
    after = _reached(dag.succ, x, x) - x
    before = _reached(dag.pred, y, x)
    return after & before


def _reached(
    neighbours: Mapping[Any, Iterable[Any]], start: set[Name], stop: set[Name]
) -> set[Name]:
    """Return the nodes that arcs lead to from a start, without going on from nodes of `stop`."""
    found, stack = set(start), list(start)
    while stack:
        for node in neighbours[stack.pop()]:
            if node not in found and node not in stop:
                found.add(node)
                stack.append(node)
    return found


def below(dag: nx.DiGraph, nodes: Iterable[Name]) -> set[Name]:
    """Return nodes and their descendants."""
    chosen = set(nodes)
    return chosen.union(*(nx.descendants(dag, node) for node in chosen))


def proper_back_door_graph(dag: nx.DiGraph, x: set[Name], y: set[Name]) -> nx.DiGraph:
    """Return the graph without the first arcs of causal paths from x to y."""
    causal = on_causal_paths(dag, x, y)
    return without_arcs(dag, [(a, b) for a in x for b in dag.successors(a) if b in causal])


def without_arcs(dag: nx.DiGraph, arcs: Iterable[tuple[Name, Name]]) -> nx.DiGraph:
    """Return a copy of a graph without some arcs."""
    found = nx.DiGraph(dag)
    found.remove_edges_from(arcs)
    return found


def adjustment_sets(
    graph: CausalGraph, x: set[Name], y: set[Name], forbidden: set[Name], maximum: int
) -> list[tuple[Name, ...]]:
    """Return all minimal adjustment sets; see `CausalGraph.adjustment_sets`."""
    spoiled = below(graph.dag, on_causal_paths(graph.dag, x, y))
    allowed = set(graph.nodes) - x - y - spoiled - forbidden
    cut = proper_back_door_graph(graph.dag, x, y)
    return minimal_separators(graph, cut, x, y, set(), allowed, maximum)


def is_adjustment_set(graph: CausalGraph, x: set[Name], y: set[Name], z: set[Name]) -> bool:
    """Tell whether a set satisfies the adjustment criterion; see `CausalGraph`."""
    if not z.isdisjoint(below(graph.dag, on_causal_paths(graph.dag, x, y))):
        return False
    return bool(nx.is_d_separator(proper_back_door_graph(graph.dag, x, y), x, y, z))


# ------------------------------------------------------------------------------- front-door


@dataclass(frozen=True)
class _FrontDoor:
    """The front-door criterion for one treatment and one outcome."""

    graph: CausalGraph
    x: set[Name]
    y: set[Name]

    def candidates(self, forbidden: Collection[Name]) -> set[Name]:
        """Return the nodes to which no back-door path from the treatment is open."""
        dag = self.graph.dag
        cut = without_arcs(dag, list(dag.out_edges(self.x)))
        return {
            node
            for node in self.graph.nodes
            if node not in self.x | self.y
            and node not in forbidden
            and nx.is_d_separator(cut, self.x, {node}, set())
        }

    def intercepts(self, z: set[Name]) -> bool:
        """Tell whether a set is on all causal paths."""
        return _reached(self.graph.dag.succ, self.x, z).isdisjoint(self.y)

    def largest(self, among: set[Name]) -> set[Name]:
        """Return the largest subset whose back-door paths to the outcome the treatment blocks.

        The union of two such sets is another. A node with an open path is in none of them, and
        without it the arcs that leave it are there again, for others.
        """
        kept = set(among)
        while True:
            cut = without_arcs(self.graph.dag, list(self.graph.dag.out_edges(kept)))
            opened = {n for n in kept if not nx.is_d_separator(cut, {n}, self.y, self.x)}
            if not opened:
                return kept
            kept -= opened

    def holds(self, z: set[Name]) -> bool:
        """Tell whether a set of candidates satisfies the criterion."""
        return self.intercepts(z) and self.largest(z) == z

    def is_minimal(self, z: set[Name]) -> bool:
        """Tell whether no proper subset satisfies the criterion."""
        return not any(self.intercepts(self.largest(z - {node})) for node in z)


def front_door_sets(
    graph: CausalGraph, x: set[Name], y: set[Name], forbidden: set[Name], maximum: int
) -> list[tuple[Name, ...]]:
    """Return all minimal front-door sets; see `CausalGraph.front_door_sets`.

    Branches decide node by node whether it is in the set, and end where no set is left.
    """
    criterion = _FrontDoor(graph, x, y)
    place = {name: i for i, name in enumerate(graph.nodes)}
    found: list[set[Name]] = []
    branches: list[tuple[set[Name], set[Name]]] = [(set(), criterion.candidates(forbidden))]
    left = _BRANCHES_PER_SET * maximum
    while branches and left and len(found) < maximum:
        left -= 1
        required, among = branches.pop()
        among = criterion.largest(among)
        if not required <= among or not criterion.intercepts(among):
            continue
        if criterion.holds(required):
            if criterion.is_minimal(required):
                found.append(required)
            continue
        node = min(among - required, key=place.__getitem__)
        branches += [(required | {node}, among), (required, among - {node})]
    ordered = [graph.in_order(names) for names in found]
    return sorted(ordered, key=lambda names: (len(names), [place[name] for name in names]))


# ------------------------------------------------------------------------------ instruments


def instruments(graph: CausalGraph, x: set[Name], y: set[Name], maximum: int) -> list[Instrument]:
    """Return instrumental variables with their minimal sets; see `CausalGraph.instruments`."""
    dag = graph.dag
    spoiled = below(dag, on_causal_paths(dag, x, y) | y) | x
    cut = proper_back_door_graph(dag, x, y)
    found = []
    for node in graph.nodes:
        if node in spoiled:
            continue
        allowed = set(graph.nodes) - spoiled - {node}
        sets = minimal_separators(graph, cut, {node}, y, set(), allowed, maximum)
        acting = [z for z in sets if not nx.is_d_separator(dag, {node}, x, set(z))]
        found += [Instrument(node, given) for given in acting]
    return sorted(found, key=lambda one: len(one.given))
