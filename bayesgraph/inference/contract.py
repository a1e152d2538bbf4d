"""The contract of models and solvers: questions, patterns of evidence, cases, and prepared work.

A model turns what a user typed into a `Case` (one case) or an `Evidence` (rows), a question and a
pattern: which variables are observed. A solver turns question and pattern into `Work`, which knows
its plan and runs on any evidence of that pattern. Variables go by their places in
``model.variables``; integers are hashed and compared faster than variables are.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.plan import Plan
from bayesgraph.variables import CountVector, Discrete, Variable

# Entries of a memo, and their bytes together.
_MAX_ENTRIES = 256
_MAX_BYTES = 2**28


# ------------------------------------------------------------------------------------- questions


# A named tuple of a class that `asked_by` has registered.
Question: TypeAlias = tuple[Any, ...]
QuestionT = TypeVar("QuestionT", bound=type[Any])

# The one list of types of questions: the methods that ask each, for messages.
METHODS: dict[type[Any], str] = {}


def asked_by(methods: str) -> Callable[[QuestionT], QuestionT]:
    """Register a type of question; say which methods of models ask it."""

    def register(kind: QuestionT) -> QuestionT:
        METHODS[kind] = methods
        return kind

    return register


@asked_by("query")
class Joint(NamedTuple):
    """The joint posterior of some variables; of rows, log P(target, row).

    Attributes
    ----------
    targets : tuple of int
    whole : bool
        The log evidence is needed with it, so that all of the evidence is taken in.
    """

    targets: tuple[int, ...]
    whole: bool = False


@asked_by("marginals")
class All(NamedTuple):
    """The posterior of every unobserved variable."""


@asked_by("log_probability")
class Mass(NamedTuple):
    """The log of the probability of the evidence (of a product, of its sum)."""


@asked_by("most_probable, k_most_probable and marginal_map")
class Best(NamedTuple):
    """The most probable assignments: an answer has `take(k)`, best first.

    Attributes
    ----------
    over : tuple of int, optional
        All unobserved discrete variables if None; of some, the others are summed out.
    means : bool
        Continuous variables follow, at their conditional means; for the best one only.
    mode : bool
        Continuous variables are maximised too; for the best one only.
    """

    over: tuple[int, ...] | None = None
    means: bool = False
    mode: bool = False


@asked_by("sample")
class Draw(NamedTuple):
    """Exact draws of all unobserved variables: an answer has `take(n, random)`."""


@asked_by("sample")
class Sample(NamedTuple):
    """Draws of whole rows, parents before children: an answer has `take(n, random)`."""


@asked_by("sensitivity")
class Slopes(NamedTuple):
    """The derivatives of P(target = state) with respect to every table."""

    target: int
    state: int


@asked_by("conflict")
class Retractions(NamedTuple):
    """What each finding adds to a conflict, and what is expected without it."""


@asked_by("a query with this approximate method")
class Approximate(NamedTuple):
    """A question that is to be answered by an approximate method.

    Attributes
    ----------
    targets : tuple of int, optional
        None asks for the posterior of every unobserved variable.
    method : str
    options : mapping from str
        Of the method.
    """

    targets: tuple[int, ...] | None
    method: str
    options: Mapping[str, Any]


@asked_by("weighted_samples")
class Samples(NamedTuple):
    """Weighted samples of some variables themselves.

    Attributes
    ----------
    targets : tuple of int
    options : mapping from str
        Of likelihood weighting.
    """

    targets: tuple[int, ...]
    options: Mapping[str, Any]


def check_target(variable: Variable) -> None:
    """Refuse a variable that has no posterior to print.

    Raises
    ------
    UnsupportedModelError
    """
    if isinstance(variable, CountVector):
        raise UnsupportedModelError(
            f"{variable.name!r} is a vector of counts, which has no posterior to print; "
            "sample from the model, or ask for another variable."
        )


class Taken(NamedTuple):
    """An answer that is taken in parts: of `Best`, of `Draw` or of `Sample`."""

    take: Callable[..., Any]


# -------------------------------------------------------------------------------------- evidence


class Pattern(NamedTuple):
    """Which variables the evidence is about.

    Attributes
    ----------
    observed, soft : tuple of int
        Variables with a value, and with likelihoods; ascending for one case.
    rows : bool
        A batch of rows, in some of which observed variables may be missing.
    """

    observed: tuple[int, ...]
    soft: tuple[int, ...] = ()
    rows: bool = False


class Case(NamedTuple):
    """Evidence of one case.

    Attributes
    ----------
    hard : mapping from variable to code of a state, number or counts
    soft : mapping from discrete variable to log likelihoods of its states
    log_scale : float
        Log likelihood of what is known besides.
    """

    hard: Mapping[int, Any]
    soft: Mapping[int, Floats] = {}
    log_scale: float = 0.0

    @property
    def pattern(self) -> Pattern:
        """Which variables the case is about."""
        return Pattern(tuple(sorted(self.hard)), tuple(sorted(self.soft)) if self.soft else ())

    def without(self, variable: int) -> Case:
        """Return the other findings."""
        hard = {v: state for v, state in self.hard.items() if v != variable}
        soft = {v: logs for v, logs in self.soft.items() if v != variable}
        return Case(hard, soft, self.log_scale)

    def renumbered(self, places: Mapping[int, int] | None) -> Case:
        """Return the case for a model with the same variables in other places; None: the same."""
        if places is None:
            return self
        hard = {places[v]: value for v, value in self.hard.items()}
        return Case(hard, {places[v]: logs for v, logs in self.soft.items()}, self.log_scale)

    def evidence(self, variables: tuple[Variable, ...]) -> Evidence:
        """Return the case as encoded columns of one row, for factors."""
        values = [*self.hard.values()]
        kinds = set(map(type, values))
        # One array of all, where it can be: to make one of each takes longer than all else here.
        alike = kinds == {float} or kinds == {int}
        rows = np.array(values)[:, None] if alike else [np.array([x]) for x in values]
        columns = dict(zip([variables[v] for v in self.hard], rows, strict=True))
        soft: dict[Discrete, Floats] = {}
        for v, logs in self.soft.items():
            variable = variables[v]
            assert isinstance(variable, Discrete)  # no others have likelihoods
            soft[variable] = logs[None]
        # What is in a case is observed; but counts may have gaps of their own.
        complete = np.ndarray not in kinds
        return Evidence(1, columns, soft, complete)


# ------------------------------------------------------------------------------------------ work


class Work(ABC):
    """A question prepared for all evidence of one pattern: what `select` returns.

    Attributes
    ----------
    solver : Solver
        Which has prepared it; says what it does and when it is selected.
    model_ref : weak reference to the model
    plan : Plan
        What will be computed, printable; nothing runs.
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
        # The model's memo keeps the work: without a cycle both go when the model does.
        self.model_ref = weakref.ref(model)
        self.question = question
        self.pattern = pattern
        self.memory_limit = memory_limit
        self._begin(model)

    def _begin(self, model: Any) -> None:  # noqa: B027  # most have something to prepare
        """Prepare what does not depend on the values of the evidence, within `memory_limit`."""

    @property
    def model(self) -> Any:
        """Whose question it is; the work lives no longer."""
        return self.model_ref()

    @property
    def plan(self) -> Plan:
        """What will be computed, printable; nothing runs."""
        return self.solver.named_plan(self.model, self.question, self.pattern)

    def run(self, case: Case, memory_limit: float | None = None) -> Any:
        """Answer for one case; None if the evidence is impossible.

        Raises
        ------
        MemoryLimitError
            If a run takes more than the limit in bytes (by default half of the machine's memory).
        """
        return self._run(case, memory_limit)

    def run_rows(self, rows: Any) -> Floats:
        """Answer for each row: logs of shape (n_rows, n_states), or (n_rows,) for `Mass`."""
        return self._run_rows(rows)

    @abstractmethod
    def _run(self, case: Case, memory_limit: float | None) -> Any: ...

    def _run_rows(self, rows: Evidence) -> Floats:
        raise NotImplementedError(f"{type(self).__name__} answers one case at a time.")

    @property
    def nbytes(self) -> int:
        """Memory that the work keeps alive beyond the model."""
        return 0


class Solver(ABC):
    """One way to answer questions.

    Attributes
    ----------
    name : str
    condition : str
        When it is selected, in words.
    form : str
        Of the models that it serves.
    works : mapping from type of question to type of Work
        The questions that it answers, and what it prepares for each.
    """

    name: ClassVar[str]
    condition: ClassVar[str]
    form: ClassVar[str]
    works: ClassVar[Mapping[type[Any], type[Work]]]

    @property
    def answers(self) -> Set[type[Any]]:
        """The types of questions that it answers."""
        return self.works.keys()

    def serves(self, model: Any) -> bool:
        """Tell whether it can answer any question about the model."""
        return bool(model.form == self.form)

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        """Tell whether it prepares a question that it answers, or leaves it to later solvers."""
        return not pattern.rows

    def prepare(
        self, model: Any, question: Any, pattern: Pattern, memory_limit: float | None
    ) -> Work:
        """Prepare a question that it takes.

        Raises
        ------
        MemoryLimitError
            With the size.
        """
        return self.works[type(question)](self, model, question, pattern, memory_limit)

    @abstractmethod
    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        """Return what `prepare` would prepare, however large, without doing it."""

    def named_plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        """Return the plan with the name of the solver and the reason why it was selected."""
        plan = self.plan(model, question, pattern)
        return replace(plan, solver=self.name, reason=self.condition)


# ------------------------------------------------------------------------------------------ memo


class Memo:
    """A cache bounded by entries and by bytes; what was used longest ago is evicted first.

    Threads may share it: at worst something is made twice. It is not copied and not pickled with
    what holds it.
    """

    def __init__(self) -> None:
        self._kept: dict[object, tuple[Any, int]] = {}
        self._nbytes = 0
        self._lock = threading.Lock()

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """Return what was made for the key before, or make it and keep it."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                self._kept[key] = found  # the last used is the last to go
                return found[0]
        made = make()
        entry = made, nbytes_of(made)
        with self._lock:
            before = self._kept.pop(key, None)
            self._nbytes += entry[1] - (0 if before is None else before[1])
            self._kept[key] = entry
            while len(self._kept) > 1 and (
                len(self._kept) > _MAX_ENTRIES or self._nbytes > _MAX_BYTES
            ):
                self._nbytes -= self._kept.pop(next(iter(self._kept)))[1]
        return made

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """Memory of all that is kept."""
        return self._nbytes

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()


def nbytes_of(value: Any) -> int:
    """Return the bytes of the arrays in nested tuples."""
    if isinstance(value, tuple):
        return sum(nbytes_of(part) for part in value)
    return int(getattr(value, "nbytes", 0))
