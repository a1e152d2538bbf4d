"""Streaming classifiers behind river's methods: river's own checks, and the same answers."""

import pickle

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg
from bayesgraph.errors import DataTypeError

pytest.importorskip("river")

from river import compose, evaluate, metrics, preprocessing
from river.checks import yield_checks
from river.datasets import ImageSegments, Phishing

MODELS = {
    "plain": bg.StreamingNaiveBayesClassifier,
    "weighted": bg.StreamingWeightedNaiveBayesClassifier,
    "gaussian": lambda: bg.StreamingWeightedNaiveBayesClassifier(
        summary="gaussian", window=80, detector="adwin"
    ),
}


CHECKS = [
    pytest.param(name, check, id=f"{name}-{check.__name__}-{i}")
    for name, make in MODELS.items()
    for i, check in enumerate(yield_checks(bg.to_river(make())))
]


@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_rivers_checks(name, check):
    check(bg.to_river(MODELS[name]()).clone())


@pytest.mark.parametrize("name", MODELS)
def test_the_same_answers(name):
    model, adapter = MODELS[name](), bg.to_river(MODELS[name]())
    assert adapter.predict_one({"a": 1}) is None
    assert adapter.predict_proba_one({"a": 1}) == {}
    for x, y in Phishing().take(300):
        assert adapter.predict_proba_one(x) == model.predict_proba_one(x)
        assert adapter.predict_one(x) == model.predict_one(x)
        adapter.learn_one(x, y)
        model.learn_one(x, y)


def test_batches_are_the_rows():
    rows = list(ImageSegments().take(600))
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    one, many = bg.to_river(), bg.to_river()
    for x, label in rows:
        one.learn_one(x, label)
    for first in range(0, 600, 150):
        many.learn_many(X[first : first + 150], y[first : first + 150])
    assert one.learner.classes_.tolist() == many.learner.classes_.tolist()
    found = many.predict_proba_many(X)
    expected = pd.DataFrame([one.predict_proba_one(x) for x, _ in rows])[found.columns]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x, _ in rows]


def test_columns_come_and_go():
    adapter = bg.to_river(bg.StreamingNaiveBayesClassifier())
    assert adapter.predict_proba_many(pd.DataFrame({"a": [1.0]})).shape == (1, 0)
    assert adapter.predict_many(pd.DataFrame({"a": [1.0]})).tolist() == [None]
    adapter.learn_many(pd.DataFrame({"a": [1.0, 2.0] * 20}), pd.Series(["u", "v"] * 20))
    frame = pd.DataFrame({"text": ["p", None] * 20, "empty": [np.nan] * 40})
    adapter.learn_many(frame, pd.Series(["u", "w"] * 20))
    assert adapter.learner.layout_.columns == ("a", "text")
    assert adapter.predict_many(pd.DataFrame({"a": [1.0, 2.0], "x": 0})).tolist() == ["u", "v"]
    assert adapter.predict_proba_many(frame).columns.tolist() == ["u", "v", "w"]


def test_rivers_tools():
    pipeline = preprocessing.StandardScaler() | bg.to_river(bg.StreamingNaiveBayesClassifier())
    found = evaluate.progressive_val_score(Phishing(), pipeline, metrics.Accuracy())
    assert found.get() > 0.8
    assert isinstance(pipeline, compose.Pipeline)


def test_clones_are_empty_and_copies_are_not():
    model = bg.StreamingNaiveBayesClassifier(size=30)
    for x, y in Phishing().take(50):
        model.learn_one(x, y)
    adapter = bg.to_river(model)
    before = model.predict_proba_one(x)
    assert adapter.predict_proba_one(x) == before
    adapter.learn_one(x, y)
    assert model.predict_proba_one(x) == before
    assert adapter.clone().predict_one(x) is None
    assert adapter.clone().learner.size == 30
    again = pickle.loads(pickle.dumps(adapter))
    assert again.predict_proba_one(x) == adapter.predict_proba_one(x)
    assert "size=30" in repr(adapter)


def test_bad_input():
    with pytest.raises(DataTypeError, match="to_river takes"):
        bg.to_river(bg.NaiveBayesClassifier())
