"""The log odds of a class given one row, as an exact sum of one term for each finding.

With the observed features x_1, ..., x_n in topological order, the chain rule says

    log P(c, x) = log P(c) + sum_i log P(x_i | x_1, ..., x_{i-1}, c)

for every class c, whatever is missing; the log odds of two classes are differences of these sums.
If each parent of x_i is observed or the class, and the class is not a descendant of x_i, then x_i
is independent of all other earlier features given its parents (the local Markov property, Pearl
1988, section 3.3), and its term follows from its CPD. In a naive Bayes the term is the log ratio of
the feature's class-conditional probabilities, the weight of evidence of Good (1950). A vector of
counts, such as words, has a term for each item if the class is its only parent. All other terms are
computed by one batch query, whose rows observe growing sets of features.

An average of posteriors has no likelihoods. Its terms are the changes of its log odds when the
features are observed one after the other, in the order of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, counted, dense_row, is_sparse
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention, TableLike
from bayesgraph.core.variables import CountVector, Discrete, Name, State, Variable, decode, plain
from bayesgraph.models import (
    Addend,
    Between,
    Model,
    as_mapping,
    evidence_rows,
    impossible,
    with_findings,
)
from bayesgraph.questions.contribution_terms import (
    Contrast,
    Contribution,
    Contributions,
    RowContributions,
)
from bayesgraph.questions.estimators import discrete_target, question


def contributions(
    model: Model,
    target: Name,
    evidence: EvidenceLike = None,
    *,
    positive: State | None = None,
    negative: State | None = None,
    do: Intervention = None,
) -> Contributions:
    """Return the log odds of a discrete variable as a sum of one term for each finding.

    Parameters
    ----------
    target : name
        A discrete variable.
    evidence : mapping from name to value, optional
        Values and intervals of numbers (:class:`Between`), not likelihoods; None and NaN mean not
        observed. A factor graph takes a value for every variable but the target.
    positive : state, optional
        The state in the numerator of the odds; by default the second of two states.
    negative : state, optional
        The state in the denominator; by default all other states together. The terms then
        depend on the order of the findings, because each finding changes the relative
        probabilities of the other states.
    do : mapping from name to value, optional
        Variables that are set from outside, whatever their parents; see `do`. The prior log odds
        are those after the intervention, and the terms those of what is seen then.

    Returns
    -------
    Contributions
        A mapping from finding to its term, in nats; for a factor graph, from factor (raised to
        its exponent) to its term.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError, DataError
        For unknown names or states, or invalid evidence; the message says what is near it.
    ImpossibleEvidenceError
        If the evidence has probability zero under both numerator and denominator.
    """
    if do:
        after = model.do(do)
        if both := [name for name in as_mapping(evidence) if name in do]:
            raise errors.EvidenceError(
                f"{errors.quoted(both)} is both set by do= and observed; leave it out of one of "
                "them."
            )
        return contributions(after, target, evidence, positive=positive, negative=negative)
    variable = discrete_target(model, target, "Log odds are of a")
    given = as_mapping(evidence)
    asked, known = with_findings(model, given)
    row = asked._encode(known)
    if row.likelihoods:
        raise errors.EvidenceError(
            "A contribution is that of a value or of one interval; the evidence on "
            f"{errors.quoted(v.name for v in row.likelihoods)} is soft. Give a value, or leave it "
            "out."
        )
    found = explain(asked, Contrast.of(variable, positive, negative), row)
    intervals = {model.variable(n).name: v for n, v in given.items() if isinstance(v, Between)}
    if not intervals:
        return found
    terms = (replace(t, value=intervals.get(t.name, t.value)) for t in found.terms)
    return replace(found, terms=tuple(terms))


@question(rows="table")
def contributions_rows(
    model: Model,
    table: TableLike | Evidence,
    target: Name | None = None,
    *,
    positive: State | None = None,
    negative: State | None = None,
    do: Intervention = None,
    unseen: str = "error",
) -> RowContributions:
    """Return the log odds of a discrete variable in each row as a sum of a term for each finding.

    Parameters
    ----------
    model : model or fitted estimator
    table : pandas, polars or pyarrow table, mapping from name to column, or Evidence
        Any value may be missing. The target's column and columns that are not variables of the
        model are ignored. A factor graph takes a value for every variable but the target. Of a
        classifier and its class the rows are as for `predict`.
    target : name, optional
        A discrete variable. By default the class of the estimator.
    positive, negative : state, optional
        Classes to compare, as for `contributions`.
    do : mapping from name to value, optional
        Variables that are set from outside in all rows; see `do`. Their columns are ignored.
    unseen : {"error", "missing", "warn"}
        What a value becomes that is not a state; see `query_rows`. Of a classifier and its class
        its own parameter says it.

    Returns
    -------
    RowContributions
        `terms` is an array of rows by features. Each row has the terms that `contributions` has
        for it. With vectors of counts there are as many columns as items occur: take some rows at a
        time.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError, DataError
        For unknown names or states, or invalid columns.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = bg.NaiveBayesClassifier().fit(X.iloc[:, :2], y)
    >>> clf.ask.contributions_rows(X.iloc[:, :2])
    Contributions of 569 rows to the log odds of target = 1 against 0
      feature       mean size
      mean radius      3.0664  ████████████████████████
      mean texture     0.9792  ████████
    """
    asked = model.do(do) if do else model
    variable = discrete_target(asked, target, "Log odds are of a")
    if isinstance(table, Evidence):
        rows = table.without({variable})
    else:
        rows = evidence_rows(asked, table, variable, unseen)
    if do:
        rows = rows.without({asked.variable(name) for name in do})
    return explain_rows(asked, Contrast.of(variable, positive, negative), rows)


# ---------------------------------------------- what each finding adds, in all rows that have it


class Step(NamedTuple):
    """What a finding adds in the rows that have it, or what the items of a vector add in one row.

    Attributes
    ----------
    names : sequence of names
        One for all rows, or one for each item.
    rows : ndarray of int, shape (n,)
    logs, before : ndarray, shape (n, n_classes)
        Log likelihoods of the finding, and the log scores without it.
    addend : Addend
    values : sequence
        Values of items.
    """

    names: Sequence[Name]
    rows: NDArray[np.intp]
    logs: Floats
    before: Floats
    addend: Addend
    values: Sequence[Any] = ()

    def moved(self, contrast: Contrast) -> Floats:
        """Return by how much the finding moves the log odds, shape (n,).

        Nothing moves infinite log odds, and nothing more is added to an impossible class.
        """
        moved = contrast.shift(self.before, self.logs)
        return np.where(np.isnan(moved), 0.0, moved)


class Walk:
    """The findings of rows, one after the other.

    Attributes
    ----------
    addends : sequence of Addend
    prior : ndarray, shape (n_classes,)
        Log scores of the classes with nothing observed.
    scores : ndarray, shape (n_rows, n_classes)
        Log scores given the findings so far.
    """

    def __init__(self, model: Model, target: Discrete, rows: Evidence) -> None:
        self.model, self.target, self.rows = model, target, rows
        self.addends = model._addends(target)
        nothing = Evidence(1, {})
        if model.networks:
            self.prior = model._log_posterior_rows(target, nothing)[0]
        else:
            alone = [a.source for a in self.addends if not a.variables]
            logs = [self._by_class(source, nothing)[0] for source in alone]
            self.prior = np.sum([np.zeros(target.cardinality), *logs], axis=0)
        self.scores = np.tile(self.prior, (rows.n_rows, 1))

    def _check_complete(self) -> None:
        """Raise an error unless all factors of a factor graph are known."""
        free = [v for v in self.model.variables if v != self.target]
        if missing := [v.name for v in free if not self._observed([v]).all()]:
            raise errors.EvidenceError(
                "The factors of a factor graph add up where every variable is observed; "
                f"{errors.quoted(missing)} are not observed in every row. Give their values, or "
                "query the BayesianNetwork."
            )

    def given(self, places: NDArray[np.intp], variables: Sequence[Variable]) -> Floats:
        """Return the log scores of some rows given some of their findings."""
        return self.model._log_posterior_rows(self.target, self._part(places, variables))

    def _part(self, places: NDArray[np.intp], variables: Sequence[Variable]) -> Evidence:
        known = [v for v in variables if v in self.rows]
        return Evidence(len(places), {v: self.rows.columns[v][places] for v in known})

    def _observed(self, variables: Sequence[Variable]) -> NDArray[np.bool_]:
        """Return which rows observe all of the variables, shape (n_rows,)."""
        seen = np.ones(self.rows.n_rows, dtype=bool)
        for variable in variables:
            seen &= variable in self.rows and self.rows.observed_rows(variable)
        return seen

    def _by_class(self, source: Any, rows: Evidence) -> Floats:
        """Return the log values of a CPD or term by row and class."""
        logs = source.potential(rows).aligned([self.target])
        return np.broadcast_to(logs, (rows.n_rows, self.target.cardinality))

    def steps(self) -> Iterator[Step]:
        """Yield what each finding adds, in all rows that have it."""
        if not self.model.networks:
            self._check_complete()
        named, taken = set(self.model.names), set[Name]()
        earlier: list[Variable] = []
        for number, addend in enumerate(self.addends):
            variables, parents, source = addend
            seen = self._observed(variables)
            if not variables or not seen.any():
                continue
            first = variables[0]
            earlier += variables
            if isinstance(first, CountVector) and source and source.scope == (self.target, first):
                names = {i: (first.name, i) if i in named else i for i in first.items}
                named.update(names.values())
                yield from self._items(addend, {**names, first.name: first.name})
                continue
            name = first.name if len(variables) == 1 else tuple(v.name for v in variables)
            name = (name, number) if name in taken else name
            taken.add(name)
            local = seen & self._observed(parents or ()) & (source is not None)
            for is_local, chosen in ((True, local), (False, seen & ~local)):
                if not (places := np.flatnonzero(chosen)).size:
                    continue
                before = self.scores[places]
                if is_local:
                    logs = self._by_class(source, self._part(places, source.scope))
                else:
                    with np.errstate(invalid="ignore"):
                        logs = self.given(places, earlier) - before
                self.scores[places] = before + np.where(np.isnan(logs), 0.0, logs)
                yield Step([name], places, logs, before, addend)

    def _items(self, addend: Addend, names: Mapping[Name, Name]) -> Iterator[Step]:
        """Yield the terms of a vector of counts, whose items differ from row to row."""
        (vector,), _, source = addend
        for row in range(self.rows.n_rows):
            counts = self.rows.columns[vector][[row]]
            terms = source.item_terms(Evidence(1, {vector: counts}))
            if not terms.names:
                continue
            logs = np.cumsum([self.scores[row], *terms.logs], axis=0)
            self.scores[row] = logs[-1]
            rows = np.full(len(terms.names), row)
            items = [names[item] for item in terms.names]
            yield Step(items, rows, terms.logs, logs[:-1], addend, terms.values)


def explain(model: Model, contrast: Contrast, row: Evidence) -> Contributions:
    """Return the log odds of a class given one row of evidence, as a sum of one term per finding.

    Parameters
    ----------
    model : Model
    contrast : Contrast
        The classes to compare.
    row : Evidence
        One encoded row, without the class variable.
    """
    if contrast.target in row:
        raise errors.EvidenceError(
            f"The evidence has {contrast.target.name!r}, whose log odds are computed; leave it out."
        )
    row, _ = row.split()
    walk = Walk(model, contrast.target, row)
    steps = list(walk.steps())
    sets = [one for step in steps for one in _sets(step.addend, row)]
    odds = _odds(walk, contrast, list(dict.fromkeys(sets)))
    terms: list[Contribution] = []
    for step in steps:
        alone, arcs = contrast.shift(walk.prior, step.logs).tolist(), {}
        if known := [odds[one] for one in _sets(step.addend, row)]:
            with np.errstate(invalid="ignore"):
                moved = np.diff(np.subtract(known[1::2], known[::2]), prepend=0.0)
            parents = [p.name for p in step.addend.parents or () if p in row]
            alone, arcs = moved[:1].tolist(), dict(zip(parents, moved[1:].tolist(), strict=True))
        values = step.values or [_values(row, step.addend.variables)]
        columns = values, step.moved(contrast).tolist(), alone, step.logs
        for name, value, term, own, logs in zip(step.names, *columns, strict=True):
            terms.append(Contribution(name, value, term, own, arcs, logs))
    if np.isnan(contrast(walk.scores[0])):
        raise impossible({v.name: _values(row, [v]) for v in row.columns})
    return Contributions(contrast, float(contrast(walk.prior)), tuple(terms), walk.scores[0])


def _sets(addend: Addend, row: Evidence) -> list[tuple[Variable, ...]]:
    """Return what is known without and with a finding, after none, one, two, ... of its parents."""
    if addend.parents is None:
        return []
    parents = [p for p in addend.parents if p in row]
    known = [tuple(parents[:n]) for n in range(len(parents) + 1)]
    return [(*some, *more) for some in known for more in ((), addend.variables)]


def _odds(
    walk: Walk, contrast: Contrast, sets: Sequence[tuple[Variable, ...]]
) -> dict[tuple[Variable, ...], float]:
    """Return the log odds given some of the findings of one row, by one query."""
    columns: dict[Variable, Any] = {}
    for variable, value in walk.rows.columns.items():
        seen = np.array([variable in one for one in sets], dtype=bool)
        gone = -1 if isinstance(variable, Discrete) else np.nan
        if seen.any() and isinstance(variable, CountVector):
            columns[variable] = np.where(seen[:, None], dense_row(value), gone)
        elif seen.any():
            columns[variable] = np.where(seen, value, gone)
    if not columns:
        return dict.fromkeys(sets, float(contrast(walk.prior)))
    logs = walk.model._log_posterior_rows(walk.target, Evidence(len(sets), columns))
    return dict(zip(sets, contrast(logs).tolist(), strict=True))


def _values(row: Evidence, variables: Sequence[Variable]) -> Any:
    """Return the value of an observed variable, decoded; a tuple of those of several."""
    if len(variables) > 1:
        return tuple(_values(row, [v]) for v in variables)
    (variable,) = variables
    if isinstance(variable, CountVector):
        counts = dense_row(row.columns[variable])
        return dict(zip(*counted(variable.items, counts, np.flatnonzero(counts)), strict=True))
    return plain(decode(variable, row.columns[variable])[0])


def explain_rows(model: Model, contrast: Contrast, rows: Evidence) -> RowContributions:
    """Return the log odds of a class in each row of encoded evidence, as sums of terms."""
    n = rows.n_rows
    rows, _ = rows.split()
    walk = Walk(model, contrast.target, rows)
    # The names of terms in the order of the findings, whatever rows observe them.
    ranks: dict[Name, int] = {}
    for variable in (v for addend in walk.addends for v in addend.variables):
        for item in variable.items if isinstance(variable, CountVector) else ():
            ranks.setdefault(item, len(ranks))
            ranks.setdefault((variable.name, item), len(ranks))
        ranks.setdefault(variable.name, len(ranks))
    columns: dict[Name, Floats] = {}
    for step in walk.steps():
        moved = step.moved(contrast)
        if not step.values:
            columns.setdefault(step.names[0], np.zeros(n))[step.rows] = moved
        for name, row, value in zip(step.names, step.rows, moved, strict=False):
            if step.values:
                columns.setdefault(name, np.zeros(n))[row] = value
    # Factors over several variables have no rank, and stay in their order.
    names = sorted(columns, key=lambda name: ranks.get(name, len(ranks)))
    total = contrast(walk.scores)
    terms = np.column_stack([columns[name] for name in names]) if names else np.zeros((n, 0))
    impossible_rows = np.isnan(total)
    terms[impossible_rows] = np.nan
    if count := int(impossible_rows.sum()):
        errors.warn(
            f"{count} of {n} rows are impossible under both compared classes, so that they have no "
            "log odds; their contributions are NaN.",
            errors.ImpossibleEvidenceWarning,
        )
    return RowContributions(contrast, float(contrast(walk.prior)), tuple(names), terms, total)


def together(parts: Sequence[Evidence]) -> Evidence:
    """Return chunks of rows as one."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[Variable, Any] = {}
    for variable, first in parts[0].columns.items():
        found = [part.columns[variable] for part in parts]
        stack = scipy.sparse.vstack(found, "csr") if is_sparse(first) else np.concatenate(found)
        columns[variable] = stack
    return Evidence(sum(part.n_rows for part in parts), columns)
