"""The components of mixtures of numbers: k distributions, of one number or of several.

A mixture has weights, and one object that holds its k components. The components of a leaf are the
distributions that its CPD gives in configurations of its parents. Several targets that are
independent given the parents have components that are products, and a mixture of networks joins
those of its networks, whatever their families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.factors.algebra import LOG_2PI, Floats


class Components(Protocol):
    """Protocol of k distributions of n numbers; `cdf`, `sf` and `bounds` are of one number."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the families, each once."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the number is a count."""
        ...

    @property
    def means(self) -> Floats:
        """Means, shape (k, n), NaN where there is none."""
        ...

    @property
    def covariances(self) -> Floats:
        """Covariances, shape (k, n, n), NaN or infinite where there is none."""
        ...

    def log_density(self, points: Floats, /) -> Floats:
        """Return log densities, shape (..., k), at points of shape (..., n).

        That of a count is the log of a probability.
        """
        ...

    def cdf(self, x: Floats, /) -> Floats:
        """Return the probabilities of at most x, shape (..., k), for x of shape (...,)."""
        ...

    def sf(self, x: Floats, /) -> Floats:
        """Return the probabilities of more than x, without cancellation; see `cdf`."""
        ...

    def bounds(self, probability: float, /) -> tuple[float, float]:
        """Return two numbers between which the quantile of every mixture of the components lies."""
        ...

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator, /) -> Floats:
        """Return a draw from each of the chosen components, shape (len(chosen), n)."""
        ...

    def of(self, places: Sequence[int], /) -> Components:
        """Return the distributions of some of the numbers, given by their indices."""
        ...


@dataclass(frozen=True, eq=False)
class GaussianComponents:
    """Gaussian distributions; for the attributes see `Components`."""

    means: Floats
    covariances: Floats
    kinds = ("Gaussian",)
    whole = False

    def log_density(self, points: Floats) -> Floats:
        """Return log densities; see Components."""
        deviation = points[..., None, :] - self.means
        scaled = np.linalg.solve(self.covariances, deviation[..., None])[..., 0]
        _, log_det = np.linalg.slogdet(self.covariances)
        n = self.means.shape[1]
        return np.asarray(-0.5 * (np.sum(deviation * scaled, axis=-1) + log_det + n * LOG_2PI))

    def cdf(self, x: Floats) -> Floats:
        """Return cumulative probabilities; see Components."""
        return np.asarray(scipy.special.ndtr((x[..., None] - self.means[:, 0]) / self._scale))

    def sf(self, x: Floats) -> Floats:
        """Return probabilities of more than x; see Components."""
        return np.asarray(scipy.special.ndtr((self.means[:, 0] - x[..., None]) / self._scale))

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return the smallest and the largest quantile; see Components."""
        found = self.means[:, 0] + self._scale * scipy.special.ndtri(probability)
        return float(found.min()), float(found.max())

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws; see Components."""
        root = np.linalg.cholesky(self.covariances)[chosen]
        noise = random.standard_normal((len(chosen), self.means.shape[1]))
        return np.asarray(self.means[chosen] + np.einsum("kij,kj->ki", root, noise))

    def of(self, places: Sequence[int]) -> GaussianComponents:
        """Return marginal distributions; see Components."""
        at = np.asarray(places)
        return GaussianComponents(self.means[:, at], self.covariances[:, at[:, None], at])

    @property
    def _scale(self) -> Floats:
        return np.sqrt(self.covariances[:, 0, 0])


@dataclass(frozen=True, eq=False)
class ProductComponents:
    """Distributions of numbers of which those of different blocks are independent.

    Attributes
    ----------
    blocks : tuple of (places, Components)
        The indices of the numbers of each block, and their k distributions.
    """

    blocks: tuple[tuple[tuple[int, ...], Components], ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The families of all blocks; see Components."""
        return tuple(dict.fromkeys(kind for _, block in self.blocks for kind in block.kinds))

    @property
    def whole(self) -> bool:
        """Whether all numbers are counts; see Components."""
        return all(block.whole for _, block in self.blocks)

    @property
    def means(self) -> Floats:
        """Means; see Components."""
        found = np.concatenate([block.means for _, block in self.blocks], axis=1)
        return np.asarray(found[:, np.argsort(self._order)])

    @property
    def covariances(self) -> Floats:
        """Covariances, zero between blocks; see Components."""
        k, n = self.means.shape
        found = np.zeros((k, n, n))
        for places, block in self.blocks:
            at = np.asarray(places)
            found[:, at[:, None], at] = block.covariances
        return found

    @property
    def _order(self) -> list[int]:
        return [place for places, _ in self.blocks for place in places]

    def log_density(self, points: Floats) -> Floats:
        """Return the sums of the blocks' log densities; see Components."""
        found = [block.log_density(points[..., list(places)]) for places, block in self.blocks]
        return np.asarray(np.sum(found, axis=0))

    def cdf(self, x: Floats) -> Floats:
        """Return the cumulative probabilities of the only block; see Components."""
        ((_, block),) = self.blocks
        return block.cdf(x)

    def sf(self, x: Floats) -> Floats:
        """Return the probabilities of more than x of the only block; see Components."""
        ((_, block),) = self.blocks
        return block.sf(x)

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return the bounds of the only block; see Components."""
        ((_, block),) = self.blocks
        return block.bounds(probability)

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws; see Components."""
        found = np.concatenate([block.sample(chosen, random) for _, block in self.blocks], axis=1)
        return np.asarray(found[:, np.argsort(self._order)])

    def of(self, places: Sequence[int]) -> Components:
        """Return the distributions of some of the numbers; see Components."""
        found: list[tuple[tuple[int, ...], Components]] = []
        for own, block in self.blocks:
            wanted = [place for place in places if place in own]
            if wanted:
                part = block.of([own.index(place) for place in wanted])
                found.append((tuple(map(list(places).index, wanted)), part))
        return found[0][1] if len(found) == 1 else ProductComponents(tuple(found))


@dataclass(frozen=True, eq=False)
class JoinedComponents:
    """The components of several mixtures of the same numbers, one mixture after the other."""

    parts: tuple[Components, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The families of all parts; see Components."""
        return tuple(dict.fromkeys(kind for part in self.parts for kind in part.kinds))

    @property
    def whole(self) -> bool:
        """Whether the number is a count in all parts; see Components."""
        return all(part.whole for part in self.parts)

    @property
    def means(self) -> Floats:
        """Means; see Components."""
        return np.concatenate([part.means for part in self.parts])

    @property
    def covariances(self) -> Floats:
        """Covariances; see Components."""
        return np.concatenate([part.covariances for part in self.parts])

    def log_density(self, points: Floats) -> Floats:
        """Return log densities; see Components."""
        return np.concatenate([part.log_density(points) for part in self.parts], axis=-1)

    def cdf(self, x: Floats) -> Floats:
        """Return cumulative probabilities; see Components."""
        return np.concatenate([part.cdf(x) for part in self.parts], axis=-1)

    def sf(self, x: Floats) -> Floats:
        """Return probabilities of more than x; see Components."""
        return np.concatenate([part.sf(x) for part in self.parts], axis=-1)

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return the widest bounds of the parts; see Components."""
        low, high = zip(*(part.bounds(probability) for part in self.parts), strict=True)
        return min(low), max(high)

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws; see Components."""
        ends = np.cumsum([len(part.means) for part in self.parts])
        found = np.empty((len(chosen), self.parts[0].means.shape[1]))
        for part, end in zip(self.parts, ends.tolist(), strict=True):
            start = end - len(part.means)
            rows = np.flatnonzero((chosen >= start) & (chosen < end))
            if len(rows):
                found[rows] = part.sample(chosen[rows] - start, random)
        return found

    def of(self, places: Sequence[int]) -> JoinedComponents:
        """Return the distributions of some of the numbers; see Components."""
        return JoinedComponents(tuple(part.of(places) for part in self.parts))


class Leaf(Protocol):
    """Protocol of CPDs of one number whose posterior is a mixture of their distributions."""

    def components(self, cells: Any, /) -> Components:
        """Return the distributions in configurations of the parents.

        `cells` has their indices, shape (k,); the states of the last parent vary fastest.
        """
        ...
