"""Conditional linear Gaussians: a continuous child given discrete and continuous parents."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.base import CPD, Columns
from bayesgraph.cpds.description import Description, describe_numbers, texts
from bayesgraph.cpds.stacked_cpds import Adder, LinearStack, SelectedLinearStack
from bayesgraph.cpds.validation import check_child, check_family, checked_numbers
from bayesgraph.errors import CPDError, quoted
from bayesgraph.factors import Evidence, Factor, GaussianFactor, Potential
from bayesgraph.factors.algebra import LOG_2PI, Floats
from bayesgraph.factors.factor import align, take_codes
from bayesgraph.factors.gaussian import half_square
from bayesgraph.inference.family_slopes import GaussianFamily
from bayesgraph.special import ndtr
from bayesgraph.variables import Continuous, Discrete, Variable


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

    variable: Continuous

    def __init__(
        self,
        variable: Continuous,
        mean: ArrayLike,
        variance: ArrayLike,
        parents: Iterable[Variable] = (),
        coefficients: ArrayLike | None = None,
    ) -> None:
        self.parents = check_family(variable, parents, family="GaussianCPD")
        check_child(variable, Continuous, family="GaussianCPD", hint="Use TableCPD.")
        self.variable = variable
        shape = tuple(parent.cardinality for parent in self.discrete_parents)
        n = len(self.continuous_parents)
        if coefficients is None and n:
            raise CPDError(
                f"{self.title} has the continuous parents "
                f"{quoted(p.name for p in self.continuous_parents)}: coefficients= of shape "
                f"{(*shape, n)} is needed."
            )
        slopes = np.zeros((*shape, 0)) if coefficients is None else coefficients
        self.mean = self._numbers("mean", mean, shape)
        self.variance = self._numbers("variance", variance, shape)
        self.coefficients = self._numbers("coefficients", slopes, (*shape, n))
        if not (self.variance > 0).all():
            raise CPDError(
                f"{self.title}: every variance must be positive; the smallest is "
                f"{self.variance.min():.6g}."
            )

    def _numbers(self, name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
        names = quoted(parent.name for parent in self.discrete_parents) or "none"
        what = f"{self.title} (discrete parents: {names}): {name}"
        return checked_numbers(values, shape, what=what, fill=True)

    @property
    def family(self) -> GaussianFamily:
        """The linear Gaussian; see CPD."""
        numbers = (self.variable, *self.continuous_parents)
        arrays = self.mean, self.variance, self.coefficients
        return GaussianFamily(self.discrete_parents, numbers, *arrays)

    @property
    def is_linear(self) -> bool:
        """True: the mean is linear in the continuous parents. See CPD."""
        return True

    @property
    def is_positive_where_observed(self) -> bool:
        """True: a Gaussian density is positive everywhere. See CPD."""
        return True

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the CPD given values of some parents, which it then lacks; see CPD."""
        known = np.array([parent in values for parent in self.continuous_parents], dtype=bool)
        if not known.any():
            return super().with_parents_set(values)
        numbers = [values[p] for p in self.continuous_parents if p in values]
        rest = GaussianCPD(
            self.variable,
            self.mean + self.coefficients[..., known] @ np.array(numbers),
            self.variance,
            [p for p in self.parents if p not in values or isinstance(p, Discrete)],
            self.coefficients[..., ~known],
        )
        return rest.with_parents_set(values)

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
        scope = self.discrete_parents
        rest, mean = take_codes(scope, self.mean[None], observed, codes)
        _, variance = take_codes(scope, self.variance[None], observed, codes)
        _, slopes = take_codes(scope, self.coefficients[None], observed, codes)
        lead = [1] * len(rest)
        # The density is normal in the residual r - a^T x. The vector x holds the free variables
        # among child and continuous parents. The loadings a are 1 for the child and -slope for a
        # parent, and r is the mean less the loadings of observed variables times their values.
        residual = mean
        free: list[Continuous] = []
        a: list[Floats] = []
        loadings = [(self.variable, np.ones_like(mean))]
        loadings += [(p, -slopes[..., i]) for i, p in enumerate(self.continuous_parents)]
        for variable, loading in loadings:
            if variable in evidence:
                column = evidence.columns[variable].astype(np.float64, copy=False)
                residual = residual - loading * column.reshape(-1, *lead)
            else:
                free.append(variable)
                a.append(loading)
        scale = np.sqrt(variance)
        constant = -np.log(scale) - 0.5 * LOG_2PI
        deviation = residual / scale
        if not free:
            log_density = constant - half_square(deviation[..., None])
            return Factor.from_log(rest, _one_where_missing(log_density))
        row = np.stack(np.broadcast_arrays(*(loading / scale for loading in a)), axis=-1)
        shape = np.broadcast_shapes(constant.shape, deviation.shape)
        constant = np.broadcast_to(constant, shape)
        row = np.broadcast_to(row, (*shape, len(free)))
        missing = np.isnan(deviation)
        if missing.any():  # the child is missing: its density integrates to one for all parents
            constant = np.where(missing, 0.0, constant)
            row = np.where(missing[..., None], 0.0, row)
            deviation = np.where(missing, 0.0, deviation)
        deviation = np.broadcast_to(deviation, shape)
        return GaussianFactor(rest, free, constant, row[..., None, :], deviation[..., None])

    @classmethod
    def adders(
        cls, cpds: Sequence[GaussianCPD], scope: Sequence[Discrete], observed: Container[Variable]
    ) -> list[Adder]:
        """Return `Adder` objects, which add the CPDs' log densities to an array; see CPD.

        Consecutive CPDs with observed discrete parents share one `Adder`, a `SelectedLinearStack`,
        and so do those without, a `LinearStack`.
        """
        found: list[Adder] = []
        for selected, run in groupby(
            cpds, lambda c: any(p in observed for p in c.discrete_parents)
        ):
            group = list(run)
            families = [(cpd.variable, *cpd.continuous_parents) for cpd in group]
            if selected:
                chosen = [[p for p in cpd.discrete_parents if p in observed] for cpd in group]
                pairs = zip(group, chosen, strict=True)
                numbers = [cpd._flat([*known, *scope]) for cpd, known in pairs]
                found.append(SelectedLinearStack.of(numbers, chosen, families))
            else:
                found.append(LinearStack.of([cpd._flat(scope) for cpd in group], families))
        return found

    def _flat(self, scope: Sequence[Discrete]) -> tuple[Floats, Floats, Floats]:
        """Return mean, variance and slopes for each configuration of the parents, `scope`."""
        found = (self.mean, self.variance, self.coefficients)
        if self.discrete_parents != tuple(scope):
            found = tuple(align(values[None], self.discrete_parents, scope)[0] for values in found)
        mean, variance, slopes = found
        return mean.reshape(-1), variance.reshape(-1), slopes.reshape(mean.size, -1)

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child given the parents' columns; see CPD."""
        row = tuple(parents[parent] for parent in self.discrete_parents)
        mean = np.broadcast_to(self.mean[row], n).copy()
        for i, parent in enumerate(self.continuous_parents):
            mean += self.coefficients[(*row, i)] * parents[parent]
        return np.asarray(mean + np.sqrt(self.variance[row]) * random.standard_normal(n))

    def interval_probability(self, low: Floats, high: Floats) -> Floats:
        """Return P(low < child <= high) if the child has no parents; see `HasIntervals`."""
        scale = np.sqrt(self.variance)
        a, b = (low - self.mean) / scale, (high - self.mean) / scale
        # In the upper tail the difference of two probabilities close to one would lose digits.
        upper = a > 0
        return np.asarray(ndtr(np.where(upper, -a, b)) - ndtr(np.where(upper, -b, a)))

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table with mean or intercept, slopes and standard deviation; see CPD."""
        slopes = self.continuous_parents
        names = texts([parent.name for parent in slopes[:max_columns]], 16)
        columns = {"intercept" if slopes else "mean": self.mean}
        columns |= {f"× {name}": self.coefficients[..., i] for i, name in enumerate(names)}
        columns["sd"] = np.sqrt(self.variance)
        hidden = len(slopes) - len(names)
        return describe_numbers(self.discrete_parents, self.children, columns, max_rows, hidden)


def _one_where_missing(log_density: Floats) -> Floats:
    """Return log densities with 0, the log of one, in rows where the child is missing (NaN)."""
    missing = np.isnan(log_density)
    return np.where(missing, 0.0, log_density) if missing.any() else log_density
