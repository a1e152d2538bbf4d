"""Selective naive Bayes: an average over feature subsets, weighted by compression."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.code_lengths import log_choose
from bayesgraph.learning.exponents.coordinate_search import (
    ExponentSearch,
    Objective,
    Sweep,
    informative,
)
from bayesgraph.learning.exponents.log_terms import LogTerms
from bayesgraph.statistics.moments import safe_divide

# Maximum number of rounds of one forward and one backward pass in a restart.
_ROUNDS = 2
# Minimum decrease of the cost, relative to the cost, that is not due to rounding.
_ROUNDING = 1e-10


def selective_naive_bayes(terms: LogTerms, seed: int = 1, restarts: int | None = None) -> Floats:
    """Return the exponents of a selective naive Bayes (Boullé 2007), shape (d,), in [0, 1].

    The exponent of a feature is the weighted share of the evaluated subsets that contain it. A
    subset M of m among d features has the description length ``l(M) + l(D | M) = ln(d + 1) + ln C(d
    + m - 1, m) - sum_n ln P_M(y_n | x_n)`` in nats, its cost. Its weight is the compression ``1 -
    cost / null cost`` if that is positive, else 0, with the null cost of the empty subset; a subset
    that is evaluated several times counts once. Features without information about the class have
    exponent 0.

    Fast forward and backward passes over the features in random order search for subsets, from the
    empty subset in each of ``ceil(log2(d n))`` restarts, where n is the total weight of the rows.
    One change of a subset takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    seed : int
        Seed of the random orders.
    restarts : int, optional
        Number of restarts instead of ``ceil(log2(d n))``.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> selective_naive_bayes(terms)
    array([1., 0.])
    """
    search, evaluations = search_subsets(terms, seed, restarts)
    keys = np.concatenate([subset_keys(found, terms.n_features) for found in evaluations])
    costs = np.concatenate([found.costs for found in evaluations])
    search.restart()
    null_cost = search.cost
    compression = 1.0 - costs / null_cost if null_cost > 0 else np.zeros(len(costs))
    # Each subset counts once; the empty subset does not count.
    first = np.unique(keys, return_index=True)[1]
    weights = np.zeros(len(keys))
    weights[first] = np.where(keys[first] == 0, 0.0, np.maximum(compression[first], 0.0))
    membership = np.zeros(terms.n_features)
    ends = np.cumsum([len(found.costs) for found in evaluations])[:-1]
    for found, mass in zip(evaluations, np.split(weights, ends), strict=True):
        # A feature belongs to all subsets after its addition; after its removal they are
        # subtracted.
        later = mass.sum() - np.cumsum(mass)
        own = np.sign(found.changes) * (np.where(found.taken, later, 0.0) + mass)
        membership += np.bincount(found.features, own, minlength=len(membership))
    total = np.full(membership.shape, weights.sum())
    return np.clip(safe_divide(membership, total), 0.0, 1.0)


def search_subsets(
    terms: LogTerms, seed: int, restarts: int | None = None
) -> tuple[ExponentSearch, list[Sweep]]:
    """Search for subsets; return the search, and a record of the subsets of each restart."""
    d = terms.n_features
    sizes = np.arange(d + 1)
    lengths = math.log(d + 1) + log_choose(np.maximum(d + sizes - 1, 0), sizes)
    search = ExponentSearch(terms, Objective(lengths, np.zeros(d)))
    features, random = informative(terms), np.random.default_rng(seed)
    usual = math.ceil(math.log2(max(2.0, d * float(terms.weights.sum()))))
    found = []
    for _ in range(usual if restarts is None else restarts):
        search.restart()
        sweeps: list[Sweep] = []
        for _ in range(_ROUNDS):
            threshold = _ROUNDING * (1.0 + abs(search.cost))
            sweeps += [
                search.sweep(random.permutation(features), step, threshold) for step in (1.0, -1.0)
            ]
            if not (sweeps[-1].taken.any() or sweeps[-2].taken.any()):
                break
        found.append(Sweep.joined(sweeps))
    return search, found


def subset_keys(found: Sweep, n_features: int) -> NDArray[np.uint64]:
    """Return a hash key of each subset that was tried in one restart; equal subsets, equal keys.

    The key is the exclusive or of one random number per feature of the subset (Zobrist 1970), and 0
    for the empty subset. Among a million different subsets, two share a key with a probability of
    3e-8.

    Parameters
    ----------
    found : Sweep
        Record of the changes of the restart, which starts from the empty subset.
    n_features : int
    """
    random = np.random.default_rng(0)
    own = random.integers(2**64, size=n_features, dtype=np.uint64)[found.features]
    after = np.bitwise_xor.accumulate(np.where(found.taken, own, np.uint64(0)))
    before = np.concatenate([np.zeros(1, dtype=np.uint64), after])[:-1]
    return np.asarray(before ^ own)
