"""Tree and forest structures: maximum spanning trees over all pairs of columns, or candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.errors import BayesGraphWarning, DataError, GraphError, unknown_variable, warn
from bayesgraph.core.parallel import check_memory, default_memory_limit
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.graphs import d_separated
from bayesgraph.learning import structure_kernels
from bayesgraph.learning.information import TIE_DECIMALS, ArcScores, arc_scores
from bayesgraph.learning.scores import Extension, Gains, fcll
from bayesgraph.learning.structure import (
    ArcRules,
    Structure,
    all_columns,
    below_class,
    check_source,
    learner,
    target_of,
)
from bayesgraph.statistics import (
    CountSource,
    Families,
    Family,
    Pairs,
    PairsSummary,
    Singles,
    Smoothing,
    SmoothingLike,
    as_smoothing,
    one_of,
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
    source: CountSource, columns: tuple[Variable, ...], condition: Discrete | None
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
    order = _counted_ahead(source, columns, condition)
    if order == 1:
        yield np.arange(len(columns)), source.pairs(Pairs(columns, condition))
        return
    for places in tiles(len(columns), order):
        part = tuple(columns[i] for i in places)
        yield places, source.pairs(Pairs(part, condition), keep=False)


def ask_ahead(source: CountSource) -> None:
    """Request the statistics of all pairs of features given the class, in one pass over the data.

    Later requests for single pairs are then answered without a pass of their own. If they are too
    large, only those of single features are requested.
    """
    if len(source.features) > 1:
        _counted_ahead(source, source.features, source.target)


def _counted_ahead(
    source: CountSource, columns: tuple[Variable, ...], condition: Discrete | None
) -> int:
    """Collect the statistics of all pairs, or of single columns; return the order of the tiles."""
    pairs = Pairs(columns, condition)
    order = 1 if source.holds(pairs) else tile_order(columns, condition, budget() // source.copies)
    if order == 1:
        source.pairs(pairs)
    else:
        source.singles(Singles(columns, condition))
    return order


def budget() -> int:
    """Return the maximum number of bytes of statistics of pairs that are held at a time."""
    return default_memory_limit() // SHARE


def tile_order(columns: tuple[Variable, ...], condition: Discrete | None, limit: int) -> int:
    """Return the number of groups of columns by which a tile takes at most `limit` bytes.

    A tile is all pairs of the columns of two groups; with one group there are no tiles.
    Tiles are not made smaller than of two columns, whatever they take.
    """
    n_bytes = pairs_bytes(columns, condition)
    if n_bytes <= limit:
        return 1
    # The first guess is from the 4 / q^2 of all pairs in a tile of q groups; of two groups the only
    # tile would be all pairs.
    order = max(3, math.isqrt(4 * n_bytes // max(limit, 1)))
    while order < len(columns) and tile_bytes(columns, condition, order) > limit:
        order += 1
    return min(order, len(columns))


def tile_bytes(columns: tuple[Variable, ...], condition: Discrete | None, order: int) -> int:
    """Return the number of bytes of the statistics of the largest tile; see `tile_order`."""
    parts = (tuple([columns[i] for i in places]) for places in tiles(len(columns), order))
    return max(pairs_bytes(part, condition) for part in parts)


def tiles(n: int, order: int) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the columns of each tile, ascending: of each two of `order` groups."""
    for groups in combinations(np.array_split(np.arange(n), order), 2):
        yield np.concatenate(groups)


def scores_of_pairs(
    source: CountSource,
    columns: tuple[Variable, ...],
    condition: Discrete | None,
    smoothing: Smoothing,
) -> ArcScores:
    """Return the scores of all arcs between columns; see `arc_scores` and `pair_summaries`.

    Raises
    ------
    MemoryLimitError
        If a number for each two columns is too much.
    """
    check_memory(
        f"The scores of all pairs of {len(columns):,} columns take",
        len(columns) ** 2,
        "Choose among the best partners of each column, as in TANClassifier(candidates=10), or use "
        "fewer columns.",
        copies=_MATRICES,
    )
    # The arrays of `ArcScores`, in their order, of shape (n_columns, n_columns).
    whole = [np.zeros(2 * [len(columns)], t) for t in (float, float, float, float, bool)]
    for places, summary in pair_summaries(source, columns, condition):
        scores = arc_scores(source, summary, smoothing)
        if len(places) == len(columns):  # all pairs come at once
            return scores
        for array, of_tile in zip(whole, vars(scores).values(), strict=True):
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
    def of(cls, numbers: _Indices, columns: tuple[Variable, ...], rules: ArcRules) -> Candidates:
        """Return the pairs of some `pair_numbers`, each once and ascending."""
        required = pair_numbers(_required(columns, rules), columns)
        # A stable sort is fast where all pairs come in order.
        listed = np.sort(numbers, kind="stable")
        listed = listed[np.diff(listed, prepend=-1) > 0]  # each once
        return cls(*np.divmod(listed, len(columns)), np.isin(listed, required))


def pair_numbers(ends: _Indices, columns: tuple[Variable, ...]) -> _Indices:
    """Return each pair as the index of its arc among those of all d columns: d parent + child.

    `ends` has the two columns of each pair in any order, shape (n_pairs, 2); which of them is the
    parent is as in `Candidates`.
    """
    numeric = _are_numeric(columns)
    ends = np.sort(ends, axis=1)
    # A number cannot be the parent of a discrete column.
    turned = numeric[ends[:, 0]] & ~numeric[ends[:, 1]]
    ends[turned] = ends[turned][:, ::-1]
    return np.asarray(ends @ [len(columns), 1])


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
    return ArcRules(forbidden=(*within, *((b, a) for a, b in within))).admissible(columns)


def warn_of_lost_links(source: CountSource, graph: Any, forbidden: Any, tiers: Any) -> None:
    """Warn of a number and a category that depend on each other, and that no arc may link.

    Arcs between them lead from the category to the number, which is what may be forbidden. What
    the learned graph shows by other arcs is not lost.
    """
    columns = source.features
    names = [variable.name for variable in columns]
    ruled_out = {*ArcRules.of(None, forbidden, names, tiers).forbidden}
    possible = ArcRules().admissible(columns)
    one_way = {(names[a], names[b]) for a, b in np.argwhere(possible & ~possible.T).tolist()}
    blocked = [
        (category, number)
        for category, number in one_way & ruled_out
        if (number, category) not in ruled_out and d_separated(graph, number, category)
    ]
    linked = tuple(v for v in columns if any(v.name in pair for pair in blocked))
    if not linked:
        return
    place = {variable.name: i for i, variable in enumerate(linked)}
    gains = scores_of_pairs(source, linked, None, as_smoothing("dirichlet")).net("bic")
    lost = [f"{n!r} and {c!r}" for c, n in blocked if gains[place[c], place[n]] > 0]
    if lost:
        warn(
            f"{'; '.join(sorted(lost)[:8])}: these depend on each other, which the network does "
            "not say. The arc from the category to the number is ruled out by tiers= or "
            "forbidden=, and none leads from a number to a category. Put both in one tier, or cut "
            "the number into intervals by a discretiser. check_columns=False silences this.",
            BayesGraphWarning,
        )


def candidate_pairs(
    source: CountSource,
    columns: tuple[Variable, ...],
    condition: Discrete | None,
    smoothing: Smoothing,
    n: int,
    rules: ArcRules,
) -> Candidates:
    """Return the n best partners of each column in a sample, and all edges of the sample's tree.

    Partners are ranked by the gain of their arc minus its expectation if there is no dependence,
    half a nat per parameter divided by the number of rows: gains are nats per row. The tree makes
    the candidates connect all columns.

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
    # `parents`: of each number, the one discrete column that it may have in the tree.
    partners, parents = _Best(len(columns), n), _Best(len(columns), 1)
    forest = _Forest(len(columns))
    for places, summary in pair_summaries(sample, columns, condition):
        scores = arc_scores(sample, summary, smoothing)
        expected = safe_divide(scores.parameters, 2.0 * scores.total)
        net = np.round(scores.gains - expected, TIE_DECIMALS)
        net[~(scores.learnable & joinable(summary.request.columns, rules))] = -np.inf
        net = np.maximum(net, net.T)  # of edges: their directions come later
        partners.update(places, net)
        # In the tree a number has at most one edge to a discrete column, and all other edges are
        # between columns of one kind.
        number = numeric[places]
        parents.update(places, np.where(number[:, None] & ~number, net, -np.inf))
        forest.update(places, np.where(number[:, None] == number, net, -np.inf))
    ends = [partners.pairs(), parents.pairs(), forest.ends, _required(columns, rules)]
    return Candidates.of(pair_numbers(np.concatenate(ends), columns), columns, rules)


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
        # Scores of partners that are listed already are left out: `index` is the place of each, and
        # any other place of a column that is not among these.
        index = np.minimum(np.searchsorted(places, before), len(places) - 1)
        row, column = np.nonzero(places[index] == before)
        scores = scores.copy()
        scores[row, index[row, column]] = -np.inf
        all_scores = np.concatenate([self.scores[places], scores], axis=1)
        partners = np.concatenate([before, np.broadcast_to(places, scores.shape)], axis=1)
        # The best first; ties go to the first column.
        order = np.lexsort((partners, -all_scores))[:, : before.shape[1]]
        best, partners = (np.take_along_axis(a, order, axis=1) for a in (all_scores, partners))
        self.scores[places] = best
        self.partners[places] = np.where(best > -np.inf, partners, -1)

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
        """Add the pairs of a tile: a symmetric matrix of scores, of columns at ascending places.

        An edge outside of the forest of some pairs is in no forest of more pairs.
        """
        edges = spanning_edges(scores)
        ends = np.concatenate([self.ends, places[edges]])
        scores = np.concatenate([self.scores, scores[*edges.T]])
        # Drop repeated pairs, which are all i < j: tiles share columns (see `pair_summaries`).
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
    condition: Discrete | None,
    smoothing: Smoothing,
    pairs: Candidates,
) -> ArcScores:
    """Return the scores of the arcs of candidates from all rows, in arrays of shape (n_pairs,).

    They are those of `arc_scores`, but that parameters are not reduced for sparse tables, and that
    columns are taken to vary, as those of candidates do. The statistics are not kept.

    Raises
    ------
    MemoryLimitError
        If the statistics of the candidates do not fit in memory.
    """
    k = 1 if condition is None else condition.cardinality
    above = () if condition is None else (condition,)
    ends = list(zip(pairs.parents.tolist(), pairs.children.tolist(), strict=True))
    check_memory(
        f"The statistics of {len(ends):,} candidate pairs take",
        Families(tuple(Family.of(*above, columns[p], columns[c]) for p, c in ends)).n_cells,
        "Choose fewer candidates=, or leave out columns of many states.",
        copies=source.copies,
    )
    gains = Gains(source, (*columns, *above), smoothing, "likelihood")
    others = (gains.target,) if above else ()
    by_arc, rows = gains.with_rows([Extension((p,), others, c) for p, c in ends])
    cards = np.array(gains.cards)  # 0 for numbers
    parents, children = cards[pairs.parents], cards[pairs.children]
    # Of a number given a state there are a mean and a variance, given a number there is a slope.
    of_child = np.where(children > 0, children - 1, np.where(parents > 0, 2, 1))
    parameters = k * np.where(parents > 0, parents - 1, 1) * of_child
    all_rows = Family(() if source.target is None else (source.target,))
    total = float(source.families([all_rows])[all_rows].counts.sum())
    return ArcScores.of(safe_divide(by_arc, rows), rows, parameters, total, varies=True)


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
    # Edges between two discrete columns, two continuous ones, and one of each kind.
    allowed = weight > -np.inf
    discrete = np.flatnonzero(allowed & ~numeric[children])
    numbers = np.flatnonzero(allowed & numeric[parents])
    between = np.flatnonzero(allowed & (numeric[children] != numeric[parents]))
    # The heaviest edge to each continuous column from a discrete one, the first of ties.
    order = between[np.lexsort((parents[between], -weight[between], children[between]))]
    joined = order[np.unique(children[order], return_index=True)[1]]
    n = len(columns)
    of_discrete = listed_forest(n, parents[discrete], children[discrete], weight[discrete])
    # Node 0 stands for all discrete columns.
    to_numbers = np.concatenate([joined, numbers])
    left = np.concatenate([np.zeros(len(joined), dtype=np.int64), parents[numbers] + 1])
    kept = listed_forest(n + 1, left, children[to_numbers] + 1, weight[to_numbers])
    return np.concatenate([discrete[of_discrete], to_numbers[kept]])


# ------------------------ Tree and forest structures: maximum spanning trees over scores of arcs

# Function from the scores of all arcs to the weights of edges, in nats per row, shape (d, d).
_Worth: TypeAlias = Callable[[ArcScores], Floats]


@learner(counts_ahead={"candidates": (None,)})
def tan(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    root: Name | None = None,
    score: str = "likelihood",
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    candidates: int | None = None,
) -> Structure:
    """Return the tree-augmented naive Bayes (TAN) structure.

    The star plus a maximum spanning tree over the features, weighted by conditional mutual
    information given the class (Friedman, Geiger, Goldszmidt 1997). For mixed types the tree over
    the discrete features is built first and contracted to one node, to which continuous features
    are joined; every arc between the types then points to the continuous feature.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Smoothing of the moments from which scores are computed.
    root : name, optional
        Root of the tree; by default the first discrete feature, or the first feature if all are
        continuous.
    score : {"likelihood", "fcll"}
        Score that the tree maximises: the likelihood, or the factorised conditional log likelihood
        (Carvalho, Roos, Oliveira, Myllymäki 2011), in which an edge has the weight
        ``p I(X; Y | C) + q [I(X; Y | C) - I(X; Y)]`` with p = (pi² - 6) / 12 and
        q = (18 - pi²) pi² / 144: it rewards discrimination of the classes beside the likelihood.
    required, forbidden : iterable of (name, name), optional
        Edges between features; their directions are ignored, as the root determines directions. If
        too few edges are allowed for one tree, the result is a forest. Columns of one value and
        pairs that too few rows have (see `ArcScores`) get no others than required edges.
    candidates : int, optional
        For very many columns: all pairs are scored in a sample of 65,536 rows, and only the best
        partners of each feature, as many as this number, and the edges of the sample's tree are
        counted in all rows. The tree is then the best one among these edges.

    Raises
    ------
    DataError
        For `candidates` with the score "fcll", or of a source that has statistics only.
    MemoryLimitError
        If the scores of all pairs, or the statistics of the candidates, do not fit in memory.
    GraphError
        If the root is continuous and there are discrete features, or if no tree contains all
        required edges.
    UnknownVariableError
        If the root or an end of an edge is not a feature.
    """
    target = target_of(source, "tan")
    one_of("score", score, ("likelihood", "fcll"))
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])

    def worth(scores: ArcScores) -> Floats:
        """Return the worth of each arc by the chosen score."""
        if score == "likelihood":
            return scores.gains
        alone = scores_of_pairs(source, features, None, as_smoothing(smoothing))
        return fcll(scores.gains, alone.gains)

    if candidates is not None and score == "fcll":
        raise DataError("candidates= takes score='likelihood'.")
    return _augmented(source, smoothing, target, features, root, worth, rules, candidates)


@learner(counts_ahead={"candidates": (None,)})
def forest(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    root: Name | None = None,
    score: str | float = "bic",
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    candidates: int | None = None,
) -> Structure:
    """Return the forest-augmented naive Bayes structure.

    The tree of `tan`, from which an edge is left out if its gain in log likelihood does not exceed
    the penalty for the parameters that it adds.

    Parameters
    ----------
    source, smoothing, root
        As for `tan`; `root` is the root of the component that contains it.
    score : {"bic", "aic"} or float
        An edge is kept if its gain in log likelihood exceeds log(rows) / 2 ("bic", Schwarz 1978) or
        1 ("aic", Akaike 1974) per parameter that it adds; or, if `score` is a number, if its gain
        per row exceeds this threshold, in nats.
    required, forbidden, candidates
        As for `tan`; a required edge is always kept.
    """
    target = target_of(source, "forest")
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    is_number = isinstance(score, (int, float, np.number)) and np.isfinite(score)
    if not is_number and score not in ("bic", "aic"):
        raise DataError(
            "score= (min_gain= of TANClassifier) is 'bic', 'aic' or a number of nats a row; got "
            f"{score!r}."
        )

    def worth(scores: ArcScores) -> Floats:
        """Return the gain of each arc minus its penalty, or minus the threshold."""
        if isinstance(score, str):
            return safe_divide(scores.net(score), scores.total)
        return scores.gains - score

    args = source, smoothing, target, features, root, worth, rules, candidates
    return _augmented(*args, pays=True)


@learner(counts_ahead={"candidates": (None,)})
def chow_liu(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    root: Name | None = None,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    candidates: int | None = None,
) -> Structure:
    """Return the tree over all columns, the class included, with the highest likelihood.

    Chow and Liu (1968): a maximum spanning tree over mutual information.

    Parameters
    ----------
    source, smoothing, required, forbidden, candidates
        As for `tan`; edges may include the class.
    root : name, optional
        Root of the tree; by default the class if there is one, else as for `tan`.
    """
    check_source(source, "chow_liu")
    columns = all_columns(source)
    if root is None and source.target is not None:
        root = source.target.name
    rules = ArcRules.of(required, forbidden, [v.name for v in columns])
    args = source, smoothing, None, columns, root, lambda scores: scores.gains, rules, candidates
    return _augmented(*args)


def _augmented(
    source: CountSource,
    smoothing: SmoothingLike,
    condition: Discrete | None,
    columns: tuple[Variable, ...],
    root: Name | None,
    worth: _Worth,
    rules: ArcRules,
    candidates: int | None,
    *,
    pays: bool = False,
) -> Structure:
    """Return a directed maximum spanning tree or forest, and `condition` as a parent of all.

    `worth` computes edge weights from the scores of arcs; `pays` says whether to leave out edges
    without a positive weight, which makes a forest. `candidates` is described in `tan`.
    """
    at_root = _root(columns, root)
    smoothing = as_smoothing(smoothing)
    if candidates is None:
        of_all = scores_of_pairs(source, columns, condition, smoothing)
        allowed = joinable(columns, rules)
        # Each edge once: of an arc that may have both directions only the one with parent < child.
        pairs = Candidates.of(np.flatnonzero(allowed & ~np.tril(allowed.T)), columns, rules)
        at = pairs.parents, pairs.children
        # Both directions of an edge have the same gain, up to rounding; an impossible one has 0.
        gains = of_all.gains[at]
        np.maximum(gains, of_all.gains.T[at], out=gains)
        weights, learnable = worth(of_all)[at], of_all.learnable[at]
        del of_all  # four numbers for each two columns
    else:
        n = whole_number("candidates=", "partners", candidates, 1)
        pairs = candidate_pairs(source, columns, condition, smoothing, n, rules)
        scores = candidate_scores(source, columns, condition, smoothing, pairs)
        weights, gains, learnable = worth(scores), scores.gains, scores.learnable
    if pays:
        learnable = learnable & (np.round(weights, TIE_DECIMALS) > 0)
    chosen = candidate_tree(columns, pairs, np.where(learnable, weights, -np.inf))
    edges = {
        (int(pairs.parents[i]), int(pairs.children[i])): float(gains[i]) for i in chosen.tolist()
    }
    linked = {frozenset((columns[i].name, columns[j].name)) for i, j in edges}
    for one, other in rules.required:
        if {one, other} not in linked:
            raise GraphError(
                f"The required edge {one!r} - {other!r} is in no tree with "
                "the others: together they form a cycle, or give a column two parents. Leave one "
                "out, or learn a structure of more parents, such as kdb."
            )
    arcs = directed(columns, edges, at_root)
    scored = {
        (columns[i].name, columns[j].name): edges[(i, j) if (i, j) in edges else (j, i)]
        for i, j in arcs
    }
    return below_class(condition, columns, scored)


def _root(columns: tuple[Variable, ...], name: Name | None) -> int | None:
    """Return the index of the root of this name; raise an error unless it can be one."""
    if name is None:
        return None
    names = [v.name for v in columns]
    if name not in names:
        raise unknown_variable(name, names, where="root=: the tree")
    root = names.index(name)
    if isinstance(columns[root], Continuous) and any(isinstance(v, Discrete) for v in columns):
        raise GraphError(
            f"root={name!r} is continuous, but a discrete feature cannot have a continuous parent; "
            "choose a discrete root."
        )
    return root


def rooted_forest(
    n: int, edges: Iterable[tuple[int, int]], roots: Iterable[int]
) -> tuple[list[int | None], list[int]]:
    """Return the parent of each node of an undirected forest, and an order with parents first.

    The root of each tree is the first element of `roots` that the tree contains. `n` is the number
    of nodes.
    """
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for i, j in edges:
        neighbours[i].append(j)
        neighbours[j].append(i)
    parent: list[int | None] = [None] * n
    order: dict[int, None] = {}  # an ordered set
    for root in roots:
        queue = [] if root in order else [root]
        for node in queue:  # which grows on the way
            order[node] = None
            for other in sorted(neighbours[node]):
                if other not in order and other != parent[node]:
                    parent[other] = node
                    queue.append(other)
    return parent, list(order)


def directed(
    columns: tuple[Variable, ...], edges: Iterable[tuple[int, int]], root: int | None
) -> list[tuple[int, int]]:
    """Return the arcs of a forest directed away from its roots, in the order of their children.

    The root of a component is `root` if the component contains it, else its first discrete
    variable, else its first variable.
    """
    discrete = [i for i, v in enumerate(columns) if isinstance(v, Discrete)]
    roots = [*([] if root is None else [root]), *discrete, *range(len(columns))]
    parent, _ = rooted_forest(len(columns), edges, roots)
    return [(above, child) for child, above in enumerate(parent) if above is not None]
