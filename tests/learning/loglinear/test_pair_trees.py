import itertools
from dataclasses import replace

import numpy as np
import pytest
from loglinear_rows import make_sample, random_parameters
from sklearn.metrics import mutual_info_score

import bayesgraph as bg
from bayesgraph.learning.loglinear import sample as samples
from bayesgraph.learning.loglinear import trees as pair_trees
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Normalised
from bayesgraph.learning.loglinear.trees import gains_of, residual_gains, tree_of


def test_a_trained_model_is_not_trained_again(monkeypatch):
    sample = make_sample()
    terms = Terms.of(sample.views, ())
    effects = Normalised.of(terms, random_parameters(terms, 3), sample.prior).effects
    monkeypatch.setattr(pair_trees, "train", None)
    found = residual_gains(sample, alone=(terms, effects))
    residuals, spreads = sample.rows(terms).residuals(effects)
    first, second = (sample.views[j].paired[sample.codes[:, j]] for j in (0, 1))
    expected = 0.0
    for cell in itertools.product(range(first.max() + 1), range(second.max() + 1)):
        own = (first == cell[0]) & (second == cell[1])
        expected += np.sum(residuals[own].sum(0) ** 2 / (spreads[own].sum(0) + pair_trees._RIDGE))
    assert found[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["information", "residual"])
def test_a_pair_that_interacts_has_the_largest_gain(measure):
    sample = make_sample((2, 3, 2, 4), 800, 2, binned=())
    labels = sample.codes[:, 0] ^ sample.codes[:, 2]
    gains = gains_of(replace(sample, labels=labels), measure)
    np.testing.assert_array_equal(gains, gains.T)
    assert np.unravel_index(np.argmax(gains), gains.shape) == (0, 2)
    assert (0, 2) in tree_of(gains)


def test_with_many_pairs_a_part_of_the_rows_is_used(monkeypatch):
    monkeypatch.setattr(pair_trees, "_MAX_STEPS", 1)
    monkeypatch.setattr(pair_trees, "_MIN_ROWS", 20)
    n_rows = []
    pair_gains = pair_trees.kernels.pair_gains

    def counted(first, last, groups, *others):
        n_rows.append(len(groups))
        pair_gains(first, last, groups, *others)

    monkeypatch.setattr(pair_trees.kernels, "pair_gains", counted)
    assert gains_of(make_sample((2, 3, 2), 400), "residual").shape == (3, 3)
    assert set(n_rows) == {20}


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_of_more_features_than_rows_those_that_tell_most_are_searched(monkeypatch, missing):
    monkeypatch.setattr(samples, "_SEARCHED", 5)
    sample = make_sample((3, 4, 12, 2, 20) * 8, 30, 3, binned=range(0, 40, 2), missing=missing)
    gains = []
    for column, view in zip(sample.codes.T, sample.views, strict=True):
        there = column >= 0
        groups = view.paired[column[there]]
        information = mutual_info_score(groups, sample.labels[there]) * there.sum()
        gains.append(information - groups_less_one(view) * (sample.n_classes - 1) / 2)
    most = len(sample.labels)
    assert most < len(gains)
    features = sample.searched
    assert set(features) == set(np.argsort(gains)[-most:])
    for measure in ("information", "residual"):
        monkeypatch.setattr(samples, "_SEARCHED", 5)
        some, tree = gains_of(sample, measure), tree_of(gains_of(sample, measure), (), features)
        monkeypatch.setattr(samples, "_SEARCHED", len(gains))
        whole = gains_of(replace(sample), measure)
        np.testing.assert_array_equal(some, whole[np.ix_(features, features)])
        heaviest = np.unravel_index(np.argmax(some), some.shape)
        assert tuple(features[list(heaviest)].tolist()) in tree


def groups_less_one(view):
    return len(np.unique(view.paired)) - 1


def test_a_table_of_more_columns_than_are_searched_is_learned(monkeypatch):
    monkeypatch.setattr(samples, "_SEARCHED", 10)
    random = np.random.default_rng(0)
    X = random.integers(3, size=(60, 80)).astype(str)
    y = (X[:, 7] == X[:, 9]).astype(int) + (random.random(60) < 0.1)
    classifier = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y)
    expected = bg.BayesianNetworkClassifier(n_trees=0).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(classifier.predict_proba(X), expected.predict_proba(X))
