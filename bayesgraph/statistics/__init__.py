"""Additive summaries of tables, and the sources that learners ask for them."""

from bayesgraph.statistics.requests import Families, Family, Pairs, Request, Singles
from bayesgraph.statistics.source import CountSource, Statistics, StatisticsSource, TableSource
from bayesgraph.statistics.summaries import (
    FamiliesSummary,
    FamilyStatistics,
    PairsSummary,
    SinglesSummary,
)

__all__ = [
    "CountSource",
    "Families",
    "FamiliesSummary",
    "Family",
    "FamilyStatistics",
    "Pairs",
    "PairsSummary",
    "Request",
    "Singles",
    "SinglesSummary",
    "Statistics",
    "StatisticsSource",
    "TableSource",
]
