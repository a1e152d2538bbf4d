"""Discrete and Gaussian factors with their operations, and encoded evidence."""

from bayesgraph.factors.algebra import MAX, SUM, Algebra
from bayesgraph.factors.evidence import Evidence
from bayesgraph.factors.factor import Factor
from bayesgraph.factors.gaussian import GaussianFactor, Potential, multiply

__all__ = [
    "MAX",
    "SUM",
    "Algebra",
    "Evidence",
    "Factor",
    "GaussianFactor",
    "Potential",
    "multiply",
]
