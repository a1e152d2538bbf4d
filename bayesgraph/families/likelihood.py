"""Estimates by weighted maximum likelihood, smoothed by pseudo-rows of the whole column.

A family computes its parameters from means of functions of the column (`from_means`), or from the
values themselves (`from_values`). Smoothing is the same for all families: each class gets `alpha`
additional rows with the distribution of the column over all classes. For an exponential family
this gives the posterior mean of the means under a conjugate prior (Diaconis and Ylvisaker 1979).
With ``alpha=0`` and ``var_smoothing=0`` the estimate is maximum likelihood exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bayesgraph.cpds import CPD
from bayesgraph.cpds.density import DensityCPD
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.families.leaf_family import Estimate
from bayesgraph.statistics import CountSource, Moments, Samples
from bayesgraph.statistics.leaves import distinct_values
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Continuous, Discrete, Variable

if TYPE_CHECKING:
    from bayesgraph.learning.smoothing import Smoothing

# Function of the mean of each transform, shape (..., n columns), which returns the distribution's
# parameters; these are not finite if all values are equal.
SolveMeans: TypeAlias = Callable[..., Sequence[Floats]]
# Function of ascending distinct values, their weights, and a lower bound of the variance, which
# returns the parameters.
SolveValues: TypeAlias = Callable[[Floats, Floats, float], Sequence[float]]


def from_means(
    cpd: type[DensityCPD],
    functions: tuple[str, ...],
    solve: SolveMeans,
    spread: Callable[[Floats], Sequence[Floats]],
) -> Estimate:
    """Return a function that estimates the CPDs of an exponential family from means.

    Each class gets `alpha` pseudo-rows with the means of the whole column, and further pseudo-rows,
    a fraction `var_smoothing` of the class's rows, so that a column that is constant in one class
    has a density there.

    Parameters
    ----------
    cpd : type
    functions : tuple of str
        Transforms of the column; see `bayesgraph.statistics.leaves.TRANSFORMS`.
    solve : callable
        Maximum likelihood parameters from the mean of each transform.
    spread : callable
        For a column that is constant or never observed: the means used in all classes, given the
        first transform's mean (0 if never observed).
    """

    def estimate(
        children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
    ) -> list[CPD]:
        smoothing.refuse_predictive(cpd.__name__)
        columns = _numeric(children)
        moments = source.summary(Moments(columns, functions, target)).moments
        overall = moments.merged((target.cardinality,), 0)
        by_function = (target.cardinality, len(functions), len(columns))
        count = moments.count.reshape(by_function)[:, :1]
        pooled = overall.mean.reshape(by_function[1:])
        rows = _alpha(columns, smoothing) + smoothing.var_smoothing * count
        sums = count * moments.mean.reshape(by_function) + rows * pooled
        means = np.where(count + rows > 0, safe_divide(sums, count + rows), pooled)
        constant = overall.square.reshape(by_function[1:])[0] == 0
        means[:, :, constant] = np.stack(spread(pooled[0]))[:, constant]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = solve(*np.moveaxis(means, 1, 0))
        return [_made(cpd, columns, target, found, smoothing)]

    return estimate


def from_values(cpd: type[DensityCPD], solve: SolveValues) -> Estimate:
    """Return a function that estimates the CPDs of a family from the values themselves.

    Parameters
    ----------
    cpd : type
    solve : callable
        Maximum likelihood parameters from the distinct values of a class, their weights, and a
        lower bound of the squared scale: `var_smoothing` times the squared scale of the column (see
        `location_and_scale`), or 1 for a constant column.
    """

    def estimate(
        children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
    ) -> list[CPD]:
        smoothing.refuse_predictive(cpd.__name__)
        columns = _numeric(children)
        summary = source.summary(Samples(columns, target))
        found = np.empty((len(cpd.parameters), target.cardinality, len(columns)))
        alpha = _alpha(columns, smoothing)
        for j, (values, weights) in enumerate(zip(summary.values, summary.weights, strict=True)):
            pooled, heavy = distinct_values(np.concatenate(values), np.concatenate(weights))
            if not len(pooled):
                pooled, heavy = np.zeros(1), np.ones(1)  # never observed: all classes are equal
            share = heavy / heavy.sum()
            bound = float(smoothing.ridge(np.square(location_and_scale(pooled, share)[1])))
            for k in range(target.cardinality):
                rows = alpha[j] if len(values[k]) else 1.0
                x, w = distinct_values(
                    np.concatenate([values[k], pooled]), np.concatenate([weights[k], rows * share])
                )
                found[:, k, j] = solve(x[w > 0], w[w > 0], bound)
        return [_made(cpd, columns, target, list(found), smoothing)]

    return estimate


def location_and_scale(x: Floats, share: Floats) -> tuple[float, float]:
    """Return the weighted median and median absolute deviation, which outliers do not move.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Ascending.
    share : ndarray, shape (n,)
        Weights that sum to one.

    Returns
    -------
    location : float
    scale : float
        The deviation times 1.4826, in units of a Gaussian's standard deviation. Where more than
        half of the rows are at the median: the root of the mean squared distance to it.
    """
    location = _median(x, share)
    away = np.abs(x - location)
    order = np.argsort(away)
    scale = 1.4826 * _median(away[order], share[order]) or float(np.sqrt(share @ away**2))
    return location, scale


def _median(ascending: Floats, share: Floats) -> float:
    return float(ascending[np.searchsorted(np.cumsum(share), 0.5).clip(max=len(ascending) - 1)])


def _numeric(children: Sequence[Variable]) -> tuple[Continuous, ...]:
    return tuple(child for child in children if isinstance(child, Continuous))


def _alpha(columns: Sequence[Continuous], smoothing: Smoothing) -> Floats:
    """Return the pseudo-count of each column: the pseudo-rows that each class gets in addition."""
    return np.array([float(smoothing.pseudo_counts(v, 1).reshape(-1)[0]) for v in columns])


def _made(
    cpd: type[DensityCPD],
    columns: Sequence[Continuous],
    target: Discrete,
    found: Sequence[Floats],
    smoothing: Smoothing,
) -> CPD:
    wrong = np.zeros((target.cardinality, len(columns)), dtype=bool)
    for values, above in zip(found, cpd.parameters.values(), strict=True):
        wrong |= ~(np.isfinite(values) & (values > above))
    if wrong.any():
        column = columns[int(np.flatnonzero(wrong.any(axis=0))[0])]
        if smoothing.var_smoothing > 0 or _alpha([column], smoothing)[0] > 0:
            raise DataError(
                f"Column {column.name!r} varies too little, relative to its size, for the "
                f"parameters of {cpd.__name__}; subtract a constant from it, or give it another "
                "distribution, such as 'gaussian'."
            )
        raise DataError(
            f"Column {column.name!r} is constant in some class, or nearly so, and nothing smooths "
            "that; give alpha or var_smoothing a positive value."
        )
    family: Any = cpd  # each constructor takes its parameters by name
    named = dict(zip(cpd.parameters, found, strict=True))
    made: CPD = family(columns, parents=[target], **named)
    return made
