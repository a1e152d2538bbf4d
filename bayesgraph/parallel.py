"""Loops over rows in several threads.

Each row is computed independently, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain, islice, pairwise
from threading import Lock, local
from typing import Any, TypeVar

import scipy
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


def _available() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


N_THREADS = int(os.environ.get("NUMBA_NUM_THREADS", "0")) or _available()


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
    _blas_lock.release()


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
    if pieces == 1:
        work(0, n_rows)
        return
    # Ranges start at multiples of the block size, so that each row is computed in the same way by
    # any number of threads.
    ends = [n_rows * i // pieces // together * together for i in range(pieces)]
    ends.append(n_rows)
    pool = _pool(os.getpid(), N_THREADS - 1)
    others = [pool.submit(work, a, b) for a, b in pairwise(ends[1:])]
    work(0, ends[1])
    for other in others:
        other.result()


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
    # The pairs that begin at i or behind it are a share of ((n - i) / n)².
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
    rest = iter(items)
    first = deque(islice(rest, 2))
    if len(first) < 2:
        yield from map(function, first)
        return
    # Items are taken out, so that nobody holds those that are done.
    ahead = (first.popleft() for _ in range(2))
    pool = ThreadPoolExecutor(n_threads, "bayesgraph-items")
    try:
        yield from ordered(pool.submit, partial(_alone, function), chain(ahead, rest), n_threads)
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
