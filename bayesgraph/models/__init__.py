"""Models: networks, factor graphs, weighted networks, mixtures and averages of posteriors."""

from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.evidence import Belief, Between
from bayesgraph.models.factor_graph import FactorGraph, Term
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork

__all__ = [
    "BayesianNetwork",
    "Belief",
    "Between",
    "FactorGraph",
    "Model",
    "NetworkMixture",
    "PosteriorAverage",
    "Term",
    "WeightedNetwork",
]
