"""Sensitivity of a posterior to the parameters of the model, and conflict between findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.errors import quoted
from bayesgraph.factors.algebra import Floats, log_of, log_sum_exp
from bayesgraph.inference.calibration import table_derivatives
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case
from bayesgraph.variables import Discrete, Name, State

_MAXIMUM_LINES = 10


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
        what = [f"mean of {name}, per sd", f"variance of {name}, relative"]
        found = [self.mean * self.scales[0], self.variance * self.scales[1]]
        what += [f"slope of {name} on {parent}, relative" for parent in self.parents]
        found += list(np.moveaxis(self.coefficients * self.scales[2], -1, 0))
        for index in np.ndindex(self.mean.shape):
            states = zip(axes, index, strict=True)
            given = ", ".join(f"{v.name}={v.states[code]}" for v, code in states)
            for text, values in zip(what, found, strict=True):
                yield f"{text} | {given}" if given else text, float(values[index])


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
        that of the table.
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
    """

    target: Name
    state: State
    posterior: float
    derivatives: Mapping[Any, Floats]
    covaried: Mapping[Any, Floats]
    axes: Mapping[Any, tuple[Discrete, ...]]
    gaussians: Mapping[Name, GaussianSlopes] = field(default_factory=dict)
    others: tuple[Name, ...] = ()

    def largest(self, k: int = 10) -> list[tuple[Any, tuple[int, ...], float]]:
        """Return the k table entries with the largest derivatives in absolute value.

        Each is a tuple (name, index in the table, derivative); the derivatives are with covariation
        if the model is a network.
        """
        tables = self.covaried or self.derivatives
        found = [
            (name, tuple(int(i) for i in np.unravel_index(at, table.shape)), float(table.flat[at]))
            for name, table in tables.items()
            for at in np.argsort(-np.abs(table), axis=None, kind="stable")[:k]
        ]
        return sorted(found, key=lambda entry: -abs(entry[2]))[:k]

    def entry(self, name: Any, index: tuple[int, ...]) -> str:
        """Return the text of an entry of a table, such as ``P(wet=yes | rain=no)``."""
        axes = self.axes[name]
        parts = [f"{v.name}={v.states[code]}" for v, code in zip(axes, index, strict=True)]
        if not self.covaried:
            return f"factor {name} at {', '.join(parts)}"
        given = f" | {', '.join(parts[:-1])}" if len(parts) > 1 else ""
        return f"P({parts[-1]}{given})"

    def _display(self) -> DisplayTable:
        # One entry for each row: with two states the other derivative differs only in sign.
        rows: dict[tuple[Any, tuple[int, ...]], tuple[str, float]] = {}
        for name, index, value in self.largest(4 * _MAXIMUM_LINES):
            row = (name, index[:-1] if self.covaried else index)
            rows.setdefault(row, (self.entry(name, index), value))
        lines = list(rows.values())
        for name, slopes in self.gaussians.items():
            lines += slopes.entries(name, self.axes[name])
        shown = sorted(lines, key=lambda line: -abs(line[1]))[:_MAXIMUM_LINES]
        scale = max((abs(value) for _, value in shown), default=0.0) or 1.0
        return DisplayTable(
            f"Sensitivity of P({self.target}={self.state} | evidence) = {self.posterior:.6g}, "
            "its derivative with respect to",
            [(entry, f"{value:+.4g}") for entry, value in shown],
            bars=[value / scale for _, value in shown],
            note=f"taken as certain: {quoted(self.others)}" if self.others else "",
        )


def sensitivity(
    compiled: CompiledTables,
    target: int,
    state: int,
    case: Case,
    *,
    memory_limit: float | None = None,
) -> tuple[float, list[Floats], list[Floats]] | None:
    """Return P(target = state | evidence) and its derivatives with respect to every table.

    The derivatives are two lists, without and with covariation; see `Sensitivity`. The result is
    None if the evidence is impossible.

    There are two propagations: with the evidence e, and with e and the target t. If D is the
    derivative of P(e) and E is the derivative of P(t, e), the derivative of P(t | e) is (E - P(t |
    e) D) / P(e).
    """
    tables = compiled.tables
    plain, _, log_mass = table_derivatives(compiled, case, memory_limit=memory_limit)
    if log_mass == -np.inf:
        return None
    others = case.without(target)
    scale = case.log_scale
    if target in case.soft:
        scale += float(case.soft[target][state])
    both = Case({**others.hard, target: state}, others.soft, scale)
    joint, _, log_joint = table_derivatives(compiled, both, memory_limit=memory_limit)
    posterior = float(np.exp(log_joint - log_mass))
    derivatives, covaried = [], []
    for f in range(len(tables)):
        numbers, values = tables.table(f)
        slopes = np.zeros(values.shape)
        for share, parts, hard in ((-posterior, plain, case.hard), (1.0, joint, both.hard)):
            index = tuple(hard.get(v, slice(None)) for v in numbers)
            free = [tables.variables[v] for v in numbers if v not in hard]
            # Each compiled table is a table of the model divided by a constant.
            logs = parts[f].aligned(free)[0] - log_mass - tables.log_scales[f]
            slopes[index] += share * np.exp(logs)
        derivatives.append(slopes)
        covaried.append(covaried_slopes(values, slopes))
    return posterior, derivatives, covaried


def covaried_slopes(values: Floats, slopes: Floats) -> Floats:
    """Return the derivatives with covariation, given a table and its plain derivatives.

    If an entry changes from x0 to x, the other entries along the last axis are scaled by (1 - x) /
    (1 - x0), so that their sum stays one. If x0 is 1, their proportions are unknown, and all of
    them change by the same amount.
    """
    rest = 1.0 - values
    certain = rest <= 0
    n = values.shape[-1]
    total = np.sum(values * slopes, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (total - values * slopes) / rest
    if n > 1:
        alike = (np.sum(slopes, axis=-1, keepdims=True) - slopes) / (n - 1)
        others = np.where(certain, alike, others)
    else:
        others = slopes
    return np.asarray(slopes - others)


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
    expected : dict from name to Posterior, GaussianMixture or LeafMixture
        Posterior of each variable given the other findings.
    """

    log_evidence: float
    measure: float
    findings: Mapping[Name, float]
    expected: Mapping[Name, Any]

    def _display(self) -> DisplayTable:
        verdict = "in conflict" if self.measure > 1e-9 else "not in conflict"
        return DisplayTable(
            f"Findings {verdict}: measure {self.measure:+.4g} nats, "
            f"log evidence {self.log_evidence:.6g}",
            [(str(name), f"{value:+.4g}") for name, value in self.findings.items()],
        )


def conflict(
    compiled: CompiledTables,
    case: Case,
    prior: Floats,
    log_total: float,
    *,
    memory_limit: float | None = None,
) -> tuple[float, float, dict[int, float], dict[int, Floats], dict[int, float]]:
    """Return the log evidence, the conflict measure, and three results for each finding.

    The three results are dicts by variable: the finding's entry in `Conflict.findings`, the
    variable's posterior given the other findings, and the log mass (unnormalised log probability)
    of the other findings.

    Hard findings enter as likelihoods. The derivatives with respect to the likelihoods are the
    probabilities of all states with the finding left out, for all findings from one propagation.

    Parameters
    ----------
    compiled : CompiledTables
    case : Case
        The findings.
    prior : ndarray
        Marginals of all variables without evidence, one after the other.
    log_total : float
        Log of the sum of the product of all tables, without evidence.
    memory_limit : float, optional
    """
    tables = compiled.tables
    soft = dict(case.soft)
    for variable, state in case.hard.items():
        logs = np.full(int(tables.cards[variable]), -np.inf)
        logs[state] = 0.0
        soft[variable] = logs
    entered = Case({}, soft, case.log_scale)
    _, retracted, log_mass = table_derivatives(compiled, entered, memory_limit=memory_limit)
    if log_mass == -np.inf:
        return log_mass, 0.0, {}, {}, {}
    order = sorted(soft)
    ends = np.cumsum(tables.cards)
    shares, expected, others = {}, {}, {}
    measure = log_total - log_mass + case.log_scale
    for variable, without in zip(order, retracted, strict=True):
        logs = without.log_values[0]
        total = float(log_sum_exp(logs, 0))
        before = prior[ends[variable] - tables.cards[variable] : ends[variable]]
        alone = float(log_sum_exp(log_of(before) + soft[variable], 0))
        given_others = float(log_sum_exp(logs + soft[variable], 0)) - total
        measure += alone
        shares[variable] = alone - given_others
        expected[variable] = np.exp(logs - total)
        others[variable] = total
    if len(order) < 2:
        measure, shares = 0.0, dict.fromkeys(shares, 0.0)  # one finding has no conflict
    return log_mass - log_total, measure, shares, expected, others
