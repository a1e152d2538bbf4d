"""Requests for statistics: of single columns, of all pairs of columns, or of chosen families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bayesgraph.variables import Continuous, CountVector, Discrete, Variable


@dataclass(frozen=True)
class Family:
    """A set of columns whose joint statistics are requested.

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
        """Return the family of variables, discrete and continuous ones each in the given order."""
        return cls(
            tuple(v for v in variables if isinstance(v, Discrete)),
            tuple(v for v in variables if isinstance(v, Continuous)),
        )


@dataclass(frozen=True)
class Singles:
    """Request for the counts of states, or the moments, of each column.

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
    """Request for the joint statistics of chosen families (sets of columns)."""

    families: tuple[Family, ...]


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


Request: TypeAlias = Singles | Pairs | Families | Moments | Samples | Totals
