"""What is no result of the library is refused in words by everything that draws."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph import plots
from bayesgraph.errors import DataError, DataTypeError

FIGURES = {
    "axes": plots.axes_figure,
    "contributions": plots.contributions_figure,
    "correspondence": plots.correspondence_figure,
    "decision boundary": lambda wrong: plots.plot_decision_boundary(wrong, [], [], ("a", "b")),
    "density": plots.density_figure,
    "evaluation": plots.evaluation_figure,
    "items": plots.items_figure,
    "next question": plots.next_question_figure,
    "nomogram": plots.nomogram_figure,
    "prequential": plots.prequential_figure,
    "roc": plots.roc_figure,
    "shapes": plots.shapes_figure,
    "table drift": plots.table_drift_figure,
    "tornado": plots.tornado_figure,
    "tree": lambda wrong: plots.render_tree(wrong, "tree.svg"),
    "tree text": plots.tree_to_dot,
    "saved": lambda wrong: plots.save_figure(wrong, "figure.svg"),
}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(40, 2)), np.repeat(["no", "yes"], 20)


def test_every_figure_is_tried():
    assert len(FIGURES) >= sum(name.endswith("figure") or "tree" in name for name in dir(plots))


@pytest.mark.parametrize("wrong", [None, 3, "text", [1], bg.NaiveBayesClassifier])
@pytest.mark.parametrize("figure", FIGURES)
def test_only_results_are_drawn(figure, wrong):
    with pytest.raises((DataTypeError, DataError), match="got"):
        FIGURES[figure](wrong)


def test_one_evaluation_is_drawn(rows):
    (result,) = bg.evaluate({"nb": bg.NaiveBayesClassifier()}, *rows, cv=2)
    assert len(plots.roc_figure(result).axes) == len(plots.roc_figure([result]).axes)
    assert len(plots.evaluation_figure(result).axes) == 3


@pytest.mark.parametrize("wrong", ["a", 1.5, 0, None])
def test_numbers_of_bars_are_whole(rows, wrong):
    clf = bg.NaiveBayesClassifier().fit(*rows)
    question = clf.next_question(evidence={})
    reasons = clf.contributions(evidence={"x0": 1.0})
    for draw in (
        lambda: question.plot(max_questions=wrong),
        lambda: plots.nomogram_figure(clf, max_features=wrong),
        lambda: plots.contributions_figure(reasons, max_findings=wrong),
    ):
        with pytest.raises((DataTypeError, DataError), match=r"max_.*1 or more; got"):
            draw()
