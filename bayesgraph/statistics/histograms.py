"""Histograms of numeric columns within groups of rows, with minimum and maximum of each bin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import kernels
from bayesgraph.statistics.additive import grown_axis, grown_groups, grown_request
from bayesgraph.statistics.leaves import LeafSummary
from bayesgraph.statistics.requests import Histograms
from bayesgraph.statistics.summaries import group_codes
from bayesgraph.variables import Variable


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

    request: Histograms
    totals: Floats
    counts: Floats
    low: Floats
    high: Floats

    @classmethod
    def collect(cls, table: Table, request: Histograms, weights: Floats) -> HistogramsSummary:
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
            kernels.count_bins(column, group, weights, edges, counts[a:b], low[a:b], high[a:b])
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
        """Re-index the summary to variables with additional states.

        `renamed` maps each old variable to the variable that replaces it.
        """
        request = grown_request(self.request, renamed)
        at, size = grown_groups(self.request.given, request.given)
        totals, counts = grown_axis(self.totals, 0, at, size), grown_axis(self.counts, 1, at, size)
        return HistogramsSummary(request, totals, counts, self.low, self.high)

    def columns(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield minima, maxima and counts (n_bins, K) of the bins of each column."""
        for a, b in pairwise(self.request.starts.tolist()):
            yield self.low[a:b], self.high[a:b], self.counts[a:b]
