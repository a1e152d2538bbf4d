"""Stacks: CPDs of one class with the same free variables, added up by one kernel call.

A stack depends on which variables are observed, not on their values: it is made once for a set of
observed variables, and then serves any rows in which these are observed.
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
    """An object that adds log potentials of one or more CPDs to an accumulator."""

    @property
    def nbytes(self) -> int:
        """Bytes of the copies of the CPDs' parameters."""
        ...

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potentials given the evidence to `out`, shape (cells, n_rows)."""
        ...


@dataclass(frozen=True, eq=False)
class TableStack:
    """Log probability tables of several CPDs, which are looked up by observed states.

    Attributes
    ----------
    variables : tuple of Discrete
        The observed variables of all tables.
    place : ndarray
        The observed variables of each table, table by table, as indices into `variables`.
    stride : ndarray
        The stride in its table of each entry of `place`.
    first : ndarray, shape (n_tables + 1,)
        Offset in `place` at which the variables of each table start.
    width : ndarray, shape (n_tables,)
        Number of configurations of each table's observed variables.
    values : ndarray
        The tables, flat and one after the other, each with a row for each cell (joint configuration
        of the free variables).
    """

    variables: tuple[Discrete, ...]
    place: NDArray[np.int64]
    stride: NDArray[np.int64]
    first: NDArray[np.int64]
    width: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, tables: Sequence[Floats], observed: Sequence[Sequence[Discrete]]) -> TableStack:
        """Return the stack of several log tables.

        Parameters
        ----------
        tables : sequence of ndarray, shape (cells, configurations of the observed variables)
            Logarithms.
        observed : sequence of sequences of Discrete
            The observed variables of each table. The states of the last variable vary fastest; a
            row in which the last variable is missing gets 0.
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
        """Bytes of the tables and their indices."""
        return self.values.nbytes + self.place.nbytes + self.stride.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log probabilities of all tables given the evidence to `out`; see Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.variables).T)
        kernels.add_tables(out, codes, self.place, self.stride, self.first, self.width, self.values)


@dataclass(frozen=True, eq=False)
class LinearStack:
    """Linear Gaussians whose children and continuous parents are observed.

    Attributes
    ----------
    variables : tuple of Continuous
        The observed variables of all families (a family is a child with its parents).
    place : ndarray
        Child and parents of each family, family by family, as indices into `variables`.
    first : ndarray, shape (n_families + 1,)
        Offset in `place` at which each family starts.
    mean, scale, constant : ndarray, shape (n_families, cells)
        Intercept, one over the standard deviation, and log density at the mean.
    slopes : ndarray, shape (cells, len(place))
        Slopes of the parents, 0 for the children.
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
        """Return the stack of several linear Gaussians.

        Parameters
        ----------
        numbers : sequence of (mean, variance, slopes)
            Parameters of each CPD, of shapes (cells,), (cells,) and (cells, n_parents); a cell is a
            joint configuration of the free variables.
        observed : sequence of sequences of Continuous
            The child of each CPD, then its continuous parents.
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
        """Bytes of the parameters and their indices."""
        return 3 * self.mean.nbytes + self.slopes.nbytes + self.place.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children given the evidence to `out`; see Adder."""
        values = np.ascontiguousarray(evidence.matrix(self.variables).T, dtype=np.float64)
        density = self.mean, self.scale, self.constant, self.slopes
        kernels.add_linear(out, values, self.place, self.first, *density)


def _places(groups: Sequence[Sequence[_V]]) -> dict[_V, int]:
    """Return a mapping from each variable to its index among the distinct variables of groups."""
    return {v: i for i, v in enumerate(dict.fromkeys(v for group in groups for v in group))}


def _strides(variables: Sequence[Discrete]) -> list[int]:
    """Return the stride of each variable in a flat table; the last variable has stride 1."""
    found = [1]
    for variable in variables[:0:-1]:
        found.append(found[-1] * variable.cardinality)
    return found[::-1]


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
