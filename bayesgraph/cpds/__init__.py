"""Conditional probability distributions (CPDs) of children given their parents.

`bayesgraph.families` has further classes of CPDs.
"""

from bayesgraph.cpds.base import CPD, Combination
from bayesgraph.cpds.canonical import CanonicalCPD
from bayesgraph.cpds.deterministic import DeterministicCPD
from bayesgraph.cpds.histogram import HistogramCPD
from bayesgraph.cpds.joint_gaussian import JointGaussianCPD
from bayesgraph.cpds.linear_gaussian import GaussianCPD
from bayesgraph.cpds.logistic import LogisticCPD
from bayesgraph.cpds.noisy_max import NoisyMaxCPD, NoisyOrCPD
from bayesgraph.cpds.parameter_posterior import ParameterPosterior
from bayesgraph.cpds.plate import Plate
from bayesgraph.cpds.plates import GaussianPlate, TablePlate
from bayesgraph.cpds.table import TableCPD
from bayesgraph.cpds.tree import Split, Tree, TreeCPD
from bayesgraph.cpds.tree_average import TreeAverageCPD, Trees

__all__ = [
    "CPD",
    "CanonicalCPD",
    "Combination",
    "DeterministicCPD",
    "GaussianCPD",
    "GaussianPlate",
    "HistogramCPD",
    "JointGaussianCPD",
    "LogisticCPD",
    "NoisyMaxCPD",
    "NoisyOrCPD",
    "ParameterPosterior",
    "Plate",
    "Split",
    "TableCPD",
    "TablePlate",
    "Tree",
    "TreeAverageCPD",
    "TreeCPD",
    "Trees",
]
