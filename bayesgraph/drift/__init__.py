"""When what is learned from a stream has changed."""

from bayesgraph.drift.base import DriftDetector
from bayesgraph.drift.detectors import ADWIN, DDM, DETECTORS, PageHinkley

__all__ = ["ADWIN", "DDM", "DETECTORS", "DriftDetector", "PageHinkley"]
