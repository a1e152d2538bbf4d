"""Counts of pairs of columns of few rows, by sets of rows as bits.

The rows of each group and state are a set, a bit for each row. The joint counts of two states are
the sizes of the intersections of their sets: 64 rows an operation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats

# Masks of the sums of neighbouring bits; compilers know these steps and use one instruction.
_TWOS, _FOURS, _EIGHTS, _ONES = (
    np.uint64(byte * (2**64 // 255)) for byte in (0x55, 0x33, 0x0F, 0x01)
)
_1, _2, _4, _56 = (np.uint64(shift) for shift in (1, 2, 4, 56))


@kernel()
def pack_states(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    word: NDArray[np.int64],
    start: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> None:
    """Set the bit of each row in the sets of the states that it has.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        -1 where missing: the row is in no set of the column.
    group : ndarray, shape (n_rows,)
        -1 where missing: the row is in no set.
    word : ndarray, shape (n_groups + 1,)
        Row of `bits` at which the rows of each group begin.
    start : ndarray, shape (n_columns + 1,)
        Column of `bits` at which the states of each column begin.
    bits : ndarray, shape (number of words of all groups, number of states of all columns)
        Zeros, of which bits are set.
    """
    taken = word * 64
    for row in range(len(group)):
        g = group[row]
        if g < 0:
            continue
        at, bit = taken[g] // 64, _1 << np.uint64(taken[g] % 64)
        taken[g] += 1
        for j in range(len(codes)):
            if codes[j, row] >= 0:
                bits[at, start[j] + codes[j, row]] |= bit


@kernel(work=lambda bits, *_: bits.size * bits.shape[1])
def count_bits(
    bits: NDArray[np.uint64],
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
    bits, word, start
        As `pack_states` leaves them.
    to : ndarray, shape (n_columns,)
        Offset in `out` of the tables of the pairs of each column i and those behind it, of shape
        (n_groups, cards[i], cards[j]), one after the other.
    out : ndarray, one-dimensional
    first, last : int
        The pairs with ``first <= i < last`` are counted.
    """
    n_groups, n_columns = len(word) - 1, len(start) - 1
    n_states = start[n_columns]
    widest = 0
    for i in range(first, last):
        widest = max(widest, start[i + 1] - start[i])
    found = np.empty((n_groups * widest, n_states), np.uint64)
    for i in range(first, last):
        card, behind = start[i + 1] - start[i], start[i + 1]
        n_cells = n_groups * card
        for cell in range(n_cells):
            g, state = cell // card, start[i] + cell % card
            counts = found[cell, behind:]
            counts[:] = np.uint64(0)
            for at in range(word[g], word[g + 1]):
                _add_common(bits[at, state], bits[at, behind:], counts)
        at = to[i]
        for j in range(i + 1, n_columns):
            for cell in range(n_cells):
                for state in range(start[j], start[j + 1]):
                    out[at] = found[cell, state]
                    at += 1


@kernel()
def _add_common(own: np.uint64, others: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
    """Add to `counts` the number of bits that `own` has in common with each of `others`."""
    for k in range(len(others)):
        x = own & others[k]
        x = x - ((x >> _1) & _TWOS)
        x = (x & _FOURS) + ((x >> _2) & _FOURS)
        x = (x + (x >> _4)) & _EIGHTS
        counts[k] += (x * _ONES) >> _56
