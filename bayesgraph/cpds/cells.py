"""The distributions of one number in single configurations (cells) of its parents.

They are the components of the mixture that is the posterior of a leaf; see
`bayesgraph.inference.components`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds.base import CPD, Columns
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Count


@runtime_checkable
class LeafCPD(Protocol):
    """Protocol of CPDs whose distributions are the components of a leaf's posterior.

    They are neither tables nor Gaussian, and their parents are discrete.
    """

    def components(self, cells: Any, /) -> Any:
        """Return the distributions in configurations of the parents.

        `cells` has their indices, shape (k,); the states of the last parent vary fastest.
        """
        ...


class NumberCPD(Protocol):
    """Protocol of CPDs of one number, of which `CellComponents` are made."""

    def cell_cdf(self, x: Floats, cells: NDArray[np.intp], /) -> Floats:
        """Return P(child <= x), shape (m, k), for x of shape (m,) and k configurations."""
        ...

    def cell_sf(self, x: Floats, cells: NDArray[np.intp], /) -> Floats:
        """Return P(child > x), shape (m, k), without cancellation."""
        ...

    def cell_moments(self, cells: NDArray[np.intp], /) -> tuple[Floats, Floats]:
        """Return means and variances in k configurations, shape (k,) each."""
        ...

    def cell_quantiles(self, probability: float, cells: NDArray[np.intp], /) -> Floats | None:
        """Return the quantiles in k configurations; None if the family has no formula."""
        ...


@dataclass(frozen=True, eq=False)
class CellComponents:
    """The distributions of the only child of a CPD in k configurations of its parents.

    It implements the protocol `bayesgraph.inference.components.Components`.

    Attributes
    ----------
    cpd : CPD
        It fits the protocol `NumberCPD`.
    cells : ndarray of int, shape (k,)
        The configurations.
    """

    cpd: Any
    cells: NDArray[np.intp]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The name of the family."""
        return (type(self.cpd).__name__.removesuffix("CPD"),)

    @property
    def whole(self) -> bool:
        """Whether the child is a count."""
        return isinstance(self.cpd.variable, Count)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        found: tuple[Floats, Floats] = self.cpd.cell_moments(self.cells)
        return found

    @property
    def means(self) -> Floats:
        """Means, shape (k, 1)."""
        return self._moments[0][:, None]

    @property
    def covariances(self) -> Floats:
        """Variances, shape (k, 1, 1)."""
        return self._moments[1][:, None, None]

    def log_density(self, points: Floats) -> Floats:
        """Return log densities, or log probabilities of counts; see Components."""
        x = np.asarray(points[..., 0], dtype=np.float64)
        flat = x.reshape(-1)
        impossible = (flat < 0) | (flat != np.floor(flat)) if self.whole else np.isinf(flat)
        impossible &= ~np.isnan(flat)
        cpd: CPD = self.cpd
        column = np.where(impossible, 0.0, flat)
        potential = cpd.potential(Evidence(len(flat), {cpd.variable: column}))
        assert isinstance(potential, Factor)  # the parents are discrete
        logs = potential.log_values.reshape(len(potential.log_values), -1)[:, self.cells]
        logs = np.where(impossible[:, None], -np.inf, logs)
        return np.where(np.isnan(flat)[:, None], np.nan, logs).reshape(*x.shape, -1)

    def cdf(self, x: Floats) -> Floats:
        """Return cumulative probabilities; see Components."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1)
        found: Floats = self.cpd.cell_cdf(flat, self.cells)
        return found.reshape(*np.shape(x), -1)

    def sf(self, x: Floats) -> Floats:
        """Return probabilities of more than x; see Components."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1)
        found: Floats = self.cpd.cell_sf(flat, self.cells)
        return found.reshape(*np.shape(x), -1)

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return bounds of quantiles: those of the components, or by Cantelli's inequality."""
        quantiles = self.cpd.cell_quantiles(probability, self.cells)
        if quantiles is not None:
            return float(quantiles.min()), float(quantiles.max())
        mean, variance = self._moments
        sd = np.sqrt(variance)
        below = mean - sd * math.sqrt((1.0 - probability) / probability)
        above = mean + sd * math.sqrt(probability / (1.0 - probability))
        return float(below.min()), float(above.max())

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws, shape (len(chosen), 1); see Components."""
        cells = self.cells[chosen]
        cpd: CPD = self.cpd
        return np.asarray(cpd.sample(parent_states(cpd, cells), len(cells), random))[:, None]

    def of(self, places: Any) -> CellComponents:
        """Return the same distributions, which are of one number; see Components."""
        return self


def parent_states(cpd: CPD, cells: NDArray[np.intp]) -> Columns:
    """Return the states of a CPD's parents in configurations given by their indices."""
    parents = cpd.discrete_parents
    codes = np.unravel_index(cells, [p.cardinality for p in parents]) if parents else ()
    return dict(zip(parents, codes, strict=True))
