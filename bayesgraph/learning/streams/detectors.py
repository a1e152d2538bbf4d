"""The detector ADWIN of changes in a model's errors, and all detectors by name."""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, ModelError, optional_module, quoted, suggestion
from bayesgraph.learning.streams import drift_kernels

# ------- Base class of drift detectors, with the methods of river and `get_params` of scikit-learn


class DriftDetector(ABC):
    """Detects changes in the mean of a sequence of numbers, such as a model's errors (0 or 1).

    It has the interface of river's detectors (`update`, `drift_detected`, `warning_detected`,
    `clone`) and scikit-learn's methods for parameters (`get_params`, `set_params`).

    Attributes
    ----------
    drift_detected : bool
        Whether the last number caused an alarm.
    warning_detected : bool
        False: there are no warnings. River's wrappers ask for it.
    """

    drift_detected = False
    warning_detected = False

    def update(self, error: float) -> bool:
        """Process one number; return whether it causes an alarm."""
        return bool(len(self.feed([error])))

    def feed(self, errors: ArrayLike) -> NDArray[np.intp]:
        """Process several numbers in their order.

        Parameters
        ----------
        errors : array_like, shape (n,)

        Returns
        -------
        ndarray of int
            Indices of the numbers that cause an alarm, as if each number were passed to `update`.

        Raises
        ------
        DataError
            If `errors` is not a one-dimensional array of finite numbers.
        """
        try:
            values = np.asarray(errors, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"A detector takes numbers; got {errors!r}.") from error
        if values.ndim != 1 or not np.isfinite(values).all():
            raise DataError(f"A detector takes a row of finite numbers; got shape {values.shape}.")
        flags = np.zeros(len(values), dtype=np.bool_)
        if len(values):
            self._update(np.ascontiguousarray(values), flags)
            self.drift_detected = bool(flags[-1])
        return np.flatnonzero(flags)

    @abstractmethod
    def _update(self, values: Floats, flags: NDArray[np.bool_]) -> None:
        """Process numbers, and mark those that cause an alarm in `flags`, all False before."""

    @abstractmethod
    def _beginning(self) -> dict[str, NDArray[Any]]:
        """Return the initial state as named arrays, in the order that the compiled loop takes."""

    def reset(self) -> None:
        """Reset the detector to its initial state."""
        self.drift_detected = False
        self._state = self._beginning()

    @property
    @abstractmethod
    def estimation(self) -> float:
        """Mean of the numbers since the last change; NaN without numbers."""

    # --------------------------------------------------------------------------- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor; `deep` has no effect."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor and reset the detector.

        Raises
        ------
        ModelError
            If a name is unknown, or the constructor refuses a value; the detector is then
            unchanged.
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ModelError(
                    f"{type(self).__name__} has the parameters {quoted(known)}; got {name!r}."
                    f"{suggestion(name, known)}"
                )
        self.__dict__.update(type(self)(**known | params).__dict__)
        return self

    def clone(self) -> Self:
        """Return a detector with the same parameters in its initial state."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({options})"

    # -------------------------------------------------------------------------------- files

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays, without the arguments of the constructor."""
        return self._state

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Replace the state by a saved state, as the method `arrays` returned it.

        Raises
        ------
        DataError
            If names, shapes or types of arrays are wrong, or values are NaN.
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


MODES = ("up", "down", "both")


def share(name: str, value: Any) -> Any:
    """Return `value`; raise a ModelError unless it is a number between 0 and 1, without these."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if is_number and 0.0 < value < 1.0:
        return value
    raise ModelError(f"{name} takes a number above 0 and below 1; got {value!r}.")


def whole(name: str, value: Any, minimum: int) -> int:
    """Return `value` as an int; raise a ModelError unless it is an integer, `minimum` or more."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise ModelError(f"{name} takes a whole number of at least {minimum}; got {value!r}.")
    return int(value)


def direction(mode: Any) -> str:
    """Return the argument `mode` of a detector after checking that it is one of `MODES`."""
    if mode not in MODES:
        raise ModelError(f"mode= is one of {quoted(MODES)}; got {mode!r}.")
    return str(mode)


# -------------------- The detector ADWIN of changes in a model's errors, and all detectors by name


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
        drift_kernels.update_adwin(
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
