"""Findings about numbers that are not values: intervals, and likelihoods of counts.

A leaf with such a finding is replaced by a discrete variable of the same name, whose states are the
interval and its complement, or the counts that are named and all others. Given its parents it has
the probabilities that the distribution of the leaf gives to these states, so that answers are
exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.cpds.cells import LeafCPD
from bayesgraph.errors import EvidenceError, UnsupportedModelError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.components import Components, GaussianComponents
from bayesgraph.inference.sensitivity import GaussianSlopes, Sensitivity
from bayesgraph.models.evidence import Belief, Between
from bayesgraph.variables import Binned, Continuous, Count, CountVector, Discrete, Name, State

if TYPE_CHECKING:
    from bayesgraph.models.model import Model

_OTHER = "other"


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
    has_intervals = False
    for name, value in evidence.items():
        if not isinstance(value, Between | Belief | Mapping):
            given[name] = value
            continue
        variable = model.variable(name)
        has_intervals |= isinstance(value, Between)
        if isinstance(value, Between) and isinstance(variable, Binned):
            value = _whole_intervals(variable, value)
        elif isinstance(value, Between):
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
        return model, given if has_intervals else evidence
    # The finding has the name of the number, and says that it is not missing.
    for at, indicator in model.indicators:
        if model.variables[at].name in found:
            given.setdefault(model.variables[indicator].name, "no")
    key = ("findings", *found.items())
    changed: Model = model.cut_models.get(key, lambda: model.with_findings(found))
    return changed, given


def _whole_intervals(variable: Binned, value: Between) -> Any:
    """Return the interval of a discretised number, or likelihoods of its intervals."""
    inside = intervals_within(variable, (value.low, value.high))
    if len(inside) == 1:
        return inside[0]
    return {state: float(state in inside) for state in variable.states}


def intervals_within(variable: Binned, bounds: tuple[float, float]) -> tuple[State, ...]:
    """Return the intervals of a discretised number from one cut point to another.

    Raises
    ------
    EvidenceError
        If a bound is no cut point: the share of an interval is not known.
    """
    ends = [-math.inf, *variable.cuts, math.inf]
    low, high = bounds
    if not {low, high} <= set(ends) or low == high:
        raise EvidenceError(
            f"{variable.name!r} has intervals, of which {Between(low, high)!r} would have a part: "
            f"give one or two of the cut points {quoted(variable.cuts)}."
        )
    return variable.states[ends.index(low) : ends.index(high)]


def slopes_of_findings(
    model: Model, evidence: Mapping[Name, Any], found: Sensitivity
) -> Sensitivity:
    """Return derivatives with respect to the distributions of numbers that findings are about.

    The states that replace a number have a table, whose entries are probabilities of the interval
    under the distribution of the number. With z = (x - mean) / sd at the bounds and the standard
    normal density f, the derivative of such a probability of a Gaussian is -[f(z)] / sd with
    respect to the mean and -[z f(z)] / (2 variance) with respect to the variance. Distributions of
    other families are taken as certain.

    Parameters
    ----------
    model : Model
        The model without findings.
    evidence : mapping from name to value
        As the user gave it.
    found : Sensitivity
        Of the model with findings.
    """
    bounds = {model.variable(name).name: value for name, value in evidence.items()}
    tables, covaried, axes = dict(found.derivatives), dict(found.covaried), dict(found.axes)
    gaussians, others = dict(found.gaussians), dict.fromkeys(found.others)
    for key in found.derivatives:
        place, name = (None, key) if found.weights is None else key
        variable = model.variable(name)
        if isinstance(variable, Discrete):
            continue
        whole: Any = model
        cpd = (whole if place is None else whole.networks[place])[name]
        slopes = tables.pop(key)
        del covaried[key]
        if isinstance(cpd, GaussianCPD):
            gaussians[key] = _gaussian_slopes(cpd, bounds[name], slopes[..., 0] - slopes[..., 1])
            axes[key] = cpd.discrete_parents
        else:
            del axes[key]
            others[name] = None
    return replace(
        found,
        derivatives=tables,
        covaried=covaried,
        axes=axes,
        gaussians=gaussians,
        others=tuple(others),
    )


def _gaussian_slopes(cpd: GaussianCPD, interval: Between, slopes: Floats) -> GaussianSlopes:
    """Return derivatives with respect to a Gaussian, given those of the interval's probability."""
    sd = np.sqrt(cpd.variance)
    mean, variance = np.zeros(cpd.mean.shape), np.zeros(cpd.mean.shape)
    for bound, sign in ((interval.high, 1.0), (interval.low, -1.0)):
        if math.isfinite(bound):
            z = (bound - cpd.mean) / sd
            density = sign * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
            mean -= density / sd
            variance -= z * density / (2.0 * cpd.variance)
    scales = sd, cpd.variance, cpd.coefficients
    return GaussianSlopes(
        slopes * mean, slopes * variance, np.zeros(cpd.coefficients.shape), scales, ()
    )


def _count(variable: Count, value: Any) -> int:
    number = variable.number(value)
    if not number.is_integer():
        raise EvidenceError(f"{variable.name!r} is a count; got the likelihood of {value!r}.")
    return int(number)
