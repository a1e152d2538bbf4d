"""Fitting a log-linear model of the class by penalised conditional likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.design import Effects, Normalised, Parameters, Terms
from bayesgraph.parallel import at_once, over_rows

# Of the penalty on slopes: positions have variance 1, so that a slope stands for many cells.
_SLOPE = 1.0
_STEPS = 200
_TOLERANCE = 1e-5
# Of the search for the bias: steps, the longest and the shortest, the share of rows left over.
_NEWTON_STEPS, _LONGEST, _SHORTEST, _BALANCE = 50, 3.0, 1e-9, 1e-12
# Of P(1 - P) without features: what remains where they tell the classes apart, and the least.
_CONFIDENT, _LEAST_SPREAD = 0.03, 1e-6
# Rows below which another thread costs more than it saves.
_LEAST_ROWS = 4096


@dataclass(frozen=True)
class Rows:
    """Rows as a model of some terms sees them.

    Attributes
    ----------
    cells : ndarray of int, shape (n_rows, n_tables)
        See `Terms.rows`.
    labels : ndarray of int, shape (n_rows,)
        The class.
    weights : ndarray, shape (n_rows,)
    """

    cells: NDArray[np.int32]
    labels: NDArray[np.intp]
    weights: Floats

    def scores(self, model: Effects) -> Floats:
        """Return the log of P(class | row) up to a constant of the row, (n_rows, n_classes)."""
        out = np.empty((len(self.cells), len(model.bias)))

        def part(begin: int, end: int) -> None:
            kernels.add_scores(begin, end, self.cells, model.cells, model.bias, out)

        over_rows(part, len(out), _LEAST_ROWS)
        return out

    def loss(self, scores: Floats) -> float:
        """Return the weighted sum of -log P(label), in nats; scores become residuals."""
        return float(kernels.loss_and_residuals(0, len(scores), self.labels, self.weights, scores))

    def loss_and_gradient(self, model: Effects) -> tuple[float, Floats, Floats]:
        """Return the weighted sum of -log P(label), its gradient by the effects and the bias."""
        ends = [0, len(self.cells)]
        if len(self.cells) >= 2 * _LEAST_ROWS:
            # Two parts however many processors there are: the sums are then always the same.
            ends.insert(1, len(self.cells) // 2)
        found = at_once([partial(self._part, model, a, b) for a, b in pairwise(ends)])
        loss, cells, bias = found[0]
        for more in found[1:]:
            loss, cells, bias = loss + more[0], cells + more[1], bias + more[2]
        return loss, cells, bias

    def _part(self, model: Effects, begin: int, end: int) -> tuple[float, Floats, Floats]:
        cells = self.cells[begin:end]
        residuals = np.empty((end - begin, len(model.bias)))
        kernels.add_scores(0, len(cells), cells, model.cells, model.bias, residuals)
        loss = kernels.loss_and_residuals(
            0, len(cells), self.labels[begin:end], self.weights[begin:end], residuals
        )
        gradient = np.zeros_like(model.cells)
        kernels.add_residuals(cells, residuals, gradient)
        return loss, gradient, residuals.sum(axis=0)


def train(
    terms: Terms,
    rows: Rows,
    prior: Floats,
    penalty: Floats,
    begin: Parameters,
    tolerance: float = _TOLERANCE,
) -> Parameters:
    """Return the model of the highest penalised conditional likelihood.

    Minimises ``sum_rows weight * -log P(label | row) + 1/2 sum penalty * table^2 + 1/2 sum
    slope^2`` by L-BFGS: multinomial logistic regression (Hastie, Tibshirani, Friedman 2009, section
    4.4) on indicators of cells, written as the discriminative training of the tables of a Bayesian
    network (Greiner, Su, Shen, Zhou 2005).

    Parameters
    ----------
    terms : Terms
    rows : Rows
    prior : ndarray, shape (n_classes,)
    penalty : ndarray, shape (n_parameters,)
        Of each parameter of the tables, in nats.
    begin : Parameters
        Where the search begins.
    tolerance : float
        Relative decrease of the objective that ends it.
    """
    shapes = [begin.tables.shape, begin.slopes.shape, begin.bias.shape]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    scale = _scale(terms, rows, prior, penalty)

    def unpacked(x: Floats) -> Parameters:
        parts = np.split(x / scale, ends)
        return Parameters(*(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)))

    def objective(x: Floats) -> tuple[float, Floats]:
        model = unpacked(x)
        normalised = Normalised.of(terms, model, prior)
        loss, by_effects, by_bias = rows.loss_and_gradient(normalised.effects)
        gradient = normalised.gradient(terms, by_effects, by_bias)
        tables = penalty[:, None] * model.tables
        slopes = _SLOPE * model.slopes
        loss += 0.5 * float(np.sum(tables * model.tables) + np.sum(slopes * model.slopes))
        found = Parameters(gradient.tables + tables, gradient.slopes + slopes, gradient.bias)
        return loss, _packed(found) / scale

    found = minimize(
        objective,
        _packed(begin) * scale,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "ftol": tolerance, "gtol": 1e-3},
    )
    return unpacked(found.x)


def with_share(rows: Rows, model: Effects) -> Effects:
    """Return the model with the bias that predicts each class as often as it is there.

    The highest likelihood of the bias alone, by Newton's method with halved steps; the model stays
    as it is where a class has no row. A mixture of models that have this property need not.
    """
    n_classes = len(model.bias)
    if len(np.unique(rows.labels)) < n_classes or n_classes < 2:
        return model
    scores, total = rows.scores(model), rows.weights.sum()
    best, step = np.inf, np.zeros(n_classes)
    bias = model.bias
    for _ in range(_NEWTON_STEPS):
        residuals = scores + (bias + step - model.bias)
        loss = rows.loss(residuals)
        if loss > best and np.abs(step).max() > _SHORTEST:
            step = step / 2
            continue
        if loss > best:
            break
        best, bias = loss, bias + step
        gradient = residuals.sum(axis=0)
        if np.abs(gradient).max() <= _BALANCE * total:
            break
        step = -np.linalg.lstsq(_curvature(rows, residuals), gradient, rcond=None)[0]
        step = np.clip(step, -_LONGEST, _LONGEST)
    return Effects(model.cells, bias)


def _curvature(rows: Rows, residuals: Floats) -> Floats:
    """Return the second derivatives of the loss by the bias, from its residuals."""
    mass = residuals.copy()
    mass[np.arange(len(mass)), rows.labels] += rows.weights
    return np.diag(mass.sum(axis=0)) - mass.T @ (mass / rows.weights[:, None])


def _scale(terms: Terms, rows: Rows, prior: Floats, penalty: Floats) -> Floats:
    """Return about the root of each parameter's second derivative: steps are then of one size."""
    squares = (terms.loadings.power(2).T @ terms.share) * (_CONFIDENT * rows.weights.sum())
    ridge = np.full(len(squares), _SLOPE)
    ridge[: len(penalty)] = penalty
    spread = np.maximum(prior * (1.0 - prior), _LEAST_SPREAD)
    bias = _CONFIDENT * rows.weights.sum() * spread
    return np.asarray(
        np.sqrt(np.append((squares[:, None] * spread + ridge[:, None]).ravel(), bias))
    )


def _packed(model: Parameters) -> Floats:
    return np.concatenate([model.tables.ravel(), model.slopes.ravel(), model.bias])
