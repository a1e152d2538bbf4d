"""Positions, notes and titles of networks: kept in editing and in files, part of no answer."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import bayesgraph as bg
from bayesgraph.core.errors import ModelError

NOTES = bg.models.Annotations(
    "note", {"b": (1, 2.5), "a": (0, -3)}, {"a": "first"}, {"b": "Second"}
)


@pytest.fixture
def net() -> bg.BayesianNetwork:
    a, b = bg.Discrete("a", ["n", "y"]), bg.Discrete("b", ["n", "y"])
    tables = [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], [a])]
    return bg.BayesianNetwork(tables, annotations=NOTES)


def test_editing_keeps_what_it_keeps_of_the_network(net: bg.BayesianNetwork) -> None:
    changed = net.renamed({"a": "A"})
    assert changed.annotations.positions == {"b": (1.0, 2.5), "A": (0.0, -3.0)}
    assert changed.annotations.notes == {"A": "first"}
    left = net.marginalised("a").annotations
    assert (left.note, dict(left.positions), dict(left.notes)) == ("note", {"b": (1.0, 2.5)}, {})
    assert left.titles == {"b": "Second"}
    for same in (net.with_states("a", ["y", "n"]), net.do({"b": "y"}), net.with_cpd(net["a"])):
        assert same.annotations == NOTES
    assert bg.models.annotated(net, bg.models.Annotations()).annotations == bg.models.Annotations()
    assert bg.models.annotated(net, bg.models.Annotations()) == net


def test_merged_networks_keep_both(net: bg.BayesianNetwork) -> None:
    c = bg.Discrete("c", ["n", "y"])
    notes = bg.models.Annotations("other", {"c": (7, 7), "a": (9, 9)})
    other = bg.BayesianNetwork([net["a"], bg.TableCPD(c, [0.5, 0.5])], annotations=notes)
    found = bg.models.merged(net, other).annotations
    assert found.note == "note"
    assert found.positions == {"c": (7.0, 7.0), "a": (0.0, -3.0), "b": (1.0, 2.5)}


def test_native_files_and_copies_have_them(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    net.save(tmp_path / "a.bayesgraph")
    assert bg.load(tmp_path / "a.bayesgraph").annotations == NOTES
    assert pickle.loads(pickle.dumps(net)).annotations == NOTES
    assert copy.deepcopy(NOTES) == NOTES
    plain = bg.models.annotated(net, bg.models.Annotations())
    plain.save(tmp_path / "b.bayesgraph")
    assert b"annotations" not in (tmp_path / "b.bayesgraph").read_bytes()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bg.models.Annotations(note=1), "The note is text; got 1"),
        (
            lambda: bg.models.Annotations(notes={"a": None}),
            "note or title of 'a' is text; got None",
        ),
        (lambda: bg.models.Annotations(titles={"a": 2}), "note or title of 'a' is text; got 2"),
        (
            lambda: bg.models.Annotations(positions={"a": 1}),
            "position of 'a' is two finite numbers",
        ),
        (lambda: bg.models.Annotations(positions={"a": (1, float("nan"))}), "two finite numbers"),
        (lambda: bg.models.Annotations(positions={"a": ("x", 2)}), "two finite numbers"),
    ],
)
def test_wrong_annotations_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_names_are_those_of_the_network(net: bg.BayesianNetwork) -> None:
    message = r"have 'bb', which is no variable of the network\. Did you mean 'b'\?"
    with pytest.raises(ModelError, match=message):
        bg.models.annotated(net, bg.models.Annotations(notes={"bb": "x"}))


def test_they_cannot_be_changed() -> None:
    given = {"a": (1.0, 2.0)}
    notes = bg.models.Annotations(positions=given)
    given["b"] = (3.0, 4.0)
    assert notes.positions == {"a": (1.0, 2.0)}
    with pytest.raises(TypeError):
        notes.positions["b"] = (3.0, 4.0)  # type: ignore[index]
    assert notes
    assert not bg.models.Annotations()
