"""Exact and approximate inference on factors. Nothing here knows a CPD or a network."""

from bayesgraph.inference.batches import blocks, rows_together
from bayesgraph.inference.discrete import DiscreteEngine, Findings
from bayesgraph.inference.engine import Step, eliminate
from bayesgraph.inference.plan import Plan, make_plan, plan_of_tree
from bayesgraph.inference.queries import Model, marginal, most_probable
from bayesgraph.inference.results import (
    Assignment,
    GaussianMixture,
    Marginals,
    MixedPosterior,
    Posterior,
)
from bayesgraph.inference.tables import Scopes, Tables

__all__ = [
    "Assignment",
    "DiscreteEngine",
    "Findings",
    "GaussianMixture",
    "Marginals",
    "MixedPosterior",
    "Model",
    "Plan",
    "Posterior",
    "Scopes",
    "Step",
    "Tables",
    "blocks",
    "eliminate",
    "make_plan",
    "marginal",
    "most_probable",
    "plan_of_tree",
    "rows_together",
]
