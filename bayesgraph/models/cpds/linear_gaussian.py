"""Conditional linear Gaussians: a continuous child given discrete and continuous parents."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats, log_normal_mass
from bayesgraph.core.errors import CPDError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import (
    Factor,
    GaussianFactor,
    GaussianFamily,
    Potential,
    align,
    half_square,
    make_plan,
    potential_scope,
    remaining,
    take_codes,
)
from bayesgraph.models.cpds.base import (
    CPD,
    Adder,
    Columns,
    Description,
    ParameterTitle,
    checked_numbers,
    describe_numbers,
    texts,
)
from bayesgraph.models.cpds.stacks import LinearStack

# ---------- Conditional linear Gaussians: a continuous child given discrete and continuous parents


class GaussianCPD(CPD):
    """A linear Gaussian for each configuration of the discrete parents.

    Given discrete parents d and continuous parents z, the child is normal with mean
    ``mean[d] + coefficients[d] @ z`` and variance ``variance[d]`` (Lauritzen and Wermuth 1989).

    Parameters
    ----------
    variable : Continuous
        The child.
    mean : array_like, shape (*discrete parents' cardinalities)
        The mean where all continuous parents are zero; a number serves for all configurations.
    variance : array_like, shape (*discrete parents' cardinalities)
        Positive, in squared units of the child; a number serves for all configurations.
    parents : iterable of Variable
        Discrete and continuous ones in any order.
    coefficients : array_like, shape (*discrete parents' cardinalities, n continuous parents)
        One slope for each continuous parent, in their order; required if there are any.

    Raises
    ------
    CPDError
        For a discrete child, a wrong shape, NaN or infinity, or a variance that is not positive.

    Examples
    --------
    >>> rain = Discrete("rain", ["no", "yes"])
    >>> GaussianCPD(Continuous("temp"), [20.0, 14.0], [9.0, 4.0], parents=[rain])
    GaussianCPD p(temp | rain)
      rain  mean  sd
      no      20   3
      yes     14   2
    """

    arrays = ("mean", "variance", "coefficients")
    _child_type, _hint, _takes_numbers = Continuous, " Use TableCPD.", True
    is_linear = True

    variable: Continuous
    mean: Floats
    variance: Floats
    coefficients: Floats

    def __init__(
        self,
        variable: Continuous,
        mean: ArrayLike,
        variance: ArrayLike,
        parents: Iterable[Variable] = (),
        coefficients: ArrayLike | None = None,
    ) -> None:
        self._set_family(variable, parents)
        shape = tuple([len(parent.states) for parent in self.discrete_parents])
        n = len(self.continuous_parents)
        if coefficients is None and n:
            raise CPDError(
                f"{self.title} has the continuous parents "
                f"{quoted(p.name for p in self.continuous_parents)}: coefficients= of shape "
                f"{(*shape, n)} is needed."
            )
        if coefficients is not None and not n and np.size(coefficients):
            raise CPDError(
                f"{self.title} has no continuous parents, of which coefficients= are the slopes; "
                f"got {coefficients!r:.80}. Leave it out, or name the parents."
            )
        slopes = np.zeros((*shape, 0)) if coefficients is None else coefficients
        shapes = shape, shape, (*shape, n)
        for name, values, wanted in zip(self.arrays, (mean, variance, slopes), shapes, strict=True):
            title = ParameterTitle(self, name, self.discrete_parents)
            setattr(self, name, checked_numbers(values, wanted, what=title, fill=True))
        if not (self.variance > 0).all():
            raise CPDError(
                f"{self.title}: every variance must be positive; the smallest is "
                f"{self.variance.min():.6g}."
            )

    @property
    def family(self) -> GaussianFamily:
        """The linear Gaussian; see CPD."""
        numbers = (self.variable, *self.continuous_parents)
        arrays = self.mean, self.variance, self.coefficients
        return GaussianFamily(self.discrete_parents, numbers, *arrays)

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the CPD given values of some parents, which it then lacks; see CPD."""
        # Numbers that are set become part of the mean; the base class takes discrete parents.
        fixed = np.array([parent in values for parent in self.continuous_parents], dtype=bool)
        if not fixed.any():
            return super().with_parents_set(values)
        numbers = [values[p] for p in self.continuous_parents if p in values]
        reduced = GaussianCPD(
            self.variable,
            self.mean + self.coefficients[..., fixed] @ np.array(numbers),
            self.variance,
            [p for p in self.parents if p not in values or isinstance(p, Discrete)],
            self.coefficients[..., ~fixed],
        )
        return reduced.with_parents_set(values)

    def with_parent(self, parent: Variable) -> CPD:
        """Return the CPD with one more parent; the slope of a continuous one is zero. See CPD."""
        if not isinstance(parent, Continuous):
            return super().with_parent(parent)
        slopes = np.concatenate([self.coefficients, np.zeros((*self.mean.shape, 1))], axis=-1)
        parents = [*self.parents, parent]
        return GaussianCPD(self.variable, self.mean, self.variance, parents, slopes)

    def potential(self, evidence: Evidence) -> Potential:
        """Return a Gaussian factor, or a table if no continuous variable is free; see CPD."""
        observed = [parent for parent in self.discrete_parents if parent in evidence]
        codes = [evidence.columns[parent] for parent in observed]
        # Parameters of each row and each configuration of the discrete parents that are left.
        scope = self.discrete_parents
        discrete, mean = take_codes(scope, self.mean[None], observed, codes)
        _, variance = take_codes(scope, self.variance[None], observed, codes)
        _, slopes = take_codes(scope, self.coefficients[None], observed, codes)
        ones = [1] * len(discrete)  # lengths of axes along which a column is broadcast
        # The density is normal in the residual r - a^T x. The vector x holds the free variables
        # among child and continuous parents. The loadings a are 1 for the child and -slope for a
        # parent, and r is the mean less the loadings of observed variables times their values.
        residual = mean
        free: list[Continuous] = []
        free_loadings: list[Floats] = []
        loadings = [(self.variable, np.ones_like(mean))]
        loadings += [(p, -slopes[..., i]) for i, p in enumerate(self.continuous_parents)]
        for variable, loading in loadings:
            if variable in evidence:
                column = evidence.columns[variable].astype(np.float64, copy=False)
                residual = residual - loading * column.reshape(-1, *ones)
            else:
                free.append(variable)
                free_loadings.append(loading)
        scale = np.sqrt(variance)
        constant = -np.log(scale) - 0.5 * LOG_2PI
        deviation = residual / scale
        if not free:
            # 0, the log of one, where the child is missing.
            logs = constant - half_square(deviation[..., None])
            return Factor.from_log(discrete, np.where(np.isnan(logs), 0.0, logs))
        # Divided by the standard deviation, the residual r - a^T x has variance one.
        scaled = [loading / scale for loading in free_loadings]
        form = np.stack(np.broadcast_arrays(*scaled), axis=-1)
        shape = np.broadcast_shapes(constant.shape, deviation.shape)
        constant = np.broadcast_to(constant, shape)
        form = np.broadcast_to(form, (*shape, len(free)))
        missing = np.isnan(deviation)
        if missing.any():  # the child is missing: its density integrates to one for all parents
            constant = np.where(missing, 0.0, constant)
            form = np.where(missing[..., None], 0.0, form)
            deviation = np.where(missing, 0.0, deviation)
        deviation = np.broadcast_to(deviation, shape)
        # One linear form for each CPD: an axis of length one before that of the variables.
        return GaussianFactor(discrete, free, constant, form[..., None, :], deviation[..., None])

    @classmethod
    def adders(
        cls, cpds: Sequence[GaussianCPD], scope: Sequence[Discrete], observed: Container[Variable]
    ) -> list[Adder]:
        """Return one `Adder`, which adds the log densities of all CPDs to an array; see CPD."""
        observed_parents = [[p for p in cpd.discrete_parents if p in observed] for cpd in cpds]
        continuous = [(cpd.variable, *cpd.continuous_parents) for cpd in cpds]
        pairs = zip(cpds, observed_parents, strict=True)
        # The free variables vary fastest.
        numbers = [cpd._flat([*parents, *scope]) for cpd, parents in pairs]
        return [LinearStack.of(numbers, observed_parents, continuous)]

    def _flat(self, scope: Sequence[Discrete]) -> tuple[Floats, Floats, Floats]:
        """Return mean, variance and slopes, of shapes (cells,), (cells,) and (cells, n_slopes).

        `scope` has the discrete parents in the order of the cells, which are configurations.
        """
        arrays = (self.mean, self.variance, self.coefficients)
        if self.discrete_parents != tuple(scope):
            arrays = tuple(align(x[None], self.discrete_parents, scope)[0] for x in arrays)
        mean, variance, slopes = arrays
        return mean.reshape(-1), variance.reshape(-1), slopes.reshape(mean.size, -1)

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child given the parents' columns; see CPD."""
        # An index into arrays over configurations: a code, or a column of codes, for each parent.
        row = tuple(parents[parent] for parent in self.discrete_parents)
        mean = np.broadcast_to(self.mean[row], n).copy()
        for i, parent in enumerate(self.continuous_parents):
            mean += self.coefficients[(*row, i)] * parents[parent]
        return np.asarray(mean + np.sqrt(self.variance[row]) * random.standard_normal(n))

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) in each configuration; see `CPD`."""
        if self.continuous_parents:
            return super().log_interval(low, high)
        mean, scale = self.mean.reshape(-1), np.sqrt(self.variance).reshape(-1)
        return log_normal_mass(low[:, None], high[:, None], mean, scale)

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table with mean or intercept, slopes and standard deviation; see CPD."""
        slopes = self.continuous_parents
        names = texts([parent.name for parent in slopes[:max_columns]], 16)
        columns = {"intercept" if slopes else "mean": self.mean}
        columns |= {f"× {name}": self.coefficients[..., i] for i, name in enumerate(names)}
        columns["sd"] = np.sqrt(self.variance)
        hidden = len(slopes) - len(names)
        return describe_numbers(self.discrete_parents, self.children, columns, max_rows, hidden)


# ---- Linear Gaussian CPDs whose free continuous variables are integrated out once for all evidence
# Each row of a Gaussian factor is a normal density: a linear function of the free variables has
# unit variance around a number, called target here: a constant less a linear function of the
# observed variables. Integrating out the free variables leaves linear combinations of all targets.
# Their coefficients depend only on which variables are observed. They are found by ordinary
# variable elimination, with each target as an additional variable. For each evidence assignment
# only a product with a small matrix remains. Each observed value enters its own target first, so
# that it loses no digits.


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
        # The factor is exp(constant - |A x - b|^2 / 2), where b is minus the mixing of the targets.
        mixed = (self.mixing @ targets[..., None])[None, ..., 0]
        if self.free:
            return GaussianFactor(self.scope, self.free, self.constant, self.loadings, -mixed)
        return Factor.from_log(self.scope, self.constant - half_square(mixed))


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
        # The Gaussians without evidence; they are linear.
        wholes: Any = [cpd.potential(Evidence(1, {})) for cpd in cpds]
        columns = (v for whole in wholes for v in whole.variables if v in observed)
        self._columns = tuple(dict.fromkeys(columns))  # observed numbers, each once
        # An auxiliary variable for the target of each Gaussian; it is kept in the elimination.
        rows = {Continuous(_Row()): whole for whole in wholes}
        factors = [_with_row(whole, row, self._columns) for row, whole in rows.items()]
        plan = make_plan(map(potential_scope, factors), [*rows, *keep])
        self.is_small = plan.largest_table <= _MAX_ENTRIES
        # Otherwise the CPDs are used as they are.
        left = remaining(factors, plan, {}) if self.is_small else []
        self._pieces = [self._piece(p, rows) for p in left if isinstance(p, GaussianFactor)]

    def _piece(self, factor: GaussianFactor, rows: dict[Continuous, GaussianFactor]) -> _Piece:
        """Return a remaining factor as a function of the observed values.

        `rows` has for each auxiliary variable, a target, the linear Gaussian that it is of. The
        target is ``offset - slopes @ observed values`` in each configuration.
        """
        targets = [i for i, v in enumerate(factor.variables) if v in rows]
        free = [i for i, v in enumerate(factor.variables) if v not in rows]
        configurations = factor.log_constant.shape[1:]
        offsets = np.empty((*configurations, len(targets)))
        slopes = np.zeros((*configurations, len(targets), len(self._columns)))
        # Target j is variable i of the factor. Arrays of Gaussian factors have an axis of rows
        # first, here of length one, and one of linear forms, of which a single Gaussian has one.
        for j, i in enumerate(targets):
            gaussian = rows[factor.variables[i]]
            loadings = align(gaussian.loadings, gaussian.scope, factor.scope)[0]
            offsets[..., j] = align(gaussian.targets, gaussian.scope, factor.scope)[0, ..., 0]
            for k, variable in enumerate(gaussian.variables):
                if variable in self._columns:
                    slopes[..., j, self._columns.index(variable)] = loadings[..., 0, k]
        return _Piece(
            factor.scope,
            [factor.variables[i] for i in free],
            factor.log_constant,
            factor.loadings[..., free],
            factor.loadings[0][..., targets],  # the mixing
            offsets,
            slopes,
        )

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return the factors that remain after integration, given evidence of one row."""
        values = np.array([evidence.columns[v][0] for v in self._columns], dtype=np.float64)
        with np.errstate(over="ignore"):
            return [piece.given(values) for piece in self._pieces]


class _Row:
    """Name of the auxiliary variable that stands for a target; each instance is a unique name."""


def _with_row(
    whole: GaussianFactor, row: Continuous, observed: Collection[Variable]
) -> GaussianFactor:
    """Return a linear Gaussian's factor with its target as an additional variable, `row`.

    `whole` is the factor without evidence. The variable `row` replaces the constant and all terms
    in `observed` variables.
    """
    free = [i for i, v in enumerate(whole.variables) if v not in observed]
    # The density is that of a^T x - target: the loading of the target is -1, the constant 0.
    ones = np.ones((*whole.targets.shape, 1))
    return GaussianFactor(
        whole.scope,
        [*(whole.variables[i] for i in free), row],
        whole.log_constant,
        np.concatenate([whole.loadings[..., free], -ones], axis=-1),
        np.zeros_like(whole.targets),
    )
