"""Classification trees grown by criteria of this library: error, gain ratio, chi-squared."""

from bayesgraph.learning.growing.chi_squared import ChiSquared
from bayesgraph.learning.growing.columns import CodedColumns
from bayesgraph.learning.growing.criteria import Criterion, ErrorRate, GainRatio
from bayesgraph.learning.growing.grower import GrownTree, Limits, grow_tree

__all__ = [
    "ChiSquared",
    "CodedColumns",
    "Criterion",
    "ErrorRate",
    "GainRatio",
    "GrownTree",
    "Limits",
    "grow_tree",
]
