"""The delta method: variances of posteriors by their derivatives with respect to all tables.

To first order, the variance of P(t | e) is the sum over the distributions P(X | u) of the variance
of ``sum_x g_x theta_x``, where theta is Dirichlet distributed and g_x is the derivative of P(t | e)
with respect to P(x | u) (Van Allen, Singh, Greiner, Hooper 2008). The derivative times the
parameter is ``P(x, u, t | e) - P(t | e) P(x, u | e)``, so that one propagation for each state t
gives the variances of all posteriors. Propagations are done in batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.calibration import Calibration, agreeing
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case
from bayesgraph.inference.programs import Relevance
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.special import betaincinv
from bayesgraph.uncertainty.parameters import posterior_of
from bayesgraph.uncertainty.results import Source, Spread
from bayesgraph.variables import Discrete

# Maximum number of entries of all cliques together, times the states of a batch.
_MAX_ENTRIES = 2**21
_MAX_SOURCES = 10
# Smallest strength of a beta distribution, in rows.
_LEAST_STRENGTH = 1e-3


@dataclass(frozen=True, eq=False)
class _Family:
    """A table with unobserved variables, reduced by the evidence.

    Attributes
    ----------
    cpd : TableCPD
    index : tuple
        The entries that agree with the evidence, as an index of the table.
    factor : Factor
    """

    cpd: TableCPD
    index: tuple[Any, ...]
    factor: Factor

    def variances(self, slopes: Floats) -> Floats:
        """Return the variances that each configuration of the parents contributes.

        Parameters
        ----------
        slopes : ndarray, shape (n, *cardinalities of the free variables)
            Derivatives of n numbers with respect to the entries, times the entries.

        Returns
        -------
        ndarray, shape (n, *cardinalities of the free parents)
        """
        values = self.cpd.values[self.index]
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(values > 0.0, slopes**2 / values, 0.0)
        if self.index[-1] == slice(None):
            squares, slopes = squares.sum(axis=-1), slopes.sum(axis=-1)
        strength = posterior_of(self.cpd).strength[self.index[:-1]]
        return np.asarray(np.maximum(squares - slopes**2, 0.0) / (strength + 1.0))


def delta_spread(
    model: Model,
    targets: Sequence[tuple[int, ...]],
    case: Case,
    coverage: float,
    memory_limit: float | None,
) -> tuple[Spread, list[Source]] | None:
    """Return the spread of the probabilities of one question after the other, and its sources.

    The sources are those of the first question. Intervals are of beta distributions, as in Van
    Allen et al. The result is None if the evidence is impossible.

    Raises
    ------
    UnsupportedModelError
        If the model is no network of tables.
    """
    compiled = model.compiled if isinstance(model, BayesianNetwork) else None
    if compiled is None:
        raise UnsupportedModelError(
            f"method='delta' takes a network of tables; {type(model).__name__} has others or is "
            "no network. Ask with method='draws'."
        )
    assert isinstance(model, BayesianNetwork)
    families, soft = _families(model, compiled, targets, case)
    asked = [tuple(compiled.tables.variables[v] for v in wanted) for wanted in targets]
    factors = [*(family.factor for family in families), *soft]
    scopes = [*(factor.scope for factor in factors), *asked]
    calibration: Calibration = model.memo.get(
        ("delta", tuple(targets), case.pattern),
        lambda: Calibration(scopes, memory_limit=memory_limit),
    )
    ones = [Factor.from_log((), np.zeros(1)).aligned(scope) for scope in asked]
    plain, log_mass = calibration.posteriors(
        [*factors, *map(Factor.from_log, asked, map(np.asarray, ones))]
    )
    if log_mass[0] == -np.inf:
        return None
    flat = np.concatenate([answer.ravel() for answer in plain[len(factors) :]])
    variance = np.zeros(len(flat))
    alone = len(targets) == 1
    shares: list[Floats] = [np.zeros(())] * len(families)
    for first, last, given in _batches(asked, calibration.entries):
        found, _ = calibration.posteriors([*factors, *given])
        for f, family in enumerate(families):
            odds = flat[first:last].reshape(-1, *[1] * (found[f].ndim - 1))
            parts = family.variances(odds * (found[f] - plain[f]))
            variance[first:last] += parts.reshape(len(parts), -1).sum(axis=1)
            if alone:
                shares[f] = shares[f] + parts.sum(axis=0)
    sources = _sources(families, shares, float(variance.sum())) if alone else []
    low, high = _beta_interval(flat, variance, coverage)
    return Spread(flat, flat, low, high, variance), sources


def _families(
    model: BayesianNetwork,
    compiled: CompiledTables,
    targets: Sequence[tuple[int, ...]],
    case: Case,
) -> tuple[list[_Family], list[Factor]]:
    """Return the relevant tables with unobserved variables, and the likelihoods."""
    tables = compiled.tables
    chosen: Sequence[int] = range(len(tables))
    if len(targets) == 1:
        pattern = case.pattern
        kept = compiled.restricted(pattern.observed, pattern.soft, targets[0], Relevance.TARGETS)
        chosen = [f for f in kept.factors.tolist() if f < len(tables)]
    cpds = {cpd.variable.name: cpd for cpd in model.cpds}
    found = []
    for f in chosen:
        factor = agreeing(tables, case, f)
        if factor.scope:
            numbers, _ = tables.table(f)
            cpd = cpds[tables.variables[numbers[-1]].name]
            assert isinstance(cpd, TableCPD)
            index = tuple(case.hard.get(v, slice(None)) for v in numbers)
            found.append(_Family(cpd, index, factor))
    soft = [Factor.from_log([tables.variables[v]], case.soft[v][None]) for v in sorted(case.soft)]
    return found, soft


def _batches(
    asked: Sequence[tuple[Discrete, ...]], entries: float
) -> Iterator[tuple[int, int, list[Factor]]]:
    """Yield evidence on each state of each question, in batches of rows.

    Yields
    ------
    first, last : int
        The numbers of the states, all questions together.
    factors : list of Factor
        One for each question.
    """
    sizes = [int(np.prod([v.cardinality for v in scope])) for scope in asked]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    step = max(1, int(_MAX_ENTRIES // max(entries, 1.0)))
    for first in range(0, int(starts[-1]), step):
        last = min(first + step, int(starts[-1]))
        factors = []
        for scope, size, start in zip(asked, sizes, starts[:-1].tolist(), strict=True):
            logs = np.zeros((last - first, size))
            own = np.arange(max(first, start), min(last, start + size))
            logs[own - first] = -np.inf
            logs[own - first, own - start] = 0.0
            shape = (last - first, *(v.cardinality for v in scope))
            factors.append(Factor.from_log(scope, logs.reshape(shape)))
        yield first, last, factors


def _sources(families: Sequence[_Family], shares: Sequence[Floats], total: float) -> list[Source]:
    """Return the distributions that contribute most to the variance, largest first."""
    found = []
    for family, share in zip(families, shares, strict=True):
        flat = share.ravel()
        for at in np.argsort(-flat, kind="stable")[:_MAX_SOURCES].tolist():
            if flat[at] > 0:
                free = list(np.unravel_index(at, share.shape))
                codes = [int(free.pop(0)) if i == slice(None) else i for i in family.index[:-1]]
                parents = family.cpd.parents
                found.append(
                    Source(
                        family.cpd.variable.name,
                        {v.name: v.states[c] for v, c in zip(parents, codes, strict=True)},
                        float(posterior_of(family.cpd).rows[tuple(codes)]),
                        float(flat[at]) / total,
                    )
                )
    return sorted(found, key=lambda source: -source.share)[:_MAX_SOURCES]


def _beta_interval(p: Floats, variance: Floats, coverage: float) -> tuple[Floats, Floats]:
    """Return the quantiles of beta distributions with these means and variances."""
    uncertain = (variance > 0.0) & (p > 0.0) & (p < 1.0)
    q, spread = np.where(uncertain, p, 0.5), np.where(uncertain, variance, 0.01)
    # To first order the variance may exceed that of a state which is either certain or impossible.
    strength = np.maximum(q * (1.0 - q) / spread - 1.0, _LEAST_STRENGTH)
    tail = (1.0 - coverage) / 2.0
    ends = (betaincinv(strength * q, strength * (1.0 - q), x) for x in (tail, 1.0 - tail))
    low, high = (np.where(uncertain, end, p) for end in ends)
    return low, high
