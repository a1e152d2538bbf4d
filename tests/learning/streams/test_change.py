"""Forgetting and the reaction to drift."""

import itertools

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, ModelError
from bayesgraph.learning import ADWIN, StreamingStar
from bayesgraph.statistics import GKSummary

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
    {"detector": "adwin", "on_drift": "quicken"},
    {"detector": ADWIN(0.01), "summary": "gaussian"},
    {"decay": 0.999, "detector": "adwin", "summary": "pid"},
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


@pytest.mark.parametrize("options", [{}, {"decay": 0.998}], ids=str)
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
        model = bg.StreamingNaiveBayesClassifier(detector=ADWIN(0.1, clock=1))
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
    columns = model._columns
    numbers = np.array([table[name][850:] for name in columns.numbers]).reshape(-1, 350)
    codes = np.array(
        [
            [vocabulary[str, s] for s in table[name][850:]]
            for name, vocabulary in zip(columns.states, columns.vocabularies, strict=True)
        ]
    )
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
    assert model.star_.detector.width > 0
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
        ("drifts", np.array([-1])),
        ("waiting_errors", np.array([1.5])),
        ("detector.counts", np.full(48, 7)),
        ("ranges", np.array([-1.0, 1.0])),
        ("numbers", np.array([301, 301, -256, 1, 0, 0])),
        ("numbers", np.array([900, 301, 256, 1, 0, 0])),
    ],
)
def test_forged_states_are_refused(name, value):
    X, y = turned(301)
    star = bg.StreamingNaiveBayesClassifier(detector="adwin").partial_fit(X, y).star_
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


@pytest.mark.parametrize("options", [{"detector": "adwim"}, {"on_drift": "panic"}])
def test_bad_input(options):
    X, y = turned(50)
    with pytest.raises(ModelError, match=next(iter(options))):
        bg.StreamingNaiveBayesClassifier(**options).fit(X, y)
