"""Loops of log-linear training: scores, residuals and gradients over rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]

# The number of tables that a loop over classes takes at a time. The number of columns of `cells` is
# a multiple of it; a column of -1 is of no table.
TABLES = 4


@kernel(interpreted=False, error_model="numpy")
def add_scores(begin: int, end: int, cells: Codes, effects: Array, bias: Array, out: Array) -> None:
    """Write the scores of rows begin to end: the bias plus the effects of the row's table cells.

    `cells` has the cell of each row (first axis) in each table, `effects` the effects of each cell
    on the classes. The last row of `effects` is zero: cell -1, of missing values, reads it.
    """
    n_classes = len(bias)
    if n_classes == 2:  # two sums in registers, without an inner loop
        for row in range(begin, end):
            first, second = bias[0], bias[1]
            for j in range(cells.shape[1]):
                cell = cells[row, j]
                if cell >= 0:
                    first += effects[cell, 0]
                    second += effects[cell, 1]
            out[row, 0], out[row, 1] = first, second
        return
    for row in range(begin, end):
        score = out[row]
        for k in range(n_classes):
            score[k] = bias[k]
        # Four tables at a time: a score is read and written once for all of them.
        for j in range(0, cells.shape[1], TABLES):
            a, b = effects[cells[row, j]], effects[cells[row, j + 1]]
            c, d = effects[cells[row, j + 2]], effects[cells[row, j + 3]]
            for k in range(n_classes):
                score[k] = score[k] + a[k] + b[k] + c[k] + d[k]


@kernel(interpreted=False, error_model="numpy")
def subtract_maximum(scores: Array) -> None:
    """Subtract from each row its maximum."""
    for row in range(len(scores)):
        score = scores[row]
        top = score[0]
        for k in range(1, len(score)):
            top = max(top, score[k])
        for k in range(len(score)):
            score[k] -= top


@kernel(interpreted=False, error_model="numpy")
def loss_and_residuals(
    scores: Array, factors: Array, labels: NDArray[np.intp], weights: Array
) -> float:
    """Return the weighted sum of -log P(label); overwrite scores by weighted residuals.

    The residual of a row and class is the weight times P - [label], where [label] is 1 if the class
    is the label and 0 otherwise. `factors` are the exponentials of the scores.
    """
    n_classes = scores.shape[1]
    loss = 0.0
    for row in range(len(scores)):
        score, factor = scores[row], factors[row]
        total = 0.0
        for k in range(n_classes):
            total += factor[k]
        label, weight = labels[row], weights[row]
        loss += weight * (np.log(total) - score[label])
        share = weight / total
        for k in range(n_classes):
            score[k] = factor[k] * share
        score[label] -= weight
    return loss


@kernel(interpreted=False, error_model="numpy")
def normalise(
    starts: NDArray[np.int64], share: Array, prior: Array, g: Array, across: Array, within: Array
) -> None:
    """Normalise the effects of cells; see `Normalised`.

    Parameters
    ----------
    starts : ndarray, shape (n_tables + 1,)
        First cell of each table; last, the number of cells.
    share : ndarray, shape (n_cells,)
        Share p of the rows in each cell of its table.
    prior : ndarray, shape (n_classes,)
    g : ndarray, shape (n_cells, n_classes)
        Sums of parameters up to a constant of each cell; overwritten by the effects.
    across : ndarray, shape (n_cells, n_classes)
        The exponentials of `g`; overwritten by the distributions of the class.
    within : ndarray, shape (n_cells, n_classes)
        Written: the distributions over the cells of a table.
    """
    n_classes = len(prior)
    total, log_total = np.empty(n_classes), np.empty(n_classes)
    for table in range(len(starts) - 1):
        total[:] = 0.0
        for cell in range(starts[table], starts[table + 1]):
            # Over the classes: g = phi - log sum_k pi_k exp(phi_k).
            factor, mean = across[cell], 0.0
            for k in range(n_classes):
                mean += prior[k] * factor[k]
            log_mean, to_one, mass = np.log(mean), 1.0 / mean, share[cell] / mean
            for k in range(n_classes):
                part = mass * factor[k]
                within[cell, k] = part
                total[k] += part
                g[cell, k] -= log_mean
                factor[k] *= prior[k] * to_one
        # Over the cells of the table: the effects are g - log Z, with Z_k = sum_cells p exp(g_k).
        for k in range(n_classes):
            log_total[k], total[k] = np.log(total[k]), 1.0 / total[k]
        for cell in range(starts[table], starts[table + 1]):
            for k in range(n_classes):
                g[cell, k] -= log_total[k]
                within[cell, k] *= total[k]


@kernel(interpreted=False, error_model="numpy")
def differentiate(
    starts: NDArray[np.int64], by_effects: Array, within: Array, across: Array, out: Array
) -> None:
    """Write the gradient by sums of parameters, given that by effects; see `normalise`.

    Both are of shape (n_cells, n_classes). By the chain rule, in reverse order: first through the
    normalisation over the cells of a table (`within`), then through that over classes (`across`).
    """
    n_classes = by_effects.shape[1]
    sums = np.empty(n_classes)
    for table in range(len(starts) - 1):
        sums[:] = 0.0
        for cell in range(starts[table], starts[table + 1]):
            for k in range(n_classes):
                sums[k] += by_effects[cell, k]
        for cell in range(starts[table], starts[table + 1]):
            of_cell = 0.0
            for k in range(n_classes):
                slope = by_effects[cell, k] - sums[k] * within[cell, k]
                out[cell, k] = slope
                of_cell += slope
            for k in range(n_classes):
                out[cell, k] -= across[cell, k] * of_cell


@kernel(interpreted=False, error_model="numpy")
def add_residuals(cells: Codes, residuals: Array, out: Array) -> None:
    """Add the residuals of each row to its cells in `out`: the gradient of the loss by effects.

    The last row of `out` takes those of cell -1.
    """
    n_classes = residuals.shape[1]
    if n_classes == 2:
        for row in range(len(cells)):
            first, second = residuals[row, 0], residuals[row, 1]
            for j in range(cells.shape[1]):
                cell = cells[row, j]
                if cell >= 0:
                    out[cell, 0] += first
                    out[cell, 1] += second
        return
    for row in range(len(cells)):
        residual = residuals[row]
        for j in range(cells.shape[1]):
            total = out[cells[row, j]]
            for k in range(n_classes):
                total[k] += residual[k]


@kernel(interpreted=False, error_model="numpy")
def pair_gains(
    first: int,
    last: int,
    groups: Codes,
    cards: NDArray[np.int64],
    residuals: Array,
    spreads: Array,
    ridge: float,
    out: Array,
) -> None:
    """Write the score-test gain of every pair of features (i, j), first <= i < last, i < j.

    The gain is the sum over the pair's cells and the classes of (sum of residuals)^2 / (sum of
    P(1-P) + ridge): twice the gain in log likelihood by one Newton step on each cell.

    Parameters
    ----------
    groups : ndarray of int, shape (n_rows, n_features)
        Group of each value in the search for pairs, -1 where missing.
    cards : ndarray of int, shape (n_features,)
        Number of groups.
    residuals, spreads : ndarray, shape (n_rows, n_classes)
        Weighted residuals (P minus the indicator of the label), and weighted P(1-P), of the model
        without pairs.
    ridge : float
        In rows; it reduces the gains of cells with few rows.
    out : ndarray, shape (n_features, n_features)
    """
    n_rows, n_features = groups.shape
    n_classes = residuals.shape[1]
    largest = cards.max()
    gradient = np.empty((largest * largest, n_classes))
    curvature = np.empty((largest * largest, n_classes))
    for i in range(first, last):
        for j in range(i + 1, n_features):
            if cards[i] < 2 or cards[j] < 2:
                continue
            size = cards[i] * cards[j]
            gradient[:size] = 0.0
            curvature[:size] = 0.0
            for row in range(n_rows):
                a, b = groups[row, i], groups[row, j]
                if a >= 0 and b >= 0:
                    cell = a * cards[j] + b
                    for k in range(n_classes):
                        gradient[cell, k] += residuals[row, k]
                        curvature[cell, k] += spreads[row, k]
            gain = 0.0
            for cell in range(size):
                for k in range(n_classes):
                    gain += gradient[cell, k] ** 2 / (curvature[cell, k] + ridge)
            out[i, j] = out[j, i] = gain
