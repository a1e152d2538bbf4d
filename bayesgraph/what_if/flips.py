"""The smallest change of findings that turns the answer of a model.

The answer is the most probable state of a discrete variable given the findings. Of all changes of
findings that lead to another answer, a flip is one of least cost: a counterfactual explanation
(Wachter, Mittelstadt and Russell 2018). It speaks of what the model says, not of what an
intervention would do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.checks import whole_number
from bayesgraph.display import Displayed, DisplayTable, rounded
from bayesgraph.errors import DataError, EvidenceError
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import Posterior
from bayesgraph.inference.normalise import log_normalised
from bayesgraph.models.evidence import as_mapping, impossible
from bayesgraph.models.findings import with_findings
from bayesgraph.models.model import Model
from bayesgraph.questions.estimators import question
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import Discrete, Name, State
from bayesgraph.what_if.blocks import Sum, as_sum
from bayesgraph.what_if.cells import relaxed_bound
from bayesgraph.what_if.options import Choice, Rules, choices_of
from bayesgraph.what_if.scores import Goal, Scorer
from bayesgraph.what_if.search import Found, cheapest_in_order, cheapest_sum, greedy, lines_of

# Values between which a number is moved back towards the old one, and how often.
_STEPS, _ROUNDS = 33, 3
_SAME = 1e-9


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
        if self.on_grid:
            return False
        return not self.cost > self.bound + _SAME * max(1.0, abs(self.bound))

    def _display(self) -> DisplayTable:
        p = self.posterior_before[self.before]
        if not self.found:
            sure = math.isinf(self.bound)
            why = (
                "no change of these findings does" if sure else f"none below {rounded(self.bound)}"
            )
            return DisplayTable(
                f"No flip of {self.target} = {self.before!r} ({p:.4f}) was found",
                note=f"{why}; {self.examined:,} examined",
            )
        q = self.posterior_after[self.after]
        title = f"{self.target}: {self.before!r} ({p:.4f}) becomes {self.after!r} ({q:.4f}) if"
        rows = [(str(c.name), f"{c.old!r} → {c.new!r}", rounded(c.cost)) for c in self.changes]
        if self.proved:
            note = f"cost {rounded(self.cost)}: proved that no change costs less"
        elif self.on_grid:
            note = f"cost {rounded(self.cost)}; no change to the proposed values costs less than "
            note += rounded(self.bound)
        else:
            note = f"cost {rounded(self.cost)}; no change costs less than {rounded(self.bound)}"
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
    variable = model.variable(target)
    if not isinstance(variable, Discrete):
        raise EvidenceError(f"A flip is one of a discrete answer; {target!r} is not discrete.")
    given = dict(as_mapping(evidence))
    if variable.name in given:
        raise EvidenceError(f"The evidence has {target!r}, whose answer is to turn; leave it out.")
    effort = whole_number("effort", "changes", effort, 1)
    n_values = whole_number("n_values", "values", n_values, 2)
    rules = Rules.of(model, costs, fixed, among, ranges, n_values)
    asked, known = with_findings(model, given)
    choices = tuple(choices_of(asked, variable, given, rules))
    fixed_row = asked.encode(known).without([choice.variable for choice in choices])
    scorer = Scorer(asked, variable, fixed_row, choices)
    start = scorer(np.zeros((1, len(choices)), dtype=np.intp))
    if np.isneginf(start.max()):
        raise impossible(evidence)
    before = int(np.argmax(start[0]))
    goals = _goals(variable, start, before, to, at_least)
    found, on_grid = _cheapest(scorer, goals, effort)
    return _result(model, scorer, given, (before, start), goals, found, on_grid=on_grid)


def _goals(
    target: Discrete, start: Floats, before: int, to: State | None, at_least: float | None
) -> list[Goal]:
    """Return the answers that would do."""
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
        if not 0 < at_least < 1:
            raise DataError(f"at_least is a probability between 0 and 1; got {at_least!r}.")
        log_odds = math.log(at_least) - math.log1p(-at_least)
    goal = Goal(code, log_odds)
    if goal.excess(start)[0] > 0:
        wanted = "" if at_least is None else f", with a probability of {at_least} or more"
        raise EvidenceError(f"The answer is {to!r} already{wanted}; nothing has to change.")
    return [goal]


def _cheapest(scorer: Scorer, goals: Sequence[Goal], effort: int) -> tuple[Found, bool]:
    """Return the cheapest change, and whether its bound is one on the grid of numbers alone."""
    continuous = any(choice.continuous for choice in scorer.choices)
    total = as_sum(scorer)
    bound = None
    if total is None:
        found = cheapest_in_order(scorer, lambda scores: _excess(goals, scores), effort)
    else:
        found, bound = _of_sum(total, scorer, goals, effort)
    if found.change is None and not math.isinf(found.bound):
        change = greedy(scorer, lambda scores: _excess(goals, scores))
        if change is not None:
            cost = sum(float(c.costs[o]) for c, o in zip(scorer.choices, change[0], strict=True))
            found = found._replace(change=change[0], cost=cost)
    if bound is not None:
        found = found._replace(bound=bound)
    return found, continuous and bound is None


def _of_sum(
    total: Sum, scorer: Scorer, goals: Sequence[Goal], effort: int
) -> tuple[Found, float | None]:
    """Return the cheapest change if log scores are a sum, and a bound for numbers off the grid."""
    continuous = any(choice.continuous for choice in scorer.choices)
    best = Found(None, math.inf, math.inf, 0)
    relaxed: float | None = math.inf
    for goal in goals:
        lines = lines_of(total, goal)
        if lines is None:
            continue
        options, found = cheapest_sum(lines, goal, effort)
        change = None
        if options is not None:
            change = np.zeros(len(scorer.choices), dtype=np.intp)
            for part, option in zip(total.parts, options, strict=True):
                change[list(part.choices)] = part.options[option]
        examined, bound = best.examined + found.examined, min(best.bound, found.bound)
        if change is not None and found.cost < best.cost - _SAME:
            best = Found(change, found.cost, bound, examined)
        best = best._replace(bound=bound, examined=examined)
        if continuous and relaxed is not None:
            low = relaxed_bound(lines, total.parts, scorer.choices, goal, effort)
            relaxed = None if low is None else min(relaxed, low)
    return best, (relaxed if continuous else None)


def _excess(goals: Sequence[Goal], scores: Floats) -> Floats:
    return np.asarray(np.max([goal.excess(scores) for goal in goals], axis=0))


def _result(
    model: Model,
    scorer: Scorer,
    given: Mapping[Name, Any],
    start: tuple[int, Floats],
    goals: Sequence[Goal],
    found: Found,
    *,
    on_grid: bool,
) -> Flip:
    target, (before, scores) = scorer.target, start
    values, changes, cost = dict(given), [], math.inf
    after, posterior = None, _posterior(target, scores)
    if found.change is not None:
        choices = _moved_back(scorer, found.change, goals)
        for choice in choices:
            old, new = choice.options
            changes.append(Change(choice.variable.name, old.value, new.value, new.cost))
            values[choice.variable.name] = new.value
        cost = math.fsum(change.cost for change in changes)
        asked, known = with_findings(model, values)
        final = asked.log_posterior_rows(target, asked.encode(known))
        after = target.states[max(goals, key=lambda goal: float(goal.excess(final)[0])).state]
        posterior = _posterior(target, final)
    return Flip(
        target.name,
        target.states[before],
        after,
        _posterior(target, scores),
        posterior,
        tuple(sorted(changes, key=lambda change: -change.cost)),
        cost,
        min(found.bound, cost) if after is not None else found.bound,
        on_grid,
        values,
        found.examined,
    )


def _posterior(target: Discrete, scores: Floats) -> Posterior:
    return Posterior((target,), np.exp(log_normalised(scores.copy()))[0], math.nan)


def _moved_back(scorer: Scorer, change: NDArray[np.intp], goals: Sequence[Goal]) -> list[Choice]:
    """Return the findings that change, with two options each, the old one and the new one.

    Continuous numbers are moved back towards the old value as far as the answer stays turned, the
    most expensive first.
    """
    now: list[Any] = [c.options[o] for c, o in zip(scorer.choices, change, strict=True)]

    def turns(j: int, values: Floats) -> NDArray[np.bool_]:
        """Tell which values of a number turn the answer, with all else as it is now."""
        columns = [np.repeat(np.asarray(option.code), len(values)) for option in now]
        columns[j] = values
        return np.asarray(_excess(goals, scorer.of_codes(columns, len(values))) > 0)

    for j in sorted(range(len(now)), key=lambda j: -now[j].cost):
        choice = scorer.choices[j]
        if not (choice.continuous and change[j]) or choice.old.value is None or not choice.scale:
            continue
        low, high = float(choice.old.code), float(now[j].code)
        for _ in range(_ROUNDS):
            points = np.linspace(low, high, _STEPS)
            if choice.whole:
                points = np.unique(points.round())[:: 1 if low <= high else -1]
            turned = turns(j, points)
            turned[-1] = True
            first = int(np.argmax(turned))
            if not first:
                break
            low, high = float(points[first - 1]), float(points[first])
        value: float | int = int(high)
        if not choice.whole:
            values = _rounded(float(choice.old.code), high, float(now[j].code))
            value = high = float(values[np.argmax(turns(j, values))])
        cost = choice.weight + choice.scale * abs(high - float(choice.old.code))
        now[j] = replace(now[j], value=value, code=high, cost=cost)
    return [
        replace(choice, options=(choice.old, option))
        for choice, option, moved in zip(scorer.choices, now, change, strict=True)
        if moved
    ]


def _rounded(old: float, value: float, most: float) -> Floats:
    """Return numbers just beyond a value, seen from the old one, of few digits; the value last.

    They move by at most a thousandth more, and not beyond `most`.
    """
    room = min(1e-3 * abs(value - old), abs(most - value))
    digits = -math.floor(math.log10(room)) if room > 0 else 0
    scale, toward = 10.0**digits, math.copysign(1.0, value - old)
    beyond = round(toward * math.ceil(toward * value * scale) / scale, max(digits, 0))
    return np.array([beyond, value] if abs(beyond - value) <= room else [value])
