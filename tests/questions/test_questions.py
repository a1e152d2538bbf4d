"""Questions as functions of models and of estimators, and the accessor that shows them."""

import inspect
import pydoc

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bayesgraph as bg
from bayesgraph.core.errors import DataTypeError, EvidenceError, UnsupportedModelError
from bayesgraph.core.upward import UPWARD, upward

RAIN, WET = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
NET = bg.BayesianNetwork(
    [
        bg.TableCPD(RAIN, [0.8, 0.2]),
        bg.TableCPD(WET, [[0.9, 0.1], [0.2, 0.8]], parents=[RAIN]),
    ]
)
X = {"a": ["p", "q", "p", "q", "p", "q"] * 3, "b": ["u", "u", "v", "v", "v", "u"] * 3}
Y = ["no", "yes", "no", "yes", "yes", "yes"] * 3
NAMES = dir(NET.ask)
# Questions whose target is by default the class of an estimator.
ABOUT_THE_CLASS = (
    "credible_intervals",
    "explanation",
    "flip",
    "next_question",
    "questionnaire",
    "tornado",
)


def fitted():
    return bg.TANClassifier().fit(X, Y)


def test_the_accessor_lists_what_asks_a_model():
    assert {"flip", "next_question", "effect", "explanation"} <= set(NAMES)
    assert not {"diff", "question", "Flip"} & set(NAMES)
    assert set(NAMES) <= set(bg.questions.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_the_accessor_shows_each_question_with_its_signature_and_docstring(name):
    function = getattr(bg.questions, name)
    first, *others = inspect.signature(function).parameters.values()
    for asked in (NET, fitted()):
        method = getattr(asked.ask, name)
        assert name in dir(asked.ask)
        assert [*inspect.signature(method).parameters.values()] == others
        assert inspect.getdoc(method) == inspect.getdoc(function)
        assert first.name == "model"
        assert name in pydoc.render_doc(method)
    assert name in repr(NET.ask)


def test_a_question_that_does_not_exist_is_told_with_the_nearest_one():
    with pytest.raises(AttributeError, match=r"called 'flop'. Did you mean 'flip'\?"):
        _ = NET.ask.flop
    assert not hasattr(NET, "flip")
    assert not hasattr(bg.TANClassifier, "flip")


def test_functions_and_the_accessor_answer_alike():
    found = NET.ask.flip("rain", {"wet": "yes"})
    assert repr(found) == repr(bg.questions.flip(NET, "rain", {"wet": "yes"}))
    assert NET.ask.effect("rain", "wet").value == pytest.approx(0.7)


@pytest.mark.parametrize("name", ABOUT_THE_CLASS)
def test_the_target_of_an_estimator_is_its_class(name):
    clf = fitted()
    function = getattr(bg.questions, name)
    default = function(clf, evidence={"a": "p"})
    assert repr(default) == repr(function(clf, clf.target_.name, evidence={"a": "p"}))
    assert repr(default) == repr(function(clf.network_, clf.target_.name, evidence={"a": "p"}))
    other = function(clf, "b", evidence={"a": "p"})
    assert repr(other) == repr(function(clf.network_, "b", evidence={"a": "p"}))


def test_a_model_has_no_target_by_default():
    with pytest.raises(EvidenceError, match=r"flip needs a target.*'rain', 'wet'"):
        NET.ask.flip(evidence={"wet": "yes"})
    clf = fitted()
    every = bg.questions.credible_intervals(clf.network_, draws=20)
    assert list(every) == list(clf.network_.names)


def test_rows_of_a_classifier_are_those_of_predict():
    table = np.array([[1.0, 2.0], [3.0, np.nan], [2.5, 2.0], [0.5, 7.0]] * 5)
    clf = bg.NaiveBayesClassifier().fit(table, ["no", "yes", "yes", "no"] * 5)
    terms = clf.ask.contributions_rows(table)
    assert terms.total == pytest.approx(bg.classifiers.log_odds(clf, table))
    named = dict(zip(clf.network_.names[1:], table.T, strict=True))
    of_model = clf.network_.ask.contributions_rows(named, clf.target_.name)
    assert terms.terms == pytest.approx(of_model.terms)
    with pytest.raises(EvidenceError, match="is continuous"):
        clf.ask.contributions_rows(named, clf.features_[0].name)


def test_what_an_estimator_declines_stays_declined():
    counts = np.array([[1, 0, 2], [0, 3, 1], [2, 2, 0], [0, 1, 4]])
    clf = bg.ComplementNaiveBayesClassifier().fit(counts, ["a", "b", "a", "b"])
    for ask in (clf.ask.next_question, clf.ask.questionnaire, clf.ask.explanation):
        with pytest.raises(UnsupportedModelError, match="no distribution of documents"):
            ask()
    assert len(clf.ask.top_items(n=1)["a"]) == 1


def test_who_is_asked_is_a_model_or_a_fitted_estimator():
    with pytest.raises(NotFittedError):
        bg.TANClassifier().ask.flip(evidence={})
    with pytest.raises(DataTypeError, match="flip asks a model or a fitted estimator; got 3"):
        bg.questions.flip(3, "rain")
    with pytest.raises(TypeError, match="missing a required argument: 'treatment'"):
        NET.ask.effect()


@pytest.mark.parametrize("name", UPWARD)
def test_methods_that_reach_upward_are_functions_of_higher_rooms(name):
    assert len(UPWARD) == 6
    function = upward(name)
    assert getattr(bg.BayesianNetwork, name) is function
    on_instance = getattr(NET, name)
    expected = [*inspect.signature(function).parameters]
    makes_models = name in ("fit", "learn")
    assert [*inspect.signature(on_instance).parameters] == expected[0 if makes_models else 1 :]


def test_pictures_of_estimators_highlight_their_target():
    clf = fitted()
    assert (
        bg.pictures.to_dot(clf)
        == bg.pictures.to_dot(clf.network_, target=clf.target_.name)
        != bg.pictures.to_dot(clf.network_)
    )
    assert bg.pictures.to_dot(clf, target="a") == bg.pictures.to_dot(clf.network_, target="a")
    with pytest.raises(NotFittedError):
        bg.pictures.to_dot(bg.TANClassifier())
