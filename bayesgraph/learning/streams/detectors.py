"""The detector ADWIN of changes in a model's errors, and all detectors by name."""

from __future__ import annotations

import copy
import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.errors import DataError, ModelError, optional_module, quoted, suggestion
from bayesgraph.learning.streams import stream_kernels
from bayesgraph.statistics import ArrayState, Field

MODES = ("up", "down", "both")


# -------------------- The detector ADWIN of changes in a model's errors, and all detectors by name


@dataclasses.dataclass(eq=False)
class ADWIN(ArrayState):
    """Adaptive sliding window that shrinks when two of its parts have different means (ADWIN2).

    The window consists of buckets of 1, 2, 4, ... numbers, at most `max_buckets` of each size, so
    that memory grows with the log of its length. While the means of an older and a newer part
    differ significantly (Bernstein's inequality, corrected for the number of cuts), the oldest
    bucket is dropped. The remaining window holds the numbers since the change. One change may
    bring a few alarms in a row, as more numbers from before it are found and dropped.

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

    delta: float = 0.002
    _: dataclasses.KW_ONLY
    clock: int = 32
    max_buckets: int = 5
    min_window_length: int = 5
    grace_period: int = 10
    mode: str = "up"

    # At each level, the number of buckets of 2**level numbers; sum, and sum of squared deviations,
    # of the numbers in each bucket, oldest first; count, sum and sum of squared deviations of the
    # window, and the count of all numbers so far.
    counts: NDArray[np.int64] = dataclasses.field(init=False, repr=False)
    totals: Floats = dataclasses.field(init=False, repr=False)
    squares: Floats = dataclasses.field(init=False, repr=False)
    window: Floats = dataclasses.field(init=False, repr=False)
    drift_detected = False
    warning_detected = False  # river's wrappers ask for it
    fields: ClassVar[Mapping[str, Field]] = {
        "counts": Field(("n_levels",), 0.0, dtype=np.int64),
        "totals": Field(("n_levels", "n_buckets")),
        "squares": Field(("n_levels", "n_buckets"), 0.0),
        "window": Field(("n_sums",)),
    }
    # Levels of buckets, up to buckets of 2**47 numbers: no stream is longer. Length of `window`.
    n_levels, n_sums = 48, 4

    def __post_init__(self) -> None:
        number: Any = self.delta
        is_number = isinstance(number, numbers.Real) and not isinstance(number, bool)
        if not is_number or not 0.0 < self.delta < 1.0:
            raise ModelError(f"delta takes a number above 0 and below 1; got {self.delta!r}.")
        if self.mode not in MODES:
            raise ModelError(f"mode= is one of {quoted(MODES)}; got {self.mode!r}.")
        for name in ("clock", "max_buckets", "min_window_length", "grace_period"):
            minimum = 2 if name == "max_buckets" else 1
            setattr(self, name, whole_number(name, "numbers", getattr(self, name), minimum))
        # One more than the maximum: a level overflows before two of its buckets are merged.
        self.n_buckets = self.max_buckets + 1
        self.reset()

    def reset(self) -> None:
        """Reset the detector to its initial state."""
        self.drift_detected = False
        for name in self.fields:
            self.__dict__.pop(name, None)
        self.grow()  # makes missing arrays anew

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
            # Increases are alarms unless the mode is "down", and decreases unless it is "up".
            stream_kernels.update_adwin(
                np.ascontiguousarray(values), self.delta, self.clock, self.min_window_length,
                self.grace_period, self.mode != "down", self.mode != "up", self.counts,
                self.totals, self.squares, self.window, flags,
            )  # fmt: skip
            self.drift_detected = bool(flags[-1])
        return np.flatnonzero(flags)

    def check(self) -> None:
        """Raise a DataError unless the buckets make up the window's width."""
        # A bucket at a level holds 2**level numbers; a level has at most n_buckets - 1 buckets.
        held = float(self.counts @ 2.0 ** np.arange(self.n_levels))
        if held != self.window[0] or (self.counts >= self.n_buckets).any():
            self.reset()  # an inconsistent state must not be used after the error
            raise DataError("The buckets of a saved window do not make up its width.")

    @property
    def width(self) -> int:
        """Number of numbers in the window."""
        return int(self.window[0])

    @property
    def estimation(self) -> float:
        """Mean of the numbers in the window; NaN without numbers."""
        return float(self.window[1] / self.width) if self.width else math.nan

    # --------------------------------------------------------------------------- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor; `deep` has no effect."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor and reset the detector.

        Raises
        ------
        ModelError
            If a name is unknown. After this error, and if the constructor refuses a value, the
            detector is unchanged.
        """
        current = self.get_params()
        for name in params:
            if name not in current:
                raise ModelError(
                    f"{type(self).__name__} has the parameters {quoted(current)}; got {name!r}."
                    f"{suggestion(name, current)}"
                )
        # The constructor of a new detector checks the values before anything changes here.
        self.__dict__.update(type(self)(**current | params).__dict__)
        return self

    def clone(self) -> Self:
        """Return a detector with the same parameters in its initial state."""
        return type(self)(**self.get_params())


def _of_river(module: str, name: str, **options: Any) -> Any:
    """Return a new detector of river, given its module, the name of its class and arguments."""
    river = optional_module(f"river.{module}", extra="river", what=f"The drift detector {name}")
    return getattr(river, name)(**options)


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
    is_detector = hasattr(detector, "update") and hasattr(detector, "drift_detected")
    if isinstance(detector, type) or not is_detector:
        hint = suggestion(detector, DETECTORS) if isinstance(detector, str) else ""
        raise ModelError(
            f"detector= is one of {quoted(DETECTORS)}, or a detector with update(error) and "
            f"drift_detected, or None; got {detector!r}.{hint}"
        )
    return copy.deepcopy(detector)


def alarms(detector: Any, errors: Floats) -> NDArray[np.intp]:
    """Return the indices of the errors at which a detector raises an alarm.

    The detector is an `ADWIN`, or an object with the protocol of river's detectors.
    """
    if isinstance(detector, ADWIN):
        return detector.feed(errors)
    places = []
    for place, error in enumerate(errors.tolist()):
        detector.update(error)
        if detector.drift_detected:
            places.append(place)
    return np.array(places, dtype=np.intp)
