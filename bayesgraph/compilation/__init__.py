"""Kernels: functions of plain arrays that run interpreted at first and compiled for large work."""

from bayesgraph.compilation.dispatch import Kernel, kernel
from bayesgraph.compilation.tiers import MODES, Tiers, mode_is, tiers

__all__ = ["MODES", "Kernel", "Tiers", "kernel", "mode_is", "tiers"]
