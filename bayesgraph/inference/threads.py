"""Runs of programs: the loops over large tables in two halves, at once if there are two threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.programs import Program
from bayesgraph.inference.tables import Integers
from bayesgraph.inference.workspaces import borrow, give_back


@cache
def _helper(process: int) -> ThreadPoolExecutor:
    """Return the second thread of a process: a fork does not inherit it."""
    return ThreadPoolExecutor(1, f"bayesgraph-{process}")


def execute(
    program: Program,
    tables: Floats,
    offsets: Integers,
    least: Floats,
    space: Floats,
    result: Floats,
) -> tuple[int, float]:
    """Run a program; see `kernels.run`.

    Large tables are always summed in two halves, so that the numbers do not depend on the number
    of threads.
    """
    fixed = (program.code, tables, offsets, least, space, result)
    end = len(program.code)
    if not len(program.halves):
        status, log_mass = kernels.run(*fixed, 0, end, space, 0)
        return int(status), float(log_mass)
    own = borrow(program.n_work)  # where the second halves write
    found = _in_halves(program, fixed, space, own)
    give_back(own)  # not where a run was interrupted: the other thread may still write there
    return found


def _in_halves(
    program: Program, fixed: tuple[Any, ...], space: Floats, own: Floats
) -> tuple[int, float]:
    end = len(program.code)
    worst, total, at = kernels.OK, 0.0, 0
    stretches = program.halves.reshape(-1, 2).tolist()
    for begin, stop in stretches:
        status, log_mass = kernels.run(*fixed, at, begin, space, 0)
        if status == kernels.IMPOSSIBLE:
            return kernels.IMPOSSIBLE, -np.inf
        worst, total = max(worst, int(status)), total + float(log_mass)
        second = partial(kernels.run, *fixed, begin, stop, own, 2)
        if kernels.N_THREADS > 1:
            other = _helper(os.getpid()).submit(second)
            kernels.run(*fixed, begin, stop, space, 1)
            other.result()
        else:
            kernels.run(*fixed, begin, stop, space, 1)
            second()
        kernels.add_cleared(program.code, begin, space, own)
        at = stop
    status, log_mass = kernels.run(*fixed, at, end, space, 0)
    if status == kernels.IMPOSSIBLE:
        return kernels.IMPOSSIBLE, -np.inf
    return max(worst, int(status)), total + float(log_mass)
