"""Naive Bayes for data streams: one pass, bounded memory, exponents learned on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesgraph.classifiers import prediction
from bayesgraph.classifiers.base import checked_batches, joined_classes
from bayesgraph.classifiers.inputs import (
    Columns,
    fit_columns,
    known_columns,
    note_names,
    target_column,
    target_name,
)
from bayesgraph.classifiers.layout import Layout, make_layout
from bayesgraph.classifiers.prediction import GraphClassifier
from bayesgraph.cpds import TableCPD
from bayesgraph.encoding.columns import (
    Factorised,
    as_numbers,
    check_kinds,
    factorise,
    infinite,
    is_discrete,
    naturally_ordered,
)
from bayesgraph.encoding.table import check_magnitudes, check_unseen
from bayesgraph.errors import (
    DataError,
    DataTypeError,
    ModelError,
    UnknownStateError,
    quoted,
    suggestion,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming import StreamingStar, StreamSettings
from bayesgraph.network import BayesianNetwork
from bayesgraph.statistics.sketches import (
    ColumnSummaries,
    GaussianClass,
    GKClass,
    KLLClass,
    PiDClass,
)
from bayesgraph.statistics.sketches.frequencies import FIRST_KEY, key_of
from bayesgraph.statistics.source import checked_weights
from bayesgraph.variables import Discrete, Grouped, Name, State, Variable, is_missing, plain
from bayesgraph.weighted_network import WeightedNetwork

SUMMARIES: dict[str, type[ColumnSummaries]] = {
    "gk": GKClass,
    "pid": PiDClass,
    "kll": KLLClass,
    "gaussian": GaussianClass,
}


class StreamingNaiveBayesClassifier(GraphClassifier):
    """Naive Bayes that sees each row once and keeps summaries of bounded size.

    Numeric columns are summarised by class; a second layer makes intervals and their probabilities
    of the summaries whenever the stream has grown by a quarter. Rows enter the summaries in blocks
    after fixed numbers of rows, so that the model is the same however the rows are batched. Between
    two looks at the summaries, predictions use the densities of the last one; `settle` looks now,
    and `fit` ends with it.

    Parameters
    ----------
    summary : {"gk", "pid", "kll", "gaussian"}
        Of numeric columns: Greenwald and Khanna's quantiles with class counts, Gama and Pinto's
        histogram, quantile sketches of each class that merge (less exact: take a `size` of 400
        or so), or a Gaussian of each class.
    size : int
        Tuples or bins of a summary; items of the highest level for "kll".
    epsilon : float, optional
        For "gk": greatest relative error of a rank, in place of a fixed size.
    method : {"smooth", "modl", "frequency", "entropy", "kmeans"}
        How a summary becomes intervals.
    n_intervals : int
        For "frequency" and "kmeans".
    alpha : float
        Rows added to each interval, state and class.
    shrinkage, var_smoothing : float
        Of Gaussians, as for NaiveBayesClassifier.
    decay : float
        Factor of the weight of all that was seen after each further row, in (0, 1]: 0.9999 forgets
        half in about 6,900 rows.
    window : int, optional
        What was seen is that of the last so many rows, in 8 panes of which the oldest is dropped:
        between seven eighths and all of them, and 8 times the memory. A column of more than
        `max_categories` values has no panes: it fades by an eighth with each.
    detector : {"adwin", "ddm", "page-hinkley"}, detector, optional
        Of drift: a `bayesgraph.drift.DriftDetector` or an object with `update(error)` and
        `drift_detected`, of which a copy is fed with the error (0 or 1) of the prediction made
        before each row. Alarms take effect when the block of rows is full, at most 256 rows later.
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
        States of a column. When a column has had more, its most frequent values are found by a
        count-min sketch with a list of this length, and become groups of values that tell the same
        of the class (MODL); the others are one state, "(other)", to which every value that is not
        in the list belongs from then on, learned or not.

    Attributes
    ----------
    classes_ : ndarray
        Those of the first batch ascending, later ones in the order of their arrival.
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
    >>> model = StreamingNaiveBayesClassifier(method="modl").fit(X, y)
    >>> model.features_[3].states
    ('(-inf, 0.8]', '(0.8, 1.75]', '(1.75, inf)')
    >>> model.learn_one({"x0": 5.1, "x3": 0.2}, 0).predict_one({"x3": 0.4})
    0
    """

    star_: StreamingStar
    n_rows_: int

    def __init__(
        self,
        *,
        summary: str = "gk",
        size: int = 100,
        epsilon: float | None = None,
        method: str = "smooth",
        n_intervals: int = 10,
        alpha: float = 1.0,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        decay: float = 1.0,
        window: int | None = None,
        detector: Any = None,
        on_drift: str = "forget",
        categorical: Any = None,
        unseen: str = "missing",
        max_categories: int = 1000,
    ) -> None:
        self.summary = summary
        self.size = size
        self.epsilon = epsilon
        self.method = method
        self.n_intervals = n_intervals
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.var_smoothing = var_smoothing
        self.decay = decay
        self.window = window
        self.detector = detector
        self.on_drift = on_drift
        self.categorical = categorical
        self.unseen = unseen
        self.max_categories = max_categories

    def _settings(self) -> StreamSettings:
        return StreamSettings(
            exponents=None,
            method=self.method,
            n_intervals=self.n_intervals,
            alpha=self.alpha,
            shrinkage=self.shrinkage,
            var_smoothing=self.var_smoothing,
            decay=self.decay,
            max_categories=self.max_categories,
            window=self.window,
            detector=self.detector,
            on_drift=self.on_drift,
        )

    def _summaries(self, n_features: int, n_classes: int) -> ColumnSummaries:
        if self.summary not in SUMMARIES:
            raise ModelError(f"summary= is one of {quoted(SUMMARIES)}; got {self.summary!r}.")
        if self.summary == "gaussian":
            return GaussianClass(n_features, n_classes)
        if self.summary == "pid":
            return PiDClass(n_features, n_classes, size=self.size)
        if self.summary == "kll":
            return KLLClass(n_features, n_classes, size=self.size)
        return GKClass(n_features, n_classes, size=self.size, epsilon=self.epsilon)

    # ------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Learn anew from a table, row by row in its order, and settle.

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
        self._learn(X, y, None, sample_weight)
        return self.settle()

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Learn from more rows, in their order; batches of any size make the same model.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Categories and classes may be new.
        classes : array_like, optional
            Classes that have no rows yet.

        Returns
        -------
        self
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def fit_batches(self, batches: Iterable[Any], classes: ArrayLike | None = None) -> Any:
        """Learn anew from batches of rows, in their order, and settle.

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
        return self.settle()

    def test_then_train(
        self, X: Any, y: Any, classes: ArrayLike | None = None
    ) -> tuple[NDArray[Any], Floats]:
        """Predict each row before learning from it.

        Parameters
        ----------
        X, y, classes
            As in `partial_fit`.

        Returns
        -------
        predictions : ndarray, shape (n_rows,)
        probabilities : ndarray, shape (n_rows, n_classes)
            Of the classes known at the end; 0 for one before the row that brings it.
        """
        found = self._learn(X, y, classes, None, asked=True)
        return self.classes_[found.argmax(axis=1)], found

    def settle(self) -> Any:
        """Look at the summaries now: predictions then know all rows that were learned."""
        check_is_fitted(self, "star_")
        self.star_.settle()
        self._changed()
        return self

    def _forget_all(self) -> None:
        for name in ("star_", "classes_", "_network"):
            if hasattr(self, name):
                delattr(self, name)

    def _changed(self) -> None:
        self._network: WeightedNetwork | None = None

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        asked: bool = False,
    ) -> Floats:
        labels, name = target_column(y)
        if not hasattr(self, "star_"):
            found = fit_columns(self, X, len(labels), sparse=False)
        else:
            found = known_columns(self, X, self.layout_.columns, sparse=False)
            check_consistent_length(range(found.n_rows), labels)
        weights = checked_weights(sample_weight, len(labels))
        if not weights.all():
            rows = np.flatnonzero(weights)
            found, labels, weights = found.take(rows), labels[rows], weights[rows]
        star = getattr(self, "star_", None) or self._begin(found, labels, name, classes)
        joined = self._joined(labels, classes)
        at = self._label_codes(joined, labels)
        columns, codes = self._encoded(found, learn=True)
        self.star_ = star  # now that nothing of the first batch can be refused any more
        weights = weights if len(weights) else np.ones(len(labels))
        out = self._learn_rows(columns, codes, at, joined, weights, asked)
        self._forget_rare()
        self._changed()
        return out

    def _begin(
        self, found: Columns, labels: NDArray[Any], name: Name | None, classes: ArrayLike | None
    ) -> StreamingStar:
        """Set up an empty model for columns of the kinds found, and return its star."""
        check_unseen(self.unseen)
        settings = self._settings()
        typed = found.typed()
        layout = make_layout(typed, None, self.categorical)
        known = joined_classes(None, labels, classes)
        states = [
            n
            for n in found.names
            if n in layout.categorical or (isinstance(typed, Mapping) and is_discrete(typed[n], n))
        ]
        numbers = [n for n in found.names if n not in set(states)]
        star = StreamingStar(self._summaries(len(numbers), len(known)), len(states), settings)
        self.layout_ = layout
        self.classes_ = known
        self._numbers, self._states = numbers, states
        self._vocabularies: list[dict[Any, int]] = [{} for _ in states]
        self.target_name_ = target_name(name, [Discrete(n, [0]) for n in found.names])
        return star

    def _joined(self, labels: NDArray[Any], classes: ArrayLike | None) -> NDArray[Any]:
        """Return the known classes and after them the new ones."""
        together = joined_classes(self.classes_, labels, classes)
        if len(together) == len(self.classes_):
            return self.classes_
        old = set(self.classes_.tolist())
        # Those that have rows in the order of these, then those that are announced.
        order = dict.fromkeys([*labels.tolist(), *together.tolist()])
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
        asked: bool,
    ) -> Floats:
        """Learn rows in stretches, each of which begins where a class is new."""
        out = np.zeros((len(at) if asked else 0, len(classes)))
        first = 0
        while first < len(at):
            known = self.star_.n_classes
            strange = np.flatnonzero(at[first:] >= known)
            last = first + int(strange[0]) if len(strange) else len(at)
            if last == first:
                self.star_.grow(n_classes=int(at[first]) + 1)
                continue
            part = np.empty((last - first, known)) if asked else None
            rows = slice(first, last)
            self.star_.learn(columns[:, rows], codes[:, rows], at[rows], weights[rows], part)
            if part is not None:
                out[rows, :known] = part
            first = last
        if self.star_.n_classes < len(classes):
            self.star_.grow(n_classes=len(classes))
        self.classes_ = classes
        return out

    # ------------------------------------------------------------------------------- encoding

    def _encoded(self, found: Columns, *, learn: bool) -> tuple[Floats, NDArray[np.int64]]:
        """Return numeric columns, shape (n, n_rows), and codes of the others."""
        matrix = found.matrix
        if matrix is not None and matrix.dtype.kind in "biuf" and not self._states:
            columns = np.ascontiguousarray(np.ma.filled(matrix.astype(np.float64), np.nan).T)
            self._check_numbers(columns, self._numbers, learn=learn)
            return columns, np.empty((0, found.n_rows), dtype=np.int64)
        parts = found.as_columns()
        columns = np.empty((len(self._numbers), found.n_rows))
        for j, name in enumerate(self._numbers):
            columns[j] = as_numbers(parts[name], name)
        self._check_numbers(columns, self._numbers, learn=learn)
        codes = np.empty((len(self._states), found.n_rows), dtype=np.int64)
        # All are looked at before any is learned: a batch that is refused changes nothing.
        looked = [factorise(parts[name], name) for name in self._states]
        for j, factorised in enumerate(looked):
            self._check_states(j, factorised)
        for j, factorised in enumerate(looked):
            used, first = np.unique(factorised.codes, return_index=True)
            translation = np.full(len(factorised.states) + 1, -1)
            # In the order of their first rows, whatever the batches.
            for code in used[np.argsort(first)].tolist():
                if code < 0:
                    continue
                state = factorised.states[code]
                translation[code] = self._code(j, state, learn=learn)
            codes[j] = translation[factorised.codes]
        return columns, codes

    def _check_numbers(self, columns: Floats, names: Sequence[Name], *, learn: bool) -> None:
        """Refuse infinite numbers, and to learn those whose squares are."""
        wrong = np.isinf(columns)
        if wrong.any():
            at, row = np.argwhere(wrong)[0].tolist()
            raise infinite(names[at], row)
        if learn and self.summary == "gaussian" and columns.size:
            largest = np.abs(columns).max(axis=1, initial=0.0, where=~np.isnan(columns))
            # A row may well be small where others are not.
            check_magnitudes(names, np.where(largest > 1.0, largest, 0.0))

    def _check_states(self, j: int, factorised: Factorised) -> None:
        """Refuse a column that has become one of another kind: numbers after text, say."""
        vocabulary = self._vocabularies[j]
        if vocabulary and not any((type(s), s) in vocabulary for s in factorised.states):
            check_kinds(Discrete(self._states[j], self._known_states(j)), factorised)

    def _code(self, j: int, state: Any, *, learn: bool) -> int:
        """Return the code of a state, -1 if it is unknown and not to be learned."""
        vocabulary = self._vocabularies[j]
        key = (type(state), state)
        if key not in vocabulary and isinstance(state, (bool, int, float)):
            # By type and value first, then by value: whole numbers are floats beside missing ones.
            equal = [kind for kind in (bool, int, float) if (kind, state) in vocabulary]
            key = (equal[0], state) if len(equal) == 1 else key
        if key not in vocabulary:
            if not learn:
                if j in self.star_.sketches:
                    return key_of(state)
                if self.unseen == "error":
                    known = self._known_states(j)
                    raise UnknownStateError(
                        f"Column {self._states[j]!r} has a value that was never learned: {state!r}."
                        f"{suggestion(state, known)} Its states are {quoted(known)}."
                    )
                return -1
            settings = self.star_.settings if hasattr(self, "star_") else self
            full = len(vocabulary) >= settings.max_categories
            vocabulary[key] = key_of(state) if full else len(vocabulary)
        return vocabulary[key]

    def _forget_rare(self) -> None:
        """Forget the spelling of values beyond the first ones of a column that are not in use."""
        most = 4 * self.star_.settings.max_categories + 1024
        for j, vocabulary in enumerate(self._vocabularies):
            if len(vocabulary) > most:
                used = self.star_.keys_in_use(j)
                self._vocabularies[j] = {
                    key: code
                    for key, code in vocabulary.items()
                    if code < FIRST_KEY or code in used
                }

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
        label = plain(y)
        if is_missing(label):
            raise DataError("A row without its class teaches nothing here; got a missing label.")
        if not 0.0 <= w < np.inf:
            raise DataError(f"The weight of a row is a finite non-negative number; got {w!r}.")
        if w == 0.0:
            return self
        if not hasattr(self, "star_"):
            self._begin_one(label)
        columns, codes = self._one(x, learn=True)
        place = {known: k for k, known in enumerate(self.classes_.tolist())}
        classes = self.classes_
        if label not in place:
            classes = self._joined(np.array([label]), None)
            place[label] = len(classes) - 1
        at = np.array([place[label]])
        self._learn_rows(columns, codes, at, classes, np.array([float(w)]), False)
        self._forget_rare()
        self._changed()
        return self

    def _begin_one(self, label: Any) -> None:
        check_unseen(self.unseen)
        self.classes_ = np.array([label])
        self.layout_ = Layout(())
        self.target_name_ = "class"
        self._numbers, self._states, self._vocabularies = [], [], []
        note_names(self, [])
        self.star_ = StreamingStar(self._summaries(0, 1), 0, self._settings())

    def _one(self, x: Mapping[Name, Any], *, learn: bool) -> tuple[Floats, NDArray[np.int64]]:
        """Return a row as columns of one number, and codes."""
        if not isinstance(x, Mapping):
            raise DataTypeError(
                f"A single row is a mapping from name to value; got {type(x).__name__}. Tables go "
                "to partial_fit and predict."
            )
        get = x.get
        # Most rows have all the numbers in the order of the first: none is looked for then.
        usual = not self._states and list(x) == self._numbers
        if learn and not usual:
            known = set(self._numbers) | set(self._states)
            fresh = [n for n in x if n not in known and not is_missing(plain(x[n]))]
            if fresh:
                states = self._states_among(fresh, x)
                new = [n for n in fresh if n not in states]
                self._numbers_of(x, [*self._numbers, *new], learn=True)  # before it is one of us
                self._add_features(new, states, fresh)
        numbers = self._numbers_of(x, self._numbers, learn=learn)
        codes = np.full((len(self._states), 1), -1, dtype=np.int64)
        for j, name in enumerate(self._states):
            value = plain(get(name))
            if not is_missing(value):
                codes[j, 0] = self._code(j, value, learn=learn)
        return numbers, codes

    def _numbers_of(self, x: Mapping[Name, Any], names: list[Name], *, learn: bool) -> Floats:
        """Return the numbers of a row, shape (n_names, 1)."""
        get = x.get
        try:
            values = list(x.values()) if list(x) == names else [get(n) for n in names]
            numbers = np.array(values, dtype=np.float64)[:, None]
        except (TypeError, ValueError) as error:
            raise DataTypeError(
                f"A numeric feature has a value that is no number: {error}."
            ) from error
        self._check_numbers(numbers, names, learn=learn)
        return numbers

    def _states_among(self, names: list[Name], x: Mapping[Name, Any]) -> list[Name]:
        """Return which new features are discrete."""
        chosen = self.categorical
        everything = isinstance(chosen, str) and chosen == "all"
        listed = () if chosen is None or isinstance(chosen, str) else tuple(chosen)
        return [
            n for n in names if everything or n in listed or isinstance(plain(x[n]), (str, bool))
        ]

    def _add_features(self, numbers: list[Name], states: list[Name], names: list[Name]) -> None:
        """Make room for new features, which are named in the order in which they came."""
        self._numbers = [*self._numbers, *numbers]
        self._states = [*self._states, *states]
        self._vocabularies += [{} for _ in states]
        self.layout_ = replace(self.layout_, columns=(*self.layout_.columns, *names))
        note_names(self, list(self.layout_.columns))
        self.star_.grow(n_numbers=len(numbers), n_states=len(states))

    def predict_proba_one(self, x: Mapping[Name, Any]) -> dict[Any, float]:
        """Return the probability of each class for one row; empty before anything was learned."""
        if not hasattr(self, "star_"):
            return {}
        scores = self.star_.log_scores(*self._one(x, learn=False))[0]
        shares = np.exp(scores - scores.max())
        return dict(zip(self.classes_.tolist(), (shares / shares.sum()).tolist(), strict=True))

    def predict_one(self, x: Mapping[Name, Any]) -> Any:
        """Return the most probable class of one row; None before anything was learned."""
        if not hasattr(self, "star_"):
            return None
        scores = self.star_.log_scores(*self._one(x, learn=False))[0]
        return (
            self.classes_[int(np.argmax(scores))].item()
            if self.classes_.dtype != object
            else (self.classes_[int(np.argmax(scores))])
        )

    # ------------------------------------------------------------------------------ the model

    def _by_rows(self, X: Any, finish: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """See GraphClassifier; the star scores its own densities, which is faster."""
        check_is_fitted(self, "star_")
        found = known_columns(self, X, self.layout_.columns, sparse=False)
        result: NDArray[Any] = np.empty(0)
        for start in range(0, found.n_rows, prediction._CHUNK_ROWS):
            rows = slice(start, min(start + prediction._CHUNK_ROWS, found.n_rows))
            encoded = self._encoded(found.take(rows), learn=False)
            part = finish(self.star_.log_scores(*encoded))
            if not rows.start:
                result = np.empty((found.n_rows, *part.shape[1:]), dtype=part.dtype)
            result[rows] = part
        return result

    @property
    def target_(self) -> Discrete:  # type: ignore[override]
        """The class variable."""
        check_is_fitted(self, "star_")
        return Discrete(self.target_name_, self.classes_.tolist())

    @property
    def features_(self) -> tuple[Variable, ...]:  # type: ignore[override]
        """The features as the densities in force know them, in the order of the columns."""
        check_is_fitted(self, "star_")
        found = dict(zip(self._numbers, self.star_.numbers.variables(self._numbers), strict=True))
        sizes = np.diff(self.star_.states.start).tolist()
        for j, (name, n) in enumerate(zip(self._states, sizes, strict=True)):
            groups = self.star_.states.groups(j)
            found[name] = (
                Discrete(name, self._known_states(j, n) or ["(none yet)"])
                if groups is None
                else self._grouped(j, n, *groups)
            )
        return tuple(found[name] for name in self.layout_.columns)

    def _grouped(
        self, j: int, n_groups: int, keys: NDArray[np.int64], places: NDArray[np.int64]
    ) -> Grouped:
        """Return a column of many values as groups of the frequent ones, and the others."""
        spelling = {code: state for (_, state), code in self._vocabularies[j].items()}
        groups: list[list[State]] = [[] for _ in range(n_groups)]
        for key, place in zip(keys.tolist(), places.tolist(), strict=True):
            groups[place].append(spelling[key])
        others = "(other)"
        while others in spelling.values():
            others += "'"
        groups[-1].append(others)
        return Grouped(self._states[j], groups)

    def _known_states(self, j: int, n: int | None = None) -> list[Any]:
        """Return the first n states of a column, which came in any order, in ascending order."""
        return naturally_ordered([state for _, state in self._vocabularies[j]][:n])

    def _state_order(self) -> list[int]:
        """Return where the densities of each state stand, states as `features_` has them."""
        start, found = self.star_.states.start.tolist(), []
        for j, (vocabulary, a, b) in enumerate(
            zip(self._vocabularies, start[:-1], start[1:], strict=True)
        ):
            if self.star_.states.groups(j) is None:
                states = self._known_states(j, b - a)
                found += [a + vocabulary[type(state), state] for state in states]
            else:
                found += range(a, b)
        return found

    @property
    def drifts_(self) -> NDArray[np.int64]:
        """Rows that brought an alarm."""
        check_is_fitted(self, "star_")
        return np.array(self.star_.watch.rows, dtype=np.int64)

    @property
    def network_(self) -> WeightedNetwork:  # type: ignore[override]
        """The model as it is now: a star with its exponents and biases."""
        if not hasattr(self, "star_"):
            raise AttributeError(f"{type(self).__name__} has learned nothing yet.")
        if self._network is None:
            self._network = self._current()
        return self._network

    def _current(self) -> WeightedNetwork:
        star, target = self.star_, self.target_
        by_name = {v.name: v for v in self.features_}
        cpds: list[Any] = [TableCPD(target, np.exp(star.log_prior))]
        if self._numbers:
            cpds.append(star.numbers.plate([by_name[n] for n in self._numbers], target))
        if self._states:
            order = self._state_order()
            cpds.append(star.state_plate([by_name[n] for n in self._states], target, order))
        exponents = dict(zip([*self._numbers, *self._states], star.exponents.T, strict=True))
        return WeightedNetwork(
            BayesianNetwork(cpds),
            target.name,
            {n: w[0] if (w == w[0]).all() else w for n, w in exponents.items()},
            bias=star.mean_bias,
            domain=self._settings().domain,
        )


class StreamingWeightedNaiveBayesClassifier(StreamingNaiveBayesClassifier):
    """Naive Bayes for streams whose exponents are learned by stochastic gradient in the same pass.

    The score of class k is ``log P(k) + b_k + sum_i w_ik log p(x_i | k)``; each row first moves
    exponents and biases by one step on the negative log likelihood, with the densities as they were
    before it, and then enters the summaries (Salperwyck, Lemaire, Hue 2014).

    One exponent for each class and feature converges slowly in one pass. By default an exponent is
    what all classes share and a deviation of the class that moves slower (``"mixed"``). Steps are
    those of AdaGrad: 0.1 over the root of 1 and the sum of the squared gradients of each exponent;
    exponents are near 1 and without unit, so there is nothing to tune. The model answers with a
    weighted average of all steps, in which late ones count most.

    Parameters
    ----------
    exponents : {"mixed", "variable", "class"}
        One for each feature, one for each feature and class, or both.
    step : float, optional
        A fixed step in place of the adaptive ones; with ``exponents="class"`` the form of the 2014
        study to the letter.
    domain : {"free", "nonnegative"}
        Exponents below zero turn a feature's evidence round. They help where features are
        correlated, and may surprise a reader.
    summary, size, epsilon, method, n_intervals, alpha, shrinkage, var_smoothing
        As for StreamingNaiveBayesClassifier.
    decay, window, detector, on_drift
        As for StreamingNaiveBayesClassifier.
    categorical, unseen, max_categories
        As for StreamingNaiveBayesClassifier.

    References
    ----------
    C. Salperwyck, V. Lemaire, C. Hue: Classifieur naif de Bayes pondere pour flux de donnees. EGC
    2014. J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and
    stochastic optimization. JMLR 12 (2011). O. Shamir, T. Zhang: Stochastic gradient descent for
    non-smooth optimization. ICML 2013 (the average).
    """

    def __init__(
        self,
        exponents: str = "mixed",
        *,
        step: float | None = None,
        domain: str = "free",
        summary: str = "gk",
        size: int = 100,
        epsilon: float | None = None,
        method: str = "smooth",
        n_intervals: int = 10,
        alpha: float = 1.0,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        decay: float = 1.0,
        window: int | None = None,
        detector: Any = None,
        on_drift: str = "forget",
        categorical: Any = None,
        unseen: str = "missing",
        max_categories: int = 1000,
    ) -> None:
        super().__init__(
            summary=summary,
            size=size,
            epsilon=epsilon,
            method=method,
            n_intervals=n_intervals,
            alpha=alpha,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            decay=decay,
            window=window,
            detector=detector,
            on_drift=on_drift,
            categorical=categorical,
            unseen=unseen,
            max_categories=max_categories,
        )
        self.exponents = exponents
        self.step = step
        self.domain = domain

    def _settings(self) -> StreamSettings:
        if self.exponents is None:
            raise ModelError(
                "exponents= is 'mixed', 'variable' or 'class'; for exponents of 1 take "
                "StreamingNaiveBayesClassifier."
            )
        return StreamSettings(
            exponents=self.exponents,
            step=self.step,
            domain=self.domain,
            method=self.method,
            n_intervals=self.n_intervals,
            alpha=self.alpha,
            shrinkage=self.shrinkage,
            var_smoothing=self.var_smoothing,
            decay=self.decay,
            max_categories=self.max_categories,
            window=self.window,
            detector=self.detector,
            on_drift=self.on_drift,
        )
