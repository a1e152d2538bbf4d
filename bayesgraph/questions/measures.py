"""Calibration of predicted probabilities, and decisions from them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.errors import DataError, UnknownStateError, quoted, suggestion
from bayesgraph.core.variables import Discrete, plain

# ---------------------------------- The calibration of predicted probabilities, and codes of labels


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
    values = np.asarray(proba, dtype=np.float64)
    if values.shape != (len(codes), len(classes)):
        raise DataError(
            f"proba takes one row for each of the {len(codes)} labels and one column for each of "
            f"the {len(classes)} classes; got shape {values.shape}."
        )
    # Rounding errors may raise a probability slightly above one.
    if not ((values >= 0) & (values < 1 + 1e-9)).all():
        raise DataError("proba takes probabilities, from 0 to 1, none of them NaN.")
    confidence, is_right = np.minimum(values.max(axis=1), 1.0), values.argmax(axis=1) == codes
    order, starts = equal_bins(confidence, bins)
    # The sum over the rows of each bin: their number times (accuracy - mean probability).
    gaps = np.add.reduceat((is_right - confidence)[order], starts)
    return float(np.abs(gaps).sum() / len(codes))


def equal_bins(values: Floats, bins: int | None = None) -> tuple[NDArray[np.intp], ...]:
    """Return the ascending order of values, and where in it bins of about equally many begin.

    Equal values share a bin: starts in their midst move to the nearer end of them. For `bins` see
    `calibration_error`.
    """
    if bins is None:
        bins = min(_MAX_BINS, math.ceil(2 * math.cbrt(len(values))))
    bins = min(whole_number("bins", "bins", bins, 1), len(values))
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    even_starts = np.arange(bins) * len(ascending) // bins
    # The run of values that are equal to the one at a start begins and ends there.
    first = np.searchsorted(ascending, ascending[even_starts], side="left")
    end = np.searchsorted(ascending, ascending[even_starts], side="right")
    starts = np.unique(np.where(even_starts - first <= end - even_starts, first, end))
    # The end of the last run is the end of all, where no bin begins.
    return order, starts[starts < len(ascending)]


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
    plain_labels = [plain(label) for label in labels]
    places: dict[Any, int] = {label: code for code, label in enumerate(plain_labels)}
    if len(places) < len(plain_labels):
        raise DataError(f"Every label is given once; got {quoted(plain_labels)}.")
    column = np.asarray(values)
    if column.ndim != 1 or not len(column):
        raise DataError(f"{what} takes one label a row and at least one row; got {column.shape}.")
    cells = column.tolist()
    if unknown := [label for label in dict.fromkeys(cells) if label not in places]:
        raise DataError(
            f"{what} has {quoted(unknown)}, which is not among the labels."
            f"{suggestion(unknown[0], plain_labels)} They are {quoted(plain_labels)}."
        )
    return np.fromiter(map(places.__getitem__, cells), np.intp, len(cells))


# ----------- Decisions from class probabilities: the class of least expected loss, or abstention


class DecisionRule:
    """A rule that decides for a class, or abstains, given the probabilities of the classes.

    It decides for the class d of least expected loss, sum_c P(c) loss(c, d) over the true classes
    c (Berger 1985, section 1.3; Elkan 2001, equation 1); ties go to the first class. It abstains if
    this loss exceeds that of abstaining (Chow 1970), or if the probability of the class is
    below a minimum.

    Parameters
    ----------
    classes : sequence
        Classes in the order of the columns of probabilities.
    losses, abstain, min_probability
        As in the method `decide` of classifiers.

    Attributes
    ----------
    target : Discrete
        A variable whose states are the classes.
    losses : ndarray, shape (n_classes, n_classes), or None
        ``losses[c, d]`` is the loss of deciding for class d if class c is true; None if every
        mistake loses 1.
    abstain : float or None
        Cost of abstaining; None if the rule does not abstain because of losses.
    min_probability : float
        Minimum probability of the decided class.

    Raises
    ------
    DataError
        For losses of a wrong shape or that are not finite numbers, or a minimum probability outside
        [0, 1].
    UnknownStateError
        For losses of a class that is not in `classes`.
    """

    def __init__(
        self, classes: Any, losses: Any = None, abstain: Any = None, min_probability: Any = None
    ) -> None:
        self.target = Discrete("class", list(classes))
        self.losses = None if losses is None else loss_matrix(losses, self.target)
        self.abstain = None
        if abstain is not None:
            self.abstain = finite_number("abstain=, the loss of abstaining,", abstain, -np.inf)
        self.min_probability = finite_number("min_probability=", min_probability or 0.0, -np.inf)
        if not 0 <= self.min_probability <= 1:
            raise DataError(
                f"min_probability= is a probability, from 0 to 1; got {min_probability!r}."
            )

    def codes(self, proba: Floats) -> NDArray[np.intp]:
        """Return the index of the class decided for each row, -1 for abstention."""
        # A column for each decided class d: sum_c P(c) loss(c, d), or 1 - P(d) without losses.
        expected = 1.0 - proba if self.losses is None else proba @ self.losses
        # Without losses, argmax of p: in 1 - p, differences below 1e-16 would become ties.
        best = np.argmax(proba, axis=1) if self.losses is None else np.argmin(expected, axis=1)
        rows = np.arange(len(best))
        abstains = proba[rows, best] < self.min_probability
        if self.abstain is not None:
            abstains |= expected[rows, best] > self.abstain
        return np.where(abstains, -1, best)

    def labels(self, classes: NDArray[Any], proba: Floats, abstained: Any = None) -> NDArray[Any]:
        """Return the class decided for each row; an abstention gives the label `abstained`.

        `classes` are the labels in the order of the columns of `proba`.
        """
        labels, label = classes, np.asarray(abstained)
        if self.abstain is not None or self.min_probability > 0:
            # Labels of one kind keep their dtype (integers, floats or text); NumPy would turn
            # numbers beside text into text.
            kinds = {classes.dtype.kind, label.dtype.kind}
            if label.ndim or len(kinds) > 1 or not kinds <= set("iufUS"):
                label = np.empty(1, dtype=object)
                label[0] = abstained
            labels = np.append(classes, label)  # the code -1 reads the last one
        return np.asarray(labels[self.codes(proba)])

    def losses_of(self, true: NDArray[np.intp], decided: NDArray[np.intp]) -> Floats:
        """Return the loss of each row, given the codes of its true class and of the decided class.

        A code of -1 in `decided` is an abstention; it loses `abstain`, or 0 if that is None.
        """
        losses = 1.0 - np.eye(self.target.cardinality) if self.losses is None else self.losses
        # At -1 the last column is looked up, and not used.
        return np.where(decided < 0, self.abstain or 0.0, losses[true, decided])


def loss_matrix(losses: Any, target: Discrete) -> Floats:
    """Return losses as an array: true classes in rows, decided classes in columns.

    Parameters
    ----------
    losses : array_like, shape (n_classes, n_classes), or mapping from (true, decided) to loss
        A pair that is not in the mapping loses 0 for a right decision and 1 for a wrong one. Rows
        and columns of a pandas frame are matched to classes by name.
    target : Discrete

    Raises
    ------
    DataError
        For a wrong shape, a key that is not a pair, or a loss that is not a finite number.
    UnknownStateError
        For a class that is not a state of the target.
    """
    n = target.cardinality
    if getattr(losses, "ndim", 2) == 1 and hasattr(losses, "to_dict"):  # a pandas series of pairs
        losses = losses.to_dict()
    if hasattr(losses, "loc"):  # a pandas frame, taken by its names and not by their order
        rows, columns = list(losses.index), list(losses.columns)
        if any(len(names) != n or set(names) != set(target.states) for names in (rows, columns)):
            raise DataError(
                f"losses= as a data frame has each of the classes once as names of its rows (the "
                f"true class) and its columns (the decision), which are {quoted(target.states)}; "
                f"got {quoted(rows)} and {quoted(columns)}."
            )
        losses = dict(zip(product(rows, columns), losses.to_numpy().ravel(), strict=True))
    if isinstance(losses, Mapping):
        matrix = 1.0 - np.eye(n)
        for pair, loss in losses.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise DataError(
                    f"losses= maps pairs (true class, decided class) to numbers, such as "
                    f"{{({target.states[0]!r}, {target.states[-1]!r}): 5.0}}; got the key {pair!r}."
                )
            place = _code(pair[0], target), _code(pair[1], target)
            matrix[place] = finite_number(f"losses=, the loss of {pair!r},", loss, -np.inf)
        return matrix
    try:
        matrix = np.array(losses, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"losses= takes a matrix of numbers or a mapping; got {losses!r}."
        ) from error
    if matrix.shape != (n, n):
        raise DataError(
            f"losses= needs a row for each true class and a column for each decision, in the order "
            f"{quoted(target.states)}; got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise DataError(f"losses= takes finite numbers; got {matrix.tolist()}.")
    return matrix


def _code(label: Any, target: Discrete) -> int:
    """Return the index of a class that losses name."""
    try:
        return target.index(label)
    except UnknownStateError as error:
        near = suggestion(label, target.states)
        raise UnknownStateError(
            f"losses= is for pairs of the classes {quoted(target.states)}; got {label!r}.{near}"
        ) from error


def finite_number(what: str, value: Any, least: float = 0.0) -> float:
    """Return a number that is finite and not below another one, or raise a DataError."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not np.isfinite(value) or value < least:
        limit = "" if np.isinf(least) else f", {least:g} or more"
        raise DataError(f"{what} is a finite number{limit}; got {value!r}.")
    return float(value)
