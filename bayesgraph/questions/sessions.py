"""Sessions of questions: the best one is asked, until the answer is known or not worth more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Unpack

from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.typing import EvidenceLike, Intervention
from bayesgraph.core.variables import Name, is_missing
from bayesgraph.inference import All, Posterior
from bayesgraph.models import Model, as_mapping, under, with_findings
from bayesgraph.questions.asking import Options, Terms, checked_number
from bayesgraph.questions.estimators import question
from bayesgraph.questions.ranking import NextQuestion, ranked


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
        target = self.model.variables[self.terms.target].name
        found: Posterior = self.model.query(target, self.evidence)
        return found

    @property
    def spent(self) -> float:
        """The sum of the prices of all answers."""
        return float(sum(step.cost for step in self.steps))

    @cached_property
    def ranking(self) -> NextQuestion:
        """The questions that were not asked and that the rest of the budget allows, ranked."""
        asked = {self.model._index_of[step.name] for step in self.steps}
        terms = self.terms.without(asked)
        if self.budget is not None:
            terms = terms.within(self.budget - self.spent)
        return ranked(self.model, terms, self.evidence, self.ahead)

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
            priced = self.terms.is_priced
            return f"no question is worth {'its price' if priced else 'asking'}"
        if self.budget is not None and self._is_open_without_budget:
            return f"no question is within the rest of the budget of {rounded(self.budget, 6)}"
        return "all questions were asked"

    @property
    def _is_open_without_budget(self) -> bool:
        asked = {self.model._index_of[step.name] for step in self.steps}
        model, evidence = with_findings(self.model, self.evidence)
        known = model._case(evidence).hard
        return any(v not in known for v in self.terms.without(asked).candidates)

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
            raise DataError(
                f"The session has ended: {self.reason}. Name the question that was answered, or "
                "begin another session."
            )
        name = self.model.variable(chosen).name
        number = self.model._index_of[name]
        if number == self.terms.target:
            raise EvidenceError(f"{name!r} is the target of the session, no question.")
        if any(step.name == name for step in self.steps):
            raise EvidenceError(f"{name!r} was asked before; begin another session to correct it.")
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
        first = self.steps and replace(self, evidence=self._at_first, steps=())
        start = (first or self).posterior
        rows = [("before", "", f"{start[state]:.4f}")]
        for step in self.steps:
            answer = "not known" if step.answer is None else f"{step.answer!r}"
            rows.append(
                (f"{step.name} = {answer}", rounded(step.cost, 6), f"{step.posterior[state]:.4f}")
            )
        note = f"next: {self.question}" if self.reason is None else f"ended: {self.reason}"
        target = self.posterior.names[0]
        return DisplayTable(
            f"Questions about {target}: P({state}) = {self.posterior[state]:.4f} after {n} "
            f"answer{'' if n == 1 else 's'}{cost}",
            rows,
            header=("", "cost", f"P({state})"),
            note=note,
        )

    @property
    def _at_first(self) -> dict[Name, Any]:
        asked = {step.name for step in self.steps}
        return {name: value for name, value in self.evidence.items() if name not in asked}


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
    asked, known = under(model, do, evidence) if do else (model, as_mapping(evidence))
    terms = Terms.of(asked, target, **options)
    given = {model.variable(name).name: value for name, value in known.items()}
    limit = None if threshold is None else checked_number("threshold=", threshold)
    if limit is not None and limit > 1:
        raise DataError(f"threshold= is a probability, from 0 to 1; got {threshold!r}.")
    most = None if budget is None else checked_number("budget=", budget)
    return Questionnaire(asked, terms, given, ahead, limit, most)
