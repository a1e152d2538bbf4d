"""Models of several protocols, each asked first and taught then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from bayesgraph.classifiers.prequential.rows import Rows, as_rows, as_table
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.errors import DataError, DataTypeError, ModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Name, plain


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model said of rows before it learned them.

    Attributes
    ----------
    right : ndarray, shape (n_rows,)
        1 where the answer was the class, else 0.
    given : ndarray, shape (n_rows,)
        Probability of the class; NaN from a model that gives none.
    known : ndarray of bool, shape (n_rows,)
        Whether there was an answer; without one a row counts as an error.
    """

    right: Floats
    given: Floats
    known: NDArray[np.bool_]


class Tested(ABC):
    """A model on trial."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._begun = self._n_learned()
        self._n_alarms = len(self._alarms())

    @property
    def name(self) -> str:
        """What the model is called."""
        return type(self.model).__name__

    @abstractmethod
    def test_then_train(
        self, X: Any, labels: NDArray[Any], classes: ArrayLike | None
    ) -> Answers | None:
        """Predict rows, then learn them; None if a model that knows nothing could not predict."""

    def own_alarms(self) -> NDArray[np.int64]:
        """Return the alarms that the model's own detector raised, as rows of this stream."""
        return self._alarms()[self._n_alarms :] - self._begun

    def _learner(self) -> StreamingNaiveBayesClassifier | None:
        inner = getattr(self.model, "learner", self.model)
        known = isinstance(inner, StreamingNaiveBayesClassifier) and hasattr(inner, "star_")
        return inner if known else None

    def _alarms(self) -> NDArray[np.int64]:
        learner = self._learner()
        return np.empty(0, dtype=np.int64) if learner is None else learner.drifts_

    def _n_learned(self) -> int:
        learner = self._learner()
        return 0 if learner is None else learner.star_.n_seen


class _ByRows(Tested):
    """A model of river's protocol: `learn_one`, and `predict_proba_one` or `predict_one`."""

    @property
    def name(self) -> str:
        """What the model calls itself: pipelines name their steps."""
        return str(self.model)

    def test_then_train(
        self, X: Any, labels: NDArray[Any], classes: ArrayLike | None
    ) -> Answers | None:
        """See Tested."""
        right, given, known = np.zeros((3, len(labels)))
        for i, (x, label) in enumerate(zip(as_rows(X), labels.tolist(), strict=True)):
            answer, given[i] = self._asked(x, label)
            right[i], known[i] = answer == label, answer is not None
            self.model.learn_one(x, label)
        return Answers(right, given, known.astype(np.bool_))

    def _asked(self, x: Any, label: Any) -> tuple[Any, float]:
        """Return the most probable class, or None, and the probability of a class."""
        try:
            ask = getattr(self.model, "predict_proba_one", None)
            found = None if ask is None else ask(x)
        except NotImplementedError:  # as river's classifiers that give labels only
            found = None
        if found is None:
            return self.model.predict_one(x), np.nan
        answer = max(found, key=found.get) if found and max(found.values()) > 0.0 else None
        return answer, found.get(label, 0.0)


class _Own(_ByRows):
    """A streaming classifier, which predicts each row with all before it in batches as well."""

    @property
    def name(self) -> str:
        """See Tested."""
        return type(self.model).__name__

    def test_then_train(
        self, X: Any, labels: NDArray[Any], classes: ArrayLike | None
    ) -> Answers | None:
        """See Tested."""
        if isinstance(X, Rows):
            return super().test_then_train(X, labels, classes)
        answers, proba = self.model.test_then_train(X, labels, classes=classes)
        return _scored(labels, answers, proba, self.model.classes_)


class _ByBatches(Tested):
    """A model of scikit-learn's protocol: `partial_fit`, and `predict_proba` or `predict`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        *before, self._last = steps
        self._steps = [step for step in before if step not in (None, "passthrough")]
        for step in self._steps:
            if not hasattr(step, "partial_fit") and not _is_ready(step):
                raise ModelError(
                    f"The step {step!r} of a pipeline has no partial_fit, so it cannot learn from "
                    "a stream. Fit it before, or leave it out."
                )
        self._names: list[Name] | None = None

    @property
    def name(self) -> str:
        """See Tested."""
        return " | ".join(type(step).__name__ for step in (*self._steps, self._last))

    def test_then_train(
        self, X: Any, labels: NDArray[Any], classes: ArrayLike | None
    ) -> Answers | None:
        """See Tested."""
        table = as_table(X, self._names)
        if isinstance(X, Rows):
            self._names = list(table.columns)
        answers = self._answers(table, labels)
        self._learn(table, labels, {} if answers else {"classes": classes})
        return answers

    def _answers(self, X: Any, labels: NDArray[Any]) -> Answers | None:
        try:
            for step in self._steps:
                X = step.transform(X)
            if not hasattr(self._last, "predict_proba"):
                return _labelled(labels, np.asarray(self._last.predict(X)))
            proba = np.asarray(self._last.predict_proba(X))
        except NotFittedError:
            return None
        except AttributeError:
            if hasattr(self._last, "classes_"):
                raise
            return None  # wrappers of other libraries miss their classes first
        classes = np.asarray(self._last.classes_)
        return _scored(labels, classes[proba.argmax(axis=1)], proba, classes)

    def _learn(self, X: Any, labels: NDArray[Any], options: dict[str, Any]) -> None:
        for step in self._steps:
            if hasattr(step, "partial_fit"):
                step.partial_fit(X, labels)
            X = step.transform(X)
        try:
            self._last.partial_fit(X, labels, **options)
        except ValueError as error:
            if options.get("classes", labels) is not None:
                raise
            raise DataError(
                f"{self.name} could not begin ({error}) Batches do not tell all classes ahead: "
                "give prequential classes=."
            ) from error


def _is_ready(step: Any) -> bool:
    """Tell whether a step of a pipeline transforms as it is."""
    if not get_tags(step).requires_fit:
        return True
    try:
        check_is_fitted(step)
    except NotFittedError:
        return False
    return True


def _labelled(labels: NDArray[Any], answers: NDArray[Any]) -> Answers:
    right = (answers == labels).astype(np.float64)
    return Answers(right, np.full(len(labels), np.nan), np.ones(len(labels), dtype=np.bool_))


def _scored(
    labels: NDArray[Any], answers: NDArray[Any], proba: Floats, classes: NDArray[Any]
) -> Answers:
    places = {plain(label): k for k, label in enumerate(classes.tolist())}
    kinds, codes = np.unique(labels, return_inverse=True)
    at = np.array([places.get(plain(kind), -1) for kind in kinds.tolist()])[codes]
    given = np.where(at >= 0, proba[np.arange(len(labels)), at], 0.0)
    # The first class of a row without probabilities is no answer.
    known = np.asarray(proba.any(axis=1))
    right = (np.asarray(answers) == labels) & known
    return Answers(right.astype(np.float64), given, known)


def tested(model: Any) -> Tested:
    """Put a model on trial, by the protocol that it has.

    Raises
    ------
    DataTypeError
        For a class in place of a model.
    ModelError
        For a model that cannot learn from a stream.
    """
    if isinstance(model, type):
        raise DataTypeError(
            f"prequential takes a model; got the class {model.__name__}. Write {model.__name__}()."
        )
    if isinstance(model, StreamingNaiveBayesClassifier):
        return _Own(model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if hasattr(last, "partial_fit") and hasattr(last, "predict"):
        return _ByBatches(model)
    if hasattr(model, "learn_one") and hasattr(model, "predict_one"):
        return _ByRows(model)
    raise ModelError(
        "prequential takes a classifier that learns in steps: with partial_fit and predict, or "
        f"with learn_one and predict_one; got {type(model).__name__}, which has neither."
    )
