"""Exact inference on factors: plan, engine and queries. Nothing here knows a CPD or a network."""

from bayesgraph.inference.engine import Step, eliminate
from bayesgraph.inference.plan import Plan, make_plan
from bayesgraph.inference.queries import Model, marginal, most_probable
from bayesgraph.inference.results import Assignment, GaussianMixture, MixedPosterior, Posterior

__all__ = [
    "Assignment",
    "GaussianMixture",
    "MixedPosterior",
    "Model",
    "Plan",
    "Posterior",
    "Step",
    "eliminate",
    "make_plan",
    "marginal",
    "most_probable",
]
