"""Files elsewhere: objects in stores of S3, Google and Azure, by the file systems of pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from bayesgraph.datasets.dataset import arrow
from bayesgraph.datasets.files import PARQUET, is_data, is_hidden, unreadable
from bayesgraph.errors import DataTypeError, FileFormatError, quoted


def is_uri(text: str) -> bool:
    """Return whether a text names an object, rather than a path on this machine."""
    return "://" in text


def without_options(uri: str) -> str:
    """Return a URI without what may be secret: options, and the name and key of a user."""
    return re.sub("://[^/]*@", "://", uri.partition("?")[0])


def objects_of(uris: Sequence[str], source: str) -> Any:
    """Return the Parquet objects that URIs, folders and globs name as a dataset of pyarrow.

    Parameters
    ----------
    uris : sequence of str
        All of one store, with the same options.
    source : str
        Name of all of them for messages.

    Raises
    ------
    DataTypeError
        If some are paths, or of another store.
    FileFormatError
        If some are no Parquet files, or cannot be read.
    FileNotFoundError
        If there is no such object.
    """
    filesystem, paths = _opened(uris)
    try:
        found = [file for path in paths for file in _objects(filesystem, path)]
        if not found:
            raise FileNotFoundError(f"There is no Parquet file {source}.")
        other = [file for file in found if not file.lower().endswith(PARQUET)]
        if other:
            raise FileFormatError(
                f"Elsewhere than on this machine, files are Parquet files, {quoted(PARQUET)}; got "
                f"{quoted(other[:3])}."
            )
        return arrow(".dataset").dataset(found, filesystem=filesystem, format="parquet")
    except arrow().ArrowInvalid as error:
        raise unreadable(source, error) from error


def _opened(uris: Sequence[str]) -> tuple[Any, list[str]]:
    """Return the file system of URIs, and the path of each in it."""
    opened = []
    for uri in uris:
        if not is_uri(uri):
            raise DataTypeError(f"Expected URIs of one store; got the path {uri!r} among them.")
        try:
            opened.append(arrow(".fs").FileSystem.from_uri(uri))
        except arrow().ArrowInvalid as error:
            raise unreadable(without_options(uri), error) from error
    filesystem = opened[0][0]
    for uri, (other, _) in zip(uris, opened, strict=True):
        if other != filesystem:
            raise DataTypeError(
                f"Expected URIs of one store with the same options; {without_options(uri)!r} has "
                f"others than {without_options(uris[0])!r}."
            )
    return filesystem, [path for _, path in opened]


def _objects(filesystem: Any, path: str) -> Iterator[str]:
    """Yield the objects that a path, a folder or a glob names, in order."""
    files = arrow(".fs")
    parts = path.split("/")
    wild = next((i for i, part in enumerate(parts) if "*" in part), None)
    if wild is None and filesystem.get_file_info(path).type == files.FileType.File:
        yield path
        return
    base = "/".join(parts[:wild]).rstrip("/")
    selector = files.FileSelector(base, allow_not_found=True, recursive=True)
    chosen = re.compile(_pattern(parts)) if wild is not None else None
    for info in sorted(filesystem.get_file_info(selector), key=lambda info: info.path):
        if info.type != files.FileType.File:
            continue
        if chosen is None:
            if is_data(PurePosixPath(info.path[len(base) + 1 :])):
                yield info.path
        elif chosen.fullmatch(info.path) and not is_hidden(PurePosixPath(info.path).name):
            yield info.path


def _pattern(parts: Sequence[str]) -> str:
    """Return the regular expression of a glob, given its parts; ** is any number of folders."""
    *folders, name = parts
    inside = ("(?:[^/]+/)*" if part == "**" else f"{_within(part)}/" for part in folders)
    return "".join(inside) + _within(name)


def _within(part: str) -> str:
    return "[^/]*".join(map(re.escape, part.split("*")))
