"""Prequential curves against loops over rows."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

import bayesgraph as bg
from bayesgraph.drift import ADWIN
from bayesgraph.errors import DataError, ModelError
from bayesgraph.plots import prequential_figure, save_figure


def stream(n=900, seed=0, turn=None):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    y[n // 2 :] = np.minimum(y[n // 2 :], 1)
    X = random.normal(size=(n, 3)) + y[:, None]
    if turn is not None:
        y[turn:] = 1 - y[turn:]
    return X, y


def averaged(values, fading, window):
    if window is not None:
        return np.mean(values[-window:])
    weights = fading ** np.arange(len(values))[::-1]
    return weights @ values / weights.sum()


def by_rows(y, right, loss, ends, fading, window):
    """Return the curves at some numbers of rows, from lists."""
    majority, no_change = [], []
    for i, label in enumerate(y):
        before = y[:i].tolist()
        counts = {}
        for old in before:
            counts[old] = counts.get(old, 0) + 1
        majority.append(bool(before) and max(counts, key=counts.get) == label)
        no_change.append(bool(before) and before[-1] == label)
    curves = []
    for end in ends:
        a, b, c, d = (
            averaged(np.array(v[:end], dtype=float), fading, window)
            for v in (right, loss, majority, no_change)
        )
        curves.append([a, b, (a - c) / (1 - c), (a - d) / (1 - d)])
    return np.array(curves).T


@pytest.mark.parametrize(("fading", "window"), [(0.99, None), (1.0, None), (0.9, 130)])
@pytest.mark.parametrize("labels", [[0, 1, 2], ["b", "a", "c"]])
def test_curves_are_those_of_a_loop(fading, window, labels):
    X, y = stream()
    y = np.array(labels)[y]
    options = {"fading": fading, "window": window, "batch": 70}
    result = bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y, classes=labels, **options)
    model = bg.StreamingNaiveBayesClassifier()
    answers, proba = model.test_then_train(X, y, classes=labels)
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    loss = [-math.log(proba[i, place[label]]) for i, label in enumerate(y.tolist())]
    ends = [*range(70, 900, 70), 900]
    expected = by_rows(y, answers == y, loss, ends, fading, window)
    np.testing.assert_array_equal(result.rows, ends)
    found = [result.accuracy, result.log_loss, result.kappa_majority, result.kappa_no_change]
    np.testing.assert_allclose(found, expected)
    assert result.mean_accuracy == pytest.approx(np.mean(answers == y))
    assert result.mean_log_loss == pytest.approx(np.mean(loss))
    assert "900 rows" in repr(result)


@pytest.mark.parametrize("peer", [GaussianNB(), SGDClassifier(loss="log_loss", random_state=0)])
def test_models_of_other_libraries(peer):
    X, y = stream()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    result = bg.prequential(peer, frame, pd.Series(y), batch=100, fading=1.0)
    # The first batch only teaches.
    assert (result.n_tested, result.rows[0]) == (800, 200)
    model = type(peer)(**peer.get_params())
    model.partial_fit(frame[:100], y[:100], classes=[0, 1, 2])
    right = []
    for first in range(100, 900, 100):
        rows = slice(first, first + 100)
        right += (model.predict_proba(frame[rows]).argmax(axis=1) == y[rows]).tolist()
        model.partial_fit(frame[rows], y[rows])
    assert result.mean_accuracy == pytest.approx(np.mean(right))


def test_batches_that_come_one_by_one():
    X, y = stream()
    parts = ((X[i : i + 90], y[i : i + 90]) for i in range(0, 900, 90))
    result = bg.prequential(bg.StreamingNaiveBayesClassifier(), parts, classes=[0, 1, 2])
    whole = bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y, batch=90)
    np.testing.assert_array_equal(result.log_loss, whole.log_loss)


def test_alarms_are_rows_of_the_stream():
    X, y = stream(2000, turn=1500)
    watched = bg.prequential(GaussianNB(), X, y, detector=ADWIN())
    own = bg.prequential(bg.StreamingNaiveBayesClassifier(detector="adwin"), X, y)
    for result in (watched, own):
        assert 1500 <= result.alarms[0] < 1700
    # A model that has learned before counts its rows from its own beginning.
    model = bg.StreamingNaiveBayesClassifier(detector="adwin").partial_fit(X[:300], y[:300])
    later = bg.prequential(model, X[300:], y[300:])
    np.testing.assert_array_equal(later.alarms + 300, own.alarms)


def test_a_class_that_comes_late_costs_much_once():
    X, y = stream(300)
    y = np.minimum(y, 1)
    y[200] = 2
    model = bg.NaiveBayesClassifier().fit(X[:100], y[:100])
    result = bg.prequential(model, X[100:201], y[100:201], batch=101)
    assert result.mean_log_loss > 34.5 / 101


def test_figures(tmp_path):
    X, y = stream(1200, turn=900)
    results = {
        "$plain": bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y),
        "watching": bg.prequential(bg.StreamingNaiveBayesClassifier(detector="adwin"), X, y),
    }
    figure = prequential_figure(results, measure="kappa_majority")
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), results["$plain"].kappa_majority)
    assert len(axes.lines) == 2 + len(results["watching"].alarms)
    assert "alarms" in axes.texts[0].get_text()
    save_figure(figure, tmp_path / "a.svg")
    assert len(prequential_figure(results["$plain"]).axes[0].lines) == 1
    with pytest.raises(DataError, match="'accuracy'"):
        prequential_figure(results, measure="acuracy")
    with pytest.raises(DataError, match="at least one"):
        prequential_figure({})


def test_bad_input():
    X, y = stream(50)
    for options in ({"fading": 0}, {"window": 0}, {"batch": 0}, {"detector": "x"}):
        with pytest.raises(ModelError):
            bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y, **options)
    with pytest.raises(DataError, match="without labels"):
        bg.prequential(bg.StreamingNaiveBayesClassifier(), X)
    with pytest.raises(DataError, match="No row was predicted"):
        bg.prequential(GaussianNB(), X, y)
