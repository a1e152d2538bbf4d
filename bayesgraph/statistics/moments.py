"""Counts, means and sums of squared deviations, merged stably (Chan, Golub, LeVeque 1979)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.parallel import blocks, in_order, one_blas_thread, tree_sum
from bayesgraph.statistics import counting_kernels
from bayesgraph.statistics.requests import grown_axis, not_fitted, removed

# Ratios of a sum of squares to its former value below which half or all of its digits are lost.
_HALF_DIGITS, _NO_DIGITS = 1e-8, 1e-12
# Maximum ratio of a group's sum of squares before a removal to the column's sum after it at which
# the group's rounding errors are harmless: they are far below the smoothing of variances.
_HARMLESS = 100.0
# Number of values of which moments of pairs are computed together: they stay in the cache.
_TOGETHER = 1 << 16
# The number of states of a column of one state.
_ONE = np.ones(1, dtype=np.int64)


def safe_divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient of two arrays, and 0 where the denominator is not positive."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Moments of each column within each group of rows.

    Attributes
    ----------
    count, mean, square : ndarray, shape (n_groups, n_columns)
        Weight of the observed rows, their mean (0 without rows), and the weighted sum of squared
        deviations from the mean.
    """

    count: Floats
    mean: Floats
    square: Floats

    @classmethod
    def collect(
        cls,
        values: Floats,
        group: NDArray[np.signedinteger],
        n_groups: int,
        weights: Floats,
        codes: NDArray[np.signedinteger] | None = None,
        cards: NDArray[np.int64] = _ONE,
    ) -> GroupMoments:
        """Return the moments of a table in one pass.

        Parameters
        ----------
        values : ndarray, shape (n_rows, n_columns)
        group : ndarray, shape (n_rows,)
            -1 where missing.
        n_groups : int
        weights : ndarray, shape (n_rows,) or (0,)
        codes : ndarray, shape (n_discrete, n_rows), optional
            Codes of discrete columns. The groups are then the states of all of these columns, one
            column after the other, within each of the `n_groups` groups.
        cards : ndarray, shape (n_discrete,)
            Numbers of their states.
        """
        codes = np.zeros((1, len(values)), dtype=np.int8) if codes is None else codes
        start = np.concatenate([[0], np.cumsum(cards)])
        shape = (n_groups * int(start[-1]), values.shape[1])

        def of_block(rows: slice) -> GroupMoments:
            moments = cls(*np.zeros((3, *shape)))
            if moments.count.size:
                counting_kernels.mixed_moments(
                    np.ascontiguousarray(values[rows]), np.ascontiguousarray(codes[:, rows]),
                    group[rows], weights[rows], cards, start,
                    moments.count, moments.mean, moments.square,
                )  # fmt: skip
            return moments

        return tree_sum(in_order(of_block, blocks(len(values))))  # type: ignore[no-any-return]

    def __add__(self, other: Self) -> Self:
        count = self.count + other.count
        share = safe_divide(other.count, count)
        delta = other.mean - self.mean
        square = self.square + other.square + delta * delta * self.count * share
        return replace(self, count=count, mean=self.mean + delta * share, square=square)

    def __sub__(self, other: Self) -> Self:
        """Return the moments of the remaining rows when the rows of `other` are removed.

        Raises
        ------
        DataError
            If the moments cannot include the rows of `other`, or if so small a sum of squares would
            be left that more than half of its digits are lost.
        """
        count = removed(self.count - other.count, self.count)
        shift = (self.mean - other.mean) * safe_divide(other.count, count)
        mean = np.where(count > 0, self.mean + shift, 0.0)
        both = safe_divide(count * other.count, self.count)
        square = self.square - other.square - (other.mean - mean) ** 2 * both
        square = np.where(count > 0, square, 0.0)
        square = _remaining_squares(square, self.square, count, mean)
        return replace(self, count=count, mean=mean, square=square)

    def grown(self, at: NDArray[np.intp] | None, n_groups: int) -> Self:
        """Return the moments for `n_groups` groups; the old group g becomes group ``at[g]``."""
        arrays = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(grown_axis(array, 0, at, n_groups) for array in arrays))

    def merged(self, shape: tuple[int, ...], axis: int) -> GroupMoments:
        """Return the moments after merging groups, such as the groups that differ in one variable.

        Parameters
        ----------
        shape : tuple of int
            Shape with which the groups, in C order, form an array.
        axis : int
            Axis of this array along which groups are merged into one.
        """
        arrays = self.count, self.mean, self.square
        count, mean, square = [a.reshape(*shape, a.shape[-1]) for a in arrays]
        total = count.sum(axis=axis)
        # Differences from one of the means, so that groups of equal means merge exactly.
        largest = np.expand_dims(count.argmax(axis=axis), axis)
        one = np.take_along_axis(mean, largest, axis)
        shift = safe_divide((count * (mean - one)).sum(axis=axis), total)
        centre = one.squeeze(axis) + shift
        spread = mean - np.expand_dims(centre, axis)
        sums = (square + count * spread * spread).sum(axis=axis)
        flat = (math.prod(total.shape[:-1]), total.shape[-1])
        return GroupMoments(total.reshape(flat), centre.reshape(flat), sums.reshape(flat))


@dataclass(frozen=True, eq=False)
class PairMoments(GroupMoments):
    """Moments of pairs of columns within each group, from the rows that observe both columns.

    Arrays broadcast to (n_groups, d, d) for d columns. Without missing values, `count`, `mean` and
    `square` do not depend on the second column of a pair, and have a smaller shape.

    Attributes
    ----------
    count : ndarray, shape (n_groups, 1, 1) or (n_groups, d, d)
    mean : ndarray, shape (n_groups, d, 1) or (n_groups, d, d)
        ``mean[g, i, j]`` is the mean of column i over the rows that observe columns i and j.
    square : ndarray, shape as mean
        Sum of squared deviations of column i over these rows.
    comoment : ndarray, shape (n_groups, d, d)
        Sum of products of deviations of columns i and j.
    """

    comoment: Floats

    @classmethod
    def collect_pairs(
        cls, values: Floats, group: NDArray[np.signedinteger], n_groups: int, weights: Floats
    ) -> PairMoments:
        """Return the moments of all pairs of columns; arguments as in `GroupMoments.collect`."""
        if not values.shape[1] and not len(weights):
            count = np.bincount(group[group >= 0], minlength=n_groups).astype(np.float64)
            none, nothing = np.empty((n_groups, 0, 1)), np.empty((n_groups, 0, 0))
            return cls(count[:, None, None], none, none, nothing)
        # The sums of a matrix product depend on the number of threads; a model must not.
        with one_blas_thread():
            return tree_sum(  # type: ignore[no-any-return]
                cls._of_block(values[rows], group[rows], n_groups, weights[rows])
                for rows in blocks(len(values))
            )

    @classmethod
    def _of_block(
        cls, values: Floats, group: NDArray[np.signedinteger], n_groups: int, weights: Floats
    ) -> PairMoments:
        values, d = np.ascontiguousarray(values), values.shape[1]
        n_rows = max(_TOGETHER // max(d, 1), 1)
        room = np.empty((min(n_rows, len(values)), d))

        def of(rows: NDArray[np.intp]) -> PairMoments:
            chosen = np.take(values, rows, axis=0, out=room[: len(rows)], mode="clip")
            return _pair_moments(chosen, weights[rows] if len(weights) else np.ones(len(rows)))

        # Short integers are sorted by their digits.
        short = group.astype(np.int16) if n_groups < 1 << 15 else group
        order = np.argsort(short, kind="stable")
        ends = np.searchsorted(group[order], np.arange(n_groups + 1))
        groups = np.flatnonzero(np.diff(ends)) if ends[-1] > ends[0] else np.zeros(1, np.intp)
        parts = []
        for g in groups.tolist():
            members = order[ends[g] : ends[g + 1]]
            starts = range(0, max(len(members), 1), n_rows)
            parts.append(tree_sum(of(members[first : first + n_rows]) for first in starts))
        same = len({part.mean.shape for part in parts}) == 1
        whole = []
        for field in fields(cls):
            arrays = [getattr(part, field.name) for part in parts]
            shown = arrays if same else [np.broadcast_to(a, (1, d, d)) for a in arrays]
            whole.append(np.zeros((n_groups, *shown[0].shape[1:])))
            whole[-1][groups] = np.concatenate(shown)
        return cls(*whole)

    def __add__(self, other: Self) -> Self:
        both = self.count * safe_divide(other.count, self.count + other.count)
        delta = other.mean - self.mean
        comoment = self.comoment + other.comoment + delta * delta.swapaxes(1, 2) * both
        return replace(super().__add__(other), comoment=comoment)

    def __sub__(self, other: Self) -> Self:
        """Return the moments of the remaining rows; see `GroupMoments`."""
        rest = super().__sub__(other)
        both = safe_divide(rest.count * other.count, self.count)
        delta = other.mean - rest.mean
        between = delta * delta.swapaxes(1, 2) * both
        spread = np.broadcast_to(rest.square > 0, self.comoment.shape)
        vary = spread & spread.swapaxes(1, 2)
        return replace(rest, comoment=np.where(vary, self.comoment - other.comoment - between, 0.0))


def group_comoments(
    values: Floats,
    group: NDArray[np.signedinteger],
    n_groups: int,
    weights: Floats,
    rows: NDArray[np.intp] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the weight, the means and the comoments of each group of complete rows.

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
    group : ndarray, shape (n_rows,), or (len(rows),) with `rows`
    n_groups : int
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    rows : ndarray, optional
        Indices of the rows to use; by default all rows.

    Returns
    -------
    count : ndarray, shape (n_groups,)
    mean : ndarray, shape (n_groups, d)
        0 in an empty group.
    comoment : ndarray, shape (n_groups, d, d)
        Sums of products of deviations from the mean.
    """
    if rows is not None:
        values, weights = values[rows], weights[rows] if len(weights) else weights
    # The sums of a matrix product depend on the number of threads; a model must not.
    with one_blas_thread():
        moments = PairMoments._of_block(values, group, n_groups, weights)
    # Summed in the same way as counts elsewhere: equal counts then show that no row is left out.
    count = np.bincount(group, weights=weights if len(weights) else None, minlength=n_groups)
    return count.astype(np.float64), moments.mean[..., 0], moments.comoment


def _remaining_squares(rest: Floats, before: Floats, count: Floats, mean: Floats) -> Floats:
    """Return sums of squares after rows were removed, with rounding errors replaced by zero.

    Parameters
    ----------
    rest, before : ndarray, shape (n_groups, ...)
        Sums of squares after and before rows were removed.
    count, mean : ndarray, broadcastable to that shape
        Weight and mean of the rows that remain.

    Raises
    ------
    DataError
        If a group's sum lost half of its digits, and the sum of squares of the whole column became
        small too; or if a sum is clearly negative, because rows were removed that had not been
        added.
    """
    if (rest < -_HALF_DIGITS * before.sum(axis=0)).any():
        raise not_fitted()
    weight = np.broadcast_to(count, rest.shape)
    centre = safe_divide((weight * mean).sum(axis=0), weight.sum(axis=0))
    whole = np.maximum(rest, 0.0).sum(axis=0) + (weight * (mean - centre) ** 2).sum(axis=0)
    lost = (weight > 0) & (before > 0) & (rest < _HALF_DIGITS * before)
    if (lost & (before > _HARMLESS * whole)).any():
        raise DataError(
            "Nearly all the spread of a column is in the rows to forget; what is left of its "
            "variance would be rounding error. Fit again on the rows that stay."
        )
    return np.where(rest > _NO_DIGITS * before, rest, 0.0)


def _pair_moments(values: Floats, weight: Floats) -> PairMoments:
    """Return the pair moments of one group of rows, computed by matrix products.

    `values` is overwritten: to allocate such arrays anew would take as long as the products.
    """
    d = values.shape[1]
    total = float(weight.sum())
    gaps = np.flatnonzero(np.isnan(values.sum(axis=0)))
    if not len(gaps):
        # Differences from the first row, so that deviations of a constant column are exactly zero.
        first = values[0].copy() if total > 0 else np.zeros(d)
        values -= first
        shift = weight @ values / total if total > 0 else np.zeros(d)
        values -= shift
        comoment, mean = _products(values, weight), first + shift
        square = np.diagonal(comoment)
        return PairMoments(
            np.full((1, 1, 1), total), mean[None, :, None], square[None, :, None], comoment[None]
        )
    missing = np.isnan(values[:, gaps])
    there = (~missing).astype(np.float64)
    first = values[0].copy()
    first[gaps] = np.take_along_axis(values[:, gaps], missing.argmin(axis=0)[None], 0)[0]
    first[np.isnan(first)] = 0.0
    # Centring keeps the following sums small, whatever the distance of the values from zero.
    deviation = np.subtract(values, first, out=values)
    deviation[:, gaps] = np.where(missing, 0.0, deviation[:, gaps])
    weighted = there * weight[:, None]
    observed = np.full(d, total)
    observed[gaps] = weighted.sum(axis=0)
    shift = safe_divide(deviation.T @ weight, observed)
    deviation -= shift
    deviation[:, gaps] *= there
    # Sums over the rows that observe the second column of a pair: all, but for columns with gaps.
    comoment = _products(deviation, weight)
    count, total_i, square = (np.empty((d, d)) for _ in range(3))
    count[:] = np.minimum.outer(observed, observed)
    count[np.ix_(gaps, gaps)] = there.T @ weighted
    total_i[:] = (deviation.T @ weight)[:, None]
    total_i[:, gaps] = deviation.T @ weighted
    square[:] = np.diagonal(comoment)[:, None]
    square[:, gaps] = np.square(deviation, out=deviation).T @ weighted
    offset = safe_divide(total_i, count)
    square -= total_i * offset
    comoment -= total_i * offset.T
    mean = np.where(count > 0, (first + shift)[:, None] + offset, 0.0)
    return PairMoments(count[None], mean[None], np.maximum(square, 0.0)[None], comoment[None])


def _products(deviation: Floats, weight: Floats) -> Floats:
    """Return the weighted sums of products of columns; BLAS needs half the time if all weigh 1."""
    heavy = deviation if (weight == 1.0).all() else deviation * weight[:, None]
    return np.asarray(deviation.T @ heavy)
