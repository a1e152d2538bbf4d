"""Functions shared by several kinds of summaries of streams."""

from __future__ import annotations

import math

import numpy as np

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats

# Exponent of the smallest positive float, as `frexp` returns it.
FIRST_EXPONENT = -1073


@kernel(interpreted=False)
def faded(weight: float, factor: float, nothing: float) -> float:
    """Return a weight times a factor, or 0 if the product is below `nothing`."""
    left = weight * factor
    return left if left >= nothing else 0.0


@kernel(interpreted=False)
def round_midpoints(below: Floats, above: Floats, up: Floats, down: Floats, out: Floats) -> None:
    """Write midpoints of pairs of numbers, rounded to few decimals.

    If there is no float between the numbers, the lower number is written.

    Parameters
    ----------
    below, above : ndarray, shape (n,)
    up, down : ndarray, shape (2098,)
        Factors by binary exponent of the distance ``above - below``: midpoints are rounded to
        multiples of down / up. If the factors are NaN, midpoints are not rounded.
    out : ndarray, shape (n,)
        Receives the midpoints.
    """
    for i in range(len(below)):
        low, high = below[i], above[i]
        found = low / 2 + high / 2
        if np.isfinite(high - low) and low < high:
            at = math.frexp(high - low)[1] - FIRST_EXPONENT
            near = np.rint(found * up[at] / down[at]) * down[at] / up[at]
            found = near if low <= near < high else found
        out[i] = found if low <= found < high else low
