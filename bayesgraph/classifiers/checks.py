"""What estimators refuse: tables that are none, other columns, labels; and what to do then."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from bayesgraph.encoding.columns import kind_of
from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.source import checked_weights
from bayesgraph.variables import Name, is_missing, plain

# No row of a stream counts for more: squares of weights stay finite.
MOST_WEIGHT = 1e100


def check_fitted(estimator: Any, attribute: str | None = None) -> None:
    """Refuse an estimator that has learned nothing, naming the methods with which it learns.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    """
    if attribute in vars(estimator):
        return
    try:
        check_is_fitted(estimator, attribute)
    except NotFittedError:
        raise NotFittedError(_not_fitted(estimator)) from None


def _not_fitted(estimator: Any) -> str:
    methods = [n for n in ("fit", "partial_fit", "learn_one") if hasattr(estimator, n)]
    *others, last = (f"'{name}'" for name in methods)
    call = f"{', '.join(others)} or {last}" if others else last
    return (
        f"This {type(estimator).__name__} instance is not fitted yet. Call {call} with appropriate "
        "arguments before using this estimator."
    )


def check_columns_of_dict(estimator: Any, X: Any) -> None:
    """Refuse a dict of single values: a row, not columns.

    Raises
    ------
    DataTypeError
    """
    if not isinstance(X, Mapping):
        return
    for name, column in X.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
            raise no_table(estimator, f"a dict that holds {column!r:.80} for {name!r}")


def no_table(estimator: Any, found: str) -> DataTypeError:
    """Return the error for what is a row, several rows one by one, or one column."""
    single = " or ".join(n for n in ("predict_one", "query") if hasattr(estimator, n))
    hint = f" A single row to ask about goes to {single}, as a dict." if single else ""
    return DataTypeError(
        "X is a table: a data frame, a 2D array, or a dict that holds the list of values of each "
        f"column; got {found}.{hint}"
    )


def check_names(estimator: Any, names: list[Name], expected: list[Name]) -> None:
    """Refuse columns that are not those of fitting, in their order.

    Raises
    ------
    DataError
    """
    if names == expected:
        return
    unseen = [name for name in names if name not in expected]
    missing = [name for name in expected if name not in names]
    if unseen or missing:
        # scikit-learn's words, so that code which looks for them finds them.
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += f"Feature names unseen at fit time:\n- {quoted(unseen)}\n"
            message += "(Leave them out: the model says nothing of them."
            if hasattr(estimator, "learn_one"):
                message += " Only rows given to learn_one may bring new features."
            message += ")\n"
        if missing:
            message += (
                f"Feature names seen at fit time, yet now missing:\n- {quoted(missing)}\n"
                "(A column of missing values stands for a feature that is not observed.)\n"
            )
        raise DataError(message)
    first = next(j for j, name in enumerate(expected) if names[j] != name)
    after = f" after {names[first - 1]!r}" if first else ""
    by_name = hasattr(estimator, "feature_names_in_")
    hint = "(X[model.feature_names_in_] is a data frame in this order.)\n" if by_name else ""
    raise DataError(
        "The feature names should match those that were passed during fit.\n"
        "Feature names must be in the same order as they were in fit.\n"
        f"- expected {quoted(expected[first:])}{after}\n- got {quoted(names[first:])}\n"
        f"{hint}"
    )


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
        told = (
            f"those of {whose} are {' and '.join(sorted(kinds[whose]))} "
            f"({quoted(map(plain, dict.fromkeys(part)), maximum=3)})"
            for whose, part in sources.items()
        )
        raise DataTypeError(
            f"The classes are of different types, {' and '.join(different)}: {'; '.join(told)}. "
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


def bounded_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Return the weight of each row."""
    weights = checked_weights(sample_weight, n_rows)
    if len(weights) and weights.max() > MOST_WEIGHT:
        raise DataError(f"Weights count rows: at most {MOST_WEIGHT:g}; got {weights.max():g}.")
    return weights if len(weights) else np.ones(n_rows)


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


def single_weight(w: Any) -> float:
    """Return the weight of a single row."""
    if not isinstance(w, Real) or not 0.0 <= float(w) <= MOST_WEIGHT:
        raise DataError(f"The weight of a row is a number from 0 to {MOST_WEIGHT:g}; got {w!r}.")
    return float(w)
