"""What Bayesian networks and factor graphs have in common: questions and their answers."""

from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph import upward
from bayesgraph.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    ImpossibleEvidenceWarning,
    MemoryLimitError,
    UnsupportedModelError,
    quoted,
    unknown_variable,
)
from bayesgraph.factors import Evidence, Factor, GaussianFactor
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.factors.factor import align
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
    Assignment,
    DiscreteEngine,
    Findings,
    GaussianMixture,
    Marginals,
    MixedPosterior,
    Plan,
    Posterior,
    Tables,
    approximate,
    blocks,
    explanations,
    make_plan,
    marginal,
    most_probable,
    plan_of_tree,
    rows_together,
)
from bayesgraph.inference.draws import draw
from bayesgraph.inference.jeffrey import likelihoods as jeffrey_likelihoods
from bayesgraph.inference.programs import TARGETS, plan_tree, restrict
from bayesgraph.inference.queries import Problem
from bayesgraph.inference.sensitivity import Conflict, Sensitivity, conflict, sensitivity
from bayesgraph.inference.weighting import Node, WeightedSamples, likelihood_weighting
from bayesgraph.variables import Continuous, Discrete, Name, Variable, is_missing

_PLAIN = {str, int, bool}
# NumPy arrays have at most 64 axes.
_MOST_TARGETS = 60


class GraphicalModel(ABC):
    """A product of local functions over named variables, and the questions it answers.

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
        # Programs and workspaces are made again where they are needed.
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}

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
        if isinstance(name, (Discrete, Continuous)) and self._by_name.get(name.name) == name:
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
        for name, given in as_mapping(evidence).items():
            variable = self.variable(name)
            if variable in values or variable in likelihoods or variable in beliefs:
                raise EvidenceError(f"The evidence names {variable.name!r} more than once.")
            if type(given) in _PLAIN:  # most are, and need no further look
                values[variable] = variable.encode(given)
                continue
            value = scalar(given)
            if isinstance(value, Posterior):
                raise EvidenceError(
                    f"The evidence on {variable.name!r} is a posterior, which has the prior in it. "
                    "Wrap it in Belief to make it the new probability, or give likelihoods."
                )
            if isinstance(value, Belief):
                beliefs.update([believed(variable, value)])
            elif isinstance(value, (Mapping, list)) or is_vector(value):
                likelihoods.update([likelihood(variable, value)])
            elif is_missing(value):
                continue
            else:
                values[variable] = variable.encode(value)
        if beliefs:
            likelihoods.update(self._believed(beliefs, values, likelihoods, evidence))
        return values, likelihoods

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
        return np.asarray(_normalised(result.log_values)[0])

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
            if variable in observed:
                raise EvidenceError(
                    f"{variable.name!r} is both a target and observed; leave it out of one of them."
                )
        return found

    # ------------------------------------------------------------------------------- questions

    def query(
        self,
        targets: Name | list[Name],
        evidence: Mapping[Name, Any] | None = None,
        *,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: int | None = None,
        **options: Any,
    ) -> Any:
        """Return the posterior of one or several variables.

        Parameters
        ----------
        targets : name or list of names
            A list asks for the joint posterior.
        evidence : mapping from name to value, optional
            A state or a number; a mapping from each state to its likelihood is soft evidence; a
            :class:`Belief` is a new probability (Jeffrey's rule); None and NaN mean not observed.
        method : {"exact", "loopy", "likelihood-weighting"}
            Approximations carry a report of their convergence or error, see
            ``Posterior.approximation``.
        fallback : {"loopy", "likelihood-weighting"}, optional
            The method to use where the exact one needs more memory than the limit.
        memory_limit : int, optional
            Bytes; half of the machine's memory by default.
        **options
            For the approximate method: ``max_iterations``, ``tolerance`` and ``damping``, or
            ``n_samples``, ``standard_error`` and ``random_state``.

        Returns
        -------
        Posterior
            For discrete targets: a mapping from state (tuple of states) to probability.
        GaussianMixture
            For continuous targets.
        MixedPosterior
            For both together.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            With what is known and the nearest match.
        ImpossibleEvidenceError
            If the evidence has probability zero.
        MemoryLimitError
            If the exact answer needs too much memory and no fallback is allowed.
        """
        if method != "exact":
            return self._approximate(targets, evidence, method, options)
        approximate.check_options(fallback, options)
        try:
            return self._exact(targets, evidence, memory_limit)
        except MemoryLimitError:
            if fallback is None:
                raise
        return self._approximate(targets, evidence, fallback, options)

    def _approximate(
        self,
        targets: Any,
        evidence: Mapping[Name, Any] | None,
        method: str,
        options: dict[str, Any],
    ) -> Any:
        given = self.encode(evidence)
        wanted = self._targets(targets, given.columns)
        return approximate.posterior(self, wanted, given, method, **options)

    def _exact(
        self, targets: Any, evidence: Mapping[Name, Any] | None, memory_limit: int | None
    ) -> Any:
        engine = self._engine
        if engine is not None:
            findings = self._findings(evidence)
            variables = engine.tables.variables
            wanted = self._targets(targets, [variables[v] for v in findings.hard])
            if len(wanted) > _MOST_TARGETS:
                raise EvidenceError(
                    f"A joint posterior is of at most {_MOST_TARGETS} variables; got "
                    f"{len(wanted)}. Ask for `marginals`, or for fewer at a time."
                )
            numbers = engine.tables.numbers(wanted)
            flat, log_mass = engine.joint(numbers, findings, memory_limit=memory_limit)
            if log_mass == -np.inf:
                raise impossible(evidence)
            shape = [v.cardinality for v in wanted if isinstance(v, Discrete)]
            return Posterior(
                tuple(v for v in wanted if isinstance(v, Discrete)),
                flat.reshape(shape),
                lambda: engine.log_mass(findings, memory_limit=memory_limit),
            )
        given = self.encode(evidence)
        wanted = self._targets(targets, given.columns)
        result, plan = marginal(self, wanted, given, memory_limit)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        if isinstance(result, Factor):
            log_values = result.aligned(discrete)
            log_evidence = self._log_evidence(log_values, evidence)
            return Posterior(tuple(discrete), _normalised(log_values)[0], log_evidence)
        return self._mixture(result, discrete, plan, wanted, evidence)

    def marginals(
        self,
        evidence: Mapping[Name, Any] | None = None,
        *,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: int | None = None,
        **options: Any,
    ) -> Marginals:
        """Return the posterior of every unobserved variable, all at once.

        Parameters
        ----------
        evidence, method, fallback, memory_limit, **options
            As in `query`.

        Returns
        -------
        Marginals
            A mapping from name to posterior, with ``log_evidence``. In a discrete model two passes
            over a junction tree compute all of them before this returns.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        MemoryLimitError
            If the exact answers need too much memory and no fallback is allowed.
        """
        if method != "exact":
            return approximate.marginals(self, self.encode(evidence), method, **options)
        approximate.check_options(fallback, options)
        try:
            return self._all_exact(evidence, memory_limit)
        except MemoryLimitError:
            if fallback is None:
                raise
        return approximate.marginals(self, self.encode(evidence), fallback, **options)

    def _all_exact(
        self, evidence: Mapping[Name, Any] | None, memory_limit: int | None
    ) -> Marginals:
        engine = self._engine
        if engine is None:
            values, _ = self._values(evidence)
            log_evidence = self._log_mass(self.encode(evidence), memory_limit)
            if log_evidence == -np.inf:
                raise impossible(evidence)
            free = [v.name for v in self.variables if v not in values]
            # A copy: the caller may use the mapping again for the next case.
            kept = dict(as_mapping(evidence))
            answer = functools.partial(self.query, evidence=kept, memory_limit=memory_limit)
            return Marginals.lazy(free, answer, log_evidence)
        findings = self._findings(evidence)
        numbers, flat, log_mass = engine.marginals(findings, memory_limit=memory_limit)
        if log_mass == -np.inf:
            raise impossible(evidence)
        return Marginals(engine.tables.variables, numbers, engine.tables.cards, flat, log_mass)

    def _mixture(
        self,
        result: GaussianFactor,
        discrete: list[Discrete],
        plan: Plan,
        wanted: list[Variable],
        evidence: Mapping[Name, Any] | None,
    ) -> GaussianMixture | MixedPosterior:
        continuous = tuple(v for v in wanted if isinstance(v, Continuous))
        order = [result.variables.index(v) for v in continuous]
        hidden = [v for v in plan.keep if isinstance(v, Discrete) and v not in discrete]
        axes = [*discrete, *hidden]
        n = len(continuous)
        log_mass, mean, covariance = result.moments()
        shape = [v.cardinality for v in axes]

        def flat(values: Floats, *tail: int) -> Floats:
            table = align(values, result.scope, axes)[0]
            return np.broadcast_to(table, (*shape, *tail)).reshape(-1, *tail)

        log_mass = flat(log_mass)
        log_evidence = self._log_evidence(log_mass[None], evidence)
        weights = np.exp(log_mass - log_sum_exp(log_mass[None], 1)[0])
        mean = flat(mean[..., order], n)
        covariance = flat(covariance[..., order, :][..., :, order], n, n)

        def mixture(part: slice) -> GaussianMixture | None:
            used = np.flatnonzero(weights[part] > 0) + part.start
            if not len(used):
                return None
            share = weights[used] / weights[used].sum()
            return GaussianMixture(continuous, share, mean[used], covariance[used], log_evidence)

        if not discrete:
            whole = mixture(slice(0, len(weights)))
            assert whole is not None  # the weights sum to one
            return whole
        cells = [v.cardinality for v in discrete]
        size = len(weights) // int(np.prod(cells))
        probabilities = weights.reshape(*cells, -1).sum(axis=-1)
        mixtures = [mixture(slice(at, at + size)) for at in range(0, len(weights), size)]
        return MixedPosterior(Posterior(tuple(discrete), probabilities, log_evidence), mixtures)

    def most_probable(
        self,
        evidence: Mapping[Name, Any] | None = None,
        *,
        joint: bool = False,
        memory_limit: int | None = None,
    ) -> Assignment:
        """Return the most probable joint assignment of all unobserved variables.

        This is not the list of the most probable state of each variable: see `query` for those.
        Discrete variables are maximised with the continuous ones integrated out, which are then
        reported at their conditional means.

        Parameters
        ----------
        evidence : mapping from name to value, optional
            As in `query`.
        joint : bool
            Maximise over the continuous variables too: the mode of the joint density.
        memory_limit : int, optional
            Bytes; half of the machine's memory by default.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        """
        if self._engine is not None:
            return self.k_most_probable(1, evidence, memory_limit=memory_limit)[0]
        given = self.encode(evidence)
        free = [v for v in self.variables if v not in given]
        values, log_value = most_probable(self, free, given, joint=joint, memory_limit=memory_limit)
        log_probability = self._log_evidence(log_value.reshape(1, 1), evidence)
        assignment = {
            v.name: v.states[int(values[v][0])] if isinstance(v, Discrete) else float(values[v][0])
            for v in free
        }
        return Assignment(assignment, log_probability)

    def k_most_probable(
        self,
        k: int,
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> list[Assignment]:
        """Return the k most probable joint assignments of a discrete model, the best first.

        Fewer, if fewer have a probability above zero.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For a model that is not one of tables.
        """
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise EvidenceError(f"k is a number of assignments, 1 or more; got {k!r}.")
        engine = self._needed_engine("k_most_probable")
        findings = self._findings(evidence)
        found = explanations.k_most_probable(engine, findings, int(k), memory_limit=memory_limit)
        if not found:
            raise impossible(evidence)
        return [self._assignment(engine, explanation) for explanation in found]

    def marginal_map(
        self,
        targets: list[Name],
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> Assignment:
        """Return the most probable joint assignment of some variables, all others summed out.

        Exact: the sums come before the maxima. With all unobserved variables as targets it is
        `most_probable`, with one it is the argmax of its posterior.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For a model that is not one of tables.
        """
        engine = self._needed_engine("marginal_map")
        findings = self._findings(evidence)
        observed = [engine.tables.variables[v] for v in findings.hard]
        numbers = engine.tables.numbers(self._targets(targets, observed))
        found = explanations.marginal_map(engine, numbers, findings, memory_limit=memory_limit)
        if found is None:
            raise impossible(evidence)
        return self._assignment(engine, found)

    def _assignment(self, engine: DiscreteEngine, found: explanations.Explanation) -> Assignment:
        named = {}
        for number, code in zip(found.variables.tolist(), found.states.tolist(), strict=True):
            variable = engine.tables.variables[number]
            named[variable.name] = variable.states[code]
        return Assignment(named, found.log_mass)

    def _needed_engine(self, verb: str) -> DiscreteEngine:
        if self._engine is None:
            raise UnsupportedModelError(
                f"{verb} takes a model of tables over discrete variables; this one has others."
            )
        return self._engine

    def log_probability(
        self, evidence: Mapping[Name, Any] | None = None, *, memory_limit: int | None = None
    ) -> float:
        """Return the natural log of the probability of the evidence.

        A log density where continuous variables are observed; minus infinity where the evidence is
        impossible. Soft evidence counts with its likelihoods; a `Belief` has no probability and is
        refused.
        """
        if any(isinstance(value, Belief) for value in as_mapping(evidence).values()):
            raise EvidenceError(
                "A Belief says what a posterior shall be; that has no probability. Leave it out."
            )
        if self._engine is not None:
            findings = self._findings(evidence)
            mass = self._engine.log_mass(findings, memory_limit=memory_limit)
        else:
            mass = self._log_mass(self.encode(evidence), memory_limit)
        return mass - self._log_normaliser()

    def _log_mass(self, given: Evidence, memory_limit: int | None = None) -> float:
        result, _ = marginal(self, [], given, memory_limit)
        assert isinstance(result, Factor)  # no targets, no variables left
        return float(result.log_values[0])

    def sample_posterior(
        self,
        n: int,
        evidence: Mapping[Name, Any] | None = None,
        *,
        random_state: Any = None,
        memory_limit: int | None = None,
    ) -> dict[Name, NDArray[Any]]:
        """Draw rows of all unobserved variables given the evidence, exactly and independently.

        Parameters
        ----------
        n : int
        evidence : mapping from name to value, optional
            As in `query`.
        random_state : int or numpy Generator, optional
        memory_limit : int, optional

        Returns
        -------
        dict from name to array of shape (n,)

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For a model that is not one of tables.
        """
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise EvidenceError(f"n is a number of rows, 0 or more; got {n!r}.")
        engine = self._needed_engine("sample_posterior")
        random = np.random.default_rng(random_state)
        numbers, states, log_mass = draw(
            engine, self._findings(evidence), int(n), random, memory_limit=memory_limit
        )
        if log_mass == -np.inf:
            raise impossible(evidence)
        drawn = {engine.tables.variables[v]: states[:, k] for k, v in enumerate(numbers)}
        return {v.name: decode(v, drawn[v]) for v in self.variables if v in drawn}

    def weighted_samples(
        self,
        targets: Name | list[Name],
        evidence: Mapping[Name, Any] | None = None,
        *,
        n_samples: int = 100_000,
        standard_error: float | None = None,
        random_state: Any = None,
    ) -> WeightedSamples:
        """Draw weighted samples of some variables given the evidence (likelihood weighting).

        For networks of any local distributions that can be sampled. The result gives posteriors,
        means, quantiles and the log probability of the evidence, each with its standard error.

        Parameters
        ----------
        targets : name or list of names
        evidence : mapping from name to value, optional
            As in `query`.
        n_samples : int
            How many to draw; with `standard_error` the most to draw.
        standard_error : float, optional
            Stop once the largest standard error is as small as this.
        random_state : int or numpy Generator, optional
        """
        given = self.encode(evidence)
        return likelihood_weighting(
            self.nodes(),
            self._targets(targets, given.columns),
            given,
            n_samples=n_samples,
            standard_error=standard_error,
            random_state=random_state,
        )

    def sensitivity(
        self,
        target: Name,
        state: Any,
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> Sensitivity:
        """Return how a posterior probability moves with every entry of every table.

        Parameters
        ----------
        target : name
        state : a state of the target
        evidence : mapping from name to value, optional
            As in `query`.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For a model that is not one of tables.
        """
        engine = self._needed_engine("sensitivity")
        findings = self._findings(evidence)
        (variable,) = self._targets([target], [engine.tables.variables[v] for v in findings.hard])
        assert isinstance(variable, Discrete)  # a model of tables has no others
        code = variable.index(state)
        number = engine.tables.number[variable.name]
        try:
            value, slopes, covaried = sensitivity(
                engine, number, code, findings, memory_limit=memory_limit
            )
        except ImpossibleEvidenceError:
            raise impossible(evidence) from None
        names = self.table_names()
        is_network = bool((engine.tables.child >= 0).all())
        return Sensitivity(
            variable.name,
            variable.states[code],
            value,
            dict(zip(names, slopes, strict=True)),
            dict(zip(names, covaried, strict=True)) if is_network else {},
            dict(zip(names, engine.tables.scopes(), strict=True)),
        )

    def conflict(
        self, evidence: Mapping[Name, Any], *, memory_limit: int | None = None
    ) -> Conflict:
        """Return how well findings go together, and which of them the others speak against.

        Parameters
        ----------
        evidence : mapping from name to value
            As in `query`.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For a model that is not one of tables.
        """
        engine = self._needed_engine("conflict")
        findings = self._findings(evidence)
        log_evidence, measure, shares, expected, others = conflict(
            engine, findings, memory_limit=memory_limit
        )
        if log_evidence == -np.inf:
            raise impossible(evidence)
        variables = engine.tables.variables
        worst = sorted(shares, key=lambda v: -shares[v])
        return Conflict(
            log_evidence,
            measure,
            {variables[v].name: shares[v] for v in worst},
            {variables[v].name: Posterior((variables[v],), expected[v], others[v]) for v in worst},
        )

    def plan(self, targets: Name | list[Name], observed: Collection[Name] = ()) -> Plan:
        """Return what a query would compute, printable, without computing it."""
        if isinstance(observed, str):
            raise EvidenceError(f"observed= is a list of names; got the string {observed!r}.")
        seen = {self.variable(name) for name in observed}
        wanted = self._targets(targets, seen)
        engine = self._engine
        if engine is None:
            return make_plan(self.scopes(seen, wanted), wanted, order=self.variables)
        numbers = engine.tables.numbers(wanted)
        restricted = restrict(engine.tables, engine.tables.numbers(seen), (), numbers, TARGETS)
        tree = plan_tree(restricted, unlimited=True)
        return plan_of_tree(tree, engine.tables.variables, wanted)

    def _log_normaliser(self) -> float:
        """Log of the sum of the product over everything: zero for a Bayesian network.

        Posteriors do not need it, and it may be out of reach (or not exist) where they are not.
        """
        return 0.0

    def _log_evidence(self, log_values: Floats, evidence: Mapping[Name, Any] | None) -> float:
        axes = tuple(range(1, log_values.ndim))
        total = float(log_sum_exp(log_values, axes)[0]) if axes else float(log_values[0])
        if total == -np.inf:
            raise impossible(evidence)
        return total

    # ----------------------------------------------------------------------------------- batches

    def log_posterior_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the unnormalised log posterior of a target for each row of encoded evidence.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            log P(target, evidence), for a factor graph up to its partition; minus infinity
            throughout a row of impossible evidence.
        """
        # States first in memory: sums over few states then run along the rows.
        result = np.empty((target.cardinality, evidence.n_rows)).T
        for rows, part, partial in blocks(self, evidence, [target]):
            if partial and self._engine is not None and not part.likelihoods:
                result[rows] = rows_together(self._engine, target, part)
                continue
            potential, _ = marginal(self, [target], part)
            assert isinstance(potential, Factor)  # the target is discrete
            result[rows] = potential.aligned([target])
        if target in evidence:
            codes = evidence.columns[target][:, None]
            result[(codes >= 0) & (codes != np.arange(target.cardinality))] = -np.inf
        return result

    def settled_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return log_posterior_rows with the prior where a row is impossible.

        One warning says how many such rows there are.
        """
        joint = self.log_posterior_rows(target, evidence)
        impossible = np.isneginf(joint.max(axis=1))
        if impossible.any():
            warnings.warn(
                f"{int(impossible.sum())} of {len(joint)} rows have probability zero under the "
                f"model; they get the prior of {target.name!r}.",
                ImpossibleEvidenceWarning,
                stacklevel=4,
            )
            with np.errstate(divide="ignore"):
                joint[impossible] = np.log(self.query(target.name).probabilities)
        return joint

    def normalised_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the log posterior of a target for each row, shape (n_rows, n_states)."""
        joint = self.settled_rows(target, evidence)
        # The peak leaves first: beside a log density of -1e18 the log of a sum would vanish.
        joint -= joint.max(axis=1, keepdims=True)
        return np.asarray(joint - log_sum_exp(joint, 1)[:, None])

    def log_evidence_rows(self, evidence: Evidence) -> Floats:
        """Return the log probability (density) of each row of encoded evidence."""
        result = np.empty(evidence.n_rows)
        for rows, part, partial in blocks(self, evidence, []):
            if partial and self._engine is not None and not part.likelihoods:
                result[rows] = rows_together(self._engine, None, part)[:, 0]
                continue
            potential, _ = marginal(self, [], part)
            assert isinstance(potential, Factor)  # no targets, no variables left
            result[rows] = potential.log_values
        return result - self._log_normaliser()

    # -------------------------------------------------------------- verbs of the layers above

    def log_likelihood(self, frame: Any) -> float:
        """Return the total log likelihood of the rows of a table.

        Missing values are marginalised; columns that the model does not have are ignored.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or mapping from name to column
        """
        return float(upward.call("log_likelihood", self, frame))

    def query_rows(self, target: Name, frame: Any) -> Floats:
        """Return the posterior of a discrete variable for each row of a table.

        Parameters
        ----------
        target : name
        frame : pandas, polars or pyarrow table, or mapping from name to column
            Any pattern of missing values; columns that the model does not have, and the target's
            own, are ignored.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            In the order of the target's states. Rows to which the model gives probability zero get
            the prior, with one warning that counts them.
        """
        result: Floats = upward.call("query_rows", self, target, frame)
        return result

    def save(self, path: Any) -> None:
        """Save to the native format, which keeps every name, state and number exactly."""
        upward.call("save", self, path)

    def write(self, path: Any, **options: Any) -> None:
        """Write to a file of the format that the suffix tells (.bif, .bif.gz, .uai, .dot, ...)."""
        upward.call("write", self, path, **options)

    def to_dot(self, **options: Any) -> str:
        """Return the graph in Graphviz' DOT language; see :func:`bayesgraph.io.dot.to_dot`."""
        return str(upward.call("to_dot", self, **options))

    def to_graphviz(self, **options: Any) -> Any:
        """Return the graph as a ``graphviz.Source``; options as for `to_dot`."""
        return upward.call("to_graphviz", self, **options)

    def render(self, path: Any, **options: Any) -> None:
        """Draw the graph to an SVG, PNG or PDF file; options as for `to_dot`."""
        upward.call("render", self, path, **options)

    def to_pgmpy(self) -> Any:
        """Return the model as a pgmpy object of the same names, states and numbers."""
        return upward.call("to_pgmpy", self)

    def _repr_svg_(self) -> str | None:
        result: str | None = upward.call("to_svg", self)
        return result


def _normalised(log_values: Floats) -> Floats:
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


def decode(variable: Variable, column: NDArray[Any]) -> NDArray[Any]:
    """Return state codes as an array of states, numbers unchanged.

    States of one type keep it (as a NumPy string, integer, float or boolean array); others come as
    Python objects. A code of -1 becomes None, which makes the array one of objects.
    """
    if not isinstance(variable, Discrete):
        return column
    codes = column.astype(np.intp)
    kinds = {type(state) for state in variable.states}
    if len(kinds) == 1 and kinds <= {str, int, float, bool} and not (codes < 0).any():
        states = np.array(variable.states)
        if states.dtype.kind != "O":
            return np.asarray(states[codes])
    objects = np.empty(len(variable.states) + 1, dtype=object)
    objects[:-1] = variable.states
    return np.asarray(objects[codes])


def evidence_factors(evidence: Evidence, partial: Sequence[Variable]) -> list[Factor]:
    """Return soft evidence and partial columns of discrete variables as factors."""
    factors = []
    for judged, values in evidence.likelihoods.items():
        soft = Factor.from_log([judged], values)
        if judged in evidence and judged not in partial:
            # Observed as well: what counts is the likelihood of the state that was seen.
            soft = soft.take(judged, evidence.columns[judged])
        factors.append(soft)
    for variable in partial:
        if isinstance(variable, Discrete):
            codes = evidence.columns[variable][:, None]
            possible = (codes < 0) | (codes == np.arange(variable.cardinality))
            factors.append(Factor.from_log([variable], np.where(possible, 0.0, -np.inf)))
    return factors


def partial_columns(evidence: Evidence, partial: Sequence[Variable]) -> dict[Variable, Floats]:
    """Return the partial columns of continuous variables, which the engine takes in."""
    return {
        v: evidence.columns[v].astype(np.float64, copy=False)
        for v in partial
        if isinstance(v, Continuous)
    }
