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


PAST = bg.before(KIND)
DAYS = bg.TemporalNetwork(
    [bg.TableCPD(KIND, [0.5, 0.5]), bg.GaussianCPD(bg.Continuous("load"), [0.0, 3.0], 1.0, [KIND])],
    [bg.TableCPD(KIND, [[0.9, 0.1], [0.2, 0.8]], [PAST])],
)
ROWS = {"who": list("aaabb"), "day": [1, 2, 4, 1, 2], "load": [0.1, 2.9, 3.1, None, 2.0]}
WHERE = {"id": "who", "time": "day", "step": 1}


def heights(area, x):
    """Return the lowest and highest point of an area over a place."""
    y = [b for path in area.get_paths() for a, b in path.vertices if a == x]
    return min(y), max(y)


def test_states_over_time_are_stacked_and_days_without_a_row_are_gaps(tmp_path):
    course = DAYS.smooth(ROWS, "kind", **WHERE)
    figure = bg.plot(course, sequence="a")
    (axes,) = figure.axes
    calm, busy = axes.collections
    # The first, second and fourth day; each begins half a slice before.
    for row, x in ((0, -0.5), (2, 3.5)):
        np.testing.assert_allclose(heights(calm, x), [0.0, course[row, 0]])
        np.testing.assert_allclose(heights(busy, x), [course[row, 0], 1.0])
    assert len(calm.get_paths()) == 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["busy", "calm"]
    save_figure(figure, tmp_path / "course.svg")
    ahead = DAYS.forecast(ROWS, "kind", 1, **WHERE)
    (axes,) = bg.plot(ahead, sequence="b", title="Ahead").axes
    assert axes.get_title(loc="left") == "Ahead"
    np.testing.assert_allclose(heights(axes.collections[0], 1.5), [0.0, ahead[1, 0, 0]])
    for sequence in (None, "c", ["a"]):
        with pytest.raises(DataError, match="sequence="):
            bg.plot(course, sequence=sequence)
    with pytest.raises(DataError, match="copy or a part"):
        bg.plot(course[:2])


def test_a_number_over_time_has_a_band():
    level = bg.local_level("x", level_variance=1.0, noise_variance=1.0)
    course = level.filter({"x": [1.0, 2.0, None]}, "level")
    (axes,) = bg.plot(course, probability=0.6826894921370859).axes  # one standard deviation
    np.testing.assert_allclose(axes.lines[0].get_ydata()[::2], course[:, 0])
    low, high = heights(axes.collections[0], 2.5)
    np.testing.assert_allclose((high - low) / 2, np.sqrt(course[2, 1]))
    with pytest.raises(DataError, match="between 0 and 1"):
        bg.plot(course, probability=1.0)


def test_what_is_computed_of_a_course_is_an_ordinary_array():
    course = DAYS.smooth(ROWS, "kind", **WHERE)
    assert type(course + 1) is type(course.round(2)) is type(course.sum(axis=0)) is np.ndarray
    assert type(course.sum()) is np.float64
