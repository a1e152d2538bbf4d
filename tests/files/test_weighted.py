"""Weighted networks in files, in pictures and as pgmpy's factor graphs."""

import numpy as np
import pygraphviz
import pytest
from forgery import forged

import bayesgraph as bg
from bayesgraph.core.errors import FileFormatError, LossyExportError, LossyExportWarning

C = bg.Discrete("kind", ["u", "v"])
A, B, D = bg.Discrete("a", [0, 1]), bg.Binned("b", [0.5, 1.5]), bg.Discrete("d", [False, True])
X = bg.Continuous("x")


def network(*, number=True):
    cpds = [
        bg.TableCPD(B, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [C]),
        bg.TableCPD(C, [0.3, 0.7]),
        bg.TableCPD(A, [[[0.9, 0.1], [0.3, 0.7]]] * 3, [B, C]),
        bg.TableCPD(D, [[0.25, 0.75], [0.5, 0.5]], [A]),
    ]
    cpds += [bg.GaussianCPD(X, [0.0, 1.0], [1.0, 2.0], [C])] if number else []
    return bg.BayesianNetwork(cpds, arc_scores={("b", "a"): 0.5})


def weighted(**options):
    exponents = (
        {"a": [0.5, 0.0], "b": 1 / 3, "x": 1.25} if options.get("number", True) else {"a": 2}
    )
    return bg.WeightedNetwork(
        network(**options), "kind", exponents, bias=[0.1, -0.7], prior_exponent=0.8
    )


def test_files_give_back_the_same(tmp_path):
    model = weighted()
    model.save(tmp_path / "m.bayesgraph")
    again = bg.load(tmp_path / "m.bayesgraph")
    assert type(again) is bg.WeightedNetwork
    assert again == model
    assert again.variables == model.variables
    assert again.arc_scores == {("b", "a"): 0.5}
    assert [e.shape for e in again.exponents.values()] == [(), (2,), (), ()]
    assert again.query("kind", {"b": 0.7, "x": 0.3}) == model.query("kind", {"b": 0.7, "x": 0.3})
    again.save(tmp_path / "n.bayesgraph")
    assert (tmp_path / "m.bayesgraph").read_bytes() == (tmp_path / "n.bayesgraph").read_bytes()


def test_a_class_without_features_and_a_domain_are_kept(tmp_path):
    alone = bg.WeightedNetwork(
        bg.BayesianNetwork([bg.TableCPD(C, [0.3, 0.7])]), "kind", prior_exponent=-2, domain="free"
    )
    alone.save(tmp_path / "m.bayesgraph")
    again = bg.load(tmp_path / "m.bayesgraph")
    assert again == alone
    assert again.domain == "free"


WRONG = {
    "class": lambda item: item.update({"target": "a"}),
    "class of no variable": lambda item: item.update({"target": "none"}),
    "domain": lambda item: item.update({"domain": "any"}),
    "exponents of others": lambda item: item["exponents"]["fields"].update(none=item["bias"]),
    "other shapes": lambda item: item["exponents"]["fields"]["a"].update(shape=[4]),
    "prior exponent": lambda item: item.update({"prior_exponent": -1}),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_forged_file_is_refused(tmp_path, change):
    weighted().save(tmp_path / "m.bayesgraph")
    forged(tmp_path / "m.bayesgraph", lambda header: change(header["model"]["weighted network"]))
    with pytest.raises(FileFormatError):
        bg.load(tmp_path / "m.bayesgraph")


def test_pictures_show_exponents_on_the_arcs_from_the_class():
    model = weighted()
    graph = pygraphviz.AGraph(bg.pictures.to_dot(model))
    assert len(graph.edges()) == len(model.graph.edges)
    labels = {edge.attr["label"].strip() for edge in graph.edges()}
    assert {"0.33", "0.5, 0", "1.2"} <= labels
    silent = pygraphviz.AGraph(bg.pictures.to_dot(bg.WeightedNetwork(network(), "kind", {"b": 0})))
    dashed = [edge for edge in silent.edges() if edge.attr["style"] == "dashed"]
    assert len(dashed) == 1


@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize("plate", [False, True])
def test_pictures_tell_exponents_that_read_the_same_once(n, plate):
    kind = bg.Discrete("kind", range(n))
    cpds = [bg.TableCPD(f, np.full((n, 2), 0.5), [kind]) for f in (A, D)]
    net = bg.BayesianNetwork([bg.TableCPD(kind, np.full(n, 1 / n)), *cpds])
    exponents = {"a": np.linspace(1.101, 1.104, n), "d": 0.7}
    alike = bg.pictures.to_dot(bg.WeightedNetwork(net, "kind", exponents), plate=plate)
    assert "1.1 to" not in alike
    assert "1.1, " not in alike
    assert "exponents of" not in alike
    assert "of the classes" not in alike
    assert "1.1" in alike
    wide = {"a": np.linspace(1.1, 2.2, n), "d": 0.7}
    told = bg.pictures.to_dot(bg.WeightedNetwork(net, "kind", wide), plate=plate)
    assert ("1.1, 2.2" if n == 2 else "1.1 to 2.2") in told


def test_pictures_of_many_features_can_be_a_plate(tmp_path):
    features = [bg.Discrete(f"f{i}", [0, 1]) for i in range(40)]
    cpds = [bg.TableCPD(f, [[0.5, 0.5], [0.1, 0.9]], [C]) for f in features]
    model = bg.WeightedNetwork(bg.BayesianNetwork([bg.TableCPD(C, [0.5, 0.5]), *cpds]), "kind")
    assert "cluster" in bg.pictures.to_dot(model, plate=True)
    model.render(tmp_path / "m.png", plate=True)
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_pgmpy_takes_the_powered_tables():
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination

    model = weighted(number=False)
    with pytest.warns(LossyExportWarning, match="exponent"):
        peer = VariableElimination(bg.files.to_pgmpy(model))
    row = {"a": 1, "b": B.states[0], "d": True}
    found = peer.query(["kind"], evidence=row, show_progress=False).normalize(inplace=False)
    expected = model.query("kind", row)
    for state in C.states:
        assert found.get_value(kind=state) == pytest.approx(expected[state], rel=1e-10)


def test_formats_of_factor_graphs_name_the_factor_graph(tmp_path):
    model = weighted(number=False)
    with pytest.raises(LossyExportError, match=r"FactorGraph\.of"):
        model.save(tmp_path / "m.uai")
    with pytest.raises(LossyExportError, match="BIF holds Bayesian networks"):
        model.save(tmp_path / "m.bif")
    graph = bg.FactorGraph.of(model)
    graph.save(tmp_path / "g.bayesgraph")
    assert bg.load(tmp_path / "g.bayesgraph") == graph


@pytest.mark.parametrize("exponents", ["variable", "class"])
def test_classifiers_of_weighted_networks_come_back_whole(tmp_path, exponents):
    random = np.random.default_rng(0)
    y = random.integers(2, size=80)
    X = {
        "x": y + random.normal(size=80),
        "d": [("p", "q")[v] for v in y ^ (random.random(80) < 0.3)],
    }
    classifier = bg.BayesianNetworkClassifier("tan", exponents=exponents).fit(X, y)
    classifier.save(tmp_path / "m.bayesgraph")
    again = bg.load(tmp_path / "m.bayesgraph")
    assert again.network_ == classifier.network_
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
