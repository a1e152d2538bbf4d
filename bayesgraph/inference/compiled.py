"""Models of tables: their compiled programs and how these run, and joint enumeration.

A question about tables is compiled once for each pattern of evidence (`programs`) and runs for any
evidence of that pattern; where few variables are left, one kernel goes through all their joint
states instead.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import execution_kernels as kernels
from bayesgraph.inference.contract import Case
from bayesgraph.inference.junction import Ints, Program, Restricted
from bayesgraph.inference.memory import (
    BYTES,
    borrow,
    default_memory_limit,
    give_back,
    memory_error,
)
from bayesgraph.inference.programs import Relevance, compile_program, plan_tree, restrict
from bayesgraph.inference.tables import Tables

# With more free variables the size of the joint table is not even computed.
FEW_VARIABLES = 9


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
    offsets: Ints
    space: Floats
    result: Floats
    log_mass: float
    logarithmic: bool


class CompiledTables:
    """The tables of a model, and how programs of them are compiled and run.

    Parameters
    ----------
    tables : Tables
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._last: tuple[Any, Restricted | None] = None, None

    # ----------------------------------------------------------------------------------- programs

    def restricted(
        self,
        observed: Sequence[int],
        soft: Sequence[int],
        targets: Sequence[int],
        relevance: Relevance,
    ) -> Restricted:
        """Return what bears on a question; that of the last one is kept for the next solver."""
        key = tuple(observed), tuple(soft), tuple(targets), relevance
        last, found = self._last
        if found is None or last != key:
            found = restrict(self.tables, observed, soft, targets, relevance)
            self._last = key, found
        return found

    def stages(self, maximized: Sequence[int] | None) -> Ints | None:
        """Return when each variable leaves: 1 for those that are maximised, after all others."""
        if maximized is None:
            return None
        stage = np.zeros(len(self.tables.cards), dtype=np.int64)
        stage[list(maximized)] = 1
        return stage

    def program(
        self,
        observed: Sequence[int],
        soft: Sequence[int] = (),
        targets: Sequence[int] = (),
        relevance: Relevance = Relevance.EVERYTHING,
        *,
        both: bool = False,
        maximized: Sequence[int] | None = None,
        memory_limit: float | None = None,
    ) -> Program:
        """Compile a question.

        Parameters
        ----------
        observed, soft, targets, relevance, both
            See `restrict` and `compile_program`; `observed` and `soft` ascending.
        maximized : sequence of int, optional
            Variables that leave by a maximum, after all others have been summed out.
        memory_limit : float, optional
            Bytes; by default half of the machine's memory.
        """
        stage = self.stages(maximized)
        restricted = self.restricted(observed, soft, targets, relevance)
        tree = plan_tree(restricted, stage=stage, memory_limit=memory_limit)
        # With variables to maximise the result is the maximum, not the table of the targets.
        kept = targets if stage is None else ()
        return compile_program(self.tables, tree, soft, kept, both=both, maximized=stage)

    # --------------------------------------------------------------------------------------- runs

    def run(
        self,
        program: Program,
        case: Case,
        memory_limit: float | None = None,
        *,
        logarithmic: bool = False,
    ) -> Run:
        """Run a program, on logarithms if asked to or if numbers could underflow.

        The workspace belongs to the caller, who may give it back.

        Raises
        ------
        MemoryLimitError
            If the largest table or the workspace takes more than the limit in bytes.
        """
        _check_memory(program, memory_limit)
        tables = self.tables
        observed = np.array([*case.hard], dtype=np.int64)
        offsets = tables.offsets(observed, np.array([*case.hard.values()], dtype=np.int64))
        space = borrow(program.n_work)
        result = np.zeros(program.n_result)  # a program of maxima may leave it
        log_scale = tables.log_scale + case.log_scale + self._constant(program, offsets)
        minima = program.minima.copy()
        if case.soft:
            log_scale += _load_soft(program, case, space, minima, logarithmic=logarithmic)
        if log_scale == -np.inf:
            return Run(program, tables.values, offsets, space, result, log_scale, logarithmic)
        if not logarithmic:
            status, log_mass = execute(program, tables.values, offsets, minima, space, result)
            if status != kernels.TOO_SMALL and minima.min(initial=0.0) >= kernels.MINIMUM_LOG2:
                return Run(
                    program, tables.values, offsets, space, result, log_mass + log_scale, False
                )
            give_back(space)
            return self.run(program, case, memory_limit, logarithmic=True)
        code = program.code
        _, log_mass = kernels.run(
            code, tables.log_values, offsets, minima, space, result, 0, len(code), space, 0, True
        )
        if log_mass > -np.inf:
            np.exp(result, out=result)
        return Run(program, tables.log_values, offsets, space, result, log_mass + log_scale, True)

    def _constant(self, program: Program, offsets: Ints) -> float:
        """Return the log of the entries of tables all of whose variables are observed."""
        if not len(program.constant):
            return 0.0
        return float(np.sum(self.tables.log_at(offsets[program.constant])))

    # -------------------------------------------------------------------------------- enumeration

    def enumerated(self, case: Case, targets: Ints, factors: Ints) -> tuple[Floats, float] | None:
        """Return probabilities and log mass from all joint states; None if numbers underflow.

        Parameters
        ----------
        case : Case
            Without soft evidence.
        targets : ndarray of int
            Of the joint posterior; none of them asks for the marginals of all free variables.
        factors : ndarray of int
            The tables that matter.
        """
        tables = self.tables
        findings = np.array([*case.hard, *case.hard.values()], dtype=np.int64)
        status, log_mass, result = kernels.enumerate_joint(
            tables.cards, tables.start, tables.item, tables.values, findings, targets, factors
        )
        if status != kernels.OK:
            return None
        return result, log_mass + tables.log_scale + case.log_scale

    def free(self, observed: Sequence[int]) -> list[int]:
        """Return the numbers of all variables without a value."""
        return [v for v in range(len(self.tables.cards)) if v not in observed]

    def are_few(self, observed: Sequence[int]) -> bool:
        """Tell whether few variables of all tables are left."""
        return len(self.tables.cards) - len(observed) <= FEW_VARIABLES

    def few_tables(
        self, observed: Sequence[int], targets: Sequence[int], relevance: Relevance
    ) -> tuple[Ints, list[int]] | None:
        """Return the tables that matter and their free variables if these are few."""
        if self.are_few(observed):
            return np.arange(len(self.tables)), self.free(observed)
        if relevance is Relevance.EVERYTHING:
            return None
        found = self.restricted(observed, (), targets, relevance)
        if len(found.variables) > FEW_VARIABLES:
            return None
        return found.factors, found.variables.tolist()


def _check_memory(program: Program, memory_limit: float | None) -> None:
    limit = default_memory_limit() if memory_limit is None else memory_limit
    tree, workspace = program.tree, program.n_work + program.n_result
    for what, entries in (("a table", tree.largest), ("a workspace", workspace)):
        if BYTES * entries > limit:
            raise memory_error(what, entries, tree.width, limit)


def _load_soft(
    program: Program, case: Case, space: Floats, minima: Floats, *, logarithmic: bool
) -> float:
    """Write likelihoods into the workspace; return the log of what they were divided by."""
    scale = 0.0
    n_tables = len(program.tree.factors) - len(program.soft_at)
    for k, variable in enumerate(sorted(case.soft)):
        logs = case.soft[variable]
        peak = float(logs.max())
        scale += peak
        if peak == -np.inf:
            break
        at = int(program.soft_at[k])
        values = logs - peak if logarithmic else np.exp(logs - peak)
        space[at : at + len(values)] = values
        possible = logs[logs > -np.inf] - peak
        minima[program.tree.home[n_tables + k]] += float(possible.min()) / np.log(2.0)
    return scale


@cache
def _helper(process: int) -> ThreadPoolExecutor:
    """Return the second thread of a process: a fork does not inherit it."""
    return ThreadPoolExecutor(1, f"bayesgraph-{process}")


def execute(
    program: Program,
    tables: Floats,
    offsets: Ints,
    minima: Floats,
    space: Floats,
    result: Floats,
) -> tuple[int, float]:
    """Run a program; see `execution_kernels.run`.

    Large tables are always summed in two halves, so that the numbers do not depend on the number
    of threads; the halves run at once if there are two.
    """
    code = program.code
    fixed = (code, tables, offsets, minima, space, result)
    if not len(program.halves):
        status, log_mass = kernels.run(*fixed, 0, len(code), space, 0, False)
        return int(status), float(log_mass)
    run = partial(kernels.run, *fixed)
    own = borrow(program.n_work)  # where the second halves write
    worst, total, at = kernels.OK, 0.0, 0
    for begin, stop in [*program.halves.reshape(-1, 2).tolist(), (len(code), None)]:
        status, log_mass = run(at, begin, space, 0, False)
        if status == kernels.IMPOSSIBLE:
            worst, total = kernels.IMPOSSIBLE, -np.inf
            break
        worst, total = max(worst, int(status)), total + float(log_mass)
        if stop is not None:
            second = partial(run, begin, stop, own, 2, False)
            other = _helper(os.getpid()).submit(second) if kernels.N_THREADS > 1 else None
            run(begin, stop, space, 1, False)
            if other is None:
                second()
            else:
                other.result()
            kernels.add_cleared(code, begin, space, own)
            at = stop
    give_back(own)  # not where a run was interrupted: the other thread may still write there
    return worst, total
