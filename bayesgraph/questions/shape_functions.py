"""Shapes: the log odds of a class as a sum of functions of single features and of a few together.

If the class is a parent of each feature, then the log odds of a complete row are the prior log odds
plus one function of each feature and its other parents. A function of several features is split
into its mean, functions of single features, and the interactions of two, three and more features
that are left (analysis of variance, Hooker 2007), as explainable boosting machines draw them (Lou,
Caruana, Gehrke and Hooker 2013).

The log odds of other models, such as averages of posteriors, are no such sum. Their shapes are the
means of the log odds over given rows in which one or two features are set to a value (partial
dependence, Friedman 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more
from bayesgraph.core.errors import (
    DataError,
    UnsupportedModelError,
    quoted,
    unknown_variable,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Binned, CountVector, Discrete, Name, State, Variable
from bayesgraph.models import (
    Model,
    TableCPD,
    networks_in,
)
from bayesgraph.questions.asking import with_values
from bayesgraph.questions.contributions import Contrast, Walk, signed
from bayesgraph.questions.estimators import discrete_target, question

# ---- Shapes: the log odds of a class as a sum of functions of single features and of a few
# together


# Maximum number of rows over which the log odds are averaged, of one feature and of a pair.
_MAX_ROWS, _MAX_PAIR_ROWS = 400, 100
# Maximum number of intervals of a number that no network has intervals of.
_MAX_INTERVALS = 20
_MAX_LINES = 40
# Maximum number of features of a term.
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
        """Mean absolute effect over the rows and the classes, in nats."""
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
        raise unknown_variable(name, list(self), where="The mapping from features to shapes")

    def __iter__(self) -> Iterator[Any]:
        return map(_key, self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def _display(self) -> DisplayTable:
        shown = self.terms[:_MAX_LINES]
        strengths = [term.strength for term in shown]
        longest = max(strengths, default=0.0) or 1.0
        return DisplayTable(
            f"Shapes of {self.target.name}: mean absolute effect on the log odds",
            [
                (" × ".join(repr(v.name) for v in term.variables), f"{strength:.4f}")
                for term, strength in zip(shown, strengths, strict=True)
            ],
            bars=[strength / longest for strength in strengths],
            note=more(len(self.terms), len(shown), "terms"),
        )


def _key(term: Shape) -> Name | tuple[Name, ...]:
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
        raise UnsupportedModelError(
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
    """Return what is compared, and the weights of the classes' log scores, (n_curves, n_classes).

    The weights of a curve sum to zero.
    """
    n = target.cardinality
    if n == 2 or negative is not None:
        contrast = Contrast.of(target, positive, negative)
        weights = np.zeros((1, n))
        assert contrast.negative is not None  # of two classes, or given
        weights[0, [contrast.positive, contrast.negative]] = 1.0, -1.0
        names = (target.states[contrast.positive], target.states[contrast.negative])
        return ("{} against {}".format(*names),), weights
    weights = np.eye(n) - 1.0 / n
    codes = range(n) if positive is None else [target.index(positive)]
    return tuple(str(target.states[code]) for code in codes), weights[list(codes)]


# ------------------------------------------------------------------------------------- networks


def _obstacle(model: Model, target: Discrete) -> str:
    """Return why the log odds of complete rows are no sum of a few features' terms, or nothing."""
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
            return f"{cpd.variable.name!r} has the parents {quoted(p.name for p in cpd.parents)}"
    return ""


def _exact_terms(network: Any, target: Discrete, weights: Floats) -> tuple[Floats, list[Shape]]:
    """Return the constant and the terms of a network's log odds; see `_curves` for `weights`."""
    prior = network.query(target.name).probabilities
    tables = [c for c in network._nodes() if isinstance(c, TableCPD) and target in c.parents]
    order: dict[Discrete, int] = {}
    for cpd in tables:
        for variable in _scope(cpd, target):
            order.setdefault(variable, len(order))
    share = {v: network.query(v.name).probabilities for v in order}
    # Terms of one feature come first.
    effects: dict[tuple[Discrete, ...], Any] = {(v,): 0.0 for v in order}
    effects[()] = _checked(target, weights @ _logs(prior))
    for cpd in tables:
        scope = sorted(_scope(cpd, target), key=order.__getitem__)
        axes = [(*cpd.parents, cpd.variable).index(v) for v in (*scope, target)]
        logs = _logs(cpd.values).transpose(axes) @ weights.T
        parts = _split(_checked(cpd.variable, logs), [share[v] for v in scope])
        for subset, effect in parts.items():
            key = tuple(scope[at] for at in subset)
            effects[key] = effects.get(key, 0.0) + effect
    intercept = effects.pop(())
    shares = {key: reduce(np.multiply.outer, [share[v] for v in key]) for key in effects}
    return intercept, [Shape(key, effects[key], shares[key]) for key in effects]


def _scope(cpd: TableCPD, target: Discrete) -> list[Discrete]:
    return [v for v in (*cpd.parents, cpd.variable) if v != target]


def _logs(probabilities: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))


def _checked(variable: Variable, log_odds: Floats) -> Floats:
    if not np.isfinite(log_odds).all():
        raise DataError(
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
    for at, share in enumerate(shares):
        # The axes of earlier variables are those of the subset.
        means = {s: np.tensordot(share, part, (0, len(s))) for s, part in split.items()}
        rest = {(*s, at): split[s] - np.expand_dims(means[s], len(s)) for s in split}
        split = means | rest
    return split


# --------------------------------------------------------------------------- means over rows


def _mean_terms(
    model: Model, target: Discrete, rows: Evidence, weights: Floats
) -> tuple[Floats, list[Shape]]:
    """Return the mean log odds over rows, and its changes when features are set to a value."""
    sample = _some(rows, _MAX_ROWS)
    few = _some(sample, _MAX_PAIR_ROWS)
    axes = {
        v.name: _axis(v, column)
        for v, column in rows.columns.items()
        if not isinstance(v, CountVector)
    }
    terms = []
    for axis in axes.values():
        effect = _split(_means(model, target, sample, [axis], weights), [axis.share])[0,]
        terms.append(Shape((axis.shown,), effect, axis.share))
    # The pairs of features with an arc in a network whose class has no parents.
    pairs = dict.fromkeys(
        (parent.name, cpd.variable.name)
        for _, network in networks_in(model)
        if not _obstacle(network, target)
        for cpd in network._nodes()
        for parent in cpd.parents
        if target not in (parent, cpd.variable)
    )
    for names in pairs:
        both = [axes[name] for name in names if name in axes]
        if len(both) == 2:
            shares = [axis.share for axis in both]
            interaction = _split(_means(model, target, few, both, weights), shares)[0, 1]
            shown = tuple(axis.shown for axis in both)
            terms.append(Shape(shown, interaction, np.multiply.outer(*shares)))
    return _log_odds(model, target, sample, weights).mean(axis=0), terms


def _means(
    model: Model, target: Discrete, rows: Evidence, axes: Sequence[_Axis], weights: Floats
) -> Floats:
    """Return the mean log odds over rows for all values of some features, (..., n_curves)."""
    shape = rows.n_rows, *(len(axis.places) for axis in axes), -1
    for axis in axes:
        rows = with_values(rows, axis.variable, axis.places)
    return np.asarray(_log_odds(model, target, rows, weights).reshape(shape).mean(axis=0))


def _log_odds(model: Model, target: Discrete, rows: Evidence, weights: Floats) -> Floats:
    return _checked(target, model._log_posterior_rows(target, rows) @ weights.T)


def _some(rows: Evidence, n: int) -> Evidence:
    """Return so many rows, evenly spaced."""
    return rows.rows(np.linspace(0, rows.n_rows - 1, min(rows.n_rows, n)).astype(np.intp))


class _Axis(NamedTuple):
    """The values of a feature that the rows are set to.

    Attributes
    ----------
    variable : Variable
        The feature in the model.
    shown : Discrete
        The feature with intervals, if it is a number.
    places : ndarray, shape (n_states,)
        Codes of states, or a number in each interval.
    share : ndarray, shape (n_states,)
        Share of the rows in each state.
    """

    variable: Variable
    shown: Discrete
    places: NDArray[Any]
    share: Floats


def _axis(variable: Variable, column: NDArray[Any]) -> _Axis:
    """Return the states of a feature, or intervals of a number between quantiles."""
    if isinstance(variable, Discrete):
        codes, shown = column[column >= 0], variable
        places: NDArray[Any] = np.arange(variable.cardinality)
    else:
        numbers = column[np.isfinite(column)]
        ranks = np.arange(1, _MAX_INTERVALS) / _MAX_INTERVALS
        ends = np.quantile(numbers, ranks, method="lower") if len(numbers) else numbers
        cuts = np.unique(ends[ends < numbers.max(initial=-np.inf)])
        shown = Binned(variable.name, cuts.tolist())
        codes = shown.codes(numbers)
        both = np.append(numbers, cuts)
        low, high = both.min(initial=np.inf), both.max(initial=-np.inf)
        places = np.convolve([low - 1.0, *cuts, high + 1.0], [0.5, 0.5], "valid")
    counts = np.bincount(codes, minlength=shown.cardinality).astype(np.float64)
    share = counts / counts.sum() if len(codes) else np.full(len(counts), 1.0 / len(counts))
    return _Axis(variable, shown, places, share)


# ----- Ranking of the items of a vector of counts, such as words, by their log odds for each class


_LONGEST_LINE = 96


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
        for child in addend.variables[:1]:
            of_class = addend.source is not None and addend.source.scope == (variable, child)
            if isinstance(child, CountVector) and of_class:
                logs = addend.source.item_logs()
                if logs is not None:
                    vectors[child] = vectors.get(child, 0.0) + logs
    if not vectors:
        raise UnsupportedModelError(
            f"There is no vector of counts whose only parent is {target!r}: take "
            "NaiveBayesClassifier('multinomial'), 'bernoulli', or ComplementNaiveBayesClassifier."
        )
    names = quoted(v.name for v in vectors)
    if feature is None and len(vectors) > 1:
        raise DataError(
            f"There are several vectors of counts: choose one of {names} with feature=."
        )
    chosen = next(iter(vectors)) if feature is None else model.variable(feature)
    if not (isinstance(chosen, CountVector) and chosen in vectors):
        raise DataError(f"feature= names a vector of counts, one of {names}; got {feature!r}.")
    top = {}
    for code, state in enumerate(variable.states):
        # Change of the log odds by one occurrence of each item; ties in the order of the items.
        values = np.zeros(len(chosen.items))
        if (n_states := variable.cardinality) > 1:
            contrast = Contrast(variable, code, 1 - code if n_states == 2 else None)
            values = contrast.shift(walk.prior, vectors[chosen].T)
        values = np.where(np.isnan(values), -np.inf, values)
        order = np.argsort(-values, kind="stable")[:n].tolist()
        top[state] = {chosen.items[i]: float(values[i]) for i in order}
    return TopItems(variable, top)
