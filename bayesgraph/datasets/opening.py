"""Opening of files and engines as datasets."""

from __future__ import annotations

import copy
import glob
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bayesgraph.checks import whole_number
from bayesgraph.datasets.csv_files import CsvFiles
from bayesgraph.datasets.dataset import Cache, Dataset, Progress, arrow, check_list
from bayesgraph.datasets.engines import of_engine
from bayesgraph.datasets.executors import as_executor
from bayesgraph.datasets.files import is_data, is_hidden, kind_of, unreadable
from bayesgraph.datasets.fragments import Fragments
from bayesgraph.datasets.objects import is_uri, objects_of, without_options
from bayesgraph.datasets.schemas import selected
from bayesgraph.errors import DataTypeError, FileFormatError, quoted
from bayesgraph.variables import MISSING


def open_dataset(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    where: Any = None,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    max_categories: int | None = None,
    progress: Progress | None = None,
    executor: Any = None,
    sample_rows: int | None = None,
    cache: Cache | None = None,
) -> Dataset:
    """Open files or an engine as a Dataset: a table larger than memory, read in passes.

    `fit` and `predict_dataset` of classifiers take what this function takes, without its options,
    and what it returns. A dataset that is opened again keeps the options that are not given. Rows
    have the order of the files' names, and of the rows in each file. Counts, intervals and groups
    are those of all rows. Where a numeric column has more than 4,095 distinct values, a discretiser
    searches between as many quantiles of a sample: measured, with up to a hundred intervals, these
    lose at most 0.3 % of their information on the class.

    Parameters
    ----------
    data : path, glob or folder; list of paths; pyarrow dataset; lazy frame; function; Dataset
        Parquet or CSV files, as one table: columns may come in any order, and integers and floats
        of different widths become one type, and ordered categories text. Of a folder, files and
        folders that begin with a dot or an underscore are left out, and folders in it such as
        ``year=2020`` are columns. Paths of Parquet files may begin with ``s3://``, ``gs://`` and
        others that pyarrow knows, and end with its options, as in
        ``s3://bucket/*.parquet?region=eu-west-1``; there a ``?`` is no part of a glob. A lazy frame
        is one of polars, Dask or Spark, or a relation of DuckDB; a function without parameters
        returns batches of rows, the same ones whenever it is called.
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.
    where : pyarrow.dataset.Expression, optional
        Rows of Parquet files to use, such as ``pyarrow.dataset.field("year") > 2020``.
    missing : sequence of str
        Texts of CSV cells that mean a missing value.
    text : sequence of str
        Columns of CSV files to read as text, even if all values look like numbers.
    delimiter : str, optional
        What separates the fields of CSV files; by default the tab in .tsv files, else the comma.
    max_categories : int, default 10,000
        Maximum number of states of a discrete column, which are held in memory.
    progress : callable, optional
        Called in each pass with the number of rows read so far and of all rows, None if unknown.
    executor : concurrent.futures.Executor or distributed.Client, optional
        Where parts of the rows are read and counted, such as a ``ProcessPoolExecutor`` or a Dask
        cluster, for Parquet files and Dask frames. By default by threads of this process. The
        fitted model has the same bits.
    sample_rows : int, default 262,144
        Number of rows of the sample that is taken for what needs rows in memory: trees, training to
        predict, and the quantiles between which discretisers search.
    cache : bool or path, default False
        Whether to write the encoded rows to disk in the first pass over all columns, for the others
        to read: to a temporary folder, removed at the end, or to a folder that is kept, and used
        again by a fit on the same rows. It has a byte for each cell of text, and eight for a
        number. Structure searches, EM and feature selection make many passes.

    Returns
    -------
    Dataset

    Raises
    ------
    DataTypeError
        If `data` is none of these, such as a table in memory.
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If files are of several kinds or unknown ones, or do not have the same columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesgraph as bg
    >>> folder = tempfile.TemporaryDirectory()
    >>> for day, rows in enumerate(["sun,20\\nsun,23\\n", "rain,14\\nrain,11\\n"]):
    ...     _ = Path(folder.name, f"day{day}.csv").write_text("sky,degrees\\n" + rows)
    >>> days = bg.open_dataset(folder.name)
    >>> days.names, days.n_rows
    (('sky', 'degrees'), 4)
    >>> bg.NaiveBayesClassifier().fit(days, "sky").predict({"degrees": [12.0, 22.0]}).tolist()
    ['rain', 'sun']
    >>> folder.cleanup()
    """
    given = {
        "max_categories": max_categories,
        "sample_rows": sample_rows,
        "progress": progress,
        "executor": as_executor(executor),
        "cache": cache,
    }
    options = {name: value for name, value in given.items() if value is not None}
    _check_options(columns, where, options)
    found = _as_opened(data, columns, where, missing=missing, text=text, delimiter=delimiter)
    if found is None:
        raise DataTypeError(
            "A dataset is a path, a glob, a folder, a list of paths, a dataset of pyarrow, a lazy "
            "frame of polars, Dask or Spark, a relation of DuckDB, or a function that returns "
            f"batches; got {type(data).__name__}. Tables in memory go to fit and predict as they "
            "are."
        )
    for name, value in options.items():
        setattr(found, name, value)
    is_elsewhere = found.executor is not None and not (found.is_lazy and executor is None)
    if is_elsewhere and found.cache is not False:
        raise DataTypeError("cache= keeps rows for passes of this process; leave out executor=.")
    return found


def _check_options(columns: Any, where: Any, options: Mapping[str, Any]) -> None:
    """Raise an error for an option of `open_dataset` that is of a wrong kind."""
    for name, what in (("max_categories", "states"), ("sample_rows", "rows")):
        if name in options:
            whole_number(f"{name}=", what, options[name], 1)
    cache = options.get("cache", False)
    if not isinstance(cache, (bool, str, os.PathLike)):
        raise DataTypeError(f"cache= is True, False or the path of a folder; got {cache!r}.")
    if columns is not None:
        check_list(columns, "columns=")
    if "progress" in options and not callable(options["progress"]):
        raise DataTypeError(
            "progress= is a function of the number of rows read so far and of all rows; "
            f"got {options['progress']!r}."
        )
    if where is not None and not isinstance(where, arrow(".dataset").Expression):
        raise DataTypeError(
            "where= is an expression of pyarrow, such as pyarrow.dataset.field('year') > 2020; "
            f"got {where!r}."
        )


def as_dataset(data: Any) -> Dataset | None:
    """Return data that may be larger than memory as a Dataset, and None for tables in memory.

    Parameters
    ----------
    data : Dataset, or anything
        Opened as by `open_dataset` with its defaults.
    """
    return data if isinstance(data, Dataset) else _as_opened(data, None, None)


def _as_opened(
    data: Any, columns: Sequence[str] | None, where: Any, **cells: Any
) -> Dataset | None:
    """Return data as a new Dataset, None for other data; the parameters are of `open_dataset`."""
    if isinstance(data, (str, os.PathLike)):
        return _of_paths([data], str(data), columns, where, **cells)
    if (
        isinstance(data, (list, tuple))
        and data
        and all(isinstance(p, (str, os.PathLike)) for p in data)
    ):
        return _of_paths(data, f"{len(data)} files", columns, where, **cells)
    if type(data).__module__.startswith("pyarrow._dataset"):
        return Fragments(data, "the dataset", where, columns)
    found = copy.copy(data) if isinstance(data, Dataset) else of_engine(data)
    if found is None:
        return None
    if where is not None:
        raise DataTypeError(f"where= selects rows of Parquet files; filter {found.source} itself.")
    if columns is not None:
        found.checked(columns, "columns=")
        found.schema = selected(found.schema, columns)
    return found


def _of_paths(
    paths: Sequence[Any],
    source: str,
    columns: Sequence[str] | None,
    where: Any,
    *,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    delimiter: str | None = None,
) -> Dataset:
    """Return the dataset of paths, globs and folders, with files in the order of their names."""
    texts = [os.fspath(path) for path in paths]
    if any(map(is_uri, texts)):
        if len(texts) == 1:
            source = without_options(source)
        return Fragments(objects_of(texts, source), source, where, columns)
    found = [file for path in texts for file in _files(path)]
    if not found:
        where = "in the folder " if any(Path(text).is_dir() for text in texts if text) else ""
        raise FileNotFoundError(f"There is no Parquet or CSV file {where}{source}.")
    kinds = {kind_of(file) for file in found}
    if kinds <= {"parquet", "pq"}:
        try:
            folder = texts[0] if len(texts) == 1 and Path(texts[0]).is_dir() else None
            return Fragments(_parquet(found, folder), source, where, columns)
        except arrow().ArrowInvalid as error:
            raise unreadable(source, error) from error
    if not (kinds <= {"csv", "tsv"}):
        raise FileFormatError(
            f"{source}: expected files of one kind, .parquet or .csv; got {quoted(sorted(kinds))}."
        )
    if where is not None:
        raise DataTypeError(f"where= selects rows of Parquet files; {source} has CSV files.")
    delimiter = delimiter or ("\t" if kinds == {"tsv"} else ",")
    return CsvFiles(found, source, missing=missing, text=text, delimiter=delimiter, columns=columns)


def _parquet(files: Sequence[str], folder: str | None) -> Any:
    """Return Parquet files as a dataset of pyarrow.

    If they lie in folders of a folder such as ``year=2020``, these are columns.
    """
    open_files = partial(arrow(".dataset").dataset, list(files), format="parquet")
    below = [Path(file).parent.relative_to(folder).parts for file in files] if folder else []
    if any("=" in part for parts in below for part in parts):
        return open_files(partitioning="hive", partition_base_dir=folder)
    return open_files()


def _files(text: str) -> list[str]:
    """Return the data files that a path, a folder or a glob names, in order."""
    path = Path(text)
    if not text:  # which Path takes for the current directory
        return []
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        return [str(file) for file in inside if is_data(file.relative_to(path))]
    if path.is_file():
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    return [file for file in found if Path(file).is_file() and not is_hidden(Path(file).name)]
