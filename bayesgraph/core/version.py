"""The version of bayesgraph: the one place that says it."""

from __future__ import annotations

__version__ = "0.1.0"
