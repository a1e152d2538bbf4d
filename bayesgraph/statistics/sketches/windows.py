"""Summaries of the last rows of a stream: panes, of which the oldest is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import ColumnSummaries, checked_size
from bayesgraph.statistics.sketches.checks import part_of, state_array
from bayesgraph.statistics.sketches.gaussians import GaussianClass
from bayesgraph.statistics.sketches.gk import GKClass
from bayesgraph.statistics.sketches.kll import KLLClass
from bayesgraph.statistics.sketches.pid import PiDClass

PANES = 8
# What panes are made of: a saved state has the place here, so that new kinds go to the end.
_KINDS: tuple[type[ColumnSummaries], ...] = (GKClass, PiDClass, GaussianClass, KLLClass)


class WindowedSummaries(ColumnSummaries):
    """A ring of summaries, of which each holds a stretch of a stream.

    Rows enter the newest pane. `turn` begins another one, and drops the oldest if there are more
    than `n_panes`. Memory is that of `n_panes` summaries. A look at the window puts the panes
    together (`together`): Gaussians exactly, quantiles and histograms with the sum of the panes'
    errors, which is the relative error that one summary of the window's rows has. Panes that toss
    coins (`KLLClass`) toss others each: those of a pane follow from the first seed and from how
    many panes were begun before it.

    Parameters
    ----------
    empty : GKClass, PiDClass, GaussianClass or KLLClass
        What each pane begins as.
    n_panes : int

    Raises
    ------
    ModelError
        For summaries of another kind, or a number of panes below 1.

    Attributes
    ----------
    panes : list of ColumnSummaries
        Oldest first.
    n_begun : int
        Panes that were ever begun.
    """

    def __init__(self, empty: ColumnSummaries, n_panes: int = PANES) -> None:
        self.n_panes = checked_size("n_panes", n_panes, 1)
        if type(empty) not in _KINDS:
            raise ModelError(
                f"Panes are summaries of one of {', '.join(kind.__name__ for kind in _KINDS)}; got "
                f"{type(empty).__name__}."
            )
        self._empty = empty.copy()
        self.panes = [empty.copy()]
        self.n_begun = 1

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
        """Of the panes."""
        return type(self._empty)

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """See ColumnSummaries."""
        self.panes[-1].absorb(columns, classes, weights)

    def turn(self) -> None:
        """Begin a pane."""
        self.panes = [*self.panes, self._empty.renewed(self.n_begun)][-self.n_panes :]
        self.n_begun += 1

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
        kind = _KINDS.index(self.kind)
        state = {"shape": np.array([self.n_panes, len(self.panes), self.n_begun, kind])}
        for i, pane in enumerate((self._empty, *self.panes)):
            state |= {f"pane_{i}_{name}": array for name, array in pane.arrays().items()}
        return state

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """See ColumnSummaries."""
        shape = state_array(arrays, "shape", (4,), least=0, whole=True)
        n_panes, n, n_begun, code = shape.tolist()
        if not 1 <= n <= n_panes or n_begun < n:
            raise DataError(
                f"A saved state has 1 to {n_panes} panes, of those that were begun; got {n} of "
                f"{n_begun}."
            )
        if code >= len(_KINDS):
            raise DataError(f"A saved state has panes of a kind below {len(_KINDS)}; got {code}.")
        kind = _KINDS[code]
        parts = [kind.from_arrays(part_of(arrays, f"pane_{i}_")) for i in range(n + 1)]
        shapes = {(part.n_features, part.n_classes) for part in parts}
        if len(shapes) > 1:
            raise DataError(f"The panes of a saved state are of different shapes: {shapes}.")
        made = cls(parts[0], n_panes)
        made.panes, made.n_begun = parts[1:], n_begun
        return made

    @classmethod
    def restored(cls, kind: type[ColumnSummaries], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return what `from_arrays` returns if the panes are of a kind.

        Raises
        ------
        DataError
            If they are of another.
        """
        made = cls.from_arrays(arrays)
        if made.kind is not kind:
            raise DataError(
                f"A saved state has panes of {kind.__name__}; they are of {made.kind.__name__}."
            )
        return made
