"""The two operations that eliminate variables: sum and maximum, on logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.integer]

LOG_2PI = math.log(2.0 * math.pi)


def log_sum_exp(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return log(sum(exp(values))) along one or several axes, -inf if all values are -inf."""
    peak = np.max(values, axis=axis, keepdims=True)
    peak[np.isneginf(peak)] = 0.0
    total = np.sum(np.exp(values - peak), axis=axis)
    with np.errstate(divide="ignore"):
        result = np.log(total)
    return np.asarray(result + np.squeeze(peak, axis=axis))


def _maximum(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    return np.asarray(np.max(values, axis=axis))


@dataclass(frozen=True)
class Algebra:
    """The operation that eliminates a variable from a product of factors.

    Attributes
    ----------
    name : str
    reduce : callable
        Function that removes axes of log values by log-sum-exp or by the maximum.
    gaussian_log_volume : float
        Log of the integral (sqrt(2 pi)) or of the maximum (1) of exp(-x**2 / 2), which eliminating
        a continuous variable of unit precision adds to the log constant of a factor.
    integrates : bool
        Whether continuous variables are integrated out rather than maximised.
    """

    name: str
    reduce: Callable[[Floats, int | tuple[int, ...]], Floats]
    gaussian_log_volume: float
    integrates: bool


SUM = Algebra("sum", log_sum_exp, 0.5 * LOG_2PI, integrates=True)
MAX = Algebra("max", _maximum, 0.0, integrates=False)
