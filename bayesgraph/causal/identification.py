"""Identification of interventional distributions: the algorithms ID and IDC.

Shpitser and Pearl (2006), "Identification of joint interventional distributions in recursive
semi-Markovian causal models" (ID, figure 3) and "Identification of conditional interventional
distributions" (IDC, figure 2). Numbers in comments are the lines of ID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx

from bayesgraph.causal.adjustment import without_arcs
from bayesgraph.causal.estimands import Conditional, Estimand, Expression, product, ratio, summed
from bayesgraph.errors import NotIdentifiableError, quoted
from bayesgraph.graphs import topological_order
from bayesgraph.variables import Name

if TYPE_CHECKING:
    from bayesgraph.causal.causal_graph import CausalGraph

_Distribution: TypeAlias = "_Observed | _Derived"


@dataclass(frozen=True)
class _Observed:
    """The observed distribution of some variables.

    Attributes
    ----------
    graph : CausalGraph
        The graph of all variables.
    names : tuple of names
    """

    graph: CausalGraph
    names: tuple[Name, ...]

    def marginal(self, names: tuple[Name, ...]) -> _Observed:
        """Return the distribution of fewer variables."""
        return _Observed(self.graph, names)

    def joint(self, names: tuple[Name, ...]) -> Expression:
        """Return the probability of some variables."""
        return Conditional(names)

    def conditional(self, name: Name, before: tuple[Name, ...]) -> Expression:
        """Return the probability of a variable given others."""
        return Conditional((name,), relevant(self.graph, name, before))


@dataclass(frozen=True)
class _Derived:
    """A distribution of some variables that is itself an expression."""

    expression: Expression
    names: tuple[Name, ...]

    def marginal(self, names: tuple[Name, ...]) -> _Derived:
        """Return the distribution of fewer variables."""
        return _Derived(self.joint(names), names)

    def joint(self, names: tuple[Name, ...]) -> Expression:
        """Return the probability of some variables."""
        return summed([name for name in self.names if name not in names], self.expression)

    def conditional(self, name: Name, before: tuple[Name, ...]) -> Expression:
        """Return the probability of a variable given others."""
        return ratio(self.joint((*before, name)), self.joint(before))


def relevant(graph: CausalGraph, name: Name, before: tuple[Name, ...]) -> tuple[Name, ...]:
    """Return those of some variables on which a variable depends given the others."""
    kept = list(before)
    for other in before:
        rest = {n for n in kept if n != other}
        if nx.is_d_separator(graph.dag, {name}, {other}, rest):
            kept.remove(other)
    return tuple(kept)


def observed_arcs(graph: CausalGraph) -> list[tuple[Name, Name]]:
    """Return arcs that fit every distribution of the variables; see `CausalGraph.to_dag`."""
    order = _order(graph)
    return [
        (parent, name)
        for i, name in enumerate(order)
        for parent in relevant(graph, name, tuple(order[:i]))
    ]


def identify(graph: CausalGraph, y: set[Name], x: set[Name], z: set[Name]) -> Estimand:
    """Return the estimand of P(y | do(x), z); see `CausalGraph.identify`."""
    observed = _Observed(graph, graph.nodes)
    names = graph.in_order(y), graph.in_order(x), graph.in_order(z)
    try:
        if not z:
            return Estimand(*names, _id(y, x, observed, graph))
        acting, seen = _exchanged(graph, y, x, z)
        joint = _id(y | seen, acting, observed, graph)
        expression = ratio(joint, summed(graph.in_order(y), joint)) if seen else joint
    except _HedgeError as hedge:
        raise _refusal(names, hedge) from None
    return Estimand(*names, expression)


def _exchanged(
    graph: CausalGraph, y: set[Name], x: set[Name], z: set[Name]
) -> tuple[set[Name], set[Name]]:
    """Return the variables to set and to observe, as many set as the rules of do allow (IDC)."""
    acting, seen = set(x), set(z)
    dag = graph.dag
    while True:
        for node in graph.in_order(seen):
            # Rule 2: separated without the arcs into what is set and those out of the node.
            arcs = [*dag.in_edges(acting), *dag.out_edges(node)]
            cut = without_arcs(dag, arcs)
            if nx.is_d_separator(cut, y, {node}, acting | seen - {node}):
                acting.add(node)
                seen.remove(node)
                break
        else:
            return acting, seen


def _id(y: set[Name], x: set[Name], p: _Distribution, graph: CausalGraph) -> Expression:
    """Return P(y | do(x)) in a distribution p of the variables of a graph."""
    nodes = set(graph.nodes)
    if not x:  # 1
        return p.joint(graph.in_order(y))
    above = _ancestors(graph, y)
    if above != nodes:  # 2
        kept = graph.in_order(above)
        return _id(y, x & above, p.marginal(kept), graph.subgraph(kept))
    without = _ancestors(graph, y, cut=x)
    if more := nodes - x - without:  # 3
        return _id(y, x | more, p, graph)
    parts = _districts(graph.subgraph(nodes - x))
    if len(parts) > 1:  # 4
        terms = [_id(part, nodes - part, p, graph) for part in parts]
        return summed(graph.in_order(nodes - y - x), product(terms))
    (part,) = parts
    districts = _districts(graph)
    if len(districts) == 1:  # 5
        raise _HedgeError(graph.nodes, graph.in_order(part))
    order = _order(graph)
    whole = next(district for district in districts if part <= district)
    chain = product(
        p.conditional(name, tuple(order[: order.index(name)])) for name in order if name in whole
    )
    if whole == part:  # 6
        return summed(graph.in_order(part - y), chain)
    return _id(  # 7
        y, x & whole, _Derived(chain, graph.in_order(whole)), graph.subgraph(whole)
    )


def _ancestors(graph: CausalGraph, nodes: set[Name], cut: set[Name] = frozenset()) -> set[Name]:  # type: ignore[assignment]
    """Return nodes and their ancestors in the graph without the arcs into the nodes of `cut`."""
    found, stack = set(nodes), list(nodes)
    parents: dict[Name, list[Name]] = {}
    for a, b in graph.arcs:
        if b not in cut:
            parents.setdefault(b, []).append(a)
    while stack:
        for parent in parents.get(stack.pop(), ()):
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def _districts(graph: CausalGraph) -> list[set[Name]]:
    """Return the sets of nodes that confounded pairs connect (c-components), in order."""
    linked: nx.Graph = nx.Graph()
    linked.add_nodes_from(graph.nodes)
    linked.add_edges_from(graph.confounded)
    return [set(part) for part in nx.connected_components(linked)]


def _order(graph: CausalGraph) -> list[Name]:
    known = set(graph.nodes)
    return [node for node in topological_order(graph.dag) if node in known]


class _HedgeError(Exception):
    """The two sets of variables of a hedge."""


def _refusal(names: tuple[tuple[Name, ...], ...], hedge: _HedgeError) -> NotIdentifiableError:
    (outcome, do, given), (larger, smaller) = names, hedge.args
    condition = ", ".join(map(str, given))
    question = f"P({', '.join(map(str, outcome))} | do({', '.join(map(str, do))})"
    question += f", {condition})" if condition else ")"
    return NotIdentifiableError(
        f"{question} is not identifiable: {{{quoted(larger)}}} and {{{quoted(smaller)}}} form a "
        "hedge, sets that unobserved common causes connect, so that models agree in all that is "
        "observed and differ in the answer. Observe one of these causes, or make an experiment.",
        (larger, smaller),
    )
