"""Quantiles whose tuples count classes (Greenwald and Khanna)."""

from bayesgraph.statistics.sketches.gk.summaries import GKClass

__all__ = ["GKClass"]
