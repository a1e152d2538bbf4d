"""Windows, forgetting and the reaction to drift."""

import dataclasses
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


def states(X):
    """Return a table of text alone."""
    return {f"x{j}": np.array(["a", "b", "c"])[np.digitize(c, [0, 1])] for j, c in enumerate(X.T)}


def table_for(options, X):
    return states(X) if "window" in options else mixed(X)


def taken(columns, rows):
    return {name: column[rows] for name, column in columns.items()}


OPTIONS = [
    {"detector": "adwin"},
    {"detector": "adwin", "on_drift": "quicken"},
    {"window": 333},
    {"detector": ADWIN(0.01), "summary": "gaussian"},
    {"window": 100, "detector": ADWIN(0.01)},
    {"window": 640, "decay": 0.999, "detector": "adwin"},
    {"decay": 0.999, "detector": "adwin", "summary": "pid"},
]


@pytest.mark.one_in(9)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_batches_do_not_matter(model, options):
    X, y = turned(turn=700)
    table = table_for(options, X)
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
    table = states(X) if "window" in options else X
    found = []
    for factor in (1.0, 1e-3, 1e3):
        model = bg.StreamingNaiveBayesClassifier(
            detector="adwin",
            summary="gaussian",
            smoothing=bg.Smoothing(alpha=factor, shrinkage=20.0 * factor),
            **options,
        )
        model.partial_fit(table, y, sample_weight=np.full(len(y), factor))
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
    table = table_for(options, X)
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
    table = table_for(options, X)
    model = bg.StreamingWeightedNaiveBayesClassifier(**options)
    model.partial_fit(taken(table, slice(0, rows)), y[:rows]).save(tmp_path / "a.bayesgraph")
    again = bg.load(tmp_path / "a.bayesgraph")
    assert repr(again) == repr(model)
    for either in (model, again):
        either.partial_fit(taken(table, slice(rows, 1200)), y[rows:])
    for name, array in model.star_.arrays().items():
        np.testing.assert_array_equal(again.star_.arrays()[name], array, err_msg=name)
    np.testing.assert_array_equal(again.drifts_, model.drifts_)


def by_counting(table, y, known, labels, asked, alpha=1.0):
    """Return the class probabilities of naive Bayes, counted row by row, for the rows `asked`."""
    found = np.zeros((len(next(iter(asked.values()))), len(labels)))
    for k, label in enumerate(labels):
        n = sum(one == label for one in y)
        found[:, k] += np.log(n + alpha)
        for name, column in asked.items():
            there = [s for s, one in zip(table[name], y, strict=True) if one == label and s]
            total = len(there) + alpha * len(known[name])
            for row, state in enumerate(column):
                if state:
                    found[row, k] += np.log((there.count(state) + alpha) / total)
    found = np.exp(found - found.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


def rows_of_text(n, seed=0):
    """Return rows with missing cells, a state and a class that only the first rows have."""
    random = np.random.default_rng(seed)
    y = random.choice(["u", "v", "w"], n)
    early = np.arange(n) < 60
    y = np.where(early | (y != "w"), y, "u")
    shift = random.integers(0, 3, n) + (y == "v")
    table = {
        "s": np.array(["a", "b", "c", "d"], dtype=object)[shift],
        "t": np.where(early, "old", np.array(["p", "q"])[random.integers(0, 2, n)]).astype(object),
    }
    table["s"][random.random(n) < 0.1] = None
    return table, y


@pytest.mark.parametrize("batch", [1, 7, 256, 700])
@pytest.mark.parametrize("window", [1, 5, 100, 300, 700, 900])
def test_a_window_is_a_model_of_the_last_rows(window, batch):
    table, y = rows_of_text(700)
    model = bg.StreamingNaiveBayesClassifier(window=window)
    for first in range(0, 700, batch):
        rows = slice(first, first + batch)
        model.partial_fit(taken(table, rows), y[rows], classes=["u", "v", "w", "z"])
    model.refresh()
    last = slice(max(700 - window, 0), 700)
    known = {name: {s for s in column if s} for name, column in table.items()}
    assert model.classes_.tolist() == ["u", "v", "w", "z"]
    assert model.star_.totals.tolist() == [
        np.count_nonzero(y[last] == label) for label in model.classes_
    ]
    expected = by_counting(taken(table, last), y[last], known, model.classes_, table)
    np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("decay", [1.0, 0.99])
@pytest.mark.parametrize("window", [40, 300])
def test_a_window_equals_a_fresh_fit(window, decay):
    """To the bit, if the last rows have all states and classes in the order of all rows."""
    table, y = rows_of_text(640)
    last = slice(640 - window, 640)
    table, y = taken(table, last), y[last]
    forwards = np.arange(window)
    order = np.concatenate([forwards, forwards[::-1], forwards])
    weights = np.random.default_rng(0).integers(1, 4, len(order)).astype(float)
    model = bg.StreamingNaiveBayesClassifier(window=window, decay=decay)
    model.fit(taken(table, order), y[order], weights)
    alone = bg.StreamingNaiveBayesClassifier(decay=decay).fit(table, y, weights[-window:])
    same = np.testing.assert_array_equal if decay == 1.0 else np.testing.assert_allclose
    same(model.star_.totals, alone.star_.totals)
    for found, expected in zip(model.star_.counts.tables, alone.star_.counts.tables, strict=True):
        same(found, expected)
    same(model.predict_proba(table), alone.predict_proba(table))


def test_weights_of_any_size_leave_a_window():
    table, y = rows_of_text(2000)
    weights = np.random.default_rng(0).random(2000) * 10.0 ** np.repeat([3, 0, -3, 0], 500)
    model = bg.StreamingNaiveBayesClassifier(window=90).fit(table, y, weights)
    held = model.star_
    known = [weights[-90:][y[-90:] == label].sum() for label in model.classes_]
    np.testing.assert_allclose(held.totals, known, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(held.counts.tables[1].sum(axis=0), known, rtol=1e-9, atol=1e-9)
    assert all((counted >= 0.0).all() for counted in held.counts.tables)


def test_memory_of_a_window_is_constant():
    X, y = turned(6000)
    table = states(X)
    model = bg.StreamingWeightedNaiveBayesClassifier(window=800, detector="adwin")
    sizes = []
    for first in range(0, 6000, 1000):
        rows = slice(first, first + 1000)
        sizes.append(model.partial_fit(taken(table, rows), y[rows]).star_.nbytes)
    assert sizes[-1] <= sizes[1] * 1.1


def test_classes_and_columns_may_come_later():
    model = bg.StreamingWeightedNaiveBayesClassifier(window=80, detector="adwin")
    random = np.random.default_rng(0)
    for i in range(400):
        y = int(random.integers(0, 2 + i // 200))
        x = {"a": "klmn"[y + random.integers(0, 2)], "b": "uv"[y % 2]}
        if i > 100:
            x["c"] = "xyz"[y]
        model.learn_one(x, y)
    model.refresh()
    assert model.star_.totals.sum() == 80
    for counted in model.star_.counts.tables:
        np.testing.assert_array_equal(counted.sum(axis=0), model.star_.totals)
    assert model.predict_proba_one({"a": "m"}).keys() == {0, 1, 2}


def test_an_alarm_forgets_the_rows_of_a_window_too():
    X, y = turned(1200, turn=700)
    model = bg.StreamingNaiveBayesClassifier(window=400, detector="adwin").fit(states(X), y)
    assert len(model.drifts_)
    star = model.star_
    for counted in star.counts.tables:
        np.testing.assert_allclose(counted.sum(axis=0), star.totals, rtol=1e-9)
    model.partial_fit(states(X[:400]), y[:400]).refresh()
    np.testing.assert_allclose(star.totals.sum(), 400, rtol=1e-9)


def test_what_cannot_be_subtracted_has_no_window():
    X, y = turned(50)
    model = bg.StreamingNaiveBayesClassifier(window=20, max_categories=5)
    with pytest.raises(DataError, match=r"'x0', .* are numeric: use decay= instead"):
        model.fit(mixed(X), y)
    with pytest.raises(DataError, match="'a' are numeric: use decay= instead"):
        model.learn_one({"a": 1.0}, 0)
    assert not hasattr(model, "star_")
    model.partial_fit({"s": ["a", "b", "c"]}, [0, 1, 0])
    before = model._columns.vocabularies[0].copy()
    for learn in (
        lambda: model.partial_fit({"s": list("adefg")}, [0, 1, 0, 1, 0]),
        lambda: model.learn_one({"s": "a", "n": 2.0}, 0),
    ):
        with pytest.raises(DataError, match="use decay= instead"):
            learn()
        assert model._columns.vocabularies == [before]
    model.partial_fit({"s": list("ade")}, [0, 1, 0]).refresh()
    with pytest.raises(DataError, match=r"'s' has more than max_categories=5 values: use decay="):
        model.learn_one({"s": "f"}, 0)
    assert model.star_.totals.sum() == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window_codes", np.full((4, 80), 9)),
        ("window_codes", np.full((4, 80), -2)),
        ("window_codes", np.zeros((4, 81), dtype=np.int64)),
        ("window_codes", np.zeros((3, 80), dtype=np.int64)),
        ("window_classes", np.full(80, 2)),
        ("window_classes", np.zeros(79, dtype=np.int64)),
        ("window_weights", np.full(80, -1.0)),
        ("window_weights", np.full(80, np.nan)),
    ],
)
def test_forged_windows_are_refused(name, value):
    X, y = turned(301)
    star = bg.StreamingNaiveBayesClassifier(window=80).fit(states(X), y).star_
    arrays = star.arrays()
    assert name in arrays
    StreamingStar.from_arrays(arrays, GKSummary, star.settings)
    with pytest.raises(DataError):
        StreamingStar.from_arrays(arrays | {name: value}, GKSummary, star.settings)


def test_a_forged_window_of_numbers_is_refused():
    X, y = turned(301)
    star = bg.StreamingNaiveBayesClassifier().fit(X, y).star_
    windowed = dataclasses.replace(star.settings, window=80)
    with pytest.raises(DataError, match="no numeric columns in a window"):
        StreamingStar.from_arrays(star.arrays(), GKSummary, windowed)


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
        ("ranges", np.array([-1.0, 1.0])),
        ("numbers", np.array([301, 301, -256, 1, 0])),
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


@pytest.mark.parametrize(
    "options", [{"window": 0}, {"window": 2.5}, {"detector": "adwim"}, {"on_drift": "panic"}]
)
def test_bad_input(options):
    X, y = turned(50)
    with pytest.raises(ModelError, match=next(iter(options))):
        bg.StreamingNaiveBayesClassifier(**options).fit(X, y)
