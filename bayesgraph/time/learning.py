"""Parameters of temporal networks, by counts and by expectation maximisation (EM)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats, random_generator, whole_number
from bayesgraph.core.errors import DataError, GraphError, unknown_variable
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import CountVector, Discrete, Name, Variable
from bayesgraph.inference import Factor, align, normalised_if_possible
from bayesgraph.learning import (
    Iterations,
    best_climb,
    climb,
    estimate_gaussian,
    estimate_table,
    weighted_statistics,
)
from bayesgraph.models import CPD, GaussianCPD, TableCPD
from bayesgraph.statistics import Family, FamilyStatistics, Smoothing, as_smoothing
from bayesgraph.tables import EMHistory, Training, columns_of, infer_variables
from bayesgraph.time.chains import Chain, Part
from bayesgraph.time.rows import RowOptions, read_rows
from bayesgraph.time.slices import Before, Given, before, lag, now

# Minimum of the unnormalised random weight of a state at the start of EM.
_MIN_SHARE = 0.1
# From a family, by which statistics are counted, to the child and its parents in the CPD's order.
Families = Mapping[Family, tuple[Variable, tuple[Variable, ...]]]


def fit_temporal(
    make: Callable[..., Any],
    arcs: Iterable[tuple[Any, Any]],
    rows: TableLike,
    hidden: Mapping[Name, Any],
    static: Sequence[Name],
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
    by_name: dict[Name, Any] = {v.name: v for v in declared}
    of_columns = {name: v for name, v in by_name.items() if name in columns}
    table = infer_variables(columns, categorical, of_columns)
    by_name |= {v.name: v for v in table.variables}
    for name, states in hidden.items():
        if name in columns:
            raise DataError(f"hidden= names {name!r}, which is a column of the table.")
        if isinstance(states, (int, np.integer)):
            states = range(whole_number("hidden", "states", states, 1))
        by_name[name] = states if isinstance(states, Discrete) else Discrete(name, states)
    smoother, random = as_smoothing(smoothing), random_generator(iterations.random_state)
    if smoother.is_hierarchy:
        raise DataError(f"Temporal networks take smoothing='dirichlet' or 'm'; got {smoothing!r}.")
    # The observed values of each number, from which Gaussians start.
    numbers = {v: table.column(v)[~np.isnan(table.column(v))] for v in table.continuous}
    for v in by_name.values():
        if isinstance(v, CountVector):
            raise DataError(f"{v.name!r} is a vector of counts, which fit does not take.")
        if not isinstance(v, Discrete) and not len(numbers.get(v, ())):
            raise DataError(f"No row has a value of {v.name!r}: enter one, or leave it out.")
    template = _Template(make, _parents(arcs, by_name, static), static)
    model, history = template.drawn(numbers, random), None
    long = read_rows(model, rows, options)
    sequences = long.extended(0, model._fixed)

    def expected(model: Any) -> tuple[Any, float]:
        """Return the expected statistics of the E-step, and the log likelihood of all rows."""
        chain = Chain(model._sequences(*sequences))
        return expected_statistics(chain, template.families)[0], chain.log_likelihood.sum()

    def start(_: int) -> tuple[Any, EMHistory]:
        """Run EM once, from parameters drawn at random."""
        drawn = template.drawn(numbers, random)
        return climb(drawn, expected, template.estimated, smoother, iterations, len(long.place))

    # Statistics of complete rows are counts, whatever the drawn parameters of the model.
    sums, is_whole = expected_statistics(Chain(model._sequences(*sequences)), template.families)
    if is_whole:
        model = template.counted(sums, smoother)
    else:
        model, history = best_climb(start, iterations)
    model.training = Training("TemporalNetwork.fit", len(columns), history=history)
    return model


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
        parent, child = (end.name if isinstance(end, Variable) else end for end in arc)
        name, steps = (parent.name, parent.steps) if isinstance(parent, Before) else (parent, 0)
        for end in (name, child):
            if end not in by_name:
                raise unknown_variable(end, by_name, where="The table")
        if child in static and steps:
            raise GraphError(
                f"{child!r} is static: it has no parent of an earlier slice, {name!r}."
            )
        above = before(by_name[name], steps) if steps else by_name[name]
        parents[by_name[child]].append(above)
    return parents


class _Template:
    """The families of a temporal network, and the network of their distributions.

    `make` is the class of the network; `parents` are those of each variable in a late slice, and
    `static` the names of static variables.

    Attributes
    ----------
    families : mapping from Family to (child, parents)
        Each child with its parents, those of early slices with fewer of them, too.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        parents: Mapping[Variable, Sequence[Variable]],
        static: Sequence[Name],
    ) -> None:
        self._make = make
        steps = [lag(p)[1] for above in parents.values() for p in above]
        repeated = [v for v in parents if v.name not in static]

        def families(variables: Iterable[Variable], number: int) -> list[Any]:
            """Return variables with those of their parents that slice `number`, from 0 on, has."""
            return [(v, tuple([p for p in parents[v] if lag(p)[1] <= number])) for v in variables]

        slices = [families(repeated, number) for number in range(max(steps, default=0) + 1)]
        # Static variables, those of the first slices, and last those of all later ones.
        self._parts = [families([v for v in parents if v.name in static], 0), *slices]
        # Slices share most families, which are listed once.
        pairs = [pair for part in self._parts for pair in part]
        self.families: Families = {Family.of(*above, v): (v, above) for v, above in pairs}

    def drawn(self, numbers: Mapping[Any, Floats], random: np.random.Generator) -> Any:
        """Return a network to start from; Gaussians have the means of rows drawn at random."""
        cpds: dict[Family, CPD] = {}
        child: Any
        above: Any
        for family, (child, above) in self.families.items():
            shape = tuple(v.cardinality for v in family.discrete)
            if isinstance(child, Discrete):
                # Exponential weights give uniform distributions; the minimum keeps them from zero.
                shares = _MIN_SHARE + random.exponential(size=shape)
                cpds[family] = TableCPD(child, shares / shares.sum(-1, keepdims=True), above)
            else:
                slopes = np.zeros((*shape, len(above) - len(shape)))
                centres, variance = random.choice(numbers[child], shape), numbers[child].var()
                cpds[family] = GaussianCPD(child, centres, variance or 1.0, above, slopes)
        return self._model(cpds)

    def estimated(self, sums: Mapping[Family, FamilyStatistics], smoothing: Smoothing) -> Any:
        """Return the network that statistics of the families give."""
        cpds: dict[Family, CPD] = {}
        child: Any
        for family, (child, above) in self.families.items():
            if isinstance(child, Discrete):
                cpds[family] = estimate_table(child, above, sums[family], smoothing, None, None)
            else:
                # Moments over all states of the discrete parents, for the scale of the ridge.
                whole = sums[family].part(family, Family((), family.continuous))
                ridge = smoothing.ridge(np.diagonal(whole.comoment) / np.maximum(whole.counts, 1.0))
                cpds[family] = estimate_gaussian(child, above, sums[family], smoothing, ridge, None)
        return self._model(cpds)

    def counted(self, sums: Mapping[Family, FamilyStatistics], smoothing: Smoothing) -> Any:
        """Return the network that statistics give, to which more can be added."""
        model = self.estimated(sums, smoothing)
        model._counted = self, sums, smoothing
        return model

    def _model(self, cpds: Mapping[Family, CPD]) -> Any:
        # One list of CPDs for each part: a CPD is shared by all slices that have its family.
        static, *slices = ([cpds[Family.of(*above, v)] for v, above in p] for p in self._parts)
        # Without arcs from earlier slices there is one kind of slice, the first one too.
        return self._make(slices[:-1] or slices, slices[-1], static=static)


def expected_statistics(
    chain: Chain, families: Families
) -> tuple[dict[Family, FamilyStatistics], bool]:
    """Return expected statistics of all families, and whether the rows are complete in them."""
    sums: dict[Family, FamilyStatistics] = {}
    is_whole = True
    # Variables that have children, in their own slice or a later one.
    inner = {p for _, above in families.values() for p in map(now, above)}
    for part in chain.sequences.parts:
        for cpd in part.network.cpds:
            if isinstance(cpd, Given):
                continue
            family = Family.of(*cpd.parents, cpd.variable)
            more, whole = _family_sums(chain, part, family, cpd.variable, cpd.variable in inner)
            is_whole &= whole
            sums[family] = sums[family] + more if family in sums else more
    # There are none of late slices where all sequences are short.
    none = {family: FamilyStatistics.none(family) for family in families}
    return none | sums, is_whole


def _family_sums(
    chain: Chain, part: Part, family: Family, child: Variable, is_inner: bool
) -> tuple[FamilyStatistics, bool]:
    """Return expected statistics of a family in a part, and whether its cells are all observed.

    Rows do not count in which a number of the family is missing, or the child is and has no
    children: an expectation of the latter tells nothing about its distribution.
    """
    evidence, n = part.evidence, len(part.rows)
    columns = evidence.columns
    # A mask of the rows that count.
    rows = np.ones(n, dtype=bool)
    v: Any
    for v in family.continuous:
        rows &= ~np.isnan(columns[v]) if v in columns else False
    if isinstance(child, Discrete) and not is_inner and child not in chain.now:
        rows &= columns[child] >= 0 if child in columns else False
    if not rows.any():
        return FamilyStatistics.none(family), True
    free = [v for v in family.discrete if v not in columns or (columns[v][rows] < 0).any()]
    # If all variables of the family are open and handed on, sums of matrices give its counts.
    is_handed = not part.is_first and {*family.columns} == {*free} <= {*chain.past, *chain.now}
    if is_handed and rows.all() and chain.split(part) is not None:
        counts = chain.pair_sums(part, free)
        shape = counts.shape
        return FamilyStatistics(counts, np.empty((*shape, 0)), np.empty((*shape, 0, 0))), False
    shares = _shares(chain, part, free).reshape(n, -1)
    return weighted_statistics(family, free, columns, rows.astype(np.float64), shares), not free


def _shares(chain: Chain, part: Part, free: Sequence[Any]) -> Floats:
    """Return the posterior of some discrete variables in a part, shape (n_rows, *cards)."""
    if not free:
        return np.ones(len(part.rows))
    if {*free} <= {*chain.now}:
        return chain.joint(free, smooth=True)[part.rows]
    logs = np.empty((len(part.rows), *(v.cardinality for v in free)))
    for chosen, factor in chain.factors(part, free, smooth=True):
        assert isinstance(factor, Factor)  # the variables are discrete
        logs[chosen] = factor.aligned(free)
    # Factors leave out what is observed of the targets in some of the rows: it is put in here.
    for v in free:
        if v in part.evidence:
            codes = part.evidence.columns[v][:, None]
            allowed = (codes < 0) | (codes == np.arange(v.cardinality))
            logs = logs + align(np.where(allowed, 0.0, -np.inf), [v], free)
    return normalised_if_possible(logs.reshape(len(logs), -1))
