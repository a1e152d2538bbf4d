"""Encoded rows on disk: the same models, nothing left behind, nothing stale or damaged used."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import BayesGraphWarning, DataError, DataTypeError
from bayesgraph.core.files import temporary_folder
from bayesgraph.tables import Dataset
from bayesgraph.tables import datasets as cache

N_ROWS = 400
MODELS = {
    "tan": bg.TANClassifier,
    "hill climbing": partial(bg.BayesianNetworkClassifier, "hill_climb"),
    "selective kDB": partial(bg.BayesianNetworkClassifier, "selective_kdb"),
    "intervals": partial(bg.KDBClassifier, 2, discretizer="mdlp"),
    "balanced": partial(bg.NaiveBayesClassifier, class_weight="balanced"),
    "counts": partial(
        bg.NaiveBayesClassifier, {"m": "multinomial", "n": "multinomial", "k": "poisson"}
    ),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch, tmp_path):
    """Several runs of several blocks, and a place of their own for temporary files."""
    monkeypatch.setattr(blocks, "BLOCK", 16)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, N_ROWS)
    text = np.array(list("abcdef"), dtype=object)[(y + random.integers(0, 3, N_ROWS)) % 6]
    text[random.random(N_ROWS) < 0.1] = None
    size = random.normal(size=N_ROWS) + y
    size[random.random(N_ROWS) < 0.1] = np.nan
    return pa.table(
        {
            "text": text.tolist(),
            "many": [f"s{k}" for k in random.integers(0, 200, N_ROWS)],
            "size": pa.array(size, from_pandas=True),
            "flag": (random.random(N_ROWS) < 0.3 + 0.1 * y).tolist(),
            "cost": random.normal(size=N_ROWS) * 5 + 1e4,
            "k": random.poisson(2, N_ROWS),
            "m": random.poisson(y + 1.0),
            "n": random.poisson(2.0, N_ROWS),
            "w": random.integers(0, 5, N_ROWS) * 0.3,
            "y": [f"c{k}" for k in y],
        }
    )


@pytest.fixture
def files(table, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(table.slice(0, 150), folder / "0.parquet")
    pq.write_table(table.slice(150), folder / "1.parquet")
    return folder


@pytest.fixture
def reads(monkeypatch):
    """Count passes over files."""
    found = []
    read = Dataset.read

    def counted(self, columns):
        found.append(list(columns))
        return read(self, columns)

    monkeypatch.setattr(Dataset, "read", counted)
    return found


def saved(model, path):
    model.save(path)
    return path.read_bytes()


def fit(name, data, weight=None):
    return MODELS[name](check_columns=False).fit(data, "y", weight)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_same_bits_with_a_cache(files, tmp_path, small_blocks, name, weight):
    path = tmp_path / "m.bayesgraph"
    names = ["text", "many", "size", "flag", "cost", "y"]
    names += ["w"] if weight else []
    names += ["k", "m", "n"] if name == "counts" else []
    place = tmp_path / "kept"
    expected = saved(fit(name, bg.open_dataset(files, columns=names), weight), path)
    for where in (True, place, str(place)):
        model = fit(name, bg.open_dataset(files, columns=names, cache=where), weight)
        assert saved(model, path) == expected
    gc.collect()
    assert list(small_blocks.iterdir()) == []  # while the model is still there
    assert [path.name for path in place.iterdir()] == ["encoded-rows.arrow"]


@pytest.mark.slow
def test_em_and_networks_read_the_cache(files, reads, small_blocks):
    arcs = [("y", "text"), ("y", "size"), ("text", "flag")]
    columns = ["text", "size", "flag", "y"]
    fitted = []
    for is_cached in (False, True):
        reads.clear()
        data = bg.open_dataset(files, columns=columns, cache=is_cached)
        fitted.append(bg.BayesianNetwork.fit(arcs, data, missing="em"))
    assert len(reads) == 2  # states, and all columns once
    first, second = fitted
    assert first._history == second._history
    for mine, theirs in zip(first.cpds, second.cpds, strict=True):
        for name in ("values", "mean", "variance"):
            assert np.array_equal(getattr(mine, name, 0), getattr(theirs, name, 0))


def learned(files, **options):
    columns = ["text", "flag", "many", "y"]
    data = bg.open_dataset(files, **{"columns": columns} | options)
    return bg.learning.hill_climb(bg.learning.count_source(data, "y"))


@pytest.mark.slow
def test_a_kept_cache_is_used_again_for_the_same_rows_alone(files, table, tmp_path, reads):
    place = tmp_path / "kept"
    learned(files, cache=place)
    reads.clear()
    learned(files, cache=place)
    assert len(reads) == 1  # states
    pq.write_table(table.slice(150, 249), files / "1.parquet")
    os.utime(files / "1.parquet", ns=(1, 1))
    expected = learned(files)
    changes = [
        {},
        {"columns": ["text", "flag", "y"]},
        {"where": ds.field("k") > 0},
    ]
    for options in changes:
        expected = learned(files, **options)
        with pytest.warns(BayesGraphWarning, match="is of other rows.*written anew"):
            found = learned(files, cache=place, **options)
        assert found.scores == expected.scores
    assert [path.name for path in place.iterdir()] == ["encoded-rows.arrow"]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("way", ["written over", "put in its place"])
def test_a_changed_file_of_the_same_size_and_time_is_noticed(table, tmp_path, suffix, way):
    folder, place = tmp_path / "data", tmp_path / "kept"
    folder.mkdir()
    path = folder / f"0.{suffix}"
    swapped = {"c0": "c1", "c1": "c0", "c2": "c2"}
    y = [swapped[label] for label in table["y"].to_pylist()]
    files = []
    for labels in (table["y"].to_pylist(), y):
        rows = pa.table({"text": table["text"], "y": pa.array(labels)})
        (pq.write_table if suffix == "parquet" else pc.write_csv)(rows, path)
        files.append(path.read_bytes())
    assert len(files[0]) == len(files[1])
    path.write_bytes(files[0])
    os.utime(path, ns=(5, 5))

    def counts(**options):
        model = bg.NaiveBayesClassifier(check_columns=False)
        model.fit(bg.open_dataset(folder, **options), "y")
        return next(iter(model.statistics_.summaries.values())).counts.tolist()

    first = counts(cache=place)
    if way == "written over":
        path.write_bytes(files[1])
    else:
        (tmp_path / "new").write_bytes(files[1])
        os.utime(tmp_path / "new", ns=(5, 5))
        (tmp_path / "new").replace(path)
    os.utime(path, ns=(5, 5))
    with pytest.warns(BayesGraphWarning, match="is of other rows.*written anew"):
        found = counts(cache=place)
    assert found == counts() != first
    # Nothing has changed since.
    assert counts(cache=place) == found


@pytest.mark.slow
def test_weights_are_part_of_what_is_kept(files, tmp_path):
    place = tmp_path / "kept"
    names = ["text", "flag", "w", "k", "y"]
    data = bg.open_dataset(files, columns=names, cache=place)
    bg.learning.hill_climb(bg.learning.count_source(data, "y", sample_weight="w"))
    for weight in ("k", None):
        plain = bg.open_dataset(files, columns=names)
        expected = bg.learning.hill_climb(
            bg.learning.count_source(plain, "y", sample_weight=weight)
        )
        with pytest.warns(BayesGraphWarning, match="written anew"):
            found = bg.learning.hill_climb(
                bg.learning.count_source(data, "y", sample_weight=weight)
            )
        assert found.scores == expected.scores
    balanced = partial(bg.TANClassifier, check_columns=False)
    expected = balanced(class_weight={"c0": 3.0}).fit(plain, "y")
    with pytest.warns(BayesGraphWarning, match="written anew"):
        balanced(class_weight={"c0": 2.0}).fit(data, "y")
    with pytest.warns(BayesGraphWarning, match="written anew"):
        found = balanced(class_weight={"c0": 3.0}).fit(data, "y")
    paths = tmp_path / "f.bayesgraph", tmp_path / "e.bayesgraph"
    assert saved(found, paths[0]) == saved(expected, paths[1])


def truncated(content):
    return content[:-9]


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def no_arrow(content):
    return b"{"


def of_another_kind(content):
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"0": [1]})
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


DAMAGES = {
    "truncated": truncated,
    "a bit": flipped,
    "no arrow": no_arrow,
    "another kind": of_another_kind,
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_written_anew(files, tmp_path, damage):
    place = tmp_path / "kept"
    expected = learned(files, cache=place)
    path = place / "encoded-rows.arrow"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.warns(BayesGraphWarning, match="is damaged.*written anew"):
        found = learned(files, cache=place)
    assert found.scores == expected.scores
    assert learned(files, cache=place).scores == expected.scores  # without a warning


def changed(path, column, **metadata):
    """Write all batches with another first column, and the checksums of the new ones."""
    with pa.ipc.open_file(path) as file:
        batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        schema = file.schema
    with pa.ipc.new_file(path, schema) as writer:
        for batch in batches:
            columns = [pa.array(np.full(len(batch), column, dtype=np.int8)), *batch.columns[1:]]
            new = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
            writer.write_batch(new, custom_metadata={"checksum": cache._checksum(new)} | metadata)


@pytest.mark.parametrize(("code", "metadata"), [(100, {}), (0, {"checksum": "1"})])
def test_codes_that_are_no_states_or_others_are_damage(files, tmp_path, code, metadata):
    """The first even if the checksum says that the file is whole."""
    place = tmp_path / "kept"
    expected = learned(files, cache=place)
    changed(place / "encoded-rows.arrow", code, **metadata)
    with pytest.warns(BayesGraphWarning, match="is damaged"):
        assert learned(files, cache=place).scores == expected.scores


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_ends_early_leaves_nothing(files, tmp_path, small_blocks, monkeypatch, error, kept):
    encode, written = cache._batch, []

    def stops(*run):
        if len(written) == 2:
            raise error
        written.append(encode(*run))
        return written[-1]

    monkeypatch.setattr(cache, "_batch", stops)
    place = tmp_path / "kept"
    expected = KeyboardInterrupt if error is KeyboardInterrupt else DataError
    with pytest.raises(expected):
        learned(files, cache=place if kept else True)
    assert len(written) == 2
    assert not [*small_blocks.iterdir(), *place.glob("*")]


KILLED = """
import os, signal, sys, tempfile
import bayesgraph as bg
from bayesgraph.core import parallel
from bayesgraph.tables import datasets as cache
parallel.BLOCK = 16
tempfile.tempdir = sys.argv[1]
encode, written = cache._batch, []
def stops(*run):
    if len(written) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(encode(*run))
    return written[-1]
cache._batch = stops
data = bg.open_dataset(sys.argv[2], columns=["text", "flag", "y"], cache=eval(sys.argv[3]))
bg.learning.hill_climb(bg.learning.count_source(data, "y"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs locks of files")
@pytest.mark.parametrize("kept", [False, True])
def test_what_a_killed_fit_left_is_removed_by_the_next(files, tmp_path, small_blocks, kept):
    place = tmp_path / "kept"
    where = place if kept else small_blocks
    arguments = [str(small_blocks), str(files), repr(str(place)) if kept else "True"]
    environment = os.environ | {"PYTHONPATH": str(Path(bg.__file__).parents[1])}
    command = [sys.executable, "-c", KILLED, *arguments]
    done = subprocess.run(command, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(where.rglob("*.arrow"))) == 1
    # A folder that is in use, and one that looks like it, stay.
    (where / ".bayesgraph-0123456789abcdef").mkdir()
    with temporary_folder(where) as used:
        (used / "0.arrow").touch()
        learned(files, cache=place if kept else True)
        assert (used / "0.arrow").exists()
    gc.collect()
    names = sorted(path.name[:13] for path in where.iterdir())
    expected = ["encoded-rows."] if kept else []
    assert names == [".bayesgraph-0", *expected]


def test_rows_that_change_while_they_are_read_are_told(files, tmp_path):
    place = tmp_path / "kept"
    data = bg.open_dataset(files, columns=["text", "flag", "y"], cache=place)
    source = bg.learning.count_source(data, "y")
    list(source.blocks())
    (place / "encoded-rows.arrow").write_bytes(b"")
    with pytest.raises(DataError, match="were changed while they were read"):
        list(source.blocks())


def test_progress_goes_on(files):
    seen = []
    data = bg.open_dataset(
        files, columns=["text", "y"], cache=True, progress=lambda *state: seen.append(state)
    )
    source = bg.learning.count_source(data, "y")
    list(source.blocks())
    seen.clear()
    list(source.blocks())
    assert seen == [(16 * k, 400) for k in range(1, 26)]


def test_what_has_no_identity_has_no_kept_cache(table, tmp_path, small_blocks):
    memory = table.select(["text", "flag", "y"])
    lazy = pl.from_arrow(memory).lazy()
    with pytest.raises(DataError, match="Use cache=True"):
        bg.learning.count_source(bg.open_dataset(lazy, cache=tmp_path / "kept"), "y")
    found = bg.learning.hill_climb(bg.learning.count_source(bg.open_dataset(lazy, cache=True), "y"))
    assert found.scores == bg.learning.hill_climb(bg.learning.count_source(memory, "y")).scores
    assert list(small_blocks.iterdir()) == []


def test_what_is_no_place_is_refused(files, tmp_path):
    with pytest.raises(DataTypeError, match="cache="):
        bg.open_dataset(files, cache=3)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        learned(files, cache=tmp_path / "file" / "kept")
    with pytest.raises(DataError, match="sample_rows="):
        bg.open_dataset(files, sample_rows=0)


@pytest.mark.slow
def test_intervals_of_many_rows_leave_a_kept_cache_to_the_model(files, tmp_path, reads):
    opened = bg.open_dataset(files, cache=tmp_path / "kept", sample_rows=100)
    make = MODELS["intervals"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", BayesGraphWarning)
        make().fit(opened, "y")
        before = len(reads)
        make().fit(opened, "y")
    # The second fit finds states and intervals, and counts what the first one wrote.
    assert len(reads) - before < before


def test_a_cache_of_a_dataset_with_an_executor_is_refused(files):
    with ThreadPoolExecutor(1) as pool:
        opened = bg.open_dataset(files, executor=pool)
        with pytest.raises(DataTypeError, match="leave out executor="):
            bg.open_dataset(opened, cache=True)
