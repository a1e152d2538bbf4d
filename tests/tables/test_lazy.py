"""Lazy frames are read into memory if they fit, and are never collected beyond the limit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataTypeError, MemoryLimitError
from bayesgraph.tables import columns_of
from bayesgraph.tables import table as lazy

COLUMNS = {"a": ["x", "y"] * 500, "b": list(range(1000))}
LABELS = ["u", "v"] * 500


@pytest.fixture
def tiny(monkeypatch):
    """A limit of 5 kB, and batches of 100 rows."""
    monkeypatch.setattr(lazy, "default_memory_limit", lambda: 5_000)
    monkeypatch.setattr(lazy, "_BATCH_ROWS", 100)


def relation():
    return pytest.importorskip("duckdb").from_arrow(pa.table(COLUMNS))


@pytest.mark.parametrize("make", [lambda: pl.LazyFrame(COLUMNS), relation], ids=["polars", "duck"])
def test_what_fits_is_read_in_order(make, monkeypatch):
    monkeypatch.setattr(lazy, "_BATCH_ROWS", 100)
    found = columns_of(make())
    assert {name: column.to_list() for name, column in found.items()} == COLUMNS
    memory = bg.TANClassifier(check_columns=False).fit(pa.table(COLUMNS), LABELS)
    assert np.array_equal(memory.predict_proba(make()), memory.predict_proba(pa.table(COLUMNS)))


@pytest.mark.parametrize("make", [lambda: pl.LazyFrame(COLUMNS), relation], ids=["polars", "duck"])
def test_what_does_not_fit_is_refused(make, tiny):
    with pytest.raises(MemoryLimitError, match=r"more than 5 kB.*name of the column"):
        columns_of(make())
    assert len(columns_of(pl.LazyFrame(COLUMNS).head(10))["a"]) == 10


def test_labels_in_memory_need_rows_in_memory(tiny):
    frame = pl.LazyFrame(COLUMNS)
    with pytest.raises(MemoryLimitError, match="name of the column with the classes"):
        bg.TANClassifier(check_columns=False).fit(frame, LABELS)
    whole = frame.with_columns(label=pl.Series(LABELS))
    assert bg.TANClassifier(check_columns=False).fit(whole, "label").classes_.tolist() == ["u", "v"]


@pytest.mark.parametrize("y", [pl.LazyFrame({"y": LABELS}), LABELS], ids=["lazy", "list"])
def test_labels_that_an_engine_does_not_see_are_refused(y):
    data = pl.LazyFrame(COLUMNS) if isinstance(y, pl.LazyFrame) else relation()
    with pytest.raises(DataTypeError, match="y is the name of one of its columns"):
        bg.TANClassifier(check_columns=False).fit(data, y)


def test_engines_of_frames():
    assert lazy.engine_of(pl.LazyFrame(COLUMNS)) == "polars"
    for data in (
        pl.DataFrame(COLUMNS),
        pl.Series(LABELS),
        pd.DataFrame(COLUMNS),
        pa.table(COLUMNS),
    ):
        assert lazy.engine_of(data) is None


@pytest.mark.parametrize("engine", ["dask.dataframe", "pyspark.sql"])
def test_frames_of_other_processes_are_not_collected(engine):
    frame = type("DataFrame", (), {"__module__": engine})()
    with pytest.raises(DataTypeError, match="is not read into memory"):
        columns_of(frame)
