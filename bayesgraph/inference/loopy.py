"""Loopy belief propagation: approximate marginals if exact tables would not fit into memory.

On factor graphs without cycles the answers are exact. With cycles the answers are the Bethe
approximation (Yedidia, Freeman and Weiss 2005), which is often close to the exact answers, but not
always. The iteration may not converge; the report says how it ended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import SUM, Floats
from bayesgraph.core.display import rounded
from bayesgraph.core.variables import Discrete
from bayesgraph.inference.factors import Factor, Potential

# Minimum of a log message. A cavity is the difference of a log belief and a log message, whose
# error is the rounding error of the larger of them, here 1e-10.
_FLOOR = -1e6
# Damping factors, used one after the other while the largest change does not shrink. On spin
# glasses of 20 x 20 as many runs converge as with a fixed damping of 0.5 to 0.75, and easy problems
# converge in half the iterations.
_DAMPINGS = (0.0, 0.5, 0.75, 0.9)
# Number of iterations between two checks of the largest change without damping; damped steps are
# shorter, so they are checked less often.
_PATIENCE = 20
# Maximum ratio of the largest change to that of the last check, above which damping increases: for
# messages that oscillate, and for messages that do not.
_SLOW, _STUCK = 0.5, 0.99


@dataclass(frozen=True)
class Convergence:
    """The outcome of an iterative approximation.

    Attributes
    ----------
    method : str
    converged : bool
        Whether no message changed by more than the tolerance in the last iteration. This does not
        tell how close the marginals are to the exact ones.
    exact : bool
        Whether the iteration converged on a graph without cycles, where the marginals are exact.
    iterations : int
    tolerance : float
    message_change : float
        Largest change of a log message in the last iteration, before damping; relative for log
        messages beyond 1.
    belief_change : float
        Largest change of a marginal probability in the last iteration.
    damping : float
        Weight of the old log messages in the last iteration.
    log_partition : float
        Bethe estimate of the log partition function: the natural log of the sum of the
        product of all factors. If the factors are those of a Bayesian network,
        it estimates the log probability of the evidence. Exact on trees; otherwise neither an upper
        nor a lower bound.
    """

    method: str
    converged: bool
    exact: bool
    iterations: int
    tolerance: float
    message_change: float
    belief_change: float
    damping: float
    log_partition: float

    def __str__(self) -> str:
        steps = f"{self.iterations} iteration{'' if self.iterations == 1 else 's'}"
        if self.converged:
            first = f"{self.method}: converged after {steps}"
            first += " (exact: the graph has no cycles)" if self.exact else ""
        else:
            first = f"{self.method}: NOT converged after {steps}; do not rely on the marginals"
        return "\n".join(
            [
                first,
                f"  largest change   {rounded(self.message_change, 2)} of a log message (tolerance "
                f"{rounded(self.tolerance, 2)}), {rounded(self.belief_change, 2)} of a probability",
                f"  damping          {self.damping:g}",
                f"  log partition    {rounded(self.log_partition, 10)}"
                + ("" if self.exact else " (Bethe estimate)"),
            ]
        )


@dataclass(frozen=True, eq=False)
class LoopyBeliefs:
    """Approximate marginals with a report of convergence.

    Attributes
    ----------
    marginals : mapping from Discrete to ndarray, shape (cardinality,)
        Normalised marginals.
    report : Convergence
    """

    marginals: Mapping[Discrete, Floats]
    report: Convergence


def loopy_belief_propagation(
    factors: Sequence[Potential],
    variables: Sequence[Discrete] = (),
    *,
    max_iterations: int = 1000,
    tolerance: float = 1e-9,
    damping: float | None = None,
) -> LoopyBeliefs:
    """Pass messages between factors and variables until they converge.

    Sum-product (Pearl 1988; Kschischang, Frey and Loeliger 2001) in log space; each iteration
    updates all messages at once.

    Zeros are treated first: a state is removed from its variable if a factor is zero at that state
    for all remaining states of its other variables, until nothing changes (generalised arc
    consistency, Mackworth 1977). All log messages are then finite. On a graph without cycles this
    detects all impossible evidence; with cycles, impossible evidence may go undetected.

    Parameters
    ----------
    factors : sequence of Factor
        Factors reduced by the evidence, with a single row; zeros are allowed.
    variables : sequence of Discrete
        Variables in the order of the result; other variables of the factors follow. The marginal of
        a variable without factors is uniform.
    max_iterations : int
        Maximum number of iterations; a chain needs as many as its length.
    tolerance : float
        Tolerance of convergence: stop if no log message changes by more.
    damping : float in [0, 1), optional
        Weight of the old log message in the new one. The default starts at 0, which is the fastest
        if it converges and is exact on trees, and increases whenever messages oscillate.

    Returns
    -------
    LoopyBeliefs

    Raises
    ------
    ImpossibleEvidenceError
        If all states of a variable are removed: the product is zero everywhere.
    UnsupportedModelError
        If a factor has continuous variables.
    ModelError
        If a factor has several rows.
    EvidenceError
        If an option is out of range.

    Examples
    --------
    >>> a, b, c = (Discrete(name, [0, 1]) for name in "abc")
    >>> pairs = [Factor(pair, [[2, 1], [1, 2]]) for pair in ((a, b), (b, c), (c, a))]
    >>> result = loopy_belief_propagation([*pairs, Factor([a], [3, 1])])
    >>> result.marginals[b].round(4)
    array([0.6131, 0.3869])
    >>> result.report.converged, result.report.exact  # the exact P(b = 0) is 0.6071
    (True, False)
    """
    if max_iterations < 1 or not tolerance > 0 or not (damping is None or 0 <= damping < 1):
        raise errors.EvidenceError(
            "Expected max_iterations of 1 or more, a positive tolerance and a damping in [0, 1) "
            f"or None; got {max_iterations!r}, {tolerance!r} and {damping!r}."
        )
    graph = _FactorGraph(_checked(factors), variables)
    dampings = (damping,) if damping is not None else _DAMPINGS
    schedule = _Schedule(dampings[:1] if graph.acyclic else dampings)
    messages = [np.zeros((len(kind.field), len(kind.owner))) for kind in graph.kinds]
    iterations, change = 0, math.inf
    while change > tolerance and iterations < max_iterations:
        iterations += 1
        before, (messages, moves) = messages, graph.step(messages)
        # The largest change of a log message, relative for log messages beyond 1. `moves` holds the
        # changes, `messages` the log messages.
        shares = (
            np.abs(move) / np.maximum(1.0, np.abs(message))
            for move, message in zip(moves, messages, strict=True)
            if move.size
        )
        change = max((float(share.max()) for share in shares), default=0.0)
        schedule.report(change, moves)
        for message, move in zip(messages, moves, strict=True):
            message -= schedule.damping * move
    beliefs, earlier = graph.beliefs(messages), graph.beliefs(before)
    converged = change <= tolerance
    report = Convergence(
        method="loopy belief propagation",
        converged=converged,
        exact=converged and graph.acyclic,
        iterations=iterations,
        tolerance=tolerance,
        message_change=change,
        belief_change=max(
            (float(np.max(np.abs(beliefs[v] - earlier[v]))) for v in beliefs), default=0.0
        ),
        damping=schedule.damping,
        log_partition=graph.log_partition(messages),
    )
    return LoopyBeliefs(beliefs, report)


class _Schedule:
    """The damping factor of message updates, increased if the largest change does not shrink.

    The factor moves to the next larger value of a fixed list. Slow progress is accepted as long as
    the messages keep changing in the same direction, because more damping would slow them down.
    Damping helps if they oscillate.
    """

    def __init__(self, dampings: Sequence[float]) -> None:
        self._dampings = tuple(dampings)
        self._level = 0
        self._before = self._smallest = math.inf
        self._waited = 0
        self._moves: list[Floats] = []

    @property
    def damping(self) -> float:
        return self._dampings[self._level]

    def report(self, change: float, moves: list[Floats]) -> None:
        """Record the changes of the messages in an iteration; increase the damping if needed.

        `moves` are the changes of all log messages without damping, `change` is the largest of
        them.
        """
        self._smallest = min(self._smallest, change)
        self._waited += 1
        if self._waited >= _PATIENCE * (1 + 2 * self._level):
            turning = sum(np.vdot(a, b) for a, b in zip(moves, self._moves, strict=True)) < 0
            enough = _SLOW if turning else _STUCK
            if self._smallest > enough * self._before and self._level + 1 < len(self._dampings):
                self._level += 1
            self._before, self._smallest, self._waited = self._smallest, math.inf, 0
        self._moves = moves


@dataclass(frozen=True, eq=False)
class _Kind:
    """All variables of one cardinality k, and their edges to factors of several variables.

    Attributes
    ----------
    variables : list of Discrete
    field : ndarray, shape (k, n_variables)
        Log of the product of the single-variable factors; zero at excluded states.
    domain : ndarray of bool, shape (k, n_variables)
        States that are not excluded.
    owner : ndarray of int, shape (n_edges,)
        Index of the variable of each edge.
    cells : ndarray of int, shape (k * n_edges,)
        Index of each message entry in the flattened `field`, for sums over a variable's edges.
    """

    variables: list[Discrete]
    field: Floats
    domain: NDArray[np.bool_]
    owner: NDArray[np.intp]
    cells: NDArray[np.intp]

    def gathered(self, messages: Floats) -> Floats:
        """Return for each variable the sum of the log messages to it, shape (k, n_variables)."""
        sums = np.bincount(self.cells, weights=messages.ravel(), minlength=self.field.size)
        return np.asarray(sums.reshape(self.field.shape))

    def keep(self, supported: NDArray[np.bool_], edges: slice) -> bool:
        """Exclude the states that are not `supported`; return whether any is newly excluded.

        `supported`, shape (k, number of `edges`), tells for each state of each edge's variable
        whether the edge's factor is positive for some states of its other variables.
        """
        state, edge = np.nonzero(~supported)
        at = state, self.owner[edges][edge]
        removed = bool(self.domain[at].any())
        self.domain[at] = False
        return removed

    def log_beliefs(self, messages: Floats) -> Floats:
        """Return the log beliefs (unnormalised log marginals), shape (k, n_variables)."""
        return np.where(self.domain, self.field + self.gathered(messages), -np.inf)

    def cavities(self, messages: Floats) -> Floats:
        """Return the cavity log messages, from each variable to each factor, shape (k, n_edges).

        The cavity of an edge is the variable's log belief without the message along that edge.
        """
        # The field is added last, so that a large field does not cost digits of the difference.
        others = self.gathered(messages)[:, self.owner] - messages
        return np.asarray(others + self.field[:, self.owner])


@dataclass(frozen=True, eq=False)
class _Group:
    """All factors of several variables that have tables of the same shape.

    Attributes
    ----------
    table : ndarray, shape (*shape, n_factors)
        Log values. The factors are the last axis, so that vector instructions process several.
    ends : list of (int, slice)
        For each axis of the shape, the index of the `_Kind` of its variables, and the slice of this
        kind's edges that connect the factors with these variables.
    """

    table: Floats
    ends: list[tuple[int, slice]]

    def facing(self, values: NDArray[Any], axis: int) -> NDArray[Any]:
        """Return values over one axis, reshaped to broadcast over the group's table.

        `values` has shape (k, n_factors), where k is the length of `axis`.
        """
        shape = [1] * (self.table.ndim - 1)
        shape[axis] = len(values)
        return values.reshape(*shape, -1)

    def others(self, axis: int) -> tuple[int, ...]:
        """Return all axes of variables except `axis`."""
        return tuple(other for other in range(len(self.ends)) if other != axis)

    def product(self, cavities: Sequence[Floats], *, without: int = -1) -> Floats:
        """Return the log of each factor times the cavity messages of its variables.

        `cavities` has one array for each `_Kind`. The message of axis `without` is left out.
        """
        total: Floats = np.zeros([1] * self.table.ndim)
        # The table is added last: until then the sum has only the axes of the cavities.
        for axis, (i, edges) in enumerate(self.ends):
            if axis != without:
                total = total + self.facing(cavities[i][:, edges], axis)
        return np.asarray(self.table + total)


class _FactorGraph:
    """A factor graph as arrays: factors grouped by shape, variables grouped by cardinality."""

    def __init__(self, factors: Sequence[Factor], variables: Sequence[Discrete]) -> None:
        in_factors = (v for factor in factors for v in factor.scope)
        self.variables = tuple(dict.fromkeys((*variables, *in_factors)))
        cards = list(dict.fromkeys(v.cardinality for v in self.variables))
        members = [[v for v in self.variables if v.cardinality == k] for k in cards]
        kind_of = {k: i for i, k in enumerate(cards)}
        place = {v: i for listed in members for i, v in enumerate(listed)}
        fields = [np.zeros((k, len(m))) for k, m in zip(cards, members, strict=True)]
        owners: list[list[int]] = [[] for _ in cards]
        self.constant = 0.0
        by_shape: dict[tuple[int, ...], list[tuple[Factor, Floats]]] = {}
        for factor in factors:
            peak, table = _scaled(factor)
            self.constant += peak
            if table.ndim == 1:
                fields[kind_of[len(table)]][:, place[factor.scope[0]]] += table
            elif table.ndim:
                by_shape.setdefault(table.shape, []).append((factor, table))
        self.groups: list[_Group] = []
        for shape, alike in by_shape.items():
            ends = []
            for axis, k in enumerate(shape):
                owner = owners[kind_of[k]]
                ends.append((kind_of[k], slice(len(owner), len(owner) + len(alike))))
                owner += [place[factor.scope[axis]] for factor, _ in alike]
            self.groups.append(_Group(np.stack([table for _, table in alike], axis=-1), ends))
        self.kinds = [_kind(*parts) for parts in zip(members, fields, owners, strict=True)]
        self._remove_excluded_states()
        self.acyclic = self._is_acyclic()

    def _remove_excluded_states(self) -> None:
        """Exclude states for which some factor is zero, until no more states are excluded.

        The sum of a factor over its other variables is then positive at every remaining state.
        """
        shrinking = any(np.isneginf(group.table).any() for group in self.groups)
        shrinking |= any(not kind.domain.all() for kind in self.kinds)
        while shrinking:
            shrinking = False
            for group in self.groups:
                self._restrict(group)
                for axis, (i, edges) in enumerate(group.ends):
                    supported = group.table.max(axis=group.others(axis)) > -np.inf
                    shrinking |= self.kinds[i].keep(supported, edges)
        for kind in self.kinds:
            if len(empty := np.flatnonzero(~kind.domain.any(axis=0))):
                raise errors.ImpossibleEvidenceError(
                    "The factors exclude every state of "
                    f"{kind.variables[int(empty[0])].name!r} with this evidence: the model gives "
                    "it probability zero."
                )
            kind.field[~kind.domain] = 0.0

    def _restrict(self, group: _Group) -> None:
        """Set the log tables of a group to -inf at the excluded states of their variables."""
        for axis, (i, edges) in enumerate(group.ends):
            kind = self.kinds[i]
            allowed = group.facing(kind.domain[:, kind.owner[edges]], axis)
            np.copyto(group.table, -np.inf, where=~allowed)

    def _is_acyclic(self) -> bool:
        """Return whether the factor graph is a forest: n_edges = n_nodes - n_components.

        Edges of variables with one remaining state are left out: their messages are constant.
        """
        offset = np.cumsum([0, *(len(kind.variables) for kind in self.kinds)])
        n_nodes = int(offset[-1])
        sources, targets = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for group in self.groups:
            numbers = n_nodes + np.arange(group.table.shape[-1])
            n_nodes += len(numbers)
            for i, edges in group.ends:
                owner = self.kinds[i].owner[edges]
                open_ended = self.kinds[i].domain.sum(axis=0)[owner] > 1
                sources.append(numbers[open_ended])
                targets.append(offset[i] + owner[open_ended])
        ends = np.concatenate(sources), np.concatenate(targets)
        n_edges = len(ends[0])
        graph = scipy.sparse.coo_array((np.ones(n_edges), ends), shape=(n_nodes, n_nodes))
        n_trees, _ = scipy.sparse.csgraph.connected_components(graph, directed=False)
        return bool(n_edges == n_nodes - n_trees)

    def step(self, messages: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        """Return the messages of the next iteration without damping, and their changes."""
        cavities = [kind.cavities(m) for kind, m in zip(self.kinds, messages, strict=True)]
        renewed = [np.empty_like(m) for m in messages]
        for group in self.groups:
            for axis, (i, edges) in enumerate(group.ends):
                product = group.product(cavities, without=axis)
                renewed[i][:, edges] = SUM.reduce(product, group.others(axis))
        for kind, new in zip(self.kinds, renewed, strict=True):
            if new.size:
                new -= new.max(axis=0)
                np.maximum(new, _FLOOR, out=new)
                if not kind.domain.all():
                    new[~kind.domain[:, kind.owner]] = 0.0
        return renewed, [new - old for new, old in zip(renewed, messages, strict=True)]

    def beliefs(self, messages: Sequence[Floats]) -> dict[Discrete, Floats]:
        """Return the normalised beliefs (approximate marginals) of all variables."""
        found: dict[Discrete, Floats] = {}
        for kind, m in zip(self.kinds, messages, strict=True):
            log_beliefs = kind.log_beliefs(m)
            values = np.exp(log_beliefs - log_beliefs.max(axis=0))
            values /= values.sum(axis=0)
            values = np.ascontiguousarray(values.T)
            values.flags.writeable = False
            found.update(zip(kind.variables, values, strict=True))
        return {variable: found[variable] for variable in self.variables}

    def log_partition(self, messages: Sequence[Floats]) -> float:
        """Return the Bethe estimate of the log partition function.

        It is computed from messages (Mezard and Montanari 2009, eq. 14.28): the sum of log Z_a over
        factors a and of log Z_i over variables i, minus the sum of log Z_ia over edges. Each Z is
        the sum over states of the product of all messages to the factor (times its table), to the
        variable, or along the edge. Cavities are not normalised here, so that Z_ia = Z_i. At a
        fixed point the estimate is stationary in the messages: their errors enter it squared.
        """
        total = self.constant
        for kind, m in zip(self.kinds, messages, strict=True):
            degrees = np.bincount(kind.owner, minlength=len(kind.variables))
            log_z = SUM.reduce(kind.log_beliefs(m), 0)
            total += float(np.sum((1 - degrees) * log_z))
        cavities = [kind.cavities(m) for kind, m in zip(self.kinds, messages, strict=True)]
        for group in self.groups:
            axes = tuple(range(len(group.ends)))
            total += float(np.sum(SUM.reduce(group.product(cavities), axes)))
        return total


def _scaled(factor: Factor) -> tuple[float, Floats]:
    """Return the log of the largest value of a factor, and its log table minus this log."""
    log_values = np.asarray(factor.log_values[0], dtype=np.float64)
    peak = float(np.max(log_values))
    if peak == -math.inf:
        raise errors.ImpossibleEvidenceError(
            f"{factor!r} is zero everywhere with this evidence: the model gives it probability "
            "zero."
        )
    return peak, log_values - peak


def _kind(variables: list[Discrete], field: Floats, owner: list[int]) -> _Kind:
    at = np.array(owner, dtype=np.intp)
    cells = (np.arange(len(field))[:, None] * len(variables) + at).ravel()
    return _Kind(variables, field, ~np.isneginf(field), at, cells)


def _checked(factors: Sequence[Potential]) -> list[Factor]:
    """Return the factors, or raise an error if a factor is not a table with a single row."""
    tables = []
    for factor in factors:
        if not isinstance(factor, Factor):
            raise errors.UnsupportedModelError(
                "Belief propagation takes tables; the continuous variables "
                f"{errors.quoted(v.name for v in factor.variables)} are not observed. Observe them "
                "or ask for exact inference or sampling."
            )
        if factor.n_rows != 1:
            raise errors.ModelError(
                f"Belief propagation takes one row of evidence at a time; {factor!r} has "
                f"{factor.n_rows}."
            )
        tables.append(factor)
    return tables
