"""A star that learns from a stream: summaries, densities and exponents in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD
from bayesgraph.errors import ModelError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming import kernels
from bayesgraph.learning.streaming.checks import check_star
from bayesgraph.learning.streaming.densities import (
    KINDS,
    METHODS,
    StateDensities,
    numeric_densities,
    table_plate,
)
from bayesgraph.learning.streaming.panes import PaneCounts
from bayesgraph.learning.streaming.watch import KEPT, DriftWatch
from bayesgraph.statistics.sketches import (
    PANES,
    ColumnSummaries,
    CountMinClass,
    WindowedSummaries,
)
from bayesgraph.statistics.sketches.base import checked_size, widened
from bayesgraph.statistics.sketches.frequencies import FIRST_KEY
from bayesgraph.variables import Discrete, Variable

MODES = {
    None: kernels.FIXED,
    "variable": kernels.VARIABLE,
    "class": kernels.CLASS,
    "mixed": kernels.MIXED,
}
DOMAINS = {"free": -np.inf, "nonnegative": 0.0}
REACTIONS = ("forget", "quicken", "note")

# Rows that are put into the summaries together, at most and at least.
_BLOCK, _FIRST_BLOCK = 256, 8
# Rows that are predicted together: their log densities stay in the cache.
_STRETCH = 64
# Densities are made anew when the stream has grown by this share.
_GROWTH = 0.25
# Of an exponent: how far the first steps go (exponents are near 1 and have no unit, so that one
# number serves all streams), and the squared gradients (nats) that are there before any is seen.
ADAPTIVE_STEP, _FIRST_SQUARES = 0.1, 1.0
# Deviations of a class move slower than what all classes share.
_OWN_SHARE = 0.2
# The average weighs step t by about t to this power: half of it comes from the last eighth.
_AVERAGE_POWER = 4.0


@dataclass(frozen=True)
class StreamSettings:
    """How a star learns from a stream.

    Attributes
    ----------
    exponents : {None, "variable", "class", "mixed"}
        None for exponents that stay 1.
    step : float, optional
        A fixed step; by default steps adapt to the gradients of each exponent (AdaGrad).
    domain : {"free", "nonnegative"}
    method : {"smooth", "modl", "frequency", "entropy", "kmeans"}
        How summaries become intervals.
    n_intervals : int
        Of the methods that do not choose it.
    alpha : float
        Rows added to each interval, state and class.
    shrinkage, var_smoothing : float
        Of Gaussians.
    decay : float
        Factor of all weights after each row, in (0, 1].
    max_categories : int
        States of a column that are counted one by one.
    window : int, optional
        Rows that the summaries are of: the last ones. By default all.
    detector : str, detector or None
        Of drift, fed with the errors of predictions before each row.
    on_drift : {"forget", "quicken", "note"}
        What an alarm brings.
    """

    exponents: str | None = "mixed"
    step: float | None = None
    domain: str = "free"
    method: str = "smooth"
    n_intervals: int = 10
    alpha: float = 1.0
    shrinkage: float = 20.0
    var_smoothing: float = 1e-9
    decay: float = 1.0
    max_categories: int = 1000
    window: int | None = None
    detector: Any = None
    on_drift: str = "forget"

    def __post_init__(self) -> None:
        for name, known in (
            ("exponents", MODES),
            ("domain", DOMAINS),
            ("method", METHODS),
            ("on_drift", REACTIONS),
        ):
            if getattr(self, name) not in known:
                raise ModelError(f"{name}= is one of {quoted(known)}; got {getattr(self, name)!r}.")
        checked_size("max_categories", self.max_categories, 1)
        if not 0.0 < self.decay <= 1.0:
            raise ModelError(f"decay lies above 0 and up to 1; got {self.decay!r}.")
        if not 0.0 < self.alpha < np.inf:
            raise ModelError(
                f"alpha is a positive number, so that all logarithms are finite; got "
                f"{self.alpha!r}."
            )
        for name in ("shrinkage", "var_smoothing"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ModelError(
                    f"{name} is a finite number that is not negative; got {getattr(self, name)!r}."
                )
        checked_size("n_intervals", self.n_intervals, 1)
        if self.step is not None and not 0.0 < self.step < np.inf:
            raise ModelError(f"step is a positive number or None; got {self.step!r}.")


_STEPS = ("shared", "squares", "mean_shared")
_OWN = ("own", "own_squares", "mean_own")
_BIASES = ("bias", "bias_squares", "mean_bias")


class StreamingStar:
    """Class counts, summaries of all columns, the densities in force, and the exponents.

    Rows pass three stages. First the row is predicted, and the exponents take one gradient step
    with the densities as they were before it. It then waits in a block; blocks enter the summaries
    when they are full. When the stream has grown by a quarter, densities are made anew. Blocks and
    looks at the summaries come after fixed numbers of rows, so that the model does not depend on
    the batches in which rows arrive.

    Parameters
    ----------
    summaries : ColumnSummaries
        Of the numeric columns; empty.
    n_states : int
        Columns of states.
    settings : StreamSettings

    Attributes
    ----------
    tables : list of ndarray, shape (n_states, n_classes) each
        Counts of the columns of states.
    sketches : dict from int to CountMinClass
        In place of the table, for columns that have had a code of `FIRST_KEY` or more: a value
        beyond those that are counted one by one.
    totals : ndarray, shape (n_classes,)
        Weight of each class.
    n_seen : int
        Rows.
    """

    def __init__(self, summaries: ColumnSummaries, n_states: int, settings: StreamSettings) -> None:
        self.settings = settings
        n_classes = summaries.n_classes
        self.panes = PaneCounts(settings.window, n_classes, n_states)
        windowed = not self.panes.is_on or isinstance(summaries, WindowedSummaries)
        self.summaries = summaries if windowed else WindowedSummaries(summaries)
        self.tables = [np.zeros((0, n_classes)) for _ in range(n_states)]
        self.sketches: dict[int, CountMinClass] = {}
        self.totals = np.zeros(n_classes)
        self.n_seen = 0
        self._absorbed, self._looked, self._held = 0, 0, 0.0
        d = self.n_features
        self.shared, self.mean_shared = np.ones(d), np.ones(d)
        self.own, self.mean_own = np.zeros((n_classes, d)), np.zeros((n_classes, d))
        self.bias, self.mean_bias = np.zeros(n_classes), np.zeros(n_classes)
        self.squares = np.full(d, _FIRST_SQUARES)
        self.own_squares = np.full((n_classes, d), _FIRST_SQUARES)
        self.bias_squares = np.full(n_classes, _FIRST_SQUARES)
        self.clock = np.array([0.0, _AVERAGE_POWER])
        self._columns = np.empty((summaries.n_features, _BLOCK))
        self._codes = np.empty((n_states, _BLOCK), dtype=np.int64)
        self._classes = np.empty(_BLOCK, dtype=np.int64)
        self._weights = np.empty(_BLOCK)
        self._filled = 0
        self.watch = DriftWatch(settings.detector, _BLOCK)
        self._centre = np.zeros((n_classes, d))
        self._look()

    @property
    def n_classes(self) -> int:
        """Classes."""
        return len(self.totals)

    @property
    def n_features(self) -> int:
        """Columns of either kind."""
        return self.summaries.n_features + len(self.tables)

    @property
    def kind(self) -> type[ColumnSummaries]:
        """Of the summaries, or of the panes of a window."""
        found = self.summaries
        return found.kind if isinstance(found, WindowedSummaries) else type(found)

    # ------------------------------------------------------------------------------- learning

    def learn(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
        out: Floats | None = None,
    ) -> None:
        """Learn from rows, in their order.

        Parameters
        ----------
        columns : ndarray, shape (numeric columns, n)
            NaN where missing.
        codes : ndarray, shape (columns of states, n)
            -1 where missing.
        classes : ndarray, shape (n,)
        weights : ndarray, shape (n,)
        out : ndarray, shape (n, n_classes), optional
            Takes the probabilities that the model gave before it saw each row.
        """
        first, n = 0, len(classes)
        while first < n:
            last = min(n, first + self._block_size() - self._filled)
            rows = slice(first, last)
            here = slice(self._filled, self._filled + last - first)
            self._columns[:, here] = columns[:, rows]
            self._codes[:, here] = codes[:, rows]
            self._classes[here] = classes[rows]
            self._weights[here] = weights[rows]
            n_asked = last - first if self.watch.is_on else 0
            asked = np.empty((n_asked, self.n_classes)) if out is None else out[rows]
            self._step(columns[:, rows], codes[:, rows], classes[rows], weights[rows], asked)
            if self.watch.is_on:
                self.watch.note(here, asked, classes[rows])
            self._filled += last - first
            self.n_seen += last - first
            first = last
            if self._filled == self._block_size():
                self._absorb()
                if self._absorbed >= self._looked + max(_FIRST_BLOCK, _GROWTH * self._held):
                    self._look()

    def _block_size(self) -> int:
        return self.panes.room(
            min(_BLOCK, max(_FIRST_BLOCK, int(_GROWTH * (self._absorbed - self.watch.begun))))
        )

    def _step(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
        out: Floats,
    ) -> None:
        set_ = self.settings
        mode = MODES[set_.exponents]
        logs = (
            self.log_densities(columns, codes)
            if mode != kernels.FIXED or len(out)
            else np.empty((len(classes), self.n_classes, 0))
        )
        width = logs.shape[2]
        step = ADAPTIVE_STEP if set_.step is None else set_.step
        own = step * _OWN_SHARE if set_.step is None and set_.exponents == "mixed" else step
        kernels.learn_rows(
            logs, classes, weights, self._centre, mode, step, own, set_.step is None,
            DOMAINS[set_.domain], set_.alpha, self.totals, self.clock,
            self.shared[:width], self.own[:, :width], self.bias, self.squares, self.own_squares,
            self.bias_squares, self.mean_shared[:width], self.mean_own[:, :width], self.mean_bias,
            out,
        )  # fmt: skip

    def log_densities(self, columns: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return log densities of rows, shape (n, n_classes, n_features), 0 where missing."""
        logs = np.empty((columns.shape[1], self.n_classes, self.n_features))
        self.numbers.write(columns, logs, 0)
        self.states.write(codes, logs, self.summaries.n_features)
        return logs

    def _absorb(self) -> None:
        """Put the block that waits into the summaries."""
        n = self._filled
        classes, weights = self._classes[:n], self._weights[:n]
        if self.watch.alarmed(n, self.n_seen - n):
            self._react()
        if self.panes.is_full:
            self._turn()
        self._fade(self.settings.decay**n)
        unit = np.empty(0) if (weights == 1.0).all() else weights
        self.summaries.absorb(np.ascontiguousarray(self._columns[:, :n]), classes, unit)
        fresh = [np.zeros((0, self.n_classes)) for _ in self.tables]
        for j, codes in enumerate(self._codes[:, :n]):
            if codes.max(initial=-1) >= FIRST_KEY and j not in self.sketches:
                self.sketches[j] = _sketched(self.tables[j], self.settings.max_categories)
                self.tables[j] = self.tables[j][:0]
            if j in self.sketches:
                self.sketches[j].absorb(codes, classes, weights)
            else:
                self.tables[j] = _counted(self.tables[j], codes, classes, weights)
                if self.panes.is_on:
                    fresh[j] = _counted(fresh[j], codes, classes, weights)
        if self.panes.is_on:
            self.panes.add(n, self._waiting(), fresh)
        self._held += float(weights.sum())
        self._absorbed += n
        self._filled = 0

    def _fade(self, factor: float) -> None:
        """Multiply the weight of all that was seen."""
        if factor < 1.0:
            self.summaries.fade(factor)
            for table in self.tables:
                table *= factor
            for sketch in self.sketches.values():
                sketch.fade(factor)
            self.panes.fade(factor)
            self.totals *= factor
            self._held *= factor

    def _waiting(self) -> Floats:
        """Return the weight of each class in the block that waits, which is in the totals."""
        n = self._filled
        found = np.bincount(self._classes[:n], self._weights[:n], self.n_classes)
        return found.astype(np.float64)

    def _turn(self) -> None:
        """Begin a pane of the window; the oldest one is forgotten."""
        assert isinstance(self.summaries, WindowedSummaries)  # there is a window
        self.summaries.turn()
        totals, self.tables = self.panes.turn()
        for j, sketch in self.sketches.items():
            # What left the window cannot be taken out of a sketch, only its share.
            self.tables[j] = self.tables[j][:0]
            sketch.fade(1.0 - 1.0 / PANES)
        self._held = float(totals.sum())
        self.totals = totals + self._waiting()

    def _react(self) -> None:
        """Do something about an alarm, before the block that brought it enters the summaries."""
        if self.settings.on_drift == "note":
            return
        self.quicken()
        if self.settings.on_drift == "forget":
            self._begin_exponents()
            waiting = self._waiting()
            self.totals -= waiting
            self._fade(min(1.0, KEPT / max(self._held, 1.0)))
            self.totals += waiting
            # Blocks come as in the beginning, and the next look after this one.
            self.watch.begun = self._absorbed
            self._looked -= _BLOCK

    def _look(self) -> None:
        """Make densities from the summaries."""
        set_ = self.settings
        self.numbers = numeric_densities(
            self.summaries,
            method=set_.method,
            most=set_.n_intervals,
            smoothing=set_.alpha,
            shrinkage=set_.shrinkage,
            var_smoothing=set_.var_smoothing,
        )
        self.states = StateDensities.of(self.tables, self.n_classes, set_.alpha, self.sketches)
        before = self._centre
        self._note()
        # Finer intervals are less probable, each of them: what an exponent other than 1 makes of
        # that belongs to the bias.
        moved = self._centre - before
        self.bias -= ((self.shared + self.own - 1.0) * moved).sum(axis=1)
        self.mean_bias -= ((self.mean_shared + self.mean_own - 1.0) * moved).sum(axis=1)

    def _note(self) -> None:
        self._centre = np.ascontiguousarray(
            np.concatenate([self.numbers.centre, self.states.centre], axis=1)
        )
        self._looked = self._absorbed

    def settle(self) -> None:
        """Put what waits into the summaries and make the densities anew, whatever the schedule."""
        if self._filled:
            self._absorb()
        self._look()

    def _begin_exponents(self) -> None:
        for ones in (self.shared, self.mean_shared):
            ones[:] = 1.0
        for zeros in (self.own, self.mean_own, self.bias, self.mean_bias):
            zeros[:] = 0.0

    def quicken(self) -> None:
        """Let the exponents move as in the beginning: after a change of what is learned."""
        for squares in (self.squares, self.own_squares, self.bias_squares):
            squares[:] = _FIRST_SQUARES
        self.clock[0] = 0.0

    # ----------------------------------------------------------------------------- prediction

    def log_scores(self, columns: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return the log score of each class for rows, shape (n, n_classes), averaged exponents."""
        out = np.empty((columns.shape[1], self.n_classes))
        for first in range(0, len(out), _STRETCH):
            rows = slice(first, first + _STRETCH)
            logs = self.log_densities(np.ascontiguousarray(columns[:, rows]), codes[:, rows])
            prior = self.log_prior + self.mean_bias
            kernels.score_rows(logs, prior, self.mean_shared, self.mean_own, out[rows])
        return out

    @property
    def log_prior(self) -> Floats:
        """Log probability of each class, without its bias."""
        held = self.totals + self.settings.alpha
        return np.asarray(np.log(held / held.sum()))

    @property
    def exponents(self) -> Floats:
        """Averaged exponents, shape (n_classes, n_features)."""
        return self.mean_shared + self.mean_own

    def keys_in_use(self, column: int) -> set[int]:
        """Return the codes of a column's states that the model may be asked for."""
        found = set(self._codes[column, : self._filled].tolist())
        if column in self.sketches:
            found.update(self.sketches[column].listed()[0].tolist())
        groups = self.states.groups(column)
        return found if groups is None else found.union(groups[0].tolist())

    def state_plate(
        self, variables: Sequence[Variable], target: Discrete, order: Sequence[int]
    ) -> CPD:
        """Return the tables of the columns of states; one that has none yet has a single state.

        `order` says where the densities of each state stand.
        """
        start, logs = self.states.start, self.states.logs[list(order)]
        empty = np.flatnonzero(np.diff(start) == 0)
        logs = np.insert(logs, start[empty], 0.0, axis=0)
        sizes = np.maximum(np.diff(start), 1)
        return table_plate(variables, np.concatenate([[0], np.cumsum(sizes)]), logs, target)

    # --------------------------------------------------------------------------------- growth

    def grow(self, *, n_classes: int | None = None, n_numbers: int = 0, n_states: int = 0) -> None:
        """Make room for classes, and for columns after those of their kind."""
        if self._filled:
            self._absorb()
        old_numbers = self.summaries.n_features
        k = n_classes or self.n_classes
        self.summaries.grow(n_features=old_numbers + n_numbers, n_classes=k)
        self.panes.grow(k, len(self.tables) + n_states)
        self.tables = [widened(table, (len(table), k)) for table in self.tables]
        for sketch in self.sketches.values():
            sketch.grow(n_classes=k)
        self.tables += [np.zeros((0, k)) for _ in range(n_states)]
        self.totals = widened(self.totals, (k,))
        self._columns = widened(self._columns, (self.summaries.n_features, _BLOCK))
        self._codes = widened(self._codes, (len(self.tables), _BLOCK))
        for name in (*_STEPS, *_OWN):
            old = getattr(self, name)
            fresh = {"shared": 1.0, "mean_shared": 1.0, "own": 0.0, "mean_own": 0.0}.get(
                name, _FIRST_SQUARES
            )
            array = np.full((*((k,) if name in _OWN else ()), self.n_features), fresh)
            part = array[: len(old)] if name in _OWN else array
            part[..., :old_numbers] = old[..., :old_numbers]
            part[..., old_numbers + n_numbers : old.shape[-1] + n_numbers] = old[..., old_numbers:]
            setattr(self, name, array)
        for name in _BIASES:
            old = getattr(self, name)
            array = np.full(k, _FIRST_SQUARES if name == "bias_squares" else 0.0)
            array[: len(old)] = old
            setattr(self, name, array)
        old_centre, self._centre = self._centre, np.zeros((k, self.n_features))
        part = self._centre[: len(old_centre)]
        part[:, :old_numbers] = old_centre[:, :old_numbers]
        part[:, old_numbers + n_numbers : old_centre.shape[1] + n_numbers] = old_centre[
            :, old_numbers:
        ]
        self._look()

    # ---------------------------------------------------------------------------------- files

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the whole state as arrays, to the bit."""
        n = self._filled
        state: dict[str, NDArray[Any]] = {
            "numbers": np.array([self.n_seen, self._absorbed, self._looked]),
            "held": np.array([self._held]),
            "totals": self.totals,
            "clock": self.clock,
            "waiting": self._columns[:, :n],
            "waiting_codes": self._codes[:, :n],
            "waiting_classes": self._classes[:n],
            "waiting_weights": self._weights[:n],
        }
        state |= {name: getattr(self, name) for name in (*_STEPS, *_OWN, *_BIASES)}
        state |= {f"table_{j}": table for j, table in enumerate(self.tables)}
        for j, sketch in self.sketches.items():
            state |= {f"sketch_{j}.{name}": array for name, array in sketch.arrays().items()}
        state |= {f"watch.{name}": array for name, array in self.watch.arrays(n).items()}
        for part in ("summaries", "panes", "numbers", "states"):
            found = getattr(self, part).arrays()
            state |= {f"{part}.{name}": array for name, array in found.items()}
        return state

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        summaries: type[ColumnSummaries],
        settings: StreamSettings,
    ) -> StreamingStar:
        """Return a star in the state that `arrays` returned.

        Raises
        ------
        DataError, LookupError, TypeError, ValueError
            For what it never returns.
        """
        parts: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            part, dot, rest = name.partition(".")
            if dot:
                parts.setdefault(part, {})[rest] = array
        tables = [arrays[f"table_{j}"] for j in range(len(arrays["waiting_codes"]))]
        held: ColumnSummaries = (
            summaries.from_arrays(parts["summaries"])
            if settings.window is None
            else WindowedSummaries.restored(summaries, parts["summaries"])
        )
        made = cls(held, len(tables), settings)
        made.tables = tables
        made.sketches = {
            j: CountMinClass.from_arrays(parts[f"sketch_{j}"])
            for j in range(len(tables))
            if f"sketch_{j}" in parts
        }
        for name in ("totals", "clock", *_STEPS, *_OWN, *_BIASES):
            setattr(made, name, arrays[name])
        seen, absorbed, looked = arrays["numbers"].tolist()
        n = len(arrays["waiting_classes"])
        made._columns[:, :n] = arrays["waiting"]
        made._codes[:, :n] = arrays["waiting_codes"]
        made._classes[:n] = arrays["waiting_classes"]
        made._weights[:n] = arrays["waiting_weights"]
        made._filled, made.n_seen, made._absorbed = n, seen, absorbed
        made._held = float(arrays["held"][0])
        made.watch.restore(parts["watch"], n)
        made.panes.restore(parts["panes"])
        kind = "intervals" if "cuts" in parts["numbers"] else "gaussians"
        made.numbers = KINDS[kind](**parts["numbers"])
        made.states = StateDensities(**parts["states"])
        made._looked = looked
        check_star(made, _STEPS, _OWN, _BIASES)
        made._note()
        made._looked = looked
        if made._filled >= made._block_size():  # a file of a version with longer blocks
            made._absorb()
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of the state, with the room for a block that waits."""
        waiting = self._columns.nbytes + self._codes.nbytes
        own = sum(a.nbytes for name, a in self.arrays().items() if not name.startswith("waiting"))
        return own + waiting + self._classes.nbytes + self._weights.nbytes


def _sketched(table: Floats, most: int) -> CountMinClass:
    """Return a sketch of what a table has counted."""
    n, k = table.shape
    sketch = CountMinClass(k, exact=most)
    sketch.absorb(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), table.ravel())
    return sketch


def _counted(
    table: Floats, codes: NDArray[np.int64], classes: NDArray[np.int64], weights: Floats
) -> Floats:
    """Return a table of counts with more rows in it, and more states if there are."""
    there = codes >= 0
    size, k = max(len(table), int(codes.max(initial=-1)) + 1), table.shape[1]
    at = codes[there] * k + classes[there]
    counts = widened(table, (size, k)).copy()
    counts += np.bincount(at, weights[there], minlength=size * k).reshape(size, k)
    return counts
