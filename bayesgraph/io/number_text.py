"""Numbers in texts, as files of networks have them."""

from __future__ import annotations

import re

import numpy as np

from bayesgraph.factors.algebra import Floats

# Of these characters, float() takes decimal numbers alone; it also takes nan, infinity and 1_000.
_CHARACTERS = b"0123456789+-.eE \t\r\n\f\v"
_NUMBER = re.compile(rb"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+")


def floats_of(text: str) -> Floats:
    """Return the numbers of a text, separated by blanks; each is the float nearest to its decimal.

    Raises
    ------
    ValueError
        If a word is not a decimal number; infinity and NaN are none.
    """
    data = text.encode(errors="backslashreplace")
    words = data.split()
    try:
        if data.translate(None, _CHARACTERS):
            raise ValueError("not the characters of numbers")
        return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        wrong = next(word for word in words if not _NUMBER.fullmatch(word))
        raise ValueError(f"expected a number; got {wrong.decode(errors='replace')!r:.40}") from None
