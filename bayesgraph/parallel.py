"""Loops over rows in several threads.

Each row is computed by itself, so the numbers do not depend on the number of threads.
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
    """Return a context in which matrix products use one thread.

    For products of blocks that are in the cache: threads would wait for one another longer than
    they work, and sums would depend on how many there are.
    """
    manager: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return manager


_TOGETHER = 64


@cache
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """Return the other threads of a process: a fork does not inherit them."""
    return ThreadPoolExecutor(size, f"bayesgraph-rows-{process}")


def over_rows(
    work: Callable[[int, int], None], n_rows: int, minimum: int, together: int = _TOGETHER
) -> None:
    """Call ``work(start, stop)`` on ranges that cover all rows, at once where it pays.

    Parameters
    ----------
    work : callable
        Releases the interpreter's lock and writes to its own rows only.
    n_rows : int
    minimum : int
        Number of rows below which another thread costs more than it saves.
    together : int
        Rows that a kernel takes together; 1 where each stands for itself.
    """
    pieces = max(1, min(N_THREADS, n_rows // minimum))
    if pieces == 1:
        work(0, n_rows)
        return
    # Ranges begin at multiples of the rows that kernels take together, so that each row is computed
    # in the same way by any number of threads.
    ends = [n_rows * i // pieces // together * together for i in range(pieces)]
    ends.append(n_rows)
    pool = _pool(os.getpid(), N_THREADS - 1)
    others = [pool.submit(work, a, b) for a, b in pairwise(ends[1:])]
    work(0, ends[1])
    for other in others:
        other.result()


def at_once(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what some tasks return, in their order; they run at once where there are processors.

    Parameters
    ----------
    tasks : sequence of callables
        Each releases the interpreter's lock and writes to its own arrays.
    """
    if len(tasks) < 2 or N_THREADS < 2:
        return [task() for task in tasks]
    others = [_pool(os.getpid(), N_THREADS - 1).submit(task) for task in tasks[1:]]
    return [tasks[0](), *(other.result() for other in others)]
