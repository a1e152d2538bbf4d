"""Tests of independence from the statistics of a family of columns, without its rows.

They are those of `independence_test`, for two single columns: see `conditional_tests`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import Family, FamilyStatistics
from bayesgraph.variables import Discrete, Variable


class Found(NamedTuple):
    """The p-value of a test, and the conditional mutual information in nats a row."""

    p_value: float
    information: float


def partial_correlation(statistics: FamilyStatistics, ridge: Floats) -> Found:
    """Return the t-test of the partial correlation of the first two of some continuous columns.

    Parameters
    ----------
    statistics : FamilyStatistics
        Of continuous columns: x, y, and those that are given.
    ridge : ndarray, shape (n,)
        Added to the variances: what a column has left below it is rounding error.
    """
    total, n = float(statistics.counts), statistics.comoment.shape[-1]
    degrees = math.floor(total) - n
    if degrees < 1:
        return Found(1.0, 0.0)
    covariance = statistics.comoment / total + np.diag(ridge)
    deviation = np.sqrt(covariance.diagonal())
    precision = np.linalg.inv(covariance / deviation[:, None] / deviation)
    r = -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])
    r = min(1.0 - 1e-15, max(-1.0 + 1e-15, float(r)))
    t = abs(r) * math.sqrt(degrees / (1.0 - r * r))
    return Found(2.0 * float(scipy.special.stdtr(degrees, -t)), -0.5 * math.log1p(-r * r))


def conditional_gaussian(
    family: Family,
    statistics: FamilyStatistics,
    x: Variable,
    y: Variable,
    ridge: Floats,
) -> Found:
    """Return the likelihood ratio test of x and y given the other columns of a family.

    Combinations of states with too few rows for a covariance are left out, as in
    `independence_test`.

    Parameters
    ----------
    family : Family
    statistics : FamilyStatistics
    x, y : Variable
        Two columns of the family.
    ridge : ndarray, shape (number of continuous columns,)
        Added to the variances.
    """
    kept = statistics.counts > len(family.continuous) + 1
    statistics = FamilyStatistics(
        np.where(kept, statistics.counts, 0.0),
        statistics.mean,
        np.where(kept[..., None, None], statistics.comoment, 0.0),
    )
    whole: tuple[Variable, ...] = (*family.discrete, *family.continuous)
    given = [v for v in whole if v not in (x, y)]
    ratio, degrees = 0.0, _table_degrees(family.discrete, statistics.counts, x, y)
    for sign, variables in ((1, [x, y, *given]), (1, given), (-1, [x, *given]), (-1, [y, *given])):
        likelihood, parameters = _likelihood(family, statistics, variables, ridge)
        ratio += sign * likelihood
        degrees += sign * parameters
    rows = float(statistics.counts.sum())
    if degrees < 1 or rows <= 0:
        return Found(1.0, 0.0)
    p_value = float(scipy.special.chdtrc(degrees, max(2.0 * ratio, 0.0)))
    return Found(p_value, max(ratio, 0.0) / rows)


def _likelihood(
    family: Family, statistics: FamilyStatistics, kept: Collection[Variable], ridge: Floats
) -> tuple[float, int]:
    """Return the maximised log likelihood of some columns of a family, and parameters of Gaussians.

    Constants that cancel in the ratio are left out.
    """
    for axis in range(len(family.discrete) - 1, -1, -1):
        if family.discrete[axis] not in kept:
            statistics = statistics.merged(axis)
    counts = statistics.counts.reshape(-1)
    there = counts > 0
    counts = counts[there]
    likelihood = float(np.sum(counts * np.log(counts)))
    at = [i for i, v in enumerate(family.continuous) if v in kept]
    d = len(at)
    if d:
        comoment = statistics.comoment.reshape(-1, *statistics.comoment.shape[-2:])[there]
        covariance = comoment[:, at][:, :, at] / counts[:, None, None] + np.diag(ridge[at])
        likelihood -= 0.5 * float(np.sum(counts * np.linalg.slogdet(covariance)[1]))
    return likelihood, len(counts) * (d + d * (d + 1) // 2)


def _table_degrees(axes: Sequence[Discrete], counts: Floats, x: Variable, y: Variable) -> int:
    """Return the degrees of freedom of the tables of x and y, from the states that occur."""
    if not (isinstance(x, Discrete) and isinstance(y, Discrete)):
        return 0
    tables = np.moveaxis(counts, (axes.index(x), axes.index(y)), (-2, -1))
    tables = tables.reshape(-1, x.cardinality, y.cardinality)
    rows, columns = ((tables.sum(axis=axis) > 0).sum(axis=1) for axis in (2, 1))
    return int(np.sum(np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)))
