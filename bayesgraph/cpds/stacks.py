"""Many CPDs of one family over the same free variables, added up by one kernel call.

What a stack holds depends on which variables are observed, not on their values: it is made once for
a pattern of evidence, and added to many rows, or many times to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import kernels
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import LOG_2PI, Floats
from bayesgraph.variables import Continuous, Discrete, Variable

_V = TypeVar("_V", bound=Variable)


class Adder(Protocol):
    """What adds log potentials to an accumulator."""

    @property
    def nbytes(self) -> int:
        """Memory of what was copied from the CPDs."""
        ...

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add them to `out`, shape (cells, n_rows)."""
        ...


class TablePart(NamedTuple):
    """One table of a stack.

    Attributes
    ----------
    table : ndarray, shape (cells, configurations of the observed variables)
        Logarithms.
    observed : tuple of Discrete
        The last one's states change fastest; it adds nothing where it is missing.
    """

    table: Floats
    observed: tuple[Discrete, ...]


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
    def of(cls, parts: Sequence[TablePart]) -> TableStack:
        """Return the stack of some tables."""
        at = _places([part.observed for part in parts])
        strides = [s for part in parts for s in _strides(part.observed)]
        return cls(
            tuple(at),
            np.array([at[v] for part in parts for v in part.observed], dtype=np.int64),
            np.array(strides, dtype=np.int64),
            _starts([len(part.observed) for part in parts]),
            np.array([part.table.shape[1] for part in parts], dtype=np.int64),
            np.concatenate([part.table.reshape(-1) for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self.values.nbytes + self.place.nbytes + self.stride.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """See Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.variables).T)
        kernels.add_tables(out, codes, self.place, self.stride, self.first, self.width, self.values)


class LinearPart(NamedTuple):
    """One linear Gaussian of a stack.

    Attributes
    ----------
    mean, variance : ndarray, shape (cells,)
    slopes : ndarray, shape (cells, n_parents)
    observed : tuple of Continuous
        The child, then its continuous parents.
    """

    mean: Floats
    variance: Floats
    slopes: Floats
    observed: tuple[Continuous, ...]


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
    def of(cls, parts: Sequence[LinearPart]) -> LinearStack:
        """Return the stack of some linear Gaussians."""
        at = _places([part.observed for part in parts])
        variance = np.array([part.variance for part in parts])
        child = np.zeros((variance.shape[1], 1))
        return cls(
            tuple(at),
            np.array([at[v] for part in parts for v in part.observed], dtype=np.int64),
            _starts([len(part.observed) for part in parts]),
            np.array([part.mean for part in parts]),
            1.0 / np.sqrt(variance),
            -0.5 * (np.log(variance) + LOG_2PI),
            np.concatenate([s for part in parts for s in (child, part.slopes)], axis=1),
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
    found: dict[_V, int] = {}
    for group in groups:
        for variable in group:
            found.setdefault(variable, len(found))
    return found


def _strides(variables: Sequence[Discrete]) -> list[int]:
    """Return by how much each variable's code moves along a table, the last one's by one."""
    found = [1]
    for variable in variables[:0:-1]:
        found.append(found[-1] * variable.cardinality)
    return found[::-1]


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
