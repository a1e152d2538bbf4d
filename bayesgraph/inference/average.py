"""The solver of averages of networks: posteriors averaged by fixed weights.

Unlike in a mixture, the weights do not depend on the evidence.
"""

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
    """A joint posterior: the weighted mean of the posteriors of the member networks.

    Only members that have all target variables take part; their weights are normalised.
    """

    def _begin(self, model: Any) -> None:
        targets = self.question.targets
        self._variables = tuple(model.variables[v] for v in targets)
        self._members = [(m, Joint(m.targets(targets))) for m in model.members_with(targets)]
        weights = np.array([member.weight for member, _ in self._members])
        self._weights = weights / weights.sum()

    def _run(self, case: Case, memory_limit: float | None) -> Answer | None:
        answers: list[Answer] = []
        refused = 0
        for member, question in self._members:
            own = member.case(case)
            work = member.network.work(question, own.pattern, memory_limit)
            answer = work.run(own, memory_limit)
            if answer is None:  # impossible evidence: use the member's prior, as `_run_rows` does
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
        return averaged(answers, self._weights, np.nan)

    def _run_rows(self, rows: Evidence) -> Floats:
        """Return the log of the averaged posterior of the target for each row.

        A member that gives a row probability zero contributes its prior. If all members do, the
        row's logs are minus infinity.
        """
        (target,) = self.question.targets
        total = np.zeros((rows.n_rows, self.model.variables[target].cardinality))
        possible = np.zeros(rows.n_rows, dtype=bool)
        for weight, (member, question) in zip(self._weights, self._members, strict=True):
            network, part = member.network, member.rows(rows)
            variable = network.variables[question.targets[0]]
            logs = network.log_posterior_rows(variable, part)
            refused = np.isneginf(logs.max(axis=1))
            possible |= ~refused
            if refused.any():
                with np.errstate(divide="ignore"):
                    logs[refused] = np.log(network.query(variable.name).probabilities)
            total += weight * member.spread((target,), normalised(logs))
        total[~possible] = 0.0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total))


class AverageAll(Work):
    """The posterior of every unobserved variable, each computed when it is first accessed."""

    def _run(self, case: Case, memory_limit: float | None) -> Marginals | None:
        model = self.model
        for v in range(len(model.variables)):
            if v in case.hard:
                continue
            try:  # the first answer shows whether the evidence is impossible for all members
                work = model.work(Joint((v,)), self.pattern, memory_limit)
                if work.run(case, memory_limit) is None:
                    return None
                break
            except UnsupportedModelError:
                continue
        return lazy_marginals(model, self.pattern, case, np.nan, memory_limit)


class Average(Solver):
    """Averages the posteriors of the member networks by their fixed weights."""

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
