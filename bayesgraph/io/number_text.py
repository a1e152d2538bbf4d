"""Numbers in texts, as files of networks have them."""

from __future__ import annotations

import re
import warnings

import numpy as np

from bayesgraph.factors.algebra import Floats

# NumPy's own parser is faster from some hundred numbers on.
_SHORT = 2000
_CHARACTERS = b"0123456789+-.eE \t\r\n"
_NUMBER = re.compile(r"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+")


def floats_of(text: str) -> Floats:
    """Return the numbers of a text, separated by blanks; each is the float nearest to its decimal.

    Raises
    ------
    ValueError
        If a word is not a decimal number; infinity and NaN are none.
    """
    data = text.encode("ascii", "replace")  # a question mark is in no number
    if not data.translate(None, _CHARACTERS):
        if len(data) < _SHORT:
            words = data.split()
            try:
                return np.fromiter(map(float, words), np.float64, len(words))
            except ValueError:
                pass
        elif (found := _fast(data)) is not None:
            return found
    wrong = next(word for word in text.split() if not _NUMBER.fullmatch(word))
    raise ValueError(f"expected a number; got {wrong!r:.40}")


def _fast(data: bytes) -> Floats | None:
    """Return the numbers of a text that has the characters of numbers; None if a word is none."""
    codes = np.frombuffer(data, np.uint8)
    inside = codes > ord(" ")
    n_words = int(inside[0]) + int(np.count_nonzero(inside[1:] & ~inside[:-1]))
    with warnings.catch_warnings():
        # NumPy stops where it cannot read on.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            found = np.fromstring(data, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    # Several numbers in one word, such as 1.2.3, are read as such.
    return found if len(found) == n_words else None
