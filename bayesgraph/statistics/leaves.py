"""Summaries of features whose only parent is the class: moments, samples, totals of items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import EXACT_LENGTHS, LENGTH_STEP, LENGTHS, Floats, is_sparse
from bayesgraph.core.errors import DataError
from bayesgraph.core.parallel import blocks, tree_sum
from bayesgraph.core.variables import Variable
from bayesgraph.statistics import counting_kernels, requests
from bayesgraph.statistics.moments import GroupMoments
from bayesgraph.statistics.summaries import column_values, group_codes
from bayesgraph.tables import Table

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


TRANSFORMS: dict[str, Transform] = {
    "identity": Transform(np.asarray, np.isfinite, "finite"),
    "non-negative": Transform(np.asarray, lambda x: x >= 0, "0 or more (Negative values in data)"),
    "log": Transform(np.log, lambda x: x > 0, "positive"),
    "log1m": Transform(lambda x: np.log1p(-x), lambda x: x < 1, "below 1"),
    "log or missing": Transform(lambda x: np.log(np.where(x > 0, x, np.nan)), np.isfinite, ""),
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
        parts = []
        for transform in (TRANSFORMS[name] for name in request.functions):
            wrong = (~transform.defined(values) & ~np.isnan(values)).any(axis=0)
            if wrong.any():
                name = request.columns[int(np.flatnonzero(wrong)[0])].name
                raise DataError(
                    f"Column {name!r} has values that are not {transform.domain}, which the "
                    "distribution chosen for it does not have. Choose another distribution, or "
                    "make them missing."
                )
            parts.append(transform.apply(values))
        group, n_groups = group_codes(table, request.given)
        columns = np.concatenate(parts, axis=1)
        return cls(request, GroupMoments.collect(columns, group, n_groups, weights))

    def part(self, request: requests.Moments) -> MomentsSummary | None:
        """Return the summary of some of the columns and functions, None if some are not here.

        A function is also here if it is, for values outside of its domain, missing.
        """
        mine = self.request
        place = {
            (name.removesuffix(" or missing"), column): i
            for i, (name, column) in enumerate(product(mine.functions, mine.columns))
        }
        at = [place.get(key, -1) for key in product(request.functions, request.columns)]
        if request.given != mine.given or -1 in at:
            return None
        arrays = (self.moments.count, self.moments.mean, self.moments.square)
        return MomentsSummary(request, GroupMoments(*(array[:, at] for array in arrays)))


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
            there = ~np.isnan(column) & (weight > 0)
            parts = [(group == g) & there for g in range(n_groups)]
            cells.append([distinct_values(column[rows], weight[rows]) for rows in parts])
        return cls._of(request, cells)

    @classmethod
    def _of(cls, request: requests.Samples, cells: list[list[tuple[Floats, Floats]]]) -> Self:
        """Return the summary of values and weights by column and group."""
        values, weights = (
            tuple(tuple(cell[i] for cell in column) for column in cells) for i in range(2)
        )
        return cls(request, values, weights)

    def _merged(self, other: SamplesSummary, sign: float) -> SamplesSummary:
        """Return these samples merged with those of `other` times `sign` (-1 removes rows)."""
        columns = zip(self.values, self.weights, other.values, other.weights, strict=True)
        cells = [
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
        places = range(n_groups) if at is None else at.tolist()
        cells = [[(np.empty(0), np.empty(0))] * n_groups for _ in self.values]
        for column, values, weights in zip(cells, self.values, self.weights, strict=True):
            for g, cell in enumerate(zip(values, weights, strict=True)):
                column[places[g]] = cell
        return self._of(request, cells)


def distinct_values(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return distinct values in ascending order, and the sum of the weights of each."""
    found, at = np.unique(values, return_inverse=True)
    return found, np.bincount(at, weights=weights, minlength=len(found)).astype(np.float64)


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
        return tree_sum(  # type: ignore[no-any-return]  # counts need not be whole
            cls._of_block(table.rows(rows), request, weights[rows]) for rows in blocks(table.n_rows)
        )

    @classmethod
    def _of_block(cls, table: Table, request: requests.Totals, weights: Floats) -> TotalsSummary:
        group, n_groups = group_codes(table, request.given)
        counts = table.counts[request.vector]
        n_items = len(request.vector.items)
        shape = (n_groups, n_items)
        sums, missing = np.zeros(shape), np.zeros(shape)
        row_totals = np.empty(table.n_rows)
        threshold = np.nan if request.threshold is None else request.threshold
        if is_sparse(counts) and threshold < 0:
            counts = counts.toarray()
        rows_of = np.arange(table.n_rows + 1) * n_items, np.empty(0, np.int64), np.ravel(counts)
        matrix = (counts.indptr, counts.indices, counts.data) if is_sparse(counts) else rows_of
        counting_kernels.sum_items(*matrix, group, weights, threshold, sums, missing, row_totals)
        weight = weights if len(weights) else np.ones(table.n_rows)
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
    known = np.flatnonzero(~np.isnan(totals))
    total = totals[known]
    steps = np.log(np.maximum(total, EXACT_LENGTHS) / EXACT_LENGTHS) / np.log(LENGTH_STEP)
    place = np.where(total < EXACT_LENGTHS - 0.5, total, EXACT_LENGTHS + steps)
    at = np.minimum(np.rint(place).astype(np.int64), len(LENGTHS) - 1)
    key = group[known] * np.int64(len(LENGTHS)) + at
    size = n_groups * len(LENGTHS)
    found = np.bincount(key, weights=weight[known], minlength=size).astype(np.float64)
    return found.reshape(n_groups, -1)


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
        there = group >= 0
        weight = weights[there] if len(weights) else None
        totals = np.bincount(group[there], weight, minlength=n_groups).astype(np.float64)
        n_bins = int(request.starts[-1])
        counts = np.zeros((n_bins, n_groups))
        low, high = np.full(n_bins, np.inf), np.full(n_bins, -np.inf)
        bins = pairwise(request.starts.tolist())
        for v, edges, (a, b) in zip(request.columns, request.edge_arrays, bins, strict=True):
            column = np.ascontiguousarray(table.column(v))
            counting_kernels.count_bins(
                column, group, weights, edges, counts[a:b], low[a:b], high[a:b]
            )
        return cls(request, totals, counts, low, high)

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
