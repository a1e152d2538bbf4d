"""Detectors of changes in a model's errors, and their lookup by name."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.drift import kernels
from bayesgraph.drift.base import DriftDetector, direction, number, whole
from bayesgraph.errors import DataError, ModelError, quoted, suggestion
from bayesgraph.factors.algebra import Floats

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
        self.delta = number("delta", delta, 0.0, below=1.0)
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

    def _update(self, values: Floats, flags: NDArray[np.int8]) -> None:
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


class _RateDetector(DriftDetector):
    """Base class of detectors whose state is one array that starts with a count and a mean."""

    _START: ClassVar[tuple[float, ...]]

    def _beginning(self) -> dict[str, NDArray[Any]]:
        return {"state": np.array(self._START)}

    @property
    def estimation(self) -> float:
        """Mean of the numbers since the last alarm; NaN without numbers."""
        n, mean, *_ = self._state["state"].tolist()
        return float(mean) if n else math.nan


class PageHinkley(_RateDetector):
    """Page-Hinkley test: an alarm when a cumulative sum of deviations is far above its minimum.

    The deviation of a number is the number minus the mean so far minus a tolerance. For decreases,
    signs are reversed. The test is reset after an alarm.

    Parameters
    ----------
    min_instances : int
        Minimum count of numbers for an alarm.
    delta : float
        Tolerance subtracted from each deviation.
    threshold : float
        Excess of the sum over its minimum that causes an alarm. The default of 50 means 50 errors
        more than expected.
    alpha : float
        Forgetting factor in (0, 1], which multiplies the sum before each number is added.
    mode : {"up", "down", "both"}
        Direction of changes of the mean that cause an alarm (river's detector takes "both").

    References
    ----------
    E. S. Page: Continuous inspection schemes. Biometrika 41 (1954). J. Gama, R. Sebastiao,
    P. Rodrigues: On evaluating stream learning algorithms. Machine Learning 90 (2013), section 5.
    """

    _START = (0.0,) * 6

    def __init__(
        self,
        min_instances: int = 30,
        *,
        delta: float = 0.005,
        threshold: float = 50.0,
        alpha: float = 0.9999,
        mode: str = "up",
    ) -> None:
        self.min_instances = whole("min_instances", min_instances, 1)
        self.delta = number("delta", delta, 0.0, included=True)
        self.threshold = number("threshold", threshold, 0.0)
        self.alpha = alpha if alpha == 1.0 else number("alpha", alpha, 0.0, below=1.0)
        self.mode = direction(mode)
        self.reset()

    def _update(self, values: Floats, flags: NDArray[np.int8]) -> None:
        kernels.update_page_hinkley(
            values, self.min_instances, self.delta, self.threshold, self.alpha,
            self.mode != "down", self.mode != "up", *self._state.values(), flags,
        )  # fmt: skip


class DDM(_RateDetector):
    """Drift detection method: an alarm when the error rate is several deviations above its minimum.

    With the error rate p of n rows and its standard deviation s = sqrt(p (1 - p) / n), there is a
    warning if p + s > p_min + 2 s_min and an alarm if p + s > p_min + 3 s_min. Here p_min and s_min
    are the p and s of the row with minimum p + s among those with p > 0. The detector is reset
    after an alarm. It takes errors of 0 and 1. A slow drift late in a long stream changes the rate
    over all rows only slightly, and ADWIN detects it better.

    Parameters
    ----------
    warm_start : int
        Number of errors before an alarm is possible.
    warning_threshold, drift_threshold : float
        Number of deviations s_min above the minimum.

    References
    ----------
    J. Gama, P. Medas, G. Castillo, P. Rodrigues: Learning with drift detection. SBIA 2004.
    """

    _START = (0.0, 0.0, math.inf, math.inf)

    def __init__(
        self,
        warm_start: int = 30,
        *,
        warning_threshold: float = 2.0,
        drift_threshold: float = 3.0,
    ) -> None:
        self.warm_start = whole("warm_start", warm_start, 0)
        self.warning_threshold = number("warning_threshold", warning_threshold, 0.0)
        self.drift_threshold = number(
            "drift_threshold", drift_threshold, warning_threshold, included=True
        )
        self.reset()

    def _update(self, values: Floats, flags: NDArray[np.int8]) -> None:
        if not np.isin(values, (0.0, 1.0)).all():
            raise DataError("DDM takes errors of 0 and 1; for other numbers take ADWIN.")
        kernels.update_ddm(
            values, self.warm_start, self.warning_threshold, self.drift_threshold,
            *self._state.values(), flags,
        )  # fmt: skip


DETECTORS: dict[str, type[DriftDetector]] = {
    "adwin": ADWIN,
    "ddm": DDM,
    "page-hinkley": PageHinkley,
}


def chosen_detector(detector: Any) -> Any:
    """Return a new detector of a given name, a copy of a given detector object, or None for None.

    Raises
    ------
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
