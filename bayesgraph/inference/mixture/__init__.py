"""The solver of mixtures of networks: combines the networks' answers by posterior weight."""

from bayesgraph.inference.mixture.solver import Mixture

__all__ = ["Mixture"]
