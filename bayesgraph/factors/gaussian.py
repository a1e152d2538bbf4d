"""Conditional Gaussian factors in square-root information form (Bierman 1977, chapter 5).

A factor over n continuous variables x for each configuration d of discrete variables is

    exp(g[d] - |A[d] x - b[d]|^2 / 2).

Up to a constant it is the likelihood of m independent observations b of A x with unit variance.
This form represents densities and also conditional densities, which cannot be normalised over all
their variables. A product stacks the rows of A and b; one Householder reflection eliminates a
variable. The precision matrix A^T A is never formed: it would square the ratio of the largest to
the smallest scale, and results would lose twice as many digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import ModelError, UnsupportedModelError, quoted
from bayesgraph.factors.algebra import LOG_2PI, Algebra, Floats, log_of
from bayesgraph.factors.factor import Factor, align, take_codes, union_scope, weighted_log
from bayesgraph.variables import Continuous, Discrete


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
        at, rest = self._position(variable)
        value = column.reshape(-1, *[1] * (len(self.scope) + 1))
        targets = self.targets - self.loadings[..., at] * value
        return _factor(
            self.scope, self.variables, rest, self.log_constant, self.loadings[..., rest], targets
        )

    def eliminate(self, variable: Continuous, algebra: Algebra) -> Potential:
        """Return the factor after a variable has been integrated (or maximised) out.

        A reflection turns the variable's column of A into a single nonzero entry r. Only the row of
        r then involves the variable; its integral is ``sqrt(2 pi) / |r|``. The other rows remain.
        """
        at, rest = self._position(variable)
        log_entry, _, _, loadings, targets = _reflected(self.loadings, self.targets, at)
        if np.isneginf(log_entry).any():
            raise _improper([variable])
        constant = self.log_constant + algebra.gaussian_log_volume
        if algebra.integrates:
            constant = constant - log_entry
        return _factor(self.scope, self.variables, rest, constant, loadings[..., rest], targets)

    def conditional(self, variable: Continuous) -> tuple[Floats, Floats, Floats]:
        """Return the distribution of a variable given all others: a linear Gaussian.

        Returns
        -------
        mean, variance : ndarray, shape (1 or n_rows, *cardinalities)
            The mean where all other continuous variables are zero.
        slopes : ndarray, shape (1 or n_rows, *cardinalities, n - 1)
            One for each other continuous variable, in the order of `variables`.
        """
        at, rest = self._position(variable)
        log_entry, row, target, _, _ = _reflected(self.loadings, self.targets, at)
        if np.isneginf(log_entry).any():
            raise _improper([variable])
        # The row says that entry * variable + row of the others - target is standard normal.
        entry = row[..., at]
        return target / entry, 1.0 / (entry * entry), -row[..., rest] / entry[..., None]

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
            return np.where(missing.reshape(-1, *[1] * (a.ndim - 1)), a, b)

        if isinstance(free, Factor):
            assert isinstance(observed, Factor)
            return Factor.from_log(free.scope, choose(free.log_values, observed.log_values))
        assert isinstance(observed, GaussianFactor)
        # Conditioning leaves one row more of A and b than integration: pad with rows of zeros.
        m = observed.targets.shape[-1] - free.targets.shape[-1]
        lead = free.targets.shape[:-1]
        loadings = np.concatenate(
            [free.loadings, np.zeros((*lead, m, free.loadings.shape[-1]))], axis=-2
        )
        targets = np.concatenate([free.targets, np.zeros((*lead, m))], axis=-1)
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
        rest, constant = take_codes(self.scope, self.log_constant, variables, codes)
        _, loadings = take_codes(self.scope, self.loadings, variables, codes)
        _, targets = take_codes(self.scope, self.targets, variables, codes)
        return GaussianFactor(rest, self.variables, constant, loadings, targets)

    def compressed(self) -> GaussianFactor:
        """Return an equal factor in which A is upper triangular and has at most n rows."""
        loadings, targets = self.loadings, self.targets
        rows, ends = [], []
        for at in range(len(self.variables)):
            if not targets.shape[-1]:
                break
            _, row, end, loadings, targets = _reflected(loadings, targets, at)
            rows.append(row)
            ends.append(end)
        constant = self.log_constant - half_square(targets)
        stacked = np.stack(rows, axis=-2), np.stack(ends, axis=-1)
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
        scale = np.max(np.abs(column), axis=-1, keepdims=True)
        if not scale.all():
            raise _improper(self.variables)
        column = column / scale
        weighted = np.sum(column * (self.targets / scale), axis=-1)
        return np.asarray(weighted / np.sum(column * column, axis=-1))

    def _position(self, variable: Continuous) -> tuple[int, list[int]]:
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
    lead = np.broadcast_shapes(
        constant.shape, *(align(g.log_constant, g.scope, scope).shape for g in gaussians)
    )
    nothing = np.zeros((*lead, 0, len(variables))), np.zeros((*lead, 0))
    product = GaussianFactor(scope, variables, np.broadcast_to(constant, lead), *nothing)
    for gaussian in gaussians:
        product = _with_rows(product, gaussian, lead)
        # Many rows of A over few variables are equivalent to at most n rows.
        if product.targets.shape[-1] > 2 * len(variables) + 8:
            product = product.compressed()
    return product


def _with_rows(
    product: GaussianFactor, other: GaussianFactor, lead: tuple[int, ...]
) -> GaussianFactor:
    """Append the rows of A and b of another factor to those of a product.

    The product's log constant already includes that of the other factor. `lead` is the shape of the
    product's batch axis and discrete axes.
    """
    place = [product.variables.index(v) for v in other.variables]
    m = other.targets.shape[-1]
    loadings = np.zeros((*lead, m, len(product.variables)))
    loadings[..., place] = align(other.loadings, other.scope, product.scope)
    targets = np.broadcast_to(align(other.targets, other.scope, product.scope), (*lead, m))
    return GaussianFactor(
        product.scope,
        product.variables,
        product.log_constant,
        np.concatenate([product.loadings, loadings], axis=-2),
        np.concatenate([product.targets, targets], axis=-1),
    )


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
    block = np.concatenate([loadings, targets[..., None]], axis=-1)
    m = block.shape[-2]
    if m == 0:
        lead = block.shape[:-2]
        nothing = np.zeros((*lead, loadings.shape[-1])), np.zeros(lead)
        return np.full(lead, -np.inf), *nothing, loadings, targets
    largest = np.argmax(np.abs(block[..., at]), axis=-1)[..., None]
    order = np.broadcast_to(np.arange(m), block.shape[:-1]).copy()
    np.put_along_axis(order, largest, 0, axis=-1)
    order[..., :1] = largest
    block = np.take_along_axis(block, order[..., None], axis=-2)
    scale = np.abs(block[..., :1, at])
    empty = scale == 0
    column = block[..., at] / np.where(empty, 1.0, scale)
    norm = np.sqrt(np.sum(column * column, axis=-1, keepdims=True))
    # The sign avoids cancellation; a column of zeros is left as it is.
    mirror = column.copy()
    mirror[..., :1] += np.where(column[..., :1] < 0, -1.0, 1.0) * norm
    length = np.sum(mirror * mirror, axis=-1, keepdims=True)
    unit = 2.0 * mirror / np.where(length == 0, 1.0, length)
    block = block - unit[..., None] * np.einsum("...m,...mk->...k", mirror, block)[..., None, :]
    log_entry = (log_of(norm) + log_of(scale))[..., 0]
    rest = block[..., 1:, :]
    rest[..., at] = 0.0
    return log_entry, block[..., 0, :-1], block[..., 0, -1], rest[..., :-1], rest[..., -1]


def _factor(
    scope: Sequence[Discrete],
    variables: Sequence[Continuous],
    rest: list[int],
    log_constant: Floats,
    loadings: Floats,
    targets: Floats,
) -> Potential:
    """Return the factor over the variables with indices `rest`; a table if `rest` is empty."""
    if rest:
        kept = [variables[i] for i in rest]
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
