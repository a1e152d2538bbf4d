"""Exponents and biases of a streaming weighted naive Bayes, with one gradient step per row."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.learning.streams import stream_kernels
from bayesgraph.learning.streams.settings import DOMAINS, MODES, StreamSettings
from bayesgraph.statistics import ArrayState, Field

# -------- Exponents and biases of a streaming weighted naive Bayes, with one gradient step per row


# Step size of adaptive steps (exponents are near 1 and have no unit, so that one value serves all
# streams), and initial sum of squared gradients, in nats.
ADAPTIVE_STEP, _FIRST_SQUARES = 0.1, 1.0
# Maximum ratio of the step size of class deviations to that of shared exponents. The ratio is one
# over the root of the number of features if that is less, as noise adds up over the features.
_OWN_SHARE = 0.2
# Exponent a of the weight t^a of step t in averages: half of the weight is in the last eighth.
_AVERAGE_POWER = 4.0

# The arrays of `Steps`. Steps are divided by the roots of sums of squared gradients.
_BY_FEATURE, _BY_CLASS = ("n_features",), ("n_classes",)
_BY_BOTH = (*_BY_CLASS, *_BY_FEATURE)
_TINY = sys.float_info.min
_STATE = attrgetter(*stream_kernels.Steps._fields)
# Exponents and biases, and what determines step sizes.
_EXPONENTS = {
    "shared": Field(_BY_FEATURE, initial=1.0),
    "mean_shared": Field(_BY_FEATURE, initial=1.0),
    "own": Field(_BY_BOTH),
    "mean_own": Field(_BY_BOTH),
    "bias": Field(_BY_CLASS),
    "mean_bias": Field(_BY_CLASS),
}
_PACE = {
    "squares": Field(_BY_FEATURE, _TINY, initial=_FIRST_SQUARES),
    "own_squares": Field(_BY_BOTH, _TINY, initial=_FIRST_SQUARES),
    "bias_squares": Field(_BY_CLASS, _TINY, initial=_FIRST_SQUARES),
    "ranges": Field(_BY_FEATURE, 0.0),
    "own_ranges": Field(_BY_FEATURE, 0.0),
    "observed": Field(_BY_FEATURE, 0.0),
}


class StreamExponents(ArrayState):
    """Exponents and biases of a streaming weighted naive Bayes, learned by gradient steps.

    The exponent of feature i in class k is ``shared_i + own_ki``.

    Parameters
    ----------
    n_classes, n_features : int
    settings : StreamSettings

    Attributes
    ----------
    clock : ndarray, shape (2,)
        Number t of steps, and the exponent a of the weight t^a of step t in the averages.
    shared : ndarray, shape (n_features,)
    own : ndarray, shape (n_classes, n_features)
        Deviations of the classes from the shared exponents, which stay 1 if only class-specific
        exponents are learned.
    bias : ndarray, shape (n_classes,)
        Added to the log prior of each class.
    mean_shared, mean_own, mean_bias
        Their averages over the steps, by which rows are predicted.
    squares, own_squares, bias_squares, ranges, own_ranges, observed
        What determines the adaptive step sizes, see `stream_kernels.Steps`.
    """

    mean_own: Floats
    mean_bias: Floats
    mean_shared: Floats
    fields: ClassVar[Mapping[str, Field]] = {
        "clock": Field(("n_clocks",), 0.0),
        **_EXPONENTS,
        **_PACE,
    }
    n_clocks = 2

    def __init__(self, n_classes: int, n_features: int, settings: StreamSettings) -> None:
        # Which exponents are learned, as kernels encode it, and the minimum of an exponent.
        self._mode, self._minimum = MODES[settings.exponents], DOMAINS[settings.domain]
        self._decay, self._smoothing = settings.decay, settings.smoothing.alpha
        self._adaptive = settings.step is None
        self._step = ADAPTIVE_STEP if settings.step is None else settings.step
        self.clock = np.array([0.0, _AVERAGE_POWER])
        self.n_classes, self.n_features = n_classes, n_features
        self.grow()  # makes the arrays of `fields`

    @property
    def state(self) -> stream_kernels.Steps:
        """The arrays as kernels take them."""
        return stream_kernels.Steps(*_STATE(self))

    @property
    def moves(self) -> bool:
        """Whether exponents are learned."""
        return self._mode != stream_kernels.FIXED

    @property
    def mean(self) -> Floats:
        """Exponents averaged over the steps, shape (n_classes, n_features)."""
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
        """Predict rows, with a gradient step after each; arguments: `stream_kernels.learn_rows`."""
        own_step = self._step  # of class-specific exponents; less for deviations from shared ones
        if self._adaptive and self._mode == stream_kernels.MIXED:
            own_step *= min(_OWN_SHARE, 1.0 / math.sqrt(max(1, self.n_features)))
        stream_kernels.learn_rows(
            logs, classes, weights, centre, self._mode, self._step, own_step, self._adaptive,
            self._minimum, self._smoothing, totals, self.clock, self.state, self._decay, out,
        )  # fmt: skip

    def shift(self, moved: Floats) -> None:
        """Adjust the biases to changes of the mean log densities (`moved`, by class and feature).

        Finer intervals have lower probabilities. With exponents other than 1 this would change the
        scores of the classes, which the biases compensate.
        """
        steps = self.state
        # A score is bias + sum_i exponent_i log p_i. With exponents of 1 its change is that of the
        # model itself, and remains; what other exponents add to the change is subtracted.
        steps.bias[:] -= ((steps.shared + steps.own - 1.0) * moved).sum(axis=1)
        steps.mean_bias[:] -= ((steps.mean_shared + steps.mean_own - 1.0) * moved).sum(axis=1)

    def begin(self) -> None:
        """Reset exponents to 1 and biases to 0."""
        self._reset(_EXPONENTS)

    def reset_step_sizes(self) -> None:
        """Reset the adaptive step sizes to their (larger) initial values, after drift."""
        self._reset(_PACE)
        self.clock[0] = 0.0  # averages begin anew, too

    def _reset(self, names: Iterable[str]) -> None:
        """Give the named arrays their initial values."""
        for name in names:
            getattr(self, name)[:] = self.fields[name].initial

    def insert(self, at: int, n: int) -> None:
        """Insert n features at an index."""
        self.n_features += n
        for name, field in self.fields.items():
            if field.axes[-1] == "n_features":
                array = getattr(self, name)
                setattr(self, name, np.insert(array, [at] * n, field.initial, axis=-1))
