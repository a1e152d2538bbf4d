"""Plates of other densities: Poisson, negative binomial, log-normal, Student's t, kernels.

They answer for observed children; a child that is not observed leaves the model or is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from bayesgraph.cpds import kernels
from bayesgraph.cpds.plate import Plate
from bayesgraph.errors import CPDError, DataError, quoted
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, Count, Discrete, Variable


class DensityPlate(Plate):
    """Numeric children whose densities have named parameters, one array each.

    Attributes
    ----------
    parameters : dict from name to smallest number that is not allowed
    """

    parameters: ClassVar[dict[str, float]]

    def _set_parameters(
        self,
        children: Iterable[Continuous],
        parents: Iterable[Discrete],
        values: Mapping[str, ArrayLike],
    ) -> None:
        self._set_family(children, parents)
        name = type(self).__name__
        wrong = [c.name for c in self._children if not isinstance(c, Continuous)]
        if wrong:
            raise CPDError(f"{name} takes numeric children; {quoted(wrong)} are not.")
        shape = (*self._lead, len(self._children))
        for key, least in self.parameters.items():
            setattr(self, key, self._parameter(key, values[key], shape, least=least))

    @property
    def n_parameters(self) -> int:
        """All numbers."""
        return sum(int(getattr(self, key).size) for key in self.parameters)

    def _take(self, at: Sequence[int]) -> Self:
        values = {key: getattr(self, key)[..., at] for key in self.parameters}
        family: Any = type(self)  # each takes its parameters by name
        part: Self = family([self._children[i] for i in at], parents=self.parents, **values)
        return part

    def _flat(self, key: str) -> Floats:
        """Return a parameter as an array of shape (cells, n children)."""
        return np.asarray(getattr(self, key).reshape(self.cells, -1))

    def _numbers(self, evidence: Evidence) -> Floats:
        return evidence.matrix(self._children).astype(np.float64, copy=False)

    def _drawn(
        self, key: str, parents: Mapping[Variable, NDArray[Any]], n: int
    ) -> NDArray[np.float64]:
        """Return a parameter of the first child in each row, for sampling."""
        return np.asarray(self._flat(key)[self._cell(parents, n), 0])

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self.scope == other.scope
            and all(np.array_equal(getattr(self, k), getattr(other, k)) for k in self.parameters)
        )

    __hash__ = None


class PoissonPlate(DensityPlate):
    """Counts, each Poisson given the same discrete parents.

    The log probability is ``x log(rate) - rate - log(x!)``, with the gamma function for fractions.

    Parameters
    ----------
    children : iterable of Count
        n of them.
    rate : array_like, shape (*parents' cardinalities, n)
        Positive: events in a row.
    parents : iterable of Discrete
    """

    parameters: ClassVar[dict[str, float]] = {"rate": 0.0}
    rate: Floats

    def __init__(
        self, children: Iterable[Count], rate: ArrayLike, parents: Iterable[Discrete] = ()
    ) -> None:
        self._set_parameters(children, parents, {"rate": rate})

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        _refuse_negative(values, self._children)
        rate = self._flat("rate")
        there = ~np.isnan(values)
        known = np.where(there, values, 0.0)
        out += np.log(rate) @ known.T
        out -= rate @ there.T.astype(np.float64)
        out -= gammaln(known + 1.0).sum(axis=1)

    def sample(
        self, parents: Mapping[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> NDArray[Any]:
        """See CPD."""
        return random.poisson(self._drawn("rate", parents, n)).astype(np.float64)


class NegativeBinomialPlate(DensityPlate):
    """The posterior predictive of Poisson counts whose rate has a gamma distribution.

    With a rate of shape r and ``b`` rows' worth of exposure, the probability of x events is
    ``G(x + r) / (G(r) x!) * (b / (b + 1))^r * (b + 1)^-x`` (Gelman et al. 2013, section 2.6).

    Parameters
    ----------
    children : iterable of Count
    shape, exposure : array_like, shape (*parents' cardinalities, n)
        Positive.
    parents : iterable of Discrete
    """

    parameters: ClassVar[dict[str, float]] = {"shape": 0.0, "exposure": 0.0}
    shape: Floats
    exposure: Floats

    def __init__(
        self,
        children: Iterable[Count],
        shape: ArrayLike,
        exposure: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_parameters(children, parents, {"shape": shape, "exposure": exposure})

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        _refuse_negative(values, self._children)
        there = ~np.isnan(values)
        known = np.where(there, values, 0.0)
        shape, exposure = self._flat("shape"), self._flat("exposure")
        for cell in range(self.cells):
            r, b = shape[cell], exposure[cell]
            logs = (
                gammaln(known + r)
                - gammaln(r)
                - gammaln(known + 1.0)
                + r * (np.log(b) - np.log1p(b))
                - known * np.log1p(b)
            )
            out[cell] += np.where(there, logs, 0.0).sum(axis=1)

    def sample(
        self, parents: Mapping[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> NDArray[Any]:
        """See CPD."""
        rate = random.gamma(self._drawn("shape", parents, n)) / self._drawn("exposure", parents, n)
        return random.poisson(rate).astype(np.float64)


class LogNormalPlate(DensityPlate):
    """Positive children whose logarithms are Gaussian given the same discrete parents.

    Parameters
    ----------
    children : iterable of Continuous
        n of them. A value that is not positive has the density 0.
    mean, variance : array_like, shape (*parents' cardinalities, n)
        Of the natural logarithm; variances are positive.
    parents : iterable of Discrete
    """

    parameters: ClassVar[dict[str, float]] = {"mean": -np.inf, "variance": 0.0}
    mean: Floats
    variance: Floats

    def __init__(
        self,
        children: Iterable[Continuous],
        mean: ArrayLike,
        variance: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_parameters(children, parents, {"mean": mean, "variance": variance})

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        outside = values <= 0
        logs = np.log(np.where(outside, np.nan, values))
        kernels.add_gaussians(out, logs, self._flat("mean"), self._flat("variance"))
        out -= np.where(np.isnan(logs), 0.0, logs).sum(axis=1)
        out[:, outside.any(axis=1)] = -np.inf

    def sample(
        self, parents: Mapping[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> NDArray[Any]:
        """See CPD."""
        scale = np.sqrt(self._drawn("variance", parents, n))
        return np.exp(self._drawn("mean", parents, n) + scale * random.standard_normal(n))


class StudentPlate(DensityPlate):
    """Children with Student's t distribution given the same discrete parents.

    The posterior predictive of a Gaussian whose mean and variance have a normal-inverse-gamma
    distribution (Gelman et al. 2013, section 3.3).

    Parameters
    ----------
    children : iterable of Continuous
        n of them.
    location, scale, dof : array_like, shape (*parents' cardinalities, n)
        Scales are in units of the child; scales and degrees of freedom are positive.
    parents : iterable of Discrete
    """

    parameters: ClassVar[dict[str, float]] = {"location": -np.inf, "scale": 0.0, "dof": 0.0}
    location: Floats
    scale: Floats
    dof: Floats

    def __init__(
        self,
        children: Iterable[Continuous],
        location: ArrayLike,
        scale: ArrayLike,
        dof: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        values = {"location": location, "scale": scale, "dof": dof}
        self._set_parameters(children, parents, values)

    @cached_property
    def _constant(self) -> Floats:
        dof, scale = self._flat("dof"), self._flat("scale")
        return np.asarray(
            gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(dof * np.pi) - np.log(scale)
        )

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        location, scale, dof = (self._flat(key) for key in self.parameters)
        for cell in range(self.cells):
            with np.errstate(over="ignore"):  # infinitely far away: the density is zero
                z = ((values - location[cell]) / scale[cell]) ** 2
            logs = self._constant[cell] - 0.5 * (dof[cell] + 1) * np.log1p(z / dof[cell])
            out[cell] += np.where(np.isnan(values), 0.0, logs).sum(axis=1)

    def sample(
        self, parents: Mapping[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> NDArray[Any]:
        """See CPD."""
        location, scale, dof = (self._drawn(key, parents, n) for key in self.parameters)
        return np.asarray(location + scale * random.standard_t(dof))


class KernelDensityPlate(Plate):
    """Children with Gaussian kernel density estimates given the same discrete parents.

    The density is the mean of Gaussians around the values seen in fitting (Parzen 1962; in naive
    Bayes, John and Langley 1995).

    Parameters
    ----------
    children : iterable of Continuous
        n of them.
    values, weights : array_like, shape (n points,)
        What was seen, of all children and configurations one after the other; positive weights.
    counts : array_like, shape (*parents' cardinalities, n)
        How many points each configuration of each child has: child by child, configurations within
        a child. At least one each.
    bandwidth : array_like, shape (*parents' cardinalities, n)
        Standard deviations of the kernels, positive.
    parents : iterable of Discrete
    """

    def __init__(
        self,
        children: Iterable[Continuous],
        values: ArrayLike,
        weights: ArrayLike,
        counts: ArrayLike,
        bandwidth: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_family(children, parents)
        wrong = [c.name for c in self._children if not isinstance(c, Continuous)]
        if wrong:
            raise CPDError(f"KernelDensityPlate takes numeric children; {quoted(wrong)} are not.")
        shape = (*self._lead, len(self._children))
        self.bandwidth = self._parameter("bandwidth", bandwidth, shape, least=0.0)
        self.counts = self._parameter("counts", counts, shape, least=0.0)
        total = (int(self.counts.sum()),)
        self.values = self._parameter("values", values, total)
        self.weights = self._parameter("weights", weights, total, least=0.0)
        self._stops: NDArray[np.int64] = np.concatenate(
            [[0], np.cumsum(self.counts.reshape(self.cells, -1).T.reshape(-1))]
        ).astype(np.int64)

    @property
    def n_parameters(self) -> int:
        """Points and bandwidths."""
        return int(self.values.size + self.bandwidth.size)

    def _take(self, at: Sequence[int]) -> Self:
        parts = [slice(self._stops[i * self.cells], self._stops[(i + 1) * self.cells]) for i in at]
        return type(self)(
            [self._children[i] for i in at],  # type: ignore[misc]
            np.concatenate([self.values[part] for part in parts]),
            np.concatenate([self.weights[part] for part in parts]),
            self.counts[..., at],
            self.bandwidth[..., at],
            self.parents,
        )

    def _add(self, evidence: Evidence, out: Floats) -> None:
        kernels.add_kernel_densities(
            out,
            evidence.matrix(self._children).astype(np.float64, copy=False),
            self.values,
            self.weights,
            self._stops,
            self.bandwidth.reshape(self.cells, -1),
        )

    def sample(
        self, parents: Mapping[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> NDArray[Any]:
        """See CPD."""
        cell = self._cell(parents, n)
        drawn = np.empty(n)
        for c in np.unique(cell).tolist():
            rows = np.flatnonzero(cell == c)
            part = slice(self._stops[c], self._stops[c + 1])
            share = self.weights[part] / self.weights[part].sum()
            drawn[rows] = random.choice(self.values[part], len(rows), p=share)
        width = self.bandwidth.reshape(self.cells, -1)[cell, 0]
        return np.asarray(drawn + width * random.standard_normal(n))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KernelDensityPlate)
            and self.scope == other.scope
            and all(
                np.array_equal(getattr(self, key), getattr(other, key))
                for key in ("values", "weights", "counts", "bandwidth")
            )
        )

    __hash__ = None


def _refuse_negative(values: Floats, children: Sequence[Variable]) -> None:
    """Raise a DataError for counts below zero, which no distribution of counts has."""
    wrong = (values < 0).any(axis=0)
    if wrong.any():
        name = children[int(np.flatnonzero(wrong)[0])].name
        raise DataError(f"Column {name!r} holds counts, 0 or more; some are negative.")
