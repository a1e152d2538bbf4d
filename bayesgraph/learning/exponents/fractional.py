"""Fractional naive Bayes: exponents in [0, 1] with a penalty that prefers few features."""

from __future__ import annotations

import math

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.code_lengths import log_factorial, universal_code
from bayesgraph.learning.exponents.coordinate_search import ExponentSearch, Objective, informative
from bayesgraph.learning.exponents.log_terms import LogTerms

# Weight of the prior, and power of the exponents in the prior, as the authors chose them.
_PRIOR_WEIGHT, _POWER = 0.1, 0.95
# Weight of the uniform distribution in the posterior, in rows.
_PRIOR_ROWS = 0.5
# Maximum number of rounds of a forward and a backward pass at each step size.
_ROUNDS = 2
# Minimum decrease of the cost by a change, as a share of the empty model's cost per row.
_PRECISION = 1e-2


def fractional_naive_bayes(terms: LogTerms, costs: Floats, seed: int = 1) -> Floats:
    """Return the exponents of a fractional naive Bayes (Hue, Boullé, Lemaire 2017), shape (d,).

    The model is p_w(y|x) proportional to p(y) prod p(x_i|y)^w_i. The exponents minimise ``- sum_n
    ln p'_w(y_n | x_n) + 0.1 (L*(m) - ln m! + sum_i w_i^0.95 c_i)`` with m = ceil(sum_i w_i),
    Rissanen's universal code L* (0 for m = 0), and the smoothed posterior ``p'_w = (p_w n + 1 / (2
    K)) / (n + 1/2)`` for K classes and rows of total weight n.

    The search starts from 0. At each step size, a round has one pass that raises and one pass that
    lowers each exponent by the step, in random order; the step size is 1 at first and is halved
    ceil(log2(n + 1)) - 1 times. A pass that lowers exponents may raise the cost a little, as sparse
    exponents are preferred. One change takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    costs : ndarray, shape (d,)
        c_i: the description length of choosing and discretising each feature, in nats; see
        `partition_costs`.
    seed : int
        Seed of the random orders.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> fractional_naive_bayes(terms, np.zeros(2))
    array([1., 0.])
    """
    rows = float(terms.weights.sum())
    sizes = np.arange(terms.n_features + 1)
    codes = [0.0, *(universal_code(m) for m in sizes[1:].tolist())]
    objective = Objective(
        _PRIOR_WEIGHT * (codes - log_factorial(sizes)),
        _PRIOR_WEIGHT * costs,
        _POWER,
        _PRIOR_ROWS / rows if rows > 0 else 0.0,
    )
    search = ExponentSearch(terms, objective)
    threshold = _PRECISION * (1.0 + abs(search.cost)) / (1.0 + rows)
    features, random = informative(terms), np.random.default_rng(seed)
    for halvings in range(max(1, math.ceil(math.log2(rows + 1.0)))):
        step = 0.5**halvings
        for _ in range(_ROUNDS):
            before = search.cost
            search.sweep(random.permutation(features), step, threshold)
            search.sweep(random.permutation(features), -step, -threshold)
            if not search.cost < before:
                break
    return search.exponents
