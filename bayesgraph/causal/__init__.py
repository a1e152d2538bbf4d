"""Causes: causal graphs, sets to adjust for, identification of effects, and their estimates."""

from bayesgraph.causal.adjustment import Instrument
from bayesgraph.causal.causal_graph import CausalGraph, causal_graph
from bayesgraph.causal.effects import Effect, adjusted_effect, effect
from bayesgraph.causal.estimands import Estimand
from bayesgraph.causal.separation import Independence

__all__ = [
    "CausalGraph",
    "Effect",
    "Estimand",
    "Independence",
    "Instrument",
    "adjusted_effect",
    "causal_graph",
    "effect",
]
