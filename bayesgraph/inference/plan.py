"""What will be computed, chosen from scopes and cardinalities alone, before anything runs."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Collection, Iterable, Sequence
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
    last: Collection[Variable] = (),
) -> Plan:
    """Choose an elimination order by minimum fill-in, strong where types mix.

    Continuous variables go first (Lauritzen 1992: a sum over discrete variables of conditional
    Gaussians is not one), then discrete ones, then those in `last` (maximised after the sums).
    Discrete variables that index a kept continuous one are kept too: they are the components of
    its mixture. Ties: the smaller product, then the order given.

    Parameters
    ----------
    scopes : iterable of sequences of variables
    keep : sequence of variables
        Not eliminated; the result lists them in this order.
    order : iterable of variables
        Breaks ties; variables that it lacks follow in order of first appearance.
    last : collection of Discrete
        Eliminated after all others.
    """
    graph = _EliminationGraph(scopes, order)
    kept = list(keep)
    steps = graph.eliminate(
        v for v in graph.variables if isinstance(v, Continuous) and v not in keep
    )
    components = {
        neighbour
        for variable in kept
        if isinstance(variable, Continuous) and variable in graph.neighbours
        for neighbour in graph.neighbours[variable]
        if isinstance(neighbour, Discrete)
    }
    kept += sorted(components.difference(keep), key=graph.position.__getitem__)
    free = [v for v in graph.variables if isinstance(v, Discrete) and v not in kept]
    steps += graph.eliminate(v for v in free if v not in last)
    steps += graph.eliminate(v for v in free if v in last)
    return Plan(tuple(steps), tuple(kept))


class _EliminationGraph:
    """The interaction graph, from which variables are removed at least fill-in first."""

    def __init__(self, scopes: Iterable[Sequence[Variable]], order: Iterable[Variable]) -> None:
        self.neighbours: dict[Variable, set[Variable]] = {}
        for scope in scopes:
            for variable in scope:
                self.neighbours.setdefault(variable, set()).update(scope)
        for variable, near in self.neighbours.items():
            near.discard(variable)
        self.variables = [
            v for v in dict.fromkeys((*order, *self.neighbours)) if v in self.neighbours
        ]
        self.position = {variable: place for place, variable in enumerate(self.variables)}

    def eliminate(self, variables: Iterable[Variable]) -> list[PlanStep]:
        """Remove the variables, each time the cheapest, and return the steps."""
        waiting = {variable: self._cost(variable) for variable in variables}
        heap = [(*cost, self.position[v]) for v, cost in waiting.items()]
        heapq.heapify(heap)
        steps = []
        while heap:
            fill, weight, place = heapq.heappop(heap)
            variable = self.variables[place]
            if waiting.get(variable) != (fill, weight):
                continue  # an outdated entry
            del waiting[variable]
            near = sorted(self.neighbours[variable], key=self.position.__getitem__)
            steps.append(PlanStep(variable, (*near, variable)))
            for touched in self._remove(variable, near):
                if touched in waiting:
                    cost = self._cost(touched)
                    if cost != waiting[touched]:
                        waiting[touched] = cost
                        heapq.heappush(heap, (*cost, self.position[touched]))
        return steps

    def _cost(self, variable: Variable) -> tuple[int, int]:
        near = self.neighbours[variable]
        missing = sum(len(near) - 1 - len(near & self.neighbours[other]) for other in near)
        return missing // 2, table_entries([*near, variable])

    def _remove(self, variable: Variable, near: list[Variable]) -> set[Variable]:
        """Join the neighbours, drop the variable; return whose cost may have changed."""
        touched = set(near)
        for other in near:
            before = self.neighbours[other]
            before.discard(variable)
            added = set(near) - before - {other}
            if added:
                before |= added
                touched |= before
        del self.neighbours[variable]
        return touched
