"""Cut points of columns from the cells of a stream's summary, without the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayesgraph.discretize import kernels
from bayesgraph.discretize.boulle_intervals import factorial_table
from bayesgraph.factors.algebra import Floats
from bayesgraph.parallel import over_rows

# Functions that cut the cells of one feature, named like the discretisers of tables; see kernels.
CELL_METHODS: dict[str, Callable[..., None]] = {
    "width": kernels.width_cells,
    "frequency": kernels.frequency_cells,
    "mdlp": kernels.mdlp_cells,
    "modl": kernels.modl_cells,
    "kmeans": kernels.kmeans_cells,
}
# Number of features below which one thread is enough.
_THREAD = 82


def cut_cells(
    method: str,
    start: NDArray[np.int64],
    counts: Floats,
    low: Floats,
    high: Floats,
    bins: int,
) -> NDArray[np.bool_]:
    """Return a mask of the cells of all features that begin an interval.

    Parameters
    ----------
    method : str
        A key of `CELL_METHODS`.
    start : ndarray of int, shape (n_features + 1,)
        Offset of the cells of each feature; the last entry is the number of cells.
    counts : ndarray, shape (n_cells, n_classes)
        Class weights; MDLP and MODL round their sums to integers.
    low, high : ndarray, shape (n_cells,)
        Minimum and maximum value of each cell.
    bins : int
        Number of intervals of each feature, for methods that do not choose it.
    """
    cut, factorial = CELL_METHODS[method], cell_factorials(start, counts)
    begins = np.zeros(len(counts), dtype=np.bool_)

    def work(first: int, last: int) -> None:
        for a, b in zip(
            start[first:last].tolist(), start[first + 1 : last + 1].tolist(), strict=True
        ):
            if a < b:
                cut(counts[a:b], low[a:b], high[a:b], bins, factorial, begins[a:b])

    over_rows(work, len(start) - 1, _THREAD, together=1)
    return begins


def cell_factorials(start: NDArray[np.int64], counts: Floats) -> Floats:
    """Return logs of the factorials that the costs of cells need.

    They go up to the largest weight of a feature plus its number of cells and of classes. For
    `start` and `counts` see `cut_cells`.
    """
    below = np.concatenate([[0.0], np.cumsum(counts.sum(axis=1))])
    total = float((below[start[1:]] - below[start[:-1]]).max(initial=0.0))
    n_cells = int(np.diff(start).max(initial=0))
    return factorial_table(total, n_cells + counts.shape[1] + 2)
