"""Models that learn in batches and forget: the same model, whatever the way to it."""

import itertools
import pickle
from functools import partial

import cases
import numpy as np
import pandas as pd
import pytest
from comparison import assert_same_network
from scipy import sparse

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownStateError

LEARNING = [pair for pair in cases.pairs() if hasattr(pair[0].estimator(), "partial_fit")]
every = pytest.mark.parametrize(("case", "kind"), LEARNING, ids=str)
naive = pytest.mark.parametrize(
    ("case", "kind"), [pair for pair in LEARNING if pair[0].name.startswith("nb")], ids=str
)


def rows_for(case, kind):
    """Return data with missing values, if a model can learn those from statistics alone."""
    data = cases.make_data(kind)
    return data if case.updates_complete_rows else data.with_missing()


def chunks(data, seed, first=2):
    """Return the data in about five random stretches, the first of at least so many rows."""
    cuts = np.random.default_rng(seed).choice(np.arange(first, len(data.y)), 4, replace=False)
    ends = [0, *sorted(cuts.tolist()), len(data.y)]
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def declared(frame, classifier):
    """Return a frame whose discrete columns have all states of a model, even those of no row."""
    columns = {
        v.name: pd.Categorical(frame[v.name], categories=list(v.states))
        for v in classifier.features_
        if isinstance(v, bg.Discrete)
    }
    return frame.assign(**columns)


def assert_same_answers(one, other, data, tolerance=1e-9):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.classes_.dtype == other.classes_.dtype
    assert_same_network(one.network_, other.network_, tolerance)
    X = data.pandas()
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=tolerance)


# ------------------------------------------------------------------------------------ partial_fit


@pytest.mark.one_in(5)
@every
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_chunks_make_the_model_of_the_whole(case, kind, weighted):
    data = rows_for(case, kind)
    weights = np.random.default_rng(2).uniform(0.1, 3.0, len(data.y)) if weighted else None
    whole = case.estimator().fit(data.pandas(), data.y, weights)
    part = case.estimator()
    for rows in chunks(data, 0):
        some = data.take(rows)
        part.partial_fit(some.pandas(), some.y, None, weights[rows] if weighted else None)
    assert_same_answers(part, whole, data)


@pytest.mark.one_in(5)
@every
def test_classes_and_states_may_come_late(case, kind):
    data = cases.make_data(kind)
    data = data.take(np.argsort(data.y, kind="stable"))  # one class after the other
    whole = case.estimator().fit(data.pandas(), data.y)
    part = case.estimator()
    for rows in chunks(data, 3):
        some = data.take(rows)
        part.partial_fit(some.pandas(), some.y)
        assert part.score(some.pandas(), some.y) >= 0
    assert_same_answers(part, whole, data)


@pytest.mark.one_in(5)
@every
def test_fit_batches(case, kind):
    data = rows_for(case, kind)
    weights = np.random.default_rng(4).integers(0, 3, len(data.y))
    whole = case.estimator().fit(data.pandas(), data.y, weights)
    parts = [data.take(rows) for rows in chunks(data, 5, first=10)]
    heavy = [weights[rows] for rows in chunks(data, 5, first=10)]
    fitted = case.estimator().fit(data.pandas(), data.y)  # what was fitted before is gone
    batches = ((p.polars(), p.y, w) for p, w in zip(parts, heavy, strict=True))
    found = bg.classifiers.fit_batches(fitted, batches, classes=np.unique(data.y))
    assert found is fitted
    assert_same_answers(fitted, whole, data)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_gaps_that_other_batches_do_not_have(kind):
    # Distributions given fewer parents are estimated where rows lack some, which is known late.
    data = cases.make_data(kind)
    gone = {"a": range(20, 40, 3), "b": range(40, 60, 2), "c": range(41, 60, 3), "d": []}
    columns = {
        name: [None if i in gone[name] else value for i, value in enumerate(column)]
        for name, column in data.columns.items()
    }
    data = cases.Data(columns, data.y)
    numeric = {v for v in "cd" if kind != "discrete"} | {v for v in "ab" if kind == "continuous"}
    arcs = [("class", name) for name in "abcd"] + [
        (parent, child)
        for parent, child in ("ab", "ad", "bd", "cd")
        if parent not in numeric or child in numeric
    ]
    classifier = bg.BayesianNetworkClassifier(arcs)
    whole = bg.BayesianNetworkClassifier(arcs).fit(data.pandas(), data.y)
    parts = []
    for start in (0, 20, 40):
        some = data.take(range(start, start + 20))
        parts.append(bg.BayesianNetworkClassifier(arcs).collect(some.pandas(), some.y))
        classifier.partial_fit(some.pandas(), some.y)
    assert_same_answers(classifier, whole, data)
    for order in (parts, parts[::-1]):
        joined = bg.BayesianNetworkClassifier.from_statistics(order)
        assert_same_answers(joined, whole, data)
    for start in (40, 20):
        some = data.take(range(start, start + 20))
        classifier.forget(some.pandas(), some.y)
    first = data.take(range(20))
    again = bg.BayesianNetworkClassifier(arcs)
    again.partial_fit(declared(first.pandas(), classifier), first.y, classifier.classes_)
    assert_same_answers(classifier, again, data)


def test_gaps_beside_more_parents_than_are_counted_ahead_are_refused():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(80, 8)), columns=[*"abcdefgh"])
    arcs = [("class", "h"), *((name, "h") for name in "abcdefg")]
    classifier = bg.BayesianNetworkClassifier(arcs).fit(X[:40], [0, 1] * 20)
    before = pickle.dumps(classifier)
    X.loc[40::3, "a"] = None
    needed = r"needs families such as 'class', .* fit it on the whole table"
    with pytest.raises(DataError, match=needed):
        classifier.partial_fit(X[40:], [0, 1] * 20)
    assert pickle.dumps(classifier) == before


@naive
def test_columns_that_the_first_batches_do_not_observe(case, kind):
    if kind not in cases.NUMERIC or "categorical" in case.name:
        pytest.skip("An unobserved column of text has no type.")
    data = rows_for(case, kind)
    gone = cases.Data({**data.columns, "c": [np.nan] * 30 + data.columns["c"][30:]}, data.y)
    whole = case.estimator().fit(gone.pandas(), gone.y)
    part = case.estimator()
    for rows in (range(30), range(30, 60)):
        some = gone.take(rows)
        part.partial_fit(some.pandas().astype(float), some.y)
        assert np.isfinite(part.predict_log_proba(data.pandas())).all()
    assert_same_answers(part, whole, data)


@naive
def test_a_class_without_rows(case, kind):
    data = rows_for(case, kind)
    classes = ["setosa", "nobody", "virginica", "versicolor"]
    share = case.estimator().partial_fit(data.pandas(), data.y, classes)
    assert share.classes_.tolist() == sorted(classes)
    np.testing.assert_allclose(share.predict_proba(data.pandas())[:, 0], 0.0)
    known = cases.fitted(case, data)
    if "pooled" not in case.name:
        np.testing.assert_allclose(
            share.predict_proba(data.pandas())[:, 1:], known.predict_proba(data.pandas()), atol=1e-9
        )
    equal = case.estimator(priors="uniform").partial_fit(data.pandas(), data.y, classes)
    proba = equal.predict_proba(data.pandas())
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba >= 0).all()
    assert np.isfinite(equal.score_samples(data.pandas())).all()


@pytest.mark.one_in(5)
@every
def test_a_batch_that_is_refused_changes_nothing(case, kind):
    data = cases.make_data(kind)
    classifier = case.estimator().fit(data.pandas(), data.y)
    before = pickle.dumps(classifier)
    labels = ["a class before all others", *data.y[1:]]
    infinite = data.pandas().astype({"c": object})
    infinite["c"] = [np.inf] + [1.0] * 59 if kind != "discrete" else [b"x"] * 60
    new = data.pandas().assign(more=1.0)
    for X, weights in ((infinite, None), (new, None), (data.pandas(), [-1.0] * 60)):
        for update in (classifier.partial_fit, classifier.forget):
            with pytest.raises((ValueError, TypeError)):
                update(X, labels, sample_weight=weights)
            assert pickle.dumps(classifier) == before


@pytest.mark.parametrize("estimation", ["mean", "predictive"])
def test_matrices_as_columns(estimation, tmp_path):
    random = np.random.default_rng(0)
    n, y = 80, np.array(["a", "b", "c"])[np.arange(80) % 3]
    words = random.poisson(0.5, (n, 30)).astype(float)
    X = {
        "age": random.normal(size=n),
        "words": sparse.csr_array(words),
        "tags": random.poisson(0.5, (n, 5)),
        "place": np.array(["u", "v"])[random.integers(2, size=n)],
    }
    families = {"words": "multinomial", "tags": "bernoulli"}

    def rows(start, stop):
        return {name: column[start:stop] for name, column in X.items()}, y[start:stop]

    def proba(classifier):
        return classifier.predict_proba(X)

    def fitted(*data):
        return bg.NaiveBayesClassifier(families, smoothing=bg.Smoothing(estimation=estimation)).fit(
            *data
        )

    whole = fitted(X, y)
    np.testing.assert_allclose(proba(fitted({**X, "words": words}, y)), proba(whole), rtol=1e-12)
    parts = bg.NaiveBayesClassifier(families, smoothing=bg.Smoothing(estimation=estimation))
    bg.classifiers.fit_batches(parts, [rows(a, b) for a, b in ((0, 20), (20, 50), (50, 80))])
    np.testing.assert_allclose(proba(parts), proba(whole), rtol=1e-9)
    parts.save(tmp_path / "model.bayesgraph")
    loaded = bg.load(tmp_path / "model.bayesgraph")
    np.testing.assert_array_equal(proba(loaded), proba(parts))
    loaded.forget(*rows(0, 20))
    np.testing.assert_allclose(proba(loaded), proba(fitted(*rows(20, 80))), rtol=1e-9)


# ----------------------------------------------------------------------------------------- forget


@pytest.mark.one_in(5)
@every
def test_all_rows_may_be_forgotten(case, kind):
    data = rows_for(case, kind)
    classifier = case.estimator().fit(data.pandas(), data.y)
    whole = pickle.loads(pickle.dumps(classifier))
    classifier.forget(data.pandas(), data.y)
    proba = classifier.predict_proba(data.pandas())
    np.testing.assert_allclose(proba, 1 / 3)
    classifier.partial_fit(data.pandas(), data.y)
    assert_same_answers(classifier, whole, data)


@pytest.mark.one_in(5)
@every
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_forgetting_is_not_having_learned(case, kind, weighted):
    data = rows_for(case, kind)
    weights = np.random.default_rng(6).integers(1, 5, len(data.y)) / 4 if weighted else None
    out = np.random.default_rng(7).permutation(len(data.y))[:20]
    rest = np.setdiff1d(np.arange(len(data.y)), out)
    classifier = case.estimator().fit(data.pandas(), data.y, weights)
    some, kept = data.take(out), data.take(rest)
    classifier.forget(some.pandas(), some.y, weights[out] if weighted else None)
    again = case.estimator().partial_fit(
        declared(kept.pandas(), classifier), kept.y, classifier.classes_,
        weights[rest] if weighted else None,
    )  # fmt: skip
    assert_same_answers(classifier, again, data)
    tables = [getattr(c.network_, "cpds", ()) for c in (classifier, again)]
    for one, other in zip(*tables, strict=True):
        if isinstance(one, bg.TableCPD):
            np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.one_in(5)
@every
def test_what_was_forgotten_can_be_learned_again(case, kind):
    data = rows_for(case, kind)
    classifier = case.estimator().fit(data.pandas(), data.y)
    whole = pickle.loads(pickle.dumps(classifier))
    some = data.take(range(40))
    classifier.forget(some.pandas(), some.y).partial_fit(some.pandas(), some.y)
    assert_same_answers(classifier, whole, data)


@pytest.mark.one_in(5)
@every
def test_rows_that_were_not_there_are_not_forgotten(case, kind):
    data = cases.make_data(kind)
    classifier = case.estimator().fit(data.pandas(), data.y)
    before = pickle.dumps((classifier.network_, classifier.statistics_, classifier.classes_))

    def refused(error, X, y, weights=None, match=None):
        with pytest.raises(error, match=match):
            classifier.forget(X, y, weights)
        after = pickle.dumps((classifier.network_, classifier.statistics_, classifier.classes_))
        assert after == before

    twice = data.take([*range(60), *range(60)])
    refused(DataError, twice.pandas(), twice.y, match="not all part of")
    refused(DataError, data.pandas(), data.y, np.full(60, 1.5), match="not all part of")
    unknown = ["nobody", *data.y[1:]]
    refused(UnknownStateError, data.pandas(), unknown, match="no class 'nobody'")
    if kind not in cases.NUMERIC:
        strange = cases.Data({**data.columns, "a": ["nowhere", *data.columns["a"][1:]]}, data.y)
        refused(UnknownStateError, strange.pandas(), data.y, match="'nowhere'")


def test_rows_are_not_forgotten_where_their_spread_is_all_there_was():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 2)), np.arange(40) % 2
    X[:4, 0] = 1e7
    for classifier in (bg.NaiveBayesClassifier(), bg.TANClassifier()):
        classifier.fit(X, y)
        before = classifier.network_
        with pytest.raises(DataError, match="Fit again on the rows that stay"):
            classifier.forget(X[:4], y[:4])
        assert classifier.network_ is before
        classifier.forget(X[4:6], y[4:6])  # others still can be
    X = np.exp(1e-5 * X[:, 1:])
    X[:4] = 1e300
    logs = bg.NaiveBayesClassifier("lognormal").fit(X / 1e200, y)
    with pytest.raises(DataError, match="Fit again on the rows that stay"):
        logs.forget(X[:4] / 1e200, y[:4])


def test_a_cell_may_lose_all_but_one_row():
    # Not a cancellation that matters: the column's spread is in other rows.
    random = np.random.default_rng(1)
    X = {"a": ["u", "u", "u", *"vvvvvvvvv"], "b": random.normal(1e3, 1.0, 12).tolist()}
    y = [0] * 6 + [1] * 6
    graph = [("class", "a"), ("class", "b"), ("a", "b")]
    gone = {name: column[:2] for name, column in X.items()}
    kept = {name: column[2:] for name, column in X.items()}
    for structure in ("tan", graph):
        classifier = bg.BayesianNetworkClassifier(structure).fit(X, y)
        classifier.forget(gone, y[:2])
        again = bg.BayesianNetworkClassifier(structure).fit(kept, y[2:])
        assert_same_network(classifier.network_, again.network_, 1e-9)


@every
def test_a_batch_without_weight_changes_nothing(case, kind):
    if not hasattr(case.estimator(), "forget"):
        pytest.skip("Streams refuse a batch without weight.")
    data = rows_for(case, kind)
    X, y = data.pandas(), data.y
    model = case.estimator().fit(X, y)
    before = model.predict_proba(X)
    model.partial_fit(X[:20], y[:20], sample_weight=np.zeros(20))
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)


def test_a_class_without_weight_may_fill_a_batch():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    batches = [(X[i : i + 4], y[i : i + 4]) for i in (0, 4, 8)]
    found = bg.classifiers.fit_batches(bg.NaiveBayesClassifier(class_weight={2: 0.0}), batches)
    assert found.classes_.tolist() == [0, 1]
    kept = bg.NaiveBayesClassifier().fit(X[:8], y[:8])
    np.testing.assert_allclose(found.predict_proba(X), kept.predict_proba(X))


def test_a_weight_of_a_class_is_forgotten_with_it():
    data = cases.make_data("mixed").with_missing()
    heavy = {"setosa": 2.0, "versicolor": 0.5}
    classifier = bg.NaiveBayesClassifier(class_weight=heavy).fit(data.pandas(), data.y)
    some, kept = data.take(range(20)), data.take(range(20, 60))
    classifier.forget(some.pandas(), some.y)
    again = bg.NaiveBayesClassifier(class_weight=heavy).fit(
        declared(kept.pandas(), classifier), kept.y
    )
    assert_same_answers(classifier, again, data)


# ----------------------------------------------------------------------------------- class weights


@pytest.mark.one_in(10)
@pytest.mark.parametrize(("case", "kind"), cases.pairs(), ids=str)
def test_class_weights_are_sample_weights(case, kind):
    data = rows_for(case, kind)
    own = np.random.default_rng(8).uniform(0.5, 2.0, len(data.y))
    heavy = {"setosa": 2.0, "versicolor": 0.25}
    n = {label: int((data.y == label).sum()) for label in np.unique(data.y)}
    balanced = {label: len(data.y) / (len(n) * count) for label, count in n.items()}
    for given, meant in ((heavy, {"virginica": 1.0, **heavy}), ("balanced", balanced)):
        weights = np.array([meant[label] for label in data.y])
        for mine in (None, own):
            one = case.estimator(class_weight=given).fit(data.pandas(), data.y, mine)
            product = weights if mine is None else weights * mine
            other = case.estimator().fit(data.pandas(), data.y, product)
            assert_same_network(one.network_, other.network_, 1e-11)
    if "class" in one.network_.names and case.class_is_root and "test_priors" not in case.without:
        shares = case.estimator(class_weight="balanced").fit(data.pandas(), data.y).query()
        np.testing.assert_allclose(shares.probabilities, 1 / 3)


@every
def test_balanced_classes_need_all_labels_at_once(case, kind):
    data = cases.make_data(kind)
    classifier = case.estimator(class_weight="balanced")
    in_batches = partial(bg.classifiers.fit_batches, classifier)
    for learn in (classifier.partial_fit, lambda X, y: in_batches([(X, y)])):
        with pytest.raises(DataError, match="needs all labels at once"):
            learn(data.pandas(), data.y)
    classifier.fit(data.pandas(), data.y)
    with pytest.raises(DataError, match="balanced"):
        classifier.forget(data.pandas(), data.y)
