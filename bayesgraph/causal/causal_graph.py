"""Causal graphs: arcs among observed variables, and pairs with an unobserved common cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx

from bayesgraph.causal import adjustment, identification, separation
from bayesgraph.causal.adjustment import Instrument
from bayesgraph.causal.estimands import Estimand
from bayesgraph.causal.separation import Independence
from bayesgraph.errors import GraphError, quoted, unknown_variable
from bayesgraph.graphs import build_dag, d_separated, directed_graph, is_graph_or_model
from bayesgraph.questions.estimators import question
from bayesgraph.variables import Name

if TYPE_CHECKING:
    from bayesgraph.models.model import Model

Names: TypeAlias = "Name | Collection[Name]"
Pair: TypeAlias = tuple[Name, Name]


@dataclass(frozen=True)
class Hidden:
    """The unobserved common cause of two variables, a node of a directed acyclic graph."""

    effects: Pair


@dataclass(frozen=True, init=False)
class CausalGraph:
    """A directed acyclic graph of causes, some of whose common causes are not observed.

    It is an acyclic directed mixed graph: arcs, and pairs of variables with an unobserved common
    cause (bidirected edges). Methods return names in the order of `nodes`.

    Parameters
    ----------
    arcs : iterable of (cause, effect), BayesianNetwork, WeightedNetwork or networkx.DiGraph
        A graph has all its nodes; `of` leaves some of them out as latent.
    confounded : iterable of (name, name)
        Pairs of variables with an unobserved common cause.
    nodes : iterable of names, optional
        All variables in order, for graphs with variables that have no arcs; by default those of the
        arcs and pairs, in the order in which they are named.

    Raises
    ------
    GraphError
        If the arcs form a cycle, or an arc or a pair is given twice.
    UnknownVariableError
        For an arc or a pair of names that are not in `nodes`.

    Examples
    --------
    Smoking, tar in the lungs and cancer (Pearl 2009, section 3.3.3): a gene may cause both smoking
    and cancer.

    >>> graph = CausalGraph([("smoke", "tar"), ("tar", "cancer")], [("smoke", "cancer")])
    >>> graph.adjustment_sets("smoke", "cancer")
    []
    >>> graph.front_door_sets("smoke", "cancer")
    [('tar',)]
    >>> graph.identify("cancer", do="smoke")
    P(cancer | do(smoke)) = Σ_tar P(tar | smoke) Σ_smoke' P(smoke') P(cancer | smoke', tar)
    """

    arcs: tuple[Pair, ...]
    confounded: tuple[Pair, ...]
    nodes: tuple[Name, ...]

    def __init__(
        self,
        arcs: Iterable[Pair] | Model | nx.DiGraph[Any],
        confounded: Iterable[Pair] = (),
        nodes: Iterable[Name] = (),
    ) -> None:
        if is_graph_or_model(arcs):
            whole = CausalGraph.of(arcs)
            arcs, nodes = whole.arcs, tuple(nodes) or whole.nodes
        directed, pairs = _pairs("arcs", arcs), _pairs("confounded", confounded)
        linked = dict.fromkeys(name for pair in (*directed, *pairs) for name in pair)
        ordered = tuple(nodes) or tuple(linked)
        build_dag(ordered, directed)  # for its errors
        object.__setattr__(self, "arcs", directed)
        object.__setattr__(self, "confounded", _sorted_pairs(pairs, ordered))
        object.__setattr__(self, "nodes", ordered)

    @classmethod
    def of(cls, graph: Any, latent: Collection[Name] = ()) -> CausalGraph:
        """Return the causal graph of a directed graph over the variables that are not latent.

        It is the latent projection of Verma and Pearl (1990): a directed path through latent
        variables becomes an arc, and a latent variable from which such paths lead to two others
        makes a confounded pair. Observed variables keep their separations and their effects.

        Parameters
        ----------
        graph : networkx.DiGraph, CausalGraph, BayesianNetwork or WeightedNetwork
        latent : collection of names
            Variables that are not observed.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        GraphError
            For an argument without a directed graph, or if all variables are latent.
        """
        dag = graph.dag if isinstance(graph, CausalGraph) else directed_graph(graph)
        hidden = {latent} if latent in dag else set(latent)
        for name in hidden:
            if name not in dag:
                raise unknown_variable(name, dag, where="The graph")
        nodes = [node for node in dag if node not in hidden and not isinstance(node, Hidden)]
        if not nodes:
            raise GraphError("All variables are latent; leave at least one of them observed.")
        observed = set(nodes)
        below = {node: _reached(dag, node, observed) for node in dag}
        arcs = [(a, b) for a in nodes for b in nodes if b in below[a]]
        joint = {
            frozenset(pair)
            for node in dag
            if node not in observed
            for pair in combinations(below[node], 2)
        }
        pairs = [pair for pair in combinations(nodes, 2) if frozenset(pair) in joint]
        return cls(tuple(arcs), tuple(pairs), tuple(nodes))

    @cached_property
    def dag(self) -> nx.DiGraph:
        """The directed acyclic graph in which each unobserved common cause is a `Hidden` node."""
        found = build_dag(self.nodes, self.arcs)
        for pair in self.confounded:
            found.add_edges_from((Hidden(pair), name) for name in pair)
        return nx.freeze(found)

    def subgraph(self, nodes: Collection[Name]) -> CausalGraph:
        """Return the graph of some of the nodes, with the arcs and pairs among them."""
        kept = set(nodes)
        return CausalGraph(
            tuple(arc for arc in self.arcs if kept.issuperset(arc)),
            tuple(pair for pair in self.confounded if kept.issuperset(pair)),
            tuple(node for node in self.nodes if node in kept),
        )

    def in_order(self, nodes: Iterable[Name]) -> tuple[Name, ...]:
        """Return some of the nodes in the order of the graph."""
        chosen = set(nodes)
        return tuple(node for node in self.nodes if node in chosen)

    def named(self, given: Names) -> tuple[Name, ...]:
        """Return the nodes that an argument names, a name or a collection of names, in order.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        """
        if given in self.nodes:
            return (given,)
        several = isinstance(given, Collection) and not isinstance(given, (str, bytes))
        for name in given if several else [given]:  # type: ignore[union-attr]
            if name not in self.nodes:
                raise unknown_variable(name, self.nodes, where="The graph")
        return self.in_order(given)  # type: ignore[arg-type]

    def disjoint(self, *given: Names) -> list[set[Name]]:
        """Return the nodes that several arguments name, which must not overlap; see `named`.

        The first two must not be empty.
        """
        found = [set(self.named(names)) for names in given]
        if not all(found[:2]):
            raise GraphError("Name at least one variable on each side; one of the sets is empty.")
        for a, b in combinations(found, 2):
            if shared := a & b:
                raise GraphError(
                    f"The sets of variables must not overlap; {quoted(self.in_order(shared))} is "
                    "in more than one of them."
                )
        return found

    # ------------------------------------------------------------------------------ separation

    def d_separated(self, x: Names, y: Names, given: Names = ()) -> bool:
        """Tell whether two sets of variables are d-separated by a third; see `d_separated`.

        With confounded pairs it is m-separation (Richardson 2003).

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        GraphError
            If the sets overlap.
        """
        return d_separated(self.dag, *self.disjoint(x, y, given))

    def minimal_separator(
        self, x: Names, y: Names, *, required: Names = (), forbidden: Names = ()
    ) -> tuple[Name, ...] | None:
        """Return a set that d-separates x and y and loses this if a variable is left out.

        Found in time linear in the size of the graph (van der Zander and Liśkiewicz 2020).

        Parameters
        ----------
        x, y : name or collection of names
        required, forbidden : name or collection of names
            Variables that the set must have and must not have.

        Returns
        -------
        tuple of names, or None if there is no such set
        """
        return separation.minimal_separator(self, *self._separated(x, y, required, forbidden))

    def separators(
        self,
        x: Names,
        y: Names,
        *,
        required: Names = (),
        forbidden: Names = (),
        maximum: int = 1000,
    ) -> list[tuple[Name, ...]]:
        """Return all minimal sets that d-separate x and y, small ones first.

        They are the minimal separators of the moral graph of the ancestors (van der Zander,
        Liśkiewicz and Textor 2014, section 4).

        Parameters
        ----------
        x, y, required, forbidden
            As in `minimal_separator`.
        maximum : int
            Number of sets after which the search stops; those near x are found first.
        """
        sides = self._separated(x, y, required, forbidden)
        return separation.minimal_separators(self, self.dag, *sides, maximum)

    def _separated(
        self, x: Names, y: Names, required: Names, forbidden: Names
    ) -> tuple[set[Name], set[Name], set[Name], set[Name]]:
        """Return both sides, the nodes a separator must have, and those it may have."""
        left, right, needed = self.disjoint(x, y, required)
        refused = set(self.named(forbidden))
        if both := self.in_order(needed & refused):
            raise GraphError(f"{quoted(both)} is both in required= and in forbidden=.")
        return left, right, needed, set(self.nodes) - left - right - refused

    def local_independencies(self) -> list[Independence]:
        """Return a basis of the implied independencies: one statement for each node that has one.

        A node is independent of its non-descendants given its parents (the local Markov property);
        all other implied independencies follow from these (Pearl 1988, section 3.3).

        Raises
        ------
        GraphError
            For a graph with confounded pairs; `pairwise_independencies` works for those too.
        """
        return separation.local_independencies(self)

    def pairwise_independencies(self) -> list[Independence]:
        """Return an independence for each pair of variables that some set separates.

        The set is a minimal separator, without descendants of both variables. In a graph without
        confounded pairs these are the pairs without an arc, and all other implied independencies
        follow for distributions in which pairwise independencies add up, such as Gaussians.
        """
        return separation.pairwise_independencies(self)

    def is_equivalent(self, other: CausalGraph) -> bool:
        """Tell whether two graphs imply the same independencies.

        They do if they have the same pairs with an arc, and the same arcs that meet head to head
        from variables without an arc between them (Verma and Pearl 1990).

        Raises
        ------
        GraphError
            For graphs with confounded pairs, or over different variables.
        """
        return separation.are_equivalent(self, other)

    # -------------------------------------------------------------------- what to adjust for

    def adjustment_sets(
        self, treatment: Names, outcome: Names, *, forbidden: Names = (), maximum: int = 1000
    ) -> list[tuple[Name, ...]]:
        """Return all minimal sets to adjust for, small ones first; none if adjusting cannot do.

        ``[()]`` says that nothing has to be adjusted for, ``[]`` that no set will do.

        With such a set z, ``P(y | do(x)) = sum_z P(z) P(y | x, z)``. A set separates treatment and
        outcome in the graph without the first arcs of causal paths, and has no variable on or below
        a causal path (van der Zander, Liśkiewicz and Textor 2014, after Shpitser, VanderWeele and
        Robins 2010). For one treatment the minimal sets are those of the back-door criterion of
        Pearl (1993).

        Parameters
        ----------
        treatment, outcome : name or collection of names
        forbidden : name or collection of names
            Variables that cannot be adjusted for, for example because they are expensive.
        maximum : int
            Number of sets after which the search stops.
        """
        x, y = self.disjoint(treatment, outcome)
        refused = set(self.named(forbidden))
        return adjustment.adjustment_sets(self, x, y, refused, maximum)

    def is_adjustment_set(self, treatment: Names, outcome: Names, adjusted: Names) -> bool:
        """Tell whether adjusting for a set gives the effect; the set need not be minimal.

        See `adjustment_sets`.
        """
        return adjustment.is_adjustment_set(self, *self.disjoint(treatment, outcome, adjusted))

    def front_door_sets(
        self, treatment: Names, outcome: Names, *, forbidden: Names = (), maximum: int = 1000
    ) -> list[tuple[Name, ...]]:
        """Return all minimal sets that satisfy the front-door criterion, small ones first.

        With such a set z, ``P(y | do(x)) = sum_z P(z | x) sum_x' P(x') P(y | x', z)``. The set is
        on all causal paths, no back-door path from the treatment to it is open, and the treatment
        blocks all back-door paths from it to the outcome (Pearl 1995; sets are found by the bounds
        of Jeong, Tian and Bareinboim 2022).

        Parameters
        ----------
        treatment, outcome, forbidden, maximum
            As in `adjustment_sets`.
        """
        x, y = self.disjoint(treatment, outcome)
        refused = set(self.named(forbidden))
        return adjustment.front_door_sets(self, x, y, refused, maximum)

    def instruments(
        self, treatment: Name, outcome: Name, *, maximum: int = 1000
    ) -> list[Instrument]:
        """Return instrumental variables for the effect of one variable on another.

        An instrument depends on the treatment given a set, and would be separated from the outcome
        by this set without the first arcs of causal paths from the treatment (conditional
        instruments of Brito and Pearl 2002, for linear models). The sets are minimal separators
        without variables on or below a causal path.

        Parameters
        ----------
        treatment, outcome : name
        maximum : int
            Number of sets of one instrument after which the search for others stops.

        Returns
        -------
        list of Instrument
            Pairs ``(variable, given)``, those with small sets first.
        """
        x, y = self.disjoint([treatment], [outcome])
        return adjustment.instruments(self, x, y, maximum)

    def identify(self, outcome: Names, *, do: Names, given: Names = ()) -> Estimand:
        """Return an interventional distribution as an expression in observed probabilities.

        By the algorithms ID and IDC of Shpitser and Pearl (2006), which are complete: what they
        refuse, no expression identifies.

        Parameters
        ----------
        outcome : name or collection of names
        do : name or collection of names
            Variables that are set.
        given : name or collection of names
            Variables that are observed after the intervention.

        Returns
        -------
        Estimand
            It prints as a formula; `Estimand.evaluate` computes it from a model of the observed
            variables.

        Raises
        ------
        NotIdentifiableError
            If two models of the graph agree in all that is observed and differ in the answer; the
            message names the hedge that shows it.
        """
        return identification.identify(self, *self.disjoint(outcome, do, given))

    def to_dag(self) -> list[Pair]:
        """Return arcs of a directed acyclic graph that fits every distribution of the variables.

        The parents of a variable are those variables before it, in a topological order, on which it
        depends given the others. A network with these arcs can be fitted to columns of observed
        variables, and evaluates estimands; the arcs say nothing about causes.
        """
        return identification.observed_arcs(self)


@question()
def causal_graph(model: Model, latent: Collection[Name] = ()) -> CausalGraph:
    """Return the causal graph over the variables that are not latent.

    It gives adjustment sets, instruments, estimands and implied independencies; see
    :class:`bayesgraph.CausalGraph`.

    Parameters
    ----------
    model : model or fitted estimator
    latent : collection of names
        Variables that are not observed.

    Raises
    ------
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    GraphError
        If the model has no directed acyclic graph.
    """
    return CausalGraph.of(model, latent)


def _reached(dag: nx.DiGraph, start: Any, observed: set[Name]) -> list[Name]:
    """Return the observed nodes that directed paths through unobserved nodes lead to."""
    found: dict[Name, None] = {}
    seen, stack = {start}, [start]
    while stack:
        for child in dag.successors(stack.pop()):
            if child in observed:
                found[child] = None
            elif child not in seen:
                seen.add(child)
                stack.append(child)
    return list(found)


def _pairs(kind: str, given: Any) -> tuple[Pair, ...]:
    """Return the pairs of an argument as tuples."""
    found = []
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise GraphError(
                f"{kind}= takes pairs of names, or a network for arcs=; got {pair!r:.80}."
            )
        found.append((pair[0], pair[1]))
    return tuple(found)


def _sorted_pairs(pairs: Iterable[Pair], nodes: tuple[Name, ...]) -> tuple[Pair, ...]:
    """Return pairs whose names have the order of the nodes, after checking them."""
    place = {name: i for i, name in enumerate(nodes)}
    found: dict[Pair, None] = {}
    for a, b in pairs:
        for name in (a, b):
            if name not in place:
                raise unknown_variable(name, nodes, where=f"Pair {a!r}, {b!r}: the graph")
        pair = (a, b) if place[a] < place[b] else (b, a)
        if a == b or pair in found:
            raise GraphError(
                f"confounded= takes pairs of two variables, each once; got {(a, b)!r}."
            )
        found[pair] = None
    return tuple(found)
