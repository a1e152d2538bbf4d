"""The rows of a table that are nearest to a case and have another answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, EvidenceError, MemoryLimitError, quoted
from bayesgraph.core.typing import EvidenceLike, TableLike, Targets
from bayesgraph.core.variables import (
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
from bayesgraph.inference import log_normalised
from bayesgraph.models import (
    Between,
    Model,
    as_mapping,
    read_case,
    read_targets,
    table_for,
    with_findings,
)
from bayesgraph.questions.estimators import discrete_target, question
from bayesgraph.questions.flips import Rules
from bayesgraph.tables import Table, columns_of

# -------------------------- The rows of a table that are nearest to a case and have another answer


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
        For a target that is not discrete, if `to` is the answer already, and as in `query`.
    DataError
        If there is no table, or it has no rows, or lacks a finding.
    """
    variable = discrete_target(model, target, "The answer is a state of a")
    if table is None:
        raise DataError("table= is needed: the rows among which to look.")
    n = whole_number("n", "rows", n, 1)
    rules = Rules(model, costs, fixed)
    findings = _findings(model, as_mapping(evidence))
    before = model.query(target, evidence).argmax
    if to is not None and variable.index(to) == variable.index(before):
        raise EvidenceError(f"The answer is {to!r} already; name another one in to=.")
    rows = table_for(model, columns_of(table), variable, unseen="missing")
    if not rows.n_rows:
        raise DataError("The table has no rows among which to look.")
    if missing := [v.name for v in findings if v not in rows.variables]:
        raise DataError(f"The table lacks the columns {quoted(missing)} of findings.")
    # Rows that are impossible under the model have the prior.
    logs, _ = model._rows_with_prior(variable, rows.evidence())
    posteriors = np.exp(log_normalised(logs))
    answers = posteriors.argmax(axis=1)
    wanted = answers != variable.index(before) if to is None else answers == variable.index(to)
    # What each finding adds to the distance of each row; vectors of counts add nothing.
    distances = {
        v: _distances(v, column, rows, rules)
        for v, column in findings.items()
        if not isinstance(v, CountVector)
    }
    # Their sum, of zeros if there are none; rows with the same answer are out of reach.
    total = np.sum([np.zeros(rows.n_rows), *distances.values()], axis=0)
    total = np.where(wanted, total, np.inf)
    nearest = []
    for row in np.argsort(total, kind="stable")[:n].tolist():
        if total[row] < np.inf:
            differences = {
                v.name: (_value(v, findings[v]), _value(v, rows.column(v)[[row]]))
                for v, distance in distances.items()
                if distance[row] > 0
            }
            answer = int(answers[row])
            state, p = variable.states[answer], float(posteriors[row, answer])
            nearest.append(NearRow(row, float(total[row]), state, p, differences))
    return NearestRows(variable.name, before, tuple(nearest))


def _findings(model: Model, evidence: Mapping[Name, Any]) -> dict[Variable, Any]:
    """Return the findings by variable: encoded columns of one row, or intervals (`Between`).

    Soft evidence is left out.
    """
    intervals = {model.variable(n): v for n, v in evidence.items() if isinstance(v, Between)}
    values = {n: v for n, v in evidence.items() if not isinstance(v, Between)}
    asked, states = with_findings(model, values)
    # What a finding says about its indicator of missing values is no difference of its own.
    columns = {
        v: column
        for v, column in asked._encode(states).columns.items()
        if not isinstance(v, MissingIndicator) or v.name in states
    }
    return columns | intervals


def _distances(variable: Variable, finding: Any, rows: Table, rules: Rules) -> Floats:
    """Return the cost of the difference between a finding and the value of each row.

    The result has the shape (n_rows,). A difference costs a share from 0 to 1 of the weight; that
    of a fixed finding is infinite. The finding is one that `_findings` returns.
    """
    column = rows.column(variable)
    missing = rows.is_missing(variable)
    low, high = _ends(variable, finding)
    # States without an order differ or not; numbers, and intervals by their codes, have distances.
    if isinstance(variable, Discrete) and not isinstance(variable, Binned):
        share = (column != low).astype(np.float64)
    else:
        away = np.maximum(0.0, np.maximum(low - column, column - high))
        if isinstance(variable, Binned):
            # Intervals differ by the number of cut points between them.
            width = variable.cardinality - 1.0
        else:
            # The range of the numbers in the table, and of the finding, which may have no end.
            width = float(np.ptp([*column[~missing], *filter(np.isfinite, (low, high))]))
        share = away / (width or 1.0)
    share = np.where(missing, 1.0, share)
    weight = rules.weights.get(variable.name, 1.0)
    # Not 0 times infinity where there is no difference.
    if variable.name in rules.fixed or np.isinf(weight):
        return np.where(share > 0, np.inf, 0.0)
    return weight * share


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
    """Return the value of a finding or of a row, decoded; an interval as it is."""
    if isinstance(column, Between):
        return column
    return plain(decode(variable, column)[0])


# -------------- Most relevant explanation: the states of some variables that explain evidence best
# The generalised Bayes factor of an explanation x of evidence e is
#
#     GBF(x; e) = P(e | x) / P(e | not x) = P(x | e) P(not x) / (P(x) P(not x | e)),
#
# where "not x" is that at least one variable of x has another state (Yuan, Lim and Lu 2011). It is
# the ratio of the odds of x after and before the evidence. Unlike a most probable assignment, it
# does not grow with variables that have nothing to do with the evidence.


# Maximum number of explanations to compare: the product of all numbers of states, each plus one.
_MAX_EXPLANATIONS = 1 << 22
# Relative difference of Bayes factors that is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class RelevantExplanation(Displayed):
    """States of one or more variables that explain evidence.

    Attributes
    ----------
    states : dict from name to state
    factor : float
        The generalised Bayes factor; infinite if the evidence excludes everything else.
    prior, posterior : float
        Probability of all these states together, before and after the evidence.
    """

    states: Mapping[Name, State]
    factor: float
    prior: float
    posterior: float

    def _display(self) -> DisplayTable:
        return DisplayTable(
            f"Explanation with a generalised Bayes factor of {rounded(self.factor, 6)}",
            [(str(name), repr(state)) for name, state in self.states.items()],
            note=f"probability {rounded(self.prior)} before, {rounded(self.posterior)} after the "
            "evidence",
        )


@question()
def most_relevant(
    model: Model, targets: Targets | None = None, evidence: EvidenceLike = None, k: int = 1
) -> list[RelevantExplanation]:
    """Return the states of some of the targets that explain the evidence best.

    The generalised Bayes factor of an explanation x is P(evidence | x) / P(evidence | not x),
    which leaves out targets that explain nothing (Yuan, Lim and Lu 2011).

    Parameters
    ----------
    model : model or fitted estimator
    targets : name or list of names
        Discrete variables, of which an explanation has one or more; by default the class of the
        estimator.
    evidence : mapping from name to value
        As in `query`; it is needed.
    k : int
        Maximum number of explanations. None of them has all states of a better one, or is
        part of a better one.

    Raises
    ------
    EvidenceError
        For continuous targets, or no evidence.
    ImpossibleEvidenceError
        If the evidence has probability zero.
    MemoryLimitError
        If there are too many explanations to compare.
    """
    k = whole_number("k", "explanations", k, 1)
    model, evidence = with_findings(model, as_mapping(evidence))
    case = read_case(model, evidence)
    if not (case.hard or case.soft):
        raise EvidenceError("An explanation explains evidence; none was given.")
    discrete: list[Any] = [model.variables[v] for v in read_targets(model, targets, case.hard)]
    if continuous := [v.name for v in discrete if not isinstance(v, Discrete)]:
        raise EvidenceError(f"Explanations are states; {quoted(continuous)} are not discrete.")
    # In each explanation a variable has one of its states, or is left out.
    total = math.prod(v.cardinality + 1 for v in discrete)
    if total > _MAX_EXPLANATIONS:
        raise MemoryLimitError(
            f"{len(discrete)} variables have {total:,} explanations; at most "
            f"{_MAX_EXPLANATIONS:,} are compared. Name fewer targets."
        )
    names = [v.name for v in discrete]
    before, after = (model.query(names, findings).probabilities for findings in (None, evidence))
    return list(_best(discrete, _partial(before), _partial(after), k))


def _partial(joint: Floats) -> tuple[Floats, Floats]:
    """Return probabilities of all partial assignments, and of their complements.

    Each axis has an entry for each state of a variable, and a last one where it is left out. The
    complements are sums of their own, because 1 - p has no digits where p is close to one.
    """
    # After each axis: mass that agrees with an assignment in the axes so far, and mass that does
    # not, by the assignment in these axes and the state in all others. Axes so far have one entry
    # more, that of all states.
    inside, outside = joint, np.zeros_like(joint)
    for axis in range(joint.ndim):
        total_outside = outside.sum(axis=axis, keepdims=True)
        # For each entry the sum of those before and after it along the axis: all others, without
        # subtraction.
        entries = np.moveaxis(inside, axis, 0)
        zero = np.zeros_like(entries[:1])
        before = np.cumsum(np.concatenate([zero, entries[:-1]]), axis=0)
        after = np.cumsum(np.concatenate([zero, entries[:0:-1]]), axis=0)[::-1]
        others = np.moveaxis(before + after, 0, axis)
        inside = np.concatenate([inside, inside.sum(axis=axis, keepdims=True)], axis=axis)
        # What disagrees differs in this axis, or differed in one before it.
        outside = np.concatenate([others + total_outside, total_outside], axis=axis)
    return inside, outside


def _best(
    variables: Sequence[Discrete],
    before: tuple[Floats, Floats],
    after: tuple[Floats, Floats],
    k: int,
) -> Iterator[RelevantExplanation]:
    """Yield the best explanations, of which none is part of another one.

    The arguments `before` and `after` are results of `_partial`, without and with the evidence.
    """
    (prior, prior_of_others), (posterior, posterior_of_others) = before, after
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = (posterior * prior_of_others) / (prior * posterior_of_others)
    # An axis for each variable, as `_partial` has them; from here on flat, with indices of entries.
    # Impossible explanations have no factor, and the empty one explains nothing.
    factors = np.where(prior > 0, factors, np.nan).ravel()
    # The last index along an axis leaves its variable out. Number of states in each explanation.
    indices = np.ix_(*map(np.arange, prior.shape))
    is_in = [index < v.cardinality for index, v in zip(indices, variables, strict=True)]
    lengths = sum(is_in, start=np.zeros(prior.shape, dtype=np.intp)).ravel()
    possible = np.flatnonzero(~np.isnan(factors) & (lengths > 0))
    # Factors that differ by rounding are equal, so that the fewest states come first: their logs
    # count in units of a hundred times the rounding. A factor of 0 has no log.
    digits = np.round(np.log(np.maximum(factors[possible], 1e-300)) / _ROUNDING * 1e-2)
    # The last key comes first: by the largest factor, the fewest states, and the index.
    order = possible[np.lexsort((possible, lengths[possible], -digits))]
    # Of each explanation so far its pairs (axis of the variable, code of the state).
    kept: list[frozenset[tuple[int, int]]] = []
    for entry in order.tolist():
        codes = np.unravel_index(entry, prior.shape)
        chosen = frozenset(
            (axis, int(code))
            for axis, (code, variable) in enumerate(zip(codes, variables, strict=True))
            if code < variable.cardinality
        )
        if any(chosen <= other or chosen >= other for other in kept):
            continue
        kept.append(chosen)
        states = {variables[axis].name: variables[axis].states[c] for axis, c in sorted(chosen)}
        yield RelevantExplanation(
            states, float(factors[entry]), float(prior[codes]), float(posterior[codes])
        )
        if len(kept) == k:
            return
