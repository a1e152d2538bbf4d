"""Dask frames as datasets: partitions are read and counted where Dask has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayesgraph.datasets.dataset import Dataset, Piece, Predicting, arrow
from bayesgraph.datasets.executors import DaskGraph
from bayesgraph.datasets.schemas import fitted, other_type, selected, with_categories
from bayesgraph.optional import optional_module


class DaskFrame(Dataset):
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
        self.source, self.executor = "the Dask frame", DaskGraph()
        self._frame = frame
        # The frame without rows does not tell the type of objects, and Dask's example of a row
        # has objects of no type.
        objects = [name for name, kind in frame.dtypes.items() if kind.kind == "O"]
        example = frame._meta_nonempty.assign(**dict.fromkeys(objects, "text"))
        table = arrow().Table.from_pandas(example, preserve_index=False)
        self.schema = with_categories(table.schema.remove_metadata())

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns, one partition after another; see `Dataset.tables`."""
        for lazy in self._partitions(columns):
            yield from Partition(lazy.compute(), self.schema).tables(columns)

    def pieces(self, columns: Sequence[str]) -> Sequence[Piece]:
        """Return the partitions; see `Dataset.pieces`."""
        return [Partition(lazy, self.schema) for lazy in self._partitions(columns)]

    def _partitions(self, columns: Sequence[str]) -> Sequence[Any]:
        return self._frame[list(columns)].to_delayed()  # type: ignore[no-any-return]

    def predicted(self, predicting: Predicting, columns: Sequence[str], keep: Sequence[str]) -> Any:
        """Return the Dask frame of predictions, with the index and the partitions of this one.

        The function is in the graph once, so that each worker gets it once.
        """
        dask = optional_module("dask", extra="dask", what="Reading Dask frames")
        used = self._frame[list(dict.fromkeys([*columns, *keep]))]
        example = used._meta_nonempty.iloc[:1]
        names = list(keep), list(columns)
        schema = selected(self.schema, columns)
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
        yield _as_table(self.frame[list(columns)], selected(self.schema, columns))


def _as_table(frame: Any, schema: Any) -> Any:
    """Return rows of pandas as a pyarrow Table with the types of the Dask frame; see `fitted`."""
    what = "A partition of the Dask frame"
    try:
        table = arrow().Table.from_pandas(frame, preserve_index=False)
    except (arrow().ArrowInvalid, arrow().ArrowTypeError) as error:
        raise other_type(what, *error.args) from error
    return fitted(table, schema, what)


def _with_predictions(
    part: Any,
    predicting: Predicting,
    keep: Sequence[str],
    columns: Sequence[str],
    schema: Any,
    empty: Any,
) -> Any:
    """Return the kept columns of a partition and its predictions; `empty` is what has no rows."""
    if not len(part):
        return empty
    return part[keep].assign(**predicting(_as_table(part[columns], schema), keep))
