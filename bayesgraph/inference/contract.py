"""The interface between models and solvers: queries, evidence, and prepared queries.

A model turns the user's input into a query (an instance of a `Question` type such as `Joint`),
evidence (a `Case` for one case, or an `Evidence` for a batch of rows), and a `Pattern`: which
variables are observed, without their values. A solver prepares the query for the pattern as a
`Work`, which has a printable plan and runs for any values of the observed variables. Variables are
given by their indices in ``model.variables``, because integers are hashed and compared faster than
variables.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.plan import Plan
from bayesgraph.variables import CountVector, Discrete, Variable

# Maximum number of entries of a cache, and maximum of their total bytes.
_MAX_ENTRIES = 256
_MAX_BYTES = 2**28


# ------------------------------------------------------------------------------------- questions


# A query: instance of a named tuple class that is registered by `asked_by`.
Question: TypeAlias = tuple[Any, ...]
QuestionT = TypeVar("QuestionT", bound=type[Any])

# Names of the model methods that make each type of query, for error messages.
METHODS: dict[type[Any], str] = {}


def asked_by(methods: str) -> Callable[[QuestionT], QuestionT]:
    """Return a class decorator that registers a type of query.

    Parameters
    ----------
    methods : str
        Names of the model methods that make such queries, for error messages.
    """

    def register(kind: QuestionT) -> QuestionT:
        METHODS[kind] = methods
        return kind

    return register


@asked_by("query")
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


@asked_by("marginals")
class All(NamedTuple):
    """Query: the posterior of every unobserved variable."""


@asked_by("log_probability")
class Mass(NamedTuple):
    """Query: the log probability of the evidence.

    For factors that are not a network, it is the log of the sum of their product over all joint
    states that agree with the evidence (the log mass).
    """


@asked_by("most_probable, k_most_probable and marginal_map")
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


@asked_by("sample")
class Draw(NamedTuple):
    """Query: posterior draws of all unobserved variables; ``take(n, random)`` gives n rows."""


@asked_by("sample")
class Sample(NamedTuple):
    """Query: draws of all variables, parents before children; ``take(n, random)`` gives n rows."""


@asked_by("sensitivity")
class Slopes(NamedTuple):
    """Query: derivatives of P(target = state | evidence) with respect to all table entries."""

    target: int
    state: int


@asked_by("conflict")
class Retractions(NamedTuple):
    """Query: the conflict between the findings (observations of single variables).

    The answer has the conflict measure of all findings, the conflict of each finding with the
    others, and the posterior of each observed variable with its own finding left out.
    """


@asked_by("a query with this approximate method")
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


@asked_by("weighted_samples")
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


def check_target(model: Any, variable: Variable, *, vectors: bool = True) -> None:
    """Raise an error if a variable cannot be a target.

    Parameters
    ----------
    model : Model
    variable : Variable
    vectors : bool
        Whether a vector of counts can be one if it is a leaf of a network.

    Raises
    ------
    UnsupportedModelError
        If the variable is a vector of counts, and these cannot be targets.
    """
    if isinstance(variable, CountVector) and not (vectors and model.leaves([variable])):
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

    def renumbered(self, places: Mapping[int, int] | None) -> Case:
        """Return the case with each variable's index v replaced by ``places[v]``.

        None as `places` leaves the case unchanged.
        """
        if places is None:
            return self
        hard = {places[v]: value for v, value in self.hard.items()}
        return Case(hard, {places[v]: logs for v, logs in self.soft.items()}, self.log_scale)

    def evidence(self, variables: tuple[Variable, ...]) -> Evidence:
        """Return the evidence on the case as an `Evidence` with one row."""
        values = [*self.hard.values()]
        kinds = set(map(type, values))
        # One array for all values if they have one type: an array for each value is much slower.
        alike = kinds == {float} or kinds == {int}
        rows: Any = np.array(values)[:, None] if alike else [np.array([x]) for x in values]
        known = tuple([variables[v] for v in self.hard])
        columns = dict(zip(known, rows, strict=True))
        soft: dict[Discrete, Floats] = {}
        for v, logs in self.soft.items():
            variable = variables[v]
            assert isinstance(variable, Discrete)  # only discrete variables have likelihoods
            soft[variable] = logs[None]
        # Every value of a case is observed, but vectors of counts may have missing entries.
        complete = np.ndarray not in kinds
        of_states = kinds == {int} and all(isinstance(v, Discrete) for v in known)
        matrices = ((known, rows.T),) if of_states else ()
        return Evidence(1, columns, soft, complete, matrices)


# ------------------------------------------------------------------------------------------ work


class Work(ABC):
    """A query prepared for a set of observed variables, to be run for any of their values.

    The function `solver.select` returns instances.

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
        self._begin(model)

    def _begin(self, model: Any) -> None:  # noqa: B027  # most have something to prepare
        """Prepare everything that does not depend on the values of the evidence."""

    @property
    def model(self) -> Any:
        """The model that is queried; None once the model has been freed."""
        return self.model_ref()

    @property
    def plan(self) -> Plan:
        """Printable description of the computation, made without running it."""
        return self.solver.named_plan(self.model, self.question, self.pattern)

    def run(self, case: Case, memory_limit: float | None = None) -> Any:
        """Return the answer for one case; None (for `Mass` -inf) if the evidence is impossible.

        Raises
        ------
        MemoryLimitError
            If a run takes more than the limit in bytes (by default half of the machine's memory).
        """
        return self._run(case, memory_limit)

    def run_rows(self, rows: Any) -> Floats:
        """Return log probabilities for each row of a batch.

        For `Joint` they are log P(target = state, row), for some solvers up to a constant for each
        row, shape (n_rows, n_states); for `Mass` log P(row), shape (n_rows,).
        """
        return self._run_rows(rows)

    @abstractmethod
    def _run(self, case: Case, memory_limit: float | None) -> Any: ...

    def _run_rows(self, rows: Evidence) -> Floats:
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
    form : str
        Kind of models that the solver serves, by their joint distribution: "product" (of factors),
        "mixture" and others.
    works : mapping from type of query to type of Work
        Types of queries that the solver answers, and the class of the prepared query for each.
    """

    name: ClassVar[str]
    condition: ClassVar[str]
    form: ClassVar[str]
    works: ClassVar[Mapping[type[Any], type[Work]]]

    def serves(self, model: Any) -> bool:
        """Return whether the solver handles this kind of model, whatever the query."""
        return bool(model.form == self.form)

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        """Return whether the solver answers this query; if not, later solvers are tried.

        By default it answers single cases, and batches of rows if its `Work` does.
        """
        return not pattern.rows or self.works[type(question)]._run_rows is not Work._run_rows

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
        self._kept: dict[object, tuple[Any, int]] = {}
        self._nbytes = 0
        self._lock = threading.Lock()

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the entry of a key; if there is none, store and return ``make()``."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                self._kept[key] = found  # the most recently used entry is last
                return found[0]
        made = make()
        entry = made, nbytes_of(made)
        with self._lock:
            before = self._kept.pop(key, None)
            self._nbytes += entry[1] - (0 if before is None else before[1])
            self._kept[key] = entry
            while len(self._kept) > 1 and (
                len(self._kept) > self._max_entries or self._nbytes > _MAX_BYTES
            ):
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
    found = getattr(value, "nbytes", None)
    if found is not None:
        return int(found)
    return sum(map(nbytes_of, value)) if isinstance(value, tuple) else 0
