"""Loops that count columns, each together with the same other columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Number of rows whose configurations of the other columns are held at a time.
_BLOCK = 4096


@kernel(work=lambda codes, _places, _cards, plan, *_: codes.shape[1] * len(plan))
def count_extensions(
    codes: NDArray[np.signedinteger],
    places: NDArray[np.int64],
    cards: NDArray[np.int64],
    plan: NDArray[np.int64],
    whole: bool,
    weights: Floats,
    out: Floats,
) -> None:
    """Count the joint states of new columns, each together with the others of its group.

    Parameters
    ----------
    codes : ndarray, shape (n_all_columns, n_rows)
        -1 where missing; rows that lack a column of a table are not counted in it.
    places, cards : ndarray, shape (n_columns,)
        Row of each column in `codes`, and its number of states.
    plan : ndarray, one-dimensional
        See `Extensions.plan`.
    whole : bool
        Whether no value is missing.
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    out : ndarray, one-dimensional
        Zeros, to which the counts are added: tables of shape (cards of the new column, *cards of
        the others), one after the other.
    """
    n_rows = codes.shape[1]
    keys = np.empty(min(_BLOCK, n_rows), dtype=np.int64)
    # A table of two columns is read once for each block, which must have more rows than cells.
    both = np.empty(len(keys) // 2 if whole and not len(weights) else 0, dtype=np.int32)
    begin = place = 0
    while place < len(plan):
        split = place + 2 + plan[place]
        stop = split + plan[place + 1]
        new, others = plan[place + 2 : split], plan[split:stop]
        size = 1
        for other in others:
            size *= cards[other]
        at = begin
        for first in range(0, n_rows, _BLOCK):
            last = min(first + _BLOCK, n_rows)
            _keys_of(codes, places, cards, others, first, keys)
            at, j = begin, 0
            while j < len(new):
                column, r = codes[places[new[j]], first:last], cards[new[j]]
                s = cards[new[j + 1]] if j + 1 < len(new) else 0
                end = at + (r + s) * size
                if s > 0 and r * s * size <= len(both):
                    beside = codes[places[new[j + 1]], first:last]
                    _count_two(column, beside, r, s, keys, size, both, out[at:end])
                    at, j = end, j + 2
                else:
                    end -= s * size
                    _count(column, keys, size, weights[first:last], out[at:end])
                    at, j = end, j + 1
        begin, place = at, stop


@kernel()
def _keys_of(
    codes: NDArray[np.signedinteger],
    places: NDArray[np.int64],
    cards: NDArray[np.int64],
    others: NDArray[np.int64],
    first: int,
    keys: NDArray[np.int64],
) -> None:
    """Write the configuration of the other columns in each row of a block, -1 if one is missing."""
    n_rows = min(len(keys), codes.shape[1] - first)
    keys[:n_rows] = 0
    for other in others:
        card = cards[other]
        column = codes[places[other]]
        for row in range(n_rows):
            code = column[first + row]
            keys[row] = keys[row] * card + code if code >= 0 and keys[row] >= 0 else -1


@kernel()
def _count(
    column: NDArray[np.signedinteger],
    keys: NDArray[np.int64],
    size: int,
    weights: Floats,
    table: Floats,
) -> None:
    """Add the weight of each row to the cell of its state and its configuration."""
    weighted = len(weights) > 0
    for row in range(len(column)):
        if column[row] >= 0 and keys[row] >= 0:
            table[np.int64(column[row]) * size + keys[row]] += weights[row] if weighted else 1.0


@kernel()
def _count_two(
    column: NDArray[np.signedinteger],
    beside: NDArray[np.signedinteger],
    r: int,
    s: int,
    keys: NDArray[np.int64],
    size: int,
    both: NDArray[np.int32],
    tables: Floats,
) -> None:
    """Count two columns without missing values, by a table of both.

    A row adds to one cell instead of two: additions to one cell wait for each other.
    """
    both[: r * s * size] = 0
    for row in range(len(column)):
        both[(keys[row] * r + column[row]) * s + beside[row]] += 1
    at, second = 0, r * size
    for key in range(size):
        for x in range(r):
            for y in range(s):
                n = float(both[at])
                tables[x * size + key] += n
                tables[second + y * size + key] += n
                at += 1
