"""The container of native files: a zip of one JSON header and NumPy arrays, with a checksum.

* ``header.json`` is ASCII. Its entries ``format``, ``version`` and ``kind`` define how its other
  entry, ``model``, is read.
* ``<group>.npy`` is a one-dimensional array: the concatenation of all arrays of a group. The header
  refers to an array as ``{"array": group, "at": offset, "shape": [...]}``. A thousand tables are
  one member of the zip, not a thousand.
* The comment of the zip is ``sha256:`` and the hash of every byte before the hash itself, so that
  truncation and altered bytes are detected, also in the zip's own records.

Members are stored, not compressed, with a fixed time: the same model gives the same bytes
everywhere. Nothing is ever unpickled.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.errors import FileFormatError, LossyExportError, cause
from bayesgraph.core.files import MAX_AXES, Budget
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    Grouped,
    MissingIndicator,
    Variable,
    plain,
)

# ------- The container of native files: a zip of one JSON header and NumPy arrays, with a checksum


FORMAT = "bayesgraph"
VERSION = 1

_HEADER = "header.json"
_MARK = b"sha256:"
_DIGITS = 64  # hexadecimal digits of a SHA-256
_CHUNK = 2**20
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LOCAL_HEADER = 30  # bytes before a member's name, which is followed by an extra field
_NUMBERS = "biuf"  # kinds of dtype: booleans, integers, floats
# The beginning of a .npy file of version 1.0, with one axis and a little-endian dtype.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<|][biuf][1248])', 'fortran_order': False, "
    rb"'shape': \((\d{1,18}),\), \} *+\n",
    re.DOTALL,
)
_NOT_OURS = "is not a file of bayesgraph's native format; other formats have other suffixes."
# Arrays of a file are copied, as floats, and models keep a second form of many.
_BYTES_OF_NUMBER = 24
_DAMAGED = (
    "is truncated or was altered, or is not a file of bayesgraph's native format: its checksum "
    "does not match. Get the file again."
)


class ArrayWriter:
    """Collects the arrays of a model in groups."""

    def __init__(self) -> None:
        # The arrays of each group, flat, and how many numbers they have together.
        self.groups: dict[str, list[NDArray[Any]]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, group: str, values: ArrayLike) -> dict[str, Any]:
        """Add an array and return the reference by which `ArrayReader` finds it.

        Parameters
        ----------
        group : str
            Name for arrays with the same meaning, such as ``"table.values"``, and the same dtype.
        values : array_like
            Booleans, integers or floats of any shape.

        Raises
        ------
        TypeError
            If the dtype is another, or differs from that of the group.
        """
        array = np.asarray(values)
        if array.dtype.kind not in _NUMBERS:
            raise TypeError(f"Files hold arrays of numbers; {group!r} got {array.dtype}.")
        # Files are little-endian, whatever the machine.
        flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
        parts = self.groups.setdefault(group, [])
        if parts and parts[0].dtype != flat.dtype:
            raise TypeError(f"The group {group!r} is of {parts[0].dtype}; got {array.dtype}.")
        at = self._sizes.get(group, 0)
        parts.append(flat)
        self._sizes[group] = at + flat.size
        return {"array": group, "at": at, "shape": list(array.shape)}


class ArrayReader:
    """Returns the arrays of a model, given their references.

    Parameters
    ----------
    groups : dict from str to ndarray, shape (n,)
        Concatenated values of the arrays of each group.
    budget : Budget
        What the arrays may take: several references may be to the same numbers.
    """

    def __init__(self, groups: dict[str, NDArray[Any]], budget: Budget) -> None:
        self._groups = groups
        self.budget = budget

    def view(self, reference: Any) -> NDArray[Any]:
        """Return an array as a view of the file's bytes: read-only and perhaps not aligned.

        It is meant for callers that copy the array. `reference` is a result of `ArrayWriter.add`.

        Raises
        ------
        ValueError
            If the reference is not to an array of the file.
        """
        group = self._groups.get(reference["array"])
        if group is None:
            raise ValueError(f"the member {_member(reference['array'])!r} is missing")
        at, shape = reference["at"], reference["shape"]
        # Types are compared because `true` of JSON is an int of Python too.
        if {*map(type, (at, *shape))} != {int} or min((at, *shape)) < 0:
            raise ValueError(f"expected an offset and a shape; got {reference!r:.80}")
        size = math.prod(shape)
        if at + size > group.size:
            raise ValueError(
                f"{_member(reference['array'])!r} has {group.size} numbers; a reference goes to "
                f"{at + size}"
            )
        # A factor has one axis more than its table: that of the rows of a batch.
        if len(shape) > MAX_AXES + 1:
            raise ValueError(f"an array has {len(shape)} axes; at most {MAX_AXES + 1} are possible")
        # An array without entries may have a long axis, of which readers make lists.
        self.budget.take(_BYTES_OF_NUMBER * max((size, *shape)), "the arrays of the model")
        return group[at : at + size].reshape(shape)


def archive_bytes(kind: str, model: dict[str, Any], arrays: ArrayWriter) -> bytes:
    """Return the bytes of a file.

    Parameters
    ----------
    kind : str
        Kind of the model; see `bayesgraph.files.native`.
    model : dict
        Content that JSON can hold, with finite floats.
    arrays : ArrayWriter
    """
    header = {"format": FORMAT, "version": VERSION, "kind": kind, "model": model}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _MARK + b"0" * _DIGITS
        archive.writestr(_info(_HEADER), _json_bytes(header))
        for group, parts in arrays.groups.items():
            _write_group(archive, group, parts)
    # The zeros that end the comment, and so the file, give way to the hash of all before them.
    content = stream.getbuffer()
    content[-_DIGITS:] = hashlib.sha256(content[:-_DIGITS]).hexdigest().encode()
    content.release()
    return stream.getvalue()


def _json_bytes(header: Any) -> bytes:
    """Return a header as JSON, in the one form that is written: ASCII, without blanks."""
    return json.dumps(header, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def _write_group(archive: zipfile.ZipFile, group: str, parts: list[NDArray[Any]]) -> None:
    """Write the arrays of a group as one member of the zip, one after another."""
    size = sum(part.size for part in parts)
    head = {"descr": parts[0].dtype.str, "fortran_order": False, "shape": (size,)}
    info = _info(_member(group))
    # zipfile chooses ZIP64 by this bound, in which the chunk is more than the header of the array.
    info.file_size = size * parts[0].dtype.itemsize + _CHUNK
    with archive.open(info, "w") as member:
        npy.write_array_header_1_0(member, head)
        for part in parts:
            member.write(part.data)


def _info(name: str) -> zipfile.ZipInfo:
    """Return the record of a member, the same on every machine and at every time."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = 3  # Unix; the default depends on the operating system
    info.external_attr = 0o644 << 16  # permissions of Unix are in the upper half
    return info


def _member(group: object) -> str:
    """Return the name of the member of the zip that has the arrays of a group."""
    return f"{group}.npy"


def read_archive(data: bytes, budget: Budget) -> tuple[str, Any, ArrayReader]:
    """Return the kind, the model and the arrays in the bytes of a file.

    Raises
    ------
    FileFormatError
        If the file is not of this format, truncated, altered or of a newer version.
    """
    source = budget.source
    if not data.startswith(b"PK"):
        raise FileFormatError(f"{source} {_NOT_OURS}" if data else f"{source} is empty.")
    digest = hashlib.sha256(memoryview(data)[:-_DIGITS]).hexdigest().encode()
    is_whole = digest == data[-_DIGITS:]
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = without_repeats((i.filename, _stored(data, i)) for i in archive.infolist())
        text = bytes(members.pop(_HEADER))
        header = json.loads(text)
        # A newer version may have another way to check its files.
        _check_header(header, source)
        if _json_bytes(header) != text:
            raise ValueError(
                "its header is not the JSON that bayesgraph writes: a key is there twice, or a "
                "number is infinite"
            )
        if not is_whole:
            raise ValueError("its checksum does not match")
        groups = {name.removesuffix(".npy"): _array(part) for name, part in members.items()}
        return header["kind"], header["model"], ArrayReader(groups, budget)
    except FileFormatError:
        raise
    except Exception as error:
        # Of a damaged file, and of one that was written against the format, any may be raised.
        if not is_whole:
            raise FileFormatError(f"{source} {_DAMAGED}") from error
        raise FileFormatError(f"{source} {_NOT_OURS} ({cause(error)})") from error


def without_repeats(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of pairs with different keys: other programs may read the first of two.

    Raises
    ------
    ValueError
        If a key is there twice.
    """
    values: dict[Any, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"{key!r:.80} is there twice")
        values[key] = value
    return values


def _check_header(header: Any, source: str) -> None:
    """Refuse a header of another format or of a newer version, or one without a kind."""
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r:.80}")
    version = header["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"its version is {version!r:.80}")
    if version > VERSION:
        raise FileFormatError(
            f"{source} was written by a newer bayesgraph (format version {version}; this one reads "
            f"up to {VERSION}); upgrade bayesgraph."
        )
    if type(header["kind"]) is not str:
        raise ValueError(f"its kind is {header['kind']!r:.80}")


def _stored(data: bytes, info: zipfile.ZipInfo) -> memoryview:
    """Return the bytes of the member `info` of a zip, without copying them."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"the member {info.filename!r} is compressed")
    at = info.header_offset
    # The last four bytes of a local header are the lengths of what follows it.
    name_length, extra_length = struct.unpack_from("<HH", data, at + _LOCAL_HEADER - 4)
    start = at + _LOCAL_HEADER + name_length + extra_length
    part = memoryview(data)[start : start + info.file_size]
    if len(part) < info.file_size:
        raise ValueError(f"the member {info.filename!r} is cut off")
    return part


def _array(part: memoryview) -> NDArray[Any]:
    """Return the one-dimensional array of a ``.npy`` member, without copying its bytes."""
    match = _NPY.match(part)
    if match is None:
        raise ValueError("a member is not a list of numbers in .npy version 1.0")
    dtype, size, content = np.dtype(match[1].decode()), int(match[2]), part[match.end() :]
    if len(content) != size * dtype.itemsize:
        raise ValueError(f"a member has {len(content)} bytes for {size} numbers of {dtype}")
    return np.frombuffer(content, dtype)


# ------------------------------------------------------- Names and states as JSON, with their type
# Text, booleans, small integers and None are JSON values. A value of another type is a JSON object
# of one entry, from the tag of the type to a text (for a tuple, a list) that reads back as the
# value.


Json: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any] | None

# Magnitude from which JSON readers other than Python's may round an integer.
_SAFE_INTEGER = 2**53
_FRACTION = re.compile(r"-?\d++(?:/\d++)?")


class _Codec(NamedTuple):
    """How values of a type are written as text: the tag of the type, and both directions."""

    tag: str
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]


def _decode_fraction(text: str) -> Fraction:
    """Return the fraction of a text such as ``1/3``."""
    # Fraction("1e99999999") would compute the power.
    if not _FRACTION.fullmatch(text):
        raise ValueError(f"expected a fraction such as '1/3'; got {text!r:.80}")
    return Fraction(text)


_CODECS: dict[type, _Codec] = {
    # Python limits the decimal digits of an integer, but not the hexadecimal ones.
    int: _Codec("int", hex, lambda text: int(text, 16)),
    # repr gives the shortest decimal that reads back as the same float, infinities included.
    float: _Codec("float", repr, float),
    bytes: _Codec("bytes", bytes.hex, bytes.fromhex),
    Decimal: _Codec("decimal", str, Decimal),
    Fraction: _Codec("fraction", str, _decode_fraction),
    datetime.date: _Codec("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: _Codec("time", datetime.time.isoformat, datetime.time.fromisoformat),
    datetime.datetime: _Codec(
        "datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat
    ),
    datetime.timedelta: _Codec(
        "timedelta",
        lambda d: f"{d.days},{d.seconds},{d.microseconds}",
        lambda text: datetime.timedelta(*map(int, text.split(","))),
    ),
}
_BY_TAG = {codec.tag: codec for codec in _CODECS.values()}
# Types of JSON's own values, and of names and states.
PLAIN = frozenset({type(None), str, bool})
VALUES = PLAIN | {tuple, *_CODECS}
_HELD = "str, bool, int, float, tuple of these, bytes, Decimal, Fraction, date, time and datetime"


def encode_value(value: Any, what: str = "value", owner: object = None) -> Json:
    """Return a name or a state as JSON.

    NumPy scalars become the Python values they stand for, as they do in a variable.

    Parameters
    ----------
    value : object
    what, owner : str and object
        For messages: the role of the value, such as "state", and the variable that has it.

    Raises
    ------
    LossyExportError
        If the type is not supported, or the value would not read back as the same value (such as a
        time in a named zone).
    """
    value = plain(value)
    kind = type(value)
    if kind in PLAIN or (kind is int and abs(value) < _SAFE_INTEGER):
        return value  # type: ignore[no-any-return]
    if kind is int:
        return {"int": hex(value)}
    if kind is tuple:
        return {"tuple": [encode_value(item, what, owner) for item in value]}
    fault, shown = f"is of the type {kind.__module__}.{kind.__qualname__}", ""
    try:
        shown = repr(value)
        if kind in _CODECS:
            codec = _CODECS[kind]
            text = codec.encode(value)
            back = codec.decode(text)
            # The repr tells apart what is equal, such as -0.0 and 0.0; NaN is equal to nothing.
            if repr(back) == shown and back == value:
                return {codec.tag: text}
            fault = f"would read back as {back!r}"
    except (ArithmeticError, ValueError) as error:  # a signaling NaN, too many digits
        fault = f"cannot be written as text ({error})"
    title = f"{what} {shown or kind.__name__}" + ("" if owner is None else f" of {owner!r}")
    raise LossyExportError(
        f"The {title} {fault}: the native format cannot hold it. It holds {_HELD}; use one of "
        "these. Of an estimator with another parameter, save its network_ alone."
    )


def decode_value(value: Json) -> Any:
    """Return the name or state that `encode_value` encoded.

    Raises
    ------
    ValueError
        If `encode_value` never returns such a value.
    """
    if type(value) in PLAIN or (type(value) is int and abs(value) < _SAFE_INTEGER):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((tag, content),) = value.items()
        if tag == "tuple" and isinstance(content, list):
            return tuple([decode_value(item) for item in content])
        if tag in _BY_TAG and isinstance(content, str):
            codec = _BY_TAG[tag]
            read = codec.decode(content)
            # NaN is no state, and `encode_value` writes no other text of a value, such as "1.50".
            # Small integers are written as JSON numbers.
            is_large = type(read) is not int or abs(read) >= _SAFE_INTEGER
            if read == read and codec.encode(read) == content and is_large:
                return read
    raise ValueError(f"expected a name or a state; got {value!r:.80}")


# ------ Variables as JSON: in native files, and in the lines from which other formats restore them


# From the tag of a variable to its class and the arguments of its constructor after the name, each
# with the depth of its lists of values, None for numbers; subclasses first.
_VARIABLES: dict[str, tuple[type[Any], dict[str, int | None]]] = {
    "counts": (CountVector, {"items": 1}),
    "count": (Count, {}),
    "continuous": (Continuous, {}),
    "binned": (Binned, {"cuts": None}),
    "grouped": (Grouped, {"groups": 2, "others": 0}),
    "indicator": (MissingIndicator, {"of": 0}),
    "discrete": (Discrete, {"states": 1}),
}


def encode_variable(variable: Variable) -> dict[str, Any]:
    """Return a variable as JSON.

    Raises
    ------
    LossyExportError
        If a name or a state is of a type that files do not hold.
    """

    def encoded(value: Any, what: str, depth: int | None) -> Any:
        """Return a state or name (depth 0), lists of them in `depth` levels, or numbers (None)."""
        if depth is None:
            return list(value)
        if depth:
            return [encoded(entry, what, depth - 1) for entry in value]
        return encode_value(value, what, variable)

    tag = next(tag for tag, (kind, _) in _VARIABLES.items() if isinstance(variable, kind))
    arguments = _VARIABLES[tag][1].items()
    # In messages an entry of "states" is a "state".
    values = {key: encoded(getattr(variable, key), key[:-1], depth) for key, depth in arguments}
    return {tag: encode_value(variable.name, "name", variable), **values}


def decode_variable(item: Mapping[str, Any]) -> Variable:
    """Return the variable that `encode_variable` encoded."""

    def decoded(value: Any, depth: int | None) -> Any:
        """Return the value that `encoded` of `encode_variable` encoded."""
        if depth is None:
            if not {*map(type, value)} <= {float}:
                raise ValueError(f"expected numbers; got {value!r:.80}")
            return value
        return [decoded(entry, depth - 1) for entry in value] if depth else decode_value(value)

    # Of an item without a tag, which `encode_variable` never writes, ``item[tag]`` is a KeyError.
    tag = next((tag for tag in _VARIABLES if tag in item), "discrete")
    kind, arguments = _VARIABLES[tag]
    values = [decoded(item[key], depth) for key, depth in arguments.items()]
    variable: Variable = kind(decode_value(item[tag]), *values)
    return variable
