"""Local distributions, one file a family."""

from bayesgraph.cpds.base import CPD, combined_potentials
from bayesgraph.cpds.histogram import HistogramCPD
from bayesgraph.cpds.linear_gaussian import GaussianCPD
from bayesgraph.cpds.table import TableCPD
from bayesgraph.cpds.tree import Split, Tree, TreeCPD

__all__ = [
    "CPD",
    "GaussianCPD",
    "HistogramCPD",
    "Split",
    "TableCPD",
    "Tree",
    "TreeCPD",
    "combined_potentials",
]
