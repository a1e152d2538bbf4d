"""Compiled loops over rows of class scores."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.parallel import over_rows

# Numbers read below which one thread is enough.
_THREAD = 1 << 18


def largest(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the position of the largest score of each row, ties to the first.

    Parameters
    ----------
    scores : ndarray, shape (n_classes, n_rows)
    """
    best = np.empty(scores.shape[1], dtype=np.intp)
    over_rows(
        lambda a, b: _largest(scores, best, a, b),
        scores.shape[1],
        1 + _THREAD // max(1, scores.shape[0]),
    )
    return best


@numba.njit(cache=True, nogil=True)
def _largest(scores: NDArray[np.float64], best: NDArray[np.intp], begin: int, end: int) -> None:
    # In blocks that stay in the cache, class by class as they lie in memory.
    most = np.empty(512)
    for first in range(begin, end, 512):
        n = min(512, end - first)
        most[:n] = scores[0, first : first + n]
        chosen = best[first : first + n]
        chosen[:] = 0
        for k in range(1, scores.shape[0]):
            row = scores[k, first : first + n]
            for i in range(n):
                better = row[i] > most[i]
                most[i] = row[i] if better else most[i]
                chosen[i] = k if better else chosen[i]
