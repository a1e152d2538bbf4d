"""What will be computed, chosen from scopes and cardinalities alone, before anything runs."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayesgraph.errors import MemoryLimitError
from bayesgraph.variables import Continuous, Discrete, Name, Variable

_BYTES = 8
# NumPy arrays have at most 64 axes; a few are needed besides the scope's.
_MOST_AXES = 60


@dataclass(frozen=True)
class PlanStep:
    """One elimination: the variable and the scope of the product that it leaves."""

    variable: Variable
    scope: tuple[Variable, ...]

    @property
    def entries(self) -> int:
        """Numbers in the product, counted for one row of evidence."""
        return table_entries(self.scope)


@dataclass(frozen=True)
class Plan:
    """An elimination order with its cost, for one row of evidence.

    Attributes
    ----------
    steps : tuple of PlanStep
        In the order in which they run.
    keep : tuple of variables
        What the result is over: the targets and, for a continuous target, the discrete variables
        that index the components of its mixture.
    """

    steps: tuple[PlanStep, ...]
    keep: tuple[Variable, ...]

    @property
    def order(self) -> tuple[Name, ...]:
        """Names of the eliminated variables, first to last."""
        return tuple(step.variable.name for step in self.steps)

    @property
    def width(self) -> int:
        """Induced width: variables in the largest product, less one."""
        return max((len(scope) for scope in self._scopes()), default=1) - 1

    @property
    def largest_table(self) -> int:
        """Numbers in the largest product."""
        return max((table_entries(scope) for scope in self._scopes()), default=1)

    @property
    def multiplications(self) -> int:
        """Numbers in all products together: about the multiplications done."""
        return sum(table_entries(scope) for scope in self._scopes())

    @property
    def bytes(self) -> int:
        """Memory of the largest product."""
        return _BYTES * self.largest_table

    @property
    def components(self) -> int:
        """Gaussian components of the result: 1 without continuous targets."""
        if not any(isinstance(v, Continuous) for v in self.keep):
            return 1
        return math.prod(v.cardinality for v in self.keep if isinstance(v, Discrete))

    def _scopes(self) -> list[tuple[Variable, ...]]:
        return [*(step.scope for step in self.steps), self.keep]

    def check_memory(self, limit: int | None = None) -> None:
        """Raise a MemoryLimitError if the largest product does not fit."""
        allowed = default_memory_limit() if limit is None else limit
        too_many_axes = any(len(scope) > _MOST_AXES for scope in self._scopes())
        if self.bytes > allowed or too_many_axes:
            raise MemoryLimitError(
                f"This query needs a table of {format_count(self.largest_table)} numbers "
                f"({format_bytes(self.bytes)}, induced width {self.width}); the limit is "
                f"{format_bytes(allowed)}. Observe more variables or ask for fewer at a time."
            )

    def __str__(self) -> str:
        kept = ", ".join(str(variable.name) for variable in self.keep) or "nothing"
        lines = [
            f"Plan: eliminate {len(self.steps)} variables, keep {kept}",
            f"  induced width    {self.width}",
            f"  largest table    {format_count(self.largest_table)} numbers "
            f"({format_bytes(self.bytes)})",
            f"  multiplications  {format_count(self.multiplications)}",
        ]
        if self.components > 1:
            lines.append(
                f"  components       {format_count(self.components)} Gaussians in the result"
            )
        for number, step in enumerate(self.steps, start=1):
            scope = ", ".join(str(variable.name) for variable in step.scope)
            verb = "integrate" if isinstance(step.variable, Continuous) else "sum"
            lines.append(f"  {number:>4}. {verb} {step.variable.name} out of ({scope})")
        return "\n".join(lines)

    __repr__ = __str__


def table_entries(scope: Iterable[Variable]) -> int:
    """Return how many numbers a factor over the scope holds, canonical Gaussians included."""
    cells, continuous = 1, 0
    for variable in scope:
        if isinstance(variable, Discrete):
            cells *= variable.cardinality
        else:
            continuous += 1
    return _entries(cells, continuous)


def _entries(cells: int, continuous: int) -> int:
    return cells * (1 + continuous + continuous * continuous) if continuous else cells


def format_count(number: int) -> str:
    """Return a whole number as people write it; those of wide graphs do not fit a float."""
    if number < 10**12:
        return f"{number:,}"
    return f"{number:.3g}" if number < 10**300 else f"10^{int(math.log10(number))}"


def format_bytes(number: float) -> str:
    """Return a size in bytes as people write it."""
    if number >= 10**300:
        return f"{format_count(int(number))} B"
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} EB"


def default_memory_limit() -> int:
    """Return half of the machine's memory in bytes (4 GB where it cannot be asked)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 * 10**9


def make_plan(
    scopes: Iterable[Sequence[Variable]],
    keep: Sequence[Variable] = (),
    *,
    order: Iterable[Variable] = (),
) -> Plan:
    """Choose an elimination order by minimum fill-in, strong where types mix.

    Continuous variables go first (Lauritzen 1992: a sum over discrete variables of conditional
    Gaussians is not one), then discrete ones.
    Discrete variables that index a kept continuous one are kept too: they are the components of
    its mixture. Ties: the smaller product, then the order given.

    Parameters
    ----------
    scopes : iterable of sequences of variables
    keep : sequence of variables
        Not eliminated; the result lists them in this order.
    order : iterable of variables
        Breaks ties; variables that it lacks follow in order of first appearance.
    """
    graph = _EliminationGraph(scopes, order)
    kept = list(keep)
    steps = graph.eliminate(
        v for v in graph.variables if isinstance(v, Continuous) and v not in keep
    )
    components = {
        neighbour
        for variable in kept
        if isinstance(variable, Continuous) and variable in graph.position
        for neighbour in graph.neighbours(variable)
        if isinstance(neighbour, Discrete)
    }
    kept += sorted(components.difference(keep), key=graph.position.__getitem__)
    free = [v for v in graph.variables if isinstance(v, Discrete) and v not in kept]
    steps += graph.eliminate(free)
    return Plan(tuple(steps), tuple(kept))


class _EliminationGraph:
    """The interaction graph, from which variables are removed at least fill-in first.

    Nodes are positions in `variables`. The fill-in of a node (pairs of neighbours that are not
    joined) and the size of its product are kept up to date edge by edge, never counted afresh: a
    star of n leaves costs n steps of constant work.
    """

    def __init__(self, scopes: Iterable[Sequence[Variable]], order: Iterable[Variable]) -> None:
        listed = [tuple(dict.fromkeys(scope)) for scope in scopes]
        seen = dict.fromkeys(variable for scope in listed for variable in scope)
        self.variables = [v for v in dict.fromkeys((*order, *seen)) if v in seen]
        self.position = {variable: place for place, variable in enumerate(self.variables)}
        self._near: list[set[int]] = [set() for _ in self.variables]
        for scope in listed:
            places = [self.position[variable] for variable in scope]
            for place in places:
                self._near[place].update(places)
        for place, near in enumerate(self._near):
            near.discard(place)
        self._fill = [self._missing(near) for near in self._near]
        # A continuous variable multiplies no cells; it is counted.
        self._factor = [v.cardinality if isinstance(v, Discrete) else 1 for v in self.variables]
        self._one = [int(isinstance(v, Continuous)) for v in self.variables]
        self._cells = [
            math.prod((self._factor[other] for other in near), start=self._factor[place])
            for place, near in enumerate(self._near)
        ]
        self._continuous = [
            sum((self._one[other] for other in near), start=self._one[place])
            for place, near in enumerate(self._near)
        ]

    def neighbours(self, variable: Variable) -> list[Variable]:
        """Return the neighbours of a variable that is still there, in order."""
        return [self.variables[place] for place in sorted(self._near[self.position[variable]])]

    def eliminate(self, variables: Iterable[Variable]) -> list[PlanStep]:
        """Remove the variables, each time the cheapest, and return the steps."""
        waiting = {place: self._cost(place) for place in map(self.position.__getitem__, variables)}
        heap = [(*cost, place) for place, cost in waiting.items()]
        heapq.heapify(heap)
        steps = []
        while heap:
            fill, entries, place = heapq.heappop(heap)
            if waiting.get(place) != (fill, entries):
                continue  # an outdated entry
            del waiting[place]
            variable = self.variables[place]
            steps.append(PlanStep(variable, (*self.neighbours(variable), variable)))
            for touched in self._remove(place):
                if touched in waiting:
                    cost = self._cost(touched)
                    if cost != waiting[touched]:
                        waiting[touched] = cost
                        heapq.heappush(heap, (*cost, touched))
        return steps

    def _cost(self, place: int) -> tuple[int, int]:
        return self._fill[place], _entries(self._cells[place], self._continuous[place])

    def _missing(self, near: set[int]) -> int:
        return sum(len(near) - 1 - len(near & self._near[other]) for other in near) // 2

    def _remove(self, place: int) -> set[int]:
        """Join the neighbours, drop the node; return the nodes whose cost may have changed."""
        near = self._near[place]
        touched = set(near)
        for a in sorted(near):
            for b in sorted(near - self._near[a] - {a}):
                touched |= self._join(a, b)
        for other in near:
            rest = self._near[other]
            rest.discard(place)
            self._fill[other] -= len(rest) - len(rest & near)
            self._cells[other] //= self._factor[place]
            self._continuous[other] -= self._one[place]
        self._near[place] = set()
        return touched

    def _join(self, a: int, b: int) -> set[int]:
        """Add an edge; return the nodes that have both ends as neighbours."""
        common = self._near[a] & self._near[b]
        for c in common:
            self._fill[c] -= 1
        for one, other in ((a, b), (b, a)):
            self._fill[one] += len(self._near[one]) - len(common)
            self._cells[one] *= self._factor[other]
            self._continuous[one] += self._one[other]
        self._near[a].add(b)
        self._near[b].add(a)
        return common
