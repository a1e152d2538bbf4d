"""Class-conditional quantiles in bounded memory: Greenwald-Khanna summary with class counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, ModelError
from bayesgraph.core.parallel import by_rows, over_rows
from bayesgraph.statistics import gk_kernels, pid_kernels
from bayesgraph.statistics.moments import GroupMoments
from bayesgraph.statistics.sketches import (
    LIGHT,
    NOTHING,
    Cells,
    ColumnSummaries,
    CutSummaries,
    check_ascending,
    checked_size,
    halfway,
    state_array,
    widened,
)

# ------- Class-conditional quantiles in bounded memory: Greenwald-Khanna summary with class counts


# Number of values below which one thread is enough.
_THREAD = 1 << 12
# Names of the columns of tuples in files, and the minimum of each.
_COLUMNS = {"value": -np.inf, "low": -np.inf, "own": 0.0, "delta": 0.0}


class GKSummary(CutSummaries):
    """Greenwald-Khanna quantile summaries of columns, whose tuples count each class.

    A tuple (v, g, delta) holds a value v; the weight g of the values after the previous tuple's
    value up to v, split by class; and delta, the maximum by which the rank of v may exceed the sum
    of the g up to v.

    * **Fixed memory** (the default): `size` tuples per feature. If there are more, neighbouring
      tuples are merged while g + delta of the result is at most a bound. The bound is the smallest
      that leaves `size` tuples. The error is not known in advance; `rank_error` reports its current
      bound.
    * **Fixed error**: with `epsilon`, tuples are merged while g + delta is at most 2 epsilon n for
      n rows. Ranks are then off by at most epsilon n in any order of arrival; memory grows with
      log(epsilon n).

    The position of rows equal to a tuple's value is known exactly: equal values add no uncertainty,
    and a column of at most `size` distinct values is counted exactly.

    `rank_error` bounds the error of ranks among all rows. Within a class that makes up a fraction s
    of the rows, the relative error of a rank may be 1 / s times as large.

    Rows are added in blocks: all rows of a block are inserted exactly, then tuples are merged. The
    result does not depend on the order of rows within a block. It depends on the order of the
    blocks, as does the error in fixed memory. The error is smallest for ascending values. It is
    largest if each block falls between the lower and the upper half of the earlier values, because
    a new tuple is as uncertain as the tuple into whose range it falls. `rank_error` reports this
    (4.4 % in that order, 0.8 % otherwise). The rank of a cut point of `cells` may be off by twice
    `rank_error`.

    Maximum error of the rank of a cut, in per cent of 100,000 rows (normal and lognormal numbers,
    `size` 100, blocks of 256 rows):

    ============================  =========  ==========
    order of arrival              GKSummary  PiDSummary
    ============================  =========  ==========
    shuffled                        0.5-0.8        0.01
    ascending or descending             0.0     0.1-0.6
    50 ascending runs               0.7-1.0        0.02
    from the middle outwards            0.0     0.3-0.5
    from the ends inwards               4.6     2.0-3.0
    ============================  =========  ==========

    After `fade`, tuples with less than 1e-12 of a feature's weight are joined to the next tuple, or
    at the end to the previous tuple. Their class weights are kept, but their values are lost. The
    minimum and the maximum are therefore those of the remaining tuples, and the error of a rank may
    exceed `rank_error` by the small weight of the joined tuples.

    Parameters
    ----------
    n_features, n_classes : int
    size : int
        Maximum number of tuples per feature, at least 3; ignored with `epsilon`.
    epsilon : float, optional
        Maximum relative error of a rank, in (0, 0.5).

    References
    ----------
    M. Greenwald, S. Khanna: Space-efficient online computation of quantile summaries. SIGMOD 2001.
    C. Salperwyck, V. Lemaire, C. Hue: Classifieur naif de Bayes pondere pour flux de donnees. EGC
    2014 (tuples that count classes).

    Examples
    --------
    >>> summary = GKSummary(1, 2, size=20)
    >>> summary.update(np.arange(1000.0), np.arange(1000) % 2)
    GKSummary of 1 features and 2 classes, weight 1000, 976 bytes
    >>> bool(abs(summary.quantile(0.5)[0] - 500) <= summary.rank_error[0])
    True
    """

    name = "gk"
    options = ("size", "epsilon")

    def __init__(
        self,
        n_features: int = 1,
        n_classes: int = 1,
        *,
        size: int = 100,
        epsilon: float | None = None,
    ) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        if epsilon is not None and not 0.0 < epsilon < 0.5:
            raise ModelError(f"epsilon lies between 0 and 0.5; got {epsilon!r}.")
        self.size = checked_size("size", size, 3)
        self.epsilon = epsilon
        room = self.size if epsilon is None else 8
        self._merged = np.full(n_features, 2.0 / self.size)
        self._used = np.zeros(n_features, dtype=np.int64)
        self._tuples = np.zeros((n_features, room, gk_kernels.GAPS + n_classes))

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        share = 0.0
        if self.epsilon is not None:
            share = 2.0 * self.epsilon
            self._set_room(int(self._used.max()) + columns.shape[1])

        def work(a: int, b: int) -> None:
            gk_kernels.absorb_quantiles(
                columns[a:b], np.argsort(columns[a:b], axis=1), classes, weights, share,
                self._merged[a:b], self._used[a:b], self._tuples[a:b],
            )  # fmt: skip

        over_rows(work, len(columns), 1 + _THREAD // columns.shape[1], together=1)
        if self.epsilon is not None:
            self._set_room(max(8, int(self._used.max())))

    def _set_room(self, room: int) -> None:
        n_features, _, width = self._tuples.shape
        self._tuples = np.ascontiguousarray(
            widened(self._tuples[:, :room], (n_features, room, width))
        )

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self._tuples.shape[1]) < self._used[:, None])

    @property
    def _weights(self) -> Floats:
        """Weight of each class for each tuple, 0 for unused tuples."""
        return np.asarray(self._tuples[..., gk_kernels.GAPS :] * self._is_used[..., None])

    @property
    def nbytes(self) -> int:
        """Bytes of the state; see `ColumnSummaries.nbytes`."""
        return self._tuples.nbytes + self._used.nbytes + self._merged.nbytes

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.asarray(self._weights.sum(axis=1))

    @property
    def rank_error(self) -> Floats:
        """Bound on the error of `rank` and `quantile`, in units of weight, shape (n_features,).

        It is max(g + delta) / 2 (Greenwald and Khanna 2001, Corollary 1). Here g excludes the rows
        that equal the tuple's value, because their ranks are certain.
        """
        return np.asarray(self._spread.max(axis=1, initial=0.0) / 2)

    @property
    def _spread(self) -> Floats:
        """Uncertainty of the rank just below each tuple's value, in units of weight.

        It is g + delta without the weight of the rows that equal the tuple's value; 0 for unused
        tuples.
        """
        own, delta = self._tuples[..., gk_kernels.OWN], self._tuples[..., gk_kernels.DELTA]
        return np.asarray((self._weights.sum(axis=2) - own + delta) * self._is_used)

    def quantile(self, share: float) -> Floats:
        """Return the quantile of each feature at the level `share`, from 0 to 1.

        The rank of the result is off by at most `rank_error`. The result is NaN for a feature
        without observed values.
        """
        if not 0.0 <= share <= 1.0:
            raise ModelError(f"A share lies between 0 and 1; got {share!r}.")
        found = np.full(self.n_features, np.nan)
        for f in np.flatnonzero(self._used).tolist():
            values, weights, delta = self.tuples(f)
            below = np.cumsum(weights.sum(axis=1))
            rank = share * below[-1]
            # The weight of values equal to that of the tuple covers the ranks up to the tuple's
            # own.
            above = below + delta - self._tuples[f, : len(below), gk_kernels.OWN] - rank
            found[f] = values[np.argmin(np.maximum(rank - below, above))]
        return found

    def rank(self, values: ArrayLike) -> Floats:
        """Return the approximate weight of the values up to ``values[f]`` for each feature f.

        It is off by at most `rank_error`.
        """
        found = np.zeros(self.n_features)
        for f, x in enumerate(np.broadcast_to(np.asarray(values, dtype=np.float64), found.shape)):
            known, weights, delta = self.tuples(f)
            at = int(np.searchsorted(known, x, side="right"))
            found[f] = weights[:at].sum()
            # Half of the weight that may be on either side.
            if at and known[at - 1] == x:
                found[f] += delta[at - 1] / 2
            elif at < len(known):
                found[f] += self._spread[f, at] / 2
        return found

    def tuples(self, feature: int = 0) -> tuple[Floats, Floats, Floats]:
        """Return the values, class weights and deltas of a feature's tuples."""
        found = self._tuples[feature, : self._used[feature]].copy()
        return found[:, gk_kernels.VALUE], found[:, gk_kernels.GAPS :], found[:, gk_kernels.DELTA]

    def cells(self) -> Cells:
        """Return the tuples as cells: ranges of values with the weight of each class.

        The cut point after a tuple is about halfway to the minimum of the next tuple, or the
        tuple's own value if that minimum is not larger.
        """
        tuples = self._tuples[self._is_used]
        value, low = (tuples[:, c].copy() for c in (gk_kernels.VALUE, gk_kernels.LOW))
        start = np.concatenate([[0], np.cumsum(self._used)]).astype(np.int64)
        cuts = halfway(value, np.append(low[1:], np.inf)[: len(low)])
        cuts[start[1:][self._used > 0] - 1] = np.inf
        return Cells.joined(start, tuples[:, gk_kernels.GAPS :], cuts, low, value)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        gk_kernels.fade_quantiles(factor, LIGHT, NOTHING, self._used, self._tuples)

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Enlarge to `n_features` features and `n_classes` classes; see `ColumnSummaries.grow`."""
        self.n_features = n_features or self.n_features
        self.n_classes = n_classes or self.n_classes
        shape = (self.n_features, self._tuples.shape[1], gk_kernels.GAPS + self.n_classes)
        self._used = widened(self._used, shape[:1])
        self._tuples = widened(self._tuples, shape)
        fresh = np.full(self.n_features - len(self._merged), 2.0 / self.size)
        self._merged = np.concatenate([self._merged, fresh])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        return {
            "limits": np.array([self.size, self.epsilon or 0.0]),
            "used": self._used,
            "merged": self._merged,
            **{name: self._tuples[..., i].copy() for i, name in enumerate(_COLUMNS)},
            "gap": self._tuples[..., gk_kernels.GAPS :].copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        size, epsilon = arrays["limits"].tolist()
        gap = state_array(arrays, "gap", (None, None, None), minimum=0.0)
        n_features, room, n_classes = gap.shape
        if epsilon == 0.0 and room != size:
            raise DataError(f"A saved state has room for {size:g} tuples; got room for {room}.")
        made = cls(n_features, n_classes, size=int(size), epsilon=epsilon or None)
        made._used = state_array(arrays, "used", (n_features,), minimum=0, maximum=room, whole=True)
        made._merged = state_array(arrays, "merged", (n_features,), minimum=np.finfo(float).tiny)
        columns = [
            state_array(arrays, name, (n_features, room), minimum=minimum)
            for name, minimum in _COLUMNS.items()
        ]
        made._tuples = np.concatenate([np.stack(columns, axis=-1), gap], axis=-1)
        check_ascending("value", columns[gk_kernels.VALUE], made._is_used, ties=False)
        if ((columns[gk_kernels.LOW] > columns[gk_kernels.VALUE]) & made._is_used).any():
            raise DataError("A saved state has tuples that begin after their end.")
        return made


# ------ Class-conditional histograms in bounded memory: partition incremental discretisation (PiD)


class PiDSummary(CutSummaries):
    """Histograms of columns by class, with at most `size` bins that are split and merged (PiD).

    A feature starts with one bin. A value outside the range extends the first or the last bin. A
    bin that holds more than 2 / `size` of the total weight is split in the middle, and each half
    gets half of its counts. Once there are `size` bins, the two neighbours with the smallest sum
    are merged after each split. No weight is lost. Because the division of a bin's weight is a
    guess, there is no bound on the error, unlike for `GKSummary`.

    The result depends on the order of the rows: sorted rows fill the bins that were made last, for
    which equal halves are a wrong guess. For smooth densities in random order the histograms are
    more exact than `GKSummary`; outliers and very frequent values use up bins. See `GKSummary` for
    errors measured in several orders.

    After `fade`, bins at the ends of the range with less than 1e-12 of the weight are removed, and
    their remaining weight goes to their neighbours: the range is that of the bins that remain.

    Parameters
    ----------
    n_features, n_classes : int
    size : int
        Maximum number of bins per feature, at least 2.

    References
    ----------
    J. Gama, C. Pinto: Discretization from data streams: applications to histograms and data mining.
    SAC 2006. In constant memory: C. Salperwyck, V. Lemaire, C. Hue, EGC 2014.
    """

    name = "pid"
    options = ("size",)

    def __init__(self, n_features: int = 1, n_classes: int = 1, *, size: int = 100) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        self.size = checked_size("size", size, 2)
        self._used = np.zeros(n_features, dtype=np.int64)
        self._total = np.zeros(n_features)
        # Room for one additional bin, as splits come before merges.
        self._edge = np.zeros((n_features, size + 2))
        self._count = np.zeros((n_features, size + 1, n_classes))

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        state = (self._used, self._edge, self._count, self._total)
        arrays = (columns, classes, weights, *state)
        by_rows(pid_kernels.absorb_histograms, arrays, len(columns), 64 * columns.shape[1])

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.asarray((self._count * self._is_used[..., None]).sum(axis=1))

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self._count.shape[1]) < self._used[:, None])

    def bins(self, feature: int = 0) -> tuple[Floats, Floats]:
        """Return the ascending edges of a feature's bins, and the class weights of the bins."""
        n = self._used[feature]
        return self._edge[feature, : n + 1].copy(), self._count[feature, :n].copy()

    def cells(self) -> Cells:
        """Return the bins as cells, after merging empty bins into their neighbours."""
        used = self._is_used
        start = np.concatenate([[0], np.cumsum(self._used)]).astype(np.int64)
        low, high = self._edge[:, :-1][used], self._edge[:, 1:][used]
        flat = high.copy()
        flat[start[1:][self._used > 0] - 1] = np.inf
        return Cells.joined(start, self._count[used], flat, low, high)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        state = (self._used, self._edge, self._count, self._total)
        pid_kernels.fade_histograms(factor, LIGHT, NOTHING, *state)

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Enlarge to `n_features` features and `n_classes` classes; see `ColumnSummaries.grow`."""
        self.n_features = n_features or self.n_features
        self.n_classes = n_classes or self.n_classes
        self._used = widened(self._used, (self.n_features,))
        self._total = widened(self._total, (self.n_features,))
        self._edge = widened(self._edge, (self.n_features, self.size + 2))
        self._count = widened(self._count, (self.n_features, self.size + 1, self.n_classes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        return {
            "used": self._used,
            "total": self._total,
            "edge": self._edge,
            "count": self._count,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        count = state_array(arrays, "count", (None, None, None), minimum=0.0)
        n_features, room, n_classes = count.shape
        made = cls(n_features, n_classes, size=room - 1)
        made._count = count
        made._used = state_array(
            arrays, "used", (n_features,), minimum=0, maximum=made.size, whole=True
        )
        made._total = state_array(arrays, "total", (n_features,), minimum=0.0)
        made._edge = state_array(arrays, "edge", (n_features, room + 1))
        inside = np.arange(room + 1) <= made._used[:, None]
        check_ascending("edge", made._edge, inside & (made._used > 0)[:, None], ties=True)
        return made


# -------------------------- Class-conditional counts, means and sums of squares of numeric columns


class GaussianSummary(ColumnSummaries):
    """Weight, mean and variance of each feature in each class, updated in a numerically stable way.

    If `fade` reduces the weight of a feature in a class to less than 1e-100 rows, weight, mean and
    variance are reset to zero.

    Parameters
    ----------
    n_features, n_classes : int

    References
    ----------
    T. Chan, G. Golub, R. LeVeque: Updating formulae and a pairwise algorithm for computing sample
    variances. Stanford 1979.
    """

    name = "gaussian"
    densities = "gaussians"

    def __init__(self, n_features: int = 1, n_classes: int = 1) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        shape = (n_classes, n_features)
        self.moments = GroupMoments(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        found = GroupMoments.collect(columns.T, classes, self.n_classes, weights)
        self.moments = self.moments + found

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.ascontiguousarray(self.moments.count.T)

    @property
    def mean(self) -> Floats:
        """Means, shape (n_features, n_classes); 0 without observed values."""
        return np.ascontiguousarray(self.moments.mean.T)

    @property
    def variance(self) -> Floats:
        """Variances (divided by the weight), shape (n_features, n_classes); 0 where unknown."""
        count = self.moments.count
        return np.ascontiguousarray((self.moments.square / np.where(count > 0, count, 1.0)).T)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        m = self.moments
        there = m.count * factor >= NOTHING
        faded = (m.count * factor, m.mean, m.square * factor)
        self.moments = GroupMoments(*(np.where(there, array, 0.0) for array in faded))

    def grow(self, *, n_features: int | None = None, n_classes: int | None = None) -> None:
        """Enlarge to `n_features` features and `n_classes` classes; see `ColumnSummaries.grow`."""
        self.n_features = n_features or self.n_features
        self.n_classes = n_classes or self.n_classes
        shape = (self.n_classes, self.n_features)
        m = self.moments
        self.moments = GroupMoments(*(widened(a, shape) for a in (m.count, m.mean, m.square)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        m = self.moments
        return {"count": m.count, "mean": m.mean, "square": m.square}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        count = state_array(arrays, "count", (None, None), minimum=0.0)
        mean = state_array(arrays, "mean", count.shape)
        square = state_array(arrays, "square", count.shape, minimum=0.0)
        made = cls(count.shape[1], count.shape[0])
        made.moments = GroupMoments(count, mean, square)
        return made


# ----- Summaries of the columns of a stream in bounded memory, for all columns of a table together


# All summaries of numeric columns by name; the card of each class describes it, see
# ColumnSummaries.
SUMMARIES: dict[str, type[ColumnSummaries]] = {
    kind.name: kind for kind in (GKSummary, PiDSummary, GaussianSummary)
}
