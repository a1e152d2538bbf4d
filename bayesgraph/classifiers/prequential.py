"""Prequential evaluation: each row of a stream is first predicted, then learned."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers.evaluation import rows_of
from bayesgraph.classifiers.intake import apart, labels_of
from bayesgraph.classifiers.scikit_learn import NotFittedError, sklearn
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayTable
from bayesgraph.core.errors import DataError, DataTypeError, ModelError, optional_module, quoted
from bayesgraph.core.variables import Name, is_missing, plain
from bayesgraph.learning import alarms, chosen_detector
from bayesgraph.tables import as_frame, columns_of

# Minimum probability in the log loss, which makes the loss of an impossible class finite.
_MINIMUM = 1e-15
_HEADER = (
    "model", "accuracy", "log loss", "at the end", "κ majority", "κ no change",
    "alarms",
)  # fmt: skip


# ------------------------------------------------------------------------------------ results


@dataclass(frozen=True, eq=False, repr=False)
class PrequentialResult(Displayed):
    """Quality of a model's predictions for the rows of a stream, made before each row was learned.

    The curves have a point after each batch: an average that weighs late rows more (`fading`), or
    an average over the last rows (`window`).

    Attributes
    ----------
    name : str
        Name of the model.
    rows : ndarray of int, shape (n_points,)
        Number of rows of the stream up to each point.
    accuracy, log_loss : ndarray, shape (n_points,)
        The loss is in nats; a class of probability zero costs 34.5. It is NaN for a model without
        probabilities.
    kappa_majority : ndarray, shape (n_points,)
        Share of the errors of the majority classifier that the model avoids: 0 is no better than
        predicting the most frequent class so far (Bifet et al. 2015).
    kappa_no_change : ndarray, shape (n_points,)
        Share of the errors of the no-change classifier, which predicts the label of the previous
        row, that the model avoids (Zliobaite et al. 2015).
    mean_accuracy, mean_log_loss : float
        Means over all scored rows.
    first_row : int
        Index of the first scored row of the stream, from 0.
    n_tested : int
        Number of scored rows: all rows from `first_row` on.
    alarms : ndarray of int
        Indices of the rows of the stream, from 0, that raised a drift alarm.
    averaging : str
        Text that names the rows over which the curves average.
    """

    name: str
    rows: NDArray[np.int64]
    accuracy: Floats
    log_loss: Floats
    kappa_majority: Floats
    kappa_no_change: Floats
    mean_accuracy: float
    mean_log_loss: float
    first_row: int
    n_tested: int
    alarms: NDArray[np.int64]
    averaging: str

    def _display(self) -> DisplayTable:
        return _table({self.name: self})


class PrequentialComparison(Displayed, dict[str, PrequentialResult]):
    """Results of several models on the same rows of one stream, by their names.

    Printing shows a table: accuracy and log loss over all scored rows (the same rows for all
    models), and the last points of the curves.
    """

    def _display(self) -> DisplayTable:
        return _table(self)


def _table(results: Mapping[str, PrequentialResult]) -> DisplayTable:
    """Return the results of several models as a table, a line for each."""
    rows = []
    for name, result in results.items():
        ends = (result.accuracy[-1], result.kappa_majority[-1], result.kappa_no_change[-1])
        numbers = (result.mean_accuracy, result.mean_log_loss, *ends)
        # The loss is NaN for a model without probabilities.
        shown = ["-" if math.isnan(x) else f"{x:.4f}" for x in numbers]
        rows.append((str(name), *shown, str(len(result.alarms))))
    # All models are scored on the same rows.
    first = next(iter(results.values()))
    return DisplayTable(f"{first.n_tested:,} rows from row {first.first_row:,} on", rows, _HEADER)


# ------------------------------------------------------------------------------------- the loop


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
    judge_from: int = 0,
) -> PrequentialResult | PrequentialComparison:
    """Evaluate models on a stream: each row is predicted before it is learned.

    The rows of a batch are predicted, each as its most probable class, before any row of the batch
    is learned. Streaming classifiers of bayesgraph and models of river instead predict each row
    with all rows before it, whatever the batch size. A row that a model does not predict counts as
    an error. An unfitted model of scikit-learn cannot predict: the first batch is only learned.
    Several models are scored from the first row on that all of them predict.

    For a measure e_i of row i, the curve at row n is S_n / B_n, where S_n = e_n + a S_{n-1},
    B_n = 1 + a B_{n-1} and a is the fading factor (Gama, Sebastiao, Rodrigues 2013, section 3.2).

    Parameters
    ----------
    model : classifier, or mapping from name to classifier
        With `partial_fit` and `predict_proba` or `predict` (also a pipeline of scikit-learn whose
        steps have `partial_fit`), or with river's `learn_one` and `predict_proba_one` or
        `predict_one`. The object itself learns the whole stream. Several models are scored on the
        same rows.
    X : table, or iterable of pairs
        A pair of a table and its labels is one batch. Pairs of a row (a mapping from name to value)
        and its label, such as the datasets of river, are collected into batches; models that take
        tables get data frames with the columns of the first batch.
    y : array_like, shape (n_rows,), or name of a column of X, optional
        Labels of a table.
    batch : int
        Number of rows of a table, or of pairs of a row and its label, in a batch.
    classes : array_like, optional
        All classes, which the first `partial_fit` of other libraries needs; by default the classes
        in `y`.
    fading : float
        Fading factor in (0, 1]: with 0.999 the last 1,000 rows weigh most; with 1 all rows weigh
        the same.
    window : int, optional
        Number of last rows to average over, instead of fading.
    detector : str, DriftDetector or detector of river, optional
        Drift detector, of which a copy for each model gets the errors; by default the alarms are
        those of the model's own detector.
    judge_from : int
        Index of the first row to score; earlier rows are only predicted and learned. Equal values
        let models that are evaluated in separate calls be scored on the same rows.

    Returns
    -------
    PrequentialResult, or PrequentialComparison
        A PrequentialComparison if `model` is a mapping.

    Raises
    ------
    DataError
        If no row could be predicted, or labels do not match the rows.
    DataTypeError
        If a model is a class instead of an object, or X is not a table.
    ModelError
        If a model cannot learn in steps, or if `fading`, `window`, `batch` or `detector` is
        invalid.

    References
    ----------
    J. Gama, R. Sebastiao, P. Rodrigues: On evaluating stream learning algorithms. Machine Learning
    90 (2013). A. Bifet et al.: Efficient online evaluation of big data stream classifiers. KDD
    2015. I. Zliobaite et al.: Evaluation methods and decision theory for classification of
    streaming data with temporal dependence. Machine Learning 98 (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import bayesgraph as bg
    >>> X, y = load_digits(return_X_y=True)
    >>> models = {"own": bg.StreamingNaiveBayesClassifier(), "Gaussian": GaussianNB()}
    >>> results = prequential(models, X, y)
    >>> results["own"].mean_accuracy > results["Gaussian"].mean_accuracy
    True
    >>> results["own"].first_row, results["Gaussian"].first_row
    (100, 100)
    """
    if y is not None:
        # A lazy frame is read into memory: batches are picked by the indices of rows.
        frame = as_frame(X)
        X, y = apart(frame.collect().to_native() if isinstance(frame, nw.LazyFrame) else X, y)
    models = model if isinstance(model, Mapping) else {"": model}
    if not models:
        raise DataError("prequential needs at least one model; got none.")
    if len({id(m) for m in models.values()}) < len(models):
        raise ModelError("Each name takes a model of its own; got the same object twice.")
    trials = {name: _trial(m) for name, m in models.items()}
    # The number of rows that each model has learned before this stream, and its alarms.
    before = {name: _learned(m) for name, m in models.items()}
    curves = {name: _Curves(fading, window, chosen_detector(detector)) for name in models}
    judge_from = whole_number("judge_from", "rows", judge_from)
    # All classes, where they are known ahead.
    ahead = classes if classes is not None or y is None else labels_of(y).classes
    # Indices of rows of the stream: the first of the batch, and the first to score, which is known
    # as soon as all models predict a row.
    first, first_scored = 0, None
    for rows, labels in _batches(X, y, whole_number("batch", "rows", batch, 1)):
        answers = {n: trial.test_then_train(rows, labels, ahead) for n, trial in trials.items()}
        if first_scored is None and (row := _first_answered(list(answers.values()))) is not None:
            first_scored = max(judge_from, first + row)
        # Rows of the batch before the first one to score; all of them while that is not known.
        skip = len(labels) if first_scored is None else max(first_scored - first, 0)
        for name, answer in answers.items():
            curves[name].take(labels, answer, skip)
        first += len(labels)
    results = {}
    for name, trial in trials.items():
        n_before, old_alarms = before[name]
        # The rows of this stream at which the model's own detector alarmed: the model counts its
        # rows from the beginning of its life.
        own_alarms = _learned(models[name])[1][len(old_alarms) :] - n_before
        results[name] = curves[name].result(name or trial.name, own_alarms)
    return PrequentialComparison(results) if isinstance(model, Mapping) else results[""]


def _first_answered(answers: Sequence[_Answers | None]) -> int | None:
    """Return the index of the first row of a batch that all models predict, or None.

    The index is always 0 for a single fitted model: rows that the model does not predict count as
    errors. None means that there is no such row, or that a model is not fitted.
    """
    predicted = [answer.predicted for answer in answers if answer is not None]
    if len(predicted) < len(answers):
        return None
    by_all = np.logical_and.reduce(predicted)
    # For a single model, a row that is not predicted counts as an error.
    if len(predicted) == 1:
        return 0
    return int(by_all.argmax()) if by_all.any() else None


class _Curves:
    """Running averages of one model's scores on a stream: the points of its curves, and its alarms.

    Parameters
    ----------
    fading : float
        Fading factor of the averages.
    window : int, optional
        Number of last rows to average over, instead of fading.
    detector : drift detector, optional
        Gets the errors of the model.
    """

    def __init__(self, fading: float, window: int | None, detector: Any) -> None:
        if not 0.0 < fading <= 1.0:
            raise ModelError(f"fading lies above 0 and up to 1; got {fading!r}.")
        self._fading, self._detector = fading, detector
        self._window = None if window is None else whole_number("window", "rows", window, 1)
        # The four measures of a row are whether the model is correct, its loss, and whether the
        # majority and the no-change classifier are correct. First S_n and B_n of `prequential`,
        # then the sums over all scored rows, the first of these, and the number of all rows.
        self._sums, self._weight = np.zeros(4), 0.0
        self._all, self._first, self._n = np.zeros(4), 0, 0
        # The measures of the rows of the window.
        self._tail = np.zeros((0, 4))
        # For the baselines: how often each label came, and the label of the previous row.
        self._counts: dict[Any, int] = {}
        self._last: Any = None
        # The points of the curves: number of rows so far, and averages of the four measures.
        self._points: list[tuple[int, Floats]] = []
        # Indices of the rows of the stream at which `detector` raised an alarm.
        self._alarms: list[int] = []

    def take(self, labels: NDArray[Any], answers: _Answers | None, skip: int) -> None:
        """Score the predictions for a batch, and add a point to the curves.

        The baselines and the detector get all rows of the batch.

        Parameters
        ----------
        labels : ndarray, shape (n_rows,)
        answers : _Answers, optional
            The predictions. None from an unfitted model: no row is scored.
        skip : int
            Number of rows at the beginning of the batch that are not scored.
        """
        # Whether the baseline classifiers predict each label correctly, shape (n_rows, 2). The
        # columns are the majority classifier (most frequent label so far) and the no-change
        # classifier (previous label).
        baselines = np.zeros((len(labels), 2))
        for i, label in enumerate(map(plain, labels.tolist())):
            if self._counts:  # ties go to the label that came first
                frequent = max(self._counts, key=self._counts.__getitem__)
                baselines[i] = (frequent == label, self._last == label)
            self._counts[label] = self._counts.get(label, 0) + 1
            self._last = label
        first, self._n = self._n, self._n + len(labels)
        if answers is not None and self._detector is not None:
            self._alarms += (first + alarms(self._detector, 1.0 - answers.correct)).tolist()
        if answers is None or skip >= len(labels):
            return
        if not self._points:
            self._first = first + skip
        loss = -np.log(np.maximum(answers.p_label, _MINIMUM))
        measures = np.column_stack([answers.correct, loss, baselines])[skip:]
        # Weights of the rows in the faded sums: 1 for the last row, less for each row before it.
        powers = self._fading ** np.arange(len(measures) - 1, -1, -1.0)
        # S_n and B_n of `prequential` advance by all rows of the batch at once.
        self._sums = self._fading ** len(measures) * self._sums + powers @ measures
        self._weight = self._fading ** len(measures) * self._weight + powers.sum()
        self._all += measures.sum(axis=0)
        point = self._sums / self._weight
        if self._window is not None:
            self._tail = np.concatenate([self._tail, measures])[-self._window :]
            point = self._tail.mean(axis=0)
        self._points.append((self._n, point))

    def result(self, name: str, own_alarms: NDArray[np.int64]) -> PrequentialResult:
        """Return the result over all rows that were added.

        `own_alarms` has the alarms of the model's own detector; the result contains them if
        `prequential` was given no detector.
        """
        if not self._points:
            raise DataError(
                "No row was predicted: the first batch only teaches a model that cannot predict "
                "before it has learned, and judge_from= may leave out more. Give more rows, "
                "smaller batches, or a model that has learned."
            )
        n_tested = self._n - self._first
        accuracy, loss, majority, no_change = np.array([point for _, point in self._points]).T
        over = f"all rows, fading by {self._fading:g} a row"
        return PrequentialResult(
            name,
            np.array([n for n, _ in self._points], dtype=np.int64),
            accuracy,
            loss,
            _kappa(accuracy, majority),
            _kappa(accuracy, no_change),
            float(self._all[0] / n_tested),
            float(self._all[1] / n_tested),
            self._first,
            n_tested,
            own_alarms if self._detector is None else np.array(self._alarms, dtype=np.int64),
            over if self._window is None else f"the last {self._window:,} rows",
        )


def _kappa(accuracy: Floats, baseline: Floats) -> Floats:
    """Return the share of a baseline's errors that a model avoids; 0 if the baseline has none.

    It is (p - q) / (1 - q) for the accuracy p of the model and the accuracy q of the baseline.
    """
    errors = 1.0 - baseline
    # The mean of ones may differ from 1 by rounding.
    has_errors = errors > 1e-12
    return np.where(has_errors, (accuracy - baseline) / np.where(has_errors, errors, 1.0), 0.0)


# --------------------------------------------------------------------------------- the protocols


class _Answers(NamedTuple):
    """Predictions of rows before they were learned.

    Attributes
    ----------
    correct : ndarray, shape (n_rows,)
        1 where the predicted class is the label, else 0.
    p_label : ndarray, shape (n_rows,)
        Predicted probability of the label; NaN from a model without probabilities.
    predicted : ndarray of bool, shape (n_rows,)
        Whether the model predicted the row; a row that is not predicted counts as an error.
    """

    correct: Floats
    p_label: Floats
    predicted: NDArray[np.bool_]

    @classmethod
    def of(
        cls, labels: NDArray[Any], answers: NDArray[Any], proba: Floats, classes: NDArray[Any]
    ) -> _Answers:
        """Return the answers of a model that predicts probabilities.

        Parameters
        ----------
        labels, answers : ndarray, shape (n_rows,)
            True and predicted classes.
        proba : ndarray, shape (n_rows, n_classes)
            Predicted probabilities of `classes`; a row of zeros is not predicted.
        classes : ndarray, shape (n_classes,)
        """
        column_of = {plain(label): k for k, label in enumerate(classes.tolist())}
        # -1, and probability 0, for a label that the model has not met.
        columns = np.array([column_of.get(plain(label), -1) for label in labels.tolist()])
        p_label = np.where(columns >= 0, proba[np.arange(len(labels)), columns], 0.0)
        # The first class, the argmax of a row of zeros, is not a prediction.
        predicted = np.asarray(proba.any(axis=1))
        correct = (np.asarray(answers) == labels) & predicted
        return cls(correct.astype(np.float64), p_label, predicted)


def _learned(model: Any) -> tuple[int, NDArray[np.int64]]:
    """Return how many rows a streaming classifier has learned, and which of them raised an alarm.

    For other models, and before the first row, they are 0 and an empty array.
    """
    # The result of `to_river` has the classifier itself as `learner`.
    inner = getattr(model, "learner", model)
    if not isinstance(inner, StreamingNaiveBayesClassifier) or not hasattr(inner, "star_"):
        return 0, np.empty(0, dtype=np.int64)
    return inner.star_.n_seen, inner.drifts_


class _ByRows:
    """A model of river's protocol: `learn_one`, and `predict_proba_one` or `predict_one`.

    Streaming classifiers of bayesgraph also predict each row of a table with all rows before it.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._is_streaming = isinstance(model, StreamingNaiveBayesClassifier)
        # Pipelines name their steps.
        self.name = type(model).__name__ if self._is_streaming else str(model)

    def test_then_train(self, X: Any, labels: NDArray[Any], classes: Any) -> _Answers | None:
        """Predict each row and learn it before the next row is predicted.

        Parameters
        ----------
        X : table, or list of rows
        labels : ndarray, shape (n_rows,)
        classes : array_like or None
            All classes of the stream, if they are known.
        """
        # Streaming classifiers take a whole table, and go through it row by row themselves.
        if self._is_streaming and not _is_rows(X):
            answers, proba = self.model.test_then_train(X, labels, classes=classes)
            return _Answers.of(labels, answers, proba, self.model.classes_)
        correct, p_label, predicted = np.zeros((3, len(labels)))
        for i, (x, label) in enumerate(zip(_as_rows(X), labels.tolist(), strict=True)):
            answer, p_label[i] = self._answer(x, label)
            correct[i], predicted[i] = (answer == label, answer is not None)
            self.model.learn_one(x, label)
        return _Answers(correct, p_label, predicted.astype(np.bool_))

    def _answer(self, x: Any, label: Any) -> tuple[Any, float]:
        """Return the most probable class (None without a prediction), and P(label)."""
        try:
            predict = getattr(self.model, "predict_proba_one", None)
            shares = None if predict is None else predict(x)
        except NotImplementedError:  # as river's classifiers without probabilities
            shares = None
        if shares is None:
            return self.model.predict_one(x), np.nan
        # No shares, or zeros alone, are no prediction: the model has not learned anything yet.
        answer = max(shares, key=shares.get) if shares and max(shares.values()) > 0.0 else None
        return answer, shares.get(label, 0.0)


class _ByBatches:
    """A model of scikit-learn's protocol: `partial_fit`, and `predict_proba` or `predict`."""

    def __init__(self, model: Any) -> None:
        is_pipeline = isinstance(model, sklearn.pipeline.Pipeline)
        steps = [step for _, step in model.steps] if is_pipeline else [model]
        # The last step predicts; those before it transform, but for those that do nothing.
        *before, self._last = steps
        self._steps = [step for step in before if step not in (None, "passthrough")]
        for step in self._steps:
            if not hasattr(step, "partial_fit"):
                try:
                    sklearn.utils.validation.check_is_fitted(step)  # or needs no fitting
                except NotFittedError as error:
                    raise ModelError(
                        f"The step {step!r} of a pipeline has no partial_fit, so it cannot learn "
                        "from a stream. Fit it before, or leave it out."
                    ) from error
        self.name = " | ".join(type(step).__name__ for step in (*self._steps, self._last))
        # Names of the columns of the first batch, if the stream has single rows; see `_frame`.
        self._columns: list[Name] | None = None

    def test_then_train(self, X: Any, labels: NDArray[Any], classes: Any) -> _Answers | None:
        """Predict all rows of a batch, then learn them together.

        The parameters are those of `_ByRows.test_then_train`. The result is None from an unfitted
        model, which cannot predict: the batch is only learned.
        """
        table = self._frame(X) if _is_rows(X) else X
        answers = self._answers(table, labels)
        # Each step learns the batch before it transforms it for the next one.
        for step in self._steps:
            if hasattr(step, "partial_fit"):
                step.partial_fit(table, labels)
            table = step.transform(table)
        # The first `partial_fit` of a model of scikit-learn needs all classes.
        options = {} if answers else {"classes": classes}
        try:
            self._last.partial_fit(table, labels, **options)
        except ValueError as error:
            # Only at the beginning of the stream can the lack of classes be the cause.
            if answers or classes is not None:
                raise
            raise DataError(
                f"{self.name} could not begin ({error}) Batches do not name all classes ahead: "
                "give prequential classes=."
            ) from error
        return answers

    def _frame(self, rows: list[Any]) -> Any:
        """Return rows as a data frame; its columns are the names in the rows of the first batch."""
        pandas = optional_module("pandas", extra="river", what="A table of single rows")
        names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
        if self._columns is None:
            self._columns = names
        elif unknown := [name for name in names if name not in set(self._columns)]:
            raise DataError(
                f"A later row has the columns {quoted(unknown)}, which the first batch had not; "
                "this model takes tables of the same columns. Take a streaming classifier, or "
                "a model of river."
            )
        return pandas.DataFrame(rows, columns=self._columns)

    def _answers(self, X: Any, labels: NDArray[Any]) -> _Answers | None:
        """Return the answers of a model to a batch; None if it has not learned anything yet."""
        try:
            for step in self._steps:
                X = step.transform(X)
            if not hasattr(self._last, "predict_proba"):
                correct = np.asarray(self._last.predict(X)) == labels
                n = len(labels)
                return _Answers(correct.astype(np.float64), np.full(n, np.nan), np.full(n, True))
            proba = np.asarray(self._last.predict_proba(X))
        except NotFittedError:
            return None
        except AttributeError:
            if hasattr(self._last, "classes_"):
                raise
            return None  # unfitted wrappers of other libraries fail on their missing classes
        classes = np.asarray(self._last.classes_)
        return _Answers.of(labels, classes[proba.argmax(axis=1)], proba, classes)


def _trial(model: Any) -> _ByRows | _ByBatches:
    """Return a model wrapped according to its protocol, river's or scikit-learn's."""
    if isinstance(model, type):
        raise DataTypeError(
            f"prequential takes a model; got the class {model.__name__}. Write {model.__name__}()."
        )
    if isinstance(model, StreamingNaiveBayesClassifier):
        return _ByRows(model)
    last = model.steps[-1][1] if isinstance(model, sklearn.pipeline.Pipeline) else model
    if hasattr(last, "partial_fit") and hasattr(last, "predict"):
        return _ByBatches(model)
    if hasattr(model, "learn_one") and hasattr(model, "predict_one"):
        return _ByRows(model)
    raise ModelError(
        "prequential takes a classifier that learns in steps: with partial_fit and predict, or "
        f"with learn_one and predict_one; got {type(model).__name__}, which has neither."
    )


# ----------------------------------------------------------------------------------- the stream


def _batches(X: Any, y: Any, batch: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield the batches of a stream, each as (table or list of rows, labels).

    The arguments are those of `prequential`; a table is in memory, without the column of labels.
    """
    if y is not None:
        labels = _labels_of(X, y)
        for first in range(0, len(labels), batch):
            rows = np.arange(first, min(first + batch, len(labels)))
            yield rows_of(X, rows), labels[rows]
        return
    if not isinstance(X, Iterable) or hasattr(X, "shape"):
        raise DataError(
            "prequential takes a table and its labels, or an iterable of pairs of both (or of a "
            f"row and its label); got {type(X).__name__} without labels."
        )
    # The first pair, which is put back, tells what the others are.
    pairs = map(_pair, X)
    first_pair = next(pairs, None)
    if first_pair is None:
        return
    all_pairs = itertools.chain([first_pair], pairs)
    # A mapping with several labels is a table, from names to columns; with one label it is a row.
    if not isinstance(first_pair[0], Mapping) or np.ndim(first_pair[1]) > 0:
        # Tables with their labels: each pair is a batch.
        for table, y_of_table in all_pairs:
            yield table, _labels_of(table, y_of_table)
        return
    # Rows with their labels.
    while pairs_of_batch := list(itertools.islice(all_pairs, batch)):
        plain_labels = [plain(label) for _, label in pairs_of_batch]
        # NumPy would convert numbers beside text to text.
        one_type = len({type(label) for label in plain_labels}) == 1
        for x, _ in pairs_of_batch:
            if not isinstance(x, Mapping):
                raise DataTypeError(
                    f"A row of a stream is a mapping from name to value; got {type(x).__name__}."
                )
        labels = labels_of(np.array(plain_labels, dtype=None if one_type else object)).values
        yield [x for x, _ in pairs_of_batch], labels


def _pair(item: Any) -> tuple[Any, Any]:
    """Return an item of a stream as a pair; raise a DataError if it is none."""
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise DataError(
            "A stream gives pairs of a table and its labels, or of a row and its label; got "
            f"{type(item).__name__}."
        )
    return item[0], item[1]


def _labels_of(X: Any, y: Any) -> NDArray[Any]:
    """Return the labels `y` of a table as an array, after checking that each row of X has one."""
    labels = labels_of(y).values
    # A mapping from names to columns; SciPy's dok_array, a mapping too, is a matrix.
    is_columns = isinstance(X, Mapping) and not hasattr(X, "toarray")
    try:
        column = next(iter(columns_of(X).values())) if is_columns else X
        n_rows = sklearn.utils.validation._num_samples(column)
    except TypeError as error:
        raise DataTypeError(
            f"Labels belong to a table, such as an array or a data frame; got {type(X).__name__}."
        ) from error
    if n_rows != len(labels):
        raise DataError(
            f"X has {n_rows} rows and y has {len(labels)} labels; give a label for each row."
        )
    return labels


def _is_rows(X: Any) -> bool:
    """Return whether a batch is a list of rows, each a mapping from name to value."""
    return isinstance(X, list) and bool(X) and isinstance(X[0], Mapping)


def _as_rows(X: Any) -> list[Mapping[Name, Any]]:
    """Return rows as mappings; missing values of a table are left out, as in river."""
    if _is_rows(X):
        return list(X)
    # NumPy would convert numbers beside text to text.
    table = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
    columns = columns_of(table)
    values = [
        column.to_list() if hasattr(column, "to_list") else column.tolist()
        for column in columns.values()
    ]
    return [
        {name: plain(v) for name, v in zip(columns, row, strict=True) if not is_missing(v)}
        for row in zip(*values, strict=True)
    ]
