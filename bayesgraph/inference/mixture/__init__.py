"""The solver of mixtures of networks, which combines the answers of all networks."""

from bayesgraph.inference.mixture.solver import Mixture

__all__ = ["Mixture"]
