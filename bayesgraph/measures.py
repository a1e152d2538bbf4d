"""How good class probabilities are: log loss, Brier score, RMSE and calibration."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import DataError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import plain

Classes: TypeAlias = Sequence[Hashable] | NDArray[Any]

# A class that a model takes for impossible costs much, but not everything.
_LEAST = 1e-15
_MOST_BINS = 20
# Of the normal distribution: an interval of 95 %.
_Z = 1.959963984540054


def log_loss(y_true: ArrayLike, proba: ArrayLike, classes: Classes) -> float:
    """Return the mean of -log P(true class) in nats; probabilities below 1e-15 count as that.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Of the columns of `proba`.

    Raises
    ------
    DataError
        For arrays that do not fit, a label that is not among the classes, or NaN.
    """
    codes, values = _checked(y_true, proba, classes)
    given = values[np.arange(len(codes)), codes]
    return float(-np.log(np.maximum(given, _LEAST)).mean())


def brier_score(y_true: ArrayLike, proba: ArrayLike, classes: Classes) -> float:
    """Return the mean over rows of the sum over classes of squared differences (Brier 1950).

    From 0 to 2. Parameters and errors are those of :func:`log_loss`.
    """
    codes, values = _checked(y_true, proba, classes)
    return float(_squared(codes, values).sum(axis=1).mean())


def rmse(y_true: ArrayLike, proba: ArrayLike, classes: Classes) -> float:
    """Return the root of the mean squared difference between probabilities and 0/1 targets.

    The mean is over rows and classes, so that this is the root of the Brier score divided by the
    number of classes. Parameters and errors are those of :func:`log_loss`.
    """
    codes, values = _checked(y_true, proba, classes)
    return math.sqrt(_squared(codes, values).mean())


def _squared(codes: NDArray[np.intp], values: Floats) -> Floats:
    return np.asarray((values - (codes[:, None] == np.arange(values.shape[1]))) ** 2)


# ----------------------------------------------------------------------------------- calibration


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """How often what was given a probability came true, by bins of that probability.

    Attributes
    ----------
    predicted : ndarray, shape (n_bins,)
        Mean probability in each bin, rising.
    observed : ndarray, shape (n_bins,)
        Share of the bin's rows that came true.
    counts : ndarray of int, shape (n_bins,)
        Rows in each bin.
    """

    predicted: Floats
    observed: Floats
    counts: NDArray[np.intp]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean over rows of a bin's |observed - predicted|.

        Naeini, Cooper and Hauskrecht (2015). Chance alone makes it positive, the more so with few
        rows or many bins: compare models on the same rows.
        """
        gaps = np.abs(self.observed - self.predicted)
        return float(np.average(gaps, weights=self.counts))

    @property
    def largest_error(self) -> float:
        """Maximum calibration error: the largest |observed - predicted| of a bin."""
        return float(np.abs(self.observed - self.predicted).max())

    def interval(self) -> tuple[Floats, Floats]:
        """Return limits of 95 % for the shares observed (Wilson 1927), each of shape (n_bins,)."""
        n, p, z = self.counts, self.observed, _Z
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        return np.asarray(centre - half), np.asarray(centre + half)

    def __repr__(self) -> str:
        return f"ReliabilityCurve({len(self.counts)} bins, error {self.error:.4f})"


def reliability_curve(
    positive: ArrayLike, probability: ArrayLike, *, bins: int | None = None, by: str = "rows"
) -> ReliabilityCurve:
    """Return how often what was given a probability came true.

    Rows of one probability are in one bin. Bins by rows adapt to where the rows are, which makes
    for a steady error; bins by width show the whole range of an overconfident model.

    Parameters
    ----------
    positive : array_like of bool, shape (n_rows,)
        What came true.
    probability : array_like of float, shape (n_rows,)
        That was given to it.
    bins : int, optional
        At most so many bins; by default twice the cube root of the number of rows, at most 20,
        and 10 by width.
    by : {"rows", "width"}
        Bins of about equally many rows, or equally wide ones, of which empty ones are left out.

    Raises
    ------
    DataError
        For different lengths, no rows, numbers outside [0, 1], fewer than one bin, or other `by`.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.9, 0.9], bins=2)
    >>> curve.predicted.round(3).tolist(), curve.observed.round(3).tolist()
    ([0.2, 0.9], [0.333, 1.0])
    >>> round(curve.error, 3)
    0.12
    """
    truth = np.asarray(positive, dtype=bool)
    values = np.asarray(probability, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != values.shape or not len(truth):
        raise DataError(
            "A reliability curve takes one probability for each row, and at least one row; got "
            f"shapes {truth.shape} and {values.shape}."
        )
    if not ((values >= 0) & (values <= 1)).all():
        raise DataError("A reliability curve takes probabilities, from 0 to 1, none of them NaN.")
    order = np.argsort(values, kind="stable")
    starts = _starts(values[order], bins, by)
    counts = np.diff(np.append(starts, len(values)))
    return ReliabilityCurve(
        np.add.reduceat(values[order], starts) / counts,
        np.add.reduceat(truth[order].astype(np.float64), starts) / counts,
        counts,
    )


def confidence_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: Classes,
    *,
    bins: int | None = None,
    by: str = "rows",
) -> ReliabilityCurve:
    """Return how often the most probable class is right, by its probability (Guo et al. 2017).

    Parameters and errors are those of :func:`log_loss` and :func:`reliability_curve`; of equally
    probable classes the first counts.
    """
    codes, values = _checked(y_true, proba, classes)
    right = values.argmax(axis=1) == codes
    return reliability_curve(right, within_bounds(values.max(axis=1)), bins=bins, by=by)


def calibration_error(
    y_true: ArrayLike, proba: ArrayLike, classes: Classes, *, bins: int | None = None
) -> float:
    """Return the expected calibration error of the most probable class; see confidence_curve."""
    return confidence_curve(y_true, proba, classes, bins=bins).error


def within_bounds(probability: Floats) -> Floats:
    """Return probabilities without what rounding put above 1."""
    above = (probability > 1) & (probability < 1 + 1e-9)
    return np.where(above, 1.0, probability)


def _starts(ascending: Floats, bins: Any, by: str) -> NDArray[np.intp]:
    """Return where bins start, none of them inside a run of equal values."""
    n = len(ascending)
    if by not in ("rows", "width"):
        raise DataError(f"by= is 'rows' or 'width'; got {by!r}.")
    if bins is None:
        bins = 10 if by == "width" else min(_MOST_BINS, math.ceil(2 * math.cbrt(n)))
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise DataError(f"bins= is a number of bins, 1 or more; got {bins!r}.")
    if by == "width":
        starts = np.unique(np.searchsorted(ascending, np.arange(bins) / bins, side="left"))
    else:
        wanted = np.arange(bins) * n // bins
        before = np.searchsorted(ascending, ascending[wanted], side="left")
        after = np.searchsorted(ascending, ascending[wanted], side="right")
        starts = np.unique(np.where(wanted - before <= after - wanted, before, after))
    return starts[starts < n]


# ---------------------------------------------------------------------------------------- labels


def _checked(
    y_true: ArrayLike, proba: ArrayLike, classes: Classes
) -> tuple[NDArray[np.intp], Floats]:
    codes = label_codes(y_true, classes, what="y_true")
    values = np.asarray(proba, dtype=np.float64)
    if values.shape != (len(codes), len(classes)):
        raise DataError(
            f"proba takes one row for each of the {len(codes)} labels and one column for each of "
            f"the {len(classes)} classes; got shape {values.shape}."
        )
    if np.isnan(values).any():
        raise DataError("proba has NaN: every row needs a probability for each class.")
    return codes, values


def label_codes(values: ArrayLike, labels: Classes, *, what: str) -> NDArray[np.intp]:
    """Return the position of each value among the labels.

    Raises
    ------
    DataError
        For no values, a label given twice, or a value that is not a label, with the nearest named.
    """
    known = [plain(label) for label in labels]
    places: dict[Any, int] = {label: code for code, label in enumerate(known)}
    if len(places) < len(known):
        raise DataError(f"Every label is given once; got {quoted(known)}.")
    column = np.asarray(values)
    if column.ndim != 1 or not len(column):
        raise DataError(f"{what} takes one label a row and at least one row; got {column.shape}.")
    # Sorting objects of several types fails; a dict keeps the order of their first appearance.
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
