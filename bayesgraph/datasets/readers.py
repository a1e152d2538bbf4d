"""Datasets: tables that are read in order, as often as needed, and never held as a whole."""

from __future__ import annotations

import glob
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from bayesgraph.errors import DataError, FileFormatError, quoted, unknown_variable
from bayesgraph.optional import optional_module
from bayesgraph.statistics.blocks import BLOCK

# Number of blocks of the canonical grid that are read and counted together, a power of two.
BLOCKS_OF_RUN = 4
_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".tsv")
_CODECS = ("", ".gz", ".zst")
# Bytes of a CSV file that are parsed together.
_CSV_BLOCK = 1 << 24
# Texts of CSV cells that mean a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")


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
    """

    source: str
    schema: Any
    n_rows: int | None = None
    max_categories: int = 10_000

    @abstractmethod
    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns in order, as pyarrow Tables of any lengths."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(self.schema.names)

    def runs(
        self,
        columns: Sequence[str],
        keep: Callable[[Any], Any] = lambda table: table,
        n_rows: int = BLOCKS_OF_RUN * BLOCK,
    ) -> Iterator[Any]:
        """Yield the rows of some columns in runs of `n_rows`, of which only the last is shorter.

        Parameters
        ----------
        columns : sequence of str
        keep : callable
            Returns the rows of a table that count; the others are left out before runs are formed.
        n_rows : int
            By default a run is a node of the grid of blocks; see `statistics.blocks`.
        """
        waiting: list[Any] = []
        size = 0
        for table in self.tables(columns):
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

    Raises
    ------
    FileFormatError
        If a file lacks a column that another has, or has it with a type of another kind.
    """

    def __init__(self, dataset: Any, source: str, where: Any = None) -> None:
        self.source = source
        self._where = where
        self._paths = list(getattr(dataset, "files", ()))
        self._filesystem: Any = getattr(dataset, "filesystem", None)
        self._seen = self._state()
        self.schema = _with_categories(_joined_schema(dataset))
        self._dataset = _as_read(dataset, self.schema)
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
            columns=list(columns), filter=self._where, batch_size=BLOCK,
            batch_readahead=2 * BLOCKS_OF_RUN, fragment_readahead=1,
        )  # fmt: skip
        for batch in scanner.to_batches():
            yield arrow().Table.from_batches([batch])
        self._check_unchanged()

    def _state(self) -> list[tuple[Any, Any]]:
        if not self._paths:
            return []
        found = self._filesystem.get_file_info(self._paths)
        return [(info.size, info.mtime_ns) for info in found]

    def _check_unchanged(self) -> None:
        changed = [
            p for p, a, b in zip(self._paths, self._seen, self._state(), strict=True) if a != b
        ]
        if changed:
            raise DataError(
                f"{quoted(changed)} changed while {self.source} was read, so that its passes would "
                "not be about the same rows. Fit again when nothing writes to it."
            )


def _joined_schema(dataset: Any) -> Any:
    """Return the schema of all files of a dataset; see `ParquetFiles`."""
    fragments = list(dataset.get_fragments()) if hasattr(dataset, "get_fragments") else []
    kinds: dict[str, Any] = {}
    first_of: dict[str, str] = {}
    shared: set[str] | None = None
    for fragment in fragments:
        found = fragment.physical_schema
        names = set(found.names)
        if shared is not None and names != shared:
            lacking = sorted(names ^ shared)
            raise FileFormatError(
                f"{fragment.path}: expected the columns of the other files; "
                f"{'it lacks' if lacking[0] in shared else 'only it has'} {quoted(lacking)}. Give "
                "the columns that all files have by columns=, or leave out the file."
            )
        shared = names
        for field in found:
            kind = _widened(kinds.get(field.name), field.type)
            if kind is None:
                raise FileFormatError(
                    f"The column {field.name!r} is {kinds[field.name]} in {first_of[field.name]} "
                    f"and {field.type} in {fragment.path}. Write it with one type in all files."
                )
            if field.name not in kinds or arrow().types.is_null(kinds[field.name]):
                first_of[field.name] = fragment.path
            kinds[field.name] = kind
    if not fragments:
        return dataset.schema
    # Columns of partitioned paths are in the dataset's schema alone.
    return arrow().schema(
        [(field.name, kinds.get(field.name, field.type)) for field in dataset.schema]
    )


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
    return bool(types.is_string(value) or types.is_large_string(value))


def _with_categories(schema: Any) -> Any:
    """Return a schema in which text is read as categories, which takes a third of the time."""
    types = arrow().types
    coded = arrow().dictionary(arrow().int32(), arrow().string())
    return arrow().schema(
        [
            (f.name, coded if _is_text(f.type) and not types.is_dictionary(f.type) else f.type)
            for f in schema
        ]
    )


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
    if not isinstance(dataset, files.FileSystemDataset):
        return dataset.replace_schema(schema)
    is_parquet = isinstance(dataset.format, files.ParquetFileFormat)
    if not is_parquet:
        return dataset.replace_schema(schema)
    texts = [f.name for f in schema if arrow().types.is_dictionary(f.type)]
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
    of the first rows until a value does not fit; the files are then read again with a wider type.

    Parameters
    ----------
    paths : sequence of str
    source : str
    missing : sequence of str
        Texts of cells that mean a missing value.
    delimiter : str
    """

    def __init__(
        self, paths: Sequence[str], source: str, missing: Sequence[str], delimiter: str
    ) -> None:
        self.source = source
        self._paths = list(paths)
        self._missing, self._delimiter = list(missing), delimiter
        self._seen = self._state()
        self._kinds: dict[str, Any] = {}
        self.schema = self._found_schema()
        self.n_rows = None

    def _state(self) -> list[tuple[int, int]]:
        return [((found := os.stat(path)).st_size, found.st_mtime_ns) for path in self._paths]

    def _found_schema(self) -> Any:
        """Read all files until no value contradicts the types, and return names and types."""
        kinds: dict[str, Any] = {}
        read = 0
        while read < len(self._paths):
            path = self._paths[read]
            try:
                reader = self._opened(path, kinds)
                self._check_names(path, reader.schema.names, kinds)
                kinds = kinds or dict(zip(reader.schema.names, reader.schema.types, strict=True))
                self.n_rows = (self.n_rows or 0) + sum(len(batch) for batch in reader)
                read += 1
            except arrow().ArrowInvalid as error:
                name, kind = self._contradiction(path, str(error), list(kinds))
                kinds[name] = _widened(kinds[name], kind) or arrow().string()
                read, self.n_rows = 0, 0
        return _with_categories(arrow().schema(list(kinds.items())))

    def _check_names(self, path: str, names: list[str], kinds: Collection[str]) -> None:
        if len(set(names)) < len(names):
            raise FileFormatError(
                f"{path}: each column needs a name of its own; got {quoted(names)}."
            )
        if kinds and set(names) != set(kinds):
            lacking = sorted(set(names) ^ set(kinds))
            raise FileFormatError(
                f"{path}: expected the columns of the other files; "
                f"{'it lacks' if lacking[0] in kinds else 'only it has'} {quoted(lacking)}."
            )

    def _contradiction(self, path: str, said: str, names: list[str]) -> tuple[str, Any]:
        """Return the column of a value that is not of its type, and the type of that value."""
        found = re.search(r"In CSV column #(\d+): .*: invalid value '(.*)'", said, re.DOTALL)
        if not found or not names:
            raise FileFormatError(
                f"{path!r} cannot be read as a table with the fields separated by "
                f"{self._delimiter!r}: {said.splitlines()[0]:.200}."
            )
        name = self._opened(path, {}).schema.names[int(found[1])]
        value = io.BytesIO(f'"{found[2]}"\n'.encode())
        options = arrow(".csv").ReadOptions(column_names=["value"])
        return name, arrow(".csv").read_csv(value, read_options=options).schema.types[0]

    def _opened(self, path: str, kinds: Mapping[str, Any], columns: Sequence[str] = ()) -> Any:
        csv = arrow(".csv")
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=self._missing,
                strings_can_be_null=True,
                column_types=dict(kinds),
                include_columns=list(columns),
            ),
        )

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns; see `Dataset.tables`."""
        kinds = {name: self.schema.field(name).type for name in columns}
        for path in self._paths:
            for batch in self._opened(path, kinds, columns):
                yield arrow().Table.from_batches([batch])
        if self._state() != self._seen:
            raise DataError(
                f"A file of {self.source} changed while it was read. Fit again when nothing "
                "writes to it."
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


def as_dataset(
    data: Any, *, columns: Sequence[str] | None = None, where: Any = None
) -> Dataset | None:
    """Return data that may be larger than memory as a Dataset, and None for tables in memory.

    Parameters
    ----------
    data : path, paths, glob or folder of Parquet or CSV files; dataset of pyarrow; lazy frame of
        polars; relation of DuckDB; Dataset; or callable that returns batches
        Paths may begin with ``s3://``, ``gs://`` and others that pyarrow knows.
    columns : sequence of str, optional
        Columns to use; by default all.
    where : pyarrow.dataset.Expression, optional
        Rows of Parquet files to use; by default all.
    """
    found = _opened(data, where)
    if found is not None and columns is not None:
        found.checked(columns, "columns=")
        found.schema = arrow().schema([found.schema.field(name) for name in columns])
    return found


def _opened(data: Any, where: Any) -> Dataset | None:
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (str, os.PathLike)):
        return _of_paths([data], str(data), where)
    if (
        isinstance(data, (list, tuple))
        and data
        and all(isinstance(p, (str, os.PathLike)) for p in data)
    ):
        return _of_paths(data, f"{len(data)} files", where)
    if type(data).__module__.startswith("pyarrow._dataset"):
        return ParquetFiles(data, "the dataset", where)
    return _of_lazy(data)


def _of_paths(paths: Sequence[Any], source: str, where: Any) -> Dataset:
    """Return the dataset of paths, globs and folders, with files in the order of their names."""
    texts = [os.fspath(path) for path in paths]
    if any("://" in text for text in texts):
        return ParquetFiles(
            arrow(".dataset").dataset(texts[0] if len(texts) == 1 else texts), source, where
        )
    found = [file for text in texts for file in _files(text)]
    kinds = {
        file.removesuffix(".gz").removesuffix(".zst").lower().rpartition(".")[2] for file in found
    }
    if not found:
        raise FileNotFoundError(f"There is no file {source}.")
    if kinds <= {"parquet", "pq"}:
        return ParquetFiles(arrow(".dataset").dataset(found, format="parquet"), source, where)
    if kinds <= {"csv", "tsv"} and where is None:
        return CsvFiles(found, source, MISSING, "\t" if kinds == {"tsv"} else ",")
    raise FileFormatError(
        f"{source}: expected files of one kind, .parquet or .csv; got {quoted(sorted(kinds))}."
    )


def _files(text: str) -> list[str]:
    """Return the data files that a path, a folder or a glob names, in order."""
    path = Path(text)
    if path.is_dir():
        inside = sorted(str(file) for file in path.rglob("*") if file.is_file())
        return [file for file in inside if _is_data(Path(file))]
    if path.is_file():
        return [text]
    return sorted(glob.glob(text, recursive=True))


def _is_data(path: Path) -> bool:
    name = path.name.lower()
    hidden = any(part.startswith((".", "_")) for part in path.parts[-1:])
    return not hidden and name.endswith((*_PARQUET, *(s + c for s in _CSV for c in _CODECS)))


def _of_lazy(data: Any) -> Dataset | None:
    """Return a lazy frame of polars or a relation of DuckDB as a dataset, None for other data."""
    module = type(data).__module__.partition(".")[0]
    if module == "polars" and type(data).__name__ == "LazyFrame":
        schema = data.head(0).collect().to_arrow().schema

        def batches(columns: Sequence[str]) -> Iterable[Any]:
            return data.select(list(columns)).collect_batches(  # type: ignore[no-any-return]
                chunk_size=BLOCK, maintain_order=True
            )

        return Batches(batches, schema, "the lazy frame")
    if module in ("duckdb", "_duckdb"):
        schema = data.limit(0).to_arrow_table().schema

        def fetched(columns: Sequence[str]) -> Iterable[Any]:
            quoted_names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
            return data.project(quoted_names).fetch_arrow_reader(BLOCK)  # type: ignore[no-any-return]

        return Batches(fetched, schema, "the relation")
    return None
