"""The text of CSV files: its encoding, its comment lines and what separates its fields."""

from __future__ import annotations

import codecs
import re

from bayesgraph.errors import DataError, FileFormatError, quoted

_DELIMITERS = ",;\t|"
# How many bytes and lines at the beginning of a file decide on the delimiter.
_SAMPLE_BYTES = 1 << 20
_SAMPLE_LINES = 100
# The four bytes of UTF-32 begin with the two of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A quote opens a field only where a field begins: 6" is six inches. Whatever the text, no byte is
# looked at more than twice: the quantifiers are possessive, and an open quote ends with the text.
_QUOTED = rb'(?<![^,;\t|\r\n])"(?:[^"]++|"")*+(?:"|\Z)'
_QUOTED_FIELD = re.compile(_QUOTED)
_HEADER = re.compile(rb'(?:[^"\r\n]++|' + _QUOTED + rb'|")*+')


def as_utf8(data: bytes, encoding: str | None, source: str) -> bytes:
    """Return text in UTF-8 without byte order mark.

    Parameters
    ----------
    data : bytes
    encoding : str or None
        One of Python's text encodings; None for that of the byte order mark, or else UTF-8.
    source : str
        Name of the file in messages.

    Raises
    ------
    DataError
        If there is no such encoding.
    FileFormatError
        If the bytes are not of the encoding.
    """
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    name = marked if encoding is None else encoding
    try:
        text = data.decode(name)
    except LookupError as error:
        raise DataError(
            f"encoding= (--encoding) is a name such as 'utf-8', 'latin-1' or 'utf-16'; "
            f"got {encoding!r}."
        ) from error
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, at) + 1
        raise FileFormatError(
            f"{source}, line {line}: the byte 0x{data[at]:02x} is not text in {name}; give the "
            "encoding of the file, such as encoding='latin-1' or 'utf-16' (--encoding)."
        ) from error
    if "\0" in text:
        raise FileFormatError(
            f"{source}: a table of text holds no zero bytes; if it is in UTF-16, give "
            "encoding='utf-16-le' or 'utf-16-be' (--encoding)."
        )
    return data if name == "utf-8" else text.removeprefix("\ufeff").encode()


def without_comments(text: bytes, comment: str) -> bytes:
    """Return a text without the lines that begin with `comment` and are not within quotes."""
    start = re.escape(comment.encode())
    lines = re.compile(b"(" + _QUOTED + rb")|(?<![^\r\n])" + start + rb"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
    return lines.sub(lambda found: found[1] or b"", text)


def header_of(text: bytes) -> bytes:
    """Return the first line that is not empty, with line ends that stand within quotes."""
    begin = len(text) - len(text.lstrip(b"\r\n"))
    found = _HEADER.match(text, begin)
    return found[0] if found else b""


def n_fields(line: bytes, delimiter: str) -> int:
    """Return the number of fields of a line, given with what it has within quotes."""
    return _QUOTED_FIELD.sub(b"", line).count(delimiter.encode()) + 1


def sniffed_delimiter(text: bytes, source: str, *, decimal: str | None) -> str:
    """Return what separates the fields, decided by the first lines.

    It is the one of comma, semicolon, tab and bar that is in the header, outside of quotes, and
    equally often in every line. If none is, the table is ragged, and it is the one of which that
    is true of most lines; a table without any of them has one column.

    Raises
    ------
    FileFormatError
        If it is true of several.
    """
    sample = _QUOTED_FIELD.sub(b"", text[:_SAMPLE_BYTES])
    lines = [line for line in re.split(rb"[\r\n]+", sample) if line]
    if len(text) > _SAMPLE_BYTES:
        lines = lines[:-1] or lines  # the last one is cut off
    lines = lines[:_SAMPLE_LINES]
    shares = {}
    for delimiter in _DELIMITERS:
        counts = [line.count(delimiter.encode()) for line in lines]
        if delimiter != decimal and counts and counts[0]:
            shares[delimiter] = counts.count(counts[0]) / len(counts)
    consistent = [delimiter for delimiter, share in shares.items() if share == 1]
    if len(consistent) > 1:
        raise FileFormatError(
            f"{source}: the fields may be separated by any of {quoted(consistent)}; say which "
            "with delimiter= (--delimiter)."
        )
    return max(shares, key=lambda delimiter: shares[delimiter], default=",")
