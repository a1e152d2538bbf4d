"""Checks of a streaming model's state read from a file: compiled kernels do not check arguments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError, quoted
from bayesgraph.learning.streaming.densities import (
    Densities,
    GaussianDensities,
    IntervalDensities,
    StateDensities,
)
from bayesgraph.statistics.sketches.base import state_array

DensitiesT = TypeVar("DensitiesT", bound=Densities)


def check_star(star: Any, absorbed: int, looked: int, waiting: int, held: float) -> None:
    """Raise a DataError unless the parts of a StreamingStar are consistent with each other.

    Parameters
    ----------
    star : StreamingStar
    absorbed, looked, waiting : int
        Number of rows in the summaries, in the summaries at the last refresh of the densities, and
        in the buffer.
    held : float
        Sum of the decay factors of the rows in the summaries.

    Raises
    ------
    DataError
    """
    counts, k = star.counts, star.n_classes
    check_densities(star.numbers, star.summaries.n_features, k)
    check_densities(star.states, len(counts), k)
    sizes = [
        counts.max_categories + 1 if j in counts.sketches else len(table)
        for j, table in enumerate(counts.tables)
    ]
    _require(
        0 <= looked <= absorbed and star.n_seen == absorbed + waiting and 0.0 <= held < np.inf,
        "numbers of rows that add up",
    )
    _require(
        (np.diff(star.states.start) <= sizes).all()
        and all(sketch.n_classes == k for sketch in counts.sketches.values())
        and set(star.states.grouped.tolist()) <= set(counts.sketches),
        "densities of states that were counted",
    )
    _require(
        counts.window is None or not star.summaries.n_features, "no numeric columns in a window"
    )


def densities_of(kind: type[DensitiesT], arrays: Mapping[str, NDArray[Any]]) -> DensitiesT:
    """Return densities of class `kind` built from named arrays; refuse arrays of other classes."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    _require(arrays.keys() == known, f"densities with {quoted(sorted(known))}")
    return kind(**arrays)


def check_densities(found: Densities, n_features: int, n_classes: int) -> None:
    """Raise a DataError unless the arrays of densities are consistent with each other.

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
    logs = state_array(arrays, "logs", (None, n_classes))
    start = state_array(arrays, "start", (n_features + 1,), minimum=0, whole=True)
    cells = np.diff(start)
    fits = start[0] == 0 and start[-1] == len(logs)
    _require(fits and (cells >= isinstance(found, IntervalDensities)).all(), "cells in order")
    if isinstance(found, IntervalDensities):
        last = np.zeros(len(logs), dtype=np.bool_)
        last[start[1:] - 1] = True
        cuts = np.where(last, 0.0, found.cuts) if found.cuts.shape == last.shape else found.cuts
        state_array({"cuts": cuts}, "cuts", last.shape)
        _require(np.isposinf(found.cuts[last]).all(), "an infinite cut after each feature")
        _require((found.cuts[1:] > found.cuts[:-1])[~last[:-1]].all(), "cuts in ascending order")
    if isinstance(found, StateDensities):
        _check_groups(found, cells)


def _check_groups(found: StateDensities, cells: Any) -> None:
    """Raise a DataError unless the groups of values are valid and sorted for binary search.

    `cells` has the number of cells of each feature.
    """
    arrays, n = found.arrays(), len(found.grouped)
    state_array(arrays, "grouped", (n,), minimum=0, maximum=found.n_features - 1, whole=True)
    start = state_array(arrays, "key_start", (n + 1,), minimum=0, whole=True)
    keys = state_array(arrays, "keys", (None,), minimum=0, whole=True)
    places = state_array(arrays, "places", (len(keys),), minimum=0, whole=True)
    sizes = np.diff(start)
    fits = start[0] == 0 and start[-1] == len(keys) and (sizes >= 0).all()
    _require(fits and (np.diff(found.grouped) > 0).all(), "groups in the order of features")
    # The last state of a feature holds all other values.
    _require((places < np.repeat(cells[found.grouped] - 1, sizes)).all(), "places of groups")
    for a, b in itertools.pairwise(start.tolist()):
        _require((np.diff(keys[a:b]) > 0).all(), "keys in ascending order")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise DataError(f"A saved state has {what}; this one has not.")
