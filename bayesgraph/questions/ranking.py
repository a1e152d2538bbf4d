"""The questions that can be asked next, ranked by their worth, and sessions of questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention, TableLike
from bayesgraph.core.variables import Discrete, Name, is_missing
from bayesgraph.inference import All, Case, Posterior
from bayesgraph.models import Model, as_mapping, evidence_rows, impossible, under, with_findings
from bayesgraph.questions.asking import (
    NOTHING,
    Options,
    Terms,
    by_propagation,
    checked_number,
    joint_rows,
    posterior_rows,
    with_values,
)
from bayesgraph.questions.estimators import question
from bayesgraph.questions.number_answers import RANKS, typical_answers, worth_of_number

# -------------------- The questions that can be asked next, ranked by what their answers are worth


_MAX_LINES = 20
# Number of rows and answers that are asked for together, and of rows of tables that are propagated
# one by one.
_TOGETHER, _FEW = 2**15, 32


class RankedQuestion(NamedTuple):
    """What it is worth to ask for one variable.

    Attributes
    ----------
    name : name
        The variable.
    information : float
        Expected information about the target, in nats.
    gain : float
        Expected gain of the decision about the target: of accuracy, or by losses that were given.
    cost : float
        Price; 1 if no prices were given.
    score : float
        What ranks the questions: worth per price.
    error : float
        Estimate of the absolute error of information and gain: 0 for sums, that of the integral for
        a number.
    """

    name: Name
    information: float
    gain: float
    cost: float
    score: float
    error: float


@dataclass(frozen=True, eq=False, repr=False)
class NextQuestion(Displayed, Mapping[Name, RankedQuestion]):
    """The questions that can be asked next, best first: a mapping from name to `RankedQuestion`.

    Attributes
    ----------
    posterior : Posterior
        Of the target, before the question.
    by : {"information", "accuracy", "utility"}
        The measure that ranks.
    names : tuple of names
        From the highest score to the lowest; ties in the order of the model's variables.
    information, gain, costs, scores, errors : ndarray, shape (n_questions,)
        The attributes of `questions` as arrays.
    best : name or None
        The first question, None if it is not worth its price.
    refused : mapping from name to str
        Why variables are not ranked.
    is_priced : bool
        Whether prices were given.
    ahead : {1, 2}
        Whether scores are those of a question alone, or with the best second one.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> ill = bg.Discrete("ill", ["no", "yes"])
    >>> fever, test = bg.Discrete("fever", ["no", "yes"]), bg.Discrete("test", ["-", "+"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(ill, [0.7, 0.3]),
    ...     bg.TableCPD(fever, [[0.8, 0.2], [0.4, 0.6]], parents=[ill]),
    ...     bg.TableCPD(test, [[0.95, 0.05], [0.1, 0.9]], parents=[ill]),
    ... ])
    >>> net.ask.next_question("ill", costs={"fever": 1, "test": 20})
    Next question about ill: information per cost
             information (nats)    gain  cost   score
      fever              0.0747  0.0400     1  0.0747  ████████████████████████
      test               0.3786  0.2350    20  0.0189  ██████
    """

    posterior: Posterior
    by: str
    names: tuple[Name, ...]
    information: Floats
    gain: Floats
    costs: Floats
    scores: Floats
    errors: Floats
    best: Name | None
    refused: Mapping[Name, str] = field(default_factory=dict)
    is_priced: bool = False
    ahead: int = 1

    @cached_property
    def questions(self) -> tuple[RankedQuestion, ...]:
        """The questions from the highest score to the lowest."""
        columns = self.information, self.gain, self.costs, self.scores, self.errors
        rows = zip(self.names, *(column.tolist() for column in columns), strict=True)
        return tuple(map(RankedQuestion._make, rows))

    @cached_property
    def _by_name(self) -> dict[Name, RankedQuestion]:
        return {question.name: question for question in self.questions}

    def __getitem__(self, name: Name) -> RankedQuestion:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            where = "The ranking of questions"
            raise errors.unknown_variable(name, self._by_name, where=where) from None

    def __iter__(self) -> Iterator[Name]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _display(self) -> DisplayTable:
        shown = self.questions[:_MAX_LINES]
        top = max((q.score for q in shown if np.isfinite(q.score)), default=0.0) or 1.0
        is_scored = self.is_priced or self.ahead > 1
        header = ["", "information (nats)", "gain", *["cost"] * self.is_priced]
        header += ["score"] * is_scored
        rows = [
            [
                *(str(q.name), f"{q.information:.4f}", f"{q.gain:.4f}"),
                *[rounded(q.cost, 6)] * self.is_priced,
                *[f"{q.score:.4f}"] * is_scored,
            ]
            for q in shown
        ]
        notes = [more(len(self), len(shown), "questions")]
        if (largest := float(self.errors.max(initial=0.0))) > 1e-6:
            notes.append(f"errors of integrals below {rounded(largest, 1)}")
        if self.best is None:
            notes.append(f"nothing is worth {'its price' if self.is_priced else 'asking'}")
        notes += [f"not ranked: {name}. {reason}" for name, reason in self.refused.items()]
        return DisplayTable(
            f"Next question about {self.posterior.names[0]}: {self.by}"
            f"{' per cost' if self.is_priced else ''}"
            f"{', two questions ahead' if self.ahead > 1 else ''}",
            rows,
            header=header if rows else (),
            bars=[min(1.0, q.score / top) for q in shown],
            note="\n".join(note for note in notes if note),
        )


@dataclass(frozen=True, eq=False, repr=False)
class NextQuestions(Displayed):
    """The questions that can be asked next, for each row of a table.

    Attributes
    ----------
    names : tuple of names
        The variables that may be asked for.
    information, gain, scores, errors : ndarray, shape (n_rows, n_names)
        As in `RankedQuestion`; NaN where a row has the variable, or is impossible.
    costs : ndarray, shape (n_names,)
    posterior : ndarray, shape (n_rows, n_states)
        Of the target, before the question; zeros in impossible rows.
    terms : Terms
    refused : mapping from name to str
        Why variables are not ranked.
    """

    names: tuple[Name, ...]
    information: Floats
    gain: Floats
    scores: Floats
    errors: Floats
    costs: Floats
    posterior: Floats
    terms: Terms
    refused: dict[Name, str]

    @cached_property
    def best(self) -> list[Name | None]:
        """The best question of each row; None if none is worth its price."""
        if not self.names:
            return [None] * len(self.scores)
        scores = np.where(np.isnan(self.scores), -1.0, self.scores)
        places = np.argmax(np.round(scores, 12), axis=1)
        top = scores[np.arange(len(scores)), places]
        return [
            self.names[place] if self.terms.is_worth_it(score) else None
            for place, score in zip(places.tolist(), top.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.scores)

    def _display(self) -> DisplayTable:
        counted = Counter(self.best).most_common()
        rows = [("nothing" if n is None else str(n), f"{count:,}") for n, count in counted]
        bars = [count / max(len(self), 1) for _, count in counted]
        return DisplayTable(
            f"Next question of {len(self):,} rows, by {self.terms.by}", rows, bars=bars
        )


@question(All)
def next_question(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    *,
    costs: Mapping[Name, float] | None = None,
    among: Iterable[Name] | None = None,
    by: str | None = None,
    losses: Any = None,
    abstain: float | None = None,
    least: float | None = None,
    ahead: int = 1,
    do: Intervention = None,
) -> NextQuestion:
    """Return the variables to ask for next, ranked by what their answers are worth.

    Information is the expected relative entropy of the posterior after the answer and the one
    before, the mutual information in a joint distribution; gain is the expected gain of the
    decision about the target. See :mod:`bayesgraph.questions.asking`.

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        A discrete variable. By default the class of the estimator.
    evidence : mapping from name to value, optional
        As in `query`.
    costs : mapping from name to price, optional
        Prices of the variables that may be asked for; what is worth most per price comes first.
        Without prices each costs 1.
    among : iterable of names, optional
        The variables that may be asked for: by default those that have a price, or all.
        Variables that are observed are left out.
    by : {"information", "accuracy", "utility"}, optional
        What ranks: the information in nats, the gain of accuracy, or what is saved of `losses`.
        By default the last if there are losses or a price of abstaining, else the first.
    losses : array_like or mapping, optional
        Costs of decisions, as the argument `costs` of the classifiers' method `decide`.
    abstain : float, optional
        Cost of abstaining, as for `decide`.
    least : float, optional
        Worth per price above which a question is worth asking: by default 1 if losses and
        prices are given, which are then in one unit, else 0.
    ahead : {1, 2}
        With 2, the worth of a question includes the best second question after each answer,
        which takes a ranking for each; nine quantiles stand for the answers of a number.
    do : mapping from name to value, optional
        Variables that are set from outside, whatever their parents; see `do`. The answers are those
        after the intervention.

    Returns
    -------
    NextQuestion
        A mapping from name to its worth, best first, with the attribute `best`.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError, DataError
        For unknown names or states, or invalid arguments.
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        If a variable that is named has no answers to try; others are listed in `refused`.
    """
    asked, evidence = under(model, do, evidence) if do else (model, evidence)
    terms = Terms.of(asked, target, costs, among, by, losses, abstain, least)
    return ranked(asked, terms, evidence, ahead)


def ranked(model: Model, terms: Terms, evidence: EvidenceLike, ahead: int = 1) -> NextQuestion:
    """Return the candidates that are not observed, ranked on some terms."""
    ahead = whole_number("ahead", "questions", ahead, 1)
    if ahead > 2:
        raise errors.DataError(f"ahead= is 1 or 2 questions; got {ahead}.")
    model, evidence = with_findings(model, as_mapping(evidence))
    rows, variable = model._encode(evidence), terms.variable
    if variable in rows:
        raise errors.EvidenceError(
            f"{variable.name!r} is both the target and observed; leave it out of one of them."
        )
    table = ranked_rows(model, terms, rows)
    if not table.posterior.any():
        raise impossible(evidence)
    places = np.flatnonzero(~np.isnan(table.information[0]))
    scores = table.scores[0, places]
    if ahead == 2:
        pairs = [_score_of_pairs(model, terms, rows, table, at) for at in places.tolist()]
        scores = np.array(pairs)
    # From the highest score on, ties in the order of the candidates.
    order = np.argsort(-scores.round(12), kind="stable")
    places, scores = places[order], scores[order]
    names = tuple([table.names[place] for place in places.tolist()])
    return NextQuestion(
        Posterior((variable,), table.posterior[0], np.nan),
        terms.by,
        names,
        table.information[0, places],
        table.gain[0, places],
        table.costs[places],
        scores,
        table.errors[0, places],
        names[0] if names and terms.is_worth_it(float(scores[0])) else None,
        table.refused,
        terms.is_priced,
        ahead,
    )


def ranked_rows(model: Model, terms: Terms, rows: Evidence) -> NextQuestions:
    """Return the worth of the candidates in each row that does not observe them."""
    tables = None
    if model._compiled is not None and rows.n_rows <= _FEW:
        cases = [_case(model, rows, row) for row in range(rows.n_rows)]
        tables = [by_propagation(model, terms.target, case) for case in cases]
        before = np.array([posterior for posterior, _ in tables])
        before = before.reshape(rows.n_rows, terms.variable.cardinality)
    else:
        before = posterior_rows(model, terms.variable, rows)
    worths: dict[int, Floats] = {}
    refused: dict[Name, str] = {}
    indicators = {number: model.variables[i] for number, i in model._indicators}
    for v in terms.candidates:
        candidate, is_open = model.variables[v], before.any(axis=1)
        if candidate in rows:
            is_open &= ~rows.observed_rows(candidate)
        if (indicator := indicators.get(v)) is not None and indicator in rows:
            is_open &= rows.columns[indicator] != 1  # whose value is known to be missing
        try:
            worths[v] = _worths(model, terms, v, rows, before, np.flatnonzero(is_open), tables)
        except errors.UnsupportedModelError as error:
            if terms.is_chosen:
                raise
            refused[candidate.name] = str(error)
    shape = 3, rows.n_rows, len(worths)
    information, gain, deviations = np.stack([*worths.values(), np.empty(shape[:2])], -1)[..., :-1]
    costs = np.array([terms.prices[v] for v in worths])
    scores = terms.scores(terms.values(information, gain), np.broadcast_to(costs, gain.shape))
    scores = np.where(np.isnan(information), np.nan, scores)
    names = tuple(model.names[v] for v in worths)
    return NextQuestions(
        names, information, gain, scores, deviations, costs, before, terms, refused
    )


def _case(model: Model, rows: Evidence, row: int) -> Case:
    """Return a row of encoded evidence as a case."""
    one, _ = rows.rows(np.array([row])).split()
    hard = {model._index_of[v.name]: column[0] for v, column in one.columns.items()}
    soft = {model._index_of[v.name]: logs[0] for v, logs in one.likelihoods.items()}
    return Case({v: x.item() if isinstance(x, np.generic) else x for v, x in hard.items()}, soft)


def _worths(
    model: Model,
    terms: Terms,
    number: int,
    rows: Evidence,
    before: Floats,
    places: NDArray[np.intp],
    tables: Sequence[Any] | None,
) -> Floats:
    """Return information, gain and error of a candidate in some of the rows, shape (3, n_rows)."""
    candidate, target = model.variables[number], terms.variable
    worths = np.full((3, rows.n_rows), np.nan)
    if not isinstance(candidate, Discrete):
        for row in places.tolist():
            case = _case(model, rows, row)
            worths[:, row] = worth_of_number(model, terms, number, case, before[row])
        return np.asarray(np.maximum(worths, 0.0))
    step = max(1, _TOGETHER // candidate.cardinality)
    for at in range(0, len(places), step):
        part = places[at : at + step]
        if tables is None:
            joint = joint_rows(model, target, candidate, rows.rows(part))
        else:
            joint = np.array([tables[row][1][number] for row in part.tolist()])
        worths[:2, part] = np.sum(terms.worth(before[part, None], joint), axis=-1)
        worths[2, part] = 0.0
    return np.asarray(np.maximum(worths, 0.0))


# ------------------------------------------------------------------------- two questions ahead


# What may be asked after an answer: P(x | e), and worth and price of each candidate.
_Branch: TypeAlias = tuple[float, Floats, Floats]


def _score_of_pairs(
    model: Model, terms: Terms, rows: Evidence, table: NextQuestions, place: int
) -> float:
    """Return the score of a question together with the best one after each answer.

    Without prices this is the expected worth of both. With prices it is the expected worth by the
    expected price, the highest of all ways to choose a second question, or none, by the answer.
    What is worth nothing alone may be worth something with another answer, as with an exclusive or
    (Heckerman, Horvitz and Middleton 1993). A few quantiles stand for the answers of a number.
    """
    candidate = model.variable(table.names[place])
    if isinstance(candidate, Discrete):
        answers: NDArray[Any] = np.arange(candidate.cardinality)
        shares = joint_rows(model, terms.variable, candidate, rows)[0].sum(axis=1)
    else:
        number, case = model._index_of[candidate.name], _case(model, rows, 0)
        answers = typical_answers(model, number, case)
        shares = np.full(len(RANKS), 1.0 / len(RANKS))
    after = ranked_rows(model, terms, with_values(rows, candidate, answers))
    branches = [
        (share, second[is_open], after.costs[is_open])
        for share, second in zip(
            shares.tolist(), terms.values(after.information, after.gain), strict=True
        )
        if share > 0 and (is_open := ~np.isnan(second)).any()
    ]
    worth = float(terms.values(table.information, table.gain)[0, place])
    if terms.is_priced:
        return _best_rate(worth, float(table.costs[place]), branches)
    return float(worth + sum(share * best.max() for share, best, _ in branches))


def _best_rate(worth: float, price: float, branches: Sequence[_Branch]) -> float:
    """Return the highest expected worth by expected price of a question and perhaps a second one.

    The best rate r is the one at which the most that can be made of worth less r times price is 0
    (Dinkelbach 1967): r is raised to the rate of what makes the most, until that does not change.
    """
    rate = _rate(worth, price)
    while np.isfinite(rate):
        total, paid = worth, price
        for share, others, prices in branches:
            best = int(np.argmax(others - rate * prices))
            if others[best] - rate * prices[best] > 0:
                total, paid = total + share * others[best], paid + share * prices[best]
        better = _rate(total, paid)
        if better <= rate * (1.0 + NOTHING) + NOTHING:
            break
        rate = better
    return rate


def _rate(worth: float, price: float) -> float:
    return worth / price if price > 0 else np.inf if worth > NOTHING else 0.0


@question(All)
def next_question_rows(
    model: Model,
    table: TableLike,
    target: Name | None = None,
    *,
    unseen: str = "error",
    **options: Unpack[Options],
) -> NextQuestions:
    """Return the variables to ask for next, for each row of a table.

    Parameters
    ----------
    model : model or fitted estimator
    table : pandas, polars or pyarrow table, or mapping from name to column
        As for `query_rows`. What is missing in a row may be asked for.
    target : name, optional
        A discrete variable; its column is ignored. By default the class of the estimator.
    unseen : {"error", "missing", "warn"}
        What a value becomes that is not a state; see `query_rows`.
    **options
        ``costs``, ``among``, ``by``, ``losses``, ``abstain`` and ``least`` as for
        `next_question`.
    """
    terms = Terms.of(model, target, **options)
    rows = evidence_rows(model, table, terms.variable, unseen)
    ranking = ranked_rows(model, terms, rows)
    if n_impossible := int((~ranking.posterior.any(axis=1)).sum()):
        errors.warn(
            f"{n_impossible} of {rows.n_rows} rows have probability zero under the model; there "
            "is no question for them.",
            errors.ImpossibleEvidenceWarning,
        )
    return ranking


# ---- Sessions of questions: the best one is asked, until the answer is known or not worth more


class Step(NamedTuple):
    """A question that was asked.

    Attributes
    ----------
    name : name
        The variable.
    answer : value or None
        None if the answer is not known.
    cost : float
        What was paid: nothing without an answer.
    posterior : Posterior
        Of the target, after the answer.
    """

    name: Name
    answer: Any
    cost: float
    posterior: Posterior


@dataclass(frozen=True, eq=False, repr=False)
class Questionnaire(Displayed):
    """A session of questions about a target; answers return the session that goes on.

    Attributes
    ----------
    model : Model
    terms : Terms
        Target, candidates, prices and measure.
    evidence : mapping from name to value
        What is known: the evidence at the beginning and all answers.
    ahead : int
    threshold, budget : float or None
        Probability of a state, and sum of prices, at which the session ends.
    steps : tuple of Step
        The questions that were asked.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> ill = bg.Discrete("ill", ["no", "yes"])
    >>> fever, test = bg.Discrete("fever", ["no", "yes"]), bg.Discrete("test", ["-", "+"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(ill, [0.7, 0.3]),
    ...     bg.TableCPD(fever, [[0.8, 0.2], [0.4, 0.6]], parents=[ill]),
    ...     bg.TableCPD(test, [[0.95, 0.05], [0.1, 0.9]], parents=[ill]),
    ... ])
    >>> session = net.ask.questionnaire("ill", costs={"fever": 1, "test": 20}, threshold=0.9)
    >>> session.question
    'fever'
    >>> session = session.answered("yes")
    >>> session.question
    'test'
    >>> session.answered("+")
    Questions about ill: P(yes) = 0.9586 after 2 answers, cost 21
                     cost  P(yes)
      before               0.3000
      fever = 'yes'     1  0.5625
      test = '+'       20  0.9586
      ended: the probability has reached 0.9
    """

    model: Model
    terms: Terms
    evidence: Mapping[Name, Any]
    ahead: int = 1
    threshold: float | None = None
    budget: float | None = None
    steps: tuple[Step, ...] = ()

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the target given all that is known."""
        answer: Posterior = self.model.query(self.terms.variable.name, self.evidence)
        return answer

    @property
    def spent(self) -> float:
        """The sum of the prices of all answers."""
        return float(sum(step.cost for step in self.steps))

    @cached_property
    def ranking(self) -> NextQuestion:
        """The questions that were not asked and that the rest of the budget allows, ranked."""
        return self._ranked(np.inf if self.budget is None else self.budget - self.spent)

    def _ranked(self, most: float) -> NextQuestion:
        """Return the questions that were not asked and cost at most a price, ranked."""
        asked = {self.model._index_of[step.name] for step in self.steps}
        prices = self.terms.prices
        allowed = [v for v in self.terms.candidates if prices[v] <= most + NOTHING]
        left = tuple(v for v in allowed if v not in asked)
        return ranked(self.model, replace(self.terms, candidates=left), self.evidence, self.ahead)

    @cached_property
    def question(self) -> Name | None:
        """The variable to ask for next; None if the session has ended."""
        return None if self._is_known else self.ranking.best

    @property
    def _is_known(self) -> bool:
        top = float(self.posterior.probabilities.max())
        return self.threshold is not None and top >= self.threshold

    @property
    def reason(self) -> str | None:
        """Why the session has ended, in words; None if there is a question."""
        if self._is_known:
            assert self.threshold is not None
            return f"the probability has reached {rounded(self.threshold, 6)}"
        if self.question is not None:
            return None
        if len(self.ranking):
            return f"no question is worth {'its price' if self.terms.is_priced else 'asking'}"
        if self.budget is not None and len(self._ranked(np.inf)):
            return f"no question is within the rest of the budget of {rounded(self.budget, 6)}"
        return "all questions were asked"

    def answered(self, answer: Any, question: Name | None = None) -> Questionnaire:
        """Return the session after an answer.

        Parameters
        ----------
        answer : value, or None
            A state, a number or likelihoods; None and NaN if the answer is not known. Then the
            variable is not asked for again, and nothing is paid.
        question : name, optional
            The variable that was asked for, by default the best question.

        Raises
        ------
        DataError
            If the session has ended and no question is named.
        EvidenceError
            If the question is the target, was asked before, or the answer does not fit it.
        ImpossibleEvidenceError
            If the answer is impossible given what is known.
        """
        chosen = self.question if question is None else question
        if chosen is None:
            raise errors.DataError(
                f"The session has ended: {self.reason}. Name the question that was answered, or "
                "begin another session."
            )
        name = self.model.variable(chosen).name
        number = self.model._index_of[name]
        if number == self.terms.target:
            raise errors.EvidenceError(f"{name!r} is the target of the session, no question.")
        if any(step.name == name for step in self.steps):
            raise errors.EvidenceError(
                f"{name!r} was asked before; begin another session to correct it."
            )
        is_known = not (answer is None or is_missing(answer))
        evidence = {**self.evidence, name: answer} if is_known else self.evidence
        after = replace(self, evidence=evidence)
        price = self.terms.prices.get(number, 0.0) if is_known else 0.0
        step = Step(name, answer if is_known else None, price, after.posterior)
        return replace(after, steps=(*self.steps, step))

    def run(self, ask: Callable[[Name], Any]) -> Questionnaire:
        """Return the session at its end, after a function has answered all questions.

        Parameters
        ----------
        ask : callable
            From the name of a variable to its value; None if it is not known.
        """
        session = self
        while session.question is not None:
            session = session.answered(ask(session.question))
        return session

    def _display(self) -> DisplayTable:
        state = self.posterior.argmax
        n = sum(step.answer is not None for step in self.steps)
        cost = f", cost {rounded(self.spent, 6)}" if self.terms.is_priced else ""
        asked = {step.name for step in self.steps}
        first = {name: value for name, value in self.evidence.items() if name not in asked}
        target = self.terms.variable.name
        start = self.model.query(target, first)
        rows = [("before", "", f"{start[state]:.4f}")]
        for step in self.steps:
            answer = "not known" if step.answer is None else f"{step.answer!r}"
            rows.append(
                (f"{step.name} = {answer}", rounded(step.cost, 6), f"{step.posterior[state]:.4f}")
            )
        note = f"next: {self.question}" if self.reason is None else f"ended: {self.reason}"
        return DisplayTable(
            f"Questions about {target}: P({state}) = {self.posterior[state]:.4f} after {n} "
            f"answer{'' if n == 1 else 's'}{cost}",
            rows,
            header=("", "cost", f"P({state})"),
            note=note,
        )


@question(All)
def questionnaire(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    *,
    threshold: float | None = None,
    budget: float | None = None,
    ahead: int = 1,
    do: Intervention = None,
    **options: Unpack[Options],
) -> Questionnaire:
    """Return a session of questions about a target, which ends when enough is known.

    ``session.question`` is the next question, None at the end, and ``session.answered(value)``
    the session after the answer. ``session.run(ask)`` asks a function to the end.

    Parameters
    ----------
    model : model or fitted estimator
    target, evidence, ahead, do
        As for `next_question`.
    threshold : float, optional
        The session ends when a state of the target has this probability.
    budget : float, optional
        Maximum sum of the prices of all questions; of their number if there are no prices.
    **options
        ``costs``, ``among``, ``by``, ``losses``, ``abstain`` and ``least`` as for
        `next_question`. The session ends when no question is worth its price.
    """
    asked, evidence = under(model, do, evidence) if do else (model, as_mapping(evidence))
    terms = Terms.of(asked, target, **options)
    values = {model.variable(name).name: value for name, value in as_mapping(evidence).items()}
    limit = None if threshold is None else checked_number("threshold=", threshold)
    if limit is not None and limit > 1:
        raise errors.DataError(f"threshold= is a probability, from 0 to 1; got {threshold!r}.")
    most = None if budget is None else checked_number("budget=", budget)
    return Questionnaire(asked, terms, values, ahead, limit, most)
