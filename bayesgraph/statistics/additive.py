"""Additive statistics: sums over rows that support +, - and additional states of variables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.requests import Families, Family
from bayesgraph.variables import Discrete, Variable

# Tolerance of sums after rows were removed, relative to the largest sum before.
_ROUNDING = 1e-12


def grown_variable(
    variable: Discrete | None, renamed: Mapping[Variable, Variable]
) -> Discrete | None:
    """Return the variable to which `renamed` maps `variable`; if there is none, `variable`."""
    if variable is None:
        return None
    found = renamed.get(variable, variable)
    assert isinstance(found, Discrete)  # growing keeps the kind
    return found


def state_positions(old: Discrete | None, new: Discrete | None) -> NDArray[np.intp] | None:
    """Return the index of each old state among the states of the new variable.

    The result is None if the states have not changed.
    """
    if old == new or old is None or new is None:
        return None
    return np.array([new.index(state) for state in old.states], dtype=np.intp)


def grown_axis(values: Floats, axis: int, at: NDArray[np.intp] | None, size: int) -> Floats:
    """Return an array with one axis enlarged to `size`, on which index i moves to index ``at[i]``.

    New entries are zero. If `at` is None, the array is returned unchanged.
    """
    if at is None:
        return values
    shape = list(values.shape)
    shape[axis] = size
    grown = np.zeros(shape)
    index: list[slice | NDArray[np.intp]] = [slice(None)] * values.ndim
    index[axis] = at
    grown[tuple(index)] = values
    return grown


class Additive:
    """Base class of dataclasses with + and -, which act on each field.

    Fields are arrays of sums over rows, other objects with + and -, or tuples of these. The field
    `request` (which statistics these are) is kept unchanged.
    """

    def __add__(self, other: Self) -> Self:
        return self._combined(other, operator.add)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, subtracted)

    def _combined(self, other: Self, combine: Callable[[Any, Any], Any]) -> Self:
        found = {}
        for field in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, tuple):
                found[field.name] = tuple(combine(a, b) for a, b in zip(mine, theirs, strict=True))
            elif field.name != "request":
                found[field.name] = combine(mine, theirs)
        return replace(self, **found)  # type: ignore[type-var]


def subtracted(whole: Any, part: Any) -> Any:
    """Return ``whole - part`` for sums over rows; in arrays, rounding errors are set to zero."""
    return removed(whole - part, whole) if isinstance(whole, np.ndarray) else whole - part


_Request = TypeVar("_Request")


def grown_request(request: _Request, renamed: Mapping[Variable, Variable]) -> _Request:
    """Return the request with variables replaced; `renamed` maps old variables to new ones."""
    if isinstance(request, Families):
        families = (
            Family.of(*(renamed.get(v, v) for v in f.discrete), *f.continuous)
            for f in request.families
        )
        return Families(tuple(families))  # type: ignore[return-value]
    found: dict[str, Any] = {"given": grown_variable(request.given, renamed)}  # type: ignore[attr-defined]
    if hasattr(request, "columns"):
        found["columns"] = tuple(renamed.get(v, v) for v in request.columns)
    return replace(request, **found)  # type: ignore[type-var]


def grown_groups(old: Discrete | None, new: Discrete | None) -> tuple[NDArray[np.intp] | None, int]:
    """Return the new index of each group of rows, and the new number of groups.

    Rows are grouped by the state of the variable `old`; the variable `new` replaces it and has
    additional states. If both are None, there is a single group. The indices are None if they do
    not change.
    """
    return state_positions(old, new), 1 if new is None else new.cardinality


def removed(rest: Floats, before: Floats) -> Floats:
    """Return the weights `rest` left after a removal from `before`, rounding errors set to 0.

    Raises
    ------
    DataError
        If a weight is negative, because more was removed than there was.
    """
    # Rounding errors are relative to the largest sum before the removal.
    small = np.abs(rest) <= _ROUNDING * np.abs(before).max(initial=0.0)
    rest = np.where(small, 0.0, rest)
    if (rest < 0).any():
        raise not_fitted()
    return rest


def not_fitted() -> DataError:
    """Return the error for removing rows that the model was not fitted on."""
    return DataError(
        "These rows were not all part of what the model was fitted on: more would be removed than "
        "there is. Give the rows (and weights) exactly as they were fitted."
    )
