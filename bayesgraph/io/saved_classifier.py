"""Fitted classifiers of native files without the estimator: network, columns and classes.

These answer questions and predict. The estimator, which learns too, is an object of scikit-learn,
whose import takes longer than most answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.feature_layout import Layout
from bayesgraph.classifiers.rows import (
    Columns,
    encoded_chunks,
    joined,
    known_table,
    n_rows_of,
)
from bayesgraph.encoding.table import columns_of
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.archive import ArrayReader, without_repeats
from bayesgraph.io.json_values import decode_value
from bayesgraph.io.models_payload import MODELS
from bayesgraph.io.payloads import variable_at
from bayesgraph.io.tables import plain_columns
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Variable

# The estimator that does not leave all of its predictions to the network.
_PREDICTS_OTHERWISE = "DiscriminantAnalysisClassifier"
# Types of parameters, and the length of a line, that scikit-learn shows as `repr` does.
_PLAIN = (str, int, float, type(None))
_LINE = 75


@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """What a file has of a fitted estimator besides its parameters and statistics.

    Attributes
    ----------
    network_, target_, features_, layout_
        As of the estimator.
    classes_ : ndarray or None
        None if the target is no class.
    text : str or None
        What `repr` of the estimator returns; None if only the estimator itself can tell.
    predicts : bool
        Whether `_counted_rows` returns what the estimator would; else it must not be called.
    unseen : str
        The estimator's parameter of that name.
    """

    network_: Model
    target_: Variable
    features_: tuple[Variable, ...]
    layout_: Layout
    classes_: NDArray[Any] | None
    text: str | None
    predicts: bool
    unseen: str

    def _counted_rows(
        self, X: Any, finish: Callable[[Floats], NDArray[Any]]
    ) -> tuple[NDArray[Any], int]:
        """Return results for the rows of a frame with the known columns; see `rows.joined`."""
        return joined(self._scored_chunks(X), finish)

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        assert isinstance(self.target_, Discrete)
        columns = columns_of(plain_columns(X))
        found = Columns(tuple(columns), n_rows_of(columns), columns, None)
        encode = partial(known_table, layout=self.layout_, variables=self.features_)
        for rows, n_rows, table in encoded_chunks(found, self.unseen, encode):
            yield rows, n_rows, *self.network_.rows_with_prior(self.target_, table.evidence())


def decode_saved(item: Mapping[str, Any], arrays: ArrayReader) -> SavedClassifier:
    """Return what the JSON of a fitted estimator says of its network, columns and classes.

    Raises
    ------
    ValueError
        If the class and the features are no different variables, or the classes no labels.
    """
    network = MODELS[item["model"]].decode(item["network"], arrays)
    variables = network.variables
    target = variable_at(variables, item["target"])
    features = tuple(variable_at(variables, at) for at in item["features"])
    if len({target, *features}) <= len(features):
        raise ValueError("the class and the features are not different variables")
    layout = decode_layout(item["layout"])
    classes = None
    if "label_type" in item:
        if not isinstance(target, Discrete):
            raise ValueError(f"the class {target.name!r} is not discrete")
        classes = decode_labels(target.states, item["label_type"], arrays)
    name, given = item["estimator"], item["parameters"]
    return SavedClassifier(
        network,
        target,
        features,
        layout,
        classes,
        _text(name, given, item["changed"]),
        # The columns of a model that was fitted without names are compared otherwise.
        classes is not None and item["named"] is True and name != _PREDICTS_OTHERWISE,
        decode_value(given["unseen"]["value"]) if "unseen" in given else "missing",
    )


def _text(name: Any, parameters: Mapping[str, Any], changed: Any) -> str | None:
    """Return the text of an estimator, given the names of parameters that are not as by default.

    It is None if a parameter or the whole is longer than scikit-learn writes in a line.
    """
    if not all("value" in parameters[key] for key in changed):
        return None
    values = {key: decode_value(parameters[key]["value"]) for key in changed}
    if not all(isinstance(value, _PLAIN) for value in values.values()):
        return None
    text = f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
    return text if len(text) <= _LINE else None


def decode_labels(states: Sequence[Any], label_type: Any, arrays: ArrayReader) -> NDArray[Any]:
    """Return classes as an array of a type that holds each of them as it is.

    Raises
    ------
    ValueError
        If the type is none that `encode` writes, or changes a label, as one of short texts would.
    """
    dtype = np.dtype(label_type)
    if dtype.str != label_type:
        raise ValueError(f"{label_type!r:.80} is not the type of labels")
    arrays.budget.take(dtype.itemsize * len(states), f"{len(states)} labels of the type {dtype}")
    labels = np.empty(len(states), dtype=dtype)
    labels[:] = states
    held = labels.tolist()
    if [(type(label), label) for label in held] != [(type(state), state) for state in states]:
        raise ValueError(f"labels of the type {label_type!r:.80} cannot be {list(states)!r:.80}")
    return labels


def decode_layout(layout: Any) -> Layout:
    """Return the layout of columns that an estimator's JSON has."""
    columns = without_repeats((decode_value(name), None) for name in layout["columns"])
    groups = ((name, tuple(map(decode_value, items))) for name, items in layout["groups"])
    return Layout(
        tuple(columns),
        without_repeats((decode_value(name), str(family)) for name, family in layout["families"]),
        without_repeats((decode_value(name), items) for name, items in groups),
        frozenset(decode_value(name) for name in layout["categorical"]),
    )
