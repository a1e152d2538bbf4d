"""A classifier of sequences: a temporal network whose target is static."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers import BaseEstimator, ClassifierMixin, check_fitted, labels_of
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.typing import RandomState, TableLike
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.inference import largest
from bayesgraph.statistics import SmoothingLike
from bayesgraph.tables import columns_of
from bayesgraph.time.network import TemporalNetwork
from bayesgraph.time.rows import RowOptions, sequences_of
from bayesgraph.time.slices import before

_TARGET = "class"


class TemporalNetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of sequences, each with one label.

    Parameters
    ----------
    arcs : iterable of (parent, child), optional
        Besides those from the class to all that has no hidden parent. By default each column has
        its value in the slice before as a parent; hidden variables too.
    hidden : mapping from name to int, list of states or Discrete
        Variables that the table lacks.
    variables, categorical, smoothing, restarts, random_state
        As in :meth:`TemporalNetwork.fit`.

    Attributes
    ----------
    classes_ : ndarray
    model_ : TemporalNetwork

    Examples
    --------
    >>> rows = {"id": [1, 1, 2, 2, 3, 3], "act": list("wsswws")}
    >>> TemporalNetworkClassifier().fit(rows, ["up", "down", "up"], id="id").predict(rows, id="id")
    array(['up', 'down', 'up'], dtype='<U4')
    """

    def __init__(
        self,
        arcs: Iterable[tuple[Any, Any]] | None = None,
        *,
        hidden: Mapping[Name, Any] = MappingProxyType({}),
        variables: Iterable[Variable] = (),
        categorical: Iterable[Name] | Literal["all"] | None = None,
        smoothing: SmoothingLike = "dirichlet",
        restarts: int = 1,
        random_state: RandomState = 0,
    ) -> None:
        self.arcs, self.hidden, self.variables = arcs, hidden, variables
        self.categorical, self.smoothing = categorical, smoothing
        self.restarts, self.random_state = restarts, random_state

    def fit(self, X: TableLike, y: ArrayLike, **options: Unpack[RowOptions]) -> Self:
        """Fit the network to rows X and a label y for each sequence, in the order they begin.

        `options` are `id`, `time`, `step` and `unseen`, as in `TemporalNetwork.log_likelihood`.
        """
        labels, columns = labels_of(y), dict(columns_of(X))
        if _TARGET in columns:
            raise DataError(f"The table has a column {_TARGET!r}; the labels are y. Rename it.")
        names = [n for n in columns if n not in (options.get("id"), options.get("time"))]
        names += self.hidden
        arcs = [(before(n), n) for n in names] if self.arcs is None else list(self.arcs)
        # What has a hidden parent in its own slice depends on the class by way of this.
        ends = [[end.name if isinstance(end, Variable) else end for end in arc] for arc in arcs]
        below = {child for parent, child in ends if parent in self.hidden}
        arcs += [(_TARGET, n) for n in names if n not in below]
        ids, sequence = sequences_of(columns, options.get("id"))
        if len(ids) != len(labels):
            raise DataError(f"y has {len(labels)} labels, and X {len(ids)} sequences.")
        columns[_TARGET] = labels.values[sequence]
        how = self.get_params(deep=False) | {"static": [_TARGET], "arcs": arcs}
        how["variables"] = [Discrete(_TARGET, labels.classes.tolist()), *self.variables]
        self.model_ = TemporalNetwork.fit(rows=columns, **how, **options)
        self.classes_ = labels.classes
        return self

    def predict_proba(self, X: TableLike, **options: Unpack[RowOptions]) -> Floats:
        """Return the probabilities of the classes of each sequence, (n_sequences, n_classes)."""
        check_fitted(self, "model_")
        proba = np.asarray(self.model_.filter(X, _TARGET, **options))
        ids, sequence = sequences_of(columns_of(X), options.get("id"))
        # The class is static: in the last row it is that given the whole sequence.
        last = np.empty(len(ids), dtype=np.intp)
        last[sequence] = np.arange(len(sequence))
        return proba[last]

    def predict(self, X: TableLike, **options: Unpack[RowOptions]) -> NDArray[Any]:
        """Return the most probable class of each sequence, shape (n_sequences,)."""
        chosen: NDArray[Any] = self.classes_[largest(self.predict_proba(X, **options))]
        return chosen
