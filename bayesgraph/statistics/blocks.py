"""The canonical order of sums over rows, by which statistics do not depend on how rows arrive.

Sums of floating-point numbers depend on their order. Rows are summed in blocks of a fixed size on
the grid of their numbers (row 0, 1, ...), and the blocks' sums are added along the binary tree of
the grid: the sums of blocks 2k and 2k + 1 first, then those of four blocks, and so on; the last one
rises if it has no neighbour. A run of 2^m blocks that begins at a multiple of 2^m is a node of this
tree, so that runs may be summed anywhere and added in this order to the same bits as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats

# Number of rows of a block: its columns stay in the cache, and its overhead does not show.
BLOCK = 32768
# Beyond this, sums of whole numbers may be rounded.
_EXACT = 2.0**53


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield the blocks of a table as slices; a table without rows is one empty block."""
    for first in range(0, max(n_rows, 1), BLOCK):
        yield slice(first, min(first + BLOCK, n_rows))


def tree_sum(parts: Iterable[Any]) -> Any:
    """Return the sum of parts, which have ``+``, along the binary tree of their numbers.

    The logarithm of the number of parts bounds how many sums are held at a time.
    """
    pending: list[tuple[int, Any]] = []
    for part in parts:
        level = 0
        while pending and pending[-1][0] == level:
            part = pending.pop()[1] + part
            level += 1
        pending.append((level, part))
    total = pending.pop()[1]
    while pending:
        total = pending.pop()[1] + total
    return total


def is_exact(weights: Floats) -> bool:
    """Return whether sums of the weights are exact in any order; empty if every row weighs 1."""
    if not len(weights):
        return True
    return bool((weights == np.floor(weights)).all() and weights.sum() < _EXACT)


def sampled(first: int, n_rows: int, share: float) -> NDArray[np.bool_]:
    """Return for rows with successive numbers whether they are in a sample of a share of all rows.

    A row is in it if the hash of its number (splitmix64; Steele, Lea and Flood 2014) is below the
    share.
    """
    x = np.arange(first, first + n_rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.asarray(x < np.uint64(min(share, 1.0) * (2.0**64 - 2048)))
