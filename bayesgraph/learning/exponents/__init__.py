"""Exponents of a naive Bayes: filters, averages over subsets of features, and sparse priors."""

from bayesgraph.learning.exponents.between import exponents_between
from bayesgraph.learning.exponents.correlation import (
    correlation_exponents,
    correlation_selection,
    relations,
)
from bayesgraph.learning.exponents.data import LogTerms
from bayesgraph.learning.exponents.depths import depth_exponents, tree_depths
from bayesgraph.learning.exponents.filters import FILTERS, filter_exponents
from bayesgraph.learning.exponents.fractional import FractionalExponents, fractional_naive_bayes
from bayesgraph.learning.exponents.lengths import partition_costs, universal_code
from bayesgraph.learning.exponents.manb import ModelAverage, model_averaged_tables
from bayesgraph.learning.exponents.selective import SelectiveExponents, selective_naive_bayes

__all__ = [
    "FILTERS",
    "FractionalExponents",
    "LogTerms",
    "ModelAverage",
    "SelectiveExponents",
    "correlation_exponents",
    "correlation_selection",
    "depth_exponents",
    "exponents_between",
    "filter_exponents",
    "fractional_naive_bayes",
    "model_averaged_tables",
    "partition_costs",
    "relations",
    "selective_naive_bayes",
    "tree_depths",
    "universal_code",
]
