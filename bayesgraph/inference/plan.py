"""Plans: the eliminations of a query with their cost and memory, without computing any table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesgraph.compilation import tiers
from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.inference import planning_kernels as kernels
from bayesgraph.inference.junction import Tree
from bayesgraph.inference.memory import (
    BYTES,
    default_memory_limit,
    format_bytes,
    format_count,
    format_seconds,
    memory_error,
)
from bayesgraph.variables import Continuous, Discrete, Name, Variable

# Seconds for each entry of a product, all passes over the entry together (measured).
_SECONDS_AN_ENTRY = 3e-9
# Maximum number of variables of a product: NumPy arrays have at most 64 axes, and a few of them
# are needed for rows and parameters.
_MAXIMUM_AXES = 60


@dataclass(frozen=True)
class PlanStep:
    """One elimination: the variable, and the scope of the product of factors that contain it."""

    variable: Variable
    scope: tuple[Variable, ...]

    @property
    def entries(self) -> int:
        """Number of entries of the product, for one row of evidence."""
        return table_entries(self.scope)


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """The computation that a solver would run, with its cost for one row of evidence.

    Attributes
    ----------
    steps : tuple of PlanStep
        Eliminations, in the order in which they run; each makes an intermediate table.
    keep : tuple of variables
        Scope of the result: the targets and, for a continuous target, the discrete variables that
        index the components of its mixture.
    solver : str
        Name of the solver.
    reason : str
        Reason why the solver was selected.
    passes : int
        Number of passes over the intermediate tables, such as 2 for all marginals.
    joint : tuple of variables
        Variables whose joint states are enumerated, without intermediate tables.
    workspace : int
        Number of entries of the arrays that a compiled program writes, with the lists of compressed
        cliques; 0 if nothing is compiled.
    entries : tuple of int, optional
        If cliques with many zeros are held compressed: the number of entries of all cliques before,
        and how many are held.
    parts : tuple of Plan
        Plans of the solvers to which a composite solver delegates.
    """

    steps: tuple[PlanStep, ...] = ()
    keep: tuple[Variable, ...] = ()
    solver: str = "factors"
    reason: str = ""
    passes: int = 1
    joint: tuple[Variable, ...] = ()
    workspace: int = 0
    entries: tuple[int, int] | None = None
    parts: tuple[Plan, ...] = ()

    @property
    def tier(self) -> str:
        """How a computation of this size would run now: ``"interpreted"`` or ``"compiled"``."""
        return tiers.tier(self.workspace)

    @property
    def order(self) -> tuple[Name, ...]:
        """Names of the eliminated variables, in order of elimination."""
        gone = [step.variable for step in self.steps]
        gone += [v for v in self.joint if v not in self.keep]
        return tuple(variable.name for variable in gone)

    @property
    def width(self) -> int:
        """Induced width: the number of variables of the largest product, minus one."""
        return max((len(scope) for scope in self._scopes()), default=1) - 1

    @property
    def largest_table(self) -> int:
        """Number of entries of the largest product."""
        return max((table_entries(scope) for scope in self._scopes()), default=1)

    @property
    def multiplications(self) -> int:
        """Number of entries of all products in all passes: about the number of multiplications."""
        own = sum(table_entries(scope) for scope in self._own_scopes())
        return self.passes * own + sum(part.multiplications for part in self.parts)

    @cached_property
    def bytes(self) -> int:
        """Bytes of the workspace, or of the largest product if nothing is compiled."""
        own = BYTES * (self.workspace or max(map(table_entries, self._own_scopes()), default=1))
        return max([own, *(part.bytes for part in self.parts)])

    @cached_property
    def _most_axes(self) -> int:
        return max(map(len, self._scopes()), default=0)

    @property
    def components(self) -> int:
        """Number of Gaussian components of the result, 1 without continuous targets."""
        if not any(isinstance(v, Continuous) for v in self.keep):
            return 1
        if self.parts:
            return sum(part.components for part in self.parts)
        return math.prod(v.cardinality for v in self.keep if isinstance(v, Discrete))

    def _own_scopes(self) -> list[tuple[Variable, ...]]:
        if self.joint:
            return [self.joint]
        return [*(step.scope for step in self.steps), *([self.keep] if self.keep else [])]

    def _scopes(self) -> list[tuple[Variable, ...]]:
        return [*self._own_scopes(), *(s for part in self.parts for s in part._scopes())]

    def check_memory(self, limit: float | None = None) -> None:
        """Raise a MemoryLimitError if the plan needs too many bytes or axes of an array."""
        allowed = default_memory_limit() if limit is None else limit
        if self.bytes > allowed or self._most_axes > _MAXIMUM_AXES:
            raise memory_error("a table", self.largest_table, self.width, allowed)

    def _display(self) -> DisplayTable:
        kept = ", ".join(str(variable.name) for variable in self.keep) or "nothing"
        title = f"Plan: eliminate {len(self.order)} variables, keep {kept}\n  by {self.solver}"
        seconds = format_seconds(_SECONDS_AN_ENTRY * min(self.multiplications, 10**300))
        found = [
            ("passes", self.passes > 1, str(self.passes)),
            ("induced width", True, str(self.width)),
            ("largest table", True, _size(self.largest_table)),
            ("compressed", self.entries is not None, _compressed(self.entries or (0, 0))),
            ("workspace", self.workspace > 0, _size(self.workspace)),
            ("multiplications", True, f"{format_count(self.multiplications)} (about {seconds})"),
            ("components", self.components > 1, f"{format_count(self.components)} Gaussians"),
            ("tier", self.tier == "interpreted", "interpreted, until compiled kernels pay"),
        ]
        notes = [f"joint states of {_names(self.joint)}, one after the other"] if self.joint else []
        for number, step in enumerate(self.steps, start=1):
            verb = "integrate" if isinstance(step.variable, Continuous) else "sum"
            notes.append(f"{number:>2}. {verb} {step.variable.name} out of {_names(step.scope)}")
        return DisplayTable(
            f"{title}: {self.reason}" if self.reason else title,
            [(label, cell) for label, shown, cell in found if shown],
            note="\n".join([*notes, *map(repr, self.parts)]),
        )


def _size(numbers: int) -> str:
    return f"{format_count(numbers)} numbers ({format_bytes(BYTES * numbers)})"


def _compressed(entries: tuple[int, int]) -> str:
    before, after = map(format_count, entries)
    return f"{after} of {before} entries of all tables are held"


def _names(scope: Sequence[Variable]) -> str:
    return f"({', '.join(str(variable.name) for variable in scope)})"


def table_entries(scope: Iterable[Variable]) -> int:
    """Return the number of entries of a factor over the scope, counting Gaussian parameters."""
    cells, continuous = 1, 0
    for variable in scope:
        if isinstance(variable, Discrete):
            cells *= variable.cardinality
        else:
            continuous += 1
    return _entries(cells, continuous)


def _entries(cells: int, continuous: int) -> int:
    return cells * (1 + continuous + continuous * continuous) if continuous else cells


def make_plan(
    scopes: Iterable[Sequence[Variable]],
    keep: Sequence[Variable] = (),
    *,
    order: Iterable[Variable] = (),
) -> Plan:
    """Return an elimination plan for factors of the given scopes.

    A portfolio of greedy scores finds the order. Continuous variables are eliminated before
    discrete ones (a strong elimination order; Lauritzen 1992), because a sum of conditional
    Gaussians over discrete variables is not a conditional Gaussian. Discrete variables in a factor
    with a kept continuous variable are kept too: they index the components of its mixture.

    Parameters
    ----------
    scopes : iterable of sequences of variables
    keep : sequence of variables
        Variables that are not eliminated, in the order of the result.
    order : iterable of variables
        Ties between variables go to the first in this order; other variables follow in order of
        first appearance.
    """
    listed = [tuple(dict.fromkeys(scope)) for scope in scopes]
    seen = dict.fromkeys(variable for scope in listed for variable in scope)
    rank = {v: place for place, v in enumerate(v for v in (*order, *seen) if v in seen)}
    ranked = sorted(seen, key=rank.__getitem__)
    kept = list(keep)
    first = [v for v in ranked if isinstance(v, Continuous) and v not in keep]
    steps, listed = _eliminated(ranked, listed, first)
    mixed = [scope for scope in listed if any(isinstance(v, Continuous) for v in scope)]
    components = {v for scope in mixed for v in scope if isinstance(v, Discrete)}
    kept += sorted(components.difference(keep), key=rank.__getitem__)
    known = set(kept)
    rest = [v for v in ranked if isinstance(v, Discrete) and v not in known]
    more, _ = _eliminated(ranked, listed, rest)
    return Plan((*steps, *more), tuple(kept))


def plan_of_tree(
    tree: Tree, variables: Sequence[Discrete], keep: Sequence[Variable], **other: Any
) -> Plan:
    """Return the plan of a junction tree: the eliminations at its cliques, leaves to roots.

    Parameters
    ----------
    tree : Tree
    variables : sequence of Discrete
        All variables, by index.
    keep : sequence of variables
        The targets, which are not eliminated.
    **other
        Other attributes of the plan.
    """
    steps = []
    for c in range(len(tree.parent)):
        members = tree.member[tree.c_start[c] : tree.c_start[c + 1]]
        scope = [variables[v] for v in tree.variables[members]]
        leaving = [v for v in scope[: tree.residual[c]] if v not in keep]
        for variable in leaving:
            scope.remove(variable)
            steps.append(PlanStep(variable, (*scope, variable)))
    return Plan(tuple(steps), tuple(keep), **other)


def _eliminated(
    variables: Sequence[Variable],
    scopes: Sequence[tuple[Variable, ...]],
    leaving: Sequence[Variable],
) -> tuple[list[PlanStep], list[tuple[Variable, ...]]]:
    """Return the steps that eliminate the variables in `leaving`, and the remaining scopes.

    `variables` lists all variables, in the order that breaks ties.
    """
    if not leaving:
        return [], list(scopes)
    number = {v: place for place, v in enumerate(variables)}
    lengths = [0, *map(len, scopes)]
    item = np.array([number[v] for scope in scopes for v in scope], dtype=np.int64)
    cards = [v.cardinality if isinstance(v, Discrete) else 1 for v in variables]
    stage = np.ones(len(variables), dtype=np.int64)
    stage[[number[v] for v in leaving]] = 0
    order = kernels.elimination_order(
        np.array(cards, dtype=np.int64),
        np.cumsum(lengths),
        item,
        stage,
        kernels.EFFORT,
        kernels.MAXIMUM_WORK,
    )
    place = {variables[v]: k for k, v in enumerate(order[: len(leaving)].tolist())}
    end = len(leaving)
    buckets: list[list[tuple[Variable, ...]]] = [[] for _ in range(end + 1)]

    def put(scope: tuple[Variable, ...]) -> None:
        buckets[min((place.get(v, end) for v in scope), default=end)].append(scope)

    for scope in scopes:
        put(scope)
    steps = []
    for variable, at in place.items():
        joined = {v for scope in buckets[at] for v in scope if v != variable}
        rest = tuple(sorted(joined, key=number.__getitem__))
        steps.append(PlanStep(variable, (*rest, variable)))
        put(rest)
    return steps, buckets[end]
