"""Learning of exponents that weight the conditionals of a network, by twelve schemes."""

from bayesgraph.learning.exponents.cell_exponents import exponents_between
from bayesgraph.learning.exponents.conditional_likelihood import SCHEMES
from bayesgraph.learning.exponents.schemes import ALL_SCHEMES, weighted_network

__all__ = ["ALL_SCHEMES", "SCHEMES", "exponents_between", "weighted_network"]
