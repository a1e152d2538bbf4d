"""The benchmark of rare classes: its tables, and what it makes of measures."""

import numpy as np
import pytest
from bench_imbalance import FOREST, OURS, Result, compared, lowest, measured
from imbalanced_tables import LEAST_RARE, RAREST, matrix, table


@pytest.fixture(scope="module")
def last():
    return table(19, n_test=2_000)


def test_tables_are_mixed_and_have_the_share_asked_for(last):
    assert last.share == pytest.approx(LEAST_RARE)
    assert table(0, 2, 0).share == pytest.approx(RAREST)
    assert np.mean(last.train_labels == "yes") == pytest.approx(LEAST_RARE, abs=0.012)
    kinds = {kind.kind for kind in last.train.dtypes}
    assert kinds == {"f", "O"}
    gaps = last.train.isna().mean()
    assert 0.25 < (gaps > 0).mean() < 0.5
    assert gaps.max() < 0.25
    assert len(last.test) == len(last.test_labels) == 2_000


def test_a_table_is_that_of_its_number(last):
    again, other = table(19, n_test=2_000), table(18, n_test=2_000)
    assert again.train.equals(last.train)
    assert (again.test_labels == last.test_labels).all()
    assert not other.train.iloc[:100].equals(last.train.iloc[:100])


def test_the_matrix_has_the_same_rows(last):
    learn, ask = matrix(last)
    assert learn.shape == last.train.shape
    assert ask.shape == last.test.shape
    np.testing.assert_array_equal(np.isnan(learn), last.train.isna().to_numpy())
    numbers = [name.startswith(("n", "a")) for name in last.train]
    np.testing.assert_array_equal(learn[:, numbers], last.train.loc[:, numbers])


def test_a_model_is_measured(last):
    make = OURS["weighted naive Bayes"]
    parts = last.train, last.test
    found = {w: measured(last, "ours", w, make, parts) for w in ("none", "class_weight")}
    precision = [r.measures["average precision"] for r in found.values()]
    assert precision[0] > 2 * LEAST_RARE
    assert precision[1] == pytest.approx(precision[0], abs=1e-6)
    losses = [r.measures["log loss"] for r in found.values()]
    assert losses[0] < 0.25 < losses[1]


def test_means_are_compared_with_the_forest():
    made = [
        Result(name, model, weighting, dict.fromkeys(measures, value), 2.0)
        for measures in [("average precision", "log loss", "calibration error")]
        for model, values in {**dict.fromkeys(OURS, (0.4, 0.3)), FOREST: (0.2, 0.2)}.items()
        for weighting in ("none", "class_weight", "sample_weight")
        for name, value in zip(("one", "two"), values, strict=True)
    ]
    rows = {(r.case, r.metric): r for r in compared(made)}
    found = rows["default, weights: none", "average precision"]
    assert (found.ours, found.peer, found.ratio) == pytest.approx((0.35, 0.2, 1.75))
    assert rows["default, weights: class_weight", "log loss"].ratio == pytest.approx(0.2 / 0.35)
    assert lowest(made, "default", "class_weight") == 0.0
