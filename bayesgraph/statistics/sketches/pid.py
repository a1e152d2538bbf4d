"""Class-conditional histograms in bounded memory: partition incremental discretisation (PiD)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.parallel import by_rows
from bayesgraph.statistics.sketches import pid_kernels as kernels
from bayesgraph.statistics.sketches.base import (
    LIGHT,
    NOTHING,
    Cells,
    CutSummaries,
    check_ascending,
    checked_size,
    state_array,
    widened,
)


class PiDSummary(CutSummaries):
    """Histograms of columns by class, with at most `size` bins that are split and merged (PiD).

    A feature starts with one bin. A value outside the range extends the first or the last bin. A
    bin that holds more than 2 / `size` of the total weight is split in the middle, and each half
    gets half of its counts. Once there are `size` bins, the two neighbours with the smallest sum
    are merged after each split. No weight is lost. Because the division of a bin's weight is a
    guess, there is no bound on the error, unlike for `GKSummary`.

    The result depends on the order of the rows: sorted rows fill the bins that were made last, for
    which equal halves are a wrong guess. For smooth densities in random order the histograms are
    more exact than `GKSummary`; outliers and very frequent values use up bins. See `GKSummary` for
    errors measured in several orders.

    After `fade`, bins at the ends of the range with less than 1e-12 of the weight are removed, and
    their remaining weight goes to their neighbours: the range is that of the bins that remain.

    Parameters
    ----------
    n_features, n_classes : int
    size : int
        Maximum number of bins per feature, at least 2.

    References
    ----------
    J. Gama, C. Pinto: Discretization from data streams: applications to histograms and data mining.
    SAC 2006. In constant memory: C. Salperwyck, V. Lemaire, C. Hue, EGC 2014.
    """

    name = "pid"
    options = ("size",)

    def __init__(self, n_features: int = 1, n_classes: int = 1, *, size: int = 100) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        self.size = checked_size("size", size, 2)
        self._used = np.zeros(n_features, dtype=np.int64)
        self._total = np.zeros(n_features)
        # Room for one additional bin, as splits come before merges.
        self._edge = np.zeros((n_features, size + 2))
        self._count = np.zeros((n_features, size + 1, n_classes))

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        state = (self._used, self._edge, self._count, self._total)
        arrays = (columns, classes, weights, *state)
        by_rows(kernels.absorb_histograms, arrays, len(columns), 64 * columns.shape[1])

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.asarray((self._count * self._is_used[..., None]).sum(axis=1))

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self._count.shape[1]) < self._used[:, None])

    def bins(self, feature: int = 0) -> tuple[Floats, Floats]:
        """Return the ascending edges of a feature's bins, and the class weights of the bins."""
        n = self._used[feature]
        return self._edge[feature, : n + 1].copy(), self._count[feature, :n].copy()

    def cells(self) -> Cells:
        """Return the bins as cells, after merging empty bins into their neighbours."""
        used = self._is_used
        start = np.concatenate([[0], np.cumsum(self._used)]).astype(np.int64)
        low, high = self._edge[:, :-1][used], self._edge[:, 1:][used]
        flat = high.copy()
        flat[start[1:][self._used > 0] - 1] = np.inf
        return Cells.joined(start, self._count[used], flat, low, high)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        state = (self._used, self._edge, self._count, self._total)
        kernels.fade_histograms(factor, LIGHT, NOTHING, *state)

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Enlarge to `n_features` features and `n_classes` classes; see `ColumnSummaries.grow`."""
        self.n_features = n_features or self.n_features
        self.n_classes = n_classes or self.n_classes
        self._used = widened(self._used, (self.n_features,))
        self._total = widened(self._total, (self.n_features,))
        self._edge = widened(self._edge, (self.n_features, self.size + 2))
        self._count = widened(self._count, (self.n_features, self.size + 1, self.n_classes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        return {
            "used": self._used,
            "total": self._total,
            "edge": self._edge,
            "count": self._count,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        count = state_array(arrays, "count", (None, None, None), minimum=0.0)
        n_features, room, n_classes = count.shape
        made = cls(n_features, n_classes, size=room - 1)
        made._count = count
        made._used = state_array(
            arrays, "used", (n_features,), minimum=0, maximum=made.size, whole=True
        )
        made._total = state_array(arrays, "total", (n_features,), minimum=0.0)
        made._edge = state_array(arrays, "edge", (n_features, room + 1))
        inside = np.arange(room + 1) <= made._used[:, None]
        check_ascending("edge", made._edge, inside & (made._used > 0)[:, None], ties=True)
        return made
