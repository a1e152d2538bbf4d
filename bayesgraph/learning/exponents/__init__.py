"""Learning of exponents w_i of weighted naive Bayes, p(y|x) proportional to p(y) prod p(x_i|y)^w_i.

Twelve schemes are offered; some also take networks with arcs between features.
"""

from bayesgraph.learning.exponents.cell_exponents import exponents_between
from bayesgraph.learning.exponents.conditional_likelihood import SCHEMES
from bayesgraph.learning.exponents.schemes import ALL_SCHEMES, weighted_network

__all__ = ["ALL_SCHEMES", "SCHEMES", "exponents_between", "weighted_network"]
