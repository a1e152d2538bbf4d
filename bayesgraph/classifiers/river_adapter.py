"""Streaming classifiers as river's: the same model behind the methods that river's tools call."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from bayesgraph.classifiers.inputs import Columns, note_names, target_column
from bayesgraph.classifiers.stream_columns import StreamColumns
from bayesgraph.classifiers.streaming import (
    StreamingNaiveBayesClassifier,
    StreamingWeightedNaiveBayesClassifier,
)
from bayesgraph.encoding import columns_of
from bayesgraph.errors import DataTypeError, ModelError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.optional import optional_module
from bayesgraph.variables import Name, is_missing, plain


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
        given = _streaming(model)
        # River clones by the arguments of the constructor: this one stays empty.
        self.model = None if model is None else clone(given)
        self.learner = copy.deepcopy(given)

    def __str__(self) -> str:
        return type(self.learner).__name__

    def __repr__(self) -> str:
        return f"to_river({self.learner!r})"

    def clone(
        self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False
    ) -> Any:
        """Return an empty classifier, or one that knows the same.

        Parameters
        ----------
        new_params : mapping, optional
            From the parameters of the bayesgraph classifier to other values; or "model" to
            another classifier.
        include_attributes : bool
            Whether what was learned is copied.

        Raises
        ------
        ModelError
            For a parameter that it does not have.
        """
        others = dict(new_params or {})
        given = others.pop("model", None)
        model = self.learner if given is None else _streaming(given)
        known = model.get_params()
        for name in others:
            if name not in known:
                raise ModelError(
                    f"{type(model).__name__} has no parameter {name!r}.{suggestion(name, known)} "
                    f"It has {quoted(known)}."
                )
        kept = copy.deepcopy(model) if include_attributes else clone(model)
        return type(self)(kept.set_params(**others))

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one row of a certain weight."""
        self.learner.learn_one(x, y, w)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class; empty before anything was learned."""
        return self.learner.predict_proba_one(x)

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class; None before anything was learned."""
        return self.learner.predict_one(x)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a frame, whose columns may be others than before.

        A new column without a value is none yet. A frame without rows teaches nothing, and one
        that is refused changes nothing.
        """
        if not len(X) and not len(y):
            return
        labels, _ = target_column(y)
        check_consistent_length(X, labels)
        self.learner = _taught(self.learner, columns_of(X), labels)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of the probabilities, a column for each class."""
        pandas = optional_module("pandas", extra="river", what="A frame of probabilities")
        if not hasattr(self.learner, "star_"):
            return pandas.DataFrame(index=X.index)
        found = _probabilities(self.learner, X)
        return pandas.DataFrame(found, index=X.index, columns=self.learner.classes_.tolist())

    def predict_many(self, X: Any) -> Any:
        """Return a series of the most probable classes."""
        pandas = optional_module("pandas", extra="river", what="A series of classes")
        if not hasattr(self.learner, "star_"):
            return pandas.Series([None] * len(X), index=X.index, dtype=object)
        found = _probabilities(self.learner, X).argmax(axis=1)
        return pandas.Series(self.learner.classes_[found], index=X.index)


@cache
def _river_classifier() -> Any:
    """Return the class, which derives from river's."""
    base = optional_module("river.base", extra="river", what="A classifier of river")
    own = {"__doc__": _RiverMethods.__doc__, "__module__": __name__}
    parents = (_RiverMethods, base.MiniBatchClassifier)
    return type(base.MiniBatchClassifier)("RiverClassifier", parents, own)


def _streaming(model: Any) -> StreamingNaiveBayesClassifier:
    """Return a streaming classifier: the one given, or a new one."""
    given = StreamingWeightedNaiveBayesClassifier() if model is None else model
    if not isinstance(given, StreamingNaiveBayesClassifier):
        raise DataTypeError(
            "to_river takes a StreamingNaiveBayesClassifier or a "
            f"StreamingWeightedNaiveBayesClassifier; got {type(given).__name__}."
        )
    return given


def _taught(learner: Any, columns: Mapping[Name, Any], labels: NDArray[Any]) -> Any:
    """Return the classifier after it has learned rows whose columns may be new.

    New ones are added to a copy, so that a batch that is refused changes nothing.
    """
    fresh = _fresh(learner, columns, len(labels))
    if fresh or not hasattr(learner, "star_"):
        learner = copy.deepcopy(learner)
        if not hasattr(learner, "star_"):
            learner._begin_one(plain(labels[0]))
        _admit(learner, fresh)
    if learner.layout_.columns:
        return learner.partial_fit(_completed(learner, columns, len(labels)), labels)
    for label in labels.tolist():  # rows of nothing teach how frequent classes are
        learner.learn_one({}, label)
    return learner


def _fresh(learner: Any, columns: Mapping[Name, Any], n_rows: int) -> StreamColumns:
    """Return the columns that have a value and are new to a classifier."""
    known = set(learner.layout_.columns) if hasattr(learner, "star_") else set()
    new = {name: c for name, c in columns.items() if name not in known and _has_value(c)}
    if not new:
        return StreamColumns()
    listed = learner.categorical
    everything = isinstance(listed, str) and listed == "all"
    named = () if listed is None or isinstance(listed, str) else tuple(listed)
    chosen = [name for name in new if everything or name in named]
    return StreamColumns.of(Columns(tuple(new), n_rows, new, None), chosen)


def _has_value(column: Any) -> bool:
    values = column.to_list() if hasattr(column, "to_list") else column.tolist()
    return not all(is_missing(value) for value in values)


def _admit(learner: Any, fresh: StreamColumns) -> None:
    """Make room for new columns."""
    if fresh:
        names = (*learner.layout_.columns, *fresh.names)
        learner.layout_ = replace(learner.layout_, columns=names)
        note_names(learner, list(names))
        learner.star_.grow(n_numbers=len(fresh.numbers), n_states=len(fresh.states))
        learner._columns.extend(fresh)


def _probabilities(learner: Any, X: Any) -> Floats:
    """Return the probabilities of the rows of a frame, shape (n_rows, n_classes)."""
    if not len(X) or not learner.layout_.columns:
        some = list(learner.predict_proba_one({}).values())
        return np.tile(some, (len(X), 1))
    found: Floats = learner.predict_proba(_completed(learner, columns_of(X), len(X)))
    return found


def _completed(learner: Any, columns: Mapping[Name, Any], n_rows: int) -> dict[Name, Any]:
    """Return the columns that a classifier knows; what is not there is missing."""
    states = set(learner._columns.states)
    missing, unknown = np.full(n_rows, np.nan), np.full(n_rows, None)
    return {
        name: columns.get(name, unknown if name in states else missing)
        for name in learner.layout_.columns
    }
