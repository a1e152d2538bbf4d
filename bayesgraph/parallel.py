"""Loops over rows in several threads.

Each row is computed independently, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from typing import Any

from threadpoolctl import ThreadpoolController


def _available() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


N_THREADS = int(os.environ.get("NUMBA_NUM_THREADS", "0")) or _available()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS matrix products use one thread.

    Products of blocks of rows that fit in the cache are too small for several threads. One thread
    also makes sums independent of the number of threads.
    """
    manager: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return manager


# Default number of rows that a kernel processes as one block.
_TOGETHER = 64


@cache
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """Return the cached pool of `size` worker threads of the process with the id `process`.

    A forked process needs its own pool.
    """
    return ThreadPoolExecutor(size, f"bayesgraph-rows-{process}")


def over_rows(
    work: Callable[[int, int], None], n_rows: int, minimum: int, together: int = _TOGETHER
) -> None:
    """Call ``work(start, stop)`` on ranges that cover all rows, in parallel if they are many.

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
    pieces = max(1, min(N_THREADS, n_rows // minimum))
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


def at_once(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run tasks in parallel if there are several processors, and return their results in order.

    Parameters
    ----------
    tasks : sequence of callables
        Functions that release the interpreter's lock and write to their own arrays only.
    """
    if len(tasks) < 2 or N_THREADS < 2:
        return [task() for task in tasks]
    others = [_pool(os.getpid(), N_THREADS - 1).submit(task) for task in tasks[1:]]
    return [tasks[0](), *(other.result() for other in others)]
