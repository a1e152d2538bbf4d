"""Classifiers whose networks are estimated from additive statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from bayesgraph.classifiers.checks import check_fitted, check_one_type
from bayesgraph.classifiers.discretizers import Discretizer, chosen_discretizer
from bayesgraph.classifiers.inputs import (
    Columns,
    fit_columns,
    fit_table,
    grown_variables,
    known_columns,
    known_table,
    target_column,
    target_name,
    weighted_rows,
)
from bayesgraph.classifiers.layout import VECTORS, make_layout
from bayesgraph.classifiers.prediction import GraphClassifier
from bayesgraph.discretize import discretized
from bayesgraph.encoding import Table
from bayesgraph.encoding.columns import factorise
from bayesgraph.encoding.table import check_unseen
from bayesgraph.errors import (
    DataError,
    DataTypeError,
    UnknownStateError,
    quoted,
    unknown_variable,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import Smoothing, Structure, estimate_network
from bayesgraph.learning.smoothing import one_of
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics import CountSource, Statistics, StatisticsSource, TableSource
from bayesgraph.statistics.source import checked_weights
from bayesgraph.variables import Discrete, Variable

# Whole-number classes within this range of each other are found in a table.
_LOOKUP_RANGE = 1 << 20
_POSITIVE = ("multinomial", "bernoulli", "poisson", "lognormal")


def _adds_rows(classifier: NetworkClassifier) -> bool:
    """Tell whether rows can be added; an AttributeError says why not."""
    if not classifier._counts_ahead():
        raise AttributeError(
            f"{classifier!r} chooses what to count from what it has seen, which takes further "
            "passes over the data: it cannot add or forget rows; fit it on the whole table."
        )
    return True


class NetworkClassifier(GraphClassifier):
    """Base of the classifiers whose parameters are estimated from additive statistics.

    A subclass says which structure it learns.
    """

    statistics_: Statistics
    # Estimators of one family of numbers have no such parameter.
    discretizer: Any = None

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.alpha = alpha
        self.smoothing = smoothing
        self.strength = strength
        self.shrinkage = shrinkage
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.class_weight = class_weight
        self.categorical = categorical
        self.discretizer = discretizer
        self.unseen = unseen

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        raise NotImplementedError

    def _counts_ahead(self) -> bool:
        """Tell whether what is counted is known before the data are."""
        return True

    def _smoothing(self) -> Smoothing:
        return Smoothing(
            self.alpha,
            self.shrinkage,
            self.var_smoothing,
            tables=self.smoothing,
            strength=self.strength,
        )

    def _distributions(self) -> Any:
        """Return the families that the user chose for some columns."""
        return None

    def _discretizer(self) -> Discretizer | None:
        """Return what finds the intervals of numeric columns, if anything does."""
        return chosen_discretizer(self.discretizer)

    def _items(self) -> Any:
        """Return names for the columns of matrices without names."""
        return None

    @property
    def _takes_sparse(self) -> bool:
        return self._one_family in VECTORS

    @property
    def _one_family(self) -> str | None:
        chosen = self._distributions()
        return chosen if isinstance(chosen, str) else None

    # ---------------------------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Learn structure and parameters.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow, ...), shape (n_rows, n_features)
            Text, category and boolean columns are discrete, numeric ones continuous unless named in
            `categorical`. None, NaN and NA are missing and left out where they occur.
        y : array_like, shape (n_rows,)
            Labels; none may be missing.
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self
        """
        return self._begin(X, y, sample_weight, None)

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Learn from more rows; the model is then the one that `fit` makes of all rows together.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Categories and classes that are new become states. Intervals that a
            `discretizer` found stay those of the first batch.
        classes : array_like, optional
            Classes that have no rows yet; they are known from then on.

        Raises
        ------
        DataError
            For ``class_weight="balanced"``, which needs all rows at once; and for structures whose
            learner has to look at the rows again. A batch that is refused, for whatever reason,
            leaves the model as it was.
        """
        self._check_updatable()
        if not hasattr(self, "network_"):
            return self._begin(X, y, sample_weight, classes)
        check_statistics(self)
        found, labels, weights = self._rows(X, y, sample_weight)
        old = (self.target_, *self.features_)
        features = grown_variables(found, self.layout_, self.features_)
        joined = joined_classes(self.classes_, labels, classes)
        target = Discrete(self.target_.name, joined.tolist())
        known = self.statistics_.grown(dict(zip(old, (target, *features), strict=True)))
        codes = class_codes(joined, labels)
        new = self._collected(known, found, codes, weights, target, features)
        self._learn_from(known + new, target, features)
        self.classes_ = joined  # last: a batch that is refused changes nothing
        return self

    def _check_updatable(self) -> None:
        if isinstance(self.class_weight, str):
            raise DataError(
                f"class_weight={self.class_weight!r} needs all labels at once; partial_fit takes "
                "a mapping from class to weight."
            )

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    def fit_batches(self, batches: Iterable[Any], classes: ArrayLike | None = None) -> Any:
        """Learn from batches of rows, one after the other: from a file, say, larger than memory.

        Parameters
        ----------
        batches : iterable of (X, y) or (X, y, sample_weight)
        classes : array_like, optional
            Classes that the first batches may lack.

        Returns
        -------
        self
        """
        self._check_updatable()
        self._forget_all()
        for X, y, weights in checked_batches(batches):
            self.partial_fit(X, y, classes, weights)
        return self

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Take rows out of the model again, which must have been fitted with it.

        The model is then the one that `fit` makes of the other rows with the same states: exactly
        for counts, and for moments up to rounding errors, small beside the spread of each column;
        where they would not be small, the rows are not forgotten.

        Parameters
        ----------
        X, y, sample_weight
            Exactly as they were fitted.

        Raises
        ------
        DataError
            For rows that were not part of the model, or too little left of a column's variance;
            the model is then unchanged.
        UnknownStateError
            For a value or a class that the model does not have.
        """
        check_fitted(self, "network_")
        check_statistics(self)
        if isinstance(self.class_weight, str):
            raise DataError(f"forget does not go with class_weight={self.class_weight!r}.")
        found, labels, weights = self._rows(X, y, sample_weight)
        unknown = set(np.unique(labels).tolist()) - set(self.classes_.tolist())
        if unknown:
            raise UnknownStateError(f"The model has no class {quoted(sorted(unknown, key=repr))}.")
        codes = class_codes(self.classes_, labels)
        args = (found, codes, weights, self.target_, self.features_)
        rest = self.statistics_ - self._collected(self.statistics_, *args, unseen="error")
        self._learn_from(rest, self.target_, self.features_)
        return self

    def _begin(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
    ) -> Any:
        """Fit anew."""
        smoothing, discretizer = self._smoothing(), self._discretizer()
        check_unseen(self.unseen)
        self._forget_all()
        labels, name = target_column(y)
        found = fit_columns(self, X, len(labels), sparse=self._takes_sparse, items=self._items())
        labels, weights, rows = self._weighted(labels, sample_weight)
        found = found if rows is None else found.take(rows)
        self.layout_ = make_layout(found.typed(), self._distributions(), self.categorical)
        features = fit_table(found, self.layout_)
        self.classes_ = joined_classes(None, labels, classes)
        target = Discrete(target_name(name, features.variables), self.classes_.tolist())
        codes = class_codes(self.classes_, labels)
        if discretizer is not None:
            features = self._with_intervals(discretizer, features, codes, weights)
        source = TableSource(features.with_column(target, codes), target, weights)
        self._learn(source, smoothing, target, features.variables)
        return self

    def _with_intervals(
        self,
        discretizer: Discretizer,
        table: Table,
        codes: NDArray[np.signedinteger],
        weights: Floats | None,
    ) -> Table:
        """Return a table whose columns a discretiser has changed, but for those of given families.

        Raises
        ------
        DataError
            If one family was chosen for all numeric columns, so that there is nothing to do.
        """
        if self._one_family not in (None, "categorical"):
            raise DataError(
                f"distributions={self._one_family!r} takes all numbers as they are, and "
                f"discretizer={discretizer!r} makes intervals of them; choose one, or name the "
                "columns that keep their numbers: distributions={'age': 'gaussian'}."
            )
        kept = {n for n, f in self.layout_.families.items() if f != "categorical"}
        # A class that has no rows yet says nothing of intervals.
        there = np.bincount(codes) > 0
        args = ((np.cumsum(there) - 1)[codes], int(there.sum()), weights, frozenset(kept))
        return discretized(table, discretizer.find_variables(table, *args))

    def _forget_all(self) -> None:
        for name in ("network_", "statistics_"):
            if hasattr(self, name):
                delattr(self, name)

    def _weighted(
        self, labels: NDArray[Any], sample_weight: ArrayLike | None
    ) -> tuple[NDArray[Any], Floats | None, NDArray[np.intp] | None]:
        """Return labels and weights of the rows that have a weight, and which these are."""
        if self.class_weight is not None:
            balance = class_weights(self.class_weight, labels)
            sample_weight = (
                balance if sample_weight is None else balance * np.asarray(sample_weight)
            )
        rows = weighted_rows(sample_weight, len(labels))
        if rows is None:
            return labels, None if sample_weight is None else np.asarray(sample_weight), None
        # A row of no weight must not even add a state.
        return labels[rows], np.asarray(sample_weight)[rows], rows

    def _rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Columns, NDArray[Any], Floats | None]:
        """Return more rows for a fitted model."""
        labels, _ = target_column(y)
        found = known_columns(self, X, self.layout_.columns, sparse=self._takes_sparse)
        check_consistent_length(range(found.n_rows), labels)
        labels, weights, rows = self._weighted(labels, sample_weight)
        return found if rows is None else found.take(rows), labels, weights

    def _collected(
        self,
        known: Statistics,
        found: Columns,
        codes: NDArray[np.signedinteger],
        weights: Floats | None,
        target: Discrete,
        features: tuple[Variable, ...],
        unseen: str = "missing",
    ) -> Statistics:
        """Return of some rows the statistics that are known of others."""
        table = known_table(found, self.layout_, features, unseen)
        table = table.with_column(target, codes)
        return Statistics.collect(table, known.summaries, checked_weights(weights, table.n_rows))

    def _learn_from(
        self, statistics: Statistics, target: Discrete, features: tuple[Variable, ...]
    ) -> None:
        source = StatisticsSource((*features, target), target, statistics)
        self._learn(source, self._smoothing(), target, features)

    def _check_alpha(
        self, smoothing: Smoothing, target: Discrete, features: tuple[Variable, ...]
    ) -> None:
        if isinstance(smoothing.alpha, Mapping):
            names = [v.name for v in (target, *features)]
            for name in smoothing.alpha:
                if name not in names:
                    raise unknown_variable(name, names, where="alpha=: the model")

    def _learn(
        self,
        source: TableSource | StatisticsSource,
        smoothing: Smoothing,
        target: Discrete,
        features: tuple[Variable, ...],
    ) -> None:
        self._check_alpha(smoothing, target, features)
        structure = self._structure(source, smoothing)
        if not isinstance(structure, Structure):
            raise DataTypeError(
                "structure= is a function from a count source and a Smoothing to a "
                f"bayesgraph.Structure; {self._learner()!r} returned {type(structure).__name__}."
            )
        self.network_ = self._estimated(structure, source, smoothing, target, features)
        self.statistics_ = source.statistics
        self.target_ = target
        self.features_ = features

    def _structure(self, source: TableSource | StatisticsSource, smoothing: Smoothing) -> Structure:
        return self._learner()(source, smoothing)

    def _estimated(
        self,
        structure: Structure,
        source: TableSource | StatisticsSource,
        smoothing: Smoothing,
        target: Discrete,
        features: tuple[Variable, ...],
    ) -> BayesianNetwork:
        return estimate_network(
            structure,
            source,
            smoothing,
            priors=checked_priors(self.priors, target),
            distributions=self.layout_.distributions_of(features),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._one_family in _POSITIVE
        # As scikit-learn has it: its checks score on clouds of points, which are no counts.
        tags.classifier_tags.poor_score = self._one_family in VECTORS
        return tags


def checked_batches(batches: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield batches as (X, y, sample_weight).

    Raises
    ------
    DataTypeError
        For anything else.
    DataError
        If there is none.
    """
    batch = None
    for batch in batches:
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise DataTypeError("A batch is a tuple (X, y) or (X, y, sample_weight).")
        yield (*batch, None)[:3]
    if batch is None:
        raise DataError("There was no batch to learn from.")


def check_statistics(estimator: Any) -> None:
    """Raise a DataError if a model has lost what it would need to be updated."""
    if not hasattr(estimator, "statistics_"):
        raise DataError(
            "This model does not have the statistics it was made from (files of earlier versions "
            "did not keep them), so that rows cannot be added or forgotten; fit it again."
        )


def joined_classes(
    known: NDArray[Any] | None, labels: NDArray[Any], classes: ArrayLike | None
) -> NDArray[Any]:
    """Return all classes in ascending order.

    Raises
    ------
    DataTypeError
        If their types do not go together.
    """
    given: dict[str, Any] = {
        "the model": known,
        "y": labels,
        "classes=": classes,
    }
    sources = {
        whose: part if hasattr(part, "dtype") else list(part)
        for whose, part in given.items()
        if part is not None
    }
    check_one_type(sources)
    parts = [np.asarray(part) for part in sources.values()]
    if any(part.dtype.kind == "O" for part in parts):
        values = {value for part in parts for value in part.tolist()}
        joined = np.empty(len(values), dtype=object)
        joined[:] = sorted(values)
        return joined
    found = [distinct(part) for part in parts]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in ascending order."""
    if labels.dtype.kind in "iu":
        states = factorise(labels, "labels").states
        return np.array(states, dtype=labels.dtype)
    return np.unique(labels)


def class_weights(class_weight: Any, labels: NDArray[Any]) -> Floats:
    """Return the weight of each row by its class; classes that a mapping does not name weigh 1.

    Raises
    ------
    DataError
        For a weight that is no finite non-negative number.
    """
    if not isinstance(class_weight, Mapping):
        return np.asarray(compute_sample_weight(class_weight, labels), dtype=np.float64)
    present = joined_classes(None, labels, None)
    weights = [class_weight.get(label, 1.0) for label in present.tolist()]
    try:
        numbers = np.array(weights, dtype=np.float64)
        good = bool((np.isfinite(numbers) & (numbers >= 0)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise DataError(
            "class_weight= maps classes to finite non-negative numbers; got "
            f"{dict(class_weight)!r}."
        )
    return np.asarray(numbers[class_codes(present, labels)])


def class_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.signedinteger]:
    """Return the position of each label among the classes, which are in ascending order."""
    if classes.dtype.kind in "iu" and classes.dtype.itemsize < 8:
        # The range of a narrow type may exceed that type.
        classes, labels = classes.astype(np.int64), labels.astype(np.int64)
    if classes.dtype.kind == "O":
        place = {value: i for i, value in enumerate(classes.tolist())}
        return np.array([place[label] for label in labels.tolist()], dtype=np.int64)
    if classes.dtype.kind in "iu" and int(classes[-1]) - int(classes[0]) < _LOOKUP_RANGE:
        table = np.empty(int(classes[-1]) - int(classes[0]) + 1, dtype=np.int32)
        table[classes - classes[0]] = np.arange(len(classes))
        return np.asarray(table[labels - classes[0]])
    return np.searchsorted(classes, labels)


def checked_priors(priors: Any, target: Discrete) -> Floats | None:
    """Return class priors as an array, or None; a mapping goes by class, "uniform" are equal ones.

    Raises
    ------
    DataError
        For a wrong number of them, a negative one, or a sum other than one.
    """
    if priors is None:
        return None
    if isinstance(priors, str):
        one_of("priors", priors, ["uniform"])
        return np.full(target.cardinality, 1.0 / target.cardinality)
    if isinstance(priors, Mapping):
        for label in priors:
            target.index(label)
        priors = [priors.get(label, 0.0) for label in target.states]
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (target.cardinality,):
        raise DataError(
            f"Number of priors must match number of classes: priors= needs one number for each of "
            f"{quoted(target.states)}; got shape {values.shape}."
        )
    if not (values >= 0).all():
        raise DataError(f"Priors must be non-negative; got {values.tolist()}.")
    if not np.isclose(values.sum(), 1.0):
        raise DataError(f"The sum of the priors should be 1; got {values.sum():.9g}.")
    return np.asarray(values / values.sum())
