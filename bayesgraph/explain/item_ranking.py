"""Ranking of the items of a vector of counts, such as words, by their log odds for each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesgraph.checks import whole_number
from bayesgraph.cpds import CPD
from bayesgraph.errors import DataError, EvidenceError, UnsupportedModelError, quoted
from bayesgraph.explain.contrast import Contrast
from bayesgraph.explain.results import signed
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.models.factor_graph import FactorGraph, Term
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.questions.estimators import question
from bayesgraph.variables import CountVector, Discrete, Name, State

_LONGEST_LINE = 96


@dataclass(frozen=True, eq=False, repr=False)
class TopItems(Mapping[State, Mapping[Name, float]]):
    """The items that raise the log odds of each class most: a mapping from class to items.

    Attributes
    ----------
    target : Discrete
    by_class : mapping from state to mapping from item to float
        For each class, a mapping from item to the change of the class's log odds by one occurrence
        of the item, in nats, in descending order.
    """

    target: Discrete
    by_class: Mapping[State, Mapping[Name, float]]

    def __getitem__(self, state: State) -> Mapping[Name, float]:
        return self.by_class[self.target.states[self.target.index(state)]]

    def __iter__(self) -> Iterator[State]:
        return iter(self.by_class)

    def __len__(self) -> int:
        return len(self.by_class)

    def __repr__(self) -> str:
        width = max(len(str(state)) for state in self.by_class)
        lines = [f"Items that speak most for each {self.target.name}, with their log odds"]
        for state, items in self.by_class.items():
            line = f"  {state!s:<{width}}"
            for item, value in items.items():
                part = f"  {item} {signed(value, 2)}"
                if len(line) + len(part) > _LONGEST_LINE and line.strip():
                    lines.append(line)
                    line = " " * (width + 2)
                line += part
            lines.append(line)
        return "\n".join(lines)


@question()
def top_items(
    model: Model, target: Name | None = None, n: int = 10, *, feature: Name | None = None
) -> TopItems:
    """Return the items whose single occurrence raises the log odds of each class most.

    The log odds compare a class with all others together. For a naive Bayes the change is the
    log of P(item | class) / P(item | not class), the weight of evidence of Good (1950).

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        The class variable, which is the only parent of the vector.
        By default the class of the estimator.
    n : int
        Number of items for each class.
    feature : name, optional
        Name of the vector of counts, if there are several.

    Raises
    ------
    DataError
        For `n` below 1, or several vectors and no `feature`.
    UnsupportedModelError
        If there is no vector of counts whose only parent is the class.
    """
    variable = model.variable(target)
    if not isinstance(variable, Discrete):
        raise EvidenceError(f"Log odds are of a discrete variable; {target!r} is not.")
    n = whole_number("n", "items", n, 1)
    vectors = _vectors(model, variable)
    if not vectors:
        raise UnsupportedModelError(
            f"There is no vector of counts whose only parent is {target!r}: take "
            "NaiveBayesClassifier('multinomial'), 'bernoulli', or ComplementNaiveBayesClassifier."
        )
    if feature is None and len(vectors) > 1:
        raise DataError(
            f"There are several vectors of counts: choose one of "
            f"{quoted(v.name for v in vectors)} with feature=."
        )
    chosen = next(iter(vectors)) if feature is None else model.variable(feature)
    if not (isinstance(chosen, CountVector) and chosen in vectors):
        known = quoted(v.name for v in vectors)
        raise DataError(f"feature= names a vector of counts, one of {known}; got {feature!r}.")
    prior, logs, found = _log_prior(model, variable), vectors[chosen].T, {}
    for code, state in enumerate(variable.states):
        # Change of the log odds by one occurrence of each item; ties in the order of the items.
        values = np.zeros(len(logs))
        if (n_states := variable.cardinality) > 1:
            other = 1 - code if n_states == 2 else None
            values = Contrast(variable, code, other).shift(prior, logs)
        values = np.where(np.isnan(values), -np.inf, values)
        order = np.argsort(-values, kind="stable")[:n].tolist()
        found[state] = {chosen.items[i]: float(values[i]) for i in order}
    return TopItems(variable, found)


def _vectors(model: Model, target: Discrete) -> dict[CountVector, Floats]:
    """Return how much one occurrence of an item adds to the log score of each class.

    The result maps each vector of counts whose only parent is the class variable to an array of
    shape (n_classes, n_items).
    """
    sources: Sequence[CPD | Term] = ()
    if isinstance(model, FactorGraph):
        sources = model.terms
    elif isinstance(model, BayesianNetwork):
        sources = model.cpds
    found: dict[CountVector, Floats] = {}
    for source in sources:
        child = source.scope[-1]
        if isinstance(child, CountVector) and source.scope == (target, child):
            logs = source.item_logs()
            if logs is not None:
                found[child] = found.get(child, 0.0) + logs
    return found


def _log_prior(model: Model, target: Discrete) -> Floats:
    if not isinstance(model, FactorGraph):
        return log_of(model.query(target.name).probabilities)
    nothing = Evidence(1, {})
    logs = np.zeros(target.cardinality)
    for term in model.terms:
        if term.scope == (target,):
            potential = term.potential(nothing)
            assert isinstance(potential, Factor)  # over a discrete variable alone
            logs = logs + potential.log_values[0]
    return logs
