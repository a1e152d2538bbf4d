"""What is asked for: the target, the questions that may be asked, their prices, and the measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, EvidenceError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.inference import All, Case, Joint, normalised_if_possible, refused
from bayesgraph.models import Model
from bayesgraph.questions.estimators import discrete_target
from bayesgraph.questions.measures import DecisionRule, cost_matrix

# ---- What a question is worth: the information that its answer brings, and the gain of a decision
# Let t be a state of the target, e the evidence, and x an answer, whose probability is P(x | e).
# Both measures compare the posterior after the answer with the one before, and take the mean over
# the answers:
#
#     information = sum_x P(x | e) sum_t P(t | e, x) log(P(t | e, x) / P(t | e))
#     gain        = sum_x P(x | e) [L_x(d) - min_d' L_x(d')],  L_x(d) = sum_t P(t | e, x) loss(t, d)
#
# where d is the decision of minimum expected loss before the answer. In a joint distribution the
# information is the mutual information of target and answer given the evidence (Lindley 1956), and
# the gain is the expected value of sample information (Raiffa and Schlaifer 1961, section 4.5).
#
# In weighted networks and averages of posteriors the mean of the posteriors after the answer is not
# the posterior before, so that a difference of entropies, or of expected losses, could be negative
# for an answer that changes much. The two measures are never negative, and zero if no answer
# changes the posterior, or the decision.


# ---- What is asked for: the target, the questions that may be asked, their prices, and the measure


MEASURES = ("information", "accuracy", "utility")
# Worths below this are rounding errors.
NOTHING = 1e-12


class Options(TypedDict, total=False):
    """Options of the terms, as the parameters of `next_question`."""

    costs: Mapping[Name, float] | None
    among: Iterable[Name] | None
    by: str | None
    losses: Any
    abstain: float | None
    least: float | None


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms on which questions are ranked.

    Attributes
    ----------
    target : int
        Index of the target.
    variable : Discrete
        The target.
    candidates : tuple of int
        Indices of the variables that may be asked for.
    prices : mapping from int to float
        Price of each candidate.
    by : {"information", "accuracy", "utility"}
    losses : ndarray, shape (n_states, n_decisions)
        ``losses[t, d]`` is the loss of decision d if t is the state: a decision for each state, and
        perhaps one more, to abstain. Without other losses each mistake costs 1, so that gains are
        gains of accuracy.
    least : float
        Worth per price above which a question is worth asking.
    is_priced : bool
        Whether prices were given.
    is_chosen : bool
        Whether the candidates were named, so that none is left out silently.
    """

    target: int
    variable: Discrete
    candidates: tuple[int, ...]
    prices: Mapping[int, float]
    by: str
    losses: Floats
    least: float
    is_priced: bool
    is_chosen: bool

    @classmethod
    def of(
        cls,
        model: Model,
        target: Name,
        costs: Mapping[Name, float] | None = None,
        among: Iterable[Name] | None = None,
        by: str | None = None,
        losses: Any = None,
        abstain: float | None = None,
        least: float | None = None,
    ) -> Terms:
        """Return the terms for the arguments of `next_question`."""
        if not model._answers(Joint):
            raise refused(model, Joint)
        variable = discrete_target(model, target, "Questions are ranked for a")
        number = model._index_of[variable.name]
        prices = None if costs is None else _prices(model, costs)
        chosen = _chosen(model, number, among, prices)
        is_decided = losses is not None or abstain is not None
        measure = ("utility" if is_decided else "information") if by is None else by
        if measure not in MEASURES:
            raise DataError(f"by= is one of {quoted(MEASURES)}; got {by!r}.")
        if measure == "utility" and not is_decided:
            raise DataError("by='utility' takes losses=, the costs of decisions, or abstain=.")
        if measure == "accuracy" and is_decided:
            raise DataError(
                "by='accuracy' counts every mistake as 1; leave out losses= and abstain=, or rank "
                "by 'utility'."
            )
        matrix = cost_matrix({} if losses is None else losses, variable, "losses")
        if abstain is not None:
            price = DecisionRule.of(variable.states, abstain=abstain).abstain
            matrix = np.column_stack([matrix, np.full(len(matrix), price)])
        is_priced = prices is not None
        usual = 1.0 if measure == "utility" and is_priced else 0.0
        limit = usual if least is None else checked_number("least=", least)
        prices = dict.fromkeys(chosen, 1.0) if prices is None else prices
        is_chosen = among is not None or is_priced
        return cls(number, variable, chosen, prices, measure, matrix, limit, is_priced, is_chosen)

    def worth(self, before: Floats, joint: Floats) -> tuple[Floats, Floats]:
        """Return the share of each answer in the information (nats) and in the gain of a question.

        Parameters
        ----------
        before : ndarray, shape (..., 1, n_states)
            P(t | e).
        joint : ndarray, shape (..., n_answers, n_states)
            P(x | e) P(t | e, x).

        Returns
        -------
        information, gain : ndarray, shape (..., n_answers)
        """
        # Sums over few states are quicker as products of matrices.
        ones = np.ones(joint.shape[-1])
        apart = (joint @ ones)[..., None] * before
        ratio = np.divide(joint, apart, out=np.ones_like(joint), where=apart > 0)
        # A ratio that underflows has a term of zero too.
        information = (joint * np.log(np.where(ratio > 0, ratio, 1.0))) @ ones
        usual = np.argmin(before @ self.losses, axis=-1)
        kept = (joint * self.losses.T[usual]) @ ones
        return information, kept - (self.losses.T @ joint.swapaxes(-1, -2)).min(axis=-2)

    def bounds(self, before: Floats) -> tuple[float, float]:
        """Return what answers with all of the probability contribute to both measures at most.

        Parameters
        ----------
        before : ndarray, shape (n_states,)
        """
        return -float(np.log(before[before > 0].min())), float(np.ptp(self.losses))

    def values(self, information: Floats, gain: Floats) -> Floats:
        """Return the measure that ranks the questions."""
        return information if self.by == "information" else gain

    def scores(self, values: Floats, prices: Floats) -> Floats:
        """Return values per price; what has a value and no price has an infinite score."""
        free = np.where(values > NOTHING, np.inf, 0.0)
        return np.divide(values, prices, out=free, where=prices > 0)

    def ordered(self, scores: Floats) -> NDArray[np.intp]:
        """Return the places of scores from the highest on, ties in the order of the candidates."""
        return np.argsort(-scores.round(12), kind="stable")

    def is_worth_it(self, score: float) -> bool:
        """Tell whether a question with this score is worth asking."""
        return score > self.least + NOTHING


def checked_number(what: str, value: Any) -> float:
    """Return a number that is finite and not negative, or raise a DataError."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not 0 <= value < np.inf:
        raise DataError(f"{what} is a finite number, 0 or more; got {value!r}.")
    return float(value)


def _prices(model: Model, costs: Any) -> dict[int, float]:
    if not isinstance(costs, Mapping):
        raise DataError(
            "costs= maps variables that may be asked for to their prices, such as {'xray': 20}; "
            f"got {costs!r:.80}."
        )
    return {
        model._index_of[model.variable(name).name]: checked_number(f"The price of {name!r}", price)
        for name, price in costs.items()
    }


def _chosen(
    model: Model, target: int, among: Any, prices: Mapping[int, float] | None
) -> tuple[int, ...]:
    """Return the candidates: those that are named, or that have a price, or all variables.

    Whether a value is missing is no question, unless it is named.
    """
    if among is None:
        indicators = {i for _, i in model._indicators}
        named = set(range(len(model.variables))) - indicators if prices is None else prices
        chosen = sorted(v for v in named if v != target)
        if prices and not chosen:
            name = model.variables[target].name
            raise EvidenceError(
                f"costs= has a price of {name!r} alone, the target, which cannot be asked for; "
                "give prices of other variables."
            )
        return tuple(chosen)
    if isinstance(among, (str, bytes)) or not isinstance(among, Iterable):
        raise EvidenceError(f"among= is a list of names of variables; got {among!r:.80}.")
    chosen = sorted({model._index_of[model.variable(name).name] for name in among})
    if target in chosen:
        raise EvidenceError(
            f"{model.variables[target].name!r} is the target, and cannot be asked for; leave it "
            "out of among=."
        )
    without = [model.variables[v].name for v in chosen if prices is not None and v not in prices]
    if without:
        raise DataError(f"costs= has no price of {quoted(without)}, named in among=.")
    return tuple(chosen)


# ---- The possible answers of questions: their probabilities, and the posterior after each of them
# The answers of a candidate x and the states t of the target form a table P(x | e) P(t | e, x).
# Where the model is a joint distribution this is P(t, x | e). In a product of tables, one
# propagation for each state of the target gives it for all candidates. Any other model is asked for
# the posterior of the target in one batch of rows for each candidate, a row for each answer.
#
# A weighted network and an average of posteriors are no joint distributions: P(x | e) and P(t | e,
# x) are both their own answers.


def by_propagation(model: Model, target: int, case: Case) -> tuple[Floats, dict[int, Floats]]:
    """Return P(t | e) and the tables of all free variables, for a product of tables.

    The tables P(x | e) P(t | e, x) have shape (n_answers, n_states). If the evidence has
    probability zero, there are none, and P(t | e) is zeros.
    """
    assert model._compiled is not None  # callers have checked it
    cards = model._compiled.tables.cards
    hard, soft = case.without(target)[:2]
    cases = [Case({**hard, target: s}, soft) for s in range(int(cards[target]))]
    work = model._work(All(), cases[0].pattern)
    answers = [work.run(one) for one in cases]
    logs = np.array([-np.inf if m is None else m.log_evidence for m in answers])
    posterior = normalised_if_possible(logs[None] + case.soft.get(target, 0.0))[0]
    if not posterior.any():
        return posterior, {}
    free = [v for v in range(len(cards)) if v not in cases[0].hard]
    by_state = [np.zeros(int(cards[free].sum())) if m is None else m.flat for m in answers]
    joint = np.ascontiguousarray(np.array(by_state).T) * posterior
    return posterior, dict(zip(free, np.split(joint, np.cumsum(cards[free])), strict=False))


def posterior_rows(model: Model, target: Discrete, rows: Evidence) -> Floats:
    """Return the posterior of each row, shape (n_rows, n_states); zeros if a row is impossible."""
    return normalised_if_possible(model._log_posterior_rows(target, rows))


def joint_rows(model: Model, target: Discrete, candidate: Discrete, rows: Evidence) -> Floats:
    """Return P(x | row) P(t | row, x) of the states of a candidate x.

    Values that rows have of the candidate are ignored.

    Returns
    -------
    ndarray, shape (n_rows, n_answers, n_states)
        Zeros for impossible rows.

    Raises
    ------
    UnsupportedModelError
        If an average has no posterior of the candidate.
    """
    rows = rows.without([candidate])
    shape = rows.n_rows, candidate.cardinality, target.cardinality
    answered = with_values(rows, candidate, np.arange(candidate.cardinality))
    logs = model._log_posterior_rows(target, answered)
    if model._is_joint:
        logs = logs.reshape(shape) + rows.likelihoods.get(candidate, np.zeros((1, 1)))[..., None]
        return normalised_if_possible(logs.reshape(rows.n_rows, -1)).reshape(shape)
    joint = normalised_if_possible(logs).reshape(shape)
    joint = joint * posterior_rows(model, candidate, rows)[..., None]
    # An answer that no member of an average thinks possible is no answer.
    total = joint.sum(axis=(1, 2), keepdims=True)
    return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))


def with_values(rows: Evidence, variable: Variable, values: NDArray[Any]) -> Evidence:
    """Return each row once for each value of a variable, which takes the place of likelihoods."""
    copies = rows.rows(np.repeat(np.arange(rows.n_rows), len(values)))
    columns = {**copies.columns, variable: np.tile(values, rows.n_rows)}
    soft = {v: logs for v, logs in copies.likelihoods.items() if v != variable}
    return Evidence(copies.n_rows, columns, soft)
