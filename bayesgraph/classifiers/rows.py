"""Rows of a table X in chunks, encoded for a network; scikit-learn is not needed for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.layout import Layout
from bayesgraph.core.arrays import Floats, is_sparse
from bayesgraph.core.errors import DataError, EmptyColumnsWarning, quoted, warn
from bayesgraph.core.variables import CountVector, MissingIndicator, Name, Variable
from bayesgraph.inference import largest, normalised
from bayesgraph.models import warn_of_impossible
from bayesgraph.tables import (
    Column,
    Table,
    Unseen,
    as_counts,
    check_unseen,
    columns_of,
    encode_table,
    length,
    of_rows,
    sparse_rows,
    tell,
)

# ----------- Rows of a table X in chunks, encoded for a network; scikit-learn is not needed for it


EncodedT = TypeVar("EncodedT")

# Maximum number of rows that are encoded and predicted together, which bounds temporary memory.
_CHUNK_ROWS = 1 << 15
# Number of rows from which on a column without any value is told of.
_MANY_ROWS = 30


@dataclass(frozen=True)
class Columns:
    """The argument X: named columns, one matrix of numbers or objects, or a small frame.

    Attributes
    ----------
    names : tuple of names
    n_rows : int
    columns : mapping from name to column, or None if there is a matrix or a frame
    matrix : ndarray or csr_array, shape (n_rows, n_columns), or None
    frame : pandas.DataFrame or polars.DataFrame, or None
        Split into columns only if it has to be, which would take most of the time.
    """

    names: tuple[Name, ...]
    n_rows: int
    columns: Mapping[Name, Column] | None
    matrix: Any
    frame: Any = None

    def take(self, rows: slice | NDArray[np.intp]) -> Columns:
        """Return the Columns of the rows in a slice or with the given indices."""
        n_rows = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        if isinstance(rows, slice) and is_sparse(self.matrix):
            return Columns(self.names, n_rows, None, sparse_rows(self.matrix, rows))
        if self.matrix is not None:
            return Columns(self.names, n_rows, None, self.matrix[rows])
        columns = {name: column[rows] for name, column in self.as_columns().items()}
        return Columns(self.names, n_rows, columns, None)

    def as_columns(self) -> dict[Name, Column]:
        """Return the named columns; a matrix is split into columns."""
        if self.columns is not None:
            return dict(self.columns)
        if self.frame is not None:
            return columns_of(self.frame)
        matrix = self.matrix.toarray() if is_sparse(self.matrix) else self.matrix
        return columns_of(matrix, self.names)

    def cells(self) -> Any:
        """Return all values as one array, or None if it is faster to encode column by column.

        The types of the columns of a frame may be lost in the array.
        """
        return self.matrix if self.frame is None else _cells(self.frame)

    def typed(self) -> Mapping[Name, Column] | tuple[Name, ...]:
        """Return the columns if their types may differ; only their names if all are numbers."""
        if self.matrix is not None and self.matrix.dtype.kind in "biuf":
            return self.names
        return self.as_columns()


def _cells(frame: Any) -> NDArray[Any]:
    """Return all values of a frame of pandas or polars as one array."""
    if hasattr(frame, "iloc"):
        # One row is picked from its columns much faster than these are joined.
        cells = frame.iloc[0].to_numpy()[None] if len(frame) == 1 else frame.to_numpy()
        return np.asarray(cells)
    objects = np.empty(frame.shape, dtype=object)
    for i, row in enumerate(frame.rows()):
        for j, value in enumerate(row):
            objects[i, j] = value
    return objects


def n_rows_of(columns: Mapping[Name, Column]) -> int:
    """Return the number of rows of a table, given its columns.

    Raises
    ------
    DataError
        If there are no rows.
    """
    n_rows = length(next(iter(columns.values())))
    if not n_rows:
        raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
    return n_rows


def known_table(
    found: Columns, unseen: Unseen, layout: Layout, variables: tuple[Variable, ...]
) -> Table:
    """Return Columns as a table encoded with the variables of a fitted model.

    `unseen` says how categories are treated that are no states.
    """
    if found.matrix is not None and layout.is_one_vector:
        vector = variables[0]
        assert isinstance(vector, CountVector)  # the layout says so
        return vector_table(found.matrix, vector)
    cells = None if layout.groups else found.cells()
    if cells is not None:
        check_unseen(unseen)
        table = layout.encoder(variables).table(cells, unseen)
        if table is not None:
            return table
    return encode_table(layout.grouped(found.as_columns()), variables, unseen=unseen)


def warn_of_empty(indicators: Collection[MissingIndicator], n_rows: int) -> None:
    """Warn of indicators of missing values that say "yes" in all rows of a table of many rows."""
    if indicators and n_rows >= _MANY_ROWS:
        warn(
            f"All {n_rows:,} cells of {quoted(v.of for v in indicators)} are missing, and to the "
            "model a missing cell there says something about the class. If the column was not "
            "delivered, its cells say nothing: ask by query without it, or fit a model with "
            "missingness='ignorable'.",
            EmptyColumnsWarning,
        )


def vector_table(matrix: Any, vector: CountVector) -> Table:
    """Return a matrix as a table whose only variable is a vector of counts."""
    n_rows = matrix.shape[0]
    codes = np.empty((n_rows, 0), dtype=np.int8, order="F")
    counts, missing = as_counts(matrix, vector)
    return Table((vector,), codes, np.empty((n_rows, 0)), not missing, {vector: counts})


def chunks(found: Columns) -> Iterator[tuple[slice, int, Columns]]:
    """Yield consecutive chunks of rows: (slice of the rows, total number of rows, chunk).

    Several chunks are an even number of about the same size, for two threads and more.
    """
    n = found.n_rows
    if n <= _CHUNK_ROWS:
        yield slice(0, n), n, found
        return
    n_chunks = 2 * -(-n // (2 * _CHUNK_ROWS))
    for a, b in pairwise(n * i // n_chunks for i in range(n_chunks + 1)):
        yield slice(a, b), n, found.take(slice(a, b))


def encoded_chunks(
    found: Columns, unseen: Unseen, encode: Callable[[Columns, Unseen], EncodedT]
) -> Iterator[tuple[slice, int, EncodedT]]:
    """Yield chunks of rows, encoded: (slice of the rows, total number of rows, what they became).

    One warning is issued for all of them if there are values that are no states and the policy is
    "warn".
    """
    policy = of_rows(unseen, found.n_rows)
    for rows, n_rows, chunk in chunks(found):
        encoded = encode(chunk, policy)
        # Whoever has the last chunk need not ask for another one.
        if rows.stop == n_rows:
            tell(policy, unseen, n_rows)
        yield rows, n_rows, encoded


def joined(
    scored: Iterable[tuple[slice, int, Floats, int]], finish: Callable[[Floats], NDArray[Any]]
) -> tuple[NDArray[Any], int]:
    """Apply a function to the log scores of all rows, chunk by chunk, and join the results.

    Parameters
    ----------
    scored : iterable of (slice of the rows, total number of rows, log scores, impossible rows)
        The chunks. Log scores are log P(class, row) up to a constant per row, of the shape
        (n_chunk_rows, n_classes).
    finish : callable
        From log scores to one result for each row, such as the normalised probabilities.

    Returns
    -------
    ndarray, int
        The results, and the number of rows of probability zero.
    """
    result: NDArray[Any] = np.empty(0)
    impossible = 0
    for rows, n_rows, joint, count in scored:
        impossible += count
        part = finish(joint)
        if len(part) == n_rows:
            result = part
            break
        if not rows.start:
            # Memory layout of the parts: the values of one class are contiguous.
            result = np.empty((*part.shape[1:], n_rows), dtype=part.dtype).T
        result[rows] = part
    return result, impossible


# ------------------------- Columns that a classifier or a regressor predicts for a table in memory


def predicted_columns(estimator: Any, table: Any) -> dict[str, Any]:
    """Return the columns that are predicted for a table in memory, by name.

    Parameters
    ----------
    estimator : fitted classifier or regressor
    table : pyarrow.Table
    """
    columns, impossible = counted(estimator, table, "both")
    warn_of_impossible(impossible, table.num_rows, estimator.target_)
    return columns


def with_policy(estimator: Any, unseen: Unseen) -> Any:
    """Return a fitted estimator that treats values which are no states in another way."""
    found = copy.copy(estimator)
    vars(found)["unseen"] = unseen  # a saved classifier is frozen
    return found


def counted(estimator: Any, table: Any, what: str) -> tuple[dict[str, Any], int]:
    """Return predicted columns by name, and the number of impossible rows."""
    target = str(estimator.target_.name)
    if not hasattr(estimator, "classes_"):
        means, deviations = estimator.predict(table, return_std=True)
        return {target: means, f"std({target})": deviations}, 0
    found, impossible = estimator._counted_rows(table, _best_and_all)
    columns = {}
    if what != "predict_proba":
        columns[target] = estimator.classes_[found[:, 0].astype(np.intp)]
    if what != "predict":
        for state, column in zip(estimator.classes_, found[:, 1:].T, strict=True):
            columns[f"P({target}={state})"] = column
    return columns, impossible


def _best_and_all(joint: Floats) -> Floats:
    """Return for each row the index of the most probable class, and all probabilities."""
    return np.vstack([largest(joint), normalised(joint).T]).T
