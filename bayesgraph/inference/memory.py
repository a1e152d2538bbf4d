"""Memory: the limit of a question, its message, and the workspaces that runs share.

Fresh memory costs a page fault for every 512 numbers, which a large run would spend a good part of
its time on; so runs borrow their workspaces, one after the other, whatever their models.
"""

from __future__ import annotations

import math
import os
from functools import cache

import numpy as np

from bayesgraph.errors import MemoryLimitError
from bayesgraph.factors.algebra import Floats

BYTES = 8
# Workspaces that wait for the next run, and their entries together (1 GiB).
_MAXIMUM_IDLE = 4
_MAXIMUM_ENTRIES = 2**27

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
    if len(_idle) < _MAXIMUM_IDLE and waiting + len(work) <= _MAXIMUM_ENTRIES:
        # The largest is the first to be used again.
        at = 0 if _idle and len(work) < len(_idle[-1]) else len(_idle)
        _idle.insert(at, work)


def format_count(number: float) -> str:
    """Return a number as people write it; those of wide graphs do not fit a float."""
    if number == math.inf:
        return "infinitely many"
    if number < 10**12:
        return f"{int(number):,}"
    return f"{number:.3g}" if number < 10**300 else f"10^{int(math.log10(number))}"


def format_bytes(number: float) -> str:
    """Return a size in bytes as people write it."""
    if number == math.inf:
        return "infinite"
    if number >= 10**300:
        return f"{format_count(number)} B"
    number = float(number)
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} EB"


def format_seconds(number: float) -> str:
    """Return a duration as people write it."""
    if number > 1e7:
        return f"{number / 31_556_952:.3g} years"
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if number < 1000 * size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g} s"


@cache
def default_memory_limit() -> int:
    """Return half of the machine's memory in bytes (4 GB where it cannot be asked)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 * 10**9


def memory_error(what: str, entries: float, width: int, limit: float) -> MemoryLimitError:
    """Return the error for a question whose tables are too large."""
    return MemoryLimitError(
        f"This query needs {what} of {format_count(entries)} numbers "
        f"({format_bytes(BYTES * entries)}, induced width {width}); the limit is "
        f"{format_bytes(limit)}. Observe more variables, ask for fewer at a time, or raise "
        "memory_limit; query and marginals can fall back to an approximation (fallback='loopy')."
    )
