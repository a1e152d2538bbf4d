"""Summaries of a sliding window of a stream, divided into panes (sub-windows)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import (
    ColumnSummaries,
    checked_size,
    part_of,
    state_array,
)

PANES = 8


class WindowedSummaries(ColumnSummaries):
    """Summaries of a sliding window: a list of panes (sub-windows of consecutive rows).

    Rows enter the newest pane. `turn` starts a new pane, and drops the oldest if there are more
    than `n_panes`. Memory is that of `n_panes` summaries. `together` merges the panes. This is
    exact for Gaussians. For quantiles and histograms the absolute errors of the panes add up, so
    that the error relative to the window's weight is that of a single summary.

    Parameters
    ----------
    empty : ColumnSummaries
        Initial state of each pane.
    n_panes : int

    Attributes
    ----------
    panes : list of ColumnSummaries
        Panes of the window, oldest first.
    """

    def __init__(self, empty: ColumnSummaries, n_panes: int = PANES) -> None:
        self.n_panes = checked_size("n_panes", n_panes, 1)
        self._empty = empty.copy()
        self.panes = [empty.copy()]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of features."""
        return self._empty.n_features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of classes."""
        return self._empty.n_classes

    @property
    def kind(self) -> type[ColumnSummaries]:
        """The class of the panes."""
        return type(self._empty)

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows to the newest pane; see `ColumnSummaries.absorb`."""
        self.panes[-1].absorb(columns, classes, weights)

    def turn(self) -> None:
        """Start a new pane, and drop the oldest if there are more than `n_panes`."""
        self.panes = [*self.panes, self._empty.copy()][-self.n_panes :]

    @property
    def counts(self) -> Floats:
        """Weight of the window's observed values by feature and class, (n_features, n_classes)."""
        return np.asarray(sum(pane.counts for pane in self.panes))

    def together(self) -> ColumnSummaries:
        """Return one summary that unites the panes."""
        return self.kind.united(self.panes)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all panes by a factor."""
        for pane in self.panes:
            pane.fade(factor)

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Add features or classes to all panes; see `ColumnSummaries.grow`."""
        for pane in (self._empty, *self.panes):
            pane.grow(n_features=n_features, n_classes=n_classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `restored`."""
        state = {"shape": np.array([self.n_panes, len(self.panes)])}
        for i, pane in enumerate((self._empty, *self.panes)):
            state |= {f"pane_{i}_{name}": array for name, array in pane.arrays().items()}
        return state

    @classmethod
    def restored(cls, kind: type[ColumnSummaries], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a window with a saved state, the result of the method `arrays`.

        `kind` is the class of the panes.
        """
        n_panes, n = state_array(arrays, "shape", (2,), minimum=0, whole=True).tolist()
        if not 1 <= n <= n_panes:
            raise DataError(f"A saved state has 1 to {n_panes} panes; got {n}.")
        empty, *panes = (kind.from_arrays(part_of(arrays, f"pane_{i}_")) for i in range(n + 1))
        shapes = {(part.n_features, part.n_classes) for part in (empty, *panes)}
        if len(shapes) > 1:
            raise DataError(f"The panes of a saved state are of different shapes: {shapes}.")
        made = cls(empty, n_panes)
        made.panes = panes
        return made
