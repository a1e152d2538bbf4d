"""Reading of the numbers of UAI files, in which line breaks count as blanks."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import FileFormatError, quoted, suggestion
from bayesgraph.factors.algebra import Floats, Ints
from bayesgraph.io.sidecar import content_of

_BLANKS = b" \t\r\n\f\v"
_WORD = re.compile(rb"\S+")
# Possessive: it never backtracks, so reading is linear.
_NUMBER = re.compile(rb"[-+]?(?:(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+|inf)")
# Characters of valid numbers; float() would also accept nan, infinity and 1_000.
_CHARACTERS = b"0123456789+-.eEinf" + _BLANKS
_SIDECAR = re.compile(rb"^#( bayesgraph \{.*+)$", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*+|^c(?:[ \t][^\n]*)?\r?$", re.MULTILINE)
# Beyond this, a float may stand for several integers.
_EXACT = 2**53
_BOM = b"\xef\xbb\xbf"


class Numbers:
    """The numbers of a file, read from first to last.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        Path for messages.
    start : int
        Position of the first number in the content.

    Attributes
    ----------
    values : ndarray of float
        All numbers.
    position : int
        Number of values taken so far.

    Raises
    ------
    FileFormatError
        If a word is not a number; the message has its line.
    """

    def __init__(self, data: bytes, source: str, start: int = 0) -> None:
        self.source = source
        self.position = 0
        self._data = data
        self._start = start
        body = data[start:]
        words = body.split()
        try:
            if body.translate(None, _CHARACTERS):
                raise ValueError("not the characters of numbers")
            self.values: Floats = np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            bad = next(i for i, word in enumerate(words) if not _NUMBER.fullmatch(word))
            raise self.error(bad, "a number") from None

    @property
    def left(self) -> int:
        """Number of values not taken yet."""
        return len(self.values) - self.position

    def line(self, index: int) -> int:
        """Return the line of the file with the number at an index; past the end, the last line."""
        word = self._word(index)
        at = len(self._data.rstrip()) if word is None else word.start()
        return self._data.count(b"\n", 0, at) + 1

    def error(self, index: int, expected: str, advice: str = "") -> FileFormatError:
        """Return an error for the number at an index, which says what was expected in its place.

        `expected` is that text, and `advice` a sentence at the end.
        """
        word = self._word(index)
        if word is None:
            got = "the end of the file; it may be truncated"
        else:
            got = f"{_text(word[0])!r:.40} (number {index + 1} of the file)"
        return FileFormatError(
            f"{self.source}, line {self.line(index)}: expected {expected}; got {got}.{advice}"
        )

    def _word(self, index: int) -> re.Match[bytes] | None:
        words = _WORD.finditer(self._data, self._start)
        return next(itertools.islice(words, index, None), None)

    def count(self, what: str, low: int = 0, high: float = math.inf) -> int:
        """Read the next number, an integer between `low` and `high`; `what` names it in errors."""
        # The common case, without arrays: result files have a count or two for each variable.
        if self.position < len(self.values):
            value = self.values.item(self.position)
            if low <= value <= high and value <= _EXACT and value.is_integer():
                self.position += 1
                return int(value)
        return int(self.counts(1, what, low, high)[0])

    def counts(self, n: int, what: str, low: int = 0, high: float = math.inf) -> Ints:
        """Take n integers from `low` to `high`; `what` describes them in errors."""
        values = self.take(n, what)
        good = _are_integers(values, low, high)
        if not good.all():
            limits = f"{low} or more" if high == math.inf else f"from {low} to {high:g}"
            at = self.position - n + int(np.argmin(good))
            raise self.error(at, f"{what}, an integer {limits}")
        return values.astype(np.int64)

    def lists(self, n: int, longest: int, high: int) -> tuple[list[int], list[int]]:
        """Take n lists of integers from 0 to `high`, each after its length; fewer if one is not so.

        The list after the last one taken has a length beyond `longest`, a member that is no such
        integer, or not all of its members: it is left to the caller, who has the words for it.

        Returns
        -------
        members : list of int
            The members of all lists.
        ends : list of int
            The members of list i are ``members[ends[i] : ends[i + 1]]``.
        """
        values = self.values[self.position :]
        at, left, length_at = 0, len(values), values.item
        heads = [0]
        while len(heads) <= n and at < left:
            length = length_at(at)
            if not (0 <= length <= longest and length.is_integer()):
                break
            at += 1 + int(length)
            heads.append(at)
        places = np.array(heads)
        good = _are_integers(values[:at], 0, high)
        good[places[:-1]] = True
        end = len(good) if good.all() else np.argmin(good)
        places = places[: np.searchsorted(places, end, "right")]
        self.position += int(places[-1])
        members = np.delete(values[: places[-1]], places[:-1]).astype(np.int64)
        return members.tolist(), (places - np.arange(len(places))).tolist()

    def take(self, n: int, what: str) -> Floats:
        """Take n numbers; `what` describes them in errors."""
        if n > self.left:
            more = f"{n - self.left} more of {n} numbers" if n > 1 else "a number"
            raise self.error(len(self.values), f"{what}: {more}")
        self.position += n
        return self.values[self.position - n : self.position]

    def table(self, n: int, what: str) -> Floats:
        """Take n finite numbers that are not negative; `what` describes them in errors."""
        fault = self.next_fault()
        values = self.take(n, what)
        if fault < self.position:
            raise self.error(fault, f"{what}: finite numbers that are not negative")
        return values

    def next_fault(self) -> int:
        """Return the index of the next number that no table can have, or else that of the end."""
        place = bisect_left(self._faults, self.position)
        return self._faults[place] if place < len(self._faults) else len(self.values)

    @cached_property
    def _faults(self) -> list[int]:
        """The indices of the values that no table can have, found once for all tables."""
        found: list[int] = np.flatnonzero(~((self.values >= 0) & np.isfinite(self.values))).tolist()
        return found

    def finish(self, after: str) -> None:
        """Raise an error if values are left; `after` describes the last ones taken."""
        if self.left:
            raise self.error(
                self.position, f"the end of the file after {after}", f" {self.left} are too many."
            )


def _are_integers(values: Floats, low: int, high: float) -> NDArray[np.bool_]:
    within = (values >= low) & (values <= min(high, _EXACT))
    good: NDArray[np.bool_] = within & (values == np.floor(values))
    return good


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


def _without_comments(data: bytes) -> bytes:
    if data.startswith(b"c"):
        return _COMMENT.sub(b"", data)
    starts = [at for at in (data.find(b"#"), data.find(b"\nc")) if at >= 0]
    # From the first comment on, which is at the end of files that bayesgraph writes.
    start = min(starts, default=len(data))
    return data[:start] + _COMMENT.sub(b"", data[start:])


def sidecar_lines(data: bytes) -> list[str]:
    """Return what comments of bayesgraph say; see `bayesgraph.io.sidecar`."""
    start = data.find(b"# bayesgraph {")
    if start < 0:
        return []
    comments = (_text(found[1]) for found in _SIDECAR.finditer(data, start))
    return [content for comment in comments if (content := content_of(comment)) is not None]


def open_numbers(
    data: bytes, source: str, kinds: Sequence[str] = (), *, separator: bytes = b""
) -> tuple[str, Numbers]:
    """Return the first word of a file (empty without `kinds`), and the numbers after it.

    Lines that start with the word ``c`` are comments, and so is what follows a ``#`` in a line.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        Path for messages.
    kinds : sequence of str
        Allowed first words, in upper case; empty for files of numbers alone.
    separator : bytes
        Text between the solutions of a result file, of which the last one is read.

    Raises
    ------
    FileFormatError
        If the first word is another one, or a later word is not a number.
    """
    data = data.removeprefix(_BOM)
    data = _without_comments(data)
    if not kinds:
        return "", Numbers(data, source)
    match = _WORD.search(data)
    word, start = (_text(match[0]), match.end()) if match else ("", len(data))
    if word.upper() not in kinds:
        got = repr(word[:40]) if word else "an empty file"
        raise FileFormatError(
            f"{source}: expected {quoted(kinds)} as the first word; got {got}."
            f"{suggestion(word.upper(), kinds)}"
        )
    last = data.rfind(separator, start) if separator else -1
    return word.upper(), Numbers(data, source, start if last < 0 else last + len(separator))
