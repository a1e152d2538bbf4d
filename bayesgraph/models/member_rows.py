"""Rows of an average in the encoding of one of its networks, by one kernel call for all columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.columns import Arrangement
from bayesgraph.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Variable,
    find_intervals,
)

# A variable of the average, and that of the network with its name.
Pair: TypeAlias = tuple[Variable, Variable]

# From this number of rows on, intervals are found by comparison with each of a few cut points.
_MANY, _FEW_CUTS = 256, 64


@dataclass(frozen=True, eq=False)
class MemberRows:
    """Translation of rows in which certain variables of an average have columns.

    Attributes
    ----------
    vectors : sequence of (CountVector, CountVector)
        The vectors of counts of the average that the network has, with those of the network.
    discrete, continuous : tuple of Variable
        The average's variables of which states, and of which numbers are read.
    coded, numeric : tuple of Variable
        The network's variables that have states, and those that have numbers.
    kept : ndarray of int
        Index into `continuous` of each of `numeric`.
    binned : ndarray of bool
        Whether each of `coded` is an interval of a number.
    place : ndarray of int
        Index into `continuous`, or into `discrete`, of what each of `coded` is made of.
    ends : ndarray of int, shape (len(coded), 2)
        Where those of each of `coded` begin and end in the first or the second of `tables`.
    tables : tuple of two ndarrays
        The cut points of intervals; and the network's code of each of the average's codes, -1 for
        a state that it lacks.
    """

    vectors: Sequence[tuple[CountVector, CountVector]]
    discrete: tuple[Discrete, ...]
    continuous: tuple[Continuous, ...]
    coded: tuple[Discrete, ...]
    numeric: tuple[Continuous, ...]
    kept: NDArray[np.intp]
    binned: NDArray[np.bool_]
    place: NDArray[np.int64]
    ends: NDArray[np.int64]
    tables: tuple[Floats, NDArray[np.int64]]

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], code_of: Callable[[Discrete, Variable, int], int | None]
    ) -> MemberRows:
        """Return the translation of columns of an average to the variables of a network.

        Parameters
        ----------
        pairs : sequence of (Variable, Variable)
            The average's variables that have columns, and the network's variables of their names.
        code_of : callable
            From a variable of the average, that of the network and a state code of the former to
            the code of the latter, or None.
        """
        discrete = tuple(whole for whole, _ in pairs if isinstance(whole, Discrete))
        continuous = tuple(whole for whole, _ in pairs if isinstance(whole, Continuous))
        at = {v: i for known in (discrete, continuous) for i, v in enumerate(known)}
        coded = [(whole, own) for whole, own in pairs if isinstance(own, Discrete)]
        cuts: list[float] = []
        states: list[int] = []
        ends: list[tuple[int, int]] = []
        for whole, own in coded:
            if isinstance(whole, Discrete):
                found = [code_of(whole, own, code) for code in range(whole.cardinality)]
                states += [-1 if code is None else code for code in found]
                ends.append((len(states) - len(found), len(states)))
            else:
                assert isinstance(own, Binned)  # no other number has states
                cuts += own.cuts
                ends.append((len(cuts) - len(own.cuts), len(cuts)))
        vectors = [
            (whole, own)
            for whole, own in pairs
            if isinstance(whole, CountVector) and isinstance(own, CountVector)
        ]
        return cls(
            vectors,
            discrete,
            continuous,
            tuple(own for _, own in coded),
            tuple(own for _, own in pairs if isinstance(own, Continuous)),
            np.array([at[w] for w, own in pairs if isinstance(own, Continuous)], dtype=np.intp),
            np.array([isinstance(whole, Continuous) for whole, _ in coded], dtype=np.bool_),
            np.array([at[whole] for whole, _ in coded], dtype=np.int64),
            np.array(ends, dtype=np.int64).reshape(-1, 2),
            (np.array(cuts, dtype=np.float64), np.array(states, dtype=np.int64)),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(table.nbytes for table in self.tables) + self.ends.nbytes + self.place.nbytes

    @cached_property
    def _arrangement(self) -> Arrangement:
        """Where the rows in the network's encoding have their columns."""
        return Arrangement((*self.numeric, *self.coded, *(own for _, own in self.vectors)))

    @cached_property
    def _knows_all(self) -> bool:
        """Whether the network has all states of the average's variables."""
        return not bool(np.any(self.tables[1] < 0))

    def translated(self, rows: Evidence, soft: Mapping[Discrete, Floats]) -> Evidence:
        """Return rows in the network's encoding, with the likelihoods `soft`, which are already."""
        values = _columns(rows, self.continuous)
        codes = np.empty((len(self.coded), rows.n_rows), dtype=self._arrangement.code_type)
        if self.coded:
            given = _columns(rows, self.discrete)
            translate(codes, given, values, self.binned, self.place, self.ends, *self.tables)
        numbers = values if len(self.kept) == len(values) else values[self.kept]
        counts: dict[CountVector, Any] = {}
        for whole, own in self.vectors:
            found = rows.columns[whole]
            same = own == whole
            counts[own] = found if same else found[:, [whole.positions[i] for i in own.items]]
        return Evidence.of_matrices(
            self._arrangement,
            codes.T,
            numbers.T,
            counts=counts,
            likelihoods=soft,
            complete=rows.complete and self._knows_all,
        )


def _columns(rows: Evidence, variables: tuple[Variable, ...]) -> NDArray[Any]:
    """Return columns of rows, contiguous, shape (n_variables, n_rows)."""
    if not variables:
        return np.empty((0, rows.n_rows))
    return np.ascontiguousarray(rows.matrix(variables).T)


def _work(codes: NDArray[Any], *_: Any) -> int:
    return codes.size


@kernel(work=_work)
def translate(
    codes: NDArray[Any],
    given: NDArray[Any],
    values: Floats,
    binned: NDArray[np.bool_],
    place: NDArray[np.int64],
    ends: NDArray[np.int64],
    cuts: Floats,
    states: NDArray[np.int64],
) -> None:
    """Write the codes of states and of intervals to `codes`, -1 where they are missing.

    Parameters
    ----------
    codes : ndarray of integers, shape (n_coded, n_rows)
    given : ndarray of integers, shape (n_discrete, n_rows)
        State codes of the average's variables, -1 where missing.
    values : ndarray, shape (n_continuous, n_rows)
        Numbers, NaN where missing.
    binned, place, ends, cuts, states
        See `MemberRows`, of which the last two are the tables.
    """
    n_rows = codes.shape[1]
    for k in range(len(codes)):
        first, last = ends[k]
        if not binned[k]:
            column = given[place[k]]
            for i in range(n_rows):
                code = int(column[i])
                codes[k, i] = states[first + code] if code >= 0 else -1
        elif n_rows >= _MANY and last - first <= _FEW_CUTS:
            codes[k] = find_intervals(cuts[first:last], values[place[k]])
        else:
            for i in range(n_rows):
                value = values[place[k], i]
                low, high = first, last
                while low < high:
                    middle = (low + high) // 2
                    if cuts[middle] < value:
                        low = middle + 1
                    else:
                        high = middle
                codes[k, i] = low - first if value == value else -1
