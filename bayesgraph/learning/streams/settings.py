"""Settings of a weighted naive Bayes that learns from a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.errors import ModelError, quoted
from bayesgraph.core.variables import plain
from bayesgraph.learning.streams import stream_kernels
from bayesgraph.statistics import (
    CELL_METHODS,
    FIRST_KEY,
    SKETCHES,
    Field,
    FrequentValues,
    Smoothing,
    as_smoothing,
    part_of,
    state_array,
    widened,
)

# ------------------------------------ Settings of a weighted naive Bayes that learns from a stream


# Name of the method that estimates densities as smooth functions of ranks, not by a discretiser.
SMOOTH = "smooth"
DISCRETIZERS = (SMOOTH, *CELL_METHODS)
MODES = {
    None: stream_kernels.FIXED,
    "variable": stream_kernels.VARIABLE,
    "class": stream_kernels.CLASS,
    "mixed": stream_kernels.MIXED,
}
DOMAINS = {"free": -np.inf, "nonnegative": 0.0}
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
    discretizer : "smooth" or key of `bayesgraph.statistics.sketches.CELL_METHODS`
        Method that derives intervals from summaries.
    bins : int
        Number of intervals, for methods that do not choose it.
    smoothing : Smoothing
        `alpha` is the pseudo-count of each interval, state and class; `shrinkage`,
        `var_smoothing` and `reg_covar` apply to Gaussians.
    decay : float
        Factor of all weights after each row, in (0, 1].
    max_categories : int
        Maximum number of states of a column that are counted individually.
    sketch : key of `bayesgraph.statistics.sketches.SKETCHES`
        Method that finds the most frequent values of a column with more.
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
    sketch: str = "misra-gries"
    detector: Any = None
    on_drift: str = "forget"

    def __post_init__(self) -> None:
        for one in fields(self):  # NumPy's numbers become Python's, for files
            object.__setattr__(self, one.name, plain(getattr(self, one.name)))
        for name, choices in (
            ("exponents", MODES),
            ("domain", DOMAINS),
            ("discretizer", DISCRETIZERS),
            ("on_drift", REACTIONS),
            ("sketch", SKETCHES),
        ):
            value = getattr(self, name)
            # Values of other types may not be hashable, as membership in a dict requires.
            if not isinstance(value, (str, type(None))) or value not in choices:
                shown = [one for one in choices if one is not None]
                raise ModelError(f"{name}= is one of {quoted(shown)}; got {value!r}.")
        whole_number("max_categories", "states", self.max_categories, 1)
        whole_number("bins", "intervals", self.bins, 1)
        if not 0.0 < _number("decay", self.decay) <= 1.0:
            raise ModelError(f"decay lies above 0 and up to 1; got {self.decay!r}.")
        # The smoothing's numbers, too, become Python's.
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
    """Return the value of a parameter as a float, or raise a ModelError if it is no number."""
    if not isinstance(value, Real):
        raise ModelError(f"{name}= takes a number; got {value!r}.")
    return float(value)


# ------------------------------------------------- Class-conditional counts of states in a stream


class StateCounts:
    """Weight of each state of each column in each class.

    Parameters
    ----------
    n_classes, n_columns : int
    max_categories, sketch
        As in StreamSettings.

    Attributes
    ----------
    tables : list of ndarray, shape (n_states, n_classes) each
        By column; a table has no rows once a sketch replaces it.
    sketches : dict from int to FrequentValues
        Sketches of frequent values, by column index. A sketch replaces the table of a column once
        the column has more values than are counted individually: further values have codes of
        `FIRST_KEY` or more.
    """

    def __init__(self, n_classes: int, n_columns: int, *, max_categories: int, sketch: str) -> None:
        self.n_classes = n_classes
        self.max_categories, self._sketch = max_categories, SKETCHES[sketch]
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
                # From now on the sketch has the counts of the column.
                n, k = self.tables[j].shape  # one weighted row stands for each cell
                cells = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
                self.sketches[j] = self._sketch(k, size=self.max_categories)
                self.sketches[j].absorb(*cells, self.tables[j].ravel())
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
        # Tables have any number of states, and no negative weights.
        shape, field = (None, self.n_classes), Field((None, None), 0.0)
        names = [f"table_{j}" for j in range(len(self.tables))]
        self.tables = [state_array(arrays, name, shape, field) for name in names]
        for j in range(len(self.tables)):
            if part := part_of(arrays, f"sketch_{j}."):
                self.sketches[j] = self._sketch.from_arrays(part)


def _counted(
    table: Floats, codes: NDArray[np.int64], classes: NDArray[np.int64], weights: Floats
) -> Floats:
    """Return a table of counts with rows added, enlarged by states that the rows introduce."""
    there = codes >= 0
    size, k = max(len(table), int(codes.max(initial=-1)) + 1), table.shape[1]
    cells = codes[there] * k + classes[there]  # indices into the flattened table
    counts = widened(table, (size, k)).copy()
    counts += np.bincount(cells, weights[there], minlength=size * k).reshape(size, k)
    return counts
