"""Tables in CSV and Parquet files, read and written by pyarrow."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bayesgraph.errors import DataError, FileFormatError, quoted
from bayesgraph.io.files import replacing
from bayesgraph.optional import optional_module

# Texts of CSV cells that mean a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")


def _arrow(module: str = "") -> Any:
    return optional_module(f"pyarrow{module}", extra="tables", what="Reading and writing tables")


def _suffix(path: str | os.PathLike[str]) -> str:
    name = Path(path).name.lower()
    for suffix in (*_CSV, *_PARQUET):
        if name.endswith(suffix):
            return suffix
    raise FileFormatError(
        f"{os.fspath(path)!r}: the suffix of a table is one of {quoted((*_CSV, *_PARQUET))}."
    )


def read_table(
    path: str | os.PathLike[str], *, missing: Sequence[str] = MISSING, text: Sequence[str] = ()
) -> Any:
    """Read a CSV or Parquet file as a pyarrow Table.

    Parameters
    ----------
    path : str or path
        .csv, .tsv (both optionally .gz), .parquet or .pq.
    missing : sequence of str
        Texts of CSV cells that mean a missing value.
    text : sequence of str
        Columns of a CSV file to read as text, even if all values look like numbers.

    Raises
    ------
    FileNotFoundError
    FileFormatError
        If the suffix is unknown, or the file is not of the format that it names.
    DataError
        If the file has no rows.
    """
    suffix = _suffix(path)
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {name!r}.")
    arrow = _arrow()
    try:
        if suffix in _PARQUET:
            table = _arrow(".parquet").read_table(name)
        else:
            table = _read_csv(name, suffix, missing, text)
    except arrow.ArrowInvalid as error:
        first = str(error).splitlines()[0]
        raise FileFormatError(f"{name!r} cannot be read as {suffix}: {first}") from error
    if not table.num_rows:
        raise DataError(f"{name!r} has no rows.")
    return table


def _read_csv(path: str, suffix: str, missing: Sequence[str], text: Sequence[str]) -> Any:
    csv = _arrow(".csv")
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter="\t" if "tsv" in suffix else ","),
        convert_options=csv.ConvertOptions(
            null_values=list(missing),
            strings_can_be_null=True,
            column_types=dict.fromkeys(text, _arrow().string()),
        ),
    )


def write_table(columns: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write columns to a CSV or Parquet file, which is replaced as a whole or not at all.

    Parameters
    ----------
    columns : mapping from name to one-dimensional array
    path : str or path
    """
    suffix = _suffix(path)
    with replacing(path) as stream:
        if suffix in _PARQUET:
            _arrow(".parquet").write_table(_table(columns), stream)
        elif suffix.endswith(".gz"):
            # Without the time in the header, the same table gives the same bytes.
            with gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0) as packed:
                print_table(columns, packed, tabs="tsv" in suffix)
        else:
            print_table(columns, stream, tabs="tsv" in suffix)


def print_table(columns: Mapping[str, Any], stream: Any, *, tabs: bool = False) -> None:
    """Write columns as text to a binary stream, separated by commas, or by tabs if `tabs`."""
    csv = _arrow(".csv")
    csv.write_csv(_table(columns), stream, csv.WriteOptions(delimiter="\t" if tabs else ","))


def _table(columns: Mapping[str, Any]) -> Any:
    arrow = _arrow()
    return arrow.table({name: arrow.array(values) for name, values in columns.items()})
