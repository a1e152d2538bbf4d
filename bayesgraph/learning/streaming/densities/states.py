"""Class-conditional probabilities of the states, or merged states, of a stream's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import TablePlate
from bayesgraph.discretize import modl_groups
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming.densities import kernels
from bayesgraph.learning.streaming.densities.base import (
    TableDensities,
    grown_logs,
    smoothed_logs,
    table_plate,
)
from bayesgraph.statistics.sketches import FrequentValues
from bayesgraph.variables import Discrete, Variable


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
        kernels.log_states(self._grouped(columns), self.start, self.logs, out, first)

    def add(self, columns: Any, out: Floats) -> None:
        """Add the log probabilities of state codes; see Densities."""
        kernels.add_states(self._grouped(columns), self.start, self.logs, out)

    def _grouped(self, columns: Any) -> Any:
        """Return codes of the features' states, with those of groups instead where there are."""
        if len(self.grouped):
            columns = columns.copy()
            for j in self.grouped.tolist():
                columns[j] = self._group_codes(j, columns[j])
        return columns

    def _group_codes(self, feature: int, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the group index of each value: the last group if unlisted, -1 where missing."""
        known, places = self.groups(feature) or (self.keys, self.places)
        others = self.start[feature + 1] - self.start[feature] - 1
        codes = np.where(keys >= 0, others, -1)
        if len(known):
            at = np.searchsorted(known, keys).clip(max=len(known) - 1)
            codes = np.where(known[at] == keys, places[at], codes)
        return codes

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
