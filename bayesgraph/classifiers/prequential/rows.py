"""What arrives as a stream: tables with labels, and rows of names and values with their label."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.evaluation import rows_of
from bayesgraph.classifiers.inputs import target_column
from bayesgraph.encoding import columns_of
from bayesgraph.encoding.table import as_frame, length
from bayesgraph.errors import DataError, DataTypeError, ModelError, quoted
from bayesgraph.optional import optional_module
from bayesgraph.variables import Name, is_missing, plain


@dataclass(frozen=True)
class Rows:
    """Some rows that came as mappings from name to value."""

    items: Sequence[Mapping[Name, Any]]


def stream_batches(X: Any, y: Any, batch: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield tables or `Rows`, each with its labels.

    Raises
    ------
    ModelError
        For a batch that is no number of rows.
    DataError, DataTypeError
        For labels that do not fit, or what is no stream.
    """
    if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
        raise ModelError(f"batch= is a number of rows, 1 or more; got {batch!r}.")
    if y is not None:
        return _parts(X, y, int(batch))
    if not isinstance(X, Iterable) or hasattr(X, "shape"):
        raise DataError(
            "prequential takes a table and its labels, or an iterable of pairs of both (or of a "
            f"row and its label); got {type(X).__name__} without labels."
        )
    return _streamed(X, int(batch))


def _parts(X: Any, y: Any, batch: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    frame = as_frame(X)
    table = frame.collect().to_native() if isinstance(frame, nw.LazyFrame) else X
    labels, _ = target_column(y)
    _check_lengths(table, labels)
    for first in range(0, len(labels), batch):
        rows = np.arange(first, min(first + batch, len(labels)))
        yield rows_of(table, rows), labels[rows]


def _streamed(stream: Iterable[Any], batch: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    pairs = map(_pair, stream)
    first = next(pairs, None)
    if first is None:
        return
    together = itertools.chain([first], pairs)
    if isinstance(first[0], Mapping) and np.ndim(first[1]) == 0:
        while rows := list(itertools.islice(together, batch)):
            labels = _label_array([plain(label) for _, label in rows])
            yield Rows([_row(x) for x, _ in rows]), target_column(labels)[0]
        return
    for part, given in together:
        labels, _ = target_column(given)
        _check_lengths(part, labels)
        yield part, labels


def _pair(item: Any) -> tuple[Any, Any]:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise DataError(
            "A stream gives pairs of a table and its labels, or of a row and its label; got "
            f"{type(item).__name__}."
        )
    return item[0], item[1]


def _row(x: Any) -> Mapping[Name, Any]:
    if not isinstance(x, Mapping):
        raise DataTypeError(
            f"A row of a stream is a mapping from name to value; got {type(x).__name__}."
        )
    return x


def _label_array(labels: list[Any]) -> NDArray[Any]:
    one_type = len({type(label) for label in labels}) == 1
    return np.array(labels, dtype=None if one_type else object)


def _check_lengths(X: Any, labels: NDArray[Any]) -> None:
    n_rows = _n_rows(X)
    if n_rows != len(labels):
        raise DataError(
            f"X has {n_rows} rows and y has {len(labels)} labels; give a label for each row."
        )


def _n_rows(X: Any) -> int:
    if isinstance(X, Mapping) and not hasattr(X, "toarray"):
        return length(next(iter(columns_of(X).values())))
    if hasattr(X, "shape") and len(X.shape):
        return int(X.shape[0])
    if isinstance(X, Sequence) and not isinstance(X, str):
        return len(X)
    raise DataTypeError(
        f"Labels belong to a table, such as an array or a data frame; got {type(X).__name__}."
    )


def as_rows(X: Any) -> Sequence[Mapping[Name, Any]]:
    """Return rows of names and values; what is missing in a table is left out, as in river."""
    if isinstance(X, Rows):
        return X.items
    # NumPy would make text of the numbers beside text.
    table = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
    columns = columns_of(table)
    values = [column.to_list() if hasattr(column, "to_list") else column.tolist()
              for column in columns.values()]  # fmt: skip
    return [
        {name: plain(v) for name, v in zip(columns, row, strict=True) if not is_missing(v)}
        for row in zip(*values, strict=True)
    ]


def as_table(X: Any, names: Sequence[Name] | None) -> Any:
    """Return a table of rows, with the columns named or those of the rows; a table unchanged.

    Raises
    ------
    DataError
        For a row that has other columns too.
    MissingDependencyError
        If pandas is not installed.
    """
    if not isinstance(X, Rows):
        return X
    pandas = optional_module("pandas", extra="river", what="A table of single rows")
    found = list(dict.fromkeys(itertools.chain.from_iterable(X.items)))
    if names is not None and (more := [name for name in found if name not in set(names)]):
        raise DataError(
            f"A later row has the columns {quoted(more)}, which the first batch had not; this "
            "model takes tables of the same columns. Take a streaming classifier, or a model of "
            "river."
        )
    return pandas.DataFrame(list(X.items), columns=found if names is None else list(names))
