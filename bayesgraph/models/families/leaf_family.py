"""Descriptions (cards) of families of distributions.

A card is a frozen record that describes a family; other modules know the family by its card only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import DensityCPD
from bayesgraph.statistics import (
    CountSource,
    Moments,
    Request,
    Samples,
    Smoothing,
    distinct_values,
    safe_divide,
)

# ----------------------------------------------- Descriptions (cards) of families of distributions


# Function that estimates the CPDs of features whose only parent is the class.
Estimate: TypeAlias = "Callable[[Sequence[Variable], Discrete, CountSource, Smoothing], list[CPD]]"


@dataclass(frozen=True)
class LeafFamily:
    """Card of a family of distributions: a record of its name, statistics and functions.

    Attributes
    ----------
    name : str
        Name of the family in ``distributions=``.
    summary : str
        Use of the family, a line of the documentation.
    stored : mapping from str to type
        Classes of the family's CPDs, by their names in files.
    statistics : type
        The type of request for the statistics from which the family is estimated. All but
        `Samples` are sums over the rows, of constant size; `Samples` keeps the distinct values of
        each column.
    estimate : callable
        Function (features, class variable, count source, Smoothing) that returns the CPDs of the
        features, each with the class variable as its only parent.
    is_default : bool
        Whether variables of the type `variable` have this family if none is chosen.
    positive : bool
        Whether the family takes no negative numbers.
    vector : str
        For a family of many columns together, the name of the feature that they become.
    takes_states : bool
        Whether the user may choose the family for text, category and boolean columns, whose
        distribution is then categorical.
    any_parents : bool
        Whether features with parents other than the class may have the family.
    own_smoothing : tuple of str
        Names of fields of `Smoothing` that no other family uses.
    """

    name: str
    summary: str
    stored: Mapping[str, type[CPD]]
    statistics: type[Request]
    estimate: Estimate
    is_default: bool = False
    positive: bool = False
    vector: str = ""
    takes_states: bool = False
    any_parents: bool = False
    own_smoothing: tuple[str, ...] = ()

    @cached_property
    def variable(self) -> type[Any]:
        """The type of variables that columns of this family become."""
        return next(iter(self.stored.values()))._child_type


# ------------ Weighted maximum likelihood estimates, smoothed by pseudo-rows from the whole column
# A family computes its parameters from means of functions of the column (`from_means`), or from the
# values themselves (`from_values`). Smoothing is the same for all families: each class gets `alpha`
# additional rows with the distribution of the column over all classes. For an exponential family
# this gives the posterior mean of the means under a conjugate prior (Diaconis and Ylvisaker 1979).
# With ``alpha=0`` and ``var_smoothing=0`` the estimate is maximum likelihood exactly.


# Function of the mean of each transform, shape (..., n columns), which returns the distribution's
# parameters; these are not finite if all values are equal.
SolveMeans: TypeAlias = Callable[..., Sequence[Floats]]
# Function of ascending distinct values, their weights, and a lower bound of the variance, which
# returns the parameters.
SolveValues: TypeAlias = Callable[[Floats, Floats, float], Sequence[float]]


def from_means(
    name: str,
    summary: str,
    cpd: type[DensityCPD],
    functions: tuple[str, ...],
    solve: SolveMeans,
    spread: Callable[[Floats], Sequence[Floats]],
) -> LeafFamily:
    """Return an exponential family whose CPDs are estimated from means.

    The function `estimate` of the card gives each class ``alpha + var_smoothing * n`` pseudo-rows
    with the means of the whole column, where n is the class's row count, and `alpha` and
    `var_smoothing` are fields of `Smoothing`. A column that is constant in one class then has a
    density in it.

    Parameters
    ----------
    cpd : type
        Class of the CPDs.
    functions : tuple of str
        Sufficient statistics: transforms of the column, which are keys of
        `bayesgraph.statistics.summaries.TRANSFORMS`.
    solve : callable
        Returns the maximum likelihood parameters, given the mean of each transform.
    spread : callable
        Returns the means of the transforms to use in all classes for a column that is constant or
        never observed, given the mean of the first transform (0 if never observed).
    """

    def estimate(
        children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
    ) -> list[CPD]:
        """Return the CPDs of features given the class; see `LeafFamily`."""
        smoothing.refuse_predictive(cpd.__name__)
        columns = numeric(children)
        # Shapes are (n_classes, n_functions, n_columns); counts are those of the first function.
        moments = source.summary(Moments(columns, functions, target)).moments
        overall = moments.merged((target.cardinality,), 0)  # over all classes
        by_function = (target.cardinality, len(functions), len(columns))
        count = moments.count.reshape(by_function)[:, :1]
        pooled = overall.mean.reshape(by_function[1:])
        # The number of pseudo-rows in each class, which have the means of all classes.
        pseudo = alphas(columns, smoothing) + smoothing.var_smoothing * count
        sums = count * moments.mean.reshape(by_function) + pseudo * pooled
        means = np.where(count + pseudo > 0, safe_divide(sums, count + pseudo), pooled)
        # No squared deviation from the mean of the first function: all values are equal.
        constant = overall.square.reshape(by_function[1:])[0] == 0
        means[:, :, constant] = np.stack(spread(pooled[0]))[:, constant]
        with np.errstate(divide="ignore", invalid="ignore"):
            parameters = solve(*np.moveaxis(means, 1, 0))  # one argument for each function
        return [_made(cpd, columns, target, parameters, smoothing)]

    return LeafFamily(name, summary, {name: cpd}, Moments, estimate, positive=cpd.support[0] == 0)


def from_values(name: str, summary: str, cpd: type[DensityCPD], solve: SolveValues) -> LeafFamily:
    """Return a family whose CPDs are estimated from the values themselves.

    Parameters
    ----------
    cpd : type
        Class of the CPDs.
    solve : callable
        Returns the maximum likelihood parameters of a class, given the distinct values, their
        weights, and a lower bound of the squared scale: `Smoothing.ridge` of the squared scale of
        the column (see `location_and_scale`).
    """

    def estimate(
        children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
    ) -> list[CPD]:
        """Return the CPDs of features given the class; see `LeafFamily`."""
        smoothing.refuse_predictive(cpd.__name__)
        columns = numeric(children)
        # Of each column, the distinct values in each class, and their weights.
        summary = source.summary(Samples(columns, target))
        parameters = np.empty((len(cpd.parameters), target.cardinality, len(columns)))
        alpha = alphas(columns, smoothing)
        for j, (values, weights) in enumerate(zip(summary.values, summary.weights, strict=True)):
            # Of all classes: the distinct values, and the weight of the rows that have each.
            pooled, mass = distinct_values(np.concatenate(values), np.concatenate(weights))
            if not len(pooled):
                pooled, mass = np.zeros(1), np.ones(1)  # never observed: all classes are equal
            share = mass / mass.sum()
            bound = float(smoothing.ridge(np.square(location_and_scale(pooled, share)[1])))
            for k in range(target.cardinality):
                # Pseudo-rows like the whole column, which a class without values needs.
                pseudo = alpha[j] if len(values[k]) else 1.0
                x, w = distinct_values(
                    np.concatenate([values[k], pooled]),
                    np.concatenate([weights[k], pseudo * share]),
                )
                # With alpha=0 pooled values have no weight; `solve` takes values that have some.
                parameters[:, k, j] = solve(x[w > 0], w[w > 0], bound)
        return [_made(cpd, columns, target, list(parameters), smoothing)]

    return LeafFamily(name, summary, {name: cpd}, Samples, estimate, positive=cpd.support[0] == 0)


def location_and_scale(x: Floats, share: Floats) -> tuple[float, float]:
    """Return robust estimates of location and scale: weighted median and absolute deviation.

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
        1.4826 times the weighted median absolute deviation, which for a Gaussian estimates the
        standard deviation. If at least half of the weight is at the median: the root of the mean
        squared distance to the median.
    """
    location = _median(x, share)
    away = np.abs(x - location)
    order = np.argsort(away)
    scale = 1.4826 * _median(away[order], share[order]) or float(np.sqrt(share @ away**2))
    return location, scale


def _median(ascending: Floats, share: Floats) -> float:
    """Return the least value up to which there is half of the weight; weights sum to one."""
    # The index is clipped because rounding may leave the sum of weights below one half.
    return float(ascending[np.searchsorted(np.cumsum(share), 0.5).clip(max=len(ascending) - 1)])


def numeric(children: Sequence[Variable]) -> tuple[Continuous, ...]:
    """Return the features of a family of numbers, of which all are."""
    return tuple(child for child in children if isinstance(child, Continuous))


def alphas(columns: Sequence[Continuous], smoothing: Smoothing) -> Floats:
    """Return the pseudo-count `alpha` of each column: the number of pseudo-rows of each class."""
    return np.array([float(smoothing.pseudo_counts(v, 1).reshape(-1)[0]) for v in columns])


def _made(
    cpd: type[DensityCPD],
    columns: Sequence[Continuous],
    target: Discrete,
    parameters: Sequence[Floats],
    smoothing: Smoothing,
) -> CPD:
    """Return the CPD of estimated parameters; raise a DataError if they are out of range."""
    # Values that are all equal, or nearly so, have no solution: NaN, infinity or a zero.
    wrong = np.zeros((target.cardinality, len(columns)), dtype=bool)
    for values, above in zip(parameters, cpd.parameters.values(), strict=True):
        wrong |= ~(np.isfinite(values) & (values > above))
    if wrong.any():
        column = columns[int(np.flatnonzero(wrong.any(axis=0))[0])]
        if smoothing.var_smoothing > 0 or alphas([column], smoothing)[0] > 0:
            raise DataError(
                f"Column {column.name!r} varies too little, relative to its size, for the "
                f"parameters of {cpd.__name__}; subtract a constant from it, or give it another "
                "distribution, such as 'gaussian'."
            )
        raise DataError(
            f"Column {column.name!r} is constant in some class, or nearly so, and nothing smooths "
            "that; give alpha or var_smoothing a positive value."
        )
    return cpd(columns, *parameters, [target])
