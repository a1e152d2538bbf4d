"""Requests for statistics: of single columns, of all pairs of columns, or of chosen families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bayesgraph.variables import Continuous, CountVector, Discrete, Variable


@dataclass(frozen=True)
class Family:
    """A set of columns whose joint statistics are wanted.

    Attributes
    ----------
    discrete : tuple of Discrete
        Axes of the counts, in this order.
    continuous : tuple of Continuous
        Columns of the moments for each configuration of the discrete ones, in this order.
    """

    discrete: tuple[Discrete, ...]
    continuous: tuple[Continuous, ...] = ()

    @classmethod
    def of(cls, *variables: Variable) -> Family:
        """Return the family of some variables, each kind in the order given."""
        return cls(
            tuple(v for v in variables if isinstance(v, Discrete)),
            tuple(v for v in variables if isinstance(v, Continuous)),
        )


@dataclass(frozen=True)
class Singles:
    """Each column by itself, given the states of one discrete variable (or of none)."""

    columns: tuple[Variable, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Pairs:
    """Each column and each pair of columns, given the states of one discrete variable (or none)."""

    columns: tuple[Variable, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Families:
    """Chosen families and nothing else."""

    families: tuple[Family, ...]


@dataclass(frozen=True)
class Moments:
    """Moments of functions of columns, given the states of one variable (or none).

    Attributes
    ----------
    columns : tuple of Continuous
    functions : tuple of str
        Of the table `TRANSFORMS`: each of them of each column.
    given : Discrete or None
    """

    columns: tuple[Continuous, ...]
    functions: tuple[str, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Samples:
    """The values of columns themselves, given the states of one variable (or none)."""

    columns: tuple[Continuous, ...]
    given: Discrete | None = None


@dataclass(frozen=True)
class Totals:
    """Counts of many items added up, given the states of one variable (or none).

    Attributes
    ----------
    vector : CountVector
    given : Discrete or None
    threshold : float or None
        Count rows in which the item's count exceeds this, instead of adding the counts up.
    """

    vector: CountVector
    given: Discrete | None = None
    threshold: float | None = None


Request: TypeAlias = Singles | Pairs | Families | Moments | Samples | Totals
