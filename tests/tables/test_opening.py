"""Datasets: one table of many files, in runs, and what is refused by name."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphError,
    BayesGraphWarning,
    DataError,
    DataTypeError,
    FileFormatError,
    UnknownVariableError,
)
from bayesgraph.statistics import find_domains
from bayesgraph.tables import Rows, as_dataset
from bayesgraph.tables import opening as csv_files


def write(folder, **tables):
    """Write tables to Parquet files, and texts to CSV files, by name; return the folder."""
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        if isinstance(table, str):
            (folder / f"{name}.csv").write_text(table)
        else:
            pq.write_table(pa.table(table), folder / f"{name}.parquet")
    return folder


def rows(dataset, columns=None):
    """Return all rows of a dataset as a dict of lists."""
    parts = list(dataset.tables(columns or dataset.names))
    return pa.concat_tables(parts).to_pydict()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_one_table_with_columns_in_any_order(tmp_path, kind):
    first, last = {"x": [1, 2], "k": ["b", "a"]}, {"k": ["c", "b"], "x": [3.5, None]}
    if kind == "csv":
        first, last = "x,k\n1,b\n2,a\n", "k,x\nc,3.5\nb,NA\n"
    folder = write(tmp_path / "d", p1=first, p2=last)
    for data in (folder, str(folder / "p*"), sorted(folder.iterdir())):
        dataset = bg.open_dataset(data)
        assert dataset.n_rows == 4
        assert dataset.schema.field("x").type == pa.float64()
        assert rows(dataset) == {"x": [1.0, 2.0, 3.5, None], "k": ["b", "a", "c", "b"]}
        found = find_domains(dataset, ["k"], Rows())
        assert (found.columns["k"].states, found.n_rows) == (["a", "b", "c"], 4)


def test_a_late_category_and_a_late_class_are_states(tmp_path):
    first = {"k": ["a", "b"] * 4, "y": ["no", "yes"] * 4}
    folder = write(tmp_path / "d", p1=first, p2={"k": ["z", "a"], "y": ["maybe", "no"]})
    found = bg.NaiveBayesClassifier().fit(str(folder), "y")
    assert found.classes_.tolist() == ["maybe", "no", "yes"]
    assert found.network_.variable("k").states == ("a", "b", "z")


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((pa.int8(), pa.int32()), pa.int64()),
        ((pa.float32(), pa.int16()), pa.float64()),
        ((pa.null(), pa.float32()), pa.float32()),
        ((pa.int64(), pa.null()), pa.int64()),
    ],
)
def test_widths_of_numbers_become_one_type(tmp_path, types, expected):
    parts = [pa.table({"x": pa.nulls(2, kind), "y": [1, 2]}) for kind in types]
    dataset = bg.open_dataset(write(tmp_path / "d", a=parts[0], b=parts[1]))
    assert dataset.schema.field("x").type == expected
    assert rows(dataset)["x"] == [None] * 4


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_decimals_of_every_width_are_numbers(tmp_path, bits):
    numbers = pa.array(["1", "2", None, "5"]).cast(getattr(pa, f"decimal{bits}")(8, 2))
    table = pa.table({"x": numbers, "y": list("pqpq")})
    folder = write(tmp_path / "d", p1=table)
    model = bg.NaiveBayesClassifier().fit(str(folder), "y")
    alike = bg.NaiveBayesClassifier().fit({"x": [1.0, 2.0, np.nan, 5.0]}, list("pqpq"))
    rows = {"x": [1.0, 4.0]}
    np.testing.assert_array_equal(model.predict_proba(rows), alike.predict_proba(rows))


def test_types_that_no_variable_has_are_named_before_rows_are_read(tmp_path):
    table = pa.table({"x": pa.array([b"0" * 16] * 4, type=pa.uuid()), "y": list("pqpq")})
    with pytest.raises(DataTypeError, match=r"'x' has the type extension<arrow.uuid>"):
        bg.NaiveBayesClassifier().fit(str(write(tmp_path / "d", p1=table)), "y")
    wide = pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int128), "y": ["p", "q"]}).lazy()
    with pytest.raises(DataTypeError, match=r"128 bits in the column 'x'.*Cast"):
        bg.open_dataset(wide)


@pytest.mark.parametrize("index", [pa.int8(), pa.int32()])
def test_categories_of_any_width_and_text_are_one_column(tmp_path, index):
    """A narrow type has no room for the categories of all files together."""
    parts = []
    for first in (0, 100):
        text = pa.array([f"c{i:03}" for i in range(first, first + 100)])
        parts.append({"k": text.cast(pa.dictionary(index, pa.string())), "y": range(100)})
    parts[1]["y"] = list(range(100))
    parts[0]["y"] = list(range(100))
    folder = write(tmp_path / "d", a=parts[0], b=parts[1], c={"k": ["plain"], "y": [1]})
    dataset = bg.open_dataset(folder)
    assert rows(dataset, ["k"])["k"] == [*(f"c{i:03}" for i in range(200)), "plain"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_with_other_columns_is_named(tmp_path, kind):
    first, last = {"x": [1], "k": ["a"]}, {"x": [1]}
    if kind == "csv":
        first, last = "x,k\n1,a\n", "x\n1\n"
    folder = write(tmp_path / "d", p1=first, p2=last)
    with pytest.raises(FileFormatError, match=r"p2.*it lacks 'k'.*columns="):
        bg.open_dataset(folder)
    assert rows(bg.open_dataset(folder, columns=["x"])) == {"x": [1, 1]}
    (tmp_path / "d" / f"p2.{kind}").rename(tmp_path / "d" / f"p0.{kind}")
    with pytest.raises(FileFormatError, match=r"p1.*of .*p0.*it also has 'k'"):
        bg.open_dataset(folder)
    with pytest.raises(UnknownVariableError, match="columns="):
        bg.open_dataset(folder, columns=["x", "kk"])


def test_text_among_numbers_is_refused_with_file_and_column(tmp_path):
    folder = write(tmp_path / "d", p1={"x": [1], "z": [1]}, p2={"x": ["?"], "z": [2]})
    with pytest.raises(FileFormatError, match=r"'x' is int64 in .*p1.*string in .*p2"):
        bg.open_dataset(folder)
    assert rows(bg.open_dataset(folder, columns=["z"])) == {"z": [1, 2]}


def test_files_and_row_groups_without_rows(tmp_path):
    empty = pa.table({"x": pa.array([], pa.int64())})
    folder = write(tmp_path / "d", a=empty, b={"x": [1, 2, 3]}, c=empty)
    dataset = bg.open_dataset(folder)
    assert (dataset.n_rows, rows(dataset)) == (3, {"x": [1, 2, 3]})
    write(tmp_path / "c", a="x,k\n", b="x,k\n1,a\n", c="x,k\n")
    dataset = bg.open_dataset(tmp_path / "c")
    assert (dataset.n_rows, rows(dataset)) == (1, {"x": [1], "k": ["a"]})
    write(tmp_path / "n", a={"x": pa.array([], pa.int64()), "y": pa.array([], pa.string())})
    with pytest.raises(DataError, match="has no rows"):
        bg.NaiveBayesClassifier().fit(tmp_path / "n", "y")


def test_text_that_is_missing_in_one_file(tmp_path):
    folder = write(tmp_path / "d", a={"k": pa.nulls(2)}, b={"k": ["x", None]}, c={"k": pa.nulls(1)})
    assert rows(bg.open_dataset(folder)) == {"k": [None, None, "x", None, None]}
    folder = write(tmp_path / "c", a="k,y\n,1\nNA,2\n", b="k,y\nx,1\n", c="k,y\n,1\n")
    assert rows(bg.open_dataset(folder))["k"] == [None, None, "x", None]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_that_changed_between_passes_is_refused(tmp_path, kind):
    part = "x\n1\n" if kind == "csv" else {"x": [1]}
    dataset = bg.open_dataset(write(tmp_path / "d", a=part, b=part))
    assert len(rows(dataset)["x"]) == 2
    path = tmp_path / "d" / f"b.{kind}"
    # The type of its values too, which must not be what is said.
    write(tmp_path / "d", b="x\nmuch\n" if kind == "csv" else {"x": ["much"]})
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match=r"'.*b\.(csv|parquet)' changed while"):
        rows(dataset)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1", "2", "2.5"), [1.0, 2.0, 2.5]),
        (("1", "2", "two"), ["1", "2", "two"]),
        (("1.50", "2", "two"), ["1.50", "2", "two"]),
        (("1", "0", "true"), [True, False, True]),
        (("1", "7", "true"), ["1", "7", "true"]),
        (("true", "false", "1"), [True, False, True]),
        (("true", "1", "7"), ["true", "1", "7"]),
        (("", "NA", "n/a"), [None, None, "n/a"]),
        (("1", "2", "n/a"), ["1", "2", "n/a"]),
        (("1", "2", "100000000000000000000"), [1.0, 2.0, 1e20]),
        (("01", "02", "x'1'"), ["01", "02", "x'1'"]),
        (("1", "2", '"a ""b"""'), ["1", "2", 'a "b"']),
        (("1", "2", '"two\nlines"'), ["1", "2", "two\nlines"]),
    ],
)
def test_a_value_in_the_last_file_decides_on_the_type(tmp_path, cells, expected):
    """As it does in one file, which is read as a whole."""
    header = "other,x\n"
    parts = {f"p{i}": f"{header}{i},{cell}\n" for i, cell in enumerate(cells)}
    folder = write(tmp_path / "d", **parts)
    assert rows(bg.open_dataset(folder))["x"] == expected
    whole = write(tmp_path, whole=header + "".join(f"0,{cell}\n" for cell in cells)) / "whole.csv"
    assert bg.read_table(whole)["x"].to_pylist() == expected
    assert rows(bg.open_dataset(whole, columns=["x"]))["x"] == expected


@pytest.mark.parametrize("block", [1 << 24, 64])
def test_cells_that_numbers_would_change_are_text_in_all_files(tmp_path, monkeypatch, block):
    monkeypatch.setattr(csv_files, "_BLOCK", block)
    numbers = [f"{10000 + i},{i},p" for i in range(40)]
    first = "\n".join(["code,i,y", *numbers, ""])
    folder = write(tmp_path / "d", p1=first, p2="code,i,y\n01234,40,q\n,41,q\n")
    with pytest.warns(BayesGraphWarning, match=r"'code'.*text=") as told:
        dataset = bg.open_dataset(folder)
    assert len(told) == 1
    assert rows(dataset) == {
        "code": [*(str(10000 + i) for i in range(40)), "01234", None],
        "i": list(range(42)),
        "y": ["p"] * 40 + ["q"] * 2,
    }
    assert rows(bg.open_dataset(folder, text=["code"])) == rows(dataset)
    assert bg.open_dataset(folder, columns=["i", "y"]).names == ("i", "y")  # is not told


def test_several_columns_may_need_wider_types(tmp_path):
    folder = write(tmp_path / "d", a="x,z,k\n1,1,\n", b="x,z,k\n1.5,a,b\n")
    assert rows(bg.open_dataset(folder)) == {"x": [1.0, 1.5], "z": ["1", "a"], "k": [None, "b"]}


@pytest.mark.parametrize("block", [48, 64, 200])
def test_line_ends_within_quotes_and_small_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(csv_files, "_BLOCK", block)
    values = [f"line {i}\nof, two" for i in range(50)]
    text = "k,x\n" + "".join(f'"{value}",{i}\n' for i, value in enumerate(values)) + "last,2.5\n"
    dataset = bg.open_dataset(write(tmp_path / "d", a=text))
    assert dataset.n_rows == 51
    assert rows(dataset) == {"k": [*values, "last"], "x": [*map(float, range(50)), 2.5]}


def test_options_of_csv_files(tmp_path):
    folder = write(tmp_path / "d", a="code;x\n01;?\n02;2\n")
    dataset = bg.open_dataset(folder, delimiter=";", missing=["?"], text=["code"])
    assert rows(dataset) == {"code": ["01", "02"], "x": [None, 2]}


@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.csv.zst", "zstd"), ("A.CSV.GZ", "gzip"), ("a.csv", "gzip"), ("a.csv.gz", None)],
)
def test_compressed_files_are_told_by_their_first_bytes(tmp_path, name, codec):
    content = b"k,x\na,1\nb,2\n"
    packed = content if codec is None else pa.Codec(codec).compress(content, asbytes=True)
    (tmp_path / name).write_bytes(packed)
    dataset = bg.open_dataset(tmp_path)
    assert (dataset.n_rows, rows(dataset)) == (2, {"k": ["a", "b"], "x": [1, 2]})
    assert rows(bg.open_dataset(tmp_path, where=ds.field("x") > 1), ["k"]) == {"k": ["b"]}


@pytest.mark.parametrize("text", ["", "x,x\n1,2\n", "x,y\n1,2\n1,2,3\n"])
def test_csv_files_that_are_no_table(tmp_path, text):
    with pytest.raises(FileFormatError, match=r"a\.csv"):
        bg.open_dataset(write(tmp_path / "d", a=text))


def test_files_that_are_damaged_or_in_another_encoding(tmp_path):
    folder = write(tmp_path / "d", a={"x": [1]})
    (folder / "b.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FileFormatError, match=r"b\.parquet"):
        bg.open_dataset(folder)
    first, last = "k,x\né,1\n".encode("latin-1"), b"k,x\ne,1\n"
    for parts in ((first, last), (last, first)):
        for name, part in zip("ab", parts, strict=True):
            (tmp_path / f"{name}.csv").write_bytes(part)
        with pytest.raises(FileFormatError, match=r"\.csv"):
            bg.open_dataset(f"{tmp_path}/?.csv")
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfk,x\nf,1\n")
    (tmp_path / "a.csv").write_bytes(last)
    assert rows(bg.open_dataset(f"{tmp_path}/?.csv"))["k"] == ["e", "f"]


def test_integers_that_floats_cannot_hold_are_refused(tmp_path):
    folder = write(tmp_path / "d", a={"x": [2**60 + 1]}, b={"x": [0.5]})
    with pytest.raises(FileFormatError, match="1152921504606846977"):
        rows(bg.open_dataset(folder))


def test_text_of_every_type(tmp_path):
    kinds = (pa.string(), pa.large_string(), pa.string_view())
    parts = {f"p{i}": {"k": pa.array([f"v{i}"], kind)} for i, kind in enumerate(kinds)}
    assert rows(bg.open_dataset(write(tmp_path / "d", **parts)))["k"] == ["v0", "v1", "v2"]


def test_hidden_files_and_those_of_other_programs_are_left_out(tmp_path):
    folder = write(tmp_path / "d", b={"x": [2]})
    write(folder / "sub", a={"x": [3]})
    write(folder / "_temporary", a={"x": [0]})
    write(folder / ".old", a={"x": [0]})
    for name in ("_metadata.parquet", "_SUCCESS", ".b.parquet.crc", ".c.parquet", "notes.txt"):
        (folder / name).write_text("nothing")
    assert rows(bg.open_dataset(folder)) == {"x": [2, 3]}
    (folder / "notes.txt").unlink()
    assert rows(bg.open_dataset(str(folder / "*"))) == {"x": [2]}


def test_rows_are_selected_by_columns_that_are_not_used(tmp_path):
    folder = write(tmp_path / "d", a={"x": [1, 2, 3], "k": ["a", "b", "a"]})
    where = (ds.field("k") == "a") & (ds.field("x") > 1)
    dataset = bg.open_dataset(folder, columns=["x"], where=where)
    assert (dataset.n_rows, rows(dataset)) == (None, {"x": [3]})
    texts = write(tmp_path / "c", a="x,k\n1,a\n2,b\n3,a\n")
    selected = bg.open_dataset(texts, where=where)
    assert rows(selected) == {"x": [3], "k": ["a"]}
    # Only reading tells how many rows are left of a file of either kind.
    assert [piece.n_rows for piece in (*dataset.pieces(["x"]), *selected.pieces(["x"]))] == [
        None
    ] * 2
    with pytest.raises(DataTypeError, match="where="):
        bg.open_dataset(pl.LazyFrame({"x": [1]}), where=where)


def test_rows_of_csv_files_are_selected_by_columns_that_are_not_used(tmp_path):
    folder = write(tmp_path / "d", a="x,k,n\n1,a,1\n2,b,1\n3,a,1\n", b="k,x\na,0\na,9\n")
    where = (ds.field("k") == "a") & (ds.field("x") > 1)
    assert rows(bg.open_dataset(folder, columns=["x"], where=where)) == {"x": [3, 9]}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_conditions_that_select_no_rows_are_refused(tmp_path, kind):
    folder = write(tmp_path / "d", a="x\n1\n" if kind == "csv" else {"x": [1]})
    for where in (ds.field("z") > 1, ds.field("x") > "a", ds.field("x") + 1):
        with pytest.raises(DataError, match=r"where= takes a condition on columns of .*; got"):
            bg.open_dataset(folder, where=where)


def test_the_types_that_a_dataset_of_pyarrow_was_given_are_kept(tmp_path):
    code = pa.schema([("x", pa.float64()), ("code", pa.string())])
    text = write(tmp_path / "c", a="x,code\n1,007\n2,012\n")
    dataset = bg.open_dataset(ds.dataset(text, format="csv", schema=code))
    assert rows(dataset) == {"x": [1.0, 2.0], "code": ["007", "012"]}
    folder = write(tmp_path / "d", a={"x": [1]}, b={"x": [2.5]})
    number = pa.schema([("x", pa.float32())])
    dataset = bg.open_dataset(ds.dataset(folder, schema=number))
    assert (dataset.schema.field("x").type, rows(dataset)) == (pa.float32(), {"x": [1.0, 2.5]})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_filtered_datasets_of_pyarrow(tmp_path, kind):
    folder = write(tmp_path / "d", a="x\n1\n2\n3\n" if kind == "csv" else {"x": [1, 2, 3]})
    data = ds.dataset(folder, format=kind).filter(ds.field("x") > 1)
    dataset = bg.open_dataset(data)
    assert (dataset.n_rows, rows(dataset)) == (2, {"x": [2, 3]})
    assert rows(bg.open_dataset(data, where=ds.field("x") < 3)) == {"x": [2]}


def test_datasets_of_pyarrow_and_lazy_frames(tmp_path):
    columns = {"x": [1, 2, 3], "k": ["a", None, "b"]}
    folder = write(tmp_path / "d", a=columns)
    lazy = pl.LazyFrame(columns).filter(pl.col("x") > 0)
    for data in (ds.dataset(folder), ds.dataset(pa.table(columns)), lazy):
        dataset = bg.open_dataset(data, columns=["k", "x"])
        assert dataset.names == ("k", "x")
        assert rows(dataset) == {"k": ["a", None, "b"], "x": [1, 2, 3]}


def test_a_dataset_opened_again_leaves_the_first_as_it_was(tmp_path):
    first = bg.open_dataset(write(tmp_path / "d", a={"x": [1], "z": [2]}))
    second = bg.open_dataset(first, columns=["z"], max_categories=5)
    assert (first.names, first.max_categories) == (("x", "z"), 10_000)
    assert (second.names, second.max_categories) == (("z",), 5)
    assert as_dataset(first) is first


def test_what_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        bg.open_dataset("")
    for data in (pa.table({"x": [1]}), np.zeros((2, 2)), [[1, 2]], None):
        assert as_dataset(data) is None
        with pytest.raises(DataTypeError, match="A dataset is a path"):
            bg.open_dataset(data)
    with pytest.raises(FileNotFoundError, match="nothing"):
        bg.open_dataset(tmp_path / "nothing")
    folder = write(tmp_path / "d", a={"x": [1]}, b="x\n1\n")
    with pytest.raises(FileFormatError, match="of one kind"):
        bg.open_dataset(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"in the folder .*empty"):
        bg.open_dataset(tmp_path / "empty")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": "x"}, r"columns= takes a list of texts, such as \['x'\]"),
        ({"columns": iter(["x"])}, r"columns= takes a list of names; got <list_iterator"),
        ({"columns": ["x", "y", "x"]}, "'x' more than once"),
        ({"where": "x > 1"}, "where= is an expression of pyarrow"),
        ({"delimiter": ";;"}, "delimiter= .* is one ASCII character"),
        ({"missing": "NA"}, r"missing= takes a list of texts, such as \['NA'\]"),
        ({"text": "x"}, r"text= takes a list of texts, such as \['x'\]"),
        ({"progress": True}, "progress= is a function"),
    ],
)
def test_options_of_another_kind_are_refused_when_a_dataset_is_opened(tmp_path, options, said):
    folder = write(tmp_path / "d", a="x,y\n1,a\n2,b\n")
    with pytest.raises(BayesGraphError, match=said):
        bg.open_dataset(folder, **options)


@pytest.mark.parametrize("options", [{"text": ["x"]}, {"missing": ["?"]}, {"delimiter": ";"}])
def test_options_of_cells_are_refused_where_there_are_none(tmp_path, options):
    dataset = bg.open_dataset(write(tmp_path / "d", a="x\n1\n"))
    for data in (dataset, pl.LazyFrame({"x": [1]})):
        with pytest.raises(DataTypeError, match=f"{next(iter(options))}= tells how cells"):
            bg.open_dataset(data, **options)


def test_what_a_function_returns_is_told_from_the_function():
    def made():
        yield {"x": [1]}

    with pytest.raises(DataTypeError, match="give the function made"):
        bg.NaiveBayesClassifier().fit(made(), "x")
    with pytest.raises(DataTypeError, match=r"batches of rows: .* got dict"):
        bg.open_dataset(made)


def test_progress_counts_the_rows_of_each_pass(tmp_path):
    seen = []
    folder = write(tmp_path / "d", a={"x": [1, 2], "y": ["a", "b"]}, b={"x": [3], "y": ["a"]})
    dataset = bg.open_dataset(folder, progress=lambda *state: seen.append(state))
    bg.NaiveBayesClassifier().fit(dataset, "y")
    assert seen[:2] == [(2, 3), (3, 3)]
    assert len(seen) >= 4
    assert set(seen) == {(2, 3), (3, 3)}


@pytest.mark.parametrize("maximum", ["a", 0, 1.5, True])
def test_a_number_of_categories_that_is_none(maximum):
    with pytest.raises(BayesGraphError, match="max_categories="):
        bg.open_dataset("x.csv", max_categories=maximum)


def test_a_dataset_opened_again_keeps_its_options(tmp_path):
    progress = print
    options = {"max_categories": 5, "sample_rows": 7, "progress": progress, "cache": True}
    first = bg.open_dataset(write(tmp_path / "d", a={"x": [1], "z": [2]}), **options)
    second = bg.open_dataset(first, columns=["z"])
    assert {name: getattr(second, name) for name in options} == options
    assert bg.open_dataset(second, cache=False).cache is False
    with pytest.raises(DataTypeError, match="columns= takes a list"):
        bg.open_dataset(first, columns="xz")


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_folders_of_csv_files_may_be_columns(tmp_path, codec):
    for folder, text in (("k=1", b"x\na\n"), ("k=2", b"x\nb\n"), ("plain", b"x\nc\n")):
        (tmp_path / "d" / folder).mkdir(parents=True)
        packed = text if codec is None else pa.Codec(codec).compress(text, asbytes=True)
        (tmp_path / "d" / folder / "a.csv").write_bytes(packed)
    opened = bg.open_dataset(tmp_path / "d")
    assert rows(opened) == {"x": ["a", "b", "c"], "k": [1, 2, None]}
    opened = bg.open_dataset(tmp_path / "d", columns=["k"], where=ds.field("x") != "a")
    assert rows(opened) == {"k": [2, None]}
    opened = bg.open_dataset(tmp_path / "d", columns=["x"], where=ds.field("k") > 1)
    assert rows(opened) == {"x": ["b"]}


def test_folders_that_lack_a_key_have_no_value_of_it(tmp_path):
    write(tmp_path / "d", a={"x": [1]})
    write(tmp_path / "d" / "key=k", b={"x": [2]})
    opened = bg.open_dataset(tmp_path / "d")
    assert rows(opened) == {"x": [1, 2], "key": [None, "k"]}


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ({"x": [True], "k": ["a"]}, "'x' is bool, expected int64"),
        ({"x": ["2"], "k": ["a"]}, "'x' is string, expected int64"),
        ({"x": [0.5], "k": ["a"]}, "another type.*truncated"),
        ({"x": [1], "k": [7]}, "'k' is int64, expected text"),
        ({"x": ["a"], "k": ["a"]}, "another type"),
        ({"k": ["a"]}, "lacks the columns 'x'"),
    ],
)
def test_batches_that_differ_are_refused(last, said):
    def batches():
        return map(pa.table, [{"x": [1], "k": ["a"]}, last])

    with pytest.raises(BayesGraphError, match=f"what batches returns.*{said}"):
        rows(bg.open_dataset(batches))


def test_batches_of_numbers_are_no_truth_values():
    def batches():
        return map(pa.table, [{"x": [True, None]}, {"x": pa.nulls(1)}, {"x": [2, 7]}])

    with pytest.raises(DataTypeError, match="'x' is int64, expected bool"):
        rows(bg.open_dataset(batches))


def test_the_index_of_batches_is_no_column():
    frame = pd.DataFrame({"x": [1, 2, 3, 4]}, index=["a", "b", "c", "d"])

    def batches():
        return [frame.iloc[[2, 0]], frame[3:].reset_index(drop=True)]

    assert rows(bg.open_dataset(batches)) == {"x": [3, 1, 4]}


@pytest.mark.parametrize("returned", [None, 3, [3]])
def test_functions_that_return_no_batches_are_refused(returned):
    with pytest.raises(DataTypeError, match=r"is expected to be (record batches|batches of rows)"):
        bg.open_dataset(lambda: returned)
