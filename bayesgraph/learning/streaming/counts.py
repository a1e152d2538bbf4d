"""Class-conditional counts of states in a stream, of all rows or of a sliding window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming.window_counts import WindowCounts
from bayesgraph.statistics.sketches import PANES, FrequentValues
from bayesgraph.statistics.sketches.base import part_of, state_array, widened
from bayesgraph.statistics.sketches.frequent_values import FIRST_KEY


class StateCounts:
    """Weight of each state of each column in each class.

    Parameters
    ----------
    n_classes, n_columns : int
    max_categories : int
        Maximum number of states of a column that are counted individually.
    window : int or None
        Length of the sliding window in rows; None for all rows.

    Attributes
    ----------
    tables : list of ndarray, shape (n_states, n_classes) each
    sketches : dict from int to FrequentValues
        Sketches of frequent values, by column index. They replace the table of a column once it has
        more values than are counted individually, which have codes of `FIRST_KEY` or more.
    panes : WindowCounts
    """

    def __init__(
        self, n_classes: int, n_columns: int, *, max_categories: int, window: int | None
    ) -> None:
        self.n_classes = n_classes
        self.max_categories = max_categories
        self.tables = [np.zeros((0, n_classes)) for _ in range(n_columns)]
        self.sketches: dict[int, FrequentValues] = {}
        self.panes = WindowCounts(window, n_classes, n_columns)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.tables)

    def absorb(
        self,
        columns: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
        ages: Floats,
    ) -> None:
        """Add rows to the counts.

        Parameters
        ----------
        columns : ndarray, shape (n_columns, n)
            Codes, -1 where missing.
        classes, weights : ndarray, shape (n,)
        ages : ndarray, shape (n,)
            Decay factor of each row when the last of these rows arrives; `weights` already include
            it.
        """
        fresh = [np.zeros((0, self.n_classes)) for _ in self.tables]
        for j, codes in enumerate(columns):
            if codes.max(initial=-1) >= FIRST_KEY and j not in self.sketches:
                self.sketches[j] = _sketched(self.tables[j], self.max_categories)
                self.tables[j] = self.tables[j][:0]
            if j in self.sketches:
                self.sketches[j].absorb(codes, classes, weights)
            else:
                self.tables[j] = _counted(self.tables[j], codes, classes, weights)
                if self.panes.is_on:
                    fresh[j] = _counted(fresh[j], codes, classes, weights)
        if self.panes.is_on:
            parts = [np.bincount(classes, w, self.n_classes) for w in (weights, ages)]
            self.panes.add(len(classes), np.array(parts), fresh)

    def turn(self) -> tuple[Floats, float]:
        """Start a new pane of the window; return the class weights and row count of its panes."""
        totals, self.tables = self.panes.turn()
        for j, sketch in self.sketches.items():
            # A sketch cannot subtract rows that left the window: its counts are scaled down
            # instead.
            self.tables[j] = self.tables[j][:0]
            sketch.fade(1.0 - 1.0 / PANES)
        return totals[0], float(totals[1].sum())

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        for table in self.tables:
            table *= factor
        for sketch in self.sketches.values():
            sketch.fade(factor)
        self.panes.fade(factor)

    def grow(self, n_classes: int, n_columns: int) -> None:
        """Add classes and columns after the existing ones, up to the given numbers."""
        self.n_classes = n_classes
        self.panes.grow(n_classes, n_columns)
        self.tables = [widened(table, (len(table), n_classes)) for table in self.tables]
        self.tables += [np.zeros((0, n_classes)) for _ in range(n_columns - len(self.tables))]
        for sketch in self.sketches.values():
            sketch.grow(n_classes=n_classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays, for a file."""
        state: dict[str, NDArray[Any]] = {f"table_{j}": t for j, t in enumerate(self.tables)}
        for j, sketch in self.sketches.items():
            state |= {f"sketch_{j}.{name}": array for name, array in sketch.arrays().items()}
        return state | {f"panes.{name}": array for name, array in self.panes.arrays().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the counts by those in the named arrays of `arrays`.

        Raises
        ------
        DataError, LookupError, TypeError, ValueError
            If the arrays are not a valid state.
        """
        shape = (None, self.n_classes)
        names = [f"table_{j}" for j in range(len(self.tables))]
        self.tables = [state_array(arrays, name, shape, minimum=0.0) for name in names]
        for j in range(len(self.tables)):
            if part := part_of(arrays, f"sketch_{j}."):
                self.sketches[j] = FrequentValues.from_arrays(part)
        self.panes.restore(part_of(arrays, "panes."))


def _sketched(table: Floats, maximum: int) -> FrequentValues:
    """Return a sketch with the counts of a table, for at most `maximum` frequent values."""
    n, k = table.shape
    sketch = FrequentValues(k, size=maximum)
    sketch.absorb(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), table.ravel())
    return sketch


def _counted(
    table: Floats, codes: NDArray[np.int64], classes: NDArray[np.int64], weights: Floats
) -> Floats:
    """Return a table of counts with rows added, and with more states if their codes need them."""
    there = codes >= 0
    size, k = max(len(table), int(codes.max(initial=-1)) + 1), table.shape[1]
    at = codes[there] * k + classes[there]
    counts = widened(table, (size, k)).copy()
    counts += np.bincount(at, weights[there], minlength=size * k).reshape(size, k)
    return counts
