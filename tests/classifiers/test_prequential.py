"""Prequential curves against loops over rows."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, ModelError
from bayesgraph.learning import ADWIN
from bayesgraph.pictures import prequential_figure, save_figure


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


@pytest.mark.one_in(3)
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
    assert (result.n_tested, result.rows[0], result.first_row) == (800, 200, 100)
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
    model = bg.StreamingNaiveBayesClassifier(detector="adwin")
    model.partial_fit(X[:300], y[:300], classes=np.unique(y))
    later = bg.prequential(model, X[300:], y[300:])
    np.testing.assert_array_equal(later.alarms + 300, own.alarms)


def test_a_class_that_comes_late_costs_much_once():
    X, y = stream(300)
    y = np.minimum(y, 1)
    y[200] = 2
    model = bg.NaiveBayesClassifier().fit(X[:100], y[:100])
    result = bg.prequential(model, X[100:201], y[100:201], batch=101)
    assert result.mean_log_loss > 34.5 / 101


@pytest.mark.slow
def test_figures(tmp_path):
    X, y = stream(1200, turn=900)
    results = {
        "$plain": bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y),
        "watching": bg.prequential(bg.StreamingNaiveBayesClassifier(detector="adwin"), X, y),
    }
    figure = prequential_figure(results, measure="kappa_majority", changes=[900])
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), results["$plain"].kappa_majority)
    assert len(axes.lines) == 3 + len(results["watching"].alarms)
    assert axes.lines[0].get_xdata() == [900, 900]
    assert "alarms of drift; grey: changes" in axes.texts[0].get_text()
    save_figure(figure, tmp_path / "a.svg")
    assert len(prequential_figure(results["$plain"]).axes[0].lines) == 1
    assert len(bg.plot(results["$plain"], measure="log_loss").axes[0].lines) == 1
    with pytest.raises(DataError, match="'accuracy'"):
        prequential_figure(results, measure="acuracy")
    for nothing in ({}, []):
        with pytest.raises(DataError, match="at least one"):
            prequential_figure(nothing)
    for wrong in (3, "text", [results["$plain"], None]):
        with pytest.raises(DataTypeError, match="takes objects of the class PrequentialResult"):
            prequential_figure(wrong)
    for changes in ("early", [[1]], ["a"]):
        with pytest.raises(DataError, match="list of rows"):
            prequential_figure(results, changes=changes)


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_names_in_figures_are_whole_and_told_apart():
    X, y = stream(300)
    name = "StandardScaler | LogisticRegression of another library"
    results = bg.prequential({name: GaussianNB(), "hinge": SGDClassifier(random_state=0)}, X, y)
    assert legend(bg.plot(results))[0].startswith(name)
    hinge = results["hinge"]
    found = legend(prequential_figure([hinge, hinge], measure="log_loss"))
    assert found == ["hinge  gives no probabilities", "hinge (2)  gives no probabilities"]


class TestModelsOfRiver:
    """Rows as mappings, each predicted and then learned."""

    @staticmethod
    def by_hand(model, rows):
        right, given = [], []
        for x, label in rows:
            proba = model.predict_proba_one(x)
            right.append(bool(proba) and max(proba, key=proba.get) == label)
            given.append(proba.get(label, 0.0))
            model.learn_one(x, label)
        return np.mean(right), -np.log(np.maximum(given, 1e-15)).mean()

    def test_tables_are_taken_row_by_row(self):
        naive_bayes = pytest.importorskip("river.naive_bayes")
        X, y = stream(500)
        rows = [dict(zip(["x0", "x1", "x2"], x, strict=True)) for x in X.tolist()]
        expected = self.by_hand(naive_bayes.GaussianNB(), zip(rows, y.tolist(), strict=True))
        frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
        for table in (X, frame, X.tolist(), {"x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2]}):
            found = bg.prequential(naive_bayes.GaussianNB(), table, y, batch=70)
            assert (found.mean_accuracy, found.mean_log_loss) == pytest.approx(expected)
            assert (found.name, found.first_row, found.n_tested) == ("GaussianNB", 0, 500)

    def test_what_is_missing_is_left_out(self):
        dummy = pytest.importorskip("river.dummy")
        seen = []

        class Noting(dummy.NoChangeClassifier):
            def learn_one(self, x, y):
                seen.append(x)
                super().learn_one(x, y)

        table = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["u", "v", None]})
        bg.prequential(Noting(), table, ["p", "q", "p"])
        assert seen == [{"a": 1.0, "b": "u"}, {"b": "v"}, {"a": 3.0}]

    def test_streams_of_rows(self):
        datasets = pytest.importorskip("river.datasets")
        stream_ = list(datasets.Phishing().take(400))
        expected = self.by_hand(bg.StreamingNaiveBayesClassifier(), stream_)
        for model in (bg.StreamingNaiveBayesClassifier(), bg.to_river(
            bg.StreamingNaiveBayesClassifier()
        )):  # fmt: skip
            found = bg.prequential(model, datasets.Phishing().take(400), batch=90)
            assert (found.mean_accuracy, found.mean_log_loss) == pytest.approx(expected)
            np.testing.assert_array_equal(found.rows, [90, 180, 270, 360, 400])

    def test_tables_of_rows(self):
        datasets = pytest.importorskip("river.datasets")
        rows, labels = zip(*datasets.Phishing().take(300), strict=True)
        whole = bg.prequential(GaussianNB(), pd.DataFrame(rows), labels)
        found = bg.prequential(GaussianNB(), datasets.Phishing().take(300), classes=[False, True])
        np.testing.assert_array_equal(found.log_loss, whole.log_loss)
        with pytest.raises(DataError, match="give prequential classes="):
            bg.prequential(GaussianNB(), datasets.Phishing().take(300))
        later = [({"a": 1.0}, 0), ({"a": 2.0}, 1), ({"a": 1.0, "b": 3.0}, 0)]
        with pytest.raises(DataError, match="columns 'b'"):
            bg.prequential(GaussianNB(), later, batch=2, classes=[0, 1])

    def test_labels_without_probabilities(self):
        linear_model = pytest.importorskip("river.linear_model")
        preprocessing = pytest.importorskip("river.preprocessing")

        class Silent(linear_model.LogisticRegression):
            def predict_proba_one(self, x):
                raise NotImplementedError

            def predict_one(self, x):
                return super().predict_proba_one(x)[True] > 0.5

        X, y = stream(400)
        y = y > 0
        scaled = [preprocessing.StandardScaler() | make() for make in
                  (linear_model.LogisticRegression, Silent)]  # fmt: skip
        told, silent = (bg.prequential(model, X, y, judge_from=1) for model in scaled)
        assert silent.mean_accuracy == pytest.approx(told.mean_accuracy, abs=0.01)
        assert np.isnan(silent.log_loss).all()
        assert told.name == "StandardScaler | LogisticRegression"

    def test_alarms_of_the_learner_inside(self):
        pytest.importorskip("river")
        X, y = stream(2000, turn=1500)
        own = bg.StreamingNaiveBayesClassifier(detector="adwin")
        found = bg.prequential(bg.to_river(own), X, y)
        assert 1500 <= found.alarms[0] < 1700


@pytest.mark.parametrize("scaled", [False, True])
def test_models_without_probabilities(scaled):
    X, y = stream()
    last = SGDClassifier(random_state=0)
    result = bg.prequential(make_pipeline(StandardScaler(), last) if scaled else last, X, y)
    model, scaler = SGDClassifier(random_state=0), StandardScaler(with_std=scaled, with_mean=scaled)
    right = []
    for first in range(0, 900, 100):
        rows = slice(first, first + 100)
        if first:
            right += (model.predict(scaler.transform(X[rows])) == y[rows]).tolist()
        scaler.partial_fit(X[rows])
        model.partial_fit(scaler.transform(X[rows]), y[rows], classes=[0, 1, 2])
    assert result.mean_accuracy == pytest.approx(np.mean(right))
    assert np.isnan(result.mean_log_loss)
    assert "nan" not in repr(result)
    assert result.kappa_majority[-1] > 0.1


def test_a_baseline_without_errors_has_kappas_of_zero():
    # Of the last rows all are of class 0, and look like those of class 1.
    y = (np.arange(900) < 40).astype(int)
    X = ((y == 1) | (np.arange(900) >= 100)) * 5.0 + np.random.default_rng(0).normal(size=900)
    result = bg.prequential(GaussianNB(), X[:, None], y, judge_from=100)
    assert result.mean_accuracy < 0.9
    assert result.kappa_no_change.tolist() == result.kappa_majority.tolist() == [0.0] * 8


def test_steps_of_pipelines_that_cannot_learn():
    X, y = stream()
    with pytest.raises(ModelError, match=r"PCA\(\) of a pipeline has no partial_fit"):
        bg.prequential(make_pipeline(PCA(), GaussianNB()), X, y)
    for ready in (PCA().fit(X), Normalizer(), "passthrough"):
        assert bg.prequential(make_pipeline(ready, GaussianNB()), X, y).n_tested == 800


def test_models_of_a_comparison_are_judged_on_the_same_rows():
    X, y = stream(turn=500)
    models = {"own": bg.StreamingNaiveBayesClassifier(), "peer": GaussianNB()}
    batches = ((X[i : i + 90], y[i : i + 90]) for i in range(0, 900, 90))
    both = bg.prequential(models, batches, classes=[0, 1, 2], detector="adwin")
    assert list(both) == ["own", "peer"]
    assert len(both) == 2
    for name, model in (("own", bg.StreamingNaiveBayesClassifier()), ("peer", GaussianNB())):
        alone = bg.prequential(
            model, X, y, batch=90, detector="adwin", judge_from=90 if name == "own" else 0
        )
        assert (both[name].first_row, both[name].n_tested) == (90, 810)
        assert (alone.first_row, alone.n_tested) == (90, 810)
        for curve in ("rows", "accuracy", "log_loss", "kappa_majority", "kappa_no_change"):
            np.testing.assert_array_equal(getattr(alone, curve), getattr(both[name], curve))
        assert alone.mean_log_loss == both[name].mean_log_loss
        np.testing.assert_array_equal(alone.alarms, both[name].alarms)
    lines = repr(both).splitlines()
    assert lines[0].startswith("810 rows from row 90")
    assert lines[2].split()[:2] == ["own", f"{both['own'].mean_accuracy:.4f}"]


@pytest.mark.parametrize("judge_from", [30, 70, 150])
def test_rows_that_are_not_judged(judge_from):
    X, y = stream(300)
    model = bg.StreamingNaiveBayesClassifier()
    answers, _ = model.test_then_train(X, y, classes=[0, 1, 2])
    result = bg.prequential(
        bg.StreamingNaiveBayesClassifier(), X, y, batch=70, judge_from=judge_from, fading=1.0
    )
    assert (result.first_row, result.n_tested) == (judge_from, 300 - judge_from)
    right = (answers == y)[judge_from:]
    assert result.mean_accuracy == pytest.approx(right.mean())
    majority = [np.bincount(y[:i]).argmax() == y[i] for i in range(judge_from, 300)]
    expected = (right.mean() - np.mean(majority)) / (1 - np.mean(majority))
    assert result.kappa_majority[-1] == pytest.approx(expected, abs=0.02)


def test_rows_without_an_answer_are_errors():
    class Empty(bg.StreamingNaiveBayesClassifier):
        """Says nothing of the first row of a batch."""

        def test_then_train(self, X, y, classes=None):
            answers, proba = super().test_then_train(X, y, classes)
            answers[0], proba[0] = y[0], 0.0
            return answers, proba

    X, y = stream(300)
    whole = bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y, batch=300)
    found = bg.prequential(Empty(), X, y, batch=300)
    model = bg.StreamingNaiveBayesClassifier()
    first = model.test_then_train(X, y, classes=[0, 1, 2])[0][0] == y[0]
    assert found.mean_accuracy == pytest.approx(whole.mean_accuracy - first / 300)
    rows = [({"a": 1.0}, "p"), ({"a": 1.0}, "p")]
    result = bg.prequential(bg.StreamingNaiveBayesClassifier(), rows, fading=1.0)
    assert (result.n_tested, result.mean_accuracy) == (2, 0.5)
    # Beside another model such rows are judged of neither.
    models = {"a": bg.StreamingNaiveBayesClassifier(), "b": bg.StreamingNaiveBayesClassifier()}
    both = bg.prequential(models, rows)
    assert [(r.first_row, r.mean_accuracy) for r in both.values()] == [(1, 1.0), (1, 1.0)]


def test_wrappers_of_rivers_models_for_scikit_learn():
    compat = pytest.importorskip("river.compat")
    naive_bayes = pytest.importorskip("river.naive_bayes")
    X, y = stream()
    model = compat.convert_river_to_sklearn(naive_bayes.GaussianNB())
    result = bg.prequential(model, X, y)
    assert result.first_row == 100
    assert result.mean_accuracy > 0.6


def test_bad_input():
    X, y = stream(50)
    for options in ({"fading": 0}, {"window": 0}, {"batch": 0}, {"detector": "x"}):
        with pytest.raises(DataError if {"window", "batch"} & {*options} else ModelError):
            bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y, **options)
    own = bg.StreamingNaiveBayesClassifier
    for size, n_labels in ((50, 20), (20, 50)):
        for table in (X[:size], pd.DataFrame(X[:size]), X[:size].tolist()):
            with pytest.raises(DataError, match=f"{size} rows and y has {n_labels} labels"):
                bg.prequential(own(), table, y[:n_labels])
    with pytest.raises(DataError, match="20 rows and y has 30 labels"):
        bg.prequential(own(), [(X[:20], y[:30])])
    with pytest.raises(DataTypeError, match=r"got the class GaussianNB. Write GaussianNB\(\)"):
        bg.prequential(GaussianNB, X, y)
    with pytest.raises(ModelError, match="learns in steps"):
        bg.prequential(LinearDiscriminantAnalysis(), X, y)
    with pytest.raises(ModelError, match="same object twice"):
        bg.prequential(dict.fromkeys("ab", own()), X, y)
    with pytest.raises(DataError, match="judge_from"):
        bg.prequential(own(), X, y, judge_from=-1)
    with pytest.raises(DataError, match="at least one model"):
        bg.prequential({}, X, y)
    with pytest.raises(DataError, match="No row was predicted"):
        bg.prequential(own(), X, y, judge_from=50)
    with pytest.raises(DataError, match="No row was predicted"):
        bg.prequential(own(), [])
    with pytest.raises(DataError, match="pairs of a table"):
        bg.prequential(own(), X.tolist())
    with pytest.raises(DataTypeError, match="A row of a stream is a mapping"):
        bg.prequential(own(), [({"a": 1}, 0), ([1], 0)])
    with pytest.raises(DataTypeError, match="Labels belong to a table"):
        bg.prequential(own(), iter(X), y)
    with pytest.raises(DataError, match="without labels"):
        bg.prequential(bg.StreamingNaiveBayesClassifier(), X)
    with pytest.raises(DataError, match="No row was predicted"):
        bg.prequential(GaussianNB(), X, y)


def test_labels_may_be_a_column_of_the_frame():
    X, y = load_iris(return_X_y=True, as_frame=True)
    named = X.assign(kind=y)
    by_name = bg.prequential(bg.StreamingNaiveBayesClassifier(), named, "kind")
    apart = bg.prequential(bg.StreamingNaiveBayesClassifier(), X, y)
    lazy = pl.from_pandas(named).lazy()
    from_lazy = bg.prequential(bg.StreamingNaiveBayesClassifier(), lazy, "kind")
    assert by_name.mean_accuracy == apart.mean_accuracy == from_lazy.mean_accuracy
    with pytest.raises(DataError, match=r"'kinds' names no column.*'kind'"):
        bg.prequential(bg.StreamingNaiveBayesClassifier(), named, "kinds")
