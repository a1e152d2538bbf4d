"""Windows, forgetting and the reaction to drift."""

import itertools

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.drift import ADWIN
from bayesgraph.errors import DataError, ModelError
from bayesgraph.learning.streaming import StreamingStar
from bayesgraph.statistics.sketches import GaussianSummary, GKSummary

MODELS = [bg.StreamingNaiveBayesClassifier, bg.StreamingWeightedNaiveBayesClassifier]


def turned(n=1200, seed=0, turn=None, d=4):
    """Return rows whose classes are swapped from a row on."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    X = random.normal(size=(n, d)) + 1.2 * y[:, None]
    if turn is not None:
        y[turn:] = 1 - y[turn:]
    return X, y


def mixed(X):
    """Return a table with a column of text beside the numbers."""
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    columns["text"] = np.array(["a", "b", "c", "d"])[np.digitize(X[:, 0], [0, 1, 2])]
    return columns


def taken(columns, rows):
    return {name: column[rows] for name, column in columns.items()}


OPTIONS = [
    {"detector": "adwin"},
    {"detector": "ddm", "on_drift": "quicken"},
    {"window": 333},
    {"window": 100, "detector": ADWIN(0.01), "summary": "gaussian"},
    {"window": 640, "decay": 0.999, "detector": "adwin", "summary": "pid"},
]


@pytest.mark.one_in(9)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_batches_do_not_matter(model, options):
    X, y = turned(turn=700)
    table = mixed(X)
    whole = model(**options).partial_fit(table, y)
    parts = model(**options)
    for first, last in itertools.pairwise([0, 1, 8, 9, 300, 771, 772, 1100, 1200]):
        parts.partial_fit(taken(table, slice(first, last)), y[first:last])
    np.testing.assert_array_equal(whole.drifts_, parts.drifts_)
    expected, found = whole.star_.arrays(), parts.star_.arrays()
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    if "detector" in options:
        assert len(whole.drifts_)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("decay", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("summary", ["gk", "pid", "gaussian"])
def test_everything_fades_row_by_row(decay, summary):
    """What is held of the i-th last row is decay**i, in totals, tables and summaries alike."""
    random = np.random.default_rng(5)
    y = (random.random(3000) < 0.1).astype(int)
    table = {"x": random.normal(size=3000), "s": random.choice(["a", "b"], 3000)}
    weights = random.choice([0.5, 2.0], 3000)
    model = bg.StreamingNaiveBayesClassifier(summary=summary, decay=decay)
    model.partial_fit(table, y, classes=[0, 1], sample_weight=weights)
    ages = decay ** np.arange(2999.0, -1.0, -1.0)
    expected = np.bincount(y, weights * ages)
    np.testing.assert_allclose(model.star_.totals, expected, rtol=1e-9)
    model.refresh()
    np.testing.assert_allclose(model.star_.totals, expected, rtol=1e-9)
    np.testing.assert_allclose(model.star_.summaries.counts[0], expected, rtol=1e-9)
    table_of_s = model.star_.counts.tables[0]
    np.testing.assert_allclose(table_of_s.sum(axis=0), expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"window": 400}, {"decay": 0.998}], ids=str)
def test_schedules_and_alarms_count_rows_not_weights(options):
    """A factor of all weights changes neither when densities are made nor what an alarm leaves."""
    X, y = turned(turn=700)
    found = []
    for factor in (1.0, 1e-3, 1e3):
        model = bg.StreamingNaiveBayesClassifier(
            detector="adwin",
            summary="gaussian",
            smoothing=bg.Smoothing(alpha=factor, shrinkage=20.0 * factor),
            **options,
        )
        model.partial_fit(X, y, sample_weight=np.full(len(y), factor))
        star = model.star_
        found.append((star.arrays()["numbers"], model.drifts_, star.totals / factor))
    for other in found[1:]:
        for part, expected in zip(other, found[0], strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-9)
    assert len(found[0][1])


@pytest.mark.slow
def test_a_model_saved_at_an_alarm_is_read_again(tmp_path):
    random = np.random.default_rng(85)
    X = random.normal(size=(200, 2))
    y = random.integers(0, 2, 200)
    X += 3 * y[:, None]
    y[40:] = 1 - y[40:]
    for n in range(60, 200, 7):
        model = bg.StreamingNaiveBayesClassifier(detector="ddm")
        model.partial_fit(X[:n], y[:n], sample_weight=np.full(n, 100.0))
        model.save(tmp_path / "m.bayesgraph")
        again = bg.load(tmp_path / "m.bayesgraph").partial_fit(X[n:], y[n:])
        expected = model.partial_fit(X[n:], y[n:]).predict_proba(X)
        np.testing.assert_array_equal(again.predict_proba(X), expected)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_restored_star_goes_on(options):
    X, y = turned(turn=700)
    table = mixed(X)
    model = bg.StreamingWeightedNaiveBayesClassifier(**options)
    model.partial_fit(taken(table, slice(0, 850)), y[:850], classes=[0, 1])
    star = model.star_
    copied = {name: array.copy() for name, array in star.arrays().items()}
    kind = type(model._summaries(1, 2))
    again = StreamingStar.from_arrays(copied, kind, star.settings)
    model.partial_fit(taken(table, slice(850, 1200)), y[850:])
    numbers = X[850:].T
    codes = np.array([[model._columns.vocabularies[0][str, s] for s in table["text"][850:]]])
    again.learn(numbers, codes, y[850:], np.ones(350))
    for name, array in star.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array, err_msg=name)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("rows", [699, 853])
def test_a_saved_model_goes_on(options, rows, tmp_path):
    X, y = turned(turn=700)
    table = mixed(X)
    model = bg.StreamingWeightedNaiveBayesClassifier(**options)
    model.partial_fit(taken(table, slice(0, rows)), y[:rows]).save(tmp_path / "a.bayesgraph")
    again = bg.load(tmp_path / "a.bayesgraph")
    assert repr(again) == repr(model)
    for either in (model, again):
        either.partial_fit(taken(table, slice(rows, 1200)), y[rows:])
    for name, array in model.star_.arrays().items():
        np.testing.assert_array_equal(again.star_.arrays()[name], array, err_msg=name)
    np.testing.assert_array_equal(again.drifts_, model.drifts_)


@pytest.mark.parametrize("summary", ["gk", "gaussian"])
def test_a_window_is_a_model_of_its_rows(summary):
    X, y = turned(1600)
    X = X.round(0)
    table = mixed(X)
    window = bg.StreamingNaiveBayesClassifier(summary=summary, window=400).fit(table, y)
    rows = slice(1200, 1600)
    alone = bg.StreamingNaiveBayesClassifier(summary=summary).fit(taken(table, rows), y[rows])
    np.testing.assert_array_equal(window.star_.totals, alone.star_.totals)
    np.testing.assert_array_equal(window.star_.summaries.counts, alone.star_.summaries.counts)
    # States are listed in the order of their first appearance.
    order = [window._columns.vocabularies[0][key] for key in alone._columns.vocabularies[0]]
    np.testing.assert_array_equal(
        window.star_.counts.tables[0][order], alone.star_.counts.tables[0]
    )
    np.testing.assert_allclose(
        window.predict_proba(table), alone.predict_proba(table), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("summary", ["gk", "pid"])
def test_a_window_of_numbers_is_near_a_model_of_its_rows(summary):
    X, y = turned(2400)
    options = {"summary": summary, "discretizer": "frequency"}
    window = bg.StreamingNaiveBayesClassifier(window=1600, **options).fit(X, y)
    alone = bg.StreamingNaiveBayesClassifier(**options).fit(X[800:], y[800:])
    gap = np.abs(window.predict_proba(X) - alone.predict_proba(X))
    # The same rows in another order make a gap of 0.012.
    assert gap.mean() < 0.02


def test_a_window_forgets_what_left_it():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 2000)
    weights = random.random(2000)
    X = {"state": np.where(np.arange(2000) < 900, "old", np.where(y == 1, "u", "v"))}
    model = bg.StreamingNaiveBayesClassifier(window=800).fit(X, y, weights)
    np.testing.assert_array_equal(model.star_.counts.tables[0][0], 0.0)
    np.testing.assert_allclose(model.star_.totals, model.star_.counts.tables[0].sum(axis=0))
    held = model.star_.totals.sum()
    assert weights[-800:].sum() * 7 / 8 <= held <= weights[-800:].sum()


@pytest.mark.slow
def test_a_column_of_ever_new_values_fades_in_a_window():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 4000)
    ids = np.where(random.random(4000) < 0.5, np.array(["u", "v"])[y], np.arange(4000).astype(str))
    whole = bg.StreamingNaiveBayesClassifier(window=400, max_categories=20, detector="adwin")
    whole.partial_fit({"id": ids}, y)
    parts = bg.StreamingNaiveBayesClassifier(window=400, max_categories=20, detector="adwin")
    for first in range(0, 4000, 170):
        rows = slice(first, first + 170)
        parts.partial_fit({"id": ids[rows]}, y[rows])
    for name, array in whole.star_.arrays().items():
        np.testing.assert_array_equal(parts.star_.arrays()[name], array, err_msg=name)
    assert whole.star_.totals.sum() <= 400
    assert whole.predict({"id": np.array(["u", "v"])}).tolist() == [0, 1]
    held = whole.star_.counts.sketches[0].listed()[1]
    assert held.sum() < 800


def test_memory_of_a_window_is_constant():
    X, y = turned(6000)
    model = bg.StreamingWeightedNaiveBayesClassifier(window=800, detector="adwin")
    sizes = []
    for first in range(0, 6000, 1000):
        rows = slice(first, first + 1000)
        sizes.append(model.partial_fit(X[rows], y[rows]).star_.nbytes)
    assert sizes[-1] <= sizes[1] * 1.1


def test_classes_and_columns_may_come_later():
    model = bg.StreamingWeightedNaiveBayesClassifier(window=80, detector="adwin")
    random = np.random.default_rng(0)
    for i in range(400):
        y = int(random.integers(0, 2 + i // 200))
        x = {"a": y + random.normal(), "b": "uv"[y % 2]}
        if i > 100:
            x["c"] = random.normal() - y
        model.learn_one(x, y)
    assert model.star_.totals.sum() == pytest.approx(model.star_.counts.tables[0].sum())
    assert 70 <= model.star_.totals.sum() <= 80
    assert model.predict_proba_one({"a": 2.0}).keys() == {0, 1, 2}


@pytest.mark.parametrize("model", MODELS)
def test_an_alarm_makes_the_model_learn_anew(model):
    X, y = turned(4000, turn=2000)
    plain = model().test_then_train(X, y)[0]
    watching = model(detector="adwin")
    quick = watching.test_then_train(X, y)[0]
    assert 2000 <= watching.drifts_[0] < 2200
    # Later the exponents of the other have changed their signs.
    later = slice(2300, 2600)
    assert (quick == y)[later].mean() > (plain == y)[later].mean() + 0.05
    noting = model(detector="adwin", on_drift="note")
    np.testing.assert_array_equal(noting.test_then_train(X, y)[0], plain)
    assert noting.drifts_[0] == watching.drifts_[0]


@pytest.mark.parametrize("model", MODELS)
def test_a_steady_stream_brings_no_alarm(model):
    X, y = turned(5000)
    watching = model(detector="adwin")
    np.testing.assert_array_equal(
        watching.test_then_train(X, y)[0], model().test_then_train(X, y)[0]
    )
    assert watching.drifts_.size == 0


def test_a_detector_is_copied():
    X, y = turned(1200, turn=600)
    detector = ADWIN()
    model = bg.StreamingNaiveBayesClassifier(detector=detector).fit(X, y)
    assert detector.width == 0
    assert model.star_.watch.detector.width > 0
    first = model.drifts_
    np.testing.assert_array_equal(model.fit(X, y).drifts_, first)


def test_rivers_detectors_are_taken():
    drift = pytest.importorskip("river.drift")
    X, y = turned(1600, turn=800)
    model = bg.StreamingNaiveBayesClassifier(detector=drift.ADWIN()).fit(X, y)
    assert model.drifts_[0] >= 800


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("watch.rows", np.array([-1])),
        ("watch.errors", np.array([0.5])),
        ("watch.detector_counts", np.full(48, 7)),
        ("panes.rows", np.array([3, 9])),
        ("panes.pane_0_0", np.array([[-1.0, 2.0]])),
        ("panes.pane_0_0", np.zeros((1, 2))),
        ("ranges", np.array([-1.0, 1.0])),
        ("numbers", np.array([301, 301, -256, 1, 0])),
    ],
)
def test_forged_states_are_refused(name, value):
    X, y = turned(301)
    star = bg.StreamingNaiveBayesClassifier(window=80, detector="adwin").partial_fit(X, y).star_
    arrays = star.arrays()
    assert name in arrays
    with pytest.raises(DataError):
        StreamingStar.from_arrays(arrays | {name: value}, GKSummary, star.settings)


def test_densities_of_another_kind_than_the_summaries_are_refused():
    X, y = turned(301)
    model = bg.StreamingNaiveBayesClassifier
    star, other = (model(summary=s).partial_fit(X, y).star_ for s in ("gk", "gaussian"))
    theirs = {n: a for n, a in other.arrays().items() if n.startswith("numbers.")}
    own = {n: a for n, a in star.arrays().items() if not n.startswith("numbers.")}
    with pytest.raises(DataError, match="has densities with"):
        StreamingStar.from_arrays(own | theirs, GKSummary, star.settings)


def test_a_window_and_an_epsilon():
    X, y = turned(900)
    window = bg.StreamingNaiveBayesClassifier(window=400, epsilon=0.02).fit(X, y)
    assert isinstance(window.star_.summaries.panes[0], GKSummary)
    assert not isinstance(window.star_.summaries.together(), GaussianSummary)
    assert window.score(X, y) > 0.85


@pytest.mark.parametrize(
    "options", [{"window": 7}, {"window": 2.5}, {"detector": "adwim"}, {"on_drift": "panic"}]
)
def test_bad_input(options):
    X, y = turned(50)
    with pytest.raises(ModelError, match=next(iter(options))):
        bg.StreamingNaiveBayesClassifier(**options).fit(X, y)
