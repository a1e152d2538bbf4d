"""Shapes: they add up to the log odds, and are means of the log odds where nothing adds up."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownVariableError, UnsupportedModelError
from bayesgraph.questions.contributions import _mean_terms


def rows(n=200, seed=0):
    random = np.random.default_rng(seed)
    X = {
        "size": random.normal(size=n).tolist(),
        "colour": random.choice(["red", "green", "blue"], n).tolist(),
        "age": random.integers(20, 70, n).astype(float).tolist(),
    }
    odds = np.array(X["size"]) + (np.array(X["colour"]) == "red") * (np.array(X["age"]) / 20 - 2)
    return X, np.where(random.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


def sum_of_terms(shapes, row):
    """Return the intercept plus the terms of a row."""
    total = shapes.intercept.copy()
    for term in shapes.terms:
        total += term.log_odds[tuple(v.index(row[v.name]) for v in term.variables)]
    return total


@pytest.mark.parametrize(
    "estimator",
    [
        lambda: bg.NaiveBayesClassifier(discretizer="frequency"),
        lambda: bg.TANClassifier(discretizer="mdlp"),
        lambda: bg.BayesianNetworkClassifier(n_trees=0),
    ],
)
def test_terms_add_up_to_the_log_odds(estimator):
    X, y = rows()
    clf = estimator().fit(X, y)
    shapes = clf.shapes()
    assert shapes.rows == 0
    assert shapes.labels == ("yes against no",)
    odds = bg.classifiers.log_odds(clf, X)
    for i in range(0, 200, 13):
        row = {name: column[i] for name, column in X.items()}
        assert sum_of_terms(shapes, row) == pytest.approx(odds[i], abs=1e-9)
    turned = clf.shapes(positive="no")
    np.testing.assert_allclose(turned.intercept, -shapes.intercept)


def test_terms_have_the_mean_zero_and_the_strongest_is_first():
    X, y = rows()
    shapes = bg.TANClassifier(discretizer="frequency").fit(X, y).shapes()
    strengths = [term.strength for term in shapes.terms]
    assert strengths == sorted(strengths, reverse=True)
    pairs = [term for term in shapes.terms if len(term.variables) == 2]
    assert len(pairs) == 2
    for term in shapes.terms:
        np.testing.assert_allclose(term.share.sum(), 1.0)
        mean = np.tensordot(term.share, term.log_odds, term.share.ndim)
        np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    for term in pairs:
        for axis in (0, 1):
            share = term.share.sum(axis=1 - axis)
            means = np.tensordot(share, term.log_odds, (0, axis))
            np.testing.assert_allclose(means, 0.0, atol=1e-12)


def test_several_classes_are_compared_with_their_mean():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y)
    shapes = clf.shapes()
    assert shapes.labels == ("setosa", "versicolor", "virginica")
    logs = clf.predict_log_proba(X.iloc[::10])
    for i, row in enumerate(X.iloc[::10].to_dict("records")):
        np.testing.assert_allclose(sum_of_terms(shapes, row), logs[i] - logs[i].mean(), atol=1e-9)
    one = clf.shapes(positive="virginica")
    np.testing.assert_allclose(one.intercept, shapes.intercept[2:])
    two = clf.shapes(positive="virginica", negative="setosa")
    np.testing.assert_allclose(two.intercept, shapes.intercept[2] - shapes.intercept[0])


def test_shapes_by_name():
    X, y = rows()
    clf = bg.TANClassifier(discretizer="frequency").fit(X, y)
    shapes = clf.shapes()
    assert shapes["age"].variables == (clf.network_.variable("age"),)
    names = next(name for name in shapes if isinstance(name, tuple))
    assert shapes[names] is shapes[names[::-1]]
    assert len(shapes) == len(list(shapes)) == 5
    with pytest.raises(UnknownVariableError, match="Did you mean 'age'"):
        shapes["agee"]
    assert "'size' × " in repr(shapes) or "× 'size'" in repr(shapes)


def test_what_is_no_sum_takes_rows():
    X, y = rows(300)
    clf = bg.BayesianNetworkClassifier(n_trees=20).fit(X, y)
    assert isinstance(clf.network_, bg.Ensemble)
    with pytest.raises(UnsupportedModelError, match="n_trees=0"):
        clf.shapes()
    with pytest.raises(UnsupportedModelError, match="GaussianCPD"):
        bg.NaiveBayesClassifier().fit(X, y).shapes()
    shapes = clf.shapes(X)
    assert shapes.rows == 300
    assert shapes.intercept == pytest.approx(bg.classifiers.log_odds(clf, X).mean())
    set_to = {**X, "colour": ["blue"] * 300}
    means = [
        bg.classifiers.log_odds(clf, {**X, "colour": [c] * 300}).mean()
        for c in ("red", "green", "blue")
    ]
    colour = shapes["colour"]
    codes = [colour.variables[0].index(c) for c in ("red", "green", "blue")]
    np.testing.assert_allclose(
        np.diff(colour.log_odds[codes, 0]), np.diff(means), rtol=1e-9, atol=1e-12
    )
    assert set_to["size"] is X["size"]
    numbers = np.array(X["age"])
    (age,) = shapes["age"].variables
    np.testing.assert_allclose(shapes["age"].share, np.bincount(age.codes(numbers)) / 300)


def test_of_a_sum_the_means_over_rows_are_its_terms():
    X, y = rows()
    clf = bg.NaiveBayesClassifier(discretizer="frequency").fit(X, y)
    exact = clf.shapes()
    evidence = next(iter(clf._evidence(X)))[2]
    weights = np.array([[-1.0, 1.0]])
    _, terms = _mean_terms(clf.network_, clf.target_, evidence, weights)
    for term in terms:
        other = exact[term.variables[0].name].log_odds
        np.testing.assert_allclose(np.diff(term.log_odds, axis=0), np.diff(other, axis=0))


def test_impossible_states_are_refused():
    X, y = {"a": ["p", "p", "q", "q"]}, ["u", "u", "v", "v"]
    clf = bg.NaiveBayesClassifier(smoothing=0.0).fit(X, y)
    with pytest.raises(DataError, match="alpha= above 0"):
        clf.shapes()


def test_terms_of_several_features_add_up_and_are_found_in_any_order():
    random = np.random.default_rng(0)
    X = random.integers(3, size=(300, 4)).astype(str)
    y = (X[:, 0] == X[:, 1]).astype(int) + (X[:, 2] == "0")
    clf = bg.KDBClassifier(k=3).fit(X, y)
    shapes = clf.shapes()
    scores = np.log(clf.predict_proba(X[:20]))
    expected = scores - scores.mean(axis=1, keepdims=True)
    found = np.tile(shapes.intercept, (20, 1))
    for term in shapes.terms:
        columns = [X[:20, int(v.name[1:])] for v in term.variables]
        codes = [[v.index(x) for x in c] for v, c in zip(term.variables, columns, strict=True)]
        found += term.log_odds[tuple(codes)]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    four = shapes["x3", "x1", "x0", "x2"]
    assert four is shapes["x0", "x1", "x2", "x3"]
    assert four.log_odds.shape == (3, 3, 3, 3, 3)
