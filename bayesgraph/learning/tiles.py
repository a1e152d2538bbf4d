"""Statistics of all pairs of columns in tiles, if they are too large to be held at a time.

The columns are dealt to q² groups, the points of the affine plane of prime order q. Each of its
q² + q lines has q points, and each two points are on exactly one line: the tiles are the pairs of
columns whose groups are on one line. A tile is 1/q² of all pairs, and a pass for it reads 1/q of
the columns. (With rectangles of as many pairs, a pass reads 1.4/q of them.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import MemoryLimitError
from bayesgraph.inference.memory import default_memory_limit, format_bytes
from bayesgraph.learning.arcs import ArcScores, arc_scores
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.statistics import (
    CountSource,
    Pairs,
    PairsSummary,
    Singles,
    pairs_bytes,
    pairs_bytes_of,
)
from bayesgraph.variables import Continuous, Discrete, Variable

# Share of the memory limit for the statistics of pairs that are held at a time. The rest is for the
# rows, and for scores of all pairs.
SHARE = 4
# Number of arrays of a number for each two columns that a learner of trees holds.
_MATRICES = 6


def pair_summaries(
    source: CountSource, columns: tuple[Variable, ...], given: Discrete | None
) -> Iterator[tuple[NDArray[np.intp], PairsSummary]]:
    """Yield the statistics of all pairs of columns: of all at a time if they fit, else by tiles.

    Statistics of a tile are not kept; those of single columns are. A pair of columns of one group
    comes in several tiles.

    Yields
    ------
    places : ndarray of int
        Indices of the columns of a tile, ascending.
    summary : PairsSummary
        Of these columns.
    """
    order = _counted_ahead(source, columns, given)
    if order == 1:
        yield np.arange(len(columns)), source.pairs(Pairs(columns, given))
        return
    for places in tiles(len(columns), order):
        part = tuple(columns[i] for i in places)
        yield places, source.pairs(Pairs(part, given), keep=False)


def ask_ahead(source: CountSource) -> None:
    """Request the statistics of all pairs of features given the class, in one pass over the data.

    Later requests for single pairs are then answered without a pass of their own. If they are too
    large, only those of single features are requested.
    """
    if len(source.features) > 1:
        _counted_ahead(source, source.features, source.target)


def _counted_ahead(
    source: CountSource, columns: tuple[Variable, ...], given: Discrete | None
) -> int:
    """Collect the statistics of all pairs, or of single columns; return the order of the tiles."""
    whole = Pairs(columns, given)
    order = 1 if source.holds(whole) else tile_order(columns, given, budget() // source.copies)
    if order == 1:
        source.pairs(whole)
    else:
        source.singles(Singles(columns, given))
    return order


def budget() -> int:
    """Return the maximum number of bytes of statistics of pairs that are held at a time."""
    return default_memory_limit() // SHARE


def tile_order(columns: tuple[Variable, ...], given: Discrete | None, limit: int) -> int:
    """Return the order of the plane whose tiles take at most `limit` bytes, 1 for no tiles.

    Tiles are not made smaller than of two columns from different groups of one, whatever they take.
    """
    whole = pairs_bytes(columns, given)
    if whole <= limit:
        return 1
    # The q² + q tiles hold all pairs, so that the largest is at least this share of them.
    least = math.isqrt(whole // max(limit, 1)) - 1
    primes = [
        q for q in _primes(2 * math.isqrt(len(columns)) + 2) if q >= least or q**2 >= len(columns)
    ]
    for order in primes:
        if order**2 >= len(columns) or tile_bytes(columns, given, order) <= limit:
            break
    return order


def tile_bytes(columns: tuple[Variable, ...], given: Discrete | None, order: int) -> int:
    """Return the number of bytes of the statistics of the largest tile; see `tile_order`."""
    if order == 1:
        return pairs_bytes(columns, given)
    cards = np.array([v.cardinality if isinstance(v, Discrete) else 0 for v in columns])
    numbers = np.array([isinstance(v, Continuous) for v in columns])
    group = _groups(len(columns), order)
    sums = [np.bincount(group, a, order**2) for a in (cards, cards**2, numbers)]
    k = 1 if given is None else given.cardinality
    largest = 0.0
    for line in _parallels(order):
        states, squares, count = (np.bincount(line, a, order) for a in sums)
        largest = max(largest, pairs_bytes_of(states, squares, count, k).max())
    return int(largest)


def _primes(n: int) -> list[int]:
    return [q for q in range(2, n) if all(q % p for p in range(2, math.isqrt(q) + 1))]


def _groups(n: int, order: int) -> NDArray[np.intp]:
    """Return the group of each of n columns, of which successive ones form a group."""
    return np.asarray(np.arange(n) * order**2 // n)


def _parallels(order: int) -> Iterator[NDArray[np.intp]]:
    """Yield the number of the line through each point of the affine plane of a prime order.

    Each array is of one class of parallels, numbered from 0 to ``order - 1``.
    """
    x, y = np.divmod(np.arange(order**2), order)
    for slope in range(order):
        yield (y - slope * x) % order
    yield x


def tiles(n: int, order: int) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the columns of each tile of two columns or more, ascending.

    Parameters
    ----------
    n : int
        Number of columns.
    order : int
        A prime, the order q of the plane.
    """
    group = _groups(n, order)
    for line in _parallels(order):
        line_of = line[group]
        ends = np.cumsum(np.bincount(line_of, minlength=order))
        for places in np.split(np.argsort(line_of, kind="stable"), ends[:-1]):
            if len(places) > 1:
                yield places


def scores_of_pairs(
    source: CountSource, columns: tuple[Variable, ...], given: Discrete | None, smoothing: Smoothing
) -> ArcScores:
    """Return the scores of all arcs between columns; see `arc_scores` and `pair_summaries`.

    Raises
    ------
    MemoryLimitError
        If a number for each two columns is too much.
    """
    check_matrices(len(columns))
    shape = (len(columns), len(columns))
    scores = ArcScores(*(np.zeros(shape) for _ in range(3)))
    for places, summary in pair_summaries(source, columns, given):
        part = arc_scores(source, summary, smoothing)
        if len(places) == len(columns):
            return part
        at = np.ix_(places, places)
        scores.gains[at], scores.rows[at] = part.gains, part.rows
        scores.parameters[at] = part.parameters
    return scores


def check_matrices(n: int) -> None:
    """Raise a MemoryLimitError if the scores of all pairs of n columns do not fit in memory."""
    size = matrices_bytes(n)
    if size > default_memory_limit():
        raise MemoryLimitError(
            f"The scores of all pairs of {n:,} columns take {format_bytes(size)}, more than half "
            "of the machine's memory. Choose among the best partners of each column, as in "
            "TANClassifier(candidates=10), or use fewer columns."
        )


def matrices_bytes(n: int) -> int:
    """Return the number of bytes of the scores of all pairs of n columns, and of copies of them."""
    return 8 * _MATRICES * n**2
