"""The solver of averages of networks: the weighted mean of the networks' posteriors.

The weights are fixed. In a mixture (a weighted mean of joint distributions) the weights of the
posteriors depend on the evidence instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.inference.contract import (
    All,
    Case,
    Joint,
    Pattern,
    Question,
    Slopes,
    Solver,
    Work,
)
from bayesgraph.inference.factor_solver import lazy_marginals
from bayesgraph.inference.mixture.averages import Answer, averaged
from bayesgraph.inference.normalise import divided
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.repetitions import different_rows
from bayesgraph.inference.results import Marginals, Posterior
from bayesgraph.inference.sensitivity import (
    Derivatives,
    PosteriorSlopes,
    Sensitivity,
    proportional,
    sensitivity_of_parts,
)


class AverageJoint(Work):
    """Prepared query for a joint posterior: the weighted mean of the member networks' posteriors.

    Only members that have all target variables take part; their weights are normalised.
    """

    def _begin(self, model: Any) -> None:
        targets = self.question.targets
        self._variables = tuple(model.answered(v) for v in targets)
        self._members = [(m, Joint(m.targets(targets))) for m in model.members_with(targets)]
        weights = np.array([member.weight for member, _ in self._members])
        self._weights = weights / weights.sum()
        self._ratio = model.ratio_of(targets)
        # Which columns of a batch a member knows does not depend on their values.
        self._works = [
            member.network.work(question, member.pattern(self.pattern), self.memory_limit)
            for member, question in self._members
            if self.pattern.rows
        ]

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
                targets = self.question.targets
                shares = member.spread(targets, member.tempered(targets, answer.probabilities))
                answer = Posterior(self._variables, shares, np.nan)
            answers.append(answer)
        if refused == len(answers):
            return None
        found = averaged(answers, self._weights, np.nan)
        if self._ratio is None:
            return found
        assert isinstance(found, Posterior)  # all targets are discrete
        shares = found.probabilities * self._ratio
        total = float(shares.sum())
        return Posterior(self._variables, shares / total, np.nan) if total > 0 else None

    def _run_rows(self, rows: Evidence) -> Floats:
        """Return the log of the averaged posterior of the target for each row, unnormalised.

        A member that gives a row probability zero contributes its prior. If all members do, the
        row's logs are minus infinity.
        """
        found = different_rows(rows)
        if found is None:
            return self._run_different(rows)
        different, place = found
        # The numbers of a state are contiguous.
        return self._run_different(rows.rows(different)).T[:, place].T

    def _run_different(self, rows: Evidence) -> Floats:
        (target,) = self.question.targets
        total = np.zeros((rows.n_rows, self._variables[0].cardinality))
        refusals: list[NDArray[np.bool_]] = []
        found = zip(self._weights.tolist(), self._members, self._works, strict=True)
        for weight, (member, question), work in found:
            logs = work.run_rows(member.rows(rows))
            # A row is refused if all of its states are; most often no first state is.
            if np.minimum.reduce(logs[:, 0], initial=0.0) == -np.inf:
                refused = np.isneginf(logs.max(axis=1))
                refusals.append(refused)
                name = member.network.variables[question.targets[0]].name
                logs[refused] = log_of(member.network.query(name).probabilities)
            shares = member.spread((target,), member.shares(target, logs))
            shares *= weight
            total += shares
        if len(refusals) == len(self._works):
            total[np.logical_and.reduce(refusals)] = 0.0
        if self._ratio is not None:
            total *= self._ratio
        return log_of(total)


class AverageAll(Work):
    """Prepared query for the posteriors of all unobserved variables, computed on first access."""

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


class AverageSlopes(Work):
    """Prepared query for derivatives of a posterior, with respect to the weights too.

    The posterior q is proportional to r * p with p = sum_m u_m p_m and the ratios r of a shifted
    prior (1 by default). Its gradient with respect to p is (r_t 1(c = t) - q_t r_c) / (r . p).
    """

    def _begin(self, model: Any) -> None:
        target = self.question.target
        with_target = model.members_with((target,))
        positive = np.flatnonzero(model.weights > 0).tolist()
        self._members = [
            (place, member)
            for place, member in zip(positive, model.members, strict=True)
            if member in with_target
        ]
        self._ratio = model.ratio_of((target,))

    def _run(self, case: Case, memory_limit: float | None) -> Sensitivity | None:
        target, state = self.question
        model = self.model
        variable = model.variables[target]
        found = [self._of_member(member, case, memory_limit) for _, member in self._members]
        if not any(possible for _, possible in found):
            return None
        posteriors = [
            member.tempered((target,), np.array([one.both for one in own]))
            for (_, member), (own, _) in zip(self._members, found, strict=True)
        ]
        shares = [
            member.spread((target,), own)
            for (_, member), own in zip(self._members, posteriors, strict=True)
        ]
        weights = np.array([member.weight for _, member in self._members])
        own_weights = weights / weights.sum()
        mean = own_weights @ np.array(shares)
        ratio = np.ones(len(mean)) if self._ratio is None else self._ratio
        total = float(ratio @ mean)
        if total <= 0:
            return None
        posterior = float(ratio[state] * mean[state] / total)
        gradient = -posterior * ratio
        gradient[state] += ratio[state]
        gradient /= total
        parts = {}
        for (place, member), (own, _), q, weight in zip(
            self._members, found, posteriors, own_weights.tolist(), strict=True
        ):
            by_state = weight * (member.spread((target,), np.eye(len(own))) @ gradient)
            both, exponent = own, member.exponent(target)
            if exponent != 1.0:
                # By the chain rule through prior (posterior / prior)^exponent, normalised.
                prior = self._derivatives(member, Case({}), memory_limit)
                p, start = (np.array([one.both for one in o]) for o in (own, prior))
                pulled = q * (by_state - by_state @ q)
                by_state = np.concatenate(
                    [exponent * divided(pulled, p), (1.0 - exponent) * divided(pulled, start)]
                )
                both = [*own, *prior]
            parts[place] = own[0], _added(both, by_state)
        slopes = np.zeros(len(model.weights))
        for (place, _), own_share in zip(self._members, shares, strict=True):
            slopes[place] = gradient @ (own_share - mean) / weights.sum()
        return sensitivity_of_parts(
            variable, state, posterior, parts, proportional(slopes, model.weights)
        )

    def _of_member(
        self, member: Any, case: Case, memory_limit: float | None
    ) -> tuple[list[Derivatives], bool]:
        """Return a member's derivatives for each of its states, and whether it is possible.

        A member that rules out the evidence has its prior in the average, as in `AverageJoint`.
        """
        found = self._derivatives(member, member.case(case), memory_limit)
        if found[0] is None:
            return self._derivatives(member, Case({}), memory_limit), False
        return found, True

    def _derivatives(self, member: Any, own: Case, memory_limit: float | None) -> list[Any]:
        """Return the derivatives of each state of the target, of a case of the member."""
        (target,) = member.targets((self.question.target,))
        network = member.network
        asked = [Slopes(target, i) for i in range(network.variables[target].cardinality)]
        works = [network.work(question, own.pattern, memory_limit) for question in asked]
        return [work.derivatives(own, None, memory_limit) for work in works]


def _added(found: Sequence[Derivatives], shares: Floats) -> PosteriorSlopes:
    """Return the sum of the derivatives of the states' posteriors, each times its share."""
    each = [own.slopes(own.both, share) for own, share in zip(found, shares.tolist(), strict=True)]
    names = dict.fromkeys(n for own in each for n in own.tables)
    tables = {n: np.sum([own.tables[n] for own in each if n in own.tables], axis=0) for n in names}
    gaussians: dict[Any, Any] = {}
    for own in each:
        for n, slopes in own.gaussians.items():
            known = gaussians.get(n)
            gaussians[n] = (
                slopes
                if known is None
                else replace(
                    known,
                    mean=known.mean + slopes.mean,
                    variance=known.variance + slopes.variance,
                    coefficients=known.coefficients + slopes.coefficients,
                )
            )
    return PosteriorSlopes(tables, gaussians)


class Average(Solver):
    """Solver of averages: the mean of the member networks' posteriors, with fixed weights."""

    name = "average"
    condition = "an average of posteriors with fixed weights"
    form = "average"
    works: ClassVar = {Joint: AverageJoint, All: AverageAll}

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        targets = getattr(question, "targets", ())
        if isinstance(question, All):
            asked: list[tuple[Any, Question]] = [(m, question) for m in model.members]
        else:
            asked = [(m, Joint(m.targets(targets))) for m in model.members_with(targets)]
        parts = tuple(m.network.plan_of(own, m.pattern(pattern)) for m, own in asked)
        return Plan(keep=tuple(model.answered(v) for v in targets), parts=parts)


class AverageDerivatives(Average):
    """Solver of derivatives of averages, if all members have derivatives."""

    name = "average of derivatives"
    condition = "an average of posteriors of networks and factor graphs of tables"
    works: ClassVar = {Slopes: AverageSlopes}

    def serves(self, model: Any) -> bool:
        return super().serves(model) and all(
            member.network.form == "product" and member.network.answers(Slopes)
            for member in model.members
        )

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        members = model.members_with((question.target,))
        return Plan(
            parts=tuple(
                m.network.plan_of(Slopes(m.targets((question.target,))[0], 0), m.pattern(pattern))
                for m in members
            )
        )
