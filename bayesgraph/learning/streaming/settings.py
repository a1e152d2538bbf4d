"""Settings of a model that learns from a stream."""

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

# Densities that are smooth on the scale of ranks, in place of a discretiser.
SMOOTH = "smooth"
DISCRETIZERS = (SMOOTH, *CELL_METHODS)
REACTIONS = ("forget", "quicken", "note")


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
    discretizer : "smooth" or key of `bayesgraph.discretize.cells.CELL_METHODS`
        How summaries become intervals.
    bins : int
        Intervals, for the methods that do not choose how many.
    smoothing : Smoothing
        Its `alpha` is the number of rows added to each interval, state and class; its `shrinkage`
        and `var_smoothing` are those of Gaussians.
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
    discretizer: str = SMOOTH
    bins: int = 10
    smoothing: Smoothing = field(default_factory=Smoothing)
    decay: float = 1.0
    max_categories: int = 1000
    window: int | None = None
    detector: Any = None
    on_drift: str = "forget"

    def __post_init__(self) -> None:
        for one in fields(self):  # NumPy's numbers are not those of files
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
