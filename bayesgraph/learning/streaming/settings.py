"""Settings of a weighted naive Bayes that learns from a stream."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

import numpy as np

from bayesgraph.discretize.cells import CELL_METHODS
from bayesgraph.errors import ModelError, quoted
from bayesgraph.learning.smoothing import Smoothing, as_smoothing
from bayesgraph.learning.streaming.exponents import DOMAINS, MODES
from bayesgraph.statistics.sketches.base import checked_size
from bayesgraph.variables import plain

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
    discretizer : "smooth" or key of `bayesgraph.discretize.cells.CELL_METHODS`
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
    window : int, optional
        Number of the last rows that are counted, if no column is numeric; by default all rows.
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
    window: int | None = None
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
        if self.window is not None:
            checked_size("window", self.window, 1)
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
