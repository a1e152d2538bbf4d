"""Class-conditional counts, means and sums of squares of numeric columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.moments import GroupMoments
from bayesgraph.statistics.sketches.base import (
    NOTHING,
    ColumnSummaries,
    checked_size,
    state_array,
    widened,
)


class GaussianSummary(ColumnSummaries):
    """Weight, mean and variance of each feature in each class, updated in a numerically stable way.

    If `fade` reduces the weight of a feature in a class to less than 1e-100 rows, weight, mean and
    variance are reset to zero.

    Parameters
    ----------
    n_features, n_classes : int

    References
    ----------
    T. Chan, G. Golub, R. LeVeque: Updating formulae and a pairwise algorithm for computing sample
    variances. Stanford 1979.
    """

    name = "gaussian"
    densities = "gaussians"

    def __init__(self, n_features: int = 1, n_classes: int = 1) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        shape = (n_classes, n_features)
        self.moments = GroupMoments(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        found = GroupMoments.collect(columns.T, classes, self.n_classes, weights)
        self.moments = self.moments + found

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.ascontiguousarray(self.moments.count.T)

    @property
    def mean(self) -> Floats:
        """Means, shape (n_features, n_classes); 0 without observed values."""
        return np.ascontiguousarray(self.moments.mean.T)

    @property
    def variance(self) -> Floats:
        """Variances (divided by the weight), shape (n_features, n_classes); 0 where unknown."""
        count = self.moments.count
        return np.ascontiguousarray((self.moments.square / np.where(count > 0, count, 1.0)).T)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        m = self.moments
        there = m.count * factor >= NOTHING
        faded = (m.count * factor, m.mean, m.square * factor)
        self.moments = GroupMoments(*(np.where(there, array, 0.0) for array in faded))

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Enlarge to `n_features` features and `n_classes` classes; see `ColumnSummaries.grow`."""
        self.n_features = n_features or self.n_features
        self.n_classes = n_classes or self.n_classes
        shape = (self.n_classes, self.n_features)
        m = self.moments
        self.moments = GroupMoments(*(widened(a, shape) for a in (m.count, m.mean, m.square)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        m = self.moments
        return {"count": m.count, "mean": m.mean, "square": m.square}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        count = state_array(arrays, "count", (None, None), minimum=0.0)
        mean = state_array(arrays, "mean", count.shape)
        square = state_array(arrays, "square", count.shape, minimum=0.0)
        made = cls(count.shape[1], count.shape[0])
        made.moments = GroupMoments(count, mean, square)
        return made
