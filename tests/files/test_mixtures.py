"""Mixtures in files and pictures."""

import numpy as np
import pygraphviz
import pytest
from forgery import forged

import bayesgraph as bg
from bayesgraph.core.errors import FileFormatError, GraphError, LossyExportError

A, B, C = (bg.Discrete(name, [0, 1]) for name in "abc")
U = bg.Continuous("u")


def mixture():
    prior = bg.TableCPD(A, [0.25, 0.75])
    below = [[0.9, 0.1], [0.3, 0.7]]
    number = bg.GaussianCPD(U, [0.0, 1.0], [1.0, 2.0], [A])
    forwards = bg.BayesianNetwork(
        [prior, bg.TableCPD(B, below, [A]), bg.TableCPD(C, below, [B]), number],
        arc_scores={("a", "b"): 0.5},
        order=[C, B, A, U],
    )
    backwards = bg.BayesianNetwork(
        [prior, bg.TableCPD(B, below, [C]), bg.TableCPD(C, below, [A]), number]
    )
    return bg.Ensemble([forwards, backwards], [1, 3])


def test_files_give_back_the_same(tmp_path):
    model = mixture()
    model.save(tmp_path / "m.bayesgraph")
    again = bg.load(tmp_path / "m.bayesgraph")
    assert type(again) is bg.Ensemble
    assert again == model
    assert again.arc_probabilities == model.arc_probabilities
    assert again.arc_scores == {("a", "b"): 0.5}
    assert [n.variables for n in again.networks] == [n.variables for n in model.networks]
    assert again.query("b", {"u": 0.3}) == model.query("b", {"u": 0.3})
    # Shared CPDs are in the file once, and shared again.
    assert again.networks[0]["u"] is again.networks[1]["u"]
    again.save(tmp_path / "n.bayesgraph")
    assert (tmp_path / "m.bayesgraph").read_bytes() == (tmp_path / "n.bayesgraph").read_bytes()


def test_weights_are_not_divided_again(tmp_path):
    networks = list(mixture().networks) * 5
    model = bg.Ensemble(networks, np.random.default_rng(0).random(10))
    model.save(tmp_path / "m.bayesgraph")
    np.testing.assert_array_equal(bg.load(tmp_path / "m.bayesgraph").weights, model.weights)


def test_a_forged_file_is_refused(tmp_path):
    mixture().save(tmp_path / "m.bayesgraph")

    def negative(header):
        networks = header["model"]["ensemble"]["networks"]["tuple"]
        networks[0]["network"]["cpds"][0] = {"cpd": -1}

    forged(tmp_path / "m.bayesgraph", negative)
    with pytest.raises(FileFormatError, match="ensemble"):
        bg.load(tmp_path / "m.bayesgraph")


def test_arcs_are_as_opaque_as_they_are_probable():
    text = bg.pictures.to_dot(mixture(), states=False)
    graph = pygraphviz.AGraph(string=text)
    edges = {(e[0], e[1]): dict(e.attr) for e in graph.edges()}
    name = {v.name: f"n{i}" for i, v in enumerate(mixture().variables)}
    both = [e for e in edges if {*e} == {name["b"], name["c"]}]
    assert len(both) == 1
    assert edges[both[0]]["dir"] == "both"
    assert edges[both[0]]["color"].endswith("ff")
    assert edges[name["a"], name["u"]]["color"].endswith("ff")
    assert edges[name["a"], name["b"]]["label"] == " 0.25 "
    assert edges[name["a"], name["b"]]["color"].endswith(f"{round(255 * (0.15 + 0.85 * 0.25)):02x}")
    assert "their probability" in text
    assert "their probability" not in bg.pictures.to_dot(mixture(), scores=False)


def test_pictures(tmp_path):
    mixture().render(tmp_path / "m.svg", beliefs=True, evidence={"b": 1}, target="a")
    assert "<svg" in (tmp_path / "m.svg").read_text(encoding="utf-8")
    assert "→" in bg.pictures.to_dot(mixture(), plate=False, tables=True)
    with pytest.raises(GraphError, match="plate"):
        bg.pictures.to_dot(mixture(), plate=True)


def test_a_class_above_all_is_drawn_as_a_box():
    X = {name: [0, 1, 1, 0, 1, 0] for name in "abcdef"}
    clf = bg.AODEClassifier(categorical="all").fit(X, [0, 1, 0, 1, 1, 1])
    text = bg.pictures.to_dot(clf, plate=True)
    assert "parent of all 6" in text
    assert "their probability" not in text  # all the same


def test_other_formats_refuse(tmp_path):
    with pytest.raises(LossyExportError, match="Bayesian networks"):
        mixture().save(tmp_path / "m.bif")
    with pytest.raises(LossyExportError, match="Ensemble"):
        mixture().save(tmp_path / "m.uai")
    with pytest.raises(LossyExportError, match="Ensemble"):
        bg.files.to_pgmpy(mixture())
