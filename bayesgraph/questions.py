"""The questions that every model answers."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.base_model import BaseModel, normalised
from bayesgraph.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    UnsupportedModelError,
    quoted,
)
from bayesgraph.factors import Evidence, Factor, GaussianFactor
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.factors.factor import align
from bayesgraph.findings import (
    Belief,
    as_mapping,
    impossible,
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
    approximate,
    explanations,
    make_plan,
    marginal,
    most_probable,
    plan_of_tree,
)
from bayesgraph.inference.draws import draw
from bayesgraph.inference.programs import TARGETS, plan_tree, restrict
from bayesgraph.inference.queries import discrete_tables
from bayesgraph.inference.sensitivity import Conflict, Sensitivity, conflict, sensitivity
from bayesgraph.inference.weighting import WeightedSamples, likelihood_weighting
from bayesgraph.variables import Continuous, Discrete, Name, Variable, decode

# NumPy arrays have at most 64 axes.
_MOST_TARGETS = 60


class Questions(BaseModel):
    """Posteriors, explanations, probabilities, draws and what they depend on."""

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
            return Posterior(tuple(discrete), normalised(log_values)[0], log_evidence)
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
        reported at their conditional means. Counts and other variables whose families have no
        posterior of their own are left out where they are not observed.

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
        free = [v for v in self.variables if v not in given and v not in self.silent]
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
        """Return the k most probable joint assignments of the discrete variables, best first.

        Fewer, if fewer have a probability above zero. Continuous variables are integrated out.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        """
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise EvidenceError(f"k is a number of assignments, 1 or more; got {k!r}.")
        engine, findings = self._discrete(evidence, memory_limit)
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
            For continuous targets.
        """
        wanted = self._targets(targets, self._values(evidence)[0])
        if continuous := [v.name for v in wanted if not isinstance(v, Discrete)]:
            raise UnsupportedModelError(
                f"marginal_map maximises over discrete variables; {quoted(continuous)} are "
                "continuous and are integrated out."
            )
        engine, findings = self._discrete(evidence, memory_limit)
        numbers = engine.tables.numbers(wanted)
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
                f"{verb} takes a network or factor graph of tables over discrete variables; this "
                f"is {self!r}."
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
        """
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise EvidenceError(f"n is a number of rows, 0 or more; got {n!r}.")
        drawn = self._drawn(int(n), evidence, np.random.default_rng(random_state), memory_limit)
        return {v.name: decode(v, drawn[v]) for v in self.variables if v in drawn}

    def _drawn(
        self,
        n: int,
        evidence: Mapping[Name, Any] | None,
        random: np.random.Generator,
        memory_limit: int | None = None,
    ) -> dict[Variable, NDArray[Any]]:
        """Return the encoded columns of `sample_posterior`."""
        engine, findings = self._discrete(evidence, memory_limit)
        numbers, states, log_mass = draw(engine, findings, n, random, memory_limit=memory_limit)
        if log_mass == -np.inf:
            raise impossible(evidence)
        drawn: dict[Variable, NDArray[Any]] = {
            engine.tables.variables[v]: states[:, k] for k, v in enumerate(numbers)
        }
        given = self.encode(evidence)
        continuous = [v for v in self.variables if isinstance(v, Continuous) and v not in given]
        if continuous and n:
            drawn |= self._drawn_given(continuous, drawn, given, n, random)
        return drawn

    def _drawn_given(
        self,
        continuous: list[Continuous],
        drawn: dict[Variable, NDArray[Any]],
        given: Evidence,
        n: int,
        random: np.random.Generator,
    ) -> dict[Variable, NDArray[Any]]:
        """Draw continuous variables row by row, given all discrete ones: they are Gaussian."""
        known = {v: np.broadcast_to(column, n) for v, column in given.columns.items()}
        result, _ = marginal(self, continuous, Evidence(n, known | drawn))
        assert isinstance(result, GaussianFactor)  # nothing discrete is left
        _, mean, covariance = result.moments()
        root = np.linalg.cholesky(covariance)
        noise = random.standard_normal((n, len(continuous)))
        values = mean + np.einsum("...ij,...j->...i", root, noise)
        return {v: values[:, result.variables.index(v)] for v in continuous}

    def _discrete(
        self, evidence: Mapping[Name, Any] | None, memory_limit: int | None
    ) -> tuple[DiscreteEngine, Findings]:
        """Return the engine of what is discrete once continuous variables are integrated out."""
        if self._engine is not None:
            return self._engine, self._findings(evidence)
        tables = discrete_tables(self, self.encode(evidence), memory_limit)
        return DiscreteEngine(tables), Findings({}, {})

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
