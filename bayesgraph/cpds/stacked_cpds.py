"""Many CPDs of one family over the same free variables, added up by one kernel call.

A stack depends on the observed variables, not on their values: it is made once for a pattern of
evidence, and added to many rows, or many times to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import kernels
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import LOG_2PI, Floats
from bayesgraph.variables import Continuous, Discrete, Variable

_V = TypeVar("_V", bound=Variable)


class Adder(Protocol):
    """An object that adds log potentials to an accumulator."""

    @property
    def nbytes(self) -> int:
        """Memory of the copies of the CPDs' numbers."""
        ...

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add them to `out`, shape (cells, n_rows)."""
        ...


@dataclass(frozen=True, eq=False)
class TableStack:
    """Tables in which observed variables are looked up.

    Attributes
    ----------
    variables : tuple of Discrete
        All that are observed.
    place : ndarray
        Positions among them, for one table after the other.
    stride : ndarray
        By how much each position's code moves along the table.
    first : ndarray, shape (n_tables + 1,)
        Where those of each table start.
    width : ndarray, shape (n_tables,)
        Configurations of the observed variables of each table.
    values : ndarray
        All tables, one after the other, a row for each cell.
    """

    variables: tuple[Discrete, ...]
    place: NDArray[np.int64]
    stride: NDArray[np.int64]
    first: NDArray[np.int64]
    width: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, tables: Sequence[Floats], observed: Sequence[Sequence[Discrete]]) -> TableStack:
        """Return the stack of some tables.

        Parameters
        ----------
        tables : sequence of ndarray, shape (cells, configurations of the observed variables)
            Logarithms.
        observed : sequence of sequences of Discrete
            For each table; the last one's states change fastest, and a row in which that one is
            missing gets nothing.
        """
        at = _places(observed)
        return cls(
            tuple(at),
            np.array([at[v] for group in observed for v in group], dtype=np.int64),
            np.array([s for group in observed for s in _strides(group)], dtype=np.int64),
            _starts([len(group) for group in observed]),
            np.array([table.shape[1] for table in tables], dtype=np.int64),
            np.concatenate([table.reshape(-1) for table in tables]),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self.values.nbytes + self.place.nbytes + self.stride.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """See Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.variables).T)
        kernels.add_tables(out, codes, self.place, self.stride, self.first, self.width, self.values)


@dataclass(frozen=True, eq=False)
class LinearStack:
    """Linear Gaussians whose children and continuous parents are observed.

    Attributes
    ----------
    variables : tuple of Continuous
        All that are observed.
    place : ndarray
        Positions among them: child and parents, one family after the other.
    first : ndarray, shape (n_families + 1,)
        Where those of each family start.
    mean, scale, constant : ndarray, shape (n_families, cells)
        Intercept, one over the standard deviation, and log of the density's factor.
    slopes : ndarray, shape (cells, len(place))
        Those of the parents, 0 for the children.
    """

    variables: tuple[Continuous, ...]
    place: NDArray[np.int64]
    first: NDArray[np.int64]
    mean: Floats
    scale: Floats
    constant: Floats
    slopes: Floats

    @classmethod
    def of(
        cls,
        numbers: Sequence[tuple[Floats, Floats, Floats]],
        observed: Sequence[Sequence[Continuous]],
    ) -> LinearStack:
        """Return the stack of some linear Gaussians.

        Parameters
        ----------
        numbers : sequence of (mean, variance, slopes)
            Of each, shapes (cells,), (cells,) and (cells, n_parents).
        observed : sequence of sequences of Continuous
            The child of each, then its continuous parents.
        """
        at = _places(observed)
        mean, variance = (np.array([triple[k] for triple in numbers]) for k in (0, 1))
        child = np.zeros((variance.shape[1], 1))
        return cls(
            tuple(at),
            np.array([at[v] for group in observed for v in group], dtype=np.int64),
            _starts([len(group) for group in observed]),
            mean,
            1.0 / np.sqrt(variance),
            -0.5 * (np.log(variance) + LOG_2PI),
            np.concatenate([s for triple in numbers for s in (child, triple[2])], axis=1),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the parameters."""
        return 3 * self.mean.nbytes + self.slopes.nbytes + self.place.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """See Adder."""
        values = np.ascontiguousarray(evidence.matrix(self.variables).T, dtype=np.float64)
        density = self.mean, self.scale, self.constant, self.slopes
        kernels.add_linear(out, values, self.place, self.first, *density)


def _places(groups: Sequence[Sequence[_V]]) -> dict[_V, int]:
    """Return a position for each variable of some groups."""
    return {v: i for i, v in enumerate(dict.fromkeys(v for group in groups for v in group))}


def _strides(variables: Sequence[Discrete]) -> list[int]:
    """Return by how much each variable's code moves along a table, the last one's by one."""
    found = [1]
    for variable in variables[:0:-1]:
        found.append(found[-1] * variable.cardinality)
    return found[::-1]


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
