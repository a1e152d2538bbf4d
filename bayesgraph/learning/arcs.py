"""Required and forbidden arcs of a structure learner, and the scores of all possible arcs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, GraphError, unknown_variable
from bayesgraph.core.variables import Arc, Continuous, Count, Discrete, Variable
from bayesgraph.graphs import check_acyclic
from bayesgraph.learning import information
from bayesgraph.learning.parameters import ROUNDING
from bayesgraph.statistics import (
    CountSource,
    PairsSummary,
    SinglesSummary,
    Smoothing,
    is_sparse,
    safe_divide,
)

# Number of decimals to which scores are rounded before a comparison: rounding errors must not
# decide on a structure.
TIE_DECIMALS = 12


@dataclass(frozen=True)
class ArcRules:
    """Arcs that a learned structure must contain, and arcs that it must not contain.

    Attributes
    ----------
    required, forbidden : tuple of (parent name, child name)
    """

    required: tuple[Arc, ...] = ()
    forbidden: tuple[Arc, ...] = ()

    @classmethod
    def of(
        cls,
        required: Iterable[Any] | None,
        forbidden: Iterable[Any] | None,
        names: Sequence[Any],
        tiers: Iterable[Any] | None = None,
    ) -> ArcRules:
        """Return rules from user-given arcs, after checking them.

        Parameters
        ----------
        required, forbidden : iterable of (parent name, child name), or None
        names : sequence
            Names that arcs may contain.
        tiers : iterable of tiers, optional
            Each is a name or an iterable of names; no arc leads from a tier to an earlier one.

        Raises
        ------
        GraphError
            If an entry is not a pair of two different names, an arc is both required and forbidden,
            a name is in two tiers, or the required arcs form a cycle.
        UnknownVariableError
            If an arc names a variable that is not in `names`. (Learners that augment naive Bayes
            leave the class out of `names`, as it is a parent of every feature already.)
        """
        # The arcs that lead from a tier to an earlier one.
        if isinstance(tiers, str) or not isinstance(tiers, Iterable | None):
            raise GraphError(f"tiers= takes a list of tiers, each a list of names; got {tiers!r}.")
        allowed, earlier = set(names), list[Any]()
        against: set[Arc] = set()
        for tier in () if tiers is None else tiers:
            is_name = isinstance(tier, str) or (isinstance(tier, Hashable) and tier in allowed)
            members = [tier] if is_name else list(tier)
            for name in members:
                if name not in allowed:
                    raise unknown_variable(name, names, where="tiers=: the learner")
                if name in earlier or members.count(name) > 1:
                    raise GraphError(f"tiers= names {name!r} more than once.")
            against.update((late, early) for late in members for early in earlier)
            earlier += members
        kept_out = dict.fromkeys((*_arcs(forbidden, "forbidden", names), *against))
        rules = cls(_arcs(required, "required", names), tuple(kept_out))
        both = set(rules.required) & set(rules.forbidden)
        if both:
            parent, child = next(arc for arc in rules.required if arc in both)
            why = "against the tiers" if (parent, child) in against else "forbidden"
            raise GraphError(f"Arc {parent!r} -> {child!r} is both required and {why}; choose one.")
        if rules.required:
            check_acyclic(nx.DiGraph(list(rules.required)))
        return rules

    def admissible(self, columns: Sequence[Variable]) -> NDArray[np.bool_]:
        """Return a mask of the arcs that may occur, shape (d, d), parents along the first axis.

        Excluded are forbidden arcs, arcs from continuous to discrete columns, and all arcs of
        columns that are neither discrete nor continuous (counts, for example).

        Raises
        ------
        GraphError
            If a required arc is excluded.
        """
        kinds = np.array([_kind(v) for v in columns], dtype=np.int64)
        allowed = (kinds[:, None] >= 0) & (kinds[:, None] <= kinds)
        np.fill_diagonal(allowed, False)
        place = {v.name: i for i, v in enumerate(columns)}
        for parent, child in self.forbidden:
            allowed[place[parent], place[child]] = False
        for parent, child in self.required:
            if not allowed[place[parent], place[child]]:
                raise GraphError(
                    f"The required arc {parent!r} -> {child!r} cannot be: a discrete variable has "
                    "no continuous parent, and counts of many items have no parents but the class."
                )
        return allowed

    def forced(self, columns: Sequence[Variable]) -> NDArray[np.bool_]:
        """Return a mask of the required arcs, shape (d, d), parents along the first axis."""
        place = {v.name: i for i, v in enumerate(columns)}
        mask = np.zeros((len(columns), len(columns)), dtype=np.bool_)
        for parent, child in self.required:
            mask[place[parent], place[child]] = True
        return mask


def _kind(variable: Variable) -> int:
    """Return 0 for discrete variables, 1 for continuous ones, -1 for others, which take no arcs."""
    if isinstance(variable, Discrete):
        return 0
    return 1 if isinstance(variable, Continuous) and not isinstance(variable, Count) else -1


def _arcs(listed: Iterable[Any] | None, parameter: str, names: Sequence[Any]) -> tuple[Arc, ...]:
    arcs: dict[Arc, None] = {}
    allowed = set(names)
    if listed is not None and not isinstance(listed, Iterable):
        raise GraphError(f"{parameter}= takes (parent, child) pairs of names; got {listed!r}.")
    for arc in () if listed is None else listed:
        try:
            if isinstance(arc, str):
                raise TypeError("a string is not a pair")
            parent, child = arc
        except (TypeError, ValueError) as error:
            raise GraphError(
                f"{parameter}= takes (parent, child) pairs of names; got {arc!r}."
            ) from error
        for end in (parent, child):
            if end not in allowed:
                raise unknown_variable(end, names, where=f"{parameter}=: the learner")
        if parent == child:
            raise GraphError(f"{parameter}= has an arc from {parent!r} to itself.")
        arcs[parent, child] = None
    return tuple(arcs)


def n_moments(family: Sequence[Variable]) -> float:
    """Return an upper bound on the number of values in the sufficient statistics of a family.

    Parameters
    ----------
    family : sequence of Variable
        A child and its parents, in any order.
    """
    cards = [v.cardinality for v in family if isinstance(v, Discrete)]
    return float(np.prod(cards, dtype=np.float64)) * (1 + len(family) - len(cards)) ** 2


def at_least(name: str, value: Any, minimum: int) -> int:
    """Return `value` as an int; raise a DataError unless it is an integer, `minimum` or more."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < minimum:
        raise DataError(f"{name}= takes a whole number of at least {minimum}; got {value!r}.")
    return int(value)


@dataclass(frozen=True, eq=False)
class ArcScores:
    """Gain in log likelihood by each possible arc, given the class variable if there is one.

    Attributes
    ----------
    gains : ndarray, shape (d, d)
        Gain of an arc between two columns over no arc, in nats per row, parents along the first
        axis; 0 where no arc is possible. It is that of the rows which observe both columns, times
        their share of all rows: the others gain nothing.
    rows : ndarray, shape (d, d)
        Total weight of the rows that observe both columns.
    parameters : ndarray, shape (d, d)
        Number of free parameters that the arc adds.
    total : ndarray, shape (d, d)
        Total weight of all rows, equal to `rows` where no row lacks a column.
    learnable : ndarray of bool, shape (d, d)
        Whether both columns vary, and rows enough observe both: as many for each parameter as there
        are others for each of them, so that the distribution with the arc is rather that of the
        rows than that without it (see `estimate_network`).
    """

    gains: Floats
    rows: Floats
    parameters: Floats
    total: Floats
    learnable: NDArray[np.bool_]

    @classmethod
    def of(
        cls, gains: Floats, rows: Floats, parameters: Floats, total: float, varies: Any
    ) -> ArcScores:
        """Return the scores from gains per row that observes both columns.

        `total` is the weight of all rows, `varies` a mask of arcs whose columns both vary.
        """
        share = safe_divide(rows, np.full(np.shape(rows), total))
        whole = share > 1.0 - ROUNDING
        learnable = varies & (whole | (rows > parameters * safe_divide(total - rows, rows)))
        gains = gains * np.where(whole, 1.0, share)
        return cls(gains, rows, parameters, np.where(whole, rows, total), learnable)

    def net(self, penalty: str) -> Floats:
        """Return the penalised gain in log likelihood of each arc, shape (d, d).

        The gain is that of all rows together, in nats: ``total * gains - rate * parameters``. The
        rate is `penalty_rate` for "bic" and "aic", and 0 for any other `penalty`.
        """
        return self.total * self.gains - penalty_rate(penalty, self.rows) * self.parameters


def penalty_rate(penalty: str, rows: Floats) -> Floats:
    """Return the penalty per parameter: log(rows) / 2 for "bic" (Schwarz 1978), 1 for "aic"."""
    if penalty == "bic":
        return np.asarray(0.5 * np.log(np.maximum(rows, 1.0)))
    return np.full(np.shape(rows), 1.0 if penalty == "aic" else 0.0)


def arc_scores(source: CountSource, summary: PairsSummary, smoothing: Smoothing) -> ArcScores:
    """Return the scores of all arcs between the columns of a pairwise summary, in their order.

    The gain is the conditional mutual information of two discrete columns, the mutual information
    of a bivariate Gaussian for two continuous columns, and for an arc from a discrete to a
    continuous column the gain in Gaussian log likelihood (see `mixed_scores`).

    Parameters
    ----------
    source : CountSource
        Source of the total variances of continuous columns.
    summary : PairsSummary
        Statistics of all pairs of columns, given the class if there is one.
    smoothing : Smoothing
        Regularisation of the variances of continuous columns.
    """
    at, columns = summary.at, summary.request.columns
    k, d = len(summary.singles.totals), len(columns)
    changing = varying(summary.singles)
    varies = np.array([v in changing for v in columns], dtype=np.bool_)
    rest = float(summary.singles.totals.sum()), varies[:, None] & varies
    free = at.cards - 1.0
    if len(at.discrete) == d:
        scores = information.discrete_scores(summary)
        return ArcScores.of(*scores, _parameters(summary), *rest)
    gains, rows, parameters = (np.zeros((d, d)) for _ in range(3))
    place = {v: i for i, v in enumerate(columns)}
    discrete = [place[v] for v in at.discrete]
    continuous = [place[v] for v in at.continuous]

    def put(parents: list[int], children: list[int], *tables: Any) -> None:
        for whole, part in zip((gains, rows, parameters), tables, strict=True):
            whole[np.ix_(parents, children)] = part

    if discrete:
        put(discrete, discrete, *information.discrete_scores(summary), _parameters(summary))
    if continuous:
        ridge = smoothing.ridge(source.variances(at.continuous))
        put(continuous, continuous, *information.gaussian_scores(summary, smoothing, ridge), k)
        if discrete:
            mixed = information.mixed_scores(summary, smoothing, ridge, source.target)
            put(discrete, continuous, *mixed, 2.0 * k * free[:, None])
    return ArcScores.of(gains, rows, parameters, *rest)


def varying(single: SinglesSummary) -> dict[Variable, None]:
    """Return the columns that are not constant; constant ones carry no information."""
    n_states = np.add.reduceat(single.counts.any(axis=0), single.at.start[:-1], dtype=np.intp)
    varies = [*(n_states > 1), *(single.overall.square[0] > 0)]
    return dict.fromkeys(compress((*single.at.discrete, *single.at.continuous), varies))


def _parameters(summary: PairsSummary) -> Floats:
    """Return the number of parameters that arcs between discrete columns add, shape (d, d).

    If `is_sparse` holds for a pair, it is what the cells that occur are worth, if that is less:
    the logarithm of the number of states that each might have, and a parameter for all but one of
    the states of a child that a state of its parent has.
    """
    cards, k, rows = summary.at.cards, len(summary.singles.totals), summary.singles.totals.sum()
    free = cards - 1.0
    parameters = np.outer(k * free, free)
    if not is_sparse(free.max(initial=0.0) ** 2, rows):
        return parameters
    wide = np.triu(is_sparse(np.outer(free, free), rows), k=1)
    for i, j in np.argwhere(wide).tolist():
        there = summary.pair_table(i, j) > 0
        for parent, child, axis in ((i, j, 2), (j, i, 1)):
            worth = there.sum() * 2.0 * math.log(cards[child]) / math.log(max(rows, 2.0))
            worth += 1 + there.sum() - there.any(axis=axis).sum()
            parameters[parent, child] = min(parameters[parent, child], worth)
    return parameters


def class_scores(source: CountSource, single: SinglesSummary, smoothing: Smoothing) -> Floats:
    """Return the mutual information of each column and the class variable, shape (d,).

    The unit is nats per row; `single` has the columns, given the class. The value of a continuous
    column is the gain in Gaussian log likelihood by the class, ``sum_y P(y) 1/2 [log var - log
    var_y]``, with the variances of all rows and of class y. Rows that lack a column gain nothing.
    Columns that are neither discrete nor continuous have the value 0.
    """
    at = single.at
    scores = dict.fromkeys(single.request.columns, 0.0)
    all_rows = float(single.totals.sum())
    for v in at.discrete:
        table = single.counts[:, at.states(v)]
        share = table.sum() / max(all_rows, 1e-300)
        scores[v] = float(information.conditional_mutual_information(table[None])) * share
    if at.continuous:
        ridge = smoothing.ridge(source.variances(at.continuous))
        part, whole = single.moments, single.overall
        parts = [
            smoothing.covariance(m.count, m.square, smoothing.pooled(m.count, m.square)) + ridge
            for m in (part, whole)
        ]
        tiny = np.finfo(np.float64).tiny
        split, joint = (np.log(np.maximum(variance, tiny)) for variance in parts)
        gain = np.sum(part.count * (joint - split), axis=0)
        gain = 0.5 * safe_divide(gain, np.full(gain.shape, all_rows))
        scores.update(zip(at.continuous, gain, strict=True))
    return np.array([scores[v] for v in single.request.columns])


def by_score(scores: Floats) -> list[int]:
    """Return indices by descending score; ties, up to rounding errors, by ascending index."""
    order = np.argsort(-np.round(scores, TIE_DECIMALS), kind="stable")
    return [int(i) for i in order]
