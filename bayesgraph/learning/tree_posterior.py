"""Posterior distribution over the trees of tree-augmented naive Bayes (TAN), and model averages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesgraph.ancestors import Arc
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.arcs import arc_scores
from bayesgraph.learning.information import pair_tables
from bayesgraph.learning.one_dependence import (
    Parents,
    mix,
    varying,
)
from bayesgraph.learning.scores import bdeu
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.spanning import directed
from bayesgraph.learning.spanning_trees import SpanningTrees
from bayesgraph.learning.tiles import ask_ahead, pair_summaries
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.statistics import CountSource
from bayesgraph.variables import Continuous, Discrete, Variable


def log_marginal_ratio(counts: Floats, ess: float) -> Floats:
    """Return the log Bayes factor of dependence over independence of two columns given the class.

    The log of ``P(x, y | c) / (P(x | c) P(y | c))`` with the parameters integrated out, under
    consistent Dirichlet priors (BDeu; Heckerman, Geiger, Chickering 1995): the log weight of an
    edge in the posterior of a tree (Meila and Jaakkola 2006, section 4).

    Parameters
    ----------
    counts : ndarray, shape (..., K, r_x, r_y)
        Counts by class and by the states of both columns.
    ess : float
        Equivalent sample size of the prior, in rows, over all cells together.

    Returns
    -------
    ndarray, shape (...)
        In nats.
    """
    below_both = counts.reshape(*counts.shape[:-3], -1, counts.shape[-1])
    return bdeu(below_both, ess) - bdeu(counts.sum(axis=-2), ess)


@dataclass(frozen=True, eq=False)
class TreePosterior:
    """Posterior over trees of features, P(tree) proportional to the product of edge weights.

    For mixed types, a tree consists of a tree over the discrete features, and of a tree over the
    continuous features and one node for all discrete features. All arcs between the types then
    point to the continuous feature, as in `tan`.

    Attributes
    ----------
    n_discrete : int
        Number of discrete features, which come first.
    log_weights : ndarray, shape (n, n)
        Log weights of the edges, symmetric.
    """

    n_discrete: int
    log_weights: Floats

    @cached_property
    def _among_discrete(self) -> SpanningTrees:
        return SpanningTrees(self.log_weights[: self.n_discrete, : self.n_discrete])

    @cached_property
    def _to_discrete(self) -> Floats:
        """Log of the summed weights of edges from each continuous to all discrete features."""
        return log_sum_exp(self.log_weights[: self.n_discrete, self.n_discrete :], 0)

    @cached_property
    def _whole(self) -> SpanningTrees:
        """Distribution over trees of continuous features, with node 0 for all discrete features."""
        m = self.n_discrete
        inner = self.log_weights[m:, m:]
        if not m:
            return SpanningTrees(inner)
        weights = np.zeros((len(inner) + 1, len(inner) + 1))
        weights[1:, 1:] = inner
        if len(inner):
            weights[0, 1:] = weights[1:, 0] = self._to_discrete
        return SpanningTrees(weights)

    def edge_probabilities(self) -> Floats:
        """Return the posterior probability of each edge, shape (n, n), zero on the diagonal."""
        m, n = self.n_discrete, len(self.log_weights)
        found = np.zeros((n, n))
        whole = self._whole.edge_probabilities()
        if not m:
            return whole
        found[:m, :m] = self._among_discrete.edge_probabilities()
        if n > m:
            found[m:, m:] = whole[1:, 1:]
            shares = np.exp(self.log_weights[:m, m:] - self._to_discrete)
            found[:m, m:] = shares * whole[0, 1:]
            found[m:, :m] = found[:m, m:].T
        return found

    def draw(self, random: np.random.Generator) -> tuple[tuple[int, int], ...]:
        """Draw one tree; return its edges i < j in ascending order."""
        m = self.n_discrete
        edges = self._among_discrete.draw(random) if m else []
        offset = m - 1 if m else 0
        for i, j in self._whole.draw(random):
            a, b = i + offset, j + offset
            if m and i == 0:
                weights = self.log_weights[:m, b]
                a = int(np.argmax(weights + random.gumbel(size=m)))
            edges.append((a, b))
        return tuple(sorted(edges))


def default_ess(features: Sequence[Variable], n_classes: int) -> float:
    """Return the default equivalent sample size of a pair's table: half a row per cell, on average.

    Half a row is Jeffreys' prior of a cell; the average is over all pairs of discrete features. All
    pairs have the same equivalent sample size, since otherwise their priors would disagree on
    single features.
    """
    cards = np.array([v.cardinality for v in features if isinstance(v, Discrete)], dtype=np.float64)
    if len(cards) < 2:
        return 1.0
    pairs = cards.sum() ** 2 - np.sum(cards**2)
    return float(0.5 * n_classes * pairs / (len(cards) * (len(cards) - 1)))


def tree_posterior(
    source: CountSource, smoothing: Smoothing, ess: float | None = None
) -> tuple[TreePosterior, NDArray[np.intp]]:
    """Return the posterior over the trees of `tan`, without constant features.

    Log weights of pairs of discrete features are exact log Bayes factors, see `log_marginal_ratio`.
    Those of other pairs are rows x score minus log(rows) / 2 per parameter that the edge adds
    (Schwarz 1978), the limit of the log Bayes factor for many rows.

    Parameters
    ----------
    source : CountSource
        A source with a target.
    smoothing : Smoothing
        Smoothing of the moments from which scores are computed.
    ess : float, optional
        Equivalent sample size; see `default_ess`.

    Returns
    -------
    posterior : TreePosterior
        Posterior in which the discrete features come first.
    order : ndarray of int
        Index of each feature of the posterior in `source.features`.
    """
    features, target = source.features, source.target
    assert target is not None  # see `mix`
    ask_ahead(source)
    parts = set(varying(source))
    if ess is None:
        ess = default_ess(varying(source), target.cardinality)
    numeric = np.array([isinstance(v, Continuous) for v in features], dtype=bool)
    order = np.argsort(numeric, kind="stable")
    m = int((~numeric).sum())
    weights = np.zeros((len(features), len(features)))
    if len(features) > 1:
        for places, summary in pair_summaries(source, features, target):
            numbers, others = places[numeric[places]], places[~numeric[places]]
            for left, right, tables in pair_tables(summary):
                ends = others[left], others[right]
                weights[ends] = weights[ends[::-1]] = log_marginal_ratio(tables, ess)
            if len(numbers):
                net = arc_scores(source, summary, smoothing).net("bic")[:, numeric[places]]
                weights[np.ix_(places, numbers)] = net
                weights[np.ix_(numbers, others)] = net[~numeric[places]].T
    used = np.array([features[i] in parts for i in order], dtype=bool)
    kept = order[used]
    return TreePosterior(int(used[:m].sum()), weights[np.ix_(kept, kept)]), kept


def averaged_tan(
    source: CountSource,
    smoothing: Smoothing,
    *,
    n_trees: int,
    ess: float | None,
    random: np.random.Generator,
    priors: Floats | None = None,
) -> tuple[NetworkMixture, Floats]:
    """Return a mixture of tree-augmented naive Bayes networks drawn from their posterior.

    Returns
    -------
    mixture : NetworkMixture
        The different trees among `n_trees` draws, weighted by their frequencies.
    edge_probabilities : ndarray, shape (n_features, n_features)
        Exact probability of each edge over all trees.
    """
    features = source.features
    posterior, order = tree_posterior(source, smoothing, ess)
    probabilities = np.zeros((len(features), len(features)))
    probabilities[np.ix_(order, order)] = posterior.edge_probabilities()
    drawn = Counter(posterior.draw(random) for _ in range(n_trees))
    # The most frequent tree first, so that the result does not depend on the order of the draws.
    trees = sorted(drawn, key=lambda edges: (-drawn[edges], edges))
    # Edges point away from the root that `tan` chooses.
    arcs = [directed(features, [(order[i], order[j]) for i, j in edges], None) for edges in trees]
    components: list[Parents] = [{features[c]: features[p] for p, c in tree} for tree in arcs]
    weights = np.array([drawn[edges] for edges in trees], dtype=np.float64) / n_trees
    mixture = mix(
        components,
        weights,
        source,
        smoothing,
        priors=priors,
        arc_probabilities=_arc_probabilities(source, components, weights, probabilities),
    )
    return mixture, probabilities


def _arc_probabilities(
    source: CountSource, components: list[Parents], weights: Floats, probabilities: Floats
) -> dict[Arc, float]:
    """Return the probability of each arc: that of its edge, split between the two directions.

    The probability of an edge (`probabilities`, by feature) is exact, over all trees; it is split
    by the frequencies (`weights`) of both directions in the drawn trees (`components`). Arcs from
    the class have probability 1.
    """
    place = {v: i for i, v in enumerate(source.features)}
    target = source.target
    assert target is not None  # see `mix`
    drawn: Counter[tuple[Variable, Variable]] = Counter()
    for parents, weight in zip(components, weights.tolist(), strict=True):
        for child, parent in parents.items():
            drawn[parent, child] += weight
    found: dict[Arc, float] = {(target.name, v.name): 1.0 for v in place}
    for (parent, child), weight in drawn.items():
        share = weight / (weight + drawn.get((child, parent), 0.0))
        exact = float(probabilities[place[parent], place[child]])
        found[parent.name, child.name] = min(1.0, share * exact)
    return found
