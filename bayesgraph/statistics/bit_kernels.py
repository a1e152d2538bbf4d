"""Counts of columns and pairs of columns of few rows, by sets of rows as bits.

The rows of each group and state are a set, a bit for each row. The joint counts of two states are
the sizes of the intersections of their sets: 64 rows an operation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Masks of the sums of neighbouring bits; compilers know these steps and use one instruction.
_TWOS, _FOURS, _EIGHTS, _ONES = (
    np.uint64(byte * (2**64 // 255)) for byte in (0x55, 0x33, 0x0F, 0x01)
)
_1, _2, _4, _56 = (np.uint64(shift) for shift in (1, 2, 4, 56))
# Number of rows whose codes of one column are read after another.
_BLOCK = 1024


@kernel()
def pack_states(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    word: NDArray[np.int64],
    start: NDArray[np.int64],
    sets: NDArray[np.uint64],
) -> None:
    """Set the bit of each row in the sets of the states that it has.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        -1 where missing: the row is in no set of the column.
    group : ndarray, shape (n_rows,)
        -1 where missing: the row is in no set.
    word : ndarray, shape (n_groups + 1,)
        Column of `sets` at which the rows of each group begin.
    start : ndarray, shape (n_columns + 1,)
        Row of `sets` at which the states of each column begin.
    sets : ndarray, shape (number of states of all columns, number of words of all groups)
        Zeros, of which bits are set.
    """
    taken = word * 64
    at, bit = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for first in range(0, len(group), _BLOCK):
        size = min(_BLOCK, len(group) - first)
        for row in range(size):
            g = group[first + row]
            at[row], bit[row] = 0, 0
            if g >= 0:
                at[row], bit[row] = taken[g] // 64, _1 << np.uint64(taken[g] % 64)
                taken[g] += 1
        for j in range(len(codes)):
            column = codes[j, first : first + size]
            for row in range(size):
                if column[row] >= 0:
                    sets[np.uint64(start[j] + column[row]), at[row]] |= bit[row]


@kernel(work=lambda sets, *_: sets.size)
def count_states(sets: NDArray[np.uint64], word: NDArray[np.int64], out: Floats) -> None:
    """Write the counts of the states of all columns within each group.

    Parameters
    ----------
    sets, word
        As `pack_states` leaves them.
    out : ndarray, shape (n_groups, number of states of all columns)
    """
    for g in range(len(word) - 1):
        for state in range(len(sets)):
            out[g, state] = _n_common(sets, state, state, word[g], word[g + 1])


@kernel(work=lambda sets, *_: sets.size * len(sets))
def count_bits(
    sets: NDArray[np.uint64],
    word: NDArray[np.int64],
    start: NDArray[np.int64],
    to: NDArray[np.int64],
    out: Floats,
    first: int,
    last: int,
) -> None:
    """Write the counts of the joint states of the pairs of columns i < j within each group.

    Parameters
    ----------
    sets, word, start
        As `pack_states` leaves them.
    to : ndarray, shape (n_columns,)
        Offset in `out` of the tables of the pairs of each column i and those behind it, of shape
        (n_groups, cards[i], cards[j]), one after the other.
    out : ndarray, one-dimensional
    first, last : int
        The pairs with ``first <= i < last`` are counted.
    """
    for i in range(first, last):
        at = to[i]
        for j in range(i + 1, len(start) - 1):
            for g in range(len(word) - 1):
                for a in range(start[i], start[i + 1]):
                    for b in range(start[j], start[j + 1]):
                        out[at] = _n_common(sets, a, b, word[g], word[g + 1])
                        at += 1


@kernel()
def _n_common(sets: NDArray[np.uint64], a: int, b: int, begin: int, end: int) -> np.uint64:
    """Return the number of bits that two sets have in common in a range of words."""
    n = np.uint64(0)
    one, other = sets[a, begin:end], sets[b, begin:end]
    for k in range(len(one)):
        x = one[k] & other[k]
        x = x - ((x >> _1) & _TWOS)
        x = (x & _FOURS) + ((x >> _2) & _FOURS)
        x = (x + (x >> _4)) & _EIGHTS
        n += (x * _ONES) >> _56
    return n
