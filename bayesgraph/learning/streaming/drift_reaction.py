"""Reaction of a streaming learner to drift, which it detects in its own prediction errors.

Prequential accuracies over 24,000 rows when the reaction to an alarm was chosen, means of two
seeds, naive Bayes / weighted. SEA (10 % noise) and Agrawal change their concept every 6,000 rows;
"Hyperplane" changes a little with each row; every 6,000 rows, "Gaussians" (50 correlated features)
changes means and covariances, and "flip" (20 features) swaps the classes; "still" is Agrawal
without any change, on which there was no alarm.

========================  =========  =========  =========  =========  =========  =========
reaction                  SEA        Agrawal    Hyperplane Gaussians  flip       still
========================  =========  =========  =========  =========  =========  =========
none                      .830/.856  .667/.714  .862/.864  .597/.634  .449/.614  .915/.944
ADWIN, quicken            .830/.868  .667/.775  .862/.876  .597/.715  .449/.709  .915/.944
ADWIN, forget             .863/.869  .859/.863  .875/.876  .701/.754  .821/.819  .915/.944
DDM, forget               .860/.864  .857/.863  .875/.876  .700/.751  .813/.812  .915/.944
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
