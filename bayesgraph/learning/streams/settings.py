"""Settings of a weighted naive Bayes that learns from a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, ModelError, quoted
from bayesgraph.core.variables import plain
from bayesgraph.learning.streams.exponents import DOMAINS, MODES
from bayesgraph.statistics import (
    CELL_METHODS,
    FIRST_KEY,
    FrequentValues,
    Smoothing,
    as_smoothing,
    checked_size,
    part_of,
    state_array,
    widened,
)

# ------------------------------------ Settings of a weighted naive Bayes that learns from a stream


# Name of the method that estimates densities as smooth functions of ranks, not by a discretiser.
SMOOTH = "smooth"
DISCRETIZERS = (SMOOTH, *CELL_METHODS)
REACTIONS = ("forget", "quicken", "note")


@dataclass(frozen=True)
class StreamSettings:
    """Settings with which a StreamingStar learns from a stream.

    Attributes
    ----------
    exponents : {None, "variable", "class", "mixed"}
        Which exponents are learned: none (all stay 1), one per feature, one per feature and class,
        or shared ones plus class deviations.
    step : float, optional
        Fixed step size; by default steps adapt to the gradients of each exponent (AdaGrad).
    domain : {"free", "nonnegative"}
        Values that exponents may take.
    discretizer : "smooth" or key of `bayesgraph.statistics.boulle.CELL_METHODS`
        Method that derives intervals from summaries.
    bins : int
        Number of intervals, for methods that do not choose it.
    smoothing : Smoothing
        `alpha` is the pseudo-count of each interval, state and class; `shrinkage` and
        `var_smoothing` apply to Gaussians.
    decay : float
        Factor of all weights after each row, in (0, 1].
    max_categories : int
        Maximum number of states of a column that are counted individually.
    detector : str, detector or None
        Drift detector, fed with the errors of predictions made before each row is learned.
    on_drift : {"forget", "quicken", "note"}
        Reaction to an alarm: "forget" reduces the weight of earlier rows and resets exponents,
        "quicken" only resets the adaptive step sizes, "note" only records the alarm.
    """

    exponents: str | None = "mixed"
    step: float | None = None
    domain: str = "free"
    discretizer: str = SMOOTH
    bins: int = 10
    smoothing: Smoothing = field(default_factory=Smoothing)
    decay: float = 1.0
    max_categories: int = 1000
    detector: Any = None
    on_drift: str = "forget"

    def __post_init__(self) -> None:
        for one in fields(self):  # NumPy's numbers become Python's, for files
            object.__setattr__(self, one.name, plain(getattr(self, one.name)))
        for name, known in (
            ("exponents", MODES),
            ("domain", DOMAINS),
            ("discretizer", DISCRETIZERS),
            ("on_drift", REACTIONS),
        ):
            value = getattr(self, name)
            if not isinstance(value, (str, type(None))) or value not in known:
                shown = [one for one in known if one is not None]
                raise ModelError(f"{name}= is one of {quoted(shown)}; got {value!r}.")
        checked_size("max_categories", self.max_categories, 1)
        checked_size("bins", self.bins, 1)
        if not 0.0 < _number("decay", self.decay) <= 1.0:
            raise ModelError(f"decay lies above 0 and up to 1; got {self.decay!r}.")
        values = {n: plain(v) for n, v in as_smoothing(self.smoothing).get_params().items()}
        object.__setattr__(self, "smoothing", Smoothing(**values))
        if not _number("alpha", self.smoothing.alpha) > 0.0:
            raise ModelError(
                f"alpha is a positive number, so that all logarithms are finite; got "
                f"{self.smoothing.alpha!r}."
            )
        if self.step is not None and not 0.0 < _number("step", self.step) < np.inf:
            raise ModelError(f"step is a positive number or None; got {self.step!r}.")


def _number(name: str, value: Any) -> float:
    if not isinstance(value, Real):
        raise ModelError(f"{name}= takes a number; got {value!r}.")
    return float(value)


# -------------------------- Buffer of stream rows, which are later added to the summaries together


_NAMES = ("waiting", "waiting_codes", "waiting_classes", "waiting_weights")
Rows = tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]


class Block:
    """Buffer of stream rows that are not yet added to the summaries of the columns.

    Parameters
    ----------
    n_numbers, n_states : int
        Number of numeric columns and of columns of state codes.
    room : int
        Maximum number of rows.

    Attributes
    ----------
    filled : int
        Number of rows in the buffer.
    """

    def __init__(self, n_numbers: int, n_states: int, room: int) -> None:
        self.filled = 0
        self._room: Rows = (
            np.empty((n_numbers, room)),
            np.empty((n_states, room), dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty(room),
        )

    @property
    def rows(self) -> Rows:
        """Buffered rows: numbers and codes, (n_columns, filled); classes and weights, (filled,)."""
        return self.part(slice(self.filled))

    def part(self, here: slice) -> Rows:
        """Return the four arrays of `rows` for a range of the buffered rows."""
        columns, codes, classes, weights = self._room
        return columns[:, here], codes[:, here], classes[here], weights[here]

    def add(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
    ) -> slice:
        """Add rows, given as the four arrays of `rows`; return their slice in the buffer."""
        here = slice(self.filled, self.filled + len(classes))
        all_columns, all_codes, all_classes, all_weights = self._room
        # Single rows of many streams have columns of one kind.
        if len(columns):
            all_columns[:, here] = columns
        if len(codes):
            all_codes[:, here] = codes
        all_classes[here], all_weights[here] = classes, weights
        self.filled = here.stop
        return here

    def empty(self) -> None:
        """Remove all rows."""
        self.filled = 0

    def grow(self, n_numbers: int, n_states: int) -> None:
        """Append columns of missing values, up to the given numbers of columns."""
        columns, codes, classes, weights = self._room
        room, old = len(classes), (len(columns), len(codes))
        columns = widened(columns, (n_numbers, room))
        codes = widened(codes, (n_states, room))
        columns[old[0] :], codes[old[1] :] = np.nan, -1
        self._room = columns, codes, classes, weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the buffered rows as named arrays, for a file."""
        return dict(zip(_NAMES, self.rows, strict=True))

    def restore(self, arrays: Mapping[str, NDArray[Any]], n_classes: int) -> None:
        """Replace the buffered rows by those in the named arrays of `arrays`.

        Raises
        ------
        DataError, LookupError, ValueError
            If the arrays are not valid rows.
        """
        self.empty()
        columns, codes, classes, weights = (arrays[name] for name in _NAMES)
        if (
            (classes < 0).any()
            or (classes >= n_classes).any()
            or (codes < -1).any()
            or np.isinf(columns).any()
            or not (np.isfinite(weights) & (weights > 0)).all()
        ):
            raise DataError("Rows that wait in a saved state have values that are none.")
        self.add(columns, codes, classes, weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer at full capacity."""
        return sum(array.nbytes for array in self._room)


# ------------------------------------------------- Class-conditional counts of states in a stream


class StateCounts:
    """Weight of each state of each column in each class.

    Parameters
    ----------
    n_classes, n_columns : int
    max_categories : int
        Maximum number of states of a column that are counted individually.

    Attributes
    ----------
    tables : list of ndarray, shape (n_states, n_classes) each
    sketches : dict from int to FrequentValues
        Sketches of frequent values, by column index. A sketch replaces the table of a column once
        the column has more values than are counted individually: further values have codes of
        `FIRST_KEY` or more.
    """

    def __init__(self, n_classes: int, n_columns: int, *, max_categories: int) -> None:
        self.n_classes = n_classes
        self.max_categories = max_categories
        self.tables = [np.zeros((0, n_classes)) for _ in range(n_columns)]
        self.sketches: dict[int, FrequentValues] = {}

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.tables)

    def absorb(
        self,
        columns: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
    ) -> None:
        """Add rows to the counts.

        Parameters
        ----------
        columns : ndarray, shape (n_columns, n)
            Codes, -1 where missing.
        classes, weights : ndarray, shape (n,)
        """
        for j, codes in enumerate(columns):
            if codes.max(initial=-1) >= FIRST_KEY and j not in self.sketches:
                self.sketches[j] = _sketched(self.tables[j], self.max_categories)
                self.tables[j] = self.tables[j][:0]
            if j in self.sketches:
                self.sketches[j].absorb(codes, classes, weights)
            else:
                self.tables[j] = _counted(self.tables[j], codes, classes, weights)

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        for table in self.tables:
            table *= factor
        for sketch in self.sketches.values():
            sketch.fade(factor)

    def grow(self, n_classes: int, n_columns: int) -> None:
        """Add classes and columns after the existing ones, up to the given numbers."""
        self.n_classes = n_classes
        self.tables = [widened(table, (len(table), n_classes)) for table in self.tables]
        self.tables += [np.zeros((0, n_classes)) for _ in range(n_columns - len(self.tables))]
        for sketch in self.sketches.values():
            sketch.grow(n_classes=n_classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays, for a file."""
        state: dict[str, NDArray[Any]] = {f"table_{j}": t for j, t in enumerate(self.tables)}
        for j, sketch in self.sketches.items():
            state |= {f"sketch_{j}.{name}": array for name, array in sketch.arrays().items()}
        return state

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the counts by those in the named arrays of `arrays`.

        Raises
        ------
        DataError, LookupError, TypeError, ValueError
            If the arrays are not a valid state.
        """
        shape = (None, self.n_classes)
        names = [f"table_{j}" for j in range(len(self.tables))]
        self.tables = [state_array(arrays, name, shape, minimum=0.0) for name in names]
        for j in range(len(self.tables)):
            if part := part_of(arrays, f"sketch_{j}."):
                self.sketches[j] = FrequentValues.from_arrays(part)


def _sketched(table: Floats, maximum: int) -> FrequentValues:
    """Return a sketch with the counts of a table, for at most `maximum` frequent values."""
    n, k = table.shape
    sketch = FrequentValues(k, size=maximum)
    sketch.absorb(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), table.ravel())
    return sketch


def _counted(
    table: Floats, codes: NDArray[np.int64], classes: NDArray[np.int64], weights: Floats
) -> Floats:
    """Return a table of counts with rows added, enlarged by states that the rows introduce."""
    there = codes >= 0
    size, k = max(len(table), int(codes.max(initial=-1)) + 1), table.shape[1]
    at = codes[there] * k + classes[there]
    counts = widened(table, (size, k)).copy()
    counts += np.bincount(at, weights[there], minlength=size * k).reshape(size, k)
    return counts
