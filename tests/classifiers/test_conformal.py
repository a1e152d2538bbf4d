"""Conformal prediction: ranks by hand, coverage on rows of one distribution, every classifier."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import DataError

NUMBERS, CLASSES = load_iris(return_X_y=True)


def rows(n, seed):
    """Return rows of three classes that overlap, the last of which is rare."""
    random = np.random.default_rng(seed)
    labels = random.choice(3, size=n, p=[0.5, 0.4, 0.1])
    return labels[:, None] + random.normal(size=(n, 2)), labels


def by_ranks(model, X, y, new, coverage, by_class=False):
    """Return sets by the definition, one row and class at a time."""
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    known = [(-row[place[c]], c) for row, c in zip(model.predict_log_proba(X), y, strict=True)]
    logs = model.predict_log_proba(new)
    sets = np.zeros(logs.shape, dtype=bool)
    for i, row in enumerate(logs):
        for label, k in place.items():
            scores = [s for s, c in known if c == label or not by_class]
            higher = 1 + sum(s >= -row[k] - 1e-9 for s in scores)
            sets[i, k] = higher / (len(scores) + 1) > 1 - coverage or k == np.argmax(row)
    return sets


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_are_those_of_the_ranks(by_class):
    model = bg.NaiveBayesClassifier().fit(*rows(60, 0))
    (X, y), (new, _) = rows(40, 1), rows(30, 2)
    assert model.conformalize(X, y, by_class=by_class) is model
    for coverage in (0.5, 0.8, 0.99):
        found = model.predict_set(new, coverage)
        np.testing.assert_array_equal(found, by_ranks(model, X, y, new, coverage, by_class))
    assert model.predict_set(new, 0.9999).all()  # more than 40 rows can say


def test_the_share_of_sets_with_the_true_class_is_the_coverage():
    model = bg.NaiveBayesClassifier().fit(*rows(300, 0))
    shares, rare = [], []
    for seed in range(1, 21):
        new, labels = rows(400, 100 + seed)
        found = model.conformalize(*rows(300, seed)).predict_set(new, 0.8)
        shares.append(found[np.arange(400), labels].mean())
        found = model.conformalize(*rows(300, seed), by_class=True).predict_set(new, 0.8)
        rare.append(found[labels == 2, 2].mean())
    # Each share has a standard deviation of about 0.03 around 0.8.
    assert np.mean(shares) == pytest.approx(0.8, abs=0.025)
    assert np.mean(rare) == pytest.approx(0.83, abs=0.05)  # 25 of 30 rows, rounded up


def test_cross_conformal_sets_use_the_rows_that_were_fitted():
    X, y = rows(150, 0)
    model = bg.NaiveBayesClassifier().fit(X, y).conformalize(X, y, cv=5)
    assert repr(model.calibration_) == "Calibration of 150 rows in 5 folds"
    new, labels = rows(2000, 1)
    found = model.predict_set(new, 0.9)
    assert 0.87 < found[np.arange(2000), labels].mean() < 0.95
    # A row of a fold among the new rows has the p-value of its rank at least.
    again = bg.NaiveBayesClassifier().fit(X, y).conformalize(X, y, cv=5)
    np.testing.assert_array_equal(again.predict_set(new, 0.9), found)


def test_a_fold_may_lack_a_class():
    X, y = rows(40, 0)
    X, y = np.concatenate([X, [[9.0, 9.0]]]), np.append(y, 3)
    model = bg.NaiveBayesClassifier().fit(X, y).conformalize(X, y, cv=4)
    assert model.predict_set(X, 0.9).shape == (41, 4)


def test_classes_of_a_stream_have_the_order_of_their_arrival():
    X, y = rows(300, 0)
    stream = bg.StreamingNaiveBayesClassifier()
    for label in (2, 0, 1):
        stream.partial_fit(X[y == label], y[y == label])
    assert stream.classes_.tolist() == [2, 0, 1]
    calibrating, new = rows(40, 1), rows(30, 2)[0]
    found = stream.conformalize(*calibrating).predict_set(new, 0.8)
    np.testing.assert_array_equal(found, by_ranks(stream, *calibrating, new, 0.8))
    assert stream.conformalize(X, y, cv=3).predict_set(new, 0.9)[:, 0].mean() < 0.7


def models():
    X = {"a": list("xyxyxyxx") * 3, "b": list("uvuvuuvw") * 3}
    y = list("ttttssss") * 3
    counts = np.random.default_rng(0).poisson(2.0, (24, 3))
    yield bg.NaiveBayesClassifier(), X, y
    yield bg.AODEClassifier(), X, y
    yield bg.AveragedTANClassifier(), X, y
    yield bg.KDBClassifier(), X, y
    yield bg.WeightedNaiveBayesClassifier(), X, y
    yield bg.BayesianNetworkClassifier(n_trees=2, max_steps=20), X, y
    yield bg.BayesianNetworkClassifier("tan"), X, y
    yield bg.DecisionTreeNetworkClassifier(), X, y
    yield bg.StreamingNaiveBayesClassifier(), X, y
    yield bg.DiscriminantAnalysisClassifier(), NUMBERS, CLASSES
    yield bg.ComplementNaiveBayesClassifier(), counts, y


@pytest.mark.parametrize(("model", "X", "y"), list(models()), ids=lambda v: type(v).__name__)
def test_every_classifier_has_sets(model, X, y):
    model.fit(X, y).conformalize(X, y)
    found = model.predict_set(X, 0.6)
    assert found.shape == model.predict_proba(X).shape
    assert found.any(axis=1).all()
    codes = np.searchsorted(model.classes_, y)
    assert found[np.arange(len(codes)), codes].mean() >= 0.6


def test_a_calibration_serves_the_model_that_it_was_made_with():
    X, y = rows(60, 0)
    model = bg.NaiveBayesClassifier().fit(X, y)
    with pytest.raises(DataError, match="conformalize"):
        model.predict_set(X)
    model.conformalize(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_set(X), model.predict_set(X))
    model.partial_fit(X, y)
    with pytest.raises(DataError, match="learned since"):
        model.predict_set(X)
    stream = bg.StreamingNaiveBayesClassifier().fit(X, y).conformalize(X, y)
    stream.predict_set(X)
    stream.partial_fit(X, y)
    with pytest.raises(DataError, match="learned since"):
        stream.predict_set(X)


def test_what_is_wrong_is_said():
    X, y = rows(60, 0)
    model = bg.NaiveBayesClassifier().fit(X[y < 2], y[y < 2])
    with pytest.raises(DataError, match="2 is not one of 0, 1"):
        model.conformalize(X, y)
    model.conformalize(X[y < 2], y[y < 2])
    with pytest.raises(DataError, match="between 0 and 1"):
        model.predict_set(X, coverage=90)
    with pytest.raises(DataError, match="cv="):
        model.conformalize(X[y < 2], y[y < 2], cv="five")
