"""Detectors of concept drift: they signal changes in the mean of a model's errors."""

from bayesgraph.drift.base import DriftDetector
from bayesgraph.drift.detectors import ADWIN, DDM, DETECTORS, PageHinkley

__all__ = ["ADWIN", "DDM", "DETECTORS", "DriftDetector", "PageHinkley"]
