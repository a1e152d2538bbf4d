"""The detector ADWIN of changes in a model's errors, and all detectors by name."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.drift import kernels
from bayesgraph.drift.base import DriftDetector, direction, share, whole
from bayesgraph.errors import DataError, ModelError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.optional import optional_module

# Number of levels of buckets, up to buckets of 2**47 numbers: no stream is longer.
_LEVELS = 48


class ADWIN(DriftDetector):
    """Adaptive sliding window that shrinks when two of its parts have different means (ADWIN2).

    The window consists of buckets of 1, 2, 4, ... numbers, at most `max_buckets` of each size, so
    that memory grows with the log of its length. While the means of an older and a newer part
    differ significantly (Bernstein's inequality, corrected for the number of cuts), the oldest
    bucket is dropped. The remaining window holds the numbers since the change.

    Parameters
    ----------
    delta : float
        Confidence parameter of the bound: about the probability of a false alarm per check.
    clock : int
        The window is checked after every `clock` numbers.
    max_buckets : int
        Maximum number of buckets of each size.
    min_window_length : int
        Minimum length of both parts.
    grace_period : int
        The window is not checked while it holds at most this many numbers.
    mode : {"up", "down", "both"}
        Direction of changes of the mean that cause an alarm (river's detector takes "both"). The
        window shrinks for both directions.

    References
    ----------
    A. Bifet, R. Gavalda: Learning from time-changing data with adaptive windowing. SDM 2007,
    section 3.2 and equation 3.1 (the variance in the bound).

    Examples
    --------
    >>> detector = ADWIN()
    >>> detector.feed(np.arange(2000) % 10 == 0)
    array([], dtype=int64)
    >>> detector.feed(np.arange(2000) % 3 == 0)[0]
    np.int64(79)
    >>> detector.width < 2200, round(detector.estimation, 2)
    (True, 0.32)
    """

    def __init__(
        self,
        delta: float = 0.002,
        *,
        clock: int = 32,
        max_buckets: int = 5,
        min_window_length: int = 5,
        grace_period: int = 10,
        mode: str = "up",
    ) -> None:
        self.delta = share("delta", delta)
        self.clock = whole("clock", clock, 1)
        self.max_buckets = whole("max_buckets", max_buckets, 2)
        self.min_window_length = whole("min_window_length", min_window_length, 1)
        self.grace_period = whole("grace_period", grace_period, 1)
        self.mode = direction(mode)
        self.reset()

    def _beginning(self) -> dict[str, NDArray[Any]]:
        buckets = (_LEVELS, self.max_buckets + 1)
        return {
            "counts": np.zeros(_LEVELS, dtype=np.int64),
            "totals": np.zeros(buckets),
            "squares": np.zeros(buckets),
            "window": np.zeros(4),
        }

    def _update(self, values: Floats, flags: NDArray[np.bool_]) -> None:
        kernels.update_adwin(
            values, self.delta, self.clock, self.min_window_length, self.grace_period,
            self.mode != "down", self.mode != "up", *self._state.values(), flags,
        )  # fmt: skip

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Replace the state by a saved state, as the method `arrays` returned it.

        Raises
        ------
        DataError
            If arrays are invalid, or the buckets do not make up the window's width.
        """
        super().restore(arrays)
        counts, _, squares, window = self._state.values()
        known = (counts >= 0) & (counts <= self.max_buckets)
        held = float(counts @ 2.0 ** np.arange(_LEVELS))
        if not known.all() or held != window[0] or (squares < 0).any():
            self.reset()
            raise DataError("The buckets of a saved window do not make up its width.")
        return self

    @property
    def width(self) -> int:
        """Number of numbers in the window."""
        return int(self._state["window"][0])

    @property
    def estimation(self) -> float:
        """Mean of the numbers in the window; NaN without numbers."""
        return float(self._state["window"][1] / self.width) if self.width else math.nan


def _of_river(module: str, name: str, **options: Any) -> Any:
    """Return a new detector of river, given its module, the name of its class and arguments."""
    found = optional_module(f"river.{module}", extra="river", what=f"The drift detector {name}")
    return getattr(found, name)(**options)


# What makes a new detector, by name. Errors are watched: their decrease is no alarm.
DETECTORS: dict[str, Callable[[], Any]] = {
    "adwin": ADWIN,
    "ddm": partial(_of_river, "drift.binary", "DDM"),
    "page-hinkley": partial(_of_river, "drift", "PageHinkley", mode="up"),
}


def chosen_detector(detector: Any) -> Any:
    """Return a new detector of a given name, a copy of a given detector object, or None for None.

    Raises
    ------
    MissingDependencyError
        If the name is that of a detector of river, which is not installed.
    ModelError
        If the name is unknown, or the object has no `update` and `drift_detected` (the protocol of
        river's detectors).
    """
    if detector is None:
        return None
    if isinstance(detector, str) and detector in DETECTORS:
        return DETECTORS[detector]()
    known = hasattr(detector, "update") and hasattr(detector, "drift_detected")
    if isinstance(detector, type) or not known:
        hint = suggestion(detector, DETECTORS) if isinstance(detector, str) else ""
        raise ModelError(
            f"detector= is one of {quoted(DETECTORS)}, or a detector with update(error) and "
            f"drift_detected, or None; got {detector!r}.{hint}"
        )
    return copy.deepcopy(detector)


def alarms(detector: Any, errors: Floats) -> NDArray[np.intp]:
    """Return the indices of the errors at which a detector raises an alarm.

    The detector is a `DriftDetector`, or an object with the protocol of river's detectors.
    """
    if isinstance(detector, DriftDetector):
        return detector.feed(errors)
    found = []
    for place, error in enumerate(errors.tolist()):
        detector.update(error)
        if detector.drift_detected:
            found.append(place)
    return np.array(found, dtype=np.intp)
