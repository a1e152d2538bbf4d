"""What arrives at an estimator: checked as scikit-learn does, encoded as bayesgraph needs it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_y,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from bayesgraph.encoding import Table, columns_of, encode_table, infer_variables
from bayesgraph.encoding.columns import Column
from bayesgraph.encoding.table import (
    array_names,
    as_frame,
    categorical_names,
    codes_of_integers,
    table_of_integers,
    table_of_numbers,
    take_rows,
)
from bayesgraph.errors import BayesGraphWarning, DataError, DataTypeError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.source import checked_weights
from bayesgraph.variables import Continuous, Discrete, Name, Variable, is_missing


def is_frame(X: Any) -> bool:
    """Tell whether X is a data frame of any library (or a mapping from name to column)."""
    if isinstance(X, Mapping):
        return not hasattr(X, "toarray")  # a sparse matrix in dictionary form is one too
    return isinstance(as_frame(X), (nw.DataFrame, nw.LazyFrame))


def weighted_rows(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.intp] | None:
    """Return the rows of positive weight; None if that is all of them."""
    weights = checked_weights(sample_weight, n_rows)
    return np.flatnonzero(weights) if not weights.all() else None


def fit_table(
    estimator: Any, X: Any, categorical: Any, n_labels: int, rows: NDArray[np.intp] | None
) -> Table:
    """Return (some rows of) X as an encoded table, noting its columns on the estimator."""
    if is_frame(X):
        columns = columns_of(X)
        n_rows = len(next(iter(columns.values())))
        check_consistent_length(range(n_rows), range(n_labels if n_rows else 0))
        _note_names(estimator, list(columns))
        return infer_variables(columns if rows is None else take_rows(columns, rows), categorical)
    array = _checked_array(estimator, X)
    _check_feature_names(estimator, X, reset=True)
    _check_n_features(estimator, array, reset=True)
    check_consistent_length(array, range(n_labels))
    array = array if rows is None else array[rows]
    names = array_names(array.shape[1])
    kind = array.dtype.kind
    if kind in "iuf" and categorical is None:
        return table_of_numbers(_floats(array), names, fitting=True)
    if _is_plain_integers(array) and categorical_names(categorical, names) == set(names):
        table = table_of_integers(array.astype(np.int64, copy=False), names)
        if table is not None:
            return table
    return infer_variables(columns_of(array, names), categorical)


def predict_table(estimator: Any, X: Any, variables: Sequence[Variable], unseen: str) -> Table:
    """Return X as a table encoded with the variables of a fitted estimator."""
    if is_frame(X):
        columns = columns_of(X)
        columns = _matching(estimator, columns, variables)
        if not len(next(iter(columns.values()))):
            raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
        return encode_table(columns, variables, unseen=unseen)
    array = _checked_array(estimator, X)
    _check_feature_names(estimator, X, reset=False)
    _check_n_features(estimator, array, reset=False)
    kind = array.dtype.kind
    if kind in "iuf" and all(isinstance(v, Continuous) for v in variables):
        table = table_of_numbers(_floats(array), [v.name for v in variables], fitting=False)
        return replace(table, variables=tuple(variables))
    all_discrete = all(isinstance(v, Discrete) for v in variables)
    if all_discrete and unseen == "missing" and _is_plain_integers(array):
        integers = array.astype(np.int64, copy=False)
        discrete = [v for v in variables if isinstance(v, Discrete)]
        found = codes_of_integers(integers, discrete)
        if found is not None:
            return found
    return encode_table(columns_of(array, [v.name for v in variables]), variables, unseen=unseen)


def _checked_array(estimator: Any, X: Any) -> NDArray[Any]:
    if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":
        # NumPy makes text of the numbers beside text; as objects each column keeps its type.
        X = np.array(X, dtype=object)
    array = np.asarray(
        check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    )
    return np.ma.array(array, mask=X.mask) if np.ma.is_masked(X) else array


def _floats(array: NDArray[Any]) -> Floats:
    """Return a numeric array as floats, NaN where it is masked."""
    numbers = array.astype(np.float64, copy=False)
    return np.asarray(np.ma.filled(numbers, np.nan))


def _is_plain_integers(array: NDArray[Any]) -> bool:
    """Tell whether an array holds integers that 64 signed bits hold, none of them masked."""
    kind = array.dtype.kind
    return kind in "iu" and np.can_cast(array.dtype, np.int64) and not np.ma.isMaskedArray(array)


def _note_names(estimator: Any, names: list[Name]) -> None:
    estimator.n_features_in_ = len(names)
    if all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _matching(
    estimator: Any, columns: dict[Name, Column], variables: Sequence[Variable]
) -> dict[Name, Column]:
    """Return the columns of a frame under the names of the features, or refuse them.

    A model fitted on an array has no names to compare: the columns are taken by position.
    """
    names, expected = list(columns), [v.name for v in variables]
    if not hasattr(estimator, "feature_names_in_") and expected == array_names(len(expected)):
        _check_n_features(estimator, np.empty((1, len(names))), reset=False)
        warnings.warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names",
            UserWarning,
            stacklevel=5,
        )
        return dict(zip(expected, columns.values(), strict=True))
    _check_names(names, expected)
    return columns


def _check_names(names: list[Name], expected: list[Name]) -> None:
    unseen = [name for name in names if name not in expected]
    missing = [name for name in expected if name not in names]
    if unseen or missing:
        # scikit-learn's words, so that code which looks for them finds them.
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += f"Feature names unseen at fit time:\n- {quoted(unseen)}\n"
        if missing:
            message += (
                f"Feature names seen at fit time, yet now missing:\n- {quoted(missing)}\n"
                "(A column of missing values stands for a feature that is not observed.)\n"
            )
        raise DataError(message)
    if names != expected:
        raise DataError(
            "The feature names should match those that were passed during fit.\n"
            "Feature names must be in the same order as they were in fit.\n"
        )


def target_column(y: Any) -> tuple[Any, Name | None]:
    """Return labels as a one-dimensional array, and their name if they have one.

    Raises
    ------
    DataError
        For a missing label.
    ValueError
        As scikit-learn raises it: no labels, several columns, a continuous target.
    """
    if y is None:
        raise DataError(
            "This classifier requires y to be passed, but the target y is None: supervised "
            "fitting needs a label for each row."
        )
    series = nw.from_native(y, allow_series=True, pass_through=True)
    name = getattr(y, "name", None)
    if isinstance(series, nw.DataFrame):
        series = series.get_column(series.columns[0]) if len(series.columns) == 1 else y
    if isinstance(series, nw.Series):
        name = series.name or None
        labels = np.asarray(series.to_numpy())
    else:
        labels = column_or_1d(y, warn=True)
        if np.ma.is_masked(y):
            labels = labels.astype(object)
            labels[np.ma.getmaskarray(y).ravel()] = None
    missing = _missing_labels(labels)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"{int(missing.sum())} labels are missing, the first in row {row}. "
            "Drop these rows, or fit without them: a row without its class teaches nothing here. "
            "(Input y contains NaN.)"
        )
    try:
        check_classification_targets(labels)
    except TypeError as error:
        raise DataTypeError(f"Labels must be of one type, text or numbers ({error}).") from error
    return labels, name


def number_column(y: Any) -> tuple[Floats, Name | None]:
    """Return the numbers to predict as a one-dimensional array, and their name if they have one.

    Raises
    ------
    DataError
        For no numbers at all.
    ValueError
        As scikit-learn raises it: a missing or infinite number, several columns, text.
    """
    if y is None:
        raise DataError(
            "This regressor requires y to be passed, but the target y is None: supervised "
            "fitting needs a number for each row."
        )
    series = nw.from_native(y, allow_series=True, pass_through=True)
    name = getattr(y, "name", None)
    if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
        series = series.get_column(series.columns[0])
    if isinstance(series, nw.Series):
        name, y = series.name or None, series.to_numpy()
    if np.ma.is_masked(y):
        y = np.ma.filled(np.ma.asarray(y, dtype=np.float64), np.nan)
    return np.asarray(_check_y(y, y_numeric=True), dtype=np.float64), name


def _missing_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        if np.isinf(labels).any():
            raise DataError("Input y contains infinity; labels must be finite.")
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind == "O":
        return np.fromiter((is_missing(v) for v in labels), dtype=bool, count=len(labels))
    return np.zeros(len(labels), dtype=bool)


def target_name(name: Name | None, features: Sequence[Variable]) -> Name:
    """Return the name of the class variable: that of y, else "class", made unlike the features'."""
    taken = {v.name for v in features}
    chosen: Name = "class" if name is None else name
    if name is not None and name in taken:
        warnings.warn(
            f"X has a column {name!r}, and so is y called: is the answer among the features? The "
            f"class is called '{name}_'.",
            BayesGraphWarning,
            stacklevel=3,
        )
    while chosen in taken:
        chosen = f"{chosen}_"
    return chosen
