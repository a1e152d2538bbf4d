"""Logs of rows turned into distributions, and their largest entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.inference.execution import kernels


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


def largest(joint: Floats) -> NDArray[np.intp]:
    """Return the position of the largest entry of each row, ties to the first."""
    return kernels.largest(joint.T)
