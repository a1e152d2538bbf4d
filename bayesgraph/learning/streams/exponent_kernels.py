"""Loops of streaming exponents: one gradient step per row."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Modes: which exponents are learned.
FIXED, VARIABLE, CLASS, MIXED = -1, 0, 1, 2
# Root mean square range of log densities, in nats, above which adaptive steps become shorter.
_RANGE = 2.0


class Steps(NamedTuple):
    """Arrays that gradient steps modify: exponents and biases, their averages, and step sizes.

    Attributes
    ----------
    shared, squares, mean_shared : ndarray, shape (n_features,)
        Exponents that the classes share, sums of their squared gradients, and averaged exponents.
    own, own_squares, mean_own : ndarray, shape (n_classes, n_features)
        The same for the deviations of each class.
    bias, bias_squares, mean_bias : ndarray, shape (n_classes,)
        The same for the biases.
    ranges, own_ranges : ndarray, shape (n_features,)
        Sums over rows of two squares: the squared range of the log densities over the classes, and
        the squared maximum distance of the log densities from their means.
    observed : ndarray, shape (n_features,)
        Number of rows that observe each feature.
    """

    shared: Floats
    squares: Floats
    mean_shared: Floats
    ranges: Floats
    own_ranges: Floats
    observed: Floats
    own: Floats
    own_squares: Floats
    mean_own: Floats
    bias: Floats
    bias_squares: Floats
    mean_bias: Floats


@kernel(interpreted=False)
def add_weights(classes: NDArray[np.int64], weights: Floats, decay: float, totals: Floats) -> None:
    """Add the weight of each row to the total of its class, after a decay of all totals.

    Parameters
    ----------
    classes, weights : ndarray, shape (n,)
    decay : float
    totals : ndarray, shape (n_classes,)
        Modified in place.
    """
    for row in range(len(classes)):
        for k in range(len(totals)):
            totals[k] *= decay
        totals[classes[row]] += weights[row]


@kernel(interpreted=False)
def log_prior(totals: Floats, smoothing: float, out: Floats) -> None:
    """Write the log prior of each class, from total weights plus a pseudo-count of each class."""
    total = totals.sum() + len(totals) * smoothing
    for k in range(len(totals)):
        out[k] = math.log((totals[k] + smoothing) / total)


@kernel(interpreted=False)
def normalise(scores: Floats) -> None:
    """Replace log scores of the classes of one row by normalised probabilities, in place."""
    maximum = scores.max()
    total = 0.0
    for k in range(len(scores)):
        scores[k] = math.exp(scores[k] - maximum)
        total += scores[k]
    for k in range(len(scores)):
        scores[k] /= total


@kernel(interpreted=False, fastmath={"reassoc", "contract", "nsz"})
def add_scores(logs: Floats, shared: Floats, own: Floats, out: Floats) -> None:
    """Add ``sum_f (shared_f + own_kf) logs_kf`` of one row to the score of each class.

    Parameters
    ----------
    logs, own : ndarray, shape (n_classes, n_features)
    shared : ndarray, shape (n_features,)
    out : ndarray, shape (n_classes,)
    """
    for k in range(logs.shape[0]):
        total = 0.0
        for f in range(logs.shape[1]):
            total += (shared[f] + own[k, f]) * logs[k, f]
        out[k] += total


# No operation may be reordered or fused here: files store these sums, and a compiler would decide
# depending on inlining, which can differ between installations.
@kernel(interpreted=False, fastmath={"nsz"})
def _add_ranges(
    logs: Floats,
    centre: Floats,
    mode: int,
    steps: Steps,
    away: Floats,
    scratch: Floats,
) -> None:
    """Add the squared ranges of one row's log densities to the sums in `steps`; see `learn_rows`.

    Also writes `away`: log densities minus their means, 0 where a value is missing. `scratch` is
    working memory.
    """
    n_classes, n_features = logs.shape
    low, high = scratch[0], scratch[1]
    for f in range(n_features):
        steps.observed[f] += 1.0 if logs[0, f] != 0.0 else 0.0
    if mode != CLASS:
        low[:] = logs[0]
        high[:] = logs[0]
        for k in range(1, n_classes):
            for f in range(n_features):
                low[f] = min(low[f], logs[k, f])
                high[f] = max(high[f], logs[k, f])
        for f in range(n_features):
            steps.ranges[f] += (high[f] - low[f]) ** 2
    if mode != VARIABLE:
        high[:] = 0.0
        for k in range(n_classes):
            for f in range(n_features):
                away[k, f] = logs[k, f] - centre[k, f] if logs[k, f] != 0.0 else 0.0
                high[f] = max(high[f], abs(away[k, f]))
        for f in range(n_features):
            steps.own_ranges[f] += high[f] * high[f]


# `error_model="numpy"` omits checks for zero divisors, which prevent vectorised divisions and
# roots.
@kernel(interpreted=False, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _move(
    logs: Floats,
    error: Floats,
    centre: Floats,
    mode: int,
    step: float,
    own_step: float,
    adaptive: bool,
    minimum: float,
    steps: Steps,
    away: Floats,
    scratch: Floats,
) -> None:
    """Take one gradient step for one row; see `learn_rows`.

    `error` holds P - T of each class: its posterior, minus 1 for the true class. `away` holds log
    densities minus their means, as the bias absorbs the means. `scratch` is working memory.
    """
    n_classes, n_features = logs.shape
    gradient, scale = scratch[0], scratch[1]
    shared, own, bias, observed = steps.shared, steps.own, steps.bias, steps.observed
    if mode != CLASS:
        squares, ranges = steps.squares, steps.ranges
        for f in range(n_features):
            gradient[f] = 0.0
        for k in range(n_classes):
            e = error[k]
            for f in range(n_features):
                gradient[f] += e * logs[k, f]
        if adaptive:
            for f in range(n_features):
                squares[f] += gradient[f] * gradient[f]
                width = max(1.0, ranges[f] / (_RANGE * _RANGE * max(1.0, observed[f])))
                shared[f] -= step * gradient[f] / math.sqrt(squares[f] * width)
        else:
            for f in range(n_features):
                shared[f] -= step * gradient[f]
        if minimum > -np.inf:
            for f in range(n_features):
                shared[f] = max(shared[f], minimum)
    if mode != VARIABLE:
        own_squares, own_ranges = steps.own_squares, steps.own_ranges
        for f in range(n_features):
            scale[f] = max(1.0, own_ranges[f] / (_RANGE * _RANGE * max(1.0, observed[f])))
        for k in range(n_classes):
            e = error[k]
            lost = 0.0
            if adaptive:
                for f in range(n_features):
                    g = e * away[k, f]
                    own_squares[k, f] += g * g
                    change = own_step * g / math.sqrt(own_squares[k, f] * scale[f])
                    own[k, f] -= change
                    lost += change * centre[k, f]
            else:
                for f in range(n_features):
                    own[k, f] -= own_step * e * logs[k, f]
            bias[k] += lost
            if minimum > -np.inf:
                for f in range(n_features):
                    own[k, f] = max(own[k, f], minimum - shared[f])
    for k in range(n_classes):
        if adaptive:
            steps.bias_squares[k] += error[k] * error[k]
            bias[k] -= step * error[k] / math.sqrt(steps.bias_squares[k])
        else:
            bias[k] -= step * error[k]


@kernel(interpreted=False, error_model="numpy")
def learn_rows(
    logs: Floats,
    classes: NDArray[np.int64],
    weights: Floats,
    centre: Floats,
    mode: int,
    step: float,
    own_step: float,
    adaptive: bool,
    minimum: float,
    smoothing: float,
    totals: Floats,
    clock: Floats,
    steps: Steps,
    decay: float,
    out: Floats,
) -> None:
    """Take one gradient step on the negative log likelihood of each row, in the order of the rows.

    With the posterior P_k, the indicator T_k of the true class and e_k = P_k - T_k, the gradients
    are sum_k e_k log p_k for an exponent that the classes share, e_k log p_k for an exponent of a
    class, and e_k for a bias. Adaptive steps are those of AdaGrad, divided by the root mean square
    of the feature's ranges if that is above 2 nats: a step then changes scores by a similar amount
    for all units of the densities (the normalised updates of Ross, Mineiro, Langford 2013 divide by
    the maximum value).

    Parameters
    ----------
    logs : ndarray, shape (n, n_classes, n_features)
        Log densities as they were before the rows were learned.
    classes, weights : ndarray, shape (n,)
    centre : ndarray, shape (n_classes, n_features)
        Approximate means of the log densities.
    mode : int
        Which exponents are learned: VARIABLE, CLASS or MIXED; with FIXED rows are only predicted.
    step, own_step : float
        Step sizes of shared exponents and biases, and of class-specific exponents; if `adaptive`,
        divided by the root of the sum of squared gradients.
    adaptive : bool
    minimum : float
        Minimum of the exponents.
    smoothing : float
        Pseudo-count of each class in the prior.
    totals : ndarray, shape (n_classes,)
        Total weight of each class so far, modified in place.
    clock : ndarray, shape (2,)
        Number t of steps, and the exponent a of the weight t^a of step t in averages; modified in
        place.
    steps : Steps
        Modified in place.
    decay : float
        Factor of the weights of all earlier rows after each row.
    out : ndarray, shape (n, n_classes) or (0, n_classes)
        Receives the class probabilities by the averaged model before each row, if requested.
    """
    n, n_classes, n_features = logs.shape
    error = np.empty(n_classes)
    prior = np.empty(n_classes)
    away, scratch = np.empty((n_classes, n_features)), np.empty((2, n_features))
    shared, own, bias = steps.shared, steps.own, steps.bias
    mean_shared, mean_own, mean_bias = steps.mean_shared, steps.mean_own, steps.mean_bias
    for row in range(n):
        log_prior(totals, smoothing, prior)
        if len(out):
            for k in range(n_classes):
                out[row, k] = prior[k] + mean_bias[k]
            add_scores(logs[row], mean_shared, mean_own, out[row])
            normalise(out[row])
        add_weights(classes[row : row + 1], weights[row : row + 1], decay, totals)
        if mode == FIXED:
            continue
        for k in range(n_classes):
            error[k] = prior[k] + bias[k]
        add_scores(logs[row], shared, own, error)
        normalise(error)
        error[classes[row]] -= 1.0
        for k in range(n_classes):
            error[k] *= weights[row]
        clock[0] += 1.0
        if adaptive:
            _add_ranges(logs[row], centre, mode, steps, away, scratch)
        _move(
            logs[row], error, centre, mode, step, own_step, adaptive, minimum, steps, away, scratch
        )
        share = (1.0 + clock[1]) / (clock[0] + clock[1])
        for f in range(n_features):
            mean_shared[f] += share * (shared[f] - mean_shared[f])
        for k in range(n_classes):
            mean_bias[k] += share * (bias[k] - mean_bias[k])
            if mode != VARIABLE:
                for f in range(n_features):
                    mean_own[k, f] += share * (own[k, f] - mean_own[k, f])


@kernel(interpreted=False)
def score_rows(
    logs: Floats,
    totals: Floats,
    smoothing: float,
    bias: Floats,
    shared: Floats,
    own: Floats,
    out: Floats,
) -> None:
    """Write the log scores (unnormalised log posterior) of the classes for rows, (n, n_classes).

    See `log_prior` for `totals` and `smoothing`, and `add_scores` for `shared` and `own`; `bias` is
    added to the log priors.
    """
    prior = np.empty(len(totals))
    log_prior(totals, smoothing, prior)
    for row in range(len(logs)):
        for k in range(len(prior)):
            out[row, k] = prior[k] + bias[k]
        add_scores(logs[row], shared, own, out[row])
