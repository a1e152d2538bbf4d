import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.encoding import columns_of, infer_variables
from bayesgraph.errors import DataError, UnsupportedModelError
from bayesgraph.learning.exponents import exponents_between
from bayesgraph.learning.loglinear import train_network
from bayesgraph.learning.loglinear.cross_validation import _GAIN
from bayesgraph.statistics import TableSource


def fitted(X, y, **options):
    return bg.BayesianNetworkClassifier(categorical="all", **options).fit(X, y)


def test_features_that_act_in_pairs_get_a_tree():
    random = np.random.default_rng(0)
    X = random.integers(2, size=(400, 4))
    y = X[:, 1] ^ X[:, 3] ^ (random.random(400) < 0.05)
    classifier = fitted(X, y)
    assert classifier.choice_.structure != "star"
    assert classifier.network_.graph.to_undirected().has_edge("x1", "x3")
    assert classifier.score(X, y) > 0.9


def test_features_that_act_alone_stay_a_star():
    random = np.random.default_rng(1)
    y = random.integers(2, size=400)
    X = (random.random((400, 4)) < 0.3 + 0.4 * y[:, None]).astype(int)
    classifier = fitted(X, y)
    losses = classifier.choice_.losses
    star = min(v for c, v in losses.items() if c.structure == "star")
    tree = min(v for c, v in losses.items() if c.structure != "star")
    assert classifier.choice_.structure == "star" or tree < star - _GAIN
    assert classifier.score(X, y) > 0.7


@pytest.mark.parametrize("structure", ["auto", "tan"])
def test_the_factor_graph_answers_as_the_network(structure):
    X, y = load_iris(return_X_y=True)
    classifier = bg.BayesianNetworkClassifier(structure, exponents="cells").fit(X, y)
    graph = classifier.to_factor_graph()
    for row in ({"x2": 4.9, "x3": 1.6}, {"x0": 5.0, "x1": 3.0, "x2": 4.9, "x3": 1.6}, {}):
        np.testing.assert_allclose(
            graph.query("class", row).probabilities,
            classifier.query(evidence=row).probabilities,
            atol=1e-9,
        )


def test_exponents_between_a_network_and_itself_are_one():
    X, y = load_iris(return_X_y=True)
    network = bg.BayesianNetworkClassifier().fit(X, y).network_
    for term in exponents_between(network, network).terms:
        np.testing.assert_array_equal(term.exponent, 1.0)


def test_a_given_forest_is_kept():
    random = np.random.default_rng(2)
    X, y = random.integers(3, size=(60, 4)), random.integers(2, size=60)
    X[:, 2] = 1  # tells nothing
    arcs = [("class", f"x{j}") for j in range(4)] + [("x0", "x2"), ("x2", "x3")]
    classifier = fitted(X, y, structure=arcs, exponents="cells")
    assert set(classifier.network_.graph.edges) == set(arcs)
    assert classifier.network_.arc_scores["x0", "x2"] == 0.0


def test_no_forest_is_refused():
    X, y = np.eye(3, dtype=int).repeat(9, 0), np.arange(27) % 2
    arcs = [("class", f"x{j}") for j in range(3)] + [("x0", "x2"), ("x1", "x2")]
    with pytest.raises(UnsupportedModelError, match="more than one other parent"):
        fitted(X, y, structure=arcs, exponents="cells")


def test_a_source_without_a_target_is_refused():
    table = infer_variables(columns_of({"a": ["p", "q"]}))
    with pytest.raises(DataError, match="takes a target"):
        train_network(TableSource(table))


def test_few_distinct_rows_hide_nothing():
    random = np.random.default_rng(0)
    x = random.integers(0, 2, (1000, 2))
    y = (random.random(1000) < np.where(x[:, 0] ^ x[:, 1], 0.95, 0.05)).astype(int)
    X = np.array(["a", "b"], dtype=object)[x]
    clf = bg.BayesianNetworkClassifier().fit(X, y)
    assert clf.score(X, y) > 0.93
    assert clf.choice_.structure != "star"


def test_files_keep_what_was_tried(tmp_path):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(60, 3)), random.integers(2, size=60)
    clf = bg.BayesianNetworkClassifier().fit(X, y)
    clf.save(tmp_path / "m.bayesgraph")
    assert bg.load(tmp_path / "m.bayesgraph").choice_ == clf.choice_


def test_what_exponents_cannot_do_is_said():
    random = np.random.default_rng(2)
    X = np.array(["a", "b"], dtype=object)[random.integers(2, size=(50, 2))]
    y = random.integers(2, size=50)
    upside_down = [("x0", "class"), ("x1", "class")]
    for exponents in ("variable", "cells"):
        with pytest.raises(UnsupportedModelError):
            bg.BayesianNetworkClassifier(upside_down, exponents=exponents).fit(X, y)
    with pytest.raises(DataError, match="for exponents='variable'"):
        bg.BayesianNetworkClassifier(exponents="variable").fit(X, y)
    left_out = bg.BayesianNetworkClassifier([("class", "x0")], exponents="cells").fit(X, y)
    assert left_out.predict(X).shape == (50,)
