"""Drift detectors against plain references, and against river's."""

import inspect
import itertools
import json
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    LossyExportError,
    MissingDependencyError,
    ModelError,
)
from bayesgraph.learning import ADWIN, DETECTORS, alarms, chosen_detector


def rates(*parts, seed=0):
    """Return errors whose rate changes: pairs of a number of rows and a rate."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.random(n) < rate for n, rate in parts]).astype(np.float64)


class PlainWindow:
    """ADWIN with lists of buckets that keep their numbers."""

    def __init__(self, delta=0.002, clock=32, buckets=5, least=5, grace=10):
        self.delta, self.clock, self.most = delta, clock, buckets
        self.least, self.grace, self.seen, self.buckets = least, grace, 0, []

    def update(self, x):
        self.buckets.append([x])
        self.seen += 1
        size = 1
        while sum(len(b) == size for b in self.buckets) > self.most:
            first = next(i for i, b in enumerate(self.buckets) if len(b) == size)
            self.buckets[first : first + 2] = [self.buckets[first] + self.buckets[first + 1]]
            size *= 2
        rose = False
        if self.seen % self.clock == 0 and sum(map(len, self.buckets)) > self.grace:
            while (change := self.change()) is not None:
                rose = rose or change > 0
                del self.buckets[0]
        return rose

    def change(self):
        window = np.concatenate(self.buckets)
        n, ends = len(window), np.cumsum([len(b) for b in self.buckets])[:-1]
        doubt = math.log(2 * math.log(n) / self.delta)
        for end in ends:
            if end < self.least or n - end < self.least:
                continue
            share = 1 / (end - self.least + 1) + 1 / (n - end - self.least + 1)
            bound = math.sqrt(2 * share * window.var() * doubt) + 2 / 3 * share * doubt
            change = window[end:].mean() - window[:end].mean()
            if abs(change) > bound:
                return change
        return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("clock", [1, 32])
def test_adwin_is_the_plain_window(seed, clock):
    errors = rates((400, 0.1), (300, 0.4), (300, 0.05), (400, 0.3), seed=seed)
    plain, own = PlainWindow(clock=clock), ADWIN(clock=clock)
    expected = []
    for i, error in enumerate(errors):
        if plain.update(error):
            expected.append(i)
    np.testing.assert_array_equal(own.feed(errors), expected)
    window = np.concatenate(plain.buckets)
    assert own.width == len(window)
    assert own.estimation == pytest.approx(window.mean())


def test_adwin_takes_numbers_of_any_size():
    random = np.random.default_rng(0)
    values = np.concatenate([random.normal(5, 2, 700), random.normal(7, 2, 300)])
    plain, own = PlainWindow(), ADWIN()
    expected = [i for i, x in enumerate(values) if plain.update(x)]
    np.testing.assert_array_equal(own.feed(values), expected)
    assert expected


def test_adwin_finds_what_rivers_finds():
    drift = pytest.importorskip("river.drift")
    for seed in range(5):
        errors = rates((2000, 0.1), (2000, 0.3), seed=seed)
        peer = drift.ADWIN()
        found = alarms(peer, errors)
        own = ADWIN().feed(errors)
        # The peer leaves out the last bucket of each size.
        assert abs(int(own[0]) - int(found[0])) <= 64
        assert own[0] >= 2000


def test_a_steady_rate_brings_few_alarms():
    found = sum(len(ADWIN().feed(rates((10_000, 0.2), seed=seed))) for seed in range(20))
    assert found <= 2


def test_a_falling_rate_is_an_alarm_only_on_request():
    errors = rates((1000, 0.4), (1000, 0.1))
    own = ADWIN()
    assert len(own.feed(errors)) == 0
    assert own.width < 1200
    assert len(ADWIN(mode="both").feed(errors))


def test_memory_does_not_grow():
    detector = ADWIN()
    before = sum(a.nbytes for a in detector.arrays().values())
    detector.feed(rates((100_000, 0.2)))
    assert detector.width > 90_000
    assert sum(a.nbytes for a in detector.arrays().values()) == before < 10_000


def parameters_of(detector):
    return {name: p.default for name, p in inspect.signature(detector).parameters.items()}


def test_parameters_are_rivers():
    drift = pytest.importorskip("river.drift")
    # Ours watch errors: a fall is no alarm unless it is asked for.
    mode = {"mode": "up"}
    assert parameters_of(ADWIN) == parameters_of(drift.ADWIN) | mode


def test_names_of_rivers_detectors_are_river():
    drift, binary = pytest.importorskip("river.drift"), pytest.importorskip("river.drift.binary")
    errors = rates((1000, 0.1), (1000, 0.4), (1000, 0.8), (1000, 0.1))
    # Errors are watched: a fall is no alarm.
    peers = {"ddm": binary.DDM(), "page-hinkley": drift.PageHinkley(mode="up")}
    assert peers.keys() | {"adwin"} == DETECTORS.keys()
    for name, peer in peers.items():
        own = chosen_detector(name)
        assert type(own) is type(peer)
        found = alarms(own, errors)
        assert len(found)
        np.testing.assert_array_equal(found, alarms(peer, errors))
        assert not chosen_detector(name).drift_detected


@pytest.mark.parametrize("name", ["ddm", "page-hinkley"])
def test_without_river_its_detectors_say_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "river.drift", None)
    monkeypatch.setitem(sys.modules, "river.drift.binary", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bayesgraph\[river\]'"):
        bg.StreamingNaiveBayesClassifier(detector=name).fit({"x": ["a", "b"]}, [0, 1])


@pytest.mark.parametrize("named", [True, False])
def test_streams_with_a_detector_of_river_are_not_saved(named, tmp_path):
    drift = pytest.importorskip("river.drift")
    detector = "page-hinkley" if named else drift.PageHinkley()
    model = bg.StreamingNaiveBayesClassifier(detector=detector).fit({"x": ["a", "b"]}, [0, 1])
    with pytest.raises(LossyExportError, match=r"\(PageHinkley\).* Take detector='adwin'"):
        model.save(tmp_path / "m.bayesgraph")
    model.network_.save(tmp_path / "n.bayesgraph")
    again = pickle.loads(pickle.dumps(model))
    assert type(again.star_.detector) is drift.PageHinkley


@given(cuts=st.lists(st.integers(0, 1500), max_size=4))
def test_stretches_do_not_matter(cuts):
    errors = rates((900, 0.1), (600, 0.6))
    whole, parts = ADWIN(), ADWIN()
    expected = whole.feed(errors)
    places = [0, *sorted(cuts), len(errors)]
    found = [a + parts.feed(errors[a:b]) for a, b in itertools.pairwise(places)]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert len(expected)
    for key, array in whole.arrays().items():
        np.testing.assert_array_equal(parts.arrays()[key], array)


def test_a_restored_detector_goes_on():
    errors = rates((900, 0.1), (600, 0.6))
    first = ADWIN()
    first.feed(errors[:700])
    second = type(first)(**first.get_params()).restore(first.arrays())
    np.testing.assert_array_equal(first.feed(errors[700:]), second.feed(errors[700:]))
    first.reset()
    np.testing.assert_array_equal(first.feed(errors), ADWIN().feed(errors))
    forged = {key: array.copy() for key, array in first.arrays().items()}
    for array in forged.values():
        array.flat[0] = 99 if array.dtype == np.int64 else np.nan
    with pytest.raises(DataError, match="finite numbers"):
        second.restore(forged)
    with pytest.raises(DataError, match="shape"):
        second.restore({key: array[:1] for key, array in first.arrays().items()})


def test_updates_tell_of_alarms():
    detector = ADWIN()
    flags = [detector.update(e) for e in rates((200, 0.0), (200, 1.0))]
    assert sum(flags) >= 1
    assert not detector.warning_detected


def test_bad_input():
    with pytest.raises(DataError, match="finite"):
        ADWIN().feed([0.0, np.nan])
    for make in (
        lambda: ADWIN(2.0),
        lambda: ADWIN("x"),
        lambda: ADWIN(True),
        lambda: ADWIN(mode="no"),
        lambda: chosen_detector("adwim"),
        lambda: chosen_detector(3),
        lambda: chosen_detector(ADWIN),
    ):
        with pytest.raises(ModelError):
            make()
    with pytest.raises(DataError, match="clock is a number of numbers, 1 or more"):
        ADWIN(clock=0)
    with pytest.raises(DataTypeError, match="max_buckets is a whole number"):
        ADWIN(max_buckets=True)
    with pytest.raises(ModelError, match="Did you mean 'adwin'"):
        chosen_detector("adwim")

    with pytest.raises(DataError, match="numbers"):
        ADWIN().update("x")
    with pytest.raises(ModelError, match="above 0 and below 1; got 'x'"):
        ADWIN("x")


def test_scikit_learns_parameters():
    detector = ADWIN(0.01, clock=8)
    detector.feed(rates((500, 0.1)))
    model = bg.StreamingNaiveBayesClassifier(detector=detector)
    for again in (clone(detector), clone(model).detector, detector.clone()):
        assert repr(again) == repr(detector)
        assert math.isnan(again.estimation)  # it has seen nothing
    assert not math.isnan(pickle.loads(pickle.dumps(detector)).estimation)
    assert clone(model).get_params()["detector__clock"] == 8
    model.set_params(detector__clock=77)
    assert detector.clock == 77
    assert math.isnan(detector.estimation)
    with pytest.raises(ModelError, match=r"has the parameters .* Did you mean 'clock'"):
        detector.set_params(clocks=3)
    with pytest.raises(DataError, match="number of numbers, 1 or more"):
        detector.set_params(clock=-1)
    assert detector.clock == 77


def test_other_buckets_make_another_window():
    detector = ADWIN().set_params(max_buckets=3)
    errors = rates((900, 0.1), (600, 0.6))
    np.testing.assert_array_equal(detector.feed(errors), ADWIN(max_buckets=3).feed(errors))


def test_estimation_is_the_mean():
    errors = rates((200, 0.3))
    detector = ADWIN()
    assert math.isnan(detector.estimation)
    detector.feed(errors)
    assert detector.estimation == pytest.approx(errors.mean())


def share_right_at_last(model):
    """Return how often a model of river is right in the end, on a stream that turns around."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 1800)
    numbers = random.normal(size=1800) + 3 * np.where(np.arange(1800) < 900, labels, 1 - labels)
    found = []
    for x, label in zip(numbers.tolist(), labels.tolist(), strict=True):
        found.append(model.predict_one({"x": x}) == label)
        model.learn_one({"x": x}, label)
    return np.mean(found[1300:])


@pytest.mark.slow
def test_rivers_retraining_takes_own_detectors():
    drift = pytest.importorskip("river.drift")
    naive_bayes = pytest.importorskip("river.naive_bayes")
    model = drift.DriftRetrainingClassifier(
        naive_bayes.GaussianNB(), ADWIN(0.01, clock=8), train_in_background=False
    )
    assert share_right_at_last(model) > 0.9


@pytest.mark.slow
def test_rivers_wrappers_take_own_detectors():
    drift = pytest.importorskip("river.drift")
    naive_bayes = pytest.importorskip("river.naive_bayes")
    forest = pytest.importorskip("river.forest")
    assert share_right_at_last(naive_bayes.GaussianNB()) < 0.7
    background = drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), ADWIN())
    assert share_right_at_last(background) > 0.9
    model = forest.ARFClassifier(
        n_models=2, seed=0, drift_detector=ADWIN(0.001), warning_detector=ADWIN(0.01)
    )
    assert share_right_at_last(model) > 0.9


def test_parameters_are_saved():
    import bayesgraph.files.classifier_payload  # noqa: F401 - adds its records
    from bayesgraph.files.payloads import Reader, Writer

    detector = ADWIN(0.01, clock=8)
    writer = Writer()
    item = json.loads(json.dumps(writer.encode(detector)))
    reader = Reader({"variables": [], "cpds": []}, None)
    assert repr(reader.decode(item)) == repr(detector)
