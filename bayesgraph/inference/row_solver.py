"""Exact inference for all rows of a table, block by block: posteriors and log likelihoods.

Each row may have its own missing values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import MemoryLimitError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.inference import contract, execution_kernels
from bayesgraph.inference.elimination import PlannedSlice, planned_slice
from bayesgraph.inference.factor_solver import Factors, slice_of_case
from bayesgraph.inference.factors import Factor
from bayesgraph.inference.junction import Program
from bayesgraph.inference.programs import CompiledTables, Query, Relevance
from bayesgraph.inference.tables import Tables

# --------- Exact inference for all rows of a table, block by block: posteriors and log likelihoods


# Minimum and maximum number of rows of a block, and intended product of its rows and factors.
# Columns and sums of a block stay in the cache while many factors are added up; blocks are larger
# with few factors, which read their columns in smaller blocks of their own.
_BLOCK_ROWS = 4096
_MAXIMUM_ROWS = 32768
_BLOCK_POTENTIALS = 2**17
# Maximum number of entries of the largest product for one block of rows.
_BLOCK_ENTRIES = 2**23
# Maximum number of entries in all tables of a program that answers several rows together, and
# maximum number of these rows: the tables stay in the second-level cache.
_ROW_ENTRIES = 2**17
_MAXIMUM_TOGETHER = 256
# Number of entries of tables that take about the time of planning an elimination.
_PATTERN_ENTRIES = 2**19


class RowsWork(contract.Work):
    """Prepared query for the log probabilities of the rows of a batch.

    They are log P(target = state, row) for a query with a target, otherwise log P(row).
    """

    def _prepare(self, model: Any) -> None:
        targets = getattr(self.question, "targets", ())
        self._keep: list[Variable] = [model.variables[v] for v in targets]  # the target, if any
        self._target: Any = self._keep[0] if self._keep else None  # discrete: the model checks it

    @cached_property
    def _complete(self) -> PlannedSlice:
        """The submodel of rows that observe all variables of the pattern."""
        return slice_of_case(self.model, self.pattern, getattr(self.question, "targets", ()))

    def _submodel(self, evidence: Evidence, partial: Sequence[Variable]) -> PlannedSlice:
        """Return the submodel of rows; `evidence` has no column that all of them lack."""
        if not partial and len(evidence.columns) == len(self.pattern.observed):
            return self._complete
        return planned_slice(self.model, evidence, partial, self._keep)

    def run(self, case: contract.Case, memory_limit: float | None = None) -> Floats:
        return self.run_rows(case.evidence(self.model.variables))

    def run_rows(self, rows: Evidence) -> Floats:
        target = self._target
        # The states are the outer axis in memory: sums over few states then run along the rows.
        result = np.empty((1 if target is None else target.cardinality, rows.n_rows)).T
        for chosen, block, submodel in self._blocks(rows):
            if submodel is None:
                result[chosen] = _rows_together(self.model, target, block)
                continue
            potential, _ = submodel.marginal(block)
            assert isinstance(potential, Factor)  # the target is discrete
            logs = potential.aligned([] if target is None else [target])
            # An array with all rows that has no other owner is used without a copy.
            if len(logs) > 1 and logs.shape == result.shape and logs.flags.writeable:
                result = logs
            else:
                result[chosen] = logs[:, None] if target is None else logs
        return result[:, 0] if target is None else self._ruled_out(result, rows)

    def _ruled_out(self, logs: Floats, rows: Evidence) -> Floats:
        """Return logs with minus infinity for states that observations of the target rule out."""
        target = self._target
        if target in rows:
            codes = rows.columns[target][:, None]  # -1 is missing
            logs[(codes >= 0) & (codes != np.arange(target.cardinality))] = -np.inf
        return logs

    def _blocks(
        self, evidence: Evidence
    ) -> Iterator[tuple[slice | NDArray[np.intp], Evidence, PlannedSlice | None]]:
        """Yield blocks of rows; rows in which nothing must be summed out have their own blocks.

        Yields
        ------
        rows : slice, or ndarray of int
        block : Evidence
            Evidence of these rows, without columns that are missing in all of them.
        submodel : PlannedSlice or None
            The submodel that answers the rows by variable elimination; None for rows that one
            compiled program answers together.
        """
        model = self.model
        evidence, partial = evidence.split()  # `partial`: the variables that only some rows observe
        together = model._compiled_tables is not None and not evidence.likelihoods
        submodel = self._submodel(evidence, partial)
        if evidence.n_rows == 1:
            # If variables must be summed out of tables, a compiled program does it.
            yield slice(0, 1), evidence, None if together and submodel.plan.steps else submodel
            return
        # The number of factors of rows that observe all of these variables sets the blocks' size.
        whole = submodel if not partial else self._submodel(evidence, ())
        # What has no free variable, such as the tables of observed roots, is one sum for each row.
        n_factors = max(1, sum(map(bool, whole.slice.scopes)))
        step = min(_MAXIMUM_ROWS, max(_BLOCK_ROWS, _BLOCK_POTENTIALS // n_factors))
        for start in range(0, evidence.n_rows, step):
            stretch = slice(start, min(start + step, evidence.n_rows))
            rows = evidence
            # Rows of a stretch may observe fewer variables, or all the same ones.
            if step < evidence.n_rows:
                rows, partial = evidence.rows(stretch).split()
                submodel = self._submodel(rows, partial)
            for chosen, block, block_submodel in self._parts(rows, submodel, together):
                is_whole = len(chosen) == rows.n_rows
                yield stretch if is_whole else start + chosen, block, block_submodel

    def _parts(
        self, rows: Evidence, submodel: PlannedSlice, together: bool
    ) -> Iterator[tuple[NDArray[np.intp], Evidence, PlannedSlice | None]]:
        """Yield (rows, evidence, submodel or None) of the blocks of a stretch, see `_blocks`.

        `submodel` is the submodel of the whole stretch, in which rows are given by their places.
        """
        # Rows in which nothing must be summed out of tables; the others are called open.
        complete = np.ones(rows.n_rows, dtype=bool)
        for variable in submodel.slice.blocking:
            complete &= rows.observed_rows(variable)
        closed, others = np.flatnonzero(complete), np.flatnonzero(~complete)
        # Groups of rows, whether they are open, and whether one program answers them. It works
        # through whole tables for each row: where they are large, the rows that observe the same
        # variables are a group, of which elimination reads only the entries that agree with them.
        groups = [(others, True, together)]
        if together and len(others):
            alike = self._alike(rows.rows(others))
            # Where one program is faster `alike` is empty, and the group stays.
            groups = [(others[places], True, False) for places in alike] or groups
        for group, is_open, in_one_program in ((closed, False, False), *groups):
            if not len(group):
                continue
            # Tables are largest for rows that lack all variables that some of them lack.
            reduced = rows.without(submodel.slice.blocking) if is_open else rows
            # (): open rows have variables to sum out of tables, which `reduced` lacks; all others
            # count as complete.
            largest = self._submodel(reduced, ()).plan.largest_table
            size = max(1, _BLOCK_ENTRIES // largest)
            for begin in range(0, len(group), size):
                chosen = group[begin : begin + size]
                is_whole = len(chosen) == rows.n_rows
                block, partial = (rows, []) if is_whole else rows.rows(chosen).split()
                if in_one_program:
                    yield chosen, block, None
                else:
                    yield chosen, block, submodel if is_whole else self._submodel(block, partial)

    def _alike(self, rows: Evidence) -> list[NDArray[np.intp]]:
        """Return the groups of rows that observe the same variables; none if one program is faster.

        A group takes the time of planning its elimination, a program that of all of its tables for
        each row.
        """
        try:
            program = _row_program(self.model, *_numbers(self.model, self._target, rows))
        except MemoryLimitError:  # zeros that the states of a row bring about may help
            return []
        n_entries = program.n_entries * rows.n_rows
        if n_entries <= _PATTERN_ENTRIES:
            return []
        # The number of each row's set of observed variables, refined by one variable at a time.
        pattern = np.zeros(rows.n_rows, dtype=np.intp)
        for variable in rows.split()[1]:  # all rows observe the others
            _, pattern = np.unique(2 * pattern + rows.observed_rows(variable), return_inverse=True)
        ends = np.cumsum(np.bincount(pattern))  # of the groups, once rows are sorted by pattern
        if n_entries <= _PATTERN_ENTRIES * len(ends):
            return []
        return np.split(np.argsort(pattern, kind="stable"), ends[:-1])


class RowProgram(NamedTuple):
    """An elimination program in which the row index of a block is an additional variable.

    Attributes
    ----------
    program : Program
    tables : Tables
        Tables of the model, then a likelihood over (state, row index) for each observed variable.
    n_together : int
        Number of rows that one run answers.
    n_entries : int
        Number of entries of all tables for one row.
    """

    program: Program
    tables: Tables
    n_together: int
    n_entries: int


def _rows_together(model: Any, target: Discrete | None, evidence: Evidence) -> Floats:
    """Return log probabilities of rows that observe different variables, from one program.

    The row index is a variable of the program: observations are likelihoods that depend on the row
    index, and the result is the joint table of row index and target. Messages that do not depend on
    the evidence are computed once for all rows of a block.

    Returns
    -------
    ndarray, shape (n_rows, n_states), or (n_rows, 1) without a target
        log P(target = state, row), or log P(row).
    """
    compiled: CompiledTables = model._compiled_tables
    tables = compiled.tables
    n_states = 1 if target is None else target.cardinality
    observed, targets = _numbers(model, target, evidence)
    codes = np.empty((len(observed), evidence.n_rows), dtype=np.int64)  # of states, -1: missing
    for k, v in enumerate(observed):
        codes[k] = evidence.columns[tables.variables[v]]
    if evidence.n_rows == 1:
        # The evidence was split: variables that the single row does not observe have no column.
        case = contract.Case(dict(zip(observed, codes[:, 0].tolist(), strict=True)))
        return np.full((1, n_states), _alone(model, targets, case))
    logs = np.full((n_states, evidence.n_rows), np.nan)  # NaN marks rows without an answer yet
    # Where the program of all rows is too large, the states of each row may bring about more zeros.
    with suppress(MemoryLimitError):
        together = _row_program(model, observed, targets)
        program, extended = together.program, together.tables
        # Products of table entries may underflow otherwise. `minima` are binary logarithms of their
        # lower bounds, and `arrays.base` has the place of each table in `values`.
        if program.minima.min(initial=0.0) >= execution_kernels.MINIMUM_LOG2:
            execution_kernels.run_rows(
                program.code,
                extended.values.copy(),
                extended.arrays.base,
                program.minima,
                np.empty(program.n_work),
                np.empty(program.n_result),
                codes,
                extended.arrays.base[len(tables) :],
                tables.arrays.cards[list(observed)],
                together.n_together,
                logs,
            )
            logs += tables.log_scale
    # Rows that are left: all, if the program did not run, else impossible or inaccurate ones.
    for row in np.flatnonzero(np.isnan(logs[0])):
        hard = {v: int(codes[k, row]) for k, v in enumerate(observed) if codes[k, row] >= 0}
        logs[:, row] = _alone(model, targets, contract.Case(hard))
    return logs.T


def _numbers(
    model: Any, target: Discrete | None, evidence: Evidence
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the variables that any row observes, ascending, and of the target."""
    number = model._compiled_tables.tables.number
    columns = {number[v.name]: c for v, c in evidence.columns.items() if v != target}
    observed = sorted(v for v, column in columns.items() if (column >= 0).any())
    return tuple(observed), () if target is None else (number[target.name],)


def _alone(model: Any, targets: tuple[int, ...], case: contract.Case) -> Any:
    """Return log P(target = state, row) for one row, or log P(row) without a target."""
    if not targets:
        return model._answer(contract.Mass(), case)
    posterior = model._answer(contract.Joint(targets, whole=True), case)
    if posterior is None:
        return -np.inf
    return posterior.log_evidence + log_of(posterior.probabilities)


def _row_program(model: Any, observed: tuple[int, ...], targets: tuple[int, ...]) -> RowProgram:
    """Return the program for rows that observe no variables other than those in `observed`.

    The model caches it.
    """
    compiled: CompiledTables = model._compiled_tables
    tables = compiled.tables

    def build() -> RowProgram:
        """Compile the tables of the model with one more variable, the index of the row."""
        # The tree of one row says for how many rows the tables of all together stay small.
        one_row = compiled.tree(Query((), observed, targets, Relevance.EVIDENCE))
        n_together = int(min(max(_ROW_ENTRIES // max(one_row.total, 1), 1), _MAXIMUM_TOGETHER))
        row = Discrete(_Row(), range(n_together))
        # Each observed variable has a likelihood that depends on the row; runs fill them in.
        scopes = [*tables.scopes(), *((tables.variables[v], row) for v in observed)]
        likelihoods = [np.ones((tables.arrays.cards[v], n_together)) for v in observed]
        extended = Tables.over(
            [*tables.variables, row],
            scopes,
            [*(tables.table(f)[1] for f in range(len(tables))), *likelihoods],
            sums_to_one=False,
        )
        # The model's tables still are distributions of their children, which likelihoods are not.
        extended.arrays.child[: len(tables)] = tables.arrays.child
        index_of_row = len(tables.variables)
        query = Query((), (), (*targets, index_of_row), Relevance.EVIDENCE)
        program = CompiledTables(extended).program(query)
        return RowProgram(program, extended, n_together, int(one_row.total))

    program: RowProgram = model._memo.get(("rows", observed, targets), build)
    return program


class _Row:
    """Name of the variable that stands for the row index; each instance is a unique name."""


class Rows(contract.Solver):
    """Solver of batches of rows: by variable elimination, or by one compiled program.

    The program answers rows in which variables must be summed out; where its tables are large, rows
    that observe the same variables are answered by elimination.
    """

    name = "rows"
    condition = "a batch of rows of a product"
    kinds = ("product",)
    works: ClassVar = {contract.Joint: RowsWork, contract.Mass: RowsWork}

    def takes(self, model: Any, question: Any, pattern: contract.Pattern) -> bool:
        return pattern.rows

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        targets = getattr(question, "targets", ())
        kept = tuple(model.variables[v] for v in targets)
        whole = slice_of_case(model, contract.Pattern(pattern.observed, pattern.soft), targets).plan
        reason = "rows that observe all that others depend on"
        parts = [replace(whole, solver="factors", reason=reason)]
        if model._compiled_tables is not None and not pattern.soft:
            rows = _row_program(model, pattern.observed, targets)
            tree = contract.plan_of_tree(
                rows.program.tree,
                rows.tables.variables,
                kept,
                solver="rows together",
                reason=f"the others, {rows.n_together} at a time in one program",
                workspace=rows.program.n_work,
            )
            parts.append(tree)
        return contract.Plan(keep=kept, parts=tuple(parts))


# -------- The solver of weighted networks, whose conditional distributions are raised to exponents
# With observed features O, exponents w and class biases b, the posterior of the class c is
#
#     P(c | x_O)  ~  P(c)^w_0  exp(b_c)  prod_{i in O} p(x_i | observed parents of i, c)^w_ic,
#
# up to normalisation (~). Weighted naive Bayes is an example. Unobserved variables are summed out
# of the conditionals before the exponents are applied.


class TemperedRows(RowsWork):
    """Prepared query for the class scores of a batch of rows.

    A score is the sum of log conditionals times exponents: log P(class | row) up to a constant for
    each row.
    """

    def run_rows(self, rows: Evidence) -> Floats:
        result: Floats = self.model.log_scores(rows)
        if self._target in rows.likelihoods:
            result += rows.likelihoods[self._target]
        return self._ruled_out(result, rows)


class Tempered(Factors):
    """Solver by variable elimination on the factors of the unweighted network and a correction.

    The correction factor is over the class variable: the ratio of the class posterior of the
    weighted network to that of the unweighted network.
    """

    name = "tempered"
    condition = "a weighted network, whose class follows from tempered conditionals"
    kinds = ("tempered",)
    # Tempered conditionals give no probability of the evidence.
    works: ClassVar = {
        q: w for q, w in Factors.works.items() if q not in (contract.Mass, contract.Retractions)
    }

    def takes(self, model: Any, question: Any, pattern: contract.Pattern) -> bool:
        return not pattern.rows or isinstance(question, contract.Joint)

    def prepare(
        self, model: Any, question: Any, pattern: contract.Pattern, memory_limit: float | None
    ) -> contract.Work:
        if not pattern.rows:
            return super().prepare(model, question, pattern, memory_limit)
        # Other targets are answered by factors, of which the correction is one.
        is_class = question.targets == (model._index_of[model.target.name],)
        return (TemperedRows if is_class else RowsWork)(self, model, question, pattern)

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        """Return the plan of the factors, and that of the class posterior that corrects them."""
        # A single case has the factors of rows, and a plan for them.
        plan = super().plan(model, question, contract.Pattern(pattern.observed, pattern.soft))
        target = model._index_of[model.target.name]
        features = tuple([v for v in pattern.observed if v != target])
        of_features = contract.Pattern(features, pattern.soft, pattern.rows)
        inner = model.network._plan_of(contract.Joint((target,)), of_features)
        of_factors = replace(plan, solver="factors", reason="of the network")
        return contract.Plan(keep=plan.keep, parts=(of_factors, inner))
