"""Additive counts and moments of single columns, pairs of columns and families of columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, pairwise, product
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import EXACT_LENGTHS, LENGTH_STEP, LENGTHS, Floats, is_sparse
from bayesgraph.core.errors import DataError
from bayesgraph.core.parallel import BYTES, blocks, check_memory, over_pairs, tree_sum
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.statistics import counting_kernels, requests
from bayesgraph.statistics.requests import GroupMoments, PairMoments, group_comoments, safe_divide
from bayesgraph.tables import Table

# --------------------- Additive joint counts of columns, each together with the same other columns


@dataclass(frozen=True, eq=False)
class ExtensionsSummary(requests.Additive):
    """Joint counts of columns, each together with the same other columns.

    Attributes
    ----------
    request : Extensions
    counts : ndarray, one-dimensional
        For each group the tables of shape (r, *cardinalities of the others) of its columns, one
        after the other.
    """

    request: requests.Extensions
    counts: Floats

    @classmethod
    def collect(
        cls, table: Table, request: requests.Extensions, weights: Floats
    ) -> ExtensionsSummary:
        """Return the summary of a table; `weights` is empty if every row weighs 1."""
        out = np.zeros(request.n_cells)
        columns = request.columns
        args = table.arrangement.places(columns.variables), columns.cards, request.plan
        counting_kernels.count_extensions(table.codes.T, *args, weights, out)
        return cls(request, out)


# --------- Additive counts and moments of single columns, pairs of columns and families of columns


@dataclass(frozen=True, eq=False)
class FamilyStatistics:
    """Joint statistics of a family of columns, from the rows that lack none of them.

    Attributes
    ----------
    counts : ndarray, shape (*cardinalities of the discrete variables)
        Weight of the rows in each configuration.
    mean : ndarray, shape (*cardinalities, n)
        Means of the n continuous variables; 0 in an empty configuration.
    comoment : ndarray, shape (*cardinalities, n, n)
        Sums of products of deviations from the mean.
    """

    counts: Floats
    mean: Floats
    comoment: Floats

    @classmethod
    def none(cls, family: requests.Family) -> FamilyStatistics:
        """Return the statistics of a family in no rows."""
        cards, n = tuple(v.cardinality for v in family.discrete), len(family.continuous)
        return cls(np.zeros(cards), np.zeros((*cards, n)), np.zeros((*cards, n, n)))

    def _moments(self) -> PairMoments:
        """Return the statistics as those of pairs of continuous columns, without missing values.

        Each configuration of the discrete columns is a group. Arrays have the shapes of
        `PairMoments`: (groups, 1, 1), (groups, n, 1) and (groups, n, n).
        """
        size, n = self.counts.size, self.mean.shape[-1]
        mean = np.broadcast_to(self.mean, (*self.counts.shape, n)).reshape(size, n, 1)
        comoment = self.comoment.reshape(size, n, n)
        square = np.diagonal(comoment, axis1=1, axis2=2)[..., None]
        return PairMoments(self.counts.reshape(size, 1, 1), mean, square, comoment)

    def _of(self, moments: PairMoments) -> FamilyStatistics:
        """Return moments of groups as statistics of this family: the inverse of `_moments`."""
        shape, n = self.counts.shape, self.mean.shape[-1]
        mean, comoment = moments.mean.reshape(*shape, n), moments.comoment.reshape(*shape, n, n)
        return FamilyStatistics(moments.count.reshape(shape), mean, comoment)

    def __add__(self, other: FamilyStatistics) -> FamilyStatistics:
        return self._of(self._moments() + other._moments())

    def __sub__(self, other: FamilyStatistics) -> FamilyStatistics:
        return self._of(self._moments() - other._moments())

    def grown(
        self, family: requests.Family, renamed: Mapping[Variable, Variable]
    ) -> FamilyStatistics:
        """Return the statistics for variables that are extended by additional states.

        `renamed` maps variables of the family to the variables that replace them.
        """
        counts, mean, comoment = self.counts, self.mean, self.comoment
        for axis, old in enumerate(family.discrete):
            new = requests.grown_variable(old, renamed)
            if new != old:
                places, arrays = requests.grown_groups(old, new), (counts, mean, comoment)
                counts, mean, comoment = (requests.grown_axis(a, axis, *places) for a in arrays)
        return FamilyStatistics(counts, mean, comoment)

    def merged(self, axis: int) -> FamilyStatistics:
        """Return the statistics with the discrete variable of an axis summed out."""
        total = self.counts.sum(axis=axis)
        weight = self.counts[..., None]
        centre = safe_divide((weight * self.mean).sum(axis=axis), total[..., None])
        spread = self.mean - np.expand_dims(centre, axis)
        # Products of the deviations of each mean from the joint one, times the rows: with those
        # within the configurations they make the comoment (law of total covariance).
        between = spread[..., :, None] * spread[..., None, :] * weight[..., None]
        return FamilyStatistics(total, centre, (self.comoment + between).sum(axis=axis))

    def part(self, family: requests.Family, some: requests.Family) -> FamilyStatistics:
        """Return the statistics of `some` columns of `family`, whose statistics these are.

        Both must rest on the same rows: no value of the family is missing.
        """
        summed_out = tuple([i for i, v in enumerate(family.discrete) if v not in some.discrete])
        if not some.continuous:
            return _without_moments(self.counts.sum(axis=summed_out))
        merged = self
        # From the last one, so that the axes before it keep their numbers.
        for axis in reversed(summed_out):
            merged = merged.merged(axis)
        at = [family.continuous.index(v) for v in some.continuous]
        comoment = merged.comoment[..., at, :][..., at]
        return FamilyStatistics(merged.counts, merged.mean[..., at], comoment)


def _without_moments(counts: Floats) -> FamilyStatistics:
    """Return the statistics of a family without continuous columns."""
    return FamilyStatistics(counts, np.zeros((*counts.shape, 0)), np.zeros((*counts.shape, 0, 0)))


def _of_moments(
    shape: tuple[int, ...], count: Floats, mean: Floats, square: Floats
) -> FamilyStatistics:
    """Return the statistics of a family with one continuous column.

    `shape` is that of the configurations; `square` has the sums of squared deviations in them.
    """
    return FamilyStatistics(
        count.reshape(shape), mean.reshape(*shape, 1), square.reshape(*shape, 1, 1)
    )


# Number of rows that are counted together by sets of rows, so few that the sets stay in the cache.
_TOGETHER = 32768


class _Columns:
    """Layout of arrays of statistics: the index of each column of a request, and of each state.

    Discrete columns and continuous columns are indexed separately. The states of all discrete
    columns are indexed one column after the other.

    Attributes
    ----------
    discrete : tuple of Discrete
    continuous : tuple of Continuous
    cards : ndarray, shape (n_discrete,)
        Numbers of states.
    start : ndarray, shape (n_discrete + 1,)
        Index of each discrete column's first state; the last entry is the number of all states.
    place : dict from variable to int
        The index of each column among those of its kind, discrete or continuous.
    """

    def __init__(self, columns: tuple[Variable, ...]) -> None:
        self.discrete = tuple([v for v in columns if isinstance(v, Discrete)])
        self.continuous = tuple([v for v in columns if isinstance(v, Continuous)])
        self.cards = np.array([len(v.states) for v in self.discrete], dtype=np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)
        kinds: tuple[tuple[Variable, ...], ...] = (self.discrete, self.continuous)
        self.place: dict[Any, int] = {v: i for kind in kinds for i, v in enumerate(kind)}

    def places_of(
        self, old: _Columns, renamed: Mapping[Variable, Variable]
    ) -> tuple[NDArray[np.intp], int]:
        """Return the index in this layout of each state in an old layout.

        Parameters
        ----------
        old : _Columns
            The layout before variables got additional states.
        renamed : mapping from Variable to Variable
            The variable that replaces each old variable.

        Returns
        -------
        (indices, number of states in this layout)
        """
        places = [np.empty(0, dtype=np.intp)]
        for variable in old.discrete:
            new = requests.grown_variable(variable, renamed)
            places.append(self.start[self.place[new]] + requests.state_positions(variable, new))
        return np.concatenate(places), int(self.start[-1])

    def states(self, variable: object) -> slice:
        """Return the slice of a variable's states among the states of all discrete columns."""
        at = self.place[variable]
        return slice(self.start[at], self.start[at + 1])


def group_codes(table: Table, condition: Discrete | None) -> tuple[NDArray[np.signedinteger], int]:
    """Return the group of each row, -1 where missing, and the number of groups."""
    if condition is None:
        return np.zeros(table.n_rows, dtype=np.int8), 1
    return table.column(condition), condition.cardinality


def _codes(table: Table, variables: tuple[Discrete, ...]) -> NDArray[np.signedinteger]:
    """Return the codes of columns, shape (n_columns, n_rows), without a copy if possible."""
    # The columns of the table's codes are in the order of `table.discrete`.
    if variables == table.discrete[: len(variables)]:
        return np.ascontiguousarray(table.codes.T[: len(variables)])
    if not variables:
        return np.empty((0, table.n_rows), dtype=table.codes.dtype)
    return np.stack([table.column(v) for v in variables])


def column_values(table: Table, variables: tuple[Continuous, ...]) -> Floats:
    """Return the values of columns, (n_rows, n_columns), without a copy if possible."""
    if variables == table.continuous:
        return table.values
    if not variables:
        return np.empty((table.n_rows, 0))
    return np.stack([table.column(v) for v in variables], axis=1)


@dataclass(frozen=True, eq=False)
class SinglesSummary(requests.Additive):
    """Statistics of each column within each state of the given variable, or over all rows.

    Attributes
    ----------
    request : Singles
    totals : ndarray, shape (K,)
        Weight of the rows in each of K groups, the states of the given variable.
    counts : ndarray, shape (K, number of states of all discrete columns)
        Weight of the rows in each group and state; the states of one column after the other.
    moments : GroupMoments
        Moments of the continuous columns in the K groups.
    """

    request: requests.Singles
    totals: Floats
    counts: Floats
    moments: GroupMoments

    @classmethod
    def collect(cls, table: Table, request: requests.Singles, weights: Floats) -> SinglesSummary:
        """Return the summary of a table; `weights` is empty if every row weighs 1."""
        layout = _Columns(request.columns)
        group, n_groups = group_codes(table, request.given)
        counts = np.zeros((n_groups, layout.start[-1]))
        if layout.discrete:
            codes = _codes(table, layout.discrete)
            counting_kernels.count_singles(codes, group, weights, layout.start[:-1], counts)
        has_group = group >= 0
        row_weights = weights[has_group] if len(weights) else None
        totals = np.bincount(group[has_group], row_weights, minlength=n_groups).astype(np.float64)
        values = column_values(table, layout.continuous)
        moments = GroupMoments.collect(values, group, n_groups, weights)
        return cls(request, totals, counts, moments)

    @cached_property
    def at(self) -> _Columns:
        """Indices of the request's columns and of their states."""
        return _Columns(self.request.columns)

    def grown(self, renamed: Mapping[Variable, Variable]) -> Self:
        """Re-index the summary to variables with additional states; see `Additive.grown`."""
        grown = super().grown(renamed)
        places = grown.at.places_of(self.at, renamed)
        return replace(grown, counts=requests.grown_axis(grown.counts, 1, *places))

    def answers(self, request: requests.Singles) -> bool:
        """Return whether the summary contains all statistics that `request` asks for."""
        same_groups = request.given == self.request.given
        if not same_groups or request.columns == self.request.columns:
            return same_groups
        return self.at.place.keys() >= {*request.columns}

    @cached_property
    def overall(self) -> GroupMoments:
        """Moments of the continuous columns over all rows, as a single group."""
        return self.moments.merged((len(self.totals),), 0)

    def family(self, family: requests.Family) -> FamilyStatistics | None:
        """Return the statistics of a family: the given variable, one column, or both; else None."""
        condition, at = self.request.given, self.at
        conditional = condition in family.discrete
        columns = [v for v in family.columns if v is not condition]
        # The given variable alone; or no column, where all rows are one group.
        if not columns and (conditional or condition is None):
            return _without_moments(self.totals)
        if len(columns) != 1 or columns[0] not in at.place:
            return None
        if family.continuous:
            moments, i = self.moments if conditional else self.overall, at.place[columns[0]]
            count, mean, square = moments.count[:, i], moments.mean[:, i], moments.square[:, i]
            # One configuration for each group, or a single one of all rows.
            return _of_moments((-1,) if conditional else (), count, mean, square)
        # The rows of the table are the groups, its columns the states.
        table = self.counts[:, at.states(columns[0])]
        if not conditional:
            return _without_moments(table.sum(axis=0))
        # The axes are in the order of the family.
        return _without_moments(table if family.discrete[0] is condition else table.T)


@dataclass(frozen=True, eq=False)
class PairsSummary(requests.Additive):
    """Statistics of each column and each pair of columns within each state of the given variable.

    Attributes
    ----------
    request : Pairs
    singles : SinglesSummary
    pair_counts : ndarray, one-dimensional
        Tables of shape (K, r_i, r_j) of all pairs i < j of discrete columns, one after the other,
        where K is the number of states of the given variable.
    pair_moments : PairMoments
        Moments of the pairs of continuous columns in K groups.
    mixed : GroupMoments
        Moments of the continuous columns within each state of each discrete column, in each of the
        K groups.
    """

    request: requests.Pairs
    singles: SinglesSummary
    pair_counts: Floats
    pair_moments: PairMoments
    mixed: GroupMoments

    @classmethod
    def collect(cls, table: Table, request: requests.Pairs, weights: Floats) -> PairsSummary:
        """Return the summary of a table; `weights` is empty if every row weighs 1."""
        layout = _Columns(request.columns)
        group, n_groups = group_codes(table, request.given)
        check_pairs(request, layout)
        codes = _codes(table, layout.discrete)
        pair_counts = _pair_counts(codes, group, n_groups, weights, layout.cards)
        single = requests.Singles(request.columns, request.given)
        singles = SinglesSummary.collect(table, single, weights)
        values = column_values(table, layout.continuous)
        pair_moments = PairMoments.collect_pairs(values, group, n_groups, weights)
        mixed = GroupMoments.collect(values, group, n_groups, weights, codes, layout.cards)
        return cls(request, singles, pair_counts, pair_moments, mixed)

    @cached_property
    def at(self) -> _Columns:
        """Indices of the request's columns and of their states."""
        return self.singles.at

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Offset in `pair_counts` at which the table of each pair starts, shape (n_pairs + 1,)."""
        return _pair_starts(self.at.cards, len(self.singles.totals))

    def grown(self, renamed: Mapping[Variable, Variable]) -> Self:
        """Re-index the summary to variables with additional states; see `Additive.grown`."""
        request = requests.grown_request(self.request, renamed)
        singles = self.singles.grown(renamed)
        layout = singles.at
        # The new index of each old group, and of each old state.
        groups, n_groups = requests.grown_groups(self.request.given, request.given)
        states, n_states = layout.places_of(self.at, renamed)
        tables = np.zeros(_pair_starts(layout.cards, n_groups)[-1])
        moments = self.pair_moments.grown(groups, n_groups)
        grown = replace(
            self, request=request, singles=singles, pair_counts=tables, pair_moments=moments
        )
        # The new index of each old state among the states of its own column, which begin at the
        # column's start; one array for each column.
        within = np.split(states - np.repeat(layout.start[:-1], self.at.cards), self.at.start[1:-1])
        for i, j in combinations(range(len(within)), 2):
            # The table is a view of the counts, which are written through it.
            grown.pair_table(i, j)[np.ix_(groups, within[i], within[j])] = self.pair_table(i, j)
        # The groups of `mixed` are states within groups; see `GroupMoments.collect`.
        mixed_places = (groups[:, None] * n_states + states).reshape(-1)
        return replace(grown, mixed=self.mixed.grown(mixed_places, n_groups * n_states))

    def pair_table(self, i: int, j: int) -> Floats:
        """Return the counts of discrete columns i < j, shape (K, r_i, r_j)."""
        d = len(self.at.discrete)
        # Number of the pair in lexicographic order (0, 1), (0, 2), ..., (d - 2, d - 1).
        pair = i * d - i * (i + 1) // 2 + j - i - 1
        shape = (len(self.singles.totals), self.at.cards[i], self.at.cards[j])
        return self.pair_counts[self.starts[pair] : self.starts[pair + 1]].reshape(shape)

    def family(self, family: requests.Family) -> FamilyStatistics | None:
        """Return the statistics of one or two columns, with or without the given variable.

        Of continuous columns without missing values there may be more than two. The result is None
        for other families.
        """
        condition, at = self.request.given, self.at
        # The condition has the first axis of all arrays here, if there is one.
        discrete = [v for v in family.discrete if v is not condition]
        columns = [*discrete, *family.continuous]
        if len(columns) < 2:
            return self.singles.family(family)
        is_conditional = condition is None or condition in family.discrete
        m = self.pair_moments
        # The rows that observe two numbers observe all of them if none is missing: then `m.count`
        # has a single entry for each group.
        most = 2 if discrete or m.count.size > len(m.count) else len(columns)
        if len(columns) > most or not (is_conditional and at.place.keys() >= {*columns}):
            return None
        places = [at.place[v] for v in columns]
        # Indices among the columns of their kind: of a discrete column and a number, i is the index
        # of the former, j that of the latter.
        i, j = places[:2]
        # The axes of the statistics below; at the end they are brought into the family's order.
        axes = discrete if condition is None else [condition, *discrete]
        cards = tuple([v.cardinality for v in axes])
        if len(discrete) == 2:
            table = self.pair_table(min(i, j), max(i, j))
            statistics = _without_moments((table if i < j else table.swapaxes(1, 2)).reshape(cards))
        elif discrete:  # a discrete column and a number
            arrays = self.mixed.count, self.mixed.mean, self.mixed.square
            shape = (len(self.singles.totals), -1, self.mixed.count.shape[-1])
            # Groups, states of all discrete columns, and continuous columns.
            states = at.states(discrete[0])
            statistics = _of_moments(cards, *[a.reshape(shape)[:, states, j] for a in arrays])
        else:
            n, diagonal = len(columns), np.arange(len(columns))
            first, second = np.ix_(places, places)
            of_pairs = np.broadcast_arrays(m.count, m.mean, m.square, m.comoment)
            count, mean, square, comoment = [a[:, first, second] for a in of_pairs]
            # Entry (i, j) has the mean and the square of number i beside number j. Of complete
            # numbers they are the same beside all j: here j is the one before i, or the last one.
            other = diagonal - 1
            comoment[:, diagonal, diagonal] = square[:, diagonal, other]
            # The count of a pair of numbers, the first and the last, is that of all of them.
            statistics = FamilyStatistics(
                count[:, 0, -1].reshape(cards),
                mean[:, diagonal, other].reshape(*cards, n),
                comoment.reshape(*cards, n, n),
            )
        # The family's discrete columns by their axis here; the axes of the numbers come last.
        order = [axes.index(v) for v in family.discrete]
        last = len(order)
        return FamilyStatistics(
            statistics.counts.transpose(order),
            statistics.mean.transpose(*order, last),
            statistics.comoment.transpose(*order, last, last + 1),
        )


def pairs_bytes(columns: Sequence[Variable], condition: Discrete | None) -> int:
    """Return the number of bytes of a PairsSummary of columns in which no number is missing."""
    cards = np.array([len(v.states) for v in columns if isinstance(v, Discrete)], dtype=np.float64)
    n_numbers = sum([isinstance(v, Continuous) for v in columns])
    n_groups = 1 if condition is None else condition.cardinality
    n_states = cards.sum()
    # In each group: its weight, the states, and count, mean and square of each number.
    singles = 1 + n_states + 3 * n_numbers
    # The sum of r_i r_j over all pairs i < j of discrete columns.
    tables = (n_states**2 - np.square(cards).sum()) / 2
    # Of pairs of n numbers n^2 comoments, n means, n squares and a count; in each state of each
    # discrete column the count, mean and square of each number.
    moments = (n_numbers + 1) ** 2 + 3 * n_states * n_numbers
    return int(8 * n_groups * (singles + tables + moments))


def check_pairs(request: requests.Pairs, at: _Columns) -> None:
    """Raise a MemoryLimitError, before any allocation, if statistics of pairs do not fit in memory.

    `at` has the columns of the request. Beside them learners hold their tables, in both directions:
    a fit of TAN 2.4 times the statistics in all, of AODE 3.8 times, of averaged TAN 5 times.
    """
    widest = sorted(at.discrete, key=attrgetter("cardinality"), reverse=True)[:3]
    named = ", ".join(f"{v.name!r} ({v.cardinality:,} states)" for v in widest)
    # Four copies: about what a fit of AODE holds.
    check_memory(
        f"The statistics of all pairs of {len(request.columns):,} columns, and their tables, take",
        pairs_bytes(request.columns, request.given) / BYTES,
        f"Leave out columns of many states: {named}." if widest else "Use fewer columns.",
        copies=4,
    )


def _pair_counts(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    n_groups: int,
    weights: Floats,
    cards: NDArray[np.int64],
) -> Floats:
    """Return the counts of all pairs of discrete columns; see `counting_kernels.count_pairs`.

    Columns of few states are counted by sets of rows if that takes less time than row by row: the
    rows with a state are bits of words, and the joint count of two states is the number of bits
    that both have.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
    group : ndarray, shape (n_rows,)
    n_groups : int
    weights : ndarray, shape (n_rows,) or (0,)
    cards : ndarray, shape (n_columns,)
        Numbers of states.

    Returns
    -------
    ndarray, one-dimensional
        The tables of the pairs i < j, as in `PairsSummary`.
    """
    start = _pair_starts(cards, n_groups)
    out = np.zeros(start[-1])
    n_columns, n_rows = codes.shape
    n_together = min(n_rows, _TOGETHER)
    # Columns of few states, which are counted by sets of rows; rows with weights are no sets.
    # The cost of a pair of such columns by sets, states squared times the words, against that by
    # rows. A word has 64 rows; the last word of each group may have fewer.
    few = (cards**2 * (n_together // 64 + n_groups) <= n_together) & (not len(weights))
    columns = np.flatnonzero(few)
    # Where the states of each of these columns begin among the sets.
    states = np.concatenate([[0], np.cumsum(cards[columns])])
    # A single column of few states has no pair that is counted by sets.
    for first in range(0, n_rows if len(columns) > 1 else 0, _TOGETHER):
        groups = group[first : first + _TOGETHER]
        # Each group of rows begins with a new word of 64 bits.
        n_words = -(-np.bincount(groups[groups >= 0], minlength=n_groups) // 64)
        word = np.concatenate([[0], np.cumsum(n_words)])
        sets = np.zeros((states[-1], word[-1]), dtype=np.uint64)
        some_rows = codes[:, first : first + _TOGETHER]
        counting_kernels.pack_states(some_rows, columns, groups, word, states, sets)
        args = sets, word, states, columns, n_columns, start, out
        # A rough number of operations, which decides how many threads there are.
        cost = sets.size * len(sets) // 8
        over_pairs(partial(counting_kernels.count_bits, *args), len(columns), cost)
    # The other pairs; those of two columns of few states are left out.
    if not few.all():
        arrays = codes, group, weights, cards, start, out, few
        cost = n_columns**2 // 2 * n_rows
        over_pairs(partial(counting_kernels.count_pairs, *arrays), n_columns, cost)
    return out


def _pair_starts(cards: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """Return where the counts of each pair of columns begin, and where those of the last end."""
    # All pairs first < second of the columns, in lexicographic order.
    first, second = np.triu_indices(len(cards), 1)
    return np.append(0, np.cumsum(n_groups * cards[first] * cards[second]))


@dataclass(frozen=True, eq=False)
class FamiliesSummary(requests.Additive):
    """Joint statistics of chosen families (sets of columns).

    Attributes
    ----------
    request : Families
    found : tuple of FamilyStatistics
        Statistics in the order of the request.
    """

    request: requests.Families
    found: tuple[FamilyStatistics, ...]

    @classmethod
    def collect(cls, table: Table, request: requests.Families, weights: Floats) -> FamiliesSummary:
        """Return the summary of a table; `weights` is empty if every row weighs 1."""
        statistics: dict[requests.Family, FamilyStatistics] = {}
        # Families of discrete columns by all of their columns but the first: those that share these
        # are counted together.
        by_shared: dict[tuple[Discrete, ...], list[requests.Family]] = {}
        # Families whose columns are among those of an earlier family, the last that is not such a
        # part itself: their statistics are summed out of its statistics.
        parts, whole = dict[requests.Family, requests.Family](), None
        for family in request.families:
            # Only without missing values all families rest on the same rows.
            if table.complete and whole and family.is_part_of(whole):
                parts[family] = whole
                continue
            whole = family
            if family.discrete and not family.continuous:
                by_shared.setdefault(family.discrete[1:], []).append(family)
            else:
                # Moments are not exact: they are summed in the order of the blocks.
                statistics[family] = tree_sum(
                    _of_family(table.rows(rows), family, weights[rows])
                    for rows in blocks(table.n_rows)
                )
        for shared, families in by_shared.items():
            statistics |= _collect_beside(table, shared, families, weights)
        statistics |= {some: statistics[of].part(of, some) for some, of in parts.items()}
        return cls(request, tuple(statistics[family] for family in request.families))

    def grown(self, renamed: Mapping[Variable, Variable]) -> Self:
        """Re-index the summary to variables with additional states; see `Additive.grown`."""
        pairs = zip(self.request.families, self.found, strict=True)
        grown = tuple(statistics.grown(family, renamed) for family, statistics in pairs)
        return replace(self, request=requests.grown_request(self.request, renamed), found=grown)

    def family(self, family: requests.Family) -> FamilyStatistics | None:
        """Return the statistics of one of the requested families, None for another one."""
        return self._by_family.get(family)

    @cached_property
    def _by_family(self) -> dict[requests.Family, FamilyStatistics]:
        return dict(zip(self.request.families, self.found, strict=True))


def _collect_beside(
    table: Table, shared: tuple[Discrete, ...], families: list[requests.Family], weights: Floats
) -> dict[requests.Family, FamilyStatistics]:
    """Return the counts of families that differ only in their first column, in one pass.

    Parameters
    ----------
    table : Table
    shared : tuple of Discrete
        The columns that all families share, after the first.
    families : list of Family
        Families of discrete columns.
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    """
    cards = tuple(v.cardinality for v in shared)
    columns = tuple(f.discrete[0] for f in families)
    n = len(columns)
    # The new columns, and the others, by their numbers in the request.
    group = tuple(range(n)), tuple(range(n, n + len(shared)))
    request = requests.Extensions(requests.Numbered((*columns, *shared)), (group,))
    out = ExtensionsSummary.collect(table, request, weights).counts
    # Where the table of each family ends among the counts of all.
    ends = np.cumsum([v.cardinality for v in columns]) * math.prod(cards)
    tables = np.split(out, ends[:-1])
    return {
        f: _without_moments(counts.reshape(-1, *cards))
        for f, counts in zip(families, tables, strict=True)
    }


def _of_family(table: Table, family: requests.Family, weights: Floats) -> FamilyStatistics:
    """Return the statistics of a family, from the rows that observe all of its columns."""
    codes = [table.column(v) for v in family.discrete]
    values = column_values(table, family.continuous)
    cards = tuple(v.cardinality for v in family.discrete)
    # Number of configurations of the discrete columns, 1 without any.
    size = int(np.prod(cards, dtype=np.intp))
    if not table.complete:
        # Of no columns, `any` is false and `all` true: they leave out no row.
        kept = ~np.isnan(values).any(axis=1) & np.all([column >= 0 for column in codes], axis=0)
        codes, values = [column[kept] for column in codes], values[kept]
        weights = weights[kept] if len(weights) else weights
    # Number of each row's configuration, the last column fastest.
    key = np.ravel_multi_index(codes, cards) if codes else np.zeros(len(values), dtype=np.intp)
    n = len(family.continuous)
    counts, mean, comoment = group_comoments(values, key, size, weights)
    return FamilyStatistics(
        counts.reshape(cards), mean.reshape(*cards, n), comoment.reshape(*cards, n, n)
    )


# --------- Summaries of features whose only parent is the class: moments, samples, totals of items


class LeafSummary:
    """Base class of summaries without joint statistics of several columns."""

    def family(self, family: requests.Family) -> None:
        """Return None: the summary does not hold the joint statistics of a family."""


class Transform(NamedTuple):
    """A function of a column, and its domain.

    Attributes
    ----------
    apply : callable
        The function, which is applied to an array element by element.
    defined : callable
        Returns for each element whether it is in the domain; the result for NaN is ignored.
    domain : str
        The domain in words, for messages.
    """

    apply: Callable[[Floats], Floats]
    defined: Callable[[Floats], NDArray[np.bool_]]
    domain: str


# Number of entries that are transformed together, which stay in the cache.
_TRANSFORMED = 8192


def _log_or_missing(x: Floats) -> Floats:
    # Signs follow no pattern: branches by them, and logarithms of negative numbers, are slow. What
    # is added is 0 / 1 = 0 for a positive number, and 0 / 0 = NaN, missing, for others.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.abs(x)) + np.divide(0.0, x > 0))


TRANSFORMS: dict[str, Transform] = {
    "identity": Transform(np.asarray, np.isfinite, "finite"),
    "non-negative": Transform(np.asarray, lambda x: x >= 0, "0 or more (Negative values in data)"),
    "log": Transform(np.log, lambda x: x > 0, "positive"),
    "log1m": Transform(lambda x: np.log1p(-x), lambda x: x < 1, "below 1"),
    "log or missing": Transform(_log_or_missing, np.isfinite, ""),
}


@dataclass(frozen=True, eq=False)
class MomentsSummary(requests.Additive, LeafSummary):
    """Moments of functions of columns, such as log(x), within groups of rows.

    Attributes
    ----------
    request : Moments
    moments : GroupMoments
        Moments in K groups, the states of the variable `request.given`. Entries are ordered by
        function, then by column.
    """

    request: requests.Moments
    moments: GroupMoments

    @classmethod
    def collect(cls, table: Table, request: requests.Moments, weights: Floats) -> MomentsSummary:
        """Return the requested moments of a table; `weights` is empty if every row weighs 1.

        Raises
        ------
        DataError
            For a value at which a function is not defined.
        """
        values = column_values(table, request.columns)
        n_rows, n_columns = values.shape
        columns = np.empty((n_rows, len(request.functions), n_columns))
        # Number of rows that are transformed together.
        step = 1 + _TRANSFORMED // max(1, n_columns)
        for j, transform in enumerate([TRANSFORMS[name] for name in request.functions]):
            for first in range(0, n_rows, step):
                block = values[first : first + step]
                # NaN, which is missing, differs from itself.
                wrong = (block == block) & ~transform.defined(block)
                if wrong.any():
                    name = request.columns[int(wrong.any(axis=0).argmax())].name
                    raise DataError(
                        f"Column {name!r} has values that are not {transform.domain}, which the "
                        "distribution chosen for it does not have. Choose another distribution, or "
                        "make them missing."
                    )
                columns[first : first + step, j] = transform.apply(block)
        group, n_groups = group_codes(table, request.given)
        numbers = columns.reshape(n_rows, len(request.functions) * n_columns)
        return cls(request, GroupMoments.collect(numbers, group, n_groups, weights))

    def with_identity(self, singles: SinglesSummary) -> MomentsSummary:
        """Return the summary with the moments of the columns themselves as the first function.

        They are those of `singles`, which has all of the columns in the same groups.
        """
        request = replace(self.request, functions=("identity", *self.request.functions))
        # `place` has the index of a column among the continuous ones, those of `singles.moments`.
        numbers = singles.moments.columns([singles.at.place[v] for v in request.columns])
        # Pairs of counts, of means and of squares, the attributes of moments in their order. Along
        # axis 1 are the functions, and the columns of each: these come first.
        arrays = zip(*(vars(part).values() for part in (numbers, self.moments)), strict=True)
        joined = GroupMoments(*(np.concatenate(pair, axis=1) for pair in arrays))
        return MomentsSummary(request, joined)

    def part(self, request: requests.Moments) -> MomentsSummary | None:
        """Return the summary of some of the columns and functions, None if some are not here.

        A request for "log" is also answered by "log or missing", which is missing outside of the
        domain of the logarithm.
        """
        mine = self.request
        # The index of each pair of function and column in the moments.
        place = {
            (name.removesuffix(" or missing"), column): i
            for i, (name, column) in enumerate(product(mine.functions, mine.columns))
        }
        at = [place.get(key, -1) for key in product(request.functions, request.columns)]
        if request.given != mine.given or -1 in at:
            return None
        return MomentsSummary(request, self.moments.columns(at))


@dataclass(frozen=True, eq=False)
class SamplesSummary(LeafSummary):
    """The distinct observed values of each column in each group, ascending.

    Equal values are merged and their weights added, so that the summary does not depend on the
    order of rows and batches.

    Attributes
    ----------
    request : Samples
    values, weights : tuple of tuples of ndarray
        For each column a tuple of arrays, one for each group.
    """

    request: requests.Samples
    values: tuple[tuple[Floats, ...], ...]
    weights: tuple[tuple[Floats, ...], ...]

    @classmethod
    def collect(cls, table: Table, request: requests.Samples, weights: Floats) -> SamplesSummary:
        """Return the requested values of a table; `weights` is empty if every row weighs 1."""
        group, n_groups = group_codes(table, request.given)
        weight = weights if len(weights) else np.ones(table.n_rows)
        cells = []
        for column in column_values(table, request.columns).T:
            is_used = ~np.isnan(column) & (weight > 0)
            rows_of_group = [(group == g) & is_used for g in range(n_groups)]
            cells.append([distinct_values(column[rows], weight[rows]) for rows in rows_of_group])
        return cls._of(request, cells)

    @classmethod
    def _of(cls, request: requests.Samples, cells: list[list[tuple[Floats, Floats]]]) -> Self:
        """Return the summary of cells: for each column and group a pair (values, weights)."""
        values, weights = (
            tuple(tuple(cell[i] for cell in column) for column in cells) for i in range(2)
        )
        return cls(request, values, weights)

    def _merged(self, other: SamplesSummary, sign: float) -> SamplesSummary:
        """Return these samples merged with those of `other` times `sign` (-1 removes rows)."""
        columns = zip(self.values, self.weights, other.values, other.weights, strict=True)
        cells = [
            # For each group the values a with weights w here, then b with v in `other`.
            [_joined(a, w, b, sign * v) for a, w, b, v in zip(*arrays, strict=True)]
            for arrays in columns
        ]
        return self._of(self.request, cells)

    def __add__(self, other: SamplesSummary) -> SamplesSummary:
        return self._merged(other, 1.0)

    def __sub__(self, other: SamplesSummary) -> SamplesSummary:
        return self._merged(other, -1.0)

    def grown(self, renamed: Mapping[Variable, Variable]) -> SamplesSummary:
        """Re-index the summary to variables with additional states; see `Additive.grown`."""
        request = requests.grown_request(self.request, renamed)
        at, n_groups = requests.grown_groups(self.request.given, request.given)
        # New groups have no values.
        cells = [[(np.empty(0), np.empty(0))] * n_groups for _ in self.values]
        for column, values, weights in zip(cells, self.values, self.weights, strict=True):
            for g, cell in enumerate(zip(values, weights, strict=True)):
                column[at[g]] = cell
        return self._of(request, cells)


def distinct_values(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return distinct values in ascending order, and the sum of the weights of each."""
    distinct, at = np.unique(values, return_inverse=True)
    return distinct, np.bincount(at, weights=weights, minlength=len(distinct)).astype(np.float64)


def _joined(a: Floats, w: Floats, b: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Merge two samples of distinct values; negative weights in the second remove rows.

    The first sample has the values `a` with the weights `w`, the second `b` with `v`. The result is
    the ascending values and their weights.

    Raises
    ------
    DataError
        If more weight of a value is removed than there is.
    """
    values, at = np.unique(np.concatenate([a, b]), return_inverse=True)
    before = np.bincount(at[: len(a)], weights=w, minlength=len(values)).astype(np.float64)
    change = np.bincount(at[len(a) :], weights=v, minlength=len(values))
    left = requests.removed(before + change, before)
    return values[left > 0], left[left > 0]


@dataclass(frozen=True, eq=False)
class TotalsSummary(requests.Additive, LeafSummary):
    """Total count of each item in each of K groups of rows, the states of the variable `given`.

    Attributes
    ----------
    request : Totals
    sums : ndarray, shape (K, n_items)
        Weighted sums of the known counts. If the request has a threshold: the weight of the rows
        whose count exceeds it.
    seen : ndarray, shape (K, 1) or (K, n_items)
        Weight of the rows in which the item's count is known; one column if no count is missing.
    lengths : ndarray, shape (K, len(LENGTHS))
        Histogram of the rows' total counts, rounded to the nearest length in `LENGTHS`. Rows with
        missing counts are left out.
    """

    request: requests.Totals
    sums: Floats
    seen: Floats
    lengths: Floats

    @classmethod
    def collect(cls, table: Table, request: requests.Totals, weights: Floats) -> TotalsSummary:
        """Return the requested totals of a table; `weights` is empty if every row weighs 1."""
        group, n_groups = group_codes(table, request.given)
        counts = table.counts[request.vector]
        n_items = len(request.vector.items)
        shape = (n_groups, n_items)
        sums, missing = np.zeros(shape), np.zeros(shape)
        row_totals = np.empty(table.n_rows)
        # NaN tells the kernel to add up counts; no comparison with it is true.
        threshold = np.nan if request.threshold is None else request.threshold
        if is_sparse(counts) and threshold < 0:
            counts = counts.toarray()  # counts of 0 exceed the threshold too
        # Row offsets, item indices and counts, as in CSR format; without indices each row has all
        # items in order.
        if is_sparse(counts):
            matrix = counts.indptr, counts.indices, counts.data
        else:
            offsets = np.arange(table.n_rows + 1) * n_items
            matrix = offsets, np.empty(0, np.int64), np.ravel(counts)
        counting_kernels.sum_items(*matrix, group, weights, threshold, sums, missing, row_totals)
        weight = weights if len(weights) else np.ones(table.n_rows)
        # The weight of the rows in each group, as a column beside the items.
        rows = np.bincount(group, weights=weight, minlength=n_groups)[:, None].astype(np.float64)
        return cls(
            request,
            sums,
            requests.removed(rows - missing, rows) if missing.any() else rows,
            _length_histogram(row_totals, group, weight, n_groups),
        )


def _length_histogram(
    totals: Floats, group: NDArray[np.signedinteger], weight: Floats, n_groups: int
) -> Floats:
    """Return a weighted histogram of the rows' total counts, shape (n_groups, len(LENGTHS)).

    A total is counted at the nearest length in `LENGTHS`; rows whose total is NaN are left out.
    """
    rows = np.flatnonzero(~np.isnan(totals))
    total = totals[rows]
    # A length below `EXACT_LENGTHS` is its own index in `LENGTHS`; beyond it lengths grow by the
    # factor `LENGTH_STEP`, and indices with the logarithm.
    steps = np.log(np.maximum(total, EXACT_LENGTHS) / EXACT_LENGTHS) / np.log(LENGTH_STEP)
    place = np.where(total < EXACT_LENGTHS - 0.5, total, EXACT_LENGTHS + steps)
    # Greater totals than the last length are counted there.
    at = np.minimum(np.rint(place).astype(np.int64), len(LENGTHS) - 1)
    # The index in the flat histogram.
    key = group[rows] * np.int64(len(LENGTHS)) + at
    size = n_groups * len(LENGTHS)
    histogram = np.bincount(key, weights=weight[rows], minlength=size).astype(np.float64)
    return histogram.reshape(n_groups, -1)


# ------- Histograms of numeric columns within groups of rows, with minimum and maximum of each bin


@dataclass(frozen=True, eq=False)
class HistogramsSummary(LeafSummary):
    """Histograms of columns; rows can be added, not removed, because minima are not sums.

    Attributes
    ----------
    request : Histograms
    totals : ndarray, shape (K,)
        Weight of the rows in each of K groups, the states of the given variable.
    counts : ndarray, shape (n_bins, K)
        Weight of the rows in each bin; the bins of all columns, one column after the other.
    low, high : ndarray, shape (n_bins,)
        Minimum and maximum value in each bin; inf and -inf in an empty one.
    """

    request: requests.Histograms
    totals: Floats
    counts: Floats
    low: Floats
    high: Floats

    @classmethod
    def collect(
        cls, table: Table, request: requests.Histograms, weights: Floats
    ) -> HistogramsSummary:
        """Return the histograms of a table; `weights` is empty if every row weighs 1."""
        group, n_groups = group_codes(table, request.given)
        n_bins = int(request.starts[-1])
        counts = np.zeros((n_bins, n_groups))
        low, high = np.full(n_bins, np.inf), np.full(n_bins, -np.inf)
        # The first bin of each column, and the one after its last.
        bins = pairwise(request.starts.tolist())
        for v, edges, (a, b) in zip(request.columns, request.edge_arrays, bins, strict=True):
            column = np.ascontiguousarray(table.column(v))
            counting_kernels.count_bins(
                column, group, weights, edges, counts[a:b], low[a:b], high[a:b]
            )
        return cls(request, requests.counts_of(group, n_groups, weights), counts, low, high)

    def __add__(self, other: HistogramsSummary) -> HistogramsSummary:
        return HistogramsSummary(
            self.request,
            self.totals + other.totals,
            self.counts + other.counts,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def grown(self, renamed: Mapping[Variable, Variable]) -> HistogramsSummary:
        """Re-index the summary to variables with additional states; see `Additive.grown`."""
        request = requests.grown_request(self.request, renamed)
        groups = requests.grown_groups(self.request.given, request.given)
        totals = requests.grown_axis(self.totals, 0, *groups)
        counts = requests.grown_axis(self.counts, 1, *groups)
        return HistogramsSummary(request, totals, counts, self.low, self.high)

    def columns(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield minima, maxima and counts (n_bins, K) of the bins of each column."""
        for a, b in pairwise(self.request.starts.tolist()):
            yield self.low[a:b], self.high[a:b], self.counts[a:b]
