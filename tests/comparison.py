"""Networks that should be the same, compared number by number."""

import dataclasses

import numpy as np

import bayesgraph as bg


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
        if isinstance(one, bg.Ensemble):
            assert one.combine == other.combine
            np.testing.assert_allclose(one.weights, other.weights, rtol=tolerance)
            assert one.prior_ratios.keys() == other.prior_ratios.keys()
            for name, ratio in one.prior_ratios.items():
                theirs = other.prior_ratios[name]
                shares = ratio / ratio.sum(), theirs / theirs.sum()
                np.testing.assert_allclose(*shares, rtol=tolerance)
            assert one.exponents.keys() == other.exponents.keys()
            for name, exponent in one.exponents.items():
                np.testing.assert_allclose(exponent, other.exponents[name], rtol=tolerance)
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
    if isinstance(cpd, bg.models.TreesCPD):
        return list(cpd.to_arrays().values())
    names = (
        "values", "edges", "mean", "variance", "coefficients", "weights", "counts", "bandwidth",
        "rate", "shape", "exposure", "location", "scale", "dof", "probabilities", "lengths",
        "concentration", "threshold",
    )  # fmt: skip
    return [getattr(cpd, name) for name in names if hasattr(cpd, name)]


def assert_same_summary(one, other):
    """Compare summaries, and everything in them, to the bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same_summary(a, b)
    elif dataclasses.is_dataclass(one) and not one.__hash__:
        raise AssertionError("a summary that is compared by value")
    elif dataclasses.is_dataclass(one):
        for item in dataclasses.fields(one):
            assert_same_summary(getattr(one, item.name), getattr(other, item.name))
    else:
        assert one == other


def assert_same_statistics(one, other):
    assert list(one.summaries) == list(other.summaries)
    for request, summary in one.summaries.items():
        assert_same_summary(summary, other.summaries[request])
