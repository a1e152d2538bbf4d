"""Classes of equivalent graphs: CPDAGs, their extensions, and the structural Hamming distance.

Directed acyclic graphs that imply the same independences have the same edges and the same
v-structures x -> z <- y without an edge between x and y (Verma and Pearl 1990). The completed
partially directed acyclic graph (CPDAG) of their class has an arc where all of them agree, and an
undirected edge elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import networkx as nx

from bayesgraph.errors import GraphError, quoted, unknown_variable
from bayesgraph.graphs.dag import build_dag, directed_graph
from bayesgraph.upward import Upward
from bayesgraph.variables import Name

Pair: TypeAlias = tuple[Name, Name]


@dataclass(frozen=True)
class PDAG:
    """A partially directed acyclic graph: arcs and undirected edges.

    Attributes
    ----------
    nodes : tuple of names
    arcs : tuple of (parent, child)
    edges : tuple of (name, name)
        Undirected edges.

    Raises
    ------
    GraphError
        If the arcs form a cycle, or two nodes are linked twice.
    UnknownVariableError
        For an arc or an edge of names that are not in `nodes`.

    Examples
    --------
    >>> cpdag(nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("d", "e"), ("x", "y")]))
    PDAG with 7 nodes: a -> c, c -> d, b -> c, d -> e, x - y
    """

    nodes: tuple[Name, ...]
    arcs: tuple[Pair, ...] = ()
    edges: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        build_dag(self.nodes, self.arcs)  # for its errors
        for end in (end for edge in self.edges for end in edge):
            if end not in self.nodes:
                raise unknown_variable(end, self.nodes, where="edges: the graph")
        linked = [frozenset(pair) for pair in (*self.arcs, *self.edges)]
        if len(set(linked)) < len(linked) or any(len(pair) < 2 for pair in linked):
            raise GraphError("Two different nodes have one arc or one edge at most.")

    @property
    def skeleton(self) -> frozenset[frozenset[Name]]:
        """The pairs of nodes that an arc or an edge links."""
        return frozenset(map(frozenset, (*self.arcs, *self.edges)))

    @cached_property
    def _marks(self) -> dict[frozenset[Name], Pair | None]:
        """For each linked pair its arc, None for an undirected edge."""
        arcs: dict[frozenset[Name], Pair | None] = {frozenset(arc): arc for arc in self.arcs}
        return arcs | dict.fromkeys(map(frozenset, self.edges))

    def to_dag(self) -> nx.DiGraph:
        """Return a directed acyclic graph with these arcs, and no v-structure besides theirs.

        It is found as in Dor and Tarsi (1992). Earlier nodes become parents where there is a
        choice. If there is no such graph, edges are directed along an order of the arcs, which may
        add v-structures.
        """
        place = {name: i for i, name in enumerate(self.nodes)}
        pattern = Pattern(len(self.nodes), [(place[a], place[b]) for a, b in self.edges])
        for a, b in self.arcs:
            pattern.link(place[a], place[b])
            pattern.direct(place[a], place[b])
        pattern.extend()
        return build_dag(self.nodes, [(self.nodes[a], self.nodes[b]) for a, b in pattern.arcs()])

    to_dot = Upward()
    render = Upward()

    def __repr__(self) -> str:
        found = [f"{a} -> {b}" for a, b in self.arcs] + [f"{a} - {b}" for a, b in self.edges]
        return f"PDAG with {len(self.nodes)} nodes: {', '.join(found) or 'no edges'}"


def cpdag(graph: Any) -> PDAG:
    """Return the class of graphs that imply the same independences as a graph, as a CPDAG.

    An arc of the result is in all graphs of the class (Meek 1995); the other edges are undirected.

    Parameters
    ----------
    graph : networkx.DiGraph, Structure, BayesianNetwork, WeightedNetwork or estimator of these
        Or a CausalGraph without unobserved common causes, or a PDAG, which is extended first.

    Raises
    ------
    GraphError
        For an argument without a directed graph, such as a mixture or an average.

    Examples
    --------
    >>> cpdag(nx.DiGraph([("rain", "wet"), ("wet", "slip")]))
    PDAG with 3 nodes: rain - wet, wet - slip
    """
    dag = graph.to_dag() if isinstance(graph, PDAG) else _dag_of(graph)
    nodes = tuple(dag)
    place = {name: i for i, name in enumerate(nodes)}
    parents = [sorted(place[p] for p in dag.predecessors(name)) for name in nodes]
    pattern = Pattern.of_class(parents)
    return pattern.named(nodes)


def structural_hamming_distance(one: Any, other: Any, *, equivalent: bool = True) -> int:
    """Return the number of pairs of nodes whose edges differ between two graphs.

    A pair differs if it has an edge in one graph only, or if its edges are directed differently.

    Parameters
    ----------
    one, other : graphs over the same nodes, as for `cpdag`
    equivalent : bool, default True
        Compare CPDAGs (Tsamardinos, Brown, Aliferis 2006), so that graphs which no data can tell
        apart have the distance 0; if false, compare the graphs as they are. A PDAG is always taken
        as it is.

    Raises
    ------
    GraphError
        For graphs over different nodes, or an argument without a directed graph.

    Examples
    --------
    >>> chain = nx.DiGraph([("a", "b"), ("b", "c")])
    >>> turned = nx.DiGraph([("b", "a"), ("b", "c")])
    >>> structural_hamming_distance(chain, turned)
    0
    >>> structural_hamming_distance(chain, turned, equivalent=False)
    1
    """
    first, second = (_partial(graph, equivalent) for graph in (one, other))
    if set(first.nodes) != set(second.nodes):
        different = set(first.nodes) ^ set(second.nodes)
        raise GraphError(
            "Graphs over the same variables have a distance; these differ in "
            f"{quoted(sorted(map(str, different)))}."
        )
    marks, others = first._marks, second._marks
    absent = object()
    return sum(marks.get(pair, absent) != others.get(pair, absent) for pair in {*marks, *others})


def _partial(graph: Any, equivalent: bool) -> PDAG:
    if isinstance(graph, PDAG):
        return graph
    if equivalent:
        return cpdag(graph)
    dag = _dag_of(graph)
    return PDAG(tuple(dag), tuple(dag.edges))


def _dag_of(graph: Any) -> nx.DiGraph:
    """Return the directed graph of a graph, a structure, a model or an estimator.

    Raises
    ------
    GraphError
        If it has none.
    """
    value = getattr(graph, "network_", graph)
    if hasattr(value, "confounded"):  # a CausalGraph
        if value.confounded:
            raise GraphError(
                "A graph with unobserved common causes has no CPDAG; "
                f"{value.confounded[0][0]!r} and {value.confounded[0][1]!r} have one."
            )
        value = value.dag
    if hasattr(value, "scores") and hasattr(value, "arcs"):  # a Structure
        value = value.graph
    dag = directed_graph(value)
    if not nx.is_directed_acyclic_graph(dag):
        build_dag(dag.nodes, dag.edges)  # raises the error that names the cycle
    return dag


class Pattern:
    """A partially directed graph over the numbers 0, 1, ... while its edges are directed.

    Parameters
    ----------
    n : int
        Number of nodes.
    edges : iterable of (int, int)
        Undirected edges.
    """

    def __init__(self, n: int, edges: Iterable[tuple[int, int]] = ()) -> None:
        self.parents: list[set[int]] = [set() for _ in range(n)]
        self.children: list[set[int]] = [set() for _ in range(n)]
        self.undirected: list[set[int]] = [set() for _ in range(n)]
        for a, b in edges:
            self.link(a, b)

    @classmethod
    def of_class(cls, parents: Sequence[Sequence[int]]) -> Pattern:
        """Return the CPDAG of a directed acyclic graph, given the parents of each node."""
        found = cls(len(parents), ((p, c) for c, above in enumerate(parents) for p in above))
        for child, above in enumerate(parents):
            for a, b in combinations(above, 2):
                if not found.adjacent(a, b):
                    found.direct(a, child)
                    found.direct(b, child)
        found.close()
        return found

    def link(self, a: int, b: int) -> None:
        """Add an undirected edge."""
        self.undirected[a].add(b)
        self.undirected[b].add(a)

    def unlink(self, a: int, b: int) -> None:
        """Remove an undirected edge."""
        self.undirected[a].discard(b)
        self.undirected[b].discard(a)

    def adjacent(self, a: int, b: int) -> bool:
        """Return whether an arc or an edge links two nodes."""
        return b in self.undirected[a] or b in self.parents[a] or b in self.children[a]

    def around(self, a: int) -> set[int]:
        """Return the nodes that arcs or edges link to a node."""
        return self.undirected[a] | self.parents[a] | self.children[a]

    def direct(self, a: int, b: int) -> bool:
        """Make an edge the arc a -> b; return False if it has a direction already."""
        if b not in self.undirected[a]:
            return False
        self.unlink(a, b)
        self.children[a].add(b)
        self.parents[b].add(a)
        return True

    def leads(self, a: int, b: int) -> bool:
        """Return whether a directed path leads from a to b."""
        seen, stack = {a}, [a]
        while stack:
            for node in self.children[stack.pop()]:
                if node == b:
                    return True
                if node not in seen:
                    seen.add(node)
                    stack.append(node)
        return False

    def close(self) -> None:
        """Direct each edge whose direction follows from the arcs, by the rules of Meek (1995).

        An edge stays undirected where its arc would close a cycle, which no pattern of a directed
        acyclic graph has.
        """
        changed = True
        while changed:
            changed = False
            for a, b in self._undirected_both_ways():
                if b in self.undirected[a] and self._follows(a, b) and not self.leads(b, a):
                    changed |= self.direct(a, b)

    def _undirected_both_ways(self) -> list[tuple[int, int]]:
        return [(a, b) for a, linked in enumerate(self.undirected) for b in sorted(linked)]

    def _follows(self, a: int, b: int) -> bool:
        """Return whether an edge has to be the arc a -> b, by one of the four rules."""
        if any(not self.adjacent(c, b) for c in self.parents[a]):
            return True  # c -> a - b would else be a v-structure
        if self.children[a] & self.parents[b]:
            return True  # a -> c -> b would else be a cycle
        above = sorted(self.undirected[a] & self.parents[b])
        if any(not self.adjacent(c, d) for c, d in combinations(above, 2)):
            return True  # a - c -> b <- d - a
        return any(  # a - d -> c -> b, with c next to a and d not next to b
            d in self.undirected[a] and not self.adjacent(d, b)
            for c in self.parents[b]
            if self.adjacent(a, c)
            for d in self.parents[c]
        )

    def extend(self) -> None:
        """Direct all edges without new v-structures, or else along an order of the arcs."""
        rest = set(range(len(self.parents)))
        around = [self.around(node) for node in rest]
        waiting = sorted(rest, reverse=True)
        while waiting and any(self.undirected):
            sink = next((node for node in waiting if self._is_sink(node, around, rest)), None)
            if sink is None:
                self._direct_along_arcs()
                return
            for node in sorted(self.undirected[sink]):
                self.direct(node, sink)
            rest.discard(sink)
            waiting.remove(sink)

    def _is_sink(self, node: int, around: list[set[int]], rest: set[int]) -> bool:
        """Return whether all edges of a node may point to it, with no new v-structure."""
        if self.children[node] & rest:
            return False
        near = around[node] & rest
        return all(near - {other} <= around[other] for other in self.undirected[node])

    def _direct_along_arcs(self) -> None:
        """Direct the remaining edges along a topological order of the arcs."""
        dag: nx.DiGraph = nx.DiGraph()
        dag.add_nodes_from(range(len(self.parents)))
        dag.add_edges_from(self.arcs())
        place = {node: i for i, node in enumerate(nx.lexicographical_topological_sort(dag))}
        for a, b in self._undirected_both_ways():
            if place[a] < place[b]:
                self.direct(a, b)

    def arcs(self) -> list[tuple[int, int]]:
        """Return the arcs (parent, child), in the order of the parents."""
        return [(a, b) for a, below in enumerate(self.children) for b in sorted(below)]

    def edges(self) -> list[tuple[int, int]]:
        """Return the undirected edges (a, b) with a < b."""
        return [(a, b) for a, b in self._undirected_both_ways() if a < b]

    def named(self, names: Sequence[Name]) -> PDAG:
        """Return the graph over names."""
        arcs, edges = (
            tuple((names[a], names[b]) for a, b in pairs) for pairs in (self.arcs(), self.edges())
        )
        return PDAG(tuple(names), arcs, edges)
