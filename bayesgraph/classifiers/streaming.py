"""Naive Bayes for data streams, learned in one pass with bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph import tables
from bayesgraph.classifiers import base, intake
from bayesgraph.classifiers.discretizers import Discretizer, cell_method
from bayesgraph.classifiers.intake import check_announced, joined_classes, single_label
from bayesgraph.classifiers.network_classifier import (
    checked_batches,
    classes_in,
    dataset_of,
    named_batches,
)
from bayesgraph.classifiers.rows import Columns, Layout, encoded_chunks, make_layout
from bayesgraph.classifiers.stream_columns import NO_COLUMNS, Encoded, StreamColumns
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphWarning, ModelError, quoted, warn
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable, plain
from bayesgraph.core.version import __version__
from bayesgraph.inference import normalised
from bayesgraph.learning import StreamingStar, StreamSettings, normalise
from bayesgraph.models import BayesianNetwork, TableCPD, WeightedNetwork
from bayesgraph.statistics import SUMMARIES, ColumnSummaries, SmoothingLike
from bayesgraph.tables import Labels, TrainingRows, check_unseen, columns_of, length

# --------------------------- Naive Bayes for data streams, learned in one pass with bounded memory


@base.estimator
class StreamingNaiveBayesClassifier(base.GraphClassifier):
    """Naive Bayes for data streams: it learns each row once and keeps summaries of bounded size.

    Numeric columns are summarised for each class. Class-conditional densities, such as intervals
    with their probabilities, are estimated from the summaries and refreshed whenever the stream has
    grown by about a quarter. Rows enter the summaries in blocks of fixed sizes, so that the model
    does not depend on how the rows are batched. Predictions use the densities of the last refresh:
    after `partial_fit` or `learn_one` they may lack the latest rows, up to a quarter. `refresh`
    includes these rows; `fit` ends with a refresh.

    The parameters at the beginning of the stream apply until the next `fit`, whatever `set_params`
    changes (except `unseen`, and `categorical` for new columns). Weights count rows: weights that
    sum to 1 are too little evidence for any interval.

    Parameters
    ----------
    summary : {"gk", "pid", "gaussian"} or class
        Summary of a numeric column, by name or as a class, such as `GKSummary`. "gk": Greenwald
        and Khanna's quantile summary with class counts; "pid": Gama and Pinto's histogram;
        "gaussian": a Gaussian for each class.
    size : int
        Number of tuples or bins of a summary.
    epsilon : float, optional
        For "gk": maximum relative error of a rank, in place of a fixed size.
    discretizer : str or Discretizer
        Method that forms intervals from a summary: "smooth", which lets the ratios of the class
        densities change smoothly with the rank, a key of
        `bayesgraph.statistics.sketches.CELL_METHODS`, such as "modl", or an object such as
        ``EqualFrequency(5)``.
    bins : int
        Number of intervals, for a discretiser given by name that does not choose it.
    smoothing : float or Smoothing, default "dirichlet"
        Its `alpha`, or a plain number, is the pseudo-count of each interval, state and class; its
        `shrinkage`, `var_smoothing` and `reg_covar` apply to Gaussians.
    decay : float
        Factor in (0, 1] by which each row multiplies the weight of all earlier rows: 0.9999 halves
        a weight in about 6,900 rows. A row enters the summaries with its block, up to 256 rows
        later, with its weight decayed accordingly.
    detector : {"adwin", "ddm", "page-hinkley"}, detector, optional
        Detector of concept drift: a name, `bayesgraph.learning.ADWIN(...)`, or any object with
        `update(error)` and `drift_detected`, such as river's. "ddm" and "page-hinkley" are those of
        river, which they need. A model with another detector than ADWIN cannot be saved. A copy of
        the detector gets the error (0 or 1) of the prediction of each row before the row is
        learned. Alarms take effect when the block of rows is full, at most 256 rows later.
    on_drift : {"forget", "quicken", "note"}
        Reaction to an alarm. "forget": the weight of the earlier rows is reduced to 50 rows, and
        exponents are reset; "quicken": only the step sizes and averages of the exponents are reset;
        "note": the row is only listed in `drifts_`. For abrupt drift "forget" had the best measured
        accuracy; gradual drift is followed better by `decay`, which reduces the accuracy on a
        stationary stream.
    categorical : names, positions or "all", optional
        Numeric columns to treat as discrete. Text and booleans are always discrete.
    unseen : {"missing", "warn", "error"}
        Treatment of categories that were never learned, which streams have time and again. They are
        taken as missing, without or with a warning for the rows of a table; or they are an error.
    max_categories : int
        Maximum number of states of a column. A column with more values keeps a list of this length
        of its most frequent values, which MODL groups by their class distribution. All other
        values, learned or not, belong to the state "(other)".
    sketch : {"misra-gries", "count-sketch"}
        How the most frequent values are found: by the counters of Misra and Gries, which bound what
        a listed value has more than its count; or by a count sketch (Charikar, Chen, Farach-Colton
        2002), which also estimates what a value had before it was listed, and takes twenty counters
        more for each listed value and class.
    check_columns : bool
        Whether `fit` warns of columns that look wrong, as for the other classifiers.

    Attributes
    ----------
    classes_ : ndarray
        Classes announced by ``classes=`` (`fit` announces all) in ascending order; others in the
        order of their arrival.
    star_ : StreamingStar
        Counts, summaries, current densities and exponents.
    network_ : BayesianNetwork or WeightedNetwork
        The current model; a WeightedNetwork if exponents are learned.
    drifts_ : ndarray of int
        Indices of the rows that raised an alarm, from 0 over all rows of positive weight.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StreamingNaiveBayesClassifier(discretizer="modl").fit(X, y)
    >>> model.features_[3].states
    ('(-inf, 0.8]', '(0.8, 1.75]', '(1.75, inf)')
    >>> model.learn_one({"x0": 5.1, "x3": 0.2}, 0).predict_one({"x3": 0.4})
    0
    """

    _reads = ("alpha", "shrinkage", "var_smoothing", "reg_covar")
    # Version of bayesgraph that began the stream.
    _version: str = field(init=False, default=__version__)

    star_: StreamingStar = field(init=False)

    summary: str | type[ColumnSummaries] = "gk"
    size: int = 100
    epsilon: float | None = None
    discretizer: Discretizer | str = "smooth"
    bins: int = 10
    smoothing: SmoothingLike = "dirichlet"
    decay: float = 1.0
    detector: Any = None
    on_drift: str = "forget"
    categorical: Collection[Name] | str | None = None
    unseen: str = "missing"
    max_categories: int = 1000
    sketch: str = "misra-gries"
    check_columns: bool = True

    def _settings(self) -> StreamSettings:
        """Return the parameters of the estimator as the settings of its StreamingStar."""
        names = (f.name for f in fields(StreamSettings))
        settings = {name: getattr(self, name) for name in names if hasattr(self, name)}
        settings["smoothing"] = self._smoothing()
        settings["discretizer"], settings["bins"] = cell_method(self.discretizer, self.bins)
        # Without the parameter `exponents` none are learned.
        return StreamSettings(**({"exponents": None} | settings))

    def _summaries(self, n_features: int, n_classes: int) -> ColumnSummaries:
        """Return empty summaries of numeric columns, of the kind that the user chose."""
        # By name, and by the class itself.
        kinds: dict[Any, Any] = SUMMARIES | {kind: kind for kind in SUMMARIES.values()}
        if not isinstance(self.summary, (str, type)) or self.summary not in kinds:
            raise ModelError(
                f"summary= is one of {quoted(SUMMARIES)}, or a class such as "
                f"bayesgraph.statistics.GKSummary; got {self.summary!r}."
            )
        kind = kinds[self.summary]
        epsilon: Any = self.epsilon
        if epsilon is not None and not ("epsilon" in kind.options and isinstance(epsilon, Real)):
            takers = [name for name, one in SUMMARIES.items() if "epsilon" in one.options]
            raise ModelError(
                f"epsilon= is a number, and of summary= {quoted(takers)} alone; got {epsilon!r} "
                f"with {kind.name!r}."
            )
        options = {name: getattr(self, name) for name in kind.options}
        made: ColumnSummaries = kind(n_features, n_classes, **options)
        return made

    # ------------------------------------------------------------------------------- learning

    @base.one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Fit on a table, row by row in its order, and refresh the densities.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features), or dataset
            A dataset is read once, in its order; see `bayesgraph.open_dataset`.
        y : array_like, shape (n_rows,), or name of a column of X
        sample_weight : array_like, shape (n_rows,), or name of a column, optional

        Returns
        -------
        self
        """
        if (data := dataset_of(X, y)) is not None:
            classes = classes_in(data, y, sample_weight)
            return self._fit_batches(named_batches(data, y, sample_weight), classes)
        self._forget_all()
        X, y = intake.apart(X, y)
        labels = intake.labels_of(y)
        # Those of rows of weight 0 are no classes.
        classes = labels[intake.bounded_weights(sample_weight, len(labels)) > 0].classes
        # A table without rows has none, and `_learn` raises the error for it.
        announced = classes if len(classes) else None
        self._learn(X, y, announced, sample_weight, check=self.check_columns)
        return self.refresh()

    @base.one_at_a_time
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Learn from more rows, in their order; batches of any size give the same model.

        Predictions use the latest rows after the next refresh of the densities; see `refresh`.
        Threads may update one model: each update waits for those before it.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Categories and classes may be new. Tables must have the columns of the
            first table. But if features came with single rows (`learn_one`), columns are matched by
            name: a table may lack columns and have new columns, which become features from the
            first row of the batch on.
        classes : array_like, optional
            Classes to add before the first row. Other classes are added with their first row.

        Returns
        -------
        self
        """
        self._learn(X, y, classes, sample_weight)
        return self

    @base.one_at_a_time
    def _fit_batches(self, batches: Iterable[Any], classes: ArrayLike | None) -> Any:
        """Forget what was learned, and learn from batches in turn; see `fit_batches`."""
        self._forget_all()
        for X, y, weights in checked_batches(batches):
            self._learn(X, y, classes, weights)
        return self.refresh()

    @base.one_at_a_time
    def test_then_train(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], Floats]:
        """Predict each row before learning from it.

        Parameters
        ----------
        X, y, classes, sample_weight
            As in `partial_fit`. Rows of weight zero are left out.

        Returns
        -------
        predictions : ndarray, shape (n_rows,)
            Predicted classes. Before any class is known, the prediction is the class of the row
            itself and has to be counted as an error.
        probabilities : ndarray, shape (n_rows, n_classes)
            Probabilities of the classes that are known at the end. A class has probability 0 up to
            and including its first row: without `classes`, the first row of a stream has only
            zeros.
        """
        probabilities = self._learn(X, y, classes, sample_weight, predict=True)
        return self.classes_[probabilities.argmax(axis=1)], probabilities

    @base.one_at_a_time
    def refresh(self) -> Any:
        """Refresh the densities now, so that predictions use all rows learned so far.

        Rows that wait in an incomplete block are added to the summaries first. Later blocks then
        begin at other rows, so that the model continues slightly differently than without the
        refresh. To leave the model unaffected, refresh a copy.
        """
        intake.check_fitted(self, "star_")
        self.star_.refresh()
        self._changed()
        return self

    def _forget_all(self) -> None:
        """Make the model an unfitted one, which learns from the beginning."""
        for name in ("star_", "classes_", "_network", "_version"):
            self.__dict__.pop(name, None)

    def _changed(self) -> None:
        """Drop the cached network, which `network_` makes anew from the present densities."""
        self._network: BayesianNetwork | WeightedNetwork | None = None

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        predict: bool = False,
        check: bool = False,
    ) -> Floats:
        """Learn from a table, and before it predict each row if `predict` is true.

        All errors are raised before the model changes. `check` warns of columns that look wrong.

        Returns
        -------
        ndarray, shape (n_rows, n_classes)
            Class probabilities; without `predict` there are no rows.
        """
        X, y = intake.apart(X, y)
        labels = intake.labels_of(y)
        weights = intake.bounded_weights(sample_weight, len(labels))
        if classes is not None:
            check_announced(classes)
        is_first = not hasattr(self, "star_")
        fresh = NO_COLUMNS  # the columns that are new to the model
        if is_first:
            table = intake.fit_columns(self, X, len(labels), sparse=False)
        else:
            table, fresh = self._table(X, len(labels))
        if not weights.all():
            rows = np.flatnonzero(weights)  # rows of weight 0 are left out
            table, labels, weights = table.take(rows), labels[rows], weights[rows]
        star = self._prepare(table, labels, classes) if is_first else self.star_
        all_classes = self._joined(labels, classes)
        # From classes in ascending order, as labels have them, to the order of the model.
        index_of = {label: k for k, label in enumerate(all_classes.tolist())}
        indices = np.array([index_of[label] for label in labels.classes.tolist()], dtype=np.int64)
        class_of_row = indices[labels.codes]
        columns = self._columns.joined(fresh)
        encoded = columns.learned(table, star)
        if check:
            examined, encoded_labels = columns.examined(encoded), Labels(all_classes, class_of_row)
            tables.warn_of_columns(examined, encoded_labels, table.as_columns)
        # Announced classes count from now on; `_learn_rows` adds each other one with its first row.
        n_announced = len(self._joined(labels[:0], classes))
        if star.n_classes < n_announced:
            star.extend(n_classes=n_announced)
        self.star_ = star
        out = self._update(fresh, columns, encoded, class_of_row, all_classes, weights, predict)
        # The class of the very first row is in the model from the start, but was not known ahead.
        if predict and is_first and classes is None:
            out[0] = 0.0
        return out

    def _prepare(self, table: Columns, labels: Labels, classes: ArrayLike | None) -> StreamingStar:
        """Set up an unfitted model: layout, classes and columns; return its empty StreamingStar.

        `table` are the columns of the first table, and `classes` those that the user announced.
        """
        layout = make_layout(table.typed(), None, self.categorical)
        columns = StreamColumns.of(table, layout.categorical)
        together = joined_classes({"y": labels.classes, "classes=": classes})
        # A class that is not announced is added with its first row, independently of the batches.
        first = labels[:1].classes if classes is None else joined_classes({"classes=": classes})
        # The type is that of all classes in the table, such as texts of the same maximum length.
        first = first.astype(together.dtype)
        name = intake.target_name(labels.name, [Continuous(n) for n in table.names])
        return self._set_up(layout, columns, first, name)

    def _set_up(
        self, layout: Layout, columns: StreamColumns, classes: NDArray[Any], target_name: Name
    ) -> StreamingStar:
        """Set up an unfitted model with the given columns and classes; return its StreamingStar.

        A model that begins without columns is open: rows and tables may bring new ones.
        """
        check_unseen(self.unseen)
        summaries = self._summaries(len(columns.numbers), len(classes))
        star = StreamingStar(summaries, len(columns.states), self._settings())
        self.layout_, self.classes_, self.target_name_ = layout, classes, target_name
        self._columns, self._is_open = columns, not columns
        return star

    def _table(self, X: Any, n_labels: int | None = None) -> tuple[Columns, StreamColumns]:
        """Return a table as Columns, and its columns that are new to the model.

        In learning, `n_labels` is the number of labels. In prediction it is None, and new columns
        are ignored.
        """
        names, fresh = self.layout_.columns, NO_COLUMNS
        # Only a frame for an open model, whose columns come and go, is matched by name.
        if not self._is_open or not intake.is_frame(X):
            table = intake.known_columns(self, X, names, sparse=False)
        else:
            columns = columns_of(X)
            if n_labels is not None:
                fresh = self._columns.fresh_of(columns, self.categorical)
            n_rows = length(next(iter(columns.values())))
            joined = self._columns.joined(fresh)
            table = joined.completed(columns, (*names, *fresh.names), n_rows)
        intake.check_lengths(table.n_rows, n_labels)
        return table, fresh

    def _update(
        self, fresh: StreamColumns, columns: StreamColumns, encoded: Encoded, *rows: Any
    ) -> Floats:
        """Learn encoded rows after all checks: the model may change from here on.

        `columns` are all columns, among them the `fresh` ones; for `rows` see `_learn_rows`.
        """
        self._columns = columns
        if fresh:  # added to the features, in the order of their arrival
            names = (*self.layout_.columns, *fresh.names)
            self.layout_ = replace(self.layout_, columns=names)
            intake.note_names(self, names)
            # The class is renamed if a new feature has its name.
            self.target_name_ = intake.unlike(self.target_name_, names)
            self.star_.extend(n_numbers=len(fresh.numbers), n_states=len(fresh.states))
            self._is_open = True
        out = self._learn_rows(*encoded, *rows)
        columns.forget_rare(self.star_)
        self._changed()
        return out

    def _joined(self, labels: Labels, classes: ArrayLike | None) -> NDArray[Any]:
        """Return known classes, then new announced ones, then others in order of first rows.

        `labels` are those of the new rows, `classes` those that the user announced.
        """
        sources = {"the model": self.classes_, "y": labels.classes, "classes=": classes}
        # All classes in ascending order: only their number and their type are used.
        together = joined_classes(sources)
        if len(together) == len(self.classes_):
            return self.classes_
        announced = [] if classes is None else joined_classes({"classes=": classes}).tolist()
        # Codes without repetitions have the order of the rows that brought them.
        arrived = labels.classes[list(dict.fromkeys(labels.codes.tolist()))].tolist()
        order = list(dict.fromkeys([*self.classes_.tolist(), *announced, *arrived]))
        return np.array(order, dtype=together.dtype)

    def _learn_rows(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        class_of_row: NDArray[np.int64],
        classes: NDArray[Any],
        weights: Floats,
        predict: bool,
    ) -> Floats:
        """Learn encoded rows; the result has their class probabilities if they are to be predicted.

        Rows are learned in ranges. Each range after the first begins with the first row of a new
        class, which is added to the model there.

        Parameters
        ----------
        columns : ndarray, shape (n_numbers, n_rows)
        codes : ndarray of int, shape (n_states, n_rows)
        class_of_row : ndarray of int, shape (n_rows,)
            Index of each row's class in `classes`.
        classes : ndarray, shape (n_classes,)
            All classes after the rows are learned.
        weights : ndarray, shape (n_rows,)
        predict : bool
            Whether each row is predicted before it is learned.
        """
        n_rows = len(class_of_row)
        out = np.zeros((n_rows if predict else 0, len(classes)))
        if len(classes) == self.star_.n_classes:  # all rows are one range
            self.star_.learn(columns, codes, class_of_row, weights, out if predict else None)
            self.classes_ = classes
            return out
        # A range is the rows from `first` up to `last`, without it. `n_done` is 1 if its first row
        # brought a new class: that row was predicted before the class was added, and is learned
        # with the range. Otherwise `n_done` is 0.
        star, first, n_done = self.star_, 0, 0
        while first < n_rows:
            n_known = star.n_classes
            # Rows of classes that the model has not yet, counted from `first + n_done` on.
            new_rows = (class_of_row[first + n_done :] >= n_known).nonzero()[0]
            last = first + n_done + int(new_rows[0]) if len(new_rows) else n_rows
            rows = slice(first, last)
            # Receives the class probabilities that the model predicts before it learns each row.
            proba = np.empty((last - first, n_known)) if predict else None
            star.learn(columns[:, rows], codes[:, rows], class_of_row[rows], weights[rows], proba)
            if proba is not None:
                out[first + n_done : last, :n_known] = proba[n_done:]
            first, n_done = last, int(last < n_rows)
            if n_done:
                if predict:
                    one_row = columns[:, first : first + 1], codes[:, first : first + 1]
                    out[first, :n_known] = normalised(star.log_scores(*one_row))[0]
                # New classes have their indices in the order of their first rows.
                star.extend(n_classes=int(class_of_row[first]) + 1)
        self.classes_ = classes
        return out

    # ------------------------------------------------------------------------- one row at a time

    @base.one_at_a_time
    def learn_one(self, x: Mapping[Name, Any], y: Any, w: float = 1.0) -> Any:
        """Learn from one row.

        Parameters
        ----------
        x : mapping from name to value
            Features that are not named, or missing, are not observed. New names are new features.
        y : label
        w : float
            Weight of the row.

        Returns
        -------
        self
        """
        label, weight = single_label(y), intake.single_weight(w)
        if weight == 0.0:
            return self
        if not hasattr(self, "star_"):
            self._prepare_one(label)
        classes = self.classes_
        if label not in classes.tolist():
            classes = self._joined(intake.labels_of(np.array([label])), None)
        fresh = self._columns.fresh(x, self.categorical)
        columns = self._columns.joined(fresh)
        encoded = columns.learned(x, self.star_)
        class_of_row = np.array([classes.tolist().index(label)])
        self._update(fresh, columns, encoded, class_of_row, classes, np.array([weight]), False)
        return self

    @base.one_at_a_time
    def _learn_open(self, X: Any, y: Any) -> None:
        """Learn from a table, perhaps the first, that may lack columns or have new ones."""
        if not len(X) and not len(y):
            return
        if not hasattr(self, "star_"):
            self._prepare_one(plain(intake.labels_of(y).values[0]))
        self._is_open = True
        self._learn(X, y, None, None)

    def _prepare_one(self, label: Any) -> None:
        """Set up an unfitted model without columns, and with the class of its first row."""
        intake.note_names(self, [])
        self.star_ = self._set_up(Layout(()), StreamColumns(), np.array([label]), "class")

    def predict_proba_one(self, x: Mapping[Name, Any]) -> dict[Any, float]:
        """Return the probability of each class for one row; empty if nothing was learned yet."""
        if not hasattr(self, "star_"):
            return {}
        shares = self._scores_one(x)
        normalise(shares)  # in place, from log scores to probabilities
        return dict(zip(self.classes_.tolist(), shares.tolist(), strict=True))

    def predict_one(self, x: Mapping[Name, Any]) -> Any:
        """Return the most probable class of one row; None if nothing was learned yet."""
        if not hasattr(self, "star_"):
            return None
        return plain(self.classes_[int(np.argmax(self._scores_one(x)))])

    def _scores_one(self, x: Mapping[Name, Any]) -> Floats:
        """Return the log scores of the classes for one row, shape (n_classes,)."""
        scores: Floats = self.star_.log_scores(*self._columns.known(x, self.unseen, self.star_))[0]
        return scores

    # ------------------------------------------------------------------------------ the model

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        """Yield chunks of rows with their log scores; see GraphClassifier.

        The scores come directly from the stream's densities, which is faster than from the network.
        """
        intake.check_fitted(self, "star_")
        encode = partial(self._columns.known, star=self.star_)
        for rows, n_rows, encoded in encoded_chunks(self._table(X)[0], self.unseen, encode):
            # A stream does not count rows of probability zero.
            yield rows, n_rows, self.star_.log_scores(*encoded), 0

    @property
    def target_(self) -> Discrete:  # type: ignore[override]
        """The class variable of the network."""
        intake.check_fitted(self, "star_")
        return Discrete(self.target_name_, self.classes_.tolist())

    @property
    def features_(self) -> tuple[Variable, ...]:  # type: ignore[override]
        """The features in the order of the columns, with the states of the current densities."""
        intake.check_fitted(self, "star_")
        by_name = {v.name: v for v in self._columns.variables(self.star_)}
        return tuple(by_name[name] for name in self.layout_.columns)

    @property
    def drifts_(self) -> NDArray[np.int64]:
        """Indices of the rows that raised an alarm."""
        intake.check_fitted(self, "star_")
        return np.array(self.star_.drifts, dtype=np.int64)

    @property
    def network_(self) -> BayesianNetwork | WeightedNetwork:  # type: ignore[override]
        """The current model: a naive Bayes, with exponents and biases if they are learned."""
        # An update replaces the dict of the model as a whole (see `one_at_a_time`): this one is of
        # one moment, whatever other threads do.
        state = self.__dict__
        if "star_" not in state:
            raise AttributeError(f"{type(self).__name__} has learned nothing yet.")
        network: BayesianNetwork | WeightedNetwork | None = state["_network"]
        if network is None:
            fitted = self._as_it_is()
            network = fitted._current()
            training = base.training_of(fitted, fitted._fitted_rows())
            network.training = replace(training, version=fitted._version)
            # Kept in the dict that it was made from, not in one that has replaced it meanwhile.
            state["_network"] = network
        return network

    def _fitted_rows(self) -> TrainingRows:
        """Return how many rows were learned, their weight after decay, and missing values."""
        # Numbers of missing values of the numeric and of the discrete columns.
        numbers, states = self.star_.missing
        counts = np.concatenate([numbers, states]).tolist()
        missing = dict(zip(self._columns.names, counts, strict=True))
        # Without weights and decay, the weight of the rows is their number, and is not noted.
        n_rows, weight = self.star_.n_seen, float(self.star_.totals.sum())
        rows = TrainingRows(n_rows, missing, None if weight == n_rows else weight)
        return rows.ordered(self.layout_.columns)

    def _current(self) -> BayesianNetwork | WeightedNetwork:
        """Return the network of the present densities, with exponents if these are learned."""
        star, target = self.star_, self.target_
        by_name = {v.name: v for v in self.features_}
        cpds: list[Any] = [TableCPD(target, np.exp(star.log_prior))]
        numbers, states = self._columns.numbers, self._columns.states
        if numbers:
            cpds.append(star.numbers.plate([by_name[n] for n in numbers], target))
        if states:
            # The densities have states in the order in which they came, variables in natural order.
            order = self._columns.state_order(star)
            cpds.append(star.states.plate([by_name[n] for n in states], target, order))
        network = BayesianNetwork(cpds)
        if not star.exponents.moves:  # none are learned
            return network
        # Of each feature the exponents of all classes, which become one if they are equal.
        exponents = zip(self._columns.names, star.exponents.mean.T, strict=True)
        return WeightedNetwork(
            network,
            target.name,
            {n: w[0] if (w == w[0]).all() else w for n, w in exponents},
            bias=star.exponents.mean_bias,
            domain=star.settings.domain,
        )


# ----------------------- Weighted naive Bayes for data streams: exponents learned in the same pass


# Number of rows above which `fit` warns of rows that are sorted by class.
_SORTED = 500


@base.estimator
class StreamingWeightedNaiveBayesClassifier(StreamingNaiveBayesClassifier):
    """Naive Bayes for streams whose exponents are learned by stochastic gradient in the same pass.

    The score of class k is ``log P(k) + b_k + sum_i w_ik log p(x_i | k)``. For each row, exponents
    and biases first take one gradient step on the negative log likelihood, with the densities
    before that row; then the row enters the summaries (Salperwyck, Lemaire, Hue 2014).

    Independent exponents for each class and feature converge slowly in one pass. By default
    (``"mixed"``) an exponent is the sum of a part that all classes share and a slower deviation
    for each class. Step sizes are those of AdaGrad: 0.1 divided by the square root
    of 1 plus the sum of the squared gradients of the exponent. They are smaller for a feature whose
    log densities differ by more than 2 nats (root mean square), as those of Gaussians with few rows
    do. Exponents are dimensionless and near 1, so that no step size needs to be tuned. Predictions
    use a weighted average of the exponents over all steps, in which late steps weigh most.
    ``network_.exponents`` and ``network_.bias`` are these averages, classes as in `classes_`.

    Exponents depend on the order of the rows, as all parameters learned by stochastic gradient do.
    Ten orders of 3,000 rows of two classes gave accuracies of 0.810 to 0.815, where naive
    Bayes has 0.813; rows sorted by class gave 0.53. On the digits, sorting changed the accuracy
    from 0.93 to 0.89: exponents adapt to the last class. Shuffle a sorted table, or use
    StreamingNaiveBayesClassifier, which lost 0.006 on the rows of two classes and nothing on the
    digits. `fit` warns of many rows sorted by class.

    For the same reason a row of weight 2 is not exactly two rows: this estimator is excused from
    `check_sample_weight_equivalence_on_dense_data` of scikit-learn, as its SGDClassifier is.

    Parameters
    ----------
    exponents : {"mixed", "variable", "class"}
        "variable" has an exponent for each feature, "class" an exponent for each feature and class,
        "mixed" the sum of both.
    step : float, optional
        Fixed step size in place of adaptive ones; with ``exponents="class"`` this is exactly the
        method of the 2014 study.
    domain : {"free", "nonnegative"}
        Negative exponents reverse the evidence of a feature. They improve predictions if features
        are correlated, but are hard to interpret.
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    C. Salperwyck, V. Lemaire, C. Hue: Classifieur naif de Bayes pondere pour flux de donnees. EGC
    2014. J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and
    stochastic optimization. JMLR 12 (2011). O. Shamir, T. Zhang: Stochastic gradient descent for
    non-smooth optimization. ICML 2013 (the average). S. Ross, P. Mineiro, J. Langford: Normalized
    online learning. UAI 2013.
    """

    exponents: str = field(default="mixed", kw_only=False)
    step: float | None = None
    domain: str = "free"

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Fit on a table, row by row in its order, and refresh the densities.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
        y : array_like, shape (n_rows,)
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self

        Warns
        -----
        BayesGraphWarning
            If the rows are sorted by class: exponents would adapt to the last class.
        """
        if dataset_of(X, y) is not None:
            return super().fit(X, y, sample_weight)
        X, y = intake.apart(X, y)
        labels = intake.labels_of(y)
        # Sorted rows change their class once for each further class. Up to twice the number of
        # classes is taken for sorted too; without any change there is a single class.
        changes = np.count_nonzero(np.diff(labels.codes))
        if len(labels) > _SORTED and 0 < changes < 2 * len(labels.classes):
            warn(
                "The rows are sorted by class, and exponents are learned row by row: shuffle them.",
                BayesGraphWarning,
            )
        return super().fit(X, y, sample_weight)

    def _settings(self) -> StreamSettings:
        """Return the settings of the StreamingStar, in which exponents are learned."""
        if self.exponents is None:
            raise ModelError(
                "exponents= is 'mixed', 'variable' or 'class'; for exponents of 1 take "
                "StreamingNaiveBayesClassifier."
            )
        return super()._settings()
