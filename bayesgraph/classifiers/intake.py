"""What classifiers are given: validation as by scikit-learn, labels, weights and columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from bayesgraph.classifiers.rows import (
    Columns,
    Layout,
    known_table,
    make_layout,
    n_rows_of,
    vector_table,
)
from bayesgraph.classifiers.scikit_learn import NotFittedError, sklearn
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataError,
    DataTypeError,
    quoted,
    suggestion,
    warn,
)
from bayesgraph.core.variables import CountVector, Discrete, Name, Variable, is_missing, plain
from bayesgraph.models import (
    FAMILIES,
    Model,
    as_mapping,
    scalar,
)
from bayesgraph.statistics import DatasetSource, TableSource, checked_weights, one_of
from bayesgraph.tables import (
    Column,
    Dataset,
    Labels,
    Table,
    array_names,
    as_frame,
    codes_of,
    columns_of,
    encode_column,
    factorise,
    floats,
    frame_kind,
    infer_variables,
    kind_of,
    of_rows,
    table_of_numbers,
    tell,
    without_duplicates,
)

RowsT = TypeVar("RowsT", NDArray[Any], Labels)

# ---------------------------------------- Labels of classes: validation, codes, weights and priors


# Share of the rows up to which there are few classes: scikit-learn warns of more than a half.
_FEW_CLASSES = 0.25


def apart(X: Any, y: Any) -> tuple[Any, Any]:
    """Return a data frame without the column that y names, and that column; others as they are.

    Raises
    ------
    DataError
        If the frame has no column of this name.
    """
    if not isinstance(y, str) or isinstance(X, Mapping) or not is_frame(X):
        return X, y
    try:
        frame = nw.from_native(X)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"Each column of X needs a name of its own. {error}") from error
    if y not in (names := frame.columns):
        near = suggestion(y, names) or f" It has {quoted(names)}."
        raise DataError(f"y={y!r} names no column of X.{near}")
    return frame.drop(y).to_native(), frame.select(y).to_native()


def _column(y: Any, kind: str, item: str) -> tuple[Column, Name | None]:
    """Return y as a column, and its name if it has one.

    `kind` ("classifier") and `item` ("label") are words for the error if y is no column.
    """
    if y is None:
        raise DataError(
            f"This {kind} requires y to be passed, but the target y is None: supervised "
            f"fitting needs a {item} for each row."
        )
    if isinstance(y, (str, bytes)):
        raise DataTypeError(
            f"y is a {item} for each row, or the name of a column where X is a data frame or a "
            f"dataset; got y={y!r:.80} and no such X."
        )
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf":
        return y, None
    series = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
        series = series.get_column(series.columns[0])
    if isinstance(series, nw.Series):
        return columns_of({"y": series})["y"], series.name or None
    array = sklearn.utils.column_or_1d(y, warn=True)
    if np.ma.is_masked(y):
        array = np.ma.array(array, mask=np.ma.getmaskarray(y).ravel())
    return array, getattr(y, "name", None)


def labels_of(y: Any) -> Labels:
    """Return the labels of rows as classes in ascending order and codes.

    Raises
    ------
    DataError
        If a label is missing or infinite, or if y is None.
    DataTypeError
        If labels are of several types.
    ValueError
        As raised by scikit-learn: no labels, several columns, a continuous target.
    """
    column, name = _column(y, "classifier", "label")
    # Of a series the type that its values have in NumPy: objects if they are text.
    dtype = (column.head(0).to_numpy() if isinstance(column, nw.Series) else column).dtype
    if dtype.kind == "f" and np.isinf(np.asarray(column)).any():
        raise DataError("Input y contains infinity; labels must be finite.")
    factorised = factorise(column, "y")
    if len(missing := np.flatnonzero(factorised.codes < 0)):
        raise DataError(
            f"{len(missing)} labels are missing, the first in row {missing[0]}. "
            "Drop these rows: a row without its class teaches nothing here. "
            "(Input y contains NaN.)"
        )
    states: Any = factorised.states
    # Numbers and booleans have types of their own, and in arrays text. All other labels, such as
    # those of categories, become objects.
    if dtype.kind not in ("biuf" if isinstance(column, nw.Series) else "biufUS"):
        if states:  # a table without rows is told by its columns
            check_are_text(states)
        dtype = np.dtype(object)
    classes = np.array(sorted(states), dtype=dtype)
    # States of a categorical type have the order of its categories, classes ascend.
    codes = codes_of(classes.tolist(), states)[factorised.codes]
    labels = Labels(classes, codes, name)[:]  # a category without rows is no class
    # scikit-learn refuses what looks like a continuous target, and warns of very many classes.
    if dtype.kind == "f" or (
        dtype.kind == "O" and len(labels.classes) > _FEW_CLASSES * len(labels)
    ):
        sklearn.utils.multiclass.check_classification_targets(labels.values)
    return labels


def check_are_text(labels: Sequence[Any]) -> None:
    """Raise a DataTypeError or a DataError unless labels of a y of dtype object are all text."""
    kinds = sorted({kind_of(label) for label in labels})
    if len(kinds) > 1:
        raise DataTypeError(
            f"Labels must be of one type, text or numbers; y has {' and '.join(kinds)} values. "
            "Convert them all to text or all to numbers."
        )
    # Allowed as labels, but only in a y of a numeric type.
    if kinds == ["number"] or kinds == ["boolean"]:
        # The message begins as scikit-learn's, for code that searches for its words.
        raise DataError(
            "Unknown label type: labels that are no text must be so by the type of y, too, which "
            f"is object; it holds such as {labels[0]!r}. Convert it, by y.astype(int) say."
        )
    if kinds != ["text"]:
        raise DataTypeError(
            f"Labels must be text, whole numbers or booleans; y holds such as {labels[0]!r:.80}, "
            f"which is {kinds[0]}."
        )


def number_column(y: Any) -> tuple[Floats, Name | None]:
    """Return the numbers to predict as a one-dimensional array, and their name if they have one.

    Raises
    ------
    DataError
        If y is None, text, or complex.
    ValueError
        As raised by scikit-learn: a missing or infinite number, several columns.
    """
    # An array first: what only becomes one may refuse functions of NumPy.
    if np.iscomplexobj(np.asarray(y)):
        raise DataError("A regressor predicts real numbers. (Complex data not supported.)")
    column, name = _column(y, "regressor", "number")
    y = column.to_numpy() if isinstance(column, nw.Series) else column
    try:
        numbers = floats(y)
    except (TypeError, ValueError):
        first = next((value for value in np.asarray(y, dtype=object).flat), None)
        raise DataError(
            f"A regressor predicts numbers; y has {first!r:.80}. Take a classifier for it."
        ) from None
    checked = sklearn.utils.validation._check_y(numbers, y_numeric=True)
    return np.asarray(checked, dtype=np.float64), name


def joined_classes(sources: Mapping[str, Any]) -> NDArray[Any]:
    """Return the union of classes in ascending order.

    Parameters
    ----------
    sources : mapping from str to labels
        Labels by their origin, such as "y", which errors name; None for no labels.

    Raises
    ------
    DataTypeError
        If classes are not all text or all numbers.
    """
    sources = {whose: part for whose, part in sources.items() if part is not None}
    kinds = {whose: _kinds(part) for whose, part in sources.items()}
    different = sorted(set().union(*kinds.values()))
    if len(different) > 1:
        listed = (
            f"those of {whose} are {' and '.join(sorted(kinds[whose]))} "
            f"({quoted(map(plain, dict.fromkeys(sources[whose])), maximum=3)})"
            for whose in sources
        )
        raise DataTypeError(
            f"The classes are of different types, {' and '.join(different)}: {'; '.join(listed)}. "
            "Convert them to one type."
        )
    return np.unique(np.concatenate([*sources.values()]))


def _kinds(labels: Any) -> set[str]:
    """Return the kinds of values among labels, such as "text" and "numbers" (also for booleans)."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biufU":
        return {"text" if labels.dtype.kind == "U" else "numbers"}
    words = {"number": "numbers", "boolean": "numbers"}
    return {words.get(kind, kind) for kind in map(kind_of, labels)}


def check_weighed(class_weight: Any, classes: NDArray[Any]) -> None:
    """Warn of classes in `class_weight` that no row has: their weights count for nothing.

    It is a warning, as a part of the rows, such as a fold, may lack a rare class.
    """
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        absent = [label for label, weight in class_weight.items() if weight and label not in labels]
        if absent:
            warn(
                f"class_weight= names {quoted(absent)}, which no row has; the classes are "
                f"{quoted(labels)}.{suggestion(absent[0], labels)}",
                BayesGraphWarning,
            )


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
        # n / (K n_c) for n rows, K classes that occur, and n_c rows of the class.
        return np.asarray(counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1.0)))
    if not isinstance(class_weight, Mapping):
        raise DataError(
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
        raise DataError(
            "class_weight= maps classes to finite non-negative numbers; got "
            f"{dict(class_weight)!r}."
        )
    return numbers


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
            target.index(label)  # an error for an unknown class
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
        without = [label for label, p in zip(target.states, values, strict=True) if p == 0]
        left = f" The prior of {quoted(without)} is 0." if without else ""
        raise DataError(f"The sum of the priors should be 1; got {values.sum():.9g}.{left}")
    return np.asarray(values / values.sum())


def check_announced(classes: ArrayLike) -> None:
    """Raise a DataError if the user's `classes` are empty, not a list, or have a missing label."""
    labels = np.asarray(classes)
    if labels.ndim != 1 or not len(labels):
        raise DataError(f"classes= is a list of labels, at least one; got {classes!r:.60}.")
    if any(is_missing(label) for label in labels.tolist()):
        raise DataError("classes= has a missing label.")


def single_label(y: Any) -> Any:
    """Return the label `y` of a single row as a Python value, after checking its type."""
    if type(y) in (str, int, bool):
        return y
    label = plain(y)
    if is_missing(label):
        raise DataError("A row without its class teaches nothing here; got a missing label.")
    whole = not isinstance(label, float) or label.is_integer()
    if not isinstance(label, (str, bool, int, float)) or not whole:
        raise DataTypeError(f"A label is a text, a whole number or a boolean; got {label!r:.60}.")
    return label


# ----- Weights of rows, taken apart into weights of classes and weights of rows within their class
# A model that is trained to predict chooses how complex it is by the rows that it has. Weights that
# make few rows of a class many must not pretend that there are more of them: they move the prior of
# the class, and the model is learned from the rows.


# Relative difference of weights that may be due to rounding alone.
_ROUNDING = 1e-9
# Minimum weight of a row, which rounding to single precision may make 0.
_LEAST = 1e-30


def weights_by_class(class_weight: Any, labels: Labels, classes: NDArray[Any]) -> Floats:
    """Return the weight that `class_weight` gives to each of the classes, shape (n_classes,).

    `labels` are those of all rows, also of rows of weight 0, whose classes may not be among
    `classes`: "balanced" counts them too.
    """
    by_class = np.ones(len(classes))
    if class_weight is not None:
        is_class = np.isin(labels.classes, classes)
        weights = weights_of_classes(class_weight, labels.classes, np.bincount(labels.codes))
        by_class[np.searchsorted(classes, labels.classes[is_class])] = weights[is_class]
    return by_class


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
    # Without the known weights of classes.
    within = weights / by_class[codes]
    largest = np.zeros(len(by_class))
    np.maximum.at(largest, codes, within)
    largest[largest == 0] = 1.0  # classes without rows
    relative = within / largest[codes]
    counts = np.maximum(np.rint(within), 1.0)
    are_counts = bool((np.abs(within - counts) <= _ROUNDING * counts).all())
    # All rows of a class weigh the same. But one whole number for all classes counts rows.
    if (relative >= 1.0 - _ROUNDING).all() and not (are_counts and np.ptp(counts) == 0):
        return None, by_class * largest
    if are_counts:
        return counts, by_class
    # Of each class the sum of relative weights, and the number of rows (a count without weights).
    sums, sizes = (np.bincount(codes, part, len(by_class)) for part in (relative, None))
    mean = np.divide(sums, sizes, out=np.ones(len(by_class)), where=sizes > 0)
    # Rounded, so that weights of another unit have the same bits.
    rows = (relative / mean[codes]).astype(np.float32).astype(np.float64)
    return np.maximum(rows, _LEAST), by_class * largest * mean


def with_class_weights(
    model: Model, source: TableSource | DatasetSource, target: Discrete
) -> Model:
    """Return the model with the prior moved by the weights of the classes, if any."""
    ratio = source.class_weights
    # Equal weights cancel when the prior is normalised.
    return model if ratio is None or np.ptp(ratio) == 0 else model._with_prior(target, ratio)


# ----- Validation of X, y and weights as scikit-learn does it, and encoding of tables for networks


# Maximum number of rows of a frame that is encoded as one array: splitting a small frame into
# columns would take most of the time.
_FEW_ROWS = 32
# Maximum weight of a row of a stream, with which squares of weights are finite.
MAX_WEIGHT = 1e100


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of any library (or a mapping from name to column)."""
    # Common types first: a check against every library takes longer than predicting a row.
    if isinstance(X, np.ndarray):
        return False
    if _is_common_frame(X):
        return True
    if isinstance(X, Mapping):
        return not hasattr(X, "toarray")  # SciPy's dok_matrix is a mapping too
    return isinstance(as_frame(X), (nw.DataFrame, nw.LazyFrame))


def _is_common_frame(X: Any) -> bool:
    return nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_polars_dataframe(X)


def fit_columns(
    estimator: Any, X: Any, n_labels: int | None, *, sparse: bool, items: Any = None
) -> Columns:
    """Return X as Columns, and set the number and names of the columns on the estimator.

    Parameters
    ----------
    estimator : classifier
    X : table
    n_labels : int or None
        Number of labels, which must be the number of rows; None without labels.
    sparse : bool
        Whether X may be a sparse matrix.
    items : array_like of names, optional
        Names of the columns of an array or a sparse matrix.
    """
    estimator._frame = None
    if is_frame(X):
        estimator._frame = frame_kind(X)
        check_columns_of_dict(estimator, X)
        columns = columns_of(X)
        columns_of_x = Columns(tuple(columns), n_rows_of(columns), columns, None)
    else:
        matrix = _checked_array(estimator, X, sparse=sparse)
        # `items` are names in a list or an array, such as a vectorizer's words.
        names = array_names(matrix.shape[1])
        if items is not None:
            names = list(np.array(items, object).tolist())
        if len(names) != matrix.shape[1]:
            raise DataError(
                f"items= names {len(names)} columns; the matrix has {matrix.shape[1]}. Give one "
                "name for each column."
            )
        columns_of_x = Columns(tuple(names), matrix.shape[0], None, matrix)
    note_names(estimator, columns_of_x.names, named=columns_of_x.matrix is None)
    if n_labels != columns_of_x.n_rows:
        check_lengths(columns_of_x.n_rows, n_labels)
    return columns_of_x


def check_lengths(n_rows: int, n_labels: int | None) -> None:
    """Raise an error if there are labels, but not one for each row."""
    if n_labels not in (None, n_rows):
        hint = " To name a column of X as y, leave out the brackets." if n_labels == 1 else ""
        raise DataError(f"X has {n_rows:,} rows, and y {n_labels:,} labels.{hint}")


def known_columns(estimator: Any, X: Any, names: tuple[Name, ...], *, sparse: bool) -> Columns:
    """Return X as Columns, after checking that its columns are those of fitting.

    `names` are the columns of fitting; `sparse` says whether X may be a sparse matrix.
    """
    if is_frame(X):
        check_columns_of_dict(estimator, X)
        # A few rows with the columns of fitting: they are encoded as one array.
        if (
            (_is_common_frame(X) and 0 < len(X) <= _FEW_ROWS)
            and hasattr(estimator, "feature_names_in_")
            and tuple(X.columns) == names
        ):
            return Columns(names, len(X), None, None, X)
        columns = _matching(estimator, columns_of(X), names)
        return Columns(names, n_rows_of(columns), columns, None)
    if isinstance(X, (str, os.PathLike, Dataset)):
        raise DataTypeError(
            f"{type(estimator).__name__} takes a table in memory here; got {X!s:.200}. "
            "predict_dataset reads files, and writes one."
        )
    matrix = _checked_array(estimator, X, sparse=sparse)
    if hasattr(estimator, "feature_names_in_"):
        warn(
            f"X does not have valid feature names, but {type(estimator).__name__} was fitted with "
            "feature names",
            UserWarning,
        )
    _check_n_features(estimator, matrix.shape[1])
    return Columns(names, matrix.shape[0], None, matrix)


def _check_n_features(estimator: Any, n_features: int) -> None:
    """Raise a DataError, in scikit-learn's words, unless X has as many columns as in fitting."""
    if n_features != estimator.n_features_in_:
        raise DataError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def fit_table(columns: Columns, layout: Layout) -> Table:
    """Return Columns as an encoded table, with variables inferred from columns and layout."""
    matrix, names = columns.matrix, list(columns.names)
    if matrix is not None and layout.is_one_vector:
        return vector_table(matrix, CountVector(next(iter(layout.groups)), names))
    if matrix is not None and not layout.groups:
        # A matrix of numbers that stay numbers needs no look at its columns.
        kind = matrix.dtype.kind
        if kind in "iuf" and not layout.categorical:
            families = [FAMILIES[layout.families.get(name, "gaussian")] for name in names]
            numeric = [family.variable(n) for family, n in zip(families, names, strict=True)]
            return table_of_numbers(floats(matrix), numeric, fitting=True)
    grouped = layout.grouped(columns.as_columns())
    return infer_variables(grouped, layout.categorical, layout.declared(grouped))


def weighted(
    columns: Columns,
    y: RowsT,
    sample_weight: ArrayLike | None,
    class_weight: Any = None,
    *,
    first: bool = True,
) -> tuple[Columns, RowsT, Floats | None]:
    """Return the rows of positive weight, their y, and their weights (None if none are given).

    A weight is the product of `sample_weight` and the row's class weight. There may be no such rows
    unless they are the `first` ones of a model.
    """
    if class_weight is None and sample_weight is None:
        return columns, y, None
    weights = checked_weights(sample_weight, len(y), first=first)
    if class_weight is not None and isinstance(y, Labels):
        balance = weights_of_classes(class_weight, y.classes, np.bincount(y.codes))[y.codes]
        weights = balance * weights if len(weights) else balance
        if first and not weights.any():
            raise DataError("class_weight= leaves no row a positive weight.")
        weights = checked_weights(weights, len(y), first=first)
    if weights.all():
        return columns, y, weights
    # A row of weight 0 must not add a state.
    rows = np.flatnonzero(weights)
    return columns.take(rows), y[rows], weights[rows]


def known_rows(estimator: Any, X: Any) -> Table:
    """Return X as a table encoded with the variables of a fitted estimator.

    Values that training had not seen are refused, or told with a warning, as its `unseen` says.
    """
    columns = known_columns(estimator, X, estimator.layout_.columns, sparse=False)
    policy = of_rows(estimator.unseen, columns.n_rows)
    table = known_table(columns, policy, estimator.layout_, estimator.features_)
    tell(policy, estimator.unseen, columns.n_rows)
    return table


def training_table(
    estimator: Any, X: Any, y: RowsT, sample_weight: ArrayLike | None
) -> tuple[Columns, Table, RowsT, Floats | None]:
    """Return the rows of positive weight, as Columns and encoded, their y and weights (or None).

    Sets the names, the number and the layout of the columns on the estimator.
    """
    sparse, items = getattr(estimator, "_takes_sparse", False), getattr(estimator, "items", None)
    columns = fit_columns(estimator, X, len(y), sparse=sparse, items=items)
    class_weight = getattr(estimator, "class_weight", None)
    columns, y, weights = weighted(columns, y, sample_weight, class_weight)
    distributions = getattr(estimator, "_distributions", None)
    estimator.layout_ = make_layout(columns.typed(), distributions, estimator.categorical)
    return columns, fit_table(columns, estimator.layout_), y, weights


def _checked_array(estimator: Any, X: Any, *, sparse: bool) -> Any:
    """Return an X that is no frame as a matrix, shape (n_rows, n_features); errors if it is none.

    The matrix is an array, masked if X is, or in CSR format if X may be `sparse` and is.
    """
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise no_table(estimator, "a list of dicts; pandas.DataFrame(X) makes a table of them")
    if not isinstance(X, np.ndarray):
        if isinstance(nw.from_native(X, allow_series=True, pass_through=True), nw.Series):
            raise no_table(estimator, f"a {type(X).__name__}, which is one column or row")
        if isinstance(X, (list, tuple)):
            rows, X = X, np.asarray(X)
            # NumPy converts numbers beside text to text; as objects they keep their type.
            X = np.array(rows, dtype=object) if X.dtype.kind in "US" else X
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "biufO":
        # This is all that check_array would verify, more slowly: two axes, not empty, not complex.
        return X
    checked = sklearn.utils.check_array(
        X,
        dtype=None,
        accept_sparse="csr" if sparse else False,
        ensure_all_finite=False,
        estimator=estimator,
        input_name="X",
    )
    if issparse(checked):
        return without_duplicates(checked)
    array = np.asarray(checked)
    return np.ma.array(array, mask=X.mask) if np.ma.is_masked(X) else array


def note_names(estimator: Any, names: Sequence[Name], *, named: bool = True) -> None:
    """Set `n_features_in_`, and `feature_names_in_` if columns are `named`, all of them by text."""
    estimator.n_features_in_ = len(names)
    vars(estimator).pop("feature_names_in_", None)
    if named and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def set_columns(estimator: Any, layout: Layout, *, named: bool) -> None:
    """Set the layout of columns on an estimator, and their names if they were `named`."""
    note_names(estimator, layout.columns, named=named)
    estimator.layout_ = layout


def _matching(
    estimator: Any, columns: dict[Name, Column], expected: Sequence[Name]
) -> dict[Name, Column]:
    """Return the columns of a frame by the model's names, after checking the frame's names.

    A model fitted on an array has no names to compare: the columns are taken by position.
    """
    names, expected = list(columns), list(expected)
    if not hasattr(estimator, "feature_names_in_") and expected == array_names(len(expected)):
        _check_n_features(estimator, len(names))
        warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names",
            UserWarning,
        )
        return dict(zip(expected, columns.values(), strict=True))
    check_names(estimator, names, expected)
    return columns


def target_name(name: Name | None, features: Sequence[Variable]) -> Name:
    """Return the name of the class: that of y or "class", different from features and items."""
    taken = {v.name for v in features}
    # Questions name the items of a vector as they name variables.
    taken.update(item for v in features if isinstance(v, CountVector) for item in v.items)
    chosen: Name = "class" if name is None else name
    if name is not None and name in taken:
        warn(
            f"X has a column {name!r}, and so is y called: is the answer among the features? The "
            f"class is called '{name}_'.",
            BayesGraphWarning,
        )
    return unlike(chosen, taken)


def unlike(name: Name, taken: Collection[Name]) -> Name:
    """Return `name` with underscores appended until it is not in `taken`."""
    while name in taken:
        name = f"{name}_"
    return name


def check_fitted(estimator: Any, attribute: str) -> None:
    """Check that an estimator is fitted; the error names the methods that fit it.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    if attribute in vars(estimator) or hasattr(estimator, attribute):
        return
    methods = [n for n in ("fit", "partial_fit", "learn_one") if hasattr(estimator, n)]
    *others, last = (f"'{name}'" for name in methods)
    call = f"{', '.join(others)} or {last}" if others else last
    raise NotFittedError(
        f"This {type(estimator).__name__} instance is not fitted yet. Call {call} with "
        "appropriate arguments before using this estimator."
    )


def check_columns_of_dict(estimator: Any, X: Any) -> None:
    """Check that a dict as X holds columns.

    Raises
    ------
    DataTypeError
        If it holds single values, so that it is a row.
    """
    if not isinstance(X, Mapping):
        return
    for name, column in X.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
            raise no_table(estimator, f"a dict that holds {column!r:.80} for {name!r}")


def no_table(estimator: Any, what: str) -> DataTypeError:
    """Return the error for an X that is a single row, a list of dicts, or a single column.

    `what` describes X in the message.
    """
    single = " or ".join(n for n in ("predict_one", "query") if hasattr(estimator, n))
    hint = f" A single row to query goes to {single}, as a dict." if single else ""
    return DataTypeError(
        "X is a table: a data frame, a 2D array, or a dict that holds the list of values of each "
        f"column; got {what}.{hint}"
    )


def check_names(estimator: Any, names: list[Name], expected: list[Name]) -> None:
    """Check that columns are those of fitting, in the same order.

    Raises
    ------
    DataError
        If they are not.
    """
    if names == expected:
        return
    unseen = [name for name in names if name not in expected]
    missing = [name for name in expected if name not in names]
    if unseen or missing:
        # These are scikit-learn's words, for code that searches for them.
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
                "(A column of missing values stands for cells that are missing in all rows.)\n"
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


def bounded_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Return the weight of each row; an error if a weight is above `MAX_WEIGHT`."""
    weights = checked_weights(sample_weight, n_rows)
    if len(weights) and weights.max() > MAX_WEIGHT:
        raise DataError(f"Weights count rows: at most {MAX_WEIGHT:g}; got {weights.max():g}.")
    return weights if len(weights) else np.ones(n_rows)


def single_weight(w: Any) -> float:
    """Return the weight of a single row; an error if it is not from 0 to `MAX_WEIGHT`."""
    if not isinstance(w, (float, Real)) or not 0.0 <= float(w) <= MAX_WEIGHT:
        raise DataError(f"The weight of a row is a number from 0 to {MAX_WEIGHT:g}; got {w!r}.")
    return float(w)


# ------------------- Evidence from a single row: a mapping, a list of values or a table of one row


def row_evidence(estimator: Any, row: Any) -> Mapping[Any, Any]:
    """Return one row as evidence on a fitted classifier; values that it takes as missing are None.

    Parameters
    ----------
    estimator : NetworkClassifier
        Its parameter `unseen` says how unknown categories are treated.
    row : mapping from name to value, 1-D array or list, or table of one row

    Raises
    ------
    DataError
        If the table has several rows.
    """
    axes = getattr(row, "ndim", None)
    # A mapping has names, and so has a series of pandas; of other rows the columns have them.
    if not (row is None or isinstance(row, Mapping) or (hasattr(row, "to_dict") and axes == 1)):
        if axes == 1:
            row = np.reshape(row, (1, -1))
        elif isinstance(row, (list, tuple)) and not any(isinstance(v, (list, tuple)) for v in row):
            row = [list(row)]
        rows = known_columns(estimator, row, estimator.layout_.columns, sparse=issparse(row))
        if rows.n_rows != 1:
            raise DataError(f"Expected one row, such as X[:1]; got a table of {rows.n_rows} rows.")
        row = {name: column[0] for name, column in rows.as_columns().items()}
    values = dict(as_mapping(row))
    for variable in estimator.features_:
        value = scalar(values.get(variable.name))
        is_state = isinstance(value, (str, Real, np.bool_)) and not is_missing(value)
        if isinstance(variable, Discrete) and is_state and variable.find(value) in (None, -1):
            # An error unless the value is taken as missing.
            encode_column(variable, np.array([value], dtype=object), unseen=estimator.unseen)
            values[variable.name] = None
    return values
