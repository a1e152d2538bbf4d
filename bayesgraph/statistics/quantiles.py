"""Class-conditional quantiles in bounded memory: Greenwald-Khanna summary with class counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

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
    Field,
    check_ascending,
    checked_size,
)

# ------- Class-conditional quantiles in bounded memory: Greenwald-Khanna summary with class counts


# Number of values below which one thread is enough.
_THREAD = 1 << 12


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

    # Number of tuples of each feature, the fraction of its weight at the last merge, and tuples.
    used: NDArray[np.int64]
    merged: Floats
    entries: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "used": Field(("n_features",), 0.0, dtype=np.int64),
        "merged": Field(("n_features",), 0.0),
        "entries": Field(("n_features", "room", "n_columns")),
    }

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
        self.room = self.size if epsilon is None else 8
        self.grow()

    @property
    def n_columns(self) -> int:
        """Number of columns of a tuple."""
        return gk_kernels.GAPS + self.n_classes

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        share = 0.0
        if self.epsilon is not None:
            share = 2.0 * self.epsilon
            self._set_room(int(self.used.max()) + columns.shape[1])

        def work(a: int, b: int) -> None:
            gk_kernels.absorb_quantiles(
                columns[a:b], np.argsort(columns[a:b], axis=1), classes, weights, share,
                self.merged[a:b], self.used[a:b], self.entries[a:b],
            )  # fmt: skip

        over_rows(work, len(columns), 1 + _THREAD // columns.shape[1], together=1)
        if self.epsilon is not None:
            self._set_room(max(8, int(self.used.max())))

    def _set_room(self, room: int) -> None:
        self.entries = np.ascontiguousarray(self.entries[:, :room])
        self.grow(room=room)

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self.entries.shape[1]) < self.used[:, None])

    @property
    def _weights(self) -> Floats:
        """Weight of each class for each tuple, 0 for unused tuples."""
        return np.asarray(self.entries[..., gk_kernels.GAPS :] * self._is_used[..., None])

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
        own, delta = self.entries[..., gk_kernels.OWN], self.entries[..., gk_kernels.DELTA]
        return np.asarray((self._weights.sum(axis=2) - own + delta) * self._is_used)

    def quantile(self, share: float) -> Floats:
        """Return the quantile of each feature at the level `share`, from 0 to 1.

        The rank of the result is off by at most `rank_error`. The result is NaN for a feature
        without observed values.
        """
        if not 0.0 <= share <= 1.0:
            raise ModelError(f"A share lies between 0 and 1; got {share!r}.")
        found = np.full(self.n_features, np.nan)
        for f in np.flatnonzero(self.used).tolist():
            values, weights, delta = self.tuples(f)
            below = np.cumsum(weights.sum(axis=1))
            rank = share * below[-1]
            # The weight of values equal to that of the tuple covers the ranks up to the tuple's
            # own.
            above = below + delta - self.entries[f, : len(below), gk_kernels.OWN] - rank
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
        found = self.entries[feature, : self.used[feature]].copy()
        return found[:, gk_kernels.VALUE], found[:, gk_kernels.GAPS :], found[:, gk_kernels.DELTA]

    def cells(self) -> Cells:
        """Return the tuples as cells: ranges of values with the weight of each class."""
        tuples = self.entries[self._is_used]
        high, low = (tuples[:, c].copy() for c in (gk_kernels.VALUE, gk_kernels.LOW))
        start = np.concatenate([[0], np.cumsum(self.used)]).astype(np.int64)
        return Cells.joined(start, tuples[:, gk_kernels.GAPS :], low, high)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        gk_kernels.fade_quantiles(factor, LIGHT, NOTHING, self.used, self.entries)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        return super().arrays() | {"limits": np.array([self.size, self.epsilon or 0.0])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        size, epsilon = arrays["limits"].tolist()
        n_features, room, n_columns = arrays["entries"].shape
        n_classes = n_columns - gk_kernels.GAPS
        made = cls(n_features, n_classes, size=int(size), epsilon=epsilon or None)
        made.room = made.room if epsilon == 0.0 else room
        return made.restore(arrays)

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        value, low, used = *np.moveaxis(self.entries, 2, 0)[:2], self._is_used
        if (self.used > self.room).any() or (self.entries[..., gk_kernels.OWN :] < 0).any():
            raise DataError(f"A saved state has at most {self.room} tuples of weights from 0 on.")
        check_ascending("value", value, used, ties=False)
        if (used & (low > value)).any():
            raise DataError("A saved state has tuples that begin after their end.")


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

    used: NDArray[np.int64]
    total: Floats
    edge: Floats
    count: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "used": Field(("n_features",), 0.0, dtype=np.int64),
        "total": Field(("n_features",), 0.0),
        "edge": Field(("n_features", "n_edges")),
        "count": Field(("n_features", "room", "n_classes"), 0.0),
    }

    def __init__(self, n_features: int = 1, n_classes: int = 1, *, size: int = 100) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        self.size = checked_size("size", size, 2)
        # One additional bin, as splits come before merges.
        self.room, self.n_edges = self.size + 1, self.size + 2
        self.grow()

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        if not columns.size:
            return
        state = (self.used, self.edge, self.count, self.total)
        arrays = (columns, classes, weights, *state)
        by_rows(pid_kernels.absorb_histograms, arrays, len(columns), 64 * columns.shape[1])

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.asarray((self.count * self._is_used[..., None]).sum(axis=1))

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self.count.shape[1]) < self.used[:, None])

    def bins(self, feature: int = 0) -> tuple[Floats, Floats]:
        """Return the ascending edges of a feature's bins, and the class weights of the bins."""
        n = self.used[feature]
        return self.edge[feature, : n + 1].copy(), self.count[feature, :n].copy()

    def cells(self) -> Cells:
        """Return the bins as cells, after merging empty bins into their neighbours."""
        used = self._is_used
        start = np.concatenate([[0], np.cumsum(self.used)]).astype(np.int64)
        low, high = self.edge[:, :-1][used], self.edge[:, 1:][used]
        return Cells.joined(start, self.count[used], low, high)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        state = (self.used, self.edge, self.count, self.total)
        pid_kernels.fade_histograms(factor, LIGHT, NOTHING, *state)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        n_features, room, n_classes = arrays["count"].shape
        return cls(n_features, n_classes, size=room - 1).restore(arrays)

    def check(self) -> None:
        """Raise a DataError unless the arrays are consistent with each other."""
        used = self.used[:, None]
        if (used > self.size).any():
            raise DataError(f"A saved state has at most {self.size} bins.")
        inside = (np.arange(self.n_edges) <= used) & (used > 0)
        check_ascending("edge", self.edge, inside, ties=True)


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

    count: Floats
    centre: Floats
    square: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "count": Field(("n_classes", "n_features"), 0.0),
        "centre": Field(("n_classes", "n_features")),
        "square": Field(("n_classes", "n_features"), 0.0),
    }

    def __init__(self, n_features: int = 1, n_classes: int = 1) -> None:
        self.n_features = checked_size("n_features", n_features, 0)
        self.n_classes = checked_size("n_classes", n_classes, 1)
        self.grow()

    @property
    def moments(self) -> GroupMoments:
        """Weight, mean and sum of squared deviations of each class, (n_classes, n_features)."""
        return GroupMoments(self.count, self.centre, self.square)

    def absorb(self, columns: Floats, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have been checked; see `ColumnSummaries.absorb`."""
        moments = self.moments + GroupMoments.collect(columns.T, classes, self.n_classes, weights)
        self.count, self.centre, self.square = moments.count, moments.mean, moments.square

    @property
    def counts(self) -> Floats:
        """Weight of the observed values of each feature and class, (n_features, n_classes)."""
        return np.ascontiguousarray(self.count.T)

    @property
    def mean(self) -> Floats:
        """Means, shape (n_features, n_classes); 0 without observed values."""
        return np.ascontiguousarray(self.centre.T)

    @property
    def variance(self) -> Floats:
        """Variances (divided by the weight), shape (n_features, n_classes); 0 where unknown."""
        return np.ascontiguousarray((self.square / np.where(self.count > 0, self.count, 1.0)).T)

    def _fade(self, factor: float) -> None:
        """Multiply the weights of all rows so far by a factor in [0, 1]; see `fade`."""
        there = self.count * factor >= NOTHING
        self.count = np.where(there, self.count * factor, 0.0)
        self.centre = np.where(there, self.centre, 0.0)
        self.square = np.where(there, self.square * factor, 0.0)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`."""
        return cls(*arrays["count"].shape[::-1]).restore(arrays)


# ----- Summaries of the columns of a stream in bounded memory, for all columns of a table together


# All summaries of numeric columns by name; the card of each class describes it, see
# ColumnSummaries.
SUMMARIES: dict[str, type[ColumnSummaries]] = {
    kind.name: kind for kind in (GKSummary, PiDSummary, GaussianSummary)
}
