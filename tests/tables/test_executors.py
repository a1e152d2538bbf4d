"""Models have the same bits wherever the parts of a dataset are counted."""

import gc
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.tables import datasets

N_ROWS = 700
TAN = bg.TANClassifier(check_columns=False)


class Sent(Executor):
    """Sends functions and results as a cluster does: nothing is shared with the caller."""

    def submit(self, function, *args):
        future = Future()
        try:
            sent = pickle.loads(pickle.dumps((function, args)))
            future.set_result(pickle.loads(pickle.dumps(sent[0](*sent[1]))))
        except Exception as error:
            future.set_exception(error)
        return future


class Twice(Sent):
    """Computes everything twice, as a cluster may."""

    def submit(self, function, *args):
        super().submit(function, *args)
        return super().submit(function, *args)


class SecondAttempt(Sent):
    """Loses the result of the first attempt at everything."""

    def submit(self, function, *args):
        lost = super().submit(interrupted, function, *args)
        assert isinstance(lost.exception(), ConnectionError)
        return super().submit(function, *args)


def interrupted(function, *args):
    function(*args)
    raise ConnectionError


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(datasets, "_PARTS", 1)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, N_ROWS)
    y[-1] = 2  # a class and a state in the last file only
    letters = np.array(list("abcd"))[(y + random.integers(0, 3, N_ROWS)) % 4].astype(object)
    letters[random.random(N_ROWS) < 0.1] = None
    letters[-2] = "z"
    return pa.table(
        {
            "letter": letters.tolist(),
            "size": pa.array(random.normal(size=N_ROWS) * 0.1 + y),
            "cost": random.normal(size=N_ROWS) * 7 + 1e3,
            "half": random.integers(0, 3, N_ROWS) / 2,
            "class": np.array(["no", "yes", "late"])[y].tolist(),
        }
    )


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(table, folder / "one.parquet")
    pq.write_table(table, folder / "groups.parquet", row_group_size=9)
    (folder / "many").mkdir()
    for i in range(7):
        pq.write_table(table.slice(100 * i, 100), folder / f"many/{i}.parquet", row_group_size=37)
    return {
        "one": folder / "one.parquet",
        "groups": folder / "groups.parquet",
        "many": folder / "many",
    }


def saved(classifier, path):
    classifier.save(path)
    return path.read_bytes()


@pytest.fixture(params=[None, "half"], scope="module")
def weight(request):
    return request.param


@pytest.fixture
def expected(table, weight, tmp_path):
    weights = None if weight is None else table[weight].to_numpy()
    features = table.drop_columns(["class", *([] if weight is None else [weight])])
    memory = TAN.fit(features, table.select(["class"]), weights)
    return saved(memory, tmp_path / "memory.bayesgraph")


@pytest.mark.parametrize(
    "executor", [Sent(), Twice(), SecondAttempt()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("kind", ["one", "groups", "many"])
@pytest.mark.parametrize("size", [4, 16, 1024])
@pytest.mark.one_in(51)
def test_the_bits_do_not_depend_on_parts_and_attempts(
    files, weight, expected, executor, kind, size, tmp_path, monkeypatch
):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", size)
    monkeypatch.setattr("bayesgraph.tables.opening._PIECE_ROWS", 50)
    opened = bg.open_dataset(files[kind], executor=executor)
    found = TAN.fit(opened, "class", weight)
    assert saved(found, tmp_path / "found.bayesgraph") == expected


def test_row_groups_that_are_sent_keep_their_order(tmp_path, monkeypatch):
    # pyarrow restores them from a set of numbers, which has no order.
    monkeypatch.setattr("bayesgraph.tables.opening._PIECE_ROWS", 50)
    pq.write_table(pa.table({"n": range(700)}), tmp_path / "t.parquet", row_group_size=9)
    pieces = bg.open_dataset(tmp_path / "t.parquet").pieces(["n"])
    assert len(pieces) == 13
    sent = [table for piece in pickle.loads(pickle.dumps(pieces)) for table in piece.tables(["n"])]
    assert pa.concat_tables(sent)["n"].to_pylist() == list(range(700))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(
    "model",
    [
        bg.NaiveBayesClassifier, bg.TANClassifier, bg.AODEClassifier, bg.KDBClassifier,
        bg.AveragedTANClassifier,
    ],
)  # fmt: skip
def test_the_bits_of_more_than_one_block(model, n_threads, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(blocks, "N_THREADS", n_threads)
    random, n_rows = np.random.default_rng(0), 100_003
    assert 3 * blocks.BLOCK < n_rows < 4 * blocks.BLOCK
    columns = {
        "a": random.choice(list("abc"), n_rows).tolist(),
        # Any other order of the sum shows: with few large numbers, all small ones are rounded.
        "b": random.standard_cauchy(n_rows) * 1e6,
        "c": np.where(random.random(n_rows) < 0.01, np.nan, random.normal(-11806, 5e3, n_rows)),
        "y": random.choice(["p", "q"], n_rows).tolist(),
    }
    rows = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=15_000)
    memory = model().fit(rows.drop_columns(["y"]), rows.select(["y"]))
    expected = saved(memory, tmp_path / "memory.bayesgraph")
    more = bg.open_dataset(tmp_path / "rows.parquet")
    assert saved(model().fit(more, "y"), tmp_path / "found.bayesgraph") == expected
    with ThreadPoolExecutor(n_threads) as pool:
        spread = bg.open_dataset(tmp_path / "rows.parquet", executor=pool)
        for size in (1, 2, 4):
            monkeypatch.setattr(datasets, "BLOCKS_OF_PART", size)
            assert saved(model().fit(spread, "y"), tmp_path / "found.bayesgraph") == expected


@pytest.mark.parametrize(
    ("n_blocks", "maximum", "expected"),
    [(10_000, None, 32), (512, None, 32), (511, None, 16), (200, None, 8), (1, None, 8), (1, 2, 2)],
)
def test_few_rows_make_parts_for_several_workers(n_blocks, maximum, expected, monkeypatch):
    monkeypatch.undo()
    assert datasets._blocks_of_part(n_blocks * blocks.BLOCK, maximum) == expected


def test_threads_and_processes_give_the_same_bits(files, weight, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)
    with ThreadPoolExecutor(2) as pool:
        opened = bg.open_dataset(files["many"], executor=pool)
        found = TAN.fit(opened, "class", weight)
    assert saved(found, tmp_path / "found.bayesgraph") == expected


@pytest.mark.slow
def test_processes_give_the_same_bits(files, table, tmp_path, monkeypatch):
    monkeypatch.undo()  # other processes have blocks of the usual size
    bits = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for executor in (None, pool):
            opened = bg.open_dataset(files["many"], executor=executor)
            found = TAN.fit(opened, "class")
            bits.append(saved(found, tmp_path / "found.bayesgraph"))
    assert bits[0] == bits[1]


def test_a_network_is_fitted_by_an_executor(files, table, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)
    arcs = [("class", "letter"), ("letter", "size")]
    memory = bg.BayesianNetwork.fit(arcs, table.select(["letter", "size", "class"]))
    columns = ["letter", "size", "class"]
    opened = bg.open_dataset(files["many"], executor=Sent(), columns=columns)
    found = bg.BayesianNetwork.fit(arcs, opened)
    for mine, theirs in zip(found.cpds, memory.cpds, strict=True):
        for name in ("values", "mean", "variance"):
            if hasattr(mine, name):
                assert np.array_equal(getattr(mine, name), getattr(theirs, name))


def test_a_condition_on_rows_holds_in_all_parts(files, table, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)
    few = pds.field("cost") > 1000
    memory = bg.open_dataset(files["one"], where=few)
    bits = []
    for data, executor in ((files["one"], None), (files["many"], None), (files["many"], Sent())):
        opened = bg.open_dataset(data, where=few, executor=executor)
        found = TAN.fit(opened, "class")
        bits.append(saved(found, tmp_path / "m.bayesgraph"))
    assert bits[0] == bits[1] == bits[2]
    assert memory.n_rows is None


def test_the_sample_is_the_same_in_all_parts(files, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)
    bits = []
    for executor in (None, Sent()):
        opened = bg.open_dataset(files["many"], executor=executor, sample_rows=200)
        with pytest.warns(UserWarning, match="a sample of"):
            found = bg.DecisionTreeNetworkClassifier().fit(opened, "class")
        bits.append(saved(found, tmp_path / "m.bayesgraph"))
    assert bits[0] == bits[1]


@pytest.mark.slow
def test_columns_of_the_path_are_read_by_all_parts(table, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)
    keys = pa.array([f"k{i // 250}" for i in range(N_ROWS)])
    schema = pa.schema([("key", pa.string())])
    pds.write_dataset(
        table.append_column("key", keys), tmp_path / "hive", format="parquet",
        partitioning=pds.partitioning(schema, flavor="hive"),
    )  # fmt: skip
    hive = pds.dataset(tmp_path / "hive", partitioning="hive")
    bits = []
    for data, executor in ((hive, None), (tmp_path / "hive", None), (tmp_path / "hive", Sent())):
        found = TAN.fit(bg.open_dataset(data, executor=executor), "class")
        assert found.features_[-1].states == ("k0", "k1", "k2")
        bits.append(saved(found, tmp_path / "m.bayesgraph"))
    assert bits[0] == bits[1] == bits[2]


def test_an_error_of_a_part_is_told(files, tmp_path):
    data = bg.open_dataset(files["many"], executor=Sent(), max_categories=2)
    with pytest.raises(DataError, match="more than 2 states"):
        TAN.fit(data, "class")
    path = tmp_path / "one.parquet"
    path.write_bytes(files["one"].read_bytes())
    opened = bg.open_dataset(path, executor=Sent())
    path.write_bytes(files["groups"].read_bytes())
    with pytest.raises(DataError, match=r"one\.parquet' changed"):
        TAN.fit(opened, "class")


def test_csv_files_are_parts(table, tmp_path):
    bits = []
    (tmp_path / "rows").mkdir()
    for i in range(2):
        pc.write_csv(table.slice(350 * i, 350), tmp_path / f"rows/{i}.csv")
    for executor in (None, Sent()):
        opened = bg.open_dataset(tmp_path / "rows", executor=executor)
        bits.append(saved(TAN.fit(opened, "class"), tmp_path / "m.bayesgraph"))
    assert bits[0] == bits[1]


def test_rows_that_are_read_one_after_another_take_no_executor(table, tmp_path):
    def made():
        return table.to_batches()

    opened = bg.open_dataset(made, executor=Sent())
    with pytest.raises(DataTypeError, match="takes files"):
        TAN.fit(opened, "class")
    with pytest.raises(DataTypeError, match="executor= is an executor"):
        bg.open_dataset(tmp_path / "rows.csv", executor=4)


def test_progress_of_parts_ends_at_the_number_of_rows(files, monkeypatch):
    monkeypatch.setattr(datasets, "BLOCKS_OF_PART", 4)
    seen = []
    opened = bg.open_dataset(
        files["many"], executor=Sent(), progress=lambda *rows: seen.append(rows)
    )
    bg.NaiveBayesClassifier().fit(opened, "class")
    done = [rows for rows, _ in seen]
    one_pass = sorted(set(done))
    assert done == len(done) // len(one_pass) * one_pass
    assert seen[-1] == (N_ROWS, N_ROWS)


def test_a_function_that_makes_batches_is_a_dataset(table, files, tmp_path):
    def batches():
        return table.to_batches(max_chunksize=33)

    bits = [
        saved(TAN.fit(data, "class"), tmp_path / "m.bayesgraph") for data in (files["one"], batches)
    ]
    assert bits[0] == bits[1]


def test_a_relation_of_duckdb_is_a_dataset(table, files, tmp_path):
    relation = pytest.importorskip("duckdb").from_arrow(table)
    bits = [
        saved(TAN.fit(data, "class"), tmp_path / "m.bayesgraph")
        for data in (files["one"], relation)
    ]
    assert bits[0] == bits[1]


def test_a_condition_that_no_row_meets_is_told_by_all_parts(files):
    none = pds.field("cost") > 1e9
    opened = bg.open_dataset(files["many"], where=none, executor=Sent())
    with pytest.raises(DataError, match="has no rows"):
        TAN.fit(opened, "class")


@pytest.mark.slow
def test_a_dataset_does_not_hold_the_weights_of_earlier_fits(files):
    opened = bg.open_dataset(files["many"], executor=Sent())
    for _ in range(3):
        bg.NaiveBayesClassifier().fit(opened, "class", "half")
    gc.collect()
    assert len(opened._lengths_of) <= 1
