"""Memory that runs of programs share one after the other, whatever their models.

Fresh memory costs a page fault for every 512 numbers, which a large run would spend a good part of
its time on.
"""

from __future__ import annotations

import numpy as np

from bayesgraph.factors.algebra import Floats

# Workspaces that wait for the next run, and their entries together (1 GiB).
_MOST_IDLE = 4
_MOST_ENTRIES = 2**27

# Lists change in single steps, so that threads need no lock: at worst one waits for nothing.
_idle: list[Floats] = []


def borrow(n: int) -> Floats:
    """Return an array of at least n entries, whatever is in them; give it back when done."""
    try:
        work = _idle.pop()
    except IndexError:
        return np.empty(n)
    if len(work) >= n:
        return work
    give_back(work)
    return np.empty(n)


def give_back(work: Floats) -> None:
    """Take back an array that nobody reads any more."""
    waiting = sum(map(len, tuple(_idle)))
    if len(_idle) < _MOST_IDLE and waiting + len(work) <= _MOST_ENTRIES:
        # The largest is the first to be used again.
        at = 0 if _idle and len(work) < len(_idle[-1]) else len(_idle)
        _idle.insert(at, work)
