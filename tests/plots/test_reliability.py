"""Reliability diagrams show the curve that the measures have."""

import numpy as np
import pytest

from bayesgraph.errors import DataError
from bayesgraph.measures import calibration_error, confidence_curve, reliability_curve
from bayesgraph.plots import reliability_figure, save_figure


def made_up(n_classes, n=300):
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(n_classes, 0.4), n)
    return random.integers(0, n_classes, n), proba, list(range(n_classes))


def points(figure):
    return figure.axes[0].collections[-1].get_offsets()


def test_two_classes_show_the_second():
    y, proba, classes = made_up(2)
    figure = reliability_figure(y, proba, classes, bins=6)
    curve = reliability_curve(y == 1, proba[:, 1], bins=6, by="width")
    np.testing.assert_allclose(points(figure), np.column_stack([curve.predicted, curve.observed]))
    assert figure.axes[0].get_xlabel() == "P(1)"
    assert f"{calibration_error(y, proba, classes):.3f}" in figure.axes[0].texts[0].get_text()


def test_more_classes_show_the_predicted(tmp_path):
    y, proba, classes = made_up(4)
    figure = reliability_figure(y, proba, classes, title="Trust")
    curve = confidence_curve(y, proba, classes, by="width")
    np.testing.assert_allclose(points(figure), np.column_stack([curve.predicted, curve.observed]))
    assert figure.axes[0].get_title(loc="left") == "Trust"
    for suffix in (".svg", ".png"):
        contents = set()
        for i in range(2):
            figure = reliability_figure(y, proba, classes)
            save_figure(figure, tmp_path / f"{i}{suffix}")
            contents.add((tmp_path / f"{i}{suffix}").read_bytes())
        assert len(contents) == 1


def test_names_are_not_formulas(tmp_path):
    proba = [[0.4, 0.6], [0.9, 0.1]]
    save_figure(reliability_figure(["$x", "y$"], proba, ["$x", "y$"]), tmp_path / "a.png")


def test_one_class_only(tmp_path):
    save_figure(reliability_figure([0, 0], np.ones((2, 1)), [0]), tmp_path / "a.png")


def test_bad_input():
    with pytest.raises(DataError, match="'c'"):
        reliability_figure(["c"], [[0.5, 0.5]], ["a", "b"])
