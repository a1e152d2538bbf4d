"""Numbers in texts, as files of networks have them."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import tiers
from bayesgraph.factors.algebra import Floats
from bayesgraph.io import number_kernels as kernels

BLANKS = b" \t\r\n"
# Bytes from which on compiled kernels, and NumPy's own parser without them, are faster.
SHORT = 2000
_END = b";"
_CHARACTERS = b"0123456789+-.eE" + BLANKS
_NUMBER = re.compile(r"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+", re.ASCII)
# Bytes that NumPy parses in the time of one unit of work of kernels, many times over: these have
# to be loaded, and the rest of reading takes its time too.
_BYTES_OF_WORK = 400


def floats_of(text: str | bytes) -> Floats:
    """Return the numbers of a text, separated by blanks; each is the float nearest to its decimal.

    Raises
    ------
    ValueError
        If a word is not a decimal number; infinity and NaN are none.
    """
    # A question mark is in no number.
    data = text.encode("ascii", "replace") if isinstance(text, str) else text
    if (compiled := compiled_numbers(data, BLANKS)) is not None:
        return compiled.values
    if not data.translate(None, _CHARACTERS):
        if len(data) < SHORT:
            words = data.split()
            try:
                return np.fromiter(map(float, words), np.float64, len(words))
            except ValueError:
                pass
        elif (found := _fast(data)) is not None:
            return found
    read = data.decode("ascii", "replace") if isinstance(text, bytes) else text
    wrong = next(word for word in read.split() if not _NUMBER.fullmatch(word))
    raise ValueError(f"expected a number; got {wrong!r:.40}")


def _fast(data: bytes) -> Floats | None:
    """Return the numbers of a text that has the characters of numbers; None if a word is none."""
    n_words = int(np.count_nonzero(_begin_words(data)))
    with warnings.catch_warnings():
        # NumPy stops where it cannot read on.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            found = np.fromstring(data, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    # Several numbers in one word, such as 1.2.3, are read as such.
    return found if len(found) == n_words else None


def _begin_words(data: bytes) -> NDArray[np.bool_]:
    """Return of each byte whether it is the first of a word."""
    begin = np.frombuffer(data, np.uint8) > ord(" ")
    begin[1:] &= ~begin[:-1]
    return begin


def numbers_of_texts(texts: Sequence[bytes]) -> Numbers | None:
    """Return the numbers of several texts at once, which is faster than one after the other.

    Parameters
    ----------
    texts : sequence of bytes
        At least one; numbers are separated by blanks.

    Returns
    -------
    Numbers or None
        With an end of a row after each text; None if a word is no decimal number.
    """
    if (compiled := compiled_numbers(_END.join([*texts, b""]), BLANKS, _END)) is not None:
        # A text may have the sign of an end itself.
        return compiled if len(compiled.ends) == len(texts) else None
    data = b" ".join([*texts, b""])
    if data.translate(None, _CHARACTERS) or (values := _fast(data)) is None:
        return None
    begins = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
    counts = np.add.reduceat(_begin_words(data), begins, dtype=np.int64)
    return Numbers(values, np.cumsum(counts))


# --------------------------------------------------------------------------------- compiled kernels


def expect_numbers(n_bytes: int) -> None:
    """Load the compiled kernels, if they are there and a text of so many bytes is worth it."""
    tiers.expect(n_bytes // _BYTES_OF_WORK)


@functools.cache
def _kinds(blanks: bytes, end: bytes) -> NDArray[np.uint8]:
    """Return the kind of each byte; see `kernels.parse_numbers`."""
    kinds = np.full(256, kernels.OTHER, np.uint8)
    kinds[list(blanks)] = kernels.BLANK
    kinds[list(end)] = kernels.END
    return kinds


class Numbers(NamedTuple):
    """The numbers of a text.

    Attributes
    ----------
    values : ndarray of float
    ends : ndarray of int
        Count of the numbers before each sign that ends a row.
    """

    values: Floats
    ends: NDArray[np.int64]


def compiled_numbers(data: bytes, blanks: bytes, end: bytes = b"") -> Numbers | None:
    """Return the numbers of a text by compiled kernels.

    Parameters
    ----------
    data : bytes
    blanks : bytes
        What stands between numbers.
    end : bytes
        Another such sign, which ends a row.

    Returns
    -------
    Numbers or None
        None if a word is no decimal number, the text is short, or kernels are not compiled.
    """
    if len(data) < SHORT or not tiers.compiled:
        return None
    kinds = _kinds(blanks, end)
    text, powers = np.frombuffer(data, np.uint8), kernels.powers_of_five()
    bits = np.empty(len(data) // 2 + 1, np.uint64)
    ends = np.empty(data.count(end) if end else 0, np.int64)
    at = count = n_ends = 0
    while True:
        why, at, count, n_ends = kernels.parse_numbers(
            text, at, kinds, powers, bits, count, ends, n_ends
        )
        if why == kernels.DONE:
            # A copy, as there may have been half as many numbers as bytes.
            return Numbers(bits[:count].copy().view(np.float64), ends)
        if why == kernels.WRONG:
            return None
        begin = at
        while at < len(data) and kinds[data[at]] == kernels.OTHER:
            at += 1
        bits[count] = np.float64(data[begin:at].decode("ascii")).view(np.uint64)
        count += 1
