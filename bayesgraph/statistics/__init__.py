"""Additive statistics of tables (counts, moments), and the sources that learners get them from."""

from bayesgraph.statistics.requests import (
    Extensions,
    Families,
    Family,
    Histograms,
    Moments,
    Numbered,
    Pairs,
    Request,
    Samples,
    Singles,
    Totals,
)
from bayesgraph.statistics.source import (
    CountSource,
    RowSource,
    Statistics,
    StatisticsSource,
    TableSource,
)
from bayesgraph.statistics.summaries import (
    FamiliesSummary,
    FamilyStatistics,
    PairsSummary,
    SinglesSummary,
    pairs_bytes,
    pairs_bytes_of,
)

__all__ = [
    "CountSource",
    "Extensions",
    "Families",
    "FamiliesSummary",
    "Family",
    "FamilyStatistics",
    "Histograms",
    "Moments",
    "Numbered",
    "Pairs",
    "PairsSummary",
    "Request",
    "RowSource",
    "Samples",
    "Singles",
    "SinglesSummary",
    "Statistics",
    "StatisticsSource",
    "TableSource",
    "Totals",
    "pairs_bytes",
    "pairs_bytes_of",
]
