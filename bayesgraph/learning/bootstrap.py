"""Confidence in the arcs of a structure, from samples of the rows, and the averaged network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more
from bayesgraph.core.errors import DataError
from bayesgraph.core.typing import RandomState, TableLike
from bayesgraph.core.upward import Upward
from bayesgraph.core.variables import Arc, Name, Variable
from bayesgraph.graphs import Pattern
from bayesgraph.learning.fit import Learner, Learning, opened, plain_source
from bayesgraph.learning.spanning import warn_of_lost_links
from bayesgraph.learning.structure import ArcRules, Structure, held
from bayesgraph.models import BayesianNetwork
from bayesgraph.statistics import TableSource
from bayesgraph.tables import Table

# Number of edges that are displayed.
_MAXIMUM_LINES = 20
# Decimals to which shares are rounded: they are sums of 1 / n_samples, whose rounding errors must
# not decide on ties and thresholds.
_TIE_DECIMALS = 9


@dataclass(frozen=True, eq=False, repr=False)
class ArcConfidence(Displayed):
    """How often arcs are learned from samples of the rows, and the averaged network.

    Attributes
    ----------
    arcs : dict from (parent, child) to float
        Share of the samples whose structure has the arc. Where the direction cannot be told from
        data, each of both counts half.
    edges : dict from (name, name) to float
        Share of the samples whose structure links both, names in the order of the columns; the
        highest first.
    threshold : float
        The averaged network has the edges of a larger share.
    network : BayesianNetwork
        The averaged network, with parameters estimated from all rows.
    n_samples : int
    """

    arcs: Mapping[Arc, float]
    edges: Mapping[Arc, float]
    threshold: float
    network: BayesianNetwork
    n_samples: int
    # Arguments of `_averaged` after the threshold: shares of arcs and edges, variables, and masks
    # of the arcs that are allowed and required.
    _input: tuple[Floats, tuple[Variable, ...], NDArray[np.bool_], NDArray[np.bool_]]

    def structure(self, threshold: float | None = None) -> Structure:
        """Return the structure of the edges whose share is larger than a threshold.

        Edges get their more frequent direction, the most certain first, unless it closes a cycle.
        What is left is directed as in a CPDAG.

        Parameters
        ----------
        threshold : float, optional
            By default that of the averaged network.

        Returns
        -------
        Structure
            The score of an arc is the share of the samples that link its ends.
        """
        _check_threshold(threshold)
        return _averaged(self.threshold if threshold is None else threshold, *self._input)

    render = Upward()

    @cached_property
    def _drawn(self) -> tuple[BayesianNetwork, dict[str, Any]]:
        """What is drawn: the averaged network, each arc with the share of its edge."""
        return self.network, {"arc_probabilities": self.structure().scores}

    def _display(self) -> DisplayTable:
        shown = list(self.edges.items())[:_MAXIMUM_LINES]
        rows = []
        for (a, b), share in shown:
            forward, backward = self.arcs.get((a, b), 0.0), self.arcs.get((b, a), 0.0)
            parent, child = (a, b) if forward >= backward else (b, a)
            # The second number is the share of the links that have the more frequent direction.
            remark = "" if share > self.threshold else "left out"
            cells = f"{share:.3f}", f"{max(forward, backward) / share:.3f}", remark
            rows.append((f"{parent} -> {child}", *cells))
        note = f"edges of a share over {self.threshold:.3g} are kept: {self.network!r}"
        not_shown = more(len(self.edges), len(shown), "edges")
        return DisplayTable(
            f"Arcs in {self.n_samples:,} samples of the rows",
            rows,
            ("", "share", "this way", ""),
            note="\n".join(filter(None, (not_shown, note))),
        )


def arc_confidence(
    table: TableLike,
    *,
    n_samples: int = 100,
    method: str | Learner = "hill_climb",
    threshold: float | None = None,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    tiers: Iterable[Any] | None = None,
    max_parents: int | None = None,
    missing: str | None = None,
    variables: Iterable[Variable] = (),
    categorical: Iterable[Name] | str | None = None,
    smoothing: Any = "dirichlet",
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = 0,
    check_columns: bool = True,
    **options: Any,
) -> ArcConfidence:
    """Return how often arcs are learned from samples of the rows: the bootstrap.

    A structure is learned from each of many samples of as many rows, drawn with replacement
    (Friedman, Goldszmidt, Wyner 1999). Of each structure the CPDAG counts, with the arcs that
    `required`, `forbidden` and `tiers` direct.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or mapping from name to column
    n_samples : int, default 100
    threshold : float, optional
        Share of the samples above which the averaged network has an edge; by default the one of
        Scutari and Nagarajan (2013), which is nearest to telling edges of share 0 and 1 apart.
    method, required, forbidden, tiers, max_parents, missing
        See :meth:`bayesgraph.BayesianNetwork.learn`.
    variables, categorical, smoothing, sample_weight, check_columns, **options
        See :meth:`bayesgraph.BayesianNetwork.learn`.
    random_state : int or numpy Generator, default 0

    Raises
    ------
    DataError
        For a dataset, whose rows are not held in memory, or an invalid option.

    Examples
    --------
    >>> rain = [0, 1] * 100
    >>> rows = {"rain": rain, "wet": rain, "coin": [0, 1, 1, 0] * 50}
    >>> found = arc_confidence(rows, n_samples=10, categorical="all")
    >>> found.edges["rain", "wet"]
    1.0
    """
    required, forbidden, tiers = map(held, (required, forbidden, tiers))
    _check_threshold(threshold)
    rules = {"required": required, "forbidden": forbidden, "tiers": tiers}
    setup = Learning(method, smoothing, missing, {**rules, "max_parents": max_parents, **options})
    data, columns = opened(table, sample_weight)
    if data is not None:
        raise DataError(
            f"The bootstrap draws from rows in memory, which a dataset ({data.source}) does not "
            "hold; give a table of some of its rows."
        )
    source = plain_source(None, columns, variables, categorical, sample_weight, check=check_columns)
    assert isinstance(source, TableSource)  # it is no dataset
    names = [v.name for v in source.variables]
    arc_rules = ArcRules.of(required, forbidden, names, tiers)
    bounds = arc_rules.admissible(source.variables), arc_rules.forced(source.variables)
    # Of arcs (first) and of edges, by both of their columns; see `_directions`.
    shares: Floats = np.zeros((2, len(names), len(names)))
    count = whole_number("n_samples=", "samples", n_samples, 1)
    for sample in _samples(source, count, np.random.default_rng(random_state)):
        shares += _directions(setup.structure(sample), names, *bounds) / count
    shares = shares.round(_TIE_DECIMALS)
    if threshold is None:
        # Each pair of columns once, as shares of edges are symmetric.
        threshold = significance_threshold(shares[1][np.triu_indices(len(names), 1)])
    inputs = shares, source.variables, *bounds
    # The scores are shares, which a network would take for gains in nats.
    network = setup.network(replace(_averaged(threshold, *inputs), scores={}), source)
    if check_columns:
        warn_of_lost_links(source, network.graph, forbidden, tiers)
    return ArcConfidence(*_named(shares, names), threshold, network, count, inputs)


def _samples(source: TableSource, n: int, random: np.random.Generator) -> Iterable[TableSource]:
    """Yield n sources of samples of the rows, drawn with replacement by their weights.

    A sample has as many rows as the table, or as the sum of its weights; its rows have weight 1.
    """
    table, weights = source.table, source.weights
    size = round(float(weights.sum())) if len(weights) else table.n_rows
    shares = weights / weights.sum() if len(weights) else None
    for _ in range(n):
        if shares is None:
            drawn = np.sort(random.integers(table.n_rows, size=table.n_rows))
        else:
            # Each row as often as it is drawn.
            drawn = np.repeat(np.arange(table.n_rows), random.multinomial(size, shares))
        codes = np.asfortranarray(table.codes[drawn])
        yield TableSource(Table(table.variables, codes, table.values[drawn], table.complete))


def _directions(
    structure: Structure, names: Sequence[Name], allowed: NDArray[np.bool_], forced: Any
) -> Floats:
    """Return the arcs, undirected ones half each way, and the edges of a structure's CPDAG.

    The shape is (2, d, d), parents along the second axis; edges count both ways. Rules direct edges
    of the CPDAG: `allowed` and `forced` are masks of shape (d, d), parents along the first axis.
    """
    place = {name: i for i, name in enumerate(names)}
    parents: list[list[int]] = [[] for _ in names]
    for a, b in structure.arcs:
        parents[place[b]].append(place[a])
    pattern = Pattern.of_class([sorted(above) for above in parents])
    for a, b in pattern.edges():
        for one, other in ((a, b), (b, a)):
            if forced[one, other] or not allowed[other, one]:
                pattern.direct(one, other)
    pattern.close()
    counts = np.zeros((2, len(names), len(names)))
    for a, b in pattern.arcs():
        counts[0, a, b] = counts[1, a, b] = counts[1, b, a] = 1.0
    for a, b in pattern.edges():
        counts[0, a, b] = counts[0, b, a] = 0.5
        counts[1, a, b] = counts[1, b, a] = 1.0
    return counts


def _named(shares: Floats, names: Sequence[Name]) -> tuple[dict[Arc, float], dict[Arc, float]]:
    """Return the shares of arcs and of edges by names.

    Edges are in descending order of their shares, and arcs in the order of their edges.
    """
    of_arcs, of_edges = shares
    # Pairs of columns that some sample links, each once.
    pairs = map(tuple, np.argwhere(np.triu(of_edges)).tolist())
    ranked = sorted(pairs, key=lambda pair: -of_edges[pair])
    edges = {(names[a], names[b]): float(of_edges[a, b]) for a, b in ranked}
    # Both directions of each pair, unless no sample has the arc.
    directed = [arc for pair in ranked for arc in (pair, pair[::-1]) if of_arcs[arc] > 0]
    return {(names[a], names[b]): float(of_arcs[a, b]) for a, b in directed}, edges


def _check_threshold(threshold: Any) -> None:
    """Raise a DataError unless a threshold is a number from 0 to 1, or None."""
    is_share = isinstance(threshold, (int, float, np.number)) and 0 <= threshold <= 1
    if not (threshold is None or is_share):
        raise DataError(
            f"threshold= is a share of the samples, a number from 0 to 1; got {threshold!r:.80}."
        )


def _averaged(
    threshold: float,
    shares: Floats,
    variables: tuple[Variable, ...],
    allowed: NDArray[np.bool_],
    forced: NDArray[np.bool_],
) -> Structure:
    """Return the structure of the edges above a threshold; see `ArcConfidence.structure`."""
    of_arcs, of_edges = shares
    kept = of_edges > threshold
    pattern = Pattern(len(kept), [(a, b) for a, b in np.argwhere(np.triu(kept)).tolist()])
    # Directions that rules force (as the arc is required, or the opposite one is not allowed) come
    # first, then those by how much more frequent they are than the opposite ones.
    margin, must = of_arcs - of_arcs.T, forced | ~allowed.T
    rank = np.where(must, -np.inf, -margin)
    directed = np.argwhere(kept & (must | (allowed & (margin > 0)))).tolist()
    for a, b in sorted(directed, key=lambda arc: (rank[tuple(arc)], arc)):
        if not pattern.leads(b, a):  # no cycle
            pattern.direct(a, b)
    pattern.close()
    pattern.extend()  # directs the other edges as in one graph of the class
    names = [variable.name for variable in variables]
    scores = {(names[a], names[b]): float(of_edges[a, b]) for a, b in pattern.arcs()}
    return Structure(variables, tuple(scores), scores)


def significance_threshold(shares: Floats) -> float:
    """Return the share above which edges are significant (Scutari and Nagarajan 2013).

    Of all distributions of shares that are 0 or 1, the one whose distribution function is nearest
    to that of the shares, in the L1 norm, has as many zeros as there are shares up to the result.

    Parameters
    ----------
    shares : ndarray, shape (n_pairs,)
    """
    if not len(shares):
        return 0.0
    ascending = np.sort(shares)
    # The different shares, and 0 and 1 as ends.
    grid = np.unique(np.concatenate([[0.0], ascending[ascending < 1.0], [1.0]]))
    # The distribution function of the shares between each number of the grid and the next.
    below = np.searchsorted(ascending, grid[:-1], side="right") / len(ascending)
    # The nearest constant to a step function is the median of its values by their lengths: as this
    # one ascends, its value in the middle of [0, 1].
    # The tolerance is for a sum of lengths of 0.5 that rounding made a little smaller.
    half = np.searchsorted(np.cumsum(np.diff(grid)), 0.5 - 1e-12)
    # The least share at which the distribution function reaches this value.
    return float(ascending[max(round(float(below[half]) * len(ascending)), 1) - 1])
