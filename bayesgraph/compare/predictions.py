"""Predictions of two models for the rows of a table: which ones change, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.display import DisplayTable, more, rounded
from bayesgraph.encoding import columns_of
from bayesgraph.errors import BayesGraphError, DataError, EvidenceError, quoted
from bayesgraph.explain import Contrast, explain
from bayesgraph.explain.results import signed
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.normalise import log_normalised
from bayesgraph.models.model import Model
from bayesgraph.models.rows import table_for
from bayesgraph.typing import TableLike
from bayesgraph.variables import Discrete, Name, State

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
    targets = [_discrete(model, target) for model in (before, after)]
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


def _discrete(model: Model, target: Name) -> Discrete:
    variable = model.variable(target)
    if not isinstance(variable, Discrete):
        raise EvidenceError(
            f"Predictions are compared state by state; {target!r} is not discrete. Choose another "
            "target=."
        )
    return variable


def _side(model: Model, target: Discrete, columns: Any, states: list[State]) -> _Side:
    table = table_for(model, columns, target, unseen="missing")
    if not table.n_rows:
        raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
    rows = table.evidence()
    logs, impossible = model.rows_with_prior(target, rows)
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
