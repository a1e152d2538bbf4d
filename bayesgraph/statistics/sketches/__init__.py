"""Summaries of streams in bounded memory, of all columns of a table side by side."""

from bayesgraph.statistics.sketches.base import Cells, ColumnSummaries, CutSummaries
from bayesgraph.statistics.sketches.frequent_values import FrequentValues
from bayesgraph.statistics.sketches.gaussian import GaussianSummary
from bayesgraph.statistics.sketches.gk import GKSummary
from bayesgraph.statistics.sketches.pid import PiDSummary
from bayesgraph.statistics.sketches.windows import PANES, WindowedSummaries

# The one list of summaries of numeric columns; each class says the rest on its card.
SUMMARIES: dict[str, type[ColumnSummaries]] = {
    kind.name: kind for kind in (GKSummary, PiDSummary, GaussianSummary)
}

__all__ = [
    "PANES",
    "SUMMARIES",
    "Cells",
    "ColumnSummaries",
    "CutSummaries",
    "FrequentValues",
    "GKSummary",
    "GaussianSummary",
    "PiDSummary",
    "WindowedSummaries",
]
