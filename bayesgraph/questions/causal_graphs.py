"""Causal graphs: arcs among observed variables, and pairs with an unobserved common cause."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np

from bayesgraph.core.arrays import log_of
from bayesgraph.core.errors import (
    EvidenceError,
    GraphError,
    ImpossibleEvidenceError,
    NotIdentifiableError,
    UnsupportedModelError,
    quoted,
    unknown_variable,
)
from bayesgraph.core.upward import Drawn
from bayesgraph.core.variables import Discrete, Name, ancestral_set
from bayesgraph.graphs import (
    build_dag,
    d_separated,
    directed_graph,
    is_graph_or_model,
    nodes_of,
    reachable,
    structural_hamming_distance,
    topological_order,
)
from bayesgraph.inference import Factor, Posterior, align
from bayesgraph.models import FactorGraph, Model, read_values
from bayesgraph.questions.estimators import question

# ----------------------------- Separators, implied independencies and equivalence of causal graphs


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


def minimal_separators(
    graph: CausalGraph,
    dag: nx.DiGraph,
    x: set[Name],
    y: set[Name],
    required: set[Name],
    allowed: set[Name],
    maximum: int,
    holds: Callable[[Iterable[Name]], bool] = lambda _: True,
) -> list[tuple[Name, ...]]:
    """Return all minimal separators of x and y in a directed acyclic graph, small ones first.

    The first is the one nearest to x. From each separator, others further from x arise by adding
    one of its nodes to the side of x; all are reached so (Shen and Liang 1997).

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
    holds : callable, optional
        Function that tells whether a separator counts. What is further from x than one that does
        not is left out.
    """
    # Sets are separated in the moral graph of all their ancestors if and only if they are
    # d-separated (Lauritzen et al. 1990). In an undirected graph, whose neighbours take the place
    # of parents, `ancestral_set` returns some nodes, and what paths from them reach around others.
    moral = nx.moral_graph(dag.subgraph(ancestral_set(dag.pred, x | y | required)))
    moral.remove_nodes_from(required)
    separators: dict[frozenset[Name], None] = {}
    sides = deque([x])
    while sides and len(separators) < maximum:
        # A side grows over the nodes that a separator may not have, up to its border. The part of
        # the border that borders on what y reaches is the separator nearest to the side.
        side = ancestral_set(moral.adj, sides.popleft(), allowed | y)
        border = nx.node_boundary(moral, side)
        nearest = frozenset(nx.node_boundary(moral, ancestral_set(moral.adj, y, border)))
        if border.isdisjoint(y) and nearest not in separators and holds(nearest):
            separators[nearest] = None
            # The side of x, to which one node of the separator is added.
            reached = ancestral_set(moral.adj, x, nearest)
            sides.extend(reached | {node} for node in graph.in_order(nearest))
    return graph.small_first(nodes | required for nodes in separators)


def _check_unconfounded(graph: CausalGraph, instead: str) -> None:
    """Raise an error for a graph with confounded pairs, which says what to do instead."""
    if graph.confounded:
        a, b = graph.confounded[0]
        raise GraphError(
            f"This takes a graph without unobserved common causes; {a!r} and {b!r} have one. "
            f"{instead}"
        )


# ----------------------------- Sets to adjust for: back-door, front-door and instrumental criteria


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


def back_door(dag: nx.DiGraph, x: set[Name], y: set[Name]) -> tuple[set[Name], nx.DiGraph]:
    """Return the nodes on or below causal paths, and the graph without the first arcs of these.

    A causal path is one of arcs from x to y that returns to no node of x, and nodes of x are not
    on it.
    """
    causal = (ancestral_set(dag.succ, x) - x) & ancestral_set(dag.pred, y, x)
    first_arcs = [arc for arc in dag.out_edges(x) if arc[1] in causal]
    return ancestral_set(dag.succ, causal), nx.restricted_view(dag, (), first_arcs)


# ----------- Estimands: interventional distributions as expressions in observed probabilities
# An expression is a conditional probability, a product, a sum over states, or a ratio. It is made
# simpler where that is free: a distribution that is summed over all states of its variable is 1,
# and common terms of a ratio cancel. Evaluation asks a model for the conditional probabilities, and
# the engine for sums of their products, as a factor graph.


Expression: TypeAlias = "Conditional | Product | Sum | Ratio"
# Tolerance of the sum of an interventional distribution, whose deviation tells impossible states.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Conditional:
    """P(targets | given), an observed probability."""

    targets: tuple[Name, ...]
    given: tuple[Name, ...] = ()

    @cached_property
    def free(self) -> frozenset[Name]:
        """The variables that the expression depends on."""
        return frozenset(self.targets + self.given)


@dataclass(frozen=True)
class Product:
    """A product of expressions; the empty product is 1."""

    terms: tuple[Expression, ...]

    @cached_property
    def free(self) -> frozenset[Name]:
        """The variables that the expression depends on."""
        return frozenset().union(*(term.free for term in self.terms))


@dataclass(frozen=True)
class Sum:
    """The sum of an expression over all states of some variables."""

    over: tuple[Name, ...]
    body: Expression

    @cached_property
    def free(self) -> frozenset[Name]:
        """The variables that the expression depends on."""
        return self.body.free - frozenset(self.over)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two expressions, 0 where both are."""

    top: Expression
    bottom: Expression

    @cached_property
    def free(self) -> frozenset[Name]:
        """The variables that the expression depends on."""
        return self.top.free | self.bottom.free


# ------------------------------------------------------------------- construction, simplified


def terms_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the terms of a product; another expression is the only term."""
    return expression.terms if isinstance(expression, Product) else (expression,)


def product(expressions: Iterable[Expression]) -> Expression:
    """Return the product of expressions."""
    terms = tuple(term for expression in expressions for term in terms_of(expression))
    return terms[0] if len(terms) == 1 else Product(terms)


def summed(over: Iterable[Name], expression: Expression) -> Expression:
    """Return the sum of an expression over the states of some variables."""
    # What is still to be summed over: of a sum, also what that is over.
    left = list(over)
    if isinstance(expression, Sum) and set(left).isdisjoint(expression.over):
        left, expression = [*left, *expression.over], expression.body
    terms = list(terms_of(expression))
    while True:
        # In how many terms each variable is, and of how many it is a target.
        uses = Counter(name for term in terms for name in term.free)
        distributions = [term for term in terms if isinstance(term, Conditional)]
        heads = Counter(name for term in distributions for name in term.targets)
        # A variable that is in one term only, as a target of a distribution, sums to one.
        while alone := [name for name in left if uses[name] == heads[name] == 1]:
            name = alone[0]
            place, term = next((i, term) for i, term in enumerate(terms) if name in term.free)
            assert isinstance(term, Conditional)
            targets = tuple(target for target in term.targets if target != name)
            terms[place : place + 1] = [Conditional(targets, term.given)] if targets else []
            # Without a target the term is 1, and its conditions go with it.
            uses.subtract([name] if targets else term.free)
            left.remove(name)
        inner = [term for term in terms if not term.free.isdisjoint(left)]
        outer = [term for term in terms if term.free.isdisjoint(left)]
        joined = _joined(inner)
        if len(joined) == len(inner):
            return product([*outer, Sum(tuple(left), product(inner))] if inner else outer)
        # Joint distributions may have more variables that sum to one.
        terms = [*outer, *joined]


def _joined(terms: Sequence[Expression]) -> list[Expression]:
    """Return terms in which P(b | a, c) P(a | c) is P(a, b | c), by the chain rule."""
    # From each condition to the first distribution given it.
    by_condition: dict[frozenset[Name], Conditional] = {}
    for term in terms:
        if isinstance(term, Conditional):
            by_condition.setdefault(frozenset(term.given), term)
    for i, first in enumerate(terms):
        # P(b | a, c), if the first one is P(a | c).
        second = by_condition.get(first.free)
        if isinstance(first, Conditional) and second is not None:
            j = next(k for k, term in enumerate(terms) if term is second)
            joint = Conditional((*first.targets, *second.targets), first.given)
            others = [term for k, term in enumerate(terms) if k not in (i, j)]
            # It stands where the first of its two terms stood, and may be joined with others.
            return _joined([*others[: min(i, j)], joint, *others[min(i, j) :]])
    return list(terms)


def ratio(top: Expression, bottom: Expression) -> Expression:
    """Return a ratio of expressions without the terms that both have."""
    above, below = list(terms_of(top)), list(terms_of(bottom))
    for term in terms_of(bottom):
        if term in above:
            above.remove(term)
            below.remove(term)
    return Ratio(product(above), product(below)) if below else product(above)


# -------------------------------------------------------------------------------- printing


def _text(expression: Expression, names: Mapping[Name, str], *, inside: bool = False) -> str:
    """Return an expression as text.

    Parameters
    ----------
    expression : Expression
    names : mapping from name to str
        How the free variables are written; a variable that is summed over gets another mark.
    inside : bool
        Whether something follows, so that a sum needs brackets.
    """
    if isinstance(expression, Conditional):
        targets, condition = (
            ", ".join(names[name] for name in group)
            for group in (expression.targets, expression.given)
        )
        return f"P({targets} | {condition})" if condition else f"P({targets})"
    if isinstance(expression, Ratio):
        top, bottom = (_text(part, names) for part in (expression.top, expression.bottom))
        return f"[{top}] / [{bottom}]"
    if isinstance(expression, Sum):
        inner = dict(names)
        for name in expression.over:
            # A prime tells it from what has this name outside of the sum.
            mark = str(name)
            while mark in names.values():
                mark += "'"
            inner[name] = mark
        over = ", ".join(inner[name] for name in expression.over)
        over = f"{{{over}}}" if len(expression.over) > 1 else over
        text = f"Σ_{over} {_text(expression.body, inner)}"
        return f"[{text}]" if inside else text
    # Sums are written last, where they need no brackets.
    terms = sorted(expression.terms, key=lambda term: isinstance(term, Sum))
    last = len(terms) - 1
    return " ".join(_text(t, names, inside=i < last) for i, t in enumerate(terms)) or "1"


# ------------------------------------------------------------------------------ evaluation


def _factor(
    expression: Expression, model: Model, fixed: Mapping[Name, Any], undefined: float
) -> Factor:
    """Return an expression as a table over its free variables that are not fixed to a state.

    The argument `undefined` is the log of what is divided by zero.
    """
    if isinstance(expression, Conditional):
        return _conditional(expression, model, fixed, undefined)
    if isinstance(expression, Ratio):
        top = _factor(expression.top, model, fixed, undefined)
        return _divided(top, _factor(expression.bottom, model, fixed, undefined), undefined)
    over: tuple[Name, ...] = ()
    if isinstance(expression, Sum):
        over, expression = expression.over, expression.body
        # Inside the sum the variable takes all its states, though outside it may be fixed.
        fixed = {name: value for name, value in fixed.items() if name not in over}
    factors = [_factor(term, model, fixed, undefined) for term in terms_of(expression)]
    return _sum_of_product(factors, over)


def _divided(top: Factor, bottom: Factor, undefined: float) -> Factor:
    """Return the quotient of two factors, with a log for what is divided by zero."""
    quotient = top / bottom
    is_zero = np.isneginf(bottom.aligned(quotient.scope))
    return Factor.from_log(quotient.scope, np.where(is_zero, undefined, quotient.log_values))


def _sum_of_product(factors: Sequence[Factor], over: Collection[Name]) -> Factor:
    """Return the product of factors with some variables summed out, by the engine.

    Values of factors have a first axis of length 1, that of rows.
    """
    # Factors without variables are constants, by which the sum is multiplied.
    log_constant = sum(float(factor.log_values.sum()) for factor in factors if not factor.scope)
    tables = [factor for factor in factors if factor.scope]
    if not tables:
        return Factor.from_log((), np.full(1, log_constant))
    graph = FactorGraph(tables)
    kept = [v for v in graph.variables if isinstance(v, Discrete) and v.name not in over]
    shape = [v.cardinality for v in kept]
    try:
        if not kept:
            return Factor.from_log((), np.full(1, graph.log_partition + log_constant))
        posterior = graph.query([v.name for v in kept])
    except ImpossibleEvidenceError:
        return Factor.from_log(kept, np.full((1, *shape), -np.inf))
    # The posterior sums to one; the evidence of a factor graph is the sum of its product.
    logs = log_of(posterior.probabilities).reshape(shape) + posterior.log_evidence + log_constant
    return Factor.from_log(kept, logs[None])


def _conditional(
    expression: Conditional, model: Model, fixed: Mapping[Name, Any], undefined: float
) -> Factor:
    """Return a conditional probability as a table; see `_factor` for impossible conditions.

    Its axes are conditions and then targets, those that are fixed to a state left out.
    """
    evidence = {name: fixed[name] for name in expression.given if name in fixed}
    conditions = [model.variable(name) for name in expression.given if name not in fixed]
    targets = [model.variable(name) for name in expression.targets]
    scope = [v for v in (*conditions, *targets) if isinstance(v, Discrete)]
    free = [v for v in scope if v in conditions or v.name not in fixed]
    try:
        posterior: Posterior = model.query([v.name for v in scope], evidence)
    except ImpossibleEvidenceError:
        return Factor.from_log(free, np.full((1, *(v.cardinality for v in free)), undefined))
    # P(conditions, targets | evidence), which P(conditions | evidence) divides.
    joint = Factor.from_log(scope, log_of(posterior.probabilities)[None])
    if conditions:
        marginal = posterior.marginal(*(v.name for v in conditions)).probabilities
        condition = Factor.from_log(scope[: len(conditions)], log_of(marginal)[None])
        joint = _divided(joint, condition, undefined)
    logs = joint.log_values[0]
    # Of fixed targets only the entries of their states are left.
    chosen = tuple(slice(None) if v in free else v.index(fixed[v.name]) for v in scope)
    return Factor.from_log(free, logs[chosen][None])


def _interventional(outcome: Sequence[Name], do: Sequence[Name], given: Sequence[Name]) -> str:
    """Return the text of a distribution, such as "P(y | do(x), z)"."""
    targets, set_, evidence = (", ".join(map(str, names)) for names in (outcome, do, given))
    return f"P({targets} | do({set_}){f', {evidence}' if evidence else ''})"


@dataclass(frozen=True, repr=False)
class Estimand:
    """An interventional distribution as an expression in observed probabilities.

    `CausalGraph.identify` returns instances. They print as a formula, in which the variables that
    are summed over and are also named outside have a prime.

    Attributes
    ----------
    outcome, do, given : tuple of names
        The distribution is P(outcome | do(...), given).
    expression : Conditional, Product, Sum or Ratio
    """

    outcome: tuple[Name, ...]
    do: tuple[Name, ...]
    given: tuple[Name, ...]
    expression: Expression

    def __repr__(self) -> str:
        named = (*self.outcome, *self.do, *self.given, *self.expression.free)
        names = {name: str(name) for name in named}
        distribution = _interventional(self.outcome, self.do, self.given)
        return f"{distribution} = {_text(self.expression, names)}"

    @property
    def variables(self) -> frozenset[Name]:
        """All variables of the expression, which a model must have to evaluate it."""
        expressions: list[Expression] = [self.expression]  # grows while it is read
        for part in expressions:
            if isinstance(part, Ratio):
                expressions += [part.top, part.bottom]
            elif isinstance(part, Sum):
                expressions.append(part.body)
            elif isinstance(part, Product):
                expressions += part.terms
        return frozenset().union(*(e.free for e in expressions if isinstance(e, Conditional)))

    def evaluate(
        self, model: Model, do: Mapping[Name, Any], given: Mapping[Name, Any] | None = None
    ) -> Posterior:
        """Return the distribution, from a model of the observed discrete variables.

        The model is asked for observed probabilities only: its arcs need not be causes. It can be
        fitted to a table with the arcs of `CausalGraph.to_dag`.

        Parameters
        ----------
        model : BayesianNetwork or another model that answers queries
        do : mapping from name to state
            The states that variables are set to.
        given : mapping from name to state, optional
            The states that are observed after the intervention.

        Returns
        -------
        Posterior
            Of the outcome. Its `log_evidence` is 0 without `given`, and otherwise NaN.

        Raises
        ------
        EvidenceError
            If the states of other variables than those of the estimand are given; or if states
            that the expression conditions on are impossible under the model, so that it has no
            value.
        UnsupportedModelError
            If a variable is not discrete.
        """
        fixed = self._values(model, do, self.do, "do=")
        fixed |= self._values(model, given or {}, self.given, "given=")
        outcome = [self._discrete(model, name) for name in self.outcome]
        for name in self.variables:
            self._discrete(model, name)
        # The value is the same for all states of other variables that are possible.
        others = sorted(self.expression.free - fixed.keys() - set(self.outcome), key=str)
        if others:
            fixed |= dict(model.most_probable({name: fixed[name] for name in self.do}, over=others))
        # With 0 and with 1 in place of what is divided by zero, which must make no difference.
        factors = [_factor(self.expression, model, fixed, log) for log in (-np.inf, 0.0)]
        logs = [align(factor.log_values, factor.scope, outcome)[0] for factor in factors]
        shape = [v.cardinality for v in outcome]
        values, with_ones = (np.broadcast_to(np.exp(each), shape) for each in logs)
        total = float(values.sum())
        is_same = np.allclose(values, with_ones, 0.0, _TOLERANCE)
        if not (abs(total - 1.0) <= _TOLERANCE and is_same):
            raise EvidenceError(
                f"The estimand has no value for {dict(fixed)!r}: it conditions on states that the "
                f"model gives probability zero (with 0 for 0 / 0 its probabilities sum to "
                f"{total:.6g}). Choose other states."
            )
        return Posterior(tuple(outcome), values / total, math.nan if self.given else 0.0)

    @staticmethod
    def _values(
        model: Model, states: Mapping[Name, Any], wanted: Sequence[Name], what: str
    ) -> dict[Name, Any]:
        """Return states by name; raise an error unless they are of the wanted variables."""
        states_by_name = read_values(model, states) if states else {}
        if set(states_by_name) != set(wanted):
            raise EvidenceError(
                f"{what} takes the states of {quoted(wanted) or 'no variables'}; got "
                f"{quoted(states_by_name) or 'none'}."
            )
        return states_by_name

    @staticmethod
    def _discrete(model: Model, name: Name) -> Discrete:
        """Return a variable of the model; raise an error unless it is discrete."""
        variable = model.variable(name)
        if not isinstance(variable, Discrete):
            raise UnsupportedModelError(
                f"An estimand is evaluated over discrete variables; {name!r} is not. Discretise "
                "it, or adjust for it by adjusted_effect."
            )
        return variable


# ----------------------- Identification of interventional distributions: the algorithms ID and IDC
# Shpitser and Pearl (2006), "Identification of joint interventional distributions in recursive
# semi-Markovian causal models" (ID, figure 3) and "Identification of conditional interventional
# distributions" (IDC, figure 2). Numbers in comments are the lines of ID.


@dataclass(frozen=True)
class _Distribution:
    """A distribution of some variables.

    Attributes
    ----------
    expression : Expression
    names : tuple of names
    graph : CausalGraph or None
        The graph of all variables, if the distribution is the observed one.
    """

    expression: Expression
    names: tuple[Name, ...]
    graph: CausalGraph | None = None

    def joint(self, names: tuple[Name, ...]) -> Expression:
        """Return the probability of some variables."""
        if self.graph is not None:
            return Conditional(names)
        return summed([name for name in self.names if name not in names], self.expression)

    def conditional(self, name: Name, before: tuple[Name, ...]) -> Expression:
        """Return the probability of a variable given others."""
        if self.graph is not None:
            return Conditional((name,), relevant(self.graph, name, before))
        return ratio(self.joint((*before, name)), self.joint(before))


def relevant(graph: CausalGraph, name: Name, before: tuple[Name, ...]) -> tuple[Name, ...]:
    """Return those of some variables on which a variable depends given the others.

    The argument `before` has the variables before `name` in a topological order.
    """
    reached = reachable(graph.dag, [name], set(before), {name, *before})
    return tuple(other for other in before if other in reached)


def _exchanged(
    graph: CausalGraph, y: set[Name], x: set[Name], z: set[Name]
) -> tuple[set[Name], set[Name]]:
    """Return the variables to set and to observe, as many set as the rules of do allow (IDC).

    Of P(y | do(x), z), each node of z that rule 2 allows moves from z to x.
    """
    for node in graph.in_order(z):
        # Rule 2: separated without the arcs into what is set and those out of the node.
        arcs = [*graph.dag.in_edges(x), *graph.dag.out_edges(node)]
        cut = nx.restricted_view(graph.dag, (), arcs)
        if d_separated(cut, y, node, x | z - {node}):
            return _exchanged(graph, y, x | {node}, z - {node})
    return x, z


def _id(
    y: set[Name], x: set[Name], p: _Distribution, graph: CausalGraph, order: Sequence[Name]
) -> Expression:
    """Return P(y | do(x)) in a distribution p of some variables of a graph.

    These are `order`, a topological one: an ancestral set of the nodes of the graph.
    """
    nodes, above = set(order), graph.parents
    # Nodes that are not above y are summed out.
    kept = nodes & ancestral_set(above, y)
    if x and kept != nodes:  # 2
        order = [name for name in order if name in kept]
        nodes, x, names = kept, x & kept, graph.in_order(kept)
        p = replace(p, expression=p.joint(names), names=names)
    if not x:  # 1
        return p.joint(graph.in_order(y))
    # Setting nodes that are above y only by way of x makes no difference.
    without_effect = nodes - x - ancestral_set(above, y, x)
    if without_effect:  # 3
        return _id(y, x | without_effect, p, graph, order)
    # P(nodes - x | do(x)) is the product of that of each district, all else set.
    districts = _districts(graph, nodes - x)
    if len(districts) > 1:  # 4
        terms = [_id(each, nodes - each, p, graph, order) for each in districts]
        return summed(graph.in_order(nodes - y - x), product(terms))
    (district,) = districts
    # The district, in the graph with x, that this one is in.
    larger = next(each for each in _districts(graph, nodes) if district <= each)
    if larger == nodes:  # 5
        raise _HedgeError(graph.in_order(nodes), graph.in_order(district))
    # The distribution of the district with all else set: each node given all nodes before it.
    chain = product(p.conditional(v, tuple(order[:i])) for i, v in enumerate(order) if v in larger)
    if larger == district:  # 6
        return summed(graph.in_order(district - y), chain)
    # What is set outside of the district acts on it only by the conditions in this product.
    smaller = graph.subgraph(larger)  # 7
    return _id(y, x & larger, _Distribution(chain, smaller.nodes), smaller, _order(smaller))


def _districts(graph: CausalGraph, nodes: set[Name]) -> list[set[Name]]:
    """Return the sets of nodes that confounded pairs of them connect (c-components), in order."""
    links: nx.Graph[Name] = nx.Graph()
    links.add_nodes_from(graph.in_order(nodes))
    links.add_edges_from(pair for pair in graph.confounded if nodes.issuperset(pair))
    return list(nx.connected_components(links))


def _order(graph: CausalGraph) -> list[Name]:
    """Return the observed nodes in a topological order."""
    return [node for node in topological_order(graph.dag) if not isinstance(node, Hidden)]


class _HedgeError(Exception):
    """The two sets of variables of a hedge."""


# --------- Causal graphs: arcs among observed variables, and pairs with an unobserved common cause


Names: TypeAlias = "Name | Collection[Name]"
Pair: TypeAlias = tuple[Name, Name]


@dataclass(frozen=True)
class Hidden:
    """The unobserved common cause of two variables, a node of a directed acyclic graph."""

    effects: Pair


@dataclass(frozen=True, init=False)
class CausalGraph(Drawn):
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
        hidden = nodes_of(dag, latent)
        nodes = [node for node in dag if node not in hidden and not isinstance(node, Hidden)]
        if not nodes:
            raise GraphError("All variables are latent; leave at least one of them observed.")
        observed = set(nodes)
        # Each node with the unobserved nodes that directed paths through such nodes lead to, and
        # the observed children of all these.
        through = {node: ancestral_set(dag.succ, [node], observed) for node in dag}
        below = {
            node: {child for parent in inner for child in dag.succ[parent]} & observed
            for node, inner in through.items()
        }
        arcs = [(a, b) for a in nodes for b in nodes if b in below[a]]
        confounded = {
            frozenset(pair)
            for node in dag
            # A latent variable with a latent parent is left out: the parent leads wherever it does.
            if node not in observed and observed.issuperset(dag.pred[node])
            for pair in combinations(below[node], 2)
        }
        pairs = [pair for pair in combinations(nodes, 2) if frozenset(pair) in confounded]
        return cls(arcs, pairs, nodes)

    @cached_property
    def dag(self) -> nx.DiGraph:
        """The directed acyclic graph in which each unobserved common cause is a `Hidden` node."""
        dag = build_dag(self.nodes, self.arcs)
        for pair in self.confounded:
            dag.add_edges_from((Hidden(pair), name) for name in pair)
        return nx.freeze(dag)

    @cached_property
    def parents(self) -> dict[Name, list[Name]]:
        """The observed parents of each node."""
        return {n: [p for p in self.dag.pred[n] if not isinstance(p, Hidden)] for n in self.nodes}

    def subgraph(self, nodes: Collection[Name]) -> CausalGraph:
        """Return the graph of some of the nodes, with the arcs and pairs among them."""
        kept = set(nodes)
        return CausalGraph(
            [arc for arc in self.arcs if kept.issuperset(arc)],
            [pair for pair in self.confounded if kept.issuperset(pair)],
            self.in_order(kept),
        )

    def in_order(self, nodes: Iterable[Name]) -> tuple[Name, ...]:
        """Return some of the nodes in the order of the graph."""
        chosen = set(nodes)
        return tuple(node for node in self.nodes if node in chosen)

    def small_first(self, sets: Iterable[Collection[Name]]) -> list[tuple[Name, ...]]:
        """Return sets of nodes, small ones first, those of a size in the order of the graph."""
        place = {name: i for i, name in enumerate(self.nodes)}
        ordered = map(self.in_order, sets)
        return sorted(ordered, key=lambda names: (len(names), [place[name] for name in names]))

    def named(self, names: Names) -> tuple[Name, ...]:
        """Return the nodes that an argument names, a name or a collection of names, in order.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        """
        return self.in_order(nodes_of(self.nodes, names))

    def disjoint(self, *groups: Names) -> list[set[Name]]:
        """Return the nodes that several arguments name, which must not overlap; see `named`.

        The first two must not be empty.
        """
        sets = [set(self.named(names)) for names in groups]
        if not all(sets[:2]):
            raise GraphError("Name at least one variable on each side; one of the sets is empty.")
        for a, b in combinations(sets, 2):
            if shared := a & b:
                raise GraphError(
                    f"The sets of variables must not overlap; {quoted(self.in_order(shared))} is "
                    "in more than one of them."
                )
        return sets

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

        Of several, it is the one nearest to x.

        Parameters
        ----------
        x, y : name or collection of names
        required, forbidden : name or collection of names
            Variables that the set must have and must not have.

        Returns
        -------
        tuple of names, or None if there is no such set
        """
        sets = self.separators(x, y, required=required, forbidden=forbidden, maximum=1)
        return sets[0] if sets else None

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
        left, right, needed = self.disjoint(x, y, required)
        refused = set(self.named(forbidden))
        if both := self.in_order(needed & refused):
            raise GraphError(f"{quoted(both)} is both in required= and in forbidden=.")
        allowed = set(self.nodes) - left - right - refused
        return minimal_separators(self, self.dag, left, right, needed, allowed, maximum)

    def local_independencies(self) -> list[Independence]:
        """Return a basis of the implied independencies: one statement for each node that has one.

        A node is independent of its non-descendants given its parents (the local Markov property);
        all other implied independencies follow from these (Pearl 1988, section 3.3).

        Raises
        ------
        GraphError
            For a graph with confounded pairs; `pairwise_independencies` works for those too.
        """
        _check_unconfounded(self, "pairwise_independencies() lists what it implies.")
        statements = []
        for node in self.nodes:
            parents = set(self.dag.pred[node])
            independent = set(self.nodes) - parents - ancestral_set(self.dag.succ, [node])
            if independent:
                statements.append(
                    Independence((node,), self.in_order(independent), self.in_order(parents))
                )
        return statements

    def pairwise_independencies(self, maximum: int | None = None) -> list[Independence]:
        """Return an independence for each pair of variables that some set separates.

        The set is a minimal separator, without descendants of both variables. In a graph without
        confounded pairs these are the pairs without an arc, and all other implied independencies
        follow for distributions in which pairwise independencies add up, such as Gaussians.

        Parameters
        ----------
        maximum : int, optional
            Number of independencies after which the search stops: a thousand variables have half a
            million pairs.
        """
        pairs = combinations(self.nodes, 2)
        separated = ((a, b, self.minimal_separator([a], [b])) for a, b in pairs)
        statements = (Independence((a,), (b,), z) for a, b, z in separated if z is not None)
        return list(islice(statements, maximum))

    def is_equivalent(self, other: CausalGraph) -> bool:
        """Tell whether two graphs imply the same independencies.

        They do if they have the same pairs with an arc, and the same arcs that meet head to head
        from variables without an arc between them (Verma and Pearl 1990).

        Raises
        ------
        GraphError
            For graphs with confounded pairs, or over different variables.
        """
        for graph in (self, other):
            _check_unconfounded(graph, "Compare what pairwise_independencies() gives.")
        if set(self.nodes) != set(other.nodes):
            raise GraphError(
                "Graphs over the same variables can be equivalent; these have different ones."
            )
        return structural_hamming_distance(self, other) == 0

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
        spoiled, cut = back_door(self.dag, x, y)
        allowed = set(self.nodes) - x - y - spoiled - set(self.named(forbidden))
        return minimal_separators(self, cut, x, y, set(), allowed, maximum)

    def is_adjustment_set(self, treatment: Names, outcome: Names, adjusted: Names) -> bool:
        """Tell whether adjusting for a set gives the effect; the set need not be minimal.

        See `adjustment_sets`.
        """
        x, y, z = self.disjoint(treatment, outcome, adjusted)
        spoiled, cut = back_door(self.dag, x, y)
        return z.isdisjoint(spoiled) and d_separated(cut, x, y, z)

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
        dag = self.dag

        def intercepts(z: set[Name]) -> bool:
            """Tell whether a set is on all causal paths."""
            return ancestral_set(dag.succ, x, z).isdisjoint(y)

        def largest(z: set[Name]) -> set[Name]:
            """Return the largest subset whose back-door paths to y the treatment blocks.

            The union of two such sets is another. A node with an open path is in none of them.
            When it is taken out, the arcs that leave it are not cut any more, and may open paths
            from the nodes that are left: so these are tested again.
            """
            cut = nx.restricted_view(dag, (), list(dag.out_edges(z)))
            opened = z & reachable(cut, y, x)
            return largest(z - opened) if opened else z

        # Candidates are the nodes to which no back-door path from the treatment is open.
        cut = nx.restricted_view(dag, (), list(dag.out_edges(x)))
        candidates = set(self.nodes) - y - reachable(cut, x, ()) - set(self.named(forbidden))
        sets: list[set[Name]] = []
        # Branches decide node by node whether it is in the set, and end where no set is left.
        branches: list[tuple[set[Name], set[Name]]] = [(set(), candidates)]
        # The first set may take a branch for each candidate.
        n_left = _BRANCHES_PER_SET * maximum + 2 * len(candidates)
        while branches and n_left and len(sets) < maximum:
            n_left -= 1
            required, among = branches.pop()
            among = largest(among)
            if not required <= among or not intercepts(among):
                continue
            if intercepts(required) and largest(required) == required:
                # A set that contains another one is not minimal.
                if not any(intercepts(largest(required - {node})) for node in required):
                    sets.append(required)
                continue
            node = self.in_order(among - required)[0]
            branches += [(required | {node}, among), (required, among - {node})]
        return self.small_first(sets)

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
            Number of instruments after which the search stops.

        Returns
        -------
        list of Instrument
            Pairs ``(variable, given)``, those with small sets first.
        """
        x, y = self.disjoint([treatment], [outcome])
        # Variables on or below a causal path, and both ends of it.
        below, cut = back_door(self.dag, x, y)
        spoiled = below | ancestral_set(self.dag.succ, y) | x
        instruments: list[Instrument] = []
        for node in self.nodes:
            if node in spoiled or len(instruments) >= maximum:
                continue
            allowed = set(self.nodes) - spoiled - {node}

            # Separators are searched for from the outcome on. If one cuts the instrument off from
            # the treatment, so do those further from the outcome, and the search stops there.
            def acts(separator: Iterable[Name], node: Name = node) -> bool:
                return not d_separated(self.dag, node, x, separator)

            n_left = maximum - len(instruments)
            sets = minimal_separators(self, cut, y, {node}, set(), allowed, n_left, acts)
            instruments += [Instrument(node, separator) for separator in sets]
        return sorted(instruments, key=lambda instrument: len(instrument.given))

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
        y, x, z = self.disjoint(outcome, do, given)
        observed = _Distribution(Conditional(self.nodes), self.nodes, self)
        order = _order(self)
        names = self.in_order(y), self.in_order(x), self.in_order(z)
        try:
            if not z:
                return Estimand(*names, _id(y, x, observed, self, order))
            acting, observing = _exchanged(self, y, x, z)
            joint = _id(y | observing, acting, observed, self, order)
        except _HedgeError as hedge:
            larger, smaller = hedge.args
            raise NotIdentifiableError(
                f"{_interventional(*names)} is not identifiable: {{{quoted(larger)}}} and "
                f"{{{quoted(smaller)}}} form a hedge, sets that unobserved common causes connect, "
                "so that models agree in all that is observed and differ in the answer. Observe "
                "one of these causes, or make an experiment.",
                (larger, smaller),
            ) from None
        # P(y, z | do(x)) / P(z | do(x)), the latter summed over y.
        return Estimand(*names, ratio(joint, summed(names[0], joint)) if observing else joint)

    def to_dag(self) -> list[Pair]:
        """Return arcs of a directed acyclic graph that fits every distribution of the variables.

        The parents of a variable are those variables before it, in a topological order, on which it
        depends given the others. A network with these arcs can be fitted to columns of observed
        variables, and evaluates estimands; the arcs say nothing about causes.
        """
        order = _order(self)
        return [
            (parent, name)
            for i, name in enumerate(order)
            for parent in relevant(self, name, tuple(order[:i]))
        ]


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


def _pairs(kind: str, pairs: Any) -> tuple[Pair, ...]:
    """Return the pairs of an argument as tuples."""
    tuples = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise GraphError(
                f"{kind}= takes pairs of names, or a network for arcs=; got {pair!r:.80}."
            )
        tuples.append((pair[0], pair[1]))
    return tuple(tuples)


def _sorted_pairs(pairs: Iterable[Pair], nodes: tuple[Name, ...]) -> tuple[Pair, ...]:
    """Return pairs whose names have the order of the nodes, after checking them."""
    place = {name: i for i, name in enumerate(nodes)}
    ordered: dict[Pair, None] = {}
    for a, b in pairs:
        for name in (a, b):
            if name not in place:
                raise unknown_variable(name, nodes, where=f"Pair {a!r}, {b!r}: the graph")
        pair = (a, b) if place[a] < place[b] else (b, a)
        if a == b or pair in ordered:
            raise GraphError(
                f"confounded= takes pairs of two variables, each once; got {(a, b)!r}."
            )
        ordered[pair] = None
    return tuple(ordered)
