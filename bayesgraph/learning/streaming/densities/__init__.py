"""Class-conditional densities of columns, estimated from the summaries of a stream."""

from bayesgraph.learning.streaming.densities.base import Densities, NumericDensities
from bayesgraph.learning.streaming.densities.gaussians import GaussianDensities
from bayesgraph.learning.streaming.densities.intervals import IntervalDensities
from bayesgraph.learning.streaming.densities.states import StateDensities

# Python class of the densities of numeric columns, by the `densities` attribute of summaries.
DENSITIES: dict[str, type[NumericDensities]] = {
    "intervals": IntervalDensities,
    "gaussians": GaussianDensities,
}

__all__ = [
    "DENSITIES",
    "Densities",
    "GaussianDensities",
    "IntervalDensities",
    "NumericDensities",
    "StateDensities",
]
