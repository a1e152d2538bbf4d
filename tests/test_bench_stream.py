"""The benchmark of streams on toy sizes: its accuracies, its turns, its tables."""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from large_scale import large_scale_concept

import bayesgraph as bg

pytest.importorskip("river")
FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_are_found(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("harness", "bench_stream", "stream_costs", "stream_data", "stream_models"):
        sys.modules.pop(name, None)


@pytest.fixture
def toy():
    from bench_stream import Plan

    return Plan(("gamma",), (60, 150), 80, n_stream=60, n_timed=150, n_single=20)


@pytest.mark.slow
def test_accuracies_are_those_of_models_that_learn_all_at_once():
    from bench_stream import accuracies
    from stream_data import test_blocks, training
    from stream_models import STREAMING

    found = {
        (size, label): s for size, label, s in accuracies("gamma", 1, [60, 150], 80, STREAMING)
    }
    concept = large_scale_concept("gamma", 1)
    X, y = concept.draw(150, training(1))
    ((test, labels),) = test_blocks(concept, 1, 80)
    for size in (60, 150):
        model = bg.StreamingWeightedNaiveBayesClassifier().fit(X[:size], y[:size])
        assert found[size, "WNB stream"] == np.mean(model.predict(test) == labels)


def test_blocks_are_the_rows_of_one_table(monkeypatch):
    import stream_data

    monkeypatch.setattr(stream_data, "_BLOCK", 3500)
    concept = large_scale_concept("delta")
    parts = list(stream_data.rows_in_blocks(concept, 20, np.random.default_rng(0)))
    assert [len(y) for _, y in parts] == [7, 7, 6]
    whole, _ = concept.draw(20, np.random.default_rng(0))
    np.testing.assert_array_equal(np.concatenate([X for X, _ in parts]), whole)


def test_means_over_concepts(toy):
    from bench_stream import table

    def found(name, number):
        yield 60, "NB stream", 0.5 + 0.1 * number
        yield 60, "river.GaussianNB", 0.25

    ours, theirs = table("c", replace(toy, concepts=3), found)
    assert (ours.case, ours.peer_name) == ("c: gamma 60", "NB stream")
    assert (ours.ours, ours.peer) == (pytest.approx(60.0), None)
    assert (theirs.ours, theirs.peer) == (None, 25.0)


@pytest.mark.one_in(3)
# Of scikit-learn's Gaussians before a class has rows.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", ["summaries", "peers", "memory", "clipping"])
def test_cases_run_and_print(case, toy, capsys):
    from bench_stream import CASES, show

    rows = list(CASES[case](replace(toy, concepts=1)))
    show(rows)
    printed = capsys.readouterr().out
    for row in rows:
        assert row.case in printed
        assert row.peer_name in printed
        assert 0 < (row.peer if row.ours is None else row.ours) <= 100


@pytest.mark.slow
def test_study_leaves_out_what_does_not_fit(toy, monkeypatch):
    import bench_stream

    monkeypatch.setattr(bench_stream, "_OFFLINE_NUMBERS", 60 * 500)
    found = {(r.case, r.peer_name) for r in bench_stream.study(toy)}
    assert ("study: gamma 60", "SNB offline") in found
    assert ("study: gamma 150", "SNB offline") not in found
    assert {("study: gamma 150", "best possible"), ("study: gamma 150", "WNB stream")} <= found


@pytest.mark.slow
def test_throughput_compares_per_row(toy, capsys):
    from bench_stream import CASES, show

    rows = list(CASES["throughput"](toy))
    show(rows)
    assert all(r.ratio == pytest.approx(r.peer / r.ours) for r in rows)
    assert {r.peer_name for r in rows} >= {"river.GaussianNB", "sklearn.GaussianNB"}
    assert "ratio" in capsys.readouterr().out


def test_models_take_turns():
    from stream_costs import timed

    calls = []

    def maker(label, seconds):
        def make():
            return lambda i: (calls.append((label, i)), time.sleep(seconds))

        return make

    found = timed({"a": (maker("a", 0.0), 3, 10), "b": (maker("b", 0.01), 2, 10)})
    assert calls[:4] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert calls[4:] == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2)]
    assert found["b"] >= 1.0


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["Bananas", "ImageSegments", "SEA, abrupt", "gamma, gradual"])
def test_prequential_accuracy_of_all_models(name):
    from bench_stream import prequential
    from stream_data import stream

    X, y = stream(name, 120)
    assert X.shape[0] == len(y) == 120
    rows = list(prequential(name, X, y))
    assert len(rows) == 6
    classes = list(range(y.max() + 1))
    found, _ = bg.StreamingNaiveBayesClassifier().test_then_train(X, y, classes=classes)
    assert rows[0].ours == pytest.approx(100 * np.mean(found == y))


@pytest.mark.parametrize(
    "name", ["Agrawal, gradual", "Hyperplane", "RandomRBFDrift", "LED, abrupt", "Phishing"]
)
def test_streams_have_numbers_and_classes_from_zero(name):
    from stream_data import stream

    X, y = stream(name, 200)
    assert X.dtype == np.float64
    assert set(np.unique(y)) == set(range(y.max() + 1))


def test_what_is_chosen():
    from bench_stream import LARGE_SCALE, chosen_plan

    given = {"quick": False, "sets": None, "rows": None, "concepts": None, "test": None}
    given["online"] = False
    plan = chosen_plan(argparse.Namespace(**given))
    assert (plan.sets, plan.sizes) == (LARGE_SCALE, (40_000, 100_000, 380_000))
    assert (plan.n_test, plan.offline) == (100_000, True)
    plan = chosen_plan(argparse.Namespace(**given | {"test": 900, "online": True}))
    assert (plan.n_test, plan.offline) == (900, False)
    plan = chosen_plan(argparse.Namespace(**given | {"sets": "zeta,beta", "rows": "300,20"}))
    assert (plan.sets, plan.sizes) == (("zeta", "beta"), (20, 300))
    with pytest.raises(SystemExit, match="no set 'eta'"):
        chosen_plan(argparse.Namespace(**given | {"sets": "eta"}))


@pytest.mark.parametrize("n", [50, 20_000, 1_000_000])
def test_streams_that_change_begin_however_long_they_are(n):
    from stream_data import _led, _sea

    for made in (_sea, _led):
        assert next(iter(made(n)))[0]
