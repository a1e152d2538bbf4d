"""Estimands: interventional distributions as expressions in observed probabilities.

An expression is a conditional probability, a product, a sum over states, or a ratio. It is made
simpler where that is free: a distribution that is summed over all states of its variable is 1, and
common terms of a ratio cancel. Evaluation asks a model for the conditional probabilities, and the
engine for sums of their products, as a factor graph.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.core import errors
from bayesgraph.core.arrays import log_of
from bayesgraph.core.variables import Discrete, Name
from bayesgraph.inference import Factor, Posterior, align
from bayesgraph.models import FactorGraph, Model, read_values

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
    left = list(over)
    if isinstance(expression, Sum) and set(left).isdisjoint(expression.over):
        left, expression = [*left, *expression.over], expression.body
    terms = list(terms_of(expression))
    while True:
        # In how many terms each variable is, and of how many it is a target.
        uses = Counter(name for term in terms for name in term.free)
        heads = Counter(
            name for term in terms if isinstance(term, Conditional) for name in term.targets
        )
        # A variable that is in one term only, as a target of a distribution, sums to one.
        while alone := [name for name in left if uses[name] == heads[name] == 1]:
            name = alone[0]
            place, own = next((i, term) for i, term in enumerate(terms) if name in term.free)
            assert isinstance(own, Conditional)
            rest = tuple(target for target in own.targets if target != name)
            terms[place : place + 1] = [Conditional(rest, own.given)] if rest else []
            uses.subtract([name] if rest else own.free)
            left.remove(name)
        inner = [term for term in terms if not term.free.isdisjoint(left)]
        outer = [term for term in terms if term.free.isdisjoint(left)]
        joined = _joined(inner)
        if len(joined) == len(inner):
            return product([*outer, Sum(tuple(left), product(inner))] if inner else outer)
        terms = [*outer, *joined]


def _joined(terms: Sequence[Expression]) -> list[Expression]:
    """Return terms in which P(b | a, c) P(a | c) is P(a, b | c), by the chain rule."""
    found = list(terms)
    places = {
        frozenset(term.given): place
        for place, term in reversed(list(enumerate(found)))
        if isinstance(term, Conditional)
    }
    for i, first in enumerate(found):
        j = places.get(first.free, -1)
        if isinstance(first, Conditional) and isinstance(then := found[j], Conditional) and j >= 0:
            both = Conditional((*first.targets, *then.targets), first.given)
            rest = [term for k, term in enumerate(found) if k not in (i, j)]
            return _joined([*rest[: min(i, j)], both, *rest[min(i, j) :]])
    return found


def ratio(top: Expression, bottom: Expression) -> Expression:
    """Return a ratio of expressions without the terms that both have."""
    above, under = list(terms_of(top)), list(terms_of(bottom))
    for term in list(under):
        if term in above:
            above.remove(term)
            under.remove(term)
    return Ratio(product(above), product(under)) if under else product(above)


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
        targets, given = (
            ", ".join(names[name] for name in group)
            for group in (expression.targets, expression.given)
        )
        return f"P({targets} | {given})" if given else f"P({targets})"
    if isinstance(expression, Ratio):
        top, bottom = (_text(part, names) for part in (expression.top, expression.bottom))
        return f"[{top}] / [{bottom}]"
    if isinstance(expression, Sum):
        own = dict(names)
        for name in expression.over:
            mark = str(name)
            while mark in names.values():
                mark += "'"
            own[name] = mark
        over = ", ".join(own[name] for name in expression.over)
        over = f"{{{over}}}" if len(expression.over) > 1 else over
        text = f"Σ_{over} {_text(expression.body, own)}"
        return f"[{text}]" if inside else text
    # Sums are written last, where they need no brackets.
    terms = sorted(expression.terms, key=lambda term: isinstance(term, Sum))
    last = len(terms) - 1
    return " ".join(_text(t, names, inside=i < last) for i, t in enumerate(terms)) or "1"


# ------------------------------------------------------------------------------ evaluation


def _factor(expression: Expression, model: Model, fixed: Mapping[Name, Any]) -> Factor:
    """Return an expression as a table over its free variables that are not fixed."""
    if isinstance(expression, Conditional):
        return _conditional(expression, model, fixed)
    if isinstance(expression, Ratio):
        return _factor(expression.top, model, fixed) / _factor(expression.bottom, model, fixed)
    over: tuple[Name, ...] = ()
    if isinstance(expression, Sum):
        over, expression = expression.over, expression.body
        fixed = {name: value for name, value in fixed.items() if name not in over}
    factors = [_factor(term, model, fixed) for term in terms_of(expression)]
    return _sum_of_product(factors, over)


def _sum_of_product(factors: Sequence[Factor], over: Collection[Name]) -> Factor:
    """Return the product of factors with some variables summed out, by the engine."""
    scale = sum(float(factor.log_values.sum()) for factor in factors if not factor.scope)
    tables = [factor for factor in factors if factor.scope]
    if not tables:
        return Factor.from_log((), np.full(1, scale))
    graph = FactorGraph(tables)
    kept = [v for v in graph.variables if isinstance(v, Discrete) and v.name not in over]
    shape = [v.cardinality for v in kept]
    try:
        if not kept:
            return Factor.from_log((), np.full(1, graph.log_partition + scale))
        found = graph.query([v.name for v in kept])
    except errors.ImpossibleEvidenceError:
        return Factor.from_log(kept, np.full((1, *shape), -np.inf))
    logs = log_of(found.probabilities).reshape(shape) + found.log_evidence + scale
    return Factor.from_log(kept, logs[None])


def _conditional(expression: Conditional, model: Model, fixed: Mapping[Name, Any]) -> Factor:
    """Return a conditional probability; 0 where the condition is impossible."""
    known = {name: fixed[name] for name in expression.given if name in fixed}
    given = [model.variable(name) for name in expression.given if name not in fixed]
    targets = [model.variable(name) for name in expression.targets]
    scope = [v for v in (*given, *targets) if isinstance(v, Discrete)]
    free = [v for v in scope if v in given or v.name not in fixed]
    try:
        found: Posterior = model.query([v.name for v in scope], known)
    except errors.ImpossibleEvidenceError:
        return Factor.from_log(free, np.full((1, *(v.cardinality for v in free)), -np.inf))
    joint = Factor.from_log(scope, log_of(found.probabilities)[None])
    if given:
        below = found.marginal(*(v.name for v in given)).probabilities
        joint = joint / Factor.from_log(scope[: len(given)], log_of(below)[None])
    logs = joint.log_values[0]
    chosen = tuple(slice(None) if v in free else v.index(fixed[v.name]) for v in scope)
    return Factor.from_log(free, logs[chosen][None])


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
        targets, set_, seen = (
            ", ".join(map(str, names)) for names in (self.outcome, self.do, self.given)
        )
        condition = ", ".join(part for part in (f"do({set_})", seen) if part)
        named = (*self.outcome, *self.do, *self.given, *self.expression.free)
        names = {name: str(name) for name in named}
        return f"P({targets} | {condition}) = {_text(self.expression, names)}"

    @property
    def variables(self) -> frozenset[Name]:
        """All variables of the expression, which a model must have to evaluate it."""
        expressions: list[Expression] = [self.expression]
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
        found = _factor(self.expression, model, fixed)
        logs = align(found.log_values, found.scope, outcome)[0]
        values = np.broadcast_to(np.exp(logs), [v.cardinality for v in outcome])
        total = float(values.sum())
        if not abs(total - 1.0) <= _TOLERANCE:
            raise errors.EvidenceError(
                f"The estimand has no value for {dict(fixed)!r}: it conditions on states that the "
                f"model gives probability zero (its probabilities sum to {total:.6g}). Choose "
                "other states."
            )
        return Posterior(tuple(outcome), values / total, math.nan if self.given else 0.0)

    @staticmethod
    def _values(
        model: Model, given: Mapping[Name, Any], wanted: Sequence[Name], what: str
    ) -> dict[Name, Any]:
        found = read_values(model, given) if given else {}
        if set(found) != set(wanted):
            raise errors.EvidenceError(
                f"{what} takes the states of {errors.quoted(wanted) or 'no variables'}; got "
                f"{errors.quoted(found) or 'none'}."
            )
        return found

    @staticmethod
    def _discrete(model: Model, name: Name) -> Discrete:
        variable = model.variable(name)
        if not isinstance(variable, Discrete):
            raise errors.UnsupportedModelError(
                f"An estimand is evaluated over discrete variables; {name!r} is not. Discretise "
                "it, or adjust for it by adjusted_effect."
            )
        return variable
