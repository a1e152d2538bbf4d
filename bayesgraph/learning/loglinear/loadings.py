"""Coefficients of parameters in the cells of tables, as products of two sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear import kernels

Ints = NDArray[np.integer]


class Entries(NamedTuple):
    """The entries of a sparse matrix that are not zero."""

    rows: Ints
    columns: Ints
    values: Floats
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Floats) -> Entries:
        """Return the entries of an array."""
        rows, columns = np.nonzero(matrix)
        return cls(rows, columns, matrix[rows, columns], matrix.shape)

    @classmethod
    def identity(cls, n: int) -> Entries:
        """Return those of the identity matrix."""
        index = np.arange(n)
        return cls(index, index, np.ones(n), (n, n))

    def toarray(self) -> Floats:
        """Return the matrix as an array."""
        return np.asarray(_compressed(self).toarray())

    def repeated(self, n: int) -> Entries:
        """Return those of a block-diagonal matrix with n copies."""
        block = np.arange(n)[:, None]
        rows, columns = block * self.shape[0] + self.rows, block * self.shape[1] + self.columns
        shape = n * self.shape[0], n * self.shape[1]
        return Entries(rows.ravel(), columns.ravel(), np.tile(self.values, n), shape)

    def spread(self, n: int) -> Entries:
        """Return those of the matrix with each entry in place of n, in a diagonal block."""
        block = np.arange(n)
        rows, columns = self.rows[:, None] * n + block, self.columns[:, None] * n + block
        shape = n * self.shape[0], n * self.shape[1]
        return Entries(rows.ravel(), columns.ravel(), np.repeat(self.values, n), shape)


class Block(NamedTuple):
    """The loadings of one table: the product ``outer @ inner``, (n_cells, n_parameters)."""

    outer: Entries
    inner: Entries

    @classmethod
    def single(cls, basis: Entries) -> Block:
        """Return those of a table whose cells are sums of functions."""
        return cls(basis, Entries.identity(basis.shape[1]))

    @classmethod
    def empty(cls, n_cells: int) -> Block:
        """Return those of a table without parameters."""
        return cls.single(Entries.of(np.empty((n_cells, 0))))

    @classmethod
    def pair(cls, first: Entries, second: Entries) -> Block:
        """Return those of a table with products of functions of two features.

        With a parameter for each product, the table is ``first @ parameters @ second.T``. The inner
        matrix multiplies by `first`, the outer one by `second`: together they have far fewer
        entries than their product.
        """
        return cls(second.repeated(first.shape[0]), first.spread(second.shape[1]))


@dataclass(frozen=True)
class Loadings:
    """Coefficient of each parameter in each cell: a matrix (n_cells, n_parameters).

    Attributes
    ----------
    outer, inner : csr_array
        Matrices whose product it is.
    """

    outer: Any
    inner: Any

    @classmethod
    def of(cls, blocks: Sequence[Block], slopes: Sequence[tuple[int, Floats]]) -> Loadings:
        """Return the loadings of all tables, with those of slopes as last columns.

        Parameters
        ----------
        blocks : sequence of Block
            One for each table, in the order of their cells and parameters.
        slopes : sequence of (int, ndarray)
            The first cell of a table, and the position of each of its cells.
        """
        inner = [block.inner for block in blocks] + [Entries.identity(1)] * len(slopes)
        outer = _diagonal([block.outer for block in blocks])
        within = outer.shape[1]
        columns = [
            Entries(first + np.arange(len(p)), np.full(len(p), within + at), p, outer.shape)
            for at, (first, p) in enumerate(slopes)
        ]
        n_cells = outer.shape[0]
        joined = _joined([outer, *columns], (n_cells, within + len(slopes)))
        return cls(_compressed(joined), _compressed(_diagonal(inner)))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of cells and the number of parameters, with the slopes."""
        return self.outer.shape[0], self.inner.shape[1]

    def sums(self, parameters: Floats) -> Floats:
        """Return the sum of parameters in each cell, shape (n_cells, n_classes)."""
        for matrix in (self.inner, self.outer):
            out = np.empty((matrix.shape[0], parameters.shape[1]))
            kernels.multiply(matrix.indptr, matrix.indices, matrix.data, parameters, out)
            parameters = out
        return parameters

    def gradient(self, by_sums: Floats) -> Floats:
        """Return a gradient by the parameters, given that by their sums in cells."""
        for matrix in (self.outer, self.inner):
            out = np.zeros((matrix.shape[1], by_sums.shape[1]))
            kernels.multiply_transposed(matrix.indptr, matrix.indices, matrix.data, by_sums, out)
            by_sums = out
        return by_sums

    def mean_squares(self, share: Floats) -> Floats:
        """Return the mean square of each column, with the shares of the cells as weights."""
        return np.asarray(self.inner.power(2).T @ (self.outer.power(2).T @ share))

    def toarray(self) -> Floats:
        """Return the matrix as an array."""
        return np.asarray((self.outer @ self.inner).toarray())


def _joined(parts: Sequence[Entries], shape: tuple[int, int]) -> Entries:
    """Return the entries of the sum of matrices."""
    rows, columns, values = (np.concatenate(own) for own in list(zip(*parts, strict=True))[:3])
    return Entries(rows, columns, values, shape)


def _diagonal(parts: Sequence[Entries]) -> Entries:
    """Return the entries of a block-diagonal matrix."""
    row, column, moved = 0, 0, []
    for part in parts:
        moved.append(part._replace(rows=part.rows + row, columns=part.columns + column))
        row, column = row + part.shape[0], column + part.shape[1]
    return _joined(moved, (row, column))


def _compressed(entries: Entries) -> Any:
    return csr_array((entries.values, (entries.rows, entries.columns)), shape=entries.shape)
