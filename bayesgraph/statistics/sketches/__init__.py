"""Summaries of streams in bounded memory, of all columns of a table side by side."""

from bayesgraph.statistics.sketches.base import Cells, ColumnSummaries, CutSummaries
from bayesgraph.statistics.sketches.frequencies import CountMinClass
from bayesgraph.statistics.sketches.gaussians import GaussianClass
from bayesgraph.statistics.sketches.gk import GKClass
from bayesgraph.statistics.sketches.kll import KLLClass
from bayesgraph.statistics.sketches.pid import PiDClass
from bayesgraph.statistics.sketches.windows import PANES, WindowedSummaries

__all__ = [
    "PANES",
    "Cells",
    "ColumnSummaries",
    "CountMinClass",
    "CutSummaries",
    "GKClass",
    "GaussianClass",
    "KLLClass",
    "PiDClass",
    "WindowedSummaries",
]
