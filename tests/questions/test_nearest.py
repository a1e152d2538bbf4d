"""The nearest rows with another answer."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, EvidenceError


def model():
    c = bg.Discrete("c", ["no", "yes"])
    colour, x = bg.Discrete("colour", ["red", "green", "blue"]), bg.Continuous("x")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.5, 0.5]),
            bg.TableCPD(colour, [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [c]),
            bg.GaussianCPD(x, [0.0, 2.0], [1.0, 1.0], [c]),
        ]
    )


def test_rows_equal_a_search_by_hand():
    net = model()
    random = np.random.default_rng(0)
    colours = random.choice(["red", "green", "blue"], 200)
    table = {"colour": colours, "x": random.normal(1.0, 1.5, 200)}
    case = {"colour": "red", "x": 0.2}
    found = net.ask.nearest_rows("c", case, table, n=7, costs={"x": 2.0})
    width = max(table["x"].max(), 0.2) - min(table["x"].min(), 0.2)
    distance = (colours != "red") + 2.0 * np.abs(table["x"] - 0.2) / width
    answers = net.query_rows("c", table).argmax(axis=1)
    order = [i for i in np.argsort(distance, kind="stable") if answers[i] == 1][:7]
    assert [near.row for near in found] == order
    assert [near.distance for near in found] == pytest.approx(distance[order].tolist())
    assert found.before == "no"
    assert {near.answer for near in found} == {"yes"}
    near = found[0]
    assert near.differences["x"] == (0.2, table["x"][near.row])
    reds = net.ask.nearest_rows("c", case, table, fixed=["colour"])
    assert all("colour" not in near.differences for near in reds)
    assert "red" not in repr(reds)


def test_a_missing_value_is_a_difference():
    found = model().ask.nearest_rows(
        "c", {"colour": "red"}, {"colour": [None, "blue"], "x": [3.0, 3.0]}
    )
    assert [near.distance for near in found] == [1.0, 1.0]
    assert found[0].differences == {"colour": ("red", None)}


def test_what_cannot_be_asked():
    net = model()
    with pytest.raises(DataError, match="lacks the columns 'x'"):
        net.ask.nearest_rows("c", {"x": 1.0}, {"colour": ["red"]})
    with pytest.raises(EvidenceError, match="not discrete"):
        net.ask.nearest_rows("x", {"c": "no"}, {"c": ["no"]})
    with pytest.raises(EvidenceError, match="The answer is 'no' already"):
        net.ask.nearest_rows("c", {"x": 0.0}, {"x": [0.0, 3.0]}, "no")
    none = net.ask.nearest_rows("c", {"x": 0.0}, {"x": [0.0, 0.1]})
    assert len(none) == 0
    assert "no row has another answer" in repr(none)
