"""Classifiers whose networks are estimated from additive statistics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self, TypeAlias

from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from bayesgraph.classifiers import base, discretizers, intake
from bayesgraph.classifiers.collected import (
    CollectedStatistics,
    PartsSource,
    grown,
    joined,
    with_parameters,
)
from bayesgraph.classifiers.from_datasets import dataset_of, dataset_source
from bayesgraph.classifiers.layout import VECTORS, Layout
from bayesgraph.classifiers.rows import known_table
from bayesgraph.core import errors
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.learning import Structure, counts_ahead, estimate_network, star
from bayesgraph.models import FAMILIES, GaussianCPD, best_families
from bayesgraph.statistics import (
    CountSource,
    DatasetSource,
    Singles,
    Smoothing,
    SmoothingLike,
    Statistics,
    TableSource,
    as_smoothing,
    checked_weights,
    discretized,
)
from bayesgraph.tables import Examined, TrainingRows, check_unseen, warn_of_columns

# Data to learn from: the rows themselves, or statistics that were collected from them.
Source: TypeAlias = TableSource | DatasetSource | CountSource


def _adds_rows(classifier: NetworkClassifier) -> bool:
    """Return True if the classifier can add and forget rows; otherwise raise an UnavailableError.

    The error has the reason.
    """
    if not classifier._counts_ahead():
        raise errors.UnavailableError(_needs_all_rows(classifier))
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
        """Return whether the statistics to collect are known before the data are seen."""
        return counts_ahead(self._learner())

    def _discretizer(self) -> discretizers.Discretizer | None:
        """Return the discretiser of numeric columns, or None."""
        return discretizers.chosen_discretizer(self.discretizer)

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
        chosen = self._distributions
        names = [*chosen.values()] if isinstance(chosen, Mapping) else [chosen]
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
            Labels, without missing values. Of a table larger than memory, the name of its column.
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
        `check` says whether to warn of columns of a table in memory that look wrong.
        """
        smoothing, discretizer = self._smoothing(), self._discretizer()
        check_unseen(self.unseen)
        if (data := dataset_of(X, y)) is not None:
            made = dataset_source(
                self, data, y, sample_weight, discretizer, classes=classes, model=model
            )
            return self._learned(*made, smoothing)
        every = intake.labels_of(y)
        columns, table, labels, weights = intake.training_table(
            self,
            X,
            every,
            sample_weight,
            sparse=self._takes_sparse,
            distributions=self._distributions,
        )
        self.classes_ = intake.joined_classes({"y": labels.classes, "classes=": classes})
        labels = labels.among(self.classes_)
        by_class = None
        if self._moves_prior and weights is not None:
            by_class = intake.weights_by_class(self.class_weight, every, self.classes_)
            weights, by_class = intake.parted(weights, labels.codes, by_class)
        if check:  # not where there are some of the rows only: a batch, or a trial
            intake.check_weighed(self.class_weight, self.classes_)
        examined = Examined.of(table)
        name = intake.target_name(labels.name, table.variables)
        target = Discrete(name, self.classes_.tolist())
        if discretizer is not None:
            by_label = discretizers.TableColumns.of_present(table, labels.codes, weights)
            table = discretized(table, self._discretized(discretizer, by_label))
        source = TableSource(table.with_column(target, labels.codes), target, weights)
        source.class_weights = by_class
        self._learned(source, target, smoothing)
        if check:
            named = () if self._one_distribution == "gaussian" else self.layout_.families
            free = {v.name for v in self.features_ if isinstance(v, Continuous)}.difference(named)
            cpds = getattr(self.network_, "cpds", ()) if free else ()
            gaussian = free & {cpd.variable.name for cpd in cpds if isinstance(cpd, GaussianCPD)}
            warn_of_columns(examined, labels, columns.as_columns, free=free, gaussian=gaussian)
        return self

    def _without_states(self) -> Any:
        """Return an unfitted classifier for rows that may lack some states and classes.

        Priors and pseudo-counts may be of these; what is estimated is not used.
        """
        smoothing = as_smoothing(self.smoothing).set_params(alpha=1.0)
        return clone(self).set_params(priors=None, smoothing=smoothing)

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
            raise errors.DataError(
                f"distributions={self._one_distribution!r} takes all numbers as they are, and "
                f"discretizer={discretizer!r} makes intervals of them; choose one, or name the "
                "columns that keep their numbers: distributions={'age': 'gaussian'}."
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

    def _learned(
        self, source: TableSource | DatasetSource, target: Discrete, smoothing: Smoothing
    ) -> Any:
        """Estimate the network of a source that has the rows, as `_learn`, and note these."""
        self._learn(source, smoothing, target)
        return self._noted(source.training_rows())

    def _noted(self, rows: TrainingRows | None) -> Any:
        """Note what the network was fitted on; None if that is not known."""
        if rows is not None:
            rows = rows.ordered(v.name for v in (*self.features_, self.target_))
        base.note_training(self, rows)
        return self

    @property
    def _fitted_rows(self) -> TrainingRows | None:
        """The rows behind the network; None if that is not known."""
        return None if self.network_.training is None else self.network_.training.rows

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        """Return the network of a source: learn its structure, then estimate its parameters."""
        structure = self._learner()(source, smoothing)
        chosen, priors = self.layout_.families, intake.checked_priors(self.priors, target)
        families = {v: chosen[v.name] for v in source.features if v.name in chosen}
        numbers = [v for v in source.features if isinstance(v, Continuous) and v not in families]
        if numbers and self._one_distribution is None and hasattr(self, "distributions"):
            if not structure.scores:
                # The same counts whatever is chosen, so that more rows can be added to them.
                columns = (v for v in source.features if v.name not in chosen)
                source.singles(Singles(tuple(columns), target))
            families |= best_families(numbers, source, smoothing, structure.scores)
        leaves = {v.name for v, name in families.items() if not FAMILIES[name].any_parents}
        structure = structure.without_arcs(leaves)
        return estimate_network(structure, source, smoothing, priors=priors, distributions=families)

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
        if isinstance(self.class_weight, str):
            raise errors.DataError(
                f"class_weight={self.class_weight!r} needs all labels at once; to add or forget "
                "rows give a mapping from class to weight."
            )

    @available_if(_adds_rows)  # type: ignore[untyped-decorator]
    @base.one_at_a_time
    def _fit_batches(self, batches: Iterable[Any], classes: ArrayLike | None) -> Any:
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
        intake.check_fitted(self, "network_")
        check_statistics(self)
        self._check_updatable()
        known, gone = self.collected_, self._part(X, y, sample_weight, None, unseen="error")
        left = known.statistics - gone.statistics
        rows = None if known.rows is None or gone.rows is None else known.rows - gone.rows
        return self._estimated(replace(known, statistics=left, rows=rows))

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
        if model is not None and dataset_of(X, y) is None:
            return model._part(X, y, sample_weight, classes)
        site = self._without_states()
        site._fit(X, y, sample_weight, classes, model)
        collected: CollectedStatistics = site.collected_
        return replace(collected, estimator=clone(self))

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
        labels = intake.labels_of(y)
        columns = intake.known_columns(self, X, self.layout_.columns, sparse=self._takes_sparse)
        check_consistent_length(range(columns.n_rows), labels)
        columns, labels, weights = intake.weighted(
            columns, labels, sample_weight, self.class_weight
        )
        sources = {"the model": self.classes_, "y": labels.classes, "classes=": classes}
        labels = labels.among(intake.joined_classes(sources))
        features, target = self.features_, Discrete(self.target_.name, labels.classes.tolist())
        if unseen == "error" and target != self.target_:
            unknown = [label for label in target.states if label not in self.target_.states]
            raise errors.UnknownStateError(f"The model has no class {errors.quoted(unknown)}.")
        if unseen != "error":
            features = intake.grown_variables(columns, self.layout_, features)
        table = known_table(columns, unseen, self.layout_, features)
        table = table.with_column(target, labels.codes)
        heavy = checked_weights(weights, table.n_rows)
        weight = float(heavy.sum()) if len(heavy) else None
        rows = TrainingRows(table.n_rows, table.missing(), weight)
        if hasattr(self, "statistics_"):
            requests = grown(self.collected_, features, target).summaries
            statistics = Statistics.collect(table, requests, heavy)
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
        named = hasattr(self, "feature_names_in_")
        return CollectedStatistics(
            clone(self), self.layout_, features, target, classes, statistics, named, rows
        )

    def _estimated(self, part: CollectedStatistics) -> Self:
        """Estimate the network from the statistics of all rows."""
        self.classes_ = part.classes
        self._learn(PartsSource(part, self), self._smoothing(), part.target)
        self._noted(part.rows)
        return self

    def _set_columns(self, layout: Layout, *, named: bool) -> None:
        intake.note_names(self, list(layout.columns))
        if not named:
            self.__dict__.pop("feature_names_in_", None)
        self.layout_ = layout

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
            except errors.DataError as error:
                raise errors.UnavailableError(str(error)) from error
            return self._summed(
                self.features_, self.target_, self.classes_, self.statistics_, self._fitted_rows
            )

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
            raise errors.DataError(_needs_all_rows(classifier))
        classifier._check_updatable()
        check_unseen(classifier.unseen)
        classifier._set_columns(part.layout, named=part.named)
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
    discretizer : name or Discretizer, optional
        Discretises numeric columns: their states are intervals such as "(0.8, 1.75]", and evidence
        on them is still a number. MODL also groups categories. Columns with a family of
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
    discretizer: discretizers.Discretizer | str | None = None
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
            raise errors.DataTypeError("A batch is a tuple (X, y) or (X, y, sample_weight).")
        yield (*batch, None)[:3]
    if batch is None:
        raise errors.DataError("There was no batch to learn from.")


def check_pseudo_counts(smoothing: Smoothing, variables: Collection[Variable]) -> None:
    """Raise an error if pseudo-counts are given for a name that no variable has."""
    if isinstance(smoothing.alpha, Mapping):
        names = [v.name for v in variables]
        for name in smoothing.alpha:
            if name not in names:
                raise errors.unknown_variable(name, names, where="alpha=: the model")


def check_statistics(estimator: Any) -> None:
    """Raise a DataError if a fitted model lacks the sufficient statistics that updates need."""
    if not hasattr(estimator, "statistics_"):
        raise errors.DataError(
            "This model does not have the statistics it was made from (they were deleted), so that "
            "rows cannot be added or forgotten; fit it again."
        )
