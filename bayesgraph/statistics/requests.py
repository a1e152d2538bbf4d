"""Types of requests for statistics: of single columns, pairs of columns, or chosen families."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, CountVector, Discrete, Variable


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
        return cls(
            tuple(v for v in variables if isinstance(v, Discrete)),
            tuple(v for v in variables if isinstance(v, Continuous)),
        )


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
        total = 0
        for new, others in self.groups:
            size = 1
            for i in others:
                size *= cards[i]
            total += size * sum([cards[i] for i in new])
        return total


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
