"""Approximate answers in the form of exact ones, each with its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from bayesgraph.errors import DataTypeError, EvidenceError, UnsupportedModelError, quoted
from bayesgraph.factors import Evidence, Factor
from bayesgraph.inference.loopy import LoopyBeliefs, loopy_belief_propagation
from bayesgraph.inference.queries import Model
from bayesgraph.inference.results import Marginals, Posterior
from bayesgraph.inference.weighting import Node, WeightedSamples, likelihood_weighting
from bayesgraph.variables import Discrete, Variable

LOOPY, WEIGHTING = "loopy", "likelihood-weighting"
METHODS = ("exact", LOOPY, WEIGHTING)
_OPTIONS = {
    LOOPY: {"max_iterations", "tolerance", "damping"},
    WEIGHTING: {"n_samples", "standard_error", "random_state"},
}


class SampledModel(Model, Protocol):
    """What approximations need of a model."""

    def nodes(self) -> Sequence[Node]:
        """Return the local distributions, parents first, or raise UnsupportedModelError."""
        ...


def posterior(
    model: SampledModel,
    targets: Sequence[Variable],
    evidence: Evidence,
    method: str,
    **options: Any,
) -> Posterior | WeightedSamples:
    """Return the approximate posterior of some variables.

    Continuous targets are answered by the weighted samples themselves.
    """
    if _checked(method, options) == WEIGHTING:
        samples = likelihood_weighting(model.nodes(), targets, evidence, **options)
        if not all(isinstance(v, Discrete) for v in targets):
            return samples
        return _sampled(samples, [v for v in targets if isinstance(v, Discrete)])
    if len(targets) != 1:
        raise EvidenceError(
            "Loopy belief propagation gives the posteriors of single variables, not joint ones; "
            f"got the targets {quoted(v.name for v in targets)}. Ask for one at a time, or use "
            f"method={WEIGHTING!r}."
        )
    beliefs = _loopy(model, targets, evidence, options)
    (target,) = targets
    assert isinstance(target, Discrete)  # checked with the factors
    return Posterior(
        (target,), beliefs.marginals[target], beliefs.report.log_partition, beliefs.report
    )


def marginals(model: SampledModel, evidence: Evidence, method: str, **options: Any) -> Marginals:
    """Return the approximate posteriors of all unobserved variables."""
    free = [v for v in model.variables if v not in evidence]
    continuous = [v.name for v in free if not isinstance(v, Discrete)]
    if continuous:
        raise UnsupportedModelError(
            f"marginals with an approximate method takes a discrete model; {quoted(continuous)} "
            f"are continuous. Query them with method={WEIGHTING!r}."
        )
    discrete = [v for v in free if isinstance(v, Discrete)]
    if _checked(method, options) == WEIGHTING:
        samples = likelihood_weighting(model.nodes(), discrete, evidence, **options)
        parts = [samples.probabilities(v).value for v in discrete]
        log_evidence, report = float(samples.log_evidence.value), samples.report
        return _collected(discrete, parts, log_evidence, report)
    beliefs = _loopy(model, discrete, evidence, options)
    found = [beliefs.marginals[v] for v in discrete]
    return _collected(discrete, found, beliefs.report.log_partition, beliefs.report)


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
    model: Model, keep: Sequence[Variable], evidence: Evidence, options: dict[str, Any]
) -> LoopyBeliefs:
    potentials = model.problem(evidence, keep).potentials
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
    """Refuse what an exact answer does not take, so that no misspelt argument is lost.

    Raises
    ------
    EvidenceError
        For a fallback that is no approximate method.
    DataTypeError
        For options although nothing will be approximated.
    """
    if fallback is not None and fallback not in METHODS[1:]:
        raise EvidenceError(f"fallback is one of {quoted(METHODS[1:])} or None; got {fallback!r}.")
    if fallback is not None:
        _checked(fallback, options)
    elif options:
        raise DataTypeError(
            f"Unexpected arguments {quoted(options)}: an exact answer takes evidence, method, "
            "fallback and memory_limit; other options are for approximate methods."
        )


def _checked(method: str, options: Mapping[str, Any]) -> str:
    if method not in METHODS[1:]:
        raise EvidenceError(f"method is one of {quoted(METHODS)}; got {method!r}.")
    if unknown := set(options) - _OPTIONS[method]:
        raise DataTypeError(
            f"Unexpected arguments {quoted(sorted(unknown))}: {method!r} takes "
            f"{quoted(sorted(_OPTIONS[method]))}."
        )
    return method
