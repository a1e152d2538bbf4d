"""Encoding of matrices whose columns hold known states: integers, numbers or text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import kernels
from bayesgraph.encoding.columns import Codes
from bayesgraph.encoding.table import Table, code_type, table_of_codes
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete, Name, State, Variable, is_missing

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
    """Variables whose states are integers in a narrow range, encoded by look-up tables.

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
        """Return the look-up tables, or None unless all states are integers in narrow ranges."""
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
        kernels.by_rows(kernels.look_up, matrix, self.low, self.start, self.codes, out)
        return table_of_codes(self.variables, out.T)


@dataclass(frozen=True, eq=False)
class NumberStates:
    """Variables whose states are numbers, encoded by bisection.

    Attributes
    ----------
    variables : tuple of Discrete
    states : ndarray
        Those of all variables, one after the other, ascending in each.
    codes : ndarray
        The code of each state.
    start : ndarray, shape (n_variables + 1,)
        Where the states of each variable start.
    """

    variables: tuple[Discrete, ...]
    states: Floats
    codes: Codes
    start: NDArray[np.int64]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> NumberStates | None:
        """Return the sorted states of variables, or None unless all are distinct numbers."""
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
        kernels.by_rows(
            kernels.find_states, matrix, self.states, self.codes, self.start, out, infinite
        )
        return None if infinite[0] else table_of_codes(self.variables, out.T)


@dataclass(frozen=True, eq=False)
class TextStates:
    """Variables whose states are text, encoded by dictionaries.

    Attributes
    ----------
    variables : tuple of Discrete
    codes : tuple of mappings from text to code, one for each variable
    """

    variables: tuple[Discrete, ...]
    codes: tuple[Mapping[State, int], ...]

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> TextStates | None:
        """Return the codes of the states of variables, or None unless all states are text."""
        discrete = _listed(variables, str)
        if not discrete:
            return None
        return cls(discrete, tuple({s: i for i, s in enumerate(v.states)} for v in discrete))

    def table(self, matrix: NDArray[np.object_]) -> Table | None:
        """Return a matrix of text and missing values as a table; None if it holds other objects.

        Text that is not a state is missing.
        """
        out = np.empty((len(self.variables), len(matrix)), dtype=code_type(self.variables))
        for row, known, cells in zip(out, self.codes, matrix.T.tolist(), strict=True):
            for i, cell in enumerate(cells):
                if type(cell) is str:
                    row[i] = known.get(cell, -1)
                elif is_missing(cell):
                    row[i] = -1
                else:
                    return None
        return table_of_codes(self.variables, out.T)


def _listed(variables: Sequence[Variable], *types: type[Any]) -> tuple[Discrete, ...]:
    """Return the variables if all are of class Discrete itself with states of the given types.

    Otherwise return an empty tuple.
    """
    found = tuple(v for v in variables if isinstance(v, Discrete) and type(v) is Discrete)
    known = len(found) == len(variables)
    return found if known and all(type(s) in types for v in found for s in v.states) else ()


def _differ(variable: Discrete) -> bool:
    """Return whether the states of a variable, which are numbers, remain distinct as floats."""
    near = all(abs(s) < _EXACT for s in variable.states)  # type: ignore[arg-type]
    return near and len(set(variable.states)) == len(variable.states)
