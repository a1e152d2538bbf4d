"""Additive joint counts of columns, each together with the same other columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import extension_kernels
from bayesgraph.statistics.additive import Additive
from bayesgraph.statistics.requests import Extensions


@dataclass(frozen=True, eq=False)
class ExtensionsSummary(Additive):
    """Joint counts of columns, each together with the same other columns.

    Attributes
    ----------
    request : Extensions
    counts : ndarray, one-dimensional
        For each group the tables of shape (r, *cardinalities of the others) of its columns, one
        after the other.
    """

    request: Extensions
    counts: Floats

    @classmethod
    def collect(cls, table: Table, request: Extensions, weights: Floats) -> ExtensionsSummary:
        """Return the summary of a table; `weights` is empty if every row weighs 1."""
        out = np.zeros(request.n_cells)
        columns = request.columns
        args = (
            table.arrangement.places(columns.variables),
            columns.cards,
            request.plan,
            table.complete,
        )
        extension_kernels.count_extensions(table.codes.T, *args, weights, out)
        return cls(request, out)
