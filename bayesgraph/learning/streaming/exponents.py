"""Exponents and biases of a star, which take one gradient step a row."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.streaming import kernels
from bayesgraph.statistics.sketches.base import state_array

MODES = {
    None: kernels.FIXED,
    "variable": kernels.VARIABLE,
    "class": kernels.CLASS,
    "mixed": kernels.MIXED,
}
DOMAINS = {"free": -np.inf, "nonnegative": 0.0}
# Of an exponent: how far the first steps go (exponents are near 1 and have no unit, so that one
# number serves all streams), and the squared gradients (nats) that are there before any is seen.
ADAPTIVE_STEP, _FIRST_SQUARES = 0.1, 1.0
# Deviations of a class move slower than what all classes share: by this factor, or by the root of
# the number of features if that is slower, as their noise adds up over the features.
_OWN_SHARE = 0.2
# The average weighs step t by about t to this power: half of it comes from the last eighth.
_AVERAGE_POWER = 4.0

# What each array holds before any step.
_SHARED = {
    "shared": 1.0,
    "squares": _FIRST_SQUARES,
    "mean_shared": 1.0,
    "ranges": 0.0,
    "own_ranges": 0.0,
    "observed": 0.0,
}
_OWN = {"own": 0.0, "own_squares": _FIRST_SQUARES, "mean_own": 0.0}
_BIASES = {"bias": 0.0, "bias_squares": _FIRST_SQUARES, "mean_bias": 0.0}
_FIRST = _SHARED | _OWN | _BIASES
# On which the length of steps depends, and the least that they may be: by squared gradients is
# divided.
_PACE = dict.fromkeys(("squares", "own_squares", "bias_squares"), sys.float_info.min)
_PACE |= dict.fromkeys(("ranges", "own_ranges", "observed"), 0.0)


class StreamExponents:
    """Exponents ``shared_i + own_ki`` and biases, their averages, and what steps depend on.

    Parameters
    ----------
    n_classes, n_features : int
    mode : {None, "variable", "class", "mixed"}
        Which exponents move.
    step : float or None
        Fixed; None for adaptive ones.
    domain : {"free", "nonnegative"}
    decay : float
        Of the weight of rows after each further row.
    smoothing : float
        Rows added to each class in the prior.

    Attributes
    ----------
    shared, squares, mean_shared : ndarray, shape (n_features,)
    own, own_squares, mean_own : ndarray, shape (n_classes, n_features)
    bias, bias_squares, mean_bias : ndarray, shape (n_classes,)
        Iterates, sums of squared gradients, and averages of the iterates.
    ranges, own_ranges : ndarray, shape (n_features,)
        Sums of squared ranges of log densities; see `kernels.learn_rows`.
    observed : ndarray, shape (n_features,)
        Rows in which a feature was not missing.
    clock : ndarray, shape (2,)
        Steps taken, and the power of the weights in the average.
    """

    shared: Floats
    squares: Floats
    mean_shared: Floats
    ranges: Floats
    own_ranges: Floats
    observed: Floats
    own: Floats
    own_squares: Floats
    mean_own: Floats
    bias: Floats
    bias_squares: Floats
    mean_bias: Floats

    def __init__(
        self,
        n_classes: int,
        n_features: int,
        *,
        mode: str | None,
        step: float | None,
        domain: str,
        decay: float,
        smoothing: float,
    ) -> None:
        self._mode, self._least = MODES[mode], DOMAINS[domain]
        self._decay, self._smoothing = decay, smoothing
        self._adaptive = step is None
        self._step = ADAPTIVE_STEP if step is None else step
        self.clock = np.array([0.0, _AVERAGE_POWER])
        self._shape = (n_classes, n_features)
        for name, value in _FIRST.items():
            setattr(self, name, np.full(self._shape_of(name), value))

    def _shape_of(self, name: str) -> tuple[int, ...]:
        n_classes, n_features = self._shape
        if name in _OWN:
            return n_classes, n_features
        return (n_features,) if name in _SHARED else (n_classes,)

    @property
    def moves(self) -> bool:
        """Whether exponents are learned."""
        return self._mode != kernels.FIXED

    @property
    def mean(self) -> Floats:
        """Averaged exponents, shape (n_classes, n_features)."""
        return self.mean_shared + self.mean_own

    def step(
        self,
        logs: Floats,
        classes: NDArray[np.int64],
        weights: Floats,
        centre: Floats,
        totals: Floats,
        out: Floats,
    ) -> None:
        """Predict rows and take a step after each; parameters as for `kernels.learn_rows`."""
        width = logs.shape[2]
        kernels.learn_rows(
            logs, classes, weights, centre, self._mode, self._step, self._own_step, self._adaptive,
            self._least, self._smoothing, totals, self.clock, self.shared[:width],
            self.own[:, :width], self.bias, self.squares, self.own_squares, self.bias_squares,
            self.mean_shared[:width], self.mean_own[:, :width], self.mean_bias, self.ranges,
            self.own_ranges, self.observed, self._decay, out,
        )  # fmt: skip

    @property
    def _own_step(self) -> float:
        """Of the deviations, where an exponent has both parts."""
        if not self._adaptive or self._mode != kernels.MIXED:
            return self._step
        return self._step * min(_OWN_SHARE, 1.0 / math.sqrt(max(1, self._shape[1])))

    def shift(self, moved: Floats) -> None:
        """Let biases make up for means of the log densities that moved, (n_classes, n_features).

        Finer intervals are less probable, each of them: what an exponent other than 1 makes of
        that belongs to the bias.
        """
        self.bias -= ((self.shared + self.own - 1.0) * moved).sum(axis=1)
        self.mean_bias -= ((self.mean_shared + self.mean_own - 1.0) * moved).sum(axis=1)

    def begin(self) -> None:
        """Return to exponents of 1 and biases of 0."""
        for name, value in _FIRST.items():
            if name not in _PACE:
                getattr(self, name)[:] = value

    def quicken(self) -> None:
        """Let the steps be as long as in the beginning: after a change of what is learned."""
        for name, value in _FIRST.items():
            if name in _PACE:
                getattr(self, name)[:] = value
        self.clock[0] = 0.0

    def grow(self, n_classes: int, n_features: int, at: int, n_inserted: int) -> None:
        """Make room for classes and features after the others, some of them at a place before."""
        self._shape = (n_classes, n_features)
        for name, value in _FIRST.items():
            old = getattr(self, name)
            if name in _BIASES:
                setattr(self, name, np.append(old, np.full(n_classes - len(old), value)))
            else:
                setattr(self, name, inserted(old, self._shape_of(name), at, n_inserted, value))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return {"clock": self.clock} | {name: getattr(self, name) for name in _FIRST}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state that `arrays` returned.

        Raises
        ------
        DataError
            For arrays that it never returns.
        """
        self.clock = state_array(arrays, "clock", (2,), minimum=0.0)
        for name in _FIRST:
            least = _PACE.get(name, -np.inf)
            setattr(self, name, state_array(arrays, name, self._shape_of(name), minimum=least))


def inserted(old: Floats, shape: tuple[int, ...], at: int, n_inserted: int, value: float) -> Floats:
    """Return an array of a larger shape, with columns inserted, and rows and columns appended.

    Parameters
    ----------
    old : ndarray, shape (width,) or (n, width)
    shape : tuple of int
    at, n_inserted : int
        Where columns are inserted, and how many; what more there are follows all others.
    value : float
        Of what is new.
    """
    out = np.full(shape, value)
    part = out[: len(old)] if old.ndim == 2 else out
    part[..., :at] = old[..., :at]
    part[..., at + n_inserted : old.shape[-1] + n_inserted] = old[..., at:]
    return out
