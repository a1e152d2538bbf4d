"""Objects of a store are read as files are; a server on this machine stands in for S3."""

import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, FileFormatError
from bayesgraph.tables.opening import without_options

pytestmark = [pytest.mark.objects, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

N_ROWS = 600
TAN = bg.TANClassifier(check_columns=False)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, N_ROWS)
    letters = np.array(list("abc"))[(y + random.integers(0, 2, N_ROWS)) % 3]
    size = random.normal(size=N_ROWS) + y
    classes = np.array(["no", "yes"])[y]
    return pa.table({"letter": letters.tolist(), "size": size, "class": classes.tolist()})


@pytest.fixture(scope="module")
def server():
    """Address of a server with nothing in it, on this machine only."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    found = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        found.start()
        yield ":".join(map(str, found.get_host_and_port()))
        found.stop()


@pytest.fixture(scope="module")
def store(server, table):
    store = fs.S3FileSystem(
        endpoint_override=server, scheme="http", allow_bucket_creation=True, region="us-east-1"
    )
    store.create_dir("rows")
    for i in range(3):
        path = f"rows/data/year={i}/{i}.parquet"
        pq.write_table(table.slice(200 * i, 200), path, filesystem=store, row_group_size=64)
    for path in ("data/_SUCCESS", "data/notes.txt", "data/.old.parquet", "text/a.csv"):
        with store.open_output_stream(f"rows/{path}") as stream:
            stream.write(b"nothing")
    return store


@pytest.fixture(scope="module")
def options(server, store):
    return f"?endpoint_override={server}&scheme=http&region=us-east-1"


def bits(classifier, path):
    classifier.save(path / "m.bayesgraph")
    return (path / "m.bayesgraph").read_bytes()


@pytest.fixture
def expected(table, tmp_path):
    memory = TAN.fit(table.drop_columns("class"), table.select(["class"]))
    return bits(memory, tmp_path)


@pytest.mark.parametrize(
    "path",
    ["data", "data/", "data/*/*.parquet", "data/**/*.parquet", "**/*.parquet", "data/year=*/*"],
)
def test_folders_and_globs(options, expected, path, tmp_path):
    assert bits(TAN.fit(f"s3://rows/{path}{options}", "class"), tmp_path) == expected


def test_lists_and_datasets(options, store, expected, tmp_path):
    paths = [f"s3://rows/data/year={i}/{i}.parquet{options}" for i in range(3)]
    assert bits(TAN.fit(paths, "class"), tmp_path) == expected
    assert bg.open_dataset(paths[0]).n_rows == 200
    names = [f"rows/data/year={i}/{i}.parquet" for i in range(3)]
    data = ds.dataset(names, filesystem=store, format="parquet")
    assert bits(TAN.fit(data, "class"), tmp_path) == expected


def test_an_executor_reads_parts_of_objects(options, expected, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        data = bg.open_dataset(f"s3://rows/data{options}", executor=pool)
        assert bits(TAN.fit(data, "class"), tmp_path) == expected


def test_rows_and_columns_are_chosen_and_predicted(options, table, tmp_path):
    few = bg.open_dataset(
        f"s3://rows/data{options}", columns=["letter", "class"], where=ds.field("size") > 0
    )
    memory = table.filter(table["size"].to_numpy() > 0)
    fitted = TAN.fit(memory.select(["letter"]), memory.select(["class"]))
    expected = bits(fitted, tmp_path)
    assert bits(TAN.fit(few, "class"), tmp_path) == expected
    target = tmp_path / "found.parquet"
    assert (
        bg.files.predict_dataset(fitted, f"s3://rows/data{options}", target, what="predict")
        == N_ROWS
    )
    found = pq.read_table(target)["class"].to_pylist()
    assert found == fitted.predict(table.select(["letter"])).tolist()


def test_an_object_that_changed_is_named(options, store, table):
    path = "rows/changing/a.parquet"
    pq.write_table(table, path, filesystem=store)
    data = bg.open_dataset(f"s3://rows/changing{options}")
    pq.write_table(table.slice(0, 100), path, filesystem=store)
    with pytest.raises(DataError, match=r"'rows/changing/a.parquet' changed while"):
        TAN.fit(data, "class")


def test_what_is_no_object_is_refused(options, tmp_path):
    for path in ("nothing", "nothing/*.parquet", "data/*.csv", "data/nothing.parquet"):
        with pytest.raises(FileNotFoundError, match=f"s3://rows/{path}.".replace("*", r"\*")):
            bg.open_dataset(f"s3://rows/{path}{options}")
    for path in ("text", "text/a.csv"):
        with pytest.raises(FileFormatError, match=r"files are Parquet files.*a\.csv"):
            bg.open_dataset(f"s3://rows/{path}{options}")
    with pytest.raises(FileFormatError, match=r"s3://rows/data/notes.txt|Parquet files"):
        bg.open_dataset(f"s3://rows/data/notes.txt{options}")
    with pytest.raises(FileFormatError, match=r"unknown://rows/a cannot be read"):
        bg.open_dataset("unknown://rows/a?key=secret")
    with pytest.raises(DataTypeError, match="of one store"):
        bg.open_dataset([f"s3://rows/data{options}", str(tmp_path)])
    with pytest.raises(DataTypeError, match="with the same options"):
        bg.open_dataset([f"s3://rows/data{options}", "s3://rows/data?region=eu-west-1"])


def test_messages_have_no_keys():
    assert without_options("s3://name:key@rows/data?secret=1") == "s3://rows/data"
