"""Fitting a log-linear model of the class by penalised conditional likelihood."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bayesgraph.core.arrays import Floats
from bayesgraph.core.parallel import at_once, over_rows
from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.terms import Terms

# ---------------------------------- Bounds of the work of a training, and reports of how far it is


# Called with the share of the work that is done and the name of what is done next.
Progress: TypeAlias = Callable[[float, str], None]

# The phases of a training, and the shares of its work that are done when they begin and end. What
# lies between the end of one phase and the begin of the next is the next one's.
_PHASES: dict[str, tuple[float, float]] = {
    "single features": (0.0, 0.2),
    "pairs of features": (0.2, 0.32),
    "joint table": (0.37, 0.4),
    "random trees": (0.4, 0.6),
    "smaller random trees": (0.6, 0.63),
    "all rows": (0.63, 0.7),
    "random trees of all rows": (0.7, 0.85),
    "merged intervals": (0.85, 1.0),
}


class Spent(Exception):  # noqa: N818 - it is no error
    """Raised in an optimiser whose phase has no steps or seconds left."""


class Effort:
    """The bounds of the work of a training, of which each phase has a share.

    What a phase leaves, later ones may use.

    Parameters
    ----------
    max_steps : int, optional
        Maximum number of steps: evaluations of the loss of all rows, and trees.
    max_seconds : float, optional
        Counted from now on.
    progress : callable, optional
        Called as ``progress(share, phase)`` with the share of the work that is done.
    """

    def __init__(
        self,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._max_steps = math.inf if max_steps is None else max_steps
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._progress = progress
        self._start = time.monotonic()
        self._steps = 0
        self._end = 1.0  # share of all steps and seconds that may be used up to the end of a part

    def enter(self, phase: str, part: int = 0, n_parts: int = 1) -> None:
        """Begin one of the equal parts of a phase; report how far the training is."""
        begin, end = _PHASES[phase]
        width = (end - begin) / n_parts
        self._end = end if part + 1 == n_parts else begin + (part + 1) * width
        if self._progress is not None:
            self._progress(begin + part * width, phase)

    def step(self) -> None:
        """Count a step."""
        self._steps += 1

    @property
    def is_spent(self) -> bool:
        """Whether the current phase has no steps or seconds left."""
        if self._steps >= self._end * self._max_steps:
            return True
        # Without this bound the clock is not looked at.
        return self._max_seconds < math.inf and (
            time.monotonic() - self._start >= self._end * self._max_seconds
        )


# What a training may cost without bounds.
UNBOUNDED = Effort()


# --------------------- Fitting a log-linear model of the class by penalised conditional likelihood


# Penalty of slopes, in nats. A slope is multiplied by interval positions, which have variance 1.
_SLOPE = 1.0
_STEPS = 200
TOLERANCE = 1e-5
# Search for the bias: maximum number of steps, maximum and minimum step, tolerance of the residual
# sum of a class as a share of the rows.
_NEWTON_STEPS, _LONGEST, _SHORTEST, _BALANCE = 50, 3.0, 1e-9, 1e-12
# Assumed ratio of P(1 - P) with features to P(1 - P) without features, and minimum of P(1 - P).
_CONFIDENT, _MIN_SPREAD = 0.03, 1e-6
# Number of rows below which an additional thread costs more time than it saves.
_MIN_ROWS = 4096


@dataclass(frozen=True)
class Effects:
    """Effect of each table cell on the score (log P) of each class, and the bias of each class.

    For each table and class the factors ``exp(effect)`` have the mean 1 over the distribution of
    the cells regardless of the class. Leaving out the table of a missing feature is then the same
    as summing the feature out. This does not restrict the model: effects are defined only up to a
    constant per cell, added for all classes, and a constant per class, which the bias absorbs.

    Attributes
    ----------
    cells : ndarray, shape (n_cells, n_classes)
    bias : ndarray, shape (n_classes,)
    """

    cells: Floats
    bias: Floats

    @property
    def padded(self) -> Floats:
        """The effects with a last row of zeros, which cell -1 reads, (n_cells + 1, n_classes)."""
        return np.concatenate([self.cells, np.zeros((1, len(self.bias)))])

    @classmethod
    def mixed(cls, terms: Terms, parts: Sequence[tuple[float, Effects]]) -> Effects:
        """Return the model whose scores are the weighted sum of the scores of several models.

        `parts` has the weight and the effects of each model. The cells of each model are the first
        cells of `terms`.
        """
        cells = np.zeros((terms.n_cells, len(parts[0][1].bias)))
        for share, part in parts:
            cells[: len(part.cells)] += share * part.cells
        return cls(cells, np.sum([share * part.bias for share, part in parts], axis=0))


@dataclass(frozen=True)
class Normalised:
    """Effects computed from parameters, and the distributions that the gradient needs.

    With phi the parameters summed in each cell, class shares ``pi`` and cell shares ``p``: ``g =
    phi - log sum_c pi_c exp(phi_c)``, and for each table ``Z_c = sum_cells p exp(g_c)``. The
    effects are ``g - log Z``.

    Attributes
    ----------
    effects : Effects
    within : ndarray, shape (n_cells, n_classes)
        ``p exp(g) / Z``: the distribution over the cells of a table given the class.
    across : ndarray, shape (n_cells, n_classes)
        ``pi exp(g)``: the distribution of the class given the cell alone.
    """

    effects: Effects
    within: Floats
    across: Floats

    @classmethod
    def of(cls, terms: Terms, parameters: Floats, prior: Floats) -> Normalised:
        """Return the effects computed from `parameters`, an array like `begin` in `train`."""
        cells = terms.loadings.sums(parameters[:-1])
        within = np.empty_like(cells)
        kernels.subtract_maximum(cells)
        across = np.exp(cells)
        # It overwrites the last three arrays: `cells` by the effects.
        kernels.normalise(terms.starts, terms.share, prior, cells, across, within)
        return cls(Effects(cells, parameters[-1]), within, across)

    def gradient(self, terms: Terms, by_effects: Floats, by_bias: Floats) -> Floats:
        """Return a loss's gradient by the parameters, given its gradients by effects and bias."""
        by_phi = np.empty_like(by_effects)
        kernels.differentiate(terms.starts, by_effects, self.within, self.across, by_phi)
        return np.vstack([terms.loadings.gradient(by_phi), by_bias])


@dataclass(frozen=True)
class Rows:
    """Rows encoded as cells of the tables of a log-linear model, with labels and weights.

    Attributes
    ----------
    cells : ndarray of int32, shape (n_rows, n_tables, rounded up to a multiple of 4)
        See `Terms.rows`. The last columns are -1, as kernels take several tables at a time.
    labels : ndarray of int, shape (n_rows,)
        The class.
    weights : ndarray, shape (n_rows,)
    """

    cells: NDArray[np.int32]
    labels: NDArray[np.intp]
    weights: Floats

    @classmethod
    def of(cls, cells: NDArray[np.int32], labels: NDArray[np.intp], weights: Floats) -> Rows:
        """Return rows given their cells, shape (n_rows, n_tables), -1 where there is none."""
        n_rows, n_tables = cells.shape
        # `-n % m` is what n lacks to the next multiple of m.
        padded = np.full((n_rows, n_tables + -n_tables % kernels.TABLES), -1, dtype=np.int32)
        padded[:, :n_tables] = cells
        return cls(padded, labels, weights)

    def scores(self, model: Effects) -> Floats:
        """Return log P(class | row) up to a constant per row, shape (n_rows, n_classes)."""
        out = np.empty((len(self.cells), len(model.bias)))
        effects = model.padded

        def part(begin: int, end: int) -> None:
            kernels.add_scores(begin, end, self.cells, effects, model.bias, out)

        over_rows(part, len(out), _MIN_ROWS)
        return out

    def loss(self, model: Effects) -> float:
        """Return the weighted mean of -log P(label), in nats."""
        total = log_loss(self.scores(model), self.labels, self.weights)
        return total / float(self.weights.sum())

    def residuals(self, model: Effects) -> tuple[Floats, Floats]:
        """Return the first and second derivative of the loss by each row's scores.

        They are ``weight * (P - [label])`` and ``weight * P (1 - P)``, shape (n_rows, n_classes).
        """
        residuals = self.scores(model)
        log_loss(residuals, self.labels, self.weights)
        # With the residual r of a row of weight one, P (1 - P) = |r| (1 - |r|).
        each = np.abs(residuals / self.weights[:, None])
        return residuals, self.weights[:, None] * each * (1.0 - each)

    def curvature(self, model: Effects, impurity: float = 0.0) -> Floats:
        """Return the weighted sum of P (1 - P) over the rows in each cell, (n_cells, n_classes).

        If all predictions together are surer than `impurity`, the weighted mean over the rows of
        the sum of P (1 - P) over the classes, they are mixed with the prior of the labels until
        they are not.
        """
        # P, and 1 - P for the label, of which P (1 - P) is the same; so is the prior.
        each = np.abs(self.residuals(model)[0] / self.weights[:, None])
        weights = self.weights / self.weights.sum()
        prior = np.bincount(self.labels, weights, len(model.bias))
        labels = np.arange(len(each)), self.labels
        other = np.tile(prior, (len(each), 1))
        other[labels] = 1.0 - other[labels]
        other -= each  # from the predictions to the prior
        # With the share s of the prior the impurity is that of s = 0 plus linear s - square s^2.
        rise = impurity - float(weights @ (each * (1.0 - each)).sum(axis=1))
        linear = float(weights @ (other * (1.0 - 2.0 * each)).sum(axis=1))
        square = float(weights @ (other * other).sum(axis=1))
        each += _least_share(rise, linear, square) * other
        out = np.zeros_like(model.padded)
        kernels.add_residuals(self.cells, self.weights[:, None] * each * (1.0 - each), out)
        return out[:-1]

    def loss_and_gradient(self, model: Effects) -> tuple[float, Floats, Floats]:
        """Return the weighted sum of -log P(label), and its gradients by effects and by bias."""
        ends = [0, len(self.cells)]
        if len(self.cells) >= 2 * _MIN_ROWS:
            # Always two parts, whatever the number of processors, so that sums are reproducible.
            ends.insert(1, len(self.cells) // 2)
        effects = model.padded
        parts = at_once([partial(self._part, effects, model.bias, a, b) for a, b in pairwise(ends)])
        # Each of the three is summed over the parts.
        loss, cells, bias = (sum(each[1:], each[0]) for each in zip(*parts, strict=True))
        return loss, cells, bias

    def _part(
        self, effects: Floats, bias: Floats, begin: int, end: int
    ) -> tuple[float, Floats, Floats]:
        """Return loss and gradients of the rows from `begin` to `end`; see `loss_and_gradient`."""
        cells = self.cells[begin:end]
        residuals = np.empty((end - begin, len(bias)))
        kernels.add_scores(0, len(cells), cells, effects, bias, residuals)
        loss = log_loss(residuals, self.labels[begin:end], self.weights[begin:end])
        gradient = np.zeros_like(effects)
        kernels.add_residuals(cells, residuals, gradient)
        return loss, gradient[:-1], residuals.sum(axis=0)


def _least_share(rise: float, linear: float, square: float) -> float:
    """Return the least s from 0 to 1 at which ``linear s - square s^2`` is at least `rise`."""
    if rise <= 0 or square <= 0:
        return 0.0
    root = linear * linear - 4.0 * square * rise
    return 1.0 if root < 0 else min(max((linear - np.sqrt(root)) / (2.0 * square), 0.0), 1.0)


def log_loss(scores: Floats, labels: NDArray[np.intp], weights: Floats) -> float:
    """Return the weighted sum of -log P(label), in nats; overwrite `scores` by the gradient."""
    # The exponential function of arrays is several times as fast as that of kernels.
    kernels.subtract_maximum(scores)
    return float(kernels.loss_and_residuals(scores, np.exp(scores), labels, weights))


def start(terms: Terms, prior: Floats, near: tuple[Terms, Floats] | None = None) -> Floats:
    """Return initial parameters: no effects, and the log prior as bias.

    The slopes, the bias, and the parameters of tables that both have are taken from a similar
    model, if `near` has its terms and parameters.
    """
    first = np.vstack([np.zeros((terms.loadings.shape[1], len(prior))), np.log(prior)])
    if near is None:
        return first
    others, parameters = near
    # The parameters of each table, and then the slopes and the bias. Joint tables have no scope.
    *of_tables, slopes_and_bias = np.split(parameters, others.begins[1:])
    of_scope = dict(zip(others.scopes, of_tables, strict=False))
    for scope, (a, b) in zip(terms.scopes, pairwise(terms.begins.tolist()), strict=False):
        if scope in of_scope:
            first[a:b] = of_scope[scope]
    first[terms.n_parameters :] = slopes_and_bias
    return first


def train(
    terms: Terms,
    rows: Rows,
    prior: Floats,
    penalty: Floats,
    begin: Floats,
    tolerance: float = TOLERANCE,
    effort: Effort = UNBOUNDED,
) -> Floats:
    """Return the parameters that maximise the penalised conditional likelihood of the class.

    Minimises ``sum_rows weight * -log P(label | row) + 1/2 sum penalty * table^2 + 1/2 sum
    slope^2`` by L-BFGS, over the parameters of the tables and the slopes of interval positions.
    This is multinomial logistic regression (Hastie, Tibshirani, Friedman 2009, section 4.4) on
    indicators of cells, written as the discriminative training of the tables of a Bayesian network
    (Greiner, Su, Shen, Zhou 2005).

    Parameters
    ----------
    terms : Terms
    rows : Rows
    prior : ndarray, shape (n_classes,)
    penalty : ndarray, shape (n_parameters,)
        Penalty of each parameter of the tables, in nats.
    begin : ndarray, shape (n_parameters + n_slopes + 1, n_classes)
        Initial values: the parameters of the tables, the slopes, and the bias last.
    tolerance : float
        Relative decrease of the objective at which the search stops.
    effort : Effort, optional
        Where it is spent, the search stops at the best parameters so far.

    Returns
    -------
    ndarray, shape of `begin`
    """
    split = terms.n_parameters
    # Penalties of the parameters of tables, of slopes, and (none) of the bias, for all classes.
    price = np.concatenate([penalty, np.full(len(begin) - split - 1, _SLOPE), [0.0]])[:, None]
    scale = _scale(terms, rows, prior, price[:-1])
    first = (begin * scale).ravel()
    best, least = first, np.inf

    def objective(x: Floats) -> tuple[float, Floats]:
        """Return the penalised loss and its gradient at scaled parameters; note the best ones."""
        nonlocal best, least
        if effort.is_spent:
            raise Spent
        effort.step()
        parameters = x.reshape(begin.shape) / scale
        normalised = Normalised.of(terms, parameters, prior)
        loss, by_effects, by_bias = rows.loss_and_gradient(normalised.effects)
        pulled = price * parameters
        squares = pulled * parameters
        loss += 0.5 * float(np.sum(squares[:split]) + np.sum(squares[split:-1]))
        if loss < least:
            best, least = x.copy(), loss
        gradient = normalised.gradient(terms, by_effects, by_bias) + pulled
        return loss, (gradient / scale).ravel()

    with suppress(Spent):
        solution = minimize(
            objective,
            first,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _STEPS, "ftol": tolerance, "gtol": 1e-3},
        )
        best = np.asarray(solution.x)
    return best.reshape(begin.shape) / scale


def _scale(terms: Terms, rows: Rows, prior: Floats, price: Floats) -> Floats:
    """Return square roots of approximate second derivatives, to scale the parameters.

    `price` has the penalty of each parameter and slope (the factor of half its square).
    """
    # The second derivative by a parameter is the sum over the rows of its squared coefficient times
    # P (1 - P), which is assumed to be the share `_CONFIDENT` of that of the prior.
    mass = _CONFIDENT * rows.weights.sum()
    squares = terms.loadings.mean_squares(terms.share) * mass
    spread = np.maximum(prior * (1.0 - prior), _MIN_SPREAD)
    # The last row is that of the bias, whose coefficient is 1 in each row.
    return np.asarray(np.sqrt(np.vstack([squares[:, None] * spread + price, mass * spread])))


def with_share(rows: Rows, model: Effects) -> Effects:
    """Return the model with the bias at which predicted and observed class frequencies agree.

    This bias maximises the likelihood with the effects fixed; it is found by Newton's method with
    step halving. A model is returned unchanged if a class has no row. (A mixture of models with
    such biases does not have this property in general.)
    """
    n_classes = len(model.bias)
    if len(np.unique(rows.labels)) < n_classes or n_classes < 2:
        return model
    # `step` leads from the best bias so far to the one that is tried.
    scores, total = rows.scores(model), rows.weights.sum()
    best, step = np.inf, np.zeros(n_classes)
    bias = model.bias
    for _ in range(_NEWTON_STEPS):
        residuals = scores + (bias + step - model.bias)  # scores, which `log_loss` overwrites
        loss = log_loss(residuals, rows.labels, rows.weights)
        # A step that was too long, unless it is so short that nothing is left to gain.
        if loss > best and np.abs(step).max() > _SHORTEST:
            step = step / 2
            continue
        if loss > best:
            break
        best, bias = loss, bias + step
        gradient = residuals.sum(axis=0)
        if np.abs(gradient).max() <= _BALANCE * total:
            break
        # The Hessian of the loss by the bias, shape (K, K), from `mass`: weight times P.
        mass = residuals.copy()
        mass[np.arange(len(mass)), rows.labels] += rows.weights
        step = -np.linalg.lstsq(
            np.diag(mass.sum(axis=0)) - mass.T @ (mass / rows.weights[:, None]),
            gradient,
            rcond=None,
        )[0]
        step = np.clip(step, -_LONGEST, _LONGEST)
    return Effects(model.cells, bias)
