"""Files: one module a format, chosen by the suffix.

A format is one entry of a table: its suffix and where its reader and its writer live. The module of
a format is imported when it is first used, so that optional dependencies remain optional.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from typing import Any

from bayesgraph.errors import FileFormatError, quoted, suggestion
from bayesgraph.io.files import PathLike, path_text


@dataclass(frozen=True)
class FileFormat:
    """A file format.

    Attributes
    ----------
    name : str
        For messages.
    reader, writer : str or None
        ``"module:function"``. The reader is called with ``(path, **options)`` and the writer with
        ``(model, path, **options)``; None if the format is not read or not written.
    """

    name: str
    reader: str | None
    writer: str | None


_BIF = FileFormat("BIF", "bayesgraph.io.bif:read_bif", "bayesgraph.io.bif:write_bif")
_UAI = FileFormat("UAI", "bayesgraph.io.uai:read_uai", "bayesgraph.io.uai:write_uai")
_PICTURE = FileFormat("a picture", None, "bayesgraph.plots.rendering:render")

FORMATS: dict[str, FileFormat] = {
    ".bayesgraph": FileFormat(
        "the native format", "bayesgraph.io.native:load", "bayesgraph.io.native:save"
    ),
    ".bif": _BIF,
    ".bif.gz": _BIF,
    ".uai": _UAI,
    ".uai.gz": _UAI,
    ".dot": FileFormat("DOT", None, "bayesgraph.io.text:write_dot"),
    ".gv": FileFormat("DOT", None, "bayesgraph.io.text:write_dot"),
    ".svg": _PICTURE,
    ".png": _PICTURE,
    ".pdf": _PICTURE,
}


def register_format(suffix: str, file_format: FileFormat) -> None:
    """Add a format, or replace the one of a suffix.

    Parameters
    ----------
    suffix : str
        With its dot; it may have several parts, as ``.bif.gz`` has.
    file_format : FileFormat

    Raises
    ------
    ValueError
        For a suffix without a dot.
    """
    if not suffix.startswith("."):
        raise ValueError(f"A suffix starts with a dot, such as '.bif'; got {suffix!r}.")
    FORMATS[suffix.lower()] = file_format


def read(path: PathLike, **options: Any) -> Any:
    """Read a model from a file whose suffix tells the format.

    Parameters
    ----------
    path : str or path
        ``.bif`` and ``.bif.gz`` (see :func:`bayesgraph.io.bif.read_bif`), ``.uai`` and ``.uai.gz``
        (see :func:`bayesgraph.io.uai.read_uai`) or ``.bayesgraph`` (see
        :func:`bayesgraph.io.native.load`).
    **options
        For the reader of the format, such as ``normalize=False`` for BIF.

    Returns
    -------
    BayesianNetwork
        From ``.uai`` and ``.uai.gz``: a FactorGraph if the file says ``MARKOV``. From
        ``.bayesgraph``: whatever was saved.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        For a suffix that is not known or not read, and for a file that is damaged.
    """
    file_format = _format_of(path)
    if file_format.reader is None:
        readable = [suffix for suffix, known in FORMATS.items() if known.reader]
        raise FileFormatError(
            f"{path_text(path)}: {file_format.name} can be written but not read. Files that can be "
            f"read end in {quoted(readable)}."
        )
    return pkgutil.resolve_name(file_format.reader)(path, **options)


def write(model: Any, path: PathLike, **options: Any) -> None:
    """Write a model to a file whose suffix tells the format.

    Parameters
    ----------
    model : BayesianNetwork or FactorGraph
    path : str or path
        ``.bayesgraph``, ``.bif``, ``.bif.gz``, ``.uai``, ``.uai.gz`` or ``.dot``; ``.svg``,
        ``.png`` and ``.pdf`` draw the graph.
    **options
        For the writer of the format, such as ``strict=False`` for BIF.

    Raises
    ------
    FileFormatError
        For a suffix that is not known.
    LossyExportError
        If the format cannot hold the model; the message lists what it cannot hold.
    """
    file_format = _format_of(path)
    if file_format.writer is None:
        writable = [suffix for suffix, known in FORMATS.items() if known.writer]
        raise FileFormatError(
            f"{path_text(path)}: {file_format.name} can be read but not written. Files that can be "
            f"written end in {quoted(writable)}."
        )
    pkgutil.resolve_name(file_format.writer)(model, path, **options)


def _format_of(path: PathLike) -> FileFormat:
    name = path_text(path).lower()
    # The longest suffix first: .bif.gz before a .gz that somebody may register.
    for suffix in sorted(FORMATS, key=len, reverse=True):
        if name.endswith(suffix):
            return FORMATS[suffix]
    ending = "." + name.rpartition(".")[2]
    raise FileFormatError(
        f"{path_text(path)}: the suffix tells the format, and this one is not known."
        f"{suggestion(ending, FORMATS)} Known are {quoted(FORMATS)}."
    )


__all__ = [
    "FORMATS",
    "FileFormat",
    "read",
    "register_format",
    "write",
]
