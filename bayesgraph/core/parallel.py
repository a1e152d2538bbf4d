"""Loops over rows in several threads.

Each row is computed independently, so results do not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain, islice, pairwise
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import MemoryLimitError

# -------------------------------------------------------------- Loops over rows in several threads


Item = TypeVar("Item")
Result = TypeVar("Result")


def _available() -> int:
    """Return NUMBA_NUM_THREADS; if it is not set or 0, the processors that this process may use."""
    text = os.environ.get("NUMBA_NUM_THREADS", "0")
    if not text.isdecimal():
        raise ValueError(
            f"The environment variable NUMBA_NUM_THREADS is {text!r}, but it must be a number."
        )
    if hasattr(os, "sched_getaffinity"):
        return int(text) or len(os.sched_getaffinity(0))
    return int(text) or os.cpu_count() or 1


N_THREADS = _available()


@cache
def _controller() -> ThreadpoolController:
    # A limit holds for the libraries that are loaded: SciPy's BLAS, which kernels call, is too.
    scipy.linalg.get_blas_funcs("gemm")
    return ThreadpoolController()


_blas_lock = Lock()
# The limits of before, which the last thread restores, once for each thread that limits BLAS.
_blas_limits: list[Any] = []


def _without_limits() -> None:
    """Restore BLAS in a forked process, in which the threads that limited it do not run."""
    if _blas_limits:
        _blas_limits[0].restore_original_limits()
        _blas_limits.clear()
    _blas_lock.release()  # acquired before the fork


if hasattr(os, "register_at_fork"):
    # A process that is forked while another thread has the lock would wait for it for ever.
    os.register_at_fork(
        before=_blas_lock.acquire,
        after_in_parent=_blas_lock.release,
        after_in_child=_without_limits,
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context manager under which BLAS matrix products use one thread.

    Products of blocks of rows that fit in the cache are too small for several threads. One thread
    also makes sums independent of the number of threads. The limit holds for the process: of
    several threads that ask for it at a time, the first sets it and the last takes it away.
    """
    with _blas_lock:
        limited = (
            _blas_limits[0] if _blas_limits else _controller().limit(limits=1, user_api="blas")
        )
        _blas_limits.append(limited)
    try:
        yield
    finally:
        with _blas_lock:
            _blas_limits.pop()
            if not _blas_limits:
                limited.restore_original_limits()


# Default number of rows that a kernel processes as one block.
_TOGETHER = 64
# Minimum number of operations of a kernel for each thread.
_OPERATIONS = 1 << 18


# Its attribute `alone` says whether the thread computes all loops itself.
_thread = local()


@contextmanager
def without_threads() -> Iterator[None]:
    """Return a context manager under which this thread computes all loops itself.

    It is for threads that work side by side, each on its own rows.
    """
    before = getattr(_thread, "alone", False)
    _thread.alone = True
    try:
        yield
    finally:
        _thread.alone = before


def _n_threads() -> int:
    return 1 if getattr(_thread, "alone", False) else N_THREADS


@cache
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """Return the cached pool of `size` worker threads of the process with the id `process`.

    A forked process needs its own pool.
    """
    return ThreadPoolExecutor(size, f"bayesgraph-rows-{process}")


def over_rows(
    work: Callable[[int, int], None], n_rows: int, minimum: int, together: int = _TOGETHER
) -> None:
    """Call ``work(start, stop)`` on ranges that cover all rows, in parallel if there are many rows.

    Parameters
    ----------
    work : callable
        A function that releases the interpreter's lock and writes to the rows of its range only.
    n_rows : int
    minimum : int
        Minimum number of rows for each thread.
    together : int
        Number of rows that a kernel processes as one block; ranges start at multiples of it.
    """
    pieces = max(1, min(_n_threads(), n_rows // minimum))
    # Ranges start at multiples of the block size, so that each row is computed in the same way by
    # any number of threads.
    starts = [n_rows * i // pieces // together * together for i in range(pieces)]
    at_once([partial(work, a, b) for a, b in pairwise([*starts, n_rows])])


def by_rows(
    kernel: Callable[..., None],
    arrays: Sequence[Any],
    n_rows: int,
    cost: int,
    together: int = _TOGETHER,
) -> None:
    """Call ``kernel(*arrays, start, stop)`` on ranges that cover all rows, in several threads.

    `cost` is the approximate number of operations for a row, which determines the number of
    threads. The other parameters are those of `over_rows`.
    """
    if n_rows * cost < _OPERATIONS:
        kernel(*arrays, 0, n_rows)
        return
    minimum = 1 + _OPERATIONS // max(1, cost)
    over_rows(lambda a, b: kernel(*arrays, a, b), n_rows, minimum, together)


def over_pairs(work: Callable[[int, int], None], n: int, cost: int) -> None:
    """Call ``work(first, last)`` on ranges that cover the n first members of pairs i < j < n.

    The ranges have about the same number of pairs; there are several if there is much to do.

    Parameters
    ----------
    work : callable
        A function that releases the interpreter's lock and writes to the pairs of its range only.
    n : int
    cost : int
        Approximate number of operations for all pairs.
    """
    pieces = max(1, min(_n_threads(), n, cost // _OPERATIONS))
    # The pairs that begin at i or behind it are a share of ((n - i) / n)² of all, so that a share p
    # begins before n (1 - √(1 - p)).
    ends = [round(n * (1.0 - (1.0 - piece / pieces) ** 0.5)) for piece in range(pieces + 1)]
    at_once([partial(work, a, b) for a, b in pairwise(ends) if a < b])


def at_once(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run tasks in parallel if there are several processors, and return their results in order.

    Parameters
    ----------
    tasks : sequence of callables
        Functions that release the interpreter's lock and write to their own arrays only.
    """
    if len(tasks) < 2 or _n_threads() < 2:
        return [task() for task in tasks]
    # This thread runs the first task itself.
    others = [_pool(os.getpid(), N_THREADS - 1).submit(task) for task in tasks[1:]]
    return [tasks[0](), *(other.result() for other in others)]


def in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield function(item) for all items in their order, computed by several threads.

    At most one item more than there are threads is held at a time. The only item is computed by
    this thread, which may then divide its loops among threads.
    """
    n_threads = _n_threads()
    if n_threads == 1:
        yield from map(function, items)
        return
    # Two items are taken first: a single one needs no other thread.
    later = iter(items)
    first_two = deque(islice(later, 2))
    if len(first_two) < 2:
        yield from map(function, first_two)
        return
    # Items are taken out, so that nobody holds those that are done.
    ahead = (first_two.popleft() for _ in range(2))
    pool = ThreadPoolExecutor(n_threads, "bayesgraph-items")
    try:
        yield from ordered(pool.submit, partial(_alone, function), chain(ahead, later), n_threads)
    finally:  # also if the caller stops, or is interrupted
        pool.shutdown(wait=True, cancel_futures=True)


def _alone(function: Callable[[Item], Result], item: Item) -> Result:
    with without_threads():
        return function(item)


def ordered(
    submit: Callable[..., Future[Result]],
    function: Callable[[Item], Result],
    items: Iterable[Item],
    maximum: int,
) -> Iterator[Result]:
    """Yield the results of submitted items in their order, with at most `maximum` under way."""
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            if len(waiting) == maximum:
                yield waiting.popleft().result()
            waiting.append(submit(function, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


# ----------------------------- Memory: the default limit of a query, and the error beyond the limit


BYTES = 8


def format_count(number: float) -> str:
    """Return a count as text, rounded if it is large; it may exceed the range of floats."""
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
    # From about four months on in years, which have 365.2425 days.
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


def check_memory(
    what: str, numbers: float, advice: str, limit: float | None = None, copies: int = 1
) -> None:
    """Raise a MemoryLimitError before arrays are made that take more than a limit.

    Parameters
    ----------
    what : str
        What needs so much, copies included: "A table of 3 parents needs".
    numbers : float
        Number of entries.
    advice : str
        The way out.
    limit : float, optional
        In bytes; by default half of the machine's memory.
    copies : int
        Number of arrays of this size that are held at a time.
    """
    limit = default_memory_limit() if limit is None else limit
    if (size := BYTES * numbers * copies) > limit:
        raise MemoryLimitError(
            f"{what} {format_bytes(size)}; the limit is {format_bytes(limit)}. {advice}"
        )


def memory_error(
    what: str, entries: float, width: int, limit: float, seconds: float = 0.0
) -> MemoryLimitError:
    """Return the error for a query that needs too much memory or time.

    `what` names the object that is too large, such as "a table", and `entries` is its number of
    entries. `width` is the induced width; `limit` is in bytes; `seconds` are told if there are any.
    """
    time = f", and would take some {format_seconds(seconds)}" if seconds else ""
    return MemoryLimitError(
        f"This query needs {what} of {format_count(entries)} numbers "
        f"({format_bytes(BYTES * entries)}, induced width {width}){time}; the limit is "
        f"{format_bytes(limit)}{' and some minutes' if seconds else ''}. Observe more variables, "
        "ask for fewer at a time, or raise memory_limit; query and marginals can fall back to an "
        "approximation (fallback='loopy')."
    )


# ----- The canonical order of sums over rows, by which statistics do not depend on how rows arrive
# Sums of floating-point numbers depend on their order. Rows are summed in blocks of a fixed size on
# the grid of their numbers (row 0, 1, ...), and the blocks' sums are added along the binary tree of
# the grid: the sums of blocks 2k and 2k + 1 first, then those of four blocks, and so on; the last
# one rises if it has no neighbour. A run of 2^m blocks that begins at a multiple of 2^m is a node
# of this tree, so that runs may be summed anywhere and added in this order to the same bits as one
# table.


# Number of rows of a block: its columns stay in the cache, and its overhead does not show.
BLOCK = 32768
# Beyond this, sums of whole numbers may be rounded.
_EXACT = 2.0**53


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield the blocks of a table as slices; a table without rows is one empty block."""
    for first in range(0, max(n_rows, 1), BLOCK):
        yield slice(first, min(first + BLOCK, n_rows))


def tree_sum(parts: Iterable[Any]) -> Any:
    """Return the sum of parts, which have ``+``, along the binary tree of their numbers.

    The logarithm of the number of parts bounds how many sums are held at a time. None without any.
    """
    # Sums of 2^level parts, in their order: levels descend, as the digits 1 of a binary number.
    pending: list[tuple[int, Any]] = []
    for part in parts:
        level = 0
        # Two sums of as many parts are added, the earlier one on the left.
        while pending and pending[-1][0] == level:
            part = pending.pop()[1] + part
            level += 1
        pending.append((level, part))
    total = pending.pop()[1] if pending else None
    while pending:
        total = pending.pop()[1] + total
    return total


def is_exact(weights: Floats) -> bool:
    """Return whether sums of the weights are exact in any order; empty if every row weighs 1."""
    if not len(weights):
        return True
    return bool((weights == np.floor(weights)).all() and weights.sum() < _EXACT)


def sampled(first: int, n_rows: int, share: float) -> NDArray[np.bool_]:
    """Return for rows with successive numbers whether they are in a sample of a share of all rows.

    A row is in it if the hash of its number (splitmix64; Steele, Lea and Flood 2014) is below the
    share.
    """
    x = np.arange(first, first + n_rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    # The greatest float below 2^64 is 2^64 - 2048.
    return np.asarray(x < np.uint64(min(share, 1.0) * (2.0**64 - 2048)))
