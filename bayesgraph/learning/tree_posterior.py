"""Posterior distribution over the trees of tree-augmented naive Bayes (TAN), and model averages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, log_sum_exp
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning.information import arc_scores, pair_tables, varying
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.scores import log_marginal_ratio
from bayesgraph.learning.spanning import ask_ahead, directed, pair_summaries
from bayesgraph.learning.structure import Structure, star
from bayesgraph.models import CPD, BayesianNetwork, Ensemble, GaussianCPD, TableCPD
from bayesgraph.statistics import CountSource, Family, Pairs, Singles, Smoothing

# ---- Distributions over spanning trees, with P(T) proportional to the product of its edge weights
# The sum over all trees is a minor (the determinant of a submatrix) of the Laplacian of the weights
# (the matrix-tree theorem of Kirchhoff 1847; for tree-augmented networks Meila and Jaakkola 2006,
# "Tractable Bayesian learning of tree belief networks", section 3). Weights from thousands of rows
# differ by thousands of nats, too much for a determinant in floating point. The nodes are therefore
# eliminated one by one in log space. Eliminating node k adds ``w_ik w_kj / S_k`` to the weight of
# every pair i, j of other nodes, where ``S_k`` is the sum of the weights at k, and contributes a
# factor ``S_k``:
#
#     sum over trees on V of w(T)  =  S_k  *  sum over trees on V without k of w'(T).
#
# Only sums, products and quotients of positive numbers occur, so that nothing cancels, whatever the
# range of the weights. The probabilities of the edges are the derivatives of the log of the sum by
# the log weights; they are computed by the same steps in reverse order.
#
# Trees are drawn by the same elimination and not by a random walk (Wilson 1996): the time of the
# walk is the mean hitting time, which grows as fast as the ratios of the weights. A tree on V
# without k, drawn from w', becomes a tree on V in two steps. Each of its edges is cut with
# probability ``w_ik w_kj / (S_k w'_ij)``, the probability that it replaces a path through k. Then k
# is joined to one node i of each remaining component, drawn in proportion to w_ik. Summed over all
# sets of cut edges this is exact: by Cayley's formula the trees over m components of weights ``u_a
# = sum of w_ik in component a`` add up to ``prod_a u_a * S_k^(m - 2)``, and ``S_k`` times this over
# ``S_k^(m - 1)`` is the product of the u_a.


@dataclass(frozen=True, eq=False)
class SpanningTrees:
    """Distribution over the spanning trees of a complete graph.

    Parameters
    ----------
    log_weights : ndarray, shape (n, n)
        Symmetric and finite; the diagonal is ignored.
    """

    log_weights: Floats

    @cached_property
    def _steps(self) -> list[tuple[Floats, Floats]]:
        """Log weights of edges before each elimination of a node, and path shares.

        Nodes are eliminated from the last to the first. The path share of a pair of remaining
        nodes, in an array of shape (k, k) for a step with k + 1 nodes, is the part of its new
        weight that is due to paths through the eliminated node.
        """
        weights = np.array(self.log_weights, dtype=np.float64)
        np.fill_diagonal(weights, -np.inf)
        steps = []
        for k in range(len(weights) - 1, 0, -1):
            before = weights[: k + 1, : k + 1]
            # Node k is eliminated: log(w_ik w_kj / S_k) is added to the weight of each pair i, j.
            link = before[k, :k]
            through = link[:, None] + (link - log_sum_exp(link, 0))[None, :]
            np.fill_diagonal(through, -np.inf)
            weights = np.logaddexp(before[:k, :k], through)
            # On the diagonal both are -inf, whose difference would be NaN: the share is 0 there.
            shares = np.exp(through - np.where(np.isneginf(weights), 0.0, weights))
            steps.append((before, shares))
        return steps

    def edge_probabilities(self) -> Floats:
        """Return the probability that a tree contains each edge, shape (n, n), diagonal zero.

        The absolute error is about 1e-13.
        """
        # Derivatives of the log partition function by the log weights of the remaining edges; in
        # reverse order, each step brings back an eliminated node, as the last one.
        slopes = np.zeros((1, 1))
        for before, shares in reversed(self._steps):
            k = len(shares)
            link = before[k, :k]
            # The shares w_ik / S_k are the derivatives of log S_k by the log weights at node k.
            at_node = np.exp(link - log_sum_exp(link, 0))
            # Derivatives by the log weights of the paths i - k - j, and their sums by edge i - k.
            through = slopes * shares
            at_others = through.sum(axis=1)
            # Derivative by log S_k: S_k is a factor of the sum and divides the weight of each path.
            # The symmetric matrix contains each pair twice, hence the factor 1/2.
            total = 1.0 - 0.5 * at_others.sum()
            grown = np.zeros((k + 1, k + 1))
            grown[:k, :k] = slopes - through
            grown[k, :k] = grown[:k, k] = at_others + total * at_node
            slopes = grown
        return np.clip(slopes, 0.0, 1.0)

    def draw(self, random: np.random.Generator) -> list[tuple[int, int]]:
        """Draw one tree; return its edges i < j in ascending order."""
        # Nodes come back in the reverse order of their elimination, see above.
        n = len(self.log_weights)
        parent = np.full(n, -1)  # of each node, towards node 0; -1 for roots and absent nodes
        for before, shares in reversed(self._steps):
            k = len(shares)
            # Cut the edges that stand for a path through the new node k.
            children = np.flatnonzero(parent[:k] >= 0)
            cut = random.random(len(children)) < shares[children, parent[children]]
            parent[children[cut]] = -1
            root_of = _roots(parent[:k])
            log_link = before[k, :k]
            # The argmax of log weights plus independent Gumbel noise is drawn in proportion to the
            # weights.
            noisy = log_link + random.gumbel(size=k)
            chosen = [
                members[np.argmax(noisy[members])]
                for members in (np.flatnonzero(root_of == root) for root in np.unique(root_of))
            ]
            # Join the new node k to the chosen node of each component, below which the component
            # then is. The path from node 0 now ends at node k: reversed, it makes 0 the root again.
            for node in chosen:
                _reverse_path(parent, int(node), k)
            _reverse_path(parent, 0, -1)
        return sorted((min(i, p), max(i, p)) for i, p in enumerate(parent.tolist()) if p >= 0)


def _reverse_path(parent: NDArray[np.intp], node: int, above: int) -> None:
    """Reverse the path from a node to its root in place; the node gets the parent `above`."""
    while node >= 0:
        parent[node], above, node = above, node, int(parent[node])


def _roots(parent: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the root of each node's component, given the parents of the nodes (-1 at roots)."""
    above = np.where(parent >= 0, parent, np.arange(len(parent)))
    while True:  # each time the ancestors twice as far above, until these are the roots
        further = above[above]
        if (further == above).all():
            return above
        above = further


# ------ Mixtures of one-dependence networks: each feature has at most one parent besides the class


# Maps each feature to its parent besides the class.
Parents: TypeAlias = Mapping[Variable, Variable]


def mix(
    components: Sequence[Parents],
    weights: Sequence[float] | Floats,
    source: CountSource,
    smoothing: Smoothing,
    *,
    priors: Floats | None = None,
    min_rows: float = 0.0,
    arc_probabilities: Mapping[Any, float] | None = None,
) -> Ensemble:
    """Return the mixture of one-dependence networks, each given by the parents of its features.

    Networks in which a feature has the same parent share its CPD.

    Parameters
    ----------
    components : sequence of mapping from feature to feature
        For each network, the parent of each feature besides the class. A feature that is not a key
        has the class as its only parent.
    weights : sequence of float
        Mixture weights of the networks.
    source : CountSource
        A source with a target.
    smoothing, priors
        As for `estimate_network`.
    min_rows : float
        For a state of the parent with fewer rows than this, the feature has its distribution given
        the class alone.
    arc_probabilities : mapping, optional
        As for `Ensemble`.
    """
    target, features = source.target, source.features
    assert target is not None  # classifiers always set a target
    # The features below each parent, in all networks, as ordered sets.
    children: dict[Variable, dict[Variable, None]] = {}
    for parents in components:
        for child, parent in parents.items():
            children.setdefault(parent, {})[child] = None
    # In one pass, unless the source has them already.
    source.families(
        Family.of(target, parent, child) for parent, below in children.items() for child in below
    )
    alone = estimate_network(star(source), source, smoothing, priors=priors)
    # The CPDs by feature and parent, None for the class alone; the class itself has one, too.
    library: dict[tuple[Variable, Variable | None], CPD] = {
        (v, None): alone[v.name] for v in (target, *features)
    }
    for parent, below in children.items():
        arcs = [(target.name, parent.name)]
        arcs += [(above.name, v.name) for v in below for above in (target, parent)]
        structure = Structure((target, parent, *below), tuple(arcs))
        network = estimate_network(structure, source, smoothing, priors=priors)
        rare = np.zeros(1, np.bool_)  # unless found below, no state of the parent is rare
        if isinstance(parent, Discrete) and min_rows > 0:
            family = Family((parent,))
            rare = source.families([family])[family].counts < min_rows
        for child in below:
            cpd, alone_cpd = network[child.name], library[child, None]
            library[child, parent] = _given_the_class(cpd, alone_cpd, rare) if rare.any() else cpd
    networks = [
        BayesianNetwork([library[v, parents.get(v)] for v in (target, *features)])
        for parents in components
    ]
    return Ensemble(networks, weights, arc_probabilities=arc_probabilities)


def _given_the_class(cpd: CPD, alone: CPD, rare: NDArray[np.bool_]) -> CPD:
    """Return a CPD given class and parent, replaced by `alone` for rare states of the parent.

    `alone` is the CPD given the class alone, `rare` the mask of the rare states.
    """
    # The first axes are the class and the parent; in a table the states of the child follow.
    if isinstance(cpd, TableCPD) and isinstance(alone, TableCPD):
        values = np.where(rare[:, None], alone.values[:, None, :], cpd.values)
        replaced: CPD = TableCPD(cpd.variable, values, cpd.parents)
    else:
        assert isinstance(cpd, GaussianCPD)  # of a number
        assert isinstance(alone, GaussianCPD)
        mean = np.where(rare, alone.mean[:, None], cpd.mean)
        variance = np.where(rare, alone.variance[:, None], cpd.variance)
        replaced = GaussianCPD(cpd.variable, mean, variance, cpd.parents)
    posterior, others = cpd.parameter_posterior, alone.parameter_posterior
    if posterior is not None and others is not None:
        replaced.parameter_posterior = posterior.chosen(rare, others)
    return replaced


def aode(
    source: CountSource,
    smoothing: Smoothing,
    *,
    min_rows: float = 1.0,
    priors: Floats | None = None,
) -> Ensemble:
    """Return averaged one-dependence estimators (Webb, Boughton, Wang 2005).

    A mixture with equal weights of one network for each feature s, in which s and the class are the
    parents of all other features. P(class, x) is then the mean over s of ``P(class) P(x_s | class)
    prod_j P(x_j | class, x_s)`` (their equation 6). A continuous feature is a parent of other
    continuous features only, a constant feature of none.

    The paper leaves out the network of feature s if the row's value x_s has fewer than 30 rows, and
    falls back to naive Bayes if no network remains. Here that network *is* naive Bayes for such
    values, so that the model remains one distribution over all variables.

    Parameters
    ----------
    source : CountSource
        A source with a target.
    smoothing, priors
        As for `estimate_network`.
    min_rows : float
        Minimum number of rows of a value as a parent.
    """
    features = source.features
    # In one pass, from which single pairs are then taken.
    summary = source.pairs(Pairs(features, source.target))
    learnable = arc_scores(source, summary, smoothing).learnable
    # Row s of the mask has the features whose parent s may be.
    components = [
        {v: s for v, may in zip(features, children, strict=True) if may and v != s}
        for s, children in zip(features, learnable, strict=True)
    ]
    # Networks that equal naive Bayes for all values are left out, unless all networks do.
    components = [component for component in components if component] or [{}]
    weights = np.ones(len(components))
    return mix(components, weights, source, smoothing, priors=priors, min_rows=min_rows)


# ---- Posterior distribution over the trees of tree-augmented naive Bayes (TAN), and model averages


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
        Log weights of the edges, symmetric; minus infinity for an edge that no tree has. Where no
        tree is without it, there are forests.
    """

    n_discrete: int
    log_weights: Floats

    @cached_property
    def _weights(self) -> Floats:
        """Log weights that are finite; edges that may not be are far below all others."""
        may = self.log_weights > -np.inf
        low, high = (float(f(self.log_weights, initial=0.0, where=may)) for f in (np.min, np.max))
        # Below the lowest by more than all others differ, and by e^100: hardly any tree that can do
        # without such an edge has one.
        return np.where(may, self.log_weights, 2.0 * low - high - 100.0)

    @cached_property
    def _among_discrete(self) -> SpanningTrees:
        """Distribution over trees of the discrete features."""
        return SpanningTrees(self._weights[: self.n_discrete, : self.n_discrete])

    @cached_property
    def _to_discrete(self) -> Floats:
        """Log of the summed weights of edges from each continuous to all discrete features."""
        return log_sum_exp(self._weights[: self.n_discrete, self.n_discrete :], 0)

    @cached_property
    def _whole(self) -> SpanningTrees:
        """Distribution over trees of continuous features, with node 0 for all discrete features."""
        m = self.n_discrete
        inner = self._weights[m:, m:]
        if not m:
            return SpanningTrees(inner)
        weights = np.zeros((len(inner) + 1, len(inner) + 1))
        weights[1:, 1:] = inner
        weights[0, 1:] = weights[1:, 0] = self._to_discrete
        return SpanningTrees(weights)

    def edge_probabilities(self) -> Floats:
        """Return the posterior probability of each edge, shape (n, n), zero on the diagonal."""
        m, whole = self.n_discrete, self._whole.edge_probabilities()
        edges = np.zeros_like(self.log_weights)
        # Without node 0, which is there if there are discrete features.
        edges[m:, m:] = whole[min(m, 1) :, min(m, 1) :]
        if m:
            edges[:m, :m] = self._among_discrete.edge_probabilities()
            # The edge from node 0 is split over the discrete features by their weights.
            shares = np.exp(self._weights[:m, m:] - self._to_discrete)
            edges[:m, m:] = shares * whole[0, 1:]
            edges[m:, :m] = edges[:m, m:].T
        return np.where(self.log_weights > -np.inf, edges, 0.0)

    def draw(self, random: np.random.Generator) -> tuple[tuple[int, int], ...]:
        """Draw one tree; return its edges i < j in ascending order."""
        m = self.n_discrete
        edges = self._among_discrete.draw(random) if m else []
        # Node i of `_whole` is feature i + m - 1 if node 0 stands for the discrete features.
        offset = m - 1 if m else 0
        for i, j in self._whole.draw(random):
            a, b = i + offset, j + offset
            # An end at node 0 becomes a discrete feature, drawn by its weight (Gumbel noise).
            if m and i == 0:
                weights = self._weights[:m, b]
                a = int(np.argmax(weights + random.gumbel(size=m)))
            edges.append((a, b))
        return tuple(sorted(edge for edge in edges if self.log_weights[edge] > -np.inf))


def default_ess(features: Iterable[Variable], n_classes: int) -> float:
    """Return the default equivalent sample size of a pair's table: half a row per cell, on average.

    Half a row is Jeffreys' prior of a cell; the average is over all pairs of discrete features. All
    pairs have the same equivalent sample size, since otherwise their priors would disagree on
    single features.
    """
    cards = np.array([v.cardinality for v in features if isinstance(v, Discrete)], dtype=np.float64)
    if len(cards) < 2:
        return 1.0
    pairs = cards.sum() ** 2 - np.sum(cards**2)  # the sum of r s over ordered pairs
    return float(0.5 * n_classes * pairs / (len(cards) * (len(cards) - 1)))


def tree_posterior(
    source: CountSource, smoothing: Smoothing, ess: float | None = None
) -> tuple[TreePosterior, NDArray[np.intp]]:
    """Return the posterior over the trees of `tan`, without features that no edge can join.

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
    if ess is None:
        single = source.singles(Singles(features, target))
        ess = default_ess(varying(single), target.cardinality)
    numeric = np.array([isinstance(v, Continuous) for v in features], dtype=bool)
    order = np.argsort(numeric, kind="stable")  # discrete features first
    m = int((~numeric).sum())
    weights = np.zeros((len(features), len(features)))
    if len(features) > 1:
        for places, summary in pair_summaries(source, features, target):
            numbers, others = places[numeric[places]], places[~numeric[places]]
            for left, right, tables in pair_tables(summary):
                # `left` and `right` count the discrete columns of the tile; weights are symmetric.
                ends = others[left], others[right]
                weights[ends] = weights[ends[::-1]] = log_marginal_ratio(tables, ess)
            scores = arc_scores(source, summary, smoothing)
            # Edges to a number have the penalised gain of the arc that points to it: the columns
            # of the matrix of gains are the children.
            if len(numbers):
                net = scores.net("bic")[:, numeric[places]]
                weights[np.ix_(places, numbers)] = net
                weights[np.ix_(numbers, others)] = net[~numeric[places]].T
            # An edge may stand for an arc in either direction.
            at, learnable = np.ix_(places, places), scores.learnable | scores.learnable.T
            weights[at] = np.where(learnable, weights[at], -np.inf)
    np.fill_diagonal(weights, -np.inf)
    used = np.any(weights[order] > -np.inf, axis=1)  # whether any edge can join the feature
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
) -> tuple[Ensemble, Floats]:
    """Return a mixture of tree-augmented naive Bayes networks drawn from their posterior.

    Returns
    -------
    mixture : Ensemble
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
    weights = np.array([drawn[edges] for edges in trees]) / n_trees
    # An arc has the probability of its edge, which is over all trees, split by the frequencies of
    # both directions in the drawn ones.
    shares: Counter[tuple[int, int]] = Counter()
    for tree, weight in zip(arcs, weights.tolist(), strict=True):
        for arc in tree:
            shares[arc] += weight
    assert source.target is not None  # see `mix`
    arcs_of = {(source.target.name, v.name): 1.0 for v in features}
    for (p, c), weight in shares.items():
        share = weight / (weight + shares[c, p])  # of a Counter: 0 for no draw
        arcs_of[features[p].name, features[c].name] = min(1.0, share * float(probabilities[p, c]))
    mixture = mix(components, weights, source, smoothing, priors=priors, arc_probabilities=arcs_of)
    return mixture, probabilities
