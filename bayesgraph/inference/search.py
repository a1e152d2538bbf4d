"""Search for the most probable assignments, with bounds, where elimination needs too much memory.

Costs are negative logs. Variables whose elimination makes no large table are eliminated; of the
rest, soft arc consistency bounds the cost (Cooper, de Givry, Sanchez, Schiex, Zytnicki and Werner
2010; the sweeps are those of Kolmogorov 2015), and branch and bound searches depth first from the
node of the least bound (Allouche et al. 2015, hybrid best-first search). Tabu search finds good
assignments between the dives.
"""

from __future__ import annotations

import heapq
import itertools
import math
import sys
from collections.abc import Iterable, Sequence
from numbers import Real
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.core.arrays import log_sum_exp, whole_number
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import default_memory_limit, format_seconds
from bayesgraph.core.variables import Discrete
from bayesgraph.inference import contract
from bayesgraph.inference.elimination import completed, discrete_tables
from bayesgraph.inference.factor_solver import FactorBest, slice_of_case
from bayesgraph.inference.results import Assignment
from bayesgraph.inference.search_kernels import Costs, Floats, Ints, dive, improve, propagate
from bayesgraph.inference.tables import Tables

# Ascending variables, and a table of costs with an axis for each.
Cost: TypeAlias = tuple[tuple[int, ...], Floats]

# Maximum number of entries of tables that elimination makes.
_SMALL = 64
# Sweeps at a node, and between two looks at the bound of the root.
_SWEEPS, _ROOT_SWEEPS = 4, 15
# Relative gain of the root's bound with which its sweeps end.
_GAIN = 1e-4
# Dead ends after which a dive ends, and entries of tables that it may look at.
_BACKTRACKS, _DIVE = 200, 2e7
# Entries of tables that a search looks at unless it is told when to stop.
_WORK = 1e9
# Relative difference of costs that counts as none.
_EQUAL = 1e-10
# Seconds between two lines on a terminal.
_SHOWN = 1.0
_UNLIMITED = contract.Budget()
# Entries of a table of a mini-bucket, and candidates for the marginal MAP that are looked at.
_BUCKET, _CANDIDATES = 2**20, 1024


def search_budget(
    method: str, fallback: str | None, max_seconds: float | None, max_steps: int | None
) -> contract.Budget:
    """Return when a search stops, after checks of the options of `most_probable`."""
    if method not in ("exact", "search"):
        raise EvidenceError(f"method is 'exact' or 'search'; got {method!r}.")
    if fallback not in (None, "search"):
        raise EvidenceError(f"fallback is 'search' or None; got {fallback!r}.")
    if max_steps is not None:
        max_steps = whole_number("max_steps=", "steps", max_steps, 1)
    seconds: Any = max_seconds
    is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds < math.inf):
        raise DataError(f"max_seconds= is a positive number of seconds; got {max_seconds!r}.")
    return contract.Budget(max_steps, max_seconds)


class Ranking(NamedTuple):
    """The best assignments that a search has found, in ascending order of cost.

    Attributes
    ----------
    states : list of ndarray
    costs : list of float
    lower : float
        Lower bound of the cost of every other assignment, infinite if there are no others.
    """

    states: list[Ints]
    costs: list[float]
    lower: float


def _aligned(cost: Cost, scope: tuple[int, ...]) -> Floats:
    """Return a table with an axis for each variable of a wider scope."""
    variables, table = cost
    order = sorted(range(len(variables)), key=lambda i: scope.index(variables[i]))
    shape = dict(zip(variables, table.shape, strict=True))
    return table.transpose(order).reshape([shape.get(v, 1) for v in scope])


class Reduction:
    """A problem without the variables whose elimination makes no large table.

    Parameters
    ----------
    cards : sequence of int
    costs : iterable of tables
    most : int
        Maximum number of entries of a table that elimination makes.
    """

    def __init__(self, cards: Sequence[int], costs: Iterable[Cost], most: int) -> None:
        self._cards = cards
        self._costs: dict[tuple[int, ...], Floats] = {}
        self._of: list[set[tuple[int, ...]]] = [set() for _ in cards]
        self.constant = 0.0
        for scope, table in costs:
            self._add((tuple(sorted(scope)), _aligned((scope, table), tuple(sorted(scope)))))
        self._trace: list[Cost] = []
        if most:
            self._eliminate(most)
        self._absorb()
        gone = {scope[-1] for scope, _ in self._trace}
        self.left = [v for v in range(len(cards)) if v not in gone]
        self.costs = list(self._costs.items())

    def _add(self, cost: Cost) -> None:
        scope, table = cost
        if not scope:
            self.constant += float(table)
        elif scope in self._costs:
            self._costs[scope] = self._costs[scope] + table
        else:
            self._costs[scope] = table
            for v in scope:
                self._of[v].add(scope)

    def _take(self, scope: tuple[int, ...]) -> Cost:
        for v in scope:
            self._of[v].discard(scope)
        return scope, self._costs.pop(scope)

    def _neighbours(self, v: int) -> tuple[int, ...]:
        return tuple(sorted(set(itertools.chain.from_iterable(self._of[v])) - {v}))

    def _size(self, v: int) -> int:
        return math.prod(self._cards[w] for w in self._neighbours(v))

    def _eliminate(self, most: int) -> None:
        """Eliminate variables, those that make the smallest tables first."""
        heap = [(self._size(v), v) for v in range(len(self._cards))]
        heapq.heapify(heap)
        gone = set()
        while heap:
            size, v = heapq.heappop(heap)
            if v in gone or size != self._size(v):
                continue  # its other entry comes later, or came before
            largest = max((self._costs[scope].size for scope in self._of[v]), default=0)
            if size > max(most, largest):
                continue
            gone.add(v)
            around = self._neighbours(v)
            scope = (*around, v)
            total = np.zeros([self._cards[w] for w in scope])
            for part in sorted(self._of[v]):
                total = total + _aligned(self._take(part), scope)
            self._trace.append((scope, total))
            self._add((around, total.min(axis=-1)))
            for w in around:
                heapq.heappush(heap, (self._size(w), w))

    def _absorb(self) -> None:
        """Add tables to those of wider scopes."""
        for scope in sorted(self._costs, key=lambda scope: (len(scope), scope)):
            wider = set.intersection(*(self._of[v] for v in scope)) - {scope}
            if wider and len(scope) > 1:
                into = min(wider)
                self._costs[into] = self._costs[into] + _aligned(self._take(scope), into)

    def extended(self, left: Ints) -> Ints:
        """Return the best states of all variables, given those of the variables that are left."""
        states = np.zeros(len(self._cards), dtype=np.int64)
        states[self.left] = left
        for scope, total in reversed(self._trace):
            states[scope[-1]] = int(np.argmin(total[tuple(states[w] for w in scope[:-1])]))
        return states


def _flat(cards: Sequence[int], costs: Sequence[Cost]) -> tuple[Costs, Floats, float, int]:
    """Return tables as flat arrays, costs of single states, a constant, the number of numbers."""
    begin = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
    single, constant = np.zeros(begin[-1]), 0.0
    start, moved, offset = [0], [int(begin[-1])], [0]
    item: list[int] = []
    stride: list[int] = []
    entries: list[Floats] = []
    for scope, table in costs:
        if len(scope) == 1:
            single[begin[scope[0]] : begin[scope[0] + 1]] += table
            continue
        least = float(table.min())
        constant += least
        dense = np.ascontiguousarray(table - least)
        item += scope
        stride += [step // dense.itemsize for step in dense.strides]
        moved += [moved[-1] + size for size in itertools.accumulate(dense.shape)]
        offset.append(offset[-1] + dense.size)
        start.append(len(item))
        entries.append(dense.ravel())
    owner = np.repeat(np.arange(len(entries)), np.diff(start))
    items = np.array(item, dtype=np.int64)
    first = np.searchsorted(np.sort(items), np.arange(len(cards) + 1))
    places = np.argsort(items, kind="stable")
    lists = start, items, stride, moved[:-1], offset[:-1], first, places, owner
    numbers = [np.array(x, dtype=np.int64) for x in lists]
    cost = np.concatenate(entries) if entries else np.zeros(0)
    flat = Costs._make([begin, *numbers[:5], cost, *numbers[5:]])
    return flat, single, constant, moved[-1]


class _Search:
    """A branch and bound search.

    Parameters
    ----------
    reduction : Reduction
    k : int
        Number of assignments to find.
    budget : Budget
    memory_limit : float, optional
    """

    def __init__(
        self, reduction: Reduction, k: int, budget: contract.Budget, memory_limit: float | None
    ) -> None:
        self._begun = self._told = perf_counter()
        place = {v: i for i, v in enumerate(reduction.left)}
        cards = [reduction._cards[v] for v in reduction.left]
        costs = [(tuple(place[v] for v in scope), table) for scope, table in reduction.costs]
        self.costs, self.single, constant, n_numbers = _flat(cards, costs)
        self.constant = reduction.constant + constant
        n, states = len(cards), len(self.single)
        self.best, self.values = np.zeros((k, n), dtype=np.int64), np.full(k, np.inf)
        self._work = 1 + len(self.costs.cost) + states
        steps = budget.max_steps
        if steps is None:
            steps = (
                int(max(1000, _WORK / self._work)) if budget.max_seconds is None else sys.maxsize
            )
        self._steps = steps
        self._end = math.inf if budget.max_seconds is None else budget.max_seconds
        # The root: costs of states and costs moved, states left and their number.
        self._number = np.concatenate([self.single, np.zeros(n_numbers - states)])
        self._alive = np.concatenate([np.arange(c) for c in cards]).astype(np.int64)
        self._size = np.array(cards, dtype=np.int64)
        self._gaps, self._weight = np.zeros(n), np.ones(n)
        self._lower = 0.0
        # Finite costs, for the tabu search.
        hard = [x for x in (self.costs.cost, self.single) if x.size]
        most = 1.0 + 10.0 * max(float(x[np.isfinite(x)].max(initial=0.0)) for x in hard)
        self._finite = [np.where(np.isfinite(x), x, most) for x in (self.single, self.costs.cost)]
        self._current = self.best[0].copy()
        self._seed, self._least = 1, np.inf
        rows = int(min(default_memory_limit() if memory_limit is None else memory_limit, 3e8))
        depth = min(states, max(4, rows // (8 * (len(self._number) + states + n))))
        self._stack = tuple(
            np.empty((depth + 1, len(row)), dtype=row.dtype)
            for row in (self._number, self._alive, self._size)
        )
        self._path, self._pending = np.zeros((2, states + 1), dtype=np.int64)
        self._bounds = np.zeros(states + 1)

    @property
    def _slack(self) -> float:
        scale = self.values[-1] if self.values[-1] < np.inf else self._lower
        return float(_EQUAL * (1.0 + abs(scale) + abs(self.constant)))

    def _improve(self, steps: int) -> None:
        if self.values[0] < self._least:  # a dive has found a better one
            self._current[:] = self.best[0]
        self._seed = improve(
            self.costs, self.single, *self._finite, self._current, self.best, self.values,
            self._seed, steps, 3 * len(self._size),
        )  # fmt: skip
        self._least = self.values[0]

    def _tighten(self) -> None:
        """Raise the bound of the root until it hardly moves."""
        while not self._is_late():
            lower = propagate(
                self.costs, self._number, self._alive, self._size, np.ones_like(self._size),
                self._gaps, self._weight, self._lower, self.values[-1] - self._slack,
                _ROOT_SWEEPS, 0.0,
            )  # fmt: skip
            gain, self._lower = lower - self._lower, lower
            if lower == np.inf or gain <= _GAIN * abs(lower):
                break

    def _is_late(self) -> bool:
        return perf_counter() - self._begun >= self._end

    def run(self) -> Ranking:
        """Search until the best assignments are proved, or the budget is spent."""
        n = len(self._size)
        self._improve(10 * n)
        self._tighten()
        heap: list[tuple[float, int, int, Ints]] = []
        if self._lower < np.inf:
            heap = [(self._lower, 0, 0, np.zeros(0, dtype=np.int64))]
        counter = itertools.count(1)
        left = self._steps
        while heap and left > 0 and not self._is_late():
            if heap[0][0] >= self.values[-1] - self._slack:
                heap = []
                break
            _, _, _, decisions = heapq.heappop(heap)
            length = len(decisions)
            self._path[:length] = decisions
            gap = self.values[-1] - self._lower
            scale = gap if gap < np.inf else 1e-3 * (abs(self._lower) + 1e-3)
            depth, used = dive(
                self.costs, self.single, self._number, self._alive, self._size, self._lower,
                self._path, length, self._bounds, self._pending, self.best, self.values,
                self._slack, *self._stack, self._weight, self._gaps, _BACKTRACKS,
                min(left, int(2 * n + _DIVE / self._work)), _SWEEPS, 1e-3 * scale,
            )  # fmt: skip
            left -= max(used, 1)
            for d in range(length, depth + 1):
                if self._pending[d] and self._bounds[d] < self.values[-1] - self._slack:
                    path = self._path[: d + (self._pending[d] == 1)].copy()
                    path[d:] ^= 1
                    heapq.heappush(heap, (float(self._bounds[d]), -d, next(counter), path))
            self._weight /= max(1.0, self._weight.max() / 1e6)
            # As long as the dive took, about.
            ratio = max(10, self._work // (2 * len(self.single)))
            self._improve(max(20, int(ratio * used)))
            self._show(heap)
        n_found = int(np.isfinite(self.values).sum())
        rest = heap[0][0] - self._slack if heap else math.inf
        lower = float(min(rest, self.values[-1])) + self.constant
        return Ranking(
            list(self.best[:n_found]),
            [float(x) + self.constant for x in self.values[:n_found]],
            lower,
        )

    def _show(self, heap: Sequence[Any]) -> None:
        """Print the best log probability and its bound on a terminal, once in a while."""
        now = perf_counter()
        if now - self._told < _SHOWN or not sys.stderr.isatty():
            return
        self._told = now
        best, most = -(self.values[0] + self.constant), -(heap[0][0] + self.constant) if heap else 0
        text = f"search: {rounded(best, 6)}, at most {rounded(most, 6)}"
        sys.stderr.write(f"{text}, {format_seconds(now - self._begun)}\r")


def rank(
    cards: Sequence[int],
    costs: Iterable[Cost],
    k: int = 1,
    budget: contract.Budget = _UNLIMITED,
    memory_limit: float | None = None,
) -> Ranking:
    """Return the assignments of the least sums of costs, and a bound of all others.

    Parameters
    ----------
    cards : sequence of int
        Number of states of each variable.
    costs : iterable of tables
        Negative logs; infinite costs are impossible.
    k : int
        Number of assignments. Only for one of them are variables eliminated before the search.
    budget : Budget
    memory_limit : float, optional
        Bytes for the nodes of the search.
    """
    reduction = Reduction(cards, costs, _SMALL if k == 1 else 0)
    if any(not np.isfinite(table.min()) for _, table in reduction.costs):
        return Ranking([], [], np.inf)
    if not math.isfinite(reduction.constant):
        return Ranking([], [], np.inf)
    if not reduction.left:
        nothing = np.zeros(0, dtype=np.int64)
        return Ranking([reduction.extended(nothing)], [reduction.constant], reduction.constant)
    ranking = _Search(reduction, k, budget, memory_limit).run()
    return ranking._replace(states=[reduction.extended(states) for states in ranking.states])


# ------------------------------------------------------ the marginal MAP: others are summed out


def summed(
    cards: Sequence[int], costs: Iterable[Cost], hidden: Iterable[int], most: int
) -> tuple[list[Cost], bool]:
    """Sum variables out of a product; return costs, not above the true ones, and if they are exact.

    Tables whose product has more than `most` entries are not multiplied: of all but one of them the
    variable is maximised (mini-buckets; Dechter and Rish 2003).
    """
    left = list(costs)
    todo, is_exact = set(hidden), True

    def bucket_size(v: int) -> tuple[int, int]:
        scope = set().union(*(scope for scope, _ in left if v in scope))
        return math.prod(cards[w] for w in scope), v

    while todo:
        v = min(todo, key=bucket_size)
        todo.remove(v)
        bucket = sorted((c for c in left if v in c[0]), key=lambda cost: -cost[1].size)
        left = [c for c in left if v not in c[0]]
        groups: list[Cost] = []
        for scope, table in bucket:
            for at, (wide, total) in enumerate(groups):
                union = tuple(sorted({*wide, *scope}))
                if math.prod(cards[w] for w in union) <= most:
                    joint = _aligned((wide, total), union) + _aligned((scope, table), union)
                    groups[at] = union, joint
                    break
            else:
                groups.append((scope, table))
        is_exact &= len(groups) <= 1
        for at, (scope, table) in enumerate(groups):
            axis = scope.index(v)
            out = table.min(axis=axis) if at else -log_sum_exp(-table, axis)
            left.append((scope[:axis] + scope[axis + 1 :], out))
        if not bucket:
            left.append(((), np.array(-math.log(cards[v]))))
    return left, is_exact


class SearchBest(FactorBest):
    """Prepared query for the most probable assignments, answered by search.

    The answer of ``take`` has at most as many assignments as the question wants.
    """

    def run(self, case: contract.Case, memory_limit: float | None = None) -> contract.Taken | None:
        evidence = case.evidence(self.model.variables)
        tables = discrete_tables(self.model, evidence, memory_limit)
        logs = [tables.table(f, logs=True) for f in range(len(tables))]
        costs: list[Cost] = [(tuple(numbers), -table) for numbers, table in logs]
        costs.append(((), np.array(-tables.log_scale - case.log_scale)))
        if self.question.over is not None:
            assignments = self._marginal(case, tables, costs, memory_limit)
        else:
            assignments = self._joint(case, evidence, tables, costs, memory_limit)
        return contract.Taken(lambda k: assignments[:k]) if assignments else None

    def _joint(
        self,
        case: contract.Case,
        evidence: Evidence,
        tables: Tables,
        costs: list[Cost],
        memory_limit: float | None,
    ) -> list[Assignment]:
        """Return the best assignments of all variables."""
        question = self.question
        ranking = rank(tables.cards.tolist(), costs, question.k, question.budget, memory_limit)
        assignments = []
        for states, cost in zip(ranking.states, ranking.costs, strict=True):
            values: dict[Any, Any] = dict(zip(tables.variables, states[:, None], strict=True))
            if question.means:
                values = completed(self.model, self._free(evidence), values, evidence, False, None)
            named = self._named(case, values)
            assignments.append(Assignment(named, -cost, -min(cost, ranking.lower)))
        return assignments

    def _marginal(
        self,
        case: contract.Case,
        tables: Tables,
        costs: list[Cost],
        memory_limit: float | None,
    ) -> list[Assignment]:
        """Return the best assignments of some variables, the others summed out.

        Candidates come in the order of a bound of their probability, which is then computed.
        """
        question, cards = self.question, tables.cards.tolist()
        wanted = [self.model.variables[v] for v in question.over]
        over = tables.numbers(wanted)
        hidden = set(range(len(cards))) - set(over)
        bounds, is_exact = summed(cards, costs, hidden, _BUCKET)
        order = {v: i for i, v in enumerate(sorted(over))}
        begun, logs, k = perf_counter(), {}, question.k
        costs_over = [(tuple(order[v] for v in scope), table) for scope, table in bounds]
        columns = [cards[v] for v in sorted(over)]
        while True:
            ranking = rank(columns, costs_over, k, question.budget, memory_limit)
            for states, cost in zip(ranking.states, ranking.costs, strict=True):
                codes = tuple(int(states[order[v]]) for v in over)
                if codes not in logs:
                    logs[codes] = -cost if is_exact else self._mass(case, codes, memory_limit)
            best = sorted(logs, key=lambda codes: (-logs[codes], codes))[: question.k]
            lower = ranking.lower
            if is_exact or len(ranking.costs) < k or k >= _CANDIDATES:
                break
            if best and -lower <= logs[best[-1]]:
                break
            seconds = question.budget.max_seconds
            if seconds is not None and perf_counter() - begun >= seconds:
                break
            k *= 2
        return [
            Assignment(
                {v.name: v.states[code] for v, code in zip(wanted, codes, strict=True)},
                logs[codes],
                max(logs[codes], -lower),
            )
            for codes in best
            if logs[codes] > -math.inf
        ]

    def _mass(self, case: contract.Case, codes: Sequence[int], memory_limit: float | None) -> float:
        """Return the log probability of states of the variables in question, and the evidence."""
        hard = {**case.hard, **dict(zip(self.question.over, codes, strict=True))}
        soft = {v: logs for v, logs in case.soft.items() if v not in hard}
        scale = case.log_scale + sum(float(case.soft[v][hard[v]]) for v in case.soft if v in hard)
        judged = contract.Case(hard, soft, scale)
        model = self.model
        work = model._work(contract.Mass(), judged.pattern, memory_limit)
        return float(work.run(judged, memory_limit))


class Searching(contract.Solver):
    """Solver by branch and bound, for products whose discrete variables have tables."""

    name = "branch and bound"
    condition = "method='search', or elimination needs too much memory"
    kinds = ("product",)
    works: ClassVar = {contract.Search: SearchBest}

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        free = [
            v
            for v, variable in enumerate(model.variables)
            if v not in pattern.observed and isinstance(variable, Discrete)
        ]
        scopes = slice_of_case(model, pattern, free).slice.scopes
        steps = (contract.PlanStep(scope[-1], scope) for scope in scopes if scope)
        return contract.Plan(tuple(steps))
