"""Divergences between the distributions of a variable given its parents in two models.

The divergence of a family is the mean over the first model P of the Kullback-Leibler divergence of
the two distributions of the child,

    sum_u P(u) KL(P(x | u) || Q(x | u)),

where u are the parents of the child in either model; a distribution does not depend on those it
lacks. It is zero if and only if the distributions agree wherever P has rows. If both networks have
one graph, the divergences of all families sum to that of the joint distributions (the chain rule;
Cover and Thomas 2006, theorem 2.5.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import DisplayTable, more, rounded
from bayesgraph.core.errors import BayesGraphError, MemoryLimitError, UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Name, Variable
from bayesgraph.inference import Factor, NumberMixture, align
from bayesgraph.models import (
    CPD,
    BayesianNetwork,
    GaussianCPD,
    networks_in,
    table_for,
)
from bayesgraph.statistics import Family

# Maximum number of joint states of child and parents that are compared one by one.
_MAX_STATES = 1 << 18
# Maximum number of configurations of discrete parents in which Gaussians are compared exactly.
_MAX_CELLS = 1 << 12
# Number of rows drawn where there is no sum.
_DRAWS = 4096
_MAXIMUM_LINES = 20
# Divergence at or below which two distributions are the same but for rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FamilyChange:
    """How the distribution of a variable given its parents differs between two models.

    Attributes
    ----------
    name : name of the child
    parents_before, parents_after : tuple of names
    divergence : float or None
        In nats per row; infinite if the second model excludes what the first one allows. None if
        there is none, for the reason in `where`.
    standard_error : float
        Of a divergence that is estimated from drawn rows; 0 if it is exact.
    where : str
        The states of the parents that add most to the divergence, and what changed there.
    rows_before, rows_after : float or None
        Number of rows with these states that each model was estimated from; None if it is unknown.
    member : int or None
        Number of the network of a mixture or an average.
    """

    name: Name
    parents_before: tuple[Name, ...]
    parents_after: tuple[Name, ...]
    divergence: float | None
    standard_error: float = 0.0
    where: str = ""
    rows_before: float | None = None
    rows_after: float | None = None
    member: int | None = None

    @property
    def size(self) -> float:
        """The divergence for sorting; -1 if there is none."""
        return -1.0 if self.divergence is None else self.divergence


class _Found(NamedTuple):
    """A divergence, the code of each parent where it is largest, and what changed there."""

    divergence: float
    standard_error: float = 0.0
    cell: dict[Name, int] | None = None
    text: str = ""


def family_changes(before: Any, after: Any) -> tuple[list[FamilyChange], list[str]]:
    """Return the families that differ, the largest divergence first, and remarks.

    Parameters
    ----------
    before, after : models or fitted estimators

    Returns
    -------
    list of FamilyChange, list of str
        The remarks say what could not be compared.
    """
    first, second = (
        [network for _, network in networks_in(getattr(source, "network_", source))]
        for source in (before, after)
    )
    if not (first and second):
        return [], ["Factors of a factor graph are no conditional distributions: not compared."]
    if len(first) != len(second):
        counts = f"{len(first)} and {len(second)}"
        return [], [f"The models have {counts} networks: their distributions are not compared."]
    several = len(first) > 1
    found = [
        change
        for number, (p, q) in enumerate(zip(first, second, strict=True))
        for change in _Pair(p, q, before, after, number if several else None).changes()
    ]
    return sorted(found, key=lambda change: -change.size), []


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two networks whose families are compared.

    Attributes
    ----------
    before, other : BayesianNetwork
        As they are.
    sources : models or fitted estimators that they are (parts) of
    member : int or None
    """

    before: BayesianNetwork
    other: BayesianNetwork
    source: Any
    other_source: Any
    member: int | None

    @cached_property
    def after(self) -> BayesianNetwork:
        """The other network, with states in the order of the first one."""
        # A network with the states of its variables in the order of another, where it can.
        network = self.other
        for variable in self.before.variables:
            own = network.variable(variable.name) if variable.name in network else variable
            if own == variable or type(own) is not Discrete or type(variable) is not Discrete:
                continue
            wanted, there = ({(type(s), s) for s in v.states} for v in (variable, own))
            if wanted == there:
                with suppress(UnsupportedModelError):  # the difference is reported instead
                    network = network.with_states(variable.name, variable.states)
        return network

    def changes(self) -> Iterator[FamilyChange]:
        """Yield the families that differ, in the order of the variables."""
        for p in self.before.cpds:
            if p.variable.name not in self.after:
                continue
            q = self.after[p.variable.name]
            if p == q:
                continue
            found = self._change(p, q)
            same = set(found.parents_before) == set(found.parents_after)
            if not (same and found.divergence is not None and found.divergence <= _ROUNDING):
                yield found

    def _change(self, p: CPD, q: CPD) -> FamilyChange:
        names = tuple(v.name for v in p.parents), tuple(v.name for v in q.parents)
        child = p.variable.name
        try:
            found = self._divergence(p, q)
        except (BayesGraphError, NotImplementedError) as error:
            text = str(error).split(". ")[0]
            return FamilyChange(child, *names, None, where=text, member=self.member)
        cell = found.cell or {}
        # The codes of states in the other network as it is.
        other = {}
        for name, code in cell.items():
            if name in self.other and isinstance(own := self.other.variable(name), Discrete):
                shown = self.after.variable(name)
                assert isinstance(shown, Discrete)  # it differs in the order of states only
                other[name] = code if shown == own else own.index(shown.states[code])
        known = (
            rows_behind(self.source, p, cell),
            rows_behind(self.other_source, self.other[child], other),
        )
        size = max(0.0, found.divergence)
        return FamilyChange(
            child, *names, size, found.standard_error, found.text, *known, self.member
        )

    def _divergence(self, p: CPD, q: CPD) -> _Found:
        known = {v.name: v for v in p.scope}
        scope = [*p.parents, *(v for v in q.parents if v.name not in known)]
        for variable in [p.variable, *scope]:
            other = {v.name: v for v in q.scope}.get(variable.name, variable)
            own = self.before.variable(variable.name) if variable.name in self.before else None
            if other != variable or own != variable:
                raise UnsupportedModelError(f"{variable.name!r} is another variable")
        discrete = [v for v in scope if isinstance(v, Discrete)]
        cells = math.prod(v.cardinality for v in discrete)
        try:
            if isinstance(p.variable, Discrete) and len(discrete) == len(scope):
                if cells * p.variable.cardinality <= _MAX_STATES:
                    f, g = p.to_factor(), q.to_factor()
                    if f is not None and g is not None:
                        return self._of_tables(f, g, discrete, p.variable)
            elif isinstance(p, GaussianCPD) and isinstance(q, GaussianCPD) and cells <= _MAX_CELLS:
                return self._of_gaussians(p, q, discrete)
        except MemoryLimitError:
            pass  # the weights of the parents' states do not fit: rows are drawn
        return self._of_draws(p, q)

    def _weights(self, scope: Sequence[Discrete]) -> Floats:
        """Return the joint probability of discrete variables in the first network."""
        if not scope:
            return np.ones(())
        found: Floats = self.before.query([v.name for v in scope]).probabilities
        return found

    def _of_tables(
        self, p: Factor, q: Factor, scope: Sequence[Discrete], child: Discrete
    ) -> _Found:
        axes = [*scope, child]
        shape = tuple(v.cardinality for v in axes)
        logs, others = (np.broadcast_to(f.aligned(axes)[0], shape) for f in (p, q))
        shares = np.exp(logs)
        with np.errstate(invalid="ignore"):
            parts = np.where(shares > 0, shares * (logs - others), 0.0).sum(axis=-1)
        cell, total = _largest(self._weights(scope), parts)
        moved = np.abs(shares[cell] - np.exp(others[cell]))
        code = int(np.argmax(moved.round(12)))  # of two states the first one
        changed = f"{rounded(shares[cell][code])} → {rounded(np.exp(others[cell][code]))}"
        where = _text(scope, cell, f"{child.name}={child.states[code]}")
        return _Found(total, 0.0, _codes(scope, cell), f"P({where}): {changed}")

    def _of_gaussians(self, p: GaussianCPD, q: GaussianCPD, scope: Sequence[Discrete]) -> _Found:
        numbers = list(dict.fromkeys([*p.continuous_parents, *q.continuous_parents]))
        shape = tuple(v.cardinality for v in scope)
        own, other = (_spread(cpd, scope, shape, numbers) for cpd in (p, q))
        weights = self._weights(scope)
        moments = self._moments(scope, shape, numbers)
        slopes = own.slopes - other.slopes
        gap = own.mean - other.mean + np.einsum("...i,...i->...", slopes, moments.mean)
        square = gap**2 + np.einsum("...i,...ij,...j->...", slopes, moments.covariance, slopes)
        ratio = own.variance / other.variance
        parts = 0.5 * (ratio - 1.0 - np.log(ratio) + square / other.variance)
        cell, total = _largest(weights, parts)
        first, second = (
            f"mean {rounded(cpd.mean[cell] + cpd.slopes[cell] @ moments.mean[cell])}, "
            f"sd {rounded(math.sqrt(cpd.variance[cell]))}"
            for cpd in (own, other)
        )
        where = _text(scope, cell, str(p.variable.name))
        return _Found(total, 0.0, _codes(scope, cell), f"p({where}): {first} → {second}")

    def _moments(
        self, scope: Sequence[Discrete], shape: tuple[int, ...], numbers: Sequence[Continuous]
    ) -> _Moments:
        """Return mean and covariance of continuous variables given discrete ones."""
        n = len(numbers)
        mean, covariance = np.zeros((*shape, n)), np.zeros((*shape, n, n))
        if numbers:
            names = [v.name for v in scope] + [v.name for v in numbers]
            answer = self.before.query(names)
            if isinstance(answer, NumberMixture):
                mean[()], covariance[()] = answer.weights @ answer.means, answer.covariance
            else:
                for cell in np.argwhere(answer.discrete.probabilities > 0):
                    states = tuple(v.states[c] for v, c in zip(scope, cell, strict=True))
                    given = answer.given(states if len(states) > 1 else states[0])
                    mean[tuple(cell)] = given.weights @ given.means
                    covariance[tuple(cell)] = given.covariance
        return _Moments(mean, covariance)

    def _of_draws(self, p: CPD, q: CPD) -> _Found:
        rows = self._drawn
        if missing := [v.name for v in (*p.scope, *q.scope) if v not in rows.columns]:
            raise UnsupportedModelError(f"{missing[0]!r} cannot be drawn")
        gaps = _log_values(p, rows) - _log_values(q, rows)
        if np.isposinf(gaps).any():
            return _Found(math.inf, text="drawn rows are impossible in the second model")
        error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
        return _Found(float(gaps.mean()), error, text=f"estimated from {len(gaps):,} drawn rows")

    @cached_property
    def _drawn(self) -> Evidence:
        """Rows of the first network."""
        drawn = self.before.sample(_DRAWS, random_state=0, frame="dict")
        return table_for(self.before, drawn, None).evidence()


class _Moments(NamedTuple):
    """Mean (..., n) and covariance (..., n, n) of continuous variables in each configuration."""

    mean: Floats
    covariance: Floats


class _Spread(NamedTuple):
    """A linear Gaussian in each configuration of a larger set of parents."""

    mean: Floats
    variance: Floats
    slopes: Floats


def _spread(
    cpd: GaussianCPD,
    scope: Sequence[Discrete],
    shape: tuple[int, ...],
    numbers: Sequence[Continuous],
) -> _Spread:
    mean, variance, slopes = (
        align(values[None], cpd.discrete_parents, scope)[0]
        for values in (cpd.mean, cpd.variance, cpd.coefficients)
    )
    own = list(cpd.continuous_parents)
    whole = np.zeros((*shape, len(numbers)))
    for i, number in enumerate(numbers):
        if number in own:
            whole[..., i] = slopes[..., own.index(number)]
    return _Spread(np.broadcast_to(mean, shape), np.broadcast_to(variance, shape), whole)


def _largest(weights: Floats, parts: Floats) -> tuple[tuple[int, ...], float]:
    """Return the cell of the largest weighted part, and the sum of all."""
    with np.errstate(invalid="ignore"):
        shares = np.where(weights > 0, weights * parts, 0.0)
    cell = np.unravel_index(int(np.argmax(shares)), shares.shape)
    return tuple(int(i) for i in cell), float(shares.sum())


def _text(scope: Sequence[Discrete], cell: Sequence[int], child: str) -> str:
    given = ", ".join(f"{v.name}={v.states[c]}" for v, c in zip(scope, cell, strict=True))
    return f"{child} | {given}" if given else child


def _codes(scope: Sequence[Discrete], cell: Sequence[int]) -> dict[Name, int]:
    return {v.name: code for v, code in zip(scope, cell, strict=True)}


def _log_values(cpd: CPD, rows: Evidence) -> Floats:
    """Return the log probability (density) of the child in each row, shape (n_rows,)."""
    columns: dict[Variable, Any] = {v: rows.columns[v] for v in cpd.scope}
    potential = cpd.potential(Evidence(rows.n_rows, columns))
    assert isinstance(potential, Factor)  # everything is observed
    return np.broadcast_to(potential.log_values, (rows.n_rows,))


def rows_behind(source: Any, cpd: CPD, cell: dict[Name, int]) -> float | None:
    """Return the weight of the rows with some states of a family's parents.

    Parameters
    ----------
    source : model or fitted estimator
        An estimator with ``statistics_`` knows how many rows it has counted.
    cpd : CPD
    cell : dict from name to int
        Codes of discrete parents; others are ignored.

    Returns
    -------
    float or None
        None if the rows of this family were not counted.
    """
    statistics = getattr(source, "statistics_", None)
    if any(isinstance(v, CountVector) for v in cpd.scope) or not statistics:
        return None
    family = Family.of(*cpd.scope)
    if (held := statistics.family(family)) is None:
        return None
    index = [
        cell.get(v.name, slice(None)) if v in cpd.parents else slice(None) for v in family.discrete
    ]
    return float(np.sum(held.counts[tuple(index)]))


def families_table(changes: Sequence[FamilyChange], remarks: Sequence[str]) -> DisplayTable:
    """Return the families that changed most as a table."""
    shown = changes[:_MAXIMUM_LINES]
    finite = [c.size for c in shown if math.isfinite(c.size)]
    scale = max(finite, default=0.0) or 1.0
    several = any(change.member is not None for change in changes)
    rows = []
    for change in shown:
        label = f"{change.name} (network {change.member})" if several else str(change.name)
        rows.append((label, _amount(change), _behind(change), _parents(change), change.where))
    notes = [more(len(changes), len(shown), "families"), *remarks]
    return DisplayTable(
        f"Distributions that differ: {len(changes)}",
        rows,
        header=("child", "nats a row", "rows behind", "parents", "where most") if rows else (),
        bars=[min(1.0, max(0.0, c.size) / scale) for c in shown],
        note="\n".join(filter(None, notes)),
    )


def _amount(change: FamilyChange) -> str:
    if change.divergence is None:
        return "–"
    if math.isinf(change.divergence):
        return "∞"
    error = f" ± {rounded(change.standard_error, 2)}" if change.standard_error else ""
    return f"{rounded(change.divergence)}{error}"


def _behind(change: FamilyChange) -> str:
    rows = change.rows_before, change.rows_after
    if rows == (None, None):
        return "–"
    return " → ".join("?" if n is None else rounded(n, 6, grouped=True) for n in rows)


def _parents(change: FamilyChange) -> str:
    if set(change.parents_before) == set(change.parents_after):
        return "the same"
    gone = [p for p in change.parents_before if p not in change.parents_after]
    new = [p for p in change.parents_after if p not in change.parents_before]
    return " ".join([f"−{p}" for p in gone] + [f"+{p}" for p in new])
