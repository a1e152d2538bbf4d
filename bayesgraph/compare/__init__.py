"""Comparison of two models, and of two tables under one model."""

from bayesgraph.compare.differences import Diff, diff
from bayesgraph.compare.families import FamilyChange
from bayesgraph.compare.predictions import ChangedPrediction, PredictionChanges
from bayesgraph.compare.structures import StructureChanges
from bayesgraph.compare.table_drift import FamilyDrift, TableDrift, table_drift

__all__ = [
    "ChangedPrediction",
    "Diff",
    "FamilyChange",
    "FamilyDrift",
    "PredictionChanges",
    "StructureChanges",
    "TableDrift",
    "diff",
    "table_drift",
]
