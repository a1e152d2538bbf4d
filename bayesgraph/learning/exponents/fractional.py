"""Fractional naive Bayes: exponents in [0, 1] under a prior that likes few features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.data import LogTerms
from bayesgraph.learning.exponents.lengths import log_factorial, partition_costs, universal_code
from bayesgraph.learning.exponents.search import ExponentSearch, Objective, telling

# Row's worth of uniform distribution in the posterior that is scored.
_PRIOR_ROWS = 0.5
# Rounds of a forward and a backward pass at each step size.
_ROUNDS = 2
# Share of the empty model's cost a row that a change must gain.
_PRECISION = 1e-2


@dataclass(frozen=True, eq=False)
class FractionalExponents:
    """The exponents of a fractional naive Bayes.

    Attributes
    ----------
    exponents : ndarray, shape (d,)
        In [0, 1], multiples of the last step size.
    cost : float
        Of these exponents, in nats; see `fractional_naive_bayes`.
    null_cost : float
        With all exponents 0.
    trace : ndarray, shape (n_passes,)
        The cost after each pass. A pass that lowers exponents may raise it by up to `tolerance` for
        each of them: what is sparser is preferred.
    tolerance : float
        In nats.
    """

    exponents: Floats
    cost: float
    null_cost: float
    trace: Floats
    tolerance: float


def fractional_naive_bayes(
    terms: LogTerms,
    costs: ArrayLike | None = None,
    *,
    prior_weight: float = 0.1,
    power: float = 0.95,
    seed: int | np.random.Generator = 1,
) -> FractionalExponents:
    """Return the exponents of a fractional naive Bayes (Hue, Boullé, Lemaire 2017).

    They minimise ``- sum_n ln p'_w(y_n | x_n) + prior_weight (L*(m) - ln m! + sum_i w_i^power
    c_i)`` with m = ceil(sum_i w_i), Rissanen's universal code L* (0 for m = 0), and the posterior
    ``p' = (p n + 1 / (2 K)) / (n + 1/2)`` of K classes and n rows' weight. Starting from 0, rounds
    of one pass that raises and one that lowers each exponent by a step, in random order, follow at
    each step size; the step begins at 1 and is halved ceil(log2(n + 1)) - 1 times. One change
    takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    costs : array_like, shape (d,), optional
        The c_i: what constructing and preparing each feature costs, in nats; as that of features
        cut into intervals by default, see `partition_costs`.
    prior_weight : float
        0.1 is the authors' choice, as is 0.95 for `power`.
    power : float
    seed : int or numpy Generator

    Returns
    -------
    FractionalExponents

    Raises
    ------
    DataError
        For costs that are not one finite number a feature, none negative, or a weight or power
        that is negative.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> fractional_naive_bayes(terms).exponents
    array([1., 0.])
    """
    if not (prior_weight >= 0 and power > 0):
        raise DataError(
            "prior_weight must not be negative and power must be above 0; got "
            f"{prior_weight!r} and {power!r}."
        )
    own = partition_costs(terms.counts) if costs is None else _checked_costs(terms, costs)
    rows = float(terms.weights.sum())
    objective = Objective(
        prior_weight * _size_costs(terms.n_features),
        prior_weight * own,
        power,
        _PRIOR_ROWS / rows if rows > 0 else 0.0,
    )
    search = ExponentSearch(terms, objective)
    null_cost = search.cost
    tolerance = _PRECISION * (1.0 + abs(null_cost)) / (1.0 + rows)
    random = np.random.default_rng(seed)
    trace: list[float] = []
    for halvings in range(max(1, math.ceil(math.log2(rows + 1.0)))):
        trace += _rounds(search, telling(terms), 0.5**halvings, tolerance, random)
    return FractionalExponents(
        search.exponents.copy(), search.cost, null_cost, np.array(trace), tolerance
    )


def _checked_costs(terms: LogTerms, costs: ArrayLike) -> Floats:
    own = np.asarray(costs, dtype=np.float64)
    if own.shape != (terms.n_features,) or not (np.isfinite(own) & (own >= 0)).all():
        raise DataError(
            f"costs takes {terms.n_features} finite numbers that are not negative, one a feature; "
            f"got {costs!r}."
        )
    return own


def _size_costs(d: int) -> Floats:
    """Return L*(m) - ln m! for m = 0, ..., d, and 0 for m = 0."""
    sizes = np.arange(d + 1)
    codes = [0.0, *(universal_code(m) for m in range(1, d + 1))]
    return np.asarray(codes - log_factorial(sizes))


def _rounds(
    search: ExponentSearch,
    features: NDArray[np.intp],
    step: float,
    tolerance: float,
    random: np.random.Generator,
) -> list[float]:
    """Raise and lower exponents by one step size; return the cost after each pass."""
    trace = []
    for _ in range(_ROUNDS):
        before = search.cost
        search.sweep(random.permutation(features), step, tolerance)
        trace.append(search.cost)
        search.sweep(random.permutation(features), -step, -tolerance)
        trace.append(search.cost)
        if not search.cost < before:
            break
    return trace
