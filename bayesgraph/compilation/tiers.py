"""The two tiers of kernels: when a call is interpreted and when it is compiled.

Compiled kernels need their compiler imported, and are loaded from a cache or compiled, which takes
from one second to a minute. The interpreted tier runs the same statements in Python at once, some
hundred times slower. Small work is therefore interpreted, until the time spent on it would have
paid for the compiled kernels; large work is compiled from its first call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from bayesgraph.compilation.background import Background

# What BAYESGRAPH_COMPILE may say.
MODES = ("background", "inline", "never")

# Maximum work of an interpreted call, in units that take a microsecond or two.
LARGE = 60_000
# Seconds of interpreted calls after which a process changes to compiled kernels, once they are
# cached: about the time that it takes to import the compiler and to load them. While they are not,
# it looks for them again after some more seconds of interpreted calls.
ENOUGH, AGAIN = 0.7, 0.2


class Tiers:
    """What decides for each call of a kernel between the two tiers.

    Attributes
    ----------
    mode : {"background", "inline", "never"}
        ``"background"`` interprets small work while another process compiles all kernels,
        ``"inline"`` compiles each kernel at its first call, ``"never"`` compiles nothing.
    compiled : bool
        Whether calls are compiled, however small; it never becomes false again.
    """

    def __init__(self, mode: str, background: Background) -> None:
        self.mode = mode
        self.compiled = mode == "inline"
        self.background = background
        self.spent = 0.0
        self._look_at = ENOUGH
        self._lock = Lock()

    def tier(self, work: int) -> str:
        """Return the tier of a call of this work: ``"interpreted"`` or ``"compiled"``."""
        if self.mode == "never" or not (self.compiled or work > LARGE):
            return "interpreted"
        return "compiled"

    def interprets(self, work: int) -> bool:
        """Decide whether a call is interpreted.

        Parameters
        ----------
        work : int
            Work of the call, see `LARGE`.
        """
        if self.tier(work) == "compiled":
            return False
        if self.mode == "background":
            self.background.start()
        return True

    def spend(self, seconds: float) -> None:
        """Count the time of an interpreted call; after `ENOUGH` calls are compiled."""
        with self._lock:
            self.spent += seconds
            looks = self.spent > self._look_at
            if looks:
                self._look_at = self.spent + AGAIN
        if looks and self.mode == "background" and self.background.is_ready():
            self.compiled = True


def _mode_of_environment() -> str:
    mode = os.environ.get("BAYESGRAPH_COMPILE", "background")
    if mode not in MODES:
        raise ValueError(
            f"The environment variable BAYESGRAPH_COMPILE is {mode!r}, but it must be one of "
            f"{', '.join(MODES)}"
        )
    return mode


tiers = Tiers(_mode_of_environment(), Background())


@contextmanager
def mode_is(mode: str) -> Iterator[Tiers]:
    """Return a context manager under which kernels run in another mode, for the whole process.

    It is for tests and for the command that compiles all kernels.
    """
    before = tiers.mode, tiers.compiled
    tiers.mode, tiers.compiled = mode, mode == "inline"
    try:
        yield tiers
    finally:
        tiers.mode, tiers.compiled = before
