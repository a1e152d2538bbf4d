"""Batches of rows: sums of the row probabilities of all networks of a mixture.

If the missing variables of a row are leaves of a network of tables, nothing must be summed out,
because their tables sum to one: the log probability of the row is a sum of log table entries,
computed by one compiled kernel over all tables. The network's own solver answers the other rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.mixture import kernels
from bayesgraph.inference.tables import Tables
from bayesgraph.parallel import over_rows
from bayesgraph.variables import Variable

# Minimum number of table entries read by each thread.
_THREAD = 1 << 18


@dataclass(frozen=True, eq=False)
class Sums:
    """The log tables of a network in the layout of `kernels.add_network`.

    The attributes are parameters of that kernel.

    Attributes
    ----------
    child, first, column, stride, base : ndarray of int64
    wide : ndarray of bool
    inner : ndarray of int64
    logs : ndarray
    """

    child: NDArray[np.int64]
    first: NDArray[np.int64]
    column: NDArray[np.int64]
    stride: NDArray[np.int64]
    base: NDArray[np.int64]
    wide: NDArray[np.bool_]
    inner: NDArray[np.int64]
    logs: Floats

    @property
    def nbytes(self) -> int:
        """Bytes of the log entries."""
        return self.logs.nbytes


def sums_of(tables: Tables, target: int | None, columns: Sequence[int]) -> Sums:
    """Return the log tables of a network in the layout of `kernels.add_network`.

    Parameters
    ----------
    tables : Tables
        Tables that are distributions of the last variable of their scope.
    target : int, optional
        Index of the target, whose axis is moved to the end of each table.
    columns : sequence of int
        Index of the variable of each column of the rows.
    """
    place = {variable: i for i, variable in enumerate(columns)}
    child, first, column, stride, base, wide = [], [0], list[int](), list[int](), [], []
    logs: list[Floats] = []
    n_logs = 0
    for f in range(len(tables)):
        scope, table = tables.table(f)
        rest = [v for v in scope if v != target]
        order = [*rest, target] if target in scope else rest
        values = np.transpose(table, [scope.index(v) for v in order])
        with np.errstate(divide="ignore"):
            logs.append(np.log(values).reshape(-1))
        child.append(-1 if scope[-1] == target else place[scope[-1]])
        column += [place[v] for v in rest]
        stride += [int(np.prod(values.shape[axis + 1 :])) for axis in range(len(rest))]
        first.append(len(column))
        base.append(n_logs)
        wide.append(target in scope)
        n_logs += values.size
    return Sums(
        np.array(child, dtype=np.int64),
        np.array(first, dtype=np.int64),
        np.array(column, dtype=np.int64),
        np.array(stride, dtype=np.int64),
        np.array(base, dtype=np.int64),
        np.array(wide, dtype=bool),
        np.array(_inner(tables, target, place), dtype=np.int64),
        np.concatenate(logs),
    )


def _inner(tables: Tables, target: int | None, place: dict[int, int]) -> list[int]:
    """Return the columns of all variables that have children, except the target.

    `place` maps the index of a variable to its column.
    """
    parents: dict[int, None] = {}
    for begin, end in itertools.pairwise(tables.start.tolist()):
        parents |= dict.fromkeys(tables.item[begin : end - 1].tolist())
    return [place[parent] for parent in parents if parent != target]


class RowSum:
    """A sum of probabilities for each row and state, stored as ``total * exp(maximum)``.

    Parameters
    ----------
    n_states, n_rows : int
    """

    def __init__(self, n_states: int, n_rows: int) -> None:
        self.maximum = np.full((n_states, n_rows), -np.inf)
        self.total = np.zeros((n_states, n_rows))

    def add(self, rows: NDArray[np.intp] | slice, logs: Floats) -> None:
        """Add the exponentials of logs, shape (n_states, number of rows), to the given rows."""
        maximum, total = self.maximum[:, rows], self.total[:, rows]
        larger = np.maximum(maximum, logs)
        # If both logs are minus infinity, their difference would be NaN.
        origin = np.where(np.isneginf(larger), 0.0, larger)
        self.total[:, rows] = total * np.exp(maximum - origin) + np.exp(logs - origin)
        self.maximum[:, rows] = larger

    def add_sums(
        self, sums: Sums, log_weight: float, codes: NDArray[np.int32], *, complete: bool
    ) -> NDArray[np.intp]:
        """Add the weighted probabilities of a network of tables to the sums, where possible.

        Returns the indices of the rows that were left out, because a variable with children is
        missing; the network's own solver must answer them. `codes` are state codes, shape
        (n_columns, n_rows), -1 where missing; `complete` tells that none is missing.
        """
        open_rows = np.zeros(codes.shape[1], dtype=bool)

        def work(begin: int, end: int) -> None:
            kernels.add_network(
                codes,
                sums.child,
                sums.first,
                sums.column,
                sums.stride,
                sums.base,
                sums.wide,
                sums.inner,
                sums.logs,
                log_weight,
                self.maximum,
                self.total,
                open_rows,
                complete,
                begin,
                end,
            )

        per_row = len(sums.column) + len(sums.child) * len(self.maximum)
        over_rows(work, codes.shape[1], 1 + _THREAD // per_row)
        return np.flatnonzero(open_rows)

    def logs(self) -> Floats:
        """Return the logs of the sums, shape (n_rows, n_states)."""
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(self.total) + self.maximum).T)


def stacked_codes(evidence: Evidence, columns: Sequence[Variable]) -> NDArray[np.int32]:
    """Return the codes of discrete columns, shape (n_columns, n_rows); -1 where not observed."""
    codes = np.full((len(columns), evidence.n_rows), -1, dtype=np.int32)
    for row, variable in zip(codes, columns, strict=True):
        if variable in evidence:
            row[:] = evidence.columns[variable]
    return codes
