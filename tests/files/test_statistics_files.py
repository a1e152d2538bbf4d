"""Statistics in native files: a loaded classifier learns and forgets as the one that was saved."""

import io
import json
import zipfile

import cases
import numpy as np
import pytest
from comparison import assert_same_network, assert_same_statistics
from forgery import forged

import bayesgraph as bg
from bayesgraph.core.errors import DataError, FileFormatError

LEARNING = [pair for pair in cases.pairs() if hasattr(pair[0].estimator(), "partial_fit")]
every = pytest.mark.parametrize(("case", "kind"), LEARNING, ids=str)
NB = bg.NaiveBayesClassifier


def loaded(classifier, folder):
    classifier.save(folder / "model.bayesgraph")
    return bg.load(folder / "model.bayesgraph")


@pytest.mark.one_in(5)
@every
def test_a_loaded_model_learns_and_forgets(case, kind, tmp_path):
    data = cases.make_data(kind)
    data = data if case.updates_complete_rows else data.with_missing()
    first, second = data.take(range(40)), data.take(range(40, 60))
    classifier = case.estimator().fit(first.pandas(), first.y)
    back = loaded(classifier, tmp_path)
    assert_same_statistics(back.statistics_, classifier.statistics_)
    content = (tmp_path / "model.bayesgraph").read_bytes()
    back.save(tmp_path / "again.bayesgraph")
    assert (tmp_path / "again.bayesgraph").read_bytes() == content
    for model in (classifier, back):
        model.partial_fit(second.pandas(), second.y)
    assert_same_network(back.network_, classifier.network_, 0.0)
    back = loaded(back, tmp_path)
    some = data.take(range(10))
    for model in (classifier, back):
        model.forget(some.pandas(), some.y)
    assert_same_network(back.network_, classifier.network_, 0.0)
    assert_same_statistics(back.statistics_, classifier.statistics_)


@pytest.mark.one_in(5)
@every
def test_states_and_classes_that_came_late(case, kind, tmp_path):
    data = cases.make_data(kind)
    data = data.take(np.argsort(data.y, kind="stable"))
    classifier = case.estimator()
    for start in range(0, 60, 20):
        some = data.take(range(start, start + 20))
        classifier.partial_fit(some.pandas(), some.y)
        classifier = loaded(classifier, tmp_path)
    whole = cases.fitted(case, data)
    assert_same_network(classifier.network_, whole.network_, 1e-9)
    assert classifier.classes_.dtype == whole.classes_.dtype


def test_labels_keep_their_type(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 2))
    for y in (np.arange(12) % 3, np.arange(12) % 2 == 0, np.array(["a", "bcd"] * 6, dtype=object)):
        classifier = loaded(NB().fit(X, y), tmp_path).partial_fit(X, y)
        assert classifier.classes_.dtype == y.dtype
        assert_same_network(classifier.network_, NB().fit([*X, *X], [*y, *y]).network_, 1e-9)


def test_models_that_are_not_to_learn_are_smaller(tmp_path):
    data = cases.make_data("continuous", 300)
    classifier = NB("kernel").fit(data.pandas(), data.y)
    classifier.save(tmp_path / "large.bayesgraph")
    del classifier.statistics_
    back = loaded(classifier, tmp_path)
    assert not hasattr(back, "statistics_")
    assert (tmp_path / "model.bayesgraph").stat().st_size < 0.7 * (
        tmp_path / "large.bayesgraph"
    ).stat().st_size


@pytest.mark.one_in(5)
@every
def test_files_without_statistics_say_that_they_cannot_be_updated(case, kind, tmp_path):
    data = cases.make_data(kind)
    path = tmp_path / "model.bayesgraph"
    cases.fitted(case, data).save(path)
    forged(path, lambda header: header["model"]["estimator"].pop("statistics"))
    old = bg.load(path)
    np.testing.assert_array_equal(
        old.predict_proba(data.pandas()), cases.fitted(case, data).predict_proba(data.pandas())
    )
    for update in (old.partial_fit, old.forget):
        with pytest.raises(DataError, match=r"does not have the statistics.*fit it again"):
            update(data.pandas(), data.y)
    old.fit(data.pandas(), data.y).partial_fit(data.pandas(), data.y)


# --------------------------------------------------------------------------------- damaged files

MODELS = {
    "singles": NB,
    "pairs": bg.TANClassifier,
    "families": lambda: bg.BayesianNetworkClassifier([("class", "a"), ("a", "c"), ("class", "c")]),
    "moments": lambda: NB({"c": "lognormal"}),
    "samples": lambda: NB({"c": "kernel"}),
    "totals": lambda: NB({("e", "f"): "multinomial"}),
}


def saved(name, path):
    """Save a model whose statistics have a summary of this name, and return where it stands."""
    data = cases.make_data("varied").with_missing()
    if name == "moments":
        positive = [None if v is None else abs(v) + 1 for v in data.columns["c"]]
        data = cases.Data({**data.columns, "c": positive}, data.y)
    frame = data.pandas()
    if name == "families":
        frame = frame[["a", "c"]]
    MODELS[name]().fit(frame, data.y).save(path)
    with zipfile.ZipFile(path) as file:
        header = json.loads(file.read("header.json"))
    names = [next(iter(item)) for item in summaries(header)]
    return names.index(f"{name.title()}Summary")


def summaries(header):
    """Return the JSON of all statistics in a header."""
    return header["model"]["estimator"]["statistics"]["Statistics"]["summaries"]


def parts(item, trail=()):
    """Yield the way to everything in nested JSON."""
    yield trail
    pairs = item.items() if isinstance(item, dict) else enumerate(item)
    for key, value in pairs:
        if isinstance(value, (dict, list)):
            yield from parts(value, (*trail, key))
        else:
            yield (*trail, key)


def replaced(item, trail, value):
    """Put a value in the place that a way leads to."""
    for key in trail[:-1]:
        item = item[key]
    item[trail[-1]] = value


@pytest.mark.one_in(28)
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", MODELS)
def test_forged_statistics_do_no_harm(name, part, tmp_path):
    path = tmp_path / "model.bayesgraph"
    at = saved(name, path)
    original = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        item = summaries(json.loads(file.read("header.json")))[at]
    refused = 0
    trails = [trail for trail in parts(item) if trail][part::4]
    for trail in trails:
        for value in (None, -1, 10**9, "x", {}):
            path.write_bytes(original)
            forged(path, lambda h, t=trail, v=value: replaced(summaries(h)[at], t, v))
            # What is loaded all the same is a model: None is a threshold that was not given.
            try:
                bg.load(path)
            except FileFormatError:
                refused += 1
    assert refused >= 5 * len(trails) - 3


def request(summary):
    """Return the fields of the request of single columns."""
    return summary["SinglesSummary"]["request"]["Singles"]


def columns(summary):
    """Return the columns of the request of single columns."""
    return request(summary)["columns"]["tuple"]


WRONG = {
    "unknown summary": lambda s: s.update(SplineSummary=s.pop("SinglesSummary")),
    "no summary": lambda s: s.pop("SinglesSummary"),
    "columns twice": lambda s: columns(s).__setitem__(0, columns(s)[1]),
    "columns that are not there": lambda s: columns(s).__setitem__(0, {"variable": 99}),
    "given a number": lambda s: request(s).update(given=columns(s)[2]),
    "other shape": lambda s: s["SinglesSummary"]["counts"]["shape"].insert(0, 1),
    "other group": lambda s: s["SinglesSummary"]["totals"].update(array="label"),
    "other cards": lambda s: columns(s).pop(0),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_forged_singles(change, tmp_path):
    path = tmp_path / "model.bayesgraph"
    at = saved("singles", path)

    forged(path, lambda header: change(summaries(header)[at]))
    with pytest.raises(FileFormatError, match=r"model\.bayesgraph"):
        bg.load(path)


def test_statistics_that_are_there_twice(tmp_path):
    path = tmp_path / "model.bayesgraph"
    saved("singles", path)
    forged(path, lambda h: summaries(h).append(summaries(h)[0]))
    with pytest.raises(FileFormatError, match="twice"):
        bg.load(path)


def npy(array):

    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_numbers_that_no_statistics_have(bad, tmp_path):
    path = tmp_path / "model.bayesgraph"
    saved("totals", path)
    original = path.read_bytes()
    of_totals = [f"TotalsSummary.{name}" for name in ("sums", "seen", "lengths")]
    of_singles = [f"SinglesSummary.{name}" for name in ("totals", "counts")]
    for group in (*of_totals, *of_singles, "GroupMoments.count", "GroupMoments.square"):
        path.write_bytes(original)
        with zipfile.ZipFile(path) as file:
            name = f"{group}.npy"
            numbers = np.load(io.BytesIO(file.read(name)))
        numbers[-1] = bad
        forged(path, lambda header: None, **{name.replace(".", "_"): npy(numbers)})
        with pytest.raises(FileFormatError, match=r"model\.bayesgraph"):
            bg.load(path)
