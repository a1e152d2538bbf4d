"""The second layer: conditional densities of columns, made from their summaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, GaussianPlate, TablePlate
from bayesgraph.discretize import modl_groups
from bayesgraph.discretize.boulle_intervals import factorial_table
from bayesgraph.errors import ModelError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming import kernels
from bayesgraph.parallel import over_rows
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.statistics.sketches import (
    Cells,
    ColumnSummaries,
    CountMinClass,
    CutSummaries,
    GaussianClass,
)
from bayesgraph.variables import Binned, Continuous, Discrete, Name, Variable

METHODS = {
    "smooth": kernels.SMOOTH,
    "modl": kernels.MODL,
    "frequency": kernels.FREQUENCY,
    "entropy": kernels.ENTROPY,
    "kmeans": kernels.K_MEANS,
}
# Numbers below which one thread is enough.
_THREAD = 1 << 13


class Densities(ABC):
    """Log densities of some columns in each class, frozen between two looks at the summaries.

    Attributes
    ----------
    centre : ndarray, shape (n_classes, n_features)
        Mean of the log densities over the rows that were seen.
    """

    centre: Floats

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Columns."""

    @abstractmethod
    def write(self, columns: Any, out: Floats, first: int) -> None:
        """Write log densities, 0 where a value is missing.

        Parameters
        ----------
        columns : ndarray, shape (n_features, n)
        out : ndarray, shape (n, n_classes, n_features of all)
        first : int
            Where these features stand.
        """

    @abstractmethod
    def variables(self, names: Sequence[Name]) -> tuple[Variable, ...]:
        """Return the variables of a network whose leaves are these densities."""

    @abstractmethod
    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """Return the densities as a CPD given the class."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the densities as arrays, from which the class is made again."""


@dataclass(frozen=True, eq=False)
class IntervalDensities(Densities):
    """A probability of each interval in each class.

    Attributes
    ----------
    start : ndarray of int, shape (n_features + 1,)
    cuts : ndarray, shape (number of intervals of all features,)
        Upper ends; infinite for the last interval of a feature.
    logs : ndarray, shape (number of intervals of all features, n_classes)
    centre : ndarray, shape (n_classes, n_features)
    """

    start: NDArray[np.int64]
    cuts: Floats
    logs: Floats
    centre: Floats

    @property
    def n_features(self) -> int:
        """See Densities."""
        return len(self.start) - 1

    @classmethod
    def of(
        cls, summaries: CutSummaries, method: str, most: int, smoothing: float
    ) -> IntervalDensities:
        """Return the densities of summaries.

        Parameters
        ----------
        summaries : CutSummaries
        method : {"modl", "frequency", "entropy", "kmeans"}
            How cells become intervals.
        most : int
            Intervals of "frequency" and "kmeans".
        smoothing : float
            Rows added to each interval of each class.

        Raises
        ------
        ModelError
            For an unknown method.
        """
        if method not in METHODS:
            raise ModelError(f"method= is one of {quoted(METHODS)}; got {method!r}.")
        cells = summaries.cells()
        begins = np.zeros(len(cells.cuts), dtype=np.bool_)
        held, factorial = cells.counts, _factorials(cells)
        if method == "smooth":
            held = np.zeros(held.shape)
        # A summary that errs by class is trusted as far as a smaller sample is.
        trust = np.repeat(summaries.evidence, np.diff(cells.start))[:, None]
        counts = cells.counts if (trust == 1.0).all() else cells.counts * trust

        def work(a: int, b: int) -> None:
            start = cells.start
            if method == "smooth":
                kernels.smooth_cells(start, counts, held, begins, factorial, a, b)
            else:
                code = METHODS[method]
                kernels.cut_cells(start, counts, cells.cuts, code, most, factorial, begins, a, b)

        over_rows(work, summaries.n_features, 1 + _THREAD // 100, together=1)
        if method == "smooth":
            held /= trust
        places = np.flatnonzero(begins)
        # A feature that nothing is known of has no cell: one interval then, of no weight.
        sizes = np.diff(np.searchsorted(places, cells.start))
        counts = np.zeros((int(np.maximum(sizes, 1).sum()), cells.counts.shape[1]))
        cuts = np.full(len(counts), np.inf)
        start = np.concatenate([[0], np.cumsum(np.maximum(sizes, 1))]).astype(np.int64)
        known = np.repeat(sizes > 0, np.maximum(sizes, 1))
        if len(places):
            counts[known] = np.add.reduceat(held, places, axis=0)
            cuts[known] = cells.cuts[np.append(places[1:], len(begins)) - 1]
        return cls.from_counts(start, cuts, counts, smoothing)

    @classmethod
    def from_counts(
        cls, start: NDArray[np.int64], cuts: Floats, counts: Floats, smoothing: float
    ) -> IntervalDensities:
        """Return densities (n_j + a) / (n + a J) of counts, shape (n_intervals, n_classes)."""
        logs, centre = smoothed_logs(start, counts, smoothing)
        return cls(start, cuts, logs, centre)

    def write(self, columns: Any, out: Floats, first: int) -> None:
        """See Densities."""
        part = out[:, :, first:]
        over_rows(
            lambda a, b: kernels.log_intervals(
                columns, self.start, self.cuts, self.logs, part, a, b
            ),
            self.n_features,
            1 + _THREAD // max(1, columns.shape[1]),
            together=8,
        )

    def variables(self, names: Sequence[Name]) -> tuple[Binned, ...]:
        """See Densities: numbers known by their interval."""
        ends = self.start.tolist()
        cuts = self.cuts.tolist()
        return tuple(
            Binned(name, cuts[a : b - 1])
            for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)
        )

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """See Densities."""
        return table_plate(variables, self.start, self.logs, target)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See Densities."""
        return {"start": self.start, "cuts": self.cuts, "logs": self.logs, "centre": self.centre}


@dataclass(frozen=True, eq=False)
class StateDensities(Densities):
    """A probability of each state in each class.

    Attributes
    ----------
    start : ndarray of int, shape (n_features + 1,)
    logs : ndarray, shape (number of states of all features, n_classes)
    centre : ndarray, shape (n_classes, n_features)
    grouped : ndarray of int, shape (n_grouped,)
        Features whose states are groups of values, the last one of all values that are not known.
    key_start : ndarray of int, shape (n_grouped + 1,)
        Where the keys of each of them begin.
    keys, places : ndarray of int, shape (number of keys,)
        Ascending keys of values, and their groups.
    """

    start: NDArray[np.int64]
    logs: Floats
    centre: Floats
    grouped: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    key_start: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def n_features(self) -> int:
        """See Densities."""
        return len(self.start) - 1

    @classmethod
    def of(
        cls,
        counts: Sequence[Floats],
        n_classes: int,
        smoothing: float,
        sketches: Mapping[int, CountMinClass] | None = None,
    ) -> StateDensities:
        """Return the densities of tables of counts, each of shape (n_states, n_classes).

        Those of features with a sketch are of groups of values instead.
        """
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
        """Return the keys of a feature's values and their groups; None if it has no groups."""
        if feature not in self.grouped:
            return None
        at = int(np.searchsorted(self.grouped, feature))
        part = slice(*self.key_start[at : at + 2])
        return self.keys[part], self.places[part]

    def write(self, columns: Any, out: Floats, first: int) -> None:
        """See Densities."""
        if len(self.grouped):
            columns = columns.copy()
            for j in self.grouped.tolist():
                columns[j] = self._group_codes(j, columns[j])
        kernels.log_states(columns, self.start, self.logs, out, first)

    def _group_codes(self, feature: int, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups of values: the last one for those not known, -1 where missing."""
        known, places = self.groups(feature) or (self.keys, self.places)
        others = self.start[feature + 1] - self.start[feature] - 1
        codes = np.where(keys >= 0, others, -1)
        if len(known):
            at = np.searchsorted(known, keys).clip(max=len(known) - 1)
            codes = np.where(known[at] == keys, places[at], codes)
        return codes

    def variables(self, names: Sequence[Name]) -> tuple[Variable, ...]:
        """Refuse: the states are kept elsewhere."""
        raise NotImplementedError

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """See Densities."""
        return table_plate(variables, self.start, self.logs, target)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See Densities."""
        names = ("start", "logs", "centre", "grouped", "key_start", "keys", "places")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class GaussianDensities(Densities):
    """A Gaussian of each class.

    Attributes
    ----------
    mean, variance : ndarray, shape (n_features, n_classes)
        A variance of 0: nothing is known of the feature yet.
    centre : ndarray, shape (n_classes, n_features)
    """

    mean: Floats
    variance: Floats
    centre: Floats

    @property
    def n_features(self) -> int:
        """See Densities."""
        return len(self.mean)

    @classmethod
    def of(
        cls, summaries: GaussianClass, shrinkage: float, var_smoothing: float
    ) -> GaussianDensities:
        """Return Gaussians whose moments shrink towards those of all classes together.

        Parameters
        ----------
        summaries : GaussianClass
        shrinkage : float
            Rows of all classes that each class's variance is taken together with; a class of which
            nothing is known has the moments of all.
        var_smoothing : float
            Of the variance over all classes, added to each; 1 is added where that is 0.
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
        # One distinct value so far says nothing of the class, whatever comes.
        floor = np.where(whole > 0, var_smoothing * whole, 1.0)
        variance = np.where(total > 0, variance + floor, 0.0)
        found = np.where(count > 0, mean, centre)
        return cls(found, variance, _mean_log_gaussians(centre, whole, found, variance))

    def write(self, columns: Any, out: Floats, first: int) -> None:
        """See Densities."""
        part = out[:, :, first:]
        over_rows(
            lambda a, b: kernels.log_gaussians(columns, self.mean, self.variance, part, a, b),
            self.n_features,
            1 + _THREAD // max(1, columns.shape[1]),
            together=8,
        )

    def variables(self, names: Sequence[Name]) -> tuple[Continuous, ...]:
        """See Densities."""
        return tuple(Continuous(name) for name in names)

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """See Densities; a feature of which nothing is known is a standard Gaussian."""
        variance = np.where(self.variance > 0, self.variance, 1.0)
        return GaussianPlate(variables, self.mean.T, variance.T, [target])  # type: ignore[arg-type]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See Densities."""
        return {"mean": self.mean, "variance": self.variance, "centre": self.centre}


KINDS: Mapping[str, type[Densities]] = {
    "intervals": IntervalDensities,
    "states": StateDensities,
    "gaussians": GaussianDensities,
}


def numeric_densities(
    summaries: ColumnSummaries,
    *,
    method: str,
    most: int,
    smoothing: float,
    shrinkage: float,
    var_smoothing: float,
) -> Densities:
    """Return the densities of numeric columns; parameters as for the classes above."""
    summaries = summaries.together()
    if isinstance(summaries, GaussianClass):
        return GaussianDensities.of(summaries, shrinkage, var_smoothing)
    assert isinstance(summaries, CutSummaries)  # there are no others
    return IntervalDensities.of(summaries, method, most, smoothing)


def value_groups(
    sketch: CountMinClass,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return groups of the frequent values of a column (MODL, Boulle 2005), and one of all others.

    Returns
    -------
    keys : ndarray of int, shape (n_values,)
        Ascending.
    places : ndarray of int, shape (n_values,)
        The group of each value.
    counts : ndarray, shape (n_groups + 1, n_classes)
        What is not certain to belong to a value of the list is with the others.
    """
    keys, seen = sketch.listed()
    n, k = seen.shape
    places = np.zeros(n, dtype=np.int64)
    whole = np.rint(seen)  # factorials of counts: weights have none
    found = modl_groups(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), k, whole.ravel())
    for group, values in enumerate(found.groups):
        places[values] = group
    counts = np.zeros((max(1, len(found.groups)) if n else 0, k))
    np.add.at(counts, places, seen)
    others = np.maximum(sketch.totals - seen.sum(axis=0), 0.0)
    return keys, places, np.concatenate([counts, others[None]])


def smoothed_logs(
    start: NDArray[np.int64], counts: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """Return logs of (n_j + a) / (n + a J), and their means over the rows counted.

    Parameters
    ----------
    start : ndarray of int, shape (n_features + 1,)
    counts : ndarray, shape (n_cells, n_classes)
    smoothing : float

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
    logs = np.log(counts + smoothing) - np.log(
        np.repeat(totals + smoothing * size[:, None], size, axis=0)
    )
    pooled = counts.sum(axis=1, keepdims=True)
    centre = np.zeros((len(size), counts.shape[1]))
    centre[there] = np.add.reduceat(pooled * logs, begin, axis=0)
    weight = totals.sum(axis=1, keepdims=True)
    return logs, np.ascontiguousarray((centre / np.where(weight > 0, weight, 1.0)).T)


def table_plate(
    variables: Sequence[Variable], start: NDArray[np.int64], logs: Floats, target: Discrete
) -> TablePlate:
    """Return tables of log probabilities as a plate."""
    values = np.exp(logs.T)
    sums = np.add.reduceat(values, start[:-1], axis=1)
    values = values / np.repeat(sums, np.diff(start), axis=1)
    return TablePlate(variables, values, [target])  # type: ignore[arg-type]


def _mean_log_gaussians(centre: Floats, whole: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return E log N(x; mean, variance) under the moments of all classes, (n_classes, n)."""
    known = variance > 0
    safe = np.where(known, variance, 1.0)
    logs = -0.5 * np.log(2 * np.pi * safe) - (whole + (centre - mean) ** 2) / (2 * safe)
    return np.ascontiguousarray(np.where(known, logs, 0.0).T)


def _factorials(cells: Cells) -> Floats:
    """Return logs of the factorials up to all the weight of a feature, and its cells beyond it."""
    below = np.concatenate([[0.0], np.cumsum(cells.counts.sum(axis=1))])
    total = float((below[cells.start[1:]] - below[cells.start[:-1]]).max(initial=0.0))
    most = int(np.diff(cells.start).max(initial=0))
    return factorial_table(total, most + cells.counts.shape[1] + 2)
