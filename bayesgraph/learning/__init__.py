"""Learning of network structures and parameters from sufficient statistics."""

from bayesgraph.learning.bootstrap import ArcConfidence, arc_confidence
from bayesgraph.learning.feature_selection import forward_selection, selective_kdb
from bayesgraph.learning.fit import count_source
from bayesgraph.learning.hill_climbing import hill_climb, tabu, unrestricted
from bayesgraph.learning.k_dependence import kdb, superparent
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.pc import pc
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.spanning import chow_liu, forest, tan
from bayesgraph.learning.structure import Structure, star

__all__ = [
    "ArcConfidence",
    "Smoothing",
    "Structure",
    "arc_confidence",
    "chow_liu",
    "count_source",
    "estimate_network",
    "forest",
    "forward_selection",
    "hill_climb",
    "kdb",
    "pc",
    "selective_kdb",
    "star",
    "superparent",
    "tabu",
    "tan",
    "unrestricted",
]
