"""The learners of bench_stream: ours, river's and scikit-learn's, behind the same two verbs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from river.compose import Pipeline
from river.linear_model import LogisticRegression
from river.multiclass import OneVsRestClassifier
from river.naive_bayes import GaussianNB as RiverNB
from river.preprocessing import StandardScaler as RiverScaler
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import bayesgraph as bg

_FEW = 20


class Learner(Protocol):
    """What learns from blocks of rows and predicts others."""

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """Learn from rows."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return classes as what was learned until now tells them."""

    def prequential(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Predict each row before learning from it; return the predictions, -1 for none."""


class Ours:
    """One of our streaming classifiers."""

    def __init__(self, model: Any, classes: Sequence[int]) -> None:
        self.model, self.classes = model, list(classes)
        self._refreshed: Any = None

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.partial_fit(X, y, classes=self.classes)
        self._refreshed = None

    def predict(self, X: np.ndarray) -> np.ndarray:
        # A copy looks at its summaries, for looks have their own schedule in the stream.
        if self._refreshed is None:
            self._refreshed = copy.deepcopy(self.model).refresh()
        return np.asarray(self._refreshed.predict(X))

    def prequential(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.test_then_train(X, y, classes=self.classes)[0])


class Sklearn:
    """A classifier with `partial_fit`, behind a scaler that learns on the way, or without.

    Its rows come twenty at a time: the Gaussians would have no variance after a single one, for
    what is added to them is a share of the variance in the batch.
    """

    def __init__(self, model: Any, classes: Sequence[int], *, scaled: bool) -> None:
        self.model, self.classes = model, np.asarray(classes)
        self._scaler = StandardScaler() if scaled else None
        self._learned = False

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        rows = X if self._scaler is None else self._scaler.partial_fit(X).transform(X)
        self.model.partial_fit(rows, y, classes=self.classes)
        self._learned = True

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(
            self.model.predict(X if self._scaler is None else self._scaler.transform(X))
        )

    def prequential(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = np.full(len(y), -1)
        for first in range(0, len(y), _FEW):
            rows = slice(first, first + _FEW)
            if self._learned:
                found[rows] = self.predict(X[rows])
            self.learn(X[rows], y[rows])
        return found


class River:
    """A classifier of river's; what is asked of many rows at once takes data frames."""

    def __init__(self, model: Any, *, many: bool) -> None:
        self.model, self.many = model, many

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        if self.many:
            self.model.learn_many(frame(X), pd.Series(y))
            return
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(named(row), label)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict_proba_many(frame(X)).idxmax(axis=1))

    def prequential(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = np.full(len(y), -1)
        for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
            x = named(row)
            answer = self.model.predict_one(x)
            found[i] = -1 if answer is None else int(answer)
            self.model.learn_one(x, label)
        return found


def named(row: Sequence[float]) -> dict[str, float]:
    """Return a row as river and our `learn_one` take it."""
    return {f"x{j}": value for j, value in enumerate(row)}


def frame(X: np.ndarray) -> pd.DataFrame:
    """Return a data frame over an array, without a copy."""
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], copy=False)


def _river_logistic(classes: Sequence[int]) -> Learner:
    binary = LogisticRegression()
    model = binary if len(classes) == 2 else OneVsRestClassifier(binary)
    # A step an example, as one does with streams: `learn_many` would take one step a batch.
    return River(Pipeline(RiverScaler(), model), many=False)


def _ours(name: str, **options: Any) -> Maker:
    return lambda classes: Ours(getattr(bg, name)(**options), classes)


Maker = Callable[[Sequence[int]], Learner]

NAIVE, WEIGHTED = "StreamingNaiveBayesClassifier", "StreamingWeightedNaiveBayesClassifier"
SUMMARIES: dict[str, Maker] = {
    name: _ours(NAIVE, summary=name) for name in ("gk", "pid", "gaussian")
}
STREAMING: dict[str, Maker] = {"NB stream": _ours(NAIVE), "WNB stream": _ours(WEIGHTED)}
DOMAINS: dict[str, Maker] = {name: _ours(WEIGHTED, domain=name) for name in ("free", "nonnegative")}
SKLEARN: dict[str, Maker] = {
    "sklearn.GaussianNB": lambda classes: Sklearn(GaussianNB(), classes, scaled=False),
    "sklearn.SGDClassifier": lambda classes: Sklearn(
        SGDClassifier(loss="log_loss", random_state=0), classes, scaled=True
    ),
}
RIVER: dict[str, Maker] = {
    "river.GaussianNB": lambda _: River(RiverNB(), many=True),
    "river.LogisticRegression": _river_logistic,
}
OFFLINE: dict[str, Callable[[], Any]] = {
    "NB offline": lambda: bg.NaiveBayesClassifier(discretizer="modl"),
    # Subsets of features averaged by how much they compress the classes (Boullé 2007).
    "SNB offline": lambda: bg.WeightedNaiveBayesClassifier("selective", discretizer="modl"),
}
