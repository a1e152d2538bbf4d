"""Tables as integer codes, on which trees are grown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds.histogram import quantile_edges
from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete, Variable


@dataclass(frozen=True)
class CodedColumns:
    """The columns of a table as codes: ranks or intervals of numbers, and states.

    Attributes
    ----------
    variables : tuple of Variable
    codes : ndarray of int32, shape (n_features, n_rows)
        -1 where missing. Codes of numbers ascend with the numbers. Codes of states are in the order
        of the states' names: codes of tables differ between libraries, and ties are broken by them.
    n_codes : ndarray of int, shape (n_features,)
    is_number : ndarray of bool, shape (n_features,)
    values : list of ndarray
        Of numbers, the smallest and the largest value of each code, shape (2, n_codes); of states,
        the table's code of each code.
    """

    variables: tuple[Variable, ...]
    codes: NDArray[np.int32]
    n_codes: NDArray[np.int64]
    is_number: NDArray[np.bool_]
    values: list[NDArray[Any]]

    @classmethod
    def of(cls, table: Table, weights: Floats, n_intervals: int | None = None) -> CodedColumns:
        """Return the codes of a table.

        Parameters
        ----------
        table : Table
        weights : ndarray, shape (n_rows,)
        n_intervals : int, optional
            Maximum number of intervals of about equal weight into which numbers are cut. By default
            each distinct number has a code of its own.
        """
        codes = np.full((len(table.variables), table.n_rows), -1, dtype=np.int32)
        values: list[NDArray[Any]] = []
        for own, variable in zip(codes, table.variables, strict=True):
            column = table.column(variable)
            if isinstance(variable, Discrete):
                states = sorted(
                    range(variable.cardinality), key=lambda code: repr(variable.states[code])
                )
                rank = np.argsort(states)
                own[:] = np.where(column < 0, -1, rank[column])
                values.append(np.array(states))
                continue
            numbers = np.asarray(column, dtype=np.float64)
            seen = ~np.isnan(numbers)
            distinct, place = np.unique(numbers[seen], return_inverse=True)
            if n_intervals is not None and len(distinct):
                cuts = quantile_edges(numbers[seen], weights[seen], (), n_intervals)[1:-1]
                interval = np.searchsorted(cuts, distinct, side="left")
                begins = np.flatnonzero(np.diff(interval, prepend=-1))
                ends = np.append(begins[1:], len(distinct)) - 1
                place, ranges = interval[place], np.stack([distinct[begins], distinct[ends]])
            else:
                ranges = np.stack([distinct, distinct])
            own[seen] = place
            values.append(ranges)
        return cls(
            tuple(table.variables),
            codes,
            np.array([found.shape[-1] for found in values], dtype=np.int64),
            np.array([not isinstance(v, Discrete) for v in table.variables], dtype=bool),
            values,
        )

    def rows(self, rows: NDArray[np.integer[Any]]) -> CodedColumns:
        """Return the codes of some rows."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        return CodedColumns(self.variables, codes, self.n_codes, self.is_number, self.values)

    def threshold(self, feature: int, low: int, high: int) -> float:
        """Return the middle between the largest number of one code and the smallest of another."""
        below, above = float(self.values[feature][1, low]), float(self.values[feature][0, high])
        middle = below + (above - below) / 2
        # The middle of neighbouring floats may round to the larger one, which must not go left.
        return middle if middle < above else below

    def states(self, feature: int, codes: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
        """Return a mask of the states that have the codes of a mask, in the table's order."""
        chosen = np.zeros(width, dtype=bool)
        chosen[self.values[feature][codes]] = True
        return chosen
