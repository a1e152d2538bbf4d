"""From statistics to structures and parameters."""

from bayesgraph.learning.em import EMHistory
from bayesgraph.learning.fit import count_source, fit_network
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.structure import Structure, chow_liu, forest, star, tan

__all__ = [
    "EMHistory",
    "Smoothing",
    "Structure",
    "chow_liu",
    "count_source",
    "estimate_network",
    "fit_network",
    "forest",
    "star",
    "tan",
]
