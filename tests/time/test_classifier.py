"""A classifier of sequences is a temporal network whose target is static."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import bayesgraph as bg


def sequences(rng, n, length):
    """Return rows of Markov chains that differ by class, and a label for each."""
    labels = rng.choice(["calm", "wild"], n)
    ids, acts = [], []
    for i, label in enumerate(labels):
        act = 0
        for _ in range(length):
            act = act if rng.random() < (0.9 if label == "calm" else 0.4) else 1 - act
            ids.append(f"s{i}")
            acts.append("wb"[act])
    return {"id": ids, "act": acts}, labels


def test_sequences_get_their_class_by_the_rule_of_bayes():
    rng = np.random.default_rng(0)
    rows, labels = sequences(rng, 40, 12)
    clf = bg.TemporalNetworkClassifier(smoothing=1.0).fit(rows, labels, id="id")
    proba = clf.predict_proba(rows, id="id")
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (clf.predict(rows, id="id") == labels).mean() > 0.8
    assert clf.classes_.tolist() == ["calm", "wild"]
    # By hand: prior, first act and moves of each class, counted with one of each added.
    acts = np.array(rows["act"]).reshape(40, 12)
    logs = np.empty((40, 2))
    for k, label in enumerate(clf.classes_):
        own = acts[labels == label]
        start = {a: ((own[:, 0] == a).sum() + 1) / (len(own) + 2) for a in "bw"}
        move = {
            (a, b): (((own[:, :-1] == a) & (own[:, 1:] == b)).sum() + 1)
            / ((own[:, :-1] == a).sum() + 2)
            for a in "bw"
            for b in "bw"
        }
        logs[:, k] = np.log((len(own) + 1) / 42)
        for i, row in enumerate(acts):
            logs[i, k] += np.log(start[row[0]])
            logs[i, k] += sum(np.log(move[a, b]) for a, b in pairwise(row))
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(proba, expected / expected.sum(axis=1, keepdims=True), atol=1e-10)


def test_hidden_variables_and_missing_cells():
    rng = np.random.default_rng(1)
    rows, labels = sequences(rng, 30, 10)
    rows["act"] = [None if rng.random() < 0.2 else a for a in rows["act"]]
    clf = bg.TemporalNetworkClassifier(
        [(bg.before("z"), "z"), ("z", "act")], hidden={"z": 2}, restarts=2
    )
    clf.fit(rows, labels, id="id")
    assert (clf.predict(rows, id="id") == labels).mean() > 0.6
    z, act = bg.Discrete("z", [0, 1]), bg.Discrete("act", ["w", "b"])
    same = clone(clf).set_params(arcs=[(bg.before("z"), z), (z, act)])
    assert same.fit(rows, labels, id="id").model_.n_parameters == clf.model_.n_parameters
    assert clf.get_params()["restarts"] == 2
    with pytest.raises(bg.errors.DataError, match="30 sequences"):
        clf.fit(rows, labels[:-1], id="id")


def test_a_column_of_numbers_has_its_value_in_the_slice_before_as_a_parent():
    rng = np.random.default_rng(2)
    labels = np.array(["calm", "wild"] * 20)
    steps = rng.normal(size=(40, 6)) * np.where(labels == "calm", 0.2, 2.0)[:, None]
    order = rng.permutation(np.repeat(np.arange(40), 6))  # the rows of sequences are interleaved
    ids, first = np.unique(order, return_index=True)
    moved = np.empty(240)
    for i in ids:
        moved[order == i] = steps[i].cumsum()
    seen = ids[np.argsort(first)]  # sequences count in the order in which they begin
    rows = {"id": order, "v": moved}
    clf = bg.TemporalNetworkClassifier().fit(rows, labels[seen], id="id")
    proba = clf.predict_proba(rows, id="id")
    alone = [clf.predict_proba({"id": order[order == i], "v": moved[order == i]}) for i in seen]
    np.testing.assert_allclose(proba, np.concatenate(alone), atol=1e-12)
    assert (clf.predict(rows, id="id") == labels[seen]).mean() > 0.9
