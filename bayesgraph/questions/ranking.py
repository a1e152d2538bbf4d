"""The questions that can be asked next, ranked by what their answers are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention, TableLike
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.inference import All, Case, Posterior
from bayesgraph.models import Model, as_mapping, evidence_rows, impossible, under, with_findings
from bayesgraph.questions.asking import (
    NOTHING,
    Options,
    Terms,
    by_propagation,
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
        rows = [self._cells(question) for question in shown]
        more_columns = [name for name, is_shown in self._columns if is_shown]
        notes = [more(len(self), len(shown), "questions"), self._errors(), self._verdict()]
        notes += [f"not ranked: {name}. {reason}" for name, reason in self.refused.items()]
        return DisplayTable(
            f"Next question about {self.posterior.names[0]}: {self.by}"
            f"{' per cost' if self.is_priced else ''}"
            f"{', two questions ahead' if self.ahead > 1 else ''}",
            rows,
            header=("", "information (nats)", "gain", *more_columns) if rows else (),
            bars=[min(1.0, question.score / top) for question in shown],
            note="\n".join(note for note in notes if note),
        )

    @property
    def _columns(self) -> tuple[tuple[str, bool], ...]:
        return ("cost", self.is_priced), ("score", self.is_priced or self.ahead > 1)

    def _cells(self, question: RankedQuestion) -> list[str]:
        cells = [str(question.name), f"{question.information:.4f}", f"{question.gain:.4f}"]
        texts = rounded(question.cost, 6), f"{question.score:.4f}"
        shown = zip(texts, self._columns, strict=True)
        return cells + [text for text, (_, is_shown) in shown if is_shown]

    def _errors(self) -> str:
        largest = float(self.errors.max(initial=0.0))
        return f"errors of integrals below {rounded(largest, 1)}" if largest > 1e-6 else ""

    def _verdict(self) -> str:
        if self.best is not None:
            return ""
        return "nothing is worth its price" if self.is_priced else "nothing is worth asking"


class Values(NamedTuple):
    """What the answers of candidates are worth in each row.

    Attributes
    ----------
    posterior : ndarray, shape (n_rows, n_states)
        Of the target; zeros in impossible rows.
    numbers : list of int
        Indices of the candidates that have answers.
    information, gain, error : ndarray, shape (n_rows, n)
        NaN where a row has the candidate, or is impossible.
    refused : mapping from int to UnsupportedModelError
        Why other candidates have none.
    """

    posterior: Floats
    numbers: list[int]
    information: Floats
    gain: Floats
    error: Floats
    refused: Mapping[int, errors.UnsupportedModelError]


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
    asked, given = under(model, do, evidence) if do else (model, evidence)
    terms = Terms.of(
        asked,
        target,
        costs=costs,
        among=among,
        by=by,
        losses=losses,
        abstain=abstain,
        least=least,
    )
    return ranked(asked, terms, given, ahead)


def ranked(model: Model, terms: Terms, evidence: EvidenceLike, ahead: int = 1) -> NextQuestion:
    """Return the candidates that are not observed, ranked on some terms."""
    ahead = whole_number("ahead", "questions", ahead, 1)
    if ahead > 2:
        raise errors.DataError(f"ahead= is 1 or 2 questions; got {ahead}.")
    model, evidence = with_findings(model, as_mapping(evidence))
    rows = model._encode(evidence)
    variable = terms.variable
    if variable in rows:
        raise errors.EvidenceError(
            f"{variable.name!r} is both the target and observed; leave it out of one of them."
        )
    values = values_of_rows(model, terms, rows)
    if not values.posterior.any():
        raise impossible(evidence)
    if terms.is_chosen and values.refused:
        raise next(iter(values.refused.values()))
    open_ = np.flatnonzero(~np.isnan(values.information[0]))
    numbers = [values.numbers[k] for k in open_.tolist()]
    information, gain, error = (column[0, open_] for column in values[2:5])
    prices = terms.prices_of(numbers)
    if ahead == 2:
        worth = terms.values(information, gain).tolist()
        scores = _scores_of_pairs(model, terms, rows, dict(zip(numbers, worth, strict=True)))
    else:
        scores = terms.scores(terms.values(information, gain), prices)
    order = terms.ordered(scores)
    names = tuple([model.names[numbers[place]] for place in order.tolist()])
    is_worth_it = bool(names) and terms.is_worth_it(float(scores[order[0]]))
    return NextQuestion(
        Posterior((variable,), values.posterior[0], np.nan),
        terms.by,
        names,
        information[order],
        gain[order],
        prices[order],
        scores[order],
        error[order],
        names[0] if is_worth_it else None,
        {model.names[v]: str(error) for v, error in values.refused.items()},
        terms.is_priced,
        ahead,
    )


def values_of_rows(model: Model, terms: Terms, rows: Evidence) -> Values:
    """Return what the candidates are worth in each row that does not observe them."""
    target = terms.variable
    before, tables = np.zeros((rows.n_rows, target.cardinality)), None
    if model._compiled is not None and rows.n_rows <= _FEW:
        cases = [_case(model, rows, row) for row in range(rows.n_rows)]
        tables = [by_propagation(model, terms.target, case) for case in cases]
        for row, found in enumerate(tables):
            before[row] = 0.0 if found is None else found[0]
    else:
        before = posterior_rows(model, target, rows)
    columns: dict[int, Floats] = {}
    refused: dict[int, errors.UnsupportedModelError] = {}
    indicators = {number: model.variables[i] for number, i in model._indicators}
    for v in terms.candidates:
        candidate = model.variables[v]
        is_open = before.any(axis=1) & ~_observed(rows, candidate)
        if (indicator := indicators.get(v)) is not None and indicator in rows:
            is_open &= rows.columns[indicator] != 1  # whose value is known to be missing
        columns[v] = np.full((3, rows.n_rows), np.nan)
        chosen = np.flatnonzero(is_open)
        try:
            for part, worth in _worths(model, terms, candidate, rows, before, chosen, tables):
                columns[v][:, part] = worth
        except errors.UnsupportedModelError as error:
            refused[v] = error
            del columns[v]
    worths = np.array([*columns.values()]).reshape(len(columns), 3, rows.n_rows)
    information, gain, errors_of = np.moveaxis(np.maximum(worths, 0.0), 0, 2)
    return Values(before, [*columns], information, gain, errors_of, refused)


def _observed(rows: Evidence, variable: Variable) -> NDArray[np.bool_]:
    return np.asarray(variable in rows and rows.observed_rows(variable))


def _case(model: Model, rows: Evidence, row: int) -> Case:
    """Return a row of encoded evidence as a case."""
    one, _ = rows.rows(np.array([row])).split()
    hard = {model._index_of[v.name]: column[0] for v, column in one.columns.items()}
    soft = {model._index_of[v.name]: logs[0] for v, logs in rows.likelihoods.items()}
    return Case({v: x.item() if isinstance(x, np.generic) else x for v, x in hard.items()}, soft)


def _worths(
    model: Model,
    terms: Terms,
    candidate: Variable,
    rows: Evidence,
    before: Floats,
    chosen: NDArray[np.intp],
    tables: Sequence[Any] | None,
) -> Iterator[tuple[Any, Any]]:
    """Yield some of the rows, and information, gain and error of a candidate in these."""
    number, target = model._index_of[candidate.name], terms.variable
    if not isinstance(candidate, Discrete):
        for row in chosen.tolist():
            case = _case(model, rows, row)
            yield row, worth_of_number(model, terms.target, number, case, before[row], terms.stakes)
        return
    step = max(1, _TOGETHER // candidate.cardinality)
    for at in range(0, len(chosen), step):
        part = chosen[at : at + step]
        if tables is None:
            joint = joint_rows(model, target, candidate, rows.rows(part))
        else:
            joint = np.array([tables[row][1][number] for row in part.tolist()])
        information, gain = terms.stakes.worth(before[part, None], joint)
        yield part, np.array([information.sum(axis=1), gain.sum(axis=1), np.zeros(len(part))])


# ------------------------------------------------------------------------- two questions ahead


# What may be asked after an answer: P(x | e), and worth and price of each candidate.
_Branch: TypeAlias = tuple[float, Floats, Floats]


def _scores_of_pairs(
    model: Model, terms: Terms, rows: Evidence, worths: Mapping[int, float]
) -> Floats:
    """Return the score of each question together with the best one after each answer.

    Without prices this is the expected worth of both. With prices it is the expected worth by the
    expected price, the highest of all ways to choose a second question, or none, by the answer.
    What is worth nothing alone may be worth something with another answer, as with an exclusive or
    (Heckerman, Horvitz and Middleton 1993). A few quantiles stand for the answers of a number.
    """
    scores = []
    for v, worth in worths.items():
        candidate = model.variables[v]
        answers, shares = _answers(model, terms, candidate, rows)
        soft = {other: logs for other, logs in rows.likelihoods.items() if other != candidate}
        others = Evidence(rows.n_rows, rows.columns, soft)
        after = values_of_rows(model, terms, with_values(others, candidate, answers))
        prices = terms.prices_of(after.numbers)
        best = terms.values(after.information, after.gain)
        branches = [
            (share, second[is_open], prices[is_open])
            for share, second in zip(shares.tolist(), best, strict=True)
            if share > 0 and (is_open := ~np.isnan(second)).any()
        ]
        if terms.is_priced:
            scores.append(_best_rate(worth, terms.prices[v], branches))
        else:
            scores.append(worth + sum(share * second.max() for share, second, _ in branches))
    return np.array(scores)


def _answers(
    model: Model, terms: Terms, candidate: Variable, rows: Evidence
) -> tuple[NDArray[Any], Floats]:
    """Return values of a candidate, as they are encoded, and their probabilities in one row."""
    target = terms.variable
    if not isinstance(candidate, Discrete):
        number, case = model._index_of[candidate.name], _case(model, rows, 0)
        return typical_answers(model, number, case), np.full(len(RANKS), 1.0 / len(RANKS))
    (joint,) = joint_rows(model, target, candidate, rows)
    return np.arange(candidate.cardinality), joint.sum(axis=1)


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


# ----------------------------------------------- The questions to ask next for each row of a table


@dataclass(frozen=True, eq=False, repr=False)
class NextQuestions(Displayed):
    """The questions that can be asked next, for each row of a table.

    Attributes
    ----------
    names : tuple of names
        The variables that may be asked for.
    information, gain, scores : ndarray, shape (n_rows, n_names)
        As in `RankedQuestion`; NaN where a row has the variable, or is impossible.
    terms : Terms
    refused : mapping from name to str
        Why variables are not ranked.
    """

    names: tuple[Name, ...]
    information: Floats
    gain: Floats
    scores: Floats
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
    variable = terms.variable
    rows = evidence_rows(model, table, variable, unseen)
    values = values_of_rows(model, terms, rows)
    if terms.is_chosen and values.refused:
        raise next(iter(values.refused.values()))
    information, gain = values.information, values.gain
    impossible_rows = int((values.posterior.sum(axis=1) == 0).sum())
    if impossible_rows:
        errors.warn(
            f"{impossible_rows} of {rows.n_rows} rows have probability zero under the model; there "
            "is no question for them.",
            errors.ImpossibleEvidenceWarning,
        )
    prices = terms.prices_of(values.numbers)
    scores = terms.scores(terms.values(information, gain), np.broadcast_to(prices, gain.shape))
    scores[np.isnan(information)] = np.nan
    names = tuple(model.names[v] for v in values.numbers)
    refused = {model.names[v]: str(error) for v, error in values.refused.items()}
    return NextQuestions(names, information, gain, scores, terms, refused)
