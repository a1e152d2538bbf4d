"""Sensitivity of a posterior to the parameters of the model, and conflict between findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.inference.calibration import table_derivatives
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case
from bayesgraph.variables import Discrete, Name, State

_MAXIMUM_LINES = 10


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Displayed):
    """Derivatives of P(target = state | evidence) with respect to the tables of the model.

    Attributes
    ----------
    target, state
        Whose posterior it is.
    posterior : float
        Its value.
    derivatives : dict from name of a variable (of a factor graph: number of a factor) to ndarray
        With respect to each entry of its table by itself, shaped as the table.
    covaried : dict from name to ndarray
        The same if the other entries of the row give way in proportion, so that it still sums to
        one (Chan and Darwiche 2002); empty for a factor graph, whose tables have no rows.
    axes : dict from name to tuple of variables
        The axes of each table.
    """

    target: Name
    state: State
    posterior: float
    derivatives: Mapping[Any, Floats]
    covaried: Mapping[Any, Floats]
    axes: Mapping[Any, tuple[Discrete, ...]]

    def largest(self, k: int = 10) -> list[tuple[Any, tuple[int, ...], float]]:
        """Return the k entries with the steepest effect: (name, index in its table, derivative)."""
        tables = self.covaried or self.derivatives
        found = [
            (name, tuple(int(i) for i in np.unravel_index(at, table.shape)), float(table.flat[at]))
            for name, table in tables.items()
            for at in np.argsort(-np.abs(table), axis=None, kind="stable")[:k]
        ]
        return sorted(found, key=lambda entry: -abs(entry[2]))[:k]

    def entry(self, name: Any, index: tuple[int, ...]) -> str:
        """Return what an entry of a table is, such as ``P(wet=yes | rain=no)``."""
        axes = self.axes[name]
        parts = [f"{v.name}={v.states[code]}" for v, code in zip(axes, index, strict=True)]
        if not self.covaried:
            return f"factor {name} at {', '.join(parts)}"
        given = f" | {', '.join(parts[:-1])}" if len(parts) > 1 else ""
        return f"P({parts[-1]}{given})"

    def _display(self) -> DisplayTable:
        # One entry a row: with two states the other is its mirror image.
        rows: dict[tuple[Any, tuple[int, ...]], tuple[str, float]] = {}
        for name, index, value in self.largest(4 * _MAXIMUM_LINES):
            row = (name, index[:-1] if self.covaried else index)
            rows.setdefault(row, (self.entry(name, index), value))
        shown = list(rows.values())[:_MAXIMUM_LINES]
        scale = max((abs(value) for _, value in shown), default=0.0) or 1.0
        return DisplayTable(
            f"Sensitivity of P({self.target}={self.state} | evidence) = {self.posterior:.6g}, "
            "its derivative with respect to",
            [(entry, f"{value:+.4g}") for entry, value in shown],
            bars=[value / scale for _, value in shown],
        )


def sensitivity(
    compiled: CompiledTables,
    target: int,
    state: int,
    case: Case,
    *,
    memory_limit: float | None = None,
) -> tuple[float, list[Floats], list[Floats]] | None:
    """Return a posterior, its derivatives with respect to every table, and those with covariation.

    None if the evidence is impossible.

    Two propagations: with the evidence e, and with the target t besides. With D the derivative of
    P(e) and E that of P(t, e), the derivative of P(t | e) is (E - P(t | e) D) / P(e).
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
            # The compiled tables are those of the model divided by a number each.
            logs = parts[f].aligned(free)[0] - log_mass - tables.log_scales[f]
            slopes[index] += share * np.exp(logs)
        derivatives.append(slopes)
        covaried.append(_covaried(values, slopes))
    return posterior, derivatives, covaried


def _covaried(values: Floats, slopes: Floats) -> Floats:
    """Return derivatives along which the last axis keeps its sum.

    The others of a row are scaled by (1 - x) / (1 - x0); where x0 is 1 they share alike what it
    gives up, as their proportions are unknown.
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
    """How well findings go together.

    Attributes
    ----------
    log_evidence : float
        Natural log of their probability; normalised for a factor graph too.
    measure : float
        log of the product of their single probabilities over their joint probability, in nats
        (Jensen, Chamberlain, Nordahl and Jensen 1991). Above zero, they are less likely together
        than if they had nothing to do with each other: wrong data, a rare case or a wrong model.
    findings : dict from name to float
        log P(finding) - log P(finding | all others), in nats, the worst first: above zero, the
        others speak against it.
    expected : dict from name to Posterior-like mapping from state to probability
        What the others say about each variable.
    """

    log_evidence: float
    measure: float
    findings: Mapping[Name, float]
    expected: Mapping[Name, Mapping[State, float]]

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
    """Return the log probability, the conflict measure, and what concerns each finding.

    That is its share, what the others expect in its place, and the log mass of these others.
    `prior` holds the marginals of all variables, one after the other, and `log_total` the log of
    the sum of the whole product.

    Hard findings enter as likelihoods; the derivatives with respect to those are the probabilities
    of all states with each finding retracted, from one propagation.
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
        with np.errstate(divide="ignore"):
            alone = float(log_sum_exp(np.log(before) + soft[variable], 0))
        given_others = float(log_sum_exp(logs + soft[variable], 0)) - total
        measure += alone
        shares[variable] = alone - given_others
        expected[variable] = np.exp(logs - total)
        others[variable] = total
    if len(order) < 2:
        measure, shares = 0.0, dict.fromkeys(shares, 0.0)  # nothing to be in conflict with
    return log_mass - log_total, measure, shares, expected, others
