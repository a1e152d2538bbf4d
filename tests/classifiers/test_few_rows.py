"""Small frames, which are looked at as a whole, against large ones, taken apart by column."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesgraph as bg
from bayesgraph.classifiers import intake
from bayesgraph.core.errors import DataError, DataTypeError, UnknownStateError

N = 60
RANDOM = np.random.default_rng(0)
Y = RANDOM.integers(0, 2, N)
CODES = (RANDOM.integers(0, 3, (N, 3)) + Y[:, None]) % 3
GAPS = RANDOM.random((N, 3)) < 0.2
WORDS = np.array(["p", "q", "r"], dtype=object)[CODES]


def frame(values, dtype=None):
    return pd.DataFrame(values, columns=["a", "b", "c"], dtype=dtype)


NOT_STRINGS = "names that are numbers"
FRAMES = {
    "numbers": frame(CODES + 0.5),
    "numbers with gaps": frame(np.where(GAPS, np.nan, CODES)),
    "whole numbers": frame(CODES),
    "narrow numbers": frame(CODES, "int8").astype({"b": "float32"}),
    "numbers of pandas": frame(CODES).astype("Int64").mask(GAPS),
    "text": frame(WORDS),
    "text with gaps": frame(np.where(GAPS, None, WORDS)),
    "objects": frame(np.where(GAPS, None, WORDS), object),
    "categories": frame(np.where(GAPS, None, WORDS)).astype("category"),
    "numeric categories": frame(CODES).astype("category").mask(GAPS),
    "truth values": frame(CODES > 0),
    "two types": frame(CODES).assign(b=WORDS[:, 1], c=CODES[:, 2] + 0.5),
    NOT_STRINGS: frame(CODES).set_axis([0, 1, 2], axis=1),
}
MODELS = {
    "naive Bayes": bg.NaiveBayesClassifier,
    "categorical": lambda: bg.NaiveBayesClassifier(categorical="all"),
    "intervals": lambda: bg.TANClassifier(discretizer=bg.MDLP()),
    "groups": lambda: bg.TANClassifier(discretizer=bg.MODL()),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("name", [n for n in FRAMES if n not in ("objects", NOT_STRINGS)])
def test_small_frames_of_polars_are_large_ones(name, model, monkeypatch):
    kinds = {"numeric categories": "Int64"}
    X = pl.from_pandas(FRAMES[name].astype(kinds[name]) if name in kinds else FRAMES[name])
    clf = model().fit(X, Y)
    for rows in (slice(0, 1), slice(7, 12)):
        found = clf.predict_proba(X[rows])
        monkeypatch.setattr(intake, "_FEW_ROWS", 0)
        np.testing.assert_array_equal(found, clf.predict_proba(X[rows]))
        monkeypatch.undo()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
def test_small_frames_are_large_ones(X, model, monkeypatch):
    clf = model().fit(X, Y)
    assert len(X) > intake._FEW_ROWS
    for rows in (slice(0, 1), slice(7, 12)):
        found = clf.predict_proba(X[rows])
        monkeypatch.setattr(intake, "_FEW_ROWS", 0)
        np.testing.assert_array_equal(found, clf.predict_proba(X[rows]))
        monkeypatch.undo()


def outcome(clf, X):
    try:
        return clf.predict_proba(X).tolist()
    except (DataError, DataTypeError, UnknownStateError, ValueError) as error:
        return type(error), str(error)


STRANGE = {
    "new states": {"a": "z", "b": "p", "c": "q"},
    "numbers": {"a": 1.0, "b": 0.0, "c": 2.0},
    "infinity": {"a": 1.0, "b": np.inf, "c": 2.0},
    "a number among text": {"a": "p", "b": 1, "c": "q"},
    "nothing": {"a": None, "b": None, "c": None},
    "another order": {"b": "p", "a": "p", "c": "p"},
    "a column less": {"a": "p", "b": "q"},
    "a date": {"a": pd.Timestamp("2020-01-01"), "b": "p", "c": "q"},
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("unseen", ["missing", "error"])
@pytest.mark.parametrize("row", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("kind", ["numbers", "whole numbers", "text", "categories"])
def test_strange_rows_are_what_they_are_in_large_frames(kind, row, unseen, monkeypatch):
    categorical = "all" if kind == "whole numbers" else None
    clf = bg.NaiveBayesClassifier(categorical=categorical, unseen=unseen).fit(FRAMES[kind], Y)
    X = pd.DataFrame([row])
    for given in (X, X.astype("category")):
        found = outcome(clf, given)
        monkeypatch.setattr(intake, "_FEW_ROWS", 0)
        assert found == outcome(clf, given)
        monkeypatch.undo()


@pytest.mark.parametrize("unseen", ["missing", "error"])
def test_an_infinite_category_is_one_that_was_never_seen(unseen, monkeypatch):
    row = pd.DataFrame([STRANGE["infinity"]])
    clf = bg.NaiveBayesClassifier(categorical="all", unseen=unseen).fit(FRAMES["whole numbers"], Y)
    without = clf.predict_proba(row.assign(b=np.nan)).tolist()
    for n_rows in (intake._FEW_ROWS, 0):
        monkeypatch.setattr(intake, "_FEW_ROWS", n_rows)
        assert outcome(clf, row)[0] is DataError
        as_category = outcome(clf, row.astype("category"))
        assert (
            as_category == without if unseen == "missing" else as_category[0] is UnknownStateError
        )


def test_what_is_derived_follows_the_features_and_is_in_no_copy():
    X = frame(CODES)
    clf = bg.NaiveBayesClassifier(categorical="all").fit(X[CODES[:, 0] < 2], Y[CODES[:, 0] < 2])
    empty = pickle.dumps(clf.layout_)
    clf.predict(X[:1])
    assert clf.layout_.encoder(clf.features_) is clf.layout_.encoder(clf.features_)
    assert pickle.dumps(clf.layout_) == empty
    for twin in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert twin.layout_ == clf.layout_
        np.testing.assert_array_equal(twin.predict_proba(X), clf.predict_proba(X))
    clf.partial_fit(X, Y)
    new = X[CODES[:, 0] == 2]
    again = bg.NaiveBayesClassifier(categorical="all").fit(X, Y)
    again.partial_fit(X[CODES[:, 0] < 2], Y[CODES[:, 0] < 2])
    np.testing.assert_allclose(clf.predict_proba(new), again.predict_proba(new))
    assert clf.features_[0].states == (0, 1, 2)
