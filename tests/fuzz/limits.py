"""A limit of CPU time for one call."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class TimeOut(BaseException):
    """It takes too long; no error that a reader may turn into another."""


@contextlib.contextmanager
def cpu_seconds(seconds: float) -> Iterator[None]:
    """Raise TimeOut if what is inside takes more CPU time; Windows has no such limit."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeOut(f"more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
