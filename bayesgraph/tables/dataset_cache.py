"""Encoded rows on disk: what later passes over a dataset read in place of its files."""

from __future__ import annotations

import hashlib
import os
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.core import parallel
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphWarning, DataError, warn
from bayesgraph.core.evidence import arranged
from bayesgraph.core.files import temporary_folder
from bayesgraph.core.variables import CountVector, Discrete, Variable
from bayesgraph.tables.datasets import Dataset
from bayesgraph.tables.reading import arrow
from bayesgraph.tables.table import Table, assembled

# What returns a run of rows as an encoded table, and the weights of its rows (empty if all are 1).
Run: TypeAlias = Callable[[], tuple[Table, Floats]]

_VERSION = 2
_FILE = "encoded-rows.arrow"


class EncodedRows:
    """The encoded rows of a dataset on disk, which are written when they are first asked for.

    They are an Arrow file: each run of rows is a batch of state codes of the smallest integer type,
    numbers, counts and weights, with its checksum. A pass maps the file and copies the columns that
    it needs. It lies in a temporary folder that is removed with the object, at the end of the
    process at the latest; or in the folder that the user names, where it appears as a whole and
    says of which rows, variables and weights it is.

    Parameters
    ----------
    dataset : Dataset
        Its attribute `cache` is True or the path of a folder.
    variables : tuple of Variable
        All columns.
    described : object
        What else determines the encoded rows, with a `repr` of its own.
    read : callable
        Returns the runs of the dataset, encoded by given variables.

    Raises
    ------
    DataError
        If a folder is named and nothing tells whether the rows are the same again; if the file
        cannot be written.
    """

    def __init__(
        self,
        dataset: Dataset,
        variables: tuple[Variable, ...],
        described: Any,
        read: Callable[[Sequence[Variable]], Iterator[Run]],
    ) -> None:
        self._dataset, self._variables, self._read = dataset, variables, read
        self._place = None if dataset.cache is True else Path(os.fspath(dataset.cache))  # type: ignore[arg-type]
        if self._place is not None and dataset.state is None:
            raise DataError(
                f"cache= names a folder, and {dataset.source} does not tell whether its rows are "
                "the same in the next fit, as files do. Use cache=True."
            )
        own = [(type(v).__name__, v.__reduce__()) for v in variables]
        text = repr((_VERSION, dataset.state, str(dataset.schema), own, described, parallel.BLOCK))
        self._fingerprint = hashlib.sha256(text.encode()).hexdigest().encode()
        self._path: Path | None = None
        self._lengths: list[int] = []

    def runs(self, wanted: Sequence[Variable]) -> Iterator[Run]:
        """Yield what returns each run of rows, with the columns of some variables."""
        if self._path is None:
            self._path = self._there() or self._written()
        done, n_rows = 0, sum(self._lengths)
        for number, length in enumerate(self._lengths):
            done += length
            if self._dataset.progress is not None:
                self._dataset.progress(done, n_rows)
            yield partial(self._loaded, self._path, number, wanted)

    def _loaded(self, path: Path, number: int, wanted: Sequence[Variable]) -> tuple[Table, Floats]:
        try:
            with arrow().memory_map(str(path)) as file:
                batch = arrow(".ipc").open_file(file).get_batch(number)
                return self._table(batch, wanted)
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise DataError(
                f"The encoded rows in {path} were changed while they were read ({error}). Start "
                "again when nothing writes to them."
            ) from error

    def _table(self, batch: Any, wanted: Sequence[Variable]) -> tuple[Table, Floats]:
        """Return columns of a batch as a table, and the weights; without references to the file."""
        columns = [_plain(batch.column(str(self._variables.index(v))), v) for v in wanted]
        weights = batch.column("weights") if "weights" in batch.schema.names else []
        table = assembled(wanted, columns, batch.num_rows, fitting=False)
        counts = {v: np.array(matrix) for v, matrix in table.counts.items()}
        return replace(table, counts=counts), np.array(weights, dtype=np.float64)

    def _written(self) -> Path:
        """Write all rows to a temporary file, which is renamed if the user named a place."""
        self._lengths = []
        with ExitStack() as opened:
            try:
                if self._place is not None:
                    self._place.mkdir(parents=True, exist_ok=True)
                path = opened.enter_context(temporary_folder(self._place)) / _FILE
                writer = None
                for run in self._read(self._variables):
                    batch = _batch(*run())
                    if writer is None:
                        schema = batch.schema.with_metadata({"fingerprint": self._fingerprint})
                        new_file = arrow(".ipc").new_file(str(path), schema)
                        writer = opened.enter_context(new_file)
                    writer.write_batch(batch, custom_metadata={"checksum": _checksum(batch)})
                    self._lengths.append(batch.num_rows)
                if writer is not None:
                    writer.close()
                if self._place is not None:
                    return path.replace(self._place / _FILE)
            except OSError as error:
                raise DataError(
                    f"The encoded rows of {self._dataset.source} cannot be written: {error}. "
                    "cache= may name a folder on another disk."
                ) from error
            weakref.finalize(self, opened.pop_all().close)
            return path

    def _there(self) -> Path | None:
        """Return the file that is there already, None if it is not of these rows.

        Warns
        -----
        BayesGraphWarning
            If it is of others, or damaged.
        """
        if self._place is None or not (path := self._place / _FILE).exists():
            return None
        said = "is damaged"
        try:
            with arrow().memory_map(str(path)) as file:
                reader = arrow(".ipc").open_file(file)
                if reader.schema.metadata[b"fingerprint"] == self._fingerprint:
                    batches = map(
                        reader.get_batch_with_custom_metadata, range(reader.num_record_batches)
                    )
                    self._lengths = [self._checked(*batch) for batch in batches]
                    return path
                said = "is of other rows: the files, columns, states or weights were different"
        except (OSError, LookupError, ValueError, TypeError, AttributeError):
            pass
        warn(f"The cache {path} {said}. It is written anew.", BayesGraphWarning)
        return None

    def _checked(self, batch: Any, metadata: Any) -> int:
        """Return the number of rows of a batch with the bytes that were written, and states only.

        Raises
        ------
        ValueError
            If it is damaged.
        """
        table, _ = self._table(batch, self._variables)
        codes = zip(table.discrete, table.codes.T, strict=True)
        if metadata[b"checksum"] != _checksum(batch) or not all(
            c.min() >= -1 and c.max() < v.cardinality for v, c in codes
        ):
            raise ValueError
        return table.n_rows


def _checksum(batch: Any) -> bytes:
    return str(zlib.crc32(batch.serialize())).encode()


def _batch(table: Table, weights: Floats) -> Any:
    """Return a run of rows as a batch of Arrow."""
    columns = {str(i): _stored(table, v) for i, v in enumerate(table.variables)}
    if len(weights):
        columns["weights"] = arrow().array(weights)
    return arrow().RecordBatch.from_pydict(columns)


def _stored(table: Table, variable: Variable) -> Any:
    """Return a column as an Arrow array."""
    column = table.column(variable)
    if isinstance(variable, Discrete):
        return arrow().array(column.astype(arranged([variable]).code_type))
    if isinstance(variable, CountVector):
        flat = arrow().array(column.reshape(-1))
        return arrow().FixedSizeListArray.from_arrays(flat, len(variable.items))
    return arrow().array(np.ascontiguousarray(column))


def _plain(column: Any, variable: Variable) -> Any:
    """Return an Arrow array as the column that it was made of."""
    if isinstance(variable, CountVector):
        return column.flatten().to_numpy().reshape(-1, len(variable.items))
    return column.to_numpy()
