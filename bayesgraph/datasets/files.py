"""Files that must not change between the passes over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayesgraph.errors import DataError, FileFormatError, quoted


def check_unchanged(
    source: str, paths: Sequence[str], before: Sequence[Any], now: Sequence[Any]
) -> None:
    """Raise a DataError if size or time of a file is not what it was."""
    changed = [p for p, a, b in zip(paths, before, now, strict=True) if a != b]
    if changed:
        raise DataError(
            f"{quoted(changed)} changed while {source} was read, so that its passes would not be "
            "about the same rows. Start again when nothing writes to it."
        )


def state_of(filesystem: Any, paths: Sequence[str]) -> tuple[Any, ...]:
    """Return size and time of files of a filesystem of pyarrow."""
    return tuple((info.size, info.mtime_ns) for info in filesystem.get_file_info(list(paths)))


def unreadable(source: str, error: Exception) -> FileFormatError:
    """Return the error for files that pyarrow refuses."""
    return FileFormatError(f"{source} cannot be read: {str(error).splitlines()[0]:.300}")
