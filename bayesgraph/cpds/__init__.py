"""Local distributions, one file a family."""

from bayesgraph.cpds.base import CPD, Combination
from bayesgraph.cpds.counts import DirichletMultinomialCPD, MultinomialCPD, PresenceCPD
from bayesgraph.cpds.densities import (
    KernelDensityPlate,
    LogNormalPlate,
    NegativeBinomialPlate,
    PoissonPlate,
    StudentPlate,
)
from bayesgraph.cpds.histogram import HistogramCPD
from bayesgraph.cpds.joint_gaussian import JointGaussianCPD
from bayesgraph.cpds.linear_gaussian import GaussianCPD
from bayesgraph.cpds.plate import Plate
from bayesgraph.cpds.plates import GaussianPlate, TablePlate
from bayesgraph.cpds.table import TableCPD
from bayesgraph.cpds.tree import Split, Tree, TreeCPD

__all__ = [
    "CPD",
    "Combination",
    "DirichletMultinomialCPD",
    "GaussianCPD",
    "GaussianPlate",
    "HistogramCPD",
    "JointGaussianCPD",
    "KernelDensityPlate",
    "LogNormalPlate",
    "MultinomialCPD",
    "NegativeBinomialPlate",
    "Plate",
    "PoissonPlate",
    "PresenceCPD",
    "Split",
    "StudentPlate",
    "TableCPD",
    "TablePlate",
    "Tree",
    "TreeCPD",
]
