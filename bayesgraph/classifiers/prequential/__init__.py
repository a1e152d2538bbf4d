"""Prequential evaluation: each row of a stream is first predicted, then learned."""

from bayesgraph.classifiers.prequential.result import PrequentialComparison, PrequentialResult
from bayesgraph.classifiers.prequential.run import prequential

__all__ = ["PrequentialComparison", "PrequentialResult", "prequential"]
