"""Tables as they come: delimiters, encodings, decimal commas, comments, dates, damaged files."""

import contextlib
import datetime
import gzip
import io
import random
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphWarning
from bayesgraph.tables.reading import write_table

DAYS = 19874  # from 1970-01-01 to 2024-05-31


def zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


def read(tmp_path, content, name="t.csv", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return bg.read_table(path, **options).to_pydict()


# ----------------------------------------------------------------------------------- delimiters

SNIFFED = {
    "comma": ("a,b\n1,x\n", {}, {"a": [1], "b": ["x"]}),
    "semicolon": ("a;b\n1;x\n", {}, {"a": [1], "b": ["x"]}),
    "tab": ("a\tb\n1\tx\n", {}, {"a": [1], "b": ["x"]}),
    "bar": ("a|b\n1|x\n", {}, {"a": [1], "b": ["x"]}),
    "given": ("a:b\n1:x\n", {"delimiter": ":"}, {"a": [1], "b": ["x"]}),
    "other delimiters in text": (
        "a;b\n1;x, y\n2;z|z\n",
        {},
        {"a": [1, 2], "b": ["x, y", "z|z"]},
    ),
    "the header has more of another": (
        '"a;b;c",d\n1,2\n',
        {},
        {"a;b;c": [1], "d": [2]},
    ),
    "a delimiter and a line end in quotes": (
        'a,b\n"x;\ny,""z""",2\n',
        {},
        {"a": ['x;\ny,"z"'], "b": [2]},
    ),
    "quotes that open no field": (
        'a,b\n6" pipe,2\n7" pipe,3\n',
        {},
        {"a": ['6" pipe', '7" pipe'], "b": [2, 3]},
    ),
    "one column": ("name\nx\ny\n", {}, {"name": ["x", "y"]}),
    "empty lines": ("\n\na;b\n\n1;2\n", {}, {"a": [1], "b": [2]}),
    "line ends of all kinds": ("a;b\r\n1;2\r3;4\n", {}, {"a": [1, 3], "b": [2, 4]}),
    "empty name": (",b\n1,2\n", {}, {"": [1], "b": [2]}),
    "decimal comma": ("a;b\n1,5;x\n2;y\n", {}, {"a": [1.5, 2.0], "b": ["x", "y"]}),
    "decimal comma and tabs": ("a\tb\n1,5\tx\n", {}, {"a": [1.5], "b": ["x"]}),
    "decimal comma given": (
        "a;b\n1,500;x\n",
        {"decimal": ","},
        {"a": [1.5], "b": ["x"]},
    ),
    "a decimal comma is not the delimiter": (
        "x,a;y,b\n1,5;2,5\n",
        {"decimal": ","},
        {"x,a": [1.5], "y,b": [2.5]},
    ),
    "decimal comma in quotes": (
        'a,b\n"1,5",x\n',
        {"decimal": ",", "delimiter": ","},
        {"a": [1.5], "b": ["x"]},
    ),
    "text stays text": ("a;b\n1,5;x\n", {"text": ["a"]}, {"a": ["1,5"], "b": ["x"]}),
    "a decimal point is asked for": (
        "a;b\n1,5;x\n",
        {"decimal": "."},
        {"a": ["1,5"], "b": ["x"]},
    ),
    "comments": (
        '# a; b\na,b\n#x\n1,"2\n#y"\n',
        {"comment": "#"},
        {"a": [1], "b": ["2\n#y"]},
    ),
}


@pytest.mark.parametrize("case", SNIFFED)
def test_the_first_lines_say_how_a_file_is_written(tmp_path, case):
    text, options, expected = SNIFFED[case]
    assert read(tmp_path, text, **options) == expected


def test_a_suffix_of_tabs_means_tabs(tmp_path):
    assert read(tmp_path, "a,b\tc\n1\t2\n", "t.tsv") == {"a,b": [1], "c": [2]}
    assert read(tmp_path, "a,b\nx,y\n", "t.tsv") == {"a,b": ["x,y"]}


COMMAS = {
    "in quotes": ('a,b\n"1,5",x\n', {"a": ["1,5"], "b": ["x"]}),
    "that may group thousands": ("a;b\n1,500;x\n", {"a": ["1,500"], "b": ["x"]}),
    "beside numbers with points": ("a;b\n1,5;1.5\n", {"a": ["1,5"], "b": [1.5]}),
}


@pytest.mark.parametrize("case", COMMAS)
def test_a_decimal_comma_is_not_guessed_but_told(tmp_path, case):
    text, expected = COMMAS[case]
    with pytest.warns(bg.errors.BayesGraphWarning, match=r"column 'a'.*decimal=','") as told:
        assert read(tmp_path, text) == expected
    assert told[0].filename == __file__


# Cells of a column that as numbers would lose something, with those that keep all of it.
CODES = {
    "leading zeros": ["01234", "94110"],
    "a zero in one row": ["1", "2", "007"],
    "signs and blanks": ["1", " -05 "],
    "fractions, as of ICD-9": ["250.83", "042"],
    "hexadecimal": ["0x10", "0x1F"],
    "beyond 64 bits": ["12345678901234567890", "12345678901234567891"],
    "one more than floats hold, beside a fraction": ["9007199254740993", "1.5"],
    "beyond floats": ["1" * 400, "2"],
}
NUMBERS = {
    "zeros": (["0", "0.5", "-0.25", "0e5"], [0.0, 0.5, -0.25, 0.0]),
    "64 bits": (["9223372036854775807", "9007199254740993"], [2**63 - 1, 2**53 + 1]),
    "whole numbers that floats hold": (["36893488147419103232", "1.5"], [2.0**65, 1.5]),
    "many digits of a fraction": (["0.12345678901234567890"], [0.12345678901234568]),
}


@pytest.mark.parametrize("written", ["{}", '"{}"'])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("case", CODES)
def test_cells_that_numbers_would_change_are_text_and_told(tmp_path, case, delimiter, written):
    cells = CODES[case]
    lines = [f"{written.format(cell)}{delimiter}{i}" for i, cell in enumerate(cells)]
    text = "\n".join([f"code{delimiter}i", *lines, ""])
    with pytest.warns(BayesGraphWarning, match=r"'code'.*text=") as told:
        columns = read(tmp_path, text)
    assert len(told) == 1
    assert columns == {"code": cells, "i": list(range(len(cells)))}
    assert read(tmp_path, text, text=["code"]) == columns


def test_codes_far_down_a_file_and_at_the_end_of_a_block(tmp_path):
    """The type of a column is that of all rows, wherever the search of the text is divided."""
    for fill in range(1 << 20, (1 << 20) - 6, -1):
        rows = ["7" * 9] * ((fill - 4) // 10)
        text = "a,b\n" + "\n".join(f"{x},p" for x in rows)
        text += "7" * (fill - len(text)) + "\n0123,q\n"
        with pytest.warns(BayesGraphWarning, match="'a'"):
            assert read(tmp_path, text)["a"][-1] == "0123"


@pytest.mark.parametrize("case", NUMBERS)
def test_cells_that_numbers_keep_are_numbers(tmp_path, case):
    cells, expected = NUMBERS[case]
    assert read(tmp_path, "\n".join(["a,b", *(f"{cell},x" for cell in cells), ""]))["a"] == expected


def test_all_rows_decide_on_the_types_of_columns(tmp_path):
    text = "a,b\n" + "1,2\n" * 600_000 + '"x\ny",3\n'  # more than a block of pyarrow
    found = read(tmp_path, text)
    assert found["a"][0] == "1"
    assert found["a"][-1] == "x\ny"
    assert found["b"][-1] == 3


# ----------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-32", None),
        ("latin-1", "latin-1"),
        ("cp1252", "cp1252"),
        ("utf-16-le", "utf-16-le"),
        ("utf-8-sig", "utf-8"),
        ("shift-jis", "shift-jis"),
    ],
)
def test_encodings(tmp_path, written, given):
    name = "名" if "jis" in written else "Müller"
    data = f"name;b\n{name};1\n".encode(written)
    assert read(tmp_path, data, encoding=given) == {"name": [name], "b": [1]}


@pytest.mark.parametrize(
    ("packed", "suffix"),
    [(gzip.compress, "csv.gz"), (zstd, "csv.zst"), (zstd, "csv"), (gzip.compress, "tsv.gz")],
)
def test_compressed_files_are_known_by_their_first_bytes(tmp_path, packed, suffix):
    text = b"a\tb\n1\t2\n"
    assert read(tmp_path, packed(text), f"t.{suffix}") == {"a": [1], "b": [2]}


def test_an_open_file_is_read_for_what_it_is(tmp_path):
    table = pa.table({"a": [1], "b": [2]})
    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    for data in (b"a;b\n1;2\n", gzip.compress(b"a,b\n1,2\n"), parquet.getvalue()):
        assert bg.read_table(io.BytesIO(data)) == table


# ----------------------------------------------------------------------------------- dates

INSTANTS = "when,y\n2024-05-31 12:00:00,a\n2024-06-02 13:30:00,b\n,a\n"


def test_dates_become_their_parts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(INSTANTS)
    table = bg.read_table(path, dates="parts")
    assert table.to_pydict() == {
        "when_year": [2024, 2024, None],
        "when_month": ["May", "June", None],
        "when_weekday": ["Friday", "Sunday", None],
        "when_hour": [12, 13, None],
        "y": ["a", "b", "a"],
    }
    months = bg.NaiveBayesClassifier().fit(table.drop_columns("y"), table["y"]).network_
    assert months.variable("when_month").states[:2] == ("January", "February")
    path.write_text("when\n2024-05-31\n")
    assert bg.read_table(path, dates="parts").column_names == [
        *("when_year", "when_month", "when_weekday")
    ]


def test_dates_become_days(tmp_path):
    def name(origin):
        return f"when_days_since_{origin}"

    expected = [DAYS + 0.5, DAYS + 2 + 13.5 / 24, None]
    found = read(tmp_path, INSTANTS, dates="days")
    assert found == {name("1970-01-01"): expected, "y": ["a", "b", "a"]}
    found = read(tmp_path, INSTANTS, dates="days since 2024-05-31")
    assert found[name("2024-05-31")][0] == 0.5
    assert read(tmp_path, "when\n2024-05-31\n", dates="days") == {name("1970-01-01"): [DAYS]}
    zoned = read(tmp_path, "when\n2024-05-31T00:00:00+06:00\n", dates="days")
    assert zoned == {name("1970-01-01"): [DAYS - 0.25]}


def test_dates_of_parquet_files(tmp_path):
    instants = [datetime.datetime(2024, 5, 31, 12), None]
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"when": pa.array(instants, pa.timestamp(unit))})
        pq.write_table(table, tmp_path / "t.parquet")
        found = bg.read_table(tmp_path / "t.parquet", dates="days").to_pydict()
        assert found == {"when_days_since_1970-01-01": [DAYS + 0.5, None]}


def test_dates_that_are_left_are_refused_with_what_to_do(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(INSTANTS)
    table = bg.read_table(path)
    with pytest.raises(bg.errors.DataTypeError, match=r"'when'.*dates='parts'.*--dates"):
        bg.NaiveBayesClassifier().fit(table.select(["when"]), table["y"])


# ----------------------------------------------------------------------------------- refusals

REFUSED = {
    "several delimiters": ("a;b,c\n1;2,3\n", {}, r"any of ',', ';'; say which with delimiter="),
    "ragged": ("a,b\n1,2\n1\n", {}, r"separated by ',': Row #3: Expected 2 columns, got 1"),
    "ragged, semicolons": ("a;b\n1;2\n1\n", {}, r"separated by ';'"),
    "comment lines": ("# x\na,b\n1,2\n", {}, r"comment="),
    "empty": ("", {}, r"Empty CSV file"),
    "duplicate names": ("a,b,a\n1,2,3\n", {}, r"a name of its own; several have the name 'a'"),
    "two empty names": ("a,,\n1,2,3\n", {}, r"the name ''"),
    "a name of its parts": (
        "when,when_year\n2024-05-31,1\n",
        {"dates": "parts"},
        r"the name 'when_year'",
    ),
    "latin-1": (
        "a\nMüller\n".encode("latin-1"),
        {},
        r"t\.csv, line 2: the byte 0xfc is not text in utf-8; .*encoding='latin-1'",
    ),
    "UTF-16 without a mark": ("a\nx\n".encode("utf-16-le"), {}, r"utf-16-le"),
    "cut off UTF-16": ("a\nx\n".encode("utf-16")[:-1], {}, r"not text in utf-16"),
    "cut off gzip": (gzip.compress(b"a\n1\n")[:-4], {}, r"t\.csv cannot be read.*Truncated"),
    "cut off zstd": (zstd(b"a\n1\n")[:-4], {}, r"t\.csv cannot be read.*Truncated"),
    "a gzip bomb": (gzip.compress(b"1\n" * 10**7), {}, r"gzip content would take .*limit="),
    "a zstd bomb": (zstd(b"1\n" * 10**7), {}, r"zstd content would take .*limit="),
    "a limit": ("a,b\n1,2\n", {"limit": 1000}, r"2 columns would take 16,384 bytes.*limit="),
    "columns": ("," * 100_000 + "\n", {}, r"100,001 columns would take .*limit="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_are_refused_with_what_to_do(tmp_path, case):
    content, options, message = REFUSED[case]
    with pytest.raises(bg.errors.FileFormatError, match=message) as raised:
        read(tmp_path, content, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ";;"},
        {"delimiter": "é"},
        {"delimiter": '"'},
        {"decimal": ";"},
        {"comment": ""},
        {"encoding": "utf-9"},
        {"encoding": "hex"},
        {"dates": "months"},
        {"dates": "days since spring"},
    ],
)
def test_parameters_are_refused_with_what_is_expected(tmp_path, options):
    (name,) = options
    with pytest.raises(bg.errors.DataError, match=rf"^{name}= \(--{name}\) is "):
        read(tmp_path, "a\n1\n", **options)


@pytest.mark.parametrize("name", ["missing", "text"])
def test_a_text_in_place_of_a_list_is_not_taken_for_its_letters(tmp_path, name):
    with pytest.raises(bg.errors.DataTypeError, match=rf"^{name}= takes a list of texts"):
        read(tmp_path, "a\n1\n", **{name: "a"})


def test_paths_are_refused_in_words(tmp_path):
    with pytest.raises(FileNotFoundError):
        bg.read_table(tmp_path / "no.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        bg.read_table(tmp_path / "d.csv")
    with pytest.raises(bg.errors.FileFormatError, match=r"one of '\.csv'"):
        bg.read_table(tmp_path / "t.xlsx")


# ----------------------------------------------------------------------------------- Parquet


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, store_schema=False)
    return stream.getvalue()


def test_parquet_keeps_the_types_of_columns(tmp_path):
    table = pa.table(
        {
            "text": ["a", "b", None],
            "large": pa.array(["a", "b", None], pa.large_string()),
            "view": pa.array(["a", "b", None], pa.string_view()),
            "category": pa.array(["z", "y", "z"]).dictionary_encode(),
            "bytes": [b"a", b"b", None],
            "decimal": pa.array([1, 2, None]).cast(pa.decimal128(38, 2)),
            "number": [1, 2, 3],
            "flag": [True, False, None],
            "words": [["a"], [], ["b", "b"]],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    found = bg.read_table(tmp_path / "t.parquet").drop_columns("words")
    assert found.to_pydict() == table.drop_columns("words").to_pydict()
    assert found.schema.types == table.drop_columns("words").schema.types


@pytest.mark.parametrize(("outer", "inner"), [(False, True), (True, False), (True, True)])
def test_texts_in_structures_of_a_parquet_file_are_read(tmp_path, outer, inner):
    structure = pa.struct([pa.field("a", pa.string(), nullable=inner)])
    fields = [pa.field("s", structure, nullable=outer), pa.field("s.a", pa.string())]
    columns = {"s": [{"a": "x"}, {"a": "y"}], "s.a": ["z", None]}
    # A column may be called as the field within the other.
    for n in (1, 2):
        table = pa.table(columns, pa.schema(fields)).select(range(n))
        pq.write_table(table, tmp_path / "t.parquet")
        assert bg.read_table(tmp_path / "t.parquet").to_pydict() == table.to_pydict()


def test_a_parquet_file_that_repeats_a_text_takes_no_more_than_the_limit(tmp_path):
    codes = pa.array([0] * 20_000, pa.int32())
    data = parquet(a=pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 100_000])))
    assert len(data) < 1e6
    with pytest.raises(bg.errors.FileFormatError, match=r"column 'a' would take 2,000,000,000"):
        read(tmp_path, data, "t.parquet")
    with pytest.raises(bg.errors.FileFormatError, match=r"cells would take"):
        read(tmp_path, parquet(a=pa.nulls(10_000_000, pa.int64())), "t.parquet")


TOKENS = (b'"', b",", b";", b"\0", b"\xff\xfe", b"\r\n", b"9" * 40)


def test_a_text_of_a_parquet_file_is_text(tmp_path):
    data = parquet(a=["abcdef"] * 9).replace(b"abcdef", b"abc\xffef")
    with pytest.raises(bg.errors.FileFormatError, match="UTF8"):
        read(tmp_path, data, "t.parquet")


def mutated(data, draws):
    """Return bytes with one to six changes, such as files get when they are damaged."""
    changed = bytearray(data)
    for _ in range(draws.choice((1, 1, 2, 6))):
        at = draws.randrange(len(changed) or 1)
        kind = draws.randrange(4)
        if kind == 0:
            changed[at : at + 1] = draws.randbytes(1)
        elif kind == 1:
            del changed[at : at + draws.randrange(1, 60)]
        elif kind == 2:
            changed[at:at] = changed[at : at + draws.randrange(1, 200)] * draws.choice((1, 2, 50))
        else:
            changed[at:at] = draws.choice(
                (b'"', b",", b";", b"\0", b"\xff\xfe", b"\r\n", b"9" * 40)
            )
    return bytes(changed)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_damaged_files_are_read_or_refused(tmp_path, kind, seed):
    draws = random.Random(seed)
    text = 'when,a;b,"c,d"\n2024-05-31,"1,5",x\n2024-06-01,2;5,"y\nz"\n' * 3
    whole = {
        "csv": text.encode(),
        "csv.gz": gzip.compress(text.encode()),
        "parquet": parquet(a=["x", "y", None] * 9, b=[1.5, 2.5, None] * 9, c=[[1], [], None] * 9),
    }[kind]
    read_ones = 0
    for _ in range(200 if seed == 0 else 30_000):
        with contextlib.suppress(bg.errors.BayesGraphError):
            read(tmp_path, mutated(whole, draws), f"t.{kind}", dates="parts")
            read_ones += 1
    assert read_ones or kind != "csv"


SHAPES = (
    *('"', ',"', ',""', '"a""', '\n"', ",", ";,|\t", "#", "a\n", ",\n", "\r", '\n#"', '";'),
    *("1,5;", "1,5\n", "\n1", " ", "\ufeff", "x"),
)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_reading_takes_time_in_proportion_to_the_file(tmp_path, shape):
    """No shape of 1 MB takes more than 2 s of CPU."""
    data = ("a,b\n" + shape * (1_000_000 // len(shape))).encode()
    began = time.process_time()
    for options in ({}, {"comment": "#", "decimal": ","}):
        with contextlib.suppress(bg.errors.BayesGraphError):
            read(tmp_path, data, **options)
    assert time.process_time() - began < 4


# ----------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "tsv.gz", "parquet"])
def test_what_is_written_is_read(tmp_path, suffix):
    columns = {"a;b": ['x, "y"', "z\tz"], "c,d": [0.1, 1e-300]}
    for name in ("1", "2"):
        write_table(columns, tmp_path / f"{name}.{suffix}")
    assert bg.read_table(tmp_path / f"1.{suffix}").to_pydict() == columns
    assert (tmp_path / f"1.{suffix}").read_bytes() == (tmp_path / f"2.{suffix}").read_bytes()


def test_zstd_is_read_only(tmp_path):
    with pytest.raises(bg.errors.FileFormatError, match="suffix of a table"):
        write_table({"a": [1]}, tmp_path / "t.csv.zst")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells the memory of Linux")
def test_damaged_compressed_files_leave_no_memory_behind(tmp_path):
    data = gzip.compress(b"a,b\n1,2\n" * 50)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(data[:12] + b"xx" + data[14:])

    def pages():
        for _ in range(100):
            with pytest.raises(bg.errors.FileFormatError):
                bg.read_table(path)
        return int(Path("/proc/self/statm").read_text().split()[0])

    pages()
    before = pages()
    assert (pages() - before) * 4096 < 50 << 20  # half a megabyte for each file
