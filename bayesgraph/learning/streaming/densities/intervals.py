"""The second layer: intervals of a numeric column, and their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from bayesgraph.cpds import CPD
from bayesgraph.discretize.cells import cell_factorials, cut_cells
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming.densities import kernels
from bayesgraph.learning.streaming.densities.base import (
    THREAD,
    NumericDensities,
    TableDensities,
    grown_logs,
    smoothed_logs,
    table_plate,
)
from bayesgraph.learning.streaming.settings import SMOOTH, StreamSettings
from bayesgraph.parallel import over_rows
from bayesgraph.statistics.sketches import Cells, ColumnSummaries, CutSummaries
from bayesgraph.variables import Binned, Discrete, Name, Variable

# Degrees that are believed below their price: places and spreads.
_BELIEVED = 2
# Standard deviations by which small gains together exceed those of chance.
_DEVIATIONS = 2.0


@dataclass(frozen=True, eq=False)
class IntervalDensities(TableDensities, NumericDensities):
    """A probability of each interval in each class.

    Attributes
    ----------
    start, logs, centre : ndarray
        See TableDensities.
    cuts : ndarray, shape (number of intervals of all features,)
        Upper ends; infinite for the last interval of a feature.
    """

    cuts: Floats

    @classmethod
    def of(
        cls, summaries: CutSummaries, discretizer: str, bins: int, smoothing: float
    ) -> IntervalDensities:
        """Return the densities of summaries.

        Parameters
        ----------
        summaries : CutSummaries
        discretizer : "smooth" or key of `bayesgraph.discretize.cells.CELL_METHODS`
            How cells become intervals.
        bins : int
            Intervals of the methods that do not choose how many.
        smoothing : float
            Rows added to each interval of each class.
        """
        cells = summaries.cells()
        if discretizer == SMOOTH:
            held, begins = _smoothed_cells(cells)
        else:
            held = cells.counts
            begins = cut_cells(discretizer, cells.start, held, cells.low, cells.high, bins)
        places = np.flatnonzero(begins)
        # A feature that nothing is known of has no cell: one interval then, of no weight.
        sizes = np.diff(np.searchsorted(places, cells.start))
        start = np.concatenate([[0], np.cumsum(np.maximum(sizes, 1))]).astype(np.int64)
        counts, cuts = np.zeros((start[-1], held.shape[1])), np.full(start[-1], np.inf)
        known = np.repeat(sizes > 0, np.maximum(sizes, 1))
        if len(places):
            counts[known] = np.add.reduceat(held, places, axis=0)
            cuts[known] = cells.cuts[np.append(places[1:], len(begins)) - 1]
        added = _pooled(start, counts, smoothing) if discretizer == SMOOTH else smoothing
        logs, centre = smoothed_logs(start, counts, added)
        return cls(start, logs, centre, cuts)

    @classmethod
    def from_summaries(
        cls, summaries: ColumnSummaries, settings: StreamSettings
    ) -> IntervalDensities:
        """See NumericDensities."""
        assert isinstance(summaries, CutSummaries)  # their card says so
        return cls.of(summaries, settings.discretizer, settings.bins, settings.smoothing.alpha)

    def grown(self, n_more: int, shares: Floats, n_classes: int) -> IntervalDensities:
        """See Densities."""
        logs, centre = grown_logs(self.start, self.logs, self.centre, shares, n_classes)
        return IntervalDensities(
            np.append(self.start, self.start[-1] + np.arange(1, n_more + 1)),
            np.concatenate([logs, np.zeros((n_more, n_classes))]),
            np.concatenate([centre, np.zeros((n_classes, n_more))], axis=1),
            np.append(self.cuts, np.full(n_more, np.inf)),
        )

    def _write(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        kernels.log_intervals(columns, self.start, self.cuts, self.logs, out, start, stop)

    def variables(self, names: Sequence[Name]) -> tuple[Binned, ...]:
        """See NumericDensities: numbers known by their interval."""
        cuts = self.cuts.tolist()
        ends = pairwise(self.start.tolist())
        return tuple(
            Binned(name, cuts[a : b - 1]) for name, (a, b) in zip(names, ends, strict=True)
        )

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """See NumericDensities."""
        return table_plate(variables, self.start, self.logs, target)


def _smoothed_cells(cells: Cells) -> tuple[Floats, NDArray[np.bool_]]:
    """Return smoothed class weights of cells, and which of them begin an interval."""
    start, counts = cells.start, cells.counts
    held, begins = np.zeros(counts.shape), np.zeros(len(counts), dtype=np.bool_)
    factorial, belief = cell_factorials(start, counts), _belief(start, counts)
    over_rows(
        lambda a, b: kernels.smooth_cells(start, counts, held, begins, factorial, belief, a, b),
        len(start) - 1,
        1 + THREAD // 100,
        together=1,
    )
    return held, begins


def _pooled(start: NDArray[np.int64], counts: Floats, smoothing: float) -> Floats:
    """Return rows added to each interval, by its share of all classes, shape (n_intervals, 1).

    Shares that differ by little from those of all classes are drawn towards these: towards equal
    ones, classes of fewer rows would be drawn further.
    """
    size = np.repeat(np.diff(start), np.diff(start))
    pooled = counts.sum(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(pooled)])
    whole = np.repeat(sums[start[1:]] - sums[start[:-1]], np.diff(start))
    share = np.divide(pooled, whole, out=1.0 / size, where=whole > 0)
    return np.asarray((smoothing * size * share)[:, None])


def _belief(start: NDArray[np.int64], counts: Floats) -> Floats:
    """Return how far coefficients that are not worth their price are to be believed together.

    Twice what a degree gains by chance is chi-square with a degree of freedom for each class but
    one, of which features below the price are a truncated sample. Where their mean is higher by a
    factor of 1 + r, effects have r times the variance of their estimates, and the best linear
    estimate is r / (1 + r) of each (empirical Bayes; Efron, Morris 1973). A mean that may well be
    chance is: features without information stay one interval. One factor for each of the first
    degrees.
    """
    gains = np.empty((len(start) - 1, _BELIEVED))
    free = counts.shape[1] - 1
    if free == 0:
        return np.zeros(_BELIEVED)
    over_rows(
        lambda a, b: kernels.first_gains(start, counts, gains, a, b),
        len(gains),
        1 + THREAD // 100,
        together=1,
    )
    maximum = 2.0 * kernels.PRICE * free
    below = chi2.cdf(maximum, [free, free + 2, free + 4])
    by_chance = free * below[1] / below[0]
    spread = np.sqrt(free * (free + 2) * below[2] / below[0] - by_chance**2)
    faint = 2.0 * gains < maximum  # NaN is not
    n = np.maximum(faint.sum(axis=0), 1)
    excess = 2.0 * np.where(faint, gains, 0.0).sum(axis=0) / n / by_chance - 1.0
    excess = np.where(excess > _DEVIATIONS * spread / by_chance / np.sqrt(n), excess, 0.0)
    return np.asarray(excess / (1.0 + excess))
