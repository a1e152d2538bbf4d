"""Several networks over the same variables, mixed into one model."""

from bayesgraph.mixture.network_mixture import NetworkMixture

__all__ = ["NetworkMixture"]
