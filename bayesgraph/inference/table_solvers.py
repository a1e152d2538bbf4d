"""Solvers of models of tables, for one case: joint enumeration and elimination programs."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import tiers
from bayesgraph.core.errors import EvidenceError, MemoryLimitError
from bayesgraph.core.parallel import BYTES, default_memory_limit
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.inference import (
    contract,
    execution_kernels,
    order_kernels,
    program_kernels,
    sensitivity,
)
from bayesgraph.inference.elimination import table_derivatives
from bayesgraph.inference.junction import Ints, Program, Tree
from bayesgraph.inference.program_kernels import N_ROWS
from bayesgraph.inference.programs import (
    CompiledTables,
    Query,
    Relevance,
    Run,
    held_bytes,
    held_entries,
    plan_tree,
    size_error,
)
from bayesgraph.inference.results import Assignment, Marginals, Posterior, places_of, posterior_at
from bayesgraph.inference.tables import MOST_DENSE, SMALLEST, Findings

# ------ The most probable assignments, and exact draws, from a junction tree after its upward pass
# The upward pass sends the messages from the leaves of the tree to its roots.


_NO_DRAWS = np.empty((1, 0))


def assignments_of(
    compiled: CompiledTables,
    program: Program,
    case: contract.Case,
    over: Sequence[int] | None,
    memory_limit: float | None,
) -> contract.Taken | None:
    """Return the most probable assignments of the variables that a program maximises, best first.

    Parameters
    ----------
    compiled : CompiledTables
    program : Program
        It sums out all other variables before it maximises; this restricts the elimination order.
    case : Case
    over : sequence of int, optional
        Indices of the maximised variables if other variables were summed out (marginal MAP); only
        the best assignment is then available, and `ranked` finds others. None if all free variables
        were maximised.
    memory_limit : float or None

    Returns
    -------
    Taken or None
        ``take(k)`` gives fewer than k assignments if fewer have positive probability; None if the
        evidence is impossible.
    """
    run = compiled.run(program, case, memory_limit, logarithmic=True)
    if run.log_mass == -np.inf:
        return None
    numbers = program.tree.variables
    maximised = numbers if over is None else np.array(over, dtype=np.int64)
    # Where the maximised variables are among the program's, which are ascending.
    places = np.searchsorted(numbers, maximised)
    variables = [compiled.tables.variables[v] for v in maximised.tolist()]

    def take(k: int) -> list[Assignment]:
        """Return the k best assignments, by name and state, with their log products."""
        assignments = []
        for states, log_mass in _best(run, k if over is None else 1):
            codes = zip(variables, states[places].tolist(), strict=True)
            assigned = {variable.name: variable.states[code] for variable, code in codes}
            assignments.append(Assignment(assigned, log_mass))
        return assignments

    return contract.Taken(take)


def _best(run: Run, k: int) -> list[tuple[Ints, float]]:
    """Return the states of the k best assignments, each with its log product of all tables.

    Cliques are ordered from the roots to the leaves (Nilsson 1998). Take a known assignment and
    a clique. Among the assignments that agree with the known one at all earlier cliques and
    differ from it at this clique, the best is found from the clique's own values, without
    another propagation. It becomes a candidate for the next best assignment. Choices at the
    clique that are already among the results are excluded.
    """
    tree = run.program.tree
    # Children precede parents in the tree; intermediate tables (residual 0) assign no variable.
    order = [c for c in range(len(tree.parent) - 1, -1, -1) if tree.residual[c]]
    first = np.zeros((1, len(tree.variables)), dtype=np.int64)
    _decode(run, first, run.program.maximal)
    # A candidate: its negative log mass, a tie-breaker, the known assignment, the index in
    # `order` of the clique where it differs, its choice there, the choices excluded there.
    counter = 0
    heap: list[tuple[float, int, Ints, int, int, frozenset[int]]] = []
    assignments = [(first[0], run.log_mass)]
    # Where the last result left the assignment it was derived from: the index in `order` of the
    # clique, and the choices excluded there.
    branch: tuple[int, frozenset[int]] = (0, frozenset())
    while len(assignments) < k:
        states, log_mass = assignments[-1]
        begin, excluded = branch
        for at in range(begin, len(order)):
            values, choices = _local(run, order[at], states)
            members, cards = _leaving(run, order[at])
            choice = int(np.ravel_multi_index(tuple(states[members]), cards))
            excluded_here = (excluded if at == begin else frozenset()) | {choice}
            lost = values[np.searchsorted(choices, choice)]
            values[np.searchsorted(choices, list(excluded_here))] = -np.inf
            best = int(np.argmax(values))
            if values[best] > -np.inf:
                counter += 1
                value = log_mass + float(values[best] - lost)
                best = int(choices[best])
                heapq.heappush(heap, (-value, counter, states, at, best, excluded_here))
        if not heap:
            break
        negative, _, parent, at, best, excluded_here = heapq.heappop(heap)
        row = parent.copy()[None]
        members, cards = _leaving(run, order[at])
        row[0, members] = np.unravel_index(best, cards)
        # All later cliques take their best states, given those at the earlier ones.
        below = np.zeros(len(tree.parent), dtype=np.int64)
        below[order[at + 1 :]] = 1
        _decode(run, row, below)
        assignments.append((row[0], -negative))
        branch = (at, excluded_here)
    return assignments


def draws_of(
    compiled: CompiledTables, program: Program, case: contract.Case, memory_limit: float | None
) -> contract.Taken | None:
    """Return exact posterior draws of the free variables of tables; None for impossible evidence.

    For each draw the states are sampled clique by clique from the roots to the leaves (Dawid 1992).
    `program` contains all factors.
    """
    run = compiled.run(program, case, memory_limit)
    numbers, n_cliques = program.tree.variables, len(program.tree.parent)

    def take(n: int, random: np.random.Generator) -> dict[Variable, NDArray[Any]]:
        """Return n draws: the state codes of each variable, shape (n,)."""
        states = np.zeros((n, len(numbers)), dtype=np.int64)
        _decode(run, states, np.ones(n_cliques, dtype=np.int64), random.random((n, n_cliques)))
        return {compiled.tables.variables[v]: states[:, k] for k, v in enumerate(numbers)}

    return contract.Taken(take) if run.log_mass > -np.inf else None


def ranked(
    k: int,
    variables: Sequence[Discrete],
    best: Callable[[Mapping[Discrete, Floats]], Assignment | None],
) -> list[Assignment]:
    """Return the k best assignments of some variables, given a function that finds the best one.

    The assignments other than the best are divided by the first variable in which they differ from
    it: the earlier ones have its states, and this one has another. The best of each part is a
    candidate for the second best, whose part is then divided in the same way (Lawler 1972). Each
    further assignment takes as many calls of `best` as there are variables.

    Parameters
    ----------
    k : int
    variables : sequence of Discrete
    best : callable
        Function of log likelihoods of all of the variables, 0 or minus infinity, that returns the
        best assignment; None if all have probability zero.
    """
    free = {variable: np.zeros(variable.cardinality) for variable in variables}
    assignments: list[Assignment] = []
    # A candidate: its negative log probability, a tie-breaker, the assignment, and its part.
    heap: list[tuple[float, int, Assignment, dict[Discrete, Floats]]] = []
    counter = 0

    def push(part: dict[Discrete, Floats]) -> None:
        """Make the best assignment of a part a candidate, if it is possible."""
        nonlocal counter
        first = best(part)
        if first is not None and first.log_probability > -np.inf:
            heapq.heappush(heap, (-first.log_probability, counter, first, part))
            counter += 1

    push(free)
    while heap and len(assignments) < k:
        _, _, assignment, part = heapq.heappop(heap)
        assignments.append(assignment)
        for variable in variables if len(assignments) < k else ():
            code = variable.index(assignment[variable.name])
            # A part of which this is the first variable that differs from the result.
            others = part[variable].copy()
            others[code] = -np.inf
            if np.isfinite(others).any():
                push({**part, variable: others})
            only = np.full(variable.cardinality, -np.inf)
            only[code] = 0.0
            # In the parts of later variables, this one has the state of the result.
            part = {**part, variable: only}
    return assignments


def _decode(run: Run, assigned: Ints, chosen: Ints, uniform: Floats = _NO_DRAWS) -> None:
    """Write states to `assigned`, the best or drawn ones; see `execution_kernels.decode`."""
    execution_kernels.decode(
        assigned, uniform, chosen, run.program, run.tables, run.offsets, run.space,
        not run.logarithmic,
    )  # fmt: skip


def _leaving(run: Run, clique: int) -> tuple[Ints, tuple[int, ...]]:
    """Return the indices of the variables that a clique eliminates, and their cardinalities."""
    tree = run.program.tree
    begin = tree.c_start[clique]
    members = tree.member[begin : begin + tree.residual[clique]]
    return members, tuple(tree.cards[members].tolist())


def _local(run: Run, clique: int, states: Ints) -> tuple[Floats, Ints]:
    """Return the log values of joint states of the variables that a clique eliminates.

    The value is the product of the clique's factors and incoming messages. The other variables of
    the clique have the states in `states`, an array over all free variables. The second array has
    the numbers of the joint states, ascending; those of a compressed clique are the possible ones.
    """
    program, tree = run.program, run.program.tree
    operands = execution_kernels.operand_lists(tree.home, tree.parent, program.up)
    # Number of joint states; a compressed clique has at most as many values as rows.
    n = math.prod(_leaving(run, clique)[1])
    rows = program.layout[N_ROWS, len(tree.factors) + clique] if program.layout.size else -1
    values = np.empty((1, n if rows < 0 else rows))
    n_local, keys_at = execution_kernels.local_values(
        clique, states[None], program, operands, run.tables, run.offsets, run.space, False, values
    )
    if keys_at < 0:
        return values[0], np.arange(n)
    # The variables that the clique eliminates are the low digits of its keys.
    return values[0, :n_local], program.code[keys_at : keys_at + n_local] % n


# ----------- Solvers of models of tables, for one case: joint enumeration and elimination programs


# Maximum number of free variables for which enumeration is considered.
FEW_VARIABLES = 9
# Maximum number of targets of a joint posterior: NumPy arrays have at most 64 axes.
_MAX_TARGETS = 60
# Number of the run before which a better order is searched for and cliques are compressed to save
# time: a query that is run once or twice would take longer by it.
_RUNS_BEFORE = 3
# Questions that may be answered slice by slice.
_SLICED = (contract.Joint, contract.All, contract.Mass)
# Logarithm of the ratio of two sums above which a larger unit is taken for both.
_LARGE = 100.0


class _TableSolver(contract.Solver):
    """Base class of solvers of models whose factors are all tables."""

    def serves(self, model: Any) -> bool:
        return model._compiled_tables is not None


class _TableWork(contract.Work):
    """Base class of prepared queries on models whose factors are all tables."""

    def _prepare(self, model: Any) -> None:
        self.compiled: CompiledTables = model._compiled_tables


class _TablePosteriors(_TableWork):
    """Base class of prepared queries for a joint posterior or for all marginals."""

    def _prepare(self, model: Any) -> None:
        super()._prepare(model)
        # For marginals, where each begins in the flat result; for a joint posterior, its axes.
        if isinstance(self.question, contract.All):
            observed = self.pattern.observed
            variables = self.compiled.tables.variables
            self._places = places_of([variables[v] for v in self.compiled.free(observed)])
            return
        targets = self.question.targets
        if len(targets) > _MAX_TARGETS:
            raise EvidenceError(
                f"A joint posterior is of at most {_MAX_TARGETS} variables; got {len(targets)}. "
                "Ask for `marginals`, or for fewer at a time."
            )
        self._targets = tuple(self.compiled.tables.variables[v] for v in targets)
        self._shape = tuple(v.cardinality for v in self._targets)

    def _answer(
        self,
        answer: tuple[Floats, float],
        case: contract.Case,
        memory_limit: float | None,
    ) -> Posterior | Marginals | None:
        """Return computed probabilities as a `Posterior` or as `Marginals`.

        None if the evidence is impossible. `answer` has the flat probabilities and the log of the
        sum of the product of the tables.
        """
        flat, log_mass = answer
        if log_mass == -np.inf:
            return None
        if isinstance(self.question, contract.All):
            of_name = partial(posterior_at, self._places, flat, log_mass)
            return Marginals(self._places, of_name, log_mass, flat=flat)
        if self.question.whole:
            return Posterior(self._targets, flat.reshape(self._shape), log_mass)
        # Tables irrelevant to the targets were left out: the log evidence is a query of its own.
        model: Any = self.model_ref()  # a strong reference: callers may drop it before the answer

        def log_evidence() -> float:
            work = model._work(contract.Mass(), case.pattern, memory_limit)
            return float(work.run(case, memory_limit))

        return Posterior(self._targets, flat.reshape(self._shape), log_evidence)


# ------------------------------------------------------------------------------ joint enumeration


class EnumeratedPosteriors(_TablePosteriors):
    """Prepared query for a joint posterior or all marginals, by enumeration of all joint states."""

    def _prepare(self, model: Any) -> None:
        super()._prepare(model)
        tables = _enumerable(self.compiled, self.question, self.pattern)
        assert tables is not None  # `takes` has checked it
        self._layout = self.compiled.enumeration(getattr(self.question, "targets", ()), tables)

    def run(self, case: contract.Case, memory_limit: float | None = None) -> Any:
        answer = self.compiled.enumerated(case, self._layout)
        if answer is not None:
            return self._answer(answer, case, memory_limit)
        # The mass is zero or could underflow: a compiled program can run on logarithms.
        model, question, pattern = self.model, self.question, self.pattern
        program = model._memo.get(
            ("program", question, pattern),
            lambda: PROGRAMS.prepare(model, question, pattern, memory_limit),
        )
        return program.run(case, memory_limit)


class JointEnumeration(_TableSolver):
    """Solver that enumerates the joint states of all relevant variables, if there are few."""

    name = "joint enumeration"
    condition = "one case of tables, with states as findings, and at most 9 variables that matter"
    works: ClassVar = {contract.Joint: EnumeratedPosteriors, contract.All: EnumeratedPosteriors}

    def takes(self, model: Any, question: Any, pattern: contract.Pattern) -> bool:
        compiled: CompiledTables = model._compiled_tables
        one_case = not pattern.rows and not pattern.soft
        return one_case and _enumerable(compiled, question, pattern) is not None

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        compiled: CompiledTables = model._compiled_tables
        factors = _enumerable(compiled, question, pattern)
        assert factors is not None  # `takes` has checked it
        tables = compiled.tables
        start, item = tables.arrays.start, tables.arrays.item
        members = {v for f in factors for v in item[start[f] : start[f + 1]].tolist()}
        free, variables = sorted(members.difference(pattern.observed)), tables.variables
        targets = getattr(question, "targets", ())
        return contract.Plan(
            keep=tuple(variables[v] for v in targets), joint=tuple(variables[v] for v in free)
        )


def _enumerable(
    compiled: CompiledTables, question: Any, pattern: contract.Pattern
) -> Sequence[int] | None:
    """Return the tables that a query needs, if it can be answered by enumeration, else None.

    They are all tables if the model has at most `FEW_VARIABLES` free variables, else those that are
    relevant; None if these have more free variables.
    """
    if len(compiled.tables.variables) - len(pattern.observed) <= FEW_VARIABLES:
        return range(len(compiled.tables))
    query = query_of(compiled, question, pattern)
    if query.relevance is Relevance.EVERYTHING:
        return None
    restricted = compiled.restricted(query)
    return None if len(restricted.variables) > FEW_VARIABLES else restricted.factors.tolist()


# ------------------------------------------------------------------------------- compiled programs


def query_of(
    compiled: CompiledTables, question: contract.Question, pattern: contract.Pattern
) -> Query:
    """Return the query of a program that answers a question about tables."""
    evidence = pattern.observed, pattern.soft
    match question:
        case contract.Joint(targets, whole):
            is_mass_asked = whole or not targets
            relevance = Relevance.EVIDENCE if is_mass_asked else Relevance.TARGETS
            return Query(*evidence, targets, relevance)
        case contract.Mass():
            return Query(*evidence, relevance=Relevance.EVIDENCE)
        case contract.Best(over=None):
            return Query(*evidence, maximized=tuple(compiled.free(pattern.observed)))
        case contract.Best(over=tuple(over)):
            return Query(*evidence, over, Relevance.EVIDENCE, maximized=over)
        case _:
            return Query(*evidence, both=isinstance(question, contract.All))


class _Program(_TableWork):
    """Base class of prepared queries that hold a compiled elimination program.

    The program serves all states of the observed variables. If it is too large for memory, or so
    large that finding a smaller one takes less time than running it, each run has a program of its
    own, in which the zeros that the states bring about compress cliques too.
    """

    def _prepare(self, model: Any) -> None:
        super()._prepare(model)
        self._runs = 0  # by the program of all cases, up to now
        # By memory limit, if runs exceed it: the variables whose states are gone through one by
        # one, and the program of a slice.
        self._slices: dict[float, tuple[list[int], Program]] = {}
        self._query = query_of(self.compiled, self.question, self.pattern)
        self._tree = self.compiled.tree(self._query)
        general = None
        with suppress(MemoryLimitError):
            general = self._made(memory_limit=self.memory_limit)
        self._keep(general)

    def _made(self, **options: Any) -> Program:
        """Compile the query's program on its tree, with options of `CompiledTables.program`."""
        return self.compiled.program(self._query, tree=self._tree, **options)

    def _keep(self, general: Program | None) -> None:
        """Keep the program of all cases (None if it is too large), and what each run asks of it."""
        self._general = general
        self._nbytes = contract.nbytes_of(general or self._tree)  # held by the prepared query
        self._bytes = math.inf if general is None else held_bytes(general)  # held by a run
        large = general is not None and general.tree.total > MOST_DENSE
        self._narrows = large and bool(self.pattern.observed)  # try programs of single cases

    def _program(self, case: contract.Case, memory_limit: float | None) -> Program:
        """Return the program for a case: that of all cases, or one of this case.

        In run `_RUNS_BEFORE` that of all cases is replaced by a better one, if it is not small.
        """
        general = self._general
        limit = default_memory_limit() if memory_limit is None else memory_limit
        if general is None or self._bytes > limit:
            return self._narrowed(case, limit)
        self._runs += 1
        if self._runs == _RUNS_BEFORE and general.tree.total >= SMALLEST:
            tree = self.compiled.tree(self._query, order_kernels.OFTEN)
            if tree.total < self._tree.total:
                self._tree = tree
            with suppress(MemoryLimitError):
                general = self._made(memory_limit=memory_limit, compress=True)
            self._keep(general)
        if self._narrows:
            narrow = general
            with suppress(MemoryLimitError):
                narrow = self._narrowed(case, limit)
            # Later cases are tried only as long as it pays.
            self._narrows = narrow.tree.total < general.tree.total / 2
            return narrow
        return general

    def _narrowed(self, case: contract.Case, limit: float) -> Program:
        """Return the program of one case, which the model keeps as long as there is room."""

        def compile_case() -> Program:
            return self._made(memory_limit=limit, compress=True, hard=case.hard)

        states = tuple(case.hard[v] for v in self.pattern.observed)
        key = ("case", type(self.question), self.question, self.pattern, states)
        program: Program = self.model._memo.get(key, compile_case)
        # A held program above a smaller limit is compiled again, which raises the error of this.
        return program if held_bytes(program) <= limit else compile_case()

    def _result(self, case: contract.Case, memory_limit: float | None) -> tuple[Floats, float]:
        """Return the flat result of a case and its log mass.

        A case that does not fit into the limit is answered slice by slice, and so are all later
        ones with this limit.
        """
        limit = default_memory_limit() if memory_limit is None else memory_limit
        if limit not in self._slices:
            try:
                run = self.compiled.run(self._program(case, memory_limit), case, memory_limit)
            except MemoryLimitError:
                pass
            else:
                run.release()
                return run.result, run.log_mass
            self._slices[limit] = sliced_program(self.compiled, self._query, self._tree, limit)
        return self._sum_of_slices(case, *self._slices[limit])

    def _sum_of_slices(
        self, case: contract.Case, cut: list[int], program: Program
    ) -> tuple[Floats, float]:
        """Return the result and the log mass of a case, summed over the states of some variables.

        The same program serves all of them.
        """
        cards = self.compiled.tables.arrays.cards
        # Which entries of the result are marginals of `cut`, that are findings in the program.
        is_cut = np.zeros(program.n_result, bool)
        if isinstance(self.question, contract.All):
            free = self.compiled.free(self.pattern.observed)
            is_cut = np.repeat(np.isin(free, cut), cards[free])
        # The sums so far, of weighted results and of masses, are divided by exp(unit).
        result, total, unit = np.zeros(len(is_cut)), 0.0, -np.inf
        for states in itertools.product(*map(range, cards[cut])):
            hard = {**case.hard, **dict(zip(cut, states, strict=True))}
            run = self.compiled.run(program, case._replace(hard=hard), np.inf)
            run.release()
            if run.log_mass == -np.inf:
                continue
            if run.log_mass > unit + _LARGE:
                scale = np.exp(unit - run.log_mass)
                result, total, unit = result * scale, total * scale, run.log_mass
            mass = math.exp(run.log_mass - unit)
            total += mass
            result[~is_cut] += mass * run.result
            if is_cut.any():  # in a slice each of these marginals is one at the slice's state
                is_state = [np.arange(cards[v]) == k for v, k in zip(cut, states, strict=True)]
                result[is_cut] += mass * np.concatenate(is_state)
        return (result / total, unit + math.log(total)) if total else (result, -np.inf)

    @property
    def nbytes(self) -> int:
        return self._nbytes


def sliced_program(
    compiled: CompiledTables, query: Query, tree: Tree, limit: float
) -> tuple[list[int], Program]:
    """Return variables whose states are gone through one by one, and the program of a slice.

    Raises
    ------
    MemoryLimitError
        If all slices together would take hours.
    """
    if query.relevance is Relevance.TARGETS:  # slices are weighted by their probability
        query = query._replace(relevance=Relevance.EVIDENCE)
    for_messages = limit
    while for_messages >= BYTES:
        sliced = compiled.sliced(query, for_messages)
        if sliced is None:
            break
        cut, smaller = sliced
        of_slice = query._replace(observed=sorted((*query.observed, *cut)))
        program = compiled.program(of_slice, tree=smaller, memory_limit=np.inf)
        if held_bytes(program) <= limit:
            return cut, program
        for_messages /= 2.0  # a run holds more than messages
    raise size_error(tree, limit)


class ProgramPosteriors(_Program, _TablePosteriors):
    """Prepared query for a joint posterior or all marginals, by an elimination program.

    A joint posterior takes one pass towards the root clique with the targets, marginals take two.
    As long as nothing is compiled, one program serves all questions about single variables.
    """

    def _prepare(self, model: Any) -> None:
        # The program of all marginals without evidence, as long as it serves; else None.
        is_simple = self.memory_limit is None and not self.pattern.soft
        self._shared = _shared_program(model, self.question) if is_simple else None
        if self._shared is None:
            super()._prepare(model)
            return
        _TablePosteriors._prepare(self, model)  # not that of `_Program`, which plans
        n_states = self._shared.tree.cards
        if isinstance(self.question, contract.All):
            is_asked = np.isin(self._shared.tree.variables, self.pattern.observed, invert=True)
        else:
            is_asked = self._shared.tree.variables == self.question.targets[0]
        # Which entries of the shared program's result answer the question.
        self._asked, self._nbytes = np.repeat(is_asked, n_states), 0

    def run(
        self, case: contract.Case, memory_limit: float | None = None
    ) -> Posterior | Marginals | None:
        # The shared program serves until the compiler of programs is compiled itself.
        if self._shared is not None and (memory_limit is not None or not _is_slow_to_plan()):
            self._shared = None
            super()._prepare(self.model)
        if self._shared is None:
            return self._answer(self._result(case, memory_limit), case, memory_limit)
        run = self.compiled.run(self._shared, case, everything=True)
        run.release()
        return self._answer((run.result[self._asked], run.log_mass), case, memory_limit)


# Maximum number of entries of all cliques of a program without evidence, which evidence would make
# smaller: operations on them take less time than planning.
_MOST_SHARED = 2**17


def _is_slow_to_plan() -> bool:
    """Tell whether planning is interpreted still, as its kernels are not compiled yet."""
    return tiers.interprets(program_kernels.compile_tree)


def _shared_program(model: Any, question: Any) -> Program | None:
    """Return the program of all marginals without evidence, if nothing is compiled yet.

    Evidence is entered in its tables. To plan for each set of observed variables would take longer,
    as planning runs loops that only a compiler makes fast. None for a joint posterior of several
    variables, and for a large program.
    """

    def made() -> Program | None:
        compiled: CompiledTables = model._compiled_tables
        whole = compiled.restricted(Query(()))
        # With findings in it no table is a distribution, over which a sum is one.
        tree = plan_tree(whole._replace(child=np.full_like(whole.child, -1)))
        if tree.total > _MOST_SHARED:
            return None
        return compiled.program(Query((), both=True), tree=tree)

    is_single = isinstance(question, contract.All) or len(question.targets) == 1
    if not (is_single and _is_slow_to_plan()):
        return None
    program: Program | None = model._memo.get("shared program", made)
    return program


class ProgramMass(_Program):
    """Prepared query for log P(evidence): the log of the sum of the product of all tables."""

    def run(self, case: contract.Case, memory_limit: float | None = None) -> float:
        return self._result(case, memory_limit)[1]


class ProgramBest(_Program):
    """Prepared query for the most probable assignments, by an elimination program.

    One pass from the leaves of the junction tree to the roots sums before it maximises. A search
    from the roots to the leaves then finds the k best assignments clique by clique.
    """

    def run(self, case: contract.Case, memory_limit: float | None = None) -> contract.Taken | None:
        program = self._program(case, memory_limit)
        return assignments_of(self.compiled, program, case, self.question.over, memory_limit)


class ProgramDraw(_Program):
    """Prepared query for exact draws, by an elimination program.

    After one pass to the roots, states are drawn clique by clique from the roots to the leaves.
    """

    def run(self, case: contract.Case, memory_limit: float | None = None) -> contract.Taken | None:
        return draws_of(self.compiled, self._program(case, memory_limit), case, memory_limit)


class TableSlopes(sensitivity.SlopesWork, _TableWork):
    """Prepared query for derivatives of a posterior with respect to all table entries.

    There are two propagations: with the evidence, and with the evidence and the target.
    """

    def derivatives(
        self, case: contract.Case, log_unit: float | None, memory_limit: float | None
    ) -> sensitivity.Derivatives | None:
        """Return the derivatives of both probabilities; see SlopesWork."""
        tables, (target, state) = self.compiled.tables, self.question
        # `before` are the derivatives of P(evidence), `after` those of P(target = state, evidence).
        before, log_mass = table_derivatives(self.compiled, case, memory_limit=memory_limit)
        if log_unit is None:
            if log_mass == -np.inf:
                return None
            log_unit = log_mass
        both = case.with_states({target: state})
        after, log_both = table_derivatives(self.compiled, both, memory_limit=memory_limit)
        names, is_network = self.model._table_names(), bool((tables.arrays.child >= 0).all())
        # By name of the table, the arrays of `before`, and those of `after`.
        slopes: tuple[dict[Any, Any], dict[Any, Any]] = {}, {}
        values: dict[Any, Floats] = {}
        for f, name in enumerate(names):
            numbers, table = tables.table(f)
            if is_network:
                values[name] = table
            for arrays, factors, either in zip(slopes, (before, after), (case, both), strict=True):
                free = [tables.variables[v] for v in numbers if v not in either.hard]
                # Index 0 is that of the only row. Each compiled table is a table of the model
                # divided by a constant.
                logs = factors[f].aligned(free)[0] - log_unit
                if tables.log_scales:
                    logs -= tables.log_scales[f]
                # Entries that contradict the findings have the derivative zero.
                whole = np.zeros(table.shape)
                whole[tuple(either.hard.get(v, slice(None)) for v in numbers)] = np.exp(logs)
                arrays[name] = (whole,)
        return sensitivity.Derivatives(
            float(np.exp(log_mass - log_unit)),
            float(np.exp(log_both - log_unit)),
            *slopes,
            values,
            {},
            dict(zip(names, tables.scopes(), strict=True)),
            (),
        )


class CompiledPrograms(_TableSolver):
    """Solver by message passing on a junction tree, compiled for a set of observed variables.

    The compiled programs run on probabilities, or on logarithms if probabilities could underflow.
    """

    name = "compiled program"
    condition = "one case of tables"
    works: ClassVar = {
        contract.Joint: ProgramPosteriors,
        contract.All: ProgramPosteriors,
        contract.Mass: ProgramMass,
        contract.Best: ProgramBest,
        contract.Draw: ProgramDraw,
        contract.Slopes: TableSlopes,
        contract.Retractions: sensitivity.FindingRetractions,
    }

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        compiled: CompiledTables = model._compiled_tables
        variables = compiled.tables.variables
        query = query_of(compiled, question, pattern)
        tree = compiled.tree(query)
        kept = [variables[v] for v in query.targets] if query.maximized is None else []
        # With all findings, with none; for each, it alone and its variable given the others. For
        # derivatives two passes, with the evidence and with the target too.
        retractions = 2 + 2 * len({*pattern.observed, *pattern.soft})
        passes = {contract.All: 2, contract.Slopes: 4, contract.Retractions: retractions}.get(
            type(question), 1
        )
        sizes: dict[str, Any] = {}
        if issubclass(self.works[type(question)], _Program):
            program = _planned_program(compiled, query, pattern, tree)
            if program is None and isinstance(question, _SLICED):
                with suppress(MemoryLimitError):
                    cut, program = sliced_program(compiled, query, tree, default_memory_limit())
                    tree, sizes["slices"] = program.tree, tuple(variables[v] for v in cut)
            if program is not None:
                sizes["workspace"] = held_entries(program)
                if program.layout.size:
                    sizes["entries"] = int(tree.total), int(program.tree.total)
        return contract.plan_of_tree(tree, variables, kept, passes=passes, **sizes)


def _planned_program(
    compiled: CompiledTables, query: Query, pattern: contract.Pattern, tree: Tree
) -> Program | None:
    """Return the program that a query comes to use; None if none fits into memory.

    Compilation gives the size of the workspace; the program does not run.
    """

    def compile_for(hard: Findings | None) -> Program | None:
        """Return the program of all cases, or of the case of some findings; None if too large."""
        with suppress(MemoryLimitError):
            return compiled.program(query, tree=tree, compress=True, hard=hard)
        return None

    program = compile_for(None)
    # As `_Program` does: where that of all cases is large, the one of the case alone.
    if pattern.states and (program is None or program.tree.total > MOST_DENSE):
        return compile_for(dict(zip(pattern.observed, pattern.states, strict=True))) or program
    return program


PROGRAMS = CompiledPrograms()
