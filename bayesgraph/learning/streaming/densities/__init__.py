"""The second layer: conditional densities of columns, made from their summaries."""

from bayesgraph.learning.streaming.densities.base import Densities, NumericDensities
from bayesgraph.learning.streaming.densities.gaussians import GaussianDensities
from bayesgraph.learning.streaming.densities.intervals import METHODS, IntervalDensities
from bayesgraph.learning.streaming.densities.states import StateDensities
from bayesgraph.statistics.sketches import ColumnSummaries, CutSummaries, GaussianClass

__all__ = [
    "METHODS",
    "Densities",
    "GaussianDensities",
    "IntervalDensities",
    "NumericDensities",
    "StateDensities",
    "numeric_densities",
]


def numeric_densities(
    summaries: ColumnSummaries,
    *,
    method: str,
    most: int,
    smoothing: float,
    shrinkage: float,
    var_smoothing: float,
) -> NumericDensities:
    """Return the densities of numeric columns; parameters as for the classes above."""
    summaries = summaries.together()
    if isinstance(summaries, GaussianClass):
        return GaussianDensities.of(summaries, shrinkage, var_smoothing)
    assert isinstance(summaries, CutSummaries)  # there are no others
    return IntervalDensities.of(summaries, method, most, smoothing)
