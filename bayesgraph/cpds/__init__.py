"""Local distributions, one file a family."""

from bayesgraph.cpds.base import CPD, combined_potentials
from bayesgraph.cpds.linear_gaussian import GaussianCPD
from bayesgraph.cpds.table import TableCPD

__all__ = ["CPD", "GaussianCPD", "TableCPD", "combined_potentials"]
