"""Collected statistics: what a classifier counts of some rows, to be added up without the rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.base import GraphClassifier
from bayesgraph.classifiers.intake import joined_classes
from bayesgraph.classifiers.layout import Layout
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, DataTypeError, quoted
from bayesgraph.core.typing import PathLike
from bayesgraph.core.upward import upward
from bayesgraph.core.variables import Binned, Discrete, Grouped, Variable, values_of
from bayesgraph.statistics import CountSource, Family, Request, Statistics, Totals
from bayesgraph.tables import TrainingRows, kind_of, with_states

Classifier = TypeVar("Classifier", bound=GraphClassifier)


@dataclass(frozen=True, eq=False, repr=False)
class CollectedStatistics:
    """Sufficient statistics of some rows, and what they are about: columns, states and classes.

    `collect` of a classifier returns them for the rows of one site or batch, and its attribute
    `collected_` for the rows that it was fitted on. Those of several sites are added by ``+``, in
    which states and classes are joined, and `from_statistics` makes the classifier of all rows.

    Attributes
    ----------
    estimator : classifier
        Unfitted, with the parameters with which the rows were read and counted.
    layout : Layout
        Assignment of the columns to features.
    features : tuple of Variable
        The features with their states, in the order of the columns.
    target : Discrete
        The class.
    classes : ndarray, shape (n_classes,)
        The classes as labels.
    statistics : Statistics
    named : bool
        Whether the columns had names.
    rows : TrainingRows or None
        How many rows and missing values they are of; None if that is not known.
    """

    estimator: GraphClassifier
    layout: Layout
    features: tuple[Variable, ...]
    target: Discrete
    classes: NDArray[Any]
    statistics: Statistics
    named: bool
    rows: TrainingRows | None = None

    @classmethod
    def total(cls, parts: Any, names: Iterable[str] | None = None) -> CollectedStatistics:
        """Return the sum of parts: collected statistics, or fitted classifiers.

        Parameters
        ----------
        parts : iterable of parts, or one
            Their errors are those of `from_statistics`.
        names : iterable of str, optional
            What messages call the parts, such as the paths of their files.
        """
        single = isinstance(parts, str) or not isinstance(parts, Iterable)
        if names is None:
            names = (f"part {number}" for number in itertools.count(1))
        total, first = None, ""
        for name, item in zip(names, [parts] if single else parts, strict=False):
            part = _part(item, name)
            if total is None:
                total, first = part, name
            else:
                # All parts so far agree, so that the first speaks for them.
                total = joined(total, part, (first, name))
        if total is None:
            raise DataError("There is no part to make a classifier of.")
        return total

    @property
    def n_rows(self) -> float | None:
        """The number of rows, or the sum of their weights; None if the statistics lack it."""
        held = self.statistics.family(Family((self.target,)))
        return None if held is None else float(held.counts.sum())

    def __add__(self, other: CollectedStatistics) -> CollectedStatistics:
        """Return the statistics of the rows of both; see `from_statistics` for the errors."""
        if not isinstance(other, CollectedStatistics):
            return NotImplemented
        return joined(self, other, ("the left part", "the right part"))

    def save(self, path: PathLike) -> None:
        """Save to a file in the native format, ``.bayesgraph``, which `bayesgraph.load` reads."""
        upward("save")(self, path)

    def __repr__(self) -> str:
        n, n_rows = len(self.features), self.n_rows
        rows = "" if n_rows is None else f" of {rounded(n_rows, 7, grouped=True)} rows"
        return (
            f"CollectedStatistics{rows}: {n} feature{'s' * (n != 1)}, class "
            f"{self.target.name!r} with {len(self.classes)} states"
        )


class PartsSource(CountSource):
    """A count source of collected statistics, which names the classifier if they do not suffice."""

    def __init__(self, part: CollectedStatistics, classifier: GraphClassifier) -> None:
        super().__init__((*part.features, part.target), part.target, part.statistics)
        self._classifier = classifier

    def _collected(self, request: Request) -> NoReturn:
        held = quoted(sorted({_described(r) for r in self._summaries}))
        raise DataError(
            f"{self._classifier!r} needs {_described(request)}, and the statistics hold {held}. "
            "What is chosen from counts takes further passes over the data; fit it on the whole "
            "table. Or collect all parts with this classifier and these parameters."
        )


def _described(request: Request) -> str:
    """Return in words what is counted of which columns."""
    if isinstance(request, Totals):
        return f"totals of {request.vector.name!r} (threshold {request.threshold})"
    kind = type(request).__name__.lower()
    columns = getattr(request, "columns", None)
    if columns is None:
        return kind
    functions = getattr(request, "functions", ())
    of = f"{kind} ({', '.join(functions)})" if functions else kind
    given = getattr(request, "given", None)
    within = "" if given is None else " in each class"
    return f"{of} of {len(columns)} column{'s' * (len(columns) != 1)}{within}"


def _part(item: Any, name: str) -> CollectedStatistics:
    if isinstance(item, CollectedStatistics):
        return item
    # A property of classifiers that add rows, which raises what is the matter with this one.
    if not hasattr(type(item), "collected_"):
        raise DataTypeError(
            "The parts are what collect returned, or fitted classifiers whose rows can be added; "
            f"{name} is {type(item).__name__}. Load files by bayesgraph.load."
        )
    found: CollectedStatistics = item.collected_
    return found


# Parameters by which rows are read and counted; others are those of the estimate.
_READING = ("distributions", "items", "categorical", "discretizer", "class_weight")


def with_parameters(
    kind: type[Classifier], part: CollectedStatistics, given: Mapping[str, Any]
) -> Classifier:
    """Return an unfitted classifier for a part: the given parameters, others as those of the part.

    If the part is of another class, it has the parameters by which its rows were read.

    Raises
    ------
    DataError
        If a parameter that is given would have read the rows in another way.
    """
    read = part.estimator.get_params(deep=False)
    mine = kind().get_params(deep=False)
    for name in _READING:
        if name in given and name in mine and repr(given[name]) != repr(read.get(name)):
            raise DataError(
                f"The parts were collected with {name}={read.get(name)!r}, and not with "
                f"{given[name]!r}. Leave {name}= out, or collect with it."
            )
    known = read if type(part.estimator) is kind else {n: read[n] for n in _READING if n in read}
    return kind(**{**{n: v for n, v in known.items() if n in mine}, **given})


def joined(
    one: CollectedStatistics, other: CollectedStatistics, names: tuple[str, str]
) -> CollectedStatistics:
    """Return the sum of two parts, with the states and classes of both.

    Parameters
    ----------
    one, other : CollectedStatistics
    names : (str, str)
        What messages call the parts.
    """
    _check_layouts(one, other, names)
    features = joined_variables(one.features, other.features, names)
    classes = joined_classes(dict(zip(names, (one.classes, other.classes), strict=True)))
    target = Discrete(one.target.name, classes.tolist())
    held = [grown(part, features, target) for part in (one, other)]
    common = [request for request in held[0].summaries if request in held[1].summaries]
    if not common:
        kinds = [quoted(sorted(map(_described, part.summaries))) for part in held]
        raise DataError(
            f"Statistics of different kinds cannot be added: {names[0]} holds {kinds[0]}, "
            f"{names[1]} {kinds[1]}. Collect both with one classifier and the same parameters."
        )
    left, right = (Statistics({r: part.summaries[r] for r in common}) for part in held)
    layout = replace(one.layout, categorical=one.layout.categorical | other.layout.categorical)
    return replace(
        one,
        layout=layout,
        features=features,
        target=target,
        classes=classes,
        statistics=left + right,
        named=one.named and other.named,
        rows=None if one.rows is None or other.rows is None else one.rows + other.rows,
    )


def grown(
    part: CollectedStatistics, features: tuple[Variable, ...], target: Discrete
) -> Statistics:
    """Return the statistics of a part for features and a class with more states."""
    old, new = (*part.features, part.target), (*features, target)
    return part.statistics.grown(dict(zip(old, new, strict=True)))


def _check_layouts(
    one: CollectedStatistics, other: CollectedStatistics, names: tuple[str, str]
) -> None:
    """Raise a DataError if two parts have other columns, groups or families, or another class."""
    a, b = one.layout, other.layout
    both = f"{names[0]} and {names[1]}"
    weights = [part.estimator.class_weight for part in (one, other)]
    if repr(weights[0]) != repr(weights[1]):
        raise DataError(
            f"{both} weigh the classes differently, by class_weight={weights[0]!r} and "
            f"{weights[1]!r}. Collect both with the same."
        )
    if one.target.name != other.target.name:
        raise DataError(
            f"The class is called {one.target.name!r} in {names[0]} and {other.target.name!r} in "
            f"{names[1]}; name the labels alike."
        )
    if a.columns != b.columns:
        lacking = [
            f"{whose} lacks {quoted(sorted(rest, key=repr))}"
            for whose, rest in (
                (names[0], {*b.columns} - {*a.columns}),
                (names[1], {*a.columns} - {*b.columns}),
            )
            if rest
        ]
        raise DataError(
            f"{both} have different columns: {'; '.join(lacking)}."
            if lacking
            else f"{both} have their columns in another order: {quoted(a.columns)} and "
            f"{quoted(b.columns)}. Collect them in one order."
        )
    for word, left, right in (
        ("distribution", a.families, b.families),
        ("columns", a.groups, b.groups),
    ):
        for name in dict.fromkeys([*left, *right]):
            mine, theirs = left.get(name, "the default"), right.get(name, "the default")
            if mine != theirs:
                raise DataError(
                    f"The {word} of {name!r} differ between {both}: {mine} and {theirs}. Collect "
                    "both with the same distributions=."
                )


def joined_variables(
    one: Sequence[Variable], other: Sequence[Variable], names: tuple[str, str]
) -> tuple[Variable, ...]:
    """Return variables with the states of both of two lists, which have the same names.

    Raises
    ------
    DataError
        If intervals or groups differ.
    DataTypeError
        If the values of a variable are of another kind, such as text and numbers.
    """
    return tuple(_joined_variable(a, b, names) for a, b in zip(one, other, strict=True))


def _joined_variable(a: Variable, b: Variable, names: tuple[str, str]) -> Variable:
    if a == b:
        return a
    if type(a) is not type(b):
        raise DataTypeError(
            f"Column {a.name!r} is {type(a).__name__} in {names[0]} and {type(b).__name__} in "
            f"{names[1]}: its values, categorical= or discretizer= differ."
        )
    if not _is_extended(a, b):
        raise DataError(
            f"Column {a.name!r} has other {_parted(a)} in {names[0]} than in {names[1]}. Collect "
            "with a classifier that is fitted already, so that its intervals and groups are used."
        )
    kinds = [{kind_of(state) for state in values_of(v)} for v in (a, b) if isinstance(v, Discrete)]
    if not kinds[0] & kinds[1]:
        raise DataTypeError(
            f"Column {a.name!r} has {' and '.join(sorted(kinds[0]))} states in {names[0]} and "
            f"{' and '.join(sorted(kinds[1]))} states in {names[1]}; convert it to one type."
        )
    assert isinstance(a, Discrete)
    assert isinstance(b, Discrete)
    return with_states(a, _as_column(b))


def _is_extended(a: Variable, b: Variable) -> bool:
    """Return whether two variables of one type differ at most in states that one of them lacks."""
    if isinstance(a, Grouped) and isinstance(b, Grouped):
        # Values that came later are groups of their own.
        many = [{group for group in v.groups if len(group) > 1} for v in (a, b)]
        return many[0] == many[1] and a.others == b.others
    return isinstance(a, Discrete) and not isinstance(a, Binned)


def known_variables(known: Sequence[Variable], found: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return the variables of a model with the new states of the same columns in other rows.

    Intervals stay as they are, and new values of groups become groups, as in `partial_fit`.

    Raises
    ------
    DataTypeError
        If a column is discrete in one and numeric in the other.
    """
    return tuple(_known_variable(v, new) for v, new in zip(known, found, strict=True))


def _known_variable(known: Variable, found: Variable) -> Variable:
    if isinstance(known, Discrete) and isinstance(found, Discrete):
        return with_states(known, _as_column(found))
    if isinstance(known, Discrete) and not isinstance(known, Binned):
        raise DataTypeError(
            f"Column {known.name!r} has states in the model, and now it is numeric; convert it to "
            "the type it had."
        )
    if isinstance(found, Discrete):
        raise DataTypeError(
            f"Column {known.name!r} is numeric in the model, and now it has states; convert it to "
            "the type it had."
        )
    return known


def _as_column(variable: Discrete) -> NDArray[Any]:
    """Return the values that a variable has states for as a column of objects."""
    values = values_of(variable)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _parted(variable: Variable) -> str:
    if isinstance(variable, Binned):
        return "intervals"
    return "groups of values" if isinstance(variable, Grouped) else "items"
