"""Labels of points do not cover each other."""

import itertools

import numpy as np
import pytest

import bayesgraph as bg


def overlap(a, b):
    """Return whether two boxes share an area of more than rounding."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return width > 0.01 and height > 0.01


@pytest.mark.slow
def test_labels_of_a_crowded_map_are_apart():
    random = np.random.default_rng(0)
    rows = {
        "a": random.choice([f"category {i}" for i in range(14)], 3000),
        "b": random.choice([f"thing {i}" for i in range(12)], 3000),
    }
    figure = bg.plot(bg.questions.correspondence(rows, "a", "b"))
    figure.draw_without_rendering()
    panel = figure.axes[0]
    texts = [t for t in panel.texts if t.get_text().startswith(("category", "thing"))]
    boxes = [text.get_window_extent() for text in texts]
    boxes.append(panel.get_legend().get_window_extent())
    assert len(boxes) == 14 + 12 + 1
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))


def test_labels_of_equal_places_are_apart():
    rows = {"a": ["p"] * 3 + ["q"] * 3 + ["r"] * 3, "b": list("uuvuuvuvv")}  # p and q are alike
    figure = bg.plot(bg.questions.correspondence(rows, "a", "b"))
    figure.draw_without_rendering()
    texts = [t for t in figure.axes[0].texts if t.get_text() in tuple("pqruv")]
    assert len(texts) == 5
    boxes = [text.get_window_extent() for text in texts]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
