"""Additive joint counts of columns, each together with the same other columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import kernels
from bayesgraph.statistics.additive import Additive
from bayesgraph.statistics.requests import Extensions
from bayesgraph.variables import Discrete


@dataclass(frozen=True, eq=False)
class ExtensionsSummary(Additive):
    """Joint counts of columns, each together with the same other columns.

    Attributes
    ----------
    request : Extensions
    counts : tuple of ndarray, one-dimensional
        For each group the tables of shape (r, *cardinalities of the others) of its columns, one
        after the other.
    """

    request: Extensions
    counts: tuple[Floats, ...]

    @classmethod
    def collect(cls, table: Table, request: Extensions, weights: Floats) -> ExtensionsSummary:
        """Return the summary of a table; `weights` is empty if every row weighs 1."""
        counts = (extended_counts(table, *group, weights) for group in request.groups)
        return cls(request, tuple(counts))


def extended_counts(
    table: Table, columns: Sequence[Discrete], others: Sequence[Discrete], weights: Floats
) -> Floats:
    """Return the counts of columns, each together with the others, in one pass.

    Returns
    -------
    ndarray, one-dimensional
        Tables of shape (r, *cardinalities of the others), one after the other.
    """
    size = math.prod(v.cardinality for v in others)
    keys = np.zeros(table.n_rows, dtype=np.int64)
    whole = np.ones(0 if table.complete else table.n_rows, dtype=np.bool_)
    for v in others:
        column = table.column(v)
        keys *= v.cardinality
        keys += column
        if not table.complete:
            whole &= column >= 0
    if not table.complete:
        keys[~whole] = -1
    places = np.array([table.place(v) for v in columns], dtype=np.intp)
    cells = np.array([v.cardinality * size for v in columns], dtype=np.int64)
    ends = np.cumsum(cells)
    out = np.zeros(int(ends[-1]))
    kernels.count_beside(table.codes.T, places, keys, size, weights, ends - cells, out)
    return out
