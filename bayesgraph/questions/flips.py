"""The smallest change of findings that turns the answer of a model.

The answer is the most probable state of a discrete variable given the findings. Of all changes of
findings that lead to another answer, a flip is one of least cost: a counterfactual explanation
(Wachter, Mittelstadt and Russell 2018). It speaks of what the model says, not of what an
intervention would do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Discrete, Name, State
from bayesgraph.inference import Posterior, log_normalised
from bayesgraph.models import Model, as_mapping, impossible, with_findings
from bayesgraph.questions.estimators import question
from bayesgraph.questions.flip_options import (
    Changes,
    Choice,
    Goal,
    Part,
    Rules,
    Scorer,
    Sum,
    as_sum,
    choices_of,
)

# ---- Searches for the cheapest change: best first over parts that add up, or in the order of cost


# What an impossible alternative adds to log odds: more than any sum of possible ones takes away.
_CERTAIN = 1e9
# Costs that count as equal, relative to the larger one.
_SAME_COST = 1e-12
_FIRST_BLOCK, _LAST_BLOCK = 64, 4096


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


def _above(cost: float, best: float) -> bool:
    return cost > best + _SAME_COST * max(1.0, abs(best))


# ------------------------------------------------------------------------- parts that add up


class Lines(NamedTuple):
    """The options of each part for one goal, without those that cannot be part of an answer.

    Attributes
    ----------
    margins : ndarray, shape (n_alternatives,)
        Log odds of the goal's state against each other one without any finding that may change.
    costs : list of ndarray, shape (n_options,)
        Ascending.
    gains : list of ndarray, shape (n_options, n_alternatives)
        What an option adds to the log odds.
    rows : list of ndarray, shape (n_options,)
        Index of each option in its part.
    """

    margins: Floats
    costs: list[Floats]
    gains: list[Floats]
    rows: list[NDArray[np.intp]]


def lines_of(total: Sum, goal: Goal) -> Lines | None:
    """Return the options of parts for a goal; None if its state is impossible."""
    if not np.isfinite(total.prior[goal.state]):
        return None
    found = Lines(_margins(total.prior, goal.state), [], [], [])
    for part in total.parts:
        possible = np.flatnonzero(np.isfinite(part.logs[:, goal.state]))
        if not len(possible):
            return None
        gains = _margins(part.logs[possible], goal.state)
        order = undominated(part.costs[possible], gains)
        found.costs.append(part.costs[possible][order])
        found.gains.append(gains[order])
        found.rows.append(possible[order])
    return found


def _margins(logs: Floats, state: int) -> Floats:
    """Return log odds of a state, which is possible, against each other one."""
    others = np.delete(logs, state, axis=-1)
    return np.where(np.isneginf(others), _CERTAIN, logs[..., [state]] - others)


def undominated(costs: Floats, gains: Floats) -> NDArray[np.intp]:
    """Return the options by cost, without those for which a cheaper one has all gains as high."""
    order = np.lexsort((np.arange(len(costs)), -gains.sum(axis=1), costs))
    if gains.shape[1] == 1:
        return order[_rises(gains[order, 0])]
    kept: list[int] = []
    for i in order.tolist():
        if not kept or not (gains[kept] >= gains[i]).all(axis=1).any():
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def _rises(values: Floats) -> NDArray[np.bool_]:
    """Return a mask of the values that are higher than all before them."""
    before = np.maximum.accumulate(np.append(-np.inf, values[:-1]))
    return np.asarray(values > before)


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Lower bounds of the cost that the last parts add, by relaxation to fractions of options.

    For each alternative state, the options of a part with the highest log odds for their cost form
    a concave chain. Steps of all chains are taken by their ratio of log odds to cost until the log
    odds suffice; the last one in part. This is the linear relaxation of the multiple-choice
    knapsack problem (Sinha and Zoltners 1979), and the largest bound of all alternatives counts.

    Attributes
    ----------
    base_cost : ndarray, shape (n_parts + 1,)
        Sum of the least costs of the parts from each one on.
    base_gain : ndarray, shape (n_parts + 1, n_alternatives)
        Sum of the highest log odds at least cost.
    steps : list of (part, cost, gain) arrays for each alternative, by descending ratio
    """

    base_cost: Floats
    base_gain: Floats
    steps: list[tuple[NDArray[np.intp], Floats, Floats]]

    @classmethod
    def of(cls, costs: Sequence[Floats], gains: Sequence[Floats]) -> _Bounds:
        """Return bounds for the costs (n_options,) and gains (n_options, n_alternatives) of parts.

        Options of a part ascend by cost.
        """
        n, m = len(costs), gains[0].shape[1]
        base_cost, base_gain = np.zeros(n + 1), np.zeros((n + 1, m))
        chains: list[list[tuple[int, float, float]]] = [[] for _ in range(m)]
        for k in reversed(range(n)):
            cheapest = costs[k] == costs[k][0]
            base_cost[k] = base_cost[k + 1] + costs[k][0]
            base_gain[k] = base_gain[k + 1] + gains[k][cheapest].max(axis=0)
            for a in range(m):
                chains[a] += [(k, *step) for step in _chain(costs[k], gains[k][:, a])]
        steps = []
        for chain in chains:
            chain.sort(key=lambda step: -step[2] / step[1])
            table = np.array(chain).reshape(-1, 3)
            steps.append((table[:, 0].astype(np.intp), table[:, 1], table[:, 2]))
        return cls(base_cost, base_gain, steps)

    def __call__(self, part: int, margins: Floats, needed: float) -> Floats:
        """Return the least cost that the parts from `part` on add; infinite if none suffices.

        The argument `margins`, shape (n_states, n_alternatives), has the log odds against each
        alternative by the parts before.
        """
        lacking = needed - margins - self.base_gain[part]
        extra = np.zeros(len(margins))
        for a, (parts, costs, gains) in enumerate(self.steps):
            kept = parts >= part
            reached = np.append(0.0, np.cumsum(gains[kept]))
            spent = np.append(0.0, np.cumsum(costs[kept]))
            # Sums of all gains differ by rounding from the sum of the highest options.
            short = lacking[:, a] - _SAME_COST * max(1.0, abs(reached[-1]))
            extra = np.maximum(extra, np.interp(short, reached, spent, left=0.0, right=np.inf))
        return np.asarray(self.base_cost[part] + extra)


def _chain(costs: Floats, gains: Floats) -> list[tuple[float, float]]:
    """Return the steps (cost, gain) of the upper concave envelope of options, gains ascending."""
    cheapest = costs == costs[0]
    points = [(float(costs[0]), float(gains[cheapest].max()))]
    for cost, gain in zip(costs[~cheapest].tolist(), gains[~cheapest].tolist(), strict=True):
        if gain <= points[-1][1]:
            continue
        if cost == points[-1][0]:
            points.pop()
        while len(points) > 1 and _slope(points[-2], points[-1]) <= _slope(
            points[-1], (cost, gain)
        ):
            points.pop()
        points.append((cost, gain))
    return [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])


class _Level(NamedTuple):
    """Choices of options for the first parts that may still be the start of an answer.

    Attributes
    ----------
    cost : ndarray, shape (n_states,)
    margins : ndarray, shape (n_states, n_alternatives)
    before, option : ndarray of int, shape (n_states,)
        Index of the state of the level before, and the option of the last part.
    """

    cost: Floats
    margins: Floats
    before: NDArray[np.intp]
    option: NDArray[np.intp]

    def of(self, kept: NDArray[np.intp]) -> _Level:
        """Return some of the states."""
        return _Level(self.cost[kept], self.margins[kept], self.before[kept], self.option[kept])


def cheapest_sum(lines: Lines, goal: Goal, effort: int) -> tuple[list[int] | None, Found]:
    """Return the cheapest options of all parts, as rows of each part, if log scores are a sum.

    Part by part, all choices of options so far are extended by each option of the next part. Those
    are left out whose lower bound exceeds the cost of a known answer, and, if there is a single
    alternative, those for which a cheaper choice has higher log odds (dynamic programming over
    undominated states; Kellerer, Pferschy and Pisinger 2004, section 11.5). Of several cheapest
    answers the one with the highest log odds is returned.

    Parameters
    ----------
    lines : Lines
    goal : Goal
    effort : int
        Maximum number of choices of one level. Those of the highest lower bounds are left out
        beyond it, and the bound of the result is the least of theirs.

    Returns
    -------
    list of int or None, Found
        The latter without the change.
    """
    # Parts that change the odds most for their cost come first: they decide most.
    strengths = [_strength(c, g) for c, g in zip(lines.costs, lines.gains, strict=True)]
    turn = np.argsort(-np.array(strengths), kind="stable").tolist()
    costs, gains = [lines.costs[k] for k in turn], [lines.gains[k] for k in turn]
    bounds = _Bounds.of(costs, gains)
    # The least cost of all choices whose log odds suffice with the first option of all other parts.
    rest_cost = np.append(np.cumsum([c[0] for c in costs[::-1]])[::-1], 0.0)
    rest_gain = np.zeros_like(bounds.base_gain)
    rest_gain[:-1] = np.cumsum([g[0] for g in gains[::-1]], axis=0)[::-1]
    one = np.zeros(1, dtype=np.intp)
    level = _Level(np.zeros(1), lines.margins[None], one, one)
    levels, bound, examined = [], math.inf, 0
    quick = _quick(costs, gains, lines.margins, goal)
    best = math.inf if quick is None else quick[0]
    for k, (price, gain) in enumerate(zip(costs, gains, strict=True)):
        # All choices of a level with each option of the next part.
        n, m = len(level.cost), len(price)
        level = _Level(
            (level.cost[:, None] + price).ravel(),
            (level.margins[:, None] + gain).reshape(n * m, gain.shape[1]),
            np.repeat(np.arange(n), m),
            np.tile(np.arange(m), n),
        )
        examined += len(level.cost)
        best = min(best, _completed(level, goal, rest_cost[k + 1], rest_gain[k + 1]))
        least = level.cost + bounds(k + 1, level.margins, goal.needed)
        kept = np.flatnonzero(least <= best + _SAME_COST * max(1.0, best))
        kept = kept[np.lexsort((kept, -level.margins[kept].min(axis=1), level.cost[kept]))]
        if level.margins.shape[1] == 1:
            kept = kept[_rises(level.margins[kept, 0])]
        kept = kept[np.isfinite(least[kept])]
        if k + 1 < len(costs) and len(kept) > (most := max(1, effort // len(costs[k + 1]))):
            order = np.argsort(least[kept], kind="stable")
            bound = min(bound, float(least[kept[order[most]]]))
            kept = kept[np.sort(order[:most])]
        level = level.of(kept)
        levels.append(level)
    options, cost = _best_of(levels, level, goal)
    if quick is not None and (options is None or _above(cost, quick[0])):
        cost, options = quick
    if options is None:
        return None, Found(None, math.inf, bound, examined)
    rows = {k: int(lines.rows[k][option]) for k, option in zip(turn, options, strict=True)}
    return [rows[k] for k in range(len(rows))], Found(None, cost, min(cost, bound), examined)


def _best_of(levels: list[_Level], last: _Level, goal: Goal) -> tuple[list[int] | None, float]:
    """Return the options of the cheapest answer of the last level, and its cost."""
    excess = goal.excess_of_margins(last.margins)
    reached = np.flatnonzero(excess > 0)
    if not len(reached):
        return None, math.inf
    cost = float(last.cost[reached].min())
    cheapest = reached[last.cost[reached] <= cost + _SAME_COST * max(1.0, cost)]
    at = int(cheapest[np.argmax(excess[cheapest])])
    options = []
    for level in reversed(levels):
        options.append(int(level.option[at]))
        at = int(level.before[at])
    return options[::-1], cost


def _quick(
    costs: Sequence[Floats], gains: Sequence[Floats], margins: Floats, goal: Goal
) -> tuple[float, list[int]] | None:
    """Return an answer found step by step, (cost, options), without a promise of its cost.

    Each step takes the option that adds most to the log odds that are lacking, for its cost; at the
    end parts go back to cheaper options as far as the log odds suffice.
    """
    sizes = [len(cost) for cost in costs]
    part = np.repeat(np.arange(len(costs)), sizes)
    start = np.append(0, np.cumsum(sizes)[:-1])
    cost, gain = np.concatenate(costs), np.concatenate(gains)
    now = start.copy()
    # Rounding next to certain log odds might otherwise go to and fro.
    for _ in range(2 * len(cost)):
        whole = margins + gain[now].sum(axis=0)
        moved = whole + gain - gain[now[part]]
        extra = cost - cost[now[part]]
        reached = goal.excess_of_margins(moved) > 0
        if goal.excess_of_margins(whole[None])[0] > 0:
            cheaper = np.flatnonzero(reached & (extra < 0))
            if not len(cheaper):
                return float(cost[now].sum()), (now - start).tolist()
            at = int(cheaper[np.argmin(extra[cheaper])])
        elif reached.any():
            at = int(np.argmin(np.where(reached, extra, np.inf)))
        else:
            saved = _lacking(whole, goal) - _lacking(moved, goal)
            at = int(np.argmax(saved / np.maximum(extra, _SAME_COST)))
            if not saved[at] > 0:
                return None
        now[part[at]] = at
    return None


def _lacking(margins: Floats, goal: Goal) -> Floats:
    """Return the sum of the log odds that are lacking against all alternatives."""
    return np.asarray(np.maximum(0.0, goal.needed - margins).sum(axis=-1))


def _completed(level: _Level, goal: Goal, cost: float, gain: Floats) -> float:
    """Return the least cost of the answers that choices lead to with no more effort."""
    reached = goal.excess_of_margins(level.margins + gain) > 0
    return float(level.cost[reached].min() + cost) if reached.any() else math.inf


def _strength(costs: Floats, gains: Floats) -> float:
    most = float((gains.max(axis=0) - gains[0]).max(initial=0.0))
    spent = float(costs[-1] - costs[0])
    return most / spent if spent > 0 else most


# ------------------------------------------------------------------------ in the order of cost


def in_order_of_cost(
    choices: Sequence[Choice],
) -> Iterator[tuple[float, tuple[tuple[int, int], ...]]]:
    """Yield all changes by ascending cost, as (cost, ((choice, option), ...)).

    A change of the findings j_1 < j_2 < ..., ordered by their cheapest option, leads to up to three
    others: the next option of its last finding, the cheapest option of the next finding besides it,
    or in its place (Lawler 1972).
    """
    order = sorted(range(len(choices)), key=lambda j: float(choices[j].costs[1]))
    costs = [choices[j].costs for j in order]
    number = count()
    heap: list[tuple[float, int, tuple[tuple[int, int], ...]]] = []
    if order:
        heap.append((float(costs[0][1]), next(number), ((0, 1),)))
    while heap:
        cost, _, change = heappop(heap)
        yield cost, tuple((order[j], option) for j, option in change)
        *rest, (j, option) = change
        before = tuple(rest)
        if option + 1 < len(costs[j]):
            more = cost - costs[j][option] + costs[j][option + 1]
            heappush(heap, (float(more), next(number), (*before, (j, option + 1))))
        if j + 1 < len(costs):
            further = float(costs[j + 1][1])
            heappush(heap, (cost + further, next(number), (*change, (j + 1, 1))))
            if option == 1:
                moved = cost - costs[j][1] + further
                heappush(heap, (float(moved), next(number), (*before, (j + 1, 1))))


def cheapest_in_order(scorer: Scorer, excess: Callable[[Floats], Floats], effort: int) -> Found:
    """Return the cheapest change of any model, by asking for all changes in the order of cost.

    Parameters
    ----------
    scorer : Scorer
    excess : callable
        From log scores (n_rows, n_states) to what exceeds the goal, positive for a flip.
    effort : int
        Maximum number of changes; all that cost less than the bound have then been asked for.
    """
    changes = in_order_of_cost(scorer.choices)
    n, asked, size = len(scorer.choices), 0, _FIRST_BLOCK
    best: tuple[float, float, NDArray[np.intp]] | None = None
    reached = 0.0
    while asked < effort:
        block = list(islice(changes, min(size, effort - asked)))
        if not block:
            return Found(None, math.inf, math.inf, asked) if best is None else _found(best, asked)
        rows = np.zeros((len(block), n), dtype=np.intp)
        for row, (_, change) in enumerate(block):
            for choice, option in change:
                rows[row, choice] = option
        found = excess(scorer(rows))
        for row in np.flatnonzero(found > 0).tolist():
            cost = block[row][0]
            if best is None:
                best = cost, float(found[row]), rows[row]
            elif not _above(cost, best[0]) and found[row] > best[1]:
                best = best[0], float(found[row]), rows[row]
        asked, reached, size = asked + len(block), block[-1][0], min(2 * size, _LAST_BLOCK)
        if best is not None and _above(reached, best[0]):
            return _found(best, asked)
    return Found(None, math.inf, reached, asked) if best is None else _found(best, asked)


def _found(best: tuple[float, float, NDArray[np.intp]], asked: int) -> Found:
    return Found(best[2], best[0], best[0], asked)


def greedy(scorer: Scorer, excess: Callable[[Floats], Floats]) -> Changes | None:
    """Return a change that was found step by step, without a promise of its cost; or None.

    Each step takes the single further option that raises the log odds most for its cost; at the
    end, findings go back to cheaper options as far as the answer stays turned.
    """
    n = len(scorer.choices)
    now = np.zeros((1, n), dtype=np.intp)
    value = float(excess(scorer(now))[0])
    while value <= 0:
        steps = [
            (j, o)
            for j in range(n)
            if not now[0, j]
            for o in range(1, len(scorer.choices[j].options))
        ]
        if not steps:
            return None
        rows = np.repeat(now, len(steps), axis=0)
        for row, (j, option) in enumerate(steps):
            rows[row, j] = option
        found = excess(scorer(rows))
        costs = np.array([scorer.choices[j].costs[o] for j, o in steps])
        gains = found - value
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.where(found > 0, np.inf, gains) / np.maximum(costs, 1e-12)
        ready = np.flatnonzero(found > 0)
        at = int(ready[np.argmin(costs[ready])]) if len(ready) else int(np.argmax(rates))
        if not found[at] > value:
            return None
        now, value = rows[[at]], float(found[at])
    return _cheaper(scorer, excess, now)


def _cheaper(scorer: Scorer, excess: Callable[[Floats], Floats], now: Changes) -> Changes:
    """Return a change in which no single finding has a cheaper option that turns the answer."""
    while True:
        rows, saved = [], []
        for j, choice in enumerate(scorer.choices):
            cost = choice.costs[now[0, j]]
            for option in np.flatnonzero(choice.costs < cost).tolist():
                row = now[0].copy()
                row[j] = option
                rows.append(row)
                saved.append(float(cost - choice.costs[option]))
        if not rows:
            return now
        turned = excess(scorer(np.array(rows))) > 0
        if not turned.any():
            return now
        now = rows[int(np.argmax(np.where(turned, saved, -np.inf)))][None]


# --------- Lower bounds of the cost of changes of continuous numbers, which are more than any grid
# Where the log odds are a polynomial of the second degree in a number, as with Gaussian leaves,
# their maximum over a cell between two values is known. An answer that may take, in each cell, the
# cost of its closest end and the highest log odds against each other state is a relaxation: it
# costs no more than any change.


_CELLS = 512
# Deviation from a polynomial, relative to the largest log odds, that counts as rounding.
_ROUNDING = 1e-9


def relaxed_bound(
    lines: Lines, parts: Sequence[Part], choices: Sequence[Choice], goal: Goal, effort: int
) -> float | None:
    """Return a lower bound of the cost of any change, numbers between the options included.

    The result is None if the log odds are no polynomial in one of the continuous numbers.
    """
    costs, gains = list(lines.costs), list(lines.gains)
    for k, part in enumerate(parts):
        if not any(choices[i].continuous for i in part.choices):
            continue
        if len(part.choices) > 1 or not np.isfinite(part.logs).all():
            return None
        cells = _cells(part, choices[part.choices[0]], goal)
        if cells is None:
            return None
        order = undominated(*cells)
        costs[k], gains[k] = cells[0][order], cells[1][order]
    rows = [np.arange(len(cost)) for cost in costs]
    return cheapest_sum(Lines(lines.margins, costs, gains, rows), goal, effort)[1].bound


def _cells(part: Part, choice: Choice, goal: Goal) -> tuple[Floats, Floats] | None:
    """Return the cost of each cell of a number, and the highest log odds in it.

    The first one is the value that the number has.
    """
    values = np.array([option.code for option in choice.options], dtype=np.float64)
    odds = part.logs[:, [goal.state]] - np.delete(part.logs, goal.state, axis=1)
    low, high, old = values.min(), values.max(), values[0]
    if np.isnan(old) or len(values) < 4 or high <= low:
        return None
    # Centred and scaled, so that the coefficients are well determined.
    scaled = 2.0 * (values - low) / (high - low) - 1.0
    coefficients = np.polynomial.polynomial.polyfit(scaled, odds, 2)
    fitted = np.polynomial.polynomial.polyval(scaled, coefficients).T
    if np.abs(fitted - odds).max() > _ROUNDING * max(1.0, float(np.abs(odds).max())):
        return None
    start = 2.0 * (old - low) / (high - low) - 1.0
    ends = np.unique(np.append(np.linspace(-1.0, 1.0, _CELLS + 1), start))
    at_ends = np.polynomial.polynomial.polyval(ends, coefficients).T
    gains = np.maximum(at_ends[:-1], at_ends[1:])
    c = coefficients
    with np.errstate(divide="ignore", invalid="ignore"):
        peaks = np.where(c[2] < 0, -c[1] / (2.0 * c[2]), np.nan)
        heights = c[0] + c[1] * peaks + c[2] * peaks**2
    inside = (ends[:-1, None] < peaks) & (peaks < ends[1:, None])
    gains = np.where(inside, np.maximum(gains, heights), gains)
    gains += _ROUNDING * max(1.0, float(np.abs(odds).max()))
    gap = np.maximum(0.0, np.maximum(ends[:-1] - start, start - ends[1:]))
    costs = choice.weight + choice.scale * gap * 0.5 * (high - low)
    return np.append(0.0, costs), np.concatenate([odds[:1], gains])


# -------------------------------- The smallest change of findings that turns the answer of a model


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
        replace(choice, options=(choice.old, option))
        for choice, option, moved in zip(scorer.choices, now, change, strict=True)
        if moved
    ]
