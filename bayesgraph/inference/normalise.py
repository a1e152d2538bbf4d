"""Normalisation of arrays of logs, and the argmax of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats, log_of, log_sum_exp
from bayesgraph.inference import execution_kernels as kernels


def log_total(joint: Floats) -> Floats:
    """Return log-sum-exp of log joint probabilities over the last axis, the states."""
    return log_sum_exp(joint, -1)


def log_normalised(joint: Floats) -> Floats:
    """Normalise log joint probabilities to log posteriors, in place, shape (n_rows, n_states)."""
    # Subtract the peak first: next to a log density of -1e18 the log of a sum would be lost.
    joint -= joint.max(axis=1, keepdims=True)
    joint -= log_sum_exp(joint, 1)[:, None]
    return joint


def normalised(joint: Floats) -> Floats:
    """Turn log joint probabilities into posteriors, in place, shape (n_rows, n_states)."""
    # Reductions of ufuncs: methods of arrays take longer than a single row.
    joint -= np.maximum.reduce(joint, axis=1, keepdims=True)
    np.exp(joint, out=joint)
    joint /= np.add.reduce(joint, axis=1, keepdims=True)
    return joint


def divided(values: Floats, by: Floats) -> Floats:
    """Return quotients, 0 where the divisor is not positive; `by` is broadcast."""
    found: Floats = np.divide(values, by, out=np.zeros_like(values), where=by > 0)
    return found


def prior_term(prior: Floats, exponent: float) -> Floats:
    """Return the log of prior^(1 - exponent), which `tempered` adds; 0 where the prior is 0."""
    return np.where(prior > 0, (1.0 - exponent) * log_of(np.where(prior > 0, prior, 1.0)), 0.0)


def tempered(joint: Floats, exponent: float, term: Floats) -> Floats:
    """Turn log joint probabilities into tempered posteriors, in place, shape (n_rows, n_states).

    They are proportional to prior (posterior / prior)^exponent; a probability of zero stays so. The
    term of the prior has the shape (n_states,), or that of `joint` where it differs by row.
    """
    joint *= exponent
    joint += term
    return normalised(joint)


def normalised_if_possible(logs: Floats) -> Floats:
    """Return normalised exponentials over the last axis; zeros where all logs are -inf."""
    peak = logs.max(axis=-1, keepdims=True)
    values = np.exp(logs - np.where(np.isneginf(peak), 0.0, peak))
    return divided(values, values.sum(axis=-1, keepdims=True))


def normalised_with_total(log_values: Floats) -> tuple[Floats, float]:
    """Return normalised probabilities from unnormalised logs, and the log of the sum of values.

    `log_values` has shape (1, ...), of which the first axis is dropped. If all values are zero, the
    probabilities are NaN and the log is minus infinity.
    """
    peak = np.maximum.reduce(log_values, axis=None)
    if peak == -np.inf:
        return np.full(log_values.shape[1:], np.nan), -np.inf
    values = np.exp(log_values - peak)
    total = np.add.reduce(values, axis=None)
    return values[0] / total, float(np.log(total) + peak)


def largest(joint: Floats) -> NDArray[np.intp]:
    """Return for each row the index of the largest entry, ties to the first."""
    return kernels.largest(joint.T)
