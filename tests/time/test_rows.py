"""Long tables: gaps, dates, ids beside each other, and one clear line for what is wrong."""

import datetime
import math

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg

MOOD, ACT = bg.Discrete("mood", ["low", "high"]), bg.Discrete("act", ["walk", "stay"])
X = bg.Continuous("x")
MODEL = bg.TemporalNetwork(
    [
        bg.TableCPD(MOOD, [0.5, 0.5]),
        bg.TableCPD(ACT, [[0.2, 0.8], [0.7, 0.3]], [MOOD]),
        bg.GaussianCPD(X, [0.0, 1.0], 1.0, [MOOD]),
    ],
    [bg.TableCPD(MOOD, [[0.9, 0.1], [0.3, 0.7]], [bg.before(MOOD)])],
)
DAYS = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-05"])


def smooth(rows, **options):
    return MODEL.smooth(rows, "mood", **options)


def test_gaps_are_slices_without_evidence():
    acts = ["walk", "stay", "walk"]
    whole = smooth({"act": ["walk", "stay", None, None, "walk"]})[[0, 1, 4]]
    for times, step in [
        ([0, 1, 4], 1),
        ([0.0, 0.5, 2.0], 0.5),
        (DAYS, "1d"),
        (DAYS, datetime.timedelta(days=1)),
        (DAYS, np.timedelta64(24, "h")),
        ([d.date() for d in DAYS], "24h"),
    ]:
        found = smooth({"act": acts, "day": times}, time="day", step=step)
        np.testing.assert_allclose(found, whole, atol=1e-14)
    frame = pd.DataFrame({"act": acts, "day": DAYS})
    np.testing.assert_allclose(smooth(frame, time="day", step="1D"), whole, atol=1e-14)
    ahead = MODEL.forecast({"act": acts, "day": DAYS}, "mood", 2, time="day", step="1d")
    last = smooth({"act": ["walk", "stay", None, None, "walk", None, None]})[5:]
    np.testing.assert_allclose(ahead[0], last, atol=1e-14)


def test_times_that_are_evenly_apart_need_no_step():
    for times in ([10, 20, 30], [0.1, 0.2, 0.3], [0, 0.5, 1], [1e6 + 0.1, 1e6 + 0.2, 1e6 + 0.3]):
        rows = {"act": ["walk", "stay", "walk"], "t": times}
        np.testing.assert_array_equal(smooth(rows, time="t"), smooth(rows))


def test_dates_that_nanoseconds_do_not_hold_are_refused():
    for dates in (
        [datetime.date(1500, 1, day) for day in (1, 2, 3)],
        np.datetime64("1500-01-01") + np.arange(3),
        np.datetime64("1700-01-01") + 54750 * np.arange(3),  # 300 years
    ):
        with pytest.raises(bg.errors.DataError, match="from 1678 to 2261"):
            smooth({"act": ["walk", "stay", "walk"], "day": dates}, time="day")


def test_ids_may_be_interleaved():
    acts = np.array(["walk", "stay", "stay", "walk", "walk"])
    ids = np.array(["b", "a", "b", "a", "b"])
    found = smooth({"act": acts, "who": ids}, id="who")
    for who in "ab":
        alone = smooth({"act": acts[ids == who]})
        np.testing.assert_allclose(found[ids == who], alone, atol=1e-14)
    logs = MODEL.log_likelihood({"act": acts, "who": ids}, id="who")
    assert logs[0] == pytest.approx(MODEL.log_likelihood({"act": acts[ids == "b"]})[0])


def test_a_static_variable_has_one_value_in_a_sequence():
    s = bg.Discrete("sex", ["m", "f"])
    model = bg.TemporalNetwork(
        [bg.TableCPD(ACT, [[0.2, 0.8], [0.7, 0.3]], [s])],
        static=[bg.TableCPD(s, [0.5, 0.5])],
    )
    rows = {"act": ["walk", "stay"], "sex": ["m", None]}
    assert model.log_likelihood(rows)[0] == pytest.approx(math.log(0.5 * 0.2 * 0.8))
    with pytest.raises(bg.errors.DataError, match="static and has more than one value"):
        model.log_likelihood({**rows, "sex": ["m", "f"]})


def test_a_sequence_of_probability_zero_gets_the_distribution_without_evidence():
    sure = bg.TemporalNetwork(
        [bg.TableCPD(MOOD, [1.0, 0.0]), bg.TableCPD(ACT, [[1.0, 0.0], [0.5, 0.5]], [MOOD])],
        [bg.TableCPD(MOOD, [[1.0, 0.0], [0.0, 1.0]], [bg.before(MOOD)])],
    )
    rows = {"act": ["stay", "walk", "walk"], "id": [1, 2, 2]}
    assert sure.log_likelihood(rows, id="id").tolist() == [-math.inf, 0.0]
    with pytest.warns(bg.errors.ImpossibleEvidenceWarning, match="1 of 2 sequences"):
        np.testing.assert_allclose(sure.smooth(rows, "mood", id="id"), [[1.0, 0.0]] * 3)
    with pytest.raises(bg.errors.ImpossibleEvidenceError):
        sure.most_probable(rows, id="id")
    state = sure.start()
    with pytest.raises(bg.errors.ImpossibleEvidenceError):
        state.update({"act": "stay"})
    assert state.n_slices == 0


ROWS = {"act": ["walk", "stay", "walk"], "id": [1, 1, 2], "t": [0, 1, 0]}
T = bg.before(MOOD)
STAY = bg.TableCPD(MOOD, [[0.9, 0.1], [0.3, 0.7]], [T])
START = bg.TableCPD(MOOD, [0.5, 0.5])
WRONG = {
    "no rows": lambda: smooth({"act": []}),
    "no column": lambda: smooth({"other": [1, 2]}),
    "lengths": lambda: smooth({"act": ["walk"], "x": [1.0, 2.0]}),
    "a number": lambda: smooth(3),
    "None": lambda: smooth(None),
    "text": lambda: smooth("act"),
    "state": lambda: smooth({"act": ["walk", "run"]}),
    "near name": lambda: smooth({"Act": ["walk"], "x": [1.0]}),
    "text number": lambda: smooth({"x": ["a", "b"]}),
    "infinite": lambda: smooth({"x": [1.0, math.inf]}),
    "target": lambda: MODEL.smooth(ROWS, "moods"),
    "no target": lambda: MODEL.smooth(ROWS, None),
    "list target": lambda: MODEL.smooth(ROWS, ["mood"]),
    "target mapping": lambda: MODEL.smooth(ROWS, {"act": "walk"}),
    "id": lambda: smooth(ROWS, id="ids"),
    "id type": lambda: smooth(ROWS, id=["id"]),
    "id missing": lambda: smooth({**ROWS, "id": [1, None, 2]}, id="id"),
    "id lengths": lambda: smooth({**ROWS, "id": [1, 1]}, id="id"),
    "time": lambda: smooth(ROWS, time="time"),
    "time text": lambda: smooth({**ROWS, "t": ["a", "b", "c"]}, time="t"),
    "time dates as text": lambda: smooth({**ROWS, "t": ["2026-01-01"] * 3}, time="t"),
    "time mixed": lambda: smooth({**ROWS, "t": [1, "b", None]}, time="t"),
    "time of both types": lambda: smooth({**ROWS, "t": [0, 0.5, None]}, time="t"),
    "time bool": lambda: smooth({**ROWS, "t": [True, False, True]}, time="t"),
    "time missing": lambda: smooth({**ROWS, "t": [0.0, math.nan, 2.0]}, time="t"),
    "time infinite": lambda: smooth({**ROWS, "t": [0.0, math.inf, 2.0]}, time="t"),
    "date missing": lambda: smooth({**ROWS, "t": [*DAYS[:2], None]}, time="t"),
    "twice": lambda: smooth({**ROWS, "t": [0, 0, 1]}, time="t"),
    "twice in id": lambda: smooth({**ROWS, "t": [0, 0, 0]}, id="id", time="t"),
    "unsorted": lambda: smooth({**ROWS, "t": [2, 1, 3]}, time="t"),
    "unsorted in id": lambda: smooth({**ROWS, "t": [2, 1, 3]}, id="id", time="t"),
    "uneven": lambda: smooth({**ROWS, "t": [0, 1, 5]}, time="t"),
    "uneven dates": lambda: smooth({**ROWS, "t": DAYS}, time="t"),
    "no step": lambda: smooth({**ROWS, "t": [0, 1.5, 2]}, time="t", step=1),
    "same slice": lambda: smooth({**ROWS, "t": [0, 1e-9, 2]}, time="t", step=1),
    "step alone": lambda: smooth(ROWS, step=1),
    "step zero": lambda: smooth(ROWS, time="t", id="id", step=0),
    "step negative": lambda: smooth(ROWS, time="t", id="id", step=-1),
    "step nan": lambda: smooth(ROWS, time="t", id="id", step=math.nan),
    "step infinite": lambda: smooth(ROWS, time="t", id="id", step=math.inf),
    "step bool": lambda: smooth(ROWS, time="t", id="id", step=True),
    "step text": lambda: smooth(ROWS, time="t", id="id", step="1d"),
    "step list": lambda: smooth(ROWS, time="t", id="id", step=[1]),
    "step of dates": lambda: smooth({**ROWS, "t": DAYS}, time="t", step=1),
    "step month": lambda: smooth({**ROWS, "t": DAYS}, time="t", step="1 month"),
    "step of a month": lambda: smooth({**ROWS, "t": DAYS}, time="t", step=np.timedelta64(1, "M")),
    "step of a year": lambda: smooth({**ROWS, "t": DAYS}, time="t", step=np.timedelta64(1, "Y")),
    "step empty": lambda: smooth({**ROWS, "t": DAYS}, time="t", step=""),
    "too many": lambda: smooth({**ROWS, "t": [0, 1, 10**13]}, time="t", step=1),
    "unseen": lambda: smooth(ROWS, unseen="ignore"),
    "option": lambda: smooth(ROWS, ids="id"),
    "steps": lambda: MODEL.forecast(ROWS, "mood", 0),
    "steps negative": lambda: MODEL.forecast(ROWS, "mood", -3),
    "steps float": lambda: MODEL.forecast(ROWS, "mood", 1.5),
    "steps text": lambda: MODEL.forecast(ROWS, "mood", "2"),
    "frame": lambda: MODEL.most_probable(ROWS, frame="excel"),
    "at": lambda: MODEL.query("mood", -1),
    "at float": lambda: MODEL.query("mood", 0.5),
    "at text": lambda: MODEL.query("mood", "last"),
    "evidence list": lambda: MODEL.query("mood", 0, [{"act": "walk"}]),
    "evidence flat": lambda: MODEL.query("mood", 0, {"act": "walk"}),
    "evidence key": lambda: MODEL.query("mood", 0, {-1: {"act": "walk"}}),
    "evidence text key": lambda: MODEL.query("mood", 0, {"a": {"act": "walk"}}),
    "evidence name": lambda: MODEL.query("mood", 0, {0: {"acts": "walk"}}),
    "evidence state": lambda: MODEL.query("mood", 0, {0: {"act": "run"}}),
    "evidence number": lambda: MODEL.query("mood", 0, {0: {"x": "a"}}),
    "evidence twice": lambda: MODEL.query("mood", 0, {0: {"act": "walk", ACT: "stay"}}),
    "evidence before": lambda: MODEL.query("mood", 1, {1: {bg.before("mood"): "low"}}),
    "belief": lambda: MODEL.query("mood", 0, {0: {"act": bg.Belief({"walk": 1.0, "stay": 0.0})}}),
    "likelihoods": lambda: MODEL.query("mood", 0, {0: {"act": {"walk": 1.0}}}),
    "likelihood negative": lambda: MODEL.query("mood", 0, {0: {"act": {"walk": 1, "stay": -1}}}),
    "interval of state": lambda: MODEL.query("mood", 0, {0: {"act": bg.Between(0, 1)}}),
    "target observed": lambda: MODEL.query("mood", 0, {0: {"mood": "low"}}),
    "target set": lambda: MODEL.query("mood", 0, do={0: {"mood": "low"}}),
    "target interval": lambda: MODEL.query("x", 0, {0: {"x": bg.Between(0, 1)}}),
    "do list": lambda: MODEL.query("mood", 0, do=["act"]),
    "do empty": lambda: MODEL.query("mood", 0, do={0: {}}),
    "do state": lambda: MODEL.query("mood", 0, do={0: {"act": "run"}}),
    "do soft": lambda: MODEL.query("mood", 0, do={0: {"act": {"walk": 1.0, "stay": 0.0}}}),
    "do and seen": lambda: MODEL.query("mood", 0, {0: {"act": "walk"}}, do={0: {"act": "walk"}}),
    "unrolled": lambda: MODEL.unrolled(0),
    "unrolled text": lambda: MODEL.unrolled("3"),
    "stream name": lambda: MODEL.start().update({"acts": "walk"}),
    "stream state": lambda: MODEL.start().update({"act": "run"}),
    "stream steps": lambda: MODEL.start().forecast("mood", 0),
    "stream target": lambda: MODEL.start().query("moods"),
    "first": lambda: bg.TemporalNetwork([]),
    "first None": lambda: bg.TemporalNetwork(None),
    "first text": lambda: bg.TemporalNetwork("mood"),
    "first CPD": lambda: bg.TemporalNetwork(START),
    "first mixed": lambda: bg.TemporalNetwork([START, "mood"]),
    "later CPD": lambda: bg.TemporalNetwork([START], STAY),
    "later text": lambda: bg.TemporalNetwork([START], ["mood"]),
    "twice a CPD": lambda: bg.TemporalNetwork([START, START]),
    "before the first": lambda: bg.TemporalNetwork([STAY]),
    "order": lambda: bg.TemporalNetwork(
        [START], [bg.TableCPD(MOOD, [[0.9, 0.1], [0.3, 0.7]], [bg.before(MOOD, 2)])]
    ),
    "stranger": lambda: bg.TemporalNetwork(
        [START], [bg.TableCPD(MOOD, [[0.9, 0.1], [0.3, 0.7]], [bg.before(ACT)])]
    ),
    "new later": lambda: bg.TemporalNetwork([START], [STAY, bg.TableCPD(ACT, [0.5, 0.5])]),
    "static twice": lambda: bg.TemporalNetwork([START], static=[START]),
    "static CPD": lambda: bg.TemporalNetwork([START], static=START),
    "before zero": lambda: bg.before(MOOD, 0),
    "before text": lambda: bg.before(MOOD, "1"),
    "fit arcs": lambda: bg.TemporalNetwork.fit("mood", ROWS),
    "fit arc": lambda: bg.TemporalNetwork.fit([("act",)], ROWS),
    "fit stranger": lambda: bg.TemporalNetwork.fit([("mood", "act")], ROWS),
    "fit hidden column": lambda: bg.TemporalNetwork.fit([], ROWS, hidden={"act": 2}),
    "fit hidden zero": lambda: bg.TemporalNetwork.fit([], ROWS, hidden={"z": 0}),
    "fit hidden type": lambda: bg.TemporalNetwork.fit([], ROWS, hidden={"z": 1.5}),
    "fit a number without a column": lambda: bg.TemporalNetwork.fit([], ROWS, variables=[X]),
    "fit a number without values": lambda: bg.TemporalNetwork.fit(
        [], {**ROWS, "x": [math.nan] * 3}
    ),
    "fit a vector of counts": lambda: bg.TemporalNetwork.fit(
        [], {**ROWS, "w": np.ones((3, 2))}, variables=[bg.CountVector("w", ["red", "blue"])]
    ),
    "hidden states bool": lambda: bg.hidden_markov(True, {"x": "gaussian"}),
    "fit cycle": lambda: bg.TemporalNetwork.fit(
        [("act", "x"), ("x", "act")], {**ROWS, "x": ROWS["act"]}
    ),
    "fit static": lambda: bg.TemporalNetwork.fit([], ROWS, static=["sex"]),
    "fit static arc": lambda: bg.TemporalNetwork.fit([("act", "id")], ROWS, static=["id"]),
    "fit numbers above": lambda: bg.TemporalNetwork.fit([("t", "act")], ROWS),
    "fit restarts": lambda: bg.TemporalNetwork.fit([], ROWS, restarts=0),
    "fit tol": lambda: bg.TemporalNetwork.fit([], ROWS, tol=-1.0),
    "fit smoothing": lambda: bg.TemporalNetwork.fit([], ROWS, smoothing="backoff"),
    "fit empty": lambda: bg.TemporalNetwork.fit([], {"id": [1, 2]}, id="id"),
    "fit id": lambda: bg.TemporalNetwork.fit([], ROWS, id="who"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_gets_one_clear_line(what):
    expected = bg.errors.BayesGraphError, TypeError, ValueError
    with pytest.raises(expected) as caught:
        WRONG[what]()
    text = str(caught.value)
    assert 20 < len(text) < 420, text
    assert text.strip("'\"").endswith((".", ")", "?")), text
    assert "\n" not in text
    place = caught.traceback[-1].path
    assert "bayesgraph" in str(place), f"raised by {place}"
