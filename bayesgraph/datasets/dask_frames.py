"""Dask frames as datasets: partitions are read and counted where Dask has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayesgraph.datasets.dataset import Dataset, Piece, arrow
from bayesgraph.datasets.executors import DaskGraph
from bayesgraph.datasets.schemas import as_schema, selected, with_categories


class DaskFrame(Dataset):
    """A Dask frame as one table: its partitions in their order.

    It is counted by the default client of dask.distributed if there is one, else by the scheduler
    that Dask is set to use.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self.source, self.executor = "the Dask frame", DaskGraph()
        self._frame = frame
        # The frame without rows does not tell what objects are.
        example = arrow().Table.from_pandas(frame._meta_nonempty, preserve_index=False)
        self.schema = with_categories(example.schema.remove_metadata())

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns, one partition after another; see `Dataset.tables`."""
        for lazy in self._partitions(columns):
            yield from Partition(lazy.compute(), self.schema).tables(columns)

    def pieces(self, columns: Sequence[str]) -> Sequence[Piece]:
        """Return the partitions; see `Dataset.pieces`."""
        return [Partition(lazy, self.schema) for lazy in self._partitions(columns)]

    def _partitions(self, columns: Sequence[str]) -> Sequence[Any]:
        return self._frame[list(columns)].to_delayed()  # type: ignore[no-any-return]


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
        table = arrow().Table.from_pandas(self.frame[list(columns)], preserve_index=False)
        yield as_schema(table, selected(self.schema, columns))
