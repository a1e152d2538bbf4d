"""Terms without the row itself, against models fitted without it."""

from types import SimpleNamespace

import numpy as np
import pytest
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.learning import Structure, estimate_network, selective_kdb
from bayesgraph.learning.greedy import _prefix_losses, ranked_parents
from bayesgraph.learning.leave_one_out import LeaveOneOut, Part, losses
from bayesgraph.learning.structure import ArcRules
from bayesgraph.statistics import CountSource, Smoothing, TableSource

PLAIN = Smoothing(alpha=0.7, shrinkage=0.0, var_smoothing=0.0)


def whole(source):
    return Part.of(0, source.table, source.weights, source.target)


def joint_left_out(source, structure, smoothing, i):
    """Return the log joint of row i with each class, by a network fitted without one unit of it."""
    weights = source.weights.copy() if len(source.weights) else np.ones(source.table.n_rows)
    weights[i] -= min(weights[i], 1.0)
    other = TableSource(source.table, source.target, weights)
    network = estimate_network(structure, other, smoothing)
    row = {}
    for v in source.variables:
        value = source.table.column(v)[i]
        if v != source.target and (value >= 0 if isinstance(v, bg.Discrete) else value == value):
            row[v.name] = v.states[value] if isinstance(v, bg.Discrete) else float(value)
    target = source.target
    return [network.log_probability({**row, target.name: s}) for s in target.states]


def terms_of(rows, structure, part):
    parents = structure.parents()
    joint = rows.prior(part)
    for v, above in parents.items():
        if v != rows.target and rows.target in above:
            joint = joint + rows.term([p for p in above if p != rows.target], v, part)
    return joint


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kinds", [(4, 0), (0, 3), (2, 2)])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_terms_are_those_of_models_without_the_row(kinds, weighted):
    frame = make_frame(2, *kinds, n=90)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0, 3.0], 90) if weighted else None
    source = bg.learning.count_source(frame, "y", sample_weight=weights)
    for structure in (
        bg.learning.star(source),
        bg.learning.tan(source),
        bg.learning.kdb(source, k=2),
    ):
        rows = LeaveOneOut(source, source.target, PLAIN)
        found = terms_of(rows, structure, whole(source))
        for i in range(0, 90, 7):
            expected = joint_left_out(source, structure, PLAIN, i)
            np.testing.assert_allclose(found[i], expected, rtol=1e-7, atol=1e-8)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("tables", ["m", "marginal", "backoff"])
@pytest.mark.parametrize("strength", [None, 2.5])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_tables_are_smoothed_without_the_row(tables, strength, weighted):
    smoothing = Smoothing(alpha=0.3, scheme=tables, strength=strength)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0, 3.0], 60) if weighted else None
    source = bg.learning.count_source(make_frame(2, 5, 0, n=60), "y", sample_weight=weights)
    cll = bg.learning.hill_climb(source, smoothing, score="cll", max_parents=3)
    for structure in (
        bg.learning.star(source),
        bg.learning.tan(source),
        bg.learning.kdb(source, k=3),
        cll,
    ):
        rows = LeaveOneOut(source, source.target, smoothing)
        found = terms_of(rows, structure, whole(source))
        for i in range(0, 60, 5):
            expected = joint_left_out(source, structure, smoothing, i)
            np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-10)


def test_shrinkage_keeps_the_row_in_what_it_draws_towards():
    source = bg.learning.count_source(make_frame(2, 1, 3, n=120), "y")
    structure = bg.learning.tan(source)
    rows = LeaveOneOut(source, source.target, Smoothing())
    found = terms_of(rows, structure, whole(source))
    full = np.array([joint_left_out(source, structure, Smoothing(), i) for i in range(0, 120, 11)])
    assert np.abs(found[::11] - full).max() < 0.1
    assert np.abs(found[::11] - full).mean() < 0.01


def test_stretches_of_rows_are_parts_of_the_whole():
    source = bg.learning.count_source(make_frame(4, 2, 2, n=50), "y")
    rows = LeaveOneOut(source, source.target, Smoothing())
    structure = bg.learning.kdb(source, k=2)
    found = terms_of(rows, structure, whole(source))
    blocks = source.blocks(10)
    parts = [Part.of(i, *block, source.target) for i, block in enumerate(blocks)]
    assert len(parts) == 5
    apart = [terms_of(rows, structure, part) for part in parts]
    np.testing.assert_array_equal(np.concatenate(apart), found)


def test_missing_values_take_their_parents_or_themselves_out():
    frame = make_frame(5, 2, 2, n=80)
    random = np.random.default_rng(1)
    for name in [n for n in frame if n != "y"]:
        frame[name] = [None if random.random() < 0.2 else v for v in frame[name]]
    source = bg.learning.count_source(frame, "y")
    rows = LeaveOneOut(source, source.target, PLAIN)
    features = [v for v in source.variables if v != source.target]
    gone = {v: np.array([x is None for x in frame[v.name]]) for v in features}
    for child in features:
        for parent in features:
            if parent == child or (
                isinstance(child, bg.Discrete) and isinstance(parent, bg.Continuous)
            ):
                continue
            found = rows.term([parent], child, whole(source))
            alone = rows.term([], child, whole(source))
            assert np.isfinite(found).all()
            np.testing.assert_array_equal(found[gone[child]], 0.0)
            np.testing.assert_array_equal(found[gone[parent]], alone[gone[parent]])
    star = bg.learning.star(source)
    found = terms_of(rows, star, whole(source))
    for i in range(0, 80, 9):  # exact where the class is the only parent
        expected = joint_left_out(source, star, PLAIN, i)
        np.testing.assert_allclose(found[i], expected, rtol=1e-7, atol=1e-8)


def test_classes_and_configurations_of_one_row():
    frame = {
        "y": ["a", "b", "b", "b", "b"],
        "d": ["u", "u", "v", "v", "v"],
        "x": [1.0, 2.0, 2.5, 3.0, 9.0],
    }
    source = bg.learning.count_source(frame, "y")
    by_name = {v.name: v for v in source.variables}
    for smoothing in (Smoothing(), Smoothing(alpha=0.0, shrinkage=0.0)):
        rows = LeaveOneOut(source, source.target, smoothing)
        for parents, child in (([], "d"), ([], "x"), (["d"], "x")):
            found = rows.term([by_name[p] for p in parents], by_name[child], whole(source))
            assert not np.isnan(found).any()
            assert np.isfinite(found).all()


def test_rows_are_needed():
    source = bg.learning.count_source(make_frame(0, 3, 0), "y")
    bg.learning.kdb(source, k=1)
    other = CountSource(source.variables, source.target, source.statistics)
    for learner in (bg.learning.selective_kdb, bg.learning.forward_selection):
        with pytest.raises(DataError, match="statistics only"):
            learner(other)


# ------------------------------------------------------------------------------------- selection


def left_out_losses(source, structure, smoothing):
    """Return the losses of a structure by literally leaving out each row."""
    n = source.table.n_rows
    joint = np.array([joint_left_out(source, structure, smoothing, i) for i in range(n)])
    proba = np.exp(joint - joint.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    labels = source.table.column(source.target)
    own = proba[np.arange(n), labels]
    return {
        "log": -np.log(own).sum(),
        "rmse": ((1 - own) ** 2).sum(),
        "0-1": float((joint.argmax(axis=1) != labels).sum()),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [(4, 0), (1, 2)])
def test_selective_kdb_leaves_out_every_row_of_every_model(kinds):
    source = bg.learning.count_source(make_frame(6, *kinds, n=40), "y")
    features = tuple(v for v in source.variables if v != source.target)
    order, chosen, _ = ranked_parents(source, features, PLAIN, 2, ArcRules())
    rows = LeaveOneOut(source, source.target, PLAIN)
    kinds_of_loss = ("log", "rmse", "0-1")
    found = {
        kind: _prefix_losses(rows, features, order, chosen, range(3), kind)
        for kind in kinds_of_loss
    }
    for k in range(3):
        for a in range(len(features) + 1):
            arcs = [("y", features[c].name) for c in order[:a]]
            arcs += [(features[p].name, features[c].name) for c in order[:a] for p in chosen[c][:k]]
            structure = Structure((source.target, *features), tuple(arcs))
            # Only the features below the class tell anything; others cancel.
            expected = left_out_losses(source, structure, PLAIN)
            for kind in kinds_of_loss:
                assert found[kind][k, a] == pytest.approx(expected[kind], rel=1e-6, abs=1e-8)
    for kind in kinds_of_loss:
        k, a = np.unravel_index(np.argmin(np.round(found[kind] / 40, 12)), found[kind].shape)
        kept = {features[c].name for c in order[:a]}
        structure = selective_kdb(source, PLAIN, k=2, loss=kind)
        assert {c for p, c in structure.arcs if p == "y"} == kept
        assert {c: sum(x == c for _, x in structure.scores) for c in kept} == {
            features[c].name: len(chosen[c][:k]) for c in order[:a]
        }
        assert {v.name for v in structure.variables} == {"y", *(v.name for v in features)}


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["log", "rmse", "0-1"])
def test_forward_selection_takes_the_best_feature_each_time(loss):
    source = bg.learning.count_source(make_frame(8, 2, 2, n=40), "y")
    names = [v.name for v in source.variables if v != source.target]

    def loss_of(chosen):
        structure = Structure(source.variables, tuple(("y", n) for n in names if n in chosen))
        return left_out_losses(source, structure, PLAIN)[loss] / 40

    kept, lowest = [], loss_of([])
    while len(kept) < len(names):
        tried = {n: round(loss_of([*kept, n]), 9) for n in names if n not in kept}
        best = min(tried, key=lambda n: tried[n])
        if not tried[best] < lowest - 1e-9:
            break
        kept.append(best)
        lowest = tried[best]
    found = bg.learning.forward_selection(source, PLAIN, loss=loss)
    assert {c for _, c in found.arcs} == set(kept)
    one = bg.learning.forward_selection(source, PLAIN, loss=loss, max_features=1)
    assert [c for _, c in one.arcs] == kept[:1]


@pytest.mark.filterwarnings("ignore:Far outside")
def test_noise_is_left_out_and_still_a_column():
    random = np.random.default_rng(0)
    y = random.integers(2, size=300)
    X = random.normal(size=(300, 6))
    X[:, 2] += 2.0 * y
    for structure in ("selective_kdb", "forward_selection"):
        clf = bg.BayesianNetworkClassifier(structure).fit(X, y)
        network = clf.network_
        below = {c for p, c in network.graph.edges if p == "class"}
        assert "x2" in below
        assert len(below) < 6
        assert set(network.names) == {"class", *(f"x{j}" for j in range(6))}
        changed = X.copy()
        unused = [j for j in range(6) if f"x{j}" not in below]
        changed[:, unused] = 99.0
        np.testing.assert_allclose(clf.predict_proba(changed), clf.predict_proba(X), rtol=1e-9)
        assert not hasattr(clf, "partial_fit")


def test_losses_by_hand():
    source = bg.learning.count_source({"y": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]}, "y")
    joint = np.log([[0.2, 0.6], [0.1, 0.3], [0.3, 0.1]])
    part = whole(source)
    assert losses(joint, part, "0-1") == 2.0
    assert losses(joint, part, "log") == pytest.approx(-np.log([0.25, 0.75, 0.25]).sum())
    assert losses(joint, part, "rmse") == pytest.approx(0.75**2 + 0.25**2 + 0.75**2)


@pytest.mark.parametrize("kind", ["log", "rmse", "0-1"])
def test_losses_are_those_of_numpy(kind):
    random = np.random.default_rng(0)
    joint = random.normal(scale=300.0, size=(200, 4))
    joint[:50] = np.round(joint[:50] / 300)  # ties
    labels = random.integers(4, size=200).astype(np.int8)
    weights = random.uniform(0, 2, 200)
    log_p = joint - np.logaddexp.reduce(joint, axis=1)[:, None]
    own = log_p[np.arange(200), labels]
    expected = {
        "log": -weights @ own,
        "rmse": weights @ (1 - np.exp(own)) ** 2,
        "0-1": weights @ (joint.argmax(axis=1) != labels),
    }[kind]
    part = SimpleNamespace(labels=labels, weights=weights)
    assert losses(joint, part, kind) == pytest.approx(expected, rel=1e-12)
