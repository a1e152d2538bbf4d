"""Base classes of class-conditional summaries of numeric columns, and checks of saved states."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, real_numbers, whole_number
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, ModelError
from bayesgraph.core.parallel import by_rows, over_rows
from bayesgraph.core.variables import State
from bayesgraph.statistics import sketch_kernels
from bayesgraph.statistics.cuts import (
    SortedColumn,
    cuts_between,
    factorial_table,
    mdlp_cuts,
    modl_intervals,
    quantiles,
    width_cuts,
)
from bayesgraph.statistics.requests import GroupMoments

# ------ Base classes of class-conditional summaries of numeric columns, and checks of saved states


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
    low, high : ndarray, shape (number of cells of all features,)
        Minimum and maximum value of each cell.
    """

    start: NDArray[np.int64]
    counts: Floats
    low: Floats
    high: Floats

    def cuts(self, last: NDArray[np.intp]) -> Floats:
        """Return the cut point after each of some cells, infinite for the last of a feature.

        It has few digits and is about halfway to the minimum of the next cell, or is the cell's
        maximum if that minimum is not larger.
        """
        # The minimum of the next cell, infinite behind the last cell of a feature (features may
        # have none).
        after = np.append(self.low[1:], np.inf)[: len(self.low)]
        after[self.start[1:][np.diff(self.start) > 0] - 1] = np.inf
        below, above = self.high[last], after[last]
        cuts = np.where(np.isinf(above), above, below)
        rises = (below < above) & (above < np.inf)
        cuts[rises] = cuts_between(below[rises], above[rises])
        return cuts

    @classmethod
    def joined(cls, start: NDArray[np.int64], counts: Floats, low: Floats, high: Floats) -> Cells:
        """Return the cells, after merging nearly empty cells into their neighbours.

        A cell is nearly empty if it has less than `LIGHT` of its feature's weight. Its weight goes
        to the next full cell of the feature, or else to the last full one; ranges stay.
        """
        weight = np.einsum("ij->i", counts)  # faster than sum where there are few classes
        feature = np.repeat(np.arange(len(start) - 1), np.diff(start))
        total = np.bincount(feature, weight, minlength=len(start) - 1)
        is_heavy = (weight > 0.0) & (weight >= LIGHT * total[feature])
        chosen = np.flatnonzero(is_heavy)
        if len(chosen) == len(weight):
            return cls(start, counts, low, high)
        # The first chosen cell of each feature.
        new_start = np.searchsorted(feature[chosen], np.arange(len(start))).astype(np.int64)
        # For each old cell the last chosen one of its feature.
        last_chosen = new_start[1:][feature] - 1
        # The chosen cell to which each old cell's weight goes: the next one, or the last of its
        # feature.
        goes_to = np.minimum(np.searchsorted(chosen, np.arange(len(weight))), last_chosen)
        joined = np.zeros((len(chosen), counts.shape[1]))
        # False in a feature without weight, which has no chosen cell.
        has_cell = last_chosen >= new_start[:-1][feature]
        np.add.at(joined, goes_to[has_cell], counts[has_cell])
        return cls(new_start, joined, low[chosen], high[chosen])


class Field(NamedTuple):
    """An array of a state.

    Attributes
    ----------
    axes : tuple of str or None
        The attribute that has the length of each axis; None for an axis of any length.
    minimum, maximum : float
        Range of its values.
    initial : float
        Value of new entries, which is valid whatever the range.
    dtype : type
        `np.float64` or `np.int64`.
    """

    axes: tuple[str | None, ...]
    minimum: float = -np.inf
    maximum: float = np.inf
    initial: float = 0.0
    dtype: type[np.float64 | np.int64] = np.float64


class ArrayState:
    """Base class of states that consist of the arrays that a table describes.

    Attributes
    ----------
    fields : mapping from str to Field
        The arrays, which are attributes of these names. An array may have an axis of the length of
        another one before it.
    """

    fields: ClassVar[Mapping[str, Field]]

    def grow(self, **lengths: int | None) -> None:
        """Enlarge axes to the given lengths; None, and axes that are not named, change nothing.

        New entries come after the existing ones.
        """
        # Axes are named like the attributes that have their lengths.
        self.__dict__.update({axis: n for axis, n in lengths.items() if n is not None})
        # An array that is not there yet is made with all of its entries new.
        for name, field in self.fields.items():
            array = getattr(self, name, np.empty([0] * len(field.axes), field.dtype))
            sizes = zip(field.axes, array.shape, strict=True)
            shape = tuple(n if axis is None else getattr(self, axis) for axis, n in sizes)
            setattr(self, name, widened(array, shape, field.initial))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as named arrays."""
        return {name: getattr(self, name) for name in self.fields}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Replace the state by a saved state, the result of `arrays`, with axes of equal lengths.

        Raises
        ------
        DataError
            If an array is missing or invalid, or arrays are inconsistent.
        """
        for name, field in self.fields.items():
            # The names of axes are those of attributes, which have their lengths.
            shape = [None if axis is None else getattr(self, axis) for axis in field.axes]
            setattr(self, name, state_array(arrays, name, shape, field).copy())
        self.check()
        return self

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self)

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""
        return sum(getattr(self, name).nbytes for name in self.fields)


class ColumnSummaries(ArrayState, ABC):
    """Base class of class-conditional summaries of several numeric columns, in bounded memory.

    Updates modify a summary in place; `copy` returns an independent copy.

    The class attributes of a subclass are its card, the description by which other modules list and
    choose summaries: `name` (in ``summary=`` and in files), `options` (the classifier's parameters
    that it takes: "size", "epsilon"), and `densities` (the densities estimated from it: a key of
    `bayesgraph.learning.streams.densities.DENSITIES`).

    Attributes
    ----------
    n_features, n_classes : int
    """

    # The card, which describes the class to other modules.
    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    densities: ClassVar[str] = "intervals"

    def __init__(self, n_features: int = 1, n_classes: int = 1) -> None:
        self.n_features = whole_number("n_features", "features", n_features, 0)
        self.n_classes = whole_number("n_classes", "classes", n_classes, 1)
        self.grow()

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

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.n_features} features and {self.n_classes} classes, "
            f"weight {rounded(self.counts.sum(), 6)}, {self.nbytes} bytes"
        )


class CutSummaries(ColumnSummaries):
    """Base class of summaries from which histograms by class, and so cut points, are obtained."""

    # Maximum number of cells of a feature, and how many of them each feature uses.
    room: int
    used: NDArray[np.int64]

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        """Mask of the cells in use, which come first, shape (n_features, room)."""
        return np.asarray(np.arange(self.room) < self.used[:, None])

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
    if weights is None:
        return codes, np.empty(0)
    checked = np.ascontiguousarray(real_numbers(weights))
    if checked.shape != (n_rows,) or not (np.isfinite(checked) & (checked >= 0)).all():
        raise DataError(f"weights takes {n_rows} finite numbers that are not negative.")
    return codes, np.empty(0) if (checked == 1.0).all() else checked


def checked_factor(factor: Any) -> float:
    """Return the factor as a float; raise a ModelError unless it is a number in [0, 1]."""
    number = isinstance(factor, (int, float, np.integer, np.floating))
    if not number or isinstance(factor, bool) or not 0.0 <= factor <= 1.0:
        raise ModelError(
            f"fade takes a factor from 0 (forget everything) to 1 (forget nothing); got {factor!r}."
        )
    return float(factor)


def widened(array: NDArray[Any], shape: tuple[int, ...], initial: float = 0.0) -> NDArray[Any]:
    """Return an array enlarged to `shape`; new entries have the value `initial`."""
    if array.shape == shape:
        return array
    out = np.full(shape, initial, dtype=array.dtype)
    out[tuple(slice(n) for n in array.shape)] = array
    return out


def state_array(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: Sequence[int | None], field: Field
) -> NDArray[Any]:
    """Return an array of a saved state after checking it.

    Parameters
    ----------
    arrays : mapping from name to ndarray
    name : str
    shape : sequence of int or None
        Required shape; None for an axis of any length.
    field : Field

    Raises
    ------
    DataError
        If the array is missing, or violates one of these requirements.
    """
    array, dtype = arrays.get(name), np.dtype(field.dtype)
    if (
        array is None
        or array.dtype != dtype
        or array.ndim != len(shape)
        or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        described = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise DataError(
            f"A saved state has {name} as {dtype} of shape ({expected}); got {described}."
        )
    # In the range, or the value of new entries, which may be NaN.
    valid = np.isfinite(array) & (array >= field.minimum) & (array <= field.maximum)
    if not (valid | np.isclose(array, field.initial, 0.0, 0.0, equal_nan=True)).all():
        raise DataError(
            f"A saved state has {name} with finite numbers from {field.minimum:g} to "
            f"{field.maximum:g}; it has others."
        )
    return array


def part_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with a prefix, by their names without the prefix."""
    items = arrays.items()
    return {name.removeprefix(prefix): a for name, a in items if name.startswith(prefix)}


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
    # Steps to entries that are not used do not count.
    if not (good | ~used[:, 1:]).all():
        raise DataError(f"A saved state has {name} in ascending order; they are not.")


# ----------------- The most frequent values of a column in bounded memory: the Misra-Gries summary


# Minimum key of a hashed value; smaller keys are free for codes of known values.
FIRST_KEY = 1 << 62

Keys = NDArray[np.int64]


def key_of(value: State) -> int:
    """Return the hash key of a value, an integer in [2^62, 2^63): BLAKE2b of its type and repr.

    It is the same in every process, whatever the hash seed; `True`, `1`, `1.0` and `"1"` differ.
    """
    kind = type(value)
    text = f"{kind.__module__}.{kind.__qualname__} {value!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % FIRST_KEY + FIRST_KEY


class FrequentValues(ArrayState):
    """Class counts of the most frequent values of one column, however many values it has.

    While there are at most `size` values, their counts are exact. Each listed value has a credit,
    which starts as the value's weight. If a batch makes the list exceed `size` by e values, the
    e-th smallest credit is subtracted from all credits, and values without positive credit leave
    the list. Every value with more than 1 / (`size` + 1) of the total weight is listed. Its listed
    counts are too low by at most `missed`, which is at most 1 / (`size` + 1) of the total weight.

    `fade` is exact, except that values faded below 1e-12 of the total weight leave the list, to
    make room for others. How rows are divided into batches affects only which rare values are
    listed.

    Parameters
    ----------
    n_classes : int
    size : int
        Maximum number of values in the list.

    Attributes
    ----------
    totals : ndarray, shape (n_classes,)
        Class weights of all observed values, listed or not.
    missed : float
        Upper bound, for every value, on its true weight minus its listed weight (0 if not listed).

    References
    ----------
    J. Misra, D. Gries: Finding repeated elements. Science of Computer Programming 2 (1982).
    P. Agarwal, G. Cormode, Z. Huang, J. Phillips, Z. Wei, K. Yi: Mergeable summaries. PODS 2012.

    Examples
    --------
    >>> values = FrequentValues(2, size=2)
    >>> values.absorb(np.array([7, 8, 7, -1]), np.array([0, 1, 1, 1]), np.empty(0))
    >>> values.listed()
    (array([7, 8]), array([[1., 1.],
           [0., 1.]]))
    >>> values.absorb(np.array([9]), np.array([0]), np.empty(0))
    >>> values.listed()[0], values.missed
    (array([7]), 1.0)
    """

    totals: Floats
    # Ascending keys, class counts since each key was listed, and the counters of Misra and Gries.
    keys: Keys
    seen: Floats
    credit: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "totals": Field(("n_classes",), 0.0),
        "keys": Field((None,), 0.0, dtype=np.int64),
        "seen": Field(("n_listed", "n_classes"), 0.0),
        "credit": Field(("n_listed",), 0.0),
    }

    def __init__(self, n_classes: int = 1, *, size: int = 1000) -> None:
        self.n_classes = whole_number("n_classes", "classes", n_classes, 1)
        self.size = whole_number("size", "entries", size, 1)
        self.missed = 0.0
        self.grow()

    @property
    def n_listed(self) -> int:
        """Number of values in the list."""
        return len(self.keys)

    def absorb(self, keys: Keys, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows: values of the column and their classes.

        Parameters
        ----------
        keys : ndarray of int, shape (n,)
            Keys of the values, not negative; -1 where missing.
        classes : ndarray of int, shape (n,)
        weights : ndarray, shape (n,) or (0,)
            Empty if every row has weight 1.
        """
        is_counted = (keys >= 0) if not len(weights) else (keys >= 0) & (weights > 0)
        # Weights by distinct value and class: a cell is an index of the table taken as flat.
        distinct, place = np.unique(keys[is_counted], return_inverse=True)
        cells = place.reshape(-1) * self.n_classes + classes[is_counted]
        weight = weights[is_counted] if len(weights) else None
        flat = np.bincount(cells, weight, minlength=len(distinct) * self.n_classes)
        counts = flat.reshape(-1, self.n_classes).astype(np.float64)
        self.totals += counts.sum(axis=0)
        self._add(distinct, counts)

    def _add(self, distinct: Keys, counts: Floats) -> None:
        """Add the class weights of distinct values, and shorten the list to `size` values."""
        keys = np.union1d(self.keys, distinct)
        all_counts, credit = np.zeros((len(keys), self.n_classes)), np.zeros(len(keys))
        # Places of the old and of the new keys among all. A value's credit grows by its weight of
        # all classes.
        old, new = np.searchsorted(keys, self.keys), np.searchsorted(keys, distinct)
        all_counts[old], credit[old] = self.seen, self.credit
        all_counts[new] += counts
        credit[new] += counts.sum(axis=1)
        self.keys, self.seen, self.credit = keys, all_counts, credit
        excess = len(keys) - self.size
        if excess > 0:
            self._leave_out(excess)

    def _leave_out(self, excess: int) -> None:
        """Remove at least `excess` values from the list."""
        # The largest credit that is left out (`excess`-th smallest); all lose as much, so that at
        # most `size` keep some.
        lost = float(np.partition(self.credit, excess - 1)[excess - 1])
        self.missed += lost
        self.credit = self.credit - lost
        self._select(self.credit > 0)

    def _select(self, chosen: NDArray[np.bool_]) -> None:
        """Keep only the listed values for which the mask `chosen` is true."""
        self.keys, self.seen = self.keys[chosen], self.seen[chosen]
        self.credit = self.credit[chosen]

    def listed(self) -> tuple[Keys, Floats]:
        """Return the keys of the listed values, and their class weights since they were listed.

        The keys ascend. The weights have shape (n, n_classes) and never exceed the true weights.
        """
        return self.keys, self.seen

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor.

        Parameters
        ----------
        factor : float
            In [0, 1]; 0 forgets everything, as does a factor that leaves less than 1e-100 rows.

        Raises
        ------
        ModelError
            If the factor is not a number from 0 to 1.
        """
        self.totals = self.totals * checked_factor(factor)
        self.missed *= factor
        self.seen, self.credit = self.seen * factor, self.credit * factor
        weight = float(self.totals.sum())
        if weight < NOTHING:
            self.totals, self.missed = np.zeros(self.n_classes), 0.0
        light = self.credit < max(LIGHT * weight, NOTHING)
        if light.any():
            # Values that leave the list lack the counts that the list had of them.
            self.missed += float(self.credit[light].max()) if weight >= NOTHING else 0.0
            self._select(~light)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        return super().arrays() | {"limits": np.array([self.size, self.missed])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        size, missed = state_array(arrays, "limits", (2,), Field((None,), 0.0)).tolist()
        made = cls(len(arrays["totals"]), size=int(size))
        made.missed = missed
        return made.restore(arrays)

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        if self.n_listed > self.size or (np.diff(self.keys) <= 0).any():
            raise DataError(f"A saved state lists at most {self.size} keys in ascending order.")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.n_classes} classes, {len(self.keys)} values, "
            f"weight {rounded(self.totals.sum(), 6)}"
        )


# Rows of counters, and counters in a row for each value that may be listed.
_DEPTH, _WIDTH = 5, 4
# Odd factors of the hashes of keys to counters and signs (multiply-shift; Dietzfelbinger 1997).
_FACTORS = np.random.default_rng(0).integers(0, 2**63, _DEPTH, dtype=np.uint64) * 2 + 1


class CountSketch(FrequentValues):
    """Class counts of the most frequent values of one column, estimated by a count sketch.

    Each value adds its weight, with a sign of its own, to one counter in each of five rows of
    counters of each class; the median over the rows estimates its weight without bias. While there
    are at most `size` values, their counts are exact. Later, a value that is not listed enters the
    list with its estimate, and counts exactly from then on, if it is among the `size` heaviest.
    Other than by the list of Misra and Gries, what a value had before it was listed is not lost,
    and a rare value does not lower the credit of frequent ones.

    `missed` is the largest weight that left the list, and no bound. `fade` is exact.

    Parameters
    ----------
    n_classes : int
    size : int
        Maximum number of values in the list; each row has four times as many counters.

    References
    ----------
    M. Charikar, K. Chen, M. Farach-Colton: Finding frequent items in data streams. ICALP 2002.

    Examples
    --------
    >>> values = CountSketch(1, size=2)
    >>> for key in (7, 7, 8, 9, 9, 9):
    ...     values.absorb(np.array([key]), np.array([0]), np.empty(0))
    >>> values.listed()
    (array([7, 9]), array([[2.],
           [3.]]))
    """

    # Shape (depth, width, n_classes); see the class.
    counters: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        **FrequentValues.fields,
        "counters": Field(("depth", "width", "n_classes")),
    }
    depth = _DEPTH

    def __init__(self, n_classes: int = 1, *, size: int = 1000) -> None:
        self.width = _WIDTH * whole_number("size", "entries", size, 1)
        super().__init__(n_classes, size=size)

    def _hashed(self, keys: Keys) -> tuple[NDArray[np.intp], Floats]:
        """Return the counter and the sign of each key in each row, shape (depth, n) both."""
        hashes = keys.astype(np.uint64) * _FACTORS[:, None]  # modulo 2^64
        # The upper 31 bits choose the counter, the bit below them the sign.
        places = (hashes >> np.uint64(33)) % np.uint64(self.width)
        signs = np.where((hashes >> np.uint64(32)) & np.uint64(1), 1.0, -1.0)
        return places.astype(np.intp), signs

    def _add(self, distinct: Keys, counts: Floats) -> None:
        places, signs = self._hashed(distinct)
        # A row of counters has shape (width, n_classes).
        for row, place, sign in zip(self.counters, places, signs, strict=True):
            np.add.at(row, place, sign[:, None] * counts)
        if self.missed > 0:
            # What values that are not listed had before is in the counters: the medians over the
            # rows of counters, shape (n, n_classes), and at least what they have now.
            rows = np.arange(self.depth)[:, None]
            estimates = np.median(self.counters[rows, places] * signs[..., None], axis=0)
            is_new = ~np.isin(distinct, self.keys)[:, None]
            counts = np.where(is_new, np.maximum(estimates, counts), counts)
        super()._add(distinct, counts)

    def _leave_out(self, excess: int) -> None:
        # By credit, and among equal credits by key; here a credit is the weight itself.
        order = np.lexsort((self.keys, self.credit))
        self.missed = max(self.missed, float(self.credit[order[excess - 1]]))
        kept = np.ones(len(order), dtype=np.bool_)
        kept[order[:excess]] = False
        self._select(kept)

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor; see FrequentValues.fade."""
        super().fade(factor)
        self.counters = self.counters * factor


# Sketches of columns of more values than are counted one by one, by name.
SKETCHES: dict[str, type[FrequentValues]] = {
    "misra-gries": FrequentValues,
    "count-sketch": CountSketch,
}


# ------- Class-conditional quantiles in bounded memory: Greenwald-Khanna summary with class counts


# Number of values below which one thread is enough.
_THREAD = 1 << 12


class GKSummary(CutSummaries):
    """Greenwald-Khanna quantile summaries of columns, whose tuples count each class.

    A tuple (v, g, delta) holds a value v; the weight g of the values after the previous tuple's
    value up to v, split by class; and delta, the maximum by which the rank of v may exceed the sum
    of the g up to v.

    * **Fixed memory** (the default): `size` tuples per feature. If there are more, neighbouring
      tuples are merged while g + delta of the result is at most a bound. The bound is the smallest
      that leaves `size` tuples. The error is not known in advance; `rank_error` reports its current
      bound.
    * **Fixed error**: with `epsilon`, tuples are merged while g + delta is at most 2 epsilon n for
      n rows. Ranks are then off by at most epsilon n in any order of arrival; memory grows with
      log(epsilon n).

    The position of rows equal to a tuple's value is known exactly: equal values add no uncertainty,
    and a column of at most `size` distinct values is counted exactly.

    `rank_error` bounds the error of ranks among all rows. Within a class that makes up a fraction s
    of the rows, the relative error of a rank may be 1 / s times as large.

    Rows are added in blocks: all rows of a block are inserted exactly, then tuples are merged. The
    result does not depend on the order of rows within a block. It depends on the order of the
    blocks, as does the error in fixed memory. The error is smallest for ascending values. It is
    largest if each block falls between the lower and the upper half of the earlier values, because
    a new tuple is as uncertain as the tuple into whose range it falls. `rank_error` reports this
    (4.4 % in that order, 0.8 % otherwise). The rank of a cut point of `cells` may be off by twice
    `rank_error`.

    Maximum error of the rank of a cut, in per cent of 100,000 rows (normal and lognormal numbers,
    `size` 100, blocks of 256 rows):

    ============================  =========  ==========
    order of arrival              GKSummary  PiDSummary
    ============================  =========  ==========
    shuffled                        0.5-0.8        0.01
    ascending or descending             0.0     0.1-0.6
    50 ascending runs               0.7-1.0        0.02
    from the middle outwards            0.0     0.3-0.5
    from the ends inwards               4.6     2.0-3.0
    ============================  =========  ==========

    After `fade`, tuples with less than 1e-12 of a feature's weight are joined to the next tuple, or
    at the end to the previous tuple. Their class weights are kept, but their values are lost. The
    minimum and the maximum are therefore those of the remaining tuples, and the error of a rank may
    exceed `rank_error` by the small weight of the joined tuples.

    Parameters
    ----------
    n_features, n_classes : int
    size : int
        Maximum number of tuples per feature, at least 3; ignored with `epsilon`.
    epsilon : float, optional
        Maximum relative error of a rank, in (0, 0.5).

    References
    ----------
    M. Greenwald, S. Khanna: Space-efficient online computation of quantile summaries. SIGMOD 2001.
    C. Salperwyck, V. Lemaire, C. Hue: Classifieur naif de Bayes pondere pour flux de donnees. EGC
    2014 (tuples that count classes).

    Examples
    --------
    >>> summary = GKSummary(1, 2, size=20)
    >>> summary.update(np.arange(1000.0), np.arange(1000) % 2)
    GKSummary of 1 features and 2 classes, weight 1000, 976 bytes
    >>> bool(abs(summary.quantile(0.5)[0] - 500) <= summary.rank_error[0])
    True
    """

    name = "gk"
    options = ("size", "epsilon")

    # The bound of each feature's last merge, as a fraction of its weight, and its tuples.
    merged: Floats
    entries: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "used": Field(("n_features",), 0.0, dtype=np.int64),
        "merged": Field(("n_features",), 0.0),
        "entries": Field(("n_features", "room", "n_columns")),
    }

    def __init__(
        self,
        n_features: int = 1,
        n_classes: int = 1,
        *,
        size: int = 100,
        epsilon: float | None = None,
    ) -> None:
        if epsilon is not None and not 0.0 < epsilon < 0.5:
            raise ModelError(f"epsilon lies between 0 and 0.5; got {epsilon!r}.")
        self.size = whole_number("size", "entries", size, 3)
        self.epsilon = epsilon
        # With a fixed error there are as many tuples as it takes, 8 at the beginning.
        self.room = self.size if epsilon is None else 8
        super().__init__(n_features, n_classes)

    @property
    def n_columns(self) -> int:
        """Number of columns of a tuple."""
        return sketch_kernels.GAPS + self.n_classes

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        share = 0.0
        if self.epsilon is not None:
            # With a fixed error, there is room for all new values until tuples are merged.
            share = 2.0 * self.epsilon
            self._set_room(int(self.used.max()) + columns.shape[1])

        def absorb_features(a: int, b: int) -> None:
            """Add the values of the features from a to b - 1."""
            sketch_kernels.absorb_quantiles(
                columns[a:b], np.argsort(columns[a:b], axis=1), classes, weights, share,
                self.merged[a:b], self.used[a:b], self.entries[a:b],
            )  # fmt: skip

        # The "rows" of `over_rows` are features here, each of which has as many values.
        over_rows(absorb_features, len(columns), 1 + _THREAD // columns.shape[1], together=1)
        if self.epsilon is not None:
            self._set_room(max(8, int(self.used.max())))

    def _set_room(self, room: int) -> None:
        self.entries = np.ascontiguousarray(self.entries[:, :room])
        self.grow(room=room)

    @property
    def _weights(self) -> Floats:
        """Weight of each class for each tuple, 0 for unused tuples."""
        return np.asarray(self.entries[..., sketch_kernels.GAPS :] * self._is_used[..., None])

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.asarray(self._weights.sum(axis=1))

    @property
    def rank_error(self) -> Floats:
        """Bound on the error of `rank` and `quantile`, in units of weight, shape (n_features,).

        It is max(g + delta) / 2 (Greenwald and Khanna 2001, Corollary 1). Here g excludes the rows
        that equal the tuple's value, because their ranks are certain.
        """
        return np.asarray(self._spread.max(axis=1, initial=0.0) / 2)

    @property
    def _spread(self) -> Floats:
        """Uncertainty of the rank just below each tuple's value, in units of weight.

        It is g + delta without the weight of the rows that equal the tuple's value; 0 for unused
        tuples.
        """
        equal, delta = (self.entries[..., c] for c in (sketch_kernels.OWN, sketch_kernels.DELTA))
        return np.asarray((self._weights.sum(axis=2) - equal + delta) * self._is_used)

    def quantile(self, share: float) -> Floats:
        """Return the quantile of each feature at the level `share`, from 0 to 1.

        The rank of the result is off by at most `rank_error`. The result is NaN for a feature
        without observed values.
        """
        if not 0.0 <= share <= 1.0:
            raise ModelError(f"A share lies between 0 and 1; got {share!r}.")
        quantiles = np.full(self.n_features, np.nan)
        for f in np.flatnonzero(self.used).tolist():
            values, weights, delta = self.tuples(f)
            below = np.cumsum(weights.sum(axis=1))
            rank = share * below[-1]
            # The weight of values equal to that of the tuple covers the ranks up to the tuple's
            # own.
            above = below + delta - self.entries[f, : len(below), sketch_kernels.OWN] - rank
            # The value whose possible ranks are at most as far from the wanted one as those of any
            # other.
            quantiles[f] = values[np.argmin(np.maximum(rank - below, above))]
        return quantiles

    def rank(self, values: ArrayLike) -> Floats:
        """Return the approximate weight of the values up to ``values[f]`` for each feature f.

        It is off by at most `rank_error`.
        """
        ranks = np.zeros(self.n_features)
        for f, x in enumerate(np.broadcast_to(np.asarray(values, dtype=np.float64), ranks.shape)):
            # `at` is the number of tuples whose values are not above x.
            ascending, weights, delta = self.tuples(f)
            at = int(np.searchsorted(ascending, x, side="right"))
            ranks[f] = weights[:at].sum()
            # Half of the weight that may be on either side.
            if at and ascending[at - 1] == x:
                ranks[f] += delta[at - 1] / 2
            elif at < len(ascending):
                ranks[f] += self._spread[f, at] / 2
        return ranks

    def tuples(self, feature: int = 0) -> tuple[Floats, Floats, Floats]:
        """Return the values, class weights and deltas of a feature's tuples."""
        entries = self.entries[feature, : self.used[feature]].copy()
        return (
            entries[:, sketch_kernels.VALUE],
            entries[:, sketch_kernels.GAPS :],
            entries[:, sketch_kernels.DELTA],
        )

    def cells(self) -> Cells:
        """Return the tuples as cells: ranges of values with the weight of each class."""
        # Those of all features, one feature after the other; each counts values from LOW to VALUE.
        tuples = self.entries[self._is_used]
        high, low = (tuples[:, c].copy() for c in (sketch_kernels.VALUE, sketch_kernels.LOW))
        start = np.concatenate([[0], np.cumsum(self.used)]).astype(np.int64)
        return Cells.joined(start, tuples[:, sketch_kernels.GAPS :], low, high)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        sketch_kernels.fade_quantiles(factor, LIGHT, NOTHING, self.used, self.entries)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        # Without an epsilon 0.0, which is no valid one.
        return super().arrays() | {"limits": np.array([self.size, self.epsilon or 0.0])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        size, saved_epsilon = arrays["limits"].tolist()
        epsilon = saved_epsilon or None  # 0.0 stands for none; see `arrays`
        n_features, room, n_columns = arrays["entries"].shape
        n_classes = n_columns - sketch_kernels.GAPS
        summary = cls(n_features, n_classes, size=int(size), epsilon=epsilon)
        if epsilon is not None:
            summary.room = room  # it grew with the rows; that of a fixed size is `size`
        return summary.restore(arrays)

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        # Columns VALUE and LOW of a tuple are the first two.
        value, low, used = *np.moveaxis(self.entries, 2, 0)[:2], self._is_used
        if (self.used > self.room).any() or (self.entries[..., sketch_kernels.OWN :] < 0).any():
            raise DataError(f"A saved state has at most {self.room} tuples of weights from 0 on.")
        check_ascending("value", value, used, ties=False)
        if (used & (low > value)).any():
            raise DataError("A saved state has tuples that begin after their end.")


# ------ Class-conditional histograms in bounded memory: partition incremental discretisation (PiD)


class PiDSummary(CutSummaries):
    """Histograms of columns by class, with at most `size` bins that are split and merged (PiD).

    A feature starts with one bin. A value outside the range extends the first or the last bin. A
    bin that holds more than 2 / `size` of the total weight is split in the middle, and each half
    gets half of its counts. Once there are `size` bins, the two neighbours with the smallest sum
    are merged after each split. No weight is lost. Because the division of a bin's weight is a
    guess, there is no bound on the error, unlike for `GKSummary`.

    The result depends on the order of the rows: sorted rows fill the bins that were made last, for
    which equal halves are a wrong guess. For smooth densities in random order the histograms are
    more exact than `GKSummary`; outliers and very frequent values use up bins. See `GKSummary` for
    errors measured in several orders.

    After `fade`, bins at the ends of the range with less than 1e-12 of the weight are removed, and
    their remaining weight goes to their neighbours: the range is that of the bins that remain.

    Parameters
    ----------
    n_features, n_classes : int
    size : int
        Maximum number of bins per feature, at least 2.

    References
    ----------
    J. Gama, C. Pinto: Discretization from data streams: applications to histograms and data mining.
    SAC 2006. In constant memory: C. Salperwyck, V. Lemaire, C. Hue, EGC 2014.
    """

    name = "pid"
    options = ("size",)

    # Weight of each feature, and edges and class weights of its bins; see `absorb_histograms`.
    total: Floats
    edge: Floats
    count: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "used": Field(("n_features",), 0.0, dtype=np.int64),
        "total": Field(("n_features",), 0.0),
        "edge": Field(("n_features", "n_edges")),
        "count": Field(("n_features", "room", "n_classes"), 0.0),
    }

    def __init__(self, n_features: int = 1, n_classes: int = 1, *, size: int = 100) -> None:
        self.size = whole_number("size", "entries", size, 2)
        # One additional bin, as splits come before merges.
        self.room, self.n_edges = self.size + 1, self.size + 2
        super().__init__(n_features, n_classes)

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        state = (self.used, self.edge, self.count, self.total)
        arrays = (columns, classes, weights, *state)
        # Rows of the kernel are features here; a value takes about 64 operations.
        by_rows(sketch_kernels.absorb_histograms, arrays, len(columns), 64 * columns.shape[1])

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.asarray((self.count * self._is_used[..., None]).sum(axis=1))

    def bins(self, feature: int = 0) -> tuple[Floats, Floats]:
        """Return the ascending edges of a feature's bins, and the class weights of the bins."""
        n = self.used[feature]
        return self.edge[feature, : n + 1].copy(), self.count[feature, :n].copy()

    def cells(self) -> Cells:
        """Return the bins as cells, after merging empty bins into their neighbours."""
        used = self._is_used
        start = np.concatenate([[0], np.cumsum(self.used)]).astype(np.int64)
        low, high = self.edge[:, :-1][used], self.edge[:, 1:][used]
        return Cells.joined(start, self.count[used], low, high)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        state = (self.used, self.edge, self.count, self.total)
        sketch_kernels.fade_histograms(factor, LIGHT, NOTHING, *state)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        n_features, room, n_classes = arrays["count"].shape
        return cls(n_features, n_classes, size=room - 1).restore(arrays)

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        used = self.used[:, None]
        if (used > self.size).any():
            raise DataError(f"A saved state has at most {self.size} bins.")
        # Of n bins there are n + 1 edges, and none if there is no bin.
        inside = (np.arange(self.n_edges) <= used) & (used > 0)
        check_ascending("edge", self.edge, inside, ties=True)


# -------------------------- Class-conditional counts, means and sums of squares of numeric columns


class GaussianSummary(ColumnSummaries):
    """Weight, mean and variance of each feature in each class, updated in a numerically stable way.

    If `fade` reduces the weight of a feature in a class to less than 1e-100 rows, weight, mean and
    variance are reset to zero.

    Parameters
    ----------
    n_features, n_classes : int

    References
    ----------
    T. Chan, G. Golub, R. LeVeque: Updating formulae and a pairwise algorithm for computing sample
    variances. Stanford 1979.
    """

    name = "gaussian"
    densities = "gaussians"

    # See `GroupMoments`, whose groups are the classes here.
    count: Floats
    centre: Floats
    square: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "count": Field(("n_classes", "n_features"), 0.0),
        "centre": Field(("n_classes", "n_features")),
        "square": Field(("n_classes", "n_features"), 0.0),
    }

    @property
    def moments(self) -> GroupMoments:
        """Weight, mean and sum of squared deviations of each class, (n_classes, n_features)."""
        return GroupMoments(self.count, self.centre, self.square)

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        moments = self.moments + GroupMoments.collect(columns.T, classes, self.n_classes, weights)
        self.count, self.centre, self.square = moments.count, moments.mean, moments.square

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.ascontiguousarray(self.count.T)

    @property
    def mean(self) -> Floats:
        """Means, shape (n_features, n_classes); 0 without observed values."""
        return np.ascontiguousarray(self.centre.T)

    @property
    def variance(self) -> Floats:
        """Variances (divided by the weight), shape (n_features, n_classes); 0 where unknown."""
        return np.ascontiguousarray((self.square / np.where(self.count > 0, self.count, 1.0)).T)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        there = self.count * factor >= NOTHING
        self.count = np.where(there, self.count * factor, 0.0)
        self.centre = np.where(there, self.centre, 0.0)
        self.square = np.where(there, self.square * factor, 0.0)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        return cls(*arrays["count"].shape[::-1]).restore(arrays)


# ----- Summaries of the columns of a stream in bounded memory, for all columns of a table together


# All summaries of numeric columns by name; the card of each class describes it, see
# ColumnSummaries.
SUMMARIES: dict[str, type[ColumnSummaries]] = {
    kind.name: kind for kind in (GKSummary, PiDSummary, GaussianSummary)
}


# ----------------- Cut points of columns from histograms that summarise a stream, without the rows


def frequency_ends(column: SortedColumn, bins: int) -> Floats:
    """Return the maximum of each interval of `frequency_cuts` but the last, as good for cells."""
    last, _, at = quantiles(column, bins)
    return np.asarray(column.high[last[at]])


def means_cuts(column: SortedColumn, bins: int) -> Floats:
    """Return the cut points between k-means clusters: Lloyd's algorithm, from equal weights."""
    cuts, place = frequency_ends(column, bins), column.low / 2 + column.high / 2
    weight = column.weights if column.weights.size else np.ones(len(place))
    # Cluster of each entry, which is where the middle of its range is; clusters are intervals.
    label = np.searchsorted(cuts, place)
    for _ in range(50):  # at most: Lloyd's algorithm may take long for the last few entries
        of_cluster = np.bincount(label, weight)
        # Clusters that lost all entries are dropped.
        centre = np.bincount(label, weight * place)[of_cluster > 0] / of_cluster[of_cluster > 0]
        cuts = centre[:-1] / 2 + centre[1:] / 2
        before, label = label, np.searchsorted(cuts, place)
        if (label == before).all():
            break
    return np.asarray(cuts)


# Functions that cut the cells of one feature, named like the discretisers of tables.
CELL_METHODS: dict[str, Callable[[SortedColumn, int], Floats]] = {
    "width": width_cuts,
    "frequency": frequency_ends,
    "mdlp": lambda column, _: mdlp_cuts(column),
    "modl": lambda column, _: modl_intervals(column).cuts,
    "kmeans": means_cuts,
}


def cut_cells(method: str, cells: Cells, bins: int) -> NDArray[np.bool_]:
    """Discretise the histogram of each feature; return a mask of the cells that begin an interval.

    Parameters
    ----------
    method : str
        A key of `CELL_METHODS`.
    cells : Cells
    bins : int
        Number of intervals of each feature, for methods that do not choose it.
    """
    # A cell is where the middle of its range is.
    middle, interval = cells.low / 2 + cells.high / 2, np.empty(len(cells.low), dtype=np.intp)
    for a, b in pairwise(cells.start.tolist()):
        column = SortedColumn.of_counts(cells.low[a:b], cells.high[a:b], cells.counts[a:b])
        interval[a:b] = np.searchsorted(CELL_METHODS[method](column, bins), middle[a:b])
    begins = np.diff(interval, prepend=-1) > 0
    # The first cell of each feature that has cells.
    begins[cells.start[:-1][np.diff(cells.start) > 0]] = True
    return begins


def cell_factorials(start: NDArray[np.int64], counts: Floats) -> Floats:
    """Return the logs of factorials that the MODL cost of a partition of cells needs.

    They go up to the largest weight of a feature plus its number of cells and of classes. For
    `start` and `counts` see `Cells`.
    """
    # Weight before each cell; the largest weight of a feature.
    below = np.concatenate([[0.0], np.cumsum(counts.sum(axis=1))])
    total = float((below[start[1:]] - below[start[:-1]]).max(initial=0.0))
    n_cells = int(np.diff(start).max(initial=0))
    return factorial_table(total, n_cells + counts.shape[1] + 2)
