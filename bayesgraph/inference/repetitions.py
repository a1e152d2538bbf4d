"""Rows of a batch that repeat others: what takes long is then computed once for all equal rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors import Evidence

# Number of rows among which repetitions are looked for first, and the share of them that has to
# repeat others: among many more rows many more repeat others.
_FIRST, _SHARE = 1024, 1 / 64
# Maximum share of different rows for which it pays to compute these alone.
_DIFFERENT = 3 / 4
# Odd number near 2**64 divided by the golden ratio (Knuth 1998, section 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

Indices = NDArray[np.intp]


def different_rows(evidence: Evidence) -> tuple[Indices, Indices] | None:
    """Return the rows that differ from those before them, and for each row the equal one of them.

    The result is None unless so many rows repeat others that it pays. Rows are equal if all bits
    of their columns are.

    Returns
    -------
    rows : ndarray of int, shape (n_different,)
        In ascending order.
    place : ndarray of int, shape (n_rows,)
        Row i is equal to row ``rows[place[i]]``.
    """
    if evidence.likelihoods or evidence.n_rows < _FIRST // 2:
        return None
    covered = {variable for variables, _ in evidence.matrices for variable in variables}
    if not covered.issuperset(evidence.columns):
        return None
    if evidence.n_rows > 2 * _FIRST:
        first = _keys(evidence, _FIRST)
        if len(_found(first)[0]) > (1 - _SHARE) * _FIRST:
            return None
    rows, place = _found(_keys(evidence, evidence.n_rows))
    return (rows, place) if len(rows) <= _DIFFERENT * evidence.n_rows else None


def _keys(evidence: Evidence, n_rows: int) -> NDArray[np.uint64]:
    """Return the bits of all columns of the first rows, shape (n_rows, number of words)."""
    sizes = [matrix.dtype.itemsize * matrix.shape[1] for _, matrix in evidence.matrices]
    keys = np.zeros((n_rows, -(-sum(sizes) // 8)), dtype=np.uint64)
    whole, begin = keys.view(np.uint8), 0
    for (_, matrix), size in zip(evidence.matrices, sizes, strict=True):
        part = np.ascontiguousarray(matrix[:n_rows])
        whole[:, begin : begin + size] = part.view(np.uint8).reshape(n_rows, size)
        begin += size
    return keys


def _found(keys: NDArray[np.uint64]) -> tuple[Indices, Indices]:
    rows, place = np.empty((2, len(keys)), dtype=np.intp)
    # At least half of the table is empty, so that searches are short.
    table = np.full(1 << (2 * len(keys)).bit_length(), -1, dtype=np.intp)
    return rows[: find_different(keys, table, rows, place)], place


def _work(keys: NDArray[np.uint64], *others: object) -> int:
    # Whoever has so many rows has compiled kernels for them.
    return keys.size * 1000


@kernel(work=_work)
def find_different(keys: NDArray[np.uint64], table: Indices, rows: Indices, place: Indices) -> int:
    """Write the rows that differ from all before, and places among them; return how many differ.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_rows, n_words)
    table : ndarray of -1, shape (a power of two above 2 n_rows,)
        A hash table, overwritten.
    rows, place : ndarray, shape (n_rows,)
        The results; see `different_rows`.
    """
    n_found, mask = 0, np.uint64(len(table) - 1)
    for row in range(len(keys)):
        mixed = np.uint64(0)
        for word in keys[row]:
            mixed = (mixed ^ word) * _FACTOR
            mixed ^= mixed >> _HALF
        at = np.int64(mixed & mask)
        while table[at] >= 0:
            known, same = keys[rows[table[at]]], True
            for j in range(len(known)):
                same = same and known[j] == keys[row, j]
            if same:
                break
            at = (at + 1) & np.int64(mask)
        if table[at] < 0:
            table[at], rows[n_found] = n_found, row
            n_found += 1
        place[row] = table[at]
    return n_found
