"""Requests for statistics, and what they add up from: sums over rows, and moments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.parallel import blocks, check_memory, in_order, one_blas_thread, tree_sum
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Variable
from bayesgraph.statistics import counting_kernels

# Maximum number of axes of an array of NumPy, less those of moments.
_MOST_AXES = 60

# ------- Types of requests for statistics: of single columns, pairs of columns, or chosen families


@dataclass(frozen=True)
class Family:
    """A family: a set of columns (child and parents) whose joint statistics are requested.

    Attributes
    ----------
    discrete : tuple of Discrete
        Axes of the counts, in this order.
    continuous : tuple of Continuous
        Columns of the moments in each configuration of the discrete columns, in this order.
    """

    discrete: tuple[Discrete, ...]
    continuous: tuple[Continuous, ...] = ()

    @classmethod
    def of(cls, *variables: Variable) -> Family:
        """Return the family of these variables; discrete and continuous ones keep their order."""
        kinds: tuple[list[Any], list[Any]] = [], []
        # False is the index of the discrete ones, True that of the continuous.
        for variable in variables:
            kinds[isinstance(variable, Continuous)].append(variable)
        return cls(*map(tuple, kinds))

    @property
    def columns(self) -> tuple[Variable, ...]:
        """All of its columns, the discrete ones first."""
        return (*self.discrete, *self.continuous)

    def is_part_of(self, family: Family) -> bool:
        """Return whether another family has all of these columns, in the same order."""
        return self.columns == tuple([v for v in family.columns if v in self.columns])


@dataclass(frozen=True)
class Singles:
    """Request for the state counts (discrete) or moments (continuous) of each column.

    They are collected within each state of `given`, or over all rows if it is None.
    """

    columns: tuple[Variable, ...]
    given: Discrete | None = None


class Pairs(Singles):
    """Request for the statistics of `Singles`, and the joint ones of each pair of columns."""


@dataclass(frozen=True)
class Families:
    """Request for the joint counts and moments of chosen families (sets of columns)."""

    families: tuple[Family, ...]

    @property
    def n_cells(self) -> float:
        """The number of counts and moments, infinite where an array has too many axes."""
        if max((len(family.discrete) for family in self.families), default=0) > _MOST_AXES:
            return math.inf
        # A count, n means and n^2 co-moments: (1 + n)^2 are a little more.
        return sum(
            math.prod([v.cardinality for v in family.discrete]) * (1 + len(family.continuous)) ** 2
            for family in self.families
        )


@dataclass(frozen=True)
class Numbered:
    """Columns that requests name by their numbers.

    Attributes
    ----------
    variables : tuple of Variable
    """

    variables: tuple[Variable, ...]

    @cached_property
    def cards(self) -> NDArray[np.int64]:
        """The number of states of each column, 0 for those that are not discrete."""
        cards = [v.cardinality if isinstance(v, Discrete) else 0 for v in self.variables]
        return np.array(cards, dtype=np.int64)


@dataclass(frozen=True)
class Extensions:
    """Request for the joint counts of columns, each together with the same other columns.

    Attributes
    ----------
    columns : Numbered
    groups : tuple of (new, others)
        Numbers of discrete columns: each of the new ones extends the family of the others.
    """

    # There may be many columns; requests are told apart by comparing them.
    columns: Numbered = field(hash=False)
    groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    @cached_property
    def plan(self) -> NDArray[np.int64]:
        """For each group how many columns are new, how many are others, and these columns."""
        flat: list[int] = []
        for new, others in self.groups:
            flat += (len(new), len(others), *new, *others)
        return np.array(flat, dtype=np.int64)

    @cached_property
    def shapes(self) -> list[tuple[int, int, int]]:
        """The shape of each new column's table.

        It has the states of the column, the configurations of the others but the last one, and the
        states of that.
        """
        cards, shapes = self.columns.cards.tolist(), list[tuple[int, int, int]]()
        for new, others in self.groups:
            *above, states = [cards[i] for i in others] or [1]
            strata = math.prod(above)
            shapes += [(cards[i], strata, states) for i in new]
        return shapes

    @property
    def n_cells(self) -> int:
        """The number of cells of all tables."""
        return sum(math.prod(shape) for shape in self.shapes)


@dataclass(frozen=True)
class Moments:
    """Request for moments of functions of columns within each state of `given`, or over all rows.

    Attributes
    ----------
    columns : tuple of Continuous
    functions : tuple of str
        Names in the table `TRANSFORMS`; every function is applied to every column.
    given : Discrete or None
    """

    columns: tuple[Continuous, ...]
    functions: tuple[str, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Samples:
    """Request for the distinct values of columns within each state of `given`, or in all rows."""

    columns: tuple[Continuous, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Histograms:
    """Request for histograms of columns within each state of `given`, or over all rows.

    Attributes
    ----------
    columns : tuple of Continuous
    edges : tuple of tuples of float
        For each column distinct ascending numbers. Of E edges there are 2E + 1 bins: in turn the
        numbers below the first edge, the first edge itself, the numbers between it and the second
        edge, and so on.
    given : Discrete or None
    """

    columns: tuple[Continuous, ...]
    # There may be many edges; requests are told apart by comparing them.
    edges: tuple[tuple[float, ...], ...] = field(hash=False)
    given: Discrete | None = None

    @cached_property
    def edge_arrays(self) -> tuple[Floats, ...]:
        """The edges of each column as an array."""
        return tuple(np.array(edges) for edges in self.edges)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Offset of each column's bins among those of all columns, shape (n_columns + 1,)."""
        sizes = [2 * len(edges) + 1 for edges in self.edges]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True)
class Totals:
    """Request for the total count of each item within each state of `given`, or over all rows.

    Attributes
    ----------
    vector : CountVector
    given : Discrete or None
    threshold : float or None
        If it is a number, the rows in which an item's count exceeds the threshold are counted,
        instead of adding up the item's counts.
    """

    vector: CountVector
    given: Discrete | None = None
    threshold: float | None = None


Request: TypeAlias = (
    Singles | Pairs | Families | Extensions | Moments | Samples | Histograms | Totals
)


# -------- Additive statistics: sums over rows that support +, - and additional states of variables


# Tolerance of sums after rows were removed, relative to the largest sum before.
_ROUNDING = 1e-12


def grown_variable(
    variable: Discrete | None, renamed: Mapping[Variable, Variable]
) -> Discrete | None:
    """Return the variable to which `renamed` maps `variable`; if there is none, `variable`."""
    if variable is None:
        return None
    grown = renamed.get(variable, variable)
    assert isinstance(grown, Discrete)  # growing keeps the kind
    return grown


def state_positions(old: Discrete | None, new: Discrete | None) -> NDArray[np.intp]:
    """Return the index of each old state among the states of the new variable.

    Without variables, it is that of the only group of rows.
    """
    if old == new or old is None or new is None:
        return np.arange(1 if old is None else old.cardinality)
    return np.array([new.index(state) for state in old.states], dtype=np.intp)


def grown_axis(values: Floats, axis: int, at: NDArray[np.intp], size: int) -> Floats:
    """Return an array with one axis enlarged to `size`, on which index i moves to index ``at[i]``.

    New entries are zero. If nothing moves, the array is returned unchanged.
    """
    if len(at) == size and (at == np.arange(size)).all():
        return values
    shape = list(values.shape)
    shape[axis] = size
    grown = np.zeros(shape)
    # A view, through which the entries are written.
    np.moveaxis(grown, axis, 0)[at] = np.moveaxis(values, axis, 0)
    return grown


def check_cells(request: Families | Extensions, copies: int = 4) -> None:
    """Raise a MemoryLimitError before tables of counts are made that do not fit in memory.

    Of each table, `copies` are held: counts, pseudo-counts, probabilities and their sums.
    """
    check_memory(
        "The counts and probabilities of all children, each with its parents, need",
        request.n_cells,
        "Allow fewer parents (arcs, required=, max_parents=), or use columns of fewer states.",
        copies=copies,
    )


class Additive:
    """Base class of dataclasses with + and -, which act on each field.

    Fields are arrays of sums over rows, other objects with + and -, or tuples of these. The field
    `request` (which statistics these are) is kept unchanged.
    """

    def __add__(self, other: Self) -> Self:
        return self._combined(other, operator.add)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, subtracted)

    def _combined(self, other: Self, combine: Callable[[Any, Any], Any]) -> Self:
        """Return the statistics whose fields, and entries of tuples, `combine` makes of both."""
        changed = {}
        for each in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, tuple):
                changed[each.name] = tuple(combine(a, b) for a, b in zip(mine, theirs, strict=True))
            elif each.name != "request":
                changed[each.name] = combine(mine, theirs)
        return replace(self, **changed)  # type: ignore[type-var]

    def grown(self, renamed: Mapping[Variable, Variable]) -> Self:
        """Re-index the statistics to variables with additional states.

        `renamed` maps each old variable to the variable that replaces it. The first axis of all
        arrays are the states of the variable `given` of the request.
        """
        mine: Any = self
        changed = {"request": grown_request(mine.request, renamed)}
        # What `grown_axis` takes: the new indices, and the new number of groups.
        groups = grown_groups(mine.request.given, changed["request"].given)
        for each in fields(mine):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                changed[each.name] = grown_axis(value, 0, *groups)
            elif each.name != "request":
                changed[each.name] = value.grown(*groups)
        return replace(mine, **changed)  # type: ignore[no-any-return]


def subtracted(whole: Any, part: Any) -> Any:
    """Return ``whole - part`` for sums over rows; in arrays, rounding errors are set to zero."""
    return removed(whole - part, whole) if isinstance(whole, np.ndarray) else whole - part


_Request = TypeVar("_Request")


def grown_request(request: _Request, renamed: Mapping[Variable, Variable]) -> _Request:
    """Return the request with variables replaced; `renamed` maps old variables to new ones."""
    if isinstance(request, Families):
        families = (
            Family.of(*(renamed.get(v, v) for v in f.discrete), *f.continuous)
            for f in request.families
        )
        return Families(tuple(families))  # type: ignore[return-value]
    changed: dict[str, Any] = {"given": grown_variable(request.given, renamed)}  # type: ignore[attr-defined]
    if hasattr(request, "columns"):
        changed["columns"] = tuple(renamed.get(v, v) for v in request.columns)
    return replace(request, **changed)  # type: ignore[type-var]


def grown_groups(old: Discrete | None, new: Discrete | None) -> tuple[NDArray[np.intp], int]:
    """Return the new index of each group of rows, and the new number of groups.

    Rows are grouped by the state of the variable `old`; the variable `new` replaces it and has
    additional states. If both are None, there is a single group.
    """
    return state_positions(old, new), 1 if new is None else new.cardinality


def removed(rest: Floats, before: Floats) -> Floats:
    """Return the weights `rest` left after a removal from `before`, rounding errors set to 0.

    Raises
    ------
    DataError
        If a weight is negative, because more was removed than there was.
    """
    # Rounding errors are relative to the largest sum before the removal.
    small = np.abs(rest) <= _ROUNDING * np.abs(before).max(initial=0.0)
    rest = np.where(small, 0.0, rest)
    if (rest < 0).any():
        raise not_fitted()
    return rest


def not_fitted() -> DataError:
    """Return the error for removing rows that the model was not fitted on."""
    return DataError(
        "These rows were not all part of what the model was fitted on: more would be removed than "
        "there is. Give the rows (and weights) exactly as they were fitted."
    )


# ------- Counts, means and sums of squared deviations, merged stably (Chan, Golub, LeVeque 1979)


# Ratios of a sum of squares to its former value below which half or all of its digits are lost.
_HALF_DIGITS, _NO_DIGITS = 1e-8, 1e-12
# Maximum ratio of a group's sum of squares before a removal to the column's sum after it at which
# the group's rounding errors are harmless: they are far below the smoothing of variances.
_HARMLESS = 100.0
# Number of values of which moments of pairs are computed together: they stay in the cache.
_TOGETHER = 1 << 16
# The number of states of a column of one state.
_ONE = np.ones(1, dtype=np.int64)


def safe_divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient of two arrays, and 0 where the denominator is not positive."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), 0.0)


def counts_of(codes: NDArray[np.signedinteger], n_states: int, weights: Floats) -> Floats:
    """Return the weight of the rows in each state; a code is -1 where it is missing.

    `weights` is empty if every row weighs 1.
    """
    there = codes >= 0
    row_weights = weights[there] if len(weights) else None
    return np.bincount(codes[there], row_weights, n_states).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Moments of each column within each group of rows.

    Attributes
    ----------
    count, mean, square : ndarray, shape (n_groups, n_columns)
        Weight of the observed rows, their mean (0 without rows), and the weighted sum of squared
        deviations from the mean.
    """

    count: Floats
    mean: Floats
    square: Floats

    @classmethod
    def collect(
        cls,
        values: Floats,
        group: NDArray[np.signedinteger],
        n_groups: int,
        weights: Floats,
        codes: NDArray[np.signedinteger] | None = None,
        cards: NDArray[np.int64] = _ONE,
    ) -> GroupMoments:
        """Return the moments of a table in one pass.

        Parameters
        ----------
        values : ndarray, shape (n_rows, n_columns)
        group : ndarray, shape (n_rows,)
            -1 where missing.
        n_groups : int
        weights : ndarray, shape (n_rows,) or (0,)
        codes : ndarray, shape (n_discrete, n_rows), optional
            Codes of discrete columns. The groups are then the states of all of these columns, one
            column after the other, within each of the `n_groups` groups.
        cards : ndarray, shape (n_discrete,)
            Numbers of their states.
        """
        # Without discrete columns, one of a single state.
        codes = np.zeros((1, len(values)), dtype=np.int8) if codes is None else codes
        start = np.concatenate([[0], np.cumsum(cards)])
        shape = (n_groups * int(start[-1]), values.shape[1])

        def of_block(rows: slice) -> GroupMoments:
            """Return the moments of some rows, which the kernel writes into arrays of zeros."""
            moments = cls(*np.zeros((3, *shape)))
            if moments.count.size:
                counting_kernels.mixed_moments(
                    np.ascontiguousarray(values[rows]), np.ascontiguousarray(codes[:, rows]),
                    group[rows], weights[rows], cards, start,
                    moments.count, moments.mean, moments.square,
                )  # fmt: skip
            return moments

        return tree_sum(in_order(of_block, blocks(len(values))))  # type: ignore[no-any-return]

    def __add__(self, other: Self) -> Self:
        count = self.count + other.count
        # Chan, Golub and LeVeque (1979): the mean moves towards the other one by its share of the
        # weight, and the square between the two parts has the weight n1 n2 / (n1 + n2).
        share = safe_divide(other.count, count)
        delta = other.mean - self.mean
        square = self.square + other.square + delta * delta * self.count * share
        return replace(self, count=count, mean=self.mean + delta * share, square=square)

    def __sub__(self, other: Self) -> Self:
        """Return the moments of the remaining rows when the rows of `other` are removed.

        Raises
        ------
        DataError
            If the moments cannot include the rows of `other`, or if so small a sum of squares would
            be left that more than half of its digits are lost.
        """
        # The mean moves away from that of the removed rows.
        count = removed(self.count - other.count, self.count)
        shift = (self.mean - other.mean) * safe_divide(other.count, count)
        mean = np.where(count > 0, self.mean + shift, 0.0)
        # The square between two parts has the weight n1 n2 / (n1 + n2): the reverse of `__add__`.
        weight = safe_divide(count * other.count, self.count)
        square = self.square - other.square - (other.mean - mean) ** 2 * weight
        square = np.where(count > 0, square, 0.0)
        square = _remaining_squares(square, self.square, count, mean)
        return replace(self, count=count, mean=mean, square=square)

    def grown(self, at: NDArray[np.intp], n_groups: int) -> Self:
        """Return the moments for `n_groups` groups; the old group g becomes group ``at[g]``."""
        arrays = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(grown_axis(array, 0, at, n_groups) for array in arrays))

    def columns(self, at: list[int]) -> GroupMoments:
        """Return the moments of the columns at some indices."""
        return GroupMoments(self.count[:, at], self.mean[:, at], self.square[:, at])

    def merged(self, shape: tuple[int, ...], axis: int) -> GroupMoments:
        """Return the moments after merging groups, such as the groups that differ in one variable.

        Parameters
        ----------
        shape : tuple of int
            Shape with which the groups, in C order, form an array.
        axis : int
            Axis of this array along which groups are merged into one.
        """
        arrays = self.count, self.mean, self.square
        count, mean, square = [a.reshape(*shape, a.shape[-1]) for a in arrays]
        total = count.sum(axis=axis)
        # Differences from the mean of the largest group, so that groups of equal means merge
        # exactly.
        largest = np.expand_dims(count.argmax(axis=axis), axis)
        reference = np.take_along_axis(mean, largest, axis)
        shift = safe_divide((count * (mean - reference)).sum(axis=axis), total)
        centre = reference.squeeze(axis) + shift
        spread = mean - np.expand_dims(centre, axis)
        # Squares within the groups, and between them.
        sums = (square + count * spread * spread).sum(axis=axis)
        flat = (math.prod(total.shape[:-1]), total.shape[-1])
        return GroupMoments(total.reshape(flat), centre.reshape(flat), sums.reshape(flat))


@dataclass(frozen=True, eq=False)
class PairMoments(GroupMoments):
    """Moments of pairs of columns within each group, from the rows that observe both columns.

    Arrays broadcast to (n_groups, d, d) for d columns. Without missing values, `count`, `mean` and
    `square` do not depend on the second column of a pair, and have a smaller shape.

    Attributes
    ----------
    count : ndarray, shape (n_groups, 1, 1) or (n_groups, d, d)
    mean : ndarray, shape (n_groups, d, 1) or (n_groups, d, d)
        ``mean[g, i, j]`` is the mean of column i over the rows that observe columns i and j.
    square : ndarray, shape as mean
        Sum of squared deviations of column i over these rows.
    comoment : ndarray, shape (n_groups, d, d)
        Sum of products of deviations of columns i and j.
    """

    comoment: Floats

    @classmethod
    def collect_pairs(
        cls, values: Floats, group: NDArray[np.signedinteger], n_groups: int, weights: Floats
    ) -> PairMoments:
        """Return the moments of all pairs of columns; arguments as in `GroupMoments.collect`."""
        # Without columns there are counts alone.
        if not values.shape[1] and not len(weights):
            count = np.bincount(group[group >= 0], minlength=n_groups).astype(np.float64)
            none, nothing = np.empty((n_groups, 0, 1)), np.empty((n_groups, 0, 0))
            return cls(count[:, None, None], none, none, nothing)
        # The sums of a matrix product depend on the number of threads; a model must not.
        with one_blas_thread():
            return tree_sum(  # type: ignore[no-any-return]
                cls._of_block(values[rows], group[rows], n_groups, weights[rows])
                for rows in blocks(len(values))
            )

    @classmethod
    def _of_block(
        cls, values: Floats, group: NDArray[np.signedinteger], n_groups: int, weights: Floats
    ) -> PairMoments:
        """Return the moments of a block of rows: those of each group's rows, a few at a time."""
        values, d = np.ascontiguousarray(values), values.shape[1]
        n_rows = max(_TOGETHER // max(d, 1), 1)
        buffer = np.empty((min(n_rows, len(values)), d))

        def moments_of(rows: NDArray[np.intp]) -> PairMoments:
            """Return the moments of the rows of some indices, which are copied to `buffer`."""
            # With mode="clip" NumPy writes to `out` directly.
            chosen = np.take(values, rows, axis=0, out=buffer[: len(rows)], mode="clip")
            return _pair_moments(chosen, weights[rows] if len(weights) else np.ones(len(rows)))

        # NumPy sorts integers of 16 bits by their digits, in linear time.
        short = group.astype(np.int16) if n_groups < 1 << 15 else group
        order = np.argsort(short, kind="stable")
        # Rows without a group, -1, come before the first one. If no row has a group, group 0 stands
        # for an empty part, which has the shapes.
        bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
        groups = np.flatnonzero(np.diff(bounds)) if bounds[-1] > bounds[0] else np.zeros(1, np.intp)
        parts = []
        for g in groups.tolist():
            members = order[bounds[g] : bounds[g + 1]]
            starts = range(0, max(len(members), 1), n_rows)
            parts.append(tree_sum(moments_of(members[first : first + n_rows]) for first in starts))
        # Arrays of groups without missing values have axes of length 1; see `PairMoments`. If
        # some group has missing values, all get the shape of its arrays.
        same_shape = len({part.mean.shape for part in parts}) == 1
        of_groups = []
        for array in fields(cls):
            arrays = [getattr(part, array.name) for part in parts]
            if not same_shape:
                arrays = [np.broadcast_to(a, (1, d, d)) for a in arrays]
            of_groups.append(np.zeros((n_groups, *arrays[0].shape[1:])))
            of_groups[-1][groups] = np.concatenate(arrays)
        return cls(*of_groups)

    def __add__(self, other: Self) -> Self:
        # Chan, Golub and LeVeque (1979), whose weight is n1 n2 / (n1 + n2).
        weight = self.count * safe_divide(other.count, self.count + other.count)
        delta = other.mean - self.mean
        comoment = self.comoment + other.comoment + delta * delta.swapaxes(1, 2) * weight
        return replace(super().__add__(other), comoment=comoment)

    def __sub__(self, other: Self) -> Self:
        """Return the moments of the remaining rows; see `GroupMoments`."""
        left = super().__sub__(other)
        # The products between two parts have the weight n1 n2 / (n1 + n2): the reverse of +.
        weight = safe_divide(left.count * other.count, self.count)
        delta = other.mean - left.mean
        between = delta * delta.swapaxes(1, 2) * weight
        # A constant has no comoments; entry (i, j) of `square` is of column i, so of j in the
        # transpose.
        varies = np.broadcast_to(left.square > 0, self.comoment.shape)
        vary = varies & varies.swapaxes(1, 2)
        return replace(left, comoment=np.where(vary, self.comoment - other.comoment - between, 0.0))


def group_comoments(
    values: Floats,
    group: NDArray[np.signedinteger],
    n_groups: int,
    weights: Floats,
    rows: NDArray[np.intp] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the weight, the means and the comoments of each group of complete rows.

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
    group : ndarray, shape (n_rows,), or (len(rows),) with `rows`
    n_groups : int
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    rows : ndarray, optional
        Indices of the rows to use; by default all rows.

    Returns
    -------
    count : ndarray, shape (n_groups,)
    mean : ndarray, shape (n_groups, d)
        0 in an empty group.
    comoment : ndarray, shape (n_groups, d, d)
        Sums of products of deviations from the mean.
    """
    if rows is not None:
        values, weights = values[rows], weights[rows] if len(weights) else weights
    # The sums of a matrix product depend on the number of threads; a model must not.
    with one_blas_thread():
        moments = PairMoments._of_block(values, group, n_groups, weights)
    # Summed in the same way as counts elsewhere: equal counts then show that no row is left out.
    count = np.bincount(group, weights=weights if len(weights) else None, minlength=n_groups)
    return count.astype(np.float64), moments.mean[..., 0], moments.comoment


def _remaining_squares(rest: Floats, before: Floats, count: Floats, mean: Floats) -> Floats:
    """Return sums of squares after rows were removed, with rounding errors replaced by zero.

    Parameters
    ----------
    rest, before : ndarray, shape (n_groups, ...)
        Sums of squares after and before rows were removed.
    count, mean : ndarray, broadcastable to that shape
        Weight and mean of the rows that remain.

    Raises
    ------
    DataError
        If a group's sum lost half of its digits, and the sum of squares of the whole column became
        small too; or if a sum is clearly negative, because rows were removed that had not been
        added.
    """
    if (rest < -_HALF_DIGITS * before.sum(axis=0)).any():
        raise not_fitted()
    weight = np.broadcast_to(count, rest.shape)
    centre = safe_divide((weight * mean).sum(axis=0), weight.sum(axis=0))
    # The sum of squares of the whole column: within the groups, and between them.
    whole = np.maximum(rest, 0.0).sum(axis=0) + (weight * (mean - centre) ** 2).sum(axis=0)
    # Of these groups half of the digits are lost, which matters if the whole column is small too.
    lost = (weight > 0) & (before > 0) & (rest < _HALF_DIGITS * before)
    if (lost & (before > _HARMLESS * whole)).any():
        raise DataError(
            "Nearly all the spread of a column is in the rows to forget; what is left of its "
            "variance would be rounding error. Fit again on the rows that stay."
        )
    return np.where(rest > _NO_DIGITS * before, rest, 0.0)


def _pair_moments(values: Floats, weight: Floats) -> PairMoments:
    """Return the pair moments of one group of rows, computed by matrix products.

    `values` is overwritten: to allocate such arrays anew would take as long as the products.
    """
    d = values.shape[1]
    total = float(weight.sum())
    # Indices of the columns with missing values: a sum with NaN is NaN.
    gaps = np.flatnonzero(np.isnan(values.sum(axis=0)))
    if not len(gaps):
        # Differences from the first row, so that deviations of a constant column are exactly zero.
        first = values[0].copy() if total > 0 else np.zeros(d)
        values -= first
        shift = weight @ values / total if total > 0 else np.zeros(d)
        values -= shift
        comoment, mean = _products(values, weight), first + shift
        square = np.diagonal(comoment)
        return PairMoments(
            np.full((1, 1, 1), total), mean[None, :, None], square[None, :, None], comoment[None]
        )
    # Masks and weights are needed only of the columns with missing values.
    missing = np.isnan(values[:, gaps])
    there = (~missing).astype(np.float64)
    first = values[0].copy()
    # The first value of these that is not missing, or 0.
    first[gaps] = np.take_along_axis(values[:, gaps], missing.argmin(axis=0)[None], 0)[0]
    first[np.isnan(first)] = 0.0
    # Centring keeps the following sums small, whatever the distance of the values from zero.
    deviation = np.subtract(values, first, out=values)
    deviation[:, gaps] = np.where(missing, 0.0, deviation[:, gaps])
    weighted = there * weight[:, None]
    observed = np.full(d, total)
    observed[gaps] = weighted.sum(axis=0)
    shift = safe_divide(deviation.T @ weight, observed)
    deviation -= shift
    deviation[:, gaps] *= there
    # Sums over the rows that observe the second column of a pair: all, but for columns with gaps.
    comoment = _products(deviation, weight)
    count, total_i, square = (np.empty((d, d)) for _ in range(3))
    # Of a pair with a complete column, the rows are those of the other one: the fewer.
    count[:] = np.minimum.outer(observed, observed)
    count[np.ix_(gaps, gaps)] = there.T @ weighted
    # Entry (i, j): the sum of deviations of column i, and of their squares, where j is observed.
    total_i[:] = (deviation.T @ weight)[:, None]
    total_i[:, gaps] = deviation.T @ weighted
    square[:] = np.diagonal(comoment)[:, None]
    square[:, gaps] = np.square(deviation, out=deviation).T @ weighted
    # The mean deviation of column i in the rows of the pair: squares and products become those
    # about the means of these rows.
    offset = safe_divide(total_i, count)
    square -= total_i * offset
    comoment -= total_i * offset.T
    mean = np.where(count > 0, (first + shift)[:, None] + offset, 0.0)
    return PairMoments(count[None], mean[None], np.maximum(square, 0.0)[None], comoment[None])


def _products(deviation: Floats, weight: Floats) -> Floats:
    """Return the weighted sums of products of columns; BLAS needs half the time if all weigh 1."""
    weighted = deviation if (weight == 1.0).all() else deviation * weight[:, None]
    return np.asarray(deviation.T @ weighted)
