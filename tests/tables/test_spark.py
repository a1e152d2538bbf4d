"""Models of Spark frames have the counts of those in memory, and their moments to rounding."""

import datetime
import decimal
import os
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError

pytestmark = [
    pytest.mark.spark,
    # What the libraries say of each other.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]
sql = pytest.importorskip("pyspark.sql")

N_ROWS = 700
TAN = bg.TANClassifier(check_columns=False)
NAMES = ["letter", "size.of", "co`st", "sound"]


def session(master, folder):
    # Workers import what this process imports.
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master(master).appName("bayesgraph")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    found = session("local[2]", tmp_path_factory.mktemp("spark"))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, N_ROWS)
    y[-1] = 2  # a class and a state in the last row only
    letters = np.array(list("abcd"), dtype=object)[(y + random.integers(0, 3, N_ROWS)) % 4]
    letters[random.random(N_ROWS) < 0.1] = None
    letters[-2] = "z"
    size = random.normal(size=N_ROWS) * 0.1 + y
    size[random.random(N_ROWS) < 0.1] = np.nan
    return pa.table(
        {
            "letter": letters.tolist(),
            "size.of": pa.array(size, from_pandas=True),
            "co`st": random.normal(size=N_ROWS) * 7 + 1e3,
            "sound": random.random(N_ROWS) < 0.4 + 0.2 * y,
            "half": random.integers(0, 3, N_ROWS) / 2,
            "class": np.array(["no", "yes", "late"])[y].tolist(),
        }
    )


@pytest.fixture(scope="module")
def lazy(spark, rows):
    """The rows in order, in six partitions, of which the first, the last and another are empty."""
    context, records = spark.sparkContext, [tuple(row.values()) for row in rows.to_pylist()]
    parts = ([], records[:1], records[1:600], [], records[600:], [])
    whole = context.union([context.parallelize(part, 1) for part in parts])
    return spark.createDataFrame(whole, spark.createDataFrame(rows).schema)


def close(one, two):
    """Check that counts are equal, and moments up to the rounding of their sums."""
    assert one.variables == two.variables
    assert set(one.graph.edges) == set(two.graph.edges)
    for mine, theirs in zip(one.cpds, two.cpds, strict=True):
        assert type(mine) is type(theirs)
        if hasattr(mine, "values"):
            assert np.array_equal(mine.values, theirs.values)
        for name in ("mean", "coefficients", "variance"):
            if hasattr(mine, name):
                found, expected = getattr(mine, name), getattr(theirs, name)
                assert np.allclose(found, expected, rtol=1e-12, atol=0, equal_nan=True), name


@pytest.mark.parametrize("weight", [None, "half"])
def test_counts_are_exact_and_moments_agree(lazy, rows, weight):
    weights = None if weight is None else rows[weight].to_numpy()
    expected = TAN.fit(rows.select(NAMES), rows.select(["class"]), weights).network_
    used = lazy if weight else lazy.drop("half")
    assert used.rdd.getNumPartitions() == 6
    close(bg.TANClassifier(check_columns=False).fit(used, "class", weight).network_, expected)
    # In other partitions too.
    few = used.coalesce(1)
    close(bg.TANClassifier(check_columns=False).fit(few, "class", weight).network_, expected)


def test_a_network_of_a_spark_frame(lazy, rows):
    arcs = [("class", "letter"), ("letter", "co`st")]
    names = ["letter", "co`st", "class"]
    expected = bg.BayesianNetwork.fit(arcs, rows.select(names))
    close(bg.BayesianNetwork.fit(arcs, lazy.drop("size.of", "sound", "half")), expected)


@pytest.fixture(scope="module")
def fitted(rows):
    return bg.TANClassifier(check_columns=False).fit(rows.select(NAMES), rows.select(["class"]))


def test_predictions_are_a_spark_frame(fitted, lazy, rows):
    found = bg.files.predict_dataset(fitted, lazy.drop("class"), keep=["half", "size.of"])
    assert isinstance(found, sql.DataFrame)
    names = ["half", "size.of", "class", *(f"P(class={c})" for c in fitted.classes_)]
    assert found.columns == names
    table = found.toArrow()
    features = rows.select(NAMES)
    assert table["half"].to_pylist() == rows["half"].to_pylist()
    assert table["size.of"].to_pylist() == rows["size.of"].to_pylist()
    assert table["class"].to_pylist() == fitted.predict(features).tolist()
    proba = np.column_stack([table[name].to_numpy() for name in names[3:]])
    assert np.array_equal(proba, fitted.predict_proba(features))


def test_predictions_of_a_spark_frame_in_a_file(fitted, lazy, rows, tmp_path):
    path = tmp_path / "found.parquet"
    assert bg.files.predict_dataset(fitted, lazy, path, what="predict", keep=["half"]) == N_ROWS
    found = pq.read_table(path)
    assert found["class"].to_pylist() == fitted.predict(rows.select(NAMES)).tolist()


def test_what_does_not_fit_is_refused_in_words(spark, lazy, fitted):
    with pytest.raises(DataTypeError, match="y is the name of one of its columns"):
        TAN.fit(lazy, ["no", "yes"])
    with pytest.raises(DataTypeError, match="y is the name of one of its columns"):
        TAN.fit(lazy, lazy["class"])
    with pytest.raises(DataTypeError, match="leave out executor="):
        TAN.fit(bg.open_dataset(lazy, executor=ThreadPoolExecutor(1)), "class")
    with pytest.raises(DataTypeError, match="A frame of Spark is not read into memory"):
        fitted.predict_proba(lazy)
    with pytest.raises(DataError, match="keep= names 'class'"):
        bg.files.predict_dataset(fitted, lazy, keep=["class"])
    day = datetime.datetime(2020, 1, 1)
    for value, kind in ((day, "timestamp"), (day.date(), "date"), ([1], "array<int>")):
        wrong = spark.createDataFrame([("a", value)], f"y string, `the.value` {kind}")
        with pytest.raises(DataTypeError, match=r"'the\.value'"):
            TAN.fit(wrong, "y")
    with pytest.raises(DataError, match="has no rows"):
        TAN.fit(lazy.where("half < 0"), "class")


def test_decimals_are_numbers_as_in_memory(spark):
    prices = pa.array([decimal.Decimal(k) / 4 for k in range(12)], pa.decimal128(9, 2))
    table = pa.table({"price": prices, "y": ["a", "b"] * 6})
    expected = bg.NaiveBayesClassifier().fit(table.select(["price"]), table.select(["y"]))
    found = bg.NaiveBayesClassifier().fit(spark.createDataFrame(table), "y")
    close(found.network_, expected.network_)


def test_a_lost_executor_is_survived(spark, rows, tmp_path):
    """Two executors are processes of their own; one is killed when it counts."""
    expected = TAN.fit(rows.select(NAMES), rows.select(["class"])).network_
    spark.stop()
    cluster = session("local-cluster[2,1,1024]", tmp_path)
    try:
        mark = tmp_path / "killed"

        def killing(batches):
            for batch in batches:
                if batch.num_rows and not mark.exists():
                    mark.write_text(str(os.getpid()))
                    os.kill(executor_of(os.getpid()), signal.SIGKILL)
                    time.sleep(60)
                yield batch

        plain = cluster.createDataFrame(rows.rename_columns(list("abcdef")))
        marked = plain.repartition(6).mapInArrow(killing, plain.schema).toDF(*rows.column_names)
        found = bg.TANClassifier(check_columns=False).fit(marked.drop("half"), "class")
        assert mark.exists()
        close(found.network_, expected)
    finally:
        logs = Path(sys.modules["pyspark"].__file__).parent / "work"
        logs /= cluster.sparkContext.applicationId
        cluster.stop()
        shutil.rmtree(logs, ignore_errors=True)


def executor_of(pid):
    """Return the Java process that a Python worker of Spark works for."""
    while True:
        if "CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_text():
            return pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
