"""Decisions of fitted classifiers, and calibration by scikit-learn's own means."""

import warnings
from dataclasses import replace

import cases
import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import bayesgraph as bg

every = pytest.mark.parametrize(("case", "kind"), cases.pairs(), ids=str)


@pytest.mark.one_in(5)
@every
def test_decisions_follow_from_probabilities(case, kind):
    data = cases.make_data(kind)
    frame = data.pandas()
    classifier = cases.fitted(case, data)
    np.testing.assert_array_equal(classifier.decide(frame), classifier.predict(frame))
    proba = classifier.predict_proba(frame)
    costs = np.arange(len(classifier.classes_) ** 2, dtype=float).reshape(proba.shape[1], -1) % 5
    best = classifier.classes_[np.argmin(proba @ costs, axis=1)]
    np.testing.assert_array_equal(classifier.decide(frame, losses=costs), best)
    open_ = classifier.decide(frame, min_probability=0.75) == np.array(None)
    np.testing.assert_array_equal(open_, proba.max(axis=1) < 0.75)


def test_an_unfitted_classifier_says_so():
    with pytest.raises(NotFittedError):
        bg.NaiveBayesClassifier().decide([[1.0]])


@pytest.fixture(scope="module")
def result():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["malignant", "benign"])[y]
    return bg.evaluate({"nb": bg.NaiveBayesClassifier()}, X[:, :6], labels, cv=5)[0]


class TestEvaluation:
    def test_measures_are_scikit_learns(self, result):
        loss = metrics.log_loss(result.y_true, result.proba, labels=result.classes)
        assert result.log_loss == pytest.approx(loss)
        brier = metrics.brier_score_loss(result.y_true, result.proba, scale_by_half=False)
        assert result.brier == pytest.approx(brier)
        assert result.rmse == pytest.approx(np.sqrt(result.brier / 2))
        error = bg.questions.measures.calibration_error(result.y_true, result.proba, result.classes)
        assert result.calibration_error == error

    def test_the_area_under_the_curve_is_the_mean_of_folds(self, result):
        second = result.y_true == result.classes[1]
        folds = [result.fold_of_row == fold for fold in range(5)]
        areas = [metrics.roc_auc_score(second[f], result.proba[f, 1]) for f in folds]
        assert result.auc == pytest.approx(np.mean(areas))

    @pytest.mark.parametrize("n_classes", [3, 5])
    def test_the_area_of_several_classes_is_scikit_learns(self, result, n_classes):
        random = np.random.default_rng(n_classes)
        true = random.integers(n_classes, size=80)
        # Rounded, so that some probabilities are equal.
        proba = random.dirichlet(np.ones(n_classes), 80).round(1)
        proba[:, 0] = 1 - proba[:, 1:].sum(axis=1)
        one = replace(
            result, classes=np.arange(n_classes), y_true=true, proba=proba,
            fold_of_row=np.zeros(80, dtype=int), fold_accuracy=np.ones(1),
        )  # fmt: skip
        expected = metrics.roc_auc_score(true, proba, multi_class="ovr", average="weighted")
        assert one.auc == pytest.approx(expected)
        # A class without rows does not count.
        few = true < 2
        two = replace(one, y_true=true[few], proba=proba[few], fold_of_row=np.zeros(few.sum()))
        areas = [metrics.roc_auc_score(true[few] == k, proba[few, k]) for k in (0, 1)]
        assert two.auc == pytest.approx(np.average(areas, weights=np.bincount(true[few])))
        assert np.isnan(replace(two, y_true=np.zeros(few.sum(), dtype=int)).auc)

    def test_the_average_precision_is_the_mean_of_folds(self, result):
        folds = [result.fold_of_row == fold for fold in range(5)]
        for code, label in enumerate(result.classes):
            areas = [
                metrics.average_precision_score(result.y_true[f] == label, result.proba[f, code])
                for f in folds
            ]
            assert result.average_precision(positive=label) == pytest.approx(np.mean(areas))
        assert result.average_precision() == pytest.approx(np.mean(areas))
        # By hand: rows of the class in places 1 and 3 of four have the precisions 1 and 2/3.
        four = replace(
            result, classes=np.arange(3), y_true=np.array([2, 0, 2, 1]),
            proba=np.array([[0.0, 0.1, 0.9], [0.1, 0.1, 0.8], [0.3, 0.0, 0.7], [0.5, 0.5, 0.0]]),
            fold_of_row=np.array([0, 0, 0, 0]), fold_accuracy=np.ones(2),
        )  # fmt: skip
        assert four.average_precision(positive=2) == pytest.approx((1 + 2 / 3) / 2)
        two = replace(four, fold_of_row=np.array([0, 0, 0, 1]))
        assert two.average_precision(positive=2) == pytest.approx((1 + 2 / 3) / 2)
        assert np.isnan(replace(four, y_true=np.zeros(4, int)).average_precision(positive=2))
        with pytest.raises(bg.errors.DataError, match="positive= says which of 0, 1, 2"):
            four.average_precision()

    def test_measures_of_decisions_are_scikit_learns(self, result):
        truth, found = result.y_true, result.y_pred
        expected = metrics.balanced_accuracy_score(truth, found)
        assert result.balanced_accuracy == pytest.approx(expected)
        assert result.f1 == pytest.approx(metrics.f1_score(truth, found, average="macro"))

    def test_lists_are_tables_in_notebooks(self):
        X, y = load_breast_cancer(return_X_y=True)
        models = {"<NB>": bg.NaiveBayesClassifier(), "TAN": bg.TANClassifier()}
        results = bg.evaluate(models, X[:, :4], y, cv=3)
        tests = bg.paired_tests(results)
        auc, p = f"{results[1].auc:.4f}", f"{tests[0].p_value:.3f}"
        for shown, number in ((results, auc), (tests, p)):
            text = shown._repr_html_()
            assert text.count("<table>") == 1
            assert all(part in text for part in ("&lt;NB&gt;", "TAN", "log loss", number))

    def test_repeats_are_evaluations_on_other_folds(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = bg.NaiveBayesClassifier()
        (both,) = bg.evaluate(model, X[:, :4], y, cv=3, repeats=2, random_state=5)
        (one,) = bg.evaluate(model, X[:, :4], y, cv=3, random_state=5)
        (two,) = bg.evaluate(model, X[:, :4], y, cv=3, random_state=6)
        np.testing.assert_array_equal(both.proba, np.concatenate([one.proba, two.proba]))
        np.testing.assert_array_equal(both.y_true, np.tile(y, 2))
        assert both.fold_of_row.tolist() == [*one.fold_of_row, *two.fold_of_row + 3]
        assert both.accuracy == pytest.approx((one.accuracy + two.accuracy) / 2)
        assert both.confusion.sum() == 2 * len(y)
        assert (both.repeats, one.repeats) == (2, 1)
        for cv in (StratifiedKFold(3), "prefit"):
            with pytest.raises(bg.errors.DataError, match="repeats= goes with a number of folds"):
                bg.evaluate(model, X, y, cv=cv, repeats=2)

    @pytest.mark.filterwarnings("always:The target looks wrong")
    def test_a_target_of_many_numbers_is_warned_of(self):
        y = np.repeat(np.arange(25) * 3, 2)
        with pytest.warns(bg.errors.SuspiciousColumnsWarning, match="25 different numbers"):
            bg.evaluate(bg.NaiveBayesClassifier(), np.arange(50.0)[:, None], y, cv=2)

    def test_a_splitter_of_scikit_learn(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = bg.NaiveBayesClassifier()
        splitter = StratifiedKFold(4, shuffle=True, random_state=0)
        (one,), (other,) = bg.evaluate(model, X, y, cv=4), bg.evaluate(model, X, y, cv=splitter)
        np.testing.assert_array_equal(one.proba, other.proba)
        with pytest.raises(bg.errors.DataError, match="every row once"):
            bg.evaluate(model, X, y, cv=ShuffleSplit(4, random_state=0))
        pairs = ((train.tolist(), test) for train, test in splitter.split(X, y))
        (given,) = bg.evaluate(model, X, y, cv=pairs)
        np.testing.assert_array_equal(one.proba, given.proba)
        assert bg.evaluate(model, X, y, cv=None)[0].fold_accuracy.shape == (5,)

    @pytest.mark.parametrize("cv", ["5", 2.5, object()])
    def test_what_makes_no_folds_is_refused(self, cv):
        with pytest.raises(bg.errors.DataError, match="takes a number of folds, a splitter"):
            bg.evaluate(bg.NaiveBayesClassifier(), *load_breast_cancer(return_X_y=True), cv=cv)

    def test_one_class_is_refused(self):
        with pytest.raises(bg.errors.DataError, match="at least two classes; got 1"):
            bg.evaluate(bg.NaiveBayesClassifier(), np.ones((6, 1)), np.ones(6))

    def test_what_predicts_no_probabilities_or_nothing_is_refused(self):
        X, y = load_breast_cancer(return_X_y=True)
        for cv in (3, "prefit"):
            with pytest.raises(
                bg.errors.DataTypeError, match=r"'svc' is LinearSVC\(\), which has no"
            ):
                bg.evaluate({"svc": LinearSVC()}, X, y, cv=cv)
        with pytest.raises(NotFittedError, match="This TANClassifier instance is not fitted yet"):
            bg.evaluate(bg.TANClassifier(), X, y, cv="prefit")

    @pytest.mark.parametrize("kind", ["coo_matrix", "dok_matrix", "csc_array"])
    def test_sparse_rows_of_every_kind_are_taken(self, kind):
        X = np.random.default_rng(0).poisson(1.0, (60, 4))
        y = np.arange(60) % 2
        clf = bg.NaiveBayesClassifier("multinomial")
        (dense,), (one,) = (
            bg.evaluate(clf, rows, y, cv=3) for rows in (X, getattr(sparse, kind)(X))
        )
        np.testing.assert_allclose(one.proba, dense.proba)

    def test_deciding_the_most_probable_class(self, result):
        found = result.decide()
        np.testing.assert_array_equal(found.labels, result.y_pred)
        assert found.coverage == 1
        assert found.accuracy == np.mean(result.y_pred == result.y_true)
        assert found.loss == pytest.approx(1 - found.accuracy)

    def test_abstaining_buys_accuracy(self, result):
        all_, some = result.decide(), result.decide(abstain=0.05)
        assert some.coverage < 1
        assert some.accuracy > all_.accuracy
        wrong = np.mean((some.labels != result.y_true) & (some.labels != np.array(None)))
        assert some.loss == pytest.approx(wrong + 0.05 * (1 - some.coverage))
        assert np.isnan(result.decide(abstain=-1.0).accuracy)
        assert repr(some).startswith("Decisions(coverage 0.")

    def test_the_best_threshold_lies_between_neighbouring_floats(self, result):
        proba = np.array([0.5, np.nextafter(0.5, 1)])
        one = replace(result, proba=np.stack([1 - proba, proba], 1), y_true=result.classes)
        best = one.threshold(metrics.accuracy_score)
        assert (proba >= best).tolist() == [False, True]

    def test_what_is_no_score_or_no_class_is_told(self, result):
        with pytest.raises(bg.errors.DataTypeError, match=r"sklearn.metrics.f1_score; got 'f1'"):
            result.threshold("f1")
        none = replace(result, proba=result.proba[:2], y_true=np.array(["benign"] * 2))
        with pytest.raises(
            bg.errors.DataError, match="no held-out row is of the class 'malignant'"
        ):
            none.threshold(metrics.f1_score)
        expected = "pairs of the classes 'benign', 'malignant'; got 'Benign'. Did you mean 'benign'"
        with pytest.raises(bg.errors.UnknownStateError, match=expected):
            result.decide(losses={("malignant", "Benign"): 20.0})

    def test_losses_lower_what_they_are_losses_of(self, result):
        losses = {("malignant", "benign"): 20.0}
        aware, naive = result.decide(losses=losses), result.decide()
        missed = (result.y_true == "malignant") & (naive.labels == "benign")
        blamed = (result.y_true == "benign") & (naive.labels == "malignant")
        assert aware.loss < np.mean(20.0 * missed + blamed)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["temperature", "sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_scikit_learn_calibrates_frames_of_any_type(method, kind):
    data = cases.make_data(kind, n=200)
    frame = data.pandas()
    calibrated = CalibratedClassifierCV(bg.NaiveBayesClassifier(), method=method, cv=4)
    proba = calibrated.fit(frame, data.y).predict_proba(frame)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert calibrated.score(frame, data.y) > 0.5


def test_a_temperature_mends_overconfidence():
    X, y = load_breast_cancer(return_X_y=True)
    odd, even = slice(1, None, 2), slice(0, None, 2)
    raw = bg.NaiveBayesClassifier().fit(X[odd], y[odd])
    calibrated = CalibratedClassifierCV(bg.NaiveBayesClassifier(), method="temperature", cv=5)
    calibrated.fit(X[odd], y[odd])
    losses = [metrics.log_loss(y[even], c.predict_proba(X[even])) for c in (raw, calibrated)]
    assert losses[1] < 0.5 * losses[0]


def test_columns_of_folds_are_not_judged():
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=100), np.ones(100)])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        bg.evaluate(make_pipeline(bg.NaiveBayesClassifier()), X, random.integers(2, size=100), cv=2)
    assert not seen
