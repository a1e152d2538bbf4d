"""Loopy belief propagation: approximate marginals if exact tables would not fit into memory.

On factor graphs without cycles the answers are exact. With cycles the answers are the Bethe
approximation (Yedidia, Freeman and Weiss 2005), which is often close to the exact answers, but not
always. The iteration may not converge; the report says how it ended.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import SUM, Floats
from bayesgraph.core.display import rounded
from bayesgraph.core.variables import Discrete
from bayesgraph.inference.factors import Factor, Potential, union_scope

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
            title = f"{self.method}: converged after {steps}"
            title += " (exact: the graph has no cycles)" if self.exact else ""
        else:
            title = f"{self.method}: NOT converged after {steps}; do not rely on the marginals"
        return "\n".join(
            [
                title,
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
        Tolerance of convergence: stop if no log message changes by more, relative beyond 1.
    damping : float in [0, 1), optional
        Weight of the old log message in the new one. The default starts at 0, which is the fastest
        if it converges and is exact on trees, and increases when messages oscillate or get stuck.

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
    try:
        is_valid = operator.index(max_iterations) >= 1 and tolerance > 0
        is_valid = is_valid and (damping is None or 0 <= damping < 1)
    except TypeError:
        is_valid = False
    if not is_valid:
        raise errors.EvidenceError(
            "Expected max_iterations of 1 or more, a positive tolerance and a damping in [0, 1) "
            f"or None; got {max_iterations!r}, {tolerance!r} and {damping!r}."
        )
    graph = _FactorGraph(factors, variables)
    dampings = (damping,) if damping is not None else _DAMPINGS
    # Without cycles the messages become final step by step: damping would only delay them.
    schedule = _Schedule(dampings[:1] if graph.acyclic else dampings)
    messages = np.zeros(len(graph.cell))  # logs, from factors to variables
    iterations, change = 0, math.inf
    while change > tolerance and iterations < max_iterations:
        iterations += 1
        before, messages = messages, graph.step(messages)
        moves = messages - before
        # The largest change of a log message, relative for log messages beyond 1.
        change = float(np.max(np.abs(moves) / np.maximum(1.0, np.abs(messages)), initial=0.0))
        schedule.report(change, moves)
        # The weighted mean of the new log messages and the old ones, which have the weight damping.
        messages -= schedule.damping * moves
    beliefs, _ = graph.beliefs(messages)
    earlier, _ = graph.beliefs(before)
    converged = change <= tolerance
    report = Convergence(
        method="loopy belief propagation",
        converged=converged,
        exact=converged and graph.acyclic,
        iterations=iterations,
        tolerance=tolerance,
        message_change=change,
        belief_change=float(np.max(np.abs(beliefs - earlier), initial=0.0)),
        damping=schedule.damping,
        log_partition=graph.log_partition(messages),
    )
    beliefs.flags.writeable = False
    parts = np.split(beliefs, graph.first[1:])  # the marginal of each variable
    # Without variables there is one part still, which is empty.
    return LoopyBeliefs(dict(zip(graph.variables, parts, strict=bool(graph.variables))), report)


class _Schedule:
    """The damping factor of message updates, increased if the largest change does not shrink.

    The factor moves to the next larger value of a fixed list. Slow progress is accepted as long as
    the messages keep changing in the same direction, because more damping would slow them down.
    Damping helps if they oscillate.
    """

    def __init__(self, dampings: Sequence[float]) -> None:
        self._dampings = tuple(dampings)
        self._level = 0  # index of the present factor in the list
        # The smallest change in the iterations before the last check, and in those since.
        self._before = self._smallest = math.inf
        # The number of iterations since the last check.
        self._waited = 0
        # The changes of all log messages in the last iteration; set before they are first read.
        self._moves: Floats = np.zeros(0)

    @property
    def damping(self) -> float:
        return self._dampings[self._level]

    def report(self, change: float, moves: Floats) -> None:
        """Record the changes of the messages in an iteration; increase the damping if needed.

        `moves` are the changes of all log messages without damping, `change` is the largest of
        them.
        """
        self._smallest = min(self._smallest, change)
        self._waited += 1
        if self._waited >= _PATIENCE * (1 + 2 * self._level):
            # The changes point against those of the iteration before: their scalar product.
            oscillating = moves @ self._moves < 0
            ratio = _SLOW if oscillating else _STUCK
            if self._smallest > ratio * self._before and self._level + 1 < len(self._dampings):
                self._level += 1
            self._before, self._smallest, self._waited = self._smallest, math.inf, 0
        self._moves = moves


class _Group(NamedTuple):
    """All factors of several variables that have tables of the same shape.

    Attributes
    ----------
    table : ndarray, shape (*shape, n_factors)
        Log values. The factors are the last axis, so that vector instructions process several.
    parts : list of slice
        For each axis of the shape, the log messages between the factors and the axis's variables:
        an array of shape (length of the axis, n_factors), in C order.
    """

    table: Floats
    parts: list[slice]

    def facing(self, values: NDArray[Any], axis: int) -> NDArray[Any]:
        """Return values at the messages of one axis, to be broadcast over the table.

        `values` has the shape (n_messages,), as all messages of the factor graph.
        """
        shape = [1] * (self.table.ndim - 1)
        shape[axis] = self.table.shape[axis]
        return values[self.parts[axis]].reshape(*shape, -1)

    def others(self, axis: int) -> tuple[int, ...]:
        """Return all axes of variables except `axis`."""
        return tuple(other for other in range(len(self.parts)) if other != axis)

    def product(self, cavities: Floats, *, without: int = -1) -> Floats:
        """Return the log of each factor times the cavity messages of its variables.

        The messages of axis `without` are left out.
        """
        # The table is added last: until then the sum has only the axes of the cavities.
        total: Floats = np.zeros([1] * self.table.ndim)
        for axis in self.others(without):
            total = total + self.facing(cavities, axis)
        return np.asarray(self.table + total)


class _FactorGraph:
    """A factor graph as arrays: factors grouped by shape, the states of all variables in a row.

    Attributes
    ----------
    variables : tuple of Discrete
    cards, first : ndarray of int, shape (n_variables,)
        Cardinalities, and the place of each variable's first state.
    field : ndarray, shape (n_states,)
        Log of the product of the single-variable factors; zero at excluded states.
    constant : float
        Log of the product of the factors' largest values, by which their tables are divided.
    domain : ndarray of bool, shape (n_states,)
        States that are not excluded.
    cell : ndarray of int, shape (n_messages,)
        Place of the state that each entry of a log message is about.
    groups : list of _Group
    degrees : ndarray of int, shape (n_variables,)
        Numbers of factors of several variables.
    """

    def __init__(self, factors: Sequence[Potential], variables: Sequence[Discrete]) -> None:
        self.variables = union_scope([variables, *(factor.scope for factor in factors)])
        self.cards = np.array([v.cardinality for v in self.variables], dtype=np.intp)
        self.first = np.cumsum(self.cards) - self.cards
        begin = dict(zip(self.variables, self.first.tolist(), strict=True))
        self.field = np.zeros(int(self.cards.sum()))
        self.constant = 0.0
        by_shape: dict[tuple[int, ...], list[tuple[Potential, Floats]]] = {}
        for factor in factors:
            peak, table = _scaled(factor)
            self.constant += peak
            if table.ndim == 1:
                at = begin[factor.scope[0]]
                self.field[at : at + len(table)] += table
            elif table.ndim:  # a factor without variables is a constant only
                by_shape.setdefault(table.shape, []).append((factor, table))
        # The messages of a group follow one another axis by axis; those of an axis are an array of
        # the shape (states, factors), in C order.
        self.groups: list[_Group] = []
        cells = [np.empty(0, dtype=np.intp)]
        size = 0
        for shape, alike in by_shape.items():
            parts = []
            for axis, k in enumerate(shape):
                begins = np.array([begin[factor.scope[axis]] for factor, _ in alike])
                cells.append((np.arange(k)[:, None] + begins).ravel())
                parts.append(slice(size, size + k * len(alike)))
                size += k * len(alike)
            self.groups.append(_Group(np.stack([table for _, table in alike], axis=-1), parts))
        self.cell = np.concatenate(cells)
        self.domain = ~np.isneginf(self.field)
        self._remove_excluded_states()
        # Each factor of several variables has one message entry about a variable's first state.
        self.degrees = np.bincount(self.cell, minlength=len(self.field))[self.first]
        self.acyclic = self._is_acyclic()

    def _remove_excluded_states(self) -> None:
        """Exclude states for which some factor is zero, until no more states are excluded.

        The sum of a factor over its other variables is then positive at every remaining state.
        """
        shrinking = any(np.isneginf(group.table).any() for group in self.groups)
        shrinking |= not self.domain.all()
        while shrinking:
            shrinking = False
            for group in self.groups:
                # By message: `cell` has the state that each is about. A part is the messages of one
                # axis, in the order of an array of shape (length of the axis, n_factors).
                allowed = self.domain[self.cell]
                for axis in range(len(group.parts)):
                    np.copyto(group.table, -np.inf, where=~group.facing(allowed, axis))
                for axis, part in enumerate(group.parts):
                    supported = group.table.max(axis=group.others(axis)) > -np.inf
                    excluded = self.cell[part][~supported.ravel()]
                    shrinking |= bool(self.domain[excluded].any())
                    self.domain[excluded] = False
        # Variables of which no state is left.
        empty = np.flatnonzero(~np.logical_or.reduceat(self.domain, self.first))
        if len(empty):
            raise errors.ImpossibleEvidenceError(
                f"The factors exclude every state of {self.variables[int(empty[0])].name!r} with "
                "this evidence: the model gives it probability zero."
            )
        # Finite, so that sums stay so: excluded states are told by `domain`.
        self.field[~self.domain] = 0.0

    def _is_acyclic(self) -> bool:
        """Return whether the factor graph is a forest: n_edges = n_nodes - n_components.

        Edges of variables with one remaining state are left out: their messages are constant.
        """
        is_open = np.add.reduceat(self.domain, self.first, dtype=np.intp) > 1
        variable_of = np.repeat(np.arange(len(self.variables)), self.cards)
        # Nodes are numbered: the variables, then the factors, group by group.
        n_nodes = len(self.variables)
        edges = [np.empty((2, 0), dtype=np.intp)]
        for group in self.groups:
            n = group.table.shape[-1]
            for part in group.parts:
                # The first n entries are those of state 0, one for each factor.
                variables = variable_of[self.cell[part][:n]]
                factors = n_nodes + np.arange(n)
                edges.append(np.stack([factors, variables])[:, is_open[variables]])
            n_nodes += n
        pairs = np.concatenate(edges, axis=1)
        graph = scipy.sparse.coo_array((np.ones(pairs.shape[1]), pairs), shape=(n_nodes, n_nodes))
        n_trees, _ = scipy.sparse.csgraph.connected_components(graph, directed=False)
        return bool(pairs.shape[1] == n_nodes - n_trees)

    def _gathered(self, messages: Floats) -> Floats:
        """Return the sum of the log messages about each state."""
        sums = np.bincount(self.cell, weights=messages, minlength=len(self.field))
        return np.asarray(sums, dtype=np.float64)

    def _cavities(self, messages: Floats) -> Floats:
        """Return the cavity log messages, from each variable to each factor.

        The cavity of an edge is the variable's log belief without the message along that edge.
        """
        # The field is added last, so that a large field does not cost digits of the difference.
        others = self._gathered(messages)[self.cell] - messages
        return np.asarray(others + self.field[self.cell])

    def step(self, messages: Floats) -> Floats:
        """Return the messages of the next iteration without damping."""
        cavities = self._cavities(messages)
        renewed = np.empty_like(messages)
        for group in self.groups:
            for axis, part in enumerate(group.parts):
                new = SUM.reduce(group.product(cavities, without=axis), group.others(axis))
                # Shape (states, factors): each message is scaled to a maximum of one.
                renewed[part] = np.maximum(new - new.max(axis=0), _FLOOR).ravel()
        # Messages about excluded states count nowhere; zeros keep them finite.
        renewed[~self.domain[self.cell]] = 0.0
        return renewed

    def beliefs(self, messages: Floats) -> tuple[Floats, Floats]:
        """Return the normalised beliefs (approximate marginals), and each variable's log sum.

        The beliefs have the shape (n_states,), the log sums (n_variables,).
        """
        logs = np.where(self.domain, self.field + self._gathered(messages), -np.inf)
        # Maxima and sums over each variable's states, which follow one another.
        peak = np.maximum.reduceat(logs, self.first)
        values = np.exp(logs - np.repeat(peak, self.cards))
        total = np.add.reduceat(values, self.first)
        return values / np.repeat(total, self.cards), np.log(total) + peak

    def log_partition(self, messages: Floats) -> float:
        """Return the Bethe estimate of the log partition function.

        It is computed from messages (Mezard and Montanari 2009, eq. 14.28): the sum of log Z_a over
        factors a and of log Z_i over variables i, minus the sum of log Z_ia over edges. Each Z is
        the sum over states of the product of all messages to the factor (times its table), to the
        variable, or along the edge. Cavities are not normalised here, so that Z_ia = Z_i. At a
        fixed point the estimate is stationary in the messages: their errors enter it squared.
        """
        _, log_z = self.beliefs(messages)
        total = self.constant + float(np.sum((1 - self.degrees) * log_z))
        cavities = self._cavities(messages)
        for group in self.groups:
            axes = tuple(range(len(group.parts)))
            total += float(np.sum(SUM.reduce(group.product(cavities), axes)))
        return total


def _scaled(factor: Potential) -> tuple[float, Floats]:
    """Return the log of the largest value of a table, and the log table minus this log."""
    if not isinstance(factor, Factor):
        raise errors.UnsupportedModelError(
            "Belief propagation takes tables; the continuous variables "
            f"{errors.quoted(v.name for v in factor.variables)} are left in the model. Observe "
            "them or use method='likelihood-weighting'."
        )
    if factor.n_rows != 1:
        raise errors.ModelError(
            f"Belief propagation takes one row of evidence at a time; {factor!r} has "
            f"{factor.n_rows}."
        )
    peak = float(np.max(factor.log_values))
    if peak == -math.inf:
        raise errors.ImpossibleEvidenceError(
            f"{factor!r} is zero everywhere with this evidence: the model gives it probability "
            "zero."
        )
    return peak, factor.log_values[0] - peak
