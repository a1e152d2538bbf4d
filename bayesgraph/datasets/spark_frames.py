"""Spark frames as datasets: partitions are counted by Spark's own Python workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from bayesgraph.datasets.dataset import (
    EVERY,
    Dataset,
    Filter,
    Sum,
    arrow,
    sum_of_runs,
)
from bayesgraph.datasets.schemas import as_schema, selected, with_categories
from bayesgraph.errors import DataTypeError
from bayesgraph.optional import optional_module
from bayesgraph.statistics import blocks


class SparkFrame(Dataset):
    """A Spark frame as one table: its partitions in their order.

    Each partition has a grid of blocks of its own. Sums have the same bits if Spark computes the
    same partitions with the same order of rows again, which it does not promise after a shuffle;
    counts are exact all the same.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self.source = "the Spark frame"
        self._frame = frame
        self.schema = with_categories(frame.limit(0).toArrow().schema.remove_metadata())
        self._lengths_of: dict[Filter, list[int]] = {}

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns, one partition after another; see `Dataset.tables`."""
        schema = selected(self.schema, columns)
        sent = self._columns(columns).mapInArrow(_sent, "rows binary")
        for row in sent.toLocalIterator():
            with arrow().ipc.open_stream(bytes(row.rows)) as stream:
                yield as_schema(stream.read_all(), schema)

    def reduce(
        self,
        function: Callable[[int, Any], Sum],
        columns: Sequence[str],
        rows: Filter = EVERY,
    ) -> Sum | None:
        """Return the sum of a function of all runs of all partitions; see `Dataset.reduce`."""
        if self.executor is not None:
            raise DataTypeError("Spark frames are counted by Spark; leave out executor=.")
        # Something must be read for the rows to be counted.
        wanted = tuple(dict.fromkeys([*columns, *rows.columns])) or self.names[:1]
        first = (0, *accumulate(self._partition_lengths(rows)))
        task = _Task(function, selected(self.schema, wanted), rows, first)
        found = [value for value in self._computed(task, wanted) if value is not None]
        return blocks.tree_sum(found) if found else None

    def _partition_lengths(self, rows: Filter) -> list[int]:
        """Return how many rows of each partition count."""
        if rows not in self._lengths_of:
            columns = rows.columns or self.names[:1]
            task = _Task(None, selected(self.schema, columns), rows)
            self._lengths_of[rows] = self._computed(task, columns)
        return self._lengths_of[rows]

    def _computed(self, task: _Task, columns: Sequence[str]) -> list[Any]:
        """Return what a task returns for each partition, in their order."""
        found = self._columns(columns).mapInArrow(task, "part int, value binary").collect()
        # A partition that was computed twice is there once.
        by_part = {row.part: row.value for row in found}
        # The bytes were made by our own function on the workers.
        return [pickle.loads(by_part[part]) for part in sorted(by_part)]

    def _columns(self, columns: Sequence[str]) -> Any:
        return self._frame.select(*(f"`{name.replace('`', '``')}`" for name in columns))


@dataclass(frozen=True)
class _Task:
    """The sum of a function of the runs of a partition, or the number of its rows that count.

    Attributes
    ----------
    function : callable or None
        None for the number of rows.
    schema : pyarrow.Schema
    rows : Filter
    first : tuple of int
        Number of the first row of each partition.
    """

    function: Callable[[int, Any], Any] | None
    schema: Any
    rows: Filter
    first: tuple[int, ...] = ()

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the partition's number and its value, as Spark wants it."""
        spark = optional_module("pyspark", extra="spark", what="Reading Spark frames")
        part = spark.TaskContext.get().partitionId()
        value = pickle.dumps(self._value(part, batches))
        yield arrow().RecordBatch.from_pydict(
            {"part": arrow().array([part], arrow().int32()), "value": [value]}
        )

    def _value(self, part: int, batches: Iterable[Any]) -> Any:
        tables = (
            self.rows.kept(as_schema(arrow().Table.from_batches([batch]), self.schema))
            for batch in batches
        )
        if self.function is None:
            return sum(len(table) for table in tables)
        return sum_of_runs(self.function, tables, self.first[part])


def _sent(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield each batch as one row with its bytes."""
    for batch in batches:
        sink = arrow().BufferOutputStream()
        with arrow().ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield arrow().RecordBatch.from_pydict({"rows": [sink.getvalue().to_pybytes()]})
