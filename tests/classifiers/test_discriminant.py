"""Linear and quadratic discriminant analysis against scikit-learn, by hand and by brute force."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

import bayesgraph as bg
from bayesgraph.core.errors import ExtrapolationWarning, ImpossibleEvidenceWarning

DATA = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
data = pytest.mark.parametrize(("X", "y"), DATA.values(), ids=DATA)
shrinkages = pytest.mark.parametrize(
    ("ours", "theirs"), [(None, None), (0.3, 0.3), (1.0, 1.0), ("ledoit_wolf", "auto")]
)
STRUCTURES = ("full", "diagonal", "spherical")


PLAIN = bg.Smoothing(var_smoothing=0.0)


def linear(**parameters):
    return bg.DiscriminantAnalysisClassifier(**{"smoothing": PLAIN, **parameters})


def quadratic(**parameters):
    return bg.DiscriminantAnalysisClassifier("class", **{"smoothing": PLAIN, **parameters})


# ------------------------------------------------------------------------------- scikit-learn


@data
@shrinkages
def test_linear_equals_scikit_learn(X, y, ours, theirs):
    found = linear(regularization=ours).fit(X, y)
    expected = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=theirs).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.covariance_, expected.covariance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.means_, expected.means_, rtol=1e-12)


@data
@shrinkages
def test_quadratic_equals_scikit_learn(X, y, ours, theirs):
    found = quadratic(regularization=ours).fit(X, y)
    expected = QuadraticDiscriminantAnalysis(
        solver="eigen", shrinkage=theirs, store_covariance=True
    ).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(found.covariance_, expected.covariance_, rtol=1e-9, atol=1e-12)


@data
def test_priors_weigh_what_scikit_learn_finds_without_them(X, y):
    # (Its own priors= also weigh the covariances of the classes.)
    priors = np.array([0.1, 0.6, 0.3])
    for ours, theirs in (
        (linear(priors=priors), LinearDiscriminantAnalysis(solver="lsqr")),
        (quadratic(priors=priors), QuadraticDiscriminantAnalysis()),
    ):
        expected = theirs.fit(X, y).predict_proba(X) * priors / theirs.priors_
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), expected, atol=1e-9)
    asked = QuadraticDiscriminantAnalysis(priors=priors).fit(X, y)
    found = quadratic(priors=priors).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), asked.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("absent", [0, 2])
def test_a_class_of_prior_zero_leaves_the_others_as_without_it(absent):
    X, y = DATA["iris"]
    kept = [k for k in range(3) if k != absent]
    priors = np.where(np.arange(3) == absent, 0.0, 0.5)
    found = linear(priors=priors).fit(X, y).predict_proba(X)
    scores = linear(priors="uniform").fit(X, y).predict_log_proba(X)[:, kept]
    np.testing.assert_allclose(found[:, kept], softmax(scores, axis=1), atol=1e-9)
    np.testing.assert_array_equal(found[:, absent], 0.0)


@data
def test_axes_equal_those_of_the_eigen_solver_up_to_sign(X, y):
    found = linear().fit(X, y)
    expected = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    scores, theirs = found.transform(X), expected.transform(X)
    assert scores.shape == (len(X), 2)
    theirs = theirs - theirs.mean(axis=0)  # the shares of the classes are those of the rows
    np.testing.assert_allclose(np.abs(scores), np.abs(theirs), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        found.explained_variance_ratio_, expected.explained_variance_ratio_, atol=1e-10
    )
    np.testing.assert_array_equal(found.fit_transform(X, y), scores)
    within = found.scalings_.T @ found.covariance_ @ found.scalings_
    np.testing.assert_allclose(within, np.eye(2), atol=1e-9)
    names = found.get_feature_names_out()
    assert list(names) == ["discriminantanalysisclassifier0", "discriminantanalysisclassifier1"]


def test_axes_of_quadratic_classes_are_of_their_mean_covariance():
    X, y = DATA["iris"]
    found = quadratic().fit(X, y)
    pooled = found.covariance_.mean(axis=0)
    within = found.scalings_.T @ pooled @ found.scalings_
    np.testing.assert_allclose(within, np.eye(2), atol=1e-9)
    with pytest.raises(AttributeError, match="covariance='shared' only"):
        _ = found.w_


# ------------------------------------------------------------------------------------ by hand


def test_linear_by_hand():
    # Squares of side 2 around (1, 1) and (5, 1): S = 1, so log odds = 4 x - 12.
    square = np.array([[0, 0], [2, 0], [0, 2], [2, 2]], dtype=float)
    X = np.concatenate([square, square + np.array([4, 0])])
    clf = linear().fit(X, ["left"] * 4 + ["right"] * 4)
    np.testing.assert_allclose(clf.covariance_, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(clf.w_[1] - clf.w_[0], [4.0, 0.0], atol=1e-14)
    assert clf.w0_[1] - clf.w0_[0] == pytest.approx(-12.0)
    asked = np.array([[3.0, 7.0], [3.25, -1.0], [2.0, 0.0]])
    expected = expit([0.0, 1.0, -4.0])
    np.testing.assert_allclose(clf.predict_proba(asked)[:, 1], expected, rtol=1e-13)
    assert clf.predict(asked).tolist() == ["left", "right", "left"]
    np.testing.assert_allclose(clf.transform([[3.0, 5.0], [4.0, 0.0]]), [[0.0], [1.0]], atol=1e-14)
    unbiased = linear(smoothing=bg.Smoothing(var_smoothing=0.0, ddof=1)).fit(X, [0] * 4 + [1] * 4)
    np.testing.assert_allclose(unbiased.covariance_, np.eye(2) * 8 / 6, atol=1e-15)


def test_quadratic_by_hand():
    # Variances 1 and 4 around 0 and 3; at x = 1: -1/2 against -log 2 - 1/2.
    clf = quadratic().fit([[-1.0], [1.0], [1.0], [5.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(clf.covariance_.ravel(), [1.0, 4.0])
    odds = math.exp(-0.5) / (math.exp(-0.5) / 2)
    np.testing.assert_allclose(clf.predict_proba([[1.0]]), [[odds / (1 + odds), 1 / (1 + odds)]])


# ------------------------------------------------------------------------------ the one engine


@data
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_linear_form_is_what_the_network_answers(X, y, structure):
    clf = linear(structure=structure, priors=[0.2, 0.3, 0.5]).fit(X, y)
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(softmax(X @ clf.w_.T + clf.w0_, axis=1), proba, atol=1e-9)
    frame = {f"x{j}": column for j, column in enumerate(X.T)}
    np.testing.assert_allclose(clf.network_.query_rows("class", frame), proba, atol=1e-9)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[proba.argmax(axis=1)])


def test_two_classes_have_a_logistic_function():
    X, y = DATA["iris"]
    X, y = X[50:], y[50:]
    clf = linear().fit(X, y)
    odds = X @ (clf.w_[1] - clf.w_[0]) + clf.w0_[1] - clf.w0_[0]
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expit(odds), rtol=1e-9, atol=1e-12)
    assert clf.transform(X).shape == (100, 1)


@data
@pytest.mark.parametrize("make", [linear, quadratic])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_missing_features_are_marginalised(X, y, make, structure):
    clf = make(structure=structure, smoothing=bg.Smoothing(var_smoothing=1e-6)).fit(X, y)
    rows = X[::7].copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.4] = np.nan
    rows[0] = np.nan
    prior = clf.query().probabilities
    for row, found in zip(rows, clf.predict_proba(rows), strict=True):
        seen = np.flatnonzero(~np.isnan(row))
        log_density = np.log(prior)
        if len(seen):
            for c in range(3):
                covariance = clf.covariance_ if make is linear else clf.covariance_[c]
                inner = covariance[np.ix_(seen, seen)]
                log_density[c] += multivariate_normal.logpdf(row[seen], clf.means_[c, seen], inner)
        np.testing.assert_allclose(found, softmax(log_density), rtol=1e-8, atol=1e-12)


def test_missing_and_infinite_numbers_are_found_where_a_slope_is_zero():
    # Both classes have the same mean in the second column, so that its slope is exactly 0.
    X = np.array([[-2.0, -1.0], [-1.0, 1.0], [-2.0, 1.0], [-1.0, -1.0]])
    X = np.concatenate([X, X + np.array([3.0, 0.0])])
    clf = linear(structure="diagonal").fit(X, np.repeat(["a", "b"], 4))
    assert (clf.w_[:, 1] == 0).all()
    one_missing = X.copy()
    one_missing[3, 1] = np.nan
    # The columns are independent: the second says nothing of the class.
    np.testing.assert_allclose(clf.predict_proba(one_missing), clf.predict_proba(X), rtol=1e-12)
    for infinity in (np.inf, -np.inf):
        one_missing[5, 1] = infinity
        with pytest.raises(bg.errors.DataError, match=r"'x1'.*row 5"):
            clf.predict(one_missing)


def test_finite_numbers_with_scores_beyond_floats_are_no_error():
    X = np.random.default_rng(1).normal(size=(40, 2)) * 1e-3
    clf = linear().fit(X, np.repeat([0, 1], 20))
    far = np.vstack([X, [1e308, -1e308]])
    with pytest.warns(ExtrapolationWarning, match=r"x0 = 1e\+308 .*, x1 = -1e\+308 "):
        np.testing.assert_array_equal(clf.predict(far)[:-1], clf.predict(X))


@pytest.mark.parametrize("size", [1e160, 1e307, 1e308])
def test_scores_beyond_floats_choose_the_class_of_smaller_numbers_in_the_same_direction(size):
    X, y = DATA["iris"]
    clf = linear().fit(X, y)
    rows = np.tile(X[:1], (4, 1))
    rows[0, 2:] = rows[1, 2] = size
    rows[2] = [-size, 0.0, size, size]
    near = np.where(rows == size, 1e9, np.where(rows == -size, -1e9, rows))
    with pytest.warns(ExtrapolationWarning):
        posterior, expected = clf.predict_proba(rows), clf.predict_proba(near)
    np.testing.assert_allclose(posterior, expected, atol=1e-12)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize("unit", [1e-139, 1e-9, 1e139])
def test_scores_beyond_floats_are_found_in_every_unit(unit):
    X, y = DATA["iris"]
    clf, other = linear().fit(X * unit, y), linear().fit(X, y)
    largest = np.finfo(float).max
    rows = np.array([[1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, -1, -1]]) * largest
    with pytest.warns(ExtrapolationWarning):
        posterior, expected = clf.predict_proba(rows), other.predict_proba(rows / 1e300)
    np.testing.assert_array_equal(posterior, expected)


@pytest.mark.parametrize("make", [linear, quadratic])
def test_numbers_whose_densities_are_beyond_floats_are_impossible(make):
    X, y = DATA["iris"]
    clf = make().fit(X, y)
    largest = np.finfo(float).max
    rows = np.vstack([X[:1], [largest, -largest, largest, np.nan], [-1e308, 0, 0, np.nan]])
    with pytest.warns(ExtrapolationWarning), pytest.warns(ImpossibleEvidenceWarning, match="2 of"):
        posterior = clf.predict_proba(rows)
    np.testing.assert_allclose(posterior, [clf.predict_proba(X[:1])[0], *[[1 / 3] * 3] * 2])


def test_features_are_answered_too():
    X, y = DATA["iris"]
    clf = linear().fit(X, y)
    posterior = clf.query("x2", {"class": 1, "x0": 6.0})
    slope = clf.covariance_[2, 0] / clf.covariance_[0, 0]
    assert posterior.mean == pytest.approx(clf.means_[1, 2] + slope * (6.0 - clf.means_[1, 0]))


# ---------------------------------------------------------------------------------- in fitting


def test_missing_values_in_fitting_lose_little():
    X, y = DATA["iris"]
    gone = np.random.default_rng(0).random(X.shape) < 0.25
    for make in (linear, quadratic):
        clf = make(smoothing=bg.Smoothing(var_smoothing=1e-6)).fit(np.where(gone, np.nan, X), y)
        assert clf.n_iter_ > 1
        assert clf.score(X, y) > 0.95
        assert np.isnan(clf.transform(np.where(gone, np.nan, X))[gone.any(axis=1)]).all()


def test_fractional_weights_are_not_taken_for_missing_values():
    X, y = DATA["iris"]
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=150)
    clf = linear().fit(X, y, sample_weight=weights)
    assert clf.n_iter_ == 1
    centred = X - clf.means_[y]
    expected = (centred * weights[:, None]).T @ centred / weights.sum()
    np.testing.assert_allclose(clf.covariance_, expected, rtol=1e-10)
    np.testing.assert_allclose(
        clf.means_[1], np.average(X[50:100], axis=0, weights=weights[50:100])
    )


@pytest.mark.parametrize("make", [linear, quadratic])
def test_more_columns_than_rows_have_a_density(make):
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 40))
    X[10:] += 3.0
    clf = make(smoothing=bg.Smoothing(var_smoothing=1e-6)).fit(X, [0] * 10 + [1] * 10)
    assert np.isfinite(clf.score_samples(X)).all()
    assert clf.score(X, [0] * 10 + [1] * 10) == 1.0
    shrunken = make(regularization="ledoit_wolf").fit(X, [0] * 10 + [1] * 10)
    assert shrunken.score(random.normal(size=(50, 40)), [0] * 50) > 0.9
    with pytest.raises(ValueError, match="singular"):
        make().fit(X, [0] * 10 + [1] * 10)


def test_names_labels_and_frames():
    X, y = DATA["iris"]
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    labels = pd.Series(np.array(["setosa", "versicolor", "virginica"])[y], name="kind")
    clf = bg.DiscriminantAnalysisClassifier("class", regularization=0.1).fit(frame, labels)
    assert clf.target_.name == "kind"
    assert clf.query(evidence={"pl": 1.4}).argmax == "setosa"
    assert clf.transform(frame).shape == (150, 2)
    columns = clf.set_output(transform="pandas").transform(frame).columns
    assert list(columns) == [f"discriminantanalysisclassifier{i}" for i in range(2)]
    text = frame.assign(colour=["red", "blue"] * 75)
    with pytest.raises(ValueError, match=r"numeric features; 'colour' are not numbers.*TAN"):
        clf.fit(text, labels)


def test_parameters_are_checked_in_fitting():
    X, y = DATA["iris"]
    with pytest.raises(ValueError, match="covariance= is one of 'shared', 'class'; got 'pooled'"):
        bg.DiscriminantAnalysisClassifier("pooled").fit(X, y)
    with pytest.raises(ValueError, match="one number for each"):
        linear(priors=[0.5, 0.5]).fit(X, y)


# --------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_native_files_keep_the_block(tmp_path, structure, covariance):
    X, y = DATA["iris"]
    clf = bg.DiscriminantAnalysisClassifier(covariance, structure=structure).fit(X, y)
    clf.save(tmp_path / "model.bayesgraph")
    again = bg.load(tmp_path / "model.bayesgraph")
    assert again.get_params() == clf.get_params()
    assert again.network_._blocks == clf.network_._blocks
    np.testing.assert_array_equal(again.covariance_, clf.covariance_)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(again.transform(X), clf.transform(X))
    network = bg.BayesianNetwork(clf.network_._blocks[::-1])
    network.save(tmp_path / "network.bayesgraph")
    loaded = bg.load(tmp_path / "network.bayesgraph")
    assert loaded._blocks == network._blocks
    assert loaded.variables == network.variables
