"""Greedy coordinate search over the exponents of a weighted naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.exponents import kernels
from bayesgraph.learning.exponents.baselines import mutual_information
from bayesgraph.learning.exponents.log_terms import LogTerms

# Maximum mutual information, in nats, that may be due to rounding alone.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Objective:
    """Cost of exponents w: the log loss of the class labels plus costs of the features in use.

    ``- sum_n weight_n ln p'(y_n | x_n) + size_cost[ceil(sum_i w_i)] + sum_i feature_cost_i w_i^a``

    Attributes
    ----------
    size_cost : ndarray, shape (d + 1,)
        Cost of the number of features, which is the sum of the exponents rounded up; in nats.
    feature_cost : ndarray, shape (d,)
        Cost of each feature, in nats.
    power : float
        Exponent a of the formula.
    share : float
        Weight of the uniform distribution in p' = (p + share / K) / (1 + share), where p is the
        posterior of the class.
    """

    size_cost: Floats
    feature_cost: Floats
    power: float = 1.0
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class Sweep:
    """Record of the changes of exponents that were tried in one or more sweeps over the features.

    Attributes
    ----------
    features : ndarray of int, shape (m,)
        The feature of each change, in the order in which changes were tried.
    changes : ndarray, shape (m,)
        Step that was added to the exponent of the feature, before clipping.
    costs : ndarray, shape (m,)
        Cost of the model with the change, in nats.
    taken : ndarray of bool, shape (m,)
        Whether the change was kept.
    """

    features: NDArray[np.intp]
    changes: Floats
    costs: Floats
    taken: NDArray[np.bool_]

    @classmethod
    def joined(cls, sweeps: Sequence[Sweep]) -> Sweep:
        """Return the concatenated record of several sweeps."""
        parts = ([getattr(sweep, field.name) for sweep in sweeps] for field in fields(cls))
        return cls(*(np.concatenate(part) for part in parts))


class ExponentSearch:
    """Current exponents in [0, 1], initially 0, with the class posterior of each row under them.

    Parameters
    ----------
    terms : LogTerms
    objective : Objective
    """

    def __init__(self, terms: LogTerms, objective: Objective) -> None:
        self._terms, self._objective = terms, objective
        empty = np.empty((0, terms.n_classes))
        self._table = np.concatenate([empty, *terms.tables])
        self._counts = np.concatenate([empty, *terms.counts])
        self._spread = _spreads(terms)
        self._empty_loss = _loss_of_prior(terms, objective.share)
        self._scores = np.empty((terms.n_rows, terms.n_classes))
        self._posterior = np.empty_like(self._scores)
        self.exponents = np.zeros(terms.n_features)
        self._state = np.zeros(2)
        self.restart()

    @property
    def cost(self) -> float:
        """Cost of the current exponents, in nats."""
        size = int(np.ceil(self.exponents.sum()))
        return float(self._state.sum() + self._objective.size_cost[size])

    def restart(self) -> None:
        """Set all exponents to 0."""
        self.exponents[:] = 0.0
        self._scores[:] = self._terms.log_prior
        self._state[:] = self._empty_loss, 0.0
        kernels.write_posteriors(self._scores, self._posterior)

    def sweep(self, order: NDArray[np.intp], step: float, threshold: float) -> Sweep:
        """Try to add a step to the exponent of each feature, clipped to [0, 1].

        Parameters
        ----------
        order : ndarray of int
            Features to try; a feature whose exponent cannot move in this direction is skipped.
        step : float
            Step to add; negative to lower the exponents.
        threshold : float
            A change is kept if it lowers the cost by more than this, in nats.
        """
        costs, taken = np.empty(len(order)), np.empty(len(order), dtype=np.bool_)
        terms, own = self._terms, self._objective
        weights = terms.weights, bool((terms.weights == 1.0).all())
        tables = self._table, self._counts, terms.starts, self._spread
        cost = own.size_cost, own.feature_cost, own.power, own.share
        state = self.exponents, self._scores, self._posterior, self._state
        kernels.sweep(
            *(terms.codes.T, terms.labels, *weights, *tables, *cost),
            *(step, threshold, order, *state, costs, taken),
        )
        tried = ~np.isnan(costs)
        return Sweep(order[tried], np.full(tried.sum(), step), costs[tried], taken[tried])


def _loss_of_prior(terms: LogTerms, share: float) -> float:
    """Return -sum_n weight_n ln p'(y_n), the log loss when all exponents are 0.

    `share` is the weight of the uniform distribution in p', as in `Objective`.
    """
    class_weights = np.bincount(terms.labels, terms.weights, minlength=terms.n_classes)
    there = class_weights > 0
    log_prior = terms.log_prior[there] - log_sum_exp(terms.log_prior, 0)
    smoothed = np.logaddexp(log_prior, np.log(share / terms.n_classes)) if share else log_prior
    return float(-class_weights[there] @ (smoothed - np.log1p(share)))


def _spreads(terms: LogTerms) -> Floats:
    """Return the maximum range of log p(x | c) over classes c in any state x of each feature."""
    return np.array([np.ptp(table, axis=1).max() for table in terms.tables])


def informative(terms: LogTerms) -> NDArray[np.intp]:
    """Return the indices of the features whose tables and whose rows both differ between classes.

    The exponents of other features remain 0. The tables alone do not decide, since smoothing makes
    the tables of a constant feature differ between classes.
    """
    return np.flatnonzero((mutual_information(terms.counts) > _ROUNDING) & (_spreads(terms) > 0))
