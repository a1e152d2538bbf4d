"""The price of fitting a classifier, from the first rows of its data."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesgraph.classifiers.from_datasets import bytes_ahead, dataset_of, dataset_source
from bayesgraph.datasets import Dataset
from bayesgraph.datasets.ahead import first_rows
from bayesgraph.datasets.engines import Batches
from bayesgraph.datasets.source import RUNS_HELD, copies_of
from bayesgraph.encoding import Table
from bayesgraph.inference.memory import default_memory_limit
from bayesgraph.learning.price import FitPrice, Rates, Work
from bayesgraph.statistics import Pairs, RowSource, Statistics, blocks
from bayesgraph.variables import Continuous, Discrete

# Maximum numbers of blocks and of values that are read to find variables and rates.
_FIRST_BLOCKS, _CELLS = 4, 1 << 24
# Maximum numbers of rows and of columns of which all pairs are counted to measure the rate.
_ROWS, _COLUMNS = 1 << 15, 40


def price_of_fit(
    estimator: Any, X: Any, y: Any, sample_weight: Any, rates: Rates | None = None
) -> FitPrice:
    """Return the price of ``estimator.fit(X, y, sample_weight)``; the estimator stays as it is.

    Of a dataset the first rows are read, and if its number of rows is unknown, one column.

    Parameters
    ----------
    estimator : NetworkClassifier
    X, y, sample_weight
        As for `fit`.
    rates : Rates, optional
        By default they are measured.
    """
    copy = clone(estimator)
    data = dataset_of(X, y)
    if data is None:
        source, _ = copy._table_source(X, y, sample_weight, None)
        n_rows, where, first = source.table.n_rows, "a table in memory", "all"
        row_bytes: float | None = _row_bytes(source.table)
        reading, n_before = 0.0, 0
    else:
        begin, n_before = time.perf_counter(), 1
        head = _first_rows(data, (y, sample_weight))
        reading = time.perf_counter() - begin
        source, _ = dataset_source(copy, head, y, sample_weight, copy._discretizer())
        n_rows = sum(len(run) for run in data.runs([y])) if data.n_rows is None else data.n_rows
        stored = data.stored_bytes(data.names)
        row_bytes = None if stored is None else stored / max(n_rows, 1)
        where, first = data.source, f"the first {source.n_rows:,}"
    counts, options = copy._counted()
    work = Work(
        source.features,
        source.target,
        n_rows,
        counts,
        before=n_before + (data is not None and copy._discretizer() is not None),
        at_once=0 if data is None else bytes_ahead(copy, data, y, sample_weight),
        row_bytes=row_bytes,
        copies=1 if data is None else copies_of(n_rows),
        runs=0 if data is None else RUNS_HELD,
        rates=rates or _rates(source, reading),
        limit=default_memory_limit(),
    )
    return FitPrice(
        f"Price of {estimator!r}\n{n_rows:,} rows, {len(source.features):,} columns, "
        f"{len(copy.classes_):,} classes of {where}",
        _with_options(work, copy._counts_ahead(), options).ways(),
        work.limit,
        f"States and rates are those of {first} rows; the time is an estimate.",
    )


def _first_rows(data: Dataset, special: Sequence[Any]) -> Dataset:
    """Return the first rows of a dataset, held in memory, as a dataset.

    `special` has the names of the columns that are no features.
    """
    n_rows = max(1, min(_FIRST_BLOCKS * blocks.BLOCK, _CELLS // len(data.names)))
    first = [first_rows(data, n_rows, special)]
    found = Batches(lambda columns: first, data.schema, data.source)
    found.max_categories = data.max_categories
    return found


def _row_bytes(table: Table) -> float:
    return (table.codes.nbytes + table.values.nbytes) / max(table.n_rows, 1)


def _rates(source: RowSource, reading: float) -> Rates:
    """Return the rates of this machine; `reading` is the time to read the source's rows."""
    # The first times include those of loading libraries and kernels.
    source.sample(16)
    begin = time.perf_counter()
    table = source.table
    n_cells = max(table.n_rows * len(table.variables), 1)
    cell = (reading + time.perf_counter() - begin) / n_cells
    wanted = [v for v in source.features if isinstance(v, (Discrete, Continuous))]
    columns = tuple(wanted[:: -(-len(wanted) // _COLUMNS) or 1])
    request = Pairs(columns, source.target)
    Statistics.collect(table.rows(slice(16)), [request], np.empty(0))
    rows = table.rows(slice(_ROWS))
    begin = time.perf_counter()
    Statistics.collect(rows, [request], np.empty(0))
    n_pairs = max(rows.n_rows, 1) * max(len(columns) * (len(columns) - 1) // 2, 1)
    return Rates(cell, (time.perf_counter() - begin) / n_pairs)


def _with_options(work: Work, counts_ahead: bool, options: Mapping[str, Any]) -> Work:
    """Return work with the passes that a learner's options make."""
    work = replace(
        work, candidates=options.get("candidates"), offers_candidates="candidates" in options
    )
    if work.counts == "families":
        return replace(work, before=work.before + int(options.get("sample", 0)))
    if counts_ahead or work.candidates is not None:
        return work
    if work.counts != "search":
        return replace(work, after=1)
    parents = options.get("max_parents", options.get("k", 1))
    return replace(work, most_after=1 + parents * len(work.columns))
