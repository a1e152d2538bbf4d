"""Summaries of the columns of a stream in bounded memory, for all columns of a table together."""

from bayesgraph.statistics.sketches.base import Cells, ColumnSummaries, CutSummaries
from bayesgraph.statistics.sketches.frequent_values import FrequentValues
from bayesgraph.statistics.sketches.gaussian import GaussianSummary
from bayesgraph.statistics.sketches.gk import GKSummary
from bayesgraph.statistics.sketches.pid import PiDSummary

# All summaries of numeric columns by name; the card of each class describes it, see
# ColumnSummaries.
SUMMARIES: dict[str, type[ColumnSummaries]] = {
    kind.name: kind for kind in (GKSummary, PiDSummary, GaussianSummary)
}

__all__ = [
    "SUMMARIES",
    "Cells",
    "ColumnSummaries",
    "CutSummaries",
    "FrequentValues",
    "GKSummary",
    "GaussianSummary",
    "PiDSummary",
]
