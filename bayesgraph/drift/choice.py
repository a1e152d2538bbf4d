"""What is given as `detector=`: a name, a detector of one's own, or one of river."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.drift.base import DriftDetector
from bayesgraph.drift.detectors import ADWIN, DDM, PageHinkley
from bayesgraph.errors import ModelError, quoted, suggestion
from bayesgraph.factors.algebra import Floats

DETECTORS: dict[str, type[DriftDetector]] = {
    "adwin": ADWIN,
    "ddm": DDM,
    "page-hinkley": PageHinkley,
}


def chosen_detector(detector: Any) -> Any:
    """Return a detector of one's own: from a name, a copy of an object, or None.

    Raises
    ------
    ModelError
        For an unknown name, or an object without `update` and `drift_detected` (the protocol of
        river's detectors).
    """
    if detector is None:
        return None
    if isinstance(detector, str):
        if detector not in DETECTORS:
            raise ModelError(
                f"detector= is one of {quoted(DETECTORS)}, a detector or None; got {detector!r}."
                f"{suggestion(detector, DETECTORS)}"
            )
        return DETECTORS[detector]()
    known = hasattr(detector, "update") and hasattr(detector, "drift_detected")
    if isinstance(detector, type) or not known:
        raise ModelError(
            f"detector= is one of {quoted(DETECTORS)}, or a detector with update(error) and "
            f"drift_detected; got {detector!r}."
        )
    return copy.deepcopy(detector)


def alarms(detector: Any, errors: Floats) -> NDArray[np.intp]:
    """Return the positions of the errors at which a detector raises an alarm."""
    if isinstance(detector, DriftDetector):
        return detector.feed(errors)
    found = []
    for place, error in enumerate(errors.tolist()):
        detector.update(error)
        if detector.drift_detected:
            found.append(place)
    return np.array(found, dtype=np.intp)
