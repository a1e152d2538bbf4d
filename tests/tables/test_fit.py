"""Models of files have the bits of the model of one table in memory."""

from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import (
    BayesGraphError,
    BayesGraphWarning,
    DataError,
    DataTypeError,
    UnknownVariableError,
)

MODELS = {
    "nb": bg.NaiveBayesClassifier,
    "tan": bg.TANClassifier,
    "kdb2": partial(bg.KDBClassifier, 2),
    "aode": bg.AODEClassifier,
    "candidates": partial(bg.TANClassifier, candidates=2),
}
N_ROWS = 331


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several runs of several blocks, with few rows."""
    monkeypatch.setattr(blocks, "BLOCK", 16)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, N_ROWS)
    letters = np.array(list("abcdef"))[(y + random.integers(0, 4, N_ROWS)) % 6].astype(object)
    letters[random.random(N_ROWS) < 0.1] = None
    size = random.normal(size=N_ROWS) * 0.1 + y
    size[random.random(N_ROWS) < 0.1] = np.nan
    return pa.table(
        {
            "letter": letters.tolist(),
            "size": pa.array(size, from_pandas=True),
            "cost": random.normal(size=N_ROWS) * 7 + 1e3,
            "sound": (random.random(N_ROWS) < 0.4 + 0.1 * y),
            "number": random.integers(0, 9, N_ROWS),
            "whole": random.integers(0, 4, N_ROWS),
            "part": random.random(N_ROWS).round(3) * (random.random(N_ROWS) < 0.9),
            "class": np.array(["no", "perhaps", "yes"])[y].tolist(),
        }
    )


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    """The same rows in files of several kinds, by name."""
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(table, folder / "one.parquet")
    pq.write_table(table, folder / "groups.parquet", row_group_size=7)
    pc.write_csv(table, folder / "rows.csv")
    ends = [0, 1, 50, 50, 130, 300, N_ROWS]
    for kind in ("many", "texts"):
        (folder / kind).mkdir()
    for i, (a, b) in enumerate(pairwise(ends)):
        part = table.slice(a, b - a)
        pq.write_table(part.select(part.column_names[:: (-1) ** i]), folder / f"many/{i}.parquet")
        pc.write_csv(part, folder / f"texts/{i}.csv")
    return {
        "one": folder / "one.parquet",
        "row groups": folder / "groups.parquet",
        "many": folder / "many",
        "csv": folder / "rows.csv",
        "many csv": str(folder / "texts" / "*.csv"),
        "lazy": pl.from_arrow(table).lazy(),
    }


def saved(classifier, path):
    classifier.save(path)
    return path.read_bytes()


@pytest.mark.one_in(46)
@pytest.mark.parametrize("balance", [None, "balanced", {"yes": 2.5}], ids=str)
@pytest.mark.parametrize("weight", [None, "whole", "part"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_from_memory_and_from_files(table, files, tmp_path, name, weight, balance):
    own = ["class", *({"whole", "part"} - {weight})]
    used = [n for n in table.column_names if n not in own[1:]]
    make = partial(MODELS[name], class_weight=balance, categorical=["number"], check_columns=False)
    weights = None if weight is None else table[weight].to_numpy()
    features = table.select([n for n in used if n not in ("class", weight)])
    expected = make().fit(features, table.select(["class"]), weights)
    assert len(list(blocks.blocks(N_ROWS))) > 16
    for kind, data in files.items():
        found = make().fit(bg.open_dataset(data, columns=used), "class", weight)
        assert found.classes_.dtype == expected.classes_.dtype
        bits = saved(found, tmp_path / "f.bayesgraph")
        assert bits == saved(expected, tmp_path / "e.bayesgraph"), kind


@pytest.mark.parametrize("labels", [pa.int8(), pa.int64(), pa.bool_()])
def test_labels_keep_their_type(table, tmp_path, labels):
    y = pa.array((np.arange(N_ROWS) % 2).astype(np.int8)).cast(labels)
    pq.write_table(table.select(["cost"]).append_column("y", y), tmp_path / "d.parquet")
    both = pa.table({"y": y})
    expected = bg.NaiveBayesClassifier().fit(table.select(["cost"]), both)
    found = bg.NaiveBayesClassifier().fit(tmp_path / "d.parquet", "y")
    assert found.classes_.dtype == expected.classes_.dtype
    assert saved(found, tmp_path / "f.bayesgraph") == saved(expected, tmp_path / "e.bayesgraph")


def fit(tmp_path, columns, weight=None, **options):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table(columns), path)
    return bg.NaiveBayesClassifier(**options).fit(path, "y", weight)


@pytest.mark.parametrize("weights", [[1.0, None], [1.0, -1.0], [1.0, np.inf], [1.0, np.nan]])
def test_weights_that_are_missing_or_negative_are_refused(tmp_path, weights):
    columns = {"x": [1, 2], "y": ["a", "b"], "w": weights}
    with pytest.raises(DataError, match=r"'w' of .*d\.parquet has weights"):
        fit(tmp_path, columns, "w")


def test_rows_of_weight_zero_alone_are_no_rows(tmp_path):
    columns = {"x": [1, 2], "y": ["a", "b"], "w": [0, 0]}
    with pytest.raises(DataError, match="has no rows"):
        fit(tmp_path, columns, "w")


def test_columns_without_a_value_are_refused(tmp_path):
    columns = {"x": [1, 2], "k": pa.nulls(2, pa.string()), "y": ["a", "b"]}
    with pytest.raises(DataError, match="'k' has no observed value in 2 rows"):
        fit(tmp_path, columns)


def test_weights_that_are_text_are_refused(tmp_path):
    with pytest.raises(DataTypeError, match="'w'"):
        fit(tmp_path, {"x": [1, 2], "y": ["a", "b"], "w": ["1", "2"]}, "w")


@pytest.mark.parametrize("weight", [None, "w"])
def test_missing_labels_are_refused(tmp_path, weight):
    columns = {"x": [1, 2, 3], "y": ["a", None, "b"], "w": [1, 0, 1]}
    with pytest.raises(DataError, match="1 labels in the column 'y'"):
        fit(tmp_path, columns, weight, class_weight="balanced")


def test_too_many_categories_are_refused(tmp_path):
    pq.write_table(pa.table({"k": list("abcd"), "y": list("uvuv")}), tmp_path / "d.parquet")
    dataset = bg.open_dataset(tmp_path / "d.parquet", max_categories=3)
    with pytest.raises(DataError, match=r"'k' has more than 3 states.*max_categories="):
        bg.NaiveBayesClassifier().fit(dataset, "y")


def test_labels_that_are_measurements_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Unknown label type"):
        fit(tmp_path, {"x": [1, 2, 3], "y": [0.5, 1.5, 2.25]})


def test_infinite_values_and_unknown_names_are_refused(tmp_path):
    with pytest.raises(DataError, match="'x'"):
        fit(tmp_path, {"x": [1.0, np.inf], "y": ["a", "b"]})
    for y, weight in (("z", None), (["a", "b"], None), ("y", "z"), ("y", [1.0, 2.0])):
        with pytest.raises(BayesGraphError, match=r"y=|y is|sample_weight"):
            bg.NaiveBayesClassifier().fit(tmp_path / "d.parquet", y, weight)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "classifier",
    [
        bg.BayesianNetworkClassifier(),
        bg.WeightedNaiveBayesClassifier(),
        bg.TANClassifier(discretizer="mdlp"),
        bg.TANClassifier(discretizer="modl"),
        bg.DecisionTreeNetworkClassifier(),
        bg.StreamingNaiveBayesClassifier(),
        bg.StreamingWeightedNaiveBayesClassifier(),
    ],
    ids=lambda c: type(c).__name__,
)
def test_classifiers_that_need_the_rows_take_all_of_few(classifier, table, files, tmp_path):
    used = ["letter", "size", "cost", "sound", "class"]
    memory = table.select(used)
    bits = []
    for X, y in (
        (memory.drop_columns("class"), memory.select(["class"])),
        (bg.open_dataset(files["many"], columns=used), "class"),
    ):
        found = clone(classifier).set_params(check_columns=False).fit(X, y)
        bits.append(saved(found, tmp_path / "m.bayesgraph"))
    assert bits[0] == bits[1]


def test_a_sample_of_many_rows_is_told(files):
    data = bg.open_dataset(files["one"], sample_rows=100)
    with pytest.warns(BayesGraphWarning, match=r"a sample of \d+ of the 331 rows.*sample_rows="):
        bg.DecisionTreeNetworkClassifier().fit(data, "class")


def test_a_dataset_without_features_is_refused(tmp_path):
    pq.write_table(pa.table({"y": ["a", "b"]}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match="no column besides 'y'"):
        bg.NaiveBayesClassifier().fit(tmp_path / "d.parquet", "y")


def test_weights_of_zero_alone_make_no_network(tmp_path):
    table = pa.table({"x": ["a", "b"], "y": ["c", "d"], "w": [0.0, 0.0]})
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(DataError, match="zero for every row"):
        bg.BayesianNetwork.fit([("x", "y")], tmp_path / "d.parquet", sample_weight="w")


def test_weights_without_a_name_are_no_column(tmp_path):
    pq.write_table(pa.table({"x": ["a", "b"], "y": ["c", "d"]}), tmp_path / "d.parquet")
    with pytest.raises(UnknownVariableError, match="sample_weight="):
        bg.BayesianNetwork.fit([("x", "y")], tmp_path / "d.parquet", sample_weight="")


def test_a_class_without_weight_is_none(tmp_path):
    table = pa.table({"x": ["a", "b", "c"] * 9, "y": ["n", "y", "z"] * 9})
    pq.write_table(table, tmp_path / "d.parquet")
    make = partial(bg.NaiveBayesClassifier, class_weight={"z": 0.0, "y": 0.3})
    memory = make().fit(table.select(["x"]), table.select(["y"]))
    found = make().fit(tmp_path / "d.parquet", "y")
    assert found.classes_.tolist() == memory.classes_.tolist() == ["n", "y"]
    assert found.features_ == memory.features_
    assert saved(found, tmp_path / "a.bayesgraph") == saved(memory, tmp_path / "b.bayesgraph")


def test_the_warning_of_a_sample_names_the_line_of_the_user(files):
    data = bg.open_dataset(files["one"], sample_rows=100)
    with pytest.warns(BayesGraphWarning, match="a sample of") as seen:
        bg.BayesianNetworkClassifier(max_steps=1).fit(data, "class")
    assert __file__ in {w.filename for w in seen}
    assert not any(w.filename.endswith("functools.py") for w in seen)


@pytest.mark.parametrize("name", ["nb", "tan"])
def test_partial_fit_on_datasets(table, tmp_path, name):
    halves = [table.slice(0, 160), table.slice(160)]
    parts, memory = MODELS[name](check_columns=False), MODELS[name](check_columns=False)
    for i, half in enumerate(halves):
        pq.write_table(half, tmp_path / f"{i}.parquet")
        parts.partial_fit(tmp_path / f"{i}.parquet", "class")
        memory.partial_fit(half.drop_columns("class"), half.select(["class"]))
    assert parts.network_ == memory.network_
    assert parts.collected_.n_rows == N_ROWS
    with pytest.raises(DataTypeError, match="y is a label for each row"):
        parts.forget(tmp_path / "0.parquet", "class")
