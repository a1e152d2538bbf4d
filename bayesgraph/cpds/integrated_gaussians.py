"""Linear Gaussian CPDs whose free continuous variables are integrated out once for all evidence.

Each row of a Gaussian factor is a normal density: a linear function of the free variables has unit
variance around a number, called target here: a constant less a linear function of the observed
variables.
Integrating out the free variables leaves linear combinations of all targets. Their coefficients
depend only on which variables are observed. They are found by ordinary variable elimination, with
each target as an additional variable. For each evidence assignment only a product with a small
matrix remains. Each observed value enters its own target first, so that it loses no digits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from bayesgraph.cpds.base import CPD
from bayesgraph.factors import SUM, Evidence, Factor, GaussianFactor, Potential
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import align
from bayesgraph.factors.gaussian import half_square
from bayesgraph.inference.elimination import potential_scope, remaining
from bayesgraph.inference.plan import make_plan
from bayesgraph.variables import Continuous, Discrete, Variable

# Maximum number of entries of the largest product for which integrals are prepared.
_MAX_ENTRIES = 2**16
# Maximum number of bytes held for one set of observed variables.
MAX_BYTES = 8 * _MAX_ENTRIES


class _Piece(NamedTuple):
    """A factor that remains after integration, as a function of the observed variables' values.

    Each linear Gaussian that was integrated gives one number t, ``offset - slopes @ observed
    values``. The factor is
    ``exp(constant - |loadings @ x + mixing @ t|^2 / 2)`` over the remaining continuous variables x.

    Attributes
    ----------
    scope : tuple of Discrete
    free : list of Continuous
        The remaining continuous variables, which are not integrated out.
    constant : ndarray, shape (1, *cardinalities)
    loadings : ndarray, shape (1, *cardinalities, k, n_free)
    mixing : ndarray, shape (*cardinalities, k, m)
        Coefficients of the m numbers t in the k remaining linear combinations.
    offsets : ndarray, shape (*cardinalities, m)
        The constant `offset` of each number t.
    slopes : ndarray, shape (*cardinalities, m, n_observed)
        The coefficients of the observed variables, which are subtracted from the constants.
    """

    scope: tuple[Discrete, ...]
    free: list[Continuous]
    constant: Floats
    loadings: Floats
    mixing: Floats
    offsets: Floats
    slopes: Floats

    def given(self, values: Floats) -> Potential:
        """Return the factor for given values of the observed variables, shape (n_observed,)."""
        targets = self.offsets - self.slopes @ values
        left = (self.mixing @ targets[..., None])[None, ..., 0]
        if self.free:
            return GaussianFactor(self.scope, self.free, self.constant, self.loadings, -left)
        return Factor.from_log(self.scope, self.constant - half_square(left))


class Integrated:
    """Linear Gaussians with free variables integrated out, for a set of observed variables.

    Parameters
    ----------
    cpds : sequence of CPD
        Linear Gaussian CPDs, each with a free continuous and without an observed discrete variable.
    observed : collection of Variable
    keep : collection of Variable
        Free variables that are not to be integrated out.
    """

    def __init__(
        self, cpds: Sequence[CPD], observed: Collection[Variable], keep: Collection[Variable]
    ) -> None:
        wholes = [_whole(cpd) for cpd in cpds]
        seen = (v for whole in wholes for v in whole.variables if v in observed)
        self._columns = tuple(dict.fromkeys(seen))
        rows = {Continuous(_Row()): whole for whole in wholes}
        factors = [_with_row(whole, row, self._columns) for row, whole in rows.items()]
        plan = make_plan(map(potential_scope, factors), [*rows, *keep])
        self.is_small = plan.largest_table <= _MAX_ENTRIES
        left: list[Potential] = []
        if self.is_small:
            left = remaining(factors, plan, {step.variable: SUM for step in plan.steps}, {})
        self._pieces = [self._piece(p, rows) for p in left if isinstance(p, GaussianFactor)]

    def _piece(self, factor: GaussianFactor, rows: dict[Continuous, GaussianFactor]) -> _Piece:
        at = [i for i, v in enumerate(factor.variables) if v in rows]
        rest = [i for i, v in enumerate(factor.variables) if v not in rows]
        lead = factor.log_constant.shape[1:]
        offsets = np.empty((*lead, len(at)))
        slopes = np.zeros((*lead, len(at), len(self._columns)))
        for j, i in enumerate(at):
            whole = rows[factor.variables[i]]
            loadings = align(whole.loadings, whole.scope, factor.scope)[0]
            offsets[..., j] = align(whole.targets, whole.scope, factor.scope)[0, ..., 0]
            for k, variable in enumerate(whole.variables):
                if variable in self._columns:
                    slopes[..., j, self._columns.index(variable)] = loadings[..., 0, k]
        return _Piece(
            factor.scope,
            [factor.variables[i] for i in rest],
            factor.log_constant,
            factor.loadings[..., rest],
            factor.loadings[0][..., at],
            offsets,
            slopes,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (array for piece in self._pieces for array in piece)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return the factors that remain after integration, given evidence of one row."""
        values = np.array([evidence.columns[v][0] for v in self._columns], dtype=np.float64)
        with np.errstate(over="ignore"):
            return [piece.given(values) for piece in self._pieces]


class _Row:
    """Name of the auxiliary variable that stands for a target; each instance is a unique name."""


def _whole(cpd: CPD) -> GaussianFactor:
    """Return a linear Gaussian CPD as a Gaussian factor without evidence."""
    potential = cpd.potential(Evidence(1, {}))
    assert isinstance(potential, GaussianFactor)  # it is linear
    return potential


def _with_row(
    whole: GaussianFactor, row: Continuous, observed: Collection[Variable]
) -> GaussianFactor:
    """Return a linear Gaussian's factor with its target as an additional variable, `row`.

    `whole` is the factor without evidence. The variable `row` replaces the constant and all terms
    in `observed` variables.
    """
    free = [i for i, v in enumerate(whole.variables) if v not in observed]
    ones = np.ones((*whole.targets.shape, 1))
    return GaussianFactor(
        whole.scope,
        [*(whole.variables[i] for i in free), row],
        whole.log_constant,
        np.concatenate([whole.loadings[..., free], -ones], axis=-1),
        np.zeros_like(whole.targets),
    )
