"""The solver of averages of posteriors: fixed weights, whatever the evidence."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import All, Case, Joint, Pattern, Question, Solver, Work
from bayesgraph.inference.factor_solver import lazy_marginals
from bayesgraph.inference.mixture.averages import Answer, averaged
from bayesgraph.inference.normalise import normalised
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.results import Marginals, Posterior


class AverageJoint(Work):
    """A joint posterior: the weighted mean of those of the members that have its variables."""

    def _begin(self, model: Any) -> None:
        targets = self.question.targets
        self._variables = tuple(model.variables[v] for v in targets)
        self._members = [(m, Joint(m.targets(targets))) for m in model.members_with(targets)]

    def _run(self, case: Case, memory_limit: float | None) -> Answer | None:
        answers: list[Answer] = []
        refused = 0
        for member, question in self._members:
            own = member.case(case)
            work = member.network.work(question, own.pattern, memory_limit)
            answer = work.run(own, memory_limit)
            if answer is None:  # its prior, as it predicts rows
                refused += 1
                nothing = Case({})
                work = member.network.work(question, nothing.pattern, memory_limit)
                answer = work.run(nothing, memory_limit)
            if isinstance(answer, Posterior):
                shares = member.spread(self.question.targets, answer.probabilities)
                answer = Posterior(self._variables, shares, answer.log_evidence)
            answers.append(answer)
        if refused == len(answers):
            return None
        weights = np.array([member.weight for member, _ in self._members])
        return averaged(answers, weights / weights.sum(), np.nan)

    def _run_rows(self, rows: Evidence) -> Floats:
        """Return logs of the posteriors' mean, minus infinity where all members refuse a row."""
        (target,) = self.question.targets
        total = np.zeros((rows.n_rows, self.model.variables[target].cardinality))
        possible = np.zeros(rows.n_rows, dtype=bool)
        for member, question in self._members:
            network, part = member.network, member.rows(rows)
            variable = network.variables[question.targets[0]]
            logs = network.log_posterior_rows(variable, part)
            refused = np.isneginf(logs.max(axis=1))
            possible |= ~refused
            if refused.any():
                with np.errstate(divide="ignore"):
                    logs[refused] = np.log(network.query(variable.name).probabilities)
            total += member.weight * member.spread((target,), normalised(logs))
        total[~possible] = 0.0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total))


class AverageAll(Work):
    """All marginals, each computed when it is first looked up."""

    def _run(self, case: Case, memory_limit: float | None) -> Marginals | None:
        model = self.model
        for v in range(len(model.variables)):
            if v in case.hard:
                continue
            try:  # the first that has an answer tells whether all members refuse the evidence
                work = model.work(Joint((v,)), self.pattern, memory_limit)
                if work.run(case, memory_limit) is None:
                    return None
                break
            except UnsupportedModelError:
                continue
        return lazy_marginals(model, self.pattern, case, np.nan, memory_limit)


class Average(Solver):
    """Adds up the posteriors of the members, each by its weight."""

    name = "average"
    condition = "an average of posteriors with fixed weights"
    form = "average"
    works: ClassVar = {Joint: AverageJoint, All: AverageAll}

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return True

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        targets = getattr(question, "targets", ())
        if isinstance(question, All):
            asked: list[tuple[Any, Question]] = [(m, question) for m in model.members]
        else:
            asked = [(m, Joint(m.targets(targets))) for m in model.members_with(targets)]
        parts = tuple(m.network.plan_of(own, m.pattern(pattern)) for m, own in asked)
        return Plan(keep=tuple(model.variables[v] for v in targets), parts=parts)
