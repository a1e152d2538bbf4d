"""The smallest change of findings that turns the answer of a model.

The answer is the most probable state of a discrete variable given the findings. Of all changes of
findings that lead to another answer, a flip is one of least cost: a counterfactual explanation
(Wachter, Mittelstadt and Russell 2018). It speaks of what the model says, not of what an
intervention would do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, islice, pairwise, product
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, check_share, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, rounded
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
    State,
    Variable,
    is_missing,
    plain,
)
from bayesgraph.inference import NumberMixture, Posterior, log_normalised, log_total
from bayesgraph.models import (
    Belief,
    Between,
    Model,
    as_mapping,
    impossible,
    is_soft,
    networks_in,
    scalar,
    with_findings,
)
from bayesgraph.questions.estimators import discrete_target, question

# ---------------- Findings that may change, the values that each may take, and what a change costs
# Each finding that changes costs its weight, so that few findings change. A number costs, besides,
# its weight times the share of its range that it moves (the distance of Gower 1971).


# Tail probability beyond which numbers are not proposed, and number of rows drawn to find the
# quantiles where there is no formula.
_TAIL = 0.005
_DRAWS = 2000
_NUMBERS = (int, float, np.number)


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
        Whether values between those of the options are possible: a grid does not have all numbers.
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


class Rules:
    """What may change, and what it costs; see `flip`.

    Attributes
    ----------
    weights : mapping from name to float
        What a change of a finding costs; it is 1 for names that are not in the mapping.
    prices : mapping from name to a mapping from value to cost
        Findings that change to these values only.
    fixed, among : set of names
        None as `among` means all findings.
    ranges : mapping from name to (low, high)
        Ranges of numbers that the user gave.
    n_values : int
        Number of values that are proposed for a number without intervals.
    """

    def __init__(
        self,
        model: Model,
        costs: Mapping[Name, Any] | None = None,
        fixed: Iterable[Name] = (),
        among: Iterable[Name] | None = None,
        ranges: Mapping[Name, tuple[float, float]] | None = None,
        n_values: int = 2,
    ) -> None:
        for title, names in (("fixed", fixed), ("among", among)):
            if isinstance(names, str):
                raise EvidenceError(f"{title}= is a list of names; got {names!r}.")
        costs = {model.variable(name).name: cost for name, cost in as_mapping(costs).items()}
        for name, cost in costs.items():
            for number in cost.values() if isinstance(cost, Mapping) else [cost]:
                if not (isinstance(number, _NUMBERS) and number >= 0):
                    raise EvidenceError(
                        "A cost is a number, 0 or more, or a mapping from value to such costs; "
                        f"that of {name!r} has {number!r}."
                    )
        ranges = {model.variable(name).name: ends for name, ends in (ranges or {}).items()}
        # Two finite numbers, the lower one first.
        for name, ends in ranges.items():
            finite = [end for end in ends if isinstance(end, _NUMBERS) and math.isfinite(end)]
            if not (len(finite) == len(ends) == 2 and finite[0] < finite[1]):
                raise EvidenceError(f"ranges= has pairs (low, high); {name!r} has {ends!r}.")
        self.prices = {n: cost for n, cost in costs.items() if isinstance(cost, Mapping)}
        self.weights: dict[Name, float]
        self.weights = {name: cost for name, cost in costs.items() if name not in self.prices}
        self.fixed = {model.variable(name).name for name in fixed}
        self.among = None if among is None else {model.variable(name).name for name in among}
        self.ranges = {n: (float(low), float(high)) for n, (low, high) in ranges.items()}
        self.n_values = n_values


def choices_of(
    model: Model, target: Discrete | None, evidence: EvidenceLike, rules: Rules
) -> list[Choice]:
    """Return the findings that may change, in the order of the model's variables.

    Intervals of numbers, soft evidence and vectors of counts stay as they are. The model is the one
    with findings (`with_findings`), and the evidence the one that the user gave.

    Raises
    ------
    EvidenceError
        For a `Belief`, a vector of counts or the target in `among`, or a number without a range.
    """
    # Items of vectors of counts that the evidence names, by the vector.
    by_vector = model._items_among(as_mapping(evidence))
    items_of_counts = {item for items in by_vector.values() for item in items}
    values = {
        model.variable(name).name: scalar(value)
        for name, value in as_mapping(evidence).items()
        if name not in items_of_counts
    }
    if beliefs := [name for name, value in values.items() if isinstance(value, Belief)]:
        raise EvidenceError(
            f"A Belief about {beliefs[0]!r} depends on all findings, so that it changes with them; "
            "give likelihoods."
        )
    is_named = rules.among is not None
    observed = {name for name, value in values.items() if not is_missing(value)}
    changing = (observed if rules.among is None else rules.among) - rules.fixed
    if target is not None and target.name in changing:
        if is_named:
            raise EvidenceError(f"{target.name!r} is the target, which no finding is about.")
        changing.remove(target.name)
    choices = []
    for variable in model.variables:
        name, value = variable.name, values.get(variable.name)
        if name not in changing:
            continue
        if kind := _kind_that_stays(variable, value):
            if is_named:
                raise EvidenceError(f"{name!r} is {kind}, which does not change; leave it out.")
            continue
        choice = _choice(model, variable, None if is_missing(value) else value, rules)
        if len(choice.options) > 1:  # besides that of keeping the finding
            choices.append(choice)
    return choices


def _kind_that_stays(variable: Variable, value: Any) -> str:
    """Return the kind of a finding that cannot change; empty if it can."""
    if isinstance(value, Between):
        return "in an interval"
    if is_soft(value):
        return "soft evidence"
    if isinstance(variable, MissingIndicator):
        return "an indicator of missing values"
    return "a vector of counts" if isinstance(variable, CountVector) else ""


def _choice(model: Model, variable: Variable, value: Any, rules: Rules) -> Choice:
    """Return a finding with its options; a value of None is not observed yet."""
    missing = -1 if isinstance(variable, Discrete) else math.nan
    old = Option(value, missing if value is None else variable.encode(value), 0.0)
    weight, prices = rules.weights.get(variable.name, 1.0), rules.prices.get(variable.name)
    if prices is not None:  # the user priced single values, and forbids all others
        priced = [Option(plain(v), variable.encode(v), float(cost)) for v, cost in prices.items()]
        return _by_cost(variable, old, priced)
    if isinstance(variable, Continuous) or (isinstance(variable, Binned) and value is not None):
        return _number_choice(model, variable, old, weight, rules)
    assert isinstance(variable, Discrete)  # others were left out before
    return _by_cost(variable, old, [Option(s, variable.encode(s), weight) for s in variable.states])


def _by_cost(variable: Variable, old: Option, options: Sequence[Option]) -> Choice:
    """Return the choice of the old option and others by cost.

    Those with an infinite cost are forbidden, and those with the code of the old one are no change.
    """
    new = [o for o in options if o.code != old.code and math.isfinite(o.cost)]
    return Choice(variable, (old, *sorted(new, key=lambda o: o.cost)))


# ---------------------------------------------------------------------------------- numbers


def _number_choice(
    model: Model, variable: Binned | Continuous, old: Option, weight: float, rules: Rules
) -> Choice:
    """Return a number with its options: one in each interval if it has any, else a grid."""
    cuts = variable.cuts if isinstance(variable, Binned) else None
    low, high = range_of(model, variable, rules)
    value = old.value
    old_number = texts = None
    if isinstance(variable, Binned) and isinstance(value, str):
        # Evidence has an interval by its text: its middle stands for it, and answers are texts.
        texts = variable.states
        # Interval i reaches from edge i to edge i + 1.
        old_number = float((variable.edges[int(old.code) : int(old.code) + 2] / 2).sum())
    elif value is not None:
        old_number = float(value)
    # The range with the old number in it; of a range that was given, the number may be outside.
    least, *_, most = sorted([low, high] if old_number is None else [low, high, old_number])
    # Cost of each unit that the number moves: to move by the whole range costs `weight`.
    scale = weight / (most - least) if most > least else 0.0
    is_given = variable.name in rules.ranges
    if not is_given:
        low, high = least, most
    whole = _is_whole(variable, value, cuts)
    if cuts is not None:
        # One in each interval but that of the old number.
        points = [
            _inside(a, b, old_number, (low, high), whole=whole)
            for a, b in pairwise([-math.inf, *cuts, math.inf])
            if old_number is None or not a < old_number <= b
        ]
    elif whole:
        # Whole numbers from low to high, those of a count from 0.
        first = math.ceil(max(low, 0.0) if isinstance(variable, Count) else low)
        points = np.unique(np.linspace(first, math.floor(high), rules.n_values).round()).tolist()
    else:
        # Values from low to high, rounded to two digits of the step between them.
        step = (high - low) / (rules.n_values - 1)
        digits = 1 - math.floor(math.log10(step)) if step > 0 else 0
        grid = np.unique(np.round(np.linspace(low, high, rules.n_values), digits))
        points = np.clip(grid, low, high).tolist()
    if is_given and cuts is not None:
        # Another number of an interval than the closest one may be in the range.
        points = np.unique(np.clip(points, low, high)).tolist()
    elif is_given:
        points = [point for point in points if low <= point <= high]
    options = []
    for point in points:
        code = variable.encode(point)
        cost = weight + (0.0 if old_number is None else scale * abs(point - old_number))
        # What is shown has the type of the finding: an int, or the text of an interval.
        is_int = isinstance(variable, Count) or (isinstance(value, int) and point.is_integer())
        shown: Any = int(point) if is_int else point
        if texts is not None:
            shown = texts[int(code)]
        options.append(Option(shown, code, cost))
    # All whole numbers of a short range are proposed, so that none lies between them.
    is_continuous = cuts is None and not (whole and math.floor(high) - math.ceil(low) < len(points))
    # A number outside of the range is not moved back towards itself, which would leave the range.
    is_continuous &= (low, high) == (least, most)
    choice = _by_cost(variable, old, options)
    return replace(choice, continuous=is_continuous, whole=whole, weight=weight, scale=scale)


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


def range_of(model: Model, variable: Variable, rules: Rules) -> tuple[float, float]:
    """Return the range of a number: the one given, that of its intervals, or that of the model."""
    if variable.name in rules.ranges:
        return rules.ranges[variable.name]
    if isinstance(variable, Binned):
        return float(variable.edges[0]), float(variable.edges[-1])
    ends = _central_range(model, variable)
    if ends is None:
        raise EvidenceError(
            f"The model does not say which numbers {variable.name!r} takes; give "
            f"ranges={{{variable.name!r}: (low, high)}}, or hold it in fixed=."
        )
    return ends


def _central_range(model: Model, variable: Variable) -> tuple[float, float] | None:
    """Return the central range of a continuous variable with nothing observed, if it is known.

    It leaves out the tails of probability `_TAIL` on both sides.
    """
    if not model._is_joint:
        # An average of posteriors is no joint distribution. Some of its networks may have the
        # number cut into intervals; the others know its range, or have None.
        ranges = [
            _central_range(network, member)
            for _, network in networks_in(model)
            for member in network.variables
            if member.name == variable.name and isinstance(member, Continuous)
        ]
        ends = [end for pair in ranges for end in pair or ()]
        return (min(ends), max(ends)) if ends else None
    # Mixtures of Gaussians have quantiles; otherwise, those of drawn rows are taken.
    with suppress(BayesGraphError):
        answer = model.query(variable.name)
        if isinstance(answer, NumberMixture) and answer.gaussian:
            return answer.quantile(_TAIL), answer.quantile(1.0 - _TAIL)
    try:
        column = model.sample(_DRAWS, random_state=0, frame="dict")[variable.name]
    except (UnsupportedModelError, NotImplementedError):
        return None
    low, high = np.quantile(np.asarray(column, dtype=np.float64), [_TAIL, 1.0 - _TAIL])
    return float(low), float(high)


def _inside(
    low: float, high: float, number: float | None, ends: tuple[float, float], *, whole: bool
) -> float:
    """Return the number of an interval that is closest to another number, of few digits.

    Intervals are open below and closed above, so that there is no closest one above the number.
    With `whole` it is the closest whole number, if the interval has one. The argument `ends` is the
    range of the number, for intervals without an end.
    """
    if whole and number is not None:
        # The interval lies below the number, and has an upper end, or above it, and has a lower.
        point = float(math.floor(high) if number > high else math.floor(low) + 1)
        if low < point <= high:
            return point
    if number is not None and number > high:  # the interval lies below the number
        return high
    if math.isinf(low):  # there is no old number, and any of the interval will do
        return min(high, ends[0])
    # An interval without an upper end is taken to reach a tenth of the range, or to its end.
    width = min(high, max(ends[1], low + 0.1 * (ends[1] - ends[0]))) - low
    # The first number above `low` that has two digits of the width.
    step = 10.0 ** (math.floor(math.log10(width)) - 1)
    point = float(round((math.floor(low / step) + 1) * step, 12))
    if low < point <= high:
        return point
    return high if math.isfinite(high) else low + width


# ----------------------- Log scores of the states of a target for many changes of findings at once


# Options by choice, one row for each change: 0 keeps a finding, -1 takes it away.
Changes: TypeAlias = NDArray[np.intp]


class Scorer:
    """The posterior of a target for changes of the findings that may change by some rules.

    Attributes
    ----------
    model : Model
        The one with findings; see `with_findings`.
    target : Discrete
    fixed : Evidence
        One row: the findings that stay, and soft evidence.
    choices : list of Choice
        The findings that may change; `Changes` have a column for each.
    indicators : mapping from Variable to Variable
        Of choices without a value, the indicators that a value says "no" to.
    """

    def __init__(
        self, model: Model, target: Discrete, evidence: EvidenceLike, rules: Rules
    ) -> None:
        self.target = target
        self.model, findings = with_findings(model, as_mapping(evidence))
        self.choices = choices_of(self.model, target, evidence, rules)
        changing = [choice.variable for choice in self.choices]
        self.fixed = self.model._encode(findings).without(changing)
        # An indicator that the findings name stays as they say.
        named = {target.name, *(getattr(key, "name", key) for key in findings)}
        missing = {choice.variable for choice in self.choices if is_missing(choice.old.value)}
        variables = self.model.variables
        pairs = [(variables[at], variables[i]) for at, i in self.model._indicators]
        self.indicators = {v: i for v, i in pairs if v in missing and i.name not in named}

    def __call__(self, changes: Changes) -> Floats:
        """Return log P(target, findings) up to a constant per row, shape (n_rows, n_states).

        Rows of impossible findings are minus infinity.
        """
        # Option -1 has the last code, that of a missing value.
        columns = [c.codes[changes[:, j]] for j, c in enumerate(self.choices)]
        return self.of_codes(columns, len(changes))

    def of_codes(self, columns: Sequence[NDArray[Any]], n_rows: int) -> Floats:
        """Return log scores as a call does, given the encoded column of each choice."""
        by_variable = dict(self.fixed.rows(np.zeros(n_rows, dtype=np.intp)).columns)
        for choice, column in zip(self.choices, columns, strict=True):
            dtype = np.intp if isinstance(choice.variable, Discrete) else np.float64
            by_variable[choice.variable] = column.astype(dtype)
            if (indicator := self.indicators.get(choice.variable)) is not None:
                observed = column >= 0 if dtype is np.intp else ~np.isnan(column)
                by_variable[indicator] = np.where(observed, 0, by_variable.get(indicator, -1))
        rows = Evidence(n_rows, by_variable, self.fixed.likelihoods)
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


def parts_of(scorer: Scorer) -> tuple[Floats, list[Part]] | None:
    """Return what log scores are a sum of: those of what stays, shape (n_states,), and the parts.

    It is None if there is one part only, or a large one, and if the model has no such sum, or
    cannot sum out findings.
    """
    changing, soft = [choice.variable for choice in scorer.choices], scorer.fixed.likelihoods
    # An indicator changes along with its choice.
    moving = scorer.indicators
    staying = {scorer.target, *scorer.fixed.columns} - set(moving.values())
    links = scorer.model._links(scorer.target, {*staying, *changing, *moving.values()}, soft)
    if links is None:
        return None
    graph: nx.Graph[Variable] = nx.Graph()
    graph.add_nodes_from(changing)
    graph.add_edges_from(moving.items())
    for scope in links:
        # A path connects all variables of a scope. A variable with soft evidence may have any
        # state, so that it joins what depends on it.
        nx.add_path(graph, [v for v in scope if v not in staying])
    components = [nx.node_connected_component(graph, variable) for variable in changing]
    # Indices of the choices of each component, once.
    groups = dict.fromkeys(tuple(i for i, v in enumerate(changing) if v in c) for c in components)
    sizes = [math.prod(len(scorer.choices[i].options) for i in group) for group in groups]
    if len(groups) < 2 or max(sizes) > _MAX_OPTIONS:
        return None
    try:
        # Option -1 takes a finding away: these are the scores given what stays alone.
        prior = scorer(np.full((1, len(changing)), -1, dtype=np.intp))[0]
        return prior, [_part(scorer, group, prior) for group in groups]
    except (UnsupportedModelError, MemoryLimitError):
        return None  # findings that cannot be summed out cannot be scored part by part


def _part(scorer: Scorer, group: tuple[int, ...], prior: Floats) -> Part:
    """Return the part of some choices, given the log scores without any finding that may change.

    States that the findings that stay exclude have log scores of minus infinity already; no part
    adds to them.
    """
    choices = [scorer.choices[i] for i in group]
    # All joint options of the group; all other findings are taken away.
    options = np.array(list(product(*(range(len(c.options)) for c in choices))), dtype=np.intp)
    costs = np.sum([c.costs[options[:, j]] for j, c in enumerate(choices)], axis=0)
    changes = np.full((len(options), len(scorer.choices)), -1, dtype=np.intp)
    changes[:, group] = options
    possible = np.isfinite(prior)
    logs = np.zeros((len(options), len(prior)))
    logs[:, possible] = scorer(changes)[:, possible] - prior[possible]
    return Part(group, options, costs, logs)


# -------------------------------------------------------------- The answers that a change leads to


# Log odds that count as equal: a state that ties with another one has not turned the answer.
_EPSILON = 1e-9
# What infinite log odds are cut to, so that sums of them are no inf - inf.
_MOST = 1e300


@dataclass(frozen=True)
class Goal:
    """The answer that a change shall lead to.

    Attributes
    ----------
    state : int
        Code of the state of the target.
    log_odds : float or None
        Minimum of the log odds of the state against all others together; None asks that it is more
        probable than each other state.
    """

    state: int
    log_odds: float | None = None

    @property
    def needed(self) -> float:
        """Log odds against each single other state without which the goal is not reached.

        The most probable state must beat ties by `_EPSILON`; a given minimum may be missed by it.
        """
        return _EPSILON if self.log_odds is None else self.log_odds - _EPSILON

    def margins(self, scores: Floats) -> Floats:
        """Return the log odds against each other state, shape (n_rows, n_states - 1).

        The argument has log scores of all states, shape (n_rows, n_states).
        Findings that exclude the state have minus infinity, and those that exclude another one
        infinity.
        """
        score, others = scores[..., [self.state]], np.delete(scores, self.state, axis=-1)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(score), -np.inf, score - others)

    def excess(self, margins: Floats) -> Floats:
        """Return log odds less those that are needed, shape (n_rows,); positive ones are flips."""
        # With two states there is one margin, which is the log odds against all others, too.
        if self.log_odds is None or margins.shape[-1] < 2:
            return np.asarray(margins.min(axis=-1, initial=np.inf) - self.needed)
        # Against all others together: log p / sum_i p_i, where the margins are log p / p_i.
        return np.asarray(-log_total(-np.maximum(margins, -_MOST)) - self.needed)


def _excess(goals: Sequence[Goal], scores: Floats) -> Floats:
    """Return the log odds beyond those needed, of the goal that has most; flips are positive."""
    return np.asarray(np.max([goal.excess(goal.margins(scores)) for goal in goals], axis=0))


# ---- Searches for the cheapest change: by bounds of parts that add up, or in the order of cost


# Costs that count as equal, relative to the larger one.
_SAME = 1e-9
# Deviation of log odds, relative to the largest ones, that counts as rounding.
_ROUNDING = 1e-9
# Number of prices of log odds for each alternative.
_N_PRICES = 64
# Numbers of changes that are asked for at once. Blocks double in size: a cheap flip takes few.
_FIRST_BLOCK, _LAST_BLOCK = 64, 4096


def _is_above(cost: Any, best: float) -> Any:
    """Tell which costs are above another one by more than rounding."""
    return cost > best + _SAME * max(1.0, best)


class Cheapest(NamedTuple):
    """The cheapest change that a search comes to.

    Attributes
    ----------
    change : ndarray of int, or None
        Options by choice; None if no change reaches the goal, or the search came to none.
    cost : float
        Infinite if there is no change.
    bound : float
        No change costs less, apart from rounding; infinite if no change reaches the goal.
    examined : int
        Number of changes, or of choices in the levels of the search, that were looked at.
    """

    change: NDArray[np.intp] | None
    cost: float
    bound: float
    examined: int


# Of the options of a part: costs, shape (n_options,), and gains in log odds against each other
# state, shape (n_options, n_alternatives).
_Options: TypeAlias = tuple[Floats, Floats]


def undominated(costs: Floats, gains: Floats) -> NDArray[np.intp]:
    """Return the options by cost, without those for which a cheaper one has all gains as high."""
    # The last key comes first: by cost, of equal costs the largest gains first.
    order = np.lexsort((-gains.sum(axis=1), costs))
    kept: list[int] = []
    for i in order.tolist():
        # An option with a gain of minus infinity rules the wanted answer out.
        if not np.isneginf(gains[i]).any() and not (gains[kept] >= gains[i]).all(axis=1).any():
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def _trial_prices(parts: Sequence[_Options]) -> Floats:
    """Return prices of log odds that a Lagrangean bound tries, shape (n_prices, n_alternatives).

    A row prices the log odds against one alternative, at a quantile of the costs per log odds that
    changes of single parts have: the best price is near one of these. The first row is 0.
    """
    # The first option of each part is its cheapest.
    extra_costs = np.concatenate([costs - costs[0] for costs, _ in parts])
    extra_gains = np.concatenate([gains - gains[0] for _, gains in parts])
    units = np.eye(extra_gains.shape[1])  # a unit vector for each alternative
    prices = [np.zeros((1, len(units)))]
    for gains, unit in zip(extra_gains.T, units, strict=True):
        rates = extra_costs[gains > 0] / gains[gains > 0]
        if len(rates):
            quantiles = np.quantile(rates, np.linspace(0.0, 1.0, _N_PRICES))
            prices.append(np.outer(quantiles, unit))
    return np.concatenate(prices)


def cheapest(
    parts: Sequence[_Options], margins: Floats, goal: Goal, most: float, effort: int
) -> Cheapest:
    """Return the cheapest option of each part so that the log odds, which add up, suffice.

    Part by part, all choices so far are extended by each option of the next part. Those are left
    out that must cost more than `most`, and, if there is a single alternative, those for which a
    cheaper choice has higher log odds (dynamic programming over undominated states; Kellerer,
    Pferschy and Pisinger 2004, section 11.5). What the other parts add costs at least, for any
    price of log odds, the price of what is lacking and the sum of the least cost less price times
    gain (Lagrangean relaxation, section 11.2). Of several cheapest answers the one with the highest
    log odds is returned.

    Parameters
    ----------
    parts : sequence of (costs, gains)
        By ascending cost, without dominated options.
    margins : ndarray, shape (n_alternatives,)
        Log odds without any of the findings that may change.
    goal : Goal
    most : float
        Cost of an answer that is known.
    effort : int
        Maximum number of choices of one level. Those of the highest lower bounds are left out
        beyond it, and the bound of the result is the least of theirs.

    Returns
    -------
    Cheapest
        Its change has options by part.
    """
    # What an impossible alternative adds: more than any sum of possible ones takes away.
    sizes = [np.abs(gains[np.isfinite(gains)]).max(initial=0.0) for _, gains in parts]
    certain = 1.0 + abs(goal.needed) + np.abs(margins[np.isfinite(margins)]).sum() + sum(sizes)
    parts = [(costs, np.minimum(gains, certain)) for costs, gains in parts]
    # Parts that change the odds most for their cost come first: they decide most. A part is a
    # stage; `turn` has the parts by stage.
    strengths = [np.ptp(gains, axis=0).max() / max(np.ptp(costs), _SAME) for costs, gains in parts]
    turn = np.argsort(-np.array(strengths), kind="stable").tolist()
    ordered = [parts[part] for part in turn]
    # What the parts from stage k on add to the log odds at most, and at each price the least of
    # their cost less price times gain.
    prices, most_gain = _trial_prices(parts), np.zeros((len(parts) + 1, len(margins)))
    least_net = np.zeros((len(parts) + 1, len(prices)))
    for k, (costs, gains) in reversed(list(enumerate(ordered))):
        most_gain[k] = most_gain[k + 1] + gains.max(axis=0)
        least_net[k] = least_net[k + 1] + (costs[:, None] - gains @ prices.T).min(axis=0)
    # Of all choices so far: costs (n_choices,) and log odds (n_choices, n_alternatives). Each level
    # has the choice of the level before that they extend, and by which option.
    cost, odds = np.zeros(1), np.minimum(margins, certain)[None]
    levels, bound, examined = [], math.inf, 0
    for k, (costs, gains) in enumerate(ordered, 1):
        # All pairs of a choice so far and an option of this part, the option running faster.
        before, option = np.divmod(np.arange(len(cost) * len(costs)), len(costs))
        cost, odds = cost[before] + costs[option], odds[before] + gains[option]
        examined += len(cost)
        lacking = goal.needed - odds
        # Lower bounds of what the other parts add to the cost, then of the whole cost.
        least = np.zeros(len(cost))
        for price, net in zip(prices, least_net[k], strict=True):
            np.maximum(least, lacking @ price + net, out=least)
        least += cost
        # Left out: choices that cannot come up to what is needed, or must cost more than `most`.
        rounding = _ROUNDING * (1.0 + np.abs(most_gain[k]))
        can_suffice = (lacking <= most_gain[k] + rounding).all(axis=1)
        kept = np.flatnonzero(can_suffice & ~_is_above(least, most))
        # By cost, of equal costs the highest log odds first.
        kept = kept[np.lexsort((-odds[kept].min(axis=1), cost[kept]))]
        if odds.shape[1] == 1:
            # Without those whose log odds are not above those of all cheaper ones.
            highest = np.maximum.accumulate(np.append(-np.inf, odds[kept, 0]))
            kept = kept[odds[kept, 0] > highest[:-1]]
        # The next part extends each choice by all of its options.
        n_kept = max(1, effort // len(ordered[k][0])) if k < len(ordered) else effort
        if len(kept) > n_kept:
            order = np.argsort(least[kept], kind="stable")
            bound = min(bound, float(least[kept[order[n_kept]]]))
            kept = kept[np.sort(order[:n_kept])]
        cost, odds = cost[kept], odds[kept]
        levels.append((before[kept], option[kept]))
    excess = goal.excess(odds)
    reached = np.flatnonzero(excess > 0)
    if not len(reached):
        return Cheapest(None, math.inf, min(bound, most), examined)
    lowest = float(cost[reached].min())
    # Of the choices that cost the least, the one with the highest log odds.
    alike = reached[~_is_above(cost[reached], lowest)]
    place = int(alike[np.argmax(excess[alike])])
    # Its options, from the last level back: each level has the place in the one before.
    options = np.zeros(len(turn), dtype=np.intp)
    for part, (before, option) in zip(reversed(turn), reversed(levels), strict=True):
        options[part], place = option[place], int(before[place])
    return Cheapest(options, lowest, min(lowest, bound), examined)


def in_order_of_cost(choices: Sequence[Choice]) -> Iterator[tuple[float, dict[int, int]]]:
    """Yield all changes by ascending cost, as (cost, mapping from choice to option).

    A change of the findings j_1 < j_2 < ..., ordered by their cheapest option, leads to up to three
    others: the next option of its last finding, the cheapest option of the next finding besides it,
    or in its place (Lawler 1972).
    """
    # Option 0 keeps a finding, and option 1 is the cheapest other one.
    order = sorted(range(len(choices)), key=lambda j: float(choices[j].costs[1]))
    costs = [choices[j].costs.tolist() for j in order]
    # Cost, number (equal costs come in the order in which they were met), what changes before the
    # last finding, the last finding's place in `order`, and its option.
    number = count()
    heap: list[tuple[float, int, dict[int, int], int, int]] = []
    if order:
        heap.append((costs[0][1], next(number), {}, 0, 1))
    while heap:
        cost, _, before, j, option = heappop(heap)
        change = {**before, order[j]: option}
        yield cost, change
        if option + 1 < len(costs[j]):
            next_option = cost - costs[j][option] + costs[j][option + 1]
            heappush(heap, (next_option, next(number), before, j, option + 1))
        if j + 1 < len(costs):
            besides = cost + costs[j + 1][1]
            heappush(heap, (besides, next(number), change, j + 1, 1))
            if option == 1:  # from the others the change in its place would be met again
                heappush(heap, (besides - costs[j][1], next(number), before, j + 1, 1))


def cheapest_in_order(scorer: Scorer, goals: Sequence[Goal], effort: int) -> Cheapest:
    """Return the cheapest change of any model, by asking for all changes in the order of cost.

    The argument `effort` is the maximum number of changes; all that cost less than the bound have
    then been asked for. If none of them reaches a goal, the change is one that was found greedily.
    """
    changes = in_order_of_cost(scorer.choices)
    # Number of changes so far, size of the next block, and cost of the last change.
    asked, size, last = 0, _FIRST_BLOCK, 0.0
    # Cost, excess and options of each change that reaches a goal, by ascending cost.
    reached: list[tuple[float, float, NDArray[np.intp]]] = []
    while block := list(islice(changes, min(size, effort - asked))):
        rows = np.zeros((len(block), len(scorer.choices)), dtype=np.intp)
        for row, (_, change) in zip(rows, block, strict=True):
            row[list(change)] = list(change.values())  # 0 elsewhere keeps a finding
        excess = _excess(goals, scorer(rows))
        flips = np.flatnonzero(excess > 0).tolist()
        reached += [(block[i][0], float(excess[i]), rows[i]) for i in flips]
        asked, size, last = asked + len(block), min(2 * size, _LAST_BLOCK), block[-1][0]
        # All changes that cost as little as the cheapest flip have been asked for.
        if reached and _is_above(last, reached[0][0]):
            break
    if not reached:
        if asked < effort or next(changes, None) is None:
            return Cheapest(None, math.inf, math.inf, asked)
        # The search was given up with no flip, though there may be one above the bound.
        return Cheapest(greedy(scorer, goals), math.inf, last, asked)
    cost = reached[0][0]
    alike = [flip for flip in reached if not _is_above(flip[0], cost)]
    return Cheapest(max(alike, key=lambda flip: flip[1])[2], cost, cost, asked)


def greedy(scorer: Scorer, goals: Sequence[Goal]) -> NDArray[np.intp] | None:
    """Return a change that was found step by step, without a promise of its cost; or None.

    It has the option of each choice, shape (n_choices,).

    Each step takes the option of a finding that raises the log odds most for its cost, or the
    cheapest that turns the answer. At the end, findings go back to cheaper options as far as the
    answer stays turned.
    """
    # Each step sets one finding to one of its options: arrays over all options of all findings.
    n_options = [len(choice.options) for choice in scorer.choices]
    finding = np.repeat(np.arange(len(n_options)), n_options)
    option = np.concatenate([np.arange(n) for n in n_options])
    costs = np.concatenate([choice.costs for choice in scorer.choices])
    # Where the options of each finding begin.
    starts = np.searchsorted(finding, np.arange(len(n_options)))
    # The option of each finding so far, and the excess of log odds that they reach.
    now = np.zeros(len(n_options), dtype=np.intp)
    value = float(_excess(goals, scorer(now[None]))[0])
    while True:
        # A row for each step from here.
        rows = np.repeat(now[None], len(costs), axis=0)
        rows[np.arange(len(costs)), finding] = option
        # What a step costs more than the option that its finding has now.
        extra = costs - costs[starts + now][finding]
        # Findings that have not changed, and at the end, with the answer turned, cheaper options.
        allowed = extra < 0 if value > 0 else now[finding] == 0
        excess = np.where(allowed, _excess(goals, scorer(rows)), -np.inf)
        turned = excess > 0
        if turned.any():
            step = int(np.argmin(np.where(turned, extra, np.inf)))
        elif value > 0:  # no cheaper option keeps the answer turned
            return now
        else:
            # The most log odds for each unit of cost; a step may cost nothing.
            with np.errstate(invalid="ignore"):
                step = int(np.argmax((excess - value) / np.maximum(extra, 1e-12)))
            if not excess[step] > value:
                return None
        now, value = rows[step], float(excess[step])


# --------- Lower bounds of the cost of changes of continuous numbers, which are more than any grid
# Where the log odds are a polynomial of the second degree in a number, as with Gaussian leaves,
# their maximum over a cell between two values is known. An answer that may take, in each cell, the
# cost of its closest end and the highest log odds against each other state is a relaxation: it
# costs no more than any change.


_CELLS = 512  # between the lowest and the highest value of a number


def _cells(part: Part, choice: Choice, goal: Goal) -> tuple[Floats, Floats] | None:
    """Return the cost of each cell of a number, and the highest log odds in it.

    They have shapes (n_cells,) and (n_cells, n_alternatives). The first cell is the value that the
    number has. The result is None if the log odds are no polynomial of the second degree.
    """
    # The last code is that of a missing value; the first one is of the old number.
    values, odds = choice.codes[:-1].astype(np.float64), goal.margins(part.logs)
    low, high, old = values.min(), values.max(), values[0]
    # The part is of this number alone. Some parabola passes through any three values: it takes a
    # fourth one to tell whether the log odds are one.
    is_known = len(part.choices) == 1 and np.isfinite(odds).all()
    if not is_known or np.isnan(old) or len(values) < 4 or high <= low:
        return None
    # Centred and scaled, so that the coefficients are well determined: c[d] has those of degree d,
    # one for each alternative.
    scaled = 2.0 * (values - low) / (high - low) - 1.0
    c = np.polynomial.polynomial.polyfit(scaled, odds, 2)
    rounding = _ROUNDING * max(1.0, float(np.abs(odds).max()))
    if np.abs(np.polynomial.polynomial.polyval(scaled, c).T - odds).max() > rounding:
        return None
    # The ends of the cells; the old value is one, so that costs grow from it to both sides.
    ends = np.unique(np.append(np.linspace(-1.0, 1.0, _CELLS + 1), scaled[0]))
    at_ends = np.polynomial.polynomial.polyval(ends, c).T
    # The vertex of each parabola that opens downwards; others are highest at an end of the cell.
    with np.errstate(divide="ignore", invalid="ignore"):
        peaks = np.where(c[2] < 0, -c[1] / (2.0 * c[2]), np.nan)
        heights = c[0] + c[1] * peaks + c[2] * peaks**2
    is_inside = (ends[:-1, None] < peaks) & (peaks < ends[1:, None])
    gains = np.where(is_inside, heights, np.maximum(at_ends[:-1], at_ends[1:])) + rounding
    # Distance of the old value to the closest end of each cell; half the range is one scaled unit.
    gap = np.maximum(0.0, np.maximum(ends[:-1] - scaled[0], scaled[0] - ends[1:]))
    costs = choice.weight + choice.scale * gap * 0.5 * (high - low)
    return np.append(0.0, costs), np.concatenate([odds[:1], gains])


# -------------------------------- The smallest change of findings that turns the answer of a model


# Number of values among which a number is moved back towards the old one, and of such rounds: each
# narrows the place where the answer turns to 1 / (_STEPS - 1).
_STEPS, _ROUNDS = 33, 3


@dataclass(frozen=True)
class Change:
    """One finding that changes.

    Attributes
    ----------
    name : name
    old : state or number
        None if it was not observed.
    new : state or number
    cost : float
    """

    name: Name
    old: Any
    new: Any
    cost: float


@dataclass(frozen=True, eq=False, repr=False)
class Flip(Displayed):
    """The smallest change of findings that was found to turn an answer.

    Attributes
    ----------
    target : name
    before, after : states
        The answers; `after` is None if there is no change.
    posterior_before, posterior_after : Posterior
    changes : tuple of Change
        By descending cost.
    cost : float
        Sum of the costs of the changes; infinite if there is no change.
    bound : float
        No change costs less; infinite if no change turns the answer.
    on_grid : bool
        Whether the bound is one for numbers on the grid of values alone.
    evidence : dict
        The findings after the change.
    examined : int
        Number of changes, or of parts of changes, that were examined.
    """

    target: Name
    before: State
    after: State | None
    posterior_before: Posterior
    posterior_after: Posterior
    changes: tuple[Change, ...]
    cost: float
    bound: float
    on_grid: bool
    evidence: Mapping[Name, Any]
    examined: int

    @property
    def found(self) -> bool:
        """Whether there is a change."""
        return self.after is not None

    @property
    def proved(self) -> bool:
        """Whether it is proved that no change costs less (or that there is none)."""
        return not self.on_grid and not _is_above(self.cost, self.bound)

    def _display(self) -> DisplayTable:
        p = self.posterior_before[self.before]
        if not self.found:
            why = "no change of these findings does"
            if math.isfinite(self.bound):
                why = f"none below {rounded(self.bound)}"
            return DisplayTable(
                f"No flip of {self.target} = {self.before!r} ({p:.4f}) was found",
                note=f"{why}; {self.examined:,} examined",
            )
        q = self.posterior_after[self.after]
        title = f"{self.target}: {self.before!r} ({p:.4f}) becomes {self.after!r} ({q:.4f}) if"
        rows = [
            (str(c.name), f"{plain(c.old)!r} → {plain(c.new)!r}", rounded(c.cost))
            for c in self.changes
        ]
        which = "no change to the proposed values" if self.on_grid else "no change"
        reason = f"; {which} costs less than {rounded(self.bound)}"
        if self.proved:
            reason = ": proved that no change costs less"
        note = f"cost {rounded(self.cost)}{reason}"
        return DisplayTable(title, rows, header=("finding", "change", "cost"), note=note)


@question()
def flip(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    to: State | None = None,
    *,
    at_least: float | None = None,
    costs: Mapping[Name, Any] | None = None,
    fixed: Iterable[Name] = (),
    among: Iterable[Name] | None = None,
    ranges: Mapping[Name, tuple[float, float]] | None = None,
    n_values: int = 64,
    effort: int = 50_000,
) -> Flip:
    """Return the smallest change of findings that turns the answer of the model.

    The answer is the most probable state of the target. A flip says which findings would have
    to be other ones for another answer, not what happens if they are changed from outside.

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        A discrete variable. By default the class of the estimator.
    evidence : mapping from name to value, optional
        As in `query`. Vectors of counts, soft evidence and intervals of numbers stay as they are.
        A number that is given as an int, such as 63, changes to whole numbers: write 63.0 for one
        of a measurement.
    to : state, optional
        The answer to reach; by default any other one.
    at_least : float, optional
        Probability that the state `to` shall have; by default it shall be the most probable.
    costs : mapping from name to cost, optional
        A number is the weight of the finding, 1 by default: each finding that changes costs its
        weight, and a number besides its weight times the share of its range that it moves. A
        mapping from value to cost prices single values, and forbids all others.
    fixed : list of names, optional
        Findings that stay.
    among : list of names, optional
        Findings that may change, by default all; names without a finding may get one.
    ranges : mapping from name to (low, high), optional
        Ranges of numbers; by default those of their intervals, or the central 99 % under the
        model.
    n_values : int
        Number of values that are proposed for a number without intervals. In the result it is
        moved back as far as the answer stays turned.
    effort : int
        Maximum number of changes to examine.

    Returns
    -------
    Flip
        With a lower bound of the cost of any change. If the findings fall into parts whose log
        odds add up (as in a naive Bayes), the search is exact for many findings; other models
        are asked for all changes in the order of their cost.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError
        For unknown names or states, invalid evidence or costs, a number without a range, and
        if the answer is `to` already.
    ImpossibleEvidenceError
        If the evidence has probability zero.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> spam = bg.Discrete("spam", ["no", "yes"])
    >>> free, name = bg.Discrete("free", ["no", "yes"]), bg.Discrete("name", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(spam, [0.75, 0.25]),
    ...     bg.TableCPD(free, [[0.9, 0.1], [0.4, 0.6]], parents=[spam]),
    ...     bg.TableCPD(name, [[0.2, 0.8], [0.5, 0.5]], parents=[spam]),
    ... ])
    >>> net.ask.flip("spam", {"free": "yes", "name": "yes"})
    spam: 'yes' (0.5556) becomes 'no' (0.9153) if
      finding        change  cost
      free     'yes' → 'no'     1
      cost 1: proved that no change costs less
    """
    variable = discrete_target(model, target, "A flip turns the answer about a")
    values = {getattr(key, "name", key): value for key, value in as_mapping(evidence).items()}
    if variable.name in values:
        raise EvidenceError(f"The evidence has {target!r}, whose answer is to turn; leave it out.")
    effort = whole_number("effort", "changes", effort, 1)
    n_values = whole_number("n_values", "values", n_values, 2)
    scorer = Scorer(model, variable, values, Rules(model, costs, fixed, among, ranges, n_values))
    start = scorer(np.zeros((1, len(scorer.choices)), dtype=np.intp))
    if np.isneginf(start.max()):
        raise impossible(evidence)
    before = int(np.argmax(start[0]))
    goals = _goals(variable, start, before, to, at_least)
    addends = parts_of(scorer)
    if addends is None:
        best = cheapest_in_order(scorer, goals, effort)
        on_grid = any(choice.continuous for choice in scorer.choices)
    else:
        best, on_grid = _of_parts(*addends, scorer, goals, effort)
    changes: list[Change] = []
    cost, after, final = math.inf, None, start
    if best.change is not None:
        changes = _moved_back(scorer, best.change, goals)
        values |= {change.name: change.new for change in changes}
        cost = math.fsum(change.cost for change in changes)
        asked, findings = with_findings(model, values)
        final = asked._log_posterior_rows(variable, asked._encode(findings))
        # The answer is the goal that is exceeded most.
        after = variable.states[max(goals, key=lambda goal: float(_excess([goal], final)[0])).state]
    return Flip(
        variable.name,
        variable.states[before],
        after,
        _posterior(variable, start),
        _posterior(variable, final),
        tuple(sorted(changes, key=lambda change: -change.cost)),
        cost,
        min(best.bound, cost),
        on_grid,
        values,
        best.examined,
    )


def _goals(
    target: Discrete, start: Floats, before: int, to: State | None, at_least: float | None
) -> list[Goal]:
    """Return the answers that would do: the state `to`, or all states but the code `before`.

    The argument `start` has the log scores given the findings as they are, shape (1, n_states).
    """
    if to is None:
        if at_least is not None:
            raise EvidenceError("at_least= is the probability of the state to=; name the state.")
        goals = [Goal(code) for code in range(target.cardinality) if code != before]
        if not goals:
            raise EvidenceError(f"{target.name!r} has one state only: its answer does not turn.")
        return goals
    code = target.index(to)
    log_odds = None
    if at_least is not None:
        check_share("at_least", at_least)
        log_odds = math.log(at_least) - math.log1p(-at_least)  # of p against 1 - p
    goal = Goal(code, log_odds)
    if _excess([goal], start)[0] > 0:
        wanted = "" if at_least is None else f", with a probability of {at_least} or more"
        raise EvidenceError(f"The answer is {to!r} already{wanted}; nothing has to change.")
    return [goal]


def _of_parts(
    prior: Floats, parts: Sequence[Part], scorer: Scorer, goals: Sequence[Goal], effort: int
) -> tuple[Cheapest, bool]:
    """Return the cheapest change if log scores are a sum, and whether its bound is on the grid.

    A change that was found greedily is the first to be beaten. If numbers are continuous, the bound
    is that of all numbers where the log odds are polynomials.
    """
    change, cost, examined = greedy(scorer, goals), math.inf, 0
    if change is not None:
        cost = math.fsum(c.costs[o] for c, o in zip(scorer.choices, change, strict=True))
    # Bounds for numbers on the grid, and for all numbers: the least over the goals.
    bound, relaxed, on_grid = cost, math.inf, False
    numbers = {i for i, choice in enumerate(scorer.choices) if choice.continuous}
    for goal in goals:
        margins = goal.margins(prior)
        options = [(part.costs, goal.margins(part.logs)) for part in parts]
        kept = [undominated(*part) for part in options]
        # What stays excludes this answer, or all options of a part do.
        if np.isneginf(margins).any() or not all(map(len, kept)):
            continue
        # Options by part, without those that a cheaper one beats.
        useful = [(c[rows], gains[rows]) for (c, gains), rows in zip(options, kept, strict=True)]
        best = cheapest(useful, margins, goal, cost, effort)
        bound, examined = min(bound, best.bound), examined + best.examined
        if best.change is not None and not _is_above(best.cost, cost):
            change, cost = np.zeros(len(scorer.choices), dtype=np.intp), best.cost
            # Back from the useful options of each part to its options, and to those of the choices.
            for part, rows, option in zip(parts, kept, best.change, strict=True):
                change[list(part.choices)] = part.options[rows[option]]
        # Cells take the place of the grid's values, if each part with a number has them.
        for k, part in enumerate(parts):
            if not numbers.isdisjoint(part.choices):
                cells = _cells(part, scorer.choices[part.choices[0]], goal)
                on_grid |= cells is None
                if cells is not None:
                    rows = undominated(*cells)
                    useful[k] = cells[0][rows], cells[1][rows]
        if numbers and not on_grid:
            relaxed = min(relaxed, cheapest(useful, margins, goal, cost, effort).bound)
    return Cheapest(change, cost, relaxed if numbers and not on_grid else bound, examined), on_grid


def _posterior(target: Discrete, scores: Floats) -> Posterior:
    return Posterior((target,), np.exp(log_normalised(scores.copy()))[0], math.nan)


def _moved_back(scorer: Scorer, change: NDArray[np.intp], goals: Sequence[Goal]) -> list[Change]:
    """Return the findings that change, given the option of each choice.

    Continuous numbers are moved back towards the old value as far as the answer stays turned, the
    most expensive first.
    """
    # The option of each choice so far; numbers that are moved get one of their own.
    now: list[Any] = [c.options[o] for c, o in zip(scorer.choices, change, strict=True)]

    def turns(j: int, values: Floats) -> NDArray[np.bool_]:
        """Tell which values of a number turn the answer, with all else as it is now."""
        columns = [np.repeat(np.asarray(option.code), len(values)) for option in now]
        columns[j] = values
        return np.asarray(_excess(goals, scorer.of_codes(columns, len(values))) > 0)

    for j in sorted(range(len(now)), key=lambda j: -now[j].cost):
        choice = scorer.choices[j]
        # Only a number that changes, was observed, and costs less if it moves less.
        if not (choice.continuous and change[j]) or choice.old.value is None or not choice.scale:
            continue
        old, new = float(choice.old.code), float(now[j].code)
        # The answer does not turn at `near`, or this is the old number, and turns at `far`.
        near, far = old, new
        for _ in range(_ROUNDS):
            points = np.linspace(near, far, _STEPS)
            if choice.whole:
                # np.unique sorts upwards; the points go from `near` to `far`.
                points = np.unique(points.round())[:: 1 if near <= far else -1]
            turned = turns(j, points)
            turned[-1] = True  # `far` does, though rounding may say otherwise
            first = int(np.argmax(turned))
            if not first:  # `near` itself turns the answer: there is nothing to narrow
                break
            near, far = float(points[first - 1]), float(points[first])
        value: float | int = int(far)
        if not choice.whole:
            # A number of few digits is taken instead if it moves by at most a thousandth more, not
            # beyond the new one, and turns the answer too.
            room = min(1e-3 * abs(far - old), abs(new - far))
            beyond = _just_beyond(far, old, room)
            values = np.array([beyond, far] if abs(beyond - far) <= room else [far])
            value = far = float(values[np.argmax(turns(j, values))])
        cost = choice.weight + choice.scale * abs(far - old)
        now[j] = replace(now[j], value=value, code=far, cost=cost)
    return [
        Change(choice.variable.name, choice.old.value, option.value, option.cost)
        for choice, option, moved in zip(scorer.choices, now, change, strict=True)
        if moved
    ]


def _just_beyond(number: float, old: float, room: float) -> float:
    """Return a number rounded away from the old one, to the first decimal place not above `room`.

    So it has few digits, and is not nearer to the old one.
    """
    digits = -math.floor(math.log10(room)) if room > 0 else 0
    scale, toward = 10.0**digits, math.copysign(1.0, number - old)
    return round(toward * math.ceil(toward * number * scale) / scale, max(digits, 0))
