"""Figures of shapes: steps over intervals, bars of categories, cells of pairs."""

from dataclasses import replace

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.pictures import save_figure


def fitted(n_classes=2, **options):
    random = np.random.default_rng(0)
    X = {
        "size": random.normal(size=300).tolist(),
        "$colour$": random.choice(["red", "green", "blue"], 300).tolist(),
        "same": ["a"] * 300,
    }
    score = np.array(X["size"]) * (1 + 2 * (np.array(X["$colour$"]) == "red"))
    y = np.digitize(score + random.normal(size=300) * 0.3, np.linspace(-1, 1, n_classes + 1)[1:-1])
    options = {"discretizer": "frequency", **options}
    return bg.TANClassifier(check_columns=False, **options).fit(X, y).shapes()


def panels(figure):
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}


def test_a_pair_alone_is_drawn():
    shapes = fitted()
    pairs = [term for term in shapes.terms if len(term.variables) == 2]
    figure = bg.plot(replace(shapes, terms=tuple(pairs[:1])))
    figure.canvas.draw()
    assert len(panels(figure)) == 1


def test_steps_bars_and_cells_are_the_terms():
    shapes = fitted()
    figure = bg.plot(shapes)
    figure.canvas.draw()
    found = panels(figure)
    assert set(found) == {"size", "$colour$", "same", "$colour$ × size", "size × same"} or set(
        found
    ) >= {"size", "$colour$"}
    (stairs,) = found["size"].patches
    values, edges, _ = stairs.get_data()
    np.testing.assert_allclose(values, shapes["size"].log_odds[:, 0])
    np.testing.assert_allclose(edges[1:-1], shapes["size"].variables[0].cuts)
    heights = [bar.get_height() for bar in found["$colour$"].patches]
    np.testing.assert_allclose(heights, shapes["$colour$"].log_odds[:, 0])
    (pair,) = [name for name in found if "size" in name and "colour" in name]
    (mesh,) = found[pair].collections
    drawn = np.asarray(mesh.get_array()).reshape(shapes["size", "$colour$"].share.shape)
    np.testing.assert_allclose(drawn, shapes["size", "$colour$"].log_odds[..., 0])
    limits = {axes.get_ylim() for name, axes in found.items() if "×" not in name}
    assert len(limits) == 1


def test_several_classes_are_several_curves():
    shapes = fitted(4)
    figure = bg.plot(shapes, title="Four")
    found = panels(figure)
    assert len(found["size"].patches) == 4
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["0", "1", "2", "3"]
    assert figure.get_suptitle() == "Four"


@pytest.mark.slow
def test_the_weakest_terms_are_left_out(tmp_path):
    shapes = fitted()
    figure = bg.plot(shapes, max_terms=2)
    assert len(panels(figure)) == 2
    assert any("other terms not drawn" in text.get_text() for text in figure.texts)
    save_figure(figure, tmp_path / "one.svg")
    save_figure(bg.plot(shapes, max_terms=2), tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    with pytest.raises(DataError, match="1 or more"):
        bg.plot(shapes, max_terms=0)


def test_many_categories_are_counted():
    random = np.random.default_rng(0)
    x = random.integers(30, size=400)
    shapes = bg.NaiveBayesClassifier().fit({"x": [f"s{i}" for i in x]}, x % 2).shapes()
    figure = bg.plot(shapes)
    assert any("18 rarer not drawn" in axes.get_xlabel() for axes in figure.axes)
