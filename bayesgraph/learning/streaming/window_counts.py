"""Counts over a sliding window of a stream, kept for each pane (sub-window) of the window."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches import PANES
from bayesgraph.statistics.sketches.base import widened


class WindowCounts:
    """Class totals and state tables of each pane (sub-window) of a sliding window, oldest first.

    Class totals have two rows: total weights, and numbers of rows (with decay).

    Parameters
    ----------
    window : int or None
        Length of the window in rows, rounded up to a multiple of the number of panes; None for no
        window.
    n_classes, n_states : int
        Number of classes, and of columns of states.

    Attributes
    ----------
    rows : int
        Number of rows in the newest pane.
    """

    def __init__(self, window: int | None, n_classes: int, n_states: int) -> None:
        whole = isinstance(window, (int, np.integer)) and not isinstance(window, bool)
        if window is not None and (not whole or window < PANES):
            raise ModelError(
                f"window= is a whole number of rows, at least {PANES}, or None; got {window!r}."
            )
        self._size = 0 if window is None else -(-int(window) // PANES)
        self.rows = 0
        self._panes = [self._empty(n_classes, n_states)]

    def _empty(self, n_classes: int, n_states: int) -> list[Floats]:
        return [np.zeros((2, n_classes)), *(np.zeros((0, n_classes)) for _ in range(n_states))]

    @property
    def is_on(self) -> bool:
        """Whether there is a window."""
        return self._size > 0

    @property
    def is_full(self) -> bool:
        """Whether the next row starts a new pane."""
        return self.is_on and self.rows >= self._size

    def room(self, maximum: int) -> int:
        """Return how many rows, at most `maximum`, fit into the newest or, if full, a new pane."""
        if not self.is_on:
            return maximum
        return min(maximum, self._size if self.is_full else self._size - self.rows)

    def add(self, n: int, totals: Floats, tables: Sequence[Floats]) -> None:
        """Add the class totals and the state tables of n rows to the newest pane."""
        self.rows += n
        self._panes[-1] = [
            _sum(old, new) for old, new in zip(self._panes[-1], [totals, *tables], strict=True)
        ]

    def turn(self) -> tuple[Floats, list[Floats]]:
        """Start a new pane; return summed class totals and state tables of the panes kept."""
        _, n_classes = self._panes[-1][0].shape
        empty = self._empty(n_classes, len(self._panes[-1]) - 1)
        self._panes = [*self._panes, empty][-PANES:]
        self.rows = 0
        # Sums of panes instead of differences: dropped panes leave no rounding errors.
        totals, *tables = (_sum(*parts) for parts in zip(*self._panes, strict=True))
        return totals, tables

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        for pane in self._panes:
            for counts in pane:
                counts *= factor

    def grow(self, n_classes: int, n_states: int) -> None:
        """Add classes and columns of states, up to the given numbers."""
        for pane in self._panes:
            pane += [np.zeros((0, n_classes)) for _ in range(n_states + 1 - len(pane))]
            pane[:] = [widened(counts, (len(counts), n_classes)) for counts in pane]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the panes as named arrays, for a file."""
        state: dict[str, NDArray[Any]] = {"rows": np.array([self.rows, len(self._panes)])}
        if self.is_on:
            for i, pane in enumerate(self._panes):
                state |= {f"pane_{i}_{j}": counts for j, counts in enumerate(pane)}
        return state

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the panes by those in the named arrays of `arrays`.

        Raises
        ------
        DataError
            If the arrays are not a valid state.
        """
        self.rows, n = arrays["rows"].tolist()
        if not (self.rows >= 0 and 1 <= n <= PANES):
            raise DataError(f"A saved state has 1 to {PANES} panes; got {n} of {self.rows} rows.")
        if not self.is_on:
            return
        n_parts, n_classes = len(self._panes[0]), self._panes[0][0].shape[1]
        self._panes = [[arrays[f"pane_{i}_{j}"] for j in range(n_parts)] for i in range(n)]
        for counts in itertools.chain(*self._panes):
            good = counts.dtype == np.float64 and counts.ndim == 2 and counts.shape[1] == n_classes
            if not good or not (np.isfinite(counts) & (counts >= 0)).all():
                raise DataError("A saved state has panes of counts for each class, from 0.")
        if any(len(pane[0]) != 2 for pane in self._panes):
            raise DataError("A saved state has two totals a class and pane.")


def _sum(*parts: Floats) -> Floats:
    """Return the sum of tables of counts; states that a shorter table lacks have zero counts."""
    shape = (max(len(part) for part in parts), parts[0].shape[1])
    return np.asarray(sum(widened(part, shape) for part in parts))
