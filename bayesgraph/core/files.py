"""Reading and writing of files; a file is replaced as a whole or not at all."""

from __future__ import annotations

import codecs
import errno
import gc
import gzip
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import AnyStr, BinaryIO, TypeAlias

from bayesgraph.core.arrays import whole_number
from bayesgraph.core.errors import (
    BayesGraphError,
    FileFormatError,
    cause,
    quoted,
    suggestion,
)

# ----------- What reading a file may allocate, and the boundary at which its errors get their type
# A file that comes from elsewhere may declare sizes that no bytes in it confirm: the cells of a
# table, the states of a variable, what a gzip file inflates to, an array to which it refers a
# million times. Every such size is taken from the one `Budget` of the file before memory is
# allocated.


# What reading may allocate by default: so much for any file, and for each of its bytes.
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

    Attributes
    ----------
    source : str
    limit : int
    inflated : int
        Bytes to which compressed content may inflate.
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

    def error(self, line: int, message: str) -> FileFormatError:
        """Return an error whose message begins with the path and the line."""
        return FileFormatError(f"{self.source}, line {line}: {message}")

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
    # The garbage collector takes a third of the time of reading.
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    except (BayesGraphError, FileNotFoundError, IsADirectoryError, PermissionError, Warning):
        raise
    except Exception as error:
        raise FileFormatError(
            f"{source} cannot be read as {what}: {cause(error)}. Check that it is such a file, and "
            "get it again."
        ) from error
    finally:
        if collects:
            gc.enable()


# ----------------------- Reading and writing of files; a file is replaced as a whole or not at all


if sys.platform != "win32":
    import fcntl

PathLike: TypeAlias = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib's number for the largest window in a gzip file
_TEMPORARY = ".bayesgraph-"


def path_text(path: PathLike) -> str:
    """Return a path as text.

    Raises
    ------
    TypeError
        If it is not a path.
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"A path is a string or a pathlib.Path; got {path!r}.")
    return text


def suffix_among(path: PathLike, suffixes: Collection[str], what: str) -> str:
    """Return the suffix of a path in small letters, which must be one of several.

    Raises
    ------
    FileFormatError
        For another; the message says `what` is written, and the nearest suffix.
    """
    suffix = Path(path_text(path)).suffix.lower()
    if suffix not in suffixes:
        raise FileFormatError(
            f"{path_text(path)}: {what} is written to a file that ends in {quoted(suffixes)}; got "
            f"{suffix!r}.{suggestion(suffix, suffixes)}"
        )
    return suffix


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a regular file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    IsADirectoryError
        If it is a directory.
    FileFormatError
        If it is a pipe, a device, a socket or a loop of symbolic links.
    """
    text = path_text(path)
    mode = _mode(text)
    if mode is None:
        raise no_such_file(text)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Expected the path of a file", text)
    if not stat.S_ISREG(mode):
        # A pipe without a writer blocks for ever, and a device may have no end.
        raise FileFormatError(
            f"{text}: expected a regular file; got a pipe, a device or a socket. Copy what it "
            "gives to a file."
        )
    return Path(text).read_bytes()


def no_such_file(path: str) -> FileNotFoundError:
    """Return the error for a file that is not there."""
    return FileNotFoundError(errno.ENOENT, "There is no such file; check the path", path)


def _mode(path: str) -> int | None:
    """Return type and permissions of the file that a path leads to, None if there is none.

    Raises
    ------
    FileFormatError
        If the path is a loop of symbolic links.
    """
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise FileFormatError(
            f"{path}: expected the path of a file; got symbolic links that lead in a loop. Remove "
            "them."
        ) from None


def decoded(data: bytes, budget: Budget, encoding: str) -> str:
    """Return the text of a file of lines without a mark of Unicode at its start.

    Line breaks become line feeds.

    Parameters
    ----------
    data : bytes
    budget : Budget
        It has the path for messages.
    encoding : str
        A mark of UTF-16 at the start has precedence over it.

    Raises
    ------
    FileFormatError
        If its bytes are not of that encoding; the message has the line.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        return unix_lines(data.decode(encoding).removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise budget.error(
            unix_lines(data[: error.start]).count(b"\n") + 1,
            f"expected {encoding} text; got the byte {data[error.start]:#04x}. Name the "
            "encoding, such as encoding='latin-1'.",
        ) from error


def unix_lines(text: AnyStr) -> AnyStr:
    """Return a text whose lines end with line feeds, in whatever way they ended."""
    if isinstance(text, bytes):
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_unzipped(path: PathLike, limit: int | None = None) -> tuple[bytes, Budget]:
    """Return the content of a file, decompressed if it is gzipped, and what reading it may take.

    Parameters
    ----------
    path : str or path
    limit : int, optional
        Bytes that reading the file may allocate; see `Budget`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the gzip file is truncated or altered, or inflates beyond the limit.
    """
    data, source = read_bytes(path), path_text(path)
    budget = Budget(source, len(data), limit)
    if not data.startswith(_GZIP_MAGIC):
        return data, budget
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            # One byte more tells whether there are too many.
            content = stream.read(budget.inflated + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(
            f"{source}: the gzip file is truncated or altered ({error}); get it again."
        ) from error
    if len(content) > budget.inflated:
        raise FileFormatError(
            f"{source}: the gzip file of {len(data):,} bytes inflates to more than "
            f"{budget.inflated:,}. If you trust the file, allow more by limit=, in bytes."
        )
    budget.take(len(content), "the inflated content")
    return content, budget


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield the path of a temporary file to write, which replaces the file at `path` at the end.

    The temporary file is in the same directory and has the same suffix. It replaces the old file in
    one step, after it has been flushed to disk. If anything fails before that, the old file is
    unchanged and the temporary file is removed; what a killed process left behind is removed by the
    next save to the directory. A file that is replaced keeps its permission bits, which the
    temporary file has from its first byte, and a symbolic link keeps pointing to it. A hard link
    keeps the old content.

    Raises
    ------
    FileNotFoundError
        If there is no such directory.
    IsADirectoryError
        If the path is that of a directory.
    PermissionError
        If the file may not be written.
    FileFormatError
        If the path is a loop of symbolic links.
    """
    mode = _mode(path_text(path))
    target = Path(os.path.realpath(path_text(path)))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Expected the path of a file", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "There is no such directory; create it first", str(target.parent)
        )
    if target.exists() and not os.access(target, os.W_OK):
        # Replacing needs only the permission of the directory; that of the file is checked too.
        raise PermissionError(errno.EACCES, "The file is read-only", str(target))
    # A device or a pipe cannot be replaced: its content is written at the end.
    special = mode is not None and not stat.S_ISREG(mode)
    directory = Path(tempfile.gettempdir()) if special else target.parent
    _remove_abandoned(directory)
    try:
        with _temporary(directory, target.suffix, 0o600 if special else mode) as temporary:
            yield temporary
            if special:
                target.write_bytes(temporary.read_bytes())
                return
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            temporary.replace(target)
    except OSError as error:
        # An error of the system, such as a full disk, may name no file.
        if error.errno is not None and error.filename is None:
            error.filename = str(target)
        raise
    _sync_directory(target.parent)


@contextmanager
def _temporary(directory: Path, suffix: str, mode: int | None) -> Iterator[Path]:
    """Yield the path of a new file with a mode (by default that of any new file), then remove it.

    It is locked as long as it is in use, so that other processes do not take it for abandoned.
    """
    # Again if another process removed the file as abandoned before it was locked.
    while True:
        path = directory / f"{_TEMPORARY}{secrets.token_hex(8)}{suffix}"
        permissions = 0o666 if mode is None else stat.S_IMODE(mode)
        # With O_EXCL no file that others prepared is written; the umask applies to new files.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, permissions)
        try:
            if sys.platform == "win32":
                os.close(descriptor)  # an open file could not be renamed
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if mode is not None:
                    os.fchmod(descriptor, permissions)
            if not path.exists():
                continue  # removed as abandoned before it was locked
            yield path
            return
        finally:
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)  # see `temporary_folder`
            path.unlink(missing_ok=True)
            if sys.platform != "win32":
                os.close(descriptor)


@contextmanager
def temporary_folder(directory: Path | None = None) -> Iterator[Path]:
    """Yield a new folder that only this user reads, and remove it unless it was renamed.

    A locked file beside it tells that it is in use. What killed processes left in the directory, by
    default that of temporary files, is removed first.
    """
    place = directory or Path(tempfile.gettempdir())
    _remove_abandoned(place)
    with _temporary(place, ".lock", 0o600) as lock:
        folder = lock.with_suffix("")
        folder.mkdir(mode=0o700)
        yield folder


def _remove_abandoned(directory: Path) -> None:
    """Remove the temporary files and folders of killed processes: those that nobody has locked."""
    if sys.platform == "win32":
        return
    for path in directory.glob(f"{_TEMPORARY}{'[0-9a-f]' * 16}*"):
        # Locking raises an OSError where another process uses the file.
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink()
            finally:
                os.close(descriptor)


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Yield a stream to write; its content replaces the file at the end, see `atomic_path`."""
    with atomic_path(path) as temporary, temporary.open("w+b") as stream:
        yield stream


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file as a whole or not at all; see `atomic_path`."""
    with replacing(path) as stream:
        stream.write(data)


def write_text(path: PathLike, text: str) -> None:
    """Write a text as a whole or not at all, gzipped if the path ends in ``.gz``."""
    data = text.encode()
    write_bytes(path, _zipped(data) if path_text(path).lower().endswith(".gz") else data)


def _zipped(data: bytes) -> bytes:
    """Return bytes as a gzip file that inflates no more than readers allow."""
    # Without the time in the header, the same text gives the same bytes.
    packed = gzip.compress(data, mtime=0)
    if len(data) <= inflation_limit(len(packed)):
        return packed
    # Text that repeats itself: Huffman codes alone inflate at most eight times.
    coder = zlib.compressobj(9, zlib.DEFLATED, _GZIP_WINDOW, strategy=zlib.Z_HUFFMAN_ONLY)
    return coder.compress(data) + coder.flush()


def _sync_directory(directory: Path) -> None:
    """Flush a directory to disk, after a file was renamed in it, where the system supports it."""
    if os.name != "posix":
        return
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# --------- What a file, or an object of another library, does not hold of the model it was made of


@dataclass(frozen=True)
class LossReport:
    """What became of a model that was written to a file, or became one of another library.

    Attributes
    ----------
    format : str
        Name of the format.
    restored : tuple of str
        What other programs read in another form, such as names of other spelling. The file or
        object has a table from which bayesgraph restores it exactly.
    lost : tuple of str
        What the file does not have, or has in another form for good.
    skipped : tuple of str
        What was not read from the file that the model is from, if somebody listened to its reader:
        see :func:`bayesgraph.files.exporting.skipped_in_reading`.

    Examples
    --------
    >>> LossReport("BIF", ("the states 0, 1 of 'x' are written as '0', '1'",))
    Written as BIF.
    Other programs read what follows in another form; bayesgraph restores it exactly:
      the states 0, 1 of 'x' are written as '0', '1'
    Nothing is lost.
    """

    format: str
    restored: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is anything to report."""
        return bool(self.restored or self.lost or self.skipped)

    def __str__(self) -> str:
        lines = [f"Written as {self.format}."]
        if self.restored:
            lines += [
                "Other programs read what follows in another form; bayesgraph restores it exactly:",
                *(f"  {item}" for item in self.restored),
            ]
        lost = {"Not read, and therefore lost:": self.skipped, "Lost:": self.lost}
        for title, items in lost.items():
            lines += [title, *(f"  {item}" for item in items)] if items else []
        return "\n".join([*lines, *([] if any(lost.values()) else ["Nothing is lost."])])

    __repr__ = __str__
