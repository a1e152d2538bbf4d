"""What discretisers know of columns: values and states with their classes, of rows or counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.datasets.source import DatasetSource
from bayesgraph.discretize.boulle_groups import value_counts
from bayesgraph.discretize.cutting import SortedColumn, histogram_edges, observed
from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import Histograms, Singles
from bayesgraph.variables import Continuous, Discrete, Variable

# Maximum number of edges of a histogram of a numeric column.
MAX_EDGES = 4095
# Maximum number of entries of the histograms that are counted in one pass.
_MAX_ENTRIES = 1 << 21


class ColumnsByClass(Protocol):
    """The columns of a table with their classes.

    Attributes
    ----------
    variables : tuple of Variable
        All columns but the class.
    """

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All columns but the class."""
        ...

    def numbers(self, variables: Sequence[Continuous]) -> Iterator[SortedColumn]:
        """Yield each of some numeric columns."""
        ...

    def states(self, variables: Sequence[Discrete]) -> Iterator[Floats]:
        """Yield the class weights of the states of discrete columns, (n_states, n_classes)."""
        ...


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a table in memory.

    Attributes
    ----------
    table : Table
    classes : ndarray of integers, shape (n_rows,)
        Codes below `n_classes`.
    n_classes : int
    weights : ndarray, shape (n_rows,), or None
    """

    table: Table
    classes: NDArray[np.signedinteger[Any]]
    n_classes: int
    weights: Floats | None

    @classmethod
    def of_present(
        cls, table: Table, classes: NDArray[np.signedinteger[Any]], weights: Floats | None
    ) -> TableColumns:
        """Return the columns of a table, with only those classes that have rows."""
        there = np.bincount(classes) > 0
        return cls(table, (np.cumsum(there) - 1)[classes], int(there.sum()), weights)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All columns."""
        return self.table.variables

    def numbers(self, variables: Sequence[Continuous]) -> Iterator[SortedColumn]:
        """Yield each of some numeric columns."""
        for v in variables:
            yield observed(self.table.column(v), self.weights, self.classes, self.n_classes)

    def states(self, variables: Sequence[Discrete]) -> Iterator[Floats]:
        """Yield the class weights of the states of discrete columns."""
        for v in variables:
            yield value_counts(self.table.column(v), self.classes, self.n_classes, self.weights)


@dataclass(frozen=True, eq=False)
class DatasetColumns:
    """The columns of a dataset, which are counted in passes.

    Numbers are counted in histograms. Edges are all values that a sample of the rows has, or
    quantiles of the sample if there are more than `MAX_EDGES`. As rows at the edges and between
    them are counted apart, the result is exact for columns of few values.

    Attributes
    ----------
    variables : tuple of Variable
        All columns but the class.
    target : Discrete
    source_of : callable
        Returns a count source over some columns and the class.
    """

    variables: tuple[Variable, ...]
    target: Discrete
    source_of: Callable[[Sequence[Variable]], DatasetSource]

    def numbers(self, variables: Sequence[Continuous]) -> Iterator[SortedColumn]:
        """Yield each of some numeric columns."""
        n_edges, together = self._sizes()
        for first in range(0, len(variables), together):
            columns = tuple(variables[first : first + together])
            source = self.source_of(columns)
            edges = self._edges(source, columns, n_edges)
            found = source.summary(Histograms(columns, edges, self.target))
            there = found.totals > 0
            for low, high, counts in found.columns():
                yield SortedColumn.of_counts(low, high, counts[:, there])

    def _sizes(self) -> tuple[int, int]:
        """Return the number of edges of a column, and of columns to count in one pass."""
        entries = self.target.cardinality + 2
        n_edges = min(MAX_EDGES, _MAX_ENTRIES // (2 * entries))
        return n_edges, max(1, _MAX_ENTRIES // (entries * (2 * n_edges + 1)))

    def _edges(
        self, source: DatasetSource, columns: Sequence[Continuous], n_edges: int
    ) -> tuple[tuple[float, ...], ...]:
        sample = source.sample()
        classes = sample.table.column(self.target), self.target.cardinality
        found = (observed(sample.table.column(v), sample.weights, *classes) for v in columns)
        return tuple(tuple(histogram_edges(column, n_edges).tolist()) for column in found)

    def states(self, variables: Sequence[Discrete]) -> Iterator[Floats]:
        """Yield the class weights of the states of discrete columns."""
        if not variables:
            return
        columns = tuple(variables)
        found = self.source_of(columns).singles(Singles(columns, self.target))
        counts = found.counts[found.totals > 0].T
        for v in columns:
            yield counts[found.at.states(v)]
