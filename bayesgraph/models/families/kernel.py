"""Gaussian kernel density estimates of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_integral, log_normal_mass, ndtr
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.base import CPD, Columns, Description, describe_numbers
from bayesgraph.models.cpds.density import CellComponents, Plate
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import CountSource, Samples, Smoothing, distinct_values


class KernelDensityCPD(Plate):
    """Children with Gaussian kernel density estimates given the same discrete parents.

    The density is the weighted mean of Gaussians around the values seen in fitting (Parzen 1962; in
    naive Bayes, John and Langley 1995).

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children.
    values, weights : array_like, shape (n points,)
        The points, which are values seen in fitting, and their positive weights: all configurations
        of the first child, then of the second, and so on.
    counts : array_like, shape (*parents' cardinalities, n)
        Number of points of each configuration and child, at least one.
    bandwidth : array_like, shape (*parents' cardinalities, n)
        Standard deviations of the kernels, positive. If `children` is a single variable, the last
        axis of `bandwidth` and `counts` is omitted.
    parents : iterable of Discrete
    """

    arrays = ("counts", "bandwidth")
    other_arrays = ("values", "weights")

    _takes_one = True

    def __init__(
        self,
        children: Continuous | Iterable[Continuous],
        values: ArrayLike,
        weights: ArrayLike,
        counts: ArrayLike,
        bandwidth: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_family(children, parents)
        shape = (*self._lead, len(self._children))
        self.bandwidth = self._parameter("bandwidth", bandwidth, shape, above=0.0, by_child=True)
        self.counts = self._parameter("counts", counts, shape, above=0.0, by_child=True)
        total = (int(self.counts.sum()),)
        points = self._parameter("values", values, total)
        heavy = self._parameter("weights", weights, total, above=0.0)
        lengths = self.counts.reshape(self.cells, -1).T.reshape(-1)
        self._stops: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Kernels take the points of each density in ascending order.
        density = np.repeat(np.arange(len(self._stops) - 1), np.diff(self._stops))
        order = np.lexsort((points, density))
        self.values, self.weights = points[order], heavy[order]
        self.values.flags.writeable = self.weights.flags.writeable = False

    @property
    def n_parameters(self) -> int:
        """The number of points and bandwidths."""
        return int(self.values.size + self.bandwidth.size)

    def _take(self, at: Sequence[int]) -> Self:
        return self._of(at, self.parents, self._cells_of_parents)

    def _of_cells(self, parents: Sequence[Variable], cells: NDArray[np.intp]) -> Self:
        return self._of(range(len(self._children)), parents, cells)

    def _of(self, at: Sequence[int], parents: Sequence[Any], cells: NDArray[np.intp]) -> Self:
        """Return the plate of some children with other parents; see `CPD._of_cells`."""
        densities = (np.array(at)[:, None] * self.cells + cells.reshape(-1)).reshape(-1)
        points = np.concatenate([np.arange(*self._stops[d : d + 2]) for d in densities.tolist()])
        lengths, widths = (a.reshape(self.cells, -1) for a in (self.counts, self.bandwidth))
        return type(self)(
            [self._children[i] for i in at],  # type: ignore[misc]
            self.values[points],
            self.weights[points],
            lengths[cells][..., at],
            widths[cells][..., at],
            parents,
        )

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a printable table of the kernel counts and bandwidths; see `CPD.describe`."""
        columns = {"kernels": self.counts, "bandwidth": self.bandwidth}
        return describe_numbers(self.parents, self._children, columns, max_rows)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values, bandwidth = self._numbers(evidence), self.bandwidth.reshape(self.cells, -1)
        arrays = (out, values, self.values, self.weights, self._stops, bandwidth)
        by_rows(row_kernels.add_kernel_densities, arrays, len(values), 16 * len(self.values))

    def components(self, cells: NDArray[np.intp]) -> CellComponents:
        """Return the distributions in configurations of the parents; see `LeafCPD`."""
        return CellComponents(self, cells)

    def _kernels(self, cell: int) -> tuple[Floats, Floats, float]:
        """Return points, weights that sum to one, and bandwidth of the first child in a cell."""
        part = slice(self._stops[cell], self._stops[cell + 1])
        weights = self.weights[part]
        width = self.bandwidth.reshape(self.cells, -1)[cell, 0]
        return self.values[part], weights / weights.sum(), float(width)

    def cell_cdf(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """Return cumulative probabilities in configurations of the parents; see `DensityCPD`."""
        return self._tails(x, cells, 1.0)

    def cell_sf(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """Return probabilities of more than x in configurations; see `DensityCPD`."""
        return self._tails(x, cells, -1.0)

    def _tails(self, x: Floats, cells: NDArray[np.intp], sign: float) -> Floats:
        """Return probabilities below x for the sign 1, above x for -1, shape (m, k)."""
        distinct, places = np.unique(cells, return_inverse=True)
        found = np.empty((len(x), len(distinct)))
        for k, cell in enumerate(distinct.tolist()):
            values, weights, width = self._kernels(cell)
            # Blocks of rows bound the memory.
            for rows in np.array_split(np.arange(len(x)), 1 + len(x) * len(values) // 10**7):
                found[rows, k] = ndtr(sign * (x[rows, None] - values) / width) @ weights
        return found[:, places]

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) in each configuration; see `CPD`."""
        found = np.empty((len(low), self.cells))
        for cell in range(self.cells):
            values, weights, width = self._kernels(cell)
            for i, (a, b) in enumerate(zip(low, high, strict=True)):
                logs = log_normal_mass(a, b, values, np.array(width))
                found[i, cell] = log_integral(logs, weights)
        return found

    def cell_moments(self, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return means and variances in configurations of the parents; see `DensityCPD`."""
        distinct, places = np.unique(cells, return_inverse=True)
        found = np.empty((2, len(distinct)))
        for k, cell in enumerate(distinct.tolist()):
            values, weights, width = self._kernels(cell)
            mean = weights @ values
            found[:, k] = mean, weights @ (values - mean) ** 2 + width**2
        mean, variance = found[:, places]
        return mean, variance

    def cell_quantiles(self, probability: float, cells: NDArray[np.intp]) -> None:
        """Return None: the quantile of a kernel density has no formula; see `DensityCPD`."""

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n random numbers: points drawn by their weights, plus Gaussian noise."""
        cell = self._cell(parents, n)
        drawn = np.empty(n)
        for c in np.unique(cell).tolist():
            rows = np.flatnonzero(cell == c)
            values, share, _ = self._kernels(c)
            drawn[rows] = random.choice(values, len(rows), p=share)
        width = self.bandwidth.reshape(self.cells, -1)[cell, 0]
        return np.asarray(drawn + width * random.standard_normal(n))


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return kernel density CPDs; a class without values has the values of all classes."""
    columns = tuple(child for child in children if isinstance(child, Continuous))
    summary = source.summary(Samples(columns, target))
    points, weights = [], []
    shape = (target.cardinality, len(columns))
    counts, bandwidth = np.empty(shape), np.empty(shape)
    for j, (values, heavy) in enumerate(zip(summary.values, summary.weights, strict=True)):
        everything = distinct_values(np.concatenate(values), np.concatenate(heavy))
        if not len(everything[0]):
            everything = np.zeros(1), np.ones(1)  # never observed: all classes are equal
        fallback = _bandwidth(*everything, smoothing, 0.0) or 1.0
        for k in range(target.cardinality):
            x, w = (values[k], heavy[k]) if len(values[k]) else everything
            points.append(x)
            weights.append(w)
            counts[k, j] = len(x)
            bandwidth[k, j] = _bandwidth(x, w, smoothing, fallback)
    return [
        KernelDensityCPD(
            columns, np.concatenate(points), np.concatenate(weights), counts, bandwidth, [target]
        )
    ]


def _bandwidth(values: Floats, weights: Floats, smoothing: Smoothing, fallback: float) -> float:
    """Return the bandwidth of a kernel density estimate, by default from a rule of thumb.

    Parameters
    ----------
    values, weights : ndarray
        Ascending distinct values; a value of weight w stands for w rows.
    smoothing : Smoothing
        Its `bandwidth` is a number, which is returned, or names Silverman's or Scott's rule.
    fallback : float
        The bandwidth if a rule is used and all values are equal.
    """
    if not isinstance(smoothing.bandwidth, str):
        return float(smoothing.bandwidth)
    total = weights.sum()
    if not total > 0:
        return fallback
    # Differences from the first value, so that the spread of equal values is exactly zero.
    away = values - values[0]
    spread = float(np.sqrt(weights @ (away - weights @ away / total) ** 2 / total))
    factor = 1.06
    if smoothing.bandwidth == "silverman":
        factor = 0.9
        places = (np.cumsum(weights) - 0.5 * weights) / total
        quartiles = np.interp([0.25, 0.75], places, values)
        range_ = float(quartiles[1] - quartiles[0]) / 1.34
        spread = min(spread, range_) if range_ > 0 else spread
    return float(factor * spread * total**-0.2) or fallback


KERNEL = LeafFamily(
    "kernel",
    "a kernel density estimate",
    variable=Continuous,
    statistics=Samples,
    estimate=_estimate,
    stored={"kernel": KernelDensityCPD},
    own_smoothing=("bandwidth",),
)
