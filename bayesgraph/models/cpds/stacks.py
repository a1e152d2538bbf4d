"""Stacks: CPDs of one class and free variables, whose log potentials one kernel call adds up.

A stack depends on which variables are observed, not on their values: it is made once for a set of
observed variables, and then serves any rows in which these are observed.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor, Potential
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.base import CPD, Adder

_V = TypeVar("_V", bound=Variable)


@dataclass(frozen=True, eq=False)
class TableStack:
    """Log probability tables of several CPDs, which are looked up by observed states.

    Attributes
    ----------
    variables : tuple of Discrete
        The observed variables of all tables.
    arrays : tuple of ndarray
        What `row_kernels.add_tables` takes: where the variables of each table are, their strides in
        the flat table, and the tables, flat and one after the other.
    """

    variables: tuple[Discrete, ...]
    arrays: tuple[NDArray[Any], ...]

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
        widths = np.array([table.shape[1] for table in tables], dtype=np.int64)
        values = np.concatenate([table.reshape(-1) for table in tables])
        return cls(tuple(at), (*_layout(observed, at), widths, values))

    @property
    def nbytes(self) -> int:
        """Bytes of the tables and their indices."""
        return sum(array.nbytes for array in self.arrays)

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log probabilities of all tables given the evidence to `out`; see Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.variables).T)
        row_kernels.add_tables(out, codes, *self.arrays)


@dataclass(frozen=True, eq=False)
class LinearStack:
    """Parameters of several linear Gaussian CPDs, which observed discrete parents select by rows.

    Children and parents are observed, apart from the discrete parents that are the free variables.

    Attributes
    ----------
    discrete : tuple of Discrete
        The observed discrete parents of all CPDs.
    continuous : tuple of Continuous
        The children and continuous parents of all CPDs.
    choices, places, density : tuple of ndarray
        What `row_kernels.add_linear` takes: where the discrete parents of each CPD are, and their
        strides in its configurations; where its child and its continuous parents are; and its
        parameters, a row for each configuration with an entry for each joint state of the free
        variables.
    """

    discrete: tuple[Discrete, ...]
    continuous: tuple[Continuous, ...]
    choices: tuple[NDArray[Any], ...]
    places: tuple[NDArray[Any], ...]
    density: tuple[NDArray[Any], ...]

    @classmethod
    def of(
        cls,
        numbers: Sequence[tuple[Floats, Floats, Floats]],
        chosen: Sequence[Sequence[Discrete]],
        observed: Sequence[Sequence[Continuous]],
    ) -> LinearStack:
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
        variance = np.concatenate([variance for _, variance, _ in numbers])
        place, _, first = _layout(observed, continuous)  # numbers have no strides
        return cls(
            tuple(discrete),
            tuple(continuous),
            _layout(chosen, discrete),
            (place, first, _starts([slopes.size for _, _, slopes in numbers])),
            (
                _starts([mean.size for mean, _, _ in numbers]),
                np.concatenate([mean for mean, _, _ in numbers]),
                1.0 / np.sqrt(variance),  # the scale
                -0.5 * (np.log(variance) + LOG_2PI),  # the constant: the log density at the mean
                np.concatenate([slopes.reshape(-1) for _, _, slopes in numbers]),
            ),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the parameters and their indices."""
        return sum(array.nbytes for array in (*self.choices, *self.places, *self.density))

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children given the evidence to `out`; see Adder."""
        codes = np.ascontiguousarray(evidence.matrix(self.discrete).T)
        numbers = np.ascontiguousarray(evidence.matrix(self.continuous).T, dtype=np.float64)
        row_kernels.add_linear(out, codes, numbers, self.choices, self.places, self.density)


def _places(groups: Sequence[Sequence[_V]]) -> dict[_V, int]:
    """Return a mapping from each variable to its index among the distinct variables of groups."""
    return {v: i for i, v in enumerate(dict.fromkeys(v for group in groups for v in group))}


def _layout(groups: Sequence[Sequence[_V]], at: Mapping[_V, int]) -> tuple[NDArray[np.int64], ...]:
    """Return the places of the variables of all groups, their strides, and where groups start.

    The stride of a variable is that in a flat table of the states of its group.
    """
    places = [at[v] for group in groups for v in group]
    strides: list[int] = []
    for group in groups:
        cards = [v.cardinality if isinstance(v, Discrete) else 1 for v in group]
        strides += [math.prod(cards[place + 1 :]) for place in range(len(cards))]
    starts = _starts([len(group) for group in groups])
    return np.array(places, dtype=np.int64), np.array(strides, dtype=np.int64), starts


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where pieces of given lengths start, one after the other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# ------------------------------- The CPDs relevant to a query, grouped by their free variables


@dataclass(frozen=True, eq=False)
class _One:
    """`Adder` of a single CPD: it adds the CPD's log potential to an array shared by many CPDs."""

    cpd: CPD
    scope: tuple[Discrete, ...]
    nbytes = 0

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the CPD's log potentials given the evidence to `out`, shape (cells, n_rows)."""
        self.cpd.accumulate(evidence, self.scope, out)


class _Sum(NamedTuple):
    """Adders of CPDs with the same free variables; the product of the potentials is one factor."""

    scope: tuple[Discrete, ...]
    adders: tuple[Adder, ...]

    def factor(self, evidence: Evidence, start: Factor | None, constant: Factor | None) -> Factor:
        """Return the product of the CPDs' potentials and of other factors, if they are given.

        Parameters
        ----------
        evidence : Evidence
        start : Factor or None
            Factor over the same variables, the same for all rows.
        constant : Factor or None
            Factor over no variable, a number for each row.
        """
        shape = [variable.cardinality for variable in self.scope]
        cells = math.prod(shape)
        advice = "Observe more of them, or ask for fewer rows at a time."
        check_memory(f"A table of {len(shape)} variables needs", cells * evidence.n_rows, advice)
        out = np.empty((cells, evidence.n_rows))
        # The sums start with the factor that all rows share, such as the prior of the class.
        out[:] = 0.0 if start is None else start.aligned(self.scope).reshape(-1, 1)
        if constant is not None:
            out += constant.log_values
        for adder in self.adders:
            adder.add(evidence, out)
        return Factor.from_log(self.scope, out.T.reshape(evidence.n_rows, *shape))


@dataclass(frozen=True, eq=False)
class Combination:
    """The CPDs relevant to a query, grouped by their free (unobserved) variables.

    CPDs with the same free discrete variables become one factor. For example, naive Bayes with
    observed features becomes one factor over the class variable, filled by one kernel call for each
    class of CPDs, without a temporary array.

    Attributes
    ----------
    alone : tuple of (CPD, set of free variables)
        CPDs that give one potential each.
    sums : mapping from set of free variables to the CPDs whose log potentials are added up
    """

    alone: tuple[tuple[CPD, frozenset[Variable]], ...]
    sums: Mapping[frozenset[Variable], _Sum]

    @property
    def nbytes(self) -> int:
        """Bytes of the copies of parameters that the groups of CPDs hold."""
        return sum(adder.nbytes for group in self.sums.values() for adder in group.adders)

    @classmethod
    def of(cls, cpds: Iterable[CPD], observed: Container[Variable]) -> Combination:
        """Return the CPDs grouped by their free variables, given which variables are observed.

        Parameters
        ----------
        cpds : iterable of CPD
        observed : container of Variable
            Variables that have a column in the evidence.
        """
        alone: list[tuple[CPD, frozenset[Variable]]] = []
        groups: dict[frozenset[Variable], list[CPD]] = {}
        for cpd in cpds:
            free = frozenset(variable for variable in cpd.scope if variable not in observed)
            # Without evidence the potential is the same for all rows, and with a free number it is
            # no table: neither can be added up row by row.
            if len(free) == len(cpd.scope) or any(not isinstance(v, Discrete) for v in free):
                alone.append((cpd, free))
            else:
                groups.setdefault(free, []).append(cpd)
        sums: dict[frozenset[Variable], _Sum] = {}
        for free, group in groups.items():
            # The order of the axes of the common factor is that of the first CPD.
            scope = tuple(v for v in group[0].scope if isinstance(v, Discrete) and v in free)
            kinds: dict[type[CPD], list[CPD]] = {}
            for cpd in group:
                kinds.setdefault(type(cpd), []).append(cpd)
            adders: list[Adder] = []
            for kind, alike in kinds.items():
                stacks = kind.adders(alike, scope, observed)
                adders += stacks or [_One(cpd, scope) for cpd in alike]
            sums[free] = _Sum(scope, tuple(adders))
        # Few free variables first: `potentials` relies on the empty set in the first place.
        return cls(tuple(alone), dict(sorted(sums.items(), key=lambda item: len(item[0]))))

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return the factors of all CPDs, reduced by a batch of evidence."""
        potentials: list[Potential] = []
        # By free variables, a table that all rows share, with which the sum of the others starts.
        whole: dict[frozenset[Variable], Factor] = {}
        for cpd, free in self.alone:
            potential = cpd.potential(evidence)
            if isinstance(potential, Factor) and potential.n_rows == 1 and free not in whole:
                whole[free] = potential
            else:
                potentials.append(potential)
        constant = None
        for free, several in self.sums.items():
            product = several.factor(evidence, whole.pop(free, None), constant)
            # What depends on no free variable, which comes first, is a part of the next factor.
            constant = product if not free and len(self.sums) > 1 else None
            if constant is None:
                potentials.append(product)
        potentials += whole.values()
        return potentials
