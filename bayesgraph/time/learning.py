"""Parameters of temporal networks, by counts and by expectation maximisation (EM)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bayesgraph.core.arrays import Floats, log_of, random_generator, whole_number
from bayesgraph.core.errors import (
    DataError,
    GraphError,
    NotConvergedWarning,
    unknown_variable,
    warn,
)
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.inference import Factor, normalised_if_possible
from bayesgraph.learning import Iterations, estimate_gaussian, estimate_table
from bayesgraph.models import CPD, GaussianCPD, TableCPD
from bayesgraph.statistics import Family, FamilyStatistics, Smoothing, as_smoothing, group_comoments
from bayesgraph.tables import EMHistory, Training, columns_of, infer_variables
from bayesgraph.time.chains import Chain, Part
from bayesgraph.time.rows import RowOptions, read_rows
from bayesgraph.time.slices import Before, Given, before, lag, now, slice_logs

# Minimum of the unnormalised random weight of a state at the start of EM.
_MIN_SHARE = 0.1
Families = Mapping[Family, tuple[Variable, tuple[Variable, ...]]]


def fit_temporal(
    make: Callable[..., Any],
    arcs: Iterable[tuple[Any, Any]],
    rows: TableLike,
    hidden: Mapping[Name, Any],
    static: Iterable[Name],
    declared: Iterable[Variable],
    categorical: Any,
    smoothing: Any,
    iterations: Iterations,
    options: RowOptions,
) -> Any:
    """Return a temporal network with estimated parameters; see `TemporalNetwork.fit`."""
    columns = dict(columns_of(rows))
    for name in (options.get("id"), options.get("time")):
        columns.pop(name, None)
    if not columns:
        raise DataError("The table has no columns besides id= and time=.")
    fixed = [static] if isinstance(static, str) else list(static)
    by_name: dict[Name, Any] = {v.name: v for v in declared}
    of_columns = {name: v for name, v in by_name.items() if name in columns}
    table = infer_variables(columns, categorical, of_columns)
    by_name |= {v.name: v for v in table.variables}
    for name, states in hidden.items():
        if name in columns:
            raise DataError(f"hidden= names {name!r}, which is a column of the table.")
        if isinstance(states, int):
            states = range(whole_number("hidden", "states", states, 1))
        by_name[name] = states if isinstance(states, Discrete) else Discrete(name, states)
    template = _Template(make, _parents(arcs, by_name, fixed), fixed)
    chance, random = as_smoothing(smoothing), random_generator(iterations.random_state)
    if chance.is_hierarchy:
        raise DataError(f"Temporal networks take smoothing='dirichlet' or 'm'; got {smoothing!r}.")
    values = {v: table.column(v)[~np.isnan(table.column(v))] for v in table.continuous}
    model = template.drawn(values, random)
    long = read_rows(model, rows, options)
    sequences = long.extended(0, model._own_static)
    ends: list[tuple[Any, EMHistory]] = []
    while len(ends) < iterations.restarts:
        model, objective, log_likelihood = template.drawn(values, random), list[float](), 0.0
        converged, sums = False, None
        while not converged and len(objective) <= iterations.max_iter:
            # The first estimate is that of counts, if all is observed.
            if sums is not None:
                model = template.estimated(sums, values, chance)
            chain = Chain(model._sequences(*sequences))
            sums, is_whole = expected_statistics(chain, template.families)
            log_likelihood = float(chain.log_likelihood.sum())
            objective.append(log_likelihood + _log_prior(model, chance))
            gain = objective[-1] - objective[-2] if len(objective) > 1 else math.inf
            converged = gain <= iterations.tol * len(long.place) or (is_whole and gain < math.inf)
        ends.append((model, EMHistory(tuple(objective), log_likelihood, converged, ())))
        if is_whole:
            break
    last = tuple([history.objective[-1] for _, history in ends])
    model, history = ends[int(np.argmax(last))]
    if not history.converged:
        warn("EM still gained in its last iteration; raise max_iter or tol.", NotConvergedWarning)
    kept = None if is_whole else replace(history, restarts=last)
    model.training = Training("TemporalNetwork.fit", len(columns), history=kept)
    return model


def _log_prior(model: Any, smoothing: Smoothing) -> float:
    """Return the log density of the tables under Dirichlet priors, up to a constant."""
    cpds = {id(c): c for cpds in (model.static, *model.slices) for c in cpds}.values()
    tables = [cpd for cpd in cpds if isinstance(cpd, TableCPD)]
    return float(sum(xlogy(smoothing.state_counts(t.variable), t.values).sum() for t in tables))


def _parents(
    arcs: Iterable[Any], by_name: Mapping[Name, Any], static: Sequence[Name]
) -> dict[Variable, list[Variable]]:
    """Return the parents of each variable in a late slice."""
    if isinstance(arcs, str) or not isinstance(arcs, Iterable):
        raise GraphError(f"Expected arcs as (parent, child) pairs; got {arcs!r:.80}.")
    parents: dict[Variable, list[Variable]] = {v: [] for v in by_name.values()}
    if strangers := [name for name in static if name not in by_name]:
        raise unknown_variable(strangers[0], by_name, where="static=: the table")
    for arc in arcs:
        if isinstance(arc, str) or not isinstance(arc, Sequence) or len(arc) != 2:
            raise GraphError(f"An arc is a pair (parent, child); got {arc!r:.80}.")
        ends: list[Any] = [end.name if isinstance(end, Variable) else end for end in arc]
        parent, child = ends
        name, steps = (parent.name, parent.steps) if isinstance(parent, Before) else (parent, 0)
        for end in (name, child):
            if end not in by_name:
                raise unknown_variable(end, by_name, where="The table")
        above = before(by_name[name], steps) if steps else by_name[name]
        parents[by_name[child]].append(above)
    return parents


class _Template:
    """The families of a temporal network, and the network of their distributions."""

    def __init__(
        self,
        make: Callable[..., Any],
        parents: Mapping[Variable, Sequence[Variable]],
        static: Sequence[Name],
    ) -> None:
        self._make = make
        steps = [lag(p)[1] for above in parents.values() for p in above]
        own = [v for v in parents if v.name not in static]

        def families(variables: Iterable[Variable], number: int) -> list[Any]:
            """Return variables with those parents that slices before this one have."""
            return [(v, tuple([p for p in parents[v] if lag(p)[1] <= number])) for v in variables]

        self._static = families([v for v in parents if v.name in static], 0)
        self._slices = [families(own, number) for number in range(max(steps, default=0) + 1)]
        pairs = [pair for pairs in (self._static, *self._slices) for pair in pairs]
        self.families: Families = {Family.of(*above, v): (v, above) for v, above in pairs}

    def drawn(self, values: Mapping[Any, Floats], random: np.random.Generator) -> Any:
        """Return a network to start from; Gaussians have the means of rows drawn at random."""
        cpds: dict[Family, CPD] = {}
        child: Any
        above: Any
        for family, (child, above) in self.families.items():
            shape = tuple(v.cardinality for v in family.discrete)
            if isinstance(child, Discrete):
                shares = _MIN_SHARE + random.exponential(size=shape)
                cpds[family] = TableCPD(child, shares / shares.sum(-1, keepdims=True), above)
            else:
                centres, slopes = (
                    random.choice(values[child], shape),
                    np.zeros((*shape, len(above) - len(shape))),
                )
                cpds[family] = GaussianCPD(
                    child, centres, values[child].var() or 1.0, above, slopes
                )
        return self._model(cpds)

    def estimated(
        self,
        sums: Mapping[Family, FamilyStatistics],
        values: Mapping[Any, Floats],
        smoothing: Smoothing,
    ) -> Any:
        """Return the network that statistics of the families give."""
        cpds: dict[Family, CPD] = {}
        child: Any
        for family, (child, above) in self.families.items():
            if isinstance(child, Discrete):
                cpds[family] = estimate_table(child, above, sums[family], smoothing, None, None)
            else:
                ridge = smoothing.ridge(np.array([values[now(v)].var() for v in family.continuous]))
                cpds[family] = estimate_gaussian(child, above, sums[family], smoothing, ridge, None)
        return self._model(cpds)

    def _model(self, cpds: Mapping[Family, CPD]) -> Any:
        static, *slices = (
            [cpds[Family.of(*above, v)] for v, above in pairs]
            for pairs in (self._static, *self._slices)
        )
        return self._make(slices[:-1] or slices, slices[-1], static=static)


def expected_statistics(
    chain: Chain, families: Families
) -> tuple[dict[Family, FamilyStatistics], bool]:
    """Return expected statistics of all families, and whether the rows are complete in them."""
    sums: dict[Family, FamilyStatistics] = {}
    is_whole = True
    inner = {p for _, above in families.values() for p in map(now, above)}
    for part in chain.sequences.parts:
        for cpd in part.network.cpds:
            if isinstance(cpd, Given):
                continue
            family = Family.of(*cpd.parents, cpd.variable)
            sum_of, whole = _family_sums(chain, part, family, cpd.variable, cpd.variable in inner)
            is_whole &= whole
            sums[family] = sums[family] + sum_of if family in sums else sum_of
    # There are none of late slices where all sequences are short.
    return {family: sums.get(family, _none(family)) for family in families}, is_whole


def _none(family: Family) -> FamilyStatistics:
    """Return the statistics of a family in no rows."""
    cards, n = tuple(v.cardinality for v in family.discrete), len(family.continuous)
    return FamilyStatistics(*map(np.zeros, (cards, (*cards, n), (*cards, n, n))))


def _family_sums(
    chain: Chain, part: Part, family: Family, child: Variable, is_inner: bool
) -> tuple[FamilyStatistics, bool]:
    """Return expected statistics of a family in a part, and whether its cells are all observed."""
    evidence, n = part.evidence, len(part.rows)
    columns = evidence.columns
    rows = np.ones(n, dtype=bool)
    v: Any
    for v in family.continuous:
        rows &= ~np.isnan(columns[v]) if v in columns else False
    if isinstance(child, Discrete) and not is_inner and child not in chain.now:
        rows &= columns[child] >= 0 if child in columns else False
    chosen = np.flatnonzero(rows)
    if not len(chosen):
        return _none(family), True
    free = [v for v in family.discrete if v not in columns or (columns[v][chosen] < 0).any()]
    is_handed = not part.is_first and {*family.columns} == {*free} <= {*chain.past, *chain.now}
    if is_handed and len(chosen) == n and chain.split(part) is not None:
        counts = chain.pair_sums(part, free)
        shape = counts.shape
        return FamilyStatistics(counts, np.empty((*shape, 0)), np.empty((*shape, 0, 0))), False
    shares = _shares(chain, part, free, chosen)
    fixed = [v for v in family.discrete if v not in free]
    size = math.prod(v.cardinality for v in fixed)
    index = np.zeros(len(chosen), dtype=np.intp)
    for v in fixed:
        index = index * v.cardinality + columns[v][chosen]
    parts: list[tuple[Any, Any, Any]]
    if family.continuous:
        values = np.stack([columns[v][chosen] for v in family.continuous], axis=1)
        parts = [group_comoments(values, index, size, share) for share in shares.T.copy()]
    else:
        nothing = np.empty((size, 0)), np.empty((size, 0, 0))
        parts = [(np.bincount(index, share, size), *nothing) for share in shares.T]
    cards = tuple(v.cardinality for v in (*fixed, *free))
    order = [[*fixed, *free].index(v) for v in family.discrete]
    arrays = []
    for stack in zip(*parts, strict=True):
        whole = np.stack(stack, axis=1)
        whole = whole.reshape(*cards, *whole.shape[2:])
        arrays.append(whole.transpose(*order, *range(len(cards), whole.ndim)))
    return FamilyStatistics(*arrays), not free


def _shares(chain: Chain, part: Part, free: Sequence[Any], chosen: NDArray[np.intp]) -> Floats:
    """Return the posterior of some discrete variables in rows of a part, (n_chosen, n_states)."""
    if not free:
        return np.ones((len(chosen), 1))
    now = chain.now
    if set(free) <= set(now):
        table = chain.smoothed[part.rows[chosen]].reshape(-1, *chain.states.cards)
        gone = tuple(1 + k for k, v in enumerate(now) if v not in free)
        left = [v for v in now if v in free]
        table = table.sum(axis=gone).transpose(0, *(1 + left.index(v) for v in free))
        return np.asarray(table.reshape(len(chosen), -1))
    shown = chain.open(part).rows(chosen)
    messages: list[Any] = chain.messages(part, chosen, smooth=True)
    for v in free:
        if v in shown.columns:
            codes = shown.columns[v][:, None]
            allowed = (codes < 0) | (codes == np.arange(v.cardinality))
            messages.append(Factor.from_log([v], log_of(allowed.astype(np.float64))))
    logs = slice_logs(part.network, shown.without(free), free, messages)
    return normalised_if_possible(logs.reshape(len(logs), -1))
