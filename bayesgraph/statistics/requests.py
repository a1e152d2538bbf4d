"""Types of requests for statistics: of single columns, pairs of columns, or chosen families."""

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
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Variable

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


@dataclass(frozen=True)
class Pairs:
    """Request for the joint counts or moments of each column and each pair of columns.

    They are collected within each state of `given`, or over all rows if it is None.
    """

    columns: tuple[Variable, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Families:
    """Request for the joint counts and moments of chosen families (sets of columns)."""

    families: tuple[Family, ...]


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

    @property
    def used(self) -> set[int]:
        """The numbers of the columns that a group names."""
        return {i for group in self.groups for part in group for i in part}

    @cached_property
    def plan(self) -> NDArray[np.int64]:
        """For each group how many columns are new, how many are others, and these columns."""
        flat: list[int] = []
        for new, others in self.groups:
            flat += (len(new), len(others), *new, *others)
        return np.array(flat, dtype=np.int64)

    @property
    def n_cells(self) -> int:
        """The number of cells of all tables."""
        cards = self.columns.cards.tolist()
        return sum(
            math.prod([cards[i] for i in others]) * sum([cards[i] for i in new])
            for new, others in self.groups
        )


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


def state_positions(old: Discrete | None, new: Discrete | None) -> NDArray[np.intp] | None:
    """Return the index of each old state among the states of the new variable.

    The result is None if the states have not changed.
    """
    if old == new or old is None or new is None:
        return None
    return np.array([new.index(state) for state in old.states], dtype=np.intp)


def grown_axis(values: Floats, axis: int, at: NDArray[np.intp] | None, size: int) -> Floats:
    """Return an array with one axis enlarged to `size`, on which index i moves to index ``at[i]``.

    New entries are zero. If `at` is None, the array is returned unchanged.
    """
    if at is None:
        return values
    shape = list(values.shape)
    shape[axis] = size
    grown = np.zeros(shape)
    index: list[slice | NDArray[np.intp]] = [slice(None)] * values.ndim
    index[axis] = at
    grown[tuple(index)] = values
    return grown


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
        changed = {}
        for part in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, part.name), getattr(other, part.name)
            if isinstance(mine, tuple):
                changed[part.name] = tuple(combine(a, b) for a, b in zip(mine, theirs, strict=True))
            elif part.name != "request":
                changed[part.name] = combine(mine, theirs)
        return replace(self, **changed)  # type: ignore[type-var]

    def grown(self, renamed: Mapping[Variable, Variable]) -> Self:
        """Re-index the statistics to variables with additional states.

        `renamed` maps each old variable to the variable that replaces it. The first axis of all
        arrays are the states of the variable `given` of the request.
        """
        mine: Any = self
        changed = {"request": grown_request(mine.request, renamed)}
        groups = grown_groups(mine.request.given, changed["request"].given)
        for part in fields(mine):
            value = getattr(self, part.name)
            if isinstance(value, np.ndarray):
                changed[part.name] = grown_axis(value, 0, *groups)
            elif part.name != "request":
                changed[part.name] = value.grown(*groups)
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


def grown_groups(old: Discrete | None, new: Discrete | None) -> tuple[NDArray[np.intp] | None, int]:
    """Return the new index of each group of rows, and the new number of groups.

    Rows are grouped by the state of the variable `old`; the variable `new` replaces it and has
    additional states. If both are None, there is a single group. The indices are None if they do
    not change.
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
