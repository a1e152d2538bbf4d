"""Cross-validation of several classifiers on the same folds, with the measures people report."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from bayesgraph.classifiers.inputs import is_frame, target_column
from bayesgraph.decisions import DecisionRule
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.measures import (
    ReliabilityCurve,
    brier_score,
    confidence_curve,
    label_codes,
    log_loss,
    reliability_curve,
    rmse,
    within_bounds,
)
from bayesgraph.variables import Discrete


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a rule decides on rows whose class is known.

    Attributes
    ----------
    labels : ndarray, shape (n_rows,)
    coverage : float
        Share of the rows that got a decision.
    accuracy : float
        Share of these that is right; NaN if there are none.
    cost : float
        Mean over all rows; without a decision that of abstaining (0 if it was not given).
    """

    labels: NDArray[Any]
    coverage: float
    accuracy: float
    cost: float

    def __repr__(self) -> str:
        return (
            f"Decisions(coverage {self.coverage:.4f}, accuracy {self.accuracy:.4f}, "
            f"cost {self.cost:.4f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What one classifier did on rows it had not seen.

    Attributes
    ----------
    name : str
    classes : ndarray, shape (K,)
    y_true, y_pred : ndarray, shape (n_rows,)
    proba : ndarray, shape (n_rows, K)
        From the fold in which a row was left out.
    fold_accuracy : ndarray, shape (n_folds,)
    fit_seconds, predict_seconds : float
        Medians over the folds.
    n_parameters : int or None
        Of the last fold's network; None for a classifier without one.
    """

    name: str
    classes: NDArray[Any]
    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    proba: Floats
    fold_accuracy: Floats
    fit_seconds: float
    predict_seconds: float
    n_parameters: int | None

    def __repr__(self) -> str:
        return (
            f"Evaluation({self.name!r}: accuracy {self.accuracy:.4f}, log loss {self.log_loss:.4f},"
            f" Brier {self.brier:.4f})"
        )

    @property
    def accuracy(self) -> float:
        """Share of rows predicted right, mean over the folds."""
        return float(self.fold_accuracy.mean())

    @property
    def log_loss(self) -> float:
        """Mean of -log P(true class) in nats; probabilities below 1e-15 count as that."""
        return log_loss(self.y_true, self.proba, self.classes)

    @property
    def brier(self) -> float:
        """Mean over rows of the sum over classes of squared differences (Brier 1950): 0 to 2."""
        return brier_score(self.y_true, self.proba, self.classes)

    @property
    def rmse(self) -> float:
        """Root of the mean squared difference of probabilities and 0/1 over rows and classes."""
        return rmse(self.y_true, self.proba, self.classes)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error of the most probable class; see `reliability`."""
        return self.reliability().error

    def reliability(
        self, label: Any = None, *, bins: int | None = None, by: str = "rows"
    ) -> ReliabilityCurve:
        """Return how often what was given a probability came true.

        Parameters
        ----------
        label : a class, optional
            Whose probability; by default that of the most probable class of each row.
        bins, by
            See :func:`bayesgraph.measures.reliability_curve`.
        """
        if label is None:
            return confidence_curve(self.y_true, self.proba, self.classes, bins=bins, by=by)
        code = Discrete("class", list(self.classes)).index(label)
        positive = label_codes(self.y_true, self.classes, what="y_true") == code
        return reliability_curve(positive, within_bounds(self.proba[:, code]), bins=bins, by=by)

    def decide(
        self,
        *,
        costs: Any = None,
        abstain: float | None = None,
        min_probability: float | None = None,
        abstained: Any = None,
    ) -> Decisions:
        """Return what a rule decides on the rows left out, and what that costs.

        Parameters are those of the classifiers' `decide`.
        """
        rule = DecisionRule.of(self.classes, costs, abstain, min_probability)
        true = label_codes(self.y_true, self.classes, what="y_true")
        codes = rule.codes(self.proba)
        open_ = codes < 0
        return Decisions(
            rule.labels(self.classes, self.proba, abstained),
            float(1.0 - open_.mean()),
            float(np.mean(true[~open_] == codes[~open_])) if not open_.all() else math.nan,
            float(rule.costs_of(true, codes).mean()),
        )

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Counts, true classes in rows, predicted ones in columns, shape (K, K)."""
        return np.asarray(confusion_matrix(self.y_true, self.y_pred, labels=self.classes))


def cross_validate(
    models: Any,
    X: Any,
    y: Any,
    *,
    cv: int = 10,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Evaluation]:
    """Return an evaluation of each model by stratified, shuffled cross-validation.

    Parameters
    ----------
    models : mapping from name to unfitted estimator, or one estimator
    X : array or data frame
    y : array_like
    cv : int
        Number of folds, at most the number of rows of the largest class.
    random_state : int
        Of the shuffling; every model sees the same folds.
    progress : callable, optional
        Called with the model's name after each fold.

    Raises
    ------
    DataError
        For fewer than two folds, or more than rows in the largest class.
    """
    labels, _ = target_column(y)
    if not is_frame(y) and not hasattr(y, "name"):
        y = labels
    classes, counts = np.unique(labels, return_counts=True)
    if not isinstance(models, Mapping):
        models = {type(models).__name__: models}
    if not 2 <= cv <= counts.max():
        raise DataError(
            f"Cross-validation takes from 2 folds to as many as the largest class has rows "
            f"({counts.max()}); got {cv}."
        )
    splits = list(_splits(labels, cv, random_state))
    return [
        _evaluate(name, model, X, y, labels, classes, splits, progress or (lambda _: None))
        for name, model in models.items()
    ]


def _splits(
    labels: NDArray[Any], folds: int, random_state: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        # Classes with fewer rows than folds are missing from some test folds: nothing is wrong.
        warnings.filterwarnings("ignore", message="The least populated class")
        yield from splitter.split(np.zeros(len(labels)), labels)


def _evaluate(
    name: str,
    model: Any,
    X: Any,
    y: Any,
    labels: NDArray[Any],
    classes: NDArray[Any],
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    progress: Callable[[str], None],
) -> Evaluation:
    probabilities = np.zeros((len(labels), len(classes)))
    accuracy, fit_seconds, predict_seconds = [], [], []
    fitted = model
    for train, test in splits:
        fitted = clone(model)
        start = time.perf_counter()
        fitted.fit(rows_of(X, train), rows_of(y, train))
        middle = time.perf_counter()
        found = fitted.predict_proba(rows_of(X, test))
        end = time.perf_counter()
        # A class that a training fold lacks keeps probability zero.
        probabilities[np.ix_(test, np.searchsorted(classes, fitted.classes_))] = found
        accuracy.append(np.mean(fitted.classes_[np.argmax(found, axis=1)] == labels[test]))
        fit_seconds.append(middle - start)
        predict_seconds.append(end - middle)
        progress(name)
    network = getattr(fitted, "network_", None)
    return Evaluation(
        name,
        classes,
        labels,
        classes[np.argmax(probabilities, axis=1)],
        probabilities,
        np.array(accuracy),
        float(np.median(fit_seconds)),
        float(np.median(predict_seconds)),
        None if network is None else network.n_parameters,
    )


def rows_of(X: Any, index: NDArray[np.intp]) -> Any:
    """Return some rows of a table or of labels, of the type that they are."""
    frame = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(frame, (nw.DataFrame, nw.Series)):
        return frame[index].to_native()
    if isinstance(X, Mapping):
        return {name: rows_of(column, index) for name, column in X.items()}
    if isinstance(X, (list, tuple)):
        return [X[i] for i in index.tolist()]
    return X[index]
