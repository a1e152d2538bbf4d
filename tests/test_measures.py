"""Measures of probabilities: equal to scikit-learn's where it has them, and to worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve

from bayesgraph.errors import DataError
from bayesgraph.measures import (
    ReliabilityCurve,
    brier_score,
    calibration_error,
    confidence_curve,
    log_loss,
    reliability_curve,
    rmse,
)


def made_up(n_classes, n=300, seed=0):
    random = np.random.default_rng(seed)
    classes = np.array([f"class {i}" for i in range(n_classes)])
    proba = random.dirichlet(np.ones(n_classes), n)
    codes = (random.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    return classes[codes], proba, classes


class TestScores:
    @pytest.mark.parametrize("n_classes", [2, 5])
    def test_equal_scikit_learn(self, n_classes):
        y, proba, classes = made_up(n_classes)
        assert log_loss(y, proba, classes) == pytest.approx(metrics.log_loss(y, proba))
        brier = metrics.brier_score_loss(y, proba, labels=classes, scale_by_half=False)
        assert brier_score(y, proba, classes) == pytest.approx(brier)
        targets = (y[:, None] == classes).astype(float)
        error = metrics.root_mean_squared_error(targets.ravel(), proba.ravel())
        assert rmse(y, proba, classes) == pytest.approx(error)

    def test_an_impossible_class_costs_much_but_not_everything(self):
        assert log_loss(["b"], [[1.0, 0.0]], ["a", "b"]) == pytest.approx(-math.log(1e-15))

    def test_columns_follow_the_classes_given(self):
        assert rmse(["b", "a"], [[1, 0], [0, 1]], ["b", "a"]) == 0
        assert brier_score(["b", "a"], [[1, 0], [0, 1]], ["a", "b"]) == 2

    @pytest.mark.parametrize(
        ("y", "proba", "message"),
        [
            (["a"], [[0.5, 0.5], [1, 0]], r"1 labels.*2 classes.*\(2, 2\)"),
            (["c"], [[0.5, 0.5]], "'c'"),
            (["a"], [[np.nan, 0.5]], "NaN"),
            ([], np.empty((0, 2)), "at least one row"),
        ],
    )
    def test_bad_input(self, y, proba, message):
        for measure in (log_loss, brier_score, rmse, calibration_error):
            with pytest.raises(DataError, match=message):
                measure(y, proba, ["a", "b"])


class TestReliability:
    def test_by_hand(self):
        probability = [0.1, 0.1, 0.3, 0.6, 0.7, 0.9]
        curve = reliability_curve([0, 1, 0, 0, 1, 1], probability, bins=3)
        np.testing.assert_allclose(curve.predicted, [0.1, 0.45, 0.8])
        np.testing.assert_allclose(curve.observed, [0.5, 0.0, 1.0])
        assert curve.counts.tolist() == [2, 2, 2]
        assert curve.error == pytest.approx((0.4 + 0.45 + 0.2) / 3)
        assert curve.largest_error == pytest.approx(0.45)
        assert repr(curve) == "ReliabilityCurve(3 bins, error 0.3500)"

    @pytest.mark.parametrize(("by", "strategy"), [("rows", "quantile"), ("width", "uniform")])
    def test_equals_scikit_learn_without_ties(self, by, strategy):
        y, proba, classes = made_up(2, n=400)
        curve = reliability_curve(y == classes[1], proba[:, 1], bins=8, by=by)
        observed, predicted = calibration_curve(
            y == classes[1], proba[:, 1], n_bins=8, strategy=strategy
        )
        np.testing.assert_allclose(curve.observed, observed)
        np.testing.assert_allclose(curve.predicted, predicted)

    @given(
        st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=60),
        st.integers(1, 12),
        st.sampled_from(["rows", "width"]),
    )
    def test_bins_partition_the_rows_and_never_a_tie(self, rows, bins, by):
        truth, sixths = zip(*rows, strict=True)
        values = np.array(sixths) / 6
        curve = reliability_curve(truth, values, bins=bins, by=by)
        assert 1 <= len(curve.counts) <= bins
        assert curve.counts.sum() == len(rows)
        assert (np.diff(curve.predicted) > 0).all()
        assert curve.counts @ curve.predicted == pytest.approx(values.sum())
        assert curve.counts @ curve.observed == pytest.approx(sum(truth))
        # Every bin is a run of distinct values of its own.
        ends = np.cumsum(curve.counts)[:-1]
        ascending = np.sort(values)
        assert (ascending[ends - 1] < ascending[ends]).all()

    def test_the_order_of_rows_does_not_matter(self):
        y, proba, classes = made_up(3, n=50)
        backwards = calibration_error(y[::-1], proba[::-1], classes)
        assert calibration_error(y, proba, classes) == pytest.approx(backwards)

    def test_an_overconfident_model_has_the_larger_error(self):
        y, proba, classes = made_up(3, n=5000)
        sharper = proba**3 / (proba**3).sum(axis=1, keepdims=True)
        assert calibration_error(y, proba, classes) < 0.03
        assert calibration_error(y, sharper, classes) > 0.1

    def test_confidence_is_of_the_class_predicted(self):
        curve = confidence_curve(list("aab"), [[0.8, 0.2], [0.3, 0.7], [0.4, 0.6]], "ab", bins=1)
        assert curve.observed.tolist() == pytest.approx([2 / 3])
        assert curve.predicted.tolist() == pytest.approx([0.7])

    def test_intervals_of_a_published_example(self):
        # Agresti and Coull (1998) on Wilson's interval: none of ten leaves up to 0.278.
        low, high = ReliabilityCurve(np.array([0.1]), np.array([0.0]), np.array([10])).interval()
        assert low[0] == pytest.approx(0.0, abs=1e-12)
        assert high[0] == pytest.approx(0.2775, abs=1e-4)

    def test_sums_a_little_above_one_are_one(self):
        proba = np.array([[1 + 1e-15, 0.0]])
        assert calibration_error(["a"], proba, ["a", "b"]) == 0

    @pytest.mark.parametrize(
        ("positive", "probability", "options", "message"),
        [
            ([True], [0.1, 0.2], {}, "one probability for each row"),
            ([], [], {}, "at least one row"),
            ([True], [1.5], {}, "from 0 to 1"),
            ([True], [np.nan], {}, "NaN"),
            ([True], [0.5], {"bins": 0}, "1 or more; got 0"),
            ([True], [0.5], {"bins": 2.5}, r"got 2\.5"),
            ([True], [0.5], {"by": "rank"}, "'rows' or 'width'"),
        ],
    )
    def test_bad_input(self, positive, probability, options, message):
        with pytest.raises(DataError, match=message):
            reliability_curve(positive, probability, **options)
