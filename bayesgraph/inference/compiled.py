"""Models of tables: programs, joint enumeration, and what they answer.

A question about tables is compiled once for each pattern of evidence (`programs`) and runs for any
evidence of that pattern; where few variables are left, one kernel goes through all their joint
states instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Case
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.planning.cost import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.programs import (
    EVERYTHING,
    Program,
    compile_program,
    plan_tree,
    restrict,
)
from bayesgraph.inference.tables import Integers, Tables
from bayesgraph.inference.threads import execute
from bayesgraph.inference.workspaces import borrow, give_back

# With more free variables nobody asks whether the joint table is small.
FEW_VARIABLES = 9
# In place of a list of tables: all of them.
ALL_TABLES = np.empty(0, dtype=np.int64)


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

    # ----------------------------------------------------------------------------------- programs

    def program(
        self,
        observed: Sequence[int],
        soft: Sequence[int] = (),
        targets: Sequence[int] = (),
        mode: int = EVERYTHING,
        *,
        both: bool = False,
        maximized: Sequence[int] | None = None,
        memory_limit: int | None = None,
    ) -> Program:
        """Compile a question.

        Parameters
        ----------
        observed, soft, targets, mode, both
            See `plan_tree` and `compile_program`; `observed` and `soft` ascending.
        maximized : sequence of int, optional
            Variables that leave by a maximum, after all others have been summed out.
        memory_limit : int, optional
            Bytes; by default half of the machine's memory.
        """
        stage = None
        restricted = restrict(self.tables, observed, soft, targets, mode)
        if maximized is not None:
            stage = np.zeros(len(self.tables.cards), dtype=np.int64)
            stage[list(maximized)] = 1
            targets = ()  # the result is the maximum, not the table of the targets
        tree = plan_tree(restricted, stage=stage, memory_limit=memory_limit)
        program = compile_program(self.tables, tree, soft, targets, both=both, maximized=stage)
        check_memory(program, memory_limit)
        return program

    # --------------------------------------------------------------------------------------- runs

    def run(self, program: Program, case: Case, *, logarithmic: bool = False) -> Run:
        """Run a program, on logarithms if asked to or if numbers could underflow.

        The workspace belongs to the caller, who may give it back.
        """
        tables = self.tables
        observed = sorted(case.hard)
        states = np.array([case.hard[v] for v in observed], dtype=np.int64)
        offsets = tables.offsets(np.array(observed, dtype=np.int64), states)
        space = borrow(program.n_work)
        result = np.zeros(program.n_result)  # a program of maxima may leave it
        log_scale = tables.log_scale + case.log_scale + self._constant(program, offsets)
        least = program.least.copy()
        if case.soft:
            log_scale += _load_soft(program, case, space, least, logarithmic=logarithmic)
        if log_scale == -np.inf:
            return Run(program, tables.values, offsets, space, result, log_scale, logarithmic)
        if not logarithmic:
            status, log_mass = execute(program, tables.values, offsets, least, space, result)
            if status != kernels.TOO_SMALL and least.min(initial=0.0) >= kernels.LEAST_LOG2:
                return Run(
                    program, tables.values, offsets, space, result, log_mass + log_scale, False
                )
            give_back(space)
            return self.run(program, case, logarithmic=True)
        _, log_mass = kernels.run_log(program.code, tables.log_values, offsets, space, result)
        if log_mass > -np.inf:
            np.exp(result, out=result)
        return Run(program, tables.log_values, offsets, space, result, log_mass + log_scale, True)

    def _constant(self, program: Program, offsets: Integers) -> float:
        """Return the log of the entries of tables all of whose variables are observed."""
        if not len(program.constant):
            return 0.0
        inside = program.constant[program.constant < len(offsets)]
        return float(np.sum(self.tables.log_at(offsets[inside])))

    # -------------------------------------------------------------------------------- enumeration

    def enumerated(
        self, case: Case, targets: Integers, factors: Integers = ALL_TABLES
    ) -> tuple[Floats, float] | None:
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
        status, log_mass, result = kernels.enumerate_joint(
            tables.cards,
            tables.start,
            tables.item,
            tables.values,
            np.array([*case.hard, *case.hard.values()], dtype=np.int64),
            targets,
            factors,
        )
        if status != kernels.OK:
            return None
        return result, log_mass + tables.log_scale + case.log_scale

    def free(self, observed: Sequence[int]) -> list[int]:
        """Return the numbers of all variables without a value."""
        return [v for v in range(len(self.tables.cards)) if v not in observed]

    def few_tables(
        self, observed: Sequence[int], targets: Sequence[int], mode: int
    ) -> tuple[Integers, list[int]] | None:
        """Return the tables that matter and their free variables if these are few."""
        if len(self.tables.cards) - len(observed) <= FEW_VARIABLES:
            return ALL_TABLES, self.free(observed)
        if mode == EVERYTHING:
            return None
        found = restrict(self.tables, observed, (), targets, mode)
        if len(found.variables) > FEW_VARIABLES:
            return None
        return found.factors, found.variables.tolist()


def check_memory(program: Program, memory_limit: int | None) -> None:
    """Raise a MemoryLimitError if the largest table or the workspace of a program does not fit.

    As `plan_tree` does before the program is made, so that a limit holds the second time too.
    """
    limit = default_memory_limit() if memory_limit is None else memory_limit
    tree = program.tree
    for what, entries in (
        ("a table", tree.largest),
        ("a workspace", program.n_work + program.n_result),
    ):
        if BYTES * entries > limit:
            raise memory_error(what, entries, tree.width, limit)


def _load_soft(
    program: Program, case: Case, space: Floats, least: Floats, *, logarithmic: bool
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
        least[program.tree.home[n_tables + k]] += float(possible.min()) / np.log(2.0)
    return scale
