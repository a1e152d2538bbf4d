"""Sensitivity of a posterior to the parameters of the model, and conflict between findings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, rounded, scaled
from bayesgraph.core.errors import quoted
from bayesgraph.core.variables import Continuous, Discrete, Name, State, Variable, ancestral_set
from bayesgraph.inference.contract import Case, Joint, Mass, Pattern, Plan, Slopes, Solver, Work
from bayesgraph.inference.factors import divided
from bayesgraph.inference.results import divided_posterior

# -------- Sensitivity of a posterior to the parameters of the model, and conflict between findings


_MAXIMUM_LINES = 10
# Share of two numbers below which their difference is rounding error, which a division by a tiny
# probability would make a large derivative.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class GaussianSlopes:
    """Derivatives with respect to the arrays of a linear Gaussian, in their shapes.

    Attributes
    ----------
    mean : ndarray
        Per unit of the child.
    variance : ndarray
        Per squared unit of the child.
    coefficients : ndarray
        Per unit of the child over unit of the parent.
    scales : tuple of ndarray
        What makes derivatives of different units comparable: standard deviations of the child given
        its parents for means, and the parameters themselves for the others.
    parents : tuple of names
        The continuous parents.
    """

    mean: Floats
    variance: Floats
    coefficients: Floats
    scales: tuple[Floats, Floats, Floats]
    parents: tuple[Name, ...]

    def entries(self, name: Name, axes: Sequence[Discrete]) -> Iterator[tuple[str, float]]:
        """Yield the text of each parameter, and the derivative times its scale."""
        labels = [f"mean of {name}, per sd", f"variance of {name}, relative"]
        labels += [f"slope of {name} on {parent}, relative" for parent in self.parents]
        # The last axis of the coefficients is that of the continuous parents.
        slopes = np.moveaxis(self.coefficients * self.scales[2], -1, 0)
        arrays = [self.mean * self.scales[0], self.variance * self.scales[1], *slopes]
        for index in np.ndindex(self.mean.shape):
            states = zip(axes, index, strict=True)
            condition = ", ".join(f"{v.name}={v.states[code]}" for v, code in states)
            for text, values in zip(labels, arrays, strict=True):
                yield f"{text} | {condition}" if condition else text, float(values[index])


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Displayed):
    """Derivatives of P(target = state | evidence) with respect to the parameters of the model.

    Attributes
    ----------
    target, state
        Name of the variable, and its state.
    posterior : float
        P(target = state | evidence).
    derivatives : dict from name of a variable (of a factor graph: index of a factor) to ndarray
        Derivative with respect to each entry of the table if no other entry changes; the shape is
        that of the table. The keys of a mixture or an average, here and below, are pairs (index of
        the network, name).
    covaried : dict from name to ndarray
        Derivative with respect to each entry of the table with proportional covariation: the other
        probabilities of the child for the same parent configuration change in proportion, so that
        they still sum to one (Chan and Darwiche 2002). Empty for a factor graph, whose tables need
        not sum to one.
    axes : dict from name to tuple of variables
        The axes of each table; of a Gaussian its discrete parents.
    gaussians : dict from name to GaussianSlopes
        Derivatives with respect to the linear Gaussians that bear on the posterior.
    others : tuple of names
        Variables that bear on the posterior and have distributions of other families, which are
        taken as certain.
    weights : ndarray, shape (number of networks,), or None
        Of a mixture or an average: derivative with respect to the weight of each network, while the
        other weights change in proportion.
    """

    target: Name
    state: State
    posterior: float
    derivatives: Mapping[Any, Floats]
    covaried: Mapping[Any, Floats]
    axes: Mapping[Any, tuple[Discrete, ...]]
    gaussians: Mapping[Any, GaussianSlopes] = field(default_factory=dict)
    others: tuple[Name, ...] = ()
    weights: Floats | None = None

    def largest(self, k: int = 10) -> list[tuple[Any, tuple[int, ...], float]]:
        """Return the k table entries with the largest derivatives in absolute value.

        Each is a tuple (name, index in the table, derivative); the derivatives are with covariation
        if the model is a network.
        """
        tables, k = self.covaried or self.derivatives, whole_number("k", "entries", k, 1)
        # The k largest of each table contain the k largest of all.
        entries = [
            (name, tuple(map(int, np.unravel_index(at, table.shape))), float(table.flat[at]))
            for name, table in tables.items()
            for at in np.argsort(-np.abs(table), axis=None, kind="stable")[:k]
        ]
        return sorted(entries, key=lambda entry: -abs(entry[2]))[:k]

    def entry(self, name: Any, index: tuple[int, ...]) -> str:
        """Return the text of an entry of a table, such as ``P(wet=yes | rain=no)``."""
        axes = self.axes[name]
        parts = [f"{v.name}={v.states[code]}" for v, code in zip(axes, index, strict=True)]
        if not self.covaried:
            return f"factor {name} at {', '.join(parts)}"
        condition = f" | {', '.join(parts[:-1])}" if len(parts) > 1 else ""
        return f"P({parts[-1]}{condition}){self._place(name)}"

    def _place(self, name: Any) -> str:
        """Return the network of a table's key, (index, name), as text; empty for a single model."""
        return "" if self.weights is None else f" (network {name[0]})"

    def _display(self) -> DisplayTable:
        # One entry, the largest, for each parent configuration: with two states the derivative of
        # the other differs only in sign.
        tops = {
            name: np.where(np.arange(t.shape[-1]) == np.abs(t).argmax(-1)[..., None], t, 0.0)
            for name, t in self.covaried.items()
        }
        largest = replace(self, covaried=tops).largest(_MAXIMUM_LINES)
        lines = [(self.entry(name, index), value) for name, index, value in largest if value]
        for name, slopes in self.gaussians.items():
            child = name if self.weights is None else name[1]
            entries = slopes.entries(child, self.axes[name])
            lines += [(text + self._place(name), value) for text, value in entries]
        if self.weights is not None:
            lines += [(f"weight of network {i}", w) for i, w in enumerate(self.weights.tolist())]
        shown = sorted(lines, key=lambda line: -abs(line[1]))[:_MAXIMUM_LINES]
        return DisplayTable(
            f"Sensitivity of P({self.target}={self.state} | evidence) = "
            f"{rounded(self.posterior, 6)}, its derivative with respect to",
            [(entry, rounded(value, signed=True)) for entry, value in shown],
            bars=scaled(value for _, value in shown),
            note=f"taken as certain: {quoted(self.others)}" if self.others else "",
        )


# Derivatives by the name of a table or a Gaussian: of the table, or of mean, variance and
# coefficients.
Arrays: TypeAlias = Mapping[Any, tuple[Floats, ...]]


class Derivatives(NamedTuple):
    """Derivatives of P(evidence) and of P(target = state, evidence), all in one unit.

    The derivative of the posterior, their quotient, is (E - P(t | e) D) / P(e) with D the
    derivative of P(e) and E that of P(t, e). A mixture adds up E and D of its networks.

    Attributes
    ----------
    mass, before : float, dict from name to arrays
        P(evidence), and its derivatives.
    both, after : float, dict from name to arrays
        P(target = state, evidence), and its derivatives.
    values : dict from name to ndarray
        The tables; empty for a factor graph, whose tables need not sum to one.
    gaussians : dict from name to (scales, parents)
        As in `GaussianSlopes`.
    axes, others
        As in `Sensitivity`.
    """

    mass: float
    both: float
    before: Arrays
    after: Arrays
    values: Mapping[Any, Floats]
    gaussians: Mapping[Name, Any]
    axes: Mapping[Any, tuple[Discrete, ...]]
    others: tuple[Name, ...]

    def slopes(self, posterior: float, share: float = 1.0) -> Arrays:
        """Return ``share * (after - posterior * before)`` for each array, with its name.

        With P(evidence) as the unit and the share one, these are the derivatives of the posterior.
        """
        return {
            name: tuple(
                share * _difference(e, posterior * d)
                for d, e in zip(self.before[name], after, strict=True)
            )
            for name, after in self.after.items()
        }


class SlopesWork(Work):
    """Base class of prepared queries for the derivatives of a posterior of a product."""

    @abstractmethod
    def derivatives(
        self, case: Case, log_unit: float | None, memory_limit: float | None
    ) -> Derivatives | None:
        """Return the derivatives of both probabilities.

        Parameters
        ----------
        case : Case
        log_unit : float or None
            Log of the unit; by default P(evidence), and the result is None if that is zero.
        memory_limit : float or None
        """

    def run(self, case: Case, memory_limit: float | None = None) -> Sensitivity | None:
        derivatives = self.derivatives(case, None, memory_limit)
        if derivatives is None:
            return None
        # In the unit P(evidence), P(target = state, evidence) is the posterior.
        posterior = derivatives.both
        parts = {None: (derivatives, derivatives.slopes(posterior))}
        return sensitivity_of(self.model, self.question, posterior, parts)


def sensitivity_of(
    model: Any,
    question: Slopes,
    posterior: float,
    parts: Mapping[Any, tuple[Derivatives, Mapping[Any, Any]]],
    slopes_of_weights: Floats | None = None,
) -> Sensitivity:
    """Return the derivatives of a posterior.

    Parameters
    ----------
    model : model
    question : Slopes
    posterior : float
    parts : mapping from the index of a network to a pair
        The network's `Derivatives`, and the derivatives of the posterior with respect to the same
        arrays. The index of a single model is None.
    slopes_of_weights : ndarray, optional
        Of a mixture or an average: derivatives with respect to each weight if no other changes and
        the weights are divided by their sum, of which the sum of weight times derivative is zero.
    """
    target: Any = model.variables[question.target]
    tables, covaried, axes, gaussians = {}, {}, {}, {}
    others: dict[Name, None] = {}
    for place, (derivatives, slopes) in parts.items():
        others.update(dict.fromkeys(derivatives.others))  # each name once, in order
        keys = {
            name: name if place is None else (place, name) for name in (*derivatives.axes, *slopes)
        }
        axes.update({keys[name]: scope for name, scope in derivatives.axes.items()})
        for name, arrays in slopes.items():
            if name in derivatives.gaussians:
                gaussians[keys[name]] = GaussianSlopes(*arrays, *derivatives.gaussians[name])
                continue
            tables[keys[name]] = arrays[0]
            if name in derivatives.values:
                covaried[keys[name]] = covaried_slopes(derivatives.values[name], arrays[0])
    weights = None
    if slopes_of_weights is not None:
        # The other weights change in proportion: if weight i gains one, weight j loses
        # w_j / (1 - w_i). The derivative s_i less the sum of w_j s_j / (1 - w_i) over j other than
        # i is s_i / (1 - w_i), as all w_j s_j add up to zero. A weight of one has no others.
        weights = divided(slopes_of_weights, 1.0 - model.weights)
    return Sensitivity(
        target.name,
        target.states[question.state],
        posterior,
        tables,
        covaried,
        axes,
        gaussians,
        tuple(others),
        weights,
    )


def covaried_slopes(values: Floats, slopes: Floats) -> Floats:
    """Return the derivatives with covariation, given a table and its plain derivatives.

    If an entry changes from x0 to x, the other entries along the last axis are scaled by (1 - x) /
    (1 - x0), so that their sum stays one. If x0 is 1, their proportions are unknown, and all of
    them change by the same amount.
    """
    remainder = 1.0 - values
    certain = remainder <= 0
    n = values.shape[-1]
    total = np.sum(values * slopes, axis=-1, keepdims=True)
    # Per unit that an entry gains, another one loses its share of the rest: `others` is the mean of
    # their derivatives with these shares as weights.
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (total - values * slopes) / remainder
    if n > 1:
        equal_shares = (np.sum(slopes, axis=-1, keepdims=True) - slopes) / (n - 1)
        others = np.where(certain, equal_shares, others)
    else:  # a single state stays certain: the derivative is zero
        others = slopes
    return _difference(slopes, others)


def _difference(a: Floats, b: Floats) -> Floats:
    """Return a - b, zero where it is nothing but rounding error."""
    return np.where(np.abs(a - b) > _ROUNDING * (np.abs(a) + np.abs(b)), a - b, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Conflict(Displayed):
    """The conflict between findings, the observations of single variables.

    Attributes
    ----------
    log_evidence : float
        Natural log of the joint probability (density, if numbers are observed) of the findings,
        normalised for a factor graph too.
    measure : float
        Log of the product of the findings' marginal probabilities over their joint probability, in
        nats (Jensen, Chamberlain, Nordahl and Jensen 1991). If it is positive, the findings are
        less probable together than if they were independent: wrong data, a rare case or a wrong
        model.
    findings : dict from name to float
        log P(finding) - log P(finding | all other findings), in nats, largest first. If it is
        positive, the other findings make the finding less probable.
    expected : dict from name to Posterior or NumberMixture
        Posterior of each variable given the other findings.
    """

    log_evidence: float
    measure: float
    findings: Mapping[Name, float]
    expected: Mapping[Name, Any]

    def _display(self) -> DisplayTable:
        verdict = "in conflict" if self.measure > 1e-9 else "not in conflict"
        return DisplayTable(
            f"Findings {verdict}: measure {rounded(self.measure, signed=True)} nats, "
            f"log evidence {rounded(self.log_evidence, 6)}",
            [(str(name), rounded(value, signed=True)) for name, value in self.findings.items()],
        )


# ---------- Derivatives of a posterior with respect to the tables and Gaussians of a mixed network
# The derivative of log P(evidence) with respect to a parameter is the expectation, given the
# evidence, of the derivative of the log density of its family (Fisher's identity; Binder, Koller,
# Russell and Kanazawa 1997, section 3.2). With r = x - mean[u] - coefficients[u] @ z it is, for a
# linear Gaussian in the configuration u of its discrete parents,
#
#     E[1(u) r] / v,    E[1(u) (r^2 - v)] / (2 v^2),    E[1(u) r z] / v
#
# for mean, variance v and coefficients. For an entry of a table it is P(x, u | evidence) divided by
# the entry; a table with zeros is taken out of the network, which gives P(evidence) per unit of it.


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
class _FamiliesOfCase:
    """Derivatives of the probability of one case with respect to the arrays of families.

    They follow from the posterior of each family's variables, given the case.

    Attributes
    ----------
    model : model
    case : Case
    log_unit : float
        All probabilities and derivatives are divided by the exponential of it.
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
        targets = tuple(self.model._index_of[v.name] for v in free)
        if targets not in self.kept:
            self.kept[targets] = self.model._answer(Joint(targets), self.case, self.memory_limit)
        return self.kept[targets]

    def place(self, axes: Sequence[Variable]) -> tuple[Any, ...]:
        """Return the index of the part of an array over discrete axes that agrees with evidence."""
        number, hard = self.model._index_of, self.case.hard
        return tuple(hard.get(number[v.name], slice(None)) for v in axes)

    def free(self, variables: Sequence[Variable]) -> list[Any]:
        """Return those of the variables that are not observed."""
        number, hard = self.model._index_of, self.case.hard
        return [v for v in variables if number[v.name] not in hard]

    # ------------------------------------------------------------------------------- tables

    def table(self, family: TableFamily) -> Floats:
        """Return the derivatives of P(evidence) with respect to the entries of a table."""
        slopes = np.zeros(family.values.shape)
        place = self.place(family.axes)
        values = family.values[place]
        # An entry of zero: the joint probability cannot be divided by it.
        if not (values > 0).all():
            return self._without(family, slopes)
        if self.mass > 0:
            free = self.free(family.axes)
            shares = self.posterior(free).probabilities if free else 1.0
            slopes[place] = self.mass * shares / values
        return slopes

    def _without(self, family: TableFamily, slopes: Floats) -> Floats:
        """Return the derivatives by the network without the table, for each state of the child.

        For the entry P(x | u) it is P(u, evidence) with the child x observed, in the network in
        which the child has no parents and no distribution. They are written to `slopes`.
        """
        *parents, child = family.axes
        number = self.model._index_of[child.name]
        cut = self.model._without_parents([child.name])
        place, others = self.place(parents), self.case.without(number)
        likelihoods = self.case.soft.get(number, np.zeros(child.cardinality))  # logs
        observed = self.case.hard.get(number)
        targets = tuple(cut._index_of[v.name] for v in self.free(parents))
        for state in range(child.cardinality) if observed is None else (observed,):
            with_state = Case({**others.hard, number: state}, others.soft)
            log_mass = cut._answer(Mass(), with_state, self.memory_limit)
            log_mass += float(likelihoods[state]) - self.log_unit
            if log_mass == -np.inf:
                continue
            shares = 1.0
            if targets:
                shares = cut._answer(Joint(targets), with_state, self.memory_limit).probabilities
            slopes[(*place, state)] = np.exp(log_mass) * shares
        return slopes

    # ---------------------------------------------------------------------------- Gaussians

    def gaussian(self, family: GaussianFamily) -> tuple[Floats, Floats, Floats]:
        """Return the derivatives of P(evidence) with respect to the arrays of a Gaussian."""
        mean, variance, coefficients = (
            np.zeros(array.shape) for array in (family.mean, family.variance, family.coefficients)
        )
        if self.mass > 0:
            for cell, weight, first, covariance in self._moments(family):
                v = family.variance[cell]
                # With z = (x, continuous parents), r is contrast @ z - intercept.
                contrast = np.concatenate([[1.0], -family.coefficients[cell]])
                # E[r], E[r z] and E[r^2], without squares of z, which cancel far from zero.
                residual = contrast @ first - family.mean[cell]
                products = covariance @ contrast + residual * first
                square = contrast @ covariance @ contrast + residual**2
                weight = weight * self.mass
                mean[cell] = weight * residual / v
                variance[cell] = weight * (square - v) / (2 * v**2)
                coefficients[cell] = weight * products[1:] / v
        return mean, variance, coefficients

    def _moments(self, family: GaussianFamily) -> Iterator[tuple[Any, float, Floats, Floats]]:
        """Yield mean and covariance of the numbers in each possible configuration.

        Each item is the configuration of the discrete parents, its probability, and E[z] and
        cov(z) in it, of z = (child, continuous parents).
        """
        discrete, numbers = self.free(family.axes), self.free(family.numbers)
        hard, number = self.case.hard, self.model._index_of
        observed = np.array([hard.get(number[v.name], 0.0) for v in family.numbers], dtype=float)
        at = [family.numbers.index(v) for v in numbers]  # places in z of the unobserved numbers
        posterior = self.posterior([*discrete, *numbers]) if discrete or numbers else None
        # The flat indices of the configurations that agree with the evidence, in the order of those
        # of the posterior: its weights, and its distribution of the numbers, if any are free.
        cells = np.arange(family.mean.size).reshape(family.mean.shape)[self.place(family.axes)]
        weights, mixtures = divided_posterior(posterior)
        for i, (cell, weight) in enumerate(zip(np.ravel(cells), weights.tolist(), strict=True)):
            if weight > 0:
                # Numbers that are not free are certain, and have their observed values.
                mean, covariance = observed.copy(), np.zeros((len(observed), len(observed)))
                if at:
                    mixture: Any = mixtures[i]
                    mean[at] = mixture.mean
                    covariance[np.ix_(at, at)] = mixture.covariance
                yield np.unravel_index(cell, family.mean.shape), weight, mean, covariance


class FamilySlopes(SlopesWork):
    """Prepared query for derivatives of a posterior, one family after the other."""

    def derivatives(
        self, case: Case, log_unit: float | None, memory_limit: float | None
    ) -> Derivatives | None:
        """Return the derivatives of both probabilities; see SlopesWork."""
        model = self.model
        target, state = self.question
        others = case.without(target)
        both = Case({**others.hard, target: state}, others.soft)  # P(target = state, evidence)
        log_evidence = model._answer(Mass(), case, memory_limit)
        if log_unit is None:
            if log_evidence == -np.inf:
                return None
            log_unit = log_evidence
        # A log likelihood of the target is a factor of `both`, whose case does without it.
        likelihood = float(case.soft[target][state]) if target in case.soft else 0.0
        mass = float(np.exp(log_evidence - log_unit))
        log_joint = model._answer(Mass(), both, memory_limit) + likelihood
        joint = float(np.exp(log_joint - log_unit))
        cases = (
            _FamiliesOfCase(model, case, log_unit, mass, memory_limit),
            _FamiliesOfCase(model, both, log_unit - likelihood, joint, memory_limit),
        )
        # The variables whose distributions may bear on a question: ancestors of its own.
        numbers = (target, *case.hard, *case.soft)
        above: Mapping[Any, Any] = {cpd.variable: cpd.parents for cpd in model.cpds}
        relevant = ancestral_set(above, [model.variables[v] for v in numbers])
        # Derivatives of P(evidence), and of P(target = state, evidence): one dict for each case.
        slopes: tuple[dict[Name, Any], dict[Name, Any]] = {}, {}
        values: dict[Name, Floats] = {}
        axes: dict[Name, tuple[Discrete, ...]] = {}
        gaussians: dict[Name, Any] = {}
        uncovered = []  # `Derivatives.others`
        for cpd in model.cpds:
            family, name = cpd.family, cpd.variable.name
            bears = cpd.variable in relevant
            if isinstance(family, TableFamily):
                axes[name], values[name] = family.axes, family.values
                nothing = np.zeros(family.values.shape)
                for arrays, families in zip(slopes, cases, strict=True):
                    arrays[name] = (families.table(family) if bears else nothing,)
            elif isinstance(family, GaussianFamily) and bears:
                axes[name] = family.axes
                scales = np.sqrt(family.variance), family.variance, family.coefficients
                gaussians[name] = scales, tuple(v.name for v in family.numbers[1:])
                for arrays, families in zip(slopes, cases, strict=True):
                    arrays[name] = families.gaussian(family)
            elif bears:
                uncovered.append(name)
        return Derivatives(mass, joint, *slopes, values, gaussians, axes, tuple(uncovered))


class Families(Solver):
    """Solver of derivatives with respect to the parameters of a network with more than tables.

    The posterior of each family is asked for twice: with the evidence, and with the target too.
    """

    name = "families"
    condition = "a network with Gaussians or other distributions besides tables"
    works: ClassVar = {Slopes: FamilySlopes}

    def serves(self, model: Any) -> bool:
        return model._compiled_tables is None and bool(model._nodes())

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        target = question.target
        observed = tuple(sorted({*pattern.observed, target}))
        both = Pattern(observed, tuple(v for v in pattern.soft if v != target))
        return Plan(parts=tuple(model._plan_of(Mass(), part) for part in (pattern, both)))


# ------------------------------ Conflict between the findings: each is left out, and kept alone:
#
#     log P(e_i) - log P(e_i | others) = log P(e_i) + log P(others) - log P(e).


class FindingRetractions(Work):
    """Prepared query for the conflict between findings, which asks two queries for each.

    Densities of numbers enter as probabilities do: their units cancel in every result.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> Conflict | None:
        """Return the conflict; None if the findings exclude each other."""
        model, ask = self.model, partial(self.model._answer, memory_limit=memory_limit)
        joint = ask(Mass(), case)  # not normalised for a factor graph
        if joint == -np.inf:
            return None
        total = ask(Mass(), Case({}))  # log of the normaliser, not 0 for a factor graph
        numbers = sorted({*case.hard, *case.soft})
        # The posterior of each variable given the other findings.
        others = {v: ask(Joint((v,), whole=True), case.without(v)) for v in numbers}
        alone = {v: ask(Mass(), _only(case, v)) - total for v in numbers}  # log P(finding)
        # `alone` is divided by the total, which cancels between the other two.
        losses = {v: alone[v] + others[v].log_evidence - joint for v in numbers}
        measure = sum(alone.values()) + total - joint
        if len(numbers) < 2:
            measure, losses = 0.0, dict.fromkeys(numbers, 0.0)  # one finding has no conflict
        order = sorted(numbers, key=lambda v: -losses[v])
        names = {v: model.variables[v].name for v in order}
        return Conflict(
            joint - total,
            measure,
            {names[v]: losses[v] for v in order},
            {names[v]: others[v] for v in order},
        )


def _only(case: Case, number: int) -> Case:
    """Return the finding on one variable."""
    return Case(
        {v: value for v, value in case.hard.items() if v == number},
        {v: logs for v, logs in case.soft.items() if v == number},
    )
