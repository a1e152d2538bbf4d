"""Structure learners, the arcs that they must and must not learn, and settings as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from inspect import signature
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.errors import DataError, DataTypeError, GraphError, quoted, unknown_variable
from bayesgraph.core.variables import Arc, Continuous, Count, Discrete, Name, Variable
from bayesgraph.graphs import build_dag, check_acyclic
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
        """Return the structure without the scored arcs from and to the variables named `leaves`.

        Arcs without a score, such as those from the class, remain.
        """
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
            build_dag(by_name, self.arcs)  # raises an error that names the arc given twice
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
        defaults = {n: p.default for n, p in _signature(self.learn).parameters.items()}
        chosen = {**defaults, **options}
        return all(chosen[name] in values for name, values in self.counts_ahead.items())


_signature = cache(signature)
# Structure learners by name of those modules that are imported: `fit.REGISTERED` has all.
REGISTERED: dict[str, LearnerCard] = {}
LearnerT = TypeVar("LearnerT", bound=Callable[..., Structure])


def learner(
    *, counts_ahead: bool | Mapping[str, Collection[Any]]
) -> Callable[[LearnerT], LearnerT]:
    """Return a decorator that registers a structure learner by its function name.

    `counts_ahead` is described in LearnerCard.
    """

    def register(function: LearnerT) -> LearnerT:
        REGISTERED[function.__name__] = LearnerCard(function, counts_ahead)
        return function

    return register


def card_of(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and the preset options of a registered learner; None if unregistered.

    `value` may be the learner, or a `functools.partial` of it with keyword arguments.
    """
    options: Mapping[str, Any] = {}
    if isinstance(value, partial) and not value.args:
        value, options = value.func, value.keywords
    return next(((n, options) for n, card in REGISTERED.items() if card.learn is value), None)


def counts_ahead(value: Any) -> bool:
    """Return whether a learner's requested statistics are known not to depend on the data.

    False for learners that are not registered.
    """
    card = card_of(value)
    return card is not None and REGISTERED[card[0]].counts_ahead_with(card[1])


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


def all_columns(source: CountSource) -> tuple[Variable, ...]:
    """Return the columns of a source, the class first if there is one."""
    return source.features if source.target is None else (source.target, *source.features)


def check_source(source: object, learner: str) -> None:
    """Raise a DataTypeError if a source is not a count source."""
    if not (hasattr(source, "pairs") and hasattr(source, "features")):
        raise DataTypeError(
            f"{learner} takes a count source; got {type(source).__name__}. Make one with "
            'bayesgraph.learning.count_source(table, target="...").'
        )


def below_class(
    target: Discrete | None, columns: tuple[Variable, ...], scores: Mapping[Arc, float]
) -> Structure:
    """Return the structure with the scored arcs, and `target` as a parent of all columns."""
    variables = columns if target is None else (target, *columns)
    star_arcs = [] if target is None else [(target.name, v.name) for v in columns]
    return Structure(variables, (*star_arcs, *scores), scores)


# ------------------------------------------------------ Required and forbidden arcs of a learner


@dataclass(frozen=True)
class ArcRules:
    """Arcs that a learned structure must contain, and arcs that it must not contain.

    Attributes
    ----------
    required, forbidden : tuple of (parent name, child name)
    """

    required: tuple[Arc, ...] = ()
    forbidden: tuple[Arc, ...] = ()

    @classmethod
    def of(
        cls,
        required: Iterable[Any] | None,
        forbidden: Iterable[Any] | None,
        names: Sequence[Any],
        tiers: Iterable[Any] | None = None,
    ) -> ArcRules:
        """Return rules from user-given arcs, after checking them.

        Parameters
        ----------
        required, forbidden : iterable of (parent name, child name), or None
        names : sequence
            Names that arcs may contain.
        tiers : iterable of tiers, optional
            Each is a name or an iterable of names; no arc leads from a tier to an earlier one.

        Raises
        ------
        GraphError
            If an entry is not a pair of two different names, an arc is both required and forbidden,
            a name is in two tiers, or the required arcs form a cycle.
        UnknownVariableError
            If an arc names a variable that is not in `names`. (Learners that augment naive Bayes
            leave the class out of `names`, as it is a parent of every feature already.)
        """
        if isinstance(tiers, str) or not isinstance(tiers, Iterable | None):
            raise GraphError(f"tiers= takes a list of tiers, each a list of names; got {tiers!r}.")
        earlier = list[Any]()
        against: set[Arc] = set()  # the arcs that lead from a tier to an earlier one
        for tier in () if tiers is None else tiers:
            # A name may itself be iterable: a text, or a tuple.
            is_name = isinstance(tier, str) or (isinstance(tier, Hashable) and tier in names)
            members = list(tier) if isinstance(tier, Iterable) and not is_name else [tier]
            for name in members:
                if name not in names:  # compared one by one: a list has no hash
                    raise unknown_variable(name, names, where="tiers=: the learner")
                if name in earlier or members.count(name) > 1:
                    raise GraphError(f"tiers= names {name!r} more than once.")
            against.update((late, early) for late in members for early in earlier)
            earlier += members
        kept_out = dict.fromkeys((*_arcs(forbidden, "forbidden", names), *against))
        rules = cls(_arcs(required, "required", names), tuple(kept_out))
        both = set(rules.required) & set(rules.forbidden)
        if both:
            parent, child = next(arc for arc in rules.required if arc in both)
            why = "against the tiers" if (parent, child) in against else "forbidden"
            raise GraphError(f"Arc {parent!r} -> {child!r} is both required and {why}; choose one.")
        if rules.required:
            check_acyclic(nx.DiGraph(list(rules.required)))
        return rules

    def admissible(self, columns: Sequence[Variable]) -> NDArray[np.bool_]:
        """Return a mask of the arcs that may occur, shape (d, d), parents along the first axis.

        Excluded are forbidden arcs, arcs from continuous to discrete columns, and all arcs of
        columns that are neither discrete nor continuous (counts, for example).

        Raises
        ------
        GraphError
            If a required arc is excluded.
        """
        # A parent's kind is at most that of the child: 0 for discrete, 1 for continuous columns.
        # The kind -1 of other columns admits neither parents nor children.
        kinds = np.array([_kind(v) for v in columns], dtype=np.int64)
        allowed = (kinds[:, None] >= 0) & (kinds[:, None] <= kinds)
        np.fill_diagonal(allowed, False)
        place = {v.name: i for i, v in enumerate(columns)}
        for parent, child in self.forbidden:
            allowed[place[parent], place[child]] = False
        for parent, child in self.required:
            if not allowed[place[parent], place[child]]:
                raise GraphError(
                    f"The required arc {parent!r} -> {child!r} cannot be: a discrete variable has "
                    "no continuous parent, and counts of many items have no parents but the class."
                )
        return allowed

    def check_parents(self, maximum: int) -> None:
        """Raise a GraphError if a variable is required to have more than `maximum` parents."""
        above: dict[Name, list[Name]] = {}
        for parent, child in self.required:
            above.setdefault(child, []).append(parent)
        for child, parents in above.items():
            if len(parents) > maximum:
                raise GraphError(
                    f"{child!r} is required to have the parents {quoted(parents)}; choose "
                    f"max_parents of {len(parents)} or more."
                )

    def forced(self, columns: Sequence[Variable]) -> NDArray[np.bool_]:
        """Return a mask of the required arcs, shape (d, d), parents along the first axis."""
        place = {v.name: i for i, v in enumerate(columns)}
        mask = np.zeros((len(columns), len(columns)), dtype=np.bool_)
        for parent, child in self.required:
            mask[place[parent], place[child]] = True
        return mask


def _kind(variable: Variable) -> int:
    """Return 0 for discrete variables, 1 for continuous ones, -1 for others, which take no arcs."""
    if isinstance(variable, Discrete):
        return 0
    return 1 if isinstance(variable, Continuous) and not isinstance(variable, Count) else -1


def _arcs(listed: Iterable[Any] | None, parameter: str, names: Sequence[Any]) -> tuple[Arc, ...]:
    """Return the distinct arcs that a parameter lists; raise an error unless they are of names."""
    arcs: dict[Arc, None] = {}
    allowed = set(names)
    if listed is not None and not isinstance(listed, Iterable):
        raise GraphError(f"{parameter}= takes (parent, child) pairs of names; got {listed!r}.")
    for arc in () if listed is None else listed:
        try:
            if isinstance(arc, str):
                raise TypeError("a string is not a pair")
            parent, child = arc
            hash((parent, child))  # a list has none, and is no name
        except (TypeError, ValueError) as error:
            raise GraphError(
                f"{parameter}= takes (parent, child) pairs of names; got {arc!r}."
            ) from error
        for end in (parent, child):
            if end not in allowed:
                raise unknown_variable(end, names, where=f"{parameter}=: the learner")
        if parent == child:
            raise GraphError(f"{parameter}= has an arc from {parent!r} to itself.")
        arcs[parent, child] = None
    return tuple(arcs)


def held(rules: Any) -> Any:
    """Return rules with lists in place of iterators, which only the first use would see."""
    return [held(rule) for rule in rules] if isinstance(rules, (Iterator, list)) else rules


# ------------------------- Settings of a fit as text, for the record of what a model was fitted on


# Characters of a text that are kept, and entries of a list.
_LONGEST, _ENTRIES = 60, 8


def changed_settings(function: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that are not as by default, in alphabetic order, each as text.

    Parameters
    ----------
    function : callable
        A class or a function, whose signature has the defaults.
    settings : mapping from str to object
        Parameters that the signature lacks count as changed unless they are None.
    """
    defaults = {p.name: p.default for p in _signature(function).parameters.values()}
    return {
        name: as_text(value)
        for name, value in sorted(settings.items())
        # Most settings have their defaults, which their texts tell in more time.
        if repr(value) != repr(default := defaults.get(name)) and as_text(value) != as_text(default)
    }


def as_text(value: Any) -> str:
    """Return the value of a setting as a short text, the same for the same setting."""
    if card := card_of(value):
        name, options = card
        listed = [f"{key}={as_text(option)}" for key, option in options.items()]
        return f"{name}({', '.join(listed)})" if listed else name
    if isinstance(value, nx.DiGraph):
        return f"a graph of {len(value)} nodes and {len(value.edges)} arcs"
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        entries = [f"{as_text(k)}: {as_text(v)}" for k, v in value.items()]
        return f"{{{_listed(entries)}}}"
    if isinstance(value, (set, frozenset)):
        # A set has no order.
        return f"{{{_listed(sorted(map(as_text, value)))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{_listed(list(map(as_text, value)))}]"
    named = callable(value) and hasattr(value, "__name__")
    text = value.__name__ if named else repr(value)
    if " at 0x" in text:  # the address of an object would differ each time
        text = type(value).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _listed(entries: list[str]) -> str:
    """Return the first entries separated by commas, and how many more there are."""
    more = len(entries) - _ENTRIES
    return ", ".join([*entries[:_ENTRIES], *([f"and {more} more"] if more > 0 else [])])
