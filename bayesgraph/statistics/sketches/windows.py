"""Summaries of the last rows of a stream: panes, of which the oldest is dropped."""

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
    """A ring of summaries, of which each holds a stretch of a stream.

    Rows enter the newest pane. `turn` begins another one, and drops the oldest if there are more
    than `n_panes`. Memory is that of `n_panes` summaries. `together` puts the panes together:
    Gaussians exactly, quantiles and histograms with the sum of the panes' errors, which is the
    relative error that one summary of the window's rows has.

    Parameters
    ----------
    empty : ColumnSummaries
        The state in which each pane begins.
    n_panes : int

    Attributes
    ----------
    panes : list of ColumnSummaries
        Oldest first.
    """

    def __init__(self, empty: ColumnSummaries, n_panes: int = PANES) -> None:
        self.n_panes = checked_size("n_panes", n_panes, 1)
        self._empty = empty.copy()
        self.panes = [empty.copy()]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """See ColumnSummaries."""
        return self._empty.n_features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """See ColumnSummaries."""
        return self._empty.n_classes

    @property
    def kind(self) -> type[ColumnSummaries]:
        """See ColumnSummaries."""
        return type(self._empty)

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """See ColumnSummaries."""
        self.panes[-1].absorb(columns, classes, weights)

    def turn(self) -> None:
        """Begin a pane."""
        self.panes = [*self.panes, self._empty.copy()][-self.n_panes :]

    @property
    def counts(self) -> Floats:
        """See ColumnSummaries."""
        return np.asarray(sum(pane.counts for pane in self.panes))

    def together(self) -> ColumnSummaries:
        """See ColumnSummaries."""
        return self.kind.united(self.panes)

    def _fade(self, factor: float) -> None:
        """See ColumnSummaries."""
        for pane in self.panes:
            pane.fade(factor)

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """See ColumnSummaries."""
        for pane in (self._empty, *self.panes):
            pane.grow(n_features=n_features, n_classes=n_classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See ColumnSummaries."""
        state = {"shape": np.array([self.n_panes, len(self.panes)])}
        for i, pane in enumerate((self._empty, *self.panes)):
            state |= {f"pane_{i}_{name}": array for name, array in pane.arrays().items()}
        return state

    @classmethod
    def restored(cls, kind: type[ColumnSummaries], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the window of summaries of a kind in the state that `arrays` returned."""
        # Files of 0.1.0 have two more numbers: panes ever begun, and the kind.
        shape = state_array(arrays, "shape", (None,), minimum=0, whole=True)
        n_panes, n = (*shape.tolist(), 0, 0)[:2]
        if not 1 <= n <= n_panes:
            raise DataError(f"A saved state has 1 to {n_panes} panes; got {n}.")
        empty, *panes = (kind.from_arrays(part_of(arrays, f"pane_{i}_")) for i in range(n + 1))
        shapes = {(part.n_features, part.n_classes) for part in (empty, *panes)}
        if len(shapes) > 1:
            raise DataError(f"The panes of a saved state are of different shapes: {shapes}.")
        made = cls(empty, n_panes)
        made.panes = panes
        return made
