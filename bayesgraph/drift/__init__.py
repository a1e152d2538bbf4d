"""Detectors of drift: they watch the errors of a model and say when their mean changes."""

from bayesgraph.drift.base import DriftDetector
from bayesgraph.drift.detectors import ADWIN, DDM, DETECTORS, PageHinkley

__all__ = ["ADWIN", "DDM", "DETECTORS", "DriftDetector", "PageHinkley"]
