"""Histogram CPDs: piecewise constant densities with heavy tails outside the edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import CPDError, UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Binned, Continuous, Discrete, Variable
from bayesgraph.inference import Factor, checked_table, take_codes
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds import base
from bayesgraph.models.cpds.base import NumericCPD
from bayesgraph.models.cpds.density import CellComponents

# Shape parameter of the tails: the smallest integer for which their variance is finite.
_SHAPE = 3.0


class HistogramCPD(NumericCPD):
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

    variable: Continuous
    parents: tuple[Discrete, ...]

    def __init__(
        self,
        variable: Continuous,
        edges: ArrayLike,
        values: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        checked = base.check_family(variable, parents, family="HistogramCPD")
        base.check_child(variable, Continuous, family="HistogramCPD", hint="Use TableCPD.")
        self.variable = variable
        self.parents = base.discrete_only(variable, checked, family="HistogramCPD")
        what = self.title
        try:
            array = np.array(edges, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise CPDError(f"{what}: edges takes numbers; got {edges!r:.200}.") from error
        if array.ndim != 1 or len(array) < 2:
            raise CPDError(f"{what}: edges takes two numbers or more; got shape {array.shape}.")
        with np.errstate(over="ignore", invalid="ignore"):
            widths = np.diff(array)
        if not (np.isfinite(array).all() and (widths > 0).all() and np.isfinite(widths.sum())):
            raise CPDError(f"{what}: edges takes finite numbers that increase; got {array!r:.200}.")
        array.flags.writeable = False
        self.edges = array
        cells = Discrete(("cells of", variable.name), range(len(self.edges) + 1))
        self._axes = (*self.parents, cells)
        table = checked_table(values, self._axes, what=what)
        base.check_sums(table, self.parents, what=what)
        table.flags.writeable = False
        self.values = table
        width = np.diff(self.edges)
        scale = np.concatenate([[self._range / _SHAPE], width, [self._range / _SHAPE]])
        self._log_density = log_of(table) - log_of(scale)

    @property
    def _range(self) -> float:
        return float(self.edges[-1] - self.edges[0])

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities of bins and tails; edges are not counted."""
        return int(self.values[..., :-1].size)

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential of the observed child, a factor over the free parents; see CPD."""
        self.check_observed(evidence.columns)
        x = np.asarray(evidence.columns[self.variable], dtype=np.float64)
        missing = np.isnan(x)
        x = np.where(missing, self.edges[0], x)
        observed = [p for p in self.parents if p in evidence]
        codes = [evidence.columns[p] for p in observed]
        rest, log_density = take_codes(
            self._axes,
            self._log_density[None],
            [*observed, self._axes[-1]],
            [*codes, self._cells(x)],
        )
        lead = [1] * len(rest)
        tail = -(_SHAPE + 1) * np.log1p(self._outside(x) / self._range)
        log_density = log_density + tail.reshape(-1, *lead)
        return Factor.from_log(rest, np.where(missing.reshape(-1, *lead), 0.0, log_density))

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log densities of the observed child to `out`; see CPD."""
        if self.parents or self.variable not in evidence:
            super().accumulate(evidence, scope, out)
            return
        x = np.ascontiguousarray(evidence.columns[self.variable], dtype=np.float64)
        row_kernels.add_histogram(out[0], x, self.edges, self._log_density, _SHAPE + 1.0)

    def check_observed(self, observed: Collection[Variable]) -> None:
        """Raise an UnsupportedModelError if the child is not observed; see NumericCPD."""
        if self.variable not in observed:
            raise UnsupportedModelError(
                f"The posterior of {self.variable.name!r} is not computed exactly: {self.title} "
                "is a histogram, neither a table nor Gaussian. Leave it out of the targets, or "
                "query with method='likelihood-weighting'."
            )

    def _cells(self, x: Floats) -> NDArray[np.intp]:
        cells = np.searchsorted(self.edges, x, side="left")
        return np.asarray(np.where(x == self.edges[0], 1, cells))

    def _outside(self, x: Floats) -> Floats:
        """Return the distance of each value from the range of the edges, 0 for values inside it."""
        return np.asarray(np.maximum(np.maximum(self.edges[0] - x, x - self.edges[-1]), 0.0))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(child <= x) for each parent configuration, shape (*cardinalities, *x.shape)."""
        points = np.asarray(x, dtype=np.float64)
        inside = np.clip(points, self.edges[0], self.edges[-1])
        at = np.clip(np.searchsorted(self.edges, inside, side="left"), 1, len(self.edges) - 1)
        share = (inside - self.edges[at - 1]) / (self.edges[at] - self.edges[at - 1])
        below = np.cumsum(self.values, axis=-1)
        whole = below[..., at - 1] + share * self.values[..., at]
        beyond = self._tail_share(points)
        lead = (Ellipsis, *[None] * points.ndim)
        left, right = self.values[..., 0][lead], self.values[..., -1][lead]
        result = np.where(points < self.edges[0], left * beyond, whole)
        return np.asarray(np.where(points > self.edges[-1], 1.0 - right * beyond, result))

    def components(self, cells: NDArray[np.intp]) -> CellComponents:
        """Return the distributions in configurations of the parents; see `LeafCPD`."""
        return CellComponents(self, cells)

    def cell_cdf(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """Return cumulative probabilities in configurations of the parents; see `DensityCPD`."""
        return np.asarray(self.cdf(x).reshape(-1, len(x))[cells].T)

    def cell_sf(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """Return probabilities of more than x in configurations; see `DensityCPD`."""
        return np.asarray(np.exp(self.log_interval(x, np.full(len(x), np.inf))[:, cells]))

    def cell_moments(self, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return means and variances in configurations of the parents; see `DensityCPD`.

        The tails have the mean distance s / 2 from the outermost edges, and the mean square s^2,
        where s is the range of the edges.
        """
        shares = self.values.reshape(-1, len(self._sides))[cells]
        middle = (self.edges[0] + self.edges[-1]) / 2  # deviations from it lose no digits
        ends, s = self.edges - middle, self._range
        left, right = ends[:-1], ends[1:]
        first = np.concatenate([[ends[0] - s / 2], (left + right) / 2, [ends[-1] + s / 2]])
        inside = (left**2 + left * right + right**2) / 3
        tail = ends[-1] ** 2 + ends[-1] * s + s**2
        second = np.concatenate([[tail], inside, [tail]])
        mean = shares @ first
        return middle + mean, shares @ second - mean**2

    def cell_quantiles(self, probability: float, cells: NDArray[np.intp]) -> None:
        """Return None: the search of a quantile begins at the moments; see `DensityCPD`."""

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) in each configuration; see `CPD`."""
        first, last = self.edges[0], self.edges[-1]
        low, high = low[:, None], high[:, None]
        inside = np.minimum(high, self.edges[1:]) - np.maximum(low, self.edges[:-1])
        # The distances in both tails at which the interval begins and ends.
        near = np.maximum(np.hstack([first - high, low - last]), 0.0)
        far = np.maximum(np.hstack([first - low, high - last]), near)
        tails = -((1.0 + near / self._range) ** -_SHAPE) * np.expm1(
            -_SHAPE * np.log1p((far - near) / (self._range + near))
        )
        bins = np.maximum(inside, 0.0) / np.diff(self.edges)
        shares = np.hstack([tails[:, :1], bins, tails[:, 1:]])
        return log_of(shares @ self.values.reshape(-1, len(self._sides)).T)

    def _tail_share(self, x: Floats) -> Floats:
        """Return P(child is beyond x | child is in the tail of x), 1 for x between the edges."""
        return np.asarray((1.0 + self._outside(x) / self._range) ** -_SHAPE)

    def sample(self, parents: base.Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child given the parents' columns; see CPD."""
        row = np.zeros(n, dtype=np.intp)
        if self.parents:
            codes = [parents[parent] for parent in self.parents]
            row = np.ravel_multi_index(codes, self.values.shape[:-1])
        cell = base.draw_states(self.values.reshape(-1, len(self._sides)), row, random)
        u = random.random(n)
        starts = np.concatenate([self.edges[:1], self.edges[:-1], self.edges[-1:]])
        widths = np.concatenate([[0.0], np.diff(self.edges), [0.0]])
        # 1 - u lies in (0, 1]: the inverse of the tail's distribution function stays finite.
        reach = self._range * ((1.0 - u) ** (-1.0 / _SHAPE) - 1.0)
        return np.asarray(starts[cell] + u * widths[cell] + self._sides[cell] * reach)

    @property
    def _sides(self) -> Floats:
        """Direction of each tail and bin: -1 for the lower tail, 1 for the upper, 0 for bins."""
        sides = np.zeros(len(self.edges) + 1)
        sides[0], sides[-1] = -1.0, 1.0
        return sides

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
    below = np.cumsum(np.bincount(inverse, weights))[:-1]
    wanted = np.arange(1, max_cells) / max_cells * float(weights.sum())
    at = np.unique(np.searchsorted(below, wanted, side="left"))
    at = at[at < len(below)]
    middle = distinct[at] + (distinct[at + 1] - distinct[at]) / 2 if len(at) else np.empty(0)
    return np.unique(np.concatenate([ends, middle, np.asarray(cuts, dtype=np.float64)]))
