"""Base class of drift detectors, with the methods of river and `get_params` of scikit-learn."""

from __future__ import annotations

import inspect
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import DataError, ModelError, quoted, suggestion
from bayesgraph.factors.algebra import Floats


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
