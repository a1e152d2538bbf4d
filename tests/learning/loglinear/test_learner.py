from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, UnsupportedModelError
from bayesgraph.learning import exponents_between, train_network
from bayesgraph.learning.loglinear import cross_validation
from bayesgraph.learning.loglinear.cross_validation import _GAIN
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.statistics import TableSource
from bayesgraph.tables import columns_of, infer_variables


def fitted(X, y, **options):
    return bg.BayesianNetworkClassifier(categorical="all", **options).fit(X, y)


def test_features_that_act_in_pairs_get_a_tree():
    random = np.random.default_rng(0)
    X = random.integers(2, size=(400, 4))
    y = X[:, 1] ^ X[:, 3] ^ (random.random(400) < 0.05)
    classifier = fitted(X, y, n_trees=0)
    assert classifier.choice_.structure != "star"
    assert classifier.network_.graph.to_undirected().has_edge("x1", "x3")
    assert classifier.score(X, y) > 0.9


@pytest.mark.slow
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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("structure", ["auto", "tan"])
def test_the_factor_graph_answers_as_the_network(structure):
    X, y = load_iris(return_X_y=True)
    classifier = bg.BayesianNetworkClassifier(structure, exponents="cells", n_trees=0).fit(X, y)
    graph = bg.FactorGraph.of(classifier)
    for row in ({"x2": 4.9, "x3": 1.6}, {"x0": 5.0, "x1": 3.0, "x2": 4.9, "x3": 1.6}, {}):
        np.testing.assert_allclose(
            graph.query("class", row).probabilities,
            classifier.query(evidence=row).probabilities,
            atol=1e-9,
        )


@pytest.mark.slow
def test_exponents_between_a_network_and_itself_are_one():
    X, y = load_iris(return_X_y=True)
    network = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y).network_
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


def test_a_given_star_is_kept():
    """Nothing but interactions tells the classes apart, which the structure does not have."""
    random = np.random.default_rng(0)
    X = random.integers(4, size=(600, 3))
    y = (X[:, 0] >= 2) ^ (X[:, 1] >= 2) ^ (X[:, 2] >= 2)
    classifier = fitted(X, y, structure="star", exponents="cells")
    assert set(classifier.network_.graph.edges) == {("class", f"x{j}") for j in range(3)}


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


# ----------------------------------------------------------------------------- the random trees


def triples(n, seed=0):
    """Return a class that takes three features to predict: no graph of pairs has it."""
    random = np.random.default_rng(seed)
    X = random.integers(2, size=(n, 5))
    return X, X[:, 0] ^ X[:, 2] ^ X[:, 4] ^ (random.random(n) < 0.05)


def fives(n, seed=0):
    """Return a class that takes five features to predict: no table of four has it."""
    random = np.random.default_rng(seed)
    X = random.integers(2, size=(n, 6))
    return X, np.bitwise_xor.reduce(X[:, :5], axis=1) ^ (random.random(n) < 0.05)


@pytest.mark.slow
def test_what_no_table_shows_is_left_to_random_trees():
    X, y = fives(800)
    average, single = fitted(X, y), fitted(X, y, n_trees=0)
    assert isinstance(average.network_, bg.Ensemble)
    assert isinstance(single.network_, bg.BayesianNetwork)
    assert average.choice_.tree_share > 0.5
    assert average.network_.weights[1] == pytest.approx(average.choice_.tree_share)
    assert average.network_.exponents["class"][1] == average.choice_.tree_exponent > 1.5
    assert average.network_.networks[0] == single.network_
    new, truth = fives(400, seed=1)
    assert average.score(new, truth) > 0.9 > single.score(new, truth) + 0.2


@pytest.mark.slow
def test_trees_of_no_use_are_left_out(monkeypatch):
    monkeypatch.setattr(cross_validation, "_MIN_TREE_SHARE", 0.999)
    X, y = triples(200)
    classifier = fitted(X, y)
    assert classifier.choice_.tree_share == 0.0
    assert classifier.network_ == fitted(X, y, n_trees=0).network_


def test_rows_that_need_no_trees_have_none():
    """The class of independent features given the class is a star; rows enough to be sure."""
    random = np.random.default_rng(0)
    y = random.integers(2, size=20_000)
    X = (random.random((20_000, 6)) < np.where(y, 0.6, 0.4)[:, None]).astype(int)
    choice = fitted(X, y).choice_
    assert (choice.tree_share, choice.n_trees, choice.leaf_weight) == (0.0, 0, 1.0)


def test_trees_are_as_many_and_as_large_as_held_out_rows_ask_for():
    X, y = fives(3000)
    classifier = fitted(X, y)
    choice, trees = classifier.choice_, classifier.network_.networks[1].cpds[-1].trees
    assert 10 <= choice.n_trees == len(trees.roots) < 100
    assert choice.leaf_weight > 1.0
    new, truth = fives(1000, seed=1)
    assert classifier.score(new, truth) > 0.93


def test_what_costs_little_for_certain():
    """The bound is the mean and one and a half standard errors, against 1 % of the loss."""

    def costs_little(logs, than):
        return cross_validation.costs_little(logs, than, np.ones(400))

    best = np.full(400, -0.5)
    noise = 0.04 * np.where(np.arange(400) % 4 < 2, 1.0, -1.0)
    assert costs_little(best, best)
    assert costs_little(best - 0.0049, best)
    assert not costs_little(best - 0.0051, best)
    # The standard error is 0.04 / sqrt(400): 0.0015 + 1.5 * 0.002 < 0.005.
    assert costs_little(best + noise - 0.0015, best)
    assert not costs_little(best + noise - 0.0025, best)


def test_weights_of_models_that_separate_the_classes_are_bounded():
    sample = Sample.of((), np.empty((40, 0), int), np.arange(40) % 2, np.empty(0), 2)
    sample = replace(sample, labels=np.arange(40) % 2, weights=np.ones(40))
    separating = np.eye(2)[sample.labels]
    one = cross_validation._stacked([separating], sample)
    assert 1.0 < one[0] < 5.0
    two = cross_validation._stacked([separating, separating], sample)
    np.testing.assert_allclose(two, one[0] / 2, rtol=1e-3)


def test_weights_of_models_are_those_of_the_lowest_loss():
    """Of many rows, the weight is that of a logistic regression: half, for doubled log odds."""
    odds = np.random.default_rng(0).normal(size=20_000)
    labels = (np.random.default_rng(1).random(20_000) < 1 / (1 + np.exp(-odds))).astype(int)
    sample = Sample.of((), np.empty((2, 0), int), np.arange(2), np.empty(0), 2)
    sample = replace(sample, labels=labels, weights=np.ones(20_000))
    found = cross_validation._stacked([np.column_stack([-odds, odds])], sample)
    assert found[0] == pytest.approx(0.5, abs=0.03)


def test_the_share_of_trees_is_what_predicts_best():
    sample = Sample.of((), np.empty((400, 0), int), np.arange(400) % 2, np.empty(0), 2)
    sample = replace(sample, labels=np.arange(400) % 2, weights=np.ones(400))
    right = np.eye(2)[sample.labels] * 0.8 + 0.1
    half = np.full((400, 2), 0.5)

    def averaged(*of):
        return cross_validation._averaged(*of)[:2]

    assert averaged(np.log(right), half, half, sample) == (0.0, 1.0)
    assert averaged(np.log(half), right, half, sample)[0] > 0.95
    flipped = np.where((np.arange(400) % 4 < 2)[:, None], right, right[:, ::-1])
    assert averaged(np.log(right), flipped, half, sample)[0] < 0.5


def test_the_exponent_of_trees_makes_their_probabilities_right():
    """Of posteriors whose log odds are a third of what they should be the exponent is three."""
    random = np.random.default_rng(0)
    log_odds = 2.0 * random.normal(size=20_000) - 1.0
    p = 1.0 / (1.0 + np.exp(-log_odds))
    labels = (random.random(20_000) < p).astype(int)
    sample = Sample.of((), np.empty((20_000, 0), int), labels, np.empty(0), 2)
    sample = replace(sample, labels=labels, weights=np.ones(20_000))
    prior = np.array([1.0 - 1.0 / (1.0 + np.exp(1.0)), 1.0 / (1.0 + np.exp(1.0))])
    evidence = np.stack([np.zeros_like(p), log_odds + 1.0], axis=1)
    half = np.full((20_000, 2), 0.5)

    def of(exponent):
        trees = prior * np.exp(evidence / exponent)
        trees /= trees.sum(axis=1, keepdims=True)
        return cross_validation._averaged(
            np.log(half), trees, np.broadcast_to(prior, trees.shape), sample
        )[:2]

    for exponent in (3.0, 1.5):
        share, found = of(exponent)
        assert share > 0.97
        assert found == pytest.approx(exponent, rel=0.05)
    assert of(1.0)[1] == pytest.approx(1.0, abs=0.06)
    assert of(0.5)[1] == 1.0  # posteriors are not made less certain


@pytest.mark.parametrize("n_trees", [-1, 2.0, "many", None, True])
def test_the_number_of_trees_is_checked(n_trees):
    X, y = triples(50)
    error = DataError if n_trees == -1 else DataTypeError
    with pytest.raises(error, match=r"n_trees is a (whole )?number of trees"):
        fitted(X, y, n_trees=n_trees)


@pytest.mark.slow
def test_an_average_is_no_factor_graph():
    X, y = triples(300)
    with pytest.raises(UnsupportedModelError, match="n_trees=0"):
        bg.FactorGraph.of(fitted(X, y))


@pytest.mark.slow
def test_neither_the_names_of_states_nor_the_order_of_rows_matters():
    X, y = triples(300)
    order = np.random.default_rng(0).permutation(300)
    given = fitted(X, y).predict_proba(X)
    np.testing.assert_array_equal(fitted(X[order], y[order]).predict_proba(X), given)
    renamed = np.array(["a", "no"], dtype=object)[X]
    found = fitted(renamed, np.array(["z", "b"])[y.astype(int)])
    np.testing.assert_array_equal(found.predict_proba(renamed), given[:, ::-1])


@pytest.mark.slow
def test_a_row_of_weight_two_is_two_rows():
    X, y = triples(300)
    weights = np.random.default_rng(0).integers(1, 4, size=300)
    once = fitted(X, y)
    once.fit(X, y, sample_weight=weights)
    twice = fitted(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_array_equal(once.predict_proba(X), twice.predict_proba(X))


@pytest.mark.slow
def test_priors_shift_the_average():
    X, y = triples(400)
    given, shifted = fitted(X, y), fitted(X, y, priors=[0.9, 0.1])
    assert isinstance(given.network_, bg.Ensemble)
    expected = given.predict_proba(X) * [0.9, 0.1] / np.bincount(y)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shifted.predict_proba(X), expected, rtol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_tiny_tables(n):
    X, y = np.arange(2 * n).reshape(n, 2) % 3, np.arange(n) % 2
    assert fitted(X, y).predict_proba(X).shape == (n, 2)


@pytest.mark.parametrize("n_trees", [0, 9])
def test_a_class_of_one_row(n_trees):
    """The trees of one fold see nothing to split on."""
    X = np.random.default_rng(0).integers(4, size=(100, 3))
    y = np.zeros(100, dtype=int)
    y[7] = 1
    classifier = fitted(X, y, n_trees=n_trees)
    assert classifier.predict_proba(X).shape == (100, 2)
    assert not classifier.choice_.joint_share


def test_a_table_without_information():
    X, y = np.ones((20, 2), dtype=int), np.arange(20) % 2
    np.testing.assert_allclose(fitted(X, y).predict_proba(X), 0.5, atol=0.02)


def test_contributions_sum_to_the_log_odds():
    X, y = triples(300)
    classifier = fitted(X, y)
    for row in ({"x0": 1, "x2": 0, "x4": 1}, {"x1": 0}, {}):
        found = classifier.contributions(evidence=row)
        p = classifier.query(evidence=row).probabilities
        odds = abs(np.log(p[1] / p[0]))
        assert abs(found.total) == pytest.approx(odds, abs=1e-9)


def test_a_class_that_is_nowhere_the_most_probable_makes_no_table_absurd():
    # A scale: balance is the rarest class whatever one weight or distance is. Tables with its share
    # of these rows would have entries of 2e-25; of others they vanished, and rows were impossible.
    cells = np.indices((5, 5, 5, 5)).reshape(4, -1).T + 1
    moments = cells[:, 0] * cells[:, 1] - cells[:, 2] * cells[:, 3]
    sides = np.array(["left", "balance", "right"])[np.sign(-moments) + 1]
    rows = np.random.default_rng(17).permutation(len(cells))[:300]
    classifier = fitted(cells[rows], sides[rows], n_trees=0)
    assert min(cpd.values.min() for cpd in classifier.network_.cpds) > 1e-20
    assert classifier.score(cells, sides) > 0.93
