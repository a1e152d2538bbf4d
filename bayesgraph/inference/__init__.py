"""Exact and approximate inference: the types of queries, and the solvers that answer them.

`solver.select` chooses the solver of a query. The modules here import factors and variables, but
neither CPDs nor models.
"""

from bayesgraph.inference.items_mixture import ItemsMixture
from bayesgraph.inference.leaf_mixture import LeafMixture
from bayesgraph.inference.plan import Plan, make_plan
from bayesgraph.inference.results import (
    Assignment,
    GaussianMixture,
    Marginals,
    MixedPosterior,
    NumberMixture,
    Posterior,
)
from bayesgraph.inference.sensitivity import Conflict, Sensitivity

__all__ = [
    "Assignment",
    "Conflict",
    "GaussianMixture",
    "ItemsMixture",
    "LeafMixture",
    "Marginals",
    "MixedPosterior",
    "NumberMixture",
    "Plan",
    "Posterior",
    "Sensitivity",
    "make_plan",
]
