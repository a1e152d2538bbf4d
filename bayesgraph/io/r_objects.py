"""Objects in files that R's ``saveRDS`` and ``save`` write, as plain vectors, lists and texts.

The bytes are parsed by the package rdata: ``pip install 'bayesgraph[r]'``. Nothing in a file is
executed: functions and expressions are skipped as data, and compiled ones refused. The layout of
the files is that of section 1.8, "Serialization Formats", of the manual "R Internals".
"""

from __future__ import annotations

import bz2
import lzma
import os
import struct
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesgraph.errors import FileFormatError
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.budget import Budget
from bayesgraph.io.files import PathLike, read_unzipped
from bayesgraph.optional import optional_module

_BZIP2, _XZ = b"BZh", b"\xfd7zXZ\x00"
# What an xz file may ask for its dictionary; R writes 8 MB at most.
_XZ_MEMORY = 64 << 20
# What an object takes while it is parsed and converted, without its numbers and texts.
_BYTES_OF_OBJECT = 900
# Of a range such as 1:3, of which a file has only the ends; longer ones number rows of data.
_LONGEST_RANGE = 10_000
_COPIES_OF_NUMBERS = 3
_HEADS = (b"RDX2\n", b"RDX3\n")  # of files with several objects, before the format
_XDR = b"X\n"
_OTHER_FORMATS = (b"A\n", b"A\r\n", b"B\n", b"RDA2\n", b"RDA3\n", b"RDB2\n", b"RDB3\n")
_INTEGER = struct.Struct(">i")
# Flags of NULL, the type of a text in their last byte, and in the byte before the marks of a class,
# of attributes and of a tag.
_NULL, _CHAR, _MARKS = b"\x00\x00\x00\xfe", b"\x09", 0b111
_BYTES_FLAG, _LATIN1_FLAG, _UTF8_FLAG = 1 << 1, 1 << 2, 1 << 3


@dataclass(frozen=True, eq=False)
class RObject:
    """A value of R.

    Attributes
    ----------
    kind : {"list", "text", "numbers", "other"}
    values : sequence of RObject, sequence of str or None, or ndarray
        By the kind: items, texts (None for ``NA``), or numbers (NaN for ``NA``); empty for others.
    attributes : mapping from str to RObject
    """

    kind: str
    values: Any = ()
    attributes: Mapping[str, RObject] = field(default_factory=dict)

    @property
    def names(self) -> list[str | None] | None:
        """The names of the items, if they have some."""
        names = self.attributes.get("names")
        return list(names.values) if names is not None and names.kind == "text" else None

    @property
    def classes(self) -> tuple[str, ...]:
        """The values of the attribute ``class``."""
        found = self.attributes.get("class")
        texts = found.values if found is not None and found.kind == "text" else ()
        return tuple(text for text in texts if text is not None)

    def fields(self) -> dict[str, RObject]:
        """Return the items of a list by their names; of equal names, the first one."""
        found: dict[str, RObject] = {}
        if self.kind == "list":
            for name, item in zip(self.names or (), self.values, strict=False):
                if name is not None:
                    found.setdefault(name, item)
        return found


_NOTHING = RObject("other")


def read_objects(path: PathLike, limit: int | None = None) -> dict[str | None, RObject]:
    """Return the objects of a file by their names.

    A file of ``saveRDS`` has one object without a name (None), one of ``save`` has several.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If it is no such file, is truncated, or beyond the limit.
    MissingDependencyError
        If rdata is not installed.
    """
    data, budget = read_unzipped(path, limit)
    data = _inflated(data, budget)
    head = next((head for head in _HEADS if data.startswith(head)), b"")
    if not data.startswith(_XDR, len(head)):
        raise FileFormatError(
            f"{budget.source}: {_no_binary(data)} Write it in R by saveRDS(fit, file) or "
            "save(fit, file=...), without ascii=."
        )
    root = _parsed(memoryview(data)[len(head) + len(_XDR) :], budget)
    if not head:
        return {None: _converted(root, budget)}
    return {name: _converted(item, budget) for name, item in _pairs(root)}


def _no_binary(data: bytes) -> str:
    if data.startswith(_OTHER_FORMATS):
        return "expected R's binary format in network byte order; got its text or native format."
    return f"expected a file that R saved; got one that begins with {data[:8]!r}."


def _inflated(data: bytes, budget: Budget) -> bytes:
    """Return the content of a file that is compressed by bzip2 or xz."""
    if data.startswith(_BZIP2):
        packed: Any = bz2.BZ2Decompressor()
    elif data.startswith(_XZ):
        packed = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    else:
        return data
    content: bytes = packed.decompress(data, budget.inflated + 1)
    if len(content) > budget.inflated:
        raise budget.refusal("the inflated content", len(content), budget.inflated)
    if not packed.eof:
        raise FileFormatError(f"{budget.source}: the compressed file is truncated; get it again.")
    budget.take(len(content), "the inflated content")
    return content


def _parsed(data: memoryview, budget: Budget) -> Any:
    """Return the root of the tree of rdata's objects, charging the budget for each of them.

    rdata's parser believes the lengths in a file. Each array, and the tables of compiled code, is
    made by a method that is replaced here.
    """
    module = optional_module("rdata.parser._xdr", extra="r", what="Reading files of R")
    base: Any = module.ParserXDR

    leaves = _Leaves(base.parse_R_object, budget.source)

    def parse_object(self: Any, *args: Any, **kwargs: Any) -> Any:
        budget.take(_BYTES_OF_OBJECT, "its objects")
        return leaves.parsed(self, *args, **kwargs)

    def parse_integer(self: Any) -> int:
        # An array for each of them takes a third of the time of a file of small objects.
        word = self.file.read(_INTEGER.size)
        if len(word) < _INTEGER.size:
            raise _truncated(budget, 1)
        number: int = _INTEGER.unpack(word)[0]
        return number

    def parse_numbers(self: Any, dtype: Any, length: int) -> Any:
        nbytes = length * np.dtype(dtype).itemsize
        if not 0 <= nbytes <= len(data) - self.file.tell():
            raise _truncated(budget, length)
        if length > 1:
            budget.take(_COPIES_OF_NUMBERS * nbytes, "its numbers")
        return base._parse_array_values(self, dtype, length)

    def parse_text(self: Any, length: int) -> Any:
        if length > len(data) - self.file.tell():
            raise FileFormatError(f"{budget.source} ends within a text; get it again.")
        budget.take(_COPIES_OF_NUMBERS * length, "its texts")
        return base.parse_string(self, length)

    def parse_code(self: Any, *args: Any) -> Any:
        raise FileFormatError(
            f"{budget.source} has compiled R code, which is not read. Save the fit without "
            "functions."
        )

    methods: dict[str, Callable[..., Any]] = {
        "parse_R_object": parse_object,
        "parse_int": parse_integer,
        "_parse_array_values": parse_numbers,
        "parse_string": parse_text,
        "_parse_bytecode": parse_code,
    }
    # An alternative representation such as 1:1000000000 stays what it is: one object.
    parser = type("_ChargedParser", (base,), methods)(
        data, expand_altrep=False, altrep_constructor_dict={}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rdata warns of tags that it skips
        return parser.parse_all().object


class _Leaves:
    """Parses NULL and texts without attributes, which most objects are, at once.

    rdata asks some thirty questions about the type of each object. The first object with the same
    flags went through them, and answers for the others.
    """

    def __init__(self, parse: Callable[..., Any], source: str) -> None:
        self._parse, self._source = parse, source
        self._known: dict[bytes, Any] = {}

    def parsed(self, parser: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the next object of rdata's parser."""
        word = parser.file.read(_INTEGER.size)
        first = self._known.get(word)
        if first is not None:
            return first if word == _NULL else self._text(parser, first)
        parser.file.seek(-len(word), os.SEEK_CUR)
        found = self._parse(parser, *args, **kwargs)
        if word == _NULL or (word[-1:] == _CHAR and not word[-2] & _MARKS):
            self._known[word] = found
        return found

    def _text(self, parser: Any, first: Any) -> Any:
        length = parser.parse_int()
        if length < -1:
            raise FileFormatError(f"{self._source} has a text of {length} bytes; get it again.")
        value = None if length == -1 else parser.parse_string(length)
        return replace(first, value=value)


def _truncated(budget: Budget, n_numbers: int) -> FileFormatError:
    return FileFormatError(
        f"{budget.source}: expected {n_numbers:,} more numbers; the file ends before. It may be "
        "truncated; get it again."
    )


def _kind(item: Any) -> str:
    kind: str = item.info.type.name
    return kind


def _pairs(item: Any) -> list[tuple[str, Any]]:
    """Return the tags and values of a pairlist."""
    found = []
    while _kind(item) == "LIST":
        value, rest = item.value
        if item.tag is not None:
            found.append((_symbol(item.tag), value))
        item = rest
    return found


def _symbol(tag: Any) -> str:
    symbol = tag.referenced_object if _kind(tag) == "REF" else tag
    return _text(symbol.value) or "" if _kind(symbol) == "SYM" else ""


def _text(item: Any) -> str | None:
    """Return the text of a CHARSXP, whose flags name the encoding; None for NA."""
    if _kind(item) != "CHAR" or item.value is None:
        return None
    given: bytes = item.value
    if item.info.gp & (_LATIN1_FLAG | _BYTES_FLAG):
        return given.decode("latin-1")
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError:
        if item.info.gp & _UTF8_FLAG:
            raise
        return given.decode("latin-1")  # of a session in another encoding, which is not named


def _converted(item: Any, budget: Budget) -> RObject:
    kind = _kind(item)
    attributes: dict[str, RObject] = {}
    if item.attributes is not None:
        attributes = {name: _converted(value, budget) for name, value in _pairs(item.attributes)}
    if kind == "ALTREP":
        return _expanded(item, budget)
    if kind == "VEC":
        return RObject("list", [_converted(entry, budget) for entry in item.value], attributes)
    if kind == "STR":
        return RObject("text", [_text(entry) for entry in item.value], attributes)
    if kind == "REAL":
        return RObject("numbers", np.asarray(item.value, dtype=np.float64), attributes)
    if kind == "INT":
        values = np.ma.filled(np.ma.asarray(item.value, dtype=np.float64), np.nan)
        return RObject("numbers", values, attributes)
    return _NOTHING


def _expanded(item: Any, budget: Budget) -> RObject:
    """Return a vector that R has stored in another way (ALTREP): wrapped, or as a range.

    A wrapped vector is a list of the vector and of flags that say whether it is sorted. Numbers as
    texts are a pairlist of the numbers, and a range is a vector of length, start and step.
    """
    info, state, extra = item.value
    name = _symbol(info.value[0])
    own = {key: _converted(value, budget) for key, value in _pairs(extra)}
    if name.startswith("wrap_"):
        inner = _converted(state.value[0], budget)
        return RObject(inner.kind, inner.values, {**inner.attributes, **own})
    if name == "deferred_string":
        values = _converted(state.value[0], budget).values
        budget.take(_BYTES_OF_OBJECT * len(values), "its texts")
        return RObject("text", [_as_r_text(value) for value in values], own)
    if name.startswith("compact_"):
        length, start, step = map(float, _converted(state, budget).values)
        if length <= _LONGEST_RANGE:
            return RObject("numbers", start + step * np.arange(int(length)), own)
    return _NOTHING


def _as_r_text(value: float) -> str | None:
    """Return a number as R's as.character does, which shows 15 digits; None for NA."""
    return None if np.isnan(value) else f"{value:.15g}"


def texts(item: RObject | None) -> list[str] | None:
    """Return the texts of a vector without missing ones; None for everything else."""
    if item is None or item.kind != "text" or None in item.values:
        return None
    return list(item.values)


def numbers(item: RObject | None) -> Floats | None:
    """Return the numbers of a vector; None for everything else."""
    if item is None or item.kind != "numbers":
        return None
    found: Floats = item.values
    return found


def whole(item: RObject | None) -> list[int] | None:
    """Return the numbers of a vector if all are integers; None for everything else."""
    found = numbers(item)
    if found is None or not np.isfinite(found).all() or (found != np.rint(found)).any():
        return None
    return [int(value) for value in found]
