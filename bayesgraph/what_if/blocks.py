"""Parts of the findings whose contributions to the log odds add up.

If the findings that may change fall into parts that are independent given the target and the
findings that stay, then, with x_k for the findings of part k,

    log P(c, x) = log P(c, stays) + sum_k log P(x_k | c, stays),

so that each part is scored alone. The parts are the connected components of the moral graph of the
ancestors of all findings and the target, without the target and what stays (Lauritzen, Dawid,
Larsen and Leimer 1990). A weighted network raises the conditional of each observed feature given
its observed parents to a power: there, parts are findings with a common conditional.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from bayesgraph.ancestors import ancestral_set
from bayesgraph.errors import MemoryLimitError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.variables import Variable
from bayesgraph.what_if.scores import Changes, Scorer

# Maximum number of joint options of the findings of one part.
_MAX_OPTIONS = 4096


@dataclass(frozen=True, eq=False)
class Part:
    """Findings that are scored together.

    Attributes
    ----------
    choices : tuple of int
        Indices of the choices.
    options : ndarray, shape (n_options, n_choices of the part)
        Options of the choices; the first row keeps all findings.
    costs : ndarray, shape (n_options,)
    logs : ndarray, shape (n_options, n_states)
        What the part adds to the log score of each state of the target.
    """

    choices: tuple[int, ...]
    options: Changes
    costs: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class Sum:
    """Log scores of the target as a sum over parts.

    Attributes
    ----------
    parts : tuple of Part
    prior : ndarray, shape (n_states,)
        Log scores without any of the findings that may change.
    """

    parts: tuple[Part, ...]
    prior: Floats


def as_sum(scorer: Scorer) -> Sum | None:
    """Return the log scores as a sum over parts; None if there is one part only, or a large one."""
    if not scorer.choices:
        return None
    links = _links(scorer)
    if links is None:
        return None
    groups = _components([c.variable for c in scorer.choices], links)
    sizes = [math.prod(len(scorer.choices[i].options) for i in group) for group in groups]
    if len(groups) < 2 or max(sizes) > _MAX_OPTIONS:
        return None
    try:
        nothing = np.full((1, len(scorer.choices)), -1, dtype=np.intp)
        prior = scorer(nothing)[0]
        parts = tuple(_part(scorer, group, prior) for group in groups)
    except (UnsupportedModelError, MemoryLimitError):
        return None  # findings that cannot be summed out cannot be scored part by part
    return Sum(parts, prior)


def _part(scorer: Scorer, group: Sequence[int], prior: Floats) -> Part:
    choices = [scorer.choices[i] for i in group]
    options = np.array(list(product(*(range(len(c.options)) for c in choices))), dtype=np.intp)
    costs = np.sum([c.costs[options[:, j]] for j, c in enumerate(choices)], axis=0)
    changes = np.full((len(options), len(scorer.choices)), -1, dtype=np.intp)
    changes[:, group] = options
    possible = np.isfinite(prior)
    logs = np.zeros((len(options), len(prior)))
    logs[:, possible] = scorer(changes)[:, possible] - prior[possible]
    return Part(tuple(group), options, costs, logs)


def _links(scorer: Scorer) -> list[set[Variable]] | None:
    """Return sets of variables that belong to one part; None if no parts add up.

    A variable with soft evidence may have any state, so that it joins what depends on it.
    """
    model, target = scorer.model, scorer.target
    known, soft = {target, *scorer.fixed.columns}, scorer.fixed.likelihoods
    changing = [choice.variable for choice in scorer.choices]
    scopes: Iterable[Iterable[Variable]]
    if isinstance(model, WeightedNetwork):
        if model.target != target or soft:
            return None
        seen = {*known, *changing}
        scopes = [
            [v for v in cpd.scope if v in changing] for cpd in model.cpds if cpd.variable in seen
        ]
    elif isinstance(model, BayesianNetwork):
        above = {cpd.variable: cpd.parents for cpd in model.cpds}
        relevant = ancestral_set(above, [*known, *soft, *changing])
        scopes = [cpd.scope for cpd in model.cpds if cpd.variable in relevant]
    elif isinstance(model, FactorGraph):
        scopes = [term.scope for term in model.terms]
    else:
        return None
    return [set(scope) - known for scope in scopes]


def _components(variables: Sequence[Variable], links: Sequence[set[Variable]]) -> list[list[int]]:
    """Return the indices of variables by connected component, in the order of the first one."""
    label: dict[Variable, Variable] = {}

    def root(variable: Variable) -> Variable:
        while label.setdefault(variable, variable) != variable:
            variable = label[variable]
        return variable

    for link in links:
        members = list(link)
        for other in members[1:]:
            label[root(other)] = root(members[0])
    found: dict[Variable, list[int]] = {}
    for i, variable in enumerate(variables):
        found.setdefault(root(variable), []).append(i)
    return list(found.values())
