"""The engine of discrete models: programs, their cache, and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.planning.cost import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.programs import (
    EVERYTHING,
    EVIDENCE,
    TARGETS,
    Program,
    compile_program,
    plan_tree,
    restrict,
)
from bayesgraph.inference.tables import Integers, Tables
from bayesgraph.inference.threads import execute
from bayesgraph.inference.workspaces import borrow, give_back

# Programs that are kept, and their memory.
_MOST_PROGRAMS = 256
_MOST_PROGRAM_BYTES = 2**28

# With more free variables nobody asks whether the joint table is small.
_FEW_VARIABLES = 9
_ALL = np.empty(0, dtype=np.int64)


class Findings(NamedTuple):
    """Evidence of one case in numbers.

    Attributes
    ----------
    hard : mapping from number of a variable to number of a state
    soft : mapping from number of a variable to log likelihoods of its states
    log_scale : float
        Log likelihood of what is known besides.
    """

    hard: Mapping[int, int]
    soft: Mapping[int, Floats]
    log_scale: float = 0.0

    def without(self, variable: int) -> Findings:
        """Return the other findings."""
        hard = {v: state for v, state in self.hard.items() if v != variable}
        soft = {v: logs for v, logs in self.soft.items() if v != variable}
        return Findings(hard, soft, self.log_scale)


class Run(NamedTuple):
    """A program that has run, with its workspace.

    Attributes
    ----------
    result : ndarray
        Probabilities.
    log_mass : float
        Natural log of the sum (the maximum) of the product of all tables and the evidence; minus
        infinity if it is zero.
    logarithmic : bool
        The workspace holds logarithms.
    """

    program: Program
    tables: Floats
    offsets: Integers
    work: Floats
    result: Floats
    log_mass: float
    logarithmic: bool


class DiscreteEngine:
    """Answers questions about tables; remembers programs by the pattern of the evidence.

    Parameters
    ----------
    tables : Tables
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        # A dictionary changes in single steps, so that threads need no lock: at worst a program
        # is compiled twice.
        self._kept: dict[object, tuple[Any, int]] = {}

    # ----------------------------------------------------------------------------------- programs

    def program(
        self,
        observed: Sequence[int],
        soft: Sequence[int] = (),
        targets: Sequence[int] = (),
        scope: int = EVERYTHING,
        *,
        both: bool = False,
        maximized: Sequence[int] | None = None,
        memory_limit: int | None = None,
    ) -> Program:
        """Return the program of a question, from the cache if it was asked before.

        Parameters
        ----------
        observed, soft, targets, scope, both
            See `plan_tree` and `compile_program`; `observed` and `soft` ascending.
        maximized : sequence of int, optional
            Variables that leave by a maximum, after all others have been summed out.
        memory_limit : int, optional
            Bytes; by default half of the machine's memory.
        """
        key = (tuple(observed), tuple(soft), tuple(targets), scope, both, maximized)
        found: Program = self.remembered(
            key,
            lambda: self._compiled(observed, soft, targets, scope, both, maximized, memory_limit),
        )
        _check_memory(found, memory_limit)
        return found

    def remembered(self, key: object, make: Callable[[], Any]) -> Any:
        """Return what was made for the key before, or make it and keep it for a while."""
        found = self._kept.pop(key, None)
        if found is None:
            made = make()
            found = made, _size(made)
            self._make_room(found[1])
        self._kept[key] = found  # the last used is the last to go
        return found[0]

    def _make_room(self, nbytes: int) -> None:
        """Forget what was used longest ago until so many bytes more are within bounds."""
        # Of a copy, which is taken in one step: another thread may keep something meanwhile.
        kept = list(self._kept.copy().items())
        total = sum(size for _, (_, size) in kept)
        for number, (key, (_, size)) in enumerate(kept):
            if len(kept) - number < _MOST_PROGRAMS and total + nbytes <= _MOST_PROGRAM_BYTES:
                break
            self._kept.pop(key, None)
            total -= size

    def _compiled(
        self,
        observed: Sequence[int],
        soft: Sequence[int],
        targets: Sequence[int],
        scope: int,
        both: bool,
        maximized: Sequence[int] | None,
        memory_limit: int | None,
    ) -> Program:
        stage = None
        restricted = restrict(self.tables, observed, soft, targets, scope)
        if maximized is not None:
            stage = np.zeros(len(self.tables.cards), dtype=np.int64)
            stage[list(maximized)] = 1
            targets = ()  # the result is the maximum, not the table of the targets
        tree = plan_tree(restricted, stage=stage, memory_limit=memory_limit)
        return compile_program(self.tables, tree, soft, targets, both=both, maximized=stage)

    # --------------------------------------------------------------------------------------- runs

    def run(self, program: Program, findings: Findings, *, logarithmic: bool = False) -> Run:
        """Run a program, on logarithms if asked to or if numbers could underflow.

        The workspace belongs to the caller, who may give it back.
        """
        tables = self.tables
        observed = sorted(findings.hard)
        states = np.array([findings.hard[v] for v in observed], dtype=np.int64)
        offsets = tables.offsets(np.array(observed, dtype=np.int64), states)
        work = borrow(program.n_work)
        result = np.empty(program.n_result)
        log_scale = tables.log_scale + findings.log_scale + self._constant(program, offsets)
        least = program.least.copy()
        if findings.soft:
            log_scale += _load_soft(program, findings, work, least, logarithmic=logarithmic)
        if log_scale == -np.inf:
            return Run(program, tables.values, offsets, work, result, log_scale, logarithmic)
        if not logarithmic:
            own = borrow(program.n_work) if len(program.halves) else work
            status, log_mass = execute(program, tables.values, offsets, least, work, result, own)
            if own is not work:
                give_back(own)
            if status != kernels.TOO_SMALL and (not len(least) or least.min() >= -1000):
                return Run(
                    program, tables.values, offsets, work, result, log_mass + log_scale, False
                )
            give_back(work)
            return self.run(program, findings, logarithmic=True)
        _, log_mass = kernels.run_log(program.code, tables.log_values, offsets, work, result)
        if log_mass > -np.inf:
            np.exp(result, out=result)
        return Run(program, tables.log_values, offsets, work, result, log_mass + log_scale, True)

    def _constant(self, program: Program, offsets: Integers) -> float:
        """Return the log of the entries of tables all of whose variables are observed."""
        if not len(program.constant):
            return 0.0
        inside = program.constant[program.constant < len(offsets)]
        return float(np.sum(self.tables.log_at(offsets[inside])))

    # ---------------------------------------------------------------------------------- questions

    def _enumerated(
        self, findings: Findings, targets: Sequence[int], factors: Integers = _ALL
    ) -> tuple[Floats, float] | None:
        """Return the answer from a joint table that is small; None if it is not, or underflows."""
        tables = self.tables
        status, log_mass, result = kernels.enumerate_joint(
            tables.cards,
            tables.start,
            tables.item,
            tables.values,
            np.array([*findings.hard, *findings.hard.values()], dtype=np.int64),
            np.array(targets, dtype=np.int64),
            factors,
        )
        if status != kernels.OK:
            return None
        return result, log_mass + tables.log_scale + findings.log_scale

    def marginals(
        self, findings: Findings, *, memory_limit: int | None = None
    ) -> tuple[Integers, Floats, float]:
        """Return all single marginals.

        Returns
        -------
        variables : shape (n,)
            Numbers of the free variables.
        probabilities : shape (sum of their cardinalities,)
            One after the other.
        log_mass : float
        """
        observed = findings.hard
        few = None
        if len(self.tables.cards) - len(observed) <= _FEW_VARIABLES and not findings.soft:
            few = self._enumerated(findings, ())
        if few is not None:
            free = [v for v in range(len(self.tables.cards)) if v not in observed]
            return np.array(free, dtype=np.int64), *few
        program = self.program(
            sorted(findings.hard), sorted(findings.soft), both=True, memory_limit=memory_limit
        )
        run = self.run(program, findings)
        give_back(run.work)
        return program.tree.variables, run.result, run.log_mass

    def joint(
        self,
        targets: Sequence[int],
        findings: Findings,
        *,
        whole: bool = False,
        memory_limit: int | None = None,
    ) -> tuple[Floats, float]:
        """Return the joint posterior of some variables, flat, and a log mass.

        The mass is that of the evidence if `whole`; otherwise of what bears on the targets.
        """
        scope = EVIDENCE if whole or not targets else TARGETS
        observed, soft = sorted(findings.hard), sorted(findings.soft)
        if targets and not soft:
            factors = self._few(tuple(observed), tuple(targets), scope)
            few = None if factors is None else self._enumerated(findings, targets, factors)
            if few is not None:
                return few
        program = self.program(observed, soft, targets, scope, memory_limit=memory_limit)
        run = self.run(program, findings)
        give_back(run.work)
        return run.result, run.log_mass

    def _few(
        self, observed: tuple[int, ...], targets: tuple[int, ...], scope: int
    ) -> Integers | None:
        """Return the tables that matter if few variables are left in them."""
        if len(self.tables.cards) - len(observed) <= _FEW_VARIABLES:
            return _ALL

        def look() -> tuple[Integers | None]:
            found = restrict(self.tables, observed, (), targets, scope)
            return (found.factors if len(found.variables) <= _FEW_VARIABLES else None,)

        factors: Integers | None = self.remembered((observed, targets, scope), look)[0]
        return factors

    def log_mass(self, findings: Findings, *, memory_limit: int | None = None) -> float:
        """Return the log of the sum of the product that agrees with the evidence."""
        return self.joint((), findings, whole=True, memory_limit=memory_limit)[1]


def _size(value: Any) -> int:
    """Return the bytes of the arrays in nested tuples."""
    if isinstance(value, tuple):
        return sum(_size(part) for part in value)
    return int(getattr(value, "nbytes", 0))


def _check_memory(program: Program, memory_limit: int | None) -> None:
    limit = default_memory_limit() if memory_limit is None else memory_limit
    entries = program.n_work + program.n_result
    if BYTES * entries > limit:
        raise memory_error("a workspace", entries, program.tree.width, limit)


def _load_soft(
    program: Program, findings: Findings, work: Floats, least: Floats, *, logarithmic: bool
) -> float:
    """Write likelihoods into the workspace; return the log of what they were divided by."""
    scale = 0.0
    n_tables = len(program.tree.factors) - len(program.soft_at)
    for k, variable in enumerate(sorted(findings.soft)):
        logs = findings.soft[variable]
        peak = float(logs.max())
        scale += peak
        if peak == -np.inf:
            break
        at = int(program.soft_at[k])
        values = logs - peak if logarithmic else np.exp(logs - peak)
        work[at : at + len(values)] = values
        possible = logs[logs > -np.inf] - peak
        least[program.tree.home[n_tables + k]] += float(possible.min()) / np.log(2.0)
    return scale
