"""Base classes of the class-conditional densities of a stream's columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, TablePlate
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming.settings import StreamSettings
from bayesgraph.parallel import by_rows
from bayesgraph.statistics.sketches import ColumnSummaries
from bayesgraph.variables import Discrete, Name, Variable


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
