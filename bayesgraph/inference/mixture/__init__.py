"""The solver of mixtures of networks: the networks' answers, weighted given the evidence."""

from bayesgraph.inference.mixture.solver import Mixture

__all__ = ["Mixture"]
