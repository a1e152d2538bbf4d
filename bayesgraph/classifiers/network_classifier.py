"""Classifiers whose networks are estimated from additive statistics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers import base, discretizers, intake
from bayesgraph.classifiers.base import GraphClassifier
from bayesgraph.classifiers.discretizers import (
    ColumnsByClass,
    DatasetColumns,
    Discretizer,
    TableColumns,
)
from bayesgraph.classifiers.intake import (
    check_names,
    check_weighed,
    is_frame,
    joined_classes,
    note_names,
    target_name,
    weights_of_classes,
)
from bayesgraph.classifiers.rows import VECTORS, Layout, known_table, make_layout
from bayesgraph.classifiers.scikit_learn import available_if, sklearn
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    UnavailableError,
    UnknownStateError,
    check_known,
    quoted,
)
from bayesgraph.core.typing import PathLike
from bayesgraph.core.upward import upward
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Discrete,
    Grouped,
    Name,
    Variable,
    values_of,
)
from bayesgraph.learning import Structure, counts_ahead, estimate_network, star
from bayesgraph.models import FAMILIES, GaussianCPD, GaussianPlate, best_families, networks_in
from bayesgraph.statistics import (
    CountSource,
    DatasetSource,
    Domains,
    Families,
    Family,
    Request,
    Singles,
    Smoothing,
    SmoothingLike,
    Statistics,
    TableSource,
    Totals,
    as_smoothing,
    checked_weights,
    discretized,
    find_domains,
    sample_of,
    variables_of,
)
from bayesgraph.tables import (
    EVERY,
    Column,
    Dataset,
    Examined,
    Rows,
    TrainingRows,
    as_dataset,
    check_unseen,
    columns_of,
    decoded,
    engine_of,
    is_discrete,
    warn_of_columns,
    with_states,
)

# ---- Collected statistics: what a classifier counts of some rows, to be added up without the rows


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
        # A text is one part, which is refused, and not several of one letter.
        single = isinstance(parts, str) or not isinstance(parts, Iterable)
        if names is None:
            names = (f"part {number}" for number in itertools.count(1))
        total, first = None, ""
        for name, item in zip(names, [parts] if single else parts, strict=False):
            part: CollectedStatistics = item
            if not isinstance(item, CollectedStatistics):
                # `collected_` raises if the classifier cannot be updated.
                if not hasattr(type(item), "collected_"):
                    raise DataTypeError(
                        "The parts are what collect returned, or fitted classifiers whose rows can "
                        f"be added; {name} is {type(item).__name__}. Load files by bayesgraph.load."
                    )
                part = item.collected_
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
        # The counts of the classes, if they are among the statistics.
        by_class = self.statistics.family(Family((self.target,)))
        return None if by_class is None else float(by_class.counts.sum())

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
        """Raise a DataError: what was not collected cannot be counted any more."""
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
    if isinstance(request, Families):
        return f"families such as {quoted(v.name for v in request.families[-1].columns)}"
    kind = type(request).__name__.lower()
    columns = getattr(request, "columns", None)
    if columns is None:
        return kind
    functions = getattr(request, "functions", ())
    of = f"{kind} ({', '.join(functions)})" if functions else kind
    condition = getattr(request, "given", None)
    within = "" if condition is None else " in each class"
    return f"{of} of {len(columns)} column{'s' * (len(columns) != 1)}{within}"


# Parameters by which rows are read and counted; others are those of the estimate.
_READING = ("distributions", "items", "categorical", "discretizer", "class_weight")


def with_parameters(
    kind: type[Classifier], part: CollectedStatistics, parameters: Mapping[str, Any]
) -> Classifier:
    """Return an unfitted classifier for a part: the given parameters, others as those of the part.

    If the part is of another class, it has the parameters by which its rows were read.

    Raises
    ------
    DataError
        If a parameter that is given would have read the rows in another way.
    """
    read = part.estimator.get_params(deep=False)
    # The parameters that the class has at all.
    names = kind().get_params(deep=False)
    for name in _READING:
        # Values such as discretisers have no equality: they are compared as text.
        if name in parameters and name in names and repr(parameters[name]) != repr(read.get(name)):
            raise DataError(
                f"The parts were collected with {name}={read.get(name)!r}, and not with "
                f"{parameters[name]!r}. Leave {name}= out, or collect with it."
            )
    kept = read if type(part.estimator) is kind else {n: read[n] for n in _READING if n in read}
    return kind(**{**{n: v for n, v in kept.items() if n in names}, **parameters})


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
    pairs = zip(one.features, other.features, strict=True)
    features = tuple(_joined_variable(a, b, names) for a, b in pairs)
    classes = joined_classes(dict(zip(names, (one.classes, other.classes), strict=True)))
    target = Discrete(one.target.name, classes.tolist())
    # Both in the states and classes of the sum; what only one of them has counted is left out.
    both = [grown(part, features, target) for part in (one, other)]
    common = [request for request in both[0].summaries if request in both[1].summaries]
    if not common:
        kinds = [quoted(sorted(map(_described, part.summaries))) for part in both]
        raise DataError(
            f"Statistics of different kinds cannot be added: {names[0]} holds {kinds[0]}, "
            f"{names[1]} {kinds[1]}. Collect both with one classifier and the same parameters."
        )
    left, right = (Statistics({r: part.summaries[r] for r in common}) for part in both)
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
    weights, other_weights = one.estimator.class_weight, other.estimator.class_weight
    if weights != other_weights:
        raise DataError(
            f"{both} weigh the classes differently, by class_weight={weights!r} and "
            f"{other_weights!r}. Collect both with the same."
        )
    if one.target.name != other.target.name:
        raise DataError(
            f"The class is called {one.target.name!r} in {names[0]} and {other.target.name!r} in "
            f"{names[1]}; name the labels alike."
        )
    if a.columns != b.columns:
        # Of each part, the columns that only the other one has.
        others = ({*b.columns} - {*a.columns}, {*a.columns} - {*b.columns})
        lacking = [
            f"{whose} lacks {quoted(sorted(columns, key=repr))}"
            for whose, columns in zip(names, others, strict=True)
            if columns
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


def _joined_variable(a: Variable, b: Variable, names: tuple[str, str]) -> Variable:
    """Return a variable with the states of both of two variables, which have the same name.

    Raises
    ------
    DataError
        If intervals or groups differ.
    DataTypeError
        If the values are of another kind, such as text and numbers.
    """
    if a == b:
        return a
    if type(a) is not type(b):
        raise DataTypeError(
            f"Column {a.name!r} is {type(a).__name__} in {names[0]} and {type(b).__name__} in "
            f"{names[1]}: its values, categorical= or discretizer= differ."
        )
    if not _is_extended(a, b):
        # What its values are divided into.
        divided = {Binned: "intervals", Grouped: "groups of values"}.get(type(a), "items")
        raise DataError(
            f"Column {a.name!r} has other {divided} in {names[0]} than in {names[1]}. Collect "
            "with a classifier that is fitted already, so that its intervals and groups are used."
        )
    assert isinstance(a, Discrete)
    assert isinstance(b, Discrete)
    return with_states(a, _as_column(b))


def _is_extended(a: Variable, b: Variable) -> bool:
    """Return whether two variables of one type differ at most in states that one of them lacks."""
    if isinstance(a, Grouped) and isinstance(b, Grouped):
        # Groups of a single value may be of values that came later; those of several must agree.
        of_several = [{group for group in v.groups if len(group) > 1} for v in (a, b)]
        return of_several[0] == of_several[1] and a.others == b.others
    return isinstance(a, Discrete) and not isinstance(a, Binned)


def _known_variable(variable: Variable, column: Variable) -> Variable:
    """Return a variable of a model with the new states of the same column in other rows.

    `column` is the variable that these rows alone would have.

    Intervals stay as they are, and new values of groups become groups, as in `partial_fit`.

    Raises
    ------
    DataTypeError
        If the column is discrete in one and numeric in the other.
    """
    if isinstance(variable, Discrete) and isinstance(column, Discrete):
        return with_states(variable, _as_column(column))
    was, now = ("states" if isinstance(v, Discrete) else "numbers" for v in (variable, column))
    if was != now and not isinstance(variable, Binned):
        raise DataTypeError(
            f"Column {variable.name!r} has {was} in the model, and now {now}; convert it to the "
            "type it had."
        )
    return variable


def _as_column(variable: Discrete) -> NDArray[Any]:
    """Return the values that a variable has states for as a column of objects."""
    values = values_of(variable)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


# ------------------- Fitting of classifiers on datasets: tables larger than memory, read in passes


def dataset_of(X: Any, y: Any) -> Dataset | None:
    """Return X as a dataset, or None if it is a table in memory.

    A lazy frame of polars with labels in memory is read as a whole, if it fits.
    """
    if isinstance(X, np.ndarray):
        return None
    # The engines that would compute X and y; None for what is in memory. Only tables in memory, and
    # a lazy frame of polars with labels in memory, are no datasets.
    engines = (engine_of(X), engine_of(y))
    if isinstance(y, str) or engines not in ((None, None), ("polars", None)) or not is_frame(X):
        return as_dataset(X)
    return None


def dataset_source(
    estimator: Any,
    data: Dataset,
    y: Any,
    weight: Any,
    discretizer: Discretizer | None,
    *,
    classes: ArrayLike | None = None,
    model: Any = None,
) -> tuple[DatasetSource, Discrete, DatasetSource]:
    """Return a count source over a dataset, its class, and a source before discretisation.

    The names and the layout are set on the estimator.

    A first pass finds the states of discrete columns and the classes.

    Parameters
    ----------
    estimator : NetworkClassifier
    data : Dataset
    y : str
        Column with the classes.
    weight : str, optional
        Column with the weights of the rows.
    discretizer : Discretizer, optional
        Finds the intervals of numeric columns; see `DatasetColumns`.
    classes : array_like, optional
        Classes that may have no rows.
    model : NetworkClassifier, optional
        A fitted classifier, whose states, intervals and classes are kept; new ones are added.

    Raises
    ------
    DataTypeError
        If `y` or `weight` is not the name of a column.
    DataError
        For missing labels, weights that are none, and columns without values.
    """
    names = _feature_names(data, y, weight)
    if not names:
        used = quoted([y] if weight is None else [y, weight])
        raise DataError(f"{data.source} has no column besides {used} to learn from.")
    if model is not None:
        check_names(model, list(names), list(model.layout_.columns))
        if model.target_.name != y:
            raise DataError(
                f"The class of the model is called {model.target_.name!r}, and y names the column "
                f"{y!r}; give both one name."
            )
    # Columns without rows, which have the types alone.
    types = columns_of(data.schema.empty_table())
    empty: dict[Name, Column] = {name: types[name] for name in names}
    layout = make_layout(empty, estimator._distributions, estimator.categorical)
    features = layout.grouped(empty)
    declared = layout.declared(features)
    # The discrete columns, whose states the first pass finds.
    discrete = [
        str(name)
        for name in features
        if name not in declared and (name in layout.categorical or is_discrete(types[name], name))
    ]
    # Of the type that the labels have in memory: objects if they are text.
    column: Any = types[y]
    kind = column.to_numpy().dtype

    def joined_with_model(domains: Domains) -> NDArray[Any]:
        """Return the classes of the rows, of the model and of `classes`, in ascending order."""
        labels = np.array(domains.columns[y].states, dtype=kind)
        # scikit-learn refuses what looks like a continuous target.
        sklearn.utils.multiclass.check_classification_targets(labels)
        model_classes = None if model is None else model.classes_
        sources = {"the model": model_classes, "y": labels, "classes=": classes}
        return joined_classes(sources)

    rows = Rows(data.source, y, weight, groups=layout.groups)
    domains = _domains(data, [*discrete, y], rows)
    if missing := domains.labels.n_missing:
        raise DataError(
            f"{missing:,} labels in the column {y!r} of {data.source} are missing. "
            "Leave these rows out, such as by where=."
        )
    all_classes = joined_with_model(domains)
    by_class = None
    if estimator.class_weight is not None:
        check_weighed(estimator.class_weight, all_classes)
        counts = np.array([domains.labels.count_of(label) for label in all_classes.tolist()])
        by_class = weights_of_classes(estimator.class_weight, all_classes, counts)
        rows = replace(rows, classes=all_classes, by_class=by_class)
        if not by_class.all():
            # Rows of a class without weight do not count, nor do states that only they have.
            domains = _domains(data, [*discrete, y], rows)
        if estimator._moves_prior:
            # The weights go to the source below; of the rows they only leave out those of weight 0.
            rows = replace(rows, by_class=None if by_class.all() else np.sign(by_class))
    weighted_classes = joined_with_model(domains)
    target = Discrete(target_name(y, ()), weighted_classes.tolist())
    note_names(estimator, names)
    estimator._frame, estimator.layout_, estimator.classes_ = "pyarrow", layout, weighted_classes
    variables: Sequence[Variable] = variables_of(features, declared, domains.columns)
    if model is not None:
        # The model has its intervals already: nothing is discretised anew.
        pairs = zip(model.features_, variables, strict=True)
        variables, discretizer = [_known_variable(v, new) for v, new in pairs], None
    source = undiscretised = DatasetSource(
        data,
        (*variables, target),
        target,
        rows=rows,
        n_rows=domains.n_rows,
        missing=domains.missing,
    )
    if discretizer is not None:
        # `merged` makes sources over some of the columns, for the passes that count them.
        columns: ColumnsByClass = DatasetColumns(source.features, target, source.merged)
        if not source.is_sampled:
            # The sample has all rows, from which the intervals are those of a table in memory.
            sample = source.sample()
            weights = sample.weights if len(sample.weights) else None
            columns = TableColumns(
                sample.table.without(target), sample.table.column(target), weights
            )
        source = source.with_features(estimator._discretized(discretizer, columns))
    if by_class is not None and estimator._moves_prior:
        source.class_weights = by_class[np.isin(all_classes, weighted_classes)]
    return source, target, undiscretised


def _domains(data: Dataset, names: Sequence[str], rows: Rows) -> Domains:
    """Return the states of columns of a dataset, which must have rows."""
    domains = find_domains(data, names, rows)
    if not domains.n_rows:
        raise DataError(f"{data.source} has no rows (of positive weight).")
    return domains


def classes_in(data: Dataset, y: Any, weight: Any) -> NDArray[Any]:
    """Return the classes of the rows of positive weight, in ascending order."""
    _feature_names(data, y, weight)  # names that do not exist are errors
    domains = find_domains(data, [y], Rows(data.source, y, weight)).columns
    return joined_classes({"y": domains[y].states})


def named_batches(data: Dataset, y: Any, weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield runs of a dataset as batches of features, labels and weights; see `fit_batches`."""
    names = _feature_names(data, y, weight)
    for run in data.runs(data.names):
        yield _parts(run, names, y, weight)


def in_memory(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the features, labels and weights of a table in memory, or of a sample of a dataset.

    See `bayesgraph.statistics.sample_of`.
    """
    if (data := dataset_of(X, y)) is None:
        return (*intake.apart(X, y), weight)
    names = _feature_names(data, y, weight)
    n_rows = data.n_rows
    if n_rows is None:
        n_rows = sum(len(run) for run in data.runs([y]))
    table = sample_of(data, data.names, n_rows, EVERY)
    return _parts(table, names, y, weight)


def _parts(table: Any, names: Sequence[str], y: str, weight: str | None) -> tuple[Any, Any, Any]:
    """Return features, labels and weights of rows in memory."""
    # Categories as they come in files have no order that means something; those of text are sorted.
    text = decoded(table)
    weights = None if weight is None else table.column(weight).to_numpy()
    return text.select(list(names)), text.select([y]), weights


def _feature_names(data: Dataset, y: Any, weight: Any) -> list[str]:
    """Return the columns that are features, after checking the names of the labels and weights."""
    for what, name in (("y", y), ("sample_weight", weight)):
        if name is None and what != "y":
            continue
        if not isinstance(name, str):
            raise DataTypeError(
                f"With a dataset ({data.source}), {what} is the name of one of its columns; got "
                f"{type(name).__name__}. What is elsewhere has to become a column of it first."
            )
        data.checked([name], f"{what}=")
    return [name for name in data.names if name not in (y, weight)]


# Data to learn from: the rows themselves, or statistics that were collected from them.
Source: TypeAlias = TableSource | DatasetSource | CountSource


def _adds_rows(classifier: NetworkClassifier) -> bool:
    """Return True if the classifier can add and forget rows; otherwise raise an UnavailableError.

    The error has the reason.
    """
    if not classifier._counts_ahead():
        raise UnavailableError(_needs_all_rows(classifier))
    return True


def _needs_all_rows(classifier: NetworkClassifier) -> str:
    """Return why a classifier cannot be made of statistics that were collected before."""
    return (
        f"{classifier!r} cannot add or forget rows: fit it again on old and new rows together, or "
        "take a classifier that only counts, such as TANClassifier. (It chooses what to count from "
        "what it has seen, or estimates from the rows themselves, which takes further passes over "
        "the data; or its learner does not declare what it counts, see "
        "bayesgraph.learning.structure.learner.)"
    )


@base.estimator
class NetworkClassifier(base.GraphClassifier):
    """Base class of the classifiers whose parameters are estimated from additive statistics.

    A subclass defines how the structure, or the whole network, is learned.

    Parameters
    ----------
    smoothing : {"dirichlet", "m", "marginal", "backoff"}, float or Smoothing, default "dirichlet"
        Shrinkage of tables. "dirichlet": towards equal probabilities, by a pseudo-count in each
        cell. "m": towards equal probabilities, by a fixed equivalent sample size. "marginal":
        towards the feature's marginal (Friedman, Geiger, Goldszmidt 1997). "backoff": towards the
        table given one parent less, recursively; the class is dropped last. A number is the
        pseudo-count of "dirichlet" (1 is Laplace's rule). :class:`Smoothing` has the formulas and
        the options of Gaussians; a grid search names its values as in ``smoothing__shrinkage``.
    priors : array_like, shape (n_classes,), mapping from class, or "uniform", optional
        Class probabilities, instead of the class frequencies.
    check_columns : bool, default True
        Whether `fit` warns, in one `SuspiciousColumnsWarning`, of columns that look wrong:
        identifiers, constant and empty columns, columns that determine the class alone, numbers
        and dates read as text, marks of missing values among numbers, codes and skewed numbers
        that get a density, indices without a name, and a target of many numbers.

    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model, for any query.
    classes_ : ndarray, shape (n_classes,)
    statistics_ : Statistics
        Sufficient statistics of all rows so far: `partial_fit` adds to them, `forget` subtracts.
    layout_ : Layout
        Assignment of the columns to features.
    target_ : Discrete
        The class variable of the network.
    features_ : tuple of Variable
        The features, in the order of the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.
    """

    smoothing: SmoothingLike = "dirichlet"
    priors: ArrayLike | Mapping[Any, float] | str | None = None
    check_columns: bool = True

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        """Return the structure learner; by default that of naive Bayes."""
        return star

    def _counts_ahead(self) -> bool:
        """Return whether what to count is known before the data are: one reading does."""
        return counts_ahead(self._learner())

    def _discretizer(self) -> discretizers.Discretizer | None:
        """Return the discretiser of numeric columns, or None."""
        default = self._default_discretizer()
        if self.discretizer is None:
            return default
        return discretizers.chosen_discretizer(self.discretizer, default)

    def _default_discretizer(self) -> discretizers.Discretizer | None:
        """Return the discretiser of columns for which the user chose none."""
        return None

    @property
    def _moves_prior(self) -> bool:
        """Whether weights of classes move the prior of the class, instead of counting as rows."""
        return False

    @property
    def _distributions(self) -> Any:
        """The families of distributions that the user or the estimator chose."""
        chosen = getattr(self, "distributions", None)
        return None if chosen == "auto" else chosen

    @property
    def _takes_sparse(self) -> bool:
        return self._one_distribution in VECTORS

    @property
    def _one_distribution(self) -> str | None:
        chosen = self._distributions
        return chosen if isinstance(chosen, str) else None

    def _read(self) -> Collection[str]:
        """Return the fields of `smoothing` that the chosen families use."""
        chosen = self._distributions
        names = [*chosen.values()] if isinstance(chosen, Mapping) else [chosen]
        # Fields that are read only by families that were not chosen.
        others = {n for f in FAMILIES.values() if f.name not in names for n in f.own_smoothing}
        return [name for name in self._reads if name not in others]

    # ---------------------------------------------------------------------------------- fitting

    @base.one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Learn structure and parameters.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow, ...), shape (n_rows, n_features)
            Text, category and boolean columns are discrete, numeric ones continuous unless named in
            `categorical`. None, NaN and NA are missing values, which are not counted. Or a table
            larger than memory: what :func:`bayesgraph.open_dataset` takes or returns.
        y : array_like, shape (n_rows,)
            Labels, without missing values. Or, where X has their column, its name.
        sample_weight : array_like, shape (n_rows,), optional
            Weights that count as rows, or, where a model is trained to predict, what the notes of
            BayesianNetworkClassifier say. Of a table larger than memory, the name of its column.

        Returns
        -------
        self
        """
        self._forget_all()
        return self._fit(X, y, sample_weight, check=self.check_columns)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: ArrayLike | None = None,
        model: NetworkClassifier | None = None,
        *,
        check: bool = False,
    ) -> Any:
        """Fit on a whole table: encode its columns, collect statistics, estimate the network.

        Of a table larger than memory, states, intervals and classes of a fitted `model` are kept.
        `check` says whether to warn of columns that look wrong.
        """
        smoothing, discretizer = self._smoothing(), self._discretizer()
        check_unseen(self.unseen)
        if (data := dataset_of(X, y)) is not None:
            passes, target, undiscretised = dataset_source(
                self, data, y, sample_weight, discretizer, classes=classes, model=model
            )
            self._learn(passes, smoothing, target)
            self._note(passes.training_rows())
            if check:
                types = columns_of(data.schema.empty_table())
                free, gaussian = self._free_numbers()
                undiscretised.warn_of_columns(lambda: types, free=free, gaussian=gaussian)
            return self
        X, y = intake.apart(X, y)
        all_labels = intake.labels_of(y)
        # Without rows of weight 0.
        columns, table, labels, weights = intake.training_table(self, X, all_labels, sample_weight)
        if classes is not None:
            sources = {"y": labels.classes, "classes=": classes}
            labels = labels.among(intake.joined_classes(sources))
        self.classes_ = labels.classes
        by_class = None
        if self._moves_prior and weights is not None:
            # What `class_weight` says, and then also what the weights of the rows say of classes.
            by_class = intake.weights_by_class(self.class_weight, all_labels, self.classes_)
            weights, by_class = intake.parted(weights, labels.codes, by_class)
        if check:  # not where there are some of the rows only: a batch, or a trial
            intake.check_weighed(self.class_weight, self.classes_)
        # The columns as they are before discretisation.
        examined = Examined.of(table)
        name = intake.target_name(labels.name, table.variables)
        target = Discrete(name, self.classes_.tolist())
        if discretizer is not None:
            by_label = discretizers.TableColumns(table, labels.codes, weights)
            table = discretized(table, self._discretized(discretizer, by_label))
        source = TableSource(table.with_column(target, labels.codes), target, weights)
        source.class_weights = by_class
        self._learn(source, smoothing, target)
        self._note(source.training_rows())
        if check:
            free, gaussian = self._free_numbers()
            warn_of_columns(examined, labels, columns.as_columns, free=free, gaussian=gaussian)
        return self

    def _free_numbers(self) -> tuple[set[Name], set[Name]]:
        """Return the names of two sets of columns, which warnings of columns are about.

        The first are those of numbers that have a density although the user chose neither a family
        for them nor a discretiser; the second are those among them that are Gaussian.
        """
        # One Gaussian family for all columns is no choice of a column.
        named = () if self._one_distribution == "gaussian" else self.layout_.families
        free = {v.name for v in self.features_ if isinstance(v, Continuous)}.difference(named)
        networks = [network for _, network in networks_in(self.network_)] if free else []
        blocks = [block for network in networks for block in network._blocks]
        normal = [block for block in blocks if isinstance(block, GaussianCPD | GaussianPlate)]
        return free, free & {child.name for block in normal for child in block.children}

    def _without_states(self) -> Any:
        """Return an unfitted classifier for rows that may lack some states and classes.

        It has neither the user's priors nor pseudo-counts, which may name what the rows lack: only
        its statistics are used.
        """
        smoothing = as_smoothing(self.smoothing).set_params(alpha=1.0)
        return sklearn.base.clone(self).set_params(priors=None, smoothing=smoothing)

    def _forget_all(self) -> None:
        for name in ("network_", "statistics_"):
            self.__dict__.pop(name, None)

    def _discretized(
        self, discretizer: discretizers.Discretizer, columns: discretizers.ColumnsByClass
    ) -> tuple[Variable, ...]:
        """Return the variables after discretisation, except for chosen distributions.

        Raises
        ------
        DataError
            If one distribution was chosen for all numeric columns, so that none can be discretised.
        """
        if self._one_distribution not in (None, "categorical"):
            raise DataError(
                f"distributions={self._one_distribution!r} takes all numbers as they are, and "
                f"discretizer={self.discretizer!r} makes intervals of them; choose one, or name "
                "the columns that keep their numbers: distributions={'age': 'gaussian'}."
            )
        numeric = {n for n, f in self.layout_.families.items() if f != "categorical"}
        return discretizer.find_variables(columns, frozenset(numeric))

    def _learn(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        """Estimate the network of a source; set all fitted attributes except classes and layout.

        `source` has the rows, or statistics collected from them; `target` is the class variable.
        """
        check_pseudo_counts(smoothing, (target, *source.features))
        self.network_ = self._network(source, smoothing, target)
        self.statistics_ = source.statistics
        self.target_, self.features_ = target, source.features
        return self

    def _note(self, rows: TrainingRows | None) -> None:
        """Note what the network was fitted on; None if that is not known."""
        if rows is not None:
            rows = rows.ordered([v.name for v in (*self.features_, self.target_)])
        self.network_.training = base.training_of(self, rows)

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        """Return the network of a source: learn its structure, then estimate its parameters."""
        structure = self._learner()(source, smoothing)
        chosen, priors = self.layout_.families, intake.checked_priors(self.priors, target)
        families = {v: chosen[v.name] for v in source.features if v.name in chosen}
        numbers = [v for v in source.features if isinstance(v, Continuous) and v not in families]
        # "auto": the families of numbers for which the user chose none.
        if numbers and self._one_distribution is None and hasattr(self, "distributions"):
            if not structure.scores:
                # The same counts whatever is chosen, so that more rows can be added to them.
                columns = (v for v in source.features if v.name not in chosen)
                source.singles(Singles(tuple(columns), target))
            families |= best_families(numbers, source, smoothing, structure.scores)
        # Variables whose family takes no other parent than the class.
        leaves = {v.name for v, name in families.items() if not FAMILIES[name].any_parents}
        structure = structure.without_arcs(leaves)
        # If arcs were learned, the statistics of all pairs are added up. Otherwise every batch of
        # rows has to count the same families, whichever values it lacks.
        additive = not structure.scores and self._counts_ahead()
        return estimate_network(
            structure, source, smoothing, priors=priors, distributions=families, additive=additive
        )

    # ---------------------------------------------------------------------------------- more rows

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    @base.one_at_a_time
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Learn from more rows; the model then equals that of `fit` on all rows together.

        Threads may update one model: each update waits for those before it.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. New categories and classes become states. The intervals of a `discretizer`
            remain those of the first batch.
        classes : array_like, optional
            Classes to add to the model, even if they have no rows yet.

        Raises
        ------
        DataError
            If ``class_weight="balanced"``, which needs all rows at once, or if the structure
            learner needs statistics that were not collected. Every error leaves the model
            unchanged.
        """
        self._check_updatable()
        if not hasattr(self, "network_"):
            return self._fit(X, y, sample_weight, classes)
        check_statistics(self)
        part = self._part(X, y, sample_weight, classes)
        return self._estimated(joined(self.collected_, part, ("the model", "the new rows")))

    def _check_updatable(self) -> None:
        """Raise a DataError if class weights depend on all rows."""
        if isinstance(self.class_weight, str):
            raise DataError(
                f"class_weight={self.class_weight!r} needs all labels at once; to add or forget "
                "rows give a mapping from class to weight."
            )

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    @base.one_at_a_time
    def _fit_batches(self, batches: Iterable[Any], classes: ArrayLike | None) -> Any:
        """Forget what was learned, and learn from batches in turn; see `fit_batches`."""
        self._check_updatable()
        self._forget_all()
        for X, y, weights in checked_batches(batches):
            self.partial_fit(X, y, classes, weights)
        return self

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    @base.one_at_a_time
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Remove rows from the model, which must be among the rows that it was fitted on.

        The model then equals that of `fit` on the remaining rows with the same states: exactly for
        counts, and for moments up to rounding errors that are small relative to the spread of each
        column. If they would not be small, the rows are not removed.

        Parameters
        ----------
        X, y, sample_weight
            Exactly as they were fitted.

        Raises
        ------
        DataError
            If the rows were not part of the model, or if too little of a column's variance would
            remain; the model is then unchanged.
        UnknownStateError
            If the model does not have a value or a class of the rows.
        """
        collected, gone = self.collected_, self._part(X, y, sample_weight, None, unseen="error")
        remaining = collected.statistics - gone.statistics
        rows = None if collected.rows is None or gone.rows is None else collected.rows - gone.rows
        return self._estimated(replace(collected, statistics=remaining, rows=rows))

    # ------------------------------------------------------------------------ statistics of sites

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    def collect(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> CollectedStatistics:
        """Return the statistics of rows, which those of other rows can be added to.

        The classifier itself does not change. If it is fitted, the rows are counted by its states,
        intervals and classes, to which new ones are added: sites that share a fitted classifier
        have the same intervals.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; one class is enough.
        classes : array_like, optional
            Classes that may have no rows.

        Returns
        -------
        CollectedStatistics
            A part for `from_statistics`.

        Raises
        ------
        DataError
            As `partial_fit`.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> clf = bg.NaiveBayesClassifier()
        >>> north = clf.collect({"x": ["a", "b", "b"]}, ["no", "yes", "no"])
        >>> south = clf.collect({"x": ["c", "c"]}, ["yes", "yes"])
        >>> north + south
        CollectedStatistics of 5 rows: 1 feature, class 'class' with 2 states
        >>> bg.NaiveBayesClassifier.from_statistics([north, south]).classes_.tolist()
        ['no', 'yes']
        """
        self._check_updatable()
        with self._lock:
            model = self._as_it_is() if hasattr(self, "network_") else None
        if model is not None:
            return model._part(X, y, sample_weight, classes)
        return self._site(X, y, sample_weight, classes)

    def _site(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: ArrayLike | None,
        model: NetworkClassifier | None = None,
    ) -> CollectedStatistics:
        """Return the statistics of a fit on rows; see `_fit`."""
        site = self._without_states()
        site._fit(X, y, sample_weight, classes, model)
        collected: CollectedStatistics = site.collected_
        return replace(collected, estimator=sklearn.base.clone(self))

    def _part(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
        unseen: str = "missing",
    ) -> CollectedStatistics:
        """Return the statistics of new rows, of the same kinds as those of the fitted model.

        They are of its states, intervals and classes and, unless `unseen` is "error", new ones.
        """
        # A dataset is counted in passes, by a fit that keeps the states of this model.
        if unseen != "error" and dataset_of(X, y) is not None:
            return self._site(X, y, sample_weight, classes, self)
        X, y = intake.apart(X, y)
        labels = intake.labels_of(y)
        columns = intake.known_columns(self, X, self.layout_.columns, sparse=self._takes_sparse)
        intake.check_lengths(columns.n_rows, len(labels))
        columns, labels, weights = intake.weighted(
            columns, labels, sample_weight, self.class_weight, first=False
        )
        sources = {"the model": self.classes_, "y": labels.classes, "classes=": classes}
        labels = labels.among(intake.joined_classes(sources))
        features, target = self.features_, Discrete(self.target_.name, labels.classes.tolist())
        if unseen == "error" and target != self.target_:
            unknown = [label for label in target.states if label not in self.target_.states]
            raise UnknownStateError(f"The model has no class {quoted(unknown)}.")
        if unseen != "error" and any(isinstance(v, Discrete) for v in features):
            grouped = self.layout_.grouped(columns.as_columns())
            features = tuple(
                with_states(v, grouped[v.name]) if isinstance(v, Discrete) else v for v in features
            )
        table = known_table(columns, unseen, self.layout_, features)
        table = table.with_column(target, labels.codes)
        # Empty if all rows weigh 1.
        row_weights = checked_weights(weights, table.n_rows, first=False)
        total_weight = float(row_weights.sum()) if len(row_weights) else None
        rows = TrainingRows(table.n_rows, table.missing(), total_weight)
        if hasattr(self, "statistics_"):
            # What the model has counted, by its states and new ones.
            requests = grown(self.collected_, features, target).summaries
            statistics = Statistics.collect(table, requests, row_weights)
        else:  # the states and intervals still serve: a fit tells what is counted
            trial = self._without_states()
            trial.layout_ = self.layout_
            statistics = trial._learn(
                TableSource(table, target, weights), trial._smoothing(), target
            ).statistics_
        return self._summed(features, target, labels.classes, statistics, rows)

    def _summed(
        self,
        features: tuple[Variable, ...],
        target: Discrete,
        classes: NDArray[Any],
        statistics: Statistics,
        rows: TrainingRows | None,
    ) -> CollectedStatistics:
        """Return statistics of rows as a part, of the columns of this classifier."""
        named, unfitted = hasattr(self, "feature_names_in_"), sklearn.base.clone(self)
        return CollectedStatistics(
            unfitted, self.layout_, features, target, classes, statistics, named, rows
        )

    def _estimated(self, part: CollectedStatistics) -> Self:
        """Estimate the network from the statistics of all rows."""
        self.classes_ = part.classes
        self._learn(PartsSource(part, self), self._smoothing(), part.target)
        self._note(part.rows)
        return self

    @property
    def collected_(self) -> CollectedStatistics:
        """The statistics of all rows so far, with columns and states: a part as of `collect`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If nothing was learned yet.
        UnavailableError
            If rows cannot be added to the classifier.
        """
        with self._lock:
            intake.check_fitted(self, "network_")
            _adds_rows(self)
            try:
                check_statistics(self)
                self._check_updatable()
            except DataError as error:
                raise UnavailableError(str(error)) from error
            training = self.network_.training
            rows = None if training is None else training.rows
            return self._summed(self.features_, self.target_, self.classes_, self.statistics_, rows)

    @classmethod
    def from_statistics(cls, parts: Any, **parameters: Any) -> Self:
        """Return the classifier that is estimated from the statistics of several parts together.

        It equals that of `fit` on all rows: counts are the same, and moments up to rounding. States
        and classes of the parts are joined. Rows can be added and forgotten later.

        Parameters
        ----------
        parts : iterable of CollectedStatistics or fitted classifiers
            What `collect` returned, and classifiers whose rows can be added (by
            `partial_fit`); `bayesgraph.load` reads files of both. A single one will do.
        **parameters
            Of the classifier. By default those of the first part, if it was collected by a
            classifier of this class, otherwise the defaults of the class. Parameters by which rows
            are read, such as `categorical` and `discretizer`, are those of the parts.

        Raises
        ------
        DataError
            If columns, families of distributions, intervals, class weights or kinds of statistics
            differ between parts, the parts lack what this classifier needs or were read in another
            way than `parameters` say, or it needs the rows themselves.
        DataTypeError
            If a part is none of these, or a column has text in one and numbers in another.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> X, y = {"x": ["a", "a", "b", "b"]}, ["no", "yes", "yes", "yes"]
        >>> one, two = (bg.TANClassifier().fit(X, labels) for labels in (y, y[::-1]))
        >>> both = bg.TANClassifier.from_statistics([one, two], smoothing=0.5)
        >>> both.network_["class"].values
        array([0.25, 0.75])
        """
        part = CollectedStatistics.total(parts)
        classifier = with_parameters(cls, part, parameters)
        if not classifier._counts_ahead():
            raise DataError(_needs_all_rows(classifier))
        classifier._check_updatable()
        check_unseen(classifier.unseen)
        intake.set_columns(classifier, part.layout, named=part.named)
        return classifier._estimated(part)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = FAMILIES.get(self._one_distribution or "")
        tags.input_tags.positive_only = family is not None and family.positive
        # As in scikit-learn: its checks measure the score on Gaussian clusters, not on counts.
        tags.classifier_tags.poor_score = self._one_distribution in VECTORS
        return tags


@base.estimator
class ColumnClassifier(NetworkClassifier):
    """Base class of the classifiers that take columns of any type.

    Parameters
    ----------
    class_weight : mapping from class to weight, or "balanced", optional
        Factors of the weights of the rows; "balanced" is inverse to the number of rows of a class,
        and a class of weight 0 is left out.
        Where a model is trained to predict, they move the prior of the class, and the rows count as
        they are: see the notes of BayesianNetworkClassifier, and docs/imbalance.md.
    categorical : list of column names, or "all", optional
        Numeric columns to treat as discrete.
    discretizer : name, Discretizer, or mapping from column to cut points, optional
        Discretises numeric columns: their states are intervals such as "(0.8, 1.75]", and evidence
        on them is still a number. ``{"age": [18, 65]}`` makes three intervals of one column, and
        leaves others as they are without it. MODL also groups categories. Columns with a family of
        distributions that the user chose are not discretised. In tables larger than memory, all
        rows are counted between up to 4,095 edges, values of a sample: columns of fewer values get
        the intervals that they get in memory; of others, intervals lose at most 0.3 % of their
        information on the class (measured, with up to a hundred intervals).
        {discretizers}
    unseen : {"warn", "missing", "error"}
        Treatment of categories that did not occur in fitting. They are taken as missing, with one
        warning for the rows of a table (not for a single row) or without; or they are an error.
    """

    class_weight: Mapping[Any, float] | str | None = None
    categorical: Collection[Name] | str | None = None
    discretizer: discretizers.Discretizer | Mapping[Name, ArrayLike] | str | None = None
    unseen: str = "warn"


def checked_batches(batches: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield batches as (X, y, sample_weight).

    Raises
    ------
    DataTypeError
        If a batch is not such a tuple.
    DataError
        If there is no batch.
    """
    batch = None
    for batch in batches:
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise DataTypeError("A batch is a tuple (X, y) or (X, y, sample_weight).")
        # Without weights the third is None.
        yield (*batch, None)[:3]
    if batch is None:
        raise DataError("There was no batch to learn from.")


def check_pseudo_counts(smoothing: Smoothing, variables: Collection[Variable]) -> None:
    """Raise an error if pseudo-counts are given for a name that no variable has."""
    if isinstance(smoothing.alpha, Mapping):
        names = [v.name for v in variables]
        check_known(smoothing.alpha, names, where="alpha=: the model")


def check_statistics(estimator: Any) -> None:
    """Raise a DataError if a fitted model lacks the sufficient statistics that updates need."""
    if not hasattr(estimator, "statistics_"):
        raise DataError(
            "This model does not have the statistics it was made from (they were deleted), so that "
            "rows cannot be added or forgotten; fit it again."
        )
