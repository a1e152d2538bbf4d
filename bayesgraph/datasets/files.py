"""Files: which of a folder hold rows, and that they do not change between passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from bayesgraph.errors import DataError, FileFormatError, quoted

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".tsv")
CODECS = ("", ".gz", ".zst")


def is_data(path: PurePath) -> bool:
    """Return whether a file, by its path inside of a folder, holds rows."""
    endings = (*PARQUET, *(s + c for s in CSV for c in CODECS))
    return not any(map(is_hidden, path.parts)) and path.name.lower().endswith(endings)


def is_hidden(name: str) -> bool:
    """Return whether other programs keep logs, statistics or unfinished files under a name."""
    return name.startswith((".", "_"))


def kind_of(file: str) -> str:
    """Return the suffix of a file without that of its compression, such as "csv"."""
    name = file.lower()
    for codec in CODECS[1:]:
        name = name.removesuffix(codec)
    return name.rpartition(".")[2]


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
