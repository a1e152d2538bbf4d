"""Logs turned into distributions, and their largest entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.inference import execution_kernels as kernels


def log_total(joint: Floats) -> Floats:
    """Return the log of the sum over states, the last axis, of logs."""
    return log_sum_exp(joint, -1)


def log_normalised(joint: Floats) -> Floats:
    """Return logs of rows that sum to one, overwriting them; shape (n_rows, n_states)."""
    # The peak leaves first: beside a log density of -1e18 the log of a sum would vanish.
    joint -= joint.max(axis=1, keepdims=True)
    joint -= log_sum_exp(joint, 1)[:, None]
    return joint


def normalised(joint: Floats) -> Floats:
    """Return rows that sum to one from logs, overwriting them; shape (n_rows, n_states)."""
    joint -= joint.max(axis=1, keepdims=True)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def normalised_with_total(log_values: Floats) -> tuple[Floats, float]:
    """Return probabilities from logs of shape (1, ...) and the log of the sum of the numbers.

    NaN and minus infinity if all of them are zero.
    """
    peak = np.maximum.reduce(log_values, axis=None)
    if peak == -np.inf:
        return np.full(log_values.shape[1:], np.nan), -np.inf
    values = np.exp(log_values - peak)
    total = np.add.reduce(values, axis=None)
    return values[0] / total, float(np.log(total) + peak)


def largest(joint: Floats) -> NDArray[np.intp]:
    """Return the position of the largest entry of each row, ties to the first."""
    return kernels.largest(joint.T)
