"""Columns that are kept in matrices: those of numbers in one, those of state codes in another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, Count, CountVector, Discrete, Variable


class Arrangement(tuple[Variable, ...]):
    """The variables of a table in their order, and where it keeps their columns; see `arranged`.

    What is found from the variables is kept, for all tables and batches of rows that share them.
    """

    @cached_property
    def discrete(self) -> tuple[Discrete, ...]:
        """Discrete variables, in the order of the columns of codes."""
        return tuple(v for v in self if isinstance(v, Discrete))

    @cached_property
    def continuous(self) -> tuple[Continuous, ...]:
        """Continuous variables, in the order of the columns of numbers."""
        return tuple(v for v in self if isinstance(v, Continuous))

    @cached_property
    def vectors(self) -> tuple[CountVector, ...]:
        """Vectors of counts, which have matrices of their own."""
        return tuple(v for v in self if isinstance(v, CountVector))

    @cached_property
    def counted(self) -> tuple[tuple[int, Count], ...]:
        """Counts among the continuous variables, with their places."""
        return tuple((i, v) for i, v in enumerate(self.continuous) if isinstance(v, Count))

    @cached_property
    def place(self) -> Mapping[Variable, int]:
        """The index of each variable among those of its kind."""
        kinds: tuple[tuple[Variable, ...], ...] = (self.discrete, self.continuous, self.vectors)
        return {variable: i for kind in kinds for i, variable in enumerate(kind)}

    def places(self, variables: tuple[Variable, ...]) -> NDArray[np.int64]:
        """Return the places of several variables, -1 for those that the table lacks."""
        asked, found = self._last[0]
        if asked is not variables:
            found = np.array([self.place.get(v, -1) for v in variables], dtype=np.int64)
            self._last[0] = variables, found
        return found

    @cached_property
    def _last(self) -> list[tuple[tuple[Variable, ...], NDArray[np.int64]]]:
        """The variables whose places were asked for last, and these: searches ask again."""
        return [((), np.empty(0, dtype=np.int64))]

    @cached_property
    def code_type(self) -> np.dtype[np.signedinteger[Any]]:
        """The smallest signed integer type that holds every variable's codes and -1."""
        largest = max((v.cardinality for v in self.discrete), default=1)
        for candidate in (np.int8, np.int16, np.int32):
            if largest - 1 <= np.iinfo(candidate).max:
                return np.dtype(candidate)
        return np.dtype(np.int64)


def arranged(variables: Iterable[Variable]) -> Arrangement:
    """Return the variables of a table as an arrangement, which stays the same if it is one."""
    return variables if isinstance(variables, Arrangement) else Arrangement(variables)


class MatrixColumns(Mapping[Variable, NDArray[Any]]):
    """The columns of matrices by variable; a column is cut out when one asks for it.

    Parameters
    ----------
    arrangement : Arrangement
    codes, values : ndarray
        State codes and numbers, shape (n_rows, n_variables of the kind).
    counts : mapping from CountVector to array or csr_array
    """

    __slots__ = ("_codes", "_counts", "_values", "arrangement")

    def __init__(
        self,
        arrangement: Arrangement,
        codes: NDArray[Any],
        values: Floats,
        counts: Mapping[CountVector, Any],
    ) -> None:
        self.arrangement = arrangement
        self._codes = codes
        self._values = values
        self._counts = counts

    def only(
        self, variables: Sequence[Variable]
    ) -> tuple[Arrangement, NDArray[Any], Floats, Mapping[CountVector, Any]]:
        """Return what the columns of some of the variables, in their order, are made of."""
        place = self.arrangement.place
        found = arranged(variables)
        codes = self._codes[:, [place[v] for v in found.discrete]]
        values = self._values[:, [place[v] for v in found.continuous]]
        return found, codes, values, {v: self._counts[v] for v in found.vectors}

    def __getitem__(self, variable: Variable) -> NDArray[Any]:
        at = self.arrangement.place[variable]
        if isinstance(variable, Discrete):
            return self._codes[:, at]
        if isinstance(variable, Continuous):
            return self._values[:, at]
        return self._counts[variable]  # type: ignore[no-any-return]

    def __contains__(self, variable: object) -> bool:
        return variable in self.arrangement.place

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.arrangement)

    def __len__(self) -> int:
        return len(self.arrangement)
