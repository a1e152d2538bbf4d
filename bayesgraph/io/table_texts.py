"""Tables of many variables, whose numbers are made at once from their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bayesgraph.cpds.validation import SUM_TOLERANCE
from bayesgraph.factors.algebra import Floats, Ints
from bayesgraph.io.number_text import floats_of

# Characters that become numbers at once. Their tables share an array, which is in memory as long
# as one of them is.
_BATCH = 1 << 18


class Numbered(NamedTuple):
    """The numbers of a table.

    Attributes
    ----------
    values : ndarray of float
    sums_to_one : bool
        Whether all rows are known to be distributions; if not, they may still be.
    """

    values: Floats
    sums_to_one: bool


def numbered(texts: Sequence[str], cards: Sequence[int]) -> Iterator[Numbered]:
    """Yield the numbers of some texts, one after the other.

    Parameters
    ----------
    texts : sequence of str
    cards : sequence of int
        Length of the rows in each.

    Raises
    ------
    ValueError
        If a word of the next text is not a decimal number; see `floats_of`.
    """
    begin = size = 0
    for at, text in enumerate(texts):
        size += len(text)
        if size > _BATCH:
            yield from _batch(texts[begin : at + 1], cards[begin : at + 1])
            begin, size = at + 1, 0
    if begin < len(texts):
        yield from _batch(texts[begin:], cards[begin:])


def _batch(texts: Sequence[str], cards: Sequence[int]) -> Iterator[Numbered]:
    try:
        values = floats_of(" ".join(texts))
    except ValueError:  # the first text with a word that is no number names it
        yield from (Numbered(floats_of(text), False) for text in texts)
        return
    ends = np.cumsum([0, *(len(text.split()) for text in texts)])
    good = _sum_to_one(values, np.diff(ends), np.array(cards))
    for (begin, end), sums_to_one in zip(pairwise(ends.tolist()), good, strict=True):
        yield Numbered(values[begin:end], sums_to_one)


def _sum_to_one(values: Floats, sizes: Ints, lengths_of_rows: Ints) -> list[bool]:
    """Return of each table whether no number is negative and rows safely sum to one."""
    n_rows = sizes // lengths_of_rows
    if not sizes.all() or (n_rows * lengths_of_rows < sizes).any():
        return [False] * len(sizes)
    first_rows = np.cumsum(n_rows) - n_rows
    lengths = np.repeat(lengths_of_rows, n_rows)
    first_numbers = np.cumsum(lengths) - lengths
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.reduceat(values, first_numbers)
        # Half of the tolerance: a sum in another order is never beyond the whole.
        good = np.abs(sums - 1.0) <= SUM_TOLERANCE / 2
    good &= np.minimum.reduceat(values, first_numbers) >= 0
    return [bool(g) for g in np.logical_and.reduceat(good, first_rows)]
