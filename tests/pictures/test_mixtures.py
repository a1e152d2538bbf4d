"""Figures of posteriors of numbers, counts and vectors of counts."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.pictures import save_figure

KIND = bg.Discrete("kind", ["calm", "busy"])
NET = bg.BayesianNetwork(
    [
        bg.TableCPD(KIND, [0.75, 0.25]),
        bg.PoissonCPD(bg.Count("$calls$"), [1.0, 5.0], [KIND]),
        bg.GammaCPD(bg.Continuous("wait"), [1.0, 4.0], [1.0, 2.0], [KIND]),
        bg.MultinomialCPD(bg.CountVector("words", ["red", "$blue$"]), [[0.2, 0.8]] * 2, [KIND]),
    ]
)


def test_counts_are_bars_and_numbers_a_curve(tmp_path):
    calls = NET.query("$calls$")
    (axes,) = bg.plot(calls).axes
    heights = [bar.get_height() for bar in axes.patches]
    np.testing.assert_allclose(heights, calls.density(np.arange(len(heights))))
    figure = bg.plot(NET.query("wait"), title="Waiting", probability=0.5)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "Waiting"
    x, y = axes.lines[-1].get_data()
    np.testing.assert_allclose(y, NET.query("wait").density(x))
    assert len(axes.lines) == 3
    save_figure(figure, tmp_path / "wait.svg")
    with pytest.raises(DataError, match="one variable"):
        bg.plot(NET.query(["wait", "$calls$"]))


def test_large_counts_are_a_curve():
    (axes,) = bg.plot(bg.BayesianNetwork([bg.PoissonCPD(bg.Count("n"), 1e5)]).query("n")).axes
    assert not axes.patches
    assert len(axes.lines) == 1


def test_items_are_bars(tmp_path):
    words = NET.query("words")
    figure = bg.plot(words, n=1)
    (bar,) = figure.axes[0].patches
    assert bar.get_width() == pytest.approx(0.8)
    assert len(bg.plot(words).axes[0].patches) == 2
    save_figure(figure, tmp_path / "words.svg")
