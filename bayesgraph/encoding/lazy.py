"""Lazy frames: tables whose rows an engine computes when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw

from bayesgraph.errors import DataTypeError, MemoryLimitError
from bayesgraph.inference.memory import default_memory_limit, format_bytes
from bayesgraph.optional import optional_module

# Engines by the packages that define their frames.
_ENGINES = {
    "polars": "polars",
    "duckdb": "DuckDB",
    "_duckdb": "DuckDB",
    "dask": "Dask",
    "dask_expr": "Dask",
    "pyspark": "Spark",
}
_KINDS = ("LazyFrame", "DuckDBPyRelation", "DataFrame", "Series", "Scalar", "Column")
# Number of rows that are read at a time.
_BATCH_ROWS = 1 << 16


def engine_of(data: Any) -> str | None:
    """Return the engine of a lazy frame or a lazy column, None for other data."""
    kind = type(data)
    engine = _ENGINES.get(kind.__module__.partition(".")[0])
    if engine is None or kind.__name__ not in _KINDS:
        return None
    # Other frames of polars are in memory.
    return None if engine == "polars" and kind.__name__ != "LazyFrame" else engine


def check_not_distributed(data: Any) -> None:
    """Raise a DataTypeError for a frame of Dask or Spark, which belongs to other processes."""
    if engine_of(data) in ("Dask", "Spark"):
        raise DataTypeError(
            f"A frame of {engine_of(data)} is not read into memory. fit takes it with the name of "
            "the column with the classes, and predict_dataset predicts its rows where they are; "
            "or collect it first."
        )


def collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Return the rows of a lazy frame that fit into memory.

    Raises
    ------
    DataTypeError
        If they are not read in batches, so that nobody knows before how many they are.
    MemoryLimitError
        If they need more than the default limit; no more than that is read.
    """
    data = nw.to_native(frame)
    batches: Iterable[Any]
    if engine_of(data) == "polars":
        batches = data.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
    elif engine_of(data) == "DuckDB":
        table = optional_module("pyarrow", extra="tables", what="Reading relations of DuckDB").Table
        batches = (table.from_batches([batch]) for batch in data.to_arrow_reader(_BATCH_ROWS))
    else:
        raise DataTypeError(
            f"Expected a table in memory; got a lazy frame, {type(data).__name__}. Collect it."
        )
    held, size, limit = [], 0, default_memory_limit()
    for batch in map(nw.from_native, batches):
        size += batch.estimated_size()
        if size > limit:
            raise MemoryLimitError(
                f"The lazy frame has more than {format_bytes(limit)}, the limit of what is read "
                "into memory. Give fit the name of the column with the classes instead of labels, "
                "and use predict_dataset to predict: rows are then read in runs."
            )
        held.append(batch)
    if not held:
        return frame.head(0).collect()
    return nw.concat(held)
