"""Findings about numbers that are not values: intervals, and likelihoods of counts.

A leaf with such a finding is replaced by a discrete variable of the same name, whose states are the
interval and its complement, or the counts that are named and all others. Given its parents it has
the probabilities that the distribution of the leaf gives to these states, so that answers are
exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.cpds.cells import LeafCPD
from bayesgraph.errors import EvidenceError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.components import Components, GaussianComponents
from bayesgraph.models.evidence import Belief
from bayesgraph.variables import Continuous, Count, CountVector, Discrete, Name

if TYPE_CHECKING:
    from bayesgraph.models.model import Model

_OTHER = "other"


class Between:
    """Evidence that a number lies between two bounds, both included.

    Parameters
    ----------
    low, high : float
        Bounds, at least one of them finite.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> kind = bg.Discrete("kind", ["calm", "busy"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(kind, [0.75, 0.25]),
    ...     bg.PoissonCPD(bg.Count("calls"), [1.0, 5.0], parents=[kind]),
    ... ])
    >>> net.query("kind", {"calls": Between(3)})
    P(kind)
      calm  0.215815  █████
      busy  0.784185  ███████████████████
    """

    __slots__ = ("high", "low")

    def __init__(self, low: float = -math.inf, high: float = math.inf) -> None:
        try:
            self.low, self.high = float(low), float(high)
        except (TypeError, ValueError):
            self.low = self.high = math.nan
        if not self.low <= self.high or (math.isinf(self.low) and math.isinf(self.high)):
            raise EvidenceError(
                "Between takes two numbers, the smaller one first, or one of low= and high=; got "
                f"{low!r} and {high!r}."
            )

    def __repr__(self) -> str:
        return f"Between({self.low:g}, {self.high:g})"


@dataclass(frozen=True)
class Finding:
    """The states of the discrete variable that replaces a number.

    Attributes
    ----------
    bounds : (float, float), optional
        Those of an interval; the states are True and False.
    counts : tuple of int
        The counts that are states, besides "other".
    """

    bounds: tuple[float, float] | None = None
    counts: tuple[int, ...] = ()

    def table(self, cpd: CPD) -> TableCPD:
        """Return the distribution of the states given the parents of a number's CPD.

        Raises
        ------
        UnsupportedModelError
            If the CPD has continuous parents.
        """
        components = _components(cpd)
        if self.bounds is not None:
            inside = _between(components, *self.bounds)
            states: list[Any] = [True, False]
            shares = [inside, 1.0 - inside]
        else:
            states = [*self.counts, _OTHER]
            points = np.array(self.counts, dtype=np.float64)[:, None]
            shares = list(np.exp(components.log_density(points)))
            shares.append(np.maximum(1.0 - sum(shares), 0.0))
        values = np.stack(shares, axis=-1)
        values = values.reshape(*(p.cardinality for p in cpd.discrete_parents), len(states))
        return TableCPD(Discrete(cpd.variable.name, states), values, cpd.discrete_parents)


def _components(cpd: CPD) -> Components:
    """Return the distributions of a number in all configurations of its parents."""
    if isinstance(cpd, GaussianCPD) and not cpd.continuous_parents:
        return GaussianComponents(cpd.mean.reshape(-1, 1), cpd.variance.reshape(-1, 1, 1))
    if isinstance(cpd, LeafCPD) and not isinstance(cpd.variable, CountVector):
        cells = math.prod(p.cardinality for p in cpd.discrete_parents)
        found: Components = cpd.components(np.arange(cells))
        return found
    raise UnsupportedModelError(
        f"Intervals and likelihoods are evidence on numbers with discrete parents; {cpd.title} has "
        "others. Give a value."
    )


def _between(components: Components, low: float, high: float) -> Floats:
    """Return P(low <= x <= high) of each distribution, shape (k,)."""
    if math.isinf(low):
        return components.cdf(np.array(high))
    if components.whole:
        low = math.ceil(low) - 1
    if math.isinf(high):
        return components.sf(np.array(low))
    ends = np.array([low, high])
    below, above = components.cdf(ends), components.sf(ends)
    # In the upper tail the difference of two probabilities close to one would lose digits.
    inside = np.where(below[0] < above[1], below[1] - below[0], above[0] - above[1])
    return np.asarray(np.maximum(inside, 0.0))


def with_findings(model: Model, evidence: Mapping[Name, Any]) -> tuple[Model, Mapping[Name, Any]]:
    """Return a model and evidence on states in the place of findings about numbers.

    Both are returned as they are if there are no such findings. The model is changed once for each
    set of findings, whatever the likelihoods.
    """
    found: dict[Name, Finding] = {}
    given: dict[Name, Any] = {}
    for name, value in evidence.items():
        if not isinstance(value, Between | Belief | Mapping):
            given[name] = value
            continue
        variable = model.variable(name)
        if isinstance(value, Between):
            if not isinstance(variable, Continuous):
                raise EvidenceError(f"{variable.name!r} is no number; got {value!r}.")
            found[variable.name] = Finding((value.low, value.high))
            value = True
        elif isinstance(variable, Count):
            shares = value.probabilities if isinstance(value, Belief) else value
            named: dict[Any, float] = {
                _count(variable, count): x for count, x in shares.items() if count != _OTHER
            }
            found[variable.name] = Finding(counts=tuple(named))
            named[_OTHER] = shares.get(_OTHER, 0.0)
            value = Belief(named) if isinstance(value, Belief) else named
        given[variable.name] = value
    if not found:
        return model, evidence
    key = ("findings", *found.items())
    changed: Model = model.cut_models.get(key, lambda: model.with_findings(found))
    return changed, given


def _count(variable: Count, value: Any) -> int:
    number = variable.number(value)
    if not number.is_integer():
        raise EvidenceError(f"{variable.name!r} is a count; got the likelihood of {value!r}.")
    return int(number)
