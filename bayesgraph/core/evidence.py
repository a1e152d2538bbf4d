"""Encoded evidence: one column for each variable, one row for each case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Continuous, Count, CountVector, Discrete, Variable

# ----- Columns that are kept in matrices: those of numbers in one, those of state codes in another


class Arrangement(tuple[Variable, ...]):
    """The variables of a table in their order, and where it keeps their columns; see `arranged`.

    What is found from the variables is kept, for all tables and batches of rows that share them.
    """

    @cached_property
    def discrete(self) -> tuple[Discrete, ...]:
        """Discrete variables, in the order of the columns of codes."""
        return tuple([v for v in self if isinstance(v, Discrete)])

    @cached_property
    def continuous(self) -> tuple[Continuous, ...]:
        """Continuous variables, in the order of the columns of numbers."""
        return tuple([v for v in self if isinstance(v, Continuous)])

    @cached_property
    def vectors(self) -> tuple[CountVector, ...]:
        """Vectors of counts, which have matrices of their own."""
        return tuple([v for v in self if isinstance(v, CountVector)])

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
        # Compared by identity, which is quick: callers keep their tuples.
        asked, places = self._last[0]
        if asked is not variables:
            places = np.array([self.place.get(v, -1) for v in variables], dtype=np.int64)
            self._last[0] = variables, places
        return places

    @cached_property
    def _last(self) -> list[tuple[tuple[Variable, ...], NDArray[np.int64]]]:
        """The variables whose places were asked for last, and these: searches ask again."""
        return [((), np.empty(0, dtype=np.int64))]

    @cached_property
    def code_type(self) -> np.dtype[np.signedinteger[Any]]:
        """The smallest signed integer type that holds every variable's codes and -1."""
        largest = max((v.cardinality for v in self.discrete), default=1)
        # A type that holds -n has n - 1 as its largest number, or a larger one.
        return np.min_scalar_type(-largest)


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
        """Return the arrangement and the matrices of some of the variables, in their order."""
        place = self.arrangement.place
        arrangement = arranged(variables)
        codes = self._codes[:, [place[v] for v in arrangement.discrete]]
        values = self._values[:, [place[v] for v in arrangement.continuous]]
        return arrangement, codes, values, {v: self._counts[v] for v in arrangement.vectors}

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


# --------------------------- Encoded evidence: one column for each variable, one row for each case


# Number of rows from which columns are counted one by one.
_MANY = 256
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Evidence:
    """Encoded evidence for a batch of rows (cases).

    Attributes
    ----------
    n_rows : int
    columns : mapping from variable to array of shape (n_rows,)
        State codes (integers, -1 where missing) of discrete variables, values (floats, NaN where
        missing) of continuous ones. A variable that is not a key is observed in no row.
    likelihoods : mapping from discrete variable to array of shape (1 or n_rows, n_states)
        Soft evidence: log likelihood of each state.
    complete : bool
        True if no value is missing; False if the columns must be checked for missing values.
    matrices : tuple of (variables, array of shape (n_rows, n_variables))
        Columns that are also stored in one matrix, for kernels that read many columns at once.
    """

    n_rows: int
    columns: Mapping[Variable, NDArray[Any]]
    likelihoods: Mapping[Discrete, Floats] = field(default_factory=dict)
    complete: bool = False
    matrices: tuple[tuple[tuple[Variable, ...], NDArray[Any]], ...] = ()

    @classmethod
    def of_matrices(
        cls,
        arrangement: Arrangement,
        codes: NDArray[Any],
        values: Floats,
        counts: Mapping[CountVector, Any] = _NOTHING,
        *,
        likelihoods: Mapping[Discrete, Floats] = _NOTHING,
        complete: bool = False,
    ) -> Evidence:
        """Return evidence whose columns are those of matrices; see `MatrixColumns` for these."""
        kinds = (arrangement.continuous, values), (arrangement.discrete, codes)
        matrices = tuple([(variables, matrix) for variables, matrix in kinds if variables])
        columns = MatrixColumns(arrangement, codes, values, counts)
        return cls(len(codes), columns, likelihoods, complete, matrices)

    def __contains__(self, variable: object) -> bool:
        return variable in self.columns

    def observed_rows(self, variable: Variable) -> NDArray[np.bool_]:
        """Return a mask of the rows in which the variable is observed, shape (n_rows,)."""
        column = self.columns[variable]
        if isinstance(variable, CountVector):
            # A row of zero counts has the potential 1, the same as a row without counts.
            return np.ones(self.n_rows, dtype=bool)
        return _is_observed(variable, column)

    def matrix(self, variables: Sequence[Variable]) -> NDArray[Any]:
        """Return the columns of the given variables as a matrix, shape (n_rows, n_variables).

        The variables are all discrete or all continuous. A stored matrix of exactly these variables
        is returned without a copy.
        """
        for scope, matrix in self.matrices:
            if scope == variables:
                return matrix
        if not variables:
            return np.empty((self.n_rows, 0), dtype=np.int8)
        # One column after the other, then rows first: a view in Fortran order.
        stacked = np.concatenate([self.columns[variable] for variable in variables])
        return stacked.reshape(len(variables), self.n_rows).T

    def split(self) -> tuple[Evidence, list[Variable]]:
        """Return the evidence without its empty columns, and the partially observed variables.

        A column is empty if its values are missing in all rows; a partially observed variable is
        observed in some rows and missing in others.
        """
        return (self, []) if self.complete else self._split

    @cached_property
    def _split(self) -> tuple[Evidence, list[Variable]]:
        """What `split` returns: the networks of an average split the same evidence."""
        n_rows, columns = self.n_rows, tuple(self.columns)
        counts = list(zip(columns, self._observed_counts(columns), strict=True))
        kept = self
        # Without rows no column counts as empty.
        if n_rows and len(there := [v for v, n in counts if n]) < len(columns):
            kept = self._only(there)
        partial = [v for v, n in counts if 0 < n < n_rows]
        # Missing counts are not looked for here: evidence with counts is never marked complete.
        complete = not partial and not _has_vectors(kept.columns)
        return Evidence(n_rows, kept.columns, self.likelihoods, complete, kept.matrices), partial

    def _only(self, variables: list[Variable]) -> Evidence:
        """Return the evidence with the columns of the given variables, in their order.

        Evidence in matrices comes back without its likelihoods, which `_split` adds.
        """
        if isinstance(self.columns, MatrixColumns):
            return Evidence.of_matrices(*self.columns.only(variables))
        columns = {variable: self.columns[variable] for variable in variables}
        # Without the columns of other variables, for kernels that read all columns at once.
        matrices = []
        for scope, matrix in self.matrices:
            places = [place for place, variable in enumerate(scope) if variable in columns]
            if len(places) == len(scope):
                matrices.append((scope, matrix))
            elif places:
                matrices.append((tuple([scope[place] for place in places]), matrix[:, places]))
        return replace(self, columns=columns, matrices=tuple(matrices))

    def _observed_counts(self, columns: tuple[Variable, ...]) -> list[int]:
        """Return for each column the number of rows in which its variable is observed."""
        counts: dict[Variable, int] = {}
        for variables, matrix in self.matrices:
            # The columns of a matrix are counted together.
            observed = _is_observed(variables[0], matrix)
            numbers: list[int]
            if self.n_rows < _MANY:
                # Of one row the mask itself: True counts as 1.
                numbers = (observed[0] if self.n_rows == 1 else observed.sum(axis=0)).tolist()
            else:
                # Several times faster than sums of many rows.
                numbers = [int(np.count_nonzero(column)) for column in observed.T]
            if variables == columns:
                return numbers
            counts.update(zip(variables, numbers, strict=True))
        for variable in columns:
            if variable not in counts:
                counts[variable] = int(np.count_nonzero(self.observed_rows(variable)))
        return [counts[variable] for variable in columns]

    def without(self, variables: Iterable[Variable]) -> Evidence:
        """Return the evidence without the columns of the given variables."""
        left_out = set(variables)
        columns = {v: column for v, column in self.columns.items() if v not in left_out}
        return replace(self, columns=columns)

    def rows(self, index: slice | NDArray[np.intp]) -> Evidence:
        """Return the evidence restricted to the rows that `index` selects."""
        columns = {variable: column[index] for variable, column in self.columns.items()}
        likelihoods = {
            variable: values if len(values) == 1 else values[index]
            for variable, values in self.likelihoods.items()
        }
        n_rows = len(range(*index.indices(self.n_rows))) if isinstance(index, slice) else len(index)
        matrices = tuple((variables, matrix[index]) for variables, matrix in self.matrices)
        return Evidence(n_rows, columns, likelihoods, self.complete, matrices)


def _has_vectors(columns: Mapping[Variable, NDArray[Any]]) -> bool:
    """Return whether there are vectors of counts among the columns."""
    if isinstance(columns, MatrixColumns):
        return bool(columns.arrangement.vectors)
    return any(isinstance(v, CountVector) for v in columns)


def _is_observed(variable: Variable, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a boolean mask of the values that are not missing (NaN, or a negative state code)."""
    observed = values >= 0 if isinstance(variable, Discrete) else ~np.isnan(values)
    return np.asarray(observed, dtype=bool)
