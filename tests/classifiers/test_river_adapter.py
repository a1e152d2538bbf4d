"""Streaming classifiers behind river's methods: river's own checks, and the same answers."""

import pickle

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, ModelError

pytest.importorskip("river")

from river import compose, evaluate, metrics, preprocessing, utils
from river.checks import yield_checks
from river.datasets import ImageSegments, Phishing

MODELS = {
    "plain": bg.StreamingNaiveBayesClassifier,
    "weighted": bg.StreamingWeightedNaiveBayesClassifier,
    "gaussian": lambda: bg.StreamingWeightedNaiveBayesClassifier(
        summary="gaussian", decay=0.99, detector="adwin"
    ),
}


def checks():
    """Yield each check of river's on its data, with the repetitions on other data slow.

    One model goes through all data, but for the check of memory, which reads thousands of rows.
    """
    for name, make in MODELS.items():
        seen = set()
        for i, check in enumerate(yield_checks(bg.to_river(make()))):
            again = check.__name__ in seen
            seen.add(check.__name__)
            spared = again and (name != "weighted" or "memory" in check.__name__)
            marks = [pytest.mark.slow] if spared else []
            yield pytest.param(name, check, id=f"{name}-{check.__name__}-{i}", marks=marks)


@pytest.mark.one_in(18)
@pytest.mark.parametrize(("name", "check"), list(checks()))
def test_rivers_checks(name, check):
    check(bg.to_river(MODELS[name]()).clone())


@pytest.mark.one_in(3)
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


def test_a_copy_of_a_fitted_model_lets_columns_go():
    model = bg.StreamingNaiveBayesClassifier().fit({"a": [1.0, 2.0], "b": [1.0, 2.0]}, [0, 1])
    copied = bg.to_river(model)
    assert len(copied.predict_many(pd.DataFrame({"a": [1.0, 2.0]}))) == 2
    refused = bg.to_river(bg.StreamingNaiveBayesClassifier())
    with pytest.raises(ValueError, match="X has 2 rows, and y 1 labels"):
        refused.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["p"]))
    assert refused.predict_one({"a": 1.0}) is None


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
    assert repr(adapter) == "to_river(StreamingNaiveBayesClassifier(size=30))"
    assert str(adapter) == "StreamingNaiveBayesClassifier"
    assert str(bg.to_river()) == "StreamingWeightedNaiveBayesClassifier"


def test_clones_with_other_parameters():
    adapter = bg.to_river(bg.StreamingNaiveBayesClassifier(size=30, detector=bg.learning.ADWIN()))
    for x, y in Phishing().take(50):
        adapter.learn_one(x, y)
    found = adapter.clone({"decay": 0.9, "detector__delta": 0.1})
    assert (found.learner.size, found.learner.decay, found.learner.detector.delta) == (30, 0.9, 0.1)
    assert found.predict_one(x) is None
    assert (adapter.learner.decay, adapter.learner.detector.delta) == (1.0, 0.002)
    other = adapter.clone({"model": bg.StreamingWeightedNaiveBayesClassifier(), "size": 20})
    assert str(other) == "StreamingWeightedNaiveBayesClassifier"
    assert other.learner.size == 20
    kept = adapter.clone(include_attributes=True)
    assert kept.predict_proba_one(x) == adapter.predict_proba_one(x)
    with pytest.raises(ModelError, match=r"no parameter 'decai'\. Did you mean 'decay'"):
        adapter.clone({"decai": 0.9})
    with pytest.raises(DataTypeError, match="to_river takes"):
        adapter.clone({"model": 3})


def test_grids_of_river():
    grid = {"decay": [1.0, 0.99], "size": [20, 50]}
    models = utils.expand_param_grid(bg.to_river(bg.StreamingNaiveBayesClassifier()), grid)
    assert [(m.learner.decay, m.learner.size) for m in models] == [
        (1.0, 20), (1.0, 50), (0.99, 20), (0.99, 50)
    ]  # fmt: skip
    pipeline = preprocessing.StandardScaler() | bg.to_river()
    step = list(pipeline.steps)[-1]
    models = utils.expand_param_grid(pipeline, {step: {"decay": [1.0, 0.9]}})
    assert [m[step].learner.decay for m in models] == [1.0, 0.9]
    assert str(pipeline.clone()[step]) == "StreamingWeightedNaiveBayesClassifier"


def test_weights_reach_the_learner():
    adapter, model = bg.to_river(bg.StreamingNaiveBayesClassifier()), MODELS["plain"]()
    random = np.random.default_rng(0)
    for x, y, w in zip(random.normal(size=300), random.integers(0, 2, 300),
                       random.exponential(size=300), strict=True):  # fmt: skip
        adapter.learn_one({"x": x}, y, w=w)
        model.learn_one({"x": x}, y, w)
    assert adapter.predict_proba_one({"x": 0.5}) == model.predict_proba_one({"x": 0.5})


class TestManyRows:
    """What frames bring beside rows."""

    def test_no_rows(self):
        adapter = bg.to_river()
        nothing = pd.DataFrame({"a": pd.Series(dtype=float)})
        adapter.learn_many(nothing, pd.Series(dtype=object))
        assert adapter.predict_one({}) is None
        adapter.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["u", "v"]))
        adapter.learn_many(nothing, pd.Series(dtype=object))
        assert adapter.learner.star_.n_seen == 2
        assert adapter.predict_proba_many(nothing).shape == (0, 2)
        assert len(adapter.predict_many(nothing)) == 0

    def test_categories_that_are_numbers_are_discrete(self):
        frame = pd.DataFrame({"code": pd.Categorical([3, 7, 3, 7] * 20)})
        adapter = bg.to_river(bg.StreamingNaiveBayesClassifier())
        adapter.learn_many(frame, pd.Series(["u", "v", "u", "v"] * 20))
        assert isinstance(adapter.learner.features_[0], bg.Discrete)
        assert adapter.predict_many(frame[:2]).tolist() == ["u", "v"]

    @pytest.mark.parametrize("listed", ["all", ["code"]])
    def test_columns_named_as_categorical_are_discrete(self, listed):
        adapter = bg.to_river(bg.StreamingNaiveBayesClassifier(categorical=listed))
        frame = pd.DataFrame({"code": [3, 7] * 20})
        adapter.learn_many(frame, pd.Series(["u", "v"] * 20))
        assert isinstance(adapter.learner.features_[0], bg.Discrete)

    def test_columns_without_values_are_missing(self):
        frame = pd.DataFrame({"a": [np.nan] * 4, "b": [None] * 4, "c": pd.Categorical([None] * 4)})
        labels = pd.Series(["u", "u", "v", "u"])
        one, many = (bg.to_river(bg.StreamingNaiveBayesClassifier()) for _ in range(2))
        many.learn_many(frame, labels)
        for label in labels:
            one.learn_one({}, label)
        assert many.learner.layout_.columns == ()
        assert many.predict_proba_one({}) == one.predict_proba_one({})
        assert many.predict_proba_many(frame)["u"].tolist() == [one.predict_proba_one({})["u"]] * 4
        full = pd.DataFrame({"a": [1.0, 2.0], "b": ["p", "q"], "c": pd.Categorical([3, 4])})
        for part, y in ((full, ["u", "v"]), (frame, labels)):
            many.learn_many(part, pd.Series(y))
        one.learn_many(full, pd.Series(["u", "v"]))
        for label in labels:
            one.learn_one({}, label)
        x = {"a": 1.5, "b": "p", "c": 4}
        assert many.predict_proba_one(x) == pytest.approx(one.predict_proba_one(x))

    def test_a_batch_that_is_refused_changes_nothing(self):
        frame, labels = pd.DataFrame({"a": [1.0, 2.0] * 20}), pd.Series(["u", "v"] * 20)
        empty, taught = bg.to_river(), bg.to_river()
        taught.learn_many(frame, labels)
        before = taught.predict_proba_one({"a": 1.0})
        wrong = [
            (frame.assign(b=np.inf), labels),
            (frame.assign(b=[1, "text"] * 20), labels),
            (frame.assign(b="fine", a="text"), labels) ,
            (frame.assign(b="fine"), pd.Series([1.5, None] * 20)),
            (frame.assign(b="fine"), labels[:10]),
        ]  # fmt: skip
        for X, y in wrong:
            with pytest.raises((DataError, DataTypeError, ValueError)):
                taught.learn_many(X, y)
            assert taught.learner.layout_.columns == ("a",)
            assert taught.learner.star_.n_seen == 40
            assert taught.learner.classes_.tolist() == ["u", "v"]
            assert taught.predict_proba_one({"a": 1.0}) == before
        for X, y in (wrong[0], wrong[1], wrong[3]):
            with pytest.raises((DataError, DataTypeError)):
                empty.learn_many(X, y)
            assert empty.predict_one({}) is None


def test_bad_input():
    with pytest.raises(DataTypeError, match="to_river takes"):
        bg.to_river(bg.NaiveBayesClassifier())
