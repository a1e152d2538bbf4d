"""What reading a file may allocate, and the boundary at which its errors get their type.

A file that comes from elsewhere may declare sizes that no bytes in it confirm: the cells of a
table, the states of a variable, what a gzip file inflates to, an array to which it refers a million
times. Every such size is taken from the one `Budget` of the file before memory is allocated.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from bayesgraph.checks import whole_number
from bayesgraph.errors import BayesGraphError, FileFormatError, cause

_FREE = 64 << 20
_PER_BYTE = 40
# A gzip file inflates at most so many times, tiny files of repetitive text excepted.
_INFLATION = 100
_FREE_INFLATION = 1 << 20
# NumPy arrays have at most 64 axes, and a factor uses one of them for the rows of a batch.
MAX_AXES = 63
# A cell of a table while it is read: a float, its copy and what checks need.
BYTES_OF_CELL = 24
# A state of a variable: the value, and its entries in the tables from state to code.
BYTES_OF_STATE = 270


class Budget:
    """The bytes that reading one file may allocate.

    Parameters
    ----------
    source : str
        Path for messages.
    size : int
        Bytes of the file.
    limit : int, optional
        Bytes that may be allocated; by default 64 MB and 40 times the file's bytes.
    """

    def __init__(self, source: str, size: int, limit: int | None = None) -> None:
        if limit is not None:
            whole_number("limit=", "bytes", limit, 1)
        self.source = source
        self.limit = _FREE + _PER_BYTE * size if limit is None else limit
        self.inflated = inflation_limit(size) if limit is None else limit
        self._taken = 0

    def take(self, nbytes: int, what: str) -> None:
        """Take bytes for `what`.

        Raises
        ------
        FileFormatError
            If they are more than are left.
        """
        self._taken += nbytes
        if self._taken > self.limit:
            raise self.refusal(what, nbytes, self.limit)

    def refusal(self, what: str, nbytes: int, limit: int) -> FileFormatError:
        """Return the error for something that takes more bytes than the limit allows."""
        return FileFormatError(
            f"{self.source}: {what} would take {nbytes:,} bytes; reading this file may take "
            f"{limit:,} in all. If you trust the file, allow more by limit=, in bytes."
        )


def inflation_limit(size: int) -> int:
    """Return the bytes to which a gzip file of `size` bytes may inflate."""
    return min(max(_FREE_INFLATION, _INFLATION * size), _FREE + _PER_BYTE * size)


@contextmanager
def reading(source: str, what: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into a FileFormatError that names the file and the cause.

    Errors of bayesgraph stay, and so do those of a path that cannot be opened, and warnings that
    the user has turned into errors.

    Parameters
    ----------
    source : str
        Path for messages.
    what : str
        What the file is read as, such as "BIF".
    """
    try:
        with _without_garbage_collection():
            yield
    except (BayesGraphError, FileNotFoundError, IsADirectoryError, PermissionError, Warning):
        raise
    except Exception as error:
        raise FileFormatError(
            f"{source} cannot be read as {what}: {cause(error)}. Check that it is such a file, and "
            "get it again."
        ) from error


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector, which takes a third of the time of reading.

    A model is many small objects without reference cycles, so that nothing is there to collect.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
