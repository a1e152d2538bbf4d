"""Argument checks that the constructors of several conditional distributions share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.errors import CPDError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, CountVector, Discrete, Variable

# Tolerance of sums of probabilities: a larger deviation from one is refused, not normalised.
SUM_TOLERANCE = 1e-6


def check_family(variable: Any, parents: Iterable[Any], *, family: str) -> tuple[Variable, ...]:
    """Return the parents as a tuple; raise a CPDError unless all variables are valid and differ.

    `variable` is the child, and `family` the name of the CPD class in error messages.
    """
    try:
        parents = tuple(parents)
    except TypeError as error:
        raise CPDError(
            f"{family} takes a list of variables as parents; got {parents!r}."
        ) from error
    for item in (variable, *parents):
        if not isinstance(item, (Discrete, Continuous, CountVector)):
            raise CPDError(
                f"{family} takes variables (bayesgraph.Discrete or Continuous); got {item!r}."
            )
    for item in parents:
        if isinstance(item, CountVector):
            raise CPDError(f"{item!r} is a vector of counts, which cannot be a parent.")
    names = [item.name for item in (*parents, variable)]
    if len(set(names)) < len(names):
        raise CPDError(
            f"{family} of {variable.name!r}: child and parents must all differ; got "
            f"{quoted(names)}."
        )
    return parents


def check_child(variable: Variable, kind: type[Any], *, family: str, hint: str) -> None:
    """Raise a CPDError if the child `variable` is not of the type `kind`.

    `family` is the name of the CPD class in the message, `hint` is advice at its end.
    """
    if not isinstance(variable, kind):
        takes, is_ = ("discrete", "continuous") if kind is Discrete else ("continuous", "discrete")
        raise CPDError(f"{family} takes a {takes} child; {variable.name!r} is {is_}. {hint}")


def discrete_only(
    variable: Variable, parents: Sequence[Variable], *, family: str
) -> tuple[Discrete, ...]:
    """Return the parents, or raise a CPDError if one of them is not discrete."""
    if continuous := [p.name for p in parents if not isinstance(p, Discrete)]:
        raise CPDError(
            f"{family} takes discrete parents: {variable.name!r} cannot have continuous parents; "
            f"got {quoted(continuous)}. Reverse the arc or discretise the parent."
        )
    return tuple(p for p in parents if isinstance(p, Discrete))


def checked_numbers(
    values: ArrayLike, shape: tuple[int, ...], *, what: str, fill: bool = False
) -> Floats:
    """Return values as a read-only array of a given shape; `fill` broadcasts a single number.

    `what` names the values in error messages.

    Raises
    ------
    CPDError
        For values of another shape, or values that are not finite numbers.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CPDError(f"{what} takes numbers of shape {shape}: {error}.") from error
    if fill and array.ndim == 0:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise CPDError(f"{what} takes shape {shape}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise CPDError(f"{what} takes finite numbers; got {array!r:.200}.")
    array.flags.writeable = False
    return array


def check_sums(values: Floats, parents: Sequence[Discrete], *, what: str) -> None:
    """Raise a CPDError unless the probabilities along the last axis sum to one.

    The message names the row: the configuration of `parents`, which are the other axes.
    """
    sums = values.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > SUM_TOLERANCE
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0].tolist())
        states = zip(parents, at, strict=True)
        row = ", ".join(f"{parent.name}={parent.states[code]!r}" for parent, code in states)
        raise CPDError(
            f"{what}: the probabilities{f' given {row}' if row else ''} sum to {sums[at]:.9g}, not "
            "to 1. A row is a distribution over the child's states, on the last axis; divide it by "
            "its sum if its numbers are weights."
        )
