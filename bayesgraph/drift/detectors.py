"""Detectors of a rise in a model's error."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.drift import kernels
from bayesgraph.errors import DataError, ModelError, quoted, suggestion
from bayesgraph.factors.algebra import Floats

# Buckets of 2**47 numbers: no stream is longer.
_LEVELS = 48


class DriftDetector(ABC):
    """Watches numbers, such as the errors (0 or 1) of a model, and tells when their mean rises.

    Attributes
    ----------
    drift, warning : bool
        What the number that came last has brought.
    """

    drift = False
    warning = False

    def update(self, error: float) -> bool:
        """Watch one number; return whether it brings an alarm."""
        return bool(len(self.feed([error])))

    def feed(self, errors: ArrayLike) -> NDArray[np.intp]:
        """Watch several numbers, in their order.

        Parameters
        ----------
        errors : array_like, shape (n,)

        Returns
        -------
        ndarray of int
            Positions of the numbers that bring an alarm, as if they came one by one.

        Raises
        ------
        DataError
            For what is not one row of finite numbers.
        """
        values = np.ascontiguousarray(errors, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise DataError(f"A detector takes a row of finite numbers; got shape {values.shape}.")
        flags = np.zeros(len(values), dtype=np.int8)
        if len(values):
            self._watch(values, flags)
            self.drift = bool(flags[-1] == kernels.DRIFT)
            self.warning = bool(flags[-1] == kernels.WARNING)
        return np.flatnonzero(flags == kernels.DRIFT)

    @abstractmethod
    def _watch(self, values: Floats, flags: NDArray[np.int8]) -> None:
        """Write a flag for each number."""

    @abstractmethod
    def reset(self) -> None:
        """Forget all numbers."""

    @abstractmethod
    def get_params(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was seen as arrays; the arguments of the constructor are not in them."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Take the state that `arrays` returned.

        Raises
        ------
        DataError
            For arrays of other names, shapes or types.
        """
        own = self.arrays()
        for name, array in own.items():
            found = arrays.get(name)
            if found is None or (found.shape, found.dtype) != (array.shape, array.dtype):
                raise DataError(f"{self!r} takes an array {name!r} of shape {array.shape}.")
            if np.isnan(found).any():
                raise DataError(f"{self!r} takes no NaN; its array {name!r} has some.")
            array[...] = found
        return self

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({options})"


class ADWIN(DriftDetector):
    """A window that shrinks as soon as two parts of it have different means (ADWIN2).

    The window is kept in buckets of 1, 2, 4, ... numbers, `buckets` of each size at most: memory
    grows with the log of its length. Whenever an older and a newer part differ by more than chance
    (Bernstein's inequality, corrected for the number of places), the oldest bucket is dropped.
    What remains is the stretch since the change, whose mean is `mean`.

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
    >>> detector.width < 2200, round(detector.mean, 2)
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
        if not 0.0 < delta < 1.0:
            raise ModelError(f"delta lies between 0 and 1; got {delta!r}.")
        self.delta = delta
        self.clock = _whole("clock", clock, 1)
        self.buckets = _whole("buckets", buckets, 2)
        self.least = _whole("least", least, 1)
        self.grace = _whole("grace", grace, 1)
        self.falls = bool(falls)
        self.reset()

    def reset(self) -> None:
        """See DriftDetector."""
        self.drift = self.warning = False
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
    def mean(self) -> float:
        """Mean of the numbers in the window; NaN of none."""
        return float(self._window[1] / self._window[0]) if self.width else float("nan")

    def get_params(self) -> dict[str, Any]:
        """See DriftDetector."""
        names = ("delta", "clock", "buckets", "least", "grace", "falls")
        return {name: getattr(self, name) for name in names}

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
        if not threshold > 0.0 or not tolerance >= 0.0:
            raise ModelError(
                f"threshold is positive and tolerance not negative; got {threshold!r} and "
                f"{tolerance!r}."
            )
        self.tolerance = tolerance
        self.threshold = threshold
        self.least = _whole("least", least, 1)
        self.reset()

    def reset(self) -> None:
        """See DriftDetector."""
        self.drift = self.warning = False
        self._state = np.zeros(4)

    def _watch(self, values: Floats, flags: NDArray[np.int8]) -> None:
        kernels.watch_sum(values, self.tolerance, self.threshold, self.least, self._state, flags)

    def get_params(self) -> dict[str, Any]:
        """See DriftDetector."""
        return {"tolerance": self.tolerance, "threshold": self.threshold, "least": self.least}

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
        if not 0.0 < warning_level <= drift_level:
            raise ModelError(
                "warning_level is positive and not above drift_level; got "
                f"{warning_level!r} and {drift_level!r}."
            )
        self.warning_level = warning_level
        self.drift_level = drift_level
        self.least = _whole("least", least, 1)
        self.reset()

    def reset(self) -> None:
        """See DriftDetector."""
        self.drift = self.warning = False
        self._state = np.array([0.0, 0.0, np.inf, np.inf])

    def _watch(self, values: Floats, flags: NDArray[np.int8]) -> None:
        if not np.isin(values, (0.0, 1.0)).all():
            raise DataError("DDM takes errors of 0 and 1; for other numbers take ADWIN.")
        kernels.watch_rate(
            values, self.warning_level, self.drift_level, self.least, self._state, flags
        )

    def get_params(self) -> dict[str, Any]:
        """See DriftDetector."""
        names = ("warning_level", "drift_level", "least")
        return {name: getattr(self, name) for name in names}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See DriftDetector."""
        return {"state": self._state}


DETECTORS: dict[str, type[DriftDetector]] = {
    "adwin": ADWIN,
    "ddm": DDM,
    "page-hinkley": PageHinkley,
}


def chosen_detector(detector: Any) -> Any:
    """Return a detector of one's own: from a name, a copy of an object, or None.

    Raises
    ------
    ModelError
        For an unknown name, or an object without `update` and `drift_detected` (the protocol of
        river's detectors).
    """
    if detector is None:
        return None
    if isinstance(detector, str):
        if detector not in DETECTORS:
            raise ModelError(
                f"detector= is one of {quoted(DETECTORS)}, a detector or None; got {detector!r}."
                f"{suggestion(detector, DETECTORS)}"
            )
        return DETECTORS[detector]()
    known = hasattr(detector, "update") and hasattr(detector, "drift_detected")
    if isinstance(detector, type) or not (known or isinstance(detector, DriftDetector)):
        raise ModelError(
            f"detector= is one of {quoted(DETECTORS)}, or a detector with update(error) and "
            f"drift_detected; got {detector!r}."
        )
    return copy.deepcopy(detector)


def alarms(detector: Any, errors: Floats) -> NDArray[np.intp]:
    """Return the positions of the errors at which a detector raises an alarm."""
    if isinstance(detector, DriftDetector):
        return detector.feed(errors)
    found = []
    for place, error in enumerate(errors.tolist()):
        detector.update(error)
        if detector.drift_detected:
            found.append(place)
    return np.array(found, dtype=np.intp)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ModelError(f"{name} takes a whole number of at least {least}; got {value!r}.")
    return int(value)
