"""Models of Dask frames, and of files that Dask counts, have the bits of those in memory."""

import os
import pickle
import signal
import sys
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.tables import datasets
from bayesgraph.tables.datasets import DaskGraph
from bayesgraph.tables.opening import DaskFrame

pytestmark = [
    pytest.mark.dask,
    # What the libraries say of each other.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

N_ROWS = 700
TAN = bg.TANClassifier(check_columns=False)
NAMES = ["letter", "colour", "size", "cost", "sound", "late"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    _make_small()
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(DaskFrame, "blocks_of_part", 4)
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)


def _make_small():
    """Make the blocks of this process small; workers have one of their own."""
    blocks.BLOCK = 16


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, N_ROWS)
    y[-1] = 2  # a class and a state in the last row only
    letters = np.array(list("abcd"), dtype=object)[(y + random.integers(0, 3, N_ROWS)) % 4]
    letters[random.random(N_ROWS) < 0.1] = None
    letters[-2] = "z"
    return pd.DataFrame(
        {
            "letter": pd.Series(letters, dtype=object),
            "colour": pd.Categorical(np.array(["red", "green", "blue"])[(y + 1) % 3]),
            "size": np.where(random.random(N_ROWS) < 0.1, np.nan, random.normal(size=N_ROWS) + y),
            "cost": random.normal(size=N_ROWS) * 7 + 1e3,
            "sound": random.random(N_ROWS) < 0.4 + 0.2 * y,
            "late": pd.Series(np.where(np.arange(N_ROWS) < 400, None, "seen"), dtype=object),
            "half": random.integers(0, 3, N_ROWS) / 2,
            "class": np.array(["no", "yes", "late"])[y],
        }
    )


def frame(rows, ends=(0, 350, N_ROWS)):
    """Return a Dask frame of rows with unknown divisions, partitioned at given rows."""
    parts = [dask.delayed(rows.iloc[a:b]) for a, b in pairwise(ends)]
    return dd.from_delayed(parts, meta=rows.iloc[:0])


def bits(classifier, path):
    classifier.save(path / "m.bayesgraph")
    return (path / "m.bayesgraph").read_bytes()


@pytest.fixture(params=[None, "half"])
def weight(request):
    return request.param


@pytest.fixture
def expected(rows, weight, tmp_path):
    weights = None if weight is None else rows[weight].to_numpy()
    return bits(TAN.fit(rows[NAMES], rows[["class"]], weights), tmp_path)


@pytest.fixture(scope="module")
def cluster():
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    options = {"dashboard_address": "127.0.0.1:0", "memory_limit": "2GB", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, **options) as found:
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=True) as found:
        found.wait_for_workers(2)
        # Also on workers that start in place of lost ones.
        found.register_plugin(_SmallBlocks(), name="small blocks")
        yield found


class _SmallBlocks(distributed.WorkerPlugin):
    def setup(self, worker):
        _make_small()


PARTITIONS = {
    "one": (0, N_ROWS),
    "empty": (0, 0, 0, 350, 350, N_ROWS, N_ROWS),
    "one row": (0, 1, 2, 3, N_ROWS - 1, N_ROWS),
    "skew": (0, 20, 650, 660, N_ROWS),
    "many": tuple(range(0, N_ROWS + 1, 25)),
}


@pytest.mark.parametrize("kind", PARTITIONS)
def test_the_bits_do_not_depend_on_partitions(rows, weight, expected, kind, tmp_path):
    used = frame(rows, PARTITIONS[kind])[[*NAMES, "class", *([weight] if weight else [])]]
    assert bits(TAN.fit(used, "class", weight), tmp_path) == expected


@pytest.mark.parametrize("kind", ["empty", "skew", "many"])
def test_workers_give_the_same_bits(client, rows, weight, expected, kind, tmp_path):
    used = frame(rows, PARTITIONS[kind])[[*NAMES, "class", *([weight] if weight else [])]]
    assert bits(TAN.fit(used, "class", weight), tmp_path) == expected
    nothing_left(client)


def nothing_left(client):
    """Check that neither scheduler nor workers hold anything, which they are told a bit later."""
    for _ in range(200):
        tasks = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        data = client.run(lambda dask_worker: list(dask_worker.data))
        if not tasks and not any(data.values()):
            return
        time.sleep(0.05)
    raise AssertionError((tasks, data))


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    table = pa.Table.from_pandas(rows, preserve_index=False)
    for i in range(7):
        pq.write_table(table.slice(100 * i, 100), path / f"{i}.parquet", row_group_size=37)
    return path


class Killing:
    """Kills a worker when the first part of a pass has come in, with what it holds."""

    def __init__(self, client, passes):
        self.client, self.passes, self.killed = client, passes, []

    def __call__(self, done, n_rows):
        self.passes -= 1
        if self.passes == 0:
            held = self.client.has_what()
            busiest = max(held, key=lambda worker: len(held[worker]))
            pid = self.client.run(os.getpid, workers=[busiest])[busiest]
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)


@pytest.mark.parametrize("kind", ["frame", "files"])
def test_a_worker_that_is_killed_in_a_pass(client, rows, folder, kind, tmp_path):
    expected = bits(TAN.fit(rows[NAMES], rows[["class"]]), tmp_path)
    used = [*NAMES, "class"]
    killing = Killing(client, 3)
    if kind == "files":
        data = bg.open_dataset(folder, columns=used, executor=client, progress=killing)
    else:
        data = bg.open_dataset(frame(rows, PARTITIONS["many"])[used], progress=killing)
    assert bits(TAN.fit(data, "class"), tmp_path) == expected
    assert len(killing.killed) == 1
    client.wait_for_workers(2)
    assert killing.killed[0] not in client.run(os.getpid).values()
    nothing_left(client)


def test_the_client_is_the_executor_of_files(client, weight, expected, folder, tmp_path):
    used = [*NAMES, "class", *([weight] if weight else [])]
    data = bg.open_dataset(folder, columns=used, executor=client)
    assert bits(TAN.fit(data, "class", weight), tmp_path) == expected
    nothing_left(client)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_is_interrupted_is_cancelled(client, rows, folder, error):
    def interrupted(done, n_rows):
        raise error

    for data in (frame(rows, PARTITIONS["many"]), folder):
        executor = client if data is folder else None
        # As long as an error is held, so is what it interrupted.
        with pytest.raises(error) as held:
            TAN.fit(bg.open_dataset(data, progress=interrupted, executor=executor), "class")
        nothing_left(client)
        assert held.value is not None


def test_an_error_on_a_worker_is_told_and_leaves_nothing(client, rows):
    data = bg.open_dataset(frame(rows, PARTITIONS["many"]), max_categories=2)
    with pytest.raises(DataError, match="more than 2 states"):
        TAN.fit(data, "class")
    nothing_left(client)


def test_each_part_sends_one_small_sum(rows, monkeypatch):
    sent = []
    original = DaskGraph.map

    def spied(self, function, parts):
        found = list(original(self, function, parts))
        assert len(found) == len(parts)
        sent.append([len(pickle.dumps(value)) for value in found])
        yield from found

    monkeypatch.setattr(DaskGraph, "map", spied)
    TAN.fit(frame(rows, PARTITIONS["many"])[[*NAMES, "class"]], "class")
    lengths, *sums = sent
    assert len(lengths) == 28
    # The states, the pairs, and where cells are missing the families that few rows have whole.
    assert 2 <= len(sums) <= 4
    for sizes in sums:
        assert len(sizes) == -(-N_ROWS // 64)
        assert max(sizes) < 20_000  # as many bytes for any number of rows


def test_only_the_columns_that_a_pass_needs_are_read(rows):
    asked = []

    def read(part, columns=None):
        asked.append(None if columns is None else tuple(columns))
        return rows.iloc[350 * part : 350 * part + 350][list(columns or rows.columns)]

    lazy = dd.from_map(read, [0, 1], meta=rows.iloc[:0], enforce_metadata=False)
    with dask.config.set(scheduler="synchronous"):
        bg.NaiveBayesClassifier(check_columns=False).fit(lazy[["letter", "size", "class"]], "class")
    passes = [set(columns) for columns in asked[::2]]
    assert passes[:2] == [{"letter"}, {"letter", "class"}]
    assert {"letter", "size", "class"} in passes
    assert all(columns <= {"letter", "size", "class"} for columns in passes)


def test_categories_that_partitions_know_or_do_not(rows, tmp_path):
    expected = bits(TAN.fit(rows[NAMES], rows[["class"]]), tmp_path)
    whole = frame(rows)[[*NAMES, "class"]]
    unknown = whole.assign(colour=whole["colour"].cat.as_unknown())
    apart = [
        rows.iloc[:350].assign(colour=lambda d: d["colour"].astype(str).astype("category")),
        rows.iloc[350:].assign(colour=lambda d: d["colour"].cat.remove_unused_categories()),
    ]
    parts = [dask.delayed(part) for part in apart]
    several = dd.from_delayed(parts, verify_meta=False)[[*NAMES, "class"]]
    for data in (whole, unknown, several):
        assert bits(TAN.fit(data, "class"), tmp_path) == expected


def test_divisions_do_not_matter(rows, tmp_path):
    expected = bits(TAN.fit(rows[NAMES], rows[["class"]]), tmp_path)
    known = dd.from_pandas(rows[[*NAMES, "class"]], npartitions=5, sort=True)
    assert known.known_divisions
    assert bits(TAN.fit(known, "class"), tmp_path) == expected


def test_objects_that_are_no_text_are_refused(rows):
    def wrong(part):
        return part.assign(letter=part["cost"].astype(object))

    data = frame(rows).map_partitions(wrong, meta=rows.iloc[:0])
    with pytest.raises(DataTypeError, match=r"'letter' is double, expected text.*astype"):
        TAN.fit(data, "class")


def test_names_that_are_no_text_are_refused():
    frame = dd.from_pandas(pd.DataFrame({0: ["a", "b"], "y": ["p", "q"]}), npartitions=1)
    with pytest.raises(DataTypeError, match="need texts as names; got 0"):
        bg.open_dataset(frame)


def test_labels_apart_and_tables_in_memory_are_refused(rows):
    lazy = frame(rows)
    fitted = bg.NaiveBayesClassifier(check_columns=False).fit(rows[NAMES], rows[["class"]])
    for y in (lazy["class"], rows["class"], lazy[["class"]]):
        with pytest.raises(DataTypeError, match="y is the name of one of its columns"):
            TAN.fit(lazy[NAMES], y)
    with pytest.raises(DataTypeError, match="predict_dataset predicts its rows"):
        fitted.predict_proba(lazy[NAMES])
    with pytest.raises(DataTypeError, match="A frame of Dask is not read into memory"):
        fitted.network_.log_likelihood(lazy[NAMES])


@pytest.fixture(scope="module")
def fitted(rows):
    return bg.TANClassifier(check_columns=False).fit(rows[NAMES], rows[["class"]])


@pytest.mark.parametrize("kind", ["empty", "one row", "many"])
def test_predictions_are_a_dask_frame(fitted, rows, kind):
    found = bg.files.predict_dataset(
        fitted, frame(rows, PARTITIONS[kind])[[*NAMES, "half"]], keep=["half"]
    )
    assert isinstance(found, dd.DataFrame)
    assert found.npartitions == len(PARTITIONS[kind]) - 1
    computed = found.compute(scheduler="threads")
    assert list(computed.columns) == list(found.columns)
    assert computed.dtypes.to_dict() == found.dtypes.to_dict()
    assert computed.index.equals(rows.index)
    assert computed["half"].tolist() == rows["half"].tolist()
    assert computed["class"].tolist() == fitted.predict(rows[NAMES]).tolist()
    proba = computed[[f"P(class={c})" for c in fitted.classes_]].to_numpy()
    assert np.array_equal(proba, fitted.predict_proba(rows[NAMES]))


def test_each_worker_gets_the_model_once(client, rows, fitted):
    found = bg.files.predict_dataset(fitted, frame(rows, PARTITIONS["many"])[NAMES], what="predict")
    models = [key for key in found.dask if "_Predicting" in str(key)]
    assert len(models) == 1
    assert found.compute()["class"].tolist() == fitted.predict(rows[NAMES]).tolist()
    del found
    nothing_left(client)


def test_predictions_of_a_dask_frame_in_a_file(fitted, rows, tmp_path):
    path = tmp_path / "found.parquet"
    used = frame(rows, PARTITIONS["many"])[[*NAMES, "half"]]
    assert bg.files.predict_dataset(fitted, used, path, what="predict", keep=["half"]) == N_ROWS
    found = pq.read_table(path)
    assert found["class"].to_pylist() == fitted.predict(rows[NAMES]).tolist()
    assert found["half"].to_pylist() == rows["half"].tolist()


def test_a_regressor_predicts_a_dask_frame(rows):
    regressor = bg.DecisionTreeNetworkRegressor(max_depth=2).fit(rows[["colour"]], rows["cost"])
    found = bg.files.predict_dataset(regressor, frame(rows)[["colour"]]).compute(scheduler="sync")
    assert found.iloc[:, 0].tolist() == regressor.predict(rows[["colour"]]).tolist()


def test_predictions_that_need_a_target_or_another_name(client, fitted, rows, folder, tmp_path):
    with pytest.raises(DataTypeError, match="target= is needed"):
        bg.files.predict_dataset(fitted, folder)
    opened = bg.open_dataset(folder, executor=client)
    with pytest.raises(DataTypeError, match="leave out executor="):
        bg.files.predict_dataset(fitted, opened, tmp_path / "found.parquet")
    with pytest.raises(DataError, match="keep= names 'class'"):
        bg.files.predict_dataset(fitted, frame(rows), keep=["class"])
