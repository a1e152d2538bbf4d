"""Prequential evaluation: each row of a stream is first predicted, then learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from bayesgraph.classifiers.evaluation import rows_of
from bayesgraph.classifiers.inputs import target_column
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.drift.choice import alarms, chosen_detector
from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import plain

# A class that a model takes for impossible costs much, but not everything.
_LEAST = 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class PrequentialResult:
    """How well a model predicted a stream, row by row before it learned them.

    The curves have a point after each batch. They weigh late rows more (`fading`), or are those of
    the last rows (`window`).

    Attributes
    ----------
    name : str
        Of the model.
    rows : ndarray of int, shape (n_points,)
        Rows of the stream up to each point.
    accuracy, log_loss : ndarray, shape (n_points,)
        The loss in nats; a class that has no probability costs 34.5.
    kappa_majority : ndarray, shape (n_points,)
        What part of the errors of the majority classifier the model avoids: 0 is no better than
        predicting the most frequent class so far (Bifet et al. 2015).
    kappa_no_change : ndarray, shape (n_points,)
        The same beside predicting the label that came last (Zliobaite et al. 2015).
    mean_accuracy, mean_log_loss : float
        Over all rows that were predicted.
    n_tested : int
        Rows that were predicted.
    alarms : ndarray of int
        Rows of the stream, from 0, that brought an alarm of drift.
    averaging : str
        Over what the curves are.
    """

    name: str
    rows: NDArray[np.int64]
    accuracy: Floats
    log_loss: Floats
    kappa_majority: Floats
    kappa_no_change: Floats
    mean_accuracy: float
    mean_log_loss: float
    n_tested: int
    alarms: NDArray[np.int64]
    averaging: str

    def __repr__(self) -> str:
        end = ", ".join(
            f"{name.replace('_', ' ')} {getattr(self, name)[-1]:.4f}"
            for name in ("accuracy", "log_loss", "kappa_majority", "kappa_no_change")
        )
        return (
            f"PrequentialResult({self.name}: {self.n_tested} rows, accuracy "
            f"{self.mean_accuracy:.4f}, log loss {self.mean_log_loss:.4f}; at the end {end}; "
            f"{len(self.alarms)} alarms)"
        )


def prequential(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    batch: int = 100,
    classes: ArrayLike | None = None,
    fading: float = 0.999,
    window: int | None = None,
    detector: Any = None,
) -> PrequentialResult:
    """Test a model on each row of a stream before it learns from it.

    The rows of a batch are predicted, each as its most probable class, before any of them is
    learned. Streaming classifiers of
    bayesgraph predict each row with all rows before it, whatever the batches. Of a model that has
    learned nothing yet and cannot predict, the first batch is learned only.

    With e_i what is measured of row i, a curve at row n is S_n / B_n, where S_n = e_n + a S_{n-1},
    B_n = 1 + a B_{n-1} and a is the fading factor (Gama, Sebastiao, Rodrigues 2013, section 3.2).

    Parameters
    ----------
    model : classifier with `predict_proba` and `partial_fit`
        It is changed: it learns the whole stream.
    X : table, or iterable of pairs of a table and its labels
        Batches in the second case.
    y : array_like, shape (n_rows,), optional
        Labels of a table.
    batch : int
        Rows of a table that come together.
    classes : array_like, optional
        All classes, which other libraries ask for ahead; by default those of a table's labels.
    fading : float
        The factor, in (0, 1]: 0.999 weighs the last 1,000 rows most; 1 weighs all alike.
    window : int, optional
        Average over the last so many rows instead.
    detector : str, DriftDetector or detector of river, optional
        Fed with the errors (a copy of it); by default the alarms are those of the model's own.

    Returns
    -------
    PrequentialResult

    Raises
    ------
    DataError
        For no rows that could be predicted, or labels that do not fit.
    ModelError
        For a fading factor, a window, a batch or a detector that cannot be.

    References
    ----------
    J. Gama, R. Sebastiao, P. Rodrigues: On evaluating stream learning algorithms. Machine Learning
    90 (2013). A. Bifet et al.: Efficient online evaluation of big data stream classifiers. KDD
    2015. I. Zliobaite et al.: Evaluation methods and decision theory for classification of
    streaming data with temporal dependence. Machine Learning 98 (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import bayesgraph as bg
    >>> X, y = load_digits(return_X_y=True)
    >>> prequential(bg.StreamingNaiveBayesClassifier(), X, y).mean_accuracy > 0.8
    True
    """
    curves = _Curves(fading, window)
    watching = chosen_detector(detector)
    ahead = classes if classes is not None or y is None else np.unique(target_column(y)[0])
    found: list[NDArray[np.int64]] = []
    first = 0
    own_before, row_before = _own_alarms(model)
    for part, labels in _batches(X, y, batch):
        answers = _test_then_train(model, part, labels, ahead)
        if answers is None:
            curves.skip(labels)
        else:
            right, given = answers
            curves.add(labels, right, given)
            if watching is not None:
                found.append(first + alarms(watching, 1.0 - right))
        first += len(labels)
    if watching is None:
        own, _ = _own_alarms(model)
        found = [own[len(own_before) :] - row_before]
    together = np.concatenate([np.empty(0, dtype=np.int64), *found])
    return curves.result(type(model).__name__, together)


class _Curves:
    """Sums over the rows tested so far, and the points of the curves."""

    def __init__(self, fading: float, window: int | None) -> None:
        if not 0.0 < fading <= 1.0:
            raise ModelError(f"fading lies above 0 and up to 1; got {fading!r}.")
        if window is not None and (isinstance(window, bool) or int(window) != window or window < 1):
            raise ModelError(f"window= is a number of rows, 1 or more; got {window!r}.")
        self._fading, self._window = fading, window
        self._sums, self._weight = np.zeros(4), 0.0
        self._all, self._n_tested, self._n = np.zeros(4), 0, 0
        self._tail = np.zeros((0, 4))
        self._counts: dict[Any, int] = {}
        self._last: Any = None
        self._points: list[tuple[int, Floats]] = []

    def skip(self, labels: NDArray[Any]) -> None:
        """Take rows that were learned only."""
        self._baselines(labels)
        self._n += len(labels)

    def add(self, labels: NDArray[Any], right: Floats, given: Floats) -> None:
        """Take rows: whether the answers were right, and the probabilities of the true classes."""
        n = len(labels)
        loss = -np.log(np.maximum(given, _LEAST))
        rows = np.column_stack([right, loss, *self._baselines(labels)])
        powers = self._fading ** np.arange(n - 1, -1, -1.0)
        self._sums = self._fading**n * self._sums + powers @ rows
        self._weight = self._fading**n * self._weight + powers.sum()
        self._all += rows.sum(axis=0)
        self._n_tested += n
        self._n += n
        if self._window is not None:
            self._tail = np.concatenate([self._tail, rows])[-self._window :]
            self._points.append((self._n, self._tail.mean(axis=0)))
        else:
            self._points.append((self._n, self._sums / self._weight))

    def _baselines(self, labels: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return where the most frequent label so far, and the last one, are right."""
        kinds, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        names = [plain(kind) for kind in kinds.tolist()]
        # Ties go to what came first, whatever the batches.
        known = list(dict.fromkeys([*self._counts, *(names[k] for k in np.argsort(first))]))
        codes = np.array([known.index(name) for name in names])[codes]
        counts = np.zeros((len(labels) + 1, len(known)), dtype=np.int64)
        counts[0, : len(self._counts)] = list(self._counts.values())
        counts[np.arange(len(labels)) + 1, codes] = 1
        counts = counts.cumsum(axis=0)
        # Nothing is known before the first row: no answer is right.
        majority = (counts[:-1].argmax(axis=1) == codes) & (counts[:-1].sum(axis=1) > 0)
        before = known.index(self._last) if self._counts else -1
        same = np.concatenate([[before], codes[:-1]]) == codes
        self._counts = dict(zip(known, counts[-1].tolist(), strict=True))
        self._last = known[codes[-1]]
        return majority.astype(np.float64), same.astype(np.float64)

    def result(self, name: str, found: NDArray[np.int64]) -> PrequentialResult:
        """Return the curves."""
        if not self._points:
            raise DataError(
                "No row was predicted: a stream of one batch only teaches a model that has "
                "learned nothing. Give smaller batches, or a model that has learned."
            )
        means = np.array([point for _, point in self._points])
        accuracy, loss, majority, no_change = means.T
        return PrequentialResult(
            name,
            np.array([n for n, _ in self._points], dtype=np.int64),
            accuracy,
            loss,
            _kappa(accuracy, majority),
            _kappa(accuracy, no_change),
            float(self._all[0] / self._n_tested),
            float(self._all[1] / self._n_tested),
            self._n_tested,
            found,
            f"the last {self._window:,} rows"
            if self._window is not None
            else f"all rows, fading by {self._fading:g} a row",
        )


def _kappa(accuracy: Floats, baseline: Floats) -> Floats:
    """Return (p - q) / (1 - q); 0 where the other classifier makes no error."""
    errors = 1.0 - baseline
    return np.where(errors > 0, (accuracy - baseline) / np.where(errors > 0, errors, 1.0), 0.0)


def _batches(X: Any, y: Any, batch: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield tables and their labels."""
    if y is not None:
        if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
            raise ModelError(f"batch= is a number of rows, 1 or more; got {batch!r}.")
        labels, _ = target_column(y)
        for first in range(0, len(labels), int(batch)):
            rows = np.arange(first, min(first + int(batch), len(labels)))
            yield rows_of(X, rows), labels[rows]
        return
    if not isinstance(X, Iterable) or hasattr(X, "shape"):
        raise DataError(
            "prequential takes a table and its labels, or an iterable of pairs of both; got "
            f"{type(X).__name__} without labels."
        )
    for part, labels in X:
        yield part, target_column(labels)[0]


def _test_then_train(
    model: Any, X: Any, labels: NDArray[Any], classes: ArrayLike | None
) -> tuple[Floats, Floats] | None:
    """Return which answers were right, and the probabilities of the true classes; None if none."""
    if isinstance(model, StreamingNaiveBayesClassifier):
        answers, proba = model.test_then_train(X, labels, classes=classes)
        return _scored(labels, answers, proba, model.classes_)
    try:
        proba = np.asarray(model.predict_proba(X))
    except NotFittedError:
        model.partial_fit(X, labels, classes=classes)
        return None
    known = np.asarray(model.classes_)
    model.partial_fit(X, labels)
    return _scored(labels, known[proba.argmax(axis=1)], proba, known)


def _scored(
    labels: NDArray[Any], answers: NDArray[Any], proba: Floats, classes: NDArray[Any]
) -> tuple[Floats, Floats]:
    places = {plain(label): k for k, label in enumerate(classes.tolist())}
    kinds, codes = np.unique(labels, return_inverse=True)
    at = np.array([places.get(plain(kind), -1) for kind in kinds.tolist()])[codes]
    given = np.where(at >= 0, proba[np.arange(len(labels)), at], 0.0)
    return (np.asarray(answers) == labels).astype(np.float64), given


def _own_alarms(model: Any) -> tuple[NDArray[np.int64], int]:
    """Return the alarms that a streaming classifier has had, and the rows that it has learned."""
    if not isinstance(model, StreamingNaiveBayesClassifier) or not hasattr(model, "star_"):
        return np.empty(0, dtype=np.int64), 0
    return model.drifts_, model.star_.n_seen
