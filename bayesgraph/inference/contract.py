"""The interface between models and solvers: queries, evidence, and prepared queries.

A model turns the user's input into a query (an instance of a `Question` type such as `Joint`),
evidence (a `Case` for one case, or an `Evidence` for a batch of rows), and a `Pattern`: which
variables are observed, without their values. A solver prepares the query for the pattern as a
`Work`, which has a printable plan and runs for any values of the observed variables. Variables are
given by their indices in ``model.variables``, because integers are hashed and compared faster than
variables.
"""

from __future__ import annotations

import math
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import tiers
from bayesgraph.core.display import Displayed, DisplayTable
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import (
    BYTES,
    default_memory_limit,
    format_bytes,
    format_count,
    format_seconds,
    memory_error,
)
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Name, Variable
from bayesgraph.inference import order_kernels
from bayesgraph.inference.junction import Tree

# ------ Plans: the eliminations of a query with their cost and memory, without computing any table


# Seconds for each entry of a product, all passes over the entry together (measured).
SECONDS_AN_ENTRY = 3e-9
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
    slices : tuple of variables
        Variables whose states are gone through one by one, each with the same eliminations of the
        others, because the messages would not fit into memory otherwise.
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
    slices: tuple[Discrete, ...] = ()
    parts: tuple[Plan, ...] = ()

    @property
    def tier(self) -> str:
        """How a computation of this size would run now: ``"interpreted"`` or ``"compiled"``."""
        return tiers.tier(self.workspace)

    @property
    def order(self) -> tuple[Name, ...]:
        """Names of the eliminated variables, in order of elimination."""
        eliminated = [step.variable for step in self.steps]
        eliminated += [v for v in self.joint if v not in self.keep]
        return tuple(variable.name for variable in eliminated)

    @cached_property
    def width(self) -> int:
        """Induced width: the number of variables of the largest product, minus one."""
        return max((len(scope) for scope in self._scopes()), default=1) - 1  # 0 without products

    @property
    def largest_table(self) -> int:
        """Number of entries of the largest product."""
        return max((table_entries(scope) for scope in self._scopes()), default=1)

    @property
    def multiplications(self) -> int:
        """Number of entries of all products in all passes: about the number of multiplications."""
        entries = sum(table_entries(scope) for scope in self._own_scopes())
        # All passes run once for each joint state of the slices.
        without_parts = self.passes * table_entries(self.slices) * entries
        return without_parts + sum(part.multiplications for part in self.parts)

    @cached_property
    def bytes(self) -> int:
        """Bytes of the workspace, or of the largest product if nothing is compiled."""
        # The parts run one after the other: they never need their memory at the same time.
        of_self = BYTES * (self.workspace or max(map(table_entries, self._own_scopes()), default=1))
        return max([of_self, *(part.bytes for part in self.parts)])

    @property
    def components(self) -> int:
        """Number of Gaussian components of the result, 1 without continuous targets."""
        if not any(isinstance(v, Continuous) for v in self.keep):
            return 1
        # A composite solver mixes the results of its parts, each a mixture of Gaussians.
        if self.parts:
            return sum(part.components for part in self.parts)
        return math.prod(v.cardinality for v in self.keep if isinstance(v, Discrete))

    def _own_scopes(self) -> list[tuple[Variable, ...]]:
        """Return the scopes of the products formed by this plan, without those of its parts."""
        if self.joint:
            return [self.joint]
        return [*(step.scope for step in self.steps), *([self.keep] if self.keep else [])]

    def _scopes(self) -> list[tuple[Variable, ...]]:
        """Return the scopes of all products, with those of the parts."""
        return [*self._own_scopes(), *(s for part in self.parts for s in part._scopes())]

    def check_memory(self, limit: float | None = None) -> None:
        """Raise a MemoryLimitError if the plan needs too many bytes or axes of an array."""
        allowed = default_memory_limit() if limit is None else limit
        if self.bytes > allowed or self.width >= _MAXIMUM_AXES:
            raise memory_error("a table", self.largest_table, self.width, allowed)

    def _display(self) -> DisplayTable:
        kept = ", ".join(str(variable.name) for variable in self.keep) or "nothing"
        title = f"Plan: eliminate {len(self.order)} variables, keep {kept}\n  by {self.solver}"
        # The bound is within the range of floats; the number of multiplications may be beyond it.
        seconds = format_seconds(SECONDS_AN_ENTRY * min(self.multiplications, 10**300))
        before, after = map(format_count, self.entries or (0, 0))
        held = f"{after} of {before} entries of all tables are held"
        # Rows of the display: label, whether the row is shown, text.
        cells = [
            ("passes", self.passes > 1, str(self.passes)),
            ("induced width", True, str(self.width)),
            ("largest table", True, _size(self.largest_table)),
            ("slices", bool(self.slices), format_count(table_entries(self.slices))),
            ("compressed", self.entries is not None, held),
            ("workspace", self.workspace > 0, _size(self.workspace)),
            ("multiplications", True, f"{format_count(self.multiplications)} (about {seconds})"),
            ("components", self.components > 1, f"{format_count(self.components)} Gaussians"),
            ("tier", self.tier == "interpreted", "interpreted, until compiled kernels pay"),
        ]
        one_by_one = self.joint or self.slices
        notes = [f"joint states of {_names(one_by_one)}, one after the other"] if one_by_one else []
        for number, step in enumerate(self.steps, start=1):
            verb = "integrate" if isinstance(step.variable, Continuous) else "sum"
            notes.append(f"{number:>2}. {verb} {step.variable.name} out of {_names(step.scope)}")
        return DisplayTable(
            f"{title}: {self.reason}" if self.reason else title,
            [(label, cell) for label, shown, cell in cells if shown],
            note="\n".join([*notes, *map(repr, self.parts)]),
        )


def _size(numbers: int) -> str:
    return f"{format_count(numbers)} numbers ({format_bytes(BYTES * numbers)})"


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
    # A conditional Gaussian over n continuous variables has for each cell a log constant, n means
    # and an n x n matrix.
    return cells * (1 + continuous + continuous * continuous) if continuous else cells


def make_plan(
    scopes: Iterable[Sequence[Variable]],
    keep: Sequence[Variable] = (),
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

    Notes
    -----
    Ties go to the variable that appears first in the scopes.
    """
    # Dictionaries as sets that keep the order of first appearance, by which ties are broken.
    distinct = [tuple(dict.fromkeys(scope)) for scope in scopes]
    present = dict.fromkeys(variable for scope in distinct for variable in scope)
    ranked = list(present)
    continuous = [v for v in ranked if isinstance(v, Continuous) and v not in keep]
    steps, remaining = _eliminated(ranked, distinct, continuous)  # `remaining` are scopes
    # A continuous variable that is still in a scope is a kept one. The discrete variables in the
    # same scope index the components of its mixture, and are kept too.
    mixed = [scope for scope in remaining if any(isinstance(v, Continuous) for v in scope)]
    indexing = {v for scope in mixed for v in scope if isinstance(v, Discrete)}
    kept = (*keep, *(v for v in ranked if v in indexing and v not in keep))
    discrete = [v for v in ranked if isinstance(v, Discrete) and v not in set(kept)]
    discrete_steps, _ = _eliminated(ranked, remaining, discrete)
    return Plan((*steps, *discrete_steps), kept)


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
        # Members are positions in `tree.variables`; those eliminated at the clique are first.
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

    These are the scopes of the factors that are left after the last step. `variables` lists all
    variables, in the order that breaks ties. The scope of each step has the eliminated variable
    last.
    """
    if not leaving:
        return [], list(scopes)
    index_of = {v: i for i, v in enumerate(variables)}
    # Scope f is ``item[start[f]:start[f + 1]]``, in indices of `variables`.
    start = np.cumsum([0, *map(len, scopes)])
    item = np.array([index_of[v] for scope in scopes for v in scope], dtype=np.int64)
    cards = [v.cardinality if isinstance(v, Discrete) else 1 for v in variables]
    # Variables of stage 0 are first in the order; those of stage 1 follow and are not eliminated.
    stage = np.ones(len(variables), dtype=np.int64)
    stage[[index_of[v] for v in leaving]] = 0
    order = order_kernels.elimination_order(
        np.array(cards, dtype=np.int64), start, item, stage, order_kernels.ONCE
    )
    turn_of = {variables[v]: turn for turn, v in enumerate(order[: len(leaving)].tolist())}
    # Each scope waits in the bucket of the variable in it that is eliminated first; scopes without
    # one are in the last bucket.
    last = len(leaving)
    buckets: list[list[tuple[Variable, ...]]] = [[] for _ in range(last + 1)]

    def put(scope: tuple[Variable, ...]) -> None:
        buckets[min((turn_of.get(v, last) for v in scope), default=last)].append(scope)

    for scope in scopes:
        put(scope)
    steps = []
    for variable, turn in turn_of.items():
        joined = {v for scope in buckets[turn] for v in scope if v != variable}
        new_scope = tuple(sorted(joined, key=index_of.__getitem__))
        steps.append(PlanStep(variable, (*new_scope, variable)))
        put(new_scope)
    return steps, buckets[last]


# --------------- The interface between models and solvers: queries, evidence, and prepared queries


# Maximum number of entries of a cache, and maximum of their total bytes.
_MAX_ENTRIES = 256
_MAX_BYTES = 2**28


# ------------------------------------------------------------------------------------- questions


# A query: instance of a class in `METHODS`.
Question: TypeAlias = tuple[Any, ...]


class Joint(NamedTuple):
    """Query: the joint posterior of the targets; for a batch of rows, log P(target, row).

    Attributes
    ----------
    targets : tuple of int
    whole : bool
        Whether the log evidence is needed too, so that no evidence may be left out as irrelevant.
    """

    targets: tuple[int, ...]
    whole: bool = False


class All(NamedTuple):
    """Query: the posterior of every unobserved variable."""


class Mass(NamedTuple):
    """Query: the log probability of the evidence.

    For factors that are not a network, it is the log of the sum of their product over all joint
    states that agree with the evidence (the log mass).
    """


class Best(NamedTuple):
    """Query: the most probable assignments; ``take(k)`` of the answer returns the k best in order.

    Attributes
    ----------
    over : tuple of int, optional
        Variables to maximise, with all others summed out, with ``take(1)`` only; None maximises
        all unobserved discrete variables.
    means : bool
        Whether continuous variables are set to their conditional means; with ``take(1)`` only.
    mode : bool
        Whether continuous variables are maximised too; with ``take(1)`` only.
    """

    over: tuple[int, ...] | None = None
    means: bool = False
    mode: bool = False


class Budget(NamedTuple):
    """When a search stops: after a number of steps or of seconds, the first of both.

    It calls `progress` with the best log probability so far and its upper bound.
    """

    max_steps: int | None = None
    max_seconds: float | None = None
    progress: Callable[[float, float], object] | None = None


class Search(NamedTuple):
    """Query: the most probable assignments as far as a search finds them, with a bound.

    Attributes
    ----------
    k : int
        Number of assignments.
    over, means
        As in `Best`.
    budget : Budget
    """

    k: int = 1
    over: tuple[int, ...] | None = None
    means: bool = False
    budget: Budget = Budget()


class Draw(NamedTuple):
    """Query: posterior draws of all unobserved variables; ``take(n, random)`` gives n rows."""


class Sample(NamedTuple):
    """Query: draws of all variables, parents before children; ``take(n, random)`` gives n rows."""


class Slopes(NamedTuple):
    """Query: derivatives of P(target = state | evidence) with respect to all table entries."""

    target: int
    state: int


class Retractions(NamedTuple):
    """Query: the conflict between the findings (observations of single variables).

    The answer has the conflict measure of all findings, the conflict of each finding with the
    others, and the posterior of each observed variable with its own finding left out.
    """


class Approximate(NamedTuple):
    """Query: the posterior of the targets, computed by an approximate method.

    Attributes
    ----------
    targets : tuple of int, optional
        None asks for the posterior of every unobserved variable.
    method : str
        Name of the method, such as "loopy".
    options : mapping from str
        Options of the method.
    """

    targets: tuple[int, ...] | None
    method: str
    options: Mapping[str, Any]


class Samples(NamedTuple):
    """Query: weighted samples of the targets, drawn by likelihood weighting.

    Attributes
    ----------
    targets : tuple of int
    options : mapping from str
        Options of likelihood weighting.
    """

    targets: tuple[int, ...]
    options: Mapping[str, Any]


# Names of the model methods that make each type of query, for error messages.
METHODS: dict[type[Any], str] = {
    Joint: "query",
    All: "marginals",
    Mass: "log_probability",
    Best: "most_probable, k_most_probable and marginal_map",
    Search: "most_probable, k_most_probable and marginal_map",
    Draw: "sample",
    Sample: "sample",
    Slopes: "sensitivity",
    Retractions: "conflict",
    Approximate: "a query with this approximate method",
    Samples: "weighted_samples",
}


def check_target(model: Any, variable: Variable, *, vectors: bool = True) -> None:
    """Raise an error if a variable cannot be a target.

    Parameters
    ----------
    model : Model
    variable : Variable
    vectors : bool
        Whether a vector of counts can be a target if it is a leaf of a network.

    Raises
    ------
    UnsupportedModelError
        If the variable is a vector of counts, and these cannot be targets.
    """
    if isinstance(variable, CountVector) and not (vectors and model._leaf_targets([variable])):
        raise UnsupportedModelError(
            f"{variable.name!r} is a vector of counts, which has no posterior to print; "
            "sample from the model, or ask for another variable."
        )


class Taken(NamedTuple):
    """Answer to `Best`, `Draw` or `Sample`: the function `take` returns the assignments or rows."""

    take: Callable[..., Any]


# -------------------------------------------------------------------------------------- evidence


class Pattern(NamedTuple):
    """The indices of the variables with hard and with soft evidence, without the values.

    Attributes
    ----------
    observed, soft : tuple of int
        Indices of the variables with a value, and of those with likelihoods; ascending for one
        case.
    rows : bool
        Whether the evidence is a batch of rows, where observed variables may have missing values.
    states : tuple
        Values of the observed variables, for plans that depend on them; otherwise empty.
    """

    observed: tuple[int, ...]
    soft: tuple[int, ...] = ()
    rows: bool = False
    states: tuple[Any, ...] = ()


class Case(NamedTuple):
    """Evidence on one case: one value or one likelihood vector for each variable with evidence.

    Attributes
    ----------
    hard : mapping from index of a variable to state code, number or counts
    soft : mapping from index of a discrete variable to log likelihoods of its states
    log_scale : float
        Constant that is added to the log probability of the evidence.
    """

    hard: Mapping[int, Any]
    soft: Mapping[int, Floats] = {}
    log_scale: float = 0.0

    @property
    def pattern(self) -> Pattern:
        """The `Pattern`: indices of the variables with hard and soft evidence, ascending."""
        return Pattern(tuple(sorted(self.hard)), tuple(sorted(self.soft)) if self.soft else ())

    def without(self, variable: int) -> Case:
        """Return the case without the evidence on one variable."""
        hard = {v: state for v, state in self.hard.items() if v != variable}
        soft = {v: logs for v, logs in self.soft.items() if v != variable}
        return Case(hard, soft, self.log_scale)

    def with_states(self, states: Mapping[int, int]) -> Case:
        """Return the case with states of variables, whose likelihoods become constants."""
        soft = {v: logs for v, logs in self.soft.items() if v not in states}
        scale = sum(float(logs[states[v]]) for v, logs in self.soft.items() if v in states)
        return Case({**self.hard, **states}, soft, self.log_scale + scale)

    def renumbered(self, places: Mapping[int, int]) -> Case:
        """Return the case with each variable's index v replaced by ``places[v]``."""
        hard = {places[v]: value for v, value in self.hard.items()}
        return Case(hard, {places[v]: logs for v, logs in self.soft.items()}, self.log_scale)

    def evidence(self, variables: tuple[Variable, ...]) -> Evidence:
        """Return the evidence on the case as an `Evidence` with one row."""
        values = [*self.hard.values()]
        types = set(map(type, values))
        # One array for all values if they have one type: an array for each value is much slower.
        # Its shape is (number of observed variables, 1), so that each item is a column of one row.
        alike = types == {float} or types == {int}
        arrays: Any = np.array(values)[:, None] if alike else [np.array([x]) for x in values]
        observed = tuple([variables[v] for v in self.hard])
        columns = dict(zip(observed, arrays, strict=True))
        soft: dict[Discrete, Floats] = {}
        for v, logs in self.soft.items():
            variable = variables[v]
            assert isinstance(variable, Discrete)  # only discrete variables have likelihoods
            soft[variable] = logs[None]  # shape (1, cardinality): one row
        # Every value of a case is observed, but vectors of counts may have missing entries.
        complete = np.ndarray not in types
        # State codes are also given as one matrix, shape (1, number of observed variables).
        all_discrete = types == {int} and all(isinstance(v, Discrete) for v in observed)
        matrices = ((observed, arrays.T),) if all_discrete else ()
        return Evidence(1, columns, soft, complete, matrices)


# ------------------------------------------------------------------------------------------ work


class Work(ABC):
    """A query prepared for a set of observed variables, to be run for any of their values.

    The function `solver.first_work` returns instances.

    Attributes
    ----------
    solver : Solver
        The solver that has prepared the query.
    model_ref : weak reference to the model
    plan : Plan
        Printable description of the computation.
    """

    def __init__(
        self,
        solver: Solver,
        model: Any,
        question: Any,
        pattern: Pattern,
        memory_limit: float | None = None,
    ) -> None:
        self.solver = solver
        # The model's cache holds the prepared query; a strong reference would make a cycle.
        self.model_ref = weakref.ref(model)
        self.question = question
        self.pattern = pattern
        self.memory_limit = memory_limit
        self._prepare(model)

    def _prepare(self, model: Any) -> None:  # noqa: B027  # most have something to prepare
        """Prepare everything that does not depend on the values of the evidence."""

    @property
    def model(self) -> Any:
        """The model that is queried; None once the model has been freed."""
        return self.model_ref()

    @property
    def plan(self) -> Plan:
        """Printable description of the computation, made without running it."""
        return self.solver.named_plan(self.model, self.question, self.pattern)

    @abstractmethod
    def run(self, case: Case, memory_limit: float | None = None) -> Any:
        """Return the answer for one case; None (for `Mass` -inf) if the evidence is impossible.

        Raises
        ------
        MemoryLimitError
            If a run takes more than the limit in bytes (by default half of the machine's memory).
        """

    def run_rows(self, rows: Evidence) -> Floats:
        """Return log probabilities for each row of a batch.

        For `Joint` they are log P(target = state, row), for some solvers up to a constant for each
        row, shape (n_rows, n_states); for `Mass` log P(row), shape (n_rows,).
        """
        raise NotImplementedError(f"{type(self).__name__} answers one case at a time.")

    @property
    def nbytes(self) -> int:
        """Bytes held in addition to the model's own arrays."""
        return 0


class Solver(ABC):
    """An inference method that answers some types of queries about some models.

    Attributes
    ----------
    name : str
    condition : str
        Condition under which the solver is selected, in words.
    kinds : tuple of str
        Kinds of models that the solver serves, by their joint distribution: "product" (of factors),
        "mixture" and others.
    works : mapping from type of query to type of Work
        Types of queries that the solver answers, and the class of the prepared query for each.
    """

    name: ClassVar[str]
    condition: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    works: ClassVar[Mapping[type[Any], type[Work]]]

    def serves(self, model: Any) -> bool:
        """Return whether the solver handles this kind of model, whatever the query."""
        return model._kind in self.kinds

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        """Return whether the solver answers this query; if not, later solvers are tried.

        By default it answers single cases, and batches of rows if its `Work` does.
        """
        return not pattern.rows or self.works[type(question)].run_rows is not Work.run_rows

    def prepare(
        self, model: Any, question: Any, pattern: Pattern, memory_limit: float | None
    ) -> Work:
        """Return the prepared query, for arguments that the method `takes` accepts.

        Raises
        ------
        MemoryLimitError
            If the largest table exceeds `memory_limit`; the message gives its size.
        """
        return self.works[type(question)](self, model, question, pattern, memory_limit)

    @abstractmethod
    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        """Return the plan of a query without preparing it and without checking a memory limit."""

    def named_plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        """Return the plan of a query, with the solver's name and the reason why it was selected."""
        plan = self.plan(model, question, pattern)
        return replace(plan, solver=self.name, reason=self.condition)


# ------------------------------------------------------------------------------------------ memo


T = TypeVar("T")


class Memo:
    """A bounded cache: the least recently used entry is evicted first.

    The number of entries and their total bytes are bounded. Threads may share a cache: at worst two
    threads compute the same entry. Copies and pickles of a cache are empty.

    Parameters
    ----------
    max_entries : int
    """

    def __init__(self, max_entries: int = _MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        # Each entry with its bytes, the least recently used entry first.
        self._kept: dict[object, tuple[Any, int]] = {}
        self._nbytes = 0
        self._lock = threading.Lock()

    def get(self, key: object, make: Callable[[], T]) -> T:
        """Return the entry of a key; if there is none, store and return ``make()``."""
        with self._lock:
            stored = self._kept.pop(key, None)
            if stored is not None:
                self._kept[key] = stored  # the most recently used entry is last
                kept: T = stored[0]
                return kept
        made = make()
        entry = made, nbytes_of(made)
        with self._lock:
            # Another thread may have stored the entry since the lock was released.
            replaced = self._kept.pop(key, None)
            self._nbytes += entry[1] - (0 if replaced is None else replaced[1])
            self._kept[key] = entry
            # The new entry, which is last, stays even if it alone exceeds the bound of bytes.
            while len(self._kept) > 1 and (
                len(self._kept) > self._max_entries or self._nbytes > _MAX_BYTES
            ):
                # The first key is that of the least recently used entry.
                self._nbytes -= self._kept.pop(next(iter(self._kept)))[1]
        return made

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return self._nbytes

    def __reduce__(self) -> tuple[type[Memo], tuple[int]]:
        return Memo, (self._max_entries,)


def nbytes_of(value: Any) -> int:
    """Return the `nbytes` of an object (0 if it has none), summed over nested tuples."""
    if isinstance(value, tuple):
        # Most items are arrays, and nothing tells it faster.
        return sum([v.nbytes if type(v) is np.ndarray else nbytes_of(v) for v in value])
    return int(getattr(value, "nbytes", 0))
