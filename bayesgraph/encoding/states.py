"""Encoding of matrices of variables whose states are integers, floats, text or intervals."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import kernels
from bayesgraph.encoding.columns import Codes
from bayesgraph.encoding.table import Table, code_type, table_of_codes
from bayesgraph.factors.algebra import Floats
from bayesgraph.parallel import by_rows
from bayesgraph.variables import Binned, Discrete, Name, State, Variable, is_missing

# Maximum number of entries of all look-up tables together.
_LOOKUP_CELLS = 1 << 22
# Bound of magnitudes below which different integers are different floating-point numbers.
_EXACT = 2**53


def table_of_integers(matrix: NDArray[np.int64], names: Sequence[Name]) -> Table | None:
    """Return an integer matrix as a table of discrete variables named `names`.

    The result is None if the range of a column is too wide for a look-up table.
    """
    low = np.empty(matrix.shape[1], dtype=np.int64)
    high = np.empty_like(low)
    kernels.column_ranges(matrix, low, high)
    # Unsigned, because the difference of two signed 64-bit integers may overflow.
    widths = high.view(np.uint64) - low.view(np.uint64) + np.uint64(1)
    if not ((widths > 0) & (widths <= _LOOKUP_CELLS)).all() or widths.sum() > _LOOKUP_CELLS:
        return None
    start = np.concatenate([[0], np.cumsum(widths.astype(np.int64))])
    present = np.zeros(start[-1], dtype=np.uint8)
    kernels.mark_present(matrix, low, start, present)
    variables = tuple(
        Discrete(name, (np.flatnonzero(present[a:b]) + first).tolist())
        for name, first, a, b in zip(names, low, start[:-1], start[1:], strict=True)
    )
    states = WholeStates.of(variables)
    return None if states is None else states.table(matrix)


@dataclass(frozen=True, eq=False)
class WholeStates:
    """Encoder of variables whose states are integers in a narrow range, by look-up tables.

    Attributes
    ----------
    variables : tuple of Discrete
    low : ndarray, shape (n_variables,)
        The lowest state of each variable.
    start : ndarray, shape (n_variables + 1,)
        Offset in `codes` at which the table of each variable starts.
    codes : ndarray
        All look-up tables, one after the other; -1 for integers that are no states.
    """

    variables: tuple[Discrete, ...]
    low: NDArray[np.int64]
    start: NDArray[np.int64]
    codes: Codes

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> WholeStates | None:
        """Return the encoder, or None unless all states are integers in narrow ranges."""
        discrete = _listed(variables, int)
        if not discrete:
            return None
        states = [np.array(v.states) for v in discrete]
        if any(s.dtype.kind != "i" for s in states):
            return None  # beyond 64 bits
        low = np.array([s.min() for s in states], dtype=np.int64)
        widths = np.array([int(s.max()) - int(s.min()) + 1 for s in states])
        if widths.max() > _LOOKUP_CELLS or widths.sum() > _LOOKUP_CELLS:
            return None
        start = np.concatenate([[0], np.cumsum(widths)])
        codes = np.full(start[-1], -1, dtype=code_type(discrete))
        for s, first, at in zip(states, low, start, strict=False):
            codes[at + s - first] = np.arange(len(s))
        return cls(discrete, low, start, codes)

    def table(self, matrix: NDArray[np.int64]) -> Table:
        """Return an integer matrix as a table; values that are not states are missing."""
        out = np.empty((len(self.variables), len(matrix)), dtype=self.codes.dtype)
        arrays = (matrix, self.low, self.start, self.codes, out)
        by_rows(kernels.look_up, arrays, *matrix.shape)
        return table_of_codes(self.variables, out.T)


@dataclass(frozen=True, eq=False)
class NumberStates:
    """Encoder of variables whose states are numbers, by bisection.

    Attributes
    ----------
    variables : tuple of Discrete
    states : ndarray
        The states of all variables, one variable after the other, ascending in each.
    codes : ndarray
        The code of each entry of `states`.
    start : ndarray, shape (n_variables + 1,)
        Offset in `states` at which the states of each variable start.
    """

    variables: tuple[Discrete, ...]
    states: Floats
    codes: Codes
    start: NDArray[np.int64]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> NumberStates | None:
        """Return the encoder, or None unless all states are numbers that differ as floats."""
        discrete = _listed(variables, int, float)
        if not discrete or not all(map(_differ, discrete)):
            return None
        states = [np.array(v.states, dtype=np.float64) for v in discrete]
        codes = np.concatenate([np.argsort(s) for s in states]).astype(code_type(discrete))
        start = np.concatenate([[0], np.cumsum([len(s) for s in states])])
        return cls(discrete, np.concatenate([np.sort(s) for s in states]), codes, start)

    def table(self, matrix: Floats) -> Table | None:
        """Return a float matrix as a table, or None if it has infinite values.

        NaN and values that are not states are missing.
        """
        out = np.empty((len(self.variables), len(matrix)), dtype=self.codes.dtype)
        infinite = np.zeros(1, dtype=np.uint8)
        arrays = (matrix, self.states, self.codes, self.start, out, infinite)
        by_rows(kernels.find_states, arrays, *matrix.shape)
        return None if infinite[0] else table_of_codes(self.variables, out.T)


@dataclass(frozen=True, eq=False)
class ObjectStates:
    """Encoder of variables whose states are text or intervals, by dictionaries and bisection.

    Attributes
    ----------
    variables : tuple of Discrete
    codes : tuple, one entry for each variable
        The mapping from text to code, or the cuts of intervals.
    """

    variables: tuple[Discrete, ...]
    codes: tuple[Mapping[State, int] | tuple[float, ...], ...]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> ObjectStates | None:
        """Return the encoder, or None unless all states are text or intervals."""
        found = tuple(v for v in variables if isinstance(v, Binned) or _listed([v], str))
        if len(found) < len(variables):
            return None
        discrete = tuple(v for v in found if isinstance(v, Discrete))
        codes = (v.cuts if isinstance(v, Binned) else _text_codes(v) for v in discrete)
        return cls(discrete, tuple(codes))

    def table(self, matrix: NDArray[np.object_]) -> Table | None:
        """Return a matrix of text, numbers and missing values as a table.

        Text that is not a state is missing. None if it holds other objects, numbers of columns of
        text, or text of columns of numbers.
        """
        out = np.empty((len(self.variables), len(matrix)), dtype=code_type(self.variables))
        for row, known, cells in zip(out, self.codes, matrix.T.tolist(), strict=True):
            write = _write_intervals if isinstance(known, tuple) else _write_states
            if not write(row, known, cells):
                return None
        return table_of_codes(self.variables, out.T)


def _text_codes(variable: Discrete) -> dict[State, int]:
    return {state: code for code, state in enumerate(variable.states)}


def _write_states(row: Codes, known: Any, cells: list[Any]) -> bool:
    """Write the codes of text and missing values; return False if there is anything else."""
    for i, cell in enumerate(cells):
        if type(cell) is str:
            row[i] = known.get(cell, -1)
        elif is_missing(cell):
            row[i] = -1
        else:
            return False
    return True


def _write_intervals(row: Codes, cuts: Any, cells: list[Any]) -> bool:
    """Write the intervals of finite numbers; return False if there is anything else."""
    for i, cell in enumerate(cells):
        if type(cell) in (float, int) and abs(cell) < _EXACT:
            row[i] = bisect_left(cuts, cell)
        elif is_missing(cell):
            row[i] = -1
        else:
            return False
    return True


def _listed(variables: Sequence[Variable], *types: type[Any]) -> tuple[Discrete, ...]:
    """Return the variables if each is a plain `Discrete` with states of the given types.

    Binned and Grouped, which are subclasses, are not plain. Otherwise return an empty tuple.
    """
    found = tuple(v for v in variables if isinstance(v, Discrete) and type(v) is Discrete)
    known = len(found) == len(variables)
    return found if known and all(type(s) in types for v in found for s in v.states) else ()


def _differ(variable: Discrete) -> bool:
    """Return whether the numeric states of a variable are exact and distinct as floats."""
    near = all(abs(s) < _EXACT for s in variable.states)  # type: ignore[arg-type]
    return near and len(set(variable.states)) == len(variable.states)
