"""The smallest change of findings that turns the answer of a model.

The answer is the most probable state of a discrete variable given the findings. Of all changes of
findings that lead to another answer, a flip is one of least cost: a counterfactual explanation
(Wachter, Mittelstadt and Russell 2018). It speaks of what the model says, not of what an
intervention would do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Discrete, Name, State
from bayesgraph.inference import Posterior, log_normalised, log_total
from bayesgraph.models import Model, as_mapping, impossible, with_findings
from bayesgraph.questions.estimators import discrete_target, question
from bayesgraph.questions.flip_options import (
    Choice,
    Part,
    Rules,
    Scorer,
    parts_of,
)

# -------------------------------------------------------------- The answers that a change leads to


# Log odds that count as equal: a state that ties with another one has not turned the answer.
_EPSILON = 1e-9
# Log odds that are infinite for sums.
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
        """Log odds against each single other state without which the goal is not reached."""
        return _EPSILON if self.log_odds is None else self.log_odds - _EPSILON

    def margins(self, scores: Floats) -> Floats:
        """Return the log odds against each other state, shape (n_rows, n_states - 1).

        Findings that exclude the state have minus infinity, and those that exclude another one
        infinity.
        """
        own, others = scores[..., [self.state]], np.delete(scores, self.state, axis=-1)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(np.isneginf(own), -np.inf, own - others))

    def excess(self, margins: Floats) -> Floats:
        """Return by how much log odds exceed what is needed; positive values are flips."""
        if self.log_odds is None or margins.shape[-1] < 2:
            return np.asarray(margins.min(axis=-1, initial=np.inf) - self.needed)
        return np.asarray(-log_total(-np.maximum(margins, -_MOST)) - self.needed)


def _excess(goals: Sequence[Goal], scores: Floats) -> Floats:
    return np.asarray(np.max([goal.excess(goal.margins(scores)) for goal in goals], axis=0))


# ---- Searches for the cheapest change: by bounds of parts that add up, or in the order of cost


# Costs that count as equal, relative to the larger one.
_SAME = 1e-9
# Deviation of log odds, relative to the largest ones, that counts as rounding.
_ROUNDING = 1e-9
# Number of prices of log odds for each alternative.
_N_PRICES = 64
_FIRST_BLOCK, _LAST_BLOCK = 64, 4096


def _is_above(cost: Any, best: float) -> Any:
    return cost > best + _SAME * max(1.0, best)


class Found(NamedTuple):
    """The cheapest change that was found.

    Attributes
    ----------
    change : ndarray of int, or None
        Options by choice; None if no change reaches the goal, or none was found.
    cost : float
        Infinite if there is no change.
    bound : float
        No change costs less, apart from rounding; infinite if no change reaches the goal.
    examined : int
    """

    change: NDArray[np.intp] | None
    cost: float
    bound: float
    examined: int


# Costs and gains in log odds against each other state, of the options of a part.
_Options: TypeAlias = tuple[Floats, Floats]


def undominated(costs: Floats, gains: Floats) -> NDArray[np.intp]:
    """Return the options by cost, without those for which a cheaper one has all gains as high."""
    order = np.lexsort((-gains.sum(axis=1), costs))
    kept: list[int] = []
    for i in order.tolist():
        if not np.isneginf(gains[i]).any() and not (gains[kept] >= gains[i]).all(axis=1).any():
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def _prices(parts: Sequence[_Options]) -> Floats:
    """Return prices of log odds, of one alternative each, shape (n_prices, n_alternatives)."""
    costs = np.concatenate([costs - costs[0] for costs, _ in parts])
    gains = np.concatenate([gains - gains[0] for _, gains in parts])
    unit, prices = np.eye(gains.shape[1]), []
    for gain, axis in zip(gains.T, unit, strict=True):
        rates = costs[gain > 0] / gain[gain > 0]
        if len(rates):
            prices.append(np.quantile(rates, np.linspace(0.0, 1.0, _N_PRICES))[:, None] * axis)
    return np.concatenate([np.zeros((1, len(unit))), *prices])


def cheapest(
    parts: Sequence[_Options], margins: Floats, goal: Goal, most: float, effort: int
) -> tuple[list[int] | None, Found]:
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
    list of int or None, Found
        The latter without the change.
    """
    # What an impossible alternative adds: more than any sum of possible ones takes away.
    sizes = [np.abs(gains[np.isfinite(gains)]).max(initial=0.0) for _, gains in parts]
    certain = 1.0 + abs(goal.needed) + np.abs(margins[np.isfinite(margins)]).sum() + sum(sizes)
    parts = [(costs, np.minimum(gains, certain)) for costs, gains in parts]
    # Parts that change the odds most for their cost come first: they decide most.
    strengths = [np.ptp(gains, axis=0).max() / max(np.ptp(costs), _SAME) for costs, gains in parts]
    turn = np.argsort(-np.array(strengths), kind="stable").tolist()
    prices, top = _prices(parts), np.zeros((len(parts) + 1, len(margins)))
    rest = np.zeros((len(parts) + 1, len(prices)))
    for k in reversed(range(len(parts))):
        costs, gains = parts[turn[k]]
        top[k] = top[k + 1] + gains.max(axis=0)
        rest[k] = rest[k + 1] + (costs[:, None] - gains @ prices.T).min(axis=0)
    cost, odds = np.zeros(1), np.minimum(margins, certain)[None]
    levels, bound, examined = [], math.inf, 0
    for k, part in enumerate(turn, 1):
        costs, gains = parts[part]
        before, option = np.divmod(np.arange(len(cost) * len(costs)), len(costs))
        cost, odds = cost[before] + costs[option], odds[before] + gains[option]
        examined += len(cost)
        lacking = goal.needed - odds
        least = np.zeros(len(cost))
        for price, saved in zip(prices, rest[k], strict=True):
            np.maximum(least, lacking @ price + saved, out=least)
        least += cost
        is_open = ~(lacking > top[k] + _ROUNDING * (1.0 + np.abs(top[k]))).any(axis=1)
        kept = np.flatnonzero(is_open & ~_is_above(least, most))
        kept = kept[np.lexsort((-odds[kept].min(axis=1), cost[kept]))]
        if odds.shape[1] == 1:
            highest = np.maximum.accumulate(np.append(-np.inf, odds[kept, 0]))
            kept = kept[odds[kept, 0] > highest[:-1]]
        n_next = max(1, effort // len(parts[turn[k]][0])) if k < len(turn) else effort
        if len(kept) > n_next:
            order = np.argsort(least[kept], kind="stable")
            bound = min(bound, float(least[kept[order[n_next]]]))
            kept = kept[np.sort(order[:n_next])]
        cost, odds = cost[kept], odds[kept]
        levels.append((before[kept], option[kept]))
    excess = goal.excess(odds)
    reached = np.flatnonzero(excess > 0)
    if not len(reached):
        return None, Found(None, math.inf, min(bound, most), examined)
    first = float(cost[reached].min())
    same = reached[~_is_above(cost[reached], first)]
    at = int(same[np.argmax(excess[same])])
    options = [0] * len(turn)
    for part, (previous, chosen) in zip(reversed(turn), reversed(levels), strict=True):
        options[part], at = int(chosen[at]), int(previous[at])
    return options, Found(None, first, min(first, bound), examined)


def in_order_of_cost(choices: Sequence[Choice]) -> Iterator[tuple[float, dict[int, int]]]:
    """Yield all changes by ascending cost, as (cost, mapping from choice to option).

    A change of the findings j_1 < j_2 < ..., ordered by their cheapest option, leads to up to three
    others: the next option of its last finding, the cheapest option of the next finding besides it,
    or in its place (Lawler 1972).
    """
    order = sorted(range(len(choices)), key=lambda j: float(choices[j].costs[1]))
    costs = [choices[j].costs.tolist() for j in order]
    number = count()
    # Cost, number, what changes before the last finding, the last finding and its option.
    heap: list[tuple[float, int, dict[int, int], int, int]] = []
    if order:
        heap.append((costs[0][1], next(number), {}, 0, 1))
    while heap:
        cost, _, before, j, option = heappop(heap)
        change = {**before, order[j]: option}
        yield cost, change
        if option + 1 < len(costs[j]):
            more = cost - costs[j][option] + costs[j][option + 1]
            heappush(heap, (more, next(number), before, j, option + 1))
        if j + 1 < len(costs):
            further = cost + costs[j + 1][1]
            heappush(heap, (further, next(number), change, j + 1, 1))
            if option == 1:
                heappush(heap, (further - costs[j][1], next(number), before, j + 1, 1))


def cheapest_in_order(scorer: Scorer, goals: Sequence[Goal], effort: int) -> Found:
    """Return the cheapest change of any model, by asking for all changes in the order of cost.

    The argument `effort` is the maximum number of changes; all that cost less than the bound have
    then been asked for.
    """
    changes = in_order_of_cost(scorer.choices)
    asked, size, reached = 0, _FIRST_BLOCK, 0.0
    best = Found(None, math.inf, math.inf, 0)
    most = 0.0
    while block := list(islice(changes, min(size, effort - asked))):
        rows = np.zeros((len(block), len(scorer.choices)), dtype=np.intp)
        for one, (_, change) in zip(rows, block, strict=True):
            one[list(change)] = list(change.values())
        excess = _excess(goals, scorer(rows))
        for row in np.flatnonzero(excess > 0).tolist():
            cost, value = block[row][0], float(excess[row])
            is_same = not _is_above(cost, best.cost) and value > most
            if best.change is None or is_same:
                first = cost if best.change is None else best.cost
                best, most = Found(rows[row], first, first, 0), value
        asked, size, reached = asked + len(block), min(2 * size, _LAST_BLOCK), block[-1][0]
        if _is_above(reached, best.cost):
            break
    is_unfinished = best.change is None and asked == effort and next(changes, None) is not None
    return best._replace(bound=reached if is_unfinished else best.bound, examined=asked)


def greedy(scorer: Scorer, goals: Sequence[Goal]) -> NDArray[np.intp] | None:
    """Return a change that was found step by step, without a promise of its cost; or None.

    Each step takes the option of a finding that raises the log odds most for its cost, or the
    cheapest that turns the answer. At the end, findings go back to cheaper options as far as the
    answer stays turned.
    """
    steps = [(j, o) for j, c in enumerate(scorer.choices) for o in range(len(c.options))]
    costs = np.array([scorer.choices[j].costs[o] for j, o in steps])
    j, o = np.array(steps).T
    now = np.zeros(len(scorer.choices), dtype=np.intp)
    value = float(_excess(goals, scorer(now[None]))[0])
    starts = np.searchsorted(j, np.arange(len(now)))
    while True:
        rows = np.repeat(now[None], len(steps), axis=0)
        rows[np.arange(len(steps)), j] = o
        extra = costs - costs[starts + now][j]
        allowed = extra < 0 if value > 0 else now[j] == 0
        excess = np.where(allowed, _excess(goals, scorer(rows)), -np.inf)
        with np.errstate(invalid="ignore"):
            rates = (excess - value) / np.maximum(extra, 1e-12)
        turned = excess > 0
        at = int(np.argmin(np.where(turned, extra, np.inf)) if turned.any() else np.argmax(rates))
        if value > 0 and not turned[at]:
            return now
        if not excess[at] > min(value, 0.0):
            return None
        now, value = rows[at], float(excess[at])


# --------- Lower bounds of the cost of changes of continuous numbers, which are more than any grid
# Where the log odds are a polynomial of the second degree in a number, as with Gaussian leaves,
# their maximum over a cell between two values is known. An answer that may take, in each cell, the
# cost of its closest end and the highest log odds against each other state is a relaxation: it
# costs no more than any change.


_CELLS = 512


def _cells(part: Part, choice: Choice, goal: Goal) -> tuple[Floats, Floats] | None:
    """Return the cost of each cell of a number, and the highest log odds in it.

    The first one is the value that the number has. The result is None if the log odds are no
    polynomial.
    """
    values, odds = choice.codes[:-1].astype(np.float64), goal.margins(part.logs)
    low, high, old = values.min(), values.max(), values[0]
    is_known = len(part.choices) == 1 and np.isfinite(odds).all()
    if not is_known or np.isnan(old) or len(values) < 4 or high <= low:
        return None
    # Centred and scaled, so that the coefficients are well determined.
    scaled = 2.0 * (values - low) / (high - low) - 1.0
    c = np.polynomial.polynomial.polyfit(scaled, odds, 2)
    rounding = _ROUNDING * max(1.0, float(np.abs(odds).max()))
    if np.abs(np.polynomial.polynomial.polyval(scaled, c).T - odds).max() > rounding:
        return None
    ends = np.unique(np.append(np.linspace(-1.0, 1.0, _CELLS + 1), scaled[0]))
    at_ends = np.polynomial.polynomial.polyval(ends, c).T
    with np.errstate(divide="ignore", invalid="ignore"):
        peaks = np.where(c[2] < 0, -c[1] / (2.0 * c[2]), np.nan)
        heights = c[0] + c[1] * peaks + c[2] * peaks**2
    is_inside = (ends[:-1, None] < peaks) & (peaks < ends[1:, None])
    gains = np.where(is_inside, heights, np.maximum(at_ends[:-1], at_ends[1:])) + rounding
    gap = np.maximum(0.0, np.maximum(ends[:-1] - scaled[0], scaled[0] - ends[1:]))
    costs = choice.weight + choice.scale * gap * 0.5 * (high - low)
    return np.append(0.0, costs), np.concatenate([odds[:1], gains])


# -------------------------------- The smallest change of findings that turns the answer of a model


# Values between which a number is moved back towards the old one, and how often.
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
    variable = discrete_target(model, target, "A flip turns the answer about a")
    given = dict(as_mapping(evidence))
    if variable.name in given:
        raise EvidenceError(f"The evidence has {target!r}, whose answer is to turn; leave it out.")
    effort = whole_number("effort", "changes", effort, 1)
    n_values = whole_number("n_values", "values", n_values, 2)
    rules = Rules.of(model, costs, fixed, among, ranges, n_values)
    scorer = Scorer.of(model, variable, given, rules)
    start = scorer(np.zeros((1, len(scorer.choices)), dtype=np.intp))
    if np.isneginf(start.max()):
        raise impossible(evidence)
    before = int(np.argmax(start[0]))
    goals = _goals(variable, start, before, to, at_least)
    found, on_grid = _cheapest(scorer, goals, effort)
    values, changes, cost = dict(given), [], math.inf
    after, posterior = None, _posterior(variable, start)
    if found.change is not None:
        changes = _moved_back(scorer, found.change, goals)
        values |= {change.name: change.new for change in changes}
        cost = math.fsum(change.cost for change in changes)
        asked, known = with_findings(model, values)
        final = asked._log_posterior_rows(variable, asked._encode(known))
        after = variable.states[max(goals, key=lambda goal: float(_excess([goal], final)[0])).state]
        posterior = _posterior(variable, final)
    return Flip(
        variable.name,
        variable.states[before],
        after,
        _posterior(variable, start),
        posterior,
        tuple(sorted(changes, key=lambda change: -change.cost)),
        cost,
        min(found.bound, cost),
        on_grid,
        values,
        found.examined,
    )


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
    if _excess([goal], start)[0] > 0:
        wanted = "" if at_least is None else f", with a probability of {at_least} or more"
        raise EvidenceError(f"The answer is {to!r} already{wanted}; nothing has to change.")
    return [goal]


def _cheapest(scorer: Scorer, goals: Sequence[Goal], effort: int) -> tuple[Found, bool]:
    """Return the cheapest change, and whether its bound is one on the grid of numbers alone."""
    parts = parts_of(scorer)
    is_continuous = any(choice.continuous for choice in scorer.choices)
    if parts is not None:
        return _of_parts(parts, scorer, goals, effort, is_continuous=is_continuous)
    found = cheapest_in_order(scorer, goals, effort)
    if found.change is None and not math.isinf(found.bound):
        found = found._replace(change=greedy(scorer, goals))
    return found, is_continuous


def _of_parts(
    parts: Sequence[Part],
    scorer: Scorer,
    goals: Sequence[Goal],
    effort: int,
    *,
    is_continuous: bool,
) -> tuple[Found, bool]:
    """Return the cheapest change if log scores are a sum; see `_cheapest`.

    If numbers are continuous, its bound is that of all numbers where the log odds are polynomials.
    """
    prior = scorer(np.full((1, len(scorer.choices)), -1, dtype=np.intp))[0]
    best, relaxed, on_grid = Found(greedy(scorer, goals), math.inf, math.inf, 0), math.inf, False
    if best.change is not None:
        costs = [c.costs[o] for c, o in zip(scorer.choices, best.change, strict=True)]
        best = best._replace(cost=math.fsum(costs), bound=math.fsum(costs))
    for goal in goals:
        margins = goal.margins(prior)
        known = [(part.costs, goal.margins(part.logs)) for part in parts]
        kept = [undominated(*part) for part in known]
        if np.isneginf(margins).any() or not all(map(len, kept)):
            continue
        lines = [(own[0][rows], own[1][rows]) for own, rows in zip(known, kept, strict=True)]
        options, found = cheapest(lines, margins, goal, best.cost, effort)
        bound = min(best.bound, found.bound)
        best = best._replace(bound=bound, examined=best.examined + found.examined)
        if options is not None and not _is_above(found.cost, best.cost):
            change = np.zeros(len(scorer.choices), dtype=np.intp)
            for part, rows, option in zip(parts, kept, options, strict=True):
                change[list(part.choices)] = part.options[rows[option]]
            best = best._replace(change=change, cost=found.cost)
        for k, part in enumerate(parts):
            if any(scorer.choices[i].continuous for i in part.choices):
                cells = _cells(part, scorer.choices[part.choices[0]], goal)
                on_grid |= cells is None
                if cells is not None:
                    rows = undominated(*cells)
                    lines[k] = cells[0][rows], cells[1][rows]
        if is_continuous and not on_grid:
            relaxed = min(relaxed, cheapest(lines, margins, goal, best.cost, effort)[1].bound)
    return best._replace(bound=relaxed) if is_continuous and not on_grid else best, on_grid


def _posterior(target: Discrete, scores: Floats) -> Posterior:
    return Posterior((target,), np.exp(log_normalised(scores.copy()))[0], math.nan)


def _moved_back(scorer: Scorer, change: NDArray[np.intp], goals: Sequence[Goal]) -> list[Change]:
    """Return the findings that change.

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
            # Numbers just beyond a value, seen from the old one, of few digits; the value last.
            # They move by at most a thousandth more, and not beyond `most`.
            old = float(choice.old.code)
            room = min(1e-3 * abs(high - old), abs(float(now[j].code) - high))
            digits = -math.floor(math.log10(room)) if room > 0 else 0
            scale, toward = 10.0**digits, math.copysign(1.0, high - old)
            beyond = round(toward * math.ceil(toward * high * scale) / scale, max(digits, 0))
            values = np.array([beyond, high] if abs(beyond - high) <= room else [high])
            value = high = float(values[np.argmax(turns(j, values))])
        cost = choice.weight + choice.scale * abs(high - float(choice.old.code))
        now[j] = replace(now[j], value=value, code=high, cost=cost)
    return [
        Change(choice.variable.name, choice.old.value, option.value, option.cost)
        for choice, option, moved in zip(scorer.choices, now, change, strict=True)
        if moved
    ]
