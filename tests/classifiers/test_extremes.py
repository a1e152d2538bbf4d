"""Shapes and values at the edge: many features, few rows, constant and collinear columns."""

import warnings

import cases
import numpy as np
import pandas as pd
import pytest
from oracle import Oracle
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import bayesgraph as bg
from bayesgraph.core.errors import ExtrapolationWarning

unnamed = [c for c in cases.CLASSIFIERS if not c.named and "continuous" in c.kinds]
any_frame = [c for c in unnamed if set(cases.KINDS) <= set(c.kinds)]
# The star is naive Bayes by another way.
wide = [
    pytest.param(case, marks=[pytest.mark.slow] if case.name == "star" else [])
    for case in any_frame
    if case.name in ("nb", "star")
]
learned = [case for case in any_frame if "categorical" not in case.name]

numeric = [case for case in unnamed if "categorical" not in case.name]

for_any = pytest.mark.parametrize("case", any_frame, ids=str)
for_learned = pytest.mark.parametrize("case", learned, ids=str)


def finite(classifier, X):
    log_proba = classifier.predict_log_proba(X)
    assert not np.isnan(log_proba).any()
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    return log_proba


# ----------------------------------------------------------------------------- many features


@pytest.mark.slow
@pytest.mark.parametrize("case", wide, ids=str)
def test_five_thousand_continuous_features(case):
    random = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = random.normal(size=(90, 5000)) + 0.1 * y[:, None]
    classifier = case.estimator().fit(X, y)
    log_proba = finite(classifier, X)
    assert np.isfinite(log_proba).all()
    assert classifier.score(X, y) == 1.0
    # In linear space every density would be zero.
    assert (classifier.score_samples(X) < -5000).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", wide, ids=str)
@pytest.mark.parametrize("text", [False, True], ids=["integers", "text"])
def test_five_thousand_discrete_features(case, text):
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (random.integers(5, size=(60, 5000)) + (random.random((60, 5000)) < 0.1 * y[:, None])) % 5
    given = X.astype(str).astype(object) if text else X
    options = {} if text else {"categorical": "all"}
    classifier = case.estimator(**options).fit(given, y)
    assert np.isfinite(finite(classifier, given)).all()
    assert classifier.score(given, y) == 1.0
    assert (classifier.score_samples(given) < -5000).all()
    peer = CategoricalNB(min_categories=5).fit(X, y)
    np.testing.assert_allclose(
        classifier.predict_log_proba(given), peer.predict_log_proba(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.one_in(5)
@for_learned
def test_more_features_than_rows(case):
    random = np.random.default_rng(1)
    y = np.array(["a", "b"])[np.arange(12) % 2]
    X = random.normal(size=(12, 30)) + (y == "b")[:, None]
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(30)])
    for j in range(0, 30, 2):
        frame[f"c{j}"] = np.where(frame[f"c{j}"] > 0.5, "high", "low")
    for table in (X, frame):
        classifier = case.estimator().fit(table, y)
        assert np.isfinite(finite(classifier, table)).all()
        assert classifier.score(table, y) == 1.0
        assert classifier.network_.graph.number_of_nodes() == 31


# ------------------------------------------------------------------------- degenerate columns


# Neither 0.1 nor 1e100 is exact in binary: sums of them, divided by their number, are other values.
CONSTANTS = {"k1": 0.1, "k2": 3.3, "k3": 0.0, "k4": 1e100}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("case", "kind"), cases.pairs(named=False, kinds=("continuous", "discrete")), ids=str
)
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_constant_columns_change_nothing(case, kind, missing):
    data = cases.make_data(kind)
    constants = CONSTANTS if kind == "continuous" else {"k1": "same", "k2": "too"}
    data = data.with_missing() if missing else data
    rows = np.array([v is None for v in data.columns["a"]])
    frame = data.pandas().assign(**constants)
    frame["k1"] = frame["k1"].where(~rows)  # and missing here and there
    plain = case.estimator().fit(data.pandas(), data.y)
    classifier = case.estimator().fit(frame, data.y)
    expected = plain.predict_proba(data.pandas())
    np.testing.assert_allclose(classifier.predict_proba(frame), expected, rtol=1e-9, atol=1e-12)
    for arc, score in classifier.network_.arc_scores.items():
        if set(arc) & set(constants):
            assert score == 0.0
    if kind == "continuous" and "categorical" not in case.name:
        # Values that were never there say nothing about the class either.
        other = frame.assign(k1=-7.0, k2=3.4, k3=10.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            np.testing.assert_allclose(classifier.predict_proba(other), expected, atol=1e-6)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", numeric, ids=str)
def test_a_column_never_observed_changes_nothing(case):
    data = cases.make_data("continuous")
    X = np.column_stack([data.matrix(), np.full(60, np.nan)])
    classifier, plain = case.estimator().fit(X, data.y), case.estimator().fit(X[:, :4], data.y)
    expected = plain.predict_proba(X[:, :4])
    np.testing.assert_allclose(classifier.predict_proba(X), expected, rtol=1e-9, atol=1e-12)
    X[:, 4] = 1.0
    np.testing.assert_allclose(classifier.predict_proba(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.one_in(5)
@for_any
def test_only_constant_columns(case):
    table = pd.DataFrame({"k1": [2.0] * 5, "k2": ["u"] * 5, "k3": [0.0] * 5})
    classifier = case.estimator().fit(table, ["a", "b", "a", "a", "b"])
    np.testing.assert_allclose(classifier.predict_proba(table), [[0.6, 0.4]] * 5)


@pytest.mark.one_in(3)
@for_any
def test_a_column_constant_within_one_class(case):
    random = np.random.default_rng(2)
    y = np.repeat(["a", "b"], 20)
    frame = pd.DataFrame({"u": random.normal(size=40), "v": random.normal(size=40)})
    frame.loc[y == "a", "u"] = 0.0
    classifier = case.estimator().fit(frame, y)
    assert np.isfinite(finite(classifier, frame)).all()
    assert classifier.score(frame, y) > 0.6


@pytest.mark.one_in(5)
@for_any
@pytest.mark.parametrize("factor", [1.0, -1.0, 1e5])
def test_perfectly_correlated_columns(case, factor):
    random = np.random.default_rng(3)
    y = np.repeat(["a", "b"], 30)
    u = random.normal(size=60) + (y == "b")
    text = np.where(u > 0.5, "high", "low")
    frame = pd.DataFrame({"u": u, "v": factor * u, "s": text, "t": text, "w": factor * u + 2})
    classifier = case.estimator().fit(frame, y)
    assert np.isfinite(finite(classifier, frame)).all()
    assert classifier.score(frame, y) > 0.6
    assert all(np.isfinite(list(classifier.network_.arc_scores.values())))
    moved = frame.assign(v=frame["v"] + 1.0)  # off the line that the training rows are on
    finite(classifier, moved)


@pytest.mark.one_in(3)
@for_any
def test_classes_of_a_single_row(case):
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"u": random.normal(size=6), "v": random.normal(size=6)})
    frame["s"] = list("xxyyxz")
    y = ["a", "a", "a", "b", "c", "d"]
    classifier = case.estimator().fit(frame, y)
    assert np.isfinite(finite(classifier, frame)).all()
    one = case.estimator().fit(frame.iloc[:1], y[:1])
    assert list(one.predict(frame)) == ["a"] * 6


@pytest.mark.one_in(3)
@for_any
def test_a_single_feature(case):
    random = np.random.default_rng(5)
    y = np.repeat(["a", "b"], 20)
    numbers = pd.DataFrame({"u": random.normal(size=40) + 2 * (y == "b")})
    text = pd.DataFrame({"s": np.where(numbers["u"] > 1, "high", "low")})
    for frame in (numbers, text):
        classifier = case.estimator().fit(frame, y)
        arc = ("class", frame.columns[0])
        expected = arc if case.class_is_root else arc[::-1]
        assert list(classifier.network_.graph.edges) == [expected]
        assert classifier.score(frame, y) > 0.7


@pytest.mark.one_in(3)
@for_any
@pytest.mark.filterwarnings("ignore::bayesgraph.core.errors.FewRowsWarning")
def test_a_class_that_never_observes_a_column(case):
    random = np.random.default_rng(6)
    y = np.repeat(["a", "b"], 10)
    frame = pd.DataFrame({"u": random.normal(size=20), "s": ["p", "q"] * 10, "v": [1.0, 2.0] * 10})
    frame.loc[y == "b", "u"] = np.nan
    frame.loc[y == "a", "s"] = None
    classifier = case.estimator().fit(frame, y)
    assert np.isfinite(finite(classifier, frame)).all()
    assert np.isfinite(finite(classifier, frame.assign(u=0.3, s="q"))).all()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", unnamed, ids=str)
def test_a_huge_offset_keeps_the_moments(case):
    random = np.random.default_rng(7)
    y = np.repeat(["a", "b"], 40)
    numbers = random.normal(size=(80, 3)) + (y == "b")[:, None]
    numbers[:, 1] += numbers[:, 0]
    # Offsets that floats add without rounding, so that only the moments could go wrong.
    numbers = np.round(numbers * 2**20) / 2**20
    one = case.estimator().fit(numbers, y)
    other = case.estimator().fit(numbers + 2.0**30, y)
    assert list(one.network_.graph.edges) == list(other.network_.graph.edges)
    np.testing.assert_allclose(
        one.predict_proba(numbers), other.predict_proba(numbers + 2.0**30), atol=1e-6
    )


def test_the_most_probable_explanation_is_not_the_row_of_argmaxima():
    # P(c) = .4, .6; the first class leaves `a` certain, the second spreads over its states.
    rows = [("k", "x")] * 40 + [("l", s) for s in "xyz" for _ in range(20)]
    y, a = zip(*rows, strict=True)
    classifier = bg.NaiveBayesClassifier(smoothing=0.0).fit({"a": list(a)}, list(y))
    assert classifier.query().argmax == "l"
    assert classifier.predict({"a": [None]})[0] == "l"
    best = classifier.network_.most_probable()
    assert (best["class"], best["a"]) == ("k", "x")


# -------------------------------------------------------------------------------- parity


def test_gaussian_naive_bayes_of_scikit_learn():
    data = cases.make_data("continuous", 200)
    X = data.matrix()
    ours = bg.NaiveBayesClassifier(smoothing=bg.Smoothing(shrinkage=0.0, var_smoothing=0.0)).fit(
        X, data.y
    )
    peer = GaussianNB(var_smoothing=0.0).fit(X, data.y)
    for j, cpd in enumerate(ours.network_.cpds[1:]):
        np.testing.assert_allclose(cpd.mean, peer.theta_[:, j], rtol=1e-12)
        np.testing.assert_allclose(cpd.variance, peer.var_[:, j], rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-9, atol=1e-12)
    weights = np.random.default_rng(0).uniform(0.1, 3, size=200)
    ours.fit(X, data.y, sample_weight=weights)
    peer.fit(X, data.y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 0.3, 1e-9])
def test_categorical_naive_bayes_of_scikit_learn(alpha):
    random = np.random.default_rng(8)
    y = random.integers(3, size=150)
    X = (random.integers(4, size=(150, 6)) + y[:, None] * (random.random((150, 6)) < 0.4)) % 4
    weights = random.uniform(0.1, 3, size=150)
    for sample_weight in (None, weights):
        ours = bg.NaiveBayesClassifier(smoothing=bg.Smoothing(alpha=alpha), categorical="all")
        ours.fit(X, y, sample_weight=sample_weight)
        peer = CategoricalNB(alpha=alpha).fit(X, y, sample_weight=sample_weight)
        for cpd, log_table in zip(ours.network_.cpds[1:], peer.feature_log_prob_, strict=True):
            np.testing.assert_allclose(cpd.values, np.exp(log_table), rtol=1e-12)
        np.testing.assert_allclose(
            ours.predict_proba(X), peer.predict_proba(X), rtol=1e-10, atol=1e-13
        )


def test_missing_feature_parents_equal_brute_force():
    # A parent in the tree is missing below an observed child, alone and in chains.
    data = cases.make_data("mixed", 80)
    classifier = bg.TANClassifier(root="b").fit(data.pandas(), data.y)
    oracle = Oracle.of(classifier.network_)
    full = {name: data.columns[name][0] for name in cases.NAMES}
    for mask in range(16):
        row = {n: v for i, (n, v) in enumerate(full.items()) if mask >> i & 1}
        expected = oracle.posterior(["class"], row)
        frame = pd.DataFrame([{**dict.fromkeys(cases.NAMES), **row}])
        np.testing.assert_allclose(
            classifier.predict_proba(frame)[0], expected, rtol=1e-9, atol=1e-12
        )
