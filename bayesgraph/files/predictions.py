"""Predictions for tables larger than memory, written to files that appear as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bayesgraph.classifiers import check_fitted, counted, known_names, with_policy
from bayesgraph.core.errors import DataError, DataTypeError, FileFormatError, quoted
from bayesgraph.core.files import PathLike, path_text, replacing, temporary_folder
from bayesgraph.core.parallel import in_order, one_blas_thread
from bayesgraph.core.variables import Variable, has_text_states
from bayesgraph.models import warn_of_impossible
from bayesgraph.tables import Dataset, Unseen, UnseenValues, arrow, check_apart, open_dataset

_WHAT = ("both", "predict", "predict_proba")
_PARQUET, _TEXTS = (".parquet", ".pq"), (".csv", ".tsv")
# Number of runs of rows in each file of a folder.
_RUNS_OF_PART = 32


def predict_dataset(
    estimator: Any,
    data: Any,
    target: PathLike | None = None,
    *,
    what: str = "both",
    keep: Sequence[str] = (),
) -> Any:
    r"""Predict the rows of a table larger than memory, and write them to one or several files.

    Rows are read, predicted and written in runs of 32,768, so that memory is bounded. The numbers
    are those of `predict` and `predict_proba`, and rows keep their order. Without a target, the
    predictions of a Dask or Spark frame are such a frame, which its engine computes when it is
    asked for.

    Parameters
    ----------
    estimator : fitted classifier or regressor
    data : path, glob, folder, Dataset, ...
        What :func:`bayesgraph.open_dataset` takes or returns. Columns that the model does not know
        are left out.
    target : str or path, optional for frames of Dask and Spark
        A ``.parquet``, ``.csv`` or ``.tsv`` file, which is replaced as a whole or not at all; or a
        folder, which is empty or, without a suffix, new, for the files ``part-00000.parquet`` and
        so on, which appear together.
    what : {"both", "predict", "predict_proba"}, default "both"
        The predicted class, in a column with the name of the class; the probability of each class
        c, in a column ``P(class=c)``; or both. A regressor always gives means and standard
        deviations.
    keep : sequence of str
        Columns of `data` to write too, such as an identifier; they are the first ones.

    Returns
    -------
    int, or dask.dataframe.DataFrame, or pyspark.sql.DataFrame
        Number of rows, or the lazy frame of predictions; that of Dask has the index and the
        partitions of `data`.

    Raises
    ------
    DataError
        If columns of the model are missing, there are no rows, or two columns would have one name.
    DataTypeError
        If the target is missing, or the dataset was opened with ``executor=``.
    FileExistsError
        If the folder is not empty.
    FileFormatError
        If the target has another suffix.

    Examples
    --------
    >>> import tempfile
    >>> import bayesgraph as bg
    >>> clf = bg.NaiveBayesClassifier().fit({"x": ["a", "b"] * 3}, ["no", "yes"] * 3)
    >>> folder = tempfile.TemporaryDirectory()
    >>> rows, found = Path(folder.name, "rows.csv"), Path(folder.name, "found.csv")
    >>> _ = rows.write_text("id,x\n1,b\n2,a\n")
    >>> bg.files.predict_dataset(clf, rows, found, what="predict", keep=["id"])
    2
    >>> found.read_text().split()
    ['"id","class"', '1,"yes"', '2,"no"']
    >>> folder.cleanup()
    """
    check_fitted(estimator, "network_")
    if what not in _WHAT:
        raise DataError(f"what= is one of {quoted(_WHAT)}; got {what!r}.")
    write = None if target is None else _writing(target)
    # Only files of paths have cells without a type; text features are text in any CSV file.
    is_path = isinstance(data, (str, os.PathLike, list, tuple))
    text = [str(v.name) for v in estimator.features_ if is_path and has_text_states(v)]
    dataset = data if isinstance(data, Dataset) else open_dataset(data, text=text)
    if target is not None:
        check_apart([Path(target)], [Path(dataset.source)])
    names = known_names(estimator, dataset.names, dataset.source)
    dataset.checked(keep, "keep=")
    if write is None:
        return dataset.predicted(_Predicting(estimator, what), names, keep)
    if dataset.executor is not None and not dataset.is_lazy:
        raise DataTypeError(
            f"Predictions of {dataset.source} are written by this process, in threads; leave out "
            "executor=, or predict a frame of Dask, which gives a frame."
        )

    def predicted(run: Any) -> tuple[Any, int, Unseen, dict[Variable, float]]:
        # The predictions of a run, how many of its rows are impossible, its unseen values and its
        # numbers far outside: they are collected, as one warning at the end names those of all.
        unseen = UnseenValues() if estimator.unseen == "warn" else estimator.unseen
        far: dict[Variable, float] = {}
        collecting = with_policy(estimator, unseen, far)
        columns, impossible = counted(collecting, run.select(names), what)
        return _table(run.select(list(keep)), columns), impossible, unseen, far

    n_rows = n_impossible = 0
    # Values of all runs that are no states, and the last number far outside of each variable.
    unseen_values = UnseenValues()
    far_values: dict[Variable, float] = {}
    runs = dataset.runs(list(dict.fromkeys([*names, *keep])))

    def tables() -> Iterator[Any]:
        """Yield the predictions of all runs in their order, and count their rows."""
        nonlocal n_rows, n_impossible
        for table, impossible, unseen, far in in_order(predicted, runs):
            far_values.update(far)
            n_rows += len(table)
            n_impossible += impossible
            if isinstance(unseen, UnseenValues):
                unseen_values.unite(unseen)
            yield table
        # Raised while the file is written, which then is not replaced.
        if not n_rows:
            raise DataError(f"{dataset.source} has no rows.")

    # The limit holds for the process, so that it is set once for all threads.
    with one_blas_thread():
        write(tables())
    warn_of_impossible(n_impossible, n_rows, estimator.target_)
    unseen_values.warn(n_rows)
    estimator.network_._expected.warn_of(far_values)
    return n_rows


@dataclass(frozen=True)
class _Predicting:
    """The columns that an estimator predicts for a table; see `datasets.Predicting`."""

    estimator: Any
    what: str

    def __call__(self, table: Any, keep: Sequence[str]) -> dict[str, Any]:
        # Workers have one thread for each part.
        with one_blas_thread():
            columns, impossible = counted(self.estimator, table, self.what)
        _check_apart(keep, columns)
        warn_of_impossible(impossible, len(table), self.estimator.target_)
        return columns


# --------------------------------------------------------------------------------------- columns


def _table(kept: Any, columns: dict[str, Any]) -> Any:
    """Return kept columns and predictions as one table."""
    _check_apart(kept.column_names, columns)
    types = arrow().types
    # Text that was read as categories is written as text.
    plain = {
        name: column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
        for name, column in zip(kept.column_names, kept.columns, strict=True)
    }
    return arrow().table({**plain, **columns})


def _check_apart(keep: Sequence[str], columns: dict[str, Any]) -> None:
    """Refuse kept columns with the names of predictions."""
    if twice := [name for name in columns if name in keep]:
        raise DataError(
            f"keep= names {quoted(twice)}, which is what the column with predictions is called. "
            "Probabilities alone are written by what='predict_proba'."
        )


# --------------------------------------------------------------------------------------- files


def _writing(target: PathLike) -> Callable[[Iterator[Any]], None]:
    """Return the function that writes tables to a file or a folder."""
    text = path_text(target)
    # A Path has lost the slash at its end.
    if text.endswith(("/", os.sep)) or Path(text).is_dir() or not Path(text).suffix:
        return partial(_write_folder, Path(os.path.realpath(text)))
    if not text.lower().endswith((*_PARQUET, *_TEXTS)):
        raise FileFormatError(
            f"{text!r}: the suffix of predictions is one of {quoted((*_PARQUET, *_TEXTS))}; a "
            "folder has none."
        )
    return partial(_write_file, text)


def _write_file(path: PathLike, tables: Iterator[Any]) -> None:
    """Write tables, of which there is one at least, below each other; see `replacing`."""
    with replacing(path) as stream:
        first = next(tables)
        with _writer(path, stream, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)


def _writer(path: PathLike, stream: Any, schema: Any) -> Any:
    """Return pyarrow's writer of tables of a schema to a stream, by the suffix of its path."""
    suffix = Path(path).suffix.lower()
    if suffix in _PARQUET:
        return arrow(".parquet").ParquetWriter(stream, schema)
    csv = arrow(".csv")
    options = csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",")
    try:
        return csv.CSVWriter(stream, schema, write_options=options)
    except arrow().ArrowInvalid as error:
        raise DataTypeError(
            f"{str(path)!r}: CSV files do not hold every column of keep= ({error}). Name a "
            ".parquet file, or leave the column out."
        ) from error


def _write_folder(folder: Path, tables: Iterator[Any]) -> None:
    """Write tables to the files of a folder, which appears at the end.

    Raises
    ------
    FileExistsError
        If the folder has files: those of other predictions would mix with the new ones.
    FileNotFoundError
        If there is no directory for the folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{str(folder)!r} is not an empty folder; name a new one.")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(folder.parent)!r}.")
    with temporary_folder(folder.parent) as temporary:
        # Renamed as a whole: the temporary folder itself is removed at the end.
        parts = temporary / "parts"
        parts.mkdir()
        for part, first in enumerate(tables):
            # The rest of this file's tables comes from the iterator of the loop.
            run = chain([first], islice(tables, _RUNS_OF_PART - 1))
            _write_file(parts / f"part-{part:05}.parquet", run)
        if folder.exists():
            folder.rmdir()
        parts.rename(folder)
