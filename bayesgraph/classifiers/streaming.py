"""Naive Bayes for data streams: one pass, bounded memory, exponents learned on the way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from bayesgraph.classifiers.discretizers import Discretizer, cell_method
from bayesgraph.classifiers.feature_layout import Layout, make_layout
from bayesgraph.classifiers.graph_classifier import GraphClassifier, chunks
from bayesgraph.classifiers.labels import check_announced, joined_classes, single_label
from bayesgraph.classifiers.network_classifier import checked_batches
from bayesgraph.classifiers.parameters import estimator
from bayesgraph.classifiers.stream_columns import StreamColumns
from bayesgraph.classifiers.validation import (
    Columns,
    bounded_weights,
    check_fitted,
    fit_columns,
    is_frame,
    known_columns,
    note_names,
    single_weight,
    target_column,
    target_name,
    unlike,
)
from bayesgraph.cpds import TableCPD
from bayesgraph.encoding import columns_of
from bayesgraph.encoding.table import check_unseen, length
from bayesgraph.errors import (
    ModelError,
    quoted,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Joint
from bayesgraph.inference.normalise import normalised
from bayesgraph.inference.scores import OF_ROWS, ClassScores
from bayesgraph.inference.solver import select
from bayesgraph.learning.smoothing import SmoothingLike
from bayesgraph.learning.streaming import StreamingStar, StreamSettings
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.statistics.sketches import SUMMARIES, ColumnSummaries
from bayesgraph.variables import Discrete, Name, Variable, plain


@estimator
class StreamingNaiveBayesClassifier(GraphClassifier):
    """Naive Bayes that sees each row once and keeps summaries of bounded size.

    Numeric columns are summarised by class; a second layer makes intervals and their probabilities
    of the summaries whenever a quarter of the stream is new. Rows enter the summaries in blocks
    after fixed numbers of rows, so that the model is the same however the rows are batched. Between
    two looks at the summaries, predictions use the densities of the last one: `partial_fit` and
    `learn_one` alone leave out up to a quarter of the rows, the latest. `refresh` looks now, and
    `fit` ends with it.

    Parameters are those with which the stream began; `set_params` counts from the next `fit`.
    Weights count rows: with weights that sum to 1 there is no evidence for any interval.

    Parameters
    ----------
    summary : {"gk", "pid", "gaussian"}
        Of numeric columns: Greenwald and Khanna's quantiles with class counts, Gama and Pinto's
        histogram, or a Gaussian of each class.
    size : int
        Tuples or bins of a summary.
    epsilon : float, optional
        For "gk": greatest relative error of a rank, in place of a fixed size.
    discretizer : str or Discretizer
        How a summary becomes intervals: "smooth", so that the ratios of the classes change smoothly
        with the rank, or a key of `bayesgraph.discretize.cells.CELL_METHODS`, such as "modl", or an
        object such as ``EqualFrequency(5)``.
    bins : int
        Intervals, for discretisers by name that do not choose how many.
    smoothing : float or Smoothing, default "dirichlet"
        Its `alpha`, or a number alone, is the number of rows added to each interval, state and
        class; its `shrinkage` and `var_smoothing` are those of Gaussians.
    decay : float
        Factor of the weight of all that was seen after each further row, in (0, 1]: 0.9999 forgets
        half in about 6,900 rows. A row enters the summaries with the others of its block, up to 256
        rows later, faded by then.
    window : int, optional
        What was seen is that of the last so many rows, in 8 panes of which the oldest is dropped:
        between seven eighths and all of them, and 8 times the memory. A column of more than
        `max_categories` values has no panes: it fades by an eighth with each.
    detector : {"adwin", "ddm", "page-hinkley"}, detector, optional
        Of drift: `bayesgraph.ADWIN(...)`, `DDM`, `PageHinkley`, or any object with `update(error)`
        and `drift_detected` (river's; such a model cannot be saved). A copy is fed with the error
        (0 or 1) of the prediction made before each row. Alarms take effect when the block of rows
        is full, at most 256 rows later.
    on_drift : {"forget", "quicken", "note"}
        What an alarm brings. "forget": what was seen before weighs 50 rows from then on, and
        exponents begin anew; "quicken": only the steps of exponents and their averages begin anew;
        "note": nothing but an entry in `drifts_`. On sudden changes "forget" measured best; a slow
        one is followed better by `decay` or a window, which cost accuracy on a steady stream.
    categorical : names, positions or "all", optional
        Numeric columns that are discrete. Text and booleans are, whatever this says.
    unseen : {"missing", "error"}
        What becomes of a category that was never learned.
    max_categories : int
        States of a column. When a column has had more, its most frequent values are found by
        Misra and Gries' list of this length, and become groups of values that say the same of the
        class (MODL); the others are one state, "(other)", to which every value that is not in the
        list belongs from then on, learned or not.

    Attributes
    ----------
    classes_ : ndarray
        Those that were announced ascending, as `fit` does, others in the order of their arrival.
    star_ : StreamingStar
        Counts, summaries, densities in force and exponents.
    network_ : WeightedNetwork
        What the model is now.
    drifts_ : ndarray of int
        Rows that brought an alarm, counted from 0 over all rows of positive weight.

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

    command: ClassVar[str] = "stream"

    _reads = ("alpha", "shrinkage", "var_smoothing")

    star_: StreamingStar = field(init=False)

    summary: str = "gk"
    size: int = 100
    epsilon: float | None = None
    discretizer: Discretizer | str = "smooth"
    bins: int = 10
    smoothing: SmoothingLike = "dirichlet"
    decay: float = 1.0
    window: int | None = None
    detector: Any = None
    on_drift: str = "forget"
    categorical: Collection[Name] | str | None = None
    unseen: str = "missing"
    max_categories: int = 1000

    def _settings(self) -> StreamSettings:
        names = (f.name for f in fields(StreamSettings))
        own = {name: getattr(self, name) for name in names if hasattr(self, name)}
        own["smoothing"] = self._smoothing()
        own["discretizer"], own["bins"] = cell_method(self.discretizer, self.bins)
        return StreamSettings(**({"exponents": None} | own))

    def _summaries(self, n_features: int, n_classes: int) -> ColumnSummaries:
        if not isinstance(self.summary, str) or self.summary not in SUMMARIES:
            raise ModelError(f"summary= is one of {quoted(SUMMARIES)}; got {self.summary!r}.")
        kind: type[Any] = SUMMARIES[self.summary]
        epsilon: Any = self.epsilon
        if epsilon is not None and not ("epsilon" in kind.options and isinstance(epsilon, Real)):
            takers = [name for name, one in SUMMARIES.items() if "epsilon" in one.options]
            raise ModelError(
                f"epsilon= is a number, and of summary= {quoted(takers)} alone; got {epsilon!r} "
                f"with {self.summary!r}."
            )
        options = {name: getattr(self, name) for name in kind.options}
        made: ColumnSummaries = kind(n_features, n_classes, **options)
        return made

    # ------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Learn anew from a table, row by row in its order, and refresh.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
        y : array_like, shape (n_rows,)
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self
        """
        self._forget_all()
        labels, _ = target_column(y)
        weights = bounded_weights(sample_weight, len(labels))
        seen = np.unique(labels[weights > 0])
        self._learn(X, y, seen if len(seen) else None, sample_weight)
        return self.refresh()

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Learn from more rows, in their order; batches of any size make the same model.

        Predictions know the latest rows after the next look at the summaries, or `refresh`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Categories and classes may be new. Tables have the columns of the first
            one; where features came with single rows (`learn_one`), tables may lack some and have
            new ones, matched by name, which are there from the first row of the batch.
        classes : array_like, optional
            Classes that have no rows yet. Others are there from the row that brings them.

        Returns
        -------
        self
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def fit_batches(self, batches: Iterable[Any], classes: ArrayLike | None = None) -> Any:
        """Learn anew from batches of rows, in their order, and refresh.

        Parameters
        ----------
        batches : iterable of (X, y) or (X, y, sample_weight)
        classes : array_like, optional
            Classes that the first batches may lack.

        Returns
        -------
        self
        """
        self._forget_all()
        for X, y, weights in checked_batches(batches):
            self._learn(X, y, classes, weights)
        return self.refresh()

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
            Before any class is known, that of the row itself: count it as an error.
        probabilities : ndarray, shape (n_rows, n_classes)
            Of the classes known at the end; 0 for one up to the row that brings it, so that the
            first row of a stream whose classes are not named has zeros only.
        """
        found = self._learn(X, y, classes, sample_weight, predict=True)
        return self.classes_[found.argmax(axis=1)], found

    def refresh(self) -> Any:
        """Look at the summaries now: predictions then know all rows that were learned.

        Later blocks begin after it, so that a stream that is refreshed on the way goes on a little
        differently from one that is not. Refresh a copy for a look that leaves no trace.
        """
        check_fitted(self, "star_")
        self.star_.refresh()
        self._changed()
        return self

    def _forget_all(self) -> None:
        for name in ("star_", "classes_", "_network"):
            if hasattr(self, name):
                delattr(self, name)

    def _changed(self) -> None:
        self._network: BayesianNetwork | WeightedNetwork | None = None

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        predict: bool = False,
    ) -> Floats:
        with self._as_before_if_refused():
            labels, name = target_column(y)
            weights = bounded_weights(sample_weight, len(labels))
            if classes is not None:
                check_announced(classes)
            is_first = not hasattr(self, "star_")
            fresh = StreamColumns()
            if is_first:
                found = fit_columns(self, X, len(labels), sparse=False)
            else:
                found, fresh = self._table(X, len(labels))
            if not weights.all():
                rows = np.flatnonzero(weights)
                found, labels, weights = found.take(rows), labels[rows], weights[rows]
            star = self._begin(found, labels, name, classes) if is_first else self.star_
            known = self.classes_ if classes is None else self._joined(labels[:0], classes)
            joined = self._joined(labels, classes)
            at = self._label_codes(joined, labels)
            columns = self._columns.joined(fresh)
            encoded = columns.learned(found, star)
        # Nothing can be refused any more.
        self.star_ = star
        self._extend(fresh, columns)
        if star.n_classes < len(known):
            star.grow(n_classes=len(known))
        out = self._learn_rows(*encoded, at, joined, weights, predict)
        if predict and is_first and classes is None:
            out[0] = 0.0
        columns.forget_rare(star)
        self._changed()
        return out

    @contextmanager
    def _as_before_if_refused(self) -> Iterator[None]:
        is_first, was_open = not hasattr(self, "star_"), getattr(self, "_is_open", False)
        try:
            yield
        except BaseException:
            self._is_open = was_open
            if is_first:
                self._forget_all()
            raise

    def _begin(
        self, found: Columns, labels: NDArray[Any], name: Name | None, classes: ArrayLike | None
    ) -> StreamingStar:
        """Set up an empty model for columns of the kinds found, and return its star."""
        check_unseen(self.unseen)
        settings = self._settings()
        layout = make_layout(found.typed(), None, self.categorical)
        columns = StreamColumns.of(found, layout.categorical)
        together = joined_classes(None, labels, classes)
        # Classes come with their rows unless they are announced, whatever the batches.
        first = labels[:1] if classes is None else labels[:0]
        known = joined_classes(None, first, classes).astype(together.dtype)
        n_numbers, n_states = len(columns.numbers), len(columns.states)
        star = StreamingStar(self._summaries(n_numbers, len(known)), n_states, settings)
        self.layout_ = layout
        self.classes_ = known
        self._columns, self._is_open = columns, False
        self.target_name_ = target_name(name, [Discrete(n, [0]) for n in found.names])
        return star

    @property
    def is_open(self) -> bool:
        """Whether tables may lack columns and have new ones, as features came with single rows."""
        check_fitted(self, "star_")
        return self._is_open

    def _table(self, X: Any, n_labels: int | None = None) -> tuple[Columns, StreamColumns]:
        """Return a table as the columns that are known, and those that are new if it is learned."""
        names, fresh = self.layout_.columns, StreamColumns()
        if not self._is_open or not is_frame(X):
            found = known_columns(self, X, names, sparse=False)
        else:
            columns = columns_of(X)
            if n_labels is not None:
                fresh = self._columns.fresh_of(columns, self.categorical)
            n_rows = length(next(iter(columns.values())))
            joined = self._columns.joined(fresh)
            found = joined.completed(columns, (*names, *fresh.names), n_rows)
        if n_labels is not None:
            check_consistent_length(range(found.n_rows), range(n_labels))
        return found, fresh

    def _extend(self, fresh: StreamColumns, columns: StreamColumns) -> None:
        """Make room for new features, which are named in the order in which they came."""
        self._columns = columns
        if not fresh:
            return
        names = (*self.layout_.columns, *fresh.names)
        self.layout_ = replace(self.layout_, columns=names)
        note_names(self, list(names))
        self.target_name_ = unlike(self.target_name_, names)
        self.star_.grow(n_numbers=len(fresh.numbers), n_states=len(fresh.states))
        self._is_open = True

    def _joined(self, labels: NDArray[Any], classes: ArrayLike | None) -> NDArray[Any]:
        """Return the known classes, those that are announced, and new ones by their first rows."""
        together = joined_classes(self.classes_, labels, classes)
        if len(together) == len(self.classes_):
            return self.classes_
        old = set(self.classes_.tolist())
        announced = [] if classes is None else joined_classes(None, labels[:0], classes).tolist()
        order = dict.fromkeys([*announced, *labels.tolist()])
        fresh = [label for label in order if label not in old]
        joined = np.empty(len(old) + len(fresh), dtype=together.dtype)
        joined[: len(old)] = self.classes_
        joined[len(old) :] = fresh
        return joined

    def _label_codes(self, classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
        place = {label: k for k, label in enumerate(classes.tolist())}
        distinct, inverse = np.unique(labels, return_inverse=True)
        found = np.array([place[label] for label in distinct.tolist()], dtype=np.int64)
        return np.asarray(found[inverse])

    def _learn_rows(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        at: NDArray[np.int64],
        classes: NDArray[Any],
        weights: Floats,
        predict: bool,
    ) -> Floats:
        """Learn rows in stretches, each of which begins where a class is new."""
        out = np.zeros((len(at) if predict else 0, len(classes)))
        star, first, brings = self.star_, 0, False
        while first < len(at):
            known = star.n_classes
            strange = np.flatnonzero(at[first + brings :] >= known)
            last = first + brings + int(strange[0]) if len(strange) else len(at)
            rows = slice(first, last)
            part = np.empty((last - first, known)) if predict else None
            star.learn(columns[:, rows], codes[:, rows], at[rows], weights[rows], part)
            if part is not None:
                # The row that brings a class was predicted without it.
                out[first + brings : last, :known] = part[int(brings) :]
            first, brings = last, last < len(at)
            if brings:
                if predict:
                    one = columns[:, first : first + 1], codes[:, first : first + 1]
                    out[first, :known] = normalised(star.log_scores(*one))[0]
                star.grow(n_classes=int(at[first]) + 1)
        self.classes_ = classes
        return out

    # ------------------------------------------------------------------------- one row at a time

    def learn_one(self, x: Mapping[Name, Any], y: Any, w: float = 1.0) -> Any:
        """Learn from one row.

        Parameters
        ----------
        x : mapping from name to value
            What is not named, or missing, is not observed. New names are new features.
        y : label
        w : float
            Weight of the row.

        Returns
        -------
        self
        """
        label, weight = single_label(y), single_weight(w)
        if weight == 0.0:
            return self
        with self._as_before_if_refused():
            if not hasattr(self, "star_"):
                self._begin_one(label)
            star, labels = self.star_, self.classes_.tolist()
            is_known = label in labels
            classes = self.classes_ if is_known else self._joined(np.array([label]), None)
            fresh = self._columns.fresh(x, self.categorical, star)
            columns = self._columns.joined(fresh)
            encoded = columns.learned(x, star)
        self._extend(fresh, columns)
        at = np.array([labels.index(label) if is_known else len(labels)])
        self._learn_rows(*encoded, at, classes, np.array([weight]), False)
        columns.forget_rare(star)
        self._changed()
        return self

    def _learn_open(self, X: Any, y: Any) -> None:
        """Learn from a table whose columns may be others than before, or from none."""
        if not len(X) and not len(y):
            return
        with self._as_before_if_refused():
            if not hasattr(self, "star_"):
                self._begin_one(plain(target_column(y)[0][0]))
            self._is_open = True
            self._learn(X, y, None, None)

    def _begin_one(self, label: Any) -> None:
        check_unseen(self.unseen)
        self.classes_ = np.array([label])
        self.layout_ = Layout(())
        self.target_name_ = "class"
        self._columns, self._is_open = StreamColumns(), True
        note_names(self, [])
        self.star_ = StreamingStar(self._summaries(0, 1), 0, self._settings())

    def predict_proba_one(self, x: Mapping[Name, Any]) -> dict[Any, float]:
        """Return the probability of each class for one row; empty before anything was learned."""
        if not hasattr(self, "star_"):
            return {}
        shares = normalised(self._scores_one(x)[None])[0]
        return dict(zip(self.classes_.tolist(), shares.tolist(), strict=True))

    def predict_one(self, x: Mapping[Name, Any]) -> Any:
        """Return the most probable class of one row; None before anything was learned."""
        if not hasattr(self, "star_"):
            return None
        return plain(self.classes_[int(np.argmax(self._scores_one(x)))])

    def _scores_one(self, x: Mapping[Name, Any]) -> Floats:
        return self._scored(self._columns.known(x, self.star_, self.unseen)).reshape(-1)

    def _scored(self, encoded: tuple[Floats, NDArray[np.int64]]) -> Floats:
        star = self.star_
        scores = ClassScores(
            self.target_, "the summaries of a stream", lambda rows: star.log_scores(*rows)
        )
        return select(scores, Joint((0,)), OF_ROWS).run_rows(encoded)

    # ------------------------------------------------------------------------------ the model

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        """See GraphClassifier; the star scores its own densities, which is faster."""
        check_fitted(self, "star_")
        for rows, n_rows, found in chunks(self._table(X)[0]):
            encoded = self._columns.known(found, self.star_, self.unseen)
            yield rows, n_rows, self._scored(encoded), 0

    @property
    def target_(self) -> Discrete:  # type: ignore[override]
        """The class variable."""
        check_fitted(self, "star_")
        return Discrete(self.target_name_, self.classes_.tolist())

    @property
    def features_(self) -> tuple[Variable, ...]:  # type: ignore[override]
        """The features as the densities in force know them, in the order of the columns."""
        check_fitted(self, "star_")
        found = {v.name: v for v in self._columns.variables(self.star_)}
        return tuple(found[name] for name in self.layout_.columns)

    @property
    def drifts_(self) -> NDArray[np.int64]:
        """Rows that brought an alarm."""
        check_fitted(self, "star_")
        return np.array(self.star_.watch.rows, dtype=np.int64)

    @property
    def network_(self) -> BayesianNetwork | WeightedNetwork:  # type: ignore[override]
        """The model as it is now: a star, with exponents and biases if they are learned."""
        if not hasattr(self, "star_"):
            raise AttributeError(f"{type(self).__name__} has learned nothing yet.")
        if self._network is None:
            self._network = self._current()
        return self._network

    def _current(self) -> BayesianNetwork | WeightedNetwork:
        star, target = self.star_, self.target_
        by_name = {v.name: v for v in self.features_}
        cpds: list[Any] = [TableCPD(target, np.exp(star.log_prior))]
        numbers, states = self._columns.numbers, self._columns.states
        if numbers:
            cpds.append(star.numbers.plate([by_name[n] for n in numbers], target))
        if states:
            order = self._columns.state_order(star)
            cpds.append(star.states.plate([by_name[n] for n in states], target, order))
        network = BayesianNetwork(cpds)
        if not star.exponents.moves:
            return network
        exponents = zip(self._columns.names, star.exponents.mean.T, strict=True)
        return WeightedNetwork(
            network,
            target.name,
            {n: w[0] if (w == w[0]).all() else w for n, w in exponents},
            bias=star.exponents.mean_bias,
            domain=star.settings.domain,
        )
