"""Datasets: tables that are read in order, as often as needed, and never held as a whole."""

from __future__ import annotations

import copy
import glob
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from bayesgraph.checks import whole_number
from bayesgraph.errors import (
    DataError,
    DataTypeError,
    FileFormatError,
    quoted,
    unknown_variable,
)
from bayesgraph.optional import optional_module
from bayesgraph.statistics import blocks
from bayesgraph.variables import MISSING

# Called with the number of rows read in a pass, and the number of all rows, None if unknown.
Progress = Callable[[int, int | None], None]

# Number of blocks of the canonical grid that are read and counted together, a power of two.
BLOCKS_OF_RUN = 4
_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".tsv")
_CODECS = ("", ".gz", ".zst")
# Bytes of a CSV file that are parsed together.
_CSV_BLOCK = 1 << 24


def arrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, or the error that says how to install it."""
    return optional_module(
        f"pyarrow{module}", extra="tables", what="Reading tables larger than memory"
    )


class Dataset(ABC):
    """A table of named columns that is read in order, as often as needed.

    Attributes
    ----------
    source : str
        Name for messages, such as a path.
    schema : pyarrow.Schema
        Names and types of the columns; text is read as categories where that is faster.
    n_rows : int or None
        Number of rows if it is known without reading them.
    max_categories : int
        Maximum number of states of a column.
    progress : callable or None
        Called in each pass with the number of rows read so far and `n_rows`.
    """

    source: str
    schema: Any
    n_rows: int | None = None
    max_categories: int = 10_000
    progress: Progress | None = None

    @abstractmethod
    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns in order, as pyarrow Tables of any lengths."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(self.schema.names)

    def read(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield what `tables` yields, and report how far the pass is."""
        done = 0
        for table in self.tables(columns):
            done += len(table)
            if self.progress is not None:
                self.progress(done, self.n_rows)
            yield table

    def runs(
        self,
        columns: Sequence[str],
        keep: Callable[[Any], Any] = lambda table: table,
        n_rows: int | None = None,
    ) -> Iterator[Any]:
        """Yield the rows of some columns in runs of `n_rows`, of which only the last is shorter.

        Parameters
        ----------
        columns : sequence of str
        keep : callable
            Returns the rows of a table that count; the others are left out before runs are formed.
        n_rows : int, optional
            By default a run is a node of the grid of blocks; see `statistics.blocks`.
        """
        n_rows = BLOCKS_OF_RUN * blocks.BLOCK if n_rows is None else n_rows
        waiting: list[Any] = []
        size = 0
        for table in self.read(columns):
            kept = keep(table)
            waiting.append(kept)
            size += len(kept)
            if size < n_rows:
                continue
            joined = arrow().concat_tables(waiting)
            for begin in range(0, size - n_rows + 1, n_rows):
                yield joined.slice(begin, n_rows)
            size %= n_rows
            waiting = [joined.slice(len(joined) - size)] if size else []
        if size:
            yield arrow().concat_tables(waiting)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.source} with {len(self.names)} columns"

    def checked(self, names: Iterable[Any], where: str) -> None:
        """Raise an error for a name that is not a column; `where` begins its message."""
        for name in names:
            if name not in self.names:
                raise unknown_variable(name, self.names, where=f"{where}: {self.source}")


# -------------------------------------------------------------------------------------------- files


class ParquetFiles(Dataset):
    """Parquet files as one table, in the order of their names, or any dataset of pyarrow.

    Columns may come in any order; integers and floats of different widths are widened to one type.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    source : str
    where : pyarrow.dataset.Expression, optional
        Only rows for which it is true are read.
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.

    Raises
    ------
    FileFormatError
        If a file lacks a column that another has, or has it with a type of another kind.
    """

    def __init__(
        self, dataset: Any, source: str, where: Any = None, columns: Sequence[str] | None = None
    ) -> None:
        self.source = source
        self._where = where
        self._paths = list(getattr(dataset, "files", ()))
        self._filesystem: Any = getattr(dataset, "filesystem", None)
        self._seen = self._state()
        whole = _joined_schema(dataset, source, columns)
        self._dataset = dataset
        # Tables in memory, and unions, are read with the types that they have.
        if isinstance(dataset, arrow(".dataset").FileSystemDataset):
            whole = _with_categories(whole)
            self._dataset = _as_read(dataset, whole)
        self.schema = whole if columns is None else _selected(whole, columns)
        if where is None:
            self.n_rows = dataset.count_rows()

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns; see `Dataset.tables`.

        Raises
        ------
        DataError
            If a file has changed since the dataset was opened.
        """
        self._check_unchanged()
        scanner = self._dataset.scanner(
            columns=list(columns), filter=self._where, batch_size=blocks.BLOCK,
            batch_readahead=2 * BLOCKS_OF_RUN, fragment_readahead=1,
        )  # fmt: skip
        try:
            for batch in scanner.to_batches():
                yield arrow().Table.from_batches([batch])
        except arrow().ArrowInvalid as error:
            self._check_unchanged()  # a file that is being written seems damaged
            raise _unreadable(self.source, error) from error
        self._check_unchanged()

    def _state(self) -> list[tuple[Any, Any]]:
        if not self._paths:
            return []
        found = self._filesystem.get_file_info(self._paths)
        return [(info.size, info.mtime_ns) for info in found]

    def _check_unchanged(self) -> None:
        _check_unchanged(self.source, self._paths, self._seen, self._state())


def _unreadable(source: str, error: Exception) -> FileFormatError:
    return FileFormatError(f"{source} cannot be read: {str(error).splitlines()[0]:.300}")


def _joined_schema(dataset: Any, source: str, columns: Sequence[str] | None) -> Any:
    """Return the schema of the columns that all files of a dataset have; see `ParquetFiles`."""
    fragments = list(dataset.get_fragments()) if hasattr(dataset, "get_fragments") else []
    found = [(f.path, f.physical_schema) for f in fragments if hasattr(f, "path")]
    everywhere = set(dataset.schema.names).union(*(schema.names for _, schema in found))
    for name in columns or ():
        if name not in everywhere:
            raise unknown_variable(name, sorted(everywhere), where=f"columns=: {source}")
    _check_same_names([(path, schema.names) for path, schema in found], columns)
    # Columns of partitioned paths are in the dataset's schema alone.
    kinds = {field.name: field.type for field in dataset.schema} | _joined_types(found, columns)
    return arrow().schema([(n, kinds[n]) for n in dataset.schema.names if kinds[n] is not None])


def _check_same_names(
    found: Sequence[tuple[str, Sequence[str]]], columns: Collection[str] | None
) -> None:
    """Check that files, given by path and names of columns, have the same columns, or those used.

    Raises
    ------
    FileFormatError
    """
    first = set(found[0][1]) if found else set()
    for path, names in found:
        if len(set(names)) < len(names):
            raise FileFormatError(
                f"{path}: each column needs a name of its own; got {quoted(names)}."
            )
        lacking = (first if columns is None else first & set(columns)) - set(names)
        added = set(names) - first
        if columns is not None:
            added &= set(columns)
        if lacking or added:
            what = "it lacks" if lacking else "only it has"
            raise FileFormatError(
                f"{path}: expected the columns of the other files; {what} "
                f"{quoted(sorted(lacking or added))}. Give the columns that all files have by "
                "columns=, or leave out the file."
            )


def _joined_types(
    found: Sequence[tuple[str, Any]], columns: Collection[str] | None
) -> dict[str, Any]:
    """Return the type of each column that holds the values of all files, None if there is none.

    Raises
    ------
    FileFormatError
        If there is none of a column that is used.
    """
    kinds: dict[str, Any] = {}
    first_of: dict[str, str] = {}
    for path, schema in found:
        for field in schema:
            name, before = field.name, kinds.get(field.name)
            if name in kinds and before is None:
                continue
            kinds[name] = _widened(before, field.type)
            if kinds[name] is None and (columns is None or name in columns):
                raise FileFormatError(
                    f"The column {name!r} is {before} in {first_of[name]} and {field.type} in "
                    f"{path}. Write it with one type in all files."
                )
            if before is None or arrow().types.is_null(before):
                first_of[name] = path
    return kinds


def _selected(schema: Any, columns: Sequence[str]) -> Any:
    return arrow().schema([schema.field(name) for name in columns])


def _widened(first: Any, second: Any) -> Any:
    """Return the type that holds values of two types, or None if they are of different kinds."""
    types = arrow().types
    if first is None or types.is_null(first) or first == second:
        return second
    if types.is_null(second):
        return first
    if _is_text(first) and _is_text(second):
        return first if types.is_dictionary(first) else second
    if all(types.is_integer(t) or types.is_floating(t) for t in (first, second)):
        both = types.is_integer(first) and types.is_integer(second)
        return arrow().int64() if both else arrow().float64()
    return None


def _is_text(kind: Any) -> bool:
    types = arrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    return bool(
        types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)
    )


def _with_categories(schema: Any) -> Any:
    """Return a schema in which text is read as categories, which takes a third of the time."""
    coded = arrow().dictionary(arrow().int32(), arrow().string())
    return arrow().schema([(f.name, coded if _is_text(f.type) else f.type) for f in schema])


def decoded(table: Any) -> Any:
    """Return a table with text in place of categories of text that have no order."""
    types = arrow().types
    kinds = [
        (f.name, arrow().string())
        if types.is_dictionary(f.type) and _is_text(f.type) and not f.type.ordered
        else (f.name, f.type)
        for f in table.schema
    ]
    return table.cast(arrow().schema(kinds))


def _as_read(dataset: Any, schema: Any) -> Any:
    """Return a dataset of files with another schema, reading text as categories."""
    files = arrow(".dataset")
    is_parquet = isinstance(dataset.format, files.ParquetFileFormat)
    if not is_parquet:
        return dataset.replace_schema(schema)
    texts = [f.name for f in schema if _is_text(f.type)]
    options = files.ParquetReadOptions(dictionary_columns=texts)
    reading = files.ParquetFileFormat(read_options=options)
    fragments = [
        reading.make_fragment(f.path, f.filesystem, f.partition_expression)
        for f in dataset.get_fragments()
    ]
    return files.FileSystemDataset(fragments, schema, reading, dataset.filesystem)


class CsvFiles(Dataset):
    """CSV files as one table, in the order of their names; all rows decide on the types.

    A column is a number, a truth value or text as `read_table` decides of one file. Types are those
    of the first rows until a value does not fit; its file is then read again with a wider type.

    Parameters
    ----------
    paths : sequence of str
    source : str
    missing : sequence of str
        Texts of cells that mean a missing value.
    text : sequence of str
        Columns that are text, even if all values look like numbers.
    delimiter : str
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.
    """

    def __init__(
        self,
        paths: Sequence[str],
        source: str,
        *,
        missing: Sequence[str] = MISSING,
        text: Sequence[str] = (),
        delimiter: str = ",",
        columns: Sequence[str] | None = None,
    ) -> None:
        self.source = source
        self._paths = list(paths)
        self._missing, self._text, self._delimiter = list(missing), list(text), delimiter
        self._seen = self._state()
        self.schema, self.n_rows = self._found(columns)

    def _state(self) -> list[tuple[int, int]]:
        return [((found := os.stat(path)).st_size, found.st_mtime_ns) for path in self._paths]

    def _found(self, columns: Sequence[str] | None) -> tuple[Any, int]:
        """Read all files until no value contradicts the types; return the schema and the rows."""
        kinds: dict[str, Any] = {}
        names: list[tuple[str, Sequence[str]]] = []
        n_rows: list[int] = []
        while len(n_rows) < len(self._paths):
            path = self._paths[len(n_rows)]
            try:
                if len(names) == len(n_rows):
                    names.append((path, self._names(path)))
                    self._check_names(names, columns)
                reader = self._opened(path, kinds, columns or ())
                kinds = kinds or dict(zip(reader.schema.names, reader.schema.types, strict=True))
                _check_utf8(path, kinds)
                n_rows.append(sum(len(batch) for batch in reader))
            except arrow().ArrowInvalid as error:
                name, kind = self._contradiction(path, str(error), kinds)
                kinds[name], again = _of_cells(kinds[name], kind)
                if again:
                    n_rows.clear()
        return _with_categories(arrow().schema(list(kinds.items()))), sum(n_rows)

    def _names(self, path: str) -> list[str]:
        return list(self._opened(path, {}).schema.names)

    def _check_names(
        self, names: Sequence[tuple[str, Sequence[str]]], columns: Sequence[str] | None
    ) -> None:
        for name in columns or ():
            if name not in names[0][1]:
                raise unknown_variable(name, names[0][1], where=f"columns=: {names[0][0]}")
        _check_same_names([names[0], names[-1]], columns)

    def _contradiction(self, path: str, said: str, kinds: Collection[str]) -> tuple[str, Any]:
        """Return the column of a value that is not of its type, and the type of that value."""
        found = re.search(r"In CSV column #(\d+): .*: invalid value '(.*)'", said, re.DOTALL)
        name = self._names(path)[int(found[1])] if found else ""
        if not found or name not in kinds:
            raise FileFormatError(
                f"{path!r} cannot be read as a table with the fields separated by "
                f"{self._delimiter!r}: {said.splitlines()[0]:.200}."
            )
        csv = arrow(".csv")
        cell = found[2].replace('"', '""')
        kind = csv.read_csv(
            io.BytesIO(f'"{cell}"\n'.encode()),
            read_options=csv.ReadOptions(column_names=["value"]),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(null_values=self._missing),
        ).schema.types[0]
        return name, kind

    def _opened(self, path: str, kinds: Mapping[str, Any], columns: Sequence[str] = ()) -> Any:
        csv = arrow(".csv")
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=self._missing,
                strings_can_be_null=True,
                column_types=dict.fromkeys(self._text, arrow().string()) | dict(kinds),
                include_columns=list(columns),
            ),
        )

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns; see `Dataset.tables`.

        Raises
        ------
        DataError
            If a file has changed since the dataset was opened.
        """
        self._check_unchanged()
        kinds = {name: self.schema.field(name).type for name in columns}
        for path in self._paths:
            for batch in self._opened(path, kinds, columns):
                yield arrow().Table.from_batches([batch])
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        _check_unchanged(self.source, self._paths, self._seen, self._state())


def _check_utf8(path: str, kinds: Mapping[str, Any]) -> None:
    """Raise a FileFormatError for columns of bytes, which is what other encodings are taken for."""
    if wrong := [name for name, kind in kinds.items() if arrow().types.is_binary(kind)]:
        raise FileFormatError(
            f"{path}: the column {quoted(wrong)} is not text in UTF-8. Convert the file, or read "
            "it as a table in memory by read_table, with encoding=."
        )


def _of_cells(before: Any, found: Any) -> tuple[Any, bool]:
    """Return the type of a column with cells of two types, and whether to read all files again.

    Cells are read again if those before may not fit: 0 and 1 are truth values, other numbers not.
    """
    types = arrow().types
    if types.is_integer(before) and types.is_boolean(found):
        return found, True
    if types.is_temporal(before) and types.is_timestamp(found) and not types.is_time(before):
        return found, False
    joined = _widened(before, found)
    return (arrow().string() if joined in (None, before) else joined), False


def _check_unchanged(
    source: str, paths: Sequence[str], before: Sequence[Any], now: Sequence[Any]
) -> None:
    """Raise a DataError if size or time of a file is not what it was."""
    changed = [p for p, a, b in zip(paths, before, now, strict=True) if a != b]
    if changed:
        raise DataError(
            f"{quoted(changed)} changed while {source} was read, so that its passes would not be "
            "about the same rows. Start again when nothing writes to it."
        )


class Batches(Dataset):
    """Record batches that a function makes anew for each pass, as one table.

    Parameters
    ----------
    make : callable
        Called with the names of the wanted columns; returns the batches: record batches or tables
        of pyarrow, or frames of other libraries. Each call gives the same rows.
    schema : pyarrow.Schema
    source : str
    """

    def __init__(self, make: Callable[[Sequence[str]], Iterable[Any]], schema: Any, source: str):
        self.source, self.schema, self._make = source, schema, make

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns; see `Dataset.tables`."""
        for batch in self._make(columns):
            yield _as_table(batch).select(list(columns))


def _as_table(batch: Any) -> Any:
    """Return a record batch, or a frame of any library, as a pyarrow Table."""
    if isinstance(batch, arrow().Table):
        return batch
    if isinstance(batch, arrow().RecordBatch):
        return arrow().Table.from_batches([batch])
    return nw.from_native(batch, eager_only=True).to_arrow()


# ----------------------------------------------------------------------------------- what is given


def open_dataset(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    where: Any = None,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    max_categories: int = Dataset.max_categories,
    progress: Progress | None = None,
) -> Dataset:
    """Open files or an engine as a Dataset: a table larger than memory, read in passes.

    `fit` and `predict_dataset` of classifiers take what this function takes, without its options,
    and what it returns. Rows have the order of the files' names, and of the rows in each file.

    Parameters
    ----------
    data : path, glob or folder; list of paths; pyarrow dataset; polars LazyFrame; DuckDB relation
        Parquet or CSV files, as one table: columns may come in any order, and integers and floats
        of different widths become one type. Of a folder, files and folders that begin with a dot
        or an underscore are left out. Paths of Parquet files may begin with ``s3://``, ``gs://``
        and others that pyarrow knows.
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.
    where : pyarrow.dataset.Expression, optional
        Rows of Parquet files to use, such as ``pyarrow.dataset.field("year") > 2020``.
    missing : sequence of str
        Texts of CSV cells that mean a missing value.
    text : sequence of str
        Columns of CSV files to read as text, even if all values look like numbers.
    delimiter : str, optional
        What separates the fields of CSV files; by default the tab in .tsv files, else the comma.
    max_categories : int, default 10,000
        Maximum number of states of a discrete column, which are held in memory.
    progress : callable, optional
        Called in each pass with the number of rows read so far and of all rows, None if unknown.

    Returns
    -------
    Dataset

    Raises
    ------
    DataTypeError
        If `data` is none of these, such as a table in memory.
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If files are of several kinds or unknown ones, or do not have the same columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesgraph as bg
    >>> folder = tempfile.TemporaryDirectory()
    >>> for day, rows in enumerate(["sun,20\\nsun,23\\n", "rain,14\\nrain,11\\n"]):
    ...     _ = Path(folder.name, f"day{day}.csv").write_text("sky,degrees\\n" + rows)
    >>> days = bg.open_dataset(folder.name)
    >>> days.names, days.n_rows
    (('sky', 'degrees'), 4)
    >>> bg.NaiveBayesClassifier().fit(days, "sky").predict({"degrees": [12.0, 22.0]}).tolist()
    ['rain', 'sun']
    >>> folder.cleanup()
    """
    whole_number("max_categories=", "states", max_categories, 1)
    found = _as_opened(data, columns, where, missing=missing, text=text, delimiter=delimiter)
    if found is None:
        raise DataTypeError(
            "A dataset is a path, a glob, a folder, a list of paths, a dataset of pyarrow, a lazy "
            f"frame of polars or a relation of DuckDB; got {type(data).__name__}. Tables in memory "
            "go to fit and predict as they are."
        )
    found.max_categories, found.progress = max_categories, progress
    return found


def as_dataset(data: Any) -> Dataset | None:
    """Return data that may be larger than memory as a Dataset, and None for tables in memory.

    Parameters
    ----------
    data : Dataset, or anything
        Opened as by `open_dataset` with its defaults.
    """
    return data if isinstance(data, Dataset) else _as_opened(data, None, None)


def _as_opened(
    data: Any, columns: Sequence[str] | None, where: Any, **cells: Any
) -> Dataset | None:
    """Return data as a new Dataset, None for other data; the parameters are of `open_dataset`."""
    if isinstance(data, (str, os.PathLike)):
        return _of_paths([data], str(data), columns, where, **cells)
    if (
        isinstance(data, (list, tuple))
        and data
        and all(isinstance(p, (str, os.PathLike)) for p in data)
    ):
        return _of_paths(data, f"{len(data)} files", columns, where, **cells)
    if type(data).__module__.startswith("pyarrow._dataset"):
        return ParquetFiles(data, "the dataset", where, columns)
    found = copy.copy(data) if isinstance(data, Dataset) else _of_lazy(data)
    if found is None:
        return None
    if where is not None:
        raise DataTypeError(f"where= selects rows of Parquet files; filter {found.source} itself.")
    if columns is not None:
        found.checked(columns, "columns=")
        found.schema = _selected(found.schema, columns)
    return found


def _of_paths(
    paths: Sequence[Any],
    source: str,
    columns: Sequence[str] | None,
    where: Any,
    *,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
) -> Dataset:
    """Return the dataset of paths, globs and folders, with files in the order of their names."""
    texts = [os.fspath(path) for path in paths]
    if any("://" in path for path in texts):
        remote = arrow(".dataset").dataset(texts[0] if len(texts) == 1 else texts)
        return ParquetFiles(remote, source, where, columns)
    found = [file for path in texts for file in _files(path)]
    if not found:
        raise FileNotFoundError(f"There is no Parquet or CSV file {source}.")
    kinds = {_kind_of(file) for file in found}
    if kinds <= {"parquet", "pq"}:
        try:
            files = arrow(".dataset").dataset(found, format="parquet")
            return ParquetFiles(files, source, where, columns)
        except arrow().ArrowInvalid as error:
            raise _unreadable(source, error) from error
    if not (kinds <= {"csv", "tsv"}):
        raise FileFormatError(
            f"{source}: expected files of one kind, .parquet or .csv; got {quoted(sorted(kinds))}."
        )
    if where is not None:
        raise DataTypeError(f"where= selects rows of Parquet files; {source} has CSV files.")
    delimiter = delimiter or ("\t" if kinds == {"tsv"} else ",")
    return CsvFiles(found, source, missing=missing, text=text, delimiter=delimiter, columns=columns)


def _kind_of(file: str) -> str:
    name = file.lower()
    for codec in _CODECS[1:]:
        name = name.removesuffix(codec)
    return name.rpartition(".")[2]


def _files(text: str) -> list[str]:
    """Return the data files that a path, a folder or a glob names, in order."""
    path = Path(text)
    if not text:  # which Path takes for the current directory
        return []
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        return [str(file) for file in inside if _is_data(file.relative_to(path))]
    if path.is_file():
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    return [file for file in found if Path(file).is_file() and not _is_hidden(Path(file).name)]


def _is_data(path: Path) -> bool:
    """Return whether a file, by its path inside of a folder, holds rows."""
    endings = (*_PARQUET, *(s + c for s in _CSV for c in _CODECS))
    return not any(map(_is_hidden, path.parts)) and path.name.lower().endswith(endings)


def _is_hidden(name: str) -> bool:
    # Other programs keep logs, statistics and unfinished files there.
    return name.startswith((".", "_"))


def _of_lazy(data: Any) -> Dataset | None:
    """Return a lazy frame of polars or a relation of DuckDB as a dataset, None for other data."""
    module = type(data).__module__.partition(".")[0]
    if module == "polars" and type(data).__name__ == "LazyFrame":
        schema = data.head(0).collect().to_arrow().schema

        def batches(columns: Sequence[str]) -> Iterable[Any]:
            return data.select(list(columns)).collect_batches(  # type: ignore[no-any-return]
                chunk_size=blocks.BLOCK, maintain_order=True
            )

        return Batches(batches, schema, "the lazy frame")
    if module in ("duckdb", "_duckdb"):
        schema = data.limit(0).to_arrow_table().schema

        def fetched(columns: Sequence[str]) -> Iterable[Any]:
            quoted_names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
            return data.project(quoted_names).fetch_arrow_reader(blocks.BLOCK)  # type: ignore[no-any-return]

        return Batches(fetched, schema, "the relation")
    return None
