"""Reading and writing of files; a file is replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import secrets
import stat
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from bayesgraph.errors import FileFormatError

PathLike: TypeAlias = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"


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


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    try:
        return Path(path_text(path)).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "There is no such file; check the path", path_text(path)
        ) from None


def read_unzipped(path: PathLike) -> bytes:
    """Return the content of a file, decompressed if its first bytes are those of gzip.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the gzip file is truncated or altered.
    """
    data = read_bytes(path)
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(
            f"{path_text(path)}: the gzip file is truncated or altered ({error}); get it again."
        ) from error


@contextlib.contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield the path of a temporary file to write, which replaces the file at `path` at the end.

    The temporary file is in the same directory and has the same suffix. It replaces the old file in
    one step, after it has been flushed to disk. If anything fails before that, the old file is
    unchanged and the temporary file is removed. A file that is replaced keeps its permission bits,
    and a symbolic link keeps pointing to it.

    Raises
    ------
    FileNotFoundError
        If there is no such directory.
    PermissionError
        If the file may not be written.
    """
    target = Path(os.path.realpath(path_text(path)))
    _check_target(target)
    # A device or a pipe cannot be replaced: its content is written at the end.
    special = target.exists() and not target.is_file()
    directory = Path(tempfile.gettempdir()) if special else target.parent
    temporary = directory / f".bayesgraph-{secrets.token_hex(8)}{target.suffix}"
    # Unlike tempfile's 0600, this mode is subject to the umask, as that of any new file is.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield temporary
        if special:
            target.write_bytes(temporary.read_bytes())
            return
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(target.parent)


@contextlib.contextmanager
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
    if path_text(path).lower().endswith(".gz"):
        # Without the time in the header, the same text gives the same bytes.
        data = gzip.compress(data, mtime=0)
    write_bytes(path, data)


def _check_target(target: Path) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Expected the path of a file", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "There is no such directory; create it first", str(target.parent)
        )
    if target.exists() and not os.access(target, os.W_OK):
        # Replacing needs only the permission of the directory; that of the file is checked too.
        raise PermissionError(errno.EACCES, "The file is read-only", str(target))


def _sync_directory(directory: Path) -> None:
    """Flush a directory to disk, after a file was renamed in it, where the system supports it."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
