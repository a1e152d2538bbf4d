"""The solvers of ensembles: each network answers the query, and the answers are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, is_sparse, log_of
from bayesgraph.core.errors import UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Variable
from bayesgraph.inference import sensitivity
from bayesgraph.inference.contract import (
    All,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Pattern,
    Plan,
    Question,
    Retractions,
    Sample,
    Slopes,
    Solver,
    Taken,
    Work,
)
from bayesgraph.inference.factor_solver import FactorAll, different_rows, leaves_of
from bayesgraph.inference.factors import divided
from bayesgraph.inference.results import (
    Assignment,
    ItemsMixture,
    MixedPosterior,
    NumberMixture,
    Posterior,
)

# -------------------------------------------- Weighted means of the posteriors of several networks


Answer: TypeAlias = Posterior | NumberMixture | MixedPosterior | ItemsMixture


def log_sum(logs: Floats) -> float:
    """Return log-sum-exp of a vector, minus infinity if no value is finite.

    The shift by the maximum keeps the exponentials within the range of floats.
    """
    peak = float(logs.max(initial=-np.inf))
    return peak if peak == -np.inf else peak + float(np.log(np.exp(logs - peak).sum()))


def averaged(answers: Sequence[Answer], shares: Floats, log_evidence: float) -> Answer:
    """Return the average of several posteriors of the same targets, with the given weights.

    Parameters
    ----------
    answers : sequence of Posterior, NumberMixture, MixedPosterior, or ItemsMixture
        At least one; all of the same targets.
    shares : ndarray, shape (n,)
        Weights, which sum to one.
    log_evidence : float
        Log evidence of the average.
    """
    by_type: dict[type[Answer], Callable[..., Answer]] = {
        Posterior: _posterior,
        MixedPosterior: _joint,
        ItemsMixture: _items,
        NumberMixture: _numbers,
    }
    return by_type[type(answers[0])](answers, shares, log_evidence)


def _posterior(answers: Sequence[Posterior], shares: Floats, log_evidence: float) -> Posterior:
    """Return the weighted mean of joint tables of discrete targets; see `averaged`."""
    values = np.zeros(answers[0].probabilities.shape)
    for answer, share in zip(answers, shares, strict=True):
        values += share * answer.probabilities
    return Posterior(answers[0].variables, values / values.sum(), log_evidence)


def _items(answers: Sequence[ItemsMixture], shares: Floats, log_evidence: float) -> ItemsMixture:
    """Return the mixture of mixtures of distributions of counts; see `averaged`."""
    return ItemsMixture(answers[0].variable, _parts(answers, shares, 1.0), log_evidence)


def _numbers(
    answers: Sequence[NumberMixture], shares: Floats, log_evidence: float
) -> NumberMixture:
    """Return the mixture of mixtures of numbers; see `averaged`."""
    parts = _parts(answers, shares, float(sum(shares)))  # the sum is one, but for rounding
    return NumberMixture(answers[0].variables, parts, log_evidence)


def _parts(answers: Sequence[Any], shares: Floats, total: float) -> list[tuple[Floats, Any]]:
    """Return the components of all mixtures, with their weights times share over total."""
    return [
        (share * weights / total, components)
        for answer, share in zip(answers, shares.tolist(), strict=True)
        for weights, components in answer.parts
        if share > 0
    ]


def _joint(
    answers: Sequence[MixedPosterior], shares: Floats, log_evidence: float
) -> MixedPosterior:
    """Return the average of joint posteriors of discrete and continuous targets; see `averaged`.

    In each joint state of the discrete targets, the mixtures of the networks are weighted by share
    times probability of the state.
    """
    discrete = _posterior([answer.discrete for answer in answers], shares, log_evidence)
    tables = np.array([answer.discrete.probabilities.ravel() for answer in answers])
    mixtures: list[NumberMixture | None] = []
    for i, of_state in enumerate(tables.T):
        weights = shares * of_state
        possible = np.flatnonzero(weights > 0)
        if not len(possible):  # all networks rule the state out
            mixtures.append(None)
            continue
        numbers: list[Any] = [answers[s].mixtures[i] for s in possible.tolist()]
        relative = weights[possible] / weights[possible].sum()
        mixtures.append(_numbers(numbers, relative, log_evidence))
    return MixedPosterior(discrete, mixtures)


# Maximum number of assignments of each network before the search is given up.
_MAXIMUM = 4096
# Tolerance of sums of logs, so that equally probable assignments compare as equal.
_ROUNDING = 1e-11


def grouped(logs: Floats, codes: NDArray[np.int64], n: int) -> Floats:
    """Return log likelihoods of n groups of states, given those of states, (..., n_states).

    `codes` has the group of each state, -1 for none.
    """
    sums = np.full((*logs.shape[:-1], n), -np.inf)
    # Transposed, because `at` adds along the first axis: here the groups, and the states.
    np.logaddexp.at(sums.T, codes[codes >= 0], logs[..., codes >= 0].T)
    return sums


# ------------- Ensembles: each network answers the query in its own way, and the answers are joined


def answer_of(member: Any, question: Question, case: Case, memory_limit: float | None) -> Any:
    """Return a network's own answer to a query; query and case are those of the ensemble."""
    return member.network._answer(member.question(question), member.case(case), memory_limit)


def log_masses(members: Sequence[Any], case: Case, memory_limit: float | None = None) -> Floats:
    """Return log(prior weight) + log P(evidence) of each network."""
    return np.array([m.log_weight + answer_of(m, Mass(), case, memory_limit) for m in members])


class _EnsembleWork(Work):
    """A prepared query that the networks with its targets answer."""

    def _prepare(self, model: Any) -> None:
        self.members = model.members_with(getattr(self.question, "targets", ()))
        # Which columns of a batch a network has does not depend on their values. Of a single case
        # it may: a network may lack the observed state. Its queries are prepared in `answer_of`.
        self.works = [
            m.network._work(m.question(self.question), m.pattern(self.pattern), self.memory_limit)
            for m in self.members
            if self.pattern.rows
        ]


class _MixtureRows(_EnsembleWork):
    """A prepared query of rows: the networks' probabilities are summed."""

    def run_rows(self, rows: Evidence) -> Floats:
        """Return log probabilities of each row under the mixture; see `Work.run_rows`."""
        logs: Any = -np.inf
        for member, work in zip(self.members, self.works, strict=True):
            logs = np.logaddexp(logs, work.run_rows(rows) + member.log_weight)
        summed: Floats = logs
        return summed


class MixtureMass(_MixtureRows):
    """Prepared query for log P(evidence): the log of the weighted sum over the networks."""

    def run(self, case: Case, memory_limit: float | None = None) -> float:
        return log_sum(log_masses(self.members, case, memory_limit))


class MixtureJoint(_MixtureRows):
    """Prepared query for a joint posterior.

    It is the mean of the networks' posteriors, weighted by the networks' posterior weights.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> Answer | None:
        answers: list[Answer] = []
        # Of each network s: log(pi_s P_s(evidence)), with its prior weight pi_s.
        logs: list[float] = []
        for member in self.members:
            answer = answer_of(member, self.question, case, memory_limit)
            if answer is not None:
                answers.append(answer)
                logs.append(member.log_weight + answer.log_evidence)
        if not answers:
            return None
        log_joint = np.array(logs)
        log_evidence = log_sum(log_joint)
        shares = np.exp(log_joint - log_evidence)
        # Their sum is one only up to the rounding of the logs, which are large for much evidence.
        return averaged(answers, shares / shares.sum(), log_evidence)


class MixtureAll(FactorAll):
    """Prepared query for the posteriors of all unobserved variables, computed on first access."""

    def _log_evidence(self, case: Case, memory_limit: float | None) -> float:
        return log_sum(log_masses(self.model.members, case, memory_limit))


class MixtureBest(_EnsembleWork):
    """Prepared query for the most probable assignments, found from those of each network."""

    def run(self, case: Case, memory_limit: float | None = None) -> Taken:
        if self.question.mode:
            raise UnsupportedModelError(
                "The mode of a mixture of Gaussians has no closed form: leave joint=True out to "
                "maximise over the discrete variables."
            )
        return Taken(partial(self._take, case, memory_limit))

    def _take(self, case: Case, memory_limit: float | None, k: int) -> list[Assignment]:
        """Return the k most probable assignments, or fewer if fewer have positive probability."""
        question = self.question
        if question.over is not None:
            return self._over(question.over, case, memory_limit)
        best = self._best(case, memory_limit, k)
        return [self._with_means(case, memory_limit, a) for a in best] if question.means else best

    def _best(self, case: Case, memory_limit: float | None, n: int) -> list[Assignment]:
        """Return the n most probable assignments of all discrete variables, best first.

        The problem is hard in general, but each network lists its assignments in order of
        probability. An assignment that is not among the first k of any network has at most the
        weighted sum of the networks' k-th probabilities. If n assignments reach this bound, the n
        most probable ones are found (the threshold algorithm of Fagin, Lotem and Naor 2003,
        "Optimal aggregation algorithms for middleware", section 4).

        Raises
        ------
        UnsupportedModelError
            If the first 4096 assignments of the networks do not determine the result.
        """
        log_weights = np.array([member.log_weight for member in self.members])
        answers = [answer_of(m, Best(), case, memory_limit) for m in self.members]
        model = self.model
        evidence = case.evidence(model.variables)
        # More than n from each network, as the lists of networks differ; then four times as many.
        k = max(8, 2 * n)
        while True:
            lists = [[] if answer is None else answer.take(k) for answer in answers]
            # All assignments have the same variables: the names are those of any of them.
            names = next((tuple(best[0]) for best in lists if best), ())
            # The keys contain the types: True and 1 may be two states of one variable.
            distinct = {
                tuple((type(a[name]), a[name]) for name in names): tuple(a[name] for name in names)
                for best in lists
                for a in best
            }
            candidates = list(distinct.values())
            if not candidates:
                return []
            # A batch of rows: in each the evidence of the case, and one of the candidates.
            size = len(candidates)
            columns = {v: np.repeat(c, size, axis=0) for v, c in evidence.columns.items()}
            for name, column in zip(names, zip(*candidates, strict=True), strict=False):
                variable = model.variable(name)
                columns[variable] = np.array([variable.index(value) for value in column])
            logs = model._log_evidence_rows(Evidence(size, columns, evidence.likelihoods))
            # No assignment beyond the candidates exceeds the bound. A list shorter than k is
            # complete: its network gives all others probability zero.
            last = [best[-1].log_probability if len(best) == k else -np.inf for best in lists]
            bound = log_sum(log_weights + np.array(last))
            order = np.argsort(-logs, kind="stable")[:n]
            if bound == -np.inf or (len(order) == n and logs[order[-1]] >= bound - _ROUNDING):
                return [
                    Assignment(dict(zip(names, candidates[i], strict=True)), float(logs[i]))
                    for i in order.tolist()
                ]
            if k >= _MAXIMUM:
                raise UnsupportedModelError(
                    f"The {k} most probable assignments of each of the {len(lists)} networks do "
                    "not decide which is the most probable of their mixture; give more evidence, "
                    "or ask mixture.networks[i].most_probable."
                )
            k = min(4 * k, _MAXIMUM)

    def _over(self, over: tuple[int, ...], case: Case, limit: float | None) -> list[Assignment]:
        """Return the argmax of the joint posterior of the variables in `over` (marginal MAP).

        The whole table of the joint posterior is computed. The list is empty if the evidence is
        impossible.
        """
        model = self.model
        posterior = model._answer(Joint(over), case, limit)
        if posterior is None:
            return []
        best = posterior.argmax if len(over) > 1 else (posterior.argmax,)
        log_value = float(np.log(posterior.probabilities.max())) + posterior.log_evidence
        names = [model.variables[v].name for v in over]
        return [Assignment(dict(zip(names, best, strict=True)), log_value)]

    def _with_means(self, case: Case, limit: float | None, best: Assignment) -> Assignment:
        """Return an assignment extended by the conditional means of the continuous variables.

        They are given the assigned states and the case; `limit` is the memory limit.
        """
        model = self.model
        codes = {model._index_of[n]: model.variable(n).index(state) for n, state in best.items()}
        assigned = Case({**case.hard, **codes}, case.soft)
        values = {
            v.name: model._answer(Joint((index,)), assigned, limit).mean
            for index, v in enumerate(model.variables)
            if isinstance(v, Continuous)
            and index not in case.hard
            # One that cannot be integrated out has a posterior only as a leaf.
            and (v not in model._unmarginalisable or leaves_of(model, [index], assigned.pattern))
        }
        merged = {**best, **values}
        ordered = {v.name: merged[v.name] for v in model.variables if v.name in merged}
        return Assignment(ordered, best.log_probability)


class MixtureDraw(_EnsembleWork):
    """Prepared query for exact draws.

    For each row a network is drawn by its posterior weight, then all variables from that network.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> Taken | None:
        weights = posterior_weights(self.model, case, memory_limit)
        return None if weights is None else Taken(partial(self._take, weights, case, memory_limit))

    def _take(
        self,
        weights: Floats,
        case: Case,
        memory_limit: float | None,
        n: int,
        random: np.random.Generator,
    ) -> dict[Variable, NDArray[Any]]:
        """Return n draws of all unobserved variables, as encoded columns.

        `weights` are the posterior weights of the networks.
        """
        # The number of rows of each network. For n = 0 the likeliest ones give empty columns, whose
        # types are right.
        sizes = random.multinomial(n, weights) if n else (weights == weights.max()).astype(int)
        drawn = [
            answer_of(member, self.question, case, memory_limit).take(
                int(sizes[member.place]) if n else 0, random
            )
            for member in self.members
            if sizes[member.place]
        ]
        # The rows of one network must not follow one another.
        order = random.permutation(n)
        return {v: stacked([columns[v] for columns in drawn])[order] for v in drawn[0]}


class MixtureSlopes(Work):
    """Prepared query for derivatives of a posterior, with respect to the weights too.

    P(target | evidence) is a quotient of two weighted sums over the networks, whose derivatives are
    those of the networks times their weights.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> sensitivity.Sensitivity | None:
        model = self.model
        log_mass = model._answer(Mass(), case, memory_limit)
        if log_mass == -np.inf:
            return None
        # Of each network: P(target, evidence) and P(evidence), over P(evidence) of the mixture, and
        # their derivatives.
        weights, by_network = model.weights, []
        for member in model.all_members:  # the posterior depends on weights of zero too
            member_case, question = member.case(case), member.question(self.question)
            work = member.network._work(question, member_case.pattern, memory_limit)
            by_network.append(work.derivatives(member_case, log_mass, memory_limit))
        # In this unit the weighted sum of P(evidence) is one: the quotient needs no divisor.
        posterior = float(sum(w * d.both for w, d in zip(weights, by_network, strict=True)))
        # By the quotient rule, the derivatives with respect to the weights and to the arrays.
        slopes = np.array([d.both - posterior * d.mass for d in by_network])
        parts = {i: (d, d.slopes(posterior, weights[i])) for i, d in enumerate(by_network)}
        return sensitivity.sensitivity_of(model, self.question, posterior, parts, slopes)


def posterior_weights(model: Any, case: Case, memory_limit: float | None = None) -> Floats | None:
    """Return the posterior weights of the networks, proportional to weight times P(evidence).

    It is zero for networks of weight zero. The result is None if the evidence is impossible in all
    others.
    """
    logs = np.full(len(model.networks), -np.inf)
    logs[[member.place for member in model.members]] = log_masses(model.members, case, memory_limit)
    total = log_sum(logs)
    return None if total == -np.inf else np.exp(logs - total)


def stacked(parts: Sequence[Any]) -> Any:
    """Return the concatenation of several arrays of rows: columns or sparse matrices of counts."""
    return scipy.sparse.vstack(parts, "csr") if is_sparse(parts[0]) else np.concatenate(parts)


# The weights of an average of posteriors are fixed. In a mixture (a weighted mean of joint
# distributions) the weights of the posteriors depend on the evidence instead.


class AverageJoint(_EnsembleWork):
    """Prepared query for a joint posterior: the weighted mean of the networks' posteriors.

    Only networks that have all target variables take part; their weights are normalised.
    """

    def _prepare(self, model: Any) -> None:
        super()._prepare(model)
        targets = self.question.targets
        self._variables = tuple(model.variables[v] for v in targets)
        weights = np.array([member.weight for member in self.members])
        self._weights = weights / weights.sum()
        # If a prior is shifted, the ratios of new to old priors, which multiply the average: an
        # array over the joint states of the targets; else None.
        self._ratio = model.ratio_of(targets)

    def run(self, case: Case, memory_limit: float | None = None) -> Answer | None:
        """Return the average, without a log evidence (NaN); None if all networks rule it out."""
        answers: list[Answer] = []
        targets, refused = self.question.targets, 0
        for member in self.members:
            answer = answer_of(member, self.question, case, memory_limit)
            if answer is None:  # impossible evidence: use the network's prior, as `run_rows` does
                refused += 1
                answer = answer_of(member, self.question, Case({}), memory_limit)
            # With the member's exponents, and over the states of the average's variables.
            if isinstance(answer, Posterior):
                shares = member.spread(targets, member.tempered(targets, answer.probabilities))
                answer = Posterior(self._variables, shares, np.nan)
            # `codes` has the variables whose states differ from those of the average.
            elif not member.codes.keys().isdisjoint(targets):
                raise UnsupportedModelError(
                    f"The networks of this average have different states of "
                    f"{quoted(v.name for v in self._variables)}, so that there is no joint "
                    "posterior with numbers; query one at a time."
                )
            answers.append(answer)
        if refused == len(answers):
            return None
        mean = averaged(answers, self._weights, np.nan)
        if self._ratio is None:
            return mean
        assert isinstance(mean, Posterior)  # all targets are discrete
        shares = mean.probabilities * self._ratio
        total = float(shares.sum())
        return Posterior(self._variables, shares / total, np.nan) if total > 0 else None

    def run_rows(self, rows: Evidence) -> Floats:
        """Return the log of the averaged posterior of the target for each row, unnormalised.

        A network that gives a row probability zero contributes its prior. If all networks do, the
        row's logs are minus infinity.
        """
        groups = different_rows(rows)
        if groups is None:
            return self._run_different(rows)
        different, place = groups
        # Each row gets the logs of the equal row among the different ones. The index is applied to
        # the transpose, because the numbers of a state are contiguous.
        return self._run_different(rows.rows(different)).T[:, place].T

    def _run_different(self, rows: Evidence) -> Floats:
        """Return the logs of `run_rows` for rows of which none, or few, repeat others."""
        (target,), (variable,) = self.question.targets, self._variables
        total = np.zeros((rows.n_rows, variable.cardinality))
        # A member refuses a row if it gives all states of the target probability zero.
        refusals: list[NDArray[np.bool_]] = []
        for weight, member, work in zip(
            self._weights.tolist(), self.members, self.works, strict=True
        ):
            logs = work.run_rows(member.rows(rows))
            # Most often the first state alone shows that no row is refused: none of its logs is
            # minus infinity.
            if np.minimum.reduce(logs[:, 0], initial=0.0) == -np.inf:
                refused = np.isneginf(logs.max(axis=1))
                refusals.append(refused)
                logs[refused] = log_of(member.network.query(variable.name).probabilities)  # prior
            shares = member.spread((target,), member.shares(target, logs))
            shares *= weight
            total += shares
        # Rows that all members refuse can exist only if each refuses some row.
        if len(refusals) == len(self.works):
            total[np.logical_and.reduce(refusals)] = 0.0
        if self._ratio is not None:
            total *= self._ratio
        return log_of(total)


class AverageAll(FactorAll):
    """Prepared query for the posteriors of all unobserved variables, computed on first access."""

    def _log_evidence(self, case: Case, memory_limit: float | None) -> float:
        """Return NaN; minus infinity if the evidence is impossible for all members."""
        model = self.model
        for v in range(len(model.variables)):
            if v not in case.hard:
                # Any variable that can be queried shows whether the evidence is impossible.
                with suppress(UnsupportedModelError):
                    answer = model._answer(Joint((v,)), case, memory_limit)
                    return -np.inf if answer is None else np.nan
        return np.nan


class AverageSlopes(Work):
    """Prepared query for derivatives of a posterior, with respect to the weights too.

    The posterior q is proportional to r * p with p = sum_m u_m p_m and the ratios r of a shifted
    prior (1 by default). Its gradient with respect to p is (r_t 1(c = t) - q_t r_c) / (r . p).
    """

    def run(self, case: Case, memory_limit: float | None = None) -> sensitivity.Sensitivity | None:
        model, (target, state) = self.model, self.question
        members = model.members_with((target,))
        # Of each member the derivatives of each state of the target.
        by_member = [self._derivatives(m, m.case(case), memory_limit) for m in members]
        if all(states[0] is None for states in by_member):
            return None
        nothing = Case({})
        for k, member in enumerate(members):
            # One that the evidence rules out has its prior in the average, as in `AverageJoint`.
            if by_member[k][0] is None:
                by_member[k] = self._derivatives(member, nothing, memory_limit)
        # Of each member over its own states of the target, with its exponent (in the unit of P(e),
        # `both` is the posterior); then over the average's states, shape (n_members, n_states).
        posteriors = [
            member.tempered((target,), np.array([one.both for one in states]))
            for member, states in zip(members, by_member, strict=True)
        ]
        shares = np.array(
            [m.spread((target,), q) for m, q in zip(members, posteriors, strict=True)]
        )
        weights = np.array([member.weight for member in members])
        relative = weights / weights.sum()
        mean = relative @ shares
        ratios = model.ratio_of((target,))
        ratio = np.ones(len(mean)) if ratios is None else ratios
        total = float(ratio @ mean)
        if total <= 0:
            return None
        posterior = float(ratio[state] * mean[state] / total)
        # Of the posterior of the state, with respect to the mean at each state.
        gradient = (np.eye(len(mean))[state] * ratio - posterior * ratio) / total
        parts = {}
        for member, states, q, weight in zip(members, by_member, posteriors, relative, strict=True):
            # With respect to the member's probability of each state of its own target. Row i of the
            # spread identity has the average's shares of the member's state i.
            by_state = weight * (member.spread((target,), np.eye(len(states))) @ gradient)
            terms, exponent = states, member.exponent(target)
            if exponent != 1.0:
                # By the chain rule through prior (posterior / prior)^exponent, normalised: first
                # with respect to its log, then to posterior and prior, which both depend on tables.
                priors = self._derivatives(member, nothing, memory_limit)
                p, prior = (np.array([one.both for one in each]) for each in (states, priors))
                by_log = q * (by_state - by_state @ q)
                by_state = np.concatenate(
                    [exponent * divided(by_log, p), (1.0 - exponent) * divided(by_log, prior)]
                )
                terms = [*states, *priors]
            parts[member.place] = states[0], _added(terms, by_state)
        # The weights are divided by their sum: the derivative of the mean with respect to one of
        # them is (the member's shares - mean) / sum.
        slopes = np.zeros(len(model.weights))
        slopes[[member.place for member in members]] = (shares - mean) @ gradient / weights.sum()
        return sensitivity.sensitivity_of(model, self.question, posterior, parts, slopes)

    def _derivatives(self, member: Any, case: Case, memory_limit: float | None) -> list[Any]:
        """Return the derivatives of each state of the target, of a case of the member."""
        target, network = member.places[self.question.target], member.network
        asked = [Slopes(target, i) for i in range(network.variables[target].cardinality)]
        works = [network._work(question, case.pattern, memory_limit) for question in asked]
        return [work.derivatives(case, None, memory_limit) for work in works]


def _added(parts: Sequence[sensitivity.Derivatives], shares: Floats) -> sensitivity.Arrays:
    """Return the sum of the derivatives of the states' posteriors, each times its share.

    `parts` has the derivatives of one state of the target each, in the unit P(evidence).
    """
    each = [one.slopes(one.both, share) for one, share in zip(parts, shares.tolist(), strict=True)]
    # By name, for each state a tuple of arrays: one of a table, three of a linear Gaussian.
    by_name: dict[Any, list[tuple[Floats, ...]]] = {}
    for slopes in each:
        for name, arrays in slopes.items():
            by_name.setdefault(name, []).append(arrays)
    return {
        name: tuple(np.sum(of_states, axis=0) for of_states in zip(*tuples, strict=True))
        for name, tuples in by_name.items()
    }


class Mixture(Solver):
    """Solver of mixtures: combines the networks' answers by their posterior weights."""

    name = "mixture"
    condition = "a mixture of networks"
    kinds = ("mixture",)
    works: ClassVar = {
        Joint: MixtureJoint,
        All: MixtureAll,
        Mass: MixtureMass,
        Best: MixtureBest,
        Draw: MixtureDraw,
        Sample: MixtureDraw,
        Retractions: sensitivity.FindingRetractions,
        Slopes: MixtureSlopes,
    }

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        targets = getattr(question, "targets", ())
        if isinstance(question, Best):
            # The means of continuous variables are queried from the whole mixture afterwards.
            question = Best(question.over)
        elif isinstance(question, Slopes):
            # Networks may lack the state, of which plans take no notice.
            targets, question = (question.target,), Slopes(question.target, 0)
        parts = tuple(
            member.network._plan_of(member.question(question), member.pattern(pattern))
            for member in model.members_with(targets)
        )
        keep = () if isinstance(question, Slopes) else targets
        return Plan(keep=tuple(model.variables[v] for v in keep), parts=parts)


class Average(Mixture):
    """Solver of averages: the mean of the networks' posteriors, with fixed weights."""

    name = "average"
    condition = "an average of posteriors with fixed weights"
    kinds = ("average",)
    works: ClassVar = {Joint: AverageJoint, All: AverageAll}


class AverageDerivatives(Average):
    """Solver of derivatives of averages, if all networks have derivatives."""

    name = "average of derivatives"
    condition = "an average of posteriors of networks and factor graphs of tables"
    works: ClassVar = {Slopes: AverageSlopes}

    def serves(self, model: Any) -> bool:
        return super().serves(model) and all(
            member.network._kind == "product" and member.network._answers(Slopes)
            for member in model.members
        )
