"""Encoded rows on disk: what later passes over a dataset read in place of its files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.core import parallel
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphWarning, DataError, warn
from bayesgraph.core.evidence import arranged
from bayesgraph.core.files import temporary_folder, write_text
from bayesgraph.core.variables import CountVector, Discrete, Variable
from bayesgraph.tables.datasets import Dataset, arrow
from bayesgraph.tables.table import Table, assembled

# What returns a run of rows as an encoded table, and the weights of its rows (empty if all are 1).
Run: TypeAlias = Callable[[], tuple[Table, Floats]]

_VERSION = 1
_INDEX = "encoded-rows.json"
_FOLDER = "encoded-rows-"


class _File(NamedTuple):
    """A file that holds a run: its number of rows, its bytes, and their checksum."""

    n_rows: int
    size: int
    checksum: int


class EncodedRows:
    """The encoded rows of a dataset on disk, which are written when they are first asked for.

    Each run of rows is a file of Arrow columns: state codes of the smallest integer type, numbers,
    counts, weights. A pass maps the files and copies the columns that it needs. They lie in a
    temporary folder that is removed with the object, at the end of the process at the latest; or in
    the folder that the user names, beside an index that is written last. The index says of which
    rows, variables and weights they are, and has a checksum of each file.

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
        If a folder is named and nothing tells whether the rows are the same again; if the files
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
        self._fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self._folder: Path | None = None
        self._files: list[_File] = []

    def runs(self, wanted: Sequence[Variable]) -> Iterator[Run]:
        """Yield what returns each run of rows, with the columns of some variables."""
        if self._folder is None:
            self._folder, self._files = self._found() or self._written()
        done, n_rows = 0, sum(file.n_rows for file in self._files)
        for number, file in enumerate(self._files):
            done += file.n_rows
            if self._dataset.progress is not None:
                self._dataset.progress(done, n_rows)
            yield partial(self._loaded, self._folder, number, wanted)

    def _loaded(
        self, folder: Path, number: int, wanted: Sequence[Variable]
    ) -> tuple[Table, Floats]:
        names = [str(self._variables.index(v)) for v in wanted]
        try:
            with arrow().memory_map(str(folder / _name(number))) as file:
                batch = arrow(".ipc").open_file(file).get_batch(0)
                columns = [_plain(batch.column(n), v) for n, v in zip(names, wanted, strict=True)]
                weights = (
                    batch.column("weights").to_numpy() if "weights" in batch.schema.names else []
                )
                table = assembled(wanted, columns, batch.num_rows, fitting=False)
                # Copied, since the file is not mapped any more when they are used.
                counts = {v: np.array(matrix) for v, matrix in table.counts.items()}
                return (
                    Table(table.variables, table.codes, table.values, table.complete, counts),
                    np.array(weights, dtype=np.float64),
                )
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise DataError(
                f"The encoded rows in {folder} were changed while they were read ({error}). Start "
                "again when nothing writes to them."
            ) from error

    def _written(self) -> tuple[Path, list[_File]]:
        """Write all rows to a new folder, and the index if the user named a place."""
        with self._writing():
            if self._place is not None:
                self._place.mkdir(parents=True, exist_ok=True)
            opened = ExitStack()
            folder = opened.enter_context(temporary_folder(self._place))
        remove = weakref.finalize(self, opened.close)
        files = []
        try:
            for number, run in enumerate(self._read(self._variables)):
                table, weights = run()
                with self._writing():
                    files.append(_write(folder / _name(number), table, weights))
            if self._place is not None:
                with self._writing():
                    folder = folder.rename(folder.with_name(_FOLDER + folder.name[1:]))
                    self._write_index(self._place, folder.name, files)
                remove()
        except BaseException:  # also if it is interrupted
            remove()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder, files

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say what could not be written if the disk is full, or may not be written to."""
        try:
            yield
        except OSError as error:
            raise DataError(
                f"The encoded rows of {self._dataset.source} cannot be written: {error}. cache= "
                "may name a folder on another disk."
            ) from error

    def _write_index(self, place: Path, folder: str, files: Sequence[_File]) -> None:
        """Replace the index as a whole, and remove the files of the one before."""
        before = _index(place)
        content = {"version": _VERSION, "fingerprint": self._fingerprint, "folder": folder}
        write_text(place / _INDEX, json.dumps(content | {"files": files}))
        if before is not None and before["folder"] != folder:
            shutil.rmtree(place / before["folder"], ignore_errors=True)

    def _found(self) -> tuple[Path, list[_File]] | None:
        """Return the folder and the files that are there already, None if they are not these rows.

        Warns
        -----
        BayesGraphWarning
            If there are others, or damaged ones.
        """
        if self._place is None or not (self._place / _INDEX).exists():
            return None
        index = _index(self._place)
        if index is not None and index["fingerprint"] != self._fingerprint:
            warn(
                f"The cache {self._place} is of other rows: the files, columns, states or weights "
                "were different. It is written anew.",
                BayesGraphWarning,
            )
            return None
        damaged = [_INDEX]
        if index is not None:
            folder = self._place / index["folder"]
            damaged = [
                _name(n) for n, f in enumerate(index["files"]) if not self._fits(folder, n, f)
            ]
            if not damaged:
                return folder, index["files"]
        warn(
            f"The cache {self._place} is damaged ({damaged[0]}). It is written anew.",
            BayesGraphWarning,
        )
        return None

    def _fits(self, folder: Path, number: int, file: _File) -> bool:
        """Return whether a file has the bytes that were written, and codes of states only."""
        try:
            if _checked(folder / _name(number)) != (file.size, file.checksum):
                return False
            table, weights = self._loaded(folder, number, self._variables)
        except (OSError, DataError):
            return False
        codes = zip(table.discrete, table.codes.T, strict=True)
        return (
            table.n_rows == file.n_rows
            and len(weights) in (0, file.n_rows)
            and all(c.min() >= -1 and c.max() < v.cardinality for v, c in codes)
        )


def _name(number: int) -> str:
    return f"{number}.arrow"


def _index(place: Path) -> dict[str, Any] | None:
    """Return the index of a folder, None if there is none or it is damaged."""
    try:
        content = json.loads((place / _INDEX).read_text(encoding="utf-8"))
        folder, version = content["folder"], content["version"]
        if version != _VERSION or Path(folder).name != folder or not folder.startswith(_FOLDER):
            return None
        files = [_File(*map(int, file)) for file in content["files"]]
        return {"fingerprint": content["fingerprint"], "folder": folder, "files": files}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _checked(path: Path) -> tuple[int, int]:
    """Return the number of bytes of a file, and their checksum."""
    size = checksum = 0
    with path.open("rb") as file:
        while part := file.read(1 << 22):
            size += len(part)
            checksum = zlib.crc32(part, checksum)
    return size, checksum


def _write(path: Path, table: Table, weights: Floats) -> _File:
    """Write a run of rows."""
    columns = {str(i): _stored(table, v) for i, v in enumerate(table.variables)}
    if len(weights):
        columns["weights"] = arrow().array(weights)
    batch = arrow().RecordBatch.from_pydict(columns)
    sink = arrow().BufferOutputStream()
    with arrow(".ipc").new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = sink.getvalue()
    path.write_bytes(content)
    return _File(table.n_rows, content.size, zlib.crc32(content))


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
