"""Labels of classes: validation, codes, weights and priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_sample_weight

from bayesgraph.encoding.columns import factorise, kind_of
from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.smoothing import one_of
from bayesgraph.variables import Discrete, is_missing, plain

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


def unusable_labels(labels: NDArray[Any], error: Exception) -> Exception:
    """Return the error for an array of objects that are not all text."""
    kinds = sorted({kind_of(label) for label in labels})
    if len(kinds) > 1:
        return DataTypeError(
            f"Labels must be of one type, text or numbers; y has {' and '.join(kinds)} values. "
            "Convert them all to text or all to numbers."
        )
    if kinds == ["number"] or kinds == ["boolean"]:
        # It begins with scikit-learn's words, so that code which looks for them finds them.
        return DataError(
            "Unknown label type: labels that are no text must be so by the type of y, too, which "
            f"is object; it holds such as {labels[0]!r}. Convert it, by y.astype(int) say."
        )
    return DataTypeError(
        f"Labels must be text, whole numbers or booleans; y holds such as {labels[0]!r:.80}. "
        f"({error})"
    )


def check_one_type(sources: Mapping[str, Any]) -> None:
    """Refuse classes that are partly text and partly numbers, given by whose they are.

    Raises
    ------
    DataTypeError
    """
    kinds = {whose: _kinds(part) for whose, part in sources.items()}
    different = sorted(set().union(*kinds.values()))
    if len(different) > 1:
        listed = (
            f"those of {whose} are {' and '.join(sorted(kinds[whose]))} "
            f"({quoted(map(plain, dict.fromkeys(part)), maximum=3)})"
            for whose, part in sources.items()
        )
        raise DataTypeError(
            f"The classes are of different types, {' and '.join(different)}: {'; '.join(listed)}. "
            "Convert them to one type."
        )


def _kinds(labels: Any) -> set[str]:
    """Return whether labels are text or numbers, among which booleans count."""
    kind = labels.dtype.kind if isinstance(labels, np.ndarray) else "O"
    if kind in "biuf":
        return {"numbers"}
    if kind == "U":
        return {"text"}
    words = {"text": "text", "number": "numbers", "boolean": "numbers"}
    found = {kind_of(label) for label in dict.fromkeys(labels)}
    return {words.get(kind, kind) for kind in found}


def check_announced(classes: ArrayLike) -> None:
    """Refuse what is no list of classes."""
    found = np.asarray(classes)
    if found.ndim != 1 or not len(found):
        raise DataError(f"classes= is a list of labels, at least one; got {classes!r:.60}.")
    if any(is_missing(label) for label in found.tolist()):
        raise DataError("classes= has a missing label.")


def single_label(y: Any) -> Any:
    """Return the label of a single row."""
    label = plain(y)
    if is_missing(label):
        raise DataError("A row without its class teaches nothing here; got a missing label.")
    whole = not isinstance(label, float) or label.is_integer()
    if not isinstance(label, (str, bool, int, float)) or not whole:
        raise DataTypeError(f"A label is a text, a whole number or a boolean; got {label!r:.60}.")
    return label
