"""Tables of numbers as nested lists, such as ``((0.1 0.9) (0.4 0.6))`` in NET and DNE files.

A list has a level for each parent, the first parent outermost, and the numbers of the child's
states innermost. Numbers are made row by row, without a step of Python for each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np

from bayesgraph.factors.algebra import Floats

_TO_BLANKS = str.maketrans("(,", "  ")
_WORD = re.compile(r"[^\s,()]++")
_NOT_PARENTHESES = bytes(set(range(256)) - set(b"()"))


class TableError(ValueError):
    """Numbers that are no table: `at` is the place in their text."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def nested_numbers(text: str, shape: Sequence[int]) -> Floats:
    """Return the table of a nested list, or of a flat one in the same order.

    Parameters
    ----------
    text : str
        Numbers between blanks, commas and parentheses, of the signs ``-+.0-9eE`` alone.
    shape : sequence of int
        Number of states of each parent, and last of the child.

    Raises
    ------
    TableError
        If there are too few or too many numbers, a row has another number of them, the lists are
        nested in another way, or a word is no number.
    """
    rows = [row.split() for row in text.translate(_TO_BLANKS).split(")")]
    total, length = math.prod(shape), shape[-1]
    lengths = {len(row) for row in rows if row}
    size = sum(map(len, rows))
    if size != total:
        raise TableError(0, f"expected {_counted(shape)}; got {size:,} numbers")
    if not (lengths == {total} or lengths == {length}):
        raise _bad_row(text, rows, length)
    check_nesting(text, shape[:-1])
    try:
        values = np.fromiter(map(float, chain.from_iterable(rows)), np.float64, size)
    except ValueError as error:
        raise _no_number(text, rows) from error
    return values.reshape(shape)


def check_nesting(text: str, cards: Sequence[int]) -> None:
    """Check that the parentheses of a list have a level for each parent.

    A list is also taken if it is flat, or a list of rows.

    Parameters
    ----------
    text : str
        What stands inside the innermost parentheses is not looked at.
    cards : sequence of int
        Numbers of states of the parents.

    Raises
    ------
    TableError
        If they are nested in another way.
    """
    found = text.encode("ascii", "replace").translate(None, _NOT_PARENTHESES)
    row = b"()"
    if found in (b"", row) or found == row * math.prod(cards):
        return
    expected = row
    for card in reversed(cards):
        expected = b"(%b)" % (expected * card)
    if found not in (expected, b"(%b)" % (row * math.prod(cards))):
        levels = f"{len(cards) + 1} levels of parentheses, a list for each state of each parent"
        raise TableError(
            0, f"expected {levels} (of {' x '.join(map(str, cards)) or 'no'} states), or none"
        )


def _counted(shape: Sequence[int]) -> str:
    """Return the expected numbers in words."""
    rows = math.prod(shape[:-1])
    return f"{math.prod(shape):,} numbers, {shape[-1]} for each of {rows:,} configurations"


def _bad_row(text: str, rows: Sequence[Sequence[str]], length: int) -> TableError:
    k = next(k for k, row in enumerate(rows) if row and len(row) != length)
    before = sum(map(len, rows[:k]))
    message = f"expected {length} numbers in a row; got {len(rows[k])}"
    return TableError(place_of(text, before), message)


def _no_number(text: str, rows: Sequence[Sequence[str]]) -> TableError:
    for k, word in enumerate(chain.from_iterable(rows)):
        try:
            float(word)
        except ValueError:
            return TableError(place_of(text, k), f"expected numbers; got {word!r:.40}")
    raise AssertionError("every word is a number")


def place_of(text: str, k: int) -> int:
    """Return the place of number k in the text of a list."""
    match = next(islice(_WORD.finditer(text), k, None), None)
    return len(text) if match is None else match.start()


def nested_text(items: Sequence[str], cards: Sequence[int], between: str = " ") -> str:
    """Return items, of which there is one for each configuration of parents, as a nested list.

    Parameters
    ----------
    items : sequence of str
        Rows of a table in their parentheses, or other texts.
    cards : sequence of int
        Numbers of states of the parents.
    between : str
        What stands between two items of a list.
    """
    for card in reversed(cards):
        items = [
            f"({between.join(items[start : start + card])})" for start in range(0, len(items), card)
        ]
    return items[0]
