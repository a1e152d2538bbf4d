"""Distributions over spanning trees, with P(T) proportional to the product of its edge weights.

The sum over all trees is a minor (the determinant of a submatrix) of the Laplacian of the weights
(the matrix-tree theorem of Kirchhoff 1847; for tree-augmented networks Meila and Jaakkola 2006,
"Tractable Bayesian learning of tree belief networks", section 3). Weights from thousands of rows
differ by thousands of nats, too much for a determinant in floating point. The nodes are therefore
eliminated one by one in log space. Eliminating node k adds ``w_ik w_kj / S_k`` to the weight of
every pair i, j of other nodes, where ``S_k`` is the sum of the weights at k, and contributes a
factor ``S_k``:

    sum over trees on V of w(T)  =  S_k  *  sum over trees on V without k of w'(T).

Only sums, products and quotients of positive numbers occur, so that nothing cancels, whatever the
range of the weights. The probabilities of the edges are the derivatives of the log of the sum by
the log weights; they are computed by the same steps in reverse order.

Trees are drawn by the same elimination and not by a random walk (Wilson 1996): the time of the walk
is the mean hitting time, which grows as fast as the ratios of the weights. A tree on V without k,
drawn from w', becomes a tree on V in two steps. Each of its edges is cut with probability ``w_ik
w_kj / (S_k w'_ij)``, the probability that it replaces a path through k. Then k is joined to one
node i of each remaining component, drawn in proportion to w_ik. Summed over all sets of cut edges
this is exact: by Cayley's formula the trees over m components of weights ``u_a = sum of w_ik in
component a`` add up to ``prod_a u_a * S_k^(m - 2)``, and ``S_k`` times this over ``S_k^(m - 1)`` is
the product of the u_a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats, log_sum_exp


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
        """Log weights before each elimination of a node (the last one first), and path shares.

        The path share of a pair of remaining nodes, in an array of shape (k, k) for a step with k +
        1 nodes, is the part of its new weight that is due to paths through the eliminated node.
        """
        weights = np.array(self.log_weights, dtype=np.float64)
        np.fill_diagonal(weights, -np.inf)
        steps = []
        for k in range(len(weights) - 1, 0, -1):
            before = weights[: k + 1, : k + 1]
            link = before[k, :k]
            through = link[:, None] + (link - log_sum_exp(link, 0))[None, :]
            np.fill_diagonal(through, -np.inf)
            weights = np.logaddexp(before[:k, :k], through)
            shares = np.exp(through - np.where(np.isneginf(weights), 0.0, weights))
            steps.append((before, shares))
        return steps

    @property
    def log_partition(self) -> float:
        """Natural log of the sum over all trees of the products of their weights."""
        return float(sum(log_sum_exp(before[-1, :-1], 0) for before, _ in self._steps))

    def edge_probabilities(self) -> Floats:
        """Return the probability that a tree contains each edge, shape (n, n), diagonal zero.

        The absolute error is about 1e-13.
        """
        slopes = np.zeros((1, 1))
        for before, shares in reversed(self._steps):
            k = len(shares)
            link = before[k, :k]
            at_node = np.exp(link - log_sum_exp(link, 0))
            # The symmetric matrix contains each pair twice, hence the factor 1/2.
            through = slopes * shares
            own = through.sum(axis=1)
            total = 1.0 - 0.5 * own.sum()
            grown = np.zeros((k + 1, k + 1))
            grown[:k, :k] = slopes - through
            grown[k, :k] = grown[:k, k] = own + total * at_node
            slopes = grown
        return np.clip(slopes, 0.0, 1.0)

    def draw(self, random: np.random.Generator) -> list[tuple[int, int]]:
        """Draw one tree; return its edges i < j in ascending order."""
        n = len(self.log_weights)
        parent = np.full(n, -1)  # towards node 0
        for before, shares in reversed(self._steps):
            k = len(shares)
            children = np.flatnonzero(parent[:k] >= 0)
            cut = random.random(len(children)) < shares[children, parent[children]]
            parent[children[cut]] = -1
            part = _roots(parent[:k])
            log_link = before[k, :k]
            # The argmax of log weights plus independent Gumbel noise is drawn in proportion to the
            # weights.
            noisy = log_link + random.gumbel(size=k)
            chosen = [
                members[np.argmax(noisy[members])]
                for members in (np.flatnonzero(part == root) for root in np.unique(part))
            ]
            _join(parent, k, chosen)
        return sorted((min(i, p), max(i, p)) for i, p in enumerate(parent.tolist()) if p >= 0)


def _roots(parent: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the root of each node's component, given the parents of the nodes (-1 at roots)."""
    root = np.arange(len(parent))
    above = np.where(parent >= 0, parent, root)
    while True:
        further = above[above]
        if (further == above).all():
            return above
        above = further


def _join(parent: NDArray[np.intp], new: int, chosen: list[int]) -> None:
    """Join the node `new` to the chosen node of each component; direct all edges towards node 0.

    `parent` is modified in place.
    """
    for node in chosen:
        # The path from the node to the root of its component is reversed.
        below, at = new, int(node)
        while at >= 0:
            parent[at], below, at = below, at, int(parent[at])
    # Node 0 is the root: the path from it, which now ends at the new node, is reversed.
    below, at = -1, 0
    while at >= 0:
        parent[at], below, at = below, at, int(parent[at])
