"""Detectors of a rise in a model's error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.drift import kernels
from bayesgraph.drift.base import DriftDetector, number, whole
from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats

# Buckets of 2**47 numbers: no stream is longer.
_LEVELS = 48


class ADWIN(DriftDetector):
    """A window that shrinks as soon as two parts of it have different means (ADWIN2).

    The window is kept in buckets of 1, 2, 4, ... numbers, `buckets` of each size at most: memory
    grows with the log of its length. Whenever an older and a newer part differ by more than chance
    (Bernstein's inequality, corrected for the number of places), the oldest bucket is dropped.
    What remains is the stretch since the change, whose mean is `estimation`.

    Parameters
    ----------
    delta : float
        Of the bound: about the probability of a false alarm at a look.
    clock : int
        A look comes after each so many numbers.
    buckets : int
        Of each size.
    least : int
        Numbers that either part has at least.
    grace : int
        Numbers in the window before the first look.
    falls : bool
        Whether a falling mean is an alarm too; the window shrinks in any case.

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
        buckets: int = 5,
        least: int = 5,
        grace: int = 10,
        falls: bool = False,
    ) -> None:
        self.delta = number("delta", delta, 0.0, below=1.0)
        self.clock = whole("clock", clock, 1)
        self.buckets = whole("buckets", buckets, 2)
        self.least = whole("least", least, 1)
        self.grace = whole("grace", grace, 1)
        if not isinstance(falls, (bool, np.bool_)):
            raise ModelError(f"falls takes True or False; got {falls!r}.")
        self.falls = bool(falls)
        self.reset()

    def reset(self) -> None:
        """See DriftDetector."""
        self.drift_detected = self.warning_detected = False
        self._counts = np.zeros(_LEVELS, dtype=np.int64)
        self._totals = np.zeros((_LEVELS, self.buckets + 1))
        self._squares = np.zeros((_LEVELS, self.buckets + 1))
        self._window = np.zeros(4)

    def _watch(self, values: Floats, flags: NDArray[np.int8]) -> None:
        kernels.watch_window(
            values, self.delta, self.clock, self.least, self.grace, self.falls, self._counts,
            self._totals, self._squares, self._window, flags,
        )  # fmt: skip

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """See DriftDetector."""
        super().restore(arrays)
        known = (self._counts >= 0) & (self._counts <= self.buckets)
        held = float(self._counts @ 2.0 ** np.arange(_LEVELS))
        if not known.all() or held != self._window[0] or (self._squares < 0).any():
            self.reset()
            raise DataError("The buckets of a saved window do not make up its width.")
        return self

    @property
    def width(self) -> int:
        """Numbers in the window."""
        return int(self._window[0])

    @property
    def estimation(self) -> float:
        """Mean of the numbers in the window; NaN of none."""
        return float(self._window[1] / self._window[0]) if self.width else math.nan

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See DriftDetector."""
        return {
            "counts": self._counts,
            "totals": self._totals,
            "squares": self._squares,
            "window": self._window,
        }


class PageHinkley(DriftDetector):
    """The test of Page and Hinkley: an alarm when a sum of excesses has risen far above its least.

    The excess of a number is what it has above the mean so far and a tolerance. After an alarm it
    begins anew.

    Parameters
    ----------
    tolerance : float
    threshold : float
        In units of the sum: 50 errors too many by default.
    least : int
        Numbers before the first alarm.

    References
    ----------
    E. S. Page: Continuous inspection schemes. Biometrika 41 (1954). J. Gama, R. Sebastiao,
    P. Rodrigues: On evaluating stream learning algorithms. Machine Learning 90 (2013), section 5.
    """

    def __init__(
        self, tolerance: float = 0.005, *, threshold: float = 50.0, least: int = 30
    ) -> None:
        self.tolerance = number("tolerance", tolerance, 0.0, included=True)
        self.threshold = number("threshold", threshold, 0.0)
        self.least = whole("least", least, 1)
        self.reset()

    def reset(self) -> None:
        """See DriftDetector."""
        self.drift_detected = self.warning_detected = False
        self._state = np.zeros(4)

    def _watch(self, values: Floats, flags: NDArray[np.int8]) -> None:
        kernels.watch_sum(values, self.tolerance, self.threshold, self.least, self._state, flags)

    @property
    def estimation(self) -> float:
        """Mean of the numbers since the last alarm; NaN of none."""
        return float(self._state[1]) if self._state[0] else math.nan

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See DriftDetector."""
        return {"state": self._state}


class DDM(DriftDetector):
    """An alarm when an error rate is several deviations above the least that it has been.

    With p the rate and s = sqrt(p (1 - p) / n): a warning at p + s > p_min + 2 s_min, an alarm at
    p + s > p_min + 3 s_min, where p_min and s_min are those of the least p + s with p > 0. After
    an alarm it begins anew. It takes errors of 0 and 1. A slow drift on a long stream moves the
    rate over all rows little: for that ADWIN is better.

    Parameters
    ----------
    warning_level, drift_level : float
        Deviations.
    least : int
        Errors before the first alarm.

    References
    ----------
    J. Gama, P. Medas, G. Castillo, P. Rodrigues: Learning with drift detection. SBIA 2004.
    """

    def __init__(
        self, *, warning_level: float = 2.0, drift_level: float = 3.0, least: int = 30
    ) -> None:
        self.warning_level = number("warning_level", warning_level, 0.0)
        self.drift_level = number("drift_level", drift_level, warning_level, included=True)
        self.least = whole("least", least, 1)
        self.reset()

    def reset(self) -> None:
        """See DriftDetector."""
        self.drift_detected = self.warning_detected = False
        self._state = np.array([0.0, 0.0, np.inf, np.inf])

    def _watch(self, values: Floats, flags: NDArray[np.int8]) -> None:
        if not np.isin(values, (0.0, 1.0)).all():
            raise DataError("DDM takes errors of 0 and 1; for other numbers take ADWIN.")
        kernels.watch_rate(
            values, self.warning_level, self.drift_level, self.least, self._state, flags
        )

    @property
    def estimation(self) -> float:
        """Mean of the numbers since the last alarm; NaN of none."""
        return float(self._state[1]) if self._state[0] else math.nan

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See DriftDetector."""
        return {"state": self._state}
