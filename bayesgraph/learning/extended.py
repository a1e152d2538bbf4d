"""What columns say about a child beside its other parents: statistics for searches and tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import extended_kernels
from bayesgraph.statistics import CountSource, Extensions
from bayesgraph.variables import Variable

# Number of whole numbers whose logarithms are looked up.
_LOGS = 1 << 14


class ExtendedTables(NamedTuple):
    """Counts of groups of columns, each beside the same others, of which the last is a child.

    Attributes
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (cards[i], n_strata, n_states) of each column i, one after the other.
    cards : ndarray of int, shape (n_columns,)
        Number of states of each column, those of one group after the other.
    ends : ndarray of int, shape (n_groups,)
        Where the columns of each group end.
    n_strata, n_states : ndarray of int, shape (n_groups,)
        Number of configurations of the other columns, and of states of the child.
    """

    cells: Floats
    cards: NDArray[np.int64]
    ends: NDArray[np.int64]
    n_strata: NDArray[np.int64]
    n_states: NDArray[np.int64]

    @classmethod
    def counted(
        cls,
        source: CountSource,
        columns: tuple[Variable, ...],
        groups: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    ) -> Self:
        """Return the tables of groups of (new columns, others), in one pass over the data."""
        request = Extensions(columns, tuple(groups))
        cards = request.cards
        new, ends, others, other_ends = request.flat
        of_others = cards[others]
        n_states = of_others[other_ends - 1]
        starts = other_ends - np.fromiter((len(group) for _, group in groups), dtype=np.int64)
        n_strata = np.multiply.reduceat(of_others, starts) // n_states
        return cls(source.extensions(request), cards[new], ends, n_strata, n_states)

    def by_column(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each column the value of its group, shape (n_columns,)."""
        return np.repeat(values, np.diff(self.ends, prepend=0)) if len(values) > 1 else values


class ExtendedInformation(NamedTuple):
    """What each of several columns says about a child, given other columns.

    Attributes
    ----------
    information : ndarray, shape (n_columns,)
        Conditional mutual information times the rows, in nats: half of G-squared, and the gain in
        log likelihood of the child by the column as one more parent.
    rows : ndarray, shape (n_columns,)
        Total weight of the rows that observe all columns.
    degrees : ndarray of int, shape (n_columns,)
        Degrees of freedom of G-squared: the sum of ``(r - 1) (s - 1)`` for the r and s states of
        column and child that occur in each stratum.
    """

    information: Floats
    rows: Floats
    degrees: NDArray[np.int64]


def extended_information(tables: ExtendedTables) -> ExtendedInformation:
    """Return what each column says about the child of its group, given the other columns."""
    n = len(tables.cards)
    found = ExtendedInformation(np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64))
    extended_kernels.extended_information(*tables, _logs(), *found)
    return found


def extended_bdeu(tables: ExtendedTables, ess: float) -> Floats:
    """Return the gain in the BDeu score of the child of its group by each column as a parent."""
    found = np.zeros(len(tables.cards))
    extended_kernels.extended_bdeu(*tables, float(ess), found)
    return found


@cache
def _logs() -> Floats:
    return np.log(np.maximum(np.arange(_LOGS), 1.0))
