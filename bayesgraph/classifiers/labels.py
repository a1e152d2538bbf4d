"""Classes: those of labels, their codes, their weights and their priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_sample_weight

from bayesgraph.classifiers.checks import check_one_type
from bayesgraph.encoding.columns import factorise
from bayesgraph.errors import DataError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.smoothing import one_of
from bayesgraph.variables import Discrete

# Whole-number classes within this range of each other are found in a table.
_LOOKUP_RANGE = 1 << 20


def coded_labels(
    labels: NDArray[Any], classes: ArrayLike | None = None, known: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.signedinteger]]:
    """Return all classes in ascending order, and the position of each label among them.

    Raises
    ------
    DataTypeError
        If the types of labels, classes and those known before do not go together.
    """
    joined = joined_classes(known, labels, classes)
    return joined, class_codes(joined, labels)


def joined_classes(
    known: NDArray[Any] | None, labels: NDArray[Any], classes: ArrayLike | None
) -> NDArray[Any]:
    """Return all classes in ascending order.

    Raises
    ------
    DataTypeError
        If their types do not go together.
    """
    given: dict[str, Any] = {
        "the model": known,
        "y": labels,
        "classes=": classes,
    }
    sources = {
        whose: part if hasattr(part, "dtype") else list(part)
        for whose, part in given.items()
        if part is not None
    }
    check_one_type(sources)
    parts = [np.asarray(part) for part in sources.values()]
    if any(part.dtype.kind == "O" for part in parts):
        values = {value for part in parts for value in part.tolist()}
        joined = np.empty(len(values), dtype=object)
        joined[:] = sorted(values)
        return joined
    found = [_distinct(part) for part in parts]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in ascending order."""
    if labels.dtype.kind in "iu":
        states = factorise(labels, "labels").states
        return np.array(states, dtype=labels.dtype)
    return np.unique(labels)


def class_weights(class_weight: Any, labels: NDArray[Any]) -> Floats:
    """Return the weight of each row by its class; classes that a mapping does not name weigh 1.

    Raises
    ------
    DataError
        For a weight that is no finite non-negative number.
    """
    if not isinstance(class_weight, Mapping):
        return np.asarray(compute_sample_weight(class_weight, labels), dtype=np.float64)
    present, codes = coded_labels(labels)
    weights = [class_weight.get(label, 1.0) for label in present.tolist()]
    try:
        numbers = np.array(weights, dtype=np.float64)
        good = bool((np.isfinite(numbers) & (numbers >= 0)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise DataError(
            "class_weight= maps classes to finite non-negative numbers; got "
            f"{dict(class_weight)!r}."
        )
    return np.asarray(numbers[codes])


def class_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.signedinteger]:
    """Return the position of each label among the classes, which are in ascending order."""
    if classes.dtype.kind in "iu" and classes.dtype.itemsize < 8:
        # The range of a narrow type may exceed that type.
        classes, labels = classes.astype(np.int64), labels.astype(np.int64)
    if classes.dtype.kind == "O":
        place = {value: i for i, value in enumerate(classes.tolist())}
        return np.array([place[label] for label in labels.tolist()], dtype=np.int64)
    if classes.dtype.kind in "iu" and int(classes[-1]) - int(classes[0]) < _LOOKUP_RANGE:
        table = np.empty(int(classes[-1]) - int(classes[0]) + 1, dtype=np.int32)
        table[classes - classes[0]] = np.arange(len(classes))
        return np.asarray(table[labels - classes[0]])
    return np.searchsorted(classes, labels)


def checked_priors(priors: Any, target: Discrete) -> Floats | None:
    """Return class priors as an array, or None; a mapping goes by class, "uniform" are equal ones.

    Raises
    ------
    DataError
        For a wrong number of them, a negative one, or a sum other than one.
    """
    if priors is None:
        return None
    if isinstance(priors, str):
        one_of("priors", priors, ["uniform"])
        return np.full(target.cardinality, 1.0 / target.cardinality)
    if isinstance(priors, Mapping):
        for label in priors:
            target.index(label)
        priors = [priors.get(label, 0.0) for label in target.states]
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (target.cardinality,):
        raise DataError(
            f"Number of priors must match number of classes: priors= needs one number for each of "
            f"{quoted(target.states)}; got shape {values.shape}."
        )
    if not (values >= 0).all():
        raise DataError(f"Priors must be non-negative; got {values.tolist()}.")
    if not np.isclose(values.sum(), 1.0):
        raise DataError(f"The sum of the priors should be 1; got {values.sum():.9g}.")
    return np.asarray(values / values.sum())
