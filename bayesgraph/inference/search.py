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
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.core.arrays import log_sum_exp, step_limit
from bayesgraph.core.errors import EvidenceError, MemoryLimitError
from bayesgraph.core.parallel import BYTES, default_memory_limit
from bayesgraph.core.variables import Discrete
from bayesgraph.inference import contract
from bayesgraph.inference.contract import Case
from bayesgraph.inference.elimination import completed, discrete_tables
from bayesgraph.inference.factor_solver import FactorBest, plan_of_factors
from bayesgraph.inference.results import Assignment
from bayesgraph.inference.search_kernels import (
    Costs,
    Effort,
    Floats,
    Guide,
    Ints,
    Node,
    Path,
    Pool,
    dive,
    improve,
    propagate,
)
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
# Bytes of the nodes to go back to.
_STACK = 3e8
_UNLIMITED = contract.Budget()
# Entries of a table of a mini-bucket, and candidates for the marginal MAP that are looked at.
_BUCKET, _CANDIDATES = 2**20, 1024


def search_budget(
    method: str,
    fallback: str | None,
    max_seconds: Any,
    max_steps: Any,
    progress: Callable[[float, float], object] | None,
) -> contract.Budget:
    """Return when a search stops, after checks of the options of `most_probable`."""
    if method not in ("exact", "search"):
        raise EvidenceError(f"method is 'exact' or 'search'; got {method!r}.")
    if fallback not in (None, "search"):
        raise EvidenceError(f"fallback is 'search' or None; got {fallback!r}.")
    return contract.Budget(step_limit(max_steps, max_seconds), max_seconds, progress)


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
    """Return a table with an axis for each variable of a wider scope, of length 1 for new ones."""
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
        Maximum number of entries of a table that elimination makes; 0 eliminates nothing.

    Attributes
    ----------
    left : list of int
        The variables that are not eliminated, ascending.
    costs : list of tables
        Over these variables.
    constant : float
        Cost in addition to the tables.
    """

    def __init__(self, cards: Sequence[int], costs: Iterable[Cost], most: int) -> None:
        self.cards = cards
        self._costs: dict[tuple[int, ...], Floats] = {}
        self._of: list[set[tuple[int, ...]]] = [set() for _ in cards]  # scopes with each variable
        self.constant = 0.0
        # Ascending scopes, so that tables over the same variables have the same scope.
        for scope, table in costs:
            self._add((tuple(sorted(scope)), _aligned((scope, table), tuple(sorted(scope)))))
        # The sum of costs from which each variable was eliminated, its last axis, in this order.
        self._trace: list[Cost] = []
        if most:
            self._eliminate(most)
        gone = {scope[-1] for scope, _ in self._trace}
        self.left = [v for v in range(len(cards)) if v not in gone]
        self.costs = list(self._costs.items())

    def _add(self, cost: Cost) -> None:
        """Add a table to the costs; those of one scope are summed."""
        scope, table = cost
        if not scope:
            self.constant += float(table)
        elif scope in self._costs:
            self._costs[scope] = self._costs[scope] + table
        else:
            self._costs[scope] = table
            for v in scope:
                self._of[v].add(scope)

    def _neighbours(self, v: int) -> tuple[int, ...]:
        return tuple(sorted(set(itertools.chain.from_iterable(self._of[v])) - {v}))

    def _size(self, v: int) -> int:
        """Return the number of entries of the table that the elimination of v makes."""
        return math.prod(self.cards[w] for w in self._neighbours(v))

    def _eliminate(self, most: int) -> None:
        """Eliminate variables, those that make the smallest tables first."""
        heap = [(self._size(v), v) for v in range(len(self.cards))]
        heapq.heapify(heap)
        gone = set()
        while heap:
            size, v = heapq.heappop(heap)
            if v in gone or size != self._size(v):
                continue  # outdated: the entry with the present size comes later, or came before
            largest = max((self._costs[scope].size for scope in self._of[v]), default=0)
            if size > max(most, largest):  # one as large as a table of v now does no harm
                continue
            gone.add(v)
            around = self._neighbours(v)
            scope = (*around, v)
            total = np.zeros([self.cards[w] for w in scope])
            for narrower in sorted(self._of[v]):
                for w in narrower:
                    self._of[w].discard(narrower)
                total = total + _aligned((narrower, self._costs.pop(narrower)), scope)
            self._trace.append((scope, total))
            self._add((around, total.min(axis=-1)))
            for w in around:
                heapq.heappush(heap, (self._size(w), w))

    def extended(self, left: Ints) -> Ints:
        """Return the best states of all variables, given those of the variables that are left."""
        states = np.zeros(len(self.cards), dtype=np.int64)
        states[self.left] = left
        # The scope of each has, besides the variable, only such as were left or eliminated later.
        for scope, total in reversed(self._trace):
            states[scope[-1]] = int(np.argmin(total[tuple(states[w] for w in scope[:-1])]))
        return states


def _flat(cards: Sequence[int], reduction: Reduction) -> tuple[Costs, float, int]:
    """Return the costs of a reduction as flat arrays, a constant, and the length of `Node.number`.

    `cards` are those of the variables that are left. The least cost of each table is moved from it
    to the constant. `Node.number` has the costs of all states, then for each place (a
    variable in a table) the costs moved from the table to the variable's states.
    """
    index_of = {v: i for i, v in enumerate(reduction.left)}
    costs = [(tuple(index_of[v] for v in scope), table) for scope, table in reduction.costs]
    begin = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
    single, constant = np.zeros(begin[-1]), 0.0
    moved, offset = [int(begin[-1])], [0]  # where the numbers of each place, and each table, begin
    item: list[int] = []
    stride: list[int] = []
    entries: list[Floats] = [np.zeros(0)]
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
        entries.append(dense.ravel())
    sizes = [len(scope) for scope, _ in costs if len(scope) > 1]
    items = np.array(item, dtype=np.int64)
    # In the order of `Costs`, of which `single` and `cost` are put between. Sorted by variable, the
    # places of each variable are side by side.
    lists = (
        begin, np.cumsum([0, *sizes]), items, stride, moved[:-1], offset[:-1],
        np.searchsorted(np.sort(items), np.arange(len(cards) + 1)),
        np.argsort(items, kind="stable"), np.repeat(np.arange(len(sizes)), sizes),
        np.repeat(np.arange(len(cards)), cards),
    )  # fmt: skip
    numbers = [np.array(x, dtype=np.int64) for x in lists]
    flat = Costs._make([*numbers[:6], single, np.concatenate(entries), *numbers[6:]])
    return flat, constant, moved[-1]


class _Search:
    """A branch and bound search.

    Parameters
    ----------
    reduction : Reduction
    k : int
        Number of assignments to find.
    budget : Budget
    memory_limit : float, optional
    end : float
        When the time of the budget ends.
    """

    def __init__(
        self,
        reduction: Reduction,
        k: int,
        budget: contract.Budget,
        memory_limit: float | None,
        end: float,
    ) -> None:
        self._budget, self._end = budget, end
        cards = [reduction.cards[v] for v in reduction.left]
        self._costs, constant, n_numbers = _flat(cards, reduction)
        self._constant = reduction.constant + constant
        n, states = len(cards), len(self._costs.single)  # numbers of variables, of all their states
        self._work = 1 + len(self._costs.cost) + states  # numbers that one sweep looks at
        self._steps = budget.max_steps
        # Without a number of steps the time decides or, if that is not limited either, the work.
        if self._steps is None:
            is_timed = budget.max_seconds is not None
            self._steps = sys.maxsize if is_timed else int(max(1000, _WORK / self._work))
        # At the root all states are left, and no costs are moved yet.
        number = np.concatenate([self._costs.single, np.zeros(n_numbers - states)])
        alive = np.concatenate([np.arange(card) for card in cards]).astype(np.int64)
        self._root = Node(number, alive, np.array(cards, dtype=np.int64))
        self._lower = 0.0  # bound of the root
        self._guide = Guide(np.ones(n), np.ones(n), np.empty(max(cards)))
        limit = min(default_memory_limit() if memory_limit is None else memory_limit, _STACK)
        # Nodes that fit into memory; at most one for each state is on the way to a leaf.
        depth = int(min(states, max(4, limit // (BYTES * (n_numbers + states + n)))))
        shapes = [(depth + 1, len(row)) for row in self._root]
        self._stack = Node(np.empty(shapes[0]), *(np.empty(x, np.int64) for x in shapes[1:]))
        # A path has at most a decision for each state: each takes one state or more.
        decision, pending = np.zeros((2, states + 1), dtype=np.int64)
        self._path = Path(decision, pending, np.zeros(states + 1))
        self._pool = Pool(np.zeros((k, n), dtype=np.int64), np.full(k, np.inf))
        # For tabu search: finite costs (a penalty above all others in place of infinite ones), an
        # assignment, the seed, and the least cost when it last ended.
        parts = self._costs.cost, self._costs.single
        penalty = 1.0 + 10.0 * max(float(x[np.isfinite(x)].max(initial=0.0)) for x in parts)
        finite = [np.where(np.isfinite(x), x, penalty) for x in parts]
        self._soft = self._costs._replace(cost=finite[0], single=finite[1])
        self._current, self._seed, self._least = np.zeros(n, dtype=np.int64), 1, np.inf

    @property
    def _upper(self) -> float:
        """The cost of the worst of the k best assignments so far: what others must be below."""
        return float(self._pool.value[-1])

    @property
    def _slack(self) -> float:
        """The difference of costs that counts as none."""
        scale = self._upper if self._upper < np.inf else self._lower
        return _EQUAL * (1.0 + abs(scale) + abs(self._constant))

    def _is_late(self) -> bool:
        return perf_counter() >= self._end

    def _improve(self, steps: int) -> None:
        """Look for better assignments by tabu search, of `steps` changes, and add them to the pool.

        It goes on from the assignment with which it last ended.
        """
        if self._pool.value[0] < self._least:  # a dive has found one
            self._current[:] = self._pool.states[0]
        patience = 3 * len(self._current)
        self._seed = improve(
            self._costs, self._soft, self._pool, self._current, self._seed, steps, patience
        )
        self._least = self._pool.value[0]

    def _dive(self, decisions: Ints, left: int) -> tuple[int, list[tuple[float, int, Ints]]]:
        """Search below some decisions; return the number of nodes, and the nodes that are left.

        Each has a bound, the negative number of decisions (of equal bounds the deepest node comes
        first), and the decisions. `left` is the number of steps in the budget.
        """
        path, length = self._path, len(decisions)
        path.decision[:length] = decisions
        gap = self._upper - self._lower
        # Without an assignment yet, a small part of the bound stands for the gap.
        gap = gap if gap < np.inf else 1e-3 * (abs(self._lower) + 1e-3)
        # Enough nodes to give each variable a state, and more where nodes take little time.
        steps = min(left, int(2 * len(self._current) + _DIVE / self._work))
        # Costs of less than a thousandth of the gap are not passed on between tables.
        effort = Effort(_BACKTRACKS, steps, _SWEEPS, self._slack, 1e-3 * gap)
        depth, count = dive(
            self._costs, self._root, self._stack, self._guide, path, self._pool, length,
            self._lower, effort,
        )  # fmt: skip
        # Keeps the weights, which grow with each dead end, in range.
        self._guide.weight[:] /= max(1.0, self._guide.weight.max() / 1e6)
        nodes = []
        for d in range(length, depth + 1):
            if path.pending[d]:
                # 1: decision d was tried, and its opposite is left; 2: the node before it is left.
                # In the first case the copy ends with decision d, which becomes its opposite.
                copy = path.decision[: d + (path.pending[d] == 1)].copy()
                copy[d:] ^= 1
                nodes.append((float(path.bound[d]), -d, copy))
        return count, nodes

    def run(self) -> Ranking:
        """Search until the best assignments are proved, or the budget is spent."""
        self._improve(10 * len(self._current))
        # Raise the bound of the root until it hardly moves, by propagation only: no backtracks,
        # steps, slack or tolerance.
        gain, effort = math.inf, Effort(0, 0, _ROOT_SWEEPS, 0.0, 0.0)
        while gain > _GAIN * abs(self._lower) and not self._is_late():
            self._guide.dirty[:] = 1.0
            upper = self._upper - self._slack
            lower = propagate(self._costs, self._root, self._guide, self._lower, upper, effort)
            gain, self._lower = lower - self._lower, lower
        # Open nodes: the bound, minus the number of decisions, a tie-breaker, the decisions.
        heap: list[tuple[float, int, int, Ints]] = []
        if self._lower < np.inf:
            heap = [(self._lower, 0, 0, np.zeros(0, dtype=np.int64))]
        # A tie-breaker, and the steps that are left.
        counter, left = itertools.count(1), self._steps or 0
        # Changes that take as long as a node, about.
        ratio = max(10, self._work // (2 * len(self._costs.single)))
        while heap and left > 0 and not self._is_late():
            count, nodes = self._dive(heapq.heappop(heap)[-1], left)
            left -= max(count, 1)
            for bound, depth, decisions in nodes:
                heapq.heappush(heap, (bound, depth, next(counter), decisions))
            self._improve(max(20, ratio * count))
            if heap and heap[0][0] >= self._upper - self._slack:  # nothing better is left
                heap = []
            if self._budget.progress is not None:
                # Log probabilities: that of the best assignment, and an upper bound of it.
                values = self._pool.value[0], heap[0][0] if heap else self._pool.value[0]
                self._budget.progress(*(-float(x) - self._constant for x in values))
        # What was not searched costs the least bound of the heap, all else what the worst of the
        # pool costs, or more.
        unsearched = heap[0][0] - self._slack if heap else math.inf
        n_best = int(np.isfinite(self._pool.value).sum())
        costs = (self._pool.value[:n_best] + self._constant).tolist()
        return Ranking(
            list(self._pool.states[:n_best]), costs, min(unsearched, self._upper) + self._constant
        )


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
    end = perf_counter() + (budget.max_seconds or math.inf)
    reduction = Reduction(cards, costs, _SMALL if k == 1 else 0)
    least = [reduction.constant, *(float(table.min()) for _, table in reduction.costs)]
    if not np.isfinite(least).all():  # a factor without possible entry
        return Ranking([], [], np.inf)
    if not reduction.left:
        nothing = np.zeros(0, dtype=np.int64)
        return Ranking([reduction.extended(nothing)], [reduction.constant], reduction.constant)
    ranking = _Search(reduction, k, budget, memory_limit, end).run()
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
        """Return the entries of the product of all tables with v, and v to break ties."""
        scope = set().union(*(scope for scope, _ in left if v in scope))
        return math.prod(cards[w] for w in scope), v

    while todo:
        v = min(todo, key=bucket_size)
        todo.remove(v)
        bucket = sorted((c for c in left if v in c[0]), key=lambda cost: -cost[1].size)
        left = [c for c in left if v not in c[0]]
        # The largest tables first, each is multiplied into the first group in which it fits.
        groups: list[Cost] = []
        for scope, table in bucket:
            for at, (wide, total) in enumerate(groups):
                union = tuple(sorted({*wide, *scope}))
                if math.prod(cards[w] for w in union) <= most:
                    joint = _aligned((wide, total), union) + _aligned((scope, table), union)
                    groups[at] = union, joint
                    break
            else:  # it fits in none
                groups.append((scope, table))
        is_exact &= len(groups) <= 1
        for at, (scope, table) in enumerate(groups):
            axis = scope.index(v)
            # A sum of products is at most the sum of one factor times the maxima of the others.
            out = table.min(axis=axis) if at else -log_sum_exp(-table, axis)
            left.append((scope[:axis] + scope[axis + 1 :], out))
        if not bucket:  # in no table: the sum over its states multiplies by their number
            left.append(((), np.array(-math.log(cards[v]))))
    return left, is_exact


class SearchBest(FactorBest):
    """Prepared query for the most probable assignments, answered by search.

    The answer of ``take`` has at most as many assignments as the question wants.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> contract.Taken | None:
        evidence = case.evidence(self.model.variables)
        tables = discrete_tables(self.model, evidence, memory_limit)
        logs = [tables.table(f, logs=True) for f in range(len(tables))]
        costs: list[Cost] = [(tuple(numbers), -table) for numbers, table in logs]
        costs.append(((), np.array(-tables.log_scale - case.log_scale)))  # a constant, no axes
        if self.question.over is None:
            k, budget = self.question.k, self.question.budget
            ranking = rank(tables.arrays.cards.tolist(), costs, k, budget, memory_limit)
        else:
            ranking = self._rank_sums(case, tables, costs, memory_limit)
        if not ranking.states and ranking.lower < math.inf:
            raise MemoryLimitError(
                "The search ended before it found an assignment of positive probability, and "
                "before it excluded all. Raise max_seconds or max_steps, or observe more variables."
            )
        assignments = []
        for states, cost in zip(ranking.states, ranking.costs, strict=True):
            # Evidence has one row, so that each variable's states are an array of one.
            values: dict[Any, Any] = dict(zip(tables.variables, states[:, None], strict=True))
            if self.question.over is not None:
                wanted = [self.model.variables[v] for v in self.question.over]
                values = {v: values[v] for v in wanted}
            elif self.question.means:  # conditional means (joint=False), default memory_limit
                values = completed(self.model, self._free(evidence), values, evidence, False, None)
            named = self._named(case, values)
            # Costs are negative logs: the log probability, and an upper bound of all others'.
            assignments.append(Assignment(named, -cost, -min(cost, ranking.lower)))
        return contract.Taken(lambda k: assignments[:k]) if assignments else None

    def _rank_sums(
        self, case: Case, tables: Tables, costs: list[Cost], limit: float | None
    ) -> Ranking:
        """Return the best assignments of some variables, the others summed out.

        Candidates come in the order of a bound of their probability, which is then computed. The
        number of candidates is doubled until no other can be among the best.
        """
        question, model = self.question, self.model
        over = tables.numbers(model.variables[v] for v in question.over)
        hidden = set(range(len(tables.variables))) - set(over)
        most = int(min(_BUCKET, math.inf if limit is None else limit / BYTES))
        bounds, is_exact = summed(tables.arrays.cards.tolist(), costs, hidden, most)
        # Hidden variables are in no table of `bounds`: one state of each is enough.
        cards = [1 if v in hidden else int(c) for v, c in enumerate(tables.arrays.cards)]
        end = perf_counter() + (question.budget.max_seconds or math.inf)
        # By the codes of a candidate: its cost, a tie-breaker, and the states of all variables.
        masses: dict[tuple[int, ...], tuple[float, int, Ints]] = {}
        k = question.k
        while True:
            ranking = rank(cards, bounds, k, question.budget, limit)
            if is_exact:
                return ranking
            for states in ranking.states:
                codes = tuple(states[over].tolist())
                if codes not in masses:
                    judged = case.with_states(dict(zip(question.over, codes, strict=True)))
                    log_mass = float(model._answer(contract.Mass(), judged, limit))
                    masses[codes] = -log_mass, len(masses), states
            best = sorted(masses.values())[: question.k]
            # With fewer candidates than asked for there are no others, or the budget is spent.
            is_done = len(ranking.costs) < k or k >= _CANDIDATES or perf_counter() >= end
            if is_done or best[-1][0] <= ranking.lower:
                return Ranking([x[2] for x in best], [x[0] for x in best], ranking.lower)
            k *= 2


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
        return plan_of_factors(model, pattern, free)
