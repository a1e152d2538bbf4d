"""Many rows of evidence at once: blocks that fit into memory, and rows of different patterns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.discrete import DiscreteEngine, Findings
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.plan import make_plan
from bayesgraph.inference.programs import EVIDENCE, Program, compile_program, plan_tree, restrict
from bayesgraph.inference.queries import Model
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.inference.workspaces import borrow, give_back
from bayesgraph.variables import Discrete, Variable

# Rows treated at once: their columns and sums stay in the processor's cache while many factors
# are added up; few factors read their columns in blocks of their own, and take more at a time.
_BLOCK_ROWS = 4096
_MOST_ROWS = 32768
_BLOCK_POTENTIALS = 2**17
# Numbers in the largest product of one block.
_BLOCK_ENTRIES = 2**23
# Numbers in all tables of the rows that one program answers together, and the most of them: what
# they need stays in the second-level cache.
_ROW_ENTRIES = 2**17
_MOST_TOGETHER = 256


class BatchModel(Model, Protocol):
    """What batches need of a model."""

    def scopes(
        self, observed: Collection[Variable], keep: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """Return the scopes that `problem` would return for evidence on some variables."""
        ...

    def blocking(
        self, evidence: Evidence, partial: Sequence[Variable], keep: Collection[Variable]
    ) -> list[Variable]:
        """Return the partially observed variables that need summing out where they are missing."""
        ...


def blocks(
    model: BatchModel, evidence: Evidence, keep: list[Variable]
) -> Iterator[tuple[slice | NDArray[np.intp], Evidence, bool]]:
    """Yield blocks of rows, those that need nothing summed out apart from the others.

    Yields
    ------
    rows : slice, or ndarray of int
    part : Evidence
        Of these rows.
    partial : bool
        Variables that only some of the rows observe must be summed out where they are missing.
    """
    evidence, _ = evidence.split()
    sizes: dict[frozenset[Variable], int] = {}
    n_potentials = max(1, len(model.scopes(frozenset(evidence.columns), keep)))
    step = min(_MOST_ROWS, max(_BLOCK_ROWS, _BLOCK_POTENTIALS // n_potentials))
    for start in range(0, evidence.n_rows, step):
        stretch = slice(start, min(start + step, evidence.n_rows))
        rows = np.arange(stretch.start, stretch.stop)
        block = evidence if len(rows) == evidence.n_rows else evidence.rows(stretch)
        trimmed, partial = block.split()
        blocking = model.blocking(trimmed, partial, keep)
        complete = np.ones(len(rows), dtype=bool)
        for variable in blocking:
            complete &= trimmed.observed_rows(variable)
        always = frozenset(trimmed.columns).difference(blocking)
        for chosen, observed in ((complete, always.union(blocking)), (~complete, always)):
            which = np.flatnonzero(chosen)
            if observed not in sizes and len(which):
                sizes[observed] = _rows_at_once(model, observed, keep, step)
            for at in range(0, len(which), sizes.get(observed, 1)):
                part = which[at : at + sizes[observed]]
                whole = len(part) == len(rows)
                if whole:
                    yield stretch, block, chosen is not complete
                else:
                    yield rows[part], block.rows(part), chosen is not complete


def _rows_at_once(
    model: BatchModel, observed: frozenset[Variable], keep: list[Variable], most: int
) -> int:
    """Return for how many rows the largest product stays within bounds."""
    plan = make_plan(model.scopes(observed, keep), keep, order=model.variables)
    return max(1, min(most, _BLOCK_ENTRIES // plan.largest_table))


class RowProgram(NamedTuple):
    """A program in which the row of a batch is one more variable of the model.

    Attributes
    ----------
    program : Program
    tables : Tables
        Those of the model, then the likelihoods of the observed variables for each row.
    n_together : int
        Rows that it answers at once.
    """

    program: Program
    tables: Tables
    n_together: int


def rows_together(engine: DiscreteEngine, target: Discrete | None, evidence: Evidence) -> Floats:
    """Answer many rows that observe different variables with one program.

    The row enters as a variable: what it observes are likelihoods that depend on it, and the
    answer is its joint table with the target. What no evidence bears on is computed once for all
    rows of a block.

    Returns
    -------
    ndarray, shape (n_rows, n_states), or (n_rows, 1) without a target
        Log of the probability of the row (and of each state of the target with it).
    """
    tables = engine.tables
    columns = {tables.number[v.name]: c for v, c in evidence.columns.items() if v != target}
    seen = sorted(v for v, column in columns.items() if (column >= 0).any())
    targets = () if target is None else (tables.number[target.name],)
    rows = _row_program(engine, tuple(seen), targets)
    extended, program = rows.tables, rows.program
    codes = np.empty((len(seen), evidence.n_rows), dtype=np.int64)
    for k, v in enumerate(seen):
        codes[k] = columns[v]
    n_states = 1 if target is None else target.cardinality
    logs = np.empty((n_states, evidence.n_rows))
    if program.least.min(initial=0.0) < kernels.LEAST_LOG2:
        logs[:] = np.nan  # products of the tables themselves may underflow
    else:
        work = borrow(program.n_work)
        kernels.run_rows(
            program.code,
            extended.values.copy(),
            extended.base,
            program.least,
            work,
            np.empty(program.n_result),
            codes,
            extended.base[len(tables.base) :],
            tables.cards[seen],
            rows.n_together,
            logs,
        )
        give_back(work)
        logs += tables.log_scale
    for row in np.flatnonzero(np.isnan(logs[0])):
        hard = {v: int(codes[k, row]) for k, v in enumerate(seen) if codes[k, row] >= 0}
        share, mass = engine.joint(targets, Findings(hard, {}), whole=True)
        logs[:, row] = mass
        if targets and mass > -np.inf:
            with np.errstate(divide="ignore"):
                logs[:, row] += np.log(share)
    return logs.T


def _row_program(
    engine: DiscreteEngine, seen: tuple[int, ...], targets: tuple[int, ...]
) -> RowProgram:
    """Return the program for rows that observe some of the variables."""
    tables = engine.tables

    def made() -> RowProgram:
        alone = engine.program((), seen, targets, EVIDENCE)
        n_together = int(min(max(_ROW_ENTRIES // max(alone.tree.total, 1), 1), _MOST_TOGETHER))
        row = Discrete(_Row(), range(n_together))
        scopes = [*tables.scopes(), *((tables.variables[v], row) for v in seen)]
        likelihoods = [np.ones((tables.cards[v], n_together)) for v in seen]
        extended = Tables(
            Scopes([*tables.variables, row], scopes),
            [tables.values, *likelihoods],
            sums_to_one=False,
        )
        extended.child[: len(tables.base)] = tables.child
        asked = (*targets, len(tables.cards))
        tree = plan_tree(restrict(extended, (), (), asked, EVIDENCE))
        program = compile_program(extended, tree, (), asked, both=False)
        return RowProgram(program, extended, n_together)

    made_before: RowProgram = engine.remembered(("rows", seen, targets), made)
    return made_before


class _Row:
    """The name of the variable that stands for the row: no other variable has it."""
