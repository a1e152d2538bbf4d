"""Directed acyclic graphs on networkx: validation, order and separation.

Nodes are variable names. Every function is deterministic: the order in which nodes were given
breaks ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx

from bayesgraph.ancestors import Arc, Node
from bayesgraph.errors import GraphError, quoted, unknown_variable


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
    given: Mapping[Arc, float],
) -> nx.DiGraph:
    """Return the frozen union of several graphs, in which arcs have a `probability`.

    Parameters
    ----------
    nodes : iterable of hashable
    members : iterable of (probabilities of arcs, weight)
        One item for each graph; the probability of an arc is its weighted sum, at most 1.
    given : mapping from arc to probability
        Probabilities that replace these sums.
    """
    union: nx.DiGraph = nx.DiGraph()
    union.add_nodes_from(nodes)
    for arcs, weight in members:
        for arc, share in arcs.items():
            known = union.edges[arc]["probability"] if union.has_edge(*arc) else 0.0
            union.add_edge(*arc, probability=min(known + weight * share, 1.0))
    own = {arc: p for arc, p in given.items() if union.has_edge(*arc)}
    nx.set_edge_attributes(union, own, "probability")
    return nx.freeze(union)


def bipartite_graph(nodes: Iterable[Node], scopes: Iterable[Sequence[Node]]) -> nx.Graph:
    """Return the frozen graph of nodes and of the factors over them, given each factor's scope.

    Nodes are ``("variable", node)`` and ``("factor", index)``.
    """
    found: nx.Graph = nx.Graph()
    found.add_nodes_from((("variable", node) for node in nodes), bipartite=0)
    for number, scope in enumerate(scopes):
        found.add_node(("factor", number), bipartite=1)
        found.add_edges_from((("factor", number), ("variable", node)) for node in scope)
    return nx.freeze(found)


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


def is_graph_or_model(given: Any) -> bool:
    """Tell whether an argument is a directed graph or a model, which is not to be iterated over."""
    return isinstance(given, nx.DiGraph) or hasattr(given, "form")


def directed_graph(graph: Any) -> nx.DiGraph:
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
    dag = directed_graph(graph)
    _check_node(dag, node)
    children = set(dag.successors(node))
    spouses = {parent for child in children for parent in dag.predecessors(child)}
    return (set(dag.predecessors(node)) | children | spouses) - {node}


def d_separated(
    graph: Any, x: Node | set[Node], y: Node | set[Node], evidence: str | Iterable[Node] = ()
) -> bool:
    """Tell whether x and y are d-separated by the evidence (Pearl 1988, section 3.3).

    If so, x and y are conditionally independent given the evidence in every distribution that
    factorises over the graph.

    Parameters
    ----------
    graph : networkx.DiGraph, BayesianNetwork or WeightedNetwork
    x, y : node or set of nodes
    evidence : iterable of nodes, or the name of one
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
    dag, z = directed_graph(graph), {evidence} if isinstance(evidence, str) else set(evidence)
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
