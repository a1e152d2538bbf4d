"""Sets of columns that separate pairs of discrete columns, from rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import separation_kernels
from bayesgraph.statistics import CountSource, Numbered

# Number of sets of columns whose sums are kept, and of critical values computed beyond need.
_SLOTS, _DEGREES = 1 << 15, 256


class Separated(NamedTuple):
    """What tests of pairs, given sets of their neighbours, say.

    Attributes
    ----------
    n_sets : int
        Number of sets that there were, at least up to those found; 0 if there was none.
    least : ndarray, shape (n_pairs,)
        Least information of a test up to the one that found the pair independent, in nats per row;
        infinite if none has a result.
    p_values : ndarray, shape (n_pairs,)
        Of the test that found the pair independent, NaN if none did.
    sets : ndarray of int, shape (n_pairs, size)
        What that test gave.
    """

    n_sets: int
    least: Floats
    p_values: Floats
    sets: NDArray[np.int64]


class SeparatingSets:
    """G-squared tests of pairs of columns, made until one finds the pair independent.

    Parameters
    ----------
    codes : ndarray of int, shape (n_columns, n_rows)
        Without missing values.
    cards : ndarray of int, shape (n_columns,)
        Numbers of states.
    alpha : float
        Columns are independent if the p-value is larger.
    most_cells : int
        Maximum number of cells of the table of a test, which has no result if it has more.
    """

    def __init__(
        self,
        codes: NDArray[np.signedinteger],
        cards: NDArray[np.int64],
        alpha: float,
        most_cells: int,
    ) -> None:
        self._codes, self._cards = codes, cards
        self._alpha, self._most_cells = alpha, most_cells
        self._critical = self._critical_values(_DEGREES)
        n = np.arange(codes.shape[1] + 1.0)
        self._logs = n * np.log(np.maximum(n, 1.0))
        self._marks = np.random.default_rng(0).integers(1 << 63, size=len(codes))
        self._known = np.full(_SLOTS, -1)
        self._sums = np.empty((_SLOTS, 2))

    @classmethod
    def of(
        cls, source: CountSource, columns: Numbered, alpha: float, most_cells: int
    ) -> SeparatingSets | None:
        """Return the tests of a source; None if it does not hold complete rows of weight 1."""
        if not getattr(source, "in_memory", False) or 0 in columns.cards:
            return None
        table, weights = source.table, source.weights  # type: ignore[attr-defined]
        if not table.complete or len(weights):
            return None
        codes = table.codes.T[table.arrangement.places(columns.variables)]
        return cls(codes, columns.cards, alpha, most_cells)

    def first(
        self, pairs: NDArray[np.int64], around: Sequence[Sequence[int]], size: int
    ) -> Separated:
        """Return the first set of neighbours of either end that separates each pair.

        Parameters
        ----------
        pairs : ndarray of int, shape (n_pairs, 2)
        around : sequence of sequences of int
            The neighbours of each column, in the order in which sets take them: those of the first
            end come first.
        size : int
            Number of columns given.
        """
        near = np.fromiter((c for one in around for c in one), np.int64)
        ends = np.cumsum([0, *map(len, around)])
        sets = np.full((len(pairs), size), -1)
        told = np.full((3, len(pairs)), np.nan)
        place = n_sets = 0
        while place < len(pairs):
            place, degrees, new = separation_kernels.separate(
                self._codes, self._cards, pairs, place, near, ends, self._most_cells, self._alpha,
                self._critical, self._logs, self._marks, self._known, self._sums, sets, told,
            )  # fmt: skip
            n_sets += new
            if place < len(pairs):
                self._critical = self._critical_values(degrees + _DEGREES)
        least, information, degrees = told
        p_values = scipy.special.chdtrc(degrees, 2.0 * information)
        p_values[degrees == 0] = 1.0
        return Separated(n_sets, least / self._codes.shape[1], p_values, sets)

    def _critical_values(self, n: int) -> Floats:
        """Return what chi-squared exceeds with probability alpha, by degrees of freedom below n."""
        values = np.zeros(n)
        values[1:] = scipy.special.chdtri(np.arange(1.0, n), self._alpha)
        return values
