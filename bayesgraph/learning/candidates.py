"""Trees among candidate pairs: the best partners of each column in a sample of the rows.

All pairs of very many columns cannot be counted in all rows: their number is the square of that of
the columns. They are scored in a sample of the rows, whose scores have standard errors of about one
over the square root of its size. Only the best pairs are then counted in all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, MemoryLimitError
from bayesgraph.core.parallel import default_memory_limit, format_bytes
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning import structure_kernels
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules, ArcScores, arc_scores, n_moments
from bayesgraph.learning.scores import Extension, Gains
from bayesgraph.statistics import (
    CountSource,
    Family,
    Pairs,
    PairsSummary,
    Singles,
    Smoothing,
    pairs_bytes,
    safe_divide,
)

# --------- Statistics of all pairs of columns in tiles, if they are too large to be held at a time
# The columns are dealt to q groups; the tiles are the pairs of columns in each two of these groups.
# A tile is about 4/q² of all pairs, and a pass for it reads 2/q of the columns.


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
    """Return the number of groups whose tiles take at most `limit` bytes, 1 for no tiles.

    Tiles are not made smaller than of two columns, whatever they take.
    """
    whole = pairs_bytes(columns, given)
    if whole <= limit:
        return 1
    order = max(3, math.isqrt(4 * whole // max(limit, 1)))
    while order < len(columns) and tile_bytes(columns, given, order) > limit:
        order += 1
    return min(order, len(columns))


def tile_bytes(columns: tuple[Variable, ...], given: Discrete | None, order: int) -> int:
    """Return the number of bytes of the statistics of the largest tile; see `tile_order`."""
    parts = (tuple([columns[i] for i in places]) for places in tiles(len(columns), order))
    return max(pairs_bytes(part, given) for part in parts)


def tiles(n: int, order: int) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the columns of each tile, ascending: of each two of `order` groups."""
    for two in combinations(np.array_split(np.arange(n), order), 2):
        yield np.concatenate(two)


def scores_of_pairs(
    source: CountSource, columns: tuple[Variable, ...], given: Discrete | None, smoothing: Smoothing
) -> ArcScores:
    """Return the scores of all arcs between columns; see `arc_scores` and `pair_summaries`.

    Raises
    ------
    MemoryLimitError
        If a number for each two columns is too much.
    """
    size = 8 * _MATRICES * len(columns) ** 2
    if size > default_memory_limit():
        raise MemoryLimitError(
            f"The scores of all pairs of {len(columns):,} columns take {format_bytes(size)}, more "
            "than half of the machine's memory. Choose among the best partners of each column, as "
            "in TANClassifier(candidates=10), or use fewer columns."
        )
    shape = (len(columns), len(columns))
    whole = [np.zeros(shape, dtype) for dtype in (float, float, float, float, bool)]
    for places, summary in pair_summaries(source, columns, given):
        part = astuple(arc_scores(source, summary, smoothing))
        if len(places) == len(columns):
            return ArcScores(*part)
        for array, of_tile in zip(whole, part, strict=True):
            array[np.ix_(places, places)] = of_tile
    return ArcScores(*whole)


# ----------- Trees among candidate pairs: the best partners of each column in a sample of the rows


# Number of rows in which all pairs are scored.
SAMPLE_ROWS = 2**16
_Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of columns that may be edges, each as the arc that may occur.

    Attributes
    ----------
    parents, children : ndarray of int, shape (n_pairs,)
        Indices of columns. Of two columns of one kind the parent is the first; of two kinds it is
        the discrete one.
    forced : ndarray of bool, shape (n_pairs,)
        Which edges are required.
    """

    parents: _Indices
    children: _Indices
    forced: NDArray[np.bool_]

    @classmethod
    def of(cls, ends: _Indices, columns: tuple[Variable, ...], rules: ArcRules) -> Candidates:
        """Return the different pairs among ends, an array of shape (n, 2), in ascending order."""
        numeric = _are_numeric(columns)
        required = _required(columns, rules)
        ends = np.sort(np.concatenate([required, ends]), axis=1)
        turned = numeric[ends[:, 0]] & ~numeric[ends[:, 1]]
        ends[turned] = ends[turned][:, ::-1]
        numbers = ends @ [len(columns), 1]
        # A stable sort is fast where all pairs come in order.
        forced, listed = numbers[: len(required)], np.sort(numbers[len(required) :], kind="stable")
        listed = listed[np.diff(listed, prepend=-1) > 0]
        return cls(*np.divmod(listed, len(columns)), np.isin(listed, forced))


def _are_numeric(columns: tuple[Variable, ...]) -> NDArray[np.bool_]:
    return np.array([isinstance(v, Continuous) for v in columns], dtype=np.bool_)


def _required(columns: tuple[Variable, ...], rules: ArcRules) -> _Indices:
    """Return the ends of the required edges, shape (n, 2)."""
    place = {v.name: i for i, v in enumerate(columns)}
    ends = [[place[name] for name in arc] for arc in rules.required]
    return np.array(ends, dtype=np.int64).reshape(-1, 2)


def joinable(columns: tuple[Variable, ...], rules: ArcRules) -> NDArray[np.bool_]:
    """Return a mask of the arcs that may be edges: none is forbidden in either direction."""
    names = {v.name for v in columns}
    within = [arc for arc in rules.forbidden if names.issuperset(arc)]
    either = ArcRules(forbidden=(*within, *((b, a) for a, b in within)))
    return either.admissible(columns)


def candidate_pairs(
    source: CountSource,
    columns: tuple[Variable, ...],
    given: Discrete | None,
    smoothing: Smoothing,
    n: int,
    rules: ArcRules,
) -> Candidates:
    """Return the n best partners of each column in a sample, and all edges of the sample's tree.

    Partners are ranked by the gain of their arc minus its expectation if there is no dependence,
    half a nat per parameter and row. The tree makes the candidates connect all columns.

    Raises
    ------
    DataError
        If the source has statistics only.
    """
    if not hasattr(source, "sample"):
        raise DataError(
            "candidates= looks at a sample of the rows, and the source has statistics only; fit it "
            "on the whole table."
        )
    sample: CountSource = source.sample(SAMPLE_ROWS)
    numeric = _are_numeric(columns)
    partners, parents = _Best(len(columns), n), _Best(len(columns), 1)
    forest = _Forest(len(columns))
    for places, summary in pair_summaries(sample, columns, given):
        scores = arc_scores(sample, summary, smoothing)
        expected = safe_divide(scores.parameters, 2.0 * scores.total)
        net = np.round(scores.gains - expected, TIE_DECIMALS)
        net[~(scores.learnable & joinable(summary.request.columns, rules))] = -np.inf
        net = np.maximum(net, net.T)
        partners.update(places, net)
        number = numeric[places]
        parents.update(places, np.where(number[:, None] & ~number, net, -np.inf))
        forest.update(places, np.where(number[:, None] == number, net, -np.inf))
    ends = [partners.pairs(), parents.pairs(), forest.ends, _required(columns, rules)]
    return Candidates.of(np.concatenate(ends), columns, rules)


class _Best:
    """The best partners of each column so far.

    Attributes
    ----------
    scores : ndarray, shape (n_columns, n)
        Descending; minus infinity for none.
    partners : ndarray of int, shape (n_columns, n)
        Indices of columns; -1 for none.
    """

    def __init__(self, n_columns: int, n: int) -> None:
        self.scores: Floats = np.full((n_columns, n), -np.inf)
        self.partners: _Indices = np.full((n_columns, n), -1, dtype=np.int64)

    def update(self, places: NDArray[np.intp], scores: Floats) -> None:
        """Take up the scores between columns at some places, shape (n_places, n_places)."""
        before = self.partners[places]
        at = np.minimum(np.searchsorted(places, before), len(places) - 1)
        row, column = np.nonzero(places[at] == before)
        scores = scores.copy()
        scores[row, at[row, column]] = -np.inf  # they are there already
        everything = np.concatenate([self.scores[places], scores], axis=1)
        who = np.concatenate([before, np.broadcast_to(places, scores.shape)], axis=1)
        order = np.lexsort((who, -everything))[:, : before.shape[1]]
        best = np.take_along_axis(everything, order, axis=1)
        self.scores[places] = best
        self.partners[places] = np.where(best > -np.inf, np.take_along_axis(who, order, axis=1), -1)

    def pairs(self) -> _Indices:
        """Return the pairs of a column and a partner, shape (n_pairs, 2)."""
        row, column = np.nonzero(self.partners >= 0)
        return np.stack([row, self.partners[row, column]], axis=1)


class _Forest:
    """The maximum spanning forest of the pairs so far."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.ends: _Indices = np.empty((0, 2), dtype=np.int64)
        self.scores: Floats = np.empty(0)

    def update(self, places: NDArray[np.intp], scores: Floats) -> None:
        """Take up the scores between columns at some places, which are symmetric.

        An edge outside of the forest of some pairs is in no forest of more pairs.
        """
        edges = spanning_edges(scores)
        ends = np.concatenate([self.ends, places[edges]])
        scores = np.concatenate([self.scores, scores[*edges.T]])
        # A pair of one group comes in several tiles.
        ends, first = np.unique(ends, axis=0, return_index=True)
        kept = listed_forest(self.n_columns, ends[:, 0], ends[:, 1], scores[first])
        self.ends, self.scores = ends[kept], scores[first][kept]


def spanning_edges(weights: Floats) -> _Indices:
    """Return the edges i < j of a maximum spanning forest, the heaviest first, shape (n_edges, 2).

    `weights` is symmetric, and minus infinity where there is no edge; ties go to the first pair.
    """
    left, right = np.nonzero(np.triu(weights > -np.inf, 1))
    weight = np.round(weights[left, right], TIE_DECIMALS)
    kept = listed_forest(len(weights), left, right, weight)
    return np.stack([left, right], axis=1)[kept]


def listed_forest(n: int, left: _Indices, right: _Indices, weights: Floats) -> NDArray[np.intp]:
    """Return the indices of the edges of a maximum spanning forest, the heaviest first.

    Parameters
    ----------
    n : int
        Number of nodes.
    left, right : ndarray of int, shape (n_edges,)
        The ends of different edges, in ascending order. Of edges of one weight the first one is
        heavier.
    weights : ndarray, shape (n_edges,)
    """
    order = np.argsort(-weights, kind="stable")
    return np.asarray(order[structure_kernels.first_forest(n, left[order], right[order])])


def candidate_scores(
    source: CountSource,
    columns: tuple[Variable, ...],
    given: Discrete | None,
    smoothing: Smoothing,
    pairs: Candidates,
) -> ArcScores:
    """Return the scores of the arcs of candidates from all rows, in arrays of shape (n_pairs,).

    They are those of `arc_scores`; the statistics are not kept.

    Raises
    ------
    MemoryLimitError
        If the statistics of the candidates do not fit in memory.
    """
    k = 1 if given is None else given.cardinality
    above = () if given is None else (given,)
    ends = list(zip(pairs.parents.tolist(), pairs.children.tolist(), strict=True))
    size = 8 * k * sum(n_moments((columns[p], columns[c])) for p, c in ends)
    if size * source.copies > default_memory_limit():
        raise MemoryLimitError(
            f"The statistics of {len(ends):,} candidate pairs take {format_bytes(size)}, of which "
            f"{source.copies} are held at a time: more than half of the machine's memory. Choose "
            "fewer candidates=, or leave out columns of many states."
        )
    gains = Gains(source, (*columns, *above), smoothing, "likelihood")
    rest = (gains.target,) if above else ()
    by_arc, rows = gains.with_rows([Extension((p,), rest, c) for p, c in ends])
    cards = np.array(gains.cards)
    parents, children = cards[pairs.parents], cards[pairs.children]
    # Of a number given a state there are a mean and a variance, given a number there is a slope.
    of_child = np.where(children > 0, children - 1, np.where(parents > 0, 2, 1))
    parameters = k * np.where(parents > 0, parents - 1, 1) * of_child
    everything = Family(() if source.target is None else (source.target,))
    total = float(source.families([everything])[everything].counts.sum())
    return ArcScores.of(safe_divide(by_arc, rows), rows, parameters, total, True)


def candidate_tree(
    columns: tuple[Variable, ...], pairs: Candidates, weights: Floats
) -> NDArray[np.intp]:
    """Return the indices of the edges of a maximum spanning forest, discrete columns first.

    Continuous columns are joined to each other and to one node that stands for all discrete
    columns. Required edges come first, then edges by descending weight; ties go to the first pair.

    Parameters
    ----------
    columns : tuple of Variable
    pairs : Candidates
    weights : ndarray, shape (n_pairs,)
        Minus infinity for an edge that is left out.
    """
    weight = np.where(pairs.forced, np.inf, np.round(weights, TIE_DECIMALS))
    parents, children = pairs.parents, pairs.children
    numeric = _are_numeric(columns)
    there = weight > -np.inf
    discrete = np.flatnonzero(there & ~numeric[children])
    numbers = np.flatnonzero(there & numeric[parents])
    between = np.flatnonzero(there & (numeric[children] != numeric[parents]))
    # The heaviest edge to each continuous column from a discrete one, the first of ties.
    order = between[np.lexsort((parents[between], -weight[between], children[between]))]
    joined = order[np.unique(children[order], return_index=True)[1]]
    n = len(columns)
    of_discrete = listed_forest(n, parents[discrete], children[discrete], weight[discrete])
    # Node 0 stands for all discrete columns.
    rest = np.concatenate([joined, numbers])
    left = np.concatenate([np.zeros(len(joined), dtype=np.int64), parents[numbers] + 1])
    of_rest = listed_forest(n + 1, left, children[rest] + 1, weight[rest])
    return np.concatenate([discrete[of_discrete], rest[of_rest]])
