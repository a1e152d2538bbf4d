"""Tables in Netica's DNE files: of probabilities, and of the states of a function."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.block_text import unquoted
from bayesgraph.io.budget import BYTES_OF_CELL, Budget
from bayesgraph.io.nested_numbers import TableError, check_nesting, nested_numbers
from bayesgraph.variables import Discrete

_SIGNS = re.compile(r"(?:[-+.0-9eE,\s()]++|@imposs(?:ible)?+|#\d{1,9}+)*+")
_IMPOSSIBLE = re.compile(r"@imposs(?:ible)?+")
_STATE = re.compile(r"#(\d{1,9}+)")
_WORD = re.compile(r"[^\s,()]++")
# A number in text, while a table is read.
_BYTES_OF_NUMBER = 70


def probabilities(text: str, shape: Sequence[int], budget: Budget) -> Floats:
    """Return the table of a list with numbers, and with other signs for whole rows.

    ``#1`` stands for a row with all probability on the state of that index, and ``@imposs`` in the
    place of all numbers of a row for a condition that never occurs: that row is NaN.

    Raises
    ------
    TableError
        If the text is something else.
    """
    if not _SIGNS.fullmatch(text):
        raise TableError(0, f"expected numbers; got {text.strip()!r:.60}")
    n = shape[-1]
    count = text.count("#")
    budget.take((_BYTES_OF_NUMBER + BYTES_OF_CELL) * count * n, "a table of states")

    def row(match: re.Match[str]) -> str:
        k = int(match[1])
        if k >= n:
            raise TableError(match.start(), f"expected a state below #{n}; got {match[0]}")
        return " ".join("1" if i == k else "0" for i in range(n))

    return nested_numbers(_STATE.sub(row, _IMPOSSIBLE.sub("nan", text)), shape)


class States:
    """What words mean as states of a variable: names, indices such as ``#1``, or numbers.

    Parameters
    ----------
    variable : Discrete
    levels : sequence of float
        Of a discrete variable the number of each state, of a continuous one the ends of its
        intervals, ascending or descending; or none.
    is_continuous : bool
    """

    def __init__(self, variable: Discrete, levels: Sequence[float], *, is_continuous: bool) -> None:
        self._variable = variable
        self._levels = levels
        self._is_continuous = is_continuous

    def codes(self, text: str, cards: Sequence[int]) -> NDArray[np.intp]:
        """Return the indices of the states of a nested list, one for each joint state of parents.

        The index of a condition that never occurs is -1.

        Parameters
        ----------
        text : str
        cards : sequence of int
            Numbers of states of the parents.

        Raises
        ------
        TableError
            If there are too few or too many words, or one is no state.
        """
        words = _WORD.findall(text)
        total = math.prod(cards)
        if len(words) != total:
            raise TableError(
                0, f"expected a state for each of {total:,} configurations; got {len(words):,}"
            )
        check_nesting(text, cards[:-1])
        code_of = {word: self.code(word) for word in set(words)}
        codes = np.fromiter(map(code_of.__getitem__, words), np.intp, len(words))
        return codes.reshape(cards)

    def code(self, word: str) -> int:
        """Return the index of the state that a word means, -1 for a condition that never occurs.

        Raises
        ------
        TableError
            If it is no state.
        """
        if _IMPOSSIBLE.fullmatch(word):
            return -1
        code = self._variable.find(unquoted(word))
        if code is None and (match := _STATE.fullmatch(word)):
            code = int(match[1])
        if code is None:
            code = self._code_of_number(word)
        if not 0 <= code < self._variable.cardinality:
            states = self._variable.states
            raise TableError(
                0,
                f"{word!r:.40} is no state.{suggestion(word, states)} States are {quoted(states)}",
            )
        return code

    def _code_of_number(self, word: str) -> int:
        """Return the index of the state of a number, -1 if there is none."""
        try:
            number = float(word)
        except ValueError:
            return -1
        if not self._is_continuous:
            return self._levels.index(number) if number in self._levels else -1
        ascending = sorted(self._levels)
        last = len(ascending) - 2
        # An interval has its lower end; the last one has both.
        code = last if number == ascending[-1] else bisect_right(ascending, number) - 1
        if not 0 <= code <= last:
            return -1
        return code if self._levels[0] <= self._levels[-1] else last - code
