"""Midpoints of pairs of numbers, rounded to few decimals."""

from __future__ import annotations

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches import kernels

# Number of digits beyond the first digit of the distance.
_DIGITS = 2
# Maximum power of ten that is exact in floating point.
_EXACT = 22
# Entry e - FIRST_EXPONENT is for distances from 2^(e - 1): factors by which a number is multiplied
# and divided, so that a hundredth of the distance is at least 1. NaN if that is not exact.
_PLACES = _DIGITS - np.floor(np.arange(kernels.FIRST_EXPONENT - 1, 1024) * np.log10(2.0))
_UP = np.array([10.0**p if p >= 0 else 1.0 for p in _PLACES.clip(-_EXACT, _EXACT).tolist()])
_DOWN = np.array([10.0**-p if p < 0 else 1.0 for p in _PLACES.clip(-_EXACT, _EXACT).tolist()])
_UP[np.abs(_PLACES) > _EXACT] = np.nan


def halfway(below: Floats, above: Floats) -> Floats:
    """Return rounded midpoints of pairs of numbers, to serve as cut points.

    The midpoint is rounded to decimals whose spacing is at most a hundredth of the distance: the
    result for 0.14 and 0.15 is 0.145, not 0.14500000000000002. It is not rounded if no such decimal
    lies within the range, or if powers of ten are not exact.

    Parameters
    ----------
    below, above : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        At least `below` and less than `above`; `below` if `below` is not less than `above`.
    """
    found = np.empty(len(below))
    kernels.round_midpoints(below, above, _UP, _DOWN, found)
    return found
