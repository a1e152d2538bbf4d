"""Weights of classes and of rows, where a model is trained to predict."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from comparison import assert_same_network
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.utils.class_weight import compute_sample_weight

import bayesgraph as bg
from bayesgraph.classifiers.intake import labels_of, parted, weights_by_class
from bayesgraph.learning.loglinear.sample import Sample

TRAINED = {
    "average": partial(bg.BayesianNetworkClassifier, n_trees=9),
    "single": partial(bg.BayesianNetworkClassifier, n_trees=0),
    "tan": partial(bg.BayesianNetworkClassifier, "tan", exponents="cells"),
    "tan-weighted": partial(bg.BayesianNetworkClassifier, "tan", exponents="mixed"),
    "weighted": bg.WeightedNaiveBayesClassifier,
    "fractional": partial(bg.WeightedNaiveBayesClassifier, "fractional"),
}
HEAVY = {"no": 0.5, "rare": 30.0}
trained = pytest.mark.parametrize("name", TRAINED)


@cache
def rows(n=300, seed=0):
    """Return a table with missing values, whose rare class takes two columns to predict."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": random.choice(["u", "v", "w"], n)})
    score = x[:, 0] * x[:, 1] + 0.4 * random.normal(size=n)
    y = np.where(score > 1.1, "rare", "no").astype("U5")
    y[random.random(n) < 0.3] = "other"
    frame.loc[random.random(n) < 0.1, "a"] = None
    return frame, y


@cache
def fitted(name):
    return TRAINED[name]().fit(*rows())


def moved(proba, classes, weights):
    """Return probabilities that are multiplied by class weights, by hand."""
    found = proba * [weights.get(label, 1.0) for label in classes]
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.one_in(3)
@trained
def test_a_class_weight_multiplies_the_posterior(name):
    X, y = rows()
    plain = fitted(name)
    heavy = TRAINED[name](class_weight=HEAVY).fit(X, y)
    expected = moved(plain.predict_proba(X), plain.classes_, HEAVY)
    np.testing.assert_allclose(heavy.predict_proba(X), expected, rtol=1e-9)
    for evidence in ({}, {"a": 1.3}, {"b": -0.2, "c": "v"}):
        known = plain.query(evidence=evidence).probabilities
        expected = moved(known[None], plain.classes_, HEAVY)[0]
        found = heavy.query(evidence=evidence).probabilities
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    # What else is known of the rows is not changed by what they weigh.
    for one, other in zip(plain.network_.cpds, heavy.network_.cpds, strict=True):
        if one.variable != plain.target_:
            assert one == other


def test_a_label_that_no_row_has_is_told(tmp_path):
    X, y = rows()
    told = r"class_weight= names 'rar', which no row has; .*Did you mean 'rare'\?"
    clf = bg.NaiveBayesClassifier(class_weight={"rar": 3.0, "no": 1.0})
    with pytest.warns(bg.errors.BayesGraphWarning, match=told):
        clf.fit(X, y)
    X.assign(y=y).to_parquet(tmp_path / "x.parquet")
    with pytest.warns(bg.errors.BayesGraphWarning, match=told):
        clf.fit(tmp_path / "x.parquet", "y")


def test_a_tree_tells_a_label_of_another_type():
    X, y = [[0.0], [1.0]] * 10, [0, 1] * 10
    with pytest.warns(bg.errors.BayesGraphWarning, match="class_weight= names '1', which no row"):
        bg.DecisionTreeNetworkClassifier(class_weight={"1": 5.0}).fit(X, y)


def test_a_batch_may_lack_a_class_that_has_a_weight():
    X, y = rows()
    few = np.flatnonzero(y != "rare")[:50]
    clf = bg.NaiveBayesClassifier(class_weight={"rare": 3.0}).partial_fit(X.iloc[few], y[few])
    assert clf.partial_fit(X, y).classes_.tolist() == ["no", "other", "rare"]


def test_an_average_keeps_its_shift(tmp_path):
    X, y = rows()
    heavy = TRAINED["average"](class_weight=HEAVY).fit(X, y)
    assert isinstance(heavy.network_, bg.Ensemble)
    heavy.save(tmp_path / "heavy.bayesgraph")
    again = bg.load(tmp_path / "heavy.bayesgraph")
    assert again.network_ == heavy.network_
    np.testing.assert_array_equal(again.predict_proba(X), heavy.predict_proba(X))
    row = X.iloc[[5]]
    found = heavy.contributions(evidence=row, positive="rare", negative="no")
    assert found.total == pytest.approx(
        bg.classifiers.log_odds(heavy, row, positive="rare", negative="no")[0]
    )
    before = fitted("average").contributions(evidence=row, positive="rare", negative="no")
    assert found.prior - before.prior == pytest.approx(np.log(60))
    assert {k: round(v, 9) for k, v in found.items()} == {k: round(v, 9) for k, v in before.items()}


@pytest.mark.one_in(6)
@trained
def test_balanced_sample_weights_are_class_weights(name):
    X, y = rows()
    one = TRAINED[name](class_weight="balanced").fit(X, y)
    other = TRAINED[name]().fit(X, y, compute_sample_weight("balanced", y))
    assert_same_network(one.network_, other.network_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-12)
    whole = TRAINED[name]().fit(X, y, np.where(y == "rare", 30, 1))
    np.testing.assert_array_equal(
        whole.predict_proba(X),
        TRAINED[name](class_weight={"rare": 30}).fit(X, y).predict_proba(X),
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["average", "weighted"])
def test_counts_of_rows_and_class_weights_are_told_apart(name):
    X, y = rows()
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    one = TRAINED[name](class_weight="balanced").fit(X, y, counts)
    plain = TRAINED[name]().fit(X.loc[X.index.repeat(counts)], y.repeat(counts))
    n = {label: int((y == label).sum()) for label in np.unique(y)}
    weights = {label: len(y) / (3 * count) for label, count in n.items()}
    expected = moved(plain.predict_proba(X), plain.classes_, weights)
    np.testing.assert_allclose(one.predict_proba(X), expected, rtol=1e-9)


@pytest.mark.one_in(3)
@trained
def test_priors_go_before_class_weights(name):
    X, y = rows()
    priors = [0.2, 0.3, 0.5]
    one, other = (
        TRAINED[name](priors=priors, class_weight=w).fit(X, y).predict_proba(X)
        for w in (None, HEAVY)
    )
    np.testing.assert_array_equal(one, other)


def test_a_class_without_weight_is_left_out():
    X, y = rows()
    found = TRAINED["average"](class_weight={"other": 0.0}).fit(X, y)
    kept = y != "other"
    assert found.classes_.tolist() == ["no", "rare"]
    expected = TRAINED["average"]().fit(X[kept], y[kept])
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_no_row_with_a_weight_is_told_of_class_weights():
    X, y = rows()
    only = np.unique(y)[0]
    for weight, weights in (
        (dict.fromkeys(np.unique(y), 0.0), None),
        ({only: 0.0}, np.where(y == only, 1.0, 0.0)),
    ):
        with pytest.raises(
            bg.errors.DataError, match="class_weight= leaves no row a positive weight"
        ):
            TRAINED["average"](class_weight=weight).fit(X, y, sample_weight=weights)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["average", "weighted"])
def test_files_of_rows_are_weighed_as_tables(name, tmp_path):
    X, y = rows()
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    for weight in (HEAVY, {"other": 0.0, "no": 3.0}):
        make = partial(TRAINED[name], class_weight=weight, check_columns=False)
        found = make().fit(tmp_path / "rows.parquet", "y")
        expected = make().fit(X, pd.Series(y, name="y"))
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.slow
def test_balancing_ranks_rows_as_before():
    random = np.random.default_rng(3)
    X = random.normal(size=(2_000, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + random.logistic(size=2_000)
    y = score > np.quantile(score, 0.98)
    fit, held = slice(1_000), slice(1_000, None)
    balanced = compute_sample_weight("balanced", y[fit])
    found = [
        average_precision_score(y[held], clf.predict_proba(X[held])[:, 1])
        for clf in (
            TRAINED["average"]().fit(X[fit], y[fit]),
            TRAINED["average"](class_weight="balanced").fit(X[fit], y[fit]),
            TRAINED["average"]().fit(X[fit], y[fit], balanced),
        )
    ]
    np.testing.assert_allclose(found, found[0], atol=1e-9)
    assert found[0] > 0.06


# ---------------------------------------------------------------------------- weights of rows


CODES = np.array([0, 0, 0, 1, 1, 2])


@pytest.mark.parametrize(
    ("weights", "by_class", "rows", "classes"),
    [
        ([1, 1, 1, 1, 1, 1], 1.0, [1] * 6, [1, 1, 1]),
        ([2, 2, 2, 2, 2, 2], 1.0, [2] * 6, [1, 1, 1]),
        ([2, 1, 1, 3, 1, 1], 1.0, [2, 1, 1, 3, 1, 1], [1, 1, 1]),
        ([1, 1, 1, 9, 9, 4], 1.0, None, [1, 9, 4]),
        ([0.3, 0.3, 0.3, 9, 9, 4], 1.0, None, [0.3, 9, 4]),
        ([0.6, 0.3, 0.3, 9, 9, 4], [0.3, 9, 4], [2, 1, 1, 1, 1, 1], [0.3, 9, 4]),
        ([0.3, 0.3, 0.3, 0.3, 0.3, 0.3], 1.0, None, [0.3, 0.3, 0.3]),
        (
            [1.8, 1.2, 0.6, 8, 8, 1],
            1.0,
            [1.5, 1, 0.5, 1, 1, 1],
            [1.2, 8, 1],
        ),
    ],
)
def test_weights_are_taken_apart(weights, by_class, rows, classes):
    given = np.full(3, 1.0) * by_class
    found, by = parted(np.array(weights, dtype=float), CODES, given)
    np.testing.assert_allclose(by, classes, rtol=1e-7)
    if rows is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, rows, rtol=1e-7)


def test_weights_of_classes_that_no_row_has():
    labels, classes = labels_of(["a", "b", "c", "b"]), np.array(["b", "c", "d"])
    assert weights_by_class({"b": 3.0, "d": 5.0}, labels, classes).tolist() == [3.0, 1.0, 1.0]
    assert weights_by_class(None, labels, classes).tolist() == [1.0, 1.0, 1.0]
    balanced = weights_by_class("balanced", labels, classes)
    np.testing.assert_allclose(balanced, [4 / 6, 4 / 3, 1.0])


@pytest.mark.slow
def test_weights_that_are_no_counts_have_no_unit():
    X, y = rows()
    weights = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    one, other = (
        TRAINED["average"]().fit(X, y, factor * weights).predict_proba(X) for factor in (1.0, 1e-3)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_rows_of_different_weights_count_as_fewer():
    codes, labels = np.arange(5)[:, None], np.array([0, 0, 0, 1, 1])
    weights = np.array([1.5, 1.0, 0.5, 1.0, 1.0])
    for unit in (1.0, 0.3):
        sample = Sample.of([bg.Discrete("x", range(5))], codes, labels, unit * weights, 2)
        # Three rows of these weights estimate a mean as well as 9 / 3.5 rows do.
        assert sample.weights.sum() == pytest.approx(9 / 3.5 + 2)
        shares = sample.weights / sample.weights.sum()
        np.testing.assert_allclose(np.sort(shares), np.sort(weights) / 5)
    counted = Sample.of([bg.Discrete("x", range(5))], codes, labels, 2 * weights, 2)
    assert counted.weights.sum() == 10


def test_a_heavy_row_is_held_out_as_a_whole():
    random = np.random.default_rng(0)
    codes, labels = np.arange(60)[:, None], random.integers(2, size=60)
    weights = random.uniform(0.1, 9.0, 60)
    sample = Sample.of([bg.Discrete("x", range(60))], codes, labels, weights, 2)
    folds = sample.folds(5)
    assert ((folds > 0).sum(axis=0) == 1).all()
    np.testing.assert_allclose(folds.sum(axis=0), sample.weights)


# ------------------------------------------------------------------------------- thresholds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["single", "weighted"])
def test_scikit_learn_chooses_thresholds(name):
    X, y = rows()
    rare = np.where(y == "rare", "yes", "no")
    scorer = "balanced_accuracy"
    tuned = TunedThresholdClassifierCV(TRAINED[name](), scoring=scorer, cv=3).fit(X, rare)
    assert 0 < tuned.best_threshold_ < 0.5
    chosen = tuned.estimator_.predict_proba(X)[:, 1] >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), np.where(chosen, "yes", "no"))
    fixed = FixedThresholdClassifier(TRAINED[name](), threshold=0.2, pos_label="yes").fit(X, rare)
    above = fixed.estimator_.predict_proba(X)[:, 1] >= 0.2
    np.testing.assert_array_equal(fixed.predict(X), np.where(above, "yes", "no"))
    losses = {("no", "yes"): 0.2, ("yes", "no"): 0.8}
    np.testing.assert_array_equal(fixed.estimator_.decide(X, losses=losses), fixed.predict(X))


@pytest.mark.slow
def test_the_threshold_of_an_evaluation_is_the_best():
    X, y = rows()
    (result,) = bg.evaluate(bg.NaiveBayesClassifier(), X, y, cv=4)
    truth, proba = y == "rare", result.proba[:, 2]
    chosen = result.threshold(f1_score, positive="rare")
    tried = [f1_score(truth, proba >= value) for value in np.unique(proba)]
    assert f1_score(truth, proba >= chosen) == pytest.approx(max(tried))
    with pytest.raises(bg.errors.DataError, match="positive= says which"):
        result.threshold(f1_score)
    with pytest.raises(bg.errors.DataError, match="positive= has 'rar'"):
        result.threshold(f1_score, positive="rar")
    (two,) = bg.evaluate(bg.NaiveBayesClassifier(), X, y == "rare", cv=4)
    assert two.threshold(lambda true, decided: decided.sum()) <= two.proba[two.y_true, 1].min()
    assert 0 < two.threshold(lambda true, decided: -decided.sum()) < two.proba[:, 1].max()
