"""The questions to ask next for each row of a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np

from bayesgraph.asking.answers import has_cells, joint_rows, posterior_rows
from bayesgraph.asking.numbers import worth_of_number
from bayesgraph.asking.terms import Options, Terms
from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.errors import ImpossibleEvidenceWarning, UnsupportedModelError, warn
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import All, Case
from bayesgraph.models.model import Model
from bayesgraph.models.rows import evidence_rows
from bayesgraph.questions.estimators import question
from bayesgraph.typing import TableLike
from bayesgraph.variables import Discrete, Name, Variable

# Number of rows and answers that are asked for together.
_TOGETHER = 2**15


@dataclass(frozen=True, eq=False, repr=False)
class NextQuestions(Displayed):
    """The questions that can be asked next, for each row of a table.

    Attributes
    ----------
    names : tuple of names
        The variables that may be asked for.
    information, gain, scores : ndarray, shape (n_rows, n_names)
        As in `RankedQuestion`; NaN where a row has the variable, or is impossible.
    terms : Terms
    refused : mapping from name to str
        Why variables are not ranked.
    """

    names: tuple[Name, ...]
    information: Floats
    gain: Floats
    scores: Floats
    terms: Terms
    refused: dict[Name, str]

    @cached_property
    def best(self) -> list[Name | None]:
        """The best question of each row; None if none is worth its price."""
        if not self.names:
            return [None] * len(self.scores)
        scores = np.where(np.isnan(self.scores), -1.0, self.scores)
        places = np.argmax(np.round(scores, 12), axis=1)
        top = scores[np.arange(len(scores)), places]
        return [
            self.names[place] if self.terms.is_worth_it(score) else None
            for place, score in zip(places.tolist(), top.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.scores)

    def _display(self) -> DisplayTable:
        counted = Counter(self.best).most_common()
        rows = [("nothing" if n is None else str(n), f"{count:,}") for n, count in counted]
        bars = [count / max(len(self), 1) for _, count in counted]
        return DisplayTable(
            f"Next question of {len(self):,} rows, by {self.terms.by}", rows, bars=bars
        )


@question(All)
def next_question_rows(
    model: Model,
    table: TableLike,
    target: Name | None = None,
    *,
    unseen: str = "error",
    **options: Unpack[Options],
) -> NextQuestions:
    """Return the variables to ask for next, for each row of a table.

    Parameters
    ----------
    model : model or fitted estimator
    table : pandas, polars or pyarrow table, or mapping from name to column
        As for `query_rows`. What is missing in a row may be asked for.
    target : name, optional
        A discrete variable; its column is ignored. By default the class of the estimator.
    unseen : {"error", "missing", "warn"}
        What a value becomes that is not a state; see `query_rows`.
    **options
        ``costs``, ``among``, ``by``, ``losses``, ``abstain`` and ``least`` as for
        `next_question`.
    """
    terms = Terms.of(model, target, **options)
    variable = model.variables[terms.target]
    assert isinstance(variable, Discrete)  # the terms have checked it
    rows = evidence_rows(model, table, variable, unseen)
    before = posterior_rows(model, variable, rows)
    columns: dict[int, tuple[Floats, Floats]] = {}
    refused: dict[Name, str] = {}
    for v in terms.candidates:
        try:
            columns[v] = _column(model, terms, model.variables[v], rows, before)
        except UnsupportedModelError as error:
            if terms.is_chosen:
                raise
            refused[model.variables[v].name] = str(error)
    information, gain = (
        np.array([found[k] for found in columns.values()]).reshape(len(columns), rows.n_rows).T
        for k in range(2)
    )
    impossible = int((before.sum(axis=1) == 0).sum())
    if impossible:
        warn(
            f"{impossible} of {rows.n_rows} rows have probability zero under the model; there is "
            "no question for them.",
            ImpossibleEvidenceWarning,
        )
    prices = terms.prices_of([*columns])
    scores = terms.scores(terms.values(information, gain), np.broadcast_to(prices, gain.shape))
    scores[np.isnan(information)] = np.nan
    names = tuple(model.variables[v].name for v in columns)
    return NextQuestions(names, information, gain, scores, terms, refused)


def _column(
    model: Model, terms: Terms, candidate: Variable, rows: Evidence, before: Floats
) -> tuple[Floats, Floats]:
    """Return information and gain of a candidate in each row, NaN where there is no question."""
    is_open = before.any(axis=1)
    if candidate in rows:
        is_open &= ~rows.observed_rows(candidate)
    information, gain = np.full((2, rows.n_rows), np.nan)
    chosen = np.flatnonzero(is_open)
    if isinstance(candidate, Discrete) or has_cells(model, candidate):
        target = model.variables[terms.target]
        assert isinstance(target, Discrete)  # the terms have checked it
        n_answers = candidate.cardinality if isinstance(candidate, Discrete) else 64
        step = max(1, _TOGETHER // n_answers)
        for at in range(0, len(chosen), step):
            part = chosen[at : at + step]
            _, joint = joint_rows(model, target, candidate, rows.rows(part))
            found = terms.stakes.worth(before[part, None], joint)
            information[part], gain[part] = (shares.sum(axis=1) for shares in found)
    else:
        number = model.number[candidate.name]
        for row in chosen.tolist():
            case = _case_of(model, rows, row)
            worth = worth_of_number(model, terms.target, number, case, before[row], terms.stakes)
            information[row], gain[row] = worth.information, worth.gain
    return np.maximum(information, 0.0), np.maximum(gain, 0.0)


def _case_of(model: Model, rows: Evidence, row: int) -> Case:
    """Return one row of encoded evidence as a `Case`."""
    seen, _ = rows.rows(np.array([row])).split()
    hard = {model.number[v.name]: column[0] for v, column in seen.columns.items()}
    plain = {v: x.item() if isinstance(x, np.generic) else x for v, x in hard.items()}
    return Case(plain)
