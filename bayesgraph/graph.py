"""Directed acyclic graphs on networkx: validation, order and separation.

Nodes are variable names. Every function is deterministic: the order in which nodes were given
breaks ties.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Any, TypeAlias, TypeVar

import networkx as nx

from bayesgraph.errors import GraphError, quoted, unknown_variable

Node: TypeAlias = Hashable
_N = TypeVar("_N", bound=Hashable)
Arc: TypeAlias = tuple[Node, Node]


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
            raise GraphError(f"Expected arcs as (parent, child) pairs; got {arc!r}.") from error
        for end in (parent, child):
            if end not in dag:
                raise unknown_variable(end, dag, where=f"Arc {parent!r} -> {child!r}: the graph")
        if dag.has_edge(parent, child):
            raise GraphError(f"Arc {parent!r} -> {child!r} is given more than once.")
        dag.add_edge(parent, child)
    check_acyclic(dag)
    return dag


def check_acyclic(dag: nx.DiGraph) -> None:
    """Raise a GraphError that names a cycle, if there is one."""
    if nx.is_directed_acyclic_graph(dag):
        return
    cycle = nx.find_cycle(dag)
    path = " -> ".join(repr(node) for node in [*(arc[0] for arc in cycle), cycle[0][0]])
    raise GraphError(f"The arcs form a cycle: {path}. Remove or reverse one of them.")


def parents_first(parents: Mapping[Node, Collection[Node]]) -> list[Node] | None:
    """Return the nodes, parents before children, as `topological_order` does; None for a cycle.

    No graph object is built.

    Parameters
    ----------
    parents : mapping from node to its parents
        All nodes; their order breaks ties.
    """
    nodes = list(parents)
    place = {node: i for i, node in enumerate(nodes)}
    children: list[list[int]] = [[] for _ in nodes]
    waiting = []
    for i, above in enumerate(parents.values()):
        waiting.append(len(above))
        for parent in above:
            children[place[parent]].append(i)
    ready = [i for i, count in enumerate(waiting) if not count]  # ascending: already a heap
    order = []
    while ready:
        i = heappop(ready)
        order.append(nodes[i])
        for child in children[i]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, child)
    return order if len(order) == len(nodes) else None


def topological_order(dag: nx.DiGraph) -> list[Node]:
    """Return the nodes, parents before children, ties by the order in which they were added."""
    position = {node: place for place, node in enumerate(dag)}
    return list(nx.lexicographical_topological_sort(dag, key=position.__getitem__))


def ancestral_set(parents: Mapping[_N, Iterable[_N]], nodes: Iterable[_N]) -> set[_N]:
    """Return the nodes together with all their ancestors."""
    found = set(nodes)
    stack = list(found)
    while stack:
        for parent in parents[stack.pop()]:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def _directed(graph: Any) -> nx.DiGraph:
    """Return a directed graph as it is, or the directed graph of a model.

    Raises
    ------
    GraphError
        For any other argument, mixtures included: the union of their networks' graphs implies no
        independences.
    """
    dag = graph
    if getattr(graph, "form", None) in ("product", "tempered"):
        dag = graph.graph
    if isinstance(dag, nx.DiGraph):
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
    dag = _directed(graph)
    _check_node(dag, node)
    children = set(dag.successors(node))
    spouses = {parent for child in children for parent in dag.predecessors(child)}
    return (set(dag.predecessors(node)) | children | spouses) - {node}


def d_separated(
    graph: Any, x: Node | set[Node], y: Node | set[Node], evidence: Iterable[Node] = ()
) -> bool:
    """Tell whether x and y are d-separated by the evidence (Pearl 1988, section 3.3).

    Then x and y are independent given the evidence in every distribution that factorises over the
    graph.

    Parameters
    ----------
    graph : networkx.DiGraph, BayesianNetwork or WeightedNetwork
    x, y : node or set of nodes
    evidence : iterable of nodes
        The observed nodes, none of which is in x or y.

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
    left = x if isinstance(x, set) else {x}
    right = y if isinstance(y, set) else {y}
    dag, z = _directed(graph), set(evidence)
    for node in left | right | z:
        _check_node(dag, node)
    if shared := left & right | (left | right) & z:
        raise GraphError(
            f"x, y and the evidence must not overlap; {quoted(n for n in dag if n in shared)} "
            "is in more than one of them."
        )
    return bool(nx.is_d_separator(dag, left, right, z))


def _check_node(dag: nx.DiGraph, node: Node) -> None:
    if node not in dag:
        raise unknown_variable(node, dag, where="The graph")
