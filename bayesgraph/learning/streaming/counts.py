"""Class-conditional counts of states in a stream, of all rows or of the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches import FrequentValues
from bayesgraph.statistics.sketches.base import part_of, state_array, widened
from bayesgraph.statistics.sketches.frequent_values import FIRST_KEY

# Codes of the columns, classes and weights of some rows.
Rows: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], Floats]
# Their names in files, of the rows in the window.
_WINDOW = ("window_codes", "window_classes", "window_weights")


class StateCounts:
    """Weight of each state of each column in each class.

    Parameters
    ----------
    n_classes, n_columns : int
    max_categories : int
        Maximum number of states of a column that are counted individually.
    window : int or None
        Number of the last rows that are counted; None for all rows.

    Attributes
    ----------
    tables : list of ndarray, shape (n_states, n_classes) each
    sketches : dict from int to FrequentValues
        Sketches of frequent values, by column index. A sketch replaces the table of a column once
        the column has more values than are counted individually: further values have codes of
        `FIRST_KEY` or more.
    """

    def __init__(
        self, n_classes: int, n_columns: int, *, max_categories: int, window: int | None
    ) -> None:
        self.n_classes = n_classes
        self.max_categories = max_categories
        self.tables = [np.zeros((0, n_classes)) for _ in range(n_columns)]
        self.sketches: dict[int, FrequentValues] = {}
        self.window = window
        # The rows in the window in blocks, the oldest first.
        self._rows: deque[Rows] = deque()

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.tables)

    def absorb(
        self,
        columns: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
    ) -> Floats:
        """Add rows to the counts, and subtract those that leave the window.

        Parameters
        ----------
        columns : ndarray, shape (n_columns, n)
            Codes, -1 where missing.
        classes, weights : ndarray, shape (n,)

        Returns
        -------
        ndarray, shape (n_classes,)
            Weight of each class in the rows that left the window.
        """
        for j, codes in enumerate(columns):
            if codes.max(initial=-1) >= FIRST_KEY and j not in self.sketches:
                self.sketches[j] = _sketched(self.tables[j], self.max_categories)
                self.tables[j] = self.tables[j][:0]
            if j in self.sketches:
                self.sketches[j].absorb(codes, classes, weights)
            else:
                self.tables[j] = _counted(self.tables[j], codes, classes, weights)
        if self.window is None:
            return np.zeros(self.n_classes)
        self._rows.append((columns.copy(), classes.copy(), weights))
        return self._subtract(sum(len(labels) for _, labels, _ in self._rows) - self.window)

    def _subtract(self, n: int) -> Floats:
        """Subtract the n oldest rows of the window, and return the weight of each class in them."""
        leaving: list[Rows] = []
        while n > 0:
            codes, classes, weights = self._rows.popleft()
            leaving.append((codes[:, :n], classes[:n], weights[:n]))
            if n < len(classes):
                self._rows.appendleft((codes[:, n:], classes[n:], weights[n:]))
            n -= len(classes)
        if not leaving:
            return np.zeros(self.n_classes)
        # As one block: sums do not depend on where blocks end, which files do not have.
        columns, classes, weights = _one_block(leaving)
        for j, codes in enumerate(columns):
            table = _counted(self.tables[j], codes, classes, -weights)
            # Of weights that are not whole numbers, rounding may leave less than nothing.
            self.tables[j] = np.maximum(table, 0.0)
        return np.bincount(classes, weights, self.n_classes).astype(np.float64)

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        for table in self.tables:
            table *= factor
        for sketch in self.sketches.values():
            sketch.fade(factor)
        for _, _, weights in self._rows:
            weights *= factor

    def grow(self, n_classes: int, n_columns: int) -> None:
        """Add classes and columns after the existing ones, up to the given numbers."""
        self.n_classes = n_classes
        for i, (codes, classes, weights) in enumerate(self._rows):
            absent = np.full((n_columns - len(codes), len(classes)), -1)
            self._rows[i] = np.concatenate([codes, absent]), classes, weights
        self.tables = [widened(table, (len(table), n_classes)) for table in self.tables]
        self.tables += [np.zeros((0, n_classes)) for _ in range(n_columns - len(self.tables))]
        for sketch in self.sketches.values():
            sketch.grow(n_classes=n_classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays, for a file."""
        state: dict[str, NDArray[Any]] = {f"table_{j}": t for j, t in enumerate(self.tables)}
        for j, sketch in self.sketches.items():
            state |= {f"sketch_{j}.{name}": array for name, array in sketch.arrays().items()}
        if self._rows:
            state |= dict(zip(_WINDOW, _one_block(self._rows), strict=True))
        return state

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
        if _WINDOW[0] not in arrays:
            return
        codes_of = state_array(arrays, _WINDOW[0], (len(self), None), minimum=-1, whole=True)
        n, last = codes_of.shape[1], self.n_classes - 1
        classes = state_array(arrays, _WINDOW[1], (n,), minimum=0, maximum=last, whole=True)
        weights = state_array(arrays, _WINDOW[2], (n,), minimum=0.0)
        counted = [len(table) for table in self.tables]
        if self.window is None or n > self.window or self.sketches:
            raise DataError(f"A saved state has {n} rows for a window of {self.window}.")
        if (codes_of.max(axis=1, initial=-1) >= counted).any():
            raise DataError("A saved state has rows in the window whose states are not counted.")
        self._rows.append((codes_of, classes, weights))


def _one_block(blocks: Collection[Rows]) -> Rows:
    """Return the rows of several blocks, of which there is at least one, as a single block."""
    columns, classes, weights = zip(*blocks, strict=True)
    return np.concatenate(columns, axis=1), np.concatenate(classes), np.concatenate(weights)


def _sketched(table: Floats, maximum: int) -> FrequentValues:
    """Return a sketch with the counts of a table, for at most `maximum` frequent values."""
    n, k = table.shape
    sketch = FrequentValues(k, size=maximum)
    sketch.absorb(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), table.ravel())
    return sketch


def _counted(
    table: Floats, codes: NDArray[np.int64], classes: NDArray[np.int64], weights: Floats
) -> Floats:
    """Return a table of counts with rows added, enlarged by states that the rows introduce."""
    there = codes >= 0
    size, k = max(len(table), int(codes.max(initial=-1)) + 1), table.shape[1]
    at = codes[there] * k + classes[there]
    counts = widened(table, (size, k)).copy()
    counts += np.bincount(at, weights[there], minlength=size * k).reshape(size, k)
    return counts
