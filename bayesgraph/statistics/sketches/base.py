"""Base classes of class-conditional summaries of numeric columns, and checks of saved states."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.display import rounded
from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats

# LIGHT: minimum share of its column's weight that a faded value needs to remain separate.
# NOTHING: minimum weight, in rows; smaller weights count as 0, as products of them would underflow.
LIGHT = 1e-12
NOTHING = 1e-100


@dataclass(frozen=True, eq=False)
class Cells:
    """Histograms of columns by class, whose cells are separated by the candidate cut points.

    Attributes
    ----------
    start : ndarray of int, shape (n_features + 1,)
        Offset of the first cell of each feature; the last entry is the number of all cells.
    counts : ndarray, shape (number of cells of all features, n_classes)
        Weight of each class in each cell; the sum over classes is positive. Cells of a feature are
        in ascending order.
    cuts : ndarray, shape (number of cells of all features,)
        Cut point between a cell and the next cell, at least the maximum of the cell; infinite for
        the last cell of a feature.
    low, high : ndarray, shape (number of cells of all features,)
        Minimum and maximum value of each cell.
    """

    start: NDArray[np.int64]
    counts: Floats
    cuts: Floats
    low: Floats
    high: Floats

    def of(self, feature: int) -> tuple[Floats, Floats]:
        """Return the class weights of a feature's cells, and the cut points between the cells."""
        a, b = self.start[feature], self.start[feature + 1]
        return self.counts[a:b], self.cuts[a : max(a, b - 1)]

    @classmethod
    def joined(
        cls, start: NDArray[np.int64], counts: Floats, cuts: Floats, low: Floats, high: Floats
    ) -> Cells:
        """Return the cells, after merging nearly empty cells into their neighbours.

        A cell is nearly empty if it has less than 1e-12 of its feature's weight. It is merged into
        the next cell that is not, or, if there is none, into the last such cell. The cut point is
        then the middle of the merged range, because the values in the range are no longer known.
        """
        weight = np.einsum("ij->i", counts)  # faster than sum where there are few classes
        feature = np.repeat(np.arange(len(start) - 1), np.diff(start))
        total = np.bincount(feature, weight, minlength=len(start) - 1)
        there = (weight > 0.0) & (weight >= LIGHT * total[feature])
        chosen = np.flatnonzero(there)
        if len(chosen) == len(weight):
            return cls(start, counts, cuts, low, high)
        first = np.searchsorted(feature[chosen], np.arange(len(start))).astype(np.int64)
        if not len(chosen):
            return cls(first, counts[:0], cuts[:0], low[:0], high[:0])
        last = first[1:][feature] - 1
        goes = np.minimum(np.searchsorted(chosen, np.arange(len(weight))), last)
        held = np.zeros((len(chosen), counts.shape[1]))
        known = last >= first[:-1][feature]
        np.add.at(held, goes[known], counts[known])
        after = np.append(cuts[chosen[1:] - 1], np.inf)
        own = cuts[chosen]
        places = np.where(after > own, own / 2 + after / 2, own)
        places[first[1:][np.diff(first) > 0] - 1] = np.inf
        return cls(first, held, places, low[chosen], high[chosen])


class SketchState(ABC):
    """Base class of summaries of streams, whose whole state is in named arrays."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as named arrays."""

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self)

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""
        return sum(array.nbytes for array in self.arrays().values())


class ColumnSummaries(SketchState):
    """Base class of class-conditional summaries of several numeric columns, in bounded memory.

    Updates modify a summary in place; `copy` returns an independent copy.

    The class attributes of a subclass are its card, the description by which other modules list and
    choose summaries: `name` (in ``summary=`` and in files), `options` (the classifier's parameters
    that it takes: "size", "epsilon"), and `densities` (the densities estimated from it: a key of
    `bayesgraph.learning.streaming.densities.DENSITIES`).

    Attributes
    ----------
    n_features, n_classes : int
    """

    # The card, which describes the class to other modules.
    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    densities: ClassVar[str] = "intervals"

    n_features: int
    n_classes: int

    def update(
        self, values: ArrayLike, classes: ArrayLike, weights: ArrayLike | None = None
    ) -> Self:
        """Add rows: the values of all features, and the classes.

        Parameters
        ----------
        values : array_like, shape (n, n_features) or (n,) of a single feature
            NaN where missing.
        classes : array_like of int, shape (n,)
            Codes below `n_classes`.
        weights : array_like, shape (n,), optional
            Not negative; rows of weight zero are ignored.

        Raises
        ------
        DataError
            If values are infinite, codes are out of range, or arrays differ in length.
        """
        matrix = np.asarray(values, dtype=np.float64)
        if matrix.ndim == 1 and self.n_features == 1:
            matrix = matrix[:, None]
        if matrix.ndim != 2 or matrix.shape[1] != self.n_features:
            raise DataError(
                f"{type(self).__name__} takes values of shape (n, {self.n_features}); got "
                f"{np.shape(values)}."
            )
        if np.isinf(matrix).any():
            raise DataError(
                f"{type(self).__name__} takes finite numbers or NaN; replace infinite values."
            )
        codes, weight = checked_rows(classes, weights, len(matrix), self.n_classes)
        self.absorb(np.ascontiguousarray(matrix.T), codes, weight)
        return self

    @abstractmethod
    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked.

        Parameters
        ----------
        columns : ndarray, shape (n_features, n)
        classes : ndarray, shape (n,)
        weights : ndarray, shape (n,) or (0,)
            Empty if every row has weight 1.
        """

    @property
    @abstractmethod
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor.

        A column is reset if its remaining weight is less than 1e-100 rows.

        Parameters
        ----------
        factor : float
            In [0, 1]; 0 forgets everything.

        Raises
        ------
        ModelError
            If the factor is not a number from 0 to 1.
        """
        self._fade(checked_factor(factor))

    @abstractmethod
    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""

    @abstractmethod
    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Enlarge the summary to `n_features` features and `n_classes` classes.

        New features and classes come after the existing ones; None changes nothing.
        """

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.n_features} features and {self.n_classes} classes, "
            f"weight {rounded(self.counts.sum(), 6)}, {self.nbytes} bytes"
        )


class CutSummaries(ColumnSummaries):
    """Base class of summaries from which histograms by class, and so cut points, are obtained."""

    @abstractmethod
    def cells(self) -> Cells:
        """Return the histogram of each column: ranges of values with the weight of each class."""


def checked_rows(
    classes: ArrayLike, weights: ArrayLike | None, n_rows: int, n_classes: int
) -> tuple[NDArray[np.signedinteger], Floats]:
    """Return the checked class codes and weights of rows; weights are empty if all are 1."""
    codes = np.asarray(classes)
    if codes.shape != (n_rows,) or codes.dtype.kind not in "iu":
        raise DataError(
            f"classes takes {n_rows} whole numbers, one for each row; got shape {codes.shape} of "
            f"{codes.dtype}."
        )
    if len(codes) and not 0 <= codes.min() <= codes.max() < n_classes:
        raise DataError(
            f"classes takes codes from 0 to {n_classes - 1}; got {codes.min()} to {codes.max()}."
        )
    return codes, _weights(weights, n_rows)


def _weights(weights: ArrayLike | None, n_rows: int) -> Floats:
    if weights is None:
        return np.empty(0)
    found = np.ascontiguousarray(weights, dtype=np.float64)
    if found.shape != (n_rows,) or not (np.isfinite(found) & (found >= 0)).all():
        raise DataError(f"weights takes {n_rows} finite numbers that are not negative.")
    return np.empty(0) if (found == 1.0).all() else found


def checked_size(name: str, value: Any, minimum: int) -> int:
    """Return `value` as an int; raise a ModelError unless it is an integer, `minimum` or more."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise ModelError(f"{name} takes a whole number of at least {minimum}; got {value!r}.")
    return int(value)


def checked_factor(factor: Any) -> float:
    """Return the factor as a float; raise a ModelError unless it is a number in [0, 1]."""
    number = isinstance(factor, (int, float, np.integer, np.floating))
    if not number or isinstance(factor, bool) or not 0.0 <= factor <= 1.0:
        raise ModelError(
            f"fade takes a factor from 0 (forget everything) to 1 (forget nothing); got {factor!r}."
        )
    return float(factor)


def widened(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array enlarged to `shape`, with zeros in the new entries."""
    if array.shape == shape:
        return array
    out = np.zeros(shape, dtype=array.dtype)
    out[tuple(slice(n) for n in array.shape)] = array
    return out


def state_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int | None, ...],
    *,
    minimum: float = -np.inf,
    maximum: float = np.inf,
    whole: bool = False,
) -> NDArray[Any]:
    """Return an array of a saved state after checking it.

    Parameters
    ----------
    arrays : mapping from name to ndarray
    name : str
    shape : tuple of int or None
        Required shape; None for an axis of any length.
    minimum, maximum : float
        Range of its values.
    whole : bool
        Whether it must hold 64-bit integers, otherwise finite 64-bit floats.

    Raises
    ------
    DataError
        If the array is missing, or violates one of these requirements.
    """
    array = arrays.get(name)
    dtype = np.dtype(np.int64 if whole else np.float64)
    if (
        array is None
        or array.dtype != dtype
        or array.ndim != len(shape)
        or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        found = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise DataError(f"A saved state has {name} as {dtype} of shape ({expected}); got {found}.")
    if not (np.isfinite(array) & (array >= minimum) & (array <= maximum)).all():
        raise DataError(
            f"A saved state has {name} with finite numbers from {minimum:g} to {maximum:g}; it has "
            "others."
        )
    return array


def part_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with a prefix, by their names without the prefix."""
    found = arrays.items()
    return {name.removeprefix(prefix): a for name, a in found if name.startswith(prefix)}


def check_ascending(name: str, values: Floats, used: NDArray[np.bool_], *, ties: bool) -> None:
    """Raise a DataError unless the used values of each row are in ascending order.

    Parameters
    ----------
    name : str
        Name of the array, for the error message.
    values : ndarray, shape (n_features, room)
    used : ndarray of bool, shape (n_features, room)
        Mask of the used entries of `values`, which come first in each row.
    ties : bool
        Whether consecutive values may be equal.

    Raises
    ------
    DataError
    """
    steps = np.diff(values, axis=1)
    good = (steps >= 0) if ties else (steps > 0)
    if not (good | ~used[:, 1:]).all():
        raise DataError(f"A saved state has {name} in ascending order; they are not.")
