"""Likelihood weighting of a network whose variables are given by name."""

from bayesgraph.graphs import build_dag, topological_order
from bayesgraph.inference.sampling import likelihood_weighting


def nodes_of(network):
    """Return the CPDs, parents before children."""
    arcs = [(p.name, cpd.variable.name) for cpd in network.cpds for p in cpd.parents]
    names = topological_order(build_dag(network.names, arcs))
    return [next(cpd for cpd in network.cpds if cpd.variable.name == name) for name in names]


def weighted(network, targets, given=None, **options):
    """Return samples of targets given by name; a seed of 0 unless another is given."""
    options = {"random_state": 0, "n": 20_000} | options
    variables = [network.variable(name) for name in targets]
    return likelihood_weighting(nodes_of(network), variables, network._encode(given), **options)
