"""Differences between two models, and drift between two tables under one model."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.core.arrays import Floats, check_share, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, Report, more, rounded, scaled
from bayesgraph.core.errors import (
    BayesGraphError,
    DataError,
    DataTypeError,
    MemoryLimitError,
    UnsupportedModelError,
    quoted,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import (
    Arc,
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Grouped,
    Name,
    State,
    Variable,
)
from bayesgraph.inference import Factor, log_normalised
from bayesgraph.models import (
    CPD,
    BayesianNetwork,
    GaussianCPD,
    Model,
    networks_in,
    table_for,
)
from bayesgraph.questions.contributions import Contrast, explain, signed
from bayesgraph.questions.estimators import discrete_target, model_of
from bayesgraph.statistics import Family, holm_adjusted, independence_test
from bayesgraph.tables import Table, columns_of

# -------------- Divergences between the distributions of a variable given its parents in two models
# The divergence of a family is the mean over the first model P of the Kullback-Leibler divergence
# of the two distributions of the child,
#
#     sum_u P(u) KL(P(x | u) || Q(x | u)),
#
# where u are the parents of the child in either model; a distribution does not depend on those it
# lacks. It is zero if and only if the distributions agree wherever P has rows. If both networks
# have one graph, the divergences of all families sum to that of the joint distributions (the chain
# rule; Cover and Thomas 2006, theorem 2.5.3).


# Maximum number of joint states of child and parents that are compared one by one.
_MAX_STATES = 1 << 18
# Maximum number of configurations of discrete parents in which Gaussians are compared exactly.
_MAX_CELLS = 1 << 12
# Number of rows drawn where there is no sum.
_DRAWS = 4096


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


# A divergence, its standard error, the states of the parents where it is largest, and what changed
# there.
_Divergence: TypeAlias = tuple[float, float, Mapping[Name, State], str]


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
    changes = [
        change
        for number, (p, q) in enumerate(zip(first, second, strict=True))
        for change in _Pair(p, q, before, after, number if several else None).changes()
    ]
    return sorted(changes, key=lambda change: -change.size), []


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two networks whose families are compared.

    Attributes
    ----------
    before, other : BayesianNetwork
        The first and the second network as they are; `after` is the second one made comparable.
    source, other_source : models or fitted estimators
        What they are, or are parts of.
    member : int or None
        Number of both networks in a mixture or an average.
    """

    before: BayesianNetwork
    other: BayesianNetwork
    source: Any
    other_source: Any
    member: int | None

    @cached_property
    def after(self) -> BayesianNetwork:
        """The other network, with states in the order of the first one."""
        network = self.other
        for variable in self.before.variables:
            other = network._by_name.get(variable.name, variable)
            # Only plain discrete variables, whose states come in another order.
            if other == variable or not (type(other) is type(variable) is Discrete):
                continue
            if _typed(variable.states) == _typed(other.states):
                # Where the order cannot be changed, the difference of variables is reported.
                with suppress(UnsupportedModelError):
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
            # Unequal CPDs may have one distribution, as with an arc that changes nothing.
            change = self._change(p, q)
            same_parents = set(change.parents_before) == set(change.parents_after)
            if not same_parents or change.divergence is None or change.divergence > _ROUNDING:
                yield change

    def _change(self, p: CPD, q: CPD) -> FamilyChange:
        """Compare the distributions of one child."""
        names = tuple(v.name for v in p.parents), tuple(v.name for v in q.parents)
        child = p.variable.name
        try:
            value, deviation, states, text = self._divergence(p, q)
        except (BayesGraphError, NotImplementedError) as error:
            text = str(error).split(". ")[0]  # its first sentence says why
            return FamilyChange(child, *names, None, where=text, member=self.member)
        counts = (
            rows_behind(self.source, p, states),
            rows_behind(self.other_source, self.other[child], states),
        )
        return FamilyChange(child, *names, max(0.0, value), deviation, text, *counts, self.member)

    def _divergence(self, p: CPD, q: CPD) -> _Divergence:
        """Return the divergence: a sum over states, that of Gaussians, or that of drawn rows."""
        # Under one name both must have the same variable; the scope is that of parents in either.
        scope_of_q = {v.name: v for v in q.scope}
        scope = [*p.parents, *(v for v in q.parents if v.name not in {v.name for v in p.scope})]
        for variable in [p.variable, *scope]:
            is_same = scope_of_q.get(variable.name, variable) == variable
            if not is_same or self.before._by_name.get(variable.name) != variable:
                raise UnsupportedModelError(f"{variable.name!r} is another variable")
        discrete = [v for v in scope if isinstance(v, Discrete)]
        cells = math.prod(v.cardinality for v in discrete)
        child, parents_are_discrete = p.variable, len(discrete) == len(scope)
        # If the weights of the parents' states do not fit, rows are drawn.
        with suppress(MemoryLimitError):
            if isinstance(p, GaussianCPD) and isinstance(q, GaussianCPD) and cells <= _MAX_CELLS:
                return self._of_gaussians(p, q, discrete)
            if (
                isinstance(child, Discrete)
                and parents_are_discrete
                and cells * child.cardinality <= _MAX_STATES
            ):
                f, g = p.to_factor(), q.to_factor()  # None of a CPD that is no table
                if f is not None and g is not None:
                    return self._of_tables(f, g, discrete, child)
        return self._of_draws(p, q)

    def _weights(self, scope: Sequence[Discrete]) -> Floats:
        """Return the joint probability of discrete variables in the first network."""
        if not scope:
            return np.ones(())
        probabilities: Floats = self.before.query([v.name for v in scope]).probabilities
        return probabilities

    def _of_tables(
        self, p: Factor, q: Factor, scope: Sequence[Discrete], child: Discrete
    ) -> _Divergence:
        """Return the divergence of tables of a discrete child and discrete parents."""
        axes = [*scope, child]
        # Log values of a factor have an axis of rows of evidence first, which is of length 1 here.
        shape = tuple(v.cardinality for v in axes)
        old_logs = np.broadcast_to(p.aligned(axes)[0], shape)
        new_logs = np.broadcast_to(q.aligned(axes)[0], shape)
        shares = np.exp(old_logs)
        # Kullback-Leibler divergence for each configuration of the parents; the child is summed.
        with np.errstate(invalid="ignore"):
            parts = np.where(shares > 0, shares * (old_logs - new_logs), 0.0).sum(axis=-1)
        total, cell, states = _largest(scope, self._weights(scope), parts)
        old, new = shares[cell], np.exp(new_logs[cell])
        # Of two states both change by one amount: it is rounded, so that the first is told of.
        code = int(np.argmax(np.abs(old - new).round(12)))
        where = _text(states, f"{child.name}={child.states[code]}")
        text = f"P({where}): {rounded(old[code])} → {rounded(new[code])}"
        return total, 0.0, states, text

    def _of_gaussians(
        self, p: GaussianCPD, q: GaussianCPD, scope: Sequence[Discrete]
    ) -> _Divergence:
        """Return KL(p || q) of linear Gaussians, p before and q after.

        It is averaged over their parents under the first network.
        """
        numbers = list(dict.fromkeys([*p.continuous_parents, *q.continuous_parents]))
        # A cell is a configuration of the discrete parents; each has Gaussians of its own.
        weights = self._weights(scope)
        parts = np.zeros(weights.shape)
        changes = {}
        for cell in map(tuple, np.argwhere(weights > 0).tolist()):
            mean, covariance = np.zeros(len(numbers)), np.zeros((len(numbers),) * 2)
            if numbers:
                # Mean and covariance of the continuous parents in this cell.
                states = _states(scope, cell)
                answer = self.before.query([v.name for v in numbers], states)
                mean, covariance = answer.weights @ answer.means, answer.covariance
            codes = dict(zip(scope, cell, strict=True))
            old, old_variance, old_slopes = _regression(p, codes, numbers)
            new, new_variance, new_slopes = _regression(q, codes, numbers)
            # The divergence of normal distributions of means m, m' and variances v, v' is half of
            # v/v' - 1 - log(v/v') + (m - m')^2 / v'. Here m - m' is a linear function of the
            # parents: its mean square is its squared mean plus its variance.
            slopes = old_slopes - new_slopes
            gap = old - new + slopes @ mean
            ratio = old_variance / new_variance
            square = (gap**2 + slopes @ covariance @ slopes) / new_variance
            parts[cell] = 0.5 * (ratio - 1.0 - math.log(ratio) + square)
            means = [float(old + old_slopes @ mean), float(new + new_slopes @ mean)]
            changes[cell] = " → ".join(
                f"mean {rounded(m)}, sd {rounded(math.sqrt(variance))}"
                for m, variance in zip(means, (old_variance, new_variance), strict=True)
            )
        total, cell, states = _largest(scope, weights, parts)
        text = f"p({_text(states, str(p.variable.name))}): {changes.get(cell, '')}"
        return total, 0.0, states, text  # computed, not sampled: no standard error

    def _of_draws(self, p: CPD, q: CPD) -> _Divergence:
        """Return an estimate: the mean log ratio in rows that are drawn of the first network.

        Its standard error is that of a mean of independent rows.
        """
        rows = self._drawn
        if missing := [v.name for v in (*p.scope, *q.scope) if v not in rows.columns]:
            raise UnsupportedModelError(f"{missing[0]!r} cannot be drawn")
        gaps = _log_values(p, rows) - _log_values(q, rows)
        if np.isposinf(gaps).any():
            return math.inf, 0.0, {}, "drawn rows are impossible in the second model"
        error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
        return float(gaps.mean()), error, {}, f"estimated from {len(gaps):,} drawn rows"

    @cached_property
    def _drawn(self) -> Evidence:
        """Rows of the first network."""
        drawn = self.before.sample(_DRAWS, random_state=0, frame="dict")
        return table_for(self.before, drawn, None).evidence()


def _regression(
    cpd: GaussianCPD, codes: Mapping[Discrete, int], numbers: Sequence[Continuous]
) -> tuple[float, float, Floats]:
    """Return intercept, variance, and slopes on some numbers, given codes of discrete variables."""
    cell = tuple(codes[v] for v in cpd.discrete_parents)
    slopes = np.zeros(len(numbers))
    slopes[[numbers.index(v) for v in cpd.continuous_parents]] = cpd.coefficients[cell]
    return float(cpd.mean[cell]), float(cpd.variance[cell]), slopes


def _largest(
    scope: Sequence[Discrete], weights: Floats, parts: Floats
) -> tuple[float, tuple[int, ...], dict[Name, State]]:
    """Return the sum of weights times parts, and the cell of the largest of these products.

    Weights and parts have an axis for each variable of the scope. The states are those of the cell.
    """
    with np.errstate(invalid="ignore"):
        shares = np.where(weights > 0, weights * parts, 0.0)
    cell = tuple(map(int, np.unravel_index(int(np.argmax(shares)), shares.shape)))
    return float(shares.sum()), cell, _states(scope, cell)


def _states(scope: Sequence[Discrete], cell: Sequence[int]) -> dict[Name, State]:
    return {v.name: v.states[code] for v, code in zip(scope, cell, strict=True)}


def _text(states: Mapping[Name, State], child: str) -> str:
    condition = ", ".join(f"{name}={state}" for name, state in states.items())
    return f"{child} | {condition}" if condition else child


def _log_values(cpd: CPD, rows: Evidence) -> Floats:
    """Return the log probability (density) of the child in each row, shape (n_rows,)."""
    potential = cpd.potential(rows)
    assert isinstance(potential, Factor)  # everything is observed
    return np.broadcast_to(potential.log_values, (rows.n_rows,))


def rows_behind(source: Any, cpd: CPD, states: Mapping[Name, State]) -> float | None:
    """Return the weight of the rows with some states of a family's parents.

    Parameters
    ----------
    source : model or fitted estimator
        An estimator with ``statistics_`` knows how many rows it has counted.
    cpd : CPD
    states : mapping from name to state
        Those of discrete parents; others are ignored.

    Returns
    -------
    float or None
        None if the rows of this family were not counted.
    """
    statistics = getattr(source, "statistics_", None)
    if any(isinstance(v, CountVector) for v in cpd.scope) or not statistics:
        return None
    family = Family.of(*cpd.scope)
    counted = statistics.family(family)
    if counted is None:
        return None
    # Counts have an axis for each discrete variable; those not in `states` are summed over.
    index = [
        v.index(states[v.name]) if v in cpd.parents and v.name in states else slice(None)
        for v in family.discrete
    ]
    return float(np.sum(counted.counts[tuple(index)]))


def families_table(changes: Sequence[FamilyChange], remarks: Sequence[str]) -> DisplayTable:
    """Return the families that changed most as a table."""
    shown = changes[:_MAXIMUM_LINES]
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
        bars=scaled(max(0.0, c.size) for c in shown),
        note="\n".join(filter(None, notes)),
    )


def _amount(change: FamilyChange) -> str:
    """Return a divergence with its standard error as text; a dash if there is none."""
    if change.divergence is None:
        return "–"
    if math.isinf(change.divergence):
        return "∞"
    error = f" ± {rounded(change.standard_error, 2)}" if change.standard_error else ""
    return f"{rounded(change.divergence)}{error}"


def _behind(change: FamilyChange) -> str:
    """Return the numbers of rows behind both distributions as text."""
    rows = change.rows_before, change.rows_after
    if rows == (None, None):
        return "–"
    return " → ".join("?" if n is None else rounded(n, 6, grouped=True) for n in rows)


def _parents(change: FamilyChange) -> str:
    """Return the parents that went and came as text."""
    if set(change.parents_before) == set(change.parents_after):
        return "the same"
    gone = [p for p in change.parents_before if p not in change.parents_after]
    new = [p for p in change.parents_after if p not in change.parents_before]
    return " ".join([f"−{p}" for p in gone] + [f"+{p}" for p in new])


# ---------------------------------- Differences in structure: variables and their states, and arcs


_MAXIMUM_ARCS = 40


@dataclass(frozen=True)
class StructureChanges:
    """Variables and arcs that two models do not have in common.

    Attributes
    ----------
    added_variables, removed_variables : tuple of names
    changed_variables : dict from name to str
        What is different about a variable of both models, such as its states.
    added, removed : tuple of arcs
        Arcs (parent, child) that only the second or only the first model has.
    turned : tuple of arcs
        Arcs of the second model that the first one has in the other direction.
    kept : int
        Number of arcs of both models.
    probabilities : dict from arc to (float, float)
        Arcs whose probability differs between two mixtures or averages that both have them.
    """

    added_variables: tuple[Name, ...]
    removed_variables: tuple[Name, ...]
    changed_variables: Mapping[Name, str]
    added: tuple[Arc, ...]
    removed: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    kept: int
    probabilities: Mapping[Arc, tuple[float, float]]

    @property
    def is_empty(self) -> bool:
        """Whether both models have the same variables and arcs."""
        return not any(changes for name, changes in vars(self).items() if name != "kept")

    def tables(self) -> list[DisplayTable]:
        """Return the tables of variables and of arcs."""
        rows = [(str(name), "added") for name in self.added_variables]
        rows += [(str(name), "removed") for name in self.removed_variables]
        rows += [(str(name), text) for name, text in self.changed_variables.items()]
        variables = DisplayTable("Variables", rows or [("no difference", "")])
        arcs = [
            (f"{a} → {b}", kind)
            for kind in ("added", "removed", "turned")
            for a, b in getattr(self, kind)
        ]
        arcs += [
            (f"{a} → {b}", f"probability {p:.3g} → {q:.3g}")
            for (a, b), (p, q) in self.probabilities.items()
        ]
        counts = f"{self.kept} in both, {len(self.added)} added, {len(self.removed)} removed, "
        shown = arcs[:_MAXIMUM_ARCS]
        title = f"Arcs: {counts}{len(self.turned)} turned"
        return [variables, DisplayTable(title, shown, note=more(len(arcs), len(shown), "arcs"))]


def structure_changes(before: Model, after: Model) -> StructureChanges:
    """Return the differences between the variables and between the arcs of two models.

    An ensemble has the arcs of all its members; see `Ensemble.arc_probabilities`.
    """
    changed = {}
    for variable in before.variables:
        other = after.variable(variable.name) if variable.name in after._index_of else variable
        if other != variable:
            changed[variable.name] = _difference(variable, other)
    first, second = before.arc_probabilities, after.arc_probabilities
    new = [arc for arc in second if arc not in first]
    # An arc that was turned is neither added nor removed.
    turned = [(a, b) for a, b in new if (b, a) in first and (b, a) not in second]
    # Probabilities that differ by less than 1e-12 differ by rounding.
    return StructureChanges(
        tuple(name for name in after.names if name not in before._index_of),
        tuple(name for name in before.names if name not in after._index_of),
        changed,
        tuple(arc for arc in new if arc not in turned),
        tuple((a, b) for a, b in first if (a, b) not in second and (b, a) not in turned),
        tuple(turned),
        sum(arc in second for arc in first),
        {a: (p, second[a]) for a, p in first.items() if a in second and abs(p - second[a]) > 1e-12},
    )


def _difference(old: Variable, new: Variable) -> str:
    """Return in words how two variables of one name differ."""
    if isinstance(old, CountVector) and isinstance(new, CountVector):
        return _by_value("items", old.items, new.items)
    if isinstance(old, Binned) and isinstance(new, Binned):
        return f"cut points {quoted(old.cuts) or 'none'} became {quoted(new.cuts) or 'none'}"
    if type(old) is not type(new) or not (isinstance(old, Discrete) and isinstance(new, Discrete)):
        return f"{type(old).__name__} became {type(new).__name__}"
    if isinstance(old, Grouped):
        return f"groups {quoted(old.states)} became {quoted(new.states)}"
    return _by_value("states", old.states, new.states)


def _by_value(what: str, old: tuple[object, ...], new: tuple[object, ...]) -> str:
    """Return in words which values were added and removed, or that their order changed."""
    before, after = _typed(old), _typed(new)
    added = [v for v in new if (type(v), v) not in before]
    removed = [v for v in old if (type(v), v) not in after]
    parts = [f"{what} added: {quoted(added)}"] if added else []
    parts += [f"{what} removed: {quoted(removed)}"] if removed else []
    return "; ".join(parts) or f"{what} in another order: {quoted(new)}"


def _typed(values: Iterable[object]) -> set[tuple[type, object]]:
    """Return values with their types, so that 1, 1.0 and True are three."""
    return {(type(v), v) for v in values}


# ------------------- Predictions of two models for the rows of a table: which ones change, and why


# Number of findings that explain a changed prediction.
_REASONS = 3
# Differences of probabilities, and of log odds, that are no larger than this are rounding.
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class ChangedPrediction:
    """The predictions of two models for one row.

    Attributes
    ----------
    row : int
        Number of the row, from 0 on.
    before, after : states
        The most probable state by each model.
    probability_before, probability_after : float
        Probability of the state `after` by each model.
    distance : float
        Half the sum of the absolute differences of all probabilities (total variation).
    why : tuple of (name, float)
        The findings, and ``"prior"``, whose terms of the log odds differ most between the models,
        each with the difference in nats. The odds are of the state `after` against `before`, or,
        if the prediction is the same, of the state that gained most against all others.
    """

    row: int
    before: State
    after: State
    probability_before: float
    probability_after: float
    distance: float
    why: tuple[tuple[Name, float], ...] = ()


@dataclass(frozen=True)
class PredictionChanges:
    """Predictions of a variable by two models for the rows of a table.

    Attributes
    ----------
    target : name
    n_rows : int
    n_changed : int
        Number of rows whose most probable state changes.
    mean_distance : float
        Mean of the total variation distance over all rows.
    moves : dict from (state, state) to int
        Number of rows by the state before and after, for changed predictions.
    largest : tuple of ChangedPrediction
        The rows of the largest changes: changed predictions first, then by distance.
    impossible : tuple of (int, int)
        Number of rows that are impossible in each model, which predicts the prior for them.
    """

    target: Name
    n_rows: int
    n_changed: int
    mean_distance: float
    moves: dict[tuple[State, State], int]
    largest: tuple[ChangedPrediction, ...]
    impossible: tuple[int, int]

    def tables(self) -> list[DisplayTable]:
        """Return a table of the moves and a table of the rows that change most."""
        share = self.n_changed / self.n_rows if self.n_rows else 0.0
        title = (
            f"Predictions of {self.target}: {self.n_changed:,} of {self.n_rows:,} rows change "
            f"({share:.1%}), mean distance {rounded(self.mean_distance)}"
        )
        moves = sorted(self.moves.items(), key=lambda item: -item[1])
        notes = [
            f"{n:,} rows are impossible in the {which} model, which predicts the prior."
            for n, which in zip(self.impossible, ("first", "second"), strict=True)
            if n
        ]
        counts = [(f"{a} → {b}", f"{n:,}") for (a, b), n in moves]
        tables = [DisplayTable(title, counts, note="\n".join(notes))]
        if self.largest:
            rows = [
                (
                    f"row {change.row}",
                    f"{change.before} → {change.after}",
                    f"{change.probability_before:.4f} → {change.probability_after:.4f}",
                    ", ".join(f"{name} {signed(value, 2)}" for name, value in change.why) or "–",
                )
                for change in self.largest
            ]
            header = ("row", "prediction", "probability", "why (change of log odds, nats)")
            note = more(self.n_changed, len(rows), "changed rows")
            tables.append(DisplayTable("Rows that change most", rows, header=header, note=note))
        return tables


# A model, its target, and the rows as it reads them.
_Side: TypeAlias = tuple[Model, Discrete, Evidence]


def prediction_changes(
    before: Model, after: Model, target: Name, frame: TableLike, n: int
) -> PredictionChanges:
    """Compare the predictions of a discrete variable for the rows of a table.

    Unknown categories are missing values. Columns that a model lacks are ignored by it.

    Parameters
    ----------
    before, after : Model
    target : name
    frame : pandas, polars or pyarrow table, or mapping from name to column
    n : int
        Number of rows to explain.

    Raises
    ------
    EvidenceError
        For a continuous target.
    DataError
        For a table without rows, or with no column of a model.
    """
    columns = columns_of(frame)
    sides: list[_Side] = []
    for model in (before, after):
        variable = discrete_target(model, target, "Predictions are compared for a")
        table = table_for(model, columns, variable, unseen="missing")
        if not table.n_rows:
            raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
        sides.append((model, variable, table.evidence()))
    # The states of both models, each once; equal ones of several types, as 1 and True, are several.
    states = list({(type(s), s): s for _, v, _ in sides for s in v.states}.values())
    # Posteriors over all of them, shape (n_rows, n_states), and numbers of impossible rows.
    first, n_first = _posterior(*sides[0], states)
    second, n_second = _posterior(*sides[1], states)
    old, new = first.argmax(axis=1), second.argmax(axis=1)
    distance = 0.5 * np.abs(first - second).sum(axis=1)
    changed = old != new
    moves = Counter(
        (states[a], states[b])
        for a, b in zip(old[changed].tolist(), new[changed].tolist(), strict=True)
    )
    largest = []
    # By the last key first: changed predictions before others, then by distance.
    for row in np.lexsort((-distance, ~changed))[:n].tolist():
        if distance[row] <= _NEGLIGIBLE:
            continue
        answers = states[old[row]], states[new[row]]
        # The new answer against the old one, or, if the prediction is the same, the state that
        # gained most against all others (None).
        gained = states[int(np.argmax(second[row] - first[row]))]
        compared = answers[::-1] if changed[row] else (gained, None)
        shares = float(first[row, new[row]]), float(second[row, new[row]])
        reasons = _reasons(sides, compared, row)
        largest.append(ChangedPrediction(row, *answers, *shares, float(distance[row]), reasons))
    n_changed, mean = int(changed.sum()), float(distance.mean())
    return PredictionChanges(
        target, len(old), n_changed, mean, dict(moves), tuple(largest), (n_first, n_second)
    )


def _posterior(
    model: Model, target: Discrete, rows: Evidence, states: list[State]
) -> tuple[Floats, int]:
    """Return the posterior over some states in each row, and the number of impossible rows."""
    logs, impossible = model._rows_with_prior(target, rows)
    posterior = np.zeros((rows.n_rows, len(states)))
    columns = {(type(s), s): i for i, s in enumerate(states)}
    posterior[:, [columns[type(s), s] for s in target.states]] = np.exp(log_normalised(logs))
    return posterior, impossible


def _reasons(
    sides: list[_Side], compared: tuple[State, State | None], row: int
) -> tuple[tuple[Name, float], ...]:
    """Return the largest differences between the terms of two sums of log odds.

    There are none if a model has no such sum, or lacks a state. Each is that of the second model
    less that of the first.
    """
    # By name, and whether it is the prior: a feature may have that name.
    gaps: dict[tuple[Name, bool], float] = {}
    for (model, target, rows), sign in zip(sides, (-1.0, 1.0), strict=True):
        try:
            terms = explain(model, Contrast.of(target, *compared), rows.rows(np.array([row])))
        except BayesGraphError:
            return ()
        values = {("prior", True): terms.prior, **{(n, False): x for n, x in terms.items()}}
        for key, value in values.items():
            gaps[key] = gaps.get(key, 0.0) + sign * value
    moved = [
        (n, gap) for (n, _), gap in gaps.items() if not math.isnan(gap) and abs(gap) > _NEGLIGIBLE
    ]
    return tuple(sorted(moved, key=lambda item: -abs(item[1]))[:_REASONS])


# --------------- The difference between two models: variables, arcs, distributions and predictions


_MAXIMUM_LINES = 20
# Divergences and distances of predictions that are no larger than this are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Diff(Report):
    """What differs between two models; it prints as one page.

    Attributes
    ----------
    title : str
        The two models, each in a few words.
    structure : StructureChanges
        Variables and arcs that were added, removed, changed or turned.
    families : tuple of FamilyChange
        Distributions that differ, the largest divergence first.
    exponents : dict from name to (float, float)
        Largest exponent by class of each feature of two weighted networks, where they differ.
    predictions : PredictionChanges or None
        None without a table.
    remarks : tuple of str
        What could not be compared, and why; weights, prior ratios and exponents of averages that
        differ.
    """

    title: str
    structure: StructureChanges
    families: tuple[FamilyChange, ...]
    exponents: dict[Name, tuple[float, float]]
    predictions: PredictionChanges | None
    remarks: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no difference was found."""
        distance = 0.0 if self.predictions is None else self.predictions.mean_distance
        changes = self.families, self.exponents, self.remarks
        return self.structure.is_empty and not any(changes) and distance <= _ROUNDING

    @property
    def summary(self) -> str:
        """The difference in one sentence."""
        changes = self.structure
        parts = [
            f"arcs: {len(changes.added)} added, {len(changes.removed)} removed, "
            f"{len(changes.turned)} turned",
            f"distributions that differ: {len(self.families)}",
        ]
        if self.predictions is not None:
            n_changed, n_rows = self.predictions.n_changed, self.predictions.n_rows
            parts.append(f"predictions that change: {n_changed:,} of {n_rows:,} rows")
        return "; ".join(parts) + "."

    def tables(self) -> list[DisplayTable]:
        """Return the tables of the page."""
        tables = [*self.structure.tables(), families_table(self.families, self.remarks)]
        if self.exponents:
            shown = list(self.exponents.items())[:_MAXIMUM_LINES]
            rows = [(str(name), f"{rounded(p)} → {rounded(q)}") for name, (p, q) in shown]
            tables.append(DisplayTable(f"Exponents: {len(self.exponents)} differ", rows))
        return [*tables, *(self.predictions.tables() if self.predictions is not None else [])]


def diff(
    a: Any,
    b: Any,
    frame: TableLike | None = None,
    *,
    target: Name | None = None,
    n: int = 10,
) -> Diff:
    """Compare two models: their arcs, distributions and predictions.

    Parameters
    ----------
    a, b : models or fitted estimators
        Before and after. All models have variables and arcs; networks, weighted networks, mixtures
        and averages with equal numbers of networks have distributions to compare. An estimator also
        knows how many rows are behind a distribution, if it has ``statistics_``.
    frame : pandas, polars or pyarrow table, or mapping from name to column, optional
        Rows whose predictions are compared. Unknown categories are missing values.
    target : name, optional
        The discrete variable to predict; by default the class of the estimators.
    n : int
        Number of rows to list, with the findings that moved their log odds.

    Returns
    -------
    Diff
        It prints as one page; ``save("diff.html")`` writes it.

    Raises
    ------
    DataTypeError
        For an argument that is no model and no fitted estimator.
    DataError
        For a table without a target.
    EvidenceError
        For a continuous target.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> dry = bg.TableCPD(rain, [0.8, 0.2])
    >>> old = bg.BayesianNetwork([dry, bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])])
    >>> new = bg.BayesianNetwork([dry, bg.TableCPD(wet, [[0.9, 0.1], [0.4, 0.6]], [rain])])
    >>> found = bg.diff(old, new)
    >>> found.families[0].where
    'P(wet=no | rain=yes): 0.2 → 0.4'
    """
    n = whole_number("n", "rows", n, 0)
    first, second = _model(a), _model(b)
    words = [
        f"{type(source).__name__} of {len(model.variables)} variables"
        for source, model in ((a, first), (b, second))
    ]
    families, remarks = family_changes(a, b)
    predictions = None
    if frame is not None:
        chosen = _target(a, b) if target is None else target
        predictions = prediction_changes(first, second, chosen, frame, n)
    return Diff(
        " → ".join(words),
        structure_changes(first, second),
        tuple(families),
        _exponents(first, second),
        predictions,
        (*remarks, *_of_averages(first, second)),
    )


def _of_averages(before: Model, after: Model) -> Iterator[str]:
    """Yield the differences of two ensembles besides those of their networks, in words."""
    if min(len(before.networks), len(after.networks)) > 1:
        for name in ("weights", "prior_ratios", "exponents"):
            old, new = (_listed(getattr(model, name)) for model in (before, after))
            if old != new:
                yield f"{name} of the average: {old} → {new}"


def _listed(numbers: Any) -> Any:
    """Return an array, or a mapping to arrays, as rounded lists, so that they compare and print."""
    if isinstance(numbers, Mapping):
        return {name: _listed(values) for name, values in numbers.items()}
    return np.round(numbers, 6).tolist()


def _model(source: Any) -> Model:
    """Return a model, or that of a fitted estimator; raise an error for anything else."""
    model = model_of(source)
    if model is None:
        raise DataTypeError(
            f"Expected a model or a fitted estimator; got {source!r:.200}. Load files by "
            "bayesgraph.load, and fit estimators first."
        )
    return model


def _target(a: Any, b: Any) -> Name:
    """Return the name of the class that estimators or weighted networks agree on."""
    names = {source.target_.name for source in (a, b) if hasattr(source, "target_")}
    names |= {m.target.name for m in map(_model, (a, b)) if m.target is not None}
    if len(names) != 1:
        why = f"the models predict {quoted(names)}" if names else "networks predict anything"
        raise DataError(f"target= is needed with a table: {why}. Name the variable to predict.")
    chosen: Name = names.pop()
    return chosen


def _exponents(before: Model, after: Model) -> dict[Name, tuple[float, float]]:
    """Return the exponents of weighted networks that differ, the largest difference first.

    They are pairs (before, after) by the name of a feature, of each the largest over the classes.
    """
    if before.target is None or after.target is None:
        return {}
    largest = {
        name: (float(p.max()), float(after.exponents[name].max()))
        for name, p in before.exponents.items()
        if name in after.exponents
    }
    moved = {n: (p, q) for n, (p, q) in largest.items() if not math.isclose(p, q, abs_tol=1e-12)}
    return dict(sorted(moved.items(), key=lambda item: -abs(item[1][1] - item[1][0])))


# -------------------------- Drift between two tables under one model: which families moved
# A family has moved if the distribution of the child given its parents differs between the tables,
# that is, if child and table are dependent given the parents. The test is the likelihood ratio of
# `bayesgraph.independence_test`, whose statistic divided by twice the number of rows is an estimate
# of the conditional mutual information of child and table. P-values are adjusted for the number of
# families (Holm 1979), so that the probability of naming any family that did not move is at most
# alpha. A parent without a column, such as the class of rows not yet known, is summed out: the test
# is that of the child given the other parents.


@dataclass(frozen=True)
class FamilyDrift:
    """Whether the distribution of a variable given its parents differs between two tables.

    Attributes
    ----------
    name : name of the child
    parents : tuple of names
        Those given which the child is compared.
    latent : tuple of names
        Parents without a column in both tables, which are summed out. If the child moved, its
        distribution given them may have, or their own.
    information : float
        Estimate of the mutual information of child and table given the parents, in nats per row;
        NaN if there is no test.
    statistic : float
        Twice the log likelihood ratio.
    degrees_of_freedom : int
    p_value, adjusted : float
        Before and after adjusting for the number of families.
    moved : bool
        Whether the adjusted p-value is at most alpha.
    log_likelihood_before, log_likelihood_after : float
        Mean log likelihood of the child given `parents` under the model, in nats per row; NaN if
        the model does not tell.
    n_rows : int
        Number of rows that were compared.
    remark : str
        Why there is no test.
    """

    name: Name
    parents: tuple[Name, ...]
    latent: tuple[Name, ...]
    log_likelihood_before: float
    log_likelihood_after: float
    information: float = math.nan
    statistic: float = math.nan
    degrees_of_freedom: int = 0
    p_value: float = math.nan
    adjusted: float = math.nan
    moved: bool = False
    n_rows: int = 0
    remark: str = ""

    @property
    def title(self) -> str:
        """The child and its parents, such as ``wet | rain, sprinkler``."""
        parents = ", ".join(map(str, self.parents))
        return f"{self.name} | {parents}" if parents else str(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class TableDrift(Displayed):
    """Which families of a model moved between two tables.

    Attributes
    ----------
    families : tuple of FamilyDrift
        Those that moved first, then by information.
    alpha : float
    n_before, n_after : int
        Number of rows of the two tables.
    """

    families: tuple[FamilyDrift, ...]
    alpha: float
    n_before: int
    n_after: int

    @property
    def moved(self) -> tuple[Name, ...]:
        """Names of the children whose distribution given their parents moved."""
        return tuple(family.name for family in self.families if family.moved)

    def _display(self) -> DisplayTable:
        shown = self.families[:_MAXIMUM_LINES]
        rows = [
            (
                f"{'● ' if f.moved else '  '}{f.title}",
                "–" if math.isnan(f.information) else rounded(f.information),
                "–" if math.isnan(f.adjusted) else rounded(f.adjusted, 3),
                _change(f.log_likelihood_before, f.log_likelihood_after),
            )
            for f in shown
        ]
        notes = [
            f"● moved, at a family-wise error of {self.alpha:g} (Holm)",
            more(len(self.families), len(shown), "families"),
            *dict.fromkeys(f"{f.name}: {f.remark}" for f in shown if f.remark),
            _note_on_latent(self.families),
        ]
        return DisplayTable(
            f"Drift of {len(self.moved)} of {len(self.families)} families between "
            f"{self.n_before:,} and {self.n_after:,} rows",
            rows,
            header=("family", "nats a row", "adjusted p", "mean log likelihood"),
            bars=scaled(f.information for f in shown),
            note="\n".join(filter(None, notes)),
        )


def _change(before: float, after: float) -> str:
    if math.isnan(before) or math.isnan(after):
        return "–"
    return f"{rounded(before)} → {rounded(after)}"


def _note_on_latent(families: Sequence[FamilyDrift]) -> str:
    """Return a note on parents without a column; empty if all have one."""
    names = dict.fromkeys(name for family in families for name in family.latent)
    if not names:
        return ""
    them = "these" if len(names) > 1 else "that"
    text = (
        f"compared without {quoted(names)}, which not both tables have: where a family moved, "
        f"either it did, or only the distribution of {them} did"
    )
    return "\n".join(textwrap.wrap(text, 78))


def table_drift(
    model: Any, before: TableLike, after: TableLike, *, alpha: float = 0.05
) -> TableDrift:
    """Test each family of a model for drift between two tables.

    Parameters
    ----------
    model : model or fitted estimator
        Its graph gives the families, its distributions the log likelihoods. Members of a mixture
        or an average share families.
    before, after : pandas, polars or pyarrow table, or mapping from name to column
        Rows in which a variable of a family is missing do not count for this family; unknown
        categories are missing. Numbers are compared as linear Gaussians given their parents.
        Variables that are not columns of both, such as the class of rows not yet known, are summed
        out: their children are compared given the other parents.
    alpha : float, default 0.05
        Probability of naming any family if none moved.

    Returns
    -------
    TableDrift
        `bayesgraph.plot` draws it.

    Raises
    ------
    DataError
        If `alpha` is not between 0 and 1, a table has no rows, or has no column of the model.
    UnsupportedModelError
        For a factor graph of factors without children.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(rain, [0.5, 0.5]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.1, 0.9]], parents=[rain]),
    ... ])
    >>> before = {"rain": ["no", "yes"] * 50, "wet": ["no", "yes"] * 50}
    >>> after = {"rain": ["no", "yes"] * 50, "wet": ["yes", "no"] * 50}
    >>> bg.questions.table_drift(net, before, after).moved
    ('wet',)
    """
    check_share("alpha", alpha)
    asked = _model(model)
    tables = [table_for(asked, columns_of(t), None, unseen="missing") for t in (before, after)]
    if not all(table.n_rows for table in tables):
        raise DataError("Drift is between two tables that have rows; one of them has none.")
    families = [_family(asked, family, tables) for family in _families(asked, tables)]
    adjusted = holm_adjusted(np.array([family.p_value for family in families]))
    families = [
        replace(family, adjusted=p, moved=p <= alpha)
        for family, p in zip(families, adjusted.tolist(), strict=True)
    ]
    families.sort(key=lambda f: (not f.moved, math.isnan(f.information), -f.information))
    return TableDrift(tuple(families), alpha, tables[0].n_rows, tables[1].n_rows)


# A distribution of a child given parents, after the network that it is of and the path to this: the
# index of a network in each ensemble from the outermost one on.
_Member: TypeAlias = tuple[tuple[int, ...], Model, CPD]


class _Shared(NamedTuple):
    """A family that is compared, and the members that have it, each with its own latent parents.

    Attributes
    ----------
    child : Variable
    parents : tuple of Variable
        Those that both tables have.
    latent : dict with names as keys
        The other parents, in the order in which they were met.
    members : list of _Member
        The distributions of the child, one in each network that has the family.
    """

    child: Variable
    parents: tuple[Variable, ...]
    latent: dict[Name, None]
    members: list[_Member]


def _families(model: Model, tables: list[Table]) -> list[_Shared]:
    """Return the families that are compared; the networks of a mixture may share one."""
    present = {v.name for v in tables[0].variables} & {v.name for v in tables[1].variables}
    shared: dict[Any, _Shared] = {}
    for path, network, cpd in _members(model):
        child, parents = cpd.variable, cpd.parents
        # Of a child without a column all parents are kept, and none of them is latent.
        is_present = child.name in present
        latent = [p.name for p in parents if is_present and p.name not in present]
        parents = tuple(p for p in parents if not is_present or p.name in present)
        # A child without a column is one family, whatever its parents in each network.
        key = child.name, frozenset(p.name for p in parents if is_present)
        family = shared.setdefault(key, _Shared(child, parents, {}, []))
        family.latent.update(dict.fromkeys(latent))
        family.members.append((path, network, cpd))
    return list(shared.values())


def _members(model: Model) -> list[_Member]:
    """Return the distributions of all networks, or those that factors of a factor graph are."""
    if model.networks:
        return [(path, network, c) for path, network in networks_in(model) for c in network.cpds]
    graph: Any = model
    sources = [term.source for term in graph.terms]
    cpds = [cpd for source in sources if isinstance(source, CPD) for cpd in source.singles()]
    if not cpds:
        raise UnsupportedModelError(
            "The factors of this factor graph have no children, so that there are no families to "
            "compare; table_drift takes a network of parents and children."
        )
    return [((), model, cpd) for cpd in cpds]


def _family(model: Model, family: _Shared, tables: list[Table]) -> FamilyDrift:
    """Test one family for drift."""
    before, after = (
        float(np.mean([_mean_log_likelihood(model, member, table) for member in family.members]))
        for table in tables
    )
    parents = tuple(parent.name for parent in family.parents)
    drift = FamilyDrift(family.child.name, parents, tuple(family.latent), before, after)
    try:
        columns, categorical = _columns(model, family, tables)
        # Column 0 is the child, -1 the number of the table, and the others are the parents.
        places = tuple(range(1, len(columns) - 1))
        test = independence_test(columns, 0, -1, places, categorical=categorical)
    except BayesGraphError as error:
        return replace(drift, remark=str(error).split(". ")[0])  # its first sentence says why
    # The information is the likelihood ratio G² / 2n; a permutation test has Pearson's statistic.
    statistic = test.statistic
    if test.method == "permutation":
        statistic = independence_test(
            columns, 0, -1, places, method="g_squared", categorical=categorical
        ).statistic
    return replace(
        drift,
        information=max(0.0, statistic) / (2 * test.n_rows),
        statistic=statistic,
        degrees_of_freedom=test.degrees_of_freedom,
        p_value=test.p_value,
        n_rows=test.n_rows,
    )


def _columns(
    model: Model, family: _Shared, tables: list[Table]
) -> tuple[dict[Name, Any], list[Name]]:
    """Return the columns of a family in both tables by place, and the places of discrete ones.

    Rows of the first table come first. The place -1 has the number of the table, 0 or 1, place 0
    the child, and the parents follow.
    """
    variables = [family.child, *family.parents]
    # Members of one family have the same variables in the model, so that the first one serves.
    if any(isinstance(model.variable(v.name), CountVector) for v in variables):
        raise UnsupportedModelError("vectors of counts are not compared")
    parts = [_rows(model, family.members[0], table) for table in tables]
    if lacking := [v.name for v in variables if not all(v in part for part in parts)]:
        raise DataError(f"a table has no column {lacking[0]!r}")
    columns: dict[Name, Any] = {-1: np.repeat([0.0, 1.0], [table.n_rows for table in tables])}
    for place, variable in enumerate(variables):
        observed = np.concatenate([part.observed_rows(variable) for part in parts])
        values = np.concatenate([part.columns[variable] for part in parts])
        columns[place] = np.where(observed, values, np.nan)
    complete = ~np.isnan([*columns.values()]).any(axis=0)
    if len(np.unique(columns[-1][complete])) < 2:
        raise DataError("a table has no row without a missing value")
    return columns, [-1, *(i for i, v in enumerate(variables) if isinstance(v, Discrete))]


def _rows(model: Any, member: _Member, table: Table) -> Evidence:
    """Return the columns of a member's family that a table has, as the member reads them."""
    path, _, cpd = member
    # From the model down to the member's network: the rows as each network on the path reads them.
    names = {v.name for v in cpd.scope}
    rows = Evidence(table.n_rows, {v: table.column(v) for v in table.variables if v.name in names})
    for index in path:
        # Only ensembles have weights; members of an average may cut numbers, and merge states.
        if len(model.weights):
            rows = model.all_members[index].rows(rows)
        model = model.networks[index]
    return rows


def _mean_log_likelihood(model: Model, member: _Member, table: Table) -> float:
    """Return the mean log likelihood of a child given those of its parents that have columns.

    It is NaN without complete rows, or if the model cannot sum the other parents out.
    """
    (_, network, cpd), rows = member, _rows(model, member, table)
    # The rows in which all present variables of the family are observed.
    complete = np.all([rows.observed_rows(variable) for variable in rows.columns], axis=0)
    if cpd.variable not in rows or isinstance(cpd.variable, CountVector) or not complete.any():
        return math.nan
    family = rows.rows(np.flatnonzero(complete))
    if len(family.columns) == len(cpd.scope):  # no parent is to be summed out
        return float(np.mean(_log_values(cpd, family)))
    # log P(child | present parents) = log P(child, present parents) - log P(present parents)
    parents = family.without([cpd.variable])
    try:
        logs = network._log_evidence_rows(family)
        if parents.columns:
            logs = logs - network._log_evidence_rows(parents)
    except BayesGraphError:
        return math.nan
    return float(np.mean(logs))
