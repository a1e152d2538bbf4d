"""Adapter that gives streaming classifiers the interface of river's classifiers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

from bayesgraph.classifiers.scikit_learn import sklearn
from bayesgraph.classifiers.streaming import (
    StreamingNaiveBayesClassifier,
    StreamingWeightedNaiveBayesClassifier,
)
from bayesgraph.core.errors import DataTypeError, ModelError, optional_module, quoted, suggestion


def to_river(model: StreamingNaiveBayesClassifier | None = None) -> Any:
    """Return a streaming classifier as a classifier of river.

    The result can be used in river's pipelines, metrics, evaluation, drift retraining and
    ensembles.

    Parameters
    ----------
    model : StreamingNaiveBayesClassifier or StreamingWeightedNaiveBayesClassifier, optional
        Classifier to copy, including its learned state; by default an unfitted
        StreamingWeightedNaiveBayesClassifier.

    Returns
    -------
    river.base.MiniBatchClassifier
        With `learn_one`, `predict_one`, `predict_proba_one`, `learn_many`, `predict_many` and
        `predict_proba_many`. Rows may lack features and have new features. The attribute
        ``learner`` is the bayesgraph classifier; ``clone`` returns an unfitted copy.

    Raises
    ------
    DataTypeError
        If `model` is of another class.
    MissingDependencyError
        If river is not installed.
    """
    return _river_classifier()(model)


def __getattr__(name: str) -> Any:
    # The class is made on demand because river is optional; pickles find it here by its name.
    if name == "RiverClassifier":
        return _river_classifier()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _RiverMethods:
    """A streaming naive Bayes classifier of bayesgraph with the interface of river's classifiers.

    Parameters
    ----------
    model : StreamingNaiveBayesClassifier or StreamingWeightedNaiveBayesClassifier, optional
        By default a StreamingWeightedNaiveBayesClassifier.

    Attributes
    ----------
    learner : StreamingNaiveBayesClassifier
        The classifier that learns and predicts.
    """

    # River's classifiers say by this attribute that they take more than two classes.
    _multiclass = True

    def __init__(self, model: Any = None) -> None:
        learner = _streaming(model)
        # River clones from the arguments of the constructor, so that `model` must stay unfitted.
        self.model = None if model is None else sklearn.base.clone(learner)
        self.learner = copy.deepcopy(learner)
        # A fitted classifier learns and predicts frames with other columns too from here on.
        if hasattr(learner, "star_"):
            self.learner._is_open = True

    def __str__(self) -> str:
        return type(self.learner).__name__

    def __repr__(self) -> str:
        return f"to_river({self.learner!r})"

    def clone(
        self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False
    ) -> Any:
        """Return an unfitted copy, or a copy with the learned state.

        Parameters
        ----------
        new_params : mapping, optional
            From params of the bayesgraph classifier to new values; the key "model" replaces the
            classifier itself.
        include_attributes : bool
            Whether the learned state is copied.

        Raises
        ------
        ModelError
            If the classifier does not have a parameter.
        """
        new_values = dict(new_params or {})
        replaced = new_values.pop("model", None)
        model = self.learner if replaced is None else _streaming(replaced)
        params = model.get_params()
        for name in new_values:
            if name not in params:
                raise ModelError(
                    f"{type(model).__name__} has no parameter {name!r}.{suggestion(name, params)} "
                    f"It has {quoted(params)}."
                )
        copied = copy.deepcopy(model) if include_attributes else sklearn.base.clone(model)
        return type(self)(copied.set_params(**new_values))

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one row of weight `w`."""
        self.learner.learn_one(x, y, w)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class; empty before anything was learned."""
        return self.learner.predict_proba_one(x)

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class; None before anything was learned."""
        return self.learner.predict_one(x)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a frame; its columns may differ from those of earlier frames.

        A new column becomes a feature when it first has a value. A frame without rows has no
        effect, and an error leaves the classifier unchanged.
        """
        self.learner._learn_open(X, y)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the class shares of a frame's rows, as a frame with a column per class."""
        pandas = optional_module("pandas", extra="river", what="A frame of shares")
        if not hasattr(self.learner, "star_"):  # not fitted: there are no classes yet
            return pandas.DataFrame(index=X.index)
        shares = self.learner.predict_proba(X)
        return pandas.DataFrame(shares, index=X.index, columns=self.learner.classes_.tolist())

    def predict_many(self, X: Any) -> Any:
        """Return the most probable class of each row of a frame, as a series."""
        pandas = optional_module("pandas", extra="river", what="A series of classes")
        if not hasattr(self.learner, "star_"):  # not fitted
            return pandas.Series([None] * len(X), index=X.index, dtype=object)
        classes = self.learner.predict(X)
        return pandas.Series(classes, index=X.index)


@cache
def _river_classifier() -> Any:
    """Return the adapter class, which derives from river's MiniBatchClassifier."""
    base = optional_module("river.base", extra="river", what="A classifier of river")
    attributes = {"__doc__": _RiverMethods.__doc__, "__module__": __name__}
    parents = (_RiverMethods, base.MiniBatchClassifier)
    # As a class statement would make it, by the metaclass of river's classes.
    return type(base.MiniBatchClassifier)("RiverClassifier", parents, attributes)


def _streaming(model: Any) -> StreamingNaiveBayesClassifier:
    """Return the given streaming classifier, or a new one if `model` is None."""
    chosen = StreamingWeightedNaiveBayesClassifier() if model is None else model
    if not isinstance(chosen, StreamingNaiveBayesClassifier):
        raise DataTypeError(
            "to_river takes a StreamingNaiveBayesClassifier or a "
            f"StreamingWeightedNaiveBayesClassifier; got {type(chosen).__name__}."
        )
    return chosen
