"""Estimates of Gaussian distributions, and of Student's t as their posterior predictive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import GaussianPlate
from bayesgraph.models.cpds.linear_gaussian import GaussianCPD
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.models.families.student import StudentCPD
from bayesgraph.statistics import (
    CountSource,
    GroupMoments,
    ParameterPosterior,
    Singles,
    safe_divide,
)

if TYPE_CHECKING:
    from bayesgraph.statistics import Smoothing


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return Gaussian CPDs, or Student's t CPDs as their posterior predictive."""
    columns = tuple(child for child in children if isinstance(child, Continuous))
    summary = source.singles(Singles(columns, target))
    place = [summary.at.place[child] for child in columns]
    moments, overall = (
        GroupMoments(*(a[:, place] for a in (m.count, m.mean, m.square)))
        for m in (summary.moments, summary.overall)
    )
    return from_moments(columns, target, moments, overall, smoothing)


def from_moments(
    columns: tuple[Continuous, ...],
    target: Discrete,
    moments: GroupMoments,
    overall: GroupMoments,
    smoothing: Smoothing,
) -> list[CPD]:
    """Return Gaussian CPDs, or Student's t CPDs for the estimation "predictive".

    Parameters
    ----------
    columns : tuple of Continuous
    target : Discrete
        The class variable, the only parent.
    moments : GroupMoments
        Moments of the columns in each class. A class without rows gets the overall mean.
    overall : GroupMoments
        Moments over all rows.
    smoothing : Smoothing
    """
    mean = np.where(moments.count > 0, moments.mean, overall.mean)
    ridge = smoothing.ridge(safe_divide(overall.square, overall.count)[0])
    towards = smoothing.pooled(moments.count, moments.square)
    if smoothing.estimation == "predictive":
        # A constant column must not affect the posterior, so all classes get the same row count.
        constant = overall.square == 0
        moments = replace(moments, count=np.where(constant, overall.count, moments.count))
        return [_student(columns, target, moments, mean, ridge, towards, smoothing)]
    variance = smoothing.covariance(moments.count, moments.square, towards) + ridge
    _check_variance(columns, variance)
    plate = GaussianPlate(columns, mean, variance, [target])
    if smoothing.has_posterior:
        strength = smoothing.degrees_of_freedom(moments.count)
        plate.parameter_posterior = ParameterPosterior.of_plate(moments.count, strength)
    return [plate]


def _student(
    columns: tuple[Continuous, ...],
    target: Discrete,
    moments: GroupMoments,
    mean: Floats,
    ridge: Floats,
    towards: Floats,
    smoothing: Smoothing,
) -> CPD:
    """Return Student's t CPDs: the posterior predictive of Gaussians with unknown parameters.

    Under the prior p(mean, variance) ~ 1 / variance, n rows of a class with the mean m and the
    variance s^2 give a t distribution around m with n - 1 degrees of freedom and the squared scale
    s^2 (1 + 1/n) (Gelman et al. 2013, section 3.2). Shrinkage adds its equivalent sample size to
    the degrees of freedom, and the variance `towards` with that weight to the average s^2. The
    variance `ridge` is added to the squared scale.
    """
    n = moments.count
    dof = np.where(n > 0, n - 1.0, 0.0) + smoothing.rows
    if not (dof > 0).all():
        short = columns[int(np.argwhere(~(dof > 0))[0][1])].name
        raise DataError(
            f"estimation='predictive' takes two rows in every class, or a positive shrinkage; "
            f"column {short!r} has fewer in one."
        )
    squared = safe_divide(moments.square + smoothing.rows * towards, dof)
    variance = np.where(n > 0, squared, towards) * (1.0 + 1.0 / np.maximum(n, 1.0)) + ridge
    _check_variance(columns, variance)
    return StudentCPD(columns, mean, np.sqrt(variance), dof, [target])


def _check_variance(columns: tuple[Continuous, ...], variance: Floats) -> None:
    if not (variance > 0).all():
        name = columns[int(np.argwhere(~(variance > 0))[0][1])].name
        raise DataError(
            f"Column {name!r} is constant in some class, and nothing smooths its variance of zero; "
            "give var_smoothing or shrinkage a positive value."
        )


GAUSSIAN = LeafFamily(
    "gaussian",
    "the default of numeric columns",
    variable=Continuous,
    is_default=True,
    statistics=Singles,
    estimate=_estimate,
    stored={
        "gaussian": GaussianCPD,
        "gaussians": GaussianPlate,
    },
    any_parents=True,
)
