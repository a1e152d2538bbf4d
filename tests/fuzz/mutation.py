"""Random changes to text, bytes, JSON and arrays, as damaged and hostile files have them."""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_NUMBERS = (
    *b"0 -1 1 2 3 63 64 65 1000000 4294967296 9223372036854775808 0.5 .5 5. 1e5 1e308".split(),
    *b"1e999 1e-320 nan inf -inf -0 +1 1e+ 1_0 0x10 \xd9\xa1".split(),
    *(b"9" * 20, b"9" * 400),
)
_TOKENS = (
    *b"\" { } ( ) | , ; // /* */ # \\ ' $(x) \x00 \xff\xfe \xef\xbb\xbf \xe2\x80\xae".split(),
    *b"\xcc\x81 \xed\xa0\x80 \xc2\xa0 \xe2\x80\xa8 \x85 default table variable".split(),
    *b"probability network property type discrete MARKOV BAYES c -BEGIN- NA MAR MPE PR".split(),
    *(b"\r\n", b"\nc x\n", b"[ 99999999 ]", b"\x0b"),
)
_WORD = re.compile(rb'[^\s,;(){}|"]++|\s++|.', re.DOTALL)
_DIGITS = re.compile(rb"\d++\.?\d*+")


def mutated(chance: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return bytes with one change or a few; what is pasted comes from itself or from `others`."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        change = chance.choice(_CHANGES) if data else _token
        data = change(chance, data, others)
    return data


def _place(chance: random.Random, data: bytes, most: int) -> tuple[int, int]:
    start = chance.randrange(len(data))
    return start, min(len(data), start + chance.randrange(1, most))


def _bit(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    i = chance.randrange(len(data))
    return data[:i] + bytes([data[i] ^ 1 << chance.randrange(8)]) + data[i + 1 :]


def _byte(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    i = chance.randrange(len(data))
    return data[:i] + bytes([chance.randrange(256)]) + data[i + 1 :]


def _cut(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data))]


def _without(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _place(chance, data, 60)
    return data[:start] + data[end:]


def _repeated(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _place(chance, data, 200)
    return data[:start] + data[start:end] * chance.choice((1, 1, 2, 50)) + data[start:]


def _token(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    i = chance.randrange(len(data) + 1)
    return data[:i] + chance.choice(_TOKENS) + data[i:]


def _pasted(chance: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    i, other = chance.randrange(len(data)), chance.choice(others)
    start, end = _place(chance, other, 300)
    return data[:i] + other[start:end] + data[i:]


def _number(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    spans = [found.span() for found in _DIGITS.finditer(data)]
    start, end = chance.choice(spans) if spans else (0, 0)
    return data[:start] + chance.choice(_NUMBERS) + data[end:]


def _word(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    words = _WORD.findall(data)
    words[chance.randrange(len(words))] = chance.choice((*_NUMBERS, *_TOKENS, *words[:50]))
    return b"".join(words)


def _swapped(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    parts = _WORD.findall(data) if chance.random() < 0.5 else data.splitlines(keepends=True)
    i, j = chance.randrange(len(parts)), chance.randrange(len(parts))
    parts[i], parts[j] = parts[j], parts[i]
    return b"".join(parts)


_CHANGES = (
    *(_bit, _byte, _cut, _without, _repeated, _token, _pasted),
    *(_number, _number, _word, _word, _swapped, _swapped),
)

# ---------------------------------------------------------------- native files: header and arrays

_TAGS = ("decimal", "fraction", "date", "time", "timedelta", "datetime", "float", "int", "bytes")
_TEXTS = (
    *("nan", "inf", "1.5", "1e99999999", "1e9999999", "-0", "1/0", "1/3", "2/6", "sNaN", "NaN"),
    *("0x10", "0xg", "00ff", "2020-01-01", "10:00", "9999999999,0,0", "", " 1", "1_0", "\u0661"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 63, 64, 65, 10**6, 2**31, 2**53, 2**63, 10**30, 1.5, -0.0),
    *(1e308, float("nan"), "", "x", "a" * 50, "\x00", "é", "e\u0301", "\ud800", [], [1], {}),
    *({"tuple": []}, {"tuple": [1, [2]]}, {"value": "x"}, {"value": 10**12}, {"value": -1}),
    *({"list": []}, {"mapping": []}, {"learner": "tan", "options": {}}, {"set": [{"value": 1}]}),
    *("O", "<U5", "<U2", "<U200000000", "float64", "i4", "M8[ns]", "V8", "S3", "object"),
)
_WORDS = (
    *("table", "tables", "gaussian", "gaussians", "kernel", "tree", "network", "mixture", "stream"),
    *("TANClassifier", "NaiveBayesClassifier", "StreamingNaiveBayesClassifier", "gk", "pid"),
)
_KEYS = ("x", "cpd", "binned", "count", "counts", "continuous", "grouped", "value", "list", "kind")
_EXTREMES = (0, -1, np.nan, np.inf, 1e300, 1e-300, 2, 1, -np.inf, 2**40)
_DTYPES = ("f4", "i8", "b1", "u1", "f8", ">f8", "f2", "c16", "S8", "V8")
_HEADER = "header.json"


def resealed(data: bytes) -> bytes:
    """Return the bytes of a native file with the checksum that they should have."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def members_of(data: bytes) -> dict[str, bytes]:
    """Return the members of a native file."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def rezipped(members: dict[str, bytes]) -> bytes:
    """Return a native file of members, with its checksum."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.comment = b"sha256:" + b"0" * 64
        for name, content in members.items():
            file.writestr(name, content)
    return resealed(stream.getvalue())


def forgery(chance: random.Random, members: dict[str, bytes]) -> bytes:
    """Return a native file whose header and arrays say something else, with its checksum."""
    members = dict(members)
    header = json.loads(members[_HEADER])
    for _ in range(chance.choice((1, 1, 1, 2))):
        kind = chance.random()
        if kind < 0.75:
            _change_header(chance, header)
        elif kind < 0.97:
            _change_array(chance, members)
        else:
            members.pop(chance.choice([name for name in members if name != _HEADER] or [""]), None)
    members[_HEADER] = json.dumps(header, separators=(",", ":")).encode()
    return rezipped(members)


_BLOCK = re.compile(rb'(?<=id="bayesgraph-)(numbers|archive)">([^<]*)')
_HEAD = re.compile(rb'(?<=id="bayesgraph">)[^<]*')


def forged_page(chance: random.Random, page: bytes) -> bytes:
    """Return a page whose head, numbers or archive say something else, packed as they should be."""
    found = _HEAD.search(page)
    assert found is not None
    head = json.loads(found[0])
    blocks = {name: zlib.decompress(base64.b64decode(text)) for name, text in _BLOCK.findall(page)}
    for _ in range(chance.choice((1, 1, 2))):
        if chance.random() < 0.6:
            _change_header(chance, head)
        else:
            name = chance.choice(sorted(blocks))
            blocks[name] = mutated(chance, blocks[name], list(blocks.values()))
    page = _HEAD.sub(lambda _: json.dumps(head).encode().replace(b"<", b"\\u003c"), page, count=1)

    def packed(block: re.Match[bytes]) -> bytes:
        return block[1] + b'">' + base64.b64encode(zlib.compress(blocks[block[1]]))

    return _BLOCK.sub(packed, page)


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of everything in nested lists and dictionaries."""
    if isinstance(value, dict):
        items: Any = list(value.items())
    else:
        items = enumerate(value[:40]) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _nodes(item)


def _change_header(chance: random.Random, header: Any) -> None:
    nodes = list(_nodes(header))
    holder, key = chance.choice(nodes)
    other_holder, other_key = chance.choice(nodes)
    what = chance.randrange(9)
    if what <= 1:
        holder[key] = _any_value(chance)
    elif what == 2:
        del holder[key]
    elif what == 3:
        holder[key] = copy.deepcopy(other_holder[other_key])
    elif what == 4:
        extra = copy.deepcopy(holder[key])
        if isinstance(holder, list):
            holder.insert(key, extra)
        else:
            holder[chance.choice(_KEYS)] = extra
    else:
        holder[key] = _near(chance, holder[key])


def _any_value(chance: random.Random) -> Any:
    if chance.random() < 0.3:
        return {chance.choice(_TAGS): chance.choice(_TEXTS)}
    return copy.deepcopy(chance.choice(_VALUES))


def _near(chance: random.Random, value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return chance.choice((True, False, None, 0, 1))
    if isinstance(value, (int, float)):
        return chance.choice((value + 1, value - 1, -value, value / 2, 10**12 * value, 0))
    if isinstance(value, str):
        return chance.choice((*_WORDS, value + "x", value[:-1]))
    if isinstance(value, list):
        return chance.sample(value, len(value))
    return value


def _change_array(chance: random.Random, members: dict[str, bytes]) -> None:
    names = [name for name in members if name != _HEADER]
    if not names:
        return
    name = chance.choice(names)
    array = np.load(io.BytesIO(members[name])).copy()
    if array.size:
        with np.errstate(all="ignore"):
            extreme = chance.choice(_EXTREMES)
            if array.dtype.kind != "f":
                extreme = int(np.nan_to_num(extreme, posinf=9, neginf=-9)) % 2**31
            array[chance.randrange(array.size)] = np.asarray(extreme).astype(array.dtype)
    what = chance.randrange(8)
    with np.errstate(all="ignore"):
        if what == 0:
            array = array[:-1]
        elif what == 1:
            array = array.astype(chance.choice(_DTYPES))
    stream = io.BytesIO()
    np.save(stream, array)
    members[name] = stream.getvalue()
