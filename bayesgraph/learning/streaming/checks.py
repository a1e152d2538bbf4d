"""Checks of the state of a star that comes from a file: kernels trust what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.learning.streaming.densities import (
    Densities,
    GaussianDensities,
    IntervalDensities,
    StateDensities,
)
from bayesgraph.statistics.sketches.base import state_array


def check_star(star: Any, absorbed: int, looked: int, waiting: int, held: float) -> None:
    """Refuse a star whose parts do not fit each other.

    Parameters
    ----------
    star : StreamingStar
    absorbed, looked, waiting : int
        Rows in the summaries, those that were there when densities were made, and those that wait.
    held : float
        Rows in the summaries, as far as they have not faded.

    Raises
    ------
    DataError
    """
    if not 0 <= looked <= absorbed or star.n_seen != absorbed + waiting:
        raise DataError(
            f"A saved state has seen {star.n_seen} rows, of which {absorbed} are in the summaries "
            f"and {waiting} wait; {looked} were there when densities were made."
        )
    if not 0.0 <= held < np.inf:
        raise DataError(f"A saved state holds {held!r} rows.")
    counts, k = star.counts, star.n_classes
    check_densities(star.numbers, star.summaries.n_features, k)
    check_densities(star.states, len(counts), k)
    most = [
        counts.max_categories + 1 if j in counts.sketches else len(table)
        for j, table in enumerate(counts.tables)
    ]
    grouped = set(star.states.grouped.tolist())
    fits = all(sketch.n_classes == k for sketch in counts.sketches.values())
    if (np.diff(star.states.start) > most).any() or not (fits and grouped <= set(counts.sketches)):
        raise DataError("A saved state has densities of states that were never counted.")


def check_densities(found: Densities, n_features: int, n_classes: int) -> None:
    """Refuse densities whose arrays do not fit each other.

    Raises
    ------
    DataError
    """
    arrays = found.arrays()
    state_array(arrays, "centre", (n_classes, n_features))
    if isinstance(found, GaussianDensities):
        state_array(arrays, "mean", (n_features, n_classes))
        state_array(arrays, "variance", (n_features, n_classes), minimum=0.0)
        return
    assert isinstance(found, (IntervalDensities, StateDensities))  # there are no others
    logs = state_array(arrays, "logs", (None, n_classes))
    start = state_array(arrays, "start", (n_features + 1,), minimum=0, whole=True)
    empty = isinstance(found, StateDensities)
    if isinstance(found, StateDensities):
        _check_groups(found)
    if start[0] != 0 or start[-1] != len(logs) or (np.diff(start) < (0 if empty else 1)).any():
        raise DataError("A saved state has features whose cells do not follow each other.")
    if isinstance(found, IntervalDensities):
        _check_cuts(found.cuts, start)


def _check_cuts(cuts: NDArray[Any], start: NDArray[np.int64]) -> None:
    last = np.zeros(start[-1], dtype=np.bool_)
    last[start[1:] - 1] = True
    if cuts.dtype != np.float64 or cuts.shape != last.shape or (np.isposinf(cuts) != last).any():
        raise DataError("A saved state has an infinite cut at the end of each feature alone.")
    if not (np.isfinite(cuts) | last).all() or not (cuts[1:] > cuts[:-1])[~last[:-1]].all():
        raise DataError("A saved state has cuts that ascend; these do not.")


def _check_groups(found: StateDensities) -> None:
    """Refuse groups of values that are none, or in another order than is searched."""
    arrays, n = found.arrays(), len(found.grouped)
    grouped = state_array(
        arrays, "grouped", (None,), minimum=0, maximum=found.n_features, whole=True
    )
    start = state_array(arrays, "key_start", (n + 1,), minimum=0, whole=True)
    keys = state_array(arrays, "keys", (None,), minimum=0, whole=True)
    places = state_array(arrays, "places", (len(keys),), minimum=0, whole=True)
    good = (
        (np.diff(grouped) > 0).all()
        and (grouped < found.n_features).all()
        and start[0] == 0
        and start[-1] == len(keys)
        and (np.diff(start) >= 0).all()
    )
    if good:
        others = np.repeat(np.diff(found.start)[grouped] - 1, np.diff(start))
        inside = np.ones(len(keys), dtype=np.bool_)
        inside[start[:-1][np.diff(start) > 0]] = False
        good = (places < others).all() and (np.diff(keys)[inside[1:]] > 0).all()
    if not good:
        raise DataError("A saved state has groups of values that are none.")
