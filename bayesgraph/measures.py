"""Measures of predicted probabilities: calibration error and area under the ROC curve."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import DataError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import plain

Classes: TypeAlias = Sequence[Hashable] | NDArray[Any]

_MAX_BINS = 20


def calibration_error(
    y_true: ArrayLike, proba: ArrayLike, classes: Classes, *, bins: int | None = None
) -> float:
    """Return the expected calibration error of the most probable class.

    It is the mean over bins of ``|accuracy - mean probability|``, weighted by the number of rows
    (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017). Bins have about equally many rows, which
    reduces the variance; rows of equal probability share a bin. By chance alone the error is
    positive, the more so with few rows or many bins: compare models on the same rows.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Classes in the order of the columns of `proba`.
    bins : int, optional
        Maximum number of bins; by default twice the cube root of the number of rows, up to 20.

    Raises
    ------
    DataError
        For arrays that do not fit, a label that is not among the classes, numbers outside [0, 1],
        or fewer than one bin.

    Examples
    --------
    >>> proba = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]
    >>> round(calibration_error(["a", "a", "b", "b"], proba, ["a", "b"]), 3)
    0.275
    """
    codes = label_codes(y_true, classes, what="y_true")
    values = _checked_shape(proba, len(codes), len(classes))
    # Rounding errors may raise a probability slightly above one.
    if not ((values >= 0) & (values < 1 + 1e-9)).all():
        raise DataError("proba takes probabilities, from 0 to 1, none of them NaN.")
    if bins is None:
        bins = min(_MAX_BINS, math.ceil(2 * math.cbrt(len(codes))))
    elif isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise DataError(f"bins= is a number of bins, 1 or more; got {bins!r}.")
    confidence = np.minimum(values.max(axis=1), 1.0)
    return top_label_error(confidence, values.argmax(axis=1) == codes, int(bins))


def roc_auc(y_true: ArrayLike, proba: ArrayLike, classes: Classes) -> float:
    """Return the area under the ROC curve, of more than two classes the mean of one against rest.

    It is the probability that a row of a class gets a higher probability of that class than a row
    of another one; equal probabilities count half (Hanley and McNeil 1982). Of two classes both
    have the same area; of more, each class is compared with all others, and the areas are weighted
    by the numbers of rows (Provost and Domingos 2001).

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Classes in the order of the columns of `proba`. Those without rows do not count.

    Returns
    -------
    float
        NaN if all rows are of one class.

    Raises
    ------
    DataError
        For arrays that do not fit, or a label that is not among the classes.

    Examples
    --------
    >>> proba = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]
    >>> roc_auc(["a", "a", "b", "b"], proba, ["a", "b"])
    0.75
    """
    codes = label_codes(y_true, classes, what="y_true")
    values = _checked_shape(proba, len(codes), len(classes))
    rows = np.bincount(codes, minlength=len(classes))
    there = np.flatnonzero(rows)
    if len(there) < 2:
        return math.nan
    if len(classes) == 2:
        there = there[1:]
    own = np.array([_ranks(values[:, code])[codes == code].sum() for code in there.tolist()])
    n = rows[there]
    areas = (own - n * (n + 1) / 2) / (n * (len(codes) - n))
    return float(np.average(areas, weights=n))


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value from 1 on, equal values with the mean of their ranks.

    SciPy has them in a module whose import takes long.
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _checked_shape(proba: ArrayLike, n_rows: int, n_classes: int) -> Floats:
    """Return probabilities as an array with a row for each label and a column for each class."""
    values = np.asarray(proba, dtype=np.float64)
    if values.shape != (n_rows, n_classes):
        raise DataError(
            f"proba takes one row for each of the {n_rows} labels and one column for each of "
            f"the {n_classes} classes; got shape {values.shape}."
        )
    return values


def top_label_error(confidence: Floats, right: NDArray[np.bool_], bins: int) -> float:
    """Return the calibration error of most probable classes, by their probabilities.

    Parameters
    ----------
    confidence : ndarray, shape (n_rows,)
    right : ndarray of bool, shape (n_rows,)
        Whether the most probable class is the true one.
    bins : int
        Maximum number of bins.
    """
    order = np.argsort(confidence, kind="stable")
    gaps = np.add.reduceat(right[order] - confidence[order], _starts(confidence[order], bins))
    return float(np.abs(gaps).sum() / len(confidence))


def _starts(ascending: Floats, bins: int) -> NDArray[np.intp]:
    """Divide ascending values into at most `bins` bins; return each bin's first index.

    Bins have about equally many rows; equal values share a bin.
    """
    wanted = np.arange(bins) * len(ascending) // bins
    before = np.searchsorted(ascending, ascending[wanted], side="left")
    after = np.searchsorted(ascending, ascending[wanted], side="right")
    starts = np.unique(np.where(wanted - before <= after - wanted, before, after))
    return starts[starts < len(ascending)]


def label_codes(values: ArrayLike, labels: Classes, *, what: str) -> NDArray[np.intp]:
    """Return the index in `labels` of each value.

    Parameters
    ----------
    values : array_like, shape (n_rows,)
    labels : sequence
    what : str
        Name of the argument that holds the values, for error messages.

    Raises
    ------
    DataError
        For no values, a label given twice, or a value that is not a label (the message suggests
        the nearest one).
    """
    known = [plain(label) for label in labels]
    places: dict[Any, int] = {label: code for code, label in enumerate(known)}
    if len(places) < len(known):
        raise DataError(f"Every label is given once; got {quoted(known)}.")
    column = np.asarray(values)
    if column.ndim != 1 or not len(column):
        raise DataError(f"{what} takes one label a row and at least one row; got {column.shape}.")
    # Objects of several types cannot be sorted; a dict keeps the order of first appearance.
    if column.dtype.kind == "O":
        kinds = list(dict.fromkeys(column.tolist()))
        index = {kind: code for code, kind in enumerate(kinds)}
        inverse = np.fromiter(map(index.__getitem__, column.tolist()), np.intp, len(column))
    else:
        unique, inverse = np.unique(column, return_inverse=True)
        kinds = unique.tolist()
    unknown = [kind for kind in kinds if kind not in places]
    if unknown:
        raise DataError(
            f"{what} has {quoted(unknown)}, which is not among the labels."
            f"{suggestion(unknown[0], known)} They are {quoted(known)}."
        )
    codes = np.array([places[kind] for kind in kinds], dtype=np.intp)
    return codes[inverse]
