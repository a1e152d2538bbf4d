"""The reaction of a stream's learner to drift, which it detects in its own errors.

Prequential accuracies over 24,000 rows when the reaction to an alarm was chosen, means of two
seeds, naive Bayes / weighted: SEA (10 % noise) and Agrawal change their concept after each 6,000
rows, Hyperplane a little with each row, Gaussians (50 correlated features) change means and
covariances and flip (20 features) swaps the classes after each 6,000 rows, still is Agrawal without
a change, on which there was no alarm.

========================  =========  =========  =========  =========  =========  =========
reaction                  SEA        Agrawal    Hyperplane Gaussians  flip       still
========================  =========  =========  =========  =========  =========  =========
none                      .830/.856  .667/.714  .862/.864  .597/.634  .449/.614  .915/.944
ADWIN, quicken            .830/.868  .667/.775  .862/.876  .597/.715  .449/.709  .915/.944
ADWIN, forget             .863/.869  .859/.863  .875/.876  .701/.754  .821/.819  .915/.944
DDM, forget               .860/.864  .857/.863  .875/.876  .700/.751  .813/.812  .915/.944
window of 2,000           .861/.865  .819/.823  .881/.878  .690/.702  .733/.728  .905/.927
window of 2,000, forget   .864/.867  .857/.862  .882/.878  .702/.750  .815/.813  .905/.927
decay 0.999               .857/.865  .826/.826  .886/.883  .691/.703  .755/.754  .900/.926
========================  =========  =========  =========  =========  =========  =========
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.drift import DriftDetector
from bayesgraph.drift.detectors import alarms, chosen_detector
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import part_of

# Weight of the rows seen before an alarm that remains after it.
REMAINING_WEIGHT = 50.0


class DriftReaction:
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
    begun : int
        Rows before the one with which the model began anew.
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
        """Let the errors of some rows wait: 1 where the most probable class was another."""
        self._errors[at] = probabilities.argmax(axis=1) != classes

    def alarmed(self, n: int, first: int) -> bool:
        """Feed the n errors that wait and return whether there is an alarm.

        `first` is the row of the first error.
        """
        if not self.is_on:
            return False
        found = alarms(self.detector, self._errors[:n])
        self.rows += (first + found).tolist()
        return len(found) > 0

    def arrays(self, n: int) -> dict[str, NDArray[Any]]:
        """Return the state as arrays while n errors wait."""
        found: dict[str, NDArray[Any]] = {"rows": np.array([*self.rows, self.begun])}
        if self.is_on:
            found["errors"] = self._errors[:n]
        if isinstance(self.detector, DriftDetector):
            found |= {f"detector_{name}": a for name, a in self.detector.arrays().items()}
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]], n: int) -> None:
        """Take the state that `arrays` returned while n errors waited.

        Raises
        ------
        DataError
            For arrays that it never returns.
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
