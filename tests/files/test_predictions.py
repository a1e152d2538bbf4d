"""Predictions of tables larger than memory: the numbers of those in memory, in whole files."""

import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    ExtrapolationWarning,
    FileFormatError,
    ImpossibleEvidenceWarning,
)
from bayesgraph.files import predictions

N_ROWS = 215


@pytest.fixture(autouse=True)
def small_runs(monkeypatch):
    """Runs of 16 rows, and three of them in each file of a folder."""
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(predictions, "_RUNS_OF_PART", 3)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, N_ROWS)
    codes = np.array(["01", "02", "03"])[(y + random.integers(0, 2, N_ROWS)) % 3].astype(object)
    codes[::9] = None
    return pa.table(
        {
            "id": range(N_ROWS),
            "code": codes.tolist(),
            "size": np.where(random.random(N_ROWS) < 0.1, None, y + random.normal(size=N_ROWS)),
            "note": [f"note {i % 5}" for i in range(N_ROWS)],
            "class": np.array(["no", "yes"])[y].tolist(),
        }
    )


@pytest.fixture(scope="module")
def features(table):
    return table.select(["code", "size"])


@pytest.fixture(
    params=[bg.TANClassifier, bg.DecisionTreeNetworkClassifier, bg.StreamingNaiveBayesClassifier]
)
def classifier(request, table, features):
    return request.param().fit(features, table.select(["class"]))


@pytest.fixture
def folder(tmp_path, table):
    (tmp_path / "data").mkdir()
    for i in range(5):
        pq.write_table(table.slice(i * 50, 50), tmp_path / f"data/{i}.parquet")
    return tmp_path / "data"


def test_the_numbers_are_those_in_memory(classifier, features, folder, tmp_path):
    path = tmp_path / "found.parquet"
    assert bg.files.predict_dataset(classifier, folder, path) == N_ROWS
    found = pq.read_table(path)
    expected = classifier.predict_proba(features)
    assert found.column_names == ["class", "P(class=no)", "P(class=yes)"]
    assert found["class"].to_pylist() == classifier.predict(features).tolist()
    for j, name in enumerate(found.column_names[1:]):
        assert found[name].to_pylist() == expected[:, j].tolist()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("what", "names"),
    [("predict", ["class"]), ("predict_proba", ["P(class=no)", "P(class=yes)"])],
)
def test_what_is_written_and_kept(classifier, table, folder, tmp_path, what, names):
    for suffix, delimiter in ((".csv", ","), (".tsv", "\t")):
        path = tmp_path / f"found{suffix}"
        bg.files.predict_dataset(classifier, folder, path, what=what, keep=["note", "id"])
        found = pc.read_csv(path, parse_options=pc.ParseOptions(delimiter=delimiter))
        assert found.column_names == ["note", "id", *names]
        assert found.select(["note", "id"]).equals(table.select(["note", "id"]))


@pytest.mark.one_in(3)
def test_a_folder_of_parts_in_order(classifier, table, folder, tmp_path):
    for target in (f"{tmp_path}/new/", tmp_path / "other"):
        bg.files.predict_dataset(classifier, folder, target, keep=["id"])
    (tmp_path / "empty").mkdir()
    bg.files.predict_dataset(classifier, folder, tmp_path / "empty", keep=["id"])
    for name in ("new", "other", "empty"):
        parts = sorted(path.name for path in (tmp_path / name).iterdir())
        assert parts == [f"part-{i:05}.parquet" for i in range(5)]
        assert pq.read_table(tmp_path / name)["id"].to_pylist() == table["id"].to_pylist()
    with pytest.raises(FileExistsError, match="not an empty folder"):
        bg.files.predict_dataset(classifier, folder, tmp_path / "new")


def test_codes_in_csv_files_stay_text_and_lazy_frames_are_read(table, features, tmp_path):
    classifier = bg.NaiveBayesClassifier().fit(features, table.select(["class"]))
    rows = table.filter(pa.compute.is_valid(table["code"]))
    pc.write_csv(rows.slice(0, 20), tmp_path / "rows.csv", pc.WriteOptions(quoting_style="none"))
    expected = classifier.predict_proba(rows.select(["code", "size"]).slice(0, 20))[:, 1]
    for data in (tmp_path / "rows.csv", pl.from_arrow(rows.slice(0, 20)).lazy()):
        bg.files.predict_dataset(classifier, data, tmp_path / "found.parquet")
        assert pq.read_table(tmp_path / "found.parquet")["P(class=yes)"].to_pylist() == (
            expected.tolist()
        )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", ["found.parquet", "found.csv", "found"])
def test_nothing_is_left_of_what_failed(classifier, table, tmp_path, target):
    """The last file has a size that is no number."""
    pq.write_table(table.slice(0, 50), tmp_path / "a.parquet")
    wrong = table.slice(50, 50).set_column(2, "size", pa.array([np.inf] * 50))
    pq.write_table(wrong, tmp_path / "b.parquet")
    (tmp_path / "out").mkdir()
    data = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    if "." in target:
        (tmp_path / "out" / target).write_text("before")
    with pytest.raises(DataError, match="size"):
        bg.files.predict_dataset(classifier, data, tmp_path / "out" / target)
    left = [path.name for path in (tmp_path / "out").iterdir()]
    assert left == ([target] if "." in target else [])
    if left:
        assert (tmp_path / "out" / target).read_text() == "before"


def test_what_cannot_be_done_is_said(classifier, table, folder, tmp_path):
    with pytest.raises(FileFormatError, match="suffix of predictions"):
        bg.files.predict_dataset(classifier, folder, tmp_path / "found.xlsx")
    with pytest.raises(DataError, match="what="):
        bg.files.predict_dataset(classifier, folder, tmp_path / "found.csv", what="classes")
    with pytest.raises(bg.errors.UnknownVariableError, match=r"keep=.*Did you mean 'note'"):
        bg.files.predict_dataset(classifier, folder, tmp_path / "found.csv", keep=["notes"])
    with pytest.raises(DataTypeError, match="keep= takes a list of names; got None"):
        bg.files.predict_dataset(classifier, folder, tmp_path / "found.csv", keep=None)
    with pytest.raises(DataError, match="keep= names 'class'"):
        bg.files.predict_dataset(classifier, folder, tmp_path / "found.csv", keep=["class"])
    pq.write_table(table.select(["id", "size"]), tmp_path / "few.parquet")
    with pytest.raises(DataError, match="lacks the columns 'code'"):
        bg.files.predict_dataset(
            bg.TANClassifier().fit(table.select(["code", "size"]), table["class"]),
            tmp_path / "few.parquet",
            tmp_path / "found.csv",
        )
    pq.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    with pytest.raises(DataError, match="no rows"):
        bg.files.predict_dataset(classifier, tmp_path / "none.parquet", tmp_path / "found.csv")
    with pytest.raises(TypeError, match="predict_dataset"):
        classifier.predict_proba(str(folder))
    assert not list(tmp_path.glob("found*"))


def test_impossible_rows_are_counted_in_one_warning(tmp_path):
    columns = {"x": ["a", "b"] * 20, "y": ["u", "v"] * 20}
    classifier = bg.NaiveBayesClassifier(smoothing=0.0, priors=[1.0, 0.0])
    classifier.fit({"x": columns["x"]}, columns["y"])
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        bg.files.predict_dataset(classifier, tmp_path / "rows.parquet", tmp_path / "found.parquet")
    (warning,) = seen
    assert warning.category is ImpossibleEvidenceWarning
    assert "20 of 40 rows" in str(warning.message)


def test_numbers_far_outside_are_named_in_one_warning(table, features, tmp_path):
    classifier = bg.NaiveBayesClassifier().fit(features, table.select(["class"]))
    far = pa.table({"code": ["01"] * 60, "size": [1e6] * 40 + [1e7] + [0.0] * 19})
    pq.write_table(far, tmp_path / "rows.parquet")
    with pytest.warns(ExtrapolationWarning, match="size = 10000000 ") as seen:
        bg.files.predict_dataset(classifier, tmp_path / "rows.parquet", tmp_path / "found.csv")
    assert [warning.filename for warning in seen] == [__file__]


def test_numbers_are_predicted_with_their_deviation(table, tmp_path):
    rows = table.filter(pa.compute.is_valid(table["size"]))
    regressor = bg.DecisionTreeNetworkRegressor().fit(rows.select(["code"]), rows.select(["size"]))
    pq.write_table(rows, tmp_path / "rows.parquet")
    n = bg.files.predict_dataset(regressor, tmp_path / "rows.parquet", tmp_path / "f.parquet")
    found = pq.read_table(tmp_path / "f.parquet")
    assert n == len(rows)
    assert found.column_names == ["size", "std(size)"]
    assert found["size"].to_pylist() == regressor.predict(rows.select(["code"])).tolist()


def test_columns_that_csv_files_do_not_hold_are_told(classifier, table, tmp_path):
    nested = table.append_column("tags", pa.array([["a"]] * N_ROWS))
    pq.write_table(nested, tmp_path / "rows.parquet")
    with pytest.raises(DataTypeError, match=r"\.parquet file, or leave"):
        bg.files.predict_dataset(
            classifier, tmp_path / "rows.parquet", tmp_path / "found.csv", keep=["tags"]
        )
    assert not (tmp_path / "found.csv").exists()


@pytest.mark.filterwarnings("ignore:.*numbers that would lose leading zeros")
@pytest.mark.parametrize("target", ["again.csv", "rows.csv", "folder/found.csv"])
def test_what_is_read_is_not_written_over(tmp_path, table, features, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    pc.write_csv(table, tmp_path / "folder/rows.csv")
    (tmp_path / "rows.csv").hardlink_to(tmp_path / "folder/rows.csv")
    (tmp_path / "again.csv").symlink_to(tmp_path / "folder/rows.csv")
    content = (tmp_path / "rows.csv").read_bytes()
    classifier = bg.NaiveBayesClassifier().fit(features, table.select(["class"]))
    for source in ("folder", "folder/*.csv", bg.open_dataset("folder")):
        with pytest.raises(DataError, match="is read, or lies among what is read"):
            bg.files.predict_dataset(classifier, source, target)
    assert (tmp_path / "folder/rows.csv").read_bytes() == content
    assert len([*(tmp_path / "folder").iterdir()]) == 1
