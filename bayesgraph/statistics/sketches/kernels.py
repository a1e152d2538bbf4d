"""Compiled steps that several summaries share."""

from __future__ import annotations

import math

import numba
import numpy as np

from bayesgraph.factors.algebra import Floats

# Of the smallest positive number, as `frexp` gives it.
FIRST_EXPONENT = -1073


@numba.njit(cache=True, nogil=True)
def faded(weight: float, factor: float, nothing: float) -> float:
    """Return a weight times a factor, 0 if that is nothing."""
    left = weight * factor
    return left if left >= nothing else 0.0


@numba.njit(cache=True, nogil=True)
def round_midpoints(below: Floats, above: Floats, up: Floats, down: Floats, out: Floats) -> None:
    """Write rounded numbers halfway between others, or the lower one if nothing is between.

    Parameters
    ----------
    below, above : ndarray, shape (n,)
    up, down : ndarray, shape (2098,)
        Numbers are multiplied by one and divided by the other before they are rounded, by the
        exponent of their distance; NaN to leave them as they are.
    out : ndarray, shape (n,)
        Written to.
    """
    for i in range(len(below)):
        low, high = below[i], above[i]
        found = low / 2 + high / 2
        if np.isfinite(high - low) and low < high:
            at = math.frexp(high - low)[1] - FIRST_EXPONENT
            near = np.rint(found * up[at] / down[at]) * down[at] / up[at]
            found = near if low <= near < high else found
        out[i] = found if low <= found < high else low
