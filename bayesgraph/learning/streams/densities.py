"""Class-conditional densities of a stream's columns, estimated from their summaries."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, ndtri

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import Binned, Continuous, Discrete, Name, Variable
from bayesgraph.learning.streams import stream_kernels
from bayesgraph.learning.streams.settings import SMOOTH, StreamSettings
from bayesgraph.models import CPD, GaussianPlate, TablePlate
from bayesgraph.statistics import (
    ArrayState,
    Cells,
    ColumnSummaries,
    CutSummaries,
    Field,
    FrequentValues,
    GaussianSummary,
    cell_factorials,
    cut_cells,
    modl_groups,
    safe_divide,
)

# --------------------------- Base classes of the class-conditional densities of a stream's columns


class Densities(ArrayState):
    """Log densities p(x_i | y) of columns, constant between two refreshes from the summaries.

    Each class has `of`, which returns densities estimated from summaries; `write`, which writes the
    log densities of rows (columns of shape (n_features, n)) into an array of shape (n, n_classes,
    n_features or more), 0 where a value is missing; `widen`, which adds features, which tell
    nothing, and classes, up to the given numbers; and `plate`, which returns one CPD object of all
    columns given the class. Until the next refresh, a new class has the density of all rows; the
    `shares` of `widen` are the class shares of the rows, shape (old number of classes,). Those of
    numbers have `variables`, by which a network represents these columns.

    Parameters
    ----------
    **arrays : ndarray
        The attributes that `fields` describes.

    Attributes
    ----------
    centre : ndarray, shape (n_classes, n_features)
        Means of the log densities of each class over all rows learned so far, whatever their class.
    n_features, n_classes : int
    """

    centre: Floats
    n_features: int
    n_classes: int

    def __init__(self, **arrays: NDArray[Any]) -> None:
        self.n_classes, self.n_features = arrays["centre"].shape
        self.__dict__.update(arrays)

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_features: int, n_classes: int
    ) -> Self:
        """Return densities with a saved state of so many features and classes.

        Raises
        ------
        DataError
            If arrays are missing, invalid or inconsistent, or there are others.
        """
        if arrays.keys() != cls.fields.keys():
            raise DataError(f"A saved state has densities with {quoted(sorted(cls.fields))}.")
        made = cls(centre=np.empty((n_classes, n_features)))
        return made.restore(arrays)


class CellDensities(Densities):
    """Log probabilities of cells (intervals, states or groups of states) in each class.

    Attributes
    ----------
    start : ndarray of int, shape (n_features + 1,)
        Offset of the first cell of each feature, and the total number of cells. A feature without
        values has no cells.
    logs : ndarray, shape (number of cells of all features, n_classes)
    """

    start: NDArray[np.int64]
    logs: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "start": Field(("n_starts",), 0.0, dtype=np.int64),
        "logs": Field(("n_cells", "n_classes")),
        "centre": Field(("n_classes", "n_features")),
    }

    @property
    def n_starts(self) -> int:
        """Length of `start`."""
        return self.n_features + 1

    @property
    def n_cells(self) -> int:
        """Number of cells of all features."""
        return int(self.start.max())

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        if self.start[0] != 0 or (np.diff(self.start) < 0).any():
            raise DataError("A saved state has cells in order; this one has not.")

    def widen(self, n_features: int, n_classes: int, shares: Floats) -> None:
        """Add features and classes; see Densities."""
        before, k, total = self.n_starts, self.n_classes, self.n_cells
        # The distribution of all rows, which a new class gets; its mean log probability is the sum
        # of p log p over the cells of a feature.
        pooled = np.log(np.exp(self.logs) @ shares)
        sums = np.concatenate([[0.0], np.cumsum(np.exp(pooled) * pooled)])
        self.grow(n_features=n_features, n_classes=n_classes)
        self.start[before:] = total
        self.logs[:, k:] = pooled[:, None]
        self.centre[k:] = np.diff(sums[self.start])

    def plate(
        self,
        variables: Sequence[Variable],
        target: Discrete,
        order: Sequence[int] | slice = slice(None),
    ) -> TablePlate:
        """Return one CPD object (plate) of tables given the class.

        A feature without cells gets one. `order` has, for each state of the tables, its index in
        `logs`, if they are not in order.
        """
        sizes = np.diff(self.start)
        # The cell of a feature without cells has the probability 1.
        logs = np.insert(self.logs[order], self.start[:-1][sizes == 0], 0.0, axis=0)
        sizes = np.maximum(sizes, 1)
        # Normalised again within each feature, against rounding errors.
        values = np.exp(logs.T)
        sums = np.add.reduceat(values, np.cumsum(sizes) - sizes, axis=1)
        values = values / np.repeat(sums, sizes, axis=1)
        return TablePlate(variables, values, [target])  # type: ignore[arg-type]


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
        cells of the feature. `start` and `centre` are as in CellDensities.

    Returns
    -------
    logs : ndarray, shape (n_cells, n_classes)
    centre : ndarray, shape (n_classes, n_features)
    """
    size = np.diff(start)
    if not len(counts):
        return counts, np.zeros((counts.shape[1], len(size)))
    # For a feature without cells `reduceat` would return the cell of the next one.
    has_cells = size > 0
    begin = start[:-1][has_cells]
    totals = np.zeros((len(size), counts.shape[1]))
    totals[has_cells] = np.add.reduceat(counts, begin, axis=0)
    smoothed = counts + smoothing
    sums = np.add.reduceat(smoothed, begin, axis=0)
    logs = np.log(smoothed) - np.log(np.repeat(sums, size[has_cells], axis=0))
    pooled = counts.sum(axis=1, keepdims=True)
    centre = np.zeros((len(size), counts.shape[1]))
    centre[has_cells] = np.add.reduceat(pooled * logs, begin, axis=0)
    weight = totals.sum(axis=1, keepdims=True)
    return logs, np.ascontiguousarray((centre / np.where(weight > 0, weight, 1.0)).T)


# ----------------- Class-conditional Gaussians of numeric columns, estimated from stream summaries


class GaussianDensities(Densities):
    """A Gaussian of each numeric column in each class.

    Attributes
    ----------
    mean, variance : ndarray, shape (n_features, n_classes)
        The variance is 0 for features without values.
    """

    mean: Floats
    variance: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "mean": Field(("n_features", "n_classes")),
        "variance": Field(("n_features", "n_classes"), 0.0),
        "centre": Field(("n_classes", "n_features")),
    }

    @classmethod
    def of(cls, summaries: ColumnSummaries, settings: StreamSettings) -> GaussianDensities:
        """Return Gaussians whose variances shrink towards the pooled within-class variance.

        A class without values has the mean and variance of all rows; see also Smoothing.
        """
        assert isinstance(summaries, GaussianSummary)  # the summary's `densities` attribute says so
        shrinkage = settings.smoothing.shrinkage
        # Arrays of shape (n_features, n_classes); those of all classes have one column.
        count, mean, square = summaries.counts, summaries.mean, summaries.square.T
        overall = summaries.moments.merged((summaries.n_classes,), 0)
        total, centre = overall.count.T, overall.mean.T
        total_variance = safe_divide(overall.square.T, total)
        within = square.sum(axis=1, keepdims=True)
        pooled = np.where(within > 0, safe_divide(within, total), total_variance)
        # `shrinkage` counts as so many rows with the pooled variance.
        weight = np.where(count + shrinkage > 0, count + shrinkage, 1.0)
        variance = (square + shrinkage * pooled) / weight
        variance = np.where(count > 0, variance, total_variance)
        # A feature with one distinct value so far must not distinguish classes, whatever value
        # comes.
        floor = settings.smoothing.ridge(total_variance)
        variance = np.where(total > 0, variance + floor, 0.0)
        means = np.where(count > 0, mean, centre)
        centre = _mean_log_gaussians(centre, total_variance, means, variance)
        return cls(mean=means, variance=variance, centre=centre)

    def widen(self, n_features: int, n_classes: int, shares: Floats) -> None:
        """Add features and classes; see Densities."""
        k, n = self.n_classes, self.n_features
        # Mean and variance of the mixture of the old classes, which a new class gets.
        middle = (self.mean @ shares)[:, None]
        total_variance = ((self.variance + (self.mean - middle) ** 2) @ shares)[:, None]
        is_known = (self.variance > 0).any(axis=1, keepdims=True)
        # A variance of 0 would mark a feature without values.
        total_variance = np.where(is_known, np.maximum(total_variance, 1e-300), 0.0)
        self.grow(n_features=n_features, n_classes=n_classes)
        self.mean[:n, k:], self.variance[:n, k:] = middle, total_variance
        self.centre[k:, :n] = _mean_log_gaussians(middle, total_variance, middle, total_variance)

    def write(self, columns: Any, out: Floats) -> None:
        """Write the log densities of rows; see Densities."""
        arrays = (columns, self.mean, self.variance, out)
        by_rows(stream_kernels.log_gaussians, arrays, len(columns), 4 * len(out))

    def variables(self, names: Sequence[Name]) -> tuple[Continuous, ...]:
        """Return continuous variables with the given names; see Densities."""
        return tuple(Continuous(name) for name in names)

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """Return Gaussian CPDs given the class; a feature without values is standard normal."""
        variance = np.where(self.variance > 0, self.variance, 1.0)
        return GaussianPlate(variables, self.mean.T, variance.T, [target])


def _mean_log_gaussians(centre: Floats, whole: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the mean log density of each class's Gaussian over all rows, (n_classes, n).

    The closed form uses the mean (`centre`) and the variance (`whole`) of all rows, and the means
    and variances of the classes (`mean`, `variance`).
    """
    is_known = variance > 0
    safe = np.where(is_known, variance, 1.0)
    logs = -0.5 * np.log(2 * np.pi * safe) - (whole + (centre - mean) ** 2) / (2 * safe)
    return np.ascontiguousarray(np.where(is_known, logs, 0.0).T)


# ---------- Class-conditional probabilities of intervals of numeric columns, from stream summaries


# Number of polynomial degrees that are kept, with shrinkage, if their gain is below the penalty:
# degree 1 stands for location, 2 for spread.
_BELIEVED = 2
# Minimum excess of the mean of gains below the penalty over chance, in standard deviations.
_DEVIATIONS = 2.0
# Approximate number of operations for the cells of a feature.
_COST = 3200


class IntervalDensities(CellDensities):
    """Log probabilities of the intervals of each numeric column in each class.

    Attributes
    ----------
    cuts : ndarray, shape (number of intervals of all features,)
        Upper bounds of the intervals; infinite for the last interval of a feature.
    """

    cuts: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        **CellDensities.fields,
        "cuts": Field(("n_cells",), initial=np.inf),
    }

    @classmethod
    def of(cls, summaries: ColumnSummaries, settings: StreamSettings) -> IntervalDensities:
        """Return densities with the discretiser of the settings, or smooth ones."""
        assert isinstance(summaries, CutSummaries)  # the summaries' `densities` attribute says so
        cells, is_smooth = summaries.cells(), settings.discretizer == SMOOTH
        if is_smooth:
            weights, begins = _smoothed_cells(cells)
        else:
            weights, begins = cells.counts, cut_cells(settings.discretizer, cells, settings.bins)
        # The first cell of each interval, and the first interval of each feature.
        first_cells = np.flatnonzero(begins)
        start = np.searchsorted(first_cells, cells.start).astype(np.int64)
        counts = np.add.reduceat(weights, first_cells, axis=0)
        alpha = settings.smoothing.alpha
        logs, centre = smoothed_logs(
            start, counts, _pooled(start, counts, alpha) if is_smooth else alpha
        )
        # The upper bound of an interval is that of its last cell.
        cuts = cells.cuts(np.append(first_cells, len(begins))[1:] - 1)
        return cls(start=start, logs=logs, centre=centre, cuts=cuts)

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        super().check()
        sizes = np.diff(self.start)
        last = self.start[1:][sizes > 0] - 1
        rises = self.cuts[1:] > self.cuts[:-1]
        rises[last[:-1]] = True  # the cuts of the next feature begin there
        if not (rises.all() and np.isposinf(self.cuts[last]).all()):
            raise DataError("A saved state has cuts in ascending order; this one has not.")

    def write(self, columns: Any, out: Floats) -> None:
        """Write the log probabilities of the intervals of rows; see Densities."""
        arrays = (columns, self.start, self.cuts, self.logs, out)
        by_rows(stream_kernels.log_intervals, arrays, len(columns), 32 * len(out), together=8)

    def variables(self, names: Sequence[Name]) -> tuple[Binned, ...]:
        """Return Binned variables: numbers observed as intervals; see Densities."""
        # The bound of the last interval is infinite, and no cut.
        ends = itertools.pairwise(self.start.tolist())
        return tuple(
            Binned(name, self.cuts[a : max(a, b - 1)].tolist())
            for name, (a, b) in zip(names, ends, strict=True)
        )


def _smoothed_cells(cells: Cells) -> tuple[Floats, NDArray[np.bool_]]:
    """Return smoothed class weights of cells, and a mask of cells that begin an interval."""
    start, counts = cells.start, cells.counts
    # The results, and the means below, are written by kernels, feature by feature.
    smoothed, begins = np.zeros(counts.shape), np.zeros(len(counts), dtype=np.bool_)
    pooled, below = _pooled_shares(start, counts)
    # The normal quantile of the mean rank of a cell, relative to the weight of its feature; ranks
    # of 0 and 1 would have none.
    score = ndtri((below + pooled / 2).clip(1e-12, 1.0 - 1e-12))
    means = np.empty((len(start) - 1, counts.shape[1], stream_kernels.MAX_DEGREES))
    arrays = start, counts, pooled, score, means
    by_rows(stream_kernels.class_means, arrays, len(means), _COST, together=1)
    more = smoothed, begins, cell_factorials(start, counts), _belief(start, counts, means)
    by_rows(stream_kernels.smooth_cells, (*arrays, *more), len(means), _COST, together=1)
    return smoothed, begins


def _pooled(start: NDArray[np.int64], counts: Floats, smoothing: float) -> Floats:
    """Return the pseudo-count of each interval, proportional to its total weight, (n_intervals, 1).

    Such pseudo-counts shrink the interval probabilities of each class towards those of all classes
    together. Equal pseudo-counts would shrink towards equal probabilities, and move small classes
    away from the others.
    """
    size = np.repeat(np.diff(start), np.diff(start))
    return np.asarray((smoothing * size * _pooled_shares(start, counts)[0])[:, None])


def _pooled_shares(start: NDArray[np.int64], counts: Floats) -> tuple[Floats, Floats]:
    """Return the share of each cell in the weight of its feature, and of the cells before it."""
    size = np.diff(start)
    pooled = counts.sum(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(pooled)])
    # For each cell, the weight of its feature and that of all cells before this feature.
    of_feature, before = (np.repeat(a, size) for a in (np.diff(sums[start]), sums[start[:-1]]))
    # The cells of a feature without weight have equal shares.
    share = np.divide(pooled, of_feature, out=1.0 / np.repeat(size, size), where=of_feature > 0)
    return share, safe_divide(sums[:-1] - before, of_feature)


def _belief(start: NDArray[np.int64], counts: Floats, means: Floats) -> Floats:
    """Return the shrinkage factors of polynomial coefficients with gains below the penalty.

    There is one (empirical-Bayes, James-Stein type) factor for each of the first `_BELIEVED`
    degrees of `smooth_cells`, shared by all features. Twice the gain of a degree by chance is
    chi-squared with n_classes - 1 degrees of freedom; the features with a gain below the penalty
    are a truncated sample of it. If their mean is higher than by chance by a factor of 1 + r, the
    variance of the true coefficients is r times the variance of their estimates, and the best
    linear estimate is r / (1 + r) times the estimate (Efron, Morris 1973). If the excess may be due
    to chance, the factor is 0: features without information stay one interval.
    """
    free = counts.shape[1] - 1
    if free == 0:
        return np.zeros(_BELIEVED)
    sums = np.concatenate([np.zeros((1, free + 1)), np.cumsum(counts, axis=0)])
    totals = np.diff(sums[start], axis=0)  # weight of each class in each feature
    # The gain by each degree in log likelihood of the classes, estimated by the score test.
    gains = 0.5 * (totals[..., None] * means[..., :_BELIEVED] ** 2).sum(axis=1)
    # Mean and standard deviation of a chi-squared variable below the maximum, from its truncated
    # moments: E[x; x < m] = f F_{f+2}(m), E[x^2; x < m] = f (f + 2) F_{f+4}(m) for f degrees.
    maximum = 2.0 * stream_kernels.PRICE * free
    below = chdtr([free, free + 2, free + 4], maximum)
    by_chance = free * below[1] / below[0]
    spread = np.sqrt(free * (free + 2) * below[2] / below[0] - by_chance**2)
    faint = 2.0 * gains < maximum  # False for NaN
    n = np.maximum(faint.sum(axis=0), 1)
    excess = 2.0 * np.where(faint, gains, 0.0).sum(axis=0) / n / by_chance - 1.0
    excess = np.where(excess > _DEVIATIONS * spread / by_chance / np.sqrt(n), excess, 0.0)
    return np.asarray(excess / (1.0 + excess))


# ---------- Class-conditional probabilities of the states, or merged states, of a stream's columns


class StateDensities(CellDensities):
    """Log probabilities of the states, or groups of states, of each column in each class.

    Attributes
    ----------
    grouped : ndarray of int, shape (n_features,)
        1 for features that have groups of values as cells; the last group of a feature holds all
        values not listed.
    key_start : ndarray of int, shape (n_features + 1,)
        Offset of the keys of each feature, and the number of keys.
    keys, places : ndarray of int, shape (number of keys,)
        Keys (codes) of the listed values, ascending within each feature, and the group of each
        value.
    """

    grouped: NDArray[np.int64]
    key_start: NDArray[np.int64]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    fields: ClassVar[Mapping[str, Field]] = {
        **CellDensities.fields,
        "grouped": Field(("n_features",), 0.0, 1.0, dtype=np.int64),
        "key_start": Field(("n_starts",), 0.0, dtype=np.int64),
        "keys": Field(("n_keys",), 0.0, dtype=np.int64),
        "places": Field(("n_keys",), 0.0, dtype=np.int64),
    }

    @property
    def n_keys(self) -> int:
        """Number of keys of all features."""
        return int(self.key_start.max())

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
        nothing, grouped = np.zeros(0, dtype=np.int64), np.zeros(len(counts), dtype=np.int64)
        parts = [(nothing, nothing, table) for table in counts]
        for j, sketch in (sketches or {}).items():
            parts[j], grouped[j] = value_groups(sketch), 1
        # An empty part, so that without features the arrays have their shapes as well.
        parts.append((nothing, nothing, np.zeros((0, n_classes))))
        keys, places, tables = (np.concatenate(part) for part in zip(*parts, strict=True))
        # Offsets of the keys, and of the cells, of each feature.
        key_start, start = (
            np.cumsum([0, *(len(part[i]) for part in parts[:-1])], dtype=np.int64) for i in (0, 2)
        )
        logs, centre = smoothed_logs(start, tables, smoothing)
        return cls(
            start=start,
            logs=logs,
            centre=centre,
            grouped=grouped,
            key_start=key_start,
            keys=keys,
            places=places,
        )

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        super().check()
        sizes = np.diff(self.key_start)
        fits = self.key_start[0] == 0 and (sizes >= 0).all() and self.grouped[sizes > 0].all()
        # The last state of a feature holds all other values.
        if not fits or (self.places >= np.repeat(np.diff(self.start) - 1, sizes)).any():
            raise DataError("A saved state has groups of values in order; this one has not.")
        for a, b in itertools.pairwise(self.key_start.tolist()):
            if (np.diff(self.keys[a:b]) <= 0).any():
                raise DataError("A saved state has keys in ascending order; this one has not.")

    def groups(self, feature: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the keys (codes) of a feature's listed values, and the group of each value.

        The result is None if the states of the feature are not grouped.
        """
        part = slice(*self.key_start[feature : feature + 2])
        return (self.keys[part], self.places[part]) if self.grouped[feature] else None

    def widen(self, n_features: int, n_classes: int, shares: Floats) -> None:
        """Add features and classes; see Densities."""
        before, n_keys = self.n_starts, self.n_keys
        super().widen(n_features, n_classes, shares)
        self.key_start[before:] = n_keys

    def write(self, columns: Any, out: Floats) -> None:
        """Write the log probabilities of the states or groups of rows; see Densities."""
        columns = columns.copy() if self.grouped.any() else columns
        for j in np.flatnonzero(self.grouped).tolist():
            # The group index of each value: the last group if unlisted, -1 where missing. A grouped
            # feature always has groups.
            keys, (listed, places) = columns[j].copy(), self.groups(j) or (self.keys, self.places)
            columns[j] = np.where(keys >= 0, self.start[j + 1] - self.start[j] - 1, -1)
            if len(listed):  # keys after the last one are compared with it, and unequal
                at = np.searchsorted(listed, keys).clip(max=len(listed) - 1)
                columns[j] = np.where(listed[at] == keys, places[at], columns[j])
        # Missing values, and states that came after the refresh, read a last row of zeros.
        is_state = (columns >= 0) & (columns < np.diff(self.start)[:, None])
        at = np.where(is_state, self.start[:-1, None] + columns, len(self.logs))
        logs = np.append(self.logs, np.zeros((1, self.n_classes)), axis=0)
        out[:] = logs[at].transpose(1, 2, 0)  # from (feature, row, class) to (row, class, feature)


def value_groups(
    sketch: FrequentValues,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return groups of a column's frequent values (MODL, Boulle 2005), and one for all others.

    Returns
    -------
    keys : ndarray of int, shape (n_values,)
        Keys of the frequent values that are in a group, ascending. Those whose weight has faded to
        less than a row are among all others.
    places : ndarray of int, shape (n_values,)
        The group of each value.
    counts : ndarray, shape (n_groups + 1, n_classes)
        Class weights of the groups. The last group, of all other values, has the weight that does
        not certainly belong to a listed value.
    """
    keys, weights = sketch.listed()
    n, k = weights.shape
    places = np.full(n, -1, dtype=np.int64)
    rounded = np.rint(weights)  # MODL needs factorials, so whole counts
    # The cells of the table: value, class and count of each.
    grouping = modl_groups(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), k, rounded.ravel())
    for group, values in enumerate(grouping.groups):
        places[values] = group
    # Values of no rounded weight are in no group.
    keys, weights, places = keys[places >= 0], weights[places >= 0], places[places >= 0]
    counts = np.zeros((len(grouping.groups), k))
    np.add.at(counts, places, weights)
    others = np.maximum(sketch.totals - weights.sum(axis=0), 0.0)
    return keys, places, np.concatenate([counts, others[None]])


# Python class of the densities of numeric columns, by the `densities` attribute of summaries.
DENSITIES: dict[str, type[IntervalDensities | GaussianDensities]] = {
    "intervals": IntervalDensities,
    "gaussians": GaussianDensities,
}
