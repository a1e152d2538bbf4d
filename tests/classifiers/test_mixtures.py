"""AODE and averaged TAN: what they add to what every classifier does."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.naive_bayes import CategoricalNB

import bayesgraph as bg
from bayesgraph.core.arrays import random_generator
from bayesgraph.core.errors import DataError


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return np.minimum(X[:, ::3] // 5, 3).astype(int), y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return np.round(X).astype(int), y


def test_aode_beats_naive_bayes_where_features_depend(digits):
    X, y = digits
    fit, held = slice(0, 1200), slice(1200, None)
    clf = bg.AODEClassifier(categorical="all").fit(X[fit], y[fit])
    plain = CategoricalNB(min_categories=4).fit(X[fit], y[fit])
    assert clf.score(X[held], y[held]) > plain.score(X[held], y[held]) + 0.02


def test_averaging_over_trees_of_few_rows(iris):
    X, y = iris
    clf = bg.AveragedTANClassifier(categorical="all", n_trees=200).fit(X[::5], y[::5])
    assert len(clf.network_.networks) > 1
    assert clf.edge_probabilities_.shape == (4, 4)
    assert clf.edge_probabilities_.sum() / 2 == pytest.approx(3)
    arcs = clf.network_.arc_probabilities
    for i in range(4):
        assert arcs["class", f"x{i}"] == 1.0


def test_seeds(iris):
    X, y = iris
    one, same, other = (
        bg.AveragedTANClassifier(categorical="all", random_state=seed).fit(X[::5], y[::5])
        for seed in (1, 1, 2)
    )
    assert one.network_ == same.network_
    assert one.network_ != other.network_
    np.testing.assert_array_equal(one.edge_probabilities_, other.edge_probabilities_)
    first, second = (random_generator(np.random.RandomState(3)).random() for _ in range(2))
    assert first == second
    generator = np.random.default_rng(0)
    assert random_generator(generator) is generator


@pytest.mark.one_in(2)
@pytest.mark.parametrize("estimator", [bg.AODEClassifier, bg.AveragedTANClassifier])
def test_batches_and_forgetting(digits, estimator):
    X, y = digits
    whole = estimator(categorical="all").fit(X, y)
    parts = bg.classifiers.fit_batches(
        estimator(categorical="all"), [(X[:700], y[:700]), (X[700:], y[700:])]
    )
    assert parts.network_ == whole.network_
    parts.partial_fit(X[:50], y[:50]).forget(X[:50], y[:50])
    assert parts.network_ == whole.network_
    if estimator is bg.AveragedTANClassifier:
        np.testing.assert_array_equal(parts.edge_probabilities_, whole.edge_probabilities_)


def test_files_keep_the_edges(iris, tmp_path):
    X, y = iris
    clf = bg.AveragedTANClassifier(categorical="all").fit(X[::5], y[::5])
    clf.save(tmp_path / "clf.bayesgraph")
    again = bg.load(tmp_path / "clf.bayesgraph")
    np.testing.assert_array_equal(again.edge_probabilities_, clf.edge_probabilities_)
    assert again.network_.arc_probabilities == clf.network_.arc_probabilities


def test_what_is_refused(iris):
    X, y = iris
    for wrong in ({"n_trees": 0}, {"n_trees": 2.5}, {"ess": 0.0}, {"ess": -1}):
        with pytest.raises(DataError, match=next(iter(wrong))):
            bg.AveragedTANClassifier(**wrong).fit(X, y)
    with pytest.raises(DataError, match="min_rows"):
        bg.AODEClassifier(min_rows=-1).fit(X, y)
    with pytest.raises(DataError, match="min_rows"):
        bg.AODEClassifier(min_rows=float("nan")).fit(X, y)
