"""Networks that should be the same, compared number by number."""

import numpy as np

import bayesgraph as bg
from bayesgraph.cpds.tree import ARRAYS


def assert_same_network(one, other, tolerance=1e-12):
    assert one.variables == other.variables
    if isinstance(one, bg.FactorGraph):
        pairs = zip(one.terms, other.terms, strict=True)
    else:
        if isinstance(one, bg.WeightedNetwork):
            assert one.exponents.keys() == other.exponents.keys()
            for name, exponent in one.exponents.items():
                np.testing.assert_allclose(exponent, other.exponents[name], atol=tolerance)
            np.testing.assert_allclose(one.bias, other.bias, atol=tolerance)
        if isinstance(one, bg.NetworkMixture):
            np.testing.assert_allclose(one.weights, other.weights, rtol=tolerance)
        assert list(one.graph.edges) == list(other.graph.edges)
        pairs = zip(one.cpds, other.cpds, strict=True)
    for a, b in pairs:
        assert a.scope == b.scope
        assert type(a) is type(b)
        for one_array, other_array in zip(arrays(a), arrays(b), strict=True):
            np.testing.assert_allclose(one_array, other_array, rtol=tolerance, atol=tolerance)


def arrays(cpd):
    """Return everything that a CPD holds besides its variables."""
    if hasattr(cpd, "exponent"):  # a term of a factor graph
        return [cpd.exponent, *arrays(cpd.source)]
    if isinstance(cpd, bg.TreeCPD):
        return [getattr(cpd.tree, name) for name in ARRAYS]
    names = (
        "values", "edges", "mean", "variance", "coefficients", "weights", "counts", "bandwidth",
        "rate", "shape", "exposure", "location", "scale", "dof", "probabilities", "lengths",
        "concentration", "threshold",
    )  # fmt: skip
    return [getattr(cpd, name) for name in names if hasattr(cpd, name)]
