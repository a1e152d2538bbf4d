"""Detectors of concept drift: they signal changes in the mean of a model's errors."""

from bayesgraph.drift.base import DriftDetector
from bayesgraph.drift.detectors import ADWIN, DETECTORS

__all__ = ["ADWIN", "DETECTORS", "DriftDetector"]
