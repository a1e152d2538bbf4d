"""Learning a weighted naive Bayes model from a stream in one pass."""

from bayesgraph.learning.streaming.densities import (
    Densities,
    GaussianDensities,
    IntervalDensities,
    StateDensities,
)
from bayesgraph.learning.streaming.settings import StreamSettings
from bayesgraph.learning.streaming.star import StreamingStar

__all__ = [
    "Densities",
    "GaussianDensities",
    "IntervalDensities",
    "StateDensities",
    "StreamSettings",
    "StreamingStar",
]
