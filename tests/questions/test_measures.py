"""The calibration error, against worked examples and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.questions import calibration_error
from bayesgraph.questions.measures import equal_bins


def made_up(n_classes, n=300, seed=0):
    random = np.random.default_rng(seed)
    classes = np.array([f"class {i}" for i in range(n_classes)])
    proba = random.dirichlet(np.ones(n_classes), n)
    codes = (random.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    return classes[codes], proba, classes


def test_by_hand():
    confidence = np.array([0.6, 0.6, 0.7, 0.8, 0.9, 1.0])
    proba = np.column_stack([confidence, 1 - confidence])
    # Shares 0.5, 0, 1 against means 0.6, 0.75, 0.95.
    error = calibration_error(list("abbbaa"), proba, ["a", "b"], bins=3)
    assert error == pytest.approx((0.1 + 0.75 + 0.05) / 3)


def test_equals_scikit_learn_without_ties():
    y, proba, classes = made_up(3, n=400)
    right, confidence = classes[proba.argmax(axis=1)] == y, proba.max(axis=1)
    observed, predicted = calibration_curve(right, confidence, n_bins=8, strategy="quantile")
    expected = np.abs(observed - predicted).mean()
    assert calibration_error(y, proba, classes, bins=8) == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.integers(3, 6)), min_size=1, max_size=60))
def test_ties_are_in_one_bin_whatever_the_order_of_rows(rows):
    truth, sixths = map(np.array, zip(*rows, strict=True))
    proba = np.column_stack([sixths / 6, 1 - sixths / 6])
    y = np.where(truth, "a", "b")
    error = calibration_error(y, proba, ["a", "b"], bins=4)
    assert calibration_error(y[::-1], proba[::-1], ["a", "b"], bins=4) == pytest.approx(error)


def test_an_overconfident_model_has_the_larger_error():
    y, proba, classes = made_up(3, n=5000)
    sharper = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    assert calibration_error(y, proba, classes) < 0.03
    assert calibration_error(y, sharper, classes) > 0.1


def test_sums_a_little_above_one_are_one():
    assert calibration_error(["a"], np.array([[1 + 1e-15, 0.0]]), ["a", "b"]) == 0


def test_more_bins_than_rows_are_as_many_as_rows():
    values = np.array([0.1, 0.7, 0.3])
    for found, expected in zip(equal_bins(values, 10**15), equal_bins(values, 3), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("y", "proba", "bins", "message"),
    [
        (["a"], [[0.5, 0.5], [1, 0]], None, r"1 labels.*2 classes.*\(2, 2\)"),
        (["c"], [[0.5, 0.5]], None, "'c'"),
        (["a"], [[np.nan, 0.5]], None, "NaN"),
        (["a"], [[1.5, 0.0]], None, "from 0 to 1"),
        ([], np.empty((0, 2)), None, "at least one row"),
        (["a"], [[0.5, 0.5]], 0, "1 or more; got 0"),
        (["a"], [[0.5, 0.5]], 2.5, r"got 2\.5"),
    ],
)
def test_bad_input(y, proba, bins, message):
    with pytest.raises((DataError, DataTypeError), match=message):
        calibration_error(y, proba, ["a", "b"], bins=bins)
