"""Solvers of products of tables, one case at a time: joint enumeration and compiled programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bayesgraph.errors import EvidenceError
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.compiled import CompiledTables, Run, check_memory
from bayesgraph.inference.contract import (
    All,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Pattern,
    Question,
    Retractions,
    Slopes,
    Solver,
    Work,
    nbytes_of,
)
from bayesgraph.inference.draws import TableDraws
from bayesgraph.inference.explanations import Explanation, Explanations
from bayesgraph.inference.plan import Plan, plan_of_tree
from bayesgraph.inference.planning.cost import BYTES, default_memory_limit
from bayesgraph.inference.programs import EVERYTHING, EVIDENCE, TARGETS, plan_tree, restrict
from bayesgraph.inference.results import Assignment, Marginals, Posterior
from bayesgraph.inference.sensitivity import Conflict, Sensitivity, conflict, sensitivity
from bayesgraph.inference.tables import Integers
from bayesgraph.inference.workspaces import give_back

# NumPy arrays have at most 64 axes.
_MAX_TARGETS = 60
_NO_TARGETS = np.empty(0, dtype=np.int64)


def is_of_tables(model: Any) -> bool:
    """Tell whether a model is a product of factors, all of them tables."""
    return model.compiled is not None


# ------------------------------------------------------------------------------ joint enumeration


class JointEnumeration(Solver):
    """Goes through all joint states of the variables that matter."""

    name = "joint enumeration"
    condition = "one case of a product of tables, without likelihoods, at most 9 variables left"
    answers = frozenset({Joint, All})

    def serves(self, model: Any) -> bool:
        return is_of_tables(model)

    def _few(
        self, model: Any, question: Joint | All, pattern: Pattern
    ) -> tuple[Integers, list[int]] | None:
        """Return the tables that matter and the variables left, if these are few."""
        if pattern.rows or pattern.soft:
            return None
        compiled: CompiledTables = model.compiled
        targets, mode, _ = _terms(compiled, question, pattern)
        return compiled.few_tables(pattern.observed, targets, mode)

    def prepare(
        self, model: Any, question: Any, pattern: Pattern, memory_limit: int | None
    ) -> EnumeratedJoint | EnumeratedAll | None:
        few = self._few(model, question, pattern)
        if few is None:
            return None
        factors, free = few
        if isinstance(question, Joint):
            return EnumeratedJoint(self, model, question, pattern, factors)
        return EnumeratedAll(self, model, question, pattern, factors, free=free)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan | None:
        few = self._few(model, question, pattern)
        if few is None:
            return None
        variables = model.compiled.tables.variables
        targets = question.targets if isinstance(question, Joint) else ()
        return Plan(
            keep=tuple(variables[v] for v in targets), joint=tuple(variables[v] for v in few[1])
        )


class _Enumerated(Work):
    def __init__(
        self,
        solver: Solver,
        model: Any,
        question: Joint | All,
        pattern: Pattern,
        factors: Integers,
    ) -> None:
        super().__init__(solver, model, question, pattern)
        self.compiled: CompiledTables = model.compiled
        self.factors = factors

    def _on_logarithms(self, case: Case, memory_limit: int | None) -> Any:
        """Answer where numbers underflow."""
        model, question, pattern = self.model, self.question, self.pattern
        key = "program", question, pattern
        program = model.memo.get(
            key, lambda: PROGRAMS.prepare(model, question, pattern, memory_limit)
        )
        return program.run(case, memory_limit)


class EnumeratedJoint(_Enumerated):
    """A joint posterior from all joint states."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._answer = _JointAnswer(self)
        self._targets = np.array(self.question.targets, dtype=np.int64)

    def _run(self, case: Case, memory_limit: int | None) -> Posterior | None:
        found = self.compiled.enumerated(case, self._targets, self.factors)
        if found is None:
            answer: Posterior | None = self._on_logarithms(case, memory_limit)
            return answer
        return self._answer(*found, case, memory_limit)


class EnumeratedAll(_Enumerated):
    """All marginals from all joint states."""

    def __init__(self, *args: Any, free: Sequence[int]) -> None:
        super().__init__(*args)
        self._free = np.array(free, dtype=np.int64)

    def _run(self, case: Case, memory_limit: int | None) -> Marginals | None:
        found = self.compiled.enumerated(case, _NO_TARGETS, self.factors)
        if found is None:
            answer: Marginals | None = self._on_logarithms(case, memory_limit)
            return answer
        return _marginals(self.compiled, self._free, *found)


class _JointAnswer:
    """Gives a flat joint posterior its axes."""

    __slots__ = ("_model", "shape", "variables", "whole")

    def __init__(self, work: _Enumerated | _Program) -> None:
        targets, self.whole = work.question
        if len(targets) > _MAX_TARGETS:
            raise EvidenceError(
                f"A joint posterior is of at most {_MAX_TARGETS} variables; got {len(targets)}. "
                "Ask for `marginals`, or for fewer at a time."
            )
        self._model = work.model_ref
        self.variables = tuple(work.compiled.tables.variables[v] for v in targets)
        self.shape = tuple(v.cardinality for v in self.variables)

    def __call__(
        self, flat: Floats, log_mass: float, case: Case, memory_limit: int | None
    ) -> Posterior | None:
        if log_mass == -np.inf:
            return None
        if self.whole:
            return Posterior(self.variables, flat.reshape(self.shape), log_mass)
        model = self._model()  # the answer may outlive the name that it was asked by

        def log_evidence() -> float:
            assert model is not None  # it was alive when it was asked
            work = model.work(Mass(), case.pattern, memory_limit)
            return float(work.run(case, memory_limit))

        return Posterior(self.variables, flat.reshape(self.shape), log_evidence)


def _marginals(
    compiled: CompiledTables, numbers: Integers, flat: Floats, log_mass: float
) -> Marginals | None:
    if log_mass == -np.inf:
        return None
    return Marginals(compiled.tables.variables, numbers, compiled.tables.cards, flat, log_mass)


# ------------------------------------------------------------------------------- compiled programs


class CompiledPrograms(Solver):
    """Passes over a junction tree, compiled for the pattern of the evidence.

    Runs are linear, and logarithmic where numbers could underflow.
    """

    name = "compiled program"
    condition = "one case of a product of tables"
    answers = frozenset({Joint, All, Mass, Best, Draw, Slopes, Retractions})

    def serves(self, model: Any) -> bool:
        return is_of_tables(model)

    def prepare(
        self, model: Any, question: Any, pattern: Pattern, memory_limit: int | None
    ) -> Work | None:
        if pattern.rows:
            return None
        make: type[_Program] | type[_OutwardWork] = _WORK[type(question)]
        return make(self, model, question, pattern, memory_limit)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan | None:
        if pattern.rows:
            return None
        compiled: CompiledTables = model.compiled
        tables = compiled.tables
        targets, mode, maximized = _terms(compiled, question, pattern)
        restricted = restrict(tables, pattern.observed, pattern.soft, targets, mode)
        stage = None
        if maximized is not None:
            stage = np.zeros(len(tables.cards), dtype=np.int64)
            stage[list(maximized)] = 1
        tree = plan_tree(restricted, stage=stage, unlimited=True)
        kept = [tables.variables[v] for v in targets] if maximized is None else []
        passes = {All: 2, Slopes: 4, Retractions: 4}.get(type(question), 1)
        plan = plan_of_tree(tree, tables.variables, kept, passes=passes)
        make = _WORK[type(question)]
        if not issubclass(make, _Program) or BYTES * tree.largest > default_memory_limit():
            return plan
        # Compiling tells the size of the workspace; nothing runs.
        program = compiled.program(
            pattern.observed, pattern.soft, targets, mode, both=make.both, maximized=maximized
        )
        return plan.of_size(program.n_work + program.n_result)


def _terms(
    compiled: CompiledTables, question: Question, pattern: Pattern
) -> tuple[Sequence[int], int, Sequence[int] | None]:
    """Return targets, mode and what is maximised, as `CompiledTables.program` takes them."""
    match question:
        case Joint(targets, whole):
            return targets, EVIDENCE if whole or not targets else TARGETS, None
        case Mass():
            return (), EVIDENCE, None
        case Best(over=None):
            return (), EVERYTHING, tuple(compiled.free(pattern.observed))
        case Best(over=tuple(over)):
            return over, EVIDENCE, over
        case _:
            return (), EVERYTHING, None


class _Program(Work):
    """Compiled when it is made."""

    both: ClassVar[bool] = False
    logarithmic: ClassVar[bool] = False

    def __init__(
        self,
        solver: Solver,
        model: Any,
        question: Any,
        pattern: Pattern,
        memory_limit: int | None,
    ) -> None:
        super().__init__(solver, model, question, pattern)
        self.compiled: CompiledTables = model.compiled
        targets, mode, maximized = _terms(self.compiled, question, pattern)
        self.program = self.compiled.program(
            pattern.observed,
            pattern.soft,
            targets,
            mode,
            both=self.both,
            maximized=maximized,
            memory_limit=memory_limit,
        )

    def _pass(self, case: Case, memory_limit: int | None) -> Run:
        check_memory(self.program, memory_limit)
        return self.compiled.run(self.program, case, logarithmic=self.logarithmic)

    @property
    def nbytes(self) -> int:
        return nbytes_of(self.program)


class ProgramJoint(_Program):
    """A joint posterior: one pass towards the root that holds the targets."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._answer = _JointAnswer(self)

    def _run(self, case: Case, memory_limit: int | None) -> Posterior | None:
        run = self._pass(case, memory_limit)
        give_back(run.space)
        return self._answer(run.result, run.log_mass, case, memory_limit)


class ProgramAll(_Program):
    """All marginals: two passes."""

    both = True

    def _run(self, case: Case, memory_limit: int | None) -> Marginals | None:
        run = self._pass(case, memory_limit)
        give_back(run.space)
        return _marginals(self.compiled, self.program.tree.variables, run.result, run.log_mass)


class ProgramMass(_Program):
    """The log of the sum of the product that agrees with the evidence."""

    def _run(self, case: Case, memory_limit: int | None) -> float:
        run = self._pass(case, memory_limit)
        give_back(run.space)
        return run.log_mass


class ProgramBest(_Program):
    """The most probable assignments: sums before maxima, then a search from the roots."""

    logarithmic = True

    def _run(self, case: Case, memory_limit: int | None) -> TableAssignments | None:
        run = self._pass(case, memory_limit)
        if run.log_mass == -np.inf:
            give_back(run.space)
            return None
        over = self.question.over
        places = None if over is None else np.array(over, dtype=np.int64)
        return TableAssignments(self.compiled, Explanations(run, places))


class TableAssignments:
    """The most probable assignments by name; for one use."""

    def __init__(self, compiled: CompiledTables, found: Explanations) -> None:
        self._variables = compiled.tables.variables
        self._found = found

    def take(self, k: int) -> list[Assignment]:
        """Return the k best, or fewer if fewer are possible."""
        return [self._named(explanation) for explanation in self._found.take(k)]

    def _named(self, found: Explanation) -> Assignment:
        named = {}
        for number, code in zip(found.variables.tolist(), found.states.tolist(), strict=True):
            variable = self._variables[number]
            named[variable.name] = variable.states[code]
        return Assignment(named, found.log_mass)


class ProgramDraw(_Program):
    """Exact draws: one pass towards the roots, then a walk down for each row."""

    def _run(self, case: Case, memory_limit: int | None) -> TableDraws | None:
        run = self._pass(case, memory_limit)
        if run.log_mass == -np.inf:
            give_back(run.space)
            return None
        return TableDraws(self.compiled.tables.variables, run)


class _OutwardWork(Work):
    """Two passes over whole factors; see `outward`."""

    def __init__(
        self,
        solver: Solver,
        model: Any,
        question: Any,
        pattern: Pattern,
        memory_limit: int | None,
    ) -> None:
        super().__init__(solver, model, question, pattern)
        self.compiled: CompiledTables = model.compiled


class OutwardSlopes(_OutwardWork):
    """Derivatives with respect to every table."""

    def _run(self, case: Case, memory_limit: int | None) -> Sensitivity | None:
        target, state = self.question
        compiled = self.compiled
        found = sensitivity(compiled, target, state, case, memory_limit=memory_limit)
        if found is None:
            return None
        value, slopes, covaried = found
        names = self.model.table_names()
        is_network = bool((compiled.tables.child >= 0).all())
        variable = compiled.tables.variables[target]
        return Sensitivity(
            variable.name,
            variable.states[state],
            value,
            dict(zip(names, slopes, strict=True)),
            dict(zip(names, covaried, strict=True)) if is_network else {},
            dict(zip(names, compiled.tables.scopes(), strict=True)),
        )


class OutwardRetractions(_OutwardWork):
    """What is expected without each finding."""

    def _run(self, case: Case, memory_limit: int | None) -> Conflict | None:
        compiled, nothing = self.compiled, Case({})
        work = self.model.work(All(), nothing.pattern, memory_limit)
        before = work.run(nothing, memory_limit)
        found = conflict(
            compiled, case, before.flat, before.log_evidence, memory_limit=memory_limit
        )
        log_evidence, measure, shares, expected, others = found
        if log_evidence == -np.inf:
            return None
        variables = compiled.tables.variables
        worst = sorted(shares, key=lambda v: -shares[v])
        return Conflict(
            log_evidence,
            measure,
            {variables[v].name: shares[v] for v in worst},
            {variables[v].name: Posterior((variables[v],), expected[v], others[v]) for v in worst},
        )


_WORK: dict[type[Any], type[_Program] | type[_OutwardWork]] = {
    Joint: ProgramJoint,
    All: ProgramAll,
    Mass: ProgramMass,
    Best: ProgramBest,
    Draw: ProgramDraw,
    Slopes: OutwardSlopes,
    Retractions: OutwardRetractions,
}
PROGRAMS = CompiledPrograms()
