"""Findings that may change, the values that each may take, and what a change costs.

Each finding that changes costs its weight, so that few findings change. A number costs, besides,
its weight times the share of its range that it moves (the distance of Gower 1971).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphError,
    EvidenceError,
    MemoryLimitError,
    UnsupportedModelError,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    Variable,
    is_missing,
    plain,
)
from bayesgraph.inference import NumberMixture
from bayesgraph.models import (
    Belief,
    Between,
    Model,
    as_mapping,
    is_soft,
    networks_in,
    scalar,
    with_findings,
)

# ---------------- Findings that may change, the values that each may take, and what a change costs


# Tail probability beyond which numbers are not proposed, and number of rows drawn for it.
_TAIL = 0.005
_DRAWS = 2000


@dataclass(frozen=True)
class Option:
    """A value that a finding may take.

    Attributes
    ----------
    value : state or number, as evidence takes it
    code : int or float
        As the model encodes it; -1 or NaN where it is not observed.
    cost : float
    """

    value: Any
    code: Any
    cost: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A finding that may change.

    Attributes
    ----------
    variable : Variable
    options : tuple of Option
        The first one keeps the finding as it is, at no cost; the others follow by cost.
    continuous : bool
        Whether values between those of the options are possible.
    whole : bool
        Whether a number takes whole numbers only: a count, and one whose finding is an int.
    weight, scale : float
        A number that moves by d costs ``weight + scale * d``; both are 0 where costs were given.
    """

    variable: Variable
    options: tuple[Option, ...]
    continuous: bool = False
    whole: bool = False
    weight: float = 0.0
    scale: float = 0.0

    @property
    def old(self) -> Option:
        """The option that keeps the finding."""
        return self.options[0]

    @cached_property
    def codes(self) -> NDArray[Any]:
        """Codes of all options, and of a missing value at the end, shape (n_options + 1,)."""
        missing = -1 if isinstance(self.variable, Discrete) else math.nan
        return np.array([*(option.code for option in self.options), missing])

    @cached_property
    def costs(self) -> Floats:
        """Costs of all options, shape (n_options,)."""
        return np.array([option.cost for option in self.options])


@dataclass(frozen=True, eq=False)
class Rules:
    """What may change, and what it costs; see `flip`.

    Attributes
    ----------
    costs : mapping from name to weight, or to a mapping from value to cost
    fixed, among : collection of names
        None as `among` means all findings.
    ranges : mapping from name to (low, high)
    n_values : int
        Number of values that are proposed for a continuous variable.
    """

    costs: Mapping[Name, Any]
    fixed: Collection[Name]
    among: Collection[Name] | None
    ranges: Mapping[Name, tuple[float, float]]
    n_values: int

    @classmethod
    def of(
        cls,
        model: Model,
        costs: Mapping[Name, Any] | None,
        fixed: Iterable[Name],
        among: Iterable[Name] | None,
        ranges: Mapping[Name, tuple[float, float]] | None,
        n_values: int,
    ) -> Rules:
        """Return rules about variables of a model, after checking their names."""
        lists = []
        for title, given in (("fixed", fixed), ("among", among)):
            if isinstance(given, str):
                raise EvidenceError(f"{title}= is a list of names; got {given!r}.")
            lists.append(None if given is None else {model.variable(n).name for n in given})
        return cls(
            {model.variable(name).name: cost for name, cost in (costs or {}).items()},
            lists[0] or set(),
            lists[1],
            {model.variable(name).name: ends for name, ends in (ranges or {}).items()},
            n_values,
        )

    def weight(self, name: Name) -> float:
        """Return the weight of a finding, which prices its changes."""
        given = self.costs.get(name, 1.0)
        if isinstance(given, Mapping):
            return 1.0
        try:
            weight = float(given)
        except (TypeError, ValueError):
            weight = math.nan
        if not weight >= 0:
            raise EvidenceError(
                f"A cost is a number, 0 or more, or a mapping from value to cost; {name!r} has "
                f"{given!r}."
            )
        return weight

    def prices(self, name: Name) -> Mapping[Any, float] | None:
        """Return the costs of single values, if they were given."""
        given = self.costs.get(name)
        if not isinstance(given, Mapping):
            return None
        for value, cost in given.items():
            if not isinstance(cost, (int, float)) or not cost >= 0:
                raise EvidenceError(
                    f"The cost of {name!r} = {value!r} is a number, 0 or more; got {cost!r}."
                )
        return given


def choices_of(
    model: Model, target: Discrete, evidence: EvidenceLike, rules: Rules
) -> list[Choice]:
    """Return the findings that may change, in the order of the model's variables.

    Intervals of numbers, soft evidence and vectors of counts stay as they are. The model is the one
    with findings (`with_findings`), and the evidence the one that the user gave.

    Raises
    ------
    EvidenceError
        For a `Belief`, a vector of counts or the target in `among`, or a number without a range.
    """
    given = {model.variable(name).name: scalar(v) for name, v in _values(model, evidence).items()}
    if beliefs := [name for name, value in given.items() if isinstance(value, Belief)]:
        raise EvidenceError(
            f"A Belief about {beliefs[0]!r} depends on all findings, so that it changes with them; "
            "give likelihoods."
        )
    seen = {name for name, value in given.items() if not is_missing(value)}
    names = seen if rules.among is None else rules.among
    found = []
    for variable in model.variables:
        name, value = variable.name, given.get(variable.name)
        named = rules.among is not None
        if name not in names or name in rules.fixed or name == target.name:
            if named and name == target.name and name in names:
                raise EvidenceError(f"{name!r} is the target, which no finding is about.")
            continue
        kind = _kind_that_stays(variable, value)
        if kind:
            if named:
                raise EvidenceError(f"{name!r} is {kind}, which does not change; leave it out.")
            continue
        choice = _choice(model, variable, None if is_missing(value) else value, rules)
        if len(choice.options) > 1:
            found.append(choice)
    return found


def _kind_that_stays(variable: Variable, value: Any) -> str:
    """Return what a finding that cannot change is; nothing if it can."""
    if isinstance(value, Between):
        return "in an interval"
    if is_soft(value):
        return "soft evidence"
    if isinstance(variable, MissingIndicator):
        return "an indicator of missing values"
    return "a vector of counts" if isinstance(variable, CountVector) else ""


def _values(model: Model, evidence: EvidenceLike) -> dict[Name, Any]:
    """Return the findings that name variables; items of vectors of counts are left out."""
    items = {n for names in model._items_among(as_mapping(evidence)).values() for n in names}
    return {name: value for name, value in as_mapping(evidence).items() if name not in items}


def _choice(model: Model, variable: Variable, value: Any, rules: Rules) -> Choice:
    """Return a finding with its options; a value of None is not observed yet."""
    name = variable.name
    weight, prices = rules.weight(name), rules.prices(name)
    is_number = isinstance(variable, (Binned, Continuous))
    if prices is not None:
        missing = -1 if isinstance(variable, Discrete) else math.nan
        old = Option(value, missing if value is None else variable.encode(value), 0.0)
        new = [Option(plain(v), variable.encode(v), float(c)) for v, c in prices.items()]
        return _sorted(variable, old, new)
    if is_number and not (isinstance(variable, Binned) and value is None):
        return _number_choice(model, variable, value, weight, rules)
    assert isinstance(variable, Discrete)  # others were left out before
    code = -1 if value is None else variable.encode(value)
    states = [Option(s, variable.encode(s), weight) for s in variable.states]
    return _sorted(variable, Option(value, code, 0.0), states)


def _sorted(variable: Variable, old: Option, new: Sequence[Option]) -> Choice:
    kept = [o for o in new if o.code != old.code and math.isfinite(o.cost)]
    return Choice(variable, (old, *sorted(kept, key=lambda o: o.cost)))


# ---------------------------------------------------------------------------------- numbers


def _number_choice(
    model: Model, variable: Variable, value: Any, weight: float, rules: Rules
) -> Choice:
    """Return the options of a number: one in each interval if it has any, else a grid."""
    assert isinstance(variable, (Binned, Continuous))
    cuts = variable.cuts if isinstance(variable, Binned) else None
    low, high = range_of(model, variable, cuts, rules)
    as_text = isinstance(value, str)
    if value is None:
        number, old = None, Option(None, math.nan, 0.0)
    else:
        code = variable.encode(value)
        number = _middle(variable, int(code)) if as_text else float(value)
        old = Option(value, code, 0.0)
        low, high = min(low, number), max(high, number)
    scale = weight / (high - low) if high > low else 0.0
    whole = _is_whole(variable, value, cuts)
    if cuts is not None:
        ends = pairwise([-math.inf, *cuts, math.inf])
        points = [
            _inside(a, b, number, (low, high), whole=whole)
            for a, b in ends
            if not (number is not None and a < number <= b)
        ]
    elif whole:
        points = _whole_grid(variable, low, high, rules.n_values)
    else:
        # Values from low to high, of few digits.
        step = (high - low) / max(rules.n_values - 1, 1)
        digits = 1 - math.floor(math.log10(step)) if step > 0 else 0
        values = np.unique(np.round(np.linspace(low, high, rules.n_values), digits))
        points = [float(v) for v in np.clip(values, low, high)]
    if variable.name in rules.ranges:
        points = [point for point in points if low <= point <= high]
    new = []
    for point in points:
        code = variable.encode(point)
        cost = weight + (0.0 if number is None else scale * abs(point - number))
        is_int = isinstance(variable, Count) or (isinstance(value, int) and point.is_integer())
        shown: Any = int(point) if is_int else point
        if as_text and isinstance(variable, Binned):
            shown = variable.states[int(code)]
        new.append(Option(shown, code, cost))
    found = _sorted(variable, old, new)
    # All whole numbers of a short range are proposed, so that none lies between them.
    is_continuous = cuts is None and not (whole and math.floor(high) - math.ceil(low) < len(points))
    return replace(found, continuous=is_continuous, whole=whole, weight=weight, scale=scale)


def _is_whole(variable: Variable, value: Any, cuts: Sequence[float] | None) -> bool:
    """Tell whether changes of a number are to whole numbers.

    A number says so that is given as an int, and one of intervals by a value and cut points like
    those of whole numbers: 3.0, between 2.5 and 4.
    """
    if isinstance(variable, Count) or isinstance(value, int):
        return True
    if cuts is None or not (isinstance(value, float) and value.is_integer()):
        return False
    return all((2.0 * cut).is_integer() for cut in cuts)


def range_of(
    model: Model, variable: Variable, cuts: Sequence[float] | None, rules: Rules
) -> tuple[float, float]:
    """Return the range of a number: the one given, that of its intervals, or that of the model."""
    name = variable.name
    if name in rules.ranges:
        try:
            low, high = map(float, rules.ranges[name])
        except (TypeError, ValueError):
            low = high = math.nan
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise EvidenceError(
                f"ranges= has pairs (low, high); {name!r} has {rules.ranges[name]!r}."
            )
        return low, high
    if cuts is not None:
        edges = Binned(name, cuts).edges
        return float(edges[0]), float(edges[-1])
    found = _of_model(model, variable)
    if found is None:
        raise EvidenceError(
            f"The model does not say which numbers {name!r} takes; give ranges={{{name!r}: (low, "
            "high)}, or hold it in fixed=."
        )
    return found


def _of_model(model: Model, variable: Variable) -> tuple[float, float] | None:
    """Return the central range of a continuous variable with nothing observed, if it is known."""
    if not model._is_joint:
        ranges = [
            _of_model(network, own)
            for _, network in networks_in(model)
            for own in network.variables
            if own.name == variable.name and isinstance(own, Continuous)
        ]
        known = [ends for ends in ranges if ends is not None]
        return (min(e[0] for e in known), max(e[1] for e in known)) if known else None
    try:
        found = model.query(variable.name)
        if isinstance(found, NumberMixture) and found.gaussian:
            return found.quantile(_TAIL), found.quantile(1.0 - _TAIL)
    except BayesGraphError:
        pass
    try:
        column = model.sample(_DRAWS, random_state=0, frame="dict")[variable.name]
    except (UnsupportedModelError, NotImplementedError):
        return None
    low, high = np.quantile(np.asarray(column, dtype=np.float64), [_TAIL, 1.0 - _TAIL])
    return float(low), float(high)


def _whole_grid(variable: Variable, low: float, high: float, n: int) -> list[float]:
    """Return whole numbers from low to high."""
    low, high = math.ceil(max(low, 0.0) if isinstance(variable, Count) else low), math.floor(high)
    return [float(v) for v in np.unique(np.linspace(low, high, n).round())]


def _middle(variable: Variable, code: int) -> float:
    assert isinstance(variable, Binned)  # only intervals are given by their texts
    edges = variable.edges
    return float(0.5 * (edges[code] + edges[code + 1]))


def _inside(
    low: float, high: float, number: float | None, ends: tuple[float, float], *, whole: bool
) -> float:
    """Return the number of an interval that is closest to another number, of few digits.

    Intervals are open below and closed above, so that there is no closest one above the number.
    With `whole` it is the closest whole number, if the interval has one.
    """
    if whole and number is not None:
        # No interval below the number is without an upper end, and none above it without a lower.
        point = float(math.floor(high) if number > high else math.floor(low) + 1)
        if low < point <= high:
            return point
    if number is not None and number > high:
        return high
    if math.isinf(low):
        return min(high, ends[0])
    width = min(high, max(ends[1], low + 0.1 * (ends[1] - ends[0]))) - low
    step = 10.0 ** (math.floor(math.log10(width)) - 1)
    point = float(round((math.floor(low / step) + 1) * step, 12))
    return point if low < point <= high else high if math.isfinite(high) else low + width


# ----------------------- Log scores of the states of a target for many changes of findings at once


# Options by choice, one row for each change: 0 keeps a finding, -1 takes it away.
Changes: TypeAlias = NDArray[np.intp]

# Rows that are asked at once.
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Scorer:
    """The posterior of a target for changes of findings.

    Attributes
    ----------
    model : Model
    target : Discrete
    fixed : Evidence
        One row: the findings that stay, and soft evidence.
    choices : tuple of Choice
    """

    model: Model
    target: Discrete
    fixed: Evidence
    choices: tuple[Choice, ...]

    @classmethod
    def of(cls, model: Model, target: Discrete, evidence: EvidenceLike, rules: Rules) -> Scorer:
        """Return the scorer for the findings that may change by some rules."""
        asked, known = with_findings(model, as_mapping(evidence))
        choices = tuple(choices_of(asked, target, evidence, rules))
        row = asked._encode(known).without([choice.variable for choice in choices])
        return cls(asked, target, row, choices)

    def __call__(self, changes: Changes) -> Floats:
        """Return log P(target, findings) up to a constant per row, shape (n_rows, n_states).

        Rows of impossible findings are minus infinity.
        """
        parts = [changes[start : start + _BLOCK] for start in range(0, len(changes), _BLOCK)]
        scores = [
            self.of_codes([c.codes[part[:, j]] for j, c in enumerate(self.choices)], len(part))
            for part in parts
        ]
        return np.concatenate([np.empty((0, self.target.cardinality)), *scores])

    def of_codes(self, columns: Sequence[NDArray[Any]], n_rows: int) -> Floats:
        """Return log scores as a call does, given the encoded column of each choice."""
        known = dict(self.fixed.rows(np.zeros(n_rows, dtype=np.intp)).columns)
        for choice, column in zip(self.choices, columns, strict=True):
            kind = np.intp if isinstance(choice.variable, Discrete) else np.float64
            known[choice.variable] = column.astype(kind)
        rows = Evidence(n_rows, known, self.fixed.likelihoods)
        return self.model._log_posterior_rows(self.target, rows)


# -------------------------------- Parts of the findings whose contributions to the log odds add up
# If the findings that may change fall into parts that are independent given the target and the
# findings that stay, then, with x_k for the findings of part k,
#
#     log P(c, x) = log P(c, stays) + sum_k log P(x_k | c, stays),
#
# so that each part is scored alone. The parts are the connected components of the moral graph of
# the ancestors of all findings and the target, without the target and what stays (Lauritzen, Dawid,
# Larsen and Leimer 1990). A weighted network raises the conditional of each observed feature given
# its observed parents to a power, which adds up in the same parts.


# Maximum number of joint options of the findings of one part.
_MAX_OPTIONS = 4096


@dataclass(frozen=True, eq=False)
class Part:
    """Findings that are scored together.

    Attributes
    ----------
    choices : tuple of int
        Indices of the choices.
    options : ndarray, shape (n_options, n_choices of the part)
        Options of the choices; the first row keeps all findings.
    costs : ndarray, shape (n_options,)
    logs : ndarray, shape (n_options, n_states)
        What the part adds to the log score of each state of the target.
    """

    choices: tuple[int, ...]
    options: Changes
    costs: Floats
    logs: Floats


def parts_of(scorer: Scorer) -> list[Part] | None:
    """Return the parts of which log scores are a sum; None if there is one only, or a large one."""
    changing, soft = [choice.variable for choice in scorer.choices], scorer.fixed.likelihoods
    known = {scorer.target, *scorer.fixed.columns}
    links = scorer.model._links(scorer.target, {*known, *changing}, soft)
    if links is None:
        return None
    graph: nx.Graph[Variable] = nx.Graph()
    graph.add_nodes_from(changing)
    for scope in links:
        # A variable with soft evidence may have any state, so that it joins what depends on it.
        nx.add_path(graph, [v for v in scope if v not in known])
    components = [nx.node_connected_component(graph, variable) for variable in changing]
    groups = {tuple(i for i, v in enumerate(changing) if v in own): None for own in components}
    sizes = [math.prod(len(scorer.choices[i].options) for i in group) for group in groups]
    if len(groups) < 2 or max(sizes) > _MAX_OPTIONS:
        return None
    try:
        prior = scorer(np.full((1, len(changing)), -1, dtype=np.intp))[0]
        return [_part(scorer, group, prior) for group in groups]
    except (UnsupportedModelError, MemoryLimitError):
        return None  # findings that cannot be summed out cannot be scored part by part


def _part(scorer: Scorer, group: tuple[int, ...], prior: Floats) -> Part:
    choices = [scorer.choices[i] for i in group]
    options = np.array(list(product(*(range(len(c.options)) for c in choices))), dtype=np.intp)
    costs = np.sum([c.costs[options[:, j]] for j, c in enumerate(choices)], axis=0)
    changes = np.full((len(options), len(scorer.choices)), -1, dtype=np.intp)
    changes[:, group] = options
    possible = np.isfinite(prior)
    logs = np.zeros((len(options), len(prior)))
    logs[:, possible] = scorer(changes)[:, possible] - prior[possible]
    return Part(group, options, costs, logs)
