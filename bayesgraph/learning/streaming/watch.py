"""What a learner of a stream does about drift: it watches its own errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.drift import DriftDetector, alarms, chosen_detector
from bayesgraph.factors.algebra import Floats


class DriftWatch:
    """A detector, the errors that wait for it, and the alarms that it has raised.

    Errors are those of predictions made before a row was learned. They wait as their rows do, so
    that the alarms do not depend on the batches in which rows arrive.

    Parameters
    ----------
    detector : str, DriftDetector, object of river's protocol, or None
        Copied.
    room : int
        Errors that may wait.

    Attributes
    ----------
    rows : list of int
        Rows that brought an alarm, counted from 0.
    """

    def __init__(self, detector: Any, room: int) -> None:
        self.detector = chosen_detector(detector)
        self.rows: list[int] = []
        self._errors = np.zeros(room)

    @property
    def is_on(self) -> bool:
        """Whether there is a detector."""
        return self.detector is not None

    def note(self, at: slice, probabilities: Floats, classes: NDArray[np.int64]) -> None:
        """Let the errors of some rows wait: 1 where the most probable class was another."""
        self._errors[at] = probabilities.argmax(axis=1) != classes

    def alarmed(self, n: int, first: int) -> bool:
        """Feed the n errors that wait, the first of which is of a certain row; tell of alarms."""
        if not self.is_on:
            return False
        found = alarms(self.detector, self._errors[:n])
        self.rows += (first + found).tolist()
        return len(found) > 0

    def arrays(self, n: int) -> dict[str, NDArray[Any]]:
        """Return the state as arrays while n errors wait."""
        found = {"rows": np.array(self.rows, dtype=np.int64), "errors": self._errors[:n]}
        if isinstance(self.detector, DriftDetector):
            found |= {f"detector_{name}": a for name, a in self.detector.arrays().items()}
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state that `arrays` returned."""
        self.rows = arrays["rows"].tolist()
        self._errors[: len(arrays["errors"])] = arrays["errors"]
        if isinstance(self.detector, DriftDetector):
            prefix = "detector_"
            self.detector.restore(
                {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            )
