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

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, counted, dense_row, log_of, whole_number
from bayesgraph.core.display import Displayed, DisplayedByName, DisplayTable, more, scaled
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention, TableLike
from bayesgraph.core.variables import (
    Binned,
    CountVector,
    Discrete,
    Name,
    State,
    Variable,
    decode,
    plain,
)
from bayesgraph.inference import log_total, stacked
from bayesgraph.models import (
    Addend,
    Between,
    Model,
    TableCPD,
    as_mapping,
    evidence_rows,
    impossible,
    networks_in,
    under,
    with_findings,
)
from bayesgraph.questions.asking import with_values
from bayesgraph.questions.estimators import discrete_target, question

if TYPE_CHECKING:
    import pandas as pd

# --------------------------- Log odds of one class against another, or against all others together


@dataclass(frozen=True)
class Contrast:
    """A comparison of one class with another class, or with all other classes together.

    Attributes
    ----------
    target : Discrete
        The class variable.
    positive : int
        Code of the class whose log odds are computed.
    negative : int or None
        Code of the class it is compared with; None for all other classes together.
    """

    target: Discrete
    positive: int
    negative: int | None

    @classmethod
    def of(cls, target: Discrete, positive: Any = None, negative: Any = None) -> Contrast:
        """Return the contrast of the state `positive` with the state `negative`.

        For two states, the default compares the second state with the first. For more states,
        `positive` must be given, and `negative` is by default all other states together.

        Raises
        ------
        DataError
            For a target with one state, a target with more than two states without `positive`, or
            the same class given twice.
        UnknownStateError
            For a class that is not a state of the target.
        """
        n = target.cardinality
        if n < 2:
            raise errors.DataError(
                f"Log odds compare classes; {target.name!r} has only "
                f"{errors.quoted(target.states)}."
            )
        if positive is None and n > 2:
            raise errors.DataError(
                f"{target.name!r} has {n} classes: say with positive= whose log odds you want, "
                f"one of {errors.quoted(target.states)}, and with negative= against which (by "
                "default all others together)."
            )
        denominator = None if negative is None else target.index(negative)
        # Of two states the one that is not named, by default the second one.
        numerator = 1 - (denominator or 0) if positive is None else target.index(positive)
        if denominator is None and n == 2:
            denominator = 1 - numerator
        if numerator == denominator:
            raise errors.DataError(
                f"positive= and negative= both name {target.states[numerator]!r}; log odds compare "
                "two classes."
            )
        return cls(target, numerator, denominator)

    def __call__(self, log_scores: Floats) -> Floats:
        """Return the log odds, shape (...), given log scores of all classes, (..., n_classes).

        They are NaN if both the class and its alternatives have probability zero.
        """
        positive = log_scores[..., self.positive]
        with np.errstate(invalid="ignore"):
            if self.negative is not None:
                return np.asarray(positive - log_scores[..., self.negative])
            others = np.delete(log_scores, self.positive, axis=-1)
            return np.asarray(positive - log_total(others))

    def shift(self, before: Floats, step: Floats) -> Floats:
        """Return the change of the log odds if `step` is added to the log scores `before`.

        Parameters
        ----------
        before, step : ndarray, shape (..., n_classes)

        Returns
        -------
        ndarray, shape (...)
            NaN where the change is undefined. For two classes it does not depend on `before`.
        """
        if self.negative is not None:
            return self(step)
        with np.errstate(invalid="ignore"):
            return np.asarray(self(before + step) - self(before))

    def __str__(self) -> str:
        states = self.target.states
        against = "the rest" if self.negative is None else repr(states[self.negative])
        return f"{self.target.name} = {states[self.positive]!r} against {against}"


# ------ Results of explanations: the log odds of a row as a printable mapping from finding to term


# Maximum numbers of printed lines: terms of one row or shapes, and features of many rows.
_MAX_LINES, _MAX_NAMES = 40, 20


@dataclass(frozen=True, eq=False)
class Contribution:
    """The term of one observed feature x_i in the log odds, in nats.

    Attributes
    ----------
    name : name
        Name of the feature; in a factor graph, name of the factor's term.
    value : state or number
        The observed value; a tuple for a factor over several features.
    log_odds : float
        The term: the log of the ratio of P(x_i | earlier findings, class) between the compared
        classes. Earlier findings are the features observed before x_i in topological order.
    alone : float
        The term if nothing else were observed: the log of the ratio of P(x_i | class).
    arcs : mapping from name to float
        For each observed parent, in order, the change of the term when this parent is observed in
        addition to x_i and the parents before it, starting from `alone`.
    log_likelihoods : ndarray, shape (n_classes,)
        log P(x_i | earlier findings, class); NaN for a class that earlier findings rule out.
    """

    name: Name
    value: Any
    log_odds: float
    alone: float
    arcs: Mapping[Name, float]
    log_likelihoods: Floats

    @property
    def beyond(self) -> float:
        """The part of the term not due to observed parents: the term minus `alone` minus `arcs`.

        It is the effect of earlier findings that act through unobserved variables, and zero if all
        parents are observed and two classes are compared. If a class is compared with all other
        classes together, earlier findings also change the relative probabilities of the others. The
        value is NaN if the term, `alone` or one of `arcs` is infinite.
        """
        return self.log_odds - (self.alone + sum(self.arcs.values()))


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(DisplayedByName):
    """The log odds of a class as a sum: a mapping from observed feature to its term, in nats.

    Attributes
    ----------
    contrast : Contrast
        The compared classes.
    prior : float
        Log odds with nothing observed.
    terms : tuple of Contribution
        Terms in topological order, each given the earlier findings.
    log_scores : ndarray, shape (n_classes,)
        log P(class, observed features) of every class; for a factor graph, log of the product.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> spam = bg.Discrete("spam", ["no", "yes"])
    >>> free, name = bg.Discrete("free", ["no", "yes"]), bg.Discrete("name", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(spam, [0.75, 0.25]),
    ...     bg.TableCPD(free, [[0.9, 0.1], [0.4, 0.6]], parents=[spam]),
    ...     bg.TableCPD(name, [[0.2, 0.8], [0.5, 0.5]], parents=[spam]),
    ... ])
    >>> net.contributions("spam", {"free": "yes", "name": "yes"})
    Log odds of spam = 'yes' against 'no'
      prior         −1.0986  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
      free = 'yes'  +1.7918  ████████████████████████
      name = 'yes'  −0.4700  ▒▒▒▒▒▒
      total         +0.2231
      probability 0.5556
    """

    contrast: Contrast
    prior: float
    terms: tuple[Contribution, ...]
    log_scores: Floats
    # The subject of the message about an unknown name.
    _where = "The mapping from observed features to contributions"

    @cached_property
    def _by_name(self) -> dict[Name, Contribution]:
        return {term.name: term for term in self.terms}

    @property
    def target(self) -> Discrete:
        """The class variable."""
        return self.contrast.target

    @property
    def positive(self) -> State:
        """The class in the numerator of the odds."""
        return self.target.states[self.contrast.positive]

    @property
    def negative(self) -> State | None:
        """The class in the denominator; None for all other classes together."""
        code = self.contrast.negative
        return None if code is None else self.target.states[code]

    @property
    def total(self) -> float:
        """The log odds, the sum of the prior and all terms, in nats."""
        return float(self.contrast(self.log_scores))

    @property
    def probability(self) -> float:
        """Probability of the positive class given the findings, if only compared classes exist."""
        # The logistic function, with all digits of small probabilities, which does not overflow.
        return float(expit(self.total))

    def term(self, name: Name) -> Contribution:
        """Return the `Contribution` of one observed feature to the log odds.

        Raises
        ------
        UnknownVariableError
            If no observed feature has that name.
        """
        term: Contribution = super().__getitem__(name)
        return term

    def sorted_terms(self) -> list[Contribution]:
        """Return the terms by decreasing magnitude, ties in topological order."""
        return sorted(self.terms, key=lambda term: -abs(term.log_odds))

    def __getitem__(self, name: Name) -> float:
        return self.term(name).log_odds

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the terms as a dict of columns: one row per term, by decreasing magnitude.

        The columns are ``feature``, ``value``, ``log_odds`` (the term), ``alone`` and ``arcs`` (the
        change of ``alone`` by all observed parents).
        """
        terms = self.sorted_terms()
        return {
            "feature": [term.name for term in terms],
            **{n: [getattr(term, n) for term in terms] for n in ("value", "log_odds", "alone")},
            "arcs": [float(sum(term.arcs.values())) for term in terms],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the terms as a pandas DataFrame with the columns of `to_columns`."""
        pandas = errors.optional_module("pandas", extra="pandas", what="Contributions.to_frame")
        frame: pd.DataFrame = pandas.DataFrame(self.to_columns())
        return frame

    def _display(self) -> DisplayTable:
        terms = self.sorted_terms()
        shown = terms if len(terms) <= _MAX_LINES else terms[: _MAX_LINES - 1]
        rows = [("prior", self.prior)]
        rows += [(f"{term.name} = {term.value!r}", term.log_odds) for term in shown]
        if hidden := terms[len(shown) :]:
            rows.append((f"... {len(hidden)} more", sum(term.log_odds for term in hidden)))
        # A bar for each summand; the total has a bar of length 0.
        return DisplayTable(
            f"Log odds of {self.contrast}",
            [(label, signed(value)) for label, value in [*rows, ("total", self.total)]],
            bars=[*scaled(value for _, value in rows), 0.0],
            note=f"probability {self.probability:.4f}",
        )


def signed(value: float, decimals: int = 4) -> str:
    """Return a number as text with its sign, "+" or the Unicode minus (U+2212)."""
    size = "∞" if math.isinf(value) else f"{abs(value):.{decimals}f}"
    return ("−" if value < 0 else "+") + size


@dataclass(frozen=True, eq=False, repr=False)
class RowContributions(Displayed):
    """The log odds of a class in many rows, as sums of one term for each finding, in nats.

    It prints as the mean size of the terms of each feature.

    Attributes
    ----------
    contrast : Contrast
        The compared classes.
    prior : float
        Log odds with nothing observed.
    names : tuple of names
        The columns of `terms`: features (items of a vector of counts) in the order in which
        `contributions` has them.
    terms : ndarray, shape (n_rows, n_names)
        The term of each finding; 0 where a feature is missing. Rows that are impossible under both
        compared classes have NaN.
    total : ndarray, shape (n_rows,)
        The log odds: the sum of the prior and the terms.
    """

    contrast: Contrast
    prior: float
    names: tuple[Name, ...]
    terms: Floats
    total: Floats

    @property
    def probability(self) -> Floats:
        """Probability of the positive class if only compared classes exist, shape (n_rows,)."""
        # The logistic function, as in `Contributions.probability`.
        return np.asarray(expit(self.total))

    @property
    def mean_sizes(self) -> Floats:
        """Mean of the terms' absolute values over the rows, shape (n_names,); NaN for no rows."""
        if not len(self.terms):
            return np.full(len(self.names), np.nan)
        # Impossible rows have NaN; if all rows are impossible, the sizes are 0.
        possible = self.terms[~np.isnan(self.total)]
        return np.asarray(np.abs(possible).sum(axis=0) / max(len(possible), 1))

    def to_frame(self, index: ArrayLike | None = None) -> pd.DataFrame:
        """Return the terms as a pandas DataFrame, one row for each row and a column by name.

        Parameters
        ----------
        index : array_like, shape (n_rows,), optional
            What identifies the rows, such as a column of numbers of patients; by default their
            numbers from 0 on.
        """
        pandas = errors.optional_module("pandas", extra="pandas", what="RowContributions.to_frame")
        if index is not None and np.shape(index)[:1] != (len(self),):
            raise errors.DataError(
                f"index= identifies each of {len(self):,} rows; got values of shape "
                f"{np.shape(index)}."
            )
        columns = pandas.Index(list(self.names), tupleize_cols=False)
        frame: pd.DataFrame = pandas.DataFrame(self.terms, columns=columns, index=index)
        return frame

    def __len__(self) -> int:
        return len(self.terms)

    def _display(self) -> DisplayTable:
        sizes = self.mean_sizes
        order = np.argsort(-sizes, kind="stable").tolist()
        shown = order[:_MAX_NAMES]
        return DisplayTable(
            f"Contributions of {len(self):,} rows to the log odds of {self.contrast}",
            [(str(self.names[i]), f"{sizes[i]:.4f}") for i in shown],
            header=("feature", "mean size"),
            bars=scaled(sizes[shown].tolist()),
            note=more(len(order), len(shown), "features"),
        )


# ------ The questions: of one case, and of the rows of a table


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
        under(model, do, evidence)  # for its errors
        return contributions(model.do(do), target, evidence, positive=positive, negative=negative)
    variable = discrete_target(model, target, "Log odds are of a")
    findings = as_mapping(evidence)
    # Intervals of numbers become states of variables of a model that is changed for them.
    asked, states = with_findings(model, findings)
    row = asked._encode(states)
    _check_values(row)
    sums = explain(asked, Contrast.of(variable, positive, negative), row)
    # A number stays one, though the model has the interval that it is in.
    numbers = {v.name for v in model.variables if isinstance(v, Binned)}
    # Keys of the evidence are names, or variables that have one.
    pairs = [(getattr(name, "name", name), plain(value)) for name, value in findings.items()]
    entered = {n: value for n, value in pairs if n in numbers or isinstance(value, Between)}
    terms = (replace(t, value=entered.get(t.name, t.value)) for t in sums.terms)
    return replace(sums, terms=tuple(terms)) if entered else sums


def _check_values(rows: Evidence) -> None:
    """Raise an error if there is soft evidence."""
    if rows.likelihoods:
        raise errors.EvidenceError(
            "A contribution is that of a value or of one interval; the evidence on "
            f"{errors.quoted(v.name for v in rows.likelihoods)} is soft. Give a value, or leave it "
            "out."
        )


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
        _check_values(rows)
    else:
        rows = evidence_rows(asked, table, variable, unseen)
    if do:
        # A number that is set has left the model that is asked.
        rows = rows.without({model.variable(name) for name in do})
    return explain_rows(asked, Contrast.of(variable, positive, negative), rows)


# ---------------------------------------------- what each finding adds, in all rows that have it


class Step(NamedTuple):
    """What a finding adds in the rows that have it, or what the items of a vector add in one row.

    Attributes
    ----------
    names : sequence of names
        One for all rows, or one for each item.
    rows : ndarray of int, shape (n,)
        The rows that have the finding; one row again and again for items.
    logs, before : ndarray, shape (n, n_classes)
        Log likelihoods of the finding, and the log scores without it.
    addend : Addend
        What the finding is of; see `Addend`.
    values : sequence
        Values of items; empty for a finding in many rows.
    """

    names: Sequence[Name]
    rows: NDArray[np.intp]
    logs: Floats
    before: Floats
    addend: Addend
    values: Sequence[Any] = ()

    def moved(self, contrast: Contrast) -> Floats:
        """Return the change of the log odds by the finding, shape (n,).

        Nothing moves infinite log odds, and nothing more is added to an impossible class: a change
        that is undefined counts as 0.
        """
        moved = contrast.shift(self.before, self.logs)
        return np.where(np.isnan(moved), 0.0, moved)


class Walk:
    """The findings of rows, one after the other: what each adds to the classes' log scores.

    The log score of a class c given the findings x so far is log P(c, x).

    Attributes
    ----------
    model : Model
    target : Discrete
        The class variable.
    rows : Evidence
        Encoded rows without the class.
    addends : sequence of Addend
        The findings in order: what each is of, its parents, and the CPD or term that has its log
        likelihoods.
    prior : ndarray, shape (n_classes,)
        Log scores of the classes with nothing observed.
    scores : ndarray, shape (n_rows, n_classes)
        Log scores given the findings so far.
    """

    def __init__(self, model: Model, target: Discrete, rows: Evidence) -> None:
        self.model, self.target, self.rows = model, target, rows
        self.addends = model._addends(target)
        nothing = Evidence(1, {})
        # Only a factor graph has no networks: its log scores are sums of log factors.
        if model.networks:
            self.prior = model._log_posterior_rows(target, nothing)[0]
        else:
            # Factors over the target alone.
            logs = [self._by_class(a.source, nothing)[0] for a in self.addends if not a.variables]
            self.prior = np.sum([np.zeros(target.cardinality), *logs], axis=0)
        self.scores = np.tile(self.prior, (rows.n_rows, 1))

    def _findings_in(self, places: NDArray[np.intp], variables: Sequence[Variable]) -> Evidence:
        """Return the findings on some variables in the rows with the numbers `places`."""
        columns = {v: self.rows.columns[v][places] for v in variables if v in self.rows}
        return Evidence(len(places), columns)

    def _observed(self, variables: Sequence[Variable]) -> NDArray[np.bool_]:
        """Return a mask of the rows that observe all of the variables, shape (n_rows,)."""
        observed = np.ones(self.rows.n_rows, dtype=bool)
        for variable in variables:
            # False for a variable without a column.
            observed &= variable in self.rows and self.rows.observed_rows(variable)
        return observed

    def _by_class(self, source: Any, rows: Evidence) -> Floats:
        """Return the log values of a CPD or term by class, shape (n_rows, n_classes).

        The rows have values of all of its variables but the class.
        """
        # The log values have an axis of rows, of length 1 if all rows are alike, and that of the
        # class.
        logs = source.potential(rows).aligned([self.target])
        return np.broadcast_to(logs, (rows.n_rows, self.target.cardinality))

    def steps(self) -> Iterator[Step]:
        """Yield what each finding adds, in all rows that have it.

        Rows that observe all parents take the distribution given them; others ask the model for the
        posteriors given the findings so far, with and without this one.
        """
        if not self.model.networks:
            features = [v for v in self.model.variables if v != self.target]
            if missing := [v.name for v in features if not self._observed([v]).all()]:
                raise errors.EvidenceError(
                    "The factors of a factor graph add up where every variable is observed; "
                    f"{errors.quoted(missing)} are not observed in every row. Give their values, "
                    "or query the BayesianNetwork."
                )
        # An item that is named like a variable or an earlier item is called (vector, item), and a
        # term that is named like an earlier one (name, number).
        names_so_far, terms_so_far = set(self.model.names), set[Name]()
        earlier: list[Variable] = []
        for number, addend in enumerate(self.addends):
            variables, parents, source = addend
            observed = self._observed(variables)
            if not variables or not observed.any():
                continue
            first = variables[0]
            earlier += variables
            # A vector of counts whose only parent is the class has a term for each item.
            if isinstance(first, CountVector) and source and source.scope == (self.target, first):
                names = {i: (first.name, i) if i in names_so_far else i for i in first.items}
                names_so_far.update(names.values())
                yield from self._items(addend, {**names, first.name: first.name})
                continue
            name = first.name if len(variables) == 1 else tuple(v.name for v in variables)
            name = (name, number) if name in terms_so_far else name
            terms_so_far.add(name)
            # Rows in which the CPD or term alone says what the finding adds.
            local = observed & self._observed(parents or ()) & (source is not None)
            for is_local, mask in ((True, local), (False, observed & ~local)):
                places = np.flatnonzero(mask)
                if not len(places):
                    continue
                before = self.scores[places]
                if is_local:
                    logs = self._by_class(source, self._findings_in(places, source.scope))
                else:
                    # log P(class, findings with this one) less log P(class, findings before it).
                    rows = self._findings_in(places, earlier)
                    with np.errstate(invalid="ignore"):
                        logs = self.model._log_posterior_rows(self.target, rows) - before
                # NaN where earlier findings exclude the class, whose log score stays -inf.
                self.scores[places] = before + np.where(np.isnan(logs), 0.0, logs)
                yield Step([name], places, logs, before, addend)

    def _items(self, addend: Addend, names: Mapping[Name, Name]) -> Iterator[Step]:
        """Yield the terms of a vector of counts, whose items differ from row to row.

        The argument `names` maps each item to the name of its term, and so the vector, as some
        families have a term of the total.
        """
        (vector,), _, source = addend
        for row in range(self.rows.n_rows):
            counts = self.rows.columns[vector][[row]]  # a list keeps the axis of rows
            terms = source.item_terms(Evidence(1, {vector: counts}))
            if not terms.names:
                continue
            # The log scores before the first item, and after each one: (n_items + 1, n_classes).
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
    row, _ = row.split()  # without columns that have no value
    walk = Walk(model, contrast.target, row)
    steps = list(walk.steps())
    subsets = dict.fromkeys(subset for step in steps for subset in _subsets(step.addend, row))
    log_odds = _odds(walk, contrast, list(subsets))
    terms: list[Contribution] = []
    for step in steps:
        # Where the addend is the same whatever else is observed (its parents are None), the finding
        # adds its likelihoods to the prior. A list of one entry, or of one for each item of a
        # vector of counts.
        alone, arcs = contrast.shift(walk.prior, step.logs).tolist(), {}
        if odds_of_subsets := [log_odds[subset] for subset in _subsets(step.addend, row)]:
            with np.errstate(invalid="ignore"):
                # The subsets are the first 0, 1, 2, ... observed parents, each without and with the
                # finding.
                without, with_it = odds_of_subsets[::2], odds_of_subsets[1::2]
                # The first difference is what the finding adds alone, the others are by how much
                # each parent changes it.
                changes = np.diff(np.subtract(with_it, without), prepend=0.0).tolist()
            parents = [p.name for p in step.addend.parents or () if p in row]
            alone, arcs = changes[:1], dict(zip(parents, changes[1:], strict=True))
        values = step.values or [_values(row, step.addend.variables)]
        # As many names, values, terms and log likelihoods.
        columns = step.names, values, step.moved(contrast).tolist(), alone, step.logs
        for name, value, term, single, logs in zip(*columns, strict=True):
            terms.append(Contribution(name, value, term, single, arcs, logs))
    # The log odds are NaN if the findings exclude both compared classes.
    if np.isnan(contrast(walk.scores[0])):
        raise impossible({v.name: _values(row, [v]) for v in row.columns})
    return Contributions(contrast, float(contrast(walk.prior)), tuple(terms), walk.scores[0])


def _subsets(addend: Addend, row: Evidence) -> list[tuple[Variable, ...]]:
    """Return the first 0, 1, 2, ... parents of a finding, each without and with the finding."""
    if addend.parents is None:
        return []
    parents = [p for p in addend.parents if p in row]
    firsts = [tuple(parents[:n]) for n in range(len(parents) + 1)]
    return [(*first, *finding) for first in firsts for finding in ((), addend.variables)]


def _odds(
    walk: Walk, contrast: Contrast, subsets: Sequence[tuple[Variable, ...]]
) -> dict[tuple[Variable, ...], float]:
    """Return the log odds given each subset of the findings of one row, by one query."""
    # A row of evidence for each subset, in which the other findings are missing.
    columns: dict[Variable, Any] = {}
    for variable, value in walk.rows.columns.items():
        is_in = np.array([variable in subset for subset in subsets], dtype=bool)
        missing = -1 if isinstance(variable, Discrete) else np.nan
        if is_in.any() and isinstance(variable, CountVector):
            columns[variable] = np.where(is_in[:, None], dense_row(value), missing)
        elif is_in.any():
            columns[variable] = np.where(is_in, value, missing)
    if not columns:
        return dict.fromkeys(subsets, float(contrast(walk.prior)))
    logs = walk.model._log_posterior_rows(walk.target, Evidence(len(subsets), columns))
    return dict(zip(subsets, contrast(logs).tolist(), strict=True))


def _values(row: Evidence, variables: Sequence[Variable]) -> Any:
    """Return the value of an observed variable, decoded; a tuple of those of several.

    The value of a vector of counts is a mapping from item to count, without zeros.
    """
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
    rows, _ = rows.split()  # without columns that have no value
    walk = Walk(model, contrast.target, rows)
    # The names of terms in the order of the findings, whatever rows observe them.
    ranks: dict[Name, int] = {}
    for variable in (v for addend in walk.addends for v in addend.variables):
        items = variable.items if isinstance(variable, CountVector) else ()
        # An item has one of two names; see `Walk.steps`.
        names_of_items = [name for item in items for name in (item, (variable.name, item))]
        for name in (*names_of_items, variable.name):
            ranks.setdefault(name, len(ranks))
    columns: dict[Name, Floats] = {}
    for step in walk.steps():
        moved = step.moved(contrast)
        if not step.values:  # a finding with one name, in many rows
            columns.setdefault(step.names[0], np.zeros(n))[step.rows] = moved
            continue
        # The items of a vector of counts in one row.
        for name, row, value in zip(step.names, step.rows, moved, strict=True):
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
    """Return chunks of rows, which have the same columns, as one."""
    if len(parts) == 1:
        return parts[0]
    columns = {v: stacked([part.columns[v] for part in parts]) for v in parts[0].columns}
    return Evidence(sum(part.n_rows for part in parts), columns)


# ---- Shapes: the log odds of a class as a sum of functions of single features and of a few
# If the class is a parent of each feature, then the log odds of a complete row are the prior log
# odds plus one function of each feature and its other parents. A function of several features is
# split into its mean, functions of single features, and the interactions of two, three and more
# features that are left (analysis of variance, Hooker 2007), as explainable boosting machines draw
# them (Lou, Caruana, Gehrke and Hooker 2013).
#
# The log odds of other models, such as averages of posteriors, are no such sum. Their shapes are
# the means of the log odds over given rows in which one or two features are set to a value (partial
# dependence, Friedman 2001).


# Maximum number of rows over which the log odds are averaged, of one feature and of a pair: each
# row is asked for once for every value, or pair of values.
_MAX_ROWS, _MAX_PAIR_ROWS = 400, 100
# Maximum number of intervals of a number that no network has intervals of.
_MAX_INTERVALS = 20
# Maximum number of features of a term, which has an entry for each of their joint states.
_MAX_FEATURES = 4


@dataclass(frozen=True, eq=False)
class Shape:
    """One term of the log odds: a function of one feature, of two or, rarely, of three or four.

    Attributes
    ----------
    variables : tuple of Discrete
        The features; a numeric feature has intervals.
    log_odds : ndarray, shape (n_states of each feature ..., n_curves)
        Effect on the log odds of each class (see `Shapes.labels`), in nats. Its mean is zero.
    share : ndarray, shape (n_states of each feature ...)
        Share of the rows; of several features, as if these were independent.
    """

    variables: tuple[Discrete, ...]
    log_odds: Floats
    share: Floats

    @property
    def strength(self) -> float:
        """Mean absolute effect over the rows and the curves, in nats."""
        # The last axis of `log_odds` is that of the curves.
        return float(
            np.sum(self.share[..., None] * np.abs(self.log_odds)) / self.log_odds.shape[-1]
        )


@dataclass(frozen=True, eq=False, repr=False)
class Shapes(Displayed, Mapping[Any, Shape]):
    """The effects of features on the log odds: a mapping from a name, or several, to a `Shape`.

    The terms are in order of their strength, the strongest first.

    Attributes
    ----------
    target : Discrete
        The class variable.
    labels : tuple of str
        What is compared, for each curve: "yes against no", or "red" for a class against the
        geometric mean of all classes.
    intercept : ndarray, shape (n_curves,)
        Constant of the sum: the mean log odds.
    terms : tuple of Shape
    rows : int
        Number of rows that the log odds were averaged over; 0 if they are exactly this sum.
    """

    target: Discrete
    labels: tuple[str, ...]
    intercept: Floats
    terms: tuple[Shape, ...]
    rows: int = 0

    def __getitem__(self, name: Name | tuple[Name, ...]) -> Shape:
        for term in self.terms:
            # Several names may be in any order.
            is_same = isinstance(name, tuple) and {v.name for v in term.variables} == set(name)
            if is_same or _key(term) == name:
                return term
        raise errors.unknown_variable(name, list(self), where="The mapping from features to shapes")

    def __iter__(self) -> Iterator[Any]:
        return map(_key, self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def _display(self) -> DisplayTable:
        shown = self.terms[:_MAX_LINES]
        strengths = [term.strength for term in shown]
        return DisplayTable(
            f"Shapes of {self.target.name}: mean absolute effect on the log odds",
            [
                (" × ".join(repr(v.name) for v in term.variables), f"{strength:.4f}")
                for term, strength in zip(shown, strengths, strict=True)
            ],
            bars=scaled(strengths),
            note=more(len(self.terms), len(shown), "terms"),
        )


def _key(term: Shape) -> Name | tuple[Name, ...]:
    """Return the name of the feature of a term, or those of several."""
    names = tuple(v.name for v in term.variables)
    return names[0] if len(names) == 1 else names


def shapes(
    model: Model,
    target: Discrete,
    rows: Evidence | None = None,
    *,
    positive: State | None = None,
    negative: State | None = None,
) -> Shapes:
    """Return the terms of the log odds of a class; see `GraphClassifier.shapes`.

    Parameters
    ----------
    model : Model
    target : Discrete
        The class.
    rows : Evidence, optional
        Encoded rows, for models whose log odds are no sum of terms.
    positive, negative : state, optional
        Classes to compare.
    """
    labels, weights = _curves(target, positive, negative)
    problem = _obstacle(model, target)
    if not problem:
        intercept, terms = _exact_terms(model, target, weights)
        n_rows = 0
    elif rows is None:
        raise errors.UnsupportedModelError(
            f"The log odds of this model are no sum of terms of a few features: {problem}. "
            "Give rows, as in clf.shapes(X), over which its log odds are averaged, or fit a single "
            "network of tables, such as BayesianNetworkClassifier(n_trees=0)."
        )
    else:
        n_rows = min(rows.n_rows, _MAX_ROWS)
        intercept, terms = _mean_terms(model, target, rows, weights)
    ordered = sorted(terms, key=lambda term: -term.strength)
    return Shapes(target, labels, intercept, tuple(ordered), n_rows)


def _curves(
    target: Discrete, positive: State | None, negative: State | None
) -> tuple[tuple[str, ...], Floats]:
    """Return labels of curves, and the weights of the classes' log scores, (n_curves, n_classes).

    The weights of a curve sum to zero. Log scores times the weights are log odds.
    """
    n = target.cardinality
    if n == 2 or negative is not None:
        contrast = Contrast.of(target, positive, negative)
        weights = np.zeros((1, n))
        assert contrast.negative is not None  # of two classes, or given
        weights[0, [contrast.positive, contrast.negative]] = 1.0, -1.0
        positive, negative = (target.states[c] for c in (contrast.positive, contrast.negative))
        return (f"{positive} against {negative}",), weights
    # The log score of a class less the mean of all: against the geometric mean of the classes.
    weights = np.eye(n) - 1.0 / n
    codes = range(n) if positive is None else [target.index(positive)]
    return tuple(str(target.states[code]) for code in codes), weights[list(codes)]


# ------------------------------------------------------------------------------------- networks


def _obstacle(model: Model, target: Discrete) -> str:
    """Return the reason why log odds are no sum of terms of a few features; empty if they are."""
    if not any(network is model for network in model.networks):
        return f"it is of the form {model!r}"
    network: Any = model
    for cpd in network.cpds:
        others = [p for p in cpd.parents if p != target]
        if cpd.variable == target:
            if cpd.parents:
                return f"{target.name!r} has parents"
        elif target in cpd.parents and not isinstance(cpd, TableCPD):
            return f"{cpd.variable.name!r} has no table, but a {type(cpd).__name__}"
        elif target in cpd.parents and len(others) >= _MAX_FEATURES:
            names = errors.quoted(p.name for p in cpd.parents)
            return f"{cpd.variable.name!r} has the parents {names}"
    return ""


def _exact_terms(network: Any, target: Discrete, weights: Floats) -> tuple[Floats, list[Shape]]:
    """Return the constant and the terms of a network's log odds; see `_curves` for `weights`."""
    prior = network.query(target.name).probabilities
    tables = [c for c in network._nodes() if isinstance(c, TableCPD) and target in c.parents]
    # Ranks of the features: a term has its features in this order.
    features = dict.fromkeys(v for cpd in tables for v in cpd.scope if v != target)
    order: dict[Any, int] = {variable: rank for rank, variable in enumerate(features)}
    share = {v: network.query(v.name).probabilities for v in order}
    # Effects by their features: first those of one feature; that of none is the constant.
    effects: dict[tuple[Discrete, ...], Any] = {(v,): 0.0 for v in order}
    effects[()] = _checked(target, weights @ log_of(prior))
    for cpd in tables:
        scope: list[Any] = sorted((v for v in cpd.scope if v != target), key=order.__getitem__)
        # A CPD's table has an axis for each parent, then its variable; the target's becomes the
        # last, which the weights turn into the curves.
        axes = [cpd.scope.index(v) for v in (*scope, target)]
        logs = log_of(cpd.values).transpose(axes) @ weights.T
        parts = _split(_checked(cpd.variable, logs), [share[v] for v in scope])
        # A subset has indices in `scope`.
        for subset, effect in parts.items():
            key = tuple(scope[i] for i in subset)
            effects[key] = effects.get(key, 0.0) + effect
    intercept = effects.pop(())
    shares = {key: reduce(np.multiply.outer, [share[v] for v in key]) for key in effects}
    return intercept, [Shape(key, effects[key], shares[key]) for key in effects]


def _checked(variable: Variable, log_odds: Floats) -> Floats:
    """Return log odds; raise an error if they are infinite."""
    if not np.isfinite(log_odds).all():
        raise errors.DataError(
            f"A state of {variable.name!r} is impossible in a class, so that its log odds are "
            "infinite. Fit with alpha= above 0."
        )
    return log_odds


def _split(values: Floats, shares: Sequence[Floats]) -> dict[tuple[int, ...], Floats]:
    """Split a function of several variables into its mean, main effects and interactions.

    Parameters
    ----------
    values : ndarray, shape (n_states of each variable ..., n_curves)
    shares : sequence of ndarray
        Distribution of each variable; the split is orthogonal where they are independent.

    Returns
    -------
    mapping from tuple of int to ndarray, shape (n_states of each of these variables ..., n_curves)
        The part of each subset of the variables; their sum is `values`.
    """
    split: dict[tuple[int, ...], Floats] = {(): values}
    for i, share in enumerate(shares):
        # Each part is split into its mean over the next variable, whose axis follows those of the
        # subset, and what is left.
        means = {s: np.tensordot(share, part, (0, len(s))) for s, part in split.items()}
        deviations = {(*s, i): split[s] - np.expand_dims(means[s], len(s)) for s in split}
        split = means | deviations
    return split


# --------------------------------------------------------------------------- means over rows


def _mean_terms(
    model: Model, target: Discrete, rows: Evidence, weights: Floats
) -> tuple[Floats, list[Shape]]:
    """Return the mean log odds over rows, and its changes when features are set to a value.

    The terms are those of single features, and the interactions of pairs.
    """
    sample = _evenly_spaced(rows, _MAX_ROWS)
    sample_of_pairs = _evenly_spaced(sample, _MAX_PAIR_ROWS)
    axes = {
        v.name: _axis(v, column)
        for v, column in rows.columns.items()
        if not isinstance(v, CountVector)
    }
    # The pairs of features with an arc in a network whose log odds are a sum of terms.
    pairs = dict.fromkeys(
        (parent.name, cpd.variable.name)
        for _, network in networks_in(model)
        if not _obstacle(network, target)
        for cpd in network._nodes()
        for parent in cpd.parents
        if target not in (parent, cpd.variable)
    )
    features: list[tuple[_Axis, ...]] = [(axis,) for axis in axes.values()]
    features += [(axes[a], axes[b]) for a, b in pairs if a in axes and b in axes]
    terms = []
    for chosen in features:
        averaged = sample if len(chosen) == 1 else sample_of_pairs
        shares, shown = [axis.share for axis in chosen], tuple(axis.shown for axis in chosen)
        parts = _split(_means(model, target, averaged, chosen, weights), shares)
        # The part of all of them together: the main effect of one, the interaction of two.
        effect = parts[tuple(range(len(chosen)))]
        terms.append(Shape(shown, effect, reduce(np.multiply.outer, shares)))
    return _log_odds(model, target, sample, weights).mean(axis=0), terms


def _means(
    model: Model, target: Discrete, rows: Evidence, axes: Sequence[_Axis], weights: Floats
) -> Floats:
    """Return the mean log odds over rows with some features set to each of their values.

    The array has an axis for the values of each feature, and a last one of length n_curves.
    """
    # Each feature repeats all rows for each of its values, so that its axis follows the others.
    shape = rows.n_rows, *(len(axis.settings) for axis in axes), -1
    for axis in axes:
        rows = with_values(rows, axis.variable, axis.settings)
    return np.asarray(_log_odds(model, target, rows, weights).reshape(shape).mean(axis=0))


def _log_odds(model: Model, target: Discrete, rows: Evidence, weights: Floats) -> Floats:
    """Return the log odds of each curve, shape (n_rows, n_curves)."""
    return _checked(target, model._log_posterior_rows(target, rows) @ weights.T)


def _evenly_spaced(rows: Evidence, n: int) -> Evidence:
    """Return at most `n` rows, evenly spaced."""
    return rows.rows(np.linspace(0, rows.n_rows - 1, min(rows.n_rows, n)).astype(np.intp))


class _Axis(NamedTuple):
    """The values of a feature that the rows are set to.

    Attributes
    ----------
    variable : Variable
        The feature in the model.
    shown : Discrete
        The feature with intervals, if it is a number.
    settings : ndarray, shape (n_states,)
        What it is set to: the codes of all states, or a number in each interval.
    share : ndarray, shape (n_states,)
        Share of the rows in each state.
    """

    variable: Variable
    shown: Discrete
    settings: NDArray[Any]
    share: Floats


def _axis(variable: Variable, column: NDArray[Any]) -> _Axis:
    """Return the states of a feature, or intervals of a number between quantiles."""
    if isinstance(variable, Discrete):
        codes, shown = column[column >= 0], variable  # -1 is missing
        settings: NDArray[Any] = np.arange(variable.cardinality)
    else:
        numbers = column[np.isfinite(column)]
        ranks = np.arange(1, _MAX_INTERVALS) / _MAX_INTERVALS
        quantiles = np.quantile(numbers, ranks, method="lower") if len(numbers) else numbers
        # Intervals are closed above: a cut at the largest number would leave nothing beyond it.
        cuts = np.unique(quantiles[quantiles < numbers.max(initial=-np.inf)])
        shown = Binned(variable.name, cuts.tolist())
        codes = shown.codes(numbers)
        ends = np.append(numbers, cuts)
        low, high = ends.min(initial=np.inf), ends.max(initial=-np.inf)
        # The middles of the intervals; the outer ones end 1 beyond all numbers.
        settings = np.convolve([low - 1.0, *cuts, high + 1.0], [0.5, 0.5], "valid")
    # The shares are equal if the column has no value.
    counts = np.bincount(codes, minlength=shown.cardinality).astype(np.float64)
    share = counts / counts.sum() if len(codes) else np.full(len(counts), 1.0 / len(counts))
    return _Axis(variable, shown, settings, share)


# ----- Ranking of the items of a vector of counts, such as words, by their log odds for each class


_LONGEST_LINE = 96  # characters of a printed line


@dataclass(frozen=True, eq=False, repr=False)
class TopItems(Mapping[State, Mapping[Name, float]]):
    """The items that raise the log odds of each class most: a mapping from class to items.

    Attributes
    ----------
    target : Discrete
    by_class : mapping from state to mapping from item to float
        For each class, a mapping from item to the change of the class's log odds by one occurrence
        of the item, in nats, in descending order.
    """

    target: Discrete
    by_class: Mapping[State, Mapping[Name, float]]

    def __getitem__(self, state: State) -> Mapping[Name, float]:
        return self.by_class[self.target.states[self.target.index(state)]]

    def __iter__(self) -> Iterator[State]:
        return iter(self.by_class)

    def __len__(self) -> int:
        return len(self.by_class)

    def __repr__(self) -> str:
        width = max(len(str(state)) for state in self.by_class)
        lines = [f"Items that speak most for each {self.target.name}, with their log odds"]
        for state, items in self.by_class.items():
            line = f"  {state!s:<{width}}"
            for item, value in items.items():
                part = f"  {item} {signed(value, 2)}"
                if len(line) + len(part) > _LONGEST_LINE and line.strip():
                    lines.append(line)
                    line = " " * (width + 2)
                line += part
            lines.append(line)
        return "\n".join(lines)


@question()
def top_items(
    model: Model, target: Name | None = None, n: int = 10, *, feature: Name | None = None
) -> TopItems:
    """Return the items whose single occurrence raises the log odds of each class most.

    The log odds compare a class with all others together. For a naive Bayes the change is the
    log of P(item | class) / P(item | not class), the weight of evidence of Good (1950).

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        The class variable, which is the only parent of the vector.
        By default the class of the estimator.
    n : int
        Number of items for each class.
    feature : name, optional
        Name of the vector of counts, if there are several.

    Raises
    ------
    DataError
        For `n` below 1, or several vectors and no `feature`.
    UnsupportedModelError
        If there is no vector of counts whose only parent is the class.
    """
    variable = discrete_target(model, target, "Log odds are of a")
    n = whole_number("n", "items", n, 1)
    walk = Walk(model, variable, Evidence(1, {}))
    # How much one occurrence of an item adds to the log score of each class, (n_classes, n_items).
    vectors: dict[CountVector, Floats] = {}
    for addend in walk.addends:
        for child in addend.variables[:1]:  # factors over the class alone have no variables
            is_of_class = addend.source is not None and addend.source.scope == (variable, child)
            if isinstance(child, CountVector) and is_of_class:
                logs = addend.source.item_logs()  # None of a factor that is no CPD of counts
                if logs is not None:
                    vectors[child] = vectors.get(child, 0.0) + logs
    if not vectors:
        raise errors.UnsupportedModelError(
            f"There is no vector of counts whose only parent is {target!r}: take "
            "NaiveBayesClassifier('multinomial'), 'bernoulli', or ComplementNaiveBayesClassifier."
        )
    names = errors.quoted(v.name for v in vectors)
    if feature is None and len(vectors) > 1:
        raise errors.DataError(
            f"There are several vectors of counts: choose one of {names} with feature=."
        )
    vector = next(iter(vectors)) if feature is None else model.variable(feature)
    if not (isinstance(vector, CountVector) and vector in vectors):
        raise errors.DataError(
            f"feature= names a vector of counts, one of {names}; got {feature!r}."
        )
    top = {}
    for code, state in enumerate(variable.states):
        # Change of the log odds by one occurrence of each item; ties in the order of the items.
        values = np.zeros(len(vector.items))
        if variable.cardinality > 1:
            contrast = Contrast(variable, code, 1 - code if variable.cardinality == 2 else None)
            values = contrast.shift(walk.prior, vectors[vector].T)
        # Changes that are undefined come last.
        values = np.where(np.isnan(values), -np.inf, values)
        order = np.argsort(-values, kind="stable")[:n].tolist()
        top[state] = {vector.items[i]: float(values[i]) for i in order}
    return TopItems(variable, top)
