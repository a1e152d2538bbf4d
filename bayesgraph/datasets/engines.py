"""Tables of other engines as datasets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import narwhals as nw

from bayesgraph.datasets.dask_frames import DaskFrame
from bayesgraph.datasets.dataset import Dataset, arrow
from bayesgraph.datasets.schemas import fitted, selected, with_categories
from bayesgraph.datasets.spark_frames import SparkFrame
from bayesgraph.encoding.lazy import engine_of
from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.statistics import blocks


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
        schema = selected(self.schema, columns)
        for batch in self._make(columns):
            table = _as_table(batch, self.source)
            if lacking := [name for name in columns if name not in table.column_names]:
                raise DataError(
                    f"A batch of {self.source} lacks the columns {quoted(lacking)}, which the "
                    "first one has."
                )
            yield fitted(table.select(list(columns)), schema, f"A batch of {self.source}")


def _as_table(batch: Any, source: str) -> Any:
    """Return a record batch, or a frame of any library, as a pyarrow Table."""
    if isinstance(batch, arrow().Table):
        return batch
    if isinstance(batch, arrow().RecordBatch):
        return arrow().Table.from_batches([batch])
    try:
        return nw.from_native(batch, eager_only=True).to_arrow()
    except TypeError as error:
        raise DataTypeError(
            f"{source} is expected to be batches of rows: record batches or tables of pyarrow, or "
            f"frames of pandas and polars; got {type(batch).__name__}."
        ) from error


def of_engine(data: Any) -> Dataset | None:
    """Return a frame of an engine, or a function that makes batches, as a dataset; else None."""
    if inspect.isgenerator(data):
        raise DataTypeError(
            "A generator gives its rows once, and they are read in several passes: give the "
            f"function {data.__name__} in place of what it returned."
        )
    made = _MAKERS.get((engine_of(data), type(data).__name__))
    if made is not None:
        return made(data)
    return _of_function(data) if inspect.isfunction(data) or inspect.ismethod(data) else None


def _of_polars(frame: Any) -> Dataset:
    def batches(columns: Sequence[str]) -> Iterable[Any]:
        return frame.select(list(columns)).collect_batches(  # type: ignore[no-any-return]
            chunk_size=blocks.BLOCK, maintain_order=True
        )

    schema = frame.head(0).collect().to_arrow().schema
    return Batches(batches, schema, "the lazy frame")


def _of_duckdb(relation: Any) -> Dataset:
    def fetched(columns: Sequence[str]) -> Iterable[Any]:
        quoted_names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        return relation.project(quoted_names).to_arrow_reader(blocks.BLOCK)  # type: ignore[no-any-return]

    return Batches(fetched, relation.limit(0).to_arrow_table().schema, "the relation")


_MAKERS: dict[tuple[str | None, str], Callable[[Any], Dataset]] = {
    ("polars", "LazyFrame"): _of_polars,
    ("DuckDB", "DuckDBPyRelation"): _of_duckdb,
    ("Dask", "DataFrame"): DaskFrame,
    ("Spark", "DataFrame"): SparkFrame,
}


def _of_function(make: Callable[[], Iterable[Any]]) -> Dataset:
    source = f"what {make.__name__} returns"
    batches = make()
    if not isinstance(batches, Iterable):
        raise DataTypeError(
            f"{source} is expected to be record batches or frames, one after another; got "
            f"{type(batches).__name__}."
        )
    for batch in batches:
        schema = with_categories(_as_table(batch, source).schema.remove_metadata())
        return Batches(lambda _: make(), schema, source)
    raise DataError(f"{source} has no batches.")
