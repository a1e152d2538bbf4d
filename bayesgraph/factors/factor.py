"""Factors over discrete variables: one axis for each variable, values stored as logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import CPDError, quoted
from bayesgraph.factors.algebra import Algebra, Floats, log_of, log_sum_exp
from bayesgraph.variables import Discrete


class Factor:
    """A non-negative function of discrete variables.

    Parameters
    ----------
    scope : sequence of Discrete
        The variables, in the order of the axes.
    values : array_like, shape (cardinality of scope[0], cardinality of scope[1], ...)
        Non-negative numbers; they need not sum to one.

    Attributes
    ----------
    log_values : ndarray, shape (1 or n_rows, cardinality of scope[0], ...)
        Natural logarithms of the values. The first axis indexes the rows of a batch of evidence; it
        has length 1 if the factor is the same for all rows.

    Raises
    ------
    CPDError
        If the shape is wrong, a value is negative, NaN or infinite, or a variable is given twice.

    Examples
    --------
    >>> a, b = Discrete("a", ["x", "y"]), Discrete("b", [0, 1])
    >>> (Factor([a], [1, 3]) * Factor([a, b], [[1, 1], [2, 0]])).marginal([b]).values
    array([7., 1.])
    """

    __slots__ = ("log_values", "scope")

    scope: tuple[Discrete, ...]
    log_values: Floats

    def __init__(self, scope: Sequence[Discrete], values: ArrayLike) -> None:
        self.scope = tuple(scope)
        names = [getattr(variable, "name", variable) for variable in self.scope]
        if not all(isinstance(variable, Discrete) for variable in self.scope):
            raise CPDError(f"A Factor is over discrete variables; its scope is {quoted(names)}.")
        if len(set(names)) < len(names):
            raise CPDError(f"A Factor takes each variable once; its scope is {quoted(names)}.")
        table = checked_table(values, self.scope, what=f"The factor over {quoted(names)}")
        self.log_values = log_of(table)[None]

    @classmethod
    def from_log(cls, scope: Sequence[Discrete], log_values: Floats) -> Factor:
        """Return a factor from log values with a leading batch axis, without checks."""
        factor = cls.__new__(cls)
        factor.scope = tuple(scope)
        factor.log_values = log_values
        return factor

    @property
    def values(self) -> Floats:
        """The values; the leading batch axis is dropped if `n_rows` is 1."""
        values = np.exp(self.log_values)
        return values[0] if len(values) == 1 else values

    @property
    def n_rows(self) -> int:
        """The length of the batch axis: 1 for a factor that is the same for all evidence rows."""
        return len(self.log_values)

    def aligned(self, scope: Sequence[Discrete]) -> Floats:
        """Return the log values with an axis for each variable of a larger scope, for broadcasting.

        Variables that the factor lacks get an axis of length 1.
        """
        return align(self.log_values, self.scope, scope)

    def __mul__(self, other: Factor) -> Factor:
        scope = union_scope([self.scope, other.scope])
        return Factor.from_log(scope, self.aligned(scope) + other.aligned(scope))

    def __truediv__(self, other: Factor) -> Factor:
        """Return the quotient of two factors, with 0 / 0 = 0 as message passing needs it."""
        scope = union_scope([self.scope, other.scope])
        numerator, denominator = np.broadcast_arrays(self.aligned(scope), other.aligned(scope))
        with np.errstate(invalid="ignore"):
            quotient = numerator - denominator
        return Factor.from_log(scope, np.where(np.isneginf(numerator), -np.inf, quotient))

    def __pow__(self, exponent: ArrayLike) -> Factor:
        """Return the factor raised to an exponent, with 0 ** 0 = 1.

        The exponent is a number or an array that broadcasts against `log_values`.
        """
        weights = np.asarray(exponent, dtype=np.float64)
        return Factor.from_log(self.scope, weighted_log(self.log_values, weights))

    def marginal(self, keep: Iterable[Discrete]) -> Factor:
        """Return the factor over the variables `keep`, in this order; all others are summed out."""
        kept = list(keep)
        if strangers := [v.name for v in kept if v not in self.scope]:
            raise CPDError(f"{self!r} has no variable {quoted(strangers)} to keep.")
        gone = tuple(1 + axis for axis, v in enumerate(self.scope) if v not in kept)
        values = log_sum_exp(self.log_values, gone) if gone else self.log_values
        left = [v for v in self.scope if v in kept]
        return Factor.from_log(kept, align(values, left, kept))

    def eliminate(self, variable: Discrete, algebra: Algebra) -> Factor:
        """Return the factor after one variable has been summed or maximised out."""
        axis = self.scope.index(variable)
        rest = self.scope[:axis] + self.scope[axis + 1 :]
        return Factor.from_log(rest, algebra.reduce(self.log_values, 1 + axis))

    def take(self, variable: Discrete, codes: NDArray[np.integer[Any]]) -> Factor:
        """Return the factor with a variable set to its state in each row: ``codes[i]`` in row i."""
        rest, values = take_codes(self.scope, self.log_values, [variable], [codes])
        return Factor.from_log(rest, values)

    def __eq__(self, other: object) -> bool:
        """Return whether two factors have equal values and the same scope in the same order."""
        return (
            isinstance(other, Factor)
            and self.scope == other.scope
            and np.array_equal(self.log_values, other.log_values)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ", ".join(repr(variable.name) for variable in self.scope)
        return f"Factor([{names}], shape={self.log_values.shape[1:]})"


def checked_table(values: ArrayLike, scope: Sequence[Discrete], *, what: str) -> Floats:
    """Return the values as a float table of the scope's shape, or raise a CPDError.

    `what` names the table in the error message.
    """
    shape = tuple(variable.cardinality for variable in scope)
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CPDError(f"{what} takes an array of numbers of shape {shape}: {error}.") from error
    if table.shape != shape:
        names = quoted(variable.name for variable in scope)
        raise CPDError(
            f"{what} takes an array of shape {shape}, one axis for each of {names} in this order; "
            f"got shape {table.shape}."
        )
    if not (table.min(initial=0.0) >= 0.0 and table.max(initial=0.0) < np.inf):  # or NaN
        where = np.argwhere(~(np.isfinite(table) & (table >= 0)))[0]
        cell = ", ".join(
            f"{v.name!r}={v.states[code]!r}" for v, code in zip(scope, where, strict=True)
        )
        raise CPDError(
            f"{what} takes finite non-negative numbers; got {table[tuple(where)]} at {cell}."
        )
    return table


def union_scope(scopes: Iterable[Sequence[Discrete]]) -> tuple[Discrete, ...]:
    """Return the union of scopes, with the variables in order of first appearance."""
    return tuple(dict.fromkeys(variable for scope in scopes for variable in scope))


def align(values: Floats, scope: Sequence[Discrete], target: Sequence[Discrete]) -> Floats:
    """Return an array with axes transposed and inserted for the larger scope `target`.

    The axes of `values` are the rows, the variables of `scope`, and possibly further axes, which
    stay last. Variables of `target` that are not in `scope` get an axis of length 1.
    """
    if tuple(scope) == tuple(target):
        return values
    place = {variable: 1 + axis for axis, variable in enumerate(scope)}
    order = [place[variable] for variable in target if variable in place]
    tail = range(1 + len(scope), values.ndim)
    moved = values.transpose(0, *order, *tail)
    lengths = iter(moved.shape[1 : 1 + len(order)])
    middle = [next(lengths) if variable in place else 1 for variable in target]
    return moved.reshape(moved.shape[0], *middle, *moved.shape[1 + len(order) :])


def take_codes(
    scope: Sequence[Discrete],
    values: Floats,
    variables: Sequence[Discrete],
    codes: Sequence[NDArray[np.integer[Any]]],
) -> tuple[tuple[Discrete, ...], Floats]:
    """Reduce a table to each row's observed states; return the free variables and the new table.

    Parameters
    ----------
    scope : sequence of Discrete
    values : ndarray, shape (1 or n_rows, *cardinalities of the scope, ...)
    variables : sequence of Discrete
        The observed variables, all of them in the scope.
    codes : sequence of ndarray, shape (n_rows,)
        State codes of each observed variable, not negative.
    """
    if not variables:
        return tuple(scope), values
    rest = tuple(variable for variable in scope if variable not in variables)
    target = [*variables, *rest]
    moved = align(values, scope, target)
    tail = moved.shape[1 + len(variables) :]
    cards = [variable.cardinality for variable in variables]
    flat = moved.reshape(moved.shape[0], math.prod(cards), *tail)
    index = np.ravel_multi_index(list(codes), cards)
    if len(flat) == 1:
        return rest, flat[0][index]
    return rest, flat[np.arange(len(flat)), index]


def weighted_log(log_values: Floats, weights: Floats) -> Floats:
    """Return weights * log_values, the log of values raised to exponents, with 0 * -inf = 0.

    The exception makes 0 to the power 0 equal 1.
    """
    with np.errstate(invalid="ignore"):
        product = log_values * weights
    return np.where(weights == 0, 0.0, product)
