"""Log potentials of vectors of counts, as sums with one term for each item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.checks import is_sparse
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Name

# Bins of the histogram of document lengths: exact below 1,024, in steps of 2 % beyond.
EXACT_LENGTHS, LENGTH_STEP = 1024, 1.02
LENGTHS = np.concatenate(
    [np.arange(EXACT_LENGTHS), EXACT_LENGTHS * LENGTH_STEP ** np.arange(700)]
).round()


@dataclass(frozen=True, eq=False)
class ItemTerms:
    """The log potential of one row of counts, as a sum of terms of single items.

    Attributes
    ----------
    names : sequence of names
        The item of each term; the name of the whole vector for a term that belongs to no single
        item.
    values : sequence
        The count of each item, or whether it is present (bool).
    logs : ndarray, shape (n_terms, cells)
        Terms for each configuration of the parents (cell); their sum is the log potential.
    """

    names: Sequence[Name]
    values: Sequence[Any]
    logs: Floats

    def powered(self, exponent: Floats) -> Self:
        """Return the terms multiplied by an exponent, which raises the potential to this power.

        `exponent` has shape () or (cells,).
        """
        logs = np.where(exponent == 0, 0.0, self.logs * np.where(exponent == 0, 1.0, exponent))
        return type(self)(self.names, self.values, logs)


def dense_row(counts: Any) -> Floats:
    """Return one row of counts as a dense array, shape (n_items,)."""
    dense = counts.toarray() if is_sparse(counts) else counts
    return np.asarray(dense, dtype=np.float64).reshape(-1)


def counted(items: Sequence[Name], row: Floats, at: NDArray[np.intp]) -> tuple[list[Name], Any]:
    """Return the names and the counts of the items at the indices `at` of a row of counts."""
    return [items[i] for i in at.tolist()], whole(row[at].tolist())


def whole(counts: Iterable[float]) -> list[float]:
    """Return counts as a list, with whole numbers as int and others as float."""
    return [int(count) if float(count).is_integer() else count for count in counts]
