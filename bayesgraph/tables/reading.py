"""Tables in CSV and Parquet files, read and written by pyarrow."""

from __future__ import annotations

import codecs
import datetime
import glob
import io
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import files
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataError,
    DataTypeError,
    FileFormatError,
    optional_module,
    quoted,
    warn,
)
from bayesgraph.core.variables import MISSING

# ------------ The text of CSV files: its encoding, its comment lines and what separates its fields


_DELIMITERS = ",;\t|"
# How many bytes and lines at the beginning of a file decide on the delimiter.
_SAMPLE_BYTES = 1 << 20
_SAMPLE_LINES = 100
# The four bytes of UTF-32 begin with the two of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A quote opens a field only where a field begins, which is after a delimiter or a line end, or at
# the beginning: 6" is six inches. Two quotes within a quoted field stand for one. No byte of any
# text is looked at more than twice: the quantifiers are possessive, and an open quote ends with the
# text.
_QUOTED = rb'(?<![^,;\t|\r\n])"(?:[^"]++|"")*+(?:"|\Z)'
_QUOTED_FIELD = re.compile(_QUOTED)
# All up to the first line end that is not within quotes.
_HEADER = re.compile(rb'(?:[^"\r\n]++|' + _QUOTED + rb'|")*+')


def as_utf8(data: bytes, encoding: str | None, source: str) -> bytes:
    """Return text in UTF-8 without byte order mark.

    Parameters
    ----------
    data : bytes
    encoding : str or None
        One of Python's text encodings; None for that of the byte order mark, or else UTF-8.
    source : str
        Name of the file in messages.

    Raises
    ------
    DataError
        If there is no such encoding.
    FileFormatError
        If the bytes are not of the encoding.
    """
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    name = marked if encoding is None else encoding
    try:
        text = data.decode(name)
    except LookupError as error:
        raise DataError(
            f"encoding= (--encoding) is a name such as 'utf-8', 'latin-1' or 'utf-16'; "
            f"got {encoding!r}."
        ) from error
    except UnicodeError as error:
        place = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, place) + 1
        raise FileFormatError(
            f"{source}, line {line}: the byte 0x{data[place]:02x} is not text in {name}; give the "
            "encoding of the file, such as encoding='latin-1' or 'utf-16' (--encoding)."
        ) from error
    if "\0" in text:
        raise FileFormatError(
            f"{source}: a table of text holds no zero bytes; if it is in UTF-16, give "
            "encoding='utf-16-le' or 'utf-16-be' (--encoding)."
        )
    return data if name == "utf-8" else text.removeprefix("\ufeff").encode()


def without_comments(text: bytes, comment: str) -> bytes:
    """Return a text without the lines that begin with `comment` and are not within quotes."""
    start = re.escape(comment.encode())
    # A quoted field is matched as a whole and kept (group 1); a comment line has no group.
    lines = re.compile(b"(" + _QUOTED + rb")|(?<![^\r\n])" + start + rb"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
    return lines.sub(lambda match: match[1] or b"", text)


def n_fields(text: bytes, delimiter: str) -> int:
    """Return the number of fields of the first line that is not empty, also with quoted ends."""
    begin = len(text) - len(text.lstrip(b"\r\n"))
    match = _HEADER.match(text, begin)
    line = match[0] if match else b""
    return _QUOTED_FIELD.sub(b"", line).count(delimiter.encode()) + 1


def sniffed_delimiter(text: bytes, source: str, *, decimal: str | None) -> str:
    """Return the separator of the fields, decided by the first lines.

    It is the one of comma, semicolon, tab and bar that is in the header, outside of quotes, and
    equally often in every line. If none is, the table is ragged, and it is the one of which that
    is true of most lines; a table without any of them has one column.

    Raises
    ------
    FileFormatError
        If it is true of several.
    """
    sample = _QUOTED_FIELD.sub(b"", text[:_SAMPLE_BYTES])
    lines = [line for line in re.split(rb"[\r\n]+", sample) if line]
    if len(text) > _SAMPLE_BYTES:
        lines = lines[:-1] or lines  # the last one is cut off
    lines = lines[:_SAMPLE_LINES]
    # The share of the lines that have as many of a delimiter as the header.
    shares = {}
    for delimiter in _DELIMITERS:
        counts = [line.count(delimiter.encode()) for line in lines]
        if delimiter != decimal and counts and counts[0]:
            shares[delimiter] = counts.count(counts[0]) / len(counts)
    consistent = [delimiter for delimiter, share in shares.items() if share == 1]
    if len(consistent) > 1:
        raise FileFormatError(
            f"{source}: the fields may be separated by any of {quoted(consistent)}; say which "
            "with delimiter= (--delimiter)."
        )
    return max(shares, key=shares.__getitem__, default=",")


def arrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, or the error that says how to install it."""
    return optional_module(f"pyarrow{module}", extra="tables", what="Reading and writing tables")


# ------ Columns of dates in tables, as columns that a model takes: their parts, or numbers of days


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime.date(1970, 1, 1)
_MICROSECONDS = 86_400_000_000  # of a day


def origin_of(dates: str | None) -> datetime.date | None:
    """Return the date from which days are counted; None if they are not.

    Raises
    ------
    DataError
        If `dates` is none of the texts that `read_table` takes.
    """
    if dates in (None, "parts"):
        return None
    if dates == "days":
        return _EPOCH
    begin, _, end = str(dates).rpartition(" ")
    if begin == "days since":
        try:
            return datetime.date.fromisoformat(end)
        except ValueError:
            pass
    raise DataError(
        "dates= (--dates) is 'parts' (year, month, weekday, hour), 'days' (since 1970-01-01) or "
        f"such as 'days since 2000-01-01'; got {dates!r}."
    )


def with_dates(table: Any, origin: datetime.date | None) -> Any:
    """Return a pyarrow Table with other columns in the place of each column of dates.

    They are its parts, or the number of days since an origin, if there is one.
    """
    types = arrow(".types")
    names: list[str] = []
    columns: list[Any] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        replaced = {field.name: column}
        if types.is_timestamp(field.type) or types.is_date(field.type):
            replaced = _days(field.name, column, origin) if origin else _parts(field.name, column)
        names += replaced
        columns += replaced.values()
    return type(table).from_arrays(columns, names=names)


def _days(name: str, column: Any, origin: datetime.date) -> dict[str, Any]:
    """Return the days since the origin, with a fraction for the time of the day."""
    compute = arrow(".compute")
    zone = getattr(column.type, "tz", None)
    instants = compute.cast(column, arrow().timestamp("us", zone), safe=False)
    # Arrow counts from 1970-01-01, which is UTC of instants with a zone.
    days = compute.divide(compute.cast(instants, arrow().int64()), float(_MICROSECONDS))
    since = compute.subtract(days, float((origin - _EPOCH).days))
    return {f"{name}_days_since_{origin}": since}


def _parts(name: str, column: Any) -> dict[str, Any]:
    """Return year, month and weekday, and of instants the hour, as columns by name."""
    compute = arrow(".compute")
    types = arrow(".types")
    # Arrow counts months from 1, and weekdays from 0, which is Monday.
    months = compute.subtract(compute.month(column), 1)
    parts = {
        f"{name}_year": compute.year(column),
        f"{name}_month": _named(months, _MONTHS),
        f"{name}_weekday": _named(compute.day_of_week(column), _WEEKDAYS),
    }
    if types.is_timestamp(column.type):
        parts[f"{name}_hour"] = compute.hour(column)
    return parts


def _named(numbers: Any, names: tuple[str, ...]) -> Any:
    """Return a column of ordered categories, from numbers that are indices of their names."""
    codes = numbers.combine_chunks().cast(arrow().int8())
    return arrow().DictionaryArray.from_arrays(codes, arrow().array(names), ordered=True)


# ------------------------------------ Tables in CSV and Parquet files, read and written by pyarrow


PARQUET = (".parquet", ".pq")
WRITTEN = (".csv", ".csv.gz", ".tsv", ".tsv.gz", *PARQUET)
READ = (*WRITTEN, ".csv.zst", ".tsv.zst")
# The first bytes of files: those of compressed ones, and of Parquet.
_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PARQUET_MAGIC = b"PAR1"
_CHUNK = 1 << 20
# What pyarrow allocates for a column of a CSV file, whatever the number of rows.
_COLUMN_BYTES = 8 << 10
# The largest block that pyarrow takes; it infers the types of columns from the first block.
_MAX_BLOCK = 1 << 30
# Rows that are converted without Arrow's help.
_FEW_ROWS = 10_000
# The largest content of an Arrow array of text, whose offsets have 32 bits.
_MAX_TEXT = (1 << 31) - 1
# Numbers with a decimal comma, or without one; and those whose commas may group thousands.
_COMMA_NUMBER = r"^\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*$"
_THOUSANDS = r"^\s*[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)\s*$"
# Cells that as numbers lose their zeros, or the base 16; and whole numbers that floats may round,
# which keep 15 digits of any number.
_CODE = r"^\s*[+-]?0[0-9xX]"
_LONG = r"^\s*[+-]?[0-9]{16,}\s*$"
# Bytes of a field that tell such cells.
_FIELD_BEGIN = 64


def _suffix(path: files.PathLike, suffixes: tuple[str, ...], hint: str = "") -> str:
    """Return which of some suffixes a path has, or refuse it; `hint` ends the message."""
    name = files.path_text(path)
    for suffix in suffixes:
        if name.lower().endswith(suffix):
            return suffix
    raise FileFormatError(f"{name!r}: the suffix of a table is one of {quoted(suffixes)}.{hint}")


def check_no_text(names: Iterable[Any], where: str) -> None:
    """Raise an error for a text in place of a list of texts, which would be its letters."""
    if isinstance(names, str):
        raise DataTypeError(f"{where} takes a list of texts, such as [{names!r}]; got a text.")


def check_character(name: str, value: str | None) -> None:
    """Raise an error for an option that is no single character of a CSV file."""
    if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n\0'):
        raise DataError(
            f"{name}= (--{name}) is one ASCII character, such as ';' or ','; got {value!r}."
        )


@dataclass(frozen=True)
class _Dialect:
    """How a CSV file is written; see the parameters of `read_table`."""

    missing: tuple[str, ...]
    text: tuple[str, ...]
    delimiter: str | None
    encoding: str | None
    decimal: str | None
    comment: str | None

    def __post_init__(self) -> None:
        for name, value in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            check_character(name, value)
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal= (--decimal) is '.' or ','; got {self.decimal!r}.")
        if self.comment is not None and not self.comment.strip():
            raise DataError(
                "comment= (--comment) is what begins a line that is left out, such as '#'; "
                f"got {self.comment!r}."
            )


def read_table(
    path: files.PathLike | BinaryIO,
    *,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    comment: str | None = None,
    dates: str | None = None,
    limit: int | None = None,
) -> Any:
    """Read a CSV or Parquet file as a pyarrow Table.

    Parameters
    ----------
    path : str, path or binary file
        .csv, .tsv (both optionally .gz or .zst), .parquet or .pq; or an open file, such as
        ``sys.stdin.buffer``, whose first bytes tell what it is.
    missing : sequence of str
        Texts of CSV cells that mean a missing value.
    text : sequence of str
        Columns of a CSV file to read as text, even if all values look like numbers. Those whose
        numbers would lose leading zeros or digits are text, too, with a warning.
    delimiter : str, optional
        What separates the fields of a CSV file. By default the tab in .tsv files, and elsewhere
        the one of comma, semicolon, tab and bar that the header and each of the first 100 lines
        have equally often outside of quotes.
    encoding : str, optional
        One of Python's text encodings, such as ``"latin-1"``; by default UTF-8, or what the byte
        order mark of a CSV file says.
    decimal : {".", ","}, optional
        The decimal point of a CSV file. By default a point; and a comma if another delimiter
        separates the fields and no number has a point. Columns that look like numbers with a comma
        and stay text are named in a warning.
    comment : str, optional
        Lines of a CSV file that begin with this text are left out, those within quotes excepted.
    dates : str, optional
        What becomes of each column of dates or instants: ``"parts"``, columns with the year, the
        month, the weekday and, of instants, the hour (``when_year``, ..., of a column ``when``;
        months and weekdays are categories); ``"days"``, a column of the number of days since
        1970-01-01 in UTC (``when_days_since_1970-01-01``); or from another origin, such as
        ``"days since 2000-01-01"``. By default they stay dates, which no model takes. Dates in CSV
        files are recognised as ISO 8601 writes them, ``2024-05-31`` and ``2024-05-31 12:00``; with
        an offset from UTC, they are instants in UTC.
    limit : int, optional
        Bytes that reading may allocate; by default 64 MB and 40 times the size of the file.

    Warns
    -----
    BayesGraphWarning
        If columns of text look like numbers with a comma.

    Raises
    ------
    FileNotFoundError
    FileFormatError
        If the suffix is unknown, the file is not of the format that it names, two columns have one
        name, or reading would take more than `limit`.
    DataError
        If the file has no rows, or a parameter has a value that it cannot have.
    """
    check_no_text(missing, "missing=")
    check_no_text(text, "text=")
    dialect = _Dialect(tuple(missing), tuple(text), delimiter, encoding, decimal, comment)
    origin = origin_of(dates)  # a wrong value is told before the file is read
    source, suffix, data = _content(path, delimiter)
    budget = files.Budget(source, len(data), limit)
    with files.reading(source, suffix):
        if suffix in PARQUET:
            table = _read_parquet(data, budget)
        else:
            table = _read_csv(_inflated(data, budget), suffix, dialect, budget)
        if dates is not None:
            table = with_dates(table, origin)
    if not table.num_rows:
        raise DataError(f"{source!r} has no rows.")
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise FileFormatError(
            f"{source}: each column needs a name of its own; several have the name "
            f"{quoted(repeated)}. Rename them in the file."
        )
    may_have_commas = suffix not in PARQUET and dialect.decimal is None
    if may_have_commas and (columns := _comma_numbers(table, dialect)):
        warn(
            f"{source}: numbers with a comma are read as text in the column "
            f"{quoted(columns)}. Give decimal=',' (--decimal ,) if it is the decimal comma, or "
            "name the column in text= (--text) if it is text.",
            BayesGraphWarning,
        )
    return table


def _content(path: files.PathLike | BinaryIO, delimiter: str | None) -> tuple[str, str, bytes]:
    """Return name, suffix and bytes of a file.

    With a delimiter, a path may have any suffix: ``""`` is returned if it is none of `READ`.
    """
    if isinstance(path, (str, os.PathLike)):
        _check_is_file(Path(path))
        # Every name ends with the empty suffix.
        suffixes = READ if delimiter is None else (*READ, "")
        hint = " delimiter= reads text of any other suffix."
        return files.path_text(path), _suffix(path, suffixes, hint), files.read_bytes(path)
    if not hasattr(path, "read"):
        raise DataTypeError(f"read_table takes a path or an open binary file; got {path!r:.80}.")
    data = path.read()
    suffix = ".parquet" if data.startswith(_PARQUET_MAGIC) else ".csv"
    return str(getattr(path, "name", "the stream")), suffix, data


def _check_is_file(path: Path) -> None:
    """Raise an error for a path without a suffix that is a folder, or that does not exist."""
    if path.suffix:
        return
    if path.is_dir():
        raise FileFormatError(
            f"'{path}' is a folder, and a table is one file here. Folders are what classifiers "
            "take in fit and predict_dataset."
        )
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder '{path}'.")


# ------------------------------------------------------------------------------------- CSV


def codec_of(data: bytes) -> str | None:
    """Return pyarrow's name of the compression that first bytes tell, None if there is none."""
    return next((name for magic, name in _CODECS.items() if data.startswith(magic)), None)


def _inflated(data: bytes, budget: files.Budget) -> bytes:
    """Return the content of a compressed file, recognised by its first bytes, or that of others."""
    codec = codec_of(data)
    if codec is None:
        return data
    size, pieces, buffer = 0, [], memoryview(bytearray(_CHUNK))
    with arrow().CompressedInputStream(arrow().BufferReader(data), codec) as stream:
        # Not `read`, which never frees its buffer if the content is damaged.
        while n_read := stream.readinto(buffer):
            size += n_read
            if size > budget.inflated:
                raise budget.refusal(f"the {codec} content", size, budget.inflated)
            pieces.append(bytes(buffer[:n_read]))
    budget.take(size, "the inflated content")
    return b"".join(pieces)


def _read_csv(data: bytes, suffix: str, dialect: _Dialect, budget: files.Budget) -> Any:
    """Return the table of a CSV file, whose delimiter and decimal point are found if not given."""
    text = as_utf8(data, dialect.encoding, budget.source)
    if dialect.comment is not None:
        text = without_comments(text, dialect.comment)
    delimiter = dialect.delimiter
    if delimiter is None and ".tsv" in suffix:
        delimiter = "\t"
    if delimiter is None:
        delimiter = sniffed_delimiter(text, budget.source, decimal=dialect.decimal)
    columns = n_fields(text, delimiter)
    budget.take(columns * _COLUMN_BYTES, f"{columns:,} columns")
    decimal = dialect.decimal or "."
    table = _parsed(text, delimiter, decimal, dialect, budget.source)
    may_be_comma = dialect.decimal is None and delimiter != ","
    if may_be_comma and any(_comma_numbers(table, dialect).values()):
        # With a decimal comma, unless numbers with a point would become text.
        with_comma = _parsed(text, delimiter, ",", dialect, budget.source)
        kinds = zip(table.schema.types, with_comma.schema.types, strict=True)
        if not any(old != new == arrow().string() for old, new in kinds):
            decimal, table = ",", with_comma

    def parsed(texts: Mapping[str, Any], names: Iterable[str] = dialect.text) -> Any:
        """Return the table with the columns `texts` and `names` as text; see `codes_among`."""
        as_text = replace(dialect, text=(*texts, *names))
        return _parsed(text, delimiter, decimal, as_text, budget.source)

    contents = [(arrow().BufferReader(text), lambda *args: parsed(*args).to_batches())]
    codes = codes_among(table.schema, contents, delimiter, budget.source)
    return parsed(codes) if codes else table


def codes_among(
    schema: Any,
    contents: Iterable[tuple[Any, Callable[..., Iterable[Any]]]],
    delimiter: str,
    source: str,
) -> dict[str, Any]:
    """Return the type of text for columns of numbers with cells that numbers do not keep.

    These are codes with leading zeros, hexadecimal numbers, and whole numbers that floats round. A
    warning names the columns.

    Parameters
    ----------
    schema : pyarrow.Schema
    contents : iterable of (pyarrow.NativeFile, callable)
        The text of each file, and a function that returns batches of its rows, given the types of
        columns and their names. A search of the former tells most files that have no such cell.
    delimiter : str
    source : str
    """
    types, compute = arrow().types, arrow(".compute")
    kinds = dict(zip(schema.names, schema.types, strict=True))
    numbers = [n for n, k in kinds.items() if types.is_integer(k) or types.is_floating(k)]
    codes: dict[str, Any] = {}
    for stream, as_text in contents if numbers else ():
        if not _may_have_codes(stream, delimiter):
            continue
        for batch in as_text(dict.fromkeys(numbers, arrow().string()), numbers):
            for name, cells in zip(batch.schema.names, batch.columns, strict=True):
                if name not in numbers or name in codes:
                    continue
                # Leading zeros, or the base 16; else whole numbers that no float equals.
                is_code = compute.any(compute.match_substring_regex(cells, _CODE)).as_py()
                if not is_code and types.is_floating(kinds[name]):
                    whole = cells.filter(compute.match_substring_regex(cells, _LONG)).to_pylist()
                    is_code = any(Decimal(cell) != Decimal(float(cell)) for cell in whole)
                if is_code:
                    codes[name] = arrow().string()
    if codes:
        warn(
            f"{source}: numbers that would lose leading zeros or digits are read as text in the "
            f"column {quoted(codes)}. Name it in text= (--text) if it is text; convert it if it is "
            "a measure.",
            BayesGraphWarning,
        )
    return codes


def _may_have_codes(stream: Any, delimiter: str) -> bool:
    """Return whether a field begins with a zero before a digit or an x, or with many digits.

    The first field of the text, which no delimiter precedes, belongs to the header.
    """
    compute, kind, buffer = arrow(".compute"), arrow().large_binary(), arrow().py_buffer
    pattern = rf"[\n\r\x{ord(delimiter):02x}][\" \t]*[+-]?(0[0-9xX]|[0-9]{{16}})"
    before = b""  # the end of the block before
    while block := stream.read(_CHUNK):
        text = before + block  # a field may begin in one block and end in the next
        # One value of an array, given by its two offsets and its bytes: a scalar, or an array of a
        # list, would import pandas.
        parts = [None, buffer(struct.pack("2q", 0, len(text))), buffer(text)]
        cell = arrow().Array.from_buffers(kind, 1, parts)
        if compute.match_substring_regex(cell, pattern)[0].as_py():
            return True
        before = block[-_FIELD_BEGIN:]
    return False


def _parsed(text: bytes, delimiter: str, decimal: str, dialect: _Dialect, source: str) -> Any:
    """Parse text; every row decides on the types of the columns, not only the first ones."""
    csv = arrow(".csv")

    def parse(threads: bool) -> Any:
        """Return the table; one block with the whole text infers types from every row."""
        return csv.read_csv(
            arrow().BufferReader(text),
            read_options=csv.ReadOptions(
                use_threads=threads, block_size=min(max(len(text), 1), _MAX_BLOCK)
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=list(dialect.missing),
                strings_can_be_null=True,
                decimal_point=decimal,
                column_types=dict.fromkeys(dialect.text, arrow().string()),
            ),
        )

    try:
        return parse(True)
    except arrow().ArrowInvalid:
        pass
    # Without threads the error says which row it is.
    try:
        return parse(False)
    except arrow().ArrowInvalid as error:
        said = str(error).splitlines()[0].removeprefix("CSV parse error: ")
        raise FileFormatError(
            f"{source!r} cannot be read as a table with the fields separated by {delimiter!r}: "
            f"{said:.200}. Mend the file, or say how it is written: delimiter=, comment= "
            "(--delimiter, --comment)."
        ) from error


def _comma_numbers(table: Any, dialect: _Dialect) -> dict[str, bool]:
    """Return the columns of text whose values look like numbers with commas.

    The value is whether some comma cannot group thousands.
    """
    with_commas = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.type != arrow().string() or name in dialect.text:
            continue
        # The first values tell most columns, without the functions that look at all values.
        first = [value for value in column.slice(0, 20).to_pylist() if value is not None]
        if not all(re.search(_COMMA_NUMBER, value) for value in first):
            continue
        compute = arrow(".compute")
        numbers = compute.all(compute.match_substring_regex(column, _COMMA_NUMBER)).as_py()
        if numbers and compute.any(compute.match_substring(column, ",")).as_py():
            thousands = compute.all(compute.match_substring_regex(column, _THOUSANDS)).as_py()
            with_commas[name] = not thousands
    return with_commas


# ------------------------------------------------------------------------------------- Parquet


def _read_parquet(data: bytes, budget: files.Budget) -> Any:
    """Read a Parquet file, whose tables are larger than the file says.

    A value that is stored once may be repeated in all rows: text is read as categories, and
    decoded when its size is known.
    """
    parquet = arrow(".parquet")
    file = parquet.ParquetFile(arrow().BufferReader(data))
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    # Eight bytes for the number, or the code, of each cell; and all that is stored, decompressed.
    # Numbers in a damaged file may be negative.
    for group in groups:
        cells = max(group.num_rows, 0) * max(group.num_columns, 1)
        budget.take(cells * 8 + max(group.total_byte_size, 0), f"{cells:,} cells")
    # Columns of text, which are read as categories.
    texts = []
    flat = {field.name for field in file.schema_arrow if not arrow().types.is_nested(field.type)}
    leaves = [file.schema.column(i) for i in range(len(file.schema))]
    n_leaves = Counter(leaf.path for leaf in leaves)
    for i, leaf in enumerate(leaves):
        # Parquet keeps text, and decimals of many digits, as arrays of bytes.
        if leaf.physical_type != "BYTE_ARRAY" or leaf.logical_type.type == "DECIMAL":
            continue
        # Not those of lists and structures. (A column may be called as a field within another.)
        if leaf.path in flat and n_leaves[leaf.path] == 1:
            texts.append(leaf.path)
            continue
        # Text in lists and structures is decoded at once: any value may be as long as all of them.
        for chunk in (group.column(i) for group in groups):
            bound = max(chunk.num_values, 0) * max(chunk.total_uncompressed_size, 0)
            budget.take(bound, f"the nested texts {leaf.path!r}")
    options = {"metadata": file.metadata, "read_dictionary": texts}
    coded = parquet.ParquetFile(arrow().BufferReader(data), **options).read()
    coded.validate(full=True)  # text is UTF-8, and indices are within bounds
    columns = [
        column if column.type == kind else _decoded(name, column, kind, budget)
        for name, column, kind in zip(
            coded.column_names, coded.columns, file.schema_arrow.types, strict=True
        )
    ]
    return arrow().table(columns, names=coded.column_names)


def _decoded(name: str, column: Any, kind: Any, budget: files.Budget) -> Any:
    """Return a column of categories as one of their type, after its size is charged."""
    compute = arrow(".compute")
    for chunk in column.chunks:
        lengths = compute.take(compute.binary_length(chunk.dictionary), chunk.indices)
        size = compute.sum(compute.cast(lengths, "int64")).as_py() or 0
        budget.take(size, f"the column {name!r}")
    # Arrow has no cast of categories to views of text.
    return column.cast(column.type.value_type).cast(kind)


# ------------------------------------------------------------------------------------- writing


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to write over a file that is read, or among the files of a folder or a glob.

    A path is the file that it leads to: links, and other ways to write it, are the same file. Into
    a folder that is read, other files than tables may be written, such as a model: they would not
    be read as its rows.
    """
    for output, source in product(outputs, inputs):
        # The source may be a file, a folder or a glob.
        written, pattern = Path(os.path.realpath(output)), os.path.realpath(source)
        read = [source, *source.rglob("*"), *map(Path, glob.glob(pattern, recursive=True))]
        is_read = any(output.samefile(file) for file in read if output.exists() and file.exists())
        # What has no suffix is a folder of tables.
        is_table = written.name.lower().endswith(READ) or not written.suffix
        is_among = is_table and Path(pattern) in written.parents
        # An asterisk is within one folder, but for two of them.
        matches = fnmatch if "**" in pattern else Path.match
        if is_read or is_among or matches(written, pattern):
            raise DataError(
                f"'{output}' is read, or lies among what is read: '{source}'. Name another file."
            )


def write_table(columns: Mapping[str, Any], path: files.PathLike) -> None:
    """Write columns to a CSV or Parquet file, which is replaced as a whole or not at all.

    Parameters
    ----------
    columns : mapping from name to one-dimensional array
    path : str or path
    """
    suffix = _suffix(path, WRITTEN)
    if suffix in PARQUET:
        with files.replacing(path) as stream:
            arrow(".parquet").write_table(_table(columns), stream)
    else:
        text = io.BytesIO()
        print_table(columns, text, tabs="tsv" in suffix)
        files.write_text(path, text.getvalue().decode())


def print_table(columns: Mapping[str, Any], stream: Any, *, tabs: bool = False) -> None:
    """Write columns as text to a binary stream, separated by commas, or by tabs if `tabs`."""
    csv = arrow(".csv")
    csv.write_csv(_table(columns), stream, csv.WriteOptions(delimiter="\t" if tabs else ","))


def rounded(columns: Mapping[str, Any], places: int) -> dict[str, Any]:
    """Return columns with numbers rounded to a number of decimal places."""
    shown, table = dict(columns), _table(columns)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow().types.is_floating(column.type):
            shown[name] = arrow(".compute").round(column, places)
    return shown


def _table(columns: Mapping[str, Any]) -> Any:
    """Return columns as a pyarrow Table."""
    return arrow().table({name: _arrow_array(values) for name, values in columns.items()})


def plain_columns(table: Any) -> Any:
    """Return the columns of a small Arrow table as arrays of NumPy, by name.

    Larger tables, and those with columns of other types, such as dates, are returned as they are:
    Arrow converts them faster, but imports pandas first, which takes longer than all the rest.
    """
    kinds = {str(column.type) for column in table.columns}
    if table.num_rows > _FEW_ROWS or not kinds <= {"double", "int64", "string", "bool"}:
        return table
    return {name: _plain_column(table.column(name)) for name in table.column_names}


def _plain_column(column: Any) -> NDArray[Any]:
    """Return a column of numbers, text or booleans as an array of NumPy."""
    kind = str(column.type)
    values = column.to_pylist()
    if kind == "double":
        return np.array([np.nan if value is None else value for value in values])
    # Beside missing values, whole numbers and booleans stay so in an array of objects only.
    types = {} if column.null_count else {"int64": np.int64, "bool": np.bool_}
    return np.array(values, dtype=types.get(kind, object))


def _arrow_array(values: Any) -> Any:
    """Return a list or an array of numbers, text or booleans as an array of Arrow."""
    # `array` of pyarrow imports pandas to ask for a series, which takes longer than all the rest.
    if not isinstance(values, np.ndarray):
        return arrow().array(values)
    if values.dtype.kind in "iuf" and values.dtype.isnative:
        return _from_buffers(values)
    texts = values.tolist()
    if values.dtype.kind in "OU" and all(type(text) is str for text in texts):
        encoded = [text.encode() for text in texts]
        offsets = np.cumsum([0, *map(len, encoded)])
        if offsets[-1] <= _MAX_TEXT:
            return _from_buffers(offsets.astype(np.int32), b"".join(encoded))
    return arrow().array(values)


def _from_buffers(values: NDArray[Any], text: bytes | None = None) -> Any:
    """Return an Arrow array of numbers, or of the texts in `text` whose offsets are `values`.

    Text is the UTF-8 of all texts, one after the other; offsets are one more than texts.
    """
    content = arrow().py_buffer(np.ascontiguousarray(values))
    # Buffers are the mask of missing values, of which there are none, and the content.
    if text is not None:
        return arrow().StringArray.from_buffers(len(values) - 1, content, arrow().py_buffer(text))
    kind = arrow().from_numpy_dtype(values.dtype)
    return arrow().Array.from_buffers(kind, len(values), [None, content])
