"""What models say they were fitted on is what is in the table, whatever the way it came."""

import copy
import dataclasses
import pickle
from functools import partial

import cases
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import FileFormatError, ModelError

# Trained to predict: in memory its weights become those of classes, and of rows within them.
TRAINED = partial(bg.BayesianNetworkClassifier, n_trees=0, max_steps=2)


def counted(columns):
    """Return the number of missing values of each column of lists that has any."""
    missing = {name: sum(v is None for v in column) for name, column in columns.items()}
    return {name: n for name, n in missing.items() if n}


def saved(model, path):
    model.save(path)
    return path.read_bytes()


# ------------------------------------------------------------------------------- classifiers


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("case", "kind"), cases.pairs(), ids=str)
def test_every_estimator_notes_rows_and_missing_values(case, kind, tmp_path):
    data = cases.make_data(kind).with_missing()
    classifier = cases.fitted(case, data)
    found = classifier.network_.training
    assert found.method == type(classifier).__name__
    assert (found.rows.n_rows, found.n_columns) == (len(data.y), len(data.columns) + 1)
    assert sum(found.missing.values()) == sum(counted(data.columns).values())
    for name, n in counted(data.columns).items():
        assert found.missing.get(name, n) == n  # vectors of counts have other names
    classifier.save(tmp_path / "c.bayesgraph")
    for back in (
        bg.load(tmp_path / "c.bayesgraph"),
        bg.files.load_saved(tmp_path / "c.bayesgraph"),
    ):
        assert back.network_.training == found
    assert "setosa" not in repr(found)


@pytest.fixture(scope="module")
def mixed():
    return cases.make_data("mixed", 150).with_missing()


def parts(data):
    return [data.take(rows) for rows in np.array_split(np.arange(len(data.y)), 4)]


@pytest.mark.parametrize("make", [bg.NaiveBayesClassifier, partial(bg.KDBClassifier, 1)], ids=str)
def test_updates_add_and_remove_rows(make, mixed):
    whole = make().fit(mixed.pandas(), mixed.y).network_.training
    pieces = parts(mixed)
    found = make()
    for piece in pieces:
        found.partial_fit(piece.pandas(), piece.y)
    assert found.network_.training == whole
    assert list(found.network_.training.missing) == list(whole.missing)
    found.forget(pieces[0].pandas(), pieces[0].y)
    rest = bg.classifiers.fit_batches(make(), [(p.pandas(), p.y) for p in pieces[1:]])
    assert found.network_.training == rest.network_.training
    assert rest.network_.training.rows.n_rows == len(mixed.y) - len(pieces[0].y)


def test_sites_add_their_rows(mixed, tmp_path):
    whole = bg.NaiveBayesClassifier().fit(mixed.pandas(), mixed.y)
    collected = [bg.NaiveBayesClassifier().collect(p.pandas(), p.y) for p in parts(mixed)]
    collected[0].save(tmp_path / "site.bayesgraph")
    collected[0] = bg.load(tmp_path / "site.bayesgraph")
    found = bg.NaiveBayesClassifier.from_statistics(collected)
    assert found.network_.training == whole.network_.training
    # Fitted classifiers in files of 0.1.0 do not have it.
    unknown = dataclasses.replace(collected[0], rows=None)
    made = bg.NaiveBayesClassifier.from_statistics([unknown, collected[1]])
    assert made.network_.training.rows is None
    assert "on rows that it was not told of" in bg.card(made).summary


def test_weights_are_summed_and_rows_without_weight_left_out(mixed):
    weights = np.arange(len(mixed.y)) % 4 / 2
    found = bg.TANClassifier().fit(mixed.pandas(), mixed.y, weights).network_.training
    kept = mixed.take(np.flatnonzero(weights))
    assert found.rows.n_rows == len(kept.y)
    assert found.rows.weight == weights.sum()
    assert found.missing == counted(kept.columns)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("cache", [False, True])
def test_files_give_the_notes_of_memory(mixed, weight, cache, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 16)
    w = np.random.default_rng(0).random(len(mixed.y))
    table = mixed.arrow().append_column("class", pa.array(mixed.y.tolist()))
    rows = table if weight is None else table.append_column("w", pa.array(w))
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=11)
    weights = None if weight is None else w
    for make in (
        bg.NaiveBayesClassifier,
        partial(bg.TANClassifier, discretizer="width"),
        TRAINED,
        bg.DecisionTreeNetworkClassifier,
    ):
        own = make().fit(mixed.arrow(), table.select(["class"]), weights)
        data = bg.open_dataset(tmp_path / "rows.parquet", cache=cache)
        found = make().fit(data, "class", weight)
        if weight is None or make is not TRAINED:
            assert found.network_.training == own.network_.training
        total = found.network_.training.rows.total
        assert total == pytest.approx(own.network_.training.rows.total, rel=1e-6)
        assert total == pytest.approx(len(w) if weight is None else w.sum(), rel=1e-6)
        assert found.network_.training.missing == counted(mixed.columns)
    own = bg.BayesianNetwork.learn(table, sample_weight=weights)
    found = bg.BayesianNetwork.learn(
        bg.open_dataset(tmp_path / "rows.parquet", cache=cache), sample_weight=weight
    )
    assert found.training == own.training
    assert (found.training.rows.weight is None) == (weight is None)


# ------------------------------------------------------------------------------------ streams


def test_streams_count_what_they_learned(mixed, tmp_path):
    whole = bg.StreamingNaiveBayesClassifier().fit(mixed.pandas(), mixed.y).network_.training
    assert whole.missing == counted(mixed.columns)
    stream = bg.StreamingNaiveBayesClassifier()
    for piece in parts(mixed):
        stream.partial_fit(piece.pandas(), piece.y)
        stream.save(tmp_path / "s.bayesgraph")
        stream = bg.load(tmp_path / "s.bayesgraph")
    assert stream.network_.training == whole


def test_a_column_that_comes_later_was_missing_before():
    stream = bg.StreamingNaiveBayesClassifier()
    for i in range(400):
        x = {"n": float(i)} | ({"late": "ab"[i % 2], "number": 1.0} if i >= 150 else {})
        stream.learn_one(x, i % 2)
    assert stream.network_.training.missing == {"late": 150, "number": 150}
    assert stream.network_.training.rows.n_rows == 400


def test_fading_rows_weigh_less(mixed):
    stream = bg.StreamingNaiveBayesClassifier(decay=0.99).fit(mixed.pandas(), mixed.y)
    rows = stream.network_.training.rows
    assert rows.n_rows == len(mixed.y)
    assert rows.weight == pytest.approx((1 - 0.99 ** len(mixed.y)) / 0.01)


# ----------------------------------------------------------------------------------- networks


@pytest.fixture(scope="module")
def network():
    rows = {"rain": list("nnynyn") * 3, "wet": ["n", "n", "y", None, "y", "n"] * 3}
    return bg.BayesianNetwork.fit([("rain", "wet")], rows, smoothing=0.5)


def test_networks_note_their_method_and_settings(network):
    found = network.training
    assert (found.method, dict(found.settings)) == ("BayesianNetwork.fit", {"smoothing": "0.5"})
    assert found.missing == {"wet": 3}
    assert found.version == bg.__version__
    rows = {"a": ["x", "y"] * 9, "b": ["x", "y", "y"] * 6}
    learned = bg.BayesianNetwork.learn(rows, method="tabu", forbidden=[("a", "b")])
    assert dict(learned.training.settings) == {"forbidden": "[['a', 'b']]", "method": "'tabu'"}


def test_what_is_made_or_changed_by_hand_was_not_fitted(network):
    assert bg.BayesianNetwork(network.cpds).training is None
    assert network.do({"wet": "y"}).training is None
    assert network.renamed({"wet": "damp"}).training is None
    assert (
        bg.models.annotated(network, bg.models.Annotations("a note")).training == network.training
    )
    assert copy.deepcopy(network).training == network.training
    assert pickle.loads(pickle.dumps(network)).training == network.training
    assert "Not fitted" in bg.card(bg.BayesianNetwork(network.cpds)).summary


def test_native_files_and_pages_keep_the_note(network, tmp_path):
    mixture = bg.AODEClassifier().fit({"a": [1.0, 2, 3, 4], "b": list("xyxx")}, list("nyny"))
    for model in (network, mixture.network_, bg.FactorGraph.of(network)):
        saved(model, tmp_path / "m.bayesgraph")
        assert bg.load(tmp_path / "m.bayesgraph").training == model.training
    network.to_html(tmp_path / "page.html")
    assert bg.load(tmp_path / "page.html").training == network.training


def test_other_formats_report_that_they_leave_it_out(network, tmp_path):
    lost = network.save(tmp_path / "n.bif").lost
    assert lost == ("what the model was fitted on is left out",)
    assert bg.load(tmp_path / "n.bif").training is None
    assert not bg.BayesianNetwork(network.cpds).save(tmp_path / "n.bif")


@pytest.mark.parametrize(
    "given",
    [
        {"n_rows": -1},
        {"n_rows": 1.0},
        {"n_rows": 1, "missing": {"a": -2}},
        {"n_rows": 1, "weight": float("nan")},
    ],
    ids=str,
)
def test_numbers_that_are_none_are_refused(given):
    with pytest.raises(ModelError):
        bg.tables.TrainingRows(**given)


def test_texts_and_numbers_that_are_none_are_refused():
    with pytest.raises(ModelError, match="are text"):
        bg.tables.Training("fit", 2, None, {"alpha": 1.0})
    with pytest.raises(ModelError, match="n_columns"):
        bg.tables.Training("fit", -1)


def test_a_forged_note_is_refused(network, tmp_path):
    forged = copy.copy(network)
    forged.training = object.__new__(bg.tables.Training)
    for name, value in vars(network.training).items():
        object.__setattr__(forged.training, name, value)
    object.__setattr__(forged.training, "n_columns", -5)
    saved(forged, tmp_path / "f.bayesgraph")
    with pytest.raises(FileFormatError, match="n_columns"):
        bg.load(tmp_path / "f.bayesgraph")
