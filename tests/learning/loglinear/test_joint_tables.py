"""Joint tables: the average of random trees on a few features, as one table of the network."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loglinear_rows import features_of, make_sample

import bayesgraph as bg
from bayesgraph.classifiers import bayesian_network
from bayesgraph.learning import Effort
from bayesgraph.learning.loglinear import cross_validation
from bayesgraph.learning.loglinear import trees as joint_tables
from bayesgraph.learning.loglinear.learner import partition_of
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Effects
from bayesgraph.learning.loglinear.trees import (
    grow_trees,
    joint_effects,
    joint_features,
    joint_scores,
    mean_distributions,
    tree_of,
)


def grid_of(sample, features):
    """Return the groups of a joint table."""
    return Terms.of(sample.views, (), features).grids[0]


@st.composite
def gains_and_cliques(draw):
    n = draw(st.integers(2, 6))
    gains = np.zeros((n, n))
    for at in itertools.combinations(range(n), 2):
        gains[at] = draw(st.integers(-1, 5))
    clique = draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=4))
    return gains, tuple(sorted(clique))


@given(gains_and_cliques())
def test_pairs_around_a_clique_are_the_best_tree_of_cliques(given_gains):
    gains, clique = given_gains
    found = tree_of(gains, clique)
    outside = [pair for pair in found if not set(pair) <= set(clique)]
    assert {pair for pair in found if set(pair) <= set(clique)} <= set(tree_of(gains))
    # The clique as one node, of which only the best edge to another feature counts.
    whole, chosen = nx.Graph(), nx.Graph()
    for i, j in itertools.combinations(range(len(gains)), 2):
        a, b = (-1 if k in clique else k for k in (i, j))
        if a != b and gains[i, j] > max(0.0, whole.get_edge_data(a, b, {"weight": 0})["weight"]):
            whole.add_edge(a, b, weight=gains[i, j])
    for i, j in outside:
        a, b = (-1 if k in clique else k for k in (i, j))
        assert not chosen.has_edge(a, b)
        chosen.add_edge(a, b, weight=gains[i, j])
    assert len(chosen) == 0 or nx.is_forest(chosen)
    best = nx.maximum_spanning_tree(whole).size("weight")
    assert chosen.size("weight") == best


def identifiers(n_rows=300, seed=0):
    """Return a table in which only the pair of two codes and a number tells the class."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, [20, 20, 30], (50, 3))
    classes = random.integers(3, size=50)
    which = random.integers(50, size=n_rows)
    noise = random.random(n_rows) < 0.15
    X = {
        "teacher": np.char.add("t", codes[which, 0].astype(str)),
        "course": np.char.add("c", codes[which, 1].astype(str)),
        "size": codes[which, 2] + 10.0,
        "coin": random.integers(2, size=n_rows).astype(str),
    }
    return X, np.where(noise, random.integers(3, size=n_rows), classes[which]).astype(str)


def test_features_that_interact_are_found_among_noise():
    random = np.random.default_rng(0)
    codes = random.integers(4, size=(500, 8))
    labels = ((codes[:, 2] >= 2) ^ (codes[:, 5] >= 2)).astype(int)
    sample = Sample.of(features_of((4,) * 8), codes, labels, np.empty(0), 2)
    found = joint_features(sample)
    assert {2, 5} <= set(found)
    assert found == tuple(sorted(found))
    assert len(found) == 4


def test_features_whose_table_is_too_large_are_left_out(monkeypatch):
    sample = make_sample((3, 12, 2, 5), 200)
    monkeypatch.setattr(joint_tables, "_MAX_JOINT", 3 * 10)
    found = joint_features(sample)
    assert 1 not in found
    assert found


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_the_table_is_the_average_of_trees(missing):
    sample = make_sample((3, 12, 2, 5), 150, missing=missing)
    features = (0, 1, 3)
    grid = grid_of(sample, features)
    assert grid.shape == (3, 12, 5)
    effects = joint_effects(sample, features)
    trees = grow_trees(sample.only(features), 100)
    rows = np.array(list(itertools.product(range(3), range(12), range(5))))
    means = mean_distributions(trees, sample.only(features).views, rows)
    np.testing.assert_allclose(np.exp(effects) * sample.prior, means)
    wider = np.insert(rows, 2, 0, axis=1)
    np.testing.assert_array_equal(grid.rows(wider), np.arange(3 * 12 * 5))
    wider[::2, 1] = -1
    np.testing.assert_array_equal(grid.rows(wider)[::2], -1)
    # Rows that were not seen have the same scores, those with missing values the mean.
    scores = joint_scores(sample, sample, features)
    known = (sample.codes[:, features] >= 0).all(axis=1)
    cells = grid.rows(sample.codes[known])
    np.testing.assert_allclose(scores[known], effects[cells] + np.log(sample.prior))
    assert np.isfinite(scores).all()


def test_many_intervals_share_groups():
    random = np.random.default_rng(0)
    codes = random.integers(40, size=(400, 2))
    labels = (codes.sum(axis=1) > 39).astype(int)
    sample = Sample.of(features_of((40, 40), binned=(0, 1)), codes, labels, np.empty(0), 2)
    grid = grid_of(sample, (0, 1))
    assert grid.shape == (16, 16)
    effects = joint_effects(sample, (0, 1))
    assert effects.shape == (256, 2)
    assert (effects[grid.rows(sample.codes)].argmax(axis=1) == sample.labels).mean() > 0.95


def test_intervals_are_kept_apart_where_the_joint_table_needs_them():
    """Neither feature has an effect of its own: only the joint table tells the classes apart."""
    random = np.random.default_rng(0)
    codes = random.integers(8, size=(800, 2))
    labels = ((codes[:, 0] >= 3) ^ (codes[:, 1] >= 6)).astype(int)
    sample = Sample.of(features_of((8, 8), binned=(0, 1)), codes, labels, np.empty(0), 2)
    terms = Terms.of(sample.views, (), (0, 1))
    cells = np.zeros((terms.n_cells, 2))
    cells[terms.starts[-2] :] = joint_effects(sample, (0, 1))
    found = partition_of(terms, Effects(cells, np.log(sample.prior)), sample, 5e-4, 0.0)
    assert [np.flatnonzero(np.diff(groups)).tolist() for groups in found] == [[2], [5]]


@pytest.fixture(scope="module")
def fitted():
    X, y = identifiers()
    with pytest.MonkeyPatch.context() as patch:  # to its end
        patch.setattr(bayesian_network, "Effort", Effort)
        return bg.BayesianNetworkClassifier(n_trees=0).fit(X, y), X, y


def test_near_repetitions_get_a_joint_table(fitted):
    classifier = fitted[0]
    choice = classifier.choice_
    assert choice.joint_share > 0.0
    assert "around the joint table" in repr(choice)
    assert any(candidate.around for candidate in choice.losses)
    new, labels = identifiers(seed=0, n_rows=1000)
    new = {name: column[300:] for name, column in new.items()}
    assert classifier.score(new, labels[300:]) > 0.6
    largest = max(len(cpd.parents) for cpd in classifier.network_.cpds)
    assert 2 <= largest <= 4


def test_rows_with_missing_values_are_answered_by_the_network(fitted):
    classifier, X, _ = fitted
    row = {"teacher": X["teacher"][0], "size": X["size"][0]}
    frame = {name: [row.get(name)] for name in X}
    found = classifier.predict_proba(frame)[0]
    np.testing.assert_allclose(classifier.query(evidence=row).probabilities, found, atol=1e-9)
    with np.errstate(all="raise"):
        assert found.sum() == pytest.approx(1.0)


def test_neither_the_order_of_rows_nor_names_in_the_same_order_matter():
    X, y = identifiers()
    classifier = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y)
    assert classifier.choice_.joint_share
    order = np.random.default_rng(0).permutation(len(y))
    again = bg.BayesianNetworkClassifier(n_trees=0)
    again.fit({name: column[order] for name, column in X.items()}, y[order])
    given = classifier.predict_proba(X)
    np.testing.assert_array_equal(again.predict_proba(X), given)
    renamed = X | {"coin": np.where(X["coin"] == "0", "heads", "tails")}
    again.fit(renamed, y)
    np.testing.assert_array_equal(again.predict_proba(renamed), given)


def test_the_choice_is_saved(fitted, tmp_path):
    classifier, X, _ = fitted
    classifier.save(tmp_path / "model.bayesgraph")
    loaded = bg.load(tmp_path / "model.bayesgraph")
    assert loaded.choice_ == classifier.choice_
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


def test_no_feature_is_small_enough(monkeypatch):
    monkeypatch.setattr(joint_tables, "_MAX_JOINT", 4)
    X, y = identifiers()
    classifier = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y)
    assert not classifier.choice_.joint_share


def test_many_rows_of_many_classes_are_not_searched(monkeypatch):
    monkeypatch.setattr(cross_validation, "_MAX_NUMBERS", 100)
    X, y = identifiers()
    choice = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y).choice_
    assert not choice.joint_share
    assert not any(candidate.around for candidate in choice.losses)


def test_given_intervals_are_counted_as_they_are():
    X = np.random.default_rng(0).normal(size=(600, 4))
    y = (X > 0).sum(axis=1) % 2
    classifier = bg.BayesianNetworkClassifier(discretizer=bg.EqualFrequency(40), n_trees=0)
    classifier.fit(X, y)
    assert max(np.size(cpd.values) for cpd in classifier.network_.cpds) <= 1 << 19


def test_held_out_rows_are_scored_as_the_table_is_made():
    """Trees of both see groups of intervals: rows that all were seen have the same scores."""
    random = np.random.default_rng(0)
    codes = random.integers(40, size=(300, 2))
    labels = (codes[:, 0] // 5 + codes[:, 1] // 20) % 2
    sample = Sample.of(features_of((40, 40), binned=(0, 1)), codes, labels, np.empty(0), 2)
    effects = joint_effects(sample, (0, 1)) + np.log(sample.prior)
    found = joint_scores(sample, sample, (0, 1))
    np.testing.assert_allclose(found, effects[grid_of(sample, (0, 1)).rows(sample.codes)])


@pytest.mark.parametrize("max_steps", [300, 3000])
def test_a_joint_table_is_not_judged_by_a_few_trees(max_steps, monkeypatch):
    grown = []
    original = joint_tables.grow_trees

    def counted(sample, n_trees, effort):
        found = original(sample, n_trees, effort)
        grown.append(len(found.roots) == n_trees)
        return found

    monkeypatch.setattr(joint_tables, "grow_trees", counted)
    X, y = identifiers()
    classifier = bg.BayesianNetworkClassifier(n_trees=0, max_steps=max_steps).fit(X, y)
    assert not classifier.choice_.joint_share or all(grown[:10])
