"""Encoded evidence: one column for each variable, one row for each case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import CountVector, Discrete, Variable


@dataclass(frozen=True, eq=False)
class Evidence:
    """Encoded findings for a batch of cases.

    Attributes
    ----------
    n_rows : int
    columns : mapping from variable to array of shape (n_rows,)
        State codes (integers, -1 where missing) of discrete variables, values (floats, NaN where
        missing) of continuous ones. A variable that is not a key is observed in no row.
    likelihoods : mapping from discrete variable to array of shape (1 or n_rows, n_states)
        Soft evidence: log of the likelihood of each state.
    complete : bool
        Known to have no missing value, so that nobody needs to look again.
    matrices : tuple of (variables, array of shape (n_rows, n_variables))
        Columns that lie side by side in one array, for kernels that read many at once.
    """

    n_rows: int
    columns: Mapping[Variable, NDArray[Any]]
    likelihoods: Mapping[Discrete, Floats] = field(default_factory=dict)
    complete: bool = False
    matrices: tuple[tuple[tuple[Variable, ...], NDArray[Any]], ...] = ()

    def __contains__(self, variable: object) -> bool:
        return variable in self.columns

    def observed_rows(self, variable: Variable) -> NDArray[np.bool_]:
        """Return which rows observe the variable, shape (n_rows,)."""
        column = self.columns[variable]
        if isinstance(variable, CountVector):
            # A row that counts nothing has the potential 1, as one in which nothing is observed.
            return np.ones(self.n_rows, dtype=bool)
        return _is_observed(variable, column)

    def matrix(self, variables: Sequence[Variable]) -> NDArray[Any]:
        """Return the columns of some variables, shape (n_rows, n_variables), without a copy if any.

        All of one kind: state codes or numbers.
        """
        for known, matrix in self.matrices:
            if known == variables:
                return matrix
        stacked = np.concatenate([self.columns[variable] for variable in variables])
        return stacked.reshape(len(variables), self.n_rows).T

    def split(self) -> tuple[Evidence, list[Variable]]:
        """Return the evidence without columns that are missing throughout, and the partial ones.

        The second value lists the variables that some rows observe and others do not.
        """
        if self.complete:
            return self, []
        n_rows, seen = self.n_rows, self._observed_counts()
        found = zip(self.columns.items(), seen, strict=True)
        columns = dict([item for item, count in found if count or not n_rows])
        partial = [v for v, n in zip(self.columns, seen, strict=True) if 0 < n < n_rows]
        # Counts are looked at where they matter: here it is not known whether some are missing.
        complete = not partial and not any(isinstance(v, CountVector) for v in columns)
        return Evidence(n_rows, columns, self.likelihoods, complete, self.matrices), partial

    def _observed_counts(self) -> list[int]:
        """Return how many rows observe each variable, in the order of the columns."""
        counts: dict[Variable, int] = {}
        for variables, matrix in self.matrices:
            # Columns that lie side by side are looked at together.
            observed = _is_observed(variables[0], matrix)
            seen = observed[0] if self.n_rows == 1 else observed.sum(axis=0)
            if variables == tuple(self.columns):
                return list(seen.tolist())
            counts.update(zip(variables, seen.tolist(), strict=True))
        for variable in self.columns:
            if variable not in counts:
                counts[variable] = int(self.observed_rows(variable).sum())
        return [counts[variable] for variable in self.columns]

    def without(self, variables: Iterable[Variable]) -> Evidence:
        """Return the evidence without the columns of some variables."""
        left_out = set(variables)
        columns = {v: column for v, column in self.columns.items() if v not in left_out}
        return replace(self, columns=columns)

    def rows(self, index: slice | NDArray[np.intp]) -> Evidence:
        """Return the evidence of some rows."""
        columns = {variable: column[index] for variable, column in self.columns.items()}
        likelihoods = {
            variable: values if len(values) == 1 else values[index]
            for variable, values in self.likelihoods.items()
        }
        n_rows = len(range(*index.indices(self.n_rows))) if isinstance(index, slice) else len(index)
        matrices = tuple((variables, matrix[index]) for variables, matrix in self.matrices)
        return Evidence(n_rows, columns, likelihoods, self.complete, matrices)


def _is_observed(variable: Variable, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where codes or numbers of a variable, or of others of its kind, are not missing."""
    observed = values >= 0 if isinstance(variable, Discrete) else ~np.isnan(values)
    return np.asarray(observed, dtype=bool)
