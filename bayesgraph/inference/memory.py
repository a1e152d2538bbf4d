"""Memory: the limit of a query, its error message, and a pool of workspaces.

Fresh memory costs a page fault for every 512 numbers, which is a large part of the time of a large
run. Runs of all models therefore borrow their workspaces from one pool.
"""

from __future__ import annotations

import math
import os
from functools import cache

import numpy as np

from bayesgraph.errors import MemoryLimitError
from bayesgraph.factors.algebra import Floats

BYTES = 8
# Maximum number of workspaces in the pool, and of their entries together (1 GiB).
_MAXIMUM_IDLE = 4
_MAXIMUM_ENTRIES = 2**27

# The pool. Each change of a list is atomic, so that threads use no lock.
_idle: list[Floats] = []


def borrow(n: int) -> Floats:
    """Return an array of at least n entries with arbitrary values; `give_back` takes it back."""
    try:
        work = _idle.pop()
    except IndexError:
        return np.empty(n)
    if len(work) >= n:
        return work
    give_back(work)
    return np.empty(n)


def give_back(work: Floats) -> None:
    """Return an array to the pool; it must not be used any more."""
    waiting = sum(map(len, tuple(_idle)))
    if len(_idle) < _MAXIMUM_IDLE and waiting + len(work) <= _MAXIMUM_ENTRIES:
        # The largest array is the first to be used again.
        last = _idle[-1:]  # another thread may take it meanwhile
        at = 0 if last and len(work) < len(last[0]) else len(_idle)
        _idle.insert(at, work)


def format_count(number: float) -> str:
    """Return a number as text, rounded if it is large; it may be too large for a float."""
    if number == math.inf:
        return "infinitely many"
    if number < 10**12:
        return f"{int(number):,}"
    return f"{number:.3g}" if number < 10**300 else f"10^{int(math.log10(number))}"


def format_bytes(number: float) -> str:
    """Return a size in bytes as text with a unit."""
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
    """Return a duration in seconds as text with a unit."""
    if number > 1e7:
        return f"{number / 31_556_952:.3g} years"
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if number < 1000 * size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g} s"


@cache
def default_memory_limit() -> int:
    """Return half of the machine's memory in bytes (4 GB if the size is unknown)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 * 10**9


def memory_error(what: str, entries: float, width: int, limit: float) -> MemoryLimitError:
    """Return the error for a query that needs too much memory.

    `what` names the object that is too large, such as "a table", and `entries` is its number of
    entries. `width` is the induced width; `limit` is in bytes.
    """
    return MemoryLimitError(
        f"This query needs {what} of {format_count(entries)} numbers "
        f"({format_bytes(BYTES * entries)}, induced width {width}); the limit is "
        f"{format_bytes(limit)}. Observe more variables, ask for fewer at a time, or raise "
        "memory_limit; query and marginals can fall back to an approximation (fallback='loopy')."
    )
