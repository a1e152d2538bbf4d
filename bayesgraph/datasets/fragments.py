"""Parquet files, and other datasets of pyarrow, as datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bayesgraph.datasets.dataset import Dataset, Piece, arrow
from bayesgraph.datasets.files import check_unchanged, state_of, unreadable
from bayesgraph.datasets.schemas import (
    as_schema,
    is_text,
    joined_schema,
    selected,
    with_categories,
)
from bayesgraph.statistics import blocks

# Number of rows that are decoded together, as many as a block has. Pages of all columns are held
# for them; each text column has a dictionary, so that fewer rows take longer to encode.
_BATCH_ROWS = 1 << 15
# Row groups of a file are one piece until they hold this many rows.
_PIECE_ROWS = 1 << 16


class Fragments(Dataset):
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
        self._dataset, self._where = dataset, where
        files = arrow(".dataset")
        self._in_files = isinstance(dataset, files.FileSystemDataset)
        self._seen = state_of(dataset.filesystem, dataset.files) if self._in_files else ()
        whole = joined_schema(dataset, source, columns)
        # Tables in memory, and unions, are read with the types that they have.
        self._whole = with_categories(whole) if self._in_files else whole
        self.schema = self._whole if columns is None else selected(self._whole, columns)
        if where is None:
            self.n_rows = dataset.count_rows()

    @property
    def _is_streamed(self) -> bool:
        """Whether batches of Parquet files are decoded one after another."""
        parquet = arrow(".dataset").ParquetFileFormat
        return self._in_files and self._where is None and isinstance(self._dataset.format, parquet)

    @cached_property
    def _files(self) -> list[_ParquetRows]:
        """The files whose rows are all read."""
        keys = arrow(".dataset").get_partition_keys
        found = []
        for fragment, seen in zip(self._dataset.get_fragments(), self._seen, strict=True):
            inside = set(fragment.physical_schema.names)
            absent = dict.fromkeys(name for name in self._whole.names if name not in inside)
            constants = tuple((absent | keys(fragment.partition_expression)).items())
            file = _ParquetRows(
                self.source, fragment.path, fragment.filesystem, seen, self._whole, constants
            )
            found.append(file)
        return found

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns; see `Dataset.tables`.

        Raises
        ------
        DataError
            If a file has changed since the dataset was opened.
        """
        if self._is_streamed:
            for file in self._files:
                yield from file.tables(columns)
            return
        self._check_unchanged()
        dataset = _as_read(self._dataset, self._whole) if self._in_files else self._dataset
        try:
            yield from _Scan(dataset, self._where).tables(columns)
        except arrow().ArrowInvalid as error:
            self._check_unchanged()  # a file that is being written seems damaged
            raise unreadable(self.source, error) from error
        self._check_unchanged()

    @property
    def state(self) -> str | None:
        """Paths, sizes and times of the files, None if there are no files; see `Dataset`."""
        files = self._dataset.files if self._in_files else ()
        return repr((files, self._seen, str(self._where))) if files else None

    def _check_unchanged(self) -> None:
        if self._in_files:
            paths = self._dataset.files
            check_unchanged(
                self.source, paths, self._seen, state_of(self._dataset.filesystem, paths)
            )

    def pieces(self, columns: Sequence[str]) -> Sequence[Piece]:
        """Return successive row groups of each file; see `Dataset.pieces`."""
        if not self._in_files:
            return super().pieces(columns)
        if not self._is_streamed:
            fragments = _as_read(self._dataset, self._whole).get_fragments()
            return [_Scan(fragment, self._where, self._whole) for fragment in fragments]
        return [
            piece
            for file, fragment in zip(self._files, self._dataset.get_fragments(), strict=True)
            for piece in file.split([group.num_rows for group in fragment.row_groups])
        ]


@dataclass(frozen=True)
class _ParquetRows:
    """Rows of a Parquet file: all, or those of some row groups.

    Attributes
    ----------
    source : str
        Name of the dataset.
    path : str
    filesystem : pyarrow.fs.FileSystem
    seen : tuple
        Size and time of the file when the dataset was opened.
    schema : pyarrow.Schema
        Types of the columns.
    constants : tuple of (str, object)
        Names and values of the columns that are in the path.
    groups : tuple of int or None
        Row groups; None is all.
    n_rows : int or None
        Number of their rows, if it is known.
    """

    source: str
    path: str
    filesystem: Any
    seen: Any
    schema: Any
    constants: tuple[tuple[str, Any], ...]
    groups: tuple[int, ...] | None = None
    n_rows: int | None = None

    def split(self, lengths: Sequence[int]) -> Iterator[_ParquetRows]:
        """Yield pieces of whole row groups, given the number of rows of each."""
        first = n_rows = 0
        for k, length in enumerate(lengths):
            n_rows += length
            if n_rows >= _PIECE_ROWS or k == len(lengths) - 1:
                yield replace(self, groups=tuple(range(first, k + 1)), n_rows=n_rows)
                first, n_rows = k + 1, 0

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some columns in order.

        Raises
        ------
        DataError
            If the file has changed since the dataset was opened.
        """
        self._check_unchanged()
        schema = selected(self.schema, columns)
        constants = dict(self.constants)
        inside = [name for name in columns if name not in constants]
        try:
            for batch in self._batches(inside):
                given = {
                    name: arrow().repeat(constants[name], len(batch))
                    if name in constants
                    else batch.column(name)
                    for name in columns
                }
                yield as_schema(arrow().table(given), schema)
        except (arrow().ArrowInvalid, OSError) as error:
            self._check_unchanged()  # a file that is being written seems damaged
            raise unreadable(self.path, error) from error
        self._check_unchanged()

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        texts = [name for name in columns if is_text(self.schema.field(name).type)]
        is_local = isinstance(self.filesystem, arrow(".fs").LocalFileSystem)
        with (
            self.filesystem.open_input_file(self.path) as stream,
            arrow(".parquet").ParquetFile(
                stream, read_dictionary=texts, pre_buffer=not is_local
            ) as file,
        ):
            groups = range(file.num_row_groups) if self.groups is None else self.groups
            # What is read ahead is held: of files elsewhere, one row group.
            for some in [list(groups)] if is_local else [[group] for group in groups]:
                if some:
                    # Threads of pyarrow would compete with those that count.
                    yield from file.iter_batches(
                        _BATCH_ROWS, row_groups=some, columns=list(columns), use_threads=False
                    )

    def _check_unchanged(self) -> None:
        now = state_of(self.filesystem, [self.path])
        check_unchanged(self.source, [self.path], [self.seen], now)


@dataclass(frozen=True)
class _Scan:
    """Rows of a dataset of pyarrow, or of a fragment of one, for which a condition holds.

    Attributes
    ----------
    data : pyarrow.dataset.Dataset or Fragment
    where : pyarrow.dataset.Expression or None
    schema : pyarrow.Schema, optional
        Types of the columns of a fragment.
    """

    data: Any
    where: Any
    schema: Any = None
    n_rows: int | None = None

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some columns in order."""
        options = {} if self.schema is None else {"schema": self.schema}
        scanner = self.data.scanner(
            columns=list(columns), filter=self.where, batch_size=blocks.BLOCK,
            batch_readahead=2, fragment_readahead=1, **options,
        )  # fmt: skip
        for batch in scanner.to_batches():
            yield arrow().Table.from_batches([batch])


def _as_read(dataset: Any, schema: Any) -> Any:
    """Return a dataset of files with another schema, reading text as categories."""
    files = arrow(".dataset")
    if not isinstance(dataset.format, files.ParquetFileFormat):
        return dataset.replace_schema(schema)
    texts = [f.name for f in schema if is_text(f.type)]
    options = files.ParquetReadOptions(dictionary_columns=texts)
    reading = files.ParquetFileFormat(read_options=options)
    fragments = [
        reading.make_fragment(f.path, f.filesystem, f.partition_expression)
        for f in dataset.get_fragments()
    ]
    return files.FileSystemDataset(fragments, schema, reading, dataset.filesystem)
