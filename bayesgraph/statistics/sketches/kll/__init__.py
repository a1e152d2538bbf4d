"""Quantiles that merge: compactors of doubling weight (Karnin, Lang and Liberty)."""

from bayesgraph.statistics.sketches.kll.summaries import KLLClass

__all__ = ["KLLClass"]
