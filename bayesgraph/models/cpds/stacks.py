"""Stacks: CPDs of one class and free variables, whose log potentials one kernel call adds up.

A stack depends on which variables are observed, not on their values: it is made once for a set of
observed variables, and then serves any rows in which these are observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.models import stack_kernels

_V = TypeVar("_V", bound=Variable)


class Adder(Protocol):
    """Protocol of objects that add log potentials of one or more CPDs to an array of log values."""

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
        For each entry of `place`, the stride of that variable in the flat table.
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

    @classmethod
    def joined(cls, stacks: Sequence[TableStack]) -> TableStack:
        """Return the stack of the tables of several stacks."""
        at = _places([stack.variables for stack in stacks])
        return cls(
            tuple(at),
            np.concatenate([_moved(s.place, s.variables, at) for s in stacks]),
            np.concatenate([s.stride for s in stacks]),
            _joined_starts([s.first for s in stacks]),
            np.concatenate([s.width for s in stacks]),
            np.concatenate([s.values for s in stacks]),
        )

    @property
    def n_cpds(self) -> int:
        """Number of tables."""
        return len(self.width)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernel takes besides rows."""
        return self.place, self.stride, self.first, self.width, self.values

    @property
    def nbytes(self) -> int:
        """Bytes of the tables and their indices."""
        return self.values.nbytes + self.place.nbytes + self.stride.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log probabilities of all tables given the evidence to `out`; see Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.variables).T)
        stack_kernels.add_tables(out, codes, *self.arrays)


@dataclass(frozen=True, eq=False)
class LinearStack:
    """Parameters of several linear Gaussian CPDs with observed children and continuous parents.

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
        stack_kernels.add_linear(out, values, self.place, self.first, *density)


@dataclass(frozen=True, eq=False)
class SelectedLinearStack:
    """Parameters of several linear Gaussian CPDs, which observed discrete parents select by rows.

    Children and parents are observed, apart from the discrete parents that are the free variables.
    The numbers are those of the CPDs one by one, to the bit.

    Attributes
    ----------
    discrete : tuple of Discrete
        The observed discrete parents of all CPDs.
    continuous : tuple of Continuous
        The children and continuous parents of all CPDs.
    choice : ndarray
        The observed discrete parents of each CPD, CPD by CPD, as indices into `discrete`.
    stride : ndarray
        For each entry of `choice`, the stride of that parent in the configurations of the CPD.
    first_choice : ndarray, shape (n_cpds + 1,)
        Offset in `choice` at which the parents of each CPD start.
    place : ndarray
        Child and continuous parents of each CPD, CPD by CPD, as indices into `continuous`.
    first : ndarray, shape (n_cpds + 1,)
        Offset in `place` at which each CPD starts.
    start : ndarray, shape (n_cpds + 1,)
        Offset in the parameters at which each CPD starts: a row for each configuration, in which
        there is an entry for each cell (joint configuration of the free variables).
    mean, scale, constant : ndarray
        Intercept, standard deviation, and log density at the mean.
    slopes : ndarray
        Slopes of the continuous parents, for each entry of `mean` those of its CPD.
    first_slope : ndarray, shape (n_cpds + 1,)
        Offset in `slopes` at which the slopes of each CPD start.
    """

    discrete: tuple[Discrete, ...]
    continuous: tuple[Continuous, ...]
    choice: NDArray[np.int64]
    stride: NDArray[np.int64]
    first_choice: NDArray[np.int64]
    place: NDArray[np.int64]
    first: NDArray[np.int64]
    start: NDArray[np.int64]
    mean: Floats
    scale: Floats
    constant: Floats
    slopes: Floats
    first_slope: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        numbers: Sequence[tuple[Floats, Floats, Floats]],
        chosen: Sequence[Sequence[Discrete]],
        observed: Sequence[Sequence[Continuous]],
    ) -> SelectedLinearStack:
        """Return the stack of several linear Gaussians.

        Parameters
        ----------
        numbers : sequence of (mean, variance, slopes)
            Parameters of each CPD, of shapes (entries,), (entries,) and (entries, n_parents); the
            entries are the cells of each configuration of the observed discrete parents.
        chosen : sequence of sequences of Discrete
            The observed discrete parents of each CPD, of which the last one's states vary fastest.
        observed : sequence of sequences of Continuous
            The child of each CPD, then its continuous parents.
        """
        discrete, continuous = _places(chosen), _places(observed)
        scale = np.sqrt(np.concatenate([variance for _, variance, _ in numbers]))
        return cls(
            tuple(discrete),
            tuple(continuous),
            np.array([discrete[v] for group in chosen for v in group], dtype=np.int64),
            np.array([s for group in chosen for s in _strides(group)], dtype=np.int64),
            _starts([len(group) for group in chosen]),
            np.array([continuous[v] for group in observed for v in group], dtype=np.int64),
            _starts([len(group) for group in observed]),
            _starts([mean.size for mean, _, _ in numbers]),
            np.concatenate([mean for mean, _, _ in numbers]),
            scale,
            -np.log(scale) - 0.5 * LOG_2PI,
            np.concatenate([slopes.reshape(-1) for _, _, slopes in numbers]),
            _starts([slopes.size for _, _, slopes in numbers]),
        )

    @classmethod
    def joined(cls, stacks: Sequence[SelectedLinearStack]) -> SelectedLinearStack:
        """Return the stack of the CPDs of several stacks."""
        discrete = _places([stack.discrete for stack in stacks])
        continuous = _places([stack.continuous for stack in stacks])
        return cls(
            tuple(discrete),
            tuple(continuous),
            np.concatenate([_moved(s.choice, s.discrete, discrete) for s in stacks]),
            np.concatenate([s.stride for s in stacks]),
            _joined_starts([s.first_choice for s in stacks]),
            np.concatenate([_moved(s.place, s.continuous, continuous) for s in stacks]),
            _joined_starts([s.first for s in stacks]),
            _joined_starts([s.start for s in stacks]),
            np.concatenate([s.mean for s in stacks]),
            np.concatenate([s.scale for s in stacks]),
            np.concatenate([s.constant for s in stacks]),
            np.concatenate([s.slopes for s in stacks]),
            _joined_starts([s.first_slope for s in stacks]),
        )

    @property
    def n_cpds(self) -> int:
        """Number of CPDs."""
        return len(self.first) - 1

    @cached_property
    def arrays(self) -> tuple[tuple[NDArray[Any], ...], ...]:
        """What the kernel takes besides rows."""
        return (
            (self.choice, self.stride, self.first_choice),
            (self.place, self.first),
            (self.start, self.mean, self.scale, self.constant),
            (self.first_slope, self.slopes),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the parameters and their indices."""
        return 3 * self.mean.nbytes + self.slopes.nbytes + self.place.nbytes + self.choice.nbytes

    def numbers(self, evidence: Evidence) -> Floats:
        """Return the values of the children and their continuous parents, (n_variables, n_rows)."""
        return np.ascontiguousarray(evidence.matrix(self.continuous).T, dtype=np.float64)

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children given the evidence to `out`; see Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.discrete).T)
        stack_kernels.add_selected_linear(out, codes, self.numbers(evidence), *self.arrays)


@dataclass(frozen=True, eq=False)
class AlternatingStack:
    """Tables and linear Gaussians that take turns, whose log potentials one kernel call adds up.

    In a tree over columns of states and numbers, the two follow each other in the columns' order,
    in which the sums are taken.

    Attributes
    ----------
    discrete : tuple of Discrete
        The observed discrete variables of all CPDs.
    tables : TableStack
        All tables; `place` is an index into `discrete`.
    gaussians : SelectedLinearStack
        All Gaussians; `choice` is an index into `discrete`.
    turns : ndarray, shape (n_turns, 4)
        The tables of each turn, from the first to behind the last, then its Gaussians so.
    """

    discrete: tuple[Discrete, ...]
    tables: TableStack
    gaussians: SelectedLinearStack
    turns: NDArray[np.int64]

    @classmethod
    def of(cls, stacks: Sequence[TableStack | SelectedLinearStack]) -> AlternatingStack:
        """Return the stack of several stacks, of each kind at least one."""
        tables = TableStack.joined([s for s in stacks if isinstance(s, TableStack)])
        gaussians = SelectedLinearStack.joined(
            [s for s in stacks if isinstance(s, SelectedLinearStack)]
        )
        at = _places([tables.variables, gaussians.discrete])
        turns = np.zeros((len(stacks), 4), dtype=np.int64)
        ends = [0, 0]
        for turn, stack in zip(turns, stacks, strict=True):
            kind = int(isinstance(stack, SelectedLinearStack))
            turn[[0, 1]], turn[[2, 3]] = ends[0], ends[1]
            ends[kind] += stack.n_cpds
            turn[2 * kind + 1] = ends[kind]
        return cls(
            tuple(at),
            replace(tables, place=_moved(tables.place, tables.variables, at)),
            replace(gaussians, choice=_moved(gaussians.choice, gaussians.discrete, at)),
            turns,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the parameters and their indices."""
        return self.tables.nbytes + self.gaussians.nbytes

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potentials of all CPDs given the evidence to `out`; see Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.discrete).T)
        stack_kernels.add_in_turns(
            out,
            codes,
            self.gaussians.numbers(evidence),
            self.turns,
            self.tables.arrays,
            self.gaussians.arrays,
        )


def in_turns(adders: Sequence[Adder]) -> list[Adder]:
    """Return adders of which tables and selected Gaussians that follow each other are one."""
    found: list[Adder] = []
    for _, run in groupby(adders, lambda a: isinstance(a, TableStack | SelectedLinearStack)):
        group = list(run)
        stacks = [a for a in group if isinstance(a, TableStack | SelectedLinearStack)]
        # Neighbours differ in kind, so that two are enough for both kinds.
        found += [AlternatingStack.of(stacks)] if len(stacks) > 1 else group
    return found


def _joined_starts(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the offsets of all parts of an array, of which each part has offsets from 0 on."""
    return _starts([n for part in parts for n in np.diff(part).tolist()])


def _moved(
    place: NDArray[np.int64], variables: Sequence[_V], at: Mapping[_V, int]
) -> NDArray[np.int64]:
    """Return indices into `variables` as indices into those of `at`."""
    return np.array([at[v] for v in variables], dtype=np.int64)[place]


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
