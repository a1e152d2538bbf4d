"""Selective naive Bayes: subsets of features, averaged by how well they compress the labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.data import LogTerms
from bayesgraph.learning.exponents.lengths import log_choose
from bayesgraph.learning.exponents.search import ExponentSearch, Objective, Sweep, telling
from bayesgraph.learning.smoothing import one_of
from bayesgraph.statistics.moments import safe_divide

AVERAGES = ("compression", "bayes", "best")
# A change must lower the cost by more than rounding does, relative to the cost.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class _History:
    """All evaluations of a search, one after the other.

    Attributes
    ----------
    features : ndarray of int, shape (m,)
        The one that was added to the subset then held, or dropped from it.
    adding : ndarray of bool, shape (m,)
    taken : ndarray of bool, shape (m,)
    costs : ndarray, shape (m,)
    begins : ndarray of int, shape (n_restarts,)
        Where the subset was emptied.
    """

    features: NDArray[np.intp]
    adding: NDArray[np.bool_]
    taken: NDArray[np.bool_]
    costs: Floats
    begins: NDArray[np.intp]

    def keys(self, d: int) -> NDArray[np.uint64]:
        """Return a number for the subset of each evaluation, equal for equal subsets.

        The exclusive or of a random number a feature (Zobrist 1970): two different subsets out of
        a million share one with a probability of 3e-8.
        """
        own = np.random.default_rng(0).integers(2**64, size=d, dtype=np.uint64)[self.features]
        kept = np.bitwise_xor.accumulate(np.where(self.taken, own, np.uint64(0)))
        held = np.concatenate([np.zeros(1, dtype=np.uint64), kept])[:-1]
        # What was held when a restart emptied the subset is taken out again.
        restart = np.searchsorted(self.begins, np.arange(len(own)), side="right") - 1
        return np.asarray(held ^ held[self.begins][restart] ^ own)

    def sums(self, mass: Floats, d: int) -> Floats:
        """Return the mass of the evaluated models that have each feature, shape (d,)."""
        before = np.concatenate([[0.0], np.cumsum(mass)])
        ends = np.append(self.begins[1:], len(mass))
        restart = np.searchsorted(self.begins, np.arange(len(mass)), side="right") - 1
        # A feature that joins is held from the next evaluation to the end of the restart, unless
        # it leaves again.
        rest = before[ends[restart]] - before[1:]
        sign = np.where(self.adding, 1.0, -1.0)
        own = np.where(self.taken, rest, 0.0) + mass
        return np.bincount(self.features, sign * own, minlength=d).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ModelsMet:
    """Every different subset of features that a search evaluated.

    Attributes
    ----------
    costs : ndarray, shape (m,)
        l(M) + l(D | M) of each, in nats.
    null_cost : float
        Of the empty subset.
    best : ndarray of bool, shape (d,)
        The cheapest subset.
    best_cost : float
    """

    costs: Floats
    null_cost: float
    best: NDArray[np.bool_]
    best_cost: float
    # Membership is kept by changes, not as an array of shape (m, d): where each model was met, by
    # which feature it differed from the subset then held, and when that subset itself changed.
    _at: NDArray[np.intp]
    _history: _History

    @property
    def compression(self) -> Floats:
        """1 - cost / null cost of each model, the share of the null code that it saves."""
        if self.null_cost <= 0:
            return np.zeros_like(self.costs)
        return 1.0 - self.costs / self.null_cost

    def mean_membership(self, weights: Floats) -> Floats:
        """Return sum_m a_mi w_m / sum_m w_m, a_mi telling whether model m has feature i.

        Parameters
        ----------
        weights : ndarray, shape (m,)
            Not negative; zeros if they are all 0.

        Returns
        -------
        ndarray, shape (d,)
        """
        mass = np.zeros(len(self._history.features))
        mass[self._at] = weights
        total = np.broadcast_to(weights.sum(), self.best.shape)
        found = safe_divide(self._history.sums(mass, len(self.best)), total)
        return np.clip(found, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SelectiveExponents:
    """The exponents of a selective naive Bayes, and what the search met.

    Attributes
    ----------
    exponents : ndarray, shape (d,)
        In [0, 1].
    models : ModelsMet
    """

    exponents: Floats
    models: ModelsMet


def selective_naive_bayes(
    terms: LogTerms,
    *,
    average: str = "compression",
    max_rounds: int = 2,
    restarts: int | None = None,
    seed: int | np.random.Generator = 1,
) -> SelectiveExponents:
    """Return the exponents of a selective naive Bayes (Boullé 2007).

    A subset M of m among d features costs ``l(M) + l(D | M) = ln(d + 1) + ln C(d + m - 1, m)
    - sum_n ln P_M(y_n | x_n)`` nats. Subsets are searched by fast forward and backward passes over
    the features in random order, from the empty subset in each restart. The exponent of a feature
    is its share among all different subsets met, each of them weighted

    * by its compression ``1 - cost / null cost`` where that is positive ("compression"),
    * by its posterior probability ``exp(-cost)`` ("bayes": Bayesian model averaging), or
    * the cheapest one alone ("best": exponents 0 or 1, the maximum a posteriori).

    Features without any information about the class have exponent 0. One change of a
    subset takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    average : {"compression", "bayes", "best"}
    max_rounds : int
        Most rounds of one forward and one backward pass in a restart.
    restarts : int, optional
        ceil(log2(d n)) by default, n the weight of all rows.
    seed : int or numpy Generator

    Returns
    -------
    SelectiveExponents

    Raises
    ------
    DataError
        If `average` is not known.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> selective_naive_bayes(terms).exponents
    array([1., 0.])
    """
    one_of("average", average, AVERAGES)
    d = terms.n_features
    sizes = np.arange(d + 1)
    lengths = math.log(d + 1) + log_choose(np.maximum(d + sizes - 1, 0), sizes)
    search = ExponentSearch(terms, Objective(lengths, np.zeros(d)))
    if restarts is None:
        restarts = max(1, math.ceil(math.log2(max(2.0, d * float(terms.weights.sum())))))
    models = _models_met(search, telling(terms), max_rounds, restarts, seed)
    return SelectiveExponents(_averaged(models, average), models)


def _averaged(models: ModelsMet, average: str) -> Floats:
    if average == "best":
        return models.best.astype(np.float64)
    if average == "compression":
        return models.mean_membership(np.maximum(models.compression, 0.0))
    least = min(models.null_cost, models.best_cost)
    weights = np.exp(least - models.costs)
    # The empty subset is a model too, with no feature: it takes its share.
    null = math.exp(least - models.null_cost)
    total = float(weights.sum())
    return models.mean_membership(weights) * (total / (total + null))


def _models_met(
    search: ExponentSearch,
    features: NDArray[np.intp],
    max_rounds: int,
    restarts: int,
    seed: int | np.random.Generator,
) -> ModelsMet:
    """Run a search from the empty subset in each restart."""
    random = np.random.default_rng(seed)
    null_cost = search.cost
    best, best_cost = np.zeros(len(search.exponents), dtype=np.bool_), null_cost
    met: list[tuple[bool, Sweep]] = []
    begins = []
    done = 0
    for _ in range(restarts):
        search.restart()
        begins.append(done)
        for found in _rounds(search, features, max_rounds, random):
            met.append(found)
            done += len(found[1].features)
        if search.cost < best_cost:
            best, best_cost = search.exponents > 0, search.cost
    history = _joined(met, begins)
    at = _different(history, len(best))
    return ModelsMet(history.costs[at], null_cost, best, best_cost, at, history)


def _rounds(
    search: ExponentSearch,
    features: NDArray[np.intp],
    max_rounds: int,
    random: np.random.Generator,
) -> list[tuple[bool, Sweep]]:
    """Return the forward (True) and backward sweeps of one restart."""
    sweeps = []
    for _ in range(max_rounds):
        least = _ROUNDING * (1.0 + abs(search.cost))
        forward = search.sweep(random.permutation(features), 1.0, least)
        backward = search.sweep(random.permutation(features), -1.0, least)
        sweeps += [(True, forward), (False, backward)]
        if not (forward.taken.any() or backward.taken.any()):
            break
    return sweeps


def _joined(met: list[tuple[bool, Sweep]], begins: list[int]) -> _History:
    sweeps = [sweep for _, sweep in met]
    adding = [np.full(len(sweep.features), forward) for forward, sweep in met]
    features = np.concatenate([sweep.features for sweep in sweeps]).astype(np.intp)
    # A restart after the last evaluation begins nothing.
    starts = np.unique([begin for begin in begins if begin < len(features)]).astype(np.intp)
    return _History(
        features,
        np.concatenate(adding),
        np.concatenate([sweep.taken for sweep in sweeps]),
        np.concatenate([sweep.costs for sweep in sweeps]),
        starts,
    )


def _different(history: _History, d: int) -> NDArray[np.intp]:
    """Return where each different subset was first met; the empty one is left out."""
    keys = history.keys(d)
    _, first = np.unique(keys, return_index=True)
    first = np.sort(first)
    return np.asarray(first[keys[first] != 0], dtype=np.intp)
