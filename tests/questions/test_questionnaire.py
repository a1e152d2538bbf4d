"""Sessions: which question comes, and when they end."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, EvidenceError, ImpossibleEvidenceError

NO_YES = ["no", "yes"]
ILL = bg.Discrete("ill", NO_YES)
FEVER, COUGH, TEST = (bg.Discrete(name, NO_YES) for name in ("fever", "cough", "test"))
COSTS = {"fever": 1.0, "cough": 1.0, "test": 20.0}


def clinic():
    return bg.BayesianNetwork(
        [
            bg.TableCPD(ILL, [0.7, 0.3]),
            bg.TableCPD(FEVER, [[0.8, 0.2], [0.4, 0.6]], [ILL]),
            bg.TableCPD(COUGH, [[0.7, 0.3], [0.4, 0.6]], [ILL]),
            bg.TableCPD(TEST, [[0.95, 0.05], [0.1, 0.9]], [ILL]),
        ]
    )


def test_each_question_is_the_best_of_what_is_left():
    net, evidence, asked = clinic(), {}, []
    session = net.ask.questionnaire("ill", costs=COSTS)
    while session.question is not None:
        ranking = net.ask.next_question("ill", evidence, costs=COSTS)
        assert session.question == ranking.best
        assert session.ranking.questions == ranking.questions
        evidence[session.question] = "yes"
        asked.append(session.question)
        session = session.answered("yes")
        expected = net.query("ill", evidence).probabilities
        np.testing.assert_allclose(session.posterior.probabilities, expected)
        assert session.steps[-1].posterior == session.posterior
    assert asked == ["fever", "cough", "test"]
    assert session.spent == 22
    assert session.evidence == evidence
    assert session.reason == "all questions were asked"
    with pytest.raises(DataError, match="The session has ended: all questions were asked"):
        session.answered("yes")


def test_answers_do_not_change_the_session_that_asked():
    session = clinic().ask.questionnaire("ill")
    yes, no = session.answered("yes"), session.answered("no")
    assert not session.steps
    assert yes.posterior["yes"] > session.posterior["yes"] > no.posterior["yes"]


def test_a_missing_value_is_not_known_and_is_asked_for():
    session = clinic().ask.questionnaire("ill", {"fever": None, COUGH: float("nan")})
    ended = session.run(lambda name: "yes")
    assert sorted(step.name for step in ended.steps) == ["cough", "fever", "test"]


def test_evidence_may_name_items_of_a_vector_of_counts():
    words = bg.MultinomialCPD(bg.CountVector("words", ["u", "v"]), [[0.5, 0.5], [0.2, 0.8]], [ILL])
    net = bg.BayesianNetwork([*clinic().cpds, words])
    session = net.ask.questionnaire("ill", {"u": 2})
    assert session.posterior["yes"] == net.query("ill", {"u": 2})["yes"]
    assert session.question == net.ask.next_question("ill", {"u": 2}).best


def test_a_session_ends_at_a_probability():
    session = clinic().ask.questionnaire("ill", threshold=0.9).run(lambda name: "yes")
    assert [step.name for step in session.steps] == ["test", "fever"]
    assert session.posterior["yes"] >= 0.9 > session.steps[0].posterior["yes"]
    assert session.reason == "the probability has reached 0.9"
    assert clinic().ask.questionnaire("ill", {"test": "no"}, threshold=0.9).question is None


def test_a_session_ends_with_its_budget():
    session = clinic().ask.questionnaire("ill", costs=COSTS, budget=20.5).run(lambda name: "no")
    assert [step.name for step in session.steps] == ["fever", "cough"]
    assert session.reason == "no question is within the rest of the budget of 20.5"
    one = clinic().ask.questionnaire("ill", budget=1).run(lambda name: "no")
    assert [step.name for step in one.steps] == ["test"]


def test_a_session_ends_where_nothing_is_worth_its_price():
    losses = {("yes", "no"): 50.0, ("no", "yes"): 5.0}
    session = clinic().ask.questionnaire("ill", costs=COSTS, losses=losses).run(lambda name: "yes")
    assert session.reason == "no question is worth its price"
    last = clinic().ask.next_question("ill", session.evidence, costs=COSTS, losses=losses)
    assert last.best is None
    assert all(question.gain <= question.cost for question in last.questions)


def test_what_is_not_known_is_not_asked_again_and_costs_nothing():
    session = clinic().ask.questionnaire("ill", costs=COSTS).answered(None)
    assert session.question == "cough"
    assert session.spent == 0
    assert session.steps[0].answer is None
    assert session.posterior == clinic().query("ill")
    assert "fever = not known" in repr(session)
    assert session.run(lambda name: float("nan")).reason == "all questions were asked"


def test_other_questions_may_be_answered():
    session = clinic().ask.questionnaire("ill", costs={"fever": 1.0})
    other = session.answered({"no": 1.0, "yes": 3.0}, "test")
    assert other.spent == 0
    assert other.question == "fever"
    with pytest.raises(EvidenceError, match="'test' is known or was asked before"):
        other.answered("no", "test")
    begun = clinic().ask.questionnaire("ill", {"test": "yes"})
    with pytest.raises(EvidenceError, match="'test' is known or was asked before"):
        begun.answered("no", "test")
    with pytest.raises(EvidenceError, match="is the target"):
        session.answered("no", "ill")


def test_wrong_answers_are_refused_at_once():
    session = clinic().ask.questionnaire("ill")
    with pytest.raises(EvidenceError, match="no state 'perhaps'"):
        session.answered("perhaps")
    sure = bg.BayesianNetwork(
        [bg.TableCPD(ILL, [0.5, 0.5]), bg.TableCPD(FEVER, [[1.0, 0.0]] * 2, [ILL])]
    )
    with pytest.raises(ImpossibleEvidenceError):
        sure.ask.questionnaire("ill").answered("yes", "fever")
    for wrong in (1.5, -0.1, "much"):
        with pytest.raises(DataError, match="threshold="):
            clinic().ask.questionnaire("ill", threshold=wrong)
    with pytest.raises(DataError, match="budget="):
        clinic().ask.questionnaire("ill", budget=-1)


def test_two_questions_ahead_in_a_session():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    odd = bg.TableCPD(ILL, [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], [a, b])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [0.5, 0.5]), odd])
    assert net.ask.questionnaire("ill").reason == "no question is worth asking"
    session = net.ask.questionnaire("ill", ahead=2).run(lambda name: 1)
    assert session.posterior["no"] == 1
    assert len(session.steps) == 2
