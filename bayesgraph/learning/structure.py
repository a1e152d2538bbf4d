"""Structure learners: functions from a count source to a directed acyclic graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import networkx as nx

from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.core.variables import Arc, Discrete, Name, Variable
from bayesgraph.graphs import build_dag
from bayesgraph.statistics import CountSource, Smoothing, SmoothingLike


@dataclass(frozen=True)
class Structure:
    """A directed acyclic graph over variables, with the learner's scores of its arcs.

    Attributes
    ----------
    variables : tuple of Variable
        The class first, if there is one.
    arcs : tuple of (parent name, child name)
    scores : mapping from arc to float
        Scores of arcs, in nats per row; the learner defines what they measure.
    """

    variables: tuple[Variable, ...]
    arcs: tuple[Arc, ...]
    scores: Mapping[Arc, float] = field(default_factory=dict)

    def without_arcs(self, leaves: set[Name]) -> Structure:
        """Return the structure without the scored arcs from and to some variables."""
        cut = {arc for arc in self.scores if leaves & {*arc}}
        scores = {arc: score for arc, score in self.scores.items() if arc not in cut}
        return replace(self, arcs=tuple([a for a in self.arcs if a not in cut]), scores=scores)

    def parents(self) -> dict[Variable, list[Variable]]:
        """Return the parents of every variable, in the order of the arcs.

        Raises
        ------
        GraphError, UnknownVariableError
            If the arcs are invalid, see `graph`.
        """
        by_name = {v.name: v for v in self.variables}
        parents: dict[Variable, list[Variable]] = {v: [] for v in self.variables}
        try:
            for parent, child in self.arcs:
                parents[by_name[child]].append(by_name[parent])
        except (KeyError, TypeError, ValueError):
            build_dag(by_name, self.arcs)  # raises an error that says what is wrong
            raise
        if len(set(self.arcs)) < len(self.arcs):
            build_dag(by_name, self.arcs)
        return parents

    @property
    def graph(self) -> nx.DiGraph:
        """The directed graph over names of variables."""
        return build_dag([v.name for v in self.variables], self.arcs)


@dataclass(frozen=True)
class LearnerCard:
    """Record ("card") that describes a structure learner to estimators, files and the command line.

    Attributes
    ----------
    learn : callable
        Function from a count source and a smoothing to a Structure.
    counts_ahead : bool, or mapping from option to values
        Whether the statistics that the learner requests do not depend on the data, so that rows can
        be added to and removed from collected statistics. A mapping lists, for each option, the
        values for which this holds.
    """

    learn: Callable[..., Structure]
    counts_ahead: bool | Mapping[str, Collection[Any]]

    def counts_ahead_with(self, options: Mapping[str, Any]) -> bool:
        """Return whether the requested statistics are known ahead with given options.

        Options that are not given have their defaults.
        """
        if isinstance(self.counts_ahead, bool):
            return self.counts_ahead
        defaults = {n: p.default for n, p in inspect.signature(self.learn).parameters.items()}
        chosen = {**defaults, **options}
        return all(chosen[name] in values for name, values in self.counts_ahead.items())


# All structure learners by name; the decorator `learner` adds them.
LEARNERS: dict[str, LearnerCard] = {}
LearnerT = TypeVar("LearnerT", bound=Callable[..., Structure])


def learner(
    *, counts_ahead: bool | Mapping[str, Collection[Any]]
) -> Callable[[LearnerT], LearnerT]:
    """Return a decorator that registers a structure learner by its function name.

    `counts_ahead` is described in LearnerCard.
    """

    def register(function: LearnerT) -> LearnerT:
        LEARNERS[function.__name__] = LearnerCard(function, counts_ahead)
        return function

    return register


def card_of(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and the preset options of a registered learner; None if unregistered.

    `value` may be the learner, or a `functools.partial` of it with keyword arguments.
    """
    options: Mapping[str, Any] = {}
    if isinstance(value, partial) and not value.args:
        value, options = value.func, value.keywords
    return next(((n, options) for n, card in LEARNERS.items() if card.learn is value), None)


def counts_ahead(value: Any) -> bool:
    """Return whether a learner's requested statistics are known not to depend on the data.

    False for learners that are not registered.
    """
    card = card_of(value)
    return card is not None and LEARNERS[card[0]].counts_ahead_with(card[1])


@learner(counts_ahead=True)
def star(source: CountSource, smoothing: SmoothingLike = "dirichlet") -> Structure:
    """Return the naive Bayes structure: the class is the only parent of every feature.

    Requests no statistics, as those needed later depend on the distributions of the features.
    """
    target = target_of(source, "star")
    arcs = tuple((target.name, feature.name) for feature in source.features)
    return Structure((target, *source.features), arcs)


def learned_by(
    parameter: str, learner: Any, source: CountSource, smoothing: Smoothing
) -> Structure:
    """Return the structure that a user-given learner learns from a source.

    `parameter` is the name of the parameter that takes the learner, for the message.

    Raises
    ------
    DataTypeError
        If the learner does not return a Structure.
    """
    structure = learner(source, smoothing)
    if not isinstance(structure, Structure):
        raise DataTypeError(
            f"{parameter}= is a function from a count source and a Smoothing to a "
            f"bayesgraph.learning.Structure; {learner!r} returned {type(structure).__name__}."
        )
    return structure


def target_of(source: CountSource, learner: str) -> Discrete:
    """Return the class variable of a source.

    `learner` is the name of the learner, for the message.

    Raises
    ------
    DataTypeError
        If the source is not a count source.
    DataError
        If the source has no class.
    """
    check_source(source, learner)
    if source.target is None:
        raise DataError(f"{learner} needs to know the class: give the count source a target.")
    return source.target


def check_source(source: object, learner: str) -> None:
    """Raise a DataTypeError if a source is not a count source."""
    if not (hasattr(source, "pairs") and hasattr(source, "features")):
        raise DataTypeError(
            f"{learner} takes a count source; got {type(source).__name__}. Make one with "
            'bayesgraph.learning.count_source(table, target="...").'
        )


def below_class(
    given: Discrete | None, columns: tuple[Variable, ...], scores: Mapping[Arc, float]
) -> Structure:
    """Return the structure with the scored arcs, and `given` as a parent of all columns."""
    variables = columns if given is None else (given, *columns)
    star_arcs = [] if given is None else [(given.name, v.name) for v in columns]
    return Structure(variables, (*star_arcs, *scores), scores)
