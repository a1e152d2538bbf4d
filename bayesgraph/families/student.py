"""Student's t distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bayesgraph.factors.algebra import Floats
from bayesgraph.families.density import DensityCPD
from bayesgraph.variables import Continuous, Discrete


class StudentCPD(DensityCPD):
    """Children with Student's t distribution given the same discrete parents.

    It is the posterior predictive of a Gaussian whose mean and variance have a normal-inverse-gamma
    distribution (Gelman et al. 2013, section 3.3).

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        n of them.
    location, scale, dof : array_like, shape (*parents' cardinalities, n)
        Scales are in units of the child; scales and degrees of freedom are positive. Without the
        last axis for a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a scale or degrees of freedom that are not
        positive.
    """

    parameters: ClassVar = {"location": -np.inf, "scale": 0.0, "dof": 0.0}
    location: Floats
    scale: Floats
    dof: Floats

    def __init__(
        self,
        children: Continuous | Iterable[Continuous],
        location: ArrayLike,
        scale: ArrayLike,
        dof: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_parameters(children, parents, location=location, scale=scale, dof=dof)

    def _log_density(self, x: Floats, *parameters: Floats) -> Floats:
        location, scale, dof = parameters
        z = ((x - location) / scale) ** 2  # infinitely far away the density is zero
        constant = (
            gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(dof * np.pi) - np.log(scale)
        )
        return np.asarray(constant - 0.5 * (dof + 1) * np.log1p(z / dof))

    def _draw(self, random: np.random.Generator, *parameters: Floats) -> Floats:
        location, scale, dof = parameters
        return location + scale * random.standard_t(dof)

    def _columns(self) -> Mapping[str, Floats]:
        return {"location": self.location, "scale": self.scale, "df": self.dof}
