"""Models of tables: compiling and running elimination programs, and joint enumeration.

For each set of observed variables, a query on tables is compiled once into an elimination program
(flat instructions run by one kernel; see `programs`), which runs for any values of these variables.
If few variables are free, a kernel enumerates all their joint states instead.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from struct import pack
from typing import Any, NamedTuple

import numpy as np

from bayesgraph import parallel
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import execution_kernels as kernels
from bayesgraph.inference.contract import Case
from bayesgraph.inference.junction import Ints, Program, Restricted, Tree
from bayesgraph.inference.memory import (
    BYTES,
    borrow,
    default_memory_limit,
    give_back,
    memory_error,
)
from bayesgraph.inference.programs import Relevance, compile_query, plan_tree, restrict
from bayesgraph.inference.supports import Findings
from bayesgraph.inference.tables import Tables

# Maximum number of free variables for which enumeration is considered.
FEW_VARIABLES = 9


class Run(NamedTuple):
    """The result of running an elimination program, with the workspace that holds all messages.

    Attributes
    ----------
    program : Program
    tables : ndarray
        Entries of all tables, or their logarithms.
    offsets : ndarray
        Offset of the first entry of each table that agrees with the evidence.
    space : ndarray
        The workspace.
    result : ndarray
        Normalised probabilities: the joint table of the targets, or all marginals.
    log_mass : float
        Natural log of the sum (or, for maximising programs, the maximum) of the product of all
        tables and the evidence over the joint states; minus infinity if it is zero.
    logarithmic : bool
        Whether the workspace holds logarithms.
    """

    program: Program
    tables: Floats
    offsets: Ints
    space: Floats
    result: Floats
    log_mass: float
    logarithmic: bool


class CompiledTables:
    """The tables of a model, with methods that compile and run programs on them.

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
        """Return the factors relevant to a query, without the observed variables; see `restrict`.

        The last result is kept, because several solvers ask for it in turn.
        """
        key = tuple(observed), tuple(soft), tuple(targets), relevance
        last, found = self._last
        if found is None or last != key:
            found = restrict(self.tables, observed, soft, targets, relevance)
            self._last = key, found
        return found

    def stages(self, maximized: Sequence[int] | None) -> Ints | None:
        """Return the elimination stage of each variable: 1 if it is maximised, otherwise 0."""
        if maximized is None:
            return None
        stage = np.zeros(len(self.tables.cards), dtype=np.int64)
        stage[list(maximized)] = 1
        return stage

    def tree(
        self,
        observed: Sequence[int],
        soft: Sequence[int] = (),
        targets: Sequence[int] = (),
        relevance: Relevance = Relevance.EVERYTHING,
        *,
        maximized: Sequence[int] | None = None,
    ) -> Tree:
        """Return the junction tree of a query, of any size; for the parameters see `program`."""
        restricted = self.restricted(observed, soft, targets, relevance)
        return plan_tree(restricted, stage=self.stages(maximized), plan_only=True)

    def program(
        self,
        observed: Sequence[int],
        soft: Sequence[int] = (),
        targets: Sequence[int] = (),
        relevance: Relevance = Relevance.EVERYTHING,
        *,
        both: bool = False,
        maximized: Sequence[int] | None = None,
        tree: Tree | None = None,
        memory_limit: float | None = None,
        compress: bool = False,
        hard: Findings | None = None,
    ) -> Program:
        """Return the elimination program of a query, compiled for a set of observed variables.

        Parameters
        ----------
        observed, soft : sequence of int
            Ascending indices of the variables with hard and with soft evidence.
        targets : sequence of int
            Variables of the joint table that is the result.
        relevance : Relevance
            The quantity computed, which determines the relevant tables.
        both : bool
            Whether to compile both passes, whose result is the marginal of every free variable.
        maximized : sequence of int, optional
            Variables that are maximised after all others have been summed out.
        tree : Tree, optional
            The result of `tree` for the same query.
        memory_limit : float, optional
            Bytes; by default half of the machine's memory.
        compress, hard
            See `compile_query`.
        """
        if tree is None:
            tree = self.tree(observed, soft, targets, relevance, maximized=maximized)
        # With variables to maximise the result is the maximum, not the table of the targets.
        return compile_query(
            self.tables,
            tree,
            soft,
            targets if maximized is None else (),
            both=both,
            maximized=self.stages(maximized),
            memory_limit=memory_limit,
            compress=compress,
            # Without evidence there is only one case.
            hard=hard if observed else {},
        )

    # --------------------------------------------------------------------------------------- runs

    def run(
        self,
        program: Program,
        case: Case,
        memory_limit: float | None = None,
        *,
        logarithmic: bool = False,
    ) -> Run:
        """Run a program for one evidence assignment.

        It runs on logarithms if `logarithmic` is set, or if probabilities could underflow. The
        workspace belongs to the caller, who may return it with `give_back`.

        Raises
        ------
        MemoryLimitError
            If the largest table or the workspace takes more than the limit in bytes.
        """
        _check_memory(program, memory_limit)
        tables = self.tables
        findings = np.array([*case.hard, *case.hard.values()], dtype=np.int64)
        offsets = tables.offsets(findings)
        space = borrow(program.n_work)
        result = np.zeros(program.n_result)  # programs of maxima may not write it
        log_scale = tables.log_scale + case.log_scale
        if len(program.constant):  # tables whose variables are all observed
            log_scale += float(np.sum(tables.log_at(offsets[program.constant])))
        minima, least = program.minima.copy(), program.least
        if case.soft:
            log_scale += _load_soft(program, case, space, minima, logarithmic=logarithmic)
            least = minima.min(initial=0.0)
        if log_scale == -np.inf:
            return Run(program, tables.values, offsets, space, result, log_scale, logarithmic)
        if not logarithmic:
            # The run checks what it adds to the bounds, unless a message vanishes: by underflow?
            status, log_mass = kernels.TOO_SMALL, 0.0
            if least >= kernels.MINIMUM_LOG2:
                status, log_mass = execute(program, tables.values, offsets, minima, space, result)
            if status == kernels.IMPOSSIBLE and minima.min(initial=0.0) < kernels.MINIMUM_LOG2:
                status = kernels.TOO_SMALL
            if status != kernels.TOO_SMALL:
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

    # -------------------------------------------------------------------------------- enumeration

    def enumeration(self, targets: Sequence[int], factors: Sequence[int]) -> Ints:
        """Return the layout of an enumeration of all joint states; see `enumerate_joint`.

        Parameters
        ----------
        targets : sequence of int
            Variables of the joint posterior; if empty, the result is the marginals of all free
            variables.
        factors : sequence of int
            Indices of the relevant tables.
        """
        tables = self.tables
        sizes = map(len, (tables.cards, tables.start, tables.item, targets, factors))
        chosen = *targets, *factors
        # Several times faster than `concatenate` for few numbers.
        last = pack(f"{len(chosen)}q", *chosen)
        parts: tuple[Any, ...] = pack("5q", *sizes), tables.indices, last
        return np.frombuffer(bytearray().join(parts), dtype=np.int64)

    def enumerated(self, case: Case, layout: Ints) -> tuple[Floats, float] | None:
        """Return posterior probabilities and the log mass by enumeration of all joint states.

        The mass is the sum of the product of the tables over the joint states that agree with the
        evidence. The result is None if the mass is zero or could underflow, or if there are too
        many joint states.

        Parameters
        ----------
        case : Case
            Evidence on one case, without soft evidence.
        layout : ndarray of int
            The result of `enumeration`.
        """
        tables = self.tables
        findings = np.array([*case.hard, *case.hard.values()], dtype=np.int64)
        status, log_mass, result = kernels.enumerate_joint(layout, tables.values, findings)
        if status != kernels.OK:
            return None
        return result, log_mass + tables.log_scale + case.log_scale

    def free(self, observed: Sequence[int]) -> list[int]:
        """Return the indices of all variables that are not in `observed`."""
        return [v for v in range(len(self.tables.cards)) if v not in observed]

    def are_few(self, observed: Sequence[int]) -> bool:
        """Tell whether at most `FEW_VARIABLES` of all variables are not in `observed`."""
        return len(self.tables.cards) - len(observed) <= FEW_VARIABLES

    def few_tables(
        self, observed: Sequence[int], targets: Sequence[int], relevance: Relevance
    ) -> tuple[Sequence[int], list[int]] | None:
        """Return the tables relevant to a query, and their free variables, for enumeration.

        The result is None if there are more than `FEW_VARIABLES` free variables.
        """
        if self.are_few(observed):
            return range(len(self.tables)), self.free(observed)
        if relevance is Relevance.EVERYTHING:
            return None
        found = self.restricted(observed, (), targets, relevance)
        if len(found.variables) > FEW_VARIABLES:
            return None
        return found.factors.tolist(), found.variables.tolist()


def held_entries(program: Program) -> int:
    """Return the number of entries that a run holds, with the keys and lists of the program."""
    return program.n_work + program.n_result + (len(program.code) if program.layout.size else 0)


def held_bytes(program: Program) -> float:
    """Return the bytes that are limited: of the largest table, or of what a run holds."""
    return BYTES * max(program.tree.largest, held_entries(program))


def _check_memory(program: Program, memory_limit: float | None) -> None:
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if held_bytes(program) <= limit:
        return
    tree = program.tree
    for what, entries in (("a table", tree.largest), ("a workspace", held_entries(program))):
        if BYTES * entries > limit:
            raise memory_error(what, entries, tree.width, limit)


def _load_soft(
    program: Program, case: Case, space: Floats, minima: Floats, *, logarithmic: bool
) -> float:
    """Write the likelihoods of soft evidence to the workspace `space`; return their log scale.

    Each variable's likelihoods are divided by their maximum; the scale is the product of the
    maxima. The lower bounds in `minima` are updated for the smallest positive likelihoods.
    """
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
    """Return the executor of the second thread of a process, given the process id.

    The id is the cache key, because a forked process does not inherit threads.
    """
    return ThreadPoolExecutor(1, f"bayesgraph-{process}")


def execute(
    program: Program,
    tables: Floats,
    offsets: Ints,
    minima: Floats,
    space: Floats,
    result: Floats,
) -> tuple[int, float]:
    """Run a program on probabilities; see `execution_kernels.run`.

    Large tables are always summed in two halves, so that the result does not depend on the number
    of threads; the halves run at the same time if there are two threads.
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
            other = _helper(os.getpid()).submit(second) if parallel.N_THREADS > 1 else None
            run(begin, stop, space, 1, False)
            if other is None:
                second()
            else:
                other.result()
            kernels.add_cleared(code, begin, space, own)
            at = stop
    give_back(own)  # not after an interruption, when the other thread may still write to it
    return worst, total
