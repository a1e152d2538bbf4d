"""Streaming classifiers as river's: the same model behind the methods that river's tools call."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesgraph.classifiers.streaming import (
    StreamingNaiveBayesClassifier,
    StreamingWeightedNaiveBayesClassifier,
)
from bayesgraph.errors import DataTypeError
from bayesgraph.optional import optional_module


def to_river(model: StreamingNaiveBayesClassifier | None = None) -> Any:
    """Return a streaming classifier as a classifier of river.

    It takes part in river's pipelines, metrics, evaluation, drift retraining and ensembles.

    Parameters
    ----------
    model : StreamingNaiveBayesClassifier or StreamingWeightedNaiveBayesClassifier, optional
        Of which a copy is taken, with what it has learned; by default an empty weighted one.

    Returns
    -------
    river.base.MiniBatchClassifier
        With `learn_one`, `predict_one`, `predict_proba_one`, `learn_many`, `predict_many` and
        `predict_proba_many`. Features may come and go. ``learner`` is the bayesgraph classifier
        that learns; river's ``clone`` gives an empty one.

    Raises
    ------
    DataTypeError
        For another model.
    MissingDependencyError
        If river is not installed.
    """
    return _river_classifier()(model)


def __getattr__(name: str) -> Any:
    # The class exists once river is there; pickles find it here by its name.
    if name == "RiverClassifier":
        return _river_classifier()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _RiverMethods:
    """A streaming naive Bayes classifier of bayesgraph.

    Parameters
    ----------
    model : StreamingNaiveBayesClassifier or StreamingWeightedNaiveBayesClassifier, optional
        By default a weighted one.

    Attributes
    ----------
    learner : StreamingNaiveBayesClassifier
        What has been learned.
    """

    _multiclass = True

    def __init__(self, model: Any = None) -> None:
        given = StreamingWeightedNaiveBayesClassifier() if model is None else model
        if not isinstance(given, StreamingNaiveBayesClassifier):
            raise DataTypeError(
                "to_river takes a StreamingNaiveBayesClassifier or a "
                f"StreamingWeightedNaiveBayesClassifier; got {type(given).__name__}."
            )
        # River clones by the arguments of the constructor: this one stays empty.
        self.model = None if model is None else clone(given)
        self.learner = copy.deepcopy(given)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from one row."""
        self.learner.learn_one(x, y)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class; empty before anything was learned."""
        return self.learner.predict_proba_one(x)

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class; None before anything was learned."""
        return self.learner.predict_one(x)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a frame, whose columns may be others than before."""
        self.learner._learn_open(X, np.asarray(y))

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of the probabilities, a column for each class."""
        pandas = optional_module("pandas", extra="river", what="A frame of probabilities")
        if not hasattr(self.learner, "star_"):
            return pandas.DataFrame(index=X.index)
        found = self.learner.predict_proba(X)
        return pandas.DataFrame(found, index=X.index, columns=self.learner.classes_.tolist())

    def predict_many(self, X: Any) -> Any:
        """Return a series of the most probable classes."""
        pandas = optional_module("pandas", extra="river", what="A series of classes")
        if not hasattr(self.learner, "star_"):
            return pandas.Series([None] * len(X), index=X.index, dtype=object)
        found = self.learner.predict(X)
        return pandas.Series(found, index=X.index)


@cache
def _river_classifier() -> Any:
    """Return the class, which derives from river's."""
    base = optional_module("river.base", extra="river", what="A classifier of river")
    own = {"__doc__": _RiverMethods.__doc__, "__module__": __name__}
    parents = (_RiverMethods, base.MiniBatchClassifier)
    return type(base.MiniBatchClassifier)("RiverClassifier", parents, own)
