"""Bounds of the work of a training, and reports of how far it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeAlias

# Called with the share of the work that is done and the name of what is done next.
Progress: TypeAlias = Callable[[float, str], None]

# The phases of a training, and the shares of its work that are done when they begin and end. What
# lies between the end of one phase and the begin of the next is the next one's.
_PHASES: dict[str, tuple[float, float]] = {
    "single features": (0.0, 0.2),
    "pairs of features": (0.2, 0.32),
    "random trees": (0.4, 0.6),
    "all rows": (0.6, 0.7),
    "random trees of all rows": (0.7, 0.85),
    "merged intervals": (0.85, 1.0),
}


class Spent(Exception):  # noqa: N818 - it is no error
    """Raised in an optimiser whose phase has no steps or seconds left."""


class Effort:
    """The bounds of the work of a training, of which each phase has a share.

    What a phase leaves, later ones may use.

    Parameters
    ----------
    max_steps : int, optional
        Maximum number of steps: evaluations of the loss of all rows, and trees.
    max_seconds : float, optional
        Counted from now on.
    progress : callable, optional
        Called as ``progress(share, phase)`` with the share of the work that is done.
    """

    def __init__(
        self,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._max_steps = math.inf if max_steps is None else max_steps
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._progress = progress
        self._begin = time.monotonic()
        self._steps = 0
        self._end = 1.0

    def enter(self, phase: str, part: int = 0, n_parts: int = 1) -> None:
        """Begin one of the equal parts of a phase; report how far the training is."""
        begin, end = _PHASES[phase]
        width = (end - begin) / n_parts
        self._end = end if part + 1 == n_parts else begin + (part + 1) * width
        if self._progress is not None:
            self._progress(begin + part * width, phase)

    def step(self) -> None:
        """Count a step."""
        self._steps += 1

    @property
    def is_spent(self) -> bool:
        """Whether the current phase has no steps or seconds left."""
        if self._steps >= self._end * self._max_steps:
            return True
        # Without this bound the clock is not looked at.
        return self._max_seconds < math.inf and (
            time.monotonic() - self._begin >= self._end * self._max_seconds
        )


# What a training may cost without bounds.
UNBOUNDED = Effort()
