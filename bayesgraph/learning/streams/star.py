"""A weighted naive Bayes (star) that learns from a stream in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.learning.streams import exponent_kernels
from bayesgraph.learning.streams.densities import (
    DENSITIES,
    Densities,
    GaussianDensities,
    IntervalDensities,
    StateDensities,
)
from bayesgraph.learning.streams.exponents import REMAINING_WEIGHT, DriftReaction, StreamExponents
from bayesgraph.learning.streams.settings import Block, Rows, StateCounts, StreamSettings
from bayesgraph.statistics import ColumnSummaries, part_of, state_array, widened

# ---- Checks of a streaming model's state read from a file: compiled kernels do not check arguments


DensitiesT = TypeVar("DensitiesT", bound=Densities)


def check_star(star: Any, absorbed: int, looked: int, waiting: int, held: float) -> None:
    """Raise a DataError unless the parts of a StreamingStar are consistent with each other.

    Parameters
    ----------
    star : StreamingStar
    absorbed, looked, waiting : int
        Number of rows in the summaries, in the summaries at the last refresh of the densities, and
        in the buffer.
    held : float
        Sum of the decay factors of the rows in the summaries.

    Raises
    ------
    DataError
    """
    counts, k = star.counts, star.n_classes
    check_densities(star.numbers, star.summaries.n_features, k)
    check_densities(star.states, len(counts), k)
    sizes = [
        counts.max_categories + 1 if j in counts.sketches else len(table)
        for j, table in enumerate(counts.tables)
    ]
    _require(
        0 <= looked <= absorbed and star.n_seen == absorbed + waiting and 0.0 <= held < np.inf,
        "numbers of rows that add up",
    )
    _require(
        (np.diff(star.states.start) <= sizes).all()
        and all(sketch.n_classes == k for sketch in counts.sketches.values())
        and set(star.states.grouped.tolist()) <= set(counts.sketches),
        "densities of states that were counted",
    )


def densities_of(kind: type[DensitiesT], arrays: Mapping[str, NDArray[Any]]) -> DensitiesT:
    """Return densities of class `kind` built from named arrays; refuse arrays of other classes."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    _require(arrays.keys() == known, f"densities with {quoted(sorted(known))}")
    return kind(**arrays)


def check_densities(found: Densities, n_features: int, n_classes: int) -> None:
    """Raise a DataError unless the arrays of densities are consistent with each other.

    Raises
    ------
    DataError
    """
    arrays = found.arrays()
    state_array(arrays, "centre", (n_classes, n_features))
    if isinstance(found, GaussianDensities):
        state_array(arrays, "mean", (n_features, n_classes))
        state_array(arrays, "variance", (n_features, n_classes), minimum=0.0)
        return
    logs = state_array(arrays, "logs", (None, n_classes))
    start = state_array(arrays, "start", (n_features + 1,), minimum=0, whole=True)
    cells = np.diff(start)
    fits = start[0] == 0 and start[-1] == len(logs)
    _require(fits and (cells >= isinstance(found, IntervalDensities)).all(), "cells in order")
    if isinstance(found, IntervalDensities):
        last = np.zeros(len(logs), dtype=np.bool_)
        last[start[1:] - 1] = True
        cuts = np.where(last, 0.0, found.cuts) if found.cuts.shape == last.shape else found.cuts
        state_array({"cuts": cuts}, "cuts", last.shape)
        _require(np.isposinf(found.cuts[last]).all(), "an infinite cut after each feature")
        _require((found.cuts[1:] > found.cuts[:-1])[~last[:-1]].all(), "cuts in ascending order")
    if isinstance(found, StateDensities):
        _check_groups(found, cells)


def _check_groups(found: StateDensities, cells: Any) -> None:
    """Raise a DataError unless the groups of values are valid and sorted for binary search.

    `cells` has the number of cells of each feature.
    """
    arrays, n = found.arrays(), len(found.grouped)
    state_array(arrays, "grouped", (n,), minimum=0, maximum=found.n_features - 1, whole=True)
    start = state_array(arrays, "key_start", (n + 1,), minimum=0, whole=True)
    keys = state_array(arrays, "keys", (None,), minimum=0, whole=True)
    places = state_array(arrays, "places", (len(keys),), minimum=0, whole=True)
    sizes = np.diff(start)
    fits = start[0] == 0 and start[-1] == len(keys) and (sizes >= 0).all()
    _require(fits and (np.diff(found.grouped) > 0).all(), "groups in the order of features")
    # The last state of a feature holds all other values.
    _require((places < np.repeat(cells[found.grouped] - 1, sizes)).all(), "places of groups")
    for a, b in itertools.pairwise(start.tolist()):
        _require((np.diff(keys[a:b]) > 0).all(), "keys in ascending order")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise DataError(f"A saved state has {what}; this one has not.")


# ----------------------------- A weighted naive Bayes (star) that learns from a stream in one pass


# Maximum and minimum number of rows of a block, which enter the summaries together.
_BLOCK, _FIRST_BLOCK = 256, 8
# Maximum number of rows that are predicted together: their log densities stay in the cache. If
# their sums are enough, it is a block.
_STRETCH = 64
# Number of new rows after which the densities are refreshed, as a share of the rows in the
# summaries.
_GROWTH = 0.25


class StreamingStar:
    """A streaming weighted naive Bayes: counts and summaries, current densities, and exponents.

    Each row passes three stages. First the row is predicted, and the exponents take one gradient
    step, with the densities estimated before. The row then waits in a buffer (block), and enters
    the summaries when the block is full. The densities are refreshed from the summaries when the
    rows added since the last refresh are a quarter of the rows in them, and sooner after a new
    feature or class. Blocks end and densities are refreshed after fixed numbers of rows, so that
    the model does not depend on the batches in which rows arrive.

    Parameters
    ----------
    summaries : ColumnSummaries
        Empty summaries of the numeric columns.
    n_states : int
        Number of discrete columns (columns of state codes).
    settings : StreamSettings

    Attributes
    ----------
    summaries : ColumnSummaries
        Summaries of the numeric columns.
    counts : StateCounts
        Counts of the columns of states.
    exponents : StreamExponents
    numbers, states : NumericDensities, StateDensities
        The current densities.
    watch : DriftReaction
    totals : ndarray, shape (n_classes,)
        Total weight of each class.
    n_seen : int
        Number of rows learned.
    """

    # Missing values of the numeric columns, and of those of states, in the rows of the summaries.
    _missing: tuple[NDArray[np.int64], NDArray[np.int64]]

    def __init__(self, summaries: ColumnSummaries, n_states: int, settings: StreamSettings) -> None:
        self.settings = settings
        n_classes = summaries.n_classes
        self.counts = StateCounts(n_classes, n_states, max_categories=settings.max_categories)
        self.summaries = summaries
        self.exponents = StreamExponents(
            n_classes,
            self.n_features,
            mode=settings.exponents,
            step=settings.step,
            domain=settings.domain,
            decay=settings.decay,
            smoothing=settings.smoothing.alpha,
        )
        self.watch = DriftReaction(settings.detector, _BLOCK)
        self.totals = np.zeros(n_classes)
        self.n_seen = 0
        self._absorbed, self._looked, self._due, self._grown = 0, 0, False, 0
        # Number of rows in the summaries, with decay: the schedule depends on rows, not on weights.
        self._held = 0.0
        self._waiting = Block(summaries.n_features, n_states, _BLOCK)
        self._missing = np.zeros(summaries.n_features, int), np.zeros(n_states, int)
        self._centre = np.zeros((n_classes, self.n_features))
        self._look()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.totals)

    @property
    def n_features(self) -> int:
        """Number of columns, numeric and of states."""
        return self.summaries.n_features + len(self.counts)

    # ------------------------------------------------------------------------------- learning

    def learn(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
        out: Floats | None = None,
    ) -> None:
        """Learn from rows in their order.

        Parameters
        ----------
        columns : ndarray, shape (numeric columns, n)
            NaN where missing.
        codes : ndarray, shape (columns of states, n)
            -1 where missing.
        classes : ndarray, shape (n,)
        weights : ndarray, shape (n,)
        out : ndarray, shape (n, n_classes), optional
            Receives the class probabilities that the model predicts before it learns each row.
        """
        first, n = 0, len(classes)
        block = columns, codes, classes, weights
        while first < n:
            size = self._block_size()
            last = min(n, first + size - self._waiting.filled)
            rows = slice(first, last)
            if last - first < n:
                block = (columns[:, rows], codes[:, rows], classes[rows], weights[rows])
            here = self._waiting.add(*block)
            if self.exponents.moves or self.watch.is_on or out is not None:
                n_predicted = last - first if self.watch.is_on else 0
                predicted = np.empty((n_predicted, self.n_classes)) if out is None else out[rows]
                # Of a whole block the buffer's arrays are contiguous.
                self._predict(self._waiting.part(here), predicted)
                if self.watch.is_on:
                    self.watch.note(here, predicted, classes[rows])
            else:
                exponent_kernels.add_weights(*block[2:], self.settings.decay, self.totals)
            self.n_seen += last - first
            first = last
            if self._waiting.filled == size:
                self._absorb()
                if self._due or self._absorbed - self._looked >= self._patience():
                    self._look()

    def _predict(self, block: Rows, out: Floats) -> None:
        """Predict rows one after the other, with what the totals and exponents learn of each.

        `out` receives the class probabilities, shape (n, n_classes); if exponents are learned,
        it may have no rows.
        """
        columns, codes, classes, weights = block
        if self.exponents.moves:
            logs = self.log_densities(columns, codes)
            self.exponents.step(logs, classes, weights, self._centre, self.totals, out)
            return
        decay, smoothing = self.settings.decay, self.settings.smoothing.alpha
        scores = self._sums(columns, codes)
        exponent_kernels.predict_rows(scores, classes, weights, decay, smoothing, self.totals, out)

    def _patience(self) -> float:
        """Return the number of new rows after which the densities are refreshed.

        It is a quarter of the rows in the summaries, and less while the newest feature or class has
        few rows.
        """
        return max(_FIRST_BLOCK, min(_GROWTH * self._held, self._looked - self._grown))

    def _block_size(self) -> int:
        grown = int(_GROWTH * (self._absorbed - self.watch.begun))
        return _BLOCK if grown >= _BLOCK else max(_FIRST_BLOCK, grown)

    def log_densities(self, columns: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return log p(x_i | y) of rows, shape (n, n_classes, n_features), 0 where missing."""
        logs = np.empty((columns.shape[1], self.n_classes, self.n_features))
        # Tables are read row by row: a block is transposed while it is in the cache.
        self.numbers.write(np.ascontiguousarray(columns), logs, 0)
        if len(codes):
            self.states.write(codes, logs, self.summaries.n_features)
        return logs

    def _sums(self, columns: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return the sums of the log densities of rows, shape (n_classes, n)."""
        sums = np.zeros((self.n_classes, columns.shape[1]))
        self.numbers.add(np.ascontiguousarray(columns), sums)
        if len(codes):
            self.states.add(codes, sums)
        return sums

    def _absorb(self) -> None:
        """Add the buffered rows to the summaries, after any reaction to drift."""
        block, decay = self._waiting, self.settings.decay
        n = block.filled
        columns, codes, classes, weights = block.rows
        self._missing = self.missing
        # Class totals have decayed row by row, and already include the rows of the block.
        ages = decay ** np.arange(n - 1.0, -1.0, -1.0)
        weights = weights * ages
        waiting = np.bincount(classes, weights, self.n_classes).astype(np.float64)
        if self.watch.alarmed(n, self.n_seen - n):
            self._react(waiting)
        self._fade(decay**n)
        unit = np.empty(0) if (weights == 1.0).all() else weights
        self.summaries.absorb(np.ascontiguousarray(columns), classes, unit)
        self.counts.absorb(codes, classes, weights)
        self._held += float(ages.sum())
        self._absorbed += n
        block.empty()

    @property
    def missing(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Missing values in the rows learned: of the numeric columns, and of those of states."""
        columns, codes, _, _ = self._waiting.rows
        numbers, states = self._missing
        return numbers + np.isnan(columns).sum(axis=1), states + (codes < 0).sum(axis=1)

    def _fade(self, factor: float) -> None:
        """Multiply all weights in the summaries by a factor."""
        if factor < 1.0:
            self.summaries.fade(factor)
            self.counts.fade(factor)
            self._held *= factor

    def _react(self, waiting: Floats) -> None:
        """React to an alarm, before the block that raised it enters the summaries.

        `waiting` has the class weights of the rows of this block.
        """
        if self.settings.on_drift == "note":
            return
        self.exponents.quicken()
        if self.settings.on_drift == "forget":
            self.exponents.begin()
            share = min(1.0, REMAINING_WEIGHT / max(self._held, 1.0))
            self._fade(share)
            self.totals = share * np.maximum(self.totals - waiting, 0.0) + waiting
            # Blocks are as small as at the start, and the densities are refreshed after this block.
            self.watch.begun = self._absorbed
            self._due = True

    def _look(self) -> None:
        """Refresh the densities from the summaries."""
        set_ = self.settings
        self.numbers = DENSITIES[self.summaries.densities].from_summaries(self.summaries, set_)
        counts = self.counts
        self.states = StateDensities.of(
            counts.tables, self.n_classes, set_.smoothing.alpha, counts.sketches
        )
        before, self._centre = self._centre, self._centre_now()
        self.exponents.shift(self._centre - before)
        self._looked, self._due = self._absorbed, False

    def _centre_now(self) -> Floats:
        """Return the means of the current log densities, shape (n_classes, n_features)."""
        both = [self.numbers.centre, self.states.centre]
        return np.ascontiguousarray(np.concatenate(both, axis=1))

    def refresh(self) -> None:
        """Add the buffered rows to the summaries, and refresh the densities ahead of schedule."""
        if self._waiting.filled:
            self._absorb()
        self._look()

    # ----------------------------------------------------------------------------- prediction

    def log_scores(self, columns: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return unnormalised log posteriors of rows, with averaged exponents, (n, n_classes)."""
        out = np.empty((columns.shape[1], self.n_classes))
        size = _STRETCH if self.exponents.moves else _BLOCK
        if len(out) > size:
            for first in range(0, len(out), size):
                rows = slice(first, first + size)
                out[rows] = self.log_scores(columns[:, rows], codes[:, rows])
            return out
        if not self.exponents.moves:
            return np.add(self._sums(columns, codes).T, self.log_prior, out=out)
        learned = self.exponents.state
        exponent_kernels.score_rows(
            self.log_densities(columns, codes), self.totals, self.settings.smoothing.alpha,
            learned.mean_bias, learned.mean_shared, learned.mean_own, out,
        )  # fmt: skip
        return out

    @property
    def log_prior(self) -> Floats:
        """Log prior of each class, without the learned bias."""
        found = np.empty(self.n_classes)
        exponent_kernels.log_prior(self.totals, self.settings.smoothing.alpha, found)
        return found

    def is_sketched(self, column: int) -> bool:
        """Return whether a column of states is counted by a sketch, as it had too many states."""
        return column in self.counts.sketches

    def keys_in_use(self, column: int) -> set[int]:
        """Return the codes of a column's states that the buffer, sketch or densities still use."""
        found = set(self._waiting.rows[1][column].tolist())
        if self.is_sketched(column):
            found.update(self.counts.sketches[column].listed()[0].tolist())
        groups = self.states.groups(column)
        return found if groups is None else found.union(groups[0].tolist())

    # --------------------------------------------------------------------------------- growth

    def grow(self, *, n_classes: int | None = None, n_numbers: int = 0, n_states: int = 0) -> None:
        """Add classes up to `n_classes`, `n_numbers` numeric and `n_states` discrete columns.

        Densities are widened without a refresh: buffered rows stay in the buffer, and many classes
        may be added one after the other.
        """
        held = self.totals + self.settings.smoothing.alpha
        shares = held / held.sum()
        at, k = self.summaries.n_features, n_classes or self.n_classes
        self.summaries.grow(n_features=at + n_numbers, n_classes=k)
        self.counts.grow(k, len(self.counts) + n_states)
        self._waiting.grow(self.summaries.n_features, len(self.counts))
        self.totals = widened(self.totals, (k,))
        shape = (k, self.n_features)
        self.exponents.grow(*shape, at, n_numbers)
        self.numbers = self.numbers.grown(n_numbers, shares, k)
        self.states = self.states.grown(n_states, shares, k)
        # A column is missing in all rows before it came.
        numbers, states = self._missing
        self._missing = (
            np.append(numbers, np.full(n_numbers, self._absorbed)),
            np.append(states, np.full(n_states, self._absorbed)),
        )
        self._centre = self._centre_now()
        self._grown = self._absorbed

    # ---------------------------------------------------------------------------------- files

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as named arrays, exact to the bit."""
        state: dict[str, NDArray[Any]] = {
            "numbers": np.array(
                [self.n_seen, self._absorbed, self._looked, self._due, self._grown]
            ),
            "held": np.array([self._held]),
            "totals": self.totals,
            "missing": np.concatenate(self._missing),
        }
        state |= self._waiting.arrays() | self.exponents.arrays() | self.counts.arrays()
        parts = {
            "summaries": self.summaries.arrays(),
            "numbers": self.numbers.arrays(),
            "states": self.states.arrays(),
            "watch": self.watch.arrays(self._waiting.filled),
        }
        for part, found in parts.items():
            state |= {f"{part}.{name}": array for name, array in found.items()}
        return state

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        summaries: type[ColumnSummaries],
        settings: StreamSettings,
    ) -> StreamingStar:
        """Return a StreamingStar with the state in the named arrays of `arrays`.

        Raises
        ------
        DataError, LookupError, TypeError, ValueError
            If the arrays are not a valid state.
        """
        held = summaries.from_arrays(part_of(arrays, "summaries."))
        made = cls(held, len(arrays["waiting_codes"]), settings)
        made.totals = state_array(arrays, "totals", (held.n_classes,), minimum=0.0)
        made.n_seen, made._absorbed, made._looked, due, made._grown = arrays["numbers"].tolist()
        made._due = bool(due)
        made._held = float(arrays["held"][0])
        # The missing values of the columns in the arrays of a file.
        n_numbers = held.n_features
        n_states = len(made.counts)
        found = arrays["missing"]
        is_whole = found.dtype.kind == "i" and found.shape == (n_numbers + n_states,)
        if not is_whole or not ((found >= 0) & (found <= made._absorbed)).all():
            raise ValueError("the numbers of missing values are none")
        made._missing = found[:n_numbers].astype(np.int64), found[n_numbers:].astype(np.int64)
        made.counts.restore(arrays)
        made.exponents.restore(arrays)
        made._waiting.restore(arrays, held.n_classes)
        made.watch.restore(part_of(arrays, "watch."), made._waiting.filled)
        made.numbers = densities_of(DENSITIES[summaries.densities], part_of(arrays, "numbers."))
        made.states = densities_of(StateDensities, part_of(arrays, "states."))
        check_star(made, made._absorbed, made._looked, made._waiting.filled, made._held)
        made._centre = made._centre_now()
        if made._waiting.filled >= made._block_size():  # possible only if the file was manipulated
            made._absorb()
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of the state, including the full capacity of the buffer."""
        own = sum(a.nbytes for name, a in self.arrays().items() if not name.startswith("waiting"))
        return own + self._waiting.nbytes
