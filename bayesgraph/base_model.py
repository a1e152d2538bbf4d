"""What models are made of, and how the evidence and the targets of a question are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bayesgraph.errors import (
    EvidenceError,
    MemoryLimitError,
    UnsupportedModelError,
    quoted,
    unknown_variable,
)
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.findings import (
    Belief,
    as_mapping,
    believed,
    impossible,
    is_vector,
    likelihood,
    scalar,
)
from bayesgraph.inference import (
    DiscreteEngine,
    Findings,
    Posterior,
    Tables,
    marginal,
)
from bayesgraph.inference.jeffrey import likelihoods as jeffrey_likelihoods
from bayesgraph.inference.queries import Problem
from bayesgraph.inference.weighting import Node
from bayesgraph.variables import Continuous, CountVector, Discrete, Name, Variable, is_missing

_PLAIN = {str, int, bool}
# Made again where they are needed.
_REMADE = {"_engine", "cpds", "graph", "silent", "_cpd_of", "_scopes"}


class BaseModel(ABC):
    """A product of local functions over named variables, and evidence on them.

    Attributes
    ----------
    variables : tuple of Variable
    """

    variables: tuple[Variable, ...]
    _by_name: dict[Name, Variable]

    @abstractmethod
    def problem(self, evidence: Evidence, keep: Collection[Variable]) -> Problem:
        """Return the factors that matter for the variables to keep, with the evidence taken in."""

    @abstractmethod
    def scopes(
        self, observed: Collection[Variable], keep: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """Return the scopes that `problem` would return for evidence on some variables."""

    @abstractmethod
    def blocking(
        self, evidence: Evidence, partial: Sequence[Variable], keep: Collection[Variable]
    ) -> list[Variable]:
        """Return the partially observed variables that need summing out where they are missing."""

    @abstractmethod
    def nodes(self) -> Sequence[Node]:
        """Return the local distributions, parents first.

        Raises
        ------
        UnsupportedModelError
            For a factor graph, which has none.
        """

    @abstractmethod
    def table_names(self) -> list[Any]:
        """Return what each of `tables` is called: its child, or the number of the factor."""

    @abstractmethod
    def tables(self) -> Tables | None:
        """Return all factors as tables; None if some are none."""

    @cached_property
    def _engine(self) -> DiscreteEngine | None:
        """The compiled engine, if the model is one of tables."""
        tables = self.tables()
        return None if tables is None else DiscreteEngine(tables)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _REMADE}

    # ------------------------------------------------------------------ variables and evidence

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of all variables."""
        return tuple(self._by_name)

    def variable(self, name: Name) -> Variable:
        """Return the variable of a name (a variable of the model stands for its own name).

        Raises
        ------
        UnknownVariableError
            With the nearest name suggested.
        """
        if (
            isinstance(name, (Discrete, Continuous, CountVector))
            and self._by_name.get(name.name) == name
        ):
            return name
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise unknown_variable(name, self._by_name, where="The model") from None

    def encode(self, evidence: Mapping[Name, Any] | None) -> Evidence:
        """Return evidence given as a mapping from name to value as encoded columns of one row.

        A value is a state, a number, or (for a discrete variable) a mapping from every state to its
        likelihood. None and NaN mean not observed.
        """
        values, likelihoods = self._values(evidence)
        columns = {v: np.array([value]) for v, value in values.items()}
        return Evidence(1, columns, {v: logs[None] for v, logs in likelihoods.items()})

    def _values(
        self, evidence: Mapping[Name, Any] | None
    ) -> tuple[dict[Variable, Any], dict[Discrete, Floats]]:
        """Return the codes or numbers of observed variables, and log likelihoods of others."""
        values: dict[Variable, Any] = {}
        likelihoods: dict[Discrete, Floats] = {}
        beliefs: dict[Discrete, Floats] = {}
        for name, given in self._with_vectors(as_mapping(evidence)).items():
            variable = self.variable(name)
            if variable in values or variable in likelihoods or variable in beliefs:
                raise EvidenceError(f"The evidence names {variable.name!r} more than once.")
            if type(given) in _PLAIN and not isinstance(
                variable, CountVector
            ):  # most are, and need no further look
                values[variable] = variable.encode(given)
                continue
            value = scalar(given)
            _refuse_posterior(variable, value)
            if isinstance(value, Belief):
                beliefs.update([believed(variable, value)])
            elif _is_soft(value) and not isinstance(variable, CountVector):
                likelihoods.update([likelihood(variable, value)])
            elif is_missing(value):
                continue
            else:
                values[variable] = variable.encode(value)
        if beliefs:
            likelihoods.update(self._believed(beliefs, values, likelihoods, evidence))
        return values, likelihoods

    def _with_vectors(self, evidence: Mapping[Name, Any]) -> Mapping[Name, Any]:
        """Return evidence in which items that are named by themselves make up their vectors.

        The items of a vector that are not named then are not observed.
        """
        vectors = [v for v in self.variables if isinstance(v, CountVector)]
        if not vectors or all(name in self._by_name for name in evidence):
            return evidence
        found = {name: value for name, value in evidence.items() if name in self._by_name}
        counts: dict[Name, dict[Name, Any]] = {}
        for name, value in evidence.items():
            holders = [v for v in vectors if name not in self._by_name and name in v.positions]
            if len(holders) == 1:
                counts.setdefault(holders[0].name, {})[name] = value
            else:
                found[name] = value
        for name, items in counts.items():
            if name in found:
                raise EvidenceError(f"The evidence names {name!r} and some of its items.")
            vector = self._by_name[name]
            assert isinstance(vector, CountVector)  # it is one of them
            found[name] = {item: items.get(item) for item in vector.items}
        return found

    @property
    def silent(self) -> frozenset[Variable]:
        """Variables of families that have no posterior of their own, only densities."""
        return frozenset()

    def _believed(
        self,
        beliefs: dict[Discrete, Floats],
        values: dict[Variable, Any],
        likelihoods: dict[Discrete, Floats],
        evidence: Mapping[Name, Any] | None,
    ) -> dict[Discrete, Floats]:
        """Return likelihoods under which the posteriors are the new beliefs (Jeffrey's rule)."""

        def posterior(variable: Discrete, logs: Mapping[Discrete, Floats]) -> Floats:
            return self._posterior_of(variable, values, {**likelihoods, **logs})

        try:
            return jeffrey_likelihoods(beliefs, posterior)
        except MemoryLimitError as error:
            raise MemoryLimitError(
                f"A Belief takes exact posteriors, however the question is answered. {error}"
            ) from None
        except EvidenceError:
            if not self._posterior_of(next(iter(beliefs)), values, likelihoods).any():
                raise impossible(evidence) from None
            raise

    def _posterior_of(
        self,
        variable: Discrete,
        values: Mapping[Variable, Any],
        likelihoods: Mapping[Discrete, Floats],
    ) -> Floats:
        """Return a posterior, zero throughout if what is given is impossible."""
        if self._engine is not None:
            tables = self._engine.tables
            findings = _numbered(tables, values, likelihoods)
            share, mass = self._engine.joint(tables.numbers([variable]), findings)
            return share if mass > -np.inf else np.zeros(variable.cardinality)
        columns = {v: np.array([value]) for v, value in values.items()}
        given = Evidence(1, columns, {v: logs[None] for v, logs in likelihoods.items()})
        result, _ = marginal(self, [variable], given)
        assert isinstance(result, Factor)  # the target is discrete
        if np.isneginf(result.log_values).all():
            return np.zeros(variable.cardinality)
        return np.asarray(normalised(result.log_values)[0])

    def _findings(self, evidence: Mapping[Name, Any] | None) -> Findings:
        """Return evidence as numbers, for the compiled engine."""
        assert self._engine is not None  # only asked then
        return _numbered(self._engine.tables, *self._values(evidence))

    def _targets(self, targets: Any, observed: Collection[Variable]) -> list[Variable]:
        if isinstance(targets, Mapping):
            raise EvidenceError(
                "The targets come first and the evidence second: query('rain', {'wet': True})."
            )
        several = isinstance(targets, (list, np.ndarray)) or (
            isinstance(targets, tuple) and targets not in self._by_name
        )
        names = list(targets) if several else [targets]
        if not names:
            raise EvidenceError("A query needs at least one target; got none.")
        found = [self.variable(name) for name in names]
        if len(set(found)) < len(found):
            raise EvidenceError(f"Each target is asked once; got {quoted(names)}.")
        for variable in found:
            if isinstance(variable, CountVector):
                raise UnsupportedModelError(
                    f"{variable.name!r} is a vector of counts, which has no posterior to print; "
                    "sample from the model, or ask for another variable."
                )
            if variable in observed:
                raise EvidenceError(
                    f"{variable.name!r} is both a target and observed; leave it out of one of them."
                )
        return found


def _is_soft(value: Any) -> bool:
    return isinstance(value, (Mapping, list)) or is_vector(value)


def _refuse_posterior(variable: Variable, value: Any) -> None:
    if isinstance(value, Posterior):
        raise EvidenceError(
            f"The evidence on {variable.name!r} is a posterior, which has the prior in it. Wrap it "
            "in Belief to make it the new probability, or give likelihoods."
        )


def normalised(log_values: Floats) -> Floats:
    axes = tuple(range(1, log_values.ndim))
    peak = log_values.max(axis=axes, keepdims=True)
    values = np.exp(log_values - peak)
    return np.asarray(values / values.sum(axis=axes, keepdims=True))


def _numbered(
    tables: Tables, values: Mapping[Variable, Any], likelihoods: Mapping[Discrete, Floats]
) -> Findings:
    """Return evidence by the numbers of its variables; what is observed as well is only judged."""
    number = tables.number
    soft = {number[v.name]: logs for v, logs in likelihoods.items() if v not in values}
    judged = [logs[values[v]] for v, logs in likelihoods.items() if v in values]
    hard = {number[v.name]: code for v, code in values.items()}
    return Findings(hard, soft, float(sum(judged)))
