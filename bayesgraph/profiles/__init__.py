"""Profiles of categories, correspondence analysis, and principal and discriminant axes.

Each takes a table, or a model or fitted estimator, whose joint distributions stand for the rows.
"""

from bayesgraph.profiles.axes import Axes, discriminant_axes, principal_axes
from bayesgraph.profiles.correspondence import (
    Correspondence,
    Points,
    correspondence,
    multiple_correspondence,
)
from bayesgraph.profiles.crosstab import Crosstab, crosstab

__all__ = [
    "Axes",
    "Correspondence",
    "Crosstab",
    "Points",
    "correspondence",
    "crosstab",
    "discriminant_axes",
    "multiple_correspondence",
    "principal_axes",
]
