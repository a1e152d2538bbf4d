"""Factors over discrete variables: one axis for each variable, values stored as logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import LOG_2PI, Algebra, Floats, log_of, log_sum_exp
from bayesgraph.core.errors import CPDError, ModelError, UnsupportedModelError, quoted
from bayesgraph.core.variables import Continuous, Discrete
from bayesgraph.inference import execution_kernels

# -------- Factors over discrete variables: one axis for each variable, values stored as logarithms


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
        try:
            self.scope = tuple(scope)
        except TypeError:
            raise CPDError(f"A Factor takes a list of variables; got {scope!r:.80}.") from None
        names = [getattr(variable, "name", variable) for variable in self.scope]
        if not all(isinstance(variable, Discrete) for variable in self.scope):
            raise CPDError(f"A Factor is over discrete variables; its scope is {quoted(names)}.")
        if len(set(names)) < len(names):
            raise CPDError(f"A Factor takes each variable once; its scope is {quoted(names)}.")
        table = checked_values(values, self.scope, what=self)
        self.log_values = log_of(table)[None]  # axis 0: rows

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
        # Axis 0 is the batch. The axes that are left still have the order of the factor's scope.
        summed = tuple(1 + axis for axis, v in enumerate(self.scope) if v not in kept)
        values = log_sum_exp(self.log_values, summed) if summed else self.log_values
        left = [v for v in self.scope if v in kept]
        if len(left) < len(kept):
            raise CPDError(
                f"A marginal keeps each variable once; got {quoted(v.name for v in kept)}."
            )
        return Factor.from_log(kept, align(values, left, kept))

    def eliminate(self, variable: Discrete, algebra: Algebra) -> Factor:
        """Return the factor after one variable has been summed or maximised out."""
        axis = self.scope.index(variable)
        others = self.scope[:axis] + self.scope[axis + 1 :]
        # Axis 0 of the values is the batch.
        return Factor.from_log(others, algebra.reduce(self.log_values, 1 + axis))

    def take(self, variable: Discrete, codes: NDArray[np.integer[Any]]) -> Factor:
        """Return the factor with a variable set to its state in each row: ``codes[i]`` in row i."""
        free, values = take_codes(self.scope, self.log_values, [variable], [codes])
        return Factor.from_log(free, values)

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
        return f"Factor([{names}], shape={tuple([v.cardinality for v in self.scope])})"


def checked_values(values: ArrayLike, scope: Sequence[Discrete], *, what: object) -> Floats:
    """Return the values as a float table of the scope's shape, or raise a CPDError.

    The text of `what` names the table in the error message.
    """
    shape = tuple([len(variable.states) for variable in scope])
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
    # Written with `not`, because every comparison with NaN is false.
    if not (table.min(initial=0.0) >= 0.0 and table.max(initial=0.0) < np.inf):
        first = np.argwhere(~(np.isfinite(table) & (table >= 0)))[0]
        cell = ", ".join(
            f"{v.name!r}={v.states[code]!r}" for v, code in zip(scope, first, strict=True)
        )
        raise CPDError(
            f"{what} takes finite non-negative numbers; got {table[tuple(first)]} at {cell}."
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
    axis_of = {variable: 1 + axis for axis, variable in enumerate(scope)}
    axes = [axis_of[variable] for variable in target if variable in axis_of]
    further = range(1 + len(scope), values.ndim)
    moved = values.transpose(0, *axes, *further)
    # The variables are now in the target's order; axes of length 1 come between them.
    lengths = iter(moved.shape[1 : 1 + len(axes)])
    target_lengths = [next(lengths) if variable in axis_of else 1 for variable in target]
    return moved.reshape(moved.shape[0], *target_lengths, *moved.shape[1 + len(axes) :])


def take_codes(
    scope: Sequence[Discrete],
    values: Floats,
    variables: Sequence[Discrete],
    codes: Sequence[NDArray[np.integer[Any]]],
) -> tuple[tuple[Discrete, ...], Floats]:
    """Reduce a table to each row's observed states; return the free variables and the new table.

    The new table has the shape (n_rows, *cardinalities of the free variables, ...).

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
    free = tuple(variable for variable in scope if variable not in variables)
    target = [*variables, *free]
    moved = align(values, scope, target)
    free_shape = moved.shape[1 + len(variables) :]
    cards = [variable.cardinality for variable in variables]
    # One axis for the joint states of the observed variables, and each row's index on it.
    by_state = moved.reshape(moved.shape[0], math.prod(cards), *free_shape)
    joint_state = np.ravel_multi_index(list(codes), cards)
    if len(by_state) == 1:  # the same table for all rows
        return free, by_state[0][joint_state]
    return free, by_state[np.arange(len(by_state)), joint_state]


def weighted_log(log_values: Floats, weights: Floats) -> Floats:
    """Return weights * log_values, the log of values raised to exponents, with 0 * -inf = 0.

    The exception makes 0 to the power 0 equal 1.
    """
    with np.errstate(invalid="ignore"):
        product = log_values * weights
    return np.where(weights == 0, 0.0, product)


# ---------- Conditional Gaussian factors in square-root information form (Bierman 1977, chapter 5)
# A factor over n continuous variables x for each configuration d of discrete variables is
#
#     exp(g[d] - |A[d] x - b[d]|^2 / 2).
#
# Up to a constant it is the likelihood of m independent observations b of A x with unit variance.
# This form represents densities and also conditional densities, which cannot be normalised over all
# their variables. A product stacks the rows of A and b; one Householder reflection eliminates a
# variable. The precision matrix A^T A is never formed: it would square the ratio of the largest to
# the smallest scale, and results would lose twice as many digits.


class GaussianFactor:
    """A conditional Gaussian factor ``exp(g - |A x - b|^2 / 2)`` for each row of evidence.

    Parameters
    ----------
    scope : sequence of Discrete
        Discrete variables, in the order of the axes.
    variables : sequence of Continuous
        The n continuous variables x, at least one.
    log_constant : ndarray, shape (1 or n_rows, *cardinalities)
        Log constants g of the formula.
    loadings : ndarray, shape (1 or n_rows, *cardinalities, m, n)
        Matrices A of the formula.
    targets : ndarray, shape (1 or n_rows, *cardinalities, m)
        Vectors b of the formula.
    """

    __slots__ = ("loadings", "log_constant", "scope", "targets", "variables")

    def __init__(
        self,
        scope: Sequence[Discrete],
        variables: Sequence[Continuous],
        log_constant: Floats,
        loadings: Floats,
        targets: Floats,
    ) -> None:
        self.scope = tuple(scope)
        self.variables = tuple(variables)
        self.log_constant = log_constant
        self.loadings = loadings
        self.targets = targets

    def power(self, exponent: Floats) -> GaussianFactor:
        """Return the factor raised to an exponent >= 0, which broadcasts against `log_constant`."""
        if (exponent < 0).any():
            raise UnsupportedModelError(
                f"A Gaussian over {quoted(v.name for v in self.variables)} takes exponents that "
                "are not negative."
            )
        # Factors of A and b, which the formula squares.
        root = np.sqrt(exponent)
        return GaussianFactor(
            self.scope,
            self.variables,
            weighted_log(self.log_constant, exponent),
            self.loadings * root[..., None, None],
            self.targets * root[..., None],
        )

    def condition(self, variable: Continuous, column: Floats) -> Potential:
        """Return the factor with a continuous variable set to its value in each row.

        `column` holds the values, shape (n_rows,).
        """
        at, kept = self._position(variable)
        # Axes of the targets: the rows of evidence, the discrete variables, the rows of A.
        value = column.reshape(-1, *[1] * (len(self.scope) + 1))
        targets = self.targets - self.loadings[..., at] * value
        return _factor(
            self.scope, self.variables, kept, self.log_constant, self.loadings[..., kept], targets
        )

    def eliminate(self, variable: Continuous, algebra: Algebra) -> Potential:
        """Return the factor after a variable has been integrated (or maximised) out.

        A reflection turns the variable's column of A into a single nonzero entry r. Only the row of
        r then involves the variable; its integral is ``sqrt(2 pi) / |r|``. The other rows remain.
        """
        at, kept = self._position(variable)
        log_entry, _, _, loadings, targets = _reflected(self.loadings, self.targets, at)
        if np.isneginf(log_entry).any():
            raise _improper([variable])
        constant = self.log_constant + algebra.gaussian_log_volume
        if algebra.integrates:
            constant = constant - log_entry
        return _factor(self.scope, self.variables, kept, constant, loadings[..., kept], targets)

    def conditional(self, variable: Continuous) -> tuple[Floats, Floats, Floats]:
        """Return the distribution of a variable given all others: a linear Gaussian.

        Returns
        -------
        mean, variance : ndarray, shape (1 or n_rows, *cardinalities)
            The mean where all other continuous variables are zero.
        slopes : ndarray, shape (1 or n_rows, *cardinalities, n - 1)
            One for each other continuous variable, in the order of `variables`.
        """
        at, others = self._position(variable)
        log_entry, row, target, _, _ = _reflected(self.loadings, self.targets, at)
        if np.isneginf(log_entry).any():
            raise _improper([variable])
        # The row says that entry * variable + row of the others - target is standard normal.
        entry = row[..., at]
        return target / entry, 1.0 / (entry * entry), -row[..., others] / entry[..., None]

    def eliminate_partial(
        self, variable: Continuous, algebra: Algebra, column: Floats
    ) -> Potential:
        """Return the factor without a variable that is observed in some rows only.

        In rows where `column` is NaN the variable is integrated (or maximised) out; in the other
        rows it is set to its value.
        """
        missing = np.isnan(column)
        observed = self.condition(variable, np.where(missing, 0.0, column))
        free = self.eliminate(variable, algebra)

        def choose(a: Floats, b: Floats) -> Floats:
            """Return the array with the rows of `a` where the value is missing, else of `b`."""
            return np.where(missing.reshape(-1, *[1] * (a.ndim - 1)), a, b)

        if isinstance(free, Factor):
            assert isinstance(observed, Factor)
            return Factor.from_log(free.scope, choose(free.log_values, observed.log_values))
        assert isinstance(observed, GaussianFactor)
        # Conditioning leaves one row more of A and b than integration: pad with rows of zeros,
        # which change no factor.
        padding = observed.targets.shape[-1] - free.targets.shape[-1]
        lead = free.targets.shape[:-1]
        loadings = np.concatenate(
            [free.loadings, np.zeros((*lead, padding, free.loadings.shape[-1]))], axis=-2
        )
        targets = np.concatenate([free.targets, np.zeros((*lead, padding))], axis=-1)
        return GaussianFactor(
            free.scope,
            free.variables,
            choose(free.log_constant, observed.log_constant),
            choose(loadings, observed.loadings),
            choose(targets, observed.targets),
        )

    def take(
        self, variables: Sequence[Discrete], codes: Sequence[NDArray[np.integer]]
    ) -> GaussianFactor:
        """Return the factor with discrete `variables` set to their state `codes` in each row."""
        free, constant = take_codes(self.scope, self.log_constant, variables, codes)
        _, loadings = take_codes(self.scope, self.loadings, variables, codes)
        _, targets = take_codes(self.scope, self.targets, variables, codes)
        return GaussianFactor(free, self.variables, constant, loadings, targets)

    def compressed(self) -> GaussianFactor:
        """Return an equal factor in which A is upper triangular and has at most n rows."""
        loadings, targets = self.loadings, self.targets
        if not targets.shape[-1]:  # without quadratic terms it has no rows
            return self
        rows, row_targets = [], []
        for at in range(len(self.variables)):
            if not targets.shape[-1]:  # fewer rows than variables
                break
            _, row, row_target, loadings, targets = _reflected(loadings, targets, at)
            rows.append(row)
            row_targets.append(row_target)
        # The rows that are left have only zeros in A; their targets contribute a constant.
        constant = self.log_constant - half_square(targets)
        stacked = np.stack(rows, axis=-2), np.stack(row_targets, axis=-1)
        return GaussianFactor(self.scope, self.variables, constant, *stacked)

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Return log mass, means and covariances for each row and discrete configuration.

        Returns
        -------
        log_mass : ndarray, shape (n_rows, *cardinalities)
            Log of the integral over all continuous variables.
        mean : ndarray, shape (n_rows, *cardinalities, n)
        covariance : ndarray, shape (n_rows, *cardinalities, n, n)
        """
        n = len(self.variables)
        if self.targets.shape[-1] < n:
            raise _improper(self.variables)
        triangular = self.compressed()
        diagonal = np.diagonal(triangular.loadings, axis1=-2, axis2=-1)
        if not diagonal.all():
            raise _improper(self.variables)
        # With the inverse R of A, the mean is R b and the covariance is R R^T. The mass has the
        # determinant of A in the divisor: the product of its diagonal.
        root = np.linalg.inv(triangular.loadings)
        mean = np.einsum("...ij,...j->...i", root, triangular.targets)
        covariance = np.einsum("...ik,...jk->...ij", root, root)
        log_mass = (
            triangular.log_constant + 0.5 * n * LOG_2PI - np.sum(np.log(np.abs(diagonal)), axis=-1)
        )
        return log_mass, mean, covariance

    def centre(self) -> Floats:
        """Return the mean of the factor's only continuous variable, (n_rows, *cardinalities)."""
        column = self.loadings[..., 0]
        # The mean is a.b / a.a for the column a of A. Division by the largest entry of a keeps the
        # squares within the range of floats.
        scale = np.max(np.abs(column), axis=-1, keepdims=True)
        if not scale.all():
            raise _improper(self.variables)
        column = column / scale
        weighted = np.sum(column * (self.targets / scale), axis=-1)
        return np.asarray(weighted / np.sum(column * column, axis=-1))

    def _position(self, variable: Continuous) -> tuple[int, list[int]]:
        """Return the column of a variable in A, and the columns of all others."""
        at = self.variables.index(variable)
        return at, [i for i in range(len(self.variables)) if i != at]

    def __repr__(self) -> str:
        discrete = ", ".join(repr(variable.name) for variable in self.scope)
        continuous = ", ".join(repr(variable.name) for variable in self.variables)
        return f"GaussianFactor([{discrete}], [{continuous}])"


Potential: TypeAlias = Factor | GaussianFactor


def multiply(potentials: Sequence[Potential]) -> Potential:
    """Return the product of discrete and Gaussian factors."""
    if len(potentials) == 1:
        return potentials[0]
    scope = union_scope(potential.scope for potential in potentials)
    tables = [p for p in potentials if isinstance(p, Factor)]
    gaussians = [p for p in potentials if isinstance(p, GaussianFactor)]
    # Small tables are added first, so that the broadcast sum stays small as long as possible.
    tables.sort(key=lambda factor: factor.log_values.size)
    constant: Floats = np.zeros([1] * (1 + len(scope)))
    for factor in tables:
        constant = constant + factor.aligned(scope)
    if not gaussians:
        full = (constant.shape[0], *(v.cardinality for v in scope))
        if constant.shape != full:
            constant = np.broadcast_to(constant, full)
        return Factor.from_log(scope, constant)
    variables = tuple(dict.fromkeys(v for gaussian in gaussians for v in gaussian.variables))
    for gaussian in gaussians:
        constant = constant + align(gaussian.log_constant, gaussian.scope, scope)
    # The product exp(g - |A x - b|^2 / 2) starts with the sum of all log constants g, and without
    # rows of A and b, whose squares are summed: the product has the rows of all factors.
    lead = constant.shape
    no_rows = np.zeros((*lead, 0, len(variables))), np.zeros((*lead, 0))
    product = GaussianFactor(scope, variables, constant, *no_rows)
    for gaussian in gaussians:
        m = gaussian.targets.shape[-1]
        loadings = np.zeros((*lead, m, len(variables)))
        place = [variables.index(v) for v in gaussian.variables]
        loadings[..., place] = align(gaussian.loadings, gaussian.scope, scope)
        targets = np.broadcast_to(align(gaussian.targets, gaussian.scope, scope), (*lead, m))
        product.loadings = np.concatenate([product.loadings, loadings], axis=-2)
        product.targets = np.concatenate([product.targets, targets], axis=-1)
        # Many rows of A over few variables are equivalent to at most n rows. To reduce them takes
        # n reflections, so it is done only when there are far more.
        if product.targets.shape[-1] > 2 * len(variables) + 8:
            product = product.compressed()
    return product


def _reflected(
    loadings: Floats, targets: Floats, at: int
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Apply a Householder reflection to A x = b; split off the only row that has one variable.

    `loadings` are A, `targets` are b, and `at` is the variable's column of A. The reflection of the
    rows leaves a single nonzero entry in this column. The row with the column's largest entry
    becomes the pivot row, so that rows of very different scales keep their digits (Cox and Higham
    1998).

    Returns
    -------
    log_entry : ndarray, shape (...)
        Log of the magnitude of the entry; minus infinity for a column of zeros.
    row, target : ndarray, shapes (..., n) and (...)
        The row that was split off.
    loadings, targets : ndarray, shapes (..., m - 1, n) and (..., m - 1)
        The other rows, whose entries in the column are zero.
    """
    block = np.concatenate([loadings, targets[..., None]], axis=-1)  # [A | b]
    m = block.shape[-2]
    if m == 0:  # there is no row to split off: a row of zeros in its place
        lead = block.shape[:-2]
        nothing = np.zeros((*lead, loadings.shape[-1])), np.zeros(lead)
        return np.full(lead, -np.inf), *nothing, loadings, targets
    largest = np.argmax(np.abs(block[..., at]), axis=-1)[..., None]
    # Exchange the first row and the pivot row.
    order = np.broadcast_to(np.arange(m), block.shape[:-1]).copy()
    np.put_along_axis(order, largest, 0, axis=-1)
    order[..., :1] = largest
    block = np.take_along_axis(block, order[..., None], axis=-2)
    # The column is divided by its largest entry, now the first: squares stay in range of floats.
    scale = np.abs(block[..., :1, at])
    empty = scale == 0
    column = block[..., at] / np.where(empty, 1.0, scale)
    norm = np.sqrt(np.sum(column * column, axis=-1, keepdims=True))
    # The reflection is I - 2 v v^T / (v^T v), with v = column +- norm e_1. The sign avoids
    # cancellation; a column of zeros, for which v = 0, is left as it is.
    normal = column.copy()
    normal[..., :1] += np.where(column[..., :1] < 0, -1.0, 1.0) * norm
    square = np.sum(normal * normal, axis=-1, keepdims=True)
    scaled = 2.0 * normal / np.where(square == 0, 1.0, square)
    block = block - scaled[..., None] * np.einsum("...m,...mk->...k", normal, block)[..., None, :]
    log_entry = (log_of(norm) + log_of(scale))[..., 0]
    others = block[..., 1:, :]
    others[..., at] = 0.0  # exactly, without rounding errors
    return log_entry, block[..., 0, :-1], block[..., 0, -1], others[..., :-1], others[..., -1]


def _factor(
    scope: Sequence[Discrete],
    variables: Sequence[Continuous],
    kept_columns: list[int],
    log_constant: Floats,
    loadings: Floats,
    targets: Floats,
) -> Potential:
    """Return a factor over those of the variables whose columns of A were kept.

    `loadings` has these columns only. Without any the result is a table.
    """
    if kept_columns:
        kept = [variables[i] for i in kept_columns]
        return GaussianFactor(scope, kept, log_constant, loadings, targets)
    return Factor.from_log(scope, log_constant - half_square(targets))


def half_square(values: Floats) -> Floats:
    """Return half the squared length along the last axis, infinity if it overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(0.5 * np.add.reduce(values * values, axis=-1))


def _improper(variables: Sequence[Continuous]) -> ModelError:
    return ModelError(
        f"The product of the factors over {quoted(v.name for v in variables)} cannot be "
        "normalised: nothing fixes all of them. Check the exponents and give every continuous "
        "variable a distribution of its own."
    )


# ------------------------------------- Normalisation of arrays of logs, and the argmax of each row


def log_total(joint: Floats) -> Floats:
    """Return log-sum-exp of log joint probabilities over the last axis, the states."""
    return log_sum_exp(joint, -1)


def log_normalised(joint: Floats) -> Floats:
    """Normalise log joint probabilities to log posteriors, in place, shape (n_rows, n_states)."""
    # Subtract the peak first: next to a log density of -1e18 the log of a sum would be lost.
    joint -= joint.max(axis=1, keepdims=True)
    joint -= log_sum_exp(joint, 1)[:, None]
    return joint


def normalised(joint: Floats) -> Floats:
    """Turn log joint probabilities into posteriors, in place, shape (n_rows, n_states)."""
    # Shifted by each row's maximum, so that the sum is neither zero nor infinite. Reductions of
    # ufuncs: methods of arrays take longer than a single row.
    joint -= np.maximum.reduce(joint, axis=1, keepdims=True)
    np.exp(joint, out=joint)
    joint /= np.add.reduce(joint, axis=1, keepdims=True)
    return joint


def divided(values: Floats, by: Floats) -> Floats:
    """Return quotients, 0 where the divisor is not positive; `by` is broadcast."""
    quotients: Floats = np.divide(values, by, out=np.zeros_like(values), where=by > 0)
    return quotients


def prior_term(prior: Floats, exponent: float) -> Floats:
    """Return the log of prior^(1 - exponent), which `tempered` adds; 0 where the prior is 0."""
    return np.where(prior > 0, (1.0 - exponent) * log_of(np.where(prior > 0, prior, 1.0)), 0.0)


def tempered(joint: Floats, exponent: float, term: Floats) -> Floats:
    """Turn log joint probabilities into tempered posteriors, in place, shape (n_rows, n_states).

    They are proportional to prior (posterior / prior)^exponent; a probability of zero stays so. The
    term of the prior has the shape (n_states,), or that of `joint` where it differs by row.
    """
    joint *= exponent
    joint += term
    return normalised(joint)


def normalised_if_possible(logs: Floats) -> Floats:
    """Return normalised exponentials over the last axis; zeros where all logs are -inf."""
    peak = logs.max(axis=-1, keepdims=True)
    values = np.exp(logs - np.where(np.isneginf(peak), 0.0, peak))
    return divided(values, values.sum(axis=-1, keepdims=True))


def normalised_with_total(log_values: Floats) -> tuple[Floats, float]:
    """Return normalised probabilities from unnormalised logs, and the log of the sum of values.

    `log_values` has shape (1, ...), of which the first axis is dropped. If all values are zero, the
    probabilities are NaN and the log is minus infinity.
    """
    peak = np.maximum.reduce(log_values, axis=None)
    if peak == -np.inf:
        return np.full(log_values.shape[1:], np.nan), -np.inf
    values = np.exp(log_values - peak)
    total = np.add.reduce(values, axis=None)
    return values[0] / total, float(np.log(total) + peak)


def largest(joint: Floats) -> NDArray[np.intp]:
    """Return for each row the index of the largest entry, ties to the first."""
    return execution_kernels.largest(joint.T)  # the kernel takes the states on the first axis
