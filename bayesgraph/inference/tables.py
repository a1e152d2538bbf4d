"""The tables of a discrete model as flat arrays for the compiled (Numba) kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from struct import pack
from typing import Any

import numpy as np

from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.inference import planning_kernels as kernels
from bayesgraph.inference.junction import Ints, TableArrays
from bayesgraph.variables import Discrete, Name, Variable

# Smallest normal number, below which digits are lost; a table with this entry makes programs run
# on logarithms.
_TINY = float(np.finfo(np.float64).tiny)
_LOG_TINY = float(np.log(_TINY))


def _joined(tables: Sequence[Any]) -> Floats:
    """Return the entries of all tables in one array."""
    try:
        # Several times faster than `concatenate` for small tables.
        return np.frombuffer(bytearray().join(tables))
    except (TypeError, ValueError):  # a table is not contiguous
        return np.concatenate(tables, axis=None)


class Scopes:
    """The variables of a model and the scopes of its tables, as arrays of indices.

    Parameters
    ----------
    variables : sequence of Discrete
        All variables, in the order of their indices.
    number : dict from name of a variable to its index
    ends : sequence of int
        0, then the end of the scope of each table in `item`.
    item : sequence of int
        Indices of the variables of each table, one table after the other.

    Attributes
    ----------
    cards, start, item
        See Tables.
    indices
        These three, one after the other.
    """

    __slots__ = ("cards", "indices", "item", "number", "start", "variables")

    def __init__(
        self,
        variables: Sequence[Discrete],
        number: dict[Name, int],
        ends: Sequence[int],
        item: Sequence[int],
    ) -> None:
        self.variables = tuple(variables)
        self.number = number
        # One array for all integers, and their bytes: several arrays of numbers take much longer.
        numbers = [*[len(v.states) for v in self.variables], *ends, *item]
        joined = np.frombuffer(bytearray(pack(f"{len(numbers)}q", *numbers)), dtype=np.int64)
        n, m = len(self.variables), len(self.variables) + len(ends)
        self.indices = joined
        self.cards, self.start, self.item = joined[:n], joined[n:m], joined[m:]

    @classmethod
    def of_variables(
        cls, variables: Sequence[Discrete], scopes: Iterable[tuple[Variable, ...]]
    ) -> Scopes:
        """Return the scopes of tables, given as variables."""
        # Names identify the variables of a model, and are hashed faster than variables.
        number = {v.name: i for i, v in enumerate(variables)}
        item: list[int] = []
        ends = [0]
        for scope in scopes:
            item += [number[v.name] for v in scope]
            ends.append(len(item))
        return cls(variables, number, ends, item)


class Tables:
    """Non-negative tables over discrete variables, stored in one flat array.

    Parameters
    ----------
    scopes : Scopes
        The variables of each table, in the order of its axes.
    values : sequence of ndarray
        The tables.
    sums_to_one : bool
        Whether each table is the distribution of the last variable of its scope given the others.
    log_scales : sequence of float, optional
        Natural logs of constants by which the tables are multiplied.
    log_values : sequence of ndarray, optional
        Natural logarithms of the tables, given if some entries underflow. Such entries must be so
        small in `values` that every program runs on the logarithms.

    Attributes
    ----------
    log_scale : float
        Sum of `log_scales`.
    variables : tuple of Discrete
    number : dict from name of a variable to its index
    cards : shape (n_variables,)
        Cardinalities.
    start, item
        Scopes as indices of variables: the scope of table f is ``item[start[f]:start[f + 1]]``.
    indices
        `cards`, `start` and `item`, one after the other.
    """

    def __init__(
        self,
        scopes: Scopes,
        values: Sequence[Floats],
        *,
        sums_to_one: bool,
        log_scales: Sequence[float] = (),
        log_values: Sequence[Floats] | None = None,
    ) -> None:
        self.variables, self.number = scopes.variables, scopes.number
        self.log_scales = np.array(log_scales) if log_scales else np.zeros(len(values))
        self.log_scale = float(sum(log_scales))
        self.cards, self.start, self.item = scopes.cards, scopes.start, scopes.item
        self.indices = scopes.indices
        self.values = _joined(values)
        self._log_values: Floats | None = None
        if log_values is not None:
            self._log_values = np.concatenate(log_values, axis=None)
        self._sums_to_one = sums_to_one

    @cached_property
    def arrays(self) -> TableArrays:
        """All arrays as one named tuple, which the compiled kernels take."""
        step, base, child = kernels.table_layout(
            self.cards, self.start, self.item, self._sums_to_one
        )
        return TableArrays(self.cards, self.start, self.item, step, base, child, self.values)

    @classmethod
    def from_logs(cls, scopes: Scopes, logs: Sequence[Floats]) -> Tables:
        """Return tables from their logarithms, each table divided by its largest entry."""
        peaks = [float(table.max()) for table in logs]
        peaks = [peak if np.isfinite(peak) else 0.0 for peak in peaks]
        scaled = [table - peak for table, peak in zip(logs, peaks, strict=True)]
        lost = any(((x < _LOG_TINY) & (x > -np.inf)).any() for x in scaled)
        return cls(
            scopes,
            [np.where(np.isneginf(x), 0.0, np.maximum(np.exp(x), _TINY)) for x in scaled],
            sums_to_one=False,
            log_scales=peaks,
            log_values=scaled if lost else None,
        )

    def with_values(self, values: Floats) -> Tables:
        """Return tables of the same scopes with other entries, given one after the other."""
        found = copy(self)
        found.values, found._log_values = values, None
        found.__dict__.pop("log_values", None)
        found.__dict__["arrays"] = self.arrays._replace(values=values)
        return found

    @property
    def has_lost_digits(self) -> bool:
        """Whether entries underflow, so that only the logarithms are right."""
        return self._log_values is not None

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self.values.nbytes

    @cached_property
    def log_values(self) -> Floats:
        """Natural logarithms of all table entries: those given to the constructor, or computed."""
        return self.log_at(slice(None))

    def log_at(self, places: Ints | slice) -> Floats:
        """Return the natural logarithms of the entries at the given indices of the flat array."""
        if self._log_values is not None:
            return self._log_values[places]
        return log_of(self.values[places])

    def offsets(self, findings: Ints) -> Ints:
        """Return the offset of the first entry of each table that agrees with the evidence.

        Parameters
        ----------
        findings : shape (2 k,)
            Indices of the observed variables, then their state codes.
        """
        a = self.arrays
        offsets: Ints = kernels.evidence_offsets(
            a.start, a.item, a.step, a.base, len(a.cards), findings
        )
        return offsets

    def scopes(self) -> list[tuple[Discrete, ...]]:
        """Return the variables of each table, in the order of its axes."""
        return [
            tuple(self.variables[v] for v in self.item[begin:end].tolist())
            for begin, end in itertools.pairwise(self.start.tolist())
        ]

    def __len__(self) -> int:
        return len(self.start) - 1

    def table(self, f: int, *, logs: bool = False) -> tuple[list[int], Floats]:
        """Return the indices of the variables of table f, and the table (its log if `logs`)."""
        numbers = self.item[self.start[f] : self.start[f + 1]].tolist()
        shape = self.cards[numbers]
        begin = int(self.arrays.base[f])
        values = self.log_values if logs else self.values
        return numbers, values[begin : begin + int(shape.prod())].reshape(shape)

    def numbers(self, variables: Iterable[Variable]) -> list[int]:
        """Return the indices of the given variables."""
        return [self.number[v.name] for v in variables]
