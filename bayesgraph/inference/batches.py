"""Many rows of evidence at once: blocks that fit into memory, and rows one by one in a kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.discrete import DiscreteEngine
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.plan import make_plan
from bayesgraph.inference.programs import EVIDENCE
from bayesgraph.inference.queries import Model
from bayesgraph.variables import Discrete, Variable

# Rows treated at once: their columns and sums stay in the processor's cache.
_BLOCK_ROWS = 4096
# Numbers in the largest product of one block.
_BLOCK_ENTRIES = 2**23


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
) -> Iterator[tuple[NDArray[np.intp], Evidence, bool]]:
    """Yield blocks of rows, those that need nothing summed out apart from the others.

    Yields
    ------
    rows : ndarray of int
    part : Evidence
        Of these rows.
    partial : bool
        Variables that only some of the rows observe must be summed out where they are missing.
    """
    evidence, _ = evidence.split()
    sizes: dict[frozenset[Variable], int] = {}
    for start in range(0, evidence.n_rows, _BLOCK_ROWS):
        rows = np.arange(start, min(start + _BLOCK_ROWS, evidence.n_rows))
        block = evidence.rows(slice(start, start + _BLOCK_ROWS))
        trimmed, partial = block.split()
        blocking = model.blocking(trimmed, partial, keep)
        complete = np.ones(len(rows), dtype=bool)
        for variable in blocking:
            complete &= trimmed.observed_rows(variable)
        always = frozenset(trimmed.columns).difference(blocking)
        for chosen, observed in ((complete, always.union(blocking)), (~complete, always)):
            which = np.flatnonzero(chosen)
            if observed not in sizes and len(which):
                sizes[observed] = _rows_at_once(model, observed, keep)
            for at in range(0, len(which), sizes.get(observed, 1)):
                part = which[at : at + sizes[observed]]
                whole = len(part) == len(rows)
                yield rows[part], block if whole else block.rows(part), chosen is not complete


def _rows_at_once(model: BatchModel, observed: frozenset[Variable], keep: list[Variable]) -> int:
    """Return for how many rows the largest product stays within bounds."""
    plan = make_plan(model.scopes(observed, keep), keep, order=model.variables)
    return max(1, min(_BLOCK_ROWS, _BLOCK_ENTRIES // plan.largest_table))


def rows_one_by_one(
    engine: DiscreteEngine, target: Discrete | None, evidence: Evidence
) -> Floats | None:
    """Run one program for every row, whatever each of them observes.

    Which states a row leaves possible enters the program as data: a variable that some rows do not
    observe is evidence with likelihoods of zero and one.

    Returns
    -------
    ndarray, shape (n_rows, n_states), or (n_rows,) without a target
        Log of the probability of the row (and of each state of the target with it); None if the
        numbers of some row may underflow or the rows have likelihoods of their own.
    """
    if evidence.likelihoods:
        return None
    tables = engine.tables
    columns = {tables.number[v.name]: c for v, c in evidence.columns.items() if v != target}
    codes = np.full((len(tables.cards), evidence.n_rows), -1, dtype=np.int64)
    for variable, column in columns.items():
        codes[variable] = column
    observed = np.flatnonzero((codes >= 0).all(axis=1))
    partial = np.flatnonzero((codes >= 0).any(axis=1) & (codes < 0).any(axis=1))
    targets = [] if target is None else [tables.number[target.name]]
    program = engine.program(observed.tolist(), partial.tolist(), targets, EVIDENCE)
    if len(program.least) and program.least.min() < kernels.LEAST_LOG2:
        return None
    at = np.flatnonzero(np.isin(tables.item, observed))
    owner = np.searchsorted(tables.start, at, side="right") - 1
    result = np.empty((evidence.n_rows, program.n_result))
    log_mass = np.empty(evidence.n_rows)
    work = engine.workspace(program.n_work)
    failed = kernels.run_rows(
        program.code, tables.values, tables.base, program.least, work, result, log_mass, codes,
        partial, program.soft_at, tables.cards[partial], tables.item[at], owner, tables.step[at],
        program.constant[program.constant < len(tables.base)],
    )  # fmt: skip
    engine.release(work)
    if failed:
        return None
    log_mass += tables.log_scale
    if target is None:
        return log_mass
    with np.errstate(divide="ignore"):
        logs = np.log(result)
    logs[np.isneginf(log_mass)] = 0.0
    return np.asarray(logs + log_mass[:, None])
