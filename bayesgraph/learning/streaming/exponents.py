"""Exponents and biases of a streaming weighted naive Bayes, with one gradient step per row."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
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
# Step size of adaptive steps (exponents are near 1 and have no unit, so that one value serves all
# streams), and initial sum of squared gradients, in nats.
ADAPTIVE_STEP, _FIRST_SQUARES = 0.1, 1.0
# Maximum ratio of the step size of class deviations to that of shared exponents. The ratio is one
# over the root of the number of features if that is less, as noise adds up over the features.
_OWN_SHARE = 0.2
# Exponent a of the weight t^a of step t in averages: half of the weight is in the last eighth.
_AVERAGE_POWER = 4.0

# Initial value of each array of `Steps`, and whether the array has axes of classes and of features.
_INITIAL = {
    "shared": (1.0, False, True),
    "squares": (_FIRST_SQUARES, False, True),
    "mean_shared": (1.0, False, True),
    "ranges": (0.0, False, True),
    "own_ranges": (0.0, False, True),
    "observed": (0.0, False, True),
    "own": (0.0, True, True),
    "own_squares": (_FIRST_SQUARES, True, True),
    "mean_own": (0.0, True, True),
    "bias": (0.0, True, False),
    "bias_squares": (_FIRST_SQUARES, True, False),
    "mean_bias": (0.0, True, False),
}
# Arrays that determine step sizes, with their minimum valid values: steps are divided by the roots
# of the sums of squared gradients.
_PACE = dict.fromkeys(("squares", "own_squares", "bias_squares"), sys.float_info.min)
_PACE |= dict.fromkeys(("ranges", "own_ranges", "observed"), 0.0)


class StreamExponents:
    """Exponents and biases of a weighted naive Bayes, their averages, and the state of their steps.

    The exponent of feature i in class k is ``shared_i + own_ki``.

    Parameters
    ----------
    n_classes, n_features : int
    mode : {None, "variable", "class", "mixed"}
        Which exponents are learned; None for none.
    step : float or None
        Fixed step size; None for adaptive steps.
    domain : {"free", "nonnegative"}
    decay : float
        Factor of the weight of all earlier rows after each row.
    smoothing : float
        Pseudo-count of each class in the prior.

    Attributes
    ----------
    state : kernels.Steps
        Exponents, biases, and the sums that determine steps.
    clock : ndarray, shape (2,)
        Number t of steps, and the exponent a of the weight t^a of step t in the averages.
    """

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
        self._mode, self._minimum = MODES[mode], DOMAINS[domain]
        self._decay, self._smoothing = decay, smoothing
        self._adaptive = step is None
        self._step = ADAPTIVE_STEP if step is None else step
        self.clock = np.array([0.0, _AVERAGE_POWER])
        self._shape = (n_classes, n_features)
        self.state = self._beginning()

    def _shape_of(self, name: str) -> tuple[int, ...]:
        axes = zip(self._shape, _INITIAL[name][1:], strict=True)
        return tuple(length for length, there in axes if there)

    def _beginning(self) -> kernels.Steps:
        """Return the initial exponents (all 1), biases (0) and step state."""
        return kernels.Steps(
            **{name: np.full(self._shape_of(name), value) for name, (value, *_) in _INITIAL.items()}
        )

    @property
    def moves(self) -> bool:
        """Whether exponents are learned."""
        return self._mode != kernels.FIXED

    @property
    def mean(self) -> Floats:
        """Averaged exponents of each class and feature, shape (n_classes, n_features)."""
        return self.state.mean_shared + self.state.mean_own

    @property
    def mean_bias(self) -> Floats:
        """Averaged biases, shape (n_classes,)."""
        return self.state.mean_bias

    def step(
        self,
        logs: Floats,
        classes: NDArray[np.int64],
        weights: Floats,
        centre: Floats,
        totals: Floats,
        out: Floats,
    ) -> None:
        """Predict rows, with a gradient step after each; arguments as for `kernels.learn_rows`."""
        kernels.learn_rows(
            logs, classes, weights, centre, self._mode, self._step, self._own_step, self._adaptive,
            self._minimum, self._smoothing, totals, self.clock, self.state, self._decay, out,
        )  # fmt: skip

    @property
    def _own_step(self) -> float:
        """Step size of class-specific exponents; smaller for deviations from shared exponents."""
        if not self._adaptive or self._mode != kernels.MIXED:
            return self._step
        return self._step * min(_OWN_SHARE, 1.0 / math.sqrt(max(1, self._shape[1])))

    def shift(self, moved: Floats) -> None:
        """Adjust the biases to changes of the mean log densities (`moved`, by class and feature).

        Finer intervals have lower probabilities. With exponents other than 1 this would change the
        scores of the classes, which the biases compensate.
        """
        now = self.state
        now.bias[:] -= ((now.shared + now.own - 1.0) * moved).sum(axis=1)
        now.mean_bias[:] -= ((now.mean_shared + now.mean_own - 1.0) * moved).sum(axis=1)

    def begin(self) -> None:
        """Reset exponents to 1 and biases to 0."""
        self._reset(_INITIAL.keys() - _PACE.keys())

    def quicken(self) -> None:
        """Reset the adaptive step sizes to their (larger) initial values, after drift."""
        self._reset(_PACE)
        self.clock[0] = 0.0

    def _reset(self, names: Iterable[str]) -> None:
        for name in names:
            getattr(self.state, name)[:] = _INITIAL[name][0]

    def grow(self, n_classes: int, n_features: int, at: int, n_inserted: int) -> None:
        """Add classes and features up to the given numbers.

        Of the new features, `n_inserted` are inserted at index `at`, the others added at the end.
        """
        before, self._shape = self.state, (n_classes, n_features)
        self.state = self._beginning()
        width = len(before.shared) + n_inserted
        columns = np.delete(np.arange(width), slice(at, at + n_inserted))
        for old, new, (_, by_class, by_feature) in zip(
            before, self.state, _INITIAL.values(), strict=True
        ):
            part = new[: len(old)] if by_class else new
            part[..., columns if by_feature else slice(None)] = old

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays, for a file."""
        return {"clock": self.clock} | self.state._asdict()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the state by that in the named arrays of `arrays`.

        Raises
        ------
        DataError
            If the arrays are not a valid state.
        """
        self.clock = state_array(arrays, "clock", (2,), minimum=0.0)
        self.state = kernels.Steps(
            **{
                name: state_array(
                    arrays, name, self._shape_of(name), minimum=_PACE.get(name, -np.inf)
                )
                for name in _INITIAL
            }
        )
