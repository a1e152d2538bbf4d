"""Directed acyclic graphs on networkx: validation, order and separation.

Nodes are variable names. Every function is deterministic: the order in which nodes were given
breaks ties.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import networkx as nx

from bayesgraph.core.arrays import check_flags
from bayesgraph.core.errors import GraphError, check_known, quoted, unknown_variable
from bayesgraph.core.upward import Drawn
from bayesgraph.core.variables import Arc, Name, Node

# --------------------------- Directed acyclic graphs on networkx: validation, order and separation


def build_dag(nodes: Iterable[Node], arcs: Iterable[Arc]) -> nx.DiGraph:
    """Return a directed acyclic graph over the nodes.

    Parameters
    ----------
    nodes : iterable of hashable
        All nodes; their order breaks ties in other functions.
    arcs : iterable of (parent, child)

    Raises
    ------
    GraphError
        For a node or an arc given twice, an arc from a node to itself, or a cycle (the message
        names it).
    UnknownVariableError
        For an arc from or to a name that is not a node.
    """
    dag: nx.DiGraph = nx.DiGraph()
    for node in nodes:
        if node in dag:
            raise GraphError(f"Node {node!r} is given more than once.")
        dag.add_node(node)
    for arc in arcs:
        try:
            if isinstance(arc, str):
                raise TypeError("a string is not a pair")
            parent, child = arc
        except (TypeError, ValueError) as error:
            raise GraphError(f"Expected arcs as (parent, child) pairs; got {arc!r:.80}.") from error
        for end in (parent, child):
            if end not in dag:
                raise unknown_variable(end, dag, where=f"Arc {parent!r} -> {child!r}: the graph")
        if dag.has_edge(parent, child):
            raise GraphError(f"Arc {parent!r} -> {child!r} is given more than once.")
        dag.add_edge(parent, child)
    check_acyclic(dag)
    return dag


def scored_dag(
    nodes: Iterable[Node], arcs: Iterable[Arc], scores: Mapping[Arc, float]
) -> nx.DiGraph:
    """Return the frozen result of `build_dag`, in which arcs have a `score` if it is known."""
    dag = build_dag(nodes, arcs)
    nx.set_edge_attributes(dag, {a: s for a, s in scores.items() if dag.has_edge(*a)}, "score")
    return nx.freeze(dag)


def union_of_arcs(
    nodes: Iterable[Node],
    members: Iterable[tuple[Mapping[Arc, float], float]],
    probabilities: Mapping[Arc, float],
) -> nx.DiGraph:
    """Return the frozen union of several graphs, in which arcs have a `probability`.

    Parameters
    ----------
    nodes : iterable of hashable
    members : iterable of (probabilities of arcs, weight)
        One item for each graph; the probability of an arc is its weighted sum, at most 1.
    probabilities : mapping from arc to probability
        Probabilities that replace these sums.
    """
    union: nx.DiGraph = nx.DiGraph()
    union.add_nodes_from(nodes)
    for arcs, weight in members:
        for arc, share in arcs.items():
            before = union.edges[arc]["probability"] if union.has_edge(*arc) else 0.0
            union.add_edge(*arc, probability=min(before + weight * share, 1.0))
    # Only of arcs that some graph has.
    fixed = {arc: p for arc, p in probabilities.items() if union.has_edge(*arc)}
    nx.set_edge_attributes(union, fixed, "probability")
    return nx.freeze(union)


def bipartite_graph(nodes: Iterable[Node], scopes: Iterable[Sequence[Node]]) -> nx.Graph:
    """Return the frozen graph of nodes and of the factors over them, given each factor's scope.

    Nodes are ``("variable", node)`` and ``("factor", index)``.
    """
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from((("variable", node) for node in nodes), bipartite=0)
    for number, scope in enumerate(scopes):
        graph.add_node(("factor", number), bipartite=1)
        graph.add_edges_from((("factor", number), ("variable", node)) for node in scope)
    return nx.freeze(graph)


def check_acyclic(dag: nx.DiGraph) -> None:
    """Raise a GraphError that names a cycle, if there is one."""
    if nx.is_directed_acyclic_graph(dag):
        return
    cycle = nx.find_cycle(dag)
    path = " -> ".join(repr(node) for node in [*(arc[0] for arc in cycle), cycle[0][0]])
    raise GraphError(f"The arcs form a cycle: {path}. Remove or reverse one of them.")


def topological_order(dag: nx.DiGraph) -> list[Node]:
    """Return the nodes in topological order, ties in the order in which they were added."""
    position = {node: place for place, node in enumerate(dag)}
    return list(nx.lexicographical_topological_sort(dag, key=position.__getitem__))


def is_graph_or_model(value: Any) -> bool:
    """Tell whether an argument is a directed graph or a model, which is not to be iterated over."""
    return isinstance(value, nx.DiGraph) or hasattr(value, "_kind")


def directed_graph(graph: Any) -> nx.DiGraph:
    """Return a directed graph as it is, or the directed graph of a model.

    Raises
    ------
    GraphError
        For any other argument, mixtures included: the union of their networks' graphs implies no
        independences.
    """
    dag = graph
    # Networks and weighted ones; a factor graph is a product too, but its graph has no directions.
    if getattr(graph, "_kind", None) in ("product", "tempered"):
        dag = graph.graph
    if isinstance(dag, nx.DiGraph):
        if dag is graph:  # that of a model has no cycle
            check_acyclic(dag)
        return dag
    raise GraphError(
        "Expected a directed graph (networkx.DiGraph), or a BayesianNetwork or WeightedNetwork, "
        f"which have one; got {graph!r:.80}."
    )


def markov_blanket(graph: Any, node: Node) -> set[Node]:
    """Return the parents and children of a node, and the children's other parents.

    Given its Markov blanket, a node is independent of all others (Pearl 1988, section 3.3).

    Parameters
    ----------
    graph : networkx.DiGraph, BayesianNetwork or WeightedNetwork
    node : hashable

    Raises
    ------
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    GraphError
        For an argument without a directed graph.

    Examples
    --------
    >>> dag = nx.DiGraph([("smoke", "lung"), ("lung", "xray"), ("tub", "xray"), ("asia", "tub")])
    >>> sorted(markov_blanket(dag, "lung"))
    ['smoke', 'tub', 'xray']
    """
    dag = directed_graph(graph)
    if node not in dag:
        raise unknown_variable(node, dag, where="The graph")
    children = set(dag.successors(node))
    spouses = {parent for child in children for parent in dag.predecessors(child)}
    return (set(dag.predecessors(node)) | children | spouses) - {node}


def d_separated(
    graph: Any,
    x: Node | Iterable[Node],
    y: Node | Iterable[Node],
    evidence: Node | Iterable[Node] = (),
) -> bool:
    """Tell whether x and y are d-separated by the evidence (Pearl 1988, section 3.3).

    If so, x and y are conditionally independent given the evidence in every distribution that
    factorises over the graph.

    Parameters
    ----------
    graph : networkx.DiGraph, BayesianNetwork or WeightedNetwork
    x, y, evidence : node, or list or set of nodes
        None is in two of them. The evidence are the observed nodes.

    Raises
    ------
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    GraphError
        If x, y and the evidence overlap, or for an argument without a directed graph.

    Examples
    --------
    >>> dag = nx.DiGraph([("smoke", "lung"), ("lung", "xray"), ("tub", "xray"), ("asia", "tub")])
    >>> d_separated(dag, "smoke", "tub"), d_separated(dag, "smoke", "tub", ["xray"])
    (True, False)
    """
    dag = directed_graph(graph)
    left, right, z = (nodes_of(dag, names) for names in (x, y, evidence))
    # Nodes of x and y, and of either and the evidence (& binds before |).
    if shared := left & right | (left | right) & z:
        raise GraphError(
            f"x, y and the evidence must not overlap; {quoted(n for n in dag if n in shared)} "
            "is in more than one of them."
        )
    return reachable(dag, left, z).isdisjoint(right)


def reachable(
    dag: nx.DiGraph,
    start: Iterable[Node],
    evidence: Collection[Node],
    within: Collection[Node] | None = None,
) -> set[Node]:
    """Return the nodes that active trails lead to, those of the evidence included.

    They depend on the start given the rest of the evidence. Each arc is looked at twice at most
    (the Bayes ball of Shachter 1998).

    Parameters
    ----------
    dag : networkx.DiGraph
    start, evidence : collection of nodes
    within : collection of nodes, optional
        Trails have no others. It has all ancestors of start and evidence, so that parents need no
        look; other nodes are entered from a parent only.
    """
    among = dag if within is None else within
    # Visits of a node, from one of its children or from a parent; a start is as if from a child.
    # The list grows while it is gone through.
    waiting = [(node, True) for node in start]
    reached = set(waiting)
    for node, is_from_child in waiting:
        steps: list[tuple[Node, bool]] = []
        if node not in evidence:
            steps += [(child, False) for child in dag.succ[node] if child in among]
        # A visit from a child goes on to the parents unless the node is observed; one from a parent
        # does only if it is, as of a collider.
        if is_from_child == (node not in evidence):
            steps += [(parent, True) for parent in dag.pred[node]]
        waiting += [step for step in steps if step not in reached]
        reached.update(steps)
    return {node for node, _ in reached}


def nodes_of(nodes: Collection[Node], chosen: Node | Iterable[Node]) -> set[Node]:
    """Return the nodes that an argument names: a name, or a list or set of names.

    Raises
    ------
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    """
    names: list[Any] = [chosen]
    is_name = isinstance(chosen, (str, bytes)) or (isinstance(chosen, Hashable) and chosen in nodes)
    if isinstance(chosen, Iterable) and not is_name:
        names = list(chosen)
    check_known(names, nodes, where="The graph")
    return set(names)


# ----- Classes of equivalent graphs: CPDAGs, their extensions, and the structural Hamming distance
# Directed acyclic graphs that imply the same independences have the same edges and the same
# v-structures x -> z <- y without an edge between x and y (Verma and Pearl 1990). The completed
# partially directed acyclic graph (CPDAG) of their class has an arc where all of them agree, and an
# undirected edge elsewhere.


Pair: TypeAlias = tuple[Name, Name]


@dataclass(frozen=True)
class PDAG(Drawn):
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
        object.__setattr__(self, "nodes", tuple(self.nodes))
        arcs, edges = tuple(self.arcs), tuple(self.edges)
        build_dag(self.nodes, arcs)  # for its errors
        pairs = [isinstance(edge, (tuple, list)) and len(edge) == 2 for edge in edges]
        if not all(pairs):
            wrong = edges[pairs.index(False)]
            raise GraphError(f"Expected edges as pairs of names; got {wrong!r:.80}.")
        object.__setattr__(self, "arcs", tuple(map(tuple, arcs)))
        object.__setattr__(self, "edges", tuple(map(tuple, edges)))
        ends = [end for edge in self.edges for end in edge]
        check_known(ends, self.nodes, where="edges: the graph")
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

    def __repr__(self) -> str:
        links = [f"{a} -> {b}" for a, b in self.arcs] + [f"{a} - {b}" for a, b in self.edges]
        return f"PDAG with {len(self.nodes)} nodes: {', '.join(links) or 'no edges'}"


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
    return Pattern.of_class(parents).named(nodes)


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
    check_flags(equivalent=equivalent)
    first, second = (_partial(graph, equivalent) for graph in (one, other))
    if set(first.nodes) != set(second.nodes):
        different = set(first.nodes) ^ set(second.nodes)
        raise GraphError(
            "Graphs over the same variables have a distance; these differ in "
            f"{quoted(sorted(map(str, different)))}."
        )
    marks, others = first._marks, second._marks
    # The mark None is an undirected edge; pairs without an edge get another one.
    absent = object()
    return sum(marks.get(pair, absent) != others.get(pair, absent) for pair in {*marks, *others})


def _partial(graph: Any, equivalent: bool) -> PDAG:
    """Return what is compared of a graph: a PDAG as it is, else its CPDAG or its arcs alone."""
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
    return directed_graph(value)


class Pattern:
    """A partially directed graph over the numbers 0, 1, ... while its edges are directed.

    Parameters
    ----------
    n : int
        Number of nodes.
    edges : iterable of (int, int)
        Undirected edges.

    Attributes
    ----------
    parents, children, undirected : list of set of int
        For each node those that an arc comes from, that an arc leads to, and that an undirected
        edge links it with. The methods keep the three in step.
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
        # All arcs as undirected edges first.
        pattern = cls(len(parents), ((p, c) for c, above in enumerate(parents) for p in above))
        # The arcs of v-structures, which all graphs of the class have.
        for child, above in enumerate(parents):
            for a, b in combinations(above, 2):
                if not pattern.adjacent(a, b):
                    pattern.direct(a, child)
                    pattern.direct(b, child)
        pattern.close()
        return pattern

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
        reached, stack = {a}, [a]
        while stack:
            for node in self.children[stack.pop()]:
                if node == b:
                    return True
                if node not in reached:
                    reached.add(node)
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
        """Return whether an edge has to be the arc a -> b, by one of Meek's rules 1 to 4."""
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
        """Direct all edges without new v-structures, or else along an order of the arcs.

        A node that may be a sink, to which all of its edges point, is found and left out, again
        and again (Dor and Tarsi 1992).
        """
        remaining = set(range(len(self.parents)))
        # Neighbours do not change; nodes that were sinks are no longer in `remaining`.
        around = [self.around(node) for node in remaining]
        # Later nodes are sinks first, so that earlier ones become parents.
        waiting = sorted(remaining, reverse=True)
        while waiting and any(self.undirected):
            sink = next((node for node in waiting if self._is_sink(node, around, remaining)), None)
            if sink is None:
                # Direct the remaining edges along a topological order of the arcs.
                order = topological_order(build_dag(range(len(self.parents)), self.arcs()))
                place = {node: i for i, node in enumerate(order)}
                for a, b in self._undirected_both_ways():
                    if place[a] < place[b]:
                        self.direct(a, b)
                return
            for node in sorted(self.undirected[sink]):
                self.direct(node, sink)
            remaining.discard(sink)
            waiting.remove(sink)

    def _is_sink(self, node: int, around: list[set[int]], remaining: set[int]) -> bool:
        """Return whether all edges of a node may point to it, with no new v-structure.

        The nodes `around` each one are those that arcs or edges link to it. Only the remaining
        nodes count.
        """
        if self.children[node] & remaining:
            return False
        # Each node that would become a parent is linked to all others near it.
        near = around[node] & remaining
        return all(near - {other} <= around[other] for other in self.undirected[node])

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
