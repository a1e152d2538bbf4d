"""What is no result of the library is refused in words by everything that draws."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph import pictures as plots
from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.pictures.rendering import FIGURES as FIGURES_BY_CLASS

FIGURES = {
    "decision boundary": lambda wrong: plots.plot_decision_boundary(wrong, [], [], ("a", "b")),
    "evaluation": plots.evaluation_figure,
    "nomogram": plots.nomogram_figure,
    "graph": lambda wrong: plots.render(wrong, "graph.svg"),
    "graph text": plots.to_dot,
    "prequential": plots.prequential_figure,
    "result": plots.plot,
    "roc": plots.ranking_figure,
    "saved": lambda wrong: plots.save_figure(wrong, "figure.svg"),
}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(40, 2)), np.repeat(["no", "yes"], 20)


def test_every_figure_is_tried():
    assert len(FIGURES) >= sum("figure" in name or "plot" in name for name in plots.__all__)


@pytest.mark.parametrize("wrong", [None, 3, "text", [1], bg.NaiveBayesClassifier])
@pytest.mark.parametrize("figure", FIGURES)
def test_only_results_are_drawn(figure, wrong):
    with pytest.raises((DataTypeError, DataError), match="got"):
        FIGURES[figure](wrong)


def test_one_evaluation_is_drawn(rows):
    (result,) = bg.evaluate({"nb": bg.NaiveBayesClassifier()}, *rows, cv=2)
    assert len(plots.ranking_figure(result).axes) == len(plots.ranking_figure([result]).axes)
    assert len(plots.evaluation_figure(result).axes) == len(bg.plot(result).axes) == 3


def test_what_plot_draws_is_public():
    rooms = (bg.classifiers, bg.inference, bg.questions)
    exported = [getattr(room, name) for room in rooms for name in room.__all__]
    public = {kind.__name__ for value in exported for kind in getattr(value, "__mro__", ())}
    assert set(FIGURES_BY_CLASS) <= public


def test_plot_names_what_it_draws(rows):
    clf = bg.NaiveBayesClassifier().fit(*rows)
    for wrong in (clf, clf.network_, [clf.contributions(evidence={"x0": 1.0})]):
        with pytest.raises(DataTypeError, match=r"(?s)Contributions, .* or Tornado; got .*render"):
            bg.plot(wrong)
    with pytest.raises(TypeError, match="max_bar"):
        bg.plot(clf.contributions(evidence={"x0": 1.0}), max_bar=3)


@pytest.mark.parametrize("wrong", ["a", 1.5, 0, None])
def test_numbers_of_bars_are_whole(rows, wrong):
    clf = bg.NaiveBayesClassifier().fit(*rows)
    question = clf.ask.next_question(evidence={})
    reasons = clf.contributions(evidence={"x0": 1.0})
    for draw in (
        lambda: bg.plot(question, max_questions=wrong),
        lambda: plots.nomogram_figure(clf, max_features=wrong),
        lambda: bg.plot(reasons, max_findings=wrong),
    ):
        with pytest.raises((DataTypeError, DataError), match=r"max_.*1 or more; got"):
            draw()
