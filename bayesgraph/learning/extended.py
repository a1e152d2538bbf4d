"""What columns say about a child beside its other parents: statistics for searches and tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import extended_kernels
from bayesgraph.statistics import CountSource, Extensions, Numbered, RowSource

# Numbers of new columns, and of the others that each of them extends.
Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
# Number of whole numbers whose logarithms are looked up.
_LOGS = 1 << 14


# Number of priors whose rising factorials are kept, up to which number of parts of the equivalent
# sample size, and for which counts.
_PRIORS, _PARTS, _COUNTS = 128, 4096, 1024


class ExtendedTables(NamedTuple):
    """Counts of groups of columns, each beside the same others, of which the last is a child.

    Attributes
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (r, n_strata, n_states) of the new columns of all groups, one after the
        other: by the column's states, the configurations of the other columns, and the states of
        the child.
    cards : ndarray of int
        Numbers of states by numbers of columns.
    plan : ndarray of int
        See `Extensions.plan`.
    """

    cells: Floats
    cards: NDArray[np.int64]
    plan: NDArray[np.int64]

    @classmethod
    def counted(
        cls,
        source: CountSource,
        columns: Numbered,
        groups: Sequence[Group],
    ) -> Self:
        """Return the tables of groups of (new columns, others), in one pass over the data."""
        request = Extensions(columns, tuple(groups))
        return cls(source.extensions(request), columns.cards, request.plan)


class ExtendedInformation(NamedTuple):
    """What each of several columns says about a child, given other columns.

    Attributes
    ----------
    information : ndarray, shape (n_columns,)
        Conditional mutual information times the rows, in nats: half of G-squared, and the gain in
        log likelihood of the child by the column as one more parent.
    rows : ndarray, shape (n_columns,)
        Total weight of the rows that observe all columns.
    degrees : ndarray, shape (n_columns,)
        Degrees of freedom of G-squared: the sum of ``(r - 1) (s - 1)`` for the r and s states of
        column and child that occur in each stratum.
    parameters : ndarray, shape (n_columns,)
        Number of parameters that the child has more.
    """

    information: Floats
    rows: Floats
    degrees: Floats
    parameters: Floats


def extended_information(tables: ExtendedTables, n_columns: int) -> ExtendedInformation:
    """Return what each of the new columns says about the child of its group, given the others."""
    found = np.zeros((4, n_columns))
    extended_kernels.extended_information(*tables, _logs(), found)
    return ExtendedInformation(*found)


def information_of_rows(
    source: RowSource, columns: Numbered, groups: Sequence[Group], n_columns: int
) -> ExtendedInformation:
    """Return what `extended_information` returns, to the same bits, from rows that weigh 1.

    It does not count what does not occur, which most cells of a table of few rows do not.
    """
    found = np.zeros((4, n_columns))
    table, plan = source.table, Extensions(columns, tuple(groups)).plan
    places = table.arrangement.places(columns.variables)
    args = table.codes.T, places, columns.cards, plan, _logs(), found
    extended_kernels.information_of_rows(*args)
    return ExtendedInformation(*found)


class Rising:
    """Gains in the BDeu score, and the rising factorials that they share.

    Parameters
    ----------
    ess : float
        Equivalent sample size.

    Attributes
    ----------
    slots : ndarray of int
        For each number of parts of the equivalent sample size, which are the prior, its row in
        `known`, or -1; for 0 the first free row.
    known : ndarray, shape (n_priors, n_counts)
        Logarithms of rising factorials of the prior, NaN where not computed yet.
    """

    def __init__(self, ess: float) -> None:
        self.ess = ess
        self.slots = np.full(_PARTS, -1)
        self.slots[0] = 0
        self.known = np.empty((_PRIORS, _COUNTS))

    def gains(self, tables: ExtendedTables, n_columns: int) -> Floats:
        """Return the gain in the score of a child by each new column as one more parent."""
        found = np.zeros(n_columns)
        args = self.ess, self.slots, self.known, found
        extended_kernels.extended_bdeu(*tables, *args)
        return found


@cache
def _logs() -> Floats:
    return np.log(np.maximum(np.arange(_LOGS), 1.0))
