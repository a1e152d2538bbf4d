"""Base classes of the class-conditional densities of a stream's columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr

from bayesgraph.core.arrays import Floats
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import Binned, Continuous, Discrete, Name, Variable
from bayesgraph.learning.streams import density_kernels
from bayesgraph.learning.streams.settings import SMOOTH, StreamSettings
from bayesgraph.models import CPD, GaussianPlate, TablePlate
from bayesgraph.statistics import (
    Cells,
    ColumnSummaries,
    CutSummaries,
    FrequentValues,
    GaussianSummary,
    cell_factorials,
    cut_cells,
    modl_groups,
    safe_divide,
)

# --------------------------- Base classes of the class-conditional densities of a stream's columns


class Densities(ABC):
    """Log densities p(x_i | y) of columns, constant between two refreshes from the summaries.

    Attributes
    ----------
    centre : ndarray, shape (n_classes, n_features)
        Means of the log densities of each class over all rows learned so far, whatever their class.
    """

    centre: Floats

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @abstractmethod
    def write(self, columns: Any, out: Floats, first: int) -> None:
        """Write the log densities of rows into `out`, 0 where a value is missing.

        Parameters
        ----------
        columns : ndarray, shape (n_features, n)
        out : ndarray, shape (n, n_classes, total number of features)
        first : int
            Index in `out` of the first of these columns.
        """

    @abstractmethod
    def add(self, columns: Any, out: Floats) -> None:
        """Add the log densities of each row, 0 where a value is missing, to the sum of each class.

        Parameters
        ----------
        columns : ndarray, shape (n_features, n)
        out : ndarray, shape (n_classes, n)
        """

    @abstractmethod
    def grown(self, n_more: int, shares: Floats, n_classes: int) -> Self:
        """Return the densities with additional uninformative features and additional classes.

        Parameters
        ----------
        n_more : int
            Number of features to add at the end.
        shares : ndarray, shape (old number of classes,)
            Class shares of the rows. Until the next refresh, a new class has the density of all
            rows.
        n_classes : int
        """

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the densities as named arrays, the arguments of the constructor."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class TableDensities(Densities):
    """Log probabilities of cells (intervals, states or groups of states) in each class.

    Attributes
    ----------
    start : ndarray of int, shape (n_features + 1,)
        Offset of the first cell of each feature, and the total number of cells.
    logs : ndarray, shape (number of cells of all features, n_classes)
    centre : ndarray, shape (n_classes, n_features)
    """

    start: NDArray[np.int64]
    logs: Floats
    centre: Floats

    @property
    def n_features(self) -> int:
        """Number of columns; see Densities."""
        return len(self.start) - 1


class NumericDensities(Densities):
    """Base class of the log densities of numeric columns."""

    def write(self, columns: Any, out: Floats, first: int) -> None:
        """Write the log densities of rows, with several threads; see Densities."""
        arrays, cost = (columns, out[:, :, first:] if first else out), 32 * columns.shape[1]
        by_rows(self._write, arrays, len(columns), cost, together=8)

    @abstractmethod
    def _write(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        """Write the log densities of the features from `start` to `stop`; see `write`."""

    def add(self, columns: Any, out: Floats) -> None:
        """Add the log densities of each row, with several threads; see Densities."""
        by_rows(self._add, (columns, out), columns.shape[1], 8 * len(columns))

    @abstractmethod
    def _add(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        """Add the log densities of the rows from `start` to `stop`; see `add`."""

    @classmethod
    @abstractmethod
    def from_summaries(cls, summaries: ColumnSummaries, settings: StreamSettings) -> Self:
        """Return densities estimated from summaries."""

    @abstractmethod
    def variables(self, names: Sequence[Name]) -> tuple[Variable, ...]:
        """Return the variables by which a network represents these columns."""

    @abstractmethod
    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """Return one CPD object (plate) of all columns given the class."""


def smoothed_logs(
    start: NDArray[np.int64], counts: Floats, smoothing: float | Floats
) -> tuple[Floats, Floats]:
    """Return log probabilities of cells, log (n_j + a_j) / (n + sum a), and their means over rows.

    Parameters
    ----------
    start : ndarray of int, shape (n_features + 1,)
    counts : ndarray, shape (n_cells, n_classes)
    smoothing : float or ndarray, shape (n_cells, 1)
        Pseudo-count a_j of cell j in each class, whose count is n_j; n and sum a are sums over the
        cells of the feature. `start` and `centre` are as in TableDensities.

    Returns
    -------
    logs : ndarray, shape (n_cells, n_classes)
    centre : ndarray, shape (n_classes, n_features)
    """
    size = np.diff(start)
    if not len(counts):
        return counts, np.zeros((counts.shape[1], len(size)))
    there = size > 0
    begin = start[:-1][there]
    totals = np.zeros((len(size), counts.shape[1]))
    totals[there] = np.add.reduceat(counts, begin, axis=0)
    held = counts + smoothing
    sums = np.add.reduceat(held, begin, axis=0)
    logs = np.log(held) - np.log(np.repeat(sums, size[there], axis=0))
    pooled = counts.sum(axis=1, keepdims=True)
    centre = np.zeros((len(size), counts.shape[1]))
    centre[there] = np.add.reduceat(pooled * logs, begin, axis=0)
    weight = totals.sum(axis=1, keepdims=True)
    return logs, np.ascontiguousarray((centre / np.where(weight > 0, weight, 1.0)).T)


def grown_logs(
    start: NDArray[np.int64], logs: Floats, centre: Floats, shares: Floats, n_classes: int
) -> tuple[Floats, Floats]:
    """Return log probabilities of cells, and their means over rows, with additional classes.

    A new class has the log probabilities of the mixture of all classes with weights `shares`.

    Parameters
    ----------
    start : ndarray of int, shape (n_features + 1,)
    logs : ndarray, shape (n_cells, n_classes)
    centre : ndarray, shape (n_classes, n_features)
    shares : ndarray, shape (n_classes,)
    n_classes : int
        Number of classes, including the new ones.
    """
    more = n_classes - logs.shape[1]
    if not more:
        return logs, centre
    pooled = np.log(np.exp(logs) @ shares)
    sums = np.concatenate([[0.0], np.cumsum(np.exp(pooled) * pooled)])
    mean = sums[start[1:]] - sums[start[:-1]]
    wide = np.concatenate([logs, np.repeat(pooled[:, None], more, axis=1)], axis=1)
    return wide, np.concatenate([centre, np.repeat(mean[None], more, axis=0)])


def table_plate(
    variables: Sequence[Variable], start: NDArray[np.int64], logs: Floats, target: Discrete
) -> TablePlate:
    """Return one CPD object (plate) of tables given the class, from log probabilities of cells."""
    values = np.exp(logs.T)
    sums = np.add.reduceat(values, start[:-1], axis=1)
    values = values / np.repeat(sums, np.diff(start), axis=1)
    return TablePlate(variables, values, [target])  # type: ignore[arg-type]


# ----------------- Class-conditional Gaussians of numeric columns, estimated from stream summaries


@dataclass(frozen=True, eq=False)
class GaussianDensities(NumericDensities):
    """A Gaussian of each numeric column in each class.

    Attributes
    ----------
    mean, variance : ndarray, shape (n_features, n_classes)
        The variance is 0 for features without values. `centre` is described in Densities.
    centre : ndarray, shape (n_classes, n_features)
    """

    mean: Floats
    variance: Floats
    centre: Floats

    @property
    def n_features(self) -> int:
        """Number of columns; see Densities."""
        return len(self.mean)

    @classmethod
    def of(
        cls, summaries: GaussianSummary, shrinkage: float, var_smoothing: float
    ) -> GaussianDensities:
        """Return Gaussians whose variances shrink towards the pooled within-class variance.

        Parameters
        ----------
        summaries : GaussianSummary
        shrinkage : float
            Weight of the pooled variance in each class, in rows. A class without values has the
            mean and variance of all rows.
        var_smoothing : float
            Share of the variance over all rows that is added to each variance; 1 is added if it is
            0.
        """
        count, mean, square = summaries.counts, summaries.mean, summaries.moments.square.T
        overall = summaries.moments.merged((summaries.n_classes,), 0)
        total, centre = overall.count.T, overall.mean.T
        whole = safe_divide(overall.square.T, total)
        within = square.sum(axis=1, keepdims=True)
        pooled = np.where(within > 0, safe_divide(within, total), whole)
        held = np.where(count + shrinkage > 0, count + shrinkage, 1.0)
        variance = (square + shrinkage * pooled) / held
        variance = np.where(count > 0, variance, whole)
        # A feature with one distinct value so far must not distinguish classes, whatever value
        # comes.
        floor = np.where(whole > 0, var_smoothing * whole, 1.0)
        variance = np.where(total > 0, variance + floor, 0.0)
        found = np.where(count > 0, mean, centre)
        return cls(found, variance, _mean_log_gaussians(centre, whole, found, variance))

    @classmethod
    def from_summaries(
        cls, summaries: ColumnSummaries, settings: StreamSettings
    ) -> GaussianDensities:
        """Return Gaussians with the shrinkage of the settings; see NumericDensities."""
        assert isinstance(summaries, GaussianSummary)  # the summary's `densities` attribute says so
        smoothing = settings.smoothing
        return cls.of(summaries, smoothing.shrinkage, smoothing.var_smoothing)

    def grown(self, n_more: int, shares: Floats, n_classes: int) -> GaussianDensities:
        """Return the Gaussians with additional features and classes; see Densities."""
        mean, variance, centre = self.mean, self.variance, self.centre
        more = n_classes - len(centre)
        if more:
            middle = mean @ shares
            whole = (variance + mean**2) @ shares - middle**2
            whole = np.where((variance > 0).any(axis=1), np.maximum(whole, 1e-300), 0.0)
            logs = _mean_log_gaussians(
                middle[:, None], whole[:, None], middle[:, None], whole[:, None]
            )
            mean = np.concatenate([mean, np.repeat(middle[:, None], more, axis=1)], axis=1)
            variance = np.concatenate([variance, np.repeat(whole[:, None], more, axis=1)], axis=1)
            centre = np.concatenate([centre, np.repeat(logs, more, axis=0)])
        unknown = np.zeros((n_more, n_classes))
        return GaussianDensities(
            np.concatenate([mean, unknown]),
            np.concatenate([variance, unknown]),
            np.concatenate([centre, unknown.T], axis=1),
        )

    def _write(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        density_kernels.log_gaussians(columns, self.mean, self.variance, out, start, stop)

    def _add(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        density_kernels.add_gaussians(columns, self.mean, self.variance, out, start, stop)

    def variables(self, names: Sequence[Name]) -> tuple[Continuous, ...]:
        """Return continuous variables with the given names; see NumericDensities."""
        return tuple(Continuous(name) for name in names)

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """Return Gaussian CPDs given the class; a feature without values is standard normal."""
        variance = np.where(self.variance > 0, self.variance, 1.0)
        return GaussianPlate(variables, self.mean.T, variance.T, [target])  # type: ignore[arg-type]


def _mean_log_gaussians(centre: Floats, whole: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the mean log density of each class's Gaussian over all rows, (n_classes, n).

    The closed form uses the mean (`centre`) and the variance (`whole`) of all rows, and the means
    and variances of the classes (`mean`, `variance`).
    """
    known = variance > 0
    safe = np.where(known, variance, 1.0)
    logs = -0.5 * np.log(2 * np.pi * safe) - (whole + (centre - mean) ** 2) / (2 * safe)
    return np.ascontiguousarray(np.where(known, logs, 0.0).T)


# ---------- Class-conditional probabilities of intervals of numeric columns, from stream summaries


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
        discretizer : "smooth" or key of `bayesgraph.statistics.boulle.CELL_METHODS`
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
        density_kernels.log_intervals(columns, self.start, self.cuts, self.logs, out, start, stop)

    def _add(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        density_kernels.add_intervals(columns, self.start, self.cuts, self.logs, out, start, stop)

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
    by_rows(density_kernels.smooth_cells, arrays, len(start) - 1, _COST, together=1)
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
    by_rows(density_kernels.first_gains, (start, counts, gains), len(gains), _COST, together=1)
    maximum = 2.0 * density_kernels.PRICE * free
    below = chdtr([free, free + 2, free + 4], maximum)
    by_chance = free * below[1] / below[0]
    spread = np.sqrt(free * (free + 2) * below[2] / below[0] - by_chance**2)
    faint = 2.0 * gains < maximum  # False for NaN
    n = np.maximum(faint.sum(axis=0), 1)
    excess = 2.0 * np.where(faint, gains, 0.0).sum(axis=0) / n / by_chance - 1.0
    excess = np.where(excess > _DEVIATIONS * spread / by_chance / np.sqrt(n), excess, 0.0)
    return np.asarray(excess / (1.0 + excess))


# ---------- Class-conditional probabilities of the states, or merged states, of a stream's columns


@dataclass(frozen=True, eq=False)
class StateDensities(TableDensities):
    """Log probabilities of the states, or groups of states, of each column in each class.

    Attributes
    ----------
    start, logs, centre : ndarray
        See TableDensities.
    grouped : ndarray of int, shape (n_grouped,)
        Indices of the features that have groups of values as cells; the last group of a feature
        holds all values not listed.
    key_start : ndarray of int, shape (n_grouped + 1,)
        Offset of the keys of each grouped feature, and the number of keys.
    keys, places : ndarray of int, shape (number of keys,)
        Keys (codes) of the listed values, ascending within each feature, and the group of each
        value.
    """

    grouped: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    key_start: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(
        cls,
        counts: Sequence[Floats],
        n_classes: int,
        smoothing: float,
        sketches: Mapping[int, FrequentValues] | None = None,
    ) -> StateDensities:
        """Return densities estimated from tables of counts, each of shape (n_states, n_classes).

        A feature with a sketch in `sketches` has densities of groups of values instead.
        """
        if not counts:
            return cls(
                np.zeros(1, dtype=np.int64), np.zeros((0, n_classes)), np.zeros((n_classes, 0))
            )
        found = {j: value_groups(sketch) for j, sketch in (sketches or {}).items()}
        tables = [found[j][2] if j in found else table for j, table in enumerate(counts)]
        start = np.concatenate([[0], np.cumsum([len(c) for c in tables])]).astype(np.int64)
        together = np.concatenate([np.zeros((0, n_classes)), *tables])
        logs, centre = smoothed_logs(start, together, smoothing)
        if not found:
            return cls(start, logs, centre)
        order = sorted(found)
        keys, places = (np.concatenate([found[j][part] for j in order]) for part in (0, 1))
        key_start = np.concatenate([[0], np.cumsum([len(found[j][0]) for j in order])])
        return cls(start, logs, centre, np.array(order), key_start.astype(np.int64), keys, places)

    def groups(self, feature: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the keys (codes) of a feature's listed values, and the group of each value.

        The result is None if the states of the feature are not grouped.
        """
        if feature not in self.grouped:
            return None
        at = int(np.searchsorted(self.grouped, feature))
        part = slice(*self.key_start[at : at + 2])
        return self.keys[part], self.places[part]

    def grown(self, n_more: int, shares: Floats, n_classes: int) -> StateDensities:
        """Return the densities with additional features and classes; see Densities."""
        logs, centre = grown_logs(self.start, self.logs, self.centre, shares, n_classes)
        start = np.append(self.start, np.full(n_more, self.start[-1]))
        wide = np.concatenate([centre, np.zeros((n_classes, n_more))], axis=1)
        return replace(self, start=start, logs=logs, centre=wide)

    def write(self, columns: Any, out: Floats, first: int) -> None:
        """Write the log probabilities of state codes; see Densities."""
        density_kernels.log_states(self._grouped(columns), self.start, self.logs, out, first)

    def add(self, columns: Any, out: Floats) -> None:
        """Add the log probabilities of state codes; see Densities."""
        density_kernels.add_states(self._grouped(columns), self.start, self.logs, out)

    def _grouped(self, columns: Any) -> Any:
        """Return codes of the features' states, with those of groups instead where there are."""
        if len(self.grouped):
            columns = columns.copy()
            for j in self.grouped.tolist():
                # The group index of each value: the last group if unlisted, -1 where missing.
                keys = columns[j]
                known, places = self.groups(j) or (self.keys, self.places)
                others = self.start[j + 1] - self.start[j] - 1
                codes = np.where(keys >= 0, others, -1)
                if len(known):
                    at = np.searchsorted(known, keys).clip(max=len(known) - 1)
                    codes = np.where(known[at] == keys, places[at], codes)
                columns[j] = codes
        return columns

    def plate(
        self, variables: Sequence[Variable], target: Discrete, order: Sequence[int]
    ) -> TablePlate:
        """Return tables given the class; a column without states gets a single state.

        `order` has, for each state of the tables, its index in `logs`.
        """
        sizes = np.diff(self.start)
        logs = np.insert(self.logs[list(order)], self.start[:-1][sizes == 0], 0.0, axis=0)
        start = np.concatenate([[0], np.cumsum(np.maximum(sizes, 1))])
        return table_plate(variables, start, logs, target)


def value_groups(
    sketch: FrequentValues,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return groups of a column's frequent values (MODL, Boulle 2005), and one for all others.

    Returns
    -------
    keys : ndarray of int, shape (n_values,)
        Keys of the frequent values, ascending.
    places : ndarray of int, shape (n_values,)
        The group of each value.
    counts : ndarray, shape (n_groups + 1, n_classes)
        Class weights of the groups. The last group, of all other values, has the weight that does
        not certainly belong to a listed value.
    """
    keys, seen = sketch.listed()
    n, k = seen.shape
    places = np.zeros(n, dtype=np.int64)
    whole = np.rint(seen)  # MODL needs factorials, so whole counts
    found = modl_groups(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), k, whole.ravel())
    for group, values in enumerate(found.groups):
        places[values] = group
    counts = np.zeros((max(1, len(found.groups)) if n else 0, k))
    np.add.at(counts, places, seen)
    others = np.maximum(sketch.totals - seen.sum(axis=0), 0.0)
    return keys, places, np.concatenate([counts, others[None]])


# ---------------- Class-conditional densities of columns, estimated from the summaries of a stream


# Python class of the densities of numeric columns, by the `densities` attribute of summaries.
DENSITIES: dict[str, type[NumericDensities]] = {
    "intervals": IntervalDensities,
    "gaussians": GaussianDensities,
}
