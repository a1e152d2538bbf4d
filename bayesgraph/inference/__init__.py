"""Exact and approximate inference: questions, and the solvers that answer them (`solver`).

Nothing here knows a CPD or a network.
"""

from bayesgraph.inference.plan import Plan, make_plan
from bayesgraph.inference.results import (
    Assignment,
    GaussianMixture,
    Marginals,
    MixedPosterior,
    Posterior,
)
from bayesgraph.inference.sensitivity import Conflict, Sensitivity

__all__ = [
    "Assignment",
    "Conflict",
    "GaussianMixture",
    "Marginals",
    "MixedPosterior",
    "Plan",
    "Posterior",
    "Sensitivity",
    "make_plan",
]
