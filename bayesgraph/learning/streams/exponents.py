"""Exponents and biases of a streaming weighted naive Bayes, with one gradient step per row."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.learning.streams import exponent_kernels
from bayesgraph.learning.streams.detectors import DriftDetector, alarms, chosen_detector
from bayesgraph.statistics import part_of, state_array

# -------- Exponents and biases of a streaming weighted naive Bayes, with one gradient step per row


MODES = {
    None: exponent_kernels.FIXED,
    "variable": exponent_kernels.VARIABLE,
    "class": exponent_kernels.CLASS,
    "mixed": exponent_kernels.MIXED,
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
    """Exponents and biases of a streaming weighted naive Bayes, learned by gradient steps.

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

    def _beginning(self) -> exponent_kernels.Steps:
        """Return the initial exponents (all 1), biases (0) and step state."""
        return exponent_kernels.Steps(
            **{name: np.full(self._shape_of(name), value) for name, (value, *_) in _INITIAL.items()}
        )

    @property
    def moves(self) -> bool:
        """Whether exponents are learned."""
        return self._mode != exponent_kernels.FIXED

    @property
    def mean(self) -> Floats:
        """Exponents averaged over the steps, shape (n_classes, n_features)."""
        return self.state.mean_shared + self.state.mean_own

    @property
    def mean_bias(self) -> Floats:
        """Biases averaged over the steps, shape (n_classes,)."""
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
        exponent_kernels.learn_rows(
            logs, classes, weights, centre, self._mode, self._step, self._own_step, self._adaptive,
            self._minimum, self._smoothing, totals, self.clock, self.state, self._decay, out,
        )  # fmt: skip

    @property
    def _own_step(self) -> float:
        """Step size of class-specific exponents; smaller for deviations from shared exponents."""
        if not self._adaptive or self._mode != exponent_kernels.MIXED:
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
        self.state = exponent_kernels.Steps(
            **{
                name: state_array(
                    arrays, name, self._shape_of(name), minimum=_PACE.get(name, -np.inf)
                )
                for name in _INITIAL
            }
        )


# --------- Reaction of a streaming learner to drift, which it detects in its own prediction errors
# Prequential accuracies over 24,000 rows when the reaction to an alarm was chosen, means of two
# seeds, naive Bayes / weighted. SEA (10 % noise) and Agrawal change their concept every 6,000 rows;
# "Hyperplane" changes a little with each row; every 6,000 rows, "Gaussians" (50 correlated
# features) changes means and covariances, and "flip" (20 features) swaps the classes; "still" is
# Agrawal without any change, on which there was no alarm.
#
# ======================== ========= ========= ========= ========= ========= ========= reaction SEA
# Agrawal Hyperplane Gaussians flip still ======================== ========= ========= =========
# ========= ========= ========= none .830/.856 .667/.714 .862/.864 .597/.634 .449/.614 .915/.944
# ADWIN, quicken .830/.868 .667/.775 .862/.876 .597/.715 .449/.709 .915/.944 ADWIN, forget .863/.869
# .859/.863 .875/.876 .701/.754 .821/.819 .915/.944 DDM, forget .860/.864 .857/.863 .875/.876
# .700/.751 .813/.812 .915/.944 decay 0.999 .857/.865 .826/.826 .886/.883 .691/.703 .755/.754
# .900/.926 ======================== ========= ========= ========= ========= ========= =========


# Total weight to which the rows before an alarm are reduced by "forget".
REMAINING_WEIGHT = 50.0


class DriftReaction:
    """A drift detector, a buffer of prediction errors, and the alarms raised so far.

    Errors are those of predictions made before a row was learned. They are buffered like their
    rows, so that alarms do not depend on the batches in which rows arrive.

    Parameters
    ----------
    detector : str, DriftDetector, object of river's protocol, or None
        Detector of drift, which is copied.
    room : int
        Maximum number of errors in the buffer.

    Attributes
    ----------
    rows : list of int
        Indices of the rows that raised an alarm.
    begun : int
        Number of rows in the summaries at the last reset of the model.
    """

    def __init__(self, detector: Any, room: int) -> None:
        self.detector = chosen_detector(detector)
        self.rows: list[int] = []
        self.begun = 0
        self._errors = np.zeros(room)

    @property
    def is_on(self) -> bool:
        """Whether there is a detector."""
        return self.detector is not None

    def note(self, at: slice, probabilities: Floats, classes: NDArray[np.int64]) -> None:
        """Write the errors of rows into a slice of the buffer: 1 for a wrong class, else 0."""
        self._errors[at] = probabilities.argmax(axis=1) != classes

    def alarmed(self, n: int, first: int) -> bool:
        """Feed the first n errors of the buffer to the detector; return whether it raised an alarm.

        `first` is the index of the row of the first error.
        """
        if not self.is_on:
            return False
        found = alarms(self.detector, self._errors[:n])
        self.rows += (first + found).tolist()
        return len(found) > 0

    def arrays(self, n: int) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays, for a file; the buffer has n errors."""
        found: dict[str, NDArray[Any]] = {"rows": np.array([*self.rows, self.begun])}
        if self.is_on:
            found["errors"] = self._errors[:n]
        if isinstance(self.detector, DriftDetector):
            found |= {f"detector_{name}": a for name, a in self.detector.arrays().items()}
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]], n: int) -> None:
        """Replace the state by that in the named arrays of `arrays`, with n errors in the buffer.

        Raises
        ------
        DataError
            If the arrays are not a valid state.
        """
        rows = arrays["rows"]
        if rows.dtype != np.int64 or rows.ndim != 1 or not len(rows) or (rows < 0).any():
            raise DataError("A saved state has rows of alarms that are whole numbers from 0.")
        *self.rows, self.begun = rows.tolist()
        if self.is_on:
            errors = arrays["errors"]
            if errors.shape != (n,) or not np.isin(errors, (0.0, 1.0)).all():
                raise DataError(f"A saved state has errors of 0 and 1 for {n} rows that wait.")
            self._errors[:n] = errors
        if isinstance(self.detector, DriftDetector):
            self.detector.restore(part_of(arrays, "detector_"))
