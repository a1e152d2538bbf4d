"""Datasets: tables that are read in order, as often as needed, and never held as a whole."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from bayesgraph.datasets.executors import Executor
from bayesgraph.errors import DataError, DataTypeError, quoted, unknown_variable
from bayesgraph.optional import optional_module
from bayesgraph.parallel import in_order, one_blas_thread, without_threads
from bayesgraph.statistics import blocks

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
# There are this many parts, or so many for each of the workers if their number is known, if that
# leaves them at least a few blocks: workers wait for the last part, but a row group in which a part
# ends is decoded twice.
_PARTS, _PARTS_OF_WORKER, _FEW_BLOCKS = 16, 2, 8


def arrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, or the error that says how to install it."""
    return optional_module(
        f"pyarrow{module}", extra="tables", what="Reading tables larger than memory"
    )


class Filter(Protocol):
    """The choice of the rows of tables that count.

    Attributes
    ----------
    columns : tuple of str
        Columns that it looks at, which the tables need to have; without any, all rows count.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at."""
        ...

    def kept(self, table: Any) -> Any:
        """Return the rows of a table that count."""
        ...


@dataclass(frozen=True)
class Every:
    """The filter under which all rows count."""

    columns: tuple[str, ...] = ()

    def kept(self, table: Any) -> Any:
        """Return the table."""
        return table


EVERY = Every()


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
    pieces : tuple of Piece
    bounds : tuple of (int, int or None)
        Of each piece, the first row that belongs to the part and the one after the last, counted
        among the rows that count; None is the end of the piece.
    columns : tuple of str
    rows : Filter
        The rows that count.
    first : int
        Number of the part's first row among those of the dataset that count.
    """

    pieces: tuple[Piece, ...]
    bounds: tuple[tuple[int, int | None], ...]
    columns: tuple[str, ...]
    rows: Filter
    first: int = 0

    def tables(self) -> Iterator[Any]:
        """Yield the rows of the part that count."""
        for piece, (begin, end) in zip(self.pieces, self.bounds, strict=True):
            at = 0
            for table in piece.tables(self.columns):
                kept = self.rows.kept(table)
                last = len(kept) if end is None else min(end - at, len(kept))
                if begin - at < last:
                    yield kept.slice(max(begin - at, 0), last - max(begin - at, 0))
                at += len(kept)
                if end is not None and at >= end:
                    break


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

    @abstractmethod
    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns in order, as pyarrow Tables of any lengths."""

    def pieces(self, columns: Sequence[str]) -> Sequence[Piece]:
        """Return the pieces of the dataset in order, of which some columns will be read.

        Raises
        ------
        DataTypeError
            If its rows are read one after another only.
        """
        raise DataTypeError(
            f"executor= reads parts of {self.source} in other processes, which takes Parquet files "
            "or frames of Dask; write the rows to Parquet files, or leave out executor=."
        )

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
        self, columns: Sequence[str], rows: Filter = EVERY, n_rows: int | None = None
    ) -> Iterator[Any]:
        """Yield the rows of some columns that count, in runs of `n_rows`; the last is shorter.

        By default a run is a block of the canonical grid; see `statistics.blocks`.
        """
        return in_runs(map(rows.kept, self.read(columns)), n_rows)

    def reduce(
        self,
        function: Callable[[int, Any], Sum],
        columns: Sequence[str],
        rows: Filter = EVERY,
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
        rows : Filter
            The rows that count, which are numbered.
        """
        # Something must be read for the rows to be counted.
        wanted = tuple(dict.fromkeys([*columns, *rows.columns])) or self.names[:1]
        if self.executor is None:
            return summed(lambda run: function(*run), _numbered(self.runs(wanted, rows), 0))
        parts = self._parts(wanted, rows)
        # Closed at once: an error holds what was under way as long as somebody holds the error.
        with closing(self.executor.map(_OfPart(function), parts)) as found:
            return _sum(self._reported(found, parts))

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
        raise DataTypeError(
            f"target= is needed, a file or a folder for the predictions of {self.source}; only "
            "those of frames of Dask and Spark are frames again."
        )

    def _parts(self, columns: tuple[str, ...], rows: Filter) -> list[Part]:
        """Return the rows that count as parts, each of which is a node of the grid of blocks."""
        pieces, lengths = self.pieces(columns), self._lengths(rows)
        n_workers = None if self.executor is None else self.executor.n_workers
        size = _blocks_of_part(sum(lengths), self.blocks_of_part, n_workers)
        length = size * blocks.BLOCK
        parts: list[Part] = []
        held: list[tuple[Piece, tuple[int, int | None]]] = []
        first = end = 0

        def close() -> None:
            nonlocal first
            if held:
                chosen, bounds = zip(*held, strict=True)
                parts.append(Part(chosen, bounds, columns, rows, first))
            held.clear()
            first = end

        for piece, n_rows in zip(pieces, lengths, strict=True):
            at = 0
            while at < n_rows:
                step = min(n_rows - at, length - (end - first))
                held.append((piece, (at, at + step)))
                at, end = at + step, end + step
                if end - first == length:
                    close()
        close()
        return parts

    @cached_property
    def _lengths_of(self) -> WeakKeyDictionary[Filter, list[int]]:
        """How many rows of each piece count, by the filter, as long as a fit holds it."""
        return WeakKeyDictionary()

    def _lengths(self, rows: Filter) -> list[int]:
        """Return how many rows of each piece count."""
        chosen = rows if rows.columns else EVERY
        if chosen not in self._lengths_of:
            self._lengths_of[chosen] = self._found_lengths(chosen)
        return self._lengths_of[chosen]

    def _found_lengths(self, rows: Filter) -> list[int]:
        # Something must be read for the rows to be counted.
        columns = rows.columns or self.names[:1]
        pieces = self.pieces(columns)
        known = [piece.n_rows for piece in pieces]
        if rows.columns or None in known:
            assert self.executor is not None
            whole = [Part((piece,), ((0, None),), columns, rows) for piece in pieces]
            return list(self.executor.map(_length, whole))
        return known  # type: ignore[return-value]

    def _reported(self, found: Iterable[Sum], parts: Sequence[Part]) -> Iterator[Sum]:
        """Yield what was found in parts, and report how far the pass is."""
        ends = [*(part.first for part in parts), self.n_rows][1:]
        for value, end in zip(found, ends, strict=True):
            if self.progress is not None and end is not None:
                self.progress(end, self.n_rows)
            yield value

    def __repr__(self) -> str:
        return f"Dataset of {self.source} with {len(self.names)} columns"

    def checked(self, names: Iterable[Any], where: str) -> None:
        """Raise an error for a name that is not a column; `where` begins its message."""
        check_list(names, where)
        for name in names:
            if name not in self.names:
                raise unknown_variable(name, self.names, where=f"{where}: {self.source}")


def check_list(names: Iterable[Any], where: str) -> None:
    """Raise an error for a text in place of a list of names, or a name that occurs twice."""
    if isinstance(names, str):
        raise DataTypeError(f"{where} takes a list of names, such as [{names!r}]; got a text.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{where} names {quoted(twice)} more than once.")


def in_runs(tables: Iterable[Any], n_rows: int | None = None) -> Iterator[Any]:
    """Yield the rows of tables in runs of `n_rows`, of which only the last is shorter."""
    n_rows = blocks.BLOCK if n_rows is None else n_rows
    waiting: list[Any] = []
    size = 0
    for table in tables:
        waiting.append(table)
        size += len(table)
        if size < n_rows:
            continue
        joined = arrow().concat_tables(waiting)
        for begin in range(0, size - n_rows + 1, n_rows):
            yield joined.slice(begin, n_rows)
        size %= n_rows
        waiting = [joined.slice(len(joined) - size)] if size else []
    if size:
        yield arrow().concat_tables(waiting)


def summed(function: Callable[[Any], Sum], runs: Iterable[Any]) -> Sum | None:
    """Return the sum of a function of runs along the tree of blocks, by threads; None without rows.

    The runs are all blocks, in their order.
    """
    # The limit holds for the process, so that it is set once for all threads.
    with one_blas_thread():
        return _sum(in_order(function, runs))


def sum_of_runs(
    function: Callable[[int, Any], Sum], tables: Iterable[Any], first: int
) -> Sum | None:
    """Return the sum of a function of all runs of tables, None without rows; see `reduce`.

    `first` is the number of the first row.
    """
    with one_blas_thread(), without_threads():
        return _sum(function(*run) for run in _numbered(in_runs(tables), first))


def _blocks_of_part(n_rows: int, maximum: int | None, n_workers: int | None) -> int:
    """Return the number of blocks of a part, given the number of all rows."""
    size = min(BLOCKS_OF_PART, maximum or BLOCKS_OF_PART)
    n_parts = _PARTS_OF_WORKER * n_workers if n_workers else _PARTS
    while size > _FEW_BLOCKS and n_rows < n_parts * size * blocks.BLOCK:
        size //= 2
    return size


def _numbered(runs: Iterable[Any], first: int) -> Iterator[tuple[int, Any]]:
    """Yield runs with the number of the first row of each."""
    for run in runs:
        yield first, run
        first += len(run)


def _sum(parts: Iterable[Sum]) -> Sum | None:
    """Return the sum along the tree of blocks, None of nothing."""
    items = iter(parts)
    for first in items:
        found: Sum = blocks.tree_sum(chain([first], items))
        return found
    return None


@dataclass(frozen=True)
class _OfPart:
    """The sum of a function of the runs of a part."""

    function: Callable[[int, Any], Any]

    def __call__(self, part: Part) -> Any:
        return sum_of_runs(self.function, part.tables(), part.first)


def _length(part: Part) -> int:
    return sum(len(table) for table in part.tables())
