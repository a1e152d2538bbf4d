"""When what is learned from a stream has changed."""

from bayesgraph.drift.base import DriftDetector
from bayesgraph.drift.choice import DETECTORS
from bayesgraph.drift.detectors import ADWIN, DDM, PageHinkley

__all__ = ["ADWIN", "DDM", "DETECTORS", "DriftDetector", "PageHinkley"]
