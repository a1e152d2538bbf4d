"""Conditional Gaussian factors in canonical form (Lauritzen 1992; Lauritzen and Jensen 2001).

A factor over continuous variables x for each configuration d of discrete ones is

    exp(g[d] + h[d]^T x - x^T K[d] x / 2).

The canonical form holds conditional densities, which are not normalisable in all their variables,
as well as densities; multiplying adds the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import ModelError, quoted
from bayesgraph.factors.algebra import LOG_2PI, Algebra, Floats
from bayesgraph.factors.factor import Factor, align, take_codes, union_scope, weighted_log
from bayesgraph.variables import Continuous, Discrete


class GaussianFactor:
    """A Gaussian in canonical form for each row and each configuration of discrete variables.

    Parameters
    ----------
    scope : sequence of Discrete
        Discrete variables, in the order of the axes.
    variables : sequence of Continuous
        The n continuous variables, at least one.
    log_constant : ndarray, shape (1 or n_rows, *cardinalities)
        g above.
    shift : ndarray, shape (1 or n_rows, *cardinalities, n)
        h above.
    precision : ndarray, shape (1 or n_rows, *cardinalities, n, n)
        K above, symmetric.
    """

    __slots__ = ("log_constant", "precision", "scope", "shift", "variables")

    def __init__(
        self,
        scope: Sequence[Discrete],
        variables: Sequence[Continuous],
        log_constant: Floats,
        shift: Floats,
        precision: Floats,
    ) -> None:
        self.scope = tuple(scope)
        self.variables = tuple(variables)
        self.log_constant = log_constant
        self.shift = shift
        self.precision = precision

    def power(self, exponent: Floats) -> GaussianFactor:
        """Raise to an exponent of a shape that broadcasts against the log constant."""
        return GaussianFactor(
            self.scope,
            self.variables,
            weighted_log(self.log_constant, exponent),
            self.shift * exponent[..., None],
            self.precision * exponent[..., None, None],
        )

    def condition(self, variable: Continuous, column: Floats) -> Potential:
        """Return the factor with a variable set to a value for each row, shape (n_rows,)."""
        at, rest = self._position(variable)
        value = column.reshape(-1, *[1] * len(self.scope))
        shift, precision = self.shift, self.precision
        constant = (
            self.log_constant
            + shift[..., at] * value
            - 0.5 * precision[..., at, at] * value * value
        )
        if not rest:
            return Factor.from_log(self.scope, constant)
        new_shift = shift[..., rest] - precision[..., rest, at] * value[..., None]
        kept = tuple(self.variables[i] for i in rest)
        new_precision = _submatrix(precision, rest)
        return GaussianFactor(self.scope, kept, constant, new_shift, new_precision)

    def eliminate(self, variable: Continuous, algebra: Algebra) -> Potential:
        """Return the factor with a variable integrated (or maximised) out.

        The integral of a canonical factor over x_i has K' = K_rr - K_ri K_ir / K_ii,
        h' = h_r - K_ri h_i / K_ii and g' = g + (log(2 pi / K_ii) + h_i^2 / K_ii) / 2.
        """
        at, rest = self._position(variable)
        shift, precision = self.shift, self.precision
        pivot = precision[..., at, at]
        if not (pivot > 0).all():
            raise _improper([variable])
        own = shift[..., at]
        constant = self.log_constant + 0.5 * own * own / pivot + algebra.gaussian_log_volume
        if algebra.integrates:
            constant = constant - 0.5 * np.log(pivot)
        if not rest:
            return Factor.from_log(self.scope, constant)
        link = precision[..., rest, at] / pivot[..., None]
        new_shift = shift[..., rest] - link * own[..., None]
        outer = link[..., :, None] * precision[..., at, rest][..., None, :]
        new_precision = _submatrix(precision, rest) - outer
        kept = tuple(self.variables[i] for i in rest)
        return GaussianFactor(self.scope, kept, constant, new_shift, new_precision)

    def eliminate_partial(
        self, variable: Continuous, algebra: Algebra, column: Floats
    ) -> Potential:
        """Return the factor without a variable that some rows observe and others do not.

        Rows where `column` is NaN are integrated (or maximised) out, the others are conditioned.
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
        return GaussianFactor(
            free.scope,
            free.variables,
            choose(free.log_constant, observed.log_constant),
            choose(free.shift, observed.shift),
            choose(free.precision, observed.precision),
        )

    def take(
        self, variables: Sequence[Discrete], codes: Sequence[NDArray[np.integer]]
    ) -> GaussianFactor:
        """Return the factor at one state of discrete variables for each row."""
        rest, constant = take_codes(self.scope, self.log_constant, variables, codes)
        _, shift = take_codes(self.scope, self.shift, variables, codes)
        _, precision = take_codes(self.scope, self.precision, variables, codes)
        return GaussianFactor(rest, self.variables, constant, shift, precision)

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Return log mass, means and covariances for each row and discrete configuration.

        Returns
        -------
        log_mass : ndarray, shape (n_rows, *cardinalities)
            Log of the integral over all continuous variables.
        mean : ndarray, shape (n_rows, *cardinalities, n)
        covariance : ndarray, shape (n_rows, *cardinalities, n, n)
        """
        try:
            np.linalg.cholesky(self.precision)
        except np.linalg.LinAlgError as error:
            raise _improper(self.variables) from error
        covariance = np.linalg.inv(self.precision)
        covariance = 0.5 * (covariance + np.swapaxes(covariance, -1, -2))
        mean = np.einsum("...ij,...j->...i", covariance, self.shift)
        _, log_det = np.linalg.slogdet(self.precision)
        n = len(self.variables)
        log_mass = (
            self.log_constant
            + 0.5 * np.sum(self.shift * mean, axis=-1)
            + 0.5 * (n * LOG_2PI - log_det)
        )
        return log_mass, mean, np.asarray(covariance)

    def _position(self, variable: Continuous) -> tuple[int, list[int]]:
        at = self.variables.index(variable)
        return at, [i for i in range(len(self.variables)) if i != at]

    def __repr__(self) -> str:
        discrete = ", ".join(repr(variable.name) for variable in self.scope)
        continuous = ", ".join(repr(variable.name) for variable in self.variables)
        return f"GaussianFactor([{discrete}], [{continuous}])"


Potential: TypeAlias = Factor | GaussianFactor


def multiply(potentials: Sequence[Potential]) -> Potential:
    """Return the product of factors, discrete and Gaussian mixed freely."""
    scope = union_scope(potential.scope for potential in potentials)
    tables = [p for p in potentials if isinstance(p, Factor)]
    gaussians = [p for p in potentials if isinstance(p, GaussianFactor)]
    # Small tables first: the broadcast sums grow as late as possible.
    tables.sort(key=lambda factor: factor.log_values.size)
    constant: Floats = np.zeros([1] * (1 + len(scope)))
    for factor in tables:
        constant = constant + factor.aligned(scope)
    if not gaussians:
        full = (constant.shape[0], *(v.cardinality for v in scope))
        return Factor.from_log(scope, np.broadcast_to(constant, full))
    variables = tuple(dict.fromkeys(v for gaussian in gaussians for v in gaussian.variables))
    for gaussian in gaussians:
        constant = constant + align(gaussian.log_constant, gaussian.scope, scope)
    lead = np.broadcast_shapes(
        constant.shape, *(align(g.log_constant, g.scope, scope).shape for g in gaussians)
    )
    n = len(variables)
    shift = np.zeros((*lead, n))
    precision = np.zeros((*lead, n, n))
    for gaussian in gaussians:
        at = [variables.index(v) for v in gaussian.variables]
        shift[..., at] += align(gaussian.shift, gaussian.scope, scope)
        # Basic slicing row by row: an index array on two axes would copy the whole block.
        added = align(gaussian.precision, gaussian.scope, scope)
        for i, row in enumerate(at):
            precision[..., row, at] += added[..., i, :]
    return GaussianFactor(scope, variables, np.broadcast_to(constant, lead), shift, precision)


def _submatrix(matrix: Floats, index: list[int]) -> Floats:
    return np.asarray(matrix[..., index, :][..., :, index])


def _improper(variables: Sequence[Continuous]) -> ModelError:
    return ModelError(
        f"The product of the factors over {quoted(v.name for v in variables)} cannot be "
        "normalised: its precision is not positive. Check the exponents and give every continuous "
        "variable a distribution of its own."
    )
