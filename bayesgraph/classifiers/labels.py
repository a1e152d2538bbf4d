"""Labels of classes: validation, codes, weights and priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Discrete, is_missing, plain
from bayesgraph.models import BayesianNetwork, Ensemble, Model, TableCPD, map_networks
from bayesgraph.statistics import DatasetSource, TableSource, one_of
from bayesgraph.tables import Factorised, codes_of, factorise, kind_of

# ---------------------------------------- Labels of classes: validation, codes, weights and priors


# Maximum range of integer classes whose codes are looked up in a table.
_LOOKUP_RANGE = 1 << 20


class TextLabels(np.ndarray[Any, np.dtype[np.object_]]):
    """An object array of text labels that keeps the codes from which it was made.

    Coding the labels again would take longer than all else that a fit does with them.

    Attributes
    ----------
    coded : Factorised or None
        Distinct labels, each in a row at least, and the code of each row. None for arrays that are
        derived from the labels, which may have other rows.
    """

    coded: Factorised | None

    @classmethod
    def of(cls, coded: Factorised) -> TextLabels:
        """Return the labels of a column of text without missing values."""
        present = np.bincount(coded.codes, minlength=len(coded.states)) > 0
        if not present.all():
            place = np.cumsum(present) - 1
            states = [state for state, has in zip(coded.states, present, strict=True) if has]
            coded = Factorised(states, place[coded.codes])
        # Equal labels are one object: each takes long to make.
        labels = np.array(coded.states, dtype=object)[coded.codes].view(cls)
        labels.coded = coded
        labels.flags.writeable = False  # or the codes might no longer be those of the labels
        return labels

    def __array_finalize__(self, source: Any) -> None:
        self.coded = None


def _coded(labels: Any) -> Factorised | None:
    return labels.coded if isinstance(labels, TextLabels) else None


def distinct_objects(labels: NDArray[np.object_]) -> list[Any]:
    """Return the distinct labels of an object array, in the order of their first rows or sorted.

    Raises
    ------
    TypeError
        If a label cannot be hashed.
    """
    coded = _coded(labels)
    return list(dict.fromkeys(labels.tolist()) if coded is None else coded.states)


def coded_labels(
    labels: NDArray[Any], classes: ArrayLike | None = None, known: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.signedinteger]]:
    """Return the union of all classes in ascending order, and the index of each label in it.

    Parameters
    ----------
    labels : ndarray, shape (n_rows,)
    classes : array_like, optional
        Classes that may have no rows.
    known : ndarray, optional
        Classes of the model so far.

    Raises
    ------
    DataTypeError
        If labels, `classes` and `known` classes are of different types.
    """
    joined = joined_classes(known, labels, classes)
    return joined, class_codes(joined, labels)


def joined_classes(
    known: NDArray[Any] | None, labels: NDArray[Any], classes: ArrayLike | None
) -> NDArray[Any]:
    """Return the union of known classes, labels and `classes` in ascending order.

    Raises
    ------
    DataTypeError
        If classes and labels are of different types.
    """
    given: dict[str, Any] = {
        "the model": known,
        "y": labels,
        "classes=": classes,
    }
    sources = {whose: _few(part) for whose, part in given.items() if part is not None}
    check_one_type(sources)
    parts = [np.asarray(part) for part in sources.values()]
    if any(part.dtype.kind == "O" for part in parts):
        values = set().union(*(part.tolist() for part in parts))
        joined = np.empty(len(values), dtype=object)
        joined[:] = sorted(values)
        return joined
    found = [_distinct(part) for part in parts]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _few(labels: Any) -> Any:
    """Return labels with a type as an array, of objects the distinct ones; others as a list."""
    if not hasattr(labels, "dtype"):
        return list(labels)
    if labels.dtype != object:
        return labels
    values = distinct_objects(labels)
    distinct = np.empty(len(values), dtype=object)
    distinct[:] = values
    return distinct


def _distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in ascending order."""
    if labels.dtype.kind in "iu":
        states = factorise(labels, "labels").states
        return np.array(states, dtype=labels.dtype)
    return np.unique(labels)


def check_weighed(class_weight: Any, classes: NDArray[Any]) -> None:
    """Warn of labels in `class_weight` that no row has: their weights count for nothing.

    It is a warning, as a part of the rows, such as a fold, may lack a rare class.
    """
    if isinstance(class_weight, Mapping):
        known = classes.tolist()
        unknown = [label for label, weight in class_weight.items() if weight and label not in known]
        if unknown:
            errors.warn(
                f"class_weight= names {errors.quoted(unknown)}, which no row has; the classes are "
                f"{errors.quoted(known)}.{errors.suggestion(unknown[0], known)}",
                errors.BayesGraphWarning,
            )


def class_weights(class_weight: Any, labels: NDArray[Any]) -> Floats:
    """Return the weight of each row that `class_weight` assigns to its class."""
    present, codes = coded_labels(labels)
    return np.asarray(weights_of_classes(class_weight, present, np.bincount(codes))[codes])


def weights_of_classes(class_weight: Any, classes: NDArray[Any], counts: NDArray[Any]) -> Floats:
    """Return the weight of each of the classes.

    Parameters
    ----------
    class_weight : mapping from class to weight, or "balanced"
        Classes that are not named weigh 1; "balanced" is as in scikit-learn.
    classes : ndarray, shape (n_classes,)
    counts : ndarray, shape (n_classes,)
        Number of rows of each class.

    Raises
    ------
    DataError
        If a weight is not a finite non-negative number.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1.0)))
    if not isinstance(class_weight, Mapping):
        raise errors.DataError(
            "class_weight= is 'balanced', a mapping from class to weight, or None; got "
            f"{class_weight!r:.200}."
        )
    try:
        weights = [class_weight.get(label, 1.0) for label in classes.tolist()]
        numbers = np.array(weights, dtype=np.float64)
        good = bool((np.isfinite(numbers) & (numbers >= 0)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise errors.DataError(
            "class_weight= maps classes to finite non-negative numbers; got "
            f"{dict(class_weight)!r}."
        )
    return numbers


def class_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.signedinteger]:
    """Return the index of each label in `classes`, which are in ascending order."""
    if classes.dtype.kind in "iu" and classes.dtype.itemsize < 8:
        # Differences of classes may overflow a narrow integer type.
        classes, labels = classes.astype(np.int64), labels.astype(np.int64)
    coded = _coded(labels)
    if coded is not None:
        return codes_of(classes.tolist(), coded.states)[coded.codes]
    if classes.dtype.kind == "O":
        return codes_of(classes.tolist(), labels.tolist())
    if classes.dtype.kind in "iu" and int(classes[-1]) - int(classes[0]) < _LOOKUP_RANGE:
        table = np.empty(int(classes[-1]) - int(classes[0]) + 1, dtype=np.int32)
        table[classes - classes[0]] = np.arange(len(classes))
        return np.asarray(table[labels - classes[0]])
    return np.searchsorted(classes, labels)


def checked_priors(priors: Any, target: Discrete) -> Floats | None:
    """Return class priors as an array, or None for None; "uniform" means equal priors.

    Classes that a mapping from class to prior does not name have the prior 0.

    Raises
    ------
    DataError
        If the number of priors is wrong, a prior is negative, or the sum is not 1.
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
        raise errors.DataError(
            f"Number of priors must match number of classes: priors= needs one number for each of "
            f"{errors.quoted(target.states)}; got shape {values.shape}."
        )
    if not (values >= 0).all():
        raise errors.DataError(f"Priors must be non-negative; got {values.tolist()}.")
    if not np.isclose(values.sum(), 1.0):
        without = [label for label, p in zip(target.states, values, strict=True) if p == 0]
        left = f" The prior of {errors.quoted(without)} is 0." if without else ""
        raise errors.DataError(f"The sum of the priors should be 1; got {values.sum():.9g}.{left}")
    return np.asarray(values / values.sum())


def unusable_labels(labels: NDArray[Any], error: Exception) -> Exception:
    """Return the error to raise for labels in an object array that scikit-learn refuses.

    `error` is scikit-learn's error, which the message may quote.
    """
    kinds = sorted({kind_of(label) for label in labels})
    if len(kinds) > 1:
        return errors.DataTypeError(
            f"Labels must be of one type, text or numbers; y has {' and '.join(kinds)} values. "
            "Convert them all to text or all to numbers."
        )
    if kinds == ["number"] or kinds == ["boolean"]:
        # The message begins as scikit-learn's, for code that searches for its words.
        return errors.DataError(
            "Unknown label type: labels that are no text must be so by the type of y, too, which "
            f"is object; it holds such as {labels[0]!r}. Convert it, by y.astype(int) say."
        )
    return errors.DataTypeError(
        f"Labels must be text, whole numbers or booleans; y holds such as {labels[0]!r:.80}. "
        f"({error})"
    )


def check_one_type(sources: Mapping[str, Any]) -> None:
    """Check that classes are all text or all numbers.

    Parameters
    ----------
    sources : mapping from str to labels
        Labels by their origin, such as "y", which the error names.

    Raises
    ------
    DataTypeError
        If the types differ.
    """
    kinds = {whose: _kinds(part) for whose, part in sources.items()}
    different = sorted(set().union(*kinds.values()))
    if len(different) > 1:
        listed = (
            f"those of {whose} are {' and '.join(sorted(kinds[whose]))} "
            f"({errors.quoted(map(plain, dict.fromkeys(part)), maximum=3)})"
            for whose, part in sources.items()
        )
        raise errors.DataTypeError(
            f"The classes are of different types, {' and '.join(different)}: {'; '.join(listed)}. "
            "Convert them to one type."
        )


def _kinds(labels: Any) -> set[str]:
    """Return the kinds of values among labels, such as "text" and "numbers" (also for booleans)."""
    kind = labels.dtype.kind if isinstance(labels, np.ndarray) else "O"
    if kind in "biuf":
        return {"numbers"}
    if kind == "U":
        return {"text"}
    words = {"text": "text", "number": "numbers", "boolean": "numbers"}
    found = {kind_of(label) for label in dict.fromkeys(labels)}
    return {words.get(kind, kind) for kind in found}


def check_announced(classes: ArrayLike) -> None:
    """Raise a DataError if the user's `classes` are empty, not a list, or have a missing label."""
    found = np.asarray(classes)
    if found.ndim != 1 or not len(found):
        raise errors.DataError(f"classes= is a list of labels, at least one; got {classes!r:.60}.")
    if any(is_missing(label) for label in found.tolist()):
        raise errors.DataError("classes= has a missing label.")


def single_label(y: Any) -> Any:
    """Return the label `y` of a single row as a Python value, after checking its type."""
    if type(y) in (str, int, bool):
        return y
    label = plain(y)
    if is_missing(label):
        raise errors.DataError("A row without its class teaches nothing here; got a missing label.")
    whole = not isinstance(label, float) or label.is_integer()
    if not isinstance(label, (str, bool, int, float)) or not whole:
        raise errors.DataTypeError(
            f"A label is a text, a whole number or a boolean; got {label!r:.60}."
        )
    return label


# ----- Weights of rows, taken apart into weights of classes and weights of rows within their class
# A model that is trained to predict chooses how complex it is by the rows that it has. Weights that
# make few rows of a class many must not pretend that there are more of them: they move the prior of
# the class, and the model is learned from the rows.


# Relative difference of weights that may be due to rounding alone.
_ROUNDING = 1e-9
# Minimum weight of a row.
_LEAST = 1e-30


def weights_by_class(class_weight: Any, labels: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return the weight that `class_weight` gives to each of the classes, shape (n_classes,).

    `labels` are those of all rows, also of rows that do not count.
    """
    found = np.ones(len(classes))
    if class_weight is not None:
        known = np.isin(labels, classes)
        found[class_codes(classes, labels[known])] = class_weights(class_weight, labels)[known]
    return found


def parted(
    weights: Floats, codes: NDArray[np.signedinteger], by_class: Floats
) -> tuple[Floats | None, Floats]:
    """Take weights apart: return those of rows within their class, and those of classes.

    * Whole numbers count rows: a row of weight 2 is two rows.
    * Weights that depend on the class alone, and differ between classes, are weights of classes.
    * Others are relative to their mean in the class, which is its weight.

    Parameters
    ----------
    weights : ndarray, shape (n_rows,)
        Positive, with the weights of classes as factors.
    codes : ndarray of int, shape (n_rows,)
        The class of each row.
    by_class : ndarray, shape (n_classes,)
        Known weights of classes.

    Returns
    -------
    rows : ndarray, shape (n_rows,), or None
        None if all rows weigh 1.
    classes : ndarray, shape (n_classes,)
        ``classes[codes] * rows`` is proportional to `weights` within each class and between the
        sums of the classes.
    """
    own = weights / by_class[codes]
    top = np.zeros(len(by_class))
    np.maximum.at(top, codes, own)
    top[top == 0] = 1.0
    relative = own / top[codes]
    counts = np.maximum(np.rint(own), 1.0)
    are_counts = bool((np.abs(own - counts) <= _ROUNDING * counts).all())
    if (relative >= 1.0 - _ROUNDING).all() and not (are_counts and np.ptp(counts) == 0):
        return None, by_class * top
    if are_counts:
        return counts, by_class
    sums, sizes = (np.bincount(codes, part, len(by_class)) for part in (relative, None))
    mean = np.divide(sums, sizes, out=np.ones(len(by_class)), where=sizes > 0)
    # Rounded, so that weights of another unit have the same bits.
    rows = (relative / mean[codes]).astype(np.float32).astype(np.float64)
    return np.maximum(rows, _LEAST), by_class * top * mean


def with_class_weights(
    model: Model, source: TableSource | DatasetSource, target: Discrete
) -> Model:
    """Return the model with the prior moved by the weights of the classes, if any."""
    ratio = source.class_weights
    return model if ratio is None or np.ptp(ratio) == 0 else shifted(model, target, ratio)


def prior_of(network: BayesianNetwork, target: Discrete) -> Floats:
    """Return the distribution of a class without parents, shape (n_classes,)."""
    found = network[target.name]
    assert isinstance(found, TableCPD)  # a discrete variable
    return found.values


def shifted(model: Model, target: Discrete, ratio: Floats) -> Model:
    """Return a model in which the prior of the class is multiplied by a ratio and normalised.

    The posterior of the class is multiplied by the ratio and normalised, too, whatever else is
    observed (Saerens, Latinne, Decaestecker 2002, equation 2.4).
    """
    if isinstance(model, Ensemble):
        return Ensemble(
            model.networks,
            model.weights,
            model.combine,
            prior_ratios={target.name: ratio},
            exponents=model.exponents,
        )
    return map_networks(model, lambda network: _shifted_network(network, target, ratio))


def _shifted_network(network: BayesianNetwork, target: Discrete, ratio: Floats) -> BayesianNetwork:
    prior = prior_of(network, target) * ratio
    moved = TableCPD(target, prior / prior.sum())
    cpds = [moved if cpd.variable == target else cpd for cpd in network.cpds]
    return BayesianNetwork(cpds, arc_scores=network.arc_scores, order=network.variables)
