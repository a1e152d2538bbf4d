"""Datasets: tables that are read in order, as often as needed, and never held as a whole."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import weakref
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Any, Protocol, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors, parallel
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphWarning, DataError, warn
from bayesgraph.core.evidence import arranged
from bayesgraph.core.files import temporary_folder
from bayesgraph.core.parallel import in_order, one_blas_thread, ordered, without_threads
from bayesgraph.core.variables import CountVector, Discrete, MissingIndicator, Name, Variable
from bayesgraph.tables.columns import as_numbers
from bayesgraph.tables.reading import READ, arrow, check_no_text
from bayesgraph.tables.table import Table, assembled, columns_of, encode_table, grouped

# ------- Executors: where the parts of a dataset are read and counted, with results in their order


Result = TypeVar("Result")
Results: TypeAlias = Generator[Result, None, None]

# Number of parts that an executor of the standard library has at a time: more than any machine
# has processors, and few enough for their results to be held.
_WINDOW = 64
# How often Dask computes a part again whose worker was lost.
_RETRIES = 3


@dataclass(frozen=True)
class Executor:
    """Where functions of parts of a dataset are computed: on a `concurrent.futures.Executor`.

    Attributes
    ----------
    pool : concurrent.futures.Executor, or anything that submits as it does
    """

    pool: Any = None

    def map(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Results[Result]:
        """Yield function(part) for all parts in their order.

        A part may be computed several times, such as after a worker was lost; its result is
        yielded once. What is under way when the generator is closed is cancelled.
        """
        yield from ordered(self.pool.submit, function, parts, _WINDOW)


@dataclass(frozen=True)
class DaskGraph(Executor):
    """The executor that computes parts on Dask, which schedules, retries and moves data.

    Without a client of distributed in `pool`, it is the default client of this process, or else the
    scheduler that Dask is set to use: by default threads of this process.
    """

    def map(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Results[Result]:
        """Yield function(part) for all parts in their order; see `Executor`."""
        dask = errors.optional_module("dask", extra="dask", what="Reading Dask frames")
        # Dask finds the partitions that are to be computed in the parts. Calls get names at random
        # (pure=False) rather than by a hash of their arguments, which takes time.
        lazy = [dask.delayed(function, pure=False, traverse=False)(part) for part in parts]
        client = _default_client() if self.pool is None else self.pool
        if client is None:
            yield from dask.compute(*lazy, traverse=False)
            return
        futures = client.compute(lazy, retries=_RETRIES)
        try:
            for future in futures:
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)


def _default_client() -> Any:
    """Return the client of dask.distributed that this process uses, None if there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def as_executor(executor: Any) -> Executor | None:
    """Return the executor that a user gave as an Executor; None stays None.

    Raises
    ------
    DataTypeError
        If it cannot run anything.
    """
    if executor is None:
        return None
    if type(executor).__module__.partition(".")[0] == "distributed":
        return DaskGraph(executor)
    if callable(getattr(executor, "submit", None)):
        return Executor(executor)
    raise errors.DataTypeError(
        "executor= is an executor of concurrent.futures, or a client of dask.distributed; got "
        f"{type(executor).__name__}."
    )


# ---------- Datasets: tables that are read in order, as often as needed, and never held as a whole


# Called with the number of rows read in a pass, and the number of all rows, None if unknown.
Progress = Callable[[int, int | None], None]
Cache = bool | str | os.PathLike[str]
# Returns the columns that are predicted for a table, by name; called with the table, and the names
# of the columns that will stand beside them.
Predicting = Callable[[Any, Sequence[str]], dict[str, Any]]
# A sum over runs of rows; it has ``+``.
Sum = TypeVar("Sum")

# Maximum number of blocks of a part, which one worker reads and counts, a power of two.
BLOCKS_OF_PART = 32
# There are this many parts if that leaves them at least a few blocks: workers wait for the last
# part, but a row group in which a part ends is decoded twice.
_PARTS, _FEW_BLOCKS = 16, 8


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a dataset that count, those of positive weight, and how they are encoded.

    Attributes
    ----------
    source : str
        Name of the dataset.
    y : str or None
        Column with the classes.
    weight : str or None
        Column with the weights; without weights, also of classes, all rows count.
    classes : ndarray, optional
        The classes in ascending order.
    by_class : ndarray, shape (n_classes,), optional
        Factor of the weight of the rows of each class.
    every : bool
        Whether rows of weight zero count too.
    groups : mapping from name of a vector of counts to names of its columns
    """

    source: str = ""
    y: str | None = None
    weight: str | None = None
    classes: NDArray[Any] | None = None
    by_class: Floats | None = None
    every: bool = False
    groups: Mapping[Name, Sequence[Name]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that determine the weights."""
        names = (self.weight, None if self.by_class is None else self.y)
        return tuple(name for name in names if name is not None)

    def columns_of(self, variables: Iterable[Variable]) -> list[str]:
        """Return the names of the columns of variables, and of those of the weights."""
        # An indicator is read off the column that it is of, and a vector off those of its items.
        names = [v.of if isinstance(v, MissingIndicator) else v.name for v in variables]
        read = [str(item) for name in names for item in self.groups.get(name, (name,))]
        # Each once, in the order of their first occurrence.
        return list(dict.fromkeys([*read, *self.columns]))

    @property
    def described(self) -> str:
        """Text that differs if the weights of the same rows do."""
        by_class = None if self.by_class is None else self.by_class.tolist()
        return repr((self.weight, self.y if by_class else None, by_class))

    def kept(self, table: Any) -> Any:
        """Return the rows that count: all, or those of positive weight."""
        # Without weights the array is empty, of which `all` is true: all rows are taken.
        weights = np.empty(0) if self.every else self.weights(table)
        return table if weights.all() else table.filter(weights > 0)

    def weights(self, table: Any) -> Floats:
        """Return the weights of rows, empty if all rows weigh 1.

        Raises
        ------
        DataError
            For a weight that is missing, negative or infinite.
        """
        if not self.columns:
            return np.empty(0)
        weights = np.ones(len(table))
        if self.weight is not None:
            column = as_numbers(columns_of(table.select([self.weight]))[self.weight], self.weight)
            if not (np.isfinite(column) & (column >= 0)).all():
                raise errors.DataError(
                    f"The column {self.weight!r} of {self.source} has weights that are "
                    "missing, negative or infinite."
                )
            weights *= column
        if self.by_class is not None:
            # Factors are in the order of the classes, which are given with them.
            assert self.classes is not None
            labels = nw.from_native(table.column(self.y), series_only=True).to_numpy()
            # Classes ascend, so that the place of a label is its index among them.
            weights *= self.by_class[np.searchsorted(self.classes, labels)]
        return weights

    def encoded(self, run: Any, variables: Sequence[Variable]) -> tuple[Table, Floats]:
        """Return a run as an encoded table of given variables, and the weights of its rows.

        Numbers are in C order, in which moments are summed; weights are empty if all are 1.
        """
        columns = grouped(columns_of(run), self.groups)
        return encode_table(columns, variables, unseen="error", order="C"), self.weights(run)


EVERY = Rows()


class Piece(Protocol):
    """Successive rows of a dataset that are read without those before, in any process.

    Attributes
    ----------
    n_rows : int or None
        None if the number is unknown before they are read.
    """

    @property
    def n_rows(self) -> int | None:
        """Number of rows."""
        ...

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some columns in order, as pyarrow Tables of any lengths."""
        ...


@dataclass(frozen=True)
class Part:
    """Successive rows of a dataset for one worker: slices of pieces, with some columns.

    Attributes
    ----------
    slices : tuple of (Piece, int, int or None)
        Pieces, each with its first row that belongs to the part and the one after the last, counted
        among the rows that count; None is the end of the piece.
    columns : tuple of str
    rows : Rows
        The rows that count.
    first : int
        Number of the part's first row among those of the dataset that count.
    """

    slices: tuple[tuple[Piece, int, int | None], ...]
    columns: tuple[str, ...]
    rows: Rows
    first: int = 0

    def tables(self) -> Iterator[Any]:
        """Yield the rows of the part that count."""
        for piece, begin, end in self.slices:
            # The rows of the piece that count before this table. From `begin` to the one before
            # `end`, they are the part's.
            n_before = 0
            for table in piece.tables(self.columns):
                kept = self.rows.kept(table)
                first = max(begin - n_before, 0)
                last = len(kept) if end is None else min(end - n_before, len(kept))
                if first < last:
                    yield kept.slice(first, last - first)
                n_before += len(kept)
                if end is not None and n_before >= end:
                    break


class Dataset:
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
    executor : Executor or None
        Reads and counts parts of the rows elsewhere; None for threads of this process.
    sample_rows : int
        Number of rows of a sample for what needs the rows themselves.
    cache : bool or path
        Whether, or in which folder, encoded rows are kept between passes; see `EncodedRows`.
    is_lazy : bool
        Whether predictions of the rows are a frame of an engine; see `predicted`.
    blocks_of_part : int or None
        Maximum number of blocks that one worker may hold, a power of two; None if it reads rows
        bit by bit.
    """

    source: str
    schema: Any
    n_rows: int | None = None
    max_categories: int = 10_000
    progress: Progress | None = None
    executor: Executor | None = None
    sample_rows: int = 2**18
    cache: Cache = False
    is_lazy: bool = False
    blocks_of_part: int | None = None

    @property
    def state(self) -> str | None:
        """Text that differs if the rows do, such as sizes and times of files, None if unknown."""
        return None

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns in order, as pyarrow Tables of any lengths."""
        for piece in self.pieces(columns):
            yield from piece.tables(columns)

    def pieces(self, columns: Sequence[str]) -> Sequence[Piece]:
        """Return the pieces of the dataset in order, of which some columns will be read.

        Raises
        ------
        DataTypeError
            If its rows are read one after another only.
        """
        raise errors.DataTypeError(
            f"executor= reads parts of {self.source} in other processes, which takes files or "
            "frames of Dask; write the rows to Parquet files, or leave out executor=."
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(self.schema.names)

    def read(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of some columns as `tables` does, and report how far the pass is."""
        done = 0
        for table in self.tables(columns):
            done += len(table)
            if self.progress is not None:
                self.progress(done, self.n_rows)
            yield table

    def runs(
        self, columns: Sequence[str], rows: Rows = EVERY, n_rows: int | None = None
    ) -> Iterator[Any]:
        """Yield the rows of some columns that count, in runs of `n_rows`; the last is shorter.

        By default a run is a block of the canonical grid; see `statistics.blocks`.
        """
        return in_runs(map(rows.kept, self.read(columns)), n_rows)

    def reduce(
        self,
        function: Callable[[int, Any], Sum],
        columns: Sequence[str],
        rows: Rows = EVERY,
    ) -> Sum | None:
        """Return the sum of a function of all runs along the tree of blocks, None without rows.

        The sum has the same bits wherever and in whatever order the runs are read.

        Parameters
        ----------
        function : callable
            Called with the number of a run's first row and the run as a Table; returns a value with
            ``+``. With an executor it must be possible to send it to another process.
        columns : sequence of str
            Those that `rows` looks at are read too.
        rows : Rows
            The rows that count, which are numbered.
        """
        wanted = self._read_with(columns, rows)
        if self.executor is None:
            return summed(lambda run: function(*run), _numbered(self.runs(wanted, rows), 0))
        parts = self._parts(wanted, rows)
        # Closed at once: an error holds what was under way as long as somebody holds the error.
        with closing(self.executor.map(partial(_sum_of_part, function), parts)) as sums:
            total: Sum | None = parallel.tree_sum(self._reported(sums, parts))
            return total

    def predicted(self, predicting: Predicting, columns: Sequence[str], keep: Sequence[str]) -> Any:
        """Return the lazy frame of predictions of the engine that has the rows.

        Parameters
        ----------
        predicting : callable
        columns : sequence of str
            Those of the table from which it predicts.
        keep : sequence of str
            Those that the frame has too, before the predictions.

        Raises
        ------
        DataTypeError
            If no engine has the rows.
        """
        raise errors.DataTypeError(
            f"target= is needed, a file or a folder for the predictions of {self.source}; only "
            "those of frames of Dask and Spark are frames again."
        )

    def _parts(self, columns: tuple[str, ...], rows: Rows) -> list[Part]:
        """Return the rows that count as parts, each of which is a node of the grid of blocks."""
        pieces, lengths = self.pieces(columns), self._lengths(rows)
        n_rows = sum(lengths)
        n_rows_of_part = _blocks_of_part(n_rows, self.blocks_of_part) * parallel.BLOCK
        # Where each piece begins and ends among all rows.
        ends = [*accumulate(lengths)]
        begins = [0, *ends[:-1]]
        parts: list[Part] = []
        for first in range(0, n_rows, n_rows_of_part):
            # The part has rows from `first` to the one before `last`: parts of the pieces that end
            # after its first row and begin before its last.
            last = first + n_rows_of_part
            inside = slice(bisect_right(ends, first), bisect_left(begins, last))
            overlapping = zip(pieces[inside], begins[inside], ends[inside], strict=True)
            # From numbers among all rows to those in a piece, which has the rows a to b - 1.
            slices = ((piece, max(first - a, 0), min(last, b) - a) for piece, a, b in overlapping)
            parts.append(Part(tuple(slices), columns, rows, first))
        return parts

    @cached_property
    def _lengths_of(self) -> WeakKeyDictionary[Rows, list[int]]:
        """How many rows of each piece count, by the filter, as long as a fit holds it."""
        return WeakKeyDictionary()

    def _lengths(self, rows: Rows) -> list[int]:
        """Return how many rows of each piece count."""
        # Without weights all do, whatever else `rows` says.
        rows = rows if rows.columns else EVERY
        if rows not in self._lengths_of:
            columns = self._read_with((), rows)
            pieces = self.pieces(columns)
            lengths: list[Any] = [piece.n_rows for piece in pieces]
            # The rows are counted by reading them.
            if rows.columns or None in lengths:
                assert self.executor is not None  # without one there are no parts
                whole = [Part(((piece, 0, None),), columns, rows) for piece in pieces]
                lengths = list(self.executor.map(_length, whole))
            self._lengths_of[rows] = lengths
        return self._lengths_of[rows]

    def _read_with(self, columns: Sequence[str], rows: Rows) -> tuple[str, ...]:
        """Return the columns to read; something must be read for the rows to be counted."""
        return tuple(dict.fromkeys([*columns, *rows.columns])) or self.names[:1]

    def _reported(self, sums: Iterable[Sum], parts: Sequence[Part]) -> Iterator[Sum]:
        """Yield the sums of parts, and report how far the pass is."""
        # A part ends where the next one begins.
        ends = [*(part.first for part in parts), self.n_rows][1:]
        for value, end in zip(sums, ends, strict=True):
            if self.progress is not None and end is not None:
                self.progress(end, self.n_rows)
            yield value

    def __repr__(self) -> str:
        return f"Dataset of {self.source} with {len(self.names)} columns"

    def checked(self, names: Iterable[Any], where: str) -> None:
        """Raise an error for a name that is not a column; `where` begins its message."""
        check_list(names, where)
        errors.check_known(names, self.names, where=f"{where}: {self.source}")


def check_list(names: Iterable[Any], where: str) -> None:
    """Raise an error for what is no list of names, such as a text, or a name that occurs twice."""
    check_no_text(names, where)
    if not isinstance(names, Collection):
        raise errors.DataTypeError(f"{where} takes a list of names; got {names!r:.80}.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise errors.DataError(f"{where} names {errors.quoted(twice)} more than once.")


def in_runs(tables: Iterable[Any], n_rows: int | None = None) -> Iterator[Any]:
    """Yield the rows of tables in runs of `n_rows`, of which only the last is shorter."""
    n_rows = parallel.BLOCK if n_rows is None else n_rows
    # Tables whose rows are not yielded yet, and how many rows they have.
    waiting: list[Any] = []
    n_waiting = 0
    for table in tables:
        waiting.append(table)
        n_waiting += len(table)
        if n_waiting < n_rows:
            continue
        joined = arrow().concat_tables(waiting)
        # All whole runs; the rows after them wait for more.
        for begin in range(0, n_waiting - n_rows + 1, n_rows):
            yield joined.slice(begin, n_rows)
        n_waiting %= n_rows
        waiting = [joined.slice(len(joined) - n_waiting)] if n_waiting else []
    if n_waiting:
        yield arrow().concat_tables(waiting)


def summed(function: Callable[[Any], Sum], runs: Iterable[Any]) -> Sum | None:
    """Return the sum of a function of runs along the tree of blocks, by threads; None without rows.

    The runs are all blocks, in their order.
    """
    # The limit holds for the process, so that it is set once for all threads.
    with one_blas_thread():
        total: Sum | None = parallel.tree_sum(in_order(function, runs))
        return total


def sum_of_runs(
    function: Callable[[int, Any], Sum], tables: Iterable[Any], first: int
) -> Sum | None:
    """Return the sum of a function of all runs of tables, None without rows; see `reduce`.

    `first` is the number of the first row.
    """
    with one_blas_thread(), without_threads():
        runs = _numbered(in_runs(tables), first)
        total: Sum | None = parallel.tree_sum(function(*run) for run in runs)
        return total


def _blocks_of_part(n_rows: int, maximum: int | None) -> int:
    """Return the number of blocks of a part: fewer than the maximum if there were few parts.

    It is a power of two, so that a part is a node of the tree of blocks.
    """
    size = min(BLOCKS_OF_PART, maximum or BLOCKS_OF_PART)
    while size > _FEW_BLOCKS and n_rows < _PARTS * size * parallel.BLOCK:
        size //= 2
    return size


def _numbered(runs: Iterable[Any], first: int) -> Iterator[tuple[int, Any]]:
    """Yield runs with the number of the first row of each."""
    for run in runs:
        yield first, run
        first += len(run)


def _sum_of_part(function: Callable[[int, Any], Sum], part: Part) -> Sum | None:
    """Return the sum of a function of the runs of a part; executors send it to other processes."""
    return sum_of_runs(function, part.tables(), part.first)


def _length(part: Part) -> int:
    return sum(len(table) for table in part.tables())


# ------------------ Files: which of a folder hold rows, and that they do not change between passes


def is_data(path: PurePath) -> bool:
    """Return whether a file, by its path inside of a folder, holds rows."""
    return not any(map(is_hidden, path.parts)) and path.name.lower().endswith(READ)


def is_hidden(name: str) -> bool:
    """Return whether other programs keep logs, statistics or unfinished files under a name."""
    return name.startswith((".", "_"))


def kind_of(file: str) -> str:
    """Return the suffix of a file without that of its compression, such as "csv"."""
    return re.sub(r"\.(gz|zst)$", "", file.lower()).rpartition(".")[2]


def state_of(filesystem: Any, paths: Sequence[str]) -> tuple[Any, ...]:
    """Return size and time of files of a filesystem of pyarrow."""
    return tuple((info.size, info.mtime_ns) for info in filesystem.get_file_info(list(paths)))


def marks_of(paths: Sequence[str]) -> list[tuple[int, int]]:
    """Return the time of the last change (ctime) and the inode number of each local file.

    No program can set these, unlike size and time of `state_of`, but other machines may see other
    numbers. Paths that do not exist are left out.
    """
    local = map(os.stat, filter(os.path.exists, paths))
    return [(status.st_ctime_ns, status.st_ino) for status in local]


def unreadable(source: str, error: Exception) -> errors.FileFormatError:
    """Return the error for files that pyarrow refuses."""
    return errors.FileFormatError(f"{source} cannot be read: {str(error).splitlines()[0]:.300}")


# -------------- Columns that files share: their names, and types that hold the values of all files


def joined_schema(dataset: Any, source: str, columns: Sequence[str] | None) -> Any:
    """Return the schema of the columns that all files of a dataset have; see `Fragments`."""
    schemas = [(f.path, f.physical_schema) for f in dataset.get_fragments()]
    everywhere = set(dataset.schema.names).union(*(schema.names for _, schema in schemas))
    # In the order in which a message has them.
    ordered_names = dict.fromkeys(sorted(everywhere))
    errors.check_known(columns or (), ordered_names, where=f"columns=: {source}")
    check_same_names([(path, schema.names) for path, schema in schemas], columns)
    # Columns of partitioned paths are in the dataset's schema alone, as are types that no file has:
    # those that the user gave the dataset of pyarrow.
    read = {(field.name, field.type) for _, schema in schemas for field in schema}
    chosen = {f.name: f.type for f in dataset.schema if (f.name, f.type) not in read}
    kinds = _joined_types(schemas, columns) | chosen
    return arrow().schema([(n, kinds[n]) for n in dataset.schema.names if kinds[n] is not None])


def check_same_names(
    files: Sequence[tuple[str, Sequence[str]]], columns: Collection[str] | None
) -> None:
    """Check that files, given by path and names of columns, have the same columns, or those used.

    Raises
    ------
    FileFormatError
    """
    expected = set(files[0][1]) if files else set()
    for path, names in files:
        if len(set(names)) < len(names):
            raise errors.FileFormatError(
                f"{path}: each column needs a name of its own; got {errors.quoted(names)}."
            )
        lacking, added = expected - set(names), set(names) - expected
        if columns is not None:
            lacking, added = lacking & set(columns), added & set(columns)
        if lacking or added:
            what = "lacks" if lacking else "also has"
            raise errors.FileFormatError(
                f"{path}: expected the columns of {files[0][0]}; it {what} "
                f"{errors.quoted(sorted(lacking or added))}. Give the columns that all files have "
                "by columns=, or leave out one of the files."
            )


def _joined_types(
    files: Sequence[tuple[str, Any]], columns: Collection[str] | None
) -> dict[str, Any]:
    """Return the type of each column that holds the values of all files, None if there is none.

    Raises
    ------
    FileFormatError
        If there is none of a column that is used.
    """
    kinds: dict[str, Any] = {}
    # The first file in which a column has values, for messages.
    first_of: dict[str, str] = {}
    for path, schema in files:
        for name, kind in zip(schema.names, schema.types, strict=True):
            before = kinds.get(name)
            # Of a column that is not used, files with other kinds of values end the search: None.
            if name in kinds and before is None:
                continue
            kinds[name] = widened(before, kind)
            if kinds[name] is None and (columns is None or name in columns):
                raise errors.FileFormatError(
                    f"The column {name!r} is {before} in {first_of[name]} and {kind} in "
                    f"{path}. Write it with one type in all files."
                )
            if before is None or arrow().types.is_null(before):
                first_of[name] = path
    return kinds


def selected(schema: Any, columns: Sequence[str]) -> Any:
    """Return the schema of some columns, in their order."""
    return arrow().schema([schema.field(name) for name in columns])


def widened(first: Any, second: Any) -> Any:
    """Return the type that holds values of two types, or None if they are of different kinds."""
    types = arrow().types
    if first is None or types.is_null(first) or first == second:
        return second
    if types.is_null(second):
        return first
    # Categories, if one of them has any: text is read as categories too.
    if is_text(first) and is_text(second):
        return first if types.is_dictionary(first) else second
    if all(types.is_integer(t) or types.is_floating(t) for t in (first, second)):
        both = types.is_integer(first) and types.is_integer(second)
        return arrow().int64() if both else arrow().float64()
    return None


def is_text(kind: Any) -> bool:
    """Return whether a type is text, or categories of text."""
    types = arrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    forms = types.is_string, types.is_large_string, types.is_string_view
    return any(is_form(value) for is_form in forms)


def with_categories(schema: Any) -> Any:
    """Return a schema in which text is read as categories, which takes a third of the time."""
    coded = arrow().dictionary(arrow().int32(), arrow().string())
    return arrow().schema([(f.name, coded if is_text(f.type) else f.type) for f in schema])


def decoded(table: Any) -> Any:
    """Return a table with text in place of categories of text that have no order."""
    types = arrow().types
    kinds = [
        (f.name, arrow().string())
        if types.is_dictionary(f.type) and is_text(f.type) and not f.type.ordered
        else (f.name, f.type)
        for f in table.schema
    ]
    return table.cast(arrow().schema(kinds))


def as_schema(table: Any, schema: Any) -> Any:
    """Return a table with the types of a schema that has its columns."""
    if table.schema.types == schema.types:
        return table
    columns = [_as_type(c, t) for c, t in zip(table.columns, schema.types, strict=True)]
    return arrow().Table.from_arrays(columns, schema=schema)


def fitted(table: Any, schema: Any, what: str) -> Any:
    """Return a table with the types of a schema that has its columns, if its values have them.

    Parameters
    ----------
    table : pyarrow.Table
    schema : pyarrow.Schema
    what : str
        Begins the message, such as "A batch of the relation".

    Raises
    ------
    DataTypeError
        If a column has values of another type.
    """
    for actual, expected in zip(table.schema, schema, strict=True):
        # Numbers would become text or truth values in silence; units and widths may differ.
        if actual.type.id != expected.type.id and widened(actual.type, expected.type) is None:
            kind = "text" if is_text(expected.type) else expected.type
            raise other_type(what, f"{actual.name!r} is {actual.type}, expected {kind}")
    try:
        return as_schema(table, schema)
    except (arrow().ArrowInvalid, arrow().ArrowTypeError, NotImplementedError) as error:
        raise other_type(what, *error.args) from error


def other_type(what: str, *said: object) -> errors.DataTypeError:
    """Return the error for values of another type than their columns; `what` has them."""
    return errors.DataTypeError(
        f"{what} has values of another type than its columns: {'; '.join(map(str, said)):.300}. "
        "Give each column one type in all of them, such as by astype or cast."
    )


def _as_type(column: Any, kind: Any) -> Any:
    """Return a column cast to a type; to categories by way of text, as files may differ in them."""
    types = arrow().types
    if column.type == kind:
        return column
    if types.is_null(column.type):
        return arrow().nulls(len(column), kind)
    if types.is_dictionary(kind):
        text = column.cast(kind.value_type)
        return text.dictionary_encode().cast(kind)
    return column.cast(kind)


# --------------- Encoded rows on disk: what later passes over a dataset read in place of its files


# What returns a run of rows as an encoded table, and the weights of its rows (empty if all are 1).
Run: TypeAlias = Callable[[], tuple[Table, Floats]]

# Version of the format of the file: those of other versions are written anew.
_VERSION = 2
_FILE = "encoded-rows.arrow"


class EncodedRows:
    """The encoded rows of a dataset on disk, which are written when they are first asked for.

    They are an Arrow file: each run of rows is a batch of state codes of the smallest integer type,
    numbers, counts and weights, with its checksum. A pass maps the file and copies the columns that
    it needs. It lies in a temporary folder that is removed with the object, at the end of the
    process at the latest; or in the folder that the user names, where it appears as a whole and
    says of which rows, variables and weights it is.

    Parameters
    ----------
    dataset : Dataset
        Its attribute `cache` is True or the path of a folder.
    variables : tuple of Variable
        All columns.
    described : object
        What else determines the encoded rows, with a `repr` of its own.
    read : callable
        Returns the runs of the dataset, encoded by given variables.

    Raises
    ------
    DataError
        If a folder is named and nothing tells whether the rows are the same again; if the file
        cannot be written.
    """

    def __init__(
        self,
        dataset: Dataset,
        variables: tuple[Variable, ...],
        described: Any,
        read: Callable[[Sequence[Variable]], Iterator[Run]],
    ) -> None:
        self._dataset, self._variables, self._read = dataset, variables, read
        # The folder that the user names, None for a temporary one.
        self._place = None if dataset.cache is True else Path(os.fspath(dataset.cache))  # type: ignore[arg-type]
        if self._place is not None and dataset.state is None:
            raise DataError(
                f"cache= names a folder, and {dataset.source} does not tell whether its rows are "
                "the same in the next fit, as files do. Use cache=True."
            )
        # All that the file depends on.
        kinds = [(type(v).__name__, v.__reduce__()) for v in variables]
        content = (_VERSION, dataset.state, str(dataset.schema), kinds, described, parallel.BLOCK)
        self._fingerprint = hashlib.sha256(repr(content).encode()).hexdigest().encode()
        # The file, None until the rows are asked for; and the number of rows in each of its runs.
        self._path: Path | None = None
        self._lengths: list[int] = []

    def runs(self, wanted: Sequence[Variable]) -> Iterator[Run]:
        """Yield functions that return each run of rows, with the columns of some variables."""
        if self._path is None:
            self._path = self._existing() or self._written()  # both set `_lengths`
        done, n_rows = 0, sum(self._lengths)
        for number, length in enumerate(self._lengths):
            yield partial(self._loaded, self._path, number, wanted)
            done += length
            if self._dataset.progress is not None:
                self._dataset.progress(done, n_rows)

    def _loaded(self, path: Path, number: int, wanted: Sequence[Variable]) -> tuple[Table, Floats]:
        """Return run `number` of the rows from the file, with the columns that are wanted."""
        try:
            with arrow().memory_map(str(path)) as file:
                batch = arrow(".ipc").open_file(file).get_batch(number)
                return self._table(batch, wanted)
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise DataError(
                f"The encoded rows in {path} were changed while they were read ({error}). Start "
                "again when nothing writes to them."
            ) from error

    def _table(self, batch: Any, wanted: Sequence[Variable]) -> tuple[Table, Floats]:
        """Return columns of a batch as a table, and the weights; without references to the file."""
        columns = [_restored(batch.column(str(self._variables.index(v))), v) for v in wanted]
        weights = batch.column("weights") if "weights" in batch.schema.names else []
        # This copies codes and numbers; counts would still be views of the mapped file.
        table = assembled(wanted, columns, batch.num_rows, fitting=False)
        counts = {v: np.array(matrix) for v, matrix in table.counts.items()}
        return replace(table, counts=counts), np.array(weights, dtype=np.float64)

    def _written(self) -> Path:
        """Write all rows to a temporary file, and return its path.

        It is moved to the folder that the user named, if any; else it is removed with this object.
        """
        self._lengths = []
        with ExitStack() as opened:
            try:
                if self._place is not None:
                    self._place.mkdir(parents=True, exist_ok=True)
                path = opened.enter_context(temporary_folder(self._place)) / _FILE
                writer = None
                for run in self._read(self._variables):
                    batch = _batch(*run())
                    if writer is None:
                        schema = batch.schema.with_metadata({"fingerprint": self._fingerprint})
                        new_file = arrow(".ipc").new_file(str(path), schema)
                        writer = opened.enter_context(new_file)
                    writer.write_batch(batch, custom_metadata={"checksum": _checksum(batch)})
                    self._lengths.append(batch.num_rows)
                if writer is not None:
                    writer.close()
                if self._place is not None:
                    return path.replace(self._place / _FILE)
            except OSError as error:
                raise DataError(
                    f"The encoded rows of {self._dataset.source} cannot be written: {error}. "
                    "cache= may name a folder on another disk."
                ) from error
            # The temporary folder stays until this object is gone.
            weakref.finalize(self, opened.pop_all().close)
            return path

    def _existing(self) -> Path | None:
        """Return the path of the file that an earlier fit left, None if it is not of these rows.

        Warns
        -----
        BayesGraphWarning
            If it is of others, or damaged.
        """
        if self._place is None or not (path := self._place / _FILE).exists():
            return None
        fault = "is damaged"
        try:
            with arrow().memory_map(str(path)) as file:
                reader = arrow(".ipc").open_file(file)
                if reader.schema.metadata[b"fingerprint"] == self._fingerprint:
                    indices = range(reader.num_record_batches)
                    # Each is a pair of the batch and its metadata.
                    batches = map(reader.get_batch_with_custom_metadata, indices)
                    self._lengths = [self._checked(*batch) for batch in batches]
                    return path
                fault = "is of other rows: the files, columns, states or weights were different"
        except (OSError, LookupError, ValueError, TypeError, AttributeError):
            pass  # a damaged file may raise any of these
        warn(f"The cache {path} {fault}. It is written anew.", BayesGraphWarning)
        return None

    def _checked(self, batch: Any, metadata: Any) -> int:
        """Return the number of rows of a batch, after checking its bytes and its state codes.

        Raises
        ------
        ValueError
            If the bytes are not those that were written, or a code is not that of a state or -1.
        """
        table, _ = self._table(batch, self._variables)
        codes = zip(table.discrete, table.codes.T, strict=True)
        are_states = all(c.min() >= -1 and c.max() < v.cardinality for v, c in codes)
        if metadata[b"checksum"] != _checksum(batch) or not are_states:
            raise ValueError
        return table.n_rows


def _checksum(batch: Any) -> bytes:
    return str(zlib.crc32(batch.serialize())).encode()


def _batch(table: Table, weights: Floats) -> Any:
    """Return a run of rows as a batch of Arrow, whose columns are named by their numbers."""
    columns = {str(i): _stored(table, v) for i, v in enumerate(table.variables)}
    if len(weights):
        columns["weights"] = arrow().array(weights)
    return arrow().RecordBatch.from_pydict(columns)


def _stored(table: Table, variable: Variable) -> Any:
    """Return a column as an Arrow array."""
    column = table.column(variable)
    if isinstance(variable, Discrete):
        return arrow().array(column.astype(arranged([variable]).code_type))
    if isinstance(variable, CountVector):
        flat = arrow().array(column.reshape(-1))
        return arrow().FixedSizeListArray.from_arrays(flat, len(variable.items))
    return arrow().array(np.ascontiguousarray(column))


def _restored(column: Any, variable: Variable) -> Any:
    """Return an Arrow array as the column that it was made of: the inverse of `_stored`."""
    if isinstance(variable, CountVector):
        return column.flatten().to_numpy().reshape(-1, len(variable.items))
    return column.to_numpy()
