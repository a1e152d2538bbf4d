"""The difference between two models: variables, arcs, distributions and predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import DisplayTable, Report, more, rounded
from bayesgraph.core.errors import BayesGraphError, DataError, DataTypeError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import (
    Arc,
    Binned,
    CountVector,
    Discrete,
    Grouped,
    Name,
    State,
    Variable,
)
from bayesgraph.inference import log_normalised
from bayesgraph.models import Model, table_for
from bayesgraph.questions.contribution_terms import Contrast, signed
from bayesgraph.questions.contributions import explain
from bayesgraph.questions.estimators import discrete_target
from bayesgraph.questions.family_differences import FamilyChange, families_table, family_changes
from bayesgraph.tables import columns_of

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
        return not any(
            (
                self.added_variables, self.removed_variables, self.changed_variables, self.added,
                self.removed, self.turned, self.probabilities,
            )
        )  # fmt: skip

    def tables(self) -> list[DisplayTable]:
        """Return the tables of variables and of arcs."""
        rows = [(str(name), "added") for name in self.added_variables]
        rows += [(str(name), "removed") for name in self.removed_variables]
        rows += [(str(name), text) for name, text in self.changed_variables.items()]
        found = [DisplayTable("Variables", rows or [("no difference", "")])]
        arcs = [
            (f"{a} → {b}", what)
            for what, chosen in (
                ("added", self.added),
                ("removed", self.removed),
                ("turned", self.turned),
            )
            for a, b in chosen
        ]
        arcs += [
            (f"{a} → {b}", f"probability {p:.3g} → {q:.3g}")
            for (a, b), (p, q) in self.probabilities.items()
        ]
        counts = f"{self.kept} in both, {len(self.added)} added, {len(self.removed)} removed, "
        shown = arcs[:_MAXIMUM_ARCS]
        note = f"... {len(arcs) - len(shown)} more arcs" if len(arcs) > len(shown) else ""
        title = f"Arcs: {counts}{len(self.turned)} turned"
        return [*found, DisplayTable(title, shown, note=note)]


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
    turned = [
        (a, b)
        for a, b in second
        if (a, b) not in first and (b, a) in first and (b, a) not in second
    ]
    flipped = {(b, a) for a, b in turned}
    return StructureChanges(
        tuple(name for name in after.names if name not in before._index_of),
        tuple(name for name in before.names if name not in after._index_of),
        changed,
        tuple(arc for arc in second if arc not in first and arc not in turned),
        tuple(arc for arc in first if arc not in second and arc not in flipped),
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
    known, wanted = ({(type(v), v) for v in values} for values in (old, new))
    more = [v for v in new if (type(v), v) not in known]
    fewer = [v for v in old if (type(v), v) not in wanted]
    parts = [f"{what} added: {quoted(more)}"] if more else []
    parts += [f"{what} removed: {quoted(fewer)}"] if fewer else []
    return "; ".join(parts) or f"{what} in another order: {quoted(new)}"


# ------------------- Predictions of two models for the rows of a table: which ones change, and why


# Number of findings that explain a changed prediction.
_REASONS = 3
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
        found = [
            DisplayTable(
                title, [(f"{a} → {b}", f"{n:,}") for (a, b), n in moves], note="\n".join(notes)
            )
        ]
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
            found.append(DisplayTable("Rows that change most", rows, header=header, note=note))
        return found


@dataclass(frozen=True, eq=False)
class _Side:
    """One model and the rows as it reads them.

    Attributes
    ----------
    model : Model
    target : Discrete
    rows : Evidence
    posterior : ndarray, shape (n_rows, n_states)
        Over all states of both models.
    impossible : int
    """

    model: Model
    target: Discrete
    rows: Evidence
    posterior: Floats
    impossible: int


def prediction_changes(
    before: Model, after: Model, target: Name, frame: TableLike, n: int
) -> PredictionChanges:
    """Return how predictions of a discrete variable for the rows of a table change.

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
    targets = [
        discrete_target(m, target, "Predictions are compared for a") for m in (before, after)
    ]
    states = list({(type(s), s): s for v in targets for s in v.states}.values())
    sides = [
        _side(model, variable, columns, states)
        for model, variable in zip((before, after), targets, strict=True)
    ]
    first, second = (side.posterior for side in sides)
    old, new = first.argmax(axis=1), second.argmax(axis=1)
    distance = 0.5 * np.abs(first - second).sum(axis=1)
    changed = old != new
    order = np.lexsort((np.arange(len(old)), -distance, ~changed))[:n]
    moves: dict[tuple[State, State], int] = {}
    for a, b in zip(old[changed].tolist(), new[changed].tolist(), strict=True):
        moves[states[a], states[b]] = moves.get((states[a], states[b]), 0) + 1
    largest = [
        _explained(sides, states, int(row), old, new, float(distance[row]))
        for row in order
        if distance[row] > _NEGLIGIBLE
    ]
    return PredictionChanges(
        target, len(old), int(changed.sum()), float(distance.mean()), moves, tuple(largest),
        (sides[0].impossible, sides[1].impossible),
    )  # fmt: skip


def _side(model: Model, target: Discrete, columns: Any, states: list[State]) -> _Side:
    table = table_for(model, columns, target, unseen="missing")
    if not table.n_rows:
        raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
    rows = table.evidence()
    logs, impossible = model._rows_with_prior(target, rows)
    whole = np.zeros((table.n_rows, len(states)))
    places = {(type(s), s): i for i, s in enumerate(states)}
    whole[:, [places[type(s), s] for s in target.states]] = np.exp(log_normalised(logs))
    return _Side(model, target, rows, whole, impossible)


def _explained(
    sides: list[_Side],
    states: list[State],
    row: int,
    old: NDArray[np.intp],
    new: NDArray[np.intp],
    distance: float,
) -> ChangedPrediction:
    first, second = (side.posterior[row] for side in sides)
    gained = int(np.argmax(second - first))
    after = int(new[row])
    positive, negative = (gained, None) if old[row] == new[row] else (after, int(old[row]))
    contrast = states[positive], None if negative is None else states[negative]
    return ChangedPrediction(
        row,
        states[int(old[row])],
        states[after],
        float(first[after]),
        float(second[after]),
        distance,
        _reasons(sides, contrast, row),
    )


def _reasons(
    sides: list[_Side], contrast: tuple[State, State | None], row: int
) -> tuple[tuple[Name, float], ...]:
    """Return the largest differences between the terms of two sums of log odds.

    There are none if a model has no such sum, or lacks a state.
    """
    terms: list[dict[Name, float]] = []
    for side in sides:
        model: Any = side.model
        try:
            found = explain(
                model, Contrast.of(side.target, *contrast), side.rows.rows(np.array([row]))
            )
        except BayesGraphError:
            return ()
        terms.append({"prior": found.prior} | {t.name: t.log_odds for t in found.terms})
    names = dict.fromkeys([*terms[0], *terms[1]])
    gaps = {name: terms[1].get(name, 0.0) - terms[0].get(name, 0.0) for name in names}
    known = [(n, gap) for n, gap in gaps.items() if not math.isnan(gap) and abs(gap) > _NEGLIGIBLE]
    return tuple(sorted(known, key=lambda item: -abs(item[1]))[:_REASONS])


# --------------- The difference between two models: variables, arcs, distributions and predictions


_MAXIMUM_LINES = 20
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
        same = self.structure.is_empty and not self.families and not self.exponents
        found = self.predictions
        return same and not self.remarks and (found is None or found.mean_distance <= _ROUNDING)

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
            found = self.predictions
            parts.append(f"predictions that change: {found.n_changed:,} of {found.n_rows:,} rows")
        return "; ".join(parts) + "."

    def tables(self) -> list[DisplayTable]:
        """Return the tables of the page."""
        found = [*self.structure.tables(), families_table(self.families, self.remarks)]
        if self.exponents:
            shown = list(self.exponents.items())[:_MAXIMUM_LINES]
            rows = [(str(name), f"{rounded(p)} → {rounded(q)}") for name, (p, q) in shown]
            found.append(DisplayTable(f"Exponents: {len(self.exponents)} differ", rows))
        return [*found, *(self.predictions.tables() if self.predictions is not None else [])]


def diff(
    a: Any,
    b: Any,
    frame: TableLike | None = None,
    *,
    target: Name | None = None,
    n: int = 10,
) -> Diff:
    """Return what differs between two models: arcs, distributions and predictions.

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
    models = [_model(source) for source in (a, b)]
    first, second = models
    families, remarks = family_changes(a, b)
    predictions = None
    if frame is not None:
        chosen = _target(a, b) if target is None else target
        predictions = prediction_changes(first, second, chosen, frame, n)
    return Diff(
        f"{_words(a)} → {_words(b)}",
        structure_changes(first, second),
        tuple(families),
        _exponents(first, second),
        predictions,
        (*remarks, *_of_averages(first, second)),
    )


def _of_averages(before: Model, after: Model) -> list[str]:
    """Return what differs between two ensembles besides their networks, in words."""
    if min(len(before.networks), len(after.networks)) < 2:
        return []
    found = []
    for name in ("weights", "prior_ratios", "exponents"):
        old, new = (_listed(getattr(model, name)) for model in (before, after))
        if old != new:
            found.append(f"{name} of the average: {old} → {new}")
    return found


def _listed(numbers: Any) -> Any:
    if isinstance(numbers, Mapping):
        return {name: _listed(own) for name, own in numbers.items()}
    return np.round(numbers, 6).tolist()


def _model(source: Any) -> Model:
    found = getattr(source, "network_", source)
    if not isinstance(found, Model):
        raise DataTypeError(
            f"diff compares two models or fitted estimators; got {source!r:.200}. Load files by "
            "bayesgraph.load, and fit estimators first."
        )
    return found


def _target(a: Any, b: Any) -> Name:
    names = {source.target_.name for source in (a, b) if hasattr(source, "target_")}
    names |= {m.target.name for m in map(_model, (a, b)) if m.target is not None}
    if len(names) != 1:
        why = f"the models predict {quoted(names)}" if names else "networks predict anything"
        raise DataError(f"target= is needed with a table: {why}. Name the variable to predict.")
    chosen: Name = names.pop()
    return chosen


def _words(source: Any) -> str:
    model = _model(source)
    kind = type(source).__name__
    return f"{kind} of {len(model.variables)} variables"


def _exponents(before: Model, after: Model) -> dict[Name, tuple[float, float]]:
    """Return the exponents of weighted networks that differ, the largest difference first."""
    if before.target is None or after.target is None:
        return {}
    found = {
        name: (float(p.max()), float(after.exponents[name].max()))
        for name, p in before.exponents.items()
        if name in after.exponents
    }
    moved = {name: pair for name, pair in found.items() if not math.isclose(*pair, abs_tol=1e-12)}
    return dict(sorted(moved.items(), key=lambda item: -abs(item[1][1] - item[1][0])))
