"""Classifiers of streams: the same model however rows are batched, and what it answers."""

import itertools
import pickle
from fractions import Fraction
from functools import partial

import cases
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

import bayesgraph as bg
from bayesgraph.core import Discrete
from bayesgraph.core.errors import (
    BayesGraphError,
    BayesGraphWarning,
    DataError,
    DataTypeError,
    ModelError,
)
from bayesgraph.statistics import SUMMARIES

NB, Weighted = bg.StreamingNaiveBayesClassifier, bg.StreamingWeightedNaiveBayesClassifier
STREAMS = {c.name: c.estimator for c in cases.CLASSIFIERS if c.name.startswith("streaming")}
STREAMS["streaming-epsilon"] = partial(Weighted, epsilon=0.05)
STREAMS["streaming-decay"] = partial(Weighted, decay=0.99)
every = pytest.mark.parametrize("estimator", STREAMS.values(), ids=STREAMS)
SOME = ("streaming-gaussian", "streaming-weighted-mixed", "streaming-weighted-nonnegative")
some = pytest.mark.parametrize("estimator", [STREAMS[name] for name in SOME], ids=SOME)
LABELS = np.array(["no", "perhaps", "yes"])


def stream(n=700, seed=0):
    """Return rows of numbers, text and booleans with missing values, labels and weights."""
    random = np.random.default_rng(seed)
    code = random.integers(3, size=n)
    names = np.array(["low", "mid", "high", "top"])
    X = pd.DataFrame(
        {
            "x": random.normal(size=n) + code,
            "colour": names[np.minimum(random.poisson(0.5 + code), 3)],
            "z": np.round(random.gamma(1.0 + code), 1),
            "flag": random.random(n) < 0.2 + 0.3 * code,
        }
    )
    X["x2"] = X["x"] + 0.1 * random.normal(size=n)
    gone = random.random(X.shape) < 0.15
    return X.astype(object).mask(gone, None), LABELS[code], random.choice([0.5, 1.0, 2.0], size=n)


def assert_same_state(one, other):
    """Check that two models are the same to the bit."""
    found, expected = one.star_.arrays(), other.star_.arrays()
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == array.tobytes(), name
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one._columns.vocabularies == other._columns.vocabularies


def in_batches(model, data, cuts):
    X, y, weights = data
    ends = [0, *sorted(cuts), len(y)]
    for a, b in itertools.pairwise(ends):
        if b > a:
            model.partial_fit(X.iloc[a:b], y[a:b], LABELS, weights[a:b])
    return model


# --------------------------------------------------------------------------------- the order


@pytest.mark.one_in(12)
@every
def test_batches_of_any_size_make_the_same_model(estimator):
    data = stream()
    whole = in_batches(estimator(), data, [])

    @settings(max_examples=4)
    @given(st.sets(st.integers(1, 699), max_size=12))
    def check(cuts):
        part = in_batches(estimator(), data, cuts)
        assert_same_state(part, whole)
        np.testing.assert_array_equal(part.predict_proba(data[0]), whole.predict_proba(data[0]))

    check()


@pytest.mark.one_in(10)
@every
def test_one_row_at_a_time_makes_the_same_model(estimator):
    X, y, weights = data = stream(300)
    whole = in_batches(estimator(), data, [])
    one = in_batches(estimator(), tuple(part[:10] for part in data), [])
    for row, label, w in zip(X.to_dict("records")[10:], y[10:], weights[10:], strict=True):
        one.learn_one(row, label, w)
    assert_same_state(one, whole)
    for row, p in zip(X.to_dict("records")[:40], whole.predict_proba(X), strict=False):
        found = one.predict_proba_one(row)
        assert list(found) == list(LABELS)
        np.testing.assert_allclose(list(found.values()), p, rtol=1e-12)
        assert one.predict_one(row) == LABELS[p.argmax()]


@pytest.mark.one_in(10)
@every
def test_fit_is_learning_all_and_settling(estimator):
    X, y, weights = data = stream()
    fitted = estimator().fit(X, y, weights)
    assert_same_state(fitted, in_batches(estimator(), data, [100, 107]).refresh())
    batches = [(X[a : a + 90], y[a : a + 90], weights[a : a + 90]) for a in range(0, 700, 90)]
    assert_same_state(bg.classifiers.fit_batches(estimator(), batches, LABELS), fitted)
    assert_same_state(fitted.fit(X, y, weights), in_batches(estimator(), data, []).refresh())


def test_fit_batches_takes_batches():
    with pytest.raises(DataError, match="no batch"):
        bg.classifiers.fit_batches(NB(), [])
    with pytest.raises(TypeError, match="tuple"):
        bg.classifiers.fit_batches(NB(), [[1, 2]])


@pytest.mark.slow
@some
def test_testing_then_training_is_predicting_before_learning(estimator):
    X, y, _ = stream(120)
    one = estimator().partial_fit(X[:20], y[:20], LABELS)
    other = pickle.loads(pickle.dumps(one))
    labels, proba = one.test_then_train(X[20:], y[20:])
    expected = []
    for i in range(20, 120):
        expected.append(other.predict_proba(X[i : i + 1])[0])
        other.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(proba, expected, rtol=1e-9, atol=1e-13)
    np.testing.assert_array_equal(labels, LABELS[proba.argmax(axis=1)])
    assert_same_state(one, other)


@pytest.mark.one_in(9)
@every
def test_memory_does_not_grow_with_the_rows(estimator):
    sizes = []
    for n in (2_000, 20_000):
        X, y, _ = stream(n, seed=n)
        model = estimator(**({} if estimator().epsilon else {"size": 20}))
        model.partial_fit({name: X[name].to_numpy() for name in X}, y)
        sizes.append(model.star_.nbytes)
    # With epsilon by the logarithm; intervals of the second layer are as many as the data ask for.
    assert sizes[1] < 1.5 * sizes[0]
    sketches = sum(sketch.nbytes for sketch in model.star_.counts.sketches.values())
    assert sizes[1] - sketches < 200_000


@pytest.mark.one_in(5)
@pytest.mark.parametrize("summary", ["gk", "pid", "gaussian"])
def test_order_matters_little_to_densities_and_much_to_exponents(summary):
    """Sorted by class: densities lose at most 0.02 of accuracy, exponents follow the last class."""
    random = np.random.default_rng(4)
    y = random.integers(2, size=3000)
    X = random.normal(size=(3000, 5)) + 0.8 * y[:, None]
    order = np.argsort(y, kind="stable")
    shuffled = NB(summary=summary).fit(X, y).score(X, y)
    assert abs(NB(summary=summary).fit(X[order], y[order]).score(X, y) - shuffled) < 0.02
    weighted = Weighted(summary=summary).fit(X, y).score(X, y)
    assert weighted > shuffled - 0.01
    with pytest.warns(BayesGraphWarning, match="sorted by class"):
        late = Weighted(summary=summary).fit(X[order], y[order])
    assert 0.5 < late.score(X, y) < 0.65
    mixed = [Weighted(summary=summary).fit(X[p], y[p]) for p in map(random.permutation, [3000] * 3)]
    assert np.ptp([model.score(X, y) for model in mixed]) < 0.02


# -------------------------------------------------------------------------------- the answers


@pytest.mark.one_in(6)
@every
def test_answers_are_those_of_the_network(estimator):
    X, *_ = data = stream()
    model = in_batches(estimator(), data, [300])
    for rows in (X[:40], X.astype({"x": float})[:5].mask(np.eye(5, dtype=bool), None)):
        proba = model.predict_proba(rows)
        for row, p in zip(rows.to_dict("records"), proba, strict=True):
            known = {n: v for n, v in row.items() if v is not None and v == v}
            found = model.query(evidence=known).probabilities
            np.testing.assert_allclose(found, p, rtol=1e-10, atol=1e-12)


@pytest.mark.one_in(10)
@every
def test_missing_features_are_left_out_before_tempering(estimator):
    model = in_batches(estimator(), stream(), [300])
    star = model.star_
    is_weighted = isinstance(model.network_, bg.WeightedNetwork)
    assert is_weighted == isinstance(model, Weighted)
    network = model.network_.network if is_weighted else model.network_
    # A number that was learned is a state too, where all columns are discrete.
    number = stream()[0]["x"].dropna().iloc[0]
    row = {"x": number, "colour": "mid", "flag": True}
    scores = star.log_prior + star.exponents.mean_bias
    for name, value in row.items():
        assert network[name].parents == (network.variable("class"),)
        logs = [
            network.log_probability({name: value, "class": label})
            - network.log_probability({"class": label})
            for label in LABELS
        ]
        exponent = model.network_.exponents[name] if is_weighted else 1.0
        scores = scores + exponent * np.array(logs)
    expected = np.exp(scores - np.logaddexp.reduce(scores))
    np.testing.assert_allclose(model.query(evidence=row).probabilities, expected, rtol=1e-10)
    # A feature as target: that of each class, by the probability of the class.
    del row["colour"]
    posterior = model.query(evidence=row).probabilities
    each = [network.query("colour", {"class": label}).probabilities for label in LABELS]
    found = model.query("colour", row).probabilities
    np.testing.assert_allclose(found, posterior @ np.array(each), rtol=1e-9)


@pytest.mark.one_in(10)
@every
def test_complete_rows_agree_with_the_factor_graph(estimator):
    X, *_ = data = stream()
    model = in_batches(estimator(), data, [])
    graph = bg.FactorGraph.of(model.network_)
    complete = X.dropna()[:20]
    for row in complete.to_dict("records"):
        # The same product, by another way.
        found = graph.query("class", row).probabilities
        np.testing.assert_allclose(
            model.query(evidence=row).probabilities, found, rtol=1e-9, atol=1e-12
        )


# ----------------------------------------------------------------------------- what comes late


def test_new_classes_categories_and_features_mid_stream():
    model = Weighted()
    model.learn_one({"a": 1.0}, "p").learn_one({"a": 2.0, "b": "u"}, "q")
    assert model.classes_.tolist() == ["p", "q"]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    random = np.random.default_rng(0)
    for i in range(300):
        label = "pqr"[i % 3] if i > 100 else "pq"[i % 2]
        row = {"a": random.normal() + 3 * (label == "q"), "b": "uvw"[random.integers(3)]}
        if i > 150:
            row["c"] = random.normal() + 4 * (label == "r")
        model.learn_one(row, label)
    assert model.n_features_in_ == 3
    assert model.predict_one({"c": 4.0}) == "r"
    assert model.predict_one({"a": 3.5, "c": 0.0}) == "q"
    assert model.predict_one({"b": "never seen", "d": 7}) in "pqr"
    assert sum(model.predict_proba_one({"b": "w"}).values()) == pytest.approx(1.0)
    network = model.refresh().network_
    assert network.variable("b").states == ("u", "v", "w")
    assert network.target.states == ("p", "q", "r")
    frame = pd.DataFrame({"a": [0.0, 3.0], "b": ["u", None], "c": [4.0, None]})
    assert model.predict(frame).tolist() == ["r", "q"]
    np.testing.assert_allclose(
        model.predict_proba(frame)[1], model.query(evidence={"a": 3.0}).probabilities, rtol=1e-10
    )


@pytest.mark.parametrize("summary", ["gk", "pid", "gaussian"])
def test_a_class_that_comes_late_has_no_share_in_what_was_before(summary):
    X, y, _ = stream(400)
    y[:200][y[:200] == "yes"] = "no"
    model = Weighted(summary=summary).partial_fit(X[:50], y[:50])
    _, proba = model.test_then_train(X[50:], y[50:])
    first = int(np.flatnonzero(y[50:] == "yes")[0])
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]
    # The row that brings it was predicted without it.
    assert (proba[: first + 1, 2] == 0.0).all()
    assert (proba[first + 1 :, 2] > 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X[200:], y[200:]) > 0.5


def test_classes_announced_and_late_keep_their_order_of_arrival():
    X = np.arange(6.0)[:, None]
    model = NB().partial_fit(X[:2], ["m", "k"])
    assert model.classes_.tolist() == ["m", "k"]
    model.partial_fit(X[2:5], ["z", "a", "k"], classes=["c", "b"])
    assert model.classes_.tolist() == ["m", "k", "b", "c", "z", "a"]
    assert model.predict_proba(X).shape == (6, 6)
    assert model.target_.states == ("m", "k", "b", "c", "z", "a")
    assert NB().fit(X, [*"mkzakm"]).classes_.tolist() == ["a", "k", "m", "z"]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [NB, Weighted])
def test_classes_come_with_their_rows_whatever_the_batches(estimator):
    """Where nobody says which there will be; row by row too."""
    X, y, _ = stream(900)
    complete = X.notna().all(axis=1).to_numpy()
    X, y = X[complete], y[complete]
    for rows in (np.arange(len(y)), np.argsort(y, kind="stable")[::-1]):
        table, labels = X.iloc[rows], y[rows]
        whole = estimator().partial_fit(table, labels)
        for size in (64, 7):
            parts = estimator()
            for i in range(0, len(y), size):
                parts.partial_fit(table.iloc[i : i + size], labels[i : i + size])
            assert_same_state(parts, whole)
        single = estimator()
        for x, label in zip(table.to_dict("records"), labels, strict=True):
            single.learn_one(x, label)
        assert_same_state(single, whole)


def test_rows_are_tested_before_their_class_is_known():
    predicted, proba = NB().test_then_train({"a": [1.0, 2.0, 3.0, 4.0]}, [*"abca"])
    assert (proba[0] == 0.0).all()
    assert proba[1].tolist() == [1.0, 0.0, 0.0]
    assert proba[2, 2] == 0.0
    assert (proba[3] > 0.0).all()
    assert len(predicted) == 4
    _, proba = NB().test_then_train({"a": [1.0, 2.0]}, [*"ab"], classes=[*"abc"])
    np.testing.assert_allclose(proba[0], 1 / 3)


def test_weights_of_rows_that_are_tested():
    X, y, weights = stream(300)
    tested, trained = NB(), NB()
    tested.test_then_train(X, y, sample_weight=weights)
    trained.partial_fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(tested.predict_proba(X), trained.predict_proba(X))


def test_arrays_of_booleans_are_discrete():
    random = np.random.default_rng(0)
    X = random.random((200, 2)) < 0.5
    y = X[:, 0] ^ (random.random(200) < 0.1)
    model = NB().fit(X, y)
    assert [v.states for v in model.features_] == [(False, True), (False, True)]
    frame = NB().fit({"x0": X[:, 0], "x1": X[:, 1]}, y)
    np.testing.assert_array_equal(
        model.predict_proba(X), frame.predict_proba({"x0": X[:, 0], "x1": X[:, 1]})
    )


def test_tables_of_a_stream_of_single_rows():
    """Features that came by name: tables may have them in any order, lack some and bring others."""
    model = NB()
    for i in range(40):
        model.learn_one({"b": None if i < 3 else float(i % 2), "a": "xy"[i % 2]}, i % 2)
    model.partial_fit({"a": ["x", "y"], "c": [0.5, 1.5], "d": [None, None]}, [0, 1]).refresh()
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    table = {"z": ["?", "?"], "b": [0.0, 1.0], "a": ["x", "y"]}
    assert model.predict(table).tolist() == [0, 1]
    expected = [model.predict_proba_one({"b": b, "a": a})[1] for b, a in ((0.0, "x"), (1.0, "y"))]
    np.testing.assert_allclose(model.predict_proba(table)[:, 1], expected, rtol=1e-12)
    before = pickle.dumps(model)
    for X, y in (({"a": [1.0], "new": [2.0]}, [0]), ({"a": ["x"], "new": [2.0]}, ["text"])):
        with pytest.raises(BayesGraphError):
            model.partial_fit(X, y)
        assert pickle.dumps(model) == before


TABLES = {
    "a negative weight": ({}, {"sample_weight": [-1.0, 1.0]}),
    "another number of weights": ({}, {"sample_weight": [1.0]}),
    "no weight": ({}, {"sample_weight": [0.0, 0.0]}),
    "too much weight": ({}, {"sample_weight": [1e200, 1.0]}),
    "a square that is infinite": ({"new": [1e200, 2.0]}, {}),
    "infinity": ({"a": [np.inf, 2.0]}, {}),
    "no classes": ({}, {"classes": []}),
    "a missing class": ({}, {"classes": [0, 1, np.nan]}),
    "a class for classes": ({}, {"classes": 3}),
    "a matrix of classes": ({}, {"classes": [[0, 1]]}),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_is_refused_brings_no_column(case):
    columns, options = TABLES[case]
    model = NB(summary="gaussian").learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    before = pickle.dumps(model)
    with pytest.raises(BayesGraphError):
        model.partial_fit({"a": [1.0, 2.0], "new": [3.0, 4.0]} | columns, [0, 1], **options)
    assert pickle.dumps(model) == before


LABELS_OF_ROWS = [{"x": 1}, {1}, 0.5, np.inf, object(), b"x", np.nan, None, [1]]


@pytest.mark.parametrize("label", LABELS_OF_ROWS, ids=lambda label: type(label).__name__)
def test_labels_of_single_rows_are_those_of_tables(label):
    model = NB()
    with pytest.raises(BayesGraphError):
        model.learn_one({"a": 1.0}, label)
    assert model.predict_one({"a": 1.0}) is None


@pytest.mark.parametrize("w", ["x", None, -1.0, np.nan, 1e200])
def test_weights_of_single_rows(w):
    with pytest.raises(DataError, match="weight"):
        NB().learn_one({"a": 1.0}, 0, w)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("estimator", [NB, Weighted])
def test_what_comes_late_is_learned_soon(estimator):
    """A feature and a class that come after 20,000 rows are looked at within some hundred."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 21_500)
    X = {"noise": random.normal(size=21_500)}
    model = estimator().learn_one({"noise": 0.0}, 0)
    model.partial_fit({"noise": X["noise"][:20_000]}, y[:20_000])
    found = []
    for first in range(20_000, 21_500, 50):
        rows = slice(first, first + 50)
        table = {"noise": X["noise"][rows], "late": y[rows] + 0.1 * random.normal(size=50)}
        found.append(model.predict(table) == y[rows])
        model.partial_fit(table, y[rows])
    assert np.concatenate(found)[700:].mean() > 0.95
    y[20_000:][random.random(1500) < 0.4] = 2
    places = 5.0 * y[:, None] + random.normal(size=(21_500, 2))
    predicted, _ = estimator().test_then_train(places, y)
    last = y[20_700:] == 2
    assert (predicted[20_700:][last] == 2).mean() > 0.9


def test_sparse_columns_keep_their_steps_short():
    """Rows that do not know a feature do not make its densities look near each other."""
    random = np.random.default_rng(3)
    X, y = load_digits(return_X_y=True)
    order = random.permutation(len(y))
    X, y = X[order].copy(), y[order]
    X[random.random(X.shape) > 0.1] = np.nan
    scores = {}
    for estimator in (NB, Weighted):
        predicted, _ = estimator(summary="gaussian").test_then_train(X, y, classes=np.arange(10))
        scores[estimator] = (predicted == y)[300:].mean()
    assert scores[Weighted] > scores[NB] - 0.06


def test_a_feature_may_be_called_as_the_class():
    model = NB().learn_one({"class": 1.0}, 0).learn_one({"class": 2.0, "class_": 1.0}, 1)
    assert model.target_.name == "class__"
    assert model.refresh().query(evidence={"class": 1.0}).probabilities.sum() == pytest.approx(1.0)


def test_rows_have_the_types_of_tables():
    model = NB(categorical=[1]).learn_one({"a": 1.0, "k": 3, "t": "u"}, 0)
    assert isinstance(model.features_[1], Discrete)
    model.learn_one({"a": pd.NA, "k": np.ma.masked, "t": pd.NaT}, 1)
    model.learn_one({"a": Fraction(1, 2), "k": 4, "t": "v"}, 1)
    assert model.star_.n_seen == 3
    for row in ({"a": "5.5"}, {"k": "three"}, {"t": 7}, {"t": ["u"]}, {"t": ([],)}, {"a": [1.0]}):
        with pytest.raises(DataTypeError, match=repr(next(iter(row)))):
            model.learn_one(row, 0)
    assert model.star_.n_seen == 3
    with pytest.raises(DataTypeError, match="categorical="):
        NB(categorical="a").learn_one({"a": 1.0}, 0)


def test_a_first_row_that_is_refused_leaves_nothing():
    model = NB()
    with pytest.raises(DataError):
        model.learn_one({"a": np.inf}, "p")
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "q")
    assert model.classes_.tolist() == ["q"]
    before = pickle.dumps(model)
    with pytest.raises(DataTypeError):
        model.learn_one({"a": 2.0, "b": 3.0}, 5)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("factor", [1.0, 30.0])
def test_exponents_of_far_apart_densities_do_not_diverge(factor):
    """Gaussians of few rows are hundreds of nats apart; steps are shortened accordingly."""
    random = np.random.default_rng(2)
    y = random.integers(3, size=1500)
    X = random.standard_t(2.0, size=(1500, 10)) * factor + 2.0 * y[:, None]
    found = {}
    for estimator in (NB, Weighted):
        predicted, _ = estimator(summary="gaussian").test_then_train(X, y, classes=[0, 1, 2])
        found[estimator] = (predicted == y).mean()
    assert found[Weighted] > found[NB] - 0.02


def test_states_match_by_type_and_then_by_value():
    model = NB(categorical=["k"]).partial_fit({"k": [1, 2, 1, 2]}, [0, 1, 0, 1])
    model.partial_fit({"k": [1.0, np.nan, 2.0]}, [0, 0, 1]).refresh()
    assert model.features_[0].states == (1, 2)
    assert model.predict({"k": [1.0, 2.0]}).tolist() == [0, 1]


# ------------------------------------------------------------------------------------ refusals

BATCHES = {
    "infinity": {"x": [1.0, np.inf], "s": ["new", "p"]},
    "text for numbers": {"x": ["a", "b"], "s": ["new", "p"]},
    "numbers for text": {"x": [1.0, 2.0], "s": [3.0, 4.0]},
    "another column": {"x": [1.0, 2.0], "s": ["new", "p"], "t": [1.0, 2.0]},
    "a column less": {"x": [1.0, 2.0]},
}


@pytest.mark.parametrize("bad", BATCHES.values(), ids=BATCHES)
def test_a_batch_that_is_refused_changes_nothing(bad):
    model = Weighted()
    with pytest.raises((TypeError, ValueError)):
        model.partial_fit({**bad, "u": [object(), object()]}, ["k", "l"])
    model.partial_fit({"x": [1.0, 2.0], "s": ["p", "q"]}, ["k", "l"])
    before = pickle.dumps(model)
    with pytest.raises((TypeError, ValueError)) as caught:
        model.partial_fit(bad, ["k", "new"])
    assert isinstance(caught.value, BayesGraphError)
    with pytest.raises((TypeError, ValueError)):
        model.partial_fit({"x": [1.0, 2.0], "s": ["new", "p"]}, ["k", "l"], None, [1.0, -1.0])
    with pytest.raises((TypeError, ValueError)):
        model.partial_fit({"x": [1.0, 2.0], "s": ["new", "p"]}, ["k", None])
    assert pickle.dumps(model) == before


ROWS = {
    "infinity": ({"x": np.inf, "new": 1.0}, "k", 1.0),
    "infinity in a new feature": ({"x": 1.0, "new": np.inf}, "k", 1.0),
    "text": ({"x": "a", "new": 1.0}, "k", 1.0),
    "no mapping": ([1.0], "k", 1.0),
    "no label": ({"x": 1.0}, None, 1.0),
    "a negative weight": ({"x": 1.0, "new": 2.0}, "new", -1.0),
    "no weight": ({"x": 1.0, "new": 2.0}, "new", np.nan),
}


@pytest.mark.parametrize(("x", "y", "w"), ROWS.values(), ids=ROWS)
def test_a_row_that_is_refused_changes_nothing(x, y, w):
    model = Weighted().partial_fit({"x": [1.0, 2.0], "s": ["p", "q"]}, ["k", "l"])
    before = pickle.dumps(model)
    with pytest.raises((TypeError, ValueError)) as caught:
        model.learn_one(x, y, w)
    assert isinstance(caught.value, BayesGraphError)
    assert pickle.dumps(model) == before


def test_a_row_of_no_weight_is_nothing():
    model = Weighted().partial_fit({"x": [1.0, 2.0], "s": ["p", "q"]}, ["k", "l"])
    before = pickle.dumps(model)
    assert model.learn_one({"x": 1.0, "s": "new", "t": 1.0}, "m", 0.0) is model
    assert pickle.dumps(model) == before


COUNTS = ("size", "bins")
WORDS = ("decay", "epsilon", *COUNTS)
SETTINGS = {
    "bins": 0,
    "decay": 0.0,
    "summary": "any",
    "discretizer": "any",
    "size": 1,
    "epsilon": 0.7,
}


@pytest.mark.parametrize(("name", "value"), SETTINGS.items(), ids=SETTINGS)
def test_parameters_are_checked_when_learning_begins(name, value):
    model = NB(**{name: value})
    error = DataError if name in COUNTS else ModelError
    with pytest.raises(error, match=name):
        model.partial_fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(error, match=name):
        model.learn_one({"x": 1.0}, 0)
    assert not hasattr(model, "star_")


@pytest.mark.parametrize("name", WORDS)
def test_words_are_no_numbers(name):
    with pytest.raises(DataTypeError if name in COUNTS else ModelError, match=name):
        Weighted(**{name: "many"}).partial_fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("smoothing", "text"),
    [
        (0.0, "alpha is a positive number"),
        (bg.Smoothing(alpha=[1.0, 2.0]), "alpha= takes a number"),
        (bg.Smoothing(alpha={"x": 2.0}), "alpha= takes a number"),
        ("m", "would ignore"),
        (bg.Smoothing(ddof=1), "would ignore"),
        (-1.0, "alpha"),
    ],
    ids=str,
)
def test_smoothing_of_streams_is_one_number_and_those_of_gaussians(smoothing, text):
    model = NB(smoothing=smoothing)
    with pytest.raises((ModelError, DataError), match=text):
        model.partial_fit([[1.0], [2.0]], [0, 1])
    assert not hasattr(model, "star_")


def test_epsilon_is_of_quantiles_with_counts():
    with pytest.raises(ModelError, match="epsilon"):
        NB(summary="pid", epsilon=0.01).partial_fit([[1.0], [2.0]], [0, 1])


def test_numbers_far_out_leave_everything_finite():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    y = (X[:, 0] > 0).astype(int)
    for summary in ("gk", "pid", "gaussian"):
        model = Weighted(summary=summary).partial_fit(X, y)
        model.partial_fit([[1e130, 0.0, -1e130]], [0])
        assert all(np.isfinite(model.star_.exponents.mean).ravel())
        far = [[1e300, 0.0, 0.0], [-1e300, 1e300, 1e-300]]
        assert np.isfinite(model.predict_proba(far)).all()
    with pytest.raises(DataError, match="Multiply the column by a constant"):
        Weighted(summary="gaussian").partial_fit([[1.0], [1e200]], [0, 1])


def test_nonnegative_exponents_make_a_network_of_that_domain():
    random = np.random.default_rng(1)
    y = random.integers(2, size=2000)
    base = random.normal(size=2000) + y
    X = np.stack([base, base + 0.01 * random.normal(size=2000), -base - y], axis=1)
    for exponents in ("mixed", "class", "variable"):
        model = Weighted(exponents, domain="nonnegative").fit(X, y)
        assert model.network_.domain == "nonnegative"
        assert all((w >= 0).all() for w in model.network_.exponents.values())


def test_clones_have_learned_nothing():
    model = Weighted("class", step=0.1, summary="pid").fit([[1.0], [2.0]], [0, 1])
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "star_")
    assert not hasattr(again, "network_")
    with pytest.raises(AttributeError, match="learned nothing"):
        again.network_  # noqa: B018
    assert again.predict_one({"x0": 1.0}) is None
    assert again.predict_proba_one({"x0": 1.0}) == {}


def test_negative_exponents_of_gaussians_are_answered_like_others():
    random = np.random.default_rng(1)
    y = random.integers(2, size=20_000)
    noise = random.normal(size=20_000)
    X = np.stack([noise + y, noise + 0.3 * random.normal(size=20_000)], axis=1)
    model = Weighted(summary="gaussian").fit(X, y)
    assert (model.star_.exponents.mean < 0).any()
    for row, p in zip(X[:5], model.predict_proba(X), strict=False):
        found = model.query(evidence={"x0": row[0], "x1": row[1]}).probabilities
        np.testing.assert_allclose(found, p, rtol=1e-10)
    with pytest.raises(ModelError, match="not negative"):
        bg.FactorGraph.of(model.network_)


class Unnamed(bg.classifiers.Discretizer):
    """One of a user, which streams do not know."""

    supervised = False

    def find_cuts(self, column):
        return [0.0]


def test_discretizers_of_tables_are_taken(tmp_path):
    X, y = load_iris(return_X_y=True)
    by_name = NB(discretizer="frequency", bins=5).fit(X, y)
    by_object = NB(discretizer=bg.EqualFrequency(5)).fit(X, y)
    assert by_object.features_ == by_name.features_
    by_object.save(tmp_path / "m.bayesgraph")
    again = bg.load(tmp_path / "m.bayesgraph")
    assert repr(again) == repr(by_object)
    np.testing.assert_array_equal(again.predict_proba(X), by_name.predict_proba(X))
    for refused in (bg.MODL(granular=True), bg.EqualWidth(3, categorical="all"), Unnamed()):
        with pytest.raises(DataError, match="needs all rows of a table"):
            NB(discretizer=refused).fit(X, y)


@pytest.mark.parametrize("kind", list(SUMMARIES.values()))
def test_a_summary_may_be_given_as_a_class(kind, tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), random.integers(2, size=60)
    by_class, by_name = (NB(summary=given, size=20).fit(X, y) for given in (kind, kind.name))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_name.predict_proba(X))
    assert clone(by_class).summary is kind
    by_class.save(tmp_path / "stream.bayesgraph")
    loaded = bg.load(tmp_path / "stream.bayesgraph")
    np.testing.assert_array_equal(loaded.predict_proba(X), by_name.predict_proba(X))


@pytest.mark.parametrize("wrong", ["kll", bg.statistics.GKSummary(1, 2), list, None, ["gk"]])
def test_no_other_summary(wrong):
    with pytest.raises(bg.errors.ModelError, match="summary= is one of"):
        NB(summary=wrong).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("summary", SUMMARIES)
def test_tables_by_rows_or_by_columns_give_the_same_model(summary):
    X, y = load_iris(return_X_y=True)
    models = [
        bg.StreamingNaiveBayesClassifier(summary=summary).fit(table, y)
        for table in (
            np.ascontiguousarray(X),
            np.asfortranarray(X),
            np.repeat(X, 2, axis=1)[:, ::2],
        )
    ]
    expected = models[0].star_.arrays()
    for model in models[1:]:
        found = model.star_.arrays()
        assert all(np.array_equal(array, found[name]) for name, array in expected.items())


@pytest.mark.parametrize("summary", SUMMARIES)
def test_a_row_with_a_gap_or_in_another_order_is_learned_by_name(summary):
    rows = [{"x": 1.0, "z": 3.0}, {"z": 4.0, "x": 2.0}, {"z": 2.0}, {"x": 0.5, "z": None}]
    model = bg.StreamingNaiveBayesClassifier(summary=summary)
    for row, label in zip(rows, "klkl", strict=True):
        model.learn_one(row, label)
    table = pd.DataFrame(rows, columns=["x", "z"])
    expected = bg.StreamingNaiveBayesClassifier(summary=summary).partial_fit(table, [*"klkl"])
    for name, array in model.refresh().star_.summaries.arrays().items():
        assert np.array_equal(array, expected.refresh().star_.summaries.arrays()[name])
