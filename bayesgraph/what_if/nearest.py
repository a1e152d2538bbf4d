"""The rows of a table that are nearest to a case and have another answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.checks import whole_number
from bayesgraph.display import Displayed, DisplayTable, rounded
from bayesgraph.encoding import Table, columns_of
from bayesgraph.errors import DataError, EvidenceError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.normalise import log_normalised
from bayesgraph.models.evidence import Between, as_mapping
from bayesgraph.models.findings import with_findings
from bayesgraph.models.model import Model
from bayesgraph.models.rows import table_for
from bayesgraph.questions.estimators import question
from bayesgraph.typing import EvidenceLike, TableLike
from bayesgraph.variables import (
    Binned,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    State,
    Variable,
    decode,
    plain,
)
from bayesgraph.what_if.options import Rules


@dataclass(frozen=True)
class NearRow:
    """A row with another answer.

    Attributes
    ----------
    row : int
        Number of the row, from 0 on.
    distance : float
    answer : state
    probability : float
        Probability of the answer given the values of the row.
    differences : dict from name to (finding, value of the row)
    """

    row: int
    distance: float
    answer: State
    probability: float
    differences: Mapping[Name, tuple[Any, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class NearestRows(Displayed, Sequence[NearRow]):
    """The rows of a table that are nearest to the findings and have another answer.

    Attributes
    ----------
    target : name
    before : state
        The answer given the findings.
    rows : tuple of NearRow
        By ascending distance.
    """

    target: Name
    before: State
    rows: tuple[NearRow, ...]

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def _display(self) -> DisplayTable:
        rows = [
            (
                f"row {near.row}",
                f"{near.answer} ({near.probability:.4f})",
                rounded(near.distance),
                ", ".join(f"{n}: {a} → {b}" for n, (a, b) in near.differences.items()),
            )
            for near in self.rows
        ]
        header = ("row", "answer", "distance", "differences") if rows else ()
        note = "" if rows else "no row has another answer"
        return DisplayTable(
            f"Nearest rows whose {self.target} is not {self.before!r}", rows, header, note=note
        )


@question()
def nearest_rows(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    table: TableLike | None = None,
    to: State | None = None,
    *,
    n: int = 5,
    costs: Mapping[Name, float] | None = None,
    fixed: Iterable[Name] = (),
) -> NearestRows:
    """Return the rows of a table that are nearest to the findings and have another answer.

    Parameters
    ----------
    model : model or fitted estimator
    target, evidence, to, costs, fixed
        As in `flip`; costs are weights of findings. Rows differ in no fixed finding.
    table : pandas, polars or pyarrow table, or mapping from name to column
        Rows with the findings; the answer of a row is the most probable state given its values.
    n : int
        Maximum number of rows.

    Returns
    -------
    NearestRows
        Distances are sums of the costs of all differences; numbers count by the share of their
        range in the table, those outside the interval of a finding by their distance to it, and a
        missing value as a difference. Soft evidence does not count.

    Raises
    ------
    EvidenceError
        For a target that is not discrete, and as in `query`.
    DataError
        If there is no table, or it has no rows, or lacks a finding.
    """
    variable = model.variable(target)
    if not isinstance(variable, Discrete):
        raise EvidenceError(f"The answer is a state; {target!r} is not discrete.")
    if table is None:
        raise DataError("table= is needed: the rows among which to look.")
    n = whole_number("n", "rows", n, 1)
    rules = Rules.of(model, costs, fixed, None, None, 2)
    findings = _findings(model, as_mapping(evidence))
    before = model.query(target, evidence).argmax
    rows = table_for(model, columns_of(table), variable, unseen="missing")
    if not rows.n_rows:
        raise DataError("The table has no rows among which to look.")
    if missing := [v.name for v in findings if v not in rows.variables]:
        raise DataError(f"The table lacks the columns {quoted(missing)} of findings.")
    logs, _ = model.rows_with_prior(variable, rows.evidence())
    shares = np.exp(log_normalised(logs))
    answers = shares.argmax(axis=1)
    code = variable.index(before)
    wanted = answers != code if to is None else answers == variable.index(to)
    parts = {
        v: _distances(v, column, rows, rules.weight(v.name), fixed=v.name in rules.fixed)
        for v, column in findings.items()
        if not isinstance(v, CountVector)
    }
    total = np.sum([np.zeros(rows.n_rows), *parts.values()], axis=0)
    total = np.where(wanted, total, np.inf)
    order = [row for row in np.argsort(total, kind="stable")[:n].tolist() if total[row] < np.inf]
    found = [
        NearRow(
            row,
            float(total[row]),
            variable.states[int(answers[row])],
            float(shares[row, answers[row]]),
            {
                v.name: (_value(v, findings[v]), _value(v, rows.column(v)[[row]]))
                for v, part in parts.items()
                if part[row] > 0
            },
        )
        for row in order
    ]
    return NearestRows(variable.name, before, tuple(found))


def _findings(model: Model, given: Mapping[Name, Any]) -> dict[Variable, Any]:
    """Return values as encoded columns of one row, and intervals; without soft evidence."""
    intervals = {model.variable(n): v for n, v in given.items() if isinstance(v, Between)}
    asked, known = with_findings(
        model, {n: v for n, v in given.items() if not isinstance(v, Between)}
    )
    # What a finding says about its indicator of missing values is no difference of its own.
    found: dict[Variable, Any] = {
        v: column
        for v, column in asked.encode(known).columns.items()
        if not isinstance(v, MissingIndicator) or v.name in known
    }
    return found | intervals


def _distances(
    variable: Variable, finding: Any, rows: Table, weight: float, *, fixed: bool
) -> Floats:
    """Return the cost of the difference between a finding and the value of each row."""
    column = rows.column(variable)
    missing = rows.is_missing(variable)
    low, high = _ends(variable, finding)
    if isinstance(variable, Discrete) and not isinstance(variable, Binned):
        share = (column != low).astype(np.float64)
    else:
        away = np.maximum(0.0, np.maximum(low - column, column - high))
        if isinstance(variable, Binned):
            # Intervals differ by the number of cut points between them.
            width = variable.cardinality - 1.0
        else:
            seen = [*column[~missing], *(end for end in (low, high) if np.isfinite(end))]
            width = float(np.max(seen) - np.min(seen))
        share = away / (width or 1.0)
    share = np.where(missing, 1.0, share)
    if fixed:
        return np.where(share > 0, np.inf, 0.0)
    return weight * share if np.isfinite(weight) else np.where(share > 0, np.inf, 0.0)


def _ends(variable: Variable, finding: Any) -> tuple[Any, Any]:
    """Return the lowest and the highest value of a finding, codes of a discrete variable."""
    if not isinstance(finding, Between):
        return finding[0], finding[0]
    if not isinstance(variable, Binned):
        return finding.low, finding.high
    above = np.nextafter(finding.low, np.inf)  # the interval that begins at the lower bound
    first, last = variable.codes(np.array([above, finding.high])).tolist()
    return first, last


def _value(variable: Variable, column: Any) -> Any:
    if isinstance(column, Between):
        return column
    return plain(decode(variable, column)[0])
