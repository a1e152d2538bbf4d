"""Dask frames as datasets: partitions are read and counted where Dask has them."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayesgraph.core import parallel
from bayesgraph.core.errors import DataTypeError, ExtrapolationWarning, optional_module
from bayesgraph.tables import datasets
from bayesgraph.tables.reading import arrow

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
        # The frame without rows does not tell the type of objects, and Dask's example of a row
        # has objects of no type.
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
        names = list(keep), list(columns)
        schema = datasets.selected(self.schema, columns)
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
        yield _as_table(frame[list(columns)], datasets.selected(self.schema, columns))


def _as_table(frame: Any, schema: Any) -> Any:
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
    """Return the kept columns of a partition and its predictions; `empty` is what has no rows."""
    if not len(part):
        return empty
    return part[keep].assign(**predicting(_as_table(part[columns], schema), keep))


# ------------------ Spark frames as datasets: partitions are counted by Spark's own Python workers


# Rows are numbered within partitions, of which Spark may form others for other columns: the upper
# bits of the number of a row are that of its partition.
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
        # Something must be read for the rows to be counted.
        wanted = tuple(dict.fromkeys([*columns, *rows.columns])) or self.names[:1]
        task = _Task(function, datasets.selected(self.schema, wanted), rows)
        sent = self._columns(wanted).mapInArrow(task, "part int, value binary").collect()
        # A partition that was computed twice is there once.
        by_part = {row.part: row.value for row in sent}
        # The bytes were made by our own function on the workers.
        values = [pickle.loads(by_part[part]) for part in sorted(by_part)]
        found = [value for value in values if value is not None]
        return parallel.tree_sum(found) if found else None

    def predicted(
        self, predicting: datasets.Predicting, columns: Sequence[str], keep: Sequence[str]
    ) -> Any:
        """Return the Spark frame of predictions; each worker gets the function once."""
        schema = datasets.selected(self.schema, columns)
        # A row without values tells the types of predictions.
        example = arrow().Table.from_arrays(
            [arrow().nulls(1, f.type) for f in schema], schema=schema
        )
        found = arrow().table(predicting(example, keep))
        session = self._frame.sparkSession
        result = self._frame.select(*map(_quoted, keep)).schema
        for field in session.createDataFrame(found).schema:
            result = result.add(field)
        sent = session.sparkContext.broadcast(predicting)
        read = tuple(dict.fromkeys([*columns, *keep]))
        return self._columns(read).mapInArrow(_Predicted(sent, read, schema, tuple(keep)), result)

    def _columns(self, columns: Sequence[str]) -> Any:
        """Return some columns with plain names, as mapInArrow takes no others."""
        return self._frame.selectExpr(
            *(f"{_quoted(name)} AS c{i}" for i, name in enumerate(columns))
        )


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


@dataclass(frozen=True)
class _Task:
    """The sum of a function of the runs of a partition.

    Attributes
    ----------
    function : callable
    schema : pyarrow.Schema
    rows : Rows
    """

    function: Callable[[int, Any], Any]
    schema: Any
    rows: datasets.Rows

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the partition's number and its value, as Spark wants it."""
        spark = optional_module("pyspark", extra="spark", what="Reading Spark frames")
        part = spark.TaskContext.get().partitionId()
        # A batch of columns with plain names as a Table with those of a schema.
        tables = (
            self.rows.kept(
                datasets.as_schema(
                    arrow().Table.from_batches([batch]).rename_columns(self.schema.names),
                    self.schema,
                )
            )
            for batch in batches
        )
        value = pickle.dumps(datasets.sum_of_runs(self.function, tables, part << _PARTITION_BITS))
        yield arrow().RecordBatch.from_pydict(
            {"part": arrow().array([part], arrow().int32()), "value": [value]}
        )


@dataclass(frozen=True)
class _Predicted:
    """The kept columns of each batch of rows, and its predictions.

    Attributes
    ----------
    predicting : pyspark.Broadcast of Predicting
    names : tuple of str
        Names of the columns of a batch.
    schema : pyarrow.Schema
        Types of the columns from which it predicts.
    keep : tuple of str
    """

    predicting: Any
    names: tuple[str, ...]
    schema: Any
    keep: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield a batch for each batch with rows."""
        for batch in batches:
            if len(batch):
                given = dict(zip(self.names, batch.columns, strict=True))
                table = arrow().table({name: given[name] for name in self.schema.names})
                found = self.predicting.value(datasets.as_schema(table, self.schema), self.keep)
                kept = {name: given[name] for name in self.keep}
                yield arrow().RecordBatch.from_pydict({**kept, **found})


def _sent(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield each batch as one row with its bytes."""
    for batch in batches:
        sink = arrow().BufferOutputStream()
        with arrow().ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield arrow().RecordBatch.from_pydict({"rows": [sink.getvalue().to_pybytes()]})
