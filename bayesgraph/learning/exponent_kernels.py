"""Sweeps over features: the loss of all rows after a change of one exponent.

The posterior of every row, p(c | x_n), is kept up to date. Raising the exponent of feature i by s
changes it to ``p(c | x_n) f(x_n, c)^s / Z_n`` with the table entry ``f(x_n, c) = p(x_ni | c)`` and
``Z_n = sum_c p(c | x_n) f(x_n, c)^s``: one product per class and no exponential. One logarithm is
taken for the product of many rows' Z_n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Lower bound of factors and running products: the product of two such values is a normal float.
_SMALLEST = 1e-150
# Lower bound of Z, so that its logarithm is finite.
_TINY = 1e-300
# Maximum range of the log joint over the classes, in nats, for which no posterior underflows.
_NARROW = 600.0


@kernel(interpreted=False)
def write_posteriors(scores: Floats, posterior: Floats) -> None:
    """Write the class posterior of each row, given the log joint `scores`, shape (n_rows, K)."""
    n_rows, k = scores.shape
    for n in range(n_rows):
        largest = scores[n, 0]
        for c in range(1, k):
            largest = max(largest, scores[n, c])
        total = 0.0
        for c in range(k):
            below = scores[n, c] - largest
            posterior[n, c] = math.exp(below) if below < 0.0 else 1.0
            total += posterior[n, c]
        share = 1.0 / total
        for c in range(k):
            posterior[n, c] *= share


@kernel(interpreted=False)
def _factors(table: Floats, counts: Floats, step: float, factor: Floats) -> float:
    """Write the factors by which a step of one exponent multiplies joint probabilities.

    Row 0 of `factor` receives ones, for missing values. Row x + 1 receives exp(step * table[x]) for
    state x, divided by the maximum over the classes. `table` has the log probability, and `counts`
    the weight of the rows, of each state and class. Returns the sum over rows of the log factor of
    the class of the row, in nats.
    """
    gain = 0.0
    cells, k = table.shape
    for c in range(k):
        factor[0, c] = 1.0
    for x in range(cells):
        largest = step * table[x, 0]
        for c in range(1, k):
            largest = max(largest, step * table[x, c])
        for c in range(k):
            height = step * table[x, c] - largest
            factor[x + 1, c] = math.exp(height)
            gain += counts[x, c] * height
    return gain


@kernel(interpreted=False)
def _log_sum(
    column: NDArray[np.int32], weights: Floats, unit: bool, posterior: Floats, factor: Floats
) -> float:
    """Return the weighted sum over rows of ln Z_n, with Z_n = sum_c posterior[n, c] factor[x_n, c].

    Z_n normalises the class posterior of row n after its multiplication by the `factor` of one
    feature. `column` has the codes x_n, and `unit` says whether all weights are 1.
    """
    n_rows, k = posterior.shape
    total, product = 0.0, 1.0
    for n in range(n_rows):
        x = column[n] + 1
        if k == 2:
            z = posterior[n, 0] * factor[x, 0] + posterior[n, 1] * factor[x, 1]
        else:
            z = 0.0
            for c in range(k):
                z += posterior[n, c] * factor[x, c]
        if not unit:
            # Z is 0 only if the range of a single feature exceeds the range of floats.
            total += weights[n] * math.log(max(z, _TINY))
        elif z < _SMALLEST:
            total += math.log(max(z, _TINY))
        else:
            product *= z
            if product < _SMALLEST:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@kernel(interpreted=False)
def _smoothed_loss(
    column: NDArray[np.int32],
    labels: NDArray[np.intp],
    weights: Floats,
    unit: bool,
    share: float,
    posterior: Floats,
    factor: Floats,
) -> float:
    """Return -sum_n weight_n ln (p_n f / Z_n + share / K), without the constant ln(1 + share).

    This is the log loss of the labels after a step of one exponent. p_n is the posterior of the
    label of row n before the step, f the `factor` of the step for the label, Z_n the normalising
    constant of `_log_sum`, and K the number of classes. `column` holds the codes of the feature,
    and `unit` says whether all weights are 1.
    """
    n_rows, k = posterior.shape
    total, above, below, bit = 0.0, 1.0, 1.0, share / k
    for n in range(n_rows):
        x, y = column[n] + 1, labels[n]
        if k == 2:
            z = posterior[n, 0] * factor[x, 0] + posterior[n, 1] * factor[x, 1]
        else:
            z = 0.0
            for c in range(k):
                z += posterior[n, c] * factor[x, c]
        z = max(z, _TINY)
        # Smoothed probability times Z: one quotient per row would cost more than two products.
        p = posterior[n, y] * factor[x, y] + bit * z
        if not unit:
            total -= weights[n] * math.log(p / z)
        elif p < _SMALLEST:
            total -= math.log(p / z)
        else:
            above *= p
            below *= z
            if above < _SMALLEST or below < _SMALLEST:
                total -= math.log(above) - math.log(below)
                above, below = 1.0, 1.0
    return total - (math.log(above) - math.log(below))


@kernel(interpreted=False)
def _accept(
    column: NDArray[np.int32],
    table: Floats,
    step: float,
    factor: Floats,
    narrow: bool,
    scores: Floats,
    posterior: Floats,
) -> None:
    """Update the scores and posteriors of all rows after a step of the exponent of one feature.

    `column`, `table` and `factor` belong to the feature; `narrow` says whether no posterior can
    have underflowed, so that posteriors may be multiplied by the factors.
    """
    n_rows, k = posterior.shape
    for n in range(n_rows):
        x = column[n]
        if x < 0:
            continue
        for c in range(k):
            scores[n, c] += step * table[x, c]
        if narrow:
            z = 0.0
            for c in range(k):
                posterior[n, c] *= factor[x + 1, c]
                z += posterior[n, c]
            z = 1.0 / z
            for c in range(k):
                posterior[n, c] *= z
    if not narrow:
        # A posterior that underflowed to 0 cannot be raised again by a product.
        write_posteriors(scores, posterior)


@kernel(interpreted=False)
def sweep(
    columns: NDArray[np.int32],
    labels: NDArray[np.intp],
    weights: Floats,
    unit: bool,
    table: Floats,
    counts: Floats,
    start: NDArray[np.int64],
    spread: Floats,
    size_cost: Floats,
    feature_cost: Floats,
    power: float,
    share: float,
    step: float,
    threshold: float,
    order: NDArray[np.intp],
    exponents: Floats,
    scores: Floats,
    posterior: Floats,
    state: Floats,
    costs: Floats,
    taken: NDArray[np.bool_],
) -> None:
    """Try to add a step to the exponent of each feature in turn; keep it if that lowers the cost.

    The cost, described in `coordinate_search.Objective`, is ``- sum_n weight_n ln p'(label_n | x_n)
    + size_cost[ceil(sum_i w_i)] + sum_i feature_cost_i w_i^power``.

    Parameters
    ----------
    columns : ndarray of int32, shape (d, n_rows)
        Index of the state; -1 where missing.
    labels, weights : ndarray, shape (n_rows,)
    unit : bool
        Whether all rows weigh 1.
    table : ndarray, shape (S, K)
        log p(x | c) of the states of all features.
    counts : ndarray, shape (S, K)
        Weight of the rows in each cell of `table`.
    start : ndarray, shape (d + 1,)
        First row of each feature in `table`, and S.
    spread : ndarray, shape (d,)
        Maximum difference between classes in any state of the feature, in nats.
    size_cost : ndarray, shape (d + 1,)
    feature_cost : ndarray, shape (d,)
    power : float
    share : float
        Weight of the uniform distribution that smooths the posterior p of the class:
        p' = (p + share / K) / (1 + share).
    step : float
        Added to exponents, which are clipped to [0, 1]; negative to lower them.
    threshold : float
        A change is kept if the cost falls by more than this, or, if this is negative, rises by
        less.
    order : ndarray
        Features to try.
    exponents : ndarray, shape (d,)
        Modified in place, as are `scores`, `posterior` and `state`.
    scores, posterior : ndarray, shape (n_rows, K)
        Log joint and posterior of the classes of each row.
    state : ndarray, shape (2,)
        Loss of the labels, and sum of the feature costs.
    costs : ndarray, shape of `order`
        Written: the cost after each change, NaN if the exponent could not be changed.
    taken : ndarray of bool, shape of `order`
        Written: whether the change was kept.
    """
    k = posterior.shape[1]
    largest = 0
    for i in range(len(start) - 1):
        largest = max(largest, start[i + 1] - start[i])
    factor = np.empty((largest + 1, k))
    rows = weights.sum()
    total, width = exponents.sum(), (exponents * spread).sum()
    for place in range(len(order)):
        i = order[place]
        costs[place], taken[place] = np.nan, False
        old = exponents[i]
        new = min(max(old + step, 0.0), 1.0)
        if new == old:
            continue
        own, seen = table[start[i] : start[i + 1]], counts[start[i] : start[i + 1]]
        gain = _factors(own, seen, new - old, factor)
        if share > 0.0:
            loss = _smoothed_loss(columns[i], labels, weights, unit, share, posterior, factor)
            loss += rows * math.log1p(share)
        else:
            loss = state[0] - gain + _log_sum(columns[i], weights, unit, posterior, factor)
        extra = feature_cost[i] * (new**power - old**power)
        now = state[0] + state[1] + size_cost[math.ceil(total)]
        after = loss + state[1] + extra + size_cost[math.ceil(total + new - old)]
        costs[place] = after
        if after < now - threshold:
            taken[place] = True
            exponents[i] = new
            total += new - old
            before = width
            width += (new - old) * spread[i]
            narrow = max(before, width) < _NARROW
            _accept(columns[i], own, new - old, factor, narrow, scores, posterior)
            state[0] = loss
            state[1] += extra
