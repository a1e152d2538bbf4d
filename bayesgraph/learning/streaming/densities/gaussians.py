"""Class-conditional Gaussians of numeric columns, estimated from stream summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.cpds import CPD, GaussianPlate
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming.densities import kernels
from bayesgraph.learning.streaming.densities.base import NumericDensities
from bayesgraph.learning.streaming.settings import StreamSettings
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.statistics.sketches import ColumnSummaries, GaussianSummary
from bayesgraph.variables import Continuous, Discrete, Name, Variable


@dataclass(frozen=True, eq=False)
class GaussianDensities(NumericDensities):
    """A Gaussian of each numeric column in each class.

    Attributes
    ----------
    mean, variance : ndarray, shape (n_features, n_classes)
        The variance is 0 for features without values. `centre` is described in Densities.
    centre : ndarray, shape (n_classes, n_features)
    """

    mean: Floats
    variance: Floats
    centre: Floats

    @property
    def n_features(self) -> int:
        """Number of columns; see Densities."""
        return len(self.mean)

    @classmethod
    def of(
        cls, summaries: GaussianSummary, shrinkage: float, var_smoothing: float
    ) -> GaussianDensities:
        """Return Gaussians whose variances shrink towards the pooled within-class variance.

        Parameters
        ----------
        summaries : GaussianSummary
        shrinkage : float
            Weight of the pooled variance in each class, in rows. A class without values has the
            mean and variance of all rows.
        var_smoothing : float
            Share of the variance over all rows that is added to each variance; 1 is added if it is
            0.
        """
        count, mean, square = summaries.counts, summaries.mean, summaries.moments.square.T
        overall = summaries.moments.merged((summaries.n_classes,), 0)
        total, centre = overall.count.T, overall.mean.T
        whole = safe_divide(overall.square.T, total)
        within = square.sum(axis=1, keepdims=True)
        pooled = np.where(within > 0, safe_divide(within, total), whole)
        held = np.where(count + shrinkage > 0, count + shrinkage, 1.0)
        variance = (square + shrinkage * pooled) / held
        variance = np.where(count > 0, variance, whole)
        # A feature with one distinct value so far must not distinguish classes, whatever value
        # comes.
        floor = np.where(whole > 0, var_smoothing * whole, 1.0)
        variance = np.where(total > 0, variance + floor, 0.0)
        found = np.where(count > 0, mean, centre)
        return cls(found, variance, _mean_log_gaussians(centre, whole, found, variance))

    @classmethod
    def from_summaries(
        cls, summaries: ColumnSummaries, settings: StreamSettings
    ) -> GaussianDensities:
        """Return Gaussians with the shrinkage of the settings; see NumericDensities."""
        assert isinstance(summaries, GaussianSummary)  # the summary's `densities` attribute says so
        smoothing = settings.smoothing
        return cls.of(summaries, smoothing.shrinkage, smoothing.var_smoothing)

    def grown(self, n_more: int, shares: Floats, n_classes: int) -> GaussianDensities:
        """Return the Gaussians with additional features and classes; see Densities."""
        mean, variance, centre = self.mean, self.variance, self.centre
        more = n_classes - len(centre)
        if more:
            middle = mean @ shares
            whole = (variance + mean**2) @ shares - middle**2
            whole = np.where((variance > 0).any(axis=1), np.maximum(whole, 1e-300), 0.0)
            logs = _mean_log_gaussians(
                middle[:, None], whole[:, None], middle[:, None], whole[:, None]
            )
            mean = np.concatenate([mean, np.repeat(middle[:, None], more, axis=1)], axis=1)
            variance = np.concatenate([variance, np.repeat(whole[:, None], more, axis=1)], axis=1)
            centre = np.concatenate([centre, np.repeat(logs, more, axis=0)])
        unknown = np.zeros((n_more, n_classes))
        return GaussianDensities(
            np.concatenate([mean, unknown]),
            np.concatenate([variance, unknown]),
            np.concatenate([centre, unknown.T], axis=1),
        )

    def _write(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        kernels.log_gaussians(columns, self.mean, self.variance, out, start, stop)

    def _add(self, columns: Any, out: Floats, start: int, stop: int) -> None:
        kernels.add_gaussians(columns, self.mean, self.variance, out, start, stop)

    def variables(self, names: Sequence[Name]) -> tuple[Continuous, ...]:
        """Return continuous variables with the given names; see NumericDensities."""
        return tuple(Continuous(name) for name in names)

    def plate(self, variables: Sequence[Variable], target: Discrete) -> CPD:
        """Return Gaussian CPDs given the class; a feature without values is standard normal."""
        variance = np.where(self.variance > 0, self.variance, 1.0)
        return GaussianPlate(variables, self.mean.T, variance.T, [target])  # type: ignore[arg-type]


def _mean_log_gaussians(centre: Floats, whole: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the mean log density of each class's Gaussian over all rows, (n_classes, n).

    The closed form uses the mean (`centre`) and the variance (`whole`) of all rows, and the means
    and variances of the classes (`mean`, `variance`).
    """
    known = variance > 0
    safe = np.where(known, variance, 1.0)
    logs = -0.5 * np.log(2 * np.pi * safe) - (whole + (centre - mean) ** 2) / (2 * safe)
    return np.ascontiguousarray(np.where(known, logs, 0.0).T)
