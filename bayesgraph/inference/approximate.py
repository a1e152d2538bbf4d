"""Solvers for approximate inference: loopy belief propagation and likelihood weighting.

Answers about discrete variables have the same classes as exact answers, with a report of
convergence or of sampling error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataTypeError, EvidenceError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.inference import contract
from bayesgraph.inference.elimination import planned_slice
from bayesgraph.inference.factor_solver import plan_of_factors
from bayesgraph.inference.loopy import loopy_belief_propagation
from bayesgraph.inference.results import Marginals, Posterior
from bayesgraph.inference.sampling import WeightedSamples, likelihood_weighting
from bayesgraph.inference.sensitivity import Derivatives

# ------------ Solvers for approximate inference: loopy belief propagation and likelihood weighting


LOOPY, WEIGHTING = "loopy", "likelihood-weighting"
METHODS = ("exact", LOOPY, WEIGHTING)  # all but the first are approximate
_OPTIONS = {
    LOOPY: {"max_iterations", "tolerance", "damping"},
    WEIGHTING: {"n", "standard_error", "random_state"},
}


def _targets(model: Any, question: Any, pattern: contract.Pattern) -> Sequence[int]:
    """Return the indices of the targets; of all unobserved variables if the query names none."""
    free = [v for v in range(len(model.variables)) if v not in pattern.observed]
    return free if question.targets is None else question.targets


class _ApproximateWork(contract.Work):
    """Base class of prepared queries that are answered by approximate methods."""

    def _wanted(self) -> list[Variable]:
        """Return the target variables of the query; all unobserved variables if it names none.

        Raises
        ------
        UnsupportedModelError
            If no targets are named and an unobserved variable is continuous.
        """
        model = self.model
        targets = [model.variables[v] for v in _targets(model, self.question, self.pattern)]
        continuous = [v.name for v in targets if not isinstance(v, Discrete)]
        if self.question.targets is None and continuous:
            raise UnsupportedModelError(
                f"marginals with an approximate method takes a discrete model; "
                f"{quoted(continuous)} are continuous. Query them with method={WEIGHTING!r}."
            )
        return targets


class WeightingWork(_ApproximateWork):
    """Prepared query that is answered by likelihood weighting.

    The answer is a `Posterior` or `Marginals` if all targets are discrete, and `WeightedSamples` if
    a target is continuous or the query is `Samples`.
    """

    def run(
        self, case: contract.Case, memory_limit: float | None = None
    ) -> Posterior | Marginals | WeightedSamples:
        model, question = self.model, self.question
        wanted = self._wanted()
        evidence = case.evidence(model.variables)
        samples = likelihood_weighting(model._nodes(), wanted, evidence, **question.options)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        if isinstance(question, contract.Samples) or len(discrete) < len(wanted):
            return samples
        if question.targets is not None:
            return samples.posterior(*discrete)
        posteriors = [samples.posterior(v) for v in discrete]
        return _collected(posteriors, samples.log_evidence.value, samples.report)


class LoopyWork(_ApproximateWork):
    """Prepared query for the posterior of one variable, or of all, by loopy belief propagation."""

    def run(self, case: contract.Case, memory_limit: float | None = None) -> Posterior | Marginals:
        question = self.question
        wanted = self._wanted()
        if question.targets is not None and len(wanted) != 1:
            raise EvidenceError(
                "Loopy belief propagation gives the posteriors of single variables, not joint "
                f"ones; got the targets {quoted(v.name for v in wanted)}. Ask for one at a time, "
                f"or use method={WEIGHTING!r}."
            )
        trimmed, partial = case.evidence(self.model.variables).split()
        problem = planned_slice(self.model, trimmed, partial, wanted).slice.problem(trimmed)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        beliefs = loopy_belief_propagation(problem.potentials, discrete, **question.options)
        report = beliefs.report
        log_evidence = report.log_partition
        posteriors = [Posterior((v,), beliefs.marginals[v], log_evidence, report) for v in discrete]
        if question.targets is None:
            return _collected(posteriors, log_evidence, report)
        return posteriors[0]


class Loopy(contract.Solver):
    """Solver for factors that are tables: approximate posteriors by loopy belief propagation."""

    name = "loopy belief propagation"
    condition = "a product of tables, and method='loopy'"
    kinds = ("product", "tempered")
    works: ClassVar = {contract.Approximate: LoopyWork}

    def takes(self, model: Any, question: Any, pattern: contract.Pattern) -> bool:
        return bool(question.method == LOOPY)

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        # Two passes are the least: one message each way along every edge.
        return plan_of_factors(model, pattern, _targets(model, question, pattern), passes=2)


class Weighting(contract.Solver):
    """Solver by likelihood weighting: ancestral samples, weighted by the evidence's likelihood."""

    name = "likelihood weighting"
    condition = "a network, and method='likelihood-weighting' or weighted_samples"
    works: ClassVar = {contract.Approximate: WeightingWork, contract.Samples: WeightingWork}

    def serves(self, model: Any) -> bool:
        return bool(model._nodes())

    def takes(self, model: Any, question: Any, pattern: contract.Pattern) -> bool:
        return isinstance(question, contract.Samples) or bool(question.method == WEIGHTING)

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        return contract.Plan(keep=tuple(model.variables[v] for v in question.targets or ()))


def _collected(posteriors: Sequence[Posterior], log_evidence: float, report: object) -> Marginals:
    """Return the posteriors of single variables as `Marginals`, by name."""
    by_name = {posterior.names[0]: posterior for posterior in posteriors}
    return Marginals(by_name, by_name.__getitem__, log_evidence, report)


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


# ---------- The solver of networks with canonical CPDs: a network with auxiliary variables answers
# In this network, which the model gives as `unfolded`, each canonical CPD (a noisy or, for example)
# is a chain of small tables. Its first variables are those of the model, so that questions and
# evidence have the same indices; the auxiliary variables follow, and are summed out.
#
# If the chains together are expensive, noisy maxima that are observed to have no effect leave them:
# their likelihood is a product of one for each parent (Heckerman 1989, Quickscore).


# Number of multiplications from which on likelihoods of no effect are taken out of the chains,
# which takes a program for each set of such effects.
_MANY = 2**14


def _network_of(model: Any, question: contract.Question) -> Any:
    """Return the network that answers a question about one with canonical CPDs.

    It is the one with auxiliary variables, but for derivatives: these are with respect to the
    entries of whole tables, which chains of small tables do not have.
    """
    return model._expanded() if isinstance(question, contract.Slopes) else model._unfolded


class UnfoldedWork(contract.Work):
    """Prepared query whose answer is that of the network with auxiliary variables.

    `_network` is this network, and `_inner` the query prepared for it. `_effects` are the indices
    of the observed noisy maxima (effects of their parents, the causes) whose chains are left out
    in cases where they have no effect.
    """

    def _prepare(self, model: Any) -> None:
        asked, pattern = self.question, self.pattern
        # A prepared query has a weak reference to its model only: this one keeps `_inner`'s model.
        self._network = _network_of(model, asked)
        self._effects: list[int] = []
        self._inner: Any
        if isinstance(asked, contract.Approximate):  # its options cannot be the key of a cache
            self._inner = Loopy().prepare(self._network, asked, pattern, self.memory_limit)
            return
        self._inner = self._network._work(asked, pattern, self.memory_limit)
        if not (isinstance(asked, contract.Slopes) or pattern.rows):
            effects = [v for v in pattern.observed if v in model._no_effect_factors]
            # It pays only where the chains are expensive.
            if effects and self._network._plan_of(asked, pattern).multiplications > _MANY:
                self._effects = effects

    def run(self, case: contract.Case, memory_limit: float | None = None) -> Any:
        """Return the answer for one case; see Work."""
        absent = tuple(v for v in self._effects if not case.hard[v])  # state 0 is no effect
        if absent:
            # The answer of a network without the arcs into absent effects, with their likelihoods
            # as evidence on their causes: log P(no effect | causes) is a sum of terms, each an
            # array over the states of one cause, or a constant (an array without axes).
            model = self.model
            names = [model.variables[v].name for v in absent]
            cut = model._memo.get(("absent", absent), lambda: model._without_parents(names))
            soft, log_scale = dict(case.soft), case.log_scale
            for v in absent:
                for causes, logs in model._no_effect_factors[v]:
                    codes = tuple(case.hard[u] for u in causes if u in case.hard)
                    if len(codes) == len(causes):  # the cause is observed, or there is none
                        log_scale += float(logs[codes])  # one entry: `codes` has all axes
                    else:
                        soft[causes[0]] = soft.get(causes[0], 0.0) + logs
            if log_scale == -np.inf:  # an observed cause makes an absent effect impossible
                return -np.inf if isinstance(self.question, contract.Mass) else None
            merged = contract.Case(case.hard, soft, log_scale)
            return cut._answer(self.question, merged, memory_limit)
        return self._present(case, memory_limit)

    def _present(self, case: contract.Case, memory_limit: float | None) -> Any:
        """Return the answer of the network with all chains, for a case without absent effects."""
        return self._inner.run(case, memory_limit)

    def run_rows(self, rows: Evidence) -> Floats:
        logs: Floats = self._inner.run_rows(rows)
        return logs

    def derivatives(
        self, case: contract.Case, log_unit: float | None, memory_limit: float | None
    ) -> Derivatives | None:
        """Return the derivatives of both probabilities; see SlopesWork."""
        derivatives: Derivatives | None = self._inner.derivatives(case, log_unit, memory_limit)
        return derivatives

    @property
    def nbytes(self) -> int:
        return int(self._inner.nbytes)


class UnfoldedMarginals(UnfoldedWork):
    """Prepared query for marginals, without those of auxiliary variables."""

    def _present(self, case: contract.Case, memory_limit: float | None) -> Any:
        inner = self._inner.run(case, memory_limit)
        if not isinstance(inner, Marginals):  # impossible evidence, or an approximate posterior
            return inner
        model = self.model
        names = [v.name for number, v in enumerate(model.variables) if number not in case.hard]
        return Marginals(names, inner.__getitem__, inner.log_evidence, inner.approximation)


class Unfolded(contract.Solver):
    """Solver of networks with canonical CPDs, by chains of tables over auxiliary variables.

    The most probable assignments of all variables are left to solvers that sum nothing out.
    """

    name = "auxiliary variables"
    condition = "a network with canonical CPDs, such as noisy ors"
    works: ClassVar = {
        contract.Joint: UnfoldedWork,
        contract.All: UnfoldedMarginals,
        contract.Mass: UnfoldedWork,
        contract.Best: UnfoldedWork,
        contract.Draw: UnfoldedWork,
        contract.Slopes: UnfoldedWork,
        contract.Approximate: UnfoldedMarginals,
    }

    def serves(self, model: Any) -> bool:
        # A model of tables has nothing to unfold.
        return model._compiled_tables is None and model._unfolded is not None

    def takes(self, model: Any, question: Any, pattern: contract.Pattern) -> bool:
        if isinstance(question, contract.Best):
            return question.over is not None
        return not isinstance(question, contract.Approximate) or bool(question.method == LOOPY)

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        targets = getattr(question, "targets", None) or ()
        kept = tuple(model.variables[v] for v in targets)
        inner = _network_of(model, question)._plan_of(question, pattern)
        return contract.Plan(keep=kept, parts=(inner,))
