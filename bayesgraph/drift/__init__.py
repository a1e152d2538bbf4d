"""When what is learned from a stream has changed."""

from bayesgraph.drift.detectors import (
    ADWIN,
    DDM,
    DETECTORS,
    DriftDetector,
    PageHinkley,
    alarms,
    chosen_detector,
)

__all__ = [
    "ADWIN",
    "DDM",
    "DETECTORS",
    "DriftDetector",
    "PageHinkley",
    "alarms",
    "chosen_detector",
]
