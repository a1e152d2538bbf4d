"""How findings may change in the page, and in which order they are explained.

The page looks for the smallest change of findings that turns an answer, at the prices of
`bayesgraph.what_if`, and adds up log odds along the arcs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from bayesgraph.errors import EvidenceError
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.variables import Binned, Continuous, Count, MissingIndicator, Variable
from bayesgraph.what_if.options import Rules, choices_of, cuts_of, range_of

Json: TypeAlias = dict[str, Any]
_GRID = 64


class Numbers(Protocol):
    """Collects the numbers of a snapshot."""

    def add(self, values: Any) -> int:
        """Add an array; return its offset."""
        ...


def order_of(model: Model) -> list[int]:
    """Return the variables in the order in which findings are explained: parents first.

    Models without arcs of their own have that of their variables.
    """
    network = model.network if isinstance(model, WeightedNetwork) else model
    if not isinstance(network, BayesianNetwork):
        return list(range(len(model.variables)))
    return [model.number[cpd.variable.name] for cpd in network.nodes()]


def flips_part(model: Model, numbers: Numbers) -> Json:
    """Return how each number, and each variable with intervals, may change and at what price.

    A number has its range, and its cut points in an average; intervals have the cost of each
    change. Numbers whose range the model does not know are left out, and stay as they are; so do
    indicators of missing values, which say so.
    """
    rules = Rules.of(model, None, (), None, None, _GRID)
    found: Json = {}
    for at, variable in enumerate(model.variables):
        if isinstance(variable, Binned):
            costs = _costs(model, variable, rules)
            found[str(at)] = {"costs": {"at": numbers.add(costs), "n": costs.size}}
        elif isinstance(variable, MissingIndicator):
            found[str(at)] = {"stays": True}
        elif isinstance(variable, Continuous):
            cuts = cuts_of(model, variable)
            try:
                ends = range_of(model, variable, cuts, rules)
            except EvidenceError:
                continue
            own: Json = {"range": list(ends), "whole": isinstance(variable, Count)}
            found[str(at)] = own | ({} if cuts is None else {"cuts": list(cuts)})
    return found


def _costs(model: Model, variable: Binned, rules: Rules) -> Any:
    """Return the cost of each change of intervals, by the old and the new one."""
    costs = np.zeros((variable.cardinality, variable.cardinality))
    target: Any = _Other()
    for code, state in enumerate(variable.states):
        evidence: Mapping[Any, Any] = {variable.name: state}
        for choice in choices_of(model, target, evidence, rules):
            for option in choice.options[1:]:
                costs[code, int(option.code)] = option.cost
    return costs


class _Other:
    """Stands for a target that is none of the variables that change."""

    name: Variable = object()  # type: ignore[assignment]
