"""Opening of files and engines as datasets."""

from __future__ import annotations

import copy
import glob
import inspect
import io
import os
import pickle
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import narwhals as nw

from bayesgraph.core import parallel
from bayesgraph.core.arrays import whole_number
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    ExtrapolationWarning,
    FileFormatError,
    check_known,
    optional_module,
    quoted,
)
from bayesgraph.core.variables import MISSING
from bayesgraph.tables import datasets
from bayesgraph.tables.reading import (
    PARQUET,
    arrow,
    check_character,
    check_no_text,
    codec_of,
    codes_among,
)
from bayesgraph.tables.table import engine_of

# -------------------- Dask frames as datasets: partitions are read and counted where Dask has them


class DaskFrame(datasets.Dataset):
    """A Dask frame as one table: its partitions in their order.

    It is counted by the default client of dask.distributed if there is one, else by the scheduler
    that Dask is set to use. Columns of objects are text.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    is_lazy = True
    # The partitions of a part are in memory together.
    blocks_of_part = 8

    def __init__(self, frame: Any) -> None:
        self.source, self.executor = "the Dask frame", datasets.DaskGraph()
        self._frame = frame
        if wrong := [name for name in frame.columns if not isinstance(name, str)]:
            raise DataTypeError(
                f"Columns of {self.source} need texts as names; got {quoted(wrong)}. Rename them, "
                "such as by frame.rename(columns=str)."
            )
        # The frame without rows does not tell the type of objects, and Dask's example
        # (`_meta_nonempty`: invented rows of the frame's types) has objects of no type.
        objects = [name for name, kind in frame.dtypes.items() if kind.kind == "O"]
        example = frame._meta_nonempty.assign(**dict.fromkeys(objects, "text"))
        table = arrow().Table.from_pandas(example, preserve_index=False)
        self.schema = datasets.with_categories(table.schema.remove_metadata())

    def pieces(self, columns: Sequence[str]) -> Sequence[datasets.Piece]:
        """Return the partitions; see `Dataset.pieces`."""
        return [Partition(lazy, self.schema) for lazy in self._frame[list(columns)].to_delayed()]

    def predicted(
        self, predicting: datasets.Predicting, columns: Sequence[str], keep: Sequence[str]
    ) -> Any:
        """Return the Dask frame of predictions, with the index and the partitions of this one.

        The function is in the graph once, so that each worker gets it once.
        """
        dask = optional_module("dask", extra="dask", what="Reading Dask frames")
        used = self._frame[list(dict.fromkeys([*columns, *keep]))]
        example = used._meta_nonempty.iloc[:1]
        # The arguments `keep` and `columns` of `_with_predictions`.
        names = list(keep), list(columns)
        schema = datasets.selected(self.schema, columns)
        # What is predicted for an example tells Dask the columns and their types.
        with warnings.catch_warnings():
            # The one row of the example is Dask's invention.
            warnings.simplefilter("ignore", ExtrapolationWarning)
            meta = _with_predictions(example, predicting, *names, schema, None).iloc[:0]
        sent = dask.delayed(predicting, pure=False, traverse=False)
        return used.map_partitions(
            _with_predictions, sent, *names, schema, meta, meta=meta, enforce_metadata=False
        )


@dataclass(frozen=True)
class Partition:
    """A partition of a Dask frame.

    Attributes
    ----------
    frame : dask.delayed.Delayed, or pandas.DataFrame
        What will be the partition, or the partition on the worker that reads it.
    schema : pyarrow.Schema
        Types of the columns.
    """

    frame: Any
    schema: Any
    n_rows: int | None = None

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some columns; see `Piece`."""
        frame = self.frame.compute() if hasattr(self.frame, "compute") else self.frame
        yield _of_partition(frame[list(columns)], datasets.selected(self.schema, columns))


def _of_partition(frame: Any, schema: Any) -> Any:
    """Return rows of pandas as a pyarrow Table with the types of the Dask frame; see `fitted`."""
    what = "A partition of the Dask frame"
    try:
        table = arrow().Table.from_pandas(frame, preserve_index=False)
    except (arrow().ArrowInvalid, arrow().ArrowTypeError) as error:
        raise datasets.other_type(what, *error.args) from error
    return datasets.fitted(table, schema, what)


def _with_predictions(
    part: Any,
    predicting: datasets.Predicting,
    keep: Sequence[str],
    columns: Sequence[str],
    schema: Any,
    empty: Any,
) -> Any:
    """Return the kept columns of a partition and its predictions.

    Parameters
    ----------
    part : pandas.DataFrame
    predicting : callable
    keep : sequence of str
    columns : sequence of str
        Those from which it predicts, whose types are in `schema`.
    schema : pyarrow.Schema
    empty : pandas.DataFrame
        The result for a partition without rows.
    """
    if not len(part):
        return empty
    return part[keep].assign(**predicting(_of_partition(part[columns], schema), keep))


# ------------------ Spark frames as datasets: partitions are counted by Spark's own Python workers


# Rows are numbered within partitions, of which Spark may form others for other columns: the lower
# 40 bits of the number of a row are its number in the partition, the upper bits the partition's.
_PARTITION_BITS = 40


class SparkFrame(datasets.Dataset):
    """A Spark frame as one table: its partitions in their order.

    Each partition has a grid of blocks of its own. Sums have the same bits if Spark computes the
    same partitions with the same order of rows again, which it does not promise after a shuffle;
    counts are exact all the same.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    is_lazy = True

    def __init__(self, frame: Any) -> None:
        self.source = "the Spark frame"
        self._frame = frame
        self.schema = datasets.with_categories(frame.limit(0).toArrow().schema.remove_metadata())

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns, one partition after another; see `Dataset.tables`."""
        schema = datasets.selected(self.schema, columns)
        sent = self._columns(columns).mapInArrow(_sent, "rows binary")
        # Each row has the bytes of a batch, in the order of the partitions.
        for row in sent.toLocalIterator():
            with arrow().ipc.open_stream(bytes(row.rows)) as stream:
                yield datasets.as_schema(stream.read_all().rename_columns(schema.names), schema)

    def reduce(
        self,
        function: Callable[[int, Any], datasets.Sum],
        columns: Sequence[str],
        rows: datasets.Rows = datasets.EVERY,
    ) -> datasets.Sum | None:
        """Return the sum of a function of all runs of all partitions; see `Dataset.reduce`."""
        if self.executor is not None:
            raise DataTypeError("Spark frames are counted by Spark; leave out executor=.")
        wanted = self._read_with(columns, rows)
        task = partial(_counted, function, datasets.selected(self.schema, wanted), rows)
        sent = self._columns(wanted).mapInArrow(task, "part int, value binary").collect()
        # A partition that was computed twice is there once.
        by_part = {row.part: row.value for row in sent}
        # The bytes were made by our own function on the workers.
        values = [pickle.loads(by_part[part]) for part in sorted(by_part)]
        total: datasets.Sum | None = parallel.tree_sum(v for v in values if v is not None)
        return total

    def predicted(
        self, predicting: datasets.Predicting, columns: Sequence[str], keep: Sequence[str]
    ) -> Any:
        """Return the Spark frame of predictions; each worker gets the function once."""
        schema = datasets.selected(self.schema, columns)
        # Predictions for a row without values tell their types.
        nulls = [arrow().nulls(1, field.type) for field in schema]
        example = arrow().Table.from_arrays(nulls, schema=schema)
        predicted = arrow().table(predicting(example, keep))
        session = self._frame.sparkSession
        result = self._frame.select(*map(_quoted, keep)).schema
        for field in session.createDataFrame(predicted).schema:
            result = result.add(field)
        sent = session.sparkContext.broadcast(predicting)
        read = tuple(dict.fromkeys([*columns, *keep]))
        task = partial(_predicted, sent, read, schema, tuple(keep))
        return self._columns(read).mapInArrow(task, result)

    def _columns(self, columns: Sequence[str]) -> Any:
        """Return some columns with plain names, as mapInArrow takes no others."""
        plain = [f"{_quoted(name)} AS c{i}" for i, name in enumerate(columns)]
        return self._frame.selectExpr(*plain)


def _quoted(name: str) -> str:
    """Return the name of a column in quotes of Spark's SQL."""
    return f"`{name.replace('`', '``')}`"


def _counted(
    function: Callable[[int, Any], Any], schema: Any, rows: datasets.Rows, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield a partition's number and the sum of a function of its runs, as Spark wants it."""
    spark = optional_module("pyspark", extra="spark", what="Reading Spark frames")
    # The number of the partition, also in the upper bits of the numbers of its rows.
    part = spark.TaskContext.get().partitionId()
    # A batch of columns with plain names as a Table with those of a schema.
    named = (arrow().Table.from_batches([batch]).rename_columns(schema.names) for batch in batches)
    tables = (rows.kept(datasets.as_schema(table, schema)) for table in named)
    value = pickle.dumps(datasets.sum_of_runs(function, tables, part << _PARTITION_BITS))
    row = {"part": arrow().array([part], arrow().int32()), "value": [value]}
    yield arrow().RecordBatch.from_pydict(row)


def _predicted(
    predicting: Any,
    names: Sequence[str],
    schema: Any,
    keep: Sequence[str],
    batches: Iterable[Any],
) -> Iterator[Any]:
    """Yield the kept columns of each batch with rows, and its predictions.

    Parameters
    ----------
    predicting : pyspark.Broadcast of Predicting
    names : sequence of str
        Names of the columns of a batch.
    schema : pyarrow.Schema
        Types of the columns from which it predicts.
    keep : sequence of str
    batches : iterable of pyarrow.RecordBatch
    """
    for batch in batches:
        if len(batch):
            columns = dict(zip(names, batch.columns, strict=True))
            table = arrow().table({name: columns[name] for name in schema.names})
            predictions = predicting.value(datasets.as_schema(table, schema), keep)
            kept = {name: columns[name] for name in keep}
            yield arrow().RecordBatch.from_pydict({**kept, **predictions})


def _sent(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield each batch as one row with its bytes."""
    for batch in batches:
        sink = arrow().BufferOutputStream()
        with arrow().ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield arrow().RecordBatch.from_pydict({"rows": [sink.getvalue().to_pybytes()]})


# ------ Files elsewhere: objects in stores of S3, Google and Azure, by the file systems of pyarrow


def is_uri(text: str) -> bool:
    """Return whether a text names an object, rather than a path on this machine."""
    return "://" in text


def without_options(uri: str) -> str:
    """Return a URI without what may be secret: options, and the name and key of a user."""
    return re.sub("://[^/]*@", "://", uri.partition("?")[0])


def objects_of(uris: Sequence[str], source: str) -> Any:
    """Return the Parquet objects that URIs, folders and globs name as a dataset of pyarrow.

    Parameters
    ----------
    uris : sequence of str
        All of one store, with the same options.
    source : str
        Name of all of them for messages.

    Raises
    ------
    DataTypeError
        If some are paths, or of another store.
    FileFormatError
        If some are no Parquet files, or cannot be read.
    FileNotFoundError
        If there is no such object.
    """
    filesystem, paths = _opened(uris)
    try:
        files = [file for path in paths for file in _objects(filesystem, path)]
        if not files:
            raise FileNotFoundError(f"There is no Parquet file {source}.")
        other = [file for file in files if not file.lower().endswith(PARQUET)]
        if other:
            raise FileFormatError(
                f"Elsewhere than on this machine, files are Parquet files, "
                f"{quoted(PARQUET)}; got {quoted(other[:3])}."
            )
        return arrow(".dataset").dataset(files, filesystem=filesystem, format="parquet")
    except arrow().ArrowInvalid as error:
        raise datasets.unreadable(source, error) from error


def _opened(uris: Sequence[str]) -> tuple[Any, list[str]]:
    """Return the file system of URIs, and the path of each in it."""
    opened = []
    for uri in uris:
        if not is_uri(uri):
            raise DataTypeError(f"Expected URIs of one store; got the path {uri!r} among them.")
        try:
            opened.append(arrow(".fs").FileSystem.from_uri(uri))
        except arrow().ArrowInvalid as error:
            raise datasets.unreadable(without_options(uri), error) from error
    filesystem = opened[0][0]
    for uri, (other, _) in zip(uris, opened, strict=True):
        if other != filesystem:
            raise DataTypeError(
                f"Expected URIs of one store with the same options; {without_options(uri)!r} has "
                f"others than {without_options(uris[0])!r}."
            )
    return filesystem, [path for _, path in opened]


def _objects(filesystem: Any, path: str) -> Iterator[str]:
    """Yield the objects that a path, a folder or a glob names, in order."""
    files = arrow(".fs")
    before, wildcard, _ = path.partition("*")
    if not wildcard and filesystem.get_file_info(path).type == files.FileType.File:
        yield path
        return
    # The folder in which all of them lie.
    base = (before.rpartition("/")[0] if wildcard else path).rstrip("/")
    selector = files.FileSelector(base, allow_not_found=True, recursive=True)
    # As a regular expression: ** is any number of folders, and other asterisks are within one.
    expression = re.sub(r"(?<![^/])\\\*\\\*/", "(?:[^/]+/)*", re.escape(path))
    pattern = re.compile(expression.replace(r"\*", "[^/]*")) if wildcard else None
    for info in sorted(filesystem.get_file_info(selector), key=lambda info: info.path):
        if info.type != files.FileType.File:
            continue
        if pattern is None:
            if datasets.is_data(PurePosixPath(info.path[len(base) + 1 :])):
                yield info.path
        elif pattern.fullmatch(info.path) and not datasets.is_hidden(PurePosixPath(info.path).name):
            yield info.path


# ------------------------------------------------------------- Tables of other engines as datasets


class Batches(datasets.Dataset):
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
        schema = datasets.selected(self.schema, columns)
        for batch in self._make(columns):
            table = _as_table(batch, self.source)
            if lacking := [name for name in columns if name not in table.column_names]:
                raise DataError(
                    f"A batch of {self.source} lacks the columns {quoted(lacking)}, which the "
                    "first one has."
                )
            yield datasets.fitted(table.select(list(columns)), schema, f"A batch of {self.source}")


def _as_table(batch: Any, source: str) -> Any:
    """Return a record batch, or a frame of any library, as a pyarrow Table."""
    if isinstance(batch, arrow().Table):
        return batch
    if isinstance(batch, arrow().RecordBatch):
        return arrow().Table.from_batches([batch])
    try:
        return nw.maybe_reset_index(nw.from_native(batch, eager_only=True)).to_arrow()
    except TypeError as error:
        raise DataTypeError(
            f"{source} is expected to be batches of rows: record batches or tables of pyarrow, or "
            f"frames of pandas and polars; got {type(batch).__name__}."
        ) from error


def of_engine(data: Any) -> datasets.Dataset | None:
    """Return a frame of an engine, or a function that makes batches, as a dataset; else None."""
    if inspect.isgenerator(data):
        raise DataTypeError(
            "A generator gives its rows once, and they are read in several passes: give the "
            f"function {data.__name__} in place of what it returned."
        )
    make = _MAKERS.get((engine_of(data), type(data).__name__))
    if make is not None:
        return make(data)
    return _of_function(data) if inspect.isfunction(data) or inspect.ismethod(data) else None


def _of_polars(frame: Any) -> datasets.Dataset:
    """Return a lazy frame of polars as a dataset."""

    def batches(columns: Sequence[str]) -> Iterable[Any]:
        return frame.select(list(columns)).collect_batches(  # type: ignore[no-any-return]
            chunk_size=parallel.BLOCK, maintain_order=True
        )

    wide = [n for n, kind in frame.collect_schema().items() if str(kind) in ("Int128", "UInt128")]
    if wide:
        raise DataTypeError(
            f"The lazy frame has integers of 128 bits in the column {quoted(wide)}, which no batch "
            "of Arrow holds. Cast them to Int64, or to String if they are codes."
        )
    schema = frame.head(0).collect().to_arrow().schema
    return Batches(batches, schema, "the lazy frame")


def _of_duckdb(relation: Any) -> datasets.Dataset:
    """Return a relation of DuckDB as a dataset."""

    def fetched(columns: Sequence[str]) -> Iterable[Any]:
        quoted_names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        return relation.project(quoted_names).to_arrow_reader(parallel.BLOCK)  # type: ignore[no-any-return]

    return Batches(fetched, relation.limit(0).to_arrow_table().schema, "the relation")


def _of_arrow(data: Any, where: Any) -> datasets.Dataset:
    """Return a dataset of pyarrow that is filtered, or of no files, such as of tables in memory."""

    def batches(columns: Sequence[str]) -> Iterable[Any]:
        return data.to_batches(columns=list(columns), filter=where)  # type: ignore[no-any-return]

    dataset = Batches(batches, data.schema, "the dataset")
    if where is None:
        dataset.n_rows = data.count_rows()
    return dataset


_MAKERS: dict[tuple[str | None, str], Callable[[Any], datasets.Dataset]] = {
    ("polars", "LazyFrame"): _of_polars,
    ("DuckDB", "DuckDBPyRelation"): _of_duckdb,
    ("Dask", "DataFrame"): DaskFrame,
    ("Spark", "DataFrame"): SparkFrame,
}


def _of_function(make: Callable[[], Iterable[Any]]) -> datasets.Dataset:
    """Return the dataset of a function that makes batches, of which the first has the columns."""
    source = f"what {make.__name__} returns"
    batches = make()
    if not isinstance(batches, Iterable):
        raise DataTypeError(
            f"{source} is expected to be record batches or frames, one after another; got "
            f"{type(batches).__name__}."
        )
    for batch in batches:
        schema = datasets.with_categories(_as_table(batch, source).schema.remove_metadata())
        return Batches(lambda _: make(), schema, source)
    raise DataError(f"{source} has no batches.")


# ------------------------- Parquet and CSV files as datasets, read by the datasets of pyarrow


# Number of rows that are decoded together, as many as a block has. Pages of all columns are held
# for them; each text column has a dictionary, so that fewer rows take longer to encode.
_BATCH_ROWS = 1 << 15
# Row groups of a file are one piece until they hold this many rows.
_PIECE_ROWS = 1 << 16
# Bytes of a CSV file that are parsed together.
_BLOCK = 1 << 24


class Files(datasets.Dataset):
    """Files as one table, in the order of their names.

    Columns may come in any order; integers and floats of different widths are widened to one type.

    Parameters
    ----------
    dataset : pyarrow.dataset.FileSystemDataset
    source : str
    where : pyarrow.dataset.Expression, optional
        Only rows for which it is true are read.
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.
    csv : CsvCells, optional
        How the cells of CSV files are read.

    Raises
    ------
    FileFormatError
        If a file lacks a column that another has, or has it with a type of another kind.
    """

    def __init__(
        self,
        dataset: Any,
        source: str,
        where: Any = None,
        columns: Sequence[str] | None = None,
        csv: CsvCells | None = None,
    ) -> None:
        self.source, self._where, self._csv = source, where, csv
        self._filesystem, self._paths = dataset.filesystem, dataset.files
        self._opened_states = datasets.state_of(self._filesystem, self._paths)
        fragments = list(dataset.get_fragments())
        lengths: list[Any] = []
        if csv is None:
            schema = datasets.joined_schema(dataset, source, columns)
            if where is None:
                lengths = [f.count_rows() for f in fragments]
        else:
            # The dataset has the columns of partitioned paths alone, which are in no file.
            inside = (
                None if columns is None else [n for n in columns if n not in dataset.schema.names]
            )
            schema, lengths = csv.schema_of(self._paths, inside, where)
            outside = [field for field in dataset.schema if field.name not in schema.names]
            schema = arrow().schema([*schema, *outside])
        # Pieces have all columns: `where` may name some that are not among `columns`.
        schema = datasets.with_categories(schema)
        if where is None:
            self.n_rows = sum(lengths)
        else:
            _check_where(where, schema, source)
            lengths = [None] * len(fragments)
        self.schema = schema if columns is None else datasets.selected(schema, columns)
        # The fragments (one for each file) again, with a format that reads the types of the schema.
        form = _format_of(dataset, schema) if csv is None else csv.format(schema)
        opened = (
            form.make_fragment(f.path, f.filesystem, f.partition_expression) for f in fragments
        )
        self._pieces = [
            _FileRows(source, fragment, state, schema, where, n_rows, csv)
            for fragment, state, n_rows in zip(opened, self._opened_states, lengths, strict=True)
        ]

    def pieces(self, columns: Sequence[str]) -> Sequence[datasets.Piece]:
        """Return successive row groups of each Parquet file, and others; see `Dataset.pieces`."""
        # Pieces are small because of files elsewhere, of which a piece is read ahead and held as a
        # whole; see `_format_of`.
        return [part for piece in self._pieces for part in piece.split()]

    @property
    def state(self) -> str | None:
        """Paths, sizes and times of the files, and how their cells are read; see `Dataset`."""
        marks = datasets.marks_of(self._paths)
        return repr((self._paths, self._opened_states, marks, str(self._where), self._csv))


@dataclass(frozen=True)
class _FileRows:
    """Rows of a file: all, or those of some row groups.

    Attributes
    ----------
    source : str
        Name of the dataset.
    fragment : pyarrow.dataset.FileFragment
    opened_state : tuple
        Size and time of the file when the dataset was opened.
    schema : pyarrow.Schema
        Types of the columns.
    where : pyarrow.dataset.Expression or None
    n_rows : int or None
        Number of the rows, if it is known.
    csv : CsvCells or None
        How the cells of a CSV file are read.
    """

    source: str
    fragment: Any
    opened_state: Any
    schema: Any
    where: Any = None
    n_rows: int | None = None
    csv: CsvCells | None = None

    def split(self) -> Iterator[_FileRows]:
        """Yield pieces of whole row groups of a Parquet file; others are one piece."""
        if not hasattr(self.fragment, "row_groups"):
            yield self
            return
        groups: list[int] = []
        n_rows = 0
        for group in self.fragment.row_groups:
            groups.append(group.id)
            n_rows += group.num_rows
            if n_rows >= _PIECE_ROWS or group.id == self.fragment.num_row_groups - 1:
                part = self.fragment.subset(row_group_ids=groups)
                yield replace(self, fragment=part, n_rows=n_rows if self.where is None else None)
                groups, n_rows = [], 0

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some columns in order.

        Raises
        ------
        DataError
            If the file has changed since the dataset was opened.
        """
        self._check_unchanged()
        fragment = self.fragment
        if hasattr(fragment, "row_groups"):
            # Those of a fragment that was sent to another process are in any order.
            fragment = fragment.subset(row_group_ids=sorted(g.id for g in fragment.row_groups))
        scan = partial(fragment.scanner, schema=self.schema)
        # Of compressed files, pyarrow's fragments inflate those whose name ends with .gz alone.
        inflates = "gzip" if fragment.path.endswith(".gz") else None
        if self.csv is not None and _codec(fragment.path) != inflates:
            kinds = dict(zip(self.schema.names, self.schema.types, strict=True))
            names = self.csv.opened(fragment.path, {}).schema.names
            # The types of columns that are not used are not known.
            reader = self.csv.opened(fragment.path, kinds, [n for n in kinds if n in names])
            keys = arrow(".dataset").get_partition_keys(fragment.partition_expression)
            outside = [field for field in self.schema if field.name not in reader.schema.names]
            scan = partial(
                arrow(".dataset").Scanner.from_batches,
                (_with_keys(batch, outside, keys) for batch in reader),
                schema=arrow().schema([*reader.schema, *outside]),
            )
        # What is read ahead is held; threads of pyarrow would compete with those that count.
        scanner = scan(
            columns=list(columns), filter=self.where, batch_size=_BATCH_ROWS,
            batch_readahead=1, fragment_readahead=1, use_threads=False,
        )  # fmt: skip
        try:
            for batch in scanner.to_batches():
                yield arrow().Table.from_batches([batch])
        except (arrow().ArrowInvalid, OSError) as error:
            self._check_unchanged()  # a file that is being written seems damaged
            raise datasets.unreadable(self.fragment.path, error) from error
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Raise an error if the file has changed since the dataset was opened."""
        path = self.fragment.path
        if datasets.state_of(self.fragment.filesystem, [path]) != (self.opened_state,):
            raise DataError(
                f"{quoted([path])} changed while {self.source} was read, so that its passes would "
                "not be about the same rows. Start again when nothing writes to it."
            )


def _with_keys(batch: Any, fields: Sequence[Any], keys: Mapping[str, Any]) -> Any:
    """Return a batch with the columns of a partitioned path, null where it has no key."""
    for field in fields:
        values = arrow().array([keys.get(field.name)] * len(batch), field.type)
        batch = batch.append_column(field, values)
    return batch


def _check_where(where: Any, schema: Any, source: str) -> None:
    """Raise a DataError for an expression that selects no rows of columns with these types."""
    try:
        arrow(".dataset").dataset(schema.empty_table()).scanner(filter=where).to_table()
    except arrow().ArrowException as error:
        raise DataError(
            f"where= takes a condition on columns of {source}; got {where}: "
            f"{str(error).splitlines()[0]:.200}."
        ) from error


def _format_of(dataset: Any, schema: Any) -> Any:
    """Return the format of files, by which Parquet files have text as categories.

    Parquet files elsewhere are read ahead in few large requests (pre_buffer).
    """
    files = arrow(".dataset")
    if not isinstance(dataset.format, files.ParquetFileFormat):
        return dataset.format
    texts = [f.name for f in schema if datasets.is_text(f.type)]
    is_local = isinstance(dataset.filesystem, arrow(".fs").LocalFileSystem)
    return files.ParquetFileFormat(dictionary_columns=set(texts), pre_buffer=not is_local)


@dataclass(frozen=True)
class CsvCells:
    """How the cells of CSV files are read; all rows decide on the types.

    A column is a number, a truth value or text as `read_table` decides of one file. Types are those
    of the first rows until a value does not fit; its file is then read again with a wider type.

    Attributes
    ----------
    missing : tuple of str
        Texts of cells that mean a missing value.
    text : tuple of str
        Columns that are text, even if all values look like numbers.
    delimiter : str
    """

    missing: tuple[str, ...]
    text: tuple[str, ...]
    delimiter: str

    def _options(self, kinds: Mapping[str, Any], columns: Sequence[str] = ()) -> dict[str, Any]:
        """Return pyarrow's options, given types of columns and the columns to read; all if none."""
        csv, text = arrow(".csv"), arrow().string()
        # Of columns without a type here, pyarrow infers it from the first block.
        return {
            "read_options": csv.ReadOptions(block_size=_BLOCK),
            "parse_options": csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": csv.ConvertOptions(
                null_values=list(self.missing),
                strings_can_be_null=True,
                column_types=dict.fromkeys(self.text, text) | dict(kinds),
                include_columns=list(columns),
            ),
        }

    def format(self, schema: Any) -> Any:
        """Return the format of files with the types of a schema."""
        kinds = dict(zip(schema.names, schema.types, strict=True))
        return arrow(".dataset").CsvFileFormat(**self._options(kinds))

    def schema_of(
        self, paths: Sequence[str], columns: Sequence[str] | None, where: Any = None
    ) -> tuple[Any, list[int]]:
        """Return the schema that no value contradicts, and the number of rows of each file.

        It has the columns to use, and those that the expression `where` names.

        The next file is the one after those whose rows are counted. If a value contradicts the type
        of its column, the file is read again with a wider type; or all of them if `_of_cells` says
        so.
        """
        kinds: dict[str, Any] = {}
        names: list[tuple[str, Sequence[str]]] = []
        n_rows: list[int] = []
        while len(n_rows) < len(paths):
            path = paths[len(n_rows)]
            try:
                # A file that is read again has its names in the list.
                if len(names) == len(n_rows):
                    names.append((path, self.opened(path, {}).schema.names))
                    if columns is not None and where is not None and len(names) == 1:
                        columns = [*columns, *_named_in(where, {*names[0][1]} - {*columns})]
                    # The first file has the columns to use, and this one those of the first.
                    first_path, first_names = names[0]
                    check_known(columns or (), first_names, where=f"columns=: {first_path}")
                    datasets.check_same_names([names[0], names[-1]], columns)
                reader = self.opened(path, kinds, columns or ())
                # To begin with, types are those that pyarrow infers from the first rows.
                kinds = kinds or dict(zip(reader.schema.names, reader.schema.types, strict=True))
                # Raise a FileFormatError for columns of bytes, which is what other encodings are
                # taken for.
                if wrong := [name for name, kind in kinds.items() if arrow().types.is_binary(kind)]:
                    raise FileFormatError(
                        f"{path}: the column {quoted(wrong)} is not text in UTF-8. Convert the "
                        "file, or read it as a table in memory by read_table, with encoding=."
                    )
                n_rows.append(sum(len(batch) for batch in reader))
            except arrow().ArrowInvalid as error:
                name, kind = self._contradiction(path, str(error), kinds)
                kinds[name], again = _of_cells(kinds[name], kind)
                if again:
                    n_rows.clear()
        schema = arrow().schema(list(kinds.items()))
        # Columns become text if their numbers would lose leading zeros or digits.
        contents = ((_content(path), partial(self.opened, path)) for path in paths)
        kinds |= codes_among(schema, contents, self.delimiter, f"{len(paths)} files")
        return arrow().schema(list(kinds.items())), n_rows

    def opened(self, path: str, kinds: Mapping[str, Any], columns: Sequence[str] = ()) -> Any:
        """Return pyarrow's reader of a file, which yields batches; arguments as of `_options`."""
        return arrow(".csv").open_csv(_content(path), **self._options(kinds, columns))

    def _contradiction(self, path: str, said: str, kinds: Collection[str]) -> tuple[str, Any]:
        """Return the column of a value that is not of its type, and the type of that value.

        `said` is pyarrow's message, which has the number of the column and the value.
        """
        match = re.search(r"In CSV column #(\d+): .*: invalid value '(.*)'", said, re.DOTALL)
        name = self.opened(path, {}).schema.names[int(match[1])] if match else ""
        if not match or name not in kinds:
            raise FileFormatError(
                f"{path!r} cannot be read as a table with the fields separated by "
                f"{self.delimiter!r}: {said.splitlines()[0]:.200}."
            )
        # The type of the cell is the one that pyarrow gives to a file that has it alone.
        cell = match[2].replace('"', '""')
        options = self._options({}) | {
            "read_options": arrow(".csv").ReadOptions(column_names=["value"])
        }
        table = arrow(".csv").read_csv(io.BytesIO(f'"{cell}"\n'.encode()), **options)
        return name, table.schema.types[0]


def _named_in(where: Any, names: Collection[str]) -> list[str]:
    """Return those of some names that occur in an expression of pyarrow, in ascending order."""
    said = str(where)
    return [n for n in sorted(names) if re.search(rf"(?<!\w){re.escape(n)}(?!\w)", said)]


def _codec(path: str) -> str | None:
    """Return pyarrow's name of the compression of a file, which its first bytes tell."""
    with open(path, "rb") as file:
        return codec_of(file.read(4))


def _content(path: str) -> Any:
    """Return a stream of pyarrow of the content of a file, inflated."""
    return arrow().input_stream(path, compression=_codec(path))


def _of_cells(before: Any, after: Any) -> tuple[Any, bool]:
    """Return the type of a column with cells of two types, and whether to read all files again.

    `before` is the type of the column so far, and `after` that of a cell that it does not hold.
    Cells are read again if those before may not fit: 0 and 1 are truth values, other numbers not.
    """
    types = arrow().types
    if types.is_integer(before) and types.is_boolean(after):
        return after, True
    # Dates and instants of another precision are instants too.
    if types.is_temporal(before) and types.is_timestamp(after) and not types.is_time(before):
        return after, False
    joined = datasets.widened(before, after)
    # The old type was contradicted: where no wider one holds both, the column is text.
    return (arrow().string() if joined in (None, before) else joined), False


# -------------------------------------------------------- Opening of files and engines as datasets


def open_dataset(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    where: Any = None,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    max_categories: int | None = None,
    progress: datasets.Progress | None = None,
    executor: Any = None,
    sample_rows: int | None = None,
    cache: datasets.Cache | None = None,
) -> datasets.Dataset:
    """Open files or an engine as a Dataset: a table larger than memory, read in passes.

    `fit` and `predict_dataset` of classifiers take what this function takes, without its options,
    and what it returns. A dataset that is opened again keeps the options that are not given. Rows
    have the order of the files' names, and of the rows in each file. Counts, intervals and groups
    are those of all rows. Where a numeric column has more than 4,095 distinct values, a discretiser
    searches between as many quantiles of a sample: measured, with up to a hundred intervals, these
    lose at most 0.3 % of their information on the class.

    Parameters
    ----------
    data : path, glob or folder; list of paths; pyarrow dataset; lazy frame; function; Dataset
        Parquet or CSV files, as one table: columns may come in any order, and integers and floats
        of different widths become one type, and ordered categories text. Of a folder, files and
        folders that begin with a dot or an underscore are left out, and folders in it such as
        ``year=2020`` are columns. Paths of Parquet files may begin with ``s3://``, ``gs://`` and
        others that pyarrow knows, and end with its options, as in
        ``s3://bucket/*.parquet?region=eu-west-1``; there a ``?`` is no part of a glob. A lazy frame
        is one of polars, Dask or Spark, or a relation of DuckDB; a function without parameters
        returns batches of rows, the same ones whenever it is called. The index of a frame of pandas
        is no column.
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.
    where : pyarrow.dataset.Expression, optional
        Rows of files to use, such as ``pyarrow.dataset.field("year") > 2020``.
    missing : sequence of str
        Texts of CSV cells that mean a missing value.
    text : sequence of str
        Columns of CSV files to read as text, even if all values look like numbers. Those whose
        numbers would lose leading zeros or digits are text, too, with a warning.
    delimiter : str, optional
        What separates the fields of CSV files; by default the tab in .tsv files, else the comma.
    max_categories : int, default 10,000
        Maximum number of states of a discrete column, which are held in memory.
    progress : callable, optional
        Called in each pass with the number of rows read so far and of all rows, None if unknown.
    executor : concurrent.futures.Executor or distributed.Client, optional
        Where parts of the rows are read and counted, such as a ``ProcessPoolExecutor`` or a Dask
        cluster, for files and Dask frames. By default by threads of this process. The
        fitted model has the same bits.
    sample_rows : int, default 262,144
        Number of rows of the sample that is taken for what needs rows in memory: trees, training to
        predict, and the quantiles between which discretisers search.
    cache : bool or path, default False
        Whether to write the encoded rows to disk in the first pass over all columns, for the others
        to read: to a temporary folder, removed at the end, or to a folder that is kept, and used
        again by a fit on the same rows. It has a byte for each cell of text, and eight for a
        number. Structure searches, EM and feature selection make many passes.

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
    chosen = {
        "max_categories": max_categories,
        "sample_rows": sample_rows,
        "progress": progress,
        "executor": datasets.as_executor(executor),
        "cache": cache,
    }
    options = {name: value for name, value in chosen.items() if value is not None}
    _check_options(columns, where, options)
    check_no_text(missing, "missing=")
    check_no_text(text, "text=")
    dataset = _as_opened(data, columns, where, missing=missing, text=text, delimiter=delimiter)
    if dataset is None:
        raise DataTypeError(
            "A dataset is a path, a glob, a folder, a list of paths, a dataset of pyarrow, a lazy "
            "frame of polars, Dask or Spark, a relation of DuckDB, or a function that returns "
            f"batches; got {type(data).__name__}. Tables in memory go to fit and predict as they "
            "are."
        )
    for name, value in options.items():
        setattr(dataset, name, value)
    # A Dask frame has an executor that the user did not ask for.
    is_elsewhere = dataset.executor is not None and not (dataset.is_lazy and executor is None)
    if is_elsewhere and dataset.cache is not False:
        raise DataTypeError("cache= keeps rows for passes of this process; leave out executor=.")
    return dataset


def _check_options(columns: Any, where: Any, options: Mapping[str, Any]) -> None:
    """Raise an error for an option of `open_dataset` that is of a wrong kind."""
    for name, what in (("max_categories", "states"), ("sample_rows", "rows")):
        if name in options:
            whole_number(f"{name}=", what, options[name], 1)
    cache = options.get("cache", False)
    if not isinstance(cache, (bool, str, os.PathLike)):
        raise DataTypeError(f"cache= is True, False or the path of a folder; got {cache!r}.")
    if columns is not None:
        datasets.check_list(columns, "columns=")
    if "progress" in options and not callable(options["progress"]):
        raise DataTypeError(
            "progress= is a function of the number of rows read so far and of all rows; "
            f"got {options['progress']!r}."
        )
    if where is not None and not isinstance(where, arrow(".dataset").Expression):
        raise DataTypeError(
            "where= is an expression of pyarrow, such as pyarrow.dataset.field('year') > 2020; "
            f"got {where!r}."
        )


def as_dataset(data: Any) -> datasets.Dataset | None:
    """Return data that may be larger than memory as a Dataset, and None for tables in memory.

    Parameters
    ----------
    data : Dataset, or anything
        Opened as by `open_dataset` with its defaults.
    """
    return data if isinstance(data, datasets.Dataset) else _as_opened(data, None, None)


def _as_opened(
    data: Any, columns: Sequence[str] | None, where: Any, **cells: Any
) -> datasets.Dataset | None:
    """Return data as a new Dataset, None for other data; the parameters are of `open_dataset`.

    `cells` are those on the cells of CSV files, which only paths have.
    """
    if isinstance(data, (str, os.PathLike)):
        return _of_paths([data], str(data), columns, where, **cells)
    is_list = isinstance(data, (list, tuple)) and len(data) > 0
    if is_list and all(isinstance(path, (str, os.PathLike)) for path in data):
        return _of_paths(data, f"{len(data)} files", columns, where, **cells)
    defaults = {"missing": MISSING, "text": (), "delimiter": None}
    if ineffective := [
        f"{n}=" for n, v in cells.items() if v is not None and tuple(v) != defaults[n]
    ]:
        raise DataTypeError(
            f"{' and '.join(ineffective)} tells how cells of CSV files are read, and takes paths; "
            f"got {type(data).__name__}. Give it when the files are opened first."
        )
    # Datasets of pyarrow, of which only those of files have the attribute `files`.
    is_arrow = type(data).__module__.startswith("pyarrow._dataset")
    # Those that are filtered do not hand out their files.
    if is_arrow and hasattr(data, "files") and not data._scan_options:
        return Files(data, "the dataset", where, columns)
    if is_arrow:
        dataset: datasets.Dataset | None = _of_arrow(data, where)
    else:
        dataset = copy.copy(data) if isinstance(data, datasets.Dataset) else of_engine(data)
    if dataset is None:
        return None
    if where is not None and not is_arrow:
        raise DataTypeError(f"where= selects rows of files; filter {dataset.source} itself.")
    if columns is not None:
        dataset.checked(columns, "columns=")
        dataset.schema = datasets.selected(dataset.schema, columns)
    return dataset


def _of_paths(
    paths: Sequence[Any],
    source: str,
    columns: Sequence[str] | None,
    where: Any,
    *,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
) -> datasets.Dataset:
    """Return the dataset of paths, globs and folders, with files in the order of their names."""
    texts = [os.fspath(path) for path in paths]
    if any(map(is_uri, texts)):
        if len(texts) == 1:
            source = without_options(source)
        return Files(objects_of(texts, source), source, where, columns)
    files = [file for path in texts for file in _files(path)]
    if not files:
        place = "in the folder " if any(Path(text).is_dir() for text in texts if text) else ""
        raise FileNotFoundError(f"There is no Parquet or CSV file {place}{source}.")
    folder = texts[0] if len(texts) == 1 and Path(texts[0]).is_dir() else None
    paths_have = _partitioning(files, folder)
    kinds = {datasets.kind_of(file) for file in files}
    if kinds <= {"parquet", "pq"}:
        try:
            parquet = arrow(".dataset").dataset(files, format="parquet", **paths_have)
            return Files(parquet, source, where, columns)
        except arrow().ArrowInvalid as error:
            raise datasets.unreadable(source, error) from error
    if not (kinds <= {"csv", "tsv"}):
        raise FileFormatError(
            f"{source}: expected files of one kind, .parquet or .csv; got {quoted(sorted(kinds))}."
        )
    check_character("delimiter", delimiter)
    delimiter = delimiter or ("\t" if kinds == {"tsv"} else ",")
    csv = CsvCells(tuple(missing), tuple(text), delimiter)
    of_arrow = arrow(".dataset")
    opening = of_arrow.FileSystemDatasetFactory(
        arrow(".fs").LocalFileSystem(),
        files,
        of_arrow.CsvFileFormat(),
        of_arrow.FileSystemFactoryOptions(**paths_have),
    )
    # The cells tell the types of all columns but those of paths.
    untyped = opening.finish(opening.inspect(fragments=0))
    return Files(untyped, source, where, columns, csv)


def _partitioning(files: Sequence[str], folder: str | None) -> dict[str, Any]:
    """Return the options of pyarrow for the columns that paths have.

    Files may lie in folders of a folder, such as ``year=2020``.
    """
    below = [Path(file).parent.relative_to(folder).parts for file in files] if folder else []
    if not any("=" in part for parts in below for part in parts):
        return {}
    hive = arrow(".dataset").HivePartitioning.discover()
    return {"partitioning": hive, "partition_base_dir": folder}


def _files(text: str) -> list[str]:
    """Return the data files that a path, a folder or a glob names, in order."""
    path = Path(text)
    if not text:  # which Path takes for the current directory
        return []
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        return [str(file) for file in inside if datasets.is_data(file.relative_to(path))]
    if path.is_file():
        return [text]
    files = [path for path in sorted(glob.glob(text, recursive=True)) if Path(path).is_file()]
    return [file for file in files if not datasets.is_hidden(Path(file).name)]
