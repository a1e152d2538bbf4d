"""Tests of differences between classifiers, compared with SciPy's paired t-test."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import log_loss

import bayesgraph as bg
from bayesgraph.classifiers import Evaluation
from bayesgraph.core.errors import DataError
from bayesgraph.statistics import holm_adjusted

CLASSES = np.array(["a", "b", "c"])


def made_up(name, seed, n=90, k=6):
    random = np.random.default_rng(seed)
    true = np.arange(n) % 3
    proba = random.dirichlet(np.ones(3), n) + 0.4 * np.eye(3)[true]
    proba /= proba.sum(axis=1, keepdims=True)
    predicted, folds = proba.argmax(axis=1), np.arange(n) // (n // k)
    accuracy = np.array([np.mean((predicted == true)[folds == f]) for f in range(k)])
    y = CLASSES[true]
    return Evaluation(name, CLASSES, y, CLASSES[predicted], proba, accuracy, folds, 0.1, 0.1, None)


def by_fold(result, measure):
    if measure == "accuracy":
        return result.fold_accuracy
    return np.array(
        [
            log_loss(result.y_true[at], result.proba[at], labels=CLASSES)
            for at in (result.fold_of_row == f for f in range(6))
        ]
    )


@pytest.mark.parametrize("measure", ["accuracy", "log_loss"])
def test_the_variance_of_overlapping_training_sets_is_corrected(measure):
    results = [made_up(name, seed) for seed, name in enumerate("pqrs")]
    found = bg.paired_tests(results, measure=measure, baseline="q")
    assert [test.name for test in found] == ["p", "r", "s"]
    plain = []
    for test, result in zip(found, [results[0], *results[2:]], strict=True):
        mine, base = by_fold(result, measure), by_fold(results[1], measure)
        # Nadeau and Bengio: (1/k + n_test/n_train) in the place of 1/k.
        t = stats.ttest_rel(mine, base).statistic * np.sqrt((1 / 6) / (1 / 6 + 15 / 75))
        assert test.difference == pytest.approx((mine - base).mean())
        assert test.statistic == pytest.approx(t)
        assert (test.baseline, test.measure) == ("q", measure)
        plain.append(2 * stats.t(5).sf(abs(t)))
    # Holm: the smallest times 3, the next times 2, the largest, and none below the one before.
    small, middle, large = sorted(plain)
    steps = np.maximum.accumulate([3 * small, 2 * middle, large])
    expected = dict(zip([small, middle, large], np.minimum(steps, 1.0), strict=True))
    assert [test.p_value for test in found] == pytest.approx([expected[p] for p in plain])


def test_p_values_of_a_textbook():
    # Of the definition by Holm (1979): ordered 0.005, 0.01, 0.03, 0.04.
    found = holm_adjusted(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # What has no p-value is no test, and does not count.
    found = holm_adjusted(np.array([0.01, np.nan, 0.04, 0.03, 0.005]))
    assert found.tolist() == pytest.approx([0.03, np.nan, 0.06, 0.06, 0.02], nan_ok=True)


def test_equal_results_do_not_differ():
    one = made_up("one", 0)
    (test,) = bg.paired_tests([one, dataclasses.replace(one, name="two")])
    assert (test.difference, test.p_value) == (0.0, 1.0)
    assert np.isnan(test.statistic)
    assert bg.paired_tests([one]) == []


def test_what_cannot_be_compared_is_refused():
    one, two = made_up("one", 0), made_up("two", 1)
    for results, options, message in (
        ([one, two], {"measure": "auc"}, "measure= is one of"),
        ([one, two], {"baseline": "three"}, "baseline="),
        ([], {}, "baseline="),
        ([one, dataclasses.replace(two, fold_of_row=two.fold_of_row[::-1])], {}, "different rows"),
        ([one, dataclasses.replace(two, y_true=two.y_true[::-1])], {}, "different rows"),
    ):
        with pytest.raises(DataError, match=message):
            bg.paired_tests(results, **options)
    single = [dataclasses.replace(x, fold_of_row=np.zeros(90, int)) for x in (one, two)]
    with pytest.raises(DataError, match="two of them or more"):
        bg.paired_tests(single)


def test_evaluations_of_fitted_classifiers():
    X = {"u": np.arange(40.0) % 7, "v": np.arange(40) % 3 > 0}
    y = np.array(["no", "yes"])[(np.arange(40) % 7 > 3).astype(int)]
    fitted = bg.NaiveBayesClassifier().fit(X, y)
    rows = {name: column[:10] for name, column in X.items()}
    # A class that the model has never seen.
    (found,) = bg.evaluate(fitted, rows, [*y[:9], "maybe"], cv="prefit")
    assert found.classes.tolist() == ["maybe", "no", "yes"]
    assert (found.proba[:, 1:] == fitted.predict_proba(rows)).all()
    assert (found.y_pred == fitted.predict(rows)).all()
    assert found.accuracy == np.mean(found.y_pred == found.y_true)
    assert np.isnan(found.fit_seconds)
    assert found.n_parameters == fitted.network_.n_parameters
    assert found.fold_of_row.tolist() == [0] * 10
    folds = [([2, 3], [0, 1]), ([0, 1], [2, 3])]
    few = {name: column[[0, 5, 4, 1]] for name, column in X.items()}
    (found,) = bg.evaluate(bg.NaiveBayesClassifier(), few, y[[0, 5, 4, 1]], cv=folds)
    assert found.fold_of_row.tolist() == [0, 0, 1, 1]


def test_repeated_folds_have_training_sets_of_their_size():
    results = [dataclasses.replace(made_up(name, i), repeats=2) for i, name in enumerate("pq")]
    (test,) = bg.paired_tests(results)
    differences = by_fold(results[1], "log_loss") - by_fold(results[0], "log_loss")
    # Two times three folds: training sets have twice the rows of test folds (Bouckaert, Frank).
    t = differences.mean() / np.sqrt((1 / 6 + 1 / 2) * differences.var(ddof=1))
    assert test.statistic == pytest.approx(t)
