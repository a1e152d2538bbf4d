"""Discretisation: cut points of numeric columns, and groups of values of categorical columns."""

from bayesgraph.discretize.boulle_groups import Groups, modl_groups
from bayesgraph.discretize.boulle_intervals import Intervals, modl, modl_granular
from bayesgraph.discretize.fayyad_irani import mdlp
from bayesgraph.discretize.partition import Partition
from bayesgraph.discretize.tables import discretized
from bayesgraph.discretize.unsupervised import equal_frequency, equal_width

__all__ = [
    "Groups",
    "Intervals",
    "Partition",
    "discretized",
    "equal_frequency",
    "equal_width",
    "mdlp",
    "modl",
    "modl_granular",
    "modl_groups",
]
