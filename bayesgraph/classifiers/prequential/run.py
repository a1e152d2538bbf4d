"""Test, then train: one model, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers.inputs import target_column
from bayesgraph.classifiers.prequential.curves import Curves
from bayesgraph.classifiers.prequential.models import Answers, Tested, tested
from bayesgraph.classifiers.prequential.result import PrequentialComparison, PrequentialResult
from bayesgraph.classifiers.prequential.rows import stream_batches
from bayesgraph.drift.detectors import alarms, chosen_detector
from bayesgraph.errors import DataError, ModelError


@overload
def prequential(
    model: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    batch: int = 100,
    classes: ArrayLike | None = None,
    fading: float = 0.999,
    window: int | None = None,
    detector: Any = None,
    judge_from: int = 0,
) -> PrequentialComparison: ...
@overload
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
) -> PrequentialResult: ...
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
    """Test a model on each row of a stream before it learns from it.

    The rows of a batch are predicted, each as its most probable class, before any of them is
    learned. Streaming classifiers of bayesgraph predict each row with all rows before it, whatever
    the batches, and so do models of river. A row for which a model has no answer counts as an
    error. A model of scikit-learn that has learned nothing cannot predict: the first batch is
    learned only. Several models are judged from the first row that all of them had an answer for.

    With e_i what is measured of row i, a curve at row n is S_n / B_n, where S_n = e_n + a S_{n-1},
    B_n = 1 + a B_{n-1} and a is the fading factor (Gama, Sebastiao, Rodrigues 2013, section 3.2).

    Parameters
    ----------
    model : classifier, or mapping from name to classifier
        With `partial_fit` and `predict_proba` or `predict` (pipelines of scikit-learn whose steps
        have `partial_fit`, too), or with river's `learn_one` and `predict_proba_one` or
        `predict_one`. It is changed: it learns the whole stream. Several models are judged on the
        same rows.
    X : table, or iterable of pairs
        Pairs of a table and its labels are batches. Pairs of a row (a mapping from name to value)
        and its label, such as the datasets of river, are gathered to batches; models that take
        tables get data frames with the columns of the first batch.
    y : array_like, shape (n_rows,), optional
        Labels of a table.
    batch : int
        Rows of a table, or pairs of a row and its label, that come together.
    classes : array_like, optional
        All classes, which other libraries ask for ahead; by default those of a table's labels.
    fading : float
        The factor, in (0, 1]: 0.999 weighs the last 1,000 rows most; 1 weighs all alike.
    window : int, optional
        Average over the last so many rows instead.
    detector : str, DriftDetector or detector of river, optional
        Fed with the errors (a copy of it for each model); by default the alarms are those of the
        model's own.
    judge_from : int
        Rows before this one are predicted and learned, but not judged: with the same number,
        models that were tried one by one are judged on the same rows.

    Returns
    -------
    PrequentialResult, or PrequentialComparison
        The second for a mapping.

    Raises
    ------
    DataError
        For no rows that could be predicted, or labels that do not fit.
    DataTypeError
        For a class in place of a model, or what is no table.
    ModelError
        For a model that cannot learn in steps, or a fading factor, a window, a batch or a detector
        that cannot be.

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
    >>> found = prequential(models, X, y)
    >>> found["own"].mean_accuracy > found["Gaussian"].mean_accuracy
    True
    >>> found["own"].first_row, found["Gaussian"].first_row
    (100, 100)
    """
    named = _named(model)
    whole = isinstance(judge_from, (int, np.integer)) and not isinstance(judge_from, bool)
    if not whole or judge_from < 0:
        raise ModelError(f"judge_from= is a number of rows, 0 or more; got {judge_from!r}.")
    runs = [
        _Run(name, trial, Curves(fading, window), chosen_detector(detector))
        for name, trial in named.items()
    ]
    ahead = classes if classes is not None or y is None else np.unique(target_column(y)[0])
    first, begun = 0, None
    for part, labels in stream_batches(X, y, batch):
        answers = [run.trial.test_then_train(part, labels, ahead) for run in runs]
        if begun is None and (row := _first_answered(answers)) is not None:
            begun = max(judge_from, first + row)
        skip = len(labels) if begun is None else max(begun - first, 0)
        for run, found in zip(runs, answers, strict=True):
            run.take(labels, found, first, skip)
        first += len(labels)
    results = {run.name: run.result() for run in runs}
    return PrequentialComparison(results) if isinstance(model, Mapping) else results.popitem()[1]


def _named(model: Any) -> dict[str, Tested]:
    """Return models on trial by their names."""
    if not isinstance(model, Mapping):
        trial = tested(model)
        return {trial.name: trial}
    if not model:
        raise DataError("prequential needs at least one model; got none.")
    if len({id(m) for m in model.values()}) < len(model):
        raise ModelError("Each name takes a model of its own; got the same object twice.")
    return {name: tested(m) for name, m in model.items()}


def _first_answered(answers: list[Answers | None]) -> int | None:
    """Return from which row on models are judged together; None if from none of these."""
    known = [found.known for found in answers if found is not None]
    if len(known) < len(answers):
        return None
    together = np.logical_and.reduce(known)
    if len(known) == 1:
        return 0  # alone, a row without an answer is an error
    return int(together.argmax()) if together.any() else None


class _Run:
    """A model on trial, its curves, and its detector if it got one."""

    def __init__(self, name: str, trial: Tested, curves: Curves, watching: Any) -> None:
        self.name, self.trial, self._curves = name, trial, curves
        self._watching = watching
        self._found: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]

    def take(self, labels: NDArray[Any], found: Answers | None, first: int, skip: int) -> None:
        """Take what the model said of some rows, of which the first is a certain row."""
        self._curves.take(labels, found, skip)
        if self._watching is not None and found is not None:
            self._found.append(first + alarms(self._watching, 1.0 - found.right))

    def result(self) -> PrequentialResult:
        """Return the curves and alarms."""
        own = self._watching is None
        rows = self.trial.own_alarms() if own else np.concatenate(self._found)
        return self._curves.result(self.name, rows)
