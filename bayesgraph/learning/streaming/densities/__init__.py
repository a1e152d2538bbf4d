"""The second layer: conditional densities of columns, made from their summaries."""

from bayesgraph.learning.streaming.densities.base import Densities, NumericDensities
from bayesgraph.learning.streaming.densities.gaussians import GaussianDensities
from bayesgraph.learning.streaming.densities.intervals import IntervalDensities
from bayesgraph.learning.streaming.densities.states import StateDensities

# By what the card of a summary says of its densities.
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
