"""Histograms whose bins split where they grow: partition incremental discretisation (PiD)."""

from bayesgraph.statistics.sketches.pid.summaries import PiDClass

__all__ = ["PiDClass"]
