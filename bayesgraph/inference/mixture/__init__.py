"""The solver of mixtures of networks: each is asked, and the answers are added up."""

from bayesgraph.inference.mixture.solver import Mixture

__all__ = ["Mixture"]
