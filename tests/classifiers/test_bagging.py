"""Bags of classifiers: against scikit-learn's for arrays, and by hand for data frames."""

import pickle

import cases
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesgraph as bg
from bayesgraph.errors import BayesGraphWarning, DataError

X, Y = load_wine(return_X_y=True)
_RANDOM = "Rows are drawn at random, in proportion to their weights: as BaggingClassifier."
# scikit-learn excuses its own BaggingClassifier from the same two.
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": _RANDOM,
    "check_sample_weight_equivalence_on_sparse_data": _RANDOM,
}


# Each check on one of the bags.
@pytest.mark.one_in(3)
@parametrize_with_checks(
    [
        bg.BaggedNaiveBayesClassifier(n_estimators=3),
        bg.BaggedNaiveBayesClassifier(bg.TANClassifier(), 3, max_features=0.7),
        bg.BaggedNaiveBayesClassifier(bg.ComplementNaiveBayesClassifier(), 3),
    ],
    expected_failed_checks=lambda estimator: EXCUSED,
)
def test_scikit_learn(estimator, check):
    check(estimator)


# --------------------------------------------------------------------------- against the peer

SETTINGS = {
    "bagging": {},
    "subspaces": {"max_features": 0.5, "bootstrap": False},
    "both": {"max_features": 4, "max_samples": 60},
    "a few rows": {"max_samples": 0.3, "bootstrap": False},
}
BASES = {
    "nb": bg.NaiveBayesClassifier(),
    "kernel": bg.NaiveBayesClassifier("kernel"),
    "tan": bg.TANClassifier(),
    "tree": bg.DecisionTreeNetworkClassifier(max_depth=2),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("weights", [None, np.arange(len(Y)) % 3.0], ids=["plain", "weighted"])
@pytest.mark.filterwarnings("ignore:When fitting BaggingClassifier with sample_weight")
def test_equals_scikit_learn(settings, base, weights):
    if weights is not None and not settings.get("bootstrap", True):
        settings = {**settings, "max_samples": 0.3}
    labels = np.array(["one", "two", "three"])[Y]
    ours = bg.BaggedNaiveBayesClassifier(base, 5, random_state=3, **settings)
    theirs = BaggingClassifier(base, 5, random_state=3, **settings)
    ours.fit(X, labels, sample_weight=weights)
    theirs.fit(X, labels, sample_weight=weights)
    for a, b in zip(ours.estimators_samples_, theirs.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


def test_out_of_bag_score_equals_scikit_learn():
    settings = {"n_estimators": 25, "oob_score": True, "random_state": 1, "max_features": 0.5}
    ours = bg.BaggedNaiveBayesClassifier(**settings).fit(X, Y)
    theirs = BaggingClassifier(bg.NaiveBayesClassifier(), **settings).fit(X, Y)
    assert ours.oob_score_ == theirs.oob_score_ > 0.9
    np.testing.assert_allclose(
        ours.oob_decision_function_, theirs.oob_decision_function_, rtol=1e-9, atol=1e-12
    )


def test_counts_of_words_stay_sparse():
    random = np.random.default_rng(0)
    counts = random.poisson(random.gamma(0.5, size=(3, 30))[Y]).astype(float)
    for base in (bg.NaiveBayesClassifier("multinomial"), bg.ComplementNaiveBayesClassifier()):
        settings = {"max_features": 0.4, "random_state": 0}
        ours = bg.BaggedNaiveBayesClassifier(base, 4, **settings).fit(csr_array(counts), Y)
        theirs = BaggingClassifier(base, 4, **settings).fit(counts, Y)
        expected = theirs.predict_proba(counts)
        np.testing.assert_allclose(ours.predict_proba(csr_array(counts)), expected, rtol=1e-9)


# -------------------------------------------------------------------------------- data frames


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_frames_keep_types_and_missing_values(kind, missing, share):
    data = cases.make_data(kind)
    data = data.with_missing() if missing else data
    bag = bg.BaggedNaiveBayesClassifier(n_estimators=4, max_features=share, random_state=0)
    expected = np.zeros((len(data.y), 3))
    tables = (data.pandas(), data.polars(), data.arrow(), dict(data.columns))
    answers = [clone(bag).fit(table, data.y).predict_proba(table) for table in tables]
    bag.fit(data.pandas(), data.y)
    assert list(bag.feature_names_in_) == list(cases.NAMES)
    # The same by hand: fit a naive Bayes to the drawn rows and columns.
    for rows, columns in zip(bag.estimators_samples_, bag.estimators_features_, strict=True):
        frame = data.pandas().iloc[:, columns]
        count = np.bincount(rows, minlength=len(data.y))
        # All states are known to all members.
        frame = frame.astype({c: "category" for c in frame if frame[c].dtype in (object, "str")})
        member = bg.NaiveBayesClassifier().fit(frame, data.y, sample_weight=count)
        expected += member.predict_proba(frame) / 4
    for found in answers[:3]:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(answers[3].sum(axis=1), 1.0)


def test_one_member_of_everything_is_the_classifier_itself():
    data = cases.make_data("mixed").with_missing()
    bag = bg.BaggedNaiveBayesClassifier(n_estimators=1, bootstrap=False).fit(data.pandas(), data.y)
    alone = bg.NaiveBayesClassifier().fit(data.pandas(), data.y)
    expected = alone.predict_proba(data.pandas())
    np.testing.assert_allclose(bag.predict_proba(data.pandas()), expected, rtol=1e-12)


def test_parameters_that_name_columns_follow_the_draw():
    data = cases.make_data("mixed")
    frame = data.pandas().assign(n=np.arange(60) % 4, m=np.arange(60) % 7, k=np.arange(60) % 3)
    base = bg.NaiveBayesClassifier(
        {"c": "kernel", ("n", "m"): "multinomial", "d": "gaussian"}, categorical=["k"]
    )
    bag = bg.BaggedNaiveBayesClassifier(base, 12, max_features=3, random_state=0)
    bag.fit(frame, data.y)
    assert {len(columns) for columns in bag.estimators_features_} == {3}
    for member, columns in zip(bag.estimators_, bag.estimators_features_, strict=True):
        names = set(frame.columns[columns])
        inside = {name for group in member.layout_.groups.values() for name in group}
        assert names - inside | set(member.layout_.groups) == {v.name for v in member.features_}
        assert member.layout_.families.get("c") == ("kernel" if "c" in names else None)
        assert ("k" in member.layout_.categorical) == ("k" in names)
    assert bag.score(frame, data.y) > 0.6
    # An array, whose columns are named by their positions.
    array = bg.NaiveBayesClassifier({0: "kernel", 5: "kernel"}, categorical=None)
    bag = bg.BaggedNaiveBayesClassifier(array, 6, max_features=0.5, random_state=0).fit(X, Y)
    families = [member.layout_.families for member in bag.estimators_]
    assert {name for found in families for name in found} <= {"x0", "x5"}
    assert bag.score(X, Y) > 0.9


def test_states_that_a_bag_lacks_are_known_in_frames():
    y = ["a", "b"] * 20
    column = ["p", "q"] * 18 + ["rare", "p", "q", "p"]
    base = bg.NaiveBayesClassifier(unseen="error")
    for table in (pd.DataFrame({"u": column}), pl.DataFrame({"u": column})):
        bag = bg.BaggedNaiveBayesClassifier(base, 20, random_state=0).fit(table, y)
        assert any(36 not in rows for rows in bag.estimators_samples_)
        assert np.isfinite(bag.predict_proba(table)).all()


def test_classes_that_a_bag_lacks_have_no_share_of_its_vote():
    y = np.array(["a", "b"] * 10 + ["rare"])
    table = pd.DataFrame({"u": np.arange(21.0)})
    bag = bg.BaggedNaiveBayesClassifier(n_estimators=15, random_state=0).fit(table, y)
    with_it = [m for m in bag.estimators_ if len(m.classes_) == 3]
    assert 0 < len(with_it) < 15
    expected = sum(m.predict_proba(table)[:, 2] for m in with_it) / 15
    np.testing.assert_allclose(bag.predict_proba(table)[:, 2], expected)


# ------------------------------------------------------------------------------ the estimator


def test_threads_and_seeds():
    one = bg.BaggedNaiveBayesClassifier(random_state=5).fit(X, Y)
    two = bg.BaggedNaiveBayesClassifier(random_state=5, n_jobs=2).fit(X, Y)
    other = bg.BaggedNaiveBayesClassifier(random_state=6).fit(X, Y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert (one.predict_proba(X) != other.predict_proba(X)).any()
    revived = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(revived.predict_proba(X), one.predict_proba(X))
    np.testing.assert_allclose(np.exp(one.predict_log_proba(X)), one.predict_proba(X))


def test_rows_in_every_bag_are_counted():
    bag = bg.BaggedNaiveBayesClassifier(n_estimators=1, oob_score=True, random_state=0)
    with pytest.warns(BayesGraphWarning, match=r"\d+ of 178 rows are in every bag"):
        bag.fit(X, Y)
    gone = np.isnan(bag.oob_decision_function_).all(axis=1)
    np.testing.assert_array_equal(gone, np.isin(np.arange(178), bag.estimators_samples_[0]))
    again = bag.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(again, "oob_score_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators is a number"),
        ({"n_estimators": 2.5}, "n_estimators is a number"),
        ({"max_features": 0.0}, "max_features is a number, 1 or more"),
        ({"max_features": 14}, r"more than there are columns \(13\)"),
        ({"max_samples": 1.5}, "max_samples is a number, 1 or more"),
        ({"max_samples": 200, "bootstrap": False}, r"200 rows, more than there are \(178\)"),
        ({"oob_score": True, "bootstrap": False}, "set bootstrap=True"),
    ],
)
def test_unusable_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        bg.BaggedNaiveBayesClassifier(**parameters).fit(X, Y)


def test_a_column_that_no_member_draws_is_checked_too():
    table = {"a": list(X[:, 0]), "b": [object()] * len(Y)}
    for seed in range(4):
        bag = bg.BaggedNaiveBayesClassifier(n_estimators=1, max_features=1, random_state=seed)
        with pytest.raises(TypeError, match="'b'"):
            bag.fit(table, Y)


def test_an_estimator_of_another_library():
    with pytest.raises(TypeError, match=r"classifier of this library.*BaggingClassifier"):
        bg.BaggedNaiveBayesClassifier(BaggingClassifier()).fit(X, Y)


@pytest.mark.parametrize(
    "base",
    [None, bg.TANClassifier(), bg.DecisionTreeNetworkClassifier(max_depth=2)],
    ids=["nb", "tan", "tree"],
)
def test_a_file_keeps_a_bag(base, tmp_path):
    data = cases.make_data("mixed").with_missing()
    frame, path = data.pandas(), tmp_path / "bag.bayesgraph"
    bag = bg.BaggedNaiveBayesClassifier(base, 40, max_features=3, oob_score=True, random_state=0)
    bag.fit(frame, data.y, sample_weight=np.arange(60) % 3 + 0.5)
    bag.save(path)
    again = bg.load(path)
    assert repr(again) == repr(bag)
    np.testing.assert_array_equal(again.predict_proba(frame), bag.predict_proba(frame))
    np.testing.assert_array_equal(again.oob_decision_function_, bag.oob_decision_function_)
    assert again.oob_score_ == bag.oob_score_
    np.testing.assert_array_equal(again.classes_, bag.classes_)
    assert again.classes_.dtype == bag.classes_.dtype
    for one, two in zip(again.estimators_samples_, bag.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, two)
    assert list(again.feature_names_in_) == list(cases.NAMES)
