"""Explanation of predictions: log odds as a sum of one term for each finding."""

from bayesgraph.explain.by_rows import RowContributions, contributions_rows
from bayesgraph.explain.chain_rule import contributions, explain
from bayesgraph.explain.contrast import Contrast
from bayesgraph.explain.item_ranking import TopItems, top_items
from bayesgraph.explain.results import Contribution, Contributions
from bayesgraph.explain.shape_functions import Shape, Shapes, shapes
from bayesgraph.explain.spoken import Bearing, Explanation, explanation

__all__ = [
    "Bearing",
    "Contrast",
    "Contribution",
    "Contributions",
    "Explanation",
    "RowContributions",
    "Shape",
    "Shapes",
    "TopItems",
    "contributions",
    "contributions_rows",
    "explain",
    "explanation",
    "shapes",
    "top_items",
]
