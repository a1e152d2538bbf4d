"""Densities of numbers as they were seen in fitting: histograms and kernel densities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_integral, log_normal_mass, log_of, ndtr
from bayesgraph.core.errors import CPDError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import Binned, Continuous, Discrete, Variable
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds import base
from bayesgraph.models.cpds.base import CPD, Description, describe_numbers
from bayesgraph.models.cpds.density import NumbersPlate
from bayesgraph.models.families.leaf_family import LeafFamily, numeric
from bayesgraph.statistics import CountSource, Samples, Smoothing, distinct_values

# --------------------- Histograms: piecewise constant densities with heavy tails outside the edges


# Shape parameter of the tails: the smallest integer for which their variance is finite.
_SHAPE = 3.0


class HistogramCPD(NumbersPlate):
    """A piecewise constant density, for each configuration of discrete parents.

    Between two edges the density is constant. Outside them it falls off as that of a Lomax
    distribution (Lomax 1954) with shape 3 and the range of the edges as its scale:
    ``3 / s * (1 + d / s)**-4`` at a distance d beyond the outermost edge. With tails so heavy, even
    an extreme value has a log density of only some thousands below zero, so that adding it to other
    log densities loses few digits.

    Parameters
    ----------
    variable : Continuous
        The child.
    edges : array_like, shape (n_cells + 1,)
        Edges of the n_cells bins, increasing; a value on an edge belongs to the bin below it.
    values : array_like, shape (*parents' cardinalities, n_cells + 2)
        Probabilities of the tail below the first edge, of each bin between two edges, and of the
        tail above the last edge.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For a discrete child, a continuous parent, edges that do not increase, a wrong shape, or
        probabilities that do not sum to one (within 1e-6).

    Examples
    --------
    >>> HistogramCPD(Continuous("age"), [0.0, 30.0, 60.0, 120.0], [0, 0.5, 0.3, 0.2, 0])
    HistogramCPD p(age)
      (-inf, 0]  (0, 30]  (30, 60]  (60, 120]  (120, inf)
      0.000        0.500     0.300      0.200       0.000
    """

    arrays = ("values",)
    other_arrays = ("edges",)

    def __init__(
        self,
        variable: Continuous,
        edges: ArrayLike,
        values: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_family(variable, parents)
        what = self.title
        array = base.checked_numbers(edges, (np.size(edges),), what=f"{what}: edges")
        with np.errstate(over="ignore"):  # widths that overflow are refused below
            widths = np.diff(array)
        if len(array) < 2 or not ((widths > 0).all() and np.isfinite(widths.sum())):
            raise CPDError(
                f"{what}: edges takes two numbers or more, finite numbers that increase; got "
                f"{array!r:.200}."
            )
        self.edges = array
        cells = Discrete(("cells of", self.variable.name), range(len(self.edges) + 1))
        self.values = base.checked_shares(values, (*self.parents, cells), what=what)
        # Log densities of bins, and of tails at the outermost edges, with the shape of `values`. A
        # tail's density there is its probability times shape / range.
        self._range = float(array[-1] - array[0])
        scale = np.concatenate([[self._range / _SHAPE], widths, [self._range / _SHAPE]])
        self._log_density = log_of(self.values) - log_of(scale)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities of bins and tails; edges are not counted."""
        return int(self.values[..., :-1].size)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows); see `Plate`."""
        x = np.ascontiguousarray(self._numbers(evidence)[:, 0])
        for logs, density in zip(out, self._log_density.reshape(self.cells, -1), strict=True):
            # The density of a Lomax tail has a power one above that of its probability.
            row_kernels.add_histogram(logs, x, self.edges, density, _SHAPE + 1.0)

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(child <= x) for each parent configuration, shape (*cardinalities, *x.shape)."""
        points = np.asarray(x, dtype=np.float64)
        inside = np.clip(points, self.edges[0], self.edges[-1])
        # The bin of each point is between the edges at - 1 and at; `values` has a tail first, so
        # that it is entry `at` there.
        at = np.clip(np.searchsorted(self.edges, inside, side="left"), 1, len(self.edges) - 1)
        share = (inside - self.edges[at - 1]) / (self.edges[at] - self.edges[at - 1])
        # The function is linear within a bin, and that of a Lomax tail beyond the edges.
        below = np.cumsum(self.values, axis=-1)
        within = below[..., at - 1] + share * self.values[..., at]
        beyond = (1.0 + np.abs(points - inside) / self._range) ** -_SHAPE
        # The parents' axes come first, then those of the points, on which tails have length 1.
        lead = (Ellipsis, *[None] * points.ndim)
        left, right = self.values[..., 0][lead], self.values[..., -1][lead]
        result = np.where(points < self.edges[0], left * beyond, within)
        return np.where(points > self.edges[-1], 1.0 - right * beyond, result)

    def cell_tail(self, x: Floats, side: float, cells: NDArray[np.intp]) -> Floats:
        """Return probabilities of at most, or more than, x in configurations; see `DensityCPD`."""
        if side > 0:
            return np.asarray(self.cdf(x).reshape(-1, len(x))[cells].T)
        return np.asarray(np.exp(self.log_interval(x, np.full(len(x), np.inf))[:, cells]))

    def cell_moments(self, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return means and variances in configurations of the parents; see `DensityCPD`.

        The tails have the mean distance s / 2 from the outermost edges, and the mean square s^2,
        where s is the range of the edges.
        """
        shares = self.values.reshape(self.cells, -1)[cells]
        # Moments about the middle lose no digits, and are those of mirrored tails: with the end e
        # the mean square of a tail is e^2 + 2 e s / 2 + s^2.
        middle = (self.edges[0] + self.edges[-1]) / 2
        ends, s = self.edges - middle, self._range
        left, right = ends[:-1], ends[1:]
        first = np.concatenate([[ends[0] - s / 2], (left + right) / 2, [ends[-1] + s / 2]])
        inside = (left**2 + left * right + right**2) / 3
        tail = ends[-1] ** 2 + ends[-1] * s + s**2
        second = np.concatenate([[tail], inside, [tail]])
        mean = shares @ first
        return middle + mean, shares @ second - mean**2

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) in each configuration; see `CPD`."""
        first, last = self.edges[0], self.edges[-1]
        low, high = low[:, None], high[:, None]
        # Lengths of the part of each bin in each interval, shape (m, n_cells); negative if none.
        inside = np.minimum(high, self.edges[1:]) - np.maximum(low, self.edges[:-1])
        # The distances in the lower and the upper tail (two columns) at which the interval begins
        # and ends; equal if it has no part of the tail.
        near = np.maximum(np.hstack([first - high, low - last]), 0.0)
        far = np.maximum(np.hstack([first - low, high - last]), near)
        # Shares of the tails: (1 + near/s)^-3 - (1 + far/s)^-3, without cancellation.
        tails = -((1.0 + near / self._range) ** -_SHAPE) * np.expm1(
            -_SHAPE * np.log1p((far - near) / (self._range + near))
        )
        bins = np.maximum(inside, 0.0) / np.diff(self.edges)
        shares = np.hstack([tails[:, :1], bins, tails[:, 1:]])
        return log_of(shares @ self.values.reshape(self.cells, -1).T)

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return draws of the child; see `Plate`."""
        shares = self.values.reshape(self.cells, -1)
        bins = base.draw_states(shares, cells, random)
        u = random.random(len(cells))
        # Bins are uniform. A tail starts at its edge and has no width, but reaches beyond.
        starts = np.concatenate([self.edges[:1], self.edges[:-1], self.edges[-1:]])
        widths = np.concatenate([[0.0], np.diff(self.edges), [0.0]])
        # The direction of the lower and of the upper tail; bins have none.
        sides = np.zeros(len(widths))
        sides[0], sides[-1] = -1.0, 1.0
        # 1 - u lies in (0, 1]: the inverse of the tail's distribution function stays finite.
        reach = self._range * ((1.0 - u) ** (-1.0 / _SHAPE) - 1.0)
        return np.asarray(starts[bins] + u * widths[bins] + sides[bins] * reach)

    def describe(self, max_rows: int, max_columns: int) -> base.Description:
        """Return a table with a column for each bin and each tail; see CPD."""
        cells = Binned(self.variable.name, self.edges.tolist())
        return base.describe_table(self.parents, cells, self.values, max_rows, max_columns)


def quantile_edges(
    values: Floats, weights: Floats, cuts: Sequence[float] | Floats, max_cells: int
) -> Floats:
    """Return the edges of a histogram: weighted quantiles of values, and given cut points.

    Quantiles lie half-way between neighbouring values, so that no value lies on an inner edge. The
    outermost edges are the smallest and the largest value.

    Parameters
    ----------
    values : ndarray, shape (n,)
        At least one value; no value is missing.
    weights : ndarray, shape (n,)
    cuts : array_like of float
        Additional edges, such as the thresholds of a tree.
    max_cells : int
        Maximum number of bins before `cuts` are added.
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    low, high = float(distinct[0]), float(distinct[-1])
    ends = [low, high]
    if len(distinct) == 1:
        # The range must not be zero.
        margin = 1e-3 * abs(low) or 1.0
        ends = [low - margin, high + margin]
    # The weight up to each value but the last, and that up to each of the quantiles. An edge is
    # placed behind the first value up to which there is the weight of a quantile.
    below = np.cumsum(np.bincount(inverse, weights))[:-1]
    wanted = np.arange(1, max_cells) / max_cells * float(weights.sum())
    at = np.unique(np.searchsorted(below, wanted, side="left"))
    at = at[at < len(below)]
    middle = distinct[at] + (distinct[at + 1] - distinct[at]) / 2 if len(at) else np.empty(0)
    return np.unique(np.concatenate([ends, middle, np.asarray(cuts, dtype=np.float64)]))


# --------------------------------------------------------------- Gaussian kernel density estimates


class KernelDensityCPD(NumbersPlate):
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
        shape = (*self._lead, len(self.children))
        self.bandwidth = self._parameter("bandwidth", bandwidth, shape, above=0.0, by_child=True)
        self.counts = self._parameter("counts", counts, shape, above=0.0, by_child=True)
        total = (int(self.counts.sum()),)
        points = self._parameter("values", values, total)
        mass = self._parameter("weights", weights, total, above=0.0)
        # The number of points of each density: all cells of the first child, then of the second.
        # Density d has the points from _stops[d] up to, but not including, _stops[d + 1].
        lengths = self.counts.reshape(self.cells, -1).T.reshape(-1)
        self._stops: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Kernels take the points of each density in ascending order; `density` says whose each is.
        density = np.repeat(np.arange(len(self._stops) - 1), np.diff(self._stops))
        order = np.lexsort((points, density))
        self.values, self.weights = points[order], mass[order]
        self.values.flags.writeable = self.weights.flags.writeable = False

    @property
    def n_parameters(self) -> int:
        """The number of points and bandwidths."""
        return int(self.values.size + self.bandwidth.size)

    def _take(self, at: Sequence[int]) -> Self:
        return self._of(at, self.parents, self._cells_of_parents)

    def _of_cells(self, parents: Sequence[Variable], cells: NDArray[np.intp]) -> Self:
        return self._of(range(len(self.children)), parents, cells)

    def _of(self, at: Sequence[int], parents: Sequence[Any], cells: NDArray[np.intp]) -> Self:
        """Return the plate of some children with other parents; see `CPD._of_cells`.

        The children are those at the indices `at`. `cells` has an axis for each of `parents`, and
        holds the parent configurations of this plate whose densities are taken.
        """
        # Density d is that of child d // self.cells in configuration d % self.cells.
        densities = (np.array(at)[:, None] * self.cells + cells.reshape(-1)).reshape(-1)
        points = np.concatenate([np.arange(*self._stops[d : d + 2]) for d in densities.tolist()])
        lengths, widths = (a.reshape(self.cells, -1) for a in (self.counts, self.bandwidth))
        return type(self)(
            [self.children[i] for i in at],  # type: ignore[misc]
            self.values[points],
            self.weights[points],
            lengths[cells][..., at],
            widths[cells][..., at],
            parents,
        )

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a printable table of the kernel counts and bandwidths; see `CPD.describe`."""
        columns = {"kernels": self.counts, "bandwidth": self.bandwidth}
        return describe_numbers(self.parents, self.children, columns, max_rows)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows); see `Plate`."""
        values, bandwidth = self._numbers(evidence), self.bandwidth.reshape(self.cells, -1)
        arrays = (out, values, self.values, self.weights, self._stops, bandwidth)
        # The cost of a row: some 16 operations for each point, as each takes an exponential.
        by_rows(row_kernels.add_kernel_densities, arrays, len(values), 16 * len(self.values))

    def _kernels(self, cell: int) -> tuple[Floats, Floats, float]:
        """Return points, weights that sum to one, and bandwidth of the first child in a cell."""
        points = slice(self._stops[cell], self._stops[cell + 1])
        weights = self.weights[points]
        width = self.bandwidth.reshape(self.cells, -1)[cell, 0]
        return self.values[points], weights / weights.sum(), float(width)

    def cell_tail(self, x: Floats, side: float, cells: NDArray[np.intp]) -> Floats:
        """Return probabilities of at most, or more than, x in configurations; see `DensityCPD`."""
        distinct, places = np.unique(cells, return_inverse=True)
        masses = np.empty((len(x), len(distinct)))
        for k, cell in enumerate(distinct.tolist()):
            values, weights, width = self._kernels(cell)
            # Blocks of rows bound the memory.
            for rows in np.array_split(np.arange(len(x)), 1 + len(x) * len(values) // 10**7):
                masses[rows, k] = ndtr(side * (x[rows, None] - values) / width) @ weights
        return masses[:, places]

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) in each configuration; see `CPD`."""
        out = np.empty((len(low), self.cells))
        for cell in range(self.cells):
            values, weights, width = self._kernels(cell)
            for i, (a, b) in enumerate(zip(low, high, strict=True)):
                logs = log_normal_mass(a, b, values, np.array(width))
                out[i, cell] = log_integral(logs, weights)
        return out

    def cell_moments(self, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return means and variances in configurations of the parents; see `DensityCPD`."""
        distinct, places = np.unique(cells, return_inverse=True)
        moments = np.empty((2, len(distinct)))
        for k, cell in enumerate(distinct.tolist()):
            values, weights, width = self._kernels(cell)
            mean = weights @ values
            # The variance of a mixture: that of the means, plus that of each kernel.
            moments[:, k] = mean, weights @ (values - mean) ** 2 + width**2
        mean, variance = moments[:, places]
        return mean, variance

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return random numbers: points drawn by their weights, plus Gaussian noise."""
        drawn = np.empty(len(cells))
        for c in np.unique(cells).tolist():
            rows = np.flatnonzero(cells == c)
            values, share, _ = self._kernels(c)
            drawn[rows] = random.choice(values, len(rows), p=share)
        width = self.bandwidth.reshape(self.cells, -1)[cells, 0]
        return np.asarray(drawn + width * random.standard_normal(len(cells)))


def _estimate_kernel(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return kernel density CPDs; a class without values has the values of all classes."""
    columns = numeric(children)
    summary = source.summary(Samples(columns, target))
    points, weights = [], []
    shape = (target.cardinality, len(columns))
    counts, bandwidth = np.empty(shape), np.empty(shape)
    # Of each column, a list of the distinct values in each class, and one of their weights.
    for j, (values, masses) in enumerate(zip(summary.values, summary.weights, strict=True)):
        everything = distinct_values(np.concatenate(values), np.concatenate(masses))
        if not len(everything[0]):
            everything = np.zeros(1), np.ones(1)  # never observed: all classes are equal
        fallback = _bandwidth(*everything, smoothing, 0.0) or 1.0
        for k in range(target.cardinality):
            of_class, mass = (values[k], masses[k]) if len(values[k]) else everything
            points.append(of_class)
            weights.append(mass)
            counts[k, j] = len(of_class)
            bandwidth[k, j] = _bandwidth(of_class, mass, smoothing, fallback)
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
    factor = 1.06  # Scott's rule: 1.06 s n^(-1/5) for the standard deviation s and n rows
    if smoothing.bandwidth == "silverman":
        factor = 0.9  # Silverman's rule: 0.9 min(s, interquartile range / 1.34) n^(-1/5)
        # Each value is at the middle of its weight. The quartiles of a Gaussian are 1.34 standard
        # deviations apart.
        places = (np.cumsum(weights) - 0.5 * weights) / total
        quartiles = np.interp([0.25, 0.75], places, values)
        range_ = float(quartiles[1] - quartiles[0]) / 1.34
        spread = min(spread, range_) if range_ > 0 else spread
    return float(factor * spread * total**-0.2) or fallback


KERNEL = LeafFamily(
    "kernel",
    "a kernel density estimate",
    {"kernel": KernelDensityCPD},
    Samples,
    _estimate_kernel,
    own_smoothing=("bandwidth",),
)
