"""The solver of mixtures: each network answers the query, and the answers are combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.checks import is_sparse
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import (
    All,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Pattern,
    Question,
    Retractions,
    Sample,
    Slopes,
    Solver,
    Taken,
    Work,
)
from bayesgraph.inference.factor_solver import lazy_marginals, leaves_of
from bayesgraph.inference.mixture.assignments import best_assignments
from bayesgraph.inference.mixture.averages import Answer, log_sum, mixed
from bayesgraph.inference.mixture.rows import RowSum, Sums, stacked_codes, sums_of
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.results import Assignment, Marginals
from bayesgraph.inference.retractions import SingleRetractions
from bayesgraph.inference.sensitivity import (
    Derivatives,
    Sensitivity,
    proportional,
    sensitivity_of_parts,
)
from bayesgraph.variables import Continuous, Discrete, Name, Variable


class Part:
    """A network of a mixture, with its prior weight and its own indices of the variables.

    Attributes
    ----------
    place : int
        Index of the network in the mixture.
    log_weight : float
    network : model
    places : mapping from int to int, or None
        Index in the network of each variable, by index in the mixture; None if all are equal.
    """

    def __init__(self, model: Any, place: int, log_weight: float) -> None:
        network = model.networks[place]
        self.place = place
        self.log_weight = log_weight
        self.network = network
        self.places: Mapping[int, int] | None = None
        if network.variables != model.variables:
            number = network.number
            self.places = {v: number[x.name] for v, x in enumerate(model.variables)}

    def numbers(self, variables: Sequence[int]) -> tuple[int, ...]:
        """Return the network's indices of variables, given their indices in the mixture."""
        places = self.places
        return tuple(variables) if places is None else tuple(places[v] for v in variables)

    def question(self, question: Any) -> Question:
        """Return the query with the variables re-indexed to the network."""
        if isinstance(question, Joint):
            return question._replace(targets=self.numbers(question.targets))
        if isinstance(question, Best) and question.over is not None:
            return question._replace(over=self.numbers(question.over))
        if isinstance(question, Slopes):
            return question._replace(target=self.numbers([question.target])[0])
        found: Question = question
        return found

    def pattern(self, pattern: Pattern) -> Pattern:
        """Return the pattern (variables with evidence), re-indexed to the network."""
        if self.places is None:
            return pattern
        observed, soft = self.numbers(pattern.observed), self.numbers(pattern.soft)
        return Pattern(tuple(sorted(observed)), tuple(sorted(soft)), pattern.rows)

    def run(self, question: Question, case: Case, memory_limit: float | None) -> Any:
        """Return the network's own answer to a query given the evidence of one case.

        Query and case use the mixture's indices of variables.
        """
        own = case.renumbered(self.places)
        work = self.network.work(self.question(question), own.pattern, memory_limit)
        return work.run(own, memory_limit)


def parts_of(model: Any) -> list[Part]:
    """Return the networks of a mixture that have a positive weight."""
    weights = enumerate(model.weights.tolist())
    found: list[Part] = model.memo.get(
        "parts", lambda: [Part(model, i, float(np.log(w))) for i, w in weights if w > 0]
    )
    return found


def log_masses(parts: Sequence[Part], case: Case, memory_limit: float | None = None) -> Floats:
    """Return log(prior weight) + log P(evidence) of each network."""
    return np.array([p.log_weight + p.run(Mass(), case, memory_limit) for p in parts])


class _MixtureWork(Work):
    def _begin(self, model: Any) -> None:
        self.parts = parts_of(model)


class MixtureMass(_MixtureWork):
    """Prepared query for log P(evidence): the log of the weighted sum over the networks."""

    def _run(self, case: Case, memory_limit: float | None) -> float:
        return log_sum(log_masses(self.parts, case, memory_limit))

    def _run_rows(self, rows: Evidence) -> Floats:
        return np.ascontiguousarray(_row_logs(self.model, self.parts, None, rows)[:, 0])


class MixtureJoint(_MixtureWork):
    """Prepared query for a joint posterior.

    It is the mean of the networks' posteriors, weighted by the networks' posterior weights.
    """

    def _run(self, case: Case, memory_limit: float | None) -> Answer | None:
        found = [(p.log_weight, p.run(self.question, case, memory_limit)) for p in self.parts]
        possible = [(weight, answer) for weight, answer in found if answer is not None]
        if not possible:
            return None
        weights, answers = zip(*possible, strict=True)
        return mixed(answers, np.array(weights))

    def _run_rows(self, rows: Evidence) -> Floats:
        (target,) = self.question.targets
        return _row_logs(self.model, self.parts, target, rows)


class MixtureAll(_MixtureWork):
    """Prepared query for the posteriors of all unobserved variables, computed on first access."""

    def _run(self, case: Case, memory_limit: float | None) -> Marginals | None:
        model, pattern = self.model, self.pattern
        log_evidence = log_sum(log_masses(self.parts, case, memory_limit))
        if log_evidence == -np.inf:
            return None
        return lazy_marginals(model, pattern, case, log_evidence, memory_limit)


class MixtureBest(_MixtureWork):
    """Prepared query for the most probable assignments, found from those of each network."""

    def _run(self, case: Case, memory_limit: float | None) -> Taken:
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
        log_weights = np.array([part.log_weight for part in self.parts])
        first = partial(_best_of, self.parts, case, memory_limit)
        found = best_assignments(k, first, log_weights, partial(self._log_probabilities, case))
        if not question.means:
            return found
        return [self._with_means(case, memory_limit, best) for best in found]

    def _over(self, over: tuple[int, ...], case: Case, limit: float | None) -> list[Assignment]:
        """Return the argmax of the joint posterior of the variables in `over` (marginal MAP).

        The whole table of the joint posterior is computed. The list is empty if the evidence is
        impossible.
        """
        model = self.model
        posterior = model.work(Joint(over), case.pattern, limit).run(case, limit)
        if posterior is None:
            return []
        best = posterior.argmax if len(over) > 1 else (posterior.argmax,)
        log_value = float(np.log(posterior.probabilities.max())) + posterior.log_evidence
        names = [model.variables[v].name for v in over]
        return [Assignment(dict(zip(names, best, strict=True)), log_value)]

    def _with_means(self, case: Case, limit: float | None, best: Assignment) -> Assignment:
        """Return an assignment extended by the conditional means of the continuous variables."""
        model = self.model
        codes = {model.number[name]: _code(model, name, state) for name, state in best.items()}
        known = Case({**case.hard, **codes}, case.soft)
        values = {
            v.name: model.work(Joint((number,)), known.pattern, limit).run(known, limit).mean
            for number, v in enumerate(model.variables)
            if isinstance(v, Continuous)
            and number not in case.hard
            and (v not in model.silent or leaves_of(model, [number], known.pattern))
        }
        merged = {**best, **values}
        order = [v.name for v in model.variables if v.name in merged]
        return Assignment({name: merged[name] for name in order}, best.log_probability)

    def _log_probabilities(
        self, case: Case, names: tuple[Name, ...], values: list[tuple[Any, ...]]
    ) -> Floats:
        model = self.model
        row = case.evidence(model.variables)
        columns = {v: np.repeat(c, len(values), axis=0) for v, c in row.columns.items()}
        for name, column in zip(names, zip(*values, strict=True), strict=False):
            variable = model.variables[model.number[name]]
            columns[variable] = np.array([_code(model, name, value) for value in column])
        rows = Evidence(len(values), columns, row.likelihoods)
        return np.ascontiguousarray(_row_logs(model, self.parts, None, rows)[:, 0])


def _code(model: Any, name: Name, state: Any) -> int:
    code: int = model.variables[model.number[name]].index(state)
    return code


def _best_of(
    parts: Sequence[Part], case: Case, memory_limit: float | None, k: int
) -> list[list[Assignment]]:
    """Return for each network a list of its k most probable assignments, best first.

    The list of a network is empty if the evidence is impossible in it.
    """
    found = [part.run(Best(), case, memory_limit) for part in parts]
    return [[] if best is None else best.take(k) for best in found]


class MixtureDraw(_MixtureWork):
    """Prepared query for exact draws.

    For each row a network is drawn by its posterior weight, then all variables from that network.
    """

    def _run(self, case: Case, memory_limit: float | None) -> Taken | None:
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
        sizes = random.multinomial(n, weights) if n else (weights == weights.max()).astype(int)
        drawn = [
            part.run(self.question, case, memory_limit).take(
                int(sizes[part.place]) if n else 0, random
            )
            for part in self.parts
            if sizes[part.place]
        ]
        order = random.permutation(n)
        return {v: _joined([part[v] for part in drawn])[order] for v in drawn[0]}


class MixtureSlopes(Work):
    """Prepared query for derivatives of a posterior, with respect to the weights too.

    P(target | evidence) is a quotient of two weighted sums over the networks, whose derivatives are
    those of the networks times their weights.
    """

    def _begin(self, model: Any) -> None:
        # Those of weight zero too: the posterior depends on their weight.
        self.parts = [Part(model, place, -np.inf) for place in range(len(model.networks))]

    def _run(self, case: Case, memory_limit: float | None) -> Sensitivity | None:
        model, (target, state) = self.model, self.question
        log_mass = model.work(Mass(), self.pattern, memory_limit).run(case, memory_limit)
        if log_mass == -np.inf:
            return None
        found = [self._of_part(part, case, log_mass, memory_limit) for part in self.parts]
        weights = model.weights
        posterior = float(sum(w * own.both for w, own in zip(weights, found, strict=True)))
        slopes = np.array([own.both - posterior * own.mass for own in found])
        parts = {i: (own, own.slopes(posterior, weights[i])) for i, own in enumerate(found)}
        variable = model.variables[target]
        return sensitivity_of_parts(
            variable, state, posterior, parts, proportional(slopes, weights)
        )

    def _of_part(
        self, part: Part, case: Case, log_unit: float, memory_limit: float | None
    ) -> Derivatives:
        own = case.renumbered(part.places)
        work = part.network.work(part.question(self.question), own.pattern, memory_limit)
        found: Derivatives = work.derivatives(own, log_unit, memory_limit)
        return found


def posterior_weights(model: Any, case: Case, memory_limit: float | None = None) -> Floats | None:
    """Return the posterior weights of the networks, proportional to weight times P(evidence).

    The result is None if the evidence is impossible in all networks.
    """
    parts = parts_of(model)
    logs = np.full(len(model.networks), -np.inf)
    logs[[part.place for part in parts]] = log_masses(parts, case, memory_limit)
    total = log_sum(logs)
    return None if total == -np.inf else np.exp(logs - total)


def _joined(parts: list[Any]) -> Any:
    """Return the concatenation of several arrays of rows: columns or sparse matrices of counts."""
    return scipy.sparse.vstack(parts, "csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _row_logs(model: Any, parts: Sequence[Part], target: int | None, evidence: Evidence) -> Floats:
    """Return log P(target = state, row), shape (n_rows, n_states).

    Without a target, return log P(row), shape (n_rows, 1).
    """
    chosen = None if target is None else model.variables[target]
    found = RowSum(1 if chosen is None else chosen.cardinality, evidence.n_rows)
    discrete = [v for v, x in enumerate(model.variables) if isinstance(x, Discrete) and v != target]
    plain = not evidence.likelihoods and (chosen is None or chosen not in evidence)
    all_sums = _sums(model, parts, target, discrete) if plain else [None] * len(parts)
    codes = None
    if any(sums is not None for sums in all_sums):
        codes = stacked_codes(evidence, [model.variables[v] for v in discrete])
    complete = codes is not None and int(codes.min(initial=0)) >= 0
    question = Mass() if target is None else Joint((target,))
    for part, sums in zip(parts, all_sums, strict=True):
        rows: NDArray[np.intp] | slice = slice(None)
        if sums is not None and codes is not None:
            rows = found.add_sums(sums, part.log_weight, codes, complete=complete)
            if not len(rows):
                continue
        left = evidence if isinstance(rows, slice) else evidence.rows(rows)
        own = part.network.number
        pattern = Pattern(
            tuple([own[v.name] for v in left.columns]),
            tuple([own[v.name] for v in left.likelihoods]),
            rows=True,
        )
        logs = part.network.work(part.question(question), pattern).run_rows(left)
        found.add(rows, logs.reshape(left.n_rows, -1).T + part.log_weight)
    return found.logs()


def _sums(
    model: Any, parts: Sequence[Part], target: int | None, columns: Sequence[int]
) -> Sequence[Sums | None]:
    def make() -> tuple[Sums | None, ...]:
        return tuple(
            None
            if part.network.compiled is None
            else sums_of(
                part.network.compiled.tables,
                None if target is None else part.numbers([target])[0],
                part.numbers(columns),
            )
            for part in parts
        )

    found: tuple[Sums | None, ...] = model.memo.get(("sums", target), make)
    return found


class Mixture(Solver):
    """Solver of mixtures: combines the networks' answers by their posterior weights."""

    name = "mixture"
    condition = "a mixture of networks"
    form = "mixture"
    works: ClassVar = {
        Joint: MixtureJoint,
        All: MixtureAll,
        Mass: MixtureMass,
        Best: MixtureBest,
        Draw: MixtureDraw,
        Sample: MixtureDraw,
        Retractions: SingleRetractions,
        Slopes: MixtureSlopes,
    }

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        if isinstance(question, Best):
            # The means of continuous variables are queried from the whole mixture afterwards.
            question = Best(question.over)
        parts = tuple(
            part.network.plan_of(part.question(question), part.pattern(pattern))
            for part in parts_of(model)
        )
        targets = getattr(question, "targets", ())
        return Plan(keep=tuple(model.variables[v] for v in targets), parts=parts)
