"""Learning from a stream in one pass."""

from bayesgraph.learning.streaming.densities import (
    Densities,
    GaussianDensities,
    IntervalDensities,
    StateDensities,
)
from bayesgraph.learning.streaming.star import StreamingStar, StreamSettings

__all__ = [
    "Densities",
    "GaussianDensities",
    "IntervalDensities",
    "StateDensities",
    "StreamSettings",
    "StreamingStar",
]
