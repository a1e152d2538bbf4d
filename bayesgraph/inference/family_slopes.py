"""Derivatives of a posterior with respect to the tables and Gaussians of a mixed network.

The derivative of log P(evidence) with respect to a parameter is the expectation, given the
evidence, of the derivative of the log density of its family (Fisher's identity; Binder, Koller,
Russell and Kanazawa 1997, section 3.2). With r = x - mean[u] - coefficients[u] @ z it is, for a
linear Gaussian in the configuration u of its discrete parents,

    E[1(u) r] / v,    E[1(u) (r^2 - v)] / (2 v^2),    E[1(u) r z] / v

for mean, variance v and coefficients. For an entry of a table it is P(x, u | evidence) divided by
the entry; a table with zeros is taken out of the network, which gives P(evidence) per unit of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.ancestors import ancestral_set
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Case, Joint, Mass, Pattern, Slopes, Solver
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.results import MixedPosterior, NumberMixture, Posterior
from bayesgraph.inference.sensitivity import Derivatives, GaussianDerivatives, SlopesWork
from bayesgraph.variables import Continuous, Discrete, Name, Variable


class TableFamily(NamedTuple):
    """A table P(x | u); the axes are the parents, then the child."""

    axes: tuple[Discrete, ...]
    values: Floats


class GaussianFamily(NamedTuple):
    """A linear Gaussian: the discrete parents, the child and its continuous parents, arrays."""

    axes: tuple[Discrete, ...]
    numbers: tuple[Continuous, ...]
    mean: Floats
    variance: Floats
    coefficients: Floats


Family: TypeAlias = TableFamily | GaussianFamily


@dataclass(frozen=True, eq=False)
class _Given:
    """Posteriors of families given one case.

    Attributes
    ----------
    model : model
    case : Case
    log_unit : float
        All derivatives are divided by the exponential of it.
    mass : float
        Probability of the case in this unit.
    memory_limit : float or None
    kept : dict
        Posteriors that were computed, by the indices of their variables.
    """

    model: Any
    case: Case
    log_unit: float
    mass: float
    memory_limit: float | None
    kept: dict[tuple[int, ...], Any] = field(default_factory=dict)

    def posterior(self, free: Sequence[Variable]) -> Any:
        """Return the posterior of free variables: the discrete ones, then the continuous ones."""
        targets = tuple(self.model.number[v.name] for v in free)
        if targets not in self.kept:
            work = self.model.work(Joint(targets), self.case.pattern, self.memory_limit)
            self.kept[targets] = work.run(self.case, self.memory_limit)
        return self.kept[targets]

    def place(self, axes: Sequence[Variable]) -> tuple[Any, ...]:
        """Return the part of an array over discrete axes that agrees with the evidence."""
        number, hard = self.model.number, self.case.hard
        return tuple(hard.get(number[v.name], slice(None)) for v in axes)

    def free(self, variables: Sequence[Variable]) -> list[Any]:
        """Return those of the variables that are not observed."""
        number, hard = self.model.number, self.case.hard
        return [v for v in variables if number[v.name] not in hard]

    # ------------------------------------------------------------------------------- tables

    def table(self, family: TableFamily) -> Floats:
        """Return the derivatives of P(evidence) with respect to the entries of a table."""
        found = np.zeros(family.values.shape)
        place = self.place(family.axes)
        values = family.values[place]
        if not (values > 0).all():
            return self._without(family, found)
        if self.mass > 0:
            free = self.free(family.axes)
            shares = self.posterior(free).probabilities if free else 1.0
            found[place] = self.mass * shares / values
        return found

    def _without(self, family: TableFamily, found: Floats) -> Floats:
        """Return the derivatives by the network without the table, for each state of the child."""
        *parents, child = family.axes
        number = self.model.number[child.name]
        cut = self.model.without_parents([child.name])
        place, rest = self.place(parents), self.case.without(number)
        logs = self.case.soft.get(number, np.zeros(child.cardinality))
        known = self.case.hard.get(number)
        targets = tuple(cut.number[v.name] for v in self.free(parents))
        for state in range(child.cardinality) if known is None else (known,):
            set_ = Case({**rest.hard, number: state}, rest.soft)
            log_mass = cut.work(Mass(), set_.pattern, self.memory_limit).run(set_)
            log_mass += float(logs[state]) - self.log_unit
            if log_mass == -np.inf:
                continue
            shares = 1.0
            if targets:
                posterior = cut.work(Joint(targets), set_.pattern, self.memory_limit).run(set_)
                shares = posterior.probabilities
            found[(*place, state)] = np.exp(log_mass) * shares
        return found

    # ---------------------------------------------------------------------------- Gaussians

    def gaussian(self, family: GaussianFamily) -> tuple[Floats, Floats, Floats]:
        """Return the derivatives of P(evidence) with respect to the arrays of a Gaussian."""
        mean, variance, coefficients = (
            np.zeros(array.shape) for array in (family.mean, family.variance, family.coefficients)
        )
        if self.mass > 0:
            for cell, weight, first, second in self._moments(family):
                v = family.variance[cell]
                turned = np.concatenate([[1.0], -family.coefficients[cell]])
                shift = family.mean[cell]
                # E[r] and E[r z] for z = (x, continuous parents).
                residual = turned @ first - shift
                products = second @ turned - shift * first
                square = turned @ products - shift * residual
                weight = weight * self.mass
                mean[cell] = weight * residual / v
                variance[cell] = weight * (square - v) / (2 * v**2)
                coefficients[cell] = weight * products[1:] / v
        return mean, variance, coefficients

    def _moments(self, family: GaussianFamily) -> list[tuple[Any, float, Floats, Floats]]:
        """Return the first and second moments of the numbers in each possible configuration.

        Each item is the configuration of the discrete parents, its probability, E[z] and E[z z'].
        """
        discrete, numbers = self.free(family.axes), self.free(family.numbers)
        hard, number = self.case.hard, self.model.number
        known = np.array([hard.get(number[v.name], 0.0) for v in family.numbers], dtype=float)
        at = [family.numbers.index(v) for v in numbers]
        found = self.posterior([*discrete, *numbers]) if discrete or numbers else None
        cells = np.arange(family.mean.size).reshape(family.mean.shape)[self.place(family.axes)]
        parts: list[tuple[float, NumberMixture | None]] = [(1.0, None)]
        if isinstance(found, MixedPosterior):
            weights = found.discrete.probabilities.reshape(-1).tolist()
            parts = list(zip(weights, found.mixtures, strict=True))
        elif isinstance(found, Posterior):
            parts = [(weight, None) for weight in found.probabilities.reshape(-1).tolist()]
        elif found is not None:
            parts = [(1.0, found)]
        moments = []
        for cell, (weight, mixture) in zip(np.ravel(cells).tolist(), parts, strict=True):
            if weight > 0:
                index = np.unravel_index(cell, family.mean.shape)
                moments.append((index, weight, *_moments_of(known, at, mixture)))
        return moments


def _moments_of(known: Floats, at: list[int], mixture: Any) -> tuple[Floats, Floats]:
    """Return E[z] and E[z z'] of numbers, of which a mixture gives those in the places `at`."""
    if mixture is None:
        return known, np.outer(known, known)
    means = np.tile(known, (len(mixture.weights), 1))
    means[:, at] = mixture.means
    second = np.einsum("k,ki,kj->ij", mixture.weights, means, means)
    second[np.ix_(at, at)] += np.einsum("k,kij->ij", mixture.weights, mixture.covariances)
    return mixture.weights @ means, second


class FamilySlopes(SlopesWork):
    """Prepared query for derivatives of a posterior, one family after the other."""

    def derivatives(
        self, case: Case, log_unit: float | None, memory_limit: float | None
    ) -> Derivatives | None:
        """Return the derivatives of both probabilities; see SlopesWork."""
        model = self.model
        target, state = self.question
        rest = case.without(target)
        both = Case({**rest.hard, target: state}, rest.soft)

        def log_mass(part: Case) -> float:
            return float(model.work(Mass(), part.pattern, memory_limit).run(part, memory_limit))

        before = log_mass(case)
        if log_unit is None:
            if before == -np.inf:
                return None
            log_unit = before
        likelihood = float(case.soft[target][state]) if target in case.soft else 0.0
        mass = float(np.exp(before - log_unit))
        joint = float(np.exp(log_mass(both) + likelihood - log_unit))
        given = (
            _Given(model, case, log_unit, mass, memory_limit),
            _Given(model, both, log_unit - likelihood, joint, memory_limit),
        )
        relevant = _relevant(model, (target, *case.hard, *case.soft))
        tables: dict[Name, tuple[Floats, Floats]] = {}
        values: dict[Name, Floats] = {}
        axes: dict[Name, tuple[Discrete, ...]] = {}
        gaussians: dict[Name, GaussianDerivatives] = {}
        others = []
        for cpd in model.cpds:
            family, name = cpd.family, cpd.variable.name
            bears = cpd.variable in relevant
            if isinstance(family, TableFamily):
                axes[name], values[name] = family.axes, family.values
                nothing = np.zeros(family.values.shape)
                tables[name] = nothing, nothing
                if bears:
                    tables[name] = given[0].table(family), given[1].table(family)
            elif isinstance(family, GaussianFamily) and bears:
                axes[name] = family.axes
                gaussians[name] = GaussianDerivatives(
                    given[0].gaussian(family),
                    given[1].gaussian(family),
                    (np.sqrt(family.variance), family.variance, family.coefficients),
                    tuple(v.name for v in family.numbers[1:]),
                )
            elif bears:
                others.append(name)
        return Derivatives(mass, joint, tables, values, gaussians, axes, tuple(others))


def _relevant(model: Any, numbers: Sequence[int]) -> set[Any]:
    """Return the variables whose distributions may bear on a question: ancestors of its own."""
    above: Mapping[Any, Any] = {cpd.variable: cpd.parents for cpd in model.cpds}
    return ancestral_set(above, [model.variables[v] for v in numbers])


class Families(Solver):
    """Solver of derivatives with respect to the parameters of a network with more than tables.

    The posterior of each family is asked for twice: with the evidence, and with the target too.
    """

    name = "families"
    condition = "a network with Gaussians or other distributions besides tables"
    form = "product"
    works: ClassVar = {Slopes: FamilySlopes}

    def serves(self, model: Any) -> bool:
        return bool(model.form == self.form and hasattr(model, "cpds") and model.compiled is None)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        target = question.target
        observed = tuple(sorted({*pattern.observed, target}))
        both = Pattern(observed, tuple(v for v in pattern.soft if v != target))
        return Plan(parts=tuple(model.plan_of(Mass(), part) for part in (pattern, both)))
