"""Class-conditional probabilities of intervals of numeric columns, from stream summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr

from bayesgraph.cpds import CPD
from bayesgraph.discretize.cells import cell_factorials, cut_cells
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming.densities import kernels
from bayesgraph.learning.streaming.densities.base import (
    NumericDensities,
    TableDensities,
    grown_logs,
    smoothed_logs,
    table_plate,
)
from bayesgraph.learning.streaming.settings import SMOOTH, StreamSettings
from bayesgraph.parallel import by_rows
from bayesgraph.statistics.sketches import Cells, ColumnSummaries, CutSummaries
from bayesgraph.variables import Binned, Discrete, Name, Variable

# Number of polynomial degrees that are kept, with shrinkage, if their gain is below the penalty:
# degree 1 stands for location, 2 for spread.
_BELIEVED = 2
# Minimum excess of the mean of gains below the penalty over chance, in standard deviations.
_DEVIATIONS = 2.0
# Approximate number of operations for the cells of a feature.
_COST = 3200


@dataclass(frozen=True, eq=False)
class IntervalDensities(TableDensities, NumericDensities):
    """Log probabilities of the intervals of each numeric column in each class.

    Attributes
    ----------
    start, logs, centre : ndarray
        See TableDensities.
    cuts : ndarray, shape (number of intervals of all features,)
        Upper bounds of the intervals; infinite for the last interval of a feature.
    """

    cuts: Floats

    @classmethod
    def of(
        cls, summaries: CutSummaries, discretizer: str, bins: int, smoothing: float
    ) -> IntervalDensities:
        """Return densities estimated from summaries.

        Parameters
        ----------
        summaries : CutSummaries
        discretizer : "smooth" or key of `bayesgraph.discretize.cells.CELL_METHODS`
            Method that merges the cells of the summaries into intervals.
        bins : int
            Number of intervals, for methods that do not choose it.
        smoothing : float
            Pseudo-count of each interval in each class.
        """
        cells = summaries.cells()
        if discretizer == SMOOTH:
            held, begins = _smoothed_cells(cells)
        else:
            held = cells.counts
            begins = cut_cells(discretizer, cells.start, held, cells.low, cells.high, bins)
        places = np.flatnonzero(begins)
        # A feature without values has no cells: it gets one interval of weight 0.
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
        """Return densities with the discretiser of the settings; see NumericDensities."""
        assert isinstance(summaries, CutSummaries)  # the summaries' `densities` attribute says so
        return cls.of(summaries, settings.discretizer, settings.bins, settings.smoothing.alpha)

    def grown(self, n_more: int, shares: Floats, n_classes: int) -> IntervalDensities:
        """Return the densities with additional features and classes; see Densities."""
        logs, centre = grown_logs(self.start, self.logs, self.centre, shares, n_classes)
        return IntervalDensities(
            np.append(self.start, self.start[-1] + np.arange(1, n_more + 1)),
            np.concatenate([logs, np.zeros((n_more, n_classes))]),
            np.concatenate([centre, np.zeros((n_classes, n_more))], axis=1),
            np.append(self.cuts, np.full(n_more, np.inf)),
        )

    def _write(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        kernels.log_intervals(columns, self.start, self.cuts, self.logs, out, start, stop)

    def _add(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        kernels.add_intervals(columns, self.start, self.cuts, self.logs, out, start, stop)

    def variables(self, names: Sequence[Name]) -> tuple[Binned, ...]:
        """Return Binned variables: numbers observed as intervals; see NumericDensities."""
        cuts = self.cuts.tolist()
        ends = pairwise(self.start.tolist())
        return tuple(
            Binned(name, cuts[a : b - 1]) for name, (a, b) in zip(names, ends, strict=True)
        )

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """Return tables over the intervals given the class; see NumericDensities."""
        return table_plate(variables, self.start, self.logs, target)


def _smoothed_cells(cells: Cells) -> tuple[Floats, NDArray[np.bool_]]:
    """Return smoothed class weights of cells, and a mask of cells that begin an interval."""
    start, counts = cells.start, cells.counts
    held, begins = np.zeros(counts.shape), np.zeros(len(counts), dtype=np.bool_)
    factorial, belief = cell_factorials(start, counts), _belief(start, counts)
    arrays = (start, counts, held, begins, factorial, belief)
    by_rows(kernels.smooth_cells, arrays, len(start) - 1, _COST, together=1)
    return held, begins


def _pooled(start: NDArray[np.int64], counts: Floats, smoothing: float) -> Floats:
    """Return the pseudo-count of each interval, proportional to its total weight, (n_intervals, 1).

    Such pseudo-counts shrink the interval probabilities of each class towards those of all classes
    together. Equal pseudo-counts would shrink towards equal probabilities, and move small classes
    away from the others.
    """
    size = np.repeat(np.diff(start), np.diff(start))
    pooled = counts.sum(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(pooled)])
    whole = np.repeat(sums[start[1:]] - sums[start[:-1]], np.diff(start))
    share = np.divide(pooled, whole, out=1.0 / size, where=whole > 0)
    return np.asarray((smoothing * size * share)[:, None])


def _belief(start: NDArray[np.int64], counts: Floats) -> Floats:
    """Return the shrinkage factors of polynomial coefficients with gains below the penalty.

    There is one (empirical-Bayes, James-Stein type) factor for each of the first `_BELIEVED`
    degrees of `smooth_cells`, shared by all features. Twice the gain of a degree by chance is
    chi-squared with n_classes - 1 degrees of freedom; the features with a gain below the penalty
    are a truncated sample of it. If their mean is higher than by chance by a factor of 1 + r, the
    variance of the true coefficients is r times the variance of their estimates, and the best
    linear estimate is r / (1 + r) times the estimate (Efron, Morris 1973). If the excess may be due
    to chance, the factor is 0: features without information stay one interval.
    """
    gains = np.empty((len(start) - 1, _BELIEVED))
    free = counts.shape[1] - 1
    if free == 0:
        return np.zeros(_BELIEVED)
    by_rows(kernels.first_gains, (start, counts, gains), len(gains), _COST, together=1)
    maximum = 2.0 * kernels.PRICE * free
    below = chdtr([free, free + 2, free + 4], maximum)
    by_chance = free * below[1] / below[0]
    spread = np.sqrt(free * (free + 2) * below[2] / below[0] - by_chance**2)
    faint = 2.0 * gains < maximum  # False for NaN
    n = np.maximum(faint.sum(axis=0), 1)
    excess = 2.0 * np.where(faint, gains, 0.0).sum(axis=0) / n / by_chance - 1.0
    excess = np.where(excess > _DEVIATIONS * spread / by_chance / np.sqrt(n), excess, 0.0)
    return np.asarray(excess / (1.0 + excess))
