"""Solvers for approximate inference: loopy belief propagation and likelihood weighting.

Answers about discrete variables have the same classes as exact answers, with a report of
convergence or of sampling error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bayesgraph.errors import DataTypeError, EvidenceError, UnsupportedModelError, quoted
from bayesgraph.factors import Evidence, Factor
from bayesgraph.inference.contract import Approximate, Case, Pattern, Samples, Solver, Work
from bayesgraph.inference.elimination import ProductModel, planned_slice
from bayesgraph.inference.factor_solver import slice_of_case
from bayesgraph.inference.loopy import LoopyBeliefs, loopy_belief_propagation
from bayesgraph.inference.plan import Plan, PlanStep
from bayesgraph.inference.results import Marginals, Posterior
from bayesgraph.inference.weighting import WeightedSamples, likelihood_weighting
from bayesgraph.variables import Discrete, Variable

LOOPY, WEIGHTING = "loopy", "likelihood-weighting"
METHODS = ("exact", LOOPY, WEIGHTING)
_OPTIONS = {
    LOOPY: {"max_iterations", "tolerance", "damping"},
    WEIGHTING: {"n", "standard_error", "random_state"},
}


def _targets(model: Any, question: Any, pattern: Pattern) -> Sequence[int]:
    if question.targets is not None:
        found: Sequence[int] = question.targets
        return found
    return [v for v in range(len(model.variables)) if v not in pattern.observed]


class _ApproximateWork(Work):
    def _wanted(self) -> list[Variable]:
        """Return the target variables of the query; all unobserved variables if it names none.

        Raises
        ------
        UnsupportedModelError
            If no targets are named and an unobserved variable is continuous.
        """
        model = self.model
        found = [model.variables[v] for v in _targets(model, self.question, self.pattern)]
        continuous = [v.name for v in found if not isinstance(v, Discrete)]
        if self.question.targets is None and continuous:
            raise UnsupportedModelError(
                f"marginals with an approximate method takes a discrete model; "
                f"{quoted(continuous)} are continuous. Query them with method={WEIGHTING!r}."
            )
        return found


class WeightingWork(_ApproximateWork):
    """Prepared query that is answered by likelihood weighting.

    The answer is a `Posterior` or `Marginals` if all targets are discrete, and `WeightedSamples` if
    a target is continuous or the query is `Samples`.
    """

    def _run(
        self, case: Case, memory_limit: float | None
    ) -> Posterior | Marginals | WeightedSamples:
        model, question = self.model, self.question
        wanted = self._wanted()
        evidence = case.evidence(model.variables)
        samples = likelihood_weighting(model.nodes(), wanted, evidence, **question.options)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        if isinstance(question, Samples) or len(discrete) < len(wanted):
            return samples
        if question.targets is not None:
            return _sampled(samples, discrete)
        parts = [samples.probabilities(v).value for v in discrete]
        return _collected(discrete, parts, float(samples.log_evidence.value), samples.report)


class LoopyWork(_ApproximateWork):
    """Prepared query for the posterior of one variable, or of all, by loopy belief propagation."""

    def _run(self, case: Case, memory_limit: float | None) -> Posterior | Marginals:
        question = self.question
        wanted = self._wanted()
        if question.targets is not None and len(wanted) != 1:
            raise EvidenceError(
                "Loopy belief propagation gives the posteriors of single variables, not joint "
                f"ones; got the targets {quoted(v.name for v in wanted)}. Ask for one at a time, "
                f"or use method={WEIGHTING!r}."
            )
        beliefs = _loopy(self.model, wanted, case.evidence(self.model.variables), question.options)
        report = beliefs.report
        discrete = [v for v in wanted if isinstance(v, Discrete)]  # `_loopy` refuses others
        found = [beliefs.marginals[v] for v in discrete]
        if question.targets is None:
            return _collected(discrete, found, report.log_partition, report)
        return Posterior((discrete[0],), found[0], report.log_partition, report)


class Loopy(Solver):
    """Solver for factors that are tables: approximate posteriors by loopy belief propagation."""

    name = "loopy belief propagation"
    condition = "a product of tables, and method='loopy'"
    works: ClassVar = {Approximate: LoopyWork}

    def serves(self, model: Any) -> bool:
        return bool(model.form in ("product", "tempered"))

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return bool(question.method == LOOPY)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        scopes = slice_of_case(model, pattern, _targets(model, question, pattern)).slice.scopes
        return Plan(tuple(PlanStep(scope[-1], scope) for scope in scopes if scope), passes=2)


class Weighting(Solver):
    """Solver by likelihood weighting: ancestral samples, weighted by the evidence's likelihood."""

    name = "likelihood weighting"
    condition = "a network, and method='likelihood-weighting' or weighted_samples"
    works: ClassVar = {Approximate: WeightingWork, Samples: WeightingWork}

    def serves(self, model: Any) -> bool:
        return hasattr(model, "nodes")

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return isinstance(question, Samples) or bool(question.method == WEIGHTING)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        return Plan(keep=tuple(model.variables[v] for v in question.targets or ()))


def _collected(
    variables: list[Discrete], parts: Sequence[Any], log_evidence: float, report: object
) -> Marginals:
    cards = np.array([v.cardinality for v in variables], dtype=np.int64)
    flat = np.concatenate([np.zeros(0), *(np.asarray(part) for part in parts)])
    return Marginals(variables, np.arange(len(variables)), cards, flat, log_evidence, report)


def _sampled(samples: WeightedSamples, targets: list[Discrete]) -> Posterior:
    answer = samples.posterior(*targets)
    return Posterior(
        answer.variables, answer.probabilities, float(samples.log_evidence.value), samples.report
    )


def _loopy(
    model: ProductModel,
    keep: Sequence[Variable],
    evidence: Evidence,
    options: Mapping[str, Any],
) -> LoopyBeliefs:
    trimmed, partial = evidence.split()
    potentials = planned_slice(model, trimmed, partial, keep).slice.problem(trimmed).potentials
    factors = [potential for potential in potentials if isinstance(potential, Factor)]
    if len(factors) < len(potentials):
        raise UnsupportedModelError(
            "Loopy belief propagation takes discrete variables; continuous ones are left in the "
            f"model. Observe them or use method={WEIGHTING!r}."
        )
    return loopy_belief_propagation(
        factors, [v for v in keep if isinstance(v, Discrete)], **options
    )


def check_options(fallback: str | None, options: Mapping[str, Any]) -> None:
    """Raise an error for options that neither the exact method nor the fallback takes.

    Parameters
    ----------
    fallback : str, optional
        Approximate method to be used if exact inference exceeds the memory limit.
    options : mapping from str
        Keyword arguments of a query that only approximate methods take.

    Raises
    ------
    EvidenceError
        If the fallback is not an approximate method.
    DataTypeError
        If there are options without a fallback, or options that the fallback does not take.
    """
    if fallback is not None and fallback not in METHODS[1:]:
        raise EvidenceError(f"fallback is one of {quoted(METHODS[1:])} or None; got {fallback!r}.")
    if fallback is not None:
        check_method(fallback, options)
    elif options:
        raise DataTypeError(
            f"Unexpected arguments {quoted(options)}: an exact answer takes evidence, method, "
            "fallback and memory_limit; other options are for approximate methods. Evidence is a "
            "dict: query('rain', {'wet': True}), or of likelihoods {'wet': {True: 4, False: 1}}."
        )


def check_method(method: str, options: Mapping[str, Any]) -> None:
    """Raise an error unless `method` is an approximate method that takes all of the options."""
    if method not in METHODS[1:]:
        raise EvidenceError(f"method is one of {quoted(METHODS)}; got {method!r}.")
    if unknown := set(options) - _OPTIONS[method]:
        raise DataTypeError(
            f"Unexpected arguments {quoted(sorted(unknown))}: {method!r} takes "
            f"{quoted(sorted(_OPTIONS[method]))}."
        )
