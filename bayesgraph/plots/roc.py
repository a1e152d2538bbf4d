"""Receiver operating characteristics from scores, with ties right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.measures import Classes, label_codes

# More points than a picture has pixels would only make the file larger.
_MOST_POINTS = 4000


@dataclass(frozen=True, eq=False)
class RocCurve:
    """A receiver operating characteristic.

    Attributes
    ----------
    false_positive_rate, true_positive_rate : ndarray, shape (n_points,)
        From (0, 0) to (1, 1), both rising; rows of one score are one step.
    area : float
        Under the curve: the probability that a positive row scores above a negative one, ties
        counted half.
    """

    false_positive_rate: Floats
    true_positive_rate: Floats
    area: float


def roc_curve(positive: ArrayLike, scores: ArrayLike) -> RocCurve:
    """Return the curve of a score that is meant to be higher for positive rows.

    The area is the Mann-Whitney statistic divided by the number of pairs (Hanley and McNeil 1982).

    Parameters
    ----------
    positive : array_like of bool, shape (n_rows,)
    scores : array_like of float, shape (n_rows,)

    Raises
    ------
    DataError
        For different lengths, NaN, or rows of one kind only.

    Examples
    --------
    >>> roc_curve([False, True, False, True], [0.1, 0.4, 0.4, 0.9]).area
    0.875
    """
    truth = np.asarray(positive, dtype=bool)
    values = np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != values.shape:
        raise DataError(
            f"A ROC curve takes one score a row; got shapes {truth.shape} and {values.shape}."
        )
    if np.isnan(values).any():
        raise DataError("A ROC curve needs a score for every row; some are NaN.")
    n_positive = int(truth.sum())
    n_negative = len(truth) - n_positive
    if not n_positive or not n_negative:
        raise DataError(
            f"A ROC curve needs positive and negative rows; got {n_positive} and {n_negative}."
        )
    order = np.argsort(-values, kind="stable")
    last_of_score = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    hits = np.cumsum(truth[order])[last_of_score]
    false = np.append(0, 1 + last_of_score - hits)
    true = np.append(0, hits)
    # Trapezoids in whole numbers: twice the area in pairs, exactly.
    doubled = int(np.sum(np.diff(false) * (true[1:] + true[:-1])))
    area = doubled / (2 * n_positive * n_negative)
    return RocCurve(false / n_negative, true / n_positive, area)


def one_against_rest(
    y_true: ArrayLike, proba: ArrayLike, classes: Classes
) -> list[RocCurve | None]:
    """Return the curve of each class against all others.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Of the columns of `proba`.

    Returns
    -------
    list of RocCurve
        None for a class that no row or every row has.
    """
    codes = label_codes(y_true, classes, what="y_true")
    scores = np.asarray(proba, dtype=np.float64)
    if scores.shape != (len(codes), len(classes)):
        raise DataError(
            f"proba takes one row for each of the {len(codes)} labels and one column for each of "
            f"the {len(classes)} classes; got shape {scores.shape}."
        )
    present = np.bincount(codes, minlength=len(classes))
    return [
        roc_curve(codes == code, scores[:, code]) if 0 < present[code] < len(codes) else None
        for code in range(len(classes))
    ]


def macro_average(curves: Sequence[RocCurve]) -> RocCurve:
    """Return the mean of curves: their true positive rates averaged at each false positive rate.

    Its area is the mean of their areas. Curves of very many steps are read at some of them only.
    """
    grid = np.unique(np.concatenate([curve.false_positive_rate for curve in curves]))
    if len(grid) > _MOST_POINTS:
        grid = grid[np.linspace(0, len(grid) - 1, _MOST_POINTS).astype(np.intp)]
    # Every curve may jump at a rate: it is read just before and just after.
    before = np.mean([_value_at(curve, grid, after=False) for curve in curves], axis=0)
    after = np.mean([_value_at(curve, grid, after=True) for curve in curves], axis=0)
    rates = np.repeat(grid, 2)
    heights = np.column_stack([before, after]).reshape(-1)
    return RocCurve(rates, heights, float(np.mean([curve.area for curve in curves])))


def _value_at(curve: RocCurve, grid: Floats, *, after: bool) -> Floats:
    x, y = curve.false_positive_rate, curve.true_positive_rate
    if after:
        right = np.searchsorted(x, grid, side="right")
        found = x[right - 1] == grid
        at = right - 1
    else:
        at = np.minimum(np.searchsorted(x, grid, side="left"), len(x) - 1)
        found = x[at] == grid
    return np.where(found, y[at], np.interp(grid, x, y))
