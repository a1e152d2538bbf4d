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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, ItemTerms, counted, dense_row
from bayesgraph.core.display import Displayed, DisplayTable
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention
from bayesgraph.core.variables import (
    CountVector,
    Discrete,
    Name,
    State,
    Variable,
    ancestral_set,
    decode,
    plain,
)
from bayesgraph.inference import Factor, Potential, log_total
from bayesgraph.models import (
    CPD,
    BayesianNetwork,
    Between,
    Ensemble,
    FactorGraph,
    Model,
    NetworkMixture,
    PosteriorAverage,
    Term,
    WeightedNetwork,
    as_mapping,
    impossible,
    with_findings,
)

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
        other = None if negative is None else target.index(negative)
        if positive is not None:
            wanted = target.index(positive)
        else:
            wanted = 1 if other is None else 1 - other
        if other is None and n == 2:
            other = 1 - wanted
        if wanted == other:
            raise errors.DataError(
                f"positive= and negative= both name {target.states[wanted]!r}; log odds compare "
                "two classes."
            )
        return cls(target, wanted, other)

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


_MAX_LINES = 40


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
class Contributions(Displayed, Mapping[Name, float]):
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
        return 0.5 * (1.0 + math.tanh(0.5 * self.total))

    def term(self, name: Name) -> Contribution:
        """Return the `Contribution` of one observed feature to the log odds.

        Raises
        ------
        UnknownVariableError
            If no observed feature has that name.
        """
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            where = "The mapping from observed features to contributions"
            raise errors.unknown_variable(name, self._by_name, where=where) from None

    def sorted_terms(self) -> list[Contribution]:
        """Return the terms by decreasing magnitude, ties in topological order."""
        return sorted(self.terms, key=lambda term: -abs(term.log_odds))

    def __getitem__(self, name: Name) -> float:
        return self.term(name).log_odds

    def __iter__(self) -> Iterator[Name]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self.terms)

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
        if rest := terms[len(shown) :]:
            rows.append((f"... {len(rest)} more", sum(term.log_odds for term in rest)))
        longest = max((abs(value) for _, value in rows if math.isfinite(value)), default=0.0) or 1.0
        shares = [max(-1.0, min(1.0, value / longest)) for _, value in rows]
        return DisplayTable(
            f"Log odds of {self.contrast}",
            [(label, signed(value)) for label, value in [*rows, ("total", self.total)]],
            bars=[*shares, 0.0],
            note=f"probability {self.probability:.4f}",
        )


def signed(value: float, decimals: int = 4) -> str:
    """Return a number as text with its sign, "+" or the Unicode minus (U+2212)."""
    size = "∞" if math.isinf(value) else f"{abs(value):.{decimals}f}"
    return ("−" if value < 0 else "+") + size


# ------------- The log odds of a class given one row, as an exact sum of one term for each finding


Product: TypeAlias = (
    BayesianNetwork | FactorGraph | NetworkMixture | PosteriorAverage | WeightedNetwork
)
Rows: TypeAlias = NDArray[np.intp]


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
    UnsupportedModelError
        For an average of posteriors, which has no joint distribution.
    """
    if do:
        after = model.do(do)
        if both := [name for name in as_mapping(evidence) if name in do]:
            raise errors.EvidenceError(
                f"{errors.quoted(both)} is both set by do= and observed; leave it out of one of "
                "them."
            )
        return contributions(after, target, evidence, positive=positive, negative=negative)
    variable = product(model, target).variable(target)
    assert isinstance(variable, Discrete)  # checked by `product`
    given = as_mapping(evidence)
    asked, known = with_findings(model, given)
    assert isinstance(asked, Product)
    row = asked.encode(known)
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


def product(model: Model, target: Name) -> Product:
    """Return a model whose parts add up to the log odds of a discrete target, or refuse it."""
    if not isinstance(model, Product):
        raise errors.UnsupportedModelError(
            f"{type(model).__name__} does not answer contributions: it has no joint distribution "
            f"whose parts add up.{model.instead}"
        )
    if not isinstance(model.variable(target), Discrete):
        raise errors.EvidenceError(
            f"Log odds are of a discrete variable; {target!r} is continuous."
        )
    if isinstance(model, WeightedNetwork) and model.target != model.variable(target):
        raise errors.EvidenceError(
            f"The log odds of a weighted network are those of its class {model.target.name!r}; "
            "query its `network` for those of another variable."
        )
    return model


def explain(
    model: Product,
    contrast: Contrast,
    row: Evidence,
) -> Contributions:
    """Return the log odds of a class given one row of evidence, as a sum of one term per finding.

    Parameters
    ----------
    model : Product
    contrast : Contrast
        The classes to compare.
    row : Evidence
        One encoded row, without the class variable.
    """
    target = contrast.target
    if target in row:
        raise errors.EvidenceError(
            f"The evidence has {target.name!r}, whose log odds are computed; leave it out."
        )
    row, _ = row.split()
    prior, batches = steps_of(model, target, row)
    steps = _expanded(batches, model, contrast, row)
    likelihoods = np.array([step.log_likelihoods for step in steps]).reshape(-1, len(prior))
    # Findings after an impossible one add 0 to the class that it ruled out.
    added = np.where(np.isnan(likelihoods), 0.0, likelihoods)
    log_scores = np.cumsum([prior, *added], axis=0)
    if np.isnan(contrast(log_scores[-1])):
        raise impossible({v.name: _value(row, v) for v in row.columns})
    # Log odds that have become infinite are not changed by further findings.
    moved = contrast.shift(log_scores[:-1], likelihoods)
    terms = np.where(np.isnan(moved), 0.0, moved)
    alone = contrast.shift(prior, likelihoods)
    return Contributions(
        contrast,
        float(contrast(prior)),
        tuple(
            Contribution(name, value, float(term), float(own) if by is None else by, arcs, logs)
            for (name, value, logs, by, arcs), term, own in zip(steps, terms, alone, strict=True)
        ),
        log_scores[-1],
    )


class _Finding(NamedTuple):
    """Log likelihoods of one finding by class, from which a `Contribution` is computed.

    Attributes
    ----------
    name, value, arcs
        As in `Contribution`.
    log_likelihoods : ndarray, shape (n_classes,)
        log P(finding | earlier findings, class).
    alone : float or None
        The term of the log odds if nothing else were observed. None if the log likelihoods do not
        depend on other findings: the term then follows from them.
    """

    name: Name
    value: Any
    log_likelihoods: Floats
    alone: float | None = None
    arcs: Mapping[Name, float] = MappingProxyType({})


def _value(row: Evidence, variable: Variable) -> Any:
    """Return the value of an observed variable, decoded to a state, a number or counts."""
    if isinstance(variable, CountVector):
        counts = dense_row(row.columns[variable])
        return dict(zip(*counted(variable.items, counts, np.flatnonzero(counts)), strict=True))
    return plain(decode(variable, row.columns[variable])[0])


def _expanded(
    steps: Iterator[AnyStep], model: Product, contrast: Contrast, row: Evidence
) -> list[_Finding]:
    """Return the findings of one row, with what each would add alone and with its parents."""
    findings: list[_Finding] = []
    chains: dict[int, list[Variable]] = {}
    for step in steps:
        if isinstance(step, Items):
            terms = step.of(0)
            names = [step.names[item] for item in terms.names]
            findings += map(_Finding, names, terms.values, terms.logs)
            continue
        if step.parents is not None:
            chains[len(findings)] = [*step.variables, *(p for p in step.parents if p in row)]
        values = [_value(row, v) for v in step.variables]
        value = values[0] if len(values) == 1 else tuple(values)
        findings.append(_Finding(step.name, value, step.logs[0]))
    # Each chain has the finding after none, one, two, ... of its observed parents.
    pairs = [
        (chain[1 : n + 1], [*chain[1 : n + 1], chain[0]])
        for chain in chains.values()
        for n in range(len(chain))
    ]
    odds = contrast(_log_scores(model, contrast.target, row, pairs))
    with np.errstate(invalid="ignore"):
        moved = iter((odds[1::2] - odds[::2]).tolist())
    for place, (_, *parents) in chains.items():
        alone = next(moved)
        changes = np.diff([alone, *islice(moved, len(parents))]).tolist()
        arcs = dict(zip([p.name for p in parents], changes, strict=True))
        findings[place] = findings[place]._replace(alone=alone, arcs=arcs)
    return findings


def _log_scores(
    model: Product, target: Discrete, row: Evidence, pairs: Sequence[tuple[list[Variable], ...]]
) -> Floats:
    """Return the log scores of the classes given some of the findings of a row, by one query."""
    sets = [set(variables) for pair in pairs for variables in pair]
    if not sets:
        return np.empty((0, target.cardinality))
    columns: dict[Variable, Any] = {}
    for variable, value in row.columns.items():
        seen = np.array([variable in chosen for chosen in sets])
        if not seen.any():
            continue
        gone = -1 if isinstance(variable, Discrete) else np.nan
        if isinstance(variable, CountVector):
            seen, value = seen[:, None], dense_row(value)
        columns[variable] = np.where(seen, value, gone)
    return model.log_posterior_rows(target, Evidence(len(sets), columns))


def target_and_above(network: BayesianNetwork, target: Discrete) -> set[Variable]:
    """Return the target and its ancestors, whose terms do not follow from their distributions."""
    return ancestral_set({cpd.variable: cpd.parents for cpd in network.nodes()}, [target])


def term_name(term: Term, target: Discrete) -> Name:
    """Return the name of a factor's term in the explanation.

    For the CPD of a feature this is the feature's name. For other factors it is the tuple of the
    names of all variables but the class variable; if there is only one such variable, its name.
    """
    shown = _shown(term, target)
    return shown[0].name if len(shown) == 1 else tuple(v.name for v in shown)


def _shown(term: Term, target: Discrete) -> list[Variable]:
    if isinstance(term.source, CPD) and term.source.variable != target:
        return [term.source.variable]
    return [v for v in term.scope if v != target]


# ---------------------------------------------- what each finding adds, in all rows that have it


def _patterns(rows: Evidence, variables: Sequence[Variable]) -> list[tuple[Rows, list[Variable]]]:
    """Return the rows that observe the same of some variables together, and which these are."""
    present = [v for v in variables if v in rows]
    seen = np.array([rows.observed_rows(v) for v in present]).reshape(len(present), rows.n_rows).T
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    return [
        (np.flatnonzero(which.reshape(-1) == k), list(compress(present, pattern)))
        for k, pattern in enumerate(patterns.tolist())
    ]


def _part(rows: Evidence, places: Rows, variables: Collection[Variable]) -> Evidence:
    """Return the columns of some variables in some rows."""
    return Evidence(len(places), {v: rows.columns[v][places] for v in variables if v in rows})


# ------------------------------------------------------------------------------ kinds of models


def steps_of(model: Product, target: Discrete, rows: Evidence) -> tuple[Floats, Iterator[AnyStep]]:
    """Return the log prior of the classes, shape (n_classes,), and what each finding adds."""
    if isinstance(model, FactorGraph):
        return _factor_steps(model, target, rows)
    if isinstance(model, WeightedNetwork):
        return model.log_scores(Evidence(1, {}))[0], _weighted_steps(model, rows)
    prior = model.log_posterior_rows(target, Evidence(1, {}))[0]
    if isinstance(model, Ensemble):
        return prior, _ensemble_steps(model, target, rows, prior)
    return prior, _network_steps(model, target, rows)


def _by_class(potential: Potential, target: Discrete, n_rows: int) -> Floats:
    """Return the log values of a potential for each row and class, shape (n_rows, n_classes)."""
    assert isinstance(potential, Factor)  # everything but the target is observed
    return np.broadcast_to(potential.aligned([target]), (n_rows, target.cardinality))


def _network_steps(network: BayesianNetwork, target: Discrete, rows: Evidence) -> Iterator[AnyStep]:
    above = target_and_above(network, target)
    cpds = [cpd for cpd in network.nodes() if cpd.variable in rows]
    taken = set(network.names)
    last: tuple[int, Rows, Floats] = -1, np.empty(0, dtype=np.intp), np.empty(0)
    for i, cpd in enumerate(cpds):
        variable = cpd.variable
        if cpd.parents == (target,) and isinstance(variable, CountVector):
            yield Items(cpd, variable, rows, _item_names(variable, taken))
            continue
        others = [p for p in cpd.parents if p != target]
        # A term that no other finding changes is the same alone.
        parents = others if others or variable in above else None
        seen = rows.observed_rows(variable)
        local = seen & _all_observed(rows, others) & (variable not in above)
        if (places := np.flatnonzero(local)).size:
            potential = cpd.potential(_part(rows, places, [variable, *others]))
            logs = _by_class(potential, target, len(places))
            yield Step((variable,), variable.name, places, logs, parents)
        if (places := np.flatnonzero(seen & ~local)).size:
            earlier = [c.variable for c in cpds[:i]]
            if last[0] == i and np.array_equal(last[1], places):
                before = last[2]
            else:
                before = network.log_posterior_rows(target, _part(rows, places, earlier))
            after = network.log_posterior_rows(target, _part(rows, places, [*earlier, variable]))
            last = i + 1, places, after
            logs = _difference(after, before)
            yield Step((variable,), variable.name, places, logs, parents)


def _all_observed(rows: Evidence, variables: Sequence[Variable]) -> NDArray[np.bool_]:
    """Return which rows observe all of the variables, shape (n_rows,)."""
    seen = np.ones(rows.n_rows, dtype=bool)
    for variable in variables:
        seen &= variable in rows and rows.observed_rows(variable)
    return seen


def _ensemble_steps(
    model: NetworkMixture | PosteriorAverage, target: Discrete, rows: Evidence, prior: Floats
) -> Iterator[Step]:
    observed = [v for v in model.variables if v in rows]
    scores = np.tile(prior, (rows.n_rows, 1))
    for i, variable in enumerate(observed, 1):
        places = np.flatnonzero(rows.observed_rows(variable))
        after = model.log_posterior_rows(target, _part(rows, places, observed[:i]))
        logs = _difference(after, scores[places])
        yield Step((variable,), variable.name, places, logs, ())
        scores[places] = after


def _difference(after: Floats, before: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(after - before)


def _weighted_steps(model: WeightedNetwork, rows: Evidence) -> Iterator[Step]:
    for cpd in model.network.nodes():
        if cpd.variable not in rows:
            continue
        for places, seen in _patterns(rows, [cpd.variable, *cpd.parents]):
            if cpd.variable in seen:
                logs = model.tempered(cpd, _part(rows, places, seen))
                if logs is None:
                    logs = np.zeros((len(places), model.target.cardinality))
                yield Step((cpd.variable,), cpd.variable.name, places, logs, cpd.parents)


def _factor_steps(
    graph: FactorGraph, target: Discrete, rows: Evidence
) -> tuple[Floats, Iterator[AnyStep]]:
    if missing := [
        v.name
        for v in graph.variables
        if v != target and not (v in rows and rows.observed_rows(v).all())
    ]:
        raise errors.EvidenceError(
            "The factors of a factor graph add up where every variable is observed; "
            f"{errors.quoted(missing)} are not observed in every row. Give their values, or query "
            "the BayesianNetwork."
        )
    prior = np.zeros(target.cardinality)
    for term in graph.terms:
        if term.scope == (target,):
            prior = prior + _by_class(term.potential(Evidence(1, {})), target, 1)[0]

    def steps() -> Iterator[AnyStep]:
        taken: set[Name] = set()
        named = set(graph.names)
        everywhere = np.arange(rows.n_rows)
        for number, term in enumerate(graph.terms):
            vector = term.scope[-1]
            if term.scope[:-1] == (target,) and isinstance(vector, CountVector):
                yield Items(term, vector, rows, _item_names(vector, named))
            elif term.scope != (target,):
                name = term_name(term, target)
                name = (name, number) if name in taken else name
                taken.add(name)
                logs = _by_class(term.potential(rows), target, rows.n_rows)
                yield Step(_shown(term, target), name, everywhere, logs)

    return prior, steps()


class Step(NamedTuple):
    """What a finding adds in the rows that have it.

    Attributes
    ----------
    variables : sequence of Variable
        Whose values the finding is.
    name : name
    rows : ndarray
        The rows.
    logs : ndarray, shape (len(rows), n_classes)
        Log likelihoods of the finding.
    parents : sequence of Variable or None
        What the finding depends on, if observed; None if it adds the same whatever is observed.
    """

    variables: Sequence[Variable]
    name: Name
    rows: Rows
    logs: Floats
    parents: Sequence[Variable] | None = None


@dataclass(frozen=True)
class Items:
    """The terms of a vector of counts, whose items differ from row to row."""

    source: CPD | Term
    vector: CountVector
    rows: Evidence
    names: Mapping[Name, Name]

    def of(self, row: int) -> ItemTerms:
        """Return names and values of the items in a row, and their log likelihoods by class."""
        counts = self.rows.columns[self.vector][[row]]
        terms = self.source.item_terms(Evidence(1, {self.vector: counts}))
        assert isinstance(terms, ItemTerms)  # the class is the only parent
        return terms


def _item_names(vector: CountVector, taken: set[Name]) -> dict[Name, Name]:
    """Return names of terms of items, (vector, item) where an item's is taken, and take them."""
    names = {item: (vector.name, item) if item in taken else item for item in vector.items}
    names[vector.name] = vector.name
    taken.update(names.values())
    return names


AnyStep: TypeAlias = Step | Items
